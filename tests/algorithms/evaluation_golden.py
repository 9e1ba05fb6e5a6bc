#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes evaluation_golden.json: random cases, and the figures that the public tools give for them.

    python -m venv venv && venv/bin/pip install pycocotools==2.0.11 trackeval==1.3.0 scikit-learn
    venv/bin/python evaluation_golden.py evaluation_golden.json

Detection: COCOeval of pycocotools. It takes no notice of an annotation's "ignore"; an object that
need not be found is therefore given to it with an area outside all ranges, which it treats so.
Tracking: the metrics HOTA, CLEAR and Identity of TrackEval, after its own preprocessing for MOT17.
Classification: scikit-learn.

The cases come from a generator with a fixed seed, so that the file is always the same one for the
same versions of numpy and the tools. evaluation_agreement_test.cpp holds vcap against the file.
"""
import contextlib
import copy
import io
import json
import sys
from importlib.metadata import version

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn import metrics
from trackeval.datasets.mot_challenge_2d_box import MotChallenge2DBox
from trackeval.metrics import CLEAR, HOTA, Identity

OUTSIDE_ALL_RANGES = 1e11
PEDESTRIAN, CAR, REFLECTION = 1, 3, 12
ROLE_OF_CLASS = {PEDESTRIAN: "counted", CAR: "bystander", REFLECTION: "distractor"}


def rounded(values, digits=2):
    return [round(float(value), digits) for value in values]


# --- Detection ---------------------------------------------------------------------------------


def random_box(rng):
    side = 2 ** rng.uniform(3, 8)
    ratio = 2 ** rng.uniform(-1, 1)
    return rounded([rng.uniform(0, 400), rng.uniform(0, 400), side * ratio, side / ratio])


def jittered(rng, box, amount):
    x, y, w, h = box
    return rounded(
        [
            x + rng.normal(0, amount) * w,
            y + rng.normal(0, amount) * h,
            w * np.exp(rng.normal(0, amount)),
            h * np.exp(rng.normal(0, amount)),
        ]
    )


def detection_frame(rng, setup):
    truth, found = [], []
    if rng.random() >= setup.get("empty", 0.1):
        for _ in range(rng.integers(0, setup.get("objects", 6) + 1)):
            box = random_box(rng)
            area = round(box[2] * box[3] * rng.uniform(0.5, 1), 2)
            crowd = int(rng.random() < setup.get("crowds", 0))
            ignored = int(not crowd and rng.random() < setup.get("ignored", 0))
            truth.append({"box": box, "area": area, "crowd": crowd, "ignored": ignored})
    for one in truth:
        # Several boxes on one object are usual, and more boxes on a crowd.
        for _ in range(rng.poisson(3 if one["crowd"] else setup.get("per_object", 1))):
            found.append(jittered(rng, one["box"], setup.get("jitter", 0.08)))
    for _ in range(rng.poisson(setup.get("wrong", 1))):
        found.append(random_box(rng))
    digits = setup.get("score_digits", 6)
    found = [{"box": box, "score": round(float(rng.random()), digits)} for box in found]
    return {"truth": truth, "found": [found[i] for i in rng.permutation(len(found))]}


def coco_of(classes):
    """COCO's dataset and results of frames by class."""
    count = max(len(frames) for frames in classes)
    dataset = {
        "info": {},
        "images": [{"id": i + 1} for i in range(count)],
        "categories": [{"id": i + 1, "name": str(i)} for i in range(len(classes))],
        "annotations": [],
    }
    results = []
    for category, frames in enumerate(classes):
        for image, frame in enumerate(frames):
            place = {"image_id": image + 1, "category_id": category + 1}
            for one in frame["truth"]:
                dataset["annotations"].append(
                    {
                        **place,
                        "id": len(dataset["annotations"]) + 1,
                        "bbox": one["box"],
                        "area": OUTSIDE_ALL_RANGES if one["ignored"] else one["area"],
                        "iscrowd": one["crowd"],
                    }
                )
            for one in frame["found"]:
                results.append({**place, "bbox": one["box"], "score": one["score"]})
    return dataset, results


def coco_eval(dataset, results, change=lambda params: None):
    truth = COCO()
    truth.dataset = copy.deepcopy(dataset)
    truth.createIndex()
    if results:
        found = truth.loadRes(copy.deepcopy(results))
    else:
        found = COCO()
        found.dataset = {**truth.dataset, "annotations": []}
        found.createIndex()
    tool = COCOeval(truth, found, "bbox")
    change(tool.params)
    tool.evaluate()
    return tool


def figures(dataset, results, category=None):
    def change(params):
        if category is not None:
            params.catIds = [category]

    tool = coco_eval(dataset, results, change)
    tool.accumulate()
    tool.summarize()
    return [None if value < 0 else float(value) for value in tool.stats]


def counts(dataset, results, category, iou, least_score):
    def change(params):
        params.catIds = [category]
        params.iouThrs = np.array([iou])
        params.maxDets = [100000]
        params.areaRng = [[0, 1e10]]

    tool = coco_eval(dataset, [one for one in results if one["score"] >= least_score], change)
    right = wrong = required = 0
    for image in tool.evalImgs:
        if image is None:
            continue
        counted = np.logical_not(image["dtIgnore"][0])
        matched = image["dtMatches"][0] > 0
        right += int(np.sum(matched & counted))
        wrong += int(np.sum(~matched & counted))
        required += int(np.sum(np.array(image["gtIgnore"]) == 0))
    return [right, wrong, required - right]


def detection_case(name, classes, iou=0.5, least_score=0.5):
    dataset, results = coco_of(classes)
    with contextlib.redirect_stdout(io.StringIO()):
        return {
            "name": name,
            "iou": iou,
            "least_score": least_score,
            "classes": [
                {
                    "frames": [
                        {
                            "truth": [
                                [*one["box"], one["area"], one["crowd"], one["ignored"]]
                                for one in frame["truth"]
                            ],
                            "found": [[*one["box"], one["score"]] for one in frame["found"]],
                        }
                        for frame in frames
                    ],
                    "figures": figures(dataset, results, i + 1),
                    "counts": counts(dataset, results, i + 1, iou, least_score),
                }
                for i, frames in enumerate(classes)
            ],
            "mean": figures(dataset, results),
        }


def square(x, y, w, h, area=None, crowd=0, ignored=0):
    return {"box": [x, y, w, h], "area": w * h if area is None else area, "crowd": crowd,
            "ignored": ignored}


def detection_cases():
    rng = np.random.default_rng(20211)

    def frames(count=8, **setup):
        return [detection_frame(rng, setup) for _ in range(count)]

    yield detection_case("plain", [frames()])
    yield detection_case("many wrong", [frames(wrong=6)], 0.75, 0.3)
    yield detection_case("several on each", [frames(per_object=3)], 0.5, 0.2)
    yield detection_case("ties", [frames(score_digits=1, per_object=2)])
    yield detection_case("all scores the same", [frames(score_digits=0, per_object=2)], 0.5, 0)
    yield detection_case("crowds", [frames(crowds=0.4)])
    yield detection_case("ignored", [frames(ignored=0.4, per_object=2)])
    yield detection_case("crowds, ignored and ties",
                         [frames(12, crowds=0.3, ignored=0.3, score_digits=1, per_object=2)])
    yield detection_case("exact boxes", [frames(jitter=0)], 1.0)
    yield detection_case("coarse boxes", [frames(jitter=0.3, per_object=3)], 0.3)
    yield detection_case("mostly empty", [frames(12, empty=0.7, wrong=0.3)])
    yield detection_case("nothing found", [frames(4, per_object=0, wrong=0)])
    yield detection_case("nothing there", [frames(4, objects=0)])
    yield detection_case("crowds alone", [frames(4, crowds=1)])
    yield detection_case("more than 100 in a frame", [frames(2, wrong=120)], 0.5, 0.9)
    yield detection_case("three classes", [frames(crowds=0.1), frames(objects=2), frames(objects=9)])
    yield detection_case("a class without objects", [frames(), frames(objects=0), frames(wrong=3)])
    # Values exactly at a limit: IoUs of 0.5, 0.6, 0.75 and 0.9, and areas of 32² and 96².
    limits = [
        {"truth": [square(0, 0, 10, 10)], "found": [{"box": [0, 0, 10, h], "score": h / 10}]}
        for h in (5, 6, 7.5, 9)
    ]
    sides = [
        {"truth": [square(0, 0, side, side)],
         "found": [{"box": [0, 0, side, side], "score": 0.5}, {"box": [200, 0, side, side],
                                                                "score": 0.75}]}
        for side in (32, 96)
    ]
    yield detection_case("at the limits", [limits + sides], 0.5, 0.5)
    # Two objects that fit equally well; one object that fits better but need not be found.
    choice = [
        {"truth": [square(0, 0, 10, 10), square(0, 0, 10, 10)],
         "found": [{"box": [0, 0, 10, 10], "score": 0.9}, {"box": [0, 0, 10, 8], "score": 0.8},
                   {"box": [0, 0, 10, 10], "score": 0.7}]},
        {"truth": [square(0, 0, 10, 10, ignored=1), square(0, 0, 10, 7)],
         "found": [{"box": [0, 0, 10, 10], "score": 0.6}, {"box": [0, 0, 10, 10], "score": 0.5}]},
    ]
    yield detection_case("equally good", [choice], 0.5, 0)


# --- Tracking ----------------------------------------------------------------------------------


def walk(rng, frames, setup):
    """Objects that appear, walk and disappear: for each frame, {id: box}, and the class of each id."""
    truth = [{} for _ in range(frames)]
    classes = {}
    for i in range(setup.get("objects", 6)):
        first = int(rng.integers(0, max(1, frames // 2)))
        last = int(rng.integers(first + frames // 3, frames + 1))
        classes[i + 1] = int(rng.choice(list(ROLE_OF_CLASS), p=setup.get("classes", [1, 0, 0])))
        place, speed = rng.uniform(0, 120, 2), rng.normal(0, 6, 2)
        size = rng.uniform(20, 60, 2)
        for frame in range(first, last):
            if rng.random() >= setup.get("hidden", 0.05):
                truth[frame][i + 1] = rounded([*place, *size])
            place, size = place + speed, size * np.exp(rng.normal(0, 0.02, 2))
    for frame in range(frames):
        if rng.random() < setup.get("empty_truth", 0):
            truth[frame] = {}
    return truth, classes


def track(rng, truth, setup):
    """The results of a tracker with some weaknesses."""
    number, ids = 1000, {}
    found = []
    for boxes in truth:
        frame = {}
        for one, box in boxes.items():
            if one not in ids or rng.random() < setup.get("new_ids", 0.05):
                number += 1
                ids[one] = number
            if rng.random() >= setup.get("missed", 0.1):
                frame[ids[one]] = jittered(rng, box, setup.get("jitter", 0.07))
        if len(boxes) > 1 and rng.random() < setup.get("swaps", 0.1):
            a, b = rng.choice(list(boxes), 2, replace=False)
            ids[a], ids[b] = ids[b], ids[a]
        for _ in range(rng.poisson(setup.get("wrong", 0.5))):
            number += 1
            frame[number] = rounded([*rng.uniform(0, 120, 2), *rng.uniform(20, 60, 2)])
        if rng.random() < setup.get("empty_found", 0):
            frame = {}
        found.append(frame)
    return found


def mot17():
    """TrackEval's dataset without its files."""
    dataset = MotChallenge2DBox.__new__(MotChallenge2DBox)
    dataset.benchmark = "MOT17"
    dataset.do_preproc = True
    names = ["pedestrian", "person_on_vehicle", "car", "bicycle", "motorbike", "non_mot_vehicle",
             "static_person", "distractor", "occluder", "occluder_on_ground", "occluder_full",
             "reflection", "crowd"]
    dataset.class_name_to_class_id = {name: i + 1 for i, name in enumerate(names)}
    dataset.valid_class_numbers = list(dataset.class_name_to_class_id.values())
    return dataset


def track_eval_data(truth, classes, found, ignored=frozenset()):
    """`ignored`: pairs of frame and id that the ground truth marks 0."""
    raw = {"seq": "case", "num_timesteps": len(truth), "gt_extras": []}
    for key in ("gt_ids", "gt_dets", "gt_classes", "tracker_ids", "tracker_dets",
                "tracker_classes", "tracker_confidences", "similarity_scores"):
        raw[key] = []
    for frame, (true, seen) in enumerate(zip(truth, found)):
        raw["gt_ids"].append(np.array(list(true), dtype=int))
        raw["gt_dets"].append(np.array(list(true.values()), dtype=float).reshape(-1, 4))
        raw["gt_classes"].append(np.array([classes[i] for i in true], dtype=int))
        marks = [int((frame, i) not in ignored) for i in true]
        raw["gt_extras"].append({"zero_marked": np.array(marks, dtype=int)})
        raw["tracker_ids"].append(np.array(list(seen), dtype=int))
        raw["tracker_dets"].append(np.array(list(seen.values()), dtype=float).reshape(-1, 4))
        raw["tracker_classes"].append(np.ones(len(seen), dtype=int))
        raw["tracker_confidences"].append(np.ones(len(seen)))
        raw["similarity_scores"].append(
            MotChallenge2DBox._calculate_box_ious(raw["gt_dets"][-1], raw["tracker_dets"][-1])
        )
    return mot17().get_preprocessed_seq_data(raw, "pedestrian")


def track_eval_metrics(iou):
    settings = {"THRESHOLD": iou, "PRINT_CONFIG": False}
    return {"hota": HOTA(), "clear": CLEAR(settings), "identity": Identity(settings)}


FIELDS = {
    "hota": ["HOTA", "DetA", "AssA", "DetRe", "DetPr", "AssRe", "AssPr", "LocA"],
    "clear": ["MOTA", "MOTP", "CLR_Re", "CLR_Pr", "IDSW", "Frag", "MT", "PT", "ML", "CLR_TP",
              "CLR_FP", "CLR_FN"],
    "identity": ["IDF1", "IDP", "IDR", "IDTP"],
}


def expected(results):
    numbers = {}
    for metric, fields in FIELDS.items():
        for field in fields:
            numbers[field] = float(np.mean(results[metric][field]))
    numbers["HOTA_at"] = [float(value) for value in np.atleast_1d(results["hota"]["HOTA"])]
    return numbers


def tracking_cases():
    rng = np.random.default_rng(20082)
    setups = [
        ("plain", 12, {}, 0.5),
        ("exact", 10, {"jitter": 0, "missed": 0, "new_ids": 0, "swaps": 0, "wrong": 0}, 0.5),
        ("many swaps", 14, {"swaps": 0.6}, 0.5),
        ("new ids in every frame", 10, {"new_ids": 1}, 0.5),
        ("many misses", 16, {"missed": 0.5, "hidden": 0.2}, 0.5),
        ("many wrong", 10, {"wrong": 5}, 0.5),
        ("coarse boxes", 12, {"jitter": 0.25}, 0.3),
        ("narrow limit", 12, {"jitter": 0.05}, 0.8),
        ("dense", 10, {"objects": 20, "wrong": 3, "jitter": 0.15}, 0.5),
        ("empty frames found", 16, {"empty_found": 0.3}, 0.5),
        ("empty frames true", 16, {"empty_truth": 0.3}, 0.5),
        ("distractors", 14, {"objects": 10, "classes": [0.5, 0.2, 0.3]}, 0.5),
        ("distractors in the dense", 10,
         {"objects": 16, "classes": [0.4, 0.3, 0.3], "jitter": 0.12}, 0.5),
        ("one object", 20, {"objects": 1, "missed": 0.3, "new_ids": 0.2}, 0.5),
        ("nothing found", 6, {"missed": 1, "wrong": 0}, 0.5),
        ("nothing there", 6, {"objects": 0, "wrong": 2}, 0.5),
    ]
    each = {}
    for name, count, setup, iou in setups:
        truth, classes = walk(rng, count, setup)
        found = track(rng, truth, setup)
        data = track_eval_data(truth, classes, found)
        results = {key: metric.eval_sequence(data) for key, metric in track_eval_metrics(iou).items()}
        each[name] = results
        yield {
            "name": name,
            "iou": iou,
            "frames": [
                {
                    "truth": [[i, *box, ROLE_OF_CLASS[classes[i]]] for i, box in true.items()],
                    "found": [[i, *box] for i, box in seen.items()],
                }
                for true, seen in zip(truth, found)
            ],
            "expected": expected(results),
        }
    together = ["plain", "dense", "distractors", "nothing found"]
    combined = {
        key: metric.combine_sequences({name: each[name][key] for name in together})
        for key, metric in track_eval_metrics(0.5).items()
    }
    yield {"name": "together", "together": together, "expected": expected(combined)}


# --- Classification ----------------------------------------------------------------------------


def classification_cases():
    rng = np.random.default_rng(20093)
    for count, labels, right in [(60, "abc", 0.7), (40, "abcdefg", 0.5), (25, "abc", 0.95)]:
        truth = [str(label) for label in rng.choice(list(labels[:-1]), count)]
        found = [
            label if rng.random() < right else str(rng.choice(list(labels))) for label in truth
        ]
        shown, every = sorted(set(truth)), sorted(set(truth) | set(found))
        each = metrics.precision_recall_fscore_support(truth, found, labels=every, zero_division=0)
        macro = metrics.precision_recall_fscore_support(
            truth, found, labels=shown, average="macro", zero_division=0
        )
        yield {
            "truth": truth,
            "found": found,
            "labels": every,
            "accuracy": float(metrics.accuracy_score(truth, found)),
            "confusion": metrics.confusion_matrix(truth, found, labels=every).tolist(),
            "precision": each[0].tolist(),
            "recall": each[1].tolist(),
            "f1": each[2].tolist(),
            "macro": [float(value) for value in macro[:3]],
        }


def main():
    np.seterr(all="ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        golden = {
            "made_with": {
                name: version(name) for name in ("numpy", "pycocotools", "scikit-learn", "trackeval")
            },
            "detection": list(detection_cases()),
            "tracking": list(tracking_cases()),
            "classification": list(classification_cases()),
        }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("{\n")
        for i, (key, value) in enumerate(golden.items()):
            file.write((",\n" if i else "") + json.dumps(key) + ": ")
            if isinstance(value, list):
                file.write("[\n" + ",\n".join(json.dumps(one) for one in value) + "\n]")
            else:
                file.write(json.dumps(value))
        file.write("\n}\n")


if __name__ == "__main__":
    main()

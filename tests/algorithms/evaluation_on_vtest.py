#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `vcap eval` with pycocotools and TrackEval on the hand-labelled frames of vtest.avi.

    venv/bin/python evaluation_on_vtest.py path/to/vcap people.jsonl    (the venv of evaluation_golden.py)

people.jsonl has the records of detector_person and tracker_person over the whole clip. Fails if a
figure differs by more than 1e-6.
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

from evaluation_golden import coco_eval, expected, track_eval_data, track_eval_metrics

LABELS = pathlib.Path(__file__).parent.parent / "data" / "vtest"
FIRST, LAST = 300, 399  # the frames of people_300_399.txt, counted from 0
COCO_FIGURES = ["ap", "ap_50", "ap_75", "ap_small", "ap_medium", "ap_large",
                "ar_1", "ar_10", "ar_100", "ar_small", "ar_medium", "ar_large"]
TRACK_FIGURES = [("hota", "HOTA"), ("det_a", "DetA"), ("ass_a", "AssA"), ("loc_a", "LocA"),
                 ("mota", "MOTA"), ("motp", "MOTP"), ("idf1", "IDF1"), ("id_switches", "IDSW"),
                 ("fragmentations", "Frag")]


def vcap_eval(vcap, *words):
    run = subprocess.run([vcap, "eval", *words, "--json", "-"], check=True, capture_output=True)
    return json.loads(run.stdout)


def compare(name, ours, theirs):
    if abs(ours - theirs) > 1e-6:
        sys.exit(f"{name}: vcap eval {ours}, the public tool {theirs}")
    print(f"{name:16} {ours:.6f}")


def box_of(node):
    return [node["bbox"][key] for key in "xywh"]


def compare_detections(vcap, path, records):
    labels = LABELS / "people_spread.json"
    truth = json.loads(labels.read_text())
    results = [
        {"image_id": image["id"], "category_id": truth["categories"][0]["id"],
         "bbox": box_of(node), "score": node["confidence"]}
        for image in truth["images"]
        for node in records[image["frame_index"]]["objects"]
    ]
    for one in truth["annotations"]:
        one.setdefault("area", one["bbox"][2] * one["bbox"][3])
        one.setdefault("iscrowd", 0)
    with contextlib.redirect_stdout(io.StringIO()):
        tool = coco_eval(truth, results)
        tool.accumulate()
        tool.summarize()
    ours = vcap_eval(vcap, "--records", path, "--ground-truth", str(labels), "--name", "person")
    for key, value in zip(COCO_FIGURES, tool.stats):
        compare(key, ours["mean_average_precision"][key], value)


def compare_tracks(vcap, records):
    labels = LABELS / "people_300_399.txt"
    truth = [{} for _ in range(FIRST, LAST + 1)]
    classes, ignored = {}, set()
    for line in labels.read_text().splitlines():
        frame, one, *box = line.split(",")
        truth[int(frame) - 1 - FIRST][int(one)] = [float(number) for number in box[:4]]
        classes[int(one)] = int(box[5])
        if box[4] == "0":
            ignored.add((int(frame) - 1 - FIRST, int(one)))
    ids = {}
    found = [
        {ids.setdefault(node["track_id"], len(ids) + 1): box_of(node)
         for node in records[frame]["objects"] if "track_id" in node}
        for frame in range(FIRST, LAST + 1)
    ]
    data = track_eval_data(truth, classes, found, ignored)
    theirs = expected(
        {name: one.eval_sequence(data) for name, one in track_eval_metrics(0.5).items()})
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder) / "part.jsonl"
        part.write_text("".join(
            json.dumps(records[frame]) + "\n" for frame in range(FIRST, LAST + 1)))
        ours = vcap_eval(vcap, "--records", str(part), "--ground-truth", str(labels),
                         "--name", "person")["tracking"]
    for key, name in TRACK_FIGURES:
        compare(name, ours[key], theirs[name])


def main():
    _, vcap, path = sys.argv
    with open(path, encoding="utf-8") as lines:
        records = {one["frame_index"]: one for one in map(json.loads, lines)}
    compare_detections(vcap, path, records)
    compare_tracks(vcap, records)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the time of `vcap eval` and TrackEval on a random sequence as large as MOT17's training set.

    venv/bin/python evaluation_speed.py path/to/vcap    (the venv of evaluation_golden.py)

TrackEval is given the boxes in memory, so that its time has no reading of files: IoUs and
preprocessing, then HOTA, CLEAR and Identity. vcap's is that of the whole command, average precision
included. The figures of both are compared.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from evaluation_golden import expected, rounded, track_eval_data, track_eval_metrics

FRAMES, OBJECTS = 5316, 546


def sequence(rng):
    truth = [{} for _ in range(FRAMES)]
    found = [{} for _ in range(FRAMES)]
    track = 10000
    for one in range(1, OBJECTS + 1):
        length = int(rng.integers(50, 360))
        first = int(rng.integers(0, FRAMES - length))
        place, speed = rng.uniform((0, 0), (1800, 900)), rng.normal(0, 2, 2)
        width = rng.uniform(20, 120)
        size = np.array([width, 2.2 * width])
        track += 1
        for frame in range(first, first + length):
            truth[frame][one] = rounded([*place, *size])
            track += int(rng.random() < 0.01)
            if rng.random() < 0.8:
                moved = place + rng.normal(0, 0.06, 2) * size
                found[frame][track] = rounded([*moved, *(size * np.exp(rng.normal(0, 0.06, 2)))])
            place = place + speed
    for frame in found:
        for _ in range(rng.poisson(1)):
            track += 1
            width = rng.uniform(20, 120)
            frame[track] = rounded([*rng.uniform((0, 0), (1800, 900)), width, 2.2 * width])
    return truth, found


def write(path, frames, rest):
    with open(path, "w", encoding="utf-8") as file:
        for number, boxes in enumerate(frames, 1):
            for one, box in boxes.items():
                file.write(",".join(map(str, [number, one, *box])) + rest + "\n")


def main():
    truth, found = sequence(np.random.default_rng(7))
    print(sum(map(len, truth)), "objects,", sum(map(len, found)), "boxes found")

    begin = time.perf_counter()
    data = track_eval_data(truth, {i: 1 for i in range(1, OBJECTS + 1)}, found)
    results = {name: one.eval_sequence(data) for name, one in track_eval_metrics(0.5).items()}
    theirs = time.perf_counter() - begin
    figures = expected(results)

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / name) for name in ("gt.txt", "found.txt")]
        write(paths[0], truth, ",1,1,1")
        write(paths[1], found, ",1,-1,-1,-1")
        words = [sys.argv[1], "eval", "--ground-truth", paths[0], "--results", paths[1]]
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            run = subprocess.run([*words, "--json", "-"], check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
    ours = min(times)
    tracking = json.loads(run.stdout)["tracking"]
    for key, name in [("hota", "HOTA"), ("ass_a", "AssA"), ("mota", "MOTA"), ("motp", "MOTP"),
                      ("idf1", "IDF1"), ("id_switches", "IDSW"), ("fragmentations", "Frag")]:
        assert abs(tracking[key] - figures[name]) < 1e-6, (name, tracking[key], figures[name])
    print(f"TrackEval {theirs:.2f} s, vcap eval {ours:.2f} s, ratio {theirs / ours:.1f}")


if __name__ == "__main__":
    main()

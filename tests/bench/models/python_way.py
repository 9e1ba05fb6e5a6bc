# SPDX-License-Identifier: Apache-2.0
"""Runs MediaPipe's pose detector over the tiles of a video in the way of Python's vcap.

Prints frames a second, without the time to start. What it does as Open Vision Capsules 0.3 does
with BaseOpenVINOBackend: one loop over the frames; each tile is resized by OpenCV, transposed, and
sent to a queue; one thread takes what is queued, up to 40 inputs, as a batch, and runs it over the
engine's requests, waiting for a completion after it has started what is free; the device's settings
are the engine's own; each frame's results are awaited before the next one is read.

    python3 -m venv /tmp/python-way
    /tmp/python-way/bin/pip install openvino==2026.4.1 opencv-python-headless numpy
    VCAP_BENCH_PYTHON=/tmp/python-way/bin/python tests/bench/run.sh models

The engine's version is that of cmake/wheels.txt.
"""

import argparse
import math
import queue
import threading
import time
from collections import deque

import cv2
import numpy as np
import openvino as ov
from openvino.preprocess import PrePostProcessor

MAX_BATCH = 40
WARM_UP_FRAMES = 4


def compiled(path):
    """The model for 8-bit NCHW inputs, with its normalisation compiled in."""
    core = ov.Core()
    processor = PrePostProcessor(core.read_model(path))
    info = processor.input()
    info.tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NCHW"))
    info.model().set_layout(ov.Layout("NHWC"))
    info.preprocess().convert_element_type(ov.Type.f32).mean(127.5).scale(127.5)
    return core.compile_model(processor.build(), "CPU")


class Backend:
    def __init__(self, path):
        self.model = compiled(path)
        count = self.model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        self.requests = [self.model.create_infer_request() for _ in range(count)]
        self.side = self.model.input(0).shape[2]
        self.waiting = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def send_to_batch(self, tensor):
        result = queue.Queue(1)
        self.waiting.put((tensor, result))
        return result

    def work(self):
        while True:
            batch = [self.waiting.get()]
            if batch[0] is None:
                return
            while len(batch) < MAX_BATCH and not self.waiting.empty():
                batch.append(self.waiting.get())
            outputs = self.batch_predict([tensor for tensor, _ in batch])
            for (_, result), output in zip(batch, outputs):
                result.put(output)

    def batch_predict(self, tensors):
        """Outputs in the order of the inputs, each as soon as it and all before it are ready."""
        left = deque(enumerate(tensors))
        running, finished = {}, {}
        ready = threading.Event()
        following = 0

        def completed(place):
            request, number = self.requests[place], running[place]
            finished[number] = [request.get_output_tensor(i).data.copy()
                                for i in range(len(self.model.outputs))]
            del running[place]
            ready.set()

        while left or running or finished:
            if running:
                ready.wait()
                ready.clear()
            while following in finished:
                yield finished.pop(following)
                following += 1
            for place, request in enumerate(self.requests):
                if not left:
                    break
                request.wait()
                number, tensor = left.popleft()
                running[place] = number
                request.set_callback(completed, place)
                request.start_async({0: tensor})

    def close(self):
        self.waiting.put(None)
        self.thread.join()

    def prepare_inputs(self, picture):
        resized = cv2.resize(picture, (self.side, self.side))
        return np.transpose(resized.copy(), (2, 0, 1))[None]

    def process_frame(self, frame, tiles, threshold=0.5):
        results = [self.send_to_batch(self.prepare_inputs(frame[y:y + height, x:x + width]))
                   for x, y, width, height in tiles]
        found = []
        for (x, y, _, _), result in zip(tiles, results):
            boxes, scores = result.get()
            sure = np.flatnonzero(scores.ravel() > -math.log(1 / threshold - 1))
            found += [(x, y, *boxes[0, index, :4]) for index in sure]
        return found


def starts(length, tile, overlap):
    """The first pixels of the tiles: the fewest that keep the overlap, evenly spread."""
    count = 1 + max(0, math.ceil((length - tile) / (tile * (1 - overlap))))
    return [round(i * (length - tile) / max(1, count - 1)) for i in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clip", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--tile", type=int, default=192)
    parser.add_argument("--overlap", type=float, default=0.2)
    arguments = parser.parse_args()

    backend = Backend(arguments.model)
    video = cv2.VideoCapture(arguments.clip)
    start = None
    for number in range(WARM_UP_FRAMES + arguments.frames):
        if number == WARM_UP_FRAMES:
            start = time.perf_counter()
        read, frame = video.read()
        if not read:
            raise SystemExit(f"{arguments.clip} has too few frames")
        height, width = frame.shape[:2]
        tiles = [(x, y, arguments.tile, arguments.tile)
                 for y in starts(height, arguments.tile, arguments.overlap)
                 for x in starts(width, arguments.tile, arguments.overlap)]
        backend.process_frame(frame, tiles)
    print(arguments.frames / (time.perf_counter() - start))
    backend.close()


if __name__ == "__main__":
    main()

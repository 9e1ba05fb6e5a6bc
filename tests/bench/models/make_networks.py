# SPDX-License-Identifier: Apache-2.0
"""Writes networks with random weights as ONNX, to measure their speed and not their results.

    /usr/bin/python3 make_networks.py FOLDER

yolo.onnx has the size and the operations of YOLOv8n (3 M weights, 8.7 GFLOP for 640x640), with a
free input size. large.onnx has 60 MB of weights and little to calculate. Needs Debian's
python3-onnx. The same weights each time.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13


class Graph:
    """A network that is built step by step; every function returns the name of its output."""

    def __init__(self):
        self.random = np.random.default_rng(8)
        self.nodes, self.weights = [], []

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, kind, *inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, taken, given, kernel=1, stride=1, bias=0.0):
        scale = (2 / (taken * kernel * kernel)) ** 0.5
        weights = self.random.normal(0, scale, (given, taken, kernel, kernel)).astype(np.float32)
        return self.node("Conv", x, self.constant(weights),
                         self.constant(np.full(given, bias, np.float32)),
                         kernel_shape=[kernel, kernel], strides=[stride, stride],
                         pads=[kernel // 2] * 4)

    def block(self, x, taken, given, kernel=1, stride=1):
        """A convolution and its SiLU."""
        y = self.conv(x, taken, given, kernel, stride)
        return self.node("Mul", y, self.node("Sigmoid", y))

    def concat(self, parts, axis=1):
        return self.node("Concat", *parts, axis=axis)

    def split(self, x, sizes, axis=1):
        return self.node("Split", x, self.constant(np.array(sizes, np.int64)), outputs=len(sizes),
                         axis=axis)

    def c2f(self, x, taken, given, count, shortcut):
        """Half of the channels go through bottlenecks; then all results are joined."""
        half = given // 2
        parts = self.split(self.block(x, taken, given), [half, half])
        for _ in range(count):
            y = self.block(self.block(parts[-1], half, half, 3), half, half, 3)
            parts.append(self.node("Add", parts[-1], y) if shortcut else y)
        return self.block(self.concat(parts), (2 + count) * half, given)

    def pyramid_pooling(self, x, channels):
        parts = [self.block(x, channels, channels // 2)]
        for _ in range(3):
            parts.append(self.node("MaxPool", parts[-1], kernel_shape=[5, 5], strides=[1, 1],
                                   pads=[2] * 4))
        return self.block(self.concat(parts), 2 * channels, channels)

    def upsampled(self, x):
        return self.node("Resize", x, "", self.constant(np.array([1, 1, 2, 2], np.float32)),
                         mode="nearest", coordinate_transformation_mode="asymmetric",
                         nearest_mode="floor")

    def save(self, path, shape, output, output_shape):
        graph = helper.make_graph(
            self.nodes, "network",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                  producer_name="vcap", ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))


def yolo(path, side, classes=80, bins=16):
    g = Graph()
    x = g.block("images", 3, 16, 3, 2)
    x = g.c2f(g.block(x, 16, 32, 3, 2), 32, 32, 1, True)
    p3 = g.c2f(g.block(x, 32, 64, 3, 2), 64, 64, 2, True)
    p4 = g.c2f(g.block(p3, 64, 128, 3, 2), 128, 128, 2, True)
    p5 = g.c2f(g.block(p4, 128, 256, 3, 2), 256, 256, 1, True)
    p5 = g.pyramid_pooling(p5, 256)
    p4 = g.c2f(g.concat([g.upsampled(p5), p4]), 384, 128, 1, False)
    p3 = g.c2f(g.concat([g.upsampled(p4), p3]), 192, 64, 1, False)
    p4 = g.c2f(g.concat([g.block(p3, 64, 64, 3, 2), p4]), 192, 128, 1, False)
    p5 = g.c2f(g.concat([g.block(p4, 128, 128, 3, 2), p5]), 384, 256, 1, False)

    boxes, scores, cells, strides = [], [], [], []
    for x, channels, stride in ((p3, 64, 8), (p4, 128, 16), (p5, 256, 32)):
        grid = side // stride
        count = grid * grid
        box = g.block(g.block(x, channels, 64, 3), 64, 64, 3)
        # Scores near 0, as on a picture with nothing on it.
        score = g.block(g.block(x, channels, classes, 3), classes, classes, 3)
        flat = lambda y, n: g.node("Reshape", y, g.constant(np.array([1, n, count], np.int64)))
        boxes.append(flat(g.conv(box, 64, 4 * bins), 4 * bins))
        scores.append(flat(g.conv(score, classes, classes, bias=-30.0), classes))
        rows, columns = np.divmod(np.arange(count), grid)
        cells.append(np.stack([columns, rows]) + 0.5)
        strides.append(np.full(count, stride))
    cells = np.concatenate(cells, 1).astype(np.float32)[None]
    strides = np.concatenate(strides).astype(np.float32)[None, None]

    # A distance to each side of the box is the mean of a distribution over bins.
    all_boxes = g.node("Reshape", g.concat(boxes, 2),
                       g.constant(np.array([1, 4, bins, cells.shape[2]], np.int64)))
    shares = g.node("Softmax", g.node("Transpose", all_boxes, perm=[0, 2, 1, 3]), axis=1)
    mean = np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1)
    distances = g.node("Conv", shares, g.constant(mean), kernel_shape=[1, 1])
    distances = g.node("Reshape", distances, g.constant(np.array([1, 4, cells.shape[2]], np.int64)))
    before, after = g.split(distances, [2, 2])
    cell = g.constant(cells)
    low, high = g.node("Sub", cell, before), g.node("Add", cell, after)
    centre = g.node("Mul", g.node("Add", low, high), g.constant(np.array([0.5], np.float32)))
    box = g.node("Mul", g.concat([centre, g.node("Sub", high, low)]), g.constant(strides))
    output = g.concat([box, g.node("Sigmoid", g.concat(scores, 2))])
    g.save(path, [1, 3, side, side], output, [1, 4 + classes, cells.shape[2]])


def large(path):
    g = Graph()
    x = g.node("GlobalAveragePool", g.block("images", 3, 1024, 3, 2))
    x = g.node("Flatten", x)
    for rows, columns in ((1024, 8192), (8192, 820)):
        weights = g.random.normal(0, rows ** -0.5, (rows, columns)).astype(np.float32)
        x = g.node("Relu", g.node("MatMul", x, g.constant(weights)))
    g.save(path, [1, 3, 32, 32], x, [1, 820])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    yolo(folder / "yolo.onnx", 320)
    large(folder / "large.onnx")


if __name__ == "__main__":
    main()

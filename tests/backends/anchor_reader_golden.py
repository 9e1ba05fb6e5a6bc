# SPDX-License-Identifier: Apache-2.0
"""Prints the boxes that anchor_reader_test.cpp expects, from the definition of the anchors."""
import numpy as np


def anchors(scales_first):
    scales, ratios, found = [1, 1.5], [0.5, 1, 2], []
    for stride in (8, 16):
        for y in range(-(-16 // stride)):
            for x in range(-(-24 // stride)):
                pairs = [(s, r) for r in ratios for s in scales]
                if scales_first:
                    pairs = [(s, r) for s in scales for r in ratios]
                for scale, ratio in pairs:
                    width = np.sqrt((2 * stride * scale) ** 2 / ratio)
                    found.append(((x + 0.5) * stride, (y + 0.5) * stride, width, width * ratio))
    return np.array(found)


raw = np.array([0.5, -0.25, 0.2, -0.3])
for scales_first in (False, True):
    for index in (25, 43):
        x, y, w, h = anchors(scales_first)[index]
        dx, dy, dw, dh = raw * [0.1, 0.1, 0.2, 0.2]
        cx, cy, bw, bh = x + dx * w, y + dy * h, w * np.exp(dw), h * np.exp(dh)
        centre_size = np.array([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2])
        corners = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2]) + raw * 0.2 * [w, h, w, h]
        print(scales_first, index, centre_size.round(5), corners.round(5))

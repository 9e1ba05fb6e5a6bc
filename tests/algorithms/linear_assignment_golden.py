#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the optima in linear_assignment_test.cpp, as scipy computes them (pip install scipy).

The matrices come from the linear congruential generator x <- 1664525 x + 1013904223 mod 2^32
(W. H. Press et al., "Numerical Recipes", 2nd edition, section 7.1), its upper 24 bits taken: each
cost is (x >> 8) / 1024 - 8192, row by row, from x = seed. Costs are whole 1024ths, so that sums
are exact and the totals can be compared without a tolerance. Where `forbidden` is f > 0, a cost is
forbidden if the x that follows it, >> 24, is below f: of 256, that many on average.

scipy refuses what has no complete assignment. Forbidden pairs therefore get 2^30, more than all
other costs together and few enough digits to stay exact; they are taken out of the result again.
"""
import numpy as np
from scipy.optimize import linear_sum_assignment

PENALTY = 2.0**30


def costs(rows, columns, seed, forbidden):
    x = seed

    def draw():
        nonlocal x
        x = (1664525 * x + 1013904223) % 2**32
        return x

    matrix = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            matrix[i, j] = (draw() >> 8) / 1024 - 8192
            if forbidden and (draw() >> 24) < forbidden:
                matrix[i, j] = PENALTY
    return matrix


CASES = [
    (300, 300, 1, 0),
    (200, 300, 2, 0),
    (300, 200, 3, 0),
    (300, 300, 4, 128),
    (300, 300, 5, 254),
    (120, 400, 6, 255),
]

for case in CASES:
    matrix = costs(*case)
    rows, columns = linear_sum_assignment(matrix)
    chosen = matrix[rows, columns]
    chosen = chosen[chosen != PENALTY]
    print("{%d, %d, %d, %d, %d, %r}," % (*case, len(chosen), float(chosen.sum())))

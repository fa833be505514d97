#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pi from random points: the share of them in a quarter of a circle. Each rank has random numbers of
its own; the counts are added at rank 0.

    torusctl emulate 2x2 -- python3 pi.py
"""
import numpy as np

import torus

POINTS = 200_000  # of each rank

with torus.Job() as job:
    random = np.random.default_rng([job.rank, 1])
    x, y = random.random((2, POINTS))
    inside, total = np.array([np.count_nonzero(x * x + y * y < 1)]), np.zeros(1, int)
    job.Reduce(inside, total, op=torus.SUM, root=0)
    if job.rank == 0:
        points = POINTS * job.size
        error = abs(4 * total[0] / points - np.pi) * np.sqrt(points) / np.sqrt(np.pi * (4 - np.pi))
        print(f"pi is about {4 * total[0] / points:.4f}: {error:.1f} standard deviations off")
        assert error < 5

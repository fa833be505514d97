#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Heat flow on a plate: each rank has rows of the grid and, above and below them, a copy of the
nearest row of each neighbour. Rank 0 checks the result against a computation without ranks.

    torusctl emulate 2x2 -- python3 heat.py [PICTURE.png]
"""
import sys

import numpy as np

import torus

SIDE, STEPS = 180, 400


def start(i, j):
    """Returns the temperatures at the beginning: a hot disc and a hot bar."""
    disc = (i - 60) ** 2 + (j - 60) ** 2 < 30 ** 2
    bar = (abs(i - 130) < 8) & (abs(j - 120) < 45)
    return np.where(disc | bar, 1.0, 0.0)


def step(grid):
    """Returns the inner points after one step; the border keeps its temperature, 0."""
    inner = grid[1:-1, 1:-1]
    around = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    return inner + 0.2 * (around - 4 * inner)


with torus.Job() as job:
    plate = torus.fromfunction(start, (SIDE, SIDE))  # blocks of rows
    rows = plate.local.shape[0]
    grid = np.zeros((rows + 2, SIDE + 2))
    grid[1:-1, 1:-1] = plate.local
    send, receive = torus.empty((2, SIDE + 2)), torus.empty((2, SIDE + 2))
    for _ in range(STEPS):
        send[0], send[1] = grid[1], grid[-2]
        job.Neighbor_alltoall(send, receive, dims=[job.size], periods=False)
        grid[0], grid[-1] = receive[0], receive[1]
        grid[1:-1, 1:-1] = step(grid)
    plate.local[...] = grid[1:-1, 1:-1]
    mean, hottest, result = plate.mean(), plate.max(), plate.gather(root=0)
    if job.rank == 0:
        print(f"mean temperature {mean:.4f}, hottest point {hottest:.4f}")
        alone = np.zeros((SIDE + 2, SIDE + 2))
        alone[1:-1, 1:-1] = begin = np.fromfunction(start, (SIDE, SIDE))
        for _ in range(STEPS):
            alone[1:-1, 1:-1] = step(alone)
        assert np.array_equal(result, alone[1:-1, 1:-1])
        if len(sys.argv) > 1:
            import matplotlib.pyplot as plt
            figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.1), layout="constrained")
            for panel, data, title in zip(axes, (begin, result), ("step 0", f"step {STEPS}")):
                image = panel.imshow(data, cmap="inferno", vmin=0, vmax=1)
                panel.set(title=title, xticks=[], yticks=[])
            figure.colorbar(image, ax=axes, label="temperature", shrink=0.85)
            figure.savefig(sys.argv[1], dpi=100)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Linear regression of data that is distributed over the ranks: each rank has its rows of the matrix
and of the right-hand side; the normal equations are small, and are added on all ranks.

    torusctl emulate 2x2 -- python3 regression.py
"""
import numpy as np

import torus

ROWS, TRUE = 5000, np.array([2.0, -1.0, 0.5])

with torus.Job() as job:
    random = np.random.default_rng([job.rank, 2])
    a = np.column_stack([np.ones(ROWS), random.normal(size=(ROWS, 2))])
    b = a @ TRUE + 0.1 * random.normal(size=ROWS)
    normal = np.column_stack([a.T @ a, a.T @ b])  # 3 x 4
    job.Allreduce(torus.IN_PLACE, normal)
    solution = np.linalg.solve(normal[:, :3], normal[:, 3])

    squares = np.array([np.sum((a @ solution - b) ** 2), float(ROWS)])
    job.Allreduce(torus.IN_PLACE, squares)
    deviation = np.sqrt(squares[0] / squares[1])
    if job.rank == 0:
        print(f"coefficients {np.round(solution, 2)}, residual {deviation:.2f}")
    assert np.allclose(solution, TRUE, atol=0.02) and abs(deviation - 0.1) < 0.01

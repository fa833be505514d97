#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A 2-D transform over all ranks of a job, compared with numpy.fft.

    torusctl emulate 3x3 -- ./fft_numpy.py
"""
import sys

import numpy

import torus

job = torus.Job()
grid = numpy.random.default_rng(1).standard_normal((97, 103))
plan, rows = job.plan_fft2(grid.shape)
mine = job.empty((rows.stop - rows.start, grid.shape[1]), "complex128")
mine[:] = grid[rows]
job.execute(plan, mine)

right = numpy.fft.fft2(grid)
errors = job.empty(2, "float64")
errors[:] = numpy.linalg.norm(mine - right[rows]) ** 2, numpy.linalg.norm(right[rows]) ** 2
job.allreduce(errors)
error = numpy.sqrt(errors[0] / errors[1])
if job.rank == 0:
    print(f"{job.size} ranks, relative L2 error {error:.2g}")
job.close()
sys.exit(0 if error < 4 * 2.2e-16 * numpy.sqrt(numpy.log2(grid.size)) else 1)

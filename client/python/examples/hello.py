#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every rank gets the sum of the numbers of all ranks.

    torusctl emulate 2x2 -- python3 hello.py
"""
import numpy as np

import torus

with torus.Job() as job:
    mine, total = np.array([float(job.rank)]), np.zeros(1)
    job.Allreduce(mine, total)
    print(f"rank {job.rank} of {job.size}: the sum is {total[0]:g}")

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A distributed array in a .npy file: all ranks write it, read it in another layout, transpose it,
and reduce it.

    torusctl emulate 2x2 -- python3 files.py
"""
import os
import tempfile

import numpy as np

import torus

with torus.Job() as job:
    folder = job.bcast(tempfile.mkdtemp() if job.rank == 0 else None)
    path = os.path.join(folder, "table.npy")
    torus.save(path, torus.fromfunction(lambda i, j: np.sin(i) * j, (300, 200)))

    table = torus.load(path, layout="(*, cyclic(4))")  # each rank has every 4 P-th group of columns
    means = table.mean(axis=0)
    turned = table.transpose(layout="(block, *)")
    total, place = turned.sum(), turned.argmax()
    if job.rank == 0:
        whole = np.load(path)
        print(f"sum {total:.6f}, greatest element at {np.unravel_index(place, turned.shape)}")
        assert np.isclose(total, whole.sum()) and place == whole.T.argmax()
    assert np.allclose(means.whole(), np.load(path).mean(axis=0))
    job.Barrier()
    if job.rank == 0:
        os.remove(path)
        os.rmdir(folder)

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Communication and computation at once, in asyncio: while the sums of one block travel, the rank
computes the next block.

    torusctl emulate 2x2 -- python3 overlap.py
"""
import asyncio

import numpy as np

import torus

BLOCKS, COUNT = 8, 100_000


def compute(rank, block):
    """Returns this rank's contribution to a block."""
    return np.sqrt(np.arange(COUNT) + 1.0) * (rank + 1) / (block + 1)


async def main(job):
    sums = torus.empty((BLOCKS, COUNT))
    requests = []
    for block in range(BLOCKS):
        sums[block] = compute(job.rank, block)
        requests.append(job.Iallreduce(torus.IN_PLACE, sums[block]))
        await asyncio.sleep(0)  # other tasks run; replies are handled
    for request in requests:
        await request
    ranks = job.size * (job.size + 1) / 2
    for block in range(BLOCKS):
        assert np.allclose(sums[block], compute(ranks - 1, block))
    if job.rank == 0:
        print(f"{BLOCKS} sums of {COUNT} elements, the last is {sums[-1, -1]:.3f}")


with torus.Job() as job:
    asyncio.run(main(job))

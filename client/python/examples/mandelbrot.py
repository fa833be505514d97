#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Mandelbrot set. Rows differ in their work, so they are dealt out cyclically; rank 0 gathers the
picture.

    torusctl emulate 2x2 -- python3 mandelbrot.py [PICTURE.png]
"""
import sys

import numpy as np

import torus

HEIGHT, WIDTH, STEPS = 360, 540, 80


def steps_until_escape(i, j):
    """Returns how many steps each point stays within radius 2."""
    c = (j / WIDTH * 3.0 - 2.1) + 1j * (i / HEIGHT * 2.0 - 1.0)
    z, count = np.zeros_like(c), np.zeros(c.shape, np.uint8)
    for _ in range(STEPS):
        inside = z.real ** 2 + z.imag ** 2 < 4
        z[inside] = z[inside] ** 2 + c[inside]
        count += inside
    return count


with torus.Job() as job:
    counts = torus.fromfunction(steps_until_escape, (HEIGHT, WIDTH), np.uint8, "(cyclic, *)")
    area = float((counts == STEPS).mean()) * 3.0 * 2.0
    picture = counts.gather(root=0)
    if job.rank == 0:
        print(f"area about {area:.2f}")
        assert 1.4 < area < 1.7
        if len(sys.argv) > 1:
            import matplotlib.pyplot as plt
            plt.imsave(sys.argv[1], np.log1p(picture.astype(float)), cmap="magma")

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The potential of charges in a grounded box: sine transforms solve the five-point equations.

    torusctl emulate 2x2 -- python3 poisson.py [PICTURE.png]
"""
import sys

import numpy as np

import torus
from torus import fft

ROWS, COLUMNS = 150, 210


def charges(i, j):
    """Returns two rods of opposite charge and a small ball."""
    plus = (abs(i - 50) < 3) & (abs(j - 70) < 40)
    minus = (abs(i - 100) < 3) & (abs(j - 120) < 40)
    ball = (i - 50) ** 2 + (j - 165) ** 2 < 36
    return np.where(plus | ball, 1.0, 0.0) - minus


def eigenvalues(n):
    """Returns the eigenvalues of the second difference with zeros at both ends."""
    return 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1)) - 2


with torus.Job() as job:
    density = torus.fromfunction(charges, (ROWS, COLUMNS))
    modes = fft.dstn(density, type=1, layout="(*, block)")
    modes /= -(eigenvalues(ROWS)[:, None] + eigenvalues(COLUMNS)[None, :])
    potential = fft.idstn(modes, type=1, layout="(block, *)")
    low, high, phi = potential.min(), potential.max(), potential.gather()
    if job.rank == 0:
        around = np.pad(phi, 1)
        laplacian = (around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2]
                     - 4 * phi)
        error = abs(laplacian + np.fromfunction(charges, phi.shape)).max()
        print(f"potential from {low:.2f} to {high:.2f}; the equations hold within {error:.0e}")
        assert error < 1e-10
        if len(sys.argv) > 1:
            import matplotlib.pyplot as plt
            figure, panel = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
            most = abs(phi).max()
            image = panel.imshow(phi, cmap="RdBu_r", vmin=-most, vmax=most)
            panel.contour(phi, 14, colors="black", linewidths=0.5)
            panel.set(xticks=[], yticks=[])
            figure.colorbar(image, label="potential", shrink=0.85)
            figure.savefig(sys.argv[1], dpi=100)

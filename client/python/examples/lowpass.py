#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A landscape without its short waves: a transform of real numbers, a filter in the spectrum, and the
inverse. The spectrum stays in the layout of the last transform. The elevations are matplotlib's
sample of the Jacksboro fault, or waves and noise without it.

    torusctl emulate 2x2 -- python3 lowpass.py [PICTURE.png]
"""
import sys

import numpy as np

import torus
from torus import fft

LENGTH = 24  # samples; shorter waves are removed


def elevation():
    """Returns the elevations, in metres."""
    try:
        from matplotlib import cbook
        with np.load(cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as dem:
            return dem["elevation"].astype(float)
    except (ImportError, OSError):
        i, j = np.ogrid[:344, :403]
        noise = np.random.default_rng(1).normal(size=(344, 403))
        return 300 + 50 * np.sin(i / 40) * np.cos(j / 60) + 10 * noise


def kept(shape):
    """Returns the factors of the spectrum: one half at waves of LENGTH samples."""
    k2 = fft.fftfreq(shape[0])[:, None] ** 2 + fft.rfftfreq(shape[1])[None, :] ** 2
    return np.exp(-np.log(2) * k2 * LENGTH ** 2)


with torus.Job() as job:
    land = torus.DistArray.scatter(elevation() if job.rank == 0 else None, root=0)
    spectrum = fft.rfft2(land, layout="(*, block)")
    spectrum *= kept(land.shape)
    smooth = fft.irfft2(spectrum, s=land.shape, layout="(block, *)")
    change, before, after = (land - smooth).std(), land.gather(), smooth.gather()
    if job.rank == 0:
        print(f"{land.shape[0]} x {land.shape[1]} points, changed by {change:.1f} m (rms)")
        alone = np.fft.irfft2(np.fft.rfft2(before) * kept(before.shape), s=before.shape)
        assert np.allclose(after, alone)
        if len(sys.argv) > 1:
            import matplotlib.pyplot as plt
            from matplotlib.colors import LightSource
            light = LightSource(azdeg=315, altdeg=45)
            figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.1), layout="constrained")
            for panel, data, title in zip(axes, (before, after), (
                    "elevation", f"without waves below {LENGTH} samples")):
                panel.imshow(light.shade(data, plt.cm.gist_earth, vert_exag=0.05, blend_mode="soft",
                                         vmin=before.min() - 150, vmax=before.max()))
                panel.set_title(title, fontsize=9)
                panel.set(xticks=[], yticks=[])
            figure.savefig(sys.argv[1], dpi=100)

# SPDX-License-Identifier: Apache-2.0
"""A program for mypy, which is not run: `./dev lint` fails if a mistake here has no error, or if
another line has one."""
from typing import Optional

import numpy as np

import torus

with torus.Job() as job:
    x, total = np.zeros(3), np.zeros(3)
    job.Allreduce(x, total, op=torus.MAX)
    job.Allreduce(x)  # type: ignore[call-arg]
    job.Bcast(x, rot=0)  # type: ignore[call-arg]
    job.Iallreduce(x, total).wait(timeout=1.0)
    job.Allreduce(x, total).wait()  # type: ignore[attr-defined]
    call: torus.Persistent = job.Allreduce_init(x, total)
    call.start().result  # type: ignore[attr-defined]
    half: Optional[torus.Group] = job.Split(job.rank % 2)
    half.Free()  # type: ignore[union-attr]
    part: np.ndarray = torus.fromfunction(lambda i: i, 3).local
    torus.fft.fft(x)  # type: ignore[arg-type]
    torus.empty(3).transposed()  # type: ignore[attr-defined]

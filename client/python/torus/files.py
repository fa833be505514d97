# SPDX-License-Identifier: Apache-2.0
"""Arrays in .npy files: each rank reads and writes its own part. All ranks see the same files."""
from __future__ import annotations

import os
from typing import Any, Callable, Optional

import numpy as np

from . import errors
from .distarray import DistArray
from .job import current


def _together(group: Any, step: Callable[[], Any]) -> Any:
    """Runs a step; if it fails on one rank, all ranks raise an exception that names it."""
    result, error = None, None
    try:
        result = step()
    except Exception as caught:  # pylint: disable=broad-except
        error = caught
    failed = np.zeros(group.size, np.bool_)
    group.Allgather(np.array([error is not None]), failed)
    if not failed.any():
        return result
    if error is not None:
        raise error
    raise errors.TorusError(f"rank {int(np.argmax(failed))} cannot read or write the file")


def save(path: Any, array: DistArray) -> None:
    """Writes an array to a .npy file. The file appears under its name when it is complete.

    >>> import os, tempfile
    >>> folder = job.bcast(tempfile.mkdtemp() if job.rank == 0 else None)
    >>> torus.save(folder + "/x.npy", torus.fromfunction(lambda i: i, 10))
    >>> torus.load(folder + "/x.npy", layout="(cyclic)").sum() == 45.0
    True
    """
    if not isinstance(array, DistArray):
        raise TypeError(f"save takes a DistArray, not {type(array).__name__}: numpy.save writes arrays "
                        "of one rank")
    group, path = array.group, os.fspath(path)
    partial = f"{path}.part"

    def create() -> None:
        if group.rank != 0:
            return
        try:
            if array.size:
                mapped = np.lib.format.open_memmap(partial, "w+", array.dtype, array.shape)
                with open(partial, "r+b") as file:  # a write to a mapped hole on a full disk raises SIGBUS
                    os.posix_fallocate(file.fileno(), 0, mapped.offset + mapped.nbytes)
            else:
                with open(partial, "wb") as file:
                    np.save(file, np.zeros(array.shape, array.dtype))
        except OSError:
            if os.path.exists(partial):
                os.unlink(partial)
            raise

    def write() -> None:
        if array.local.size:
            mapped = np.lib.format.open_memmap(partial, "r+")
            array._layout.put(mapped, array.local)
            mapped.flush()

    def finish() -> None:
        if group.rank == 0:
            os.replace(partial, path)

    for step in (create, write, finish):
        _together(group, step)


def load(path: Any, layout: Optional[str] = None, group: Any = None) -> DistArray:
    """Returns the array of a .npy file."""
    group = group if group is not None else current()

    def look() -> np.ndarray:
        mapped = np.load(os.fspath(path), mmap_mode="r", allow_pickle=False)
        if mapped.dtype.hasobject or mapped.ndim == 0:
            raise ValueError(f"{path} has {mapped.ndim} axes of dtype {mapped.dtype}")
        return mapped

    mapped = _together(group, look)
    made = DistArray(mapped.shape, mapped.dtype, layout, group)

    def read() -> None:
        if made.local.size:
            made.local[...] = made._layout.take(mapped)

    _together(group, read)
    return made

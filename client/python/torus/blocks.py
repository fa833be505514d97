# SPDX-License-Identifier: Apache-2.0
"""Blocks of the w calls: a list of arrays, one for each rank or neighbour.

A block has a type, a shape and strides of its own, such as a slice of a larger array; None has no
elements. Contiguous blocks of one array are used where they are. Other blocks are packed to shared
memory when the call starts, and unpacked when it is complete.
"""
from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._torus import ffi
from . import buffers

ALIGNMENT = 16  # of a packed block
WORK_MAX = 100_000  # of a search for bytes that two blocks share


class Blocks(NamedTuple):
    """Checked blocks: `load` packs them, `store` unpacks them, and `keep` must live as long."""

    pointer: Any
    counts: Any  # size_t []
    places: Any  # ptrdiff_t [], in bytes
    types: Any  # int []
    arrays: List[Optional[np.ndarray]]
    keep: Any
    load: Optional[Callable[[], None]]
    store: Optional[Callable[[], None]]


def make(context: Any, blocks: Any, what: str, writable: bool, size: int) -> Blocks:
    """Returns `size` blocks, or raises TypeError or ValueError that names `what`."""
    if not isinstance(blocks, (list, tuple, np.ndarray)):
        raise TypeError(f"{what}: pass a list of arrays, one for each block; None: no elements")
    if len(blocks) != size:
        raise ValueError(f"{what}: {len(blocks)} blocks, but the call has {size}")
    checked = [None if b is None else buffers.elements(b, f"{what}[{i}]", writable)
               for i, b in enumerate(blocks)]
    arrays = [None if c is None or c[0].size == 0 else c[0] for c in checked]
    if writable:
        for i, array in enumerate(arrays):
            if array is None:
                continue
            buffers.check_writable(array, f"{what}[{i}]")
            if not _nested(array):
                raise ValueError(f"{what}[{i}]: elements may overlap each other (shape "
                                 f"{array.shape}, strides {array.strides})")
    counts = ffi.new("size_t []", [0 if a is None else a.size for a in arrays] or [0])
    types = ffi.new("int []", [buffers.BYTE if c is None else c[1] for c in checked] or [0])
    if _in_one_array(arrays):
        places, pointer, keep = _where_they_are(arrays, writable)
        return Blocks(pointer, counts, places, types, arrays, keep, None, None)
    places, pointer, packed = _packed(context, arrays)
    return Blocks(pointer, counts, places, types, arrays, packed,
                  lambda: _copy(packed, arrays), lambda: _copy(arrays, packed))


def check_overlap(sources: Optional[Blocks], destinations: Blocks) -> None:
    """Raises ValueError if a destination shares bytes with a source or another destination."""
    named = [] if sources is None else [(a, f"sendbuf[{i}]", False) for i, a in
                                        enumerate(sources.arrays)]
    _separate(named + [(a, f"recvbuf[{i}]", True) for i, a in enumerate(destinations.arrays)])


def _copy(to: Sequence[Optional[np.ndarray]], source: Sequence[Optional[np.ndarray]]) -> None:
    for a, b in zip(to, source):
        if a is not None and b is not None:
            np.copyto(a, b)


# ---- memory ----


def _owner(array: np.ndarray) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _in_one_array(arrays: Sequence[Optional[np.ndarray]]) -> bool:
    """Whether the blocks are contiguous parts of one array: the library can use them there."""
    there = [a for a in arrays if a is not None]
    return all(a.flags.c_contiguous and a.flags.aligned for a in there) and (
        len({id(_owner(a)) for a in there}) <= 1)


def _where_they_are(arrays: Sequence[Optional[np.ndarray]],
                    writable: bool) -> Tuple[Any, Any, List[Any]]:
    held = [ffi.NULL if a is None else ffi.from_buffer(a, require_writable=writable)
            for a in arrays]
    at = [None if a is None else int(ffi.cast("intptr_t", h)) for a, h in zip(arrays, held)]
    first = min((a for a in at if a is not None), default=0)
    places = ffi.new("ptrdiff_t []", [0 if a is None else a - first for a in at] or [0])
    return places, ffi.cast("void *", first), held


def _packed(context: Any, arrays: Sequence[Optional[np.ndarray]]) -> Tuple[
        Any, Any, List[Optional[np.ndarray]]]:
    at, total = [], 0
    for array in arrays:
        at.append(total)
        total += 0 if array is None else -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    memory = context.empty(total, np.uint8)
    packed = [None if a is None else
              memory[p:p + a.nbytes].view(a.dtype).reshape(a.shape) for a, p in zip(arrays, at)]
    return ffi.new("ptrdiff_t []", at or [0]), ffi.cast("void *", ffi.from_buffer(memory)), packed


# ---- overlap ----


def _nested(array: np.ndarray) -> bool:
    """Whether each stride steps over all that the smaller strides reach; then no two elements
    share bytes. Slices and transposes of an array without overlap are nested."""
    reach = array.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < reach:
            return False
        reach += (n - 1) * stride
    return True


def _bounds(array: np.ndarray) -> Tuple[int, int]:
    low = high = array.__array_interface__["data"][0]
    for stride, n in zip(array.strides, array.shape):
        step = (n - 1) * stride
        low, high = low + min(step, 0), high + max(step, 0)
    return low, high + array.itemsize


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(a, b, max_work=WORK_MAX))
    except RuntimeError:  # numpy.TooHardError
        return True


def _separate(named: Sequence[Tuple[Optional[np.ndarray], str, bool]]) -> None:
    """Raises ValueError if an array that is written shares bytes with another one. Arrays that are
    read may share theirs. Each array has a name and whether it is written."""
    sweep = sorted((*_bounds(a), i) for i, (a, _, _) in enumerate(named) if a is not None)
    open_: List[Tuple[int, int]] = []  # ends and numbers of the arrays before that reach further
    for low, high, i in sweep:
        open_ = [(end, j) for end, j in open_ if end > low]
        for _, j in open_:
            (a, first, written), (b, second, also) = named[j], named[i]
            if a is not None and b is not None and (written or also) and _share(a, b):
                raise ValueError(f"{first} and {second} overlap")
        open_.append((high, i))

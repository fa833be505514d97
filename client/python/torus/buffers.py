# SPDX-License-Identifier: Apache-2.0
"""Buffers of the upper-case calls: checked before the library sees them.

A buffer is a NumPy array, or an object with the buffer protocol such as bytearray. Its elements are
contiguous in C or Fortran order, aligned, in the byte order of this machine, and of a type of the
library. The buffers that a call writes are writable. The request of a call keeps them alive.

A list, as in mpi4py, says which elements of a buffer a call uses: [x, type], [x, count, type] or
[x, (count, place), type]; for counts by rank [x, counts, type], [x, (counts, places), type] or
[x, counts, places, type]. The type, which may be left out, is one of NumPy. Elements are in the order
of the memory.
"""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._torus import ffi, lib


class _InPlace:
    """The type of IN_PLACE."""

    def __repr__(self) -> str:
        return "torus.IN_PLACE"


IN_PLACE = _InPlace()
"""As the source: the destination holds the input."""

_NAMES = {"b1": lib.TORUS_BOOL, "i1": lib.TORUS_INT8, "i2": lib.TORUS_INT16,
          "i4": lib.TORUS_INT32, "i8": lib.TORUS_INT64, "u1": lib.TORUS_UINT8,
          "u2": lib.TORUS_UINT16, "u4": lib.TORUS_UINT32, "u8": lib.TORUS_UINT64,
          "f2": lib.TORUS_HALF, "f4": lib.TORUS_FLOAT, "f8": lib.TORUS_DOUBLE,
          "f16": lib.TORUS_LONG_DOUBLE, "c8": lib.TORUS_COMPLEX_FLOAT,
          "c16": lib.TORUS_COMPLEX_DOUBLE}
_PAIRS = {"i2": lib.TORUS_INT16_INT, "i4": lib.TORUS_INT32_INT, "i8": lib.TORUS_INT64_INT,
          "f4": lib.TORUS_FLOAT_INT, "f8": lib.TORUS_DOUBLE_INT, "f16": lib.TORUS_LONG_DOUBLE_INT}


def pair_dtype(value: Any) -> np.dtype:
    """Returns the type of the elements of MINLOC and MAXLOC: a value and its place.

    >>> import numpy as np
    >>> mine = np.array([(3.5, job.rank)], pair_dtype("float64"))
    >>> least = np.zeros_like(mine)
    >>> job.Allreduce(mine, least, op=torus.MINLOC)
    >>> float(least["value"][0]), int(least["place"][0])
    (3.5, 0)
    """
    value = np.dtype(value)
    if value.str[1:] not in _PAIRS or not value.isnative:
        raise TypeError(f"MINLOC and MAXLOC take signed integers and floats, not {value}")
    return np.dtype([("value", value), ("place", np.int32)], align=True)


BYTE = lib.TORUS_BYTE
_TYPES = {np.dtype(name): number for name, number in _NAMES.items()}
_TYPES.update({pair_dtype(name): number for name, number in _PAIRS.items()})


def type_number(dtype: np.dtype) -> int:
    """Returns the library's number of a type; TypeError: it has none."""
    number = _TYPES.get(dtype)
    if number is not None and dtype.isnative:
        return number
    if not dtype.isnative:
        raise TypeError(f"the elements ({dtype.str}) do not have the byte order of this machine: "
                        "convert them with astype(dtype.newbyteorder('='))")
    if dtype.hasobject:
        raise TypeError(f"the elements are Python objects (dtype {dtype}): use a lower-case call")
    raise TypeError(f"torus has no type for dtype {dtype}: convert the array, or move its bytes as "
                    "view('uint8')")


class Buffer(NamedTuple):
    """A checked buffer: `array` keeps it alive."""

    pointer: Any
    count: int  # type: ignore  # hides a method of tuples
    type: int
    array: Any

    @property
    def elements(self) -> np.ndarray:
        """The array, without what keeps its memory."""
        return self.array[0] if isinstance(self.array, tuple) else self.array


def _as_array(obj: Any, what: str) -> np.ndarray:
    if isinstance(obj, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array loses its mask: pass its filled() data")
    if isinstance(obj, (np.ndarray, np.generic)):
        return np.asarray(obj)
    if hasattr(obj, "local") and hasattr(obj, "layout"):
        raise TypeError(f"{what}: a DistArray is distributed: pass its `local` part")
    if obj is None:
        raise TypeError(f"{what} is None, but this rank needs a buffer there")
    if in_place(obj):
        raise TypeError(f"{what} cannot be torus.IN_PLACE in this call")
    try:
        view = memoryview(obj)
    except TypeError:
        raise TypeError(f"{what}: {type(obj).__name__} is no buffer: pass a NumPy array, or use "
                        "the lower-case call for objects") from None
    return np.asarray(view)


def elements(obj: Any, what: str, writable: bool) -> Tuple[np.ndarray, int]:
    """Returns the array of a buffer, with any strides, and the library's number of its type."""
    if writable and isinstance(obj, np.generic):
        raise TypeError(f"{what}: a NumPy scalar is a copy, and the call writes it: pass an array, such "
                        "as x[i:i + 1] instead of x[i]")
    array = _as_array(obj, what)
    try:
        number = type_number(array.dtype)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    return array, number


def check_writable(array: np.ndarray, what: str) -> None:
    """Raises ValueError that names `what` if the array is read-only."""
    if not array.flags.writeable:
        raise ValueError(f"{what}: the array is read-only, and the call writes it")


def _typed(obj: Any, kind: Any, what: str) -> np.ndarray:
    """Returns the array of a buffer whose elements have the type `kind`: bytes are taken as such."""
    array, dtype = _as_array(obj, what), np.dtype(kind)
    if array.dtype == dtype:
        return array
    if array.dtype.itemsize != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{what} has elements of {array.dtype}, but the list says {dtype}")
    if not array.flags.c_contiguous or array.nbytes % dtype.itemsize:
        raise ValueError(f"{what}: {array.nbytes} bytes are no row of elements of {dtype}")
    return array.reshape(-1).view(dtype)


def _described(spec: Any, what: str) -> Tuple[Any, List[Any]]:
    """Returns the buffer of a list with the type that the list names, and the rest of the list."""
    if not isinstance(spec, (list, tuple)):
        return spec, []
    if not 2 <= len(spec) <= 4:
        raise TypeError(f"{what}: a list of {len(spec)} entries: pass [x, type], [x, counts, type] or "
                        "[x, counts, places, type]; the lower-case calls take lists of objects")
    obj, *rest = spec
    if isinstance(rest[-1], (str, type, np.dtype)):
        return _typed(obj, rest[-1], what), rest[:-1]
    return obj, rest


def check(spec: Any, what: str, writable: bool, blocks: int = 1) -> Buffer:
    """Returns the buffer of an array or a list, or raises TypeError or ValueError that names `what`.
    The count in a list is that of one of `blocks` blocks."""
    obj, rest = _described(spec, what)
    whole = _checked(obj, what, writable)
    if not rest or rest[0] is None:
        return whole
    numbers = [rest[0], 0] if np.size(rest) == 1 else rest[0] if len(rest) == 1 else rest
    count, place = _integers(numbers, "numbers of [count, place]", 2, what)
    end = place + count * blocks
    if count < 0 or place < 0 or end > whole.count:
        raise ValueError(f"{what}: the list names elements {place} to {end - 1}, but the array has "
                         f"{whole.count}")
    return _checked(whole.elements.reshape(-1)[place:end], what, writable)


def _checked(obj: Any, what: str, writable: bool) -> Buffer:
    """Returns the buffer of an array."""
    array, number = elements(obj, what, writable)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = array.T  # in the order of the memory
    if not array.flags.c_contiguous:
        raise ValueError(f"{what}: the elements are not contiguous (shape "
                         f"{array.shape}, strides {array.strides}): pass a copy, such as "
                         "numpy.ascontiguousarray(x)")
    if not array.flags.aligned:
        raise ValueError(f"{what}: the elements are not aligned to their size: pass a copy")
    if writable:
        check_writable(array, what)
    if array.size == 0:
        return Buffer(ffi.NULL, 0, number, array)
    held = ffi.from_buffer(array, require_writable=writable)
    return Buffer(ffi.cast("void *", held), array.size, number, (array, held))


def source(spec: Any, what: str = "sendbuf", blocks: int = 1) -> Buffer:
    """Returns a buffer that the call reads."""
    return check(spec, what, False, blocks)


def destination(spec: Any, what: str = "recvbuf", blocks: int = 1) -> Buffer:
    """Returns a buffer that the call writes."""
    return check(spec, what, True, blocks)


def same_type(a: Buffer, b: Buffer) -> None:
    """Raises TypeError unless both buffers have elements of one type."""
    if a.type != b.type:
        raise TypeError(f"sendbuf has elements of {a.elements.dtype}, recvbuf of "
                        f"{b.elements.dtype}")


def same_count(have: int, need: int, what: str, why: str) -> None:
    """Raises ValueError unless a buffer has as many elements as the call needs."""
    if have != need:
        raise ValueError(f"{what} has {have} elements, but the call needs {need}: {why}")


class Parts(NamedTuple):
    """A buffer with a part for each rank."""

    buffer: Buffer
    counts: Any  # size_t []
    places: Any  # ptrdiff_t [], or NULL: the parts are contiguous


def _integers(values: Any, name: str, size: int, what: str) -> List[int]:
    listed = [int(v) for v in np.asarray(values).ravel()]
    if np.asarray(values).size and np.asarray(values).dtype.kind not in "iu":
        raise TypeError(f"{what}: the {name} are not integers")
    if len(listed) != size:
        raise ValueError(f"{what}: {len(listed)} {name} for {size} parts")
    return listed


def parts(spec: Any, what: str, writable: bool, size: int, placed: bool = False) -> Parts:
    """Returns the buffer of [array, counts], [array, counts, places] or [array, (counts, places)],
    each with or without a type, with `size` parts that lie inside of the array; parts that are
    written must not overlap. One count stands for all; without counts the elements are divided
    as equally as they can be, with the longer parts first, as in mpi4py.
    `placed`: parts without places are contiguous, also where the library ignores some of them."""
    array, rest = _described(spec, what)
    if len(rest) == 1 and isinstance(rest[0], (tuple, list)) and len(rest[0]) == 2 and not (
            isinstance(rest[0][0], (int, np.integer))):
        rest = list(rest[0])
    buffer = _checked(array, what, writable)
    counts = _counts(rest[0] if rest else None, buffer, size, what)
    if any(c < 0 for c in counts):
        raise ValueError(f"{what}: negative counts")
    places = _places(rest[1], counts, size, what) if len(rest) == 2 and rest[1] is not None else None
    at = places if places is not None else _running(counts)
    _inside(buffer, counts, at, what)
    if writable and places is not None:
        _disjoint(counts, at, what)
    return Parts(buffer, ffi.new("size_t []", counts or [0]),
                 ffi.NULL if places is None and not placed else ffi.new("ptrdiff_t []", at or [0]))


def equal_counts(buffer: Buffer, size: int, what: str) -> List[int]:
    """Returns the counts of equal parts, or raises ValueError."""
    each, left = divmod(buffer.count, max(size, 1))
    if left or (size == 0 and buffer.count):
        raise ValueError(f"{what}: {buffer.count} elements are not {size} equal parts: pass "
                         "their counts")
    return [each] * size


def _counts(values: Optional[Any], buffer: Buffer, size: int, what: str) -> List[int]:
    if values is None:
        each, left = divmod(buffer.count, max(size, 1))
        return [each + (i < left) for i in range(size)]
    if isinstance(values, (int, np.integer)):
        values = [values] * size
    return _integers(values, "counts", size, what)


def _places(values: Any, counts: Sequence[int], size: int, what: str) -> List[int]:
    return _integers(values, "places", size, what)


def _running(counts: Sequence[int]) -> List[int]:
    total, places = 0, []
    for count in counts:
        places.append(total)
        total += count
    return places


def _inside(buffer: Buffer, counts: Sequence[int], places: Sequence[int], what: str) -> None:
    for i, (count, place) in enumerate(zip(counts, places)):
        if count and (place < 0 or place + count > buffer.count):
            raise ValueError(f"{what}: part {i} has the elements {place} to {place + count - 1}, "
                             f"but the array has {buffer.count}")


def _disjoint(counts: Sequence[int], places: Sequence[int], what: str) -> None:
    ranges: List[Tuple[int, int, int]] = sorted(
        (p, p + c, i) for i, (c, p) in enumerate(zip(counts, places)) if c)
    for (_, end, i), (begin, _, j) in zip(ranges, ranges[1:]):
        if begin < end:
            raise ValueError(f"{what}: parts {i} and {j} overlap")


def in_place(obj: Any) -> bool:
    """Whether an argument is IN_PLACE."""
    return obj is IN_PLACE


def root_of(root: Any, size: int) -> int:
    """Returns a root, or raises ValueError."""
    number = int(root)
    if number != root or not 0 <= number < size:
        raise ValueError(f"root {root} is not in the group, which has ranks 0 to {size - 1}")
    return number



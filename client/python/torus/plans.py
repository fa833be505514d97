# SPDX-License-Identifier: Apache-2.0
"""Plans of redistributions and transforms, and layouts: which elements of an array a rank has.

A group keeps its last plans, so a repeated operation does not plan again. All ranks keep the same
ones, because they make the same calls.
"""
from __future__ import annotations

import re
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._torus import ffi, lib
from .handles import Handle
from .requests import Request

Index = Union[slice, np.ndarray]
_AXES = re.compile(r"\(((?:[^()]|\([^()]*\))*)\)(.*)")  # the axes in parentheses, and the rest


class Plan:
    """A plan of the library. It keeps its group of the library; the end of this frees the plan."""

    def __init__(self, handle: Handle, pointer: Any) -> None:
        self.handle = handle
        self.pointer = ffi.gc(pointer, lambda p: handle.context.defer(_free, handle, p))

    def start(self, source: np.ndarray, destination: np.ndarray) -> Request:
        """Starts the plan on arrays that hold this rank's parts in the order of the memory."""
        self.handle.pointer  # pylint: disable=pointless-statement  # raises if it has been freed
        kept = [self, source, destination, ffi.from_buffer(source),
                ffi.from_buffer(destination, require_writable=True)]
        return Request(self.handle.context,
                       lambda r: lib.torus_start(self.pointer, kept[3], kept[4], r), kept)


def _free(handle: Handle, pointer: Any) -> None:
    if not handle.freed and not handle.context.closed:  # else the library has freed the plan
        lib.torus_plan_free(pointer)


def _cached(group: Any, key: Any, make: Callable[[], Any]) -> Any:
    kept = group.plans
    if key in kept:
        kept.move_to_end(key)
        return kept[key]
    made = make()
    kept[key] = made
    while len(kept) > group.PLANS_MAX:
        kept.popitem(last=False)
    return made


def _text(layout: Optional[str], dimensions: int) -> Any:
    """Returns a layout for the library: NULL is blocks of axis 0, which has methods of its own."""
    return ffi.NULL if layout is None or layout == default(dimensions) else ffi.new(
        "char []", layout.encode())


def default(dimensions: int) -> str:
    """Returns the default layout: blocks of axis 0 over all ranks."""
    return "(" + ", ".join(["block"] + ["*"] * (dimensions - 1)) + ")"


def normal(layout: Optional[str], dimensions: int) -> str:
    """Returns a layout with blanks in fixed places, so that equal layouts have equal texts.

    >>> normal("( block,*)  on 4", 2), normal("(cyclic( 2 ),*)@ 0 - 2", 2)
    ('(block, *) on 4', '(cyclic(2), *) @0-2')

    Other texts, such as boxes, keep their words; the library judges a wrong one.
    """
    if layout is None:
        return default(dimensions)
    text = " ".join(layout.split())
    axes = _AXES.match(text)
    if axes is None:
        return text
    inside = re.sub(r" ?([(),+]) ?", r"\1", axes[1].strip())
    after = re.sub(r" ?([,:@-]) ?", r"\1", axes[2].strip()).replace("@", " @").strip()
    return "(" + inside.replace(",", ", ") + ")" + (" " + after if after else "")


def _start_plan(group: Any, function: Any, description: Any, kept: Sequence[Any]) -> Plan:
    made = ffi.new("torus_plan **")
    pointer, handle = group.pointer, group.handle
    return Request(group.context, lambda r: function(pointer, description, made, r),
                   [made, description, kept], lambda: Plan(handle, made[0])).wait()


def _shaped(kind: str, shape: Sequence[int], source: Optional[str], to: Optional[str],
            out_dimensions: int) -> Tuple[Any, List[Any]]:
    if not 1 <= len(shape) <= lib.TORUS_DIMENSIONS_MAX:
        raise ValueError(f"an array has 1 to {lib.TORUS_DIMENSIONS_MAX} axes, not {len(shape)}")
    description = ffi.new(f"struct {kind} *")
    description.size = ffi.sizeof(f"struct {kind}")
    description.dimensions = len(shape)
    description.shape[0:len(shape)] = [int(n) for n in shape]
    texts = [_text(source, len(shape)), _text(to, out_dimensions)]
    setattr(description, "from", texts[0])
    setattr(description, "to", texts[1])
    return description, texts


def redistribution(group: Any, shape: Sequence[int], itemsize: int, source: Optional[str],
                   to: Optional[str], axes: Optional[Sequence[int]] = None) -> Plan:
    """Returns the plan of a move from one layout to another; collective."""
    def make() -> Plan:
        description, texts = _shaped("torus_redist_desc", shape, source, to, len(shape))
        description.element_bytes = itemsize
        if axes is not None:
            description.transposed = 1
            description.axes[0:len(axes)] = list(axes)
        return _start_plan(group, lib.torus_iplan_redist, description, texts)

    order = None if axes is None else tuple(axes)
    return _cached(group, ("redist", tuple(shape), itemsize, source, to, order), make)


def transform(group: Any, shape: Sequence[int], number: int, sign: int, scale: int,
              kinds: Sequence[int], source: Optional[str], to: Optional[str]) -> Plan:
    """Returns the plan of a Fourier transform; collective. `shape` counts real points."""
    def make() -> Plan:
        description, texts = _shaped("torus_fft_desc", shape, source, to, len(shape))
        description.type, description.sign, description.scale = number, sign, scale
        description.transform[0:len(kinds)] = list(kinds)
        return _start_plan(group, lib.torus_iplan_fft, description, texts)

    return _cached(group, ("fft", tuple(shape), number, sign, scale, tuple(kinds), source, to),
                   make)


class Layout:
    """This rank's part of an array: `indices` along each axis, `shape` of the part, and `order`,
    the axes from the outermost to the innermost in memory."""

    def __init__(self, group: Any, whole: Sequence[int], text: str) -> None:
        plan = redistribution(group, whole, 1, text, text)
        box = ffi.new("struct torus_box *")
        group.context.check(lib.torus_plan_local(plan.pointer, lib.TORUS_SIDE_INPUT, box))
        self.text = text
        self.shape = tuple(int(n) for n in box.count[0:len(whole)])
        named = re.search(r"\border ([\d, ]+)", text)
        self.order = tuple(int(a) for a in named.group(1).split(",")) if named else tuple(
            range(len(whole)))
        self.indices: Tuple[Index, ...] = tuple(
            self._along(plan, axis, int(box.begin[axis])) for axis in range(len(whole)))

    def _along(self, plan: Plan, axis: int, begin: int) -> Index:
        count = self.shape[axis]
        if 0 in self.shape:
            return slice(0, 0) if count == 0 else slice(begin, begin + count)

        def at(i: int) -> int:
            return lib.torus_plan_index(plan.pointer, lib.TORUS_SIDE_INPUT, axis, i)

        if at(count - 1) == begin + count - 1:
            return slice(begin, begin + count)
        return np.array([at(i) for i in range(count)], np.int64)

    def arrays(self) -> Tuple[np.ndarray, ...]:
        """Returns the indices along each axis as arrays."""
        return tuple(np.arange(i.start, i.stop) if isinstance(i, slice) else i
                     for i in self.indices)

    def take(self, whole: np.ndarray) -> np.ndarray:
        """Returns this rank's part of an array of which all ranks have the whole; along axes of
        length 1 the array is repeated later."""
        skipped = len(self.shape) - whole.ndim
        for axis in range(whole.ndim):
            if whole.shape[axis] != 1:
                index = self.indices[axis + skipped]
                whole = whole[(slice(None),) * axis + (index,)]
        return whole

    def put(self, whole: Any, part: np.ndarray) -> None:
        """Writes this rank's part to an array or a mapped file."""
        if part.size:
            if all(isinstance(i, slice) for i in self.indices):
                whole[self.indices] = part
            else:
                whole[np.ix_(*self.arrays())] = part

    def allocate(self, group: Any, dtype: np.dtype) -> np.ndarray:
        """Returns an array for this rank's part in shared memory, with its axes in order."""
        flat = group.context.empty([self.shape[a] for a in self.order], dtype)
        return flat.transpose(np.argsort(self.order))

    def memory(self, part: np.ndarray) -> np.ndarray:
        """Returns a part as it lies in memory: a view, or a copy if it lies otherwise."""
        return np.ascontiguousarray(part.transpose(self.order))


def layout(group: Any, whole: Sequence[int], text: Optional[str]) -> Layout:
    """Returns the layout of an array of the shape `whole`; collective."""
    named = normal(text, len(whole))
    return _cached(group, ("layout", tuple(whole), named), lambda: Layout(group, whole, named))

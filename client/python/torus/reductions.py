# SPDX-License-Identifier: Apache-2.0
"""Reductions of a DistArray, with NumPy's names and results.

Over all axes, each rank reduces its part; the ranks exchange these results and reduce them, alike on
all ranks. Over some axes, the array first moves to a layout in which these axes are whole.

With `keepdims`, the axes that are reduced have length 1 in the result, so that it can be broadcast to the
shape of the array. The result over all axes is a NumPy array then, alike on all ranks.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy as np

if TYPE_CHECKING:
    from .distarray import DistArray

Axis = Union[None, int, Sequence[int]]


def axes_of(axis: Axis, dimensions: int) -> List[int]:
    """Returns axes as a sorted list of numbers from 0."""
    listed = list(range(dimensions)) if axis is None else [axis] if isinstance(
        axis, (int, np.integer)) else list(axis)
    found = []
    for a in listed:
        if not -dimensions <= a < dimensions:
            raise ValueError(f"axis {a} of an array with {dimensions} axes")
        found.append(int(a) % dimensions)
    if len(set(found)) != len(found):
        raise ValueError("an axis is named twice")
    return sorted(found)


def exchange(array: "DistArray", mine: Optional[Any], dtype: np.dtype) -> np.ndarray:
    """Returns the values of all ranks that have one."""
    group = array.group
    record = np.zeros(1, np.dtype([("has", np.bool_), ("value", dtype)]))
    if mine is not None:
        record[0] = (True, mine)
    everything = np.zeros(group.size, record.dtype)
    group.Allgather(record.view(np.uint8), everything.view(np.uint8))
    return np.ascontiguousarray(everything["value"][everything["has"]])


def reduce(array: "DistArray", function: Callable[..., Any], axis: Axis, dtype: Any = None,
           empty: Any = None, keepdims: bool = False) -> Any:
    """Returns function(part, axis=axes) of the whole array: a scalar, or a DistArray. `empty` is
    the result for an array without elements; None: such an array is an error."""
    axes = axes_of(axis, array.ndim)
    named = {} if dtype is None else {"dtype": dtype}
    if len(axes) < array.ndim:
        moved, kept = whole_along(array, axes)
        local = function(moved.local, axis=tuple(axes), keepdims=keepdims, **named)
        if keepdims:
            shape = tuple(1 if a in axes else n for a, n in enumerate(array.shape))
            return type(array)(shape, layout=moved.layout, group=array.group, local=local)
        return type(array)([array.shape[a] for a in kept], group=array.group, local=local)
    result = np.asarray(function(np.ones((1,), array.dtype), axis=None, **named)).dtype
    mine = function(array.local, axis=None, **named) if array.local.size else None
    values = exchange(array, mine, result)
    if values.size == 0 and empty is None:
        raise ValueError("the reduction of an empty array has no result")
    total = function(values, axis=None, **named) if values.size else result.type(empty)
    return _kept(total, array.ndim, keepdims)


def _kept(value: Any, dimensions: int, keepdims: bool) -> Any:
    """Returns the result of a reduction over all axes."""
    return np.full((1,) * dimensions, value) if keepdims else value


def whole_along(array: "DistArray", axes: Sequence[int]) -> Tuple["DistArray", List[int]]:
    """Returns the array in a layout in which these axes are whole on each rank and the first of the
    others is in blocks, and the list of the others."""
    kept = [a for a in range(array.ndim) if a not in axes]
    names = ["*"] * array.ndim
    if kept:
        names[kept[0]] = "block"
    return array.redistribute("(" + ", ".join(names) + ")"), kept


class Reductions:
    """The reductions of DistArray. `out` of NumPy is not supported.

    >>> x = torus.fromfunction(lambda i, j: i + j, (4, 6))
    >>> y = x - x.mean(axis=1, keepdims=True)
    >>> float(abs(y.sum()))
    0.0
    """

    if TYPE_CHECKING:
        dtype: np.dtype
        local: np.ndarray
        shape: Tuple[int, ...]

        @property
        def size(self) -> int:
            """Of DistArray."""

        @property
        def ndim(self) -> int:
            """Of DistArray."""

    def sum(self, axis: Axis = None, dtype: Any = None, out: None = None,
            keepdims: bool = False) -> Any:
        """The sum, as numpy.sum.

        >>> x = torus.fromfunction(lambda i, j: i + j, (4, 6))
        >>> float(x.sum()), x.sum(axis=0).whole().tolist()
        (96.0, [6.0, 10.0, 14.0, 18.0, 22.0, 26.0])
        """
        _no_out(out)
        return reduce(self, np.sum, axis, dtype, 0, keepdims)  # type: ignore

    def prod(self, axis: Axis = None, dtype: Any = None, out: None = None,
             keepdims: bool = False) -> Any:
        """The product."""
        _no_out(out)
        return reduce(self, np.prod, axis, dtype, 1, keepdims)  # type: ignore

    def min(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """The least element; NaN if one is NaN."""
        _no_out(out)
        return reduce(self, np.min, axis, keepdims=keepdims)  # type: ignore

    def max(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """The greatest element; NaN if one is NaN."""
        _no_out(out)
        return reduce(self, np.max, axis, keepdims=keepdims)  # type: ignore

    def all(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether all elements are true."""
        _no_out(out)
        return reduce(self, np.all, axis, empty=True, keepdims=keepdims)  # type: ignore

    def any(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether one element is true."""
        _no_out(out)
        return reduce(self, np.any, axis, empty=False, keepdims=keepdims)  # type: ignore

    def mean(self, axis: Axis = None, dtype: Any = None, out: None = None,
             keepdims: bool = False) -> Any:
        """The mean, in the type that numpy.mean has."""
        _no_out(out)
        result = np.dtype(dtype) if dtype is not None else np.mean(np.ones(1, self.dtype)).dtype
        work = np.float32 if result == np.float16 else result
        count = 1
        for a in axes_of(axis, self.ndim):
            count *= self.shape[a]
        total = self.sum(axis, dtype=work, keepdims=keepdims)
        return _typed(total / work_type(work, count), result)

    def var(self, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
            keepdims: bool = False) -> Any:
        """The variance, in the type that numpy.var has."""
        _no_out(out)
        if len(axes_of(axis, self.ndim)) < self.ndim:
            return reduce(self, functools.partial(np.var, ddof=ddof), axis, dtype,  # type: ignore
                          keepdims=keepdims)
        result = np.dtype(dtype) if dtype is not None else np.var(np.ones(1, self.dtype)).dtype
        deviation = abs(self - self.mean(dtype=np.float64 if result.kind == "f" and
                                         self.dtype.kind in "biu" else None))
        total = (deviation * deviation).sum(keepdims=keepdims)
        return _typed(total / (self.size - ddof), result)

    def std(self, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0,
            keepdims: bool = False) -> Any:
        """The standard deviation."""
        return np.sqrt(self.var(axis, dtype, out, ddof, keepdims))

    def argmin(self, axis: Optional[int] = None, out: None = None,
               keepdims: bool = False) -> Any:
        """The index of the first least element along an axis, or in the flattened array.

        >>> x = torus.fromfunction(lambda i, j: abs(i - j), (3, 4))
        >>> x.argmin(), x.argmin(axis=1).whole().tolist()
        (0, [0, 1, 2])
        """
        _no_out(out)
        return _places(self, np.argmin, np.min, axis, keepdims)  # type: ignore

    def argmax(self, axis: Optional[int] = None, out: None = None,
               keepdims: bool = False) -> Any:
        """The index of the first greatest element along an axis, or in the flattened array."""
        _no_out(out)
        return _places(self, np.argmax, np.max, axis, keepdims)  # type: ignore


def _no_out(out: Any) -> None:
    if out is not None:
        raise TypeError("reductions of a DistArray take no `out`")


def work_type(dtype: Any, count: int) -> Any:
    """Returns a count in the type of a sum, so that the quotient has that type."""
    return np.dtype(dtype).type(count)


def _typed(value: Any, dtype: np.dtype) -> Any:
    return value.astype(dtype) if value.dtype != dtype else value


def _places(array: "DistArray", find: Callable[..., Any], best: Callable[..., Any],
            axis: Optional[int], keepdims: bool) -> Any:
    if axis is None or array.ndim == 1 and axes_of(axis, 1):
        return _kept(_place(array, find, best), array.ndim, keepdims)

    def find_along(part: np.ndarray, axis: Tuple[int, ...], keepdims: bool) -> np.ndarray:
        places = find(part, axis=axis[0])
        return np.expand_dims(places, axis) if keepdims else places

    return reduce(array, find_along, axis, keepdims=keepdims)


def _place(array: "DistArray", find: Callable[..., Any], best: Callable[..., Any]) -> int:
    record = np.dtype([("value", array.dtype), ("index", np.int64)])
    mine = None
    if array.local.size:
        at = np.unravel_index(int(find(array.local)), array.local.shape)
        whole = [indices[i] for indices, i in zip(array.layout_indices(), at)]
        mine = np.array((array.local[at], np.ravel_multi_index(whole, array.shape)), record)
    found = exchange(array, mine, record)
    if found.size == 0:
        raise ValueError("an empty array has no least or greatest element")
    values = np.ascontiguousarray(found["value"])
    if values.dtype.kind in "fc" and np.isnan(values).any():
        return int(found["index"][np.isnan(values)].min())
    return int(found["index"][values == best(values)].min())

# SPDX-License-Identifier: Apache-2.0
"""DistArray: an array that is distributed over the ranks of a group, in any layout of the library.

Layouts are text: `(block, *)`, `(block, cyclic(4)) on 2x3`, `(*, block) order 1,0 @0-3`,
`boxes 0:10,0:5 0:10,5:9`; docs/redistribution.md explains them. Each rank has a part, `local`, and
knows the indices of its elements. All ranks of the group make the same calls.
"""
from __future__ import annotations

import ast
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from . import buffers, plans
from .job import current
from .reductions import Reductions


def _like(layout: str, shape: Sequence[int], other: Sequence[int]) -> Optional[str]:
    """Returns the layout for an array of another shape, None if it has boxes."""
    return layout if tuple(shape) == tuple(other) or not layout.startswith("boxes") else None


def _described(group: Any, whole: Any, root: int) -> Tuple[Tuple[int, ...], np.dtype]:
    """Returns shape and type of the root's array on all ranks, without a pickle."""
    text = b""
    if group.rank == root:
        if isinstance(whole, np.ndarray) and whole.ndim and not whole.dtype.hasobject:
            text = repr((whole.shape, np.lib.format.dtype_to_descr(whole.dtype))).encode()
    length = np.array([len(text)])
    group.Bcast(length, root)
    if length[0] == 0:
        raise TypeError(f"rank {root} scatters no NumPy array, one without axes, or Python objects")
    data = np.zeros(length[0], np.uint8)
    if group.rank == root:
        data[:] = np.frombuffer(text, np.uint8)
    group.Bcast(data, root)
    shape, description = ast.literal_eval(data.tobytes().decode())
    return shape, np.lib.format.descr_to_dtype(description)


class DistArray(np.lib.mixins.NDArrayOperatorsMixin, Reductions):
    """An array over the ranks of a group.

    NumPy's operators and ufuncs work element by element. The result has the layout of the first
    operand that has its shape; operands in other layouts are redistributed, which all ranks do.
    Operands of other shapes are broadcast: scalars, NumPy arrays that all ranks have alike, and
    DistArrays, which each rank then gets as a whole.

    >>> x = torus.DistArray((4, 6), "float64", "(*, cyclic)")
    >>> x.local[...] = 1
    >>> y = np.sqrt(x + 3) * np.arange(6.0)
    >>> y.whole()[0].tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> float(y.sum())
    120.0
    """

    __slots__ = ("group", "shape", "dtype", "_layout", "local")

    def __init__(self, shape: Any, dtype: Any = None, layout: Optional[str] = None,
                 group: Any = None, *, local: Optional[np.ndarray] = None) -> None:
        """Makes an array of zeros in shared memory, or of the parts `local` of the ranks, without a
        copy. The default layout is blocks of axis 0; the default group is the current job."""
        self.group = group if group is not None else current()
        self.shape: Tuple[int, ...] = (int(shape),) if isinstance(shape, (int, np.integer)) else (
            tuple(int(n) for n in shape))
        if min(self.shape, default=0) < 0:
            raise ValueError(f"negative length in shape {self.shape}")
        self.dtype = np.dtype(dtype if dtype is not None else
                              local.dtype if local is not None else np.float64)
        if self.dtype.hasobject:
            raise TypeError(f"a DistArray cannot hold Python objects (dtype {self.dtype})")
        self._layout = plans.layout(self.group, self.shape, layout)
        if local is None:
            local = self._layout.allocate(self.group, self.dtype)
        elif local.shape != self._layout.shape or local.dtype != self.dtype:
            raise ValueError(f"local has shape {local.shape} and dtype {local.dtype}; the layout "
                             f"{self._layout.text} gives this rank {self._layout.shape} elements "
                             f"of {self.dtype}")
        self.local: np.ndarray = local

    # ---- construction ----

    @classmethod
    def fromfunction(cls, function: Callable[..., Any], shape: Any, dtype: Any = float,
                     layout: Optional[str] = None, group: Any = None) -> "DistArray":
        """Returns an array of function(i, j, ...), where i, j, ... are arrays of the indices of
        this rank's elements that broadcast against each other."""
        made = cls(shape, dtype, layout, group)
        if made.local.size:
            made.local[...] = function(*made.indices())
        return made

    @classmethod
    def fromwhole(cls, whole: Any, layout: Optional[str] = None, group: Any = None) -> "DistArray":
        """Returns a distributed copy of an array that all ranks have alike; local."""
        whole = np.asarray(whole)
        made = cls(whole.shape, whole.dtype, layout, group)
        made.local[...] = made._layout.take(whole)
        return made

    @classmethod
    def scatter(cls, whole: Optional[np.ndarray], root: int = 0, layout: Optional[str] = None,
                group: Any = None) -> "DistArray":
        """Returns a distributed copy of the array of the root; other ranks pass None."""
        group = group if group is not None else current()
        root = buffers.root_of(root, group.size)
        shape, dtype = _described(group, whole, root)
        made = cls(shape, dtype, f"({', '.join('*' * len(shape))}) @{root}", group)
        if group.rank == root:
            made.local[...] = whole
        return made.redistribute(layout)

    def _new(self, local: np.ndarray) -> "DistArray":
        """Returns an array of this layout with other parts."""
        made = object.__new__(DistArray)
        made.group, made.shape, made._layout = self.group, self.shape, self._layout
        made.local, made.dtype = local, local.dtype
        return made

    # ---- properties ----

    @property
    def layout(self) -> str:
        """The layout as text."""
        return self._layout.text

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of all ranks."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return (f"<torus.DistArray {self.shape} {self.dtype} {self.layout}: rank {self.group.rank} "
                f"of {self.group.size} has {self.local.shape}>")

    def __bool__(self) -> bool:
        raise ValueError("the truth of a DistArray is ambiguous: use any() or all()")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("this rank has a part of the DistArray only: use x.local, or x.whole(), "
                        "which all ranks call")

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("a DistArray cannot be indexed: use x.local and x.indices(), or x.whole()")

    def layout_indices(self) -> Tuple[np.ndarray, ...]:
        """The indices of this rank's elements along each axis."""
        return self._layout.arrays()

    def indices(self) -> Tuple[np.ndarray, ...]:
        """The same, in shapes that broadcast against each other and against `local`.

        >>> x = torus.DistArray((3, 4))
        >>> i, j = x.indices()
        >>> x.local[...] = 10 * i + j
        >>> x.whole()[2].tolist()
        [20.0, 21.0, 22.0, 23.0]
        """
        return np.ix_(*self._layout.arrays())

    @property
    def real(self) -> "DistArray":
        """The real parts, a view."""
        return self._new(self.local.real)

    @property
    def imag(self) -> "DistArray":
        """The imaginary parts, a view."""
        return self._new(self.local.imag)

    def conj(self) -> "DistArray":
        """The complex conjugates."""
        return self._new(self.local.conj())

    def copy(self) -> "DistArray":
        """Returns a copy in shared memory."""
        made = self._new(self._layout.allocate(self.group, self.dtype))
        made.local[...] = self.local
        return made

    def astype(self, dtype: Any) -> "DistArray":
        """Returns a copy with another type."""
        return self._new(self.local.astype(dtype))

    # ---- movement ----

    def redistribute(self, layout: Optional[str] = None,
                     axes: Optional[Sequence[int]] = None) -> "DistArray":
        """Returns the array in another layout. Axis d of the result is axis axes[d] of this array.

        >>> x = torus.fromfunction(lambda i, j: 10 * i + j, (3, 4))
        >>> y = x.redistribute("(*, cyclic(2))")
        >>> bool((y.whole() == x.whole()).all())
        True
        """
        order = tuple(range(self.ndim)) if axes is None else tuple(int(a) % self.ndim for a in axes)
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes {axes} are no permutation of {self.ndim} axes")
        text = plans.normal(layout, self.ndim)
        if text == self.layout and order == tuple(range(self.ndim)):
            return self
        made = DistArray([self.shape[a] for a in order], self.dtype, text, self.group)
        if self.size and self.dtype.itemsize:
            plan = plans.redistribution(self.group, self.shape, self.dtype.itemsize, self.layout,
                                        text, None if axes is None else order)
            plan.start(self._layout.memory(self.local), made._layout.memory(made.local)).wait()
        return made

    def transpose(self, axes: Optional[Sequence[int]] = None,
                  layout: Optional[str] = None) -> "DistArray":
        """Returns the array with its axes permuted, by default reversed, in the default layout."""
        return self.redistribute(layout, axes if axes is not None else range(self.ndim)[::-1])

    @property
    def T(self) -> "DistArray":
        """The transpose, in the default layout."""
        return self.transpose()

    def gather(self, root: int = 0) -> Optional[np.ndarray]:
        """Returns the whole array at the root, None on other ranks."""
        root = buffers.root_of(root, self.group.size)
        moved = self.redistribute(f"({', '.join('*' * self.ndim)}) @{root}")
        return moved.local if self.group.rank == root else None

    def whole(self) -> np.ndarray:
        """Returns the whole array on all ranks."""
        gathered = self.gather(0)
        if gathered is None:
            gathered = np.empty(self.shape, self.dtype)
        if self.size and self.dtype.itemsize:
            self.group.Bcast(np.ascontiguousarray(gathered).reshape(-1).view(np.uint8), 0)
        return gathered

    # ---- NumPy's ufuncs ----

    def _operand(self, value: Any) -> Any:
        """Returns this rank's part of an operand of a ufunc."""
        if isinstance(value, DistArray) and value.group is not self.group:
            raise ValueError("operands belong to different groups")
        if isinstance(value, DistArray) and value.shape == self.shape:
            return value.redistribute(self.layout).local
        shape = np.shape(value) if not isinstance(value, DistArray) else value.shape
        if not shape and not isinstance(value, DistArray):
            return value
        if np.broadcast_shapes(shape, self.shape) != self.shape:
            raise ValueError(f"an array of shape {shape} cannot be broadcast to {self.shape}")
        return self._layout.take(value.whole() if isinstance(value, DistArray) else
                                 np.asarray(value))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (int, float)):  # as NumPy does: x ** 2 is np.square(x)
            return self._new(self.local ** exponent)
        return np.power(self, exponent)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        if method == "reduce":
            return self._reduce_by(ufunc, **named)
        if method != "__call__" or ufunc.signature is not None:
            return NotImplemented
        outputs = named.pop("out", ())
        for out in outputs:
            if not isinstance(out, DistArray) and out is not None:
                return NotImplemented
        reference = self._reference((*inputs, *outputs))
        parts = [reference._operand(v) for v in inputs]
        if "where" in named:
            named["where"] = reference._operand(named["where"])
        moved = [None if o is None else reference._output(o, "where" in named) for o in outputs]
        if moved:
            named["out"] = tuple(None if m is None else m.local for m in moved)
        failure: Optional[Exception] = None
        try:
            results = getattr(ufunc, method)(*parts, **named)
        except TypeError:  # types are alike on all ranks
            raise
        except Exception as error:  # pylint: disable=broad-except
            failure = error  # values differ: other ranks may go on, and redistribute the outputs
        for m, o in zip(moved, outputs):
            if m is not None and o is not None and m is not o:
                o.local[...] = m.redistribute(o.layout).local
        if failure is not None:
            raise failure
        if ufunc.nout == 1:
            return outputs[0] if outputs else reference._new(results)
        return tuple(o if o is not None else reference._new(r) for r, o in
                     zip(results, outputs or (None,) * ufunc.nout))

    @staticmethod
    def _reference(operands: Sequence[Any]) -> "DistArray":
        """Returns the first DistArray that has the shape of the result."""
        arrays = [v for v in operands if isinstance(v, DistArray)]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        for array in arrays:
            if array.shape == shape:
                return array
        raise ValueError(f"operands of the shapes {', '.join(str(a.shape) for a in arrays)}: one "
                         f"DistArray must have the shape of the result, {shape}")

    def _output(self, out: "DistArray", kept: bool) -> "DistArray":
        """Returns an output in this layout: the same, or another one, with its contents if elements
        are kept."""
        if out.group is not self.group or out.shape != self.shape:
            raise ValueError(f"out has shape {out.shape} and not {self.shape}, or another group")
        if kept or out.layout == self.layout:
            return out.redistribute(self.layout)
        return DistArray(self.shape, out.dtype, self.layout, self.group)

    def _reduce_by(self, ufunc: np.ufunc, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
                   **named: Any) -> Any:
        names: Dict[str, Callable[..., Any]] = {
            "add": self.sum, "multiply": self.prod, "minimum": self.min, "maximum": self.max,
            "logical_and": self.all, "logical_or": self.any}
        if ufunc.__name__ not in names or any(v is not None and v is not False
                                              for v in named.values()):
            return NotImplemented
        typed = {"dtype": dtype} if dtype is not None else {}
        return names[ufunc.__name__](axis, keepdims=bool(keepdims), **typed)


def fromfunction(function: Callable[..., Any], shape: Any, dtype: Any = float,
                 layout: Optional[str] = None, group: Any = None) -> DistArray:
    """DistArray.fromfunction."""
    return DistArray.fromfunction(function, shape, dtype, layout, group)


def redistribute(array: DistArray, layout: Optional[str] = None,
                 axes: Optional[Sequence[int]] = None) -> DistArray:
    """Returns a DistArray in another layout; DistArray.redistribute."""
    return array.redistribute(layout, axes)

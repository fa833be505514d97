# SPDX-License-Identifier: Apache-2.0
"""Operators of reductions: SUM, MIN, MAX, PROD, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, and
Op.Create for functions in Python.
"""
from __future__ import annotations

import operator
from typing import Any, Callable, List, NamedTuple, Optional

import numpy as np

from ._torus import ffi, lib
from .context import Context, combining
from .requests import Recorded


class Op:
    """An operator. `of_objects` combines two objects in the lower-case reductions."""

    def __init__(self, name: str, number: int, of_objects: Callable[[Any, Any], Any],
                 function: Optional[Callable[[Any, Any], Any]] = None,
                 commute: bool = True) -> None:
        self.name = name
        self.number = number
        self.of_objects = of_objects
        self.function = function
        self.commute = commute

    @classmethod
    def Create(cls, function: Callable[[Any, Any], Any], commute: bool = False,
               name: Optional[str] = None) -> "Op":
        """Returns an operator that calls function(a, b) with two arrays of equal shape, or with two
        objects; `a` comes from lower ranks. It returns the combination, and must be associative.
        All ranks give the same name; the default is that of the function. An exception in the
        function is raised by the call, or by `wait`, on this rank.

        >>> import numpy as np
        >>> larger = torus.Op.Create(lambda a, b: np.where(abs(a) > abs(b), a, b), name="larger")
        >>> result = np.zeros(2)
        >>> job.Allreduce(np.array([-3.0, 2.0]), result, op=larger)
        >>> result
        array([-3.,  2.])
        """
        if name is None:  # a ufunc has no module
            own = getattr(function, "__qualname__", None) or getattr(function, "__name__", "operator")
            name = f"{getattr(function, '__module__', None) or type(function).__name__}.{own}"
        return cls(name, 0, function, function, commute)

    def __call__(self, a: Any, b: Any) -> Any:
        return self.of_objects(a, b)

    def __repr__(self) -> str:
        return f"<torus.Op {self.name}>"


# A NaN wins over a number, on whichever rank it is, as in the upper-case calls; only NaN != NaN.


def _lesser(a: Any, b: Any) -> Any:
    return b if b < a or b != b else a


def _greater(a: Any, b: Any) -> Any:
    return b if b > a or b != b else a


def _is_before(a: Any, b: Any) -> bool:
    """Whether pair b precedes pair a by its place, or as the only NaN, unless their values decide."""
    nan = a[0] != a[0], b[0] != b[0]
    return b[1] < a[1] if a[0] == b[0] or all(nan) else nan[1]


def _minloc(a: Any, b: Any) -> Any:
    return b if b[0] < a[0] or _is_before(a, b) else a


def _maxloc(a: Any, b: Any) -> Any:
    return b if b[0] > a[0] or _is_before(a, b) else a


SUM = Op("SUM", lib.TORUS_SUM, operator.add)
MIN = Op("MIN", lib.TORUS_MIN, _lesser)
MAX = Op("MAX", lib.TORUS_MAX, _greater)
PROD = Op("PROD", lib.TORUS_PROD, operator.mul)
BAND = Op("BAND", lib.TORUS_BAND, operator.and_)
BOR = Op("BOR", lib.TORUS_BOR, operator.or_)
BXOR = Op("BXOR", lib.TORUS_BXOR, operator.xor)
LAND = Op("LAND", lib.TORUS_LAND, lambda a, b: bool(a) and bool(b))
LOR = Op("LOR", lib.TORUS_LOR, lambda a, b: bool(a) or bool(b))
LXOR = Op("LXOR", lib.TORUS_LXOR, lambda a, b: bool(a) != bool(b))
MINLOC = Op("MINLOC", lib.TORUS_MINLOC, _minloc)
MAXLOC = Op("MAXLOC", lib.TORUS_MAXLOC, _maxloc)


def _apply(function: Callable[[Any, Any], Any], lower: np.ndarray, inout: np.ndarray) -> None:
    """Sets inout to lower op inout. The function gets copies, which it may keep."""
    result = np.asarray(function(lower.copy(), inout.copy()))
    if result.shape != inout.shape:
        raise ValueError(f"the operator returned shape {result.shape}, not {inout.shape}")
    np.copyto(inout, result, casting="same_kind")


class _State:
    """An operator in one call: the type of its elements, and what it has raised."""

    def __init__(self, function: Callable[[Any, Any], Any], dtype: np.dtype) -> None:
        self.function = function
        self.dtype = dtype
        self.error: Optional[BaseException] = None

    def combine(self, lower: Any, inout: Any, count: int) -> None:
        """Sets inout to lower op inout, which are memory of the library."""
        size = count * self.dtype.itemsize
        target = np.frombuffer(ffi.buffer(inout, size), self.dtype)
        _apply(self.function, np.frombuffer(ffi.buffer(lower, size), self.dtype), target)


@ffi.def_extern()
def torus_py_combine(lower: Any, inout: Any, count: int, user: Any) -> None:
    """torus_op_function of all operators in Python."""
    state = ffi.from_handle(user)
    if state.error is not None:
        return
    combining.active = True
    try:
        state.combine(lower, inout, count)
    except BaseException as error:  # pylint: disable=broad-except
        state.error = error
    finally:
        combining.active = False


def check_op(op: Any) -> None:
    """Raises TypeError unless the operator is an Op."""
    if not isinstance(op, Op):
        raise TypeError(f"op is a {type(op).__name__}: pass torus.SUM or another torus.Op; "
                        "torus.Op.Create makes one of a function")


class Bound(NamedTuple):
    """An operator of one call: its number, what keeps it alive, and `finish` of the request."""

    number: int
    keep: List[Any]
    finish: Optional[Callable[[], Any]]
    free: Callable[[], None]


def bind(context: Context, op: Any, dtype: np.dtype) -> Bound:
    """Returns the operator of one call on elements of a type. The caller calls `free` when the call
    has started: the library keeps the operator as long as it needs it."""
    check_op(op)
    if op.function is None:
        return Bound(op.number, [], None, lambda: None)
    state = _State(op.function, dtype)
    handle = ffi.new_handle(state)
    number = ffi.new("int *")
    context.enter()
    context.check(lib.torus_op_create(context.pointer, op.name.encode(), lib.torus_py_combine,
                                      handle, 0, int(op.commute), number))

    def finish() -> None:
        error, state.error = state.error, None
        if error is not None:
            raise Recorded(error)

    return Bound(number[0], [state, handle, op], finish,
                 lambda: context.defer(lib.torus_op_free, context.pointer, number[0]))


def check_types(context: Context, op: Any, number: int) -> None:
    """Raises TypeError unless `op` is an operator, and InvalidError unless it combines elements of
    the library's type `number`."""
    check_op(op)
    if op.function is None:
        context.enter()
        context.check(lib.torus_reduce_local(context.pointer, ffi.NULL, ffi.NULL, 0, number,
                                             op.number))


def fold(context: Context, op: Op, rows: np.ndarray, number: int) -> np.ndarray:
    """Returns the rows combined in their order, in this process. It does not change them, so that
    it may be interrupted and called again."""
    result = rows[0].copy()
    for row in rows[1:]:
        lower, result = result, row.copy()
        if op.function is None:
            context.check(lib.torus_reduce_local(
                context.pointer, ffi.cast("void *", lower.ctypes.data),
                ffi.cast("void *", result.ctypes.data), result.size, number, op.number))
            continue
        combining.active = True
        try:
            _apply(op.function, lower, result)
        finally:
            combining.active = False
    return result

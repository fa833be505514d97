# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of DistArrays, with the names and norms of numpy.fft and scipy.fft.

float32 and complex64 give complex64, as in scipy.fft; other types give double precision. The result
has the layout of the input, or `layout`. docs/fft.md explains how the data moves; the spectrum may
stay in the layout of the last transform: fftn(x, layout="(*, block)").

>>> import numpy as np
>>> x = torus.fromfunction(lambda i, j: np.cos(i) + j, (12, 10))
>>> bool(np.allclose(torus.fft.fft2(x).whole(), np.fft.fft2(x.whole())))
True
>>> bool(abs(torus.fft.irfft2(torus.fft.rfft2(x)) - x).max() < 1e-12)
True
"""
from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Sequence, Union

import numpy as np
from numpy.fft import fftfreq, rfftfreq

from ._torus import lib
from . import plans
from .distarray import DistArray, _like
from .reductions import axes_of, whole_along

__all__ = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2",
           "rfftn", "irfftn", "hfft", "ihfft", "hfft2", "ihfft2", "hfftn", "ihfftn",
           "dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn", "fftshift",
           "ifftshift", "fftfreq", "rfftfreq"]

Axes = Union[None, int, Sequence[int]]
_COMPLEX = lib.TORUS_TRANSFORM_COMPLEX
_DCT = {1: lib.TORUS_TRANSFORM_REDFT00, 2: lib.TORUS_TRANSFORM_REDFT10,
        3: lib.TORUS_TRANSFORM_REDFT01, 4: lib.TORUS_TRANSFORM_REDFT11}
_DST = {1: lib.TORUS_TRANSFORM_RODFT00, 2: lib.TORUS_TRANSFORM_RODFT10,
        3: lib.TORUS_TRANSFORM_RODFT01, 4: lib.TORUS_TRANSFORM_RODFT11}
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # of the types of dct and dst


def _scale(norm: Optional[str], forward: bool) -> int:
    """Returns the scale of a norm: "backward", "ortho" or "forward"."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'norm {norm!r}: it is "backward", "ortho" or "forward"')
    if norm == "ortho":
        return lib.TORUS_SCALE_ORTHO
    full = forward == (norm == "forward")
    return lib.TORUS_SCALE_FULL if full else lib.TORUS_SCALE_NONE


def _checked(x: Any) -> DistArray:
    if not isinstance(x, DistArray):
        raise TypeError(f"a transform takes a DistArray, not {type(x).__name__}: "
                        "torus.DistArray.fromwhole(x) makes one of an array that all ranks have")
    if x.dtype.kind not in "biufc" or x.dtype in (np.longdouble, np.clongdouble):
        raise TypeError(f"there is no transform of dtype {x.dtype}")
    if x.size == 0:
        raise ValueError(f"the array has no elements: shape {x.shape}")
    return x


def _single(dtype: np.dtype) -> bool:
    return dtype.newbyteorder("=") in (np.float16, np.float32, np.complex64)


def _as(x: DistArray, kind: str) -> DistArray:
    """Returns the array with elements "f" or "c" of its precision."""
    names = {"f": ("f8", "f4"), "c": ("c16", "c8")}[kind]
    dtype = np.dtype(names[_single(x.dtype)])
    if kind == "f" and x.dtype.kind == "c":
        raise TypeError("this transform takes real numbers: transform x.real and x.imag")
    return x if x.dtype == dtype else x.astype(dtype)


def _run(x: DistArray, real_shape: Sequence[int], out_shape: Sequence[int], out: str, sign: int,
         scale: int, kinds: Sequence[int], layout: Optional[str]) -> DistArray:
    """Executes a transform of x, and returns the result."""
    real = any(k >= lib.TORUS_TRANSFORM_REDFT00 for k in kinds)
    names = {True: ("f8", "f4"), False: ("c16", "c8")}[real]
    number = {"f8": lib.TORUS_DOUBLE, "f4": lib.TORUS_FLOAT, "c16": lib.TORUS_COMPLEX_DOUBLE,
              "c8": lib.TORUS_COMPLEX_FLOAT}[names[_single(x.dtype)]]
    dtype = {"f": ("f8", "f4"), "c": ("c16", "c8")}[out][_single(x.dtype)]
    text = layout if layout is not None else _like(x.layout, out_shape, x.shape)
    made = DistArray(out_shape, dtype, text, x.group)
    plan = plans.transform(x.group, real_shape, number, sign, scale, kinds, x.layout, made.layout)
    plan.start(x._layout.memory(x.local), made._layout.memory(made.local)).wait()
    return made


def _kinds(x: DistArray, axes: Sequence[int], kind: int) -> List[int]:
    return [kind if a in axes else 0 for a in range(x.ndim)]


def _last(axes: Axes, dimensions: int) -> List[int]:
    """Returns axes in the order that the caller gave."""
    if axes is None:
        return list(range(dimensions))
    listed = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    axes_of(listed, dimensions)
    return [int(a) % dimensions for a in listed]


def _resized(x: DistArray, lengths: Any, axes: List[int]) -> DistArray:
    """Returns the array cut or padded with zeros at the end of each axis, as the arguments n and s
    of NumPy ask for."""
    if lengths is None:
        return x
    lengths = [lengths] if isinstance(lengths, (int, np.integer)) else list(lengths)
    if len(lengths) != len(axes):
        raise ValueError(f"{len(lengths)} lengths for {len(axes)} axes")
    for axis, n in zip(axes, lengths):
        if n < 1:
            raise ValueError(f"length {n} of axis {axis}")
        if n != x.shape[axis]:
            x = _along(x, axis, functools.partial(_fit, axis=axis, n=n), n)
    return x


def _fit(part: np.ndarray, axis: int, n: int) -> np.ndarray:
    have = part.shape[axis]
    if n <= have:
        return np.ascontiguousarray(part[(slice(None),) * axis + (slice(0, n),)])
    pads = [(0, n - have if a == axis else 0) for a in range(part.ndim)]
    return np.pad(part, pads)


def _along(x: DistArray, axis: int, function: Callable[[np.ndarray], np.ndarray],
           n: int) -> DistArray:
    """Returns function(part) where `axis` is whole, in the layout of x if it fits the length n."""
    moved, kept = whole_along(x, [axis])
    shape = tuple(n if a == axis else x.shape[a] for a in range(x.ndim))
    local = function(moved.local)
    if not kept and not moved.local.size:  # one axis: rank 0 has all of it
        local = np.zeros((0,), x.dtype)
    made = DistArray(shape, x.dtype, moved.layout, x.group, local=local)
    return made.redistribute(_like(x.layout, shape, x.shape))


# ---- complex ----


def _complex(x: Any, s: Any, axes: List[int], norm: Optional[str], sign: int,
             layout: Optional[str]) -> DistArray:
    x = _resized(_as(_checked(x), "c"), s, axes)
    if not axes:
        return x.redistribute(layout) if layout else x.copy()
    return _run(x, x.shape, x.shape, "c", sign, _scale(norm, sign == lib.TORUS_FORWARD),
                _kinds(x, axes, _COMPLEX), layout)


def fftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """The transform along several axes, by default all."""
    return _complex(x, s, _axes(x, s, axes), norm, lib.TORUS_FORWARD, layout)


def ifftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The inverse of fftn."""
    return _complex(x, s, _axes(x, s, axes), norm, lib.TORUS_BACKWARD, layout)


def _axes(x: Any, s: Any, axes: Axes) -> List[int]:
    x = _checked(x)
    if axes is None and s is not None:  # the last axes, as in NumPy
        axes = range(x.ndim - len(s), x.ndim)
    return _last(axes, x.ndim)


def fft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """fftn along the last two axes."""
    return fftn(x, s, axes, norm, layout=layout)


def ifft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The inverse of fft2."""
    return ifftn(x, s, axes, norm, layout=layout)


def fft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
        layout: Optional[str] = None) -> DistArray:
    """The transform along one axis."""
    return fftn(x, None if n is None else [n], [axis], norm, layout=layout)


def ifft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """The inverse of fft."""
    return ifftn(x, None if n is None else [n], [axis], norm, layout=layout)


# ---- real to complex and back ----


def rfftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The transform of real numbers: the last axis has n / 2 + 1 results."""
    listed = _axes(x, s, axes)
    x = _resized(_as(x, "f"), s, listed)
    if not listed:
        raise ValueError("rfftn transforms at least one axis")
    last, kinds = listed[-1], _kinds(x, listed, _COMPLEX)
    kinds[last] = lib.TORUS_TRANSFORM_R2C
    shape = [n // 2 + 1 if a == last else n for a, n in enumerate(x.shape)]
    return _run(x, x.shape, shape, "c", lib.TORUS_FORWARD, _scale(norm, True), kinds, layout)


def irfftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
           layout: Optional[str] = None) -> DistArray:
    """The inverse of rfftn. `s` has the lengths of the result; by default the last one is even."""
    listed = _axes(x, s, axes)
    x = _as(x, "c")
    if not listed:
        raise ValueError("irfftn transforms at least one axis")
    last = listed[-1]
    n = 2 * (x.shape[last] - 1) if s is None else int(list(s)[-1])
    if n < 1:
        raise ValueError(f"the result would have {n} numbers along axis {last}")
    if s is not None:
        x = _resized(x, [*list(s)[:-1], n // 2 + 1], listed)
    kinds = _kinds(x, listed, _COMPLEX)
    kinds[last] = lib.TORUS_TRANSFORM_C2R
    shape = [n if a == last else m for a, m in enumerate(x.shape)]
    return _run(x, shape, shape, "f", lib.TORUS_BACKWARD, _scale(norm, False), kinds, layout)


def rfft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """rfftn along the last two axes."""
    return rfftn(x, s, axes, norm, layout=layout)


def irfft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
           layout: Optional[str] = None) -> DistArray:
    """The inverse of rfft2."""
    return irfftn(x, s, axes, norm, layout=layout)


def rfft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """The transform of real numbers along one axis."""
    return rfftn(x, None if n is None else [n], [axis], norm, layout=layout)


def irfft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The inverse of rfft."""
    return irfftn(x, None if n is None else [n], [axis], norm, layout=layout)


_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def hfftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The transform of a signal with Hermitian symmetry: real numbers. `s` has the lengths of the
    result; by default the last one is even."""
    return irfftn(_checked(x).conj(), s, axes, _SWAPPED.get(norm, norm), layout=layout)


def ihfftn(x: DistArray, s: Any = None, axes: Axes = None, norm: Optional[str] = None, *,
           layout: Optional[str] = None) -> DistArray:
    """The inverse of hfftn."""
    return rfftn(x, s, axes, _SWAPPED.get(norm, norm), layout=layout).conj()


def hfft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """hfftn along the last two axes."""
    return hfftn(x, s, axes, norm, layout=layout)


def ihfft2(x: DistArray, s: Any = None, axes: Axes = (-2, -1), norm: Optional[str] = None, *,
           layout: Optional[str] = None) -> DistArray:
    """The inverse of hfft2."""
    return ihfftn(x, s, axes, norm, layout=layout)


def hfft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """hfftn along one axis."""
    return hfftn(x, None if n is None else [n], [axis], norm, layout=layout)


def ihfft(x: DistArray, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, *,
          layout: Optional[str] = None) -> DistArray:
    """The inverse of hfft."""
    return ihfftn(x, None if n is None else [n], [axis], norm, layout=layout)


# ---- real to real ----


def _weights(kind: str, number: int, n: int, before: bool) -> Optional[np.ndarray]:
    """Returns the factors that make a type orthogonal, before or after the transform of n numbers,
    as scipy.fft applies them for norm="ortho"; None: all are 1."""
    factors = np.ones(n)
    ends = {("dct", 1): (0, n - 1), ("dct", 2): (0,), ("dct", 3): (0,), ("dst", 2): (n - 1,),
            ("dst", 3): (n - 1,)}.get((kind, number), ())
    for i in ends:
        if before and number in (1, 3):
            factors[i] = np.sqrt(2)
        if not before and number in (1, 2):
            factors[i] = np.sqrt(0.5)
    return factors if (factors != 1).any() else None


def _weighted(x: DistArray, kind: str, number: int, axes: List[int], before: bool) -> DistArray:
    for axis in axes:
        factors = _weights(kind, number, x.shape[axis], before)
        if factors is not None:
            shape = [-1 if a == axis else 1 for a in range(x.ndim)]
            x = x * factors.astype(x.dtype).reshape(shape)
    return x


def _real(x: Any, kind: str, type: int, s: Any, axes: Axes, norm: Optional[str], forward: bool,
          orthogonalize: Optional[bool], layout: Optional[str]) -> DistArray:
    if type not in _DCT:
        raise ValueError(f"type {type}: it is 1, 2, 3 or 4")
    listed = _axes(x, s, axes)
    x = _resized(_as(x, "f"), s, listed)
    if kind == "dct" and type == 1 and min((x.shape[a] for a in listed), default=2) < 2:
        raise ValueError("dct of type 1 takes at least two numbers along each axis")
    number = type if forward else _INVERSE[type]
    ortho = (norm == "ortho") if orthogonalize is None else orthogonalize
    if ortho:
        x = _weighted(x, kind, number, listed, True)
    table = _DCT if kind == "dct" else _DST
    y = _run(x, x.shape, x.shape, "f", lib.TORUS_FORWARD, _scale(norm, forward),
             _kinds(x, listed, table[number]), layout) if listed else x.copy()
    return _weighted(y, kind, number, listed, False) if ortho else y


def dctn(x: DistArray, type: int = 2, s: Any = None, axes: Axes = None, norm: Optional[str] = None,
         orthogonalize: Optional[bool] = None, *, layout: Optional[str] = None) -> DistArray:
    """The cosine transform of type 1 to 4 along several axes, by default all."""
    return _real(x, "dct", type, s, axes, norm, True, orthogonalize, layout)


def idctn(x: DistArray, type: int = 2, s: Any = None, axes: Axes = None, norm: Optional[str] = None,
          orthogonalize: Optional[bool] = None, *, layout: Optional[str] = None) -> DistArray:
    """The inverse of dctn."""
    return _real(x, "dct", type, s, axes, norm, False, orthogonalize, layout)


def dstn(x: DistArray, type: int = 2, s: Any = None, axes: Axes = None, norm: Optional[str] = None,
         orthogonalize: Optional[bool] = None, *, layout: Optional[str] = None) -> DistArray:
    """The sine transform of type 1 to 4 along several axes, by default all."""
    return _real(x, "dst", type, s, axes, norm, True, orthogonalize, layout)


def idstn(x: DistArray, type: int = 2, s: Any = None, axes: Axes = None, norm: Optional[str] = None,
          orthogonalize: Optional[bool] = None, *, layout: Optional[str] = None) -> DistArray:
    """The inverse of dstn."""
    return _real(x, "dst", type, s, axes, norm, False, orthogonalize, layout)


def dct(x: DistArray, type: int = 2, n: Optional[int] = None, axis: int = -1,
        norm: Optional[str] = None, orthogonalize: Optional[bool] = None, *,
        layout: Optional[str] = None) -> DistArray:
    """The cosine transform along one axis."""
    return dctn(x, type, None if n is None else [n], [axis], norm, orthogonalize, layout=layout)


def idct(x: DistArray, type: int = 2, n: Optional[int] = None, axis: int = -1,
         norm: Optional[str] = None, orthogonalize: Optional[bool] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """The inverse of dct."""
    return idctn(x, type, None if n is None else [n], [axis], norm, orthogonalize, layout=layout)


def dst(x: DistArray, type: int = 2, n: Optional[int] = None, axis: int = -1,
        norm: Optional[str] = None, orthogonalize: Optional[bool] = None, *,
        layout: Optional[str] = None) -> DistArray:
    """The sine transform along one axis."""
    return dstn(x, type, None if n is None else [n], [axis], norm, orthogonalize, layout=layout)


def idst(x: DistArray, type: int = 2, n: Optional[int] = None, axis: int = -1,
         norm: Optional[str] = None, orthogonalize: Optional[bool] = None, *,
         layout: Optional[str] = None) -> DistArray:
    """The inverse of dst."""
    return idstn(x, type, None if n is None else [n], [axis], norm, orthogonalize, layout=layout)


# ---- shifts ----


def _rolled(x: DistArray, axes: Axes, inverse: bool) -> DistArray:
    for axis in _last(axes, x.ndim):
        half = x.shape[axis] // 2
        x = _along(x, axis, functools.partial(np.roll, shift=-half if inverse else half, axis=axis),
                   x.shape[axis])
    return x


def fftshift(x: DistArray, axes: Axes = None) -> DistArray:
    """Moves frequency 0 to the middle of each axis."""
    return _rolled(x, axes, False)


def ifftshift(x: DistArray, axes: Axes = None) -> DistArray:
    """The inverse of fftshift."""
    return _rolled(x, axes, True)

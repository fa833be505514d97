# SPDX-License-Identifier: Apache-2.0
"""libtorus from Python by ctypes, with NumPy arrays in torus_alloc memory, used in place.

TORUS_LIBRARY is the path of the library; default: libtorus.so.0."""
import ctypes
import os

import numpy

SUM, MIN, MAX = 1, 2, 3
FORWARD, BACKWARD = -1, 1
SCALE_NONE, SCALE_ORTHO, SCALE_FULL = 0, 1, 2
TYPES = {"uint8": 1, "int32": 2, "int64": 3, "float32": 4, "float64": 5, "complex64": 6,
         "complex128": 7}

_library = ctypes.CDLL(os.environ.get("TORUS_LIBRARY", "libtorus.so.0"))
_library.torus_last_error.restype = ctypes.c_char_p
_library.torus_alloc.restype = ctypes.c_void_p
_pointer, _size, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
for _name, _arguments in {
        "torus_open": [_pointer, _pointer], "torus_close": [_pointer],
        "torus_last_error": [_pointer], "torus_join": [_pointer, _pointer, _pointer],
        "torus_alloc": [_pointer, _size], "torus_free": [_pointer, _pointer],
        "torus_rank": [_pointer], "torus_size": [_pointer], "torus_barrier": [_pointer],
        "torus_allreduce": [_pointer, _pointer, _pointer, _size, _int, _int],
        "torus_plan_fft": [_pointer, _pointer, _pointer],
        "torus_plan_local": [_pointer, _int, _pointer],
        "torus_execute": [_pointer, _pointer, _pointer]}.items():
    getattr(_library, _name).argtypes = _arguments
IN_PLACE = 1


class _FftDesc(ctypes.Structure):
    _fields_ = [("size", _size), ("dimensions", ctypes.c_uint32), ("shape", ctypes.c_uint64 * 6),
                ("type", ctypes.c_int32), ("sign", ctypes.c_int32), ("scale", ctypes.c_int32),
                ("transform", ctypes.c_int32 * 6), ("before", ctypes.c_char_p),
                ("after", ctypes.c_char_p), ("grid", ctypes.c_uint32 * 6),
                ("method", ctypes.c_int32)]


class _Box(ctypes.Structure):
    _fields_ = [("dimensions", ctypes.c_uint32), ("begin", ctypes.c_uint64 * 6),
                ("count", ctypes.c_uint64 * 6)]


class TorusError(RuntimeError):
    """What failed, on which rank, and what to do."""


class Job:
    """The rank of this process in a job, joined from the environment."""

    def __init__(self):
        self._context, self._world = _pointer(), _pointer()
        self._check(_library.torus_open(ctypes.byref(self._context), None))
        self._check(_library.torus_join(self._context, None, ctypes.byref(self._world)))
        self.rank = _library.torus_rank(self._world)
        self.size = _library.torus_size(self._world)

    def _check(self, error):
        if error:
            raise TorusError(_library.torus_last_error(self._context).decode())

    def empty(self, shape, dtype):
        """Returns an array in shared memory; it is valid until the job is closed."""
        dtype = numpy.dtype(dtype)
        count = int(numpy.prod(shape))
        address = _library.torus_alloc(self._context, count * dtype.itemsize)
        if not address:
            self._check(-2)
        memory = (ctypes.c_char * max(count * dtype.itemsize, 1)).from_address(address)
        return numpy.frombuffer(memory, dtype, count).reshape(shape)

    def allreduce(self, array, op=SUM):
        """Combines the arrays of all ranks, in place."""
        self._check(_library.torus_allreduce(self._world, IN_PLACE, array.ctypes.data, array.size,
                                             TYPES[array.dtype.name], op))

    def plan_fft2(self, shape, dtype="complex128", sign=FORWARD, scale=SCALE_NONE):
        """Plans a 2-D transform; returns the plan and this rank's rows as a slice."""
        desc, plan, box = _FftDesc(), _pointer(), _Box()
        desc.size, desc.dimensions = ctypes.sizeof(desc), 2
        desc.shape[0], desc.shape[1] = shape
        desc.type, desc.sign, desc.scale = TYPES[dtype], sign, scale
        self._check(_library.torus_plan_fft(self._world, ctypes.byref(desc), ctypes.byref(plan)))
        _library.torus_plan_local(plan, 0, ctypes.byref(box))
        return plan, slice(box.begin[0], box.begin[0] + box.count[0])

    def execute(self, plan, array):
        """Transforms this rank's rows, in place."""
        self._check(_library.torus_execute(plan, IN_PLACE, array.ctypes.data))

    def close(self):
        _library.torus_close(self._context)

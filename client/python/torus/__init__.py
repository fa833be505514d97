# SPDX-License-Identifier: Apache-2.0
"""torus: collectives, distributed arrays and Fourier transforms by torusd.

    import numpy as np
    import torus

    with torus.Job() as job:
        total = np.zeros(1)
        job.Allreduce(np.array([float(job.rank)]), total)

The manual is docs/python.md, of the package torusd in /usr/share/doc/torusd/docs.
"""
try:
    from ._torus import lib as _lib
except ImportError as _error:
    raise ImportError(f"cannot load libtorus: {_error}. Install torusd, or set LD_LIBRARY_PATH to "
                      "the folder of libtorus.so.0") from _error


def _compatible(built: int, running: int) -> bool:
    """Whether a library serves a program that was built with another version of its header: before
    1.0 both have one minor version, since then one major version."""
    same = built >> 16 == running >> 16 and running >= built
    return same and (built >> 16 > 0 or built >> 8 == running >> 8)


def _text(number: int) -> str:
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


if not _compatible(_lib.TORUS_VERSION_NUMBER, _lib.torus_version()):
    raise ImportError(f"torus was built for libtorus {_text(_lib.TORUS_VERSION_NUMBER)}, but "
                      f"libtorus {_text(_lib.torus_version())} is installed: install the package "
                      "torusd again")

from . import fft
from .buffers import IN_PLACE, pair_dtype
from .distarray import DistArray, fromfunction, redistribute
from .errors import (BusyError, ForkedError, InternalError, InvalidError, MismatchError,
                     NoDaemonError, NodeFailedError, NoMemoryError, NotPermittedError, ObjectError,
                     OperatingSystemError, OperationCancelledError, OperationTimeoutError,
                     PartitionedError, ProtocolError, RankFailedError, RankTakenError,
                     ShutdownError, TorusError, VersionError)
from .files import load, save
from .group import Group, Persistent
from .intercalls import PROC_NULL, ROOT
from .intergroup import InterGroup
from .job import Job, current, empty
from .operators import (BAND, BOR, BXOR, LAND, LOR, LXOR, MAX, MAXLOC, MIN, MINLOC, PROD, SUM, Op)
from .requests import Request, waitall, waitany
from .topologies import CartGroup, Compute_dims, GraphGroup

__version__ = _text(_lib.TORUS_VERSION_NUMBER)
__all__ = [name for name in dir() if not name.startswith("_")]

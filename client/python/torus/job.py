# SPDX-License-Identifier: Apache-2.0
"""Jobs: this process as a rank among others."""
from __future__ import annotations

import os
import sys
import warnings
import weakref
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._torus import ffi, lib
from . import errors
from .context import Context
from .group import Group
from .handles import Handle
from .requests import Request

_open: List["weakref.ref[Job]"] = []


class Job(Group):
    """The group of all ranks of a job, which this process joins.

    Name, rank and size come from the arguments, else from the environment: that of torusctl
    emulate, Open MPI, PMI, torchrun or Slurm. A `with` block waits for the calls in flight and
    leaves the job at its end. If an exception ends the block, the rank leaves at once, and the
    operations of other ranks that need it fail.

    >>> with torus.Job(f"job {job.rank}", rank=0, size=1) as alone:
    ...     print(alone.rank, alone.size)
    0 1
    """

    def __init__(self, name: Optional[str] = None, *, rank: Optional[int] = None,
                 size: Optional[int] = None, socket: Optional[str] = None,
                 timeout: Optional[float] = None, allow_pickle: bool = False) -> None:
        if name is not None and "\0" in name:
            raise ValueError("the name of a job cannot contain a NUL character")
        context = Context(socket)
        options = ffi.new("struct torus_join_options *")
        kept = ffi.NULL if name is None else ffi.new("char []", name.encode())
        options.size = ffi.sizeof("struct torus_join_options")
        options.name = kept
        options.ranks = size or 0
        options.rank = 0 if rank is None else rank
        options.rank_set = int(rank is not None)
        options.timeout_ns = 0 if timeout is None else int(timeout * 1e9)
        world = ffi.new("torus_group **")
        self.context = context
        try:
            Request(context, lambda r: lib.torus_ijoin(context.pointer, options, world, r),
                    [options, kept, world]).wait()
            super().__init__(Handle(context, world[0], None), allow_pickle)
        except BaseException:
            context.disconnect()
            raise
        _open.append(weakref.ref(self))

    def __del__(self) -> None:
        context = getattr(self, "context", None)
        if context and not context.closed and not sys.is_finalizing() and (
                os.getpid() == context.pid):
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self)

    @property
    def closed(self) -> bool:
        """Whether this process has left the job."""
        return self.context.closed

    def close(self, wait: bool = True) -> None:
        """Leaves the job, after the calls in flight if `wait`. Arrays keep their memory. In a
        forked child it does nothing: the job belongs to the parent."""
        _open[:] = [job for job in _open if job() not in (self, None)]
        if os.getpid() != self.context.pid:
            return
        try:
            for request in list(self.context.pending.values()) if wait else []:
                try:
                    request.wait()
                except Exception:  # pylint: disable=broad-except
                    pass  # the program has dropped this request, and with it the error
        finally:
            self.context.disconnect()

    def Free(self) -> None:
        """Leaves the job; the same as close()."""
        self.close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close(wait=kind is None)

    def empty(self, shape: Any, dtype: Any = float) -> np.ndarray:
        """Returns an array in shared memory, which the service uses in place. Its elements are 0.
        The memory lives as long as the array, also after close."""
        return self.context.empty(shape, dtype)

    @property
    def authenticated(self) -> bool:
        """Whether the daemons know each other, so that pickles of other ranks may be loaded."""
        self.context.enter()
        return bool(lib.torus_authenticated(self.context.pointer))

    @property
    def node(self) -> int:
        """The index of this node in the machine."""
        self.context.enter()
        return lib.torus_node(self.context.pointer)

    @property
    def coordinates(self) -> Tuple[int, ...]:
        """The coordinates of this node in the torus."""
        self.context.enter()
        at = ffi.new("uint32_t []", lib.TORUS_DIMENSIONS_MAX)
        return tuple(at[0:lib.torus_coords(self.context.pointer, at)])

    @property
    def machine(self) -> Tuple[Tuple[int, ...], Tuple[bool, ...]]:
        """The size of each dimension of the torus, and whether it wraps around."""
        self.context.enter()
        sizes = ffi.new("uint32_t []", lib.TORUS_DIMENSIONS_MAX)
        wraps = ffi.new("int []", lib.TORUS_DIMENSIONS_MAX)
        count = lib.torus_shape(self.context.pointer, sizes, wraps)
        return tuple(sizes[0:count]), tuple(bool(w) for w in wraps[0:count])

    def statistics(self) -> Dict[str, int]:
        """Counters since the job was joined: operations, staged_bytes (copied because a buffer is
        not in shared memory), region_bytes (shared memory in use)."""
        self.context.enter()
        counters = ffi.new("struct torus_statistics *")
        counters.size = ffi.sizeof("struct torus_statistics")
        self.context.check(lib.torus_statistics(self.context.pointer, counters))
        return {name: getattr(counters, name) for name, _ in
                ffi.typeof("struct torus_statistics").fields if name != "size"}


def current() -> Job:
    """Returns the job that was joined last and is open; ShutdownError without one."""
    for reference in reversed(_open):
        job = reference()
        if job is not None and not job.closed:
            return job
    raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this process has joined no job: call torus.Job()")


def job_of(group: Group) -> Job:
    """Returns the job that a group belongs to."""
    for reference in _open:
        job = reference()
        if job is not None and job.context is group.context:
            return job
    raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this process has left the job of the group")


def empty(shape: Any, dtype: Any = float, job: Optional[Job] = None) -> np.ndarray:
    """Returns an array of a job (default: current()) in shared memory, with elements 0.

    >>> x = torus.empty((2, 3), "float32")
    >>> x[:] = 1
    >>> job.Allreduce(torus.IN_PLACE, x)
    >>> bool((x == job.size).all())
    True
    """
    return (job or current()).empty(shape, dtype)

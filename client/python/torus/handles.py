# SPDX-License-Identifier: Apache-2.0
"""Groups of the library, freed when nothing refers to them any more.

Group, InterGroup, their plans and topologies share a Handle; a Persistent has one, too. It leaves the group of the library when
one of them is freed, or when the last of them is collected. To leave is local, and other ranks do not
wait, so ranks may collect a group at different times. Calls in flight complete first. The collector
may run at any moment in any thread; what it collects is left in the next call of the library.
"""
from __future__ import annotations

import gc
from typing import Any, Callable, Optional

from ._torus import ffi, lib
from . import errors
from .context import Context

COLLECT_EVERY = 128  # groups of a connection: the daemon allows 1,024, and a cycle may keep some


class Handle:
    """A group: `raw` is that of the library, NULL after its end. `leave(pointer)` frees it; None: it
    is the group of the job, which a close leaves."""

    __slots__ = ("context", "leave", "raw", "__weakref__")

    def __init__(self, context: Context, pointer: Any,
                 leave: Optional[Callable[[Any], int]] = lib.torus_group_free) -> None:
        self.context = context
        self.leave = leave
        self.raw = pointer
        context.groups += 1

    @property
    def pointer(self) -> Any:
        """The group of the library; ShutdownError after its end."""
        self.context.enter()
        if self.freed:
            raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this group has been freed")
        return self.raw

    @property
    def freed(self) -> bool:
        """Whether this rank has left the group."""
        return self.raw == ffi.NULL

    def free(self) -> int:
        """Leaves the group, once, and returns the error of the library. A close has left it, too."""
        pointer, self.raw = self.raw, ffi.NULL
        if pointer == ffi.NULL:
            return 0
        self.context.groups -= 1
        return 0 if self.context.closed or self.leave is None else self.leave(pointer)

    def __del__(self) -> None:
        if self.raw != ffi.NULL:
            self.context.defer(self.free)


def make_room(context: Context) -> None:
    """Collects the groups that only cycles keep, from time to time. The creation that follows must
    not fail for them: a failure on one rank is one on all."""
    if context.groups >= context.groups_most:
        gc.collect()
        context.drain()
        context.groups_most = context.groups + COLLECT_EVERY

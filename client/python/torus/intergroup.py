# SPDX-License-Identifier: Apache-2.0
"""Inter-groups: two disjoint groups of a job. Data goes from the ranks of each group to those of the
other one, the remote group. Ranks are those in their own group.
"""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, TypeVar

import numpy as np

from ._torus import ffi, lib
from . import buffers, errors
from .group import Group
from .job import job_of
from .operators import SUM, bind
from .requests import Request

Self = TypeVar("Self", bound="InterGroup")

ROOT: int = lib.TORUS_ROOT  # `root` of the rank that sends
PROC_NULL: int = lib.TORUS_NO_ROOT  # `root` of the other ranks of its group


class InterGroup:
    """Two groups that exchange data. A context manager, as Group.

    >>> half = job.size // 2
    >>> if half:
    ...     with job.Icreate_intergroup(range(half), range(half, job.size)).wait() as pair:
    ...         got = np.zeros(pair.remote_size, int)
    ...         pair.Allgather(np.array([pair.size]), got)
    ...     assert set(got) == {pair.remote_size}
    """

    def __init__(self, everyone: Group, first: int) -> None:
        """Takes over a group; its first ranks, `first` of them, are one side."""
        made = ffi.new("torus_intergroup **")
        everyone.context.check(lib.torus_intergroup_of(everyone.pointer, first, made))
        self._all = everyone
        self._first = first
        self._pointer = made[0]
        self.context = everyone.context
        self.rank: int = lib.torus_intergroup_rank(made[0])
        self.size: int = lib.torus_intergroup_size(made[0])
        self.remote_size: int = lib.torus_intergroup_remote_size(made[0])

    def __repr__(self) -> str:
        return f"<torus.InterGroup rank {self.rank} of {self.size}, to {self.remote_size}>"

    @property
    def pointer(self) -> Any:
        """The inter-group of the library; ShutdownError after Free or close."""
        self.context.enter()
        if self._pointer == ffi.NULL:
            raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this inter-group has been freed")
        return self._pointer

    def Get_rank(self) -> int:
        """The rank of this process in its group."""
        return self.rank

    def Get_size(self) -> int:
        """The number of ranks of this group."""
        return self.size

    def Get_remote_size(self) -> int:
        """The number of ranks of the other group."""
        return self.remote_size

    def Free(self) -> None:
        """Leaves and frees the inter-group. Calls in flight complete. Other ranks do not wait."""
        if self._pointer == ffi.NULL or self.context.closed:
            return
        pointer, self._pointer = self.pointer, ffi.NULL
        self._all.forget()
        self.context.check(lib.torus_intergroup_free(pointer))

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.Free()

    def Merge(self, high: bool = False) -> Group:
        """Creates one group of both. The ranks of the group that gives `high` come last; if both
        give the same, all ranks agree on an order."""
        _ = self.pointer
        given = np.zeros(self._all.size, np.int8)
        self._all.Allgather(np.array([high], np.int8), given)
        sides = [given[:self._first], given[self._first:]]
        if any(side.min() != side.max() for side in sides):
            raise errors.make(lib.TORUS_ERR_MISMATCH, "merge: ranks of one group differ on whether it "
                              "is the high one")
        ranks = list(range(self._all.size))
        if sides[0][0] and not sides[1][0]:
            ranks = ranks[self._first:] + ranks[:self._first]
        return self._all.Create_group(ranks)

    # ---- collectives ----

    def _start(self, name: str, arguments: Tuple[Any, ...], keep: Sequence[Any],
               finish: Any = None) -> Request:
        function, pointer = getattr(lib, f"torus_intergroup_i{name}"), self.pointer
        return Request(self.context, lambda r: function(pointer, *arguments, r), keep, finish)

    def Ibarrier(self) -> Request:
        """Barrier without waiting."""
        return self._start("barrier", (), ())

    def Barrier(self) -> None:
        """Returns when all ranks of both groups have called it."""
        self.Ibarrier().wait()

    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        """Bcast without waiting."""
        if root == PROC_NULL:
            return self._start("broadcast", (ffi.NULL, 0, buffers.BYTE, PROC_NULL), ())
        b = buffers.check(buf, "buf", root != ROOT)
        number = ROOT if root == ROOT else buffers.root_of(root, self.remote_size)
        return self._start("broadcast", (b.pointer, b.count, b.type, number), [b])

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Copies the root's buffer to all ranks of the other group. The root gives torus.ROOT, the
        others of its group torus.PROC_NULL, and the receivers the root's rank."""
        self.Ibcast(buf, root).wait()

    def _blocks(self, name: str, send: Any, recv: Any, sent: int) -> Request:
        s, d = buffers.source(send), buffers.destination(recv)
        buffers.same_type(s, d)
        for buffer, what, parts in ((s, "sendbuf", sent), (d, "recvbuf", self.remote_size)):
            if buffer.count % parts:
                raise ValueError(f"{what}: {buffer.count} elements are not {parts} equal blocks, one "
                                 "for each rank of the other group")
        return self._start(name, (s.pointer, s.count // sent, d.pointer, d.count // self.remote_size,
                                  s.type), [s, d])

    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Allgather without waiting."""
        return self._blocks("allgather", sendbuf, recvbuf, 1)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Copies the buffer of each rank to all ranks of the other group."""
        self.Iallgather(sendbuf, recvbuf).wait()

    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Alltoall without waiting."""
        return self._blocks("alltoall", sendbuf, recvbuf, self.remote_size)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Sends block i to rank i of the other group; block j of recvbuf comes from its rank j."""
        self.Ialltoall(sendbuf, recvbuf).wait()

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> Request:
        """Allreduce without waiting."""
        s, d = buffers.source(sendbuf), buffers.destination(recvbuf)
        buffers.same_type(s, d)
        buffers.same_count(d.count, s.count, "recvbuf", f"sendbuf has {s.count} elements")
        array = s.array[0] if isinstance(s.array, tuple) else s.array
        bound = bind(self.context, op, array.dtype)
        try:
            return self._start("allreduce", (s.pointer, d.pointer, s.count, s.type, bound.number),
                               [s, d, bound], bound.finish)
        finally:
            bound.free()

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> None:
        """Combines the buffers of the other group, in the order of its ranks."""
        self.Iallreduce(sendbuf, recvbuf, op).wait()


def leaders_meet(local: Group, peer: Group, remote_leader: int, own: np.ndarray,
                 tag: int) -> np.ndarray:
    """Returns the ranks of the other leader's group in the job; the leaders alone call this."""
    remote = buffers.root_of(remote_leader, peer.size)
    with peer.Create_group(sorted((peer.rank, remote)), tag) as pair:
        sizes = np.zeros(2, np.int64)
        pair.Allgather(np.array([local.size]), sizes)
        both: List[np.ndarray] = [np.zeros(n, np.int64) for n in sizes]
        both[pair.rank][...] = own
        for root in range(2):
            pair.Bcast(both[root], root)
        pair.Barrier()  # else the first to free the group ends the last call of the other
        return both[1 - pair.rank]


def connect(local: Group, leader: int, peer: Optional[Group], remote_leader: int,
            tag: int) -> InterGroup:
    """Group.Create_intercomm."""
    world = job_of(local)
    leader = buffers.root_of(leader, local.size)
    own = np.array([local.translate(r, world) for r in range(local.size)], np.int64)
    size, theirs = np.zeros(1, np.int64), own
    if local.rank == leader:
        if peer is None:
            raise TypeError("the leader gives no peer group, in which both leaders are ranks")
        theirs = leaders_meet(local, peer, remote_leader, own, tag)
        size[0] = len(theirs)
    local.Bcast(size, leader)
    if local.rank != leader:
        theirs = np.zeros(size[0], np.int64)
    local.Bcast(theirs, leader)
    if set(own) & set(theirs):
        raise ValueError("a rank is in both groups")
    first, second = (own, theirs) if own[0] < theirs[0] else (theirs, own)
    made = world.Icreate_intergroup(first.tolist(), second.tolist(), tag).wait()
    made.Barrier()  # as in Group.Split
    return made

# SPDX-License-Identifier: Apache-2.0
"""Inter-groups: two disjoint groups of a job. Data goes from the ranks of each group to those of the
other one, the remote group. Ranks are those in their own group.
"""
from __future__ import annotations

from typing import Any, List, Optional, TypeVar

import numpy as np

from ._torus import ffi, lib
from . import buffers, calls, errors, intercalls
from .group import Group, three_forms
from .interobjects import InterObjects
from .job import job_of
from .operators import SUM

Self = TypeVar("Self", bound="InterGroup")


class InterGroup(InterObjects):
    """Two groups that exchange data. A context manager, as Group. `root` of a call with a root is
    torus.ROOT for the root, torus.PROC_NULL for the other ranks of its group, and the root's rank
    for those of the other group. Arguments that a rank does not use are ignored. The library's
    errors name ranks as those of `carrier`, the group of both sides.

    >>> half = job.size // 2
    >>> if half:
    ...     with job.Icreate_intergroup(range(half), range(half, job.size)).wait() as pair:
    ...         got = np.zeros(pair.remote_size, int)
    ...         pair.Allgather(np.array([pair.size]), got)
    ...         assert pair.allgather(pair.size) == got.tolist()
    ...     assert set(got) == {pair.remote_size}
    """

    def __init__(self, everyone: Group, first: int) -> None:
        """Takes over a group; its first ranks, `first` of them, are one side."""
        made = ffi.new("torus_intergroup **")
        everyone.context.check(lib.torus_intergroup_of(everyone.pointer, first, made))
        everyone.handle.leave = lambda _: lib.torus_intergroup_free(made[0])
        self._everyone = everyone
        self._sides = first
        self._pointer = made[0]
        self.context = everyone.context
        self.rank: int = lib.torus_intergroup_rank(made[0])
        self.size: int = lib.torus_intergroup_size(made[0])
        self.remote_size: int = lib.torus_intergroup_remote_size(made[0])
        # the rank of the other group's rank 0 in `carrier`
        self.remote_first = first if everyone.rank < first else 0

    def __repr__(self) -> str:
        return f"<torus.InterGroup rank {self.rank} of {self.size}, to {self.remote_size}>"

    @property
    def carrier(self) -> Group:
        """The group of both sides, which makes the calls; ShutdownError after Free."""
        if self._everyone.freed:
            raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this inter-group has been freed")
        return self._everyone

    @property
    def pointer(self) -> Any:
        """The inter-group of the library; ShutdownError after Free or close."""
        self.context.enter()
        _ = self.carrier
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

    @property
    def timeout(self) -> Optional[float]:
        """How long later calls wait for all ranks, as Group.timeout."""
        return self._everyone.timeout

    @timeout.setter
    def timeout(self, seconds: Optional[float]) -> None:
        self.carrier.timeout = seconds

    def Dup(self) -> "InterGroup":
        """Creates an inter-group of the same ranks; its calls are independent of this one's."""
        return InterGroup(self.carrier.Dup(), self._sides)

    def Free(self) -> None:
        """Leaves and frees the inter-group. Calls in flight complete. Other ranks do not wait."""
        self._everyone.Free()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.Free()

    def Merge(self, high: bool = False) -> Group:
        """Creates one group of both. The ranks of the group that gives `high` come last; if both
        give the same, all ranks agree on an order."""
        everyone = self.carrier
        given = np.zeros(everyone.size, np.int8)
        everyone.Allgather(np.array([high], np.int8), given)
        sides = [given[:self._sides], given[self._sides:]]
        if any(side.min() != side.max() for side in sides):
            raise errors.make(lib.TORUS_ERR_MISMATCH, "merge: ranks of one group differ on whether it "
                              "is the high one")
        ranks = list(range(everyone.size))
        if sides[0][0] and not sides[1][0]:
            ranks = ranks[self._sides:] + ranks[:self._sides]
        return everyone.Create_group(ranks)

    # ---- buffers ----

    def _barrier(self) -> calls.Call:
        """Returns when all ranks of both groups have called it."""
        return calls.barrier(self)

    def _bcast(self, buf: Any = None, root: int = 0) -> calls.Call:
        """Copies the root's buffer to all ranks of the other group."""
        return intercalls.broadcast(self, buf, root)

    def _reduce(self, sendbuf: Any = None, recvbuf: Any = None, op: Any = SUM,
                root: int = 0) -> calls.Call:
        """Combines the buffers of the other group at the root, in the order of its ranks."""
        return intercalls.reduce(self, sendbuf, recvbuf, op, root)

    def _allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines the buffers of the other group, in the order of its ranks."""
        return intercalls.allreduce(self, sendbuf, recvbuf, op)

    def _reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines the buffers of the other group, in the order of its ranks; rank r of this group
        gets block r. All buffers of both groups have the same number of elements."""
        return intercalls.reduce_scatter_block(self, sendbuf, recvbuf, op)

    def _reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None,
                        op: Any = SUM) -> calls.Call:
        """Reduce_scatter_block of blocks of recvcounts elements, one for each rank of this group.
        Each rank gets the whole buffers of the other group."""
        return intercalls.reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)

    def _gather(self, sendbuf: Any = None, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Copies the buffers of the other group to the root, in the order of its ranks."""
        return intercalls.gather(self, sendbuf, recvbuf, root)

    def _gatherv(self, sendbuf: Any = None, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Gather of different counts: recvbuf of the root is [array, counts] with or without
        places."""
        return intercalls.gatherv(self, sendbuf, recvbuf, root)

    def _scatter(self, sendbuf: Any = None, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Copies block r of the root's buffer to rank r of the other group."""
        return intercalls.scatter(self, sendbuf, recvbuf, root)

    def _scatterv(self, sendbuf: Any = None, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Scatter of different counts: sendbuf of the root is [array, counts] with or without
        places."""
        return intercalls.scatterv(self, sendbuf, recvbuf, root)

    def _allgather(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Copies the buffer of each rank to all ranks of the other group."""
        return intercalls.allgather(self, sendbuf, recvbuf)

    def _allgatherv(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Allgather of different counts: recvbuf is [array, counts] with or without places."""
        return intercalls.allgatherv(self, sendbuf, recvbuf)

    def _alltoall(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Sends block i to rank i of the other group; block j of recvbuf comes from its rank j."""
        return intercalls.alltoall(self, sendbuf, recvbuf)

    def _alltoallv(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Alltoall of different counts: both buffers are [array, counts] with or without places."""
        return intercalls.alltoallv(self, sendbuf, recvbuf)

    def _alltoallw(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Sends array i of the list sendbuf to rank i of the other group; array j of recvbuf comes
        from its rank j. The arrays are those of Group.Alltoallw."""
        return intercalls.alltoallw(self, sendbuf, recvbuf)

    Barrier, Ibarrier, Barrier_init = three_forms(_barrier)
    Bcast, Ibcast, Bcast_init = three_forms(_bcast)
    Reduce, Ireduce, Reduce_init = three_forms(_reduce)
    Allreduce, Iallreduce, Allreduce_init = three_forms(_allreduce)
    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = three_forms(
        _reduce_scatter_block)
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = three_forms(_reduce_scatter)
    Gather, Igather, Gather_init = three_forms(_gather)
    Gatherv, Igatherv, Gatherv_init = three_forms(_gatherv)
    Scatter, Iscatter, Scatter_init = three_forms(_scatter)
    Scatterv, Iscatterv, Scatterv_init = three_forms(_scatterv)
    Allgather, Iallgather, Allgather_init = three_forms(_allgather)
    Allgatherv, Iallgatherv, Allgatherv_init = three_forms(_allgatherv)
    Alltoall, Ialltoall, Alltoall_init = three_forms(_alltoall)
    Alltoallv, Ialltoallv, Alltoallv_init = three_forms(_alltoallv)
    Alltoallw, Ialltoallw, Alltoallw_init = three_forms(_alltoallw)


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

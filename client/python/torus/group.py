# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks, and the collectives in mpi4py's spelling.

Upper-case calls move the elements of buffers, lower-case calls move Python objects. `Ibcast` starts a
call and returns a Request; `Bcast_init` returns a Persistent. All ranks of a group make the same
calls in the same order.
"""
from __future__ import annotations

import collections
import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from ._torus import ffi, lib
from . import calls, errors
from .context import Context
from .handles import Handle, make_room
from .objects import Objects
from .operators import SUM
from .requests import Request

Self = TypeVar("Self", bound="Group")

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from .intergroup import InterGroup
    from .topologies import CartGroup, GraphGroup

    P = ParamSpec("P")


class Persistent:
    """A call that is made repeatedly with the same buffers.

    >>> import numpy as np
    >>> x, total = np.zeros(1), np.zeros(1)
    >>> call = job.Allreduce_init(x, total)
    >>> for x[0] in (1, 2):
    ...     call.start().wait()
    ...     print(total[0] == x[0] * job.size)
    True
    True
    """

    def __init__(self, group: "Group", call: calls.Call) -> None:
        context, free = group.context, call.free
        context.enter()
        make_room(context)
        init = getattr(lib, f"torus_{call.name}_init")

        def end(pointer: Any) -> int:
            code = lib.torus_persistent_free(pointer)
            free()
            return code

        def create() -> Handle:
            made = ffi.new("torus_persistent **")
            try:
                context.check(init(group.pointer, *call.arguments, made))
            except BaseException:
                free()
                raise
            return Handle(context, made[0], end)

        self._context = context
        self._call = call
        self._request: Optional[Request] = None
        self._handle: Optional[Handle] = context.interruptible(create)

    def __repr__(self) -> str:
        state = "freed" if self._handle is None else "complete" if self.done else "in flight"
        return f"<torus.Persistent {self._call.name}: {state}>"

    def start(self) -> Request:
        """Starts the call once; its request owns the buffers until it is complete."""
        handle = self._handle
        if handle is None:
            raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this persistent call has been freed")
        if self._request is not None:
            self._request.poll()
            if not self._request.done:
                raise errors.make(lib.TORUS_ERR_BUSY, f"{self._call.name}: the previous start is "
                                  "still in flight: wait for it first")
        self._call.begin()
        pointer = handle.raw
        self._request = Request(self._context, lambda r: lib.torus_persistent_start(pointer, r),
                                [self, handle], self._call.finish)
        return self._request

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits for the last start, as Request.wait; returns at once without one."""
        if self._request is not None:
            self._request.wait(timeout)

    def test(self) -> bool:
        """Returns whether the last start is complete, as Request.test."""
        return self._request is None or self._request.test()

    @property
    def done(self) -> bool:
        """Whether the last start is known to be complete; `test` looks."""
        return self._request is None or self._request.done

    def free(self) -> None:
        """Frees the call; a start in flight completes. The end of the object frees it, too."""
        self._handle = None

    Start = start
    Wait = wait
    Test = test
    Free = free


def _start(group: "Group", call: calls.Call) -> Request:
    try:
        function = call.function or functools.partial(getattr(lib, f"torus_i{call.name}"),
                                                      group.pointer)
        call.begin()
        return Request(group.context, lambda r: function(*call.arguments, r), call.keep,
                       call.finish)
    finally:
        call.free()


def three_forms(prepare: "Callable[P, calls.Call]") -> (
        "Tuple[Callable[P, None], Callable[P, Request], Callable[P, Persistent]]"):
    """Returns the blocking, non-blocking and persistent methods of a call, which the object's
    `carrier` makes."""

    def blocking(self: Any, *args: Any, **named: Any) -> None:
        _start(self.carrier, prepare(self, *args, **named)).wait()

    def starting(self: Any, *args: Any, **named: Any) -> Request:
        return _start(self.carrier, prepare(self, *args, **named))

    def persistent(self: Any, *args: Any, **named: Any) -> Persistent:
        call = prepare(self, *args, **named)
        if call.repeated is not None:
            call.free()
            call = call.repeated()
        return Persistent(self.carrier, call)

    signature = inspect.signature(prepare)
    owner, name = prepare.__qualname__.split(".")[0], prepare.__name__[1:].capitalize()
    for form, called, end, returned in (
            (blocking, name, "", "None"),
            (starting, "I" + name.lower(), " Does not wait.", "Request"),
            (persistent, name + "_init", " For repeated calls.", "Persistent")):
        form.__name__, form.__qualname__ = called, f"{owner}.{called}"
        text, blank, example = (prepare.__doc__ or "").partition("\n\n")
        form.__doc__ = text + end if end else text + blank + example
        form.__signature__ = signature.replace(return_annotation=returned)  # type: ignore
    prepare.__qualname__ = f"{owner}.{name}"  # Python's errors of missing arguments name this
    return blocking, starting, persistent  # type: ignore


class Group(Objects):
    """Ranks of a job. A context manager: a `with` block frees the group at its end. A group that
    nothing refers to is freed, too.

    >>> with job.Split(color=job.rank % 2, key=job.rank) as half:
    ...     half.allreduce(1) == half.size
    True
    """

    PLANS_MAX = 64  # plans of redistributions and transforms that a group keeps
    neighbourhood: Optional[Tuple[Any, Any, Any, Any]] = None  # dims, periods, sources, destinations

    def __init__(self, handle: Handle, allow_pickle: bool) -> None:
        self.context = handle.context
        self.handle = handle
        self.allow_pickle = allow_pickle
        self.rank: int = lib.torus_rank(handle.raw)
        self.size: int = lib.torus_size(handle.raw)
        self._timeout: Optional[float] = None
        self.plans: Dict[Any, Any] = collections.OrderedDict()

    def __repr__(self) -> str:
        return f"<torus.{type(self).__name__} rank {self.rank} of {self.size}>"

    @property
    def pointer(self) -> Any:
        """The group of the library; ShutdownError after Free or close."""
        return self.handle.pointer

    @property
    def carrier(self) -> "Group":
        """The group that makes the calls: this one."""
        return self

    def Get_rank(self) -> int:
        """The rank of this process in the group."""
        return self.rank

    def Get_size(self) -> int:
        """The number of ranks."""
        return self.size

    # ---- groups ----

    def _plain(self, pointer: Any) -> "Group":
        return Group(Handle(self.context, pointer), self.allow_pickle)

    def _twin(self, pointer: Any) -> "Group":
        """Returns a group of the same ranks."""
        return self._plain(pointer)

    def _make(self, function: Any, *arguments: Any, keep: Sequence[Any] = (),
              wrap: Optional[Callable[[Any], Any]] = None) -> Request:
        """Starts the creation of a group; the request's result is the group, or None."""
        made = ffi.new("torus_group **")
        make_room(self.context)
        pointer = self.pointer

        def finish() -> Any:
            return (wrap or self._plain)(made[0]) if made[0] != ffi.NULL else None

        return Request(self.context, lambda r: function(pointer, *arguments, made, r),
                       [made, keep], finish)

    def Isplit(self, color: Optional[int] = 0, key: int = 0) -> Request:
        """Split without waiting; the request's result is the group. Other ranks may not have it yet:
        if this rank frees it first, their calls in it get an exception."""
        return self._make(lib.torus_isplit, -1 if color is None else color, key)

    def Split(self, color: Optional[int] = 0, key: int = 0) -> Optional["Group"]:
        """Creates one group for each color, ordered by key and rank. Color None gives None."""
        if color is not None and color < 0:
            raise ValueError(f"color {color} is negative: pass None for no group")
        group = self.Isplit(color, key).wait()
        if group is not None:
            group.Barrier()  # all ranks have it: none frees it before the others' first calls
        return group

    def Idup(self) -> Request:
        """Dup without waiting; the request's result is the group. Other ranks may not have it yet:
        if this rank frees it first, their calls in it get an exception."""
        return self._make(lib.torus_idup, wrap=self._twin)

    def Dup(self) -> "Group":
        """Creates a group of the same ranks; its calls are independent of this group's."""
        group = self.Idup().wait()
        group.Barrier()  # as in Split
        return group

    @staticmethod
    def _ranks(ranks: Sequence[int]) -> List[int]:
        """Returns the ranks, which the library checks; ValueError if one is no rank of any group."""
        given = list(ranks)
        listed = [int(r) for r in given]
        if listed != given or min(listed, default=0) < 0:
            raise ValueError(f"ranks {given}: pass numbers from 0 to the group's size - 1")
        return listed

    def Create_group(self, ranks: Sequence[int], tag: int = 0) -> "Group":
        """Creates a group of the listed ranks, which alone call this, with equal lists and tags."""
        listed = ffi.new("uint32_t []", self._ranks(ranks))
        group = self._make(lib.torus_igroup_create, listed, len(listed), tag, keep=[listed]).wait()
        group.Barrier()  # as in Split
        return group

    def Create_intercomm(self, local_leader: int, peer_comm: Optional["Group"], remote_leader: int,
                         tag: int = 0) -> "InterGroup":
        """Connects this group with another one, whose ranks make the same call with theirs. The two
        leaders are ranks of `peer_comm`, in which `remote_leader` is the other one; the other ranks
        may pass None."""
        from .intergroup import connect  # pylint: disable=import-outside-toplevel
        return connect(self, local_leader, peer_comm, remote_leader, tag)

    def Icreate_intergroup(self, first: Sequence[int], second: Sequence[int],
                           tag: int = 0) -> Request:
        """Connects two lists of ranks of this group, which alone call this, with equal lists and
        tags, and does not wait; the request's result is the InterGroup. Other ranks may not have it
        yet: if this rank frees it first, they get an exception."""
        from .intergroup import InterGroup  # pylint: disable=import-outside-toplevel
        sides = [self._ranks(side) for side in (first, second)]
        if set(sides[0]) & set(sides[1]):
            raise ValueError(f"ranks {sorted(set(sides[0]) & set(sides[1]))} are on both sides")
        if not sides[0] or not sides[1]:
            raise ValueError("each side of an inter-group has at least one rank")
        listed = ffi.new("uint32_t []", sides[0] + sides[1])
        return self._make(lib.torus_igroup_create, listed, len(listed), tag, keep=[listed],
                          wrap=lambda pointer: InterGroup(self._plain(pointer), len(sides[0])))

    def Shrink(self) -> "Group":
        """Creates a group of the ranks that live; all of them call this."""
        return self._make(lib.torus_ishrink).wait()

    def Create_cart(self, dims: Sequence[int], periods: Any = None,
                    reorder: bool = False) -> "Optional[CartGroup]":
        """Creates a group whose ranks are the points of a grid; its Neighbor calls exchange with the
        nearest points. Ranks beyond the grid get None. `reorder` has no effect.

        >>> with job.Create_cart([job.size], periods=True) as ring:
        ...     here = [(ring.rank - 1) % ring.size, (ring.rank + 1) % ring.size]
        ...     ring.neighbor_allgather(ring.rank) == here
        True
        """
        from .topologies import CartGroup  # pylint: disable=import-outside-toplevel
        return CartGroup.create(self, dims, periods)

    def Create_dist_graph_adjacent(self, sources: Sequence[int], destinations: Sequence[int],
                                   *_weights: Any, **_named: Any) -> "GraphGroup":
        """Creates a group with edges from `sources` to this rank and from it to `destinations`; its
        Neighbor calls use them. Weights, info and reorder have no effect."""
        from .topologies import GraphGroup  # pylint: disable=import-outside-toplevel
        return GraphGroup.create(self, sources, destinations)

    def Free(self) -> None:
        """Leaves and frees the group. Calls in flight complete. Other ranks do not wait."""
        if self.freed or self.context.closed:
            return
        try:
            self.context.enter()
            self.plans.clear()
            self.context.check(self.handle.free())
        except errors.ShutdownError:
            if not self.context.closed:  # a close by another thread leaves all groups
                raise

    @property
    def freed(self) -> bool:
        """Whether this rank has freed the group."""
        return self.handle.freed

    def translate(self, rank: int, other: "Group") -> Optional[int]:
        """Returns the rank in `other` of the process that has `rank` here, or None."""
        if not 0 <= rank < self.size:
            raise ValueError(f"the group has no rank {rank}")
        found = lib.torus_translate(self.pointer, rank, other.pointer)
        return None if found < 0 else found

    @property
    def timeout(self) -> Optional[float]:
        """How long later calls wait for all ranks, in seconds; None: the daemon's setting."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: Optional[float]) -> None:
        if seconds is not None and not 0 <= seconds < 1 << 33:
            raise ValueError(f"timeout {seconds}: pass seconds from 0 to 2**33, or None")
        limit = -1 if seconds is None else int(seconds * 1e9)
        self.context.check(lib.torus_set_timeout(self.pointer, limit))
        self._timeout = seconds

    def set_reproducible(self, mode: str) -> None:
        """Reproducible bits of later floating-point reductions: "off", "same placement" of ranks,
        or "any placement". All ranks set the same mode."""
        modes = ["off", "same placement", "any placement"]
        self.context.check(lib.torus_set_reproducible(self.pointer, modes.index(mode)))

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.Free()

    # ---- buffers ----

    def _barrier(self) -> calls.Call:
        """Returns when all ranks have called it."""
        return calls.barrier(self)

    def _bcast(self, buf: Any, root: int = 0) -> calls.Call:
        """Copies the root's buffer to all ranks."""
        return calls.broadcast(self, buf, root)

    def _reduce(self, sendbuf: Any, recvbuf: Any = None, op: Any = SUM, root: int = 0) -> calls.Call:
        """Combines the buffers of all ranks, in the order of ranks, at the root."""
        return calls.reduce(self, sendbuf, recvbuf, op, root)

    def _allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines the buffers of all ranks, on all ranks. sendbuf may be IN_PLACE."""
        return calls.allreduce(self, sendbuf, recvbuf, op)

    def _reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines one block for each rank; rank r gets block r."""
        return calls.reduce_scatter_block(self, sendbuf, recvbuf, op)

    def _reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None,
                        op: Any = SUM) -> calls.Call:
        """Combines blocks of recvcounts elements; rank r gets block r."""
        return calls.reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)

    def _scan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines the buffers of rank 0 to this rank."""
        return calls.scan(self, sendbuf, recvbuf, op)

    def _exscan(self, sendbuf: Any, recvbuf: Any, op: Any = SUM) -> calls.Call:
        """Combines the buffers of the ranks before this one; recvbuf of rank 0 stays unchanged."""
        return calls.exscan(self, sendbuf, recvbuf, op)

    def _gather(self, sendbuf: Any, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Copies the buffers of all ranks to the root, in the order of ranks."""
        return calls.gather(self, sendbuf, recvbuf, root)

    def _gatherv(self, sendbuf: Any, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Gather of different counts: recvbuf of the root is [array, counts] with or without
        places."""
        return calls.gatherv(self, sendbuf, recvbuf, root)

    def _scatter(self, sendbuf: Any, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Copies block r of the root's buffer to rank r."""
        return calls.scatter(self, sendbuf, recvbuf, root)

    def _scatterv(self, sendbuf: Any, recvbuf: Any = None, root: int = 0) -> calls.Call:
        """Scatter of different counts: sendbuf of the root is [array, counts] with or without
        places."""
        return calls.scatterv(self, sendbuf, recvbuf, root)

    def _allgather(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Copies the buffers of all ranks to all ranks."""
        return calls.allgather(self, sendbuf, recvbuf)

    def _allgatherv(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Allgather of different counts: recvbuf is [array, counts] with or without places."""
        return calls.allgatherv(self, sendbuf, recvbuf)

    def _alltoall(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Sends block i to rank i; block j of recvbuf comes from rank j."""
        return calls.alltoall(self, sendbuf, recvbuf)

    def _alltoallv(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Alltoall of different counts: both buffers are [array, counts] with or without places."""
        return calls.alltoallv(self, sendbuf, recvbuf)

    def _alltoallw(self, sendbuf: Any, recvbuf: Any) -> calls.Call:
        """Sends array i of the list sendbuf to rank i; array j of recvbuf comes from rank j. The
        arrays may have different types, and any shape and strides; None: no elements. The two ends
        of a pair give the same number of bytes.

        >>> import numpy as np
        >>> rows, turned = np.full((2, 3 * job.size), job.rank), np.zeros((2 * job.size, 3), int)
        >>> job.Alltoallw(np.split(rows, job.size, axis=1), np.split(turned, job.size))
        >>> turned[:, 0].tolist() == sorted(2 * list(range(job.size)))
        True
        """
        return calls.alltoallw(self, sendbuf, recvbuf)

    def _neighbours(self, kind: str, sendbuf: Any, recvbuf: Any, dims: Optional[Sequence[int]],
                    periods: Any, sources: Optional[List[int]],
                    destinations: Optional[List[int]]) -> calls.Call:
        found = calls.edges(self, dims, periods, sources, destinations)
        return calls.neighbours(self, kind, sendbuf, recvbuf, found)

    def _neighbor_allgather(self, sendbuf: Any, recvbuf: Any, dims: Any = None, periods: Any = True,
                            sources: Any = None, destinations: Any = None) -> calls.Call:
        """Sends the buffer to all neighbours: those of the group (Create_cart), or in the grid `dims`,
        which is periodic or not along each axis, or in a graph. Blocks of a grid: axis 0 down, up,
        axis 1 down, up, ..."""
        return self._neighbours("allgather", sendbuf, recvbuf, dims, periods, sources, destinations)

    def _neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any, dims: Any = None,
                             periods: Any = True, sources: Any = None,
                             destinations: Any = None) -> calls.Call:
        """Neighbor_allgather of different counts: recvbuf is [array, counts] with or without
        places."""
        return self._neighbours("allgatherv", sendbuf, recvbuf, dims, periods, sources,
                                destinations)

    def _neighbor_alltoall(self, sendbuf: Any, recvbuf: Any, dims: Any = None, periods: Any = True,
                           sources: Any = None, destinations: Any = None) -> calls.Call:
        """Sends a block to each neighbour, named as for Neighbor_allgather. A block that one rank
        sends down is the "up" block of its receiver."""
        return self._neighbours("alltoall", sendbuf, recvbuf, dims, periods, sources, destinations)

    def _neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any, dims: Any = None, periods: Any = True,
                            sources: Any = None, destinations: Any = None) -> calls.Call:
        """Neighbor_alltoall of different counts: both buffers are [array, counts] with or without
        places."""
        return self._neighbours("alltoallv", sendbuf, recvbuf, dims, periods, sources, destinations)

    def _neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any, dims: Any = None, periods: Any = True,
                            sources: Any = None, destinations: Any = None) -> calls.Call:
        """Neighbor_alltoall of lists of arrays, as those of Alltoallw."""
        return self._neighbours("alltoallw", sendbuf, recvbuf, dims, periods, sources, destinations)

    Barrier, Ibarrier, Barrier_init = three_forms(_barrier)
    Bcast, Ibcast, Bcast_init = three_forms(_bcast)
    Reduce, Ireduce, Reduce_init = three_forms(_reduce)
    Allreduce, Iallreduce, Allreduce_init = three_forms(_allreduce)
    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = three_forms(
        _reduce_scatter_block)
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = three_forms(_reduce_scatter)
    Scan, Iscan, Scan_init = three_forms(_scan)
    Exscan, Iexscan, Exscan_init = three_forms(_exscan)
    Gather, Igather, Gather_init = three_forms(_gather)
    Gatherv, Igatherv, Gatherv_init = three_forms(_gatherv)
    Scatter, Iscatter, Scatter_init = three_forms(_scatter)
    Scatterv, Iscatterv, Scatterv_init = three_forms(_scatterv)
    Allgather, Iallgather, Allgather_init = three_forms(_allgather)
    Allgatherv, Iallgatherv, Allgatherv_init = three_forms(_allgatherv)
    Alltoall, Ialltoall, Alltoall_init = three_forms(_alltoall)
    Alltoallv, Ialltoallv, Alltoallv_init = three_forms(_alltoallv)
    Alltoallw, Ialltoallw, Alltoallw_init = three_forms(_alltoallw)
    Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init = three_forms(
        _neighbor_allgather)
    Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init = three_forms(
        _neighbor_allgatherv)
    Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init = three_forms(
        _neighbor_alltoall)
    Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init = three_forms(
        _neighbor_alltoallv)
    Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init = three_forms(
        _neighbor_alltoallw)

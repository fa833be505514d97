# SPDX-License-Identifier: Apache-2.0
"""The arguments of each collective: checked here, then passed to the three forms of the library.

A function returns a Call: the name of the library's function without its form, the arguments after
the group, and what must live as long as the call.
"""
from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from ._torus import ffi, lib
from . import blocks, buffers
from .buffers import Buffer, destination, in_place, same_count, same_type, source
from .operators import bind

HERE = ffi.cast("void *", 1)  # TORUS_IN_PLACE
NOTHING = ffi.NULL


class Call(NamedTuple):
    """A checked call."""

    name: str
    arguments: Tuple[Any, ...]
    keep: Sequence[Any]
    finish: Optional[Callable[[], Any]] = None
    free: Callable[[], None] = lambda: None
    begin: Callable[[], None] = lambda: None  # before each start
    function: Optional[Callable[..., int]] = None  # starts the call, if not a function of the group
    repeated: Optional[Callable[[], "Call"]] = None  # the persistent call, if it is another one


def barrier(_group: Any) -> Call:
    """Barrier."""
    return Call("barrier", (), ())


def broadcast(group: Any, buf: Any, root: int) -> Call:
    """Bcast."""
    root = buffers.root_of(root, group.size)
    b = buffers.check(buf, "buf", group.rank != root)
    return Call("broadcast", (b.pointer, b.count, b.type, root), [b])


def _reduction(group: Any, name: str, send: Any, recv: Any, op: Any, last: Tuple[Any, ...] = (),
               blocks: Tuple[int, int] = (1, 1), writes: bool = True) -> Call:
    """A reduction: the source has blocks[0] times the count of the call, the destination blocks[1]
    times, unless the call is in place: then the destination has the larger of the two."""
    kept: List[Buffer] = []
    if in_place(send):
        blocks = (max(blocks), max(blocks))
        s, d = None, destination(recv, blocks=blocks[1])
    else:
        s = source(send, blocks=blocks[0])
        d = destination(recv, blocks=blocks[1]) if writes else s
    if s is not None and writes:
        same_type(s, d)
        same_count(d.count * blocks[0], s.count * blocks[1], "recvbuf" if blocks[0] == 1 else
                   f"recvbuf, times {blocks[0]},", f"sendbuf has {s.count} elements")
    have = s if s is not None else d
    per = blocks[0]
    if have.count % per:
        raise ValueError(f"{have.count} elements are not {per} equal blocks, one for each rank")
    kept += [d] + ([s] if s is not None else [])
    bound = bind(group.context, op, have.elements.dtype)
    arguments = (HERE if s is None else s.pointer, d.pointer if writes else NOTHING,
                 have.count // per, have.type, bound.number, *last)
    return Call(name, arguments, [*kept, bound], bound.finish, bound.free)


def reduce(group: Any, send: Any, recv: Any, op: Any, root: int) -> Call:
    """Reduce."""
    root = buffers.root_of(root, group.size)
    if group.rank != root and in_place(send):
        raise ValueError("sendbuf is IN_PLACE, but only the root may reduce in place")
    return _reduction(group, "reduce", send, recv, op, (root,), writes=group.rank == root)


def allreduce(group: Any, send: Any, recv: Any, op: Any) -> Call:
    """Allreduce."""
    return _reduction(group, "allreduce", send, recv, op)


def scan(group: Any, send: Any, recv: Any, op: Any) -> Call:
    """Scan."""
    return _reduction(group, "scan", send, recv, op)


def exscan(group: Any, send: Any, recv: Any, op: Any) -> Call:
    """Exscan."""
    return _reduction(group, "exscan", send, recv, op)


def reduce_scatter_block(group: Any, send: Any, recv: Any, op: Any) -> Call:
    """Reduce_scatter_block."""
    return _reduction(group, "reduce_scatter", send, recv, op, blocks=(group.size, 1))


def reduce_scatter(group: Any, send: Any, recv: Any, counts: Any, op: Any) -> Call:
    """Reduce_scatter."""
    d = destination(recv)
    s = None if in_place(send) else source(send)
    have = d if s is None else s
    if counts is None:
        counts = buffers.equal_counts(have, group.size, "recvcounts")
    parts = buffers.parts([have.elements, counts], "recvcounts", s is None, group.size)
    total = sum(parts.counts)
    same_count(have.count, total, "recvbuf" if s is None else "sendbuf", "the sum of recvcounts")
    if s is not None:
        same_type(s, d)
        same_count(d.count, parts.counts[group.rank], "recvbuf", "recvcounts of this rank")
    bound = bind(group.context, op, have.elements.dtype)
    return Call("reduce_scatterv", (HERE if s is None else s.pointer, d.pointer, parts.counts,
                                    have.type, bound.number), [s, d, parts, bound], bound.finish,
                bound.free)


def _blocks(group: Any, name: str, send: Any, recv: Any, many: Tuple[int, int],
            used: Tuple[bool, bool] = (True, True), last: Tuple[Any, ...] = ()) -> Call:
    """A call that moves blocks: the buffers have many[0] and many[1] blocks of one size. A buffer
    that this rank does not use is ignored. Either may be IN_PLACE where the library allows that."""
    s = source(send, blocks=many[0]) if used[0] and not in_place(send) else None
    d = destination(recv, blocks=many[1]) if used[1] and not in_place(recv) else None
    if s is None and d is None:
        raise ValueError("both buffers are IN_PLACE or not used")
    if s is not None and d is not None:
        same_type(s, d)
        same_count(d.count * many[0], s.count * many[1],
                   "recvbuf" if many[0] == 1 else f"recvbuf, times {many[0]},",
                   f"sendbuf has {s.count} elements for {many[0]} of {many[1]} blocks")
    have, parts = (s, many[0]) if s is not None else (d, many[1])
    assert have is not None
    if parts == 0 or have.count % parts:
        raise ValueError(f"{have.count} elements are not {parts} equal blocks")
    pointers = (NOTHING if not used[0] else HERE if s is None else s.pointer,
                NOTHING if not used[1] else HERE if d is None else d.pointer)
    return Call(name, (*pointers, have.count // parts, have.type, *last), [s, d])


def gather(group: Any, send: Any, recv: Any, root: int) -> Call:
    """Gather."""
    root = buffers.root_of(root, group.size)
    if in_place(recv) or (in_place(send) and group.rank != root):
        raise ValueError("only sendbuf of the root may be IN_PLACE")
    return _blocks(group, "gather", send, recv, (1, group.size), (True, group.rank == root), (root,))


def scatter(group: Any, send: Any, recv: Any, root: int) -> Call:
    """Scatter."""
    root = buffers.root_of(root, group.size)
    if in_place(send) or (in_place(recv) and group.rank != root):
        raise ValueError("only recvbuf of the root may be IN_PLACE")
    return _blocks(group, "scatter", send, recv, (group.size, 1), (group.rank == root, True),
                   (root,))


def _not_in_place(recv: Any) -> None:
    if in_place(recv):
        raise ValueError("recvbuf cannot be IN_PLACE: sendbuf can")


def allgather(group: Any, send: Any, recv: Any) -> Call:
    """Allgather."""
    _not_in_place(recv)
    return _blocks(group, "allgather", send, recv, (1, group.size))


def alltoall(group: Any, send: Any, recv: Any) -> Call:
    """Alltoall."""
    _not_in_place(recv)
    return _blocks(group, "alltoall", send, recv, (group.size, group.size))


def _own_part(parts: Optional[buffers.Parts], root: int) -> Tuple[int, int]:
    """Returns count and type of the root's part, which is in place."""
    assert parts is not None
    return parts.counts[root], parts.buffer.type


def gatherv(group: Any, send: Any, recv: Any, root: int) -> Call:
    """Gatherv."""
    root = buffers.root_of(root, group.size)
    at_root = group.rank == root
    s = None if in_place(send) and at_root else source(send)
    d = buffers.parts(recv, "recvbuf", True, group.size) if at_root else None
    if s is not None and d is not None:
        same_type(s, d.buffer)
        same_count(s.count, d.counts[root], "sendbuf", "counts of this rank in recvbuf")
    count, kind = (s.count, s.type) if s is not None else _own_part(d, root)
    return Call("gatherv", (HERE if s is None else s.pointer, count,
                            *((d.buffer.pointer, d.counts, d.places) if d else (NOTHING,) * 3),
                            kind, root), [s, d])


def scatterv(group: Any, send: Any, recv: Any, root: int) -> Call:
    """Scatterv."""
    root = buffers.root_of(root, group.size)
    at_root = group.rank == root
    s = buffers.parts(send, "sendbuf", False, group.size) if at_root else None
    d = None if in_place(recv) and at_root else destination(recv)
    if s is not None and d is not None:
        same_type(s.buffer, d)
        same_count(d.count, s.counts[root], "recvbuf", "counts of this rank in sendbuf")
    count, kind = (d.count, d.type) if d is not None else _own_part(s, root)
    return Call("scatterv", (*((s.buffer.pointer, s.counts, s.places) if s else (NOTHING,) * 3),
                             HERE if d is None else d.pointer, count, kind, root), [s, d])


def allgatherv(group: Any, send: Any, recv: Any) -> Call:
    """Allgatherv."""
    d = buffers.parts(recv, "recvbuf", True, group.size)
    s = None if in_place(send) else source(send)
    if s is not None:
        same_type(s, d.buffer)
        same_count(s.count, d.counts[group.rank], "sendbuf", "counts of this rank in recvbuf")
    return Call("allgatherv", (HERE if s is None else s.pointer, d.counts[group.rank],
                               d.buffer.pointer, d.counts, d.places, d.buffer.type), [s, d])


def _two_lists(name: str, send: Any, recv: Any, sizes: Tuple[int, int],
               first: Tuple[Any, ...] = ()) -> Call:
    d = buffers.parts(recv, "recvbuf", True, sizes[1], bool(first))
    if in_place(send):
        s, lists = None, (HERE, NOTHING, NOTHING)
    else:
        s = buffers.parts(send, "sendbuf", False, sizes[0], bool(first))
        same_type(s.buffer, d.buffer)
        lists = (s.buffer.pointer, s.counts, s.places)
    return Call(name, (*first, *lists, d.buffer.pointer, d.counts, d.places, d.buffer.type),
                [s, d, first])


def alltoallv(group: Any, send: Any, recv: Any) -> Call:
    """Alltoallv."""
    return _two_lists("alltoallv", send, recv, (group.size, group.size))


def _typed_lists(group: Any, name: str, send: Any, recv: Any, sizes: Tuple[int, int],
                 first: Tuple[Any, ...] = ()) -> Call:
    """A call with a type for each block: alltoallw, and that of neighbours."""
    d = blocks.make(group.context, recv, "recvbuf", True, sizes[1])
    if in_place(send):
        s, lists = d, (HERE, NOTHING, NOTHING, NOTHING)
    else:
        s = blocks.make(group.context, send, "sendbuf", False, sizes[0])
        lists = (s.pointer, s.counts, s.places, s.types)
    blocks.check_overlap(None if s is d else s, d)
    return Call(name, (*first, *lists, d.pointer, d.counts, d.places, d.types), [s, d, first],
                d.store, begin=s.load or (lambda: None))


def alltoallw(group: Any, send: Any, recv: Any) -> Call:
    """Alltoallw."""
    return _typed_lists(group, "alltoallw", send, recv, (group.size, group.size))


def _grid(group: Any, dims: Sequence[int], periods: Any) -> Any:
    dims = [int(n) for n in dims]
    periods = [bool(periods)] * len(dims) if isinstance(periods, bool) else list(periods)
    total = 1
    for n in dims:
        total *= n
    if not 1 <= len(dims) <= lib.TORUS_DIMENSIONS_MAX or len(periods) != len(dims):
        raise ValueError("dims has 1 to 6 numbers, and periods is a bool or as long")
    if min(dims) < 1 or total != group.size:
        raise ValueError(f"the grid {dims} has {total} places, but the group has {group.size} ranks")
    grid = ffi.new("struct torus_grid *")
    grid.size = ffi.sizeof("struct torus_grid")
    grid.dimensions = len(dims)
    grid.extent[0:len(dims)] = dims
    grid.periodic[0:len(dims)] = [int(bool(p)) for p in periods]
    return grid


def _graph(group: Any, sources: Sequence[int], destinations: Sequence[int]) -> Tuple[Any, Any]:
    lists = [[buffers.root_of(r, group.size) for r in ranks] for ranks in (sources, destinations)]
    arrays = [ffi.new("uint32_t []", ranks or [0]) for ranks in lists]
    graph = ffi.new("struct torus_graph *")
    graph.size = ffi.sizeof("struct torus_graph")
    graph.sources, graph.destinations = len(lists[0]), len(lists[1])
    graph.source, graph.destination = arrays
    return graph, arrays


class Edges(NamedTuple):
    """The neighbours of a rank: `name` begins the library's functions."""

    name: str
    pointer: Any
    sources: int
    destinations: int
    keep: Any


def edges(group: Any, dims: Any, periods: Any, sources: Any, destinations: Any) -> Edges:
    """Returns the neighbours in a grid, or the given ones; without both, those of the group."""
    if dims is None and sources is None and destinations is None:
        dims, periods, sources, destinations = group.neighbourhood or (None, None, None, None)
    if (dims is None) == (sources is None or destinations is None):
        raise TypeError("the neighbours are unknown: make a group by Create_cart or "
                        "Create_dist_graph_adjacent, or pass dims (and periods) of a grid, or "
                        "sources and destinations of a graph")
    if dims is not None:
        grid = _grid(group, dims, periods)
        return Edges("neighbour", grid, 2 * grid.dimensions, 2 * grid.dimensions, grid)
    graph, arrays = _graph(group, sources, destinations)
    return Edges("graph", graph, graph.sources, graph.destinations, (graph, arrays))


def neighbours(group: Any, kind: str, send: Any, recv: Any, e: Edges) -> Call:
    """Neighbor_allgather, Neighbor_allgatherv, Neighbor_alltoall, Neighbor_alltoallv and
    Neighbor_alltoallw: `kind` is the end of the name."""
    if in_place(send) or in_place(recv):
        raise ValueError("exchanges with neighbours are not done in place")
    make = {"allgatherv": _neighbour_allgatherv, "alltoallv": _neighbour_alltoallv,
            "alltoallw": _neighbour_alltoallw}.get(kind, _neighbour_blocks)
    call = make(group, f"{e.name}_{kind}", send, recv, e)
    return call._replace(keep=[*call.keep, e])


def _neighbour_allgatherv(_group: Any, name: str, send: Any, recv: Any, e: Edges) -> Call:
    s, d = source(send), buffers.parts(recv, "recvbuf", True, e.sources, True)
    same_type(s, d.buffer)
    return Call(name, (e.pointer, s.pointer, s.count, d.buffer.pointer, d.counts, d.places, s.type),
                [s, d])


def _neighbour_alltoallv(_group: Any, name: str, send: Any, recv: Any, e: Edges) -> Call:
    return _two_lists(name, send, recv, (e.destinations, e.sources), (e.pointer,))


def _neighbour_alltoallw(group: Any, name: str, send: Any, recv: Any, e: Edges) -> Call:
    return _typed_lists(group, name, send, recv, (e.destinations, e.sources), (e.pointer,))


def _neighbour_blocks(_group: Any, name: str, send: Any, recv: Any, e: Edges) -> Call:
    out = e.destinations if name.endswith("alltoall") else 1
    s, d = source(send, blocks=out), destination(recv, blocks=e.sources)
    same_type(s, d)
    count = s.count // out if out else (d.count // e.sources if e.sources else 0)
    same_count(s.count, count * out, "sendbuf", f"{out} equal blocks")
    same_count(d.count, count * e.sources, "recvbuf",
               f"{e.sources} blocks of {count} elements, one from each neighbour")
    return Call(name, (e.pointer, s.pointer, d.pointer, count, s.type), [s, d])

# SPDX-License-Identifier: Apache-2.0
"""The arguments of the collectives of an inter-group. Persistent calls, and calls that the library
does not have between groups, are an alltoallv of the group of both sides, in which ranks exchange
with those of the other group alone. Lists of counts and places are those of the other group's ranks.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._torus import ffi, lib
from . import blocks, buffers
from .buffers import Buffer, same_count, same_type
from .calls import NOTHING, Call
from .operators import bind, check_types, fold

ROOT: int = lib.TORUS_ROOT  # `root` of the rank that is the root
PROC_NULL: int = lib.TORUS_NO_ROOT  # `root` of the other ranks of its group


class Shares(NamedTuple):
    """A buffer, and what each rank of the other group sends or receives of it."""

    buffer: Buffer
    counts: List[int]
    places: List[int]


def source(obj: Any, blocks: int = 1) -> Buffer:
    """Returns a buffer that the call reads."""
    _not_in_place(obj, "sendbuf")
    return buffers.source(obj, blocks=blocks)


def destination(obj: Any, blocks: int = 1) -> Buffer:
    """Returns a buffer that the call writes."""
    _not_in_place(obj, "recvbuf")
    return buffers.destination(obj, blocks=blocks)


def _both(send: Any, recv: Any, blocks: Tuple[int, int] = (1, 1)) -> Tuple[Buffer, Buffer]:
    s, d = source(send, blocks[0]), destination(recv, blocks[1])
    same_type(s, d)
    return s, d


def _not_in_place(obj: Any, what: str) -> None:
    if buffers.in_place(obj):
        raise ValueError(f"{what} is IN_PLACE, but what a rank of an inter-group sends goes to the "
                         "other group")


def role(pair: Any, root: Any) -> int:
    """Returns ROOT, PROC_NULL, or the root's rank in the other group; else raises ValueError."""
    if root in (ROOT, PROC_NULL):
        return int(root)
    number = int(root)
    if number != root or not 0 <= number < pair.remote_size:
        raise ValueError(f"root {root} is neither torus.ROOT, nor torus.PROC_NULL, nor a rank of the "
                         f"other group, which has ranks 0 to {pair.remote_size - 1}")
    return number


def _whole(pair: Any, buffer: Buffer) -> Shares:
    """Each rank has all of the buffer."""
    return Shares(buffer, [buffer.count] * pair.remote_size, [0] * pair.remote_size)


def _one(pair: Any, buffer: Buffer, rank: int) -> Shares:
    """One rank has all of the buffer."""
    return Shares(buffer, [buffer.count * (r == rank) for r in range(pair.remote_size)],
                  [0] * pair.remote_size)


def _block(pair: Any, buffer: Buffer, what: str) -> int:
    """Returns the elements of a block of the buffer, if each rank has one; else raises ValueError."""
    count, rest = divmod(buffer.count, pair.remote_size)
    if rest:
        raise ValueError(f"{what}: {buffer.count} elements are not {pair.remote_size} equal blocks, "
                         "one for each rank of the other group")
    return count


def _equal(pair: Any, buffer: Buffer, what: str) -> Shares:
    """Each rank has a block of the buffer."""
    count = _block(pair, buffer, what)
    return Shares(buffer, [count] * pair.remote_size, [count * r for r in range(pair.remote_size)])


def _listed(pair: Any, spec: Any, what: str, writable: bool) -> Shares:
    """Each rank has the part that [array, counts, places] gives it."""
    parts = buffers.parts(spec, what, writable, pair.remote_size, True)
    return Shares(parts.buffer, list(parts.counts), list(parts.places))


def _spread(pair: Any, kind: str, values: Sequence[Any], rest: int = 0) -> Any:
    """Returns an array for all ranks of both groups: `values` for the other group, and `rest`."""
    begin, end = pair.remote_first, pair.remote_first + pair.remote_size
    array = ffi.new(f"{kind} []", [rest] * pair.carrier.size)
    array[begin:end] = values
    return array


def _lists(pair: Any, shares: Optional[Shares]) -> Tuple[Any, Any, Any]:
    """Returns the address, counts and places for all ranks of both groups."""
    none = [0] * pair.remote_size
    return (shares.buffer.pointer if shares else NOTHING,
            _spread(pair, "size_t", shares.counts if shares else none),
            _spread(pair, "ptrdiff_t", shares.places if shares else none))


def _exchange(pair: Any, sent: Optional[Shares], received: Optional[Shares],
              finish: Optional[Callable[[], Any]] = None) -> Call:
    if sent is not None and received is not None:
        same_type(sent.buffer, received.buffer)
    shares = sent if sent is not None else received
    kind = shares.buffer.type if shares is not None else buffers.BYTE
    return Call("alltoallv", (*_lists(pair, sent), *_lists(pair, received), kind),
                [sent, received], finish)


def _direct(pair: Any, name: str, arguments: Tuple[Any, ...], keep: List[Any],
            repeated: Callable[[], Call]) -> Call:
    """A call that the library has between groups."""
    function = functools.partial(getattr(lib, f"torus_intergroup_i{name}"), pair.pointer)
    return Call(name, arguments, keep, function=function, repeated=repeated)


def broadcast(pair: Any, buf: Any, root: Any) -> Call:
    """Bcast."""
    root = role(pair, root)
    if root == PROC_NULL:
        return _direct(pair, "broadcast", (NOTHING, 0, buffers.BYTE, root), [],
                       lambda: _exchange(pair, None, None))
    _not_in_place(buf, "buf")
    buffer = buffers.check(buf, "buf", root != ROOT)

    def repeated() -> Call:
        if root == ROOT:
            return _exchange(pair, _whole(pair, buffer), None)
        return _exchange(pair, None, _one(pair, buffer, root))

    return _direct(pair, "broadcast", (buffer.pointer, buffer.count, buffer.type, root), [buffer],
                   repeated)


def _to_root(pair: Any, send: Any, root: int,
             received: Callable[[], Tuple[Shares, Optional[Callable[[], Any]]]]) -> Call:
    """A call that sends buffers to the root, which alone makes what it receives."""
    if root == PROC_NULL:
        return _exchange(pair, None, None)
    if root == ROOT:
        return _exchange(pair, None, *received())
    return _exchange(pair, _one(pair, source(send), root), None)


def gather(pair: Any, send: Any, recv: Any, root: Any) -> Call:
    """Gather."""
    return _to_root(pair, send, role(pair, root),
                    lambda: (_equal(pair, destination(recv, pair.remote_size), "recvbuf"), None))


def gatherv(pair: Any, send: Any, recv: Any, root: Any) -> Call:
    """Gatherv."""
    return _to_root(pair, send, role(pair, root),
                    lambda: (_listed(pair, recv, "recvbuf", True), None))


def _from_root(pair: Any, recv: Any, root: int, sent: Callable[[], Shares]) -> Call:
    if root == PROC_NULL:
        return _exchange(pair, None, None)
    if root == ROOT:
        return _exchange(pair, sent(), None)
    return _exchange(pair, None, _one(pair, destination(recv), root))


def scatter(pair: Any, send: Any, recv: Any, root: Any) -> Call:
    """Scatter."""
    return _from_root(pair, recv, role(pair, root), lambda: _equal(
        pair, source(send, pair.remote_size), "sendbuf"))


def scatterv(pair: Any, send: Any, recv: Any, root: Any) -> Call:
    """Scatterv."""
    return _from_root(pair, recv, role(pair, root),
                      lambda: _listed(pair, send, "sendbuf", False))


def allgather(pair: Any, send: Any, recv: Any) -> Call:
    """Allgather."""
    s, d = _both(send, recv, (1, pair.remote_size))
    counts = s.count, _block(pair, d, "recvbuf")
    return _direct(pair, "allgather", (s.pointer, counts[0], d.pointer, counts[1], s.type), [s, d],
                   lambda: _exchange(pair, _whole(pair, s), _equal(pair, d, "recvbuf")))


def allgatherv(pair: Any, send: Any, recv: Any) -> Call:
    """Allgatherv."""
    return _exchange(pair, _whole(pair, source(send)), _listed(pair, recv, "recvbuf", True))


def alltoall(pair: Any, send: Any, recv: Any) -> Call:
    """Alltoall."""
    s, d = _both(send, recv, (pair.remote_size, pair.remote_size))
    counts = _block(pair, s, "sendbuf"), _block(pair, d, "recvbuf")
    return _direct(pair, "alltoall", (s.pointer, counts[0], d.pointer, counts[1], s.type), [s, d],
                   lambda: _exchange(pair, _equal(pair, s, "sendbuf"), _equal(pair, d, "recvbuf")))


def alltoallv(pair: Any, send: Any, recv: Any) -> Call:
    """Alltoallv."""
    return _exchange(pair, _listed(pair, send, "sendbuf", False),
                     _listed(pair, recv, "recvbuf", True))


def alltoallw(pair: Any, send: Any, recv: Any) -> Call:
    """Alltoallw."""
    for obj, what in ((send, "sendbuf"), (recv, "recvbuf")):
        _not_in_place(obj, what)
    s, d = (blocks.make(pair.context, obj, what, writable, pair.remote_size)
            for obj, what, writable in ((send, "sendbuf", False), (recv, "recvbuf", True)))
    blocks.check_overlap(s, d)
    lists = [(b.pointer, _spread(pair, "size_t", b.counts), _spread(pair, "ptrdiff_t", b.places),
              _spread(pair, "int", b.types, buffers.BYTE)) for b in (s, d)]
    return Call("alltoallw", (*lists[0], *lists[1]), [s, d], d.store,
                begin=s.load or (lambda: None))


def _rows(pair: Any, d: Buffer, op: Any, count: int, own: slice = slice(None)
          ) -> Tuple[Shares, Callable[[], None]]:
    """Returns memory for `count` elements of each rank of the other group, and what combines the
    `own` ones to `d`."""
    context, target = pair.context, d.elements
    check_types(context, op, d.type)
    rows: np.ndarray = context.empty((pair.remote_size, count), target.dtype)

    def finish() -> None:
        target[...] = fold(context, op, rows[:, own], d.type).reshape(target.shape)

    return _equal(pair, buffers.destination(rows), "recvbuf"), finish


def _folded(pair: Any, d: Buffer, op: Any) -> Tuple[Shares, Callable[[], None]]:
    """_rows, of which all elements are combined."""
    return _rows(pair, d, op, d.count)


def reduce(pair: Any, send: Any, recv: Any, op: Any, root: Any) -> Call:
    """Reduce."""
    return _to_root(pair, send, role(pair, root), lambda: _folded(pair, destination(recv), op))


def allreduce(pair: Any, send: Any, recv: Any, op: Any) -> Call:
    """Allreduce."""
    s, d = _both(send, recv)
    same_count(d.count, s.count, "recvbuf", f"sendbuf has {s.count} elements")
    bound = bind(pair.context, op, d.elements.dtype)
    call = _direct(pair, "allreduce", (s.pointer, d.pointer, s.count, s.type, bound.number),
                   [s, d, bound], lambda: _exchange(pair, _whole(pair, s), *_folded(pair, d, op)))
    return call._replace(finish=bound.finish, free=bound.free)


def reduce_scatter_block(pair: Any, send: Any, recv: Any, op: Any) -> Call:
    """Reduce_scatter_block."""
    s, d = _both(send, recv, (pair.size, 1))
    same_count(d.count * pair.size, s.count, f"recvbuf, times {pair.size},",
               f"sendbuf has {s.count} elements")
    return _exchange(pair, _equal(pair, s, "sendbuf"), *_folded(pair, d, op))


def reduce_scatter(pair: Any, send: Any, recv: Any, counts: Any, op: Any) -> Call:
    """Reduce_scatter. A rank does not know the counts of the other group: it sends its whole buffer
    to each of its ranks."""
    s, d = _both(send, recv)
    if counts is None:
        counts = buffers.equal_counts(s, pair.size, "recvcounts")
    parts = buffers.parts([s.elements, counts], "recvcounts", False, pair.size)
    same_count(s.count, sum(parts.counts), "sendbuf", "the sum of recvcounts")
    at, own = sum(parts.counts[0:pair.rank]), parts.counts[pair.rank]
    same_count(d.count, own, "recvbuf", "recvcounts of this rank")
    return _exchange(pair, _whole(pair, s), *_rows(pair, d, op, s.count, slice(at, at + own)))

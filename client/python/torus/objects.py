# SPDX-License-Identifier: Apache-2.0
"""Lower-case collectives: Python objects, by pickle.

The ranks first exchange the lengths of their pickles. A rank that cannot pickle its object says so
there, and all ranks raise ObjectError. A pickle can run code when it is loaded, so these calls
raise NotPermittedError if the daemons do not know each other, unless the job was joined with
allow_pickle=True.
"""
from __future__ import annotations

import functools
import pickle
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

import numpy as np

from ._torus import lib
from . import buffers, errors
from .operators import SUM

FAILED = -1  # in the place of a length


def _described(error: BaseException) -> str:
    """Returns the type and the text of an exception, also if its text is an exception."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # pylint: disable=broad-except
        return type(error).__name__


class Pickled:
    """A list of objects as bytes, or the reason why one of them cannot be pickled."""

    def __init__(self, make: Callable[[], Sequence[Any]]) -> None:
        self.parts: List[bytes] = []
        self.reason = b""
        self.cause: Optional[BaseException] = None
        failed = "cannot send its objects"
        try:
            objects = make()
            failed = "cannot pickle its object"
            self.parts = [pickle.dumps(o, protocol=pickle.HIGHEST_PROTOCOL) for o in objects]
        except Exception as error:  # pylint: disable=broad-except
            self.reason = f"{failed}: {_described(error)}".encode("utf-8", "backslashreplace")[:1000]
            self.cause = error

    def lengths(self, count: int) -> np.ndarray:
        """Returns the lengths of `count` parts, FAILED if there is a reason."""
        if self.cause is not None:
            return np.full(count, FAILED, np.int64)
        return np.array([len(p) for p in self.parts], np.int64)

    def bytes(self) -> np.ndarray:
        """Returns all parts, one after the other."""
        return np.frombuffer(b"".join(self.parts), np.uint8)


def permit(group: "Objects") -> None:
    """Raises NotPermittedError unless pickles of other ranks may be loaded."""
    if not group.allow_pickle and not lib.torus_authenticated(group.context.pointer):
        raise errors.make(
            lib.TORUS_ERR_PERMISSION,
            "the daemons run with insecure = yes, so any host may send data in the name of "
            "another rank, and a pickle can run code: use keys (torusctl keygen), or "
            "Job(allow_pickle=True), or the upper-case calls")


def _load(group: "Objects", data: np.ndarray) -> Any:
    permit(group)
    return pickle.loads(data.tobytes())


def split(group: "Objects", data: np.ndarray, lengths: np.ndarray) -> List[Any]:
    """Returns the objects whose pickles follow each other in `data`."""
    ends = np.cumsum(lengths)
    return [_load(group, data[end - length:end]) for length, end in zip(lengths, ends)]


def agree(group: "Objects", failed: np.ndarray, mine: Pickled,
          name: Callable[[int], str] = "rank {}".format) -> None:
    """Raises ObjectError on all ranks if one rank has failed; all know which. `name` names a rank
    of the group in the sentence."""
    if not failed.any():
        return
    reason = np.frombuffer(mine.reason, np.uint8)
    lengths = np.zeros(group.size, np.int64)
    group.Allgather(np.array([len(reason)], np.int64), lengths)
    reasons = np.zeros(int(lengths.sum()), np.uint8)
    group.Allgatherv(reason, [reasons, lengths])
    rank = int(np.argmax(lengths > 0))
    begin = int(lengths[:rank].sum())
    text = reasons[begin:begin + int(lengths[rank])].tobytes().decode("utf-8", "replace")
    raise errors.ObjectError(f"{name(rank)} {text}") from mine.cause


def listed(objects: Any, size: int, what: str) -> List[Any]:
    """Returns the objects as a list; an exception unless there is one for each rank."""
    if objects is None:
        raise TypeError(f"{what} is None: pass a list of {size} objects, one for each rank")
    made = list(objects)
    if len(made) != size:
        raise ValueError(f"{what} has {len(made)} objects for {size} ranks")
    return made


class Objects:
    """The calls of Group that move objects."""

    rank: int
    size: int
    context: Any
    allow_pickle: bool
    if TYPE_CHECKING:  # of Group
        Barrier: Any
        Bcast: Any
        Gatherv: Any
        Scatterv: Any
        Allgather: Any
        Allgatherv: Any
        Alltoall: Any
        Alltoallv: Any
        Neighbor_alltoall: Any
        Neighbor_alltoallv: Any

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self.Barrier()

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        """Returns the root's object on all ranks.

        >>> job.bcast({"steps": 10} if job.rank == 0 else None)
        {'steps': 10}
        """
        root = buffers.root_of(root, self.size)
        mine = Pickled(lambda: [obj] if self.rank == root else [])
        length = mine.lengths(1) if self.rank == root else np.zeros(1, np.int64)
        self.Bcast(length, root)
        agree(self, length == FAILED, mine)
        data = mine.bytes() if self.rank == root else np.zeros(int(length[0]), np.uint8)
        self.Bcast(data, root)
        permit(self)  # at the root too: all ranks raise
        return obj if self.rank == root else _load(self, data)

    def _lengths(self, mine: Pickled) -> np.ndarray:
        lengths = np.zeros(self.size, np.int64)
        self.Allgather(mine.lengths(1), lengths)
        agree(self, lengths == FAILED, mine)
        return lengths

    def gather(self, sendobj: Any, root: int = 0) -> Optional[List[Any]]:
        """Returns the objects of all ranks at the root, None on other ranks."""
        root = buffers.root_of(root, self.size)
        mine = Pickled(lambda: [sendobj])
        lengths = self._lengths(mine)
        if self.rank != root:
            self.Gatherv(mine.bytes(), None, root)
            permit(self)  # as the root does
            return None
        data = np.zeros(int(lengths.sum()), np.uint8)
        self.Gatherv(mine.bytes(), [data, lengths], root)
        return split(self, data, lengths)

    def allgather(self, sendobj: Any) -> List[Any]:
        """Returns the objects of all ranks, in the order of ranks.

        >>> job.allgather(job.rank) == list(range(job.size))
        True
        """
        mine = Pickled(lambda: [sendobj])
        lengths = self._lengths(mine)
        data = np.zeros(int(lengths.sum()), np.uint8)
        self.Allgatherv(mine.bytes(), [data, lengths])
        return split(self, data, lengths)

    def scatter(self, sendobj: Any = None, root: int = 0) -> Any:
        """Returns object r of the root's list on rank r."""
        root = buffers.root_of(root, self.size)
        at_root = self.rank == root
        mine = Pickled(lambda: listed(sendobj, self.size, "sendobj") if at_root else [])
        lengths = mine.lengths(self.size) if at_root else np.zeros(self.size, np.int64)
        self.Bcast(lengths, root)
        agree(self, lengths == FAILED, mine)
        data = np.zeros(int(lengths[self.rank]), np.uint8)
        self.Scatterv([mine.bytes(), lengths] if at_root else None, data, root)
        return _load(self, data)

    def alltoall(self, sendobj: Sequence[Any]) -> List[Any]:
        """Sends object i of the list to rank i; returns the objects of all ranks."""
        mine = Pickled(lambda: listed(sendobj, self.size, "sendobj"))
        sent, lengths = mine.lengths(self.size), np.zeros(self.size, np.int64)
        self.Alltoall(sent, lengths)
        agree(self, lengths == FAILED, mine)
        data = np.zeros(int(lengths.sum()), np.uint8)
        self.Alltoallv([mine.bytes(), sent], [data, lengths])
        return split(self, data, lengths)

    def reduce(self, sendobj: Any, op: Any = SUM, root: int = 0) -> Any:
        """Returns the objects combined in the order of ranks at the root, None elsewhere. `op` is
        an operator or a function of two objects."""
        gathered = self.gather(sendobj, root)
        return None if gathered is None else functools.reduce(op, gathered)

    def allreduce(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects combined in the order of ranks, on all ranks.

        >>> job.allreduce({job.rank}, lambda a, b: a | b) == set(range(job.size))
        True
        """
        return functools.reduce(op, self.allgather(sendobj))

    def scan(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of rank 0 to this rank combined."""
        return functools.reduce(op, self.allgather(sendobj)[:self.rank + 1])

    def exscan(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of the ranks before this one combined; None on rank 0."""
        before = self.allgather(sendobj)[:self.rank]
        return functools.reduce(op, before) if before else None

    def _neighbor(self, make: Callable[[int], Sequence[Any]], named: Any) -> List[Any]:
        from . import calls  # pylint: disable=import-outside-toplevel
        edges = calls.edges(self, named.get("dims"), named.get("periods", True),
                            named.get("sources"), named.get("destinations"))
        mine = Pickled(lambda: make(edges.destinations))
        failed = np.zeros(self.size, np.bool_)
        self.Allgather(np.array([mine.cause is not None]), failed)
        agree(self, failed, mine)
        sent, lengths = mine.lengths(edges.destinations), np.full(edges.sources, FAILED, np.int64)
        self.Neighbor_alltoall(sent, lengths, **named)
        present = np.maximum(lengths, 0)
        places = np.cumsum(present) - present
        data = np.zeros(int(present.sum()), np.uint8)
        begins = np.cumsum(sent) - sent
        self.Neighbor_alltoallv([mine.bytes(), sent, begins], [data, present, places], **named)
        return [None if length == FAILED else _load(self, data[at:at + length])
                for length, at in zip(lengths, places)]

    def neighbor_alltoall(self, sendobj: Sequence[Any], **named: Any) -> List[Any]:
        """Sends one object to each neighbour, named as for Neighbor_alltoall; returns theirs. The
        object of a missing neighbour is None."""
        return self._neighbor(lambda count: listed(sendobj, count, "sendobj"), named)

    def neighbor_allgather(self, sendobj: Any, **named: Any) -> List[Any]:
        """Sends the object to all neighbours; returns theirs."""
        return self._neighbor(lambda count: [sendobj] * count, named)

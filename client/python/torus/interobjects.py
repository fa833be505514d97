# SPDX-License-Identifier: Apache-2.0
"""Lower-case collectives of inter-groups: Python objects, by pickle, with the rules of Group's.

Each call is one exchange among the ranks of both groups. With the lengths of their pickles the ranks
tell each other which call they make, and with which root, so that all raise MismatchError if these
differ.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

import numpy as np

from ._torus import lib
from . import errors
from .intercalls import PROC_NULL, ROOT, role
from .objects import FAILED, Pickled, agree, listed, permit, split
from .operators import SUM

NAMES = ("bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce")
UNKNOWN = -1  # the root, for the other ranks of its group, and for calls without a root


class InterObjects:
    """The calls of InterGroup that move objects."""

    rank: int
    size: int
    remote_size: int
    remote_first: int
    carrier: Any
    if TYPE_CHECKING:  # of InterGroup
        Barrier: Any

    def _named(self, rank: int) -> str:
        """Names a rank of the group of both sides."""
        at = rank - self.remote_first
        if 0 <= at < self.remote_size:
            return f"rank {at} of the other group"
        return f"rank {rank - self._first()} of this group"

    def _first(self) -> int:
        """The rank of this group's rank 0 in the group of both sides."""
        return 0 if self.remote_first else self.remote_size

    def _check_calls(self, calls: np.ndarray, roots: np.ndarray) -> None:
        """Raises MismatchError on all ranks if ranks make different calls, or give roots that do not
        fit. All ranks have equal arguments."""
        if (calls != calls[0]).any():
            raise errors.make(lib.TORUS_ERR_MISMATCH, "the ranks of the inter-group make different "
                              "calls: " + ", ".join(NAMES[c] for c in np.unique(calls)))
        root, border = int(roots.max()), max(self.remote_first, self._first())
        name = NAMES[calls[0]]
        if name.startswith("all"):
            return
        expected = np.full_like(roots, UNKNOWN)
        if root != UNKNOWN:
            others = slice(border, None) if root < border else slice(0, border)
            expected[root] = expected[others] = root
        if root == UNKNOWN or (roots != expected).any():
            raise errors.make(lib.TORUS_ERR_MISMATCH, f"{name}: the roots do not fit: the root gives "
                              "torus.ROOT, the other ranks of its group torus.PROC_NULL, and all ranks "
                              "of the other group its rank")

    def _exchange(self, name: str, root: Optional[int], make: Callable[[], Sequence[Any]],
                  receivers: Sequence[int]) -> List[Any]:
        """Sends objects to ranks of the other group, one to each or one to all, and returns the
        objects that came, in the order of ranks."""
        group, begin = self.carrier, self.remote_first
        mine = Pickled(make if receivers else list)
        announced = np.zeros((group.size, 3), np.int64)
        announced[:, 1] = NAMES.index(name)
        announced[:, 2] = (UNKNOWN if root in (None, PROC_NULL) else
                           self._first() + self.rank if root == ROOT else begin + (root or 0))
        places = np.zeros(group.size, np.int64)
        if mine.cause is not None:
            announced[:, 0] = FAILED
        elif receivers:
            lengths, at = mine.lengths(len(mine.parts)), np.add(receivers, begin)
            announced[at, 0] = lengths
            places[at] = np.cumsum(lengths) - lengths
        heard = np.zeros_like(announced)
        group.Alltoall(announced, heard)
        self._check_calls(heard[:, 1], heard[:, 2])
        lengths = heard[:, 0].copy()
        agree(group, lengths == FAILED, mine, self._named)
        data = np.zeros(int(lengths.sum()), np.uint8)
        group.Alltoallv([mine.bytes(), announced[:, 0], places], [data, lengths])
        permit(group)  # also on ranks that load nothing: all ranks raise
        return split(group, data, lengths[lengths > 0])

    def barrier(self) -> None:
        """Returns when all ranks of both groups have called it."""
        self.Barrier()

    def bcast(self, obj: Any = None, root: int = 0) -> Any:
        """Returns the root's object on all ranks of the other group, None on those of its own. Roots
        are given as for Bcast.

        >>> if job.size > 1:  # rank 0 of the job sends to all others
        ...     with job.Icreate_intergroup([0], range(1, job.size)).wait() as pair:
        ...         got = pair.bcast("go", torus.ROOT if job.rank == 0 else 0)
        ...     assert got == (None if job.rank == 0 else "go")
        """
        root = role(self, root)
        got = self._exchange("bcast", root, lambda: [obj],
                             range(self.remote_size) if root == ROOT else ())
        return got[0] if got else None

    def _to_root(self, name: str, sendobj: Any, root: int) -> Optional[List[Any]]:
        root = role(self, root)
        got = self._exchange(name, root, lambda: [sendobj], [root] if root >= 0 else ())
        return got if root == ROOT else None

    def gather(self, sendobj: Any = None, root: int = 0) -> Optional[List[Any]]:
        """Returns the objects of the other group at the root, None on all other ranks."""
        return self._to_root("gather", sendobj, root)

    def scatter(self, sendobj: Any = None, root: int = 0) -> Any:
        """Returns object r of the root's list on rank r of the other group, None on the ranks of
        the root's group."""
        root = role(self, root)
        got = self._exchange("scatter", root, lambda: listed(sendobj, self.remote_size, "sendobj"),
                             range(self.remote_size) if root == ROOT else ())
        return got[0] if got else None

    def _all(self, name: str, sendobj: Any) -> List[Any]:
        return self._exchange(name, None, lambda: [sendobj], range(self.remote_size))

    def allgather(self, sendobj: Any) -> List[Any]:
        """Returns the objects of the other group, in the order of its ranks."""
        return self._all("allgather", sendobj)

    def alltoall(self, sendobj: Sequence[Any]) -> List[Any]:
        """Sends object i of the list to rank i of the other group; returns the objects of its
        ranks."""
        return self._exchange("alltoall", None,
                              lambda: listed(sendobj, self.remote_size, "sendobj"),
                              range(self.remote_size))

    def reduce(self, sendobj: Any = None, op: Any = SUM, root: int = 0) -> Any:
        """Returns the objects of the other group combined in the order of its ranks at the root,
        None elsewhere. `op` is an operator or a function of two objects."""
        gathered = self._to_root("reduce", sendobj, root)
        return None if gathered is None else functools.reduce(op, gathered)

    def allreduce(self, sendobj: Any, op: Any = SUM) -> Any:
        """Returns the objects of the other group combined in the order of its ranks."""
        return functools.reduce(op, self._all("allreduce", sendobj))

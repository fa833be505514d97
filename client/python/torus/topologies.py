# SPDX-License-Identifier: Apache-2.0
"""Groups with neighbours, in mpi4py's spelling: the points of a grid, or the edges of a graph."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

from . import buffers
from .group import Group


class CartGroup(Group):
    """A group whose ranks are the points of a grid; the last coordinate varies fastest.

    >>> with job.Create_cart([job.size, 1]) as grid:
    ...     grid.Get_coords(grid.rank) == [grid.rank, 0], grid.Shift(1, 1)
    (True, (None, None))
    """

    dims: List[int]
    periods: List[bool]

    @classmethod
    def create(cls, group: Group, dims: Sequence[int], periods: Any) -> "Optional[CartGroup]":
        """Group.Create_cart."""
        dims = [int(n) for n in dims]
        wraps = [bool(periods)] * len(dims) if periods is None or isinstance(periods, bool) else [
            bool(p) for p in periods]
        points = math.prod(dims)
        if not dims or min(dims) < 1 or len(wraps) != len(dims):
            raise ValueError(f"dims {dims}: positive numbers; periods is a bool or as long")
        if points > group.size:
            raise ValueError(f"the grid {dims} has {points} points, but the group has {group.size} "
                             "ranks")
        made = group.Split(0 if group.rank < points else None)
        return None if made is None else cls._of(made, dims, wraps)

    @classmethod
    def _of(cls, group: Group, dims: List[int], periods: List[bool]) -> "CartGroup":
        """Makes a new group one with a grid."""
        made = cls(group.handle, group.allow_pickle)
        made.dims, made.periods = dims, periods
        made.neighbourhood = (dims, periods, None, None)
        return made

    def _twin(self, pointer: Any) -> "CartGroup":
        return self._of(self._plain(pointer), self.dims, self.periods)

    @property
    def dim(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def coords(self) -> List[int]:
        """The coordinates of this rank."""
        return self.Get_coords(self.rank)

    def Get_topo(self) -> Tuple[List[int], List[bool], List[int]]:
        """The lengths of the axes, whether they are periodic, and the coordinates of this rank."""
        return self.dims, self.periods, self.coords

    def Get_coords(self, rank: int) -> List[int]:
        """The coordinates of a rank."""
        rank, found = buffers.root_of(rank, self.size), []
        for n in reversed(self.dims):
            rank, at = divmod(rank, n)
            found.append(at)
        return found[::-1]

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """The rank at a point; coordinates of periodic axes wrap around."""
        rank = self._at(coords)
        if rank is None:
            raise ValueError(f"coords {list(coords)}: the grid is {self.dims}")
        return rank

    def _at(self, coords: Sequence[int]) -> Optional[int]:
        rank = 0
        if len(coords) != self.dim:
            raise ValueError(f"{len(coords)} coordinates for {self.dim} axes")
        for at, n, wraps in zip(coords, self.dims, self.periods):
            if not wraps and not 0 <= at < n:
                return None
            rank = rank * n + int(at) % n
        return rank

    def Shift(self, direction: int, disp: int) -> Tuple[Optional[int], Optional[int]]:
        """The ranks `disp` points before and after this one along an axis; None: beyond the grid."""
        if not 0 <= direction < self.dim:
            raise ValueError(f"direction {direction}: the grid has {self.dim} axes")
        found = []
        for step in (-disp, disp):
            coords = self.coords
            coords[direction] += step
            found.append(self._at(coords))
        return found[0], found[1]

    def Sub(self, remain_dims: Sequence[bool]) -> "CartGroup":
        """Creates one group for each line, plane ... of the grid along the remaining axes."""
        if len(remain_dims) != self.dim:
            raise ValueError(f"{len(remain_dims)} entries of remain_dims for {self.dim} axes")
        color = key = 0
        for at, n, remains in zip(self.coords, self.dims, remain_dims):
            color, key = (color, key * n + at) if remains else (color * n + at, key)
        made = self.Split(color, key)
        assert made is not None
        kept = [a for a in range(self.dim) if remain_dims[a]]
        if not kept:
            return self._of(made, [1], [False])
        return self._of(made, [self.dims[a] for a in kept], [self.periods[a] for a in kept])


class GraphGroup(Group):
    """A group with the edges that each rank gave."""

    sources: List[int]
    destinations: List[int]

    @classmethod
    def create(cls, group: Group, sources: Sequence[int],
               destinations: Sequence[int]) -> "GraphGroup":
        """Group.Create_dist_graph_adjacent."""
        lists = [[buffers.root_of(r, group.size) for r in ranks] for ranks in (sources,
                                                                              destinations)]
        return cls._of(group.Dup(), lists[0], lists[1])

    @classmethod
    def _of(cls, group: Group, sources: List[int], destinations: List[int]) -> "GraphGroup":
        made = cls(group.handle, group.allow_pickle)
        made.sources, made.destinations = sources, destinations
        made.neighbourhood = (None, None, sources, destinations)
        return made

    def _twin(self, pointer: Any) -> "GraphGroup":
        return self._of(self._plain(pointer), self.sources, self.destinations)

    def Get_dist_neighbors(self) -> Tuple[List[int], List[int], None]:
        """The sources, the destinations, and no weights."""
        return self.sources, self.destinations, None


def Compute_dims(nnodes: int, dims: Any) -> List[int]:
    """Returns the lengths of a grid of `nnodes` points, as equal as possible: each prime factor, the
    greatest first, multiplies the shortest axis.
    `dims` is the number of axes, or a list in which 0 stands for a length to find.

    >>> Compute_dims(12, 2), Compute_dims(60, [0, 3, 0]), Compute_dims(7, 3)
    ([4, 3], [5, 3, 4], [7, 1, 1])
    """
    found = [0] * dims if isinstance(dims, int) else [int(n) for n in dims]
    free = [a for a, n in enumerate(found) if n == 0]
    fixed = math.prod(n for n in found if n)
    if min(found, default=-1) < 0 or nnodes < 1 or nnodes % fixed or (not free and fixed != nnodes):
        raise ValueError(f"{nnodes} ranks are no grid of {found}")
    left, lengths, factors, p = nnodes // fixed, [1] * len(free), [], 2
    while left > 1:
        while left % p == 0:
            factors.append(p)
            left //= p
        p += 1
    for p in reversed(factors):
        lengths[lengths.index(min(lengths))] *= p
    for a, n in zip(free, sorted(lengths, reverse=True)):
        found[a] = n
    return found

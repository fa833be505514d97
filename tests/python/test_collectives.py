# SPDX-License-Identifier: Apache-2.0
"""Every collective with buffers, in three forms, against NumPy."""
import numpy as np

import torus
from world import RankTest

DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8",
          "c16"]
FOLDS = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
         "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
         "LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor}


class Collectives(RankTest):
    def setUp(self):
        super().setUp()
        self.size, self.rank = self.job.size, self.job.rank

    def values(self, count, dtype="f8"):
        """Returns the arrays of all ranks, which all ranks know."""
        whole = self.random.integers(0, 3, (self.size, count)).astype(dtype)
        return whole + np.array(1j, dtype) * whole[::-1] if np.dtype(dtype).kind == "c" else whole

    def three(self, name, send, recv, expected, **named):
        """Makes a call in its three forms; recv is a buffer, or a list that begins with one."""
        target = recv[0] if isinstance(recv, list) else recv
        first = None if target is None else target.copy()
        for form in ("{}", "I{}", "{}_init"):
            method = getattr(self.job, form.format(name.lower() if form[0] == "I" else name))
            arguments = [send] if recv is None and name == "Bcast" else [send, recv]
            if target is not None:
                target[...] = first
            done = method(*arguments, **named)
            if form == "I{}":
                done.wait()
            elif form == "{}_init":
                done.start().wait()
                if target is not None:
                    target[...] = first
                done.start().wait()
            if expected is not None:
                np.testing.assert_array_equal(target, expected)

    def test_reductions_of_all_types_and_operators(self):
        for dtype in DTYPES:
            whole = self.values(7, dtype)
            kinds = {"b": "LAND LOR LXOR BAND BOR BXOR", "i": "SUM PROD MIN MAX BAND BOR BXOR",
                     "u": "SUM PROD MIN MAX BAND BOR BXOR LAND LOR LXOR", "f": "SUM PROD MIN MAX",
                     "c": "SUM PROD"}[np.dtype(dtype).kind]
            for name in kinds.split():
                expected = whole[0]
                for row in whole[1:]:
                    expected = FOLDS[name](expected, row).astype(dtype)
                out = np.zeros(7, dtype)
                self.job.Allreduce(whole[self.rank], out, op=getattr(torus, name))
                if np.dtype(dtype).kind in "fc" and name == "PROD":
                    np.testing.assert_allclose(out, expected, rtol=1e-2 if dtype == "f2" else 1e-5)
                else:
                    np.testing.assert_array_equal(out, expected)

    def test_reductions(self):
        whole = self.values(4 * self.size)
        mine, total = whole[self.rank], whole.sum(0)
        root = self.size - 1
        self.three("Allreduce", mine, np.zeros_like(mine), total)
        self.three("Reduce", mine, np.zeros_like(mine) if self.rank == root else None,
                   total if self.rank == root else None, root=root)
        self.three("Scan", mine, np.zeros_like(mine), whole[:self.rank + 1].sum(0))
        self.three("Exscan", mine, np.full_like(mine, 5),
                   whole[:self.rank].sum(0) if self.rank else np.full_like(mine, 5))
        block = slice(4 * self.rank, 4 * self.rank + 4)
        self.three("Reduce_scatter_block", mine, np.zeros(4), total[block])
        counts = [2 + (r == 0) * 2 * self.size for r in range(self.size)]
        begin = sum(counts[:self.rank])
        self.three("Reduce_scatter", mine, np.zeros(counts[self.rank]),
                   total[begin:begin + counts[self.rank]], recvcounts=counts)
        buffer = mine.copy()
        self.job.Allreduce(torus.IN_PLACE, buffer)
        np.testing.assert_array_equal(buffer, total)
        buffer = mine.copy()
        self.job.Reduce_scatter_block(torus.IN_PLACE, buffer)
        np.testing.assert_array_equal(buffer[:4], total[block])
        shared = torus.empty(mine.shape)
        shared[:] = mine
        self.job.Scan(torus.IN_PLACE, shared)
        np.testing.assert_array_equal(shared, whole[:self.rank + 1].sum(0))

    def test_places(self):
        dtype = torus.pair_dtype("f8")
        mine = np.array([(self.rank % 2, self.rank), (-self.rank, self.rank)], dtype)
        least, most = np.zeros_like(mine), np.zeros_like(mine)
        self.job.Allreduce(mine, least, op=torus.MINLOC)
        self.job.Allreduce(mine, most, op=torus.MAXLOC)
        last = self.size - 1
        self.assertEqual([tuple(p) for p in least], [(0, 0), (-last, last)])
        self.assertEqual([tuple(p) for p in most], [(1, 1) if last else (0, 0), (0, 0)])

    def test_a_ufunc_is_an_operator(self):
        total = np.zeros(2)
        self.job.Allreduce(np.array([1.0, self.job.rank]), total, op=torus.Op.Create(np.maximum))
        self.assertEqual(total.tolist(), [1, self.job.size - 1])

    def test_operators_in_python(self):
        """Matrix products do not commute."""
        whole = self.random.integers(-2, 3, (self.size, 4)).astype("f8")
        product = whole[0].reshape(2, 2)
        for row in whole[1:]:
            product = product @ row.reshape(2, 2)
        op = torus.Op.Create(lambda a, b: (a.reshape(2, 2) @ b.reshape(2, 2)).ravel(), name="matmul")
        self.three("Allreduce", whole[self.rank], np.zeros(4), product.ravel(), op=op)

    def test_moves(self):
        size, rank, root = self.size, self.rank, self.size // 2
        whole = self.values(3)
        mine, at_root = whole[rank], rank == root
        buffer = whole[root].copy() if at_root else np.zeros(3)
        self.job.Bcast(buffer, root=root)
        np.testing.assert_array_equal(buffer, whole[root])
        self.three("Gather", mine, np.zeros((size, 3)) if at_root else None,
                   whole if at_root else None, root=root)
        self.three("Scatter", whole if at_root else None, np.zeros(3), mine, root=root)
        self.three("Allgather", mine, np.zeros((size, 3)), whole)
        table = self.random.integers(0, 99, (size, size, 2))
        self.three("Alltoall", table[rank], np.zeros((size, 2), int), table[:, rank])
        again = table[rank].copy()
        self.job.Alltoall(torus.IN_PLACE, again)
        np.testing.assert_array_equal(again, table[:, rank])
        placed = np.zeros((size, 3))
        placed[rank] = mine
        self.job.Allgather(torus.IN_PLACE, placed)
        np.testing.assert_array_equal(placed, whole)

    def test_moves_of_different_counts(self):
        size, rank, root = self.size, self.rank, 0
        counts = [(3 * r) % 4 for r in range(size)]
        pieces = [np.arange(c) + 10.0 * r for r, c in enumerate(counts)]
        joined = np.concatenate(pieces)
        self.three("Allgatherv", pieces[rank], [np.zeros_like(joined), counts], joined)
        self.three("Gatherv", pieces[rank],
                   [np.zeros_like(joined), counts] if rank == root else None,
                   joined if rank == root else None, root=root)
        self.three("Scatterv", [joined, counts] if rank == root else None,
                   np.zeros(counts[rank]), pieces[rank], root=root)
        places = np.cumsum(counts[::-1])[::-1] - counts  # backwards
        self.three("Allgatherv", pieces[rank], [np.zeros_like(joined), (counts, places)],
                   np.concatenate(pieces[::-1]))
        table = [[(r + 2 * s) % 3 for s in range(size)] for r in range(size)]
        send = np.concatenate([np.full(n, 10 * rank + s) for s, n in enumerate(table[rank])])
        take = [table[r][rank] for r in range(size)]
        expected = np.concatenate([np.full(n, 10 * r + rank) for r, n in enumerate(take)])
        self.three("Alltoallv", [send, table[rank]], [np.zeros_like(expected), take], expected)

    def test_neighbours(self):
        size, rank = self.size, self.rank
        side = int(size ** 0.5)
        dims = [side, side] if side * side == size else [size]
        at = np.unravel_index(rank, dims)
        near = []
        for axis in range(len(dims)):
            for step in (-1, 1):
                moved = list(at)
                moved[axis] = (moved[axis] + step) % dims[axis]
                near.append(int(np.ravel_multi_index(moved, dims)))
        self.three("Neighbor_allgather", np.array([float(rank)]), np.zeros(len(near)), near,
                   dims=dims)
        send = np.arange(len(near)) + 100 * rank
        back = [100 * n + (i ^ 1) for i, n in enumerate(near)]
        self.three("Neighbor_alltoall", send, np.zeros(len(near), int), back, dims=dims)
        ring = {"sources": [(rank - 1) % size], "destinations": [(rank + 1) % size]}
        self.three("Neighbor_alltoall", np.array([rank]), np.zeros(1, int), [(rank - 1) % size],
                   **ring)
        self.three("Neighbor_alltoallv", [np.full(rank + 1, rank), [rank + 1]],
                   [np.zeros((rank - 1) % size + 1, int), [(rank - 1) % size + 1]],
                   (rank - 1) % size, **ring)
        edge = np.full(2, -1.0)
        self.job.Neighbor_allgather(np.array([float(rank)]), edge, dims=[size], periods=False)
        self.assertEqual(list(edge), [rank - 1, rank + 1 if rank + 1 < size else -1])

    def test_groups(self):
        half = self.job.Split(self.rank % 2, -self.rank)
        self.assertEqual(half.allgather(self.rank),
                         [r for r in reversed(range(self.size)) if r % 2 == self.rank % 2])
        self.assertEqual(half.translate(half.rank, self.job), self.rank)
        half.Free()
        with self.assertRaises(torus.ShutdownError):
            half.Barrier()
        self.assertIsNone(self.job.Split(None))
        twin, shrunk = self.job.Dup(), self.job.Shrink()
        self.assertEqual((twin.size, twin.rank, shrunk.size), (self.size, self.rank, self.size))
        twin.set_reproducible("any placement")
        total = np.zeros(1)
        twin.Allreduce(np.array([0.1]), total)
        with self.job.Create_group(range(self.size - 1, -1, -1), tag=3) as turned:
            self.assertEqual(turned.rank, self.size - 1 - self.rank)
        twin.Free()
        shrunk.Free()

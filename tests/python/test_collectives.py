# SPDX-License-Identifier: Apache-2.0
"""Every collective with buffers, in three forms, against NumPy."""
import inspect

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

    def three(self, name, send, recv, expected, group=None, **named):
        """Makes a call in its three forms; recv is a buffer, a list that begins with one, or the
        blocks of a w call."""
        blocks = name.endswith("w")
        targets = [b for b in recv if b is not None] if blocks else [
            recv[0] if isinstance(recv, list) else recv]
        targets = [t for t in targets if t is not None]
        first = [t.copy() for t in targets]

        def again():
            for target, values in zip(targets, first):
                target[...] = values

        for form in ("{}", "I{}", "{}_init"):
            method = getattr(group or self.job, form.format(name.lower() if form[0] == "I" else name))
            again()
            done = method(send, recv, **named)
            if form == "I{}":
                done.wait()
            elif form == "{}_init":
                done.start().wait()
                again()
                done.start().wait()
            if expected is not None:
                for target, values in zip(targets, expected if blocks else [expected]):
                    np.testing.assert_array_equal(target, values)

    def test_lists_of_mpi4py(self):
        """[x, type], [x, count, type], counts and places by rank, and no counts."""
        job, size, rank = self.job, self.size, self.rank
        everything = np.repeat(np.arange(size), 2)
        data = bytearray(np.full(3, rank, "f8"))
        job.Bcast([data, "f8"], size - 1)
        self.assertEqual(np.frombuffer(data).tolist(), [size - 1] * 3)
        wide = np.full(5, rank)
        job.Bcast([wide, 2, int], size - 1)
        self.assertEqual(wide.tolist(), [size - 1] * 2 + [rank] * 3)
        job.Bcast([wide, (1, 4), np.dtype(int)], size - 1)
        self.assertEqual(wide[4], size - 1)
        own = np.full(4, rank)
        for spec in ([own, 2], [own, 2, "i8"], [own, (2, 1), "i8"], [own, 2, 2, "i8"],
                     [own[:2], "i8"]):
            got = np.zeros(2 * size + 1, int)
            for target in ([got, 2, "i8"], [got, (2, 0)], [got[:-1], None, "i8"]):
                self.three("Allgather", spec, target, None)
                np.testing.assert_array_equal(got[:-1], everything)
        counts = np.arange(size) % 2 + 1
        places, mine = 3 * np.arange(size), np.full(counts[rank], rank + 1)
        for spec in ([counts, places, "i8"], [(counts, places), "i8"], [counts, places],
                     [[counts.tolist(), places], int]):
            got = np.zeros(3 * size, int)
            job.Allgatherv([mine, mine.size, "i8"], [got, *spec])
            for r in range(size):
                self.assertEqual(got[3 * r:3 * r + counts[r]].tolist(), [r + 1] * counts[r])
        got = np.zeros(2 * size, int)
        for target in (got, [got, 2, "i8"], [got, "i8"], [got, None]):
            self.three("Allgatherv", own[:2], target if isinstance(target, list) else got,
                       everything)
        lengths = 2 + (np.arange(size) < size // 2)
        everywhere = np.repeat(np.arange(size), lengths)
        self.three("Allgatherv", np.full(lengths[rank], rank), np.zeros(everywhere.size, int),
                   everywhere)
        self.three("Scatterv", everywhere if rank == 0 else None, np.zeros(lengths[rank], int),
                   np.full(lengths[rank], rank))
        self.three("Gatherv", own[:2], got, everything if rank == 0 else None)
        part = np.zeros(2, int)
        self.three("Scatterv", everything if rank == 0 else None, part, own[:2])
        self.three("Scatterv", [everything, 2, "i8"] if rank == 0 else None, [part, "i8"], own[:2])
        self.three("Alltoallv", np.repeat(own[:1], 2 * size), got, everything)
        self.three("Reduce_scatter", everything, part, size * own[:2])
        self.three("Reduce_scatter", [everything, "i8"], [part, "i8"], size * own[:2],
                   recvcounts=2)

    def test_fortran_order(self):
        """Elements are in the order of the memory, as in mpi4py."""
        job, size, rank = self.job, self.size, self.rank
        x = np.asfortranarray(np.arange(6.0).reshape(2, 3) + 10 * rank)
        total = np.zeros((2, 3), order="F")
        self.three("Allreduce", x, total, size * np.arange(6.0).reshape(2, 3) +
                   5 * size * (size - 1))
        got, rows = np.zeros((2, 3, size), order="F"), np.zeros((size, 6))
        job.Allgather(x, got)
        job.Allgather(x, rows)
        for r in range(size):
            np.testing.assert_array_equal(got[..., r], x + 10 * (r - rank))
            np.testing.assert_array_equal(rows[r], (x + 10 * (r - rank)).ravel(order="F"))
        job.Bcast(x, size - 1)
        np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3) + 10 * (size - 1))
        turned = np.zeros((2, 3), order="F")
        job.Allreduce(memoryview(x), turned, op=torus.MAX)
        np.testing.assert_array_equal(turned, x)
        cube = np.zeros((2, 3, 4), order="F").transpose(1, 0, 2)  # neither order
        with self.assertRaisesRegex(ValueError, "contiguous"):
            job.Bcast(cube)

    def test_a_nan_wins_on_every_rank(self):
        """Also in the lower-case calls, whichever rank has it; MINLOC and MAXLOC name its rank."""
        job, size = self.job, self.size
        for where in range(size):
            value = float("nan") if self.rank == where else float(self.rank)
            for kind in ("f2", "f4", "f8", "f16"):
                found = np.zeros(2, kind)
                for op in (torus.MIN, torus.MAX):
                    job.Allreduce(np.array([value, 1], kind), found, op=op)
                    self.assertTrue(np.isnan(found[0]) and found[1] == 1)
            for op in (torus.MIN, torus.MAX):
                for one in (value, np.float32(value)):
                    self.assertTrue(np.isnan(job.allreduce(one, op=op)))
                    scanned = job.scan(one, op=op)
                    self.assertEqual(bool(np.isnan(scanned)), self.rank >= where)
                    least = job.reduce(one, op=op, root=size - 1)
                    self.assertTrue(least is None or np.isnan(least))
            for op in (torus.MINLOC, torus.MAXLOC):
                self.assertEqual(job.allreduce((value, self.rank), op=op)[1], where)
                mine = np.array([(value, self.rank)], torus.pair_dtype("f8"))
                pair = np.zeros_like(mine)
                job.Allreduce(mine, pair, op=op)
                self.assertEqual(pair["place"][0], where)
        self.assertEqual(job.allreduce((float("nan"), self.rank), op=torus.MAXLOC)[1], 0)
        self.assertEqual(job.allreduce((1.0, size - self.rank), op=torus.MINLOC)[1], 1)

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

    def test_alltoallw_moves_blocks_of_any_strides(self):
        """The transposition of a distributed matrix: columns of one layout are rows of the other."""
        size, rank = self.size, self.rank
        whole = self.random.normal(size=(2 * size, 3 * size))
        mine, columns = slice(2 * rank, 2 * rank + 2), np.split(np.arange(3 * size), size)
        for make in (np.zeros, torus.empty):
            rows, turned = make((2, 3 * size)), make((3, 2 * size))
            rows[:] = whole[mine]
            send = [rows[:, c[0]:c[0] + 3] for c in columns]
            recv = [turned[:, 2 * r:2 * r + 2].T for r in range(size)]  # not contiguous
            expected = [whole[2 * r:2 * r + 2, columns[rank]] for r in range(size)]
            self.three("Alltoallw", send, recv, expected)
            np.testing.assert_array_equal(rows, whole[mine])
            flat = make((size, 2, 3))  # contiguous: used in place
            self.three("Alltoallw", send, list(flat), expected)
            back = make((2, 3 * size))  # backwards
            self.three("Alltoallw", flat, [back[::-1, 3 * r:3 * r + 3] for r in range(size)], None)

    def test_alltoallw_moves_blocks_of_any_types(self):
        size, rank = self.size, self.rank
        kinds = ["f8", "i4", "c8", "b1", "u2"]

        def block(source, target):
            """Returns what a rank sends to another one; None: nothing."""
            count = (source + 2 * target) % 4
            return np.arange(count).astype(kinds[(source + target) % 5]) if count else None

        send = [block(rank, r) for r in range(size)]
        recv = [None if b is None else np.zeros_like(b) for b in (block(r, rank) for r in range(size))]
        expected = [b for b in (block(r, rank) for r in range(size)) if b is not None]
        self.three("Alltoallw", send, recv, expected)
        apart = [None if b is None else torus.empty(b.shape, b.dtype) for b in recv]
        self.three("Alltoallw", send, apart, expected)
        exchanged = [np.full((2, 2), 10.0 * rank + r)[:, ::-1] for r in range(size)]
        self.job.Alltoallw(torus.IN_PLACE, exchanged)
        for r, array in enumerate(exchanged):
            self.assertTrue((array == 10 * r + rank).all())
        self.job.Alltoallw([None] * size, [None] * size)

    def test_neighbours_of_different_counts_and_types(self):
        size, rank = self.size, self.rank
        before, after = (rank - 1) % size, (rank + 1) % size
        ring = {"sources": [before, after], "destinations": [after, before]}
        mine = np.full(rank + 1, float(rank))
        expected = np.concatenate([np.full(n + 1, float(n)) for n in (before, after)])
        self.three("Neighbor_allgatherv", mine, [np.zeros_like(expected), [before + 1, after + 1]],
                   expected, **ring)
        send = [np.array([[rank, 1], [rank, 2]], "i2")[:, 0], np.full(3, rank, "f4")]
        recv = [np.zeros((3, 2), "i2")[:2, 0], np.zeros((3, 3), "f4")[:, 1]]
        self.three("Neighbor_alltoallw", send, recv, [[before] * 2, [after] * 3], **ring)
        with self.job.Create_cart([size]) as line:  # the entries of missing neighbours count
            near = [r for r in (rank - 1, rank + 1) if 0 <= r < size]
            counts = [2 if 0 <= r < size else 1 for r in (rank - 1, rank + 1)]
            expected = np.full(sum(counts), -1.0)
            for r in near:
                expected[(0 if r < rank else counts[0]):][:2] = r
            got = np.full(sum(counts), -1.0)
            self.three("Neighbor_allgatherv", np.full(2, float(rank)), [got, counts], expected,
                       group=line)
            send = np.arange(sum(counts)) + 10.0 * rank
            self.three("Neighbor_alltoallv", [send, counts], [got, counts], None, group=line)
            if rank + 1 < size:  # its lower block
                self.assertEqual(list(got[counts[0]:]), [10.0 * rank + 10, 10.0 * rank + 11])
            blocks = [np.zeros(1) if 0 <= r < size else None for r in (rank - 1, rank + 1)]
            self.three("Neighbor_alltoallw", [np.array([float(rank)])] * 2, blocks, near, group=line)

    def test_grids(self):
        size, rank = self.size, self.rank
        dims = torus.Compute_dims(size, 2)
        grid = self.job.Create_cart(dims, periods=[True, False])
        at = list(np.unravel_index(rank, dims))
        self.assertEqual(grid.Get_topo(), (dims, [True, False], at))
        self.assertEqual(grid.Get_cart_rank([at[0] + dims[0], at[1]]), rank)
        up = (at[0] + 1) % dims[0], at[1]
        self.assertEqual(grid.Shift(0, 1)[1], np.ravel_multi_index(up, dims))
        self.assertEqual(grid.Shift(1, dims[1]), (None, None))
        with self.assertRaisesRegex(ValueError, "coords"):
            grid.Get_cart_rank([0, dims[1]])
        twin = grid.Dup()
        got = np.full(4, -1)
        twin.Neighbor_allgather(np.array([rank]), got)
        self.assertEqual([None if r < 0 else int(r) for r in got],
                         [r for axis in (0, 1) for r in grid.Shift(axis, 1)])
        row = grid.Sub([False, True])
        self.assertEqual((row.dims, row.periods, row.coords), ([dims[1]], [False], [at[1]]))
        self.assertEqual(row.allgather(rank), [at[0] * dims[1] + j for j in range(dims[1])])
        for group in (row, twin, grid):
            group.Free()
        few = self.job.Create_cart([max(1, size - 1)])
        self.assertEqual(few is None, rank == size - 1 and size > 1)
        if few:
            few.Free()
        graph = self.job.Create_dist_graph_adjacent([(rank + 1) % size] * 2, [(rank - 1) % size] * 2)
        self.assertEqual(graph.neighbor_alltoall([rank, -rank]),
                         [(rank + 1) % size, -((rank + 1) % size)])
        graph.Free()

    def test_mpi4py_spelling(self):
        """The collectives of mpi4py 4.0 and their arguments, without `info`."""
        calls = {"Barrier": "", "Bcast": "buf root", "Gather": "sendbuf recvbuf root",
                 "Reduce": "sendbuf recvbuf op root", "Reduce_scatter": "sendbuf recvbuf recvcounts op"}
        calls.update({n: "sendbuf recvbuf root" for n in ("Gatherv", "Scatter", "Scatterv")})
        calls.update({n: "sendbuf recvbuf op" for n in ("Allreduce", "Reduce_scatter_block", "Scan",
                                                        "Exscan")})
        calls.update({n: "sendbuf recvbuf" for n in (
            "Allgather Allgatherv Alltoall Alltoallv Alltoallw Neighbor_allgather Neighbor_allgatherv "
            "Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw").split()})
        calls = {form.format(n if form[0] == "{" else n.lower()): a for n, a in calls.items()
                 for form in ("{}", "I{}", "{}_init")}
        calls.update({"barrier": "", "bcast": "obj root", "gather": "sendobj root",
                      "scatter": "sendobj root", "allgather": "sendobj", "alltoall": "sendobj",
                      "reduce": "sendobj op root", "allreduce": "sendobj op", "scan": "sendobj op",
                      "exscan": "sendobj op", "neighbor_allgather": "sendobj",
                      "neighbor_alltoall": "sendobj"})
        for name, arguments in calls.items():
            ours = [p for p in inspect.signature(getattr(torus.Group, name)).parameters][1:]
            extra = "dims periods sources destinations named".split()
            self.assertEqual([p for p in ours if p not in extra], arguments.split(), name)
        x, total = np.ones(1), np.zeros(1)
        call = self.job.Allreduce_init(x, total)
        call.Wait()
        call.Start()
        call.Wait()
        self.assertTrue(call.Test() and total[0] == self.size)
        call.Free()
        with self.assertRaises(torus.ShutdownError):
            call.Start()
        requests = [self.job.Ibarrier(), self.job.Ibarrier()]
        self.assertIn(torus.Request.Waitany(requests), (0, 1))
        torus.Request.Waitall(requests)
        self.assertTrue(torus.Request.Testall(requests))

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
        for _ in range(20):  # a rank that frees at once disturbs none that is late
            self.job.Split(0).Free()
        twin, shrunk = self.job.Dup(), self.job.Shrink()
        self.assertEqual((twin.size, twin.rank, shrunk.size), (self.size, self.rank, self.size))
        twin.set_reproducible("any placement")
        total = np.zeros(1)
        twin.Allreduce(np.array([0.1]), total)
        with self.job.Create_group(range(self.size - 1, -1, -1), tag=3) as turned:
            self.assertEqual(turned.rank, self.size - 1 - self.rank)
        twin.Free()
        shrunk.Free()

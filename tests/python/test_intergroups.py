# SPDX-License-Identifier: Apache-2.0
"""Inter-groups against NumPy: both ways to make one, and all calls with buffers in their forms."""
import asyncio
import contextlib

import numpy as np

import torus
from sides import SidesTest
from world import RankTest


class Intergroups(RankTest):
    def setUp(self):
        super().setUp()
        self.first = list(range(0, self.job.size, 2))  # even ranks; the odd ones in turned order
        self.second = list(range(1, self.job.size, 2))[::-1]
        if self.job.size == 1:
            self.skipTest("an inter-group has two ranks and more")

    def side(self):
        """Returns the ranks of this side and of the other one."""
        sides = [self.first, self.second]
        return sides if self.job.rank % 2 == 0 else sides[::-1]

    def value(self, rank, count=3):
        """Returns what a rank of the job contributes."""
        return 100.0 * rank + np.arange(count)

    def use(self, pair):
        own, other = self.side()
        self.assertEqual((pair.rank, pair.size, pair.remote_size),
                         (own.index(self.job.rank), len(own), len(other)))
        self.assertEqual((pair.Get_rank(), pair.Get_size(), pair.Get_remote_size()),
                         (pair.rank, pair.size, pair.remote_size))
        mine, got = self.value(self.job.rank), np.zeros((len(other), 3))
        pair.Barrier()
        pair.Allgather(mine, got)
        np.testing.assert_array_equal(got, [self.value(r) for r in other])
        blocks = np.array([mine + 1000 * r for r in other])
        pair.Alltoall(blocks, got)
        np.testing.assert_array_equal(got, [self.value(r) + 1000 * self.job.rank for r in other])
        total = np.zeros(3)
        pair.Allreduce(mine, total)
        np.testing.assert_array_equal(total, sum(self.value(r) for r in other))
        pair.Allreduce(mine, total, op=torus.MAX)
        np.testing.assert_array_equal(total, np.max([self.value(r) for r in other], axis=0))
        later = torus.Op.Create(lambda a, b: 2 * a + b, name="later")
        pair.Allreduce(mine, total, op=later)
        expected = self.value(other[0])
        for r in other[1:]:
            expected = 2 * expected + self.value(r)
        np.testing.assert_array_equal(total, expected)
        for root_side in (self.first, self.second):
            root = len(root_side) - 1
            buffer = mine.copy()
            if own is root_side:
                pair.Bcast(buffer, torus.ROOT if pair.rank == root else torus.PROC_NULL)
                np.testing.assert_array_equal(buffer, mine)
            else:
                pair.Bcast(buffer, root)
                np.testing.assert_array_equal(buffer, self.value(root_side[root]))

    def test_creation_by_lists(self):
        request = self.job.Icreate_intergroup(self.first, self.second)
        total = np.zeros(1)
        self.job.Allreduce(np.ones(1), total)  # other calls go on
        with request.wait() as pair:
            self.use(pair)
            pair.Barrier()
        with self.assertRaises(torus.ShutdownError):
            pair.Barrier()

    def test_creation_by_leaders(self):
        half = self.job.Split(self.job.rank % 2, self.job.rank if self.job.rank % 2 == 0 else
                              -self.job.rank)
        # the leaders are the last rank of each side
        own, other = self.side()
        peer = self.job if half.rank == half.size - 1 else None
        with half.Create_intercomm(half.size - 1, peer, other[-1], tag=5) as pair:
            half.Free()  # the inter-group outlives it
            self.use(pair)
            for high in (False, True):
                merged = pair.Merge(high=(own is self.first) == high)
                ranks = self.second + self.first if high else self.first + self.second
                self.assertEqual([merged.translate(r, self.job) for r in range(merged.size)], ranks)
                self.assertEqual(merged.allreduce(1), self.job.size)
                merged.Barrier()
                merged.Free()
            pair.Barrier()

    def test_calls_without_waiting(self):
        async def exchange(pair, other):
            got, total = np.zeros((len(other), 3)), np.zeros(3)
            mine = self.value(self.job.rank)
            await asyncio.gather(pair.Ibarrier(), pair.Iallgather(mine, got),
                                 pair.Iallreduce(mine, total))
            np.testing.assert_array_equal(got.sum(axis=0), total)

        pair = self.job.Icreate_intergroup(self.first, self.second, tag=1).wait()
        asyncio.run(exchange(pair, self.side()[1]))
        pair.Barrier()
        pair.Free()
        pair.Free()

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "at least one rank"):
            self.job.Icreate_intergroup([], range(self.job.size))
        with self.assertRaises(torus.InvalidError):
            self.job.Icreate_intergroup([self.job.size], [self.job.rank])
        with self.assertRaisesRegex(ValueError, "both sides"):
            self.job.Icreate_intergroup([0, 1], [1])
        for wrong in ([-1], [0.5]):
            with self.assertRaisesRegex(ValueError, "pass numbers"):
                self.job.Create_group(wrong)
        pair = self.job.Icreate_intergroup(self.first, self.second, tag=2).wait()
        three = np.zeros(3)
        for wrong, error in ((lambda: pair.Bcast(three, 99), ValueError),
                             (lambda: pair.Allgather(three, np.zeros(3, "f4")), TypeError),
                             (lambda: pair.Allreduce(three, np.zeros(2)), ValueError),
                             (lambda: pair.Bcast(three, 0.5), ValueError),
                             (lambda: pair.Allreduce(torus.IN_PLACE, three), ValueError),
                             (lambda: pair.Allreduce(three, torus.IN_PLACE), ValueError),
                             (lambda: pair.Bcast(torus.IN_PLACE, 0), ValueError),
                             (lambda: pair.Allreduce(three, np.zeros(3), max), TypeError),
                             (lambda: pair.Allreduce(three, np.zeros(3), torus.BAND),
                              torus.InvalidError),
                             (lambda: pair.Allgatherv(three, [three, [9] * pair.remote_size]),
                              ValueError),
                             (lambda: pair.Alltoallw(torus.IN_PLACE, []), ValueError),
                             (lambda: pair.Alltoallw([], [three]), ValueError),
                             (lambda: pair.Reduce_scatter_block(three, np.zeros(1000)), ValueError),
                             (lambda: pair.Reduce_scatter(np.zeros(3 * pair.size + 1), three), ValueError),
                             (lambda: pair.Reduce_scatter(three, three, [9] * pair.size), ValueError),
                             (lambda: pair.Allgather(three, np.zeros(3 * pair.remote_size)[::2]),
                              (TypeError, ValueError))):
            with self.assertRaises(error):
                wrong()
        if pair.remote_size > 1:
            with self.assertRaisesRegex(ValueError, "equal blocks"):
                pair.Allgather(three, np.zeros(3 * pair.remote_size + 1))
        if len(self.first) > 1:
            with self.assertRaises(torus.MismatchError):
                pair.Merge(high=pair.rank == 0)
        pair.Barrier()
        pair.Free()


class Calls(SidesTest):
    """Every call in its three forms."""

    def value(self, rank, turn=0):
        """Returns what a rank of the job contributes."""
        return 100.0 * rank + np.arange(3) + 7 * turn

    def make(self, pair, name, arguments, fill, check):
        """Makes a call in all forms: `fill(turn)` sets the arguments, `check(turn)` the results."""
        for turn, call in enumerate((
                getattr(pair, name), lambda *a, **k: getattr(pair, f"I{name.lower()}")(*a, **k).wait())):
            fill(turn)
            call(**arguments)
            check(turn)
        call = getattr(pair, f"{name}_init")(**arguments)
        for turn in range(2, 5):
            fill(turn)
            self.assertIsNone(call.start().wait())
            check(turn)

    def test_allgather_and_alltoall(self):
        for pair in self.pairs():
            mine, got = np.zeros(3), np.zeros((len(self.other), 3))
            blocks = np.zeros((len(self.other), 3))

            def fill(turn):
                mine[:] = self.value(self.job.rank, turn)
                blocks[:] = [mine + 1000 * r for r in self.other]
                got[:] = -1

            self.make(pair, "Allgather", {"sendbuf": mine, "recvbuf": got}, fill,
                      lambda turn: np.testing.assert_array_equal(
                          got, [self.value(r, turn) for r in self.other]))
            self.make(pair, "Alltoall", {"sendbuf": blocks, "recvbuf": got}, fill,
                      lambda turn: np.testing.assert_array_equal(
                          got, [self.value(r, turn) + 1000 * self.job.rank for r in self.other]))
            self.make(pair, "Barrier", {}, fill, lambda turn: None)

    def test_counts_that_differ(self):
        """Rank r sends r + 1 elements to each, or r + s + 1 elements to rank s."""
        for pair in self.pairs():
            me, others = self.job.rank, np.array(self.other)
            mine, counts = np.zeros(me + 1), others + 1
            got = np.zeros(counts.sum() + 1)

            def fill(turn):
                mine[:] = 10 * me + turn
                got[:] = -1

            expected = np.append(np.repeat(10.0 * others, counts), -1)
            self.make(pair, "Allgatherv", {"sendbuf": mine, "recvbuf": [got, counts]}, fill,
                      lambda turn: np.testing.assert_array_equal(
                          got[:-1], expected[:-1] + turn))
            counts = me + others + 1
            sent, back = np.repeat(100.0 * me + others, counts), np.zeros(counts.sum() + 2)
            places = np.cumsum(counts) - counts + 1

            def check(_turn):
                np.testing.assert_array_equal(back[1:-1], np.repeat(100.0 * others + me, counts))
                self.assertTrue(back[0] == back[-1] == -1)

            self.make(pair, "Alltoallv", {"sendbuf": [sent, counts],
                                          "recvbuf": [back, counts, places]},
                      lambda _: back.fill(-1), check)

    def test_reductions(self):
        for pair in self.pairs():
            mine, got = np.zeros(3), np.zeros((3, 1))

            def fill(turn):
                mine[:] = self.value(self.job.rank, turn)
                got[:] = -1

            later = torus.Op.Create(lambda a, b: 2 * a + b, name="later")
            for op, combine in ((torus.SUM, np.add), (torus.MAX, np.maximum), (torus.PROD, np.multiply),
                                (later, lambda a, b: 2 * a + b)):
                def expected(turn):
                    values = [self.value(r, turn) for r in self.other]
                    total = values[0]
                    for v in values[1:]:
                        total = combine(total, v)
                    return total[:, None]

                self.make(pair, "Allreduce", {"sendbuf": mine, "recvbuf": got, "op": op}, fill,
                          lambda turn: np.testing.assert_array_equal(got, expected(turn)))
                for at, root in list(self.roots(pair))[::2]:
                    is_root = at == self.job.rank
                    self.make(pair, "Reduce", {"sendbuf": None if is_root else mine, "op": op,
                                               "recvbuf": got if is_root else None, "root": root},
                              fill, lambda turn: np.testing.assert_array_equal(
                                  got, expected(turn) if is_root else np.full((3, 1), -1)))
            pairs = np.array([(3.5, self.job.rank)], torus.pair_dtype("f8"))
            found = np.zeros_like(pairs)
            pair.Allreduce(pairs, found, torus.MAXLOC)
            self.assertEqual(found["place"][0], min(self.other))
            pair.Allreduce(np.zeros(0), np.zeros(0))
            flags = bytearray(1)
            pair.Allreduce(bytes([self.job.rank]), flags, torus.BOR)
            self.assertEqual(flags[0], np.bitwise_or.reduce(self.other))

    def test_reduce_scatters(self):
        """Rank r of a group gets r + 1 parts of the sum of the other group, and equal blocks."""
        for pair in self.pairs():
            own, n = len(self.own), len(self.other)
            total = own * n * (own + 1) * (n + 1) // 2  # a multiple of both groups' sums of parts
            mine, block = np.zeros(total), np.zeros(total // own)
            counts = np.arange(1, own + 1) * (2 * total // (own * (own + 1)))
            part, at = np.zeros(counts[pair.rank]), counts[:pair.rank].sum()
            later = torus.Op.Create(lambda a, b: 2 * a + b, name="later")

            def value(rank, turn):
                return 100.0 * rank + np.arange(total) + 7 * turn

            def fill(turn):
                mine[:] = value(self.job.rank, turn)
                block[:] = part[:] = -1

            for op, combine in (torus.SUM, np.add), (later, lambda a, b: 2 * a + b):
                def expected(turn):
                    result = value(self.other[0], turn)
                    for r in self.other[1:]:
                        result = combine(result, value(r, turn))
                    return result

                self.make(pair, "Reduce_scatter_block", {"sendbuf": mine, "recvbuf": block, "op": op},
                          fill, lambda turn: np.testing.assert_array_equal(
                              block, np.split(expected(turn), own)[pair.rank]))
                self.make(pair, "Reduce_scatter", {"sendbuf": mine, "recvbuf": part, "op": op,
                                                   "recvcounts": counts},
                          fill, lambda turn: np.testing.assert_array_equal(
                              part, expected(turn)[at:at + len(part)]))

    def test_blocks_of_types_and_strides(self):
        """Rank r sends to rank s a column of r + s + 1 numbers: integers if r + s is odd."""
        for pair in self.pairs():
            me, kinds = self.job.rank, (np.float64, np.int32)

            def column(rank, kind=None):
                n = me + rank + 1
                return np.full((n, 2), -1, kind or kinds[(me + rank) % 2])

            sent = [column(r) for r in self.other]
            got = [column(r) for r in self.other]

            def fill(turn):
                for a, b, r in zip(sent, got, self.other):
                    a[:, 0] = 100 * me + r + turn
                    b[:] = -1

            def check(turn):
                for b, r in zip(got, self.other):
                    np.testing.assert_array_equal(b[:, 0], 100 * r + me + turn)
                    self.assertTrue((b[:, 1] == -1).all())

            self.make(pair, "Alltoallw", {"sendbuf": [a[:, 0] for a in sent],
                                          "recvbuf": [b[:, 0] for b in got]}, fill, check)
            flat = [np.zeros(me + r + 1) for r in self.other]
            pair.Alltoallw([None] * len(self.other), [None] * len(self.other))
            pair.Alltoallw([np.full(me + r + 1, float(me)) for r in self.other], flat)
            for b, r in zip(flat, self.other):
                np.testing.assert_array_equal(b, float(r))

    def test_an_operator_that_raises_fails_on_its_rank(self):
        for pair in self.pairs():
            def combine(a, b):
                if self.job.rank == self.sides[0][0]:
                    raise KeyError("wrong")
                return a + b

            def repeated(*arguments):
                pair.Allreduce_init(*arguments).start().wait()

            got, fails = np.zeros(1), self.job.rank == self.sides[0][0] and pair.remote_size > 1
            for call in pair.Allreduce, repeated:
                with self.assertRaisesRegex(KeyError, "wrong") if fails else contextlib.nullcontext():
                    call(np.ones(1), got, torus.Op.Create(combine, name="raises"))
                    self.assertEqual(got[0], pair.remote_size)
                with self.assertRaisesRegex(torus.InvalidError, "must not call torus") if (
                        pair.remote_size > 1) else contextlib.nullcontext():
                    call(np.ones(1), got, torus.Op.Create(lambda a, b: self.job.Barrier() or a,
                                                          name="calls"))

    def test_calls_with_each_root(self):
        for pair in self.pairs():
            for at, root in self.roots(pair):
                receives, is_root = root >= 0, at == self.job.rank
                mine, all_ = np.zeros(3), np.zeros((len(self.other), 3))
                ragged = np.repeat(np.array(self.other, float), self.other)

                def fill(turn):
                    mine[:] = self.value(self.job.rank, turn)
                    all_[:] = [mine + 1000 * r for r in self.other]

                def value_of_root(turn):
                    expected = self.value(at if receives else self.job.rank, turn)
                    np.testing.assert_array_equal(mine, expected)

                def gathered(turn):
                    if is_root:
                        np.testing.assert_array_equal(all_, [self.value(r, turn) for r in self.other])

                def block(turn):
                    if receives:
                        np.testing.assert_array_equal(mine, self.value(at, turn) + 1000 * self.job.rank)

                def shares(_turn):
                    if receives:
                        np.testing.assert_array_equal(own, [self.job.rank] * self.job.rank)
                    elif is_root:
                        np.testing.assert_array_equal(ragged, np.repeat(self.other, self.other))

                self.make(pair, "Bcast", {"buf": None if root == torus.PROC_NULL else mine,
                                          "root": root}, fill, value_of_root)
                self.make(pair, "Gather", {"sendbuf": mine if receives else None,
                                           "recvbuf": all_ if is_root else None, "root": root}, fill,
                          gathered)
                self.make(pair, "Scatter", {"sendbuf": all_ if is_root else None,
                                            "recvbuf": mine if receives else None, "root": root},
                          fill, block)
                own = np.zeros(self.job.rank)  # rank r has r elements
                listed = [ragged, self.other] if is_root else None
                self.make(pair, "Scatterv", {"sendbuf": listed, "recvbuf": own if receives else None,
                                             "root": root}, lambda _: own.fill(-1), shares)
                self.make(pair, "Gatherv", {"sendbuf": own if receives else None, "recvbuf": listed,
                                            "root": root},
                          lambda _: ragged.fill(-1) if is_root else None, shares)

    def test_the_creation_of_a_persistent_call_does_not_wait(self):
        for pair in self.pairs():
            mine, got = np.ones(1), np.zeros(1)
            first = self.own is self.sides[0]
            call = pair.Allreduce_init(mine, got) if first else None
            self.job.Barrier()  # the other side has not initialized
            call = call or pair.Allreduce_init(mine, got)
            call.start().wait()
            self.assertEqual(got[0], pair.remote_size)

    def test_persistent_calls_start_in_any_order_and_outlive_their_group(self):
        for pair in self.pairs():
            pair = pair.Dup()
            got = [np.zeros(1) for _ in range(4)]
            calls = [pair.Allreduce_init(np.full(1, float(i)), got[i]) for i in range(4)]
            pair.Barrier()
            pair.Free()
            for turn in range(2):
                order = range(4) if self.own is self.sides[turn] else reversed(range(4))
                torus.waitall([calls[i].start() for i in order])
                self.assertEqual([g[0] for g in got], [i * pair.remote_size for i in range(4)])
            if self.own is self.sides[0]:  # the other side has not started
                calls[0].start()
                with self.assertRaises(torus.BusyError):
                    calls[0].start()
            self.job.Barrier()
            if self.own is self.sides[1]:
                calls[0].start()
            calls[0].wait()
            calls[0].free()
            with self.assertRaises(torus.ShutdownError):
                calls[0].start()
            with self.assertRaises(torus.ShutdownError):
                pair.Allreduce_init(np.ones(1), np.zeros(1))

    def test_a_duplicate_and_its_time_limit(self):
        for pair in self.pairs():
            pair.timeout = 20
            with pair.Dup() as twin:
                self.assertEqual((twin.rank, twin.size, twin.remote_size, pair.timeout),
                                 (pair.rank, pair.size, pair.remote_size, 20))
                twin.timeout = 0.2
                request = twin.Ibarrier() if self.own is self.sides[0] else None
                if request:
                    with self.assertRaises(torus.OperationTimeoutError):
                        request.wait()
                self.assertEqual(pair.allreduce(1), pair.remote_size)
                if not request:
                    with self.assertRaises(torus.TorusError):
                        twin.Barrier()
                pair.barrier()

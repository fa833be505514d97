# SPDX-License-Identifier: Apache-2.0
"""Inter-groups against NumPy: both ways to make one, and all calls."""
import asyncio

import numpy as np

import torus
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
        pair = self.job.Icreate_intergroup(self.first, self.second, tag=2).wait()
        three = np.zeros(3)
        for wrong, error in ((lambda: pair.Bcast(three, 99), ValueError),
                             (lambda: pair.Allgather(three, np.zeros(3, "f4")), TypeError),
                             (lambda: pair.Allreduce(three, np.zeros(2)), ValueError),
                             (lambda: pair.Allreduce(torus.IN_PLACE, three), Exception),
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

# SPDX-License-Identifier: Apache-2.0
"""Objects between groups: every lower-case call of inter-groups, and what makes all ranks raise."""
import threading

import numpy as np

import torus
from sides import SidesTest


class Cursed:
    """An object that cannot be pickled on one rank."""

    def __init__(self, bad):
        self.held = threading.Lock() if bad else None


def keep_first(a, b):
    """Combines as a + b, but only in the right order."""
    return (a[0], b[1]) if a[1] + 1 == b[0] else None


class Interobjects(SidesTest):
    def value(self, rank):
        """Returns the object of a rank: their lengths differ, and that of rank 0 is None."""
        return {"rank": rank, "list": list(range(100 * rank))} if rank else None

    def test_calls_without_a_root(self):
        for pair in self.pairs():
            me, others = self.job.rank, [self.value(r) for r in self.other]
            self.assertEqual(pair.allgather(self.value(me)), others)
            self.assertEqual(pair.alltoall([(me, r, self.value(r)) for r in self.other]),
                             [(r, me, self.value(me)) for r in self.other])
            self.assertEqual(pair.allreduce(str(me)), "".join(map(str, self.other)))
            self.assertEqual(pair.allreduce(me, torus.MAX), max(self.other))
            self.assertEqual(pair.allreduce((pair.rank, pair.rank), keep_first),
                             (0, pair.remote_size - 1))
            np.testing.assert_array_equal(pair.allreduce(np.arange(3) + me),
                                          np.sum([np.arange(3) + r for r in self.other], axis=0))

    def test_calls_with_each_root(self):
        for pair in self.pairs():
            for at, root in self.roots(pair):
                mine = self.value(self.job.rank)
                receives, is_root = root >= 0, self.job.rank == at
                self.assertEqual(pair.bcast(mine if is_root else None, root),
                                 self.value(at) if receives else None)
                self.assertEqual(pair.gather(mine, root=root),
                                 [self.value(r) for r in self.other] if is_root else None)
                blocks = [(at, r, self.value(r)) for r in self.other] if is_root else None
                self.assertEqual(pair.scatter(blocks, root),
                                 (at, self.job.rank, mine) if receives else None)
                self.assertEqual(pair.reduce([self.job.rank] if receives else None, root=root),
                                 self.other if is_root else None)
                self.assertEqual(pair.reduce(self.job.rank, torus.MIN, root),
                                 min(self.other) if is_root else None)

    def test_large_objects_and_arrays(self):
        for pair in self.pairs():
            large = bytes(300_000) + bytes([self.job.rank])
            self.assertEqual([(len(o), o[-1]) for o in pair.allgather(large)],
                             [(300_001, r) for r in self.other])
            np.testing.assert_array_equal(pair.allgather(np.full(2, self.job.rank)),
                                          [[r, r] for r in self.other])

    def test_an_object_that_cannot_be_pickled_fails_on_all_ranks(self):
        for pair in self.pairs():
            for at, root in self.roots(pair):
                bad = Cursed(self.job.rank == at)
                every = [bad] * pair.remote_size
                calls = [lambda: pair.bcast(bad, root), lambda: pair.scatter(every, root),
                         lambda: pair.allgather(bad), lambda: pair.alltoall(every),
                         lambda: pair.allreduce(bad)]
                number = (self.own if at in self.own else self.other).index(at)
                place = "this" if at in self.own else "the other"
                for call in calls:
                    with self.assertRaisesRegex(torus.ObjectError, f"rank {number} of {place} group "
                                                "cannot pickle its object: .*lock") as caught:
                        call()
                    self.assertEqual(caught.exception.ranks, (number,))
            bad = Cursed(self.own is self.sides[0])
            root = 0 if self.own is self.sides[0] else torus.ROOT if pair.rank == 0 else torus.PROC_NULL
            for call in pair.gather, pair.reduce:
                with self.assertRaisesRegex(torus.ObjectError, "rank 0 of .* group cannot pickle"):
                    call(bad, root=root)
            with self.assertRaisesRegex(torus.ObjectError, "objects for"):
                pair.alltoall([1] * (pair.remote_size + 1))
            self.assertEqual(pair.allreduce(1), pair.remote_size)

    def test_objects_of_ranks_that_do_not_send_are_not_pickled(self):
        for pair in self.pairs():
            for at, root in self.roots(pair):
                bad = Cursed(True)
                self.assertEqual(pair.bcast(3 if self.job.rank == at else bad, root),
                                 3 if root >= 0 else None)
                self.assertEqual(pair.gather(3 if root >= 0 else bad, root),
                                 [3] * pair.remote_size if self.job.rank == at else None)
                self.assertEqual(pair.scatter([3] * pair.remote_size if self.job.rank == at else bad,
                                              root), 3 if root >= 0 else None)

    def test_calls_and_roots_that_do_not_fit_fail_on_all_ranks(self):
        for pair in self.pairs():
            first = self.own is self.sides[0]
            with self.assertRaisesRegex(torus.MismatchError, "different calls: allgather, allreduce"):
                (pair.allgather if first else pair.allreduce)(1)
            wrong = [torus.PROC_NULL, torus.ROOT if first and pair.rank == 0 else torus.PROC_NULL, 0]
            if len(self.sides[0]) > 1:  # two roots
                wrong.append(torus.ROOT if first else 0)
            if len(self.sides[1]) > 1:  # one receiver names no root, or another one
                beyond = not first and pair.rank == 1
                for other in (torus.PROC_NULL, len(self.sides[0]) - 1):
                    if other:
                        wrong.append(other if beyond else 0 if not first else
                                     torus.PROC_NULL if pair.rank else torus.ROOT)
            for root in wrong:
                for call in pair.bcast, pair.gather, pair.reduce:
                    with self.assertRaisesRegex(torus.MismatchError, f"{call.__name__}: the roots"):
                        call(1, root=root)
            for root in (pair.remote_size, -1, 0.5):
                with self.assertRaisesRegex(ValueError, "root .* is neither torus.ROOT"):
                    pair.bcast(1, root)
            self.assertEqual(pair.allreduce(1), pair.remote_size)

# SPDX-License-Identifier: Apache-2.0
"""Objects: every lower-case call, and objects that cannot be pickled."""
import operator
import threading

import numpy as np

import torus
from world import RankTest


class Cursed:
    """An object that the rank `where` cannot pickle."""

    def __init__(self, rank, where):
        self.held = threading.Lock() if rank == where else None


class Silent(Exception):
    """An exception whose text may be an exception."""

    def __str__(self):
        return self.args[0] + ""


class Mute:
    """An object whose pickle raises Silent."""

    def __init__(self, text):
        self.text = text

    def __reduce__(self):
        raise Silent(self.text)


class Objects(RankTest):
    def test_calls(self):
        job, rank, size = self.job, self.job.rank, self.job.size
        root = size - 1
        everything = [{"rank": r, "list": list(range(r))} for r in range(size)]
        self.assertEqual(job.bcast(everything[rank], root=root), everything[root])
        self.assertEqual(job.gather(everything[rank], root), everything if rank == root else None)
        self.assertEqual(job.allgather(everything[rank]), everything)
        self.assertEqual(job.scatter(everything if rank == root else None, root), everything[rank])
        self.assertEqual(job.alltoall([(rank, r) for r in range(size)]),
                         [(r, rank) for r in range(size)])
        self.assertEqual(job.allreduce(str(rank)), "".join(map(str, range(size))))
        self.assertEqual(job.reduce([rank], op=operator.add, root=root),
                         list(range(size)) if rank == root else None)
        self.assertEqual(job.scan(rank), sum(range(rank + 1)))
        self.assertEqual(job.exscan(rank), sum(range(rank)) if rank else None)
        self.assertEqual(job.allreduce((float(rank), rank), op=torus.MAXLOC),
                         (float(root), root))
        self.assertEqual(job.neighbor_allgather(rank, dims=[size], periods=False),
                         [rank - 1 if rank else None, rank + 1 if rank < root else None])
        self.assertEqual(job.neighbor_alltoall([("down", rank), ("up", rank)], dims=[size]),
                         [("up", (rank - 1) % size), ("down", (rank + 1) % size)])
        job.barrier()
        self.assertIsNone(job.bcast(None))
        self.assertEqual(len(job.bcast(b"x" * 3_000_000)), 3_000_000)

    def test_an_object_that_cannot_be_pickled_fails_on_all_ranks(self):
        job, rank, size = self.job, self.job.rank, self.job.size
        for where in {0, size - 1}:
            bad = Cursed(rank, where)
            every = [bad] * size
            calls = [lambda: job.allgather(bad), lambda: job.gather(bad, root=0),
                     lambda: job.bcast(bad, root=where), lambda: job.scatter(every, root=where),
                     lambda: job.alltoall(every), lambda: job.allreduce(bad),
                     lambda: job.neighbor_allgather(bad, dims=[size])]
            for call in calls:
                with self.assertRaisesRegex(torus.ObjectError, f"rank {where} .*pickle") as caught:
                    call()
                self.assertEqual(caught.exception.ranks, (where,))
        with self.assertRaisesRegex(torus.ObjectError, "rank 0 cannot send its objects: .*for"):
            job.scatter([1] * (size + 1))
        with self.assertRaisesRegex(torus.ObjectError, "rank 0 cannot send .* is None: pass a list"):
            job.scatter(None)
        self.assertEqual(job.allreduce(1), size)

    def test_a_reason_that_has_no_text_or_odd_characters_fails_on_all_ranks(self):
        for text in (b"\xe4".decode("ascii", "surrogateescape"), None):
            bad = Mute(text) if self.job.rank == 0 else 1
            with self.assertRaisesRegex(torus.ObjectError, "rank 0 cannot pickle .*Silent"):
                self.job.allgather(bad)
            self.assertEqual(self.job.allreduce(1), self.job.size)

    def test_arrays_are_objects_too(self):
        whole = self.job.allgather(np.full(2, self.job.rank))
        np.testing.assert_array_equal(whole, [[r, r] for r in range(self.job.size)])

# SPDX-License-Identifier: Apache-2.0
"""Each mistake with a buffer is an exception before anything is sent; then the calls go on."""
import mmap

import numpy as np

import torus
from world import RankTest


class Mistakes(RankTest):
    def refused(self, kind, words, call, *args, **named):
        with self.assertRaisesRegex(kind, words):
            call(*args, **named)

    def tearDown(self):
        total = np.zeros(1)
        self.job.Allreduce(np.ones(1), total)  # all ranks are still in step
        self.assertEqual(total[0], self.job.size)

    def test_types(self):
        a, out = np.zeros(3), np.zeros(3)
        for wrong in ("U4", "S4", "datetime64[s]", "complex256", [("x", "f8")], "V8"):
            self.refused(TypeError, "no type", self.job.Allreduce, np.zeros(3, wrong), out)
        self.refused(TypeError, "Python objects", self.job.Bcast, np.array([None, {}]))
        self.refused(TypeError, "sendbuf has elements", self.job.Allreduce, a.astype("f4"), out)
        self.refused(TypeError, "no buffer", self.job.Allreduce, [1.0, 2.0, 3.0], out)
        self.refused(TypeError, "sendbuf is None, but this rank", self.job.Allreduce, None, out)
        self.refused(TypeError, "recvbuf cannot be torus.IN_PLACE", self.job.Allreduce, a,
                     torus.IN_PLACE)
        self.refused(TypeError, r"Allreduce\(\) missing .*'recvbuf'", self.job.Allreduce, a)
        self.refused(TypeError, "DistArray.fromwhole", torus.fft.fft, a)
        self.refused(TypeError, "numpy.save", torus.save, "/nonexistent/a.npy", a)
        self.refused(TypeError, "mask", self.job.Allreduce, np.ma.array([1.0, 2, 3]), out)
        self.refused(TypeError, "op is a", self.job.Allreduce, a, out, op=max)
        self.refused(torus.InvalidError, "", self.job.Allreduce, a, out, op=torus.BAND)
        self.refused(torus.InvalidError, "", self.job.Allreduce, a + 1j, out + 1j, op=torus.MIN)

    def test_strides(self):
        whole, out = np.zeros((4, 6)), np.zeros(12)
        for wrong in (whole[:, ::2], whole[:, :3], whole.T[:2], whole[::-1]):
            self.refused(ValueError, "contiguous", self.job.Allreduce, wrong, out)
            self.refused(ValueError, "contiguous", self.job.Allreduce, out, wrong)
        self.refused(ValueError, "contiguous", self.job.Bcast, np.broadcast_to(1.0, (3,)))
        self.refused(ValueError, "contiguous", self.job.Allreduce, whole.T[::2], out)
        raw = np.zeros(33, np.uint8)[1:].view("f8")
        self.refused(ValueError, "aligned", self.job.Allreduce, raw, np.zeros(4))

    def test_byte_order(self):
        swapped = np.ones(3).astype(">f8")
        self.refused(TypeError, "byte order", self.job.Allreduce, swapped, np.zeros(3))
        self.refused(TypeError, "byte order", self.job.Bcast, swapped)

    def test_writability(self):
        fixed = np.zeros(3)
        fixed.flags.writeable = False
        self.refused(ValueError, "read-only", self.job.Allreduce, np.zeros(3), fixed)
        self.refused(ValueError, "read-only", self.job.Allgather, np.zeros(1, "u1"),
                     bytes(self.job.size))
        self.job.Allreduce(fixed, np.zeros(3))  # a source may be read-only
        vector, total = np.zeros(3), np.zeros(1)
        self.refused(TypeError, "scalar", self.job.Allreduce, total, vector[1])  # would be lost
        self.refused(TypeError, "scalar", self.job.Allreduce, torus.IN_PLACE, np.float64(1))
        self.job.Allreduce(np.float64(2), total)
        self.assertEqual(total[0], 2 * self.job.size)
        if self.job.size > 1:  # also the root's buffer of a broadcast
            data = bytes(3) if self.job.rank == 0 else bytearray(3)
            self.job.Bcast(data)

    def test_counts(self):
        size, job = self.job.size, self.job
        self.refused(ValueError, "needs", job.Allreduce, np.zeros(3), np.zeros(4))
        self.refused(ValueError, "needs", job.Allgather, np.zeros(2), np.zeros(2 * size + 1))
        self.refused(ValueError, "needs", job.Alltoall, np.zeros(size), np.zeros(2 * size))
        self.refused(ValueError, "needs", job.Reduce_scatter_block, np.zeros(2 * size + 1),
                     np.zeros(2))
        if size > 1:
            self.refused(ValueError, "equal blocks", job.Alltoall, np.zeros(size + 1),
                         np.zeros(size + 1))
        self.refused(ValueError, "root", job.Bcast, np.zeros(1), root=size)
        self.refused(ValueError, "root", job.Bcast, np.zeros(1), root=-1)
        self.refused(ValueError, "part", job.Allgatherv, np.zeros(2), [np.zeros(2 * size - 1),
                                                                      [2] * size])
        self.refused(ValueError, "counts for", job.Allgatherv, np.zeros(2),
                     [np.zeros(2 * size), [2] * (size + 1)])
        self.refused(ValueError, "negative", job.Allgatherv, np.zeros(2),
                     [np.zeros(2 * size), [-2] * size])
        self.refused(ValueError, "part", job.Allgatherv, np.zeros(2),
                     [np.zeros(2 * size), [2] * size, [-1] * size])
        self.refused(TypeError, "integers", job.Allgatherv, np.zeros(2),
                     [np.zeros(2 * size), [2.5] * size])
        self.refused(TypeError, "a list of 5", job.Bcast, [np.zeros(2), 1, 0, "f8", 1])
        for wrong in ([np.zeros(2), 3, "f8"], [np.zeros(2), (1, 2)], [np.zeros(2), -1]):
            self.refused(ValueError, "the list names elements", job.Bcast, wrong)
        self.refused(TypeError, "the list says float32", job.Bcast, [np.zeros(2), "f4"])
        self.refused(ValueError, "no row of elements", job.Bcast, [bytearray(9), "f8"])
        self.refused(TypeError, "integers", job.Bcast, [np.zeros(2), 1.5])
        if size > 1:
            self.refused(ValueError, "equal parts", job.Reduce_scatter, np.zeros(size + 1),
                         np.zeros(1))
            self.refused(ValueError, "overlap", job.Allgatherv, np.zeros(2),
                         [np.zeros(2 * size), [2] * size, [0] * size])
        self.refused(ValueError, "IN_PLACE", job.Allgather, np.zeros(1), torus.IN_PLACE)
        self.refused(ValueError, "places", job.Neighbor_allgather, np.zeros(1), np.zeros(2),
                     dims=[size + 1])

    def test_overlap(self):
        both = np.zeros(6)
        self.refused(torus.InvalidError, "", self.job.Allreduce, both[:4], both[2:])
        shared = torus.empty(6)
        self.refused(torus.InvalidError, "", self.job.Allreduce, shared[:4], shared[2:])

    def test_blocks(self):
        """The w calls."""
        job, size = self.job, self.job.size
        good, whole = [np.zeros(2)] * size, np.zeros((2, 2 * size))
        columns = [whole[:, 2 * r:2 * r + 2] for r in range(size)]
        self.refused(TypeError, "list of arrays", job.Alltoallw, job, columns)
        self.refused(ValueError, "blocks", job.Alltoallw, good + good, columns)
        self.refused(TypeError, r"sendbuf\[0\].*no type", job.Alltoallw,
                     [np.zeros(2, "M8[s]")] * size, columns)
        self.refused(TypeError, "byte order", job.Alltoallw, [np.zeros(2, ">f8")] * size, columns)
        self.refused(TypeError, "no buffer", job.Alltoallw, [1.0] * size, columns)
        self.refused(TypeError, "scalar", job.Alltoallw, good, [np.float64(1)] * size)
        fixed = np.zeros((2, 2 * size))
        fixed.flags.writeable = False
        self.refused(ValueError, "read-only", job.Alltoallw, good, np.split(fixed, size, axis=1))
        windows = np.lib.stride_tricks.as_strided(whole, (size, 4), (8, 8), writeable=True)
        if size > 1:
            self.refused(ValueError, r"recvbuf\[0\] and recvbuf\[1\] overlap", job.Alltoallw, good,
                         [whole[0, :2]] * size)
            self.refused(ValueError, "overlap each other", job.Alltoallw, good, [windows] * size)
        self.refused(ValueError, "sendbuf.*overlap", job.Alltoallw,
                     [whole[:, 2 * r] for r in range(size)], columns)
        self.refused(ValueError, "in place", job.Neighbor_alltoallw, torus.IN_PLACE, [None, None],
                     dims=[size])
        self.refused(TypeError, "Create_cart", job.Neighbor_alltoallw, [None], [None])

    def test_grids(self):
        job, size = self.job, self.job.size
        self.refused(ValueError, "points", job.Create_cart, [size + 1])
        self.refused(ValueError, "positive", job.Create_cart, [0])
        self.refused(ValueError, "positive", job.Create_cart, [size], [True, True])
        self.refused(ValueError, "root", job.Create_dist_graph_adjacent, [size], [])
        self.refused(ValueError, "no grid", torus.Compute_dims, 6, [4, 0])

    def test_a_persistent_call_starts_once_at_a_time(self):
        """Its packed source stays as it was."""
        group, last = self.job.Dup(), self.job.size - 1
        send, recv = np.zeros((self.job.size, 2)), np.zeros((self.job.size, 2))
        call = group.Alltoallw_init(list(send[:, ::-1]), list(recv[:, ::-1]))  # packed
        if self.job.rank != last:
            call.start()
            send += 1
            self.refused(torus.BusyError, "in flight", call.start)
        self.job.Barrier()
        if self.job.rank == last:
            call.start()
        call.wait()
        self.assertTrue((recv == 0).all())
        group.Free()

    def test_lifetime(self):
        """The request holds the memory of its buffers: it cannot be unmapped or resized."""
        group, last = self.job.Dup(), self.job.size - 1
        memory, grown = mmap.mmap(-1, 4096), bytearray(8)

        def start():
            return [group.Iallreduce(torus.IN_PLACE, np.frombuffer(memory, "f8")),
                    group.Iallreduce(torus.IN_PLACE, grown)]

        if self.job.rank != last:
            requests = start()
            self.refused(BufferError, "", memory.close)
            self.refused(BufferError, "", grown.extend, b"more")
        self.job.Barrier()
        if self.job.rank == last:
            requests = start()
        torus.waitall(requests)
        grown.extend(b"more")
        memory.close()
        group.Free()

    def test_a_mismatch_names_ranks(self):
        if self.job.size == 1:
            return
        with self.assertRaises(torus.MismatchError) as caught:
            self.job.Allreduce(torus.IN_PLACE, np.zeros(3 + (self.job.rank == 1)))
        self.assertIn(1, caught.exception.ranks)
        self.assertEqual(caught.exception.code, -7)

    def test_timeouts(self):
        with self.job.Dup() as group:
            for wrong in (-1, -1e-9, float("nan"), float("inf")):
                self.refused(ValueError, "timeout", setattr, group, "timeout", wrong)
            self.assertIsNone(group.timeout)

    def test_shared_memory(self):
        self.refused(TypeError, "objects", torus.empty, 3, object)
        self.refused(ValueError, "negative", torus.empty, (2, -1))
        self.refused(torus.NoMemoryError, "region", torus.empty, 1 << 40, "u1")
        self.assertEqual(torus.empty((3, 0, 2)).shape, (3, 0, 2))
        self.assertEqual(torus.empty(()).shape, ())

    def test_exceptions_in_operators(self):
        def fail(a, b):
            raise KeyError("mine")
        if self.job.size > 1:
            request = self.job.Iallreduce(torus.IN_PLACE, np.zeros(3),
                                          op=torus.Op.Create(fail, name="f"))
            with self.assertRaisesRegex(KeyError, "mine"):
                request.wait()
            self.refused(ValueError, "shape", self.job.Allreduce, torus.IN_PLACE, np.zeros(3),
                         op=torus.Op.Create(lambda a, b: a[1:], name="g"))
            self.refused(torus.InvalidError, "must not call", self.job.Allreduce, torus.IN_PLACE,
                         np.zeros(3), op=torus.Op.Create(lambda a, b: self.job.allreduce(1),
                                                         name="h"))

# SPDX-License-Identifier: Apache-2.0
"""Requests: dropped, awaited, cancelled, and waited for by several threads."""
import asyncio
import gc
import threading
import time

import numpy as np

import torus
from world import RankTest


class Requests(RankTest):
    def test_a_dropped_request_keeps_its_buffers(self):
        group = self.job.Dup()
        arrays = []
        for i in range(8):
            out = np.zeros(1000)
            arrays.append(out)
            group.Iallreduce(np.full(1000, float(i)), out)  # source and request are dropped
            gc.collect()
            np.full(1000, -1.0)  # memory that has been freed would be used again
        group.Barrier()
        end = time.monotonic() + 20
        while self.job.context.pending and time.monotonic() < end:
            for request in list(self.job.context.pending.values()):
                request.test()
        self.assertFalse(self.job.context.pending)
        for i, out in enumerate(arrays):
            self.assertTrue((out == i * self.job.size).all())
        group.Free()

    def test_wait_with_a_limit_cancels_nothing(self):
        group, last = self.job.Dup(), self.job.size - 1
        request = None
        if self.job.rank != last:
            request = group.Ibarrier()
            self.assertFalse(request.test())
            with self.assertRaisesRegex(TimeoutError, "continues"):
                request.wait(0.01)
            self.assertEqual(repr(request), "<torus.Request: in flight>")
        self.job.barrier()
        if self.job.rank == last:
            request = group.Ibarrier()
        request.wait(20)
        self.assertTrue(request.done and request.test())
        self.assertEqual(repr(request), "<torus.Request: complete>")
        group.Free()

    def test_cancel(self):
        if self.job.size == 1:
            return
        group = self.job.Dup()
        if self.job.rank == 0:
            request = group.Ibarrier()
            request.cancel()
            with self.assertRaises(torus.OperationCancelledError):
                request.wait(20)
        self.job.barrier()
        if self.job.rank != 0:
            with self.assertRaises(torus.OperationCancelledError):
                group.Barrier()
        group.Barrier()
        group.Free()

    def test_await(self):
        job = self.job
        out = np.zeros((10, 5))
        groups = [job.Dup() for _ in range(10)]

        async def one(i):
            await groups[i].Iallreduce(np.full(5, i + 1.0), out[i])
            await groups[i].Ibarrier()
            return i

        async def main():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            ticker = asyncio.ensure_future(tick())
            done = await asyncio.gather(*[one(i) for i in range(10)])
            ticker.cancel()
            await asyncio.sleep(0)
            return done, ticks

        done, ticks = asyncio.run(main())
        self.assertEqual(done, list(range(10)))
        self.assertGreater(ticks, 0)
        self.assertTrue((out == (np.arange(10) + 1)[:, None] * job.size).all())
        for group in groups:
            group.Free()

    def test_a_cancelled_await_leaves_the_operation(self):
        if self.job.size == 1:
            return
        group, last = self.job.Dup(), self.job.size - 1
        out = bytearray(3)

        async def start():
            await group.Iallreduce(np.ones(3, "u1"), out)

        async def main():
            task = asyncio.ensure_future(start())
            await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        if self.job.rank != last:
            asyncio.run(main())
            self.assertEqual(len(self.job.context.pending), 1)
            gc.collect()
            with self.assertRaises(BufferError):  # the call has it
                out.extend(b"more")
        self.job.barrier()
        if self.job.rank == last:
            group.Allreduce(np.ones(3, "u1"), out)
        group.Barrier()
        torus.waitall(list(self.job.context.pending.values()))
        self.assertEqual(out, bytes([self.job.size] * 3))
        out.extend(b"more")
        group.Free()

    def test_awaiting_and_blocking_calls_mix(self):
        """A blocking call takes the reply of an awaited one."""
        group, job = self.job.Dup(), self.job

        async def main():
            async def wait():
                await group.Ibarrier()
                return True
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            for _ in range(3):
                job.Barrier()
            return await asyncio.wait_for(task, 20)

        self.assertTrue(asyncio.run(main()))
        group.Free()

    def test_threads_on_groups_of_their_own(self):
        groups = [self.job.Dup() for _ in range(4)]
        wrong = []

        def work(i):
            try:
                for n in range(10):
                    total = torus.empty(50)
                    groups[i].Allreduce(np.full(50, float(n)), total)
                    if not (total == n * self.job.size).all():
                        wrong.append(total)
            except BaseException as error:  # pylint: disable=broad-except
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        for group in groups:
            group.Free()

    def test_threads_wait_for_one_request(self):
        group, last = self.job.Dup(), self.job.size - 1
        done = []
        if self.job.rank != last:
            request = group.Ibarrier()
            threads = [threading.Thread(target=lambda: done.append(request.wait(20)))
                       for _ in range(3)]
            for t in threads:
                t.start()
        self.job.barrier()  # also: a wait of one thread lets another one call
        if self.job.rank == last:
            group.Barrier()
        else:
            for t in threads:
                t.join()
            self.assertEqual(done, [None] * 3)
        group.Free()

    def test_many_requests(self):
        outs = [np.zeros(1) for _ in range(300)]
        requests = [self.job.Iallreduce(np.array([float(i)]), o) for i, o in enumerate(outs)]
        torus.waitall(requests)
        self.assertEqual([o[0] for o in outs], [i * self.job.size for i in range(300)])

    def test_memory_is_returned(self):
        self.job.Barrier()
        before = self.job.statistics()["region_bytes"]
        for _ in range(20):
            torus.empty(1 << 21, "u1")
        self.job.Barrier()
        self.assertLessEqual(self.job.statistics()["region_bytes"], before + (1 << 22))

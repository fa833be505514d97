# SPDX-License-Identifier: Apache-2.0
"""Programs that are interrupted, fail, fork, or end at the wrong moment; each case is a job of its
own.

usage: mishaps.py TORUSCTL
"""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
BEGIN = """
import gc, os, signal, sys, threading, time
import numpy as np
import torus
"""


class Mishaps(unittest.TestCase):
    def run_ranks(self, text, ranks=2, options=(), shape="1x1", code=0, python=()):
        """Runs the program on every rank; returns its sorted output lines without the ranks."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write(BEGIN + textwrap.dedent(text))
            program.flush()
            done = subprocess.run([CTL, "emulate", shape, "--ranks", str(ranks), *options, "--",
                                   sys.executable, *python, program.name], capture_output=True,
                                  text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return sorted(line.split("] ", 1)[-1] for line in (done.stdout + done.stderr).splitlines())

    def test_interrupts_end_waits(self):
        """KeyboardInterrupt arrives within 0.2 s; the request is still in flight afterwards. Other
        work may delay one attempt."""
        lines = self.run_ranks("""
            with torus.Job() as job:
                group = job.Dup()
                if job.rank == 0:
                    delays = []
                    for attempt in range(5):
                        def interrupt():
                            global sent
                            sent = time.monotonic()
                            os.kill(os.getpid(), signal.SIGINT)
                        threading.Timer(0.25, interrupt).start()
                        try:
                            if attempt == 0:
                                group.Barrier()
                            else:
                                next(iter(job.context.pending.values())).wait()
                        except KeyboardInterrupt:
                            delays.append(time.monotonic() - sent)
                    assert len(delays) == 5 and min(delays) < 0.2, delays
                    request, = job.context.pending.values()
                job.Barrier()
                if job.rank == 0:
                    request.wait()
                else:
                    group.Barrier()
                print("ended")
        """)
        self.assertEqual(lines, ["ended", "ended"])

    def test_interrupts_end_waits_for_the_daemon(self):
        """Ctrl-C ends each call that waits while the daemon of the node is stopped. The daemon then
        goes on, and so do the calls."""
        lines = self.run_ranks("""
            import socket, struct
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(os.environ["TORUS_SOCKET"])
                daemon, = struct.unpack_from("i", s.getsockopt(socket.SOL_SOCKET,
                                                               socket.SO_PEERCRED, 12))
            x, y = np.ones(1), np.zeros(1)
            delays = {}

            def interrupt():
                global sent
                sent = time.monotonic()
                os.kill(os.getpid(), signal.SIGINT)

            def attempt(name, call):
                os.kill(daemon, signal.SIGSTOP)
                threading.Timer(0.1, interrupt).start()
                try:
                    call()
                    print(name, "has not waited")
                except KeyboardInterrupt:
                    late = time.monotonic() - sent
                    # the least of three: the machine may be busy
                    delays[name] = min(late, delays.get(name, late))
                finally:
                    os.kill(daemon, signal.SIGCONT)

            numbers = iter(range(100))
            def join_another():
                torus.Job(f"another {next(numbers)}", rank=0, size=1)

            def leave():
                with torus.Job(f"left {next(numbers)}", rank=0, size=1) as left:
                    os.kill(daemon, signal.SIGSTOP)
                    left.empty(1 << 23, "u1")

            with torus.Job() as job:
                small = torus.empty(1)  # its region has room for copies of plain memory
                for _ in range(3):
                    attempt("Job", join_another)
                    attempt("with", lambda: (os.kill(daemon, signal.SIGCONT), leave()))
                    attempt("init", lambda: job.Allreduce_init(x, y))
                    attempt("empty", lambda: torus.empty(1 << 22))
                    attempt("Split", lambda: job.Split(0))
                    attempt("Dup", job.Dup)
                    attempt("Shrink", job.Shrink)
                    attempt("Barrier", job.Barrier)
                    attempt("allgather", lambda: job.allgather(1))
                    attempt("waitall", lambda: torus.waitall([job.Ibarrier(), job.Ibarrier()]))
                    attempt("waitany", lambda: torus.waitany([job.Ibarrier(), job.Ibarrier()]))
                    attempt("DistArray", lambda: torus.DistArray((8, 9 + next(numbers))).T)
                call = job.Allreduce_init(x, y)
                call.start().wait()
            assert y == 1 and len(delays) == 12 and max(delays.values()) < 0.2, delays
            print("ended")
        """, ranks=1)
        self.assertEqual(lines, ["ended"])

    def test_the_creation_of_a_persistent_call_does_not_wait_for_other_ranks(self):
        lines = self.run_ranks("""
            with torus.Job() as job:
                first, total = job.Dup(), np.zeros(1)
                if job.rank == 0:
                    call = job.Allreduce_init(np.ones(1), total)
                first.Barrier()  # rank 1 has not initialized
                if job.rank == 1:
                    call = job.Allreduce_init(np.ones(1), total)
                call.start().wait()
                print(total[0])
        """)
        self.assertEqual(lines, ["2.0", "2.0"])

    def test_interrupts_at_any_moment_break_nothing(self):
        lines = self.run_ranks("""
            import random
            armed = False
            def interrupt(*_):
                if armed:
                    raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, interrupt)
            hits, requests = 0, []
            with torus.Job() as job:
                for attempt in range(400):
                    out, request = np.zeros(5), None
                    try:
                        armed = True
                        signal.setitimer(signal.ITIMER_REAL, random.random() * 1e-3, 0.01)
                        request = job.Iallreduce(np.full(5, 3.0), out)
                        job.Bcast(torus.empty(3))
                        request.wait()
                        while True:
                            job.Barrier()
                    except KeyboardInterrupt:
                        hits += 1
                    finally:
                        armed = False
                    if request:
                        request.wait(20)
                        assert (out == 3).all()
                signal.setitimer(signal.ITIMER_REAL, 0)
                job.Barrier()
            print(hits)
        """, ranks=1)
        self.assertIn("400", lines)  # Python prints and drops an interrupt in a destructor

    def test_an_exception_leaves_at_once(self):
        lines = self.run_ranks("""
            try:
                with torus.Job() as job:
                    group = job.Dup()
                    x = torus.empty(3)
                    x[:] = 7
                    if job.rank == 0:
                        request = job.Iallreduce(torus.IN_PLACE, x)
                        raise KeyError("wrong")
                    try:
                        group.Allreduce(torus.IN_PLACE, x)
                    except torus.RankFailedError as error:
                        print(error.ranks, "left" in str(error))
            except KeyError:
                try:
                    request.wait()
                except torus.ShutdownError as error:
                    print(type(error).__name__, x.tolist())
                time.sleep(1)  # the other rank does not wait for the end of this process
        """)
        self.assertEqual(lines, ["(0,) True", "ShutdownError [7.0, 7.0, 7.0]"])

    def test_arrays_outlive_the_job(self):
        lines = self.run_ranks("""
            with torus.Job() as job:
                small, large = torus.empty(10), torus.empty((1000, 1000))
                large[:] = job.rank + 1
                job.Allreduce(torus.IN_PLACE, large)
            small[:] = 5
            part = large[3:5, 7:9]
            large += 1
            del large
            gc.collect()
            print(part.tolist(), small.sum())
            for call in (lambda: job.Barrier(), lambda: torus.empty(3), lambda: job.empty(3),
                         lambda: job.allgather(1), lambda: job.Dup(), lambda: job.node):
                try:
                    call()
                except torus.ShutdownError:
                    continue
                print("not refused")
            job.close()
        """)
        self.assertEqual(lines, ["[[4.0, 4.0], [4.0, 4.0]] 50.0"] * 2)

    def test_forked_children_send_nothing(self):
        lines = self.run_ranks("""
            import multiprocessing
            job = torus.Job()
            x = torus.empty(4)
            x[:] = 1
            request = job.Ibarrier() if job.rank == 0 else None
            def child():
                for call in (lambda: job.Barrier(), lambda: job.empty(3), lambda: job.Dup(),
                             lambda: request.wait() if request else job.Barrier()):
                    try:
                        call()
                        os._exit(1)
                    except torus.ForkedError:
                        pass
                job.close()
                with job:
                    pass
                assert x.sum() == 4
            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            process.join()
            pid = os.fork()
            if pid == 0:
                del x, request
                gc.collect()
                sys.exit(0)  # with destructors
            status = os.waitpid(pid, 0)[1]
            job.Barrier() if request is None else request.wait()
            job.Allreduce(torus.IN_PLACE, x)
            print(process.exitcode, status, x.tolist())
            job.close()
        """)
        self.assertEqual(lines, ["0 0 [2.0, 2.0, 2.0, 2.0]"] * 2)

    def test_the_interpreter_ends_with_everything_open(self):
        """Also with a thread that waits."""
        lines = self.run_ranks("""
            job = torus.Job()
            arrays = [torus.empty(10) for _ in range(5)]
            group = job.Dup()
            requests = [job.Ibarrier() for _ in range(3)] if job.rank == 0 else []
            persistent = job.Allreduce_init(np.ones(1), np.zeros(1))
            if requests:
                threading.Thread(target=requests[0].wait, daemon=True).start()
                time.sleep(0.05)
            else:
                try:
                    group.Barrier()  # until the other rank has ended
                except torus.RankFailedError as error:
                    assert "died" in str(error)
            print("end", flush=True)
        """)
        self.assertEqual(lines, ["end", "end"])

    def test_an_interpreter_that_ends_does_not_leave(self):
        """The destructors send nothing: the other rank sees a death, not a rank that left."""
        lines = self.run_ranks("""
            job = torus.Job()
            x = torus.empty(4)
            job.Allreduce(torus.IN_PLACE, x)
            if job.rank == 1:
                try:
                    job.Barrier()  # until the other rank has ended
                except torus.RankFailedError as error:
                    print("died" in str(error), "left" in str(error))
        """)
        self.assertEqual(lines, ["True False"])

    def test_close_ends_the_waits_of_threads(self):
        lines = self.run_ranks("""
            job = torus.Job()
            group = job.Dup()
            if job.rank == 0:
                request = job.Ibarrier()
                def wait():
                    try:
                        request.wait()
                    except torus.ShutdownError as error:
                        print("thread", error.code)
                thread = threading.Thread(target=wait)
                thread.start()
                time.sleep(0.05)
                job.close(wait=False)
                thread.join()
            else:
                try:
                    group.Barrier()
                except torus.RankFailedError as error:
                    print("rank", error.ranks[0])
                job.close()
        """)
        self.assertEqual(lines, ["rank 0", "thread -15"])

    def test_close_while_threads_call(self):
        """Calls of four threads end with ShutdownError; their arrays live on."""
        lines = self.run_ranks("""
            def work(group, ended):
                x = np.zeros(1)
                try:
                    while True:
                        x, y = torus.empty(1000, job=job), np.zeros(1000)
                        group.Iallreduce(x, y)
                        (torus.DistArray((10, 7), group=group) + 1).sum()
                except torus.ShutdownError:
                    ended.append(x)
            for attempt in range(5):
                job, ended = torus.Job(f"job {attempt}", rank=0, size=1), []
                groups = [job.Dup() for _ in range(4)]
                threads = [threading.Thread(target=work, args=(g, ended)) for g in groups]
                for thread in threads:
                    thread.start()
                time.sleep(0.02 * attempt)
                job.close(wait=False)
                for thread in threads:
                    thread.join()
                assert len(ended) == 4
                for x in ended:
                    x += 1
                del x, ended
                gc.collect()
            print("end")
        """, ranks=1)
        self.assertEqual(lines, ["end"])

    def test_collected_groups_are_freed(self):
        """More groups in turn than a process may have: dropped, in cycles, with plans, topologies,
        inter-groups and persistent calls, by another thread, and at different times on the ranks."""
        lines = self.run_ranks("""
            with torus.Job() as job:
                for i in range(150):
                    group = job.Split(job.rank % 2, 0)
                    if job.rank == 1 and i % 3 == 0:
                        kept = group  # ranks drop groups at different times
                for i in range(60):
                    grid = job.Create_cart([job.size], periods=True)
                    grid.neighbor_allgather(i)
                    x = torus.DistArray((4, 2), group=grid).T
                    y = np.zeros(1)
                    request = grid.Iallreduce(np.ones(1), y)
                    del grid  # the call is in flight
                    request.wait()
                    assert y[0] == job.size and x.sum() == 0
                for i in range(60):
                    pair = job.Icreate_intergroup([0], [1]).wait()
                    carrier = pair.carrier
                    del pair
                    assert carrier.allgather(i) == [i, i]
                for i in range(60):
                    call = job.Dup().Allreduce_init(np.ones(1), y)  # outlives its group
                    call.start().wait()
                for i in range(60):
                    threading.Thread(target=job.Dup().Free).start()
                print("ended")
        """, options=["--set", "limits.groups_per_process=40"])
        self.assertEqual(lines, ["ended", "ended"])

    def test_groups_in_cycles_are_collected_in_time(self):
        lines = self.run_ranks("""
            gc.disable()  # as if the collector never ran by itself
            with torus.Job() as job:
                for i in range(1200):
                    group = job.Dup()
                    group.me = group
                print(job.context.groups < 300)
            del group
            gc.collect()  # after the close
        """)
        self.assertEqual(lines, ["True", "True"])

    def test_a_group_that_ends_with_the_interpreter(self):
        lines = self.run_ranks("""
            job = torus.Job()
            group = job.Dup()
            group.me = group
            call = group.Barrier_init()
            request = call.start()
            if os.fork() == 0:
                del group, call, request
                gc.collect()
                os._exit(0)
            os.wait()
            request.wait()
            group.Barrier()
            print("ended")
            job.close()
        """)
        self.assertEqual(lines, ["ended", "ended"])

    def test_a_rank_that_dies(self):
        lines = self.run_ranks("""
            job = torus.Job()
            job.Barrier()
            if job.rank == 2:
                os._exit(0)
            try:
                job.Barrier()
            except torus.RankFailedError as error:
                print(error.ranks, error.node)
            with job.Shrink() as rest:
                print(rest.allgather(job.rank))
        """, ranks=4, shape="2x2")
        self.assertEqual(lines, sorted(["(2,) 2", "[0, 1, 3]"] * 3))

    def test_a_late_rank_is_named(self):
        lines = self.run_ranks("""
            with torus.Job() as job:
                job.timeout = 0.2
                group = job.Dup()
                group.timeout = 0.2
                if job.rank != 1:
                    try:
                        group.Barrier()
                    except TimeoutError as error:
                        print(type(error).__name__, error.ranks)
                    os.kill(os.getppid(), 0)
                job.timeout = None
                job.Barrier()
        """, ranks=3)
        self.assertEqual(lines, ["OperationTimeoutError (1,)"] * 2)

    def test_pickle_needs_known_peers(self):
        text = """
            with torus.Job(allow_pickle={allow}) as job:
                try:
                    print(job.authenticated, job.allreduce(1))
                except torus.NotPermittedError as error:
                    print(job.authenticated, "pickle" in str(error))
                for call in job.bcast, job.gather:  # also on ranks that load nothing
                    try:
                        call(1)
                        assert {allow} or job.authenticated
                    except torus.NotPermittedError:
                        assert not job.authenticated
                with job.Icreate_intergroup([0], [1]).wait() as pair:
                    for call, root in ((pair.allgather, ()), (pair.bcast, (torus.ROOT, 0)),
                                       (pair.gather, (0, torus.ROOT)), (pair.alltoall, ())):
                        try:
                            call([1], *root[job.rank:job.rank + 1])
                            assert {allow} or job.authenticated
                        except torus.NotPermittedError:
                            assert not ({allow} or job.authenticated)
                total = np.zeros(1)
                job.Allreduce(np.ones(1), total)
                assert total == 2
        """
        tcp = ["--set", "security.insecure=yes", "--transport", "tcp"]
        open_ = self.run_ranks(text.format(allow=False), options=tcp, shape="2")
        self.assertEqual(open_, ["False True"] * 2)
        self.assertEqual(self.run_ranks(text.format(allow=True), options=tcp, shape="2"),
                         ["False 2"] * 2)
        self.assertEqual(self.run_ranks(text.format(allow=False), shape="2"), ["True 2"] * 2)

    def test_no_daemon_and_wrong_jobs(self):
        done = subprocess.run([sys.executable, "-c", BEGIN + textwrap.dedent("""
            try:
                torus.Job(socket="/nonexistent")
            except ConnectionError as error:
                print(type(error).__name__, "systemctl start torusd" in str(error))
            try:
                torus.current()
            except torus.ShutdownError as error:
                print(error)
            try:
                torus.Job("heat\\0of the sun")
            except ValueError as error:
                print(error)
        """)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.splitlines(), [
            "NoDaemonError True", "this process has joined no job: call torus.Job()",
            "the name of a job cannot contain a NUL character"])
        lines = self.run_ranks("""
            try:
                torus.Job(rank=9, size=2)
            except torus.InvalidError as error:
                print(error.ranks)
        """, ranks=1)
        self.assertEqual(lines, ["(9,)"])

    def test_a_job_that_is_not_closed_is_a_warning(self):
        lines = self.run_ranks("""
            import warnings
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                torus.Job()
                gc.collect()
            print([w.category.__name__ for w in caught])
        """, ranks=1)
        self.assertEqual(lines, ["['ResourceWarning']"])

    def test_a_misspelt_variable_is_told_once(self):
        done = subprocess.run([CTL, "emulate", "1", "--", "env", "TORUS_SIZES=2", sys.executable, "-c",
                               "import torus; torus.Job().close(); torus.Job('again', size=1).close()"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("torus: warning: TORUS_SIZES is in the environment, but torusd has no such "
                                           "variable: the nearest is TORUS_SIZE\n"), 1, done.stderr)

    def test_import_compares_versions(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "v.c"), os.path.join(folder, "v.so")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int torus_version(void) { return 0x000900; }\n")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            done = subprocess.run([sys.executable, "-c", "import torus"], capture_output=True,
                                  text=True, env={**os.environ, "LD_PRELOAD": library})
        self.assertRegex(done.stderr, r"ImportError: torus was built for libtorus 0\.\d+\.\d+, but "
                                      r"libtorus 0\.9\.0 is installed")
        done = subprocess.run([sys.executable, "-c", "import torus"], capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": ""})
        self.assertIn("ImportError: cannot load libtorus", done.stderr)


if __name__ == "__main__":
    unittest.main()

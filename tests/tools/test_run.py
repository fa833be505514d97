#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torusctl run: ranks of a job on the running daemon of this host.

usage: test_run.py TORUSCTL HELLO
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
HELLO = os.path.abspath(sys.argv.pop(1))
TORUSD = os.path.join(os.path.dirname(CTL), "torusd")
DEADLINE_S = 60


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith(("TORUS_S", "XDG_"))}
        cls.environment |= {"HOME": cls.folder.name, "XDG_RUNTIME_DIR": cls.folder.name}
        cls.daemon = subprocess.Popen([TORUSD, "--user"], env=cls.environment, stderr=subprocess.DEVNULL)
        until = time.monotonic() + DEADLINE_S
        while not os.path.exists(cls.folder.name + "/torusd/torusd.sock") and time.monotonic() < until:
            time.sleep(0.01)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait(DEADLINE_S)
        cls.folder.cleanup()

    def begin(self, *arguments):
        return subprocess.Popen([CTL, "run", *arguments], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_it(self, *arguments, code=0):
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, code, out + err)
        return sorted(out.splitlines()), err

    def test_all_ranks_are_numbered_from_0(self):
        lines, _ = self.run_it("-n", "3", "--", HELLO)
        self.assertEqual(lines, [f"[{r}] rank {r} of 3: the sum is 3" for r in range(3)])
        lines, _ = self.run_it("--", HELLO)
        self.assertEqual(lines, ["rank 0 of 1: the sum is 0"])

    def test_a_part_of_a_job_meets_the_others(self):
        part = ("--job", "parts", "--size", "4", "-n", "2", "--", HELLO)
        processes = [self.begin(*part), self.begin(*part)]
        lines = []
        for process in processes:
            out, err = process.communicate(timeout=DEADLINE_S)
            self.assertEqual(process.returncode, 0, err)
            lines += [line.split("] ", 1)[1] for line in out.splitlines()]
        self.assertEqual(sorted(lines), [f"rank {r} of 4: the sum is 6" for r in range(4)])

    def test_a_job_that_waits_for_ranks_says_so_once(self):
        part = ("--job", "lone", "--size", "3", "-n", "1", "--", HELLO)
        process = self.begin(*part)
        self.assertEqual(process.stderr.readline(),
                         "torusctl run: job lone: 1 of 3 ranks have joined; torusctl why lone\n")
        _, err = self.run_it("--job", "lone", "--size", "3", "-n", "2", "--", HELLO)
        self.assertEqual(err, "")
        _, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, err), (0, ""))

    def test_the_first_code_that_is_not_0_is_that_of_all(self):
        self.run_it("-n", "3", "--", "sh", "-c", "test $TORUS_RANK != 1 || exit 7", code=7)
        self.run_it("--", "/nonexistent/program", code=127)

    def test_a_rank_that_ends_before_the_job_forms_ends_the_joins(self):
        _, err = self.run_it("-n", "2", "--", "sh", "-c", f"test $TORUS_RANK != 1 || exit 5; exec {HELLO}", code=5)
        self.assertIn("rank 1 ended (code 5) before the job formed", err)

    def test_a_rank_that_a_signal_kills_is_named(self):
        _, err = self.run_it("-n", "2", "--", "sh", "-c", "test $TORUS_RANK != 1 || kill -KILL $$", code=137)
        self.assertIn("[1] torusctl: killed by signal 9 (Killed)\n", err)

    def test_signals_reach_the_ranks_and_nothing_is_left(self):
        process = self.begin("-n", "2", "--", "sh", "-c", "echo ready; exec sleep 1000")
        for _ in range(2):
            self.assertRegex(process.stdout.readline(), r"\[[01]\] ready\n")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertNotIn("killed by", err)  # the user knows

    def test_what_is_wrong_is_said(self):
        for arguments, words in [(("-n", "0", "--", HELLO), "must be 1 to 16384"), (("-n", "2"), "missing command"),
                                 (("-n", "2", "--size", "4", "--", HELLO), "needs a name, the same there: --job NAME"),
                                 (("-n", "5", "--size", "4", "--job", "x", "--", HELLO), "-n is larger than --size"),
                                 (("--shape", "2", "--", HELLO), "unknown option --shape"),
                                 (("-n", "2", "./loop"), "put -- before the command: -- ./loop")]:
            self.assertIn(words, self.run_it(*arguments, code=2)[1])
        _, err = self.run_it("--socket", "/nonexistent/s", "--", HELLO, code=3)
        self.assertIn("/nonexistent/s", err)


unittest.main()

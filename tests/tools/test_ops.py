# SPDX-License-Identifier: Apache-2.0
"""torusctl ops with ranks that wait for one rank."""
import json
import os
import subprocess
import sys
import time
import unittest

CTL = os.path.abspath(sys.argv.pop(1))
LATE = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 60
CALLS = ["allreduce(sum, double, 1)", "scan(sum, double, 1000)", "gather(double, 1000, root 1)",
         "shrink"]


class Operations(unittest.TestCase):
    def waiting(self, shape, ranks, fabric):
        """Starts ranks of which rank 0 is late; returns the process and the socket of its daemon."""
        process = subprocess.Popen([CTL, "emulate", shape, "--ranks", str(ranks), "--fabric", fabric,
                                    "--", LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        socket = process.stdout.readline().split()[-1]
        return process, socket

    def ops(self, socket, *options):
        done = subprocess.run([CTL, "ops", "--socket", socket, *options], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def until(self, socket, condition):
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            found = json.loads(self.ops(socket, "--json"))["operations"]
            if condition(found):
                return found
        self.fail(f"still {found}")

    def test_who_is_missing_is_told_for_every_kind_of_operation(self):
        for shape, ranks, fabric in [("1x3", 5, "direct"), ("2x2", 4, "routed")]:
            process, socket = self.waiting(shape, ranks, fabric)
            others = list(range(1, ranks))
            # node 0 is also the root of the tree on the routed fabric: it knows all arrivals
            found = self.until(socket, lambda all: len(all) == 4 and
                               {tuple(o["missing"]) for o in all} == {(0,)})
            self.assertEqual([o["kind"] for o in found], CALLS)
            for number, o in enumerate(found):
                self.assertEqual(o["sequence"], number % 3)  # shrinks are numbered by themselves
                self.assertEqual((o["phase"], o["arrived"], o["late"]), ("waiting", others, False))
                self.assertGreater(o["age_ns"], 0)
                here = {c["rank"]: c["arrived"] for c in o["here"]}
                self.assertEqual(here, {0: False, 1: True} if fabric == "direct" else {0: False})
                self.assertEqual({c["program"] for c in o["here"]}, {"late"})
            text = self.ops(socket)
            self.assertIn("4 operations are in flight", text)
            self.assertEqual(text.count(f"arrived   {ranks - 1} of {ranks} ranks: 1-{ranks - 1}\n"
                                        "  missing   0\n"), 4)
            self.assertEqual(text.count("late: has not called"), 4)
            process.stdin.close()
            self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_nothing_in_flight_is_said(self):
        done = subprocess.run([CTL, "emulate", "1", "--", CTL, "ops"], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stdout), (0, "node 0: no operation is in flight\n"))

    def test_wrong_usage_and_no_daemon_are_told_apart(self):
        for options, code in ((["--what"], 2), (["--socket", "/nonexistent/socket"], 3)):
            done = subprocess.run([CTL, "ops", *options], capture_output=True, text=True,
                                  timeout=DEADLINE_S)
            self.assertEqual(done.returncode, code)
            self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()

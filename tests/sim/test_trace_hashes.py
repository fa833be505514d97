# SPDX-License-Identifier: Apache-2.0
"""The same options and seed give the same history on every machine and with every compiler option:
some runs of torus-sim have the slots and the trace hash that stand in trace_hashes.txt. After a
change that is meant to alter decisions:

    python3 tests/sim/test_trace_hashes.py build/bin/torus-sim --print >tests/sim/trace_hashes.txt
"""
import json
import os
import subprocess
import sys
import unittest

SIM = os.path.abspath(sys.argv.pop(1))
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_hashes.txt")

RUNS = [
    "--shape 4x4 --method random --packets 4 --seed 1",
    "--shape 3x5 --mesh --method random --packets 3 --seed 2",
    "--shape 8x4 --method random --packets 2 --seed 18446744073709551615 --escape-only --slots 2",
    "--shape 4x3x2 --method phased --packets 4 --seed 3",
    "--shape 5mx4 --method phased --packets 3 --seed 4 --barrier-scope all",
    "--shape 2x6 --method two-phase --packets 3 --seed 5",
    "--shape 3x4mx3 --method two-phase --packets 1 --seed 6 --control 3",
    "--shape 4x4 --method pairwise --packets 2 --seed 7",
    "--shape 6x3 --method auto --bytes 5000 --packet 2048 --seed 8 --arbitration none",
]


def outcome(run):
    """Return the values in the line of a run."""
    done = subprocess.run([SIM, "alltoall", "--json", *run.split()], capture_output=True, text=True,
                          timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{run}: {done.stderr}")
    got = json.loads(done.stdout)
    return f"{got['trace_hash']} {got['slots']:9.3f} slots  {run}"


class Histories(unittest.TestCase):
    maxDiff = None

    def test_are_the_same_everywhere(self):
        with open(EXPECTED, encoding="ascii") as f:
            self.assertEqual([outcome(run) for run in RUNS], f.read().splitlines())

    def test_depend_on_the_seed(self):
        first, other = (outcome(f"--shape 3x3 --method random --packets 2 --seed {seed}").split()[0]
                        for seed in (1, 2))
        self.assertNotEqual(first, other)


if __name__ == "__main__":
    if "--print" in sys.argv:
        print("\n".join(outcome(run) for run in RUNS))
    else:
        unittest.main()

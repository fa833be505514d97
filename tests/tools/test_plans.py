# SPDX-License-Identifier: Apache-2.0
"""torusctl plans with a daemon that measures in the background."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

CTL = os.path.abspath(sys.argv.pop(1))
DEADLINE_S = 90
# waits until no plan is an estimate
WAIT = f"while {CTL} plans --json | grep -Eq '\"(estimate|measuring)\"'; do :; done"


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.transform = f"{os.path.join(os.path.dirname(CTL), 'torus-array')} fft {self.folder}/in.npy {self.folder}/out.npy"
        np.save(self.folder + "/in.npy", np.ones((30, 24)) + 0j)

    def daemon(self, effort, *commands):
        return subprocess.run(
            [CTL, "emulate", "1", "--verbose", "--set", f"fft.effort={effort}", "--set",
             f"node.state_directory={self.folder}", "--", "sh", "-ec", "\n".join(commands)],
            capture_output=True, text=True, timeout=DEADLINE_S)

    def run_commands(self, effort, *commands):
        done = self.daemon(effort, *commands)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def plans(self, effort, *commands):
        out = self.run_commands(effort, *commands, f"{CTL} plans --json")
        return json.loads(out[out.index("{"):])["plans"]

    def test_a_new_daemon_has_none(self):
        self.assertIn("no plans yet", self.run_commands("measure", f"{CTL} plans"))
        self.assertEqual(self.plans("measure"), [])

    def test_estimates_are_served_where_nothing_is_measured(self):
        plans = self.plans("estimate", self.transform)
        self.assertTrue(plans)
        for plan in plans:
            self.assertEqual((plan["effort"], plan["kind"], plan["precision"]),
                             ("estimate", "c2c", "double"))
            self.assertGreater(plan["uses"], 0)
        self.assertLessEqual({plan["length"] for plan in plans}, {30, 24})
        self.assertFalse(os.path.exists(self.folder + "/wisdom"))

    def test_what_was_used_is_measured_and_kept(self):
        measured = self.plans("measure", self.transform, WAIT)
        self.assertTrue(measured)
        for plan in measured:
            self.assertEqual(plan["effort"], "measure")
            self.assertGreater(min(plan["measured_ns"], plan["estimate_ns"], plan["planning_ns"]), 0)
        uses = [plan["uses"] for plan in measured]
        self.assertEqual(uses, sorted(uses, reverse=True))
        kept = self.plans("wisdom")
        self.assertEqual([plan["measured_ns"] for plan in kept],
                         [plan["measured_ns"] for plan in measured])
        self.assertIn("measure", self.run_commands("wisdom", f"{CTL} plans"))

    def test_a_damaged_file_is_told_and_replaced(self):
        path = self.folder + "/wisdom"
        self.plans("measure", self.transform, WAIT)
        with open(path) as f:
            good = f.read()
        for text, why in (("torusd wisdom 1\nnonsense\n", "is from another FFTW or processor"),
                          ("nonsense", "is corrupt"), ("", "is corrupt"),
                          (good[:-20], "is corrupt"),
                          (good + "more", "is corrupt")):
            with self.subTest(why=why, begin=text[:30]):
                with open(path, "w") as f:
                    f.write(text)
                done = self.daemon("wisdom", f"{CTL} plans")
                self.assertEqual(done.returncode, 0)
                self.assertIn("no plans yet", done.stdout)
                self.assertRegex(done.stdout + done.stderr, f"{path}: the file {why}")
                self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    unittest.main()

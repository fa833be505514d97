# SPDX-License-Identifier: Apache-2.0
"""Every rank runs the tests of all modules test_*.py here, in one order, in one job.

usage, under torusctl emulate: world.py [MODULE ...]
"""
import glob
import os
import sys
import unittest

import numpy as np

import torus

job = None  # of this process


class RankTest(unittest.TestCase):
    """A test that all ranks run together. `random` has equal numbers on all ranks."""

    def setUp(self):
        self.job = job
        self.random = np.random.default_rng(11)

    def close(self, result, reference, bound=1e-12):
        """Fails if the relative L2 error is larger than the bound."""
        result, reference = np.asarray(result), np.asarray(reference)
        if reference.dtype == bool:
            np.testing.assert_array_equal(result, reference)
            return
        self.assertEqual(result.shape, reference.shape)
        if reference.size:
            error = np.linalg.norm((result - reference).ravel())
            self.assertLessEqual(error, bound * max(1e-300, np.linalg.norm(reference.ravel())))


def main():
    global job
    folder = os.path.dirname(os.path.abspath(__file__))
    names = sys.argv[1:] or sorted(os.path.basename(p)[:-3]
                                   for p in glob.glob(os.path.join(folder, "test_*.py")))
    with torus.Job() as job:
        sys.modules["world"] = sys.modules["__main__"]
        job.timeout = 30
        loader = unittest.TestLoader()
        suite = unittest.TestSuite(loader.loadTestsFromName(name) for name in names)
        quiet = open(os.devnull, "w") if job.rank else sys.stderr
        result = unittest.TextTestRunner(stream=quiet, failfast=True, verbosity=1).run(suite)
        for test, text in result.errors + result.failures:
            print(f"{test}\n{text}", flush=True)
        if not result.wasSuccessful() or result.testsRun < 10:
            os._exit(1)  # at once: other ranks may wait for this one
        if job.rank:
            quiet.close()


if __name__ == "__main__":
    main()

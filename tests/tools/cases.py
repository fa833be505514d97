# SPDX-License-Identifier: Apache-2.0
"""cases: which cases a test takes that starts daemons for each of them. A sanitized build takes a third: its
processes start and end slowly, and the release build takes them all."""
import os

SANITIZED = bool(os.environ.get("TORUS_TEST_SANITIZED"))


def pick(cases):
    """Returns the cases of this run, the first included."""
    return cases[::3] if SANITIZED else cases

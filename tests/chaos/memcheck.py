#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memcheck.py: two daemons and their ranks under valgrind: calls of all kinds, a death, a shrink, a daemon that dies.

usage: memcheck.py BUILD

No process reads or writes memory that it may not, uses values that were never set, or loses memory. It needs valgrind,
and root, to make network namespaces.
"""
import os
import shutil
import sys
import time

from machine import SKIPPED, Failure, Machine, check_sound, enter, until

ERRORS = 99
VALGRIND = ["valgrind", "--quiet", f"--error-exitcode={ERRORS}", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--trace-children=no", "--num-callers=30"]
LIMIT_S = 300


def main():
    build = os.path.abspath(sys.argv[1])
    if not shutil.which("valgrind"):
        print("skipped: apt-get install valgrind")
        sys.exit(SKIPPED)
    enter()
    more = {"limits": {"progress_timeout": "20s"}, "network": {"heartbeat": "2s"}}
    with Machine(build, 2, more, wrap=VALGRIND) as machine:
        for n in range(2):
            machine.start(n)
        machine.wait_ready(range(2), LIMIT_S)
        job = machine.job([0, 1, 1, 0], 20000, 8)
        job.wait_joined(LIMIT_S)
        since = time.monotonic()

        def all_meet(ranks):
            return lambda: all(p.meets(since) and set(p.members) == ranks for p in job.alive() if p.rank in ranks)
        until(LIMIT_S, all_meet({0, 1, 2, 3}), "the ranks do not meet")
        time.sleep(10)  # calls of all kinds
        since = job.player[2].kill()
        until(LIMIT_S, all_meet({0, 1, 3}), lambda: "the survivors do not go on\n" + machine.describe())
        machine.signal(1, 15)
        until(LIMIT_S, all_meet({0, 3}), lambda: "the survivors do not go on\n" + machine.describe())
        check_sound(machine.jobs)
        machine.end_jobs()
        codes = [machine.process[1].wait(LIMIT_S)]
        machine.signal(0, 15)
        codes.append(machine.process[0].wait(LIMIT_S))
        if codes != [0, 0]:
            raise Failure(f"the daemons end with {codes}:\n" + machine.log(0) + machine.log(1))
    print("memcheck: clean")


if __name__ == "__main__":
    main()

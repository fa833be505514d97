#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sixteen.py: commands answer at once on a machine of sixteen daemons, of which one is dead and one is stopped.

usage: sixteen.py BUILD

status, ops and jobs have a time for all answers, 0.8 s. They list the two daemons that do not answer, with the reason,
and have the answers of the fourteen others. The time of the whole command has a generous bound, as the machine may be
busy; the median is printed. It needs root.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

from machine import Failure, Machine, enter, until

NODES, DEAD, STOPPED = 16, 6, 11
BOUND_S = 5
TIMES = 5 if os.environ.get("TORUS_TEST_LONG", "0") not in ("", "0") else 1


def ask(machine, node, *words):
    began = time.monotonic()
    run = subprocess.run([os.path.join(machine.bin, "torusctl"), *words, "--socket", machine.socket(node)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    took = time.monotonic() - began
    if run.returncode != 0:
        raise Failure(f"torusctl {words} ended with {run.returncode}: {run.stderr}")
    if took > BOUND_S:
        raise Failure(f"torusctl {words} took {took:.1f} s")
    return run.stdout, took


def check(machine, node, command):
    """Asks once, and returns whether all live nodes answered, and the time. A busy machine may be late."""
    text, took = ask(machine, node, command, "--json")
    silent = {s["node"]: s["error"] for s in json.loads(text)["silent"]}
    if not {DEAD, STOPPED} <= set(silent):
        raise Failure(f"{command}: nodes {DEAD} and {STOPPED} are silent, not {silent}")
    if not all(silent.values()):
        raise Failure(f"{command}: no reason in {silent}")
    return set(silent) == {DEAD, STOPPED}, took


def main():
    enter()
    more = {"network": {"heartbeat": "500ms"}, "limits": {"progress_timeout": "60s"}}
    with Machine(sys.argv[1], NODES, more) as machine:
        machine.start_all()
        job = machine.job([n for n in range(NODES) if n not in (DEAD, STOPPED)], 20000)
        job.wait_joined()
        machine.kill(DEAD)
        machine.signal(STOPPED, signal.SIGSTOP)
        for command in ("status", "ops", "jobs"):
            times = []
            for node in [0, 15, 5] * TIMES:
                all_answer, took = check(machine, node, command)
                if not all_answer:
                    until(60, lambda node=node, command=command: check(machine, node, command)[0],
                          lambda: f"{command}: a live node never answers in time")
                times.append(took)
            text, _ = ask(machine, 0, command)
            for node in (DEAD, STOPPED):
                if f"! node {node} did not answer" not in text:
                    raise Failure(f"torusctl {command} does not list node {node}:\n{text}")
            print(f"torusctl {command}: {statistics.median(times):.3f} s (median of {len(times)}), at most "
                  f"{max(times):.3f} s", flush=True)
        machine.signal(STOPPED, signal.SIGCONT)
        machine.end_jobs()
        machine.process[DEAD] = None
        machine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

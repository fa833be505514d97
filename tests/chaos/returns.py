#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""returns.py: hosts that did not run for longer than progress_timeout come back, and the calls of the others go on.

usage: returns.py BUILD [--rounds N] [--seed S]

Nine hosts on the routed fabric, one or two ranks on each. In each round the daemons and ranks of two neighbouring hosts
are stopped for 8 s. The others shrink their group and go on without them. When the two run again, packets of the others
travel through them. After the shrink no call of the others may end with an error, or wait for as long as a stall does.
It needs root, to make network namespaces.
"""
import argparse
import random
import signal
import sys
import time

from machine import Failure, Machine, check_sound, enter, until

NODES, STOPPED_S, AFTER_S = 9, 8, 6
STALL_S = 9  # three times progress_timeout: only then a packet that is lost is noticed


def play(machine, number, rng):
    first = rng.randrange(NODES)
    hosts = (first, (first + 1) % NODES)
    each = rng.choice((1, 2))
    job = machine.job([n for n in range(NODES) for _ in range(each)], 4000, 8)
    job.wait_joined()
    time.sleep(rng.uniform(0.5, 1.5))
    stopped = [p for p in job.player if p.node in hosts]
    others = [p for p in job.player if p.node not in hosts]
    for n in hosts:
        machine.signal(n, signal.SIGSTOP)
    for p in stopped:
        p.kill(signal.SIGSTOP)
    began = time.monotonic()
    until(60, lambda: all(p.shrunk for p in job.read().player if p in others),
          lambda: "the others do not go on\n" + machine.describe())
    time.sleep(max(0.0, began + STOPPED_S - time.monotonic()))
    for n in rng.sample(hosts, 2):
        machine.signal(n, signal.SIGCONT)
        time.sleep(rng.choice((0, 0, 0.2)))
    for p in stopped:
        p.kill(signal.SIGCONT)
    back = time.monotonic()
    time.sleep(AFTER_S)
    since = time.monotonic()
    until(STALL_S + 60, lambda: all(p.meets(since) for p in job.read().player if p in others),
          lambda: "calls do not end\n" + machine.describe())
    for p in others:
        for error in p.errors:
            if error.at > back:
                raise Failure(f"round {number}, hosts {hosts} were back: {p}: {error}")
        for from_, to, _, _ in p.waits:
            if to > back and to - from_ > STALL_S:
                raise Failure(f"round {number}, hosts {hosts} were back: {p} waited for {to - from_:.1f} s")
    check_sound([job])
    machine.end_jobs()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enter()
    rng = random.Random(options.seed)
    with Machine(options.build, NODES, {"torus": {"fabric": "routed"}}) as machine:
        machine.start_all()
        machine.wait_old(4)
        for number in range(options.rounds):
            play(machine, number, rng)
        machine.probe()
        machine.check_idle()
        machine.stop()
    print(f"returns: two hosts were stopped and came back {options.rounds} times, and no call of the others noticed")


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        print(f"returns: {e}", file=sys.stderr)
        sys.exit(1)

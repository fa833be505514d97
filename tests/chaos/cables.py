#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cables.py: a cable that is out for less than progress_timeout costs nobody a call, and no time once it is in again.

usage: cables.py BUILD

Two hosts, and a job on both. The cable of one of them is taken out and put in again, three times: connections end, and
new ones fail at once with "network is unreachable", or with "host is unreachable" on the other host. That says nothing
of the daemon there. The log of the host whose interface was down names that interface. TCP's pauses between attempts must not
grow meanwhile beyond a second (Linux 6.15 and later). It needs root, to make network namespaces.
"""
import os
import re
import subprocess
import sys
import time

from machine import Failure, Machine, check_sound, enter, in_host, until

OUT_S, PATIENCE_S, ROUNDS, PAUSE_MS = 8, 20, 3, 1000


def named(machine):
    """Returns how often the log of each node has named its own interface."""
    return [machine.log(n).count(f"interface net0 of node {n} ") for n in range(2)]


def slow(host):
    """Returns the connections of a host that send messages and would wait for longer than PAUSE_MS."""
    lines = subprocess.run([*in_host(host), "ss", "-tnoi", "state", "established"], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return [line + more for line, more in zip(lines, lines[1:])
            if " unacked:" in more and int(re.search(r" rto:(\d+)", more)[1]) > PAUSE_MS]


def main():
    enter()
    version = [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]]
    limited = version >= [6, 15]
    if not limited:
        print("cables: this kernel cannot limit TCP's pauses: they are not looked at")
    more = {"limits": {"progress_timeout": f"{PATIENCE_S}s"}}
    with Machine(sys.argv[1], 2, more) as machine:
        machine.start_all()
        job = machine.job([0, 0, 1, 1], 2000, 7)
        job.wait_joined()
        for k in range(ROUNDS):
            before = named(machine)
            machine.unplug(k % 2)
            time.sleep(OUT_S)
            waiting = [line for host in range(2) for line in slow(host)]
            if limited and waiting:
                raise Failure("TCP waits for longer than a second:\n" + "\n".join(waiting))
            machine.unplug(k % 2, False)
            since = time.monotonic()
            until(4 * PATIENCE_S, lambda since=since: all(p.meets(since) for p in job.alive()),
                  lambda: "the ranks do not meet again\n" + machine.describe())
            blamed = [n for n, count in enumerate(named(machine)) if count > before[n]]
            if blamed != [k % 2]:
                raise Failure(f"nodes {blamed} named an interface of their own, not {k % 2}\n" + machine.describe())
        check_sound([job])
        told = [f"{p} was told {e}" for p in job.player for e in p.errors]
        if told:
            raise Failure("nothing was lost, but " + "; ".join(told) + "\n" + machine.describe())
        machine.end_jobs()
        machine.check_idle()
        machine.stop()
    print(f"cables: out for {OUT_S} s {ROUNDS} times, and no call failed")


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        print(f"cables: {e}", file=sys.stderr)
        sys.exit(1)

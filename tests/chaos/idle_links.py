#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""idle_links.py: a link that no job uses ends, too, when its way is lost.

usage: idle_links.py BUILD

Four hosts, and a job on all of them that makes no call, so that only heartbeats pass. One host becomes deaf to another
one, and the job ends a second later: no daemon judges the silence of that link any more. TCP would try again after ever
longer pauses, and the link would carry nothing for as long again as its way was lost. It must end after progress_timeout,
and the calls of a new job must succeed when the way works again. It needs root, to make network namespaces.
"""
import signal
import subprocess
import sys
import time

from machine import Failure, Machine, enter, in_host, until

PATIENCE_S, LOST_S, LIMIT_S = 2, 15, 10


def stuck(a, b):
    """Returns the connections from host a to host b that wait for an acknowledgement."""
    lines = subprocess.run([*in_host(a), "ss", "-tnoi", "state", "established"], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return [line + more for line, more in zip(lines, lines[1:]) if f"10.77.0.{b + 1}]:" in line and " unacked:" in more]


def main():
    enter()
    more = {"limits": {"progress_timeout": f"{PATIENCE_S}s"}, "network": {"heartbeat": "400ms"}}
    with Machine(sys.argv[1], 4, more) as machine:
        machine.start_all()
        job = machine.job([0, 1, 2, 3], 1000, 8)
        job.wait_joined()
        time.sleep(1)
        for p in job.player:
            p.process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        lost = machine.mute(2, 1)
        until(LIMIT_S, lambda: stuck(2, 1), lambda: "no heartbeat got lost")
        time.sleep(1)
        machine.end_jobs()
        until(LIMIT_S, lambda: not stuck(2, 1), lambda: f"a connection still waits:\n{stuck(2, 1)}")
        time.sleep(max(0, lost + LOST_S - time.monotonic()))
        machine.mute(2, 1, False)
        time.sleep(PATIENCE_S)
        machine.probe()
        machine.check_idle()
        machine.stop()
    print(f"idle_links: a way was lost for {LOST_S} s, and its link, which no job used, ended and came back")


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        print(f"idle_links: {e}", file=sys.stderr)
        sys.exit(1)

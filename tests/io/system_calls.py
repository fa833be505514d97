#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""system_calls: count the system calls that the daemons of a job make for a barrier.

usage: system_calls.py FOLDER NODES RANKS

FOLDER has torusctl, torusd and bench_calls. bench/counts.py runs them under strace.

For a barrier, daemons wait, read and write once for each rank and for each of the two messages on an
edge of the tree of nodes. They may make a tenth more calls, for heartbeats. The
count is the difference of two runs of different length. strace counts, where it can trace; otherwise
the kernel counts reads and writes (/proc/PID/io).
"""
import glob
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench"))
import counts  # noqa: E402

SHORT, LONG = 200, 1000
TOLERANCE = 1.1


def traced(run):
    """Returns the system calls of the daemons of a run, or None if strace cannot trace."""
    try:
        return counts.system_calls(run)[0]
    except counts.Failed as failed:
        if "ptrace" in str(failed):
            return None
        sys.exit(str(failed))


def stat(number):
    """Returns the name of a process and the number of its parent."""
    with open("/proc/%s/stat" % number, encoding="utf-8", errors="replace") as f:
        name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
    return name, int(rest.split()[1])


def is_below(number, top):
    """Returns true if a process descends from another one."""
    while number > 1 and number != top:
        number = stat(number)[1]
    return number == top


def counted(run):
    """Returns the reads and writes of the daemons of a run, as the kernel counts them."""
    each = {}
    with subprocess.Popen(run) as job:
        while job.poll() is None:
            time.sleep(0.005)
            for folder in glob.glob("/proc/[0-9]*"):
                try:
                    number = int(os.path.basename(folder))
                    if stat(number)[0] != "torusd" or not is_below(number, job.pid):
                        continue
                    with open(folder + "/io", encoding="utf-8") as f:
                        io = dict(line.split(":") for line in f)
                    each[number] = int(io["syscr"]) + int(io["syscw"])
                except (OSError, IndexError, KeyError):
                    continue  # it has ended
        if job.returncode != 0:
            sys.exit("the job failed")
    return sum(each.values())


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, nodes, ranks = sys.argv[1:4]
    messages = 2 * (int(nodes) - 1)
    most = TOLERANCE * 3 * (int(ranks) + messages)
    setting = f"{nodes}x{int(ranks) // int(nodes)}"
    runs = [counts.job(folder, setting, "barrier", 0, count) for count in (SHORT, LONG)]
    found = [traced(run) for run in runs] if shutil.which("strace") else [None]
    how = "system calls"
    if None in found:
        found = [counted(run) for run in runs]
        if 0 in found:
            sys.exit("neither strace nor /proc/PID/io works here")
        how = "reads and writes"
        most = TOLERANCE * 2 * messages  # those of ranks are other calls
    each = (found[1] - found[0]) / (LONG - SHORT)
    print("%.1f %s of %s daemons for a barrier; at most %.1f" % (each, how, nodes, most))
    if each > most:
        sys.exit("the daemons make more system calls than they need (strace -f -c torusd ...)")


if __name__ == "__main__":
    main()

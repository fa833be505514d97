#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""system_calls: count the system calls that the daemons of a job make for a barrier.

usage: system_calls.py TORUSCTL CHECK_BARRIERS NODES RANKS

For a barrier, daemons wait, read and write once for each rank and for each of the two messages on an
edge of the tree of nodes. They may make a tenth more calls, for heartbeats. For a short while a
daemon looks for the next event instead of waiting: a look that finds nothing is not counted. The
count is the difference of two runs of different length. strace counts, where it can trace; otherwise
the kernel counts reads and writes (/proc/PID/io).
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SHORT, LONG = 200, 1000
TOLERANCE = 1.1


def command(torusctl, program, nodes, ranks, count):
    return [torusctl, "emulate", nodes, "--ranks", ranks, "--ranks-per-node",
            str(int(ranks) // int(nodes)), "--transport", "tcp", "--set", "security.insecure=yes",
            "--", program, str(count)]


def is_work(text):
    """Returns 1 for a call that does something, 0 for one that looks and finds nothing."""
    looked = re.match(r"(<\.\.\. )?(sched_yield|epoll_wait|epoll_pwait)\b.* = 0$", text)
    # a call that another thread interrupts has two lines: the second one says how it ended
    return 0 if looked or text.endswith("<unfinished ...>\n") else 1


def traced(run, folder):
    """Returns the system calls of the daemons of a run, or None if strace cannot trace."""
    output = os.path.join(folder, "trace")
    done = subprocess.run(["strace", "-f", "-qq", "-o", output] + run, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        if "ptrace" in done.stderr:
            return None
        sys.exit("the job failed: " + done.stdout + done.stderr)
    daemons, count = set(), 0
    with open(output, encoding="utf-8", errors="replace") as f:
        for line in f:
            number, text = line.split(None, 1)
            if re.match(r'execve\("[^"]*/torusd"', text):
                daemons.add(number)
            child = re.search(r"clone.*= (\d+)$", text)
            if child and number in daemons:
                daemons.add(child.group(1))
            if number in daemons and not text.startswith(("+++", "---")):
                count += is_work(text)
    return count


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
    counts = {}
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
                    counts[number] = int(io["syscr"]) + int(io["syscw"])
                except (OSError, IndexError, KeyError):
                    continue  # it has ended
        if job.returncode != 0:
            sys.exit("the job failed")
    return sum(counts.values())


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    torusctl, program, nodes, ranks = sys.argv[1:5]
    messages = 2 * (int(nodes) - 1)
    most = TOLERANCE * 3 * (int(ranks) + messages)
    runs = [command(torusctl, program, nodes, ranks, count) for count in (SHORT, LONG)]
    with tempfile.TemporaryDirectory() as folder:
        counts = [traced(run, folder) for run in runs] if shutil.which("strace") else [None]
    how = "system calls"
    if None in counts:
        counts = [counted(run) for run in runs]
        if 0 in counts:
            sys.exit("neither strace nor /proc/PID/io works here")
        how = "reads and writes"
        most = TOLERANCE * 2 * messages  # those of ranks are other calls
    each = (counts[1] - counts[0]) / (LONG - SHORT)
    print("%.1f %s of %s daemons for a barrier; at most %.1f" % (each, how, nodes, most))
    if each > most:
        sys.exit("the daemons make more system calls than they need (strace -f -c torusd ...)")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""counts.py: what a call takes: system calls and instructions of the daemons and of the ranks.

FOLDER has torusctl, torusd and bench_calls. Each count is the difference of two runs of different length, divided by the
calls and by the nodes. strace counts system calls; valgrind counts instructions, and slows all processes by about 50
times, so that waits are shorter beside the work than they are otherwise. Looks that find nothing are not counted as
system calls; their instructions are.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

SETTINGS = ["1x4", "4x2", "8x1"]
OPERATIONS = ["barrier", "broadcast", "allreduce", "scan", "alltoall"]
SIZES = [8, 65536]
CALLS = {"strace": (100, 500), "valgrind": (20, 100)}


def job(folder, setting, operation, size, count):
    nodes, each = setting.split("x")
    return [f"{folder}/torusctl", "emulate", nodes, "--ranks", str(int(nodes) * int(each)), "--ranks-per-node", each,
            "--transport", "tcp", "--set", "security.insecure=yes", "--", f"{folder}/bench_calls", operation, str(size),
            str(count)]


class Failed(Exception):
    """A command has failed: what, and what it printed."""


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def is_work(text):
    """Returns True for a call that does something, False for one that looks and finds nothing."""
    return not (re.match(r"(<\.\.\. )?(sched_yield|epoll_wait|epoll_pwait)\b.* = 0$", text)
                or text.endswith("<unfinished ...>")  # its second line says how it ended
                or text.startswith(("+++", "---")))


def system_calls(command):
    """Returns the system calls of the daemons, and of the ranks."""
    programs, found = {}, {"torusd": 0, "bench_calls": 0}
    with tempfile.TemporaryDirectory() as folder:
        run(["strace", "-f", "-qq", "-o", folder + "/trace"] + command)
        with open(folder + "/trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                number, text = line.rstrip("\n").split(None, 1)
                begun = re.match(r'execve\("[^"]*/(\w+)"', text)
                if begun:
                    programs[number] = begun[1]
                child = re.search(r"(clone|clone3|fork|vfork)\b.* = (\d+)$", text)
                if child:
                    programs.setdefault(child[2], programs.get(number))
                if programs.get(number) in found:
                    found[programs[number]] += is_work(text)
    return found["torusd"], found["bench_calls"]


def instructions(command):
    """Returns the instructions of the daemons, and of the ranks."""
    found = {"torusd": 0, "bench_calls": 0}
    with tempfile.TemporaryDirectory() as folder:
        run(["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={folder}/%p"] + command)
        for profile in glob.glob(folder + "/*"):
            with open(profile, encoding="utf-8") as lines:
                text = lines.read()
            program = re.search(r"^cmd:\s+(\S+)", text, re.M)
            name = os.path.basename(program[1]) if program else ""
            if name in found:
                found[name] += int(re.search(r"^(?:totals|summary): (\d+)", text, re.M)[1])
    return found["torusd"], found["bench_calls"]


def per_call(count, tool, folder, setting, operation, size):
    """Returns what the daemon and the ranks of a node take for a call."""
    short, long = CALLS[tool]
    nodes = int(setting.split("x")[0])
    few, many = (count(job(folder, setting, operation, size, n)) for n in (short, long))
    return [(b - a) / (long - short) / nodes for a, b in zip(few, many)]


def setting_of(text):
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text}: nodes x ranks per node, such as 8x1")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--setting", action="append", type=setting_of, metavar="NODESxRANKS")
    parser.add_argument("--operation", action="append", choices=OPERATIONS)
    parser.add_argument("--bytes", action="append", type=int)
    parser.add_argument("--json")
    o = parser.parse_args()
    results = []
    print(f"{'':28}system calls        instructions, thousand\n{'a node, a call':28}{'daemon':>8}{'ranks':>8}"
          f"{'daemon':>12}{'ranks':>12}")
    for setting in o.setting or SETTINGS:
        for operation in o.operation or OPERATIONS:
            for size in [0] if operation == "barrier" else o.bytes or SIZES:
                calls = per_call(system_calls, "strace", o.folder, setting, operation, size)
                work = per_call(instructions, "valgrind", o.folder, setting, operation, size)
                print(f"{setting + ' ' + operation + (f' {size} B' if size else ''):28}{calls[0]:8.1f}{calls[1]:8.1f}"
                      f"{work[0] / 1000:12.1f}{work[1] / 1000:12.1f}", flush=True)
                results.append({"setting": setting, "operation": operation, "bytes": size,
                                "system_calls": {"daemon": calls[0], "ranks": calls[1]},
                                "instructions": {"daemon": work[0], "ranks": work[1]}})
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "results": results}, f, indent=2)


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(f"counts.py: {failed}")

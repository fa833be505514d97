#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py: print which lines and branches of the core, the collectives and libtorus the tests reach.

usage: coverage.py BUILD [--json] [--least LINES BRANCHES]

BUILD was compiled with --coverage, and its tests have run (./dev coverage does both). The script reads the counts
with gcov. A file that is part of several programs counts once: a line is reached if one of them reaches it. Branches
of an assert are not counted, because its failure is never reached. It prints the figures of each folder, and the files
with the most lines that no test reaches. --least makes it exit with 1 if a folder has a smaller percentage.
"""
import collections
import json
import os
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDERS = ["daemon/core", "daemon/collectives", "client/libtorus"]
HOLES = 12


class Line:
    """A line of a file: how often it ran, and each of its branches."""

    def __init__(self):
        self.count = 0
        self.branches = []

    def add(self, record):
        self.count += record["count"]
        counts = [b["count"] for b in record["branches"]]
        if len(counts) > len(self.branches):
            self.branches += [0] * (len(counts) - len(self.branches))
        for i, count in enumerate(counts):
            self.branches[i] += count


def read(build):
    """Returns {file: {number: Line}} from all counts below a build directory."""
    files = collections.defaultdict(lambda: collections.defaultdict(Line))
    found = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names
             if name.endswith(".gcda") and any(f in folder for f in ("core", "collectives", "libtorus", "torus"))]
    for at in range(0, len(found), 50):
        run = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *found[at:at + 50]],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, cwd=build)
        for text in run.stdout.splitlines():
            unit = json.loads(text)
            for part in unit["files"]:
                path = os.path.relpath(os.path.join(unit["current_working_directory"], part["file"]), TOP)
                if path.endswith(".c") and any(path.startswith(f + "/") for f in FOLDERS):
                    for record in part["lines"]:
                        files[path][record["line_number"]].add(record)
    return files


def measure(path, lines):
    """Returns lines, reached lines, branches, reached branches of a file."""
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        text = [""] + f.read().split("\n")
    branches = [b for number, line in lines.items() if "assert(" not in text[number] for b in line.branches]
    return (len(lines), sum(line.count > 0 for line in lines.values()), len(branches), sum(b > 0 for b in branches))


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, rest = os.path.abspath(sys.argv[1]), sys.argv[2:]
    figures = {path: measure(path, lines) for path, lines in read(build).items()}
    if not figures:
        sys.exit(f"coverage.py: {build} has no counts: compile with --coverage and run tests")
    least = [float(n) for n in rest[rest.index("--least") + 1:][:2]] if "--least" in rest else [0, 0]
    low = False
    summary = {}
    for folder in FOLDERS:
        sums = [sum(n) for n in zip(*(f for path, f in figures.items() if path.startswith(folder + "/")))] or [0] * 4
        lines, branches = percent(sums[1], sums[0]), percent(sums[3], sums[2])
        low |= lines < least[0] or branches < least[1]
        summary[folder] = {"lines": sums[0], "lines_percent": round(lines, 1), "branches": sums[2],
                           "branches_percent": round(branches, 1)}
    holes = sorted(figures, key=lambda path: figures[path][1] - figures[path][0])[:HOLES]
    if "--json" in rest:
        print(json.dumps({"folders": summary, "holes": {path: figures[path] for path in holes}}))
        return low
    print(f"{'folder':22} {'lines':>7} {'reached':>8} {'branches':>9} {'reached':>8}")
    for folder, f in summary.items():
        print(f"{folder:22} {f['lines']:7} {f['lines_percent']:7}% {f['branches']:9} {f['branches_percent']:7}%")
    print("Branches of asserts are not counted: no test may make one fail.")
    print("\nthe most lines that no test reaches:")
    for path in holes:
        f = figures[path]
        print(f"  {f[0] - f[1]:4} of {f[0]:4} lines, {f[2] - f[3]:4} of {f[2]:4} branches  {path}")
    return low


sys.exit(main())

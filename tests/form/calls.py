#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls: check that the object files of an archive form layers.

usage: calls.py NM ARCHIVE

An object file depends on another one if it needs a symbol that the other one defines. The check
fails on a cycle of such dependencies. It finds what arrows.py cannot see: calls of functions that a
public header declares.
"""
import graphlib
import subprocess
import sys


def main():
    nm, archive = sys.argv[1:]
    listing = subprocess.run([nm, "-P", archive], check=True, capture_output=True, text=True).stdout
    defined, needed, member = {}, {}, None
    for line in listing.splitlines():
        if line.endswith(":"):
            member = line[line.rindex("[") + 1:line.rindex("]")]
            needed[member] = set()
            continue
        name, kind = line.split()[:2]
        if kind == "U":
            needed[member].add(name)
        elif kind.isupper():
            defined[name] = member
    graph = {m: {defined[n] for n in names if n in defined} for m, names in needed.items()}
    count = sum(len(to) for to in graph.values())
    assert count > 20, f"only {count} dependencies: is {archive} the archive of the library?"
    try:
        order = list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        sys.exit("calls: cycle: " + " <- ".join(error.args[1]))
    print(f"calls: {len(order)} object files, {count} dependencies, no cycle")


main()

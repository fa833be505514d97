#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrows: check the direction of every #include between the folders of this tree.

usage: arrows.py SOURCE [--list]

RULES says which folders a folder may include. The check fails on any include that RULES does not
allow, on one that goes up the LAYERS of a folder or FOLDER_LAYERS, on an include cycle that crosses
folders or lies in a folder of ACYCLIC, and on an entry of exceptions.txt that no include needs any
more: so the list can only shrink. --list prints the arrows between folders.
"""
import os
import re
import sys

# folder: the folders that its files may include. A file may always include its own folder.
RULES = {
    "daemon/base": [],
    "daemon/system": [],
    "daemon/model": ["daemon/base"],
    "daemon/segment": ["daemon/model"],
    # the families of methods; the table of them and its readers are in the folder above
    "daemon/collectives": ["daemon/collectives/alltoall", "daemon/collectives/reduce",
                           "daemon/collectives/rooted", "daemon/collectives/scan",
                           "daemon/collectives/redist", "daemon/collectives/fft",
                           "daemon/collectives/cost"],
    "daemon/collectives/cost": ["daemon/model"],
    "daemon/collectives/alltoall": ["daemon/collectives/cost"],
    "daemon/collectives/rooted": ["daemon/collectives/cost"],
    "daemon/collectives/reduce": ["daemon/collectives/rooted"],
    "daemon/collectives/scan": ["daemon/collectives/rooted"],
    "daemon/collectives/redist": ["daemon/collectives/alltoall"],
    "daemon/collectives/fft": ["daemon/collectives/redist"],
    # the core state machine: operation -> membership -> net
    "daemon/core/net": ["daemon/model"],
    "daemon/core/membership": ["daemon/core/net"],
    "daemon/core/operation": ["daemon/core/membership"],
    "daemon/core": ["daemon/core/operation"],
    "daemon/compute": ["daemon/model"],
    "daemon/compute/fft": ["daemon/compute"],
    "daemon/wire": ["daemon/model"],
    "daemon/io": ["daemon/system", "daemon/core", "daemon/collectives", "daemon/wire", "daemon/compute/fft",
                  "daemon/segment"],
    "daemon/sim": ["daemon/core", "daemon/collectives", "daemon/wire", "daemon/compute/fft",
                   "daemon/segment"],
    "daemon": ["daemon/io"],
    "client/torus": [],
    "client/libtorus": ["client/torus", "daemon/system", "daemon/wire", "daemon/compute", "daemon/segment"],
    "client/common": ["daemon/collectives", "daemon/system"],
    "client/tool": ["client/libtorus", "client/common"],
    "client/torusctl": ["client/tool", "daemon/collectives", "daemon/wire", "daemon/compute/fft"],
    "client/torusctl/emulate": ["client/torusctl"],
    "client/torusctl/inspect": ["client/torusctl"],
    "client/torus-plan": ["client/tool", "daemon/collectives"],
    "client/torus-array": ["client/tool", "daemon/collectives", "daemon/compute/fft"],
    "client/torus-sim": ["client/common", "daemon/sim"],
    "client/examples": ["client/torus"],
    "client/openmpi": ["client/torus"],
}
# The modules of a folder, from the lowest layer to the highest: none includes a higher one. A state
# table names the records of all layers.
LAYERS = {
    "daemon/core/membership": [["client", "members", "epoch", "succession"], ["registry"],
                               ["communicator", "communicator_losses"],
                               ["job", "subgroup", "shrink_view"], ["shrink", "shrink_coordinator"]],
}
# Folders in one rule, from the lowest to the highest: none includes a higher one.
FOLDER_LAYERS = ["daemon/io/control/keys", "daemon/io/control/link", "daemon/io/control/traffic",
                 "daemon/io/control/door"]
# Folders whose files must not include each other in a cycle.
ACYCLIC = ["client/libtorus", "daemon/io/control", *FOLDER_LAYERS]
# Headers of a folder that every file below that folder may include.
SHARED = {
    "daemon/core": ["event.h", "action.h", "options.h", "notices.h", "scheduler.h", "core_internal.h",
                    "recorder.h", "sums.h"],
    "daemon/collectives": ["method.h", "select.h", "registry.h", "grid.h", "permutation.h"],
}


def closure(folder, seen=None):
    """Returns the folders that RULES lets a folder include, at any distance."""
    seen = set() if seen is None else seen
    for f in RULES.get(folder, []):
        if f not in seen:
            seen.add(f)
            closure(f, seen)
    return seen


def layer(path):
    """Returns the layer of a file in its folder, from 0, or None if it has none."""
    name = os.path.splitext(os.path.basename(path))[0]
    for number, names in enumerate(LAYERS.get(os.path.dirname(path), [])):
        if name in names:
            return number
    return None


def goes_up(own, other):
    """Returns whether an include goes to a higher layer: of its folder, or of FOLDER_LAYERS."""
    a, b = os.path.dirname(own), os.path.dirname(other)
    if a in FOLDER_LAYERS and b in FOLDER_LAYERS:
        return FOLDER_LAYERS.index(b) > FOLDER_LAYERS.index(a)
    low, high = layer(own), layer(other)
    return a == b and low is not None and high is not None and high > low


def rule_folder(folder):
    """Returns the entry of RULES that a folder belongs to: itself or its nearest parent."""
    while folder and folder not in RULES:
        folder = os.path.dirname(folder)
    return folder


def includes(source):
    """Yields (file, included file), relative to source, for the tree's own headers."""
    roots = ["daemon", "client"]
    for root in roots:
        for at, _, names in os.walk(os.path.join(source, root)):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(at, name)
                own = os.path.relpath(path, source)
                with open(path, encoding="utf-8") as text:
                    for found in re.findall(r'^#include "([^"]+)"', text.read(), re.M):
                        places = [os.path.normpath(os.path.join(os.path.dirname(own), found))]
                        places += [os.path.join(r, found) for r in roots]
                        for place in places:
                            if os.path.exists(os.path.join(source, place)):
                                yield own, place
                                break


def cycles(edges):
    """Returns the strongly connected components of more than one node (Tarjan)."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(sorted(edges.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for n in rest:
                if n not in index:
                    index[n] = low[n] = len(index)
                    stack.append(n)
                    on.add(n)
                    work.append((n, iter(sorted(edges.get(n, ())))))
                    break
                if n in on:
                    low[node] = min(low[node], index[n])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        n = stack.pop()
                        on.discard(n)
                        part.append(n)
                        if n == node:
                            break
                    if len(part) > 1:
                        out.append(sorted(part))

    for n in sorted(edges):
        if n not in index:
            visit(n)
    return out


def main():
    source = sys.argv[1]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.txt")
    exceptions = set()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            exceptions = {line.strip() for line in text if line.strip() and line[0] != "#"}
    found, modules, arrows, unused = [], {}, set(), set(exceptions)
    count = 0
    for own, other in includes(source):
        count += 1
        a, b = os.path.dirname(own), os.path.dirname(other)
        modules.setdefault(os.path.splitext(own)[0], set()).add(os.path.splitext(other)[0])
        if goes_up(own, other):
            found.append(f"up the layers: {own} -> {other}")
        if a == b:
            continue
        arrows.add((a, b))
        ra, rb = rule_folder(a), rule_folder(b)
        shared = os.path.basename(other) in SHARED.get(b, []) and a.startswith(b)
        if ra == rb or shared or rb in closure(ra):
            continue
        line = f"{own} -> {other}"
        unused.discard(line)
        if line not in exceptions:
            found.append(f"not allowed: {line}")
    assert count > 500, f"only {count} includes were found: is {source} the source tree?"
    for part in cycles(modules):
        folders = {os.path.dirname(m) for m in part}
        if folders <= set(ACYCLIC):
            found.append("cycle: " + " ".join(part))
        if len(folders) > 1:
            line = "cycle: " + " ".join(part)
            unused.discard("cycle")
            if "cycle" not in exceptions:
                found.append(line)
    found += [f"exceptions.txt: no longer needed, remove it: {line}" for line in sorted(unused)]
    if "--list" in sys.argv:
        for a, b in sorted(arrows):
            print(f"{a} -> {b}")
    if found:
        print("\n".join(found))
        sys.exit(f"arrows: {len(found)} findings in {count} includes")
    print(f"arrows: {count} includes, {len(arrows)} arrows between folders, "
          f"{len(exceptions)} exceptions")


main()

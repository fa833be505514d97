#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py: plant small changes in the core, run the fastest tests that touch the file, and list the survivors.

usage: mutate.py [--files FILE,...] [--count N] [--seed S] [--seeds N]

The seed draws N changes (20) of the files of TESTS (all): a negated condition, a dropped statement, a number that is one
off, swapped operands, another comparison or connective. The script makes each in a copy of the tree, compiles that file,
runs its tests one after the other and then N seeds (300) of torus-sim swarm. A change that fails one is killed. It
prints the others as patches; each is equivalent, or a test is missing. Changes that do not compile are drawn again.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "sim"))
from test_swarm import KNOWN  # pylint: disable=wrong-import-position

COPY = os.path.join(TOP, "build/mutation/source")
BUILD = os.path.join(TOP, "build/mutation/build")
LIMIT_S = 120  # of one test
SHRINK = ["test_shrink", "test_shrink_sim"]
SESSION = ["test_session", "test_session_losses", "test_session_relayed", "test_losses", "test_links_sim"]
TESTS = {
    "daemon/core/operation/gate.c": ["test_gate", "test_losses", "test_disagreements_sim", "test_flood_sim"],
    "daemon/core/operation/operation.c": ["test_engine", "test_stall", "test_gate", "test_mishaps_sim"],
    "daemon/core/membership/shrink.c": SHRINK,
    "daemon/core/membership/shrink_coordinator.c": SHRINK,
    "daemon/core/membership/shrink_silence.c": SHRINK,
    "daemon/core/membership/shrink_view.c": SHRINK,
    "daemon/core/net/session.c": SESSION,
    "daemon/core/membership/communicator.c": ["test_memberships", "test_job", "test_losses", "test_many_sim", "test_mishaps_sim"],
    "daemon/core/membership/communicator_losses.c": ["test_losses", "test_mishaps_sim", "test_partition_sim", "test_shrink_sim"],
    "daemon/core/membership/registry.c": ["test_job", "test_job_terms", "test_mishaps_sim", "test_restarts_sim"],
    "daemon/segment/segment.c": ["test_meetings"],
    "daemon/segment/meeting.c": ["test_meetings"],
    "daemon/core/net/router.c": ["test_router", "test_router_jobs", "test_injection", "test_links_sim"],
    "daemon/core/net/router_queues.c": ["test_router", "test_router_jobs", "test_injection"],
}
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + 1", ""), (" - 1", ""), (" + 1", " + 2")]


def is_code(line):
    return line.startswith("    ") and not re.search(r"/\*|\*/|assert\(|^\s*\*|\"", line)


def changes(lines):
    """Returns all changes of a file: the number of a line and its new text."""
    found = []
    for number, line in enumerate(lines):
        if not is_code(line):
            continue
        whole = re.match(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$", line)
        if whole and whole.group(2).count("(") == whole.group(2).count(")"):
            found.append((number, f"{whole.group(1)}(!({whole.group(2)})){whole.group(3) or ''}"))
        if re.match(r"^\s+[\w\[\]>.()&*-]+ ?(?:\(.*\)|[|&+-]?= .*|\+\+|--);$", line) and \
                not re.match(r"^\s+(?:return|break|continue|goto|static|const|struct|enum|bool|u?int\d|td_time)\b", line):
            found.append((number, re.match(r"^\s+", line).group(0) + ";"))
        for old, new in SWAPS:
            found += [(number, line[:m.start()] + new + line[m.end():]) for m in re.finditer(re.escape(old), line)]
        swap = re.search(r"([\w>.-]+) - ([\w>.-]+)", line)
        if swap and "->" not in swap.group(0).replace("->", "", 0)[-2:]:
            found.append((number, line[:swap.start()] + f"{swap.group(2)} - {swap.group(1)}" + line[swap.end():]))
    return found


def call(*command, limit=900):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit,
                              check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def prepare(programs):
    names = subprocess.run(["git", "ls-files"], cwd=TOP, stdout=subprocess.PIPE, text=True, check=True).stdout
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, names.split("\n")):
        if os.path.exists(os.path.join(TOP, name)):
            os.makedirs(os.path.dirname(os.path.join(COPY, name)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, name), os.path.join(COPY, name))
    subprocess.run(["cmake", "-S", COPY, "--preset", "debug", "-B", BUILD,
                    "-DCMAKE_C_FLAGS_DEBUG=-O1 -g -Wno-error"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    if not call("cmake", "--build", BUILD, "-j2", "--target", *programs, limit=3600):
        sys.exit("mutate.py: the tree does not compile")


def commands(path, seeds):
    """Returns the tests of a file: programs and their arguments."""
    tests = [[os.path.join(BUILD, "bin", name)] for name in TESTS[path]]
    if "segment" in path:
        return tests
    swarm = [os.path.join(BUILD, "bin/torus-sim"), "swarm", "--seeds", str(seeds), "--failures", "1"]
    return tests + [swarm + (["--skip", ",".join(KNOWN)] if KNOWN else [])]


def killed(path, seeds):
    for command in commands(path, seeds):
        if not call(*command, limit=LIMIT_S):
            return os.path.basename(command[0])
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", default=",".join(TESTS))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=300)
    options = parser.parse_args()
    files = [f for f in TESTS if any(f.endswith(name) for name in options.files.split(","))]
    if not files:
        sys.exit(f"mutate.py: no such files; there are: {' '.join(TESTS)}")
    draw = random.Random(options.seed)
    source = {}
    for path in files:
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            source[path] = f.read().split("\n")
    found = [(path, *change) for path in files for change in changes(source[path])]
    draw.shuffle(found)
    programs = sorted({name for path in files for name in TESTS[path]} | {"torus-sim"})
    prepare(programs)
    kills, survivors, rejected = 0, [], 0
    for path, number, text in found:
        if kills + len(survivors) == options.count:
            break
        lines = list(source[path])
        lines[number] = text
        with open(os.path.join(COPY, path), "w", encoding="utf-8") as f:
            f.write("\n".join(lines))
        if call("cmake", "--build", BUILD, "-j2", "--target", *TESTS[path], "torus-sim"):
            by = killed(path, options.seeds)
            kills += by is not None
            print(f"{by or 'SURVIVED':24} {path}:{number + 1}: {source[path][number].strip()}  ->  {text.strip()}",
                  flush=True)
            if not by:
                survivors.append((path, number, text))
        else:
            rejected += 1
        with open(os.path.join(COPY, path), "w", encoding="utf-8") as f:
            f.write("\n".join(source[path]))
    print(f"{kills} of {kills + len(survivors)} changes killed, {len(survivors)} survived; {rejected} did not compile")
    return 1 if survivors else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planted.py: measure the swarm by bugs that are planted.

usage: planted.py [--seeds N] [NAME ...]
       planted.py --check

Each file of tests/swarm/planted is a patch, whose first line names the kind of bug. For each (or those whose names
begin with NAME) the script applies the patch to a copy of the tree, builds torus-swarm and plays seeds until one fails,
at most N (10,000). It prints the seed and the failure, and exits with 1 if a bug was not found. --check succeeds if
all patches apply to this tree.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

from test_swarm import KNOWN

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
COPY = os.path.join(TOP, "build/swarm/source")
BUILD = os.path.join(TOP, "build/swarm/build")


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def apply(patch, *options, top=COPY):
    above = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(top))
    run("git", "apply", *options, patch, cwd=top, env=above)


def prepare():
    """Copies the tree and configures an optimized build of it."""
    shutil.rmtree(COPY, ignore_errors=True)
    for name in run("git", "ls-files", cwd=TOP).split("\n"):
        if name and os.path.exists(os.path.join(TOP, name)):
            os.makedirs(os.path.dirname(os.path.join(COPY, name)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, name), os.path.join(COPY, name))
    run("cmake", "--preset", "debug", "-B", BUILD, "-DCMAKE_C_FLAGS_DEBUG=-O2 -g", cwd=COPY)


def measure(patch, seeds):
    """Returns the first failure of a planted bug, or None."""
    apply(patch)
    try:
        run("cmake", "--build", BUILD, "--target", "torus-swarm")
        skip = ["--skip", ",".join(KNOWN)] if KNOWN else []
        played = subprocess.run([os.path.join(BUILD, "bin/torus-swarm"), "--seeds", str(seeds), "--failures",
                                 "1", "--json", *skip], stdout=subprocess.PIPE, text=True, check=False)
        failures = json.loads(played.stdout)["failures"]
        return failures[0] if failures else None
    finally:
        apply(patch, "-R")


def main():
    arguments = sys.argv[1:]
    patches = sorted(glob.glob(os.path.join(TOP, "tests/swarm/planted/*.patch")))
    if arguments == ["--check"]:
        for patch in patches:
            apply(patch, "--check", top=TOP)
        return 0
    seeds = 10000
    if arguments[:1] == ["--seeds"]:
        seeds = int(arguments[1])
        arguments = arguments[2:]
    prepare()
    missed = 0
    for patch in patches:
        name = os.path.basename(patch)[:-len(".patch")]
        if arguments and not any(name.startswith(a) for a in arguments):
            continue
        failure = measure(patch, seeds)
        missed += failure is None
        print(f"{name:24}", f"seed {failure['seed']:5}  {failure['text'][:120]}" if failure else "NOT FOUND", flush=True)
    return 1 if missed else 0


sys.exit(main())

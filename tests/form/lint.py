#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lint: clang-format, clang-tidy and cppcheck over every C file of this tree, mypy over the package.

usage: lint.py SOURCE BUILD [--all] [FILE ...]

BUILD has compile_commands.json; its protobuf headers have been generated. Only files under git are
checked, so generated code is not. FILE limits the check to these files.

clang-tidy's static analyzer runs in its shallow mode, which takes a tenth of the time: it does not
follow calls into long functions. --all runs it in full.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

# gcc's options that clang does not know
TIDY = ["--quiet", "--warnings-as-errors=*", "--extra-arg=-Wno-unknown-warning-option",
        "--extra-arg=-Wno-ignored-optimization-argument"]
SHALLOW = ["--extra-arg=-Xclang", "--extra-arg=-analyzer-config", "--extra-arg=-Xclang",
           "--extra-arg=mode=shallow"]
CPPCHECK = ["--enable=warning,performance,portability", "--inline-suppr", "--quiet",
            "--error-exitcode=1",
            # one buffer is read as float or as double
            "--suppress=invalidPointerCast",
            # clang-tidy checks the same, and knows that a failed CHECK does not return
            "--suppress=nullPointerRedundantCheck",
            # two arrays of one allocation: the second is not used if the first is NULL
            "--suppress=nullPointerArithmeticRedundantCheck",
            # jansson's loops
            "--library=" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "jansson.cfg")]


def units(source, build, wanted):
    """Return one command per file of `wanted`: a file may be compiled for several targets."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    found = {}
    for c in commands:
        path = os.path.relpath(os.path.realpath(os.path.join(c["directory"], c["file"])), source)
        if path in wanted:
            found.setdefault(path, c)
    return found


def formatted(source, files):
    """Return True if clang-format would change nothing."""
    return subprocess.run(["clang-format", "--dry-run", "-Werror", *files],
                          cwd=source).returncode == 0


def tidy(source, database, options, file):
    """Return clang-tidy's findings in a file: or "" without findings."""
    run = subprocess.run(["clang-tidy", "-p", database, *TIDY, *options, file], cwd=source,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return "" if run.returncode == 0 else run.stdout or run.stderr


def all_tidy(source, database, options, files):
    """Print clang-tidy's findings. Return True without findings."""
    clean = True
    largest_first = sorted(files, key=lambda f: -os.path.getsize(os.path.join(source, f)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(lambda f: tidy(source, database, options, f), largest_first):
            clean = clean and not text
            sys.stdout.write(text)
    return clean


def cppcheck(source, database):
    """Print cppcheck's findings. Return True without findings."""
    return subprocess.run(["cppcheck", *CPPCHECK, "-j", str(os.cpu_count()),
                           "--project=" + os.path.join(database, "compile_commands.json")],
                          cwd=source).returncode == 0


def typed(source, cache):
    """Return True if the Python package and a program with marked mistakes fit its types."""
    common = ["/usr/bin/python3", "-m", "mypy", "--no-error-summary", "--ignore-missing-imports",
              "--disallow-untyped-defs", "--cache-dir", os.path.abspath(cache)]
    environment = {**os.environ, "MYPYPATH": os.path.join("client", "python")}
    steps = [[os.path.join("client", "python", "torus")],
             ["--warn-unused-ignores", "--follow-imports=silent",
              os.path.join("tests", "python", "misuse.py")]]
    return all([subprocess.run([*common, *step], cwd=source, env=environment).returncode == 0
                for step in steps])


def main(arguments):
    options = [] if "--all" in arguments else SHALLOW
    source, build, *some = [a for a in arguments if a != "--all"]
    source = os.path.realpath(source)
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=source, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split()
    files = [f for f in listed if not some or f in some]
    found = units(source, build, set(files))
    skipped = [f for f in files if f.endswith(".c") and f not in found]
    if skipped:
        print("lint: not part of this build:", " ".join(skipped))
    with tempfile.TemporaryDirectory() as database:
        with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as f:
            json.dump(list(found.values()), f)
        steps = [("clang-format", lambda: formatted(source, files)),
                 ("cppcheck", lambda: cppcheck(source, database)),
                 ("clang-tidy", lambda: all_tidy(source, database, options, list(found)))]
        if not some:
            steps.append(("mypy", lambda: typed(source, os.path.join(build, "mypy"))))
        failed = []
        for name, step in steps:
            start = time.monotonic()
            if not step():
                failed.append(name)
            print("lint: %s: %s, %.0f s" % (name, "failed" if name in failed else "clean",
                                            time.monotonic() - start), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))

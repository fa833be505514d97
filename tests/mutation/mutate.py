#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py: plant small changes in the core or the segment, run tests until one fails, and list the survivors.

usage: mutate.py [--files FILE,...] [--count N] [--seed S] [--seeds N] [--slow S] [--jobs J] [--again] [--json]

The seed draws N changes (20) of the files of FILES (all of them, or those whose paths end so): a negated condition, a
dropped statement, a number or comparison that is one off, swapped operands. The draw depends on the change alone, so
another change of a file draws few others. Each is compiled beside a copy of the tree. Tests run, the fastest first, up to
the first that fails: the change is killed. Changes of the core run the tests of the core, N seeds (300) of the swarm,
and the simulated tests that need at most S seconds (1) of processor time; changes of the segment run those of the segment.
A test that needs five times its processor time hangs, and so fails.

A change that does not compile, or that compiles to the same object, does not count: another one is drawn. A survivor is
equivalent, with its reason in tests/mutation/equivalent.txt, or a test is missing. build/mutation/results.json keeps the
results: a change that was killed is not tried again while its file stays the same, nor is a survivor while the daemon and
the tests stay the same. --again tries all. The exit status is 1 if a change survives that equivalent.txt lacks.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import sys
import threading

import changes
import equivalent
import programs
from programs import COPY, HOME, TOP

FILES = ["daemon/core/operation/gate.c", "daemon/core/operation/arrival.c", "daemon/core/operation/stall.c",
         "daemon/core/operation/operation*.c", "daemon/core/membership/shrink*.c", "daemon/core/net/session*.c",
         "daemon/core/membership/communicator*.c", "daemon/core/membership/parting.c",
         "daemon/core/membership/registry.c", "daemon/core/membership/succession.c", "daemon/segment/*.c",
         "daemon/core/net/router*.c"]
WAITS = 60  # times the elapsed time of the baseline, for tests that sleep for ever


def choose(names):
    found = [os.path.relpath(p, TOP) for pattern in FILES for p in sorted(glob.glob(os.path.join(TOP, pattern)))]
    if not names:
        return found
    more = [os.path.relpath(p, TOP) for p in glob.glob(os.path.join(TOP, "daemon/core/**/*.c"), recursive=True)]
    chosen = [f for f in dict.fromkeys(found + sorted(more)) if any(f.endswith("/" + n) or f == n for n in names)]
    if not chosen:
        sys.exit(f"mutate.py: no such files; there are: {' '.join(found)}")
    return chosen


class Results:
    """The results of former runs, by change."""

    def __init__(self, tree, again):
        self.path, self.tree, self.lock = os.path.join(HOME, "results.json"), tree, threading.Lock()
        self.kept = json.loads(programs.content(self.path)) if os.path.exists(self.path) and not again else {}

    @staticmethod
    def key(change):
        return "|".join([change.path, str(change.number), change.old, change.new])

    def find(self, change):
        kept = self.kept.get(self.key(change))
        if not kept or kept["file"] != programs.digest(programs.content(os.path.join(COPY, change.path))):
            return None
        return kept["by"] if kept["by"] or kept["tree"] == self.tree else None

    def add(self, change, by):
        file = programs.digest(programs.content(os.path.join(COPY, change.path)))
        with self.lock:
            self.kept[self.key(change)] = {"by": by, "file": file, "tree": self.tree}
            programs.store(self.path, json.dumps(self.kept, indent=0))


class Mutator:
    """Compiles a change, and runs the tests."""

    def __init__(self, commands, tests, results):
        self.commands, self.tests, self.results = commands, tests, results
        self.plain = {}

    def killer(self, change):
        """killer returns the test that notices a change, or "same", "refused" (by the compiler) or ""."""
        by = self.results.find(change)
        if by is None:
            by = self.find_killer(change, os.path.join(HOME, f"job.{threading.get_ident()}"))
            self.results.add(change, by)
        return by

    def find_killer(self, change, folder):
        lines = programs.content(os.path.join(COPY, change.path)).decode().split("\n")
        key = (folder, change.path)  # an object has the path of its source
        if key not in self.plain:
            self.plain[key] = self.object(change.path, lines, folder)
        lines[change.number] = change.new
        changed = self.object(change.path, lines, folder)
        if not changed:
            return "refused"
        return "same" if changed == self.plain[key] else self.first_failure(change.path, folder)

    def object(self, path, lines, folder):
        """object returns what a text of a file compiles to, or None."""
        source, target = os.path.join(folder, path), os.path.join(folder, "changed.o")
        programs.store(source, "\n".join(lines))
        beside = os.path.dirname(os.path.join(COPY, path))
        return programs.content(target) if self.commands.compile(path, source, target, "-iquote", beside) else None

    def first_failure(self, path, folder):
        program = os.path.join(folder, "changed")
        for test in self.tests:
            if ("segment" in path) != (test.name in programs.SEGMENT):
                continue
            if programs.INCLUDED.get(test.name, path) != path:
                continue
            self.make(test.name, path, folder, program)
            good, last = programs.run([program, *test.arguments], max(2, programs.PATIENCE * test.cpu_s),
                                      max(20, WAITS * test.wall_s))
            if not good:
                return last or test.name
        return ""

    def make(self, name, path, folder, program):
        """make links a test with the changed file."""
        changed, own = os.path.join(folder, "changed.o"), path
        if name in programs.INCLUDED:
            key = next(w for w in self.commands.links[name] if w.endswith(".o"))
            source, changed = self.commands.objects[key][-1], os.path.join(folder, "included.o")
            own = os.path.relpath(source, COPY).removeprefix("tests/segment/")
            beside = os.path.dirname(os.path.join(COPY, path))
            if not self.commands.compile(key, source, changed, "-I", os.path.join(folder, "daemon"), "-iquote", beside):
                sys.exit(f"mutate.py: {name} does not compile")
        if not self.commands.link(name, program, changed, own):
            sys.exit(f"mutate.py: {name} does not link")


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--files", type=lambda text: text.split(","), default=[])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--slow", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def say(text):
    """say shows progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)


def fingerprint(folders):
    names = sorted(p for f in folders for p in glob.glob(os.path.join(COPY, f, "**", "*.[ch]"), recursive=True))
    return programs.digest(*(programs.content(p) for p in names))


def show(change):
    return f"{change.path}:{change.number + 1}: {change.function}\n- {change.old.strip()}\n+ {change.new.strip()}"


def drawn(files, seed):
    """drawn returns all changes of the files, in the order of the seed."""
    found = [c for path in files
             for c in changes.of_file(path, programs.content(os.path.join(COPY, path)).decode())]
    times = collections.Counter()
    order = []
    for c in found:
        key = (c.path, c.function, c.old.strip(), c.new.strip())
        order.append((programs.digest(str(seed), *key, str(times[key])), c))
        times[key] += 1
    return [c for _, c in sorted(order, key=lambda o: o[0])]


def play(options, mutator, found):
    """play returns the first changes of those found that count, with their killers, and all that do not count."""
    outcomes, skipped = [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending, rest = collections.deque(), iter(found)
        while len(outcomes) < options.count:
            ahead = options.count - len(outcomes)
            while len(pending) < min(ahead, 2 * options.jobs) and (change := next(rest, None)):
                pending.append((change, pool.submit(mutator.killer, change)))
            if not pending:
                break
            change, done = pending.popleft()
            by = done.result()
            say(f"[{len(outcomes)}/{options.count}] {os.path.basename(change.path)}:{change.number + 1} {by}")
            if by in ("same", "refused"):
                skipped[by] += 1
            else:
                outcomes.append((change, by))
    return outcomes, skipped


def report(options, outcomes, skipped, known, stale):
    killed = collections.Counter(by for _, by in outcomes if by)
    equal = [c for c, by in outcomes if not by and known.reason(c)]
    survivors = [c for c, by in outcomes if not by and not known.reason(c)]
    kills = sum(killed.values())
    if options.json:
        print(json.dumps({"changes": len(outcomes), "killed": kills, "by": killed, "equivalent": len(equal),
                          "same_object": skipped["same"], "refused": skipped["refused"], "stale": stale,
                          "survivors": [dict(c._asdict(), number=c.number + 1) for c in survivors]}))
    else:
        for change in survivors:
            print(show(change) + "\n")
        for line in stale:
            print(f"equivalent.txt: the tree has no such change: {line}")
        print(f"{kills} of {len(outcomes)} changes killed ({100 * kills / max(len(outcomes), 1):.1f} %), {len(equal)} "
              f"equivalent (equivalent.txt), {len(survivors)} survived; {skipped['same']} compiled to the same object "
              f"and {skipped['refused']} did not compile: not counted")
        print("killed by: " + ", ".join(f"{name} {n}" for name, n in killed.most_common()))
    return 1 if survivors or stale else 0


def main():
    options = arguments()
    files = choose(options.files)
    say("building")
    programs.copy_tree()
    commands = programs.Commands()
    found = drawn(files, options.seed)
    known = equivalent.Equivalents(os.path.join(os.path.dirname(__file__), "equivalent.txt"))
    tree = fingerprint(["daemon", "tests/core", "tests/sim", "tests/segment"]) + f" {options.seeds} {options.slow:g}"
    tests = programs.baseline(options.seeds, options.slow, say)
    outcomes, skipped = play(options, Mutator(commands, tests, Results(tree, options.again)), found)
    say("")
    return report(options, outcomes, skipped, known, known.stale(files, found))


sys.exit(main())

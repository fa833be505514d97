#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""states: check that each state machine's state is assigned in its transition function only.

usage: states.py SOURCE

A field called `state` or `..._state` may be assigned only in a function whose name ends in
`transition`.
"""
import os
import re
import sys

FUNCTION = re.compile(r"^(?:static )?(?:void|bool) ([a-z_]*transition)\(", re.M)
# `->state = x` and `.state = x`, also in an initialiser: records begin as zeros, in state 0.
ASSIGNMENT = re.compile(r"(?:->|\.)(?:[a-z]+_)?state\s*=(?!=)")


def bodies(text):
    """Yields (begin, end) of the transition functions of a file."""
    for found in FUNCTION.finditer(text):
        begin = text.find("\n{", found.start())
        yield begin, text.find("\n}", begin)


def check(path, text):
    """Returns (findings, assignments in transition functions) of one file."""
    found, owned = [], 0
    inside = list(bodies(text))
    for hit in ASSIGNMENT.finditer(text):
        line = text.count("\n", 0, hit.start()) + 1
        if any(begin < hit.start() < end for begin, end in inside):
            owned += 1
        else:
            found.append(f"{path}:{line}: a state is assigned outside a transition function: "
                         f"{text.splitlines()[line - 1].strip()}")
    return found, owned


def main():
    source = sys.argv[1]
    # the check itself can fail
    assert check("x.c", "void f(void)\n{\n    o->state = A;\n}\n")[0]
    assert check("x.c", "void f(void)\n{\n    o->session_state = A;\n}\n")[0]
    assert check("x.c", "static void transition(struct x *o)\n{\n    o->state = A;\n}\n") == ([], 1)
    found, owned = [], 0
    for folder in ("daemon/core", "daemon/io/control"):
        for at, _, names in os.walk(os.path.join(source, folder)):
            for name in sorted(names):
                # inspect*.c copies states into rows for people
                if name.endswith((".c", ".h")) and not name.startswith("inspect"):
                    path = os.path.join(at, name)
                    with open(path, encoding="utf-8") as text:
                        lines, count = check(os.path.relpath(path, source), text.read())
                    found += lines
                    owned += count
    if owned == 0:
        found.append("no transition function assigns a state: has it another form now?")
    if found:
        print("\n".join(found))
        sys.exit(f"states: {len(found)} findings")
    print(f"states: {owned} assignments, all in transition functions")


main()

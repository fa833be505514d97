#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""skips: fail if a test was skipped that is not listed, so that nothing is skipped silently.

usage: skips.py RESULTS.xml LIST

RESULTS.xml: what ctest --output-junit writes. A line of LIST is the name of a test, or TEST:CASE for a case of cmocka or
unittest within it, and a reason. It also fails if a listed test has run: then the line goes.
"""
import re
import sys
import xml.etree.ElementTree as ET

# cmocka prints the first form, unittest the second
CASE = re.compile(r"^\[  SKIPPED \] (\w+)$|^(\w+) \([\w.]+\)(?:\n.*)? \.\.\. skipped", re.M)


def results(file):
    """Returns the names of the tests that ran, and of the tests and cases that were skipped."""
    ran, skipped = set(), set()
    for test in ET.parse(file).getroot().iter("testcase"):
        name = test.get("name")
        if test.find("skipped") is not None:
            skipped.add(name)
            continue
        ran.add(name)
        cases = CASE.findall(test.findtext("system-out") or "")
        skipped |= {f"{name}:{first or second}" for first, second in cases}
    return ran, skipped


def main():
    ran, skipped = results(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        listed = {line.split()[0] for line in f if line.strip() and not line.startswith("#")}
    silent = sorted(skipped - listed)
    for name in silent:
        print(f"{name} was skipped: see its output, or list it in {sys.argv[2]} with a reason")
    idle = sorted(name for name in listed & ran)
    for name in idle:
        print(f"{name} is listed in {sys.argv[2]}, but it ran: remove the line")
    sys.exit(1 if silent or idle else 0)


main()

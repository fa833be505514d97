#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""variables: check the table of environment variables in daemon/base/variables.c.

usage: variables.py SOURCE

Every TORUS_... that a program, the library or the Python package names as a string is in the table; every name of the
table is used, and docs/tutorial.md explains it. Whoever sets another TORUS_... is warned.
"""
import os
import re
import sys

TABLE, PAGE = "daemon/base/variables.c", "docs/tutorial.md"
NAME = re.compile(r"""["'](TORUS_[A-Z0-9_]+)["']""")


def names(path):
    with open(path, encoding="utf-8") as f:
        return {name for name in NAME.findall(f.read()) if not name.endswith("_")}


def main():
    source, used = sys.argv[1], set()
    table = names(os.path.join(source, TABLE))
    for folder in "client", "daemon":
        for place, _, files in os.walk(os.path.join(source, folder)):
            for file in files:
                path = os.path.join(place, file)
                if file.endswith((".c", ".h", ".py")) and not path.endswith(TABLE):
                    used |= names(path)
    with open(os.path.join(source, PAGE), encoding="utf-8") as f:
        page = f.read()
    wrong = [f"{name} is not in {TABLE}" for name in sorted(used - table)]
    wrong += [f"{name} of {TABLE} is not used" for name in sorted(table - used)]
    wrong += [f"{name} is not in {PAGE}" for name in sorted(table) if f"`{name}`" not in page]
    print("\n".join(wrong) or f"{len(table)} variables are known, used and explained")
    return 1 if wrong or not table else 0


if __name__ == "__main__":
    sys.exit(main())

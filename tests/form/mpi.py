#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpi: check docs/mpi.md against torus/torus.h.

usage: mpi.py SOURCE

Every torus function and every TORUS constant that the page names is in the header. The page names
every collective, every function of inter-groups, requests, operators and types, and each group
function that creates or frees a group.
"""
import re
import sys

ENVIRONMENT = {"TORUS_SOCKET", "TORUS_SOCKETS", "TORUS_OPENMPI"}  # variables, of which the page tells, too
NEEDED = r"torus_(?!i[a-z]+_create)(\w+_init|intergroup_\w+|wait\w*|test|peek|op_\w+|type_\w+|group_\w+|dup|split|shrink)$"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1] + "/client/torus/torus.h", encoding="utf-8") as f:
        header = re.sub(r"//.*|/\*.*?\*/", "", f.read(), flags=re.S)
    with open(sys.argv[1] + "/docs/mpi.md", encoding="utf-8") as f:
        page = f.read()
    declared = set(re.findall(r"\b(torus_\w+)", header)) | set(re.findall(r"\b(TORUS_\w+)", header))
    functions = set(re.findall(r"TORUS_API [\w \*]*?\b(torus_\w+)\(", header))
    named = set(re.findall(r"\b(torus_\w+|TORUS_\w+)", page)) - {"torus_xxx", "torus_ixxx"} - ENVIRONMENT
    wrong = [f"docs/mpi.md names {name}, which torus.h does not have"
             for name in sorted(named - declared) if name != "torus_xxx_init"]
    for name in sorted(functions):
        base = name[:-5] if name.endswith("_init") else name
        if re.match(NEEDED, name) and base not in named:
            wrong.append(f"docs/mpi.md does not name {base}")
    for line in wrong:
        print(line)
    print(f"{len(named)} names, {len(wrong)} wrong")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()

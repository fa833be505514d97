#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""abi: check that the binary interface of libtorus is the one that abi.list records.

usage: abi.py CC NM HEADER LIBRARY VERSION LIST [--write]

The interface: exported symbols with their versions, declarations, values of enumerators, and the
size and offset of every structure and field. A difference in either direction fails:
  - a line that only the list has: existing programs may break. Keep the old interface.
  + a line that only the library has: an addition. Record it with --write and commit the list.
The check also compares the header's version, the library's version and VERSION, which is the
project's version in CMakeLists.txt.
"""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

TITLE = "# Binary interface of libtorus. tests/tools/abi.py compares it; abi.py --write makes it.\n"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def parse(header):
    """Returns the declarations, enumerators and structures (with fields) of a header."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    flat = re.sub(r"\s+", " ", re.sub(r"\\\n", " ", text))
    declarations = [d.strip() for d in re.findall(r"TORUS_API ([^;{#]*\));", flat)]
    declarations += [f"typedef {d.strip()}" for d in re.findall(r"typedef ([^;{]*);", flat)]
    enumerators = [name for body in re.findall(r"enum \{([^}]*)\}", flat)
                   for name in re.findall(r"(TORUS_\w+) =", body)]
    structures = {}
    for name, body in re.findall(r"struct (\w+) \{([^}]*)\};", flat):
        structures[name] = [re.sub(r"\[.*", "", part.split()[-1]).lstrip("*")
                            for field in body.split(";") if field.strip()
                            for part in field.split(",")]
    return declarations, enumerators, structures


def values(cc, header, enumerators, structures):
    """Returns the lines that a C program prints about enumerators and structures."""
    lines = [f'#include "{header}"', "#include <stddef.h>", "#include <stdio.h>",
             "int main(void) {",
             'printf("version %d.%d.%d\\n", TORUS_VERSION_MAJOR, TORUS_VERSION_MINOR, '
             'TORUS_VERSION_PATCH);',
             'printf("value TORUS_IN_PLACE %zu\\n", (size_t)TORUS_IN_PLACE);']
    for name in enumerators:
        lines.append(f'printf("value {name} %d\\n", (int){name});')
    for name, fields in structures.items():
        lines.append(f'printf("struct {name} size %zu\\n", sizeof(struct {name}));')
        for field in fields:
            lines.append(f'printf("field {name}.{field} offset %zu size %zu\\n", '
                         f'offsetof(struct {name}, {field}), '
                         f'sizeof(((struct {name} *)0)->{field}));')
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "abi.c"), os.path.join(folder, "abi")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines + ["return 0;", "}"]) + "\n")
        run(cc, "-std=c17", "-o", program, source)
        return run(program).splitlines()


def main():
    cc, nm, header, library, version, path = sys.argv[1:7]
    declarations, enumerators, structures = parse(header)
    assert len(declarations) > 90 and len(enumerators) > 80 and len(structures) > 8, \
        f"{header} was not understood"
    printed = values(cc, header, enumerators, structures)
    exported = [line.split()[2] for line in run(nm, "-D", "--defined-only", library).splitlines()
                if line.split()[1] != "A"]
    major, minor, patch = (int(n) for n in version.split("."))
    problems = []
    if printed[0] != f"version {version}":
        problems.append(f"torus.h says {printed[0]}, CMakeLists.txt says {version}")
    if ctypes.CDLL(library).torus_version() != major << 16 | minor << 8 | patch:
        problems.append(f"torus_version() is not {version}")
    found = ([f"symbol {name}" for name in sorted(exported)] +
             [f"declaration {d}" for d in declarations] + printed[1:])
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(TITLE + "\n".join(found) + "\n")
    with open(path, encoding="utf-8") as file:
        kept = [line.rstrip("\n") for line in file if line[0] != "#"]
    problems += [f"- {line}" for line in kept if line not in set(found)]
    problems += [f"+ {line}" for line in found if line not in set(kept)]
    if problems:
        sys.exit("\n".join(problems) + "\nabi: the interface differs from " + path + ".\n"
                 "'-': existing programs may break: keep the old interface.\n"
                 "'+': an addition: run tests/tools/abi.py --write and commit the list.")
    print(f"abi: {len(found)} lines as kept")


main()

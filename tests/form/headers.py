#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers: check that the functions that a header declares are defined in the .c file of its name.

usage: headers.py SOURCE

A reader who knows a function's header then knows its file. Only functions that some .c file of the
tree defines are checked; torus/torus.h, the public header, declares what the whole library defines.
"""
import os
import re
import subprocess
import sys

FOLDERS = ["daemon", "client"]
EXEMPT = ["client/torus/torus.h"]

# a function's name at the start of a line of a declaration or a definition, then its parameters
FUNCTION = r"^(?!static\b|typedef\b|return\b|else\b)[A-Za-z_][\w \*]*?\b\*?(\w+)\([^;{}]*\)"


def code(path):
    """Returns a file without comments and preprocessor lines."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)


def sources(top):
    found = subprocess.run(["git", "-C", top, "ls-files", "--cached", "--others",
                            "--exclude-standard"] + FOLDERS, capture_output=True, text=True)
    if found.returncode == 0:
        return sorted(f for f in found.stdout.split() if os.path.exists(os.path.join(top, f)))
    walked = (os.path.relpath(os.path.join(folder, name), top)  # a tree without git
              for start in FOLDERS for folder, _, names in os.walk(os.path.join(top, start))
              for name in names)
    return sorted(walked)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    top = sys.argv[1]
    files = sources(top)
    defined = {}
    for f in files:
        if f.endswith(".c"):
            for m in re.finditer(FUNCTION + r"\s*\{", code(os.path.join(top, f)), re.M):
                defined.setdefault(m.group(1), set()).add(f)
    wrong = checked = 0
    for f in files:
        if not f.endswith(".h") or f in EXEMPT:
            continue
        text = code(os.path.join(top, f))
        while re.search(r"\{[^{}]*\}", text):  # structures and inline functions
            text = re.sub(r"\{[^{}]*\}", "", text)
        for m in re.finditer(FUNCTION + r"[^;{]*;", text, re.M):
            places = defined.get(m.group(1), set())
            if not places:
                continue
            checked += 1
            if f[:-2] + ".c" not in places:
                print(f"{f}: {m.group(1)} is defined in {', '.join(sorted(places))}")
                wrong += 1
    print(f"{checked} functions, {wrong} outside of the file of their header")
    if wrong or checked == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build_folders: check that no build directory is inside the folder of a part of the main build.

usage: build_folders.py SOURCE

The main build in build/ has a folder for each add_subdirectory. A second build directory of that name
replaces its installation script. No example has the name of a utility of POSIX.
"""
import os
import re
import sys

POSIX = set("""ar at awk basename bc cat cc chmod chown cksum cmp comm compress cp cut date dd df diff
dirname du echo ed env ex expr file find fold grep head id ipcs join kill link ln locale logger ls m4
make man mesg mkdir mkfifo more mv nice nl nm nohup od paste patch pax pr printf ps pwd renice rm rmdir
sed sh sleep sort split strings strip stty tabs tail talk tee test time touch tr true tsort tty umask
uname uniq unlink vi wait wc who write xargs yacc""".split())


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    top = sys.argv[1]
    parts = {p.split("/")[0] for p in re.findall(r"^\s*add_subdirectory\((\S+?)\)",
                                                 read(top, "CMakeLists.txt"), re.M)}
    builds = re.findall(r"-B build/(\w+)", read(top, "dev"))
    builds += re.findall(r'"binaryDir": "\$\{sourceDir\}/build/(\w+)"', read(top, "CMakePresets.json"))
    wrong = [f"build/{b} is also the folder of {b}/ in the main build" for b in builds if b in parts]
    names = re.findall(r"^\s*foreach\(name ([\w ]+)", read(top, "client/examples/CMakeLists.txt"), re.M)
    for name in " ".join(names).split():
        if name in POSIX:
            wrong.append(f"the example {name} hides a utility of POSIX if build/bin is in PATH")
    print("\n".join(wrong + [f"{len(builds)} build directories, {len(wrong)} wrong"]))
    if wrong or not builds or not parts or not names:
        sys.exit(1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""guards: check that every public function of libtorus holds the lock of its context (lock.h).

usage: guards.py SOURCE

A function passes if its body begins with TL_GUARD or TL_GUARD_ELSE, if its body is one expression without a semicolon
inside the macro FORMS (those functions end in tl_start, tl_run or tl_persistent_new, which are
checked too), or if WITHOUT names it with the reason.
"""
import glob
import os
import re
import sys

WITHOUT = {
    "torus_version": "no context", "torus_strerror": "no context",
    "torus_last_error": "reads the sentence of the calling thread",
    "torus_open": "the context is new", "torus_close": "the last call on a context",
    "torus_shape": "constant after torus_open", "torus_coords": "constant after torus_open",
    "torus_incarnation": "constant after torus_open",
    "torus_node": "constant after torus_open", "torus_authenticated": "constant after torus_open",
    "torus_fd": "constant after torus_open",
    "torus_rank": "constant", "torus_size": "constant", "torus_translate": "constant",
    "torus_intergroup_rank": "constant", "torus_intergroup_size": "constant",
    "torus_intergroup_remote_size": "constant",
    "torus_intergroup_barrier": "calls torus_barrier",
    "torus_intergroup_ibarrier": "calls torus_ibarrier",
    "torus_plan_local": "constant", "torus_plan_bytes": "constant", "torus_plan_index": "constant",
}
GUARDED = {"tl_start", "tl_run", "tl_persistent_new"}  # the public collectives call them


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = checked = 0
    seen = set()
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "client/libtorus/*.c"))):
        with open(path, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for m in re.finditer(r"^(?!static)[a-z_][\w \*]*?\b\*?(torus_\w+|tl_\w+)\([^;{}]*\)\n\{\n(.*?)^\}",
                             text, re.M | re.S):
            name, body = m.group(1), m.group(2)
            if name.startswith("tl_") and name not in GUARDED:
                continue
            checked += 1
            seen.add(name)
            if name not in WITHOUT and "TL_GUARD(" not in body and "TL_GUARD_ELSE(" not in body:
                print(f"{os.path.relpath(path, sys.argv[1])}: {name} has no TL_GUARD")
                wrong += 1
    for name in sorted(set(WITHOUT) - seen) + sorted(GUARDED - seen):
        print(f"{name} is not defined any more")
        wrong += 1
    print(f"{checked} functions, {wrong} wrong")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()

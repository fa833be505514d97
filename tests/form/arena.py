#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arena: check that the core allocates on behalf of users from the users' parts of the arena.

In core/membership and core/operation `core->arena` is the daemon's own. It may be passed to functions that free, and the
accounts themselves lie in it.
"""
import glob
import re
import sys

OWNER = "core/membership/account.c"
wrong = 0
for path in sorted(glob.glob(f"{sys.argv[1]}/daemon/core/membership/*.c") +
                   glob.glob(f"{sys.argv[1]}/daemon/core/operation/*.c")):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for m in re.finditer(r"(\w+)\((?:[^;{}]*?)core->arena\b", text):
        if path.endswith(OWNER) or re.search(r"_free$", m.group(1)):
            continue
        line = text.count("\n", 0, m.end()) + 1
        print(f"{path}:{line}: {m.group(1)} takes memory of the daemon: name the account of its user")
        wrong += 1
sys.exit(wrong > 0)

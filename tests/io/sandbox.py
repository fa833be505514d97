#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox: run a command with the system calls that a unit allows.

usage: sandbox.py UNIT COMMAND [ARGUMENT ...]

The other system calls fail with EPERM, as under systemd. It needs systemd-analyze, which knows the
sets, and libseccomp; without them it exits with 77. Nothing else of the unit is applied.
"""
import ctypes
import errno
import os
import shutil
import subprocess
import sys

PR_SET_NO_NEW_PRIVS = 38
ACT_ERRNO, ACT_ALLOW = 0x00050000, 0x7FFF0000


def expand(names):
    """Returns the system calls of names and sets such as @default."""
    calls = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
            continue
        lines = subprocess.run(
            ["systemd-analyze", "syscall-filter", name],
            check=True, capture_output=True, text=True,
        ).stdout.splitlines()
        members = [line.strip() for line in lines[1:]]
        calls |= expand(m for m in members if m and not m.startswith("#"))
    return calls


def allowed(unit):
    """Returns the system calls that the lines SystemCallFilter= of a unit allow."""
    calls = expand(["@default"])
    lines = 0
    with open(unit, encoding="utf-8") as f:
        for line in f:
            key, _, value = line.strip().partition("=")
            if key != "SystemCallFilter":
                continue
            lines += 1
            if value.startswith("~"):
                calls -= expand(value[1:].split())
            else:
                calls |= expand(value.split())
    assert lines, f"{unit} has no SystemCallFilter="
    return calls


def restrict(library, calls):
    """Lets this process and its children make these system calls only."""
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ACT_ERRNO | errno.EPERM))
    for call in calls:
        number = library.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:  # else this processor has no such call
            library.seccomp_rule_add(context, ACT_ALLOW, number, 0)
    assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert library.seccomp_load(context) == 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        library = None
    if not library or not shutil.which("systemd-analyze"):
        print("skipped: it needs libseccomp and systemd-analyze")
        sys.exit(77)
    restrict(library, allowed(sys.argv[1]))
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 5)
    except PermissionError:
        pass
    else:
        sys.exit("the filter does not work")
    os.execv(sys.argv[2], sys.argv[2:])


main()

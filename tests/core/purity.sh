#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# purity.sh NM ARCHIVE...: fails when the archives need a symbol that a pure state machine may not.
set -eu
export LC_ALL=C # a folded comparison of thousands of names takes a minute
nm=$1
shift
allowed='mem[a-z]*|str[a-z]*|vsnprintf|snprintf|malloc|calloc|free|__assert_fail|__stack_chk_fail'
allowed="$allowed|__mem[a-z]*_chk|__v?snprintf_chk|_GLOBAL_OFFSET_TABLE_|__isoc99_[a-z]*"
defined=$("$nm" --defined-only "$@" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u)
needed=$("$nm" --undefined-only "$@" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u)
[ -n "$defined" ] || { echo "no symbols in $*" >&2; exit 1; }
impure=$(printf '%s\n' "$needed" | grep -vxE "$allowed" | grep -vxF "$defined" || true)
if [ -n "$impure" ]; then
    echo "the core is not pure, it needs:" >&2
    printf '%s\n' "$impure" >&2
    exit 1
fi
# Memory comes from the arena. Only the creation of a core allocates system memory.
# (GNU nm prints "archive.a:" and "member.o:"; only the latter is matched)
grown=$("$nm" --undefined-only "$@" 2>/dev/null | awk '/\.o:$/ {file = $1}
    $2 ~ /^(malloc|calloc|realloc)$/ && file !~ /^(arena|core|inflight)\.c\.o:$/ {print file, $2}')
if [ -n "$grown" ]; then
    echo "memory that is not from the arena:" >&2
    printf '%s\n' "$grown" >&2
    exit 1
fi
# the test can fail: a symbol that is not allowed is noticed
printf 'socket\n' | grep -vxE "$allowed" | grep -q socket
echo "pure: $(printf '%s\n' "$needed" | grep -xE "$allowed" | tr '\n' ' ')"

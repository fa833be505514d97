#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long.sh TORUSCTL CHECK: every collective on every shape with 1 to 16 ranks, up to 4 a node, over real
# daemons. Takes minutes: without TORUS_TEST_LONG it is skipped, and says so by exit code 77.
set -eu
[ -n "${TORUS_TEST_LONG:-}" ] || exit 77
for case in 1x1:1 1x2:2 2x2:4 3x3:9 2x2x2:8 1mx2m:2 3x3m:9 2mx2x2m:8; do
    shape=${case%:*} nodes=${case#*:}
    ranks=1
    while [ "$ranks" -le 16 ] && [ "$ranks" -le $((4 * nodes)) ]; do
        "$1" emulate "$shape" --ranks "$ranks" -- "$2" || { echo "$shape, $ranks ranks failed"; exit 1; }
        ranks=$((ranks + 1))
    done
    "$1" emulate "$shape" --ranks-per-node 4 --ranks $((nodes < 4 ? 4 * nodes : 13)) -- "$2"
done

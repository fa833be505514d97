#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long.sh TORUSCTL CHECK: every collective on every shape with 1 to 16 ranks, up to 4 a node, over real
# daemons, in the direct fabric; in the routed one, all-to-all by every method, with few slots and with
# many ranks a node, and all collectives. Takes minutes: without TORUS_TEST_LONG it is skipped, and says so by exit code 77.
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
routed="--fabric routed --set network.packet=4KiB"
for case in 3x3:9 4x4:16 3x3x3:27 2x2x4m:16 2x3m:6 4:4 1x2:2; do
    shape=${case%:*} nodes=${case#*:}
    for method in auto random phased pairwise two-phase; do
        for ranks in 2 "$nodes" $((nodes + 5)); do
            # shellcheck disable=SC2086 # options are words
            "$1" emulate "$shape" --ranks "$ranks" $routed --set torus.slots=2 \
                --set torus.alltoall=$method -- "$2" alltoall 40000 ||
                { echo "$shape, $ranks ranks, $method failed"; exit 1; }
        done
    done
    # shellcheck disable=SC2086
    "$1" emulate "$shape" $routed -- "$2" || { echo "$shape, routed, failed"; exit 1; }
done

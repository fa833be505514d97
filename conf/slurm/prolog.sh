#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prolog: Slurm runs it as root on each node of a job, before the first process of the job (Prolog= in
# slurm.conf). It checks the torusd of the node: it exists, it answers within LIMIT_S seconds, it is of
# the release of torusctl, and it has the shape SHAPE. After a failed check the node is drained with a
# reason that says what to do; Slurm then queues a batch job again, and ends srun and salloc.
set -u
PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
export PATH

TORUSCTL=torusctl
TORUS_SOCKET=/run/torusd/torusd.sock
LIMIT_S=5
SHAPE= # as [torus] shape in torusd.conf; empty: any
# shellcheck source=/dev/null
[ ! -r /etc/torusd/slurm.sh ] || . /etc/torusd/slurm.sh

node=${SLURMD_NODENAME:-$(hostname -s)}

# drain REASON: drain the node and exit. Slurm keeps this reason; without it, it sets "Prolog error".
drain() {
    echo "prolog of torusd: $1" >&2
    scontrol update NodeName="$node" State=DRAIN Reason="torusd: $1" >&2
    exit 1
}

command -v "$TORUSCTL" >/dev/null ||
    drain "there is no $TORUSCTL: install torusd, or set TORUSCTL in /etc/torusd/slurm.sh; then resume"
said=$(timeout -k 1 "$LIMIT_S" "$TORUSCTL" status --here --socket "$TORUS_SOCKET" 2>&1)
code=$?
first=$(printf '%s\n' "$said" | head -n 1 | cut -c 1-200)
case $code in
0) ;;
3) drain "nobody listens at $TORUS_SOCKET: systemctl restart torusd; then resume" ;;
124 | 137) drain "no answer within $LIMIT_S s at $TORUS_SOCKET: systemctl restart torusd; then resume" ;;
*)
    case $first in
    *version*) drain "$first: restart torusd after an update; then resume" ;;
    *) drain "torusctl status fails: $first" ;;
    esac
    ;;
esac

# the first line is, for example: node 2 (1,0) of 2x3m: 3 of 5 peers up
shape=$(printf '%s\n' "$first" | sed -n 's/^node [0-9]* ([0-9,]*) of \([0-9xm]*\): .*/\1/p')
[ -n "$shape" ] || drain "torusctl status has an unknown form: prolog and torusctl of different releases?"
[ -z "$SHAPE" ] || [ "$SHAPE" = "$shape" ] ||
    drain "its shape is $shape, SHAPE is $SHAPE: correct torusd.conf or slurm.sh, restart torusd; then resume"
exit 0

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# epilog: Slurm runs it as root on each node of a job, after the last process of the job that Slurm
# knows (Epilog= in slurm.conf). A process that has left Slurm's sight (its parent has ended, and
# ProctrackType is not cgroup) may still be a rank: the other ranks wait for it, and it keeps shared
# memory. The epilog ends such processes: clients of this node's torusd that belong to the user of the
# job and have its SLURM_JOB_ID in the environment they were started with. torusd then frees their
# ranks and memory. If a process does not end, the node is drained with a reason.
set -u
PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
export PATH

TORUSCTL=torusctl
TORUS_SOCKET=/run/torusd/torusd.sock
LIMIT_S=5
# shellcheck source=/dev/null
[ ! -r /etc/torusd/slurm.sh ] || . /etc/torusd/slurm.sh

node=${SLURMD_NODENAME:-$(hostname -s)}
job=${SLURM_JOB_ID:?the epilog is started by slurmd}
user=${SLURM_JOB_UID:?the epilog is started by slurmd}

# belongs PID: a process id may be in use again, so this is looked at before each signal.
belongs() {
    [ "$(stat -c %u "/proc/$1" 2>/dev/null)" = "$user" ] &&
        tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | grep -qx "SLURM_JOB_ID=$job"
}

# remaining PID ...: print those that still belong to the job
remaining() {
    for pid in "$@"; do
        ! belongs "$pid" || printf '%s ' "$pid"
    done
}

# await PID ...: wait up to LIMIT_S seconds for their end, and print those that remain
await() {
    tries=$((LIMIT_S * 10))
    left=$(remaining "$@")
    while [ -n "$left" ] && [ "$tries" -gt 0 ]; do
        sleep 0.1
        tries=$((tries - 1))
        # shellcheck disable=SC2086 # one word a process
        left=$(remaining $left)
    done
    printf '%s' "$left"
}

# If torusd does not answer, nothing can be looked up, and the prolog of the next job drains the node.
# Line by line: a name of a job cannot contain a line break.
clients=$(timeout -k 1 "$LIMIT_S" "$TORUSCTL" status --here --json --socket "$TORUS_SOCKET" 2>/dev/null |
    sed -n 's/^ *"pid": \([0-9][0-9]*\),$/\1/p' | sort -un)
# shellcheck disable=SC2086 # one word a process
left=$(remaining $clients)
[ -n "$left" ] || exit 0

logger -t slurm-epilog "torusd: ending processes of job $job: $left" 2>/dev/null
# shellcheck disable=SC2086
kill -TERM $left 2>/dev/null
# shellcheck disable=SC2086
left=$(await $left)
[ -n "$left" ] || exit 0
# shellcheck disable=SC2086
kill -KILL $left 2>/dev/null
# shellcheck disable=SC2086
left=$(await $left)
[ -n "$left" ] || exit 0

reason="torusd: processes of job $job do not end: ${left% }; look at their file systems, or reboot; then resume"
echo "epilog of $reason" >&2
scontrol update NodeName="$node" State=DRAIN Reason="$reason" >&2
exit 1

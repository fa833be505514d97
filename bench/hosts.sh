#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hosts.sh COMMAND: hosts of one machine, for the comparison over links of limited rate. A host is a
# network namespace with a host name of its own. All hosts are on one bridge; each direction of a
# host's link passes a token bucket of RATE.
#
#   hosts.sh up PREFIX HOSTS RATE          make the hosts PREFIX0, PREFIX1, ...; RATE: 1gbit, or none
#   hosts.sh down PREFIX                   remove them, and end what runs on them
#   hosts.sh torusd PREFIX HOSTS RANKS SECURITY PROGRAM [ARGUMENT ...]
#                                          run PROGRAM on RANKS ranks of each host, with daemons;
#                                          SECURITY: insecure, authenticate or encrypt
#   hosts.sh mpi PREFIX HOSTS RANKS PROGRAM
#                                          the same with mpirun over TCP
#   hosts.sh plain PREFIX HOSTS RANKS PROGRAM
#                                          the same without a launcher: BENCH_RANK, BENCH_SIZE and
#                                          BENCH_INTERFACE tell the ranks about each other
#
# It needs root, ip, tc and unshare. PROGRAM's folder has torusd and torusctl.
set -eu

NETWORK=10.77.0
PORT=7117

address() { echo "$NETWORK.$(($1 + 1))"; }

# on HOST COMMAND ...: become COMMAND on a host.
on() {
    local host=$1
    shift
    exec ip netns exec "$host" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$host" "$@"
}

# limit HOST DEVICE RATE: the burst is two of the largest segments that TCP hands over; the queue holds
# 2 MiB, like that of a switch.
limit() {
    [ "$3" = none ] || ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "$3" burst 128kb \
        limit 2mb
}

up() {
    local prefix=$1 hosts=$2 rate=$3 switch=${1}s
    ip netns add "$switch"
    ip -n "$switch" link add bridge type bridge
    ip -n "$switch" link set bridge up
    for i in $(seq 0 $((hosts - 1))); do
        local host=$prefix$i
        ip netns add "$host"
        ip -n "$switch" link add "port$i" type veth peer name net0 netns "$host"
        ip -n "$switch" link set "port$i" master bridge up
        ip -n "$host" link set lo up
        ip -n "$host" address add "$(address "$i")/24" dev net0
        ip -n "$host" link set net0 up
        limit "$host" net0 "$rate"
        limit "$switch" "port$i" "$rate"
    done
}

down() {
    for host in $(ip netns list | awk -v p="$1" 'index($1, p) == 1 { print $1 }'); do
        ip netns pids "$host" | xargs -r kill -KILL 2>/dev/null || true
        ip netns delete "$host"
    done
}

# configure FOLDER HOST PLACE HOSTS SECURITY: write a daemon's configuration.
configure() {
    cat <<END
[node]
coordinates = $3
socket = $1/$2.sock
state_directory = $1/$2.state
[torus]
shape = $4
[peers]
endpoints = $(for i in $(seq 0 $(($4 - 1))); do echo "    tcp://$(address "$i"):$PORT"; done)
[log]
level = error
[security]
END
    if [ "$5" = insecure ]; then
        echo "insecure = yes"
    else
        printf 'key = %s\npeers = %s\nstreams = %s\n' "$1/$2.key" "$1/peers" "$5"
    fi
}

run_torusd() {
    local prefix=$1 hosts=$2 ranks=$3 security=$4 tools
    shift 4
    tools=$(dirname "$1")
    if [ ! -x "$tools/torusd" ] || [ ! -x "$tools/torusctl" ]; then
        echo "hosts.sh: $tools has no torusd and torusctl" >&2
        exit 1
    fi
    folder=$(mktemp -d /tmp/torus-hosts.XXXXXX)
    daemons=
    # shellcheck disable=SC2086 # one word a process
    trap 'kill $daemons 2>/dev/null; wait; rm -rf "$folder"' EXIT
    trap 'exit 1' TERM INT
    for i in $(seq 0 $((hosts - 1))); do
        if [ "$security" != insecure ]; then
            "$tools/torusctl" keygen --coordinates "$i" "$folder/$prefix$i.key" >> "$folder/peers" 2>/dev/null
        fi
    done
    for i in $(seq 0 $((hosts - 1))); do
        local host=$prefix$i
        configure "$folder" "$host" "$i" "$hosts" "$security" > "$folder/$host.conf"
        on "$host" "$tools/torusd" --config "$folder/$host.conf" &
        daemons="$daemons $!"
    done
    local programs=
    for i in $(seq 0 $((hosts - 1))); do
        until [ -S "$folder/$prefix$i.sock" ]; do sleep 0.02; done
        for r in $(seq 0 $((ranks - 1))); do
            TORUS_SOCKET=$folder/$prefix$i.sock TORUS_JOB=bench TORUS_RANK=$((i * ranks + r)) \
                TORUS_SIZE=$((hosts * ranks)) on "$prefix$i" "$@" &
            programs="$programs $!"
        done
    done
    # shellcheck disable=SC2086 # one word a process
    wait $programs
}

run_mpi() {
    local prefix=$1 hosts=$2 ranks=$3 program=$4 list=
    for i in $(seq 0 $((hosts - 1))); do list=$list,$prefix$i:$ranks; done
    # mpirun reaches a host by this script instead of ssh
    on "${prefix}0" env HOSTS_AGENT=1 mpirun --allow-run-as-root --oversubscribe --bind-to none \
        --mca mpi_yield_when_idle 1 --mca plm_rsh_agent "$0 agent" \
        --mca oob_tcp_if_include net0 --mca btl_tcp_if_include net0 --mca pml ob1 \
        --mca btl tcp,vader,self --host "${list#,}" -n $((hosts * ranks)) \
        ${COLLECTIVES_SOCKET:+-x COLLECTIVES_SOCKET} ${FFT_SOCKET:+-x FFT_SOCKET} \
        ${COLLECTIVES_MEMORY:+-x COLLECTIVES_MEMORY} "$program"
}

run_plain() {
    local prefix=$1 hosts=$2 ranks=$3 program=$4 programs=
    # shellcheck disable=SC2086 # one word a process
    trap 'kill $programs 2>/dev/null; wait; exit 1' TERM INT
    for i in $(seq 0 $((hosts * ranks - 1))); do
        BENCH_RANK=$i BENCH_SIZE=$((hosts * ranks)) BENCH_INTERFACE=net0 \
            on "$prefix$((i / ranks))" "$program" &
        programs="$programs $!"
    done
    # shellcheck disable=SC2086 # one word a process
    wait $programs
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command in
up) up "$@" ;;
down) down "$@" ;;
torusd) run_torusd "$@" ;;
mpi) run_mpi "$@" ;;
plain) run_plain "$@" ;;
agent) # HOST COMMAND ...
    host=$1
    shift
    on "$host" sh -c "$*"
    ;;
*)
    sed -n '3,21s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE CMAKE BUILD CC: check that files installed under a prefix name it, and that they work.
set -eu
source=$1 cmake=$2 build=$3 cc=$4
folder=$(mktemp -d)
chmod 755 "$folder" # --check-config by root reads as the user torusd, if there is one
trap 'rm -rf "$folder"' EXIT
complain() { echo "$*" >&2; exit 1; }

# files PREFIX CONFIGURATION: below $DESTDIR
files() {
    [ -f "$DESTDIR$2/torusd.conf" ] || complain "$2/torusd.conf is not there"
    lib=$DESTDIR$1/lib
    grep -qx "ExecStart=$1/sbin/torusd --config $2/torusd.conf" "$lib/systemd/system/torusd.service" ||
        complain "the unit names other places than those of $1"
    grep -qx "ExecStart=$1/sbin/torusd --config $2/%i.conf" "$lib/systemd/system/torusd@.service" ||
        complain "the template names other places than those of $1"
    grep -qx "ExecStart=$1/sbin/torusd --measure" "$lib/systemd/system/torusd-plans@.service" ||
        complain "the unit that measures plans names other places than those of $1"
    [ -f "$lib/systemd/system/torusd-plans.socket" ] || complain "its socket is not there"
    grep -q "^d $2 " "$lib/tmpfiles.d/torusd.conf" || complain "tmpfiles names another folder than $2"
    grep -q "^prefix=$1\$" "$(find "$DESTDIR$1" -name torus.pc)" || complain "torus.pc is not of $1"
    for script in prolog epilog; do
        placed=$DESTDIR$1/libexec/torus/slurm-$script
        [ -x "$placed" ] && grep -q "$2/slurm.sh" "$placed" || complain "slurm-$script does not read $2/slurm.sh"
        grep -qix "$script=$1/libexec/torus/slurm-$script" "$DESTDIR$1/share/torus/slurm/slurm.conf" ||
            complain "slurm.conf has no $script of $1"
    done
    page=$DESTDIR$1/share/man/man8/torusd.8
    [ -f "$page" ] || { echo "the man pages are not looked at: there is no scdoc"; return 0; }
    tr -d '\\&' <"$page" | grep -q "$2/torusd.conf" || complain "torusd(8) does not say $2"
}

# seen PREFIX HOME [LINE]: how the units see the folders of users
seen() {
    for unit in torusd.service torusd@.service torusd-plans@.service; do
        file=$DESTDIR$1/lib/systemd/system/$unit
        grep -qx "ProtectHome=$2" "$file" || complain "$unit of $1 has not ProtectHome=$2"
        if [ -n "${3:-}" ]; then grep -qx "$3" "$file" || complain "$unit of $1 has not $3"; fi
    done
}

for prefix in /usr /usr/local /opt/torus; do
    export DESTDIR="$folder/$(basename $prefix)"
    "$cmake" --install "$build" --prefix $prefix >/dev/null
    case $prefix in
    /opt/*) files $prefix /etc$prefix/torusd ;;
    *) files $prefix /etc/torusd ;;
    esac
done

export DESTDIR="$folder/usr"
seen /usr yes
export DESTDIR="$folder/home"
for prefix in /home/me/torus /root/torus /tmp/torus; do
    "$cmake" --install "$build" --prefix $prefix >/dev/null
    files $prefix $prefix/etc/torusd
    seen $prefix tmpfs "BindReadOnlyPaths=$prefix"
done

export DESTDIR=
prefix=$folder/prefix
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
files "$prefix" "$prefix/etc/torusd"
"$prefix/sbin/torusd" --check-config | grep -q "^$prefix/etc/torusd/torusd.conf: valid" ||
    complain "torusd does not read the configuration of its prefix"
for wrong in 'node.socket = /no/such/folder/s' 'network.congestion = none-such' 'peers.listen = tcp://192.0.2.1:7117'; do
    section=${wrong%%.*}
    printf '[torus]\nshape = 2\n[node]\ncoordinates = 0\n[peers]\nendpoints = tcp://192.0.2.1:7117 tcp://192.0.2.2:7117\n[security]\ninsecure = yes\n[%s]\n%s\n' \
        "$section" "${wrong#*.}" >"$folder/wrong.conf"
    "$prefix/sbin/torusd" --config "$folder/wrong.conf" --check-config 2>"$folder/said" &&
        complain "$wrong passes --check-config"
    grep -q "on this host\|this host's kernel\|this host has no address" "$folder/said" || complain "$(cat "$folder/said")"
done
"$prefix/sbin/torusd" --help | grep -q "$prefix/etc/torusd/torusd.conf" || complain "nor does it say so"

echo '# mine' >>"$prefix/etc/torusd/torusd.conf"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
grep -q '^# mine' "$prefix/etc/torusd/torusd.conf" || complain "a configuration was overwritten"

# the C program of the README, built as the README says
export PATH="$prefix/bin:$PATH" PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name torus.pc)")"
export LD_LIBRARY_PATH="$(dirname "$PKG_CONFIG_PATH")"
cd "$folder"
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/README.md" >hello.c
$cc -o hello hello.c $(pkg-config --cflags --libs torus)
[ "$(torusctl emulate 2x2 -- ./hello | grep -c 'of 4: the sum is 6')" = 4 ] || complain "hello does not work"
echo "every place is that of its prefix"

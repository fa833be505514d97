#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# units.sh SOURCE TORUSD: systemd-analyze finds nothing to say of the units. The binary is the one just
# built, since nothing is installed here; the man pages that the units name are not looked for.
set -eu
command -v systemd-analyze >/dev/null || { echo 'skipped: there is no systemd-analyze'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for unit in torusd.service torusd@.service torusd-plans@.service torusd.socket torusd-plans.socket \
    torusd-emulated.target; do
    sed -e "s|/usr/sbin/torusd|$2|" -e '/^Documentation=/d' "$1/systemd/$unit" >"$folder/$unit"
done
cp "$folder/torusd@.service" "$folder/torusd@n0.service"
cp "$folder/torusd-plans@.service" "$folder/torusd-plans@0.service"
said=$(cd "$folder" && systemd-analyze verify --man=no ./torusd.service ./torusd@n0.service \
    ./torusd-plans@0.service ./torusd.socket ./torusd-plans.socket ./torusd-emulated.target 2>&1 | grep -F "$folder" || true)
[ -z "$said" ] || { echo "$said"; exit 1; }
# the sandbox stays as tight as it is; 1.4 is made of the network, netlink, the uids of clients and /proc
exposed() { # UNIT TENTHS
    systemd-analyze security --offline=true --threshold="$2" "$folder/$1" >/dev/null ||
        { systemd-analyze security --offline=true "$folder/$1" | tail -1; exit 1; }
}
exposed torusd.service 14
exposed torusd@n0.service 14
exposed torusd-plans@0.service 4
# and it would have something to say
printf '[Service]\nExecStart=/no/such/torusd\n' >"$folder/bad.service"
systemd-analyze verify --man=no "$folder/bad.service" >/dev/null 2>&1 && exit 1
echo "units are clean"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# units.sh SOURCE TORUSD: systemd-analyze finds nothing to say of the units. The binary is the one just
# built, since nothing is installed here; the man pages that the units name are not looked for.
set -eu
command -v systemd-analyze >/dev/null || { echo 'skipped: there is no systemd-analyze'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for unit in torusd.service torusd@.service; do
    sed -e "s|/usr/sbin/torusd|$2|" -e '/^Documentation=/d' "$1/systemd/$unit" >"$folder/$unit"
done
cp "$folder/torusd@.service" "$folder/torusd@n0.service"
said=$(systemd-analyze verify --man=no "$folder/torusd.service" "$folder/torusd@n0.service" 2>&1 |
    grep -F "$folder" || true)
[ -z "$said" ] || { echo "$said"; exit 1; }
# the sandbox stays as tight as it is; 1.5 is made of the network, the uids of clients, /proc and the
# low priority of the process that measures plans
for unit in torusd.service torusd@n0.service; do
    systemd-analyze security --offline=true --threshold=15 "$folder/$unit" >/dev/null ||
        { systemd-analyze security --offline=true "$folder/$unit" | tail -1; exit 1; }
done
# and it would have something to say
printf '[Service]\nExecStart=/no/such/torusd\n' >"$folder/bad.service"
systemd-analyze verify --man=no "$folder/bad.service" >/dev/null 2>&1 && exit 1
echo "units are clean"

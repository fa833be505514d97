#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh HEADER LIBRARY: check that the library exports exactly the functions of the header.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# the name of a declaration may be on the line after TORUS_API
tr '\n' ' ' <"$1" | grep -o 'TORUS_API [^(;]*(' | grep -o 'torus_[a-z0-9_]*($' | tr -d '(' |
    sort >"$folder/declared"
nm -D --defined-only "$2" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort >"$folder/exported"
[ "$(wc -l <"$folder/declared")" -gt 30 ] || { echo "the header was not understood"; exit 1; }
diff "$folder/declared" "$folder/exported"

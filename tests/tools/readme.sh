#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh SOURCE BUILD: compile and run the README's programs by its own lines, and compare their output.
set -eu
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$source/client" client
ln -s "$build" build

# block FENCE FIRST: print the block with this fence whose first line begins with FIRST
block() {
    awk -v fence="$1" -v first="$2" '
        $0 == "```" { inside = 0 }
        inside == 1 { inside = index($0, first) == 1 ? 2 : 0 }
        inside == 2 { print }
        $0 == fence { inside = 1 }' "$source/README.md"
}
block '```c' '#include' >hello.c
block '```python' 'import numpy' >hello.py
block '```sh' './dev build' | sed 1d >lines.sh
block '```' '[0] rank 0' >expected
[ -s hello.c ] && [ -s hello.py ] && [ -s lines.sh ] && [ -s expected ] || { echo "no such block"; exit 1; }
sort expected expected >both
sh -eu lines.sh | sort | diff both -

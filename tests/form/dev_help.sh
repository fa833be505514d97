#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dev_help.sh SOURCE: --help of each command of dev prints its text, and neither installs nor builds.
set -eu
cd "$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for program in cmake ctest apt-get dpkg-query sudo git; do
    printf '#!/bin/sh\necho %s >>%s/called\n' "$program" "$folder" >"$folder/$program"
    chmod +x "$folder/$program"
done
export PATH="$folder:$PATH"

fail() {
    echo "dev_help.sh: $*" >&2
    exit 1
}

# help_says WORDS COMMAND ...: the help of a command has these words.
help_says() {
    words=$1
    shift
    for option in --help -h; do
        text=$(./dev "$@" $option) || fail "./dev $* $option exits with $?"
        echo "$text" | grep -qF -- "$words" || fail "./dev $* $option does not say '$words', but: $text"
    done
}

for command in demo test lint fuzz swarm coverage build package bench; do
    help_says "  $command " "$command"
done
help_says "usage: mutate.py" mutate
help_says "usage: collectives" bench collectives
help_says "  --operation NAME  barrier, broadcast, allreduce" bench hosts
help_says "usage: bench_fft" bench fft
help_says "  bench counts" bench counts
help_says "ranks per node. Each element is checked" bench moves
help_says "bench redist --ranks" bench redist
! ./dev nothing --help >"$folder/out" 2>&1 || fail "./dev nothing --help succeeds"
[ ! -e "$folder/called" ] || fail "help has called $(sort -u "$folder/called" | tr '\n' ' ')"

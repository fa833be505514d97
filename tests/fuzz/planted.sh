#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# planted.sh [--seconds SECONDS] [NAME ...]: measure the fuzz targets by bugs that are planted. Each
# file of tests/fuzz/planted is a patch, whose first line names the target that must find it and the
# kind of bug. For each (or those whose names begin with NAME) the script applies the patch to a
# copy of the tree, builds the target, runs it from the kept corpus until it fails, at most 600 s,
# and prints the time. It exits with 1 if a bug was not found.
# planted.sh --check: succeed if all patches apply to this tree.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
patches=$top/tests/fuzz/planted
seconds=600

if [ "${1:-}" = --check ]; then
    for patch in "$patches"/*.patch; do
        git apply --check "$patch" || {
            echo "planted.sh: $patch does not apply: renew it" >&2
            exit 1
        }
    done
    exit 0
fi
if [ "${1:-}" = --seconds ]; then
    seconds=$2
    shift 2
fi

copy=$top/build/planted/source
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | xargs -0 cp -p --parents -t "$copy"
cd "$copy"
export GIT_CEILING_DIRECTORIES="${copy%/*}" # git apply changes the copy, not the tree around it
cmake --preset fuzz -B "$top/build/planted/build" >/dev/null

# chosen NAME [BEGIN ...]: succeed if no name was given, or one begins this one.
chosen() {
    name=$1
    shift
    [ $# -gt 0 ] || return 0
    for begin in "$@"; do
        case "$name" in "$begin"*) return 0 ;; esac
    done
    return 1
}

messages='Assertion .*|fuzz target exited|AddressSanitizer: [A-Za-z-]+|runtime error: .*|^node .*|in the end .*'
failed=0
printf '%-22s %-8s %8s  %s\n' bug target seconds 'found by'
for patch in "$patches"/*.patch; do
    name=$(basename "$patch" .patch)
    chosen "$name" "$@" || continue
    target=$(sed -n '1s/:.*//p' "$patch")
    here=$top/build/planted/$name
    rm -rf "$here"
    mkdir -p "$here/corpus"
    git apply "$patch"
    cmake --build "$top/build/planted/build" --target "fuzz_$target" >"$here/build.log" 2>&1 ||
        { cat "$here/build.log" >&2; exit 2; }
    words=$top/tests/fuzz/dictionaries/$target.dict
    [ -f "$words" ] || words=
    begin=$(date +%s.%N)
    found=no
    nice -n 19 "$top/build/planted/build/bin/fuzz_$target" -max_len=2000 -timeout=60 \
        -rss_limit_mb=4000 -max_total_time="$seconds" -verbosity=0 -artifact_prefix="$here/" \
        ${words:+-dict="$words"} "$here/corpus" "$top/tests/fuzz/corpus/$target" >"$here/run.log" 2>&1 || found=yes
    end=$(date +%s.%N)
    how=$(grep -m 1 -E -o "$messages" "$here/run.log" | cut -c 1-90 || true)
    if [ $found = no ]; then
        failed=1
        how="NOT FOUND"
    fi
    printf '%-22s %-8s %8.1f  %s\n' "$name" "$target" "$(echo "$begin $end" | awk '{ print $2 - $1 }')" "$how"
    git apply -R "$patch"
done
exit $failed

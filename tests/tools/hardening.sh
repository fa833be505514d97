#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hardening.sh READELF OBJDUMP BUILD_TYPE FILE...: check that programs and libraries were built with
# the hardening of CMakeLists.txt.
set -eu
readelf=$1 objdump=$2 build=$3
shift 3
failed=0

# expect TEXT PATTERN FAULT: check that the pattern occurs in the text.
expect() {
    printf '%s\n' "$1" | grep -Eq -- "$2" && return
    echo "$file: $3"
    failed=1
}

for file; do
    header=$("$readelf" -hW "$file") segments=$("$readelf" -lW "$file")
    dynamic=$("$readelf" -dW "$file") symbols=$("$readelf" -sW "$file")
    expect "$header" 'Type: +DYN' "not loaded at random addresses"
    expect "$segments" 'GNU_RELRO' "relocations are not read-only"
    expect "$segments" 'GNU_STACK.* RW ' "the stack is executable"
    expect "$dynamic" 'BIND_NOW|FLAGS_1.*NOW' "functions are bound late"
    expect "$symbols" '__stack_chk_fail' "no stack canaries"
    [ "$build" = Debug ] || expect "$symbols" '__[a-z]*printf_chk' "string functions are not checked"
    case $file in
    *.so*) function=torus_open ;;
    *) function=main
       expect "$dynamic" 'FLAGS_1.*PIE' "not position-independent" ;;
    esac
    case $header in
    *X86-64*) expect "$("$objdump" -d --disassemble="$function" "$file")" 'endbr64' \
        "branches are not tracked" ;;
    esac
done
exit $failed

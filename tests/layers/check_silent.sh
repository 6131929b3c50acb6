#!/usr/bin/env bash
# A library does not print: what is compiled into it reaches for no standard stream. Whoever calls it decides what is said
# and where.
#
#   check_silent.sh ARCHIVE-OR-OBJECT…
set -euo pipefail

[ $# -gt 0 ] || { echo "no object files to look into"; exit 1; }
nm -A -u "$@" | awk '
    $NF ~ /^(stdin|stdout|stderr|printf|vprintf|__printf_chk|__vprintf_chk|puts|putchar|perror|psignal)$/ {
        print $1 ": " $NF ": a library does not print"
        faults++
    }
    END {
        if (!NR) { print "no object files to look into"; exit 1 }
        if (faults) exit 1
        print "no object of the libraries prints"
    }'

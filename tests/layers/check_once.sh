#!/usr/bin/env bash
# One way to do a thing: what everybody needs is written once, in src/base or src/core, and nowhere again.
#
#   check_once.sh ROOT
set -euo pipefail
cd "$1"
faults=0

# once WHAT HEADER PATTERN: no other file of the program may hold the pattern
once() {
    local found
    found=$(grep -rnE --include='*.[ch]' -- "$3" src bench | grep -v "^$2:" || true)
    if [ -n "$found" ]; then
        echo "$found"
        echo "the $1 of the program is in $2: use that"
        faults=$((faults + 1))
    fi
}
once clock src/base/clock.h 'clock_gettime\('
once 'way from a Time to nanoseconds and back' src/core/stamp.h '((->|\.)sec \* 1000000000|int32_t\)\(.* / 1000000000\), \(uint32_t)'
once 'reader of UTF-8' src/base/utf8.h '0x10ffff'
once clamp src/base/clamp.h 'static (inline )?double (nm_)?(clamp|within)\('
once 'random generator' src/base/random.h '0xbf58476d1ce4e5b9|xor(o)?shiro'
[ "$faults" = 0 ]

#!/usr/bin/env bash
# No state hides outside of structs: what is compiled for players, codecs, networks and bodies holds no writable variable,
# so that two robots in one process, or a replay beside a match, share nothing. Constant tables with pointers in them lie
# in .data.rel.ro (sealed after loading), the modules' entries in nm_modules; any other place for an object is a fault.
#
#   check_symbols.sh ARCHIVE-OR-OBJECT…
set -euo pipefail

[ $# -gt 0 ] || { echo "no object files to look into"; exit 1; }
objdump -t "$@" | awk '
    /file format/ { file = $1; sub(/:$/, "", file); objects++ }
    # value, 7 columns of flags (the last is O for an object; d marks a section itself), section, size, name
    /^[0-9a-f]+ ......O / || /^[0-9a-f]+ .....[^d].*(\*COM\*|\.tbss|\.tdata)\t/ {
        split(substr($0, index($0, "\t") + 1), rest, " ")
        n = split(substr($0, 1, index($0, "\t") - 1), left, " ")
        section = left[n]
        if (section ~ /^\.(rodata|data\.rel\.ro)/ || section == "nm_modules") next
        print file ": " rest[2] " can be written (" section "): state belongs into a struct"
        faults++
    }
    END {
        if (!objects) { print "no object files to look into"; exit 1 }
        if (faults) exit 1
        print "no writable variable in " objects " objects"
    }'

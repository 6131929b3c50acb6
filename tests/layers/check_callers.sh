#!/usr/bin/env bash
# Nothing is kept that nobody calls. Every function and table that an object file of the program offers to others is used by
# another object file of the program; what only its own file uses is static; what only tests use is deleted, or listed in
# called_by_tests.txt with the reason.
#
#   check_callers.sh BUILD ROOT
set -euo pipefail
build=$1
root=$2
list=$root/tests/layers/called_by_tests.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# object files of sources that are still there
objects() {
    find "$@" -name '*.o' ! -path '*/plugin_*' 2>/dev/null | while read -r object; do
        source=${object##*.dir/}
        source=${source%.o}
        case $object in "$build"/tests/*) source=tests/$source ;; esac
        if [ -f "$root/$source" ] || [ -f "$source" ] || [ -f "$build/$source" ]; then printf '%s\0' "$object"; fi
    done
}
# name and object file of what is offered; a module's table is found by its linker section, not by its name
objects "$build"/CMakeFiles/nm_*.dir/src "$build"/CMakeFiles/nutmeg.dir/src >"$scratch/ours"
[ -s "$scratch/ours" ] || { echo "no object files below $build"; exit 1; }
xargs -0 nm -A -g --defined-only <"$scratch/ours" 2>/dev/null |
    awk '$2 ~ /^[TDRBCV]$/ && $3 !~ /_module$/ { file = $1; sub(/:[0-9a-f]*$/, "", file); print $3, file }' |
    sort >"$scratch/offered"
used() { xargs -0r nm -u | awk '{ print $NF }' | sort -u; }
objects "$build"/CMakeFiles/nm_*.dir/src "$build"/CMakeFiles/nutmeg.dir "$build"/CMakeFiles/nmgen.dir | used >"$scratch/used"
objects "$build"/tests | used >"$scratch/tested"
# what modules outside of the tree may call is exported on purpose (NM_EXPORT)
nm -D --defined-only "$build/nutmeg" | awk '{ print $NF }' | sort -u >"$scratch/public"
sed -E 's/[[:space:]]*#.*//; /^$/d' "$list" | sort -u >"$scratch/listed"
# main, and the C library's functions that the guard against memory in cycles replaces
printf '%s\n' main malloc calloc realloc free memalign aligned_alloc posix_memalign reallocarray valloc pvalloc | sort >"$scratch/names"

cut -d' ' -f1 "$scratch/offered" | sort -u | comm -23 - "$scratch/used" | comm -23 - "$scratch/public" |
    comm -23 - "$scratch/names" >"$scratch/unused"
faults=0
while read -r name; do
    file=$(awk -v n="$name" '$1 == n { print $2; exit }' "$scratch/offered" | sed -E 's#.*\.dir/(.*)\.o#\1#')
    inside=$(grep -cw -- "$name" "$root/$file" || true)
    if grep -qx -- "$name" "$scratch/listed"; then
        continue
    elif ! grep -qx -- "$name" "$scratch/tested"; then
        echo "$file: $name is used by no other file: make it static, or delete it"
    elif [ "$inside" -gt 1 ]; then
        continue
    else
        echo "$file: only tests call $name: delete it, or say in called_by_tests.txt why it stays"
    fi
    faults=$((faults + 1))
done <"$scratch/unused"
while read -r name; do
    if ! grep -qx -- "$name" "$scratch/unused"; then
        echo "called_by_tests.txt: $name is not there any more, or somebody calls it now: remove its line"
        faults=$((faults + 1))
    fi
done <"$scratch/listed"
[ $faults = 0 ] || exit 1
echo "each of $(wc -l <"$scratch/offered") functions and tables is used"

#!/usr/bin/env bash
# What the program exports is what modules use, and nothing else: every module of the tree could be built again as a plug-in
# (`nutmeg dev` does), and no build of a module takes a function of another.
#
#   check_exports.sh PROGRAM MODULE-OBJECT…
set -euo pipefail
program=$1
shift
[ $# -gt 0 ] || { echo "no module objects"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nm -D --defined-only "$program" | awk '{ print $NF }' | sort -u >"$folder/exported"
nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u >"$folder/own"
nm -u "$@" | awk '$1 == "U" { print $2 }' | grep -E '^nm_|_type$' | sort -u >"$folder/needed"
missing=$(comm -23 "$folder/needed" "$folder/own" | comm -23 - "$folder/exported")
if [ -n "$missing" ]; then
    echo "modules use what the program does not export; mark it with NM_EXPORT (base/export.h):" $missing
    exit 1
fi
# tables of messages, the runtime's own names, and the allocator that libraries are to find; the rest is the linker's
more=$(grep -vE '^(nm_[a-z0-9_]+|[A-Za-z][A-Za-z0-9_]*_type)$|^(malloc|calloc|realloc|free|aligned_alloc|memalign|posix_memalign)$|^_|^data_start$|@' \
    "$folder/exported" || true)
modules=$(grep -E '_module$' "$folder/exported" || true)
if [ -n "$more$modules" ]; then
    echo "the program exports more than modules need:" $more $modules
    exit 1
fi

#!/usr/bin/env bash
# Nothing in the project ties it to one machine or one mirror: no file names the host of a package registry (clients know
# theirs) or a path of somebody's disk. The patterns are spelt so that this file does not match itself.
#
#   check_words.sh ROOT
set -euo pipefail
source "$(dirname "$0")/files.sh"
cd "$1"

hosts='(registry|www)[.]npm[j]s|registry[.]yarn[p]kg|(deb|security|ftp[.][a-z]+)[.]debian[.]or[g]|(archive|ports)[.]ubunt[u]'
hosts+='|py[p]i[.](org|python)|files[.]python[h]osted|crates[.]i[o]|repo1?[.]mave[n]'
paths='(^|[^[:alnum:]_.~/-])/(wor[k]|roo[t]|tmp/(buil[d]|brie[f]))/'
bad=$(project_files | tr '\n' '\0' | xargs -0 grep -nIHE -- "$hosts|$paths" /dev/null) || true
if [ -n "$bad" ]; then
    echo "$bad"
    echo "these lines name a registry's host or a path of one machine"
    exit 1
fi
echo "no file names a registry's host or a path of one machine"

#!/usr/bin/env bash
# The list of packages is complete: every shared library that the program is linked with comes from a package that one of
# the listed packages depends on. A machine on which everything was once installed by hand would not show the gap.
#
#   check_packages.sh PROGRAM LIST
set -euo pipefail
program=$1
list=$2
if [ -z "$(type -P dpkg-query)" ]; then
    echo "this is no Debian: nothing to compare with"
    exit 0
fi

listed=$(sed -E 's/[[:space:]#].*//; /^$/d' "$list")
# what the listed packages bring along: name of each dependency, without version and architecture
# shellcheck disable=SC2086
brought=$({ dpkg-query -W -f '${Depends}, ${Pre-Depends}\n' $listed 2>/dev/null || true; } |
    tr '|' ',' | tr ',' '\n' | sed -E 's/^ *([^ :(]*).*/\1/' | sort -u)
faults=0
libraries=0
for library in $(readelf -d "$program" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
    path=$(ldd "$program" | awk -v library="$library" '$1 == library { print $3 }')
    case $path in /*) ;; *) continue ;; esac # the loader itself
    libraries=$((libraries + 1))
    # a package may name the file under /lib or /usr/lib, which are the same folder
    file=$(readlink -f "$path")
    package=$({ dpkg-query -S "$file" "${file#/usr}" 2>/dev/null || true; } | sed 's/:.*//' | sort -u | head -1)
    if [ -n "$package" ] && ! grep -qxF -e "$package" <<<"$brought" && ! grep -qxF -e "$package" <<<"$listed"; then
        echo "$library comes with $package: no package of $(basename "$list") depends on it"
        faults=$((faults + 1))
    fi
done

[ $faults = 0 ] || exit 1
[ $libraries -gt 0 ] || { echo "$program is linked with nothing"; exit 1; }
echo "$libraries libraries, all from packages of $(basename "$list")"

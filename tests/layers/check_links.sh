#!/usr/bin/env bash
# Every link of README.md and docs/ leads somewhere: to a file or folder of the project, and to a heading where it names one.
#
#   check_links.sh ROOT
set -euo pipefail
source "$(dirname "$0")/files.sh"
cd "$1"

# the names by which headings are linked: lower case, blanks as dashes, no other marks
anchors() {
    awk '/^```/ { code = !code } /^#+ / && !code' "$1" |
        sed -E 's/^#+ +//; s/[^[:alnum:] _-]//g; s/ /-/g' | tr '[:upper:]' '[:lower:]'
}
# line:target of each link outside of code
links() {
    awk '/^```/ { code = !code; next }
        !code {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^)]+\)/)) {
                print FNR ":" substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

faults=0
documents=0
while read -r document; do
    documents=$((documents + 1))
    while IFS=: read -r line target; do
        case $target in http:* | https:* | mailto:*) continue ;; esac
        path=${target%%#*}
        anchor=${target#"$path"}
        file=$document
        if [ -n "$path" ]; then file=$(dirname "$document")/$path; fi
        if [ ! -e "$file" ]; then
            echo "$document:$line: there is no $target"
            faults=$((faults + 1))
        elif [ -n "$anchor" ] && ! anchors "$file" | grep -qxF -- "${anchor#\#}"; then
            echo "$document:$line: $file has no heading $anchor"
            faults=$((faults + 1))
        fi
    done < <(links "$document")
done < <(project_files | grep -E '^(README|docs/.*)\.md$')

[ $faults = 0 ] || exit 1
[ $documents -gt 0 ] || { echo "there are no documents"; exit 1; }
echo "every link of $documents documents leads somewhere"

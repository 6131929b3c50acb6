#!/usr/bin/env bash
# Who may include whom. A folder under src/ sees itself and the folders of its row; `messages` are the generated headers.
# A module never includes another module: of its own folder it may take shared headers, and those that stand in
# src/modules itself for all folders, but none that belongs to a file with a module in it. A header whose name ends in
# inside.h or internal.h is private: only files of its own folder (and benchmarks) may include it. MuJoCo is the
# simulator's (and of benchmarks against it), so that a robot is built without it.
#
#   check_includes.sh ROOT
set -euo pipefail
cd "$1"

declare -A may=(
    [base]="base"
    [codec]="base codec"
    [gen]="base codec gen"
    [core]="base codec messages core"
    [body]="base codec body"
    [nn]="base codec nn"
    [modules]="base codec core body nn messages"
    [edge]="base codec core body nn messages referee edge"
    [referee]="base codec core referee"
    [sim]="base codec core body nn messages referee sim"
    [learn]="base codec core body nn messages referee sim learn"
    [record]="base codec core body messages referee edge record"
    [cmd]="base codec core body nn messages referee edge sim learn modules record cmd bench"
    [bench]="base codec core body nn messages referee edge sim learn modules record cmd bench"
)
faults=0
fault() {
    echo "$1: $2"
    faults=$((faults + 1))
}

# the folder that an include reaches into: one of src/, bench, messages, or nothing if it is none of ours
reaches() {
    local top=${1%%/*}
    case $1 in
    ../bench/*) echo bench ;;
    *..*) echo outside ;;
    */*) if [ -d "src/$top" ]; then echo "$top"; elif [ -d "msg/$top" ]; then echo messages; fi ;;
    esac
}

another_module() { # FILE INCLUDED
    local file=${1#src/} source=src/${2%.h}.c
    [[ $(dirname "$2") = @(modules|$(dirname "$file")) ]] || return 0
    [ "${file%.*}" = "${2%.*}" ] && return 1
    [ -f "$source" ] && grep -q '^NM_MODULE(' "$source"
}

while IFS=: read -r file line text; do
    folder=${file#src/}
    folder=${folder%%/*}
    case $text in
    *'<mujoco'*) [[ $folder = @(sim|bench) ]] || fault "$file:$line" "only src/sim may include MuJoCo" ;;
    *'"'*'"'*)
        included=${text#*\"}
        included=${included%%\"*}
        to=$(reaches "$included")
        if [[ $folder != bench && $included = */* && ${included##*/} = @(*inside|*internal).h && src/$(dirname "$included") != "$(dirname "$file")" ]]; then
            fault "$file:$line" "$included is private to src/$(dirname "$included")"
        fi
        if [ "$folder" = modules ] && [ "$to" = modules ]; then
            if another_module "$file" "$included"; then
                fault "$file:$line" "a module may not include another ($included): they meet in messages"
            fi
        elif [ -z "${may[$folder]:-}" ]; then
            fault "$file:$line" "the folder $folder has no row in tests/layers/check_includes.sh"
        elif [ -z "$to" ]; then
            beside=$(dirname "$file")/$included # or made from an .idl beside it
            [ -f "$beside" ] || [ -f "${beside%.h}.idl" ] || fault "$file:$line" "$included is no file of src/ or msg/"
        elif [[ " ${may[$folder]} " != *" $to "* ]]; then
            fault "$file:$line" "$folder may not include $to ($included)"
        fi
        ;;
    esac
done < <(find src bench -name '*.[ch]' -exec grep -nHE '^[[:space:]]*#[[:space:]]*include' {} +)

[ $faults = 0 ] || exit 1
echo "every include stays inside its layer"

#!/usr/bin/env bash
# Every command of the program, at every depth, answers --help: on standard output, beginning with its own name, with
# exit code 0 and not a word of complaint.
#
#   check_help.sh PROGRAM
set -euo pipefail
program=$1
complaint=$(mktemp)
trap 'rm -f "$complaint"' EXIT
commands=0
faults=0
fault() {
    echo "$1"
    faults=$((faults + 1))
}

# a help whose first line ends with COMMAND lists further commands, two blanks before each
check() { # WORDS…
    local help first
    if ! help=$("$program" "$@" --help </dev/null 2>"$complaint"); then fault "nutmeg $* --help fails: $(cat "$complaint")"; fi
    commands=$((commands + 1))
    first=${help%%$'\n'*}
    local name="nutmeg${*:+ $*}"
    [ ! -s "$complaint" ] || fault "$name --help complains: $(cat "$complaint")"
    [ "${first#"$name"}" != "$first" ] || fault "$name --help begins with '$first', not with its own name"
    [ "$(wc -l <<<"$help")" -ge 3 ] || fault "$name --help tells next to nothing"
    [[ $first == *" COMMAND" ]] || return 0
    local found=0 word
    for word in $(sed -nE 's/^  ([a-z][a-z-]*)( .*|$)/\1/p' <<<"$help"); do
        found=$((found + 1))
        check "$@" "$word"
    done
    [ $found -gt 0 ] || fault "$name --help lists no commands"
}
check

[ $faults = 0 ] || exit 1
echo "$commands commands answer --help"

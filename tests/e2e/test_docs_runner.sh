#!/usr/bin/env bash
# The runner of documents executes what they say, and fails with the place where a document promises what does not happen.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
root=$place/root
mkdir "$root"
printf 'build:\nplay:\n\t@echo playing $$NM_PLAY_SECONDS seconds\ntest:\n\t@touch tested\n' >"$root/Makefile"
echo "first" >"$root/kept.txt"
faults=0

# document LINE…: with ''' for the back-ticks
document() { printf '%s\n' "$@" | sed "s/'''/\`\`\`/" >"$root/doc.md"; }
run() { NM_DOCS_SECONDS=${seconds:-20} "$here/test_docs.sh" "$root" "$place/scratch" doc.md 2>&1; }
works() { # WHAT SENTENCE
    local said
    if ! said=$(run) || [[ $said != *"$2"* ]]; then
        echo "$1 should work: $said"
        faults=$((faults + 1))
    fi
}
fails() { # WHAT SENTENCE
    local said
    if said=$(run) || [[ $said != *"$2"* ]]; then
        echo "$1 should fail and say '$2': $said"
        faults=$((faults + 1))
    fi
}

document "# Title" "'''sh" "echo one; x=3" "# -> one" "mkdir -p a && cd a" "'''" "text" "'''sh" \
    "[ \$x = 3 ] && basename \$PWD" "# -> a" "'''"
works "one shell for all blocks" "3 pieces executed, 2 outputs compared"

document "'''sh" "echo 'it takes 17 ms on a core'" "# -> it … on" "# -> 17 ms" "'''"
works "several expectations, with gaps" "2 outputs compared"
document "'''sh" "echo it takes 17 ms" "# -> it takes 18" "'''"
fails "a wrong expectation" "doc.md:3: expected 'it takes 18'"

document "'''sh" "echo 17   # -> 18" "'''"
fails "an expectation that nobody checks" "doc.md:2: an expectation behind a command is not checked"

document "'''sh" "true" "false" "echo on" "'''"
fails "a command that fails" "doc.md:2: ended with 1"
document "'''sh" "false | true" "'''"
fails "a pipe that fails" "doc.md:2: ended with 1"

document "'''c src/new/a.c" "int a = '1';" "'''" "'''sh" "cat src/new/a.c" "# -> int a = '1';" "'''"
works "a file of the document" "1 pieces executed"
[ ! -e "$root/src" ] || { echo "the document wrote into the checkout"; faults=1; }
document "'''sh" "[ ! -e src/new/a.c ]" "cat kept.txt" "# -> first" "echo second > kept.txt" "'''"
works "a fresh copy for each document" "1 outputs compared"
works "a fresh copy once more" "1 outputs compared"
document "'''c ../a.c" "int a;" "'''"
fails "a file outside" "doc.md:1: a file outside of the checkout"

document "'''sh" "printf 'motion  100.0 Hz\\nvision 29.7 Hz\\nend\\n'" "'''" "'''text output" "motion 99.5 Hz" "…" "end" "'''"
works "output with other numbers" "1 outputs compared"
document "'''sh" "printf 'vision\\nmotion\\n'" "'''" "'''text output" "motion" "vision" "'''"
fails "output in another order" "doc.md:4: expected 'vision'"
document "'''text" "anything" "'''"
works "text that is no output" "0 pieces executed"

document "'''sh robot" "false" "'''" "'''sh root" "false" "'''" "'''sh endless" "false" "'''"
works "commands left out for a reason" "0 pieces executed"
document "'''sh later" "false" "'''"
fails "a reason that is none" 'doc.md:1: "later" is no reason'

document "'''sh" "make test && make play" "# -> touch tested" "# -> playing 2 seconds" "[ ! -e tested ]" "'''"
works "the two commands" "2 outputs compared"
document "'''sh" "sleep 30 & echo started" "# -> started" "'''"
works "a program left running" "1 outputs compared"
document "'''sh" "true & wait; echo over" "# -> over" "'''"
works "a program that has ended" "1 outputs compared"
document "'''sh" "sleep 30" "'''"
seconds=1 fails "a command that hangs" "doc.md: its commands took too long"
document "'''sh" "true"
fails "a block without end" "doc.md:1: this block does not end"

[ $faults = 0 ] || exit 1
echo "documents are executed as they say"

#!/usr/bin/env bash
# Several processes play one tournament: no game is played twice, the games are those that one process plays, and when a
# process is killed the others play its games. mpirun starts them, or a person in two terminals.
#
#   test_tournament.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
running=
finish() {
    [ -z "$running" ] || kill -KILL "$running" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    tail -n 20 ./*.log >&2 || true
    exit 1
}
[ -n "$(type -P mpirun)" ] || wrong "there is no mpirun: install openmpi-bin"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cup=("$program" tournament match beginner --half 0.1 --players 2 -j 1)
played() { tail -n +2 "$1/games.txt" | wc -l; }

"${cup[@]}" --games 4 -o alone >alone.log 2>&1 || wrong "one process does not play"
mpirun --oversubscribe -n 2 "${cup[@]}" --games 4 -o two >two.log 2>&1 || wrong "two processes do not play"
diff <(sort alone/games.txt) <(sort two/games.txt) || wrong "two processes play other games than one"
[ "$(grep -c 'goal difference' two.log)" = 1 ] || wrong "not one process speaks for both"

# one of two is killed in the middle of a game: the other plays all
"${cup[@]}" --games 40 -o killed >first.log 2>&1 &
running=$!
until_ok test -e killed/games.lock
"${cup[@]}" --games 6 -o killed >second.log 2>&1 &
second=$!
kill -KILL "$running"
wait "$running" 2>/dev/null || true
running=
wait "$second" || wrong "the other one does not go on"
[ "$(played killed)" -ge 6 ] || wrong "games are missing"
[ -z "$(tail -n +2 killed/games.txt | sort | uniq -d)" ] || wrong "a game was played twice"
grep -q 'beginner  *6 ' second.log || wrong "the table does not have all games"

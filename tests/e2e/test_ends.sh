#!/usr/bin/env bash
# How a run ends when a module does wrong: a crash in a step says whose step it was, on the error output and in the black
# box; a step that never returns is named, and a second Ctrl-C ends the program at once.
#
#   test_ends.sh PROGRAM ROOT
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
    [ ! -f run.log ] || tail -n 20 run.log >&2
    exit 1
}

# module NAME STEP: a plug-in with this step, in a line-up in which its instance has another name than the module
module() {
    "$program" new module "$1" --dir "$1" >/dev/null
    sed -i "s/    if (!nm_fresh.*/    $2/; s/^#include \"core/#include <fcntl.h>\n&/" "$1/$1.c"
    make -C "$1" "$1.so" >make.log 2>&1 || { cat make.log; wrong "$1 does not build"; }
    sed -i "s/      - $1/      - {module: $1, name: culprit}/" "$1/$1.yaml"
}

module faller 'if (m->nm->run == 3) *(volatile int *)8 = 1;'
status=0
"$program" run faller/faller.yaml --black-box box >run.log 2>&1 || status=$?
[ "$status" -ne 0 ] || wrong "a crash is no fault"
sentence='crashed (SIGSEGV, a bad address), in the step of instance culprit (module faller) of cycle mind, robot faller, in run 3'
grep -qF "$sentence" run.log || wrong "the crash has no name"
grep -qF "$sentence" box/crash.txt || wrong "the black box does not name it"

status=0
"$program" run faller/faller.yaml --virtual --black-box none >run.log 2>&1 || status=$?
[ "$status" -ne 0 ] || wrong "a crash in virtual time is no fault"
grep -qF "$sentence" run.log || wrong "the crash has no name in virtual time"

module turner 'if (m->nm->run == 3) for (volatile int on = open("looping", O_CREAT | O_WRONLY, 0600); on;) on |= 1;'
for how in --black-box=none --virtual; do
    rm -f looping
    "$program" run turner/turner.yaml "$how" >run.log 2>&1 &
    running=$!
    until_ok test -e looping
    kill -INT "$running"
    until_ok grep -q "instance culprit (module turner) of cycle mind, robot turner, in run 3, does not return from its step" run.log
    grep -q "press Ctrl-C again to end at once" run.log || wrong "no way out is told"
    kill -0 "$running" || wrong "it ended by itself"
    kill -INT "$running"
    status=0
    wait "$running" || status=$?
    running=
    [ "$status" = 130 ] || wrong "a second Ctrl-C ended with $status"
    grep -q "ended at once by a second signal" run.log || wrong "the end is not told"
done
echo "whoever does wrong is named"

#!/usr/bin/env bash
# nutmeg learn walk as people use it: an interrupted run says so and keeps a checkpoint, a resumed one goes on and writes the
# policy, its card and its curve, and what is asked wrongly is refused.
#
#   test_learn.sh PROGRAM ROOT
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
walk=(learn walk --robot kid70 --worlds 8 --threads 2 -o walk.onnx)
learn() { "$program" "${walk[@]}" "$@"; }

"$program" "${walk[@]}" --minutes 1000 >first.log 2>&1 &
running=$!
until_ok test -s walk.state # it is kept from the first batch on
kill -TERM "$running" # a shell without job control lets nobody hear SIGINT
status=0
wait "$running" || status=$?
running=
[ $status = 130 ] || wrong "an interrupted run ends with $status"
grep -q 'interrupted: after .* million steps; walk.onnx is not written. --resume continues from walk.state' first.log || wrong "it does not say so"
[ ! -e walk.onnx ] || wrong "an interrupted run writes a policy"
[ -s walk.svg ] || wrong "there is no curve"

learn --minutes 0.01 --resume >second.log 2>&1 || wrong "it does not go on"
grep -q '^forward ' second.log || wrong "there is no table of scores"
grep -q 'Walking policy for kid70' walk.txt || wrong "there is no card"
"$program" nn show walk.onnx >show.log || wrong "the policy cannot be read"
grep -q 'observation, 1 x 137' show.log || wrong "the policy has other inputs"

# legs of four joints do too little of what kid70's do: it learns from nothing, and says so
sed -E 's/(<joint name="(left|right)_ankle_roll" type=")revolute/\1fixed/' "$root/tests/data/robots/five_joint_legs.urdf" >four.urdf
"$program" new robot four four.urdf --dir "$scratch/four" --search 0 >new.log 2>&1 || wrong "no folder is made"
"$program" learn walk --robot "$scratch/four" --worlds 8 --threads 2 --minutes 0.01 -o four.onnx >four.log 2>&1 || wrong "other legs do not learn"
grep -q 'learns from nothing: only 8 of the 12 joints' four.log || wrong "it does not say that it learns from nothing"
grep -q -- '--from nothing' four.txt || wrong "the card of the one with other legs names another start"

echo broken >walk.state
if learn --resume --minutes 0.01 >third.log 2>&1; then wrong "a broken checkpoint is taken"; fi
grep -q 'no checkpoint' third.log || wrong "a broken checkpoint has no sentence"
if "$program" learn walk --robot nobody >fourth.log 2>&1; then wrong "an unknown robot learns"; fi
if "$program" learn walk >fifth.log 2>&1; then wrong "nobody learns"; fi
if learn --minutes 0.01 -o walk.yaml >sixth.log 2>&1; then wrong "a policy is no .yaml"; fi

#!/usr/bin/env bash
# mpirun nutmeg learn walk: two processes learn together and one of them speaks; if one is killed, the other keeps a
# checkpoint, says so, and both go on from there.
#
#   test_together.sh PROGRAM ROOT
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
# whoever tests may be root, on a machine with one core
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
together=(mpirun --oversubscribe -n 2)
patient=(--mca odls_base_sigkill_timeout 10) # s between SIGTERM and SIGKILL: a second may be short on a busy machine
walk=("$program" learn walk --robot kid70 --worlds 16 --threads 1 -o walk.onnx)

"${together[@]}" "${walk[@]}" --minutes 0.01 >first.log 2>&1 || wrong "two processes do not learn together"
[ "$(grep -c 'tested in worlds' first.log)" = 1 ] || wrong "not one process speaks for both"
grep -q 'mpirun -n 2 nutmeg learn walk' walk.txt || wrong "the card does not tell how it was made"
"$program" nn show walk.onnx >show.log || wrong "the policy cannot be read"

rm walk.onnx walk.state
"${together[@]}" "${patient[@]}" "${walk[@]}" --minutes 1000 >second.log 2>&1 &
running=$!
until_ok test -s walk.state
rank() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
victim=
for child in $(cat "/proc/$running/task/$running/children"); do
    if [ "$(rank "$child")" = 1 ]; then victim=$child; fi
done
[ -n "$victim" ] || wrong "there is no second process"
kill -KILL "$victim"
status=0
wait "$running" || status=$?
running=
[ $status != 0 ] || wrong "a lost process is not noticed"
grep -q -e '--resume continues from walk.state' second.log || wrong "nobody says how to go on"
[ ! -e walk.onnx ] || wrong "half a training writes a policy"
"${together[@]}" "${walk[@]}" --minutes 0.01 --resume >third.log 2>&1 || wrong "it does not go on"
[ -s walk.onnx ] || wrong "there is no policy"
"${walk[@]}" --minutes 0.01 --resume >fourth.log 2>&1 || wrong "one process alone does not go on"
if "${together[@]}" "${walk[@]}" --worlds 17 --minutes 0.01 >fifth.log 2>&1; then wrong "17 worlds are shared by two"; fi
grep -q '17 worlds cannot be shared by 2 processes' fifth.log || wrong "it does not say why"

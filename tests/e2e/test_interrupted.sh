#!/usr/bin/env bash
# Interrupted work is not success: it says so, ends with 130, and leaves nothing half behind. While it lasts, simulated
# robots are players like any other. No time is waited for: each command is known to work before it is interrupted.
#
#   test_interrupted.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
running=
finish() {
    [ -z "$running" ] || kill "$running" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    for f in *.out; do [ -f "$f" ] && echo "--- $f" && tail -n 20 "$f"; done >&2
    exit 1
}
nutmeg() { timeout -k 2 60 "$program" "$@"; }

# starts NAME COMMAND…: in the background, with all it says in NAME.out
starts() {
    name=$1
    shift
    "$program" "$@" >"$name.out" 2>&1 &
    running=$!
}
# interrupt SENTENCE…: the command that runs ends with 130 and says these words
interrupt() {
    local code=0
    kill -INT "$running"
    wait "$running" || code=$?
    running=
    [ $code = 130 ] || wrong "$name ended with $code, not 130"
    for words in "interrupted: " "$@"; do grep -qF -- "$words" "$name.out" || wrong "$name does not say: $words"; done
    [ -z "$(ls "$XDG_RUNTIME_DIR/nutmeg")" ] || wrong "$name has left a socket behind"
}

# ---- a scenario: its robots answer by their names, and a half of it is no result
starts sim sim kickabout --seeds 1-2 --seconds 1000 --speed 1 --json
until_ok nutmeg topic echo cmd_vel --count 1 --to red1
nutmeg tasks --to blue1 | grep -q chase_ball || wrong "no tasks of blue1"
nutmeg why ball --to red1 | grep -q "ball_filter" || wrong "no answer about ball"
nutmeg param set --to red1 chase_ball.speed=0.1 >/dev/null || wrong "a parameter of red1 is not set"
[ "$(nutmeg param get --to red1 chase_ball.speed)" = 0.1 ] || wrong "red1 does not know what was set"
[ "$(nutmeg param get --to blue1 chase_ball.speed)" != 0.1 ] || wrong "blue1 was changed too"
# a second one at the same time is another player
"$program" sim kickabout --seeds 1 --seconds 1000 --speed 1 >second.out 2>&1 &
second=$!
until_ok nutmeg tasks --to "red1.$second"
nutmeg stop --to "red1.$second"
code=0
wait $second || code=$?
[ $code = 130 ] || wrong "a simulation that was stopped ended with $code"
interrupt "0 of 2 seeds of kickabout"
if grep -q '"seed"' sim.out; then wrong "half a seed was told as a result"; fi

# ---- several at a time
starts jobs sim kickabout --seeds 1-8 --seconds 1000 --speed 1 --jobs 2
until_ok nutmeg tasks --to red1
interrupt "0 of 8 seeds of kickabout"

# ---- the match of make play, and the training session
starts match play --fidelity percept
until_ok nutmeg tasks --to red1
interrupt "the match was stopped after"
starts training play training
until_ok nutmeg tasks --to kid
interrupt "of the session were played"

# ---- a calibration: no parameters from half of the drives
starts calibrate calibrate odometry --sim --seeds 1-64 -o odometry.yaml
until_ok eval 'pgrep -P $running'
interrupt "nothing was fitted and nothing is written"
[ ! -e odometry.yaml ] || wrong "a calibration that was interrupted has written its file"

# ---- a search: what it has learnt is kept to go on with, and no result
cat >short.yaml <<'S'
about: stands for a moment
field: kid
duration: 0.1 s
robot: kid70
lineup: stand
robots:
  - {name: kid, at: [-1, 0, 0]}
measures: [tilt_max]
score: {tilt_max: -1}
S
starts tune tune short.yaml --param hold_pose.duration --budget 10000000 --population 4 --trials 1 -o found.yaml
until_ok test -s found.yaml.state
interrupt "found.yaml is not written" "--resume continues from found.yaml.state"
[ ! -e found.yaml ] || wrong "a search that was interrupted has written its result"

# ---- a replay: no half of a log
nutmeg run play --virtual --seconds 20 --log played.mcap >/dev/null
starts replay replay played.mcap --speed 0.1 -o again.mcap
until_ok eval 'ls -d again.mcap*'
interrupt "again.mcap is not written"
[ -z "$(ls -d again* 2>/dev/null)" ] || wrong "a replay that was interrupted has left $(ls -d again*)"

echo "interrupted work says so, and robots in the simulator are players like any other"

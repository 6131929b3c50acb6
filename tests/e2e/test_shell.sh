#!/usr/bin/env bash
# The shell onto a running line-up: folders, values, changes, services; a script ends with the line that fails.
#
#   test_shell.sh PROGRAM ROOT
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
    exit 1
}
export XDG_RUNTIME_DIR=$scratch
export HOME=$scratch
cd "$root"
"$program" sim kickabout --seeds 1 --seconds 600 --speed 1 >"$scratch/sim" 2>&1 &
running=$!
shell() { timeout -k 2 60 "$program" shell red1 "$@" </dev/null 2>&1; }
# shows TEXT LINE…: the lines print the text
shows() {
    local text=$1 said args=()
    shift
    for line in "$@"; do args+=(-c "$line"); done
    said=$(shell "${args[@]}") || wrong "$*: failed: $said"
    grep -qF -- "$text" <<<"$said" || wrong "$*: '$text' is not in: $said"
}
# fails TEXT LINE…: the first one fails with this sentence
fails() {
    local text=$1 said args=()
    shift
    for line in "$@"; do args+=(-c "$line"); done
    said=$(shell "${args[@]}") && wrong "$*: did not fail: $said"
    grep -qF -- "$text" <<<"$said" || wrong "$*: '$text' is not in: $said"
    ! grep -qF later <<<"$said" || wrong "$*: went on"
}
for ((i = 0; i < 600; i++)); do
    if shell -c pwd >/dev/null; then break; fi
    kill -0 "$running" || wrong "$(cat "$scratch/sim")"
    sleep 0.1
done
shows topics/ ls
shows /params/walk 'cd params/walk' pwd
shows /params 'cd params/walk' 'cd ..' pwd
shows data_raw 'ls topics/imu'
shows angular_velocity/ 'ls topics/imu/data'
shows linear_acceleration 'cat topics/imu/data'
shows 'about:' 'cat params/walk/leap'
shows '80' 'set params/walk/leap 80' 'diff'
shows '80' 'cd params/walk' 'ls'
shows 'uint8 PAUSE=0' 'cat services/sim/command'
shows 'paused: true' 'call services/sim/command {command: 0}'
shows 'paused: false' 'call services/sim/command {command: 1}'
shows orientation tasks
shows orientation 'ls cycles/motion'
[ "$(shell -c 'watch topics/imu/data/linear_acceleration/z 3' | wc -l)" = 3 ] || wrong "watch did not print three lines"
fails 'there is no /nowhere' 'cd nowhere' 'pwd; later'
fails "did you mean 'ls'" lss
fails 'success: false' 'call services/sim/command {command: 4, name: nobody}'
fails 'there is no /params/walk/leep' 'set params/walk/leep 3'
fails 'use set PATH VALUE' set
printf 'cd topics\npwd\nquit\nlater\n' | timeout 60 "$program" shell red1 | grep -qx /topics || wrong "lines of a pipe"
shows 'success: true' 'call services/sim/command {command: 6, speed: 0.000001}'
shows 'paused: false' 'call services/sim/command {command: 8}' # hours before the next step it still answers
shows 'speed: 1' 'call services/sim/command {command: 6, speed: 1}'

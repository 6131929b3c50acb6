#!/usr/bin/env bash
# The panels of the system and of the match in a browser, against running simulations: what they show is what the robot
# itself says, and what they change arrives.
#
#   panels.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
if [ ! -x /usr/bin/chromium ] || [ -z "$(type -P node)" ]; then
    echo "needs chromium and node"
    exit 77
fi
"$root/scripts/npm" web tests/interop
scratch=$(mktemp -d)
running=
finish() {
    [ -z "$running" ] || kill "$running" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
export XDG_RUNTIME_DIR=$scratch
cd "$root"
start() { # ARGUMENTS…: leaves the address in $address
    "$program" "$@" --live 0 >"$scratch/out" 2>&1 &
    running=$!
    address=
    for ((i = 0; i < 600; i++)); do
        address=$(grep -ao 'http://[^ ]*' "$scratch/out" | head -n 1 || true)
        [ -z "$address" ] || return 0
        kill -0 "$running" || break
        sleep 0.1
    done
    cat "$scratch/out"
    exit 1
}
stop() {
    kill "$running"
    wait "$running" || true
    running=
}
start sim kickabout --seeds 1 --seconds 3600 --speed 1
node tests/web/panels.mjs system "$address" "$program"
stop
start play
node tests/web/panels.mjs match "$address" "$program"
stop
start play --fidelity camera --players 1 --half 5m
node tests/web/panels.mjs camera "$address" "$program"

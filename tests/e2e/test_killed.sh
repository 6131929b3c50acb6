#!/usr/bin/env bash
# The brain of a walking robot is killed: no joint is left to itself, the process comes back, and the robot walks again
# within ten seconds, if need be after a soft fall. What is measured and expected stands in scenarios/motion/killed.yaml.
#
#   test_killed.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
world=
finish() {
    [ -z "$world" ] || kill "$world" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    for f in told.txt heard.txt out/*.txt; do [ -f "$f" ] && echo "--- $f" && tail -n 20 "$f"; done >&2
    exit 1
}
has() { grep -q -- "$2" "$1" || wrong "'$2' is not in $1"; }
claim_domain
brain() { named "^nutmeg run .*--name kid .*--domain $domain "; } # in this test's own domain

"$program" sim motion/killed --processes --domain $domain -o out > told.txt 2> heard.txt &
world=$!
# nine steps are two seconds; killed so early, what is measured from 15 s on is at most 10 s later
steps() { "$program" topic echo walk_state --to kid --count 1 2>/dev/null | sed -n 's/^ *steps: //p'; }
for _ in $(seq 200); do
    walked=$(steps || true)
    if [ "${walked:-0}" -ge 9 ]; then break; fi
    sleep 0.1
done
[ "${walked:-0}" -ge 9 ] || wrong "kid does not walk"
kill -KILL "$(brain)"
wait "$world" || wrong "the world ended with $?"
world=
has heard.txt "kid: its process was ended by signal 9 (Killed); starting it again"
has heard.txt "kid: sends goals again"
has told.txt "as expected in 1 of 1"
[ "$(grep -c "the ROS 2 node" out/kid.txt)" = 2 ] || wrong "kid was not started twice"
has out/kid.txt "-> WALKING" # the second brain's: the first one's words died with it
grep "^ *[0-9]* *kid" told.txt # the figures, for whoever reads along

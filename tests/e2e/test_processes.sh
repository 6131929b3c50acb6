#!/usr/bin/env bash
# Simulated robots as processes of their own: they find the world, play, write their logs, and one that is killed costs
# nobody else anything.
#
#   test_processes.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
running=
finish() {
    [ -z "$running" ] || kill $running 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    for f in *.txt out/*.txt; do [ -f "$f" ] && echo "--- $f" && tail -n 20 "$f"; done >&2
    exit 1
}
has() { grep -q -- "$2" "$1" || wrong "'$2' is not in $1"; }
claim_domain

cat > walkers.yaml <<'Y'
about: two robots walk ahead
field: kid
duration: 10 s
lineup: motion
robots:
  - {name: red1, robot: kid70, at: [-3, 0.8, 0]}
  - {name: blue1, robot: kid70, at: [-3, -0.8, 0]}
events:
  - {at: 1 s, every: 200 ms, times: 45, say: {robot: red1, topic: cmd_vel, message: {linear: {x: 0.2}}}}
  - {at: 1 s, every: 200 ms, times: 45, say: {robot: blue1, topic: cmd_vel, message: {linear: {x: 0.2}}}}
measures: [fallen, path, goals]
expect:
  - {measure: goals, of: blue1, above: 500}
  - {measure: path, of: blue1, above: 0.5}
  - {measure: fallen, of: blue1, is: false}
Y

# ---- both play; then one is killed, comes back, and the other has not noticed. The world runs slowly and is told when to
# run faster, so that it cannot end before the next thing has happened, however slow the machine is.
mkfifo hand
exec 3<>hand
"$program" sim walkers.yaml --processes --domain $domain -o out --log logs --interactive --speed 0.2 < hand > told.txt \
    2> heard.txt 3>&- &
running=$!
until_ok grep -q "WALKING" out/red1.txt
until_ok grep -q "WALKING" out/blue1.txt
echo "speed 0.05" >&3
victim=$(named "^nutmeg run .*--name red1 .*--domain $domain ")
kill -KILL "$victim"
until_ok grep -q "red1: sends goals again" heard.txt
echo "speed 1" >&3
wait $running || wrong "the world ended with $?"
running=
has heard.txt "red1: its process was ended by signal 9 (Killed); starting it again"
has told.txt "as expected in 1 of 1"
[ "$(grep -c "the ROS 2 node" out/red1.txt)" = 2 ] || wrong "red1 was not started twice"
[ "$(grep -c "the ROS 2 node" out/blue1.txt)" = 1 ] || wrong "blue1 was started again"
has out/blue1.txt "played blue1 for \(9\.9\|10\.0\) s" # it joins a moment after the world began
[ -z "$(named "^nutmeg run .*--domain $domain ")" ] || wrong "a process is left over"
# each has written its own log, the killed one two, and what it did is done again from it
[ -s logs/red1.mcap ] && [ -s logs/red1-2.mcap ] || wrong "red1 has not written two logs"
"$program" replay logs/blue1.mcap > again.txt 2>&1 || wrong "the log of blue1 is not repeated"
has again.txt "all identical"

# ---- by hand: the world says how, and waits
sed -e 's/duration: 10 s/duration: 3 s/' -e 's/lineup: motion/lineup: stand/' -e '/^events/,/^measures/{/^measures/!d}' \
    -e '/^expect/,$d' walkers.yaml > standers.yaml
echo 'expect: [{measure: goals, above: 200}]' >> standers.yaml
"$program" sim standers.yaml --wire --domain $domain --log by-hand > told.txt 2> heard.txt &
running=$!
until_ok grep -q "waiting for red1" heard.txt
command=$(sed -n 's/^waiting for red1: nutmeg //p' heard.txt)
"$program" $command > red1.txt 2>&1 &
running="$running $!"
until_ok grep -q "waiting for blue1" heard.txt
command=$(sed -n 's/^waiting for blue1: nutmeg //p' heard.txt)
"$program" $command > blue1.txt 2>&1 &
running="$running $!"
wait ${running%% *} || wrong "the world ended with $?"
has told.txt "as expected in 1 of 1"
kill ${running#* }
wait
running=
[ -s by-hand/red1.mcap ] && [ -s by-hand/blue1.mcap ] || wrong "those started by hand were not told where their logs go"

# ---- what cannot be is told before anything begins
sed -e 's/lineup: stand/lineup: nothing/' standers.yaml > nothing.yaml
if "$program" sim nothing.yaml --processes --domain $domain 2> heard.txt; then wrong "a line-up that is not there plays"; fi
has heard.txt "lineup 'nothing' is not there"
if "$program" sim standers.yaml --processes --jobs 2 2> heard.txt; then wrong "--jobs goes with --processes"; fi
if "$program" sim standers.yaml --domain 5 2> heard.txt; then wrong "--domain goes without --processes"; fi
has heard.txt "need --processes"
if "$program" run stand --clock 2> heard.txt; then wrong "--clock goes without --dds"; fi
has heard.txt "need --dds"

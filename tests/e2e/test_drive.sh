#!/usr/bin/env bash
# Driving by keyboard, in a terminal as a person has one: keys move the robot, space stops it, and whatever ends the
# driving leaves terminal and machine as they were.
#
#   test_drive.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
finish() {
    code=$?
    exec 3>&- || true
    kill "$(driver)" 2>/dev/null || true
    [ ! -f "$scratch/pid" ] || kill "$(cat "$scratch/pid")" 2>/dev/null || true
    wait
    rm -rf "$scratch"
    exit $code
}
driver() { named "^$program drive" | head -1; }
trap finish EXIT
export TERM=xterm

wrong() {
    echo "$*" >&2
    for f in screen.txt *.out; do [ -f "$f" ] && echo "--- $f" && tail -c 1500 "$f"; done >&2
    exit 1
}
nutmeg() { timeout -k 2 20 "$program" "$@"; }

# drives ARGUMENTS…: in a pseudo terminal whose keys come from the pipe `keys`
drives() {
    rm -f keys before after ended screen.txt
    mkfifo keys
    cat > session.sh <<S
stty -g > before
"$program" drive $*
echo \$? > ended
stty -g > after.part
mv after.part after
S
    script -qfec "bash session.sh" screen.txt < keys > /dev/null &
    exec 3> keys
}
goes() {
    printf W >&3
    timeout -k 2 2 "$program" topic echo cmd_vel -n 1 --to kid70 > vel.out 2>&1
    grep -A1 linear vel.out | grep -Eq "x: 0\.[1-9]"
}
stands() { tail -c 300 screen.txt | grep -q "ahead  0.00 m/s"; }

# ---- without a robot one is simulated, and shown
drives --robot kid70
until_ok grep -q "live at http" screen.txt
until_ok grep -q "kicks with the left foot" screen.txt
until_ok nutmeg topic list --to kid70
until_ok goes
printf ' ' >&3
until_ok stands
printf 'x' >&3
until_ok test -f after
[ "$(cat ended)" = 0 ] || wrong "x ended it with $(cat ended)"
cmp before after || wrong "the terminal is not as it was"
exec 3>&-
wait
if nutmeg tasks --to kid70 > tasks.out 2>&1; then wrong "the simulated robot is still there"; fi

# ---- a signal ends it as well as a key
drives --robot kid70
until_ok grep -q "space: stop" screen.txt
kill -TERM "$(driver)"
until_ok test -f after
cmp before after || wrong "the terminal is not as it was after a signal"
exec 3>&-
wait

# ---- one that runs already is driven, and runs on
"$program" run motion --robot kid70 --name kid70 --hardware none > run.out 2>&1 &
echo $! > pid
until_ok nutmeg tasks --to kid70
drives --name kid70
until_ok goes
printf 'x' >&3
until_ok test -f after
exec 3>&-
nutmeg tasks --to kid70 > tasks.out || wrong "who was driven does not run on"

# ---- a joystick does as well; one that is pulled out stops the robot
mkfifo stick
"$program" drive --name kid70 --joy stick > stick.out 2>&1 &
stick=$!
exec 4> stick
fast() {
    timeout -k 2 2 "$program" topic echo cmd_vel -n 1 --to kid70 > vel.out 2>&1
    grep -A1 linear vel.out | grep -Eq "x: 0\.2"
}
printf '\1\0\0\0\1\0\1\4' >&4    # button 4 is held
printf '\1\0\0\0\1\200\2\1' >&4  # the stick is at its end
until_ok fast
timeout -k 2 120 "$program" topic echo cmd_vel --to kid70 > heard.out 2>&1 4>&- &
echoing=$!
until_ok grep -Eq "x: 0\.2" heard.out
exec 4>&-
if wait $stick; then wrong "a stick that is gone is no fault"; fi
grep -q "stick is gone; the robot is stopped" stick.out || wrong "it does not say so"
stopped() { tail -n 3 heard.out | grep -Eq "linear: \{x: -?0(\.0*)?,"; }
until_ok stopped
kill $echoing
wait $echoing || true
stopped || wrong "its last word is no stop"
nutmeg stop --to kid70
wait

# ---- what cannot be is said
if nutmeg drive --name nobody < /dev/null > none.out 2>&1; then wrong "nobody is driven"; fi

#!/usr/bin/env bash
# Power loss: a robot records onto a file system of its own, and copies of its image are taken while it does: what a disk
# holds at the moment when the power goes. Of every copy, mounted as after a crash, both the log and the black box can be
# read, recovered and replayed exactly; empty and broken files are skipped and named.
#
#   test_power.sh PROGRAM ROOT [IMAGES [figures]]
#
# With `figures` it also measures how much was lost, and fails above 1 s of the log or 2 s of the box. Mounting needs root
# and loop devices; without them it ends with 77.
set -euo pipefail
program=$1
root=$2
images=${3:-4}
figures=${4:-}
a_run=10 # images of one run
source "$(dirname "$0")/scratch.sh"
robot=
finish() {
    [ -z "$robot" ] || kill -KILL "$robot" 2>/dev/null || true
    wait
    umount disk crashed 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    for f in told.txt said.txt; do [ -f "$f" ] && echo "--- $f" && tail -n 20 "$f"; done >&2
    exit 1
}

mkdir disk crashed
fresh_disk() {
    rm -f disk.img
    truncate -s 192M disk.img
    mkfs.ext4 -q -F disk.img
    mount -o loop disk.img disk
}
if [ "$(id -u)" != 0 ] || ! { fresh_disk && umount disk; } 2>told.txt; then
    echo "file systems cannot be mounted here: this needs root and loop devices"
    exit 77
fi

milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# newest LOG: time of its last message, ms; nothing if it cannot be read
newest() { "$program" bag info "$1" --json 2>>said.txt | sed -n 's/.*"end":\([0-9]*\)[0-9]\{6\},.*/\1/p'; }

worst_log=0 worst_box=0 empty_log=0 empty_box=0 skipped=0 replayed=0
# examine IMAGE TIME BEGAN: the disk as the crash left it at TIME, of a recording that began at BEGAN
examine() {
    local kind path end lost
    mount -o loop "$1" crashed
    for kind in log box; do
        path=crashed/$kind
        : >said.txt
        end=$(newest $path || true)
        if [ -z "$end" ]; then # nothing was written yet, or nothing is left
            declare -g "empty_$kind=$((empty_$kind + 1))"
            end=$3
        else
            if grep -q 'skipped' said.txt; then skipped=$((skipped + 1)); fi
            "$program" bag recover $path "whole.mcap" --force >told.txt 2>&1 || wrong "$1: $kind is not recovered"
            "$program" bag check whole.mcap >told.txt 2>&1 || wrong "$1: what was recovered of $kind is not sound"
            "$program" replay $path >told.txt 2>&1 || wrong "$1: $kind does not replay"
            grep -q 'all identical\|nothing to compare' told.txt || wrong "$1: the replay of $kind differs"
            replayed=$((replayed + 1))
        fi
        lost=$(($2 - end))
        if [ $lost -gt $((worst_$kind)) ]; then declare -g "worst_$kind=$lost"; fi
        if [ -n "$figures" ]; then echo "image $taken: $kind lost $lost ms of $(($2 - $3)) ms"; fi
    done
    umount crashed
}

taken=0
while [ $taken -lt "$images" ]; do
    fresh_disk
    began=$(milliseconds)
    "$program" run motion --hardware virtual --log disk/log --log-rotate 0.2 --log-floor 1 --black-box disk/box \
        --seconds 600 >told.txt 2>&1 &
    robot=$!
    until_ok test -e disk/box
    n=$((images - taken < a_run ? images - taken : a_run))
    times=()
    for i in $(seq $n); do
        sleep "$((RANDOM % 3)).$((RANDOM % 10))" # any moment will do
        times[i]=$(milliseconds)
        cp --sparse=always disk.img "crash-$i.img"
    done
    kill -KILL $robot
    wait $robot 2>/dev/null || true
    robot=
    umount disk
    for i in $(seq $n); do
        taken=$((taken + 1))
        examine "crash-$i.img" "${times[i]}" "$began"
        rm "crash-$i.img"
    done
done
[ $replayed -gt 0 ] || wrong "no image had anything in it"
echo "$taken images: $empty_log without a log, $empty_box without a box; files were skipped in $skipped; $replayed replays, all identical"
if [ -n "$figures" ]; then
    echo "lost at most $worst_log ms of the log (goal 1000), $worst_box ms of the box (goal 2000)"
    [ $worst_log -le 1000 ] && [ $worst_box -le 2000 ]
fi

#!/usr/bin/env bash
# What `nutmeg dev` promises, seen in the messages that come out: a changed constant in a module of the tree, made of one file
# or of several, changes what is published while the state lives on; a changed struct starts the state again in all files
# alike; what cannot be built beside the running program is refused with the reason.
#
#   test_dev.sh PROGRAM ROOT [quick]     quick: PROGRAM was built for a sanitizer
set -euo pipefail
program=$1
root=$2
build=$(dirname "$program")
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
    [ ! -f dev.log ] || tail -n 20 dev.log >&2
    exit 1
}

# a tree whose sources may be changed, with the same program
tree=$scratch/tree
mkdir -p "$tree/build" "$tree/scripts"
for part in "$root"/*; do [ -e "$tree/$(basename "$part")" ] || ln -s "$part" "$tree/"; done
rm "$tree/src"
cp -rp "$root/src" "$tree/src"
cp -p "$root/scripts/stateless" "$tree/scripts/"
cp -p "$program" "$tree/build/nutmeg"
ln -s "$build/gen" "$tree/build/gen"
sed "s,$root/,$tree/,g" "$build/compile_commands.json" >"$tree/build/compile_commands.json"
export NUTMEG_ROOT=$tree
nutmeg() { "$tree/build/nutmeg" "$@"; }
field() { sed -n "s/^ *$1: //p" <<<"$message" | head -1; }
# shows TOPIC FIELD VALUE: the newest message says so; it stays in `message`
shows() {
    message=$(nutmeg topic echo "$1" -n 1)
    [[ $(field "$2") == $3 ]]
}

# ---- a module of one file

"$tree/build/nutmeg" dev play --set practice_shots.pause=0.1 --set practice_shots.speed_low=9 \
    --set practice_shots.speed_high=10 >dev.log 2>&1 &
running=$!
shot() { shows score data '*of [1-9]* shots saved*'; }
until_ok shot
before=$(sed -n 's/.*of \([0-9]*\) shots.*/\1/p' <<<"$message")
sed -i 's/shots saved/balls saved/' "$tree/src/modules/practice/practice_shots.c"
changed() { shows score data '*balls saved*'; }
until_ok changed
after=$(sed -n 's/.*of \([0-9]*\) balls.*/\1/p' <<<"$message")
[ "$after" -ge "$before" ] || wrong "the state was lost: $before shots, then $after"
grep -q "practice_shots: new build runs after .* state kept" dev.log || wrong "it was not said"

if [ "${3:-}" != quick ]; then # sanitizers add variables of their own, so there nobody looks
    sed -i 's/^static void judge(/static int judged;\n&/; s/    f->shots++;/&\n    judged++;/' "$tree/src/modules/practice/practice_shots.c"
    until_ok grep -q "judged can be written (.bss)" dev.log
    until_ok grep -q "practice_shots does not build; the old one plays on" dev.log
    changed || wrong "a module with a static variable plays"
fi
nutmeg stop >/dev/null
wait "$running"
running=

# ---- a module of several files: hcm.c, fall.c and fall.h. No sensor answers it, so it stays in STARTUP

"$tree/build/nutmeg" dev motion --hardware none >dev.log 2>&1 &
running=$!
started() { shows hcm_state state 5; }
until_ok started
since=$(grep -A2 'since:' <<<"$message")
same() { shows hcm_state state 5 && [ "$(grep -A2 'since:' <<<"$message")" = "$since" ]; }
# tilted TILT: the manager shows this tilt of the trunk
tilted() {
    message=$(nutmeg topic echo show -n 40)
    [[ "$(grep -A2 'name: "hcm/tilt"' <<<"$message") " == *"value: $1"[[:space:]]* ]]
}
sed -i 's/^double fall_tilt(struct vec3 up) { return /&0.125 + /' "$tree/src/modules/motion/fall.c"
until_ok tilted 0.125
same || wrong "the state was lost: $since, then $message"

# another layout in a header that its files share: they change together
sed -i '/^struct fall_watch {/ s/$/\n    double first[64];/' "$tree/src/modules/motion/fall.h"
until_ok grep -q "hcm: new build runs after .* its state starts again, because its struct changed" dev.log
again() { shows hcm_state state 5 && [ "$(grep -A2 'since:' <<<"$message")" != "$since" ]; }
until_ok again
tilted 0.125 || wrong "an old build of fall.c plays"

# a header of the program itself: the two would not fit together
touch "$tree/src/body/robot.h"
sed -i 's/return 0.125 + /return 0.25 + /' "$tree/src/modules/motion/fall.c"
until_ok grep -q "hcm: not built, because .*src/body/robot.h is newer than this program" dev.log
tilted 0.125 || wrong "it was swapped all the same"
nutmeg stop >/dev/null
wait "$running"
running=
echo "what is saved is what plays"

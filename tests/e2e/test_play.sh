#!/usr/bin/env bash
# `nutmeg play`: a match and a training session that print where they can be seen, end with a table and a score, and leave
# pictures; a video only where ffmpeg is.
#
#   test_play.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
trap 'rm -rf "$scratch"' EXIT

wrong() {
    echo "$*" >&2
    cat said >&2
    exit 1
}
says() { grep -q -- "$1" said || wrong "'$1' is not there"; }

mkdir none bin
PATH=$scratch/none NM_PLAY_SECONDS=2 "$program" play training --virtual > said 2>&1 || wrong "it ended with $?"
says "live at http"
says "kid .*no"
says "darwin .*no"
says "2.0 s simulated"
says "pictures: out/training.png$"
says "points of the slalom"
says "score: 0 goals"
head -c 8 out/training.png | grep -q PNG || wrong "the sheet is no picture"

# somebody who takes frames, as ffmpeg does: raw bytes until the end, the file's name last
cat > bin/ffmpeg <<'F'
#!/bin/sh
for last; do :; done
cat > "$last"
F
chmod +x bin/ffmpeg
rm -r out
PATH=$scratch/bin:$PATH NM_PLAY_SECONDS=1 "$program" play training --virtual > said 2>&1 || wrong "it ended with $?"
says "pictures: out/training.png, out/training.mp4"
frame=$((640 * 360 * 3))
size=$(stat -c %s out/training.mp4)
[ $((size % frame)) = 0 ] && [ $((size / frame)) -ge 12 ] || wrong "the video has $size bytes"

# one that fails costs the video, not the session
printf '#!/bin/sh\nexit 3\n' > bin/ffmpeg
PATH=$scratch/bin:$PATH NM_PLAY_SECONDS=1 "$program" play training --virtual > said 2>&1 || wrong "it ended with $?"
says "pictures: out/training.png$"

# a match: both teams in the table, the score last; on the flat field a whole one, from kick-off to the end
NM_PLAY_SECONDS=2 "$program" play --fidelity percept --virtual > said 2>&1 || wrong "it ended with $?"
says "live at http"
says "^red4 "
says "^blue4 "
says "2.0 s simulated"
says "pictures: out/match.png$"
says "score: red 0, blue 0"
head -c 8 out/match.png | grep -q PNG || wrong "the sheet is no picture"
# no machine plays so fast from pictures: it says so
NM_PLAY_SECONDS=0.5 "$program" play --players 1 --speed 1000 > said 2>&1 || wrong "it ended with $?"
says "robots get percepts of the simulator, not pictures: with vision this machine would play at [0-9.]* x real time"
"$program" play --fidelity flat --half 20s --speed max --seed 2 --log out/logs > said 2>&1 || wrong "it ended with $?"
says "ball in play .* of [1-9][0-9]* s"
mv said first
# the same seed is the same match, and a robot's log runs again bit for bit
"$program" play --fidelity flat --half 20s --speed max --seed 2 > said 2>&1 || wrong "it ended with $?"
diff <(grep -E '^(red|blue|ball| *[0-9.]+ s  )' first) <(grep -E '^(red|blue|ball| *[0-9.]+ s  )' said) || wrong "another match"
"$program" replay out/logs/blue3.mcap > said 2>&1 || wrong "it ended with $?"
says "all identical"
# a team whose network is bad plays another match
"$program" play --fidelity flat --half 20s --speed max --seed 2 --air red:loss=0.3,delay=300ms --air blue:loss=0.1 > said 2>&1 || wrong "it ended with $?"
if diff <(grep -E '^(red|blue)' first) <(grep -E '^(red|blue)' said) > /dev/null; then wrong "a bad network changes nothing"; fi
# bodies with physics, too, of both robots and on another field
NM_PLAY_SECONDS=4 "$program" play --fidelity percept --players 1 --blue darwin --field hsl-small --speed max --log out/bodies > said 2>&1 || wrong "it ended with $?"
for robot in red1 blue1; do
    "$program" replay out/bodies/$robot.mcap > said 2>&1 || wrong "it ended with $?"
    says "all identical"
done
# a draw is followed by a shoot-out in which somebody scores
"$program" play --fidelity flat --league spl --players 2 --half 1s --speed max --knock-out > said 2>&1 || wrong "it ended with $?"
says "goal by"
# what does not exist is said before anything starts
for flag in "--air green:loss=1" "--air red" "--air red:loss=2" "--air red:delay=300" "--league fifa" "--fidelity round" "--half 5x" "--speed fast" "--red nobody" "--players 8"; do
    if "$program" play $flag > said 2>&1; then wrong "$flag is accepted"; fi
    says "$(echo "$flag" | cut -d' ' -f1)"
done

if "$program" play --field moon > said 2>&1; then wrong "there is a field moon"; fi
says "no field of this name"

# a line-up is played as ever
NM_PLAY_SECONDS=2 "$program" play play --virtual > said 2>&1 || wrong "it ended with $?"
says "score:"
if NM_PLAY_SECONDS=two "$program" play > said 2>&1; then wrong "two is a number"; fi
says "NM_PLAY_SECONDS is not a number of seconds"

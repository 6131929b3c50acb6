#!/usr/bin/env bash
# `nutmeg play`: a training session that prints where it can be seen, ends with a table and a score, and leaves pictures;
# a video only where ffmpeg is.
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
PATH=$scratch/none NM_PLAY_SECONDS=2 "$program" play --virtual > said 2>&1 || wrong "it ended with $?"
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
PATH=$scratch/bin:$PATH NM_PLAY_SECONDS=1 "$program" play --virtual > said 2>&1 || wrong "it ended with $?"
says "pictures: out/training.png, out/training.mp4"
frame=$((640 * 360 * 3))
size=$(stat -c %s out/training.mp4)
[ $((size % frame)) = 0 ] && [ $((size / frame)) -ge 12 ] || wrong "the video has $size bytes"

# one that fails costs the video, not the session
printf '#!/bin/sh\nexit 3\n' > bin/ffmpeg
PATH=$scratch/bin:$PATH NM_PLAY_SECONDS=1 "$program" play --virtual > said 2>&1 || wrong "it ended with $?"
says "pictures: out/training.png$"

# a line-up is played as ever
NM_PLAY_SECONDS=2 "$program" play play --virtual > said 2>&1 || wrong "it ended with $?"
says "score:"
if NM_PLAY_SECONDS=two "$program" play > said 2>&1; then wrong "two is a number"; fi
says "NM_PLAY_SECONDS is not a number of seconds"

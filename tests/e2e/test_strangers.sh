#!/usr/bin/env bash
# The two commands of docs/new-robot.md for URDFs in the manner of strangers: whoever is not refused in words stands and
# walks.
#
#   test_strangers.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
source "$(dirname "$0")/scratch.sh"
trap 'rm -rf "$scratch"' EXIT
wrong() {
    echo "$*" >&2
    exit 1
}
nutmeg() { timeout -k 2 120 "$program" "$@"; }

# knees of two joints, one motor for both; tall with weak ankles, no roll in them, and narrow feet of spheres
for name in coupled_knees tall_spheres; do
    nutmeg new robot "$name" "$root/tests/data/robots/$name.urdf" --dir "$name" >/dev/null
    nutmeg robot check "./$name" >/dev/null || wrong "$name is refused"
    nutmeg sim robots/walk --robot "./$name" --seeds 1 --seconds 9 >said 2>&1 || wrong "$name: $(cat said)"
done

# a leg whose foot stays parallel to the trunk by rods has two joints that bend it: it is refused in words
sed -E 's#^(.*<joint name="(left|right)_ankle_pitch".*)$#\1<mimic joint="\2_hip_pitch" multiplier="-1" offset="0"/>#' \
    "$root/tests/data/robots/coupled_knees.urdf" >rods.urdf
code=0
nutmeg robot check rods.urdf >said 2>&1 || code=$?
[ $code = 1 ] || wrong "a leg of rods ended with $code: $(cat said)"
grep -q "a leg bends in 2 joints" said || wrong "a leg of rods is refused without a reason: $(cat said)"

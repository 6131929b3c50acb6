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
    nutmeg new robot "$name" "$root/tests/data/robots/$name.urdf" --dir "$name" --search 0 >/dev/null
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

# feet half as large as usual under a soft waist: it waits until it is calm, and its steps catch what its feet cannot
nutmeg new robot small_feet "$root/tests/data/robots/small_feet.urdf" --dir small_feet --search 0 >/dev/null
nutmeg sim motion/forward --robot ./small_feet --seeds 7-8 --seconds 5 >said 2>&1 || true
grep -qE '^ all +kid +0\.000 ' said || wrong "small_feet falls: $(cat said)"

# as CAD programs export them: efforts and velocities of 0 mean that they are not known
sed -E 's/(effort|velocity)="[^"]*"/\1="0"/g' "$root/tests/data/robots/right_first.urdf" >zeros.urdf
nutmeg new robot zeros zeros.urdf --dir zeros --search 0 >said 2>&1 || wrong "zeros: $(cat said)"
grep -q "motors in proportion to the weight" said || wrong "zeros get motors without a word: $(cat said)"
nutmeg sim robots/walk --robot ./zeros --seeds 1 --seconds 7 >said 2>&1 || wrong "zeros: $(cat said)"

# a root without mass on the ground, as many public files have it: it has not fallen where its trunk is up
sed 's#</robot>#<link name="base_footprint"/><joint name="up" type="fixed"><parent link="base_footprint"/>\
<child link="trunk"/><origin xyz="0 0 0.4"/></joint></robot>#' "$root/tests/data/robots/coupled_knees.urdf" >ground.urdf
nutmeg new robot ground ground.urdf --dir ground --search 0 >/dev/null
nutmeg sim robots/walk --robot ./ground --seeds 1 --seconds 7 >said 2>&1 || wrong "a base on the ground: $(cat said)"

# what no robot weighs or measures is refused in words, and nothing is written
sed -E 's#<inertial>.*</inertial>##' "$root/tests/data/robots/right_first.urdf" >light.urdf
awk '{ while (match($0, /(xyz|size)="[-0-9. e]+"/)) {
               part = substr($0, RSTART, RLENGTH); head = head substr($0, 1, RSTART - 1); $0 = substr($0, RSTART + RLENGTH)
               split(part, q, "\""); n = split(q[2], v, " "); text = ""
               for (i = 1; i <= n; i++) text = text (i > 1 ? " " : "") v[i] * 1000
               head = head q[1] "\"" text "\"" }
           print head $0; head = "" }' "$root/tests/data/robots/right_first.urdf" >millimetres.urdf
for name in light:weigh millimetres:tall; do
    code=0
    nutmeg new robot odd "${name%:*}.urdf" --dir odd --search 0 >said 2>&1 || code=$?
    [ $code = 2 ] && grep -q "${name#*:}" said && [ ! -e odd ] || wrong "${name%:*} ended with $code: $(cat said)"
done

# which carried motions work is not guessed: they are played; a get-up is the one that works best of all robots'
nutmeg new robot again "$root/robots/darwin/robot.urdf" --dir again --search 1 >said
grep -qE "^get_up_back: stood in [5-8] of 8 trials, with darwin's" said || wrong "a darwin does not get up: $(cat said)"
nutmeg robot check kid70 | grep -qE '^  get_up_front +gets up$' || wrong "kid70 does not get up in robot check"
nutmeg robot check ./small_feet | grep -qE '^  get_up_front +there is none$' || wrong "small_feet has a get-up"

# two cameras, each with pictures of its own where a line-up reads them
other=$(sed -nE 's/^([a-z][^:]*):$/\1/p' coupled_knees/cameras.yaml | sed -n 2p)
mkdir lineups
cp "$root"/lineups/*.yaml lineups
cat >lineups/two.yaml <<END
extends: [striker, vision]
cycles:
  other:
    trigger: $other/image_raw
    cost: 1 ms
    modules:
      - {module: field_color, name: other_color, topics: {camera/image_raw: $other/image_raw, field_color: other_color}}
remote: [$other/image_raw]
END
nutmeg sim see_ball --lineup lineups/two.yaml --robot ./coupled_knees --seeds 1 --seconds 0.5 --log log >said 2>&1 || true
nutmeg bag export log/red1.mcap pictures --topics '*image_raw*' >/dev/null || wrong "no log: $(cat said)"
one=(pictures/camera_image_raw_compressed/*) second=(pictures/"$other"_image_raw_compressed/*)
[ -s "${one[0]}" ] && [ -s "${second[0]}" ] || wrong "a camera has no pictures: $(cat said; find pictures)"
! cmp -s "${one[-1]}" "${second[-1]}" || wrong "both cameras show the same"

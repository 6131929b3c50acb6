#!/usr/bin/env bash
# Whoever misspells a name is told the right one, wherever names stand, and the command ends with 2: nothing was done.
#
#   test_names.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
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
    exit 1
}
nutmeg() { timeout -k 2 60 "$program" "$@"; }
faults=0
# knows NAME ARGUMENTS…: the arguments hold a misspelt name, and the answer holds the right one
knows() {
    local name=$1 code=0 said
    shift
    said=$(nutmeg "$@" </dev/null 2>&1) || code=$?
    if [ $code != 2 ] || ! grep -qF "did you mean" <<<"$said" || ! grep -qF -- "$name" <<<"$said"; then
        echo "nutmeg $*: ended with $code and said: $said"
        faults=$((faults + 1))
    fi
}

# ---- commands and flags
knows topic topc list
knows list topic lst
knows list lineup lst
knows check robot chek
knows --seeds sim kickabout --seds 1
knows --json bench core --jsn
knows core bench coer

# ---- scenarios, line-ups, robots, modules, types
knows kickabout sim kickabuot
knows motion/forward sim motion/forwrd
knows hsl-small snapshot --field hsl-smal -o x.png
knows kickabout tune kickabuot --param walk.lift
knows kid70 sim standing --robot kid7
knows motion sim standing --lineup motoin
knows stand sim standing --seconds 0.01 --snapshot 1 --from stnd
knows motion run motoin
knows motion lineup check motoin
knows motion graph motoin
knows motion why ball --lineup motoin
knows motion param list --lineup motoin
knows kid70 run motion --robot kid7 --virtual
knows kid70 robot check kid7
knows kid70 bench motion --robot kid7
knows model bench walk --engine modle
knows kid70 calibrate odometry --sim --robot kid7
knows kid70 drive --robot kid7
knows walk module show wlk
knows sensor_msgs/msg/Imu msg show sensor_msgs/msg/Imo
knows lift run walk --virtual --seconds 0.01 --set walk.lif=0.01
knows walk tune motion/random --param wlk.lift
knows lift tune motion/random --param walk.lif
knows get_up_front animate check get_up_frnt --robot kid70

# ---- a line-up that runs
"$program" run play --name playing --log run.mcap >run.out 2>&1 &
running=$!
until_ok nutmeg topic echo ball --count 1
knows playing tasks --to plaing
knows ball why bal
knows ball topic echo bal
knows ball topic hz bal
knows ball plot bal.position.x
knows position plot ball.positoin.x
knows keeper param list keepr
knows reach param get keeper.reech
knows reach param set keeper.reech=0.5
knows keeper param set keepr.reach=0.5
knows lineup param save --layer linup
nutmeg stop
wait "$running"
running=

# ---- logs
knows ball_relative bag export run.mcap --topics ball_relatve
knows ball plot --log run.mcap bal.position.x
knows position plot --log run.mcap ball.positoin.x
knows keeper replay run.mcap --instance keepr

[ $faults = 0 ] || wrong "$faults misspelt names are not helped with"
echo "every misspelt name is helped with"

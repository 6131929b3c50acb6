#!/usr/bin/env bash
# The program as people use it: every command by itself, then a line-up that runs while others look in, change it, save it
# and swap a module under it.
#
#   test_program.sh PROGRAM ROOT [quick]      quick: without benchmarks (they say nothing under a sanitizer)
set -euo pipefail
program=$1
root=$2
quick=${3:-}
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
    exit 1
}
# ends CODE COMMAND…: what it printed, on both outputs, is in `said`
ends() {
    local code=$1 got=0
    shift
    said=$("$@" 2>&1) || got=$?
    [ "$got" = "$code" ] || wrong "$* ended with $got, not $code: $said"
}
says() {
    for part; do [[ $said == *"$part"* ]] || wrong "'$part' is not in: $said"; done
}
nutmeg() { "$program" "$@"; }

# ---- commands by themselves

ends 2 nutmeg
says "nutmeg COMMAND" "plays a match"
ends 0 nutmeg --help
says "130 interrupted"
ends 0 nutmeg help msg show
says "nutmeg msg show TYPE"
ends 0 nutmeg msg show BallModel
says "m, where it comes to rest" "Frame of the header"
ends 2 nutmeg run motion --robot xxxxxxxx --virtual
says "there are darwin, kid70" # and no README.md
ends 0 nutmeg sim standing --seeds 1 --seconds 0.1 --snapshot 0.1 --from top,strip -o pictures
says "pictures: pictures"
ls pictures/*top*.png >/dev/null || wrong "no pictures"
[ -s pictures/standing_1_strip.png ] || wrong "no film strip"
ends 0 nutmeg sim list 'motion/*'
says "motion/forward"
ends 0 nutmeg lineup list
says "A robot that walks where cmd_vel"
# names and numbers that cannot be are told before anything is played
ends 2 nutmeg run play --live 70000
says "--live must be between 0 and 65535"
ends 2 nutmeg run play --dds --domain 500
says "--domain must be between 0 and 232"
ends 2 nutmeg eval match match_flat match_flat -o even.jpg
says "must end in .svg or .png"
ends 2 nutmeg eval vision sim --floors none.csv
ends 2 nutmeg eval vision sim --lineups none
says "no line-up of this name"
ends 1 nutmeg eval position --log none.mcap
says "none.mcap: there is no such log"
ends 2 nutmeg snapshot -o field.jpg
ends 2 nutmeg tournament match nobody
says "TEAM: 'nobody' names no robot"
ends 2 nutmeg eval match match nobody
says "the second LINEUP: 'nobody' names no robot"
ends 2 nutmeg play --fidelity flat --red darwin,beginner,kid70
says "names two robots"
ends 2 nutmeg play --fidelity flat --players 2 --blue match+beginner+silent
says "names 3 players, but a team has 2"
ends 2 nutmeg play --half 2h
says "wants a time from"
ends 2 nutmeg bench foo
says "there is no group of benchmarks 'foo'"
ends 2 nutmeg referee --script pictures
printf 'ready\r\nwait soon\nstatus red\nset\nplay\npenalty red 2 pushing\ngoal red\nset\n' >orders.txt
ends 1 nutmeg referee --script orders.txt
says "READY" "wait wants seconds" "status wants no more words" "player 2: pushing, 45 s from 'seated' on"
# Ctrl-C ends games, not only what would be played next
"$program" eval match match_flat match_flat --half 20 --seeds 1 >match.log 2>&1 &
running=$!
until_ok grep -q . "/proc/$running/task/$running/children"
kill -INT "$running"
status=0
wait "$running" || status=$?
running=
[ "$status" = 130 ] || wrong "an interrupted match ended with $status"
grep -q "nothing is compared" match.log || wrong "the interruption is not told"

ends 2 nutmeg grpah
says "no command 'grpah'; did you mean 'graph'?"
ends 2 nutmeg msg list --jsno
says "no flag --jsno" "nutmeg msg list --help"

if nutmeg msg list >/dev/full 2>/dev/null; then wrong "output that is lost is no fault"; fi
nutmeg msg list 2>reader | head -1 >/dev/null
[ ! -s reader ] || wrong "a reader that leaves is a fault"

ends 0 nutmeg version
says "revision" "ABI" "compiler" "CPU"
[[ $(nutmeg version --short) =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || wrong "no version"
ends 0 nutmeg msg list Imu
says "sensor_msgs/msg/Imu"
ends 1 nutmeg msg list no_such_thing
ends 0 nutmeg msg show Imu
says "linear_acceleration_covariance" "float64[9]" "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b" \
    "sensor_msgs::msg::dds_::Imu_" "MSG: geometry_msgs/Quaternion" "336 bytes"
ends 0 nutmeg msg show sensor_msgs/msg/Imu --yaml
says "orientation:" "w: 1"
ends 0 nutmeg msg show visualization_msgs/MarkerArray --schema
says "MSG: visualization_msgs/Marker"
ends 2 nutmeg msg show Imux
says "did you mean"

ends 0 nutmeg module list
says "ball_filter"
ends 0 nutmeg module show ball_filter
says "ball_relative" "humanoid_league_msgs/msg/BallRelative" "friction" "1/s"
ends 2 nutmeg module show bal_filter
says "did you mean 'ball_filter'?"

ends 0 nutmeg lineup check play
says "ok, 2 cycles" "practice_shots ball_filter" "keeper"
printf 'cycles:\n  a:\n    period: 10 ms\n    modules: [keper]\n  b:\n    modules: [keeper]\n' >wrong.yaml
ends 2 nutmeg lineup check play wrong.yaml
says "wrong.yaml:4:" "did you mean 'keeper'?" "wrong.yaml:5:" "play.yaml: ok"
ends 2 nutmeg lineup check plya
says "did you mean 'play'?"

ends 0 nutmeg graph play
says "digraph" "ball_filter"
ends 0 nutmeg graph play -o play.svg
says "written: play.svg"
grep -q "</svg>" play.svg || wrong "no picture"
ends 2 nutmeg graph play -o play.png
says ".svg"
ends 1 nutmeg graph play -o /dev/null/play.svg

ends 0 nutmeg why ball --lineup play
says "is made by ball_filter in the cycle perception"
ends 2 nutmeg why bal --lineup play
ends 0 nutmeg param get keeper.reach --lineup play --set keeper.reach=0.5
says "0.5"
ends 0 nutmeg param diff --lineup play --set keeper.reach=0.5
says "keeper.reach" "0.5" "command"
ends 2 nutmeg param list keeper.raech --lineup play
says "no parameter 'raech', did you mean 'reach'?"
ends 1 nutmeg tasks
says "no player runs here; nutmeg run LINEUP starts one"
ends 1 nutmeg why ball --to somebody
ends 0 nutmeg doctor
says "ready"

# ---- benchmarks: one object a line, with all its members

if [ -z "$quick" ]; then
    ends 2 nutmeg bench coer
    says "no group of benchmarks 'coer'; did you mean core?"
    nutmeg bench core --quick --json >bench.json || true
    number='(-?[0-9.]+(e[-+]?[0-9]+)?|null)'
    shape="^\{\"name\": \"[^\"]+\", \"value\": $number, \"unit\": \"[^\"]+\", \"ratio\": $number, \"goal\": \"[^\"]*\", \"ok\": (true|false)\}$"
    [ -s bench.json ] || wrong "no figures"
    if grep -vE "$shape" bench.json; then wrong "these are not of the shape promised"; fi
fi

# ---- a new module, in the tree and outside

mkdir -p tree/config tree/robots tree/lineups tree/src/modules
NUTMEG_ROOT=$scratch/tree ends 0 nutmeg new module kick_timer --group motion
says "src/modules/motion/kick_timer.c" "tests/modules/test_kick_timer.c" "scripts/build develop modules_test_kick_timer"
for file in tree/src/modules/motion/kick_timer.c tree/tests/modules/test_kick_timer.c; do
    ${CC:-cc} -std=gnu17 -Wall -Wextra -Wconversion -Werror -D_GNU_SOURCE -I"$root/src" -I"$build/gen" -fsyntax-only "$file" ||
        wrong "$file does not compile in the tree"
done
NUTMEG_ROOT=$scratch/tree ends 1 nutmeg new module kick_timer --group motion
says "exists already and is not changed"
for name in Kick 2kick ../kick int keeper; do ends 2 nutmeg new module "$name" --dir x; done

ends 0 nutmeg new module smoother --dir mine
ends 0 make -C mine test check CC="${CC:-cc}"
says "smoother.yaml: ok"
ends 0 nutmeg module show smoother --plugin mine/smoother.so
says "smoother/raw"

# a log is data: replaying it loads no code unless the command line names the file
ends 0 nutmeg run mine/smoother.yaml --virtual --seconds 1 --log plugin.mcap
ends 2 nutmeg replay plugin.mcap
says "recorded with the plug-in mine/smoother.so" "--plugin FILE.so"
ends 0 nutmeg replay plugin.mcap --plugin mine/smoother.so

# ---- virtual time: the same seed plays the same match

nutmeg run play --virtual --seconds 60 --seed 3 | grep -F crosses >first
nutmeg run play --virtual --seconds 60 --seed 3 | grep -F crosses >second
nutmeg run play --virtual --seconds 60 --seed 4 | grep -F crosses >third
[ -s first ] || wrong "nobody shot"
cmp first second || wrong "the same seed, another match"
if cmp -s first third; then wrong "another seed, the same match"; fi
ends 0 nutmeg play play --seconds 1
says "perception" "score:"
ends 2 nutmeg run play --speed 2
says "--virtual"

# ---- a line-up that runs

cp "$root/lineups/play.yaml" mine.yaml
"$program" run mine.yaml >run.log 2>&1 &
running=$!
until_ok nutmeg why ball
ends 1 nutmeg run mine.yaml --seconds 1
says "a player of this name is already running"
until_ok eval 'nutmeg why ball | grep -q "It is fresh"'
ends 0 nutmeg tasks
says "perception" "ball_filter" "behavior"
ends 0 nutmeg topic list ball
says "ball_relative" "practice_shots"
ends 0 nutmeg topic echo score --count 1
says "data:"
ends 0 nutmeg topic hz ball --count 1 --every 0.2
says "Hz"
ends 0 nutmeg plot ball.position.x ball.valid --seconds 0.2
says "ball.position.x: " "ball.valid: " "⠀"
ends 0 nutmeg plot ball.position.x --seconds 0.2 -o live.svg
says "written: live.svg"
grep -q "</svg>" live.svg || wrong "no picture of a running line-up"
ends 2 nutmeg plot ball.position
says "is not a number"
ends 2 nutmeg topic echo bal
says "did you mean 'ball'?"

ends 2 nutmeg param set keeper.reach=0.5 keeper.body=99
says "keeper.body: 99 is outside"
ends 0 nutmeg param get keeper.reach
says "0.8"
ends 0 nutmeg param set keeper.reach=0.5 keeper.body=0.3
ends 0 nutmeg param diff --unsaved
says "keeper.reach" "keeper.body" "live"
ends 0 nutmeg param reset keeper.body
says "1 reset"
ends 0 nutmeg param save --layer lineup
says "1 saved in" "mine.saved.yaml"
grep -q "reach: 0.5" mine.saved.yaml || wrong "not saved"
ends 0 nutmeg param list keeper.reach --long
says "saved" "mine.saved.yaml" "a jump covers up to here"
ends 0 nutmeg param list keeper.reach --lineup mine.yaml
says "0.5" "saved"
ends 0 nutmeg param reset keeper --layer lineup
[ ! -e mine.saved.yaml ] || wrong "the saved value is still there"
ends 0 nutmeg param get keeper.reach
says "0.8"
ends 2 nutmeg param save --layer robot
says "no robot"

"$program" run play --name other >other.log 2>&1 &
second=$!
until_ok nutmeg why ball --to other
ends 2 nutmeg tasks
says "several players run here; choose one (--to NAME, or nutmeg shell NAME):"
ends 0 nutmeg tasks --to mine
ends 0 nutmeg stop --to other
wait "$second"
ends 0 nutmeg stop
wait "$running"
running=
grep -q "played mine" run.log || wrong "no summary"
[ -z "$(ls "$XDG_RUNTIME_DIR/nutmeg")" ] || wrong "a socket was left behind"

"$program" run mine.yaml >run.log 2>&1 &
running=$!
until_ok nutmeg why ball
kill -INT "$running"
wait "$running" || wrong "Ctrl-C is no failure"
running=

# ---- parameters of a plug-in: a file that all line-ups read would keep those from starting that do not know it

"$program" run mine/smoother.yaml >run.log 2>&1 &
running=$!
until_ok nutmeg why smoother/smooth
ends 0 nutmeg param list smoother
saved=$(nutmeg param list smoother | awk 'NR == 2 { print $1 "=" $2 }')
ends 0 nutmeg param set "$saved"
ends 2 nutmeg param save --layer default
says "'smoother' is a plug-in" "layer 'lineup'"
[ ! -e "$root/config/default.saved.yaml" ] || wrong "it is saved all the same"
ends 0 nutmeg param save --layer lineup
says "mine/smoother.saved.yaml"
ends 0 nutmeg lineup check play --quiet
ends 0 nutmeg stop
wait "$running"
running=
rm mine/smoother.saved.yaml

# ---- a module that changes while it runs

"$program" dev mine/smoother.yaml >dev.log 2>&1 &
running=$!
until_ok nutmeg why smoother/smooth
sed -i 's/m->smooth->data = m->value;/m->smooth->data = 2 * m->value;/' mine/smoother.c
until_ok grep -q "new build runs after .* state kept" dev.log
sed -i 's/2 \* m->value;/2 * m->value/' mine/smoother.c
until_ok grep -q "does not build; the old one plays on" dev.log
grep -q "error: expected" dev.log || wrong "the compiler's words are not shown"
sed -i 's/2 \* m->value$/2 * m->value;/; s/double value;/double value, more;/' mine/smoother.c
until_ok grep -q "its state starts again, because its struct changed" dev.log
sed -i 's,"smoother/raw","smoother/other",' mine/smoother.c
until_ok grep -q "not swapped; the old build plays on" dev.log
ends 0 nutmeg stop
wait "$running"
running=
echo "the program does what its commands say"

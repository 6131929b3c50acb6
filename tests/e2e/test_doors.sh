#!/usr/bin/env bash
# Nobody on the network reaches a player unless it was asked for. The player runs in a network namespace of its own; a
# second one, joined by a cable, is the machine of a stranger. From there every port that the player has opened is tried,
# first as it is without flags, then with the flags that open it, so that the stranger is known to reach what is open.
#
#   test_doors.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
here=$(cd "$(dirname "$0")" && pwd)
source "$here/two_machines.sh" "${3:-}"

# A port that nobody listens on answers with a refusal at once; from an open one of UDP nothing comes back.
tcp_open() { stranger bash -c "exec 3<>/dev/tcp/10.9.8.1/$1" 2>/dev/null; }
udp_open() {
    stranger bash -c "exec 3<>/dev/udp/10.9.8.1/$1; echo >&3; read -r -t 3 <&3; [ \$? -gt 128 ]" 2>/dev/null
}
ports() { ss -Hln "$1" | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -un; }
play() { # FLAG…
    rm -f played.txt # that of the player before
    "$program" run motion --hardware virtual --live 0 --dds "$@" > played.txt 2> heard.txt &
    running=$!
    until_ok grep -q "the ROS 2 node" played.txt
    live=$(sed -n 's|^live at http://[^/]*:\([0-9]*\)/.*|\1|p' played.txt)
}
end() {
    kill "$running"
    wait "$running" || wrong "the player ended with $?"
    running=
}

# ---- without flags nothing is open, on this machine everything is
play
(exec 3<>"/dev/tcp/127.0.0.1/$live") || wrong "the live server is not there"
until_ok bash -c "'$program' node list --dds | grep -q /motion" # a busy machine needs more than a look
[ "$(ports -t)" = "$live" ] || wrong "TCP ports besides that of the live server: $(ports -t)"
[ "$(ports -u | wc -l)" -ge 2 ] || wrong "DDS has no ports"
for p in $(ports -t); do ! tcp_open "$p" || wrong "a stranger reaches TCP port $p: $(ss -Hltn)"; done
for p in $(ports -u); do ! udp_open "$p" || wrong "a stranger reaches UDP port $p: $(ss -Hlun)"; done
[ -z "$(stranger "$program" node list --dds --network)" ] || wrong "a stranger sees the node"
# sockets with a name of their own would be open to every user of this machine
[ -z "$(ss -Hlx | awk '$5 ~ /^@/')" ] || wrong "an abstract socket: $(ss -Hlx)"
[ "$(stat -c %a "$XDG_RUNTIME_DIR/nutmeg" "$XDG_RUNTIME_DIR/nutmeg/motion.sock" | tr '\n' ' ')" = "700 600 " ] ||
    wrong "others may use the control socket"
end

# ---- a referee speaks to this machine, and to others only if told to
judge() { # FLAG…
    mkfifo orders
    "$program" referee "$@" <orders >judged.txt 2>&1 &
    running=$!
    exec 4>orders
    until_ok grep -q INITIAL judged.txt
}
dismiss() {
    exec 4>&-
    wait "$running" || wrong "the referee ended with $?"
    running=
    rm orders
}
judge
[ "$(ports -u | wc -l)" -ge 5 ] || wrong "the referee has no ports"
[ -z "$(ss -Hlun | awk '$4 !~ /^127\./')" ] || wrong "the referee listens to other machines: $(ss -Hlun)"
dismiss
judge --network # there is no way to all machines here: the match goes on all the same, and this is said once
echo ready >&4
until_ok grep -q READY judged.txt
[ "$(grep -c "255.255.255.255, port 3838: Network is unreachable" judged.txt)" = 1 ] || wrong "it is not said once"
udp_open 3939 || wrong "a referee of the network does not hear robots"
ip route add default dev robot
until_ok grep -q "sending works again" judged.txt
ip route del default
dismiss

# ---- two thousand malformed packets are a few lines
play
for _ in $(seq 2000); do
    printf 'RTPS\x02\x01\x01\x10abcdefghijkl\x15\x01\xff\xff\x00\x00' > "/dev/udp/127.0.0.1/7410"
done
until_ok grep -q "Cyclone DDS: malformed packet" played.txt
"$program" node list --dds | grep -q /motion || wrong "malformed packets have silenced the node"
end
[ "$(cat played.txt heard.txt | grep -c malformed)" -le 10 ] || wrong "malformed packets flood the console"

# ---- the token stays between us
echo a-token-of-ours > token
if "$program" run motion --live 0 --live-token-file token 2> heard.txt; then wrong "a token that all may read is used"; fi
grep -q "other users may read this token" heard.txt || wrong "the reason is not told"
chmod 600 token
play --live-token-file token
grep -q "token=a-token-of-ours" played.txt || wrong "the token is not that of the file"
! tr '\0' ' ' < "/proc/$running/cmdline" | grep a-token-of-ours || wrong "everybody sees the token in ps"
end

# ---- with its flag each is open
play --live-address 0.0.0.0
tcp_open "$live" || wrong "--live-address does not open the live server"
for p in $(ports -u); do ! udp_open "$p" || wrong "--live-address opens UDP port $p"; done
end
play --live-address 10.9.8.1
tcp_open "$live" || wrong "--live-address 10.9.8.1 does not open the live server"
end
play --network
! tcp_open "$live" || wrong "--network opens the live server"
until_ok stranger bash -c "'$program' node list --dds --network | grep -q /motion"
end

# ---- the pseudo terminals of a virtual bus belong to their user alone
"$program" bus virtual darwin ./bus > bus.txt 2>&1 &
running=$!
until_ok test -e bus
case $(stat -L -c %a bus) in *0) ;; *) wrong "others may use the bus: $(stat -L -c %A bus)" ;; esac
kill "$running"
wait "$running" || true
running=
[ -z "$(ss -Hltun)" ] || wrong "a port is left: $(ss -Hltun)"

#!/usr/bin/env bash
# A player and a laptop find each other over a network that carries no multicast, as many Wi-Fi networks do: by addresses.
# The variables are those of ROS 2. Two network namespaces, joined by a cable, are the two machines.
#
#   test_peers.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
here=$(cd "$(dirname "$0")" && pwd)
source "$here/two_machines.sh" "${3:-}"
unset CYCLONEDDS_URI ROS_DOMAIN_ID ROS_STATIC_PEERS ROS_AUTOMATIC_DISCOVERY_RANGE ROS_LOCALHOST_ONLY
ip link set dev robot multicast off
stranger ip link set dev cable multicast off

play() { # [VARIABLE=VALUE…]
    env "$@" "$program" run motion --hardware virtual --dds --network > played.txt 2> heard.txt &
    running=$!
    until_ok grep -q "the ROS 2 node" played.txt
}
end() {
    kill "$running"
    wait "$running" || wrong "the player ended with $?"
    running=
}
nodes() { stranger env "$@" "$program" node list --network 2>> heard.txt; } # [VARIABLE=VALUE…]
sees() { [ "$(nodes "$@")" = /motion ]; }

# ---- whoever knows the player's address finds it, though the player knows nobody's
play
sees ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET && wrong "the cable carries multicast: this test proves nothing"
until_ok sees ROS_STATIC_PEERS=10.9.8.1
until_ok sees ROS_STATIC_PEERS=10.9.8.1 ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
# samples and calls take the same way
until_ok stranger env ROS_STATIC_PEERS=10.9.8.1 "$program" topic echo /imu/data --dds --network -n 1
until_ok stranger env ROS_STATIC_PEERS=10.9.8.1 "$program" param get --node /motion kick.patience --network
# OFF finds nobody, and what is no word is refused
[ -z "$(nodes ROS_STATIC_PEERS=10.9.8.1 ROS_AUTOMATIC_DISCOVERY_RANGE=OFF)" ] || wrong "OFF finds others"
[ -z "$(nodes ROS_STATIC_PEERS=10.9.8.1 ROS_LOCALHOST_ONLY=1)" ] || wrong "ROS_LOCALHOST_ONLY reaches another machine"
if nodes ROS_AUTOMATIC_DISCOVERY_RANGE=GALAXY; then wrong "GALAXY is taken for a range"; fi
grep -q "ROS_AUTOMATIC_DISCOVERY_RANGE is 'GALAXY'" heard.txt || wrong "the reason is not told"
if nodes 'ROS_STATIC_PEERS=10.9.8.1"/><x'; then wrong "a peer brings XML"; fi
end

# ---- the player knows the laptop's address, and both are in the domain that ROS_DOMAIN_ID names
play ROS_STATIC_PEERS=10.9.8.2 ROS_DOMAIN_ID=9
until_ok sees ROS_DOMAIN_ID=9
[ -z "$(nodes ROS_STATIC_PEERS=10.9.8.1 ROS_DOMAIN_ID=8)" ] || wrong "another domain sees the player"
end

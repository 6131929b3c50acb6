# Two machines and a cable, for the scripts beside it. To be sourced first, with `program`, `root` and `here` set and the
# script's third argument: the script begins again in a network namespace of its own, which has the address 10.9.8.1, with
# `inside` as third argument. From there `stranger COMMAND…` runs a command on the other machine, 10.9.8.2. What stands in
# `running` when the script ends is killed.
if [ "${1:-}" != inside ]; then
    how=(unshare --net)
    [ "$(id -u)" = 0 ] || how=(unshare --map-root-user --net)
    "${how[@]}" true 2>/dev/null || { echo "network namespaces need root, or user namespaces"; exit 77; }
    exec "${how[@]}" "$here/$(basename "$0")" "$program" "$root" inside
fi
source "$here/scratch.sh"
running=
stranger_shell=
finish() {
    [ -z "$running$stranger_shell" ] || kill $running $stranger_shell 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
wrong() {
    echo "$*" >&2
    for f in *.txt; do [ -f "$f" ] && echo "--- $f" && tail -n 20 "$f"; done >&2
    exit 1
}

# ---- two machines and a cable: 10.9.8.1 is the robot, 10.9.8.2 the stranger
mkfifo hold
unshare --net cat hold & # lives until it is killed
stranger_shell=$!
apart() { [ "$(readlink /proc/self/ns/net)" != "$(readlink "/proc/$stranger_shell/ns/net")" ]; }
until_ok apart
stranger() { nsenter --net="/proc/$stranger_shell/ns/net" "$@"; }
ip link set lo up
ip link add robot type veth peer name cable netns "$stranger_shell"
ip addr add 10.9.8.1/24 dev robot
ip link set robot up
stranger ip link set lo up
stranger ip addr add 10.9.8.2/24 dev cable
stranger ip link set cable up
until_ok stranger bash -c 'exec 3<>/dev/udp/10.9.8.1/9; echo >&3; read -r -t 5 <&3; [ $? = 1 ]' # the cable carries packets

#!/usr/bin/env bash
# The pages of `nutmeg label` and `nutmeg calibrate camera --page` in a browser, and what they leave on the disk.
#
#   pictures.sh PROGRAM ROOT
set -euo pipefail
program=$1
root=$2
if [ ! -x /usr/bin/chromium ] || [ -z "$(type -P node)" ]; then
    echo "needs chromium and node"
    exit 77
fi
"$root/scripts/npm" web
scratch=$(mktemp -d)
running=
finish() {
    [ -z "$running" ] || kill "$running" 2>/dev/null || true
    wait
    rm -rf "$scratch"
}
trap finish EXIT
export XDG_RUNTIME_DIR=$scratch
cd "$root"
start() { # ARGUMENTS…: leaves the address in $address
    "$program" "$@" >"$scratch/out" 2>&1 &
    running=$!
    address=
    for ((i = 0; i < 3000; i++)); do
        address=$(grep -ao 'http://[^ ]*' "$scratch/out" | head -n 1 || true)
        [ -z "$address" ] || return 0
        kill -0 "$running" || break
        sleep 0.1
    done
    cat "$scratch/out"
    exit 1
}
mkdir "$scratch/real"
cp docs/pictures/kickabout.jpg "$scratch/real/a.jpg"
cp docs/pictures/kickabout.jpg "$scratch/real/b.jpg"
printf 'image,width,height,set\nother.jpg,1,1,ours\n' >"$scratch/real/images.csv"
start label "$scratch/real" --live 0
node tests/web/pictures.mjs label "$address"
kill "$running"
wait "$running" || true
running=
cat "$scratch/real/labels.csv"
[ "$(grep -c '^a.jpg,ball,' "$scratch/real/labels.csv")" = 1 ]
[ "$(grep -c robot "$scratch/real/labels.csv")" = 0 ]
grep -q '"file_name": "a.jpg"' "$scratch/real/coco.json"
grep -q '"category_id": 1,' "$scratch/real/coco.json"
grep -q '^a.jpg,ball,' "$scratch/real/annotations.csv"
grep -q '^other.jpg,1,1,ours' "$scratch/real/images.csv.before" # what others wrote is not lost
node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$scratch/real/coco.json"

start calibrate camera --sim --page 0 -o "$scratch/cameras.saved.yaml" --picture "$scratch/camera.png"
node tests/web/pictures.mjs calibrate "$address"
wait "$running"
running=
grep -q 'neck: ' "$scratch/cameras.saved.yaml"

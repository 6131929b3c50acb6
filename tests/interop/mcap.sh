#!/usr/bin/env bash
# Our logs against an independent implementation, in both directions, with every compression.
#   mcap.sh RANDOM_LOGS FOLDER      the C half, and a folder for the files between the two
set -euo pipefail
logs=$1 folder=$2
cd "$(dirname "$0")"

if ! command -v node >/dev/null || [ ! -d node_modules/@mcap/core ]; then
    echo "skipped: needs node and its packages; run npm ci in tests/interop"
    exit 77
fi
mkdir -p "$folder"
for packing in 0 1 2; do
    "$logs" write "$folder/ours.mcap" "$((packing + 1))" "$packing"
    node mcap.mjs "$folder/ours.mcap" "$folder/theirs.mcap" "$packing"
    "$logs" compare "$folder/ours.mcap" "$folder/theirs.mcap"
done

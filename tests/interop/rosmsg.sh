#!/usr/bin/env bash
# Our CDR and our schema texts against an independent implementation, in both directions, for every type.
#   rosmsg.sh RANDOM_MESSAGES FOLDER      the C half, and a folder for the files between the two
set -euo pipefail
messages=$1 folder=$2
cd "$(dirname "$0")"

if ! command -v node >/dev/null || [ ! -d node_modules/@foxglove/rosmsg2-serialization ]; then
    echo "skipped: needs node and its packages; run npm ci in tests/interop"
    exit 77
fi
mkdir -p "$folder"
for seed in 1 2 3; do
    "$messages" write "$folder/ours" "$seed" 10
    node rosmsg.mjs "$folder/ours" "$folder/theirs"
    "$messages" check "$folder/theirs"
done

#!/usr/bin/env bash
# Our ONNX files in an independent implementation (onnxruntime), which must read them and compute the same.
#   onnx.sh RANDOM_NETS FOLDER      the C half, and a folder for the files between the two
set -euo pipefail
nets=$1 folder=$2
cd "$(dirname "$0")"

if ! command -v node >/dev/null || [ ! -d node_modules/onnxruntime-node ]; then
    echo "skipped: needs node and its packages; run npm ci in tests/interop"
    exit 77
fi
mkdir -p "$folder"
node onnx.mjs "$nets" "$folder" 120

#!/usr/bin/env bash
# The networks of models/ on one core, in turns with onnxruntime (needs node and tests/interop's packages: scripts/npm tests/interop).
#   bench/onnx.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."

for _ in $(seq "${1:-3}"); do
    echo "half SweatyNet at 320 x 240:"
    build/nutmeg nn bench --open 1,3,240,320 models/heat.onnx
    node bench/onnx.mjs models/heat.onnx 1 3 240 320
    echo "50 patches of balls:"
    build/nutmeg nn bench --open 50 models/ball.onnx
    node bench/onnx.mjs models/ball.onnx 50 1 32 32
done

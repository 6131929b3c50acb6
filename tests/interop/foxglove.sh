#!/usr/bin/env bash
# The live server against an independent client, every operation of the protocol.
#   foxglove.sh NUTMEG ROOT
set -euo pipefail
nutmeg=$1 root=$2
cd "$(dirname "$0")"

if ! command -v node >/dev/null || [ ! -d node_modules/@foxglove/ws-protocol ] || [ ! -d node_modules/ws ]; then
    echo "skipped: needs node and its packages; run npm ci in tests/interop"
    exit 77
fi
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
node foxglove.mjs "$nutmeg" "$root"

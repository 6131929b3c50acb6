#!/usr/bin/env bash
# Logs of other programs in the debugger's page, in Debian's chromium.
#   logs.sh NUTMEG ROOT
set -euo pipefail
if [ ! -x /usr/bin/chromium ] || [ -z "$(type -P node)" ]; then
    echo "needs chromium and node"
    exit 77
fi
"$2/scripts/npm" web tests/interop
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
node "$2/tests/web/logs.mjs" "$1" "$2"

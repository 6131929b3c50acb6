#!/usr/bin/env bash
# The debugger's page in Debian's chromium, against matches that play.
#   page.sh NUTMEG ROOT [FOLDER-FOR-PICTURES]
set -euo pipefail
nutmeg=$1 root=$2 pictures=${3:-}
if ! command -v node >/dev/null || ! command -v chromium >/dev/null || [ ! -d "$root/web/node_modules/playwright-core" ] ||
    [ ! -d "$root/tests/interop/node_modules/ws" ]; then
    echo "skipped: needs chromium, node and the packages of web and tests/interop; scripts/npm installs them"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_RUNTIME_DIR=$scratch
node "$root/tests/web/page.mjs" "$nutmeg" "$root" "$scratch" "$pictures"

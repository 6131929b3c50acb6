#!/usr/bin/env bash
# A script of this folder in node, with Debian's chromium and the packages that it needs.
#   run.sh SCRIPT NUTMEG ROOT [MORE…]
set -euo pipefail
if [ ! -x /usr/bin/chromium ] || [ -z "$(type -P node)" ]; then
    echo "needs chromium and node"
    exit 77
fi
"$3/scripts/npm" web tests/interop
exec node "$3/tests/web/$1.mjs" "${@:2}"

#!/usr/bin/env bash
# The page in web/dist, which the program embeds, is what web/src gives; its types fit; no address of another site is in it.
#   bundle.sh ROOT
set -euo pipefail
cd "$1/web"
if ! command -v node >/dev/null || [ ! -d node_modules/esbuild ]; then
    echo "skipped: needs node and its packages; run scripts/npm web"
    exit 77
fi
node_modules/.bin/tsc --noEmit
node build.mjs --check
if grep -n '"resolved"' package-lock.json; then
    echo "package-lock.json names the site that packages came from; npm with the settings of web/.npmrc leaves it out"
    exit 1
fi

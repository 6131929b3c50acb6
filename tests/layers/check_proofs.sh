#!/usr/bin/env bash
# A test proves something or fails. It needs nothing beside the checkout, and it does not skip: cmocka counts what was
# skipped as passed. The patterns are spelt so that this file does not match itself.
#
#   check_proofs.sh ROOT
set -euo pipefail
source "$(dirname "$0")/files.sh"
cd "$1"

beside='[.][.]/share[d]|NM_ROO[T] *"/[.][.]'
skips='(^|[^[:alnum:]_])ski[p][(][)]'
bad=$(project_files | grep '^tests/' | tr '\n' '\0' | xargs -0 grep -nIHE -- "$beside|$skips" /dev/null) || true
if [ -n "$bad" ]; then
    echo "$bad"
    echo "these tests read files from outside of the checkout, or skip: commit small data, or make it"
    exit 1
fi
echo "no test needs files from outside of the checkout, and none skips"

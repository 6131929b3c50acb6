#!/usr/bin/env bash
# On a system that was bare before `make play` (scripts/fresh): the match has left its picture, and nothing was installed
# that only tests need: no package of packages-test.txt, no compiler but gcc, no Node, no git.
set -euo pipefail
cd "$(dirname "$0")/../.."
faults=0
wrong() {
    echo "$*"
    faults=$((faults + 1))
}

[ -s out/match.png ] || wrong "make play has left no out/match.png"
while read -r package _; do
    case $package in '' | '#'*) continue ;; esac
    if dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" 2>/dev/null | grep -q '^ii'; then
        wrong "make play has installed $package, which is a package of the tests"
    fi
done <packages-test.txt
for command in clang g++ c++ gfortran rustc go tcc node npm git; do
    if [ -n "$(type -P $command)" ]; then wrong "make play has brought $command"; fi
done

[ $faults = 0 ] || exit 1
echo "make play needs $(grep -c '^[a-z]' packages.txt) packages, and none of the tests'"

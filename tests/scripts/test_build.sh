#!/usr/bin/env bash
# scripts/build configures the program without the tests and what they need, and with them as soon as another target is
# asked for, also in a folder that was configured before. A stand-in for cmake writes down how it was called.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/bin" "$place/scripts"
cp "$root/scripts/build" "$place/scripts/"
cat >"$place/bin/cmake" <<'S'
#!/usr/bin/env bash
echo "$*" >>calls
case $* in
*-DNM_TESTS=*)
    mkdir -p build
    printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nNM_TESTS:BOOL=%s\n' "$PWD" "${*##*=}" >build/CMakeCache.txt
    touch build/build.ninja
    ;;
esac
S
chmod +x "$place/bin/cmake"

calls_of() { # TARGET…: how cmake was called to configure
    rm -f "$place/calls"
    PATH=$place/bin:$PATH "$place/scripts/build" develop "$@" 2>/dev/null
    grep -- -DNM_TESTS "$place/calls" || true
}
is() { # WHAT GOT WANTED
    if [[ $2 != "$3" ]]; then
        echo "$1: cmake was called with '$2', not '$3'"
        exit 1
    fi
}
generator=
[ -n "$(type -P ninja)" ] || generator=" -G Unix Makefiles"
is "the program alone" "$(calls_of nutmeg)" "--preset develop$generator -DNM_TESTS=OFF"
is "again" "$(calls_of nutmeg)" ""
is "then the tests" "$(calls_of all)" "build -DNM_TESTS=ON"
is "the program again" "$(calls_of nutmeg)" ""
rm -r "$place/build"
is "the tests at once" "$(calls_of base_test_blob)" "--preset develop$generator -DNM_TESTS=ON"

# and really: without the tests nothing of theirs is looked for
cmake -S "$root" -B "$place/plain" -DNM_TESTS=OFF >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
if grep -iE '^[a-z_]*(cmocka|clang|testing)' "$place/plain/CMakeCache.txt"; then
    echo "configuring the program looks for what only tests need"
    exit 1
fi
echo "tests are configured only when they are asked for"

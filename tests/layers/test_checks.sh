#!/usr/bin/env bash
# The checks themselves can fail: each is shown a small tree that is right, then one wrong thing at a time, and must name it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
faults=0

# accepts WHAT CHECK…: the check passes; refuses WHAT SENTENCE CHECK…: it fails and says the sentence
script() { if [[ $1 == check_* ]]; then echo "$here/$1"; else echo "$here/../../scripts/$1"; fi; }
accepts() {
    local what=$1 said
    shift
    if ! said=$("$(script "$1")" "${@:2}" 2>&1); then
        echo "$1 refuses $what: $said"
        faults=$((faults + 1))
    fi
}
refuses() {
    local what=$1 sentence=$2 said
    shift 2
    if said=$("$(script "$1")" "${@:2}" 2>&1); then
        echo "$1 accepts $what"
        faults=$((faults + 1))
    elif [[ $said != *"$sentence"* ]]; then
        echo "$1 refuses $what, but says: $said"
        faults=$((faults + 1))
    fi
}
# with FILE TEXT COMMAND…: one more line in a file, for the length of one command
with() {
    local file=$1 text=$2
    shift 2
    mkdir -p "$(dirname "$file")"
    if [ -f "$file" ]; then cp "$file" saved; fi
    echo "$text" >>"$file"
    "$@"
    if [ -f saved ]; then mv saved "$file"; else rm "$file"; fi
}

mkdir -p src/{base,codec,core,modules/world,modules/vision,sim,edge,cmd} bench msg/std_msgs docs
echo '#include <math.h>' >src/base/geometry.h
echo '#include "base/geometry.h"' >src/codec/cdr.c
printf '%s\n' '#include "codec/cdr.h"' '#include "std_msgs/Header.h"' >src/core/board.c
printf '%s\n' '#include "core/nm.h"' '#include "modules/world/grid.h"' '#include "modules/world/ball.h"' >src/modules/world/ball.c
echo 'NM_MODULE(ball, "Tracks the ball.")' >>src/modules/world/ball.c
echo 'NM_MODULE(lines, "Finds lines.")' >src/modules/vision/lines.c
echo 'NM_MODULE(robots, "Tracks robots.")' >src/modules/world/robots.c
touch src/modules/world/{grid,ball,robots}.h src/modules/vision/lines.h
printf '%s\n' '#include <mujoco/mujoco.h>' '#include "core/nm.h"' >src/sim/world.c
echo '#include "modules/world/grid.h"' >src/cmd/play.c

accepts "a tree in order" check_includes.sh .
with src/base/a.c '#include "codec/cdr.h"' refuses "base above itself" "base may not include codec" check_includes.sh .
with src/base/a.c '#include "std_msgs/Header.h"' refuses "base with messages" "base may not include messages" check_includes.sh .
with src/codec/a.c '#include "core/nm.h"' refuses "codec above itself" "codec may not include core" check_includes.sh .
with src/core/a.c '#  include "body/urdf.h"' refuses "an unknown folder" "body/urdf.h is no file" check_includes.sh .
with src/core/a.c '#include "modules/world/ball.h"' refuses "core with modules" "core may not include modules" check_includes.sh .
with src/edge/a.c '#include "modules/world/grid.h"' refuses "an edge with modules" "edge may not include modules" check_includes.sh .
with src/sim/a.c '#include "edge/udp.h"' refuses "sim with edges" "sim may not include edge" check_includes.sh .
with src/edge/a.c '#include <mujoco/mujoco.h>' refuses "MuJoCo elsewhere" "only src/sim" check_includes.sh .
mkdir -p src/edge/{log,live}
touch src/edge/live/live{,_inside}.h
with src/edge/live/a.c '#include "edge/live/live_inside.h"' accepts "an edge with its own private header" check_includes.sh .
with src/edge/log/a.c '#include "edge/live/live.h"' accepts "an edge with the public header of another" check_includes.sh .
with src/edge/log/a.c '#include "edge/live/live_inside.h"' refuses "an edge with the private header of another" "live_inside.h is private to src/edge/live" check_includes.sh .
with src/cmd/a.c '#include "edge/live/live_inside.h"' refuses "a command with the private header of an edge" "live_inside.h is private to src/edge/live" check_includes.sh .
mkdir src/record
with src/record/a.c '#include "core/nm.h"' accepts "a library of logs" check_includes.sh .
with src/record/a.c '#include "cmd/play.h"' refuses "a library with commands" "record may not include cmd" check_includes.sh .
with src/core/a.c '#include "../cmd/main.h"' refuses "a way around" "core may not include outside" check_includes.sh .
touch src/modules/units.h
with src/modules/vision/a.c '#include "modules/units.h"' accepts "what all modules share" check_includes.sh .
echo 'NM_MODULE(units, "A module among the shared headers.")' >src/modules/units.c
with src/modules/vision/a.c '#include "modules/units.h"' refuses "a module from above" "a module may not include another" check_includes.sh .
rm src/modules/units.c
with src/modules/world/a.c '#include "modules/vision/lines.h"' refuses "another folder's module" "a module may not include another" check_includes.sh .
with src/modules/world/ball.c '#include "modules/world/robots.h"' refuses "its neighbour" "a module may not include another" check_includes.sh .
with src/strange/a.c '#include "base/geometry.h"' refuses "a folder without a row" "strange has no row" check_includes.sh .

object() { # NAME C-TEXT
    echo "$2" | "${CC:-cc}" -x c -fPIC -O1 -c -o "$1.o" -
}
object constant 'extern const char *const names[]; const char *const names[] = {"a", "b"};
    static const int table[] = {1, 2}; int at(int i); int at(int i) { return table[i] + names[i][0]; }
    static const int *const entry __attribute__((section("nm_modules"), used)) = table;'
object zeroed 'int next(void); int next(void) { static int counter; return ++counter; }'
object filled 'int seed = 7;'
object shared 'int together __attribute__((common));'
object threads '_Thread_local int mine;'
object pointer 'const char *word = "can be turned elsewhere";'
accepts "constants" stateless constant.o
"${CC:-cc}" -shared -o constant.so constant.o
"${CC:-cc}" -shared -o zeroed.so constant.o zeroed.o
accepts "a plug-in of constants" stateless constant.so
refuses "a plug-in with a static counter" "counter" stateless zeroed.so
refuses "a static counter" "counter" stateless constant.o zeroed.o
refuses "a global" "seed can be written (.data)" stateless filled.o
refuses "a common variable" "together can be written (*COM*)" stateless shared.o
refuses "a variable a thread" "mine can be written (.tbss)" stateless threads.o
refuses "a pointer" "word can be written" stateless pointer.o
refuses "nothing to look into" "no object files" stateless
object quiet 'int snprintf(char *, unsigned long, const char *, ...); void f(char *to); void f(char *to) { snprintf(to, 9, "%p", to); }'
object loud 'int puts(const char *); void f(void); void f(void) { puts("here I am"); }'
accepts "a quiet library" check_silent.sh quiet.o
refuses "a library that prints" "puts: a library does not print" check_silent.sh quiet.o loud.o
refuses "nothing to look into" "no object files" check_silent.sh

printf '%s\n' '# Nutmeg' '[words](docs/words.md#the-ball-and-i) [code](src/base/)' '`[no](link)` [far](https://example.org)' >README.md
printf '%s\n' '# The ball, and I' '[up](../README.md)' '```c' 'a[i](b);' '```' >docs/words.md
accepts "links in order" check_links.sh .
with README.md '[x](docs/none.md)' refuses "a dead link" "README.md:4: there is no docs/none.md" check_links.sh .
with docs/words.md '![x](none.png)' refuses "a dead picture" "docs/words.md:6: there is no none.png" check_links.sh .
with README.md '[x](docs/words.md#goal)' refuses "a dead heading" "has no heading #goal" check_links.sh .

accepts "plain words" check_words.sh .
with package-lock.json "https://registry.npm""js.org/x" refuses "a registry" "package-lock.json:1:" check_words.sh .
with docs/words.md "cd /wor""k/nutmeg" refuses "a path" "docs/words.md:6:" check_words.sh .

accepts "tests that prove something" check_proofs.sh .
with tests/test_a.c 'if (!there) ski''p();' refuses "a test that skips" "tests/test_a.c:1:" check_proofs.sh .
with tests/a.h '#define DATA NM_ROO''T "/../data"' refuses "a test with data from elsewhere" "tests/a.h:1:" check_proofs.sh .

program() { # TEXT…: a program that answers --help of `nutmeg` and `nutmeg play`
    printf '%s\n' '#!/bin/sh' 'case $1 in' '--help) printf "nutmeg COMMAND\n\nPlays.\n\n  play  a match\n" ;;' "$@" 'esac' >nutmeg
    chmod +x nutmeg
}
program 'play) printf "nutmeg play\n\nA match.\n" ;;'
accepts "a helpful program" check_help.sh ./nutmeg
program 'play) exit 2 ;;'
refuses "a command that fails" "nutmeg play --help fails" check_help.sh ./nutmeg
program 'play) ;;'
refuses "a silent command" "not with its own name" check_help.sh ./nutmeg
program 'play) printf "nutmeg play\n\nA match.\n"; echo what >&2 ;;'
refuses "a complaint" "nutmeg play --help complains: what" check_help.sh ./nutmeg

[ $faults = 0 ] || exit 1
echo "the checks accept what is right and name what is wrong"

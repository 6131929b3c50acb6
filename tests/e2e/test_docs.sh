#!/usr/bin/env bash
# Executes a document: its commands, in order, in one shell, in a copy of the checkout where `make` has been called.
#
#   test_docs.sh ROOT SCRATCH DOCUMENT
#
# What counts is the word behind the three back-ticks:
#   sh             is executed (bash, ends at the first command that fails)
#   sh robot       is not executed, for the reason named: robot needs hardware, root changes the machine,
#                  endless does not end by itself, ros needs ROS 2
#   text output    the lines stand in this order in what the block before it printed; … stands for anything, and where a
#                  number stands any number may stand
#   c some/file.c  any other language with a name behind it: the block becomes this file, seen from the checkout
# Inside sh, a line `# -> words` says that what was printed since the last such line contains the words (… as above).
#
# Two commands are not taken literally: `make test` would run this very test, so that only its recipe is looked at, and
# `make play` plays two seconds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$1
scratch=$2
document=$3
source "$here/../layers/files.sh"

# the copy: only files that differ are written, so that its build folder stays good from one run to the next
mkdir -p "$scratch"
list=$(mktemp -d)
export list
# players that somebody else runs here are not met
mkdir -m 700 "$list/sockets"
export XDG_RUNTIME_DIR=$list/sockets
trap 'rm -rf "$list"' EXIT
sums() { (cd "$1" && tr '\n' '\0' | xargs -0 sha256sum 2>/dev/null || true) | sort; }
(cd "$root" && project_files | sort) >"$list/project"
(cd "$scratch" && find . \( -path ./build -o -name node_modules \) -prune -o -type f -print | sed 's#^\./##' | sort) >"$list/copy"
comm -13 "$list/project" "$list/copy" | (cd "$scratch" && tr '\n' '\0' | xargs -0r rm -f)
sums "$root" <"$list/project" >"$list/project.sums"
sums "$scratch" <"$list/project" >"$list/copy.sums"
comm -23 "$list/project.sums" "$list/copy.sums" | cut -c67- |
    tar -C "$root" -cf - -T - | tar -C "$scratch" -xmf -
# ccache may serve the copy from the checkout where paths are taken as relative
if [ -n "${CCACHE_BASEDIR:-}" ]; then export CCACHE_BASEDIR=$scratch; fi

# the document as a script: pieces of commands, each with its output kept, and what is expected of it
awk -v document="$document" -v out="$list/out" '
    function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
    function at() { return quoted(document ":" FNR) }
    function end_piece() {
        if (piece == "") return
        pieces++
        printf "begin %s %s\n{\n%s} >%s 2>&1 </dev/null\n", where, quoted(piece), piece, quoted(out pieces)
        piece = ""
    }
    function wrong(why) { print document ":" FNR ": " why > "/dev/stderr"; failed = 1; exit 1 }
    /^```/ && !inside {
        inside = 1; opened = FNR; kind = ""
        split(substr($0, 4), word, " ")
        if (word[1] == "sh" && word[2] == "") kind = "sh"
        else if (word[1] == "sh" && word[2] !~ /^(robot|root|endless|ros)$/) wrong("\"" word[2] "\" is no reason to leave commands out")
        else if (word[1] == "text" && word[2] == "output") {
            if (!pieces) wrong("there is no output before this")
            kind = "output"
            printf "printed %s %s <<\047NUTMEG-END\047\n", quoted(document ":" FNR), quoted(out pieces)
        } else if (word[1] != "sh" && word[1] != "text" && word[2] != "") {
            if (word[2] ~ /^\/|\.\./) wrong("a file outside of the checkout")
            kind = "file"
            printf "write %s <<\047NUTMEG-END\047\n", quoted(word[2])
        }
        next
    }
    /^```/ {
        if (kind == "sh") end_piece()
        if (kind == "output" || kind == "file") print "NUTMEG-END"
        inside = 0
        next
    }
    !inside { next }
    kind == "sh" && /^# -> / {
        text = substr($0, 6)
        end_piece()
        if (!pieces) wrong("there is no command before this")
        printf "expect %s %s %s\n", at(), quoted(out pieces), quoted(text)
        next
    }
    kind == "sh" && /[^ ] *# -> / { wrong("an expectation behind a command is not checked: give it its own line") }
    kind == "sh" { if (piece == "") where = at(); piece = piece $0 "\n" }
    kind == "output" || kind == "file" { print }
    END {
        if (!failed && inside) { print document ":" opened ": this block does not end" > "/dev/stderr"; exit 1 }
    }' "$root/$document" >"$list/script"

cat >"$list/frame" <<'EOS'
exec 3>&1
where= commands=
begin() { where=$1 commands=$2; }
ended() {
    code=$?
    set +e
    jobs -p | xargs -r kill 2>/dev/null # what the document left running
    [ $code = 0 ] && exit 0
    if [ -n "$where" ]; then
        printf '%s: ended with %d:\n%s' "$where" $code "$commands" >&3
        last=$(ls -t "$list"/out* 2>/dev/null | head -1)
        if [ -n "$last" ]; then tail -n 60 "$last" >&3; fi
    fi
    exit 1
}
trap ended EXIT
fail() { # WHERE SENTENCE OUTPUT
    where=
    printf '%s: %s; what was printed:\n' "$1" "$2" >&3
    tail -n 60 "$3" >&3
    exit 1
}
write() { mkdir -p "$(dirname "$1")" && cat >"$1"; }
# like OUTPUT NUMBERS: the patterns on standard input stand in the output, each in a line after the one before
like() {
    awk -v numbers="$2" -v i=0 -v n=0 '
        function plain(text) {
            gsub(/[ \t]+/, " ", text)
            sub(/^ /, "", text)
            sub(/ $/, "", text)
            if (numbers) gsub(/[0-9]+(\.[0-9]+)?/, "0", text)
            return text
        }
        FNR == NR { if (plain($0) != "") pattern[n++] = plain($0); next }
        i < n {
            line = plain($0)
            parts = split(pattern[i], part, /…/)
            for (p = 1; p <= parts; p++) {
                if (part[p] == "") continue
                k = index(line, part[p])
                if (!k) next
                line = substr(line, k + length(part[p]))
            }
            i++
        }
        END { if (i < n) { print pattern[i]; exit 1 } }' - "$1"
}
expect() { like "$2" "" <<<"$3" >/dev/null || fail "$1" "expected '$3'" "$2"; }
printed() {
    local missing
    missing=$(like "$2" yes) || fail "$1" "expected '$missing'" "$2"
}
make() {
    case " $* " in
    *" test "*) command make -n "$@" ;;
    *" play "*) NM_PLAY_SECONDS=2 command make "$@" ;;
    *) command make "$@" ;;
    esac
}
set -eo pipefail
EOS
cat "$list/frame" "$list/script" >"$list/run"
cd "$scratch"
make >"$list/made" 2>&1 || { cat "$list/made" && exit 1; }
code=0
timeout -k 5 "${NM_DOCS_SECONDS:-600}" bash "$list/run" || code=$?
[ $code != 124 ] || echo "$document: its commands took too long"
[ $code = 0 ] || exit 1
echo "$document: $(grep -c '^begin ' "$list/script") pieces executed, $(grep -cE '^(expect|printed) ' "$list/script" || true) outputs compared"

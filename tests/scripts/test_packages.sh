#!/usr/bin/env bash
# scripts/packages: nothing is done where nothing is missing, and where something is, the right thing for whoever asks. The
# machine is played by small stand-ins for dpkg-query, apt-get, sudo and id that write down how they were called.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
faults=0

# a PATH with the plain tools that the script uses, and the stand-ins
mkdir "$place/bin"
for tool in bash dirname mktemp rm tail cat touch; do ln -s "$(type -P $tool)" "$place/bin/$tool"; done
stand_in() { # NAME SHELL-TEXT
    printf '#!/usr/bin/env bash\necho "%s $*" >>%q/calls\n%s\n' "$1" "$place" "$2" >"$place/bin/$1"
    chmod +x "$place/bin/$1"
}
ln -s "$(type -P env)" "$place/bin/env"

# machine HAVE USER: the packages it has, and who asks
machine() {
    rm -f "$place"/bin/{sudo,apt-get,dpkg-query,id,sometool} "$place/calls" "$place/lists-are-new"
    touch "$place/calls"
    stand_in dpkg-query "for p in $1; do echo \"ii  \$p\"; done; echo 'rc  removed-once'; exit 1"
    stand_in id "echo $2"
    stand_in apt-get 'exit 0'
}
asked() { # [--check] LINE…: runs the script on a list of these lines
    local flag=()
    if [ "$1" = --check ]; then
        flag=(--check)
        shift
    fi
    printf '%s\n' "$@" >"$place/list"
    code=0
    said=$(PATH=$place/bin "$root/scripts/packages" "${flag[@]}" "$place/list" 2>&1 </dev/null) || code=$?
}
holds() { # WHAT CONDITION…
    local what=$1
    shift
    if ! "$@"; then
        printf '%s: not so (%s); code %s, said: %s\ncalls:\n' "$what" "$*" "$code" "$said"
        cat "$place/calls"
        faults=$((faults + 1))
    fi
}
says() { [[ $said == *"$1"* ]]; }
called() { grep -qF -- "$1" "$place/calls"; }
not() { ! "$@"; }

machine "liba libb" 0
asked "# a remark" "liba # one" "" "libb # two"
holds "nothing missing" [ $code = 0 ]
holds "nothing missing" [ -z "$said" ]
holds "nothing missing" not called apt-get
holds "one look at the packages" [ "$(grep -c dpkg-query "$place/calls")" = 1 ]

machine "liba" 0
stand_in sometool ''
asked "liba # one" "tool-package sometool # a tool from elsewhere"
holds "a tool from elsewhere" [ $code = 0 ]
holds "a tool from elsewhere" not called apt-get

machine "liba" 0
asked "liba # one" "libb # two" "removed-once # three"
holds "root installs what is missing, and no more" called "apt-get install -y --no-install-recommends libb removed-once"
holds "root" [ $code = 0 ]
holds "root" says "installing 2 packages: libb removed-once"
holds "root" not called "apt-get update"

machine "" 0
stand_in apt-get "case \$1 in update) touch $place/lists-are-new ;; *) [ -e $place/lists-are-new ] ;; esac"
asked "liba # one"
holds "old package lists are read anew" called "apt-get update"
holds "old package lists" [ $code = 0 ]

machine "" 0
stand_in apt-get 'echo "E: no such thing"; exit 100'
asked "liba # one"
holds "an install that fails" [ $code = 1 ]
holds "an install that fails" says "E: no such thing"
holds "an install that fails" says "liba                 # one"

machine "" 1000
stand_in sudo 'shift; "$@"'
asked "liba # one"
holds "sudo installs, and asks nobody for a password without a terminal" called "sudo -n apt-get install"
holds "sudo" [ $code = 0 ]

machine "" 1000
asked "liba # one" "libb # two"
holds "neither root nor sudo" [ $code = 1 ]
holds "neither root nor sudo" says "neither as root nor with sudo"
holds "neither root nor sudo" says "  liba                 # one"
holds "neither root nor sudo" says "apt-get install -y --no-install-recommends liba libb"
holds "neither root nor sudo" not called "apt-get"

machine "" 0
asked --check "liba # one"
holds "only asked" [ $code = 1 ]
holds "only asked" says "liba                 # one"
holds "only asked" not called "apt-get"

machine "" 1000
rm "$place/bin/dpkg-query"
asked "liba # one"
holds "no Debian" [ $code = 0 ]
holds "no Debian" says "this is no Debian"

[ $faults = 0 ] || exit 1
echo "packages are installed where they are missing, and only there"

# What the scripts beside it begin with: a folder of their own, in which they then are, where no player of anybody else is
# met. To be sourced, with `root` set; they remove it, and define `wrong SENTENCE…`.
scratch=$(mktemp -d)
export XDG_RUNTIME_DIR=$scratch/run NUTMEG_ROOT=$root NO_COLOR=1
# leaks are the other tests' business: looking for them can hang in a program that a signal is just ending
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd "$scratch"

# the processes whose command lines hold some words
named() {
    for p in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null < "$p/cmdline" | grep -q -- "$1"; then echo "${p#/proc/}"; fi
    done 2>/dev/null
}
# until_ok COMMAND…: tries again for up to two minutes, which only a fault takes
until_ok() {
    for _ in $(seq 1200); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    wrong "$* did not come true in 2 minutes"
}
# sets `domain` to a DDS domain that no other script uses; a lock keeps it until this script and its children have ended
claim_domain() {
    for domain in $(seq 80 100); do
        exec {domain_lock}>>"${TMPDIR:-/tmp}/nutmeg-test-domain-$UID-$domain"
        if flock -n "$domain_lock"; then return; fi
        exec {domain_lock}>&-
    done
    wrong "no DDS domain is free"
}

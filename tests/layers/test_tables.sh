#!/usr/bin/env bash
# A module whose table does not fit its struct is told so in words, by every compiler that is here: which port, of which
# topic, and how its member must be declared.
#
#   test_tables.sh ROOT BUILD
set -euo pipefail
root=$1
build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

# says COMPILER MEMBERS ROW SENTENCE: a module with this struct and this row
says() {
    cat >"$folder/wrong.c" <<END
#include "core/nm.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"
#include "std_srvs/SetBool.h"
struct wrong {
    struct nm *nm;
    $2
};
static void step(struct wrong *f) { (void)f; }
#define SELF struct wrong
static const struct nm_port ports[] = {$3, {0}};
NM_MODULE(wrong, "Is wrong.", NM_PORTS(ports), .step = NM_CALL(step))
END
    local said ok=0
    said=$("$1" -std=gnu17 -D_GNU_SOURCE -I"$root/src" -I"$build/gen" -c -o "$folder/wrong.o" "$folder/wrong.c" 2>&1) || ok=1
    if [ -z "$4" ]; then
        [ "$ok" = 0 ] || { echo "$1 refuses $2 $3: $said"; faults=$((faults + 1)); }
    elif [ "$ok" = 0 ] || ! grep -qF -- "$4" <<<"$said"; then
        echo "$1 should say of $2 $3: $4; it says: $said"
        faults=$((faults + 1))
    fi
}

compilers=0
for cc in gcc clang; do
    type -P "$cc" >/dev/null || continue
    compilers=$((compilers + 1))
    says "$cc" 'const Float64 *raw;' 'NM_IN(raw, Float64, "speed")' ''
    says "$cc" 'const String *raw;' 'NM_IN(raw, Float64, "speed")' \
        "port raw of topic speed: its member must be declared as const Float64 *raw"
    says "$cc" 'Float64 *raw;' 'NM_LAST(raw, Float64, "speed")' \
        "port raw of topic speed: its member must be declared as const Float64 *raw"
    says "$cc" 'const Float64 *out;' 'NM_OUT(out, Float64, "speed")' \
        "port out of topic speed: its member must be declared as Float64 *out"
    says "$cc" 'nm_queue(String) all;' 'NM_QUEUE(all, Float64, "speed", 4)' \
        "port all of topic speed: its member must be declared as nm_queue(Float64) all"
    says "$cc" 'nm_out_queue(String) all;' 'NM_OUT_QUEUE(all, Float64, "speed", 4)' \
        "port all of topic speed: its member must be declared as nm_out_queue(Float64) all"
done
[ "$compilers" -gt 0 ] || { echo "there is no compiler"; exit 1; }
[ "$faults" = 0 ] || exit 1
echo "$compilers compilers say what is wrong in a table"

/* The C text nmgen writes. Every function appends to a stream. */
#ifndef NM_GEN_EMIT_H
#define NM_GEN_EMIT_H

#include <stdio.h>

#include "codec/msgdef.h"

/* The definitions of one file (a message, or all parts of a service or action), every inner one before its user. */
struct nm_unit {
    const char *package, *stem;
    uint32_t n;
    struct nm_def **at;
};

void nm_emit_header(FILE *out, const struct nm_unit *unit);
void nm_emit_tables(FILE *out, const struct nm_unit *units, uint32_t n); /* one package */
void nm_emit_all_types(FILE *out, const struct nm_defs *set);

/* The C member of a field: its name, with an underscore behind it where C has taken the word. */
const char *nm_member_name(const struct nm_def_field *field, char room[NM_DEF_NAME + 2]);

#endif

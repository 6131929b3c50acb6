/* CDR bytes of any type, read by its definition where they lie: for messages of foreign logs and of our own old ones,
 * whose types are known only as text (codec/msgdef.h) and may hold more than any struct of ours has room for. As in
 * cdr.h nothing is trusted, and bytes behind the last member are tolerated.
 *
 *     struct nm_walk_path speed;
 *     nm_walk_path(def, "twist.linear.x", &speed, err);
 *     if (nm_walk_number(&speed, data, size, &value, err) > 0) … */
#pragma once

#include "codec/msgdef.h"
#include "codec/text.h"

/* The whole message as nm_print (codec/text.h) prints it. A definition from foreign text has no blobs: sequences of
 * more than 64 numbers are shown as blobs are, by their first elements, unless NM_TEXT_WHOLE. */
int nm_walk_print(struct nm_text_out *out, const struct nm_def *def, const void *cdr, size_t size, unsigned style,
                  struct nm_err *err);

/* A place inside messages: "header.stamp.sec", "name[0]", "points[2].x", "data" (all of it). */
struct nm_walk_path {
    const struct nm_def *def;
    uint32_t n;
    struct {
        const struct nm_def_field *field;
        int64_t index; /* -1: the member itself */
    } steps[NM_DEF_DEPTH];
};
int nm_walk_path(const struct nm_def *def, const char *path, struct nm_walk_path *to, struct nm_err *err);

/* What stands at a place: 1; 0 if this message has no such element; -1 with a sentence if the bytes are broken. */
int nm_walk_print_at(struct nm_text_out *out, const struct nm_walk_path *path, const void *cdr, size_t size,
                     unsigned style, struct nm_err *err);
/* A number of any kind, or a bool. Also 0 if the place is none. */
int nm_walk_number(const struct nm_walk_path *path, const void *cdr, size_t size, double *value, struct nm_err *err);
/* The bytes of a text (without its NUL) or of a sequence of bytes, where they lie. Also 0 if the place is neither. */
int nm_walk_bytes(const struct nm_walk_path *path, const void *cdr, size_t size, const uint8_t **bytes, size_t *n,
                  struct nm_err *err);

/* ---- step by step ---- */

/* Where a reader stands in the bytes of a message. */
struct nm_walk {
    const uint8_t *base, *at, *end;
    bool swap;                /* big endian                          */
    const struct nm_def *def; /* of the whole message, for sentences */
    struct nm_err *err;
};
int nm_walk_begin(struct nm_walk *walk, const struct nm_def *def, const void *cdr, size_t size, struct nm_err *err);
/* How many elements a member has; reads the count of a sequence. */
int nm_walk_count(struct nm_walk *walk, const struct nm_def_field *field, uint32_t *n);
/* One primitive, in the byte order of this machine; a text with its length (without the NUL). */
int nm_walk_value(struct nm_walk *walk, const struct nm_def_field *field, uint64_t *bits);
double nm_walk_double(enum nm_kind kind, uint64_t bits); /* such a primitive as a number */
int nm_walk_text(struct nm_walk *walk, const struct nm_def_field *field, const char **text, uint32_t *n);
/* Past n elements of a member, or a whole member with its count. */
int nm_walk_skip(struct nm_walk *walk, const struct nm_def_field *field, uint32_t n);
int nm_walk_skip_member(struct nm_walk *walk, const struct nm_def_field *field);
/* Prints a whole member, or `one` element of it. */
int nm_walk_print_member(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, bool one,
                         unsigned style);

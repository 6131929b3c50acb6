/* Messages as YAML or JSON, for people, shells and browsers. Numbers come back bit for bit; NaN and infinity are .nan
 * and .inf in YAML and the texts "NaN", "Infinity", "-Infinity" in JSON. Blobs are shown by their length and first
 * elements unless the whole is asked for. Reading is strict: an unknown member, a wrong kind, a value out of range or
 * too long is a sentence with file, line, path and, for names, the nearest one that exists. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/blob.h"
#include "base/error.h"
#include "base/type.h"
#include "codec/yaml.h"

enum {
    NM_TEXT_YAML = 0,  /* block style; small structs and arrays of numbers in one line */
    NM_TEXT_JSON = 1,  /* one line                                                     */
    NM_TEXT_WHOLE = 2, /* add it: every element of blobs, so that they read back       */
};

/* Where text goes: into memory of a fixed size (grows false; what does not fit is dropped and `cut` says so), or into
 * memory that grows (all zero but grows; freed by its owner with free(text)). The text always ends with a NUL. */
struct nm_text_out {
    char *text;
    size_t used, size;
    bool grows, cut;
};

/* Appends n bytes as they are. */
void nm_text_put(struct nm_text_out *out, const char *text, size_t n);
/* Appends at most 255 bytes. */
void nm_text_format(struct nm_text_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a text of at most n bytes in double quotes, with escapes that YAML and JSON share. */
void nm_text_quoted(struct nm_text_out *out, const char *text, size_t n);
void nm_fputs_quoted(const char *text, FILE *to);

void nm_print(struct nm_text_out *out, const struct nm_type *type, const void *message, unsigned style);

/* One place of a message, as nm_find gives it: `1.5`, `"imu_link"`, `[1, 2]`, or members. */
void nm_print_place(struct nm_text_out *out, const struct nm_place *place, unsigned style);

/* Resets the message and sets what the tree names. Goes on after a fault, so that all are told at once; then the
 * message is reset and -1 returned. Blobs take blocks from the pool; without one a blob in the text is a fault. */
int nm_parse(const struct nm_type *type, void *message, const struct nm_yaml *node, struct nm_blob_pool *pool,
             struct nm_err *err);

/* The same from text; `file` names it in sentences. */
int nm_parse_text(const struct nm_type *type, void *message, const char *file, const char *text, size_t size,
                  struct nm_blob_pool *pool, struct nm_err *err);

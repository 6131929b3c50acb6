/* The one checked reader of YAML, and of JSON, which is a subset of it. A text becomes a tree of nodes in an arena.
 * What a configuration does not need is refused with a sentence `file:line: …`: anchors, aliases, tags, a second
 * document, doubled keys, NUL characters; so is a text beyond the limits. A key with nothing behind it, and a whole
 * file of comments, read as an empty scalar and an empty map. Of JSON two rare forms are refused: escaped surrogate
 * pairs (\ud83e\udd16) and a line break between a key and its colon.
 *
 *     const struct nm_yaml *file = nm_yaml_read(&arena, "lineups/match.yaml", err);
 *     nm_yaml_each(cycle, nm_yaml_get(file, "cycles")) { … cycle->key … nm_yaml_duration(…, &period, err) … } */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { NM_YAML_SIZE = 4 << 20, NM_YAML_DEPTH = 32, NM_YAML_NODES = 200000 };

enum nm_yaml_kind { NM_YAML_SCALAR, NM_YAML_LIST, NM_YAML_MAP };

struct nm_yaml {
    enum nm_yaml_kind kind;
    bool quoted;                 /* '…' or "…" or a block: text even if it looks like a number */
    uint32_t line, column;       /* where it (in a map: its key) begins, from 1                */
    uint32_t n;                  /* children                                                   */
    const char *text;            /* of a scalar, "" otherwise                                  */
    const char *key;             /* its name in the map above it, NULL in a list               */
    const char *file;            /* for sentences                                              */
    const struct nm_yaml *first; /* child                                                      */
    const struct nm_yaml *next;  /* sibling                                                    */
};

/* NULL after a fault. `file` names the text in sentences; text and name are copied. */
const struct nm_yaml *nm_yaml_parse(struct nm_arena *arena, const char *file, const char *text, size_t size,
                                    struct nm_err *err);
const struct nm_yaml *nm_yaml_read(struct nm_arena *arena, const char *path, struct nm_err *err);

/* The value under a key, NULL where there is none (also if `map` is NULL or no map). */
const struct nm_yaml *nm_yaml_get(const struct nm_yaml *map, const char *key);

/* The children of a list or a map, in the order of the file; none if the parent is NULL. */
#define nm_yaml_each(child, parent)                                                                                    \
    for (const struct nm_yaml *child = nm_yaml_first(parent); child; child = child->next)
static inline const struct nm_yaml *nm_yaml_first(const struct nm_yaml *node) { return node ? node->first : NULL; }

/* Adds "file:line: " and the sentence. Returns -1. */
int nm_yaml_fail(const struct nm_yaml *node, struct nm_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a node that is no map, and every key outside `names` with the nearest one that exists. */
int nm_yaml_keys(const struct nm_yaml *map, const char *const *names, uint32_t n, struct nm_err *err);

/* The whole text of an unquoted scalar must match; otherwise -1, a sentence, and the value stays as it was. */
int nm_yaml_bool(const struct nm_yaml *node, bool *value, struct nm_err *err);        /* true, false; not yes, on     */
int nm_yaml_int(const struct nm_yaml *node, int64_t *value, struct nm_err *err);      /* -12, 0x1f                    */
int nm_yaml_uint(const struct nm_yaml *node, uint64_t *value, struct nm_err *err);    /* up to 2^64 - 1               */
int nm_yaml_number(const struct nm_yaml *node, double *value, struct nm_err *err);    /* 1, -0.5, 1e-3, .inf, .nan    */
int nm_yaml_duration(const struct nm_yaml *node, int64_t *value, struct nm_err *err); /* 8 ms, 2 s, 500 us, 1000 ns   */

/* The text of any scalar, quoted or not. */
int nm_yaml_text(const struct nm_yaml *node, const char **text, struct nm_err *err);

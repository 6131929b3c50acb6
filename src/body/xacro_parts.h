/* Between the two halves of xacro: the document with its macros (xacro.c), and what the texts in it mean
 * (xacro_text.c). */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "body/urdf.h"
#include "body/xacro.h"
#include "codec/yaml.h"

enum { XACRO_NESTED = 48, XACRO_FILES = 64, XACRO_OUTPUT = NM_URDF_SIZE };

struct node {
    const char *name;
    const char **attributes; /* name and value by turns, then NULL */
    struct node *first, *last, *next;
    const char *file;
    uint32_t line;
};

struct binding { /* a property, a parameter, a block or a macro */
    const char *name, *text;
    const struct nm_yaml *tree; /* of a list or a dictionary, instead of a text */
    const struct node *block;   /* of a block or a macro       */
    bool contents;              /* of a block: what is in it   */
    struct scope *where;        /* in which the text has its meaning */
    struct binding *next;
};

struct scope {
    struct binding *bindings;
    struct scope *outer;
};

struct xacro {
    struct nm_arena *arena;
    struct nm_err *err;
    bool failed, reads;
    const struct node *at; /* whose line faults have */
    uint32_t nodes, files, depth, steps;
    struct binding *macros, *args;
    struct scope global;
    FILE *out;
};

/* What a text means: itself, a number, a list or a dictionary. */
struct value {
    const char *text; /* NULL: a number, or the tree */
    double number;
    const struct nm_yaml *tree; /* of a list or a dictionary */
};

/* The first fault counts; it has the line of the present element. */
void xacro_fail(struct xacro *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct binding *xacro_find(struct scope *scope, const char *name);
const char *xacro_folder(struct xacro *x, const char *file);

/* Replaces ${…} and $(…). A property that names itself ends at the limit of depth. */
const char *xacro_evaluate(struct xacro *x, struct scope *scope, const char *text);
/* The same, but a text that is one ${…} as a whole may be a list or a dictionary. */
struct value xacro_value(struct xacro *x, struct scope *scope, const char *text);
/* Whatever is a number as a whole counts as one; true and false do. */
struct value xacro_plain(const char *text);

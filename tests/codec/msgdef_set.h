/* A set of definitions for the msgdef tests: add texts, link, look. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "codec/msgdef.h"

struct set {
    struct nm_arena arena;
    struct nm_defs defs;
    struct nm_err err;
};

static inline int begin(void **state)
{
    struct set *s = test_calloc(1, sizeof *s);
    s->defs.arena = &s->arena;
    *state = s;
    return 0;
}

static inline int end(void **state)
{
    struct set *s = *state;
    nm_arena_free(&s->arena);
    test_free(s);
    return 0;
}

static inline int add(struct set *s, enum nm_interface kind, const char *package, const char *name, const char *text)
{
    static const char *const suffixes[] = {"msg", "srv", "action"};
    struct nm_def_source source = {.package = package, .name = name, .kind = kind, .text = text, .size = strlen(text)};
    source.file = nm_take_format(&s->arena, "%s.%s", name, suffixes[kind]);
    return nm_defs_add(&s->defs, &source, &s->err);
}

/* Adds a message t_msgs/T, links, and gives its definition; NULL after a fault. */
static inline struct nm_def *read_message(struct set *s, const char *text)
{
    if (add(s, NM_MSG, "t_msgs", "T", text) || nm_defs_link(&s->defs, &s->err)) return NULL;
    return nm_defs_find(&s->defs, "t_msgs/T");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

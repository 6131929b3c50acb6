/* An arena and an error for the tests of a file, and types made from the text of a .msg. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/type.h"
#include "codec/msgdef.h"

static struct nm_arena arena;
static struct nm_err err;

static inline int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

/* Both forms of a text as logs have it; its name is t_msgs/msg/T. */
struct made {
    struct nm_def *def;
    const struct nm_type *type;
};

static inline struct made made(const char *text)
{
    static const char name[] = "t_msgs/msg/T";
    struct nm_defs *set = nm_take_n(&arena, struct nm_defs, 1);
    set->arena = &arena;
    err = (struct nm_err){0};
    if (nm_defs_add_merged(set, "t.msg", name, text, strlen(text), &err) || nm_defs_link(set, &err))
        fail_msg("%s", err.text);
    struct nm_def *def = nm_defs_find(set, name);
    const struct nm_type *type = nm_def_type(set, def, &err);
    if (!type) fail_msg("%s", err.text);
    return (struct made){def, type};
}

/* The type of a .msg of ours, which may say cap= and blob. */
static inline const struct nm_type *type_of(const char *text)
{
    struct nm_defs set = {.arena = &arena};
    struct nm_def_source source = {"t.msg", "t_msgs", "T", NM_MSG, text, strlen(text)};
    err = (struct nm_err){0};
    if (nm_defs_add(&set, &source, &err) || nm_defs_link(&set, &err)) fail_msg("%s", err.text);
    return nm_def_type(&set, nm_defs_find(&set, "t_msgs/msg/T"), &err);
}

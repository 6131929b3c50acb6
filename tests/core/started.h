/* A line-up from text and a few modules, for the tests of the runtime. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/player.h"

struct started {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *player;
};

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static inline void start_with(struct started *s, const char *text, struct nm_player_options options)
{
    struct nm_err err = {0};
    *s = (struct started){0};
    nm_registry_init(&s->registry, &s->arena, __start_nm_modules, __stop_nm_modules);
    struct nm_lineup_options where = {.root = "/nonexistent"};
    s->lineup = nm_lineup_parse(text, strlen(text), "test.yaml", &s->registry, &where, &err);
    if (!s->lineup) fail_msg("%s", err.text);
    s->player = nm_player_new(s->lineup, &options, &err);
    if (!s->player) fail_msg("%s", err.text);
}

static inline void start(struct started *s, const char *text)
{
    start_with(s, text, (struct nm_player_options){.seed = 1});
}

static inline struct nm_edge *edge(struct started *s, const struct nm_edge_port *ports, uint32_t n)
{
    struct nm_err err = {0};
    struct nm_edge *e = nm_edge_new(s->player, "edge", ports, n, &err);
    if (!e) fail_msg("%s", err.text);
    return e;
}

static inline void run_until(struct started *s, int64_t ms)
{
    assert_int_equal(nm_players_run(&s->player, 1, ms * 1000000, 1), 0);
}

static inline void stop(struct started *s)
{
    nm_player_free(s->player);
    nm_lineup_free(s->lineup);
    nm_arena_free(&s->arena);
}

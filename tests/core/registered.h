/* The team of team.h in a registry, for the tests of a file. */
#pragma once

#include "base/arena.h"
#include "core/registry.h"
#include "core/team.h"

static struct nm_arena arena;
static struct nm_registry registry;

static inline int set_up(void **state)
{
    (void)state;
    nm_registry_init(&registry, &arena, team, team + TEAM);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

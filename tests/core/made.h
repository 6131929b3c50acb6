/* Modules made at run time, for line-ups of any size and shape: module i is called m<i> and makes topic t<i>. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lineup.h"
#include "std_msgs/Int32.h"

/* splitmix64 */
static inline uint32_t random_below(uint64_t *seed, uint32_t n)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return n ? (uint32_t)((z ^ (z >> 31)) % n) : 0;
}

struct made_self {
    struct nm *nm;
    uint8_t room[1024];
};

struct made {
    struct nm_arena arena;
    struct nm_registry registry;
    uint32_t n;
    struct nm_module *modules;
    const struct nm_module **list;
};

static void made_step(void *self) { (void)self; }

static inline void made_port(struct made *m, uint32_t module, enum nm_port_kind kind, const char *topic)
{
    struct nm_port *ports = (struct nm_port *)(uintptr_t)m->modules[module].ports;
    uint32_t p = 0;
    while (ports[p].name) p++;
    ports[p] = (struct nm_port){.name = nm_take_format(&m->arena, "p%u", p),
                                .topic = nm_take_text(&m->arena, topic),
                                .type = &Int32_type,
                                .kind = kind,
                                .depth = 4,
                                .offset = (uint32_t)offsetof(struct made_self, room) + 16 * p};
}

static inline void made_new(struct made *m, uint32_t n)
{
    *m = (struct made){.n = n};
    m->modules = nm_take_n(&m->arena, struct nm_module, n);
    m->list = nm_take_n(&m->arena, const struct nm_module *, n);
    for (uint32_t i = 0; i < n; i++) {
        m->modules[i] = (struct nm_module){.abi = NM_ABI,
                                           .name = nm_take_format(&m->arena, "m%u", i),
                                           .about = "Made for a test.",
                                           .file = "made.h",
                                           .size = sizeof(struct made_self),
                                           .ports = nm_take_n(&m->arena, struct nm_port, 65),
                                           .n_ports = 65,
                                           .step = made_step};
        m->list[i] = &m->modules[i];
        made_port(m, i, NM_PORT_OUT, nm_take_format(&m->arena, "t%u", i));
    }
    nm_registry_init(&m->registry, &m->arena, m->list, m->list + n);
}

/* module `reader` reads what `maker` makes */
static inline void made_reads(struct made *m, uint32_t reader, uint32_t maker, enum nm_port_kind kind)
{
    char topic[16];
    snprintf(topic, sizeof topic, "t%u", maker);
    made_port(m, reader, kind, topic);
}

/* A line-up with the modules in the order of `file`, module file[i] in cycle cycle[i] of n_cycles. */
static inline struct nm_lineup *made_lineup(struct made *m, const uint32_t *file, const uint32_t *cycle,
                                            uint32_t n_cycles, struct nm_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "cycles:\n");
    for (uint32_t c = 0; c < n_cycles; c++) {
        fprintf(out, "  c%u:\n    period: %u ms\n    modules:\n", c, c + 5);
        for (uint32_t i = 0; i < m->n; i++)
            if (cycle[i] == c) fprintf(out, "      - m%u\n", file[i]);
    }
    fclose(out);
    struct nm_lineup_options options = {.root = "/nonexistent"};
    struct nm_lineup *lineup = nm_lineup_parse(text, size, "made.yaml", &m->registry, &options, err);
    free(text);
    return lineup;
}

static inline void made_free(struct made *m) { nm_arena_free(&m->arena); }

/* The options of a behaviour (core/option.h) as a graph: what the source says, without running it. Options stand in the
 * order in which they are first played from the root; transitions that stand before the first state hold in all. */
#pragma once

#include <stdio.h>

#include "core/option.h"

enum { GRAPH_OPTIONS = 64, GRAPH_STATES = 16, GRAPH_WORDS = 24 };

struct graph_state {
    const char *name; /* "" : all states of the option */
    uint32_t n;
    const struct nm_option_note *words[GRAPH_WORDS]; /* NM_WORD_GO and NM_WORD_PLAY, in the order of the source */
};

struct graph_option {
    const char *name, *file;
    uint32_t depth; /* longest way from the root */
    uint32_t n;
    struct graph_state states[GRAPH_STATES];
};

struct option_graph {
    uint32_t n;
    struct graph_option options[GRAPH_OPTIONS];
};

/* The options that the functions in `file` play, and those that they play. False if there are none. */
bool option_graph_read(struct option_graph *graph, const struct nm_option_note *const *begin,
                       const struct nm_option_note *const *end, const char *file);

void option_graph_text(const struct option_graph *graph, FILE *to);
void option_graph_dot(const struct option_graph *graph, FILE *to);
void option_graph_svg(const struct option_graph *graph, FILE *to);

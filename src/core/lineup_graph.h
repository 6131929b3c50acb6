/* The graph of a line-up: its topics, the producers and consumers of each topic, and the order in which the modules of
 * a cycle step. All faults of a graph are reported at once. */
#pragma once

#include "core/lineup.h"

/* What the file says about topics, beside cycles and instances. */
struct nm_graph_file {
    const struct nm_yaml *remote;          /* the list under `remote:`, or NULL                                   */
    const struct nm_yaml *const *renames;  /* of each instance: its map under `topics:`, or NULL                  */
    const struct nm_yaml *const *triggers; /* of each cycle: its trigger, or NULL                                 */
    bool incomplete;                       /* some instances were left out: a missing producer may be one of them */
};

/* Expects the cycles and instances of the line-up (name, module, cycle, line) and fills in its topics, the topic of
 * each port, the triggers, the order of steps and the warnings. */
int nm_graph_make(struct nm_lineup *lineup, const struct nm_graph_file *file, const struct nm_lineup_options *options,
                  struct nm_err *err);

/* One thing must come before another, because of a topic. */
struct nm_before {
    uint32_t first, then, topic;
};

/* Sorts 0 … n-1 so that every `first` comes before its `then`, and otherwise the smallest possible number comes next:
 * the order of the file wherever the needs leave a choice. Returns how many could be sorted: fewer than n where there
 * are loops. */
uint32_t nm_graph_sort(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t *order);

/* The shortest loop through a node, as the indices of its edges in the order of the walk, at most `max`; 0 if none
 * exists. */
uint32_t nm_graph_loop(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t node, uint32_t *edges,
                       uint32_t max);

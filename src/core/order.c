/* The order of steps: Kahn's algorithm that always takes the first of the file among those that are ready, and the
 * shortest way round where there is a loop. */
#include <stdio.h>
#include <string.h>

#include "core/graph.h"

/* The edges that leave each node: `edge[start[i]] … edge[start[i + 1] - 1]`, in the order given. */
struct leaving {
    uint32_t *start, *edge;
};

static struct leaving leaving_of(struct nm_arena *arena, uint32_t n, const struct nm_before *before, uint32_t n_before)
{
    struct leaving l = {nm_take_n(arena, uint32_t, n + 2), nm_take_n(arena, uint32_t, n_before + 1)};
    for (uint32_t e = 0; e < n_before; e++) l.start[before[e].first + 2]++;
    for (uint32_t i = 2; i <= n + 1; i++) l.start[i] += l.start[i - 1];
    for (uint32_t e = 0; e < n_before; e++) l.edge[l.start[before[e].first + 1]++] = e;
    return l;
}

uint32_t nm_graph_sort(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t *order)
{
    struct nm_arena scratch = {0};
    struct leaving l = leaving_of(&scratch, n, before, n_before);
    uint32_t *waits = nm_take_n(&scratch, uint32_t, n + 1); /* for so many; UINT32_MAX: taken */
    uint32_t sorted = 0;
    for (uint32_t e = 0; e < n_before; e++) waits[before[e].then]++;
    for (uint32_t i = 0; i < n;) {
        if (waits[i]) {
            i++;
            continue;
        }
        waits[i] = UINT32_MAX;
        order[sorted++] = i;
        uint32_t next = i + 1; /* an earlier one may have become ready */
        for (uint32_t k = l.start[i]; k < l.start[i + 1]; k++) {
            uint32_t then = before[l.edge[k]].then;
            if (--waits[then] == 0 && then < next) next = then;
        }
        i = next;
    }
    nm_arena_free(&scratch);
    return sorted;
}

uint32_t nm_graph_loop(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t node, uint32_t *edges,
                       uint32_t max)
{
    struct nm_arena scratch = {0};
    struct leaving l = leaving_of(&scratch, n, before, n_before);
    uint32_t *by = nm_take_n(&scratch, uint32_t, n + 1);    /* the edge that reached a node, + 1 */
    uint32_t *queue = nm_take_n(&scratch, uint32_t, n + 1); /* breadth first, so the way is shortest */
    uint32_t head = 0, tail = 0, length = 0;
    queue[tail++] = node;
    while (head < tail && !by[node]) {
        uint32_t i = queue[head++];
        for (uint32_t k = l.start[i]; k < l.start[i + 1] && !by[node]; k++) {
            uint32_t then = before[l.edge[k]].then;
            if (by[then]) continue;
            by[then] = l.edge[k] + 1;
            if (then != node) queue[tail++] = then;
        }
    }
    if (by[node]) {
        uint32_t at = node;
        do {
            at = before[by[at] - 1].first;
            length++;
        } while (at != node);
        for (uint32_t k = length; k--;) {
            if (k < max) edges[k] = by[at] - 1;
            at = before[by[at] - 1].first;
        }
    }
    nm_arena_free(&scratch);
    return length < max ? length : max;
}

/* ---- the order of a line-up ---- */

static bool waits_for_producer(const struct nm_port *port)
{
    return port->kind == NM_PORT_IN || port->kind == NM_PORT_QUEUE;
}

/* The port through which an instance waits for a topic. */
static const struct nm_port *waiting_port(const struct nm_lineup *lineup, uint32_t instance, uint32_t topic)
{
    const struct nm_topic *t = &lineup->topics[topic];
    for (uint32_t c = 0; c < t->n_consumers; c++) {
        const struct nm_port *port = &lineup->instances[t->consumers[c].instance].module->ports[t->consumers[c].port];
        if (t->consumers[c].instance == instance && waits_for_producer(port)) return port;
    }
    return NULL;
}

static uint32_t needs_of(const struct nm_lineup *lineup, struct nm_before *before)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        for (uint32_t c = 0; c < topic->n_consumers; c++) {
            const struct nm_lineup_instance *reader = &lineup->instances[topic->consumers[c].instance];
            if (!waits_for_producer(&reader->module->ports[topic->consumers[c].port])) continue;
            for (uint32_t p = 0; p < topic->n_producers; p++) {
                uint32_t maker = topic->producers[p].instance;
                if (lineup->instances[maker].cycle != reader->cycle) continue;
                if (before) before[n] = (struct nm_before){maker, topic->consumers[c].instance, t};
                n++;
            }
        }
    }
    return n;
}

/* The edge of a loop that goes against the order of the file: reading it with `last` is what the file suggests. */
static const struct nm_before *back_edge(const struct nm_before *before, const uint32_t *edges, uint32_t n)
{
    const struct nm_before *back = &before[edges[0]];
    for (uint32_t i = 0; i < n; i++)
        if (before[edges[i]].first >= before[edges[i]].then) back = &before[edges[i]];
    return back;
}

/* "walk makes 'odometry' for localizer, localizer makes 'pose' for walk; one of them …" */
static void fail_loop(const struct nm_lineup *lineup, const struct nm_before *before, const uint32_t *edges, uint32_t n,
                      struct nm_err *err)
{
    char way[600];
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_before *edge = &before[edges[i]];
        int length = snprintf(way + used, sizeof way - used, "%s%s makes '%s' for %s", i ? ", " : "",
                              lineup->instances[edge->first].name, lineup->topics[edge->topic].name,
                              edge->first == edge->then ? "itself" : lineup->instances[edge->then].name);
        if (length < 0 || used + (size_t)length >= sizeof way) break;
        used += (size_t)length;
    }
    const struct nm_before *back = back_edge(before, edges, n);
    const struct nm_lineup_instance *first = &lineup->instances[before[edges[0]].first];
    const struct nm_port *port = waiting_port(lineup, back->then, back->topic);
    nm_fail(err, "%s:%d: loop in cycle '%s': %.*s; %s must read with %s, such as port '%s' of %s", lineup->file,
            first->line, lineup->cycles[first->cycle].name, (int)used, way, n == 1 ? "it" : "one of them",
            port->kind == NM_PORT_IN ? "`last`" : "`last queue`", port->name, lineup->instances[back->then].name);
}

/* Tells a loop, opens it at the edge proposed, and looks for the next: what is told is what must be changed. */
static int fail_loops(const struct nm_lineup *lineup, struct nm_before *before, uint32_t n_before, uint32_t *order,
                      struct nm_err *err)
{
    enum { LONGEST = 64, TOLD = 20 };
    uint32_t edges[LONGEST], n = lineup->n_instances;
    for (uint32_t told = 0; told < TOLD && nm_graph_sort(n, before, n_before, order) < n; told++) {
        uint32_t length = 0, kept = 0;
        for (uint32_t i = 0; i < n && !length; i++) length = nm_graph_loop(n, before, n_before, i, edges, LONGEST);
        fail_loop(lineup, before, edges, length, err);
        struct nm_before back = *back_edge(before, edges, length);
        for (uint32_t e = 0; e < n_before; e++)
            if (before[e].then != back.then || before[e].topic != back.topic) before[kept++] = before[e];
        n_before = kept;
    }
    return -1;
}

int nm_graph_order(struct nm_lineup *lineup, struct nm_err *err)
{
    struct nm_arena scratch = {0};
    uint32_t n_before = needs_of(lineup, NULL);
    struct nm_before *before = nm_take_n(&scratch, struct nm_before, n_before + 1);
    uint32_t *order = nm_take_n(&scratch, uint32_t, lineup->n_instances + 1);
    needs_of(lineup, before);
    uint32_t sorted = nm_graph_sort(lineup->n_instances, before, n_before, order);

    for (uint32_t i = 0; i < lineup->n_instances; i++) lineup->cycles[lineup->instances[i].cycle].n_order++;
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        lineup->cycles[c].order = nm_take_n(&lineup->arena, uint32_t, lineup->cycles[c].n_order + 1);
        lineup->cycles[c].n_order = 0;
    }
    for (uint32_t i = 0; i < sorted; i++) {
        struct nm_lineup_cycle *cycle = &lineup->cycles[lineup->instances[order[i]].cycle];
        cycle->order[cycle->n_order++] = order[i];
    }
    int rc = sorted < lineup->n_instances ? fail_loops(lineup, before, n_before, order, err) : 0;
    nm_arena_free(&scratch);
    return rc;
}

/* Steps are sorted: whoever makes steps before whoever reads, and otherwise the order of the file holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/lineup_graph.h"
#include "core/made.h"

enum { NODES = 12 };

struct graph {
    uint32_t n, n_before;
    struct nm_before before[NODES * NODES * 2];
};

/* every kind of density, with doubled edges; loops where `loops` */
static void random_graph(struct graph *g, uint64_t *seed, bool loops)
{
    g->n = 1 + random_below(seed, NODES);
    g->n_before = random_below(seed, g->n * g->n);
    uint32_t rank[NODES];
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t k = random_below(seed, i + 1);
        rank[i] = rank[k];
        rank[k] = i;
    }
    uint32_t kept = 0;
    for (uint32_t e = 0; e < g->n_before; e++) {
        uint32_t a = random_below(seed, g->n), b = random_below(seed, g->n);
        if (loops || rank[a] < rank[b]) g->before[kept++] = (struct nm_before){a, b, e};
    }
    g->n_before = kept;
}

/* By hand: again and again the smallest one whose needs are all done. */
static uint32_t sort_by_hand(const struct graph *g, uint32_t *order)
{
    bool done[NODES] = {0};
    uint32_t n = 0;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < g->n && !found; i++) {
            bool ready = !done[i];
            for (uint32_t e = 0; e < g->n_before; e++)
                if (g->before[e].then == i && !done[g->before[e].first]) ready = false;
            if (!ready) continue;
            done[i] = found = true;
            order[n++] = i;
        }
    }
    return n;
}

static void the_order_is_that_of_a_person_with_patience(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 5000; round++) {
        struct graph g;
        uint32_t order[NODES], expected[NODES];
        random_graph(&g, &seed, round % 2);
        uint32_t n = nm_graph_sort(g.n, g.before, g.n_before, order);
        assert_int_equal(n, sort_by_hand(&g, expected));
        assert_memory_equal(order, expected, n * sizeof *order);
        if (round % 2 == 0) assert_int_equal(n, g.n);
    }
}

static void without_needs_nothing_moves(void **state)
{
    (void)state;
    uint32_t order[NODES];
    assert_int_equal(nm_graph_sort(NODES, NULL, 0, order), NODES);
    for (uint32_t i = 0; i < NODES; i++) assert_int_equal(order[i], i);
    assert_int_equal(nm_graph_sort(0, NULL, 0, order), 0);
}

/* Lengths of shortest ways by Floyd and Warshall; the diagonal begins without the empty way. */
static void a_loop_that_is_told_is_a_shortest_one(void **state)
{
    (void)state;
    uint64_t seed = 8;
    for (int round = 0; round < 5000; round++) {
        struct graph g;
        uint32_t way[NODES][NODES], edges[NODES];
        random_graph(&g, &seed, true);
        memset(way, 1, sizeof way); /* far */
        for (uint32_t e = 0; e < g.n_before; e++) way[g.before[e].first][g.before[e].then] = 1;
        for (uint32_t k = 0; k < g.n; k++)
            for (uint32_t i = 0; i < g.n; i++)
                for (uint32_t j = 0; j < g.n; j++)
                    if (way[i][k] + way[k][j] < way[i][j]) way[i][j] = way[i][k] + way[k][j];
        for (uint32_t i = 0; i < g.n; i++) {
            uint32_t n = nm_graph_loop(g.n, g.before, g.n_before, i, edges, NODES);
            assert_int_equal(n, way[i][i] <= NODES ? way[i][i] : 0);
            for (uint32_t k = 0; k < n; k++) {
                assert_int_equal(g.before[edges[k]].first, k ? g.before[edges[k - 1]].then : i);
                if (k + 1 == n) assert_int_equal(g.before[edges[k]].then, i);
            }
        }
    }
}

/* ---- whole line-ups ---- */

static uint32_t place_in(const struct nm_lineup_cycle *cycle, uint32_t instance)
{
    for (uint32_t i = 0; i < cycle->n_order; i++)
        if (cycle->order[i] == instance) return i;
    return NM_NONE;
}

static void in_and_queue_order_within_a_cycle_and_nothing_else_does(void **state)
{
    (void)state;
    static const enum nm_port_kind kinds[] = {NM_PORT_IN, NM_PORT_QUEUE, NM_PORT_LAST, NM_PORT_LAST_QUEUE};
    uint64_t seed = 9;
    for (int round = 0; round < 200; round++) {
        uint32_t n = 2 + random_below(&seed, 20), n_cycles = 1 + random_below(&seed, 2);
        uint32_t file[22], cycle[22], kind[22][22] = {0};
        struct made m;
        made_new(&m, n);
        for (uint32_t i = 0; i < n; i++) { /* module numbers are one possible order; the file has another */
            uint32_t k = random_below(&seed, i + 1);
            file[i] = file[k];
            file[k] = i;
            cycle[i] = i < n_cycles ? i : random_below(&seed, n_cycles);
        }
        for (uint32_t reader = 0; reader < n; reader++)
            for (uint32_t maker = 0; maker < n; maker++) {
                if (random_below(&seed, 4)) continue;
                uint32_t k = random_below(&seed, 4);
                if (k < 2 && maker >= reader) k += 2;
                made_reads(&m, reader, maker, kinds[k]);
                kind[reader][maker] = kinds[k];
            }
        struct nm_err err = {0};
        struct nm_lineup *l = made_lineup(&m, file, cycle, n_cycles, &err);
        if (!l) fail_msg("%s", err.text);

        struct graph g = {.n = 0};
        struct nm_before *before = nm_take_n(&m.arena, struct nm_before, n * n);
        uint32_t module_of[22], instance_of[22];
        for (uint32_t i = 0; i < n; i++) {
            module_of[i] = (uint32_t)strtoul(l->instances[i].name + 1, NULL, 10);
            instance_of[module_of[i]] = i;
        }
        for (uint32_t reader = 0; reader < n; reader++)
            for (uint32_t maker = 0; maker < n; maker++) {
                uint32_t a = instance_of[maker], b = instance_of[reader];
                bool orders = kind[reader][maker] == NM_PORT_IN || kind[reader][maker] == NM_PORT_QUEUE;
                if (!orders || l->instances[a].cycle != l->instances[b].cycle) continue;
                const struct nm_lineup_cycle *c = &l->cycles[l->instances[a].cycle];
                assert_true(place_in(c, a) < place_in(c, b));
                before[g.n_before++] = (struct nm_before){a, b, 0};
            }
        /* and no other order was made */
        uint32_t order[22], at[2] = {0};
        assert_int_equal(nm_graph_sort(n, before, g.n_before, order), n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t c = l->instances[order[i]].cycle;
            assert_int_equal(l->cycles[c].order[at[c]++], order[i]);
        }
        nm_lineup_free(l);
        made_free(&m);
    }
}

static void every_loop_is_told_with_its_modules_and_topics(void **state)
{
    (void)state;
    struct made m;
    struct nm_err err = {0};
    uint32_t file[] = {0, 1, 2, 3, 4, 5, 6}, cycle[] = {0, 0, 0, 0, 0, 0, 0};
    made_new(&m, 7);
    made_reads(&m, 1, 0, NM_PORT_IN); /* 0 -> 1 -> 2 -> 0 */
    made_reads(&m, 2, 1, NM_PORT_IN);
    made_reads(&m, 0, 2, NM_PORT_QUEUE);
    made_reads(&m, 3, 3, NM_PORT_IN); /* itself */
    made_reads(&m, 4, 2, NM_PORT_IN); /* behind a loop, in none */
    made_reads(&m, 5, 6, NM_PORT_IN); /* 5 <-> 6, but one reads the last */
    made_reads(&m, 6, 5, NM_PORT_LAST);
    assert_null(made_lineup(&m, file, cycle, 1, &err));
    assert_string_equal(
        err.text, "made.yaml:5: loop in cycle 'c0': m0 makes 't0' for m1, m1 makes 't1' for m2, m2 makes 't2' for m0; "
                  "one of them must read with `last queue`, such as port 'p1' of m0\n"
                  "made.yaml:8: loop in cycle 'c0': m3 makes 't3' for itself; it must read with `last`, such as port "
                  "'p1' of m3\n");
    made_free(&m);
}

/* Many loops through one edge are one fault: the sentence's proposal mends them all. */
static void what_is_told_is_what_must_be_changed(void **state)
{
    (void)state;
    struct made m;
    struct nm_err err = {0};
    uint32_t file[] = {0, 1, 2, 3}, cycle[] = {0, 0, 0, 0};
    made_new(&m, 4);
    for (uint32_t i = 1; i <= 2; i++) {
        made_reads(&m, i, 0, NM_PORT_IN);
        made_reads(&m, 3, i, NM_PORT_IN);
    }
    made_reads(&m, 0, 3, NM_PORT_IN);
    assert_null(made_lineup(&m, file, cycle, 1, &err));
    assert_int_equal(err.n, 1);
    assert_non_null(strstr(err.text, "such as port 'p1' of m0\n"));
    made_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_a_person_with_patience),
        cmocka_unit_test(without_needs_nothing_moves),
        cmocka_unit_test(a_loop_that_is_told_is_a_shortest_one),
        cmocka_unit_test(in_and_queue_order_within_a_cycle_and_nothing_else_does),
        cmocka_unit_test(every_loop_is_told_with_its_modules_and_topics),
        cmocka_unit_test(what_is_told_is_what_must_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

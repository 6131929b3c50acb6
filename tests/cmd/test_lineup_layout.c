/* The picture of any line-up can be read: boxes stand apart, data flows to the right, no line runs through a box or on
 * top of another line. Lanes and places are checked on line-ups of random size and density. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/lineup_layout.h"
#include "core/made.h"
#include "core/team.h"

static bool is_out(const struct pin *pin) { return pin->kind == NM_PORT_OUT || pin->kind == NM_PORT_OUT_QUEUE; }

static const struct pin *pin_at(const struct layout *l, struct net_end end) { return &l->boxes[end.box].pins[end.pin]; }

static void boxes_stand_apart_and_inside_their_band(const struct layout *l)
{
    for (uint32_t i = 0; i < l->n_boxes; i++) {
        const struct box *a = &l->boxes[i];
        const struct band *band = &l->bands[a->band];
        assert_true(a->width > 0 && a->height > 0);
        assert_true(a->x > 0 && a->x + a->width < l->width && a->y + a->height < l->height);
        assert_true(a->y > band->y && a->y + a->height < band->y + band->height);
        for (uint32_t k = 0; k < i; k++) {
            const struct box *b = &l->boxes[k];
            bool apart =
                a->x + a->width < b->x || b->x + b->width < a->x || a->y + a->height < b->y || b->y + b->height < a->y;
            assert_true(apart);
        }
        for (uint32_t p = 0; p < a->n_pins; p++) assert_true(a->pins[p].y > a->y && a->pins[p].y < a->y + a->height);
    }
    for (uint32_t b = 1; b < l->n_bands; b++) assert_true(l->bands[b].y > l->bands[b - 1].y + l->bands[b - 1].height);
}

static void data_flows_to_the_right(const struct layout *l)
{
    for (uint32_t n = 0; n < l->n_nets; n++)
        for (uint32_t s = 0; s < l->nets[n].n_ends; s++)
            for (uint32_t e = 0; e < l->nets[n].n_ends; e++) {
                struct net_end from = l->nets[n].ends[s], to = l->nets[n].ends[e];
                const struct box *a = &l->boxes[from.box], *b = &l->boxes[to.box];
                enum nm_port_kind kind = pin_at(l, to)->kind;
                bool orders = kind == NM_PORT_IN || kind == NM_PORT_QUEUE;
                if (a->band == b->band && is_out(pin_at(l, from)) && orders) assert_true(a->column < b->column);
            }
}

/* ---- lines as pieces along the axes, with the net that they belong to ---- */

struct piece {
    uint32_t net;
    double x0, x1, y0, y1;
};

static uint32_t pieces_of(const struct layout *l, struct piece *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_nets; i++) {
        const struct net *net = &l->nets[i];
        double left = 1e9, right = -1e9;
        for (uint32_t r = net->first_run; r < net->first_run + net->n_runs; r++) {
            double x = lane_x(l, &l->runs[r]), low = 1e9, high = -1e9;
            if (net->channel != NM_NONE) low = high = track_y(l, net);
            for (uint32_t e = 0; e < net->n_ends; e++) {
                if (gutter_of(l, net->ends[e]) != l->runs[r].gutter) continue;
                const struct pin *pin = pin_at(l, net->ends[e]);
                low = pin->y < low ? pin->y : low;
                high = pin->y > high ? pin->y : high;
                to[n++] = (struct piece){i, x < pin->x ? x : pin->x, x > pin->x ? x : pin->x, pin->y, pin->y};
            }
            to[n++] = (struct piece){i, x, x, low, high};
            left = x < left ? x : left;
            right = x > right ? x : right;
        }
        if (net->channel != NM_NONE) to[n++] = (struct piece){i, left, right, track_y(l, net), track_y(l, net)};
    }
    return n;
}

static void lines_keep_clear_of_boxes_and_of_each_other(const struct layout *l)
{
    uint32_t room = 2 * l->n_runs + l->n_nets, n = 0;
    for (uint32_t i = 0; i < l->n_nets; i++) room += l->nets[i].n_ends;
    struct piece *pieces = calloc(room + 1, sizeof *pieces);
    n = pieces_of(l, pieces);
    assert_true(n <= room);
    for (uint32_t i = 0; i < n; i++) {
        struct piece a = pieces[i];
        for (uint32_t b = 0; b < l->n_boxes; b++) {
            const struct box *box = &l->boxes[b];
            bool clear = a.x1 <= box->x + 0.01 || a.x0 >= box->x + box->width - 0.01 || a.y1 < box->y ||
                         a.y0 > box->y + box->height;
            assert_true(clear);
        }
        for (uint32_t k = 0; k < i; k++) {
            struct piece b = pieces[k];
            if (a.net == b.net) continue;
            bool both_across = a.y0 == a.y1 && b.y0 == b.y1, both_down = a.x0 == a.x1 && b.x0 == b.x1;
            bool on_top = (both_across && a.y0 == b.y0 && a.x0 < b.x1 && b.x0 < a.x1) ||
                          (both_down && a.x0 == b.x0 && a.y0 < b.y1 && b.y0 < a.y1);
            assert_false(on_top);
        }
    }
    free(pieces);
}

static void check(const struct nm_lineup *lineup)
{
    struct nm_arena arena = {0};
    struct layout l = {.lineup = lineup, .arena = &arena};
    layout_make(&l);
    boxes_stand_apart_and_inside_their_band(&l);
    data_flows_to_the_right(&l);
    lines_keep_clear_of_boxes_and_of_each_other(&l);
    nm_arena_free(&arena);
}

static void a_small_match(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_lineup_options options = {.root = "/nonexistent"};
    nm_registry_init(&registry, &arena, team, team + TEAM);
    struct nm_lineup *lineup = nm_lineup_load(NM_ROOT "/tests/core/lineups/match.yaml", &registry, &options, &err);
    if (!lineup) fail_msg("%s", err.text);
    check(lineup);
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
}

static void random_line_ups(void **state)
{
    (void)state;
    static const enum nm_port_kind kinds[] = {NM_PORT_IN, NM_PORT_QUEUE, NM_PORT_LAST, NM_PORT_LAST_QUEUE};
    uint64_t seed = 11;
    for (int round = 0; round < 150; round++) {
        enum { MOST = 60 };
        uint32_t n = 1 + random_below(&seed, MOST), n_cycles = 1 + random_below(&seed, n < 4 ? n : 4);
        uint32_t density = 1 + random_below(&seed, 5), file[MOST], cycle[MOST];
        struct made m;
        made_new(&m, n);
        for (uint32_t i = 0; i < n; i++) {
            file[i] = i;
            cycle[i] = i < n_cycles ? i : random_below(&seed, n_cycles);
            for (uint32_t k = random_below(&seed, density + 1); k > 0; k--) {
                uint32_t maker = random_below(&seed, n);
                made_reads(&m, i, maker, kinds[random_below(&seed, 2) + (maker >= i ? 2 : 0)]);
            }
        }
        struct nm_err err = {0};
        struct nm_lineup *lineup = made_lineup(&m, file, cycle, n_cycles, &err);
        if (!lineup) fail_msg("%s", err.text);
        check(lineup);
        nm_lineup_free(lineup);
        made_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_match), cmocka_unit_test(random_line_ups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

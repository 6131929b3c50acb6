/* A report tells what came since the last one, and counts since the start. */
#include "core/started.h"

#include <stdlib.h>

#include "core/report.h"
#include "std_msgs/Int64.h"

struct ticker {
    struct nm *nm;
    Int64 *tick;
};
#define SELF struct ticker
static void ticker_step(struct ticker *f)
{
    if (f->nm->run % 2) nm_put(f->nm, f->tick);
}
static const struct nm_port ticker_ports[] = {NM_OUT(tick, Int64, "tick"), {0}};
NM_MODULE(ticker, "Ticks.", NM_PORTS(ticker_ports), .step = NM_CALL(ticker_step))

static void a_report_tells_what_came_since_the_last(void **state)
{
    (void)state;
    struct started s;
    CycleStatistics report = {0};
    start(&s, "cycles:\n  c: {period: 5 ms, cost: 7 ms, deadline: 6 ms, modules: [ticker]}\n");
    struct nm_cycle_mark *mark = calloc(1, nm_cycle_mark_size(s.player, 0));
    run_until(&s, 100);
    nm_cycle_report(s.player, 0, mark, &report);
    assert_string_equal(report.cycle, "c");
    assert_true(report.period == 0.005f);
    assert_int_equal(report.runs, 10); /* of 20: the cost leaves every other one out */
    assert_int_equal(report.skipped, 10);
    assert_int_equal(report.misses, 10);
    assert_true(report.mean > 0 && report.max >= report.mean && report.p99 <= report.max);
    assert_int_equal(report.modules.n, 1);
    assert_string_equal(report.modules.at[0].instance, "ticker");
    assert_int_equal(report.modules.at[0].runs, 10);
    assert_int_equal(report.modules.at[0].puts, 5);
    nm_cycle_report(s.player, 0, mark, &report);
    assert_int_equal(report.runs, 10);
    assert_true(report.mean == 0 && report.max == 0); /* nothing has run since */
    run_until(&s, 120);
    nm_cycle_report(s.player, 0, mark, &report);
    assert_int_equal(report.runs, 12);
    assert_true(report.mean > 0);
    free(mark);
    stop(&s);
}

static void no_round(void *user, int64_t now)
{
    (void)user;
    (void)now;
}

/* A bus has a thread of its own and no plan in the line-up. */
static void edges_are_reported_too(void **state)
{
    (void)state;
    struct started s;
    CycleStatistics report = {0};
    const struct nm_edge_port port = {"tick", NM_PORT_IN, NULL, 0, 0};
    start(&s, "cycles:\n  c: {period: 5 ms, modules: [ticker]}\n");
    struct nm_edge *bus = edge(&s, &port, 1);
    uint32_t last = nm_player_cycles(s.player) - 1;
    struct nm_cycle_mark *mark = calloc(1, nm_cycle_mark_size(s.player, last));
    nm_cycle_report(s.player, last, mark, &report);
    assert_true(report.period == 0);
    assert_int_equal(nm_edge_start(bus, &(struct nm_edge_beat){4000000, 4000000, 0, no_round, NULL}, NULL), 0);
    nm_cycle_report(s.player, last, mark, &report);
    assert_true(report.period == 0.004f);
    assert_int_equal(report.modules.n, 0);
    nm_edge_stop(bus);
    free(mark);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_report_tells_what_came_since_the_last),
                                       cmocka_unit_test(edges_are_reported_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

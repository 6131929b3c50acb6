/* Virtual time: order of events, cost, triggers, overruns, and the same bits for any number of workers. */
#include "core/started.h"

#include "std_msgs/Float64.h"
#include "std_msgs/Int32.h"
#include "core/internal.h"

/* ---- makes a random walk, remembers when it ran ---- */

struct walker {
    struct nm *nm;
    Float64 *place;
    double at;
    int64_t times[256];
    int n;
};
#define SELF struct walker
static void walker_step(struct walker *f)
{
    f->at += nm_gauss(f->nm);
    f->place->data = f->at;
    if (f->n < 256) f->times[f->n++] = f->nm->now;
    nm_put(f->nm, f->place);
}
static const struct nm_port walker_ports[] = {NM_OUT(place, Float64, "place"), {0}};
NM_MODULE(walker, "Walks at random.", NM_PORTS(walker_ports), .step = NM_CALL(walker_step))

/* ---- follows it from another cycle ---- */

struct follower {
    struct nm *nm;
    const Float64 *place;
    nm_queue(Float64) all;
    Float64 *mean;
    double sum;
    int64_t times[256], ages[256];
    uint32_t got[256];
    int n;
};
#undef SELF
#define SELF struct follower
static void follower_step(struct follower *f)
{
    if (f->n < 256) {
        f->times[f->n] = f->nm->now;
        f->ages[f->n] = nm_age(f->nm, f->place);
        f->got[f->n++] = f->all.n;
    }
    for (uint32_t i = 0; i < f->all.n; i++) f->sum += f->all.at[i]->data * nm_random(f->nm);
    f->mean->data = f->sum;
    nm_put(f->nm, f->mean);
}
static const struct nm_port follower_ports[] = {
    NM_IN(place, Float64, "place"), NM_QUEUE(all, Float64, "place", 32), NM_OUT(mean, Float64, "mean"), {0}};
NM_MODULE(follower, "Follows a walker.", NM_PORTS(follower_ports), .step = NM_CALL(follower_step))

static void *self_of(struct started *s, const char *name)
{
    return s->player->instances[nm_lineup_instance(s->lineup, name)].self;
}

static void outputs_appear_at_start_plus_cost(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  make: {period: 10 ms, cost: 3 ms, modules: [walker]}\n  use: {period: 2 ms, modules: "
              "[follower]}\n");
    run_until(&s, 20);
    struct follower *f = self_of(&s, "follower");
    assert_int_equal(f->n, 10);
    /* the walker's run at 0 is seen from 3 ms on: at 4 ms for the first time, 4 ms old */
    const uint32_t got[] = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    for (int i = 0; i < 10; i++) assert_int_equal(f->got[i], got[i]);
    assert_true(f->ages[1] == INT64_MAX);
    assert_int_equal(f->ages[2], 4000000);
    assert_int_equal(f->ages[6], 12000000);
    assert_int_equal(f->ages[7], 4000000);
    stop(&s);
}

static void without_cost_a_later_cycle_sees_it_at_the_same_time(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  make: {period: 10 ms, modules: [walker]}\n  use: {period: 10 ms, modules: [follower]}\n");
    run_until(&s, 30);
    struct follower *f = self_of(&s, "follower");
    for (int i = 0; i < 3; i++) assert_int_equal(f->ages[i], 0);
    stop(&s);
}

/* Whoever joins a world under way runs from there on, and does not make up for what was before. */
static void time_may_begin_later_than_at_zero(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {a: {period: 10 ms, modules: [walker]}}");
    assert_int_equal(nm_player_begin(s.player, nm_ns(3600)), 0);
    assert_int_equal(nm_player_now(s.player), nm_ns(3600));
    nm_players_run(&s.player, 1, nm_ns(3600.025), 1);
    struct walker *walker = self_of(&s, "walker");
    assert_int_equal(walker->n, 3);
    assert_int_equal(walker->times[0], nm_ns(3600));
    assert_int_equal(walker->times[2], nm_ns(3600.02));
    assert_int_equal(nm_player_begin(s.player, 0), -1);
    stop(&s);
}

static void a_trigger_runs_its_cycle_when_the_topic_appears(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  make: {period: 20 ms, cost: 1 ms, modules: [walker]}\n"
              "  use: {trigger: place, timeout: 15 ms, cost: 2 ms, modules: [follower]}\n");
    run_until(&s, 62);
    struct follower *f = self_of(&s, "follower");
    /* triggered at 1, 21, 41, 61 ms; timed out 15 ms after each */
    const int64_t times[] = {1, 16, 21, 36, 41, 56, 61};
    assert_int_equal(f->n, 7);
    for (int i = 0; i < 7; i++) assert_int_equal(f->times[i], times[i] * 1000000);
    stop(&s);
}

static void a_run_longer_than_its_period_leaves_periods_out(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  make: {period: 10 ms, cost: 25 ms, modules: [walker]}\n");
    run_until(&s, 100);
    struct walker *w = self_of(&s, "walker");
    struct nm_cycle_stats stats;
    nm_player_cycle_stats(s.player, 0, &stats);
    assert_int_equal(w->n, 4); /* 0, 30, 60, 90 */
    assert_int_equal(w->times[1], 30000000);
    assert_int_equal(stats.skips, 8);
    assert_int_equal(stats.misses, 4);
    stop(&s);
}

static void a_slow_reader_skips_values_but_no_queue_message(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  make: {period: 1 ms, modules: [walker]}\n  use: {period: 20 ms, modules: [follower]}\n");
    run_until(&s, 100);
    struct follower *f = self_of(&s, "follower");
    assert_int_equal(f->n, 5);
    for (int i = 1; i < 5; i++) assert_int_equal(f->got[i], 20);
    stop(&s);
}

enum { ROBOTS = 5 };

static void play_five(uint32_t workers, double places[ROBOTS], double sums[ROBOTS])
{
    struct started s[ROBOTS];
    struct nm_player *players[ROBOTS];
    for (int i = 0; i < ROBOTS; i++) {
        start_with(&s[i],
                   "cycles:\n  make: {period: 7 ms, cost: 2 ms, modules: [walker]}\n  use: {trigger: place, modules: "
                   "[follower]}\n",
                   (struct nm_player_options){.seed = (uint64_t)i + 1});
        players[i] = s[i].player;
    }
    for (int64_t t = 4; t <= 2000; t += 4) assert_int_equal(nm_players_run(players, ROBOTS, t * 1000000, workers), 0);
    for (int i = 0; i < ROBOTS; i++) {
        places[i] = ((struct walker *)self_of(&s[i], "walker"))->at;
        sums[i] = ((struct follower *)self_of(&s[i], "follower"))->sum;
        stop(&s[i]);
    }
}

static void worker_threads_change_nothing(void **state)
{
    (void)state;
    double places[3][ROBOTS], sums[3][ROBOTS];
    play_five(1, places[0], sums[0]);
    play_five(2, places[1], sums[1]);
    play_five(4, places[2], sums[2]);
    for (int k = 1; k < 3; k++) {
        assert_memory_equal(places[0], places[k], sizeof places[0]);
        assert_memory_equal(sums[0], sums[k], sizeof sums[0]);
    }
    /* and the seed does change something */
    for (int i = 1; i < ROBOTS; i++) assert_true(places[0][0] != places[0][i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_appear_at_start_plus_cost),
        cmocka_unit_test(without_cost_a_later_cycle_sees_it_at_the_same_time),
        cmocka_unit_test(time_may_begin_later_than_at_zero),
        cmocka_unit_test(a_trigger_runs_its_cycle_when_the_topic_appears),
        cmocka_unit_test(a_run_longer_than_its_period_leaves_periods_out),
        cmocka_unit_test(a_slow_reader_skips_values_but_no_queue_message),
        cmocka_unit_test(worker_threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

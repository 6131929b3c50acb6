/* labels: threads
 * The same line-ups in real threads: sets stay whole, queues lose nothing, services cross, parameters arrive as one
 * generation, and no cycle ever takes memory. Nothing here depends on how fast the machine is. */
#include "core/started.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "std_msgs/Int64.h"
#include "nav_msgs/Path.h"

static void nap(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

enum { MOST = 4000 /* messages; every queue here has room for all of them, so that nobody has to be quick */ };

/* Makes three topics that belong together. */
struct maker {
    struct nm *nm;
    Int64 *first, *second;
    Path *path;
    nm_out_queue(Int64) each;
    int32_t gain, offset;
    int64_t n;
};
#define SELF struct maker
static void maker_step(struct maker *f)
{
    if (f->n == MOST) return;
    f->n++;
    f->first->data = f->n;
    f->second->data = f->n;
    for (int64_t i = 0; i < f->n % 20; i++) {
        PoseStamped *pose = nm_append(&f->path->poses, &PoseStamped_type);
        pose->pose.position.x = (double)f->n;
        nm_text(pose->header.frame_id, "%ld", (long)f->n);
    }
    Int64 *each = nm_push(f->nm, &f->each);
    each->data = f->n;
    nm_put(f->nm, f->first);
    nm_put(f->nm, f->path);
    nm_put(f->nm, f->second);
    if (f->n % 100 == 0) nm_log(f->nm, NM_INFO, "at %ld", (long)f->n);
}
static const struct nm_port maker_ports[] = {NM_OUT(first, Int64, "first"),
                                             NM_OUT(second, Int64, "second"),
                                             NM_OUT(path, Path, "path"),
                                             NM_OUT_QUEUE(each, Int64, "each", 8),
                                             {0}};
static const struct nm_param maker_params[] = {NM_PARAM(gain, 0, 0, 1e6, "1", "set together with offset"),
                                               NM_PARAM(offset, 0, 0, 1e6, "1", "always equal to gain"),
                                               {0}};
NM_MODULE(maker, "Makes topics that belong together.", NM_PORTS(maker_ports), NM_PARAMS(maker_params),
          .step = NM_CALL(maker_step))

struct checker {
    struct nm *nm;
    const Int64 *first, *second;
    const Path *path;
    nm_queue(Int64) each;
    int64_t last_each, torn, gaps, sets;
    uint64_t lost;
    _Atomic int64_t done;
};
#undef SELF
#define SELF struct checker
static void checker_step(struct checker *f)
{
    f->torn += f->first->data != f->second->data;
    f->torn += f->path->poses.n != (uint32_t)(f->first->data % 20);
    for (uint32_t i = 0; i < f->path->poses.n; i++)
        f->torn += f->path->poses.at[i].pose.position.x != (double)f->first->data;
    for (uint32_t i = 0; i < f->each.n; i++) {
        f->gaps += f->each.at[i]->data != f->last_each + 1;
        f->last_each = f->each.at[i]->data;
    }
    f->lost += f->each.lost;
    f->sets += nm_fresh(f->nm, f->first);
    f->done = f->last_each;
}
static const struct nm_port checker_ports[] = {NM_IN(first, Int64, "first"),
                                               NM_IN(second, Int64, "second"),
                                               NM_IN(path, Path, "path"),
                                               NM_QUEUE(each, Int64, "each", MOST),
                                               {0}};
NM_MODULE(checker, "Checks that sets are whole.", NM_PORTS(checker_ports), .step = NM_CALL(checker_step))

#include "core/internal.h"
static void *self_of(struct started *s, const char *name)
{
    return s->player->instances[nm_lineup_instance(s->lineup, name)].self;
}

static void play(const char *text, int64_t messages, void (*meanwhile)(struct started *))
{
    struct started s;
    struct nm_err err = {0};
    start_with(&s, text, (struct nm_player_options){.seed = 1});
    if (nm_player_start(s.player, &err)) fail_msg("%s", err.text);
    struct checker *c = self_of(&s, "checker");
    while (c->done < messages) {
        if (meanwhile) meanwhile(&s);
        nap(1);
    }
    nm_player_stop(s.player);
    assert_int_equal(c->torn, 0);
    assert_int_equal(c->gaps, 0);
    assert_int_equal(c->lost, 0);
    assert_true(c->sets > 0);
    stop(&s);
}

static void a_triggered_cycle_gets_whole_sets(void **state)
{
    (void)state;
    play("cycles:\n  make: {period: 100 us, modules: [maker]}\n  check: {trigger: path, modules: [checker]}\n", 2000,
         NULL);
}

static void a_slow_cycle_skips_sets_but_no_message(void **state)
{
    (void)state;
    play("cycles:\n  make: {period: 50 us, modules: [maker]}\n  check: {period: 5 ms, modules: [checker]}\n", 3000,
         NULL);
}

static void change_both(struct started *s)
{
    struct nm_err err = {0};
    uint32_t maker = nm_lineup_instance(s->lineup, "maker");
    struct nm_change changes[2] = {{.instance = maker, .param = 0}, {.instance = maker, .param = 1}};
    struct nm_value now;
    nm_player_value(s->player, maker, 0, &now);
    for (int i = 0; i < 2; i++) {
        changes[i].value = now;
        changes[i].value.whole = now.whole + 1;
    }
    nm_player_set(s->player, changes, 2, &err); /* may be refused while a cycle lags; then nothing changed */
}

static void parameters_arrive_while_it_runs(void **state)
{
    (void)state;
    play("cycles:\n  make: {period: 100 us, modules: [maker]}\n  check: {trigger: path, modules: [checker]}\n", 2000,
         change_both);
}

static void an_edge_waits_for_what_it_reads(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    start(&s, "cycles:\n  make: {period: 1 ms, modules: [maker]}\n");
    struct nm_edge *e = edge(&s,
                             (struct nm_edge_port[]){{"first", NM_PORT_IN, NULL, 0, 0},
                                                     {"each", NM_PORT_QUEUE, NULL, MOST, 0},
                                                     {"rosout", NM_PORT_QUEUE, NULL, MOST / 100, 0}},
                             3);
    if (nm_player_start(s.player, &err)) fail_msg("%s", err.text);
    int64_t expect = 1;
    uint32_t lines = 0;
    while (expect <= 300) {
        nm_edge_wait(e, 1000000000);
        nm_edge_begin(e, nm_player_now(s.player));
        const void *const *at;
        uint32_t lost = 0, n = nm_edge_queue(e, 1, &at, &lost);
        assert_int_equal(lost, 0);
        for (uint32_t i = 0; i < n; i++) assert_int_equal(((const Int64 *)at[i])->data, expect++);
        if (n) assert_int_equal(((const Int64 *)nm_edge_in(e, 0))->data, expect - 1);
        lines += nm_edge_queue(e, 2, &at, NULL);
        assert_int_equal(lines, (expect - 1) / 100); /* of the same sets */
        nm_edge_end(e);
    }
    nm_player_stop(s.player);
    stop(&s);
}

static void it_starts_and_stops_again(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    start(&s, "cycles:\n  make: {period: 1 ms, modules: [maker]}\n  check: {trigger: path, modules: [checker]}\n");
    for (int i = 0; i < 3; i++) {
        if (nm_player_start(s.player, &err)) fail_msg("%s", err.text);
        assert_int_equal(nm_player_start(s.player, &err), -1);
        assert_int_equal(nm_players_run(&s.player, 1, 1000, 1), -1);
        nm_player_stop(s.player);
    }
    stop(&s);
}

struct beats {
    struct nm_edge *edge;
    _Atomic int n;
    char thread[16];
};

static void beat(void *user, int64_t now)
{
    struct beats *b = user;
    nm_edge_begin(b->edge, now);
    nm_edge_end(b->edge);
    if (!b->n) prctl(PR_GET_NAME, b->thread);
    b->n++;
}

/* An edge with a thread of its own is named and counted as a cycle is, and goes on while the player is stopped. */
static void an_edge_has_a_thread_that_is_counted(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    struct beats b = {0};
    start(&s, "cycles: {c: {period: 5 ms, modules: [maker]}}");
    b.edge = nm_edge_new(s.player, "bus", (struct nm_edge_port[]){{"first", NM_PORT_IN, NULL, 0, 0}}, 1, &err);
    assert_non_null(b.edge);
    uint32_t index = nm_player_cycles(s.player) - 1;
    assert_null(nm_player_plan(s.player, index));
    nm_edge_stop(b.edge); /* it never began */
    assert_int_equal(nm_player_start(s.player, &err), 0);
    const struct nm_edge_beat every = {.period = 2000000, .deadline = 1500000, .round = beat, .user = &b};
    assert_int_equal(nm_edge_start(b.edge, &every, &err), 0);
    assert_int_equal(nm_edge_start(b.edge, &every, &err), -1);
    while (b.n < 3) nap(1);
    nm_player_stop(s.player);
    int before = b.n;
    while (b.n < before + 3) nap(1);
    nm_edge_stop(b.edge);
    struct nm_cycle_stats stats;
    nm_player_cycle_stats(s.player, index, &stats);
    assert_string_equal(stats.name, "bus");
    assert_string_equal(b.thread, "nm-bus");
    assert_int_equal(stats.runs, b.n);
    assert_int_equal(nm_player_plan(s.player, index)->period, 2000000);
    assert_true(stats.rate > 0 && stats.busy.max > 0);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_triggered_cycle_gets_whole_sets), cmocka_unit_test(a_slow_cycle_skips_sets_but_no_message),
        cmocka_unit_test(parameters_arrive_while_it_runs),   cmocka_unit_test(an_edge_waits_for_what_it_reads),
        cmocka_unit_test(it_starts_and_stops_again),         cmocka_unit_test(an_edge_has_a_thread_that_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is noted of every run: what it consumed and made, who asked, and with which parameters; never at the cost of the
 * run. */
#include "core/started.h"

#include "core/run_record.h"
#include "std_msgs/Int64.h"
#include "std_srvs/SetBool.h"

struct clock {
    struct nm *nm;
    Int64 *time;
    nm_out_queue(Int64) ticks;
    nm_server(SetBool) wind;
    int32_t speed;
    int64_t n;
};
#define SELF struct clock
static void clock_step(struct clock *f)
{
    for (uint32_t i = 0; i < f->wind.requests.n; i++) nm_reply(f->nm, &f->wind, f->wind.requests.at[i])->success = true;
    f->time->data = ++f->n;
    if (f->n % 2) nm_put(f->nm, f->time);
    for (int64_t i = 0; i < f->n % 3; i++) nm_push(f->nm, &f->ticks);
}
static const struct nm_port clock_ports[] = {
    NM_OUT(time, Int64, "time"), NM_OUT_QUEUE(ticks, Int64, "ticks", 4), NM_SERVER(wind, SetBool, "wind", 4), {0}};
static const struct nm_param clock_params[] = {NM_PARAM(speed, 1, 0, 10, "1", "how fast it goes"), {0}};
NM_MODULE(clock, "Ticks.", NM_PORTS(clock_ports), NM_PARAMS(clock_params), .step = NM_CALL(clock_step))

struct owner {
    struct nm *nm;
    const Int64 *time;
    nm_queue(Int64) ticks;
    nm_client(SetBool) wind;
};
#undef SELF
#define SELF struct owner
static void owner_step(struct owner *f)
{
    if (f->nm->run == 2) nm_call(f->nm, &f->wind);
}
static const struct nm_port owner_ports[] = {
    NM_IN(time, Int64, "time"), NM_QUEUE(ticks, Int64, "ticks", 16), NM_CLIENT(wind, SetBool, "wind", 4), {0}};
NM_MODULE(owner, "Looks at the clock.", NM_PORTS(owner_ports), .step = NM_CALL(owner_step))

static const char house[] = "cycles:\n"
                            "  tower: {period: 10 ms, modules: [clock]}\n"
                            "  room: {period: 20 ms, modules: [owner]}\n";

static struct nm_record *open_record(struct started *s)
{
    struct nm_err err = {0};
    start_with(s, house, (struct nm_player_options){.seed = 1});
    struct nm_record *record = nm_record_new(s->player, &err);
    if (!record) fail_msg("%s", err.text);
    return record;
}

static const struct nm_seqs *find(struct nm_record *record, uint32_t cycle, const struct started *s,
                                  const struct nm_seqs *seqs, uint32_t n, const char *topic)
{
    uint32_t all;
    const struct nm_record_topic *topics = nm_record_topics(record, cycle, &all);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(s->lineup->topics[topics[seqs[i].at].topic].name, topic)) return &seqs[i];
    return NULL;
}

static void every_run_says_what_it_made(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_run run;
    run_until(&s, 100);
    uint64_t times = 0, ticks = 0;
    for (uint64_t i = 1; i <= 10; i++) {
        assert_true(nm_record_next(record, 0, &run));
        assert_int_equal(run.run, i);
        assert_int_equal(run.now, (int64_t)(i - 1) * 10000000);
        const struct nm_seqs *time = find(record, 0, &s, run.made, run.n_made, "time");
        assert_int_equal(time != NULL, i % 2);
        if (time) assert_int_equal(time->last, ++times);
        const struct nm_seqs *tick = find(record, 0, &s, run.made, run.n_made, "ticks");
        assert_int_equal(tick != NULL, i % 3 != 0);
        if (tick) {
            assert_int_equal(tick->first, ticks + 1);
            assert_int_equal(tick->last, ticks += i % 3);
        }
    }
    assert_false(nm_record_next(record, 0, &run));
    assert_string_equal(nm_record_name(record, 0), "tower");
    stop(&s);
}

/* What one cycle consumed over all its runs is what the other made, without a gap. */
static void every_run_says_what_it_consumed(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_run run;
    uint64_t ticks = 0, time = 0;
    run_until(&s, 400);
    for (int i = 0; i < 20; i++) {
        assert_true(nm_record_next(record, 1, &run));
        const struct nm_seqs *seqs = find(record, 1, &s, run.consumed, run.n_consumed, "ticks");
        if (seqs) assert_int_equal(seqs->first, ticks + 1), ticks = seqs->last;
        seqs = find(record, 1, &s, run.consumed, run.n_consumed, "time");
        if (seqs) assert_true(seqs->last > time), time = seqs->last;
    }
    assert_true(ticks > 30);
    assert_true(time >= 19);
    stop(&s);
}

static void requests_and_replies_carry_their_numbers(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_run run;
    struct nm_asked request = {0}, reply = {0};
    run_until(&s, 100);
    while (nm_record_next(record, 1, &run))
        if (run.n_asked) request = run.asked[0];
    while (nm_record_next(record, 0, &run))
        if (run.n_asked) reply = run.asked[0];
    assert_true(request.caller != 0);
    assert_int_equal(request.caller, reply.caller);
    assert_int_equal(request.call, reply.call);
    stop(&s);
}

static void an_edge_is_noted_only_when_it_brings_something(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    const struct nm_edge_port port = {.topic = "wind/request", .kind = NM_PORT_OUT_QUEUE};
    struct nm_edge *e = edge(&s, &port, 1);
    struct nm_run run;
    for (int i = 1; i <= 6; i++) {
        nm_edge_begin(e, i);
        if (i % 3 == 0) nm_edge_push(e, 0);
        nm_edge_end(e);
    }
    for (int i = 3; i <= 6; i += 3) {
        assert_true(nm_record_next(record, 2, &run));
        assert_int_equal(run.now, i);
        assert_int_equal(run.n_made, 1);
        assert_int_equal(run.n_consumed, 0);
    }
    assert_false(nm_record_next(record, 2, &run));
    stop(&s);
}

static void changes_of_parameters_are_kept_in_order(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_record_change change;
    struct nm_run run;
    run_until(&s, 20);
    for (int i = 0; i < 3; i++) {
        struct nm_change c = {.instance = 0};
        char text[8];
        snprintf(text, sizeof text, "%d", i + 2);
        assert_int_equal(nm_value_parse(&clock_params[0], text, &c.value, NULL), 0);
        assert_int_equal(nm_player_set(s.player, &c, 1, NULL), i + 1);
    }
    run_until(&s, 40);
    for (int i = 0; i < 3; i++) {
        assert_true(nm_record_change(record, &change));
        assert_int_equal(change.generation, i + 1);
        assert_int_equal(change.n, 1);
        assert_int_equal(change.changes[0].value.whole, i + 2);
    }
    assert_false(nm_record_change(record, &change));
    assert_int_equal(nm_record_lost_changes(record), 0);
    for (uint64_t i = 1; nm_record_next(record, 0, &run); i++) assert_int_equal(run.generation, i <= 2 ? 0 : 3);
    stop(&s);
}

static void notes_that_nobody_takes_are_lost_and_counted(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_run run;
    uint64_t taken = 0;
    run_until(&s, 30000);
    while (nm_record_next(record, 0, &run)) taken++;
    assert_int_equal(taken + nm_record_lost(record, 0), 3000);
    assert_true(nm_record_lost(record, 0) > 0);
    run_until(&s, 30010); /* and it goes on */
    assert_true(nm_record_next(record, 0, &run));
    assert_int_equal(run.run, 3001);
    stop(&s);
}

static void there_is_one_record_and_it_begins_with_the_first_run(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    open_record(&s);
    assert_null(nm_record_new(s.player, &err));
    stop(&s);
    start(&s, house);
    run_until(&s, 10);
    assert_null(nm_record_new(s.player, &err));
    assert_int_equal(err.n, 2);
    stop(&s);
}

static void watchers_are_counted(void **state)
{
    (void)state;
    struct started s;
    struct nm_record *record = open_record(&s);
    struct nm_run run;
    const bool on[] = {true, true, false, false, false, true}, seen[] = {true, true, true, false, false, true};
    for (int i = 0; i < 6; i++) {
        nm_player_watch(s.player, on[i]);
        run_until(&s, 10 * (i + 1));
        assert_true(nm_record_next(record, 0, &run));
        assert_int_equal(run.watched, seen[i]);
    }
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_run_says_what_it_made),
        cmocka_unit_test(every_run_says_what_it_consumed),
        cmocka_unit_test(requests_and_replies_carry_their_numbers),
        cmocka_unit_test(an_edge_is_noted_only_when_it_brings_something),
        cmocka_unit_test(changes_of_parameters_are_kept_in_order),
        cmocka_unit_test(notes_that_nobody_takes_are_lost_and_counted),
        cmocka_unit_test(there_is_one_record_and_it_begins_with_the_first_run),
        cmocka_unit_test(watchers_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

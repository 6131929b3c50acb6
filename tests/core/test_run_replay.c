/* A cycle that is run by hand sees exactly what it is handed, and nothing that others made. */
#include "core/started.h"

#include "core/run_replay.h"
#include "std_msgs/Int64.h"
#include "std_srvs/SetBool.h"

struct maker {
    struct nm *nm;
    Int64 *value;
    nm_out_queue(Int64) each;
    nm_server(SetBool) turn;
    int32_t gain;
};
#define SELF struct maker
static void maker_step(struct maker *f)
{
    for (uint32_t i = 0; i < f->turn.requests.n; i++)
        nm_reply(f->nm, &f->turn, f->turn.requests.at[i])->success = f->turn.requests.at[i]->data;
    f->value->data = (int64_t)f->nm->run * f->gain;
    nm_put(f->nm, f->value);
    nm_push(f->nm, &f->each)->data = f->nm->dt;
}
static const struct nm_port maker_ports[] = {
    NM_OUT(value, Int64, "value"), NM_OUT_QUEUE(each, Int64, "each", 4), NM_SERVER(turn, SetBool, "turn", 4), {0}};
static const struct nm_param maker_params[] = {NM_PARAM(gain, 1, 0, 100, "1", "times"), {0}};
NM_MODULE(maker, "Makes.", NM_PORTS(maker_ports), NM_PARAMS(maker_params), .step = NM_CALL(maker_step))

struct taker {
    struct nm *nm;
    const Int64 *value;
    nm_queue(Int64) values, each;
    nm_out_queue(Int64) seen;
};
#undef SELF
#define SELF struct taker
static void taker_step(struct taker *f)
{
    nm_push(f->nm, &f->seen)->data = nm_fresh(f->nm, f->value) ? f->value->data : -1;
    nm_push(f->nm, &f->seen)->data = nm_age(f->nm, f->value);
    for (uint32_t i = 0; i < f->values.n; i++) nm_push(f->nm, &f->seen)->data = f->values.at[i]->data;
    for (uint32_t i = 0; i < f->each.n; i++) nm_push(f->nm, &f->seen)->data = 1000 + f->each.at[i]->data;
}
static const struct nm_port taker_ports[] = {NM_IN(value, Int64, "value"),
                                             NM_QUEUE(values, Int64, "value", 8),
                                             NM_QUEUE(each, Int64, "each", 8),
                                             NM_OUT_QUEUE(seen, Int64, "seen", 16),
                                             {0}};
NM_MODULE(taker, "Takes.", NM_PORTS(taker_ports), .step = NM_CALL(taker_step))

static const char pair[] = "cycles:\n"
                           "  a: {period: 10 ms, modules: [maker]}\n"
                           "  b: {period: 10 ms, modules: [taker]}\n";

struct heard {
    struct started *s;
    uint32_t n;
    int64_t seen[32];
    struct nm_slot reply;
    bool success;
};

static void hear(void *user, uint32_t cycle, uint32_t topic, const void *message)
{
    struct heard *h = user;
    const char *name = h->s->lineup->topics[topic].name;
    (void)cycle;
    if (!strcmp(name, "turn/reply")) {
        h->reply = *nm_slot(message);
        h->success = ((const SetBool_Response *)message)->success;
    } else if (h->n < 32) {
        h->seen[h->n++] = ((const Int64 *)message)->data;
    }
}

static struct nm_replay *begin(struct started *s, struct heard *h)
{
    struct nm_err err = {0};
    start(s, pair);
    *h = (struct heard){.s = s};
    struct nm_replay *replay = nm_replay_new(s->player, &err);
    if (!replay) fail_msg("%s", err.text);
    return replay;
}

static void give(struct nm_replay *replay, struct started *s, const char *topic, int64_t time, int64_t data)
{
    Int64 *to = nm_replay_put(replay, 1, nm_lineup_topic(s->lineup, topic), &(struct nm_slot){.time = time});
    assert_non_null(to);
    to->data = data;
}

/* to those who read it as a queue */
static void push(struct nm_replay *replay, struct started *s, const char *topic, int64_t time, int64_t data)
{
    Int64 *to = nm_replay_push(replay, 1, nm_lineup_topic(s->lineup, topic), &(struct nm_slot){.time = time});
    assert_non_null(to);
    to->data = data;
}

static void a_run_sees_what_it_is_handed_and_nothing_else(void **state)
{
    (void)state;
    struct started s;
    struct heard h;
    struct nm_replay *replay = begin(&s, &h);
    nm_replay_run(replay, &(struct nm_run){.cycle = 0, .run = 1, .now = 5}, hear, &h);
    h.n = 0;
    /* the maker has made a value, but nobody handed it on */
    nm_replay_run(replay, &(struct nm_run){.cycle = 1, .run = 1, .now = 10}, hear, &h);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.seen[0], -1);
    h.n = 0;
    /* of two makers, so that the queue ends with what is not the newest value */
    give(replay, &s, "value", 12, 8);
    push(replay, &s, "value", 12, 8);
    push(replay, &s, "value", 11, 7);
    give(replay, &s, "each", 12, 1);
    give(replay, &s, "each", 13, 2);
    nm_replay_run(replay, &(struct nm_run){.cycle = 1, .run = 2, .now = 20}, hear, &h);
    const int64_t want[] = {8, 8, 8, 7, 1001, 1002};
    assert_int_equal(h.n, 6);
    assert_memory_equal(h.seen, want, sizeof want);
    h.n = 0;
    nm_replay_run(replay, &(struct nm_run){.cycle = 1, .run = 3, .now = 30}, hear, &h);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.seen[0], -1); /* not fresh */
    assert_int_equal(h.seen[1], 18); /* but still there, and older */
    stop(&s);
}

static void what_a_cycle_takes_and_makes_is_known(void **state)
{
    (void)state;
    struct started s;
    struct heard h;
    struct nm_replay *replay = begin(&s, &h);
    uint32_t value = nm_lineup_topic(s.lineup, "value"), request = nm_lineup_topic(s.lineup, "turn/request");
    assert_true(nm_replay_makes(replay, 0, value) && !nm_replay_makes(replay, 1, value));
    assert_true(nm_replay_takes(replay, 1, value) && !nm_replay_takes(replay, 0, value));
    assert_true(nm_replay_takes(replay, 0, request));
    assert_null(nm_replay_put(replay, 0, value, &(struct nm_slot){0}));
    stop(&s);
}

static void a_reply_carries_the_numbers_of_its_request(void **state)
{
    (void)state;
    struct started s;
    struct heard h;
    struct nm_replay *replay = begin(&s, &h);
    SetBool_Request *request = nm_replay_put(replay, 0, nm_lineup_topic(s.lineup, "turn/request"),
                                             &(struct nm_slot){.time = 1, .caller = 77, .call = 5});
    request->data = true;
    nm_replay_run(replay, &(struct nm_run){.run = 1, .now = 2}, hear, &h);
    assert_true(h.success);
    assert_int_equal(h.reply.caller, 77);
    assert_int_equal(h.reply.call, 5);
    stop(&s);
}

static void parameters_change_with_the_run_they_are_set_for(void **state)
{
    (void)state;
    struct started s;
    struct heard h;
    struct nm_replay *replay = begin(&s, &h);
    struct nm_change change = {.instance = nm_lineup_instance(s.lineup, "maker")};
    for (int i = 1; i <= 40; i++) { /* more than a player keeps at once */
        char text[8];
        h.n = 0;
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(nm_value_parse(&maker_params[0], text, &change.value, NULL), 0);
        nm_replay_set(replay, 0, &change, 1);
        nm_replay_run(replay, &(struct nm_run){.run = (uint64_t)i, .now = 10 * i}, hear, &h);
        assert_int_equal(h.seen[0], i * i);
        assert_int_equal(h.seen[1], i == 1 ? 10000000 : 10); /* dt: the period at first */
    }
    stop(&s);
}

static void a_player_with_edges_is_not_replayed(void **state)
{
    (void)state;
    struct started s;
    struct nm_err err = {0};
    const struct nm_edge_port port = {.topic = "value", .kind = NM_PORT_IN};
    start(&s, pair);
    edge(&s, &port, 1);
    assert_null(nm_replay_new(s.player, &err));
    assert_int_equal(err.n, 1);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_sees_what_it_is_handed_and_nothing_else),
        cmocka_unit_test(what_a_cycle_takes_and_makes_is_known),
        cmocka_unit_test(a_reply_carries_the_numbers_of_its_request),
        cmocka_unit_test(parameters_change_with_the_run_they_are_set_for),
        cmocka_unit_test(a_player_with_edges_is_not_replayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

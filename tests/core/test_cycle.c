/* What a module may rely on inside one cycle: order, freshness, reset, last, queues, services. */
#include "core/started.h"

#include "std_msgs/Header.h"
#include "std_msgs/Int32.h"
#include "std_msgs/String.h"
#include "std_srvs/SetBool.h"
#include "geometry_msgs/PoseStamped.h"

/* ---- counts its steps, publishes every `every`th ---- */

struct counter {
    struct nm *nm;
    Int32 *count;
    int32_t every;
    int32_t n;
    int32_t was; /* what the output held when step began */
};
#undef SELF
#define SELF struct counter
static void counter_step(struct counter *f)
{
    f->was = f->count->data;
    f->count->data = ++f->n;
    if (f->n % f->every == 0) nm_put(f->nm, f->count);
}
static const struct nm_port counter_ports[] = {NM_OUT(count, Int32, "count"), {0}};
static const struct nm_param counter_params[] = {NM_PARAM(every, 1, 1, 100, "1", "publishes one step in so many"), {0}};
NM_MODULE(counter, "Counts its steps.", NM_PORTS(counter_ports), NM_PARAMS(counter_params),
          .step = NM_CALL(counter_step))

/* ---- reads it now and as it was ---- */

struct reader {
    struct nm *nm;
    const Int32 *now, *last;
    Int32 *echo;
    int32_t seen[64], seen_last[64];
    bool fresh[64], fresh_last[64];
    int n;
};
#undef SELF
#define SELF struct reader
static void reader_step(struct reader *f)
{
    f->seen[f->n] = f->now->data;
    f->seen_last[f->n] = f->last->data;
    f->fresh[f->n] = nm_fresh(f->nm, f->now);
    f->fresh_last[f->n] = nm_fresh(f->nm, f->last);
    f->n++;
    f->echo->data = f->now->data;
    nm_put(f->nm, f->echo);
}
static const struct nm_port reader_ports[] = {
    NM_IN(now, Int32, "count"), NM_LAST(last, Int32, "count"), NM_OUT(echo, Int32, "echo"), {0}};
NM_MODULE(reader, "Remembers what it read.", NM_PORTS(reader_ports), .step = NM_CALL(reader_step))

/* ---- says several things a step ---- */

struct talker {
    struct nm *nm;
    nm_out_queue(String) say;
    int32_t times;
    int n;
};
#undef SELF
#define SELF struct talker
static void talker_step(struct talker *f)
{
    for (int i = 0; i < f->times; i++) nm_text(((String *)nm_push(f->nm, &f->say))->data, "%s %d", f->nm->name, f->n++);
}
static const struct nm_port talker_ports[] = {NM_OUT_QUEUE(say, String, "said", 4, .many = true), {0}};
static const struct nm_param talker_params[] = {NM_PARAM(times, 1, 0, 10, "1", "messages a step"), {0}};
NM_MODULE(talker, "Says several things a step.", NM_PORTS(talker_ports), NM_PARAMS(talker_params),
          .step = NM_CALL(talker_step))

struct listener {
    struct nm *nm;
    nm_queue(String) said;
    char heard[4096];
    uint32_t lost;
};
#undef SELF
#define SELF struct listener
static void listener_step(struct listener *f)
{
    for (uint32_t i = 0; i < f->said.n; i++) {
        strcat(f->heard, f->said.at[i]->data);
        strcat(f->heard, ";");
    }
    strcat(f->heard, "|");
    f->lost += f->said.lost;
}
static const struct nm_port listener_ports[] = {NM_QUEUE(said, String, "said", 8), {0}};
NM_MODULE(listener, "Writes down what is said.", NM_PORTS(listener_ports), .step = NM_CALL(listener_step))

/* ---- a service and its client ---- */

struct lamp {
    struct nm *nm;
    nm_server(SetBool) light;
    bool on;
};
#undef SELF
#define SELF struct lamp
static void lamp_step(struct lamp *f)
{
    for (uint32_t i = 0; i < f->light.requests.n; i++) {
        f->on = f->light.requests.at[i]->data;
        SetBool_Response *reply = nm_reply(f->nm, &f->light, f->light.requests.at[i]);
        reply->success = true;
        nm_text(reply->message, "%s", f->on ? "on" : "off");
    }
}
static const struct nm_port lamp_ports[] = {NM_SERVER(light, SetBool, "light", 4), {0}};
NM_MODULE(lamp, "A light with a service.", NM_PORTS(lamp_ports), .step = NM_CALL(lamp_step))

struct hand {
    struct nm *nm;
    nm_client(SetBool) light;
    int64_t asked, answered;
    int answers;
    char message[32];
};
#undef SELF
#define SELF struct hand
static void hand_step(struct hand *f)
{
    for (uint32_t i = 0; i < f->light.replies.n; i++) {
        f->answered = nm_slot(f->light.replies.at[i])->call;
        f->answers++;
        nm_text(f->message, "%s", f->light.replies.at[i]->message);
    }
    if (f->nm->run == 2) {
        SetBool_Request *request = nm_call(f->nm, &f->light);
        request->data = true;
        f->asked = nm_slot(request)->call;
    }
}
static const struct nm_port hand_ports[] = {NM_CLIENT(light, SetBool, "light", 4), {0}};
NM_MODULE(hand, "Switches the light on.", NM_PORTS(hand_ports), .step = NM_CALL(hand_step))

/* the struct of an instance, through its first output or by name; the tests look inside */
#include "core/internal.h"
static void *self_of(struct started *s, const char *name)
{
    return s->player->instances[nm_lineup_instance(s->lineup, name)].self;
}

static void an_input_is_new_in_the_step_after_its_producer(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 10 ms, modules: [reader, {module: counter, params: {every: 2}}]}}");
    run_until(&s, 60);
    struct reader *r = self_of(&s, "reader");
    assert_int_equal(r->n, 6);
    /* counter steps first although the file lists it last; it publishes 2, 4, 6 */
    const int32_t seen[] = {0, 2, 2, 4, 4, 6}, last[] = {0, 0, 2, 2, 4, 4};
    const bool fresh[] = {0, 1, 0, 1, 0, 1}, fresh_last[] = {0, 0, 1, 0, 1, 0};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(r->seen[i], seen[i]);
        assert_int_equal(r->seen_last[i], last[i]);
        assert_int_equal(r->fresh[i], fresh[i]);
        assert_int_equal(r->fresh_last[i], fresh_last[i]);
    }
    stop(&s);
}

static void an_output_is_reset_before_every_step(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 10 ms, modules: [counter]}}");
    run_until(&s, 50);
    struct counter *c = self_of(&s, "counter");
    assert_int_equal(c->n, 5);
    assert_int_equal(c->was, 0);
    stop(&s);
}

static void two_instances_of_one_module_live_side_by_side(void **state)
{
    (void)state;
    struct started s;
    start(&s,
          "cycles: {c: {period: 10 ms, modules: [counter, {module: counter, name: rival, topics: {count: rival_count}, "
          "params: {every: 3}}]}}");
    run_until(&s, 90);
    struct nm_topic_stats a, b;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "count"), &a);
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "rival_count"), &b);
    assert_int_equal(a.seq, 9);
    assert_int_equal(b.seq, 3);
    stop(&s);
}

static void a_many_topic_merges_its_producers_in_step_order(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 10 ms, modules: [talker, {module: talker, name: second, params: {times: 2}}, "
              "listener]}}");
    run_until(&s, 20);
    struct listener *l = self_of(&s, "listener");
    assert_string_equal(l->heard, "talker 0;second 0;second 1;|talker 1;second 2;second 3;|");
    assert_int_equal(l->lost, 0);
    stop(&s);
}

static void a_full_queue_loses_the_newest_and_counts(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 10 ms, modules: [{module: talker, params: {times: 10}}, listener]}}");
    run_until(&s, 10);
    struct listener *l = self_of(&s, "listener");
    assert_string_equal(l->heard, "talker 0;talker 1;talker 2;talker 3;talker 4;talker 5;talker 6;talker 7;|");
    assert_int_equal(l->lost, 2);
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "said"), &stats);
    assert_int_equal(stats.lost, 2);
    stop(&s);
}

static void a_service_answers_its_caller_only(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 10 ms, modules: [lamp, hand, {module: hand, name: other}]}}");
    run_until(&s, 50);
    struct lamp *lamp = self_of(&s, "lamp");
    assert_true(lamp->on);
    const char *names[] = {"hand", "other"};
    for (int i = 0; i < 2; i++) {
        struct hand *hand = self_of(&s, names[i]);
        assert_int_equal(hand->answers, 1);
        assert_int_equal(hand->answered, hand->asked);
        assert_string_equal(hand->message, "on");
    }
    stop(&s);
}

/* ---- header stamps ---- */

struct stamper {
    struct nm *nm;
    PoseStamped *auto_stamp, *own_stamp;
};
#undef SELF
#define SELF struct stamper
static void stamper_step(struct stamper *f)
{
    f->own_stamp->header.stamp.sec = 77;
    nm_put(f->nm, f->auto_stamp);
    nm_put(f->nm, f->own_stamp);
}
static const struct nm_port stamper_ports[] = {
    NM_OUT(auto_stamp, PoseStamped, "a"), NM_OUT(own_stamp, PoseStamped, "b"), {0}};
NM_MODULE(stamper, "Publishes with and without a time.", NM_PORTS(stamper_ports), .step = NM_CALL(stamper_step))

static void headers_are_stamped_unless_the_module_did(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles: {c: {period: 1500 ms, modules: [stamper]}}");
    struct nm_edge *e =
        edge(&s, (struct nm_edge_port[]){{"a", NM_PORT_IN, NULL, 0, 0}, {"b", NM_PORT_IN, NULL, 0, 0}}, 2);
    run_until(&s, 1600);
    nm_edge_begin(e, 1600000000);
    const PoseStamped *a = nm_edge_in(e, 0), *b = nm_edge_in(e, 1);
    assert_true(nm_edge_fresh(e, 0));
    assert_int_equal(a->header.stamp.sec, 1);
    assert_int_equal(a->header.stamp.nanosec, 500000000);
    assert_int_equal(b->header.stamp.sec, 77);
    assert_true(a->pose.orientation.w == 1.0); /* defaults survive reset */
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_is_new_in_the_step_after_its_producer),
        cmocka_unit_test(an_output_is_reset_before_every_step),
        cmocka_unit_test(two_instances_of_one_module_live_side_by_side),
        cmocka_unit_test(a_many_topic_merges_its_producers_in_step_order),
        cmocka_unit_test(a_full_queue_loses_the_newest_and_counts),
        cmocka_unit_test(a_service_answers_its_caller_only),
        cmocka_unit_test(headers_are_stamped_unless_the_module_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

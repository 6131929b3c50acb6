/* labels: threads
 * A world of ROS 2 is looked at from outside: topics with their types and ends, messages of one, and one that is
 * written. */
#include "edge/dds/wire.h"

#include "edge/dds/dds_look.h"

static struct started s;
static struct nm_dds *dds;
static struct nm_look *look;
static int64_t now_ms;

static void turn(void)
{
    now_ms += 10;
    run_until(&s, now_ms);
    nm_dds_poll(dds);
}

static void open_both(const char *lineup, const char *space)
{
    struct nm_err err = {0};
    int domain = private_domain();
    now_ms = 0;
    start(&s, lineup);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = domain, .virtual_time = true, .space = space}, &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    look = nm_look_new(domain, false, &err);
    if (!look) fail_msg("%s", err.text);
}

static void close_both(void)
{
    nm_look_free(look);
    nm_dds_free(dds);
    stop(&s);
}

static const struct nm_look_topic *find(const struct nm_look_topic *at, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(at[i].name, name)) return &at[i];
    return NULL;
}

static void topics_are_listed_with_types_and_ends(void **state)
{
    static struct nm_look_topic at[64];
    uint32_t n;
    (void)state;
    open_both(talking, "red");
    wait_until(find(at, n = nm_look_topics(look, false, at, 64), "/red/imu"), turn());
    const struct nm_look_topic *imu = find(at, n, "/red/imu");
    assert_ptr_equal(imu->type, &Imu_type);
    assert_int_equal(imu->writers, 1);
    assert_int_equal(imu->readers, 0);
    assert_non_null(find(at, n, "/rosout"));
    assert_non_null(find(at, n, "/parameter_events"));
    assert_null(find(at, n, "/red/shout")); /* a service */
    for (uint32_t i = 1; i < n; i++) assert_true(strcmp(at[i - 1].name, at[i].name) <= 0);
    assert_int_equal(nm_look_topics(look, false, at, 2), 2);
    close_both();
}

static void a_topic_is_listened_to_once_somebody_writes_it(void **state)
{
    struct nm_look_topic topic;
    struct nm_raw samples[NM_RAW_MOST];
    struct nm_err err = {0};
    int got;
    (void)state;
    open_both(talking, NULL);
    assert_int_equal(nm_look_listen(look, "nobody", &topic, &err), 1);
    wait_until(nm_look_listen(look, "imu", &topic, &err) == 0, turn());
    assert_ptr_equal(topic.type, &Imu_type);
    wait_until((got = nm_look_take(look, samples, NM_RAW_MOST)) > 0, turn());
    assert_int_equal(samples[0].size, 324);
    nm_raw_free(samples, got);
    close_both();
}

static void a_message_is_written_to_a_player(void **state)
{
    static Float64 number = {.data = 42};
    struct nm_topic_stats stats;
    struct nm_err err = {0};
    (void)state;
    open_both(hearing, NULL);
    assert_int_equal(nm_look_write_to(look, "/number", &Float64_type, &err), 0);
    wait_until(nm_look_readers(look) == 1, turn());
    assert_int_equal(nm_look_write(look, &number, &err), 0);
    uint32_t topic = nm_lineup_topic(s.lineup, "number");
    wait_until((nm_player_topic_stats(s.player, topic, &stats), stats.seq == 1), turn());
    close_both();
}

static void what_another_edge_brings_leaves_and_is_not_taken(void **state)
{
    static struct nm_look_topic at[64];
    static const struct nm_edge_port port = {"imu", NM_PORT_OUT, &Imu_type, 0, 0};
    static const char *const local[] = {"imu"};
    struct nm_look_topic topic;
    struct nm_raw samples[NM_RAW_MOST];
    struct nm_err err = {0};
    int domain = private_domain(), got = 0;
    uint32_t n = 0;
    (void)state;
    now_ms = 0;
    start(&s, hearing);
    struct nm_edge *hardware = edge(&s, &port, 1);
    dds = nm_dds_new(
        s.player, &(struct nm_dds_options){.domain = domain, .virtual_time = true, .n_local = 1, .local = local}, &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    look = nm_look_new(domain, false, &err);
    wait_until(find(at, n = nm_look_topics(look, false, at, 64), "/number"), turn());
    assert_int_equal(find(at, n, "/number")->readers, 1);
    assert_int_equal(find(at, n, "/imu")->writers, 1);
    assert_int_equal(find(at, n, "/imu")->readers, 0);
    assert_int_equal(nm_look_listen(look, "imu", &topic, &err), 0);
    for (int i = 0; i < WAIT_STEPS && got <= 0; i++) {
        nm_edge_begin(hardware, now_ms * 1000000);
        nm_edge_put(hardware, 0);
        nm_edge_end(hardware);
        turn();
        usleep(WAIT_US);
        got = nm_look_take(look, samples, NM_RAW_MOST);
    }
    assert_true(got > 0);
    nm_raw_free(samples, got);
    close_both();
}

struct seen {
    bool node, publishes, serves;
};

static void see_node(void *user, const char *name)
{
    struct seen *seen = user;
    seen->node |= !strcmp(name, "/red/test");
}

static void see_end(void *user, const char *kind, const char *name, const char *type)
{
    struct seen *seen = user;
    seen->publishes |= !strcmp(kind, "publishes") && !strcmp(name, "/red/imu") && !strcmp(type, Imu_type.dds_name);
    seen->serves |= !strcmp(kind, "serves") && !strcmp(name, "/red/shout");
}

static void a_node_is_seen_with_what_it_does(void **state)
{
    struct nm_err err = {0};
    struct seen seen = {0};
    (void)state;
    open_both(talking, "red");
    assert_int_equal(nm_look_graph(look, &err), 0);
    wait_until((nm_look_nodes(look, see_node, "/red/test", see_end, &seen), seen.node && seen.publishes && seen.serves),
               turn());
    close_both();
}

/* In real time: the call waits for its answer. */
static void a_service_is_called_and_answers(void **state)
{
    static SetBool_Request request = {.data = true};
    static SetBool_Response reply;
    struct nm_err err = {0};
    int domain = private_domain();
    (void)state;
    start(&s, talking);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = domain}, &err);
    assert_int_equal(nm_player_start(s.player, &err), 0);
    assert_int_equal(nm_dds_start(dds, &err), 0);
    look = nm_look_new(domain, false, &err);
    uint8_t asked[16];
    size_t n = (size_t)nm_cdr_encode(&SetBool_Request_type, &request, asked, sizeof asked), size;
    uint8_t *told =
        nm_look_call(look, "/shout", &SetBool_Request_type, asked, n, &SetBool_Response_type, &size, 15, &err);
    if (!told) fail_msg("%s", err.text);
    assert_int_equal(nm_cdr_decode(&SetBool_Response_type, &reply, told, size, NULL, &err), 0);
    free(told);
    assert_true(reply.success);
    assert_string_equal(reply.message, "HELLO");
    assert_null(
        nm_look_call(look, "/whisper", &SetBool_Request_type, asked, n, &SetBool_Response_type, &size, 0.1, &err));
    assert_non_null(strstr(err.text, "nobody serves"));
    close_both();
}

static void services_and_actions_are_listed(void **state)
{
    static struct nm_look_topic at[64];
    uint32_t n;
    (void)state;
    open_both(talking, "red");
    wait_until(find(at, n = nm_look_services(look, false, at, 64), "/red/shout"), turn());
    const struct nm_look_topic *shout = find(at, n, "/red/shout");
    assert_string_equal(shout->ros_type, "std_srvs/srv/SetBool");
    assert_int_equal(shout->readers, 1);
    assert_int_equal(nm_look_actions(look, at, 64), 0);
    /* an action is known by its feedback */
    struct peer peer;
    peer_join(&peer, private_domain());
    peer_writer(&peer, "rt/red/kick/_action/feedback", "humanoid_league_msgs::action::dds_::Kick_FeedbackMessage_",
                true, NULL);
    peer_reader(&peer, "rq/red/kick/_action/send_goalRequest",
                "humanoid_league_msgs::action::dds_::Kick_SendGoal_Request_", false);
    wait_until((n = nm_look_actions(look, at, 64)) == 1, turn());
    assert_string_equal(at[0].name, "/red/kick");
    assert_string_equal(at[0].ros_type, "humanoid_league_msgs/action/Kick");
    wait_until(find(at, n = nm_look_services(look, true, at, 64), "/red/kick/_action/send_goal"), turn());
    assert_null(find(at, n = nm_look_services(look, false, at, 64), "/red/kick/_action/send_goal"));
    peer_leave(&peer, private_domain());
    close_both();
}

static void the_ends_of_a_topic_say_what_they_promise_and_whose_they_are(void **state)
{
    static struct nm_look_offer at[16];
    char node[128];
    (void)state;
    open_both(talking, "red");
    wait_until(nm_look_offers(look, "red/imu", at, 16) == 1, turn());
    assert_true(at[0].writes && at[0].reliable && !at[0].latched);
    assert_string_equal(at[0].hash, Imu_type.hash);
    assert_true(at[0].lifespan == INT64_MAX);
    wait_until(nm_look_owner(look, at[0].gid, node, sizeof node), turn());
    assert_string_equal(node, "/red/test");
    wait_until(nm_look_offers(look, "/rosout", at, 16) == 1, turn());
    assert_true(at[0].latched && at[0].lifespan == 10000000000);
    close_both();
}

struct values {
    char by[32], mood[32];
    uint32_t n;
};

static void see_value(void *user, const char *name, const char *value, const char *kind)
{
    struct values *values = user;
    values->n++;
    if (!strcmp(name, "talker.by")) snprintf(values->by, sizeof values->by, "%s %s", value, kind);
    if (!strcmp(name, "talker.mood")) snprintf(values->mood, sizeof values->mood, "%s", value);
}

/* In real time: the node answers while the look waits. */
static void parameters_of_a_node_are_read_and_set(void **state)
{
    static const char *const good[] = {"talker.by=2", "talker.mood=loud"},
                             *const bad[] = {"talker.by=3", "talker.mood=grim"}, *const wrong[] = {"talker.by=fast"},
                             *const one[] = {"talker.mood"}, *const nobody[] = {"talker.age"};
    struct values values = {0};
    struct nm_err err = {0};
    int domain = private_domain();
    (void)state;
    start(&s, talking);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = domain}, &err);
    assert_int_equal(nm_player_start(s.player, &err), 0);
    assert_int_equal(nm_dds_start(dds, &err), 0);
    look = nm_look_new(domain, false, &err);
    if (nm_look_params(look, "/test", NULL, 0, see_value, &values, 30, &err)) fail_msg("%s", err.text);
    assert_int_equal(values.n, 4);
    assert_string_equal(values.by, "1.0 a double");
    assert_string_equal(values.mood, "\"calm\"");
    if (nm_look_params_set(look, "/test", good, 2, 30, &err)) fail_msg("%s", err.text);
    values = (struct values){0};
    if (nm_look_params(look, "/test", one, 1, see_value, &values, 30, &err)) fail_msg("%s", err.text);
    assert_string_equal(values.mood, "\"loud\"");
    /* a refusal has the node's reason, and nothing was set */
    assert_int_equal(nm_look_params_set(look, "/test", bad, 2, 30, &err), -1);
    if (!strstr(err.text, "/test refuses: talker.mood")) fail_msg("%s", err.text);
    assert_int_equal(nm_look_params_set(look, "/test", wrong, 1, 30, &err), -1);
    assert_non_null(strstr(err.text, "'fast' is not a double"));
    assert_int_equal(nm_look_params(look, "/test", nobody, 1, see_value, &values, 30, &err), -1);
    assert_non_null(strstr(err.text, "/test has no parameter 'talker.age'"));
    values = (struct values){0};
    assert_int_equal(nm_look_params(look, "/test", NULL, 0, see_value, &values, 30, &err), 0);
    assert_string_equal(values.by, "2.0 a double");
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_are_listed_with_types_and_ends),
        cmocka_unit_test(a_topic_is_listened_to_once_somebody_writes_it),
        cmocka_unit_test(a_message_is_written_to_a_player),
        cmocka_unit_test(what_another_edge_brings_leaves_and_is_not_taken),
        cmocka_unit_test(a_node_is_seen_with_what_it_does),
        cmocka_unit_test(a_service_is_called_and_answers),
        cmocka_unit_test(services_and_actions_are_listed),
        cmocka_unit_test(the_ends_of_a_topic_say_what_they_promise_and_whose_they_are),
        cmocka_unit_test(parameters_of_a_node_are_read_and_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

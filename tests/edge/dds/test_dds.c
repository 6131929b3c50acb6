/* A player is a ROS 2 node: its topics, services and parameters are there under ROS names for whoever knows nothing of
 * us; what is remote comes in; and nothing that a peer sends does any harm. Virtual time: the test drives the players.
 */
#include "edge/dds/calls.h"

static int domain;
static struct started voice, ear;
static struct nm_dds *out, *in;
static struct nm_edge *probe; /* looks into the hearing player */
static struct peer peer;
static int64_t now_ms;

static void turn(void)
{
    now_ms += 10;
    run_until(&voice, now_ms);
    run_until(&ear, now_ms);
    nm_dds_poll(out);
    nm_dds_poll(in);
}

static struct nm_dds *open_dds(struct started *s)
{
    struct nm_err err = {0};
    struct nm_dds *dds =
        nm_dds_new(s->player, &(struct nm_dds_options){.domain = domain, .space = "red", .virtual_time = true}, &err);
    if (!dds) fail_msg("%s", err.text);
    return dds;
}

static int begin(void **state)
{
    static const struct nm_edge_port ports[] = {
        {"heard", NM_PORT_IN, NULL, 0, 0}, {"echo", NM_PORT_QUEUE, NULL, 0, 0}, {"rosout", NM_PORT_QUEUE, NULL, 0, 0}};
    (void)state;
    domain = private_domain();
    now_ms = 0;
    start_with(&voice, talking, (struct nm_player_options){.name = "voice"});
    start_with(&ear, hearing, (struct nm_player_options){.name = "ear"});
    probe = edge(&ear, ports, 3);
    out = open_dds(&voice);
    in = open_dds(&ear);
    run_until(&voice, 1);
    run_until(&ear, 1);
    peer_join(&peer, domain);
    return 0;
}

static int end(void **state)
{
    (void)state;
    peer_leave(&peer, domain);
    nm_dds_free(out);
    nm_dds_free(in);
    stop(&voice);
    stop(&ear);
    return 0;
}

static double heard(void)
{
    nm_edge_begin(probe, now_ms * 1000000);
    double value = ((const Float64 *)nm_edge_in(probe, 0))->data;
    nm_edge_end(probe);
    return value;
}

/* Whether a queue of the hearing player has brought a text since the last look. */
static bool came(uint32_t port, const char *text)
{
    const void *const *at;
    bool found = false;
    nm_edge_begin(probe, now_ms * 1000000);
    uint32_t n = nm_edge_queue(probe, port, &at, NULL);
    for (uint32_t i = 0; i < n; i++)
        found |= strstr(port == 1 ? ((const String *)at[i])->data : ((const Log *)at[i])->msg, text) != NULL;
    nm_edge_end(probe);
    return found;
}

static void values_and_queues_reach_another_player(void **state)
{
    (void)state;
    wait_until(heard() > 0, turn());
    double before = heard();
    wait_until(heard() > before, turn());
    wait_until(came(1, "line "), turn());
}

static void a_service_is_called_across(void **state)
{
    (void)state;
    wait_until(came(1, "reply HELLO"), turn());
    struct nm_dds_stats stats;
    nm_dds_stats(in, &stats);
    assert_int_equal(stats.malformed + stats.too_long + stats.other_hash, 0);
}

static void a_bare_reader_gets_ros_bytes(void **state)
{
    (void)state;
    dds_entity_t reader = peer_reader(&peer, "rt/red/imu", "sensor_msgs::msg::dds_::Imu_", false);
    wait_until(peer_take(&peer, reader), turn());
    static Imu imu;
    assert_int_equal(peer.samples[0].size, 324); /* with the frame imu_link, as ROS 2 sends it */
    assert_int_equal(nm_cdr_decode(&Imu_type, &imu, peer.samples[0].bytes, peer.samples[0].size, NULL, NULL), 0);
    assert_string_equal(imu.header.frame_id, "imu_link");
    assert_true(imu.linear_acceleration.z == 9.81);

    dds_builtintopic_endpoint_t *data = dds_get_matched_publication_data(reader, peer.samples[0].from);
    void *bytes;
    size_t n;
    assert_non_null(data);
    assert_true(dds_qget_userdata(data->qos, &bytes, &n));
    assert_memory_equal(bytes, "typehash=RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b;", n);
    dds_free(bytes);
    dds_builtintopic_free_endpoint(data);
}

static void virtual_time_is_told(void **state)
{
    (void)state;
    dds_entity_t reader = peer_reader(&peer, "rt/clock", "rosgraph_msgs::msg::dds_::Clock_", false);
    wait_until(peer_take(&peer, reader), turn());
    struct unpack u;
    unpack_begin(&u, peer.samples[0].bytes, peer.samples[0].size);
    int64_t ns = (int64_t)unpack_u32(&u) * 1000000000;
    ns += unpack_u32(&u);
    assert_false(u.bad);
    assert_true(ns > 0 && ns <= now_ms * 1000000);
}

static void the_node_is_in_the_graph(void **state)
{
    (void)state;
    dds_entity_t reader =
        peer_reader(&peer, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", true);
    wait_until(peer_take(&peer, reader), turn());
    struct unpack u;
    unpack_begin(&u, peer.samples[0].bytes, peer.samples[0].size);
    unpack_raw(&u, 16);
    assert_int_equal(unpack_u32(&u), 1);
    assert_string_equal(unpack_text(&u), "/red");
    const char *node = unpack_text(&u);
    assert_true(!strcmp(node, "voice") || !strcmp(node, "ear"));
    uint32_t readers = unpack_count(&u, 16);
    unpack_raw(&u, (size_t)readers * 16);
    uint32_t writers = unpack_count(&u, 16);
    unpack_raw(&u, (size_t)writers * 16);
    assert_false(u.bad);
    assert_true(readers >= 7 && writers >= 10); /* six services, and what the line-up has */
}

static void a_robot_can_be_watched_by_an_old_ros(void **state)
{
    struct nm_err err = {0};
    struct started s;
    (void)state;
    start(&s, talking);
    struct nm_dds *dds = nm_dds_new(
        s.player, &(struct nm_dds_options){.domain = domain, .virtual_time = true, .gid_size = 24, .space = "old"},
        &err);
    assert_non_null(dds);
    assert_string_equal(nm_dds_node(dds), "/old/test");
    nm_dds_free(dds);
    assert_null(nm_dds_new(s.player, &(struct nm_dds_options){.domain = domain, .gid_size = 20}, &err));
    assert_non_null(strstr(err.text, "24"));
    const char *const list[] = {"nubmer"};
    assert_null(nm_dds_new(s.player, &(struct nm_dds_options){.domain = domain, .n_topics = 1, .topics = list}, &err));
    assert_non_null(strstr(err.text, "nubmer"));
    stop(&s);
}

static void a_service_of_the_line_up_answers(void **state)
{
    struct call call;
    (void)state;
    call_open(&call, &peer, "/red/shout", "std_srvs::srv::dds_::SetBool");
    for (int on = 0; on < 2; on++) {
        pack_u8(call_begin(&call), (uint8_t)on);
        struct unpack u = call_end(&call, &peer);
        assert_int_equal(unpack_u8(&u), on);
        assert_string_equal(unpack_text(&u), on ? "HELLO" : "hello");
        assert_false(u.bad);
    }
    free(call.request.bytes);
}

static void parameters_are_listed_and_described(void **state)
{
    struct call call;
    (void)state;
    call_open(&call, &peer, "/red/voice/list_parameters", "rcl_interfaces::srv::dds_::ListParameters");
    pack_u32(call_begin(&call), 0);
    pack_u64(&call.request, 0);
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 4);
    assert_string_equal(unpack_text(&u), "use_sim_time");
    assert_string_equal(unpack_text(&u), "talker.by");
    assert_string_equal(unpack_text(&u), "talker.mute");
    assert_string_equal(unpack_text(&u), "talker.mood");
    assert_int_equal(unpack_u32(&u), 1);
    assert_string_equal(unpack_text(&u), "talker");
    assert_false(u.bad);
    free(call.request.bytes);

    call_open(&call, &peer, "/red/voice/describe_parameters", "rcl_interfaces::srv::dds_::DescribeParameters");
    pack_u32(call_begin(&call), 2);
    pack_text(&call.request, "talker.by");
    pack_text(&call.request, "nobody");
    u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 2);
    assert_string_equal(unpack_text(&u), "talker.by");
    assert_int_equal(unpack_u8(&u), 3);
    assert_non_null(strstr(unpack_text(&u), "what is added a step"));
    unpack_text(&u);
    unpack_u8(&u);
    unpack_u8(&u);
    assert_int_equal(unpack_u32(&u), 1);
    assert_true(unpack_f64(&u) == 0 && unpack_f64(&u) == 10);
    unpack_f64(&u);
    assert_int_equal(unpack_u32(&u), 0);
    assert_string_equal(unpack_text(&u), "nobody");
    assert_int_equal(unpack_u8(&u), 0);
    free(call.request.bytes);
}

static void pack_parameter(struct pack *p, const char *name, uint8_t kind, double number, const char *text)
{
    pack_text(p, name);
    pack_u8(p, kind);
    pack_u8(p, 0);
    pack_i64(p, 0);
    pack_f64(p, number);
    pack_text(p, text);
    for (int i = 0; i < 5; i++) pack_u32(p, 0);
}

static float by_now(void)
{
    struct nm_value value;
    nm_player_value(voice.player, 0, 0, &value);
    return (float)value.number[0];
}

static void a_parameter_is_set_or_refused_with_the_reason(void **state)
{
    struct call call;
    (void)state;
    dds_entity_t events =
        peer_reader(&peer, "rt/parameter_events", "rcl_interfaces::msg::dds_::ParameterEvent_", false);
    call_open(&call, &peer, "/red/voice/set_parameters", "rcl_interfaces::srv::dds_::SetParameters");
    pack_u32(call_begin(&call), 5);
    pack_parameter(&call.request, "talker.by", 3, 2.5, "");
    pack_parameter(&call.request, "talker.by", 3, 11, "");
    pack_parameter(&call.request, "talker.by", 4, 0, "2.5");
    pack_parameter(&call.request, "talker.mood", 4, 0, "grim");
    pack_parameter(&call.request, "nobody", 3, 1, "");
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 5);
    assert_int_equal(unpack_u8(&u), 1);
    assert_string_equal(unpack_text(&u), "");
    static const char *const reasons[] = {"10", "takes a double, not a string", "loud", "no parameter nobody"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(unpack_u8(&u), 0);
        const char *reason = unpack_text(&u);
        if (!strstr(reason, reasons[i])) fail_msg("'%s' should speak of '%s'", reason, reasons[i]);
    }
    assert_false(u.bad);
    assert_true(by_now() == 2.5f);

    bool told = false; /* the first event may be all that is new */
    for (int i = 0; i < 3 && !told; i++) {
        wait_until(peer_take(&peer, events), turn());
        unpack_begin(&u, peer.samples[0].bytes, peer.samples[0].size);
        unpack_u64(&u);
        if (strcmp(unpack_text(&u), "/red/voice") || unpack_u32(&u) || unpack_u32(&u) != 1) continue;
        assert_string_equal(unpack_text(&u), "talker.by");
        told = true;
    }
    assert_true(told);
    free(call.request.bytes);
}

static void a_set_of_parameters_is_taken_whole_or_not_at_all(void **state)
{
    struct call call;
    (void)state;
    call_open(&call, &peer, "/red/voice/set_parameters_atomically",
              "rcl_interfaces::srv::dds_::SetParametersAtomically");
    pack_u32(call_begin(&call), 2);
    pack_parameter(&call.request, "talker.by", 3, 3, "");
    pack_parameter(&call.request, "talker.mood", 4, 0, "grim");
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u8(&u), 0);
    assert_true(by_now() == 1);
    pack_u32(call_begin(&call), 2);
    pack_parameter(&call.request, "talker.by", 3, 3, "");
    pack_parameter(&call.request, "talker.mood", 4, 0, "loud");
    u = call_end(&call, &peer);
    assert_int_equal(unpack_u8(&u), 1);
    assert_true(by_now() == 3);
    free(call.request.bytes);
}

static void malformed_samples_are_counted_and_told_once(void **state)
{
    struct nm_dds_stats stats;
    (void)state;
    dds_entity_t writer = peer_writer(&peer, "rt/red/imu", "sensor_msgs::msg::dds_::Imu_", true, NULL);
    wait_until(readers_of(writer) == 1, turn());
    static const uint8_t bad[][12] = {
        {0}, {0, 1}, {0, 1, 0, 0}, {9, 9, 9, 9, 1, 2, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 255, 255}};
    for (int i = 0; i < 50; i++) assert_int_equal(nm_raw_write(writer, bad[i % 5], (size_t)(1 + i % 12)), 0);
    wait_until((nm_dds_stats(in, &stats), stats.malformed + stats.too_long > 0), nm_dds_poll(in));
    wait_until(came(2, "malformed"), turn());
    for (int i = 0; i < 50; i++) assert_int_equal(nm_raw_write(writer, bad[i % 5], 12), 0);
    uint64_t before = stats.malformed + stats.too_long;
    wait_until((nm_dds_stats(in, &stats), stats.malformed + stats.too_long > before), nm_dds_poll(in));
    for (int i = 0; i < 5; i++) turn();
    assert_false(came(2, "malformed"));
}

static void a_writer_of_another_hash_is_refused(void **state)
{
    struct nm_dds_stats stats;
    uint8_t number[12] = {0, 1, 0, 0};
    (void)state;
    dds_entity_t writer =
        peer_writer(&peer, "rt/red/number", "std_msgs::msg::dds_::Float64_", true,
                    "typehash=RIHS01_0000000000000000000000000000000000000000000000000000000000000000;");
    wait_until(readers_of(writer) == 1, turn());
    double value = -1;
    memcpy(number + 4, &value, sizeof value);
    nm_raw_write(writer, number, sizeof number);
    wait_until((nm_dds_stats(in, &stats), stats.other_hash > 0), nm_dds_poll(in));
    wait_until(came(2, "hash"), turn());
    assert_true(heard() >= 0);
}

static void a_best_effort_writer_is_heard_too_and_nothing_twice(void **state)
{
    uint8_t number[12] = {0, 1, 0, 0};
    double value = 77777;
    (void)state;
    dds_entity_t writer = peer_writer(&peer, "rt/red/number", "std_msgs::msg::dds_::Float64_", false, NULL);
    memcpy(number + 4, &value, sizeof value);
    bool seen = false;
    wait_until(seen |= heard() == value, (nm_raw_write(writer, number, sizeof number), turn()));
    /* the reliable talker is matched by both readers now */
    struct nm_dds_stats before, after;
    dds_delete(writer);
    for (int i = 0; i < 20; i++) turn(), usleep(WAIT_US);
    nm_dds_stats(in, &before);
    struct nm_topic_stats made, more;
    uint32_t topic = nm_lineup_topic(ear.lineup, "number");
    nm_player_topic_stats(ear.player, topic, &made);
    for (int i = 0; i < 20; i++) turn(), usleep(WAIT_US);
    nm_dds_stats(in, &after);
    nm_player_topic_stats(ear.player, topic, &more);
    assert_true(more.seq - made.seq <= 25); /* about one a turn, not two */
}

static void impossible_callers_and_stray_replies_are_dropped(void **state)
{
    struct nm_dds_stats stats;
    struct pack p = {0};
    (void)state;
    dds_entity_t requests =
        peer_writer(&peer, "rq/red/shoutRequest", "std_srvs::srv::dds_::SetBool_Request_", true, NULL);
    wait_until(readers_of(requests) == 1, turn());
    pack_begin(&p);
    pack_u64(&p, 1); /* would be the first instance of the line-up */
    pack_u64(&p, 1);
    pack_u8(&p, 1);
    nm_raw_write(requests, p.bytes, p.n);
    wait_until((nm_dds_stats(out, &stats), stats.strays == 1), turn());
    nm_raw_write(requests, "\0\1\0\0short", 9);
    wait_until((nm_dds_stats(out, &stats), stats.malformed == 1), turn());
    free(p.bytes);
}

/* Requests of the parameter services, whole ones and ones with bytes changed, cut or made up, from a fixed seed. */
static void no_request_does_harm(void **state)
{
    static const char *const names[][2] = {
        {"list_parameters", "ListParameters"},        {"get_parameters", "GetParameters"},
        {"get_parameter_types", "GetParameterTypes"}, {"describe_parameters", "DescribeParameters"},
        {"set_parameters", "SetParameters"},          {"set_parameters_atomically", "SetParametersAtomically"}};
    struct nm_dds_stats stats;
    struct pack p = {0};
    uint64_t rng = 1;
    (void)state;
    for (int s = 0; s < 6; s++) {
        char name[128], type[128];
        snprintf(name, sizeof name, "rq/red/voice/%sRequest", names[s][0]);
        snprintf(type, sizeof type, "rcl_interfaces::srv::dds_::%s_Request_", names[s][1]);
        dds_entity_t writer = peer_writer(&peer, name, type, true, NULL);
        wait_until(readers_of(writer) == 1, turn());
        for (int i = 0; i < 300; i++) {
            pack_begin(&p);
            pack_u64(&p, 0x1122334455667788);
            pack_u64(&p, (uint64_t)i);
            pack_u32(&p, 2);
            pack_parameter(&p, "talker.by", 3, 2, "");
            pack_parameter(&p, "talker.mood", 4, 0, "loud");
            for (int k = 0; k < i % 8; k++) {
                rng = rng * 6364136223846793005u + 1442695040888963407u;
                p.bytes[(rng >> 33) % p.n] = (uint8_t)(rng >> 56);
            }
            size_t n = i % 3 ? p.n : (size_t)(rng >> 33) % p.n + 1;
            assert_int_equal(nm_raw_write(writer, p.bytes, n), 0);
            if (i % 16 == 15) nm_dds_poll(out);
        }
    }
    turn();
    nm_dds_stats(out, &stats);
    assert_true(stats.malformed > 0);
    free(p.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_and_queues_reach_another_player, begin, end),
        cmocka_unit_test_setup_teardown(a_service_is_called_across, begin, end),
        cmocka_unit_test_setup_teardown(a_bare_reader_gets_ros_bytes, begin, end),
        cmocka_unit_test_setup_teardown(virtual_time_is_told, begin, end),
        cmocka_unit_test_setup_teardown(the_node_is_in_the_graph, begin, end),
        cmocka_unit_test_setup_teardown(a_robot_can_be_watched_by_an_old_ros, begin, end),
        cmocka_unit_test_setup_teardown(a_service_of_the_line_up_answers, begin, end),
        cmocka_unit_test_setup_teardown(parameters_are_listed_and_described, begin, end),
        cmocka_unit_test_setup_teardown(a_parameter_is_set_or_refused_with_the_reason, begin, end),
        cmocka_unit_test_setup_teardown(a_set_of_parameters_is_taken_whole_or_not_at_all, begin, end),
        cmocka_unit_test_setup_teardown(malformed_samples_are_counted_and_told_once, begin, end),
        cmocka_unit_test_setup_teardown(a_writer_of_another_hash_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_best_effort_writer_is_heard_too_and_nothing_twice, begin, end),
        cmocka_unit_test_setup_teardown(impossible_callers_and_stray_replies_are_dropped, begin, end),
        cmocka_unit_test_setup_teardown(no_request_does_harm, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* labels: threads
 * What enters does no harm: while the robot plays nothing is taken from another machine; a flood leaves the
 * cycles alone, is counted and told; peers come late and vanish; an image outlives the edge that brought it. */
#include "edge/dds/gate.h"

#include <limits.h>
#include <unistd.h>

#include "sensor_msgs/Image.h"

/* A peer that says where it runs. */
static void join_from(struct peer *from, const char *machine)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_prop(qos, "__Hostname", machine);
    *from = (struct peer){.participant = dds_create_participant((uint32_t)private_domain(), qos, NULL)};
    dds_delete_qos(qos);
    assert_true(from->participant > 0);
}

static void leave(struct peer *from)
{
    if (from->n > 0) nm_raw_free(from->samples, from->n);
    dds_delete(from->participant);
}

static uint64_t locked(void)
{
    struct nm_dds_stats stats;
    nm_dds_stats(dds, &stats);
    return stats.locked;
}

static int begin_open(void **state)
{
    (void)state;
    return begin_as(true, true);
}

static int begin_unjudged(void **state)
{
    (void)state;
    return begin_as(false, false);
}

static int begin_open_unjudged(void **state)
{
    (void)state;
    return begin_as(true, false);
}

static void write_message(dds_entity_t writer, const struct nm_type *type, const void *message)
{
    uint8_t bytes[4096];
    int64_t n = nm_cdr_encode(type, message, bytes, sizeof bytes);
    assert_true(n > 0);
    nm_raw_write(writer, bytes, (size_t)n);
}

static const struct gate *gate(void) { return nm_player_self(s.player, 0); }

/* Without --network every peer is on this machine, whatever it calls itself. */
static void a_name_makes_nobody_a_stranger(void **state)
{
    struct peer other;
    struct call call;
    (void)state;
    join_from(&other, "trainer-laptop");
    call_open(&call, &other, "/open", "std_srvs::srv::dds_::SetBool");
    call_state(MatchState_PLAYING);
    pack_u8(call_begin(&call), 1);
    struct unpack u = call_end(&call, &other);
    assert_int_equal(unpack_u8(&u), 1);
    assert_int_equal(locked(), 0);
    free(call.request.bytes);
    leave(&other);
}

/* With --network anybody may have sent it, and may call himself as we do. */
static void a_name_makes_nobody_a_part_of_the_robot(void **state)
{
    char ours[HOST_NAME_MAX + 1] = "";
    struct peer other;
    struct call call;
    (void)state;
    gethostname(ours, sizeof ours - 1);
    join_from(&other, ours);
    call_open(&call, &other, "/open", "std_srvs::srv::dds_::SetBool");
    call_state(MatchState_PLAYING);
    pack_u8(call_begin(&call), 1);
    struct unpack u = call_end(&call, &other);
    assert_int_equal(unpack_u8(&u), 0);
    const char *why = unpack_text(&u);
    if (!strstr(why, "the robot plays (PLAYING)")) fail_msg("%s", why);
    assert_int_equal(locked(), 1);
    call_state(MatchState_FINISHED);
    pack_u8(call_begin(&call), 1);
    u = call_end(&call, &other);
    assert_int_equal(unpack_u8(&u), 1);
    free(call.request.bytes);
    leave(&other);
}

static void the_lock_covers_topics(void **state)
{
    (void)state;
    dds_entity_t writer = peer_writer(&peer, "rt/wish", Float64_type.dds_name, true, NULL);
    wait_until(nm_dds_matched(dds, "wish") == 1, turn());
    write_message(writer, &Float64_type, &(Float64){.data = 1});
    wait_until(gate()->wish->data == 1, turn());
    call_state(MatchState_PLAYING);
    write_message(writer, &Float64_type, &(Float64){.data = 2});
    wait_until(locked() == 1, turn());
    turn();
    assert_true(gate()->wish->data == 1);
    call_state(MatchState_FINISHED);
    write_message(writer, &Float64_type, &(Float64){.data = 3});
    wait_until(gate()->wish->data == 3, turn());
}

/* What is said by us is not taken from anybody: the edge has no reader for it at all. */
static void what_is_made_here_is_not_read(void **state)
{
    (void)state;
    peer_writer(&peer, "rt/match_state", MatchState_type.dds_name, true, NULL);
    for (int i = 0; i < 10; i++) turn();
    assert_int_equal(nm_dds_matched(dds, "match_state"), 0);
}

static void a_stranger_can_begin_a_game_but_not_end_it(void **state)
{
    (void)state;
    dds_entity_t writer = peer_writer(&peer, "rt/match_state", MatchState_type.dds_name, true, NULL);
    wait_until(nm_dds_matched(dds, "match_state") == 1, turn());
    write_message(writer, &MatchState_type, &(MatchState){.state = MatchState_PLAYING});
    wait_until(gate()->match->state == MatchState_PLAYING, turn());
    const MatchState ends[] = {{.state = MatchState_INITIAL},
                               {.state = MatchState_FINISHED},
                               {.state = MatchState_PLAYING, .penalized = true}};
    for (uint64_t i = 0; i < 3; i++) {
        write_message(writer, &MatchState_type, &ends[i]);
        wait_until(locked() == i + 1, turn());
        turn();
        assert_int_equal(gate()->match->state, MatchState_PLAYING);
        assert_false(gate()->match->penalized);
    }
}

static void a_process_of_this_machine_can_do_both(void **state)
{
    (void)state;
    dds_entity_t writer = peer_writer(&peer, "rt/match_state", MatchState_type.dds_name, true, NULL);
    wait_until(nm_dds_matched(dds, "match_state") == 1, turn());
    for (uint8_t i = 0; i < 2; i++) {
        uint8_t then = i ? MatchState_FINISHED : MatchState_PLAYING;
        write_message(writer, &MatchState_type, &(MatchState){.state = then});
        wait_until(gate()->match->state == then, turn());
    }
    assert_int_equal(locked(), 0);
}

/* ---- in real time, with the edge's own threads ---- */

static struct started ear;
static struct nm_dds *in;
static struct nm_edge *probe;

static int begin_ear(void **state)
{
    static const struct nm_edge_port ports[] = {{"heard", NM_PORT_QUEUE, NULL, 64, 0},
                                                {"rosout", NM_PORT_QUEUE, NULL, 16, 0}};
    struct nm_err err = {0};
    (void)state;
    start_with(&ear, hearing, (struct nm_player_options){.name = "ear"});
    probe = edge(&ear, ports, 2);
    in = nm_dds_new(ear.player, &(struct nm_dds_options){.domain = private_domain()}, &err);
    if (!in || nm_player_start(ear.player, &err) || nm_dds_start(in, &err)) fail_msg("%s", err.text);
    peer_join(&peer, private_domain());
    return 0;
}

static int end_ear(void **state)
{
    (void)state;
    peer_leave(&peer, private_domain());
    nm_dds_free(in);
    stop(&ear);
    return 0;
}

static bool said(const char *part)
{
    const void *const *at;
    bool found = false;
    nm_edge_begin(probe, nm_player_now(ear.player));
    uint32_t n = nm_edge_queue(probe, 1, &at, NULL);
    for (uint32_t i = 0; i < n; i++) found |= strstr(((const Log *)at[i])->msg, part) != NULL;
    nm_edge_end(probe);
    return found;
}

static double heard(void)
{
    const void *const *at;
    nm_edge_begin(probe, nm_player_now(ear.player));
    uint32_t n = nm_edge_queue(probe, 0, &at, NULL);
    double value = n ? ((const Float64 *)at[n - 1])->data : -1;
    nm_edge_end(probe);
    return value;
}

static void write_number(dds_entity_t writer, double value)
{
    uint8_t bytes[12] = {0, 1, 0, 0};
    memcpy(bytes + 4, &value, sizeof value);
    nm_raw_write(writer, bytes, sizeof bytes);
}

static uint64_t runs(void)
{
    struct nm_cycle_stats stats;
    nm_player_cycle_stats(ear.player, 0, &stats);
    return stats.runs;
}

/* A peer writes as fast as it can until the cycle has run fifty times: it does, though nobody waits for it. */
static void a_flood_is_dropped_counted_and_told(void **state)
{
    struct nm_dds_stats stats;
    struct nm_topic_stats topic;
    uint64_t sent = 0;
    enum { BURST = 1000 };
    (void)state;
    dds_entity_t numbers = peer_writer(&peer, "rt/number", "std_msgs::msg::dds_::Float64_", true, NULL);
    dds_entity_t lines = peer_writer(&peer, "rt/lines", "std_msgs::msg::dds_::String_", true, NULL);
    wait_until(readers_of(numbers) && readers_of(lines), );
    uint64_t until = runs() + 50;
    do {
        for (int i = 0; i < BURST; i++, sent++) nm_raw_write(lines, "\0\1\0\0\5\0\0\0line", 13);
        nm_dds_stats(in, &stats);
    } while (runs() < until || !stats.flooded);
    assert_int_equal(stats.malformed + stats.too_long, 0);
    assert_true(stats.taken + stats.flooded <= sent);
    wait_until(said("samples are dropped: they arrive faster than 5000 per second"), );
    /* what is let in is more than a queue of 32 holds in 10 ms: that is counted where queues are */
    nm_player_topic_stats(ear.player, nm_lineup_topic(ear.lineup, "lines"), &topic);
    assert_true(topic.lost > 0);
    wait_until((write_number(numbers, -42), heard()) == -42, ); /* and all is as before */
}

static void a_peer_vanishes_and_another_comes_late(void **state)
{
    struct peer other;
    (void)state;
    dds_entity_t numbers = peer_writer(&peer, "rt/number", "std_msgs::msg::dds_::Float64_", true, NULL);
    wait_until((write_number(numbers, 1), heard()) == 1, );
    peer_leave(&peer, private_domain());
    wait_until(nm_dds_matched(in, "number") == 0, );
    uint64_t before = runs();
    wait_until(runs() > before + 3, );
    peer_join(&other, private_domain());
    numbers = peer_writer(&other, "rt/number", "std_msgs::msg::dds_::Float64_", true, NULL);
    wait_until((write_number(numbers, 2), heard()) == 2, );
    /* what was told before it came is still there for it */
    nm_raw_write(numbers, "\0\1", 2);
    wait_until(said("malformed"), );
    dds_entity_t logs = peer_reader(&other, "rt/rosout", "rcl_interfaces::msg::dds_::Log_", true);
    wait_until(peer_take(&other, logs), );
    assert_non_null(memmem(other.samples[0].bytes, other.samples[0].size, "malformed", 9));
    peer = other;
}

/* ---- images ---- */

struct viewer {
    struct nm *nm;
    const Image *image;
    Float64 *seen;
};
static void view(struct viewer *v)
{
    if (v->image->data.n) v->seen->data = v->image->data.data[0];
    nm_put(v->nm, v->seen);
}
#define SELF struct viewer
static const struct nm_port viewer_ports[] = {NM_IN(image, Image, "image"), NM_OUT(seen, Float64, "seen"), {0}};
NM_MODULE(viewer, "Views.", NM_PORTS(viewer_ports), .step = NM_CALL(view))
#undef SELF

static void an_image_outlives_the_edge_that_brought_it(void **state)
{
    static const struct nm_edge_port port = {"seen", NM_PORT_IN, NULL, 0, 0};
    static uint8_t pixels[5000], bytes[6000];
    static Image image = {.width = 5000, .height = 1, .step = 5000};
    struct nm_err err = {0};
    double value = 0;
    (void)state;
    now_ms = 0;
    start(&s, "cycles: {eyes: {period: 10 ms, modules: [viewer]}}\nremote: [image]\n");
    struct nm_edge *look = edge(&s, &port, 1);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = private_domain(), .virtual_time = true, .blob = 8192},
                     &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    peer_join(&peer, private_domain());
    memset(pixels, 77, sizeof pixels);
    image.data = (struct nm_blob){.data = pixels, .n = sizeof pixels, .cap = sizeof pixels};
    int64_t n = nm_cdr_encode(&Image_type, &image, bytes, sizeof bytes);
    dds_entity_t writer = peer_writer(&peer, "rt/image", "sensor_msgs::msg::dds_::Image_", false, NULL);
    wait_until(readers_of(writer), turn());
    for (int i = 0; i < WAIT_STEPS && value != 77; i++) {
        nm_raw_write(writer, bytes, (size_t)n);
        turn();
        nm_edge_begin(look, now_ms * 1000000);
        value = ((const Float64 *)nm_edge_in(look, 0))->data;
        nm_edge_end(look);
    }
    assert_true(value == 77);
    nm_dds_free(dds);
    for (int i = 0; i < 5; i++) run_until(&s, now_ms += 10); /* the cycle still looks at it */
    peer_leave(&peer, private_domain());
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_makes_nobody_a_stranger, begin, end),
        cmocka_unit_test_setup_teardown(a_name_makes_nobody_a_part_of_the_robot, begin_open, end),
        cmocka_unit_test_setup_teardown(the_lock_covers_topics, begin_open, end),
        cmocka_unit_test_setup_teardown(what_is_made_here_is_not_read, begin, end),
        cmocka_unit_test_setup_teardown(a_stranger_can_begin_a_game_but_not_end_it, begin_open_unjudged, end),
        cmocka_unit_test_setup_teardown(a_process_of_this_machine_can_do_both, begin_unjudged, end),
        cmocka_unit_test_setup_teardown(a_flood_is_dropped_counted_and_told, begin_ear, end_ear),
        cmocka_unit_test_setup_teardown(a_peer_vanishes_and_another_comes_late, begin_ear, end_ear),
        cmocka_unit_test(an_image_outlives_the_edge_that_brought_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

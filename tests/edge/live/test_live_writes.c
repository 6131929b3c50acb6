/* What viewers bring in: not while the robot plays, whatever they want to change, and with the reason; images too, up
 * to the size of a frame. Virtual time: the test drives player and server. */
#include "core/started.h"

#include "codec/cdr.h"
#include "edge/live/live.h"
#include "edge/live/viewer.h"
#include "nutmeg_msgs/MatchState.h"
#include "sensor_msgs/Image.h"
#include "std_msgs/Float64.h"
#include "std_srvs/Trigger.h"

/* Adds up the pixels of what it is shown. */
struct developer {
    struct nm *nm;
    const MatchState *match;
    const Image *photo;
    const Float64 *light;
    Float64 *sum;
    nm_server(Trigger) rinse;
    float time;
};
static void develop(struct developer *d)
{
    for (uint32_t i = 0; i < d->rinse.requests.n; i++)
        nm_text(nm_reply(d->nm, &d->rinse, d->rinse.requests.at[i])->message, "rinsed");
    if (!nm_fresh(d->nm, d->photo)) return;
    for (uint32_t i = 0; i < d->photo->data.n; i++) d->sum->data += d->photo->data.data[i];
    nm_put(d->nm, d->sum);
}
#define SELF struct developer
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"), NM_IN(photo, Image, "photo"),
    NM_IN(light, Float64, "light"),          NM_OUT(sum, Float64, "sum"),
    NM_SERVER(rinse, Trigger, "rinse", 2),   {0},
};
static const struct nm_param params[] = {NM_PARAM(time, 1, 0, 10, "s", "nothing"), {0}};
NM_MODULE(developer, "Develops.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(develop))
#undef SELF

static const char lineup[] =
    "cycles: {lab: {period: 10 ms, modules: [developer]}}\nremote: [match_state, photo, light]\n";

static struct started s;
static struct nm_live *live;
static struct nm_edge *referee, *probe;
static struct viewer v;
static int64_t now_ms;

static void turn(void)
{
    run_until(&s, now_ms += 10);
    nm_live_poll(live);
}

static int begin(void **state)
{
    static const struct nm_edge_port calls = {"match_state", NM_PORT_OUT, NULL, 0, 0},
                                     looks = {"sum", NM_PORT_QUEUE, NULL, 4, 0};
    struct nm_err err = {0};
    (void)state;
    now_ms = 0;
    start(&s, lineup);
    referee = edge(&s, &calls, 1);
    probe = edge(&s, &looks, 1);
    live = nm_live_new(s.player, &(struct nm_live_options){.token = "test-token", .virtual_time = true}, &err);
    if (!live) fail_msg("%s", err.text);
    turn();
    viewer_dial(&v, nm_live_port(live), "/?token=test-token");
    wait_until(viewer_upgraded(&v), nm_live_poll(live));
    return 0;
}

static int end(void **state)
{
    (void)state;
    viewer_close(&v);
    nm_live_free(live);
    stop(&s);
    return 0;
}

static void call(MatchState match)
{
    nm_edge_begin(referee, now_ms * 1000000);
    nm_copy(&MatchState_type, nm_edge_out(referee, 0), &match);
    nm_edge_put(referee, 0);
    nm_edge_end(referee);
    turn();
    turn();
}

/* The next text that holds a part. */
static bool heard(const char *part)
{
    while (viewer_next(&v))
        if (v.opcode == 1 && strstr((char *)v.frame, part)) return true;
    return false;
}
#define hear(part) wait_until(heard(part), turn())

static const char set[] =
    "{\"op\":\"setParameters\",\"parameters\":[{\"name\":\"developer.time\",\"value\":%d}],\"id\":\"x\"}";

static void set_time(int value)
{
    char text[256];
    snprintf(text, sizeof text, set, value);
    viewer_say(&v, text);
}

static void rinse(void)
{
    static const uint8_t frame[] = {2, 1, 0, 0, 0, 77, 0, 0, 0, 4, 0, 0, 0, 'j', 's', 'o', 'n', '{', '}'};
    viewer_send(&v, 2, frame, sizeof frame);
}

static void advertise(int id, const char *topic, const char *type, const char *encoding)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "{\"op\":\"advertise\",\"channels\":[{\"id\":%d,\"topic\":\"%s\",\"encoding\":\"%s\",\"schemaName\":\"%s\"}]}",
        id, topic, encoding, type);
    viewer_say(&v, text);
}

static void shine(void)
{
    static const uint8_t frame[] = "\1\5\0\0\0{\"data\": 1.5}";
    viewer_send(&v, 2, frame, sizeof frame - 1);
}

static void nobody_writes_while_the_robot_plays(void **state)
{
    static const uint8_t playing[] = {MatchState_READY, MatchState_SET, MatchState_PLAYING, MatchState_STANDBY, 200};
    (void)state;
    advertise(5, "/light", "std_msgs/msg/Float64", "json");
    set_time(2);
    hear("\"value\": 2"); /* no game: everything may be changed */
    for (size_t i = 0; i < sizeof playing; i++) {
        call((MatchState){.state = playing[i]});
        set_time(3);
        hear("setParameters: writing is locked: the robot plays (");
        hear("\"value\": 2");
        rinse();
        hear("\"serviceCallFailure\"");
        assert_non_null(strstr((char *)v.frame, "writing is locked: the robot plays"));
        shine();
        hear("publish: writing is locked");
        advertise(6, "/photo", "sensor_msgs/msg/Image", "cdr");
        hear("advertise: writing is locked");
    }
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "light"), &stats);
    assert_int_equal(stats.seq, 0);
}

/* The referee is an edge of this process: what it says is said by nobody else. */
static void what_an_edge_of_ours_makes_is_refused(void **state)
{
    (void)state;
    call((MatchState){.state = MatchState_FINISHED});
    advertise(5, "/match_state", "nutmeg_msgs/msg/MatchState", "json");
    hear("advertise: /match_state is refused: the edge 'edge' of this process publishes it");
    advertise(6, "/light", "std_msgs/msg/Float64", "json");
    struct nm_topic_stats stats = {0};
    viewer_send(&v, 2, "\1\6\0\0\0{\"data\": 2.5}", 18);
    wait_until(stats.seq == 1, (turn(), nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "light"), &stats)));
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "match_state"), &stats);
    assert_int_equal(stats.seq, 1);
    assert_string_equal(stats.maker, "edge");
}

static void penalties_breaks_and_the_end_open_it_again(void **state)
{
    static const MatchState open[] = {{.state = MatchState_PLAYING, .penalized = true},
                                      {.state = MatchState_INITIAL},
                                      {.state = MatchState_FINISHED},
                                      {.state = MatchState_SET, .phase = MatchState_PHASE_TIMEOUT}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char wanted[32];
        call((MatchState){.state = MatchState_PLAYING});
        set_time(9);
        hear("writing is locked");
        call(open[i]);
        set_time(i + 3);
        snprintf(wanted, sizeof wanted, "\"value\": %d", i + 3);
        hear(wanted);
    }
}

static double sum(void)
{
    const void *const *at;
    nm_edge_begin(probe, now_ms * 1000000);
    uint32_t n = nm_edge_queue(probe, 0, &at, NULL);
    double value = n ? ((const Float64 *)at[n - 1])->data : -1;
    nm_edge_end(probe);
    return value;
}

static double shown(uint32_t bytes)
{
    Image image = {.width = bytes, .height = 1, .step = bytes};
    uint8_t *pixels = malloc(bytes), *frame = malloc(bytes + 1000);
    double value;
    memset(pixels, 1, bytes);
    image.data = (struct nm_blob){.data = pixels, .n = bytes, .cap = bytes};
    memcpy(frame, "\1\7\0\0\0", 5);
    int64_t n = nm_cdr_encode(&Image_type, &image, frame + 5, bytes + 995);
    assert_true(n > 0);
    viewer_send(&v, 2, frame, (size_t)n + 5);
    wait_until((value = sum()) >= 0, turn());
    free(pixels);
    free(frame);
    return value;
}

/* Foxglove advertises what its panels could publish as soon as it has connected. */
static void topics_that_nobody_reads_are_advertised_quietly(void **state)
{
    (void)state;
    static const uint8_t point[] = "\1\10\0\0\0{\"data\": 1.5}";
    advertise(8, "/clicked_point", "geometry_msgs/msg/PointStamped", "json");
    advertise(9, "/initialpose", "some_msgs/msg/Unknown", "cbor");
    set_time(4);
    do { /* nothing is said about them before the answer to what was asked later */
        wait_until(viewer_next(&v), turn());
        assert_null(strstr((char *)v.frame, "advertise: "));
    } while (!strstr((char *)v.frame, "\"value\": 4"));
    viewer_send(&v, 2, point, sizeof point - 1);
    hear("publish: the line-up does not have the topic of channel 8");
}

/* More of them than a pool has blocks, so each one has to come back. */
static void images_can_be_published(void **state)
{
    (void)state;
    advertise(7, "/photo", "sensor_msgs/msg/Image", "cdr");
    for (uint32_t i = 1; i < 60; i++) assert_int_equal((int)shown(i * 1000), i * 1000);
    static const uint8_t broken[] = "\1\7\0\0\0\0\1\0\0 not an image";
    viewer_send(&v, 2, broken, sizeof broken);
    hear("publish: ");
    assert_int_equal((int)shown(64), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_writes_while_the_robot_plays, begin, end),
        cmocka_unit_test_setup_teardown(what_an_edge_of_ours_makes_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(penalties_breaks_and_the_end_open_it_again, begin, end),
        cmocka_unit_test_setup_teardown(topics_that_nobody_reads_are_advertised_quietly, begin, end),
        cmocka_unit_test_setup_teardown(images_can_be_published, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

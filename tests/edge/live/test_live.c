/* labels: threads
 * Viewers see what a line-up makes; who does not keep up loses messages, and nobody else does; the server's thread and
 * the cycles do not meet. Virtual time where figures count: the test drives player and server. */
#include "core/started.h"

#include <time.h>

#include "edge/live/live.h"
#include "edge/live/viewer.h"
#include "codec/jpeg.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/LaserScan.h"
#include "std_msgs/Float64.h"
#include "std_srvs/Trigger.h"

/* Large state, an image, and a service. */
struct scanner {
    struct nm *nm;
    const Float64 *far;
    LaserScan *scan;
    Image *image;
    nm_server(Trigger) again;
    float step;
    double count;
};
static void look_round(struct scanner *s)
{
    s->scan->scan_time = (float)++s->count;
    s->scan->ranges.n = s->scan->intensities.n = 1440;
    nm_put(s->nm, s->scan);
    s->image->width = s->image->step = (uint32_t)s->count;
    s->image->height = 1;
    nm_text(s->image->encoding, "mono8");
    if (nm_blob_take(s->nm, s->image, &s->image->data, 64 << 10)) {
        s->image->data.n = 64 << 10;
        nm_put(s->nm, s->image);
    }
    for (uint32_t i = 0; i < s->again.requests.n; i++)
        nm_text(nm_reply(s->nm, &s->again, s->again.requests.at[i])->message, "turn %g", s->count);
}
#define SELF struct scanner
static const struct nm_port scanner_ports[] = {
    NM_IN(far, Float64, "far"),
    NM_OUT(scan, LaserScan, "scan"),
    NM_OUT(image, Image, "image", .blob = 64 << 10),
    NM_SERVER(again, Trigger, "again", 2),
    {0},
};
static const struct nm_param scanner_params[] = {NM_PARAM(step, 1, 0, 10, "1", "nothing"), {0}};
NM_MODULE(scanner, "Looks round.", NM_PORTS(scanner_ports), NM_PARAMS(scanner_params), .step = NM_CALL(look_round))
#undef SELF

static const char lineup[] = "cycles: {eyes: {period: 10 ms, modules: [scanner]}}\nremote: [far]\n";

static struct started s;
static struct nm_live *live;
static int64_t now_ms;

static int begin_with(bool virtual_time)
{
    struct nm_err err = {0};
    now_ms = 0;
    start(&s, lineup);
    live = nm_live_new(s.player, &(struct nm_live_options){.token = "test-token", .virtual_time = virtual_time}, &err);
    if (!live) fail_msg("%s", err.text);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    begin_with(true);
    run_until(&s, now_ms = 10);
    nm_live_poll(live);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_live_free(live);
    stop(&s);
    return 0;
}

static void turn(void)
{
    run_until(&s, now_ms += 10);
    nm_live_poll(live);
}

static void join(struct viewer *v, const char *path)
{
    viewer_dial(v, nm_live_port(live), path);
    wait_until(viewer_upgraded(v), nm_live_poll(live));
}

/* The next text that holds a part; what comes before it is passed over. */
static bool heard(struct viewer *v, const char *part)
{
    while (viewer_next(v))
        if (v->opcode == 1 && strstr((char *)v->frame, part)) return true;
    return false;
}
#define hear(v, part) wait_until(heard(v, part), nm_live_poll(live))

/* The number of a channel or service in a text that lists them: the id that stands before its name. */
static uint32_t id_of(const struct viewer *v, const char *name)
{
    const char *at = strstr((char *)v->frame, name);
    assert_non_null(at);
    while (at > (char *)v->frame && strncmp(at, "\"id\": ", 6)) at--;
    return (uint32_t)strtoul(at + 6, NULL, 10);
}

static void subscribe(struct viewer *v, const char *topic, uint32_t id)
{
    char text[128];
    snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%u,\"channelId\":%u}]}", id,
             id_of(v, topic));
    viewer_say(v, text);
}

/* In a LaserScan behind the frame's head: stamp, an empty frame_id, four floats, scan_time. */
static float scan_of(const struct viewer *v)
{
    float value;
    memcpy(&value, v->frame + 13 + 4 + 8 + 4 + 4 + 16, sizeof value);
    return value;
}

/* Every scan follows the one before. */
static void read_scans(struct viewer *v, float *last)
{
    while (viewer_next(v)) {
        if (v->opcode != 2 || v->frame[0] != 1) continue;
        if (*last > 0) assert_true(scan_of(v) == *last + 1);
        *last = scan_of(v);
    }
}

static void test_a_stalled_viewer_loses_messages_and_nobody_else_does(void **state)
{
    (void)state;
    struct viewer good, stalled;
    enum { TURNS = 2500 };
    float last = 0;
    join(&good, "/");
    join(&stalled, "/");
    hear(&good, "\"advertise\"");
    hear(&stalled, "\"advertise\"");
    subscribe(&good, "\"/scan\"", 1);
    subscribe(&stalled, "\"/scan\"", 1);
    wait_until((read_scans(&good, &last), last > 0), nm_live_poll(live));
    for (int i = 0; i < TURNS; i++) {
        turn();
        read_scans(&good, &last);
    }
    wait_until((read_scans(&good, &last), last == TURNS + 1), nm_live_poll(live)); /* one was made before the first */
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    assert_int_equal(stats.clients, 2);
    assert_int_equal(stats.client[0].dropped, 0);
    assert_true(stats.client[1].dropped > 100);
    hear(&stalled, "Send buffer limit reached");
    hear(&stalled, "removeStatus");
    viewer_close(&good);
    viewer_close(&stalled);
}

/* The width of the newest image that has come; it counts them. */
static uint32_t newest_image(struct viewer *v)
{
    uint32_t width = 0;
    while (viewer_next(v))
        if (v->opcode == 2 && v->frame[0] == 1) memcpy(&width, v->frame + 13 + 4 + 8 + 8 + 4, sizeof width);
    return width;
}

/* The width of a JPEG that has come; 0: none has. */
static uint32_t jpeg_width(struct viewer *v)
{
    uint32_t width, height;
    while (viewer_next(v)) {
        if (v->opcode != 2 || v->frame[0] != 1) continue;
        const uint8_t *jpeg = memmem(v->frame, v->frame_size, "\xff\xd8", 2);
        assert_non_null(jpeg);
        assert_int_equal(
            nm_jpeg_size(jpeg, v->frame_size - (size_t)(jpeg - (const uint8_t *)v->frame), &width, &height, NULL), 0);
        assert_int_equal(height, 1);
        return width;
    }
    return 0;
}

/* The newest at once, then ten a second. */
static void test_images_come_as_jpeg(void **state)
{
    (void)state;
    struct viewer v;
    uint32_t width, n = 0, last = 0;
    join(&v, "/");
    hear(&v, "advertise");
    subscribe(&v, "\"/image/compressed\"", 9);
    wait_until((last = jpeg_width(&v)) == 1, nm_live_poll(live));
    for (int i = 0; i < 100; i++) {
        turn();
        while ((width = jpeg_width(&v))) {
            assert_true(width >= last + 10);
            last = width;
            n++;
        }
    }
    assert_in_range(n, 9, 10);
    viewer_close(&v);
}

static void test_of_images_only_the_newest_waits(void **state)
{
    (void)state;
    struct viewer v;
    join(&v, "/");
    hear(&v, "\"advertise\"");
    subscribe(&v, "\"/image\"", 9);
    wait_until(newest_image(&v) == 1, nm_live_poll(live));
    for (int i = 0; i < 300; i++) turn();
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    assert_true(stats.client[0].passed > 100);
    assert_int_equal(stats.client[0].dropped, 0);
    wait_until(newest_image(&v) == 301, nm_live_poll(live));
    viewer_close(&v);
}

static void test_who_comes_late_is_given_what_there_is(void **state)
{
    (void)state;
    struct viewer v;
    float scan = 0;
    for (int i = 0; i < 5; i++) turn();
    join(&v, "/");
    hear(&v, "\"advertise\"");
    subscribe(&v, "\"/scan\"", 4);
    wait_until((read_scans(&v, &scan), scan == 6), nm_live_poll(live)); /* no more turns: time stands still */
    viewer_close(&v);
}

static void test_writing_needs_the_token(void **state)
{
    (void)state;
    static const char set[] =
        "{\"op\":\"setParameters\",\"parameters\":[{\"name\":\"scanner.step\",\"value\":3}],\"id\":\"x\"}";
    struct viewer v, w;
    join(&v, "/?token=test-tokem");
    join(&w, "/?token=test-token");
    viewer_say(&v, set);
    hear(&v, "read only");
    hear(&v, "\"value\": 1");
    viewer_say(&w, set);
    hear(&w, "\"value\": 3");
    viewer_close(&v);
    viewer_close(&w);
}

static uint32_t clients(void)
{
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    return stats.clients;
}

static uint32_t read_answers(struct viewer *v)
{
    uint32_t n = 0;
    while (viewer_next(v)) {
        if (v->opcode != 2 || v->frame[0] != 3) continue;
        assert_memory_equal(v->frame + 5, "\x4d\0\0\0\x04\0\0\0json", 12);
        assert_non_null(strstr((char *)v->frame + 17, "turn "));
        n++;
    }
    return n;
}

static void test_an_answer_finds_its_caller(void **state)
{
    (void)state;
    static const uint8_t call[] = {2, 1, 0, 0, 0, 77, 0, 0, 0, 4, 0, 0, 0, 'j', 's', 'o', 'n', '{', '}'};
    struct viewer v, gone;
    join(&gone, "/?token=test-token");
    viewer_send(&gone, 2, call, sizeof call);
    viewer_close(&gone); /* its answer must not reach the next one on its seat */
    wait_until(clients() == 0, nm_live_poll(live));
    join(&v, "/?token=test-token");
    for (int i = 0; i < 3; i++) turn();
    viewer_send(&v, 2, call, sizeof call);
    uint32_t answers = 0;
    wait_until(answers += read_answers(&v), turn());
    for (int i = 0; i < 10; i++) {
        turn();
        answers += read_answers(&v);
    }
    assert_int_equal(answers, 1);
    viewer_close(&v);
}

/* The time inside a message is that of the day, as the time of the message itself. */
static void assert_stamped(const struct viewer *v)
{
    int64_t log_time;
    int32_t sec;
    memcpy(&log_time, v->frame + 5, sizeof log_time);
    memcpy(&sec, v->frame + 13 + 4, sizeof sec);
    assert_in_range(llabs(time(NULL) - sec), 0, 100);
    assert_in_range(llabs(log_time / 1000000000 - sec), 0, 1);
}

/* Subscribes when the topics are told, and counts messages. */
static uint32_t follow(struct viewer *v)
{
    uint32_t seen = 0;
    while (viewer_next(v)) {
        if (v->opcode == 1 && strstr((char *)v->frame, "\"advertise\"")) subscribe(v, "\"/scan\"", 1);
        if (v->opcode != 2) continue;
        assert_stamped(v);
        seen++;
    }
    return seen;
}

static void test_it_serves_from_its_own_thread(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct viewer v;
    uint32_t seen = 0;
    begin_with(false);
    assert_int_equal(nm_player_start(s.player, &err), 0);
    assert_int_equal(nm_live_start(live, &err), 0);
    viewer_dial(&v, nm_live_port(live), "/");
    wait_until(viewer_upgraded(&v), );
    wait_until((seen += follow(&v)) >= 20, );
    viewer_close(&v);
    nm_player_stop(s.player);
    end(NULL);
}

static void test_what_cannot_be_is_said_at_start(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct started other;
    start(&other, lineup);
    assert_null(nm_live_new(other.player, &(struct nm_live_options){.token = "short"}, &err));
    assert_non_null(strstr(err.text, "a token must have 8 to 64"));
    assert_null(nm_live_new(other.player, &(struct nm_live_options){.port = nm_live_port(live)}, &err));
    assert_non_null(strstr(err.text, "cannot listen on 127.0.0.1"));
    stop(&other);
    assert_non_null(strstr(nm_live_url(live), "/?token=test-token"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stalled_viewer_loses_messages_and_nobody_else_does, begin, end),
        cmocka_unit_test_setup_teardown(test_of_images_only_the_newest_waits, begin, end),
        cmocka_unit_test_setup_teardown(test_images_come_as_jpeg, begin, end),
        cmocka_unit_test_setup_teardown(test_who_comes_late_is_given_what_there_is, begin, end),
        cmocka_unit_test_setup_teardown(test_writing_needs_the_token, begin, end),
        cmocka_unit_test_setup_teardown(test_an_answer_finds_its_caller, begin, end),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_is_said_at_start, begin, end),
        cmocka_unit_test(test_it_serves_from_its_own_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

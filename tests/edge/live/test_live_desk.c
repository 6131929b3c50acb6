/* What the server answers itself: services of the process with their rights, views as files beside the line-up, logs in
 * ranges of bytes, and its reports about cycles and topics. Virtual time: the test drives player and server. */
#include "core/started.h"

#include <sys/stat.h>

#include "codec/cdr.h"
#include "edge/live/live_inside.h"
#include "edge/live/viewer.h"
#include "nutmeg_msgs/CycleStatistics.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/Show.h"
#include "nutmeg_msgs/TopicReport.h"
#include "std_msgs/Float64.h"
#include "std_srvs/SetBool.h"

/* Counts. */
struct clerk {
    struct nm *nm;
    const MatchState *match;
    Float64 *number;
};
static void count(struct clerk *c)
{
    c->number->data = 1;
    nm_show(c->nm, "number", 1.0);
    nm_put(c->nm, c->number);
}
#define SELF struct clerk
static const struct nm_port ports[] = {NM_IN(match, MatchState, "match_state"), NM_OUT(number, Float64, "number"), {0}};
NM_MODULE(clerk, "Counts.", NM_PORTS(ports), .step = NM_CALL(count))
#undef SELF

static struct started s;
static struct nm_live *live;
static struct nm_edge *referee;
static struct viewer v;
static int64_t now_ms;
static char folder[64], path[256];
static int answered;

static const char *in(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void turn(void)
{
    run_until(&s, now_ms += 10);
    nm_live_poll(live);
}

static void answer(void *user, const void *request, void *reply)
{
    answered++;
    ((SetBool_Response *)reply)->success = ((const SetBool_Request *)request)->data;
    nm_text(((SetBool_Response *)reply)->message, "%s", (const char *)user);
}

static struct nm_desk_service service(const char *name, enum nm_desk_right right)
{
    return (struct nm_desk_service){name, &SetBool_Request_type, &SetBool_Response_type, right, answer, "done"};
}

static void dial(const char *query)
{
    viewer_dial(&v, nm_live_port(live), query);
    wait_until(viewer_upgraded(&v), nm_live_poll(live));
}

static bool virtual_time = true;

static int begin(void **state)
{
    static const struct nm_edge_port calls = {"match_state", NM_PORT_OUT, NULL, 0, 0};
    static struct nm_desk desk;
    struct nm_err err = {0};
    (void)state;
    strcpy(folder, "/tmp/test_desk_XXXXXX");
    assert_non_null(mkdtemp(folder));
    mkdir(in("deep"), 0700);
    now_ms = answered = 0;
    start(&s, "cycles: {office: {period: 10 ms, modules: [clerk]}}\nremote: [match_state]\n");
    s.lineup->file = nm_take_format(&s.lineup->arena, "%s/office.yaml", folder);
    referee = edge(&s, &calls, 1);
    desk = (struct nm_desk){0};
    nm_desk_add(&desk, service("look", NM_DESK_LOOK));
    nm_desk_add(&desk, service("world", NM_DESK_WORLD));
    nm_desk_add(&desk, service("robot", NM_DESK_ROBOT));
    struct nm_live_options options = {
        .token = "test-token", .virtual_time = virtual_time, .desk = &desk, .logs = folder};
    live = nm_live_new(s.player, &options, &err);
    if (!live) fail_msg("%s", err.text);
    turn();
    return 0;
}

static int end(void **state)
{
    (void)state;
    char line[128];
    viewer_close(&v);
    nm_live_free(live);
    stop(&s);
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

/* The next text or answer of a service that holds a part. */
static bool heard(const char *part)
{
    while (viewer_next(&v))
        if ((v.opcode == 1 || v.frame[0] == 3) && memmem(v.frame, v.frame_size, part, strlen(part))) return true;
    return false;
}
#define hear(part) wait_until(heard(part), turn())

/* Services are numbered in their order: look, world, robot, nutmeg/view. */
static void call(uint8_t number, const char *json)
{
    uint8_t frame[8192] = {2, number, 0, 0, 0, 77, 0, 0, 0, 4, 0, 0, 0, 'j', 's', 'o', 'n'};
    strcpy((char *)frame + 17, json);
    viewer_send(&v, 2, frame, 17 + strlen(json));
}

static void announce(uint8_t game)
{
    nm_edge_begin(referee, now_ms * 1000000);
    ((MatchState *)nm_edge_out(referee, 0))->state = game;
    nm_edge_put(referee, 0);
    nm_edge_end(referee);
    turn();
    turn();
}

static void a_service_of_the_process_asks_for_its_right(void **state)
{
    (void)state;
    dial("/?token=test-token");
    hear("\"/world\"");
    for (uint8_t i = 1; i <= 3; i++) {
        call(i, "{\"data\": true}");
        hear("\"message\":\"done\"");
    }
    announce(MatchState_PLAYING); /* the world may still be changed, the robot not */
    call(3, "{}");
    hear("the robot plays (PLAYING)");
    call(2, "{}");
    hear("\"done\"");
    assert_int_equal(answered, 4);
    call(2, "{\"data\": \"perhaps\"}");
    hear("serviceCallFailure");
    viewer_close(&v);

    dial("/");
    call(1, "{}");
    hear("\"done\"");
    for (uint8_t i = 2; i <= 4; i++) {
        call(i, "{}");
        hear("read only");
    }
    assert_int_equal(answered, 5);
}

static void views_are_files_beside_the_lineup(void **state)
{
    static const char *const wrong[] = {"../office", "a/b", "", "a.b", "white space"};
    (void)state;
    dial("/?token=test-token");
    call(4, "{\"command\": 2, \"name\": \"walk-1\", \"text\": \"{\\\"grid\\\": [1]}\"}");
    hear("\"success\":true");
    call(4, "{\"command\": 1, \"name\": \"walk-1\"}");
    hear("{\\\"grid\\\": [1]}");
    assert_non_null(memmem(v.frame, v.frame_size, "\"names\":[\"walk-1\"]", 18));
    assert_int_equal(access(in("views/walk-1.json"), R_OK), 0);
    call(4, "{\"command\": 2, \"name\": \"b\", \"text\": \"{broken\"}");
    hear("\"success\":false");
    call(4, "{\"command\": 2, \"name\": \"b\", \"text\": \"12\"}");
    hear("a view is a JSON object");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int command = 1; command <= 3; command++) {
            char text[200];
            snprintf(text, sizeof text, "{\"command\": %d, \"name\": \"%s\", \"text\": \"{}\"}", command, wrong[i]);
            call(4, text);
            hear("a view's name has letters");
        }
    call(4, "{\"command\": 9}");
    hear("there is no command 9");
    call(4, "{\"command\": 3, \"name\": \"walk-1\"}");
    hear("\"names\":[]");
    call(4, "{\"command\": 1, \"name\": \"walk-1\"}");
    hear("there is no such view");
}

/* As many as a list has room for; one that is there may be saved again. */
static void no_view_is_saved_that_a_list_does_not_name(void **state)
{
    char text[200];
    (void)state;
    dial("/?token=test-token");
    for (int i = 0; i <= 64; i++) {
        snprintf(text, sizeof text, "{\"command\": 2, \"name\": \"v%d\", \"text\": \"{}\"}", i);
        call(4, text);
        hear(i < 64 ? "\"success\":true" : "there are 64 views: delete one first");
    }
    assert_int_equal(access(in("views/v64.json"), F_OK), -1);
    call(4, "{\"command\": 2, \"name\": \"v7\", \"text\": \"{}\"}");
    hear("\"success\":true");
    for (int i = 0; i < 64; i++) {
        snprintf(text, sizeof text, "{\"command\": 3, \"name\": \"v%d\"}", i);
        call(4, text);
        hear("\"success\":true");
    }
}

static char page[1 << 19];

static int request(const char *what, const char *range)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)nm_live_port(live))};
    char text[1024];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", what, range);
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    return fd;
}

static void get(const char *what, const char *range)
{
    int fd = request(what, range);
    size_t used = 0;
    ssize_t got = -1;
    wait_until(
        ((got = recv(fd, page + used, sizeof page - 1 - used, MSG_DONTWAIT)) > 0 ? used += (size_t)got : 0, got == 0),
        nm_live_poll(live));
    page[used] = '\0';
    close(fd);
}

static void write_file(const char *name, const char *text)
{
    FILE *to = fopen(in(name), "w");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

#define SHOWS(part)                                                                                                    \
    if (!strstr(page, part)) fail_msg("'%s' is not in: %s", part, page)

static void logs_are_read_in_ranges(void **state)
{
    static const char *const nowhere[] = {
        "/logs/../etc/passwd?token=test-token", "/logs/%2e%2e/x.mcap?token=test-token",
        "/logs/secret.txt?token=test-token",    "/logs/none.mcap?token=test-token",
        "/logs/deep?token=test-token",          "/logs/?token=test-token"};
    (void)state;
    write_file("game.mcap", "0123456789");
    write_file("deep/red1.mcap", "deep");
    write_file("secret.txt", "secret");
    assert_int_equal(symlink("/etc/passwd", in("link.mcap")), 0);
    get("/logs", "");
    SHOWS("HTTP/1.1 403");
    get("/logs/game.mcap", "");
    SHOWS("HTTP/1.1 403");
    get("/logs?token=test-token", "");
    SHOWS("HTTP/1.1 200");
    SHOWS("{\"logs\": [{\"name\": \"game.mcap\", \"bytes\": 10, \"time\": ");
    SHOWS("{\"name\": \"deep/red1.mcap\", \"bytes\": 4, ");
    assert_null(strstr(page, "secret"));
    assert_null(strstr(page, "link"));
    get("/logs/game.mcap?token=test-token", "");
    SHOWS("HTTP/1.1 200");
    SHOWS("\r\n\r\n0123456789");
    get("/logs/deep/red1.mcap?token=test-token", "Range: bytes=1-2\r\n");
    SHOWS("HTTP/1.1 206");
    SHOWS("Content-Range: bytes 1-2/4\r\n");
    SHOWS("\r\n\r\nee");
    get("/logs/game.mcap?token=test-token", "Range: bytes=-3\r\n");
    SHOWS("\r\n\r\n789");
    get("/logs/game.mcap?token=test-token", "Range: bytes=10-\r\n");
    SHOWS("HTTP/1.1 416");
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        get(nowhere[i], "");
        SHOWS("HTTP/1.1 404");
    }
    get("/logs/link.mcap?token=test-token", "");
    SHOWS("HTTP/1.1 404");
    dial("/");
}

/* However fast somebody reads a log, the server turns to the others after a part of it. */
static void a_log_goes_out_in_parts(void **state)
{
    const size_t size = 16 << 20, most = 4 * (320 << 10); /* turns of a poll, and a part with what was begun */
    (void)state;
    write_file("large.mcap", "");
    assert_int_equal(truncate(in("large.mcap"), (off_t)size), 0);
    int fd = request("/logs/large.mcap?token=test-token", "");
    size_t got = 0, before;
    do {
        before = got;
        nm_live_poll(live);
        for (ssize_t n; (n = recv(fd, page, sizeof page, MSG_DONTWAIT)) > 0;) got += (size_t)n;
        assert_true(got - before <= most);
    } while (got < size);
    close(fd);
    dial("/");
}

/* It ends early, but it ends as JSON does. */
static void a_list_of_very_many_logs_is_whole(void **state)
{
    char name[256];
    (void)state;
    for (int i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "%0200d.mcap", i);
        write_file(name, "");
    }
    get("/logs?token=test-token", "");
    SHOWS("HTTP/1.1 200");
    size_t n = strlen(page);
    assert_true(n > 100000 && n < 300000);
    assert_string_equal(page + n - 3, "}]}");
    dial("/");
}

/* The next message of a subscription. */
static bool message_of(uint32_t id, const struct nm_type *type, void *to)
{
    while (viewer_next(&v))
        if (v.opcode == 2 && v.frame[0] == 1 && v.frame[1] == id)
            return !nm_cdr_decode(type, to, v.frame + 13, v.frame_size - 13, NULL, NULL);
    return false;
}

static int channel_of(const char *topic)
{
    char text[100];
    snprintf(text, sizeof text, "\"topic\": \"%s\"", topic);
    const char *at = strstr((char *)v.frame, text);
    assert_non_null(at);
    while (strncmp(at, "\"id\": ", 6)) at--;
    return atoi(at + 6);
}

static void cycles_and_topics_are_reported_to_who_listens(void **state)
{
    static CycleStatistics cycle;
    static TopicReport report;
    char text[256];
    (void)state;
    dial("/"); /* to look, no token is needed */
    hear("\"advertise\"");
    snprintf(text, sizeof text,
             "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":%d},{\"id\":2,\"channelId\":%d}]}",
             channel_of("/nutmeg/cycles"), channel_of("/nutmeg/topics"));
    viewer_say(&v, text);
    wait_until(message_of(1, &CycleStatistics_type, &cycle), turn());
    assert_string_equal(cycle.cycle, "office");
    assert_true(cycle.runs > 0);
    assert_int_equal(cycle.modules.n, 1);
    float rate = 0;
    uint32_t k = 0;
    while (rate == 0) { /* the first report knows no rate yet */
        wait_until(message_of(2, &TopicReport_type, &report), turn());
        for (k = 0; k < report.topic.n && strcmp(report.topic.at[k], "number"); k++) continue;
        assert_true(k < report.topic.n);
        assert_int_equal(report.refused.n, report.topic.n);
        rate = report.rate.at[k];
    }
    assert_true(rate > 90 && rate < 110);
    assert_true(report.bytes.at[k] > 90 * 8 && report.bytes.at[k] < 110 * 16);
    assert_true(report.age.at[k] >= 0 && report.age.at[k] < 0.1);
    for (k = 0; strcmp(report.topic.at[k], "match_state"); k++) continue;
    assert_true(report.age.at[k] < 0 && report.count.at[k] == 0);
}

static int begin_real(void **state)
{
    virtual_time = false;
    return begin(state);
}

/* Times become times of day in a copy. What other messages left in its memory must not be taken for pictures. */
static void messages_with_room_for_pictures_are_copied_cleanly(void **state)
{
    static Show shown;
    char text[256];
    (void)state;
    dial("/");
    hear("\"advertise\"");
    snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":%d}]}",
             channel_of("/show"));
    viewer_say(&v, text);
    memset(live->stamped, 'x', Show_type.size);
    wait_until(message_of(1, &Show_type, &shown), turn());
    assert_string_equal(shown.name, "clerk/number");
    virtual_time = true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_service_of_the_process_asks_for_its_right, begin, end),
        cmocka_unit_test_setup_teardown(views_are_files_beside_the_lineup, begin, end),
        cmocka_unit_test_setup_teardown(no_view_is_saved_that_a_list_does_not_name, begin, end),
        cmocka_unit_test_setup_teardown(a_log_goes_out_in_parts, begin, end),
        cmocka_unit_test_setup_teardown(logs_are_read_in_ranges, begin, end),
        cmocka_unit_test_setup_teardown(a_list_of_very_many_logs_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(cycles_and_topics_are_reported_to_who_listens, begin, end),
        cmocka_unit_test_setup_teardown(messages_with_room_for_pictures_are_copied_cleanly, begin_real, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

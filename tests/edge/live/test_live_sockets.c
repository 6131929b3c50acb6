/* Strangers at the door of the live server: they cannot look in from a foreign page, fill the seats, hold the door, or
 * make the server wait for them; and frames that the standard forbids end their connection. */
#include "core/started.h"

#include "edge/live/live.h"
#include "edge/live/viewer.h"
#include "std_msgs/Float64.h"

struct counter {
    struct nm *nm;
    Float64 *count;
};
static void count(struct counter *s)
{
    s->count->data++;
    nm_put(s->nm, s->count);
}
#define SELF struct counter
static const struct nm_port counter_ports[] = {NM_OUT(count, Float64, "count"), {0}};
NM_MODULE(counter, "Counts.", NM_PORTS(counter_ports), .step = NM_CALL(count))
#undef SELF

static struct started s;
static struct nm_live *live;

static int begin(void **state)
{
    (void)state;
    struct nm_err err = {0};
    start(&s, "cycles: {c: {period: 10 ms, modules: [counter]}}\n");
    live = nm_live_new(s.player, &(struct nm_live_options){.token = "test-token", .virtual_time = true}, &err);
    if (!live) fail_msg("%s", err.text);
    run_until(&s, 10);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_live_free(live);
    stop(&s);
    return 0;
}

static bool greeted(struct viewer *v)
{
    while (viewer_next(v))
        if (v->opcode == 1 && strstr((char *)v->frame, "serverInfo")) return true;
    return false;
}

static void join(struct viewer *v, const char *path)
{
    viewer_dial(v, nm_live_port(live), path);
    wait_until(viewer_upgraded(v), nm_live_poll(live));
    wait_until(greeted(v), nm_live_poll(live));
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)nm_live_port(live))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Whether the other side has closed; what it said before is left in `text`. */
static bool over(int fd, char *text, size_t size)
{
    size_t n = strlen(text);
    ssize_t more = recv(fd, text + n, size - 1 - n, MSG_DONTWAIT);
    if (more > 0) text[n + (size_t)more] = '\0';
    return more == 0 || (more < 0 && errno != EAGAIN);
}

/* The status of the answer to a request. */
static int ask(const char *request)
{
    char text[4096] = "";
    int fd = dial();
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    wait_until(strstr(text, "\r\n\r\n") || over(fd, text, sizeof text), nm_live_poll(live));
    close(fd);
    return strncmp(text, "HTTP/1.1 ", 9) ? 0 : atoi(text + 9);
}

#define WEBSOCKET                                                                                                      \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                                       \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: foxglove.websocket.v1\r\n\r\n"

static void test_who_may_look(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\nHost: localhost\r\n" WEBSOCKET, 101},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n" WEBSOCKET, 101},
        /* a page from elsewhere, unless it knows the token */
        {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", 403},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n" WEBSOCKET, 403},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n" WEBSOCKET, 403},
        {"GET /?token=test-tokex HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n" WEBSOCKET, 403},
        {"GET /?token=test-token HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n" WEBSOCKET, 101},
        /* a name that is not ours but leads here, or none */
        {"GET / HTTP/1.1\r\nHost: evil.example:8765\r\n\r\n", 403},
        {"GET / HTTP/1.1\r\nHost: evil.example:8765\r\n" WEBSOCKET, 403},
        {"GET / HTTP/1.1\r\n\r\n", 403},
        /* neither HTTP nor WebSocket as they are spoken here */
        {"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 400},
        {"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 426},
        {"hello\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = ask(rows[i].request);
        if (status != rows[i].status) fail_msg("%d instead of %d: %s", status, rows[i].status, rows[i].request);
    }
}

static void test_a_frame_without_a_mask_ends_the_connection(void **state)
{
    (void)state;
    static const char set[] = "{\"op\":\"getParameters\",\"parameterNames\":[],\"id\":\"x\"}";
    struct viewer v;
    char text[8192] = "";
    join(&v, "/?token=test-token");
    uint8_t frame[2 + sizeof set] = {0x81, sizeof set - 1};
    memcpy(frame + 2, set, sizeof set - 1);
    assert_int_equal(send(v.fd, frame, sizeof set + 1, MSG_NOSIGNAL), sizeof set + 1);
    wait_until(over(v.fd, text, sizeof text), nm_live_poll(live));
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    assert_int_equal(stats.clients, 0);
    viewer_close(&v);
}

static void test_silent_connections_keep_nobody_out(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static int idle[MANY];
    struct viewer owner, guest;
    for (int i = 0; i < MANY; i++) {
        idle[i] = dial();
        if (i % 2) assert_int_equal(send(idle[i], "GET / HT", 8, MSG_NOSIGNAL), 8);
        nm_live_poll(live);
    }
    join(&guest, "/");
    join(&owner, "/?token=test-token");
    for (int i = 0; i < MANY; i++) close(idle[i]);
    viewer_close(&owner);
    viewer_close(&guest);
}

/* A seat is given to who has the token, for that of one who has not. */
static void test_viewers_without_token_cannot_fill_the_seats(void **state)
{
    (void)state;
    enum { SEATS = NM_LIVE_CLIENTS };
    struct viewer strangers[SEATS], owners[SEATS];
    for (int i = 0; i < SEATS; i++) join(&strangers[i], "/");
    assert_int_equal(ask("GET / HTTP/1.1\r\nHost: localhost\r\n" WEBSOCKET), 503);
    for (int i = 0; i < SEATS; i++) join(&owners[i], "/?token=test-token");
    for (int i = 0; i < SEATS; i++) {
        static char text[1 << 16];
        *text = '\0';
        wait_until(over(strangers[i].fd, text, sizeof text), nm_live_poll(live));
    }
    assert_int_equal(ask("GET / HTTP/1.1\r\nHost: localhost\r\n" WEBSOCKET), 503);
    assert_int_equal(ask("GET /?token=test-token HTTP/1.1\r\nHost: localhost\r\n" WEBSOCKET), 503);
    viewer_say(&owners[0], "{\"op\":\"getParameters\",\"parameterNames\":[],\"id\":\"x\"}");
    wait_until(viewer_next(&owners[0]) && strstr((char *)owners[0].frame, "parameterValues"), nm_live_poll(live));
    for (int i = 0; i < SEATS; i++) {
        viewer_close(&strangers[i]);
        viewer_close(&owners[i]);
    }
}

/* Nothing more is read from a viewer that asks on and on and takes no answer, so that what waits for it stays small. */
static void test_who_takes_no_answers_is_not_read(void **state)
{
    (void)state;
    static const char ask_graph[] = "{\"op\":\"fetchAsset\",\"requestId\":1,\"uri\":\"package://nobody/nothing\"}";
    struct viewer v;
    uint8_t frame[6 + sizeof ask_graph] = {0x81, 0x80 | (sizeof ask_graph - 1)};
    memcpy(frame + 6, ask_graph, sizeof ask_graph - 1);
    join(&v, "/");
    size_t sent = 0;
    int full = 0;
    for (; sent < 64 << 20 && full < 100; nm_live_poll(live)) { /* 64 MiB of requests are never taken */
        ssize_t n = send(v.fd, frame + sent % (sizeof frame - 1), sizeof frame - 1 - sent % (sizeof frame - 1),
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        full = n > 0 ? 0 : full + 1;
        if (n > 0) sent += (size_t)n;
    }
    assert_true(full == 100);
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    assert_int_equal(stats.clients, 1); /* nor is it dropped: the answers come once it takes them */
    wait_until(viewer_next(&v), nm_live_poll(live));
    viewer_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_may_look, begin, end),
        cmocka_unit_test_setup_teardown(test_a_frame_without_a_mask_ends_the_connection, begin, end),
        cmocka_unit_test_setup_teardown(test_silent_connections_keep_nobody_out, begin, end),
        cmocka_unit_test_setup_teardown(test_viewers_without_token_cannot_fill_the_seats, begin, end),
        cmocka_unit_test_setup_teardown(test_who_takes_no_answers_is_not_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* labels: threads
 * A running line-up answers on its socket, one object a request, whatever comes in; it changes when asked to, whole or
 * not at all, and drops who does not listen. Virtual time: the test drives player and socket. */
#include "edge/control/players.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/internal.h"
#include "edge/control/client.h"
#include "edge/control/control.h"
#include "edge/control/place.h"

static struct started s;
static struct nm_control *control;
static struct nm_arena arena;
static char folder[64];
static int64_t now_ms;
static const struct nm_lineup_options where = {.root = "/nonexistent"};

static void run_for(int64_t ms)
{
    now_ms += ms;
    run_until(&s, now_ms);
    nm_control_poll(control, 0);
}

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_server_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    struct nm_err err = {0};
    now_ms = 0;
    start(&s, players_lineup);
    control = nm_control_new(
        s.player, &(struct nm_control_options){.folder = folder, .registry = &s.registry, .lineup = &where}, &err);
    if (!control) fail_msg("%s", err.text);
    run_for(100);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_control_free(control);
    stop(&s);
    nm_arena_free(&arena);
    return rmdir(folder); /* nothing may be left in it */
}

static int dial(void)
{
    struct sockaddr_un address;
    assert_int_equal(nm_control_address(folder, nm_player_name(s.player), &address, NULL), 0);
    int fd = nm_control_dial(&address);
    assert_true(fd >= 0);
    nm_control_poll(control, 0);
    return fd;
}

static char answer[1 << 20];

/* What has come for a client, after the server had its turn. */
static const char *take(int fd)
{
    for (int i = 0; i < 3; i++) nm_control_poll(control, 0);
    ssize_t n = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
    answer[n > 0 ? n : 0] = '\0';
    return answer;
}

static const char *ask_on(int fd, const char *line)
{
    assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
    assert_int_equal(send(fd, "\n", 1, MSG_NOSIGNAL), 1);
    return take(fd);
}

static const char *ask(const char *line)
{
    int fd = dial();
    ask_on(fd, line);
    close(fd);
    size_t n = strlen(answer);
    assert_true(n > 2 && !strcmp(answer + n - 2, "\n\n"));
    nm_control_poll(control, 0);
    return answer;
}

#define HOLDS(part)                                                                                                    \
    if (!strstr(answer, part)) fail_msg("'%s' is not in: %s", part, answer)

static void test_it_tells_who_it_is(void **state)
{
    (void)state;
    ask("{op: info}");
    HOLDS("\"op\": \"info\"");
    HOLDS("\"name\": \"test\"");
    HOLDS("\"cycles\": 2");
    HOLDS("\"instances\": 3");
}

static void test_it_tells_tasks_and_topics(void **state)
{
    (void)state;
    ask("{op: tasks}");
    HOLDS("\"name\": \"fast\", \"period\": 10000000");
    HOLDS("\"trigger\": \"number\"");
    HOLDS("{\"instance\": \"one\", \"module\": \"counter\", \"steps\": 10");
    ask("{op: topics}");
    HOLDS("{\"name\": \"number\", \"type\": \"std_msgs/msg/Float64\"");
    HOLDS("\"makers\": [\"one\"], \"readers\": [\"doubler\"]");
    ask("{op: why, topic: number}");
    HOLDS("\"It is fresh.\"");
}

static void test_what_it_does_not_understand_it_says(void **state)
{
    (void)state;
    ask("hello");
    HOLDS("{\"error\": ");
    ask("{op: why, topic: nunber}");
    HOLDS("no topic 'nunber', did you mean 'number'?");
    ask("{op: params, instance: oen}");
    HOLDS("no instance 'oen'; there are one, reader, doubler");
    ask("{op: swap, instance: one, plugin: /nonexistent.so}");
    HOLDS("{\"error\": ");
    ask("\xff\xfe\x01");
    HOLDS("{\"error\": ");
}

static void test_several_requests_on_one_connection_are_answered_in_order(void **state)
{
    (void)state;
    int fd = dial();
    ask_on(fd, "{op: info}\n{op: nothing}\n{op: watch, on: true}");
    char *info = strstr(answer, "\"info\""), *error = strstr(answer, "error"), *watch = strstr(answer, "\"watch\"");
    assert_true(info && error && watch && info < error && error < watch);
    close(fd);
}

static void test_a_request_may_come_in_pieces(void **state)
{
    (void)state;
    int fd = dial();
    assert_int_equal(send(fd, "{op: ", 5, 0), 5);
    assert_string_equal(take(fd), "");
    ask_on(fd, "info}");
    HOLDS("\"op\": \"info\"");
    close(fd);
}

/* ---- parameters ---- */

static void test_a_set_is_applied_whole_or_not_at_all(void **state)
{
    (void)state;
    ask("{op: set, set: [one.by=2, one.mute=true, one.by=11]}");
    HOLDS("one.by: 11 is outside 0 … 10");
    ask("{op: params, instance: one, param: mute}");
    HOLDS("\"value\": \"false\"");
    ask("{op: set, set: [one.by=2, one.mute=true]}");
    HOLDS("\"generation\": 1, \"n\": 2");
    ask("{op: params, instance: one}");
    HOLDS("\"value\": \"true\", \"default\": \"false\", \"changed\": true, \"layer\": \"live\"");
    struct nm_topic_stats before, after;
    uint32_t number = nm_lineup_topic(s.lineup, "number");
    nm_player_topic_stats(s.player, number, &before);
    run_for(100);
    nm_player_topic_stats(s.player, number, &after);
    assert_int_equal(after.seq, before.seq);
}

static void test_a_change_must_have_its_form(void **state)
{
    (void)state;
    static const char *const wrong[] = {"one.by", "by=1", "=1", ".by=1", "one.=1", "one..=1"};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[128];
        snprintf(line, sizeof line, "{op: set, set: ['%s']}", wrong[i]);
        ask(line);
        HOLDS("{\"error\": ");
    }
}

static void test_a_player_that_has_no_files_cannot_go_back_to_them(void **state)
{
    (void)state;
    ask("{op: reset}");
    HOLDS("{\"error\": ");
    ask("{op: save, layer: lineups}");
    HOLDS("no layer 'lineups' to save to, did you mean 'lineup'?");
    ask("{op: save, layer: live}");
    HOLDS("{\"error\": ");
}

/* Whoever asks again and again does not fill the memory. */
static void test_saving_again_takes_no_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) ask("{op: save, layer: lineup}");
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 10000; i++) ask("{op: save, layer: lineup}");
    assert_true(mallinfo2().uordblks < before + 50000);
}

/* ---- streams ---- */

static void test_echo_gives_each_message_of_a_queue_and_the_newest_of_a_value(void **state)
{
    (void)state;
    int queue = dial(), value = dial();
    ask_on(queue, "{op: echo, topic: lines}");
    HOLDS("\"type\": \"std_msgs/msg/String\"");
    ask_on(value, "{op: echo, topic: /number}");
    run_for(30);
    take(queue);
    HOLDS("twice 11");
    HOLDS("twice 12");
    HOLDS("twice 13");
    take(value);
    HOLDS("{\"seq\": 13, \"time\": 120000000, \"left_out\": 0, \"text\": \"data: 13");
    assert_null(strstr(answer, "data: 12"));
    close(queue);
    close(value);
}

static uint64_t shown(void)
{
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, "show"), &stats);
    return stats.seq;
}

static void test_modules_show_things_only_while_somebody_looks(void **state)
{
    (void)state;
    run_for(20);
    assert_int_equal(shown(), 0);
    int fd = dial();
    ask_on(fd, "{op: echo, topic: show}");
    run_for(20);
    take(fd);
    HOLDS("one/sum");
    close(fd); /* it may also die: nothing stays switched on */
    for (int i = 0; i < 3; i++) nm_control_poll(control, 0);
    uint64_t before = shown();
    run_for(20);
    assert_int_equal(shown(), before);
    ask("{op: watch, on: true}");
    run_for(20);
    assert_true(shown() > before);
}

/* The first figure above 0 of messages left out, in what came. */
static bool tells_of_loss(const char *text)
{
    static const char key[] = "\"left_out\": ";
    for (const char *at = text; (at = strstr(at, key)); at++)
        if (at[sizeof key - 1] != '0') return true;
    return false;
}

static void test_a_listener_that_does_not_read_loses_messages_and_nobody_else_does(void **state)
{
    (void)state;
    int slow = dial();
    ask_on(slow, "{op: echo, topic: number}");
    for (int i = 0; i < 8000; i++) run_for(10);
    /* it is still there, with messages left out, and others are served */
    ask("{op: info}");
    HOLDS("\"op\": \"info\"");
    bool lost = false;
    for (int i = 0; i < 4000 && !lost; i++) {
        run_for(10);
        lost = tells_of_loss(take(slow));
    }
    assert_true(lost);
    close(slow);
}

static void test_a_client_that_asks_but_never_reads_is_dropped(void **state)
{
    (void)state;
    int fd = dial();
    bool dropped = false;
    for (int i = 0; i < 20000 && !dropped; i++) {
        dropped = send(fd, "{op: topics}\n", 13, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EPIPE;
        nm_control_poll(control, 0);
    }
    assert_true(dropped);
    close(fd);
    ask("{op: info}");
}

static void test_more_clients_than_there_is_room_for_are_told(void **state)
{
    (void)state;
    enum { ROOM = 16 };
    int fds[ROOM + 1];
    for (int i = 0; i < ROOM; i++) {
        fds[i] = dial();
        ask_on(fds[i], "{op: echo, topic: number}");
    }
    fds[ROOM] = dial();
    take(fds[ROOM]);
    HOLDS("too many clients");
    for (int i = 0; i <= ROOM; i++) close(fds[i]);
    for (int i = 0; i < 3; i++) nm_control_poll(control, 0);
    ask("{op: info}");
    HOLDS("\"op\": \"info\"");
}

static void test_silent_connections_keep_nobody_out(void **state)
{
    (void)state;
    enum { MANY = 200 };
    int fds[MANY], listens = dial();
    ask_on(listens, "{op: echo, topic: number}");
    for (int i = 0; i < MANY; i++) {
        fds[i] = dial();
        nm_control_poll(control, 0);
    }
    ask("{op: info}");
    HOLDS("\"op\": \"info\"");
    run_for(10);
    take(listens); /* was not pushed out */
    HOLDS("\"seq\"");
    for (int i = 0; i < MANY; i++) close(fds[i]);
    close(listens);
}

static void test_a_line_without_end_is_cut_off(void **state)
{
    (void)state;
    int fd = dial();
    char *line = malloc(NM_REQUEST_LINE);
    memset(line, 'x', NM_REQUEST_LINE);
    for (ssize_t sent = 0, n; sent < NM_REQUEST_LINE; sent += n) {
        n = send(fd, line + sent, (size_t)(NM_REQUEST_LINE - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) n = 0;
        nm_control_poll(control, 0);
    }
    take(fd);
    assert_int_equal(recv(fd, answer, 1, MSG_DONTWAIT), 0);
    free(line);
    close(fd);
}

static void test_what_is_said_reaches_whoever_reads_it(void **state)
{
    (void)state;
    ask("{op: say, topic: far, message: '{data: 7.5}'}");
    HOLDS("\"topic\": \"far\"");
    run_for(40);
    const struct doubler *doubler = s.player->instances[nm_lineup_instance(s.lineup, "doubler")].self;
    assert_true(doubler->far->data > 7.4 && doubler->far->data < 7.6);
}

static void test_what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    ask("{op: say, topic: number, message: '{data: 1}'}");
    HOLDS("cannot be published from outside");
    ask("{op: say, topic: far, message: '{dtaa: 1}'}");
    HOLDS("data");
    ask("{op: say, topic: farr, message: '{data: 1}'}");
    HOLDS("far");
}

static void test_stop_is_passed_on(void **state)
{
    (void)state;
    assert_false(nm_control_stopped(control));
    ask("{op: stop}");
    assert_true(nm_control_stopped(control));
}

/* ---- the socket ---- */

static void test_two_players_of_one_name_do_not_share_a_socket(void **state)
{
    (void)state;
    struct started other;
    struct nm_err err = {0};
    start(&other, players_lineup);
    assert_null(nm_control_new(other.player, &(struct nm_control_options){.folder = folder}, &err));
    assert_non_null(strstr(err.text, "a player of this name is already running"));
    struct nm_control *spare =
        nm_control_new(other.player, &(struct nm_control_options){.folder = folder, .spare = true}, NULL);
    assert_non_null(spare);
    assert_non_null(strstr(nm_control_path(spare), ".sock"));
    assert_string_not_equal(nm_control_path(spare), nm_control_path(control));
    nm_control_free(spare);
    stop(&other);
    ask("{op: info}"); /* the first one still listens */
}

static void test_a_socket_left_over_from_a_crash_is_replaced(void **state)
{
    (void)state;
    struct sockaddr_un address;
    struct started other;
    struct nm_err err = {0};
    start_with(&other, players_lineup, (struct nm_player_options){.name = "crashed"});
    assert_int_equal(nm_control_address(folder, "crashed", &address, NULL), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    struct nm_control *second = nm_control_new(other.player, &(struct nm_control_options){.folder = folder}, &err);
    if (!second) fail_msg("%s", err.text);
    nm_control_free(second);
    stop(&other);
}

static void test_only_its_owner_can_reach_it(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(stat(nm_control_path(control), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* ---- the other end ---- */

static _Atomic bool served;

static void *serve(void *user)
{
    (void)user;
    while (!served) nm_control_poll(control, 5);
    return NULL;
}

static void test_a_client_finds_the_only_player_and_gets_its_answers(void **state)
{
    (void)state;
    struct nm_err err = {0};
    pthread_t thread;
    served = false;
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    struct nm_link *link = nm_link_open(folder, NULL, &err);
    if (!link) fail_msg("%s", err.text);
    const struct nm_yaml *info = nm_link_ask(link, &arena, &(struct nm_request){.op = NM_CONTROL_INFO}, &err);
    assert_non_null(info);
    assert_string_equal(nm_reply_text(info, "name"), "test");
    assert_int_equal(nm_reply_whole(info, "cycles"), 2);
    assert_string_equal(nm_reply_text(info, "robot"), "");
    const char *sets[] = {"one.by=3 ", "one.by=12"};
    struct nm_request set = {.op = NM_CONTROL_SET, .n_set = 2, .set = sets};
    assert_null(nm_link_ask(link, &arena, &set, &err));
    assert_non_null(strstr(err.text, "one.by: 12 is outside 0 … 10"));
    nm_link_close(link);
    memset(&err, 0, sizeof err);
    assert_null(nm_link_open(folder, "other", &err));
    assert_string_equal(err.text, "no player with the name other runs here; there is only test\n");
    served = true;
    pthread_join(thread, NULL);
}

static void test_without_a_player_the_client_says_how_to_start_one(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_null(nm_link_open("/nonexistent", NULL, &err));
    assert_string_equal(err.text, "no player runs here; nutmeg run LINEUP starts one\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_tells_who_it_is),
        TEST(test_it_tells_tasks_and_topics),
        TEST(test_what_it_does_not_understand_it_says),
        TEST(test_several_requests_on_one_connection_are_answered_in_order),
        TEST(test_a_request_may_come_in_pieces),
        TEST(test_a_set_is_applied_whole_or_not_at_all),
        TEST(test_a_change_must_have_its_form),
        TEST(test_a_player_that_has_no_files_cannot_go_back_to_them),
        TEST(test_saving_again_takes_no_memory),
        TEST(test_echo_gives_each_message_of_a_queue_and_the_newest_of_a_value),
        TEST(test_modules_show_things_only_while_somebody_looks),
        TEST(test_a_listener_that_does_not_read_loses_messages_and_nobody_else_does),
        TEST(test_a_client_that_asks_but_never_reads_is_dropped),
        TEST(test_more_clients_than_there_is_room_for_are_told),
        TEST(test_silent_connections_keep_nobody_out),
        TEST(test_a_line_without_end_is_cut_off),
        TEST(test_what_is_said_reaches_whoever_reads_it),
        TEST(test_what_cannot_be_said_is_refused),
        TEST(test_stop_is_passed_on),
        TEST(test_two_players_of_one_name_do_not_share_a_socket),
        TEST(test_a_socket_left_over_from_a_crash_is_replaced),
        TEST(test_only_its_owner_can_reach_it),
        TEST(test_a_client_finds_the_only_player_and_gets_its_answers),
        TEST(test_without_a_player_the_client_says_how_to_start_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

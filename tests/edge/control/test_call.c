/* Services are called over the control socket, those of modules and those of the process, each caller gets its own
 * answer; and what the socket answers is offered to viewers as services. Virtual time: the test drives all. */
#include "core/started.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge/control/client.h"
#include "edge/control/control.h"
#include "edge/control/place.h"
#include "nutmeg_msgs/Control.h"
#include "patience.h"
#include "std_srvs/SetBool.h"

/* Says how often it was asked. */
struct clerk {
    struct nm *nm;
    nm_server(SetBool) count;
    float patience;
    int asked;
};
static void serve(struct clerk *c)
{
    for (uint32_t i = 0; i < c->count.requests.n; i++) {
        SetBool_Response *reply = nm_reply(c->nm, &c->count, c->count.requests.at[i]);
        reply->success = c->count.requests.at[i]->data;
        nm_text(reply->message, "asked %d times", ++c->asked);
    }
}
#define SELF struct clerk
static const struct nm_port ports[] = {NM_SERVER(count, SetBool, "office/count", 4), {0}};
static const struct nm_param params[] = {NM_PARAM(patience, 1, 0, 10, "s", "how long it waits"), {0}};
NM_MODULE(clerk, "Counts calls.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(serve))
#undef SELF

static struct started s;
static struct nm_control *control;
static struct nm_arena arena;
static char folder[64];
static int64_t now_ms;

static void world(void *user, const void *request, void *reply)
{
    ((SetBool_Response *)reply)->success = !((const SetBool_Request *)request)->data;
    nm_text(((SetBool_Response *)reply)->message, "%s", (const char *)user);
}

static const struct nm_desk desk = {
    1, {{"world/turn", &SetBool_Request_type, &SetBool_Response_type, NM_DESK_WORLD, world, "it turns"}}};

static void turn(void)
{
    run_until(&s, now_ms += 10);
    nm_control_poll(control, 0);
}

static int begin(void **state)
{
    struct nm_err err = {0};
    (void)state;
    strcpy(folder, "/tmp/test_call_XXXXXX");
    assert_non_null(mkdtemp(folder));
    now_ms = 0;
    start(&s, "cycles: {office: {period: 10 ms, modules: [clerk]}}\n");
    control = nm_control_new(s.player, &(struct nm_control_options){.folder = folder, .desk = &desk}, &err);
    if (!control) fail_msg("%s", err.text);
    turn();
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_control_free(control);
    stop(&s);
    nm_arena_free(&arena);
    return rmdir(folder);
}

static int dial(void)
{
    struct sockaddr_un address;
    assert_int_equal(nm_control_address(folder, nm_player_name(s.player), &address, NULL), 0);
    int fd = nm_control_dial(&address);
    assert_true(fd >= 0);
    return fd;
}

static char heard[2][8192];

static bool holds(int which, int fd, const char *part)
{
    size_t n = strlen(heard[which]);
    ssize_t more = recv(fd, heard[which] + n, sizeof heard[which] - 1 - n, MSG_DONTWAIT);
    heard[which][n + (more > 0 ? (size_t)more : 0)] = '\0';
    return strstr(heard[which], part);
}

static void say(int fd, const char *line)
{
    assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
}

static void each_caller_gets_its_own_answer(void **state)
{
    (void)state;
    int a = dial(), b = dial();
    heard[0][0] = heard[1][0] = '\0';
    say(a, "{op: call, topic: office/count, message: '{data: true}'}\n");
    wait_until(holds(0, a, "asked 1 times"), turn());
    say(b, "{op: call, topic: /office/count}\n");
    wait_until(holds(1, b, "asked 2 times"), turn());
    assert_true(holds(0, a, "success: true") && holds(1, b, "success: false"));
    for (int i = 0; i < 5; i++) turn();
    assert_false(holds(0, a, "asked 2"));
    assert_false(holds(1, b, "asked 1"));
    say(b, "{op: call, topic: office/count, message: '{dta: 1}'}\n");
    wait_until(holds(1, b, "error"), turn());
    say(b, "{op: call, topic: office/none}\n");
    wait_until(holds(1, b, "there is no service 'office/none'"), turn());
    close(a);
    close(b);
}

static void the_process_answers_itself(void **state)
{
    (void)state;
    int a = dial();
    heard[0][0] = '\0';
    say(a, "{op: call, topic: world/turn, message: '{data: false}'}\n");
    wait_until(holds(0, a, "it turns"), turn());
    say(a, "{op: info}\n");
    wait_until(
        holds(0, a, "{\"name\": \"office/count\", \"type\": \"std_srvs/srv/SetBool\"}, {\"name\": \"world/turn\""),
        turn());
    close(a);
}

static const Control_Response *ask(const struct nm_desk_service *service, const char *text)
{
    static Control_Request request;
    static Control_Response reply;
    nm_reset(&Control_Response_type, &reply);
    nm_text(request.request, "%s", text);
    service->answer(service->user, &request, &reply);
    return &reply;
}

static void viewers_ask_and_change_what_the_socket_offers(void **state)
{
    (void)state;
    static const char *const others[] = {"{op: stop}",
                                         "{op: swap, instance: clerk, plugin: x}",
                                         "{op: echo, topic: show}",
                                         "{op: say, topic: a, message: b}",
                                         "{op: call, topic: world/turn}",
                                         "{op: watch, on: true}"};
    struct nm_desk mine = {0};
    nm_control_desk(control, &mine);
    assert_int_equal(mine.n, 2);
    assert_int_equal(mine.at[0].right, NM_DESK_LOOK);
    assert_int_equal(mine.at[1].right, NM_DESK_ROBOT);
    assert_true(ask(&mine.at[0], "{op: params}")->success);
    assert_non_null(strstr(ask(&mine.at[0], "{op: params}")->answer, "\"about\": \"how long it waits\""));
    assert_false(ask(&mine.at[0], "{op: set, set: ['clerk.patience=2']}")->success);
    assert_true(ask(&mine.at[1], "{op: set, set: ['clerk.patience=2']}")->success);
    turn();
    assert_non_null(strstr(ask(&mine.at[0], "{op: params}")->answer, "\"value\": \"2\""));
    const Control_Response *reply = ask(&mine.at[1], "{op: set, set: ['clerk.patience=20']}");
    assert_false(reply->success);
    assert_non_null(strstr(reply->message, "patience"));
    for (int service = 0; service < 2; service++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (ask(&mine.at[service], others[i])->success) fail_msg("%s", others[i]);
    assert_false(nm_control_stopped(control));
    assert_false(ask(&mine.at[0], "nonsense")->success);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_caller_gets_its_own_answer, begin, end),
        cmocka_unit_test_setup_teardown(the_process_answers_itself, begin, end),
        cmocka_unit_test_setup_teardown(viewers_ask_and_change_what_the_socket_offers, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

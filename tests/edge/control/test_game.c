/* Over the control socket, too, nobody changes a robot that plays, and nobody writes what hardware makes. */
#include "core/started.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "edge/control/control.h"
#include "nutmeg_msgs/MatchState.h"
#include "std_msgs/Int32.h"

struct robot {
    struct nm *nm;
    const MatchState *match;
    const Int32 *servo, *wish;
    float speed;
};
#define SELF struct robot
static void step(struct robot *f) { (void)f; }
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"), NM_IN(servo, Int32, "servo"), NM_IN(wish, Int32, "wish"), {0}};
static const struct nm_param params[] = {NM_PARAM(speed, 1, 0, 10, "m/s", "how fast"), {0}};
NM_MODULE(robot, "Plays.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step))

static const char text[] = "cycles: {c: {period: 10 ms, modules: [robot]}}\nremote: [match_state, servo, wish]\n";

static struct started s;
static struct nm_control *control;
static struct nm_edge *bus;
static char folder[64], answer[8192];
static int client;

static int begin(void **state)
{
    struct nm_err err = {0};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/nutmeg-game-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    start(&s, text);
    bus = nm_edge_new(s.player, "bus", &(struct nm_edge_port){"servo", NM_PORT_OUT, NULL, 0, 0}, 1, &err);
    control = nm_control_new(s.player, &(struct nm_control_options){.folder = folder}, &err);
    if (!bus || !control) fail_msg("%s", err.text);
    run_until(&s, 1);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", nm_control_path(control));
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(client, (struct sockaddr *)&to, sizeof to);
}

static int end(void **state)
{
    (void)state;
    close(client);
    nm_control_free(control);
    stop(&s);
    return rmdir(folder);
}

/* One line there, one line back. */
static void ask(const char *line, const char *part)
{
    ssize_t n = 0, more;
    assert_int_equal(send(client, line, strlen(line), MSG_NOSIGNAL), strlen(line));
    assert_int_equal(send(client, "\n", 1, MSG_NOSIGNAL), 1);
    do {
        nm_control_poll(control, 10);
        more = recv(client, answer + n, sizeof answer - 1 - (size_t)n, MSG_DONTWAIT);
        if (more > 0) n += more;
    } while (!n || answer[n - 1] != '\n');
    answer[n] = '\0';
    if (!strstr(answer, part)) fail_msg("%s", answer);
}

static const struct robot *robot(void) { return nm_player_self(s.player, 0); }

static void a_game_locks_topics_and_parameters(void **state)
{
    (void)state;
    ask("{op: set, set: ['robot.speed=2']}", "\"generation\"");
    ask("{op: say, topic: wish, message: '{data: 1}'}", "\"topic\": \"wish\"");
    ask("{op: say, topic: match_state, message: '{state: 3}'}", "\"topic\": \"match_state\"");
    run_until(&s, 30);
    assert_int_equal(robot()->match->state, MatchState_PLAYING);
    ask("{op: say, topic: wish, message: '{data: 2}'}", "wish is refused: the robot plays (PLAYING)");
    ask("{op: say, topic: match_state, message: '{state: 0}'}", "match_state is refused: the robot plays (PLAYING)");
    ask("{op: set, set: ['robot.speed=3']}", "parameters are locked: the robot plays (PLAYING)");
    ask("{op: swap, instance: robot, plugin: /tmp/other.so}", "modules are locked: the robot plays (PLAYING)");
    ask("{op: why, topic: wish}", "1 message from outside was refused");
    run_until(&s, 60);
    assert_int_equal(robot()->match->state, MatchState_PLAYING);
    assert_int_equal(robot()->wish->data, 1);
    assert_true(robot()->speed > 1.9F && robot()->speed < 2.1F);
}

static void what_hardware_makes_is_refused_and_the_reader_is_told(void **state)
{
    (void)state;
    nm_edge_begin(bus, 1);
    ((Int32 *)nm_edge_out(bus, 0))->data = 7;
    nm_edge_put(bus, 0);
    nm_edge_end(bus);
    ask("{op: say, topic: servo, message: '{data: 8}'}",
        "servo is refused: the edge 'bus' of this process publishes it");
    run_until(&s, 30);
    assert_int_equal(robot()->servo->data, 7);
    ask("{op: why, topic: servo}", "is published by the edge 'bus' of this process; messages from outside are refused");
    ask("{op: topics}", "\"newest_by\": \"bus\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_game_locks_topics_and_parameters, begin, end),
        cmocka_unit_test_setup_teardown(what_hardware_makes_is_refused_and_the_reader_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

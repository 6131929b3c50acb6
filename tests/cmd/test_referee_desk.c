/* Somebody with a browser gives orders to a referee: the match obeys, refusals come back with their reason, and the
 * state of the match is a topic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/referee_desk.h"
#include "core/nm.h"
#include "edge/live/live.h"
#include "edge/live/viewer.h"

static struct {
    struct nm_match match;
    struct referee_desk *desk;
    struct nm_live *live;
    struct viewer viewer;
    uint32_t service;
    int64_t now;
} g;

static const struct nm_match *match_of(void *user) { return (void)user, &g.match; }

static int happen(void *user, const struct nm_match_event *event, struct nm_err *err)
{
    (void)user;
    return nm_match_happen(&g.match, event, err);
}

static void turn(void)
{
    g.now += 10000000;
    nm_match_advance(&g.match, g.now);
    nm_live_poll(g.live);
    referee_desk_poll(g.desk, g.now);
}

static bool heard(int opcode, const char *part)
{
    while (viewer_next(&g.viewer))
        if (g.viewer.opcode == opcode && memmem(g.viewer.frame, g.viewer.frame_size, part, strlen(part))) return true;
    return false;
}

static uint32_t id_before(const char *name)
{
    const char *at = strstr((char *)g.viewer.frame, name);
    assert_non_null(at);
    while (strncmp(at, "\"id\": ", 6)) at--;
    return (uint32_t)strtoul(at + 6, NULL, 10);
}

static int begin(void **state)
{
    struct nm_err err = {0};
    const struct nm_match_options options = {.league = NM_GAME_HSL, .team_numbers = {7, 9}};
    (void)state;
    assert_int_equal(nm_match_begin(&g.match, &options, &err), 0);
    g.desk = referee_desk_new(&(struct referee_desk_options){.match = match_of, .happen = happen}, &err);
    assert_non_null(g.desk);
    g.live = nm_live_new(referee_desk_player(g.desk), &(struct nm_live_options){.token = "whistle-token"}, &err);
    if (!g.live) fail_msg("%s", err.text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_live_free(g.live);
    referee_desk_free(g.desk);
    return 0;
}

static void dial(const char *path)
{
    viewer_dial(&g.viewer, nm_live_port(g.live), path);
    wait_until(viewer_upgraded(&g.viewer), turn());
    wait_until(heard(1, "/referee/order"), turn());
    g.service = id_before("/referee/order");
}

static void order(const char *text)
{
    char frame[200] = {2};
    int n = snprintf(frame + 13, sizeof frame - 13, "json{\"order\": \"%s\"}", text);
    memcpy(frame + 1, &g.service, 4);
    frame[5] = 1; /* number of the call */
    frame[9] = 4; /* letters of the encoding */
    viewer_send(&g.viewer, 2, frame, 13 + (size_t)n);
}

static void orders_are_obeyed_or_refused_with_the_reason(void **state)
{
    static const struct {
        const char *order, *answer;
    } calls[] = {{"ready", "READY"},
                 {"set", "SET"},
                 {"play", "PLAYING"},
                 {"goal red", "1:0  READY"},
                 {"goal red", "goal: not in READY"},
                 {"penalty blue 2 pushing", "READY"},
                 {"penalty blue 2 puhsing", "did you mean pushing?"},
                 {"penalty 9 20 pushing", "there is no player 20"},
                 {"stop", "READY"},
                 {"continue", "READY"},
                 {"", "there is nothing in this line"}};
    (void)state;
    dial("/?token=whistle-token");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        order(calls[i].order);
        wait_until(heard(2, calls[i].answer), turn());
    }
    assert_int_equal(g.match.teams[0].score, 1);
    assert_true(g.match.teams[1].players[1].penalised);
    viewer_close(&g.viewer);
}

static void the_state_is_a_topic(void **state)
{
    char text[128];
    (void)state;
    viewer_dial(&g.viewer, nm_live_port(g.live), "/");
    wait_until(viewer_upgraded(&g.viewer), turn());
    wait_until(heard(1, "/referee/state"), turn());
    snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":%u}]}",
             id_before("/referee/state"));
    viewer_say(&g.viewer, text);
    wait_until(heard(2, "1:0  READY"), turn());
    viewer_close(&g.viewer);
}

static void without_the_token_nobody_is_obeyed(void **state)
{
    (void)state;
    dial("/");
    order("finish");
    wait_until(heard(1, "read only"), turn());
    assert_int_equal(g.match.state, NM_GAME_READY);
    viewer_close(&g.viewer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_obeyed_or_refused_with_the_reason),
                                       cmocka_unit_test(the_state_is_a_topic),
                                       cmocka_unit_test(without_the_token_nobody_is_obeyed)};
    return cmocka_run_group_tests(tests, begin, end);
}

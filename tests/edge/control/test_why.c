/* Why a topic is stale is told down to where it begins. */
#include "edge/control/players.h"

#include "edge/control/control.h"

static char told[8192];

static void tell(void *user, const char *sentence)
{
    (void)user;
    strcat(told, sentence);
    strcat(told, "\n");
}

static const char *why(const struct nm_lineup *lineup, const struct nm_player *player, const char *topic)
{
    const struct nm_view view = {.lineup = lineup, .player = player};
    told[0] = '\0';
    nm_why(&view, nm_lineup_topic(lineup, topic), tell, NULL);
    return told;
}

#define SAYS(sentence)                                                                                                 \
    if (!strstr(told, sentence)) fail_msg("'%s' is not in:\n%s", sentence, told)
#define SAYS_NOT(sentence)                                                                                             \
    if (strstr(told, sentence)) fail_msg("'%s' is in:\n%s", sentence, told)

static void mute(struct started *s, bool on)
{
    struct nm_change change = {.instance = nm_lineup_instance(s->lineup, "one")};
    change.param = (uint32_t)nm_param_find(s->lineup->instances[change.instance].module, "mute", NULL);
    change.value.whole = on;
    assert_true(nm_player_set(s->player, &change, 1, NULL) > 0);
}

static void test_the_line_up_alone_tells_makers_and_readers(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    why(s.lineup, NULL, "number");
    assert_string_equal(told,
                        "number (std_msgs/msg/Float64) is made by one (module counter) in the cycle fast, which runs "
                        "every 10 ms.\nIt is read by doubler (slow).\n");
    why(s.lineup, NULL, "doubled");
    SAYS("is made by doubler in the cycle slow, which runs with each number.\nIt is read by reader (fast, one run "
         "later).");
    why(s.lineup, NULL, "lines");
    SAYS("Nobody in this line-up reads it.");
    why(s.lineup, NULL, "far");
    SAYS("far (std_msgs/msg/Float64) comes from outside this line-up.");
    why(s.lineup, NULL, "rosout");
    SAYS("written by the runtime itself");
    stop(&s);
}

static void test_a_fresh_topic_is_fresh(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    run_until(&s, 1005);
    why(s.lineup, s.player, "doubled");
    SAYS("101 messages; the newest is 5 ms old.\nIt is fresh.\n");
    SAYS_NOT("root cause");
    stop(&s);
}

static void test_a_maker_that_chooses_not_to_publish_is_the_root(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    run_until(&s, 1000);
    mute(&s, true);
    run_until(&s, 5000);
    why(s.lineup, s.player, "number");
    SAYS("the newest is 4.01 s old");
    SAYS("root cause: one runs and its inputs are fresh: it chose not to publish");
    stop(&s);
}

static void test_a_cycle_that_waits_leads_to_what_it_waits_for(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    mute(&s, true);
    run_until(&s, 5000);
    why(s.lineup, s.player, "doubled");
    SAYS("It was never published.\nIt is stale:\n");
    SAYS("the cycle slow does not run: it waits for number.\n    number was never published:\n");
    SAYS("root cause: one runs");
    stop(&s);
}

static void test_nothing_from_outside_is_the_root(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    run_until(&s, 2000);
    why(s.lineup, s.player, "far");
    SAYS("root cause: nothing arrives from outside");
    stop(&s);
}

/* a doubler in the same cycle: its cycle runs, but its inputs are stale */
static void test_stale_inputs_are_followed_upstream(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  all:\n    period: 10 ms\n    modules: [counter, doubler]\nremote: [far]\n");
    struct nm_change change = {.instance = nm_lineup_instance(s.lineup, "counter"), .value.whole = true};
    assert_true(nm_player_set(s.player, &change, 1, NULL) > 0);
    run_until(&s, 5000);
    why(s.lineup, s.player, "doubled");
    SAYS("doubler runs, but its input is stale.");
    SAYS("    number was never published:\n    root cause: counter runs and its inputs are fresh");
    SAYS("    far was never published:\n    root cause: nothing arrives from outside");
    stop(&s);
}

static void know_more(void *user, const char *topic, nm_say *say, void *to)
{
    assert_string_equal(topic, "number");
    say(to, user);
}

static void test_what_another_edge_knows_is_told_too(void **state)
{
    (void)state;
    struct started s;
    start(&s, players_lineup);
    run_until(&s, 100);
    const struct nm_view view = {.lineup = s.lineup,
                                 .player = s.player,
                                 .outside = know_more,
                                 .outside_user = "a stranger writes it as std_msgs::msg::dds_::String_"};
    told[0] = '\0';
    nm_why(&view, nm_lineup_topic(s.lineup, "number"), tell, NULL);
    SAYS("a stranger writes it as std_msgs::msg::dds_::String_");
    stop(&s);
}

/* It was made without `far` before: only what fell silent with it can be why. */
static void test_the_chain_leads_to_what_fell_silent_first(void **state)
{
    (void)state;
    struct started s;
    start(&s, "cycles:\n  all:\n    period: 10 ms\n    modules: [counter, doubler]\nremote: [far]\n");
    struct nm_change change = {.instance = nm_lineup_instance(s.lineup, "counter"), .value.whole = true};
    run_until(&s, 2000);
    why(s.lineup, s.player, "doubled");
    SAYS("It is fresh.\n");
    SAYS_NOT("irst cause");
    assert_true(nm_player_set(s.player, &change, 1, NULL) > 0);
    run_until(&s, 5000);
    why(s.lineup, s.player, "doubled");
    SAYS("doubler runs, but its input is stale.");
    SAYS_NOT("far");
    SAYS("\nRoot cause: number: counter runs and its inputs are fresh");
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_line_up_alone_tells_makers_and_readers),
        cmocka_unit_test(test_a_fresh_topic_is_fresh),
        cmocka_unit_test(test_a_maker_that_chooses_not_to_publish_is_the_root),
        cmocka_unit_test(test_a_cycle_that_waits_leads_to_what_it_waits_for),
        cmocka_unit_test(test_nothing_from_outside_is_the_root),
        cmocka_unit_test(test_stale_inputs_are_followed_upstream),
        cmocka_unit_test(test_what_another_edge_knows_is_told_too),
        cmocka_unit_test(test_the_chain_leads_to_what_fell_silent_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

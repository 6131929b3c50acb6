/* The team's radio: what arrives with mates and what is ignored, clocks, and who may speak when. The budget over whole
 * games is in test_message_budget.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "codec/mitecom.h"
#include "codec/robocup_protobuf.h"
#include "codec/team_compact.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "humanoid_league_msgs/TeamData.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/TeamState.h"

extern const struct nm_module team_radio_module;

enum { US = 6, ME = 3, HOST = 100 /* and the number: addresses of mates */ };

static struct nm_harness *h;
static double now;
static MatchState match;
static TeamMessage own;
static uint32_t n_sent;
static Datagram last;

#define near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

static void step(double seconds)
{
    const void *const *at;
    *(MatchState *)nm_harness_set(h, "match_state") = match;
    TeamMessage *message = nm_harness_set(h, "team_message");
    nm_copy(&TeamMessage_type, message, &own);
    message->header.stamp = nm_stamp(nm_ns(now));
    nm_harness_step(h, seconds);
    now += seconds;
    uint32_t n = nm_harness_queue(h, "team/sent", &at);
    for (uint32_t i = 0; i < n; i++) nm_copy(&Datagram_type, &last, at[i]);
    n_sent += n;
}

static uint32_t count(double seconds)
{
    uint32_t before = n_sent;
    for (double until = now + seconds; now < until - 1e-6;) step(0.05);
    return n_sent - before;
}

static void begin(const char *settings, uint8_t league)
{
    h = nm_harness_new(&team_radio_module, settings);
    now = n_sent = 0;
    match = (MatchState){.connected = true,
                         .state = MatchState_PLAYING,
                         .packet_state = MatchState_PLAYING,
                         .own_team = US,
                         .player_number = ME,
                         .players_per_team = 4,
                         .league = league,
                         .first_half = true,
                         .seconds_remaining = 600,
                         .message_budget = league == MatchState_LEAGUE_SPL ? 1200 : 12000};
    nm_reset(&TeamMessage_type, &own);
    own.state = TeamMessage_STATE_ACTIVE;
    own.role = TeamMessage_ROLE_STRIKER;
    own.pose.pose = (Pose2D){1, 2, 0.5};
    own.pose.weight = 1;
    own.time_to_ball = INFINITY;
}

static void end(void) { nm_harness_free(h); }

static struct nm_team_news mate_says(uint8_t player, uint16_t number)
{
    return (struct nm_team_news){.team = US,
                                 .player = player,
                                 .numbered = true,
                                 .number = number,
                                 .stamped = true,
                                 .stamp = nm_ns(now),
                                 .state = NM_NEWS_ACTIVE,
                                 .role = NM_NEWS_KEEPER,
                                 .time_to_ball = 4,
                                 .knows_pose = true,
                                 .x = -4,
                                 .y = 0.5f,
                                 .theta = 0.1f,
                                 .sigma_x = 0.1f,
                                 .sigma_y = 0.1f,
                                 .sigma_theta = 0.1f,
                                 .belief = 1,
                                 .knows_ball = true,
                                 .ball_x = 2,
                                 .ball_y = -1,
                                 .ball_vx = 0.5f,
                                 .ball_sigma_x = 0.2f,
                                 .ball_sigma_y = 0.2f,
                                 .ball_confidence = 1};
}

static void receive_bytes(const void *bytes, size_t n, uint32_t host)
{
    Datagram *d = nm_harness_set(h, "team/received");
    d->header.stamp = nm_stamp(nm_ns(now));
    d->host = host;
    d->data.n = (uint32_t)n;
    memcpy(d->data.at, bytes, n);
}

static void receive(const struct nm_team_news *news)
{
    uint8_t bytes[512];
    receive_bytes(bytes, nm_compact_encode(news, bytes, sizeof bytes), (uint32_t)HOST + news->player);
}

static const TeamMate *mate(uint8_t player)
{
    const TeamState *state = nm_harness_get(h, "team_state");
    for (uint32_t i = 0; i < state->mates.n; i++)
        if (state->mates.at[i].player_number == player) return &state->mates.at[i];
    return NULL;
}

/* ---- hearing ---- */

static void test_mates_are_heard(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HSL);
    count(1);
    struct nm_team_news news = mate_says(1, 7);
    receive(&news);
    step(0.05);
    const TeamMate *m = mate(1);
    assert_non_null(m);
    assert_true(m->alive);
    assert_int_equal(m->received, 1);
    assert_int_equal(m->message.role, TeamMessage_ROLE_KEEPER);
    near(m->message.pose.pose.x, -4, 0.006);
    near(m->message.pose.covariance[0], 0.01, 0.002);
    assert_true(m->message.ball_known);
    near(m->message.ball.x, 2, 0.006);
    near(m->message.ball_velocity.x, 0.5, 0.011);
    near(m->message.time_to_ball, 4, 0.06);
    const TeamData *d = nm_harness_get(h, "team_data");
    assert_int_equal(d->robot_ids.n, 1);
    assert_int_equal(d->robot_ids.at[0], 1);
    assert_int_equal(d->role.at[0], TeamData_ROLE_GOALIE);
    near(d->robot_positions.at[0].y, 0.5, 0.006);
    near(d->ball_relative.at[0].pose.x, 6 * cos(0.1) - 1.5 * sin(0.1), 0.05); /* from that robot */
    count(4);
    assert_false(mate(1)->alive); /* silent */
    news = mate_says(1, 8);
    news.state = NM_NEWS_PENALIZED;
    receive(&news);
    step(0.05);
    assert_false(mate(1)->alive);
    end();
}

static void test_protocols(void **state)
{
    (void)state;
    begin("second=protobuf", MatchState_LEAGUE_HL);
    uint8_t bytes[512];
    step(0.05);
    struct nm_team_news news = mate_says(2, 1);
    receive_bytes(bytes, nm_mitecom_encode(&news, bytes, sizeof bytes), 1);
    news = mate_says(4, 1);
    receive_bytes(bytes, nm_protobuf_encode(&news, bytes, sizeof bytes), 2);
    news = mate_says(5, 1);
    receive_bytes(bytes, nm_compact_encode(&news, bytes, sizeof bytes), 3);
    step(0.05);
    for (uint8_t p = 2; p <= 5; p++) {
        if (p == ME) continue;
        assert_non_null(mate(p));
        near(mate(p)->message.pose.pose.x, -4, 0.02);
        near(mate(p)->message.ball.x, 2, 0.06);
    }
    end();
}

static void check_ignored(const struct nm_team_news *news, uint32_t host)
{
    uint8_t bytes[512];
    const TeamMate *m = mate(1);
    uint32_t received = m ? m->received : 0;
    receive_bytes(bytes, nm_compact_encode(news, bytes, sizeof bytes), host);
    step(0.05);
    m = mate(1);
    assert_int_equal(m ? m->received : 0, received);
    assert_null(mate(ME));
}

static void test_what_is_false_is_ignored(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HSL);
    count(1);
    struct nm_team_news good = mate_says(1, 100), bad;
    receive(&good);
    step(0.05);
    bad = mate_says(1, 101);
    bad.team = US + 1; /* another team */
    check_ignored(&bad, HOST + 1);
    bad = mate_says(ME, 101); /* our number from elsewhere */
    check_ignored(&bad, HOST + ME);
    bad = mate_says(1, 101); /* its number from elsewhere */
    check_ignored(&bad, HOST + 9);
    bad = mate_says(1, 100); /* repeated */
    check_ignored(&bad, HOST + 1);
    bad = mate_says(1, 90); /* old */
    check_ignored(&bad, HOST + 1);
    bad = mate_says(1, 101);
    bad.x = 15; /* not in this hall */
    check_ignored(&bad, HOST + 1);
    bad = mate_says(1, 101);
    bad.knows_pose = false;
    bad.ball_y = -12;
    check_ignored(&bad, HOST + 1);
    uint8_t bytes[512];
    good = mate_says(1, 101);
    size_t n = nm_compact_encode(&good, bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut++) {
        receive_bytes(bytes, cut, HOST + 1);
        step(0.01);
        assert_int_equal(mate(1)->received, 1);
    }
    receive_bytes(bytes, n, HOST + 1);
    step(0.05);
    assert_int_equal(mate(1)->received, 2);
    const struct nm_team_news far = mate_says(1, 105);
    receive(&far);
    step(0.05);
    assert_int_equal(mate(1)->lost, 3);
    end();
}

static void test_its_own_words_come_back_quietly(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HL);
    step(0.05);
    assert_int_equal(n_sent, 1);
    receive_bytes(last.data.at, last.data.n, 1);
    step(0.05);
    const void *const *at;
    assert_int_equal(nm_harness_queue(h, "rosout", &at), 0);
    assert_null(mate(ME));
    last.data.at[8] ^= 1;
    receive_bytes(last.data.at, last.data.n, 1);
    step(0.05);
    assert_int_equal(nm_harness_queue(h, "rosout", &at), 1); /* but nobody else may use them */
    end();
}

/* A flood of invented players pushes no mate out. */
static void test_many_numbers_push_nobody_out(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HSL);
    count(1);
    for (int round = 0; round < 50; round++)
        for (uint8_t p = 1; p <= 20; p++) {
            struct nm_team_news news = mate_says(p, (uint16_t)round);
            receive(&news);
            step(0.01);
        }
    assert_non_null(mate(1));
    assert_int_equal(mate(1)->received, 50);
    const TeamState *team = nm_harness_get(h, "team_state");
    assert_int_equal(team->mates.n, 10);
    end();
}

/* Stamps of mates on our clock: another zero, delays that vary, a slow drift, and a clock that is set. */
static void test_clocks_are_compared(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(5, 0, 0);
    begin(NULL, MatchState_LEAGUE_HSL);
    count(1);
    double offset = 1234.5; /* s, its clock is behind */
    uint16_t number = 0;
    for (int i = 0; i < 300; i++) {
        if (i == 150) offset = -777; /* its clock is set */
        double said = now, delay = 0.005 + 0.1 * nm_dice_roll(&dice), drift = 2e-5 * now;
        struct nm_team_news news = mate_says(1, ++number);
        news.stamp = nm_ns(said + 2000 - offset + drift);
        while (now < said + delay) step(0.005);
        receive(&news);
        step(0.005);
        if (i < 20 || (i >= 150 && i < 180)) continue;
        const TeamMate *m = mate(1);
        assert_int_equal(nm_stamp_ns(m->message.header.stamp) > nm_ns(said - 0.03), 1);
        assert_int_equal(nm_stamp_ns(m->message.header.stamp) < nm_ns(said + 0.03), 1);
        near(m->delay, 0.055, 0.05);
        while (now < said + 0.3) step(0.05);
    }
    assert_true(mate(1)->received > 290);
    end();
}

/* A delay that all messages have cannot be told from another clock, unless the mate answers: then the round trip tells
 * it. The mate speaks three times a second and answers the message of this robot that it heard last. */
static void check_slow_network(bool answers)
{
    enum { LATE = 30, HELD = 8, EVERY = 33 }; /* steps of 10 ms: there and back, and between two messages of the mate */
    struct nm_dice dice = nm_dice_new(6, 0, 0);
    struct nm_team_news news = {0}, back[200];
    int due[200], answer_to = -1;
    uint32_t said = 0, heard = 0;
    begin(NULL, MatchState_LEAGUE_HL);
    for (int i = 0; i < 600; i++) {
        if (n_sent && nm_compact_decode(last.data.at, last.data.n, &news)) answer_to = news.number;
        if (i % EVERY == 0 && said < 200) {
            back[said] = mate_says(1, (uint16_t)(said + 1));
            back[said].stamp += nm_ns(5000);
            back[said].echoes = answers && answer_to >= 0;
            back[said].echo_player = ME;
            back[said].echo_number = (uint8_t)(answer_to + 256);
            /* it was heard LATE after it was said; both are known here by the stamp */
            back[said].echo_held = (float)(now - nm_seconds(news.stamp) - 0.01 * LATE);
            if (back[said].echo_held < 0) back[said].echoes = false; /* it is still on its way */
            due[said++] = i + LATE + (int)(nm_dice_bits(&dice) % 3);
        }
        while (heard < said && due[heard] <= i) receive(&back[heard++]);
        step(0.01);
    }
    const TeamMate *m = mate(1);
    double late = now - nm_seconds(nm_stamp_ns(m->message.header.stamp)), truth = now + 5000;
    truth -= nm_seconds(back[heard - 1].stamp);
    near(late, answers ? truth : truth - 0.01 * LATE, 0.04);
    near(m->delay, answers ? 0.01 * LATE : 0.01, 0.04);
    end();
}

static void test_the_round_trip_tells_a_slow_network_from_another_clock(void **state)
{
    (void)state;
    check_slow_network(false);
    check_slow_network(true);
}

/* Everybody is answered in turn, whoever speaks more often. */
static void test_mates_are_answered_in_turn(void **state)
{
    (void)state;
    uint32_t answered[6] = {0}, before = 0;
    begin(NULL, MatchState_LEAGUE_HL);
    for (uint16_t i = 0; i < 400; i++) {
        struct nm_team_news a = mate_says(1, i), b = mate_says(5, (uint16_t)(i / 10)), said;
        receive(&a);
        if (i % 10 == 0) receive(&b);
        step(0.05);
        if (n_sent == before) continue;
        before = n_sent;
        assert_true(nm_compact_decode(last.data.at, last.data.n, &said) && said.echoes);
        assert_true(said.echo_player == 1 || said.echo_player == 5);
        assert_int_equal(said.echo_number, (uint8_t)(said.echo_player == 1 ? i : i / 10));
        near(said.echo_held, said.echo_player == 1 ? 0 : 0.05 * (i % 10), 0.051);
        answered[said.echo_player]++;
    }
    assert_true(answered[1] > 25 && answered[5] > 25);
    end();
}

static void test_what_was_long_on_its_way_is_old(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HSL);
    count(10);
    struct nm_team_news news = mate_says(1, 1);
    receive(&news);
    step(0.05);
    news = mate_says(1, 2);
    news.stamp -= nm_ns(4); /* 4 s on its way */
    receive(&news);
    step(0.05);
    assert_int_equal(mate(1)->received, 1);
    news = mate_says(1, 3);
    receive(&news);
    step(0.05);
    assert_int_equal(mate(1)->received, 2);
    end();
}

/* ---- speaking ---- */

static void test_three_a_second_where_it_is_free(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HL);
    assert_in_range(count(20), 55, 61);
    match.state = MatchState_INITIAL;
    assert_in_range(count(20), 55, 61);
    assert_int_equal(last.host, UINT32_MAX);
    assert_int_equal(last.port, 10000 + US);
    struct nm_team_news news;
    assert_true(nm_compact_decode(last.data.at, last.data.n, &news));
    assert_int_equal(news.team, US);
    assert_int_equal(news.player, ME);
    near(news.x, 1, 0.006);
    end();
}

static void test_silence_where_it_is_not_allowed(void **state)
{
    (void)state;
    for (uint8_t league = MatchState_LEAGUE_SPL; league <= MatchState_LEAGUE_HSL; league++) {
        begin(NULL, league);
        count(20);
        static const uint8_t silent[] = {MatchState_INITIAL, MatchState_FINISHED};
        for (int i = 0; i < 2; i++) {
            match.state = silent[i];
            assert_int_equal(count(20), 0);
        }
        match.state = MatchState_PLAYING;
        match.penalized = true;
        assert_int_equal(count(20), 0);
        match.penalized = false;
        match.phase = MatchState_PHASE_TIMEOUT;
        assert_int_equal(count(20), 0);
        match.phase = MatchState_PHASE_NORMAL;
        assert_true(count(20) > 0);
        match.message_budget = 3; /* less than one for each */
        assert_int_equal(count(20), 0);
        end();
    }
}

/* Before the game nobody has spoken, so it may speak in READY at once; who starts in the middle of a game waits until
 * the controller has counted what it may have said before. */
static void test_the_first_word(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_HSL);
    match.state = MatchState_INITIAL;
    assert_int_equal(count(1), 0);
    match.state = MatchState_READY;
    assert_true(count(0.5) > 0);
    end();
    begin(NULL, MatchState_LEAGUE_HSL);
    assert_int_equal(count(5.5), 0);
    assert_true(count(2) > 0);
    end();
}

/* A robot that is lost does not tell of places that its mates would not believe. */
static void test_the_impossible_is_not_said(void **state)
{
    (void)state;
    struct nm_team_news news;
    begin(NULL, MatchState_LEAGUE_HL);
    own.ball_known = true;
    own.ball = (Point){2, 1, 0};
    count(1);
    assert_true(nm_compact_decode(last.data.at, last.data.n, &news) && news.knows_ball && news.knows_pose);
    own.ball.x = 12;
    count(1);
    assert_true(nm_compact_decode(last.data.at, last.data.n, &news) && !news.knows_ball && news.knows_pose);
    own.pose.pose.y = -9;
    count(1);
    assert_true(nm_compact_decode(last.data.at, last.data.n, &news) && !news.knows_pose);
    end();
}

static void test_sizes_of_the_leagues(void **state)
{
    (void)state;
    static const struct {
        uint8_t league;
        uint32_t most;
    } rows[] = {{MatchState_LEAGUE_SPL, 128}, {MatchState_LEAGUE_HSL, 512}};
    static const char *const protocols[] = {"protocol=compact", "protocol=mitecom", "protocol=protobuf"};
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < 3; p++) {
            begin(protocols[p], rows[i].league);
            for (int k = 0; k < 8; k++) {
                Obstacle *o = nm_append(&own.obstacles, &Obstacle_type);
                o->kind = Obstacle_RIVAL;
                o->confidence = 1;
            }
            own.proposed_roles.n = own.search_points.n = 20;
            memset(own.errors, 'e', 63);
            count(10);
            assert_true(n_sent > 0);
            assert_in_range(last.data.n, 20, rows[i].most);
            end();
        }
}

static void test_the_urgent_comes_first(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_SPL);
    match.players_per_team = 7;
    count(200);
    assert_int_equal(count(1), 0);
    const TeamState *team = nm_harness_get(h, "team_state");
    near(team->interval, 7, 2); /* 1,200 messages, 1,200 s, 7 robots */
    own.role = TeamMessage_ROLE_DEFENDER;
    assert_int_equal(count(0.2), 1);
    own.ball_known = true;
    assert_int_equal(count(0.5), 1);
    own.ball_claimed = true;
    assert_int_equal(count(0.5), 1);
    /* somebody who changes his mind all the time is heard as long as there is credit, not longer */
    uint32_t n = 0;
    for (int i = 0; i < 200; i++) {
        own.role = i % 2 ? TeamMessage_ROLE_STRIKER : TeamMessage_ROLE_DEFENDER;
        n += count(0.5);
    }
    assert_in_range(n, 8, 25);
    end();
}

static void test_without_a_controller_it_hardly_speaks(void **state)
{
    (void)state;
    begin(NULL, MatchState_LEAGUE_UNKNOWN);
    match.connected = false;
    match.players_per_team = 0;
    uint32_t n = count(1300);
    assert_in_range(n, 50, 120); /* a tenth of the smallest budget */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mates_are_heard),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_what_is_false_is_ignored),
        cmocka_unit_test(test_its_own_words_come_back_quietly),
        cmocka_unit_test(test_many_numbers_push_nobody_out),
        cmocka_unit_test(test_clocks_are_compared),
        cmocka_unit_test(test_the_round_trip_tells_a_slow_network_from_another_clock),
        cmocka_unit_test(test_mates_are_answered_in_turn),
        cmocka_unit_test(test_what_was_long_on_its_way_is_old),
        cmocka_unit_test(test_three_a_second_where_it_is_free),
        cmocka_unit_test(test_silence_where_it_is_not_allowed),
        cmocka_unit_test(test_the_first_word),
        cmocka_unit_test(test_the_impossible_is_not_said),
        cmocka_unit_test(test_sizes_of_the_leagues),
        cmocka_unit_test(test_the_urgent_comes_first),
        cmocka_unit_test(test_without_a_controller_it_hardly_speaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

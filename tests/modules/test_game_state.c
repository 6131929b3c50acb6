/* The game as a robot knows it: packets of every league, the whistle before them, buttons, and everything that others
 * may send to confuse it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "codec/gamecontroller.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/GameState.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/Buttons.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/Leds.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/TeamState.h"
#include "nutmeg_msgs/Whistle.h"
#include "rcl_interfaces/Log.h"
#include "std_srvs/SetBool.h"

extern const struct nm_module game_state_module;

enum { US = 6, THEM = 9, NUMBER = 3 };
static const uint32_t CONTROLLER = 0x0a000001;

static struct rig {
    struct nm_harness *h;
    struct nm_game_packet p; /* sent every half a second */
    bool quiet;              /* the controller           */
    double time, sent;       /* s                        */
    double roll;             /* m/s, of the ball         */
    uint32_t returns;        /* packets                  */
    struct nm_game_return said;
    Datagram answer; /* the last one */
    uint32_t warnings;
    char warning[512]; /* the last one */
} r;

static void begin(uint8_t version)
{
    r = (struct rig){.h = nm_harness_new(&game_state_module, "team=6, player=3"), .sent = -1};
    r.p = (struct nm_game_packet){.version = version,
                                  .players_per_team = 4,
                                  .kicking_team = 255,
                                  .kick_off_team = 255,
                                  .seconds = 600,
                                  .first_half = 1};
    r.p.teams[0] = (struct nm_game_team){.number = THEM, .color = 1, .goalkeeper = 1, .message_budget = 1200};
    r.p.teams[1] = (struct nm_game_team){.number = US, .color = 0, .goalkeeper = 2, .message_budget = 1100, .score = 2};
}

static void end(void) { nm_harness_free(r.h); }

static void receive(const void *bytes, size_t n, uint32_t host)
{
    Datagram *d = nm_harness_set(r.h, "game/received");
    d->host = host;
    d->port = 40000;
    memcpy(d->data.at, bytes, n);
    d->data.n = (uint32_t)n;
}

static void transmit(void)
{
    uint8_t bytes[NM_GAME_LONGEST];
    r.p.number++;
    receive(bytes, nm_game_encode(&r.p, bytes, sizeof bytes), CONTROLLER);
    r.sent = r.time;
}

static void step(void)
{
    const void *const *at;
    if (!r.quiet && r.time - r.sent >= 0.5) transmit();
    nm_harness_step(r.h, 0.02);
    r.time += 0.02;
    uint32_t n = nm_harness_queue(r.h, "game/sent", &at);
    for (uint32_t i = 0; i < n; i++) {
        nm_copy(&Datagram_type, &r.answer, at[i]);
        r.returns += nm_game_return_decode(r.answer.data.at, r.answer.data.n, &r.said);
    }
    n = nm_harness_queue(r.h, "rosout", &at);
    for (uint32_t i = 0; i < n; i++) {
        const Log *log = at[i];
        if (log->level < NM_WARN) continue;
        r.warnings++;
        snprintf(r.warning, sizeof r.warning, "%s", log->msg);
    }
}

static const MatchState *play(double seconds)
{
    for (double until = r.time + seconds; r.time < until - 1e-6;) step();
    return nm_harness_get(r.h, "match_state");
}

static const MatchState *change(uint8_t state)
{
    r.p.state = state;
    transmit();
    return play(0.1);
}

static void whistle(float confidence)
{
    Whistle *w = nm_harness_set(r.h, "whistle");
    w->heard = nm_stamp(nm_ns(r.time));
    w->confidence = confidence;
}

/* The robot stands in the centre and sees the ball there. */
static void see_ball(double x, double y)
{
    PoseWithCovarianceStamped *pose = nm_harness_set(r.h, "pose");
    BallModel *ball = nm_harness_set(r.h, "ball");
    pose->pose.pose.orientation.w = 1;
    ball->valid = true;
    ball->confidence = 1;
    ball->position = (Point){x, y, 0};
    ball->velocity.x = r.roll;
    ball->last_seen = nm_stamp(nm_ns(r.time));
}

static const MatchState *watch_ball(double seconds, double x, double y)
{
    for (double until = r.time + seconds; r.time < until - 1e-6;) {
        see_ball(x, y);
        step();
    }
    return nm_harness_get(r.h, "match_state");
}

static const uint8_t versions[] = {12, 15, 16, 17, 18, 19, 20};
enum { VERSIONS = sizeof versions };

/* ---- packets ---- */

static void test_every_league_is_understood(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        static const struct {
            uint8_t state;
            bool move, play;
        } rules[] = {{MatchState_INITIAL, false, false},
                     {MatchState_READY, true, false},
                     {MatchState_SET, false, false},
                     {MatchState_PLAYING, true, true},
                     {MatchState_FINISHED, false, false}};
        begin(versions[v]);
        const MatchState *m = play(0.1);
        enum nm_game_league league = nm_game_league(versions[v]);
        assert_true(m->connected);
        assert_int_equal(m->league, MatchState_LEAGUE_HL + league);
        assert_int_equal(m->own_team, US);
        assert_int_equal(m->rival_team, THEM);
        assert_int_equal(m->own_score, 2);
        assert_int_equal(m->rival_color, 1);
        assert_int_equal(m->goalkeeper, 2);
        assert_true(m->attack_left); /* we are the second team, which defends the right side */
        assert_int_equal(m->message_budget, league == NM_GAME_HL ? 65535 : 1100);
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
            m = change(rules[i].state);
            assert_int_equal(m->state, rules[i].state);
            assert_int_equal(m->packet_state, rules[i].state);
            assert_int_equal(m->may_move, rules[i].move);
            assert_int_equal(m->may_play, rules[i].play);
            const GameState *g = nm_harness_get(r.h, "game_state");
            assert_int_equal(g->game_state, rules[i].state);
            assert_int_equal(g->allowed_to_move, rules[i].move);
            assert_int_equal(g->own_score, 2);
        }
        assert_int_equal(r.warnings, 0);
        end();
    }
}

static void test_penalties_take_the_robot_out(void **state)
{
    (void)state;
    static const struct {
        uint8_t version, penalty, kind;
    } cases[] = {
        {12, NM_GAME_PUSHING, MatchState_PENALTY_REMOVED},
        {12, NM_GAME_SUBSTITUTE, MatchState_PENALTY_SUBSTITUTE},
        {12, NM_GAME_UNKNOWN_PENALTY, MatchState_PENALTY_REMOVED},
        {18, NM_GAME_MOTION_IN_SET, MatchState_PENALTY_IN_PLACE},
        {18, NM_GAME_MANUAL, MatchState_PENALTY_MANUAL},
        {20, NM_GAME_SENT_OFF, MatchState_PENALTY_SENT_OFF},
        {20, NM_GAME_INCAPABLE, MatchState_PENALTY_REMOVED},
        {20, NM_GAME_UNKNOWN_PENALTY, MatchState_PENALTY_REMOVED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].version);
        change(MatchState_PLAYING);
        r.p.teams[1].players[NUMBER - 1] = (struct nm_game_player){.penalty = cases[i].penalty, .seconds = 0};
        const MatchState *m = play(0.6);
        assert_true(m->penalized);
        assert_int_equal(m->penalties[NUMBER - 1], cases[i].kind);
        assert_false(m->may_move || m->may_play);
        r.p.teams[1].players[NUMBER - 1].penalty = NM_GAME_NO_PENALTY;
        r.p.teams[0].players[NUMBER - 1].penalty = NM_GAME_PUSHING; /* the rivals' number 3 */
        m = play(0.6);
        assert_false(m->penalized);
        assert_int_equal(m->rival_penalties[NUMBER - 1], MatchState_PENALTY_REMOVED);
        assert_true(m->may_play);
        end();
    }
}

static void test_a_stop_freezes(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    r.p.stopped = 1;
    const MatchState *m = play(0.6);
    assert_true(m->stopped);
    assert_false(m->may_move || m->may_play);
    r.p.stopped = 0;
    assert_true(play(0.6)->may_play);
    end();
}

static void test_what_is_not_for_us_is_ignored(void **state)
{
    (void)state;
    uint8_t bytes[NM_GAME_LONGEST];
    begin(20);
    change(MatchState_READY);
    struct nm_game_packet other = r.p;
    other.state = MatchState_PLAYING;
    other.number = (uint8_t)(r.p.number + 20);
    size_t n = nm_game_encode(&other, bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut += 7) { /* truncated */
        receive(bytes, cut, CONTROLLER);
        assert_int_equal(play(0.02)->state, MatchState_READY);
    }
    receive(bytes, n, CONTROLLER + 1); /* a second controller */
    assert_int_equal(play(0.1)->state, MatchState_READY);
    other.teams[1].number = US + 1; /* other teams */
    receive(bytes, nm_game_encode(&other, bytes, sizeof bytes), CONTROLLER);
    assert_int_equal(play(0.1)->state, MatchState_READY);
    other.teams[0].number = other.teams[1].number = US; /* both teams are ours: forged */
    receive(bytes, nm_game_encode(&other, bytes, sizeof bytes), CONTROLLER);
    assert_int_equal(play(0.1)->state, MatchState_READY);
    other = r.p;
    other.state = MatchState_PLAYING;
    other.number++;
    other.truth = true; /* for monitors: robots must not know */
    receive(bytes, nm_game_encode(&other, bytes, sizeof bytes), CONTROLLER);
    assert_int_equal(play(0.1)->state, MatchState_READY);
    other = r.p;
    other.state = MatchState_INITIAL;
    other.number--; /* overtaken on its way */
    receive(bytes, nm_game_encode(&other, bytes, sizeof bytes), CONTROLLER);
    assert_int_equal(play(0.1)->state, MatchState_READY);
    assert_true(r.warnings > 0);
    assert_int_equal(change(MatchState_PLAYING)->state, MatchState_PLAYING);
    end();
}

static void test_a_foreign_version_is_named_once(void **state)
{
    (void)state;
    uint8_t bytes[158] = {'R', 'G', 'm', 'e', 21};
    begin(20);
    r.quiet = true;
    for (int i = 0; i < 3000; i++) {
        receive(bytes, sizeof bytes, CONTROLLER);
        play(0.02);
    }
    assert_int_equal(r.warnings, 1);
    assert_non_null(strstr(r.warning, "version 21"));
    bytes[4] = 14;
    receive(bytes, sizeof bytes, CONTROLLER);
    play(0.02);
    assert_int_equal(r.warnings, 2);
    assert_non_null(strstr(r.warning, "version 14"));
    end();
}

static void test_a_silent_controller_is_noticed(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    r.quiet = true;
    const MatchState *m = play(10);
    assert_false(m->connected);
    assert_int_equal(m->state, MatchState_PLAYING); /* the match goes on */
    assert_true(m->may_play);
    assert_int_equal(r.warnings, 1);
    assert_non_null(strstr(r.warning, "silent"));
    uint32_t returns = r.returns;
    play(5);
    assert_int_equal(r.returns, returns); /* nobody to answer */
    /* started again: its numbers begin at 0, and its state is another */
    r.quiet = false;
    r.p.number = 255;
    assert_int_equal(change(MatchState_READY)->state, MatchState_READY);
    assert_true(play(0.1)->connected);
    end();
}

static void test_a_controller_that_is_started_again_counts_at_once(void **state)
{
    (void)state;
    begin(18);
    r.p.number = 100;
    change(MatchState_PLAYING);
    r.quiet = true;
    play(1.5);
    r.quiet = false;
    r.p.number = 10;
    assert_int_equal(change(MatchState_INITIAL)->state, MatchState_INITIAL);
    end();
}

/* Sends the packet as another game controller would, for a while. */
static const MatchState *other_controller(double seconds)
{
    uint8_t bytes[NM_GAME_LONGEST];
    struct nm_game_packet other = r.p;
    other.state = MatchState_FINISHED;
    const MatchState *m = NULL;
    for (double t = 0; t < seconds; t += 0.5) {
        other.number++;
        receive(bytes, nm_game_encode(&other, bytes, sizeof bytes), CONTROLLER + 1);
        m = play(0.5);
    }
    return m;
}

static void test_another_controller_is_on_trial(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    assert_int_equal(other_controller(10)->state, MatchState_PLAYING); /* the known one still speaks */
    r.quiet = true;
    play(10);
    assert_int_equal(other_controller(2)->state, MatchState_PLAYING); /* on trial */
    assert_int_equal(other_controller(4)->state, MatchState_FINISHED);
    assert_true(play(0.1)->connected);
    r.quiet = false; /* the first is back */
    assert_int_equal(play(1)->state, MatchState_PLAYING);
    assert_int_equal(other_controller(10)->state, MatchState_PLAYING);
    end();
}

/* ---- the whistle ---- */

static void kick_off_of(uint8_t team) { r.p.kicking_team = r.p.kick_off_team = team; }

static void test_the_whistle_comes_before_the_packet(void **state)
{
    (void)state;
    static const struct {
        uint8_t version;
        double delay;
    } leagues[] = {{18, 15}, {19, 10}, {20, 10}};
    for (int i = 0; i < 3; i++) {
        begin(leagues[i].version);
        kick_off_of(US);
        change(MatchState_SET);
        whistle(0.9f);
        const MatchState *m = play(0.1);
        assert_int_equal(m->state, MatchState_PLAYING);
        assert_int_equal(m->packet_state, MatchState_SET);
        assert_true(m->whistled);
        assert_true(m->may_play);
        assert_string_equal(m->reason, "whistle");
        m = play(leagues[i].delay - 1);
        assert_int_equal(m->state, MatchState_PLAYING);
        kick_off_of(255);
        Time since = m->state_since;
        m = change(MatchState_PLAYING);
        assert_int_equal(m->state, MatchState_PLAYING);
        assert_false(m->whistled);
        assert_memory_equal(&m->state_since, &since, sizeof since); /* it plays since the whistle */
        end();
    }
}

static void test_a_whistle_that_no_packet_confirms_was_wrong(void **state)
{
    (void)state;
    static const struct {
        uint8_t version;
        double delay;
    } leagues[] = {{18, 15}, {20, 10}};
    for (int i = 0; i < 2; i++) {
        begin(leagues[i].version);
        change(MatchState_SET);
        whistle(0.9f);
        assert_int_equal(play(leagues[i].delay + 1)->state, MatchState_PLAYING);
        const MatchState *m = play(2.5);
        assert_int_equal(m->state, MatchState_SET);
        assert_false(m->whistled || m->may_move);
        whistle(0.9f); /* the next one counts again */
        assert_int_equal(play(0.1)->state, MatchState_PLAYING);
        assert_int_equal(change(MatchState_INITIAL)->state, MatchState_INITIAL); /* and any other packet ends it */
        end();
    }
}

static void test_whistles_that_do_not_count(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_SET);
    whistle(0.2f); /* hardly heard */
    assert_int_equal(play(0.5)->state, MatchState_SET);
    change(MatchState_READY);
    whistle(1);
    assert_int_equal(play(0.2)->state, MatchState_READY);
    assert_int_equal(change(MatchState_SET)->state, MatchState_SET); /* heard before SET */
    assert_int_equal(play(1)->state, MatchState_SET);
    change(MatchState_PLAYING);
    whistle(1); /* HSL: goals are told at once */
    assert_int_equal(watch_ball(0.5, 4.6, 0)->state, MatchState_PLAYING);
    end();
    begin(12); /* the Humanoid League tells everything at once */
    change(MatchState_SET);
    whistle(1);
    assert_int_equal(play(1)->state, MatchState_SET);
    end();
}

/* So many mates heard a whistle; others who speak did not. */
static void hear_team(int n, int deaf)
{
    TeamState *team = nm_harness_set(r.h, "team_state");
    for (int i = 0; i < n + deaf; i++) {
        TeamMate *mate = nm_append(&team->mates, &TeamMate_type);
        mate->player_number = (uint8_t)(4 + i);
        mate->message.whistle = i < n;
        mate->message.header.stamp = nm_stamp(nm_ns(r.time));
    }
}

static void hear_mates(int n) { hear_team(n, 0); }

static void test_mates_hear_for_us(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_SET);
    hear_mates(1); /* of a whistle that may have been before SET */
    assert_int_equal(play(3)->state, MatchState_SET);
    hear_mates(2);
    const MatchState *m = play(0.1);
    assert_int_equal(m->state, MatchState_PLAYING);
    assert_string_equal(m->reason, "a mate heard the whistle");
    play(1.2);
    hear_team(0, 3); /* nobody tells of it any more, and it was no whistle of the next field for that */
    assert_int_equal(play(3)->state, MatchState_PLAYING);
    end();
}

/* The whistle of the next field reaches one robot of four: its mates do not confirm it. One who missed ours, or mates
 * who are silent, are no reason to stop. */
static void test_a_whistle_that_no_mate_heard(void **state)
{
    (void)state;
    static const struct {
        int heard, deaf;
        uint8_t then;
    } rows[] = {
        {0, 3, MatchState_SET}, {0, 1, MatchState_PLAYING}, {0, 0, MatchState_PLAYING}, {1, 2, MatchState_PLAYING}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(20);
        change(MatchState_SET);
        play(3);
        whistle(0.9f);
        assert_int_equal(play(0.8)->state, MatchState_PLAYING);
        hear_team(rows[i].heard, rows[i].deaf);
        const MatchState *m = play(1);
        assert_int_equal(m->state, rows[i].then);
        if (rows[i].then == MatchState_SET) assert_string_equal(m->reason, "no mate heard the whistle");
        assert_int_equal(play(5)->state, rows[i].then);
        end();
    }
}

static void test_a_goal_is_whistled_in_the_spl(void **state)
{
    (void)state;
    begin(18);
    change(MatchState_PLAYING);
    watch_ball(0.5, 1, 0);
    whistle(1); /* the next field's: the ball is in the middle of play */
    assert_int_equal(watch_ball(3, 1, 0)->state, MatchState_PLAYING);
    watch_ball(0.5, 4.6, 0.2);
    whistle(1);
    const MatchState *m = watch_ball(0.1, 4.6, 0.2);
    assert_int_equal(m->state, MatchState_READY);
    assert_int_equal(m->kicking, MatchState_KICK_RIVAL); /* the ball is in their goal */
    assert_true(m->whistled && m->may_move && !m->may_play);
    assert_int_equal(play(14)->state, MatchState_READY);
    kick_off_of(THEM);
    m = change(MatchState_READY);
    assert_false(m->whistled);
    assert_int_equal(m->state, MatchState_READY);
    /* no goal after all */
    change(MatchState_SET);
    kick_off_of(255);
    change(MatchState_PLAYING);
    play(3);
    hear_mates(1);
    whistle(1);
    m = play(0.1);
    assert_int_equal(m->state, MatchState_READY); /* two have heard it */
    assert_int_equal(m->kicking, MatchState_KICK_NOBODY);
    assert_int_equal(play(18)->state, MatchState_PLAYING);
    watch_ball(0.5, -4.6, -0.2);
    whistle(1);
    assert_int_equal(watch_ball(0.1, -4.6, -0.2)->kicking, MatchState_KICK_OWN); /* the ball is in our goal */
    end();
}

/* ---- kick-offs and set plays ---- */

static const MatchState *mate_watches_ball(double seconds, double x)
{
    for (double until = r.time + seconds; r.time < until - 1e-6;) {
        hear_team(0, 1);
        TeamMessage *m = &((TeamState *)nm_harness_set(r.h, "team_state"))->mates.at[0].message;
        m->ball_known = true;
        m->ball_confidence = 0.9F;
        m->ball.x = x;
        step();
    }
    return nm_harness_get(r.h, "match_state");
}

static void test_rivals_kick_off_first(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        r.p.secondary_seconds = 10;
        const MatchState *m = change(MatchState_PLAYING);
        assert_int_equal(m->kicking, MatchState_KICK_RIVAL);
        assert_true(m->may_move);
        assert_false(m->may_play);
        assert_false(play(9)->may_play);
        assert_true(play(1.5)->may_play); /* ten seconds are over */
        end();
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        assert_false(watch_ball(2, 0.1, 0.1)->may_play);
        m = watch_ball(1, 0.9, -0.3); /* they have kicked */
        assert_true(m->may_play);
        assert_int_equal(m->kicking, MatchState_KICK_NOBODY);
        end();
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        assert_false(watch_ball(2, 0.15, 0.05)->may_play);
        r.roll = 0.6; /* it has not come farther, but rolls */
        assert_false(watch_ball(0.1, 0.15, 0.05)->may_play);
        assert_true(watch_ball(0.2, 0.15, 0.05)->may_play);
        end();
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        assert_false(watch_ball(2, 0.15, 0.05)->may_play);
        r.roll = 1.5; /* as fast as after a kick */
        assert_true(watch_ball(0.1, 0.15, 0.05)->may_play);
        end();
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        assert_false(watch_ball(1, 0.03, 0.02)->may_play);
        assert_true(watch_ball(0.5, -0.14, 0.02)->may_play); /* a weak kick-off */
        end();
        begin(versions[v]);
        kick_off_of(THEM);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        assert_false(mate_watches_ball(1.5, 0.2)->may_play);
        assert_true(mate_watches_ball(0.8, 0.9)->may_play); /* this robot does not see that they have kicked */
        end();
        begin(versions[v]);
        kick_off_of(US);
        change(MatchState_SET);
        assert_true(change(MatchState_PLAYING)->may_play);
        end();
    }
}

/* The shooter stays the shooter; the keeper may come out when the ball has been kicked, wherever it lay. */
static void test_a_shot_of_a_shoot_out(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ours++)
        for (int v = 0; v < VERSIONS; v++) {
            begin(versions[v]);
            r.p.phase = NM_GAME_SHOOTOUT;
            kick_off_of(ours ? US : THEM);
            change(MatchState_SET);
            change(MatchState_PLAYING);
            const MatchState *m = watch_ball(15, ours ? 3 : -3, 0); /* far from the centre mark, longer than 10 s */
            assert_int_equal(m->kicking, ours ? MatchState_KICK_OWN : MatchState_KICK_RIVAL);
            assert_int_equal(m->may_play, ours);
            m = watch_ball(2, ours ? 3.5 : -3.5, 0.3);
            assert_int_equal(m->kicking, ours ? MatchState_KICK_OWN : MatchState_KICK_NOBODY);
            assert_true(m->may_play);
            end();
        }
}

static void test_a_free_kick_of_the_hsl(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    r.p.set_play = NM_GAME_THROW_IN;
    r.p.kicking_team = THEM;
    r.p.stopped = 1;
    const MatchState *m = play(5);
    assert_int_equal(m->set_play, MatchState_SET_PLAY_THROW_IN);
    assert_false(m->may_move);
    r.p.stopped = 0;
    watch_ball(0.5, -1, 1); /* where it lay before the referee placed it: this is no kick */
    m = watch_ball(30, 2, 1);
    assert_int_equal(m->kicking, MatchState_KICK_RIVAL);
    assert_true(m->may_move && !m->may_play); /* 45 s, not 10 */
    m = watch_ball(1, 3, 1);
    assert_true(m->may_play);
    assert_int_equal(m->set_play, MatchState_SET_PLAY_NONE);
    r.p.kicking_team = US; /* the next one is ours */
    m = play(0.6);
    assert_int_equal(m->kicking, MatchState_KICK_OWN);
    assert_int_equal(m->set_play, MatchState_SET_PLAY_THROW_IN);
    assert_true(m->may_play);
    r.p.set_play = 0;
    r.p.kicking_team = 255;
    m = play(0.6);
    assert_int_equal(m->set_play, MatchState_SET_PLAY_NONE);
    assert_true(m->may_play);
    end();
}

static void test_a_set_play_of_nobody_knows_whom(void **state)
{
    (void)state;
    begin(18);
    change(MatchState_PLAYING);
    r.p.set_play = NM_GAME_THROW_IN; /* a gesture of the referee tells whose it is */
    const MatchState *m = watch_ball(5, 2, 1);
    assert_int_equal(m->kicking, MatchState_KICK_NOBODY);
    assert_true(m->may_move && !m->may_play);
    assert_true(watch_ball(1, 3, 1)->may_play); /* somebody has taken it */
    end();
}

static void test_a_free_kick_of_the_humanoid_league(void **state)
{
    (void)state;
    static const struct {
        uint8_t taking;
        bool move;
    } steps[] = {{NM_GAME_PLACING, true}, {NM_GAME_PREPARING, true}, {NM_GAME_FROZEN, false}};
    for (int ours = 0; ours < 2; ours++) {
        begin(12);
        kick_off_of(US);
        change(MatchState_SET);
        change(MatchState_PLAYING);
        play(11);
        r.p.set_play = NM_GAME_CORNER_KICK;
        r.p.kicking_team = ours ? US : THEM;
        for (int i = 0; i < 3; i++) {
            r.p.taking = steps[i].taking;
            const MatchState *m = play(3);
            assert_int_equal(m->set_play, MatchState_SET_PLAY_CORNER_KICK);
            assert_int_equal(m->taking, MatchState_TAKING_PLACING + i);
            assert_int_equal(m->may_move, steps[i].move);
            assert_false(m->may_play);
            assert_int_equal(m->kicking, ours ? MatchState_KICK_OWN : MatchState_KICK_RIVAL);
        }
        r.p.set_play = r.p.taking = 0; /* execute: the packet is silent about whose kick it is */
        r.p.kicking_team = r.p.kick_off_team;
        const MatchState *m = play(5);
        assert_int_equal(m->set_play, MatchState_SET_PLAY_CORNER_KICK);
        assert_int_equal(m->kicking, ours ? MatchState_KICK_OWN : MatchState_KICK_RIVAL);
        assert_int_equal(m->may_play, ours);
        m = play(6); /* ten seconds after the call the ball is free */
        assert_true(m->may_play);
        assert_int_equal(m->set_play, MatchState_SET_PLAY_NONE);
        assert_int_equal(play(5)->kicking, MatchState_KICK_NOBODY);
        end();
    }
}

/* ---- hands ---- */

static uint32_t presses[2];

static void press(int button)
{
    for (int i = 0; i < 2; i++) { /* first, the counts as they are */
        Buttons *b = nm_harness_set(r.h, "buttons");
        b->presses.n = 2;
        if (i) presses[button]++;
        memcpy(b->presses.at, presses, sizeof presses);
        play(0.02);
    }
}

static void test_the_hand_wins(void **state)
{
    (void)state;
    begin(12);
    change(MatchState_PLAYING);
    press(0);
    const MatchState *m = play(0.1);
    assert_true(m->penalized);
    assert_int_equal(m->penalties[NUMBER - 1], MatchState_PENALTY_MANUAL);
    assert_true(play(5)->penalized); /* though the controller says nothing of it */
    press(0);
    assert_false(play(0.1)->penalized);
    r.p.teams[1].players[NUMBER - 1].penalty = NM_GAME_PUSHING;
    assert_true(play(1)->penalized);
    press(0); /* let in, though the controller says no */
    assert_false(play(3)->penalized);
    r.p.teams[1].players[NUMBER - 1].penalty = NM_GAME_NO_PENALTY;
    play(1);
    r.p.teams[1].players[NUMBER - 1].penalty = NM_GAME_PUSHING; /* a new penalty counts */
    assert_true(play(1)->penalized);
    end();
}

static void test_a_service_penalizes_like_the_button(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    SetBool_Request *q = nm_harness_request(r.h, "manual_penalize", 1);
    q->data = true;
    assert_true(play(0.1)->penalized);
    q = nm_harness_request(r.h, "manual_penalize", 2);
    q->data = false;
    assert_false(play(0.1)->penalized);
    end();
}

static void test_a_game_without_a_controller(void **state)
{
    (void)state;
    begin(20);
    r.quiet = true;
    assert_int_equal(play(0.1)->state, MatchState_INITIAL);
    static const uint8_t states[] = {MatchState_READY, MatchState_SET, MatchState_PLAYING, MatchState_FINISHED};
    for (int i = 0; i < 4; i++) {
        press(1);
        assert_int_equal(play(0.02)->state, states[i]);
        assert_false(play(0.02)->connected);
    }
    press(1);
    press(1);
    press(1);
    whistle(1);
    assert_int_equal(play(0.1)->state, MatchState_PLAYING);
    r.quiet = false; /* now there is one, and its word counts */
    assert_int_equal(change(MatchState_READY)->state, MatchState_READY);
    press(1);
    assert_int_equal(play(0.1)->state, MatchState_READY);
    end();
}

/* ---- answers ---- */

static void test_the_controller_is_answered(void **state)
{
    (void)state;
    for (int v = 0; v < VERSIONS; v++) {
        begin(versions[v]);
        HcmState *hcm = nm_harness_set(r.h, "hcm_state");
        hcm->state = HcmState_FALLEN;
        play(0.1);
        see_ball(1, -0.5);
        play(20);
        assert_in_range(r.returns, 20, 40); /* one to two a second */
        assert_int_equal(r.answer.host, CONTROLLER);
        assert_int_equal(r.answer.port, 3939);
        assert_int_equal(r.said.version, versions[v] == 12 ? 2 : 4);
        assert_int_equal(r.said.team, US);
        assert_int_equal(r.said.player, NUMBER);
        if (versions[v] == 12) {
            assert_int_equal(r.said.word, NM_GAME_SAYS_ALIVE);
        } else {
            assert_true(r.said.fallen);
            assert_float_equal(r.said.ball_x, 1, 1e-6);
            assert_float_equal(r.said.ball_age, 20, 1);
        }
        end();
    }
}

static void test_words_of_the_humanoid_league(void **state)
{
    (void)state;
    begin(12);
    change(MatchState_PLAYING);
    press(0);
    play(1);
    assert_int_equal(r.said.word, NM_GAME_SAYS_PENALIZED);
    play(5);
    assert_int_equal(r.said.word, NM_GAME_SAYS_ALIVE);
    press(0);
    play(1);
    assert_int_equal(r.said.word, NM_GAME_SAYS_UNPENALIZED);
    play(5);
    nm_harness_param(r.h, "goalkeeper=true");
    play(2);
    assert_int_equal(r.said.word, NM_GAME_SAYS_GOALKEEPER);
    r.p.teams[1].goalkeeper = NUMBER;
    play(2);
    assert_int_equal(r.said.word, NM_GAME_SAYS_ALIVE);
    r.p.set_play = NM_GAME_CORNER_KICK;
    r.p.taking = NM_GAME_PREPARING;
    for (int ours = 0; ours < 2; ours++) {
        r.p.kicking_team = ours ? US : THEM;
        play(1);
        for (int i = 0; i < 50; i++) {
            NavigationState *way = nm_harness_set(r.h, "navigation_state");
            way->arrived = true;
            way->mode = NavigationGoal_WALK_BEHIND_BALL;
            play(0.04);
        }
        assert_int_equal(r.said.word, ours ? NM_GAME_SAYS_READY_TO_KICK : NM_GAME_SAYS_ALIVE);
    }
    end();
}

static void test_a_lost_robot_still_answers(void **state)
{
    (void)state;
    begin(20);
    PoseWithCovarianceStamped *pose = nm_harness_set(r.h, "pose");
    pose->pose.pose.position.x = NAN;
    play(5);
    assert_true(r.returns >= 5);
    end();
}

static void test_lamps_show_state_and_team(void **state)
{
    (void)state;
    begin(20);
    change(MatchState_PLAYING);
    play(0.5);
    const Leds *leds = nm_harness_get(r.h, "leds");
    assert_string_equal(leds->name.at[0], "head");
    assert_float_equal(leds->color.at[0].g, 1, 0);
    assert_float_equal(leds->color.at[1].b, 1, 0); /* the blue team */
    assert_float_equal(leds->blink.at[0], 0, 0);
    press(0);
    play(0.5);
    leds = nm_harness_get(r.h, "leds");
    assert_float_equal(leds->color.at[0].r, 1, 0);
    r.quiet = true;
    play(5);
    leds = nm_harness_get(r.h, "leds");
    assert_true(leds->blink.at[0] > 0);
    end();
}

/* ---- anything ---- */

static void test_whatever_arrives_the_rules_hold(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(7, 0, 0);
    for (int v = 0; v < VERSIONS; v++) {
        begin(versions[v]);
        r.quiet = true;
        for (int i = 0; i < 4000; i++) {
            uint8_t bytes[NM_GAME_LONGEST];
            struct nm_game_packet p = r.p;
            p.number = (uint8_t)i;
            p.state = (uint8_t)(nm_dice_bits(&dice) % 5);
            p.set_play = (uint8_t)(nm_dice_bits(&dice) % NM_GAME_SET_PLAYS);
            p.taking = versions[v] == 12 && p.set_play ? (uint8_t)(1 + nm_dice_bits(&dice) % 3) : 0;
            p.stopped = versions[v] >= 19 && nm_dice_roll(&dice) < 0.3;
            p.kicking_team = p.kick_off_team = (uint8_t[]){US, THEM, 255}[nm_dice_bits(&dice) % 3];
            p.teams[1].players[NUMBER - 1].penalty =
                nm_dice_roll(&dice) < 0.5 ? 0 : (uint8_t)(nm_dice_bits(&dice) % NM_GAME_PENALTIES);
            size_t n = nm_game_encode(&p, bytes, sizeof bytes);
            if (nm_dice_roll(&dice) < 0.2) bytes[nm_dice_bits(&dice) % n] ^= (uint8_t)(1 << nm_dice_bits(&dice) % 8);
            receive(bytes, n, CONTROLLER + (nm_dice_roll(&dice) < 0.1));
            if (nm_dice_roll(&dice) < 0.1) whistle((float)nm_dice_roll(&dice));
            const MatchState *m = play(0.02);
            assert_true(m->state <= MatchState_STANDBY && m->kicking <= MatchState_KICK_RIVAL);
            if (m->penalized || m->stopped) assert_false(m->may_move);
            if (m->may_move) assert_true(m->state == MatchState_READY || m->state == MatchState_PLAYING);
            if (m->may_play)
                assert_true(m->may_move && m->state == MatchState_PLAYING && m->kicking != MatchState_KICK_RIVAL);
            if (!m->whistled && m->connected) assert_int_equal(m->state, m->packet_state);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_league_is_understood),
        cmocka_unit_test(test_penalties_take_the_robot_out),
        cmocka_unit_test(test_a_stop_freezes),
        cmocka_unit_test(test_what_is_not_for_us_is_ignored),
        cmocka_unit_test(test_a_foreign_version_is_named_once),
        cmocka_unit_test(test_a_silent_controller_is_noticed),
        cmocka_unit_test(test_a_controller_that_is_started_again_counts_at_once),
        cmocka_unit_test(test_another_controller_is_on_trial),
        cmocka_unit_test(test_the_whistle_comes_before_the_packet),
        cmocka_unit_test(test_a_whistle_that_no_packet_confirms_was_wrong),
        cmocka_unit_test(test_whistles_that_do_not_count),
        cmocka_unit_test(test_mates_hear_for_us),
        cmocka_unit_test(test_a_whistle_that_no_mate_heard),
        cmocka_unit_test(test_a_goal_is_whistled_in_the_spl),
        cmocka_unit_test(test_rivals_kick_off_first),
        cmocka_unit_test(test_a_shot_of_a_shoot_out),
        cmocka_unit_test(test_a_free_kick_of_the_hsl),
        cmocka_unit_test(test_a_set_play_of_nobody_knows_whom),
        cmocka_unit_test(test_a_free_kick_of_the_humanoid_league),
        cmocka_unit_test(test_the_hand_wins),
        cmocka_unit_test(test_a_service_penalizes_like_the_button),
        cmocka_unit_test(test_a_game_without_a_controller),
        cmocka_unit_test(test_the_controller_is_answered),
        cmocka_unit_test(test_words_of_the_humanoid_league),
        cmocka_unit_test(test_a_lost_robot_still_answers),
        cmocka_unit_test(test_lamps_show_state_and_team),
        cmocka_unit_test(test_whatever_arrives_the_rules_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

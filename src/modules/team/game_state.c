/* The game as this robot knows it, from the packets of a game controller of any league, the whistle, the buttons and a
 * service. It decides which state the robot acts on and what it may do, and answers the game controller.
 *
 * - Game controllers tell robots of a kick-off (SPL, HSL) and of a goal (SPL) only seconds after the referee's whistle.
 *   A robot that hears the whistle acts at once. If no packet confirms it within the delay of the rules, the robot goes
 *   back to the state of the packets.
 * - The first game controller heard counts, by its address. Another one counts when the first has been silent for a
 * while and the other was heard for some seconds, and only until the first is back. Packets of others, of other teams,
 * for monitors, repeated, damaged and of unknown versions are counted and ignored.
 * - Pause (Marc Bestmann's thesis, 2017, section 5.2.1): the penalty given by hand and that of the game controller are
 *   merged, and the hand wins, so that a robot can be taken out or let in while the network does not work. */
#include <string.h>

#include "base/fault.h"
#include "base/pitch.h"
#include "codec/gamecontroller.h"
#include "core/nm.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/GameState.h"
#include "humanoid_league_msgs/Speak.h"
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
#include "std_srvs/SetBool.h"

/* Packets that are ignored, by the reason. */
enum ignored {
    IGNORED_FORMAT,
    IGNORED_VERSION,
    IGNORED_LENGTH,
    IGNORED_VALUE,
    IGNORED_TEAMS,
    IGNORED_HOST,
    IGNORED_TRUTH,
    IGNORED_OLD,
    IGNORED
};

/* What a hand says about this robot's penalty. */
enum hand { HAND_NOTHING, HAND_PENALIZES, HAND_FREES };

/* The kick-off or set play that the robot acts on. */
struct kick {
    uint8_t set_play, taking, team;
    int64_t opened;        /* ns, since when it may be taken; 0: not yet        */
    bool over;             /* the ball is in play                               */
    bool rests;            /* it is known where the ball lay                    */
    double x, y;           /* m, map: there                                     */
    bool seen;             /* this robot saw the ball when it was opened ... */
    double seen_x, seen_y; /* m, map: ... there                             */
    int64_t lies_since;    /* ns, the ball is seen there since; 0: not yet      */
    int64_t away_since;    /* ns, the ball is somewhere else since; 0: it is not */
};

struct game_state {
    struct nm *nm;
    /* in */
    nm_queue(Datagram) received;
    nm_queue(Whistle) whistles;
    const Buttons *buttons;
    const TeamState *mates;
    const HcmState *hcm;
    const PoseWithCovarianceStamped *pose;
    const BallModel *ball;
    const NavigationState *way;
    nm_server(SetBool) penalize;
    /* out */
    MatchState *match;
    GameState *game;
    Leds *leds;
    nm_out_queue(Datagram) sent;
    nm_out_queue(Speak) speak;
    /* params */
    int32_t team, player;
    bool goalkeeper;
    int32_t pause_button, start_button;
    double silence;    /* s */
    double report;     /* s */
    double confidence; /* of a whistle */
    double moved;      /* m */
    struct nm_pitch_size field;
    /* state: the game controller */
    bool heard; /* ever */
    struct nm_game_packet packet;
    uint32_t controller;                      /* its address                                    */
    uint32_t first;                           /* address of the first one                       */
    uint32_t candidate;                       /* address of another one that may replace it     */
    int64_t candidate_since, candidate_heard; /* ns                        */
    int64_t packet_time;                      /* ns */
    struct nm_fault silent;
    struct nm_fault_count ignored[IGNORED];
    uint64_t n_ignored[IGNORED];
    uint32_t versions[8]; /* a bit for each foreign version that was named */
    /* state: the game */
    uint8_t state;
    int64_t since;      /* ns, of the state */
    bool ahead;         /* the whistle is ahead of the game controller                        */
    uint8_t ahead_of;   /* the state of the packets when it was heard                         */
    int64_t whistled;   /* ns, when it was heard                                              */
    uint8_t after_goal; /* KICK_*, of a goal that was only whistled: those whose goal the ball is in */
    int64_t whistle;    /* ns, last heard by this robot                                       */
    uint32_t hearers;   /* bit n: player n has told of the whistle that is ahead              */
    struct kick kick;
    char reason[64];
    /* state: the hand */
    enum hand hand;
    uint32_t presses[2];
    bool pressed_before; /* the counts of the buttons are known */
    int64_t reported;    /* ns, last return packet              */
    int32_t tells;       /* return packets that still tell what the hand did */
    int64_t lit;         /* ns, last time that the lamps were set */
};

#define BLOCK     10.0 /* s that the rivals of a kick-off have to wait; all leagues            */
#define PATIENCE  2.0  /* s beyond the delay of the rules, after which a whistle was a mistake */
#define RECENT    2.0  /* s, older whistles do not count                                       */
#define ANSWER    1.2  /* s, by then mates have told of a whistle                              */
#define ROLLS     0.3  /* m/s: a ball that is seen to roll so fast ...                         */
#define ROLLED    0.15 /* m: ... is in play when it is so far from where it lay ...            */
#define KICKED    1.0  /* m/s: ... and sooner when it is as fast as after a kick               */
#define NEARBY    1.5  /* m: of a ball so near to the robot ...                                */
#define MOVED     0.2  /* m: ... it sees that it has moved so little                           */
#define SHIFTED   0.12 /* m: ... or so little from where it saw it at the whistle              */
#define TOLD      0.5  /* m: a mate saw that it has moved by so much                            */
#define LIES      1.5  /* s that a ball must be seen at one place to rest there                         */
#define TRIAL     3.0  /* s, another game controller must be heard before it replaces a silent one */
#define OVERTAKEN 1.0  /* s, the longest way of a packet that a newer one overtook             */

/* s, by which the leagues delay what they tell robots of a kick-off and a goal; 0: not at all */
static const struct {
    double kick_off, goal;
} delays[NM_GAME_LEAGUES] = {[NM_GAME_SPL] = {15, 15}, [NM_GAME_HSL] = {10, 0}};

static const char *const state_names[] = {"INITIAL", "READY", "SET", "PLAYING", "FINISHED", "STANDBY"};

static double ago(const struct game_state *f, int64_t then) { return nm_seconds(f->nm->now - then); }

static enum nm_game_league league_of(const struct game_state *f) { return nm_game_league(f->packet.version); }

static const struct nm_game_team *own_team(const struct game_state *f)
{
    return &f->packet.teams[f->packet.teams[0].number != f->team];
}

static const struct nm_game_team *rival_team(const struct game_state *f)
{
    return &f->packet.teams[f->packet.teams[0].number == f->team];
}

static void say(struct game_state *f, uint8_t priority, const char *text)
{
    Speak *out = nm_push(f->nm, &f->speak);
    nm_text(out->text, "%s", text);
    out->priority = priority;
}

static void set_state(struct game_state *f, uint8_t state, const char *reason)
{
    nm_text(f->reason, "%s", reason);
    if (state == f->state) return;
    nm_log(f->nm, NM_INFO, "%s -> %s: %s", state_names[f->state], state_names[state], reason);
    say(f, Speak_LOW_PRIORITY, state_names[state]);
    f->state = state;
    f->since = f->nm->now;
}

/* ---- packets ---- */

static void ignore(struct game_state *f, enum ignored why)
{
    static const char *const reasons[IGNORED] = {
        [IGNORED_FORMAT] = "is not a packet of a game controller",
        [IGNORED_VERSION] = "has a version that this program does not know",
        [IGNORED_LENGTH] = "has a wrong length",
        [IGNORED_VALUE] = "has a value that does not exist",
        [IGNORED_TEAMS] = "is about other teams",
        [IGNORED_HOST] = "comes from a second game controller",
        [IGNORED_TRUTH] = "is for monitors",
        [IGNORED_OLD] = "is old or repeated",
    };
    uint64_t n = nm_fault_count_add(&f->ignored[why], 1, f->nm->now);
    f->n_ignored[why]++;
    if (n && why != IGNORED_OLD && why != IGNORED_VERSION)
        nm_log(f->nm, NM_WARN, "ignored a packet that %s (%llu so far)", reasons[why],
               (unsigned long long)f->n_ignored[why]);
}

static void name_version(struct game_state *f, uint8_t version)
{
    uint32_t *word = &f->versions[version / 32], bit = 1u << version % 32;
    if (*word & bit) return;
    *word |= bit;
    nm_log(f->nm, NM_WARN, "a game controller speaks version %u, which this program does not know; ignored", version);
}

/* An older number soon after a newer one was overtaken on its way. Later it comes from a game controller that was
 * started again. */
static bool is_old(const struct game_state *f, const struct nm_game_packet *p)
{
    return (int8_t)(p->number - f->packet.number) <= 0 && ago(f, f->packet_time) < OVERTAKEN;
}

static bool is_connected(const struct game_state *f) { return f->heard && ago(f, f->packet_time) < f->silence; }

/* Whether the packets of this address count. A robot whose network comes back hears many at once, so another game
 * controller than the known one is on trial first. */
static bool is_controller(struct game_state *f, uint32_t host)
{
    if (!f->heard || host == f->controller || host == f->first) return true;
    if (is_connected(f)) return false;
    if (host != f->candidate || ago(f, f->candidate_heard) > TRIAL) {
        f->candidate = host;
        f->candidate_since = f->nm->now;
    }
    f->candidate_heard = f->nm->now;
    return ago(f, f->candidate_since) >= TRIAL;
}

static void take_packet(struct game_state *f, const Datagram *datagram)
{
    static const enum ignored faults[] = {[NM_GAME_NO_PACKET] = IGNORED_FORMAT,
                                          [NM_GAME_FOREIGN] = IGNORED_VERSION,
                                          [NM_GAME_LENGTH] = IGNORED_LENGTH,
                                          [NM_GAME_VALUE] = IGNORED_VALUE};
    struct nm_game_packet p;
    enum nm_game_fault fault = nm_game_decode(datagram->data.at, datagram->data.n, &p);
    if (fault == NM_GAME_FOREIGN) name_version(f, p.version);
    if (fault != NM_GAME_FINE) {
        ignore(f, faults[fault]);
        return;
    }
    if (p.truth)
        ignore(f, IGNORED_TRUTH);
    else if ((p.teams[0].number == f->team) == (p.teams[1].number == f->team))
        ignore(f, IGNORED_TEAMS);
    else if (!is_controller(f, datagram->host))
        ignore(f, IGNORED_HOST);
    else if (is_connected(f) && datagram->host == f->controller && is_old(f, &p))
        ignore(f, IGNORED_OLD);
    else {
        if (!f->heard || f->controller != datagram->host)
            nm_log(f->nm, NM_INFO, "game controller at %u.%u.%u.%u, version %u", datagram->host >> 24,
                   datagram->host >> 16 & 255, datagram->host >> 8 & 255, datagram->host & 255, p.version);
        if (!f->heard) f->first = datagram->host;
        f->candidate = 0;
        f->heard = true;
        f->packet = p;
        f->controller = datagram->host;
        f->packet_time = f->nm->now;
    }
}

static void watch_silence(struct game_state *f)
{
    if (!f->heard) return;
    bool silent = !is_connected(f);
    switch (nm_fault_now(&f->silent, silent, f->nm->now, 1)) {
    case NM_FAULT_BEGINS:
        nm_log(f->nm, NM_WARN, "the game controller is silent for %.0f s; playing on in %s", f->silence,
               state_names[f->state]);
        say(f, Speak_HIGH_PRIORITY, "I do not hear the game controller");
        break;
    case NM_FAULT_OVER: nm_log(f->nm, NM_INFO, "the game controller is back"); break;
    case NM_FAULT_SAME: break;
    }
}

/* ---- hands: buttons and the service ---- */

static bool controller_penalizes(const struct game_state *f)
{
    return f->heard && own_team(f)->players[f->player - 1].penalty != NM_GAME_NO_PENALTY;
}

static bool is_penalized(const struct game_state *f)
{
    return f->hand == HAND_PENALIZES || (f->hand != HAND_FREES && controller_penalizes(f));
}

static void penalize_by_hand(struct game_state *f, bool penalize)
{
    f->hand = penalize ? HAND_PENALIZES : controller_penalizes(f) ? HAND_FREES : HAND_NOTHING;
    f->tells = 3; /* packets may be lost */
    nm_log(f->nm, NM_INFO, "%s by hand", penalize ? "penalized" : "let in");
    say(f, Speak_MID_PRIORITY, penalize ? "penalized" : "playing");
}

/* Without a game controller the second button goes through the states of a game. */
static void press_start(struct game_state *f)
{
    static const uint8_t next[] = {
        [MatchState_INITIAL] = MatchState_READY,    [MatchState_READY] = MatchState_SET,
        [MatchState_SET] = MatchState_PLAYING,      [MatchState_PLAYING] = MatchState_FINISHED,
        [MatchState_FINISHED] = MatchState_INITIAL, [MatchState_STANDBY] = MatchState_READY};
    if (!is_connected(f)) set_state(f, next[f->state], "button");
}

static void look_at_buttons(struct game_state *f)
{
    const int32_t index[2] = {f->pause_button, f->start_button};
    uint32_t presses[2] = {0};
    if (!nm_fresh(f->nm, f->buttons)) return;
    for (int i = 0; i < 2; i++)
        if (index[i] >= 0 && (uint32_t)index[i] < f->buttons->presses.n) presses[i] = f->buttons->presses.at[index[i]];
    if (f->pressed_before && presses[0] != f->presses[0]) penalize_by_hand(f, !is_penalized(f));
    if (f->pressed_before && presses[1] != f->presses[1]) press_start(f);
    memcpy(f->presses, presses, sizeof presses);
    f->pressed_before = true;
}

static void serve(struct game_state *f)
{
    for (uint32_t i = 0; i < f->penalize.requests.n; i++) {
        const SetBool_Request *request = f->penalize.requests.at[i];
        SetBool_Response *reply = nm_reply(f->nm, &f->penalize, request);
        penalize_by_hand(f, request->data);
        reply->success = true;
    }
    if (f->hand == HAND_FREES && f->heard && !controller_penalizes(f)) f->hand = HAND_NOTHING;
}

/* ---- the ball in map ---- */

static bool ball_in_map(const struct game_state *f, double *x, double *y)
{
    const BallModel *ball = f->ball;
    bool known = nm_slot(f->pose)->seq && nm_slot(ball)->seq && ball->valid && ball->confidence >= 0.5f &&
                 ago(f, nm_stamp_ns(ball->last_seen)) < 0.5;
    if (!known) return false;
    struct pose2 at = pose2_mul(nm_pose2(&f->pose->pose.pose), (struct pose2){ball->position.x, ball->position.y, 0});
    *x = at.x;
    *y = at.y;
    return isfinite(at.x) && isfinite(at.y);
}

/* ---- the whistle ---- */

static void listen(struct game_state *f)
{
    for (uint32_t i = 0; i < f->whistles.n; i++) {
        const Whistle *w = f->whistles.at[i];
        int64_t at = nm_stamp_ns(w->heard);
        if (!(w->confidence >= f->confidence)) continue;
        if (!at || at > f->nm->now) at = f->nm->now;
        if (at > f->whistle) f->whistle = at;
    }
}

/* How many of the team heard a whistle lately and since the state began, this robot included. Mates tell of a whistle
 * for a while, so in the beginning of a state they may mean one before it. */
static uint32_t hearers(const struct game_state *f, bool *self)
{
    uint32_t n = 0;
    *self = f->whistle && f->whistle >= f->since && ago(f, f->whistle) < RECENT;
    for (uint32_t i = 0; i < f->mates->mates.n; i++) {
        const TeamMate *mate = &f->mates->mates.at[i];
        int64_t at = nm_stamp_ns(mate->message.header.stamp);
        n += mate->message.whistle && at >= f->since + nm_ns(RECENT) && ago(f, at) < RECENT;
    }
    return n + *self;
}

/* The ball is believed to be in a goal, or so near to one that it may be. */
static bool ball_in_goal(const struct game_state *f, bool *theirs)
{
    double x, y;
    if (!ball_in_map(f, &x, &y)) return false;
    *theirs = x > 0;
    return fabs(x) > f->field.length / 2 - 0.3 && fabs(y) < f->field.goal_width / 2 + 0.5;
}

static void run_ahead(struct game_state *f, uint8_t state, const char *reason)
{
    f->ahead = true;
    f->ahead_of = f->packet.state;
    f->whistled = f->nm->now;
    f->hearers = 0;
    set_state(f, state, reason);
}

static void follow_whistle(struct game_state *f)
{
    bool self, theirs = false;
    uint32_t n = hearers(f, &self);
    if (f->ahead || !n) return;
    bool delayed = f->heard && delays[league_of(f)].kick_off > 0;
    if (f->state == MatchState_SET && !f->heard) set_state(f, MatchState_PLAYING, "whistle");
    if (f->state == MatchState_SET && delayed)
        run_ahead(f, MatchState_PLAYING, self ? "whistle" : "a mate heard the whistle");
    /* during play a whistle may come from the next field: the ball or a second robot has to confirm it */
    bool goal = f->state == MatchState_PLAYING && f->heard && delays[league_of(f)].goal > 0;
    bool seen = goal && ball_in_goal(f, &theirs);
    if (!goal || !(seen || n > 1)) return;
    f->after_goal = !seen ? MatchState_KICK_NOBODY : theirs ? MatchState_KICK_RIVAL : MatchState_KICK_OWN;
    run_ahead(f, MatchState_READY, "whistle after a goal");
}

/* A whistle of the next field: only one of the team heard it, and two others who have spoken since did not. Who hears a
 * whistle tells it at once, and for RECENT; that ends sooner than the doubts of one who was told late. */
static bool only_one_heard(struct game_state *f)
{
    double since = ago(f, f->whistled);
    uint32_t deaf = 0;
    for (uint32_t i = 0; i < f->mates->mates.n; i++) {
        const TeamMate *mate = &f->mates->mates.at[i];
        uint32_t bit = 1u << (mate->player_number & 31);
        int64_t at = nm_stamp_ns(mate->message.header.stamp);
        if (mate->message.whistle && ago(f, at) < since + RECENT) f->hearers |= bit;
        deaf += !(f->hearers & bit) && ago(f, at) < since - 0.5 * ANSWER;
    }
    uint32_t heard = (f->whistle && ago(f, f->whistle) < since + RECENT) + (uint32_t)__builtin_popcount(f->hearers);
    return since >= ANSWER && since < RECENT && heard < 2 && deaf > 1;
}

static void follow_packets(struct game_state *f)
{
    uint8_t told = f->packet.state;
    if (!f->heard) return;
    if (!f->ahead) {
        if (told != f->state && is_connected(f)) set_state(f, told, "game controller");
        return;
    }
    double delay = f->state == MatchState_PLAYING ? delays[league_of(f)].kick_off : delays[league_of(f)].goal;
    bool confirmed = told == f->state, other = told != f->ahead_of, late = ago(f, f->whistled) > delay + PATIENCE;
    bool alone = only_one_heard(f);
    if (!confirmed && !other && !late && !alone) return;
    f->ahead = false;
    set_state(f, told,
              confirmed ? "game controller, after the whistle"
              : other   ? "game controller"
              : late    ? "no packet confirmed the whistle"
                        : "no mate heard the whistle");
}

/* ---- kick-offs and set plays ---- */

static bool is_shoot_out(const struct game_state *f) { return f->heard && f->packet.phase == NM_GAME_SHOOTOUT; }

/* A kick-off lies on the centre mark; where the ball of a set play or of a shoot-out lies has to be seen. */
static bool is_kick_off(const struct game_state *f) { return !f->kick.set_play && !is_shoot_out(f); }

static void take_kick(struct game_state *f, uint8_t set_play, uint8_t team)
{
    if (f->kick.set_play == set_play && f->kick.team == team) return;
    f->kick = (struct kick){.set_play = set_play, .team = team};
    f->kick.rests = is_kick_off(f);
}

/* The Humanoid League clears a set play when it may be taken, and its number of the kick-off never: what it is about is
 * remembered. */
static void follow_kick(struct game_state *f)
{
    const struct nm_game_packet *p = &f->packet;
    bool plays = f->state == MatchState_PLAYING, hl = f->heard && league_of(f) == NM_GAME_HL;
    if (!f->heard) return;
    if (!plays || f->since == f->nm->now) f->kick = (struct kick){.team = NM_GAME_NOBODY};
    if (!plays || !hl || p->set_play || f->since == f->nm->now) take_kick(f, p->set_play, p->kicking_team);
    f->kick.taking = p->taking;
}

/* A mate who sees the ball away from where it lay; for a robot that does not see it itself. */
static bool mate_saw_it_move(const struct game_state *f)
{
    const struct kick *k = &f->kick;
    for (uint32_t i = 0; i < f->mates->mates.n; i++) {
        const TeamMessage *m = &f->mates->mates.at[i].message;
        int64_t seen = nm_stamp_ns(m->header.stamp) - nm_ns(fmax(m->ball_age, 0));
        bool counts = m->ball_known && m->ball_confidence >= 0.5f && seen > k->opened && ago(f, seen) < 1;
        if (counts && vec2_norm(m->ball.x - k->x, m->ball.y - k->y) > fmax(f->moved, TOLD)) return true;
    }
    return false;
}

static bool is_away(struct kick *k, bool away, int64_t now, double enough)
{
    if (!away) k->away_since = 0;
    if (away && !k->away_since) k->away_since = now;
    return away && nm_seconds(now - k->away_since) > enough;
}

static bool ball_moved(struct game_state *f)
{
    struct kick *k = &f->kick;
    double x, y;
    if (!ball_in_map(f, &x, &y)) return k->rests && is_away(k, mate_saw_it_move(f), f->nm->now, 0.3);
    if (!k->rests) { /* the referee has just placed it: where it lies is known when it has been seen there for a while
                      */
        if (!k->lies_since || vec2_norm(x - k->x, y - k->y) > f->moved) {
            k->lies_since = f->nm->now;
            k->x = x;
            k->y = y;
        }
        k->rests = ago(f, k->lies_since) > LIES;
        return false;
    }
    if (!k->seen) {
        k->seen = true;
        k->seen_x = x;
        k->seen_y = y;
    }
    double far = vec2_norm(x - k->x, y - k->y);
    bool near = vec2_norm(f->ball->position.x, f->ball->position.y) < NEARBY;
    bool shifted = near && is_kick_off(f) && vec2_norm(x - k->seen_x, y - k->seen_y) > SHIFTED;
    double most = near ? fmin(f->moved, MOVED) : f->moved;
    double speed = vec2_norm(f->ball->velocity.x, f->ball->velocity.y);
    bool rolls = far > ROLLED && speed > ROLLS;
    return is_away(k, far >= most || shifted || rolls, f->nm->now, rolls ? (speed > KICKED ? 0.06 : 0.15) : 0.3);
}

static void judge_kick(struct game_state *f)
{
    struct kick *k = &f->kick;
    bool closed = f->state != MatchState_PLAYING || k->taking || f->packet.stopped;
    if (k->team == NM_GAME_NOBODY && !k->set_play) return;
    if (closed) {
        k->opened = 0;
        k->over = k->seen = false;
        k->rests = is_kick_off(f);
        k->lies_since = 0;
        return;
    }
    if (!k->opened) k->opened = f->nm->now;
    bool limited = !is_shoot_out(f) && (!k->set_play || league_of(f) == NM_GAME_HL);
    if (ball_moved(f) || (limited && ago(f, k->opened) > BLOCK)) k->over = true;
}

/* ---- what it publishes ---- */

static uint8_t side_of(const struct game_state *f, uint8_t team)
{
    if (team == f->team) return MatchState_KICK_OWN;
    return team == rival_team(f)->number && team != NM_GAME_NOBODY ? MatchState_KICK_RIVAL : MatchState_KICK_NOBODY;
}

static uint8_t penalty_of(uint8_t penalty)
{
    static const uint8_t kinds[NM_GAME_PENALTIES] = {
        [NM_GAME_MANUAL] = MatchState_PENALTY_MANUAL,
        [NM_GAME_SUBSTITUTE] = MatchState_PENALTY_SUBSTITUTE,
        [NM_GAME_SENT_OFF] = MatchState_PENALTY_SENT_OFF,
        [NM_GAME_MOTION_IN_SET] = MatchState_PENALTY_IN_PLACE,
        [NM_GAME_MOTION_IN_STANDBY] = MatchState_PENALTY_IN_PLACE,
    };
    if (penalty == NM_GAME_NO_PENALTY) return MatchState_PENALTY_NONE;
    return kinds[penalty] ? kinds[penalty] : MatchState_PENALTY_REMOVED;
}

static void tell_teams(struct game_state *f, MatchState *m)
{
    const struct nm_game_team *own = own_team(f), *rival = rival_team(f);
    m->rival_team = rival->number;
    m->own_color = own->color;
    m->rival_color = rival->color;
    m->attack_left = own == &f->packet.teams[1];
    m->own_score = own->score;
    m->rival_score = rival->score;
    m->goalkeeper = own->goalkeeper;
    m->penalty_shot = own->shots;
    m->single_shots = own->shots_in;
    m->message_budget = league_of(f) == NM_GAME_HL ? UINT16_MAX : own->message_budget;
    for (int i = 0; i < NM_GAME_PLAYERS; i++) {
        m->penalties[i] = penalty_of(own->players[i].penalty);
        m->rival_penalties[i] = penalty_of(rival->players[i].penalty);
        m->penalty_seconds[i] = own->players[i].seconds;
    }
}

/* Whose kick it is. A goal that was only whistled is followed by a kick-off of those who conceded it. */
static uint8_t kicking(const struct game_state *f)
{
    if (!f->heard) return MatchState_KICK_NOBODY;
    if (f->ahead && f->state == MatchState_READY) return f->after_goal;
    uint8_t side = side_of(f, f->kick.team);
    bool shoots = is_shoot_out(f) && side == MatchState_KICK_OWN; /* it may shoot again */
    return f->kick.over && !shoots ? MatchState_KICK_NOBODY : side;
}

static void tell_match(struct game_state *f)
{
    static const uint8_t leagues[NM_GAME_LEAGUES] = {MatchState_LEAGUE_HL, MatchState_LEAGUE_SPL,
                                                     MatchState_LEAGUE_HSL};
    const struct nm_game_packet *p = &f->packet;
    MatchState *m = f->match;
    m->connected = is_connected(f);
    m->state = f->state;
    m->packet_state = f->heard ? p->state : f->state;
    nm_text(m->reason, "%s", f->reason);
    m->whistled = f->ahead;
    m->state_since = nm_stamp(f->since);
    m->own_team = (uint8_t)f->team;
    m->player_number = (uint8_t)f->player;
    m->message_budget = UINT16_MAX;
    m->first_half = true;
    m->penalized = is_penalized(f);
    if (f->heard) {
        m->league = leagues[league_of(f)];
        m->phase = p->phase;
        m->stopped = p->stopped;
        m->first_half = p->first_half;
        m->seconds_remaining = p->seconds;
        m->secondary_seconds = p->secondary_seconds;
        m->players_per_team = p->players_per_team;
        m->set_play = f->kick.over ? MatchState_SET_PLAY_NONE : f->kick.set_play;
        m->taking = f->kick.taking;
        tell_teams(f, m);
    }
    if (f->hand == HAND_PENALIZES) m->penalties[f->player - 1] = MatchState_PENALTY_MANUAL;
    if (f->hand == HAND_FREES) m->penalties[f->player - 1] = MatchState_PENALTY_NONE;
    m->kicking = kicking(f);
    bool plays = m->state == MatchState_PLAYING && m->taking != MatchState_TAKING_FROZEN;
    m->may_move = !m->penalized && !m->stopped && (m->state == MatchState_READY || plays);
    /* the SPL may hide from robots whose set play it is: then it may be the rivals' */
    bool theirs = m->kicking == MatchState_KICK_RIVAL || (m->set_play && m->kicking == MatchState_KICK_NOBODY);
    m->may_play = m->may_move && plays && !m->taking && !theirs;
    nm_put(f->nm, m);
}

static void tell_game(struct game_state *f)
{
    const MatchState *m = f->match;
    GameState *g = f->game;
    g->game_state = m->state == MatchState_STANDBY ? GameState_GAMESTATE_INITIAL : m->state;
    g->secondary_state = m->phase;
    g->first_half = m->first_half;
    g->own_score = m->own_score;
    g->rival_score = m->rival_score;
    g->seconds_remaining = m->seconds_remaining;
    g->secondary_seconds_remaining = m->secondary_seconds;
    g->has_kick_off = m->kicking == MatchState_KICK_OWN;
    g->penalized = m->penalized;
    g->seconds_till_unpenalized = m->penalty_seconds[f->player - 1];
    g->allowed_to_move = m->may_move;
    g->penalty_shot = m->penalty_shot;
    g->single_shots = m->single_shots;
    if (f->heard && league_of(f) == NM_GAME_HL) {
        g->drop_in_time = f->packet.drop_in_seconds == UINT16_MAX ? 0 : f->packet.drop_in_seconds;
        nm_text(g->coach_message, "%.253s", own_team(f)->coach_message);
    }
    nm_put(f->nm, g);
}

/* The head shows the state in the colours of the SPL, the eyes show the team; both blink while nobody is heard. */
static void light(struct game_state *f)
{
    static const ColorRGBA states[] = {
        [MatchState_INITIAL] = {0, 0, 0, 1}, [MatchState_READY] = {0, 0, 1, 1},    [MatchState_SET] = {1, 1, 0, 1},
        [MatchState_PLAYING] = {0, 1, 0, 1}, [MatchState_FINISHED] = {1, 1, 1, 1}, [MatchState_STANDBY] = {0, 1, 1, 1}};
    static const ColorRGBA teams[] = {{0, 0, 1, 1},       {1, 0, 0, 1},         {1, 1, 0, 1},    {0, 0, 0, 1},
                                      {1, 1, 1, 1},       {0, 1, 0, 1},         {1, 0.5f, 0, 1}, {0.6f, 0, 1, 1},
                                      {0.4f, 0.2f, 0, 1}, {0.5f, 0.5f, 0.5f, 1}};
    static const ColorRGBA red = {1, 0, 0, 1}, dark = {0, 0, 0, 1};
    const MatchState *m = f->match;
    Leds *leds = f->leds;
    if (f->lit && ago(f, f->lit) < 0.2) return;
    f->lit = f->nm->now;
    nm_text(leds->name.at[0], "head");
    nm_text(leds->name.at[1], "eyes");
    leds->color.at[0] = m->penalized ? red : states[m->state];
    leds->color.at[1] = f->heard && m->own_color < sizeof teams / sizeof *teams ? teams[m->own_color] : dark;
    leds->blink.at[0] = leds->blink.at[1] = m->connected ? 0 : 2;
    leds->name.n = leds->color.n = leds->blink.n = 2;
    nm_put(f->nm, leds);
}

/* ---- return packets ---- */

/* Our set play is prepared, and this robot stands behind the ball. */
static bool is_ready_to_kick(const struct game_state *f)
{
    bool ours = f->kick.taking == NM_GAME_PREPARING && f->kick.team == f->team;
    return ours && nm_age(f->nm, f->way) < nm_ns(0.5) && f->way->arrived &&
           f->way->mode == NavigationGoal_WALK_BEHIND_BALL;
}

static uint8_t word_of(struct game_state *f)
{
    if (f->tells > 0) {
        f->tells--;
        return f->hand == HAND_PENALIZES ? NM_GAME_SAYS_PENALIZED : NM_GAME_SAYS_UNPENALIZED;
    }
    if (is_ready_to_kick(f)) return NM_GAME_SAYS_READY_TO_KICK;
    return f->goalkeeper && own_team(f)->goalkeeper != f->player ? NM_GAME_SAYS_GOALKEEPER : NM_GAME_SAYS_ALIVE;
}

static bool is_fallen(const struct game_state *f)
{
    uint8_t state = f->hcm->state;
    return nm_slot(f->hcm)->seq &&
           (state == HcmState_FALLING || state == HcmState_FALLEN || state == HcmState_GETTING_UP);
}

static void fill_return(struct game_state *f, struct nm_game_return *say)
{
    say->fallen = is_fallen(f);
    say->ball_age = -1;
    if (nm_slot(f->pose)->seq) {
        struct pose2 at = nm_pose2(&f->pose->pose.pose);
        say->x = (float)at.x;
        say->y = (float)at.y;
        say->theta = (float)at.theta;
    }
    int64_t seen = nm_stamp_ns(f->ball->last_seen);
    if (!nm_slot(f->ball)->seq || !seen) return;
    say->ball_age = (float)fmax(ago(f, seen), 0);
    say->ball_x = (float)f->ball->position.x;
    say->ball_y = (float)f->ball->position.y;
}

/* A robot whose numbers are not finite still says that it is alive. */
static void report(struct game_state *f)
{
    uint8_t bytes[NM_GAME_RETURN_LONGEST];
    if (!is_connected(f) || (f->reported && ago(f, f->reported) < f->report)) return;
    f->reported = f->nm->now;
    struct nm_game_return say = {
        .version = nm_game_return_version(f->packet.version), .team = (uint8_t)f->team, .player = (uint8_t)f->player};
    const struct nm_game_return plain = {say.version, say.team, say.player, .fallen = is_fallen(f), .ball_age = -1};
    say.word = word_of(f);
    fill_return(f, &say);
    size_t n = nm_game_return_encode(&say, bytes, sizeof bytes);
    if (!n) n = nm_game_return_encode(&plain, bytes, sizeof bytes);
    Datagram *out = nm_push(f->nm, &f->sent);
    out->host = f->controller;
    out->port = NM_GAME_RETURN_PORT;
    memcpy(out->data.at, bytes, n);
    out->data.n = (uint32_t)n;
}

static void step(struct game_state *f)
{
    for (uint32_t i = 0; i < f->received.n; i++) take_packet(f, f->received.at[i]);
    watch_silence(f);
    look_at_buttons(f);
    serve(f);
    follow_packets(f);
    listen(f);
    follow_whistle(f);
    follow_kick(f);
    judge_kick(f);
    tell_match(f);
    tell_game(f);
    light(f);
    report(f);
    for (int i = 0; i < IGNORED; i++) nm_fault_count_add(&f->ignored[i], 0, f->nm->now);
    nm_show(f->nm, "ignored_other_teams", f->n_ignored[IGNORED_TEAMS]);
    nm_show(f->nm, "ignored_old", f->n_ignored[IGNORED_OLD]);
}

static int init(struct game_state *f)
{
    nm_text(f->reason, "started");
    f->since = f->nm->now;
    f->kick.team = NM_GAME_NOBODY;
    return 0;
}

#define SELF struct game_state
static const struct nm_port ports[] = {
    NM_QUEUE(received, Datagram, "game/received", 16),
    NM_QUEUE(whistles, Whistle, "whistle", 8, .optional = true),
    NM_IN(buttons, Buttons, "buttons", .optional = true),
    NM_LAST(mates, TeamState, "team_state", .optional = true),
    NM_LAST(hcm, HcmState, "hcm_state", .optional = true),
    NM_LAST(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_LAST(ball, BallModel, "ball", .optional = true),
    NM_LAST(way, NavigationState, "navigation_state", .optional = true),
    NM_SERVER(penalize, SetBool, "manual_penalize", 2),
    NM_OUT(match, MatchState, "match_state"),
    NM_OUT(game, GameState, "game_state"),
    NM_OUT(leds, Leds, "leds"),
    NM_OUT_QUEUE(sent, Datagram, "game/sent", 4),
    NM_OUT_QUEUE(speak, Speak, "speak", 4, .many = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(team, 1, 1, 254, "1", "number of the team; team messages go to UDP port 10000 and this number"),
    NM_PARAM(player, 1, 1, 20, "1", "number of this robot in the team"),
    NM_PARAM_SWITCH(goalkeeper, false, "asks the game controller of the Humanoid League to be the goalkeeper"),
    NM_PARAM(pause_button, 0, -1, 7, "1", "button that penalizes the robot and lets it in again, from 0; -1: none"),
    NM_PARAM(start_button, 1, -1, 7, "1",
             "button that goes to the next state of the game while no game controller is heard, from 0; -1: none"),
    NM_PARAM(silence, 4, 1, 60, "s", "after this time without a packet the game controller counts as silent"),
    NM_PARAM(report, 0.7, 0.5, 2, "s", "time between two return packets"),
    NM_PARAM(confidence, 0.5, 0, 1, "1", "a whistle counts if it was heard with at least this confidence"),
    NM_PARAM(moved, 0.4, 0.05, 2, "m", "a ball that moved this far from where it lay is in play"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(game_state,
          "The game by packets, whistle and buttons: what this robot may do now; answers the game controller.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

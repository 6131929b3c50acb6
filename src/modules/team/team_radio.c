/* Speaks to team mates and hears them, in the compact protocol, mitecom or the league's protobuf.
 *
 * A governor keeps the team within the message budget that the game controller reports. Everybody may use an equal
 * share of what is left, and a report counts only what was sent before it, so a robot takes off what it sent lately.
 * Thus the sum of all shares is never larger than the budget, however late or rare the reports are. The share is spread
 * over the rest of the game: credit grows evenly, a routine message is sent when there is credit beyond a reserve, and
 * an urgent one (role, claim, ball, fall, whistle) may use the reserve.
 *
 * What is heard is checked: messages of other teams, damaged, impossible, old and repeated ones, and those of somebody
 * who uses the number of another robot are counted and ignored. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clamp.h"
#include "base/fault.h"
#include "base/pitch.h"
#include "codec/gamecontroller.h"
#include "codec/mitecom.h"
#include "codec/robocup_protobuf.h"
#include "codec/team_compact.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "humanoid_league_msgs/TeamData.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/TeamState.h"

_Static_assert((int)NM_NEWS_BISHOP == TeamMessage_ROLE_BISHOP && (int)NM_NEWS_FALLEN == TeamMessage_STATE_FALLEN &&
                   (int)NM_NEWS_LOCALIZING == TeamMessage_ACTION_LOCALIZING && (int)NM_NEWS_BALL == Obstacle_BALL,
               "team news have the numbers of the messages");

enum ignored { IGNORED_FORMAT, IGNORED_TEAM, IGNORED_FORGED, IGNORED_IMPOSSIBLE, IGNORED_OLD, IGNORED };

enum { MATES = 10, RECENT = 64 /* of our own messages, enough for any lag */, NUMBERS = 256 /* that an echo knows */ };

#define SILENCE 5.0  /* s, after which the messages of a mate may be numbered from the beginning */
#define ABSENCE 60.0 /* s, after which its number may belong to another computer               */
#define ANSWER  4.0  /* s, a message that was heard longer ago is not answered                 */
#define DRIFT   1e-4 /* s/s, by which clocks run apart                                         */

/* One of the team as heard, and how its clock runs. */
struct mate {
    uint32_t host;
    int64_t heard;   /* ns, our clock                                                      */
    bool numbered;   /* by its last message                                                */
    uint16_t number; /* of its last message                                                */
    int64_t stamp;   /* ns, its clock, of its last message                                 */
    uint32_t bytes;  /* check of its last message, to know repeated ones without a number  */
    bool timed;      /* the offset is known                                                */
    int64_t offset;  /* ns, the least time from its stamp to our ear                       */
    bool answers;    /* the round trip is known                                            */
    double trip;     /* s, the fastest round trip of a message of ours and its answer      */
    int32_t late;    /* messages in a row that were too late                               */
    TeamMate told;
};

struct team_radio {
    struct nm *nm;
    /* in */
    const TeamMessage *own;
    const MatchState *match;
    nm_queue(Datagram) received;
    /* out */
    TeamState *state;
    TeamData *data;
    nm_out_queue(Datagram) sent;
    /* params */
    char protocol[16], second[16];
    double rate;    /* Hz  */
    double lag;     /* s   */
    double half;    /* s   */
    int32_t burst;  /* messages */
    double forget;  /* s   */
    double oldest;  /* s   */
    double fastest; /* s, the least delay on the air */
    struct nm_pitch_size field;
    /* state: speaking */
    int64_t begun;             /* ns, 0: not yet                              */
    bool counts;               /* it knows how much it has sent in this game  */
    double credit;             /* messages                                    */
    double interval;           /* s, as the rules and the budget allow        */
    double length;             /* s, of a half                                */
    int64_t spoke;             /* ns, last message                            */
    int64_t sent_at[RECENT];   /* ns, of the last messages, a ring            */
    uint32_t sent_sum[RECENT]; /* their checks, to know what comes back to us */
    uint32_t n_sent;
    uint32_t n_reported; /* of them, those that are in the last report  */
    uint16_t number;
    int64_t said_at[NUMBERS]; /* ns, of the last messages by the last 8 bits of their number */
    uint8_t answered;         /* player whose message was answered last                      */
    TeamMessage told;         /* what the mates know of us                                   */
    /* state: hearing */
    uint32_t n_mates;
    struct mate mates[MATES];
    struct nm_fault_count faults[IGNORED];
    uint64_t n_ignored[IGNORED];
};

static double ago(const struct team_radio *f, int64_t then) { return nm_seconds(f->nm->now - then); }

/* ---- the leagues ---- */

struct rules {
    uint32_t bytes;   /* of a message                                        */
    uint32_t budget;  /* of a team and game, assumed until somebody tells it  */
    uint32_t players; /* the same                                            */
    uint32_t states;  /* in which team messages are of use: a bit each       */
    double unsettled; /* s of a half in which the clock stands               */
};
#define STATE(name) (1u << MatchState_##name)
#define IN_PLAY     (STATE(READY) | STATE(SET) | STATE(PLAYING))
/* Without a game controller the rules are the strictest of all leagues. */
static const struct rules leagues[] = {
    [MatchState_LEAGUE_UNKNOWN] = {128, 1200, 10, IN_PLAY, 70},
    [MatchState_LEAGUE_HL] = {1024, 0, 0, UINT32_MAX, 0},
    [MatchState_LEAGUE_SPL] = {128, 1200, 7, IN_PLAY | STATE(STANDBY), 120},
    [MatchState_LEAGUE_HSL] = {512, 12000, 7, IN_PLAY, 70},
};

static const struct rules *rules_of(const struct team_radio *f)
{
    uint8_t league = f->match->league;
    return &leagues[league <= MatchState_LEAGUE_HSL ? league : MatchState_LEAGUE_UNKNOWN];
}

/* ---- what is possible ---- */

static bool on_carpet(const struct team_radio *f, float x, float y)
{
    static const double beyond = 2; /* m beyond the border: a robot that is lost may believe this */
    return fabs((double)x) < f->field.length / 2 + f->field.border + beyond &&
           fabs((double)y) < f->field.width / 2 + f->field.border + beyond;
}

static bool possible_ball(const struct team_radio *f, const struct nm_team_news *n)
{
    static const float fast = 12; /* m/s, no ball of a robot is faster */
    return on_carpet(f, n->ball_x, n->ball_y) && hypotf(n->ball_vx, n->ball_vy) < fast && n->ball_age >= 0 &&
           n->ball_sigma_x >= 0 && n->ball_sigma_y >= 0;
}

/* ---- the governor ---- */

/* s until the end of the game, at least */
static double time_left(const struct team_radio *f, const struct rules *rules)
{
    static const double end = 30; /* s, a half ends when the ball is out of play */
    double left = f->match->seconds_remaining > 0 ? f->match->seconds_remaining : 0;
    bool extra = f->match->phase == MatchState_PHASE_EXTRA_TIME;
    if (f->match->league == MatchState_LEAGUE_UNKNOWN) left = f->length;
    if (f->match->first_half) left += (extra ? f->length / 2 : f->length) + rules->unsettled;
    if (f->match->state != MatchState_PLAYING) left += rules->unsettled;
    return left + end;
}

/* While reports come, they have counted what was sent longer ago than the lag. */
static void follow_reports(struct team_radio *f)
{
    while (f->match->connected && f->n_reported < f->n_sent && ago(f, f->sent_at[f->n_reported % RECENT]) > f->lag)
        f->n_reported++;
}

/* Messages that this robot may still send. Some are kept back, because the network may double what is on its way. */
static double share(const struct team_radio *f, const struct rules *rules)
{
    bool known = f->match->league != MatchState_LEAGUE_UNKNOWN;
    uint32_t players = f->match->players_per_team ? f->match->players_per_team : rules->players;
    uint32_t budget = known ? f->match->message_budget : rules->budget, unreported = f->n_sent - f->n_reported;
    return floor((double)budget / players) - 2 - (known ? 2 : 1) * (double)unreported;
}

static bool may_speak(const struct team_radio *f, const struct rules *rules)
{
    const MatchState *m = f->match;
    if (m->league == MatchState_LEAGUE_HL) return true;
    if (!f->counts) return false;
    bool alone = m->phase == MatchState_PHASE_PENALTY_SHOOTOUT || m->phase == MatchState_PHASE_TIMEOUT;
    return rules->states >> m->state & 1 && !alone && !m->penalized && nm_slot(m)->seq;
}

/* Something that mates have to know at once. */
static bool is_urgent(const struct team_radio *f)
{
    const TeamMessage *a = f->own, *b = &f->told;
    if (a->role != b->role || a->ball_claimed != b->ball_claimed || a->state != b->state) return true;
    if (a->whistle && !b->whistle) return true;
    if (a->ball_known != b->ball_known) return a->ball_known;
    double there = nm_seconds(nm_stamp_ns(a->header.stamp) - nm_stamp_ns(b->header.stamp));
    double x = b->ball.x + there * b->ball_velocity.x, y = b->ball.y + there * b->ball_velocity.y;
    return a->ball_known && a->ball_claimed && vec2_norm(a->ball.x - x, a->ball.y - y) > 1;
}

/* How many messages may go out now: 0 or 1. */
static bool governor(struct team_radio *f, const struct rules *rules)
{
    double least = 1 / f->rate, reserve = f->burst / 2.0;
    f->interval = INFINITY;
    if (!may_speak(f, rules)) return false;
    if (f->match->league == MatchState_LEAGUE_HL) {
        f->interval = least;
        return ago(f, f->spoke) >= least - 1e-9;
    }
    follow_reports(f);
    double messages = 1 + (strcmp(f->second, "none") != 0), may = share(f, rules);
    if (may < messages) return false;
    double pace = may / messages / time_left(f, rules);
    f->interval = fmax(1 / pace, least);
    f->credit = fmin(f->credit + pace * nm_seconds(f->nm->dt), f->burst);
    if (ago(f, f->spoke) < least - 1e-9) return false;
    return f->credit >= (is_urgent(f) ? 1 : 1 + reserve);
}

/* ---- speaking ---- */

static float sigma(double variance) { return (float)sqrt(fmax(variance, 0)); }

static float rho(double covariance, double a, double b)
{
    double product = sqrt(fmax(a, 0) * fmax(b, 0));
    return product > 0 ? (float)nm_within(covariance / product, 1) : 0;
}

static void place_to_news(const TeamMessage *m, struct nm_team_news *news)
{
    const double *c = m->pose.covariance, *b = m->ball_covariance;
    news->knows_pose =
        m->pose.weight > 0 && isfinite(m->pose.pose.x) && isfinite(m->pose.pose.y) && isfinite(m->pose.pose.theta);
    news->x = (float)m->pose.pose.x;
    news->y = (float)m->pose.pose.y;
    news->theta = (float)angle_normal(m->pose.pose.theta);
    news->sigma_x = sigma(c[0]);
    news->sigma_y = sigma(c[4]);
    news->rho = rho(c[1], c[0], c[4]);
    news->sigma_theta = sigma(c[8]);
    news->belief = m->pose.weight;
    news->knows_ball = m->ball_known && isfinite(m->ball.x) && isfinite(m->ball.y);
    news->ball_x = (float)m->ball.x;
    news->ball_y = (float)m->ball.y;
    news->ball_vx = (float)m->ball_velocity.x;
    news->ball_vy = (float)m->ball_velocity.y;
    news->ball_sigma_x = sigma(b[0]);
    news->ball_sigma_y = sigma(b[3]);
    news->ball_rho = rho(b[1], b[0], b[3]);
    news->ball_age = m->ball_age;
    news->ball_confidence = m->ball_confidence;
}

static void plan_to_news(const TeamMessage *m, struct nm_team_news *news)
{
    news->has_target = isfinite(m->walk_target.x) && isfinite(m->walk_target.y);
    news->target_x = (float)m->walk_target.x;
    news->target_y = (float)m->walk_target.y;
    news->target_theta = (float)angle_normal(m->walk_target.theta);
    news->has_kick = m->action == TeamMessage_ACTION_TRYING_TO_SCORE || m->action == TeamMessage_ACTION_KICKING;
    news->kick_x = (float)m->kick_target.x;
    news->kick_y = (float)m->kick_target.y;
    news->looks = news->measured = true;
    news->head_pan = m->head_pan;
    news->max_speed = m->max_walk_speed;
    news->max_kick = m->max_kick_distance;
    news->battery = m->battery;
    news->n_roles = (uint8_t)m->proposed_roles.n;
    memcpy(news->roles, m->proposed_roles.at, m->proposed_roles.n);
    for (uint32_t i = 0; i < m->search_points.n; i++)
        news->search[news->n_search++] =
            (struct nm_news_point){(float)m->search_points.at[i].x, (float)m->search_points.at[i].y};
    news->n_errors = (uint8_t)strnlen(m->errors, NM_NEWS_ERRORS);
    memcpy(news->errors, m->errors, news->n_errors);
}

/* Answers the last message of one mate after the other, so that each of them learns how long a round trip takes. */
static void echo_to_news(struct team_radio *f, struct nm_team_news *news)
{
    const struct mate *next = NULL;
    int least = INT_MAX;
    for (uint32_t i = 0; i < f->n_mates; i++) {
        const struct mate *mate = &f->mates[i];
        int turn = (mate->told.player_number - f->answered - 1 + UINT8_MAX + 1) % (UINT8_MAX + 1);
        if (!mate->heard || !mate->numbered || ago(f, mate->heard) > ANSWER || turn >= least) continue;
        least = turn;
        next = mate;
    }
    if (!next) return;
    f->answered = next->told.player_number;
    news->echoes = true;
    news->echo_player = f->answered;
    news->echo_number = (uint8_t)next->number;
    news->echo_held = (float)ago(f, next->heard);
}

static void to_news(struct team_radio *f, struct nm_team_news *news)
{
    const TeamMessage *m = f->own;
    *news = (struct nm_team_news){.team = f->match->own_team,
                                  .player = f->match->player_number,
                                  .numbered = true,
                                  .number = f->number,
                                  .stamped = true,
                                  .stamp = f->nm->now,
                                  .state = m->state,
                                  .role = m->role,
                                  .action = m->action,
                                  .side = m->offensive_side,
                                  .whistle = m->whistle,
                                  .claims_ball = m->ball_claimed,
                                  .time_to_ball = m->time_to_ball >= 0 ? m->time_to_ball : INFINITY};
    place_to_news(m, news);
    plan_to_news(m, news);
    echo_to_news(f, news);
    /* what mates would not believe is not said */
    news->knows_pose &= on_carpet(f, news->x, news->y);
    news->knows_ball &= possible_ball(f, news);
    news->has_target &= on_carpet(f, news->target_x, news->target_y);
    for (uint32_t i = 0; i < m->obstacles.n; i++) {
        const Obstacle *o = &m->obstacles.at[i];
        news->obstacles[news->n_obstacles++] =
            (struct nm_news_obstacle){.kind = o->kind,
                                      .player = o->player_number,
                                      .x = (float)o->position.x,
                                      .y = (float)o->position.y,
                                      .vx = (float)o->velocity.x,
                                      .vy = (float)o->velocity.y,
                                      .sigma = sigma(fmax(o->covariance[0], o->covariance[3])),
                                      .radius = o->radius,
                                      .age = (float)fmax(ago(f, nm_stamp_ns(o->last_seen)), 0),
                                      .confidence = o->confidence};
    }
}

static const struct protocol {
    const char *name;
    size_t (*encode)(const struct nm_team_news *news, void *bytes, size_t room);
    bool (*decode)(const void *bytes, size_t n, struct nm_team_news *news);
} protocols[] = {{"compact", nm_compact_encode, nm_compact_decode},
                 {"mitecom", nm_mitecom_encode, nm_mitecom_decode},
                 {"protobuf", nm_protobuf_encode, nm_protobuf_decode}};
enum { PROTOCOLS = sizeof protocols / sizeof *protocols };

/* FNV-1a, to know a datagram again */
static uint32_t check_of(const uint8_t *bytes, uint32_t n)
{
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void say(struct team_radio *f, const struct protocol *protocol, const struct nm_team_news *news, uint32_t room)
{
    uint8_t bytes[1024];
    size_t n = protocol->encode(news, bytes, room);
    if (!n) return;
    Datagram *out = nm_push(f->nm, &f->sent);
    out->host = UINT32_MAX;
    out->port = (uint16_t)(NM_GAME_TEAM_PORT + f->match->own_team);
    out->data.n = (uint32_t)n;
    memcpy(out->data.at, bytes, n);
    f->sent_at[f->n_sent % RECENT] = f->nm->now;
    f->sent_sum[f->n_sent++ % RECENT] = check_of(bytes, (uint32_t)n);
}

static void speak(struct team_radio *f)
{
    const struct rules *rules = rules_of(f);
    const char *const chosen[] = {f->protocol, f->second};
    struct nm_team_news news;
    if (!governor(f, rules) || !nm_slot(f->own)->seq) return;
    f->number++;
    f->said_at[f->number % NUMBERS] = f->nm->now;
    f->credit = fmax(f->credit - 1, 0);
    f->spoke = f->nm->now;
    to_news(f, &news);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < PROTOCOLS; i++)
            if (!strcmp(chosen[c], protocols[i].name) && (!c || strcmp(chosen[0], chosen[1])))
                say(f, &protocols[i], &news, rules->bytes);
    nm_copy(&TeamMessage_type, &f->told, f->own);
}

/* ---- hearing ---- */

static void ignore(struct team_radio *f, enum ignored why)
{
    static const char *const reasons[IGNORED] = {
        [IGNORED_FORMAT] = "is damaged or of an unknown protocol",
        [IGNORED_TEAM] = "is of another team",
        [IGNORED_FORGED] = "uses the number of another robot",
        [IGNORED_IMPOSSIBLE] = "says something impossible",
        [IGNORED_OLD] = "is old or repeated",
    };
    f->n_ignored[why]++;
    if (nm_fault_count_add(&f->faults[why], 1, f->nm->now) && why != IGNORED_OLD)
        nm_log(f->nm, NM_WARN, "ignored a team message that %s (%llu so far)", reasons[why],
               (unsigned long long)f->n_ignored[why]);
}

/* Protobuf has no mark by which it is known, so it is heard only by those who speak it. */
static bool read_datagram(const struct team_radio *f, const Datagram *d, struct nm_team_news *news)
{
    for (int i = 0; i < PROTOCOLS; i++) {
        const char *name = protocols[i].name;
        if (!strcmp(name, "protobuf") && strcmp(f->protocol, name) && strcmp(f->second, name)) continue;
        if (protocols[i].decode(d->data.at, d->data.n, news)) return news->player != 0;
    }
    return false;
}

static bool is_possible(const struct team_radio *f, const struct nm_team_news *n)
{
    bool fine = !(n->time_to_ball < 0) && !isnan(n->time_to_ball);
    if (n->knows_pose) fine &= on_carpet(f, n->x, n->y) && isfinite(n->theta) && n->sigma_x >= 0 && n->sigma_y >= 0;
    if (n->knows_ball) fine &= possible_ball(f, n);
    if (n->has_target) fine &= on_carpet(f, n->target_x, n->target_y) && isfinite(n->target_theta);
    if (n->has_kick) fine &= isfinite(n->kick_x) && isfinite(n->kick_y);
    if (n->measured) fine &= isfinite(n->max_speed) && isfinite(n->max_kick) && isfinite(n->battery);
    for (uint32_t i = 0; i < n->n_obstacles; i++) {
        const struct nm_news_obstacle *o = &n->obstacles[i];
        fine &= isfinite(o->x) && isfinite(o->y) && isfinite(o->vx) && isfinite(o->vy) && o->sigma >= 0 &&
                o->confidence >= 0;
    }
    for (uint32_t i = 0; i < n->n_search; i++)
        fine &= isnan(n->search[i].x) || on_carpet(f, n->search[i].x, n->search[i].y);
    return fine;
}

static bool is_own_echo(const struct team_radio *f, uint32_t sum)
{
    for (uint32_t i = 0; i < RECENT && i < f->n_sent; i++)
        if (f->sent_sum[i] == sum) return true;
    return false;
}

/* The row of a player, or a new one; if all are taken, that of somebody who is silent. NULL: nobody is. */
static struct mate *mate_of(struct team_radio *f, uint8_t player)
{
    struct mate *oldest = &f->mates[0];
    for (uint32_t i = 0; i < f->n_mates; i++) {
        if (f->mates[i].told.player_number == player) return &f->mates[i];
        if (f->mates[i].heard < oldest->heard) oldest = &f->mates[i];
    }
    if (f->n_mates < MATES)
        oldest = &f->mates[f->n_mates++];
    else if (ago(f, oldest->heard) < ABSENCE)
        return NULL;
    *oldest = (struct mate){0};
    oldest->told.player_number = player;
    return oldest;
}

static bool is_repeated(const struct mate *mate, const struct nm_team_news *n, uint32_t sum)
{
    if (n->numbered && mate->numbered) return (int16_t)(n->number - mate->number) <= 0;
    if (n->stamped) return n->stamp <= mate->stamp;
    return sum == mate->bytes;
}

/* The answer to a message of ours tells the round trip. The fastest one counts: nobody can see how a round trip is
 * shared between its two ways, but the fastest messages of both ways wait for nothing else (Mills, RFC 5905). */
static void measure_trip(struct team_radio *f, struct mate *mate, const struct nm_team_news *n, int64_t heard)
{
    int64_t said = f->said_at[n->echo_number];
    if (!n->echoes || n->echo_player != f->match->player_number || !said) return;
    double since = nm_seconds(heard - said), trip = since - (double)n->echo_held;
    if (since > ANSWER + f->oldest || !(trip >= 0)) return; /* that was an earlier message with these 8 bits */
    if (!mate->answers || trip < mate->trip) mate->trip = trip;
    mate->answers = true;
}

/* Learns by how much the clock of a mate differs from ours, from the fastest of its messages: they took half of the
 * fastest round trip, or what a parameter says as long as nobody answers. The estimate follows slowly, as clocks drift.
 * Returns false if the message was too long on its way; three in a row mean that the clock was set. */
static bool tell_time(struct team_radio *f, struct mate *mate, const struct nm_team_news *n, int64_t heard,
                      double *delay)
{
    int64_t seen = heard - n->stamp;
    double passed = nm_seconds(heard - mate->heard);
    if (mate->answers) mate->trip += DRIFT * passed;
    measure_trip(f, mate, n, heard);
    double fastest = mate->answers ? mate->trip / 2 : f->fastest;
    *delay = fastest;
    if (!n->stamped) return true;
    if (mate->timed) mate->offset += nm_ns(DRIFT * passed);
    bool set = mate->timed && (nm_seconds(mate->offset - seen) > f->oldest || mate->late >= 2);
    if (!mate->timed || set || seen < mate->offset) mate->offset = seen;
    mate->timed = true;
    *delay = nm_seconds(seen - mate->offset) + fastest;
    mate->late = *delay > f->oldest ? mate->late + 1 : 0;
    return !mate->late;
}

static void place_from_news(TeamMessage *m, const struct nm_team_news *n)
{
    if (n->knows_pose) {
        m->pose.pose = (Pose2D){(double)n->x, (double)n->y, (double)n->theta};
        double x = (double)n->sigma_x, y = (double)n->sigma_y, t = (double)n->sigma_theta;
        m->pose.covariance[0] = x * x;
        m->pose.covariance[1] = m->pose.covariance[3] = (double)n->rho * x * y;
        m->pose.covariance[4] = y * y;
        m->pose.covariance[8] = t * t;
        m->pose.weight = fmaxf(n->belief, 0.01f);
    }
    m->ball_known = n->knows_ball;
    if (n->knows_ball) {
        double x = (double)n->ball_sigma_x, y = (double)n->ball_sigma_y;
        m->ball = (Point){(double)n->ball_x, (double)n->ball_y, 0};
        m->ball_velocity = (Vector3){(double)n->ball_vx, (double)n->ball_vy, 0};
        m->ball_covariance[0] = x * x;
        m->ball_covariance[1] = m->ball_covariance[2] = (double)n->ball_rho * x * y;
        m->ball_covariance[3] = y * y;
        m->ball_age = n->ball_age;
        m->ball_confidence = n->ball_confidence;
    }
}

static void plan_from_news(TeamMessage *m, const struct nm_team_news *n)
{
    m->walk_target =
        n->has_target ? (Pose2D){(double)n->target_x, (double)n->target_y, (double)n->target_theta} : m->pose.pose;
    if (n->has_kick) m->kick_target = (Point){(double)n->kick_x, (double)n->kick_y, 0};
    m->max_walk_speed = n->measured ? n->max_speed : 0;
    m->max_kick_distance = n->measured ? n->max_kick : 0;
    m->battery = n->measured ? n->battery : 1;
    m->head_pan = n->looks ? n->head_pan : 0;
    m->proposed_roles.n = n->n_roles;
    memcpy(m->proposed_roles.at, n->roles, n->n_roles);
    m->search_points.n = n->n_search;
    for (uint32_t i = 0; i < n->n_search; i++)
        m->search_points.at[i] = (Point){(double)n->search[i].x, (double)n->search[i].y, 0};
    nm_text(m->errors, "%.*s", (int)n->n_errors, n->errors);
}

static void from_news(TeamMessage *m, const struct nm_team_news *n, int64_t stamp)
{
    nm_reset(&TeamMessage_type, m);
    m->header.stamp = nm_stamp(stamp);
    nm_text(m->header.frame_id, "map");
    m->team_number = n->team;
    m->player_number = n->player;
    m->state = n->state;
    m->role = n->role;
    m->action = n->action;
    m->offensive_side = n->side;
    m->whistle = n->whistle;
    m->ball_claimed = n->claims_ball;
    m->time_to_ball = n->time_to_ball;
    place_from_news(m, n);
    plan_from_news(m, n);
    for (uint32_t i = 0; i < n->n_obstacles; i++) {
        const struct nm_news_obstacle *from = &n->obstacles[i];
        Obstacle *o = nm_append(&m->obstacles, &Obstacle_type);
        if (!o) break;
        o->kind = from->kind;
        o->player_number = from->player;
        o->position = (Point){(double)from->x, (double)from->y, 0};
        o->velocity = (Vector3){(double)from->vx, (double)from->vy, 0};
        o->covariance[0] = o->covariance[3] = (double)from->sigma * (double)from->sigma;
        o->radius = from->radius;
        o->last_seen = nm_stamp(stamp - nm_ns((double)from->age));
        o->confidence = from->confidence;
    }
}

static void take(struct team_radio *f, struct mate *mate, const struct nm_team_news *n, const Datagram *d,
                 int64_t heard)
{
    TeamMate *told = &mate->told;
    bool again = mate->heard && n->numbered && mate->numbered && nm_seconds(heard - mate->heard) < f->forget;
    int16_t step = (int16_t)(n->number - mate->number);
    double delay;
    bool fine = tell_time(f, mate, n, heard, &delay);
    if (!fine) {
        ignore(f, IGNORED_OLD);
        return;
    }
    told->delay = told->received ? told->delay + 0.2f * ((float)delay - told->delay) : (float)delay;
    told->received++;
    if (again && step > 1) told->lost += (uint32_t)(step - 1);
    told->heard = nm_stamp(heard);
    from_news(&told->message, n, heard - nm_ns(delay));
    mate->host = d->host;
    mate->heard = heard;
    mate->numbered = n->numbered;
    mate->number = n->number;
    mate->stamp = n->stamp;
    mate->bytes = check_of(d->data.at, d->data.n);
}

static void hear(struct team_radio *f, const Datagram *d)
{
    struct nm_team_news news;
    uint32_t sum = check_of(d->data.at, d->data.n);
    int64_t heard = nm_stamp_ns(d->header.stamp);
    if (heard <= 0 || heard > f->nm->now) heard = f->nm->now;
    if (is_own_echo(f, sum)) return;
    if (!read_datagram(f, d, &news)) {
        ignore(f, IGNORED_FORMAT);
    } else if (news.team && news.team != f->match->own_team) {
        ignore(f, IGNORED_TEAM);
    } else if (news.player == f->match->player_number) {
        ignore(f, IGNORED_FORGED);
    } else if (!is_possible(f, &news)) {
        ignore(f, IGNORED_IMPOSSIBLE);
    } else {
        struct mate *mate = mate_of(f, news.player);
        bool lately = mate && mate->heard && nm_seconds(heard - mate->heard) < SILENCE;
        bool other = mate && mate->heard && nm_seconds(heard - mate->heard) < ABSENCE && d->host != mate->host;
        if (!mate || other)
            ignore(f, IGNORED_FORGED);
        else if (lately && is_repeated(mate, &news, sum))
            ignore(f, IGNORED_OLD);
        else
            take(f, mate, &news, d, heard);
    }
}

/* ---- what it publishes ---- */

static bool is_alive(const struct team_radio *f, const struct mate *mate)
{
    uint8_t state = mate->told.message.state, player = mate->told.player_number;
    double patience = isfinite(f->interval) ? fmax(f->forget, 2 * f->interval) : f->forget;
    return mate->heard && ago(f, mate->heard) < patience && state != TeamMessage_STATE_INACTIVE &&
           state != TeamMessage_STATE_PENALIZED && !f->match->penalties[player - 1];
}

static void put_position(Position2D *to, const TeamMessage *from, struct pose2 robot, double x, double y,
                         float confidence)
{
    struct pose2 at = pose2_mul(pose2_inv(robot), (struct pose2){x, y, 0});
    to->header.stamp = from->header.stamp;
    to->pose = (Pose2D){at.x, at.y, 0};
    to->confidence = confidence;
}

/* The thesis' form: one element for each robot in every list. */
static void tell_data(struct team_radio *f)
{
    static const uint8_t sides[] = {TeamData_UNSPECIFIED, TeamData_LEFT, TeamData_CENTER, TeamData_RIGHT};
    TeamData *d = f->data;
    for (uint32_t i = 0, n; i < f->n_mates; i++) {
        if (!f->mates[i].heard) continue;
        const TeamMessage *m = &f->mates[i].told.message;
        struct pose2 robot = {m->pose.pose.x, m->pose.pose.y, m->pose.pose.theta};
        Position2D *const rivals[] = {d->opponent_robot_a.at, d->opponent_robot_b.at, d->opponent_robot_c.at,
                                      d->opponent_robot_d.at};
        Position2D *const mates[] = {d->team_robot_a.at, d->team_robot_b.at, d->team_robot_c.at};
        n = d->robot_ids.n++;
        d->robot_ids.at[n] = m->player_number;
        d->role.at[n] = m->role == TeamMessage_ROLE_BISHOP ? TeamData_ROLE_SUPPORTER : m->role;
        d->action.at[n] = m->action <= TeamData_ACTION_WAITING ? m->action : TeamData_ACTION_UNDEFINED;
        d->state.at[n] = m->state <= TeamData_STATE_PENALIZED ? m->state : TeamData_STATE_INACTIVE;
        d->robot_positions.at[n] = m->pose.pose;
        nm_reset(&Position2D_type, &d->ball_relative.at[n]);
        nm_reset(&Position2D_type, &d->oppgoal_relative.at[n]);
        if (m->ball_known) put_position(&d->ball_relative.at[n], m, robot, m->ball.x, m->ball.y, m->ball_confidence);
        if (m->pose.weight > 0)
            put_position(&d->oppgoal_relative.at[n], m, robot, f->field.length / 2, 0, m->pose.weight);
        for (int k = 0; k < 4; k++) nm_reset(&Position2D_type, &rivals[k][n]);
        for (int k = 0; k < 3; k++) nm_reset(&Position2D_type, &mates[k][n]);
        for (uint32_t k = 0, a = 0, b = 0; k < m->obstacles.n; k++) {
            const Obstacle *o = &m->obstacles.at[k];
            bool mate = o->kind == Obstacle_MATE, rival = o->kind == Obstacle_RIVAL || o->kind == Obstacle_ROBOT;
            Position2D *to = mate && b < 3 ? &mates[b++][n] : rival && a < 4 ? &rivals[a++][n] : NULL;
            if (!to) continue;
            to->pose = (Pose2D){o->position.x, o->position.y, 0};
            to->confidence = o->confidence;
        }
        d->avg_walking_speed.at[n] = m->max_walk_speed;
        d->time_to_position_at_ball.at[n] = m->time_to_ball;
        d->max_kicking_distance.at[n] = m->max_kick_distance;
        d->offensive_side.at[n] = sides[m->offensive_side % 4];
    }
    uint32_t n = d->robot_ids.n;
    d->role.n = d->action.n = d->state.n = d->robot_positions.n = d->ball_relative.n = d->oppgoal_relative.n = n;
    d->opponent_robot_a.n = d->opponent_robot_b.n = d->opponent_robot_c.n = d->opponent_robot_d.n = n;
    d->team_robot_a.n = d->team_robot_b.n = d->team_robot_c.n = n;
    d->avg_walking_speed.n = d->time_to_position_at_ball.n = d->max_kicking_distance.n = d->offensive_side.n = n;
    nm_put(f->nm, d);
}

static void tell(struct team_radio *f)
{
    for (uint32_t i = 0; i < f->n_mates; i++) {
        if (!f->mates[i].heard) continue;
        TeamMate *mate = nm_append(&f->state->mates, &TeamMate_type);
        f->mates[i].told.alive = is_alive(f, &f->mates[i]);
        if (mate) nm_copy(&TeamMate_type, mate, &f->mates[i].told);
    }
    f->state->interval = (float)f->interval;
    nm_put(f->nm, f->state);
    tell_data(f);
}

static void step(struct team_radio *f)
{
    bool waits = f->match->state == MatchState_INITIAL || f->match->state == MatchState_STANDBY;
    if (!f->begun || waits) f->credit = f->burst;
    if (!f->begun) f->begun = f->nm->now ? f->nm->now : 1;
    if (waits && f->match->first_half && f->match->seconds_remaining > 0) f->length = f->match->seconds_remaining;
    /* before the game nobody has said anything; after a restart in the middle of it the next report tells */
    bool before = waits && f->match->first_half && f->match->phase == MatchState_PHASE_NORMAL && f->match->connected;
    f->counts |= before || ago(f, f->begun) >= f->lag;
    for (uint32_t i = 0; i < f->received.n; i++) hear(f, f->received.at[i]);
    speak(f);
    tell(f);
    nm_show(f->nm, "credit", f->credit);
    nm_show(f->nm, "interval", f->interval);
    nm_show(f->nm, "ignored",
            f->n_ignored[IGNORED_FORMAT] + f->n_ignored[IGNORED_TEAM] + f->n_ignored[IGNORED_FORGED] +
                f->n_ignored[IGNORED_IMPOSSIBLE] + f->n_ignored[IGNORED_OLD]);
}

static int init(struct team_radio *f)
{
    f->length = f->half;
    f->spoke = INT64_MIN / 2;
    f->interval = INFINITY;
    return 0;
}

#define SELF struct team_radio
static const struct nm_port ports[] = {
    NM_IN(own, TeamMessage, "team_message"),
    NM_IN(match, MatchState, "match_state"),
    NM_QUEUE(received, Datagram, "team/received", 32),
    NM_OUT(state, TeamState, "team_state"),
    NM_OUT(data, TeamData, "team_data"),
    NM_OUT_QUEUE(sent, Datagram, "team/sent", 4),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(protocol, "compact", "compact mitecom protobuf",
                  "how this robot speaks; it hears all but protobuf always"),
    NM_PARAM_WORD(
        second, "none", "none compact mitecom protobuf",
        "says everything a second time in this protocol, for partners of other teams; costs twice the budget"),
    NM_PARAM(rate, 3, 0.1, 10, "Hz", "messages a second where their number is free, and at most anywhere"),
    NM_PARAM(lag, 6, 0.5, 20, "s",
             "a message is in the last report of the budget after at most this time, unless nobody reports"),
    NM_PARAM(half, 600, 30, 1800, "s", "length of a half, until the game controller tells it"),
    NM_PARAM(burst, 8, 2, 100, "1", "messages that may be saved up; half of them are kept for what is urgent"),
    NM_PARAM(forget, 3, 0.5, 60, "s", "a mate that was not heard for this time (or two intervals) is not alive"),
    NM_PARAM(oldest, 3, 0.1, 60, "s", "a message that was longer on its way is ignored"),
    NM_PARAM(
        fastest, 0.005, 0, 1, "s",
        "delay of the fastest messages of a mate that answers none, which cannot be told from a difference of clocks"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(team_radio, "Speaks to team mates within the message budget, and hears them.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

/* Who plays what and stands where. Every robot proposes a role for each member of its team, and the proposal of the
 * lowest number that is upright and not penalised counts (HULKs 2017, section 4.1.1, after B-Human). The striker is who
 * is at the ball first. A mutex keeps two from the ball (Rhoban 2016, section 4.6): who claims it keeps it until he
 * falls, loses the ball, falls silent, or the proposal names another. How long a silence lasts follows the rate at
 * which messages come.
 *
 * Partners of other teams may speak without proposals (mitecom) or not at all. Who plays the ball without being asked
 * is treated as if he had claimed it, and mates that are only seen take up places as well. */
#include <math.h>
#include <string.h>

#include "base/clamp.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "modules/behavior/formation.h"
#include "modules/behavior/known.h"
#include "modules/mate_place.h"
#include "modules/on_feet.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"

enum { NUMBERS = 20, PLAYERS = FORMATION_PLAYERS };

static const double SELF_SEEN = 0.2;  /* m: what is seen so near to this robot is itself          */
static const double WHERE_TOLD = 0.7; /* m: who is seen so near to a told place is who told it    */
static const double SEES = 0.5;       /* s: who saw the ball so lately sees it now                */
static const double AT_BALL = 0.7;    /* m: who stands so near to it could play it                */

/* One of the team, as this robot knows it now. */
struct player {
    uint8_t number; /* 0: a mate that is only seen, not heard */
    struct pose2 pose;
    double to_ball;       /* s */
    uint8_t role;         /* that he announced or was given last */
    bool claims;          /* the ball, or plays it without asking */
    bool follows;         /* sends proposals, so he listens to them */
    const TeamMate *mate; /* NULL: this robot, or one that is only seen */
};

struct strategy {
    struct nm *nm;
    /* in */
    const MatchState *match;
    const PoseWithCovarianceStamped *pose;
    const BallModel *ball;
    const TeamBall *team_ball;
    const TeamState *team;
    const ObstacleModel *obstacles;
    const HcmState *hcm;
    /* out */
    StrategyPlan *plan;
    /* params */
    struct nm_pitch_size field;
    double speed, turn, lead, lie, stay, obey, slow, sure, silence, exclusion, step_aside, patience;
    /* state */
    struct {
        int64_t heard; /* ns                                      */
        double every;  /* s between two messages, smoothed        */
    } voices[NUMBERS];
    uint8_t striker;    /* number of the last one                          */
    uint8_t role;       /* own, the last one                               */
    int64_t fine;       /* ns, when no silent mate stood at a resting ball */
    struct vec3 rested; /* m, where it rests since then                    */
};

/* All that one step works with. */
struct board {
    struct player players[PLAYERS];
    uint32_t n, me;  /* index of this robot */
    uint32_t keeper; /* index, PLAYERS: none */
    struct known_ball ball;
    struct formation formation;
    struct place places[PLAYERS]; /* in play one more than field players need, where there is room */
    uint32_t n_places;
    uint8_t roles[PLAYERS];
    struct pose2 at[PLAYERS];
};

/* ---- who is there ---- */

/* How long a mate may be silent: twice the time between his messages, but not less than a usual gap. */
static double may_be_silent(const struct strategy *f, uint8_t number)
{
    return fmax(f->silence, 2 * f->voices[number - 1].every);
}

static void listen(struct strategy *f)
{
    for (uint32_t i = 0; i < f->team->mates.n; i++) {
        const TeamMate *mate = &f->team->mates.at[i];
        if (mate->player_number < 1 || mate->player_number > NUMBERS) continue;
        int64_t heard = nm_stamp_ns(mate->heard), last = f->voices[mate->player_number - 1].heard;
        double *every = &f->voices[mate->player_number - 1].every;
        if (heard == last) continue;
        double gap = nm_clamp(nm_seconds(heard - last), 0, 20);
        *every = last ? *every + 0.2 * (gap - *every) : 0;
        f->voices[mate->player_number - 1].heard = heard;
    }
}

static double age_of(const struct strategy *f, const TeamMate *mate)
{
    return nm_seconds(f->nm->now - nm_stamp_ns(mate->heard));
}

static bool penalised(const struct strategy *f, uint8_t number)
{
    return f->match->penalties[number - 1] != MatchState_PENALTY_NONE;
}

/* Somebody on the way behind the ball. */
struct runner {
    const struct strategy *f;
    struct pose2 from;
};

/* Until he stands behind a ball that rests there, with the opponents' goal before him. */
static double time_behind(const void *user, struct pose2 ball)
{
    const struct runner *r = user;
    const struct strategy *f = r->f;
    double to_ball = atan2(ball.y - r->from.y, ball.x - r->from.x);
    double to_goal = atan2(-ball.y, f->field.length / 2 - ball.x);
    double around = fabs(angle_normal(to_goal - to_ball)), facing = fabs(angle_normal(to_ball - r->from.theta));
    double way = vec2_norm(ball.x - r->from.x, ball.y - r->from.y) + 0.3 * around;
    return way / f->speed + (0.5 * facing + 0.2 * around) / f->turn;
}

/* The same for a ball that may roll: he goes to where he meets it. */
static double time_to(const struct strategy *f, struct pose2 from, const struct known_ball *ball)
{
    const struct runner runner = {f, from};
    const struct nm_rolling rolling = known_rolling(ball);
    struct pose2 at;
    return ball->known ? nm_rolling_met(&rolling, time_behind, &runner, &at) : INFINITY;
}

static void add(struct strategy *f, struct board *b, struct player player)
{
    if (b->n == PLAYERS) return;
    player.to_ball = time_to(f, player.pose, &b->ball);
    b->players[b->n++] = player;
}

static void add_mate(struct strategy *f, struct board *b, const TeamMate *mate)
{
    uint8_t number = mate->player_number;
    const TeamMessage *m = &mate->message;
    if (number < 1 || number > NUMBERS || number == f->match->player_number || penalised(f, number)) return;
    if (!mate->alive || age_of(f, mate) > may_be_silent(f, number) || m->state == TeamMessage_STATE_PENALIZED ||
        m->state == TeamMessage_STATE_INACTIVE)
        return;
    struct player p = {.number = number, .role = m->role, .mate = mate};
    bool up = m->state != TeamMessage_STATE_FALLEN;
    for (uint32_t i = 0; i < m->proposed_roles.n; i++) p.follows |= m->proposed_roles.at[i] != 0;
    bool plays = m->role == TeamMessage_ROLE_STRIKER &&
                 (m->action == TeamMessage_ACTION_GOING_TO_BALL || m->action == TeamMessage_ACTION_TRYING_TO_SCORE);
    p.claims = up && m->ball_known && (m->ball_claimed || (!p.follows && plays));
    p.pose = mate_place(m, f->nm->now);
    add(f, b, p);
    if (b->n && b->players[b->n - 1].number == number) {
        if (!(m->pose.weight > 0)) b->players[b->n - 1].to_ball = m->time_to_ball;
        if (!up) b->players[b->n - 1].to_ball += f->lie;
    }
}

/* A mate that stands where none of those who speak stands; he may well stand beside this robot. Of the two the nearer
 * one plays the ball, which both see alike. Who stands at a ball that does not move is no striker. */
static void add_seen(struct strategy *f, struct board *b, const Obstacle *o)
{
    if (o->kind != Obstacle_MATE || nm_seconds(f->nm->now - nm_stamp_ns(o->last_seen)) > 3) return;
    for (uint32_t i = 0; i < b->n; i++)
        if ((o->player_number && o->player_number == b->players[i].number) ||
            vec2_norm(o->position.x - b->players[i].pose.x, o->position.y - b->players[i].pose.y) <
                (i == b->me ? SELF_SEEN : WHERE_TOLD))
            return;
    if (o->player_number && (o->player_number == f->match->player_number || penalised(f, o->player_number))) return;
    struct pose2 at = {o->position.x, o->position.y, atan2(b->ball.y - o->position.y, b->ball.x - o->position.x)};
    bool idle = nm_seconds(f->nm->now - f->fine) > f->patience;
    bool nearer = vec2_norm(b->ball.x - at.x, b->ball.y - at.y) <
                  vec2_norm(b->ball.x - b->players[b->me].pose.x, b->ball.y - b->players[b->me].pose.y);
    add(f, b, (struct player){.pose = at, .role = TeamMessage_ROLE_OTHER});
    struct player *p = &b->players[b->n - 1];
    p->claims = !idle && nearer && p->to_ball < 3;
    if (idle) p->to_ball += 2 * f->patience;
}

/* Is there a mate on the field who does not speak? If not, a mate that is seen elsewhere is a mistake. */
static bool somebody_is_silent(const struct strategy *f, const struct board *b)
{
    uint32_t out = 0, all = f->match->players_per_team;
    for (uint32_t i = 0; i < all && i < NUMBERS; i++) out += f->match->penalties[i] != MatchState_PENALTY_NONE;
    return !all || b->n + out < all;
}

static void gather(struct strategy *f, struct board *b)
{
    struct pose2 me = known_pose(f->pose);
    b->me = 0;
    add(f, b, (struct player){.number = f->match->player_number, .pose = me, .role = f->role, .follows = true});
    if (off_its_feet(f->hcm)) b->players[0].to_ball += f->lie;
    for (uint32_t i = 0; i < f->team->mates.n; i++) add_mate(f, b, &f->team->mates.at[i]);
    if (somebody_is_silent(f, b))
        for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) add_seen(f, b, &f->obstacles->obstacles.at[i]);
    uint8_t keeper = f->match->goalkeeper ? f->match->goalkeeper : 1;
    b->keeper = PLAYERS;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->players[i].number == keeper) b->keeper = i;
}

/* ---- the situation ---- */

static enum formation_kind kind_of(const MatchState *m)
{
    bool rival = m->kicking == MatchState_KICK_RIVAL;
    if (m->set_play == MatchState_SET_PLAY_PENALTY_KICK) return rival ? FORMATION_RIVAL_PENALTY : FORMATION_OWN_PENALTY;
    if (m->state != MatchState_PLAYING)
        return m->kicking == MatchState_KICK_OWN ? FORMATION_OWN_KICK_OFF : FORMATION_RIVAL_KICK_OFF;
    if (m->set_play == MatchState_SET_PLAY_GOAL_KICK && rival) return FORMATION_THEIR_GOAL_KICK;
    if (m->set_play != MatchState_SET_PLAY_NONE && rival) return FORMATION_WALL;
    return rival && !m->may_play ? FORMATION_RIVAL_KICK_OFF : FORMATION_PLAY;
}

static const char *const situations[] = {
    [FORMATION_PLAY] = "play",
    [FORMATION_OWN_KICK_OFF] = "our kick-off",
    [FORMATION_RIVAL_KICK_OFF] = "their kick-off",
    [FORMATION_WALL] = "their set play",
    [FORMATION_THEIR_GOAL_KICK] = "their goal kick",
    [FORMATION_OWN_PENALTY] = "our penalty kick",
    [FORMATION_RIVAL_PENALTY] = "their penalty kick",
};

static void read_situation(struct strategy *f, struct board *b)
{
    enum formation_kind kind = kind_of(f->match);
    double mark = f->field.length / 2 - f->field.penalty_mark;
    b->ball = known_ball(f->nm, known_pose(f->pose), f->ball, f->team_ball);
    if (kind == FORMATION_OWN_KICK_OFF || kind == FORMATION_RIVAL_KICK_OFF)
        b->ball = (struct known_ball){.known = true};
    if (kind == FORMATION_OWN_PENALTY) b->ball = (struct known_ball){.known = true, .x = mark};
    if (kind == FORMATION_RIVAL_PENALTY) b->ball = (struct known_ball){.known = true, .x = -mark};
    b->formation = (struct formation){
        .kind = kind,
        .ball_x = b->ball.x,
        .ball_y = b->ball.y,
        .keep_off = f->field.circle_radius,
        .spread = f->exclusion + f->step_aside * f->match->player_number, /* no two on one circle */
    };
}

/* The time that a silent mate has for a resting ball begins when he comes to it and may play it. */
static void watch_the_silent(struct strategy *f, const struct board *b)
{
    bool somebody = false, may = f->match->state == MatchState_PLAYING && f->match->may_play;
    bool rests = vec2_norm(b->ball.x - f->rested.x, b->ball.y - f->rested.y) < 0.2;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct player *p = &b->players[i];
        somebody |= !p->number && vec2_norm(b->ball.x - p->pose.x, b->ball.y - p->pose.y) < AT_BALL;
    }
    if (!rests) f->rested = (struct vec3){b->ball.x, b->ball.y, 0};
    if (!rests || !somebody || !may) f->fine = f->nm->now;
}

/* ---- the proposal ---- */

/* Who plays the ball wins a tie, so that roles do not flicker. */
static uint32_t first_at_ball(const struct strategy *f, const struct board *b)
{
    uint32_t best = PLAYERS;
    double least = INFINITY;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct player *p = &b->players[i];
        double t = p->to_ball;
        if (i == b->keeper) continue;
        if (p->number && p->number == f->striker) t -= f->stay;
        if (p->claims && !p->follows) t -= 2 * f->stay; /* he will not make way */
        if (t < least) {
            least = t;
            best = i;
        }
    }
    return best;
}

/* The keeper, who is at the ball after so many s, comes out for it: it lies near his goal, and no rival is at it before
 * him. Who has come out goes back only if one is there much earlier. A ball that lies in the goal area he clears even
 * if a rival is at it: who steps back before him is pushed over the line with the ball. */
static bool keeper_comes_out(const struct strategy *f, const struct known_ball *ball, double time, bool is_out)
{
    double rival;
    known_rival(f->obstacles, ball, &rival);
    bool first = time < known_rival_time(rival, f->speed) + (is_out ? f->stay : 0);
    return ball->known && ball->x < -f->field.length / 2 + f->field.penalty_area_length &&
           fabs(ball->y) < f->field.penalty_area_width / 2 && (first || known_in_goal_area(&f->field, ball));
}

/* And only if he is there long before his mates. */
static bool keeper_is_first(const struct strategy *f, const struct board *b, uint32_t striker)
{
    if (b->keeper == PLAYERS || b->formation.kind != FORMATION_PLAY) return false;
    const struct player *keeper = &b->players[b->keeper];
    bool is_out = f->striker == keeper->number;
    bool his = known_in_goal_area(&f->field, &b->ball); /* he stands beside it: two would be one too many */
    return keeper_comes_out(f, &b->ball, keeper->to_ball, is_out) &&
           (striker == PLAYERS || keeper->to_ball + (is_out || his ? 0 : f->lead) < b->players[striker].to_ball);
}

/* Until a penalty is kicked the keeper stands on his line. */
static struct pose2 on_goal_line(const struct strategy *f) { return (struct pose2){0.06 - f->field.length / 2, 0, 0}; }

/* Roles and places of all but the keeper: the striker is fixed while the ball is in play, the others walk least. Where
 * the keeper plays the ball, nobody takes the striker's place. */
static void share_places(const struct strategy *f, struct board *b, uint32_t striker)
{
    double cost[PLAYERS][PLAYERS];
    uint32_t walkers[PLAYERS], to[PLAYERS], n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (i != b->keeper) walkers[n++] = i;
    b->n_places = n + (b->formation.kind == FORMATION_PLAY && n < PLAYERS);
    formation_places(&f->field, &b->formation, b->n_places, b->places);
    const struct place *places = b->places + (striker < PLAYERS && striker == b->keeper);
    bool playing = f->match->state == MatchState_PLAYING;
    for (uint32_t i = 0; i < n; i++) {
        const struct player *p = &b->players[walkers[i]];
        for (uint32_t j = 0; j < n; j++) {
            const struct place *at = &places[j];
            cost[i][j] = vec2_norm(at->pose.x - p->pose.x, at->pose.y - p->pose.y);
            if (at->role == p->role && p->role != TeamMessage_ROLE_STRIKER) cost[i][j] -= 0.3;
            if (playing && striker < PLAYERS && (at == b->places) != (walkers[i] == striker)) cost[i][j] += 100;
            if (!p->number && !playing) cost[i][j] *= 10; /* who does not listen stays where he stands */
        }
    }
    formation_assign(n, cost, to);
    for (uint32_t i = 0; i < n; i++) {
        b->roles[walkers[i]] = places[to[i]].role;
        b->at[walkers[i]] = places[to[i]].pose;
    }
    if (b->keeper < PLAYERS) {
        b->roles[b->keeper] = TeamMessage_ROLE_KEEPER;
        b->at[b->keeper] =
            b->formation.kind == FORMATION_RIVAL_PENALTY
                ? on_goal_line(f)
                : formation_keeper(&f->field, b->ball.known ? b->ball.x : 0, b->ball.known ? b->ball.y : 0);
    }
}

/* ---- agreement ---- */

/* The ball is elsewhere than the mate thought when he spoke: it was kicked since, and he did not know. */
static bool ball_has_gone(const struct strategy *f, const struct board *b, const TeamMate *mate)
{
    const double far = 0.7; /* m */
    const TeamMessage *m = &mate->message;
    double late = nm_seconds(f->nm->now - nm_stamp_ns(m->header.stamp));
    double x = m->ball.x + late * m->ball_velocity.x, y = m->ball.y + late * m->ball_velocity.y;
    return b->ball.own && b->ball.age < SEES && m->ball_known && vec2_norm(x - b->ball.x, y - b->ball.y) > far;
}

/* The mate whose proposal counts; NULL: the own one does. */
static const TeamMate *proposer(const struct strategy *f, const struct board *b)
{
    const TeamMate *best = NULL;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct player *p = &b->players[i];
        if (!p->mate || !p->follows || p->number > f->match->player_number || age_of(f, p->mate) > f->obey) continue;
        if (p->mate->message.proposed_roles.n < f->match->player_number) continue;
        if (p->mate->message.state == TeamMessage_STATE_FALLEN) continue; /* who lies sees little */
        if (!p->mate->message.proposed_roles.at[f->match->player_number - 1] || ball_has_gone(f, b, p->mate)) continue;
        if (!best || p->number < best->player_number) best = p->mate;
    }
    return best;
}

/* Where messages take long, so does every agreement: the proposal names a striker who is later at the ball than this
 * robot, which sees it, or than a mate who has claimed it. Who only believes that somebody else is first obeys
 * nevertheless: of two who believe it of each other, nobody would play the ball. Where messages are fast all obey,
 * because that costs little and two strikers cost more. */
static bool knows_better(const struct strategy *f, const struct board *b, const TeamMate *by, uint32_t striker)
{
    const TeamMessage *m = &by->message;
    bool sees = b->ball.own && b->ball.age < SEES;
    if (!((double)by->delay > f->slow)) return false;
    if (striker == PLAYERS || !(striker == b->me ? sees : b->players[striker].claims)) return false;
    const struct player *first = &b->players[striker];
    for (uint32_t i = 0; i < b->n; i++) {
        const struct player *p = &b->players[i];
        bool named = p->number && p->number <= m->proposed_roles.n &&
                     m->proposed_roles.at[p->number - 1] == TeamMessage_ROLE_STRIKER;
        if (named && first->to_ball + f->sure < p->to_ball) return true;
    }
    return false;
}

/* Roles as the mate says; players that he does not name keep the own proposal. Places follow the roles: among players
 * of one role the least walk decides. */
static void adopt(struct board *b, const TeamMessage *m)
{
    bool taken[PLAYERS] = {0}, placed[PLAYERS] = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        uint8_t number = b->players[i].number;
        if (i == b->keeper || !number || number > m->proposed_roles.n || !m->proposed_roles.at[number - 1]) continue;
        b->roles[i] = m->proposed_roles.at[number - 1];
    }
    /* first the places of the own role; then, for those without a place, any but the striker's */
    for (uint32_t any = 0; any < 2; any++) {
        for (uint32_t i = 0; i < b->n; i++) {
            double least = INFINITY;
            uint32_t found = PLAYERS;
            if (i == b->keeper || placed[i]) continue;
            for (uint32_t j = any; j < b->n_places; j++) {
                const struct pose2 *at = &b->places[j].pose;
                double far = vec2_norm(at->x - b->players[i].pose.x, at->y - b->players[i].pose.y);
                if (taken[j] || (!any && b->places[j].role != b->roles[i]) || far >= least) continue;
                least = far;
                found = j;
            }
            if (found == PLAYERS) continue;
            taken[found] = placed[i] = true;
            b->at[i] = b->places[found].pose;
        }
    }
}

/* May this robot play the ball? Not while another one has claimed it, unless a newer proposal takes it from him. */
static bool mutex_free(const struct strategy *f, const struct board *b, const TeamMate *by)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct player *p = &b->players[i];
        if (i == b->me || !p->claims) continue;
        bool told = p->follows && b->roles[i] != TeamMessage_ROLE_STRIKER && i != b->keeper &&
                    (!by || !p->mate || nm_stamp_ns(by->heard) >= nm_stamp_ns(p->mate->heard));
        bool mine_first = p->follows && b->roles[b->me] == TeamMessage_ROLE_STRIKER &&
                          b->players[b->me].to_ball + f->stay < p->to_ball;
        if (!told && !mine_first) return false;
    }
    return true;
}

static void put_plan(struct strategy *f, const struct board *b, const TeamMate *by, uint32_t striker)
{
    StrategyPlan *plan = f->plan;
    for (uint32_t i = 0; i < b->n; i++) {
        if (!b->players[i].number) continue;
        uint32_t k = plan->players.n++;
        plan->roles.n = plan->positions.n = k + 1;
        plan->players.at[k] = b->players[i].number;
        plan->roles.at[k] = b->roles[i];
        plan->positions.at[k] = (Pose2D){b->at[i].x, b->at[i].y, b->at[i].theta};
    }
    plan->proposer = by ? by->player_number : f->match->player_number;
    plan->own_role = b->roles[b->me];
    plan->own_position = (Pose2D){b->at[b->me].x, b->at[b->me].y, b->at[b->me].theta};
    plan->striker = striker < PLAYERS ? b->players[striker].number : 0;
    plan->may_claim_ball = striker == b->me && mutex_free(f, b, by);
    nm_text(plan->situation, "%s", situations[b->formation.kind]);
    nm_put(f->nm, plan);
}

/* In a shoot-out there are only one who shoots and one keeper, who is free to play once the ball was kicked. */
static void shoot_out(struct strategy *f)
{
    bool ours = f->match->kicking == MatchState_KICK_OWN, kicked = f->match->kicking == MatchState_KICK_NOBODY;
    struct pose2 me = known_pose(f->pose), at = on_goal_line(f);
    struct known_ball ball = known_ball(f->nm, me, f->ball, f->team_ball);
    if (ours) at = (struct pose2){f->field.length / 2 - f->field.penalty_mark - 0.5, 0, 0};
    if (kicked && ball.known) at = formation_keeper(&f->field, ball.x, ball.y);
    bool is_out = f->striker == f->match->player_number;
    bool plays = ours || (kicked && keeper_comes_out(f, &ball, time_to(f, me, &ball), is_out));
    f->plan->proposer = f->match->player_number;
    f->plan->own_role = f->role = ours ? TeamMessage_ROLE_STRIKER : TeamMessage_ROLE_KEEPER;
    f->plan->own_position = (Pose2D){at.x, at.y, at.theta};
    f->plan->striker = f->striker = plays ? f->match->player_number : 0;
    f->plan->may_claim_ball = plays;
    nm_text(f->plan->situation, ours ? "our shot" : "their shot");
    nm_put(f->nm, f->plan);
}

static void step(struct strategy *f)
{
    struct board b = {.keeper = PLAYERS};
    uint8_t number = f->match->player_number;
    if (number < 1 || number > NUMBERS) return;
    listen(f);
    if (f->match->phase == MatchState_PHASE_PENALTY_SHOOTOUT) {
        shoot_out(f);
        return;
    }
    read_situation(f, &b);
    gather(f, &b);
    watch_the_silent(f, &b);
    uint32_t first = first_at_ball(f, &b), striker = keeper_is_first(f, &b, first) ? b.keeper : first;
    share_places(f, &b, striker);
    const TeamMate *by = proposer(f, &b);
    if (by && knows_better(f, &b, by, striker)) by = NULL;
    if (by) adopt(&b, &by->message);
    striker = PLAYERS;
    for (uint32_t i = 0; i < b.n; i++)
        if (b.roles[i] == TeamMessage_ROLE_STRIKER) striker = i;
    if (striker == PLAYERS && keeper_is_first(f, &b, PLAYERS)) striker = b.keeper;
    if (striker == PLAYERS && b.ball.own && first == b.me) { /* the proposer takes something else for the ball */
        striker = first;
        b.roles[first] = TeamMessage_ROLE_STRIKER;
        b.at[first] = b.places[0].pose;
    }
    put_plan(f, &b, by, striker);
    f->striker = f->plan->striker;
    f->role = f->plan->own_role;
}

#define SELF struct strategy
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(ball, BallModel, "ball"),
    NM_IN(team_ball, TeamBall, "team_ball"),
    NM_IN(team, TeamState, "team_state"),
    NM_IN(obstacles, ObstacleModel, "team_obstacles"),
    NM_IN(hcm, HcmState, "hcm_state", .optional = true),
    NM_OUT(plan, StrategyPlan, "strategy_plan"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(speed, 0.3, 0.02, 3, "m/s", "of the walk, to estimate who is at the ball first"),
    NM_PARAM(turn, 1, 0.1, 6, "rad/s", "how fast robots turn, for the same"),
    NM_PARAM(lead, 1.5, 0, 20, "s", "the keeper comes out for a ball that he reaches so much earlier than the others"),
    NM_PARAM(lie, 6, 0, 60, "s", "how long a robot that lies needs to get up"),
    NM_PARAM(stay, 1.2, 0, 10, "s", "another one becomes striker when he is at the ball so much earlier"),
    NM_PARAM(obey, 2, 0.1, 20, "s", "a mate's proposal counts for this time; older ones know less than this robot"),
    NM_PARAM(slow, 0.1, 0, 20, "s", "where the messages of the proposer take longer, it may be contradicted ..."),
    NM_PARAM(sure, 0.6, 0, 20, "s",
             "... by a robot that sees the ball and is there so much earlier than the proposed striker, or hears of a "
             "mate who claims it and is"),
    NM_PARAM(silence, 2, 0.2, 20, "s",
             "a mate who is silent for this time, or for twice the time between his messages, has left"),
    NM_PARAM(exclusion, 0.95, 0.2, 3, "m", "those who do not play the ball stay so far away from it ..."),
    NM_PARAM(step_aside, 0.08, 0, 1, "m", "... and so much farther with each player number"),
    NM_PARAM(patience, 6, 1, 60, "s", "a mate who does not speak and does not move a ball near him is no striker"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(strategy, "Agrees with the team on roles, positions and who plays the ball.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))

/* The ball as the team believes it to be, in the map (HULKs 2017, section 4.4). Witnesses are this robot, its mates as
 * last heard, and the rules, which put the ball on the centre or penalty mark. Witnesses that agree form a cluster, and
 * the cluster with most votes is the ball; of equal ones that of this robot, then that of the rules, then the surest.
 *
 * A mate whose ball this robot ought to see and does not, or which contradicts better witnesses, loses trust and with
 * it its vote, so that nobody who is wrong or lies carries the team away. It regains trust when it agrees with others.
 */
#include "base/pitch.h"
#include "core/nm.h"
#include "modules/world/ball_track.h"
#include "modules/world/frames.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"

enum { PLAYERS = 21, WITNESSES = 12 };

static const double AGREE = 9, AGREE_NEAR = 0.1, AGREE_FAR = 1.5; /* squared deviations; m^2 added; m at most      */
static const double FRESH = 0.5, NEAR = 2;   /* s, m: this robot sees the ball now, and well                       */
static const double NEAR_VOTE = 1.5;         /* its vote then: more than one mate has, less than two               */
static const double OLD = 1, OLD_VOTE = 0.6; /* s, votes of who has not seen the ball for so long count less    */
static const double TIE = 0.25;              /* votes that differ by less are equal                                */
static const double DISPROVED = 1.5;         /* s, in which trust falls to 1/e: the ball should be seen and is not */
static const double CONTRADICTED = 4;        /* s, the same: better witnesses say something else                   */
static const double CONFIRMED = 8;           /* s, in which trust comes back                                       */
static const double TRUSTED = 0.4;           /* less trust has no vote                                             */
static const double SIGHT = 2.5;             /* m, up to which a ball is surely seen                               */
static const double RULE_DEVIATION = 0.1;    /* m, how well a referee places a ball                                */
static const double UNSURE = 1;              /* m, a mate that knows its own place worse is no witness             */

struct witness {
    uint8_t number; /* 0: the rules */
    bool own;
    double x[2], v[2], c[4], cv[4]; /* m, m/s in the map; their covariances */
    double age;                     /* s since the ball was seen            */
    double vote;
    float confidence;
    uint32_t cluster;
};

struct team_ball {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    const PoseWithCovarianceStamped *pose;
    const Odometry *odometry;
    const CameraPose *camera;
    const ObstacleModel *obstacles;
    const TeamState *team;
    const MatchState *match;
    /* out */
    TeamBall *result;
    /* params */
    float max_age, min_confidence, brake, friction, rule_time, walk_speed, walk_delay, reach;
    struct nm_pitch_size field;
    /* state */
    struct nm_trail trail;
    float doubt[PLAYERS]; /* 1 - trust in each player */
    bool placed;          /* the rules put the ball somewhere */
    double placed_x;
    int64_t placed_at; /* ns, when that began to hold, and when it ended */
    int64_t rule_until;
};

struct court {
    struct place place;
    uint32_t n;
    struct witness each[WITNESSES];
};

/* ---- the rules ---- */

/* Where the rules put the ball now. */
static bool rule_place(const struct team_ball *f, double *x)
{
    const MatchState *m = f->match;
    double mark = f->field.length / 2 - f->field.penalty_mark;
    bool shootout = m->phase == MatchState_PHASE_PENALTY_SHOOTOUT,
         penalty = m->set_play == MatchState_SET_PLAY_PENALTY_KICK;
    if (shootout || penalty) {
        if (m->kicking == MatchState_KICK_NOBODY) return false;
        *x = m->kicking == MatchState_KICK_OWN ? mark : -mark;
        if (m->state == MatchState_SET) return true;
        return penalty && (m->state == MatchState_READY || m->taking >= MatchState_TAKING_PREPARING);
    }
    *x = 0;
    return m->state == MatchState_SET && m->set_play == MatchState_SET_PLAY_NONE;
}

static void read_rules(struct team_ball *f)
{
    double x;
    bool now = nm_slot(f->match)->seq && rule_place(f, &x);
    if (now && (!f->placed || x != f->placed_x)) {
        f->placed_at = f->nm->now;
        f->placed_x = x;
    }
    f->placed = now;
    if (now) f->rule_until = f->nm->now + nm_ns(f->rule_time);
    /* once play goes on it lies there until somebody kicks it, for a while */
    if (nm_slot(f->match)->seq && f->match->state != MatchState_PLAYING && !now) f->rule_until = 0;
}

/* ---- witnesses ---- */

static struct witness *call(struct court *court)
{
    struct witness *w = court->n < WITNESSES ? &court->each[court->n++] : NULL;
    if (w) *w = (struct witness){0};
    return w;
}

static void call_self(struct team_ball *f, struct court *court)
{
    const BallModel *b = f->ball;
    double age = nm_seconds(f->nm->now - nm_stamp_ns(b->last_seen));
    if (!b->valid || !court->place.known || b->confidence < f->min_confidence || age > f->max_age) return;
    /* what was seen before the referee took the ball is not there any more */
    if (f->placed && nm_stamp_ns(b->last_seen) < f->placed_at) return;
    struct witness *w = call(court);
    if (!w) return;
    struct pose2 robot = court->place.robot_to_map, at = pose2_mul(robot, pose2_point(b->position.x, b->position.y));
    double c = cos(robot.theta), s = sin(robot.theta);
    const double p[4] = {b->covariance[0], b->covariance[1], b->covariance[4], b->covariance[5]};
    const double v[4] = {b->covariance[10], b->covariance[11], b->covariance[14], b->covariance[15]};
    struct place turned = {.robot_to_map = {0, 0, robot.theta}};
    *w = (struct witness){.number = f->match->player_number,
                          .own = true,
                          .x = {at.x, at.y},
                          .v = {c * b->velocity.x - s * b->velocity.y, s * b->velocity.x + c * b->velocity.y},
                          .age = age,
                          .confidence = b->confidence,
                          .vote = age < FRESH && vec2_norm(b->position.x, b->position.y) < NEAR ? NEAR_VOTE
                                  : age < OLD                                                   ? 1
                                                                                                : OLD_VOTE};
    place_spread(&court->place, b->position.x, b->position.y, p, w->c);
    place_spread(&turned, 0, 0, v, w->cv);
}

static void call_mate(struct team_ball *f, struct court *court, const TeamMate *mate)
{
    const TeamMessage *m = &mate->message;
    int64_t spoke = nm_stamp_ns(m->header.stamp);
    double late = fmax(nm_seconds(f->nm->now - spoke), 0), age = late + m->ball_age;
    if (!m->ball_known || !mate->player_number || mate->player_number >= PLAYERS) return;
    double most = isfinite(f->team->interval) ? fmax(f->max_age, 2 * f->team->interval) : f->max_age;
    if (!(age < most) || !(m->ball_confidence >= f->min_confidence) || !(m->pose.weight > 0)) return;
    if (f->placed && spoke - nm_ns(m->ball_age) < f->placed_at) return;
    if (!isfinite(m->ball.x + m->ball.y + m->ball_velocity.x + m->ball_velocity.y)) return;
    if (!(m->pose.covariance[0] + m->pose.covariance[4] < 2 * UNSURE * UNSURE)) return;
    struct witness *w = call(court);
    if (!w) return;
    double speed = vec2_norm(m->ball_velocity.x, m->ball_velocity.y), after = 0;
    double k = speed > 1e-6 ? ball_way(speed, f->brake, f->friction, late, &after) / speed : 0;
    double slower = speed > 1e-6 ? after / speed : 0, spread = 0.1 * speed * late + 0.05 * late;
    *w = (struct witness){.number = mate->player_number,
                          .x = {m->ball.x + k * m->ball_velocity.x, m->ball.y + k * m->ball_velocity.y},
                          .v = {slower * m->ball_velocity.x, slower * m->ball_velocity.y},
                          .cv = {0.04, 0, 0, 0.04},
                          .age = age,
                          .confidence = m->ball_confidence,
                          .vote = 1 - f->doubt[mate->player_number]};
    /* a pose that is wrong by an angle is wrong about a far ball */
    double away = vec2_norm(m->ball.x - m->pose.pose.x, m->ball.y - m->pose.pose.y);
    double turn = fmax(m->pose.covariance[8], 0) * away * away;
    for (int i = 0; i < 4; i++) {
        double pose = i == 0 ? m->pose.covariance[0] : i == 3 ? m->pose.covariance[4] : m->pose.covariance[1];
        double own = isfinite(m->ball_covariance[i]) ? m->ball_covariance[i] : 0;
        w->c[i] = own + pose + (i == 0 || i == 3 ? turn / 2 + spread * spread : 0);
    }
    w->c[0] = fmax(w->c[0], 1e-3);
    w->c[3] = fmax(w->c[3], 1e-3);
    if (w->vote < TRUSTED) w->vote = 0;
    if (age >= OLD) w->vote *= OLD_VOTE;
}

static void call_rules(struct team_ball *f, struct court *court)
{
    struct witness *w = f->nm->now < f->rule_until ? call(court) : NULL;
    const double v = RULE_DEVIATION * RULE_DEVIATION;
    if (w)
        *w = (struct witness){
            .x = {f->placed_x, 0}, .c = {v, 0, 0, v}, .cv = {v, 0, 0, v}, .vote = 1, .confidence = 0.8f};
}

/* ---- clusters ---- */

static bool agree(const struct witness *a, const struct witness *b)
{
    double dx = a->x[0] - b->x[0], dy = a->x[1] - b->x[1], c[4];
    for (int i = 0; i < 4; i++) c[i] = a->c[i] + b->c[i] + (i == 0 || i == 3 ? AGREE_NEAR * AGREE_NEAR : 0);
    return vec2_norm(dx, dy) < AGREE_FAR && distance_in(dx, dy, c) < AGREE;
}

/* Each witness joins the cluster of the first one before it that it agrees with; two clusters that it joins are one. */
static void cluster(struct court *court)
{
    for (uint32_t i = 0; i < court->n; i++) {
        struct witness *w = &court->each[i];
        w->cluster = i;
        for (uint32_t j = 0; j < i; j++) {
            uint32_t old = w->cluster, to = court->each[j].cluster;
            if (to == old || !agree(w, &court->each[j])) continue;
            for (uint32_t k = 0; k <= i; k++)
                if (court->each[k].cluster == old) court->each[k].cluster = to;
        }
    }
}

struct verdict {
    double votes;
    bool own, rule;
    double sure; /* of its surest member */
    uint32_t mates;
};

static struct verdict verdict_on(const struct court *court, uint32_t cluster)
{
    struct verdict v = {0};
    for (uint32_t i = 0; i < court->n; i++) {
        const struct witness *w = &court->each[i];
        if (w->cluster != cluster) continue;
        v.votes += w->vote;
        v.own |= w->own;
        v.rule |= !w->number && !w->own;
        v.mates += w->number && !w->own && w->vote > 0;
        v.sure = fmax(v.sure, w->vote > 0 ? w->confidence / (1 + sqrt(w->c[0] + w->c[3])) : 0);
    }
    return v;
}

static bool better(const struct verdict *a, const struct verdict *b)
{
    if (fabs(a->votes - b->votes) > TIE) return a->votes > b->votes;
    if (a->own != b->own) return a->own;
    if (a->rule != b->rule) return a->rule;
    return a->sure > b->sure;
}

/* ---- trust ---- */

/* True if the robot looks there, nothing is in between, and it sees no ball near. */
static bool disproved(const struct team_ball *f, const struct court *court, const struct witness *w)
{
    struct view view = view_now(f->nm, f->camera);
    if (!court->place.known) return false;
    struct pose2 at = pose2_mul(pose2_inv(court->place.robot_to_map), pose2_point(w->x[0], w->x[1]));
    double away = vec2_norm(at.x, at.y), bearing = atan2(at.y, at.x);
    if (away > SIGHT || away < 0.3 || !view_sees(&view, (struct vec3){at.x, at.y, 0.07}, 60)) return false;
    for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        double there = vec2_norm(o->position.x, o->position.y);
        if (there < away + 0.3 && fabs(angle_normal(atan2(o->position.y, o->position.x) - bearing)) < 0.3) return false;
    }
    for (uint32_t i = 0; i < court->n; i++)
        if (court->each[i].own && agree(&court->each[i], w)) return false;
    return true;
}

static void judge(struct team_ball *f, const struct court *court, uint32_t best, const struct verdict *verdict)
{
    double dt = nm_seconds(f->nm->dt);
    bool sound = verdict->votes >= NEAR_VOTE;
    for (uint32_t i = 0; i < court->n; i++) {
        const struct witness *w = &court->each[i];
        if (w->own || !w->number) continue;
        float *doubt = &f->doubt[w->number];
        double trust = 1 - *doubt;
        if (disproved(f, court, w))
            trust *= exp(-dt / DISPROVED);
        else if (w->cluster != best && sound)
            trust *= exp(-dt / CONTRADICTED);
        else if (w->cluster == best && (verdict->own || verdict->mates > 1))
            trust += (1 - exp(-dt / CONFIRMED)) * (1 - trust);
        *doubt = (float)(1 - trust);
    }
}

/* ---- the result ---- */

static void invert(const double c[4], double out[4])
{
    double det = c[0] * c[3] - c[1] * c[2];
    out[0] = c[3] / det;
    out[1] = -c[1] / det;
    out[2] = -c[2] / det;
    out[3] = c[0] / det;
}

/* The members of a cluster as one: each counts by the inverse of its covariance. */
static struct witness together(const struct court *court, uint32_t cluster, bool only_rule)
{
    double info[2][4] = {{0}}, sum[2][2] = {{0}};
    struct witness all = {.age = INFINITY};
    for (uint32_t i = 0; i < court->n; i++) {
        const struct witness *w = &court->each[i];
        bool rule = !w->number && !w->own;
        if (w->cluster != cluster || rule != only_rule || !(w->vote > 0)) continue;
        const double *c[2] = {w->c, w->cv}, *x[2] = {w->x, w->v};
        for (int k = 0; k < 2; k++) {
            double in[4];
            invert(c[k], in);
            for (int j = 0; j < 4; j++) info[k][j] += in[j];
            sum[k][0] += in[0] * x[k][0] + in[1] * x[k][1];
            sum[k][1] += in[2] * x[k][0] + in[3] * x[k][1];
        }
        all.age = fmin(all.age, w->age);
        all.confidence = fmaxf(all.confidence, w->confidence);
    }
    invert(info[0], all.c);
    invert(info[1], all.cv);
    for (int i = 0; i < 2; i++) {
        all.x[i] = all.c[2 * i] * sum[0][0] + all.c[2 * i + 1] * sum[0][1];
        all.v[i] = all.cv[2 * i] * sum[1][0] + all.cv[2 * i + 1] * sum[1][1];
    }
    return all;
}

static void tell(struct team_ball *f, const struct court *court, const struct witness *w)
{
    BallModel *b = &f->result->ball;
    double speed = vec2_norm(w->v[0], w->v[1]), rest = fmin(ball_rest_time(speed, f->brake, f->friction), 60), meet[2];
    double k = speed > 1e-6 ? ball_way(speed, f->brake, f->friction, rest, NULL) / speed : 0;
    b->header = f->result->header;
    b->valid = true;
    b->position = (Point){w->x[0], w->x[1], 0};
    b->velocity = (Vector3){w->v[0], w->v[1], 0};
    b->destination = (Point){w->x[0] + k * w->v[0], w->x[1] + k * w->v[1], 0};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            b->covariance[4 * i + j] = w->c[2 * i + j];
            b->covariance[4 * (i + 2) + j + 2] = w->cv[2 * i + j];
        }
    b->last_seen = nm_stamp(f->nm->now - nm_ns(fmin(w->age, 60)));
    b->confidence = w->confidence;
    b->interception = b->destination;
    b->interception_time = INFINITY;
    if (!court->place.known) return;
    const struct ball_chase chase = {f->walk_speed, f->walk_delay, f->reach};
    const double robot[2] = {court->place.robot_to_map.x, court->place.robot_to_map.y};
    b->interception_time = (float)ball_intercept(w->x, w->v, f->brake, f->friction, robot, &chase, meet);
    b->interception = (Point){meet[0], meet[1], 0};
}

static void step(struct team_ball *f)
{
    struct court court = {0};
    trail_take(&f->trail, f->odometry);
    court.place = place_at(f->nm, f->pose, &f->trail, f->nm->now);
    read_rules(f);
    call_self(f, &court);
    for (uint32_t i = 0; i < f->team->mates.n; i++) call_mate(f, &court, &f->team->mates.at[i]);
    call_rules(f, &court);
    cluster(&court);

    uint32_t best = UINT32_MAX;
    struct verdict verdict = {0};
    for (uint32_t i = 0; i < court.n; i++) {
        struct verdict v = verdict_on(&court, court.each[i].cluster);
        if (v.votes > 0 && (best == UINT32_MAX || better(&v, &verdict))) best = court.each[i].cluster, verdict = v;
    }
    judge(f, &court, best, &verdict);

    nm_text(f->result->header.frame_id, "map");
    f->result->header.stamp = nm_stamp(f->nm->now);
    if (best != UINT32_MAX) {
        const struct witness *own = NULL;
        for (uint32_t i = 0; i < court.n; i++)
            if (court.each[i].cluster == best && court.each[i].own) own = &court.each[i];
        bool now = own && own->age < 2 * FRESH; /* who sees it has a ball that does not jump when others speak */
        struct witness all = now ? *own : together(&court, best, verdict.rule && !verdict.own && !verdict.mates);
        bool self = own && (now || own->age < all.age + FRESH); /* nobody has seen it since */
        for (uint32_t i = 0; i < court.n; i++) {
            const struct witness *w = &court.each[i];
            if (w->cluster != best || !(w->vote > 0) || !w->number || (w->own && !self)) continue;
            if (f->result->players.n < 20) f->result->players.at[f->result->players.n++] = w->number;
        }
        f->result->source = self ? TeamBall_SOURCE_SELF : verdict.mates ? TeamBall_SOURCE_MATE : TeamBall_SOURCE_RULE;
        tell(f, &court, &all);
    }
    nm_put(f->nm, f->result);
}

#define SELF struct team_ball
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(camera, CameraPose, "camera/pose", .optional = true),
    NM_IN(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_IN(team, TeamState, "team_state", .optional = true),
    NM_IN(match, MatchState, "match_state", .optional = true),
    NM_OUT(result, TeamBall, "team_ball"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(max_age, 3, 0.1, 60, "s",
             "a ball that a robot has not seen for this time is no evidence, or that a mate has not for two intervals"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "balls with less confidence are no evidence"),
    NM_PARAM(brake, 0.77, 0, 4, "m/s^2", "what turf takes from the speed of a rolling ball"),
    NM_PARAM(friction, 0, 0, 5, "1/s", "share of its speed that a rolling ball loses in a second, besides the brake"),
    NM_PARAM(rule_time, 5, 0, 60, "s",
             "how long after the start of play the ball is believed to lie where the rules put it"),
    NM_PARAM(walk_speed, 0.3, 0.01, 3, "m/s", "speed of this robot on its way to the ball, for the interception"),
    NM_PARAM(walk_delay, 0.3, 0, 5, "s", "time that it needs to start"),
    NM_PARAM(reach, 0.15, 0, 1, "m", "it meets the ball when it is this near"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(team_ball, "The ball as the team believes it to be, and who says so.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))

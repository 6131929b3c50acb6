/* The ball on the ground as this robot believes it to be. Sightings are gathered into tracks (ball_track.h), because
 * some of them are not the ball; the track with the best record is published. The tracks live in the odometry's frame
 * at the time of the last image, so that neither the robot's own motion nor the age of an image moves the ball; what is
 * published is predicted to the time of this step. A ball that should be in the picture but is not seen loses its
 * record; one that is out of view or hidden by a robot is remembered. */
#include "base/pitch.h"
#include "core/nm.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "modules/world/ball_track.h"
#include "modules/world/camera_tilt.h"
#include "modules/world/frames.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

enum { TRACKS = 4, SIGHTINGS = 8 };

static const double BALL_HEIGHT = 0.07;    /* m, of its centre                                                  */
static const double RANGE = 5, FADE = 0.8; /* m: farther balls are missed more often than not; over which width */
static const double PATIENCE = 0.4;        /* s, in which the record of a track follows what is seen ...           */
static const double MISSING = 0.8; /* s, ... and what is not seen though it should be: a vision misses a ball for
                                      some pictures in a row, ... */
static const double NEAR_MISSING = 0.35, NEAR = 1; /* s, ... but seldom one that is nearer than this (m) */
static const double UNSEEN = 2;       /* s, in which an unseen ball gives way to another one ...                  */
static const double ROLLING = 0.4;    /* s, ... the same if it rolls: somebody may have stopped it ... */
static const double BLIND = 0.1;      /* s, ... and the same for a robot that does not know where it looks        */
static const double SWITCH = 0.1;     /* by which another track's record must be better                     */
static const double STALE = 3;        /* s, a track besides the best that was not seen for so long is dropped */
static const double LOCATED = 0.5;    /* m, 1 sigma: who knows its place so well knows what lies off the carpet */
static const double LOST = 0.15;      /* a track with a worse record is dropped                             */
static const double MEMORY = 20;      /* s, in which the record of an unseen ball falls to 1/e ...          */
static const double HARDLY = 1.5;     /* s, ... and that of one that was seen no longer than ...            */
static const double FLEETING = 0.5;   /* s                                                                  */
static const double KICK_TIME = 1;    /* s, from a command to kick until the ball rolls, at most            */
static const double KICK_REACH = 0.5; /* m, a ball farther from the robot is not kicked by it               */
static const double NEARBY = 0.5;     /* m, a robot nearer to the ball may kick it                          */
static const double HIDDEN = 0.05;    /* s, a ball that was seen since is where it was seen                  */
static const double FEET = 0.14;      /* m, the ball's centre is never nearer to the middle of this robot ... */
static const double OTHERS = 0.2;     /* m, ... and of another one                                           */
static const double STEPS = 0.1;      /* m/s, a faster robot kicks the ball that it walks into ...           */
static const double STEP_KICK = 1.2;  /* m/s, ... with about this speed                                      */
static const double RECENT = 1;       /* s, where another robot was longer ago does not count                */

struct track {
    bool on;
    struct ball_track ball;
    float record;             /* 0 to 1: recent confidence of its sightings, with 0 for those that should have been */
    int64_t begun, last_seen; /* ns */
};

struct ball_filter {
    struct nm *nm;
    /* in */
    const BallRelative *seen;
    const Percepts *percepts;
    const Odometry *odometry;
    const CameraPose *camera;
    const ObstacleModel *obstacles;
    const WalkCommand *walk_command;
    const WalkState *walk;
    const HcmState *hcm;
    const PoseWithCovarianceStamped *pose;
    /* out */
    BallModel *ball;
    /* params */
    float friction; /* 1/s     */
    float brake;    /* m/s^2   */
    bool learn_brake;
    float near_noise;   /* m       */
    float far_noise;    /* 1/m     */
    float acceleration; /* m/s^2   */
    float tilt_share, image_share, tilt_time;
    float odometry_noise;
    float kick_rate, kick_speed;
    float forget; /* s       */
    float min_confidence;
    float walk_speed, walk_delay, reach;
    struct nm_pitch_size field;
    /* state */
    struct track tracks[TRACKS];
    int32_t best;               /* -1: none */
    int64_t time;               /* ns, of the tracks */
    struct pose2 robot_to_odom; /* at that time */
    struct nm_trail trail;
    struct camera_tilt tilt;
    int64_t looked;                   /* ns, the time of the last image with percepts */
    double learned, learned_variance; /* m/s^2: the brake as the last rolling balls had it */
    int64_t kick_until;               /* ns */
    double kick_direction, kick_strength;
};

static struct ball_params params_of(const struct ball_filter *f)
{
    return (struct ball_params){f->friction, f->acceleration, f->tilt_time, f->kick_rate, f->kick_speed};
}

static struct pose2 ball_of(const struct track *t)
{
    return pose2_point(t->ball.at[0].x[BALL_X], t->ball.at[0].x[BALL_Y]);
}

/* ---- sightings ---- */

struct sightings {
    uint32_t n;
    struct {
        struct ball_sighting at;
        float confidence;
        bool taken;
    } each[SIGHTINGS];
};

/* Variances along and across the line of sight: as stated, or the larger the farther it is, as an error of the camera's
 * pitch grows with the square of the distance. */
static void variances(const struct ball_filter *f, Point p, const double c[4], double *along, double *across)
{
    const double least = 1e-4; /* m^2 */
    double away = vec2_norm(p.x, p.y), sigma = f->near_noise + f->far_noise * away * away;
    *along = *across = sigma * sigma;
    if (!c || !(c[0] > 0) || !(c[3] > 0) || !(away > 1e-6)) return;
    double ux = p.x / away, uy = p.y / away, xy = (c[1] + c[2]) / 2;
    double told = c[0] * ux * ux + 2 * xy * ux * uy + c[3] * uy * uy;
    double beside = c[0] * uy * uy - 2 * xy * ux * uy + c[3] * ux * ux;
    if (!(told > 0) || !(beside > 0)) return;
    *along = fmax(told, least);
    *across = fmax(beside, least);
}

/* A sighting, corrected by what the things that stand still say of the camera's tilt. */
static void add_sighting(const struct ball_filter *f, struct sightings *s, Point p, const double c[4], float confidence,
                         struct pose2 robot, const struct tilt_params *tilt)
{
    double along, across, away = vec2_norm(p.x, p.y), slow = f->tilt_share;
    if (confidence < f->min_confidence || !isfinite(p.x) || !isfinite(p.y) || s->n == SIGHTINGS) return;
    variances(f, p, c, &along, &across);
    if (tilt && away > 1e-6) {
        double ux = p.x / away, uy = p.y / away;
        struct tilt_error e = tilt_along(&f->tilt, tilt, ux, uy);
        double whole = e.variance + fmax(1 - tilt->slow - tilt->image, 0.01), off = sqrt(along) * e.error;
        p.x -= off * ux;
        p.y -= off * uy;
        along *= whole;
        slow = e.slow / whole;
    }
    s->each[s->n].at = (struct ball_sighting){robot, p.x, p.y, along, across, slow};
    s->each[s->n].confidence = confidence;
    s->each[s->n++].taken = false;
}

static void look_at_field(struct ball_filter *f, const struct tilt_params *tilt, int64_t stamp, struct pose2 robot)
{
    struct tilt_percept still[TILT_PERCEPTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->percepts->percepts.n && n < TILT_PERCEPTS; i++) {
        const Percept *p = &f->percepts->percepts.at[i];
        bool stands = p->kind >= Percept_GOAL_POST && p->kind <= Percept_CENTER_CIRCLE;
        if (!stands || !p->located || !isfinite(p->position.x + p->position.y)) continue;
        still[n] = (struct tilt_percept){p->kind, p->position.x, p->position.y, 0, 0};
        variances(f, p->position, p->covariance, &still[n].along, &still[n].across);
        n++;
    }
    tilt_image(&f->tilt, tilt, f->looked ? fmax(nm_seconds(stamp - f->looked), 0) : 0, robot, still, n);
    f->looked = stamp;
}

/* The best pair of a track and a sighting first, until nothing fits any more. */
static void give_sightings(struct ball_filter *f, struct sightings *s, double dt, bool seen[TRACKS])
{
    double fits[TRACKS][SIGHTINGS];
    for (int i = 0; i < TRACKS; i++)
        for (uint32_t k = 0; k < s->n; k++)
            fits[i][k] = f->tracks[i].on ? ball_fits(&f->tracks[i].ball, &s->each[k].at) : -INFINITY;
    for (;;) {
        int track = -1, pick = -1;
        double best = BALL_CLUTTER;
        for (int i = 0; i < TRACKS; i++)
            for (uint32_t k = 0; k < s->n; k++)
                if (!seen[i] && !s->each[k].taken && fits[i][k] > best) best = fits[i][k], track = i, pick = (int)k;
        if (track < 0) return;
        struct track *t = &f->tracks[track];
        s->each[pick].taken = seen[track] = true;
        ball_update(&t->ball, &s->each[pick].at);
        t->last_seen = f->time;
        t->record += (float)(1 - exp(-dt / PATIENCE)) * (s->each[pick].confidence - t->record);
    }
}

/* No ball lies beyond the carpet. */
static bool on_carpet(const struct ball_filter *f, const struct place *place, const struct ball_sighting *s)
{
    struct pose2 at = pose2_mul(place->robot_to_map, pose2_point(s->x, s->y));
    bool located = place->known && place->p[0][0] + place->p[1][1] < 2 * LOCATED * LOCATED;
    double out = f->field.border + LOCATED;
    return !located || (fabs(at.x) < f->field.length / 2 + out && fabs(at.y) < f->field.width / 2 + out);
}

/* A sighting that no track explains is perhaps the ball. */
static void start_tracks(struct ball_filter *f, const struct ball_params *params, const struct sightings *s)
{
    struct place place = place_at(f->nm, f->pose, &f->trail, f->time);
    for (uint32_t k = 0; k < s->n; k++) {
        struct track *worst = NULL;
        if (s->each[k].taken || !on_carpet(f, &place, &s->each[k].at)) continue;
        for (int i = 0; i < TRACKS; i++)
            if (i != f->best && (!worst || !f->tracks[i].on || (worst->on && f->tracks[i].record < worst->record)))
                worst = &f->tracks[i];
        *worst =
            (struct track){.on = true, .record = s->each[k].confidence / 2, .begun = f->time, .last_seen = f->time};
        ball_start(&worst->ball, params, &s->each[k].at, f->learned, f->learned_variance);
    }
}

/* ---- what should be seen ---- */

/* How likely a ball at this place is found in an image, as far as the robot knows where it looks. */
static double chance_to_see(const struct ball_filter *f, struct pose2 ball)
{
    struct view view = view_now(f->nm, f->camera);
    double away = vec2_norm(ball.x, ball.y), bearing = atan2(ball.y, ball.x);
    if (!view_sees(&view, (struct vec3){ball.x, ball.y, BALL_HEIGHT}, 30)) return 0;
    for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        double there = vec2_norm(o->position.x, o->position.y);
        double wide = asin(fmin((o->radius + BALL_HEIGHT) / fmax(there, 1e-3), 1));
        if (there < away && fabs(angle_normal(atan2(o->position.y, o->position.x) - bearing)) < wide) return 0;
    }
    return 1 / (1 + exp((away - RANGE) / FADE));
}

static void miss(struct ball_filter *f, struct track *t, double dt)
{
    double loss[BALL_HYPOTHESES], memory = t->last_seen - t->begun < nm_ns(FLEETING) ? HARDLY : MEMORY;
    for (uint32_t i = 0; i < t->ball.n; i++) {
        const double *x = t->ball.at[i].x;
        struct pose2 ball = pose2_mul(pose2_inv(f->robot_to_odom), pose2_point(x[BALL_X], x[BALL_Y]));
        double chance = chance_to_see(f, ball), away = vec2_norm(ball.x, ball.y);
        loss[i] = chance * chance * dt / (away < NEAR ? NEAR_MISSING : MISSING);
    }
    t->record *= (float)(ball_miss(&t->ball, loss) * exp(-dt / memory));
}

/* ---- kicks ---- */

static void watch_own_kicks(struct ball_filter *f)
{
    bool asked = f->walk_command->kick != WalkCommand_KICK_NONE && nm_age(f->nm, f->walk_command) < nm_ns(0.1);
    bool strong = f->hcm->left_leg_owner == HcmState_OWNER_KICK || f->hcm->right_leg_owner == HcmState_OWNER_KICK;
    if (asked) {
        f->kick_direction = f->walk_command->kick_direction;
        f->kick_strength = f->walk_command->kick_strength;
    } else if (strong) {
        f->kick_direction = 0;
        f->kick_strength = 1;
    }
    if (asked || strong || f->walk->state == WalkState_KICKING) f->kick_until = f->nm->now + nm_ns(KICK_TIME);
}

static void consider_kicks(struct ball_filter *f, struct track *t, struct ball_params params)
{
    struct pose2 ball = pose2_mul(pose2_inv(f->robot_to_odom), ball_of(t));
    if (f->time < f->kick_until && vec2_norm(ball.x, ball.y) < KICK_REACH) {
        double speed = f->kick_strength * 2, angle = f->robot_to_odom.theta + f->kick_direction;
        struct ball_kick own = {speed * cos(angle), speed * sin(angle), 0.5 * speed + 0.2, 2};
        ball_branch(&t->ball, &params, &own);
        return;
    }
    for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        if (o->kind == Obstacle_GOAL_POST || vec2_norm(o->position.x - ball.x, o->position.y - ball.y) > NEARBY)
            continue;
        params.kick_rate *= 3;
        break;
    }
    ball_branch(&t->ball, &params, NULL);
}

/* ---- an image ---- */

/* A ball that is not seen does not roll through robots. This one kicks it by walking into it; that happens where its
 * camera does not see, before and between its feet. */
static void meet_robots(struct ball_filter *f, struct track *t, struct pose2 moved, double dt)
{
    struct pose2 now = nm_trail_at(&f->trail, f->nm->now);
    double speed = vec2_norm(moved.x, moved.y) / dt, aside = moved.x > fabs(moved.y) ? 0 : atan2(moved.y, moved.x);
    double angle = f->robot_to_odom.theta + aside;
    struct ball_kick kick = {STEP_KICK * cos(angle), STEP_KICK * sin(angle), 0.5 * STEP_KICK, 0};
    ball_meet(&t->ball, (const double[2]){f->robot_to_odom.x, f->robot_to_odom.y}, FEET, speed > STEPS ? &kick : NULL);
    for (uint32_t i = 0; i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        struct pose2 at = pose2_mul(now, pose2_point(o->position.x, o->position.y));
        if (o->kind == Obstacle_GOAL_POST || nm_seconds(f->nm->now - nm_stamp_ns(o->last_seen)) > RECENT) continue;
        ball_meet(&t->ball, (const double[2]){at.x, at.y}, OTHERS, NULL);
    }
}

/* Brings all tracks to a time; odometry errs by a share of what the robot moves, more for a ball far off when it turns.
 */
static void advance(struct ball_filter *f, const struct ball_params *params, int64_t to)
{
    if (to <= f->time) return;
    double dt = nm_seconds(to - f->time), share = (double)f->odometry_noise * f->odometry_noise;
    struct pose2 robot = nm_trail_at(&f->trail, to), moved = pose2_mul(pose2_inv(f->robot_to_odom), robot);
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        if (!t->on) continue;
        struct pose2 ball = ball_of(t);
        double away = vec2_norm(ball.x - robot.x, ball.y - robot.y);
        ball_predict(&t->ball, params, dt);
        ball_blur(&t->ball, share * (vec2_norm(moved.x, moved.y) + fabs(moved.theta) * away * away));
    }
    f->time = to;
    f->robot_to_odom = robot;
    for (int i = 0; i < TRACKS; i++)
        if (f->tracks[i].on && f->tracks[i].ball.unseen > HIDDEN) meet_robots(f, &f->tracks[i], moved, dt);
}

/* There is one ball: a good one that is seen now soon counts more than one that is remembered. The square makes
 * doubtful sightings worth much less than sure ones. A robot that does not know where it looks cannot tell a ball out
 * of view from one that is gone, and forgets it sooner. */
static double standing(const struct ball_filter *f, const struct track *t)
{
    double unseen = nm_seconds(f->time - t->last_seen), lasts = t->ball.at[0].rolls ? ROLLING : UNSEEN;
    if (!view_now(f->nm, f->camera).known) lasts = BLIND;
    return t->record * t->record * exp(-unseen / lasts);
}

static void choose(struct ball_filter *f)
{
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        bool stale = i != f->best && nm_seconds(f->time - t->last_seen) > STALE;
        if (t->on && (t->record < LOST || stale)) t->on = false;
    }
    if (f->best >= 0 && !f->tracks[f->best].on) f->best = -1;
    for (int i = 0; i < TRACKS; i++) {
        const struct track *t = &f->tracks[i];
        double beat = f->best < 0 ? f->min_confidence * f->min_confidence : standing(f, &f->tracks[f->best]) + SWITCH;
        if (t->on && standing(f, t) > beat) f->best = i;
    }
}

static void take_image(struct ball_filter *f, int64_t stamp, struct sightings *s)
{
    struct ball_params params = params_of(f);
    double dt = f->time ? fmin(nm_seconds(stamp - f->time), 0.2) : 0.033;
    bool seen[TRACKS] = {0};
    advance(f, &params, stamp);
    give_sightings(f, s, fmax(dt, 0), seen);
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        if (!t->on) continue;
        if (seen[i])
            consider_kicks(f, t, params);
        else
            miss(f, t, fmax(dt, 0));
    }
    start_tracks(f, &params, s);
    choose(f);
    const struct ball_hypothesis *best = f->best < 0 ? NULL : &f->tracks[f->best].ball.at[0];
    if (best && best->rolls && f->learn_brake) {
        f->learned = best->x[BALL_BRAKE];
        f->learned_variance = best->p[BALL_BRAKE][BALL_BRAKE];
    }
}

static void look(struct ball_filter *f)
{
    struct sightings s = {0};
    if (nm_slot(f->percepts)->seq) {
        if (!nm_fresh(f->nm, f->percepts)) return;
        int64_t stamp = valid_at(f->percepts, f->percepts->header.stamp);
        struct pose2 robot = nm_trail_at(&f->trail, stamp);
        const struct tilt_params tilt = {f->tilt_share, f->image_share, f->tilt_time, f->odometry_noise};
        look_at_field(f, &tilt, stamp, robot);
        for (uint32_t i = 0; i < f->percepts->percepts.n; i++) {
            const Percept *p = &f->percepts->percepts.at[i];
            if (p->kind == Percept_BALL && p->located)
                add_sighting(f, &s, p->position, p->covariance, p->confidence, robot, &tilt);
        }
        take_image(f, stamp, &s);
    } else if (nm_fresh(f->nm, f->seen)) {
        int64_t stamp = valid_at(f->seen, f->seen->header.stamp);
        add_sighting(f, &s, f->seen->ball_relative, NULL, f->seen->confidence, nm_trail_at(&f->trail, stamp), NULL);
        take_image(f, stamp, &s);
    }
}

/* ---- the result ---- */

static void tell(struct ball_filter *f)
{
    const struct track *t = &f->tracks[f->best];
    struct ball_hypothesis h = ball_belief(&t->ball);
    struct ball_track now = {.n = 1, .at = {h}};
    struct ball_params params = params_of(f);
    if (f->nm->now > f->time) ball_predict(&now, &params, nm_seconds(f->nm->now - f->time));
    h = now.at[0];

    BallModel *ball = f->ball;
    struct pose2 robot = nm_trail_at(&f->trail, f->nm->now), odom_to_robot = pose2_inv(robot);
    double c = cos(odom_to_robot.theta), s = sin(odom_to_robot.theta), meet[2],
           speed = vec2_norm(h.x[BALL_VX], h.x[BALL_VY]);
    double to_rest = fmin(ball_rest_time(speed, h.x[BALL_BRAKE], f->friction), 60);
    double k = speed > 0 ? ball_way(speed, h.x[BALL_BRAKE], f->friction, to_rest, NULL) / speed : 0;
    struct pose2 at = pose2_mul(odom_to_robot, pose2_point(h.x[BALL_X], h.x[BALL_Y]));
    struct pose2 rest =
        pose2_mul(odom_to_robot, pose2_point(h.x[BALL_X] + k * h.x[BALL_VX], h.x[BALL_Y] + k * h.x[BALL_VY]));
    const struct ball_chase chase = {f->walk_speed, f->walk_delay, f->reach};
    double when = ball_intercept(&h.x[BALL_X], &h.x[BALL_VX], h.x[BALL_BRAKE], f->friction,
                                 (const double[2]){robot.x, robot.y}, &chase, meet);
    struct pose2 there = pose2_mul(odom_to_robot, pose2_point(meet[0], meet[1]));

    nm_text(ball->header.frame_id, "base_footprint");
    ball->valid = true;
    ball->position = (Point){at.x, at.y, 0};
    ball->velocity = (Vector3){c * h.x[BALL_VX] - s * h.x[BALL_VY], s * h.x[BALL_VX] + c * h.x[BALL_VY], 0};
    ball->destination = (Point){rest.x, rest.y, 0};
    ball->interception = (Point){there.x, there.y, 0};
    ball->interception_time = (float)when;
    ball->confidence = t->record;
    ball->last_seen = nm_stamp(t->last_seen);
    /* covariance turned into the robot's frame: R P R^T for both halves */
    double turn[4][4] = {{c, -s, 0, 0}, {s, c, 0, 0}, {0, 0, c, -s}, {0, 0, s, c}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++) sum += turn[i][a] * h.p[a][b] * turn[j][b];
            ball->covariance[4 * i + j] = sum;
        }
}

static void step(struct ball_filter *f)
{
    trail_take(&f->trail, f->odometry);
    watch_own_kicks(f);
    look(f);
    if (f->best >= 0 && nm_seconds(f->nm->now - f->tracks[f->best].last_seen) > f->forget) {
        f->tracks[f->best].on = false;
        f->best = -1;
        choose(f);
    }
    const struct ball_hypothesis *h = f->best < 0 ? NULL : &f->tracks[f->best].ball.at[0];
    if (h) tell(f);
    nm_show(f->nm, "speed", h ? vec2_norm(h->x[BALL_VX], h->x[BALL_VY]) : 0);
    nm_show(f->nm, "brake", f->learned);
    nm_put(f->nm, f->ball);
}

static int init(struct ball_filter *f)
{
    f->best = -1;
    tilt_start(&f->tilt);
    f->learned = f->brake;
    f->learned_variance = f->learn_brake ? 0.04 : 0;
    return 0;
}

#define SELF struct ball_filter
static const struct nm_port ports[] = {
    NM_IN(seen, BallRelative, "ball_relative", .optional = true),
    NM_IN(percepts, Percepts, "percepts", .optional = true),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(camera, CameraPose, "camera/pose", .optional = true),
    NM_LAST(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_LAST(walk_command, WalkCommand, "walk_command", .optional = true),
    NM_LAST(walk, WalkState, "walk_state", .optional = true),
    NM_LAST(hcm, HcmState, "hcm_state", .optional = true),
    NM_LAST(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_OUT(ball, BallModel, "ball"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(friction, 0, 0, 5, "1/s", "share of its speed that a rolling ball loses in a second, besides the brake"),
    NM_PARAM(brake, 0.77, 0, 4, "m/s^2",
             "what turf takes from the speed of a rolling ball; 0.77 on 30 mm, 0.5 on 8 mm"),
    NM_PARAM_SWITCH(learn_brake, true, "corrects the brake by the balls that were seen rolling"),
    NM_PARAM(near_noise, 0.02, 0.001, 1, "m",
             "standard deviation of a sighting at the robot's feet, if it states none"),
    NM_PARAM(far_noise, 0.02, 0, 1, "1/m", "how much this standard deviation grows with the square of the distance"),
    NM_PARAM(acceleration, 0.2, 0.01, 50, "m/s^2", "acceleration that a rolling ball may have besides braking"),
    NM_PARAM(tilt_share, 0.7, 0, 1, "1",
             "part of a sighting's variance that comes from a slow error of the camera's tilt"),
    NM_PARAM(image_share, 0.25, 0, 1, "1",
             "part of it that is common to all percepts of an image, but new in every image"),
    NM_PARAM(tilt_time, 0.8, 0.01, 60, "s", "how long that error lasts"),
    NM_PARAM(odometry_noise, 0.04, 0, 1, "1", "share of its way by which the robot's odometry errs, at 1 m"),
    NM_PARAM(kick_rate, 0.3, 0.0001, 10, "1/s",
             "how often somebody kicks the ball; three times as often near other robots"),
    NM_PARAM(kick_speed, 1.5, 0.1, 10, "m/s", "standard deviation of the ball's speed after a kick"),
    NM_PARAM(forget, 3, 0.1, 60, "s", "time without a sighting after which the ball is lost"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "sightings with less confidence are ignored"),
    NM_PARAM(walk_speed, 0.3, 0.01, 3, "m/s", "speed of this robot on its way to the ball, for the interception"),
    NM_PARAM(walk_delay, 0.3, 0, 5, "s", "time that it needs to start"),
    NM_PARAM(reach, 0.15, 0, 1, "m", "it meets the ball when it is this near"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(ball_filter, "Tracks the ball on the ground: resting, rolling or kicked, and where it can be met.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

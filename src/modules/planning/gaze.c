/* Decides where to look. A head mode says what matters; the gaze that is expected to tell most in the least time is
 * taken. It knows what a gaze can show: the angle of the lens, the limits of neck and shoulders, how far things are
 * found (HULKs team research report 2017, section 4.6, and the active vision that it wishes for).
 *
 * What a gaze tells is counted in nats. A ball that may have moved tells the more the longer it was not looked at;
 * landmarks tell what they take off the uncertainty of the pose, 1/2 ln det(1 + P H' R^-1 H); a direction that was not
 * looked at for long tells about other robots, or a lost ball. The gain of a gaze is divided by the time that the head
 * needs to go there and dwell. */
#include <string.h>

#include "base/clamp.h"
#include "base/pitch.h"
#include "body/kinematics.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/HeadMode.h"
#include "modules/shoulders.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/ObstacleModel.h"

enum { ROBOTS = 8, SECTORS = 24, RINGS = 3, PANS = 11, TILTS = 3, AT_BALL = 3, GAZES = PANS * TILTS + AT_BALL };

static const double EDGE = 0.85; /* of half the picture: nearer to its edge things are easily lost            */
static const double rings[RINGS] = {0.3, 0.8, 3}; /* m, where directions are looked at: before the feet, near, far */
static const double likely[RINGS] = {0.3, 1, 1};  /* shares of the balls that lie there */
static const double BALL = 0.07;  /* m, height of its middle                                                   */
static const double SEEN = 0.2;   /* s; a ball that was not seen for longer must be near the middle of the picture   */
static const double STARED = 0.6; /* s at the place of a ball beyond FEET without seeing it: then it searches */
static const double FEET = 0.5;   /* m, nearer balls are often hidden by the robot itself */
static const double HAD = 3;      /* s, in which a ball that was lost near the robot is looked for there ... */
static const double LINGER = 0.7; /* s, ... after a last look at its place: a vision misses some pictures in a row */
static const double TURNING = 0.8, PACE = 0.2; /* rad/s, s: it searches in turning; over which time that is measured */
static const double DOUBTED = 1; /* s; a ball that was not seen for longer is looked for where mates say            */
static const double NEWS = 3;    /* s, a pose that is older says nothing                                      */
static const double UNREST = 1;  /* m/s2, with which a ball may begin to move while nobody looks              */
static const double BALL_RANGE = 5, POST_RANGE = 6, MARK_RANGE = 3, FADE = 0.7; /* m, half of them are found there */
static const double SETTLE = 0.05; /* s, until the picture of a head that has arrived is sharp                  */
static const double STALE = 4;     /* s, in which a direction becomes worth a look                              */
static const double NEXT = 0.8;    /* s, in which the way ahead becomes worth a look                            */
static const double WAY = 2;       /* nats for each m/s that the way ahead is worth then                        */
static const double AHEAD = 2;     /* m, where robots on the way are looked for                                 */
static const double SLOW = 0.1;    /* m/s, slower it does not look where it walks                               */
static const double BESIDE = 1.5, TRUNK = 0.35; /* m, robots that are nearer are watched; where they are recognised */
static const double STRAYS = 0.4, KNOWN = 0.06; /* m/s, m: how fast they stray, how well they are known when seen */
static const double BUSY = 1;    /* m, with the ball so near it looks at nothing else ...                     */
static const double PLAYS = 0.8; /* m, ... but at robots beside it, down to here                              */
static const double SAME = 1.5;  /* s, in which a landmark tells something new: pictures err together */
static const double THERE = 0.1; /* rad, the head looks where it should                                       */

struct gaze {
    struct nm *nm;
    /* in */
    const HeadMode *mode;
    const BallModel *ball;
    const PoseWithCovarianceStamped *pose;
    const Odometry *odometry;
    const ObstacleModel *obstacles;
    const PointStamped *search; /* where a lost ball may be, in map */
    const CameraPose *camera;
    /* out */
    HeadCommand *command;
    /* params */
    double speed, dwell;           /* rad/s, s */
    double most_pan, highest;      /* rad      */
    double eye_height, wide, high; /* m, rad, rad: 0: from the model of the robot */
    double down, forward, up;      /* rad, tilt of the modes of that name */
    struct shoulders shoulders;
    struct nm_pitch_size field;
    /* state */
    struct nm_landmark landmarks[NM_PITCH_LANDMARKS];
    int64_t landmark_seen[NM_PITCH_LANDMARKS]; /* ns */
    uint32_t n_landmarks;
    struct vec3 eye;              /* m, the camera in the robot's frame */
    double half_wide, half_high;  /* rad */
    double pan, tilt;             /* rad, where the head is by now */
    struct pose2 robot;           /* in odom */
    double turn;                  /* rad/s, of the robot */
    double swept;                 /* rad, that it has turned in search of the ball */
    struct pose2 ball_at;         /* the ball, in the robot's frame */
    struct pose2 had_at;          /* in odom, where it last knew a ball nearer than BUSY */
    int64_t seen[RINGS][SECTORS]; /* ns, when a direction of odom was looked at */
    int64_t way_seen;             /* ns, when it looked where it walked         */
    int64_t had_ball;             /* ns, when it last knew a ball nearer than BUSY */
    double stared;                /* s that it looked where the ball should be, and did not see it */
    struct look {
        double pan, tilt; /* rad; pan in odom, or both relative to the ball */
        bool at_ball;
        bool turns; /* pan is relative to the robot: the picture sweeps over the field with it */
    } look;
    bool knew_ball; /* in the step before */
    int64_t until;  /* ns, of this look */
    uint8_t last_mode;
};

/* What a head mode wants to know. */
static const struct needs {
    double ball, posts, field, around, way;
    bool fixed; /* the head looks straight ahead */
} needs_of[] = {
    [HeadMode_BALL_MODE] = {.ball = 3, .field = 0.1, .around = 0.05, .way = 2},
    [HeadMode_POST_MODE] = {.posts = 1, .around = 0.1},
    [HeadMode_BALL_GOAL_TRACKING] = {.ball = 0.5, .posts = 1, .field = 0.3, .around = 0.05, .way = 2},
    [HeadMode_FIELD_FEATURES] = {.ball = 0.1, .field = 1, .around = 0.2, .way = 1},
    [HeadMode_NON_FIELD_FEATURES] = {.around = 1},
    [HeadMode_LOOK_DOWN] = {.fixed = true},
    [HeadMode_LOOK_FORWARD] = {.fixed = true},
    [HeadMode_DONT_MOVE] = {.fixed = true},
    [HeadMode_LOOK_UP] = {.fixed = true},
};

static struct pose2 flat(const Pose *p)
{
    const Quaternion *q = &p->orientation;
    return (struct pose2){p->position.x, p->position.y, quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
}

/* ---- what there is to see ---- */

struct spot {         /* a point of the ground as the head sees it */
    double pan, tilt; /* rad, at which the camera's axis meets it           */
    double worth;     /* nats, or a share of a direction, if it is looked at */
};

struct outlook { /* everything that a gaze may show, as things are now */
    bool pose, ball, search, way;
    bool seen;      /* the ball is seen now */
    double p[3][3]; /* covariance of the pose (x, y, turn) in the robot's frame */
    double post_factor;
    struct spot ball_at, search_at, way_at, cells[RINGS][SECTORS];
    struct spot robots[ROBOTS];
    uint32_t n_robots;
    uint32_t n;
    struct mark {
        struct spot at;
        uint32_t landmark;
        bool post;
        double information[3][3]; /* about the pose */
    } marks[NM_PITCH_LANDMARKS];
};

static struct spot spot_of(const struct gaze *f, double x, double y, double height)
{
    return (struct spot){atan2(y, x), atan2(f->eye.z - height, vec2_norm(x - f->eye.x, y - f->eye.y)), 1};
}

static double found(double distance, double range) { return 1 / (1 + exp((distance - range) / FADE)); }

/* A ball that may have moved since it was seen. */
static void look_out_for_ball(const struct gaze *f, struct outlook *o)
{
    const BallModel *b = f->ball;
    double far = vec2_norm(f->ball_at.x, f->ball_at.y);
    bool lingers = nm_seconds(f->nm->now - f->had_ball) < LINGER;
    o->seen = false;
    double unseen = fmax(nm_seconds(f->nm->now - nm_stamp_ns(b->last_seen)), 0) + f->dwell;
    bool elsewhere = unseen > DOUBTED + f->dwell && nm_age(f->nm, f->search) < nm_ns(NEWS); /* mates know better */
    o->ball = (b->valid || lingers) && isfinite(far) && !elsewhere;
    if (!o->ball) return;
    double strayed = 0.5 * UNREST * unseen * unseen, noise = 0.03 + 0.02 * far * far;
    double variance = fmax(0.5 * (b->covariance[0] + b->covariance[5]), 0) + strayed * strayed;
    o->ball_at = spot_of(f, f->ball_at.x, f->ball_at.y, BALL);
    o->seen = b->valid && unseen < SEEN + f->dwell;
    o->ball_at.worth = found(far, BALL_RANGE) * 0.5 * log(1 + variance / (noise * noise)) * (1 + 1 / fmax(far, 0.5));
}

/* Information about the pose (x, y, turn in the robot's frame) from a landmark seen at (x, y). */
static void inform(double m[3][3], double x, double y, double far, double chance)
{
    double c = x / far, s = y / far, along = 0.05 + 0.03 * far * far, across = 0.03 + 0.02 * far;
    double wa = chance / (along * along), wc = chance / (across * across);
    /* rows of H along and across the line of sight: a turn moves the landmark across only */
    const double ha[3] = {-c, -s, 0}, hc[3] = {s, -c, -far};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[i][j] = wa * ha[i] * ha[j] + wc * hc[i] * hc[j];
}

/* Landmarks near enough to be found. One that was seen a moment ago tells little. */
static void look_out_for_landmarks(const struct gaze *f, struct pose2 map_to_robot, struct outlook *o)
{
    double c = cos(map_to_robot.theta), s = sin(map_to_robot.theta), post_unseen = 10;
    for (uint32_t i = 0; i < f->n_landmarks; i++) {
        const struct nm_landmark *l = &f->landmarks[i];
        bool post = l->kind == NM_LANDMARK_POST;
        double x = map_to_robot.x + c * l->x - s * l->y, y = map_to_robot.y + s * l->x + c * l->y,
               far = vec2_norm(x, y);
        double range = post ? POST_RANGE : MARK_RANGE, age = nm_seconds(f->nm->now - f->landmark_seen[i]);
        if (post) post_unseen = fmin(post_unseen, age);
        if (far > range + 3 * FADE || far < 0.1) continue;
        struct mark *mark = &o->marks[o->n++];
        mark->at = spot_of(f, x, y, 0);
        mark->landmark = i;
        mark->post = post;
        inform(mark->information, x, y, far, found(far, range) * (1 - exp(-age / SAME)));
    }
    o->post_factor = 1 + post_unseen; /* the longer no post was seen, the more one is worth */
}

/* Covariance of the pose, turned into the robot's frame. */
static void pose_covariance(const struct gaze *f, double theta, double p[3][3])
{
    const double *v = f->pose->pose.covariance;
    const double in_map[3][3] = {{v[0], v[1], v[5]}, {v[6], v[7], v[11]}, {v[30], v[31], v[35]}};
    double c = cos(theta), s = sin(theta), r[3][3] = {{c, s, 0}, {-s, c, 0}, {0, 0, 1}}, half[3][3] = {{0}};
    memset(p, 0, 9 * sizeof(double));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) half[i][j] += r[i][k] * in_map[k][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) p[i][j] += half[i][k] * r[j][k];
}

/* Who walks looks where it walks, the more the faster it is: others may stand there. */
static void look_out_for_way(const struct gaze *f, struct outlook *o)
{
    const Vector3 *v = &f->odometry->twist.twist.linear;
    double speed = vec2_norm(v->x, v->y), unseen = nm_seconds(f->nm->now - f->way_seen);
    o->way = speed > SLOW && isfinite(speed) && !(o->ball && vec2_norm(f->ball_at.x, f->ball_at.y) < BUSY);
    if (!o->way) return;
    o->way_at = spot_of(f, AHEAD * v->x / speed, AHEAD * v->y / speed, 0);
    o->way_at.worth = WAY * speed * (1 - exp(-unseen / NEXT));
}

/* Robots beside it that it has not seen for a moment: they may have come nearer. What a look tells is counted as for
 * the ball, which otherwise wins every time; only who plays the ball cares less. */
static void look_out_for_robots(const struct gaze *f, struct outlook *o)
{
    bool plays = o->ball && vec2_norm(f->ball_at.x, f->ball_at.y) < PLAYS;
    for (uint32_t i = 0; i < f->obstacles->obstacles.n && o->n_robots < ROBOTS; i++) {
        const Obstacle *r = &f->obstacles->obstacles.at[i];
        double far = vec2_norm(r->position.x, r->position.y),
               unseen = nm_seconds(f->nm->now - nm_stamp_ns(r->last_seen));
        if (r->kind == Obstacle_GOAL_POST || r->kind == Obstacle_BALL || !(far < BESIDE)) continue;
        o->robots[o->n_robots] = spot_of(f, r->position.x, r->position.y, TRUNK);
        double strayed = STRAYS * (fmax(unseen, 0) + f->dwell);
        double told = 0.5 * log(1 + strayed * strayed / (KNOWN * KNOWN));
        o->robots[o->n_robots++].worth =
            plays ? (1 - far / BESIDE) * (1 - exp(-fmax(unseen, 0) / NEXT)) : (BESIDE / fmax(far, TRUNK) - 1) * told;
    }
}

static void look_out(const struct gaze *f, struct outlook *o)
{
    struct pose2 here = flat(&f->pose->pose.pose), map_to_robot = pose2_inv(here);
    o->pose = nm_age(f->nm, f->pose) < nm_ns(NEWS) && isfinite(here.x + here.y + here.theta);
    o->n = o->n_robots = 0;
    look_out_for_ball(f, o);
    look_out_for_way(f, o);
    look_out_for_robots(f, o);
    for (int ring = 0; ring < RINGS; ring++)
        for (int s = 0; s < SECTORS; s++)
            o->cells[ring][s] = (struct spot){angle_normal((s + 0.5) * 2 * M_PI / SECTORS - f->robot.theta),
                                              atan2(f->eye.z, rings[ring]),
                                              1 - exp(-nm_seconds(f->nm->now - f->seen[ring][s]) / STALE)};
    o->search = false;
    if (!o->pose) return;
    look_out_for_landmarks(f, map_to_robot, o);
    pose_covariance(f, here.theta, o->p);
    struct pose2 at = pose2_mul(map_to_robot, (struct pose2){f->search->point.x, f->search->point.y, 0});
    o->search = nm_age(f->nm, f->search) < nm_ns(NEWS) && isfinite(at.x + at.y);
    if (o->search) o->search_at = spot_of(f, at.x, at.y, BALL);
}

/* ---- what a gaze tells ---- */

/* Whether a spot is in the picture, so far from its middle (1: at its edge) at most. */
static bool within(const struct gaze *f, double pan, double tilt, const struct spot *spot, double edge)
{
    double aside = fabs(spot->pan - pan);
    if (aside > M_PI) aside = 2 * M_PI - aside;
    return fabs(spot->tilt - tilt) < edge * f->half_high && cos(spot->tilt) * aside < edge * f->half_wide;
}

static void keep_to_limits(const struct gaze *f, double *pan, double *tilt)
{
    *pan = nm_within(angle_normal(*pan), f->most_pan);
    *tilt = nm_clamp(*tilt, f->highest, lowest_tilt(&f->shoulders, *pan));
}

/* A share for each cell in the picture, the larger the longer ago it was looked at. A ball that was lost near the robot
 * is still near it. */
static double around_gain(const struct gaze *f, const struct outlook *o, double pan, double tilt, bool near)
{
    double gain = 0, had = exp(-nm_seconds(f->nm->now - f->had_ball) / HAD);
    for (int ring = near ? 0 : RINGS - 1; ring < RINGS; ring++)
        for (int s = 0; s < SECTORS; s++)
            if (within(f, pan, tilt, &o->cells[ring][s], EDGE))
                gain += (likely[ring] + (ring < RINGS - 1 ? had : 0)) * o->cells[ring][s].worth;
    return gain / 3;
}

/* A look that does not follow the ball loses one near the edge of the picture. */
static double ball_gain(const struct gaze *f, const struct outlook *o, double pan, double tilt, bool follows)
{
    if (o->ball) return within(f, pan, tilt, &o->ball_at, follows && o->seen ? EDGE : 0.5) ? o->ball_at.worth : 0;
    double gain = around_gain(f, o, pan, tilt, true);
    return o->search && within(f, pan, tilt, &o->search_at, EDGE) ? 2 * gain + 0.2 : gain;
}

static double field_gain(const struct gaze *f, const struct outlook *o, double pan, double tilt, bool only_posts)
{
    double information[3][3] = {{0}}, m[3][3];
    if (!o->pose) return around_gain(f, o, pan, tilt, false);
    for (uint32_t i = 0; i < o->n; i++) {
        if ((only_posts && !o->marks[i].post) || !within(f, pan, tilt, &o->marks[i].at, EDGE)) continue;
        for (int k = 0; k < 9; k++) information[k / 3][k % 3] += o->marks[i].information[k / 3][k % 3];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            m[i][j] = i == j;
            for (int l = 0; l < 3; l++) m[i][j] += o->p[i][l] * information[l][j];
        }
    double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                 m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    return det > 1 ? 0.5 * log(det) : 0;
}

/* ---- the decision ---- */

/* Who turns to find the ball does not hold the head on a direction that is soon behind it. In one turn it looks only
 * ahead, because far balls would pass above a picture of the feet; in the next one it looks down, too. A ball that was
 * lost near the robot is looked for below first. */
static struct look candidate(const struct gaze *f, const struct outlook *o, int i)
{
    static const double lower[AT_BALL] = {0, 0.15, 0.28}; /* rad, the ball in the middle of the picture or below it */
    static const double tilts[TILTS] = {0.12, 0.45, 0.85};
    if (i >= PANS * TILTS) return (struct look){0, -lower[i - PANS * TILTS], true, false};
    double pan = f->most_pan * (2.0 * (i % PANS) / (PANS - 1) - 1);
    bool turns = !o->ball && fabs(f->turn) > TURNING;
    bool down = !turns || fmod(f->swept, 4 * M_PI) >= 2 * M_PI;
    double tilt = down ? tilts[i / PANS] : fmin(tilts[i / PANS], tilts[1]);
    return (struct look){turns ? pan : f->robot.theta + pan, tilt, false, turns};
}

/* The angles of the head for a look, as things are now. */
static void angles_of(const struct gaze *f, const struct look *look, double *pan, double *tilt)
{
    *pan = look->turns ? look->pan : angle_normal(look->pan - f->robot.theta);
    *tilt = look->tilt;
    if (look->at_ball) {
        struct spot ball = spot_of(f, f->ball_at.x, f->ball_at.y, BALL);
        *pan = ball.pan + look->pan;
        *tilt = ball.tilt + look->tilt;
    }
    keep_to_limits(f, pan, tilt);
}

static double time_to(const struct gaze *f, double pan, double tilt)
{
    double way = fmax(fabs(pan - f->pan), fabs(tilt - f->tilt));
    return way / f->speed + (way > THERE ? SETTLE : 0) + f->dwell;
}

/* Nats a second. A look that turns with the robot is worth what it shows at its end. */
static double worth(const struct gaze *f, const struct needs *n, const struct outlook *o, const struct look *look)
{
    double pan, tilt, gain = 0;
    angles_of(f, look, &pan, &tilt);
    double takes = time_to(f, pan, tilt);
    if (look->turns) pan += f->turn * takes;
    if (n->ball > 0) gain += n->ball * ball_gain(f, o, pan, tilt, look->at_ball);
    if (n->posts > 0) gain += n->posts * (o->pose ? o->post_factor : 1) * field_gain(f, o, pan, tilt, true);
    if (n->field > 0) gain += n->field * field_gain(f, o, pan, tilt, false);
    if (o->way && within(f, pan, tilt, &o->way_at, EDGE)) gain += n->way * o->way_at.worth;
    for (uint32_t i = 0; i < o->n_robots; i++)
        if (within(f, pan, tilt, &o->robots[i], EDGE)) gain += n->way * o->robots[i].worth;
    if (n->around > 0) gain += n->around * around_gain(f, o, pan, tilt, false);
    return gain / takes;
}

static void decide(struct gaze *f, const struct needs *n, const struct outlook *o)
{
    double best = -1, pan, tilt;
    for (int i = 0; i < GAZES; i++) {
        struct look look = candidate(f, o, i);
        if (look.at_ball && (!o->ball || n->ball == 0)) continue;
        double w = worth(f, n, o, &look);
        if (w <= best) continue;
        best = w;
        f->look = look;
    }
    angles_of(f, &f->look, &pan, &tilt);
    f->until = f->nm->now + nm_ns(time_to(f, pan, tilt));
    nm_show(f->nm, "nats a second", best);
}

/* ---- the cycle ---- */

static void remember(struct gaze *f, const struct outlook *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (within(f, f->pan, f->tilt, &o->marks[i].at, EDGE)) f->landmark_seen[o->marks[i].landmark] = f->nm->now;
    if (o->way && within(f, f->pan, f->tilt, &o->way_at, EDGE)) f->way_seen = f->nm->now;
    double far = o->ball ? vec2_norm(f->ball_at.x, f->ball_at.y) : INFINITY;
    if (!o->ball || o->seen)
        f->stared = 0;
    else if (within(f, f->pan, f->tilt, &o->ball_at, EDGE) && far > FEET)
        f->stared += nm_seconds(f->nm->dt);
    for (int ring = 0; ring < RINGS; ring++)
        for (int s = 0; s < SECTORS; s++)
            if (within(f, f->pan, f->tilt, &o->cells[ring][s], EDGE)) f->seen[ring][s] = f->nm->now;
}

/* Where the head is by now: as fast as it goes towards what it was told. */
static void follow_head(struct gaze *f, double pan, double tilt)
{
    double most = f->speed * nm_seconds(f->nm->dt);
    f->pan += nm_within(pan - f->pan, most);
    f->tilt += nm_within(tilt - f->tilt, most);
}

static void take_robot(struct gaze *f)
{
    struct pose2 robot = flat(&f->odometry->pose.pose);
    double turn = f->odometry->twist.twist.angular.z;
    if (isfinite(robot.x + robot.y + robot.theta)) f->robot = robot;
    if (isfinite(turn)) f->turn += (1 - exp(-nm_seconds(f->nm->dt) / PACE)) * (turn - f->turn);
    const Point *eye = &f->camera->pose.position;
    if (f->camera->valid && eye->z > BALL && isfinite(eye->x + eye->y + eye->z))
        f->eye = (struct vec3){eye->x, eye->y, eye->z};
}

/* The ball, or for a moment the place near the robot where it was lost. */
static void take_ball(struct gaze *f)
{
    if (!f->ball->valid) {
        f->swept += fabs(f->turn) * nm_seconds(f->nm->dt);
        f->ball_at = pose2_mul(pose2_inv(f->robot), f->had_at);
        return;
    }
    f->ball_at = (struct pose2){f->ball->position.x, f->ball->position.y, 0};
    f->swept = 0;
    if (!(vec2_norm(f->ball_at.x, f->ball_at.y) < BUSY)) return;
    f->swept = 2 * M_PI;
    f->had_ball = f->nm->now;
    f->had_at = pose2_mul(f->robot, f->ball_at);
}

static void step(struct gaze *f)
{
    uint8_t mode = f->mode->head_mode;
    bool known = mode < sizeof needs_of / sizeof *needs_of && nm_slot(f->mode)->seq;
    const struct needs *n = &needs_of[known ? mode : HeadMode_BALL_MODE];
    double pan = 0, tilt = 0;
    struct outlook o;
    take_robot(f);
    take_ball(f);
    look_out(f, &o);
    remember(f, &o);
    o.ball &= f->stared < STARED;
    if (mode == HeadMode_DONT_MOVE && known) {
        f->command->mode = HeadCommand_HOLD;
        nm_put(f->nm, f->command);
        return;
    }
    bool lost = f->look.at_ball && !o.ball, found = o.ball && !f->knew_ball;
    f->knew_ball = o.ball;
    if (n->fixed)
        tilt = mode == HeadMode_LOOK_DOWN ? f->down : mode == HeadMode_LOOK_UP ? f->up : f->forward;
    else if (f->nm->now >= f->until || mode != f->last_mode || lost || found)
        decide(f, n, &o);
    f->last_mode = mode;
    if (!n->fixed) angles_of(f, &f->look, &pan, &tilt);
    f->command->mode = HeadCommand_ANGLES;
    f->command->pan = (float)pan;
    f->command->tilt = (float)tilt;
    nm_put(f->nm, f->command);
    follow_head(f, pan, tilt);
}

static void take_params(struct gaze *f)
{
    const struct nm_body *body = f->nm->body;
    const struct nm_camera *lens = body && body->n_cameras ? &body->cameras[0].lens : NULL;
    f->eye = (struct vec3){0, 0, f->eye_height > 0 ? f->eye_height : body ? 0.85 * body->height : 0.55};
    f->half_wide = 0.5 * (f->wide > 0 ? f->wide : 1.1);
    f->half_high = 0.5 * (f->high > 0 ? f->high : 0.85);
    if (lens && !(f->wide > 0)) f->half_wide = atan(0.5 * lens->width / lens->fx);
    if (lens && !(f->high > 0)) f->half_high = atan(0.5 * lens->height / lens->fy);
    f->n_landmarks = nm_pitch_landmarks(&f->field, f->landmarks);
}

static void reset(struct gaze *f)
{
    f->pan = 0;
    f->tilt = f->forward;
    f->until = 0;
    f->robot = f->ball_at = f->had_at = (struct pose2){0};
    f->turn = f->swept = 0;
    f->knew_ball = false;
    f->look = (struct look){0, f->forward, false, false};
    f->last_mode = UINT8_MAX;
    for (int ring = 0; ring < RINGS; ring++)
        for (int s = 0; s < SECTORS; s++) f->seen[ring][s] = nm_ns(-10);
    f->way_seen = f->had_ball = nm_ns(-10);
    f->stared = 0;
    for (uint32_t i = 0; i < NM_PITCH_LANDMARKS; i++) f->landmark_seen[i] = nm_ns(-10);
}

static int init(struct gaze *f)
{
    take_params(f);
    reset(f);
    return 0;
}

#define SELF struct gaze
static const struct nm_port ports[] = {
    NM_IN(mode, HeadMode, "head_mode"),
    NM_IN(ball, BallModel, "ball", .optional = true),
    NM_IN(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_IN(search, PointStamped, "search_target", .optional = true),
    NM_IN(camera, CameraPose, "camera/pose", .optional = true),
    NM_OUT(command, HeadCommand, "head_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(speed, 3, 0.1, 20, "rad/s", "of the head: as fast as the module head moves it"),
    NM_PARAM(dwell, 0.25, 0.05, 5, "s", "it looks at least so long: a few pictures"),
    NM_PARAM(most_pan, 1.7, 0.1, 3.1, "rad", "farthest look aside"),
    NM_PARAM(highest, 0, -1.5, 1, "rad", "highest look while it searches; down is positive"),
    NM_PARAM(eye_height, 0, 0, 3, "m", "height of the camera until its pose is known; 0: by the height of the robot"),
    NM_PARAM(wide, 0, 0, 3.1, "rad", "angle of the picture from left to right; 0: by the robot's camera"),
    NM_PARAM(high, 0, 0, 3.1, "rad", "the same from top to bottom"),
    NM_PARAM(down, 1, 0, 1.6, "rad", "tilt of LOOK_DOWN"),
    NM_PARAM(forward, 0.15, -1, 1.6, "rad", "tilt of LOOK_FORWARD"),
    NM_PARAM(up, -0.6, -1.6, 1, "rad", "tilt of LOOK_UP"),
    SHOULDERS_PARAMS(shoulders),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(gaze, "Decides where to look: what a head mode wants to know, by what each gaze is expected to tell.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .changed = NM_CALL(take_params),
          .step = NM_CALL(step))

/* The other robots and the goal posts around this robot. Each is a track in the odometry's frame: a Kalman filter with
 * a velocity that fades, since robots stop more often than they run on. Sightings that say mate or rival vote for the
 * team; a mate that reports a pose near a track gives it its number. Mates that nobody sees stand where they say.
 *
 * `obstacles` is what this robot has to walk around, in base_footprint, and `team_obstacles` is the same in the map.
 * Both have what mates see of other robots. */
#include "base/clamp.h"
#include "base/kf4.h"
#include "base/pitch.h"
#include "core/nm.h"
#include "modules/mate_place.h"
#include "modules/world/frames.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/TeamState.h"

enum { TRACKS = 24, MATES = 10 };

static const double FADING = 0.8;            /* 1/s, of a robot's velocity                                       */
static const double ACCELERATION = 0.3;      /* m/s^2, of robots                                                 */
static const double SPEED = 0.3;             /* m/s, standard deviation of a robot's speed when it is first seen */
static const double POST_WANDERS = 0.05;     /* m/s^(1/2), what odometry lets a post drift                       */
static const double GATE = 9;                /* squared standard deviations                                      */
static const double APART = 0.35;            /* m, two robots are never nearer                                   */
static const double TOUCH = 0.28;            /* m, and none is nearer to this one                                */
static const double LIES = 0.45;             /* m, wider than a robot that stands                                */
static const double PATIENCE = 0.5;          /* s, in which the confidence follows what is seen                  */
static const double RANGE = 4.5, FADE = 0.8; /* m: farther robots are missed more often than not; over which width */
static const double SURE = 1;                /* log odds from which on a robot belongs to a team                 */
static const double MATE_SPEED = 0.3;        /* m/s, how far a mate may be from where it was when it spoke       */
static const double MIDDLE = 0.35,
                    POST_MIDDLE = 0.1; /* m, height of the part by which a robot or a post is recognised */
static const double WIDTH = 0.2;       /* m, a robot nearer than this to the line of sight hides what is behind it */
static const double UNSEEN = 0.7;      /* s, a robot that was not seen for longer may be where a mate sees it   */
static const double ROBOT_SPEED = 0.6; /* m/s                                                               */
static const double HEARSAY = 0.7;     /* s, what a mate saw earlier does not count: most of them walk        */
static const double LOOMS = 1, LOOMING = 2; /* m, s: except of robots so near: nobody sees who walks beside it */
static const double POSE_GOOD = 0.5;        /* m, standard deviation up to which the own pose says where posts are */

struct track {
    bool on, post;
    struct kf4 at;    /* odometry's frame            */
    float confidence; /* 0 to 1                      */
    float mate;       /* log odds: mate against rival */
    float size;       /* m, width as seen            */
    uint8_t number;   /* 0: unknown                  */
    bool speaks;      /* a mate has said that it is this one ...  */
    bool named;       /* ... and says so in this step            */
    bool says_fallen; /* a mate that says so         */
    int64_t last_seen;
};

struct robot_tracker {
    struct nm *nm;
    /* in */
    const Percepts *percepts;
    const Odometry *odometry;
    const CameraPose *camera;
    const PoseWithCovarianceStamped *pose;
    const TeamState *team;
    /* out */
    ObstacleModel *obstacles, *team_obstacles;
    /* params */
    float forget, min_confidence, radius, mate_time;
    struct nm_pitch_size field;
    /* state */
    struct track tracks[TRACKS];
    int64_t time; /* ns, of the tracks */
    struct nm_trail trail;
    bool reported[MATES]; /* in this step: the mate of team_state has a track */
    int64_t heard[MATES]; /* ns, the last message of each mate that was listened to */
};

static bool is_robot(uint8_t kind)
{
    return kind == Percept_ROBOT || kind == Percept_MATE || kind == Percept_RIVAL || kind == Percept_HUMAN ||
           kind == Percept_OBSTACLE;
}

static struct pose2 place_of(const struct track *t) { return pose2_point(t->at.x[0], t->at.x[1]); }

/* ---- sightings ---- */

static void turn_covariance(const double c[4], double angle, double out[4])
{
    struct place turn = {.robot_to_map = {0, 0, angle}};
    place_spread(&turn, 0, 0, c, out);
}

static struct track *nearest_track(struct robot_tracker *f, const Percept *p, double x, double y, const double r[4])
{
    struct track *best = NULL;
    double nearest = INFINITY;
    bool post = p->kind == Percept_GOAL_POST;
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        if (!t->on || t->post != post || t->last_seen == f->time) continue;
        double d = kf4_distance(&t->at, x, y, r), away = vec2_norm(x - t->at.x[0], y - t->at.x[1]);
        if ((d < GATE || away < APART) && d < nearest) nearest = d, best = t;
    }
    return best;
}

static struct track *free_track(struct robot_tracker *f)
{
    struct track *worst = &f->tracks[0];
    for (int i = 0; i < TRACKS && worst->on; i++)
        if (!f->tracks[i].on || f->tracks[i].confidence < worst->confidence) worst = &f->tracks[i];
    return worst;
}

static void see(struct robot_tracker *f, const Percept *p, struct pose2 robot, double dt)
{
    const double least = 0.0025; /* m^2 */
    double r[4];
    struct pose2 at = pose2_mul(robot, pose2_point(p->position.x, p->position.y));
    turn_covariance(p->covariance, robot.theta, r);
    r[0] = fmax(r[0], least);
    r[3] = fmax(r[3], least);
    struct track *t = nearest_track(f, p, at.x, at.y, r);
    if (t) {
        kf4_update(&t->at, at.x, at.y, r);
        t->confidence += (float)(1 - exp(-dt / PATIENCE)) * (p->confidence - t->confidence);
    } else {
        t = free_track(f);
        *t = (struct track){.on = true, .post = p->kind == Percept_GOAL_POST, .confidence = p->confidence / 3};
        kf4_start(&t->at, at.x, at.y, r, t->post ? 0 : SPEED);
        t->size = p->size;
    }
    const float vote = 0.5f, most = 4;
    if (p->kind == Percept_MATE) t->mate = fminf(t->mate + vote, most);
    if (p->kind == Percept_RIVAL) t->mate = fmaxf(t->mate - vote, -most);
    if (p->player_number) t->number = p->player_number;
    if (p->size > 0) t->size += 0.2f * (p->size - t->size);
    t->last_seen = f->time;
}

/* Another robot stands before it. */
static bool hidden(const struct robot_tracker *f, const struct track *t, struct pose2 robot)
{
    double dx = t->at.x[0] - robot.x, dy = t->at.x[1] - robot.y, far = vec2_norm(dx, dy);
    for (int i = 0; i < TRACKS; i++) {
        const struct track *o = &f->tracks[i];
        double ox = o->at.x[0] - robot.x, oy = o->at.x[1] - robot.y, along = (ox * dx + oy * dy) / fmax(far, 0.01);
        if (!o->on || o == t || o->post || along < 0 || along > far - WIDTH) continue;
        if (fabs(ox * dy - oy * dx) < WIDTH * far) return true;
    }
    return false;
}

/* Both its feet and its middle must be in the picture: a head that looks down at the ball sees only the feet of the
 * robot behind it, and does not recognise it. */
static double chance_to_see(const struct robot_tracker *f, const struct track *t, struct pose2 robot)
{
    struct view view = view_now(f->nm, f->camera);
    struct pose2 at = pose2_mul(pose2_inv(robot), place_of(t));
    struct vec3 foot = {at.x, at.y, 0}, middle = {at.x, at.y, t->post ? POST_MIDDLE : MIDDLE};
    if (!view_sees(&view, foot, 40) || !view_sees(&view, middle, 40) || hidden(f, t, robot)) return 0;
    return 1 / (1 + exp((vec2_norm(at.x, at.y) - RANGE) / FADE));
}

static void predict(struct track *t, double dt)
{
    if (!(dt > 0)) return;
    kf4_predict(&t->at, dt, FADING, t->post ? 0 : ACCELERATION * ACCELERATION);
    for (int a = 0; a < 2 && t->post; a++) t->at.p[a][a] += POST_WANDERS * POST_WANDERS * dt;
}

/* Nobody walks through another robot: who was near and is not seen now stands at this one's side. */
static void keep_out(struct track *t, struct pose2 robot)
{
    double dx = t->at.x[0] - robot.x, dy = t->at.x[1] - robot.y, far = vec2_norm(dx, dy);
    if (t->post || far >= TOUCH || far < 1e-3) return;
    t->at.x[0] = robot.x + dx * TOUCH / far;
    t->at.x[1] = robot.y + dy * TOUCH / far;
}

/* Two tracks in one place are one robot. */
static void merge(struct robot_tracker *f)
{
    for (int i = 0; i < TRACKS; i++)
        for (int j = 0; j < TRACKS; j++) {
            struct track *a = &f->tracks[i], *b = &f->tracks[j];
            if (i == j || !a->on || !b->on || a->post != b->post || a->confidence < b->confidence) continue;
            if (vec2_norm(a->at.x[0] - b->at.x[0], a->at.x[1] - b->at.x[1]) < APART / 2) b->on = false;
        }
}

static void take_image(struct robot_tracker *f)
{
    int64_t stamp = valid_at(f->percepts, f->percepts->header.stamp);
    if (stamp <= f->time) return;
    double dt = f->time ? nm_seconds(stamp - f->time) : 0.033;
    struct pose2 robot = nm_trail_at(&f->trail, stamp);
    for (int i = 0; i < TRACKS; i++)
        if (f->tracks[i].on) predict(&f->tracks[i], fmin(dt, 2));
    f->time = stamp;
    for (uint32_t i = 0; i < f->percepts->percepts.n; i++) {
        const Percept *p = &f->percepts->percepts.at[i];
        bool wanted = is_robot(p->kind) || p->kind == Percept_GOAL_POST;
        if (wanted && p->located && isfinite(p->position.x + p->position.y)) see(f, p, robot, fmin(dt, 0.2));
    }
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        if (!t->on || t->last_seen == f->time) continue;
        keep_out(t, robot);
        double chance = chance_to_see(f, t, robot);
        t->confidence *= (float)exp(-chance * chance * fmin(dt, 0.2) / PATIENCE);
        if (t->confidence < 0.1f || nm_seconds(f->time - t->last_seen) > f->forget) t->on = false;
    }
    merge(f);
}

/* ---- mates ---- */

static bool heard(const struct robot_tracker *f, const TeamMate *mate)
{
    return mate->message.pose.weight > 0 && mate->message.state != TeamMessage_STATE_PENALIZED &&
           nm_seconds(f->nm->now - nm_stamp_ns(mate->message.header.stamp)) < f->mate_time;
}

/* Covariance of where a mate stands now: what it says of its pose, and how far it walked since. */
static void mate_spread(const struct robot_tracker *f, const TeamMate *mate, double c[4])
{
    const double *p = mate->message.pose.covariance;
    double age = nm_seconds(f->nm->now - nm_stamp_ns(mate->message.header.stamp)), walked = MATE_SPEED * age;
    c[0] = p[0] + walked * walked + 0.01;
    c[1] = p[1];
    c[2] = p[3];
    c[3] = p[4] + walked * walked + 0.01;
}

static void name_mates(struct robot_tracker *f, const struct place *place)
{
    struct pose2 odom_to_map = pose2_mul(place->robot_to_map, pose2_inv(nm_trail_at(&f->trail, f->nm->now)));
    for (int i = 0; i < TRACKS; i++) f->tracks[i].says_fallen = f->tracks[i].named = false;
    for (uint32_t m = 0; m < f->team->mates.n && m < MATES; m++) {
        const TeamMate *mate = &f->team->mates.at[m];
        struct track *best = NULL;
        double nearest = GATE, c[4], own[4], both[4];
        f->reported[m] = false;
        if (!place->known || !heard(f, mate)) continue;
        mate_spread(f, mate, c);
        struct pose2 says = mate_place(&mate->message, f->nm->now);
        for (int i = 0; i < TRACKS; i++) {
            struct track *t = &f->tracks[i];
            if (!t->on || t->post || t->mate < -SURE) continue;
            struct pose2 at = pose2_mul(odom_to_map, place_of(t)), seen = pose2_mul(pose2_inv(place->robot_to_map), at);
            const double p[4] = {t->at.p[0][0], t->at.p[0][1], t->at.p[1][0], t->at.p[1][1]};
            place_spread(place, seen.x, seen.y, p, own);
            for (int k = 0; k < 4; k++) both[k] = own[k] + c[k];
            double d = distance_in(at.x - says.x, at.y - says.y, both);
            if (t->number == mate->player_number) d *= 0.5; /* it stays who it was */
            if (d < nearest) nearest = d, best = t;
        }
        if (!best) continue;
        for (int i = 0; i < TRACKS; i++)
            if (f->tracks[i].number == mate->player_number) f->tracks[i].number = 0;
        best->number = mate->player_number;
        best->mate = fminf(best->mate + (float)nm_seconds(f->nm->dt), 4);
        best->speaks = best->named = true;
        bool news = nm_stamp_ns(mate->message.header.stamp) > f->heard[mate->player_number % MATES];
        if (news &&
            nm_seconds(f->nm->now - best->last_seen) > UNSEEN) { /* not seen for a moment: it is where it says */
            struct pose2 there = pose2_mul(pose2_inv(odom_to_map), pose2_point(says.x, says.y));
            turn_covariance(c, -odom_to_map.theta, own);
            kf4_update(&best->at, there.x, there.y, own);
        }
        best->says_fallen = mate->message.state == TeamMessage_STATE_FALLEN;
        f->reported[m] = true;
    }
}

/* Where a robot that a mate saw is now, if it walked on; in the map. */
static struct pose2 walked_on(const struct robot_tracker *f, const Obstacle *told)
{
    double age = nm_clamp(nm_seconds(f->nm->now - nm_stamp_ns(told->last_seen)), 0, UNSEEN);
    double lasts = (1 - exp(-FADING * age)) / FADING;
    return pose2_point(told->position.x + lasts * told->velocity.x, told->position.y + lasts * told->velocity.y);
}

/* m, from a track to what a mate has told, in odom */
static double away_from(const struct robot_tracker *f, const struct place *place, const struct track *t,
                        const Obstacle *told)
{
    struct pose2 seen = pose2_mul(pose2_inv(place->robot_to_map), walked_on(f, told));
    struct pose2 at = pose2_mul(nm_trail_at(&f->trail, f->nm->now), seen);
    return vec2_norm(at.x - t->at.x[0], at.y - t->at.x[1]);
}

/* Whether the mate has told of another robot that is nearer to the track. */
static bool rather_another(const struct robot_tracker *f, const struct place *place, const struct track *t,
                           const TeamMessage *message, const Obstacle *told)
{
    double away = away_from(f, place, t, told);
    for (uint32_t i = 0; i < message->obstacles.n; i++) {
        const Obstacle *other = &message->obstacles.at[i];
        bool robot = other->kind == Obstacle_ROBOT || other->kind == Obstacle_RIVAL;
        if (robot && other != told && away_from(f, place, t, other) < away) return true;
    }
    return false;
}

/* A robot that this one has not seen for a moment is where a mate has seen it since, as far as the two can be the same:
 * it may have walked. */
static void believe(struct robot_tracker *f, const struct place *place, const TeamMessage *message,
                    const Obstacle *told)
{
    struct pose2 robot = nm_trail_at(&f->trail, f->nm->now);
    struct pose2 seen = pose2_mul(pose2_inv(place->robot_to_map), walked_on(f, told));
    struct pose2 at = pose2_mul(robot, seen);
    const double walked = MATE_SPEED * nm_seconds(f->nm->now - nm_stamp_ns(told->last_seen)),
                 least = 0.01 + walked * walked, none[4] = {0}; /* m^2 */
    struct track *best = NULL;
    double nearest = INFINITY, r[4], own[4];
    for (int i = 0; i < TRACKS; i++) {
        struct track *t = &f->tracks[i];
        double unseen = nm_seconds(nm_stamp_ns(told->last_seen) - t->last_seen);
        double away = vec2_norm(at.x - t->at.x[0], at.y - t->at.x[1]);
        if (!t->on || t->post || t->mate > SURE || unseen < UNSEEN || away > APART + ROBOT_SPEED * unseen) continue;
        if (away < nearest) nearest = away, best = t;
    }
    if (!best || rather_another(f, place, best, message, told)) return;
    place_spread(place, seen.x, seen.y, none, own);
    for (int k = 0; k < 4; k += 3) own[k] += least + fmin(fmax(told->covariance[k], 0), 1);
    turn_covariance(own, robot.theta - place->robot_to_map.theta, r);
    kf4_update(&best->at, at.x, at.y, r);
    best->last_seen = nm_stamp_ns(told->last_seen);
}

static void listen(struct robot_tracker *f, const struct place *place)
{
    for (uint32_t m = 0; place->known && m < f->team->mates.n; m++) {
        const TeamMate *mate = &f->team->mates.at[m];
        int64_t *heard_at = &f->heard[mate->player_number % MATES], stamp = nm_stamp_ns(mate->message.header.stamp);
        if (stamp <= *heard_at || !heard(f, mate)) continue;
        *heard_at = stamp;
        for (uint32_t i = 0; i < mate->message.obstacles.n; i++) {
            const Obstacle *told = &mate->message.obstacles.at[i];
            bool robot = told->kind == Obstacle_ROBOT || told->kind == Obstacle_RIVAL;
            double age = nm_seconds(f->nm->now - nm_stamp_ns(told->last_seen));
            double away = vec2_norm(told->position.x - place->robot_to_map.x, told->position.y - place->robot_to_map.y);
            if (robot && age >= 0 && age < UNSEEN && away > APART) believe(f, place, &mate->message, told);
        }
    }
}

/* A mate that speaks and was not seen for a moment is where it says it is, not where it was. */
static bool outdated(const struct robot_tracker *f, const struct track *t, bool hears)
{
    return hears && t->speaks && !t->named && nm_seconds(f->nm->now - t->last_seen) > UNSEEN;
}

/* ---- results ---- */

static uint8_t kind_of(const struct track *t)
{
    if (t->post) return Obstacle_GOAL_POST;
    return t->mate > SURE ? Obstacle_MATE : t->mate < -SURE ? Obstacle_RIVAL : Obstacle_ROBOT;
}

static float radius_of(const struct robot_tracker *f, const struct track *t)
{
    if (t->post) return (float)(f->field.post / 2);
    return fmaxf(f->radius, t->size / 2);
}

static Obstacle *add(ObstacleModel *to, uint8_t kind, double x, double y, double radius, float confidence)
{
    Obstacle *o = nm_append(&to->obstacles, &Obstacle_type);
    if (!o) return NULL;
    o->kind = kind;
    o->position = (Point){x, y, 0};
    o->radius = (float)radius;
    o->confidence = confidence;
    return o;
}

/* A track in a frame in which the odometry's stands at `odom_to_it`. */
static void tell_track(struct robot_tracker *f, const struct track *t, struct pose2 odom_to_it,
                       const struct place *place, ObstacleModel *to)
{
    struct pose2 at = pose2_mul(odom_to_it, place_of(t));
    Obstacle *o = add(to, kind_of(t), at.x, at.y, radius_of(f, t), t->confidence);
    if (!o) return;
    double c = cos(odom_to_it.theta), s = sin(odom_to_it.theta);
    const double p[4] = {t->at.p[0][0], t->at.p[0][1], t->at.p[1][0], t->at.p[1][1]};
    o->velocity = (Vector3){c * t->at.x[2] - s * t->at.x[3], s * t->at.x[2] + c * t->at.x[3], 0};
    turn_covariance(p, odom_to_it.theta, o->covariance);
    if (place) { /* in the map the own pose counts, too */
        struct pose2 seen = pose2_mul(pose2_inv(place->robot_to_map), at);
        const double none[4] = {0};
        double more[4];
        place_spread(place, seen.x, seen.y, none, more);
        for (int k = 0; k < 4; k++) o->covariance[k] += more[k];
    }
    o->player_number = o->kind == Obstacle_MATE ? t->number : 0;
    o->last_seen = nm_stamp(t->last_seen);
    o->fallen = !t->post && (t->says_fallen || t->size > LIES);
}

static void tell_mate(struct robot_tracker *f, const TeamMate *mate, struct pose2 map_to_it, ObstacleModel *to)
{
    struct pose2 place = mate_place(&mate->message, f->nm->now),
                 at = pose2_mul(map_to_it, pose2_point(place.x, place.y));
    bool fallen = mate->message.state == TeamMessage_STATE_FALLEN;
    Obstacle *o = add(to, Obstacle_MATE, at.x, at.y, fallen ? 2 * f->radius : f->radius, mate->message.pose.weight);
    struct vec3 v = mate_velocity(&mate->message);
    double c[4], cosine = cos(map_to_it.theta), sine = sin(map_to_it.theta);
    if (!o) return;
    mate_spread(f, mate, c);
    turn_covariance(c, map_to_it.theta, o->covariance);
    o->velocity = (Vector3){cosine * v.x - sine * v.y, sine * v.x + cosine * v.y, 0};
    o->player_number = mate->player_number;
    o->last_seen = mate->message.header.stamp;
    o->fallen = fallen;
}

static bool taken(const ObstacleModel *model, double x, double y, double apart)
{
    for (uint32_t i = 0; i < model->obstacles.n; i++)
        if (vec2_norm(model->obstacles.at[i].position.x - x, model->obstacles.at[i].position.y - y) < apart)
            return true;
    return false;
}

/* The posts as the field has them, where no seen one stands. */
static void tell_posts(struct robot_tracker *f, struct pose2 map_to_it, ObstacleModel *to)
{
    struct nm_landmark posts[NM_PITCH_POSTS];
    uint32_t n = nm_pitch_posts(&f->field, posts);
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 at = pose2_mul(map_to_it, pose2_point(posts[i].x, posts[i].y));
        if (!taken(to, at.x, at.y, 0.5)) add(to, Obstacle_GOAL_POST, at.x, at.y, f->field.post / 2, 1);
    }
}

/* What mates see and this robot does not look at; never the robot itself. */
static void tell_hearsay(struct robot_tracker *f, const struct place *place, struct pose2 map_to_it, ObstacleModel *to)
{
    struct pose2 robot = nm_trail_at(&f->trail, f->nm->now),
                 map_to_odom = pose2_mul(robot, pose2_inv(place->robot_to_map));
    double c = cos(map_to_it.theta), s = sin(map_to_it.theta);
    for (uint32_t m = 0; m < f->team->mates.n && m < MATES; m++) {
        const TeamMate *mate = &f->team->mates.at[m];
        if (!heard(f, mate)) continue;
        for (uint32_t i = 0; i < mate->message.obstacles.n; i++) {
            const Obstacle *told = &mate->message.obstacles.at[i];
            struct pose2 there = walked_on(f, told);
            double x = there.x, y = there.y;
            double far = vec2_norm(x - place->robot_to_map.x, y - place->robot_to_map.y);
            bool old = nm_seconds(f->nm->now - nm_stamp_ns(told->last_seen)) > (far < LOOMS ? LOOMING : HEARSAY);
            bool counts =
                told->kind == Obstacle_ROBOT || told->kind == Obstacle_RIVAL ||
                (told->kind == Obstacle_MATE && !told->player_number); /* who has a number speaks for itself */
            if (!counts || !isfinite(x + y) || old) continue;
            struct pose2 at = pose2_mul(map_to_it, pose2_point(x, y)), odom = pose2_mul(map_to_odom, pose2_point(x, y));
            const struct track it = {.at.x = {odom.x, odom.y}};
            if (far < (told->kind == Obstacle_RIVAL ? TOUCH : 0.5) || taken(to, at.x, at.y, 0.5) ||
                chance_to_see(f, &it, robot) > 0.5)
                continue;
            Obstacle *o = nm_append(&to->obstacles, &Obstacle_type);
            if (!o) return;
            *o = *told;
            o->position = (Point){at.x, at.y, 0};
            o->velocity =
                (Vector3){c * told->velocity.x - s * told->velocity.y, s * told->velocity.x + c * told->velocity.y, 0};
            turn_covariance(told->covariance, map_to_it.theta, o->covariance);
        }
    }
}

static void step(struct robot_tracker *f)
{
    trail_take(&f->trail, f->odometry);
    if (nm_fresh(f->nm, f->percepts)) take_image(f);
    struct place place = place_at(f->nm, f->pose, &f->trail, f->nm->now);
    name_mates(f, &place);
    listen(f, &place);

    struct pose2 robot = nm_trail_at(&f->trail, f->nm->now), odom_to_robot = pose2_inv(robot);
    struct pose2 odom_to_map = pose2_mul(place.robot_to_map, odom_to_robot), here = {0};
    nm_text(f->obstacles->header.frame_id, "base_footprint");
    nm_text(f->team_obstacles->header.frame_id, "map");
    bool hears = false;
    for (uint32_t m = 0; place.known && m < f->team->mates.n; m++) hears |= heard(f, &f->team->mates.at[m]);
    for (int i = 0; i < TRACKS; i++) {
        struct track now = f->tracks[i];
        if (!now.on || now.confidence < f->min_confidence || outdated(f, &now, hears)) continue;
        predict(&now, fmin(nm_seconds(f->nm->now - f->time), 2));
        tell_track(f, &now, odom_to_robot, NULL, f->obstacles);
        if (place.known) tell_track(f, &now, odom_to_map, &place, f->team_obstacles);
    }
    for (uint32_t m = 0; place.known && m < f->team->mates.n && m < MATES; m++) {
        const TeamMate *mate = &f->team->mates.at[m];
        if (f->reported[m] || !heard(f, mate)) continue;
        tell_mate(f, mate, pose2_inv(place.robot_to_map), f->obstacles);
        tell_mate(f, mate, here, f->team_obstacles);
    }
    if (place.known) {
        tell_hearsay(f, &place, pose2_inv(place.robot_to_map), f->obstacles);
        tell_hearsay(f, &place, here, f->team_obstacles);
    }
    if (place.known && place.p[0][0] + place.p[1][1] < POSE_GOOD * POSE_GOOD) {
        tell_posts(f, pose2_inv(place.robot_to_map), f->obstacles);
        tell_posts(f, here, f->team_obstacles);
    }
    nm_put(f->nm, f->obstacles);
    nm_put(f->nm, f->team_obstacles);
}

#define SELF struct robot_tracker
static const struct nm_port ports[] = {
    NM_IN(percepts, Percepts, "percepts"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(camera, CameraPose, "camera/pose", .optional = true),
    NM_IN(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_IN(team, TeamState, "team_state", .optional = true),
    NM_OUT(obstacles, ObstacleModel, "obstacles"),
    NM_OUT(team_obstacles, ObstacleModel, "team_obstacles"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(forget, 5, 0.1, 60, "s", "time without a sighting after which a robot is forgotten"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "robots that are less sure are not published"),
    NM_PARAM(radius, 0.16, 0.05, 1, "m", "of a robot that stands"),
    NM_PARAM(mate_time, 5, 0.1, 60, "s", "a mate that was silent for longer is nowhere"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(robot_tracker, "Other robots and goal posts: where they are, how they move, whose they are.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))

/* Measures over a window of time: speeds along the robot's own axes, steps, blows, and how right the robot's brain was
 * about itself. Everything but the brain's own words is taken from the world, so that rivals are measured alike. */
#include <math.h>

#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "humanoid_league_msgs/Animation.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/Imu.h"
#include "sim/scenario_parts.h"

enum { PORT_ODOMETRY, PORT_IMU, PORT_WALK, PORT_PLACE, PORT_BALL, PORT_KICK, PORTS };
enum { NO_FOOT = 2 };

static bool window(const struct nm_measure *m) { return m->kind >= NM_MEASURE_WINDOWS && m->kind < NM_MEASURE_TIME_TO; }

static bool keeps_most(enum nm_measure_kind kind)
{
    static const bool most[NM_MEASURES] = {
        [NM_MEASURE_IMPACT] = true,  [NM_MEASURE_TORQUE_MAX] = true, [NM_MEASURE_LOOSE] = true,
        [NM_MEASURE_STRAYED] = true, [NM_MEASURE_LEAP] = true,       [NM_MEASURE_FOOTFALL] = true,
    };
    return most[kind];
}

/* ---- what the brain says ---- */

int tally_listen(struct nm_run *run, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    const struct nm_edge_port ports[PORTS] = {
        [PORT_ODOMETRY] = {.topic = "odometry", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &Odometry_type},
        [PORT_IMU] = {.topic = "imu/data", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &Imu_type},
        [PORT_WALK] = {.topic = "walk_state", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &WalkState_type},
        [PORT_KICK] = {.topic = "kick", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &Animation_type},
        [PORT_BALL] = {.topic = "ball", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &BallModel_type},
        [PORT_PLACE] = {.topic = "kick_place", .kind = NM_PORT_IN | NM_EDGE_OPTIONAL, .type = &PointStamped_type},
    };
    if (!run->scenario->listens) return 0;
    run->listeners[robot].edge = nm_edge_new(player, "scenario", ports, PORTS, err);
    return run->listeners[robot].edge ? 0 : -1;
}

static void hear(struct nm_run *run, uint32_t robot)
{
    struct listener *l = &run->listeners[robot];
    const struct nm_body *body = nm_stage_body(run->stage, robot);
    if (!l->edge) return;
    nm_edge_begin(l->edge, nm_stage_now(run->stage));
    const Odometry *o = nm_edge_in(l->edge, PORT_ODOMETRY);
    const Imu *imu = nm_edge_in(l->edge, PORT_IMU);
    if (o && nm_edge_fresh(l->edge, PORT_ODOMETRY)) {
        l->odometry_known = true;
        l->odometry = nm_pose2(&o->pose.pose);
    }
    if (imu && nm_edge_fresh(l->edge, PORT_IMU) && (body->imu < 0 || body->frames[body->imu].link == 0)) {
        struct quat q = nm_quat(&imu->orientation);
        struct quat mount = body->imu >= 0 ? body->frames[body->imu].to_link.rot : QUAT_IDENTITY;
        l->torso = quat_mul(q, quat_inv(mount));
        l->torso_time = nm_stamp_ns(imu->header.stamp);
    }
    const WalkState *walk = nm_edge_in(l->edge, PORT_WALK);
    l->kicking = walk && walk->state == WalkState_KICKING;
    const PointStamped *place = nm_edge_in(l->edge, PORT_PLACE);
    if (place && nm_edge_fresh(l->edge, PORT_PLACE)) {
        l->place_known = true;
        l->kick_place = (struct vec3){place->point.x, place->point.y, place->point.z};
    }
    const Animation *swing = nm_edge_in(l->edge, PORT_KICK);
    l->swings |= swing && nm_edge_fresh(l->edge, PORT_KICK) && !swing->request;
    const BallModel *ball = nm_edge_in(l->edge, PORT_BALL);
    l->ball_known = ball && ball->valid;
    if (l->ball_known) l->ball = (struct vec3){ball->position.x, ball->position.y, 0};
    nm_edge_end(l->edge);
}

/* rad, between the brain's idea of upwards and the truth when it was measured; NaN: nothing new, or too old. */
static double tilt_error(struct listener *l)
{
    if (l->torso_time <= l->torso_seen) return NAN;
    l->torso_seen = l->torso_time;
    for (uint32_t i = 0; i < GLANCES && i < l->n_glances; i++) {
        if (l->glances[i].time != l->torso_time) continue;
        struct vec3 up = {0, 0, 1}, a = quat_apply(quat_inv(l->torso), up),
                    b = quat_apply(quat_inv(l->glances[i].rot), up);
        return acos(fmin(fmax(vec3_dot(a, b), -1), 1));
    }
    return NAN;
}

/* The gate of the robot's own camera_pose. */
static double max_turn(const struct nm_player *player)
{
    const struct nm_lineup *lineup = player ? nm_player_lineup(player) : NULL;
    uint32_t i = lineup ? nm_lineup_instance(lineup, "camera_pose") : NM_NONE;
    int32_t param = i == NM_NONE ? -1 : nm_param_find(lineup->instances[i].module, "max_turn", NULL);
    struct nm_value value;
    if (param < 0) return NAN;
    nm_player_value(player, i, (uint32_t)param, &value);
    return value.number[0];
}

/* Whether a picture of ten milliseconds ago would have no valid pose, as camera_pose judges it; NaN: nobody judges. */
static double camera_lost(const struct listener *l, int64_t now)
{
    static const int64_t AROUND = 20000000; /* ns */
    const struct quat rot = l->glances[(l->n_glances - 1) % GLANCES].rot;
    for (uint32_t i = 0; i < GLANCES && i < l->n_glances; i++)
        if (l->glances[i].time == now - AROUND && !isnan(l->max_turn))
            return quat_angle(rot, l->glances[i].rot) / nm_seconds(AROUND) > l->max_turn;
    return NAN;
}

/* ---- what really happens ---- */

/* The foot that carries most of the weight; another one is a step. */
static void count_steps(struct listener *l, const struct nm_truth *truth)
{
    static const double MOST = 0.8, LEAST = 2; /* share; N */
    double left = truth->foot_force[NM_LEFT], right = truth->foot_force[NM_RIGHT], sum = left + right;
    if (!(sum > LEAST)) return;
    uint32_t foot = left > MOST * sum ? NM_LEFT : right > MOST * sum ? NM_RIGHT : NO_FOOT;
    if (foot == NO_FOOT || foot == l->support) return;
    l->steps += l->support != NO_FOOT;
    l->support = foot;
}

/* Less than a fiftieth of the weight on one of them. */
static bool foot_in_air(const struct nm_truth *truth)
{
    double left = truth->foot_force[NM_LEFT], right = truth->foot_force[NM_RIGHT];
    return fmin(left, right) <= 0.02 * (left + right);
}

/* W that the battery gives to the servos; braking ones give nothing back. */
static double servo_power(const struct nm_world *world, uint32_t robot)
{
    const struct nm_power *power = nm_world_power(world, robot);
    return fmax(power->current * power->voltage - power->body->battery.electronics, 0);
}

static void begin(struct tally *t, const struct trail *trail, const struct listener *l, double now)
{
    t->since = now;
    t->ahead = trail->ahead, t->aside = trail->aside, t->turned = trail->turned;
    t->steps = l->steps;
    t->odometry = l->odometry;
    t->step_time[0] = now, t->step_ahead[0] = trail->ahead;
    t->n = 1;
}

static void note_step(struct tally *t, const struct trail *trail, const struct listener *l, double now)
{
    uint32_t steps = l->steps - t->steps;
    if (steps < t->n || t->n >= GAIT) return;
    t->step_time[t->n] = now;
    t->step_ahead[t->n++] = trail->ahead;
}

/* How far the odometry's idea of the way since the begin is from the way itself, and how far that way went. The pose is
 * that of base_footprint, which a trunk that rises or leans does not move. */
static void note_way(const struct nm_run *run, uint32_t robot, struct tally *t)
{
    const struct listener *l = &run->listeners[robot];
    struct pose2 thought = pose2_mul(pose2_inv(t->odometry), l->odometry),
                 went = pose2_mul(pose2_inv(t->truth), ground_pose(run, robot));
    t->drift = l->odometry_known ? vec2_norm(thought.x - went.x, thought.y - went.y) : NAN;
    t->turn = l->odometry_known ? fabs(angle_normal(thought.theta - went.theta)) : NAN;
    t->sum = vec2_norm(went.x, went.y);
}

static bool needs_way(enum nm_measure_kind kind)
{
    return kind == NM_MEASURE_ODOMETRY_DRIFT || kind == NM_MEASURE_ODOMETRY_TURN || kind == NM_MEASURE_MOVED;
}

static void follow(struct nm_run *run, uint32_t measure, uint32_t robot, double now, double value)
{
    const struct nm_measure *m = &run->scenario->measures[measure];
    const struct trail *trail = &run->trails[robot];
    struct listener *l = &run->listeners[robot];
    struct tally *t = &run->tallies[measure][robot];
    if (now < m->from || now > m->to) return;
    bool first = isnan(t->since);
    if (first) begin(t, trail, l, now);
    if (first && needs_way(m->kind)) t->truth = ground_pose(run, robot);
    t->until = now;
    t->ahead_now = trail->ahead, t->aside_now = trail->aside, t->turned_now = trail->turned;
    if (m->kind == NM_MEASURE_STEPS) t->sum = l->steps - t->steps;
    if (m->kind == NM_MEASURE_STEPS_TO_SPEED) note_step(t, trail, l, now);
    if (needs_way(m->kind)) note_way(run, robot, t);
    if (m->kind == NM_MEASURE_LAST_STEP && value > 0) t->most = now - t->since;
    if (m->kind == NM_MEASURE_JOULES && !first) t->sum += value;
    bool squares = m->kind == NM_MEASURE_TILT_ERROR || m->kind == NM_MEASURE_TRUNK_RATE;
    if (squares && !isnan(value)) t->sum += value * value, t->n++;
    if (m->kind == NM_MEASURE_CAMERA_LOST && !isnan(value)) t->sum += value, t->n++;
    if (keeps_most(m->kind)) t->most = fmax(t->most, value);
}

static double torque(const struct nm_run *run, uint32_t robot, const struct nm_truth *truth)
{
    double most = 0;
    for (uint32_t j = 0; j < nm_stage_body(run->stage, robot)->n_joints; j++) most = fmax(most, fabs(truth->torque[j]));
    return most;
}

static void follow_robot(struct nm_run *run, uint32_t robot, double now)
{
    struct listener *l = &run->listeners[robot];
    struct nm_world *world = nm_stage_world(run->stage);
    struct nm_truth truth = {.base_to_field = run->trails[robot].where.base_to_field};
    double dt = nm_seconds(nm_stage_tick(run->stage));
    if (world) nm_world_truth(world, robot, &truth);
    count_steps(l, &truth);
    l->glances[l->n_glances % GLANCES].time = nm_stage_now(run->stage);
    l->glances[l->n_glances++ % GLANCES].rot = truth.base_to_field.rot;
    hear(run, robot);
    struct vec3 velocity = run->trails[robot].where.velocity;
    double values[NM_MEASURES] = {
        [NM_MEASURE_TILT_ERROR] = tilt_error(l),
        [NM_MEASURE_IMPACT] = vec3_norm(vec3_sub(velocity, l->velocity)) / dt,
        [NM_MEASURE_TORQUE_MAX] = torque(run, robot, &truth),
        [NM_MEASURE_TRUNK_RATE] = vec3_norm(run->trails[robot].where.angular_velocity),
        [NM_MEASURE_CAMERA_LOST] = camera_lost(l, nm_stage_now(run->stage)),
        [NM_MEASURE_LAST_STEP] = foot_in_air(&truth),
        [NM_MEASURE_FOOTFALL] = fmax(truth.foot_force[NM_LEFT], truth.foot_force[NM_RIGHT]),
        [NM_MEASURE_JOULES] = world ? servo_power(world, robot) * dt : 0,
    };
    l->velocity = velocity;
    grip_follow(run, robot, values);
    for (uint32_t m = 0; m < run->scenario->n_measures; m++)
        if (window(&run->scenario->measures[m])) follow(run, m, robot, now, values[run->scenario->measures[m].kind]);
}

void tally_start(struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    for (uint32_t i = 0; i < s->n_robots; i++) {
        run->listeners[i].support = NO_FOOT;
        run->listeners[i].max_turn = max_turn(nm_stage_player(run->stage, i));
    }
    for (uint32_t m = 0; m < s->n_measures; m++) run->windows |= window(&s->measures[m]);
    run->windows |= s->listens;
    if (!run->windows) return;
    run->tallies = nm_take(&run->arena, sizeof *run->tallies * s->n_measures);
    for (uint32_t m = 0; m < s->n_measures; m++)
        for (uint32_t i = 0; i < s->n_robots; i++) run->tallies[m][i].since = NAN;
    grip_begin(run);
}

void tally_follow(struct nm_run *run)
{
    double now = nm_seconds(nm_stage_now(run->stage));
    for (uint32_t i = 0; run->windows && i < run->scenario->n_robots; i++) follow_robot(run, i, now);
}

/* ---- values ---- */

/* Steps until two of them together went at nine tenths of the speed of the window's second half. */
static double steps_to_speed(const struct tally *t)
{
    uint32_t last = t->n ? t->n - 1 : 0, half = last / 2;
    if (last < 6) return NAN;
    double full = (t->step_ahead[last] - t->step_ahead[half]) / (t->step_time[last] - t->step_time[half]);
    for (uint32_t k = 1; k <= last; k++) {
        uint32_t from = k > 1 ? k - 2 : 0;
        double speed = (t->step_ahead[k] - t->step_ahead[from]) / (t->step_time[k] - t->step_time[from]);
        if (speed / full >= 0.9) return k;
    }
    return NAN;
}

double tally_value(const struct nm_run *run, uint32_t measure, uint32_t robot)
{
    const struct tally *t = &run->tallies[measure][robot];
    double span = t->until - t->since;
    if (isnan(t->since)) return NAN;
    if (keeps_most(run->scenario->measures[measure].kind)) return t->most;
    switch (run->scenario->measures[measure].kind) {
    case NM_MEASURE_SPEED_X: return span > 0 ? (t->ahead_now - t->ahead) / span : NAN;
    case NM_MEASURE_SPEED_Y: return span > 0 ? (t->aside_now - t->aside) / span : NAN;
    case NM_MEASURE_SPEED_TURN: return span > 0 ? (t->turned_now - t->turned) / span : NAN;
    case NM_MEASURE_STEPS: return t->sum;
    case NM_MEASURE_STEPS_TO_SPEED: return steps_to_speed(t);
    case NM_MEASURE_TILT_ERROR:
    case NM_MEASURE_TRUNK_RATE: return t->n > 1 ? sqrt(t->sum / (t->n - 1)) : NAN;
    case NM_MEASURE_CAMERA_LOST: return t->n > 1 ? t->sum / (t->n - 1) : NAN;
    case NM_MEASURE_ODOMETRY_DRIFT: return t->drift;
    case NM_MEASURE_ODOMETRY_TURN: return t->turn;
    case NM_MEASURE_MOVED: return t->sum;
    case NM_MEASURE_LAST_STEP: return t->most;
    case NM_MEASURE_JOULES: return t->sum / vec2_norm(t->ahead_now - t->ahead, t->aside_now - t->aside);
    default: return NAN;
    }
}

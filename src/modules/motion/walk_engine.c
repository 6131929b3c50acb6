#include "modules/motion/walk_engine.h"

#include <string.h>

static const double GRAVITY = 9.81;
/* limits that follow from no parameter: how far a foot may be put, and how fast plans may move */
static const double FOREMOST = 0.20, REARMOST = -0.17, WIDEST = 0.25; /* m, for legs of 0.28 m; scaled with the leg */
static const double LEG = 0.28;

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static double side_sign(enum nm_side support) { return support == NM_LEFT ? -1 : 1; } /* where the other foot is */
static enum nm_side other(enum nm_side side) { return side == NM_LEFT ? NM_RIGHT : NM_LEFT; }

/* ---- what follows from the body ---- */

/* Of the chain's joints from `first` on the one whose axis at zero lies along x (roll) or y (pitch). */
static struct walk_joint joint_along(const struct nm_chain *chain, uint32_t first, uint32_t n, bool pitch)
{
    struct walk_joint best = {first, 1};
    double most = 0;
    for (uint32_t i = first; i < first + n && i < chain->n; i++) {
        double along = pitch ? chain->axis[i].y : chain->axis[i].x;
        if (fabs(along) > most) {
            most = fabs(along);
            best = (struct walk_joint){i, along > 0 ? 1 : -1};
        }
    }
    return best;
}

/* A servo without integral part stays behind a moving goal by (damping / gain) x speed. */
static double servo_lag(const struct nm_body *body, uint32_t joint)
{
    int32_t index = body->joints[joint].servo;
    if (index < 0) return 0;
    const struct nm_servo *servo = &body->servos[index];
    const struct nm_servo_type *type = &body->servo_types[servo->type];
    double gain = type->duty_gain * servo->p * body->voltage * type->max_duty * type->kt / type->resistance;
    return gain > 0 ? (type->damping + type->kt * type->kt / type->resistance) / gain : 0;
}

int walk_engine_init(struct walk_engine *e, const struct nm_body *body, const struct walk_params *p, struct nm_err *err)
{
    *e = (struct walk_engine){.body = body, .weight = body->mass * GRAVITY};
    for (int side = 0; side < 2; side++) {
        if (nm_leg_init(&e->leg[side], body, (enum nm_side)side, err)) return -1;
        const struct nm_chain *chain = &e->leg[side].chain;
        if (chain->n != 6) return nm_fail(err, "%s: a leg has %u joints, the walk wants six", body->name, chain->n);
        e->hip_roll[side] = joint_along(chain, 0, 3, false);
        e->hip_pitch[side] = joint_along(chain, 0, 3, true);
        e->ankle_roll[side] = joint_along(chain, 4, 2, false);
        e->ankle_pitch[side] = joint_along(chain, 4, 2, true);
        for (uint32_t i = 0; i < 6; i++) e->lag[side][i] = servo_lag(body, chain->joints[i]);
    }
    e->nearest = 0.85 * p->width;
    walk_engine_reset(e, p);
    return 0;
}

void walk_engine_reset(struct walk_engine *e, const struct walk_params *p)
{
    e->mode = WALK_STAND;
    e->support = NM_LEFT;
    e->steps = 0;
    e->phase = e->time = e->share = e->begin_lift = 0;
    e->duration = p->period;
    e->hips = p->height;
    e->w = sqrt(GRAVITY / (p->height + 0.012));
    memset(e->step, 0, sizeof e->step);
    e->swing[0] = e->swing[2] = e->swing_yaw = 0;
    e->swing[1] = side_sign(e->support) * p->width;
    e->com[0] = p->pivot_x;
    e->com[1] = 0.5 * e->swing[1];
    e->observing = e->moved = e->changed = false;
    e->com_in_torso = (struct vec3){0, 0, 0.01};
}

/* ---- the plan of one step ---- */

/* Constant command: the capture point begins a step at sx / (E - 1) before the pivot; sideways the two sides alternate,
 * the leading foot steps out by twice the command and the other closes. */
static void plan_step(struct walk_engine *e, const struct walk_params *p)
{
    double sx = e->step[0], sy = e->step[1], turn = e->step[2];
    double width = p->width + p->width_speed * fabs(sx), w = e->w * p->rate;
    e->duration = p->period * (1 + p->period_speed * fabs(sx) / 0.1);
    double grow = exp(w * e->duration);
    double to_right = -width + (sy < 0 ? 2 * sy : 0),
           to_left = width + (sy > 0 ? 2 * sy : 0);                              /* y of the landing foot */
    double right = to_right + 2 * p->pivot_in, left = to_left - 2 * p->pivot_in; /* between the pivots    */
    e->from_pivot[0] = sx / (grow - 1);
    e->from_pivot[1] = (e->support == NM_LEFT ? right * grow + left : left * grow + right) / (grow * grow - 1);

    bool opens = (e->support == NM_RIGHT) == (turn > 0);
    e->land_yaw = 2 * turn * (opens ? p->turn_share : 1 - p->turn_share);
    double across = e->support == NM_LEFT ? to_right : to_left, yaw = e->land_yaw;
    e->land[0] = sx * cos(yaw / 2) - 0.5 * across * sin(yaw);
    e->land[1] = 0.5 * across * (1 + cos(yaw)) + sx * sin(yaw / 2);
}

static double pivot(const struct walk_engine *e, const struct walk_params *p, int axis)
{
    return axis == 0 ? p->pivot_x : side_sign(e->support) * p->pivot_in;
}

/* ---- what is measured ---- */

struct seen {
    struct pose2 sole[2];   /* in the torso's level frame                            */
    struct vec3 com;        /* same frame                                            */
    double com_here[2];     /* over the support sole, along it                        */
    double pressure[2];     /* centre of pressure of both feet, over the support sole */
    double load[2], loaded; /* N                                                      */
    double roll, pitch;
};

static void into(struct pose2 frame, double x, double y, double out[2])
{
    double c = cos(frame.theta), s = sin(frame.theta), dx = x - frame.x, dy = y - frame.y;
    out[0] = c * dx + s * dy;
    out[1] = -s * dx + c * dy;
}

static void look(struct walk_engine *e, const struct walk_sense *sense, struct seen *seen)
{
    struct nm_kin kin;
    struct vec3 up = quat_apply(quat_inv(sense->torso_to_world), (struct vec3){0, 0, 1});
    seen->roll = atan2(up.y, up.z);
    seen->pitch = atan2(-up.x, sqrt(up.y * up.y + up.z * up.z));
    struct quat level = quat_rpy(seen->roll, seen->pitch, 0);
    nm_forward(e->body, (struct pose3){level, {0, 0, 0}}, sense->q, &kin);
    seen->com = nm_com(e->body, &kin);
    struct vec3 in_torso = quat_apply(quat_inv(level), seen->com);
    e->com_in_torso = vec3_add(e->com_in_torso, vec3_scale(vec3_sub(in_torso, e->com_in_torso), 0.3));

    double sum = 0, x = 0, y = 0;
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *foot = &e->body->foot[side];
        struct pose3 sole = kin.pose[foot->sole];
        seen->sole[side] = (struct pose2){sole.pos.x, sole.pos.y, quat_yaw(sole.rot)};
        seen->load[side] = 0;
        for (uint32_t i = 0; i < foot->n_cells; i++) {
            double force = sense->cells[side][i];
            struct vec3 at = kin.pose[foot->cells[i]].pos;
            seen->load[side] += force;
            x += force * at.x;
            y += force * at.y;
        }
        sum += seen->load[side];
    }
    seen->loaded = sense->feet ? sum : 0;
    struct pose2 here = seen->sole[e->support];
    into(here, seen->com.x, seen->com.y, seen->com_here);
    seen->pressure[0] = seen->pressure[1] = 0;
    if (seen->loaded > 5) into(here, x / sum, y / sum, seen->pressure);
}

/* Observer of the centre of mass: the pendulum driven by the measured centre of pressure, drawn to the measured place.
 */
static void observe(struct walk_engine *e, const struct walk_params *p, const struct seen *seen, double dt)
{
    for (int i = 0; i < 2; i++) {
        if (!e->observing) {
            e->com_seen[i] = seen->com_here[i];
            e->com_speed[i] = 0;
        }
        if (seen->loaded > 5) e->com_speed[i] += e->w * e->w * (e->com_seen[i] - seen->pressure[i]) * dt;
        e->com_seen[i] += e->com_speed[i] * dt;
        double error = seen->com_here[i] - e->com_seen[i];
        e->com_seen[i] += p->observe_place * error;
        e->com_speed[i] += p->observe_speed * error;
    }
    e->observing = true;
}

/* ---- the step as it goes ---- */

/* The capture point as it will be when what is decided now reaches the motors. */
static void capture_point(const struct walk_engine *e, const struct walk_params *p, const struct seen *seen,
                          double xi[2])
{
    double w = e->w * p->rate, ahead = exp(w * p->look_ahead);
    for (int i = 0; i < 2; i++)
        xi[i] = seen->pressure[i] + (e->com_seen[i] + e->com_speed[i] / w - seen->pressure[i]) * ahead;
}

/* Time left in this step: the plan's, moved towards what the sideways capture point says. */
static double time_left(const struct walk_engine *e, const struct walk_params *p, const double xi[2])
{
    double w = e->w * p->rate, planned = e->duration * (1 - e->phase), left = planned;
    double sign = side_sign(e->support), now = sign * (xi[1] - pivot(e, p, 1));
    double end = sign * e->from_pivot[1] * exp(w * e->duration);
    if (e->steps > 1) {
        double own = now > 0.004 && end > 0 ? log(end / now) / w : 1;
        left += p->timing * (clip(own, -0.2, planned + 0.3) - planned);
    }
    left = clip(left, 0.7 * e->duration - e->time, p->longest * e->duration - e->time);
    return left > 0 ? left : 0;
}

/* Where the foot is to land: the nominal place plus a share of how far the capture point will be off by then. */
static void landing(struct walk_engine *e, const struct walk_params *p, const double xi[2], double left,
                    double target[2])
{
    double w = e->w * p->rate, side = clip(fabs(e->step[1]) / 0.02, 0, 1);
    double share[2] = {p->place_x, p->place_y + side * (p->place_side - p->place_y)};
    double reach = e->w > 0 ? (GRAVITY / (e->w * e->w)) / (LEG + 0.044) : 1;
    for (int i = 0; i < 2; i++) {
        double from = pivot(e, p, i), end = from + (xi[i] - from) * exp(w * left);
        double nominal = from + e->from_pivot[i] * exp(w * e->duration);
        e->error[i] = xi[i] - (from + e->from_pivot[i] * exp(w * e->phase * e->duration));
        target[i] = e->land[i];
        if (e->steps > 1) target[i] += share[i] * clip(end - nominal, -0.15, 0.15);
    }
    double sign = side_sign(e->support), closest = e->nearest + 0.05 * fabs(sin(e->land_yaw));
    target[0] = clip(target[0], REARMOST * reach, FOREMOST * reach);
    target[1] = sign * clip(sign * target[1], closest, WIDEST * reach);
}

/* Moves the swinging foot on towards a target that itself may move: each tick the share of the remaining way that a
 * half cosine has between the two phases. */
static void swing_on(struct walk_engine *e, const struct walk_params *p, const double target[2], double phase)
{
    double span = p->swing_end - p->swing_begin;
    double a = clip((e->phase - p->swing_begin) / span, 0, 1), b = clip((phase - p->swing_begin) / span, 0, 1);
    double done = 0.5 - 0.5 * cos(M_PI * a), then = 0.5 - 0.5 * cos(M_PI * b);
    double share = a >= 1 ? 0 : 1 - then < 1e-6 ? 1 : (then - done) / (1 - done);
    for (int i = 0; i < 2; i++) e->swing[i] += clip(share * (target[i] - e->swing[i]), -0.02, 0.02);
    e->swing_yaw += share * (e->land_yaw - e->swing_yaw);
    e->swing[2] = e->share * p->lift * (phase < 1 ? sin(M_PI * phase) : 0) + e->begin_lift * clip(1 - 2 * phase, 0, 1);
    e->swing[2] -= e->share * p->land * clip((phase - 0.85) / 0.15, 0, 1);
}

/* The planned centre of mass: the pendulum's own way forwards, half way between the feet sideways. */
static void move_com(struct walk_engine *e, const struct walk_params *p, const struct seen *seen, double rate,
                     double dt)
{
    double w = e->w * p->rate, planned = pivot(e, p, 0) + e->from_pivot[0] * exp(w * e->phase * e->duration);
    e->com[0] += clip(w * (planned - e->com[0]) * dt * clip(rate, 0, 2), -0.008, 0.008);
    e->com[0] += dt * p->pull * (seen->com_here[0] - e->com[0]);
    e->com[1] = 0.5 * e->swing[1];
    e->hips += 0.08 * (p->height - e->hips);
}

/* ---- from feet and trunk to joints ---- */

static void pose_legs(struct walk_engine *e, const struct walk_params *p, const struct seen *seen,
                      double goals[2][NM_GROUP])
{
    double lean = p->lean + p->lean_speed * e->step[0];
    struct quat torso = quat_rpy(0, lean, 0.5 * e->swing_yaw);
    struct vec3 off = quat_apply(torso, e->com_in_torso);
    struct pose3 torso_to_here = {torso, {e->com[0] - off.x, e->com[1] - off.y, e->hips}},
                 here_to_torso = pose_inv(torso_to_here);
    /* the swinging foot is turned against the tilt that the trunk has and should not have */
    struct quat back = quat_rpy(-p->level * (seen->roll + e->gyro.x * p->look_ahead),
                                -p->level * (seen->pitch + e->gyro.y * p->look_ahead - lean), 0);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = POSE_IDENTITY;
        bool swings = side != (int)e->support;
        if (swings) sole = (struct pose3){quat_rpy(0, 0, e->swing_yaw), {e->swing[0], e->swing[1], e->swing[2]}};
        struct pose3 in_torso = pose_mul(here_to_torso, sole);
        if (swings && e->mode == WALK_STEP) in_torso.rot = quat_mul(back, in_torso.rot);
        memcpy(goals[side], e->q_last[side], sizeof e->q_last[side]);
        nm_leg_ik(&e->leg[side], in_torso, goals[side], NULL);
    }
}

static void add(double goals[NM_GROUP], struct walk_joint joint, double angle)
{
    goals[joint.at] += joint.sign * angle;
}

/* Balance by the foot that stands; it fades in over the first part of a step, since a foot without load only shakes. */
static void balance(struct walk_engine *e, const struct walk_params *p, const struct seen *seen,
                    double goals[2][NM_GROUP])
{
    double lean = p->lean + p->lean_speed * e->step[0];
    double roll = seen->roll + e->gyro.x * p->look_ahead, pitch = seen->pitch + e->gyro.y * p->look_ahead - lean;
    double ankle_pitch = p->gyro_ankle_pitch * e->gyro.y + p->tilt_ankle_pitch * pitch + p->ankle_x * e->error[0];
    double ankle_roll = p->gyro_ankle_roll * e->gyro.x + p->tilt_ankle_roll * roll - p->ankle_y * e->error[1];
    for (int side = 0; side < 2; side++) {
        double share = side == (int)e->support ? 1 : e->phase < 0.15 ? 1 - e->phase / 0.15 : 0;
        if (e->mode == WALK_STAND) share = 1;
        add(goals[side], e->ankle_pitch[side], share * clip(ankle_pitch, -0.25, 0.25));
        add(goals[side], e->ankle_roll[side], share * clip(ankle_roll, -0.25, 0.25));
        add(goals[side], e->hip_pitch[side], share * p->gyro_hip_pitch * e->gyro.y);
        add(goals[side], e->hip_roll[side], share * p->gyro_hip_roll * e->gyro.x);
    }
}

static void run_ahead(struct walk_engine *e, const struct walk_params *p, double goals[2][NM_GROUP], double dt)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 6; i++) {
            double q = goals[side][i], speed = e->moved ? (q - e->q_last[side][i]) / dt : 0;
            goals[side][i] += p->speed_ahead * clip(e->lag[side][i] * speed, -0.25, 0.25);
            e->q_last[side][i] = q;
        }
    e->moved = true;
}

/* ---- from one foot to the other ---- */

static bool step_is_over(const struct walk_engine *e, const struct walk_params *p, const struct seen *seen)
{
    double swing = seen->load[other(e->support)], stands = seen->load[e->support];
    if (e->steps > 1 && e->phase > p->early && seen->loaded > 5 && swing > stands) return true;
    if (e->phase < 1 - 1e-9) return false;
    return e->steps < 2 || seen->loaded <= 5 || swing > 0.08 * e->weight || e->time > p->longest * e->duration + 0.04;
}

/* The swinging foot becomes the frame of everything. */
static void change_feet(struct walk_engine *e, const struct seen *seen)
{
    double c = cos(e->swing_yaw), s = sin(e->swing_yaw), x = e->com[0] - e->swing[0], y = e->com[1] - e->swing[1];
    e->com[0] = c * x + s * y;
    e->com[1] = -s * x + c * y;
    x = -e->swing[0];
    y = -e->swing[1];
    double lift = e->swing[2];
    e->swing[0] = c * x + s * y;
    e->swing[1] = -s * x + c * y;
    e->swing[2] = e->begin_lift = -lift;
    e->swing_yaw = -e->swing_yaw;
    e->hips -= lift;

    struct pose2 old = seen->sole[e->support], new = seen->sole[other(e->support)];
    double turned = angle_normal(new.theta - old.theta), here[2],
           off[2] = {e->com_seen[0] - seen->com_here[0], e->com_seen[1] - seen->com_here[1]};
    double vx = e->com_speed[0], vy = e->com_speed[1];
    into(new, seen->com.x, seen->com.y, here);
    e->com_speed[0] = cos(turned) * vx + sin(turned) * vy;
    e->com_speed[1] = -sin(turned) * vx + cos(turned) * vy;
    e->com_seen[0] = here[0] + off[0];
    e->com_seen[1] = here[1] + off[1];
    e->stepped = pose2_mul(pose2_inv(old), new);
    e->support = other(e->support);
    e->phase = e->time = 0;
    e->steps++;
    e->changed = true;
}

/* The command changes by at most this much from step to step (m, m, rad), and only when the rocking has begun. */
static void follow_command(struct walk_engine *e, const struct walk_command *command)
{
    static const double most[3] = {0.02, 0.015, 0.12};
    for (int i = 0; i < 3; i++) {
        double wanted = command->walk && e->steps >= 4 ? command->step[i] : 0;
        e->step[i] += clip(wanted - e->step[i], -most[i], most[i]);
    }
    if (e->steps >= 2) e->share = clip(e->share + 0.34, 0, 1);
}

/* Both feet side by side and nothing wanted: the walk may end. */
static bool may_stand(const struct walk_engine *e, const struct walk_params *p, const struct walk_command *command)
{
    double there = side_sign(e->support) * p->width;
    bool still = e->step[0] == 0 && e->step[1] == 0 && e->step[2] == 0;
    bool calm = fabs(e->error[0]) < 0.03 && fabs(e->error[1]) < 0.04;
    return !command->walk && still && calm && fabs(e->swing[0]) < 0.02 && fabs(e->swing[1] - there) < 0.03 &&
           fabs(e->swing_yaw) < 0.05;
}

static void stand(struct walk_engine *e, const struct walk_params *p, const struct walk_command *command, double dt)
{
    double there = side_sign(e->support) * p->width, share = clip(dt / 0.15, 0, 1);
    e->swing[0] -= share * e->swing[0];
    e->swing[1] += share * (there - e->swing[1]);
    e->swing[2] -= share * e->swing[2];
    e->swing_yaw -= share * e->swing_yaw;
    e->com[0] += share * (p->pivot_x - e->com[0]);
    e->com[1] = 0.5 * e->swing[1];
    e->hips += share * (p->height - e->hips);
    e->error[0] = e->error[1] = 0;
    if (!command->walk) return;
    e->mode = WALK_STEP;
    e->steps = 0;
    e->share = e->phase = e->time = e->begin_lift = 0;
    plan_step(e, p);
}

static void step_on(struct walk_engine *e, const struct walk_params *p, const struct seen *seen, double dt)
{
    double xi[2], target[2];
    capture_point(e, p, seen, xi);
    double left = time_left(e, p, xi);
    double on = left <= dt ? 1 - e->phase : dt * (1 - e->phase) / left;
    on = clip(on, 0, 2 * dt / e->duration);
    landing(e, p, xi, left, target);
    swing_on(e, p, target, e->phase + on);
    e->phase += on;
    e->time += dt;
    move_com(e, p, seen, on * e->duration / dt, dt);
}

void walk_engine_step(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                      const struct walk_command *command, double dt, double goals[2][NM_GROUP])
{
    struct seen seen;
    e->gyro = vec3_add(e->gyro, vec3_scale(vec3_sub(sense->gyro, e->gyro), 0.5));
    e->changed = false;
    look(e, sense, &seen);
    observe(e, p, &seen, dt);
    if (e->mode == WALK_STAND)
        stand(e, p, command, dt);
    else
        step_on(e, p, &seen, dt);

    pose_legs(e, p, &seen, goals);
    run_ahead(e, p, goals, dt);
    balance(e, p, &seen, goals);

    if (e->mode == WALK_STEP && step_is_over(e, p, &seen)) {
        change_feet(e, &seen);
        follow_command(e, command);
        if (may_stand(e, p, command)) e->mode = WALK_STAND;
        plan_step(e, p);
    }
}

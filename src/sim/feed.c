#include "sim/feed.h"

#include <math.h>
#include <string.h>

const struct nm_fault_name nm_fault_names[NM_FAULTS] = {
    [NM_FAULT_SERVO_DEAD] = {"servo", "dead"},     [NM_FAULT_SERVO_LIMP] = {"servo", "limp"},
    [NM_FAULT_SERVO_SILENT] = {"servo", "silent"}, [NM_FAULT_SERVO_HOT] = {"servo", "hot"},
    [NM_FAULT_IMU_FROZEN] = {"imu", "frozen"},     [NM_FAULT_IMU_SPIKES] = {"imu", "spikes"},
    [NM_FAULT_IMU_LOST] = {"imu", "lost"},         [NM_FAULT_FOOT_LOST] = {"foot", "lost"},
    [NM_FAULT_FOOT_FROZEN] = {"foot", "frozen"},   [NM_FAULT_BUS_LOST] = {"bus", "lost"},
    [NM_FAULT_EYES_BLIND] = {"eyes", "blind"},     [NM_FAULT_STALL] = {"computer", "stalled"},
};

static const double SPIKES = 0.1;                         /* share of values      */
static const double GYRO_RANGE = 34.9, ACCEL_RANGE = 157; /* 2000 degrees/s, 16 g */
static const double FEED_LIMIT = 0.3;                     /* rad, as the driver's */

void nm_faults_add(struct nm_faults *f, enum nm_fault_kind kind, uint32_t part)
{
    uint64_t joint = 1ull << (part % 64);
    bool right = part == NM_RIGHT;
    switch (kind) {
    case NM_FAULT_SERVO_DEAD: f->dead |= joint; break;
    case NM_FAULT_SERVO_LIMP: f->limp |= joint; break;
    case NM_FAULT_SERVO_SILENT: f->silent |= joint; break;
    case NM_FAULT_SERVO_HOT: f->hot |= joint; break;
    case NM_FAULT_IMU_FROZEN: f->imu_frozen = true; break;
    case NM_FAULT_IMU_SPIKES: f->imu_spikes = true; break;
    case NM_FAULT_IMU_LOST: f->imu_lost = true; break;
    case NM_FAULT_FOOT_LOST: f->foot_lost[right] = true; break;
    case NM_FAULT_FOOT_FROZEN: f->foot_frozen[right] = true; break;
    case NM_FAULT_BUS_LOST: f->bus_lost = true; break;
    case NM_FAULT_EYES_BLIND: f->blind = true; break;
    case NM_FAULT_STALL: f->stall = true; break;
    case NM_FAULTS: break;
    }
}

void nm_feed_init(struct nm_feed *feed, const struct nm_body *body, uint64_t seed, uint32_t robot)
{
    memset(feed, 0, sizeof *feed);
    feed->body = body;
    feed->dice = nm_dice_new(seed, 20, robot);
}

/* ---- servos ---- */

static const struct nm_servo *servo_of(const struct nm_body *body, uint32_t joint)
{
    int32_t servo = body->joints[joint].servo;
    return servo < 0 ? NULL : &body->servos[servo];
}

static double most_torque(const struct nm_body *body, uint32_t joint)
{
    int32_t servo = body->joints[joint].servo;
    double most = servo < 0 ? body->joints[joint].effort : body->servo_types[body->servos[servo].type].max_torque;
    return isfinite(most) && most > 0 ? most : 1;
}

/* A silent servo leaves NaN in its places. */
static void add_servo(const struct nm_feed *feed, const struct nm_faults *faults, uint32_t joint,
                      const struct nm_sense *sense, const struct nm_joint_goal *goal, ServoStates *to)
{
    const struct nm_joint_reading *r = &sense->joints[joint];
    const struct nm_body *body = feed->body;
    const struct nm_servo *servo = servo_of(body, joint);
    bool hot = faults->hot >> joint & 1;
    bool silent = faults->bus_lost || (faults->dead | faults->silent) >> joint & 1;
    double none = silent ? NAN : 0;
    uint32_t i = to->name.n++;
    nm_text(to->name.at[i], "%s", body->joints[joint].name);
    to->goal.at[i] = nm_servo_of_joint(servo, goal->position) + none;
    to->position.at[i] = nm_servo_of_joint(servo, r->position) + none;
    to->velocity.at[i] = nm_servo_turn(servo, r->velocity) + none;
    to->effort.at[i] = nm_servo_turn(servo, r->load * most_torque(body, joint)) + none;
    to->voltage.at[i] = (float)(rint(10 * sense->voltage) / 10 + none); /* whole steps of the registers */
    to->temperature.at[i] = (float)(rint(r->warmth) + none);
    if (hot && !silent && body->joints[joint].servo >= 0)
        to->temperature.at[i] = (float)body->servo_types[body->servos[body->joints[joint].servo].type].max_temperature;
    to->error.at[i] = silent ? ServoStates_ERROR_SILENT : hot ? ServoStates_ERROR_HEAT : 0;
    to->torque.at[i] = !silent && goal->on && !(nm_faults_limp(faults) >> joint & 1);
}

bool nm_feed_servos(const struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense,
                    const struct nm_joint_goal *goals, ServoStates *to)
{
    const uint32_t room = sizeof to->name.at / sizeof to->name.at[0];
    if (faults->stall) return false;
    to->header.stamp = nm_stamp(sense->time);
    to->name.n = 0;
    for (uint32_t j = 0; j < feed->body->n_joints && to->name.n < room; j++)
        if (feed->body->joints[j].servo >= 0 || !feed->body->n_servos) add_servo(feed, faults, j, sense, &goals[j], to);
    uint32_t n = to->name.n;
    to->goal.n = to->position.n = to->velocity.n = to->effort.n = n;
    to->voltage.n = to->temperature.n = to->error.n = to->torque.n = n;
    return true;
}

/* The goal leads by the angle whose duty gives the torque and the speed asked for. */
static double lead(const struct nm_body *body, uint32_t joint, double p, double velocity, double torque)
{
    struct nm_servo_model m = nm_servo_model_of(body, joint);
    if (!(m.stall > 0 && m.duty_gain > 0 && p > 0)) return 0;
    double angle = (torque / m.stall + velocity / m.free_speed) / (m.duty_gain * p);
    return fmin(fmax(angle, -FEED_LIMIT), FEED_LIMIT);
}

#define AT(array, i, otherwise) ((i) < (array).n ? (double)(array).at[i] : (otherwise))

void nm_feed_goals(const struct nm_body *body, const JointGoals *from, struct nm_joint_goal *goals)
{
    for (uint32_t i = 0, guess = 0; i < from->name.n && i < from->position.n; i++) {
        int32_t joint = nm_find_joint_near(body, from->name.at[i], guess);
        if (joint < 0) continue;
        guess = (uint32_t)joint + 1;
        uint32_t j = (uint32_t)joint;
        const struct nm_servo *servo = servo_of(body, j);
        double position = nm_joint_of_servo(servo, from->position.at[i]);
        double velocity = nm_servo_turn(servo, AT(from->velocity, i, 0));
        double torque = nm_servo_turn(servo, AT(from->effort, i, 0));
        double stiffness = AT(from->stiffness, i, 1), limit = AT(from->max_effort, i, 0);
        if (!isfinite(position + velocity + torque + stiffness) || isnan(limit)) continue;
        double p = nm_servo_model_of(body, j).p * fmin(stiffness, 1);
        goals[j].on = stiffness > 0;
        if (!goals[j].on) continue; /* its goal stays where it was */
        goals[j].position = position + lead(body, j, p, velocity, torque);
        goals[j].p = p;
        goals[j].torque_limit = limit > 0 ? fmin(limit / most_torque(body, j), 1) : 1;
    }
}

/* ---- goals that grow old ---- */

static const int64_t GOAL_AGE = 100000000;                              /* ns                                */
static const double DAMP_SHARE = 0.3, DAMP_TIME = 0.3, DAMP_LAG = 0.15; /* 1, s, s                           */
static const double LOSS_RAMP = 0.5;                                    /* s, from nothing to full strength */

void nm_feed_damp(struct nm_damping *damping, const struct nm_body *body, const struct nm_sense *sense, int64_t age,
                  int64_t step, struct nm_joint_goal *goals)
{
    double dt = 1e-9 * (double)step;
    if (!damping->known) *damping = (struct nm_damping){true, 1};
    if (age <= GOAL_AGE) {
        damping->share = fmin(1, damping->share + dt / LOSS_RAMP);
        return;
    }
    damping->share = fmax(DAMP_SHARE, damping->share - (1 - DAMP_SHARE) * dt / DAMP_TIME);
    for (uint32_t j = 0; j < body->n_joints; j++)
        goals[j].position += (sense->joints[j].position - goals[j].position) * (1 - exp(-dt / DAMP_LAG));
}

/* ---- inertial sensor and feet ---- */

static void spike(struct nm_dice *dice, Vector3 *v, double range)
{
    double *at[3] = {&v->x, &v->y, &v->z};
    for (int i = 0; i < 3; i++)
        if (nm_dice_roll(dice) < SPIKES) *at[i] = nm_dice_roll(dice) < 0.5 ? -range : range;
}

bool nm_feed_imu(struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense, Imu *to)
{
    if (faults->stall || faults->bus_lost || faults->imu_lost) return false;
    if (!faults->imu_frozen) {
        feed->imu.angular_velocity = (Vector3){sense->gyro.x, sense->gyro.y, sense->gyro.z};
        feed->imu.linear_acceleration = (Vector3){sense->accel.x, sense->accel.y, sense->accel.z};
    }
    *to = feed->imu;
    to->header.stamp = nm_stamp(sense->time); /* the driver stamps, also what it has heard before */
    nm_text(to->header.frame_id, "%s", feed->body->frames[feed->body->imu < 0 ? 0 : feed->body->imu].name);
    to->orientation = (Quaternion){0, 0, 0, 1};
    to->orientation_covariance[0] = -1;
    if (faults->imu_spikes) {
        spike(&feed->dice, &to->angular_velocity, GYRO_RANGE);
        spike(&feed->dice, &to->linear_acceleration, ACCEL_RANGE);
    }
    return true;
}

static void feed_sole(const struct nm_body *body, const struct nm_faults *faults, const struct nm_sense *sense,
                      enum nm_side side, SolePressure *last, SolePressure *to)
{
    if (!faults->foot_frozen[side])
        for (int c = 0; c < NM_CELLS; c++) last->cells[c] = (float)sense->cells[side][c];
    *to = *last;
    to->valid = body->foot[side].n_cells && !faults->foot_lost[side] && !faults->bus_lost;
    if (to->valid) return;
    for (int c = 0; c < NM_CELLS; c++) to->cells[c] = NAN;
}

/* Only the cells: force and centre of pressure are a module's work. */
bool nm_feed_feet(struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense, FootPressure *to)
{
    if (faults->stall || !(feed->body->foot[0].n_cells + feed->body->foot[1].n_cells)) return false;
    to->header.stamp = nm_stamp(sense->time);
    feed_sole(feed->body, faults, sense, NM_LEFT, &feed->feet.left, &to->left);
    feed_sole(feed->body, faults, sense, NM_RIGHT, &feed->feet.right, &to->right);
    return true;
}

/* ---- camera ---- */

void nm_feed_camera_info(const struct nm_body *body, uint32_t camera, CameraInfo *to)
{
    const struct nm_body_camera *c = &body->cameras[camera];
    const struct nm_camera *lens = &c->lens;
    nm_text(to->header.frame_id, "%s", body->frames[c->frame].name);
    to->width = lens->width;
    to->height = lens->height;
    nm_text(to->distortion_model, "%s", lens->lens == NM_FISHEYE ? "equidistant" : "plumb_bob");
    to->d.n = lens->lens == NM_FISHEYE ? 4 : 5;
    for (uint32_t i = 0; i < to->d.n; i++) to->d.at[i] = lens->lens == NM_PINHOLE ? 0 : lens->k[i];
    const double k[9] = {lens->fx, 0, lens->cx, 0, lens->fy, lens->cy, 0, 0, 1};
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            to->k[3 * row + column] = k[3 * row + column];
            to->r[3 * row + column] = row == column;
            to->p[4 * row + column] = k[3 * row + column];
        }
}

/* What a robot measures: joints through the encoder, turning rate and acceleration of the IMU, load cells under the
 * feet. One sample a step; a reader gets the one its delay allows. */
#include <math.h>
#include <string.h>

#include "sim/world_parts.h"

static const double SPEED_STEP = 0.01194; /* rad/s: 0.114 rpm, a step of a Dynamixel's present speed */

double world_motor(const struct nm_world *w, const struct robot *r, uint32_t j)
{
    return r->q[j] < 0 ? r->rest[j] : w->data->qpos[r->q[j]];
}

double world_angle(const struct nm_world *w, const struct robot *r, uint32_t j)
{
    return world_motor(w, r, j) + (r->play_q[j] < 0 ? 0 : w->data->qpos[r->play_q[j]]);
}

double world_speed(const struct nm_world *w, const struct robot *r, uint32_t j)
{
    if (r->v[j] < 0) return 0;
    return w->data->qvel[r->v[j]] + (r->play_v[j] < 0 ? 0 : w->data->qvel[r->play_v[j]]);
}

struct pose3 world_base(const struct nm_world *w, const struct robot *r)
{
    const double *q = w->data->qpos + r->root_q;
    return (struct pose3){quat_normal((struct quat){q[3], q[4], q[5], q[6]}), {q[0], q[1], q[2]}};
}

/* The base's motion in the field's axes; MuJoCo keeps the turning rate in the body's own. */
static struct nm_twist base_twist(const struct nm_world *w, const struct robot *r, struct quat rot)
{
    const double *v = w->data->qvel + r->root_v;
    return (struct nm_twist){{v[0], v[1], v[2]}, quat_apply(rot, (struct vec3){v[3], v[4], v[5]})};
}

void nm_world_truth(const struct nm_world *w, uint32_t robot, struct nm_truth *t)
{
    const struct robot *r = &w->robots[robot];
    t->base_to_field = world_base(w, r);
    struct nm_twist twist = base_twist(w, r, t->base_to_field.rot);
    t->velocity = twist.linear;
    t->angular_velocity = twist.angular;
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        t->q[j] = world_angle(w, r, j);
        t->qd[j] = world_speed(w, r, j);
        t->motor[j] = world_motor(w, r, j);
        t->torque[j] = 0;
        if (r->v[j] < 0) continue;
        t->torque[j] = w->data->qfrc_applied[r->v[j]] - w->model->dof_damping[r->v[j]] * w->data->qvel[r->v[j]] -
                       w->model->dof_armature[r->v[j]] * w->data->qacc[r->v[j]];
    }
    t->foot_force[0] = r->foot_force[0];
    t->foot_force[1] = r->foot_force[1];
}

/* Pose and motion of the IMU in the field. Most sit on the base, and then no kinematics are needed. */
static struct nm_twist imu_motion(const struct nm_world *w, const struct robot *r, struct quat *to_field)
{
    const struct nm_body *body = r->body;
    const struct nm_frame *frame = body->imu >= 0 ? &body->frames[body->imu] : &body->frames[0];
    struct pose3 base = world_base(w, r);
    struct nm_twist motion = base_twist(w, r, base.rot);
    if (frame->link == 0) {
        struct vec3 arm = quat_apply(base.rot, frame->to_link.pos);
        *to_field = quat_mul(base.rot, frame->to_link.rot);
        return (struct nm_twist){vec3_add(motion.linear, vec3_cross(motion.angular, arm)), motion.angular};
    }
    struct nm_kin kin;
    struct nm_twist links[NM_LINKS];
    double q[NM_JOINTS], qd[NM_JOINTS];
    for (uint32_t j = 0; j < body->n_joints; j++) {
        q[j] = world_angle(w, r, j);
        qd[j] = world_speed(w, r, j);
    }
    nm_forward(body, base, q, &kin);
    nm_velocities(body, &kin, motion, qd, links);
    *to_field = kin.pose[body->imu].rot;
    return nm_frame_twist(body, &kin, links, (uint32_t)body->imu);
}

static struct vec3 noisy(struct nm_dice *dice, struct vec3 v, struct vec3 bias, double sigma)
{
    v = vec3_add(v, bias);
    if (!(sigma > 0)) return v;
    return (struct vec3){v.x + sigma * nm_dice_gauss(dice), v.y + sigma * nm_dice_gauss(dice),
                         v.z + sigma * nm_dice_gauss(dice)};
}

/* The accelerometer feels the change of velocity over the step, which is what a real one integrates too. */
static void sample_imu(struct nm_world *w, struct robot *r, struct nm_sense *s)
{
    struct quat to_field;
    struct nm_twist motion = imu_motion(w, r, &to_field);
    double dt = (double)w->tick * 1e-9;
    struct vec3 force = vec3_scale(vec3_sub(motion.linear, r->last_velocity), 1 / dt);
    const double *gravity = w->model->opt.gravity;
    force = vec3_sub(force, (struct vec3){gravity[0], gravity[1], gravity[2]});
    r->last_velocity = motion.linear;
    struct quat inverse = quat_inv(to_field);
    s->gyro = noisy(&r->noise, quat_apply(inverse, motion.angular), r->gyro_bias, w->options.gyro_noise);
    s->accel = noisy(&r->noise, quat_apply(inverse, force), r->accel_bias, w->options.accel_noise);
}

static void sample_robot(struct nm_world *w, struct robot *r)
{
    struct nm_sense *s = &r->samples[r->n_samples++ % SAMPLES];
    s->time = w->now;
    s->voltage = r->power.voltage;
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        const struct nm_servo_model *m = &r->servos[j];
        double speed = r->v[j] < 0 ? 0 : w->data->qvel[r->v[j]];
        s->joints[j].position = nm_servo_measure(m, world_motor(w, r, j));
        s->joints[j].velocity = m->step > 0 ? SPEED_STEP * rint(speed / SPEED_STEP) : speed;
        s->joints[j].load = r->states[j].duty;
        s->joints[j].warmth = r->power.temperature[j];
    }
    sample_imu(w, r, s);
    for (int side = 0; side < 2; side++)
        for (uint32_t c = 0; c < r->body->foot[side].n_cells; c++) {
            double noise = w->options.cell_noise > 0 ? w->options.cell_noise * nm_dice_gauss(&r->noise) : 0;
            double force = r->cells[side][c] * r->cell_gain[side][c] + noise;
            s->cells[side][c] = force > w->options.cell_dead ? force : 0;
        }
}

void world_sample(struct nm_world *w)
{
    for (uint32_t i = 0; i < w->n; i++) sample_robot(w, &w->robots[i]);
}

void world_settle_sensors(struct nm_world *w, struct robot *r)
{
    struct quat to_field;
    r->last_velocity = imu_motion(w, r, &to_field).linear;
}

void nm_world_sense(const struct nm_world *w, uint32_t robot, struct nm_sense *sense)
{
    const struct robot *r = &w->robots[robot];
    uint64_t oldest = r->n_samples > SAMPLES ? r->n_samples - SAMPLES : 0, i = r->n_samples - 1;
    while (i > oldest && r->samples[i % SAMPLES].time + r->sensor_delay > w->now) i--;
    *sense = r->samples[i % SAMPLES];
}

/* A force at a point between four cells loads them as a table loads its legs: linear in both directions, so that sum
 * and centre of pressure come out right. */
static void load_cells(const struct nm_body *body, int side, struct vec3 at_link, double force, double cells[NM_CELLS])
{
    const struct nm_foot *foot = &body->foot[side];
    if (foot->n_cells != NM_CELLS) {
        for (uint32_t c = 0; c < foot->n_cells; c++) cells[c] += force / foot->n_cells;
        return;
    }
    struct vec3 p[NM_CELLS];
    for (int c = 0; c < NM_CELLS; c++) p[c] = body->frames[foot->cells[c]].to_link.pos;
    double front = (p[0].x + p[1].x) / 2, back = (p[2].x + p[3].x) / 2, left = (p[0].y + p[2].y) / 2,
           right = (p[1].y + p[3].y) / 2;
    double u = fmin(fmax((at_link.x - back) / (front - back), 0), 1);
    double v = fmin(fmax((at_link.y - right) / (left - right), 0), 1);
    cells[0] += force * u * v;
    cells[1] += force * u * (1 - v);
    cells[2] += force * (1 - u) * v;
    cells[3] += force * (1 - u) * (1 - v);
}

static void note_touch(struct nm_world *w, const mjContact *c)
{
    const int geoms[2] = {c->geom1, c->geom2};
    for (int k = 0; k < 2; k++) {
        uint32_t robot = w->robot_of_geom[geoms[k]], other = w->robot_of_geom[geoms[1 - k]];
        if (robot >= w->n || robot == other) continue;
        if (other < w->n) w->touches.robots[robot] |= 1u << other;
        if (w->model->geom_bodyid[geoms[1 - k]] == w->ball_body) w->touches.ball |= 1u << robot;
    }
}

/* Forces on feet, and who touches whom, from the contacts that were just solved. */
void world_read_contacts(struct nm_world *w)
{
    const mjModel *m = w->model;
    const mjData *d = w->data;
    for (uint32_t i = 0; i < w->n; i++) {
        memset(w->robots[i].cells, 0, sizeof w->robots[i].cells);
        memset(w->robots[i].foot_force, 0, sizeof w->robots[i].foot_force);
    }
    memset(&w->touches, 0, sizeof w->touches);
    for (int i = 0; i < d->ncon; i++) {
        const mjContact *c = &d->contact[i];
        if (c->efc_address < 0) continue;
        note_touch(w, c);
        if (w->robot_of_geom[c->geom1] == w->robot_of_geom[c->geom2]) continue; /* its feet meet each other */
        for (int k = 0; k < 2; k++) {
            int geom = k ? c->geom2 : c->geom1, side = w->side_of_geom[geom];
            if (side < 0) continue;
            struct robot *r = &w->robots[w->robot_of_geom[geom]];
            double force[6];
            mj_contactForce(m, d, i, force);
            /* the normal points from geom1 to geom2 */
            double up = force[0] * c->frame[2] * (k ? 1 : -1);
            const double *at = d->xpos + 3 * r->foot_body[side], *rot = d->xmat + 9 * r->foot_body[side];
            double x = c->pos[0] - at[0], y = c->pos[1] - at[1], z = c->pos[2] - at[2];
            struct vec3 at_link = {rot[0] * x + rot[3] * y + rot[6] * z, rot[1] * x + rot[4] * y + rot[7] * z,
                                   rot[2] * x + rot[5] * y + rot[8] * z};
            r->foot_force[side] += up;
            if (up > 0) load_cells(r->body, side, at_link, up, r->cells[side]);
        }
    }
}

const struct nm_touches *nm_world_touches(const struct nm_world *w) { return &w->touches; }

struct pose3 nm_world_ball(const struct nm_world *w, struct vec3 *velocity)
{
    if (w->ball_q < 0) { /* a bare world: far below the ground */
        if (velocity) *velocity = (struct vec3){0, 0, 0};
        return (struct pose3){QUAT_IDENTITY, {0, 0, -10}};
    }
    const double *q = w->data->qpos + w->ball_q, *v = w->data->qvel + w->ball_v;
    if (velocity) *velocity = (struct vec3){v[0], v[1], v[2]};
    return (struct pose3){quat_normal((struct quat){q[3], q[4], q[5], q[6]}), {q[0], q[1], q[2]}};
}

void nm_world_frames(const struct nm_world *w, uint32_t robot, struct nm_kin *kin)
{
    const struct robot *r = &w->robots[robot];
    double q[NM_JOINTS];
    for (uint32_t j = 0; j < r->body->n_joints; j++) q[j] = world_angle(w, r, j);
    nm_forward(r->body, world_base(w, r), q, kin);
}

void nm_world_scene(const struct nm_world *w, struct nm_scene *scene, struct nm_kin *kin)
{
    nm_scene_clear(scene);
    nm_scene_ball(scene, nm_world_ball(w, NULL));
    world_scene_pendulum(w, scene);
    for (uint32_t i = 0; i < w->n; i++) {
        const struct robot *r = &w->robots[i];
        struct nm_kin own, *k = kin ? &kin[i] : &own;
        nm_world_frames(w, i, k);
        nm_scene_robot(scene, i, r->body, k, &r->shirt);
    }
}

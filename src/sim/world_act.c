/* Hands that reach into the world: placing, pushing, kicking, the pendulum. */
#include <math.h>
#include <string.h>

#include "sim/world_parts.h"

void world_refresh(struct nm_world *w)
{
    mj_fwdPosition(w->model, w->data);
    mj_fwdVelocity(w->model, w->data);
}

static void write_root(struct nm_world *w, const struct robot *r, struct pose3 base)
{
    double *q = w->data->qpos + r->root_q;
    struct quat rot = quat_normal(base.rot);
    const double root[7] = {base.pos.x, base.pos.y, base.pos.z, rot.w, rot.x, rot.y, rot.z};
    memcpy(q, root, sizeof root);
    memset(w->data->qvel + r->root_v, 0, 6 * sizeof(double));
    memset(w->data->qacc_warmstart + r->root_v, 0, 6 * sizeof(double));
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        if (r->v[j] < 0) continue;
        w->data->qvel[r->v[j]] = 0;
        w->data->qacc_warmstart[r->v[j]] = 0;
        if (r->play_q[j] < 0) continue;
        w->data->qpos[r->play_q[j]] = w->data->qvel[r->play_v[j]] = 0;
        w->data->qacc_warmstart[r->play_v[j]] = 0;
    }
}

static bool finite_pose(struct pose3 p)
{
    return isfinite(p.pos.x + p.pos.y + p.pos.z + p.rot.w + p.rot.x + p.rot.y + p.rot.z);
}

void nm_world_put(struct nm_world *w, uint32_t robot, struct pose3 base, const double *q)
{
    struct robot *r = &w->robots[robot];
    if (!finite_pose(base)) return;
    for (uint32_t j = 0; q && j < r->body->n_joints; j++)
        if (r->q[j] >= 0 && isfinite(q[j])) w->data->qpos[r->q[j]] = q[j];
    write_root(w, r, base);
    world_refresh(w);
    world_settle_sensors(w, r);
}

double nm_world_overlap(const struct nm_world *w, uint32_t robot)
{
    double deepest = 0;
    for (int i = 0; i < w->data->ncon; i++) {
        const mjContact *c = &w->data->contact[i];
        if (w->robot_of_geom[c->geom1] == robot && w->robot_of_geom[c->geom2] == robot)
            deepest = fmax(deepest, -c->dist);
    }
    return deepest;
}

static struct pose3 upright(const struct nm_pitch *pitch, const struct robot *r, struct pose2 at, const double *q)
{
    struct quat rot = quat_rpy(0, 0, at.theta);
    double ground = nm_pitch_height(pitch, at.x, at.y);
    return (struct pose3){rot, {at.x, at.y, ground + nm_standing_height(r->body, rot, q)}};
}

void nm_world_place(struct nm_world *w, uint32_t robot, struct pose2 pose)
{
    struct robot *r = &w->robots[robot];
    double q[NM_JOINTS];
    for (uint32_t j = 0; j < r->body->n_joints; j++) q[j] = world_motor(w, r, j); /* the play is closed */
    r->home = pose;
    nm_world_put(w, robot, upright(w->pitch, r, pose, q), NULL);
}

/* Where it was last in order, with the joints it started with. */
void world_reset_robot(struct nm_world *w, uint32_t robot)
{
    struct robot *r = &w->robots[robot];
    for (uint32_t j = 0; j < r->body->n_joints; j++)
        if (r->q[j] >= 0) w->data->qpos[r->q[j]] = r->rest[j];
    write_root(w, r, upright(w->pitch, r, r->home, r->rest));
}

void nm_world_put_ball(struct nm_world *w, struct vec3 p, struct vec3 v, struct vec3 spin)
{
    if (w->ball_q < 0) return;
    double *q = w->data->qpos + w->ball_q, *qd = w->data->qvel + w->ball_v;
    if (!isfinite(p.x + p.y + p.z + v.x + v.y + v.z + spin.x + spin.y + spin.z)) return;
    struct quat rot = quat_normal((struct quat){q[3], q[4], q[5], q[6]});
    struct vec3 own = quat_apply(quat_inv(rot), spin);
    q[0] = p.x, q[1] = p.y, q[2] = fmax(p.z, nm_pitch_height(w->pitch, p.x, p.y) + w->pitch->ball_radius);
    qd[0] = v.x, qd[1] = v.y, qd[2] = v.z;
    qd[3] = own.x, qd[4] = own.y, qd[5] = own.z;
    memset(w->data->qacc_warmstart + w->ball_v, 0, 6 * sizeof(double));
    world_refresh(w);
}

void nm_world_push(struct nm_world *w, uint32_t robot, struct vec3 impulse, struct vec3 point, int64_t duration)
{
    uint32_t steps = duration > w->tick ? (uint32_t)((duration + w->tick / 2) / w->tick) : 1;
    double seconds = (double)(steps * w->tick) * 1e-9;
    if (w->n_pushes >= PUSHES || !isfinite(impulse.x + impulse.y + impulse.z + point.x + point.y + point.z)) return;
    w->pushes[w->n_pushes++] = (struct push){robot, vec3_scale(impulse, 1 / seconds), point, steps};
}

/* MuJoCo applies the force at the body's centre of mass. */
void world_apply_pushes(struct nm_world *w)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < w->n; i++) memset(w->data->xfrc_applied + 6 * w->robots[i].trunk, 0, 6 * sizeof(double));
    for (uint32_t i = 0; i < w->n_pushes; i++) {
        struct push *p = &w->pushes[i];
        const struct robot *r = &w->robots[p->robot];
        const double *com = w->data->xipos + 3 * r->trunk;
        double *to = w->data->xfrc_applied + 6 * r->trunk;
        struct vec3 at = pose_apply(world_base(w, r), p->point);
        struct vec3 torque = vec3_cross(vec3_sub(at, (struct vec3){com[0], com[1], com[2]}), p->force);
        const double more[6] = {p->force.x, p->force.y, p->force.z, torque.x, torque.y, torque.z};
        for (int k = 0; k < 6; k++) to[k] += more[k];
        if (--p->steps) w->pushes[left++] = *p;
    }
    w->n_pushes = left;
}

/* A slope is gravity that leans: the ground stays level in the world's frame. */
void nm_world_slope(struct nm_world *w, const double slope[2])
{
    double *g = w->model->opt.gravity, size = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    g[0] = -size * sin(slope[0]);
    g[1] = -size * sin(slope[1]);
    g[2] = -sqrt(size * size - g[0] * g[0] - g[1] * g[1]);
}

/* Half the width of the trunk's shapes in a direction of the base's frame. */
static double trunk_extent(const struct nm_body *body, struct vec3 direction)
{
    double most = 0.05;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (s->link != 0) continue;
        most = fmax(most, vec3_dot(s->to_link.pos, direction) + nm_shape_reach(s, s->to_link.rot, direction));
    }
    return most;
}

static const double PARKED = -30;                /* m, under the ground                                    */
static const int64_t PENDULUM_STAYS = 400000000; /* ns after it met somebody: a second hit is not asked for */

bool nm_world_pendulum(struct nm_world *w, uint32_t robot, double direction, double distance)
{
    const double rope = NM_PENDULUM_ROPE, radius = NM_PENDULUM_RADIUS;
    if (w->pendulum_body < 0 || !(distance > 0 && distance < rope) || !isfinite(direction)) return false;
    struct pose3 base = world_base(w, &w->robots[robot]);
    struct vec3 from = {cos(direction), sin(direction), 0}; /* where it comes from */
    const struct nm_body *body = w->robots[robot].body;
    double half = trunk_extent(body, quat_apply(quat_inv(base.rot), from));
    struct vec3 low = vec3_add(base.pos, vec3_scale(from, half + radius));
    double *pos = w->model->body_pos + 3 * w->pendulum_body;
    pos[0] = low.x, pos[1] = low.y, pos[2] = base.pos.z + body->inertia[0].com.z + rope;
    w->pendulum_met = -1;

    /* a hinge about x carries one about y: the bob hangs at rope (-sin b, cos b sin a, -cos b cos a) */
    double about_y = -asin(distance * from.x / rope);
    double about_x = asin(distance * from.y / rope / cos(about_y));
    int joint = w->model->body_jntadr[w->pendulum_body];
    int q = w->model->jnt_qposadr[joint], v = w->model->jnt_dofadr[joint];
    w->data->qpos[q] = about_x;
    w->data->qpos[q + 1] = about_y;
    w->data->qvel[v] = w->data->qvel[v + 1] = 0;
    w->data->qacc_warmstart[v] = w->data->qacc_warmstart[v + 1] = 0;
    world_refresh(w);
    return true;
}

void world_follow_pendulum(struct nm_world *w)
{
    if (w->pendulum_body < 0) return;
    for (int i = 0; i < w->data->ncon; i++) {
        const mjContact *c = &w->data->contact[i];
        int other = c->geom1 == w->pendulum_geom ? c->geom2 : c->geom2 == w->pendulum_geom ? c->geom1 : -1;
        if (other < 0 || w->robot_of_geom[other] >= w->n) continue;
        struct robot *r = &w->robots[w->robot_of_geom[other]];
        if (r->struck < 0) r->struck = w->now;
        if (w->pendulum_met < 0) w->pendulum_met = w->now;
    }
    if (w->pendulum_met >= 0 && w->now > w->pendulum_met + PENDULUM_STAYS)
        w->model->body_pos[3 * w->pendulum_body + 2] = PARKED;
}

void world_scene_pendulum(const struct nm_world *w, struct nm_scene *scene)
{
    const double *pos = w->pendulum_body < 0 ? NULL : w->model->body_pos + 3 * w->pendulum_body;
    if (!pos || pos[2] < 0) return;
    const double *q = w->data->qpos + w->model->jnt_qposadr[w->model->body_jntadr[w->pendulum_body]];
    struct vec3 pivot = {pos[0], pos[1], pos[2]};
    struct vec3 hangs = {-sin(q[1]), cos(q[1]) * sin(q[0]), -cos(q[1]) * cos(q[0])};
    nm_scene_pendulum(scene, pivot, vec3_add(pivot, vec3_scale(hangs, NM_PENDULUM_ROPE)), NM_PENDULUM_RADIUS);
}

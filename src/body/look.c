#include "body/look.h"

#include <string.h>

enum { STEPS = 50, TRIES = 20 };

int nm_neck_init(struct nm_neck *neck, const struct nm_body *body, uint32_t camera_frame, struct nm_err *err)
{
    struct nm_group head = body->head;
    *neck = (struct nm_neck){0};
    head.end = camera_frame;
    if (nm_chain_init(&neck->chain, body, &head, err)) return -1;
    if (camera_frame >= body->n_frames || body->frames[camera_frame].link != head.joints[head.n - 1] + 1)
        return nm_fail(err, "%s: the head does not carry the camera", body->path);
    neck->eye = neck->chain.home.pos;
    neck->gaze = quat_apply(neck->chain.home.rot, (struct vec3){0, 0, 1});
    neck->closed = neck->chain.n == 2 && fabs(vec3_dot(neck->chain.axis[1], neck->gaze)) < 1e-9;
    return 0;
}

/* a cos q + b sin q = v: both solutions, or twice the nearest one */
static void waves(double a, double b, double v, double q[2])
{
    double size = hypot(a, b), middle = atan2(b, a);
    double apart = size > 1e-12 ? acos(fmin(fmax(v / size, -1), 1)) : 0;
    q[0] = middle + apart;
    q[1] = middle - apart;
}

/* The second joint's angle that puts the eye's line through x, which lies in its plane: of the two, the one with the
 * point before the camera. */
static double tilt(const struct nm_neck *n, struct vec3 x)
{
    struct vec3 axis = n->chain.axis[1], at = n->chain.point[1], normal = vec3_cross(axis, n->gaze);
    struct vec3 z = vec3_sub(x, at), eye = vec3_sub(n->eye, at);
    double q[2];
    waves(vec3_dot(normal, z), -vec3_dot(normal, vec3_cross(axis, z)), vec3_dot(normal, eye), q);
    struct vec3 seen = vec3_sub(nm_turn(axis, cos(q[0]), -sin(q[0]), z), eye);
    return angle_normal(vec3_dot(seen, n->gaze) > 0 ? q[0] : q[1]);
}

/* The first joint must bring the point into the plane in which the second one moves the optical axis; it does so at two
 * angles. */
static void closed_form(const struct nm_neck *n, struct vec3 point, double q[2][2])
{
    const struct nm_chain *c = &n->chain;
    struct vec3 y = vec3_sub(point, c->point[0]), eye = vec3_sub(n->eye, c->point[0]);
    double along = vec3_dot(c->axis[1], c->axis[0]) * vec3_dot(c->axis[0], y), pan[2];
    waves(vec3_dot(c->axis[1], y) - along, -vec3_dot(c->axis[1], vec3_cross(c->axis[0], y)),
          vec3_dot(c->axis[1], eye) - along, pan);
    for (int i = 0; i < 2; i++) {
        q[i][0] = angle_normal(pan[i]);
        struct vec3 x = vec3_add(c->point[0], nm_turn(c->axis[0], cos(q[i][0]), -sin(q[i][0]), y));
        q[i][1] = tilt(n, x);
    }
}

/* Angle between optical axis and point, as the turn that would close it, and what each joint does to that turn: its own
 * rate, and the point's apparent one by moving the eye. */
static double errors(const struct nm_neck *n, struct vec3 point, const double q[], double e[3], double j[3][NM_GROUP])
{
    const struct nm_chain *c = &n->chain;
    struct pose3 end = nm_chain_forward(c, q), pose = POSE_IDENTITY;
    struct vec3 gaze = quat_apply(end.rot, (struct vec3){0, 0, 1}), to = vec3_sub(point, end.pos);
    double distance = fmax(vec3_norm(to), 1e-6);
    to = vec3_scale(to, 1 / distance);
    struct vec3 turn = vec3_cross(gaze, to);
    double sine = vec3_norm(turn), angle = atan2(sine, vec3_dot(gaze, to));
    turn = vec3_scale(turn, sine > 1e-12 ? angle / sine : 1);
    e[0] = turn.x, e[1] = turn.y, e[2] = turn.z;
    for (uint32_t i = 0; i < c->n; i++) {
        struct vec3 axis = quat_apply(pose.rot, c->axis[i]), at = pose_apply(pose, c->point[i]);
        struct vec3 moved = vec3_cross(axis, vec3_sub(end.pos, at));
        struct vec3 rate = vec3_add(axis, vec3_scale(vec3_cross(to, moved), 1 / distance));
        rate = vec3_sub(rate, vec3_scale(gaze, vec3_dot(gaze, rate))); /* turning about the optical axis is no help */
        j[0][i] = rate.x, j[1][i] = rate.y, j[2][i] = rate.z;
        struct quat r = quat_axis(c->axis[i], q[i]);
        pose = pose_mul(pose, (struct pose3){r, vec3_sub(c->point[i], quat_apply(r, c->point[i]))});
    }
    return angle;
}

static bool improve(const struct nm_neck *n, struct vec3 point, double q[], double *angle)
{
    const struct nm_chain *c = &n->chain;
    double e[3], j[3][NM_GROUP], gradient[NM_GROUP], step[NM_GROUP], next[NM_GROUP], unused_e[3], unused_j[3][NM_GROUP];
    errors(n, point, q, e, j);
    nm_damped_step(3, j, e, c->n, ~0u, 1, gradient, step);
    uint32_t held = nm_at_limits(c, q, gradient);
    double damping = *angle * *angle * 0.01 + 1e-14;
    for (int i = 0; i < TRIES; i++, damping *= 8) {
        nm_damped_step(3, j, e, c->n, held, damping, gradient, step);
        for (uint32_t k = 0; k < c->n; k++) next[k] = fmin(fmax(q[k] + step[k], c->lower[k]), c->upper[k]);
        double after = errors(n, point, next, unused_e, unused_j);
        if (!(after < *angle)) continue;
        bool worth = after < *angle * (1 - 1e-9);
        memcpy(q, next, c->n * sizeof *q);
        *angle = after;
        return worth;
    }
    return false;
}

/* From a start, brought within the limits, to the nearest gaze; the angle that is left. */
static double settle(const struct nm_neck *n, struct vec3 point, double q[])
{
    double e[3], j[3][NM_GROUP];
    const struct nm_chain *c = &n->chain;
    for (uint32_t i = 0; i < c->n; i++) q[i] = isfinite(q[i]) ? fmin(fmax(q[i], c->lower[i]), c->upper[i]) : 0;
    double angle = errors(n, point, q, e, j);
    for (int i = 0; i < STEPS && angle > 1e-12; i++)
        if (!improve(n, point, q, &angle)) break;
    return angle;
}

enum nm_reach nm_look_at(const struct nm_neck *neck, struct vec3 point, double q[], double *off)
{
    double start[2][2], best = INFINITY;
    if (neck->closed) {
        closed_form(neck, point, start);
        double turn[2] = {fabs(start[0][0]) + fabs(start[0][1]), fabs(start[1][0]) + fabs(start[1][1])};
        for (int i = 0; i < 2 && !(best < 1e-9); i++) {
            double *at = start[i ^ (turn[1] < turn[0])]; /* the shorter turn first */
            double angle = settle(neck, point, at);
            if (i && !(angle < best)) continue;
            best = angle;
            memcpy(q, at, sizeof start[0]);
        }
    } else {
        best = settle(neck, point, q);
    }
    if (off) *off = best;
    return best < 1e-9 ? NM_REACHED : NM_NEAREST;
}

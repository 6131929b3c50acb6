#include "body/dynamics.h"

/* one link on the way out (motion) and on the way back (load), in its own axes */
struct state {
    struct mat3 to_parent;
    struct vec3 at;              /* origin in the parent           */
    struct vec3 spin, spin_rate; /* angular velocity, acceleration */
    struct vec3 acceleration;    /* of the origin, less gravity    */
    struct mat3 swing;           /* times a place: its acceleration by the two above */
    struct vec3 force, moment;   /* at the origin                  */
};

static struct mat3 blend(const struct nm_step *s, double c, double sn)
{
    struct mat3 r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) r.m[i][j] = s->still.m[i][j] + c * s->even.m[i][j] + sn * s->odd.m[i][j];
    return r;
}

/* What the spin adds to the acceleration at r is spin' x r + spin x (spin x r): a matrix, which serves the link's own
 * centre and the origin of each link it carries. */
static struct mat3 swing_of(struct vec3 w, struct vec3 dw)
{
    double xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z, xy = w.x * w.y, xz = w.x * w.z, yz = w.y * w.z;
    return (struct mat3){
        {{-yy - zz, xy - dw.z, xz + dw.y}, {xy + dw.z, -xx - zz, yz - dw.x}, {xz - dw.y, yz + dw.x, -xx - yy}}};
}

/* Newton and Euler for one link: the load its motion needs, at its origin. */
static inline void own_load(const struct nm_inertia *n, struct state *s)
{
    struct vec3 w = s->spin, dw = s->spin_rate;
    s->swing = swing_of(w, dw);
    struct vec3 a = vec3_add(s->acceleration, mat3_apply(&s->swing, n->com));
    struct vec3 h = {n->xx * w.x + n->xy * w.y + n->xz * w.z, n->xy * w.x + n->yy * w.y + n->yz * w.z,
                     n->xz * w.x + n->yz * w.y + n->zz * w.z};
    struct vec3 dh = {n->xx * dw.x + n->xy * dw.y + n->xz * dw.z, n->xy * dw.x + n->yy * dw.y + n->yz * dw.z,
                      n->xz * dw.x + n->yz * dw.y + n->zz * dw.z};
    s->force = vec3_scale(a, n->mass);
    s->moment = vec3_add(vec3_add(dh, vec3_cross(w, h)), vec3_cross(n->com, s->force));
}

static inline void move_link(const struct nm_step *step, const struct state *parent, struct state *s, double q,
                             double qd, double qdd)
{
    struct vec3 turn = vec3_scale(step->axis, qd), kick = vec3_scale(step->axis, qdd);
    if (step->slides) {
        s->to_parent = blend(step, 1, 0);
        s->at = vec3_add(step->at, vec3_scale(step->slide, q));
    } else {
        s->to_parent = blend(step, cos(q), sin(q));
        s->at = step->at;
    }
    s->spin = mat3_apply_inv(&s->to_parent, parent->spin);
    s->spin_rate = mat3_apply_inv(&s->to_parent, parent->spin_rate);
    struct vec3 at = vec3_add(parent->acceleration, mat3_apply(&parent->swing, s->at));
    s->acceleration = mat3_apply_inv(&s->to_parent, at);
    if (step->slides) { /* the second term is Coriolis' */
        s->acceleration = vec3_add(s->acceleration, vec3_add(kick, vec3_scale(vec3_cross(s->spin, turn), 2)));
    } else {
        s->spin_rate = vec3_add(s->spin_rate, vec3_add(kick, vec3_cross(s->spin, turn)));
        s->spin = vec3_add(s->spin, turn);
    }
}

/* Takes what a push carries from the link's load. The link's axes in the world come from walking down to the base. */
static void take_push(const struct nm_body *body, const struct nm_push *push, const struct mat3 *base, struct state *s)
{
    uint32_t path[NM_LINKS], n = 0, link = body->frames[push->frame].link;
    for (uint32_t i = link; i > 0; i = body->joints[i - 1].parent) path[n++] = i;
    struct vec3 force = mat3_apply_inv(base, push->force), torque = mat3_apply_inv(base, push->torque);
    while (n > 0) {
        n--;
        force = mat3_apply_inv(&s[path[n]].to_parent, force);
        torque = mat3_apply_inv(&s[path[n]].to_parent, torque);
    }
    torque = vec3_add(torque, vec3_cross(body->frames[push->frame].to_link.pos, force));
    s[link].force = vec3_sub(s[link].force, force);
    s[link].moment = vec3_sub(s[link].moment, torque);
}

void nm_inverse_dynamics(const struct nm_body *body, const struct nm_motion *m, const struct nm_push *pushes,
                         uint32_t n_pushes, struct nm_effort *effort)
{
    struct state s[NM_LINKS];
    struct mat3 base = quat_to_mat3(m->base_to_world.rot);
    s[0].spin = mat3_apply_inv(&base, m->angular_velocity);
    s[0].spin_rate = mat3_apply_inv(&base, m->angular_acceleration);
    s[0].acceleration = mat3_apply_inv(&base, vec3_sub(m->acceleration, m->gravity));
    own_load(&body->inertia[0], &s[0]);

    /* outwards: motion, and what it asks of each link */
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_step *step = &body->steps[i];
        move_link(step, &s[step->parent], &s[i + 1], m->q[i], m->qd[i], m->qdd[i]);
        own_load(&body->inertia[i + 1], &s[i + 1]);
    }
    for (uint32_t i = 0; i < n_pushes; i++) take_push(body, &pushes[i], &base, s);

    /* inwards: each joint carries its link and all behind it */
    for (uint32_t i = body->n_joints; i-- > 0;) {
        const struct nm_step *step = &body->steps[i];
        struct state *child = &s[i + 1], *parent = &s[step->parent];
        effort->torque[i] =
            vec3_dot(step->axis, step->slides ? child->force : child->moment) + body->joints[i].armature * m->qdd[i];
        struct vec3 force = mat3_apply(&child->to_parent, child->force);
        struct vec3 moment = mat3_apply(&child->to_parent, child->moment);
        parent->force = vec3_add(parent->force, force);
        parent->moment = vec3_add(parent->moment, vec3_add(moment, vec3_cross(child->at, force)));
    }
    effort->force = mat3_apply(&base, s[0].force);
    effort->moment = mat3_apply(&base, s[0].moment);
}

void nm_drive_followers(const struct nm_body *body, struct nm_effort *effort)
{
    for (uint32_t j = 0; j < body->n_joints; j++) {
        int32_t leads = body->joints[j].mimic;
        if (leads < 0) continue;
        effort->torque[leads] += body->joints[j].multiplier * effort->torque[j];
        effort->torque[j] = 0;
    }
}

/* With force f at the base's origin and moment m about it, the moment about p is m + (base - p) x f; the zero-moment
 * point is the p on the plane for which its x and y vanish (Vukobratovic). */
bool nm_zmp(const struct nm_motion *motion, const struct nm_effort *e, double ground, struct vec3 *zmp)
{
    struct vec3 at = motion->base_to_world.pos;
    if (!(e->force.z > 0)) return false;
    double down = at.z - ground;
    zmp->x = at.x - (e->moment.y + down * e->force.x) / e->force.z;
    zmp->y = at.y + (e->moment.x - down * e->force.y) / e->force.z;
    zmp->z = ground;
    return true;
}

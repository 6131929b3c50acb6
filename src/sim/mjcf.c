#include "sim/mjcf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "body/kinematics.h"
#include "sim/mjcf_field.h"

static double distance_to_axis(struct vec3 point, struct vec3 at, struct vec3 axis)
{
    return vec3_norm(vec3_cross(vec3_sub(point, at), axis));
}

/* How far the whole body's centre of mass goes wrong when a link does not follow a joint: turned by half the joint's
 * range, a mass at distance r moves by 2 r sin(range / 4). */
static double error_of(const struct nm_body *body, const struct nm_kin *zero, uint32_t link, uint32_t joint)
{
    const struct nm_joint *j = &body->joints[joint];
    struct pose3 child = zero->pose[joint + 1];
    double share = body->inertia[link].mass / fmax(body->mass, 1e-9);
    if (j->type == NM_PRISMATIC) return share * fmin(fabs(j->upper - j->lower), 1);
    double range = fmin(j->upper - j->lower, 2 * M_PI);
    struct vec3 com = pose_apply(zero->pose[link], body->inertia[link].com);
    double r = distance_to_axis(com, child.pos, quat_apply(child.rot, j->axis));
    return 2 * share * r * sin(range / 4);
}

/* The longest edge of a link's collision shapes. */
static double length_of(const struct nm_body *body, uint32_t link)
{
    double most = 0;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (s->link != link) continue;
        most = fmax(most, fmax(s->size.x, fmax(s->size.y, s->size.z)));
    }
    return most;
}

/* True if the axis above a link and the one below it pass each other within a hand's breadth, as in hips, ankles, necks
 * and shoulders, and the link is short: a joint's bracket and no limb. */
static bool is_bracket(const struct nm_body *body, const struct nm_kin *zero, uint32_t link, uint32_t child)
{
    const struct pose3 one = zero->pose[link], two = zero->pose[child];
    struct vec3 a = quat_apply(one.rot, body->joints[link - 1].axis),
                b = quat_apply(two.rot, body->joints[child - 1].axis);
    struct vec3 apart = vec3_sub(two.pos, one.pos), across = vec3_cross(a, b);
    double sine = vec3_norm(across);
    double gap = sine > 1e-3 ? fabs(vec3_dot(apart, across)) / sine : vec3_norm(vec3_cross(apart, a));
    return gap < NM_FOLD_GAP && length_of(body, link) < NM_FOLD_LENGTH;
}

/* Links from `top`'s child down to, not including, `bottom` want to fold; those that may not become bodies. */
static void fold_chain(const struct nm_body *body, const struct nm_kin *zero, struct nm_fold *fold, uint32_t top,
                       const uint32_t *chain, uint32_t n, uint32_t bottom)
{
    uint32_t worst = 0;
    double worst_error = 0;
    for (uint32_t i = 0; i < n; i++) {
        double up = 0, down = 0;
        for (uint32_t k = 0; k <= i; k++) up += error_of(body, zero, chain[i], chain[k] - 1);
        for (uint32_t k = i + 1; k < n; k++) down += error_of(body, zero, chain[i], chain[k] - 1);
        down += error_of(body, zero, chain[i], bottom - 1);
        fold->home[chain[i]] = up < down ? top : bottom;
        if (fmin(up, down) > worst_error) {
            worst_error = fmin(up, down);
            worst = i;
        }
    }
    if (worst_error > NM_FOLD_LIMIT) {
        fold->is_body[chain[worst]] = true;
        fold->home[chain[worst]] = chain[worst];
        fold_chain(body, zero, fold, top, chain, worst, chain[worst]);
        fold_chain(body, zero, fold, chain[worst], chain + worst + 1, n - worst - 1, bottom);
    }
}

void nm_fold(const struct nm_body *body, struct nm_fold *fold)
{
    uint32_t children[NM_LINKS] = {0}, child[NM_LINKS] = {0};
    double q[NM_JOINTS] = {0};
    struct nm_kin zero;
    nm_forward(body, POSE_IDENTITY, q, &zero);
    memset(fold, 0, sizeof *fold);
    for (uint32_t j = 0; j < body->n_joints; j++) {
        children[body->joints[j].parent]++;
        child[body->joints[j].parent] = j + 1;
    }
    for (uint32_t l = 0; l < body->n_links; l++) {
        fold->is_body[l] = l == 0 || children[l] != 1 || !is_bracket(body, &zero, l, child[l]);
        fold->home[l] = l;
    }
    for (uint32_t l = 1; l < body->n_links; l++) {
        uint32_t above = body->joints[l - 1].parent, chain[NM_LINKS], n = 0, at = l;
        if (fold->is_body[l] || !fold->is_body[above]) continue; /* not the first of a chain */
        for (; !fold->is_body[at]; at = child[at]) chain[n++] = at;
        fold_chain(body, &zero, fold, above, chain, n, at);
    }
    for (uint32_t l = 1; l < body->n_links; l++) {
        uint32_t above = body->joints[l - 1].parent;
        while (!fold->is_body[above]) above = body->joints[above - 1].parent;
        fold->parent[l] = above;
    }
}

/* ---- a robot ---- */

struct writer {
    FILE *out;
    const struct nm_body *body;
    const struct nm_mjcf_options *options;
    struct nm_fold fold;
    struct nm_kin zero;
    const bool *rigid; /* NULL: no joint */
    uint32_t robot;
    uint32_t contype, conaffinity;
};

static void write_pose(FILE *out, struct pose3 p)
{
    fprintf(out, " pos=\"%.9g %.9g %.9g\" quat=\"%.9g %.9g %.9g %.9g\"", p.pos.x, p.pos.y, p.pos.z, p.rot.w, p.rot.x,
            p.rot.y, p.rot.z);
}

static struct pose3 between(const struct writer *w, uint32_t from, uint32_t to)
{
    return pose_mul(pose_inv(w->zero.pose[to]), w->zero.pose[from]);
}

/* Sum of the masses that live in a body, about their common centre, in the body's axes. */
static void write_inertia(const struct writer *w, uint32_t link)
{
    double mass = 0, i[3][3] = {{0}};
    struct vec3 com = {0, 0, 0};
    for (uint32_t l = 0; l < w->body->n_links; l++) {
        if (w->fold.home[l] != link) continue;
        const struct nm_inertia *part = &w->body->inertia[l];
        mass += part->mass;
        com = vec3_add(com, vec3_scale(pose_apply(between(w, l, link), part->com), part->mass));
    }
    if (!(mass > 0)) {
        fprintf(w->out, "<inertial pos=\"0 0 0\" mass=\"1e-4\" diaginertia=\"1e-7 1e-7 1e-7\"/>\n");
        return;
    }
    com = vec3_scale(com, 1 / mass);
    for (uint32_t l = 0; l < w->body->n_links; l++) {
        if (w->fold.home[l] != link) continue;
        const struct nm_inertia *part = &w->body->inertia[l];
        struct pose3 to = between(w, l, link);
        struct mat3 r = quat_to_mat3(to.rot), own = {{{part->xx, part->xy, part->xz},
                                                      {part->xy, part->yy, part->yz},
                                                      {part->xz, part->yz, part->zz}}};
        struct mat3 turned = mat3_mul(mat3_mul(r, own), mat3_transpose(r));
        struct vec3 d = vec3_sub(pose_apply(to, part->com), com);
        double v[3] = {d.x, d.y, d.z}, square = vec3_dot(d, d);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) i[a][b] += turned.m[a][b] + part->mass * ((a == b ? square : 0) - v[a] * v[b]);
    }
    fprintf(w->out, "<inertial pos=\"%.9g %.9g %.9g\" mass=\"%.9g\" fullinertia=\"%.9g %.9g %.9g %.9g %.9g %.9g\"/>\n",
            com.x, com.y, com.z, mass, i[0][0], i[1][1], i[2][2], i[0][1], i[0][2], i[1][2]);
}

static bool leg_joint(const struct nm_body *body, uint32_t joint)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->leg[side].n; i++)
            if (body->leg[side].joints[i] == joint) return true;
    return false;
}

/* rad from the middle of a joint's play to either end; 0: none. */
static double half_play(const struct writer *w, uint32_t joint)
{
    const struct nm_joint *j = &w->body->joints[joint];
    if (!w->options->backlash || j->servo < 0 || j->type == NM_PRISMATIC || !leg_joint(w->body, joint)) return 0;
    double folder = w->body->servo_types[w->body->servos[j->servo].type].backlash;
    return (w->options->play > 0 ? w->options->play : folder) / 2;
}

/* What the free hinge has of its own is as little as steps of 4 ms bear: the output shaft, its grease, and stops that
 * are as hard as two steps allow. */
static void write_play(const struct writer *w, uint32_t joint, struct vec3 pos, struct vec3 axis, double half)
{
    static const double ARMATURE = 3e-5, DAMPING = 0.003; /* kg m2, Nm s/rad */
    fprintf(w->out,
            "<joint name=\"r%u_p%u\" type=\"hinge\" pos=\"%.9g %.9g %.9g\" axis=\"%.9g %.9g %.9g\" armature=\"%.9g\" "
            "damping=\"%.9g\" limited=\"true\" range=\"-%.9g %.9g\" solreflimit=\"%.9g 1\" "
            "solimplimit=\"0.99 0.999 0.001\"/>\n",
            w->robot, joint, pos.x, pos.y, pos.z, axis.x, axis.y, axis.z, ARMATURE, DAMPING, half, half,
            2 * w->options->step);
}

static bool is_rigid(const struct writer *w, uint32_t joint) { return w->rigid && w->rigid[joint]; }

static void write_joint(const struct writer *w, uint32_t joint, uint32_t link)
{
    if (is_rigid(w, joint)) return;
    const struct nm_joint *j = &w->body->joints[joint];
    struct pose3 to = between(w, joint + 1, link);
    struct vec3 axis = quat_apply(to.rot, j->axis);
    bool limited = isfinite(j->lower) && isfinite(j->upper) && j->type != NM_CONTINUOUS;
    fprintf(w->out,
            "<joint name=\"r%u_j%u\" type=\"%s\" pos=\"%.9g %.9g %.9g\" axis=\"%.9g %.9g %.9g\" armature=\"%.9g\"",
            w->robot, joint, j->type == NM_PRISMATIC ? "slide" : "hinge", to.pos.x, to.pos.y, to.pos.z, axis.x, axis.y,
            axis.z, fmax(j->armature, 1e-5));
    if (limited) fprintf(w->out, " limited=\"true\" range=\"%.9g %.9g\"", j->lower, fmax(j->upper, j->lower + 1e-6));
    fprintf(w->out, " damping=\"%.9g\" frictionloss=\"%.9g\"/>\n", j->damping, j->friction);
    double half = half_play(w, joint);
    if (half > 0) write_play(w, joint, to.pos, axis, half);
}

static int foot_of(const struct nm_body *body, uint32_t link)
{
    for (int side = 0; side < 2; side++)
        if (body->leg[side].n && body->frames[body->foot[side].sole].link == link) return side;
    return -1;
}

/* A foot stands on studs: boxes small in every direction are given round ends, one contact each instead of four. */
static bool is_stud(const struct nm_link_shape *s)
{
    return s->kind == NM_BOX && fmax(s->size.x, fmax(s->size.y, s->size.z)) < 0.03;
}

static void write_shape(const struct writer *w, const struct nm_link_shape *s, uint32_t link, const char *more)
{
    struct pose3 p = pose_mul(between(w, s->link, link), s->to_link);
    int side = foot_of(w->body, s->link);
    fprintf(w->out, "<geom %s", more);
    if (side >= 0 && is_stud(s)) {
        double r = fmin(s->size.x, fmin(s->size.y, s->size.z)) / 2;
        p.pos = pose_apply(p, (struct vec3){0, 0, r - s->size.z / 2});
        fprintf(w->out, " type=\"sphere\" size=\"%.9g\"", r);
    } else if (s->kind == NM_BOX) {
        fprintf(w->out, " type=\"box\" size=\"%.9g %.9g %.9g\"", s->size.x / 2, s->size.y / 2, s->size.z / 2);
    } else if (s->kind == NM_SPHERE) {
        fprintf(w->out, " type=\"sphere\" size=\"%.9g\"", s->size.x);
    } else if (s->round) {
        fprintf(w->out, " type=\"capsule\" size=\"%.9g %.9g\"", s->size.x, fmax(s->size.z / 2 - s->size.x, 1e-4));
    } else {
        fprintf(w->out, " type=\"cylinder\" size=\"%.9g %.9g\"", s->size.x, s->size.z / 2);
    }
    write_pose(w->out, p);
    fprintf(w->out, "/>\n");
}

static double volume(const struct nm_link_shape *s) { return s->size.x * s->size.y * s->size.z; }

/* The largest box of a foot, which stands for it against the other foot. */
static int32_t sole_shape(const struct nm_body *body, int side)
{
    int32_t best = -1;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (s->kind != NM_BOX || foot_of(body, s->link) != side) continue;
        if (best < 0 || volume(s) > volume(&body->collisions[best])) best = (int32_t)i;
    }
    return best;
}

static void write_shapes(const struct writer *w, uint32_t link)
{
    char more[160];
    for (uint32_t i = 0; i < w->body->n_collisions; i++) {
        const struct nm_link_shape *s = &w->body->collisions[i];
        if (w->fold.home[s->link] != link) continue;
        int side = foot_of(w->body, s->link), used = 0;
        if (side >= 0 && sole_shape(w->body, side) == (int32_t)i)
            used = snprintf(more, sizeof more, "name=\"r%u_f%d\" ", w->robot, side);
        snprintf(more + used, sizeof more - (size_t)used, "contype=\"%u\" conaffinity=\"%u\" group=\"3\"", w->contype,
                 w->conaffinity | (s->link == 0 ? MJCF_PENDULUM : 0));
        write_shape(w, s, link, more);
    }
    for (uint32_t i = 0; i < w->body->n_visuals && w->options->visuals; i++) {
        const struct nm_link_shape *s = &w->body->visuals[i];
        if (w->fold.home[s->link] != link || s->kind == NM_MESH) continue;
        snprintf(more, sizeof more, "contype=\"0\" conaffinity=\"0\" group=\"1\" rgba=\"%.3g %.3g %.3g 1\"",
                 (double)s->rgba[0], (double)s->rgba[1], (double)s->rgba[2]);
        write_shape(w, s, link, more);
    }
}

static void write_body(const struct writer *w, uint32_t link)
{
    struct pose3 at = link ? between(w, link, w->fold.parent[link]) : POSE_IDENTITY;
    fprintf(w->out, "<body name=\"r%u_l%u\"", w->robot, link);
    write_pose(w->out, at);
    fprintf(w->out, ">\n");
    if (link == 0)
        fprintf(w->out, "<freejoint name=\"r%u_root\"/>\n", w->robot);
    else { /* the hinges of folded links come first, the outermost first of all */
        uint32_t chain[NM_LINKS], n = 0;
        chain[n++] = link;
        for (uint32_t up = w->body->joints[link - 1].parent; !w->fold.is_body[up]; up = w->body->joints[up - 1].parent)
            chain[n++] = up;
        while (n--) write_joint(w, chain[n] - 1, link);
    }
    write_inertia(w, link);
    write_shapes(w, link);
    for (uint32_t l = 1; l < w->body->n_links; l++)
        if (w->fold.is_body[l] && w->fold.parent[l] == link) write_body(w, l);
    fprintf(w->out, "</body>\n");
}

static void write_contacts(const struct writer *w)
{
    const struct nm_body *b = w->body;
    uint32_t robot = w->robot;
    if (w->options->self == NM_SELF_FEET && sole_shape(b, 0) >= 0 && sole_shape(b, 1) >= 0)
        fprintf(w->out, "<pair geom1=\"r%u_f0\" geom2=\"r%u_f1\" condim=\"3\"/>\n", robot, robot);
    if (w->options->self != NM_SELF_ALL) return;
    for (uint32_t i = 0; i < b->n_excludes; i++) {
        uint32_t one = w->fold.home[b->excludes[i][0]], two = w->fold.home[b->excludes[i][1]];
        if (one != two) fprintf(w->out, "<exclude body1=\"r%u_l%u\" body2=\"r%u_l%u\"/>\n", robot, one, robot, two);
    }
    for (uint32_t i = 0; i < w->options->n_excludes; i++) {
        const struct nm_mjcf_exclude *e = &w->options->excludes[i];
        if (e->robot == robot)
            fprintf(w->out, "<exclude body1=\"r%u_l%u\" body2=\"r%u_l%u\"/>\n", robot, e->link[0], robot, e->link[1]);
    }
}

/* Rods and belts, as hard as two steps allow. */
static void write_couplings(const struct writer *w)
{
    for (uint32_t j = 0; j < w->body->n_joints; j++)
        if (w->body->joints[j].mimic >= 0 && !is_rigid(w, j) && !is_rigid(w, (uint32_t)w->body->joints[j].mimic))
            fprintf(w->out,
                    "<joint joint1=\"r%u_j%u\" joint2=\"r%u_j%d\" polycoef=\"%.9g %.9g 0 0 0\" solref=\"%.9g 1\" "
                    "solimp=\"0.99 0.999 0.001\"/>\n",
                    w->robot, j, w->robot, w->body->joints[j].mimic, w->body->joints[j].offset,
                    w->body->joints[j].multiplier, 2 * w->options->step);
}

char *nm_mjcf(const struct nm_pitch *pitch, const struct nm_body *const *robots, uint32_t n,
              const struct nm_mjcf_options *options, struct nm_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = nm_memstream(&text, &size);
    struct writer *writers = nm_calloc(n + 1, sizeof *writers);
    mjcf_head(out, n, options);
    fprintf(out, "<worldbody>\n");
    mjcf_field(out, pitch, options);
    for (uint32_t i = 0; i < n; i++) {
        struct writer *w = &writers[i];
        *w = (struct writer){.out = out, .body = robots[i], .options = options, .robot = i};
        w->contype = MJCF_ROBOT(i);
        w->conaffinity = (MJCF_ROBOTS & ~w->contype) | MJCF_STILL | MJCF_BALL;
        if (options->self == NM_SELF_ALL) w->conaffinity |= w->contype;
        double q[NM_JOINTS] = {0}; /* where moving joints are at zero */
        w->rigid = options->rigid ? options->rigid[i] : NULL;
        for (uint32_t j = 0; j < robots[i]->n_joints; j++)
            if (is_rigid(w, j)) q[j] = options->joints[i][j];
        nm_fold(robots[i], &w->fold);
        nm_forward(robots[i], POSE_IDENTITY, q, &w->zero);
        write_body(w, 0);
    }
    fprintf(out, "</worldbody>\n<contact>\n");
    for (uint32_t i = 0; i < n; i++) write_contacts(&writers[i]);
    fprintf(out, "</contact>\n<equality>\n");
    for (uint32_t i = 0; i < n; i++) write_couplings(&writers[i]);
    fprintf(out, "</equality>\n</mujoco>\n");
    free(writers);
    if (fclose(out) != 0) {
        free(text);
        nm_fail(err, "no memory for the text of a world with %u robots", n);
        return NULL;
    }
    return text;
}

double nm_standing_height(const struct nm_body *body, struct quat base_rot, const double q[])
{
    struct nm_kin kin;
    double lowest = INFINITY;
    nm_forward(body, (struct pose3){base_rot, {0, 0, 0}}, q, &kin);
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        struct pose3 p = pose_mul(kin.pose[s->link], s->to_link);
        lowest = fmin(lowest, p.pos.z - nm_shape_reach(s, p.rot, (struct vec3){0, 0, 1}));
    }
    for (int side = 0; side < 2; side++) /* a body of meshes stands on its soles */
        if (body->leg[side].n && !isfinite(lowest)) lowest = kin.pose[body->foot[side].sole].pos.z;
    return isfinite(lowest) ? -lowest : body->height / 2;
}

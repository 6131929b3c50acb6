/* What an animation must not ask of its robot: angles beyond the limits, turns faster than the servos, and parts of the
 * body in the same place. Parts are the URDF's collision shapes as oriented boxes, tested by separating axes
 * (Gottschalk, Lin and Manocha, 1996). And the way back: an animation as the text of a file. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "body/animation.h"
#include "body/kinematics.h"
#include "codec/text.h"

#define DEGREE (M_PI / 180)
#define SLACK  (0.5 * DEGREE) /* key frames are whole degrees: half of one beyond a limit is rounding */
#define TOUCH  0.004          /* m; boxes are fuller than the parts they stand for                     */
#define GRID   0.04           /* s between poses that are looked at                                    */

/* ---- self-collision ---- */

struct box {
    struct vec3 center, axis[3];
    double half[3], radius;
    uint32_t link;
};

static struct box box_of(const struct nm_link_shape *shape, const struct nm_kin *kin, double shrink)
{
    struct pose3 pose = pose_mul(kin->pose[shape->link], shape->to_link);
    struct vec3 s = shape->size, edges = s;
    if (shape->kind == NM_SPHERE) edges = (struct vec3){2 * s.x, 2 * s.x, 2 * s.x};
    if (shape->kind == NM_CYLINDER) edges = (struct vec3){2 * s.x, 2 * s.x, s.z};
    struct box b = {.center = pose.pos, .link = shape->link};
    b.axis[0] = quat_apply(pose.rot, (struct vec3){1, 0, 0});
    b.axis[1] = quat_apply(pose.rot, (struct vec3){0, 1, 0});
    b.axis[2] = quat_apply(pose.rot, (struct vec3){0, 0, 1});
    b.half[0] = fmax(edges.x / 2 - shrink, 0), b.half[1] = fmax(edges.y / 2 - shrink, 0);
    b.half[2] = fmax(edges.z / 2 - shrink, 0);
    b.radius = sqrt(b.half[0] * b.half[0] + b.half[1] * b.half[1] + b.half[2] * b.half[2]);
    return b;
}

static bool apart_along(const struct box *a, const struct box *b, struct vec3 way, struct vec3 axis)
{
    double reach = 0, length = vec3_norm(axis);
    if (length < 1e-9) return false; /* parallel edges: the faces' axes decide */
    for (int i = 0; i < 3; i++)
        reach += a->half[i] * fabs(vec3_dot(a->axis[i], axis)) + b->half[i] * fabs(vec3_dot(b->axis[i], axis));
    return fabs(vec3_dot(way, axis)) > reach;
}

static bool meet(const struct box *a, const struct box *b)
{
    struct vec3 way = vec3_sub(b->center, a->center);
    if (vec3_norm(way) > a->radius + b->radius) return false;
    for (int i = 0; i < 3; i++)
        if (apart_along(a, b, way, a->axis[i]) || apart_along(a, b, way, b->axis[i])) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (apart_along(a, b, way, vec3_cross(a->axis[i], b->axis[j]))) return false;
    return true;
}

static bool may_touch(const struct nm_body *body, uint32_t a, uint32_t b)
{
    if (a == b || (b > 0 && body->joints[b - 1].parent == a) || (a > 0 && body->joints[a - 1].parent == b)) return true;
    for (uint32_t i = 0; i < body->n_excludes; i++) {
        const uint32_t *pair = body->excludes[i];
        if ((pair[0] == a && pair[1] == b) || (pair[0] == b && pair[1] == a)) return true;
    }
    return false;
}

bool nm_self_collision(const struct nm_body *body, const double q[], double depth, uint32_t links[2])
{
    enum { BOXES = 256 };
    struct nm_kin kin;
    struct box boxes[BOXES];
    uint32_t n = 0;
    nm_forward(body, POSE_IDENTITY, q, &kin);
    for (uint32_t i = 0; i < body->n_collisions && n < BOXES; i++)
        boxes[n++] = box_of(&body->collisions[i], &kin, depth / 2);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++) {
            if (may_touch(body, boxes[i].link, boxes[k].link) || !meet(&boxes[i], &boxes[k])) continue;
            links[0] = boxes[i].link, links[1] = boxes[k].link;
            return true;
        }
    return false;
}

/* ---- the three checks ---- */

static uint32_t check_limits(const struct nm_body *body, const struct nm_animation *a, struct nm_err *err)
{
    uint32_t faults = 0;
    for (uint32_t i = 0; i < a->n_frames; i++)
        for (uint32_t j = 0; j < body->n_joints; j++) {
            const struct nm_joint *joint = &body->joints[j];
            double goal = a->frames[i].goal[j];
            if (!(a->frames[i].joints >> j & 1)) continue;
            if (goal >= joint->lower - SLACK && goal <= joint->upper + SLACK) continue;
            nm_fail(err, "%s:%u: %s: %.0f degrees is not between %.0f and %.0f", a->file, a->frames[i].line,
                    joint->name, goal / DEGREE, joint->lower / DEGREE, joint->upper / DEGREE);
            faults++;
        }
    return faults;
}

/* The first frame that names a joint at t or later. */
static const struct nm_animation_frame *frame_towards(const struct nm_animation *a, uint32_t joint, double t)
{
    for (uint32_t i = 0; i < a->n_frames; i++)
        if ((a->frames[i].joints >> joint & 1) && a->frames[i].at >= t) return &a->frames[i];
    return NULL;
}

/* Where each joint is in the first frame that names it: from there on all is known. */
static void first_goals(const struct nm_animation *a, double from[])
{
    for (uint32_t j = 0; j < NM_JOINTS; j++) {
        const struct nm_animation_frame *first = a->joints >> j & 1 ? frame_towards(a, j, 0) : NULL;
        from[j] = first ? first->goal[j] : 0;
    }
}

static uint32_t check_speeds(const struct nm_body *body, const struct nm_animation *a, struct nm_err *err)
{
    double from[NM_JOINTS];
    uint32_t faults = 0;
    struct nm_animation_pose pose = {0};
    double worst[NM_ANIMATION_FRAMES] = {0}; /* of each frame, as a share of what the servo can do */
    uint32_t slow[NM_ANIMATION_FRAMES] = {0};
    first_goals(a, from);
    for (double t = 0; t < a->duration; t += 0.002) {
        nm_animation_sample(a, from, t, &pose);
        for (uint32_t j = 0; j < body->n_joints; j++) {
            const struct nm_animation_frame *f = a->joints >> j & 1 ? frame_towards(a, j, t) : NULL;
            double share = f ? fabs(pose.qd[j]) / body->joints[j].velocity : 0;
            if (share <= 1 || f->strike || share <= worst[f - a->frames]) continue;
            worst[f - a->frames] = share;
            slow[f - a->frames] = j;
        }
    }
    for (uint32_t i = 0; i < a->n_frames; i++) {
        if (worst[i] == 0) continue;
        double least = (a->frames[i].at - (i ? a->frames[i - 1].until : 0)) * worst[i];
        nm_fail(err, "%s:%u: %s would turn with %.1f rad/s, its servo has %.1f: give it %.2f s, or say `strike: true`",
                a->file, a->frames[i].line, body->joints[slow[i]].name, worst[i] * body->joints[slow[i]].velocity,
                body->joints[slow[i]].velocity, least);
        faults++;
    }
    return faults;
}

/* One sentence a pair of links. */
static uint32_t check_collisions(const struct nm_body *body, const struct nm_animation *a, struct nm_err *err)
{
    double from[NM_JOINTS];
    uint32_t links[2], last[2] = {0, 0}, faults = 0;
    struct nm_animation_pose pose = {0};
    first_goals(a, from);
    for (double t = 0; t <= a->duration + GRID; t += GRID) {
        nm_animation_sample(a, from, t, &pose);
        nm_apply_mimics(body, pose.q);
        if (!nm_self_collision(body, pose.q, TOUCH, links)) continue;
        if (links[0] == last[0] && links[1] == last[1]) continue;
        last[0] = links[0], last[1] = links[1];
        nm_fail(err, "%s: %s and %s meet %.2f s after the begin", a->file, body->frames[links[0]].name,
                body->frames[links[1]].name, t);
        faults++;
    }
    return faults;
}

uint32_t nm_animation_check(const struct nm_body *body, const struct nm_animation *animation, struct nm_err *err)
{
    return check_limits(body, animation, err) + check_speeds(body, animation, err) +
           check_collisions(body, animation, err);
}

/* ---- back to text ---- */

/* Two sides that mirror each other are one word: both_knee. */
static bool are_both(const struct nm_body *body, const struct nm_animation_frame *f, const uint32_t twin[],
                     const double sign[], uint32_t j)
{
    return twin[j] != j && (f->joints >> twin[j] & 1) && fabs(f->goal[twin[j]] - sign[j] * f->goal[j]) < 1e-6 &&
           !strncmp(body->joints[j].name, "left_", 5) && nm_find_joint(body, body->joints[j].name) == (int32_t)j;
}

static void put_goals(FILE *to, const struct nm_body *body, const struct nm_animation_frame *f, const uint32_t twin[],
                      const double sign[])
{
    uint64_t done = 0;
    int column = fprintf(to, "    goals: {");
    for (uint32_t j = 0; j < body->n_joints; j++) {
        if (!((f->joints & ~done) >> j & 1)) continue;
        uint32_t left = are_both(body, f, twin, sign, twin[j]) ? twin[j] : j; /* the right one may come first */
        bool both = are_both(body, f, twin, sign, left);
        double degrees = round(f->goal[left] / DEGREE * 10) / 10;
        if (done) column += fprintf(to, column > 80 ? ",\n            " : ", ");
        if (done && column > 80) column = 12;
        column += fprintf(to, "%s%s: %g", both ? "both_" : "", body->joints[left].name + (both ? 5 : 0),
                          degrees == 0 ? 0 : degrees);
        done |= 1ull << j | (both ? 1ull << twin[j] : 0);
    }
    fputs("}\n", to);
}

const char *nm_animation_text(struct nm_arena *arena, const struct nm_body *body, const struct nm_animation *animation)
{
    char *text;
    size_t size;
    FILE *to = nm_memstream(&text, &size);
    double left = 0, sign[NM_JOINTS];
    uint32_t twin[NM_JOINTS];
    nm_mirror_joints(body, twin, sign);
    if (animation->about[0]) {
        fputs("about: ", to);
        nm_fputs_quoted(animation->about, to);
        fputc('\n', to);
    }
    fprintf(to, "curve: %s\n", animation->cubic ? "cubic" : "linear");
    if (animation->priority) fprintf(to, "priority: %u\n", animation->priority);
    if (animation->balance[0] != 0 || animation->balance[1] != 0)
        fprintf(to, "balance: {roll: %g, pitch: %g}\n", animation->balance[0], animation->balance[1]);
    fputs("frames:\n", to);
    for (uint32_t i = 0; i < animation->n_frames; i++) {
        const struct nm_animation_frame *f = &animation->frames[i];
        fprintf(to, "  - duration: %.0f ms\n", (f->at - left) * 1e3);
        if (f->until > f->at) fprintf(to, "    pause: %.0f ms\n", (f->until - f->at) * 1e3);
        if (f->stiffness < 1) fprintf(to, "    stiffness: %g\n", f->stiffness);
        if (f->strike) fputs("    strike: true\n", to);
        put_goals(to, body, f, twin, sign);
        left = f->until;
    }
    fclose(to);
    const char *whole = nm_take_text(arena, text);
    free(text);
    return whole;
}

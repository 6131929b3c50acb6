/* Finds a body's limbs, feet and sensors where no file names them: by geometry first (chains of joints from the base,
 * paired left and right at zero pose; the lowest pair are the legs), by name second. */
#include <stdlib.h>
#include <string.h>

#include "body/build.h"
#include "body/kinematics.h"

struct limb {
    uint32_t n, joints[NM_GROUP], tip; /* tip: link */
    struct vec3 start, end;            /* at zero pose, in the base */
    bool used;
};

struct search {
    struct body_build *b;
    struct nm_kin zero;
    struct limb limbs[NM_LINKS];
    uint32_t n_limbs;
};

static bool named(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(name, *words)) return true;
    return false;
}

static bool carries(const struct nm_body *body, uint32_t ancestor, uint32_t link)
{
    while (link > ancestor) link = body->joints[link - 1].parent;
    return link == ancestor;
}

/* The end of the limb a leaf belongs to: fingers that only follow another joint are no joints of a limb. */
static uint32_t tip_of(const struct nm_body *body, uint32_t leaf)
{
    while (leaf && body->joints[leaf - 1].mimic >= 0) leaf = body->joints[leaf - 1].parent;
    return leaf;
}

static bool is_tip(const struct nm_body *body, uint32_t link)
{
    bool leads = false;
    for (uint32_t i = 1; i < body->n_links; i++) {
        uint32_t tip = tip_of(body, i);
        if (tip > link && carries(body, link, tip)) return false;
        leads |= tip == link;
    }
    return leads;
}

static void find_limbs(struct search *s)
{
    const struct nm_body *body = s->b->body;
    for (uint32_t tip = 1; tip < body->n_links; tip++) {
        if (!is_tip(body, tip)) continue;
        struct limb *limb = &s->limbs[s->n_limbs];
        uint32_t n = 0;
        for (uint32_t i = tip; i; i = body->joints[i - 1].parent) n++;
        if (n > NM_GROUP) continue;
        *limb = (struct limb){.n = n, .tip = tip, .end = s->zero.pose[tip].pos};
        for (uint32_t i = tip; i; i = body->joints[i - 1].parent) {
            limb->joints[--n] = i - 1;
            limb->start = s->zero.pose[i].pos;
        }
        s->n_limbs++;
    }
}

static bool mirrored(const struct limb *l, const struct limb *r)
{
    if (l->used || r->used || l->n != r->n) return false;
    double near = 0.03 + 0.1 * fabs(l->end.y);
    return l->end.y > 0 && r->end.y < 0 && fabs(l->end.y + r->end.y) < near && fabs(l->end.z - r->end.z) < near;
}

static void take(struct limb *limb, struct nm_group *group)
{
    limb->used = true;
    if (group->n) return; /* a file named it */
    group->n = limb->n;
    memcpy(group->joints, limb->joints, sizeof limb->joints);
    group->end = limb->tip;
}

/* Takes the mirrored pair whose value is least. */
static void take_pair(struct search *s, struct nm_group group[2], uint32_t joints, double (*value)(const struct limb *))
{
    struct limb *left = NULL, *right = NULL;
    for (uint32_t i = 0; i < s->n_limbs; i++)
        for (uint32_t k = 0; k < s->n_limbs; k++) {
            struct limb *l = &s->limbs[i], *r = &s->limbs[k];
            if (l->n < joints || !mirrored(l, r) || !(value(l) < INFINITY)) continue;
            if (!left || value(l) < value(left)) left = l, right = r;
        }
    if (!left) return;
    take(left, &group[NM_LEFT]);
    take(right, &group[NM_RIGHT]);
}

/* legs end lowest, and well below where they begin; arms begin highest */
static double leg_value(const struct limb *l) { return l->end.z < l->start.z - 0.05 ? l->end.z : INFINITY; }
static double arm_value(const struct limb *l) { return -l->start.z; }

static bool has_camera(const struct nm_body *body, uint32_t link)
{
    for (uint32_t i = 0; i < body->n_frames; i++)
        if (body->frames[i].link == link && strcasestr(body->frames[i].name, "camera")) return true;
    return false;
}

static void take_head(struct search *s)
{
    const struct nm_body *body = s->b->body;
    struct limb *best = NULL;
    double best_value = -INFINITY;
    for (uint32_t i = 0; i < s->n_limbs; i++) {
        struct limb *l = &s->limbs[i];
        double value = l->end.z + (has_camera(body, l->tip) ? 1000 : 0);
        if (l->used || l->n > 4 || fabs(l->end.y) > 0.05 || l->end.z < 0 || value <= best_value) continue;
        best = l;
        best_value = value;
    }
    if (best) take(best, &s->b->body->head);
}

/* How far a shape reaches along a direction from its own origin; a mesh is not read and so has no size. */
static double reach(const struct nm_link_shape *shape, struct quat rot, struct vec3 direction)
{
    struct vec3 d = quat_apply(quat_inv(rot), direction), size = shape->size;
    switch (shape->kind) {
    case NM_BOX: return (fabs(d.x) * size.x + fabs(d.y) * size.y + fabs(d.z) * size.z) / 2;
    case NM_SPHERE: return size.x;
    case NM_CYLINDER: return size.x * hypot(d.x, d.y) + size.z / 2 * fabs(d.z);
    case NM_MESH: break;
    }
    return 0;
}

struct extent {
    struct vec3 low, high;
    bool any;
};

static void stretch(struct extent *e, struct vec3 at, struct vec3 r)
{
    e->low = (struct vec3){fmin(e->low.x, at.x - r.x), fmin(e->low.y, at.y - r.y), fmin(e->low.z, at.z - r.z)};
    e->high = (struct vec3){fmax(e->high.x, at.x + r.x), fmax(e->high.y, at.y + r.y), fmax(e->high.z, at.z + r.z)};
    e->any = true;
}

/* The box around the shapes of one link (all links if negative), at zero pose. */
static struct extent extent_of(const struct search *s, int32_t link)
{
    static const struct vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    const struct nm_body *body = s->b->body;
    struct extent e = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, false};
    uint32_t n = body->n_collisions ? body->n_collisions : body->n_visuals;
    const struct nm_link_shape *shapes = body->n_collisions ? body->collisions : body->visuals;
    for (uint32_t i = 0; i < n; i++) {
        if ((link >= 0 && shapes[i].link != (uint32_t)link) || shapes[i].kind == NM_MESH) continue;
        struct pose3 p = pose_mul(s->zero.pose[shapes[i].link], shapes[i].to_link);
        struct vec3 r = {reach(&shapes[i], p.rot, x), reach(&shapes[i], p.rot, y), reach(&shapes[i], p.rot, z)};
        stretch(&e, p.pos, r);
    }
    return e;
}

/* A frame on the link whose name has one of the words, -1 if none; frames fixed to the link come before the link. */
static int32_t frame_named(const struct nm_body *body, uint32_t link, const char *const *words)
{
    for (uint32_t i = body->n_frames; i-- > 0;)
        if (body->frames[i].link == link && named(body->frames[i].name, words)) return (int32_t)i;
    return -1;
}

static uint32_t make_sole(struct search *s, enum nm_side side, uint32_t link)
{
    struct nm_body *body = s->b->body;
    struct extent e = extent_of(s, (int32_t)link);
    struct pose3 sole = {QUAT_IDENTITY, s->zero.pose[link].pos};
    if (e.any) sole.pos = (struct vec3){(e.low.x + e.high.x) / 2, (e.low.y + e.high.y) / 2, e.low.z};
    int32_t frame =
        build_frame(s->b, side == NM_LEFT ? "l_sole" : "r_sole", link, pose_mul(pose_inv(s->zero.pose[link]), sole));
    if (frame < 0) return link;
    nm_fail(body->notes, "no frame is called sole on %s: %s was put %s", body->frames[link].name,
            body->frames[frame].name, e.any ? "under its shapes" : "at its origin");
    return (uint32_t)frame;
}

/* Corner of the foot a cell belongs to, from its place among the others: front left, front right, back left, right. */
static void sort_cells(struct nm_body *body, struct nm_foot *foot)
{
    struct vec3 at[NM_CELLS], mean = {0};
    uint32_t sorted[NM_CELLS], taken = 0;
    struct pose3 to_sole = pose_inv(body->frames[foot->sole].to_link);
    if (foot->n_cells != NM_CELLS) return;
    for (uint32_t i = 0; i < NM_CELLS; i++) {
        at[i] = pose_apply(to_sole, body->frames[foot->cells[i]].to_link.pos);
        mean = vec3_add(mean, vec3_scale(at[i], 1.0 / NM_CELLS));
    }
    for (uint32_t i = 0; i < NM_CELLS; i++) {
        uint32_t corner = (at[i].x < mean.x ? 2u : 0u) + (at[i].y < mean.y ? 1u : 0u);
        sorted[corner] = foot->cells[i];
        taken |= 1u << corner;
    }
    if (taken == (1u << NM_CELLS) - 1) memcpy(foot->cells, sorted, sizeof sorted);
}

static void find_foot(struct search *s, enum nm_side side)
{
    static const char *const sole[] = {"sole", NULL}, *const toe[] = {"toe", NULL};
    static const char *const cell[] = {"cleat", "fsr", "load_cell", "pressure", NULL};
    struct nm_body *body = s->b->body;
    struct nm_foot *foot = &body->foot[side];
    struct nm_group *leg = &body->leg[side];
    if (!leg->n) return;
    uint32_t link = leg->joints[leg->n - 1] + 1;
    if (!foot->sole) {
        int32_t frame = frame_named(body, link, sole);
        foot->sole = frame >= 0 ? (uint32_t)frame : make_sole(s, side, link);
    }
    leg->end = foot->sole;
    if (body->frames[foot->sole].link != link)
        nm_fail(body->notes, "%s is not on the last link of the %s leg", body->frames[foot->sole].name,
                side == NM_LEFT ? "left" : "right");
    if (foot->toe < 0) foot->toe = frame_named(body, link, toe);
    if (foot->n_cells) return;
    for (uint32_t i = body->n_links; i < body->n_frames && foot->n_cells < NM_CELLS; i++)
        if (body->frames[i].link == link && named(body->frames[i].name, cell)) foot->cells[foot->n_cells++] = i;
    sort_cells(body, foot);
}

static void find_hand(struct nm_body *body, struct nm_group *arm)
{
    static const char *const hand[] = {"hand", "wrist", "gripper", "palm", NULL};
    uint32_t link = arm->n ? arm->joints[arm->n - 1] + 1 : 0;
    int32_t frame = arm->n ? frame_named(body, link, hand) : -1;
    if (arm->n && arm->end <= link) arm->end = frame >= 0 ? (uint32_t)frame : link;
}

static void find_imu(struct nm_body *body)
{
    static const char *const imu[] = {"imu", NULL}, *const gyro[] = {"gyro", "accelerometer", NULL};
    if (body->imu < 0) body->imu = nm_find_frame(body, "imu_frame");
    if (body->imu < 0) body->imu = frame_named(body, 0, imu);
    if (body->imu < 0) body->imu = frame_named(body, 0, gyro);
    for (uint32_t i = 0; i < body->n_frames && body->imu < 0; i++)
        if (named(body->frames[i].name, imu)) body->imu = (int32_t)i;
}

void build_groups(struct body_build *b)
{
    struct search *s = nm_take_n(b->arena, struct search, 1);
    struct nm_body *body = b->body;
    double q[NM_JOINTS] = {0};
    s->b = b;
    nm_forward(body, POSE_IDENTITY, q, &s->zero);
    find_limbs(s);
    take_pair(s, body->leg, 4, leg_value);
    take_pair(s, body->arm, 2, arm_value);
    take_head(s);
    for (int side = 0; side < 2; side++) {
        find_foot(s, (enum nm_side)side);
        find_hand(body, &body->arm[side]);
    }
    find_imu(body);
    if (body->height > 0) return;
    struct extent whole = extent_of(s, -1); /* where shapes are meshes, the frames must do */
    nm_forward(body, POSE_IDENTITY, q, &s->zero);
    for (uint32_t i = 0; i < body->n_frames; i++) stretch(&whole, s->zero.pose[i].pos, (struct vec3){0, 0, 0});
    body->height = whole.high.z - whole.low.z;
}

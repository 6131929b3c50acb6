/* Finds where a body faces, and its limbs, feet and sensors where no file names them: by geometry first (chains of
 * joints from the base, paired left and right at zero pose; the lowest pair are the legs), by name second. Where the
 * two contradict each other, a note says so. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "body/build.h"

static const struct vec3 AHEAD = {1, 0, 0}, LEFT = {0, 1, 0}, UP = {0, 0, 1};

struct limb {
    uint32_t n, joints[NM_JOINTS], tip; /* all joints from the base; tip: link */
    uint32_t first;                     /* of its own joints: those before carry other limbs, too */
    struct vec3 start, end;             /* at zero pose, in the base */
    bool used;
};

struct search {
    struct body_build *b;
    bool sideways; /* left and right lie along x, not along y */
    struct limb limbs[NM_LINKS];
    uint32_t n_limbs;
};

static bool named(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(name, *words)) return true;
    return false;
}

/* What a name says of the side: 1 left, -1 right, 0 nothing. left…, …_left, l_…, …_l_…, …_l, LKnee. */
static int side_named(const char *name)
{
    if (strcasestr(name, "left")) return 1;
    if (strcasestr(name, "right")) return -1;
    for (const char *at = name; *at; at++) {
        int c = tolower(*at);
        bool begins = at == name || at[-1] == '_' || at[-1] == '-', ends = !at[1] || at[1] == '_' || at[1] == '-';
        if ((c == 'l' || c == 'r') && begins && (ends || (isupper(*at) && isupper(at[1])))) return c == 'l' ? 1 : -1;
    }
    return 0;
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
        struct limb *limb = &s->limbs[s->n_limbs++];
        uint32_t n = 0;
        for (uint32_t i = tip; i; i = body->joints[i - 1].parent) n++;
        *limb = (struct limb){.n = n, .tip = tip, .end = s->b->zero.pose[tip].pos};
        for (uint32_t i = tip; i; i = body->joints[i - 1].parent) {
            limb->joints[--n] = i - 1;
            limb->start = s->b->zero.pose[i].pos;
        }
    }
}

/* Joints that both have: a waist is no part of a limb. */
static uint32_t common(const struct limb *a, const struct limb *b)
{
    uint32_t n = 0;
    while (n < a->n && n < b->n && a->joints[n] == b->joints[n]) n++;
    return n;
}

static double aside(const struct search *s, struct vec3 v) { return s->sideways ? -v.x : v.y; }

static bool mirrored(const struct search *s, const struct limb *l, const struct limb *r)
{
    if (l->used || r->used || l->n != r->n) return false;
    double left = aside(s, l->end), right = aside(s, r->end), near = 0.03 + 0.2 * fabs(left);
    return left > 0 && right < 0 && fabs(left + right) < near && fabs(l->end.z - r->end.z) < near;
}

/* The mirrored pair whose value is least; false if there is none. */
static bool find_pair(struct search *s, uint32_t joints, double (*value)(const struct search *, const struct limb *),
                      struct limb *pair[2])
{
    bool any = false;
    for (uint32_t i = 0; i < s->n_limbs; i++)
        for (uint32_t k = 0; k < s->n_limbs; k++) {
            struct limb *l = &s->limbs[i], *r = &s->limbs[k];
            if (!mirrored(s, l, r)) continue;
            uint32_t first = common(l, r);
            if (l->n - first < joints) continue;
            struct limb own = *l;
            own.start = s->b->zero.pose[l->joints[first] + 1].pos;
            if (!(value(s, &own) < INFINITY) || (any && value(s, &own) >= value(s, pair[0]))) continue;
            any = true;
            l->first = r->first = first;
            l->start = own.start;
            r->start = s->b->zero.pose[r->joints[first] + 1].pos;
            pair[0] = l, pair[1] = r;
        }
    return any;
}

/* legs end lowest, and well below where they begin; arms begin highest */
static double leg_value(const struct search *s, const struct limb *l)
{
    (void)s;
    return l->end.z < l->start.z - 0.05 ? l->end.z : INFINITY;
}

static double arm_value(const struct search *s, const struct limb *l)
{
    (void)s;
    return -l->start.z;
}

/* Fingers branch off; what is beyond the first fork is a hand. */
static uint32_t up_to_fork(const struct nm_body *body, const struct limb *limb)
{
    for (uint32_t i = limb->first; i + 1 < limb->n; i++) {
        uint32_t children = 0;
        for (uint32_t j = 0; j < body->n_joints; j++)
            children += body->joints[j].parent == limb->joints[i] + 1 && body->joints[j].mimic < 0;
        if (children > 1 && i > limb->first) return i + 1;
    }
    return limb->n;
}

static struct vec3 axis_of(const struct body_build *b, uint32_t joint)
{
    return quat_apply(b->zero.pose[joint + 1].rot, b->joints[joint].axis);
}

/* Toes bend behind an ankle: a fourth joint about y, after one about x, is no part of the leg. */
static uint32_t up_to_toes(const struct body_build *b, const struct limb *limb)
{
    uint32_t n = limb->n, pitches = 0;
    for (uint32_t i = limb->first; i < n; i++) pitches += fabs(axis_of(b, limb->joints[i]).y) > 0.8;
    bool toes = n - limb->first > 6 && pitches > 3 && fabs(axis_of(b, limb->joints[n - 1]).y) > 0.8 &&
                fabs(axis_of(b, limb->joints[n - 2]).y) < 0.5;
    return toes ? n - 1 : n;
}

static void take(const struct search *s, struct limb *limb, uint32_t last, struct nm_group *group)
{
    limb->used = true;
    if (group->n) return; /* a file named it */
    if (last - limb->first > NM_GROUP) {
        nm_fail(s->b->body->notes, "a limb with %u joints is left out: %s is its last", last - limb->first,
                s->b->joints[limb->joints[last - 1]].name);
        return;
    }
    group->n = last - limb->first;
    memcpy(group->joints, limb->joints + limb->first, group->n * sizeof *group->joints);
    group->end = limb->joints[last - 1] + 1;
}

/* The last but one of the driven joints that turn about `left`; NULL if there are less than three. */
static struct nm_joint *knee_of(const struct body_build *b, const struct limb *leg, struct vec3 left)
{
    uint32_t n = 0, at[NM_JOINTS];
    for (uint32_t i = leg->first; i < leg->n; i++)
        if (b->joints[leg->joints[i]].mimic < 0 && fabs(vec3_dot(axis_of(b, leg->joints[i]), left)) > 0.8)
            at[n++] = leg->joints[i];
    return n < 3 ? NULL : &b->joints[at[n - 2]];
}

/* A knee that bends farther to one side takes the foot backwards. */
static double knee_vote(const struct body_build *b, const struct limb *leg, struct vec3 ahead, struct vec3 left)
{
    const struct nm_joint *knee = knee_of(b, leg, left);
    if (!knee) return 0;
    double up = fmin(knee->upper, M_PI), down = fmin(-knee->lower, M_PI);
    if (fmax(up, down) < 0.5 || fmax(up, down) < 2 * fmin(fabs(up), fabs(down))) return 0;
    struct vec3 hangs = vec3_sub(leg->end, b->zero.pose[knee - b->joints + 1].pos);
    double way = vec3_dot(vec3_cross(axis_of(b, (uint32_t)(knee - b->joints)), hangs), ahead) * (up > down ? 1 : -1);
    return way < 0 ? 1 : -1;
}

/* Knees that bend opposite ways by their limits: one of the two is written for the other side's axis. */
static void same_knees(struct search *s, struct limb *pair[2])
{
    double vote[2] = {knee_vote(s->b, pair[0], AHEAD, LEFT), knee_vote(s->b, pair[1], AHEAD, LEFT)};
    if (vote[0] * vote[1] >= 0) return;
    struct nm_joint *knee = knee_of(s->b, pair[vote[0] < 0 ? 0 : 1], LEFT);
    double upper = knee->upper;
    knee->upper = -knee->lower;
    knee->lower = -upper;
    nm_fail(s->b->body->notes, "the limits of the two knees let them bend opposite ways: those of %s are turned round",
            knee->name);
}

static void take_legs(struct search *s)
{
    struct limb *pair[2];
    if (!find_pair(s, 4, leg_value, pair)) return;
    same_knees(s, pair);
    for (int side = 0; side < 2; side++) take(s, pair[side], up_to_toes(s->b, pair[side]), &s->b->body->leg[side]);
}

static void take_arms(struct search *s)
{
    struct limb *pair[2];
    if (!find_pair(s, 2, arm_value, pair)) return;
    for (int side = 0; side < 2; side++) {
        take(s, pair[side], up_to_fork(s->b->body, pair[side]), &s->b->body->arm[side]);
        for (uint32_t i = 0; i < s->n_limbs; i++) /* its other fingers */
            if (common(&s->limbs[i], pair[side]) > pair[side]->first) s->limbs[i].used = true;
    }
}

static bool has_camera(const struct nm_body *body, uint32_t link)
{
    for (uint32_t i = 0; i < body->n_frames; i++)
        if (body->frames[i].link == link && build_looks(body->frames[i].name)) return true;
    return false;
}

static void take_head(struct search *s)
{
    const struct nm_body *body = s->b->body;
    struct limb *best = NULL;
    double best_value = -INFINITY;
    for (uint32_t i = 0; i < s->n_limbs; i++) {
        struct limb *l = &s->limbs[i];
        for (uint32_t k = 0; k < s->n_limbs; k++) /* a waist carries arms, too */
            if (s->limbs[k].used && common(l, &s->limbs[k]) > l->first) l->first = common(l, &s->limbs[k]);
        double value = l->end.z + (has_camera(body, l->tip) ? 1000 : 0);
        if (l->used || l->first == l->n || l->n - l->first > 4 || fabs(l->end.y) > 0.05 || l->end.z < 0 ||
            value <= best_value)
            continue;
        best = l;
        best_value = value;
    }
    if (best) take(s, best, best->n, &s->b->body->head);
}

/* ---- where it faces ---- */

struct votes {
    double names, knees, feet, cameras; /* for the first of two opposite directions, negative: for the other */
};

/* Where the last joint that turns about `left` is, or else the last of all: the origin of a roll's link may lie
 * anywhere along its axis. */
static struct vec3 ankle_of(const struct body_build *b, const uint32_t joints[], uint32_t n, struct vec3 left)
{
    for (uint32_t i = n; i-- > 0;)
        if (fabs(vec3_dot(axis_of(b, joints[i]), left)) > 0.8) return b->zero.pose[joints[i] + 1].pos;
    return b->zero.pose[joints[n - 1] + 1].pos;
}

/* Feet are longer before the ankle than behind it. */
static double foot_vote(const struct body_build *b, const struct limb *leg, struct vec3 ahead, struct vec3 left)
{
    struct extent e = build_extent(b, (int32_t)leg->tip);
    struct vec3 ankle = ankle_of(b, leg->joints + leg->first, leg->n - leg->first, left);
    if (!e.any) return 0;
    double low = fmin(vec3_dot(e.low, ahead), vec3_dot(e.high, ahead)),
           high = fmax(vec3_dot(e.low, ahead), vec3_dot(e.high, ahead)), at = vec3_dot(ankle, ahead);
    double share = (high + low - 2 * at) / fmax(high - low, 1e-6);
    return fabs(share) < 0.06 ? 0 : share > 0 ? 1 : -1;
}

static double camera_vote(const struct body_build *b, struct vec3 ahead)
{
    const struct nm_body *body = b->body;
    double sum = 0;
    for (uint32_t i = body->n_links; i < body->n_frames; i++) {
        const struct nm_frame *f = &body->frames[i];
        struct vec3 off = vec3_sub(pose_apply(b->zero.pose[f->link], f->to_link.pos), b->zero.pose[f->link].pos);
        if (build_looks(f->name) && fabs(vec3_dot(off, ahead)) > 0.01) sum += vec3_dot(off, ahead) > 0 ? 1 : -1;
    }
    return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

static double name_vote(const struct body_build *b, const struct limb *left, const struct limb *right)
{
    int sum = 0;
    for (uint32_t i = left->first; i < left->n; i++) sum += side_named(b->joints[left->joints[i]].name);
    for (uint32_t i = right->first; i < right->n; i++) sum -= side_named(b->joints[right->joints[i]].name);
    return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

/* The legs of a body that may face anywhere; NULL if there are none. */
static struct search *find_legs(struct body_build *b, struct limb *leg[2])
{
    struct search *s = nm_take_n(b->arena, struct search, 1);
    s->b = b;
    find_limbs(s);
    if (find_pair(s, 4, leg_value, leg)) return s;
    s->sideways = true;
    return find_pair(s, 4, leg_value, leg) ? s : NULL;
}

double build_lift(struct body_build *b)
{
    struct limb *leg[2];
    if (!find_legs(b, leg)) return 0;
    return leg[0]->start.z + leg[0]->end.z > 0 ? leg[0]->start.z : 0;
}

int build_facing(struct body_build *b, struct nm_err *notes)
{
    static const char *const axes[] = {"x", "y", "-x", "-y"};
    struct limb *leg[2];
    struct search *s = find_legs(b, leg);
    if (!s) return 0;
    struct vec3 ahead = s->sideways ? (struct vec3){0, 1, 0} : (struct vec3){1, 0, 0};
    struct vec3 left = s->sideways ? (struct vec3){-1, 0, 0} : (struct vec3){0, 1, 0};
    struct votes v = {name_vote(b, leg[0], leg[1]),
                      (knee_vote(b, leg[0], ahead, left) + knee_vote(b, leg[1], ahead, left)) / 2,
                      foot_vote(b, leg[0], ahead, left), camera_vote(b, ahead)};
    double shape = 2 * v.knees + 2 * v.feet + v.cameras, sum = 3 * v.names + shape + 0.5;
    int quarter = (s->sideways ? 1 : 0) + (sum > 0 ? 0 : 2);
    if (shape * v.names < 0)
        nm_fail(
            notes,
            "the names of its legs say that it faces %s, but feet, knees and cameras say %s: %s is taken; `forward: "
            "%s` in robot.yaml says otherwise",
            axes[(quarter + (v.names * sum > 0 ? 0 : 2)) % 4], axes[(quarter + (shape * sum > 0 ? 0 : 2)) % 4],
            axes[quarter], axes[(quarter + 2) % 4]);
    if (quarter)
        nm_fail(notes, "it faces %s of its URDF, as%s%s%s%s show: the base is turned so that x is forward",
                axes[quarter], v.names * sum > 0 ? " names" : "", v.knees * sum > 0 ? " knees" : "",
                v.feet * sum > 0 ? " feet" : "", v.cameras * sum > 0 ? " cameras" : "");
    return quarter;
}

/* ---- feet ---- */

/* A frame on the link whose name has one of the words, -1 if none; frames fixed to the link come before the link. */
static int32_t frame_named(const struct nm_body *body, uint32_t link, const char *const *words)
{
    for (uint32_t i = body->n_frames; i-- > 0;)
        if (body->frames[i].link == link && named(body->frames[i].name, words)) return (int32_t)i;
    return -1;
}

/* How a foot is turned at zero pose: as its largest box, if that is nearly level; otherwise as the base. */
static struct quat foot_level(const struct body_build *b, uint32_t link)
{
    static const double LEVEL = 0.6; /* rad */
    double most = 0;
    struct quat best = QUAT_IDENTITY;
    for (uint32_t i = 0; i < b->body->n_collisions; i++) {
        const struct nm_link_shape *s = &b->body->collisions[i];
        double volume = s->size.x * s->size.y * s->size.z;
        if (s->link != link || s->kind != NM_BOX || volume <= most) continue;
        struct quat rot = pose_mul(b->zero.pose[link], s->to_link).rot;
        rot = quat_mul(rot, build_square(rot, UP, AHEAD));
        if (quat_angle(rot, QUAT_IDENTITY) < LEVEL) best = rot, most = volume;
    }
    return best;
}

/* m along the foot's own axes from its link: the lowest point of its shapes. */
static double lowest(const struct body_build *b, uint32_t link, struct quat level, bool *any)
{
    double low = INFINITY;
    struct vec3 down = quat_apply(level, (struct vec3){0, 0, -1});
    for (uint32_t i = 0; i < b->body->n_collisions; i++) {
        const struct nm_link_shape *s = &b->body->collisions[i];
        if (s->link != link || s->guessed) continue;
        struct pose3 p = pose_mul(b->zero.pose[link], s->to_link);
        struct vec3 off = vec3_sub(p.pos, b->zero.pose[link].pos);
        low = fmin(low, -vec3_dot(off, down) - nm_shape_reach(s, p.rot, down));
    }
    *any = isfinite(low);
    return low;
}

/* A foot of which no shape is known: modest, and not below its sole. */
static void guess_foot(struct body_build *b, uint32_t link, struct pose3 sole, double leg)
{
    static const char *const ends[] = {"cleat", "fsr", "load_cell", "pressure", "toe", "heel", "bumper", NULL};
    struct nm_body *body = b->body;
    struct nm_link_shape *all = nm_take_n(b->arena, struct nm_link_shape, body->n_collisions + 2);
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n_collisions; i++)
        if (body->collisions[i].link != link) all[n++] = body->collisions[i];
    struct extent e = {{-0.165 * leg, -0.12 * leg, 0}, {0.285 * leg, 0.12 * leg, 0}, true};
    struct pose3 to_sole = pose_inv(sole);
    for (uint32_t i = body->n_links; i < body->n_frames; i++) /* cells and toes show how far it reaches */
        if (body->frames[i].link == link && named(body->frames[i].name, ends)) {
            struct vec3 at = pose_apply(to_sole, body->frames[i].to_link.pos);
            build_stretch(&e, at, (struct vec3){0.04 * leg, 0.04 * leg, 0});
        }
    struct nm_link_shape foot = {.kind = NM_BOX, .guessed = true};
    foot.size = (struct vec3){e.high.x - e.low.x, e.high.y - e.low.y, 0.05 * leg};
    foot.link = foot.frame = link;
    foot.to_link = pose_mul(
        sole, (struct pose3){QUAT_IDENTITY, {(e.high.x + e.low.x) / 2, (e.high.y + e.low.y) / 2, 0.025 * leg}});
    all[n++] = foot;
    body->collisions = all;
    body->n_collisions = n;
    nm_fail(body->notes, "%s has no shape that is known: a foot of %.2f x %.2f m is assumed", body->frames[link].name,
            foot.size.x, foot.size.y);
}

/* The sole lies on the ground under the ankle, x forward, z up. A frame that is called so is used where it lies on the
 * ground; its axes are put right by whole turns. */
static void find_sole(struct body_build *b, enum nm_side side, uint32_t link)
{
    static const char *const sole_words[] = {"sole", "foot_plane", NULL};
    static const double OFF = 0.012, ASIDE = 0.1; /* m; of the leg */
    struct nm_body *body = b->body;
    const struct nm_group *leg = &body->leg[side];
    struct pose3 foot = b->zero.pose[link];
    struct vec3 ankle = {ankle_of(b, leg->joints, leg->n, LEFT).x, foot.pos.y, foot.pos.z};
    double length = b->zero.pose[leg->joints[0] + 1].pos.z - foot.pos.z;
    int32_t frame = frame_named(body, link, sole_words);
    struct pose3 sole = {foot_level(b, link), ankle}, given = {0};
    bool any;
    double low = lowest(b, link, sole.rot, &any);
    const char *why = "no frame is called sole";
    if (frame >= 0) {
        given = pose_mul(foot, body->frames[frame].to_link);
        struct quat turn = build_square(given.rot, UP, AHEAD);
        struct quat level = quat_mul(given.rot, turn);
        double at = vec3_dot(vec3_sub(given.pos, foot.pos), quat_apply(level, UP));
        double ground = lowest(b, link, level, &any);
        bool turned = quat_angle(turn, QUAT_IDENTITY) > 0.1, off = any && fabs(at - ground) > OFF,
             aside = fabs(given.pos.x - ankle.x) > ASIDE * length;
        sole = (struct pose3){level, given.pos};
        if (off || aside) sole.pos = vec3_add(ankle, vec3_scale(quat_apply(level, UP), off ? ground : at));
        if (!turned && !off && !aside) {
            body->foot[side].sole = (uint32_t)frame;
            if (!any) guess_foot(b, link, body->frames[frame].to_link, length);
            return;
        }
        why = off     ? "its frame sole does not lie on the ground under its shapes"
              : aside ? "its frame sole does not lie under the ankle"
                      : "the z of its frame sole is not up";
    } else {
        if (!any) low = -fmax(0.12 * length, 1.6 * fmax(0, -quat_apply(foot.rot, b->inertia[link].com).z));
        sole.pos = vec3_add(ankle, vec3_scale(quat_apply(sole.rot, UP), low));
    }
    struct pose3 to_link = pose_mul(pose_inv(foot), sole);
    frame = build_frame(b, side == NM_LEFT ? "nm_left_sole" : "nm_right_sole", link, to_link);
    body->foot[side].sole = frame < 0 ? link : (uint32_t)frame;
    nm_fail(body->notes, "%s: %s; %s is put %.0f mm below the ankle", body->frames[link].name, why,
            side == NM_LEFT ? "nm_left_sole" : "nm_right_sole", -1000 * vec3_dot(vec3_sub(sole.pos, foot.pos), UP));
    if (!any) guess_foot(b, link, to_link, length);
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

/* Boxes that stand for meshes stay above the sole: the foot stands on what is known of it. */
static void lift_guesses(struct body_build *b, uint32_t link, struct pose3 sole_to_link)
{
    static const double ABOVE = 0.002; /* m */
    struct nm_body *body = b->body;
    struct nm_link_shape *all = nm_take_n(b->arena, struct nm_link_shape, body->n_collisions + 1);
    struct vec3 up = quat_apply(sole_to_link.rot, UP);
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        struct nm_link_shape *s = &all[i];
        *s = body->collisions[i];
        if (s->link != link || !s->guessed || !s->mesh) continue;
        double bottom =
            vec3_dot(vec3_sub(s->to_link.pos, sole_to_link.pos), up) - nm_shape_reach(s, s->to_link.rot, up);
        if (bottom < ABOVE) s->to_link.pos = vec3_add(s->to_link.pos, vec3_scale(up, ABOVE - bottom));
    }
    body->collisions = all;
}

static void find_foot(struct body_build *b, enum nm_side side)
{
    static const char *const toe[] = {"toe", NULL};
    static const char *const cell[] = {"cleat", "fsr", "load_cell", "pressure", NULL};
    struct nm_body *body = b->body;
    struct nm_foot *foot = &body->foot[side];
    struct nm_group *leg = &body->leg[side];
    if (!leg->n) return;
    uint32_t link = leg->joints[leg->n - 1] + 1;
    if (!foot->sole) find_sole(b, side, link);
    leg->end = foot->sole;
    if (body->frames[foot->sole].link == link) lift_guesses(b, link, body->frames[foot->sole].to_link);
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

/* It must sit on the base, whose tilt it tells. */
static void find_imu(struct body_build *b)
{
    static const char *const imu[] = {"imu", NULL}, *const gyro[] = {"gyro", "accelerometer", NULL};
    struct nm_body *body = b->body;
    if (body->imu >= 0) return;
    body->imu = nm_find_frame(body, "imu_frame");
    if (body->imu >= 0 && body->frames[body->imu].link) body->imu = -1;
    if (body->imu < 0) body->imu = frame_named(body, 0, imu);
    if (body->imu < 0) body->imu = frame_named(body, 0, gyro);
    if (body->imu >= 0) return;
    body->imu = 0;
    for (uint32_t i = 0; i < body->n_frames; i++) {
        if (!named(body->frames[i].name, imu)) continue;
        nm_fail(body->notes,
                "%s sits on %s, which joints turn against the base %s: an imu at the base's origin is taken",
                body->frames[i].name, body->frames[body->frames[i].link].name, body->frames[0].name);
        return;
    }
    nm_fail(body->notes, "no imu: one at the origin of %s is taken, with its axes", body->frames[0].name);
}

static void check_names(const struct body_build *b, const struct nm_group *group, int side, const char *what)
{
    int says = 0;
    for (uint32_t i = 0; i < group->n; i++) says += side_named(b->joints[group->joints[i]].name);
    if (says * (side == NM_LEFT ? 1 : -1) < 0)
        nm_fail(b->body->notes, "the %s %s is called %s", side == NM_LEFT ? "left" : "right", what,
                b->joints[group->joints[0]].name);
}

/* What is in no group but moves is held where it is: a waist, toes, fingers. */
static void note_held(const struct body_build *b)
{
    const struct nm_body *body = b->body;
    const struct nm_group *groups[] = {&body->leg[0], &body->leg[1], &body->arm[0], &body->arm[1], &body->head};
    char names[160] = "";
    uint32_t n = 0;
    for (uint32_t j = 0; j < body->n_joints; j++) {
        bool own = body->joints[j].mimic >= 0;
        for (int g = 0; g < 5; g++)
            for (uint32_t i = 0; i < groups[g]->n; i++) own |= groups[g]->joints[i] == j;
        if (own || n++ > 3) continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.30s", used ? ", " : "", body->joints[j].name);
    }
    if (n)
        nm_fail(body->notes, "%u joint%s of no limb %s held at zero: %s%s", n, n > 1 ? "s" : "", n > 1 ? "are" : "is",
                names, n > 4 ? ", …" : "");
}

void build_groups(struct body_build *b)
{
    struct search *s = nm_take_n(b->arena, struct search, 1);
    struct nm_body *body = b->body;
    double q[NM_JOINTS] = {0};
    s->b = b;
    find_limbs(s);
    take_legs(s);
    take_arms(s);
    take_head(s);
    for (int side = 0; side < 2; side++) {
        find_foot(b, (enum nm_side)side);
        find_hand(body, &body->arm[side]);
        check_names(b, &body->leg[side], side, "leg");
        check_names(b, &body->arm[side], side, "arm");
    }
    note_held(b);
    find_imu(b);
    if (body->height > 0) return;
    struct extent whole = build_extent(b, -1);
    nm_forward(body, POSE_IDENTITY, q, &b->zero);
    for (uint32_t i = 0; i < body->n_frames; i++) build_stretch(&whole, b->zero.pose[i].pos, (struct vec3){0, 0, 0});
    body->height = whole.high.z - whole.low.z;
}

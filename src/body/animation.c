#include "body/animation.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEGREE    (M_PI / 180)
#define LONGEST   60.0  /* s, of a move or a pause */
#define MOST_TURN 360.0 /* degrees */

struct reading {
    struct nm_arena *arena;
    const struct nm_body *body;
    struct nm_animation *to;
    struct nm_err *err;
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
};

/* ---- mirror images ---- */

/* "left_knee" becomes "right_knee"; false if the name has no side. */
static bool other_side(const char *name, char to[NM_URDF_NAME + 8])
{
    static const char *const sides[][2] = {{"left_", "right_"}, {"right_", "left_"}, {"l_", "r_"}, {"r_", "l_"}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        size_t n = strlen(sides[i][0]);
        if (strncmp(name, sides[i][0], n)) continue;
        snprintf(to, NM_URDF_NAME + 8, "%s%s", sides[i][1], name + n);
        return true;
    }
    return false;
}

/* The mirror image of a turn about (x, y, z) is one about (-x, y, -z). Twins are known by their limbs; what belongs to
 * none, by name. */
void nm_mirror_joints(const struct nm_body *body, uint32_t twin[], double sign[])
{
    const double zero[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, zero, &kin);
    for (uint32_t j = 0; j < body->n_joints; j++) {
        char name[NM_URDF_NAME + 8];
        int32_t other = other_side(body->joints[j].name, name) ? nm_find_joint(body, name) : -1;
        twin[j] = other >= 0 ? (uint32_t)other : j;
    }
    for (int limb = 0; limb < 2; limb++) {
        const struct nm_group *pair = limb ? body->arm : body->leg;
        for (uint32_t i = 0; i < pair[NM_LEFT].n && i < pair[NM_RIGHT].n; i++) {
            twin[pair[NM_LEFT].joints[i]] = pair[NM_RIGHT].joints[i];
            twin[pair[NM_RIGHT].joints[i]] = pair[NM_LEFT].joints[i];
        }
    }
    for (uint32_t j = 0; j < body->n_joints; j++) {
        struct vec3 a = quat_apply(kin.pose[j + 1].rot, body->joints[j].axis);
        struct vec3 b = quat_apply(kin.pose[twin[j] + 1].rot, body->joints[twin[j]].axis);
        sign[j] = vec3_dot((struct vec3){-a.x, a.y, -a.z}, b) < 0 ? -1 : 1;
    }
}

void nm_animation_mirror(struct nm_arena *arena, const struct nm_body *body, const struct nm_animation *from,
                         struct nm_animation *to)
{
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
    struct nm_animation mirrored = *from;
    nm_mirror_joints(body, twin, sign);
    mirrored.name = to->name, mirrored.about = to->about, mirrored.mirror_of = from->name;
    mirrored.frames = nm_take_n(arena, struct nm_animation_frame, from->n_frames + 1);
    mirrored.joints = 0;
    for (uint32_t i = 0; i < from->n_frames; i++) {
        const struct nm_animation_frame *f = &from->frames[i];
        struct nm_animation_frame *m = &mirrored.frames[i];
        *m = (struct nm_animation_frame){
            .at = f->at, .until = f->until, .stiffness = f->stiffness, .strike = f->strike, .line = f->line};
        for (uint32_t j = 0; j < body->n_joints; j++) {
            if (!(f->joints >> j & 1)) continue;
            m->joints |= 1ull << twin[j];
            m->goal[twin[j]] = sign[j] * f->goal[j];
        }
        mirrored.joints |= m->joints;
    }
    *to = mirrored;
}

/* ---- reading ---- */

static int unknown_joint(struct reading *r, const struct nm_yaml *node)
{
    const char *names[NM_JOINTS], *near;
    for (uint32_t i = 0; i < r->body->n_joints; i++) names[i] = r->body->joints[i].name;
    near = nm_nearest(node->key, names, r->body->n_joints);
    return nm_yaml_fail(node, r->err, "there is no moving joint called %s%s%s%s", node->key,
                        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_goal(struct reading *r, const struct nm_yaml *node, struct nm_animation_frame *f, uint32_t joint,
                    double goal)
{
    if (f->joints >> joint & 1)
        return nm_yaml_fail(node, r->err, "%s has a goal in this frame already", r->body->joints[joint].name);
    if (r->body->joints[joint].mimic >= 0)
        return nm_yaml_fail(node, r->err, "%s follows %s and has no goal of its own", r->body->joints[joint].name,
                            r->body->joints[r->body->joints[joint].mimic].name);
    f->joints |= 1ull << joint;
    f->goal[joint] = goal;
    return 0;
}

/* `left_knee: 30`, or `both_knee: 30`: the left one as written, the right one as its mirror image */
static int read_goal(struct reading *r, const struct nm_yaml *node, struct nm_animation_frame *f)
{
    double degrees;
    char left[NM_URDF_NAME + 8];
    int32_t joint = nm_find_joint(r->body, node->key);
    bool both = joint < 0 && !strncmp(node->key, "both_", 5);
    if (both) {
        snprintf(left, sizeof left, "left_%s", node->key + 5);
        joint = nm_find_joint(r->body, left);
    }
    if (joint < 0) return unknown_joint(r, node);
    if (nm_yaml_number(node, &degrees, r->err)) return -1;
    if (!(fabs(degrees) <= MOST_TURN))
        return nm_yaml_fail(node, r->err, "%s: %g is more than a turn; goals are in degrees", node->key, degrees);
    uint32_t j = (uint32_t)joint;
    if (set_goal(r, node, f, j, degrees * DEGREE)) return -1;
    if (!both) return 0;
    if (r->twin[j] == j) return nm_yaml_fail(node, r->err, "%s has no other side", r->body->joints[j].name);
    return set_goal(r, node, f, r->twin[j], r->sign[j] * degrees * DEGREE);
}

static int read_seconds(struct reading *r, const struct nm_yaml *node, double least, double *to)
{
    int64_t ns;
    if (!node) return 0;
    if (nm_yaml_duration(node, &ns, r->err)) return -1;
    *to = (double)ns * 1e-9;
    if (*to >= least && *to <= LONGEST) return 0;
    return nm_yaml_fail(node, r->err, "%s: %g s is not between %g and %g s", node->key, *to, least, LONGEST);
}

static int read_share(struct reading *r, const struct nm_yaml *node, double least, double most, double *to)
{
    double value;
    if (!node) return 0;
    if (nm_yaml_number(node, &value, r->err)) return -1;
    if (!(value >= least && value <= most))
        return nm_yaml_fail(node, r->err, "%s: %g is not between %g and %g", node->key, value, least, most);
    *to = value;
    return 0;
}

static int read_frame(struct reading *r, const struct nm_yaml *map, struct nm_animation_frame *f)
{
    static const char *const keys[] = {"duration", "pause", "stiffness", "strike", "goals"};
    double duration = 0, pause = 0;
    const struct nm_yaml *goals, *strike;
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof *keys, r->err)) return -1;
    f->line = map->line;
    f->stiffness = 1;
    goals = nm_yaml_get(map, "goals"), strike = nm_yaml_get(map, "strike");
    if (!nm_yaml_get(map, "duration")) return nm_yaml_fail(map, r->err, "a frame needs a duration, as in 300 ms");
    if (!goals || goals->kind != NM_YAML_MAP)
        return nm_yaml_fail(goals ? goals : map, r->err, "a frame needs goals, a map of joints and degrees");
    int fault = read_seconds(r, nm_yaml_get(map, "duration"), 0.001, &duration);
    fault |= read_seconds(r, nm_yaml_get(map, "pause"), 0, &pause);
    fault |= read_share(r, nm_yaml_get(map, "stiffness"), 0, 1, &f->stiffness);
    if (strike) fault |= nm_yaml_bool(strike, &f->strike, r->err);
    nm_yaml_each(goal, goals) fault |= read_goal(r, goal, f);
    f->at = r->to->duration + duration;
    f->until = f->at + pause;
    r->to->duration = f->until;
    r->to->joints |= f->joints;
    return fault;
}

static int read_curve(struct reading *r, const struct nm_yaml *node)
{
    const char *word = "cubic";
    if (node && nm_yaml_text(node, &word, r->err)) return -1;
    r->to->cubic = !strcmp(word, "cubic");
    if (r->to->cubic || !strcmp(word, "linear")) return 0;
    return nm_yaml_fail(node, r->err, "curve: %s is none of cubic, linear", word);
}

static int read_balance(struct reading *r, const struct nm_yaml *map)
{
    static const char *const keys[] = {"roll", "pitch"};
    int fault = 0;
    if (!map) return 0;
    if (nm_yaml_keys(map, keys, 2, r->err)) return -1;
    for (int i = 0; i < 2; i++) fault |= read_share(r, nm_yaml_get(map, keys[i]), -1, 1, &r->to->balance[i]);
    return fault;
}

static int read_frames(struct reading *r, const struct nm_yaml *file, const struct nm_yaml *list)
{
    if (!list || list->kind != NM_YAML_LIST || !list->n)
        return nm_yaml_fail(list ? list : file, r->err, "an animation needs frames, a list, or the name of its mirror");
    if (list->n > NM_ANIMATION_FRAMES)
        return nm_yaml_fail(list, r->err, "%u frames are more than %d", list->n, NM_ANIMATION_FRAMES);
    int fault = 0;
    r->to->frames = nm_take_n(r->arena, struct nm_animation_frame, list->n);
    nm_yaml_each(frame, list) fault |= read_frame(r, frame, &r->to->frames[r->to->n_frames++]);
    return fault;
}

static int read_file(struct reading *r, const struct nm_yaml *file)
{
    static const char *const keys[] = {"about", "curve", "priority", "balance", "mirror", "frames"};
    const struct nm_yaml *about, *mirror;
    double priority = 0;
    if (nm_yaml_keys(file, keys, sizeof keys / sizeof *keys, r->err)) return -1;
    about = nm_yaml_get(file, "about"), mirror = nm_yaml_get(file, "mirror");
    r->to->about = "";
    if (about && nm_yaml_text(about, &r->to->about, r->err)) return -1;
    if (mirror) {
        if (file->n > 1u + (about != NULL))
            return nm_yaml_fail(file, r->err, "a mirror image takes all but `about` from what it mirrors");
        return nm_yaml_text(mirror, &r->to->mirror_of, r->err);
    }
    int fault = read_curve(r, nm_yaml_get(file, "curve"));
    fault |= read_share(r, nm_yaml_get(file, "priority"), 0, 9, &priority);
    fault |= read_balance(r, nm_yaml_get(file, "balance"));
    r->to->priority = (uint32_t)priority;
    return fault | read_frames(r, file, nm_yaml_get(file, "frames"));
}

static struct nm_animation *read_tree(struct nm_arena *arena, const struct nm_body *body, const char *path,
                                      const struct nm_yaml *file, struct nm_err *err)
{
    struct reading r = {.arena = arena, .body = body, .err = err};
    if (!file) return NULL;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    r.to = nm_take_n(arena, struct nm_animation, 1);
    r.to->file = nm_take_text(arena, path);
    r.to->name = nm_take_format(arena, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
    nm_mirror_joints(body, r.twin, r.sign);
    return read_file(&r, file) ? NULL : r.to;
}

struct nm_animation *nm_animation_parse(struct nm_arena *arena, const struct nm_body *body, const char *file,
                                        const char *text, size_t size, struct nm_err *err)
{
    return read_tree(arena, body, file, nm_yaml_parse(arena, file, text, size, err), err);
}

struct nm_animation *nm_animation_read(struct nm_arena *arena, const struct nm_body *body, const char *path,
                                       struct nm_err *err)
{
    return read_tree(arena, body, path, nm_yaml_read(arena, path, err), err);
}

/* ---- a whole folder ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct nm_animation *)a)->name, ((const struct nm_animation *)b)->name);
}

/* Gives a mirror image its frames. A mirror of a mirror would be the same animation under two names. */
static int fill_mirror(struct nm_arena *arena, const struct nm_body *body, struct nm_animation *all, uint32_t n,
                       struct nm_animation *image, struct nm_err *err)
{
    const char *names[NM_ANIMATIONS], *near;
    for (uint32_t i = 0; i < n; i++) {
        names[i] = all[i].name;
        if (strcmp(all[i].name, image->mirror_of)) continue;
        if (all[i].mirror_of) return nm_fail(err, "%s: %s is a mirror image itself", image->file, all[i].name);
        nm_animation_mirror(arena, body, &all[i], image);
        return 0;
    }
    near = nm_nearest(image->mirror_of, names, n);
    return nm_fail(err, "%s: there is no animation called %s%s%s%s", image->file, image->mirror_of,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int nm_animations_read(struct nm_arena *arena, const struct nm_body *body, const char *folder,
                       const struct nm_animation **animations, uint32_t *n, struct nm_err *err)
{
    *n = 0, *animations = NULL;
    DIR *dir = opendir(folder);
    if (!dir) return 0;
    struct nm_animation *all = nm_take_n(arena, struct nm_animation, NM_ANIMATIONS);
    int fault = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length < 6 || strcmp(entry->d_name + length - 5, ".yaml")) continue;
        if (*n == NM_ANIMATIONS) {
            fault = nm_fail(err, "%s: more than %d animations", folder, NM_ANIMATIONS);
            break;
        }
        const char *path = nm_take_format(arena, "%s/%s", folder, entry->d_name);
        const struct nm_animation *one = nm_animation_read(arena, body, path, err);
        if (one)
            all[(*n)++] = *one;
        else
            fault = -1;
    }
    closedir(dir);
    qsort(all, *n, sizeof *all, by_name);
    for (uint32_t i = 0; i < *n && !fault; i++)
        if (all[i].mirror_of && !all[i].n_frames) fault = fill_mirror(arena, body, all, *n, &all[i], err);
    *animations = all;
    return fault;
}

const struct nm_animation *nm_find_animation(const struct nm_body *body, const char *name)
{
    for (uint32_t i = 0; i < body->n_animations; i++)
        if (!strcmp(body->animations[i].name, name)) return &body->animations[i];
    return NULL;
}

/* ---- curves ---- */

struct knot {
    double arrive, leave, q;
};

static uint32_t knots_of(const struct nm_animation *a, uint32_t joint, double from, struct knot *knots)
{
    uint32_t n = 0;
    knots[n++] = (struct knot){0, 0, from};
    for (uint32_t i = 0; i < a->n_frames; i++)
        if (a->frames[i].joints >> joint & 1)
            knots[n++] = (struct knot){a->frames[i].at, a->frames[i].until, a->frames[i].goal[joint]};
    return n;
}

/* The slope with which a joint passes knot k (Fritsch and Butland): 0 where it rests, turns back, begins or ends. */
static double slope(const struct knot *k, uint32_t i, uint32_t n)
{
    if (i == 0 || i + 1 == n || k[i].leave > k[i].arrive) return 0;
    double h1 = k[i].arrive - k[i - 1].leave, h2 = k[i + 1].arrive - k[i].leave;
    double d1 = (k[i].q - k[i - 1].q) / h1, d2 = (k[i + 1].q - k[i].q) / h2;
    if (!(d1 * d2 > 0)) return 0;
    return 3 * (h1 + h2) / ((2 * h2 + h1) / d1 + (h2 + 2 * h1) / d2);
}

static void curve(bool cubic, const struct knot *k, uint32_t n, double t, double *q, double *qd)
{
    uint32_t i = 0;
    while (i + 1 < n && t >= k[i + 1].arrive) i++;
    *q = k[i].q, *qd = 0;
    if (i + 1 == n || t < k[i].leave) return;
    double h = k[i + 1].arrive - k[i].leave, s = (t - k[i].leave) / h, way = k[i + 1].q - k[i].q;
    double m0 = cubic ? slope(k, i, n) : way / h, m1 = cubic ? slope(k, i + 1, n) : way / h;
    *q += s * (h * m0 + s * (3 * way - h * (2 * m0 + m1) + s * (h * (m0 + m1) - 2 * way)));
    *qd = m0 + s * (2 * (3 * way / h - 2 * m0 - m1) + s * 3 * (m0 + m1 - 2 * way / h));
}

void nm_animation_sample(const struct nm_animation *animation, const double from[], double t,
                         struct nm_animation_pose *pose)
{
    struct knot knots[NM_ANIMATION_FRAMES + 1];
    uint32_t now = 0;
    while (now + 1 < animation->n_frames && t > animation->frames[now].until) now++;
    pose->stiffness = animation->n_frames ? animation->frames[now].stiffness : 0;
    for (uint32_t j = 0; j < NM_JOINTS; j++) {
        if (!(animation->joints >> j & 1)) continue;
        uint32_t n = knots_of(animation, j, from[j], knots);
        curve(animation->cubic, knots, n, t, &pose->q[j], &pose->qd[j]);
    }
}

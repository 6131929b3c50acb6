/* robot.yaml of a robot folder: what it is, what it offers, and the roles of its links where geometry and names do not
 * tell them. Unknown keys, unknown names and values out of range are refused with file and line. */
#include <string.h>

#include "body/build.h"

int build_members(const struct nm_yaml *map, const struct build_member *members, size_t n, struct nm_err *err)
{
    int fault = 0;
    for (size_t i = 0; i < n; i++) {
        const struct build_member *m = &members[i];
        const struct nm_yaml *node = nm_yaml_get(map, m->key);
        if (!node && (m->how & NEEDED))
            fault = nm_yaml_fail(map, err, "%s: %s is missing", map->key ? map->key : "here", m->key);
        if (!node) continue;
        double value;
        if (nm_yaml_number(node, &value, err))
            fault = -1;
        else if (!(value >= m->low && value <= m->high))
            fault = nm_yaml_fail(node, err, "%s: %g is not between %g and %g", m->key, value, m->low, m->high);
        else if ((m->how & WHOLE) && value != floor(value))
            fault = nm_yaml_fail(node, err, "%s: %g is not a whole number", m->key, value);
        else
            *m->value = value;
    }
    return fault;
}

/* The map under a key, checked to be one; NULL without fault if the key is absent. */
static const struct nm_yaml *section(const struct nm_yaml *file, const char *key, int *fault, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(file, key);
    if (!node || node->kind == NM_YAML_MAP) return node;
    *fault = nm_yaml_fail(node, err, "%s must be a map", key);
    return NULL;
}

static int unknown(const struct nm_yaml *node, const char *what, const char *name, const char *near, struct nm_err *err)
{
    return nm_yaml_fail(node, err, "there is no %s called %s%s%s%s", what, name, near ? "; did you mean " : "",
                        near ? near : "", near ? "?" : "");
}

static int32_t joint_named(struct body_build *b, const struct nm_yaml *node, const char *name)
{
    const char *names[NM_JOINTS];
    int32_t at = nm_find_joint(b->body, name);
    for (uint32_t i = 0; i < b->body->n_joints; i++) names[i] = b->body->joints[i].name;
    if (at < 0) unknown(node, "moving joint", name, nm_nearest(name, names, b->body->n_joints), b->err);
    return at;
}

static int32_t frame_named(struct body_build *b, const struct nm_yaml *node)
{
    const char *names[NM_FRAMES], *name;
    if (nm_yaml_text(node, &name, b->err)) return -1;
    int32_t at = nm_find_frame(b->body, name);
    for (uint32_t i = 0; i < b->body->n_frames; i++) names[i] = b->body->frames[i].name;
    if (at < 0) unknown(node, "link or frame", name, nm_nearest(name, names, b->body->n_frames), b->err);
    return at;
}

static int read_offers(struct nm_body *body, const struct nm_yaml *list, struct nm_err *err)
{
    static const char *const names[] = {"joint_goals", "walk_velocity"};
    body->offers = 0;
    nm_yaml_each(node, list)
    {
        const char *name;
        if (nm_yaml_text(node, &name, err)) return -1;
        uint32_t i = 0;
        while (i < 2 && strcmp(names[i], name)) i++;
        if (i == 2) return nm_yaml_fail(node, err, "%s is none of joint_goals, walk_velocity", name);
        body->offers |= 1u << i;
    }
    return body->offers ? 0 : nm_yaml_fail(list, err, "offers: at least one of joint_goals, walk_velocity");
}

static int read_group(struct body_build *b, const struct nm_yaml *list, struct nm_group *group)
{
    if (list->kind != NM_YAML_LIST || !list->n || list->n > NM_GROUP)
        return nm_yaml_fail(list, b->err, "%s: 1 to %d joints in a list, from the base outwards", list->key, NM_GROUP);
    nm_yaml_each(node, list)
    {
        const char *name;
        if (nm_yaml_text(node, &name, b->err)) return -1;
        int32_t joint = joint_named(b, node, name);
        if (joint < 0) return -1;
        uint32_t before = group->n ? group->joints[group->n - 1] + 1 : 0;
        if (group->n && b->body->joints[joint].parent != before)
            return nm_yaml_fail(node, b->err, "%s is not carried by the joint before it", name);
        group->joints[group->n++] = (uint32_t)joint;
    }
    group->end = group->joints[group->n - 1] + 1;
    return 0;
}

static int read_groups(struct body_build *b, const struct nm_yaml *map)
{
    static const char *const names[] = {"left_leg", "right_leg", "left_arm", "right_arm", "head"};
    struct nm_body *body = b->body;
    struct nm_group *groups[] = {&body->leg[0], &body->leg[1], &body->arm[0], &body->arm[1], &body->head};
    if (nm_yaml_keys(map, names, 5, b->err)) return -1;
    int fault = 0;
    for (int i = 0; i < 5; i++) {
        const struct nm_yaml *list = nm_yaml_get(map, names[i]);
        if (list) fault |= read_group(b, list, groups[i]);
    }
    return fault;
}

/* Three numbers of a place, m, and perhaps three of the turn, rad. */
static int read_pose(const struct nm_yaml *list, struct pose3 *pose, struct nm_err *err)
{
    double v[6] = {0};
    uint32_t n = 0;
    if (!list || list->kind != NM_YAML_LIST || (list->n != 3 && list->n != 6))
        return nm_yaml_fail(list, err, "a place is expected here: [x, y, z] or [x, y, z, roll, pitch, yaw]");
    nm_yaml_each(node, list)
    {
        if (nm_yaml_number(node, &v[n], err)) return -1;
        if (!(fabs(v[n++]) < 100)) return nm_yaml_fail(node, err, "%g is too large for a place", v[n - 1]);
    }
    *pose = (struct pose3){quat_rpy(v[3], v[4], v[5]), {v[0], v[1], v[2]}};
    return 0;
}

/* A sole that the URDF does not have, by its place on the last link of the leg. */
static int make_sole(struct body_build *b, const struct nm_yaml *node, int side)
{
    const struct nm_group *leg = &b->body->leg[side];
    struct pose3 pose;
    if (!leg->n) return nm_yaml_fail(node, b->err, "sole: name the leg under groups first");
    if (read_pose(node, &pose, b->err)) return -1;
    int32_t frame =
        build_frame(b, side == NM_LEFT ? "nm_left_sole" : "nm_right_sole", leg->joints[leg->n - 1] + 1, pose);
    if (frame < 0) return nm_yaml_fail(node, b->err, "sole: there is no room for one more frame");
    b->body->foot[side].sole = (uint32_t)frame;
    return 0;
}

static int read_foot(struct body_build *b, const struct nm_yaml *map, int side)
{
    struct nm_foot *foot = &b->body->foot[side];
    static const char *const keys[] = {"sole", "toe", "cells"};
    const struct nm_yaml *node;
    int32_t frame;
    if (nm_yaml_keys(map, keys, 3, b->err)) return -1;
    if ((node = nm_yaml_get(map, "sole")) && node->kind == NM_YAML_LIST) {
        if (make_sole(b, node, side)) return -1;
    } else if (node) {
        if ((frame = frame_named(b, node)) < 0) return -1;
        foot->sole = (uint32_t)frame;
    }
    if ((node = nm_yaml_get(map, "toe")) && (foot->toe = frame_named(b, node)) < 0) return -1;
    nm_yaml_each(cell, nm_yaml_get(map, "cells"))
    {
        if (foot->n_cells == NM_CELLS) return nm_yaml_fail(cell, b->err, "cells: more than %d", NM_CELLS);
        if ((frame = frame_named(b, cell)) < 0) return -1;
        foot->cells[foot->n_cells++] = (uint32_t)frame;
    }
    return 0;
}

static int read_feet(struct body_build *b, const struct nm_yaml *map)
{
    static const char *const keys[] = {"left", "right"};
    int fault = nm_yaml_keys(map, keys, 2, b->err);
    for (int i = 0; i < 2 && !fault; i++) {
        const struct nm_yaml *foot = nm_yaml_get(map, keys[i]);
        if (foot) fault |= read_foot(b, foot, i);
    }
    return fault;
}

static int read_excludes(struct body_build *b, const struct nm_yaml *list)
{
    if (list->kind != NM_YAML_LIST) return nm_yaml_fail(list, b->err, "exclude must be a list of pairs of links");
    uint32_t(*pairs)[2] = nm_take(b->arena, sizeof *pairs * (list->n + 1));
    nm_yaml_each(pair, list)
    {
        if (pair->kind != NM_YAML_LIST || pair->n != 2)
            return nm_yaml_fail(pair, b->err, "exclude: pairs of links are expected, as in [torso, left_thigh]");
        int32_t first = frame_named(b, pair->first), second = first < 0 ? -1 : frame_named(b, pair->first->next);
        if (second < 0) return -1;
        pairs[b->body->n_excludes][0] = b->body->frames[first].link;
        pairs[b->body->n_excludes++][1] = b->body->frames[second].link;
    }
    b->body->excludes = (const uint32_t(*)[2])pairs;
    return 0;
}

/* box: edges; capsule: radius and length; sphere: radius; cylinder: radius and length */
static int read_shape(struct body_build *b, const struct nm_yaml *map, struct nm_link_shape *s)
{
    static const char *const keys[] = {"link", "at", "box", "sphere", "cylinder", "capsule"};
    static const uint32_t numbers[] = {3, 1, 2, 2};
    int32_t frame = -1;
    uint32_t n = 0, i = 0;
    double v[3] = {0};
    if (map->kind != NM_YAML_MAP || nm_yaml_keys(map, keys, 6, b->err) || !nm_yaml_get(map, "link"))
        return nm_yaml_fail(map, b->err, "shapes: {link: …, at: […], box: […]} is expected here");
    if ((frame = frame_named(b, nm_yaml_get(map, "link"))) < 0) return -1;
    if (read_pose(nm_yaml_get(map, "at"), &s->to_link, b->err)) return -1;
    while (i < 4 && !nm_yaml_get(map, keys[i + 2])) i++;
    const struct nm_yaml *size = i < 4 ? nm_yaml_get(map, keys[i + 2]) : NULL;
    if (!size || size->kind != NM_YAML_LIST || size->n != numbers[i])
        return nm_yaml_fail(map, b->err, "shapes: a box has three edges, a sphere one radius, others two numbers");
    nm_yaml_each(node, size)
    {
        if (nm_yaml_number(node, &v[n], b->err)) return -1;
        if (!(v[n] > 0 && v[n] < 10)) return nm_yaml_fail(node, b->err, "%g m is no size", v[n]);
        n++;
    }
    s->kind = i == 0 ? NM_BOX : i == 1 ? NM_SPHERE : NM_CYLINDER;
    s->round = i == 3;
    s->size = i == 0 ? (struct vec3){v[0], v[1], v[2]} : (struct vec3){v[0], 0, v[1]};
    s->link = b->body->frames[frame].link;
    s->frame = (uint32_t)frame;
    s->to_link = pose_mul(b->body->frames[frame].to_link, s->to_link);
    return 0;
}

static int read_inertia(struct body_build *b, const struct nm_yaml *node)
{
    const char *word;
    if (nm_yaml_text(node, &word, b->err)) return -1;
    b->fit_inertia = !strcmp(word, "fitted");
    return b->fit_inertia || !strcmp(word, "written")
               ? 0
               : nm_yaml_fail(node, b->err, "inertia: %s is none of written, fitted", word);
}

/* They take the place of all that stood for meshes on their links. */
static int read_shapes(struct body_build *b, const struct nm_yaml *list)
{
    struct nm_body *body = b->body;
    if (list->kind != NM_YAML_LIST || list->n > NM_URDF_SHAPES)
        return nm_yaml_fail(list, b->err, "shapes must be a list");
    struct nm_link_shape *all = nm_take_n(b->arena, struct nm_link_shape, body->n_collisions + list->n + 1);
    bool given[NM_LINKS] = {false};
    uint32_t n = 0, kept = 0;
    nm_yaml_each(map, list)
    {
        all[n].rgba[0] = all[n].rgba[1] = all[n].rgba[2] = 0.8f, all[n].rgba[3] = 1;
        if (read_shape(b, map, &all[n])) return -1;
        given[all[n++].link] = true;
    }
    kept = n;
    for (uint32_t i = 0; i < body->n_collisions; i++)
        if (!given[body->collisions[i].link] || !body->collisions[i].mesh) all[kept++] = body->collisions[i];
    body->collisions = all;
    body->n_collisions = kept;
    return 0;
}

int build_robot_file(struct body_build *b, const struct nm_yaml *file)
{
    /* `kinds` is in older folders; nothing reads it */
    static const char *const keys[] = {"name", "about", "height",  "offers",  "kinds",  "groups",
                                       "feet", "imu",   "exclude", "forward", "shapes", "inertia"};
    const struct nm_yaml *node;
    struct nm_body *body = b->body;
    if (nm_yaml_keys(file, keys, sizeof keys / sizeof *keys, b->err)) return -1;
    const struct build_member members[] = {{"height", &body->height, 0.05, 5, OPTIONAL}};
    int fault = build_members(file, members, 1, b->err);
    if ((node = nm_yaml_get(file, "name"))) fault |= nm_yaml_text(node, &body->name, b->err);
    if ((node = nm_yaml_get(file, "about"))) fault |= nm_yaml_text(node, &body->about, b->err);
    if ((node = nm_yaml_get(file, "offers"))) fault |= read_offers(body, node, b->err);
    if ((node = section(file, "groups", &fault, b->err))) fault |= read_groups(b, node);
    if ((node = section(file, "feet", &fault, b->err))) fault |= read_feet(b, node);
    if ((node = nm_yaml_get(file, "shapes"))) fault |= read_shapes(b, node);
    if ((node = nm_yaml_get(file, "inertia"))) fault |= read_inertia(b, node);
    if ((node = nm_yaml_get(file, "exclude"))) fault |= read_excludes(b, node);
    if ((node = nm_yaml_get(file, "imu")) && (body->imu = frame_named(b, node)) < 0) fault = -1;
    return fault;
}

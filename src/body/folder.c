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

static int read_kinds(struct body_build *b, const struct nm_yaml *list)
{
    if (list->kind != NM_YAML_LIST) return nm_yaml_fail(list, b->err, "kinds must be a list of names");
    const char **kinds = nm_take_n(b->arena, const char *, list->n + 1);
    nm_yaml_each(node, list)
    {
        if (nm_yaml_text(node, &kinds[b->body->n_kinds], b->err)) return -1;
        b->body->n_kinds++;
    }
    b->body->kinds = kinds;
    return 0;
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
        if (b->body->joints[joint].parent != before)
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

static int read_foot(struct body_build *b, const struct nm_yaml *map, struct nm_foot *foot)
{
    static const char *const keys[] = {"sole", "toe", "cells"};
    const struct nm_yaml *node;
    int32_t frame;
    if (nm_yaml_keys(map, keys, 3, b->err)) return -1;
    if ((node = nm_yaml_get(map, "sole"))) {
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
        if (foot) fault |= read_foot(b, foot, &b->body->foot[i]);
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

int build_robot_file(struct body_build *b, const char *path)
{
    static const char *const keys[] = {"name",   "about", "height", "offers", "kinds",
                                       "groups", "feet",  "imu",    "exclude"};
    const struct nm_yaml *file = nm_yaml_read(b->arena, path, b->err), *node;
    struct nm_body *body = b->body;
    if (!file || nm_yaml_keys(file, keys, sizeof keys / sizeof *keys, b->err)) return -1;
    const struct build_member members[] = {{"height", &body->height, 0.05, 5, OPTIONAL}};
    int fault = build_members(file, members, 1, b->err);
    if ((node = nm_yaml_get(file, "name"))) fault |= nm_yaml_text(node, &body->name, b->err);
    if ((node = nm_yaml_get(file, "about"))) fault |= nm_yaml_text(node, &body->about, b->err);
    if ((node = nm_yaml_get(file, "offers"))) fault |= read_offers(body, node, b->err);
    if ((node = nm_yaml_get(file, "kinds"))) fault |= read_kinds(b, node);
    if ((node = section(file, "groups", &fault, b->err))) fault |= read_groups(b, node);
    if ((node = section(file, "feet", &fault, b->err))) fault |= read_feet(b, node);
    if ((node = nm_yaml_get(file, "exclude"))) fault |= read_excludes(b, node);
    if ((node = nm_yaml_get(file, "imu")) && (body->imu = frame_named(b, node)) < 0) fault = -1;
    return fault;
}

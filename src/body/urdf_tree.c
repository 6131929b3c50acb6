#include "body/urdf_tree.h"

#include <string.h>

static int fail_at(const struct nm_urdf *u, uint32_t line, struct nm_err *err, const char *text, const char *a,
                   const char *b)
{
    return nm_fail(err, "%s:%u: %s %s %s", u->file, line, text, a, b);
}

static int32_t find_link(const struct nm_urdf *u, const char *name)
{
    for (uint32_t i = 0; i < u->n_links; i++)
        if (!strcmp(u->links[i].name, name)) return (int32_t)i;
    return -1;
}

static int32_t find_joint(const struct nm_urdf *u, const char *name)
{
    for (uint32_t i = 0; i < u->n_joints; i++)
        if (!strcmp(u->joints[i].name, name)) return (int32_t)i;
    return -1;
}

static int unique_names(const struct nm_urdf *u, struct nm_err *err)
{
    int ok = 0;
    for (uint32_t i = 0; i < u->n_links; i++)
        if (find_link(u, u->links[i].name) != (int32_t)i)
            ok = fail_at(u, u->links[i].line, err, "a second link is named", u->links[i].name, "");
    for (uint32_t i = 0; i < u->n_joints; i++)
        if (find_joint(u, u->joints[i].name) != (int32_t)i)
            ok = fail_at(u, u->joints[i].line, err, "a second joint is named", u->joints[i].name, "");
    return ok;
}

static int unknown_link(const struct nm_urdf *u, const struct nm_urdf_joint *j, const char *name, struct nm_err *err)
{
    const char *names[NM_URDF_LINKS];
    for (uint32_t i = 0; i < u->n_links; i++) names[i] = u->links[i].name;
    const char *near = nm_nearest(name, names, u->n_links);
    return nm_fail(err, "%s:%u: joint %s names the link %s, which does not exist%s%s%s", u->file, j->line, j->name,
                   name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int resolve_joint(struct nm_urdf *u, uint32_t i, const struct urdf_names *names, struct nm_err *err)
{
    struct nm_urdf_joint *j = &u->joints[i];
    int32_t parent = find_link(u, names->parent), child = find_link(u, names->child);
    int ok = 0;
    if (parent < 0) ok = unknown_link(u, j, names->parent, err);
    if (child < 0) ok = unknown_link(u, j, names->child, err);
    if (ok) return ok;
    j->parent = (uint32_t)parent;
    j->child = (uint32_t)child;
    if (parent == child) return fail_at(u, j->line, err, "joint", j->name, "joins a link to itself");
    if (u->links[child].joint >= 0)
        return nm_fail(err, "%s:%u: joint %s carries the link %s, which joint %s (line %u) carries already", u->file,
                       j->line, j->name, names->child, u->joints[u->links[child].joint].name,
                       u->joints[u->links[child].joint].line);
    u->links[child].joint = (int32_t)i;

    if (names->mimic) {
        j->mimic = find_joint(u, names->mimic);
        if (j->mimic < 0)
            return nm_fail(err, "%s:%u: joint %s mimics the joint %s, which does not exist", u->file, j->line, j->name,
                           names->mimic);
    }
    if (!j->limited && (j->type == NM_REVOLUTE || j->type == NM_PRISMATIC))
        nm_fail(u->notes, "%s:%u: joint %s has no limits", u->file, j->line, j->name);
    return 0;
}

/* A joint that mimics a mimic follows the first in the row; a ring of them is a fault. */
static int resolve_mimics(struct nm_urdf *u, struct nm_err *err)
{
    for (uint32_t i = 0; i < u->n_joints; i++) {
        struct nm_urdf_joint *j = &u->joints[i];
        for (uint32_t steps = 0; j->mimic >= 0 && u->joints[j->mimic].mimic >= 0; steps++) {
            const struct nm_urdf_joint *next = &u->joints[j->mimic];
            if (steps > u->n_joints || next->mimic == (int32_t)i || j->mimic == (int32_t)i)
                return fail_at(u, j->line, err, "joint", j->name, "mimics itself");
            j->offset += j->multiplier * next->offset;
            j->multiplier *= next->multiplier;
            j->mimic = next->mimic;
        }
        if (j->mimic >= 0 && u->joints[j->mimic].type == NM_FIXED)
            return fail_at(u, j->line, err, "joint", j->name, "mimics a fixed joint");
        if (!isfinite(j->offset) || !isfinite(j->multiplier))
            return fail_at(u, j->line, err, "joint", j->name, "mimics with numbers that are not finite");
    }
    return 0;
}

/* Every link must lead to the root in fewer steps than there are links. */
static int one_tree(struct nm_urdf *u, struct nm_err *err)
{
    int32_t root = -1;
    for (uint32_t i = 0; i < u->n_links; i++) {
        if (u->links[i].joint >= 0) continue;
        if (root >= 0)
            return nm_fail(err, "%s:%u: link %s is a second root besides %s (line %u): a joint must carry it", u->file,
                           u->links[i].line, u->links[i].name, u->links[root].name, u->links[root].line);
        root = (int32_t)i;
    }
    for (uint32_t i = 0; i < u->n_links; i++) {
        int32_t at = (int32_t)i;
        for (uint32_t steps = 0; steps <= u->n_links && u->links[at].joint >= 0; steps++)
            at = (int32_t)u->joints[u->links[at].joint].parent;
        if (at != root || root < 0)
            return fail_at(u, u->links[i].line, err, "link", u->links[i].name,
                           "hangs in a loop of joints without a root");
    }
    u->root = (uint32_t)root;
    return 0;
}

int urdf_tree(struct nm_urdf *u, const struct urdf_names *names, struct nm_err *err)
{
    if (!u->n_links) return nm_fail(err, "%s: the robot has no link", u->file);
    if (unique_names(u, err)) return -1;
    int ok = 0;
    for (uint32_t i = 0; i < u->n_joints; i++) ok |= resolve_joint(u, i, &names[i], err);
    return ok ? -1 : resolve_mimics(u, err) || one_tree(u, err) ? -1 : 0;
}

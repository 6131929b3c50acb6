#include "body/urdf.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/whole.h"
#include "body/xacro.h"

struct urdf_names { /* of one joint, as written; mimic may be NULL */
    const char *parent, *child, *mimic;
};

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

/* 0, or -1 with every fault found. */
static int urdf_tree(struct nm_urdf *u, const struct urdf_names *names, struct nm_err *err)
{
    if (!u->n_links) return nm_fail(err, "%s: the robot has no link", u->file);
    if (unique_names(u, err)) return -1;
    int ok = 0;
    for (uint32_t i = 0; i < u->n_joints; i++) ok |= resolve_joint(u, i, &names[i], err);
    return ok ? -1 : resolve_mimics(u, err) || one_tree(u, err) ? -1 : 0;
}

/* where in the document we are: the element that is open */
enum place { FILE_TOP, ROBOT, LINK, INERTIAL, VISUAL, COLLISION, GEOMETRY, MATERIAL, PALETTE, JOINT, LEAF };

struct shape_node {
    struct nm_link_shape shape;
    const char *material; /* named elsewhere in the file, or NULL */
    struct shape_node *next;
};

struct material {
    const char *name;
    float rgba[4];
    struct material *next;
};

struct reader {
    XML_Parser xml;
    struct nm_arena *arena;
    struct nm_err *err;
    const char *file;
    bool failed;

    enum place open[NM_URDF_DEPTH];
    uint32_t depth;   /* elements of ours that are open     */
    uint32_t skipped; /* elements open inside a foreign one */

    struct nm_urdf *urdf;
    struct urdf_names *names;          /* parent, child and mimic of each joint, as written */
    struct shape_node *shapes, **last; /* in the order of the file                          */
    struct shape_node *shape;          /* the open one                                      */
    struct nm_urdf_link *link;         /* the open one                                      */
    struct nm_urdf_joint *joint;
    struct pose3 inertia_to_link;
    struct material *palette, *colour;
    uint32_t n_shapes;
};

/* Ends the reading: expat calls no handler after this one. */
static void fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct reader *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!r->failed) nm_fail(r->err, "%s:%lu: %s", r->file, (unsigned long)XML_GetCurrentLineNumber(r->xml), text);
    r->failed = true;
    XML_StopParser(r->xml, XML_FALSE);
}

static const char *attribute(const char **pairs, const char *name)
{
    for (; pairs[0]; pairs += 2)
        if (!strcmp(pairs[0], name)) return pairs[1];
    return NULL;
}

static const char *skip_space(const char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') s++;
    return s;
}

/* Exactly n decimal numbers, none so large that products of them could overflow. */
static bool read_numbers(const char *text, double *out, int n)
{
    for (int i = 0; i < n; i++) {
        text = skip_space(text);
        size_t length = strspn(text, "+-.0123456789eE");
        char *end;
        if (!length || length > 60) return false;
        out[i] = strtod(text, &end);
        if (end != text + length || !(fabs(out[i]) <= 1e30)) return false;
        text = end;
    }
    return !*skip_space(text);
}

/* The attribute's n numbers; absent: they stay as they are, and that is a fault if `needed`. */
static void numbers(struct reader *r, const char **pairs, const char *name, double *out, int n, bool needed)
{
    const char *text = attribute(pairs, name);
    if (!text && needed) fail(r, "attribute %s is missing", name);
    if (text && !read_numbers(text, out, n))
        fail(r, "%s=\"%.40s\" is not %s", name, text, n == 1 ? "a number" : n == 3 ? "three numbers" : "four numbers");
}

static const char *name_of(struct reader *r, const char **pairs, const char *what)
{
    const char *name = attribute(pairs, what);
    if (!name || !*name) {
        fail(r, "attribute %s is missing or empty", what);
        return "";
    }
    if (strlen(name) > NM_URDF_NAME) fail(r, "%s is longer than %d characters", what, NM_URDF_NAME);
    return r->failed ? "" : nm_take_text(r->arena, name);
}

static void on_robot(struct reader *r, const char **a)
{
    const char *name = attribute(a, "name");
    if (name && strlen(name) > NM_URDF_NAME) fail(r, "name is longer than %d characters", NM_URDF_NAME);
    r->urdf->name = nm_take_text(r->arena, name && !r->failed ? name : "robot");
}

static void on_link(struct reader *r, const char **a)
{
    struct nm_urdf *u = r->urdf;
    if (u->n_links == NM_URDF_LINKS) return fail(r, "more than %d links", NM_URDF_LINKS);
    r->link = &u->links[u->n_links++];
    *r->link = (struct nm_urdf_link){.name = name_of(r, a, "name"), .joint = -1};
    r->link->line = (uint32_t)XML_GetCurrentLineNumber(r->xml);
}

static void on_joint(struct reader *r, const char **a)
{
    static const struct {
        const char *name;
        enum nm_joint_type type;
        bool odd;
    } types[] = {{"revolute", NM_REVOLUTE, 0}, {"continuous", NM_CONTINUOUS, 0}, {"prismatic", NM_PRISMATIC, 0},
                 {"fixed", NM_FIXED, 0},       {"floating", NM_FIXED, 1},        {"planar", NM_FIXED, 1}};
    struct nm_urdf *u = r->urdf;
    if (u->n_joints == NM_URDF_LINKS) return fail(r, "more than %d joints", NM_URDF_LINKS);
    struct nm_urdf_joint *j = r->joint = &u->joints[u->n_joints++];
    *j = (struct nm_urdf_joint){.name = name_of(r, a, "name"), .to_parent = POSE_IDENTITY, .axis = {1, 0, 0}};
    j->line = (uint32_t)XML_GetCurrentLineNumber(r->xml);
    j->mimic = -1;
    j->velocity = j->effort = INFINITY;

    const char *type = attribute(a, "type");
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i].name)) {
            j->type = types[i].type;
            if (types[i].odd)
                nm_fail(u->notes, "%s:%u: joint %s is %s: taken as fixed, because only the base moves freely", r->file,
                        j->line, j->name, type);
            return;
        }
    fail(r, "joint %s: type \"%.40s\" is none of revolute, continuous, prismatic, fixed, floating, planar", j->name,
         type ? type : "");
}

static void on_shape(struct reader *r, bool visual)
{
    if (r->n_shapes++ == NM_URDF_SHAPES) return fail(r, "more than %d shapes", NM_URDF_SHAPES);
    struct shape_node *node = r->shape = nm_take_n(r->arena, struct shape_node, 1);
    node->shape = (struct nm_link_shape){.size = {-1, -1, -1}, .to_link = POSE_IDENTITY, .rgba = {0.8f, 0.8f, 0.8f, 1}};
    node->shape.link = (uint32_t)(r->link - r->urdf->links);
    node->shape.frame = visual; /* until flattened */
    *r->last = node;
    r->last = &node->next;
}

static void on_visual(struct reader *r, const char **a) { (void)a, on_shape(r, true); }
static void on_collision(struct reader *r, const char **a) { (void)a, on_shape(r, false); }

static struct pose3 read_origin(struct reader *r, const char **a)
{
    double xyz[3] = {0}, rpy[3] = {0};
    numbers(r, a, "xyz", xyz, 3, false);
    numbers(r, a, "rpy", rpy, 3, false);
    return (struct pose3){quat_rpy(rpy[0], rpy[1], rpy[2]), {xyz[0], xyz[1], xyz[2]}};
}

static void on_shape_origin(struct reader *r, const char **a) { r->shape->shape.to_link = read_origin(r, a); }
static void on_joint_origin(struct reader *r, const char **a) { r->joint->to_parent = read_origin(r, a); }
static void on_inertial(struct reader *r, const char **a) { (void)a, r->inertia_to_link = POSE_IDENTITY; }
static void on_inertial_origin(struct reader *r, const char **a)
{
    r->inertia_to_link = read_origin(r, a);
    r->link->inertia.com = r->inertia_to_link.pos;
}

static void on_mass(struct reader *r, const char **a)
{
    numbers(r, a, "value", &r->link->inertia.mass, 1, true);
    if (r->link->inertia.mass < 0) fail(r, "link %s: the mass is negative", r->link->name);
}

static void on_inertia(struct reader *r, const char **a)
{
    static const char *const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    double v[6] = {0};
    for (int i = 0; i < 6; i++) numbers(r, a, names[i], &v[i], 1, i < 3);
    struct nm_inertia *n = &r->link->inertia;
    n->xx = v[0], n->yy = v[1], n->zz = v[2], n->xy = v[3], n->xz = v[4], n->yz = v[5];
}

static void set_shape(struct reader *r, enum nm_shape_kind kind, const double size[3])
{
    for (int i = 0; i < 3; i++)
        if (size[i] < 0) return fail(r, "a size is negative");
    r->shape->shape.kind = kind;
    r->shape->shape.size = (struct vec3){size[0], size[1], size[2]};
}

static void on_box(struct reader *r, const char **a)
{
    double size[3] = {0};
    numbers(r, a, "size", size, 3, true);
    set_shape(r, NM_BOX, size);
}

static void on_sphere(struct reader *r, const char **a)
{
    double size[3] = {0};
    numbers(r, a, "radius", &size[0], 1, true);
    set_shape(r, NM_SPHERE, size);
}

static void on_cylinder(struct reader *r, const char **a)
{
    double size[3] = {0};
    numbers(r, a, "radius", &size[0], 1, true);
    numbers(r, a, "length", &size[2], 1, true);
    set_shape(r, NM_CYLINDER, size);
}

static void on_mesh(struct reader *r, const char **a)
{
    const char *file = attribute(a, "filename");
    double scale[3] = {1, 1, 1};
    if (!file || !*file || strlen(file) > 1024) return fail(r, "mesh without a filename of at most 1024 characters");
    numbers(r, a, "scale", scale, 3, false);
    r->shape->shape.kind = NM_MESH;
    r->shape->shape.size = (struct vec3){scale[0], scale[1], scale[2]};
    r->shape->shape.mesh = nm_take_text(r->arena, file);
}

static void on_use_material(struct reader *r, const char **a)
{
    const char *name = attribute(a, "name");
    if (name && *name) r->shape->material = name_of(r, a, "name");
}

static void read_colour(struct reader *r, const char **a, float rgba[4])
{
    double v[4] = {0};
    numbers(r, a, "rgba", v, 4, true);
    for (int i = 0; i < 4; i++) rgba[i] = (float)fmin(fmax(v[i], 0), 1);
}

static void on_shape_colour(struct reader *r, const char **a)
{
    read_colour(r, a, r->shape->shape.rgba);
    r->shape->material = NULL;
}

static void on_palette(struct reader *r, const char **a)
{
    if (r->n_shapes++ == NM_URDF_SHAPES) return fail(r, "more than %d shapes and materials", NM_URDF_SHAPES);
    struct material *m = r->colour = nm_take_n(r->arena, struct material, 1);
    *m = (struct material){name_of(r, a, "name"), {0.8f, 0.8f, 0.8f, 1}, r->palette};
    r->palette = m;
}

static void on_palette_colour(struct reader *r, const char **a) { read_colour(r, a, r->colour->rgba); }

static void on_parent(struct reader *r, const char **a)
{
    r->names[r->joint - r->urdf->joints].parent = name_of(r, a, "link");
}

static void on_child(struct reader *r, const char **a)
{
    r->names[r->joint - r->urdf->joints].child = name_of(r, a, "link");
}

static void on_axis(struct reader *r, const char **a)
{
    double v[3] = {1, 0, 0};
    numbers(r, a, "xyz", v, 3, true);
    struct vec3 axis = {v[0], v[1], v[2]};
    double length = vec3_norm(axis);
    if (r->joint->type == NM_FIXED) return; /* exporters write 0 0 0 there */
    if (!(length > 1e-6 && length < 1e6)) return fail(r, "joint %s: the axis has no direction", r->joint->name);
    r->joint->axis = vec3_scale(axis, 1 / length);
}

static void on_limit(struct reader *r, const char **a)
{
    struct nm_urdf_joint *j = r->joint;
    j->limited = attribute(a, "lower") || attribute(a, "upper");
    numbers(r, a, "lower", &j->lower, 1, false);
    numbers(r, a, "upper", &j->upper, 1, false);
    numbers(r, a, "velocity", &j->velocity, 1, false);
    numbers(r, a, "effort", &j->effort, 1, false);
    if (j->lower > j->upper) fail(r, "joint %s: the lower limit %g is above the upper %g", j->name, j->lower, j->upper);
    if (j->velocity < 0 || j->effort < 0) fail(r, "joint %s: velocity and effort limits are not negative", j->name);
    if (j->velocity == 0) j->velocity = INFINITY; /* exporters of CAD programs write 0 for what they do not know */
    if (j->effort == 0) j->effort = INFINITY;
}

static void on_dynamics(struct reader *r, const char **a)
{
    numbers(r, a, "damping", &r->joint->damping, 1, false);
    numbers(r, a, "friction", &r->joint->friction, 1, false);
}

static void on_mimic(struct reader *r, const char **a)
{
    r->names[r->joint - r->urdf->joints].mimic = name_of(r, a, "joint");
    r->joint->multiplier = 1;
    numbers(r, a, "multiplier", &r->joint->multiplier, 1, false);
    numbers(r, a, "offset", &r->joint->offset, 1, false);
}

static const struct rule {
    enum place in;
    const char *name;
    enum place to;
    void (*start)(struct reader *, const char **attributes);
} rules[] = {
    {FILE_TOP, "robot", ROBOT, on_robot},
    {ROBOT, "link", LINK, on_link},
    {ROBOT, "joint", JOINT, on_joint},
    {ROBOT, "material", PALETTE, on_palette},
    {PALETTE, "color", LEAF, on_palette_colour},
    {LINK, "inertial", INERTIAL, on_inertial},
    {LINK, "visual", VISUAL, on_visual},
    {LINK, "collision", COLLISION, on_collision},
    {INERTIAL, "origin", LEAF, on_inertial_origin},
    {INERTIAL, "mass", LEAF, on_mass},
    {INERTIAL, "inertia", LEAF, on_inertia},
    {VISUAL, "origin", LEAF, on_shape_origin},
    {VISUAL, "geometry", GEOMETRY, NULL},
    {VISUAL, "material", MATERIAL, on_use_material},
    {MATERIAL, "color", LEAF, on_shape_colour},
    {COLLISION, "origin", LEAF, on_shape_origin},
    {COLLISION, "geometry", GEOMETRY, NULL},
    {GEOMETRY, "box", LEAF, on_box},
    {GEOMETRY, "sphere", LEAF, on_sphere},
    {GEOMETRY, "cylinder", LEAF, on_cylinder},
    {GEOMETRY, "mesh", LEAF, on_mesh},
    {JOINT, "origin", LEAF, on_joint_origin},
    {JOINT, "parent", LEAF, on_parent},
    {JOINT, "child", LEAF, on_child},
    {JOINT, "axis", LEAF, on_axis},
    {JOINT, "limit", LEAF, on_limit},
    {JOINT, "dynamics", LEAF, on_dynamics},
    {JOINT, "mimic", LEAF, on_mimic},
};

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    struct reader *r = user;
    if (r->failed) return;
    if (r->depth + r->skipped + 1 >= NM_URDF_DEPTH) return fail(r, "elements nested deeper than %d", NM_URDF_DEPTH);
    if (!strncmp(name, "xacro:", 6)) return fail(r, "this is a xacro file, which must be expanded first");
    if (r->skipped) {
        r->skipped++;
        return;
    }
    enum place here = r->open[r->depth];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].in != here || strcmp(rules[i].name, name)) continue;
        r->open[++r->depth] = rules[i].to;
        if (rules[i].start) rules[i].start(r, attributes);
        return;
    }
    if (here == FILE_TOP) return fail(r, "the file begins with <%.40s>, a URDF begins with <robot>", name);
    r->skipped = 1;
}

/* The inertia tensor was written in its own axes; turn it into the link's. */
static void turn_inertia(struct reader *r)
{
    struct nm_inertia *n = &r->link->inertia;
    struct mat3 rot = quat_to_mat3(r->inertia_to_link.rot);
    struct mat3 tensor = {{{n->xx, n->xy, n->xz}, {n->xy, n->yy, n->yz}, {n->xz, n->yz, n->zz}}};
    struct mat3 t = mat3_mul(mat3_mul(rot, tensor), mat3_transpose(rot));
    n->xx = t.m[0][0], n->yy = t.m[1][1], n->zz = t.m[2][2];
    n->xy = t.m[0][1], n->xz = t.m[0][2], n->yz = t.m[1][2];
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct reader *r = user;
    (void)name;
    if (r->failed) return;
    if (r->skipped) {
        r->skipped--;
        return;
    }
    enum place place = r->open[r->depth--];
    if (place == INERTIAL) turn_inertia(r);
    if ((place == VISUAL || place == COLLISION) && r->shape->shape.size.x < 0 && r->shape->shape.kind != NM_MESH)
        fail(r, "link %s: a %s without box, sphere, cylinder or mesh", r->link->name,
             place == VISUAL ? "visual" : "collision");
    if (place == JOINT) {
        const struct urdf_names *names = &r->names[r->joint - r->urdf->joints];
        if (!names->parent || !names->child)
            fail(r, "joint %s has no <%s link=…>", r->joint->name, names->parent ? "child" : "parent");
    }
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public, int internal)
{
    (void)name, (void)system, (void)public, (void)internal;
    fail(user, "a document type is not allowed here");
}

/* The list of shapes becomes two arrays; colours that were only named are looked up. */
static void flatten_shapes(struct reader *r)
{
    struct nm_urdf *u = r->urdf;
    u->visuals = nm_take_n(r->arena, struct nm_link_shape, r->n_shapes + 1);
    u->collisions = nm_take_n(r->arena, struct nm_link_shape, r->n_shapes + 1);
    for (struct shape_node *node = r->shapes; node; node = node->next) {
        for (struct material *m = r->palette; m && node->material; m = m->next)
            if (!strcmp(m->name, node->material)) {
                memcpy(node->shape.rgba, m->rgba, sizeof m->rgba);
                break;
            }
        if (node->shape.frame)
            u->visuals[u->n_visuals++] = node->shape;
        else
            u->collisions[u->n_collisions++] = node->shape;
    }
}

static bool read_xml(struct reader *r, const char *text, size_t size)
{
    r->xml = XML_ParserCreate(NULL);
    if (!r->xml) return nm_fail(r->err, "%s: no memory for the XML reader", r->file), false;
    XML_SetUserData(r->xml, r);
    XML_SetElementHandler(r->xml, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(r->xml, on_doctype);
    if (XML_Parse(r->xml, text, (int)size, 1) != XML_STATUS_OK && !r->failed)
        fail(r, "%s", XML_ErrorString(XML_GetErrorCode(r->xml)));
    XML_ParserFree(r->xml);
    return !r->failed;
}

struct nm_urdf *nm_urdf_parse(struct nm_arena *arena, const char *file, const char *text, size_t size,
                              struct nm_err *err)
{
    if (size > NM_URDF_SIZE) return nm_fail(err, "%s: larger than %d bytes", file, NM_URDF_SIZE), NULL;
    struct nm_urdf *u = nm_take_n(arena, struct nm_urdf, 1);
    u->file = nm_take_text(arena, file);
    u->links = nm_take_n(arena, struct nm_urdf_link, NM_URDF_LINKS);
    u->joints = nm_take_n(arena, struct nm_urdf_joint, NM_URDF_LINKS);
    u->notes = nm_take_n(arena, struct nm_err, 1);

    struct reader r = {.arena = arena, .err = err, .file = u->file, .urdf = u};
    r.names = nm_take_n(arena, struct urdf_names, NM_URDF_LINKS);
    r.last = &r.shapes;
    if (!read_xml(&r, text, size)) return NULL;
    flatten_shapes(&r);
    return urdf_tree(u, r.names, err) == 0 ? u : NULL;
}

struct nm_urdf *nm_urdf_read(struct nm_arena *arena, const char *path, struct nm_err *err)
{
    size_t size;
    char *text = nm_read_whole(path, NM_URDF_SIZE, &size, err);
    struct nm_urdf *urdf = NULL;
    if (text && nm_is_xacro(text, size)) {
        char *made = nm_xacro_expand(arena, path, text, size, true, err);
        urdf = made ? nm_urdf_parse(arena, path, made, strlen(made), err) : NULL;
        if (urdf) urdf->text = made;
    } else if (text) {
        urdf = nm_urdf_parse(arena, path, text, size, err);
        if (urdf) urdf->text = nm_take_format(arena, "%.*s", (int)size, text);
    }
    free(text);
    return urdf;
}

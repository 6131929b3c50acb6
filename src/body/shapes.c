/* The shapes of links where a URDF has meshes: boxes and capsules fitted around the corners of the mesh. Where its file
 * is not there, a modest box as large as the mass distribution and the neighbours allow. And inertias that cannot
 * belong to the links they are written for. */
#include <string.h>

#include "body/build.h"
#include "body/mesh.h"

void build_stretch(struct extent *e, struct vec3 at, struct vec3 r)
{
    e->low = (struct vec3){fmin(e->low.x, at.x - r.x), fmin(e->low.y, at.y - r.y), fmin(e->low.z, at.z - r.z)};
    e->high = (struct vec3){fmax(e->high.x, at.x + r.x), fmax(e->high.y, at.y + r.y), fmax(e->high.z, at.z + r.z)};
    e->any = true;
}

static const struct extent nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, false};

struct extent build_extent(const struct body_build *b, int32_t link)
{
    static const struct vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    const struct nm_body *body = b->body;
    struct extent e = nothing;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (link >= 0 && s->link != (uint32_t)link) continue;
        struct pose3 p = pose_mul(b->zero.pose[s->link], s->to_link);
        build_stretch(
            &e, p.pos,
            (struct vec3){nm_shape_reach(s, p.rot, x), nm_shape_reach(s, p.rot, y), nm_shape_reach(s, p.rot, z)});
    }
    return e;
}

/* ---- around a mesh ---- */

/* Eigenvectors of a symmetric matrix by Jacobi's turns, as the columns of a rotation. */
static struct mat3 main_axes(double a[3][3])
{
    struct mat3 v = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int round = 0; round < 30; round++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (!(fabs(a[p][q]) > 1e-18)) continue;
                double theta = 0.5 * atan2(2 * a[p][q], a[q][q] - a[p][p]), c = cos(theta), s = sin(theta);
                for (int k = 0; k < 3; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
                    x = v.m[k][p], y = v.m[k][q];
                    v.m[k][p] = c * x - s * y, v.m[k][q] = s * x + c * y;
                }
            }
    struct vec3 x = {v.m[0][0], v.m[1][0], v.m[2][0]}, y = {v.m[0][1], v.m[1][1], v.m[2][1]}, z = vec3_cross(x, y);
    v.m[0][2] = z.x, v.m[1][2] = z.y, v.m[2][2] = z.z;
    return v;
}

static struct quat quat_of(struct mat3 m)
{
    double w = 1 + m.m[0][0] + m.m[1][1] + m.m[2][2], x = 1 + m.m[0][0] - m.m[1][1] - m.m[2][2],
           y = 1 - m.m[0][0] + m.m[1][1] - m.m[2][2];
    struct quat q = w > 1   ? (struct quat){w, m.m[2][1] - m.m[1][2], m.m[0][2] - m.m[2][0], m.m[1][0] - m.m[0][1]}
                    : x > 1 ? (struct quat){m.m[2][1] - m.m[1][2], x, m.m[0][1] + m.m[1][0], m.m[0][2] + m.m[2][0]}
                    : y > 1 ? (struct quat){m.m[0][2] - m.m[2][0], m.m[0][1] + m.m[1][0], y, m.m[1][2] + m.m[2][1]}
                            : (struct quat){m.m[1][0] - m.m[0][1], m.m[0][2] + m.m[2][0], m.m[1][2] + m.m[2][1],
                                            1 - m.m[0][0] - m.m[1][1] + m.m[2][2]};
    return quat_normal(q);
}

static struct extent box_along(const struct nm_mesh *mesh, struct vec3 scale, struct quat axes)
{
    struct extent e = nothing;
    struct mat3 m = quat_to_mat3(axes);
    for (uint32_t i = 0; i < mesh->n; i++) {
        struct vec3 p = mesh->points[i];
        build_stretch(&e, mat3_apply_inv(&m, (struct vec3){p.x * scale.x, p.y * scale.y, p.z * scale.z}),
                      (struct vec3){0, 0, 0});
    }
    return e;
}

static double volume(struct extent e)
{
    struct vec3 size = vec3_sub(e.high, e.low);
    return fmax(size.x, 1e-3) * fmax(size.y, 1e-3) * fmax(size.z, 1e-3);
}

/* Spread of the corners. */
static struct quat own_axes(const struct nm_mesh *mesh, struct vec3 scale)
{
    double a[3][3] = {{0}}, mean[3] = {0};
    for (uint32_t i = 0; i < mesh->n; i++) {
        const double p[3] = {mesh->points[i].x * scale.x, mesh->points[i].y * scale.y, mesh->points[i].z * scale.z};
        for (int r = 0; r < 3; r++) mean[r] += p[r] / mesh->n;
    }
    for (uint32_t i = 0; i < mesh->n; i++) {
        const double p[3] = {mesh->points[i].x * scale.x - mean[0], mesh->points[i].y * scale.y - mean[1],
                             mesh->points[i].z * scale.z - mean[2]};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) a[r][c] += p[r] * p[c] / mesh->n;
    }
    return quat_of(main_axes(a));
}

/* The box around the corners along the mesh's axes, or along its main axes if that is much smaller. What is long and
 * stands upright becomes a capsule; what lies, as a foot does, stays a box. */
static void fit(struct body_build *b, const struct nm_mesh *mesh, struct nm_link_shape *s)
{
    static const double SMALLER = 0.8, LONG = 1.6, ROUND = 1.5;
    struct vec3 scale = s->size;
    struct quat axes = QUAT_IDENTITY, own = own_axes(mesh, scale);
    struct extent e = box_along(mesh, scale, axes), other = box_along(mesh, scale, own);
    if (volume(other) < SMALLER * volume(e)) axes = own, e = other;
    struct vec3 centre = quat_apply(axes, vec3_scale(vec3_add(e.low, e.high), 0.5));
    s->to_link = pose_mul(s->to_link, (struct pose3){axes, centre});
    s->size = vec3_sub(e.high, e.low);
    s->kind = NM_BOX;

    const double edge[3] = {s->size.x, s->size.y, s->size.z};
    int k = edge[0] > edge[1] ? (edge[0] > edge[2] ? 0 : 2) : edge[1] > edge[2] ? 1 : 2;
    double one = edge[(k + 1) % 3], two = edge[(k + 2) % 3];
    struct vec3 along = {k == 0, k == 1, k == 2};
    double up = quat_apply(pose_mul(b->zero.pose[s->link], s->to_link).rot, along).z;
    if (edge[k] < LONG * fmax(one, two) || fmax(one, two) > ROUND * fmin(one, two) || fabs(up) < 0.7) return;
    struct quat turn = k == 0   ? quat_axis((struct vec3){0, 1, 0}, M_PI / 2)
                       : k == 1 ? quat_axis((struct vec3){1, 0, 0}, -M_PI / 2)
                                : QUAT_IDENTITY;
    s->kind = NM_CYLINDER;
    s->round = true;
    s->size = (struct vec3){(one + two) / 4, 0, edge[k]};
    s->to_link.rot = quat_mul(s->to_link.rot, turn);
}

/* ---- without its file ---- */

/* How far a link's next joints are from its own, m. */
static double length_of(const struct nm_body *body, uint32_t link)
{
    double most = 0;
    for (uint32_t j = 0; j < body->n_joints; j++)
        if (body->joints[j].parent == link) most = fmax(most, vec3_norm(body->joints[j].to_parent.pos));
    return most;
}

/* The part of a box that lies between a link's own joint and its only other one, with some room: a shank does not reach
 * through the foot. */
static void cut(const struct nm_body *body, uint32_t link, struct nm_link_shape *s)
{
    static const double ROOM = 0.12, LEAST = 0.01; /* of the distance of the joints; m */
    uint32_t n = 0, child = 0;
    for (uint32_t j = 0; j < body->n_joints; j++)
        if (body->joints[j].parent == link) child = j, n++;
    if (!link || n != 1) return;
    struct vec3 end = body->joints[child].to_parent.pos;
    double room = ROOM * vec3_norm(end) + LEAST, at[3] = {end.x, end.y, end.z};
    double *middle[3] = {&s->to_link.pos.x, &s->to_link.pos.y, &s->to_link.pos.z},
           *edge[3] = {&s->size.x, &s->size.y, &s->size.z};
    for (int k = 0; k < 3; k++) {
        double low = fmax(*middle[k] - *edge[k] / 2, fmin(0, at[k]) - room),
               high = fmin(*middle[k] + *edge[k] / 2, fmax(0, at[k]) + room);
        if (high - low < LEAST) continue;
        *middle[k] = (low + high) / 2;
        *edge[k] = high - low;
    }
}

/* The box with the same mass distribution, not larger than what is known of the link allows, around its centre. */
static bool guess(const struct body_build *b, struct nm_link_shape *s)
{
    static const double LEAST = 0.02, MOST = 0.25, SMALL = 0.1; /* m; of the distance between the farthest joints; m */
    const struct nm_inertia *i = &b->body->inertia[s->link];
    struct extent joints = nothing;
    for (uint32_t l = 0; l < b->body->n_links; l++) build_stretch(&joints, b->zero.pose[l].pos, (struct vec3){0, 0, 0});
    double k = i->mass > 0 ? 6 / i->mass : 0, body = vec3_norm(vec3_sub(joints.high, joints.low));
    double most = fmax(fmin(fmax(1.2 * length_of(b->body, s->link), 2 * vec3_norm(i->com)), MOST * body), LEAST);
    if (body < SMALL) most = SMALL; /* nothing to compare it with */
    if (!(i->mass > 0.03)) return false;
    const double edge[3] = {k * (i->yy + i->zz - i->xx), k * (i->xx + i->zz - i->yy), k * (i->xx + i->yy - i->zz)};
    s->size =
        (struct vec3){fmin(sqrt(fmax(edge[0], LEAST * LEAST)), most), fmin(sqrt(fmax(edge[1], LEAST * LEAST)), most),
                      fmin(sqrt(fmax(edge[2], LEAST * LEAST)), most)};
    s->kind = NM_BOX;
    s->guessed = true;
    s->to_link = (struct pose3){QUAT_IDENTITY, i->com};
    cut(b->body, s->link, s);
    return true;
}

struct meshes {
    const char *beside;
    struct {
        const char *name;
        struct nm_mesh mesh;
    } read[256];
    uint32_t n, fitted, lost;
    const char *first_lost;
};

static const struct nm_mesh *mesh_of(struct body_build *b, struct meshes *m, const char *name)
{
    struct nm_err why = {0};
    uint32_t i = 0;
    while (i < m->n && strcmp(m->read[i].name, name)) i++;
    if (i == m->n) {
        if (m->n == sizeof m->read / sizeof *m->read) return NULL;
        m->read[m->n++].name = name;
        if (nm_mesh_read(b->arena, m->beside, name, &m->read[i].mesh, &why)) {
            m->read[i].mesh.n = 0;
            if (!m->lost++) m->first_lost = nm_take_format(b->arena, "%.*s", (int)strcspn(why.text, "\n"), why.text);
        }
    }
    return m->read[i].mesh.n ? &m->read[i].mesh : NULL;
}

/* A body without any collision shape touches with its visual ones. One guessed box a link is enough. */
void build_shapes(struct body_build *b, const char *beside)
{
    struct nm_body *body = b->body;
    struct meshes *m = nm_take_n(b->arena, struct meshes, 1);
    bool guessed[NM_LINKS] = {false}, visual = !body->n_collisions;
    const struct nm_link_shape *from = visual ? body->visuals : body->collisions;
    const uint32_t n_from = visual ? body->n_visuals : body->n_collisions;
    struct nm_link_shape *all = nm_take_n(b->arena, struct nm_link_shape, n_from + 1);
    uint32_t n = 0;
    m->beside = beside;
    for (uint32_t i = 0; i < n_from; i++) {
        struct nm_link_shape s = from[i];
        const struct nm_mesh *mesh = s.kind == NM_MESH ? mesh_of(b, m, s.mesh) : NULL;
        if (mesh)
            fit(b, mesh, &s), m->fitted++;
        else if (s.kind == NM_MESH && (guessed[s.link] || !guess(b, &s)))
            continue;
        else if (s.guessed)
            guessed[s.link] = true;
        all[n++] = s;
    }
    body->collisions = all;
    body->n_collisions = n;
    if (m->fitted) nm_fail(body->notes, "boxes and capsules stand for %u mesh%s", m->fitted, m->fitted > 1 ? "es" : "");
    if (m->lost)
        nm_fail(body->notes, "boxes of about their mass stand for %u mesh file%s that cannot be used, the first: %s",
                m->lost, m->lost > 1 ? "s" : "", m->first_lost);
}

/* ---- inertias ---- */

/* Boxes that were made from the inertia, and cut, say little about it. */
static bool guessed_only(const struct nm_body *body, uint32_t link)
{
    for (uint32_t i = 0; i < body->n_collisions; i++)
        if (body->collisions[i].link == link && !body->collisions[i].guessed) return false;
    return true;
}

void build_inertias(struct body_build *b)
{
    static const double MORE = 1.5, LESS = 0.1; /* of the distance of the mass from its centre in a box */
    struct nm_body *body = b->body;
    uint32_t odd = 0;
    const char *first = NULL;
    double first_size = 0, first_is = 0;
    for (uint32_t l = 0; l < body->n_links; l++) {
        struct nm_inertia *i = &b->inertia[l];
        struct extent e = build_extent(b, (int32_t)l);
        struct vec3 size = e.any ? vec3_sub(e.high, e.low) : (struct vec3){0, 0, 0};
        double diagonal = vec3_norm(size), slack = 1e-6 * (i->xx + i->yy + i->zz);
        if (!(i->mass > 0.02) || !e.any) continue;
        /* how far the mass is from its centre on average; for a box, that times the root of 12 is the diagonal */
        double is = sqrt(12 * fmax(i->xx + i->yy + i->zz, 0) / (2 * i->mass));
        bool rigid = i->xx >= 0 && i->yy >= 0 && i->zz >= 0 && i->xx <= i->yy + i->zz + slack &&
                     i->yy <= i->xx + i->zz + slack && i->zz <= i->xx + i->yy + slack;
        double most = guessed_only(body, l) ? 2 * MORE * diagonal + 0.15 : MORE * diagonal + 0.05;
        if (rigid && is < most && is > LESS * diagonal) continue;
        if (!odd++) first = body->frames[l].name, first_is = is, first_size = diagonal;
        if (!b->fit_inertia) continue;
        /* of the box, in the link's axes: its edges as the link sees them */
        struct quat turn = quat_inv(b->zero.pose[l].rot);
        struct mat3 m = quat_to_mat3(turn);
        const double edge[3] = {size.x, size.y, size.z};
        double v[3] = {0};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) v[r] += m.m[r][c] * m.m[r][c] * edge[c] * edge[c];
        i->xx = i->mass / 12 * (v[1] + v[2]), i->yy = i->mass / 12 * (v[0] + v[2]),
        i->zz = i->mass / 12 * (v[0] + v[1]);
        i->xy = i->xz = i->yz = 0;
    }
    body->odd_inertias = odd;
    if (odd)
        nm_fail(body->notes,
                "the inertia%s of %u link%s cannot be true: that of %s belongs to a part %.2f m long, its shapes "
                "measure %.2f m%s",
                odd > 1 ? "s" : "", odd, odd > 1 ? "s" : "", first, first_is, first_size,
                b->fit_inertia ? "; those of boxes around the shapes are used instead"
                               : "; `inertia: fitted` in robot.yaml puts those of boxes in their place");
}

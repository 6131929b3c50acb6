/* MuJoCo as the oracle: it reads the same URDF with its own compiler. The file's text is changed only so far as MuJoCo
 * needs it: shapes are taken out (the meshes are not there), and for a free base the root hangs on a floating joint. */
#pragma once

#include <mujoco/mujoco.h>

#include "body/robots.h"

static inline void cut_out(char *text, const char *begin, const char *end)
{
    for (char *at; (at = strstr(text, begin));) {
        char *stop = strstr(at, end);
        assert_non_null(stop);
        stop += strlen(end);
        memmove(at, stop, strlen(stop) + 1);
    }
}

static inline mjModel *oracle(const struct nm_body *body, const char *path, int floating)
{
    static const char head[] = "<mujoco><compiler fusestatic=\"%s\" balanceinertia=\"false\" discardvisual=\"true\"/>"
                               "<option gravity=\"0 0 -9.81\"/></mujoco>%s";
    static const char root[] = "<link name=\"outside\"/><joint name=\"outside_to_base\" type=\"floating\">"
                               "<parent link=\"outside\"/><child link=\"base_link\"/></joint>";
    char name[1024], start[1024], error[1000] = "";
    snprintf(name, sizeof name, "%s%s", path, strstr(path, ".urdf") ? "" : "/robot.urdf");
    FILE *file = fopen(name, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20), *all = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    cut_out(text, "<!--", "-->");
    cut_out(text, "<visual>", "</visual>");
    cut_out(text, "<collision>", "</collision>");
    cut_out(text, "<gazebo", "</gazebo>");
    cut_out(text, "<transmission", "</transmission>");
    char *robot = strstr(text, "<robot");
    assert_non_null(robot);
    char *after = strchr(robot, '>') + 1;
    snprintf(start, sizeof start, head, floating ? "true" : "false", floating ? root : "");
    snprintf(all, 1 << 20, "%.*s%s%s", (int)(after - text), text, start, after);

    char model_file[1024];
    snprintf(model_file, sizeof model_file, "%s/oracle_%s_%d_%d.urdf", NM_BUILD, body->name, floating, (int)getpid());
    file = fopen(model_file, "wb");
    assert_non_null(file);
    fputs(all, file);
    fclose(file);
    mjModel *m = mj_loadXML(model_file, NULL, error, sizeof error);
    unlink(model_file);
    if (!m) fail_msg("MuJoCo cannot read %s: %s", path, error);
    free(text);
    free(all);
    m->opt.disableflags |= mjDSBL_PASSIVE | mjDSBL_CONSTRAINT | mjDSBL_CONTACT;
    for (uint32_t i = 0; i < body->n_joints; i++) {
        int id = mj_name2id(m, mjOBJ_JOINT, body->joints[i].name);
        assert_true(id >= 0);
        m->dof_armature[m->jnt_dofadr[id]] = body->joints[i].armature;
    }
    return m;
}

/* MuJoCo turns tensors into principal axes with an absolute precision that leaves up to 1e-9 kg m2 behind. The tensors
 * must agree so far; for what follows from them the body takes MuJoCo's, so that it can be compared to the last digits.
 */
static inline const struct nm_body *with_oracle_inertia(struct nm_arena *arena, const struct nm_body *body,
                                                        const mjModel *m)
{
    struct nm_body *copy = nm_take_n(arena, struct nm_body, 1);
    struct nm_inertia *inertia = nm_take_n(arena, struct nm_inertia, NM_LINKS);
    *copy = *body;
    copy->inertia = inertia;
    for (uint32_t i = 0; i < body->n_links; i++) {
        const struct nm_inertia *ours = &body->inertia[i];
        int id = mj_name2id(m, mjOBJ_BODY, body->frames[i].name);
        const double *p = m->body_ipos + 3 * id, *q = m->body_iquat + 4 * id, *v = m->body_inertia + 3 * id;
        struct mat3 axes = quat_to_mat3((struct quat){q[0], q[1], q[2], q[3]});
        struct mat3 diagonal = {{{v[0], 0, 0}, {0, v[1], 0}, {0, 0, v[2]}}};
        struct mat3 t = mat3_mul(mat3_mul(axes, diagonal), mat3_transpose(axes));
        assert_near(ours->mass, m->body_mass[id], 1e-9);
        assert_vec_near(ours->com, p[0], p[1], p[2], 1e-7);
        assert_vec_near(((struct vec3){ours->xx, ours->yy, ours->zz}), t.m[0][0], t.m[1][1], t.m[2][2], 2e-9);
        assert_vec_near(((struct vec3){ours->xy, ours->xz, ours->yz}), t.m[0][1], t.m[0][2], t.m[1][2], 2e-9);
        inertia[i] = (struct nm_inertia){m->body_mass[id], {p[0], p[1], p[2]}, t.m[0][0], t.m[1][1],
                                         t.m[2][2],        t.m[0][1],          t.m[0][2], t.m[1][2]};
    }
    copy->mass = mj_getTotalmass(m);
    return copy;
}

/* address of our joint in qpos and in qvel */
static inline int qpos_of(const mjModel *m, const struct nm_body *body, uint32_t joint)
{
    return m->jnt_qposadr[mj_name2id(m, mjOBJ_JOINT, body->joints[joint].name)];
}

static inline int dof_of(const mjModel *m, const struct nm_body *body, uint32_t joint)
{
    return m->jnt_dofadr[mj_name2id(m, mjOBJ_JOINT, body->joints[joint].name)];
}

static inline void put_base(mjData *d, struct pose3 base)
{
    const double all[7] = {base.pos.x, base.pos.y, base.pos.z, base.rot.w, base.rot.x, base.rot.y, base.rot.z};
    memcpy(d->qpos, all, sizeof all);
}

static inline struct pose3 oracle_pose(const mjModel *m, const mjData *d, const char *name)
{
    int id = mj_name2id(m, mjOBJ_BODY, name);
    if (id < 0) fail_msg("MuJoCo lost %s", name);
    const double *p = d->xpos + 3 * id, *q = d->xquat + 4 * id;
    return (struct pose3){{q[0], q[1], q[2], q[3]}, {p[0], p[1], p[2]}};
}

/* Forward kinematics, Jacobians, centre of mass and velocities agree with MuJoCo on every robot, and with the figures
 * published for kid70. */
#include "body/kinematics.h"

#include "body/oracle.h"

static void every_frame_is_where_mujoco_puts_it(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        uint64_t seed = 42;
        const struct nm_body *body = load(&arena, all_robots[r]);
        mjModel *m = oracle(body, all_robots[r], 0);
        mjData *d = mj_makeData(m);
        uint32_t compared = 0;
        for (int round = 0; round < 100; round++) {
            struct nm_kin kin;
            double q[NM_JOINTS];
            dice_joints(&seed, body, q);
            for (uint32_t i = 0; i < body->n_joints; i++) d->qpos[qpos_of(m, body, i)] = q[i];
            mj_kinematics(m, d);
            nm_forward(body, POSE_IDENTITY, q, &kin);
            for (uint32_t i = 1; i < body->n_frames; i++) {
                if (mj_name2id(m, mjOBJ_BODY, body->frames[i].name) < 0) continue; /* one we added */
                struct pose3 theirs = oracle_pose(m, d, body->frames[i].name);
                assert_near(vec3_norm(vec3_sub(theirs.pos, kin.pose[i].pos)), 0, 1e-12);
                assert_near(quat_angle(theirs.rot, kin.pose[i].rot), 0, 1e-12);
                compared++;
            }
        }
        printf("%s: %u poses\n", body->name, compared);
        assert_true(compared >= 100 * (body->n_links - 1));
        mj_deleteData(d);
        mj_deleteModel(m);
        nm_arena_free(&arena);
    }
}

static void jacobians_and_velocities_are_mujocos(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        uint64_t seed = 43;
        const struct nm_body *body = load(&arena, all_robots[r]);
        mjModel *m = oracle(body, all_robots[r], 1);
        body = with_oracle_inertia(&arena, body, m);
        mjData *d = mj_makeData(m);
        for (int round = 0; round < 50; round++) {
            struct nm_kin kin;
            struct nm_twist link[NM_LINKS], base, column[NM_JOINTS];
            struct vec3 com_column[NM_JOINTS];
            double q[NM_JOINTS], qd[NM_JOINTS], jp[3 * 80], jr[3 * 80];
            struct pose3 at = {dice_turn(&seed), dice_vec(&seed, 1)};
            dice_joints(&seed, body, q);
            put_base(d, at);
            base.linear = dice_vec(&seed, 1);
            base.angular = dice_vec(&seed, 3);
            struct vec3 local = quat_apply(quat_inv(at.rot), base.angular);
            const double free_velocity[6] = {base.linear.x, base.linear.y, base.linear.z, local.x, local.y, local.z};
            memcpy(d->qvel, free_velocity, sizeof free_velocity);
            for (uint32_t i = 0; i < body->n_joints; i++) {
                d->qpos[qpos_of(m, body, i)] = q[i];
                d->qvel[dof_of(m, body, i)] = qd[i] = dice(&seed, -5, 5);
            }
            mj_forward(m, d);
            nm_forward(body, at, q, &kin);
            nm_velocities(body, &kin, base, qd, link);

            /* a point of every link: its Jacobian, and its velocity two ways */
            for (uint32_t i = 1; i < body->n_links; i++) {
                int id = mj_name2id(m, mjOBJ_BODY, body->frames[i].name);
                struct vec3 p = pose_apply(kin.pose[i], dice_vec(&seed, 0.2));
                const double point[3] = {p.x, p.y, p.z};
                mj_jac(m, d, jp, jr, point, id);
                nm_jacobian(body, &kin, i, p, column);
                struct vec3 v = vec3_add(base.linear, vec3_cross(base.angular, vec3_sub(p, at.pos)));
                for (uint32_t k = 0; k < body->n_joints; k++) {
                    int dof = dof_of(m, body, k);
                    assert_vec_near(column[k].linear, jp[dof], jp[m->nv + dof], jp[2 * m->nv + dof], 1e-12);
                    assert_vec_near(column[k].angular, jr[dof], jr[m->nv + dof], jr[2 * m->nv + dof], 1e-12);
                    v = vec3_add(v, vec3_scale(column[k].linear, qd[k]));
                }
                struct vec3 w = vec3_add(link[i].linear, vec3_cross(link[i].angular, vec3_sub(p, kin.pose[i].pos)));
                assert_vec_near(v, w.x, w.y, w.z, 1e-11);
            }

            /* whole body: centre of mass, its Jacobian, linear and angular momentum */
            int root = mj_name2id(m, mjOBJ_BODY, "base_link");
            struct vec3 com = nm_com(body, &kin);
            const double *c = d->subtree_com + 3 * root;
            assert_vec_near(com, c[0], c[1], c[2], 1e-12);
            mj_jacSubtreeCom(m, d, jp, root);
            nm_com_jacobian(body, &kin, com_column);
            for (uint32_t k = 0; k < body->n_joints; k++) {
                int dof = dof_of(m, body, k);
                assert_vec_near(com_column[k], jp[dof], jp[m->nv + dof], jp[2 * m->nv + dof], 1e-12);
            }
            mj_subtreeVel(m, d);
            struct nm_twist motion = nm_com_motion(body, &kin, link);
            const double *lin = d->subtree_linvel + 3 * root, *ang = d->subtree_angmom + 3 * root;
            assert_vec_near(motion.linear, lin[0], lin[1], lin[2], 1e-11);
            assert_vec_near(motion.angular, ang[0], ang[1], ang[2], 1e-11);
        }
        mj_deleteData(d);
        mj_deleteModel(m);
        nm_arena_free(&arena);
    }
}

/* The published figures are those of the CAD model; ours has 0.23 kg more of battery at the torso's centre of mass. */
static const double BATTERY = 0.23; /* kg */

static struct vec3 published_com(const struct nm_body *body, const struct nm_kin *kin)
{
    struct vec3 all = vec3_scale(nm_com(body, kin), body->mass);
    struct vec3 battery = vec3_scale(pose_apply(kin->pose[0], body->inertia[0].com), BATTERY);
    return vec3_scale(vec3_sub(all, battery), 1 / (body->mass - BATTERY));
}

static void kid70_has_the_published_figures(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_kin kin;
    double q[NM_JOINTS] = {0};

    nm_forward(body, POSE_IDENTITY, q, &kin);
    assert_near(body->mass - BATTERY, 5.240, 5e-4);
    assert_vec_near(published_com(body, &kin), -0.0004, 0, 0.0056, 1e-4);
    assert_vec_near(kin.pose[frame(body, "left_foot")].pos, 0, 0.0464, -0.2800, 1e-12);
    assert_vec_near(kin.pose[frame(body, "l_sole")].pos, 0, 0.0464, -0.3400, 1e-12);

    static const char *const sides[] = {"left", "right"};
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_hip_pitch", sides[i]), set(body, q, name, -20);
        snprintf(name, sizeof name, "%s_knee", sides[i]), set(body, q, name, 35);
        snprintf(name, sizeof name, "%s_ankle_pitch", sides[i]), set(body, q, name, -15);
        snprintf(name, sizeof name, "%s_shoulder_pitch", sides[i]), set(body, q, name, 20);
        snprintf(name, sizeof name, "%s_shoulder_roll", sides[i]), set(body, q, name, i ? -10 : 10);
        snprintf(name, sizeof name, "%s_elbow", sides[i]), set(body, q, name, -60);
    }
    nm_forward(body, POSE_IDENTITY, q, &kin);
    struct vec3 com = published_com(body, &kin), ankle = kin.pose[frame(body, "left_foot")].pos;
    assert_vec_near(com, 0.0026, 0, 0.0099, 1e-4);
    assert_vec_near(ankle, 0.0116, 0.0464, -0.2668, 1e-4);
    assert_near(-kin.pose[frame(body, "l_sole")].pos.z, 0.327, 5e-4);
    assert_near(ankle.x - com.x, 0.009, 5e-4);

    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_hip_pitch", sides[i]), set(body, q, name, -66);
        snprintf(name, sizeof name, "%s_knee", sides[i]), set(body, q, name, 126);
        snprintf(name, sizeof name, "%s_ankle_pitch", sides[i]), set(body, q, name, -66);
    }
    nm_forward(body, POSE_IDENTITY, q, &kin);
    assert_near(-kin.pose[frame(body, "l_sole")].pos.z, 0.182, 5e-3);
    nm_arena_free(&arena);
}

static void a_base_pose_moves_everything_with_it(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, DARWIN);
    uint64_t seed = 7;
    struct nm_kin here, there_;
    double q[NM_JOINTS];
    dice_joints(&seed, body, q);
    struct pose3 base = {dice_turn(&seed), dice_vec(&seed, 5)};
    nm_forward(body, POSE_IDENTITY, q, &here);
    nm_forward(body, base, q, &there_);
    for (uint32_t i = 0; i < body->n_frames; i++)
        assert_near(pose_distance(pose_mul(base, here.pose[i]), there_.pose[i]), 0, 1e-12);
    struct pose3 camera_to_sole = nm_frame_to_frame(&there_, frame(body, "camera"), frame(body, "l_sole"));
    assert_near(pose_distance(camera_to_sole, nm_frame_to_frame(&here, frame(body, "camera"), frame(body, "l_sole"))),
                0, 1e-12);
    nm_arena_free(&arena);
}

static void sliding_joints_slide(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load_crane(&arena);
    struct nm_kin kin;
    struct nm_twist column[NM_JOINTS], link[NM_LINKS];
    const double q[2] = {0.5, 0.3}, qd[2] = {2, 1};
    nm_forward(body, POSE_IDENTITY, q, &kin);
    assert_vec_near(kin.pose[2].pos, 0.3 * cos(0.5), 0.3 * sin(0.5), 1, 1e-15);
    nm_jacobian(body, &kin, 2, kin.pose[2].pos, column);
    assert_vec_near(column[0].linear, -0.3 * sin(0.5), 0.3 * cos(0.5), 0, 1e-15);
    assert_vec_near(column[1].linear, cos(0.5), sin(0.5), 0, 1e-15);
    nm_velocities(body, &kin, (struct nm_twist){0}, qd, link);
    assert_vec_near(link[2].linear, cos(0.5) - 0.6 * sin(0.5), sin(0.5) + 0.6 * cos(0.5), 0, 1e-15);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_is_where_mujoco_puts_it),
        cmocka_unit_test(jacobians_and_velocities_are_mujocos),
        cmocka_unit_test(kid70_has_the_published_figures),
        cmocka_unit_test(a_base_pose_moves_everything_with_it),
        cmocka_unit_test(sliding_joints_slide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

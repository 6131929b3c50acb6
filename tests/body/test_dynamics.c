/* Inverse dynamics agrees with MuJoCo on every robot with a free base, and with what is known in closed form. */
#include "body/dynamics.h"

#include "body/oracle.h"

static void torques_and_base_wrench_are_mujocos(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        uint64_t seed = 44;
        const struct nm_body *body = load(&arena, all_robots[r]);
        mjModel *m = oracle(body, all_robots[r], 1);
        body = with_oracle_inertia(&arena, body, m);
        mjData *d = mj_makeData(m);
        double worst = 0;
        for (int round = 0; round < 200; round++) {
            double q[NM_JOINTS], qd[NM_JOINTS], qdd[NM_JOINTS];
            struct nm_motion motion = {.base_to_world = {dice_turn(&seed), dice_vec(&seed, 1)},
                                       .velocity = dice_vec(&seed, 1),
                                       .angular_velocity = dice_vec(&seed, 4),
                                       .acceleration = dice_vec(&seed, 10),
                                       .angular_acceleration = dice_vec(&seed, 30),
                                       .gravity = {0, 0, -9.81},
                                       .q = q,
                                       .qd = qd,
                                       .qdd = qdd};
            struct nm_effort effort;
            struct quat to_base = quat_inv(motion.base_to_world.rot);
            struct vec3 w = quat_apply(to_base, motion.angular_velocity);
            struct vec3 dw = quat_apply(to_base, motion.angular_acceleration);
            const double vel[6] = {motion.velocity.x, motion.velocity.y, motion.velocity.z, w.x, w.y, w.z};
            const double acc[6] = {
                motion.acceleration.x, motion.acceleration.y, motion.acceleration.z, dw.x, dw.y, dw.z};
            put_base(d, motion.base_to_world);
            memcpy(d->qvel, vel, sizeof vel);
            memcpy(d->qacc, acc, sizeof acc);
            dice_joints(&seed, body, q);
            for (uint32_t i = 0; i < body->n_joints; i++) {
                d->qpos[qpos_of(m, body, i)] = q[i];
                d->qvel[dof_of(m, body, i)] = qd[i] = dice(&seed, -6, 6);
                d->qacc[dof_of(m, body, i)] = qdd[i] = dice(&seed, -50, 50);
            }
            mj_inverse(m, d);
            nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
            for (uint32_t i = 0; i < body->n_joints; i++) {
                double off = fabs(effort.torque[i] - d->qfrc_inverse[dof_of(m, body, i)]);
                worst = fmax(worst, off);
            }
            struct vec3 moment = quat_apply(to_base, effort.moment);
            assert_vec_near(effort.force, d->qfrc_inverse[0], d->qfrc_inverse[1], d->qfrc_inverse[2], 1e-9);
            assert_vec_near(moment, d->qfrc_inverse[3], d->qfrc_inverse[4], d->qfrc_inverse[5], 1e-9);
        }
        printf("%s: torques differ by %.1e Nm at most\n", body->name, worst);
        assert_near(worst, 0, 1e-9);
        mj_deleteData(d);
        mj_deleteModel(m);
        nm_arena_free(&arena);
    }
}

/* MuJoCo's J' f for a push at a foot */
static void pushes_at_the_feet_unload_the_joints(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    uint64_t seed = 45;
    double q[NM_JOINTS], zero[NM_JOINTS] = {0};
    dice_joints(&seed, body, q);
    struct nm_motion motion = {.base_to_world = {dice_turn(&seed), {0.1, 0.2, 0.3}},
                               .gravity = {0, 0, -9.81},
                               .q = q,
                               .qd = zero,
                               .qdd = zero};
    struct nm_push push[2] = {{frame(body, "l_sole"), {3, -2, 20}, {0.1, 0.2, -0.3}},
                              {frame(body, "r_toe"), {-1, 5, 30}, {0, 0, 0.5}}};
    struct nm_effort without, with;
    struct nm_twist column[NM_JOINTS];
    struct nm_kin kin;
    nm_inverse_dynamics(body, &motion, NULL, 0, &without);
    nm_inverse_dynamics(body, &motion, push, 2, &with);
    nm_forward(body, motion.base_to_world, q, &kin);
    struct vec3 force = without.force, moment = without.moment;
    for (int i = 0; i < 2; i++) {
        struct vec3 at = kin.pose[push[i].frame].pos;
        nm_jacobian(body, &kin, push[i].frame, at, column);
        for (uint32_t k = 0; k < body->n_joints; k++)
            without.torque[k] -=
                vec3_dot(column[k].linear, push[i].force) + vec3_dot(column[k].angular, push[i].torque);
        force = vec3_sub(force, push[i].force);
        moment = vec3_sub(moment,
                          vec3_add(push[i].torque, vec3_cross(vec3_sub(at, motion.base_to_world.pos), push[i].force)));
    }
    for (uint32_t k = 0; k < body->n_joints; k++) assert_near(with.torque[k], without.torque[k], 1e-12);
    assert_vec_near(with.force, force.x, force.y, force.z, 1e-12);
    assert_vec_near(with.moment, moment.x, moment.y, moment.z, 1e-12);
    nm_arena_free(&arena);
}

static void a_body_at_rest_weighs_what_it_weighs_over_its_centre(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, DARWIN);
    uint64_t seed = 46;
    double q[NM_JOINTS], zero[NM_JOINTS] = {0};
    for (int round = 0; round < 20; round++) {
        dice_joints(&seed, body, q);
        struct nm_motion motion = {.base_to_world = {dice_turn(&seed), dice_vec(&seed, 2)},
                                   .gravity = {0, 0, -9.81},
                                   .q = q,
                                   .qd = zero,
                                   .qdd = zero};
        struct nm_effort effort;
        struct nm_kin kin;
        struct vec3 zmp;
        nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
        assert_vec_near(effort.force, 0, 0, 9.81 * body->mass, 1e-10);
        nm_forward(body, motion.base_to_world, q, &kin);
        struct vec3 com = nm_com(body, &kin);
        assert_true(nm_zmp(&motion, &effort, -0.5, &zmp));
        assert_vec_near(zmp, com.x, com.y, -0.5, 1e-10);
    }
    nm_arena_free(&arena);
}

/* the cart-table: accelerating the whole body by a shifts the zero-moment point back by z a / g */
static void acceleration_moves_the_zero_moment_point(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    double q[NM_JOINTS] = {0};
    struct nm_motion motion = {.base_to_world = {QUAT_IDENTITY, {0, 0, 0.34}},
                               .acceleration = {1.5, -0.7, 0},
                               .gravity = {0, 0, -9.81},
                               .q = q,
                               .qd = q,
                               .qdd = q};
    struct nm_effort effort;
    struct nm_kin kin;
    struct vec3 zmp;
    nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
    nm_forward(body, motion.base_to_world, q, &kin);
    struct vec3 com = nm_com(body, &kin);
    assert_true(nm_zmp(&motion, &effort, 0, &zmp));
    assert_vec_near(zmp, com.x - com.z * 1.5 / 9.81, com.y + com.z * 0.7 / 9.81, 0, 1e-10);

    motion.acceleration.z = -20; /* falling faster than free */
    nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
    assert_false(nm_zmp(&motion, &effort, 0, &zmp));
    nm_arena_free(&arena);
}

/* A mass m on a slider on a turntable, r from the axis: force m (r'' - r w^2), torque m (r^2 w' + 2 r r' w) + I w'. */
static void a_slider_on_a_turntable_feels_coriolis(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load_crane(&arena);
    double q[2] = {0.4, 0.3}, qd[2] = {3, 0.7}, qdd[2] = {-2, 1.1};
    struct nm_motion motion = {.base_to_world = POSE_IDENTITY, .q = q, .qd = qd, .qdd = qdd};
    struct nm_effort effort;
    nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
    assert_near(effort.torque[1], 2 * (1.1 - 0.3 * 9), 1e-12);
    assert_near(effort.torque[0], 2 * (0.09 * -2 + 2 * 0.3 * 0.7 * 3) + 0.5 * -2, 1e-12);
    nm_arena_free(&arena);
}

/* The torque of a motor is the slope of the potential along what it moves, with the joints that follow. */
static void a_motor_bears_the_joints_that_follow(void **state)
{
    (void)state;
    static const double D = 1e-6;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, NM_ROOT "/tests/data/robots/coupled_knees.urdf");
    uint64_t seed = 8;
    double zero[NM_JOINTS] = {0}, q[NM_JOINTS];
    for (int round = 0; round < 50; round++) {
        struct nm_motion motion = {
            .base_to_world = {dice_turn(&seed), {0, 0, 0}}, .gravity = {0, 0, -9.81}, .q = q, .qd = zero, .qdd = zero};
        struct nm_effort effort;
        for (uint32_t j = 0; j < body->n_joints; j++) q[j] = dice(&seed, -1, 1);
        nm_apply_mimics(body, q);
        nm_inverse_dynamics(body, &motion, NULL, 0, &effort);
        nm_drive_followers(body, &effort);
        for (uint32_t j = 0; j < body->n_joints; j++) {
            double height[2], there[NM_JOINTS];
            struct nm_kin kin;
            if (body->joints[j].mimic >= 0) assert_near(effort.torque[j], 0, 0);
            for (int k = 0; k < 2 && body->joints[j].mimic < 0; k++) {
                memcpy(there, q, sizeof there);
                there[j] += k ? D : -D;
                nm_apply_mimics(body, there);
                nm_forward(body, motion.base_to_world, there, &kin);
                height[k] = nm_com(body, &kin).z;
            }
            if (body->joints[j].mimic < 0)
                assert_near(effort.torque[j], body->mass * 9.81 * (height[1] - height[0]) / (2 * D), 1e-6);
        }
    }
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torques_and_base_wrench_are_mujocos),
        cmocka_unit_test(pushes_at_the_feet_unload_the_joints),
        cmocka_unit_test(a_body_at_rest_weighs_what_it_weighs_over_its_centre),
        cmocka_unit_test(acceleration_moves_the_zero_moment_point),
        cmocka_unit_test(a_slider_on_a_turntable_feels_coriolis),
        cmocka_unit_test(a_motor_bears_the_joints_that_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Gears with play: a free hinge of +-0.5 degrees behind every leg servo. The encoder sits on the motor's side and does
 * not see it, kinematics of the truth do, and a motor moves its link only after it has crossed the gap. */
#include "sim/worlds.h"

#include <mujoco/mujoco.h>

static const double HALF = 0.01745 / 2; /* rad */

/* In the air without gravity, so that only motors and hands act. */
static struct nm_world *floating(struct fixture *f, bool backlash)
{
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.backlash = backlash;
    options.play = 2 * HALF;
    options.command_delay = options.sensor_delay = 0;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_model(world)->opt.gravity[2] = 0;
    nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {0, 0, 3}}, NULL);
    return world;
}

/* A hand that turns the foot about the axis of its ankle, harder than grease and softer than the motor's friction. */
static void turn_foot(struct fixture *f, struct nm_world *world, double torque, int steps)
{
    char name[32];
    snprintf(name, sizeof name, "r0_l%u", f->kid70->frames[f->kid70->foot[NM_LEFT].sole].link);
    int body = mj_name2id(nm_world_model(world), mjOBJ_BODY, name);
    for (int k = 0; k < steps; k++) {
        nm_world_data(world)->xfrc_applied[6 * body + 3] = torque;
        nm_world_step(world, 1);
    }
    nm_world_data(world)->xfrc_applied[6 * body + 3] = 0;
}

static void a_link_is_free_within_the_play_and_no_encoder_sees_it(void **state)
{
    struct fixture *f = *state;
    int32_t ankle = nm_find_joint(f->kid70, "left_ankle_roll");
    for (int backlash = 0; backlash < 2; backlash++) {
        struct nm_world *world = floating(f, backlash);
        struct nm_sense before, after;
        struct nm_truth t;
        double reached[2];
        nm_world_step(world, 5);
        nm_world_sense(world, 0, &before);
        for (int i = 0; i < 2; i++) {
            turn_foot(f, world, i ? -0.01 : 0.01, 125);
            nm_world_truth(world, 0, &t);
            nm_world_sense(world, 0, &after);
            reached[i] = t.q[ankle] - f->stance[ankle];
            assert_near(after.joints[ankle].position, before.joints[ankle].position, 1e-12);
            assert_near(t.motor[ankle], f->stance[ankle], 2e-4);
        }
        assert_near(reached[0], backlash ? HALF : 0, 0.03 * HALF);
        assert_near(reached[1], backlash ? -HALF : 0, 0.03 * HALF);
        nm_world_free(world);
    }
}

/* Inside the gap the motor is alone: rotor, its own friction and back-EMF. Only when it has crossed half of the play
 * does the foot follow. */
static void a_motor_moves_its_link_only_after_the_gap_is_crossed(void **state)
{
    struct fixture *f = *state;
    int32_t ankle = nm_find_joint(f->kid70, "left_ankle_roll");
    struct nm_world *world = floating(f, true);
    struct nm_joint_goal goals[NM_JOINTS];
    struct nm_world_draw draw;
    struct nm_truth t;
    nm_world_drawn(world, 0, &draw);
    const struct nm_servo_model *m = &draw.servos[ankle];
    double goal = f->stance[ankle] + 40 * m->step, dt = 0.004, angle = 0, speed = 0;
    for (uint32_t j = 0; j < f->kid70->n_joints; j++)
        goals[j] = (struct nm_joint_goal){.position = f->stance[j], .torque_limit = 1, .on = true};
    goals[ankle].position = goal;
    nm_world_step(world, 5);
    nm_world_goals(world, 0, goals);
    int inside = 0;
    for (int k = 0; k < 20; k++) {
        struct nm_servo_state s = {.goal = goals[ankle]};
        double torque = nm_servo_torque(m, &s, f->stance[ankle] + angle) - m->friction;
        speed = (m->armature * speed + dt * torque) / (m->armature + dt * m->brake); /* implicit in the damping */
        angle += dt * speed;
        nm_world_step(world, 1);
        nm_world_truth(world, 0, &t);
        if (angle > 0.9 * HALF) break;
        inside++;
        assert_near(t.motor[ankle] - f->stance[ankle], angle, 0.05 * HALF);
        assert_near(t.q[ankle], f->stance[ankle], 0.1 * HALF);
    }
    assert_true(inside >= 2);
    nm_world_step(world, 100);
    nm_world_truth(world, 0, &t);
    assert_true(t.q[ankle] > f->stance[ankle] + 20 * m->step); /* it came along, by then anywhere within the play */
    assert_near(t.q[ankle], t.motor[ankle], 1.03 * HALF);
    nm_world_free(world);
}

static double stand(struct fixture *f, double play, double *off)
{
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.backlash = play > 0;
    options.play = play;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_step(world, 20 * 250);
    struct nm_truth t;
    nm_world_truth(world, 0, &t);
    assert_true(uprightness(world, 0) > 0.99);
    assert_int_equal(nm_world_incidents(world), 0);
    /* the soles are where the truth's joints say that they are */
    struct nm_kin kin;
    nm_forward(f->kid70, t.base_to_field, t.q, &kin);
    *off = 0;
    for (int side = 0; side < 2; side++) *off = fmax(*off, fabs(kin.pose[f->kid70->foot[side].sole].pos.z));
    double most = 0;
    for (uint32_t j = 0; j < f->kid70->n_joints; j++) most = fmax(most, fabs(t.q[j] - t.motor[j]));
    nm_world_free(world);
    return most;
}

static void a_robot_stands_at_the_end_of_its_play(void **state)
{
    double off;
    assert_near(stand(*state, 0, &off), 0, 0);
    assert_near(off, 0, 0.006);
    assert_near(stand(*state, 2 * HALF, &off), HALF, 0.15 * HALF); /* stops yield a little to the weight */
    assert_near(off, 0, 0.006);
}

static void arms_and_head_have_none(void **state)
{
    struct fixture *f = *state;
    struct nm_world *world = floating(f, true);
    const mjModel *m = nm_world_model(world);
    int hinges = 0;
    for (uint32_t j = 0; j < f->kid70->n_joints; j++) {
        char name[32];
        snprintf(name, sizeof name, "r0_p%u", j);
        hinges += mj_name2id(m, mjOBJ_JOINT, name) >= 0;
    }
    assert_int_equal(hinges, 12);
    nm_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_free_within_the_play_and_no_encoder_sees_it),
        cmocka_unit_test(a_motor_moves_its_link_only_after_the_gap_is_crossed),
        cmocka_unit_test(a_robot_stands_at_the_end_of_its_play),
        cmocka_unit_test(arms_and_head_have_none),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* What a robot feels in the world: delays are exact, feet bear its weight, motors are as strong as the battery. */
#include "sim/worlds.h"

static void commands_and_measurements_are_late_by_their_delays(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    for (int64_t command = 0; command <= 24; command += 12)
        for (int64_t sensor = 0; sensor <= 16; sensor += 8) {
            struct nm_world_options options = NM_WORLD_OPTIONS;
            options.command_delay = command * 1000000;
            options.sensor_delay = sensor * 1000000;
            struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
            struct nm_joint_goal goals[NM_JOINTS];
            int32_t head = nm_find_joint(f->kid70, "head_yaw");
            for (uint32_t j = 0; j < f->kid70->n_joints; j++)
                goals[j] = (struct nm_joint_goal){.position = f->stance[j], .torque_limit = 1, .on = true};
            goals[head].position = 1;
            nm_world_step(world, 50);
            int64_t sent = nm_world_now(world);
            nm_world_goals(world, 0, goals);
            int64_t moved = 0, felt = 0;
            for (int k = 0; k < 40 && (!moved || !felt); k++) {
                struct nm_truth truth;
                struct nm_sense sense;
                nm_world_truth(world, 0, &truth);
                nm_world_sense(world, 0, &sense);
                assert_int_equal(sense.time, nm_world_now(world) - options.sensor_delay);
                if (!moved && fabs(truth.qd[head]) > 0.05) moved = nm_world_now(world);
                if (!felt && fabs(sense.joints[head].velocity) > 0.05) felt = nm_world_now(world);
                nm_world_step(world, 1);
            }
            /* the motor turns during the first step after the delay */
            assert_int_equal(moved, sent + options.command_delay + nm_world_tick(world));
            assert_int_equal(felt, moved + options.sensor_delay);
            nm_world_free(world);
        }
}

static void a_standing_robot_feels_its_weight(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 1);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.gyro_noise = options.accel_noise = options.cell_noise = 0;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_step(world, 5 * 250);
    struct nm_sense sense;
    struct nm_truth truth;
    nm_world_sense(world, 0, &sense);
    nm_world_truth(world, 0, &truth);
    double sum = 0, weight = f->kid70->mass * 9.81;
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < NM_CELLS; c++) sum += sense.cells[side][c];
    assert_near(sum, weight, 0.02 * weight);
    assert_near(truth.foot_force[0] + truth.foot_force[1], weight, 0.02 * weight);
    assert_near(vec3_norm(sense.accel), 9.81, 0.05);
    assert_near(vec3_norm(sense.gyro), 0, 0.01);
    /* the centre of pressure of both feet lies under the centre of mass */
    struct nm_kin kin;
    nm_forward(f->kid70, truth.base_to_field, truth.q, &kin);
    struct vec3 com = nm_com(f->kid70, &kin), cop = {0, 0, 0};
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < NM_CELLS; c++)
            cop = vec3_add(cop, vec3_scale(kin.pose[f->kid70->foot[side].cells[c]].pos, sense.cells[side][c] / sum));
    assert_near(cop.x, com.x, 0.006);
    assert_near(cop.y, com.y, 0.006);
    /* encoders show whole steps */
    double step = 2 * M_PI / 4096;
    for (uint32_t j = 0; j < f->kid70->n_joints; j++) assert_near(remainder(sense.joints[j].position, step), 0, 1e-9);
    nm_world_free(world);
}

/* A cell that bears less than its dead band shows nothing; one that bears more shows all of it. */
static void load_cells_are_dead_at_the_bottom(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    int shown[2] = {0, 0};
    options.cell_noise = 0;
    for (int dead = 0; dead < 2; dead++) {
        options.cell_dead = dead ? 6 : 0;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        for (int k = 0; k < 250; k++) { /* while it settles, cells bear anything */
            struct nm_sense sense;
            nm_world_step(world, 1);
            nm_world_sense(world, 0, &sense);
            for (int c = 0; c < NM_CELLS; c++) shown[dead] += sense.cells[0][c] > 0 && sense.cells[0][c] < 6;
        }
        nm_world_free(world);
    }
    assert_true(shown[0] > 0);
    assert_int_equal(shown[1], 0);
}

static void a_low_battery_weakens_the_motors(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    struct nm_world_draw draw;
    nm_world_voltage(world, 0, 7.4); /* half of 14.8 */
    nm_world_drawn(world, 0, &draw);
    for (uint32_t j = 0; j < f->kid70->n_joints; j++)
        assert_near(draw.servos[j].stall, nm_servo_model_of(f->kid70, j).stall / 2, 1e-9);
    nm_world_voltage(world, 0, NAN);
    nm_world_voltage(world, 0, 0);
    struct nm_truth before, after;
    nm_world_truth(world, 0, &before);
    nm_world_step(world, 3 * 250);
    nm_world_truth(world, 0, &after);
    assert_true(after.base_to_field.pos.z < 0.8 * before.base_to_field.pos.z);
    nm_world_voltage(world, 0, 14.8);
    for (uint32_t j = 0; j < f->kid70->n_joints; j++)
        assert_near(draw.servos[j].stall, nm_servo_model_of(f->kid70, j).stall, 1e-6);
    nm_world_free(world);
}

static void motors_without_torque_let_the_robot_sink(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    struct nm_joint_goal off[NM_JOINTS] = {{0}};
    struct nm_truth before, after;
    nm_world_truth(world, 0, &before);
    nm_world_goals(world, 0, off);
    nm_world_step(world, 3 * 250);
    nm_world_truth(world, 0, &after);
    assert_true(after.base_to_field.pos.z < 0.6 * before.base_to_field.pos.z);
    nm_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_and_measurements_are_late_by_their_delays),
        cmocka_unit_test(a_standing_robot_feels_its_weight),
        cmocka_unit_test(load_cells_are_dead_at_the_bottom),
        cmocka_unit_test(a_low_battery_weakens_the_motors),
        cmocka_unit_test(motors_without_torque_let_the_robot_sink),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

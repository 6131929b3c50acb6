/* Hands from outside on a running stage: bodies and ball are put and pushed, brains are told and set, each team's in
 * its own frame; and flat robots do as a velocity says. */
#include "theatre.h"

static void things_are_moved_by_command(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, -2, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    SimCommand_Request request = {.command = SimCommand_Request_MOVE, .pose.orientation = {0, 0, 0.7071, 0.7071}};
    SimCommand_Response response = {0};
    nm_text(request.name, "kid");
    request.pose.position = (Point){1, 2, 0};
    nm_stage_command(stage, &request, &response);
    assert_true(response.success);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.y, 2, 1e-9);
    assert_near(quat_yaw(w.base_to_field.rot), M_PI / 2, 1e-6);

    nm_text(request.name, "ball");
    request.pose.position = (Point){1, -1, 0};
    request.twist.linear = (Vector3){1, 0, 0};
    nm_stage_command(stage, &request, &response);
    run(stage, 0.5);
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    assert_near(ball.x, 1.45, 0.1);
    request.command = SimCommand_Request_PUSH;
    nm_text(request.name, "kid");
    request.impulse = (Vector3){0, 8, 0};
    nm_stage_command(stage, &request, &response);
    assert_true(response.success);
    run(stage, 2);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    nm_stage_place(stage, 0, (struct pose2){0, 1, 0}, NM_ON_BACK);
    run(stage, 0.5);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    assert_true(quat_apply(w.base_to_field.rot, (struct vec3){1, 0, 0}).z > 0.7); /* its chest looks up */

    nm_text(request.name, "kit");
    nm_stage_command(stage, &request, &response);
    assert_false(response.success);
    request.command = SimCommand_Request_PAUSE;
    nm_stage_command(stage, &request, &response);
    assert_false(response.success);
    close_theatre(&t, stage);
}

/* Nobody throws a robot or the ball out of the world. */
static void commands_stay_in_the_hall(void **state)
{
    static const double wrong[] = {1e30, -1e30, 1e300, 60, INFINITY, NAN};
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, -2, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    for (int k = 0; k < 6 * 8; k++) {
        double v = wrong[k / 8];
        SimCommand_Request request = {.pose.orientation = {0, 0, 0, 1}};
        SimCommand_Response response = {0};
        nm_text(request.name, "%s", k % 2 ? "ball" : "kid");
        request.command = k / 2 % 4 < 3 ? SimCommand_Request_MOVE : SimCommand_Request_PUSH;
        if (k / 2 % 4 == 0) request.pose.position.x = v;
        if (k / 2 % 4 == 1) request.pose.position.z = v;
        if (k / 2 % 4 == 2) *(k % 2 ? &request.twist.linear.y : &request.pose.orientation.w) = v;
        if (k / 2 % 4 == 3) request.impulse.x = 2 * v;
        nm_stage_command(stage, &request, &response);
        assert_false(response.success);
        assert_true(strlen(response.message) > 10);
    }
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    struct nm_whereabouts w;
    run(stage, 0.5);
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.x, -2, 0.1);
    assert_near(ball.x, 0, 0.01);
    close_theatre(&t, stage);
}

static SimCommand_Response broken(struct nm_stage *stage, const char *name, const char *fault, const char *part)
{
    SimCommand_Request request = {.command = SimCommand_Request_FAULT};
    SimCommand_Response response = {0};
    nm_text(request.name, "%s", name);
    nm_text(request.fault, "%s", fault);
    nm_text(request.part, "%s", part);
    nm_stage_command(stage, &request, &response);
    return response;
}

static void parts_break_by_command(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, -2, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    assert_false(broken(stage, "kit", "imu lost", "").success);
    assert_false(broken(stage, "kid", "imu tired", "").success);
    assert_false(broken(stage, "kid", "servo limp", "left_wing").success);
    assert_false(broken(stage, "kid", "foot lost", "middle").success);
    assert_true(broken(stage, "kid", "foot lost", "left").success);
    run(stage, 0.5);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_false(w.fallen);
    assert_true(broken(stage, "kid", "servo limp", "left_knee").success);
    assert_true(broken(stage, "kid", "servo dead", "right_knee").success);
    run(stage, 2);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen || w.base_to_field.pos.z < 0.3);
    for (int i = 3; i < 32; i++) assert_true(broken(stage, "kid", "imu lost", "").success);
    assert_false(broken(stage, "kid", "imu lost", "").success); /* a robot has room for so many */
    assert_true(broken(stage, "kid", "none", "").success);
    run(stage, 0.1);
    struct nm_grip grips[64];
    nm_stage_grip(stage, 0, grips);
    for (uint32_t joint = 0; joint < nm_stage_body(stage, 0)->n_joints; joint++) assert_true(grips[joint].whole);
    assert_true(broken(stage, "kid", "imu lost", "").success);
    close_theatre(&t, stage);
}

static void each_team_has_its_own_field(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("away", KID, lineup(&t, "witness"), 1, 0.5)};
    robots[0].team = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 0.1);
    assert_near(notes[0].body.pose.position.x, -1, 0.02);
    assert_near(notes[0].body.pose.position.y, -0.5, 0.02);
    assert_near(notes[0].world.bodies.at[0].pose.position.x, 1, 0.02);
    close_theatre(&t, stage);
}

static void flat_robots_obey_a_velocity(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_FLAT;
    const char *says[] = {"orders"};
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "flat_player"), -2, 0)};
    robots[0].says = says, robots[0].n_says = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 4);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.x, -2 + 0.2 * 4, 0.15);
    assert_near(notes[0].odometry.pose.pose.position.x, 0.8, 0.2);
    assert_true(notes[0].percepts_n > 100);
    assert_true(notes[0].ball.confidence > 0);
    nm_stage_place(stage, 0, (struct pose2){1, 1, 0}, NM_UPRIGHT);
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.x, 1, 1e-9);
    nm_stage_push(stage, 0, (struct vec3){20, 0, 0}, (struct vec3){0, 0, 0}, 0);
    run(stage, 0.1);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    close_theatre(&t, stage);
}

static void a_brain_is_told_and_set(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_FLAT;
    const char *says[] = {"orders"}, *set[] = {"flat_player.speed=0"};
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "flat_player"), -2, 0)};
    robots[0].says = says, robots[0].n_says = 1, robots[0].set = set, robots[0].n_set = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    struct nm_err err = {0};
    const char *text = "{linear: {x: 0.3}}", *wrong = "{linear: {w: 0.3}}";
    const struct nm_yaml *message = nm_yaml_parse(&t.arena, "test", text, strlen(text), &err);
    run(stage, 1);
    struct nm_whereabouts before, after;
    nm_stage_whereabouts(stage, 0, &before);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(nm_stage_say(stage, 0, "orders", message, &err), 0);
        run(stage, 0.01);
    }
    nm_stage_whereabouts(stage, 0, &after);
    assert_true(after.velocity.x > before.velocity.x + 0.02);
    assert_int_equal(nm_stage_set(stage, 0, "flat_player.speed=0.35", &err), 0);
    run(stage, 1.5);
    nm_stage_whereabouts(stage, 0, &after);
    assert_true(after.velocity.x > 0.25);

    message = nm_yaml_parse(&t.arena, "test", wrong, strlen(wrong), &err);
    assert_int_equal(nm_stage_check_say(stage, 0, "orders", message, &err), -1);
    assert_int_equal(nm_stage_check_say(stage, 0, "cmd_val", message, &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "flat_player.speed=9", &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "flat_payer.speed=0", &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "speed", &err), -1);
    assert_non_null(strstr(err.text, "flat_player"));
    close_theatre(&t, stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_moved_by_command), cmocka_unit_test(commands_stay_in_the_hall),
        cmocka_unit_test(parts_break_by_command),      cmocka_unit_test(each_team_has_its_own_field),
        cmocka_unit_test(flat_robots_obey_a_velocity), cmocka_unit_test(a_brain_is_told_and_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Centre of pressure against the closed form of a load on four cells, and against summing up every cell in space. */
#include "body/state.h"
#include "modules/body_rig.h"
#include "nutmeg_msgs/FootPressure.h"
#include "std_srvs/Trigger.h"

extern const struct nm_module foot_pressure_module;

static const struct nm_body *body;

static const FootPressure *weigh(struct nm_harness *h, const float left[4], const float right[4])
{
    FootPressure *p = nm_harness_set(h, "foot_cells");
    for (int i = 0; i < 4; i++) p->left.cells[i] = left[i], p->right.cells[i] = right[i];
    nm_harness_step(h, 0.01);
    return nm_harness_get(h, "foot_pressure");
}

/* A cell in its sole's frame. */
static struct vec3 cell_at(int side, int cell)
{
    const struct nm_foot *f = &body->foot[side];
    return pose_apply(pose_inv(body->frames[f->sole].to_link), body->frames[f->cells[cell]].to_link.pos);
}

static void a_load_between_the_cells_is_found_where_it_stands(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, NULL, body);
    /* the cells stand in a rectangle: front left, front right, back left, back right */
    struct vec3 fl = cell_at(NM_LEFT, 0), br = cell_at(NM_LEFT, 3);
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        double u = dice(&seed, 0, 1), v = dice(&seed, 0, 1), force = dice(&seed, 5, 60);
        const float cells[4] = {(float)(force * u * v), (float)(force * u * (1 - v)), (float)(force * (1 - u) * v),
                                (float)(force * (1 - u) * (1 - v))};
        const FootPressure *p = weigh(h, cells, (const float[4]){0});
        assert_near(p->left.force, force, 1e-4);
        assert_near(p->left.center.x, br.x + u * (fl.x - br.x), 1e-6);
        assert_near(p->left.center.y, br.y + v * (fl.y - br.y), 1e-6);
        assert_near(p->left_share, 1, 1e-6);
        assert_true(p->left.valid && p->right.valid);
    }
    nm_harness_free(h);
}

static void the_centre_of_both_is_that_of_all_cells_in_space(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, NULL, body);
    uint64_t seed = 4;
    for (int round = 0; round < 50; round++) {
        double q[NM_JOINTS];
        float cells[2][4];
        struct nm_kin kin;
        struct vec3 sum = {0};
        double force = 0;
        struct quat torso = quat_rpy(dice(&seed, -0.3, 0.3), dice(&seed, -0.3, 0.3), dice(&seed, -3, 3));
        dice_joints(&seed, body, q);
        nm_forward(body, (struct pose3){torso, {0, 0, 0}}, q, &kin);
        struct pose3 to_robot = pose_inv(nm_ground_pose(nm_robot_to_odom(body, &kin)));
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < 4; i++) {
                cells[side][i] = (float)dice(&seed, 0, 20);
                struct vec3 at = pose_apply(to_robot, kin.pose[body->foot[side].cells[i]].pos);
                sum = vec3_add(sum, vec3_scale(at, cells[side][i]));
                force += cells[side][i];
            }
        give_joints(h, body, q, NULL, 1);
        give_torso(h, torso, (struct vec3){0});
        const FootPressure *p = weigh(h, cells[0], cells[1]);
        assert_near(p->center.x, sum.x / force, 1e-5);
        assert_near(p->center.y, sum.y / force, 1e-5);
        assert_near(p->left_share, (cells[0][0] + cells[0][1] + cells[0][2] + cells[0][3]) / force, 1e-5);
    }
    nm_harness_free(h);
}

static void a_foot_that_does_not_answer_is_invalid_alone(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, NULL, body);
    const FootPressure *p = weigh(h, (const float[4]){5, 5, NAN, 5}, (const float[4]){5, 5, 5, 5});
    assert_false(p->left.valid);
    assert_near(p->left.force, 0, 0);
    assert_true(p->right.valid);
    assert_near(p->right.force, 20, 1e-5);
    p = weigh(h, (const float[4]){5, 5, INFINITY, 5}, (const float[4]){5, 5, 5, 1e9f});
    assert_false(p->left.valid || p->right.valid);
    assert_near(p->left_share, 0.5, 0);
    nm_harness_free(h);
}

static void without_weight_the_share_is_a_half_and_no_centre_is_told(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, "min_force=2", body);
    const FootPressure *p = weigh(h, (const float[4]){0.5f, 0, 0, 0}, (const float[4]){0, -3, 0, 0});
    assert_near(p->left_share, 0.5, 0);
    assert_near(p->left.center.x, 0, 0);
    assert_near(p->right.force, 0, 0); /* cells do not pull */
    nm_harness_free(h);
}

static void zeros_are_taken_off_and_may_change_while_it_runs(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, "left_zero=[1, 2, 3, 4]", body);
    const float cells[4] = {11, 12, 13, 14};
    assert_near(weigh(h, cells, cells)->left.force, 40, 1e-5);
    assert_near(weigh(h, cells, cells)->right.force, 50, 1e-5);
    nm_harness_param(h, "left_zero=[0, 0, 0, 0]");
    assert_near(weigh(h, cells, cells)->left.force, 50, 1e-5);
    nm_harness_free(h);
}

/* Asks for a taring and steps until it is answered. */
static const Trigger_Response *tare(struct nm_harness *h, float noise)
{
    const void *const *at;
    uint64_t seed = 6;
    nm_harness_request(h, "tare_feet", 77);
    for (int i = 0; i < 200; i++) {
        float cells[4];
        for (int k = 0; k < 4; k++) cells[k] = (float)(k + 1 + noise * dice(&seed, -1, 1));
        weigh(h, cells, cells);
        if (!nm_harness_queue(h, "tare_feet/reply", &at)) continue;
        assert_int_equal(nm_slot(at[0])->call, 77);
        return at[0];
    }
    fail_msg("no answer");
    return NULL;
}

static void taring_finds_the_zeros(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, "tare_time=0.5", body);
    const Trigger_Response *reply = tare(h, 0);
    assert_true(reply->success);
    assert_string_equal(reply->message, "left_zero 1.0 2.0 3.0 4.0, right_zero 1.0 2.0 3.0 4.0");
    const FootPressure *p = weigh(h, (const float[4]){1, 2, 3, 9}, (const float[4]){1, 2, 3, 4});
    assert_near(p->left.force, 5, 1e-5);
    assert_near(p->right.force, 0, 1e-5);
    /* another parameter does not undo it */
    nm_harness_param(h, "min_force=0.5");
    assert_near(weigh(h, (const float[4]){1, 2, 3, 9}, (const float[4]){1, 2, 3, 4})->left.force, 5, 1e-5);
    /* nor does doing it again */
    assert_true(tare(h, 0)->success);
    assert_near(weigh(h, (const float[4]){1, 2, 3, 9}, (const float[4]){1, 2, 3, 4})->left.force, 5, 1e-5);
    nm_harness_free(h);
}

static void a_robot_that_is_not_held_still_is_not_tared(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, "tare_time=0.5", body);
    const Trigger_Response *reply = tare(h, 5);
    assert_false(reply->success);
    assert_non_null(strstr(reply->message, "hold the robot still"));
    assert_near(weigh(h, (const float[4]){1, 2, 3, 4}, (const float[4]){0})->left.force, 10, 1e-5);
    nm_harness_free(h);
}

static void taring_without_feet_and_twice_at_once_is_refused(void **state)
{
    (void)state;
    const void *const *at;
    struct nm_harness *h = nm_harness_new_with(&foot_pressure_module, "tare_time=0.5", body);
    nm_harness_request(h, "tare_feet", 1);
    nm_harness_request(h, "tare_feet", 2);
    nm_harness_step(h, 0.1);
    assert_int_equal(nm_harness_queue(h, "tare_feet/reply", &at), 1);
    assert_int_equal(nm_slot(at[0])->call, 2);
    assert_string_equal(((const Trigger_Response *)at[0])->message, "the feet are being tared already");
    nm_harness_step(h, 0.6);
    assert_int_equal(nm_harness_queue(h, "tare_feet/reply", &at), 1);
    assert_int_equal(nm_slot(at[0])->call, 1);
    assert_string_equal(((const Trigger_Response *)at[0])->message, "no foot answered");
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_between_the_cells_is_found_where_it_stands),
        cmocka_unit_test(the_centre_of_both_is_that_of_all_cells_in_space),
        cmocka_unit_test(a_foot_that_does_not_answer_is_invalid_alone),
        cmocka_unit_test(without_weight_the_share_is_a_half_and_no_centre_is_told),
        cmocka_unit_test(zeros_are_taken_off_and_may_change_while_it_runs),
        cmocka_unit_test(taring_finds_the_zeros),
        cmocka_unit_test(a_robot_that_is_not_held_still_is_not_tared),
        cmocka_unit_test(taring_without_feet_and_twice_at_once_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}

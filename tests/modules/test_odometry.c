/* The corrected odometry: with `none` it is the model's own; otherwise every step is corrected when the support foot
 * changes, exactly once, and between two changes nothing jumps. */
#include "modules/body_rig.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/SupportState.h"
#include "tf2_msgs/TFMessage.h"

extern const struct nm_module odometry_module;

/* Walks straight ahead, 5 mm a sample and 10 samples a step; where it thinks to be after so many samples. */
static struct pose2 walk(struct nm_harness *h, int samples, double *largest_jump)
{
    struct pose2 at = {0};
    for (int i = 0; i <= samples; i++) {
        Odometry *told = nm_harness_set(h, "odometry_raw");
        told->pose.pose.position.x = 0.005 * i;
        told->pose.pose.orientation.w = 1;
        SupportState *support = nm_harness_set(h, "support_state");
        support->changes = (uint32_t)i / 10;
        nm_harness_step(h, 0.01);
        const Odometry *o = nm_harness_get(h, "odometry");
        double moved = hypot(o->pose.pose.position.x - at.x, o->pose.pose.position.y - at.y);
        if (i && moved > *largest_jump) *largest_jump = moved;
        const Quaternion *q = &o->pose.pose.orientation;
        at = (struct pose2){o->pose.pose.position.x, o->pose.pose.position.y,
                            quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
    }
    return at;
}

static void without_correction_it_is_the_models_own(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&odometry_module, "correct=none, forward=0.5 0 0 0");
    double jump = 0;
    struct pose2 at = walk(h, 105, &jump);
    assert_near(at.x, 0.525, 1e-9);
    assert_near(at.y, 0, 1e-9);
    assert_near(jump, 0.005, 1e-9);
    const void *const *tf;
    assert_int_equal(nm_harness_queue(h, "tf", &tf), 1);
    const TransformStamped *t = &((const TFMessage *)tf[0])->transforms.at[0];
    assert_string_equal(t->child_frame_id, "base_footprint");
    assert_near(t->transform.translation.x, 0.525, 1e-9);
    nm_harness_free(h);
}

static void every_step_is_corrected_once(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&odometry_module, "correct=linear, forward=0.9 0 0 0.001, left=0.1 1 0 0");
    double jump = 0;
    struct pose2 at = walk(h, 105, &jump);
    /* ten whole steps of 5 cm, and half a one as it is told */
    assert_near(at.x, 10 * (0.9 * 0.05 + 0.001) + 0.025, 1e-9);
    assert_near(at.y, 10 * 0.1 * 0.05, 1e-9);
    assert_true(jump < 0.012);
    nm_harness_free(h);
}

static void numbers_that_are_none_are_left_out(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&odometry_module, NULL);
    double jump = 0;
    walk(h, 20, &jump);
    Odometry *told = nm_harness_set(h, "odometry_raw");
    told->pose.pose.position.x = NAN;
    nm_harness_step(h, 0.01);
    assert_false(nm_harness_fresh(h, "odometry"));
    const Odometry *o = nm_harness_get(h, "odometry");
    assert_near(o->pose.pose.position.x, 0.1, 1e-9);
    nm_harness_free(h);
}

/* Standing still nothing is added; on the way the place becomes unsure, across it more than along it, since the
 * direction does too. */
static void the_pose_becomes_unsure_on_the_way(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&odometry_module, "correct=none, drift=0.03, drift_turn=0.03");
    double jump = 0;
    walk(h, 0, &jump);
    const Odometry *o = nm_harness_get(h, "odometry");
    assert_near(o->pose.covariance[0], 0, 1e-12);
    assert_true(o->twist.covariance[0] > 0 && o->twist.covariance[35] > 0);
    walk(h, 200, &jump); /* 1 m */
    o = nm_harness_get(h, "odometry");
    assert_near(o->pose.covariance[0], 0.03 * 0.03, 1e-6);
    assert_near(o->pose.covariance[35], 0.03 * 0.03, 1e-6);
    /* of a direction that drifts evenly over a metre a third becomes variance of the place beside the way */
    assert_near(o->pose.covariance[7], 0.03 * 0.03 * (1 + 1 / 3.0), 1e-5);
    assert_near(o->pose.covariance[11], 0.03 * 0.03 / 2, 1e-5); /* y and yaw go together */
    assert_true(o->pose.covariance[11] == o->pose.covariance[31]);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_correction_it_is_the_models_own),
        cmocka_unit_test(every_step_is_corrected_once),
        cmocka_unit_test(the_pose_becomes_unsure_on_the_way),
        cmocka_unit_test(numbers_that_are_none_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

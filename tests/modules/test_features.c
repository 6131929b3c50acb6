/* However late and seldom vision is, the ball is told afresh at every step, from where the robot is now. */
#include "humanoid_league_msgs/BallRelative.h"
#include "humanoid_league_msgs/GoalRelative.h"
#include "modules/body_rig.h"
#include "nav_msgs/Odometry.h"

extern const struct nm_module features_module;

/* The robot walks a circle. */
static struct pose2 robot_at(double t)
{
    return (struct pose2){0.8 * sin(0.5 * t), 0.8 * (1 - cos(0.5 * t)), angle_normal(0.5 * t)};
}

static void give_odometry(struct nm_harness *h, struct pose2 p, double t)
{
    Odometry *o = nm_harness_set(h, "odometry");
    o->header.stamp = stamp_of(t);
    o->pose.pose.position = (Point){p.x, p.y, 0};
    o->pose.pose.orientation = (Quaternion){0, 0, sin(p.theta / 2), cos(p.theta / 2)};
}

static Point seen_from(struct pose2 robot, double x, double y)
{
    struct pose2 p = pose2_mul(pose2_inv(robot), (struct pose2){x, y, 0});
    return (Point){p.x, p.y, 0};
}

static void the_ball_stays_where_it_is_while_the_robot_walks(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&features_module, NULL);
    const double ball[2] = {2, -1}, dt = 0.008, late = 0.15;
    for (int i = 0; i < 2000; i++) {
        double t = 1 + i * dt;
        give_odometry(h, robot_at(t), t);
        if (i % 8 == 7) { /* a picture every 64 ms, looked at 150 ms after it was taken */
            BallRelative *b = nm_harness_set(h, "ball_relative");
            b->header.stamp = stamp_of(t - late);
            b->ball_relative = seen_from(robot_at(t - late), ball[0], ball[1]);
            b->confidence = 0.8f;
        }
        nm_harness_step(h, i ? dt : 1);
        const BallRelative *fresh = nm_harness_get(h, "ball_fresh");
        assert_true(nm_harness_fresh(h, "ball_fresh"));
        if (i < 40) continue;
        Point truth = seen_from(robot_at(t), ball[0], ball[1]);
        /* the way between two steps is taken as straight: (0.4 m/s * 8 ms) * (0.5 /s * 8 ms) / 8 */
        assert_near(fresh->ball_relative.x, truth.x, 1e-5);
        assert_near(fresh->ball_relative.y, truth.y, 1e-5);
        assert_near(fresh->confidence, 0.8, 1e-6);
    }
    nm_harness_free(h);
}

static void a_ball_not_seen_for_long_is_forgotten(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&features_module, "forget=2");
    give_odometry(h, (struct pose2){0}, 1);
    BallRelative *b = nm_harness_set(h, "ball_relative");
    b->ball_relative = (Point){1, 0, 0};
    b->confidence = 1;
    nm_harness_step(h, 1);
    nm_harness_step(h, 0.9);
    assert_near(((const BallRelative *)nm_harness_get(h, "ball_fresh"))->confidence, 1, 0);
    nm_harness_step(h, 1.5);
    assert_near(((const BallRelative *)nm_harness_get(h, "ball_fresh"))->confidence, 0, 0);
    nm_harness_free(h);
}

static void the_posts_go_along_and_an_unseen_one_stays_unseen(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&features_module, NULL);
    give_odometry(h, (struct pose2){0}, 1);
    GoalRelative *g = nm_harness_set(h, "goal_relative");
    g->header.stamp = stamp_of(1);
    g->left_post = (Point){4, 1.3, 0};
    g->right_post = (Point){NAN, NAN, NAN};
    g->center_direction = (Point){4, 0, 0};
    g->confidence = 0.5f;
    nm_harness_step(h, 1);
    give_odometry(h, (struct pose2){1, 0, M_PI / 2}, 1.01);
    nm_harness_step(h, 0.01);
    const GoalRelative *fresh = nm_harness_get(h, "goal_fresh");
    assert_near(fresh->left_post.x, 1.3, 1e-12);
    assert_near(fresh->left_post.y, -3, 1e-12);
    assert_near(fresh->center_direction.y, -3, 1e-12);
    assert_true(isnan(fresh->right_post.x));
    assert_near(((const BallRelative *)nm_harness_get(h, "ball_fresh"))->confidence, 0, 0);
    nm_harness_free(h);
}

static void without_odometry_and_from_bad_numbers_nothing_is_told(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&features_module, NULL);
    give_odometry(h, (struct pose2){NAN, 0, 0}, 1);
    nm_harness_step(h, 0.01);
    assert_null(nm_harness_get(h, "ball_fresh"));
    give_odometry(h, (struct pose2){0}, 1);
    BallRelative *b = nm_harness_set(h, "ball_relative");
    b->ball_relative = (Point){NAN, 1, 0};
    b->confidence = 1;
    nm_harness_step(h, 0.01);
    assert_near(((const BallRelative *)nm_harness_get(h, "ball_fresh"))->confidence, 0, 0);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ball_stays_where_it_is_while_the_robot_walks),
        cmocka_unit_test(a_ball_not_seen_for_long_is_forgotten),
        cmocka_unit_test(the_posts_go_along_and_an_unseen_one_stays_unseen),
        cmocka_unit_test(without_odometry_and_from_bad_numbers_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The pose from pairs of seen points and landmarks: exact where percepts are, with the direction from two posts. */
#include "modules/position_rig.h"

extern const struct nm_module position_landmarks_module;
static const struct pose2 WALK = {0.15, 0, 0.15}, STAND = {0, 0, 0};

static void start_is_found_and_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig r;
        double side = i & 1 ? 1 : -1, x = -0.9 - 0.8 * i;
        rig_open(&r, &position_landmarks_module, NULL, (struct pose2){x, side * 3.05, -side * M_PI / 2});
        rig_match(&r, MatchState_INITIAL, false);
        rig_run(&r, 6, STAND, true);
        if (rig_error(&r) > 0.1) fail_msg("at x = %g the error is %g", x, rig_error(&r));
        rig_run(&r, 15, WALK, true);
        assert_true(rig_error(&r) < 0.1);
        nm_harness_free(r.h);
    }
}

/* Odometry that turns on its own is corrected by the posts of the goal, and by nothing else here. */
static void posts_give_the_direction(void **state)
{
    (void)state;
    for (int sees = 0; sees < 2; sees++) {
        struct rig r;
        rig_open(&r, &position_landmarks_module, "turn_gain=0", (struct pose2){-2.7, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 6, STAND, true);
        assert_true(rig_error(&r) < 0.1);
        for (int i = 0; i < 90; i++) { /* 3 s in which odometry is wrong by 0.2 rad, seeing only two posts or nothing */
            r.robot_to_odom.theta += 0.2 / 90;
            r.time += 1.0 / 30;
            rig_odometry(&r);
            Percepts *p = nm_harness_set(r.h, "percepts");
            for (int k = 0; k < 2 && sees; k++) {
                struct pose2 post = {-kid.length / 2, (k ? 1 : -1) * (kid.goal_width + kid.post) / 2, 0};
                struct pose2 at = pose2_mul(pose2_inv(r.truth), post);
                Percept *to = nm_append(&p->percepts, &Percept_type);
                *to = (Percept){.kind = Percept_GOAL_POST, .confidence = 0.9f, .located = true};
                to->position = (Point){at.x, at.y, 0};
            }
            nm_harness_step(r.h, 1.0 / 30);
        }
        double off = fabs(angle_normal(rig_pose(&r).theta - r.truth.theta));
        if (sees ? off > 0.05 : off < 0.15) fail_msg("posts seen %d: off by %g", sees, off);
        nm_harness_free(r.h);
    }
}

static void kidnapped_robot_finds_a_place_that_fits(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig r;
        rig_open(&r, &position_landmarks_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 5, STAND, true);
        r.truth = (struct pose2){-3 + 1.1 * i, 2 - 0.8 * i, 1.3 * i};
        rig_run(&r, 15, WALK, true);
        double there = rig_error(&r);
        r.truth = (struct pose2){-r.truth.x, -r.truth.y, r.truth.theta + M_PI};
        double mirrored = rig_error(&r);
        if (fmin(there, mirrored) > 0.2) fail_msg("case %d: off by %g and %g", i, there, mirrored);
        nm_harness_free(r.h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_found_and_kept),
        cmocka_unit_test(posts_give_the_direction),
        cmocka_unit_test(kidnapped_robot_finds_a_place_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

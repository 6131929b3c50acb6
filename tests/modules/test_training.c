/* training: from point to point, around the ball to its far side, still before the kick, and the kick that it asks for
 * is of this ball and towards the goal; whoever lies waits, and begins again where it was. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/harness.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Kick.h"
#include "nutmeg_msgs/BodyTruth.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "std_msgs/String.h"

extern const struct nm_module training_module;

static const double step = 0.02;

/* A robot that walks exactly as it is told. */
struct pupil {
    struct nm_harness *h;
    struct pose2 at;
    struct vec3 ball;
    uint8_t state;
    Twist told;
};

static Pose pose_of(double x, double y, double theta)
{
    return (Pose){{x, y, 0.4}, {0, 0, sin(theta / 2), cos(theta / 2)}};
}

static void live(struct pupil *p, double seconds)
{
    for (double t = 0; t < seconds; t += step) {
        BodyTruth *self = nm_harness_set(p->h, "truth/body");
        self->pose = pose_of(p->at.x, p->at.y, p->at.theta);
        WorldTruth *world = nm_harness_set(p->h, "truth/world");
        world->bodies.n = 1;
        nm_text(world->bodies.at[0].name, "ball");
        world->bodies.at[0].pose = pose_of(p->ball.x, p->ball.y, 0);
        world->bodies.at[0].pose.position.z = 0.07;
        HcmState *hcm = nm_harness_set(p->h, "hcm_state");
        hcm->state = p->state;
        nm_harness_step(p->h, step);
        const Twist *told = nm_harness_get(p->h, "cmd_vel");
        p->told = told ? *told : (Twist){0};
        p->at = pose2_mul(p->at,
                          (struct pose2){p->told.linear.x * step, p->told.linear.y * step, p->told.angular.z * step});
    }
}

static const Kick_SendGoal_Request *asked(struct pupil *p)
{
    const void *const *at;
    return nm_harness_queue(p->h, "kick/_action/send_goal/request", &at) ? at[0] : NULL;
}

static bool says(struct pupil *p, const char *words)
{
    const String *score = nm_harness_get(p->h, "score");
    return score && strstr(score->data, words);
}

static struct pupil begin(const char *settings)
{
    return (struct pupil){.h = nm_harness_new(&training_module, settings), .state = HcmState_CONTROLABLE};
}

static void it_walks_from_point_to_point_and_then_stands(void **state)
{
    (void)state;
    struct pupil p = begin("points=3, start=0, shots=0, point_x=[1, 2, 3, 0, 0, 0], point_y=[0.5, -0.5, 0.5, 0, 0, 0]");
    double highest = -9, lowest = 9;
    for (int i = 0; i < 40; i++) {
        live(&p, 0.5);
        highest = fmax(highest, p.at.y);
        lowest = fmin(lowest, p.at.y);
    }
    assert_true(says(&p, "3 of 3 points"));
    assert_true(highest > 0.3 && lowest < -0.3 && hypot(p.at.x - 3, p.at.y - 0.5) < 0.3);
    assert_true(p.told.linear.x == 0 && p.told.angular.z == 0);
    nm_harness_free(p.h);
}

/* From before the ball, from beside it and from behind. */
static void it_gets_behind_the_ball_and_kicks_towards_the_goal(void **state)
{
    (void)state;
    static const struct pose2 starts[] = {{2, 0.1, 3}, {1, 1, -1.5}, {-1, -0.5, 0}, {1.3, -0.02, 0}};
    for (int i = 0; i < 4; i++) {
        struct pupil p = begin("points=0, start=0, turn_at=0, goal_x=4.5");
        const Kick_SendGoal_Request *ask = NULL;
        p.at = starts[i];
        p.ball = (struct vec3){1, 0.3, 0.07};
        for (int k = 0; k < 3000 && !ask; k++) {
            live(&p, step);
            ask = asked(&p);
            assert_true(hypot(p.at.x - p.ball.x, p.at.y - p.ball.y) > 0.1 || ask); /* it does not run into it */
        }
        assert_non_null(ask);
        assert_true(fabs(ask->goal.ball_pos.x - 0.2) < 0.05 && fabs(fabs(ask->goal.ball_pos.y) - 0.05) < 0.05);
        struct pose2 target = pose2_mul(p.at, (struct pose2){ask->goal.target.x, ask->goal.target.y, 0});
        double wanted = atan2(-p.ball.y, 4.5 - p.ball.x), got = atan2(target.y - p.ball.y, target.x - p.ball.x);
        assert_true(fabs(wanted - got) < 0.02);
        assert_true(p.told.linear.x == 0 && p.told.linear.y == 0);
        nm_harness_free(p.h);
    }
}

static void a_kick_that_was_made_counts_and_a_refused_one_is_tried_again(void **state)
{
    (void)state;
    struct pupil p = begin("points=0, start=0, turn_at=0, shots=1");
    p.ball = (struct vec3){1, 0, 0.07};
    for (int round = 0; round < 2; round++) {
        const Kick_SendGoal_Request *ask = NULL;
        for (int k = 0; k < 3000 && !ask; k++) live(&p, step), ask = asked(&p);
        assert_non_null(ask);
        struct nm_slot from = *nm_slot(ask);
        Kick_SendGoal_Response *reply = nm_harness_set(p.h, "kick/_action/send_goal/reply");
        nm_slot(reply)->caller = from.caller;
        nm_slot(reply)->call = from.call;
        reply->accepted = round == 1;
        live(&p, step);
    }
    const void *const *at;
    assert_int_equal(nm_harness_queue(p.h, "kick/_action/get_result/request", &at), 1);
    struct nm_slot from = *nm_slot(at[0]);
    Kick_GetResult_Response *result = nm_harness_set(p.h, "kick/_action/get_result/reply");
    nm_slot(result)->caller = from.caller;
    nm_slot(result)->call = from.call;
    result->result.result = Kick_Result_SUCCESS;
    live(&p, 4);
    assert_true(says(&p, "1 shot"));
    assert_null(asked(&p));
    nm_harness_free(p.h);
}

static void who_lies_waits_and_goes_on(void **state)
{
    (void)state;
    struct pupil p = begin("points=1, start=0, point_x=[3, 0, 0, 0, 0, 0], point_y=[0, 0, 0, 0, 0, 0]");
    live(&p, 2);
    assert_true(p.told.linear.x > 0.1);
    p.state = HcmState_FALLEN;
    live(&p, 1);
    assert_true(p.told.linear.x == 0 && says(&p, "1 fall,"));
    p.state = HcmState_CONTROLABLE;
    live(&p, 0.1);
    assert_true(p.told.linear.x > 0.1 && says(&p, "1 fall,"));
    nm_harness_free(p.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_walks_from_point_to_point_and_then_stands),
        cmocka_unit_test(it_gets_behind_the_ball_and_kicks_towards_the_goal),
        cmocka_unit_test(a_kick_that_was_made_counts_and_a_refused_one_is_tried_again),
        cmocka_unit_test(who_lies_waits_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

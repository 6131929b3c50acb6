/* gaze: it looks at what its mode wants to know, sees all of it again and again, does not stare where nothing can be
 * seen, and keeps to the limits of the neck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clamp.h"
#include "base/geometry.h"
#include "base/pitch.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/HeadMode.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/ObstacleModel.h"

extern const struct nm_module gaze_module;

static const double TICK = 0.033, EYE = 0.5, HALF_WIDE = 0.55, HALF_HIGH = 0.42;
static const double RIVAL_FAR = 0.6, TRUNK = 0.35; /* m, and the height of the part by which it is recognised */

struct toy {
    struct nm_harness *h;
    double time, pan, tilt;
    struct pose2 robot; /* map and odom are the same */
    double sigma, turn_sigma;
    bool has_pose, has_ball;
    bool unseen;           /* the vision misses the ball */
    double ball_x, ball_y; /* in map */
    double speed, turn;    /* m/s forwards, rad/s */
    double rival_pan;      /* rad, where a robot stands RIVAL_FAR from this one; 0: nobody does */
    int64_t rival_seen;
    int64_t ball_seen;
    uint8_t mode;
    uint32_t moves;
    double wanted_pan, wanted_tilt;
};

static void toy_open(struct toy *toy, uint8_t mode)
{
    *toy = (struct toy){.mode = mode, .sigma = 0.1, .turn_sigma = 0.05, .tilt = 0.15};
    toy->h = nm_harness_new(&gaze_module, "eye_height=0.5, wide=1.1, high=0.84");
}

static bool sees(const struct toy *toy, double x, double y)
{
    struct pose2 at = pose2_mul(pose2_inv(toy->robot), (struct pose2){x, y, 0});
    return fabs(angle_normal(atan2(at.y, at.x) - toy->pan)) < HALF_WIDE &&
           fabs(atan2(EYE, hypot(at.x, at.y)) - toy->tilt) < HALF_HIGH;
}

static void tell(struct toy *toy)
{
    struct quat q = quat_rpy(0, 0, toy->robot.theta);
    Pose pose = {{toy->robot.x, toy->robot.y, 0}, {q.x, q.y, q.z, q.w}};
    Odometry *odometry = nm_harness_set(toy->h, "odometry");
    odometry->pose.pose = pose;
    odometry->twist.twist.linear.x = toy->speed;
    odometry->twist.twist.angular.z = toy->turn;
    ((HeadMode *)nm_harness_set(toy->h, "head_mode"))->head_mode = toy->mode;
    if (toy->has_pose) {
        PoseWithCovarianceStamped *p = nm_harness_set(toy->h, "pose");
        p->pose.pose = pose;
        p->pose.covariance[0] = p->pose.covariance[7] = toy->sigma * toy->sigma;
        p->pose.covariance[35] = toy->turn_sigma * toy->turn_sigma;
    }
    BallModel *ball = nm_harness_set(toy->h, "ball");
    if (toy->has_ball) {
        struct pose2 at = pose2_mul(pose2_inv(toy->robot), (struct pose2){toy->ball_x, toy->ball_y, 0});
        if (!toy->unseen && sees(toy, toy->ball_x, toy->ball_y)) toy->ball_seen = nm_ns(toy->time);
        ball->valid = true;
        ball->position = (Point){at.x, at.y, 0};
        ball->covariance[0] = ball->covariance[5] = 0.001;
        ball->last_seen = nm_stamp(toy->ball_seen);
    }
}

static void tell_rival(struct toy *toy)
{
    double aside = fabs(angle_normal(toy->rival_pan - toy->pan)), below = atan2(EYE - TRUNK, RIVAL_FAR) - toy->tilt;
    if (toy->rival_pan == 0) return;
    if (aside < HALF_WIDE && fabs(below) < HALF_HIGH) toy->rival_seen = nm_ns(toy->time);
    ObstacleModel *model = nm_harness_set(toy->h, "obstacles");
    Obstacle *rival = nm_append(&model->obstacles, &Obstacle_type);
    rival->kind = Obstacle_RIVAL;
    rival->position = (Point){RIVAL_FAR * cos(toy->rival_pan), RIVAL_FAR * sin(toy->rival_pan), 0};
    rival->last_seen = nm_stamp(toy->rival_seen);
}

static void tick(struct toy *toy)
{
    tell(toy);
    tell_rival(toy);
    nm_harness_step(toy->h, TICK);
    toy->time += TICK;
    toy->robot = pose2_mul(toy->robot, (struct pose2){toy->speed * TICK, 0, toy->turn * TICK});
    const HeadCommand *c = nm_harness_get(toy->h, "head_command");
    if (c->mode == HeadCommand_ANGLES) {
        assert_true(fabs((double)c->pan) < 1.71 && c->tilt < 1.41 && c->tilt > -0.61);
        assert_true(fabs((double)c->pan) < 0.567 || c->tilt < 1.01); /* not into the shoulders */
        toy->moves += fabs(c->pan - toy->wanted_pan) > 0.3 || fabs(c->tilt - toy->wanted_tilt) > 0.3;
        toy->wanted_pan = c->pan;
        toy->wanted_tilt = c->tilt;
        toy->pan += nm_within(c->pan - toy->pan, 3 * TICK);
        toy->tilt += nm_within(c->tilt - toy->tilt, 3 * TICK);
    }
}

static void a_ball_is_kept_in_the_picture(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    toy.has_ball = true;
    int out = 0;
    for (int i = 0; i < 300; i++) { /* around the robot from left to right, near and far */
        double angle = 1.4 - 2.8 * i / 300, far = 0.4 + 2 * fabs(sin(i / 40.0));
        toy.ball_x = far * cos(angle);
        toy.ball_y = far * sin(angle);
        tick(&toy);
        if (i > 30) out += !sees(&toy, toy.ball_x, toy.ball_y);
    }
    assert_int_equal(out, 0);
    nm_harness_free(toy.h);
}

/* Seconds until every reachable direction was in the picture; INFINITY if some never was. */
static double look_around(struct toy *toy, double most)
{
    bool seen[15] = {0};
    for (double t = 0; t < most; t += TICK) {
        tick(toy);
        bool all = true;
        for (int i = 0; i < 15; i++) {
            double angle = toy->robot.theta - 1.75 + 0.25 * i;
            seen[i] |= sees(toy, toy->robot.x + 3 * cos(angle), toy->robot.y + 3 * sin(angle));
            all &= seen[i];
        }
        if (all) return t;
    }
    return INFINITY;
}

static void a_lost_ball_is_searched_everywhere(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    assert_true(look_around(&toy, 8) < 8);
    bool feet = false;
    for (double t = 0; t < 8; t += TICK) {
        tick(&toy);
        feet |= sees(&toy, 0.25, 0);
    }
    assert_true(feet);
    assert_true(look_around(&toy, 12) < 12); /* and again */
    nm_harness_free(toy.h);
}

/* The camera of a robot that leans forwards is ahead of its feet, so that a ball near them lies steeply below it. A
 * ball that is not seen may not be there: the head looks straight at the place, and nothing else draws it away. */
/* Somebody took it away: a second look at the same grass tells nothing. */
static void a_ball_that_is_not_where_it_should_be_is_searched(void **state)
{
    (void)state;
    for (double far = 0.8; far < 2.1; far += 1.2) {
        struct toy toy;
        toy_open(&toy, HeadMode_BALL_MODE);
        toy.has_ball = toy.has_pose = true;
        toy.ball_x = far;
        for (int i = 0; i < 60; i++) tick(&toy);
        assert_true(sees(&toy, far, 0));
        toy.unseen = true;
        double away = INFINITY;
        for (int i = 0; i < 60 && !isfinite(away); i++) {
            tick(&toy);
            if (!sees(&toy, far, 0)) away = i * TICK;
        }
        if (!(away > 0.4 && away < 1.8)) fail_msg("a ball %g m away: looked elsewhere after %g s", far, away);
        assert_true(look_around(&toy, 12) < 12);
        nm_harness_free(toy.h);
    }
}

static void an_unseen_ball_at_the_feet_is_looked_for_in_the_middle_of_the_picture(void **state)
{
    (void)state;
    for (double far = 0.2; far < 0.5; far += 0.1) {
        struct toy toy;
        toy_open(&toy, HeadMode_BALL_MODE);
        CameraPose *camera = nm_harness_set(toy.h, "camera/pose");
        camera->valid = true;
        camera->pose.position = (Point){0.1, 0, EYE};
        toy.has_ball = toy.unseen = true;
        toy.ball_x = far;
        toy.ball_y = 0.05;
        for (double t = 0; t < 2; t += TICK) tick(&toy);
        double below = atan2(EYE - 0.07, hypot(far - 0.1, 0.05));
        assert_true(fabs(fmin(below, 1.4) - toy.tilt) < HALF_HIGH / 2 && fabs(toy.pan) < 0.6);
        nm_harness_free(toy.h);
    }
}

static void it_looks_first_where_the_ball_may_be(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    toy.has_pose = true;
    toy.robot = (struct pose2){1, 1, 1};
    PointStamped *search = nm_harness_set(toy.h, "search_target");
    struct pose2 at = pose2_mul(toy.robot, (struct pose2){2 * cos(-1.3), 2 * sin(-1.3), 0});
    search->point = (Point){at.x, at.y, 0};
    double t = 0;
    for (; t < 2 && !sees(&toy, at.x, at.y); t += TICK) tick(&toy);
    assert_true(t < 0.9);
    nm_harness_free(toy.h);
}

/* The head was on its way elsewhere. */
static void a_ball_that_comes_into_sight_is_looked_at_at_once(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    for (int i = 0; i < 300 && fabs(toy.wanted_pan - toy.pan) < 1; i++) tick(&toy);
    double pan = toy.pan;
    assert_true(fabs(toy.wanted_pan - pan) >= 1);
    toy.has_ball = true;
    toy.ball_x = 2 * cos(pan);
    toy.ball_y = 2 * sin(pan);
    toy.ball_seen = nm_ns(toy.time);
    for (int i = 0; i < 3; i++) tick(&toy);
    assert_true(fabs(toy.wanted_pan - pan) < 0.1);
    nm_harness_free(toy.h);
}

/* A vision misses it for some pictures; the robot must not turn its head away. */
static void a_ball_that_is_lost_at_the_feet_is_looked_for_there(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    toy.has_ball = true;
    toy.ball_x = 0.35;
    toy.ball_y = 0.08;
    for (int i = 0; i < 60; i++) tick(&toy);
    toy.has_ball = false;
    for (double t = 0; t < 0.6; t += TICK) {
        tick(&toy);
        assert_true(sees(&toy, toy.ball_x, toy.ball_y));
    }
    assert_true(look_around(&toy, 12) < 12);
    nm_harness_free(toy.h);
}

/* Seconds for which a place at that distance was in the picture while the robot turned so many times: the least of
 * twelve directions. */
static double turn_around(struct toy *toy, double turns, double far)
{
    double seen[12] = {0}, worst = INFINITY;
    for (double t = 0; t < turns * 2 * M_PI / toy->turn; t += TICK) {
        tick(toy);
        for (int i = 0; i < 12; i++) seen[i] += sees(toy, far * cos(i * M_PI / 6), far * sin(i * M_PI / 6)) ? TICK : 0;
    }
    for (int i = 0; i < 12; i++) worst = fmin(worst, seen[i]);
    return worst;
}

/* Every second turn is for far balls. */
static void who_turns_to_find_the_ball_passes_no_direction(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct toy toy;
        toy_open(&toy, HeadMode_BALL_MODE);
        for (int k = 0; k < 60; k++) tick(&toy); /* it stands and looks around first */
        toy.turn = 1.5 + 0.5 * i;
        double first = turn_around(&toy, 1, 3), feet = turn_around(&toy, 1, 0.35), third = turn_around(&toy, 1, 3);
        feet += turn_around(&toy, 5, 0.35);
        if (!(first > 0.15 && third > 0.4))
            fail_msg("at %g rad/s it saw a direction for %g and %g s only", toy.turn, first, third);
        if (!(feet > 0.05)) fail_msg("at %g rad/s it looked down for %g s only", toy.turn, feet);
        nm_harness_free(toy.h);
    }
}

/* A mate says that it lies behind the robot: no neck turns that far, so the head looks around instead. */
static void it_does_not_stare_where_nothing_can_be_seen(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_MODE);
    toy.has_ball = true;
    toy.ball_x = -2;
    assert_true(look_around(&toy, 12) < 12);
    nm_harness_free(toy.h);
}

static void ball_and_goal_are_seen_in_turn(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_BALL_GOAL_TRACKING);
    toy.has_ball = toy.has_pose = true;
    toy.robot = (struct pose2){1.5, 0, M_PI / 2}; /* the goal to the right, the ball to the left */
    toy.ball_x = 0.5;
    toy.ball_y = 0.3;
    double ball = 0, post = 0, no_ball = 0, no_post = 0;
    for (double t = 0; t < 20; t += TICK) {
        tick(&toy);
        no_ball = sees(&toy, toy.ball_x, toy.ball_y) ? 0 : no_ball + TICK;
        no_post = sees(&toy, 4.475, 1.35) || sees(&toy, 4.475, -1.35) ? 0 : no_post + TICK;
        ball = fmax(ball, no_ball);
        if (t > 3) post = fmax(post, no_post);
    }
    assert_true(ball < 2.5 && post < 5);
    assert_true(toy.moves < 20 / 0.3); /* it dwells */
    nm_harness_free(toy.h);
}

/* In a corner with the back to the field's middle: the landmarks are to the left. */
static void it_looks_where_the_landmarks_are(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, HeadMode_FIELD_FEATURES);
    toy.has_pose = true;
    toy.robot =
        (struct pose2){2.6, -2.9, 0}; /* on the right touchline, looking along it: the carpet's edge to the right */
    double left = 0, right = 0;
    for (double t = 0; t < 10; t += TICK) {
        tick(&toy);
        if (toy.pan > 0.1) left += TICK;
        if (toy.pan < -0.6) right += TICK;
    }
    assert_true(left > 3 * right && left > 4);
    nm_harness_free(toy.h);
}

/* The ball lies to the left, and it walks straight on: from time to time it looks where it walks, and does not lose the
 * ball. */
static void who_walks_looks_where_it_walks(void **state)
{
    (void)state;
    double longest[2] = {0};
    for (int walks = 0; walks < 2; walks++) {
        struct toy toy;
        toy_open(&toy, HeadMode_BALL_MODE);
        toy.has_ball = true;
        toy.speed = walks ? 0.6 : 0;
        double unseen = 0;
        for (double t = 0; t < 10; t += TICK) {
            toy.ball_x = toy.robot.x + 0.2; /* beside it */
            toy.ball_y = 2.5;
            tick(&toy);
            unseen = fabs(toy.pan) < 0.5 && toy.tilt < 0.6 ? 0 : unseen + TICK;
            if (t > 2) longest[walks] = fmax(longest[walks], unseen);
            assert_true(toy.time - 1e-9 * (double)toy.ball_seen < 2);
        }
        nm_harness_free(toy.h);
    }
    assert_true(longest[1] < 3 && longest[1] < 0.7 * longest[0]);
}

/* A rival walks beside it, and the ball lies on the other side: it looks at both, and only at the ball where that is at
 * its feet. */
static void who_walks_beside_it_is_watched(void **state)
{
    (void)state;
    const double places[3][2] = {{1, -1.5}, {0.6, -0.65}, {0.3, 0}}; /* m, of the ball beside it */
    double unseen[3] = {0}, ball[3] = {0};                           /* s, the longest times      */
    for (int i = 0; i < 3; i++) {
        struct toy toy;
        toy_open(&toy, HeadMode_BALL_MODE);
        toy.has_ball = true;
        toy.rival_pan = 1.1;
        toy.speed = 0.4;
        for (double t = 0; t < 10; t += TICK) {
            toy.ball_x = toy.robot.x + places[i][0];
            toy.ball_y = places[i][1];
            tick(&toy);
            if (t > 2) unseen[i] = fmax(unseen[i], toy.time - 1e-9 * (double)toy.rival_seen);
            if (t > 2) ball[i] = fmax(ball[i], toy.time - 1e-9 * (double)toy.ball_seen);
        }
        nm_harness_free(toy.h);
    }
    assert_true(unseen[0] < 2 && unseen[1] < 3);
    assert_true(ball[0] < 1.5 && ball[1] < 1.5 && ball[2] < 0.1);
}

static void fixed_modes(void **state)
{
    (void)state;
    static const struct {
        uint8_t mode;
        double low, high;
    } rows[] = {{HeadMode_LOOK_DOWN, 0.9, 1.1}, {HeadMode_LOOK_FORWARD, 0, 0.3}, {HeadMode_LOOK_UP, -0.7, -0.5}};
    struct toy toy;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        toy_open(&toy, rows[i].mode);
        for (int k = 0; k < 60; k++) tick(&toy);
        assert_true(fabs(toy.pan) < 0.01 && toy.tilt > rows[i].low && toy.tilt < rows[i].high);
        toy.mode = HeadMode_DONT_MOVE;
        tick(&toy);
        assert_int_equal(((const HeadCommand *)nm_harness_get(toy.h, "head_command"))->mode, HeadCommand_HOLD);
        nm_harness_free(toy.h);
    }
    toy_open(&toy, 6); /* the thesis leaves this number out: as if nobody had asked */
    for (int k = 0; k < 10; k++) tick(&toy);
    nm_harness_free(toy.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_is_kept_in_the_picture),
        cmocka_unit_test(a_lost_ball_is_searched_everywhere),
        cmocka_unit_test(a_ball_that_is_not_where_it_should_be_is_searched),
        cmocka_unit_test(an_unseen_ball_at_the_feet_is_looked_for_in_the_middle_of_the_picture),
        cmocka_unit_test(it_looks_first_where_the_ball_may_be),
        cmocka_unit_test(a_ball_that_comes_into_sight_is_looked_at_at_once),
        cmocka_unit_test(a_ball_that_is_lost_at_the_feet_is_looked_for_there),
        cmocka_unit_test(who_turns_to_find_the_ball_passes_no_direction),
        cmocka_unit_test(it_does_not_stare_where_nothing_can_be_seen),
        cmocka_unit_test(ball_and_goal_are_seen_in_turn),
        cmocka_unit_test(it_looks_where_the_landmarks_are),
        cmocka_unit_test(who_walks_looks_where_it_walks),
        cmocka_unit_test(who_walks_beside_it_is_watched),
        cmocka_unit_test(fixed_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

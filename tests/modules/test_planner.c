/* planner: in a small world where a robot walks as it is told, every mode ends where it should, no way touches what it
 * should not, a ball is kicked from any side without a stop, and what cannot be done is refused with a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clamp.h"
#include "base/order.h"
#include "base/random.h"
#include "core/harness.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nav_msgs/Odometry.h"
#include "nav_msgs/Path.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/NavigationState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

extern const struct nm_module planner_module;

/* ---- the world ---- */

enum { OBSTACLES = 6 };
static const double TICK = 0.008, FORWARD = 0.5, BODY = 0.17;
static const double BRAKE = 0.6; /* m/s2, of a ball that rolls */

struct toy {
    struct nm_harness *h;
    double time;
    struct pose2 robot, velocity; /* odom is where it really is */
    struct pose2 map_to_odom;
    bool has_ball, has_pose;
    bool told_ball;                          /* by mates, in map */
    double ball_x, ball_y, ball_vx, ball_vy; /* m, m/s */
    bool tells_speed;                        /* of the ball */
    uint32_t n;
    struct {
        double x, y, radius, vx, vy;
        uint8_t kind;
        double unseen; /* s; 0: it does not say */
        double doubt;  /* m, of its place         */
    } obstacles[OBSTACLES];
    NavigationGoal goal;
    /* counted */
    uint32_t kicks, starts, ticks;
    bool walked;
    WalkCommand kick;
    struct pose2 kicked_from;
};

static void toy_open(struct toy *toy, const char *settings)
{
    memset(toy, 0, sizeof *toy);
    toy->h = nm_harness_new(&planner_module, settings);
    nm_text(toy->goal.header.frame_id, "odom");
}

/* s, by which its way is longer than its speed: v^2 / 2a = v * v / 2a */
static double rolls_on(const struct toy *toy) { return hypot(toy->ball_vx, toy->ball_vy) / (2 * BRAKE); }

static void tell(struct toy *toy)
{
    Odometry *o = nm_harness_set(toy->h, "odometry");
    struct quat q = quat_rpy(0, 0, toy->robot.theta);
    o->pose.pose = (Pose){{toy->robot.x, toy->robot.y, 0}, {q.x, q.y, q.z, q.w}};
    if (toy->ticks++ % 4) return; /* the brain thinks less often than the walk walks */
    struct pose2 odom_to_robot = pose2_inv(toy->robot);
    *(NavigationGoal *)nm_harness_set(toy->h, "navigation_goal") = toy->goal;
    if (toy->told_ball) {
        TeamBall *ball = nm_harness_set(toy->h, "team_ball");
        ball->source = TeamBall_SOURCE_MATE;
        ball->ball.valid = true;
        ball->ball.position = (Point){toy->ball_x, toy->ball_y, 0};
        ball->ball.last_seen = nm_stamp(nm_ns(toy->time + 0.001));
    }
    if (toy->has_ball) {
        BallModel *ball = nm_harness_set(toy->h, "ball");
        struct pose2 at = pose2_mul(odom_to_robot, (struct pose2){toy->ball_x, toy->ball_y, 0});
        ball->valid = true;
        ball->position = ball->destination = (Point){at.x, at.y, 0};
        ball->last_seen = nm_stamp(nm_ns(toy->time + 0.001));
        if (toy->tells_speed) {
            double c = cos(odom_to_robot.theta), s = sin(odom_to_robot.theta), stops = rolls_on(toy);
            ball->velocity = (Vector3){c * toy->ball_vx - s * toy->ball_vy, s * toy->ball_vx + c * toy->ball_vy, 0};
            ball->destination.x += stops * ball->velocity.x;
            ball->destination.y += stops * ball->velocity.y;
        }
    }
    if (toy->has_pose) {
        PoseWithCovarianceStamped *pose = nm_harness_set(toy->h, "pose");
        struct pose2 at = pose2_mul(pose2_inv(toy->map_to_odom), toy->robot);
        struct quat turn = quat_rpy(0, 0, at.theta);
        pose->pose.pose = (Pose){{at.x, at.y, 0}, {turn.x, turn.y, turn.z, turn.w}};
    }
    if (toy->n) {
        ObstacleModel *model = nm_harness_set(toy->h, "obstacles");
        for (uint32_t i = 0; i < toy->n; i++) {
            Obstacle *out = nm_append(&model->obstacles, &Obstacle_type);
            struct pose2 at = pose2_mul(odom_to_robot, (struct pose2){toy->obstacles[i].x, toy->obstacles[i].y, 0});
            double c = cos(toy->robot.theta), s = sin(toy->robot.theta);
            out->kind = toy->obstacles[i].kind;
            out->position = (Point){at.x, at.y, 0};
            out->velocity = (Vector3){c * toy->obstacles[i].vx + s * toy->obstacles[i].vy,
                                      c * toy->obstacles[i].vy - s * toy->obstacles[i].vx, 0};
            out->radius = (float)toy->obstacles[i].radius;
            out->covariance[0] = out->covariance[3] = toy->obstacles[i].doubt * toy->obstacles[i].doubt;
            if (toy->obstacles[i].unseen > 0) out->last_seen = nm_stamp(nm_ns(toy->time - toy->obstacles[i].unseen));
        }
    }
}

static double towards(double from, double to, double most) { return from + nm_within(to - from, most); }

/* One tick: walks as told, with the limits of a walk. */
static const WalkCommand *tick(struct toy *toy)
{
    tell(toy);
    nm_harness_step(toy->h, TICK);
    toy->time += TICK;
    const WalkCommand *c = nm_harness_get(toy->h, "walk_command");
    struct pose2 wish = {0};
    if (c->mode == WalkCommand_VELOCITY)
        wish = (struct pose2){c->velocity.linear.x, c->velocity.linear.y, c->velocity.angular.z};
    if (c->mode == WalkCommand_TARGET) wish = (struct pose2){2 * c->target.x, 2 * c->target.y, 2 * c->target.theta};
    double share = fabs(wish.x) / (wish.x > 0 ? 0.53 : 0.46) + fabs(wish.y) / 0.39, slower = share > 1 ? 1 / share : 1;
    toy->velocity.x = towards(toy->velocity.x, slower * wish.x, 2 * TICK);
    toy->velocity.y = towards(toy->velocity.y, slower * wish.y, 2 * TICK);
    toy->velocity.theta = towards(toy->velocity.theta, nm_within(wish.theta, 2.8), 12 * TICK);
    toy->robot = pose2_mul(toy->robot,
                           (struct pose2){toy->velocity.x * TICK, toy->velocity.y * TICK, toy->velocity.theta * TICK});
    for (uint32_t i = 0; i < toy->n; i++) {
        toy->obstacles[i].x += TICK * toy->obstacles[i].vx;
        toy->obstacles[i].y += TICK * toy->obstacles[i].vy;
    }
    double fast = hypot(toy->ball_vx, toy->ball_vy), slower_ball = fast > 0 ? fmax(1 - BRAKE * TICK / fast, 0) : 0;
    toy->ball_x += TICK * toy->ball_vx;
    toy->ball_y += TICK * toy->ball_vy;
    toy->ball_vx *= slower_ball;
    toy->ball_vy *= slower_ball;
    bool walks = c->mode != WalkCommand_STAND;
    toy->starts += walks && !toy->walked;
    toy->walked = walks;
    if (c->kick) {
        toy->kicks++;
        toy->kick = *c;
        toy->kicked_from = toy->robot;
    }
    return c;
}

static const NavigationState *told(struct toy *toy) { return nm_harness_get(toy->h, "navigation_state"); }

/* Until it says that it has arrived; the seconds, or INFINITY. */
static double walk_until_there(struct toy *toy, double most)
{
    double begin = toy->time;
    while (toy->time - begin < most) {
        tick(toy);
        if (told(toy)->arrived && hypot(toy->velocity.x, toy->velocity.y) < 0.01) return toy->time - begin;
    }
    return INFINITY;
}

static double gap(const struct toy *toy)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < toy->n; i++)
        least = fmin(least, hypot(toy->robot.x - toy->obstacles[i].x, toy->robot.y - toy->obstacles[i].y) -
                                toy->obstacles[i].radius - BODY);
    return least;
}

static double between(struct nm_dice *dice, double low, double high) { return low + (high - low) * nm_dice_roll(dice); }

static struct pose2 somewhere(struct nm_dice *dice, double most)
{
    return (struct pose2){between(dice, -most, most), between(dice, -most, most), between(dice, -M_PI, M_PI)};
}

/* ---- ways to a place ---- */

static void every_mode_with_a_place_ends_there_in_good_time(void **state)
{
    (void)state;
    static const uint8_t modes[] = {NavigationGoal_PATH, NavigationGoal_PATH_WITH_ORIENTATION, NavigationGoal_DIRECT,
                                    NavigationGoal_DIRECT_WITH_ORIENTATION};
    struct nm_dice dice = nm_dice_new(1, 1, 1);
    for (int trial = 0; trial < 80; trial++) {
        struct toy toy;
        toy_open(&toy, NULL);
        bool in_map = trial & 4;
        toy.robot = somewhere(&dice, 2);
        toy.map_to_odom = somewhere(&dice, 2);
        toy.has_pose = in_map;
        struct pose2 target = somewhere(&dice, 2),
                     in_frame = in_map ? pose2_mul(pose2_inv(toy.map_to_odom), target) : target;
        if (in_map) nm_text(toy.goal.header.frame_id, "map");
        toy.goal.mode = modes[trial % 4];
        toy.goal.target = (Pose2D){in_frame.x, in_frame.y, in_frame.theta};
        bool early = toy.goal.mode == NavigationGoal_PATH_WITH_ORIENTATION ||
                     toy.goal.mode == NavigationGoal_DIRECT_WITH_ORIENTATION;
        double far = hypot(target.x - toy.robot.x, target.y - toy.robot.y);
        double most = far / (early ? 0.3 : FORWARD) + 2 * M_PI / 2 + 3.5, took = walk_until_there(&toy, most);
        assert_true(isfinite(took));
        assert_true(hypot(target.x - toy.robot.x, target.y - toy.robot.y) < 0.06);
        assert_true(fabs(angle_normal(target.theta - toy.robot.theta)) < 0.15);
        nm_harness_free(toy.h);
    }
}

/* A goal relative to the robot stays where it was said while the robot walks. */
static void a_relative_goal_is_carried_by_the_odometry(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, "patience=30");
    toy.robot = (struct pose2){1, 2, M_PI / 2};
    toy.goal.mode = NavigationGoal_PATH;
    nm_text(toy.goal.header.frame_id, "base_footprint");
    toy.goal.target = (Pose2D){1, 0, 0};
    for (int i = 0; i < 2; i++) tick(&toy);
    toy.ticks = 1; /* not said again */
    for (double t = 0; t < 8; t += TICK) {
        tick(&toy);
        toy.ticks = 1;
    }
    assert_true(hypot(toy.robot.x - 1, toy.robot.y - 3) < 0.06);
    assert_true(told(&toy)->arrived);
    nm_harness_free(toy.h);
}

static void ways_lead_around_robots_and_posts(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 2, 2);
    int arrived = 0, trials = 60;
    for (int trial = 0; trial < trials; trial++) {
        struct toy toy;
        toy_open(&toy, NULL);
        struct pose2 target = {2, between(&dice, -0.5, 0.5), between(&dice, -3, 3)};
        toy.robot = (struct pose2){-2, between(&dice, -0.5, 0.5), between(&dice, -3, 3)};
        toy.n = 1 + (uint32_t)(trial % OBSTACLES);
        for (uint32_t i = 0; i < toy.n; i++) {
            toy.obstacles[i].x = between(&dice, -1.3, 1.3);
            toy.obstacles[i].y = between(&dice, -0.8, 0.8);
            toy.obstacles[i].kind = i & 1 ? Obstacle_GOAL_POST : Obstacle_RIVAL;
            toy.obstacles[i].radius = i & 1 ? 0.05 : 0.15;
        }
        toy.goal.mode = trial & 1 ? NavigationGoal_PATH : NavigationGoal_PATH_WITH_ORIENTATION;
        toy.goal.target = (Pose2D){target.x, target.y, target.theta};
        bool there = false;
        for (double t = 0; t < 25 && !there; t += TICK) {
            tick(&toy);
            assert_true(gap(&toy) > 0.01);
            there = told(&toy)->arrived;
        }
        arrived += there;
        nm_harness_free(toy.h);
    }
    assert_true(arrived >= trials - 1);
}

/* From behind a goal, or from inside, into the field; the toy's net does not stop it. */
static void nobody_walks_through_a_net(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(4, 4, 4);
    const double line = 4.5, back = 5.1, wide = 1.35, clear = 0.9 * BODY;
    int trials = 40;
    for (int trial = 0; trial < trials; trial++) {
        struct toy toy;
        toy_open(&toy, NULL);
        double end = trial & 1 ? 1 : -1, side = trial & 2 ? 1 : -1;
        struct pose2 from = {end * between(&dice, 5.4, 5.8), side * between(&dice, 0, 2), between(&dice, -3, 3)};
        if (trial % 5 == 0) from = (struct pose2){end * 5.12, side * 1.67, between(&dice, -3, 3)}; /* at a corner */
        if (trial % 5 == 1) from = (struct pose2){end * 4.7, side * 0.5, between(&dice, -3, 3)};   /* in the goal */
        toy.map_to_odom = (struct pose2){1, 2, 0.5};
        toy.has_pose = true;
        toy.robot = pose2_mul(toy.map_to_odom, from);
        nm_text(toy.goal.header.frame_id, "map");
        toy.goal.mode = NavigationGoal_PATH;
        toy.goal.target = (Pose2D){end * between(&dice, 0, 3), between(&dice, -2, 2), 0};
        bool there = false;
        for (double t = 0; t < 40 && !there; t += TICK) {
            tick(&toy);
            there = told(&toy)->arrived;
            struct pose2 at = pose2_mul(pose2_inv(toy.map_to_odom), toy.robot);
            double x = end * at.x, y = fabs(at.y);
            double to_side = hypot(x - nm_clamp(x, line, back), y - wide), to_back = hypot(x - back, fmax(y - wide, 0));
            assert_true(fmin(to_side, to_back) > clear);
        }
        assert_true(there);
        nm_harness_free(toy.h);
    }
}

/* The estimate of the remaining time is about what it takes. */
static void it_knows_how_long_it_will_take(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(3, 3, 3);
    for (int trial = 0; trial < 30; trial++) {
        struct toy toy;
        toy_open(&toy, NULL);
        toy.robot = somewhere(&dice, 2);
        struct pose2 target = somewhere(&dice, 2);
        toy.goal.mode = NavigationGoal_PATH;
        toy.goal.target = (Pose2D){target.x, target.y, target.theta};
        tick(&toy);
        double said = told(&toy)->remaining_time, took = walk_until_there(&toy, 30);
        assert_true(took > 0.7 * said - 0.5 && took < 1.3 * said + 2.5);
        nm_harness_free(toy.h);
    }
}

static void who_stands_does_not_fidget(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(4, 4, 4);
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target = (Pose2D){1, 0.5, 1};
    assert_true(isfinite(walk_until_there(&toy, 10)));
    toy.starts = 0;
    for (double t = 0; t < 10; t += TICK) { /* the pose is never quite the same */
        toy.goal.target = (Pose2D){1 + 0.015 * nm_dice_gauss(&dice), 0.5 + 0.015 * nm_dice_gauss(&dice),
                                   1 + 0.03 * nm_dice_gauss(&dice)};
        tick(&toy);
    }
    assert_true(toy.starts <= 1);
    nm_harness_free(toy.h);
}

/* A robot straight in the way, seen a little to the left and a little to the right in turn. */
static void it_does_not_waver_between_two_sides(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(5, 5, 5);
    struct toy toy;
    toy_open(&toy, NULL);
    toy.robot = (struct pose2){-2, 0, 0};
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target = (Pose2D){2, 0, 0};
    toy.n = 1;
    toy.obstacles[0].kind = Obstacle_RIVAL;
    toy.obstacles[0].radius = 0.15;
    int changes = 0;
    double side = 0;
    for (double t = 0; t < 15 && !(toy.n && told(&toy) && told(&toy)->arrived); t += TICK) {
        toy.obstacles[0].y = 0.03 * nm_dice_gauss(&dice);
        double y = tick(&toy)->velocity.linear.y,
               now = toy.robot.x < -0.5 && fabs(toy.robot.y) > 0.02 ? toy.robot.y : 0;
        (void)y;
        if (now != 0 && side != 0 && now * side < 0) changes++;
        if (now != 0) side = now;
    }
    assert_true(told(&toy)->arrived);
    assert_int_equal(changes, 0);
    nm_harness_free(toy.h);
}

/* A target straight behind it, which is seen a little to the left and a little to the right in turn. */
static void who_turns_round_does_not_waver(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    int changes = 0;
    double side = 0;
    for (double t = 0; t < 3; t += TICK) {
        if (toy.ticks % 4 == 0) toy.goal.target = (Pose2D){-8, toy.ticks % 8 ? 1.2 : -1.2, 1.5};
        double turn = tick(&toy)->velocity.angular.z;
        bool behind = fabs(toy.robot.theta) < 1.5; /* it has not yet turned round */
        if (behind && fabs(turn) > 0.2 && turn * side < 0) changes++;
        if (fabs(turn) > 0.2) side = turn;
    }
    assert_true(fabs(toy.robot.theta) > 2.5);
    assert_int_equal(changes, 0);
    nm_harness_free(toy.h);
}

/* The last steps to a place are not made in a hurry. */
static void near_its_place_it_steps_calmly(void **state)
{
    (void)state;
    struct toy toy;
    bool stepped = false;
    toy_open(&toy, "forward=1, side=0.5, turn=3");
    toy.goal.mode = NavigationGoal_DIRECT_WITH_ORIENTATION;
    toy.goal.target = (Pose2D){0.2, 0.05, 0};
    for (int i = 0; i < 100; i++) {
        const WalkCommand *c = tick(&toy);
        if (c->mode != WalkCommand_TARGET) continue;
        stepped = true;
        assert_true(c->velocity.linear.x <= 0.5 && c->velocity.linear.y <= 0.25 && c->velocity.angular.z <= 1.5);
    }
    assert_true(stepped);
    nm_harness_free(toy.h);
}

static void the_ball_is_kept_at_its_distance(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(6, 6, 6);
    for (int trial = 0; trial < 30; trial++) {
        struct toy toy;
        toy_open(&toy, NULL);
        double from = between(&dice, -M_PI, M_PI), to = between(&dice, -M_PI, M_PI);
        toy.has_ball = trial % 5;
        toy.told_ball = toy.has_pose = !toy.has_ball; /* only mates see it */
        toy.robot = (struct pose2){1.6 * cos(from), 1.6 * sin(from), 0};
        toy.goal.mode = trial & 1 ? NavigationGoal_PATH : NavigationGoal_DIRECT;
        toy.goal.ball_distance = 0.75F;
        double far = trial % 3 ? 1.5 : 0.2; /* the last one lies too near to the ball */
        toy.goal.target = (Pose2D){far * cos(to), far * sin(to), 0};
        for (double t = 0; t < 25; t += TICK) {
            tick(&toy);
            assert_true(hypot(toy.robot.x, toy.robot.y) > 0.75 - 0.06);
        }
        assert_true(told(&toy)->arrived);
        nm_harness_free(toy.h);
    }
}

static void who_stands_too_near_to_the_ball_leaves_it(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.has_ball = true;
    toy.robot = (struct pose2){-0.3, 0, 0};
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.ball_distance = 0.75F;
    toy.goal.target = (Pose2D){1.5, 0, 0}; /* beyond the ball */
    for (double t = 0; t < 20; t += TICK) {
        tick(&toy);
        assert_true(hypot(toy.robot.x, toy.robot.y) > 0.28);
    }
    assert_true(hypot(toy.robot.x - 1.5, toy.robot.y) < 0.08);
    nm_harness_free(toy.h);
}

/* ---- duels ---- */

/* m between this robot, which does not play the ball, and another one in its way, when both stand */
static double waits_before(uint8_t kind, double doubt)
{
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_DIRECT;
    toy.goal.target = (Pose2D){2, 0, 0};
    toy.n = 1;
    toy.obstacles[0].x = 1;
    toy.obstacles[0].kind = kind;
    toy.obstacles[0].radius = 0.15;
    toy.obstacles[0].doubt = doubt;
    for (double t = 0; t < 6; t += TICK) tick(&toy);
    double left = gap(&toy);
    nm_harness_free(toy.h);
    return left;
}

static void mates_leave_more_room(void **state)
{
    (void)state;
    assert_true(waits_before(Obstacle_MATE, 0) > waits_before(Obstacle_RIVAL, 0) + 0.05);
}

/* m/s, at most, while it passes a rival who stands beside its way; a ball may lie there, too */
static double passes(double doubt, bool ball)
{
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_DIRECT;
    toy.goal.target = (Pose2D){3, 0, 0};
    toy.n = 1;
    toy.obstacles[0].x = 1.2, toy.obstacles[0].y = 0.5;
    toy.obstacles[0].kind = Obstacle_RIVAL;
    toy.obstacles[0].radius = 0.15;
    toy.obstacles[0].doubt = doubt;
    toy.has_ball = ball;
    toy.ball_x = 1.2, toy.ball_y = -0.5;
    double fastest = 0;
    for (double t = 0; t < 12; t += TICK) {
        tick(&toy);
        if (fabs(toy.robot.x - 1) < 0.2) fastest = fmax(fastest, toy.velocity.x);
    }
    assert_true(toy.robot.x > 2.9);
    nm_harness_free(toy.h);
    return fastest;
}

/* He may stand in the way a moment later. */
static void who_may_stand_in_the_way_is_passed_slowly(void **state)
{
    (void)state;
    double sure = passes(0, false);
    assert_true(sure > 0.5 && passes(0.25, false) < 0.8 * sure);
}

/* Whoever keeps more distance there leaves the ball to the rivals. */
static void at_the_ball_the_risk_is_taken(void **state)
{
    (void)state;
    assert_true(passes(0.25, true) > 0.95 * passes(0, true));
}

/* Who was not seen for a moment may be nearer than he is believed to be; who is nowhere known keeps nobody away. */
static void who_may_be_nearer_gets_more_room(void **state)
{
    (void)state;
    double sure = waits_before(Obstacle_RIVAL, 0);
    assert_true(waits_before(Obstacle_RIVAL, 0.15) > sure + 0.1);
    assert_true(waits_before(Obstacle_RIVAL, 5) < sure + 0.3);
    assert_true(fabs(waits_before(Obstacle_RIVAL, NAN) - sure) < 0.02);
}

static void it_backs_off_instead_of_pushing(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_DIRECT;
    toy.goal.target = (Pose2D){2, 0, 0};
    toy.n = 1;
    toy.obstacles[0].x = 1;
    toy.obstacles[0].kind = Obstacle_RIVAL;
    toy.obstacles[0].radius = 0.15;
    double last = 0;
    for (double t = 0; t < 6; t += TICK) {
        tick(&toy);
        assert_true(gap(&toy) > 0);
        if (gap(&toy) < 0.15) last = toy.velocity.x;
    }
    assert_true(fabs(last) < 0.06); /* it waits */
    toy.obstacles[0].vx = -0.08;    /* and now it is pushed */
    for (double t = 0; t < 3; t += TICK) tick(&toy);
    assert_true(toy.velocity.x < -0.05 && gap(&toy) > 0);
    nm_harness_free(toy.h);
}

/* m that it comes near to a ball, beside which somebody was seen so many s ago. */
static double stays_off(uint8_t kind, double unseen)
{
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_DIRECT;
    toy.has_ball = true;
    toy.ball_x = 1;
    toy.n = 1;
    toy.obstacles[0].x = 1, toy.obstacles[0].y = 0.9;
    toy.obstacles[0].kind = kind;
    toy.obstacles[0].radius = 0.15;
    for (double t = 0; t < 3; t += TICK) tick(&toy);
    toy.obstacles[0].unseen = unseen;
    toy.goal.target = (Pose2D){1, 0, 0};
    for (double t = 0; t < 6; t += TICK) tick(&toy);
    double left = hypot(toy.robot.x - 1, toy.robot.y);
    nm_harness_free(toy.h);
    return left;
}

/* Who plays the ball sees the ball, not who comes to it. */
static void a_rival_who_is_not_seen_comes_to_the_ball(void **state)
{
    (void)state;
    assert_true(stays_off(Obstacle_RIVAL, 0.02) < 0.1);
    assert_true(stays_off(Obstacle_MATE, 2) < 0.1);
    assert_true(stays_off(Obstacle_RIVAL, 2) > 0.15);
}

/* ---- the ball ---- */

struct approach {
    double seconds, beyond, nearest; /* until the kick; beyond the straight walk; to the ball before it was behind it */
    double x, y, direction;          /* of the ball and the target when the kick was asked for                    */
    uint32_t kicks;
    bool stopped;
};

static struct approach approach(uint64_t seed, double far, const char *settings)
{
    struct nm_dice dice = nm_dice_new(seed, 7, 7);
    struct toy toy;
    struct approach a = {.nearest = INFINITY};
    double aim = between(&dice, -M_PI, M_PI);
    toy_open(&toy, settings);
    toy.robot = (struct pose2){-far, 0, between(&dice, -M_PI, M_PI)};
    toy.has_ball = true;
    toy.goal.mode = NavigationGoal_WALK_BEHIND_BALL;
    toy.goal.kick = WalkCommand_KICK_FORWARD;
    toy.goal.kick_strength = 1;
    toy.goal.kick_target = (Point){5 * cos(aim), 5 * sin(aim), 0};
    while (!toy.kicks && toy.time < 40) {
        tick(&toy);
        struct pose2 me = pose2_mul(pose2_inv((struct pose2){0, 0, aim}), toy.robot);
        bool behind = me.x < -0.1 && fabs(me.y) < 0.15;
        if (!behind) a.nearest = fmin(a.nearest, hypot(toy.robot.x, toy.robot.y));
        a.stopped |= toy.time > 1 && hypot(toy.velocity.x, toy.velocity.y) < 0.02 && fabs(toy.velocity.theta) < 0.2;
    }
    struct pose2 ball = pose2_mul(pose2_inv(toy.kicked_from), (struct pose2){0, 0, aim});
    a.x = ball.x;
    a.y = ball.y;
    a.direction = ball.theta;
    a.seconds = toy.time;
    a.beyond = toy.time - far / FORWARD;
    for (double t = 0; t < 0.5; t += TICK) tick(&toy);
    a.kicks = toy.kicks;
    nm_harness_free(toy.h);
    return a;
}

static void a_ball_is_kicked_from_any_side_without_a_stop(void **state)
{
    (void)state;
    enum { TRIALS = 60 };
    double beyond[TRIALS];
    int stops = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct approach a = approach((uint64_t)trial, 3, NULL);
        assert_true(a.kicks > 0 && a.kicks <= 5); /* one kick, shown for a few ticks to a walk that does not answer */
        assert_true(a.x > 0.2 && a.x < 0.34 && fabs(fabs(a.y) - 0.1) < 0.05 && fabs(a.direction) < 0.3);
        assert_true(a.nearest > 0.2);
        stops += a.stopped;
        beyond[trial] = a.beyond;
    }
    assert_int_equal(stops, 0);
    qsort(beyond, TRIALS, sizeof *beyond, nm_by_size);
    print_message("beyond the straight walk: median %.2f s, largest %.2f s\n", beyond[TRIALS / 2], beyond[TRIALS - 1]);
    assert_true(beyond[TRIALS / 2] < 3.5 && beyond[TRIALS - 1] < 7);
}

/* s until it kicks a ball that rolls by. */
static double meets(uint64_t seed, bool tells_speed)
{
    struct nm_dice dice = nm_dice_new(seed, 9, 9);
    struct toy toy;
    double way = between(&dice, -M_PI, M_PI), speed = between(&dice, 0.8, 1.8);
    toy_open(&toy, NULL);
    toy.robot = (struct pose2){-1.5, between(&dice, -1, 1), between(&dice, -1, 1)};
    toy.has_ball = true;
    toy.tells_speed = tells_speed;
    toy.ball_vx = speed * cos(way);
    toy.ball_vy = speed * sin(way);
    toy.goal.mode = NavigationGoal_WALK_BEHIND_BALL;
    toy.goal.kick = WalkCommand_KICK_FORWARD;
    toy.goal.kick_strength = 1;
    toy.goal.kick_target = (Point){6, 0, 0};
    while (!toy.kicks && toy.time < 40) tick(&toy);
    nm_harness_free(toy.h);
    return toy.time;
}

/* It does not run after a ball, but goes to where it meets it. */
static void a_ball_that_rolls_is_met(void **state)
{
    (void)state;
    enum { TRIALS = 60 };
    double meeting = 0, chasing = 0, worst = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double met = meets((uint64_t)trial, true);
        meeting += met / TRIALS;
        chasing += meets((uint64_t)trial, false) / TRIALS;
        worst = fmax(worst, met);
    }
    print_message("ball that rolls: kicked after %.2f s, at most %.2f s; chased: %.2f s\n", meeting, worst, chasing);
    assert_true(meeting < chasing - 0.15 && worst < 12);
}

/* Beside the ball's line and almost as far from it as for the kick: a step to the side is enough, unless another robot
 * is near. */
static void who_is_beside_the_lane_does_not_go_back_first(void **state)
{
    (void)state;
    for (int trial = 0; trial < 4; trial++) {
        struct toy toy;
        double farthest = 0, side = trial & 1 ? 1 : -1;
        bool alone = trial < 2;
        toy_open(&toy, NULL);
        toy.n = 1;
        toy.obstacles[0].kind = Obstacle_RIVAL;
        toy.obstacles[0].radius = 0.15;
        toy.obstacles[0].x = alone ? 2 : 0.4;
        toy.robot = (struct pose2){-0.25, side * 0.3, -side * 0.5};
        toy.has_ball = true;
        toy.goal.mode = NavigationGoal_WALK_BEHIND_BALL;
        toy.goal.kick = WalkCommand_KICK_FORWARD;
        toy.goal.kick_strength = 1;
        toy.goal.kick_target = (Point){5, 0, 0};
        while (!toy.kicks && toy.time < 10) {
            tick(&toy);
            farthest = fmax(farthest, -toy.robot.x);
        }
        assert_true(toy.kicks && toy.time < 2);
        assert_true(alone ? farthest < 0.3 : farthest > 0.33);
        assert_true(toy.kicked_from.x < -0.2 && fabs(side * toy.kicked_from.y - 0.1) < 0.08);
        nm_harness_free(toy.h);
    }
}

static void for_a_standing_kick_it_stands_behind_the_ball(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(8, 8, 8);
    for (int trial = 0; trial < 30; trial++) {
        struct toy toy;
        toy_open(&toy, "ahead=0.2, aside=0.05");
        double aim = between(&dice, -M_PI, M_PI);
        toy.robot = somewhere(&dice, 1.5);
        toy.robot.x -= toy.robot.x < 0 ? 0.4 : -0.4; /* not on the ball */
        toy.has_ball = true;
        toy.goal.mode = NavigationGoal_WALK_BEHIND_BALL;
        toy.goal.kick_target = (Point){5 * cos(aim), 5 * sin(aim), 0};
        assert_true(isfinite(walk_until_there(&toy, 25)));
        struct pose2 ball = pose2_mul(pose2_inv(toy.robot), (struct pose2){0, 0, aim});
        assert_true(fabs(ball.x - 0.2) < 0.06 && fabs(fabs(ball.y) - 0.05) < 0.06 && fabs(ball.theta) < 0.15);
        assert_int_equal(toy.kicks, 0);
        nm_harness_free(toy.h);
    }
}

static void who_dribbles_walks_on_with_the_ball(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.robot = (struct pose2){1, 1, 0};
    toy.has_ball = true;
    toy.goal.mode = NavigationGoal_DRIBBLE;
    toy.goal.kick_target = (Point){5, 0, 0};
    for (double t = 0; t < 25 && toy.ball_x < 2; t += TICK) {
        tick(&toy);
        struct pose2 ball = pose2_mul(pose2_inv(toy.robot), (struct pose2){toy.ball_x, toy.ball_y, 0});
        if (ball.x > 0 && ball.x < 0.17 && fabs(ball.y) < 0.1) { /* the feet push it along */
            struct pose2 pushed = pose2_mul(toy.robot, (struct pose2){0.17, ball.y, 0});
            toy.ball_x = pushed.x;
            toy.ball_y = pushed.y;
        }
    }
    assert_true(toy.ball_x >= 2 && fabs(toy.ball_y) < 0.5);
    nm_harness_free(toy.h);
}

/* ---- velocity, refusals ---- */

static void a_velocity_is_passed_on_as_it_is(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_VELOCITY;
    toy.goal.velocity = (Twist){{0.2, -0.1, 0}, {0, 0, 0.7}};
    toy.n = 1;
    toy.obstacles[0].x = 0.4;
    toy.obstacles[0].kind = Obstacle_RIVAL;
    toy.obstacles[0].radius = 0.15;
    const WalkCommand *c = tick(&toy);
    assert_int_equal(c->mode, WalkCommand_VELOCITY);
    assert_true(c->velocity.linear.x == 0.2 && c->velocity.linear.y == -0.1 && c->velocity.angular.z == 0.7);
    nm_harness_free(toy.h);
}

static void the_velocity_of_other_modes_is_a_limit(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target = (Pose2D){3, 0, 0};
    toy.goal.velocity.linear.x = 0.2;
    for (double t = 0; t < 5; t += TICK) assert_true(tick(&toy)->velocity.linear.x <= 0.2 + 1e-9);
    assert_true(toy.robot.x > 0.8);
    nm_harness_free(toy.h);
}

static void assert_refused(struct toy *toy, const char *why)
{
    for (int i = 0; i < 5; i++) assert_int_equal(tick(toy)->mode, WalkCommand_STAND);
    assert_false(told(toy)->accepted);
    assert_non_null(strstr(told(toy)->reason, why));
    nm_harness_free(toy->h);
}

static void what_cannot_be_done_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target.x = NAN;
    assert_refused(&toy, "finite");

    toy_open(&toy, NULL);
    toy.goal.mode = 42;
    assert_refused(&toy, "no such mode");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    nm_text(toy.goal.header.frame_id, "map");
    assert_refused(&toy, "does not know where it is");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    nm_text(toy.goal.header.frame_id, "moon");
    assert_refused(&toy, "frame");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_WALK_BEHIND_BALL;
    assert_refused(&toy, "no ball");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_VELOCITY;
    toy.goal.velocity.linear.x = INFINITY;
    assert_refused(&toy, "finite");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target.x = 1;
    ((MatchState *)nm_harness_set(toy.h, "match_state"))->may_move = false;
    assert_refused(&toy, "rules");

    toy_open(&toy, NULL);
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target.x = 1;
    ((HcmState *)nm_harness_set(toy.h, "hcm_state"))->state = HcmState_FALLEN;
    assert_refused(&toy, "controlable");
}

static void without_a_new_goal_it_stands(void **state)
{
    (void)state;
    struct toy toy;
    toy_open(&toy, "patience=0.5");
    toy.goal.mode = NavigationGoal_PATH;
    toy.goal.target.x = 5;
    tick(&toy);
    assert_int_not_equal(tick(&toy)->mode, WalkCommand_STAND);
    for (double t = 0; t < 0.6; t += TICK) {
        toy.ticks = 1; /* not said again */
        tick(&toy);
    }
    assert_int_equal(((const WalkCommand *)nm_harness_get(toy.h, "walk_command"))->mode, WalkCommand_STAND);
    assert_non_null(strstr(told(&toy)->reason, "no goal"));
    nm_harness_free(toy.h);
}

static void before_the_first_goal_the_walk_is_somebody_elses(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&planner_module, NULL);
    for (int i = 0; i < 5; i++) nm_harness_step(h, TICK);
    assert_null(nm_harness_get(h, "walk_command"));
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_with_a_place_ends_there_in_good_time),
        cmocka_unit_test(a_relative_goal_is_carried_by_the_odometry),
        cmocka_unit_test(ways_lead_around_robots_and_posts),
        cmocka_unit_test(nobody_walks_through_a_net),
        cmocka_unit_test(it_knows_how_long_it_will_take),
        cmocka_unit_test(who_stands_does_not_fidget),
        cmocka_unit_test(it_does_not_waver_between_two_sides),
        cmocka_unit_test(who_turns_round_does_not_waver),
        cmocka_unit_test(near_its_place_it_steps_calmly),
        cmocka_unit_test(the_ball_is_kept_at_its_distance),
        cmocka_unit_test(who_stands_too_near_to_the_ball_leaves_it),
        cmocka_unit_test(mates_leave_more_room),
        cmocka_unit_test(who_may_be_nearer_gets_more_room),
        cmocka_unit_test(who_may_stand_in_the_way_is_passed_slowly),
        cmocka_unit_test(at_the_ball_the_risk_is_taken),
        cmocka_unit_test(it_backs_off_instead_of_pushing),
        cmocka_unit_test(a_rival_who_is_not_seen_comes_to_the_ball),
        cmocka_unit_test(a_ball_is_kicked_from_any_side_without_a_stop),
        cmocka_unit_test(a_ball_that_rolls_is_met),
        cmocka_unit_test(who_is_beside_the_lane_does_not_go_back_first),
        cmocka_unit_test(for_a_standing_kick_it_stands_behind_the_ball),
        cmocka_unit_test(who_dribbles_walks_on_with_the_ball),
        cmocka_unit_test(a_velocity_is_passed_on_as_it_is),
        cmocka_unit_test(the_velocity_of_other_modes_is_a_limit),
        cmocka_unit_test(what_cannot_be_done_is_refused_with_a_reason),
        cmocka_unit_test(without_a_new_goal_it_stands),
        cmocka_unit_test(before_the_first_goal_the_walk_is_somebody_elses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The robot tracker: velocities against robots that walk straight, teams, numbers, mates that nobody sees, posts. */
#include "world_rig.h"

#include "body/robot.h"
#include "nutmeg_msgs/ObstacleModel.h"

extern const struct nm_module robot_tracker_module;

static const Obstacle *nearest(struct nm_harness *h, const char *topic, double x, double y)
{
    const ObstacleModel *model = nm_harness_get(h, topic);
    const Obstacle *best = NULL;
    double least = 0.5;
    for (uint32_t i = 0; i < model->obstacles.n; i++) {
        const Obstacle *o = &model->obstacles.at[i];
        double d = hypot(o->position.x - x, o->position.y - y);
        if (d < least) least = d, best = o;
    }
    return best;
}

static uint32_t count(struct nm_harness *h, const char *topic, uint8_t kind)
{
    const ObstacleModel *model = nm_harness_get(h, topic);
    uint32_t n = 0;
    for (uint32_t i = 0; i < model->obstacles.n; i++) n += model->obstacles.at[i].kind == kind;
    return n;
}

static void a_walking_rival_is_followed_with_its_velocity(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    double error = 0;
    int n = 0;
    /* it crosses in front of the robot, which walks and turns itself */
    for (int i = 0; i < 120; i++) {
        double t = i * STEP, image = t - 0.02;
        struct pose2 then = {0.2 * image, 0, 0.1 * image};
        struct pose2 rival = {2, -1 + 0.25 * image, 0}, seen = pose2_mul(pose2_inv(then), rival);
        give_odometry(h, (struct pose2){0.2 * t, 0, 0.1 * t});
        add_percept(give_image(h, 0.02), Percept_RIVAL, seen.x + 0.06 * nm_dice_gauss(&dice),
                    seen.y + 0.06 * nm_dice_gauss(&dice), 0.06);
        nm_harness_step(h, STEP);
        if (t < 1.5) continue;
        struct pose2 now = {0.2 * t, 0, 0.1 * t}, at = pose2_mul(pose2_inv(now), (struct pose2){2, -1 + 0.25 * t, 0});
        const Obstacle *o = nearest(h, "obstacles", at.x, at.y);
        assert_non_null(o);
        assert_int_equal(o->kind, Obstacle_RIVAL);
        assert_true(hypot(o->position.x - at.x, o->position.y - at.y) < 0.15);
        double vx = 0.25 * sin(now.theta), vy = 0.25 * cos(now.theta);
        error += hypot(o->velocity.x - vx, o->velocity.y - vy);
        n++;
    }
    assert_true(error / n < 0.12);
    assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), 1);
    nm_harness_free(h);
}

/* It walks, turns round, and walks back at 0.5 m/s; the head looks at it for a third of each second only. */
static void a_rival_is_followed_while_the_head_looks_elsewhere(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    double error = 0;
    int n = 0;
    for (int i = 0; i < 900; i++) {
        double t = i * STEP, leg = fmod(t, 6), y = leg < 3 ? -0.75 + 0.5 * leg : 2.25 - 0.5 * leg;
        bool looks = fmod(t, 1) < 0.33;
        give_odometry(h, (struct pose2){0});
        Percepts *image = give_image(h, 0);
        if (looks)
            add_percept(image, Percept_RIVAL, 1.2 + 0.03 * nm_dice_gauss(&dice), y + 0.03 * nm_dice_gauss(&dice), 0.03);
        nm_harness_step(h, STEP);
        if (t < 3 || looks) continue;
        const Obstacle *o = nearest(h, "obstacles", 1.2, y);
        error += o ? hypot(o->position.x - 1.2, o->position.y - y) : 0.5;
        n++;
    }
    assert_true(error / n < 0.12);
    nm_harness_free(h);
}

static void two_robots_that_stand_close_are_two(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 60; i++) {
        Percepts *image = give_image(h, 0.02);
        give_odometry(h, (struct pose2){0});
        add_percept(image, Percept_RIVAL, 1.5, 0.25, 0.05);
        add_percept(image, Percept_MATE, 1.5, -0.25, 0.05);
        nm_harness_step(h, STEP);
    }
    assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), 1);
    assert_int_equal(count(h, "obstacles", Obstacle_MATE), 1);
    nm_harness_free(h);
}

static void a_robot_seen_once_is_not_believed_and_one_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, "forget=3");
    give_odometry(h, (struct pose2){0});
    add_percept(give_image(h, 0.02), Percept_ROBOT, 2, 1, 0.05)->confidence = 0.5f;
    nm_harness_step(h, STEP);
    assert_int_equal(count(h, "obstacles", Obstacle_ROBOT), 0);
    for (int i = 0; i < 30; i++) {
        add_percept(give_image(h, 0.02), Percept_ROBOT, 2, 1, 0.05);
        nm_harness_step(h, STEP);
    }
    assert_int_equal(count(h, "obstacles", Obstacle_ROBOT), 1);
    for (int i = 0; i < 85; i++) { /* 2.8 s without it: remembered, as nobody knows where the camera looks */
        give_image(h, 0.02);
        nm_harness_step(h, STEP);
    }
    assert_int_equal(count(h, "obstacles", Obstacle_ROBOT), 1);
    for (int i = 0; i < 15; i++) {
        give_image(h, 0.02);
        nm_harness_step(h, STEP);
    }
    assert_int_equal(count(h, "obstacles", Obstacle_ROBOT), 0);
    nm_harness_free(h);
}

/* It stands before the feet, where the camera does not see, and the steps of a robot that shoves it lead nowhere. */
static void nobody_walks_through_another_robot(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 40; i++) {
        Percepts *image = give_image(h, 0.02);
        double x = fmax(0.5 - 0.03 * i, 0);
        give_odometry(h, (struct pose2){0.5 - x, 0, 0});
        if (i < 5) add_percept(image, Percept_RIVAL, x, 0.05, 0.05);
        nm_harness_step(h, STEP);
    }
    const Obstacle *o = nearest(h, "obstacles", 0, 0);
    assert_non_null(o);
    assert_true(hypot(o->position.x, o->position.y) > 0.25);
    nm_harness_free(h);
}

static void a_mate_near_a_seen_robot_gives_it_its_number(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 60; i++) {
        TeamState *team = nm_harness_set(h, "team_state");
        Percepts *image = give_image(h, 0.02);
        /* this robot stands at (-1, 1) and looks to the left touchline */
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){-1, 1, M_PI / 2}, 0.05);
        add_mate(h, team, 3, (struct pose2){-1, 2.6, 0});
        add_mate(h, team, 4, (struct pose2){3, -2, 0})->state = TeamMessage_STATE_FALLEN;
        add_percept(image, Percept_ROBOT, 1.5, 0.05, 0.05); /* the vision does not know the shirt */
        nm_harness_step(h, STEP);
    }
    const Obstacle *seen = nearest(h, "obstacles", 1.5, 0.05), *in_map = nearest(h, "team_obstacles", -1.05, 2.5);
    assert_non_null(seen);
    assert_int_equal(seen->kind, Obstacle_MATE);
    assert_int_equal(seen->player_number, 3);
    assert_int_equal(in_map->player_number, 3);
    /* nobody sees number 4: it stands where it says, and lies */
    const Obstacle *unseen = nearest(h, "team_obstacles", 3, -2), *relative = nearest(h, "obstacles", -3, -4);
    assert_non_null(unseen);
    assert_int_equal(unseen->player_number, 4);
    assert_true(unseen->fallen && unseen->radius > 0.3f);
    assert_non_null(relative);
    assert_int_equal(count(h, "team_obstacles", Obstacle_MATE), 2);
    nm_harness_free(h);
}

static void a_rival_near_a_mate_stays_a_rival(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 60; i++) {
        TeamState *team = nm_harness_set(h, "team_state");
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, 0}, 0.05);
        add_mate(h, team, 2, (struct pose2){2, 0.5, 0});
        add_percept(give_image(h, 0.02), Percept_RIVAL, 2, 0, 0.05);
        nm_harness_step(h, STEP);
    }
    assert_int_equal(nearest(h, "obstacles", 2, 0)->kind, Obstacle_RIVAL);
    assert_int_equal(count(h, "obstacles", Obstacle_MATE), 1);
    nm_harness_free(h);
}

static void a_robot_that_lies_is_wide(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 60; i++) {
        give_odometry(h, (struct pose2){0});
        add_percept(give_image(h, 0.02), Percept_RIVAL, 2, 0, 0.05)->size = i < 30 ? 0.32f : 0.6f;
        nm_harness_step(h, STEP);
        if (i == 29) assert_false(nearest(h, "obstacles", 2, 0)->fallen);
    }
    assert_true(nearest(h, "obstacles", 2, 0)->fallen);
    assert_true(nearest(h, "obstacles", 2, 0)->radius > 0.25f);
    nm_harness_free(h);
}

static void what_a_mate_sees_is_an_obstacle_but_not_this_robot_nor_what_was_seen_long_ago(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    const double places[4][2] = {
        {1, -2}, {0.1, 0.1}, {-2, 2}, {3, -1}}; /* a rival; ourselves; one of 4 s ago; a mate */
    for (int n = 0; n < 150; n++) {
        TeamState *team = nm_harness_set(h, "team_state");
        TeamMessage *mate = add_mate(h, team, 2, (struct pose2){2, 2, 0});
        for (int i = 0; i < 4; i++) {
            Obstacle *o = nm_append(&mate->obstacles, &Obstacle_type);
            o->kind = i < 3 ? Obstacle_RIVAL : Obstacle_MATE;
            o->player_number = i < 3 ? 0 : 3;
            o->position = (Point){places[i][0], places[i][1], 0};
            o->velocity = (Vector3){0.2, 0, 0};
            o->confidence = 0.8f;
            o->last_seen = nm_stamp(nm_ns(fmax(n * STEP - (i == 2 ? 4 : 0), 0)));
        }
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, M_PI / 2}, 0.05);
        nm_harness_step(h, STEP);
    }
    assert_non_null(nearest(h, "team_obstacles", 1, -2));
    assert_int_equal(count(h, "team_obstacles", Obstacle_RIVAL), 1);
    assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), 1);
    assert_int_equal(count(h, "obstacles", Obstacle_MATE), 1); /* who speaks; others speak for themselves */
    const Obstacle *seen = nearest(h, "obstacles", -2, -1);    /* this robot looks along y */
    assert_non_null(seen);
    assert_true(fabs(seen->velocity.x) < 1e-6 && fabs(seen->velocity.y + 0.2) < 1e-6);
    nm_harness_free(h);
}

/* The robot saw its mate beside it, then looks elsewhere. The mate walks on: it is where it says, not where it was. */
static void a_mate_that_is_not_seen_any_more_is_where_it_says(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int n = 0; n < 120; n++) {
        struct pose2 at = {1 + 0.6 * fmax(n - 30, 0) * STEP, 0.5, 0};
        add_mate(h, nm_harness_set(h, "team_state"), 2, at);
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, 0}, 0.05);
        Percepts *image = give_image(h, 0.02);
        if (n < 30) add_percept(image, Percept_MATE, 1, 0.5, 0.05);
        nm_harness_step(h, STEP);
        if (n == 25) assert_non_null(nearest(h, "obstacles", 1, 0.5));
        if (n < 70) continue;
        const Obstacle *mate = nearest(h, "obstacles", at.x, at.y);
        assert_int_equal(count(h, "obstacles", Obstacle_MATE), 1);
        assert_true(hypot(mate->position.x - at.x, mate->position.y - at.y) < 0.3);
        assert_int_equal(mate->player_number, 2);
    }
    nm_harness_free(h);
}

/* The robot saw a rival beside it, then looks elsewhere. The rival walks 0.6 m, and a mate sees that. */
static void a_rival_that_is_not_seen_any_more_is_where_a_mate_sees_it(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int n = 0; n < 120; n++) {
        TeamMessage *mate = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
        if (n > 70) {
            Obstacle *o = nm_append(&mate->obstacles, &Obstacle_type);
            *o = (Obstacle){.kind = Obstacle_RIVAL, .position = {1.6, 0.5, 0}, .confidence = 0.8f};
            o->last_seen = nm_stamp(nm_ns(n * STEP - 0.1));
        }
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, 0}, 0.05);
        Percepts *image = give_image(h, 0.02);
        if (n < 30) add_percept(image, Percept_RIVAL, 1, 0.5, 0.05);
        nm_harness_step(h, STEP);
        if (n == 60) assert_non_null(nearest(h, "obstacles", 1, 0.5));
    }
    const Obstacle *rival = nearest(h, "obstacles", 1.6, 0.5);
    assert_non_null(rival);
    assert_true(hypot(rival->position.x - 1.6, rival->position.y - 0.5) < 0.15);
    assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), 1);
    nm_harness_free(h);
}

/* The robot saw one of two rivals beside it, then looks elsewhere. A mate tells of both once: what it says of the other
 * one does not carry away the one that this robot saw. */
static void a_rival_is_not_taken_for_another_one_whom_a_mate_sees(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int n = 0; n < 120; n++) {
        if (n == 71) {
            const double places[2][2] = {{1.2, -0.3}, {1.2, 0.6}}; /* the other one; the one that was seen */
            TeamMessage *mate = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
            for (int i = 0; i < 2; i++) {
                Obstacle *o = nm_append(&mate->obstacles, &Obstacle_type);
                *o =
                    (Obstacle){.kind = Obstacle_RIVAL, .position = {places[i][0], places[i][1], 0}, .confidence = 0.8f};
                o->last_seen = nm_stamp(nm_ns(n * STEP - 0.1));
            }
        }
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, 0}, 0.05);
        Percepts *image = give_image(h, 0.02);
        if (n < 30) add_percept(image, Percept_RIVAL, 1.2, 0.4, 0.05);
        nm_harness_step(h, STEP);
    }
    const Obstacle *rival = nearest(h, "obstacles", 1.2, 0.6);
    assert_non_null(rival);
    assert_true(hypot(rival->position.x - 1.2, rival->position.y - 0.6) < 0.15);
    nm_harness_free(h);
}

/* Who walks beside a robot, where it cannot look, is known from mates only: for a while, and also while he comes so
 * near that a mate might mean this robot itself. */
static void a_rival_beside_it_is_known_from_a_mate(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int n = 0; n < 90; n++) {
        const double places[2][2] = {{-0.4, 0.1}, {-2, 1}};
        TeamMessage *mate = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
        for (int i = 0; i < 2; i++) {
            Obstacle *o = nm_append(&mate->obstacles, &Obstacle_type);
            *o = (Obstacle){.kind = Obstacle_RIVAL, .position = {places[i][0], places[i][1], 0}, .confidence = 0.8f};
            o->last_seen = nm_stamp(nm_ns(fmax(n * STEP - 1.5, 0)));
        }
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, 0}, 0.05);
        nm_harness_step(h, STEP);
    }
    assert_non_null(nearest(h, "obstacles", -0.4, 0.1));
    assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), 1);
    nm_harness_free(h);
}

/* A message was half a second on its way: the mate who sent it and the rival whom he saw have walked on since. */
static void others_walk_on_while_a_message_is_on_its_way(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    for (int n = 0; n < 60; n++) {
        TeamMessage *mate = add_mate(h, nm_harness_set(h, "team_state"), 2, (struct pose2){2, 2, 0});
        mate->header.stamp = soon(h, 0.5);
        mate->state = TeamMessage_STATE_ACTIVE;
        mate->action = TeamMessage_ACTION_GOING_TO_BALL;
        mate->walk_target = (Pose2D){-2, 2, 0};
        mate->max_walk_speed = 0.4f;
        Obstacle *o = nm_append(&mate->obstacles, &Obstacle_type);
        *o = (Obstacle){.kind = Obstacle_RIVAL, .position = {1, -2, 0}, .velocity = {0, 0.4, 0}, .confidence = 0.8f};
        o->last_seen = soon(h, 0.5);
        give_odometry(h, (struct pose2){0});
        give_pose(h, (struct pose2){0, 0, M_PI / 2}, 0.05);
        nm_harness_step(h, STEP);
    }
    const Obstacle *mate = nearest(h, "team_obstacles", 1.8, 2), *rival = nearest(h, "team_obstacles", 1, -1.83);
    assert_true(mate && hypot(mate->position.x - 1.8, mate->position.y - 2) < 0.03);
    assert_true(rival && hypot(rival->position.x - 1, rival->position.y + 1.83) < 0.03); /* it may stop */
    nm_harness_free(h);
}

/* A head that looks down at the ball shows only the feet of the robot behind it: it is still there. One that would be
 * recognised and is not seen is gone. */
static void a_robot_behind_the_ball_is_not_forgotten(void **state)
{
    (void)state;
    static struct nm_arena arena;
    struct nm_err err = {0};
    const struct nm_body *body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    assert_non_null(body);
    struct nm_harness *h = nm_harness_new_with(&robot_tracker_module, NULL, body);
    const double tilts[3] = {0.2, 0.85, 0.2}; /* the robot at 1 m, the ball before it, the robot's place again */
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < 75; i++) {
            Percepts *image = give_image(h, 0.02);
            give_odometry(h, (struct pose2){0});
            give_camera(h, 0, tilts[part]);
            if (part == 0) add_percept(image, Percept_RIVAL, 1, 0, 0.05);
            nm_harness_step(h, STEP);
        }
        assert_int_equal(count(h, "obstacles", Obstacle_RIVAL), part < 2);
    }
    nm_harness_free(h);
    nm_arena_free(&arena);
}

static void the_posts_are_where_the_field_has_them(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&robot_tracker_module, NULL);
    give_odometry(h, (struct pose2){0});
    give_pose(h, (struct pose2){3, 0, 0}, 0.05);
    nm_harness_step(h, STEP);
    assert_int_equal(count(h, "team_obstacles", Obstacle_GOAL_POST), 4);
    assert_int_equal(nearest(h, "obstacles", 1.475, 1.35)->kind, Obstacle_GOAL_POST);
    /* a robot that does not know its place knows the post it sees */
    struct nm_harness *lost = nm_harness_new(&robot_tracker_module, NULL);
    for (int i = 0; i < 30; i++) {
        give_odometry(lost, (struct pose2){0});
        add_percept(give_image(lost, 0.02), Percept_GOAL_POST, 1, 1, 0.05);
        nm_harness_step(lost, STEP);
    }
    assert_int_equal(nearest(lost, "obstacles", 1, 1)->kind, Obstacle_GOAL_POST);
    assert_int_equal(count(lost, "obstacles", Obstacle_GOAL_POST), 1);
    nm_harness_free(lost);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walking_rival_is_followed_with_its_velocity),
        cmocka_unit_test(a_rival_is_followed_while_the_head_looks_elsewhere),
        cmocka_unit_test(two_robots_that_stand_close_are_two),
        cmocka_unit_test(a_robot_seen_once_is_not_believed_and_one_that_is_gone_is_forgotten),
        cmocka_unit_test(nobody_walks_through_another_robot),
        cmocka_unit_test(a_mate_near_a_seen_robot_gives_it_its_number),
        cmocka_unit_test(a_rival_near_a_mate_stays_a_rival),
        cmocka_unit_test(a_robot_that_lies_is_wide),
        cmocka_unit_test(what_a_mate_sees_is_an_obstacle_but_not_this_robot_nor_what_was_seen_long_ago),
        cmocka_unit_test(a_mate_that_is_not_seen_any_more_is_where_it_says),
        cmocka_unit_test(a_rival_that_is_not_seen_any_more_is_where_a_mate_sees_it),
        cmocka_unit_test(a_rival_is_not_taken_for_another_one_whom_a_mate_sees),
        cmocka_unit_test(a_rival_beside_it_is_known_from_a_mate),
        cmocka_unit_test(others_walk_on_while_a_message_is_on_its_way),
        cmocka_unit_test(a_robot_behind_the_ball_is_not_forgotten),
        cmocka_unit_test(the_posts_are_where_the_field_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The models of the thesis and the frames: relative to the robot, the team's news included where the robot knows its
 * place. */
#include "world_rig.h"

#include "humanoid_league_msgs/Model.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"
#include "tf2_msgs/TFMessage.h"

extern const struct nm_module world_model_module;

static void add(ObstacleModel *to, uint8_t kind, uint8_t number, double x, double y)
{
    Obstacle *o = nm_append(&to->obstacles, &Obstacle_type);
    o->kind = kind;
    o->player_number = number;
    o->position = (Point){x, y, 0};
    o->radius = 0.2f;
    o->confidence = 0.7f;
}

static void give(struct nm_harness *h)
{
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = true;
    ball->position = (Point){1, 0.5, 0};
    ball->confidence = 0.8f;
    add(nm_harness_set(h, "obstacles"), Obstacle_RIVAL, 0, 2, 0);
    TeamBall *team = nm_harness_set(h, "team_ball");
    team->source = TeamBall_SOURCE_MATE;
    team->ball.valid = true;
    team->ball.position = (Point){3, 2, 0};
    team->ball.confidence = 0.6f;
    ObstacleModel *all = nm_harness_set(h, "team_obstacles");
    add(all, Obstacle_RIVAL, 0, 1, 3);
    add(all, Obstacle_MATE, 4, -1, 1);
    add(all, Obstacle_GOAL_POST, 0, 4.5, 1.3);
    give_odometry(h, (struct pose2){0});
}

static void the_local_model_is_what_the_robot_sees_and_the_global_one_what_the_team_knows(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&world_model_module, NULL);
    give(h);
    give_pose(h, (struct pose2){1, 1, M_PI / 2}, 0.05);
    nm_harness_step(h, STEP);
    const Model *local = nm_harness_get(h, "local_model"), *global = nm_harness_get(h, "global_model");
    assert_near(local->ball.ball_relative.x, 1, 1e-9);
    assert_near(local->ball.confidence, 0.8, 1e-6);
    assert_int_equal(local->obstacles.obstacles.n, 1);
    assert_int_equal(local->obstacles.obstacles.at[0].color, ObstacleRelative_ROBOT_MAGENTA);
    /* (3, 2) from (1, 1) looking along y: one ahead, two to the right */
    assert_near(global->ball.ball_relative.x, 1, 1e-9);
    assert_near(global->ball.ball_relative.y, -2, 1e-9);
    assert_string_equal(global->ball.header.frame_id, "base_footprint");
    assert_int_equal(global->obstacles.obstacles.n, 3);
    assert_int_equal(global->obstacles.obstacles.at[1].player_number, 4);
    assert_int_equal(global->obstacles.obstacles.at[1].color, ObstacleRelative_ROBOT_CYAN);
    assert_int_equal(global->obstacles.obstacles.at[2].color, ObstacleRelative_POLE);
    assert_near(global->position.pose.pose.position.x, 1, 1e-9);
    nm_harness_free(h);
}

static void ball_and_robots_are_frames_under_map(void **state)
{
    (void)state;
    static const char *const names[] = {"ball", "opponent_1", "teammate_4"};
    const double places[][2] = {{3, 2}, {1, 3}, {-1, 1}};
    struct nm_harness *h = nm_harness_new(&world_model_module, NULL);
    const void *const *at;
    give(h);
    give_pose(h, (struct pose2){1, 1, M_PI / 2}, 0.05);
    nm_harness_step(h, STEP);
    assert_int_equal(nm_harness_queue(h, "tf", &at), 1);
    const TFMessage *tf = at[0];
    assert_int_equal(tf->transforms.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const TransformStamped *t = &tf->transforms.at[i];
        assert_string_equal(t->header.frame_id, "map");
        assert_string_equal(t->child_frame_id, names[i]);
        assert_near(t->transform.translation.x, places[i][0], 1e-9);
        assert_near(t->transform.translation.y, places[i][1], 1e-9);
    }
    nm_harness_free(h);
}

static void a_robot_that_does_not_know_its_place_has_its_own_sight(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&world_model_module, NULL);
    const void *const *at;
    give(h);
    nm_harness_step(h, STEP);
    const Model *global = nm_harness_get(h, "global_model");
    assert_near(global->ball.ball_relative.x, 1, 1e-9);
    assert_int_equal(global->obstacles.obstacles.n, 1);
    assert_int_equal(nm_harness_queue(h, "tf", &at), 0);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_local_model_is_what_the_robot_sees_and_the_global_one_what_the_team_knows),
        cmocka_unit_test(ball_and_robots_are_frames_under_map),
        cmocka_unit_test(a_robot_that_does_not_know_its_place_has_its_own_sight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

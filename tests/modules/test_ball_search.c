/* Who looks for a lost ball where. */
#include "world_rig.h"

#include "body/robot.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseArray.h"
#include "nutmeg_msgs/TeamBall.h"

extern const struct nm_module ball_search_module;

static struct nm_arena arena;
static const struct nm_body *body;

static int setup(void **state)
{
    struct nm_err err = {0};
    (void)state;
    body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    return body ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static void be(struct nm_harness *h, uint8_t number, struct pose2 at)
{
    MatchState *match = nm_harness_set(h, "match_state");
    match->player_number = number;
    match->goalkeeper = 9;
    match->state = MatchState_PLAYING;
    give_odometry(h, (struct pose2){0});
    give_pose(h, at, 0.05);
}

static bool proposed(struct nm_harness *h, uint8_t number, Point *to)
{
    const PoseArray *points = nm_harness_get(h, "search_points");
    *to = (Point){NAN, NAN, 0};
    if (!points || points->poses.n < number) return false;
    *to = points->poses.at[number - 1].position;
    return isfinite(to->x + to->y);
}

static void everybody_gets_another_place_and_the_keeper_none(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_search_module, NULL);
    for (int i = 0; i < 60; i++) {
        TeamState *team = nm_harness_set(h, "team_state");
        be(h, 2, (struct pose2){0, 0, 0});
        add_mate(h, team, 3, (struct pose2){-2, 2, 0});
        add_mate(h, team, 4, (struct pose2){-2, -2, M_PI});
        add_mate(h, team, 9, (struct pose2){-4.2, 0, 0});
        nm_harness_step(h, STEP);
    }
    Point p[3], keeper;
    for (uint8_t i = 0; i < 3; i++) {
        assert_true(proposed(h, (uint8_t)(2 + i), &p[i]));
        assert_true(fabs(p[i].x) < 4.5 && fabs(p[i].y) < 3);
    }
    assert_false(proposed(h, 9, &keeper));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) assert_true(hypot(p[i].x - p[j].x, p[i].y - p[j].y) > 0.9);
    /* the lowest number follows itself */
    const PointStamped *target = nm_harness_get(h, "search_target");
    assert_near(target->point.x, p[0].x, 1e-9);
    assert_string_equal(target->header.frame_id, "map");
    nm_harness_free(h);
}

static void the_proposal_of_the_lowest_number_counts(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_search_module, "mate_time=2");
    for (int i = 0; i < 40; i++) {
        TeamState *team = nm_harness_set(h, "team_state");
        be(h, 3, (struct pose2){0, 0, 0});
        for (uint8_t number = 1; number <= 5; number++) {
            if (number == 3) continue;
            TeamMessage *m = add_mate(h, team, number, (struct pose2){-3, number - 3.0, 0});
            for (uint8_t k = 0; k < 5 && number != 1; k++) { /* number 1 proposes nothing */
                Point *p = nm_append(&m->search_points, &Point_type);
                *p = (Point){number, k, 0};
            }
        }
        nm_harness_step(h, STEP);
    }
    const PointStamped *target = nm_harness_get(h, "search_target");
    assert_near(target->point.x, 2, 1e-9); /* number 2's, for number 3 */
    assert_near(target->point.y, 2, 1e-9);
    /* once number 2 is silent its proposal is too old */
    for (int i = 0; i < 70; i++) {
        be(h, 3, (struct pose2){0, 0, 0});
        nm_harness_step(h, STEP);
    }
    Point own;
    assert_true(proposed(h, 3, &own));
    target = nm_harness_get(h, "search_target");
    assert_near(target->point.x, own.x, 1e-9);
    nm_harness_free(h);
}

static void a_known_ball_ends_the_search_and_a_lost_one_begins_it_where_it_was(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&ball_search_module, "lost_after=1");
    for (int i = 0; i < 90; i++) {
        TeamBall *ball = nm_harness_set(h, "team_ball");
        bool known = i < 40;
        ball->source = known ? TeamBall_SOURCE_SELF : TeamBall_SOURCE_NONE;
        ball->ball.valid = known;
        ball->ball.destination = (Point){2.5, -1.5, 0};
        be(h, 1, (struct pose2){0, 0, 0});
        nm_harness_step(h, STEP);
        if (i > 1 && i < 68) assert_false(nm_harness_fresh(h, "search_target"));
    }
    assert_true(nm_harness_fresh(h, "search_target"));
    const PointStamped *target = nm_harness_get(h, "search_target");
    assert_true(hypot(target->point.x - 2.5, target->point.y + 1.5) < 0.8);
    nm_harness_free(h);
}

static void what_the_camera_sees_is_searched_and_the_search_goes_on_elsewhere(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&ball_search_module, "spread=0", body);
    for (int i = 0; i < 150; i++) {
        be(h, 1, (struct pose2){0, 0, 0});
        give_camera(h, 0, 0.3);
        nm_harness_step(h, STEP);
    }
    const PointStamped *target = nm_harness_get(h, "search_target");
    double bearing = atan2(target->point.y, target->point.x), away = hypot(target->point.x, target->point.y);
    assert_true(fabs(bearing) > 0.4 || away > 3.5);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_another_place_and_the_keeper_none),
        cmocka_unit_test(the_proposal_of_the_lowest_number_counts),
        cmocka_unit_test(a_known_ball_ends_the_search_and_a_lost_one_begins_it_where_it_was),
        cmocka_unit_test(what_the_camera_sees_is_searched_and_the_search_goes_on_elsewhere),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

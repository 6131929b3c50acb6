/* The league's protobuf: its bytes, everything there and back, fields of strangers, and damaged messages. */
#include "codec/news.h"
#include "codec/robocup_protobuf.h"

static void test_bytes_of_the_document(void **state)
{
    (void)state;
    static const uint8_t whole[] = {
        /* 1: timestamp {seconds 150, nanos 7} */
        0x0a, 0x05, 0x08, 0x96, 0x01, 0x10, 0x07,
        /* 2: state penalised */
        0x10, 0x02,
        /* 3: current_pose {player_id 3, position {1.0, -2.0, 0.5}, covariance {x {0.25}, y {y 0.25}, z {z 0.0625}}} */
        0x1a, 0x2c, 0x08, 0x03, 0x12, 0x0f, 0x0d, 0, 0, 0x80, 0x3f, 0x15, 0, 0, 0, 0xc0, 0x1d, 0, 0, 0, 0x3f, 0x1a,
        0x15, 0x0a, 0x05, 0x0d, 0, 0, 0x80, 0x3e, 0x12, 0x05, 0x15, 0, 0, 0x80, 0x3e, 0x1a, 0x05, 0x1d, 0, 0, 0x80,
        0x3d, 0x20, 0x01,
        /* 7: ball {position {2.0}, covariance {x {0.25}, y {y 0.25}}} */
        0x3a, 0x17, 0x0a, 0x05, 0x0d, 0, 0, 0, 0x40, 0x1a, 0x0e, 0x0a, 0x05, 0x0d, 0, 0, 0x80, 0x3e, 0x12, 0x05, 0x15,
        0, 0, 0x80, 0x3e,
        /* 8: others {player_id 4, position {1.0}} and {position {-2.0}} */
        0x42, 0x09, 0x08, 0x04, 0x12, 0x05, 0x0d, 0, 0, 0x80, 0x3f, 0x42, 0x07, 0x12, 0x05, 0x0d, 0, 0, 0, 0xc0,
        /* 101: 0.5 m/s, 104: 4 s, 105: goalie, 106: searching, 107: right, 108: confidences 1.0, 0.5 */
        0xad, 0x06, 0, 0, 0, 0x3f, 0xc5, 0x06, 0, 0, 0x80, 0x40, 0xc8, 0x06, 0x06, 0xd0, 0x06, 0x06, 0xd8, 0x06, 0x03,
        0xe2, 0x06, 0x08, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x3f};
    struct nm_team_news news;
    assert_true(nm_protobuf_decode(whole, sizeof whole, &news));
    assert_int_equal(news.player, 3);
    assert_true(news.stamped && news.stamp == 150000000007);
    assert_int_equal(news.state, NM_NEWS_PENALIZED);
    assert_true(news.knows_pose);
    assert_near(news.x, 1, 0);
    assert_near(news.y, -2, 0);
    assert_near(news.theta, 0.5, 0);
    assert_near(news.sigma_x, 0.5, 0);
    assert_near(news.sigma_theta, 0.25, 0);
    assert_true(news.knows_ball);
    assert_near(news.ball_x, 2, 0);
    assert_int_equal(news.n_obstacles, 2);
    assert_int_equal(news.obstacles[0].kind, NM_NEWS_MATE);
    assert_int_equal(news.obstacles[0].player, 4);
    assert_int_equal(news.obstacles[1].kind, NM_NEWS_ROBOT);
    assert_near(news.obstacles[1].x, -2, 0);
    assert_near(news.obstacles[1].confidence, 0.5, 0);
    assert_near(news.max_speed, 0.5, 0);
    assert_near(news.time_to_ball, 4, 0);
    assert_int_equal(news.role, NM_NEWS_KEEPER);
    assert_int_equal(news.action, NM_NEWS_SEARCHING);
    assert_int_equal(news.side, 3);
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[1472];
        struct nm_team_news a = random_news(&dice, i % 10 == 0), b;
        size_t n = nm_protobuf_encode(&a, bytes, sizeof bytes);
        assert_true(n && nm_protobuf_decode(bytes, n, &b));
        assert_int_equal(b.player, a.player);
        assert_true(b.stamp == a.stamp);
        if (a.role <= NM_NEWS_KEEPER) assert_int_equal(b.role, a.role);
        assert_int_equal(b.action, a.action);
        assert_int_equal(b.side, a.side);
        assert_near(b.x, a.x, 0);
        assert_near(b.theta, a.theta, 0);
        assert_near(b.sigma_y, a.sigma_y, 1e-5);
        assert_near(b.rho, a.rho, 1e-5);
        assert_near(b.ball_y, a.ball_y, 0);
        assert_near(b.ball_vx, a.ball_vx, 0);
        assert_near(b.target_x, a.target_x, 0);
        assert_near(b.kick_x, a.kick_x, 1e-4);
        assert_near(b.max_speed, a.max_speed, 0);
        if (isfinite(a.time_to_ball))
            assert_near(b.time_to_ball, a.time_to_ball, 0);
        else
            assert_true(isinf(b.time_to_ball) != 0);
        int robots = 0;
        for (int k = 0; k < a.n_obstacles; k++)
            robots += a.obstacles[k].kind >= NM_NEWS_ROBOT && a.obstacles[k].kind <= NM_NEWS_RIVAL;
        assert_int_equal(b.n_obstacles, robots);
    }
}

static void test_what_is_unknown_stays_so(void **state)
{
    (void)state;
    uint8_t bytes[512];
    struct nm_team_news a = {.player = 4, .time_to_ball = INFINITY}, b;
    size_t n = nm_protobuf_encode(&a, bytes, sizeof bytes);
    assert_true(nm_protobuf_decode(bytes, n, &b));
    assert_false(b.knows_pose || b.knows_ball || b.has_kick || isfinite(b.time_to_ball));
}

static void test_what_matters_least_is_dropped_first(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    struct nm_team_news a = usual_news(&dice), b;
    for (int i = 0; i < a.n_obstacles; i++) a.obstacles[i].kind = NM_NEWS_RIVAL;
    for (size_t room = 0; room < 512; room++) {
        uint8_t bytes[512];
        memset(bytes, 0xaa, sizeof bytes);
        size_t n = nm_protobuf_encode(&a, bytes, room);
        assert_true(n <= room);
        for (size_t i = room; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0xaa);
        if (!n) continue;
        assert_true(nm_protobuf_decode(bytes, n, &b));
        assert_true(b.knows_pose);
        if (room > 160) assert_true(b.knows_ball && b.has_target);
    }
    assert_int_equal(b.n_obstacles, 4);
    uint8_t bytes[128];
    assert_true(nm_protobuf_decode(bytes, nm_protobuf_encode(&a, bytes, 128), &b)); /* SPL */
    assert_true(b.knows_pose && b.knows_ball);
}

static void test_numbers_of_strangers_are_skipped(void **state)
{
    (void)state;
    static const uint8_t head[] = {0x1a, 0x02, 0x08, 0x03}; /* player 3 */
    static const struct {
        uint8_t bytes[12];
        uint8_t n;
    } strange[] = {
        {{0xaa, 0x06, 0x03, 1, 2, 3}, 6},           /* NUbots' 101 is a message            */
        {{0xfa, 0x7f, 0x02, 9, 9}, 5},              /* a number that nobody has            */
        {{0xf9, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8}, 10}, /* 64 bits of it                       */
        {{0x12, 0x01, 0x00}, 3},                    /* a state that is a text              */
        {{0xe5, 0x06, 0, 0, 0, 0x3f}, 6},           /* a confidence that is not packed     */
    };
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        uint8_t bytes[32];
        struct nm_team_news news;
        memcpy(bytes, strange[i].bytes, strange[i].n);
        memcpy(bytes + strange[i].n, head, sizeof head);
        assert_true(nm_protobuf_decode(bytes, strange[i].n + sizeof head, &news));
        assert_int_equal(news.player, 3);
        assert_false(news.measured);
    }
}

static void test_damaged_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        uint8_t n;
    } wrong[] = {
        {{0}, 0},
        {{0x10, 0x01}, 2},                                                           /* nobody speaks        */
        {{0x1a, 0x02, 0x08, 0x15}, 4},                                               /* player 21            */
        {{0x1a, 0x03, 0x08, 0x03}, 4},                                               /* cut                  */
        {{0x1a, 0x02, 0x08, 0x83}, 4},                                               /* a number without end */
        {{0x1a, 0x02, 0x08, 0x03, 0x13}, 5},                                         /* a group              */
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0}, 12}, /* a number too long    */
        {{0x1a, 0x02, 0x08, 0x03, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, 10},          /* longer than all of it */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nm_team_news news;
        assert_false(nm_protobuf_decode(wrong[i].bytes, wrong[i].n, &news));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_the_document),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_what_is_unknown_stays_so),
        cmocka_unit_test(test_what_matters_least_is_dropped_first),
        cmocka_unit_test(test_numbers_of_strangers_are_skipped),
        cmocka_unit_test(test_damaged_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

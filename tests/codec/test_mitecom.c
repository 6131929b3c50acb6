/* mitecom: the bytes of its document, everything there and back, and what others may send. */
#include "codec/news.h"
#include "codec/mitecom.h"

static void put(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* A datagram of team 7, robot 2, with these keys and values. */
static size_t make(uint8_t *to, const int64_t pairs[][2], uint8_t n)
{
    static const uint8_t head[16] = {'C', 'T', 'X', 'M', 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 2, 0};
    memcpy(to, head, 16);
    to[6] = n;
    for (int i = 0; i < n; i++) {
        put(to + 16 + 8 * i, (uint32_t)pairs[i][0]);
        put(to + 20 + 8 * i, (uint32_t)(int32_t)pairs[i][1]);
    }
    return 16 + 8u * n;
}

static void test_what_another_teams_robot_sends(void **state)
{
    (void)state;
    uint8_t bytes[512];
    struct nm_team_news news;
    static const int64_t pairs[][2] = {
        {0, 5},          {1, 4},          {2, 1},          {0x10000, -4200}, {0x10001, 150}, {0x10002, 90},
        {0x10003, 128},  {0x10004, 1000}, {0x10005, -500}, {0x10006, 255},   {0x10007, 3},   {0x10008, 3},
        {0x10009, 3},    {0x1000a, 1000}, {0x1000b, 2000}, {0x1000c, 51},    {0x1000d, 9},   {0x1000e, 9},
        {0x1000f, 0},    {0x10016, -100}, {0x10017, -200}, {0x10018, 255},   {0x20001, 30},  {0x20002, 12},
        {0x20003, 4000}, {0x30001, 3},    {0x12345678, 99} /* a user's own */};
    size_t n = make(bytes, pairs, sizeof pairs / sizeof *pairs);
    assert_true(nm_mitecom_decode(bytes, n, &news));
    assert_int_equal(news.team, 7);
    assert_int_equal(news.player, 2);
    assert_int_equal(news.role, NM_NEWS_KEEPER);
    assert_int_equal(news.action, NM_NEWS_WAITING);
    assert_int_equal(news.state, NM_NEWS_ACTIVE);
    assert_int_equal(news.side, 3);
    assert_true(news.knows_pose && news.knows_ball && news.measured);
    assert_false(news.numbered || news.stamped || news.whistle);
    assert_near(news.x, -4.2, 1e-6);
    assert_near(news.theta, M_PI / 2, 1e-6);
    assert_near(news.belief, 128 / 255.0, 1e-6);
    assert_near(news.ball_x, -4.2 + 0.5, 1e-5); /* it looks left: forward is +y, its right is +x */
    assert_near(news.ball_y, 0.15 + 1, 1e-5);
    assert_near(news.time_to_ball, 12, 0);
    assert_near(news.max_speed, 0.3, 1e-6);
    assert_near(news.max_kick, 4, 1e-6);
    assert_int_equal(news.n_obstacles, 2); /* the second rival has no belief */
    assert_int_equal(news.obstacles[0].kind, NM_NEWS_RIVAL);
    assert_near(news.obstacles[0].y, 2, 1e-6);
    assert_int_equal(news.obstacles[1].kind, NM_NEWS_MATE);
}

static void test_what_is_missing_is_unknown(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct nm_team_news news;
    assert_true(nm_mitecom_decode(bytes, make(bytes, NULL, 0), &news));
    assert_false(news.knows_pose || news.knows_ball || news.measured);
    assert_true(isinf(news.time_to_ball) != 0);
    static const int64_t ball[][2] = {{0x10004, 1000}, {0x10005, 0}, {0x10006, 255}};
    assert_true(nm_mitecom_decode(bytes, make(bytes, ball, 3), &news));
    assert_false(news.knows_ball); /* relative to nowhere */
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[512];
        struct nm_team_news a = random_news(&dice, false), b;
        size_t n = nm_mitecom_encode(&a, bytes, sizeof bytes);
        assert_memory_equal(bytes, "CTXM\1\0", 6);
        assert_true(nm_mitecom_decode(bytes, n, &b));
        assert_int_equal(b.team, a.team);
        assert_int_equal(b.player, a.player);
        assert_int_equal(b.number, a.number);
        assert_true(b.stamp == a.stamp);
        assert_int_equal(b.whistle, a.whistle);
        assert_int_equal(b.side, a.side);
        if (a.role <= NM_NEWS_KEEPER) assert_int_equal(b.role, a.role);
        if (a.action <= NM_NEWS_WAITING) assert_int_equal(b.action, a.action);
        if (a.state <= NM_NEWS_PENALIZED) assert_int_equal(b.state, a.state);
        assert_near(b.x, a.x, 0.00051);
        assert_near(b.theta, a.theta, 0.5 * M_PI / 180 + 1e-5);
        /* the heading is in whole degrees, so a ball far away moves a little */
        assert_near(b.ball_x, a.ball_x, 0.002 + 0.009 * hypot((double)(a.ball_x - a.x), (double)(a.ball_y - a.y)));
        if (isfinite(a.time_to_ball))
            assert_near(b.time_to_ball, a.time_to_ball, 0.51);
        else
            assert_true(isinf(b.time_to_ball) != 0);
    }
}

static void test_what_matters_least_is_dropped_first(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    struct nm_team_news a = usual_news(&dice), b;
    a.obstacles[0].kind = NM_NEWS_RIVAL;
    for (size_t room = 0; room < 400; room++) {
        uint8_t bytes[400];
        size_t n = nm_mitecom_encode(&a, bytes, room);
        assert_true(n <= room);
        if (!n) continue;
        assert_true(nm_mitecom_decode(bytes, n, &b));
        if (b.knows_ball) assert_true(b.knows_pose);
        if (b.n_obstacles) assert_true(b.knows_ball && b.measured && b.numbered);
    }
    assert_true(b.n_obstacles > 0);
    uint8_t bytes[128];
    assert_true(nm_mitecom_decode(bytes, nm_mitecom_encode(&a, bytes, 128), &b)); /* SPL */
    assert_true(b.knows_pose && b.knows_ball);
}

static void test_others_are_refused(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    struct nm_team_news a = usual_news(&dice), b;
    uint8_t bytes[512];
    size_t n = nm_mitecom_encode(&a, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) assert_int_equal(nm_mitecom_decode(bytes, i, &b), i == n);
    static const struct {
        uint8_t at, value;
    } wrong[] = {{0, 'M'}, {4, 2}, {6, 255}, {13, 1}, {14, 0}, {14, 21}, {15, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t copy[512];
        memcpy(copy, bytes, n);
        copy[wrong[i].at] = wrong[i].value;
        assert_false(nm_mitecom_decode(copy, n, &b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_another_teams_robot_sends),
        cmocka_unit_test(test_what_is_missing_is_unknown),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_what_matters_least_is_dropped_first),
        cmocka_unit_test(test_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Our compact team message: what it keeps, what it drops first, and what it refuses. */
#include "codec/news.h"
#include "codec/team_compact.h"

static void assert_ratio(float a, float b) { assert_true(fabs(log((double)a / (double)b)) <= 0.06); }

/* Everything within half of its step. */
static void check_news(const struct nm_team_news *a, const struct nm_team_news *b)
{
    assert_int_equal(a->team, b->team);
    assert_int_equal(a->player, b->player);
    assert_int_equal(a->number, b->number);
    assert_true(a->stamp == b->stamp);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->action, b->action);
    assert_int_equal(a->side, b->side);
    assert_int_equal(a->whistle, b->whistle);
    assert_int_equal(a->claims_ball, b->claims_ball);
    if (isfinite(b->time_to_ball))
        assert_near(a->time_to_ball, b->time_to_ball, 0.0501);
    else
        assert_true(isinf(a->time_to_ball) != 0);
    if (a->knows_pose) {
        assert_near(a->x, b->x, 0.00501);
        assert_near(a->y, b->y, 0.00501);
        assert_near(a->theta, b->theta, 0.0032);
        assert_ratio(a->sigma_x, b->sigma_x);
        assert_ratio(a->sigma_theta, b->sigma_theta);
        assert_near(a->rho, b->rho, 0.063);
        assert_near(a->belief, b->belief, 0.017);
    }
    if (a->knows_ball) {
        assert_near(a->ball_x, b->ball_x, 0.00501);
        assert_near(a->ball_vy, b->ball_vy, 0.0101);
        assert_ratio(a->ball_sigma_y, b->ball_sigma_y);
        assert_near(a->ball_age, b->ball_age, 0.0501);
    }
    if (a->echoes) {
        assert_int_equal(a->echo_player, b->echo_player);
        assert_int_equal(a->echo_number, b->echo_number);
        assert_near(a->echo_held, b->echo_held, 0.000501);
    }
    if (a->has_target) assert_near(a->target_theta, b->target_theta, 0.0032);
    if (a->has_kick) assert_near(a->kick_y, b->kick_y, 0.00501);
    if (a->looks) assert_near(a->head_pan, b->head_pan, 0.0032);
    if (a->measured) assert_near(a->max_speed, b->max_speed, 0.0101);
    assert_memory_equal(a->roles, b->roles, a->n_roles);
    for (int i = 0; i < a->n_search; i++) assert_near(a->search[i].y, b->search[i].y, 0.00501);
    for (int i = 0; i < a->n_obstacles; i++) {
        assert_int_equal(a->obstacles[i].kind, b->obstacles[i].kind);
        assert_int_equal(a->obstacles[i].player, b->obstacles[i].player);
        assert_near(a->obstacles[i].x, b->obstacles[i].x, 0.00501);
        assert_near(a->obstacles[i].vy, b->obstacles[i].vy, 0.0251);
        assert_near(a->obstacles[i].radius, b->obstacles[i].radius, 0.0101);
    }
    assert_memory_equal(a->errors, b->errors, a->n_errors);
}

static void test_all_of_it_goes_into_an_hsl_message(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int i = 0; i < 3000; i++) {
        uint8_t bytes[512];
        struct nm_team_news news = random_news(&dice, i % 10 == 0), back;
        size_t n = nm_compact_encode(&news, bytes, sizeof bytes);
        assert_in_range(n, 20, 300);
        assert_true(nm_compact_decode(bytes, n, &back));
        assert_true(back.knows_pose && back.knows_ball && back.has_target && back.echoes && back.has_kick &&
                    back.looks && back.measured);
        assert_int_equal(back.n_roles, news.n_roles);
        assert_int_equal(back.n_search, news.n_search);
        assert_int_equal(back.n_obstacles, news.n_obstacles);
        assert_int_equal(back.n_errors, news.n_errors);
        check_news(&back, &news);
    }
}

static void test_what_matters_of_a_match_goes_into_an_spl_message(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    for (int i = 0; i < 500; i++) {
        uint8_t bytes[128];
        struct nm_team_news news = usual_news(&dice), back;
        size_t n = nm_compact_encode(&news, bytes, sizeof bytes);
        assert_true(n <= 128 && nm_compact_decode(bytes, n, &back));
        assert_true(back.knows_pose && back.knows_ball && back.has_target && back.echoes && back.has_kick &&
                    back.looks && back.measured);
        assert_int_equal(back.n_roles, 7);
        assert_int_equal(back.n_search, 7);
        assert_int_equal(back.n_obstacles, 4);
    }
}

/* In any room, nothing is kept while something that matters more was dropped. */
static void test_what_matters_least_is_dropped_first(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    struct nm_team_news news = random_news(&dice, true), back;
    size_t last = 0;
    for (size_t room = 0; room < 300; room++) {
        uint8_t bytes[300];
        memset(bytes, 0xaa, sizeof bytes);
        size_t n = nm_compact_encode(&news, bytes, room);
        assert_true(n <= room && n >= last);
        for (size_t i = room; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0xaa);
        last = n;
        if (!n) continue;
        assert_true(nm_compact_decode(bytes, n, &back));
        check_news(&back, &news);
        if (back.knows_ball) assert_true(back.knows_pose);
        if (back.n_obstacles)
            assert_true(back.knows_ball && back.has_target && back.echoes && back.n_roles == 20 && back.n_search == 20);
        if (back.n_errors) assert_true(back.n_obstacles == 8 && back.measured);
    }
    assert_int_equal(back.n_errors, NM_NEWS_ERRORS);
    assert_int_equal(nm_compact_encode(&news, (uint8_t[16]){0}, 16), 0);
}

static void test_damaged_messages_are_refused(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(4, 0, 0);
    struct nm_team_news news = usual_news(&dice), back;
    uint8_t bytes[128];
    size_t n = nm_compact_encode(&news, bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut++) assert_false(nm_compact_decode(bytes, cut, &back));
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(nm_compact_decode(bytes, n, &back));
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(nm_compact_decode(bytes, n, &back));
    memset(bytes, 0, sizeof bytes);
    assert_false(nm_compact_decode(bytes, sizeof bytes, &back));
}

/* A message of version 1, which had no echo, as old logs have it. */
static void test_the_version_before_is_read(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {
        0x4e, 0x01, 0x26, 0x9d, 0x1d, 0x7f, 0xe2, 0xc0, 0x6f, 0x44, 0x85, 0xa9, 0x4b, 0xba, 0x4b, 0x0e, 0x25, 0x3c,
        0x62, 0xdd, 0x77, 0x0a, 0xf4, 0xcc, 0x64, 0x91, 0x93, 0xbf, 0x34, 0xec, 0x0d, 0xb6, 0xc6, 0x73, 0xd9, 0x96,
        0x50, 0xe7, 0xdb, 0x1f, 0x8f, 0x2d, 0x37, 0x0b, 0x2b, 0x22, 0xac, 0x1a, 0xbe, 0xb6, 0x07, 0x3b, 0x8b, 0x9a,
        0xe2, 0xae, 0x17, 0x1c, 0x14, 0x3a, 0x71, 0x3c, 0x86, 0x98, 0x57, 0xfd, 0x47, 0x76, 0xd1, 0xba, 0xc6, 0x19,
        0x00, 0xc1, 0xa8, 0x52, 0x2d, 0xf2, 0x47, 0x6e, 0x9d, 0x9a, 0x96, 0xae, 0x09, 0x2a, 0x71, 0xdd, 0x25, 0x41,
        0x0f, 0x2a, 0x4f, 0x8d, 0x8a, 0x98, 0xb5, 0x2f, 0x2c, 0x13, 0x20, 0x00, 0xf4, 0xea,
    };
    struct nm_team_news news;
    assert_true(nm_compact_decode(bytes, sizeof bytes, &news));
    assert_true(news.knows_pose && news.knows_ball && news.has_target && !news.echoes);
    assert_int_equal(news.n_obstacles, 4);
    uint8_t newer[sizeof bytes];
    memcpy(newer, bytes, sizeof bytes);
    newer[1] = 3; /* not yet known */
    assert_false(nm_compact_decode(newer, sizeof newer, &news));
}

static void test_what_cannot_be_said_is_bounded(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct nm_team_news news = {.player = 255,
                                .state = 200,
                                .role = 200,
                                .knows_pose = true,
                                .x = 1e30f,
                                .y = -INFINITY,
                                .theta = NAN,
                                .sigma_x = 0,
                                .time_to_ball = 1e9f,
                                .n_roles = 255,
                                .n_errors = 255};
    struct nm_team_news back;
    news.n_search = 2;
    news.search[0] = (struct nm_news_point){NAN, NAN};
    news.search[1] = (struct nm_news_point){100, -100};
    size_t n = nm_compact_encode(&news, bytes, sizeof bytes);
    assert_true(n && nm_compact_decode(bytes, n, &back));
    assert_true(isnan(back.search[0].x) && isnan(back.search[0].y)); /* a player without a place keeps none */
    assert_near(back.search[1].x, 20.46, 0.001);
    assert_int_equal(back.player, NM_NEWS_PLAYERS);
    assert_int_equal(back.role, NM_NEWS_ROLES - 1);
    assert_near(back.x, 20.47, 0.001);
    assert_near(back.y, -20.48, 0.001);
    assert_near(back.sigma_x, 0.01, 1e-6);
    assert_near(back.time_to_ball, 102.2, 0.01); /* long, but not never */
    assert_int_equal(back.n_roles, 20);
    assert_int_equal(back.n_errors, NM_NEWS_ERRORS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_goes_into_an_hsl_message),
        cmocka_unit_test(test_what_matters_of_a_match_goes_into_an_spl_message),
        cmocka_unit_test(test_what_matters_least_is_dropped_first),
        cmocka_unit_test(test_damaged_messages_are_refused),
        cmocka_unit_test(test_the_version_before_is_read),
        cmocka_unit_test(test_what_cannot_be_said_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random team news, for the tests of the three protocols. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "codec/team_news.h"

static inline float between(struct nm_dice *dice, double low, double high)
{
    return (float)(low + (high - low) * nm_dice_roll(dice));
}

static inline uint8_t one_of(struct nm_dice *dice, unsigned n) { return (uint8_t)(nm_dice_bits(dice) % n); }

/* Everything is known; lists are as long as they can be, or random. */
static inline struct nm_team_news random_news(struct nm_dice *d, bool full)
{
    struct nm_team_news n = {
        .team = one_of(d, 255), .player = (uint8_t)(1 + one_of(d, 20)), .numbered = true, .stamped = true};
    n.number = (uint16_t)nm_dice_bits(d);
    n.stamp = (int64_t)(nm_dice_bits(d) % 1000000000) * 1000000;
    n.echoes = true;
    n.echo_player = (uint8_t)(1 + one_of(d, 20)), n.echo_number = (uint8_t)nm_dice_bits(d);
    n.echo_held = between(d, 0, 4);
    n.state = one_of(d, NM_NEWS_STATES);
    n.role = one_of(d, NM_NEWS_ROLES);
    n.action = one_of(d, NM_NEWS_ACTIONS);
    n.side = one_of(d, NM_NEWS_SIDES);
    n.whistle = one_of(d, 2);
    n.claims_ball = one_of(d, 2);
    n.time_to_ball = one_of(d, 4) ? between(d, 0, 100) : INFINITY;
    n.knows_pose = n.knows_ball = n.has_target = n.has_kick = n.looks = n.measured = true;
    n.x = between(d, -11, 11), n.y = between(d, -7, 7), n.theta = between(d, -3.1, 3.1);
    n.sigma_x = between(d, 0.02, 2), n.sigma_y = between(d, 0.02, 2), n.sigma_theta = between(d, 0.02, 1);
    n.rho = between(d, -0.9, 0.9), n.belief = between(d, 0.05, 1);
    n.ball_x = between(d, -11, 11), n.ball_y = between(d, -7, 7);
    n.ball_vx = between(d, -5, 5), n.ball_vy = between(d, -5, 5);
    n.ball_sigma_x = between(d, 0.02, 2), n.ball_sigma_y = between(d, 0.02, 2), n.ball_rho = between(d, -0.9, 0.9);
    n.ball_age = between(d, 0, 12), n.ball_confidence = between(d, 0.05, 1);
    n.target_x = between(d, -11, 11), n.target_y = between(d, -7, 7), n.target_theta = between(d, -3.1, 3.1);
    n.kick_x = between(d, -11, 11), n.kick_y = between(d, -7, 7);
    n.head_pan = between(d, -2, 2);
    n.max_speed = between(d, 0, 2.5), n.max_kick = between(d, 0, 12), n.battery = between(d, 0, 1);
    n.n_roles = full ? 20 : one_of(d, 21);
    for (int i = 0; i < n.n_roles; i++) n.roles[i] = one_of(d, NM_NEWS_ROLES);
    n.n_search = full ? 20 : one_of(d, 21);
    for (int i = 0; i < n.n_search; i++) n.search[i] = (struct nm_news_point){between(d, -11, 11), between(d, -7, 7)};
    n.n_obstacles = full ? NM_NEWS_OBSTACLES : one_of(d, NM_NEWS_OBSTACLES + 1);
    for (int i = 0; i < n.n_obstacles; i++)
        n.obstacles[i] = (struct nm_news_obstacle){.kind = one_of(d, NM_NEWS_KINDS),
                                                   .player = one_of(d, 21),
                                                   .x = between(d, -11, 11),
                                                   .y = between(d, -7, 7),
                                                   .vx = between(d, -3, 3),
                                                   .vy = between(d, -3, 3),
                                                   .sigma = between(d, 0.02, 1),
                                                   .radius = between(d, 0.05, 1),
                                                   .age = between(d, 0, 6),
                                                   .confidence = between(d, 0, 1)};
    n.n_errors = full ? NM_NEWS_ERRORS : one_of(d, NM_NEWS_ERRORS + 1);
    memset(n.errors, 'e', n.n_errors);
    return n;
}

/* As it stands on the field, a few obstacles in sight. */
static inline struct nm_team_news usual_news(struct nm_dice *d)
{
    struct nm_team_news n = random_news(d, true);
    n.n_roles = n.n_search = 7;
    n.n_obstacles = 4;
    n.n_errors = 0;
    return n;
}

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (double)(tolerance))

/* What a robot tells its team, in one struct for all protocols: mitecom.h, robocup_protobuf.h, team_compact.h. Each of
 * them has two functions: one writes as much of the news as fits into the room given and drops what matters least
 * first; the other reads a datagram and says by flags and counts what was in it. Numbers of states, roles, actions,
 * sides and kinds are those of nutmeg_msgs/TeamMessage and nutmeg_msgs/Obstacle. Places are in the field of the team:
 * origin in the centre, x to the goal that it attacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/export.h"

enum { NM_NEWS_PLAYERS = 20, NM_NEWS_OBSTACLES = 8, NM_NEWS_ERRORS = 63 };

enum nm_news_state { NM_NEWS_INACTIVE, NM_NEWS_ACTIVE, NM_NEWS_PENALIZED, NM_NEWS_FALLEN, NM_NEWS_STATES };
enum nm_news_role {
    NM_NEWS_IDLE,
    NM_NEWS_OTHER,
    NM_NEWS_STRIKER,
    NM_NEWS_SUPPORTER,
    NM_NEWS_DEFENDER,
    NM_NEWS_KEEPER,
    NM_NEWS_BISHOP,
    NM_NEWS_ROLES
};
enum nm_news_action {
    NM_NEWS_UNDEFINED,
    NM_NEWS_POSITIONING,
    NM_NEWS_GOING_TO_BALL,
    NM_NEWS_TRYING_TO_SCORE,
    NM_NEWS_WAITING,
    NM_NEWS_KICKING,
    NM_NEWS_SEARCHING,
    NM_NEWS_LOCALIZING,
    NM_NEWS_ACTIONS
};
enum { NM_NEWS_SIDES = 4 };
enum nm_news_kind {
    NM_NEWS_UNKNOWN,
    NM_NEWS_ROBOT,
    NM_NEWS_MATE,
    NM_NEWS_RIVAL,
    NM_NEWS_POST,
    NM_NEWS_HUMAN,
    NM_NEWS_BALL,
    NM_NEWS_KINDS
};

struct nm_news_obstacle {
    uint8_t kind, player; /* player 0: unknown                           */
    float x, y, vx, vy;   /* m, m/s                                      */
    float sigma, radius;  /* m                                           */
    float age;            /* s, since seen                               */
    float confidence;     /* 0 to 1                                      */
};

struct nm_news_point {
    float x, y; /* m */
};

struct nm_team_news {
    uint8_t team;                     /* 0: the protocol does not say it                        */
    uint8_t player;                   /* the sender                                             */
    bool numbered;                    /* the protocol counts messages                           */
    uint16_t number;                  /* of this message, wraps                                 */
    bool stamped;                     /* the protocol has the time                              */
    int64_t stamp;                    /* ns, on the sender's clock                              */
    bool echoes;                      /* it answers a message of a mate, so that he can measure the round trip */
    uint8_t echo_player, echo_number; /* whose message that was; the last 8 bits of its number */
    float echo_held;                  /* s, from when it was heard until this message           */

    uint8_t state, role, action, side;
    bool whistle;       /* heard within the last seconds               */
    bool claims_ball;   /* holds the ball mutex                        */
    float time_to_ball; /* s; INFINITY: never, or unknown              */

    bool knows_pose;
    float x, y, theta;                        /* m, rad                */
    float sigma_x, sigma_y, rho, sigma_theta; /* m, rad; rho of x and y */
    float belief;                             /* 0 to 1                */

    bool knows_ball;
    float ball_x, ball_y, ball_vx, ball_vy;     /* m, m/s */
    float ball_sigma_x, ball_sigma_y, ball_rho; /* m      */
    float ball_age, ball_confidence;            /* s, 0 to 1 */

    bool has_target; /* where it walks to */
    float target_x, target_y, target_theta;
    bool has_kick; /* where it kicks to */
    float kick_x, kick_y;
    bool looks; /* where to */
    float head_pan;
    bool measured; /* what it can do */
    float max_speed, max_kick, battery;

    uint8_t n_roles, roles[NM_NEWS_PLAYERS]; /* proposed for player 1, 2, … */
    uint8_t n_search;
    struct nm_news_point search[NM_NEWS_PLAYERS]; /* proposed for player 1, 2, …; NAN: nothing */
    uint8_t n_obstacles;
    struct nm_news_obstacle obstacles[NM_NEWS_OBSTACLES];
    uint8_t n_errors; /* bytes */
    char errors[NM_NEWS_ERRORS];
};

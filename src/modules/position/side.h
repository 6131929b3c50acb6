/* Which way round: the field looks the same from the opposite side, so sightings of lines and posts never tell a pose
 * from its mirror image. The team does: mates say where they are, where the ball is and whom they see. Each mate's
 * claims count up to a limit, so that one mate who is wrong cannot turn a robot that knows its side, while two can. */
#pragma once

#include "modules/position/position.h"

enum { SIDE_MATES = 8, SIDE_BALL = SIDE_MATES, SIDE_VOICES, SIDE_ROBOTS = 8 };

/* What this robot saw lately and its mates may know of. */
struct side_seen {
    double ball_x, ball_y, ball_far; /* m, odom; how far away it was when it was seen */
    int64_t ball_at, ball_since;     /* ns, the last and the first sighting of a ball that is seen again and again */
    uint32_t ball_seen;              /* how often                                                                  */
    struct side_robot {
        double x, y; /* m, odom */
        bool mate;   /* its shirt was seen */
        int64_t at;
    } robots[SIDE_ROBOTS];
    uint32_t next;
    int64_t heard[SIDE_VOICES]; /* ns, stamp of the last claim that was weighed */
};

/* Takes in what an image shows besides the field. */
void side_see(struct side_seen *seen, const Percepts *percepts, struct pose2 robot_to_odom, int64_t at);

/* The claims that arrived since the last call, and where all mates say that they are. */
enum side_kind {
    SIDE_SAME_BALL, /* the robot sees the ball at `mine`, the mate at `told`                          */
    SIDE_SEES_MATE, /* the robot sees a robot at `mine`: this mate, or another one                    */
    SIDE_IS_SEEN,   /* the mate sees a robot at `told`: this robot, or another one                    */
};
struct side_claims {
    uint32_t n, n_mates;
    struct side_claim {
        enum side_kind kind;
        uint32_t voice;
        double told_x, told_y; /* m, map                                                              */
        double mine_x, mine_y; /* m, in the robot's frame                                             */
        double sigma;          /* m                                                                   */
        double floor;          /* chance that it is something else, against that of a perfect fit     */
    } all[64];
    struct side_mate {
        uint32_t voice;
        double x, y; /* m, map */
    } mates[SIDE_MATES];
};
void side_listen(struct side_seen *seen, const struct nm *nm, const struct position_ports *io,
                 struct pose2 robot_to_odom, struct side_claims *claims);

/* Logarithms of the odds that a pose is not the mirrored one. */
struct side_belief {
    double history;            /* from game and past                          */
    double heard[SIDE_VOICES]; /* from each mate                              */
    double against;            /* s, how long they have been below even       */
};
struct side_limits {
    double history, mate; /* how sure history, and one mate, can make it */
};
double side_odds(const struct side_belief *belief);
/* Takes in what mates claim, dt seconds after the last time. True: the mirrored pose is more likely, and has
 * been for a while; the belief is now that of the mirrored pose, and what history said is refuted. */
bool side_weigh(struct side_belief *belief, const struct side_claims *claims, struct pose2 pose, double dt,
                const struct side_limits *limits);

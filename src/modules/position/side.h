/* Which way round: the field looks the same from the opposite side, so sightings of lines and posts never tell a pose
 * from its mirror image. The team does: mates say where they are, where the ball is and whom they see. Each mate's
 * claims count up to a limit, so that one mate who is wrong cannot turn a robot that knows its side, while two can. */
#ifndef NM_MODULES_POSITION_SIDE_H
#define NM_MODULES_POSITION_SIDE_H

#include "modules/position/position.h"

enum { SIDE_MATES = 8, SIDE_BALL = SIDE_MATES, SIDE_VOICES, SIDE_ROBOTS = 8 };

/* What this robot saw lately and its mates may know of. */
struct side_seen {
    bool ball;
    double ball_x, ball_y, ball_far; /* m, odom; how far away it was when it was seen */
    int64_t ball_at;
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

/* The claims that arrived since the last call. */
struct side_claims {
    uint32_t n;
    struct side_claim {
        uint32_t voice;
        double x, y, sigma;    /* m, map: where the mate says that something is        */
        double mine_x, mine_y; /* m, in the robot's frame: where this robot sees it; 0, 0: the robot itself is meant */
        double floor;          /* chance that both are different things, against the best fit                        */
    } all[64];
};
void side_listen(struct side_seen *seen, const struct nm *nm, const struct position_ports *io,
                 struct pose2 robot_to_odom, struct side_claims *claims);

/* Adds to the logarithms of the odds that a pose is not mirrored, voice by voice. */
void side_weigh(const struct side_claims *claims, struct pose2 pose, double most, double heard[SIDE_VOICES]);

#endif

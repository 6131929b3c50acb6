/* The task of walking: one robot in one world of the simulator, commands and pushes, and a reward for each period.
 *
 * Body, servos, play of the gears, delays, battery, noise and ground are the simulator's, drawn by the seed about twice
 * as wide as in its hard conditions. The prices of the reward are shares of the body's own scales (length of the leg,
 * weight), so that no robot needs prices of its own. They are those of the experiment that this is made from. */
#pragma once

#include "base/tilt.h"
#include "body/gait.h"
#include "base/random.h"
#include "sim/world.h"

/* What is asked at most; grows while the robot learns. */
enum nm_walk_way { NM_WALK_FORWARD, NM_WALK_BACK, NM_WALK_SIDE, NM_WALK_TURN, NM_WALK_WAYS };
enum {
    NM_WALKING_SIDES = 6
}; /* of pushes, by the direction: straight ahead, ... straight back, left and right alike */
struct nm_walk_limits {
    double most[NM_WALK_WAYS];     /* m/s, m/s, m/s, rad/s */
    double push;                   /* N s */
    double strict;                 /* 0 to 1, of the prices on effort and roughness; a robot that must pay all of them
                                      before it can stand learns to fall at once */
    double tips[NM_WALKING_SIDES]; /* share of the pushes to each side that it falls by: there come more of them */
};

#define NM_WALKING_PUSH 0.4 /* of mass times pace: the hardest push of a robot that learns all kinds of walking */

#define NM_WALKING_SLOW 0.3 /* of what is asked at most: slow walking, which may have a network of its own */

enum { NM_WALKING_EXTRA = 31 }; /* numbers that only the critic sees */

struct nm_walking {
    const struct nm_gait *gait;
    const struct nm_pitch *pitch;
    struct nm_world *world;
    struct nm_dice dice;
    struct nm_tilt tilt;
    struct nm_gait_state state;
    struct nm_sense sense;
    float before[2][NM_GAIT_ACTS]; /* the last two actions */

    /* the command, and where it goes to: by `hurry` of full speed in a second (nm_gait_follow) */
    double command[3], target[3], hurry;
    int kind;                       /* enum nm_walk_way, or another of walking.c */
    struct pose2 place;             /* in the field, where a command says a place */
    double slope[2], next_slope[2]; /* rad, of the ground, and what it goes to   */
    int64_t command_since, command_until;
    struct nm_blow {
        int64_t at;                      /* ns                                          */
        double part, direction;          /* of the most; rad, seen from the robot       */
        double seconds, height;          /* s; m above the base                         */
        bool leans;                      /* another body leans on it                    */
    } blow;                              /* the next one                                */
    int struck;                          /* side of the last one, -1: none in this life */
    int64_t struck_at;                   /* ns                                          */
    struct vec3 force_now;               /* N, of the last one, in the field, until ... */
    int64_t force_until;                 /* ... ns                                      */
    int64_t begun;                       /* ns, of this episode */
    const struct nm_walk_limits *limits; /* NULL: somebody else sets the target, and nobody pushes */
    bool slow;                           /* most commands are slow, or steps on the spot           */
    bool hard;                           /* the world is one of the hard conditions                */

    /* of the last period, seen from the robot */
    struct vec3 velocity;  /* m/s                                  */
    double speed[3];       /* m/s, m/s, rad/s, over 0.2 s          */
    double force[2], hit;  /* N on each foot, mean; the hardest    */
    double watts, height;  /* W of the servos; m of the base       */
    struct vec3 sole[2];   /* m, in the field                      */
    double standing;       /* m, of the base in the stance         */
    double overlap;        /* m, of parts of the body, then        */
    double friction, mass; /* drawn                                */
    int64_t delays[2];     /* ns, drawn                            */
};

/* A robot with a world of its own, as the seed draws it. -1 with a sentence. */
int nm_walking_new(struct nm_walking *w, const struct nm_gait *gait, const struct nm_pitch *pitch, uint64_t seed,
                   struct nm_err *err);
/* The same in a world of the simulator's hard conditions, in which walks are compared (nm_conditions). */
int nm_walking_new_hard(struct nm_walking *w, const struct nm_gait *gait, const struct nm_pitch *pitch, uint64_t seed,
                        struct nm_err *err);
void nm_walking_free(struct nm_walking *w);

/* Up again, in the stance, a little shaken, with another charge of the battery; in training now and then with another
 * body in another world. */
void nm_walking_reset(struct nm_walking *w);
void nm_walking_observe(struct nm_walking *w, float obs[NM_GAIT_OBS], float extra[NM_WALKING_EXTRA]);

struct nm_walked {
    float reward;
    bool fell, over; /* the episode ends: on the ground; after its time */
    int way;         /* along which the most was asked for a while; -1: not so */
    double share;    /* of it that was reached                                */
    int pushed;      /* to which side it was pushed now; -1: it was not       */
    int tipped;      /* side of the push by which it fell now; -1: by none    */
};
/* One period. Whoever calls resets the robot afterwards where it fell or its time is over. */
void nm_walking_step(struct nm_walking *w, const float act[NM_GAIT_ACTS], struct nm_walked *walked);

/* MuJoCo's model text for a field and the robots on it. MuJoCo reads URDF itself, but without free bases, servos and
 * collision rules; so the text is made from `struct nm_body` here.
 *
 * A joint costs a body in MuJoCo only if the link between needs one. Where the axes on both sides of a link meet, and
 * the link is light or its mass lies on the axes, its hinge moves to the next body and its mass to the better of its
 * neighbours: a hip or an ankle becomes one body with two or three hinges. On eight robots that saves a quarter of the
 * time, and it never moves the robot's centre of mass by more than NM_FOLD_LIMIT.
 *
 * A leg servo whose gear has play is two hinges about one axis: the motor's, with rotor, friction, limits and encoder,
 * and behind it a free one that is stopped at both ends of the play. Neither encoder nor robot sees the second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "body/robot.h"
#include "sim/field.h"

#define NM_FOLD_LIMIT  0.0025 /* m */
#define NM_FOLD_LENGTH 0.10   /* m, of shapes that a bracket may have   */
#define NM_FOLD_GAP    0.035  /* m, between axes that count as meeting */

enum nm_self_collision {
    NM_SELF_NONE,
    NM_SELF_FEET, /* the two feet only: what a walk must not do            */
    NM_SELF_ALL,  /* all parts but neighbours and the folder's exceptions  */
};

/* What becomes of a body's links. */
struct nm_fold {
    bool is_body[NM_LINKS];    /* has a MuJoCo body of its own           */
    uint32_t home[NM_LINKS];   /* link whose body has its mass and shapes */
    uint32_t parent[NM_LINKS]; /* of a body: the body it hangs on         */
};
void nm_fold(const struct nm_body *body, struct nm_fold *fold);

struct nm_mjcf_exclude { /* pairs of bodies that overlap at rest */
    uint32_t robot, link[2];
};

/* The pendulum of the contests: m. */
#define NM_PENDULUM_ROPE   1.9
#define NM_PENDULUM_RADIUS 0.05

struct nm_mjcf_options {
    double step;     /* s */
    double turf;     /* m, length of the blades; softness of the ground    */
    double friction; /* of feet on the ground                              */
    bool backlash;   /* gears of leg servos have play                      */
    double play;     /* rad from end to end; 0: as the folder says         */
    enum nm_self_collision self;
    bool pendulum;               /* 1 kg on a rope, parked under the ground            */
    bool visuals;                /* also what only MuJoCo's own renderer would need    */
    bool bare;                   /* the ground alone: neither goals nor a ball         */
    const bool *const *rigid;    /* of each robot: joints that are welded, or NULL ... */
    const double *const *joints; /* ... at these angles; NULL: no joint of any robot  */
    const struct nm_mjcf_exclude *excludes;
    uint32_t n_excludes;
};

/* Names in the text: bodies r<robot>_l<link>, joints r<robot>_j<joint>, the play behind them r<robot>_p<joint>, and
 * r<robot>_root, geoms of feet r<robot>_f<side>; ball, pendulum. The text is the caller's to free; NULL and a sentence
 * if there is no memory. */
char *nm_mjcf(const struct nm_pitch *pitch, const struct nm_body *const *robots, uint32_t n,
              const struct nm_mjcf_options *options, struct nm_err *err);

/* Height of the base above ground when the robot stands upright with these joints: its lowest collision shape touches.
 */
double nm_standing_height(const struct nm_body *body, struct quat base_rot, const double q[]);

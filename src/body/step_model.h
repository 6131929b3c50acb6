/* How far a step really went (Rouxel and others, Learning the odometry on a small humanoid robot, 2016; the linear form
 * is that of Rhoban's champion paper, 2016, section 4.2). Feet slip, soles sink into grass, joints have play: the step
 * that the joints tell and the step that the robot makes differ, mostly in the same way every time. A linear model
 * takes the told step to the made one; around some typical steps a locally weighted one adds what is left. Pure: also
 * `nutmeg calibrate odometry` fits with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/export.h"
#include "base/geometry.h"

enum { NM_STEP_NEAR = 6, NM_STEP_TERMS = 4 };

struct nm_step_model {
    bool linear, local;
    double forward[NM_STEP_TERMS]; /* of the told step's x, y, theta, and 1: the made step's x (m) */
    double left[NM_STEP_TERMS];    /* y (m)                                                        */
    double turn[NM_STEP_TERMS];    /* theta (rad)                                                  */
    double near[NM_STEP_NEAR][3];  /* typical steps: x, y, theta                                   */
    double more[NM_STEP_NEAR][3];  /* what is added around each                                    */
    double width;                  /* m, how far "around" reaches; a radian counts as TURN_LENGTH  */
};
#define NM_STEP_TURN_LENGTH 0.2
#define NM_STEP_PLAIN                                                                                                  \
    {                                                                                                                  \
        .linear = true, .forward = {1, 0, 0, 0}, .left = {0, 1, 0, 0}, .turn = {0, 0, 1, 0}, .width = 0.05             \
    }

NM_EXPORT struct pose2 nm_step_correct(const struct nm_step_model *model, struct pose2 told);

/* The way as the model tells it, cut into steps where the support foot changes. */
struct nm_steps {
    bool begun;
    uint32_t changes;  /* of the support foot, so far         */
    struct pose2 last; /* the told pose when the step began   */
};
/* Takes a told pose; true when a step ended with it. `step` is the way since the last step's end either way. */
NM_EXPORT bool nm_steps_take(struct nm_steps *steps, struct pose2 told, uint32_t changes, struct pose2 *step);

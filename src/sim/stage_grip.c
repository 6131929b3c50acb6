/* Who has a joint in hand: how old the word of its brain is, what arrived at its motor of it, and how far that reaches.
 * The word is the brain's, so that a driver which only repeats it makes it no younger. */
#include <math.h>

#include "sim/stage_parts.h"

void grip_start(struct actor *a)
{
    for (uint32_t j = 0; j < NM_JOINTS; j++) a->named[j] = -1;
}

void grip_told(const struct nm_stage *stage, struct actor *a, const JointGoals *goals)
{
    for (uint32_t i = 0, guess = 0; i < goals->name.n; i++) {
        int32_t joint = nm_find_joint_near(a->body, goals->name.at[i], guess);
        if (joint < 0) continue;
        guess = (uint32_t)joint + 1;
        a->named[joint] = stage->now;
    }
}

/* rad of error at which the firmware's gain asks for all the duty that it may give */
static double reach(const struct nm_servo_model *m, const struct nm_joint_goal *g)
{
    double p = g->p > 0 ? g->p : m->p, most = m->max_duty * fmin(fmax(g->torque_limit, 0), 1);
    return m->duty_gain * p > 0 ? most / (m->duty_gain * p) : 0;
}

void nm_stage_grip(const struct nm_stage *stage, uint32_t robot, struct nm_grip grips[])
{
    const struct actor *a = &stage->actors[robot];
    const struct nm_servo_state *motors = nm_world_motors(stage->world, robot);
    uint64_t limp = nm_faults_limp(&a->faults);
    struct nm_world_draw drawn;
    struct nm_truth truth;
    nm_world_drawn(stage->world, robot, &drawn);
    nm_world_truth(stage->world, robot, &truth);
    for (uint32_t j = 0; j < a->body->n_joints; j++) {
        const struct nm_servo_model *m = &drawn.servos[j];
        const struct nm_joint_goal *g = &motors[j].goal;
        grips[j] = (struct nm_grip){
            .whole = m->stall > 0 && !(limp >> j & 1),
            .told = a->named[j] >= 0,
            .on = g->on,
            .age = a->named[j] >= 0 ? nm_seconds(stage->now - a->named[j]) : 0,
            .strength = g->torque_limit,
            .position = nm_servo_measure(m, truth.motor[j]),
            .goal = g->position,
            .reach = g->on ? reach(m, g) : 0,
            .speed = m->free_speed,
        };
    }
}

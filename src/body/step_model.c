#include "body/step_model.h"

#include <math.h>

static double linear(const double terms[NM_STEP_TERMS], struct pose2 s)
{
    return terms[0] * s.x + terms[1] * s.y + terms[2] * s.theta + terms[3];
}

/* The mean of what is added around the typical steps, each weighted by its nearness; far from all of them nothing. */
static void add_local(const struct nm_step_model *m, struct pose2 told, struct pose2 *to)
{
    double weights = 1e-3, sum[3] = {0};
    for (int k = 0; k < NM_STEP_NEAR; k++) {
        double dx = told.x - m->near[k][0], dy = told.y - m->near[k][1],
               turn = NM_STEP_TURN_LENGTH * (told.theta - m->near[k][2]);
        double w = exp(-(dx * dx + dy * dy + turn * turn) / (2 * m->width * m->width));
        weights += w;
        for (int i = 0; i < 3; i++) sum[i] += w * m->more[k][i];
    }
    to->x += sum[0] / weights;
    to->y += sum[1] / weights;
    to->theta += sum[2] / weights;
}

struct pose2 nm_step_correct(const struct nm_step_model *m, struct pose2 told)
{
    struct pose2 made = told;
    if (m->linear) made = (struct pose2){linear(m->forward, told), linear(m->left, told), linear(m->turn, told)};
    if (m->local && m->width > 0) add_local(m, told, &made);
    return made;
}

bool nm_steps_take(struct nm_steps *s, struct pose2 told, uint32_t changes, struct pose2 *step)
{
    if (!s->begun) {
        s->begun = true;
        s->changes = changes;
        s->last = told;
    }
    *step = pose2_mul(pose2_inv(s->last), told);
    if (changes == s->changes) return false;
    s->changes = changes;
    s->last = told;
    return true;
}

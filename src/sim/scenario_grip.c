/* Whether every joint is in somebody's hand, for scenarios in which something breaks. A joint that is whole may
 * neither go limp, nor be left to a goal that has grown old, nor be torn off its goal, nor be sent where no motor can
 * go. One that a fault has broken is not looked at: what matters is what the others do. */
#include <math.h>

#include "sim/scenario_parts.h"

static const double YOUNG = 0.1; /* s, as old as goals may be for the bus driver                               */
static const double OLD = 0.15;  /* s; by then somebody must have begun to brake: some rounds of the bus later */

static bool asked(const struct nm_scenario *s)
{
    for (uint32_t m = 0; m < s->n_measures; m++) {
        enum nm_measure_kind kind = s->measures[m].kind;
        if (kind == NM_MEASURE_LOOSE || kind == NM_MEASURE_STRAYED || kind == NM_MEASURE_LEAP) return true;
    }
    return false;
}

void grip_begin(struct nm_run *run)
{
    if (nm_stage_world(run->stage) && asked(run->scenario))
        run->holds = nm_take(&run->arena, sizeof *run->holds * run->scenario->n_robots);
}

/* Limp, or driven as hard as ever towards a goal that nobody has confirmed: in nobody's hand. An old goal at lowered
 * strength is a brake, which somebody holds. */
static bool is_loose(const struct nm_grip *g, const struct hold *h)
{
    return !g->on || (g->age > OLD && g->strength >= h->strength);
}

/* From anywhere between where the joint is and where it was told to be: a goal that comes to meet its joint is none. A
 * motor that is switched on was told nothing before. */
static double leap(const struct nm_grip *g, const struct hold *h, double dt)
{
    double told = h->on ? h->goal : g->position;
    double low = fmin(told, g->position), high = fmax(told, g->position), way = g->speed * dt;
    return g->on ? fmax(fmax(g->goal - high, low - g->goal) - way, 0) : 0;
}

void grip_follow(struct nm_run *run, uint32_t robot, double values[NM_MEASURES])
{
    double dt = nm_seconds(nm_stage_tick(run->stage));
    struct nm_grip grips[NM_JOINTS];
    if (!run->holds) return;
    nm_stage_grip(run->stage, robot, grips);
    for (uint32_t j = 0; j < nm_stage_body(run->stage, robot)->n_joints; j++) {
        const struct nm_grip *g = &grips[j];
        struct hold *h = &run->holds[robot][j];
        bool counts = g->whole && g->told;
        if (g->age <= YOUNG) h->strength = g->strength;
        h->loose = counts && is_loose(g, h) ? h->loose + dt : 0;
        if (counts) {
            double off = fabs(g->goal - g->position) - g->reach;
            values[NM_MEASURE_LOOSE] = fmax(values[NM_MEASURE_LOOSE], h->loose);
            values[NM_MEASURE_STRAYED] = fmax(values[NM_MEASURE_STRAYED], off);
            values[NM_MEASURE_LEAP] = fmax(values[NM_MEASURE_LEAP], leap(g, h, dt));
        }
        h->on = g->on;
        h->goal = g->goal;
    }
}

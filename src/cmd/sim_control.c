/* The players of a simulation answer nutmeg topic, param, why and tasks, each by its robot's name, like one that runs.
 */
#include <signal.h>

#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

static const double EVERY = 0.02; /* s, real time, between two looks at the sockets */

void sim_control_add(struct sim_control *c, struct setup *setup, const char *robot, struct nm_player *player)
{
    struct nm_err err = {0};
    c->loaded = (struct nm_lineup_options){.root = setup->root, .robot = robot};
    struct nm_control_options options = {.spare = true, .registry = &setup->registry, .lineup = &c->loaded};
    if (c->n == NM_PLAYERS) return;
    c->at[c->n] = nm_control_new(player, &options, &err);
    if (c->at[c->n])
        c->n++;
    else if (!c->refused)
        fprintf(stderr, "nutmeg topic, param, why and tasks cannot reach this robot: %s", err.text);
    c->refused |= err.n > 0;
}

void sim_control_poll(struct sim_control *c, double now)
{
    if (now - c->polled < EVERY) return;
    c->polled = now;
    for (uint32_t i = 0; i < c->n; i++) {
        nm_control_poll(c->at[i], 0);
        if (nm_control_stopped(c->at[i]) && !stopping()) raise(SIGTERM); /* nutmeg stop ends it as Ctrl-C does */
    }
}

void sim_control_free(struct sim_control *c)
{
    for (uint32_t i = 0; i < c->n; i++) nm_control_free(c->at[i]);
    c->n = 0;
}

/* Seeds in processes of their own (cmd/pool.h), told in the order of the seeds. */
#include <stdlib.h>
#include <string.h>

#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

struct crew {
    struct setup *setup;
    const struct sim_options *options;
    const struct nm_scenario *scenario;
    struct sim_outcome *outcomes; /* of every seed */
    bool *ended;
    uint64_t seeds, told, n_ended;
    struct progress progress;
    void (*tell)(void *user, const struct sim_outcome *outcome);
    void *user;
};

/* What cannot begin says why; nobody else writes. */
static void work(void *user, uint32_t index, void *result)
{
    const struct crew *c = user;
    struct sim_outcome *outcome = result;
    struct nm_err err = {0};
    struct sim_options options = *c->options;
    options.quiet = true;
    if (sim_play(c->setup, &options, c->scenario, options.first + index, outcome, &err)) {
        outcome->done = false;
        snprintf(outcome->died, sizeof outcome->died, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    }
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct crew *c = user;
    struct sim_outcome *o = &c->outcomes[index];
    if (result) *o = *(const struct sim_outcome *)result;
    if (died) snprintf(o->died, sizeof o->died, "%s", died);
    o->result.seed = c->options->first + index;
    c->ended[index] = true;
    c->n_ended++;
    progress_tell(&c->progress, "%s  %llu of %llu seeds", c->scenario->name, (unsigned long long)c->n_ended,
                  (unsigned long long)c->seeds);
    while (c->told < c->seeds && c->ended[c->told]) c->tell(c->user, &c->outcomes[c->told++]);
}

int sim_play_jobs(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario,
                  void (*told)(void *user, const struct sim_outcome *outcome), void *user, struct nm_err *err)
{
    struct crew c = {.setup = setup, .options = options, .scenario = scenario, .tell = told, .user = user};
    c.seeds = options->last - options->first + 1;
    c.outcomes = calloc(c.seeds, sizeof *c.outcomes);
    c.ended = calloc(c.seeds, sizeof *c.ended);
    bool room = c.outcomes && c.ended && c.seeds <= UINT32_MAX;
    const struct pool pool = {.n = (uint32_t)c.seeds,
                              .jobs = (uint32_t)options->jobs,
                              .size = sizeof *c.outcomes,
                              .work = work,
                              .done = done,
                              .quit = stopping,
                              .user = &c};
    progress_begin(&c.progress, "");
    int bad = room ? pool_run(&pool, err) : nm_fail(err, "no memory for %llu seeds", (unsigned long long)c.seeds);
    progress_end(&c.progress);
    free(c.outcomes);
    free(c.ended);
    return bad;
}

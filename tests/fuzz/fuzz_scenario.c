/* Any bytes as a scenario: refused with a sentence, or a plan whose every number is one and whose robots are there. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth) abort();
}

/* ---- a house in which a few names exist ---- */

static char root[64];
static const char *const folders[] = {"", "/robots", "/robots/kid70", "/lineups", "/fields"};
static const char *const files[] = {"/lineups/stand.yaml", "/fields/kid.yaml"};

static void leave(void)
{
    char path[128];
    for (int i = 1; i >= 0; i--) {
        snprintf(path, sizeof path, "%s%s", root, files[i]);
        unlink(path);
    }
    for (int i = 4; i >= 0; i--) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        rmdir(path);
    }
}

static void enter(void)
{
    char path[128];
    snprintf(root, sizeof root, "/tmp/fuzz_scenario_%d", (int)getpid());
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        mkdir(path, 0700);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i]);
        FILE *file = fopen(path, "w");
        if (file) fclose(file);
    }
    atexit(leave);
}

/* ---- what must hold ---- */

static void check_range(struct nm_range r) { require(isfinite(r.low) && isfinite(r.high) && r.low <= r.high); }

static void check_place(const struct nm_somewhere *p)
{
    check_range(p->x);
    check_range(p->y);
    check_range(p->z);
    check_range(p->theta);
}

static void check_condition(const struct nm_scenario *s, const struct nm_condition *c)
{
    char text[160];
    require(c->measure < NM_MEASURES && (c->listed || c->measure != NM_MEASURE_TIME_TO));
    require(!c->listed || (c->index < s->n_measures && s->measures[c->index].kind == c->measure));
    require(c->robots >> s->n_robots == 0);
    require(!isnan(c->above) && !isnan(c->below) && isfinite(c->value) && c->after >= 0);
    nm_condition_text(s, c, text, sizeof text);
    require(*text);
}

static void check_event(const struct nm_scenario *s, const struct nm_event *e)
{
    require(e->kind < NM_EVENTS && e->robots >> s->n_robots == 0);
    require(e->times >= 1 && e->times <= NM_SCENARIO_REPEATS && (e->times == 1 || e->every.low > 0));
    require(e->of <= NM_PLAYERS && (e->of == NM_PLAYERS || e->of < s->n_robots) && e->rest >= 0 && e->rest <= 1);
    check_range(e->every);
    if (e->waits) check_condition(s, &e->when);
    require(!e->when.listed); /* what is known only at the end */
    if (e->kind == NM_EVENT_DRIVE || e->kind == NM_EVENT_KICK) require(e->part != NULL);
    require(e->duration >= 0 && e->posture < NM_POSTURES && e->fault < NM_FAULTS);
    require(e->target <= NM_PLAYERS && (e->target == NM_PLAYERS || e->target < s->n_robots));
    check_range(e->at);
    check_range(e->size);
    check_range(e->direction);
    check_place(&e->place);
    check_place(&e->from);
    check_place(&e->velocity);
    check_place(&e->point);
    if (e->kind == NM_EVENT_SAY) require(e->message && e->part);
    if (e->kind == NM_EVENT_PRESS) require(e->index < NM_STAGE_BUTTONS);
}

static void check(const struct nm_scenario *s)
{
    require(s->n_robots <= NM_PLAYERS && s->n_events <= NM_SCENARIO_EVENTS && s->n_measures <= NM_SCENARIO_MEASURES);
    require(s->duration > 0 && s->first_seed <= s->last_seed && s->field && s->fidelity < NM_FIDELITIES);
    require(s->world.random >= 0 && s->world.random <= 1);
    check_place(&s->ball);
    check_place(&s->ball_velocity);
    for (uint32_t i = 0; i < s->n_robots; i++) {
        const struct nm_scenario_robot *r = &s->robots[i];
        require(r->name && r->folder && r->team < 2 && r->number >= 1 && r->posture < NM_POSTURES);
        require(r->scatter >= 0 && r->scatter <= 1);
        check_place(&r->at);
        for (uint32_t k = 0; k < r->n_set; k++) require(r->set[k] != NULL);
        for (uint32_t k = 0; k < r->n_says; k++) require(r->says[k] != NULL);
    }
    for (uint32_t i = 0; i < s->n_events; i++) check_event(s, &s->events[i]);
    for (uint32_t i = 0; i < s->n_until; i++) check_condition(s, &s->until[i]);
    for (uint32_t i = 0; i < s->n_expect; i++) check_condition(s, &s->expect[i]);
    for (uint32_t i = 0; i < s->n_score; i++) {
        const struct nm_score *row = &s->score[i];
        require(row->measure < s->n_measures && isfinite(row->weight + row->missing));
        require(!isnan(row->least) && !isnan(row->most));
    }
    for (uint32_t i = 0; i < s->n_measures; i++) {
        require(s->measures[i].kind < NM_MEASURES && s->measures[i].label);
        require(s->measures[i].from >= 0 && s->measures[i].from < s->measures[i].to);
        if (s->measures[i].kind == NM_MEASURE_TIME_TO) check_condition(s, &s->measures[i].until);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_err err = {0};
    if (!*root) enter();
    struct nm_scenario *s = nm_scenario_parse("/nonexistent/fuzz.yaml", (const char *)data, size, root, &err);
    require((s == NULL) == (err.n > 0));
    if (s) check(s);
    nm_scenario_free(s);
    return 0;
}

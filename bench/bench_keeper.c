/* nutmeg bench match, the row of the keeper: a ball lies 3 m before the goal until the keeper has stood at his place
 * for a while; then it rolls, without a kicker, and crosses the line between the posts at 1.0 to 2.5 m/s if nobody
 * stops it. The keeper of a team of one plays the line-up of a match, in physics, by its percepts; beside it one that
 * only stands before the middle of its goal. */
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "bench.h"
#include "cmd/match.h"
#include "cmd/pool.h"
#include "cmd/stopping.h"
#include "core/nm.h"

enum { FIRST_SEED = 20001, SHOTS = 100, QUICK = 12, PIECES = 4 };
static const double FAR = 3, WIDE = 0.6;  /* m, rad: where a shot begins, seen from the middle of the goal */
static const double SLOW = 1, FAST = 2.5; /* m/s at the line                                             */
static const double LONG = 10;            /* s until a ball that is not in is saved                      */
static const double CALM = 2;             /* s that the keeper stands at his place before a shot          */
static const double LONGEST = 60;         /* s that a shot waits for him; then it comes all the same      */

struct shooting {
    struct setup *setup;
    uint64_t seed;
    bool stands; /* the keeper does nothing */
    struct nm_dice dice;
    bool drawn; /* the next shot: from where, and how fast */
    struct vec3 from, velocity;
    int64_t shot, calm, ended; /* ns, of the shot that runs, 0: none; since when he stands at his place */
    int64_t down, held;        /* ns, since he lies, 0: he stands; how much of it play was stopped      */
    struct shooting_result {
        uint32_t wanted, shots, saved, dives;
        double longest_up; /* s, from the fall of a dive until he stands, while play goes on   */
        double in_all;     /* s, the same with the time in which play is stopped: nobody may get up then */
        char died[160];    /* why not all shots were shot                */
    } result;
};

static void draw(struct shooting *s, const struct nm_pitch *pitch)
{
    double brake = 4 / (2 * (4.2 - 1.6 * fmin(pitch->turf / 0.03, 1))); /* as in scorebook.c */
    double y = (pitch->goal_width / 2 - pitch->ball_radius) * nm_dice_both(&s->dice),
           angle = WIDE * nm_dice_both(&s->dice);
    double at_line = SLOW + (FAST - SLOW) * nm_dice_roll(&s->dice);
    double goal = -pitch->length / 2, x = goal + FAR * cos(angle), from = FAR * sin(angle);
    double way = hypot(goal - x, y - from), speed = sqrt(at_line * at_line + 2 * brake * way);
    s->from = (struct vec3){x, from, pitch->ball_radius};
    s->velocity = (struct vec3){speed * (goal - x) / way, speed * (y - from) / way, 0};
    s->drawn = true;
}

/* The ball lies where it will come from, and then it comes. */
static void lay_or_shoot(struct shooting *s, struct nm_stage *stage, bool shoot)
{
    if (!s->drawn) draw(s, nm_stage_pitch(stage));
    nm_stage_put_ball(stage, s->from, shoot ? s->velocity : (struct vec3){0});
    if (!shoot) return;
    s->shot = nm_stage_now(stage);
    s->drawn = false;
    s->result.shots++;
}

static bool at_place(const struct nm_stage *stage, struct nm_whereabouts *w)
{
    double x = w->base_to_field.pos.x + nm_stage_pitch(stage)->length / 2, y = w->base_to_field.pos.y;
    return !w->fallen && x > -0.1 && x < 1 && fabs(y) < 0.6 && fabs(quat_yaw(w->base_to_field.rot)) < 0.8;
}

static void follow_dive(struct shooting *s, bool fallen, bool stopped, const struct nm_stage *stage)
{
    int64_t now = nm_stage_now(stage);
    if (fallen && !s->down && s->shot) {
        s->down = now;
        s->held = 0;
        s->result.dives++;
    }
    if (stopped) s->held += nm_stage_tick(stage);
    if (fallen || !s->down) return;
    s->result.longest_up = fmax(s->result.longest_up, nm_seconds(now - s->down - s->held));
    s->result.in_all = fmax(s->result.in_all, nm_seconds(now - s->down));
    s->down = 0;
}

static bool step(void *user, const struct nm_judge *judge, struct nm_stage *stage)
{
    struct shooting *s = user;
    int64_t now = nm_stage_now(stage);
    struct nm_whereabouts keeper;
    nm_stage_whereabouts(stage, 0, &keeper);
    follow_dive(s, keeper.fallen, nm_judge_match(judge)->stopped, stage);
    if (s->shot) {
        bool in = nm_pitch_scored(nm_stage_pitch(stage), nm_stage_ball(stage, NULL)) < 0;
        if (!in && nm_seconds(now - s->shot) < LONG) return false;
        s->result.saved += !in;
        s->shot = s->calm = 0;
        s->ended = now;
        return s->result.shots >= s->result.wanted;
    }
    if (s->stands && !at_place(stage, &keeper))
        nm_stage_stand(stage, 0, (struct pose2){0.3 - nm_stage_pitch(stage)->length / 2, 0, 0});
    if (!nm_judge_in_play(judge) || !at_place(stage, &keeper)) s->calm = now;
    bool late = nm_judge_in_play(judge) && nm_seconds(now - s->ended) > LONGEST;
    if (nm_judge_in_play(judge)) lay_or_shoot(s, stage, (s->calm && nm_seconds(now - s->calm) > CALM) || late);
    if (!s->calm) s->calm = now;
    return false;
}

static void work(void *user, uint32_t index, void *result)
{
    struct shooting s = *(struct shooting *)user;
    struct match_result r;
    s.seed += index;
    s.result = (struct shooting_result){.wanted = s.result.wanted};
    s.dice = nm_dice_new(s.seed, 0x6b656570, 0);
    struct match_options o = {.league = "hsl",
                              .fidelity = "percept",
                              .teams = {s.stands ? "standing_keeper" : NULL, "standing_keeper"},
                              .players = 1,
                              .half = 2400,
                              .seed = s.seed,
                              .air = {MATCH_AIR, MATCH_AIR},
                              .step = step,
                              .user = &s};
    match_play(s.setup, &o, 1, &r);
    if (s.result.shots < s.result.wanted) snprintf(s.result.died, sizeof s.result.died, "%s", r.died);
    *(struct shooting_result *)result = s.result;
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct shooting_result *sum = &((struct shooting *)user)->result;
    const struct shooting_result *r = result;
    (void)index;
    if (!r || died) return;
    sum->shots += r->shots;
    sum->saved += r->saved;
    sum->dives += r->dives;
    sum->longest_up = fmax(sum->longest_up, r->longest_up);
    sum->in_all = fmax(sum->in_all, r->in_all);
    if (*r->died) snprintf(sum->died, sizeof sum->died, "%s", r->died);
}

void bench_keeper(struct nm_bench *bench);
void bench_keeper(struct nm_bench *bench)
{
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct setup setup;
    struct shooting keepers[2] = {{.stands = false}, {.stands = true}};
    uint32_t shots = o->quick ? QUICK : SHOTS;
    struct nm_err err = {0};
    char name[96], beside[48], goal[32];
    setup_begin(&setup);
    for (int k = 0; k < 2 && !stopping(); k++) {
        struct shooting *s = &keepers[k];
        s->setup = &setup;
        s->seed = o->first_seed ? o->first_seed : FIRST_SEED;
        s->result.wanted = shots / PIECES;
        const struct pool pool = {.n = PIECES,
                                  .jobs = o->jobs ? o->jobs : 2,
                                  .size = sizeof s->result,
                                  .work = work,
                                  .done = done,
                                  .quit = stopping,
                                  .user = s};
        if (pool_run(&pool, &err)) nm_bench_fail(bench, &err);
        if (*s->result.died) nm_bench_say(bench, "keeper: not all shots were shot: %s", s->result.died);
    }
    const struct shooting_result *r = &keepers[0].result;
    bool whole = r->shots == shots;
    snprintf(name, sizeof name, "keeper, %u shots at the goal, saved", r->shots);
    snprintf(beside, sizeof beside, "standing keeper: %u of %u", keepers[1].result.saved, keepers[1].result.shots);
    snprintf(goal, sizeof goal, ">= %u", shots / 2);
    nm_bench_beside(bench, name, whole ? (double)r->saved : (double)NAN, "", beside, goal,
                    whole && r->saved >= shots / 2);
    snprintf(name, sizeof name, "  %u dives: on its feet again after at most", r->dives);
    snprintf(beside, sizeof beside, "%.1f s with stops of play", r->in_all);
    nm_bench_beside(bench, name, r->longest_up, "s", beside, "<= 5 s", r->longest_up <= 5);
    setup_end(&setup);
}

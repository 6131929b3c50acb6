#include "learn/polish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/clock.h"
#include "base/cmaes.h"
#include "base/crc32.h"
#include "base/memory.h"
#include "base/whole.h"
#include "core/files.h"
#include "learn/inherit.h"
#include "learn/policy.h"
#include "nn/mlp.h"
#include "sim/workers.h"

static const uint32_t ACTOR[] = {NM_GAIT_OBS, 256, 256, 128, NM_GAIT_ACTS};
enum {
    LAYERS = 4,
    HIDDEN = NM_CORRECTION_NEURONS,
    NEURONS = HIDDEN + 1, /* of the last hidden layer, and the bias */
    HARMONICS = 3,        /* of the clock: a swing has two turns of its highest one */
    CURVES = 1 + 2 * HARMONICS,
    MOST_NUMBERS = NM_GAIT_ACTS * CURVES,
    RECORDS = 24, /* walks from which the neurons' curves are learned */
};
static const double RECORD_SECONDS = 5;
static const double RIDGE = 1e-4; /* of the neurons' mean square: without it curves are made of small differences */
static const double STEP = 0.02;  /* of an action: of each number at first; all together move a joint by 0.05 */
static const double GRAVITY = 9.81;

/* Goals, in scales of the body: footfalls in weights; energy for each metre and weight. */
static const double SOFT = 2, CHEAP = 1.25;
/* Prices: of the mean cube by which footfalls are harder than that, so that the hardest tenth of the steps decides; of
 * the mean square of the hardest of each run, for bodies that land hard; of energy beyond it, speed and start behind
 * those of the policy that it began with, as shares; of a fall in each run, at full speed and in the others; of reward
 * that is lost; of a correction of 1. */
static const double FOOTFALL = 20, HARDEST = 1, ENERGY = 40, SPEED = 40, START = 10, FALL = 10, TUMBLE = 4, REWARD = 30,
                    SIZE = 0.5;
static const double STARTS = 2;  /* s, of the way that a start is judged by                          */
static const double LANDS = 1.2; /* s, footfalls count from then on: some bodies land hard in a start */
/* Of the hardest push in training: harder ones fell by chance more often than by what is searched here. */
static const double PUSH = 0.3;

/* What is asked for in a run. */
enum drive { AHEAD, PART, STOP, ANY };
static const double SLOWEST_AHEAD = 0.84; /* of the most: what a trim asks for where 1.3 m/s are wanted              */
static const double SLOWEST_PART = 0.4;   /* of the speed ahead                                                      */
static const double STOPS = 4;            /* s, from the start at full speed                                         */
static const double HALTS = 0.5;          /* of the speed ahead: slower than this module walk_policy asks for nothing */

struct run { /* sums over its periods */
    double reward, way, joules, time, started;
    double footfalls, cube, hardest; /* of steps: N; beyond SOFT, weights^3; N */
    uint32_t steps;
    bool fell, failed;
    struct nm_err err;
};

struct scratch { /* of one thread */
    struct nm_tape one, two;
    float obs[NM_GAIT_OBS], turned[NM_GAIT_OBS], act[NM_GAIT_ACTS];
};

struct nm_polish {
    struct nm_arena arena;
    struct nm_polish_options options;
    const struct nm_body *body;
    const struct nm_pitch *pitch;
    struct nm_gait gait;
    struct nm_walk_limits limits;
    struct nm_workers *workers;
    struct scratch *scratch; /* one a thread */

    struct nm_mlp actor;
    float *base, *slow;              /* weights that it began with; of the network for slow walking, NULL: none */
    struct nm_correction correction; /* that it began with: of nothing, unless the policy was polished before */
    double curves[CURVES][NEURONS], explained;
    struct nm_cma *cma;

    /* a generation */
    float *weights; /* of each candidate at full speed ahead; the last is the policy that it began with */
    struct run *runs;
    uint64_t first_seed;
    uint32_t worlds;

    double seconds, walked; /* of work before this process; of robots */
    int64_t started;
    uint32_t n_curve, curve_room;
    struct nm_polished *curve;
};

static bool quits(const struct nm_polish *p) { return p->options.quit && p->options.quit(); }

/* ---- the policy ---- */

/* The mean of a network's answer and of the mirror image of its answer to the mirrored robot. */
static void answer(const struct nm_polish *p, struct scratch *s, const float *weights, float act[NM_GAIT_ACTS])
{
    struct nm_mlp mlp = p->actor;
    mlp.at = (float *)(uintptr_t)weights; /* it is only read */
    for (uint32_t i = 0; i < NM_GAIT_OBS; i++) s->turned[i] = p->gait.obs[i].sign * s->obs[p->gait.obs[i].from];
    const float *one = nm_mlp_forward(&mlp, &s->one, s->obs, NM_GAIT_OBS, 1),
                *two = nm_mlp_forward(&mlp, &s->two, s->turned, NM_GAIT_OBS, 1);
    for (uint32_t i = 0; i < NM_GAIT_ACTS; i++)
        act[i] = 0.5f * (one[i] + p->gait.act[i].sign * two[p->gait.act[i].from]);
}

/* Moves the answer over to that of other weights. */
static void blend(const struct nm_polish *p, struct scratch *s, const float *weights, double share)
{
    float act[NM_GAIT_ACTS];
    if (!(share > 0)) return;
    answer(p, s, weights, act);
    for (int i = 0; i < NM_GAIT_ACTS; i++) s->act[i] += (float)share * (act[i] - s->act[i]);
}

/* `weights` walk at full speed ahead. */
static void ask(const struct nm_polish *p, struct scratch *s, struct nm_walking *w, const float *weights)
{
    nm_walking_observe(w, s->obs, NULL);
    answer(p, s, p->base, s->act);
    blend(p, s, weights, nm_correction_gate(&p->correction, s->obs));
    if (p->slow) blend(p, s, p->slow, nm_gait_slow(&w->state, w->command, p->limits.most));
}

/* ---- walks ---- */

/* Five of eight worlds are for full speed ahead, one in eight for less of it, one for a stop from full speed, one for
 * commands and pushes of training. */
static enum drive drive_of(uint32_t world, uint32_t worlds)
{
    uint32_t at = 8 * world / worlds;
    return at < 5 ? AHEAD : at < 6 ? PART : at < 7 ? STOP : ANY;
}

/* Of two worlds the one with less friction: on slippery ground feet land hardest. */
static int new_slippery(const struct nm_polish *p, struct nm_walking *w, uint64_t seed, struct nm_err *err)
{
    struct nm_walking other;
    if (nm_walking_new_hard(w, &p->gait, p->pitch, seed, err)) return -1;
    if (nm_walking_new_hard(&other, &p->gait, p->pitch, nm_spread(seed), err)) {
        nm_walking_free(w);
        return -1;
    }
    bool slippery = other.friction < w->friction;
    nm_walking_free(slippery ? w : &other);
    if (slippery) *w = other;
    return 0;
}

static int begin_walk(const struct nm_polish *p, struct nm_walking *w, enum drive drive, uint64_t seed,
                      struct nm_err *err)
{
    int bad = drive == ANY ? nm_walking_new(w, &p->gait, p->pitch, seed, err) : new_slippery(p, w, seed, err);
    if (bad) return -1;
    if (drive == ANY) w->limits = &p->limits;
    nm_walking_reset(w);
    double least = drive == PART ? SLOWEST_PART : drive == AHEAD ? SLOWEST_AHEAD : 1;
    double part = least + (1 - least) * nm_dice_roll(&w->dice);
    if (drive != ANY) w->target[0] = part * p->limits.most[NM_WALK_FORWARD];
    return 0;
}

static void stop(const struct nm_polish *p, struct nm_walking *w)
{
    w->target[0] = 0;
    if (w->command[0] < HALTS * p->limits.most[NM_WALK_FORWARD]) w->command[0] = 0;
}

/* By how many of its weights a footfall is harder than it should be. */
static double too_hard(const struct nm_polish *p, double force)
{
    return fmax(0, force / (p->body->mass * GRAVITY) - SOFT);
}

/* The largest force of each step counts; a half turn of the clock is a step. */
static void end_step(const struct nm_polish *p, struct run *r, double force)
{
    double beyond = too_hard(p, force);
    r->footfalls += force;
    r->cube += beyond * beyond * beyond;
    r->hardest = fmax(r->hardest, force);
    r->steps++;
}

static void walk(const struct nm_polish *p, struct scratch *s, const float *weights, enum drive drive, uint64_t seed,
                 struct run *r)
{
    struct nm_walking w;
    uint32_t periods = (uint32_t)(p->options.seconds / NM_GAIT_PERIOD);
    double force = 0;
    r->failed = begin_walk(p, &w, drive, seed, &r->err);
    if (r->failed) return;
    for (uint32_t k = 0; k < periods && !r->fell; k++) {
        struct nm_walked walked;
        bool first = w.state.phase < 0.5;
        if (drive == STOP && k * NM_GAIT_PERIOD >= STOPS) stop(p, &w);
        ask(p, s, &w, weights);
        nm_walking_step(&w, s->act, &walked);
        r->fell = walked.fell;
        r->reward += (double)walked.reward / periods;
        if (k * NM_GAIT_PERIOD < STARTS) {
            r->started += w.velocity.x * NM_GAIT_PERIOD;
        } else {
            r->way += w.velocity.x * NM_GAIT_PERIOD;
            r->joules += w.watts * NM_GAIT_PERIOD;
            r->time += NM_GAIT_PERIOD;
        }
        if (k * NM_GAIT_PERIOD < LANDS) continue;
        force = fmax(force, w.hit);
        if (first == (w.state.phase < 0.5)) continue;
        end_step(p, r, force);
        force = 0;
    }
    nm_walking_free(&w);
}

static void walk_one(void *user, uint32_t i, uint32_t hand)
{
    struct nm_polish *p = user;
    uint32_t world = i % p->worlds;
    p->runs[i] = (struct run){0};
    if (quits(p)) return;
    walk(p, &p->scratch[hand], p->weights + i / p->worlds * p->actor.n, drive_of(world, p->worlds),
         p->first_seed + world, &p->runs[i]);
}

static struct nm_polish_figures sum_up(const struct nm_polish *p, const struct run *runs, uint32_t worlds)
{
    struct nm_polish_figures f = {0};
    double time = 0, way = 0, steps = 0, cube = 0, hardest = 0, ahead = 0, others = 0;
    for (uint32_t w = 0; w < worlds; w++) {
        const struct run *r = &runs[w];
        if (drive_of(w, worlds) != AHEAD) {
            f.reward += r->reward;
            f.tumbles += r->fell;
            others++;
            continue;
        }
        time += r->time, way += r->way, steps += r->steps, cube += r->cube, ahead++;
        f.joules += r->joules;
        f.footfall += r->footfalls;
        f.hardest = fmax(f.hardest, r->hardest);
        hardest += too_hard(p, r->hardest) * too_hard(p, r->hardest);
        f.falls += r->fell;
        f.started += r->started;
    }
    f.speed = way / fmax(time, NM_GAIT_PERIOD);
    f.joules /= fmax(way, NM_GAIT_PERIOD);
    f.footfall /= fmax(steps, 1);
    f.falls /= ahead;
    f.started /= ahead;
    f.reward /= others;
    f.tumbles /= others;
    f.cost = FOOTFALL * cube / fmax(steps, 1) + HARDEST * hardest / ahead;
    return f;
}

static double beyond(double x, double goal) { return fmax(0, x / goal - 1); }

/* The rest of the cost, seen from the policy that it began with in the same worlds. */
static void judge(const struct nm_polish *p, struct nm_polish_figures *f, const struct nm_polish_figures *before)
{
    f->cost += ENERGY * beyond(f->joules, CHEAP * p->body->mass * GRAVITY);
    f->cost += SPEED * fmax(0, 1 - f->speed / before->speed) + START * fmax(0, 1 - f->started / before->started);
    f->cost += FALL * f->falls + TUMBLE * f->tumbles + REWARD * fmax(0, before->reward - f->reward);
}

/* Several policies, the last of which is the one that it began with, in the same worlds. 1: given up. */
static int compare(struct nm_polish *p, uint32_t policies, uint64_t first_seed, uint32_t worlds,
                   struct nm_polish_figures *figures, struct nm_err *err)
{
    p->first_seed = first_seed;
    p->worlds = worlds;
    p->runs = nm_calloc((size_t)policies * worlds, sizeof *p->runs);
    nm_workers_run(p->workers, policies * worlds, walk_one, p);
    int bad = quits(p);
    for (uint32_t i = 0; i < policies * worlds && !bad; i++)
        if (p->runs[i].failed) bad = nm_fail(err, "%s", p->runs[i].err.text);
    for (uint32_t k = 0; k < policies && !bad; k++) figures[k] = sum_up(p, p->runs + (size_t)k * worlds, worlds);
    for (uint32_t k = 0; k < policies && !bad; k++)
        if (k + 1 < policies) judge(p, &figures[k], &figures[policies - 1]);
    if (!bad) judge(p, &figures[policies - 1], &figures[policies - 1]);
    free(p->runs);
    p->runs = NULL;
    return bad;
}

/* ---- which curves the neurons can give ---- */

static void curves_at(double phase, double to[CURVES])
{
    to[0] = 1;
    for (int k = 1; k <= HARMONICS; k++) {
        to[2 * k - 1] = cos(2 * M_PI * k * phase);
        to[2 * k] = sin(2 * M_PI * k * phase);
    }
}

struct record { /* sums of products over the periods of one walk in which the gate is open */
    double square[NEURONS][NEURONS], with[NEURONS][CURVES], power[CURVES];
    bool failed;
    struct nm_err err;
};

struct recording {
    const struct nm_polish *polish;
    struct record *records;
};

static void note(struct record *r, const float *neurons, double phase)
{
    double x[NEURONS], y[CURVES];
    for (uint32_t i = 0; i < HIDDEN; i++) x[i] = (double)neurons[i];
    x[HIDDEN] = 1;
    curves_at(phase, y);
    for (uint32_t i = 0; i < NEURONS; i++) {
        for (uint32_t j = 0; j <= i; j++) r->square[i][j] += x[i] * x[j];
        for (uint32_t c = 0; c < CURVES; c++) r->with[i][c] += x[i] * y[c];
    }
    for (uint32_t c = 0; c < CURVES; c++) r->power[c] += y[c] * y[c];
}

static void record_one(void *user, uint32_t i, uint32_t hand)
{
    const struct recording *of = user;
    const struct nm_polish *p = of->polish;
    struct scratch *s = &p->scratch[hand];
    struct record *r = &of->records[i];
    struct nm_walking w;
    r->failed =
        begin_walk(p, &w, (enum drive)(i % (ANY + 1)), nm_spread(nm_spread(p->options.seed) + i) | 1ull << 63, &r->err);
    if (r->failed) return;
    for (double t = 0; t < RECORD_SECONDS; t += NM_GAIT_PERIOD) {
        struct nm_walked walked;
        nm_walking_observe(&w, s->obs, NULL);
        answer(p, s, p->base, s->act);
        if (nm_correction_gate(&p->correction, s->obs) > 0) {
            note(r, s->one.y[LAYERS - 2], w.state.phase);
            note(r, s->two.y[LAYERS - 2], w.state.phase + 0.5); /* the mirror image is half a turn ahead */
        }
        nm_walking_step(&w, s->act, &walked);
        if (walked.fell || walked.over) nm_walking_reset(&w);
        if (i % (ANY + 1) != ANY && walked.fell) w.target[0] = p->limits.most[NM_WALK_FORWARD];
    }
    nm_walking_free(&w);
}

/* Solves a x = b for a symmetric positive matrix, of which the lower half is given and lost, by Cholesky. */
static void solve(double a[NEURONS][NEURONS], double x[NEURONS])
{
    for (uint32_t j = 0; j < NEURONS; j++) {
        for (uint32_t k = 0; k < j; k++) a[j][j] -= a[j][k] * a[j][k];
        a[j][j] = sqrt(fmax(a[j][j], 1e-300));
        for (uint32_t i = j + 1; i < NEURONS; i++) {
            for (uint32_t k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
    for (uint32_t i = 0; i < NEURONS; i++) {
        for (uint32_t k = 0; k < i; k++) x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
    for (uint32_t i = NEURONS; i-- > 0;) {
        for (uint32_t k = i + 1; k < NEURONS; k++) x[i] -= a[k][i] * x[k];
        x[i] /= a[i][i];
    }
}

/* Ridge regression of each curve. Its error is power - 2 x.b + x.A x = power - x.b where A x = b. */
static void fit(struct nm_polish *p, const struct record *sum)
{
    double(*a)[NEURONS] = nm_malloc(sizeof sum->square), missing = 0, power = 0, mean = 0;
    for (uint32_t i = 0; i < NEURONS; i++) mean += sum->square[i][i] / NEURONS;
    for (uint32_t c = 0; c < CURVES; c++) {
        double *x = p->curves[c], explained = 0;
        memcpy(a, sum->square, sizeof sum->square);
        for (uint32_t i = 0; i < NEURONS; i++) a[i][i] += RIDGE * mean, x[i] = sum->with[i][c];
        solve(a, x);
        for (uint32_t i = 0; i < NEURONS; i++) explained += x[i] * sum->with[i][c];
        missing += sum->power[c] - explained;
        power += sum->power[c];
    }
    p->explained = 1 - missing / fmax(power, 1e-300);
    free(a);
}

static int learn_curves(struct nm_polish *p, struct nm_err *err)
{
    struct recording of = {p, nm_calloc(RECORDS, sizeof *of.records)};
    struct record *sum = of.records;
    int bad = 0;
    nm_workers_run(p->workers, RECORDS, record_one, &of);
    for (uint32_t i = 0; i < RECORDS && !bad; i++) {
        const struct record *r = &of.records[i];
        if (r->failed) bad = nm_fail(err, "%s", r->err.text);
        for (uint32_t k = 0; i && k < NEURONS; k++) {
            for (uint32_t j = 0; j <= k; j++) sum->square[k][j] += r->square[k][j];
            for (uint32_t c = 0; c < CURVES; c++) sum->with[k][c] += r->with[k][c];
        }
        for (uint32_t c = 0; i && c < CURVES; c++) sum->power[c] += r->power[c];
    }
    if (!bad) fit(p, sum);
    free(of.records);
    return bad;
}

/* ---- what is searched ---- */

/* Of a pair of joints that mirror each other the first is searched, and the mirror image gives the other its curve half
 * a turn later. A half of each answer counts, so that the curve of the first is given twice. What mirrors itself, as
 * the clock, has the even harmonics only, or the odd ones if its sign changes. */
static double gain_of(const struct nm_gait *g, uint32_t act, uint32_t curve)
{
    const struct nm_mirror *m = &g->act[act];
    bool moves = act == NM_GAIT_ACTS - 1 || (act < g->n_joints && g->scale[act] > 0);
    uint32_t harmonic = (curve + 1) / 2;
    if (!moves || m->from < act) return 0;
    if (m->from > act) return 2;
    return (harmonic % 2 == 0) == (m->sign > 0) ? 1 : 0;
}

static uint32_t count_numbers(const struct nm_gait *g)
{
    uint32_t n = 0;
    for (uint32_t o = 0; o < NM_GAIT_ACTS; o++)
        for (uint32_t c = 0; c < CURVES; c++) n += gain_of(g, o, c) > 0;
    return n;
}

/* The correction that it began with, and another one. */
static void correct(const struct nm_polish *p, const double *numbers, struct nm_correction *to)
{
    *to = p->correction;
    for (uint32_t o = 0; o < NM_GAIT_ACTS; o++)
        for (uint32_t c = 0; c < CURVES; c++) {
            double gain = gain_of(&p->gait, o, c), x = gain > 0 ? gain * *numbers++ : 0;
            for (uint32_t i = 0; x != 0 && i < NEURONS; i++) to->last[i][o] += (float)(x * p->curves[c][i]);
        }
}

/* The weights at full speed ahead. */
static void add_correction(const struct nm_polish *p, const struct nm_correction *c, float *weights)
{
    const uint32_t wide = nm_padded(NM_GAIT_ACTS);
    float *last = weights + nm_mlp_matrix(&p->actor, LAYERS - 1); /* its bias is the row behind its last */
    memcpy(weights, p->base, p->actor.n * sizeof *weights);
    for (uint32_t i = 0; i < NEURONS; i++)
        for (uint32_t o = 0; o < NM_GAIT_ACTS; o++) last[(size_t)i * wide + o] += c->last[i][o];
}

/* ---- making ---- */

static int read_policy(struct nm_polish *p, const struct nm_net *net, struct nm_err *err)
{
    const char *limits = nm_net_note(net, "limits");
    double *most = p->limits.most;
    struct nm_mlp to = p->actor;
    to.at = p->base;
    if (nm_inherit(&p->gait, &to, &p->gait, net, "", err)) return -1;
    to.at = nm_take_n(&p->arena, float, p->actor.n);
    if (!nm_inherit(&p->gait, &to, &p->gait, net, NM_POLICY_SLOW, NULL)) p->slow = to.at;
    if (!limits ||
        sscanf(limits, "forward: %lf back: %lf side: %lf turn: %lf", &most[0], &most[1], &most[2], &most[3]) != 4)
        return nm_fail(err, "the policy's note `limits` does not name forward, back, side and turn");
    for (int i = 0; i < NM_WALK_WAYS; i++)
        if (!(most[i] > 0 && most[i] < 20)) return nm_fail(err, "the policy's limits make no sense");
    int plain = nm_correction_read(&p->correction, net, err);
    if (plain < 0) return -1;
    if (plain) nm_correction_init(&p->correction, most);
    p->limits.strict = 1;
    p->limits.push = PUSH * NM_WALKING_PUSH * p->body->mass * p->gait.pace;
    return 0;
}

static int check_options(const struct nm_polish_options *o, struct nm_err *err)
{
    if (o->worlds < 8 || o->worlds > 1024) return nm_fail(err, "%u worlds: there must be 8 to 1024", o->worlds);
    if (o->candidates < 4 || o->candidates > 1024)
        return nm_fail(err, "%u candidates: there must be 4 to 1024", o->candidates);
    if (!(o->seconds >= 4 && o->seconds <= 60)) return nm_fail(err, "a walk lasts 4 to 60 s, not %g", o->seconds);
    return 0;
}

static void make_buffers(struct nm_polish *p)
{
    struct nm_arena *a = &p->arena;
    nm_mlp_new(&p->actor, a, ACTOR, LAYERS);
    p->base = nm_take_n(a, float, p->actor.n);
    p->weights = nm_take_n(a, float, p->actor.n *(p->options.candidates + 1));
    p->scratch = nm_take_n(a, struct scratch, p->options.threads);
    for (uint32_t h = 0; h < p->options.threads; h++) {
        nm_tape_new(&p->scratch[h].one, a, &p->actor, 1);
        nm_tape_new(&p->scratch[h].two, a, &p->actor, 1);
    }
}

struct nm_polish *nm_polish_new(const struct nm_body *body, const struct nm_pitch *pitch, const struct nm_net *policy,
                                const struct nm_polish_options *options, struct nm_err *err)
{
    const double zero[MOST_NUMBERS] = {0};
    struct nm_polish *p = nm_calloc(1, sizeof *p);
    p->options = *options;
    p->body = body;
    p->pitch = pitch;
    p->started = nm_clock();
    if (!check_options(options, err) && !nm_gait_init(&p->gait, body, err) &&
        (p->workers = nm_workers_new(options->threads, err))) {
        make_buffers(p);
        p->cma = nm_cma_new(&p->arena, count_numbers(&p->gait), zero, NULL, STEP, options->candidates, options->seed);
        if (!read_policy(p, policy, err) && !learn_curves(p, err)) return p;
    }
    nm_polish_free(p);
    return NULL;
}

void nm_polish_free(struct nm_polish *p)
{
    if (!p) return;
    nm_workers_free(p->workers);
    nm_arena_free(&p->arena);
    free(p->curve);
    free(p);
}

/* ---- searching ---- */

static struct nm_polished *new_row(struct nm_polish *p)
{
    if (p->n_curve == p->curve_room) {
        p->curve_room = 2 * p->curve_room + 256;
        p->curve = nm_realloc(p->curve, p->curve_room * sizeof *p->curve);
    }
    return memset(&p->curve[p->n_curve++], 0, sizeof *p->curve);
}

/* Mean over the better half: where the search goes next. */
static struct nm_polish_figures better_half(const struct nm_polish_figures *f, uint32_t n)
{
    enum { FIGURES = sizeof *f / sizeof(double) };
    double sum[FIGURES] = {0}, one[FIGURES];
    struct nm_polish_figures mean;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t better = 0;
        for (uint32_t i = 0; i < n; i++) better += f[i].cost < f[k].cost || (f[i].cost == f[k].cost && i < k);
        if (better >= n / 2) continue;
        memcpy(one, &f[k], sizeof one);
        for (int i = 0; i < FIGURES; i++) sum[i] += one[i] / (n / 2);
    }
    memcpy(&mean, sum, sizeof mean);
    return mean;
}

/* The policy that walks as number k: that of some numbers, or the one that it began with. */
static void take(const struct nm_polish *p, uint32_t k, const double *numbers)
{
    struct nm_correction correction = p->correction;
    if (numbers) correct(p, numbers, &correction);
    add_correction(p, &correction, p->weights + k * p->actor.n);
}

int nm_polish_generation(struct nm_polish *p, struct nm_err *err)
{
    uint32_t n = p->options.candidates, numbers = p->cma->n;
    struct nm_polish_figures *figures = nm_calloc(n + 1, sizeof *figures);
    double *costs = nm_calloc(n, sizeof *costs);
    for (uint32_t k = 0; k < n; k++) take(p, k, nm_cma_candidate(p->cma, k));
    take(p, n, NULL);
    /* seeds of learning are large numbers, those of tests small ones */
    uint64_t seed = nm_spread(nm_spread(p->options.seed) ^ nm_spread(p->cma->generation + 1)) | 1ull << 63;
    int bad = compare(p, n + 1, seed, p->options.worlds, figures, err);
    if (!bad) {
        struct nm_polished row = {.before = figures[n], .mean = better_half(figures, n), .step = p->cma->sigma};
        for (uint32_t k = 0; k < n; k++) {
            const double *x = nm_cma_candidate(p->cma, k);
            costs[k] = figures[k].cost;
            for (uint32_t i = 0; i < numbers; i++) costs[k] += SIZE * x[i] * x[i];
        }
        nm_cma_tell(p->cma, costs);
        p->walked += (n + 1) * p->options.worlds * p->options.seconds;
        row.walked = p->walked;
        row.seconds = p->seconds + 1e-9 * (double)(nm_clock() - p->started);
        *new_row(p) = row;
    }
    free(costs);
    free(figures);
    return bad;
}

const struct nm_polished *nm_polish_curve(const struct nm_polish *p, uint32_t *n)
{
    *n = p->n_curve;
    return p->curve;
}

uint32_t nm_polish_numbers(const struct nm_polish *p) { return p->cma->n; }
double nm_polish_explained(const struct nm_polish *p) { return p->explained; }

/* ---- checkpoints: a header, arrays, and a checksum over all of it ---- */

struct header {
    char magic[8], robot[64];
    uint64_t seed, worlds, candidates, numbers, generation, n_curve, has_slow;
    double walk, sigma, seconds, walked, explained;
    struct nm_walk_limits limits;
    struct nm_dice dice;
    struct nm_correction correction;
};
static const char MAGIC[8] = "nmpolis2";

struct piece {
    void *at;
    size_t n;
};
enum { PIECES = 10 };

static void pieces_of(const struct nm_polish *p, bool slow, struct piece to[PIECES])
{
    const struct nm_cma *c = p->cma;
    size_t line = c->n * sizeof(double), square = c->n * line, floats = p->actor.n * sizeof(float);
    const struct piece all[PIECES] = {
        {p->base, floats},
        {p->slow, slow ? floats : 0},
        {(double *)(uintptr_t)p->curves, sizeof p->curves},
        {c->mean, line},
        {c->candidates, c->population * line},
        {c->covariance, square},
        {c->axes, square},
        {c->lengths, line},
        {c->path_sigma, line},
        {c->path_c, line},
    };
    memcpy(to, all, sizeof all);
}

static size_t file_size(const struct nm_polish *p, uint64_t n_curve, bool slow)
{
    struct piece pieces[PIECES];
    size_t n = sizeof(struct header) + n_curve * sizeof(struct nm_polished) + sizeof(uint32_t);
    pieces_of(p, slow, pieces);
    for (int i = 0; i < PIECES; i++) n += pieces[i].n;
    return n;
}

int nm_polish_save(const struct nm_polish *p, const char *path, struct nm_err *err)
{
    struct piece pieces[PIECES];
    struct header h = {.seed = p->options.seed,
                       .worlds = p->options.worlds,
                       .candidates = p->options.candidates,
                       .numbers = p->cma->n,
                       .generation = p->cma->generation,
                       .n_curve = p->n_curve,
                       .has_slow = p->slow != NULL,
                       .walk = p->options.seconds,
                       .sigma = p->cma->sigma,
                       .seconds = p->seconds + 1e-9 * (double)(nm_clock() - p->started),
                       .walked = p->walked,
                       .explained = p->explained,
                       .limits = p->limits,
                       .dice = p->cma->dice,
                       .correction = p->correction};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    snprintf(h.robot, sizeof h.robot, "%s", p->body->name);
    size_t n = file_size(p, p->n_curve, p->slow), rows = p->n_curve * sizeof *p->curve;
    char *bytes = nm_malloc(n), *at = bytes;
    memcpy(at, &h, sizeof h), at += sizeof h;
    pieces_of(p, p->slow, pieces);
    for (int i = 0; i < PIECES; at += pieces[i++].n)
        if (pieces[i].n) memcpy(at, pieces[i].at, pieces[i].n);
    if (rows) memcpy(at, p->curve, rows);
    at += rows;
    uint32_t sum = nm_crc32(0, bytes, (size_t)(at - bytes));
    memcpy(at, &sum, sizeof sum);
    int bad = nm_file_replace(path, bytes, n, err);
    free(bytes);
    return bad;
}

/* A checksum shows that a file is whole, not that its numbers can be searched with. The arrays after the weights are of
 * doubles, as is the curve. */
static bool sane(const struct nm_polish *p, const struct header *h, const char *arrays, size_t n)
{
    size_t floats = (h->has_slow ? 2 : 1) * p->actor.n * sizeof(float);
    bool good = h->sigma > 0 && h->seconds >= 0 && h->walked >= 0 && nm_correction_sane(&h->correction);
    for (size_t i = 0; i < floats && good; i += sizeof(float)) {
        float x;
        memcpy(&x, arrays + i, sizeof x);
        good = isfinite(x);
    }
    for (size_t i = floats; i < n && good; i += sizeof(double)) {
        double x;
        memcpy(&x, arrays + i, sizeof x);
        good = fabs(x) < 1e15;
    }
    for (int i = 0; i < NM_WALK_WAYS && good; i++) good = h->limits.most[i] > 0 && h->limits.most[i] < 20;
    return good && h->sigma < 1e15 && h->seconds < 1e15 && h->walked < 1e15 && h->generation < 1ull << 53;
}

static int check_file(const struct nm_polish *p, const char *path, const char *bytes, size_t n, struct nm_err *err)
{
    struct header h;
    uint32_t sum;
    if (n < sizeof h + sizeof sum || memcmp(bytes, MAGIC, sizeof MAGIC))
        return nm_fail(err, "%s is no checkpoint of nutmeg learn walk --polish", path);
    memcpy(&h, bytes, sizeof h);
    memcpy(&sum, bytes + n - sizeof sum, sizeof sum);
    h.robot[sizeof h.robot - 1] = 0;
    if (strcmp(h.robot, p->body->name))
        return nm_fail(err, "%s belongs to the robot %s, not to %s", path, h.robot, p->body->name);
    if (h.candidates != p->options.candidates || h.worlds != p->options.worlds || h.seed != p->options.seed ||
        h.walk != p->options.seconds)
        return nm_fail(err, "%s was made with --candidates %llu --worlds %llu --seed %llu and walks of %g s", path,
                       (unsigned long long)h.candidates, (unsigned long long)h.worlds, (unsigned long long)h.seed,
                       h.walk);
    if (h.numbers != p->cma->n || h.n_curve > 10000000 || h.has_slow != (p->slow != NULL) ||
        n != file_size(p, h.n_curve, h.has_slow) || sum != nm_crc32(0, bytes, n - sizeof sum))
        return nm_fail(err, "%s is damaged, or was written by another version: start again without --resume", path);
    if (!sane(p, &h, bytes + sizeof h, n - sizeof h - sizeof sum))
        return nm_fail(err, "%s has numbers that nobody can search with: start again without --resume", path);
    return 0;
}

int nm_polish_load(struct nm_polish *p, const char *path, struct nm_err *err)
{
    struct piece pieces[PIECES];
    struct header h;
    size_t n;
    char *bytes = nm_read_whole(path, (size_t)1 << 30, &n, err), *at = bytes;
    if (!bytes || check_file(p, path, bytes, n, err)) {
        free(bytes);
        return -1;
    }
    memcpy(&h, at, sizeof h), at += sizeof h;
    pieces_of(p, h.has_slow, pieces);
    for (int i = 0; i < PIECES; at += pieces[i++].n)
        if (pieces[i].n) memcpy(pieces[i].at, at, pieces[i].n);
    p->n_curve = 0;
    for (uint64_t i = 0; i < h.n_curve; i++) memcpy(new_row(p), at + i * sizeof *p->curve, sizeof *p->curve);
    p->cma->generation = h.generation;
    p->cma->sigma = h.sigma;
    p->cma->dice = h.dice;
    p->seconds = h.seconds;
    p->walked = h.walked;
    p->explained = h.explained;
    p->correction = h.correction;
    p->limits = h.limits;
    free(bytes);
    return 0;
}

/* ---- what was found ---- */

struct nm_net *nm_polish_net(const struct nm_polish *p, bool polished, struct nm_err *err)
{
    struct nm_correction correction = p->correction;
    if (polished) correct(p, p->cma->mean, &correction);
    return nm_policy_net(&p->gait, &p->limits, &p->actor, p->base, p->slow, &correction, err);
}

int nm_polish_judge(struct nm_polish *p, uint64_t first_seed, uint32_t worlds, struct nm_polish_figures figures[2],
                    struct nm_err *err)
{
    struct nm_polish_figures both[2];
    take(p, 0, p->cma->mean);
    take(p, 1, NULL);
    int bad = compare(p, 2, first_seed, worlds, both, err);
    figures[0] = both[1], figures[1] = both[0];
    return bad;
}

int nm_polish_test(struct nm_polish *p, bool polished, uint64_t first_seed, uint32_t runs, double seconds,
                   struct nm_learn_score scores[NM_LEARN_SCORES], struct nm_err *err)
{
    struct nm_net *net = nm_polish_net(p, polished, err);
    struct nm_exam exam = {&p->gait, p->pitch, &p->limits, net, first_seed, runs, seconds};
    int bad = net ? nm_examine(&exam, p->workers, scores, err) : -1;
    nm_net_free(net);
    return bad;
}

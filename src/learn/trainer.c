#include "learn/trainer.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/clock.h"
#include "base/crc32.h"
#include "base/whole.h"
#include "core/files.h"
#include "learn/inherit.h"
#include "learn/policy.h"
#include "nn/mlp.h"
#include "sim/workers.h"

enum {
    HORIZON = 32, /* periods a world plays in a batch                       */
    EPOCHS = 2,
    BATCHES = 4,   /* small batches an epoch                                 */
    PARTS = 16,    /* of a small batch; their gradients are summed in order  */
    CHUNK = 64,    /* rows that go through the networks together             */
    USUAL = 65536, /* steps of a batch for which speeds of growth are meant */
    BOTH = NM_GAIT_OBS + NM_WALKING_EXTRA,
    STDS = 16, /* NM_GAIT_ACTS, padded */
};
static const uint32_t ACTOR[] = {NM_GAIT_OBS, 256, 256, 128, NM_GAIT_ACTS}, CRITIC[] = {BOTH, 256, 256, 128, 1};
static const double DISCOUNT = 0.99, TRACE = 0.95, CLIP = 0.2, ENTROPY = 0.0005;
/* Of the policy by a batch: divergence, for noise that is larger than the second, and less for less. */
static const double MOST_CHANGE = 0.012, USUAL_NOISE = 0.2;
static const double FIRST_RATE = 1e-3, LEAST_RATE = 3e-6, MOST_RATE = 2e-3, LONGEST = 1; /* of a gradient */
static const double CRITIC_RATE = 5e-4; /* at least: it is behind where the policy must not change much */
static const double FIRST_NOISE = -0.6, LEAST_NOISE = -3.2, MOST_NOISE = 0.3; /* ln, of the actions */

/* What is asked first and at most: shares of the body's pace; turns in rad/s. */
static const double FIRST[NM_WALK_WAYS] = {0.16, 0.13, 0.11, 0.8}, MOST[NM_WALK_WAYS] = {0.95, 0.47, 0.42, 4.8};
static const double LEAST_STRICT = 0.1, WALKS_STRICT = 0.3; /* the second: who does not walk yet pays no more */

/* Who inherits a policy begins with less of what the other robot reached, with less noise and with small steps. The
 * critic cannot be inherited. It learns alone until it explains most of the returns: before that it does not know what
 * comes later, and a policy that learns from it stops to walk, because effort costs now and speed pays later. */
static const double INHERITED_SHARE = 0.6, INHERITED_STRICT = 0.5, INHERITED_NOISE = -1.5, INHERITED_RATE = 1e-5;
/* A robot that goes on with its own policy has all of that already; only the critic is new. */
static const double OWN_NOISE = -2.7, OWN_PUSH = 0.8, OWN_REACHED = 0.75; /* the second: of the hardest push */
static const double EXPLAINED = 0.9;                                      /* of the variance of the returns */
/* Who learns to walk slowly is struck twice as often, and may fall twice as often. */
static const double SLOW_FALLS = 2, SLOW_PUSH = 0.9; /* of those in all kinds of walking */
/* The less a policy tries out, the less of what happens is its doing: with 0.067 instead of 0.25 nothing was learned in
 * 19 million steps. Noise costs little where robots are slow. */
static const double SLOW_NOISE = -1.4;
static const double MANY_PUSHES = 1000; /* after which a mean of falls is known */
enum { CRITIC_ALONE = 60 };             /* batches, at most */

struct scratch { /* of one thread */
    struct nm_tape actor, mirrored, critic;
    float *rows, *turned, *act;
};

struct part { /* of a small batch */
    float *gradient;
    double change, gain;
};

struct nm_trainer {
    struct nm_arena arena;
    struct nm_learn_options options;
    const struct nm_body *body;
    const struct nm_pitch *pitch;
    struct nm_gait gait;
    struct nm_workers *workers;
    struct nm_walking *walkings; /* one a world */
    struct nm_walk_limits limits;

    /* what is learned: actor, critic and the noise's logarithms in one array */
    size_t n;
    float *parameters;
    struct nm_mlp actor, critic;
    struct nm_adam adam;
    float *mean;  /* of the actor's last weights: what is written; a single batch leaves them too far here or there */
    float *other; /* weights of the other network, for fast or slow walking, which is not learned now */
    struct nm_correction correction; /* of that network, if it is the one for fast walking */
    bool has_other, has_correction;
    double rate, reached[NM_WALK_WAYS];
    struct nm_dice dice;
    double std[NM_GAIT_ACTS]; /* of this batch */
    uint32_t alone;           /* batches in which only the critic learns, at most */

    /* a batch; rows of a world stand together, one more than it plays */
    float *both, *acts, *means, *log_probs, *rewards, *values, *advantages, *returns;
    struct nm_walked *walked;
    double *watts; /* a world */
    bool begun;    /* the first rows are those that the last batch ended with */

    /* learning */
    uint32_t *order;
    struct part parts[PARTS];
    struct scratch *scratch; /* one a thread */
    uint32_t small_from, small_n;

    struct nm_crew *crew;
    uint32_t first_world; /* of this process */
    bool lost;            /* another process is gone */
    struct {              /* as it was after the last batch, to go back to */
        float *numbers;   /* parameters, and both of adam's                */
        uint64_t steps;
        double rate, reached[NM_WALK_WAYS];
        struct nm_walk_limits limits;
        struct nm_dice dice;
    } kept;

    double seconds, steps; /* of work before this process; policies' in all */
    int64_t started;
    uint64_t batches;
    uint32_t n_curve, curve_room;
    struct nm_learned *curve;
};

static float *log_std(const struct nm_trainer *t) { return t->parameters + t->actor.n + t->critic.n; }

/* ---- making ---- */

static void fill_layers(const struct nm_mlp *mlp, struct nm_dice *dice, double last)
{
    for (uint32_t l = 0; l < mlp->layers; l++) {
        uint32_t in = mlp->width[l], out = mlp->width[l + 1], wide = nm_padded(out);
        double most = 1 / sqrt(in) * (l + 1 == mlp->layers ? last : 1);
        float *to = mlp->at + nm_mlp_matrix(mlp, l); /* its bias is the row behind its last */
        for (uint32_t i = 0; i < in + 1; i++)
            for (uint32_t o = 0; o < out; o++) to[(size_t)i * wide + o] = (float)(most * nm_dice_both(dice));
    }
}

static void make_networks(struct nm_trainer *t)
{
    struct nm_arena *a = &t->arena;
    nm_mlp_new(&t->actor, a, ACTOR, 4);
    nm_mlp_new(&t->critic, a, CRITIC, 4);
    t->n = t->actor.n + t->critic.n + STDS;
    t->parameters = nm_take_n(a, float, t->n);
    t->actor.at = t->parameters;
    t->critic.at = t->parameters + t->actor.n;
    fill_layers(&t->actor, &t->dice, 0.05);
    fill_layers(&t->critic, &t->dice, 1);
    for (int i = 0; i < NM_GAIT_ACTS; i++) log_std(t)[i] = (float)FIRST_NOISE;
    nm_adam_new(&t->adam, a, t->n);
    t->mean = nm_take_n(a, float, t->actor.n);
    t->other = nm_take_n(a, float, t->actor.n);
    memcpy(t->mean, t->actor.at, t->actor.n * sizeof(float));
    t->rate = FIRST_RATE;
    t->limits.strict = LEAST_STRICT;
    for (int i = 0; i < NM_WALK_WAYS; i++) {
        t->limits.most[i] = FIRST[i] * (i == NM_WALK_TURN ? 1 : t->gait.pace);
        t->reached[i] = 0.5;
    }
}

static void make_buffers(struct nm_trainer *t)
{
    struct nm_arena *a = &t->arena;
    size_t n = (size_t)t->options.worlds * HORIZON, rows = (size_t)t->options.worlds * (HORIZON + 1);
    t->both = nm_take_n(a, float, rows *BOTH);
    t->values = nm_take_n(a, float, rows);
    t->acts = nm_take_n(a, float, n *NM_GAIT_ACTS);
    t->means = nm_take_n(a, float, n *NM_GAIT_ACTS);
    t->log_probs = nm_take_n(a, float, n);
    t->rewards = nm_take_n(a, float, n);
    t->advantages = nm_take_n(a, float, n);
    t->returns = nm_take_n(a, float, n);
    t->walked = nm_take_n(a, struct nm_walked, n);
    t->watts = nm_take_n(a, double, t->options.worlds);
    t->order = nm_take_n(a, uint32_t, n);
    t->kept.numbers = nm_take_n(a, float, 3 * t->n);
    for (uint32_t i = 0; i < n; i++) t->order[i] = i;
    for (int p = 0; p < PARTS; p++) t->parts[p].gradient = nm_take_n(a, float, t->n);
    t->scratch = nm_take_n(a, struct scratch, t->options.threads);
    for (uint32_t h = 0; h < t->options.threads; h++) {
        struct scratch *s = &t->scratch[h];
        nm_tape_new(&s->actor, a, &t->actor, CHUNK);
        nm_tape_new(&s->mirrored, a, &t->actor, CHUNK);
        nm_tape_new(&s->critic, a, &t->critic, CHUNK);
        s->rows = nm_take_n(a, float, CHUNK *BOTH);
        s->turned = nm_take_n(a, float, CHUNK *NM_GAIT_OBS);
        s->act = nm_take_n(a, float, CHUNK *NM_GAIT_ACTS);
    }
}

static int make_worlds(struct nm_trainer *t, struct nm_err *err)
{
    for (uint32_t w = 0; w < t->options.worlds; w++) {
        struct nm_walking *walking = &t->walkings[w];
        nm_walking_free(walking);
        /* seeds of training are large numbers, those of tests small ones */
        uint64_t seed = nm_spread(nm_spread(t->options.seed ^ nm_spread(t->batches)) + t->first_world + w) | 1ull << 63;
        if (nm_walking_new(walking, &t->gait, t->pitch, seed, err)) return -1;
        walking->limits = &t->limits;
        walking->slow = t->options.slow;
    }
    t->begun = false;
    return 0;
}

struct nm_trainer *nm_trainer_new(const struct nm_body *body, const struct nm_pitch *pitch,
                                  const struct nm_learn_options *options, struct nm_err *err)
{
    struct nm_trainer *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->options = *options;
    t->body = body;
    t->pitch = pitch;
    t->dice = nm_dice_new(options->seed, 41, 0);
    t->started = nm_clock();
    t->crew = options->crew;
    if (options->worlds < 8 || options->worlds > 65536)
        nm_fail(err, "%u worlds: there must be 8 to 65536", options->worlds);
    else if (t->crew && (options->worlds % t->crew->size || options->worlds < 8 * t->crew->size))
        nm_fail(err, "%u worlds cannot be shared by %u processes: each must have as many as the others, at least 8",
                options->worlds, t->crew->size);
    else if (!nm_gait_init(&t->gait, body, err) && (t->workers = nm_workers_new(options->threads, err))) {
        if (t->crew) t->options.worlds /= t->crew->size;
        if (t->crew) t->first_world = t->options.worlds * t->crew->rank;
        t->walkings = nm_take_n(&t->arena, struct nm_walking, t->options.worlds);
        make_networks(t);
        make_buffers(t);
        if (!make_worlds(t, err)) return t;
    }
    nm_trainer_free(t);
    return NULL;
}

/* N s, that is ever asked for. */
static double hardest_push(const struct nm_trainer *t)
{
    return (t->options.slow ? SLOW_PUSH : 1) * NM_WALKING_PUSH * t->body->mass * t->gait.pace;
}

/* Of its own policy a robot keeps both networks. The one for slow walking begins with the other one, whose correction
 * stays; if that other one itself is learned further, its correction, which belongs to its old weights, is left out. */
static void inherit_other(struct nm_trainer *t, const struct nm_gait *from, const struct nm_net *policy)
{
    struct nm_mlp other = t->actor;
    other.at = t->other;
    t->has_other = !nm_inherit(&t->gait, &other, from, policy, NM_POLICY_SLOW, NULL);
    if (!t->options.slow) return;
    if (t->has_other) memcpy(t->actor.at, t->other, t->actor.n * sizeof(float));
    t->has_other = !nm_inherit(&t->gait, &other, from, policy, "", NULL);
}

int nm_trainer_inherit(struct nm_trainer *t, const struct nm_body *body, const struct nm_net *policy,
                       struct nm_err *err)
{
    static const char *const ways[NM_WALK_WAYS] = {"forward: ", "back: ", "side: ", "turn: "};
    struct nm_gait from;
    const char *limits = nm_net_note(policy, "limits");
    if (nm_gait_init(&from, body, err) || nm_inherit(&t->gait, &t->actor, &from, policy, "", err)) return -1;
    double faster = t->gait.rate / from.rate, longer = faster * t->gait.stride / from.stride;
    bool own = !strcmp(body->name, t->body->name);
    int plain = own && t->options.slow ? nm_correction_read(&t->correction, policy, err) : 1;
    if (plain < 0) return -1;
    t->has_correction = !plain;
    if (own) inherit_other(t, &from, policy);
    for (int k = 0; k < NM_WALK_WAYS; k++) {
        const char *at = limits ? strstr(limits, ways[k]) : NULL;
        double scale = k == NM_WALK_TURN ? 1 : t->gait.pace, theirs = at ? strtod(at + strlen(ways[k]), NULL) : 0;
        double most = (own ? 1 : INHERITED_SHARE) * theirs * (k == NM_WALK_TURN ? faster : longer);
        t->limits.most[k] = nm_clamp(most, FIRST[k] * scale, MOST[k] * scale);
        if (own) t->reached[k] = OWN_REACHED;
    }
    memcpy(t->mean, t->actor.at, t->actor.n * sizeof(float));
    double noise = t->options.slow ? SLOW_NOISE : own ? OWN_NOISE : INHERITED_NOISE;
    for (int i = 0; i < NM_GAIT_ACTS; i++) log_std(t)[i] = (float)noise;
    t->limits.strict = own ? 1 : INHERITED_STRICT;
    t->limits.push = own ? OWN_PUSH * hardest_push(t) : 0;
    t->rate = MOST_RATE;
    t->alone = CRITIC_ALONE;
    return 0;
}

void nm_trainer_free(struct nm_trainer *t)
{
    if (!t) return;
    for (uint32_t w = 0; t->walkings && w < t->options.worlds; w++) nm_walking_free(&t->walkings[w]);
    nm_workers_free(t->workers);
    nm_arena_free(&t->arena);
    free(t->curve);
    free(t);
}

/* ---- together with other processes ---- */

static double others(const struct nm_trainer *t) { return t->crew ? t->crew->size : 1; }

static void sum_all(struct nm_trainer *t, double *x, size_t n)
{
    if (t->crew && !t->lost) t->lost = t->crew->sum(t->crew, x, n) != 0;
}

static bool quits(const struct nm_trainer *t) { return t->options.quit && t->options.quit(); }

static void keep(struct nm_trainer *t)
{
    memcpy(t->kept.numbers, t->parameters, t->n * sizeof(float));
    memcpy(t->kept.numbers + t->n, t->adam.mean, t->n * sizeof(float));
    memcpy(t->kept.numbers + 2 * t->n, t->adam.square, t->n * sizeof(float));
    t->kept.steps = t->adam.steps;
    t->kept.rate = t->rate;
    t->kept.limits = t->limits;
    t->kept.dice = t->dice;
    memcpy(t->kept.reached, t->reached, sizeof t->reached);
}

static void go_back(struct nm_trainer *t)
{
    memcpy(t->parameters, t->kept.numbers, t->n * sizeof(float));
    memcpy(t->adam.mean, t->kept.numbers + t->n, t->n * sizeof(float));
    memcpy(t->adam.square, t->kept.numbers + 2 * t->n, t->n * sizeof(float));
    t->adam.steps = t->kept.steps;
    t->rate = t->kept.rate;
    t->limits = t->kept.limits;
    t->dice = t->kept.dice;
    memcpy(t->reached, t->kept.reached, sizeof t->reached);
    t->begun = false;
}

/* ---- the symmetric policy ---- */

static void mirror(const struct nm_mirror *map, uint32_t n, const float *from, float *to)
{
    for (uint32_t i = 0; i < n; i++) to[i] = map[i].sign * from[map[i].from];
}

/* Means of the actions for some rows of observations: half of the answer, and half of the mirrored answer. */
static void ask(const struct nm_trainer *t, struct scratch *s, const float *rows, size_t row, uint32_t n, float *means)
{
    const uint32_t wide = nm_padded(NM_GAIT_ACTS);
    for (uint32_t i = 0; i < n; i++)
        mirror(t->gait.obs, NM_GAIT_OBS, rows + i * row, s->turned + (size_t)i * NM_GAIT_OBS);
    const float *one = nm_mlp_forward(&t->actor, &s->actor, rows, row, n);
    const float *two = nm_mlp_forward(&t->actor, &s->mirrored, s->turned, NM_GAIT_OBS, n);
    for (uint32_t i = 0; i < n; i++) {
        float back[NM_GAIT_ACTS];
        mirror(t->gait.act, NM_GAIT_ACTS, two + (size_t)i * wide, back);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++)
            means[(size_t)i * NM_GAIT_ACTS + k] = 0.5f * (one[(size_t)i * wide + k] + back[k]);
    }
}

/* The gradient of the means into both tapes: the mirror map is its own inverse. */
static void ask_back(const struct nm_trainer *t, struct scratch *s, const float *slopes, uint32_t n)
{
    const uint32_t wide = nm_padded(NM_GAIT_ACTS), last = t->actor.layers - 1;
    for (uint32_t i = 0; i < n; i++) {
        const float *slope = slopes + (size_t)i * NM_GAIT_ACTS;
        float back[NM_GAIT_ACTS], *one = s->actor.dy[last] + (size_t)i * wide,
                                  *two = s->mirrored.dy[last] + (size_t)i * wide;
        mirror(t->gait.act, NM_GAIT_ACTS, slope, back);
        memset(one, 0, wide * sizeof *one);
        memset(two, 0, wide * sizeof *two);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) one[k] = 0.5f * slope[k], two[k] = 0.5f * back[k];
    }
}

static void read_std(const struct nm_trainer *t, double std[NM_GAIT_ACTS])
{
    for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) {
        double mean = 0.5 * (double)(log_std(t)[k] + log_std(t)[t->gait.act[k].from]);
        std[k] = exp(nm_clamp(mean, LEAST_NOISE, MOST_NOISE));
    }
}

static double log_prob(const float *act, const float *mean, const double *std)
{
    double sum = 0;
    for (int k = 0; k < NM_GAIT_ACTS; k++) {
        double z = (double)(act[k] - mean[k]) / std[k];
        sum -= 0.5 * z * z + log(std[k]);
    }
    return sum;
}

/* ---- playing ---- */

static void play_world(void *user, uint32_t world, uint32_t hand)
{
    struct nm_trainer *t = user;
    struct scratch *s = &t->scratch[hand];
    struct nm_walking *w = &t->walkings[world];
    float *row = t->both + (size_t)world * (HORIZON + 1) * BOTH;
    if (quits(t)) return;
    t->watts[world] = 0;
    if (t->begun)
        memcpy(row, row + (size_t)HORIZON * BOTH, BOTH * sizeof *row);
    else {
        nm_walking_reset(w);
        nm_walking_observe(w, row, row + NM_GAIT_OBS);
    }
    for (uint32_t i = 0; i < HORIZON; i++, row += BOTH) {
        size_t at = (size_t)world * HORIZON + i;
        float *mean = t->means + at * NM_GAIT_ACTS, *act = t->acts + at * NM_GAIT_ACTS;
        ask(t, s, row, BOTH, 1, mean);
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) act[k] = mean[k] + (float)(t->std[k] * nm_dice_gauss(&w->dice));
        t->log_probs[at] = (float)log_prob(act, mean, t->std);
        nm_walking_step(w, act, &t->walked[at]);
        t->rewards[at] = t->walked[at].reward;
        t->watts[world] += w->watts / HORIZON;
        if (t->walked[at].fell || t->walked[at].over) nm_walking_reset(w);
        nm_walking_observe(w, row + BOTH, row + BOTH + NM_GAIT_OBS);
    }
    /* what the critic thinks of it, and generalised advantages (Schulman and others, 2016) */
    float *values = t->values + (size_t)world * (HORIZON + 1);
    const uint32_t wide = nm_padded(1);
    const float *from = t->both + (size_t)world * (HORIZON + 1) * BOTH,
                *y = nm_mlp_forward(&t->critic, &s->critic, from, BOTH, HORIZON + 1);
    for (uint32_t i = 0; i < HORIZON + 1; i++) values[i] = y[(size_t)i * wide];
    double last = 0;
    for (uint32_t i = HORIZON; i-- > 0;) {
        size_t at = (size_t)world * HORIZON + i;
        const struct nm_walked *walked = &t->walked[at];
        double go = walked->fell || walked->over ? 0 : 1, value = (double)values[i];
        double reward =
            (double)t->rewards[at] + (walked->over ? DISCOUNT * value : 0); /* the time is over, the walk is not */
        last = reward + DISCOUNT * go * (double)values[i + 1] - value + DISCOUNT * TRACE * go * last;
        t->advantages[at] = (float)last;
        t->returns[at] = (float)(last + value);
    }
}

/* The share of the returns' variance that the critic knew: what is left of it are the advantages. */
static double critic_explains(struct nm_trainer *t, size_t n)
{
    double sums[4] = {0}, all = (double)n * others(t);
    for (size_t i = 0; i < n; i++) {
        double gain = (double)t->advantages[i], back = (double)t->returns[i];
        sums[0] += gain;
        sums[1] += gain * gain;
        sums[2] += back;
        sums[3] += back * back;
    }
    sum_all(t, sums, 4);
    return 1 - (sums[1] - sums[0] * sums[0] / all) / (sums[3] - sums[2] * sums[2] / all + 1e-9);
}

static void level_advantages(struct nm_trainer *t, size_t n)
{
    double sum = 0, squares = 0, all = (double)n * others(t);
    for (size_t i = 0; i < n; i++) sum += (double)t->advantages[i];
    sum_all(t, &sum, 1);
    for (size_t i = 0; i < n; i++) squares += pow((double)t->advantages[i] - sum / all, 2);
    sum_all(t, &squares, 1);
    double scale = 1 / (sqrt(squares / all) + 1e-6);
    for (size_t i = 0; i < n; i++) t->advantages[i] = (float)(((double)t->advantages[i] - sum / all) * scale);
}

/* ---- learning ---- */

/* The clipped gain of one row: its slopes by the means and by the noise's logarithms. The part's `change` grows by how
 * far the policy has moved from the one that played (divergence of two normal distributions). */
static void learn_row(const struct nm_trainer *t, struct part *part, uint32_t at, const float *mean, const double *std,
                      float *slope, double *noise)
{
    const float *act = t->acts + (size_t)at * NM_GAIT_ACTS, *old = t->means + (size_t)at * NM_GAIT_ACTS;
    double ratio = exp(fmin(log_prob(act, mean, std) - (double)t->log_probs[at], 20)), gain = (double)t->advantages[at];
    bool clipped = gain > 0 ? ratio > 1 + CLIP : ratio < 1 - CLIP;
    double weight = clipped ? 0 : -gain * ratio / t->small_n, moved = 0;
    for (int k = 0; k < NM_GAIT_ACTS; k++) {
        double z = (double)(act[k] - mean[k]) / std[k], away = (double)(old[k] - mean[k]);
        slope[k] = (float)(weight * z / std[k]);
        noise[k] += weight * (z * z - 1) - ENTROPY / t->small_n;
        moved += log(std[k] / t->std[k]) + (t->std[k] * t->std[k] + away * away) / (2 * std[k] * std[k]) - 0.5;
    }
    part->change += moved / t->small_n;
    part->gain += (ratio - 1) * gain / t->small_n;
}

static void learn_chunk(struct nm_trainer *t, struct part *part, struct scratch *s, const uint32_t *rows, uint32_t n,
                        const double *std, double *noise)
{
    float means[CHUNK * NM_GAIT_ACTS];
    const uint32_t wide = nm_padded(1);
    for (uint32_t i = 0; i < n; i++) {
        size_t row = (size_t)(rows[i] / HORIZON) * (HORIZON + 1) + rows[i] % HORIZON;
        memcpy(s->rows + (size_t)i * BOTH, t->both + row * BOTH, BOTH * sizeof(float));
    }
    ask(t, s, s->rows, BOTH, n, means);
    for (uint32_t i = 0; i < n; i++)
        learn_row(t, part, rows[i], means + (size_t)i * NM_GAIT_ACTS, std, s->act + (size_t)i * NM_GAIT_ACTS, noise);
    ask_back(t, s, s->act, n);
    nm_mlp_backward(&t->actor, &s->actor, part->gradient);
    nm_mlp_backward(&t->actor, &s->mirrored, part->gradient);
    const float *values = nm_mlp_forward(&t->critic, &s->critic, s->rows, BOTH, n);
    float *dy = s->critic.dy[t->critic.layers - 1];
    memset(dy, 0, (size_t)n * wide * sizeof *dy);
    for (uint32_t i = 0; i < n; i++) { /* Huber's: linear beyond 2 */
        double error = (double)(values[(size_t)i * wide] - t->returns[rows[i]]);
        dy[(size_t)i * wide] = (float)(nm_within(error, 2) / t->small_n);
    }
    nm_mlp_backward(&t->critic, &s->critic, part->gradient + t->actor.n);
}

static void learn_part(void *user, uint32_t p, uint32_t hand)
{
    struct nm_trainer *t = user;
    struct part *part = &t->parts[p];
    uint32_t from = (uint32_t)((uint64_t)t->small_n * p / PARTS),
             to = (uint32_t)((uint64_t)t->small_n * (p + 1) / PARTS);
    double std[NM_GAIT_ACTS], noise[NM_GAIT_ACTS] = {0};
    memset(part->gradient, 0, t->n * sizeof *part->gradient);
    part->change = part->gain = 0;
    read_std(t, std);
    for (uint32_t i = from; i < to; i += CHUNK) {
        uint32_t n = to - i < CHUNK ? to - i : CHUNK;
        learn_chunk(t, part, &t->scratch[hand], t->order + t->small_from + i, n, std, noise);
    }
    float *slopes = part->gradient + t->actor.n + t->critic.n;
    for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) { /* both sides of the body share their noise */
        slopes[k] += (float)(0.5 * noise[k]);
        slopes[t->gait.act[k].from] += (float)(0.5 * noise[k]);
    }
}

/* The gradients of all parts into that of the first, a slice of it. */
static void sum_slice(void *user, uint32_t slice, uint32_t hand)
{
    struct nm_trainer *t = user;
    size_t from = t->n * slice / PARTS, to = t->n * (slice + 1) / PARTS;
    float *sum = t->parts[0].gradient;
    (void)hand;
    for (int p = 1; p < PARTS; p++)
        for (size_t i = from; i < to; i++) sum[i] += t->parts[p].gradient[i];
}

/* One step of a slice of the parameters down its gradient, whose length is bounded. False where numbers are lost. */
static bool move_slice(struct nm_trainer *t, size_t from, size_t n, double rate)
{
    float *slope = t->parts[0].gradient + from;
    struct nm_adam slice = {n, t->adam.steps, t->adam.mean + from, t->adam.square + from};
    double length = 0;
    for (size_t i = 0; i < n; i++) length += (double)slope[i] * (double)slope[i];
    length = sqrt(length);
    if (!isfinite(length)) return false;
    for (size_t i = 0; length > LONGEST && i < n; i++) slope[i] *= (float)(LONGEST / length);
    nm_adam_step(&slice, t->parameters + from, slope, (float)rate);
    return true;
}

/* Policy, critic and noise each by themselves. While the critic learns alone, adam comes to know how large the policy's
 * gradients are: without that the first step would be far too long. */
static void move(struct nm_trainer *t, double *change)
{
    size_t critic = t->actor.n, noise = critic + t->critic.n;
    double rate = t->alone ? 0 : t->rate;
    bool whole = move_slice(t, 0, critic, rate);
    whole &= move_slice(t, critic, t->critic.n, fmax(t->rate, CRITIC_RATE));
    whole &= move_slice(t, noise, STDS, rate);
    t->adam.steps++;
    if (!whole) *change = NAN;
}

/* One small batch. Adds to divergence and gain; NaN where numbers are lost. */
static void learn_small(struct nm_trainer *t, double *change, double *gain)
{
    double moved[2] = {0};
    float *sum = t->parts[0].gradient;
    nm_mlp_turn(&t->actor);
    nm_mlp_turn(&t->critic);
    nm_workers_run(t->workers, PARTS, learn_part, t);
    nm_workers_run(t->workers, PARTS, sum_slice, t);
    for (int p = 0; p < PARTS; p++) {
        moved[0] += t->parts[p].change / BATCHES / others(t);
        moved[1] += t->parts[p].gain / BATCHES / others(t);
    }
    sum_all(t, moved, 2);
    *change += moved[0];
    *gain += moved[1];
    if (t->crew && !t->lost) t->lost = t->crew->sum_floats(t->crew, sum, t->n) != 0;
    for (size_t i = 0; t->crew && i < t->n; i++) sum[i] *= (float)(1 / others(t));
    move(t, change);
}

/* A policy that tries out little walks well already: there most of a batch's gradient is chance. */
static double wanted_change(const struct nm_trainer *t)
{
    double noise = 0;
    for (int k = 0; k < NM_GAIT_ACTS; k++) noise += t->std[k] / NM_GAIT_ACTS;
    return MOST_CHANGE * fmin(noise / USUAL_NOISE, 1);
}

static double learn(struct nm_trainer *t, uint32_t n, double *gain)
{
    double change = 0, wanted = wanted_change(t);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        change = *gain = 0;
        for (uint32_t i = n; i > 1; i--) { /* shuffled */
            uint32_t other = (uint32_t)(nm_dice_roll(&t->dice) * i), kept = t->order[i - 1];
            t->order[i - 1] = t->order[other];
            t->order[other] = kept;
        }
        for (uint32_t b = 0; b < BATCHES && !t->lost && !quits(t); b++) {
            t->small_from = n / BATCHES * b;
            t->small_n = n / BATCHES;
            learn_small(t, &change, gain);
        }
        if (!isfinite(change)) return NAN;
        if (t->alone) continue;
        if (change > 2 * wanted) t->rate = fmax(t->rate / 1.3, LEAST_RATE);
        if (change < wanted / 2) t->rate = fmin(t->rate * 1.2, MOST_RATE);
    }
    return change;
}

/* Learns to which sides robots fall, over some thousand pushes. */
static void count_pushes(struct nm_trainer *t, size_t n)
{
    double pushes[NM_WALKING_SIDES] = {0}, falls[NM_WALKING_SIDES] = {0};
    for (size_t i = 0; i < n; i++) {
        if (t->walked[i].pushed >= 0) pushes[t->walked[i].pushed]++;
        if (t->walked[i].tipped >= 0) falls[t->walked[i].tipped]++;
    }
    sum_all(t, pushes, NM_WALKING_SIDES);
    sum_all(t, falls, NM_WALKING_SIDES);
    for (int k = 0; k < NM_WALKING_SIDES; k++) {
        double *tips = &t->limits.tips[k];
        *tips = nm_clamp(*tips + (falls[k] - pushes[k] * *tips) / (pushes[k] + MANY_PUSHES), 0, 1);
    }
}

/* Asks for more where most is reached, for less where little is. */
static void raise_limits(struct nm_trainer *t, size_t n, double falls)
{
    double sum[NM_WALK_WAYS] = {0}, push = hardest_push(t);
    double count[NM_WALK_WAYS] = {0}, batch = others(t) * (double)n / USUAL;
    for (size_t i = 0; i < n; i++) {
        if (t->walked[i].way < 0) continue;
        sum[t->walked[i].way] += nm_clamp(t->walked[i].share, -1, 1.5);
        count[t->walked[i].way]++;
    }
    sum_all(t, sum, NM_WALK_WAYS);
    sum_all(t, count, NM_WALK_WAYS);
    for (int k = 0; k < NM_WALK_WAYS; k++) {
        double scale = k == NM_WALK_TURN ? 1 : t->gait.pace, *most = &t->limits.most[k];
        if (count[k] < 30) continue;
        t->reached[k] += 0.2 * fmin(batch, 1) * (sum[k] / count[k] - t->reached[k]);
        if (t->options.slow) continue; /* they are those of the other network */
        if (t->reached[k] > 0.78 && falls < 0.14) *most *= 1 + 0.008 * batch;
        if (t->reached[k] < 0.72) *most *= 1 - 0.003 * batch;
        *most = nm_clamp(*most, FIRST[k] * scale, MOST[k] * scale);
    }
    /* prices that make a robot stand instead of walk are too high for this body */
    double least = fmin(fmin(t->reached[0], t->reached[1]), fmin(t->reached[2], t->reached[3]));
    if (t->options.slow) least = 1; /* who is seldom asked to be fast does not stand because of them */
    bool fits = falls < 0.2 && (least > 0.7 || t->limits.strict < WALKS_STRICT);
    if (fits) t->limits.strict = fmin(t->limits.strict + 0.01 * batch, 1);
    if (falls > 0.5 || (least < 0.55 && t->limits.strict > WALKS_STRICT))
        t->limits.strict = fmax(t->limits.strict - 0.01 * batch, LEAST_STRICT);
    double often = t->options.slow ? SLOW_FALLS : 1;
    if (falls < 0.08 * often) t->limits.push = fmin(t->limits.push + 0.003 * batch * push, push);
    if (falls > 0.14 * often) t->limits.push = fmax(t->limits.push - 0.003 * batch * push, 0);
}

static struct nm_learned *new_row(struct nm_trainer *t)
{
    if (t->n_curve == t->curve_room) {
        t->curve_room = 2 * t->curve_room + 256;
        t->curve = realloc(t->curve, t->curve_room * sizeof *t->curve);
        if (!t->curve) abort();
    }
    return memset(&t->curve[t->n_curve++], 0, sizeof *t->curve);
}

/* Means over all worlds of all processes. */
static void tell_row(struct nm_trainer *t, uint32_t n, struct nm_learned *row)
{
    double sums[3] = {0};
    for (uint32_t i = 0; i < n; i++) sums[0] += (double)t->rewards[i], sums[1] += t->walked[i].fell;
    for (uint32_t w = 0; w < t->options.worlds; w++) sums[2] += t->watts[w];
    sum_all(t, sums, 3);
    double all = n * others(t);
    row->reward = sums[0] / all;
    row->falls = sums[1] / (all * NM_GAIT_PERIOD);
    row->watts = sums[2] / (t->options.worlds * others(t));
    for (int k = 0; k < NM_GAIT_ACTS; k++) row->noise += t->std[k] / NM_GAIT_ACTS;
    row->rate = t->rate;
    row->limits = t->limits;
    raise_limits(t, n, row->falls);
    count_pushes(t, n);
    memcpy(row->reached, t->reached, sizeof row->reached);
}

int nm_trainer_batch(struct nm_trainer *t, struct nm_err *err)
{
    uint32_t n = t->options.worlds * HORIZON;
    struct nm_learned row = {0};
    keep(t);
    read_std(t, t->std);
    nm_workers_run(t->workers, t->options.worlds, play_world, t);
    t->begun = true;
    double explained = t->alone && !quits(t) ? critic_explains(t, n) : 0;
    if (!quits(t)) level_advantages(t, n);
    if (!quits(t) && !t->lost) row.change = learn(t, n, &row.gain);
    if (!quits(t) && !t->lost && isfinite(row.change)) tell_row(t, n, &row);
    bool stopped = quits(t);
    if (t->lost || stopped) go_back(t);
    if (stopped) return 1;
    if (t->lost) return nm_fail(err, "another process of this training has ended or cannot be reached");
    if (!isfinite(row.change))
        return nm_fail(err, "the numbers of the network are lost: go back to an earlier checkpoint");
    t->steps += n * others(t);
    t->batches++;
    nm_mean_of_last(t->mean, t->actor.at, t->actor.n, t->batches);
    if (t->alone && (explained > EXPLAINED || !--t->alone)) t->alone = 0, t->rate = INHERITED_RATE;
    row.steps = t->steps;
    row.seconds = t->seconds + 1e-9 * (double)(nm_clock() - t->started);
    *new_row(t) = row;
    return 0;
}

const struct nm_learned *nm_trainer_curve(const struct nm_trainer *t, uint32_t *n)
{
    *n = t->n_curve;
    return t->curve;
}

uint64_t nm_trainer_ticks(const struct nm_trainer *t)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < t->options.worlds; w++)
        sum += (uint64_t)(nm_world_now(t->walkings[w].world) / nm_world_tick(t->walkings[w].world));
    return sum;
}

/* ---- checkpoints: a header, arrays, and a checksum over all of it ---- */

struct header {
    char magic[8], robot[64];
    uint64_t n, n_curve, batches, adam_steps, alone;
    uint64_t slow, has_other, has_correction; /* 0 or 1 */
    double rate, steps, seconds, reached[NM_WALK_WAYS];
    struct nm_walk_limits limits;
    struct nm_dice dice;
    struct nm_correction correction;
};
static const char MAGIC[8] = "nmlearn6";

static size_t file_size(const struct nm_trainer *t, uint64_t n_curve, bool other)
{
    return sizeof(struct header) + (3 * t->n + (other ? 2 : 1) * t->actor.n) * sizeof(float) +
           n_curve * sizeof(struct nm_learned) + sizeof(uint32_t);
}

int nm_trainer_save(const struct nm_trainer *t, const char *path, struct nm_err *err)
{
    size_t n = file_size(t, t->n_curve, t->has_other), floats = t->n * sizeof(float),
           rows = t->n_curve * sizeof *t->curve;
    struct header h = {.n = t->n,
                       .n_curve = t->n_curve,
                       .batches = t->batches,
                       .adam_steps = t->adam.steps,
                       .alone = t->alone,
                       .slow = t->options.slow,
                       .has_other = t->has_other,
                       .has_correction = t->has_correction,
                       .correction = t->correction,
                       .rate = t->rate,
                       .steps = t->steps,
                       .seconds = t->seconds + 1e-9 * (double)(nm_clock() - t->started),
                       .limits = t->limits,
                       .dice = t->dice};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memcpy(h.reached, t->reached, sizeof h.reached);
    snprintf(h.robot, sizeof h.robot, "%s", t->body->name);
    char *bytes = malloc(n), *at = bytes;
    if (!bytes) abort();
    const struct {
        const void *from;
        size_t n;
    } pieces[] = {{&h, sizeof h},
                  {t->parameters, floats},
                  {t->adam.mean, floats},
                  {t->adam.square, floats},
                  {t->mean, t->actor.n * sizeof(float)},
                  {t->other, t->has_other ? t->actor.n * sizeof(float) : 0},
                  {t->curve, rows}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; at += pieces[i++].n)
        if (pieces[i].n) memcpy(at, pieces[i].from, pieces[i].n);
    uint32_t sum = nm_crc32(0, bytes, (size_t)(at - bytes));
    memcpy(at, &sum, sizeof sum);
    int bad = nm_file_replace(path, bytes, n, err);
    free(bytes);
    return bad;
}

/* Finite, and not below `least`. The bytes may lie anywhere. */
static bool floats_sane(const char *bytes, size_t n, float least)
{
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, bytes + i * sizeof x, sizeof x);
        if (!(isfinite(x) && x >= least)) return false;
    }
    return true;
}

static bool doubles_sane(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x;
        memcpy(&x, (const char *)bytes + i * sizeof x, sizeof x);
        if (!(fabs(x) < 1e15)) return false;
    }
    return true;
}

/* A checksum shows that a file is whole, not that its numbers can be learned with. */
static bool sane(const struct nm_trainer *t, const struct header *h, const char *arrays)
{
    const uint64_t most = 1ull << 53;
    uint32_t actors = h->has_other ? 2 : 1;
    size_t floats = t->n * sizeof(float), means = actors * t->actor.n * sizeof(float);
    return h->batches < most && h->adam_steps < most && h->alone <= CRITIC_ALONE && h->steps >= 0 && h->seconds >= 0 &&
           h->steps < 1e15 && h->seconds < 1e15 && isfinite(h->rate) && doubles_sane(h->reached, NM_WALK_WAYS) &&
           nm_correction_sane(&h->correction) && doubles_sane(&h->limits, sizeof h->limits / sizeof(double)) &&
           floats_sane(arrays, 2 * t->n, -FLT_MAX) && floats_sane(arrays + 2 * floats, t->n, 0) &&
           floats_sane(arrays + 3 * floats, actors * t->actor.n, -FLT_MAX) &&
           doubles_sane(arrays + 3 * floats + means, h->n_curve * sizeof(struct nm_learned) / sizeof(double));
}

static int check_file(const struct nm_trainer *t, const char *path, const char *bytes, size_t n, struct nm_err *err)
{
    struct header h;
    uint32_t sum;
    if (n < sizeof h + sizeof sum || memcmp(bytes, MAGIC, sizeof MAGIC))
        return nm_fail(err, "%s is no checkpoint of nutmeg learn", path);
    memcpy(&h, bytes, sizeof h);
    memcpy(&sum, bytes + n - sizeof sum, sizeof sum);
    h.robot[sizeof h.robot - 1] = 0;
    if (h.n_curve > 100000000 || h.n != t->n || h.has_other > 1 || h.has_correction > 1 || (h.slow && !h.has_other) ||
        n != file_size(t, h.n_curve, h.has_other) || sum != nm_crc32(0, bytes, n - sizeof sum))
        return nm_fail(err, "%s is damaged, or was written by another version: start again without --resume", path);
    if (strncmp(h.robot, t->body->name, sizeof h.robot - 1))
        return nm_fail(err, "%s belongs to the robot %s, not to %s", path, h.robot, t->body->name);
    if (h.slow != t->options.slow) return nm_fail(err, "%s was learned with%s --slow", path, h.slow ? "" : "out");
    if (!sane(t, &h, bytes + sizeof h))
        return nm_fail(err, "%s has numbers that nobody can learn with: start again without --resume", path);
    return 0;
}

/* The file as rank 0 reads it; to be freed. */
static char *read_state(const struct nm_trainer *t, const char *path, size_t *n, struct nm_err *err)
{
    struct nm_crew *crew = t->crew;
    uint64_t size = UINT64_MAX;
    char *bytes = !crew || !crew->rank ? nm_read_whole(path, (size_t)1 << 30, n, err) : NULL;
    if (!crew) return bytes;
    if (bytes) size = *n;
    bool lost = crew->share(crew, &size, sizeof size) || size == UINT64_MAX;
    if (!lost && !bytes && !(bytes = malloc(size + 1))) abort();
    if (!lost && !crew->share(crew, bytes, *n = size)) return bytes;
    nm_fail(err, "%s could not be read and shared with all processes", path);
    free(bytes);
    return NULL;
}

int nm_trainer_load(struct nm_trainer *t, const char *path, struct nm_err *err)
{
    size_t n;
    char *bytes = read_state(t, path, &n, err);
    int bad = bytes ? nm_trainer_take(t, path, bytes, n, err) : -1;
    free(bytes);
    return bad;
}

/* Into what this version would ask for, which an older one may not have kept to. */
static void bound_limits(struct nm_trainer *t)
{
    struct nm_walk_limits *l = &t->limits;
    for (int k = 0; k < NM_WALK_WAYS; k++) {
        double scale = k == NM_WALK_TURN ? 1 : t->gait.pace;
        l->most[k] = nm_clamp(l->most[k], FIRST[k] * scale, MOST[k] * scale);
        t->reached[k] = nm_clamp(t->reached[k], -1, 1.5);
    }
    l->push = nm_clamp(l->push, 0, hardest_push(t));
    l->strict = nm_clamp(l->strict, LEAST_STRICT, 1);
    for (int k = 0; k < NM_WALKING_SIDES; k++) l->tips[k] = nm_clamp(l->tips[k], 0, 1);
}

int nm_trainer_take(struct nm_trainer *t, const char *name, const void *bytes, size_t n, struct nm_err *err)
{
    struct header h;
    if (check_file(t, name, bytes, n, err)) return -1;
    memcpy(&h, bytes, sizeof h);
    t->n_curve = 0;
    for (uint64_t i = 0; i < h.n_curve; i++) new_row(t);
    size_t floats = t->n * sizeof(float), rows = h.n_curve * sizeof *t->curve;
    const struct {
        void *to;
        size_t n;
    } pieces[] = {{t->parameters, floats},
                  {t->adam.mean, floats},
                  {t->adam.square, floats},
                  {t->mean, t->actor.n * sizeof(float)},
                  {t->other, h.has_other ? t->actor.n * sizeof(float) : 0},
                  {t->curve, rows}};
    const char *at = (const char *)bytes + sizeof h;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; at += pieces[i++].n)
        if (pieces[i].n) memcpy(pieces[i].to, at, pieces[i].n);
    t->adam.steps = h.adam_steps;
    t->alone = (uint32_t)h.alone;
    t->has_other = h.has_other;
    t->has_correction = h.has_correction;
    t->correction = h.correction;
    t->batches = h.batches;
    t->rate = nm_clamp(h.rate, LEAST_RATE, MOST_RATE);
    t->steps = h.steps;
    t->seconds = h.seconds;
    t->limits = h.limits;
    t->dice = h.dice;
    memcpy(t->reached, h.reached, sizeof t->reached);
    bound_limits(t);
    return make_worlds(t, err);
}

struct nm_net *nm_trainer_net(const struct nm_trainer *t, struct nm_err *err)
{
    const float *other = t->has_other ? t->other : NULL;
    bool slow = t->options.slow;
    if (slow && !other) {
        nm_fail(err, "a network for slow walking alone is no policy: it begins with the robot's own one");
        return NULL;
    }
    return nm_policy_net(&t->gait, &t->limits, &t->actor, slow ? other : t->mean, slow ? t->mean : other,
                         t->has_correction ? &t->correction : NULL, err);
}

int nm_trainer_test(struct nm_trainer *t, uint64_t first_seed, uint32_t runs, double seconds,
                    struct nm_learn_score scores[NM_LEARN_SCORES], struct nm_err *err)
{
    struct nm_net *net = nm_trainer_net(t, err);
    struct nm_exam exam = {&t->gait, t->pitch, &t->limits, net, first_seed, runs, seconds};
    int bad = net ? nm_examine(&exam, t->workers, scores, err) : -1;
    nm_net_free(net);
    return bad;
}

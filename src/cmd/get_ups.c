#include "cmd/get_ups.h"

#include <string.h>

#include "base/clamp.h"
#include "base/clock.h"
#include "base/cmaes.h"
#include "body/animation_carry.h"
#include "body/leg_ik.h"
#include "body/stance.h"
#include "cmd/pool.h"
#include "cmd/progress.h"
#include "cmd/sim_animate.h"
#include "cmd/stopping.h"

const struct get_up get_ups[GET_UPS] = {{.name = "get_up_back", .lying = 2}, {.name = "get_up_front", .lying = 1}};

enum { ANGLES = 160, POPULATION = 16, SEEDS = 2, JUDGES = 8, TRIES = 400 };
static const uint64_t FIRST_JUDGE = 100; /* seed; candidates are ranked by others                   */
static const double UPRIGHT = 0.5;       /* rad: who is steeper at the end stands                   */
static const double HIGH = 0.75;         /* of the height of the base when it stands                */
static const double SLOW = 1.6;          /* the second start from each robot's motion takes longer  */
static const double STEP = 0.2;          /* rad, and of the logarithm of a duration                 */
static const double APART = 0.004;       /* m, as nm_animation_check has it                         */
static const double ROLLED = 0.8;        /* cosine: the front of the trunk looks up                 */

/* What is searched: angles, and how long each frame takes. In a get-up the right side mirrors the left one; a roll has
 * two sides. */
struct search {
    const struct get_up_search *how;
    const struct nm_body *body;
    const struct get_up *get_up;
    double stance[NM_JOINTS], height; /* standing: rad, and m of the base above the soles */
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
    const struct nm_animation *start;
    const char *from;                 /* the robot that it is from                                  */
    const struct nm_animation *after; /* of a roll: what gets up from the back; NULL: it is no roll */
    uint32_t n_angles, n;
    struct {
        uint32_t frame, joint;
    } angles[ANGLES];
};

/* ---- candidates ---- */

static struct nm_animation *copy_of(struct nm_arena *arena, const struct nm_animation *from)
{
    struct nm_animation *a = nm_take_n(arena, struct nm_animation, 1);
    *a = *from;
    a->frames = nm_take_n(arena, struct nm_animation_frame, from->n_frames + 1);
    memcpy(a->frames, from->frames, from->n_frames * sizeof *a->frames);
    return a;
}

/* Joints between the base and a link go some of the way back to standing. */
static void pull_back(const struct search *s, struct nm_animation_frame *f, uint32_t link)
{
    for (; link; link = s->body->joints[link - 1].parent)
        f->goal[link - 1] += 0.15 * (s->stance[link - 1] - f->goal[link - 1]);
}

/* Frames in which parts of the body meet are opened until they do not. */
static void open_up(const struct search *s, struct nm_animation *a)
{
    uint32_t links[2];
    for (uint32_t i = 0; i < a->n_frames; i++)
        for (int round = 0; round < 12; round++) {
            double q[NM_JOINTS] = {0};
            for (uint32_t j = 0; j < s->body->n_joints; j++)
                if (a->frames[i].joints >> j & 1) q[j] = a->frames[i].goal[j];
            nm_apply_mimics(s->body, q);
            if (!nm_self_collision(s->body, q, APART, links)) break;
            pull_back(s, &a->frames[i], links[0]);
            pull_back(s, &a->frames[i], links[1]);
        }
}

/* Durations of the frames, each times a factor; moves that the servos are too slow for take longer. */
static void retime(const struct search *s, struct nm_animation *a, const double *factor, double all)
{
    struct nm_animation_frame was[NM_ANIMATION_FRAMES];
    double late = 0, left = 0;
    for (uint32_t i = 0; i < a->n_frames; i++) {
        struct nm_animation_frame *f = &a->frames[i];
        double time = f->at - left;
        left = f->until;
        late += time * ((factor ? exp(factor[i]) : 1) * all - 1);
        f->at += late;
        f->until += late;
    }
    a->duration += late;
    memcpy(was, a->frames, a->n_frames * sizeof *was);
    nm_animation_stretch(s->body, a, was);
}

static const struct nm_animation *candidate(const struct search *s, struct nm_arena *arena, const double *x)
{
    struct nm_animation *a = copy_of(arena, s->start);
    for (uint32_t k = 0; k < s->n_angles; k++) {
        uint32_t j = s->angles[k].joint, other = s->twin[j];
        struct nm_animation_frame *f = &a->frames[s->angles[k].frame];
        f->goal[j] = nm_clamp(f->goal[j] + x[k], s->body->joints[j].lower, s->body->joints[j].upper);
        if (!s->after && f->joints >> other & 1)
            f->goal[other] =
                nm_clamp(s->sign[j] * f->goal[j], s->body->joints[other].lower, s->body->joints[other].upper);
    }
    open_up(s, a);
    retime(s, a, x + s->n_angles, 1);
    return a;
}

static void name_angle(struct search *s, uint32_t frame, uint32_t joint)
{
    if (s->n_angles == ANGLES || !(s->start->frames[frame].joints >> joint & 1)) return;
    s->angles[s->n_angles].frame = frame;
    s->angles[s->n_angles++].joint = joint;
}

/* Of a roll: hips and knees but for yaw, and the arms, in the two frames that push. */
static void name_angles_of_roll(struct search *s)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t frame = 1; frame <= 2; frame++) {
            struct nm_leg leg;
            const struct nm_group *arm = &s->body->arm[side];
            if (nm_leg_init(&leg, s->body, (enum nm_side)side, NULL)) continue;
            name_angle(s, frame, leg.chain.joints[leg.pitch[0]]);
            name_angle(s, frame, leg.chain.joints[leg.pitch[1]]);
            name_angle(s, frame, leg.chain.joints[nm_leg_joint(&leg, false, false).at]);
            for (uint32_t i = 0; i < arm->n && i < 4; i++) name_angle(s, frame, arm->joints[i]);
        }
}

/* Joints that a motion leaves at zero stay there: heads look ahead, legs stay parallel. The last frame stands. */
static void name_angles(struct search *s)
{
    s->n_angles = 0;
    if (s->after) name_angles_of_roll(s);
    for (uint32_t j = 0; j < s->body->n_joints && !s->after; j++) {
        double most = 0;
        for (uint32_t i = 0; i < s->start->n_frames; i++) most = fmax(most, fabs(s->start->frames[i].goal[j]));
        bool left = s->twin[j] == j;
        for (int limb = 0; limb < 2; limb++) {
            const struct nm_group *g = limb ? &s->body->arm[NM_LEFT] : &s->body->leg[NM_LEFT];
            for (uint32_t k = 0; k < g->n; k++) left |= g->joints[k] == j;
        }
        if (most < 0.02 || !left || s->body->joints[j].mimic >= 0) continue;
        for (uint32_t i = 0; i + 1 < s->start->n_frames; i++) name_angle(s, i, j);
    }
    s->n = s->n_angles + s->start->n_frames;
}

/* ---- judging ---- */

struct round {
    const struct search *search;
    const struct nm_animation *const *motions;
    uint64_t first;
    uint32_t seeds;
};
struct ending {
    bool played, stands;
    double cost;
};

static void play(void *user, uint32_t index, void *result)
{
    const struct round *r = user;
    const struct search *s = r->search;
    const struct nm_animation *a = r->motions[index / r->seeds];
    struct ending *e = result;
    struct nm_err err = {0};
    struct animate_run run = {s->how->field, s->get_up->lying, r->first + index % r->seeds, 1, 0};
    struct animate_outcome o;
    uint32_t faults = nm_animation_check(s->body, a, &err);
    if (sim_animate(s->body, a, &run, &o, &err)) return;
    if (s->after) {
        *e = (struct ending){true, !faults && o.facing > ROLLED, 1 - o.facing + 0.3 * faults + 0.01 * a->duration};
        return;
    }
    double end = 0.5 * fmax(cos(o.tilt), 0) + 0.5 * fmin(o.height / s->height, 1);
    *e = (struct ending){true, !faults && o.tilt < UPRIGHT && o.height > HIGH * s->height,
                         1 - end + 0.3 * (o.astray[0] + o.astray[1]) + 0.3 * faults + 0.01 * a->duration};
}

/* Mean costs and how often each stood in the end; -1 with a sentence. */
static int judge(const struct search *s, const struct nm_animation *const motions[], uint32_t n, uint64_t first,
                 uint32_t seeds, double costs[], uint32_t wins[], struct nm_err *err)
{
    struct ending endings[POPULATION * JUDGES] = {0};
    struct round round = {s, motions, first, seeds};
    struct pool pool = {.n = n * seeds,
                        .jobs = s->how->jobs,
                        .size = sizeof *endings,
                        .seconds = 20,
                        .results = endings,
                        .work = play,
                        .quit = stopping,
                        .user = &round};
    if (pool_run(&pool, err)) return -1;
    for (uint32_t i = 0; i < n; i++) {
        costs[i] = 0, wins[i] = 0;
        for (uint32_t k = 0; k < seeds; k++) {
            const struct ending *e = &endings[i * seeds + k];
            costs[i] += (e->played ? e->cost : 5) / seeds;
            wins[i] += e->stands;
        }
    }
    return 0;
}

/* ---- the search ---- */

/* The motions of all donors as this body makes them, as fast as theirs and slower. */
static uint32_t carry_all(const struct search *s, const struct nm_animation *motions[], const char *from[])
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < s->how->n_donors && n + 2 <= GET_UP_STARTS; d++) {
        const struct nm_animation *theirs = nm_find_animation(s->how->donors[d], s->get_up->name);
        struct nm_carry carry;
        if (!theirs) continue;
        nm_carry_find(s->how->donors[d], s->body, &carry);
        for (int slow = 0; slow < 2; slow++) {
            struct nm_animation *a = nm_animation_carry(s->how->arena, theirs, &carry, s->body);
            if (!a) break;
            open_up(s, a);
            retime(s, a, NULL, slow ? SLOW : 1);
            from[n] = s->how->donors[d]->name;
            motions[n++] = a;
        }
    }
    return n;
}

/* One motion after the other. */
static struct nm_animation *both_of(struct nm_arena *arena, const struct nm_body *body, const struct nm_animation *a,
                                    const struct nm_animation *b)
{
    struct nm_animation *both = nm_take_n(arena, struct nm_animation, 1);
    struct nm_animation_frame was[NM_ANIMATION_FRAMES];
    *both = *b;
    both->n_frames = a->n_frames + b->n_frames;
    both->frames = nm_take_n(arena, struct nm_animation_frame, both->n_frames + 1);
    memcpy(both->frames, a->frames, a->n_frames * sizeof *a->frames);
    for (uint32_t i = 0; i < b->n_frames; i++) {
        struct nm_animation_frame *f = &both->frames[a->n_frames + i];
        *f = b->frames[i];
        f->at += a->duration;
        f->until += a->duration;
    }
    both->duration = a->duration + b->duration;
    both->joints |= a->joints;
    memcpy(was, both->frames, both->n_frames * sizeof *was);
    nm_animation_stretch(body, both, was);
    return both;
}

/* A motion counts by trials that did not choose it. 1 if it stands nearly always. */
static int keep_if_better(const struct search *of, const struct nm_animation *a, struct get_up *best,
                          struct nm_err *err)
{
    struct search whole = *of, *s = &whole;
    double cost;
    uint32_t wins;
    if (s->after) a = both_of(s->how->arena, s->body, a, s->after);
    s->after = NULL; /* both together get up */
    if (judge(s, &a, 1, FIRST_JUDGE, JUDGES, &cost, &wins, err)) return -1;
    if (!best->motion || wins > best->wins)
        best->motion = copy_of(s->how->arena, a), best->wins = wins, best->plays = JUDGES, best->from = of->from;
    return best->wins + 1 >= JUDGES;
}

/* One search from s->start, until a motion stands nearly always, `tries` motions stood never, or the time is over. 1:
 * it stands. While all fall, one seed tells enough. */
static int search_around(struct search *s, struct get_up *best, double until, uint32_t tries, struct nm_err *err)
{
    const struct nm_animation *motions[POPULATION];
    double zero[ANGLES + NM_ANIMATION_FRAMES] = {0}, costs[POPULATION];
    uint32_t wins[POPULATION], seeds = 1, last = best->tries + tries;
    int enough = 0;
    struct progress progress;
    name_angles(s);
    struct nm_cma *cma = nm_cma_new(s->how->arena, s->n, zero, NULL, STEP, POPULATION, 1);
    progress_begin(&progress, best->name);
    while (!enough && !stopping() && nm_clock_seconds() < until && (best->wins || best->tries < last)) {
        struct nm_arena arena = {0};
        uint32_t first = 0;
        for (uint32_t k = 0; k < POPULATION; k++) motions[k] = candidate(s, &arena, nm_cma_candidate(cma, k));
        enough = judge(s, motions, POPULATION, 1 + SEEDS * cma->generation, seeds, costs, wins, err);
        for (uint32_t k = 1; !enough && k < POPULATION; k++)
            if (costs[k] < costs[first]) first = k;
        best->tries += POPULATION;
        if (!enough && wins[first] == seeds) enough = keep_if_better(s, motions[first], best, err);
        if (!enough) nm_cma_tell(cma, costs);
        if (best->wins) seeds = SEEDS;
        nm_arena_free(&arena);
        progress_tell(&progress, "%s: %u motions tried, %.0f s left; the best stood in %u of %u trials", best->name,
                      best->tries, fmax(until - nm_clock_seconds(), 0), best->wins, JUDGES);
    }
    progress_end(&progress);
    return enough;
}

/* A body that lies on its front with its arms up: one arm and one leg push that side off the ground, and then swing
 * behind it. */
static const struct nm_animation *roll_over(const struct search *s)
{
    static const struct {
        double time, pause, hip[2], knee[2]; /* s, s, rad that they are bent: left, right */
        struct vec3 arm[2][2];               /* directions of upper arm and forearm       */
    } poses[] = {
        {0.5, 0, {0, 0}, {0, 0}, {{{0.1, 0.3, 0.95}, {0.1, 0.2, 0.97}}, {{0, -0.2, -0.98}, {0.2, 0, -0.98}}}},
        {0.5, 0.1, {0, 1.3}, {0, 0.2}, {{{0.1, 0.3, 0.95}, {0.1, 0.2, 0.97}}, {{0.95, -0.2, 0.2}, {0.97, 0.2, 0.1}}}},
        {0.4, 0.2, {0.7, -0.3}, {0, 1}, {{{0.9, 0.2, 0.3}, {0.9, 0.3, 0.3}}, {{-0.8, -0.3, -0.5}, {-0.8, -0.3, -0.5}}}},
        {0.5, 0.3, {0, 0}, {0, 0}, {{{0, 0.3, -0.95}, {0.2, 0, -0.98}}, {{0, -0.3, -0.95}, {0.2, 0, -0.98}}}},
    };
    enum { POSES = sizeof poses / sizeof *poses };
    struct nm_animation *a = nm_take_n(s->how->arena, struct nm_animation, 1);
    double q[NM_JOINTS] = {0};
    *a = *s->after;
    a->n_frames = POSES;
    a->frames = nm_take_n(s->how->arena, struct nm_animation_frame, POSES + 1);
    a->duration = 0;
    for (int i = 0; i < POSES; i++) {
        struct nm_animation_frame *f = &a->frames[i];
        *f = (struct nm_animation_frame){.at = a->duration + poses[i].time, .joints = s->after->joints, .stiffness = 1};
        f->until = a->duration = f->at + poses[i].pause;
        for (int side = 0; side < 2; side++) {
            struct nm_leg leg;
            if (nm_leg_init(&leg, s->body, (enum nm_side)side, NULL)) continue;
            struct nm_leg_joint hip = nm_leg_joint(&leg, false, true);
            for (uint32_t k = 0; k < leg.chain.n; k++) q[leg.chain.joints[k]] = 0;
            q[leg.chain.joints[hip.at]] = -hip.sign * poses[i].hip[side];
            q[leg.chain.joints[leg.pitch[1]]] = leg.bend * poses[i].knee[side];
            nm_point_arm(s->body, (enum nm_side)side, poses[i].arm[side], NM_GROUP, q);
        }
        for (uint32_t j = 0; j < s->body->n_joints; j++)
            f->goal[j] = f->joints >> j & 1 ? nm_clamp(q[j], s->body->joints[j].lower, s->body->joints[j].upper) : 0;
    }
    retime(s, a, NULL, 1);
    return a;
}

int get_up_find(const struct get_up_search *how, const struct nm_body *body, const struct get_up *back,
                struct get_up *get_up, struct nm_err *err)
{
    const struct nm_animation *motions[GET_UP_STARTS];
    const char *from[GET_UP_STARTS];
    double costs[GET_UP_STARTS], until = nm_clock_seconds() + how->seconds;
    uint32_t wins[GET_UP_STARTS];
    struct search s = {.how = how, .body = body, .get_up = get_up};
    struct nm_kin kin;
    int enough = 0;
    nm_stance(body, 0.06, s.stance);
    nm_forward(body, POSE_IDENTITY, s.stance, &kin);
    s.height = -kin.pose[body->foot[NM_LEFT].sole].pos.z;
    nm_mirror_joints(body, s.twin, s.sign);
    uint32_t n = carry_all(&s, motions, from);
    get_up->motion = NULL;
    if (n && judge(&s, motions, n, 1, SEEDS, costs, wins, err)) return -1;
    /* unless it gets up as it is, rolling over is easier to find */
    bool rolls = back && back->wins;
    for (uint32_t round = 0; round < n && !enough && !stopping(); round++) {
        if (round && nm_clock_seconds() > until) break;
        uint32_t first = 0;
        for (uint32_t i = 1; i < n; i++)
            if (costs[i] < costs[first]) first = i;
        costs[first] = INFINITY;
        s.start = motions[first];
        s.from = from[first];
        if (!rolls || wins[first]) enough = keep_if_better(&s, s.start, get_up, err);
        if (!rolls && !enough) enough = search_around(&s, get_up, until, TRIES, err);
    }
    if (rolls && !enough) {
        struct get_up rolled = *get_up;
        s.after = back->motion;
        s.from = back->from;
        s.start = roll_over(&s);
        enough = search_around(&s, &rolled, until, UINT32_MAX / 2, err);
        rolled.rolls = true;
        if (!get_up->motion || rolled.wins > get_up->wins) *get_up = rolled;
    }
    return enough < 0 ? -1 : 0;
}

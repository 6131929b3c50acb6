/* A simulated robot for `nutmeg animate`: limp in somebody's hands for a recording, or playing one animation to see
 * what becomes of it. */
#include "cmd/sim_animate.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "body/stance.h"
#include "sim/scenario.h"
#include "sim/stage.h"
#include "sim/world.h"

/* ---- held in the air by its trunk, limp; its joints stay where they are put ---- */

struct sim_hand {
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct nm_world *world;
    double q[NM_JOINTS];
};

/* Long enough for the sensors to tell of it, too short to fall. */
static void settle(struct sim_hand *h)
{
    struct nm_joint_goal goals[NM_JOINTS] = {0};
    struct pose3 held = {QUAT_IDENTITY, {-2, 0, 1.5 * h->body->height}};
    for (uint32_t j = 0; j < h->body->n_joints; j++)
        goals[j] = (struct nm_joint_goal){.position = h->q[j], .on = false};
    for (int i = 0; i < 12; i++) {
        nm_world_put(h->world, 0, held, h->q);
        nm_world_goals(h->world, 0, goals);
        nm_world_step(h->world, 1);
    }
}

static int feel(void *self, double q[], uint64_t *known, struct nm_err *err)
{
    struct sim_hand *h = self;
    struct nm_sense sense;
    (void)err;
    settle(h);
    nm_world_sense(h->world, 0, &sense);
    for (uint32_t j = 0; j < h->body->n_joints; j++) {
        q[j] = sense.joints[j].position;
        *known |= 1ull << j;
    }
    return 0;
}

static int move(void *self, uint32_t joint, double angle, struct nm_err *err)
{
    struct sim_hand *h = self;
    const struct nm_joint *j = &h->body->joints[joint];
    if (angle < j->lower || angle > j->upper)
        return nm_fail(err, "%s can turn from %.0f to %.0f degrees", j->name, j->lower * 180 / M_PI,
                       j->upper * 180 / M_PI);
    h->q[joint] = angle;
    return 0;
}

int sim_hand_new(struct nm_arena *arena, const struct nm_body *body, const char *field, struct hand *hand,
                 struct nm_err *err)
{
    struct sim_hand *h = nm_take(arena, sizeof *h);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world_robot me = {.body = body, .start = {-2, 0, 0}};
    memset(h, 0, sizeof *h);
    h->body = body;
    if (nm_pitch_read(&h->pitch, field, err)) return -1;
    h->world = nm_world_new(&h->pitch, &me, 1, &options, err);
    if (!h->world) return -1;
    *hand = (struct hand){h, feel, move};
    return 0;
}

void sim_hand_free(struct hand *hand)
{
    struct sim_hand *h = hand->self;
    if (h) nm_world_free(h->world);
}

#define TICK  0.008
#define LIES  1.2    /* rad */
#define RESTS 0.3    /* s   */
#define ASIDE (-2.0) /* m */

struct scene {
    const struct nm_body *body;
    struct nm_world *world;
    struct nm_joint_goal goals[NM_JOINTS];
    struct animate_outcome *out;
};

static void watch(struct scene *s)
{
    struct nm_sense sense;
    nm_world_sense(s->world, 0, &sense);
    for (uint32_t j = 0; j < s->body->n_joints; j++) {
        double load = fabs(sense.joints[j].load), behind = fabs(sense.joints[j].position - s->goals[j].position);
        if (load > s->out->load) s->out->load = load, s->out->loaded = j;
        if (behind > s->out->behind) s->out->behind = behind, s->out->late = j;
    }
}

static double astray(const struct nm_body *body, const struct nm_truth *truth)
{
    struct nm_kin kin;
    double flat = 0, legs = body->height / 2;
    struct vec3 middle = {0, 0, 0};
    nm_forward(body, truth->base_to_field, truth->q, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[body->foot[side].sole];
        flat += quat_apply(sole.rot, (struct vec3){0, 0, 1}).z / 2;
        middle = vec3_add(middle, vec3_scale(sole.pos, 0.5));
    }
    struct vec3 off = vec3_sub(nm_com(body, &kin), middle);
    return 1 - flat + hypot(off.x, off.y) / (legs / 2);
}

static struct nm_truth step(struct scene *s)
{
    struct nm_truth truth;
    nm_world_goals(s->world, 0, s->goals);
    nm_world_step(s->world, (uint32_t)(TICK * 1e9 / (double)nm_world_tick(s->world)));
    nm_world_truth(s->world, 0, &truth);
    s->out->tilt = acos(fmin(quat_apply(truth.base_to_field.rot, (struct vec3){0, 0, 1}).z, 1));
    s->out->facing = quat_apply(truth.base_to_field.rot, (struct vec3){1, 0, 0}).z;
    s->out->height = truth.base_to_field.pos.z;
    s->out->moved = hypot(truth.base_to_field.pos.x - ASIDE, truth.base_to_field.pos.y);
    return truth;
}

/* Joints and tilt anyhow where it may differ, but no part inside another. */
static void lay(struct scene *s, const struct animate_run *run, double *q)
{
    static const double roll[] = {0, 0, 0, -M_PI / 2, M_PI / 2}, pitch[] = {0, M_PI / 2, -M_PI / 2, 0, 0};
    static const double SCATTER = 0.5, TILT = 0.35, DROP = 0.06, DEEP = 0.004; /* 1, rad, m, m */
    struct nm_dice dice = nm_dice_new(run->seed, 105, 0);
    if (run->lying == NM_UPRIGHT) return;
    for (double much = run->random;; much *= 0.9) {
        for (uint32_t j = 0; j < s->body->n_joints; j++) {
            const struct nm_joint *joint = &s->body->joints[j];
            double low = fmax(joint->lower, -2.5), high = fmin(joint->upper, 2.5);
            q[j] = SCATTER * much * (low + (high - low) * nm_dice_roll(&dice));
        }
        nm_apply_mimics(s->body, q);
        struct quat lean = quat_rpy(TILT * much * nm_dice_both(&dice), TILT * much * nm_dice_both(&dice), 0),
                    rot = quat_mul(quat_rpy(roll[run->lying], pitch[run->lying], 0), lean);
        double height = nm_standing_height(s->body, rot, q) + DROP;
        nm_world_put(s->world, 0, (struct pose3){rot, {ASIDE, 0, height}}, q);
        if (much < 0.01 || nm_world_overlap(s->world, 0) < DEEP) break;
    }
    for (uint32_t j = 0; j < s->body->n_joints; j++) s->goals[j].position = q[j];
}

static void play(struct scene *s, const struct nm_animation *animation, double every)
{
    double from[NM_JOINTS], next = 0;
    struct nm_animation_pose pose;
    struct nm_truth truth;
    for (int i = 0; i < 125; i++) truth = step(s); /* it comes to rest */
    memcpy(from, truth.q, sizeof from);
    *s->out = (struct animate_outcome){.astray = {INFINITY, 0}};
    for (double t = 0; t < animation->duration + 1; t += TICK) {
        nm_animation_sample(animation, from, t, &pose);
        for (uint32_t j = 0; j < s->body->n_joints; j++) {
            if (!(animation->joints >> j & 1)) continue;
            s->goals[j].position = pose.q[j];
            s->goals[j].p = nm_servo_model_of(s->body, j).p * pose.stiffness;
            s->goals[j].on = pose.stiffness > 0;
        }
        truth = step(s);
        watch(s);
        double off = astray(s->body, &truth);
        s->out->astray[0] = fmin(s->out->astray[0], off);
        if (t > animation->duration / 2 && t <= animation->duration)
            s->out->astray[1] += off * TICK / (animation->duration / 2);
        if (t > animation->duration + RESTS && s->out->tilt > LIES) break; /* it will not rise any more */
        if (every <= 0 || t < next) continue;
        printf("%6.2f s  tilt %5.1f degrees  height %.3f m\n", t, s->out->tilt * 180 / M_PI, s->out->height);
        next += every;
    }
}

/* As its own animation `stand` says, where it has one. */
static void stand(const struct nm_body *body, double q[])
{
    const struct nm_animation *own = nm_find_animation(body, "stand");
    struct nm_animation_pose pose;
    nm_stance(body, 0.1, q);
    if (!own) return;
    nm_animation_sample(own, q, own->duration, &pose);
    for (uint32_t j = 0; j < body->n_joints; j++)
        if (own->joints >> j & 1) q[j] = pose.q[j];
}

int sim_animate(const struct nm_body *body, const struct nm_animation *animation, const struct animate_run *run,
                struct animate_outcome *outcome, struct nm_err *err)
{
    struct nm_pitch pitch;
    struct nm_world_options options = NM_WORLD_OPTIONS;
    double q[NM_JOINTS] = {0};
    if (nm_pitch_read(&pitch, run->field, err)) return -1;
    if (run->random > 0) nm_conditions("hard", &options);
    options.seed = run->seed;
    options.random = run->random;
    options.self = NM_SELF_ALL;
    options.bare = true;
    if (run->lying == NM_UPRIGHT) stand(body, q);
    struct nm_world_robot me = {.body = body, .start = {ASIDE, 0, 0}, .joints = q};
    struct scene s = {.body = body, .out = outcome, .world = nm_world_new(&pitch, &me, 1, &options, err)};
    if (!s.world) return -1;
    for (uint32_t j = 0; j < body->n_joints; j++) s.goals[j] = (struct nm_joint_goal){q[j], 0, 1, true};
    lay(&s, run, q);
    play(&s, animation, run->every);
    nm_world_free(s.world);
    return 0;
}

/* A theatre for the tests of the stage: the pitch, line-ups of a few modules, and the modules themselves, which write
 * down what reaches them or move something. */
#pragma once

#include "core/place.h"
#include "sim_help.h"

#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyTruth.h"
#include "nutmeg_msgs/Buttons.h"
#include "nutmeg_msgs/CameraTruth.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/Image.h"
#include "sim/stage.h"
#include "std_srvs/SetBool.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

/* Where the modules of the cast write down what they see: a robot has one slot. */
enum { SLOTS = 4 };
static struct notes {
    uint64_t hash; /* of everything that came in */
    uint32_t servos_n, imus_n, feet_n, pictures_n, percepts_n;
    ServoStates servos;
    Imu imu;
    FootPressure feet;
    Buttons buttons;
    BatteryState battery;
    BodyTruth body;
    WorldTruth world;
    CameraTruth shown;
    CameraInfo info;
    uint32_t width, height, step, bytes;
    char encoding[32];
    int64_t exposed, arrived; /* ns, of the last picture */
    BallRelative ball;
    Percepts percepts;
    Odometry odometry;
    bool powered;
} notes[SLOTS];

static inline void add_hash(struct notes *n, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) n->hash = (n->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

struct witness {
    struct nm *nm;
    const ServoStates *servos;
    const Imu *imu;
    const FootPressure *feet;
    const Buttons *buttons;
    const BatteryState *battery;
    const BodyTruth *body;
    const WorldTruth *world;
    int32_t slot;
};

static void watch(struct witness *f)
{
    struct notes *n = &notes[f->slot];
    n->buttons = *f->buttons, n->battery = *f->battery, n->body = *f->body, n->world = *f->world;
    if (nm_fresh(f->nm, f->servos)) n->servos = *f->servos, n->servos_n++;
    if (nm_fresh(f->nm, f->imu)) n->imu = *f->imu, n->imus_n++;
    if (nm_fresh(f->nm, f->feet)) n->feet = *f->feet, n->feet_n++;
    add_hash(n, f->servos->position.at, f->servos->position.n * sizeof(double));
    add_hash(n, &f->imu->angular_velocity, sizeof f->imu->angular_velocity);
    add_hash(n, &f->feet->left.cells, sizeof f->feet->left.cells);
    add_hash(n, &f->body->pose, sizeof f->body->pose);
}

#define SELF struct witness
static const struct nm_port witness_ports[] = {
    NM_IN(servos, ServoStates, "servo_states"), NM_IN(imu, Imu, "imu/data_raw"),
    NM_IN(feet, FootPressure, "foot_cells"),    NM_IN(buttons, Buttons, "buttons"),
    NM_IN(battery, BatteryState, "battery"),    NM_IN(body, BodyTruth, "truth/body"),
    NM_IN(world, WorldTruth, "truth/world"),    {0},
};
static const struct nm_param witness_params[] = {NM_PARAM(slot, 0, 0, SLOTS - 1, "1", "where notes go"), {0}};
NM_MODULE(witness, "Writes down what comes in.", NM_PORTS(witness_ports), NM_PARAMS(witness_params),
          .step = NM_CALL(watch))
#undef SELF

struct viewer {
    struct nm *nm;
    const Image *picture;
    const CameraInfo *info;
    const CameraTruth *shown;
    int32_t slot;
};

static void look(struct viewer *f)
{
    struct notes *n = &notes[f->slot];
    if (!nm_fresh(f->nm, f->picture)) return;
    n->pictures_n++;
    n->exposed = (int64_t)f->picture->header.stamp.sec * 1000000000 + f->picture->header.stamp.nanosec;
    n->arrived = f->nm->now;
    n->width = f->picture->width, n->height = f->picture->height, n->step = f->picture->step;
    n->bytes = f->picture->data.n;
    n->info = *f->info, n->shown = *f->shown;
    snprintf(n->encoding, sizeof n->encoding, "%s", f->picture->encoding);
    add_hash(n, f->picture->data.data, f->picture->data.n);
}

#define SELF struct viewer
static const struct nm_port viewer_ports[] = {
    NM_IN(picture, Image, "camera/image_raw"),
    NM_IN(info, CameraInfo, "camera/camera_info"),
    NM_IN(shown, CameraTruth, "truth/camera"),
    {0},
};
static const struct nm_param viewer_params[] = {NM_PARAM(slot, 0, 0, SLOTS - 1, "1", "where notes go"), {0}};
NM_MODULE(viewer, "Looks at pictures.", NM_PORTS(viewer_ports), NM_PARAMS(viewer_params), .step = NM_CALL(look))
#undef SELF

/* Lifts the left arm by telling its servo, in the servo's own angle, for a while only. */
struct arm_lifter {
    struct nm *nm;
    JointGoals *goals;
    nm_client(SetBool) power;
    float angle, until, off_at;
    int32_t slot;
    bool asked;
};

static void lift(struct arm_lifter *f)
{
    if (f->off_at > 0 && nm_seconds(f->nm->now) >= f->off_at && !f->asked) {
        nm_call(f->nm, &f->power)->data = false;
        f->asked = true;
    }
    for (uint32_t i = 0; i < f->power.replies.n; i++) notes[f->slot].powered = !f->power.replies.at[i]->success;
    if (nm_seconds(f->nm->now) > f->until) return;
    nm_text(f->goals->name.at[0], "left_shoulder_roll");
    f->goals->position.at[0] = f->angle;
    f->goals->name.n = f->goals->position.n = 1;
    nm_put(f->nm, f->goals);
}

#define SELF struct arm_lifter
static const struct nm_port lifter_ports[] = {
    NM_OUT(goals, JointGoals, "servo_goals"),
    NM_CLIENT(power, SetBool, "motor_power", 2),
    {0},
};
static const struct nm_param lifter_params[] = {
    NM_PARAM(angle, 0.5, -3, 3, "rad", "of the servo"),
    NM_PARAM(until, 1, 0, 100, "s", "when goals stop"),
    NM_PARAM(off_at, 0, 0, 100, "s", "when motors are switched off"),
    NM_PARAM(slot, 0, 0, SLOTS - 1, "1", "where notes go"),
    {0},
};
NM_MODULE(arm_lifter, "Lifts an arm.", NM_PORTS(lifter_ports), NM_PARAMS(lifter_params), .step = NM_CALL(lift))
#undef SELF

struct flat_player {
    struct nm *nm;
    const BallRelative *ball;
    const Percepts *percepts;
    nm_queue(Twist) orders;
    const Odometry *odometry;
    Twist *velocity;
    float speed;
    int32_t slot;
};

static void walk(struct flat_player *f)
{
    struct notes *n = &notes[f->slot];
    if (nm_fresh(f->nm, f->percepts)) n->percepts = *f->percepts, n->percepts_n++;
    if (nm_fresh(f->nm, f->ball)) n->ball = *f->ball;
    n->odometry = *f->odometry;
    f->velocity->linear.x = f->orders.n ? f->orders.at[f->orders.n - 1]->linear.x : f->speed;
    nm_put(f->nm, f->velocity);
    add_hash(n, &n->odometry.pose.pose, sizeof n->odometry.pose.pose);
    add_hash(n, &n->ball.ball_relative, sizeof n->ball.ball_relative);
}

#define SELF struct flat_player
static const struct nm_port player_ports[] = {
    NM_IN(ball, BallRelative, "ball_relative"), NM_IN(percepts, Percepts, "percepts"),
    NM_QUEUE(orders, Twist, "orders", 4),       NM_IN(odometry, Odometry, "odometry"),
    NM_OUT(velocity, Twist, "cmd_vel"),         {0},
};
static const struct nm_param player_params[] = {
    NM_PARAM(speed, 0.2, -1, 1, "m/s", "ahead"),
    NM_PARAM(slot, 0, 0, SLOTS - 1, "1", "where notes go"),
    {0},
};
NM_MODULE(flat_player, "Walks ahead.", NM_PORTS(player_ports), NM_PARAMS(player_params), .step = NM_CALL(walk))
#undef SELF

struct seer {
    struct nm *nm;
    const BallRelative *ball;
    const Percepts *percepts;
    int32_t slot;
};

static void see(struct seer *f)
{
    struct notes *n = &notes[f->slot];
    if (nm_fresh(f->nm, f->percepts)) n->percepts = *f->percepts, n->percepts_n++;
    if (nm_fresh(f->nm, f->ball)) n->ball = *f->ball;
}

#define SELF struct seer
static const struct nm_port seer_ports[] = {
    NM_IN(ball, BallRelative, "ball_relative"),
    NM_IN(percepts, Percepts, "percepts"),
    {0},
};
static const struct nm_param seer_params[] = {NM_PARAM(slot, 0, 0, SLOTS - 1, "1", "where notes go"), {0}};
NM_MODULE(seer, "Sees what a vision would.", NM_PORTS(seer_ports), NM_PARAMS(seer_params), .step = NM_CALL(see))
#undef SELF

struct theatre {
    char place[512]; /* of its line-ups */
    uint32_t n_lineups;
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage_options options;
};

static inline void open_theatre(struct theatre *t)
{
    memset(t, 0, sizeof *t);
    memset(notes, 0, sizeof notes);
    place_new(t->place, sizeof t->place);
    nm_registry_init(&t->registry, &t->arena, __start_nm_modules, __stop_nm_modules);
    load_pitch(&t->pitch, "kid");
    t->options = NM_STAGE_OPTIONS;
    t->options.root = NM_ROOT;
    t->options.registry = &t->registry;
    t->options.pitch = &t->pitch;
    t->options.world.seed = 7;
}

static inline void close_theatre(struct theatre *t, struct nm_stage *stage)
{
    nm_stage_free(stage);
    nm_arena_free(&t->arena);
    place_free(t->place);
}

/* A line-up of these modules in a cycle of 8 ms. */
static inline const char *lineup(struct theatre *t, const char *modules)
{
    const char *path = nm_take_format(&t->arena, "%s/%u.yaml", t->place, t->n_lineups++);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "cycles:\n  all:\n    period: 8 ms\n    cost: 1 ms\n    modules: [%s]\n", modules);
    fclose(file);
    return path;
}

static inline struct nm_stage_robot robot(const char *name, const char *folder, const char *file, double x, double y)
{
    return (struct nm_stage_robot){.name = name, .folder = folder, .lineup = file, .start = {x, y, 0}};
}
#define KID    NM_ROOT "/robots/kid70"
#define DARWIN NM_ROOT "/robots/darwin"

static inline struct nm_stage *play(struct theatre *t, const struct nm_stage_robot *robots, uint32_t n)
{
    struct nm_err err = {0};
    struct nm_stage *stage = nm_stage_new(robots, n, &t->options, &err);
    if (!stage) fail_msg("%s", err.text);
    return stage;
}

static inline void run(struct nm_stage *stage, double seconds)
{
    int64_t end = nm_stage_now(stage) + nm_ns(seconds);
    while (nm_stage_now(stage) < end) assert_int_equal(nm_stage_step(stage), 0);
}

static inline double joint(const struct nm_stage *stage, uint32_t who, const char *name)
{
    struct nm_truth truth;
    nm_world_truth(nm_stage_world(stage), who, &truth);
    return truth.q[nm_find_joint(nm_stage_body(stage, who), name)];
}

/* labels: threads
 * Brains and bodies in lockstep: what a robot's hardware would say reaches its line-up, what the line-up decides
 * reaches the servos, and the number of workers changes nothing. */
#include "sim_help.h"

#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyTruth.h"
#include "nutmeg_msgs/Buttons.h"
#include "nutmeg_msgs/CameraTruth.h"
#include "nutmeg_msgs/Percept.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/Image.h"
#include "sim/stage.h"
#include "sim/stage_parts.h"
#include "std_srvs/SetBool.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

/* ---- test modules: a witness for each robot, and hands that move a joint ---- */

enum { SLOTS = 4 };
static struct notes {
    uint64_t hash; /* of everything that came in */
    uint32_t servos_n, imus_n, feet_n, pictures_n, truths_n, buttons_n, percepts_n;
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

static void add_hash(struct notes *n, const void *bytes, size_t size)
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
NM_MODULE(witness, "Writes down what comes in.", .ports = witness_ports, .params = witness_params,
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
NM_MODULE(viewer, "Looks at pictures.", .ports = viewer_ports, .params = viewer_params, .step = NM_CALL(look))
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
NM_MODULE(arm_lifter, "Lifts an arm.", .ports = lifter_ports, .params = lifter_params, .step = NM_CALL(lift))
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
NM_MODULE(flat_player, "Walks ahead.", .ports = player_ports, .params = player_params, .step = NM_CALL(walk))
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
NM_MODULE(seer, "Sees what a vision would.", .ports = seer_ports, .params = seer_params, .step = NM_CALL(see))
#undef SELF

/* ---- the theatre ---- */

struct theatre {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage_options options;
};

static void open_theatre(struct theatre *t)
{
    memset(t, 0, sizeof *t);
    memset(notes, 0, sizeof notes);
    nm_registry_init(&t->registry, &t->arena, __start_nm_modules, __stop_nm_modules);
    load_pitch(&t->pitch, "kid");
    t->options = NM_STAGE_OPTIONS;
    t->options.root = NM_ROOT;
    t->options.registry = &t->registry;
    t->options.pitch = &t->pitch;
    t->options.world.seed = 7;
}

static void close_theatre(struct theatre *t, struct nm_stage *stage)
{
    nm_stage_free(stage);
    nm_arena_free(&t->arena);
}

/* A line-up of these modules in a cycle of 8 ms. */
static const char *lineup(struct theatre *t, const char *modules)
{
    static int count;
    const char *path = nm_take_format(&t->arena, "%s/test_stage_%d.yaml", NM_BUILD, count++);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "cycles:\n  all:\n    period: 8 ms\n    cost: 1 ms\n    modules: [%s]\n", modules);
    fclose(file);
    return path;
}

static struct nm_stage_robot robot(const char *name, const char *folder, const char *file, double x, double y)
{
    return (struct nm_stage_robot){.name = name, .folder = folder, .lineup = file, .start = {x, y, 0}};
}
#define KID    NM_ROOT "/robots/kid70"
#define DARWIN NM_ROOT "/robots/darwin"

static struct nm_stage *play(struct theatre *t, const struct nm_stage_robot *robots, uint32_t n)
{
    struct nm_err err = {0};
    struct nm_stage *stage = nm_stage_new(robots, n, &t->options, &err);
    if (!stage) fail_msg("%s", err.text);
    return stage;
}

static void run(struct nm_stage *stage, double seconds)
{
    int64_t end = nm_stage_now(stage) + nm_ns(seconds);
    while (nm_stage_now(stage) < end) assert_int_equal(nm_stage_step(stage), 0);
}

static double joint(const struct nm_stage *stage, uint32_t who, const char *name)
{
    struct nm_truth truth;
    nm_world_truth(nm_stage_world(stage), who, &truth);
    return truth.q[nm_find_joint(nm_stage_body(stage, who), name)];
}

static int32_t servo_row(const ServoStates *s, const char *name)
{
    for (uint32_t i = 0; i < s->name.n; i++)
        if (!strcmp(s->name.at[i], name)) return (int32_t)i;
    fail_msg("no servo %s", name);
    return -1;
}

/* ---- bodies ---- */

static void both_robots_rise_and_stand(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    const char *stand = NM_ROOT "/lineups/stand.yaml";
    struct nm_stage_robot robots[] = {robot("kid", KID, stand, -1, 0.6), robot("darwin", DARWIN, stand, -1, -0.6)};
    struct nm_stage *stage = play(&t, robots, 2);
    run(stage, 4);
    for (uint32_t i = 0; i < 2; i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        assert_false(w.fallen);
        assert_near(w.base_to_field.pos.x, -1, 0.03);
        assert_true(nm_stage_goals(stage, i) > 400);
        /* it is the pose that was asked for, through servos that are mounted this way and that */
        assert_near(joint(stage, i, "left_knee"), 0.6, 0.05);
        assert_near(joint(stage, i, "left_elbow"), -0.6, 0.03);
        assert_near(joint(stage, i, "right_shoulder_roll"), -0.1, 0.03);
        assert_near(joint(stage, i, "head_pitch"), 0.3, 0.03);
    }
    assert_int_equal(nm_stage_incidents(stage), 0);
    close_theatre(&t, stage);
}

static void sensors_speak_as_the_hardware_does(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("darwin", DARWIN, lineup(&t, "witness"), 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    const struct nm_body *body = nm_stage_body(stage, 0);
    run(stage, 1);
    const ServoStates *s = &notes[0].servos;
    assert_int_equal(s->name.n, 20);
    for (uint32_t i = 0; i < s->name.n; i++) {
        const struct nm_servo *servo = &body->servos[body->joints[nm_find_joint(body, s->name.at[i])].servo];
        assert_near(servo->direction * s->position.at[i] + servo->offset, joint(stage, 0, s->name.at[i]), 0.02);
        assert_true(s->torque.at[i]);
        assert_int_equal(s->error.at[i], 0);
    }
    /* a bus of 8 ms, read 4 ms or more after the measurement */
    assert_in_range((uint64_t)notes[0].servos_n, 123, 126);
    assert_near(notes[0].imu.linear_acceleration.z, 9.81, 0.5);
    assert_string_equal(notes[0].imu.header.frame_id, "imu_frame");
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += notes[0].feet.left.cells[i] + notes[0].feet.right.cells[i];
    assert_near(sum, body->mass * 9.81, 3);
    assert_near(notes[0].battery.voltage, 12, 1e-3);
    assert_int_equal(notes[0].buttons.name.n, 2);
    assert_near(notes[0].body.pose.position.y, 1, 0.02);
    assert_int_equal(notes[0].world.bodies.n, 2);
    assert_string_equal(notes[0].world.bodies.at[1].name, "ball");
    close_theatre(&t, stage);
}

static void servos_keep_the_last_goal_when_goals_stop(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    /* 45 degrees is where darwin's arm hangs: joint = -servo + 0.7854 */
    const char *set[] = {"arm_lifter.angle=-0.2", "arm_lifter.until=0.5"};
    struct nm_stage_robot robots[] = {robot("darwin", DARWIN, lineup(&t, "arm_lifter"), 1, 1)};
    robots[0].set = set, robots[0].n_set = 2;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 0.5);
    uint64_t goals = nm_stage_goals(stage, 0);
    run(stage, 2);
    assert_true(nm_stage_goals(stage, 0) <= goals + 1);
    assert_near(joint(stage, 0, "left_shoulder_roll"), 0.9854, 0.05);
    assert_near(joint(stage, 0, "right_shoulder_roll"), 0, 0.05);
    close_theatre(&t, stage);
}

static void motors_without_power_let_go(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    const char *set[] = {"arm_lifter.off_at=0.3", "arm_lifter.slot=1"};
    struct nm_stage_robot robots[] = {robot("asks", KID, lineup(&t, "arm_lifter"), 1, 1),
                                      robot("told", KID, NULL, 1, -1), robot("not", KID, NULL, -1, -1)};
    robots[0].set = set, robots[0].n_set = 2;
    notes[1].powered = true;
    struct nm_stage *stage = play(&t, robots, 3);
    run(stage, 0.3);
    nm_stage_power(stage, 1, false);
    run(stage, 2.5);
    struct nm_whereabouts w[3];
    for (uint32_t i = 0; i < 3; i++) nm_stage_whereabouts(stage, i, &w[i]);
    assert_false(notes[1].powered); /* the service has answered */
    assert_true(w[0].base_to_field.pos.z < 0.25);
    assert_true(w[1].base_to_field.pos.z < 0.25);
    assert_true(w[2].base_to_field.pos.z > 0.3); /* nobody's goals are needed to stand */
    close_theatre(&t, stage);
}

static void faults_last_as_long_as_they_are_told_to(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "witness"), 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    uint32_t knee = (uint32_t)nm_find_joint(nm_stage_body(stage, 0), "left_knee");
    const struct notes *n = &notes[0];
    const int64_t ms = 1000000;
    run(stage, 0.4);

    nm_stage_fault(stage, 0, NM_FAULT_SERVO_SILENT, knee, 100 * ms);
    nm_stage_fault(stage, 0, NM_FAULT_IMU_FROZEN, 0, 100 * ms);
    nm_stage_fault(stage, 0, NM_FAULT_FOOT_LOST, NM_RIGHT, 100 * ms);
    run(stage, 0.05);
    int32_t row = servo_row(&n->servos, "left_knee");
    Vector3 gyro = n->imu.angular_velocity;
    assert_true(isnan(n->servos.position.at[row]));
    assert_int_equal(n->servos.error.at[row], ServoStates_ERROR_SILENT);
    assert_true(isfinite(n->servos.position.at[row + 1]));
    assert_true(isnan(n->feet.right.cells[0]) && !n->feet.right.valid);
    assert_true(n->feet.left.valid);
    run(stage, 0.04);
    assert_true(gyro.x == n->imu.angular_velocity.x);
    run(stage, 0.1);
    assert_true(isfinite(n->servos.position.at[row]));
    assert_false(gyro.x == n->imu.angular_velocity.x);
    assert_true(n->feet.right.valid);

    nm_stage_fault(stage, 0, NM_FAULT_BUS_LOST, 0, 100 * ms);
    run(stage, 0.02);
    uint32_t imus = n->imus_n;
    run(stage, 0.06);
    assert_int_equal(n->imus_n, imus);
    for (uint32_t i = 0; i < n->servos.name.n; i++) assert_true(isnan(n->servos.position.at[i]));
    run(stage, 0.2);
    assert_true(n->imus_n > imus);

    nm_stage_fault(stage, 0, NM_FAULT_STALL, 0, 100 * ms);
    run(stage, 0.02);
    uint32_t servos = n->servos_n;
    run(stage, 0.06);
    assert_int_equal(n->servos_n, servos);
    run(stage, 0.1);
    assert_true(n->servos_n > servos);
    close_theatre(&t, stage);
}

static void a_dead_servo_gives_way(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    for (int side = 0; side < 2; side++)
        nm_stage_fault(stage, 0, NM_FAULT_SERVO_DEAD, nm_stage_body(stage, 0)->leg[side].joints[3], INT64_MAX);
    run(stage, 2);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.base_to_field.pos.z < 0.25);
    close_theatre(&t, stage);
}

/* ---- eyes ---- */

static void pictures_come_stamped_and_late(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "viewer"), -1, 0),
                                      robot("mate", KID, NULL, 0.5, 0.3)};
    struct nm_stage *stage = play(&t, robots, 2);
    nm_stage_put_ball(stage, (struct vec3){0.2, -0.2, 0}, (struct vec3){0, 0, 0});
    run(stage, 1);
    const struct notes *n = &notes[0];
    assert_in_range((uint64_t)n->pictures_n, 27, 30); /* 30 a second, the last one is on its way */
    assert_int_equal(n->width, 644);
    assert_int_equal(n->height, 482);
    assert_int_equal(n->step, 2 * 644);
    assert_int_equal(n->bytes, 2 * 644 * 482);
    assert_string_equal(n->encoding, "yuv422_yuy2");
    assert_in_range((uint64_t)(n->arrived - n->exposed), 20000000, 20000000 + 4000000 + 8000000);
    assert_near(n->info.k[0], 482, 1e-9);
    assert_string_equal(n->info.distortion_model, "plumb_bob");
    uint32_t kinds[16] = {0};
    for (uint32_t i = 0; i < n->shown.objects.n; i++) kinds[n->shown.objects.at[i].kind & 15]++;
    assert_int_equal(kinds[Percept_BALL], 1);
    assert_int_equal(kinds[Percept_MATE], 1);
    assert_int_equal(kinds[Percept_RIVAL], 0);
    assert_true(n->shown.lines.n > 3);
    for (uint32_t i = 0; i < n->shown.lines.n; i++) assert_true(n->shown.lines.at[i].width > 0.3f);
    close_theatre(&t, stage);
}

static void nobody_looks_nothing_is_drawn(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "witness"), -1, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    assert_int_equal(stage->n_lookouts, 0);
    close_theatre(&t, stage);
}

static void percepts_are_near_the_truth(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_PERCEPT;
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "seer"), -1, 0)};
    robots[0].team = 1; /* percepts are the robot's own: its team does not turn them */
    struct nm_stage *stage = play(&t, robots, 1);
    nm_stage_put_ball(stage, (struct vec3){0.3, 0.2, 0}, (struct vec3){0, 0, 0});
    double sum = 0;
    uint32_t seen = 0;
    for (int i = 0; i < 100; i++) {
        run(stage, 0.04);
        if (notes[0].ball.confidence < 0.5f) continue;
        sum += hypot(notes[0].ball.ball_relative.x - 1.3, notes[0].ball.ball_relative.y - 0.2);
        seen++;
    }
    assert_true(seen > 50);
    assert_true(sum / seen < 0.25);
    assert_in_range((uint64_t)notes[0].percepts_n, 110, 125);
    assert_string_equal(notes[0].percepts.header.frame_id, "base_footprint");
    assert_true(notes[0].percepts.percepts.n > 1); /* lines and the circle, too */
    close_theatre(&t, stage);
}

/* ---- flat ---- */

static void flat_robots_obey_a_velocity(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_FLAT;
    const char *says[] = {"orders"};
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "flat_player"), -2, 0)};
    robots[0].says = says, robots[0].n_says = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 4);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.x, -2 + 0.2 * 4, 0.15);
    assert_near(notes[0].odometry.pose.pose.position.x, 0.8, 0.2);
    assert_true(notes[0].percepts_n > 100);
    assert_true(notes[0].ball.confidence > 0);
    nm_stage_place(stage, 0, (struct pose2){1, 1, 0}, NM_UPRIGHT);
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.x, 1, 1e-9);
    nm_stage_push(stage, 0, (struct vec3){20, 0, 0}, (struct vec3){0, 0, 0}, 0);
    run(stage, 0.1);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    close_theatre(&t, stage);
}

/* ---- words to a brain ---- */

static void a_brain_is_told_and_set(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_FLAT;
    const char *says[] = {"orders"}, *set[] = {"flat_player.speed=0"};
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "flat_player"), -2, 0)};
    robots[0].says = says, robots[0].n_says = 1, robots[0].set = set, robots[0].n_set = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    struct nm_err err = {0};
    const char *text = "{linear: {x: 0.3}}", *wrong = "{linear: {w: 0.3}}";
    const struct nm_yaml *message = nm_yaml_parse(&t.arena, "test", text, strlen(text), &err);
    run(stage, 1);
    struct nm_whereabouts before, after;
    nm_stage_whereabouts(stage, 0, &before);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(nm_stage_say(stage, 0, "orders", message, &err), 0);
        run(stage, 0.01);
    }
    nm_stage_whereabouts(stage, 0, &after);
    assert_true(after.velocity.x > before.velocity.x + 0.02);
    assert_int_equal(nm_stage_set(stage, 0, "flat_player.speed=0.35", &err), 0);
    run(stage, 1.5);
    nm_stage_whereabouts(stage, 0, &after);
    assert_true(after.velocity.x > 0.25);

    message = nm_yaml_parse(&t.arena, "test", wrong, strlen(wrong), &err);
    assert_int_equal(nm_stage_check_say(stage, 0, "orders", message, &err), -1);
    assert_int_equal(nm_stage_check_say(stage, 0, "cmd_val", message, &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "flat_player.speed=9", &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "flat_payer.speed=0", &err), -1);
    assert_int_equal(nm_stage_set(stage, 0, "speed", &err), -1);
    assert_non_null(strstr(err.text, "flat_player"));
    close_theatre(&t, stage);
}

/* ---- interventions ---- */

static void things_are_moved_by_command(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, -2, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    SimCommand_Request request = {.command = SimCommand_Request_MOVE, .pose.orientation = {0, 0, 0.7071, 0.7071}};
    SimCommand_Response response = {0};
    nm_text(request.name, "kid");
    request.pose.position = (Point){1, 2, 0};
    nm_stage_command(stage, &request, &response);
    assert_true(response.success);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_near(w.base_to_field.pos.y, 2, 1e-9);
    assert_near(quat_yaw(w.base_to_field.rot), M_PI / 2, 1e-6);

    nm_text(request.name, "ball");
    request.pose.position = (Point){1, -1, 0};
    request.twist.linear = (Vector3){1, 0, 0};
    nm_stage_command(stage, &request, &response);
    run(stage, 0.5);
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    assert_near(ball.x, 1.45, 0.1);
    request.command = SimCommand_Request_PUSH;
    nm_text(request.name, "kid");
    request.impulse = (Vector3){0, 8, 0};
    nm_stage_command(stage, &request, &response);
    assert_true(response.success);
    run(stage, 2);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    nm_stage_place(stage, 0, (struct pose2){0, 1, 0}, NM_ON_BACK);
    run(stage, 0.5);
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.fallen);
    assert_true(quat_apply(w.base_to_field.rot, (struct vec3){1, 0, 0}).z > 0.7); /* its chest looks up */

    nm_text(request.name, "kit");
    nm_stage_command(stage, &request, &response);
    assert_false(response.success);
    request.command = SimCommand_Request_PAUSE;
    nm_stage_command(stage, &request, &response);
    assert_false(response.success);
    close_theatre(&t, stage);
}

static void each_team_has_its_own_field(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("away", KID, lineup(&t, "witness"), 1, 0.5)};
    robots[0].team = 1;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 0.1);
    assert_near(notes[0].body.pose.position.x, -1, 0.02);
    assert_near(notes[0].body.pose.position.y, -0.5, 0.02);
    assert_near(notes[0].world.bodies.at[0].pose.position.x, 1, 0.02);
    close_theatre(&t, stage);
}

/* ---- determinism ---- */

static uint64_t fingerprint(struct theatre *t, uint32_t workers, enum nm_fidelity fidelity)
{
    open_theatre(t);
    t->options.workers = workers;
    t->options.fidelity = fidelity;
    t->options.world.random = 1;
    bool flat = fidelity == NM_FIDELITY_FLAT;
    const char *file = lineup(t, flat ? "flat_player" : "witness, viewer, arm_lifter");
    const char *says[] = {"orders"};
    struct nm_stage_robot robots[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        const char **set = nm_take_n(&t->arena, const char *, 3);
        set[0] = nm_take_format(&t->arena, "%s.slot=%d", flat ? "flat_player" : "witness", i);
        set[1] = nm_take_format(&t->arena, "viewer.slot=%d", i);
        set[2] = nm_take_format(&t->arena, "arm_lifter.slot=%d", i);
        robots[i] = robot(nm_take_format(&t->arena, "r%d", i), i % 2 ? DARWIN : KID, file, -1.5 + 0.8 * i, 0.4);
        robots[i].set = set, robots[i].n_set = flat ? 1 : 3, robots[i].says = says, robots[i].n_says = flat;
    }
    struct nm_stage *stage = play(t, robots, SLOTS);
    nm_stage_push(stage, 0, (struct vec3){3, 1, 0}, (struct vec3){0, 0, 0.1}, 20000000);
    run(stage, 1.5);
    struct notes all = {0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        add_hash(&all, &w.base_to_field, sizeof w.base_to_field);
        add_hash(&all, &w.velocity, sizeof w.velocity);
        add_hash(&all, &notes[i].hash, sizeof notes[i].hash);
        assert_true(notes[i].hash != 0);
        if (!flat) assert_true(notes[i].pictures_n > 30);
    }
    close_theatre(t, stage);
    return all.hash;
}

static void workers_change_not_one_bit(void **state)
{
    (void)state;
    struct theatre t;
    uint64_t one = fingerprint(&t, 1, NM_FIDELITY_CAMERA), two = fingerprint(&t, 2, NM_FIDELITY_CAMERA);
    assert_true(one == two);
    assert_true(fingerprint(&t, 1, NM_FIDELITY_FLAT) == fingerprint(&t, 3, NM_FIDELITY_FLAT));
}

/* ---- what cannot begin ---- */

static void refused(struct theatre *t, const struct nm_stage_robot *robots, uint32_t n, const char *sentence)
{
    struct nm_err err = {0};
    assert_null(nm_stage_new(robots, n, &t->options, &err));
    if (!strstr(err.text, sentence)) fail_msg("'%s' is not in: %s", sentence, err.text);
}

static void what_cannot_begin_says_why(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[2] = {robot("a", KID, lineup(&t, "viewer"), 1, 1), robot("a", KID, NULL, -1, 1)};
    refused(&t, robots, 2, "two robots are called a");
    robots[1].name = "b";
    robots[1].folder = NM_ROOT "/robots/none";
    refused(&t, robots, 2, "none");
    t.options.fidelity = NM_FIDELITY_PERCEPT; /* no pictures there */
    refused(&t, robots, 1, "camera/image_raw");
    t.options.fidelity = NM_FIDELITY_FLAT;
    robots[0].lineup = lineup(&t, "witness");
    refused(&t, robots, 1, "servo_states");
    t.options.fidelity = NM_FIDELITY_CAMERA;
    robots[0].lineup = NM_ROOT "/lineups/none.yaml";
    refused(&t, robots, 1, "robot a: its line-up");
    nm_arena_free(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_robots_rise_and_stand),
        cmocka_unit_test(sensors_speak_as_the_hardware_does),
        cmocka_unit_test(servos_keep_the_last_goal_when_goals_stop),
        cmocka_unit_test(motors_without_power_let_go),
        cmocka_unit_test(faults_last_as_long_as_they_are_told_to),
        cmocka_unit_test(a_dead_servo_gives_way),
        cmocka_unit_test(pictures_come_stamped_and_late),
        cmocka_unit_test(nobody_looks_nothing_is_drawn),
        cmocka_unit_test(percepts_are_near_the_truth),
        cmocka_unit_test(flat_robots_obey_a_velocity),
        cmocka_unit_test(a_brain_is_told_and_set),
        cmocka_unit_test(things_are_moved_by_command),
        cmocka_unit_test(each_team_has_its_own_field),
        cmocka_unit_test(workers_change_not_one_bit),
        cmocka_unit_test(what_cannot_begin_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

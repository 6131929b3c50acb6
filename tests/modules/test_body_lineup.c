/* lineups/body.yaml as a whole: the hardware's topics in, everything a walk and a camera need out, nothing allocated on
 * the way; and without a robot each module says that it needs one. */
#include "core/player.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "modules/walker.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/ServoStates.h"
#include "nutmeg_msgs/SupportState.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Joy.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

enum port {
    SERVOS,
    IMU,
    CELLS,
    CAMERA,
    GOALS,
    JOY,
    BALL,
    BODY,
    ODOMETRY,
    POSE,
    SUPPORT,
    SERVO_GOALS,
    VELOCITY,
    FRESH,
    BATTERY,
    PORTS
};
static const struct nm_edge_port edge_ports[PORTS] = {
    [SERVOS] = {"servo_states", NM_PORT_OUT, &ServoStates_type, 0, 0},
    [IMU] = {"imu/data_raw", NM_PORT_OUT, &Imu_type, 0, 0},
    [CELLS] = {"foot_cells", NM_PORT_OUT, &FootPressure_type, 0, 0},
    [CAMERA] = {"camera/camera_info", NM_PORT_OUT, &CameraInfo_type, 0, 0},
    [GOALS] = {"joint_goals", NM_PORT_OUT, &JointGoals_type, 0, 0},
    [JOY] = {"joy", NM_PORT_OUT, &Joy_type, 0, 0},
    [BALL] = {"ball_relative", NM_PORT_OUT, &BallRelative_type, 0, 0},
    [BODY] = {"body_state", NM_PORT_IN, &BodyState_type, 0, 0},
    [ODOMETRY] = {"odometry", NM_PORT_IN, &Odometry_type, 0, 0},
    [POSE] = {"camera/pose", NM_PORT_IN, &CameraPose_type, 0, 0},
    [SUPPORT] = {"support_state", NM_PORT_IN, &SupportState_type, 0, 0},
    [SERVO_GOALS] = {"servo_goals", NM_PORT_IN, &JointGoals_type, 0, 0},
    [VELOCITY] = {"cmd_vel", NM_PORT_IN, &Twist_type, 0, 0},
    [FRESH] = {"ball_fresh", NM_PORT_IN, &BallRelative_type, 0, 0},
    [BATTERY] = {"battery_state", NM_PORT_IN, &BatteryState_type, 0, 0},
};

struct rig {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    const struct nm_body *body;
    struct nm_player *player;
    struct nm_edge *hardware;
};

static void open_lineup(struct rig *r)
{
    /* the feet of this walker never slip, so the robot's calibrated correction must not be applied */
    static const char *const set[] = {"odometry.correct=none"};
    struct nm_lineup_options options = {.root = NM_ROOT, .n_set = 1, .set = set};
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    nm_registry_init(&r->registry, &r->arena, __start_nm_modules, __stop_nm_modules);
    r->lineup = nm_lineup_load(NM_ROOT "/lineups/body.yaml", &r->registry, &options, &err);
    if (!r->lineup) fail_msg("%s", err.text);
    r->body = load(&r->arena, r->lineup->robot_folder);
}

static void close_lineup(struct rig *r)
{
    nm_player_free(r->player);
    nm_lineup_free(r->lineup);
    nm_arena_free(&r->arena);
}

static Time at(int64_t ns) { return (Time){(int32_t)(ns / 1000000000), (uint32_t)(ns % 1000000000)}; }

static void tell_servos(struct rig *r, const struct moment *m, int64_t now)
{
    ServoStates *s = nm_edge_out(r->hardware, SERVOS);
    s->header.stamp = at(now);
    for (uint32_t i = 0; i < r->body->n_servos; i++) {
        const struct nm_servo *servo = &r->body->servos[i];
        nm_text(s->name.at[i], "%s", r->body->joints[servo->joint].name);
        s->position.at[i] = servo->direction * (m->q[servo->joint] - servo->offset);
        s->velocity.at[i] = NAN; /* these servos do not tell */
        s->voltage.at[i] = 15;
        s->temperature.at[i] = 45;
        s->error.at[i] = 0;
    }
    s->name.n = s->position.n = s->velocity.n = s->voltage.n = s->temperature.n = s->error.n = r->body->n_servos;
    nm_edge_put(r->hardware, SERVOS);
}

/* An inertial unit and cells that know the truth. */
static void tell_sensors(struct rig *r, const struct moment *m, struct vec3 turning, struct vec3 acceleration,
                         int64_t now)
{
    Imu *imu = nm_edge_out(r->hardware, IMU);
    acceleration.z += 9.81;
    struct vec3 up = quat_apply(quat_inv(m->torso.rot), acceleration);
    nm_text(imu->header.frame_id, "imu_frame");
    imu->header.stamp = at(now);
    imu->linear_acceleration = (Vector3){up.x, up.y, up.z};
    imu->angular_velocity = (Vector3){turning.x, turning.y, turning.z};
    nm_edge_put(r->hardware, IMU);

    FootPressure *p = nm_edge_out(r->hardware, CELLS);
    float cell = (float)(r->body->mass * 9.81 / 4);
    p->header.stamp = at(now);
    for (int i = 0; i < 4; i++) {
        p->left.cells[i] = m->support == NM_LEFT ? cell : 0;
        p->right.cells[i] = m->support == NM_RIGHT ? cell : 0;
    }
    nm_edge_put(r->hardware, CELLS);
}

static void tell_rest(struct rig *r, const struct moment *m, int64_t now)
{
    JointGoals *goals = nm_edge_out(r->hardware, GOALS);
    for (uint32_t i = 0; i < r->body->n_joints; i++) {
        nm_text(goals->name.at[i], "%s", r->body->joints[i].name);
        goals->position.at[i] = m->q[i];
    }
    goals->name.n = goals->position.n = r->body->n_joints;
    nm_edge_put(r->hardware, GOALS);

    Joy *joy = nm_edge_out(r->hardware, JOY);
    joy->axes.n = 4, joy->buttons.n = 5;
    for (int i = 0; i < 5; i++) joy->axes.at[i] = i == 1, joy->buttons.at[i] = i == 4;
    nm_edge_put(r->hardware, JOY);

    if (now / 8000000 % 5) return; /* pictures are fewer */
    CameraInfo *camera = nm_edge_out(r->hardware, CAMERA);
    nm_text(camera->header.frame_id, "camera_optical_frame");
    camera->header.stamp = at(now - 30000000);
    nm_edge_put(r->hardware, CAMERA);
    BallRelative *ball = nm_edge_out(r->hardware, BALL);
    struct pose2 seen = pose2_mul(pose2_inv(walker_robot(m)), (struct pose2){2, 0.5, 0});
    ball->header.stamp = at(now);
    ball->ball_relative = (Point){seen.x, seen.y, 0};
    ball->confidence = 1;
    nm_edge_put(r->hardware, BALL);
}

#define READ(r, port) (nm_edge_in((r)->hardware, (port)))

static void a_walk_goes_in_and_its_way_comes_out(void **state)
{
    (void)state;
    struct rig r;
    struct nm_err err = {0};
    struct walker w;
    struct moment m, next, before, after;
    open_lineup(&r);
    r.player = nm_player_new(r.lineup, &(struct nm_player_options){.seed = 1, .body = r.body}, &err);
    if (!r.player) fail_msg("%s", err.text);
    r.hardware = nm_edge_new(r.player, "hardware", edge_ports, PORTS, &err);
    if (!r.hardware || nm_players_run(&r.player, 1, 1, 1)) fail_msg("%s", err.text);

    walker_begin(&w, r.body);
    w.velocity = (struct pose2){0.12, 0, 0.25};
    int64_t now = 0;
    for (int i = 1; i <= 750; i++) { /* 6 s; the steps begin after one */
        now = i * 8000000ll;
        double t = nm_seconds(now) - 1;
        walker_at(&w, t, &m);
        walker_at(&w, t + 1e-4, &next);
        struct vec3 turning = quat_log(quat_mul(quat_inv(m.torso.rot), next.torso.rot));
        walker_at(&w, t - 0.008, &before);
        walker_at(&w, t + 0.008, &after);
        struct vec3 faster = vec3_sub(vec3_sub(after.torso.pos, m.torso.pos), vec3_sub(m.torso.pos, before.torso.pos));
        nm_edge_begin(r.hardware, now);
        tell_servos(&r, &m, now);
        tell_sensors(&r, &m, vec3_scale(turning, 1e4), vec3_scale(faster, 1 / (0.008 * 0.008)), now);
        tell_rest(&r, &m, now);
        nm_edge_end(r.hardware);
        assert_int_equal(nm_players_run(&r.player, 1, now + 7999999, 1), 0);
    }
    nm_edge_begin(r.hardware, now);

    struct pose2 truth = walker_robot(&m);
    const Odometry *o = READ(&r, ODOMETRY);
    assert_near(o->pose.pose.position.x, truth.x, 0.02);
    assert_near(o->pose.pose.position.y, truth.y, 0.02);
    assert_true(hypot(truth.x, truth.y) > 0.5);
    const BodyState *b = READ(&r, BODY);
    assert_near(b->torso.position.z, w.height, 0.005);
    const SupportState *s = READ(&r, SUPPORT);
    assert_true(s->measured && s->changes >= 16); /* 5 s of steps of 0.3 s */
    const CameraPose *p = READ(&r, POSE);
    assert_true(p->valid && p->pose.position.z > 0.4);
    const BallRelative *ball = READ(&r, FRESH);
    struct pose2 ball_truth = pose2_mul(pose2_inv(truth), (struct pose2){2, 0.5, 0});
    assert_near(ball->ball_relative.x, ball_truth.x, 0.03);
    assert_near(ball->ball_relative.y, ball_truth.y, 0.03);
    const JointGoals *goals = READ(&r, SERVO_GOALS);
    assert_int_equal(goals->name.n, r.body->n_servos);
    assert_true(((const Twist *)READ(&r, VELOCITY))->linear.x > 0.2);
    assert_near(((const BatteryState *)READ(&r, BATTERY))->voltage, 15, 1e-3);
    for (uint32_t i = 0; i < r.lineup->n_topics; i++) {
        struct nm_topic_stats stats;
        nm_player_topic_stats(r.player, i, &stats);
        if (stats.lost) fail_msg("%s lost %d messages", r.lineup->topics[i].name, (int)stats.lost);
    }
    close_lineup(&r);
}

static void without_a_robot_a_module_says_that_it_needs_one(void **state)
{
    (void)state;
    static const char *const needy[] = {"motor_states",  "motor_goals", "joint_interceptor", "supervision",
                                        "foot_pressure", "support",     "body_model",        "robot_state"};
    struct nm_arena arena = {0};
    struct nm_registry registry;
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    for (size_t i = 0; i < sizeof needy / sizeof *needy; i++) {
        const struct nm_module *module = nm_registry_find(&registry, needy[i]);
        struct nm_err err = {0};
        struct nm nm = {.name = needy[i], .err = &err};
        assert_non_null(module);
        void *self = calloc(1, module->size);
        *(struct nm **)self = &nm;
        assert_int_equal(module->init(self), -1);
        assert_non_null(strstr(err.text, needy[i]));
        assert_non_null(strstr(err.text, "needs a robot"));
        free(self);
    }
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_goes_in_and_its_way_comes_out),
        cmocka_unit_test(without_a_robot_a_module_says_that_it_needs_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

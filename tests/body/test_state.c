/* Goal, current and past model: the support foot stands, the IMU is believed, steps add up to odometry, any moment of
 * the last two seconds can be rebuilt, and a ball seen once stays where it is while the robot walks. */
#include "body/state.h"

#include "body/leg_ik.h"
#include "body/robots.h"

static const int64_t MS = 1000000;

/* A robot that walks on rails: torso and feet at known places of the world, joints by inverse kinematics. */
struct walker {
    const struct nm_body *body;
    struct nm_leg leg[2];
    double q[NM_JOINTS];
    struct pose3 torso;
    enum nm_side support;
};

static void start_walker(struct walker *w, struct nm_arena *arena, const char *path)
{
    *w = (struct walker){.body = load(arena, path)};
    for (int side = 0; side < 2; side++)
        assert_int_equal(nm_leg_init(&w->leg[side], w->body, (enum nm_side)side, NULL), 0);
}

/* Steps of 0.4 s: the feet 5 cm apart in x and turning by 0.1 rad each, the torso gliding and swaying between them. */
static struct pose3 foot_at(int step)
{
    double yaw = 0.1 * step, y = step % 2 ? 0.0464 : -0.0464, x = 0.05 * step;
    return (struct pose3){quat_rpy(0, 0, yaw), {x - y * sin(yaw), 0.01 * step + y * cos(yaw), 0}};
}

static void walk_to(struct walker *w, int64_t time)
{
    int step = (int)(time / (400 * MS));
    double t = 1e-9 * (double)time, phase = t / 0.4, s = (double)(time % (400 * MS)) / (double)(400 * MS);
    struct pose3 stand = foot_at(step), from = foot_at(step - 1), to = foot_at(step + 1), swing;
    w->support = step % 2 ? NM_LEFT : NM_RIGHT;
    swing.rot = quat_slerp(from.rot, to.rot, s);
    swing.pos = vec3_add(from.pos, vec3_scale(vec3_sub(to.pos, from.pos), s));
    swing.pos.z = 0.03 * sin(M_PI * s);
    struct vec3 between = vec3_scale(vec3_add(stand.pos, swing.pos), 0.5);
    w->torso.rot = quat_rpy(0.05 * sin(5 * t), 0.1 + 0.02 * sin(3 * t), 0.1 * phase);
    w->torso.pos = (struct vec3){between.x, between.y, 0.31 + 0.005 * sin(9 * t)};
    for (int side = 0; side < 2; side++) {
        double q[NM_GROUP];
        struct pose3 foot = (enum nm_side)side == w->support ? stand : swing;
        struct pose3 sole_to_base = pose_mul(pose_inv(w->torso), foot);
        assert_int_equal(nm_leg_ik(&w->leg[side], sole_to_base, q, NULL), NM_REACHED);
        for (uint32_t i = 0; i < 6; i++) w->q[w->leg[side].chain.joints[i]] = q[i];
    }
    w->q[nm_find_joint(w->body, "head_yaw")] = 0.5 * sin(2 * t);
}

static struct nm_readings readings(const struct walker *w, int64_t time)
{
    double left = w->support == NM_LEFT ? 40 : 5;
    return (struct nm_readings){.time = time, .q = w->q, .torso_to_world = w->torso.rot, .weight = {left, 45 - left}};
}

static struct pose2 robot_of(const struct walker *w)
{
    struct nm_kin kin;
    nm_forward(w->body, w->torso, w->q, &kin);
    return nm_robot_to_odom(w->body, &kin);
}

/* The body as it is at a time, felt by its sensors. */
static void feel(struct nm_state *s, struct walker *w, int64_t time)
{
    walk_to(w, time);
    struct nm_readings r = readings(w, time);
    nm_state_update(s, w->body, &r);
}

static struct nm_arena arena;

static int begin(void **state)
{
    *state = calloc(1, sizeof(struct nm_state));
    return 0;
}

static int end(void **state)
{
    nm_arena_free(&arena);
    free(*state);
    return 0;
}

static void steps_add_up_to_odometry(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    start_walker(&w, &arena, KID70);
    walk_to(&w, 800 * MS);
    nm_state_reset(s, w.body, robot_of(&w));
    double worst = 0;
    for (int64_t ms = 800; ms < 10000; ms += 8) {
        feel(s, &w, ms * MS);
        struct pose2 truth = robot_of(&w);
        worst = fmax(worst, hypot(truth.x - s->robot_to_odom.x, truth.y - s->robot_to_odom.y));
        assert_near(angle_normal(truth.theta - s->robot_to_odom.theta), 0, 1e-9);
        assert_near(s->torso_height, w.torso.pos.z, 1e-9);
    }
    printf("23 steps: %.1e m\n", worst);
    assert_true(worst < 1e-9);
}

/* The same with an accelerometer, which sits on the back and says how the torso really moves. The foot that swings has
 * 5 of 45 N all the time, and still does not count. */
static void steps_add_up_with_an_accelerometer(void **state)
{
    struct nm_state *s = *state;
    const struct vec3 sensor = {-0.05, 0.01, 0.1};
    struct walker w;
    start_walker(&w, &arena, KID70);
    walk_to(&w, 800 * MS);
    nm_state_reset(s, w.body, robot_of(&w));
    double worst = 0;
    for (int64_t ms = 800; ms < 10000; ms += 8) {
        struct vec3 at[3];
        for (int i = 2; i >= 0; i--) walk_to(&w, (ms + 8 * i - 8) * MS), at[i] = pose_apply(w.torso, sensor);
        walk_to(&w, ms * MS);
        struct vec3 faster = vec3_sub(vec3_sub(at[2], at[1]), vec3_sub(at[1], at[0]));
        struct vec3 force = vec3_add(vec3_scale(faster, 1 / (0.008 * 0.008)), (struct vec3){0, 0, 9.81});
        struct nm_readings r = readings(&w, ms * MS);
        force = quat_apply(quat_inv(w.torso.rot), force);
        r.force = &force;
        r.sensor = sensor;
        nm_state_update(s, w.body, &r);
        struct pose2 truth = robot_of(&w);
        worst = fmax(worst, hypot(truth.x - s->robot_to_odom.x, truth.y - s->robot_to_odom.y));
        assert_near(s->torso_height, w.torso.pos.z, 1e-9);
    }
    printf("23 steps: %.1f mm\n", 1e3 * worst);
    assert_true(worst < 0.02);

    /* somebody lifts it and swings it; then the sensor is silent, and the place does not jump */
    struct pose2 lifted = s->robot_to_odom;
    for (int64_t ms = 10000; ms < 13000; ms += 8) {
        struct vec3 force = {3 * sin(0.002 * (double)ms), 1, 9};
        struct nm_readings r = readings(&w, ms * MS);
        r.weight[NM_LEFT] = r.weight[NM_RIGHT] = 0;
        r.force = ms < 12000 ? &force : NULL;
        nm_state_update(s, w.body, &r);
        assert_near(hypot(s->robot_to_odom.x - lifted.x, s->robot_to_odom.y - lifted.y), 0, 0.05);
    }
}

/* Legs that keep still while the torso is shoved: its whole way is one that they did not make, at any moment. */
static void a_shove_is_no_way_of_the_legs(void **state)
{
    struct nm_state *s = *state;
    const struct nm_body *body = load(&arena, KID70);
    double q[NM_JOINTS] = {0};
    struct nm_sample then;
    nm_state_reset(s, body, (struct pose2){1, 2, 0});
    for (int i = 1; i <= 50; i++) {
        struct vec3 force = {i > 25 && i <= 40 ? 4 : 0, 0, 9.81};
        nm_state_update(
            s, body,
            &(struct nm_readings){
                .time = 8 * MS * i, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {20, 20}, .force = &force});
        if (i == 25) assert_near(hypot(s->beside.x, s->beside.y), 0, 1e-6);
    }
    assert_true(s->robot_to_odom.x > 1.0005);
    assert_near(s->beside.x, s->robot_to_odom.x - 1, 1e-6);
    assert_near(s->beside.y, s->robot_to_odom.y - 2, 1e-6);
    assert_true(nm_state_at(s, body, 8 * MS * 38 + 3 * MS, &then));
    assert_near(then.beside.x, then.torso_to_odom.pos.x - s->ring[s->newest].torso_to_odom.pos.x + s->beside.x, 1e-6);
}

static void any_moment_of_two_seconds_is_rebuilt(void **state)
{
    struct nm_state *s = *state;
    static const int64_t periods[] = {1, 3, 8, 20}; /* ms */
    struct walker w;
    start_walker(&w, &arena, KID70);
    for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
        int64_t ms = 800;
        walk_to(&w, 800 * MS);
        nm_state_reset(s, w.body, robot_of(&w));
        for (; ms < 4000; ms += periods[p]) feel(s, &w, ms * MS);
        struct nm_sample at;
        int64_t newest = s->ring[s->newest].time;
        uint32_t head = (uint32_t)nm_find_joint(w.body, "head_yaw");
        for (int64_t ago = 0; ago <= 2000; ago += 7) {
            int64_t then = newest - ago * MS - 333333 * (ago > 0 && ago < 2000);
            assert_true(nm_state_at(s, w.body, then, &at));
            walk_to(&w, then);
            assert_near(at.q[head], w.q[head], 1e-4);
            assert_near(quat_angle(at.torso_to_odom.rot, w.torso.rot), 0, 2e-4);
            assert_near(at.torso_to_odom.pos.z, w.torso.pos.z, 2e-4);
        }
        assert_false(nm_state_at(s, w.body, newest + MS, &at)); /* the future: the newest */
        assert_near(at.q[head], s->ring[s->newest].q[head], 0);
        assert_false(nm_state_at(s, w.body, newest - 60000 * MS, &at));
    }
    nm_state_reset(s, w.body, (struct pose2){0, 0, 0});
    struct nm_sample none;
    assert_false(nm_state_at(s, w.body, 0, &none));
}

/* At its own time a sample comes back to the last bit. */
static void samples_come_back_exactly(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    double q[20][NM_JOINTS];
    start_walker(&w, &arena, KID70);
    walk_to(&w, 1000 * MS);
    nm_state_reset(s, w.body, robot_of(&w));
    for (int i = 0; i < 20; i++) {
        walk_to(&w, (1000 + 10 * i) * MS);
        memcpy(q[i], w.q, sizeof q[i]);
        struct nm_readings r = readings(&w, (1000 + 10 * i) * MS);
        nm_state_update(s, w.body, &r);
    }
    for (int i = 0; i < 20; i++) {
        struct nm_sample at;
        assert_true(nm_state_at(s, w.body, (1000 + 10 * i) * MS, &at));
        assert_memory_equal(at.q, q[i], w.body->n_joints * sizeof(double));
    }
}

/* A picture is worked on for 150 ms; the walk asks for the ball every cycle. */
static void a_ball_seen_once_stays_where_it_is(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    start_walker(&w, &arena, KID70);
    walk_to(&w, 800 * MS);
    nm_state_reset(s, w.body, robot_of(&w));
    const struct vec3 ball = {1.5, 0.4, 0};
    struct vec3 remembered = {0};
    for (int64_t ms = 800; ms < 4000; ms += 8) {
        feel(s, &w, ms * MS);
        if (ms == 1600) { /* an old picture, taken at 1448 ms */
            struct walker then = w;
            walk_to(&then, 1448 * MS);
            struct vec3 seen = pose_apply(pose_inv(nm_ground_pose(robot_of(&then))), ball);
            remembered = nm_state_remember(s, w.body, 1448 * MS, seen);
        }
        if (ms < 1600) continue;
        struct vec3 fresh = nm_state_recall(s, remembered);
        struct vec3 truth = pose_apply(pose_inv(nm_ground_pose(robot_of(&w))), ball);
        assert_near(vec3_norm(vec3_sub(fresh, truth)), 0, 1e-4); /* what lies between two samples is a straight line */
    }
}

/* Soft ground: the body leans more than its joints say; the IMU is right. */
static void the_imu_is_believed(void **state)
{
    struct nm_state *s = *state;
    const struct nm_body *body = load(&arena, DARWIN);
    double q[NM_JOINTS] = {0};
    struct quat lean = quat_rpy(0.03, -0.08, 1.2);
    struct nm_kin kin;
    nm_state_reset(s, body, (struct pose2){1, 2, 1.2});
    nm_state_update(s, body, &(struct nm_readings){.time = 5 * MS, .q = q, .torso_to_world = lean, .weight = {10, 20}});
    assert_true(nm_state_kin(s, body, 5 * MS, &kin));
    assert_near(quat_angle(kin.pose[0].rot, lean), 0, 1e-9);
    assert_near(kin.pose[body->foot[NM_RIGHT].sole].pos.z, 0, 1e-12); /* the support stands on the ground */
    assert_near(s->torso_height, -quat_apply(lean, (struct vec3){0, -0.037, -0.2195}).z, 1e-12);
    assert_near(s->robot_to_odom.x, 1, 1e-12);
    assert_near(s->robot_to_odom.y, 2, 1e-12);
    assert_near(s->robot_to_odom.theta, 1.2, 1e-9);
}

static void support_follows_the_weight_without_flicker(void **state)
{
    struct nm_state *s = *state;
    const struct nm_body *body = load(&arena, KID70);
    double q[NM_JOINTS] = {0};
    const struct {
        double left, right;
        enum nm_side support;
    } cycles[] = {{30, 20, NM_LEFT}, {24, 26, NM_LEFT}, {22, 28, NM_RIGHT}, {26, 24, NM_RIGHT},
                  {0, 0, NM_RIGHT},  {40, 10, NM_LEFT}, {0, 50, NM_RIGHT}};
    nm_state_reset(s, body, (struct pose2){0, 0, 0});
    for (size_t i = 0; i < sizeof cycles / sizeof *cycles; i++) {
        nm_state_update(s, body,
                        &(struct nm_readings){.time = (int64_t)(i + 1) * 10 * MS,
                                              .q = q,
                                              .torso_to_world = QUAT_IDENTITY,
                                              .weight = {cycles[i].left, cycles[i].right}});
        assert_int_equal(s->ring[s->newest].support, cycles[i].support);
        assert_int_equal(s->loaded, cycles[i].left + cycles[i].right > 0);
    }
    /* without pressure sensors the lower foot carries */
    set(body, q, "left_hip_pitch", -20);
    set(body, q, "left_knee", 40);
    set(body, q, "left_ankle_pitch", -20);
    nm_state_update(
        s, body, &(struct nm_readings){.time = 200 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {-1, -1}});
    assert_int_equal(s->ring[s->newest].support, NM_RIGHT);
    set(body, q, "left_knee", 0), set(body, q, "left_hip_pitch", 0), set(body, q, "left_ankle_pitch", 0);
    set(body, q, "right_hip_pitch", -20), set(body, q, "right_knee", 40), set(body, q, "right_ankle_pitch", -20);
    nm_state_update(
        s, body, &(struct nm_readings){.time = 210 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {-1, -1}});
    assert_int_equal(s->ring[s->newest].support, NM_LEFT);
}

static void old_samples_are_left_out_and_a_clock_that_jumps_back_starts_anew(void **state)
{
    struct nm_state *s = *state;
    const struct nm_body *body = load(&arena, KID70);
    double q[NM_JOINTS] = {0};
    nm_state_reset(s, body, (struct pose2){0, 0, 0});
    nm_state_update(
        s, body, &(struct nm_readings){.time = 10000 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 1}});
    nm_state_update(
        s, body, &(struct nm_readings){.time = 10010 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 1}});
    nm_state_update(
        s, body, &(struct nm_readings){.time = 10010 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 1}});
    nm_state_update(
        s, body, &(struct nm_readings){.time = 9000 * MS, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 1}});
    assert_int_equal(s->n, 2);
    nm_state_update(s, body,
                    &(struct nm_readings){.time = 0, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 1}});
    assert_int_equal(s->n, 1);
}

/* Torso and feet put somewhere, felt with these weights. */
static void feel_at(struct nm_state *s, struct walker *w, int64_t time, struct pose3 torso, const struct pose3 soles[2],
                    double left, double right)
{
    w->torso = torso;
    for (int side = 0; side < 2; side++) {
        double q[NM_GROUP];
        assert_int_equal(nm_leg_ik(&w->leg[side], pose_mul(pose_inv(torso), soles[side]), q, NULL), NM_REACHED);
        for (uint32_t i = 0; i < 6; i++) w->q[w->leg[side].chain.joints[i]] = q[i];
    }
    nm_state_update(
        s, w->body,
        &(struct nm_readings){.time = time, .q = w->q, .torso_to_world = torso.rot, .weight = {left, right}});
}

/* The foot turns about its toe while the torso goes on: the toe stands still, not the middle of the sole. */
static void a_foot_rolls_over_its_toe(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    struct nm_kin kin;
    start_walker(&w, &arena, KID70);
    nm_forward(w.body, POSE_IDENTITY, w.q, &kin);
    struct vec3 toe = vec3_sub(kin.pose[w.body->foot[NM_LEFT].toe].pos, kin.pose[w.body->foot[NM_LEFT].sole].pos);
    nm_state_reset(s, w.body, (struct pose2){0, 0, 0});
    struct vec3 first = {0};
    for (int i = 0; i <= 50; i++) {
        double turn = 0.01 * i;
        struct quat rolled = quat_rpy(0, turn, 0);
        struct vec3 ankle = vec3_sub((struct vec3){toe.x, 0.0464, 0}, quat_apply(rolled, (struct vec3){toe.x, 0, 0}));
        struct pose3 soles[2] = {{rolled, ankle}, {QUAT_IDENTITY, {0.05, -0.0464, 0.04}}};
        struct pose3 torso = {QUAT_IDENTITY, {0.002 * i, 0.001 * i, 0.30}};
        feel_at(s, &w, 8 * MS * (i + 1), torso, soles, 1, 0);
        struct vec3 told = s->ring[s->newest].torso_to_odom.pos;
        if (i == 0) first = vec3_sub(told, torso.pos);
        /* the middle of the sole has moved by 0.12 x the way to the toe */
        assert_near(told.x - first.x, torso.pos.x, 0.002);
        assert_near(told.y - first.y, torso.pos.y, 0.001);
    }
    assert_true(toe.x * (1 - cos(0.5)) > 0.008);
}

static void a_runner_flies_at_the_speed_of_the_take_off(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    start_walker(&w, &arena, KID70);
    nm_state_reset(s, w.body, (struct pose2){0, 0, 0});
    struct vec3 first = {0};
    for (int i = 0; i < 100; i++) { /* steps of 25 samples, the last six of each in the air; then somebody holds it */
        double x = 0.008 * i;
        bool left = i / 25 % 2 == 0, air = i % 25 >= 19;
        double foot = 0.008 * (i - i % 25 + 9), other = 0.008 * i; /* a foot stands still, the other swings along */
        struct pose3 soles[2];
        for (int side = 0; side < 2; side++)
            soles[side] = (struct pose3){
                QUAT_IDENTITY,
                {(side == NM_LEFT) == left && !air ? foot : other, side == NM_LEFT ? 0.0464 : -0.0464, air ? 0.01 : 0}};
        struct pose3 torso = {QUAT_IDENTITY, {x, 0, 0.30}};
        feel_at(s, &w, 8 * MS * (i + 1), torso, soles, left && !air, !left && !air);
        struct vec3 told = s->ring[s->newest].torso_to_odom.pos;
        if (i == 0) first = vec3_sub(told, torso.pos);
        assert_near(told.x - first.x, x, 1e-9);
    }
    double lifted = s->ring[s->newest].torso_to_odom.pos.x;
    for (int i = 100; i < 300; i++)
        nm_state_update(s, w.body,
                        &(struct nm_readings){
                            .time = 8 * MS * (i + 1), .q = w.q, .torso_to_world = QUAT_IDENTITY, .weight = {0, 0}});
    assert_true(s->ring[s->newest].torso_to_odom.pos.x - lifted < 0.06);
}

/* A foot that lands on the run still moves for three samples; what it says then would take 17 mm from every step. */
static void a_foot_that_lands_still_slides(void **state)
{
    struct nm_state *s = *state;
    struct walker w;
    start_walker(&w, &arena, KID70);
    nm_state_reset(s, w.body, (struct pose2){0, 0, 0});
    struct vec3 first = {0};
    for (int i = 0; i < 150; i++) {
        int at = i % 25, slid = i < 25 ? 0 : at < 3 ? at - 3 : 0;
        double x = 0.008 * i, foot = 0.008 * (i - at + 9) + 0.7 * 0.008 * slid;
        struct pose3 soles[2];
        for (int side = 0; side < 2; side++) {
            bool stands = (side == NM_LEFT) == (i / 25 % 2 == 0);
            double y = side == NM_LEFT ? 0.0464 : -0.0464;
            soles[side] = (struct pose3){QUAT_IDENTITY, {stands ? foot : x, y, stands ? 0 : 0.02}};
        }
        struct pose3 torso = {QUAT_IDENTITY, {x, 0, 0.30}};
        feel_at(s, &w, 8 * MS * (i + 1), torso, soles, i / 25 % 2 == 0, i / 25 % 2);
        struct vec3 told = s->ring[s->newest].torso_to_odom.pos;
        if (i == 0) first = vec3_sub(told, torso.pos);
        assert_near(told.x - first.x, x, 0.002);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(steps_add_up_to_odometry, begin, end),
        cmocka_unit_test_setup_teardown(a_shove_is_no_way_of_the_legs, begin, end),
        cmocka_unit_test_setup_teardown(steps_add_up_with_an_accelerometer, begin, end),
        cmocka_unit_test_setup_teardown(any_moment_of_two_seconds_is_rebuilt, begin, end),
        cmocka_unit_test_setup_teardown(samples_come_back_exactly, begin, end),
        cmocka_unit_test_setup_teardown(a_ball_seen_once_stays_where_it_is, begin, end),
        cmocka_unit_test_setup_teardown(the_imu_is_believed, begin, end),
        cmocka_unit_test_setup_teardown(support_follows_the_weight_without_flicker, begin, end),
        cmocka_unit_test_setup_teardown(a_foot_rolls_over_its_toe, begin, end),
        cmocka_unit_test_setup_teardown(a_runner_flies_at_the_speed_of_the_take_off, begin, end),
        cmocka_unit_test_setup_teardown(a_foot_that_lands_still_slides, begin, end),
        cmocka_unit_test_setup_teardown(old_samples_are_left_out_and_a_clock_that_jumps_back_starts_anew, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

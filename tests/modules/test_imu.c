/* The torso by an inertial sensor: the same however the sensor is mounted, and nothing where it tells nothing. */
#include "modules/imu.h"
#include "geometry_msgs/Twist.h"
#include "modules/body_rig.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module walk_module;

static struct nm_arena arena;
static const struct nm_body *body;

/* The robot with its sensor turned; on a link of its own choice. */
struct mounted {
    struct nm_body body;
    struct nm_frame frames[256];
};

static const struct nm_body *mount(struct mounted *m, struct quat imu_to_torso, uint32_t link)
{
    m->body = *body;
    assert_true(body->imu >= 0 && body->n_frames <= 256);
    memcpy(m->frames, body->frames, body->n_frames * sizeof *m->frames);
    m->frames[body->imu].to_link.rot = imu_to_torso;
    m->frames[body->imu].link = link;
    m->body.frames = m->frames;
    return &m->body;
}

/* A message as a module finds it: heard at the time 0. */
struct heard {
    struct nm_slot slot;
    Imu imu;
};

static Imu *say(struct heard *h, const char *frame, struct quat sensor_to_world, struct vec3 turning)
{
    memset(h, 0, sizeof *h);
    h->slot.seq = 1;
    nm_text(h->imu.header.frame_id, "%s", frame);
    h->imu.orientation = (Quaternion){sensor_to_world.x, sensor_to_world.y, sensor_to_world.z, sensor_to_world.w};
    h->imu.angular_velocity = (Vector3){turning.x, turning.y, turning.z};
    return &h->imu;
}

static void the_torso_is_the_same_however_the_sensor_is_mounted(void **state)
{
    uint64_t seed = 5;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct mounted m;
        struct heard h;
        struct quat turn = dice_turn(&seed), torso = dice_turn(&seed), found = QUAT_IDENTITY;
        struct vec3 turning = dice_vec(&seed, 3), felt = {0};
        struct nm nm = {.body = mount(&m, turn, 0), .now = 0};
        const char *imu = body->frames[body->imu].name;
        /* in the sensor's own axes; in a frame that nobody knows, which means the same; and in the torso's */
        for (int way = 0; way < 3; way++) {
            const char *frame = way == 0 ? imu : way == 1 ? "gyro_of_another_make" : "base_link";
            struct quat in = way == 2 ? QUAT_IDENTITY : turn;
            const Imu *said = say(&h, frame, quat_mul(torso, in), quat_apply(quat_inv(in), turning));
            assert_true(torso_by_imu(&nm, said, 0.1, &found));
            assert_true(turning_by_imu(nm.body, said, &felt));
            assert_near(fabs(quat_mul(quat_inv(found), torso).w), 1, 1e-12);
            assert_near(vec3_norm(vec3_sub(felt, turning)), 0, 1e-12);
        }
    }
}

static void what_is_no_reading_is_none(void **state)
{
    struct mounted m;
    struct heard h;
    struct quat found;
    struct vec3 felt;
    struct nm nm = {.body = body, .now = 0};
    const struct vec3 none = {0, 0, 0};
    (void)state;
    Imu *said = say(&h, "", QUAT_IDENTITY, none);
    assert_true(torso_by_imu(&nm, said, 0.1, &found) && turning_by_imu(body, said, &felt));
    said->orientation_covariance[0] = -1;
    assert_false(torso_by_imu(&nm, said, 0.1, &found));
    said = say(&h, "", (struct quat){NAN, 0, 0, 0}, none);
    assert_false(torso_by_imu(&nm, said, 0.1, &found));
    said = say(&h, "", (struct quat){0, 0, 0, 0}, (struct vec3){0, INFINITY, 0});
    assert_false(torso_by_imu(&nm, said, 0.1, &found) || turning_by_imu(body, said, &felt));
    said = say(&h, "", QUAT_IDENTITY, none);
    nm.now = nm_ns(0.2);
    assert_false(torso_by_imu(&nm, said, 0.1, &found));
    h.slot.seq = 0; /* never heard */
    nm.now = 0;
    assert_false(torso_by_imu(&nm, said, 0.1, &found));
    /* a sensor in the head says nothing of the torso */
    const struct nm_body *elsewhere = mount(&m, QUAT_IDENTITY, 1);
    nm.body = elsewhere;
    said = say(&h, body->frames[body->imu].name, QUAT_IDENTITY, none);
    assert_false(torso_by_imu(&nm, said, 0.1, &found) || turning_by_imu(elsewhere, said, &felt));
}

/* Goals of the legs after half a second of shaking, on a robot whose sensor is mounted so. */
static void walk_with(struct quat imu_to_torso, double goals[NM_JOINTS])
{
    struct mounted m;
    const struct nm_body *robot = mount(&m, imu_to_torso, 0);
    struct nm_harness *h = nm_harness_new_with(&walk_module, "rise=0.1", robot);
    double q[NM_JOINTS] = {0};
    for (int i = 0; i < 60; i++) {
        double t = 0.008 * i;
        struct quat torso = quat_rpy(0.05 * sin(9 * t), 0.08 * sin(7 * t), 0.3);
        struct vec3 turning = {0.4 * cos(9 * t), 0.5 * cos(7 * t), 0.1};
        give_joints(h, robot, q, NULL, t);
        Imu *imu = give_torso(h, quat_mul(torso, imu_to_torso), quat_apply(quat_inv(imu_to_torso), turning));
        nm_text(imu->header.frame_id, "%s", body->frames[body->imu].name);
        imu->linear_acceleration = (Vector3){0.1 * sin(9 * t), 0.1 * sin(8 * t), 9.81};
        Twist *v = nm_harness_set(h, "cmd_vel");
        v->linear.x = 0.2;
        nm_harness_step(h, 0.008);
    }
    const JointGoals *out = nm_harness_get(h, "joint_goals");
    assert_true(out && out->name.n >= 12);
    memcpy(goals, out->position.at, out->name.n * sizeof *goals);
    nm_harness_free(h);
}

static void the_walk_does_not_feel_how_its_sensor_is_mounted(void **state)
{
    double straight[NM_JOINTS] = {0}, turned[NM_JOINTS] = {0};
    (void)state;
    walk_with(QUAT_IDENTITY, straight);
    walk_with(quat_rpy(M_PI, 0.2, M_PI / 2), turned);
    for (int j = 0; j < NM_JOINTS; j++) assert_near(straight[j], turned[j], 1e-9);
}

static int set_up(void **state)
{
    (void)state;
    body = load(&arena, KID70);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_torso_is_the_same_however_the_sensor_is_mounted),
        cmocka_unit_test(what_is_no_reading_is_none),
        cmocka_unit_test(the_walk_does_not_feel_how_its_sensor_is_mounted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

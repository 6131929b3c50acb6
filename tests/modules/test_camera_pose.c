/* The camera of a robot that walks, at the moments of pictures that come late or before their joints. */
#include "modules/walker.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/SupportState.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Image.h"

extern const struct nm_module camera_pose_module;

static const struct nm_body *body;
static const double dt = 0.008;

static Pose to_message(struct pose3 p)
{
    return (Pose){{p.pos.x, p.pos.y, p.pos.z}, {p.rot.x, p.rot.y, p.rot.z, p.rot.w}};
}

/* Tells the module of one moment, at that time. */
static void live(struct nm_harness *h, const struct moment *m, double t)
{
    struct pose3 to_robot = pose_inv(nm_ground_pose(walker_robot(m)));
    BodyState *b = nm_harness_set(h, "body_state");
    b->header.stamp = stamp_of(t);
    b->torso = to_message(pose_mul(to_robot, m->torso));
    b->left_sole = to_message(pose_mul(to_robot, m->sole[0]));
    b->right_sole = to_message(pose_mul(to_robot, m->sole[1]));
    b->orientation = to_message(m->torso).orientation;
    give_joints(h, body, m->q, NULL, t);
    give_torso(h, m->torso.rot, (struct vec3){0});
    nm_harness_step(h, dt);
}

static const CameraPose *picture(struct nm_harness *h, const struct moment *m, double t, double taken)
{
    CameraInfo *c = nm_harness_set(h, "camera/camera_info");
    nm_text(c->header.frame_id, "camera_optical_frame");
    c->header.stamp = stamp_of(taken);
    live(h, m, t);
    assert_true(nm_harness_fresh(h, "camera/pose")); /* never waits for another run */
    return nm_harness_get(h, "camera/pose");
}

static void head_turned(struct moment *m, double t)
{
    m->q[body->head.joints[0]] = 0.6 * sin(3 * t);
    m->q[body->head.joints[1]] = 0.3 + 0.2 * sin(2 * t);
}

static void the_camera_stands_where_it_stood_when_the_picture_was_taken(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&camera_pose_module, NULL, body);
    struct walker w;
    struct moment m, then;
    uint64_t seed = 11;
    uint32_t camera = body->cameras[0].frame, told = 0, early = 0;
    walker_begin(&w, body);
    w.velocity = (struct pose2){0.15, 0, 0.2};
    w.roll = 0.05, w.pitch = 0.03;
    for (int i = 1; i < 1200; i++) {
        double taken = i * dt - dice(&seed, -0.02, 0.4); /* some before their joints have come */
        walker_at(&w, i * dt, &m);
        head_turned(&m, i * dt);
        if (i % 20 || taken < 0.1) {
            live(h, &m, i * dt);
            assert_false(nm_harness_fresh(h, "camera/pose"));
            continue;
        }
        const CameraPose *p = picture(h, &m, i * dt, taken);
        const JointState *joints = nm_harness_get(h, "camera/joint_states");
        struct nm_kin kin;
        walker_at(&w, taken, &then);
        head_turned(&then, taken);
        nm_forward(body, then.torso, then.q, &kin);
        struct pose3 truth = pose_mul(pose_inv(nm_ground_pose(walker_robot(&then))), kin.pose[camera]);
        bool ahead = taken > i * dt;
        assert_pose_near(p->pose, truth, ahead ? 0.012 : 2e-3); /* between two samples of 8 ms */
        assert_true(p->valid);
        assert_string_equal(p->camera, "camera_optical_frame");
        assert_true(!memcmp(&joints->header.stamp, &p->header.stamp, sizeof p->header.stamp));
        assert_near(joints->position.at[body->head.joints[0]], then.q[body->head.joints[0]], ahead ? 5e-3 : 1e-3);
        told++;
        early += ahead;
    }
    assert_true(told > 50 && early >= 2);
    nm_harness_free(h);
}

static void a_camera_pose_is_invalid_when_nothing_is_known_of_its_time(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&camera_pose_module, NULL, body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    walker_at(&w, -1, &m);
    Image *image = nm_harness_set(h, "image");
    image->header.stamp = stamp_of(0.001);
    nm_harness_step(h, dt);
    assert_true(nm_harness_fresh(h, "camera/pose")); /* so that stages look at the image without a pose */
    assert_false(((const CameraPose *)nm_harness_get(h, "camera/pose"))->valid);
    for (int i = 1; i < 800; i++) live(h, &m, i * dt);
    assert_true(picture(h, &m, 800 * dt, 799 * dt)->valid);
    assert_false(picture(h, &m, 801 * dt, 0.5)->valid); /* six seconds ago */
    assert_true(picture(h, &m, 802 * dt, 802 * dt + 0.02)->valid);
    assert_false(picture(h, &m, 803 * dt, 803 * dt + 0.05)->valid); /* too far ahead */
    SupportState *support = nm_harness_set(h, "support_state");
    support->foot = SupportState_NONE;
    assert_false(picture(h, &m, 804 * dt, 803 * dt)->valid);
    nm_harness_free(h);
}

/* Half a second of moments is kept, however fast they come, and a clock that jumps back starts again. */
static void fast_cycles_and_jumping_clocks_are_kept_up_with(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&camera_pose_module, NULL, body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    walker_at(&w, -1, &m);
    for (int i = 1; i < 2000; i++) live(h, &m, 10 + 1e-3 * i);
    assert_true(picture(h, &m, 12, 11.55)->valid);
    assert_true(picture(h, &m, 12.001, 12.0005)->valid);
    assert_false(picture(h, &m, 3, 12)->valid);
    for (int i = 1; i < 5; i++) live(h, &m, 3 + i * dt);
    assert_true(picture(h, &m, 3 + 5 * dt, 3 + 4 * dt)->valid);
    nm_harness_free(h);
}

static void bad_numbers_from_outside_do_no_harm(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&camera_pose_module, NULL, body);
    struct walker w;
    struct moment m;
    uint64_t seed = 12;
    walker_begin(&w, body);
    for (int i = 1; i < 300; i++) {
        walker_at(&w, i * dt, &m);
        m.q[(int)dice(&seed, 0, 20)] = NAN;
        live(h, &m, i * dt);
        CameraInfo *c = nm_harness_set(h, "camera/camera_info");
        c->header.stamp = (Time){(int32_t)dice(&seed, -2e9, 2e9), (uint32_t)dice(&seed, 0, 4e9)};
        nm_harness_step(h, dt);
        const CameraPose *p = nm_harness_get(h, "camera/pose");
        assert_true(isfinite(p->pose.position.z + p->pose.orientation.w) && !p->valid);
    }
    nm_harness_free(h);
}

static void a_camera_in_a_quick_turn_is_invalid_and_less_certain(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&camera_pose_module, "max_turn=2", body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    walker_at(&w, -1, &m);
    float quiet = 0;
    for (int i = 1; i < 200; i++) {
        if (i > 100) m.torso.rot = quat_rpy(0, 4 * (i - 100) * dt, 0); /* falls at 4 rad/s */
        const CameraPose *p = picture(h, &m, i * dt, (i - 3) * dt);
        if (i == 90) quiet = p->tilt_deviation;
        if (i == 90) assert_true(p->valid);
        if (i == 120) assert_false(p->valid);
        if (i == 120) assert_true(p->tilt_deviation > 1.5f * quiet);
    }
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_camera_stands_where_it_stood_when_the_picture_was_taken),
        cmocka_unit_test(a_camera_pose_is_invalid_when_nothing_is_known_of_its_time),
        cmocka_unit_test(fast_cycles_and_jumping_clocks_are_kept_up_with),
        cmocka_unit_test(bad_numbers_from_outside_do_no_harm),
        cmocka_unit_test(a_camera_in_a_quick_turn_is_invalid_and_less_certain),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}

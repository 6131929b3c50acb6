/* The transforms, multiplied along their tree, are the forward kinematics of every frame; the fixed ones are told once,
 * or again if asked; the names of the standard are always there. */
#include "modules/body_rig.h"
#include "tf2_msgs/TFMessage.h"

extern const struct nm_module robot_state_module;

struct link {
    char parent[32], child[32];
    struct pose3 pose;
};
static struct link links[512];
static uint32_t n_links;

static uint32_t take(struct nm_harness *h, const char *topic)
{
    const void *const *at;
    uint32_t n = nm_harness_queue(h, topic, &at), told = 0;
    for (uint32_t i = 0; i < n; i++) {
        const TFMessage *m = at[i];
        for (uint32_t k = 0; k < m->transforms.n; k++, told++) {
            const TransformStamped *t = &m->transforms.at[k];
            const Quaternion *q = &t->transform.rotation;
            const Vector3 *p = &t->transform.translation;
            struct link *l = &links[n_links++];
            nm_text(l->parent, "%s", t->header.frame_id);
            nm_text(l->child, "%s", t->child_frame_id);
            l->pose = (struct pose3){{q->w, q->x, q->y, q->z}, {p->x, p->y, p->z}};
        }
    }
    return told;
}

/* A frame in base_link, by climbing the tree. */
static struct pose3 climb(const char *name)
{
    struct pose3 pose = POSE_IDENTITY;
    for (int steps = 0; strcmp(name, "base_link"); steps++) {
        uint32_t i = 0, found = 0;
        for (uint32_t k = 0; k < n_links; k++)
            if (!strcmp(links[k].child, name)) i = k, found++;
        if (found != 1 || steps > 64) fail_msg("%s has %u parents", name, found);
        pose = pose_mul(links[i].pose, pose);
        name = links[i].parent;
    }
    return pose;
}

static void the_tree_is_the_forward_kinematics(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, all_robots[r]);
        if (body->n_joints > 32) { /* more than a JointState holds */
            nm_arena_free(&arena);
            continue;
        }
        struct nm_harness *h = nm_harness_new_with(&robot_state_module, NULL, body);
        double q[NM_JOINTS];
        struct nm_kin kin;
        n_links = 0;
        dice_joints(&seed, body, q);
        nm_apply_mimics(body, q);
        give_joints(h, body, q, NULL, 3.25);
        nm_harness_step(h, 0.01);
        assert_int_equal(take(h, "tf"), body->n_joints);
        take(h, "tf_static");
        nm_forward(body, POSE_IDENTITY, q, &kin);
        for (uint32_t i = 0; i < body->n_frames; i++)
            assert_near(pose_distance(climb(body->frames[i].name), kin.pose[i]), 0, 1e-9);
        assert_near(pose_distance(climb("l_sole"), kin.pose[body->foot[NM_LEFT].sole]), 0, 1e-9);
        assert_near(pose_distance(climb("r_sole"), kin.pose[body->foot[NM_RIGHT].sole]), 0, 1e-9);
        nm_harness_free(h);
        nm_arena_free(&arena);
    }
}

static void fixed_transforms_are_told_once_or_again_if_asked(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_harness *h = nm_harness_new_with(&robot_state_module, NULL, body);
    n_links = 0;
    nm_harness_step(h, 0.01);
    assert_int_equal(take(h, "tf_static"), body->n_frames - body->n_links);
    assert_int_equal(take(h, "tf"), 0); /* no joints yet */
    nm_harness_step(h, 10);
    assert_int_equal(take(h, "tf_static"), 0);
    nm_harness_param(h, "repeat=2");
    n_links = 0;
    nm_harness_step(h, 0.01);
    assert_true(take(h, "tf_static") > 0);
    nm_harness_step(h, 1.9);
    assert_int_equal(take(h, "tf_static"), 0);
    nm_harness_step(h, 0.2);
    assert_true(take(h, "tf_static") > 0);
    nm_harness_free(h);
    nm_arena_free(&arena);
}

static void a_base_of_another_name_hangs_below_base_link(void **state)
{
    (void)state;
    const char *text = "<robot name='r'><link name='pelvis'/><link name='torso'/><link name='base_footprint'/>"
                       "<joint name='ground' type='fixed'><parent link='pelvis'/><child link='base_footprint'/></joint>"
                       "<joint name='waist' type='revolute'><parent link='pelvis'/><child link='torso'/>"
                       "<origin xyz='0 0 0.1'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' velocity='1'/>"
                       "</joint></robot>";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_urdf *urdf = nm_urdf_parse(&arena, "r.urdf", text, strlen(text), &err);
    const struct nm_body *body = urdf ? nm_body_from_urdf(&arena, urdf, &err) : NULL;
    if (!body) fail_msg("%s", err.text);
    struct nm_harness *h = nm_harness_new_with(&robot_state_module, NULL, body);
    double q[1] = {0.5};
    n_links = 0;
    give_joints(h, body, q, NULL, 1);
    nm_harness_step(h, 0.01);
    take(h, "tf");
    take(h, "tf_static");
    assert_near(pose_distance(climb("pelvis"), POSE_IDENTITY), 0, 0);
    assert_near(pose_distance(climb("torso"), (struct pose3){quat_rpy(0, 0, 0.5), {0, 0, 0.1}}), 0, 1e-12);
    for (uint32_t i = 0; i < n_links; i++) /* its parent is odom */
        assert_string_not_equal(links[i].child, "base_footprint");
    nm_harness_free(h);
    nm_arena_free(&arena);
}

static void stamps_are_those_of_the_joints(void **state)
{
    (void)state;
    const void *const *at;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    struct nm_harness *h = nm_harness_new_with(&robot_state_module, NULL, body);
    double q[NM_JOINTS] = {0};
    give_joints(h, body, q, NULL, 3.25);
    nm_harness_step(h, 0.01);
    assert_int_equal(nm_harness_queue(h, "tf", &at), 1);
    const TransformStamped *t = &((const TFMessage *)at[0])->transforms.at[0];
    assert_int_equal(t->header.stamp.sec, 3);
    assert_int_equal(t->header.stamp.nanosec, 250000000);
    nm_harness_free(h);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_the_forward_kinematics),
        cmocka_unit_test(fixed_transforms_are_told_once_or_again_if_asked),
        cmocka_unit_test(a_base_of_another_name_hangs_below_base_link),
        cmocka_unit_test(stamps_are_those_of_the_joints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

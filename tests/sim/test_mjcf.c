/* The generated model is the robot: its frames are where our own kinematics puts them, its mass and centre of mass are
 * right whatever was folded, and masks keep apart what must not touch. */
#include "sim/worlds.h"

#include <mujoco/mujoco.h>

#include "base/random.h"

static void random_pose(const struct nm_body *body, struct nm_dice *dice, double *q, double share)
{
    for (uint32_t j = 0; j < body->n_joints; j++) {
        double low = fmax(body->joints[j].lower, -3), high = fmin(body->joints[j].upper, 3);
        q[j] = (low + high) / 2 + share * (high - low) / 2 * nm_dice_both(dice);
    }
}

static void frames_agree_with_our_kinematics(void **state)
{
    struct fixture *f = *state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int r = 0; r < 2; r++) {
        const struct nm_body *body = r ? f->darwin : f->kid70;
        struct nm_world_robot robot = {.body = body, .start = {1, 1, 0}};
        struct nm_world_options options = NM_WORLD_OPTIONS;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_fold fold;
        nm_fold(body, &fold);
        for (int k = 0; k < 50; k++) {
            double q[NM_JOINTS];
            struct nm_kin kin;
            random_pose(body, &dice, q, 1);
            struct pose3 base = {quat_rpy(nm_dice_both(&dice), nm_dice_both(&dice), 3 * nm_dice_both(&dice)),
                                 {nm_dice_both(&dice), nm_dice_both(&dice), 2}};
            nm_world_put(world, 0, base, q);
            nm_forward(body, base, q, &kin);
            for (uint32_t l = 0; l < body->n_links; l++) {
                char name[32];
                if (!fold.is_body[l]) continue;
                snprintf(name, sizeof name, "r0_l%u", l);
                int id = mj_name2id(nm_world_model(world), mjOBJ_BODY, name);
                const double *x = nm_world_data(world)->xpos + 3 * id, *w = nm_world_data(world)->xquat + 4 * id;
                assert_near(x[0], kin.pose[l].pos.x, 1e-7);
                assert_near(x[1], kin.pose[l].pos.y, 1e-7);
                assert_near(x[2], kin.pose[l].pos.z, 1e-7);
                assert_near(quat_angle((struct quat){w[0], w[1], w[2], w[3]}, kin.pose[l].rot), 0, 1e-6);
            }
        }
        nm_world_free(world);
    }
}

static void folding_keeps_mass_and_hardly_moves_the_centre(void **state)
{
    struct fixture *f = *state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    for (int r = 0; r < 2; r++) {
        const struct nm_body *body = r ? f->darwin : f->kid70;
        struct nm_world_robot robot = {.body = body, .start = {1, 1, 0}};
        struct nm_world_options options = NM_WORLD_OPTIONS;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_fold fold;
        uint32_t bodies = 0, folded = 0;
        nm_fold(body, &fold);
        for (uint32_t l = 0; l < body->n_links; l++) {
            bodies += fold.is_body[l];
            folded += !fold.is_body[l];
        }
        assert_int_equal(bodies + folded, 21);
        assert_int_equal(bodies, 12); /* trunk, head, and of each side upper arm, forearm, thigh, shank, foot */
        int trunk = mj_name2id(nm_world_model(world), mjOBJ_BODY, "r0_l0");
        assert_near(nm_world_model(world)->body_subtreemass[trunk], body->mass, 1e-6);
        double worst = 0;
        for (int k = 0; k < 200; k++) {
            double q[NM_JOINTS];
            struct nm_kin kin;
            random_pose(body, &dice, q, k ? 0.6 : 0);
            nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {1, 1, 1}}, q);
            nm_forward(body, (struct pose3){QUAT_IDENTITY, {1, 1, 1}}, q, &kin);
            const double *c = nm_world_data(world)->subtree_com + 3 * trunk;
            worst = fmax(worst, vec3_norm(vec3_sub(nm_com(body, &kin), (struct vec3){c[0], c[1], c[2]})));
        }
        assert_true(worst < 0.012); /* every joint at random within six tenths of its range */
        double q[NM_JOINTS];
        struct nm_kin kin;
        nm_stance(body, 0.08, q);
        nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {1, 1, 1}}, q);
        nm_forward(body, (struct pose3){QUAT_IDENTITY, {1, 1, 1}}, q, &kin);
        const double *c = nm_world_data(world)->subtree_com + 3 * trunk;
        assert_near(vec3_norm(vec3_sub(nm_com(body, &kin), (struct vec3){c[0], c[1], c[2]})), 0, 0.002);
        nm_world_free(world);
    }
}

static int touching(struct nm_world *world, const char *a, const char *b)
{
    const mjModel *m = nm_world_model(world);
    const mjData *d = nm_world_data(world);
    int n = 0;
    for (int i = 0; i < d->ncon; i++) {
        const char *one = mj_id2name(m, mjOBJ_BODY, m->geom_bodyid[d->contact[i].geom1]),
                   *two = mj_id2name(m, mjOBJ_BODY, m->geom_bodyid[d->contact[i].geom2]);
        n += (!strncmp(one, a, strlen(a)) && !strncmp(two, b, strlen(b))) ||
             (!strncmp(one, b, strlen(b)) && !strncmp(two, a, strlen(a)));
    }
    return n;
}

static void masks_decide_who_touches_whom(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[2] = {{.body = f->kid70, .start = {1, 1, 0}}, {.body = f->kid70, .start = {3, 1, 0}}};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    double folded[NM_JOINTS] = {0};
    folded[nm_find_joint(f->kid70, "left_elbow")] = -2.7; /* hand against upper arm */
    folded[nm_find_joint(f->kid70, "left_shoulder_roll")] = -0.26;
    for (int self = NM_SELF_NONE; self <= NM_SELF_ALL; self++) {
        options.self = (enum nm_self_collision)self;
        struct nm_world *world = make_world(&f->pitch, robots, 2, &options);
        nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {1, 1, 2}}, folded);
        int own = touching(world, "r0_", "r0_");
        assert_true(self == NM_SELF_ALL ? own > 0 : own == 0);
        double zero[NM_JOINTS] = {0};
        nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {1, 1, 2}}, zero);
        assert_int_equal(touching(world, "r0_", "r0_"), 0);
        nm_world_put(world, 1, (struct pose3){QUAT_IDENTITY, {1.05, 1, 2}}, zero);
        assert_true(touching(world, "r0_", "r1_") > 0);
        nm_world_put_ball(world, (struct vec3){1, 1, 2.15}, (struct vec3){0}, (struct vec3){0});
        assert_true(touching(world, "r0_", "ball") > 0);
        nm_world_place(world, 0, (struct pose2){-1, 0, 0});
        nm_world_step(world, 20);
        assert_int_equal(touching(world, "r0_", "world"), 8); /* eight studs on the ground */
        nm_world_free(world);
    }
}

static void the_feet_of_one_robot_touch_each_other(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = {.body = f->kid70, .start = {1, 1, 0}};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    double q[NM_JOINTS] = {0};
    q[nm_find_joint(f->kid70, "left_hip_roll")] = -0.3;
    q[nm_find_joint(f->kid70, "right_hip_roll")] = 0.3;
    for (int self = NM_SELF_NONE; self <= NM_SELF_FEET; self++) {
        options.self = (enum nm_self_collision)self;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {1, 1, 2}}, q);
        assert_int_equal(touching(world, "r0_", "r0_") > 0, self == NM_SELF_FEET);
        nm_world_free(world);
    }
}

/* Real robots' files have meshes, many links and other habits. */
static void a_foreign_urdf_becomes_a_world(void **state)
{
    static const char text[] =
        "<robot name='x'><link name='base'><inertial><mass value='2'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' "
        "ixz='0' iyz='0'/></inertial><collision><geometry><mesh filename='m.stl'/></geometry></collision></link>"
        "<link name='arm'><inertial><mass value='1'/><inertia ixx='.001' iyy='.001' izz='.001' ixy='0' ixz='0' "
        "iyz='0'/></inertial></link><joint name='j' type='continuous'><parent link='base'/><child link='arm'/><axis "
        "xyz='0 0 1'/></joint><link name='rod'/><joint name='p' type='prismatic'><parent link='arm'/><child "
        "link='rod'/><axis xyz='1 0 0'/><limit lower='0' upper='.1' effort='5' velocity='1'/></joint></robot>";
    struct fixture *f = *state;
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    const struct nm_urdf *urdf = nm_urdf_parse(&arena, "x.urdf", text, strlen(text), &err);
    assert_non_null(urdf);
    const struct nm_body *body = nm_body_from_urdf(&arena, urdf, &err);
    if (!body) fail_msg("%s", err.text);
    struct nm_world_robot robot = {.body = body, .start = {1, 1, 0}};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_step(world, 250);
    struct nm_truth truth;
    nm_world_truth(world, 0, &truth);
    assert_true(truth.base_to_field.pos.z > 0.01); /* the mesh's box lies on the ground */
    nm_world_free(world);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_agree_with_our_kinematics),
        cmocka_unit_test(folding_keeps_mass_and_hardly_moves_the_centre),
        cmocka_unit_test(masks_decide_who_touches_whom),
        cmocka_unit_test(the_feet_of_one_robot_touch_each_other),
        cmocka_unit_test(a_foreign_urdf_becomes_a_world),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

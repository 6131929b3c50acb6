/* The URDFs of tests/data/robots, each written in the manner of one difficulty: what is found in them is true, and a
 * stance of each stands on flat soles with the mass over them and the knees in front. */
#include "body/gait.h"
#include "body/leg_ik.h"
#include "body/stance.h"
#include "robots.h"

#define STRANGER(name) NM_ROOT "/tests/data/robots/" name ".urdf"

static const char *const all[] = {STRANGER("no_sole"),
                                  STRANGER("right_first"),
                                  STRANGER("endless_knees"),
                                  STRANGER("mesh_feet"),
                                  STRANGER("placeholder_inertias"),
                                  STRANGER("waist_below"),
                                  STRANGER("waist_above"),
                                  STRANGER("hip_pitch_first"),
                                  STRANGER("five_joint_legs"),
                                  STRANGER("forward_y"),
                                  STRANGER("coupled_knees"),
                                  NM_ROOT "/tests/data/urdf/wolfgang.urdf",
                                  NM_ROOT "/tests/data/urdf/nao_v50.urdf"};
enum { ALL = sizeof all / sizeof *all };

static void left_is_left_and_soles_are_below(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, all[i]);
        double q[NM_JOINTS] = {0};
        struct nm_kin kin;
        nm_forward(body, POSE_IDENTITY, q, &kin);
        for (int side = 0; side < 2; side++) {
            const char *name = body->joints[body->leg[side].joints[0]].name;
            assert_true(body->leg[side].n >= 5);
            assert_true((strcasestr(name, "left") || name[0] == 'l' || name[0] == 'L') == (side == NM_LEFT));
            struct vec3 sole = kin.pose[body->foot[side].sole].pos;
            assert_true(side == NM_LEFT ? sole.y > 0.01 : sole.y < -0.01);
            for (uint32_t k = 0; k < body->n_links; k++) assert_true(sole.z <= kin.pose[k].pos.z);
        }
        assert_true(body->head.n == 2 && body->imu > 0 && body->frames[body->imu].link == 0);
        nm_arena_free(&arena);
    }
}

static void a_stance_is_level_and_in_balance_with_knees_in_front(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, all[i]);
        double q[NM_JOINTS], mean = 0;
        struct nm_kin kin;
        nm_stance(body, 0.1, q);
        nm_forward(body, POSE_IDENTITY, q, &kin);
        for (int side = 0; side < 2; side++) {
            struct nm_leg leg;
            assert_int_equal(nm_leg_init(&leg, body, (enum nm_side)side, NULL), 0);
            struct vec3 at[3], up = quat_apply(kin.pose[body->foot[side].sole].rot, (struct vec3){0, 0, 1});
            for (int k = 0; k < 3; k++) at[k] = kin.pose[leg.chain.joints[leg.pitch[k]] + 1].pos;
            assert_true(at[1].x > (at[0].x + at[2].x) / 2 + 0.01); /* the knee is before hip and ankle */
            assert_true(up.z > 0.9999);
            for (uint32_t k = 0; k < leg.chain.n; k++) assert_true(fabs(q[leg.chain.joints[k]]) < 1.6);
            mean += kin.pose[body->foot[side].sole].pos.x / 2;
        }
        assert_true(fabs(nm_com(body, &kin).x - mean) < 0.1 * body->height);
        nm_arena_free(&arena);
    }
}

static void a_mesh_has_the_box_of_its_corners(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, STRANGER("mesh_feet"));
    uint32_t foot = body->frames[body->foot[NM_LEFT].sole].link, n = 0, round = 0;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        assert_true(s->kind != NM_MESH);
        round += s->round;
        if (s->link != foot) continue;
        n++;
        assert_vec_near(s->size, 0.17, 0.095, 0.035, 1e-6);
        assert_vec_near(s->to_link.pos, 0.022, 0.006, -0.0375, 1e-6);
    }
    assert_int_equal(n, 1);
    assert_int_equal(round, 4);                       /* thighs and shanks are capsules */
    for (uint32_t i = 0; i < body->n_collisions; i++) /* the trunk's file is in millimetres */
        if (body->collisions[i].link == 0) assert_vec_near(body->collisions[i].size, 0.13, 0.16, 0.23, 1e-6);
    nm_arena_free(&arena);
}

static void without_its_meshes_a_foot_is_modest_and_not_below_its_sole(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, NM_ROOT "/tests/data/urdf/nao_v50.urdf");
    double q[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, q, &kin);
    double ground = kin.pose[body->foot[NM_LEFT].sole].pos.z;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        struct pose3 p = pose_mul(kin.pose[s->link], s->to_link);
        assert_true(p.pos.z - nm_shape_reach(s, p.rot, (struct vec3){0, 0, 1}) >
                    ground - 0.004); /* its cells are 5 mm high */
        assert_true(fmax(s->size.x, fmax(s->size.y, s->size.z)) < 0.4 * body->height);
    }
    nm_arena_free(&arena);
}

/* Right before left, frames turned by a quarter, one knee with the other's limits, a foot plane, two cameras. */
static void oddities_of_several_files_are_found_together(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, STRANGER("coupled_knees"));
    double q[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        struct nm_leg leg;
        assert_int_equal(nm_leg_init(&leg, body, (enum nm_side)side, NULL), 0);
        assert_true(leg.by_limits && !leg.backwards);
        assert_non_null(strstr(body->frames[body->foot[side].sole].name, "foot_plane"));
        struct vec3 ankle = kin.pose[leg.chain.joints[leg.pitch[2]] + 1].pos,
                    sole = kin.pose[body->foot[side].sole].pos;
        assert_true(fabs(ankle.x - sole.x) < 1e-9);
    }
    assert_non_null(strstr(body->notes->text, "those of left_knee are turned round"));
    assert_int_equal(body->facing, 0);
    assert_int_equal(body->n_cameras, 2);
    /* each looks along z of its own frame: ahead, and down at the feet */
    struct vec3 top = quat_apply(kin.pose[body->cameras[0].frame].rot, (struct vec3){0, 0, 1}),
                bottom = quat_apply(kin.pose[body->cameras[1].frame].rot, (struct vec3){0, 0, 1});
    assert_vec_near(top, 1, 0, 0, 1e-9);
    assert_vec_near(bottom, cos(0.7), 0, -sin(0.7), 1e-9);
    nm_arena_free(&arena);
}

/* Messages have room for 31 characters; who reads them finds the joint and the camera again. */
static void long_names_are_shortened(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, STRANGER("tall_spheres"));
    uint32_t numbered = 0;
    for (uint32_t i = 0; i < body->n_frames; i++) {
        assert_true(strlen(body->frames[i].name) < NM_JOINT_NAME);
        for (uint32_t k = 0; k < i; k++) assert_string_not_equal(body->frames[i].name, body->frames[k].name);
    }
    for (uint32_t i = 0; i < body->n_joints; i++) {
        assert_true(strlen(body->joints[i].name) < NM_JOINT_NAME);
        numbered += strstr(body->joints[i].name, "_elbow_pitch_with_") != NULL;
        assert_int_equal(nm_find_joint(body, body->joints[i].name), i);
    }
    assert_int_equal(numbered, 2);
    assert_non_null(strstr(body->notes->text, "names of more than 31 characters are shortened"));
    assert_int_equal(body->n_cameras, 1);
    nm_arena_free(&arena);
}

static const struct nm_body *load_file_of(struct nm_arena *arena, const char *urdf)
{
    char path[] = "/tmp/nutmeg_stranger_XXXXXX.urdf";
    int fd = mkstemps(path, 5);
    ssize_t size = (ssize_t)strlen(urdf);
    assert_int_equal(write(fd, urdf, (size_t)size), size);
    close(fd);
    const struct nm_body *body = load(arena, path);
    unlink(path);
    return body;
}

/* A root on the ground below the trunk, as base_footprint is, or too high for legs that are straight: the base is at
 * the hips all the same, and so it is in the URDF that `new robot` writes. */
static void a_base_on_the_ground_is_lifted_to_the_hips(void **state)
{
    (void)state;
    static const struct {
        const char *root;
        double height;
    } cases[] = {{"base_footprint", 0.26}, {"base_footprint", 0.2}, {"base_link", 0.26}};
    struct nm_arena arena = {0};
    const struct nm_body *plain = load(&arena, STRANGER("no_sole"));
    double q[NM_JOINTS] = {0};
    struct nm_kin is, should;
    nm_forward(plain, POSE_IDENTITY, q, &should);
    struct vec3 hip = should.pose[plain->leg[NM_LEFT].joints[0] + 1].pos;
    assert_null(strstr(plain->notes->text, "lifted"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = nm_take_format(&arena,
                                          "%.*s<link name='%s'/><joint name='up' type='fixed'><parent "
                                          "link='%s'/><child link='%s'/><origin xyz='0 0 %g'/></joint></robot>",
                                          (int)(strstr(plain->urdf, "</robot>") - plain->urdf), plain->urdf,
                                          cases[i].root, cases[i].root, plain->frames[0].name, cases[i].height);
        const struct nm_body *body = load_file_of(&arena, text);
        for (int again = 0; again < 2; again++, body = load_file_of(&arena, body->urdf)) {
            bool own = !strcmp(cases[i].root, "base_link");
            assert_string_equal(body->frames[0].name, "base_link");
            assert_int_equal(strstr(body->notes->text, "lifted to them") != NULL, own || !again);
            nm_forward(body, (struct pose3){QUAT_IDENTITY, {0, 0, hip.z}}, q, &is);
            for (uint32_t k = 0; k < plain->n_frames; k++) {
                int32_t frame = nm_find_frame(body, plain->frames[k].name);
                assert_true(frame >= 0);
                assert_near(pose_distance(is.pose[frame], should.pose[k]), 0, 1e-8);
            }
            int32_t root = nm_find_frame(body, own ? "base_link_of_urdf" : "base_footprint");
            assert_true(root > 0);
            assert_vec_near(is.pose[root].pos, 0, 0, -cases[i].height, 1e-8);
        }
    }
    nm_arena_free(&arena);
}

/* A box that stands for a shank's mesh does not reach through the foot. */
static void guessed_boxes_stay_between_their_joints(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    static const char urdf[] =
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' "
        "ixz='0' iyz='0'/></inertial></link><link name='shank'><inertial><origin xyz='0 -0.137 0'/><mass value='0.12'/>"
        "<inertia ixx='4e-4' iyy='4e-5' izz='4e-4' ixy='0' ixz='0' iyz='0'/></inertial><collision><geometry><mesh "
        "filename='none.stl'/></geometry></collision></link><link name='foot'/><joint name='k' type='continuous'>"
        "<parent link='a'/><child link='shank'/><origin xyz='0 0 -0.8'/><axis xyz='1 0 0'/></joint><joint name='f' "
        "type='continuous'><parent "
        "link='shank'/><child link='foot'/><origin xyz='0 -0.18 0'/><axis xyz='1 0 0'/></joint></robot>";
    const struct nm_body *body = load_file_of(&arena, urdf);
    assert_int_equal(body->n_collisions, 1);
    const struct nm_link_shape *s = &body->collisions[0];
    assert_true(s->to_link.pos.y - s->size.y / 2 > -0.22 && s->to_link.pos.y + s->size.y / 2 < 0.04);
    assert_true(s->size.y > 0.1);
    nm_arena_free(&arena);
}

static void five_joints_place_a_foot_but_do_not_turn_it(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, STRANGER("five_joint_legs"));
    struct nm_leg leg;
    uint64_t seed = 3;
    assert_int_equal(nm_leg_init(&leg, body, NM_LEFT, NULL), 0);
    assert_int_equal(leg.chain.released, 4);
    for (int round = 0; round < 50; round++) {
        struct pose3 sole = leg.chain.home, is;
        double q[NM_GROUP];
        sole.pos.x += dice(&seed, -0.03, 0.03), sole.pos.y += dice(&seed, -0.01, 0.04);
        sole.pos.z += dice(&seed, 0.01, 0.04);
        nm_leg_crouch(&leg, q);
        assert_int_equal(nm_leg_ik(&leg, sole, q, NULL), NM_REACHED);
        is = nm_chain_forward(&leg.chain, q);
        assert_true(vec3_norm(vec3_sub(is.pos, sole.pos)) < 1e-8);
        assert_true(quat_apply(is.rot, (struct vec3){0, 0, 1}).z > 1 - 1e-9);
    }
    nm_arena_free(&arena);
}

static void placeholders_are_replaced_on_demand(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, STRANGER("placeholder_inertias"));
    assert_int_equal(body->odd_inertias, 21);
    assert_near(body->inertia[1].xx, 1, 0); /* nobody asked */
    assert_int_equal(load(&arena, STRANGER("no_sole"))->odd_inertias, 0);
    assert_int_equal(load(&arena, KID70)->odd_inertias, 0);
    nm_arena_free(&arena);
}

static void all_of_them_can_begin_to_learn_a_walk(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        struct nm_gait g;
        struct nm_gait_state s;
        double q[NM_JOINTS];
        const float act[NM_GAIT_ACTS] = {0};
        const double ahead[3] = {0.1, 0, 0};
        if (nm_gait_init(&g, load(&arena, all[i]), &err)) fail_msg("%s", err.text);
        nm_gait_start(&g, &s, 0.1);
        nm_gait_act(&g, &s, act, ahead, q);
        for (uint32_t j = 0; j < g.body->n_joints; j++) assert_true(isfinite(q[j]));
        for (uint32_t k = 0; k < NM_GAIT_ACTS; k++) { /* a mirror image of a mirror image is the same */
            assert_int_equal(g.act[g.act[k].from].from, k);
            assert_true(g.act[k].sign * g.act[g.act[k].from].sign == 1);
        }
        nm_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_is_left_and_soles_are_below),
        cmocka_unit_test(a_stance_is_level_and_in_balance_with_knees_in_front),
        cmocka_unit_test(a_mesh_has_the_box_of_its_corners),
        cmocka_unit_test(without_its_meshes_a_foot_is_modest_and_not_below_its_sole),
        cmocka_unit_test(oddities_of_several_files_are_found_together),
        cmocka_unit_test(long_names_are_shortened),
        cmocka_unit_test(a_base_on_the_ground_is_lifted_to_the_hips),
        cmocka_unit_test(guessed_boxes_stay_between_their_joints),
        cmocka_unit_test(five_joints_place_a_foot_but_do_not_turn_it),
        cmocka_unit_test(placeholders_are_replaced_on_demand),
        cmocka_unit_test(all_of_them_can_begin_to_learn_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

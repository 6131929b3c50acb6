/* A motion looks the same on a body whose joints have other names, count the other way and have other zeros; one with
 * other limbs gets nothing, and a slower one more time. */
#include "body/animation_carry.h"
#include "body/kinematics.h"
#include "robots.h"

/* kid70 as another maker would describe it: the knees count backwards, the left elbow is bent at zero. */
static char *other_urdf(const char *knee_axis)
{
    static char text[1 << 20], out[1 << 20];
    const struct {
        const char *joint, *was, *is;
    } changes[] = {
        {"\"left_knee\" type", "<axis xyz=\"0 1 0\"/>", knee_axis},
        {"\"left_knee\" type", "lower=\"0\" upper=\"2.26893\"", "lower=\"-2.26893\" upper=\"0\""},
        {"\"left_elbow\" type", "<origin xyz=\"0.0204 0 -0.112\"/>",
         "<origin xyz=\"0.0204 0 -0.112\" rpy=\"0 -1.5707963267948966 0\"/>"},
        {"\"left_elbow\" type", "lower=\"-2.79253\" upper=\"0.261799\"", "lower=\"-1.2217\" upper=\"1.832595\""},
        {"\"right_hip_roll\" type", "velocity=\"5.76\"", "velocity=\"1.0\""},
    };
    FILE *file = fopen(KID70 "/robot.urdf", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *joint = strstr(text, changes[i].joint), *at = joint ? strstr(joint, changes[i].was) : NULL;
        assert_non_null(at);
        snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, changes[i].is, at + strlen(changes[i].was));
        memcpy(text, out, sizeof text);
    }
    return text;
}

static const struct nm_body *other_body(struct nm_arena *arena, const char *knee_axis)
{
    struct nm_err err = {0};
    char *text = other_urdf(knee_axis);
    const struct nm_urdf *urdf = nm_urdf_parse(arena, "other.urdf", text, strlen(text), &err);
    const struct nm_body *body = urdf ? nm_body_from_urdf(arena, urdf, &err) : NULL;
    if (!body) fail_msg("%s", err.text);
    return body;
}

static void poses_are_the_same_on_another_makers_joints(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *kid = load(&arena, KID70), *other = other_body(&arena, "<axis xyz=\"0 -1 0\"/>");
    struct nm_carry carry;
    struct nm_kin a, b;
    uint64_t seed = 5;
    nm_carry_find(kid, other, &carry);
    assert_int_equal(carry.n, 20);
    int32_t knee = nm_find_joint(kid, "left_knee"), elbow = nm_find_joint(kid, "left_elbow");
    assert_near(carry.sign[knee], -1, 0);
    assert_near(carry.offset[elbow], M_PI / 2, 0.2); /* the forearm is not quite straight in either */
    for (int round = 0; round < 100; round++) {
        double q[NM_JOINTS] = {0}, p[NM_JOINTS] = {0};
        for (uint32_t j = 0; j < kid->n_joints; j++) {
            q[j] = dice(&seed, -1, 1);
            p[carry.to[j]] = carry.sign[j] * q[j] + carry.offset[j];
        }
        nm_forward(kid, POSE_IDENTITY, q, &a);
        nm_forward(other, POSE_IDENTITY, p, &b);
        for (int side = 0; side < 2; side++) {
            uint32_t x = kid->foot[side].sole, y = other->foot[side].sole;
            assert_true(vec3_norm(vec3_sub(a.pose[x].pos, b.pose[y].pos)) < 1e-9);
            x = kid->arm[side].end, y = other->arm[side].end;
            assert_true(vec3_norm(vec3_sub(a.pose[x].pos, b.pose[y].pos)) < 0.03);
        }
    }
    nm_arena_free(&arena);
}

/* Legs with other axes cannot make a kick: it is left out. Of a get-up they make the nearest poses. */
static void a_limb_with_other_axes_is_left_out_whole(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *kid = load(&arena, KID70), *other = other_body(&arena, "<axis xyz=\"0 0 1\"/>");
    struct nm_carry carry;
    nm_carry_find(kid, other, &carry);
    assert_int_equal(carry.n, 14);
    for (uint32_t i = 0; i < kid->leg[NM_LEFT].n; i++) assert_int_equal(carry.to[kid->leg[NM_LEFT].joints[i]], -1);
    assert_null(nm_animation_carry(&arena, nm_find_animation(kid, "kick_left"), &carry, other));
    assert_non_null(nm_animation_carry(&arena, nm_find_animation(kid, "get_up_back"), &carry, other));
    nm_arena_free(&arena);
}

static void a_slow_servo_gets_the_time_it_needs_and_limits_hold(void **state)
{
    (void)state;
    static const char text[] = "curve: linear\nframes:\n"
                               "- {duration: 1 s, goals: {both_hip_roll: 0, left_knee: 20}}\n"
                               "- {duration: 100 ms, pause: 50 ms, goals: {both_hip_roll: 20, left_knee: 130}}\n"
                               "- {duration: 1 s, goals: {both_hip_roll: 0, left_knee: 20}}\n";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_body *kid = load(&arena, KID70), *other = other_body(&arena, "<axis xyz=\"0 -1 0\"/>");
    const struct nm_animation *was = nm_animation_parse(&arena, kid, "sway.yaml", text, sizeof text - 1, &err);
    assert_non_null(was);
    struct nm_carry carry;
    nm_carry_find(kid, other, &carry);
    const struct nm_animation *is = nm_animation_carry(&arena, was, &carry, other);
    assert_non_null(is);
    double move = 20 * M_PI / 180 / 1.0; /* s, with 1 rad/s */
    assert_near(is->frames[1].at - is->frames[0].until, 1.01 * move, 1e-9);
    assert_near(is->frames[1].until - is->frames[1].at, 0.05, 1e-9);
    assert_near(is->frames[2].at - is->frames[1].until, 1, 1e-9);
    assert_near(is->duration - was->duration, 1.01 * move - 0.1, 1e-9);
    assert_near(is->frames[1].goal[carry.to[nm_find_joint(kid, "left_knee")]], -130 * M_PI / 180, 1e-9);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_are_the_same_on_another_makers_joints),
        cmocka_unit_test(a_limb_with_other_axes_is_left_out_whole),
        cmocka_unit_test(a_slow_servo_gets_the_time_it_needs_and_limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

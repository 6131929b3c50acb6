/* The head turns until the camera looks through a point, and as near to it as its limits let it otherwise. */
#include "body/look.h"

#include "body/robots.h"

static double off_axis(const struct nm_body *body, const struct nm_neck *neck, const double q[], struct vec3 point)
{
    struct nm_kin kin;
    double all[NM_JOINTS] = {0};
    for (uint32_t i = 0; i < neck->chain.n; i++) all[neck->chain.joints[i]] = q[i];
    nm_forward(body, POSE_IDENTITY, all, &kin);
    struct vec3 p = pose_apply(pose_inv(kin.pose[body->head.end]), point);
    return atan2(hypot(p.x, p.y), p.z);
}

static void points_in_view_are_looked_at(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof all_robots / sizeof *all_robots; r++) {
        struct nm_arena arena = {0};
        struct nm_neck neck;
        uint64_t seed = 70;
        const struct nm_body *body = load(&arena, all_robots[r]);
        assert_int_equal(nm_neck_init(&neck, body, body->head.end, NULL), 0);
        double worst = 0;
        for (int k = 0; k < 20000; k++) {
            double q[NM_GROUP], back[NM_GROUP] = {0}, off;
            for (uint32_t i = 0; i < neck.chain.n; i++) q[i] = dice(&seed, neck.chain.lower[i], neck.chain.upper[i]);
            struct pose3 eye = nm_chain_forward(&neck.chain, q);
            struct vec3 point = pose_apply(eye, (struct vec3){0, 0, dice(&seed, 0.3, 6)});
            assert_int_equal(nm_look_at(&neck, point, back, &off), NM_REACHED);
            worst = fmax(worst, off_axis(body, &neck, back, point));
            for (uint32_t i = 0; i < neck.chain.n; i++)
                assert_true(back[i] >= neck.chain.lower[i] && back[i] <= neck.chain.upper[i]);
        }
        printf("%s: %s, worst %.1e rad\n", body->name, neck.closed ? "closed" : "numeric", worst);
        assert_true(worst < 1e-9);
        nm_arena_free(&arena);
    }
}

static void straight_ahead_is_zero(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_neck neck;
    const struct nm_body *body = load(&arena, KID70);
    double q[NM_GROUP], off;
    assert_int_equal(nm_neck_init(&neck, body, body->head.end, NULL), 0);
    assert_true(neck.closed);
    assert_int_equal(nm_look_at(&neck, (struct vec3){3, 0, neck.eye.z}, q, &off), NM_REACHED);
    assert_near(q[0], 0, 1e-12);
    assert_near(q[1], 0, 1e-12);
    assert_int_equal(nm_look_at(&neck, (struct vec3){1, 1, -0.3}, q, NULL), NM_REACHED);
    assert_true(q[0] > 0.5 && q[1] > 0.2); /* left and down */
    nm_arena_free(&arena);
}

/* No gaze of a fine grid over the limits is nearer to the point. */
static void points_out_of_view_are_looked_at_as_nearly_as_possible(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        struct nm_arena arena = {0};
        struct nm_neck neck;
        uint64_t seed = 71;
        uint32_t unreachable = 0;
        const struct nm_body *body = load(&arena, all_robots[r]);
        assert_int_equal(nm_neck_init(&neck, body, body->head.end, NULL), 0);
        for (int k = 0; k < 200; k++) {
            struct vec3 point = {dice(&seed, -2, 1), dice(&seed, -2, 2), dice(&seed, -0.5, 2)};
            double q[NM_GROUP], off;
            if (nm_look_at(&neck, point, q, &off) == NM_REACHED) continue;
            unreachable++;
            assert_near(off, off_axis(body, &neck, q, point), 1e-9);
            for (int i = 0; i <= 40; i++)
                for (int j = 0; j <= 40; j++) {
                    double at[2] = {neck.chain.lower[0] + (neck.chain.upper[0] - neck.chain.lower[0]) * i / 40,
                                    neck.chain.lower[1] + (neck.chain.upper[1] - neck.chain.lower[1]) * j / 40};
                    double there_ = off_axis(body, &neck, at, point);
                    if (there_ < off - 1e-6) fail_msg("%s %d: %g is nearer than %g", body->name, k, there_, off);
                }
        }
        printf("%s: %u points out of view\n", body->name, unreachable);
        assert_true(unreachable > 20);
        nm_arena_free(&arena);
    }
}

static void a_camera_elsewhere_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_neck neck;
    struct nm_err err = {0};
    const struct nm_body *body = load(&arena, KID70);
    assert_int_equal(nm_neck_init(&neck, body, frame(body, "l_sole"), &err), -1);
    assert_non_null(strstr(err.text, "the head does not carry the camera"));
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_in_view_are_looked_at),
        cmocka_unit_test(straight_ahead_is_zero),
        cmocka_unit_test(points_out_of_view_are_looked_at_as_nearly_as_possible),
        cmocka_unit_test(a_camera_elsewhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The plan of a kick: the zero-moment point stays inside the support foot, a leg that is too short is found out, and
 * the work may be split as it likes. */
#include "modules/kick_rig.h"

static enum kick_progress make(struct rig *r, struct kick_want want, uint32_t at_once, char *why, size_t size)
{
    struct kick_choice choice;
    enum kick_progress progress = KICK_PLANNING;
    if (choose(r, want, &choice, why, size)) return KICK_IMPOSSIBLE;
    kick_plan_begin(&r->engine.plan, r->body, r->engine.leg, &r->params.plan, &r->stand, choice, &want);
    while (progress == KICK_PLANNING) progress = kick_plan_work(&r->engine.plan, at_once, why, size);
    return progress;
}

/* How far outside the support foot's cells the zero-moment point of the planned motion is, at worst, while one foot
 * carries all; by inverse dynamics of poses as far apart as those of the plan, but between them. */
static double outside(const struct rig *r)
{
    const struct kick_plan *plan = &r->engine.plan;
    const struct nm_foot *foot = &r->body->foot[plan->support];
    const double still[2] = {0, 0}, zero[NM_JOINTS] = {0}, dt = plan->dt;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, worst = 0;
    struct nm_kin kin;
    nm_forward(r->body, POSE_IDENTITY, zero, &kin);
    for (uint32_t i = 0; i < foot->n_cells; i++) {
        struct vec3 cell = nm_frame_to_frame(&kin, foot->cells[i], foot->sole).pos;
        low[0] = fmin(low[0], cell.x), high[0] = fmax(high[0], cell.x);
        low[1] = fmin(low[1], cell.y), high[1] = fmax(high[1], cell.y);
    }
    for (double t = plan->path.t[KICK_SHIFTED] + plan->dt; t < plan->path.t[KICK_DOWN] - plan->dt; t += 0.37 * dt) {
        struct kick_pose pose[3];
        double qd[NM_JOINTS], qdd[NM_JOINTS];
        struct nm_motion motion;
        struct nm_effort effort;
        struct vec3 zmp;
        for (int i = 0; i < 3; i++) kick_plan_pose(plan, t + (i - 1) * dt, still, 0, &pose[i]);
        kick_motion(pose, r->body->n_joints, dt, qd, qdd, &motion);
        nm_inverse_dynamics(r->body, &motion, NULL, 0, &effort);
        assert_true(nm_zmp(&motion, &effort, 0, &zmp));
        const double at[2] = {zmp.x, zmp.y};
        for (int a = 0; a < 2; a++) worst = fmax(worst, fmax(low[a] - at[a], at[a] - high[a]));
    }
    return worst;
}

static void the_zero_moment_point_stays_inside_the_support_foot(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN};
    for (size_t k = 0; k < 2; k++) {
        struct rig r;
        rig_start(&r, robots[k]);
        for (int i = 0; i < 2 * 3 * 3; i++) {
            char why[128] = "";
            double side = i & 1 ? 1 : -1;
            double x = r.stand.toe[NM_LEFT].x + r.params.plan.path.ball_radius + r.size * (0.02 + 0.02 * (i / 2 % 3));
            struct kick_want want = {x, side * r.size * 0.05, -side * (-0.3 + 0.3 * (i / 6))};
            if (make(&r, want, 10000, why, sizeof why) != KICK_PLANNED) fail_msg("%s: %s", robots[k], why);
            if (outside(&r) > 0)
                fail_msg("%s, ball %g %g, direction %g: the point is %g mm outside", robots[k], want.ball_x,
                         want.ball_y, want.direction, 1000 * outside(&r));
        }
        rig_end(&r);
    }
}

/* Without the passes of inverse dynamics the same motion would tip the robot over: the test above tests something. */
static void a_trunk_that_does_not_give_way_would_tip_over(void **state)
{
    (void)state;
    struct rig r;
    char why[128];
    rig_start(&r, KID70);
    r.params.plan.room_x = r.params.plan.room_y = 1; /* everything is allowed: nothing is taken back */
    assert_int_equal(make(&r, (struct kick_want){0.2, 0.05, 0}, 10000, why, sizeof why), KICK_PLANNED);
    assert_true(outside(&r) > 0.01);
    rig_end(&r);
}

static void the_work_can_be_split_in_any_way(void **state)
{
    (void)state;
    static struct rig a, b;
    char why[128];
    rig_start(&a, KID70);
    rig_start(&b, KID70);
    struct kick_want want = {0.2, -0.05, 0.2};
    assert_int_equal(make(&a, want, 100000, why, sizeof why), KICK_PLANNED);
    assert_int_equal(make(&b, want, 37, why, sizeof why), KICK_PLANNED);
    assert_int_equal(a.engine.plan.n, b.engine.plan.n);
    assert_memory_equal(a.engine.plan.trunk, b.engine.plan.trunk, a.engine.plan.n * sizeof *a.engine.plan.trunk);
    rig_end(&a);
    rig_end(&b);
}

/* A leg that is too short for the ball is found out by the plan. */
static void a_leg_that_is_too_short_is_told(void **state)
{
    (void)state;
    struct rig r;
    char why[128] = "";
    rig_start(&r, KID70);
    r.params.plan.reach.far = r.params.plan.reach.reach = 1;
    assert_int_equal(make(&r, (struct kick_want){0.45, 0.05, 0}, 10000, why, sizeof why), KICK_IMPOSSIBLE);
    assert_non_null(strstr(why, "mm"));
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_zero_moment_point_stays_inside_the_support_foot),
        cmocka_unit_test(a_trunk_that_does_not_give_way_would_tip_over),
        cmocka_unit_test(the_work_can_be_split_in_any_way),
        cmocka_unit_test(a_leg_that_is_too_short_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The plan of a kick: the zero-moment point stays inside the support foot, what cannot be reached is refused with the
 * reason, and the work may be split as it likes. */
#include "body/robots.h"

#include "modules/motion/kick_engine.h"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct kick_engine engine;
    struct kick_params params;
    struct kick_stand stand;
    double size; /* of the legs, against those that the parameters are written for */
};

/* Standing with bent knees, feet side by side. */
static void stand_up(struct rig *r)
{
    double q[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(r->body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[r->body->foot[side].sole];
        double leg_q[NM_GROUP] = {0};
        sole.pos.z += 0.03 * r->size;
        sole.pos.x += 0.002;
        assert_int_equal(nm_leg_ik(&r->engine.leg[side], sole, leg_q, NULL), NM_REACHED);
        for (uint32_t i = 0; i < 6; i++) q[r->body->leg[side].joints[i]] = leg_q[i];
    }
    r->stand = kick_stand_of(r->body, q);
}

static void rig_start(struct rig *r, const char *path)
{
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, path);
#define X(name, value, least, most, unit, power, about) r->params.plan.path.name = value;
    KICK_PATH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) r->params.plan.name = value;
    KICK_PLAN_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) r->params.name = value;
    KICK_ENGINE_PARAMS(X)
#undef X
    if (kick_engine_init(&r->engine, r->body, &err)) fail_msg("%s", err.text);
    double leg = kick_leg_length(&r->engine.leg[NM_LEFT]);
    r->size = leg / KICK_LEG;
    kick_params_scale(&r->params, leg);
    stand_up(r);
}

static void rig_end(struct rig *r) { nm_arena_free(&r->arena); }

static enum kick_progress make(struct rig *r, struct kick_want want, uint32_t at_once, char *why, size_t size)
{
    enum nm_side support;
    enum kick_progress progress = KICK_PLANNING;
    if (kick_choose(&r->params.plan, &r->stand, &want, &support, why, size)) return KICK_IMPOSSIBLE;
    kick_plan_begin(&r->engine.plan, r->body, r->engine.leg, &r->params.plan, &r->stand, support, &want);
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
    assert_true(kick_plan_done(&b.engine.plan) >= 1);
    assert_int_equal(a.engine.plan.n, b.engine.plan.n);
    assert_memory_equal(a.engine.plan.trunk, b.engine.plan.trunk, a.engine.plan.n * sizeof *a.engine.plan.trunk);
    rig_end(&a);
    rig_end(&b);
}

static void it_picks_the_foot_behind_the_ball(void **state)
{
    (void)state;
    struct rig r;
    char why[128];
    enum nm_side support;
    rig_start(&r, KID70);
    struct kick_want left = {0.2, 0.06, 0}, right = {0.2, -0.06, 0};
    assert_int_equal(kick_choose(&r.params.plan, &r.stand, &left, &support, why, sizeof why), 0);
    assert_int_equal(support, NM_RIGHT);
    assert_int_equal(kick_choose(&r.params.plan, &r.stand, &right, &support, why, sizeof why), 0);
    assert_int_equal(support, NM_LEFT);
    rig_end(&r);
}

static void what_cannot_be_reached_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        struct kick_want want;
        const char *why;
    } rows[] = {
        {{0.05, 0.05, 0}, "cm too near"},
        {{0.5, 0.05, 0}, "cm too far away"},
        {{0.2, 0.3, 0}, "cm too far left"},
        {{0.2, -0.3, 0}, "cm too far right"},
        {{0.2, 0.05, 1.5}, "degrees too far left"},
        {{0.2, 0.05, -1.5}, "degrees too far right"},
        {{NAN, 0.05, 0}, "none"},
        {{0.2, INFINITY, 0}, "none"},
    };
    struct rig r;
    rig_start(&r, KID70);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[128] = "";
        enum nm_side support;
        assert_int_equal(kick_choose(&r.params.plan, &r.stand, &rows[i].want, &support, why, sizeof why), -1);
        if (!strstr(why, rows[i].why)) fail_msg("row %zu: %s", i, why);
    }
    /* the number is the way that is missing: from the edge of the left foot's reach */
    char why[128];
    enum nm_side support;
    double reached = 0.05, refused = 0.4;
    for (int i = 0; i < 40; i++) {
        struct kick_want want = {0.2, (reached + refused) / 2, 0};
        bool ok = kick_choose(&r.params.plan, &r.stand, &want, &support, why, sizeof why) == 0;
        *(ok ? &reached : &refused) = want.ball_y;
    }
    struct kick_want want = {0.2, reached + 0.0899, 0};
    assert_int_equal(kick_choose(&r.params.plan, &r.stand, &want, &support, why, sizeof why), -1);
    assert_string_equal(why, "the ball is 9 cm too far left");
    rig_end(&r);
}

/* A leg that is too short for the ball is found out by the plan. */
static void a_leg_that_is_too_short_is_told(void **state)
{
    (void)state;
    struct rig r;
    char why[128] = "";
    rig_start(&r, KID70);
    r.params.plan.far = 1;
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
        cmocka_unit_test(it_picks_the_foot_behind_the_ball),
        cmocka_unit_test(what_cannot_be_reached_is_refused_with_the_reason),
        cmocka_unit_test(a_leg_that_is_too_short_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

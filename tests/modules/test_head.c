/* The head looks where it is told, never faster than it may, and never into the shoulders. */
#include "modules/body_rig.h"

#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/JointGoals.h"

extern const struct nm_module head_module;

#define TICK 0.008

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    double pan, tilt, fastest, hardest, speed[2];
};

static void begin(struct rig *r, const char *settings)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->h = nm_harness_new_with(&head_module, settings, r->body);
    const double q[NM_JOINTS] = {0};
    give_joints(r->h, r->body, q, NULL, 0);
    nm_harness_step(r->h, TICK);
}

static void end(struct rig *r)
{
    nm_harness_free(r->h);
    nm_arena_free(&r->arena);
}

static void go_on(struct rig *r, double seconds)
{
    for (double t = 0; t < seconds; t += TICK) {
        nm_harness_step(r->h, TICK);
        const JointGoals *g = nm_harness_get(r->h, "head_goals");
        double now[2] = {g->position.at[0], g->position.at[1]}, was[2] = {r->pan, r->tilt};
        for (int i = 0; i < 2; i++) {
            double speed = (now[i] - was[i]) / TICK;
            r->fastest = fmax(r->fastest, fabs(speed));
            r->hardest = fmax(r->hardest, fabs(speed - r->speed[i]) / TICK);
            r->speed[i] = speed;
        }
        r->pan = now[0], r->tilt = now[1];
    }
}

static HeadCommand *command(struct rig *r, uint8_t mode)
{
    HeadCommand *c = nm_harness_set(r->h, "head_command");
    c->mode = mode;
    return c;
}

/* By forward kinematics the optical axis passes through the point. */
static void it_looks_at_points(void **state)
{
    (void)state;
    struct rig r;
    uint64_t seed = 3;
    begin(&r, NULL);
    for (int i = 0; i < 20; i++) {
        struct vec3 point = {dice(&seed, 0.5, 3), dice(&seed, -1.5, 1.5), dice(&seed, -0.4, 0.3)};
        command(&r, HeadCommand_LOOK_AT)->target = (Point){point.x, point.y, point.z};
        go_on(&r, 2);
        double q[NM_JOINTS] = {0};
        struct nm_kin kin;
        q[r.body->head.joints[0]] = r.pan, q[r.body->head.joints[1]] = r.tilt;
        nm_forward(r.body, POSE_IDENTITY, q, &kin);
        struct vec3 seen = pose_apply(pose_inv(kin.pose[r.body->cameras[0].frame]), point);
        assert_true(seen.z > 0);
        assert_near(atan2(hypot(seen.x, seen.y), seen.z), 0, 0.01);
    }
    end(&r);
}

static void it_moves_smoothly(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "max_speed=2, max_acceleration=10");
    HeadCommand *c = command(&r, HeadCommand_ANGLES);
    c->pan = 1.5f, c->tilt = 0.5f;
    go_on(&r, 3);
    assert_near(r.pan, 1.5, 1e-3);
    assert_near(r.tilt, 0.5, 1e-3);
    assert_true(r.fastest <= 2.001);
    assert_true(r.hardest <= 10 * 1.3);
    r.fastest = 0;
    c = command(&r, HeadCommand_ANGLES);
    c->max_speed = 0.5f;
    go_on(&r, 2);
    assert_true(r.fastest <= 0.501);
    end(&r);
}

/* HULKs' equation: the inner limit straight ahead, half-way at half the edge, the outer one beyond it. */
static void the_lowest_look_depends_on_the_yaw(void **state)
{
    (void)state;
    static const struct {
        float pan;
        double lowest;
    } looks[] = {{0, 0.8}, {0.25f, 0.6}, {-0.25f, 0.6}, {0.5f, 0.4}, {1.2f, 0.4}};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        struct rig r;
        begin(&r, "inner_tilt=0.8, outer_tilt=0.4, yaw_edge=0.5");
        HeadCommand *c = command(&r, HeadCommand_ANGLES);
        c->pan = looks[i].pan, c->tilt = 1.5f;
        go_on(&r, 3);
        assert_near(r.tilt, looks[i].lowest, 2e-3);
        /* also while it turns away */
        c = command(&r, HeadCommand_ANGLES);
        c->pan = 1.2f, c->tilt = 1.5f;
        go_on(&r, 3);
        assert_near(r.tilt, 0.4, 2e-3);
        end(&r);
    }
}

static void it_holds_and_sweeps(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    command(&r, HeadCommand_ANGLES)->tilt = 1;
    go_on(&r, 2);
    assert_true(r.tilt > 0.9 && fabs(r.pan) < 0.01);
    command(&r, HeadCommand_HOLD);
    double tilt = r.tilt;
    go_on(&r, 1);
    assert_near(r.tilt, tilt, 1e-6);
    /* a sweep comes by left and right */
    nm_text(command(&r, HeadCommand_PATTERN)->pattern, "scan");
    double left = 0, right = 0;
    for (int i = 0; i < 100; i++) {
        go_on(&r, 0.1);
        left = fmax(left, r.pan), right = fmin(right, r.pan);
    }
    assert_true(left > 0.9 && right < -0.9);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_looks_at_points),
        cmocka_unit_test(it_moves_smoothly),
        cmocka_unit_test(the_lowest_look_depends_on_the_yaw),
        cmocka_unit_test(it_holds_and_sweeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

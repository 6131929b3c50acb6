/* The learned walk as a module, with a policy that is made here: it lifts its feet with the clock, strides as far as
 * the command says, and shows the command with its left shoulder. So the module is tested, not what somebody has
 * trained. The body follows its goals exactly and stands level. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "body/gait.h"
#include "modules/walk_rig.h"
#include "nav_msgs/Odometry.h"
#include "nn/onnx.h"
#include "sensor_msgs/BatteryState.h"

extern const struct nm_module walk_policy_module;

enum {
    UP = 5,
    COMMAND = NM_GAIT_FRAMES * NM_GAIT_FRAME,
    SINE = COMMAND + 3,
    COSINE = COMMAND + 4,
    SHOULDER = NM_GAIT_LEGS
};
static const double LIFT = 0.15, SHOWS = 0.2; /* rad; rad of the shoulder for 1 m/s */
static const char LIMITS[] = "forward: 0.8\nback: 0.6\nside: 0.5\nturn: 3\n";

/* ---- a policy ---- */

static uint32_t must(int32_t value, const struct nm_err *err)
{
    if (value < 0) fail_msg("%s", err->text);
    return (uint32_t)value;
}

/* out = in x matrix */
static uint32_t times(struct nm_net *net, const char *name, uint32_t in, uint32_t rows, uint32_t columns,
                      const float *matrix)
{
    struct nm_err err = {0};
    char label[40];
    snprintf(label, sizeof label, "%s_weights", name);
    struct nm_net_shape shape = {2, {rows, columns}};
    uint32_t w = must(nm_net_add_constant(net, label, shape, matrix, &err), &err), both[2] = {in, w};
    return must(nm_net_add_node(net, name, NM_OP_MATMUL, both, 2, NULL, name, &err), &err);
}

static uint32_t join(struct nm_net *net, enum nm_net_op op, const char *name, uint32_t a, uint32_t b)
{
    struct nm_err err = {0};
    const uint32_t in[2] = {a, b};
    return must(nm_net_add_node(net, name, op, in, op == NM_OP_RELU ? 1 : 2, NULL, name, &err), &err);
}

struct made {
    uint32_t acts;      /* NM_GAIT_ACTS unless it is to be wrong */
    const char *limits; /* NULL: no note                         */
    double off;         /* rad, of the stance in its note        */
    float poison;       /* added to an action                    */
    double stride;      /* of what is asked                      */
    double apart;       /* rad, of each hip: where it stands, one foot is ahead */
    bool slow;          /* with the input for slow walking, which the other shoulder shows */
};

static struct nm_net *make(const struct nm_gait *g, const struct made *how)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_net_new();
    static float clock[NM_GAIT_OBS * 2], ahead[NM_GAIT_OBS], cosine[NM_GAIT_OBS], shown[NM_GAIT_OBS * NM_GAIT_ACTS];
    float lifts[2 * NM_GAIT_ACTS] = {0}, strides[NM_GAIT_ACTS] = {0};
    uint32_t n = how->acts;
    memset(clock, 0, sizeof clock), memset(ahead, 0, sizeof ahead);
    memset(cosine, 0, sizeof cosine), memset(shown, 0, sizeof shown);
    clock[2 * SINE] = 1, clock[2 * SINE + 1] = -1;
    ahead[COMMAND] = 0.5f; /* m/s */
    cosine[COSINE] = 1;
    shown[COMMAND * n + SHOULDER] = (float)(0.5 * SHOWS / g->scale[SHOULDER]);
    shown[SINE * n] = how->poison;
    shown[UP * n + 2] = (float)(how->apart / g->scale[2]), shown[UP * n + 4] = -shown[UP * n + 2];
    shown[UP * n + 8] = -shown[UP * n + 2], shown[UP * n + 10] = shown[UP * n + 2];
    double swing = how->stride / (4 * g->rate * 0.265); /* rad for 1 m/s, with legs of 0.265 m from hip to ankle */
    for (uint32_t side = 0; side < 2; side++) {
        double turn = side ? -swing : swing;
        lifts[side * n + 6 * side + 2] = (float)(-LIFT / g->scale[2]);
        lifts[side * n + 6 * side + 3] = (float)(2 * LIFT / g->scale[3]);
        lifts[side * n + 6 * side + 4] = (float)(-LIFT / g->scale[4]);
        strides[6 * side + 2] = (float)(turn / g->scale[2]);
        strides[6 * side + 4] = (float)(-turn / g->scale[4]);
    }
    uint32_t in = must(nm_net_add_input(net, "observation", (struct nm_net_shape){2, {1, NM_GAIT_OBS}}, &err), &err);
    uint32_t up = join(net, NM_OP_RELU, "up", times(net, "clock", in, NM_GAIT_OBS, 2, clock), 0);
    uint32_t along = join(net, NM_OP_MUL, "along", times(net, "ahead", in, NM_GAIT_OBS, 1, ahead),
                          times(net, "cosine", in, NM_GAIT_OBS, 1, cosine));
    uint32_t legs =
        join(net, NM_OP_ADD, "legs", times(net, "lifts", up, 2, n, lifts), times(net, "strides", along, 1, n, strides));
    uint32_t all = join(net, NM_OP_ADD, "action", legs, times(net, "shown", in, NM_GAIT_OBS, n, shown));
    if (how->slow) {
        float slowly[NM_GAIT_ACTS] = {[SHOULDER + 1] = (float)(SHOWS / g->scale[SHOULDER + 1])};
        uint32_t share = must(nm_net_add_input(net, "slow", (struct nm_net_shape){2, {1, 1}}, &err), &err);
        all = join(net, NM_OP_ADD, "with_slow", all, times(net, "slowly", share, 1, n, slowly));
    }
    nm_net_add_output(net, all, &err);
    if (how->limits) nm_net_add_note(net, "limits", how->limits, &err);
    char gait[200];
    snprintf(gait, sizeof gait, "joints:\n  - [left_knee, %.5f, %g]\n", g->stance[g->joints[3]] + how->off,
             g->scale[3]);
    nm_net_add_note(net, "gait", gait, &err);
    return net;
}

static void write_policy(const struct nm_body *body, const struct made *how, char path[64])
{
    struct nm_gait gait;
    struct nm_err err = {0};
    if (nm_gait_init(&gait, body, &err)) fail_msg("%s", err.text);
    struct nm_net *net = make(&gait, how);
    size_t n;
    void *bytes = nm_onnx_write(net, &n);
    strcpy(path, "/tmp/nutmeg_policy_XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, bytes, n) == (ssize_t)n);
    close(file);
    free(bytes);
    nm_net_free(net);
}

static const struct made good = {.acts = NM_GAIT_ACTS, .limits = LIMITS, .stride = 1};

/* ---- a robot with odometry ---- */

struct stage {
    struct bench b;
    struct pose2 past[32]; /* of the last quarter of a second */
    uint32_t ticks;
    double odometry; /* what the odometry shows of the way; 0: there is none */
    struct pose2 shown, was;
};

static void begin_as(struct stage *s, const struct made *how, const char *more)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char path[64], settings[240];
    write_policy(nm_body_load(&arena, NM_ROOT "/robots/kid70", &err), how, path);
    nm_arena_free(&arena);
    *s = (struct stage){.odometry = 1};
    snprintf(settings, sizeof settings,
             "policy=%s, rise=0.2, stabilise=false, torque_ahead=0, speed_ahead=0, stride=1%s", path, more);
    begin_with(&s->b, &walk_policy_module, settings);
    unlink(path);
}

static void give_odometry(struct stage *s)
{
    struct pose2 is = place(&s->b), then = s->past[s->ticks % 32];
    struct pose2 now = {s->shown.x + s->odometry * (is.x - s->was.x), s->shown.y + s->odometry * (is.y - s->was.y),
                        is.theta};
    s->shown = now, s->was = is;
    struct pose2 way = pose2_mul(pose2_inv(now), then);
    s->past[s->ticks++ % 32] = now;
    Odometry *o = nm_harness_set(s->b.h, "odometry");
    struct quat q = quat_rpy(0, 0, now.theta);
    o->pose.pose.position = (Point){now.x, now.y, 0};
    o->pose.pose.orientation = (Quaternion){q.x, q.y, q.z, q.w};
    o->twist.twist.linear = (Vector3){-way.x / 0.256, -way.y / 0.256, 0};
    o->twist.twist.angular.z = -way.theta / 0.256;
}

static const WalkState *run(struct stage *s, int ticks)
{
    const WalkState *w = NULL;
    while (ticks--) {
        if (s->odometry > 0) give_odometry(s);
        w = tick(&s->b, 1);
    }
    return w;
}

static const WalkState *walk_at(struct stage *s, double speed, int tenths)
{
    const WalkState *w = NULL;
    while (tenths--) {
        command(&s->b, WalkCommand_VELOCITY)->velocity.linear.x = speed;
        w = run(s, 12);
    }
    return w;
}

static double goal(const struct stage *s, const char *name) { return s->b.q[nm_find_joint(s->b.body, name)]; }
/* m/s, as the policy was told: by the shoulder. */
static double told(const struct stage *s) { return (goal(s, "left_shoulder_pitch") - 0.35) / SHOWS; }

/* ---- files ---- */

/* What init says of a file. */
static void refused(const struct made *how, const char *file, const char *says)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char path[64];
    const struct nm_body *body = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    if (how) write_policy(body, how, path);
    struct nm nm = {.name = "walk_policy", .body = body, .err = &err};
    char *self = calloc(1, walk_policy_module.size);
    *(struct nm **)(void *)self = &nm;
    for (const struct nm_param *p = walk_policy_module.params; p->name; p++)
        if (!strcmp(p->name, "policy")) strcpy(self + p->offset, how ? path : file);
    assert_int_equal(walk_policy_module.init(self), -1);
    if (!strstr(err.text, says)) fail_msg("'%s' says nothing of '%s'", err.text, says);
    walk_policy_module.close(self);
    if (how) unlink(path);
    free(self);
    nm_arena_free(&arena);
}

static void a_file_that_is_no_policy_of_this_robot_is_refused_with_the_remedy(void **state)
{
    (void)state;
    struct made how = good;
    refused(NULL, "/nowhere/walk.onnx", "/nowhere/walk.onnx");
    refused(NULL, "/nowhere/walk.onnx", "nutmeg learn walk --robot kid70");
    refused(NULL, NM_ROOT "/tests/fuzz/corpus/nn/small.onnx", "a walk has 1 with 137 and 1 with 15");
    how.acts = 14;
    refused(&how, NULL, "1 outputs with 14");
    how = good, how.off = 0.1;
    refused(&how, NULL, "another stance of left_knee");
    how = good, how.limits = "forward: fast\n";
    refused(&how, NULL, "does not name forward, back, side and turn");
    how = good, how.limits = "forward: 1\nback: -1\nside: 1\nturn: 1\n";
    refused(&how, NULL, "its limits make no sense");
}

/* ---- walking ---- */

static void it_walks_by_the_policy_and_stands_by_itself(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    assert_int_equal(run(&s, 40)->state, WalkState_STANDING);
    struct pose2 start = place(&s.b);
    const WalkState *w = walk_at(&s, 0.3, 30);
    assert_int_equal(w->state, WalkState_WALKING);
    assert_near(told(&s), 0.3, 0.06);
    /* the clock makes 1.88 turns of two steps a second, for 2.9 s */
    assert_in_range(w->steps, 9, 12);
    struct pose2 way = pose2_mul(pose2_inv(start), place(&s.b));
    assert_near(way.x, 0.3 * 2.88, 0.15);
    uint32_t steps = w->steps;
    command(&s.b, WalkCommand_STAND);
    w = run(&s, 200);
    assert_int_equal(w->state, WalkState_STANDING);
    assert_in_range(w->steps - steps, 1, 5);
    double before[NM_JOINTS];
    memcpy(before, s.b.q, sizeof before);
    run(&s, 200);
    for (uint32_t j = 0; j < s.b.body->n_joints; j++) assert_near(s.b.q[j], before[j], 2e-3);
    end(&s.b);
}

/* A policy that ends with its feet far apart is asked for steps on the spot before the other engine makes them. */
static void who_cannot_stand_so_steps_on_the_spot_first(void **state)
{
    (void)state;
    struct made how = good;
    struct stage s;
    how.apart = 0.25;
    begin_as(&s, &how, "");
    run(&s, 40);
    uint32_t steps = walk_at(&s, 0.2, 20)->steps;
    command(&s.b, WalkCommand_STAND);
    const WalkState *w = run(&s, 100);
    uint32_t stopped = w->steps; /* after 0.8 s both feet are down */
    assert_in_range(stopped - steps, 0, 4);
    for (int i = 0; i < 150; i++) { /* the other engine would put one foot beside the other */
        w = run(&s, 1);
        assert_true(fabs(goal(&s, "left_hip_pitch") - goal(&s, "right_hip_pitch")) > 0.05);
    }
    assert_true(w->steps > stopped);
    w = run(&s, 600);
    assert_int_equal(w->state, WalkState_STANDING);
    end(&s.b);
}

static void both_feet_take_turns(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    uint32_t steps = walk_at(&s, 0.2, 10)->steps, changes = 0;
    bool left = s.b.left;
    for (int i = 0; i < 250; i++) {
        if (i % 20 == 0) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = 0.2;
        const WalkState *w = run(&s, 1);
        assert_true(w->phase >= 0 && w->phase <= 1);
        if (w->left_support != left) {
            changes++;
            /* the foot that swung has just landed beside or before the other */
            assert_true(w->steps == steps + changes && w->phase < 0.1f);
        }
        left = w->left_support;
    }
    assert_in_range(changes, 6, 9);
    end(&s.b);
}

static void it_is_asked_for_no_more_than_was_trained(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, ", trim_rate=0");
    run(&s, 40);
    walk_at(&s, 5, 1);
    assert_true(told(&s) < 0.2); /* it is asked for more and more */
    walk_at(&s, 5, 10);
    assert_near(told(&s), 0.8, 1e-3);
    walk_at(&s, -5, 20);
    assert_near(told(&s), -0.6, 1e-3);
    /* a turn takes its share, a way to the side more than that */
    static const struct {
        double left, turn, told;
    } beside[] = {{0, 3, 0.8 / 2}, {0.5, 0, 0.8 * 0.374}};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 20; i++) {
            WalkCommand *c = command(&s.b, WalkCommand_VELOCITY);
            c->velocity.linear.x = 0.8, c->velocity.linear.y = beside[k].left, c->velocity.angular.z = beside[k].turn;
            run(&s, 12);
        }
        assert_near(told(&s), beside[k].told, 0.02);
    }
    end(&s.b);
    struct made how = good;
    how.limits = NULL;
    begin_as(&s, &how, ", limits=0.4 0.3 0.2 1");
    run(&s, 40);
    walk_at(&s, 5, 10);
    assert_near(told(&s), 0.4, 1e-3);
    end(&s.b);
}

/* A policy that makes only nine tenths of what it is asked is asked for more; a wrong odometry moves it only so far,
 * and one that shows hardly any way not at all. */
static void the_command_is_the_speed(void **state)
{
    (void)state;
    struct stage s;
    struct made how = good;
    how.stride = 0.9;
    begin_as(&s, &how, "");
    run(&s, 40);
    walk_at(&s, 0.3, 100);
    struct pose2 start = place(&s.b);
    uint32_t ticks = s.b.ticks;
    walk_at(&s, 0.3, 44);
    struct pose2 way = pose2_mul(pose2_inv(start), place(&s.b));
    assert_near(way.x / (0.008 * (s.b.ticks - ticks)), 0.3, 0.015);
    s.odometry = 0.2; /* somebody stands in the way: it is asked for no more than before */
    double before = told(&s);
    for (int i = 0; i < 20; i++) {
        walk_at(&s, 0.3, 5);
        assert_true(told(&s) < before + 0.12); /* who begins to walk is told a little more */
    }
    s.odometry = 0.6; /* with half of it the robot is held up */
    walk_at(&s, 0.3, 200);
    assert_near(told(&s), 0.3 * 1.4, 0.02);
    end(&s.b);
}

/* The farthest that a goal moves in a tick, of a robot that starts, and then stops or walks to a target, where the
 * engine changes in the middle of the walk. */
static double farthest_leap(const char *settings, uint8_t then)
{
    struct stage s;
    double most = 0, before[NM_JOINTS];
    begin_as(&s, &good, settings);
    run(&s, 40);
    for (int i = 0; i < 1000; i++) {
        bool walks = i / 125 % 2 == 0;
        if (i % 20 == 0 && walks) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
        if (i % 125 == 0 && !walks) command(&s.b, then)->target.x = 0.05;
        memcpy(before, s.b.q, sizeof before);
        run(&s, 1);
        for (uint32_t j = 0; j < s.b.body->n_joints; j++) most = fmax(most, fabs(s.b.q[j] - before[j]));
    }
    end(&s.b);
    return most;
}

static void goals_do_not_jump_between_the_engines(void **state)
{
    (void)state;
    double stops = farthest_leap("", WalkCommand_STAND), usual = farthest_leap("", WalkCommand_TARGET);
    assert_true(stops < 0.17 && usual < 0.15);
    assert_true(farthest_leap(", blend=0.01", WalkCommand_TARGET) > usual + 0.02);
    assert_true(farthest_leap(", leap=5", WalkCommand_STAND) <= 5 * 0.008 + 1e-9);
}

/* A blow of 0.05 s, as of a robot that it walks into. */
static void struck(struct stage *s, double pulled)
{
    s->b.pulled = pulled;
    run(s, 6);
    s->b.pulled = 0;
}

/* A network that has learned to walk slowly answers where the robot stays slow, and is not helped by the reflex. */
static void a_network_for_slow_walking_needs_no_reflex(void **state)
{
    (void)state;
    const double on_the_spot = 0.0001;
    for (int slow = 0; slow < 2; slow++) {
        struct made how = good;
        struct stage s;
        how.slow = slow;
        begin_as(&s, &how, "");
        run(&s, 40);
        double still = goal(&s, "right_shoulder_pitch");
        walk_at(&s, on_the_spot, 5);
        assert_near(goal(&s, "right_shoulder_pitch"), still, 0.02); /* not yet */
        walk_at(&s, on_the_spot, 20);
        assert_near(goal(&s, "right_shoulder_pitch"), still + (slow ? SHOWS : 0), 0.02);
        struck(&s, 15);
        walk_at(&s, on_the_spot, 1);
        assert_true(slow ? fabs(told(&s)) < 0.06 : told(&s) > 0.1);
        walk_at(&s, 0.4, 20);
        assert_near(goal(&s, "right_shoulder_pitch"), still, 0.02);
        end(&s.b);
    }
}

static void a_robot_that_is_struck_gives_way_and_is_wary_for_a_while(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    walk_at(&s, 0.4, 20);
    double before = told(&s);
    struck(&s, -2); /* what walking does */
    walk_at(&s, 0.4, 2);
    assert_near(told(&s), before, 0.03);
    struck(&s, 15); /* from behind: faster for a moment, not slower */
    assert_true(told(&s) > before - 0.03);
    walk_at(&s, 0.4, 30);
    assert_near(told(&s), before, 0.05);
    struck(&s, -15);
    walk_at(&s, 0.4, 1);
    assert_true(told(&s) < -0.05); /* back, at once */
    walk_at(&s, 0.4, 25);
    assert_true(told(&s) > 0 && told(&s) < 0.2); /* then slowly against what is in the way */
    walk_at(&s, -0.3, 15);
    assert_true(told(&s) < -0.2); /* and away from it as ever */
    walk_at(&s, 0.4, 30);
    assert_near(told(&s), before, 0.05);
    /* without an odometry nobody can tell a blow from a step */
    s.odometry = 0;
    run(&s, 20);
    walk_at(&s, 0.4, 10);
    before = told(&s);
    struck(&s, -15);
    walk_at(&s, 0.4, 1);
    assert_near(told(&s), before, 0.03);
    end(&s.b);
}

/* It shoves somebody along whom it does not see: the odometry shows less and less of the way. */
static void a_robot_that_comes_no_farther_steps_back(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    walk_at(&s, 0.5, 30);
    assert_true(told(&s) > 0.4); /* not while it begins to walk */
    s.odometry = 0.3;
    double least = INFINITY;
    for (int i = 0; i < 16; i++) {
        walk_at(&s, 0.5, 1);
        least = fmin(least, told(&s));
    }
    assert_true(least < -0.03);
    s.odometry = 1; /* he has gone: a little later it walks as before */
    walk_at(&s, 0.5, 90);
    assert_true(told(&s) > 0.4);
    end(&s.b);
}

/* Straight back, at full speed: it stops first. */
static void who_goes_the_other_way_stops_first(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    walk_at(&s, 0.6, 30);
    for (int i = 0; i < 60; i++) {
        if (i % 12 == 0) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = -0.5;
        run(&s, 1);
        const Odometry *o = nm_harness_get(s.b.h, "odometry");
        if (o->twist.twist.linear.x > 0.15) assert_true(told(&s) > -0.05);
    }
    walk_at(&s, -0.5, 20);
    assert_true(told(&s) < -0.4);
    end(&s.b);
}

/* ---- what the model-based engine does better ---- */

static void a_target_is_reached(void **state)
{
    (void)state;
    static const struct pose2 targets[] = {{1.2, 0, 0}, {0.9, 0, 0.5}, {-0.2, 0.1, 0}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct stage s;
        double fastest = 0;
        begin_as(&s, &good, "");
        run(&s, 40);
        struct pose2 start = place(&s.b);
        command(&s.b, WalkCommand_TARGET)->target = (Pose2D){targets[i].x, targets[i].y, targets[i].theta};
        const WalkState *w = NULL;
        int last = 0; /* tick in which it did not stand */
        for (int k = 0; k < 1200; k++) {
            w = run(&s, 1);
            fastest = fmax(fastest, w->velocity.linear.x);
            if (w->state != WalkState_STANDING) last = k;
        }
        assert_true(last < 900);
        struct pose2 moved = pose2_mul(pose2_inv(start), place(&s.b));
        assert_near(moved.x, targets[i].x, 0.025);
        assert_near(moved.y, targets[i].y, 0.025);
        assert_near(moved.theta, targets[i].theta, 0.07);
        assert_true((fastest > 0.6) == (targets[i].x > 0.5)); /* by the policy, from afar */
        end(&s.b);
    }
}

static void a_kick_rides_on_a_step_and_the_policy_walks_on(void **state)
{
    (void)state;
    for (int left = 0; left < 2; left++) {
        struct stage s;
        begin_as(&s, &good, "");
        run(&s, 40);
        walk_at(&s, 0.25, 20);
        WalkCommand *c = command(&s.b, WalkCommand_VELOCITY);
        c->velocity.linear.x = 0.25;
        c->kick = WalkCommand_KICK_FORWARD;
        c->kick_left = left;
        c->kick_strength = 1;
        uint32_t kicking = 0, begun = 0, asked = run(&s, 1)->steps;
        for (int i = 0; i < 250; i++) {
            if (i % 20 == 19) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = 0.25;
            const WalkState *w = run(&s, 1);
            assert_string_equal(w->refused, "");
            if (w->state != WalkState_KICKING) continue;
            assert_true(w->left_support != left);
            if (!kicking++) begun = w->steps;
            assert_int_equal(w->steps, begun);
        }
        assert_true(kicking > 10);
        assert_in_range(begun - asked, 1, 3);
        assert_near(told(&s), 0.25, 0.06); /* the shoulder shows that the policy walks */
        end(&s.b);
    }
}

/* ---- inputs that are not those of training ---- */

static void without_inertial_sensor_it_stands(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    walk_at(&s, 0.3, 10);
    s.b.imu_frozen = true;
    uint32_t said = 0;
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 0) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
        run(&s, 1);
        said += lines_with(s.b.h, "inertial");
    }
    const WalkState *w = run(&s, 1);
    assert_int_equal(w->state, WalkState_STANDING);
    assert_non_null(strstr(w->refused, "inertial"));
    assert_int_equal(said, 1);
    s.b.imu_frozen = false;
    assert_int_equal(walk_at(&s, 0.3, 10)->state, WalkState_WALKING);
    end(&s.b);
}

static void a_robot_that_has_stood_may_take_a_moment_to_move(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    s.b.joints_frozen = true;
    for (int i = 0; i < 25; i++) {
        if (i % 10 == 0) command(&s.b, WalkCommand_VELOCITY)->velocity.linear.x = 0.8;
        assert_string_equal(run(&s, 1)->refused, "");
    }
    end(&s.b);
}

static void without_joints_the_policy_is_not_asked(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.8, 0.01);
    s.b.joints_frozen = true;
    const WalkState *w = walk_at(&s, 0.8, 4);
    assert_non_null(strstr(w->refused, "joints"));
    assert_true(w->velocity.linear.x < 0.6); /* as fast as the model-based walk, at most */
    s.b.joints_frozen = false;
    walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.8, 0.01);
    end(&s.b);
}

static void late_sensors_make_it_slower_and_it_says_so(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    s.b.late = 0.02;
    const WalkState *w = walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.8, 0.01);
    assert_string_equal(w->refused, "");
    s.b.late = 0.06;
    w = walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.6 * 0.8, 0.01);
    assert_non_null(strstr(w->refused, "later than in training"));
    end(&s.b);
}

static void a_low_battery_makes_it_slower_and_it_says_so(void **state)
{
    (void)state;
    struct stage s;
    begin_as(&s, &good, "");
    run(&s, 40);
    ((BatteryState *)nm_harness_set(s.b.h, "battery_state"))->percentage = 0.08f;
    const WalkState *w = walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.6 * 0.8, 0.01);
    assert_non_null(strstr(w->refused, "battery"));
    ((BatteryState *)nm_harness_set(s.b.h, "battery_state"))->percentage = 0.5f;
    w = walk_at(&s, 0.8, 10);
    assert_near(told(&s), 0.8, 0.01);
    assert_string_equal(w->refused, "");
    end(&s.b);
}

static void an_answer_that_is_no_number_never_reaches_a_joint(void **state)
{
    (void)state;
    struct stage s;
    struct made how = good;
    how.poison = INFINITY;
    begin_as(&s, &how, "");
    run(&s, 40);
    const WalkState *w = walk_at(&s, 0.3, 30); /* the rig fails on a goal that is not finite */
    assert_int_equal(w->state, WalkState_WALKING);
    assert_non_null(strstr(w->refused, "policy"));
    end(&s.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_no_policy_of_this_robot_is_refused_with_the_remedy),
        cmocka_unit_test(it_walks_by_the_policy_and_stands_by_itself),
        cmocka_unit_test(who_cannot_stand_so_steps_on_the_spot_first),
        cmocka_unit_test(both_feet_take_turns),
        cmocka_unit_test(it_is_asked_for_no_more_than_was_trained),
        cmocka_unit_test(the_command_is_the_speed),
        cmocka_unit_test(goals_do_not_jump_between_the_engines),
        cmocka_unit_test(a_network_for_slow_walking_needs_no_reflex),
        cmocka_unit_test(a_robot_that_is_struck_gives_way_and_is_wary_for_a_while),
        cmocka_unit_test(a_robot_that_comes_no_farther_steps_back),
        cmocka_unit_test(who_goes_the_other_way_stops_first),
        cmocka_unit_test(a_target_is_reached),
        cmocka_unit_test(a_kick_rides_on_a_step_and_the_policy_walks_on),
        cmocka_unit_test(without_inertial_sensor_it_stands),
        cmocka_unit_test(a_robot_that_has_stood_may_take_a_moment_to_move),
        cmocka_unit_test(without_joints_the_policy_is_not_asked),
        cmocka_unit_test(late_sensors_make_it_slower_and_it_says_so),
        cmocka_unit_test(a_low_battery_makes_it_slower_and_it_says_so),
        cmocka_unit_test(an_answer_that_is_no_number_never_reaches_a_joint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

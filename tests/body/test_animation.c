/* Key-frame motions: what a file may say and what is refused, how joints move between frames, mirror images, and that
 * every animation of our robots stays within limits, speeds and the body itself. */
#include "body/animation.h"
#include "robots.h"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_err err;
};

static void rig_begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
}

static struct nm_animation *parse(struct rig *r, const char *text)
{
    r->err = (struct nm_err){0};
    return nm_animation_parse(&r->arena, r->body, "wave.yaml", text, strlen(text), &r->err);
}

static uint32_t joint(const struct rig *r, const char *name)
{
    int32_t j = nm_find_joint(r->body, name);
    assert_true(j >= 0);
    return (uint32_t)j;
}

#define FRAME(goals) "frames:\n- {duration: 1 s, goals: {" goals "}}\n"

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } faults[] = {
        {"about: nothing\n", "wave.yaml:1: an animation needs frames"},
        {"frames: []\n", "an animation needs frames"},
        {"curve: round\n" FRAME("head_yaw: 1"), "wave.yaml:1: curve: round is none of cubic, linear"},
        {"speed: 3\n" FRAME("head_yaw: 1"), "wave.yaml:1: "},
        {FRAME("left_kne: 10"), "wave.yaml:2: there is no moving joint called left_kne; did you mean left_knee?"},
        {FRAME("both_tail: 10"), "there is no moving joint called both_tail"},
        {FRAME("left_knee: many"), "wave.yaml:2: "},
        {FRAME("left_knee: .nan"), "is more than a turn; goals are in degrees"},
        {FRAME("left_knee: 4000"), "is more than a turn; goals are in degrees"},
        {FRAME("left_knee: 3, both_knee: 4"), "left_knee has a goal in this frame already"},
        {"frames:\n- {goals: {head_yaw: 1}}\n", "wave.yaml:2: a frame needs a duration"},
        {"frames:\n- {duration: 1 s}\n", "wave.yaml:2: a frame needs goals"},
        {"frames:\n- {duration: 0 s, goals: {head_yaw: 1}}\n", "duration: 0 s is not between"},
        {"frames:\n- {duration: 1 s, pause: -1 s, goals: {head_yaw: 1}}\n", "wave.yaml:2: "},
        {"frames:\n- {duration: 1 s, stiffness: 2, goals: {head_yaw: 1}}\n", "stiffness: 2 is not between 0 and 1"},
        {"frames:\n- {duration: 1 s, strike: perhaps, goals: {head_yaw: 1}}\n", "wave.yaml:2: "},
        {"balance: {yaw: 1}\n" FRAME("head_yaw: 1"), "wave.yaml:1: "},
        {"mirror: other\n" FRAME("head_yaw: 1"), "a mirror image takes all but `about`"},
    };
    struct rig r;
    rig_begin(&r);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (parse(&r, faults[i].text)) fail_msg("taken: %s", faults[i].text);
        if (!strstr(r.err.text, faults[i].says)) fail_msg("\"%s\" is not in \"%s\"", faults[i].says, r.err.text);
    }
    nm_arena_free(&r.arena);
}

static void a_file_is_taken_as_it_says(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    const struct nm_animation *a = parse(&r, "about: waves\ncurve: linear\npriority: 2\nbalance: {roll: 0.1}\nframes:\n"
                                             "- {duration: 500 ms, pause: 1 s, goals: {both_shoulder_roll: 30}}\n"
                                             "- {duration: 2 s, stiffness: 0.5, strike: true, goals: {head_yaw: 5}}\n");
    if (!a) fail_msg("%s", r.err.text);
    assert_string_equal(a->name, "wave");
    assert_int_equal(a->n_frames, 2);
    assert_int_equal(a->priority, 2);
    assert_false(a->cubic);
    assert_near(a->duration, 3.5, 1e-9);
    assert_near(a->balance[0], 0.1, 1e-12);
    assert_near(a->frames[0].goal[joint(&r, "left_shoulder_roll")], radians(30), 1e-12);
    assert_near(a->frames[0].goal[joint(&r, "right_shoulder_roll")], radians(-30), 1e-12);
    assert_true(a->frames[1].strike);
    nm_arena_free(&r.arena);
}

static double at(const struct nm_animation *a, uint32_t j, double t, double *speed)
{
    double from[NM_JOINTS] = {0};
    struct nm_animation_pose pose;
    nm_animation_sample(a, from, t, &pose);
    if (speed) *speed = pose.qd[j];
    return pose.q[j];
}

/* The first frame's linear move, a pause, and a frame that does not name the joint: it goes on through it. */
static void linear_moves_are_straight(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    const struct nm_animation *a = parse(&r, "curve: linear\nframes:\n"
                                             "- {duration: 1 s, pause: 1 s, goals: {head_yaw: 40}}\n"
                                             "- {duration: 1 s, goals: {left_knee: 10}}\n"
                                             "- {duration: 1 s, goals: {head_yaw: 0}}\n");
    uint32_t j = joint(&r, "head_yaw");
    double speed;
    assert_near(at(a, j, 0.25, &speed), radians(10), 1e-12);
    assert_near(speed, radians(40), 1e-12);
    assert_near(at(a, j, 1.5, &speed), radians(40), 1e-12);
    assert_near(speed, 0, 1e-12);
    assert_near(at(a, j, 3, NULL), radians(20), 1e-12);
    assert_near(at(a, j, 9, &speed), 0, 1e-12);
    assert_near(speed, 0, 1e-12);
    nm_arena_free(&r.arena);
}

/* One move from rest to rest is 3 s^2 - 2 s^3. Two moves in one direction pass the frame between them with Fritsch's
 * and Butland's slope, which for equal lengths is the harmonic mean of the two. Where the joint turns back it stands.
 */
static void cubic_moves_follow_hermite(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    const struct nm_animation *a = parse(&r, "frames:\n"
                                             "- {duration: 1 s, goals: {head_yaw: 10, left_knee: 30}}\n"
                                             "- {duration: 1 s, goals: {head_yaw: 40, left_knee: 10}}\n");
    uint32_t yaw = joint(&r, "head_yaw"), knee = joint(&r, "left_knee");
    double d1 = radians(10), d2 = radians(30), m = 2 * d1 * d2 / (d1 + d2), speed;
    for (double s = 0; s < 1; s += 0.05) {
        assert_near(at(a, knee, s, NULL), radians(30) * s * s * (3 - 2 * s), 1e-12);
        assert_near(at(a, yaw, s, NULL), d1 * s * s * (3 - 2 * s) + m * (s * s * s - s * s), 1e-12);
    }
    assert_near(at(a, yaw, 1, &speed), d1, 1e-12);
    assert_near(speed, m, 1e-9);
    at(a, knee, 1, &speed);
    assert_near(speed, 0, 1e-9);
    nm_arena_free(&r.arena);
}

/* Property: never beyond the frames, and the speed is the derivative of the angle. */
static void curves_never_overshoot(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    uint64_t seed = 5;
    uint32_t j = joint(&r, "head_yaw");
    for (int k = 0; k < 50; k++) {
        char text[1024];
        int n = snprintf(text, sizeof text, "frames:\n");
        double low = 0, high = 0;
        for (int i = 0; i < 6; i++) {
            double goal = dice(&seed, -90, 90);
            low = fmin(low, goal), high = fmax(high, goal);
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "- {duration: %d ms, pause: %d ms, goals: {head_yaw: %f}}\n", (int)dice(&seed, 50, 900),
                          dice(&seed, 0, 1) < 0.5 ? 0 : 100, goal);
        }
        const struct nm_animation *a = parse(&r, text);
        assert_non_null(a);
        for (double t = 0.001; t < a->duration; t += 0.013) {
            double q = at(a, j, t, NULL), speed, ahead = at(a, j, t + 1e-6, NULL), behind = at(a, j, t - 1e-6, NULL);
            at(a, j, t, &speed);
            assert_true(q >= radians(low) - 1e-6 && q <= radians(high) + 1e-6);
            assert_near(speed, (ahead - behind) / 2e-6, 1e-2);
        }
    }
    nm_arena_free(&r.arena);
}

static void a_mirror_swaps_sides(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    const struct nm_animation *a =
        parse(&r, FRAME("left_shoulder_roll: 30, right_knee: 20, head_yaw: 10, head_pitch: 7"));
    struct nm_animation m = {.name = "image", .about = ""}, back = {.name = "wave", .about = ""};
    nm_animation_mirror(&r.arena, r.body, a, &m);
    assert_near(m.frames[0].goal[joint(&r, "right_shoulder_roll")], radians(-30), 1e-12);
    assert_near(m.frames[0].goal[joint(&r, "left_knee")], radians(20), 1e-12);
    assert_near(m.frames[0].goal[joint(&r, "head_yaw")], radians(-10), 1e-12);
    assert_near(m.frames[0].goal[joint(&r, "head_pitch")], radians(7), 1e-12);
    nm_animation_mirror(&r.arena, r.body, &m, &back);
    assert_true(back.joints == a->joints);
    for (uint32_t j = 0; j < r.body->n_joints; j++) assert_near(back.frames[0].goal[j], a->frames[0].goal[j], 1e-12);
    nm_arena_free(&r.arena);
}

static void what_a_body_cannot_do_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } faults[] = {
        {FRAME("left_knee: -40"), "wave.yaml:2: left_knee: -40 degrees is not between 0 and 130"},
        {"frames:\n- {duration: 1 s, goals: {left_knee: 0}}\n- {duration: 100 ms, goals: {left_knee: 120}}\n",
         "wave.yaml:3: left_knee would turn with"},
        {FRAME("left_shoulder_pitch: -20, left_shoulder_roll: -15, left_elbow: -90, right_shoulder_pitch: -20,"
               "right_shoulder_roll: 15, right_elbow: -90, left_hip_roll: -30, right_hip_roll: 30"),
         "meet 0.00 s after the begin"},
    };
    struct rig r;
    rig_begin(&r);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct nm_animation *a = parse(&r, faults[i].text);
        assert_non_null(a);
        assert_true(nm_animation_check(r.body, a, &r.err) > 0);
        if (!strstr(r.err.text, faults[i].says)) fail_msg("\"%s\" is not in \"%s\"", faults[i].says, r.err.text);
    }
    /* a strike may be faster than its servo */
    const struct nm_animation *a = parse(&r, "frames:\n- {duration: 1 s, goals: {left_knee: 0}}\n"
                                             "- {duration: 100 ms, strike: true, goals: {left_knee: 90}}\n");
    if (nm_animation_check(r.body, a, &r.err)) fail_msg("%s", r.err.text);
    nm_arena_free(&r.arena);
}

static void a_text_is_read_back(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r);
    for (uint32_t i = 0; i < r.body->n_animations; i++) {
        const struct nm_animation *a = &r.body->animations[i];
        const struct nm_animation *b = parse(&r, nm_animation_text(&r.arena, r.body, a));
        if (!b) fail_msg("%s: %s", a->name, r.err.text);
        assert_int_equal(a->n_frames, b->n_frames);
        assert_true(a->joints == b->joints);
        for (uint32_t k = 0; k < a->n_frames; k++) {
            assert_near(a->frames[k].at, b->frames[k].at, 1e-3 * (k + 1));
            for (uint32_t j = 0; j < r.body->n_joints; j++)
                assert_near(a->frames[k].goal[j], b->frames[k].goal[j], radians(0.051));
        }
    }
    nm_arena_free(&r.arena);
}

static void our_robots_have_what_they_need_and_it_is_sound(void **state)
{
    (void)state;
    static const char *const needed[] = {
        "stand",      "sit",        "get_up_front", "get_up_back",      "turn_over_left",
        "fall_front", "fall_back",  "fall_left",    "turn_over_right",  "fall_right",
        "kick_left",  "kick_right", "keeper_sit",   "keeper_jump_left", "keeper_jump_right"};
    for (int k = 0; k < 2; k++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        const struct nm_body *body = load(&arena, all_robots[k]);
        uint32_t links[2];
        const double zero[NM_JOINTS] = {0};
        assert_false(nm_self_collision(body, zero, 0.004, links));
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
            if (!nm_find_animation(body, needed[i])) fail_msg("%s has no %s", body->name, needed[i]);
        for (uint32_t i = 0; i < body->n_animations; i++) nm_animation_check(body, &body->animations[i], &err);
        if (err.n) fail_msg("%s", err.text);
        nm_arena_free(&arena);
    }
}

static void broken_folders_are_told(void **state)
{
    (void)state;
    struct rig r;
    char folder[] = "/tmp/nm_animations_XXXXXX", path[64];
    const struct nm_animation *all;
    uint32_t n;
    rig_begin(&r);
    assert_int_equal(nm_animations_read(&r.arena, r.body, "/nowhere", &all, &n, &r.err), 0);
    assert_int_equal(n, 0);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/image.yaml", folder);
    FILE *file = fopen(path, "w");
    fputs("mirror: images\n", file);
    fclose(file);
    assert_int_equal(nm_animations_read(&r.arena, r.body, folder, &all, &n, &r.err), -1);
    assert_non_null(strstr(r.err.text, "there is no animation called images; did you mean image?"));
    unlink(path);
    rmdir(folder);
    nm_arena_free(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(a_file_is_taken_as_it_says),
        cmocka_unit_test(linear_moves_are_straight),
        cmocka_unit_test(cubic_moves_follow_hermite),
        cmocka_unit_test(curves_never_overshoot),
        cmocka_unit_test(a_mirror_swaps_sides),
        cmocka_unit_test(what_a_body_cannot_do_is_told),
        cmocka_unit_test(a_text_is_read_back),
        cmocka_unit_test(our_robots_have_what_they_need_and_it_is_sound),
        cmocka_unit_test(broken_folders_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

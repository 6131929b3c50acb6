/* The robot finds out where it is from percepts alone, keeps knowing it, and finds its way back after a penalty, a
 * fall, a kidnapping, and on the wrong side. */
#include "modules/position_rig.h"

#include "sim/field.h"
#include "sim/outing.h"

extern const struct nm_module position_ukf_module;
extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static const struct pose2 WALK = {0.15, 0, 0.15}, STAND = {0, 0, 0};

static void settings_are_the_kid_field(void **state)
{
    (void)state;
    struct nm_pitch pitch;
    struct nm_err err = {0};
    if (nm_pitch_read(&pitch, NM_ROOT "/fields/kid.yaml", &err) < 0) fail_msg("%s", err.text);
    struct nm_pitch_size size = nm_pitch_size(&pitch);
    const double *file = (const double *)&size, *here = (const double *)&kid;
    for (size_t i = 0; i < sizeof size / sizeof(double); i++) assert_true(fabs(file[i] - here[i]) < 1e-9);
    const struct nm_param *p = position_ukf_module.params; /* the first rows are those of the field */
    for (size_t i = 0; i < sizeof size / sizeof(double); i++) assert_true(fabs(p[i].value - file[i]) < 1e-9);
}

/* Anywhere along either touchline of the own half. */
static void start_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct rig r;
        double side = i & 1 ? 1 : -1, x = -0.6 - 0.45 * i;
        rig_open(&r, &position_ukf_module, NULL, (struct pose2){x, side * 3.05, -side * M_PI / 2});
        rig_match(&r, MatchState_INITIAL, false);
        rig_run(&r, 5, STAND, true);
        if (rig_error(&r) > 0.1) fail_msg("at x = %g the error is %g", x, rig_error(&r));
        rig_run(&r, 20, WALK, true);
        assert_true(rig_error(&r) < 0.1);
        nm_harness_free(r.h);
    }
}

static void returns_from_a_penalty(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
    rig_match(&r, MatchState_PLAYING, false);
    rig_run(&r, 5, STAND, true);
    assert_true(rig_error(&r) < 0.1);
    rig_match(&r, MatchState_PLAYING, true);
    rig_run(&r, 0.5, STAND, false);
    r.truth = (struct pose2){-3.0, -3.3, M_PI / 2}; /* the other touchline, without a word of the odometry */
    rig_match(&r, MatchState_PLAYING, false);
    rig_run(&r, 0.05, STAND, false);
    const PoseHypotheses *all = nm_harness_get(r.h, "pose_hypotheses");
    assert_string_equal(all->reset_reason, "penalty");
    bool right = false, left = false;
    for (uint32_t i = 0; i < all->hypotheses.n; i++) {
        right |= all->hypotheses.at[i].pose.y < -2.8 && all->hypotheses.at[i].pose.x < 0;
        left |= all->hypotheses.at[i].pose.y > 2.8 && all->hypotheses.at[i].pose.x < 0;
    }
    assert_true(right && left);
    rig_run(&r, 4, STAND, true);
    assert_true(rig_error(&r) < 0.1);
    nm_harness_free(r.h);
}

/* A robot that lies sees nothing that counts; up again it may look anywhere. */
static void finds_itself_after_a_fall(void **state)
{
    (void)state;
    for (int i = -2; i <= 3; i++) {
        struct rig r;
        rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 8, WALK, true);
        assert_true(rig_error(&r) < 0.1);
        ((HcmState *)nm_harness_set(r.h, "hcm_state"))->state = HcmState_FALLEN;
        rig_run(&r, 1, STAND, false);
        ((HcmState *)nm_harness_set(r.h, "hcm_state"))->state = HcmState_STOPPED; /* it still lies */
        rig_run(&r, 1, STAND, true);
        assert_string_not_equal(((const PoseHypotheses *)nm_harness_get(r.h, "pose_hypotheses"))->reset_reason, "fall");
        r.truth = pose2_mul(r.truth, (struct pose2){0.2, -0.1, 1.0 * i});
        ((HcmState *)nm_harness_set(r.h, "hcm_state"))->state = HcmState_WALKING;
        rig_run(&r, 5, STAND, true);
        if (rig_error(&r) > 0.1) fail_msg("after a turn of %d rad the error is %g", i, rig_error(&r));
        nm_harness_free(r.h);
    }
}

/* Somewhere else in the field: found again, up to the symmetry of the field. */
static void kidnapped_robot_finds_a_place_that_fits(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct rig r;
        rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 5, STAND, true);
        r.truth = (struct pose2){-3 + 1.1 * i, 2 - 0.8 * i, 1.3 * i};
        rig_run(&r, 10, WALK, true);
        double there = rig_error(&r);
        r.truth = (struct pose2){-r.truth.x, -r.truth.y, r.truth.theta + M_PI};
        double mirrored = rig_error(&r);
        if (fmin(there, mirrored) > 0.15) fail_msg("case %d: off by %g and %g", i, there, mirrored);
        nm_harness_free(r.h);
    }
}

/* In a duel near the touchline a robot sees nothing but a piece of that line, and takes something for a crossing again
 * and again. Both together look like a corner of the penalty area and the end of the goal area. */
static void lasting_false_percept_carries_nobody_away(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig r;
        rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 8, WALK, true);
        for (int k = 0; k < 150; k++) {
            struct pose2 map_to_robot = pose2_inv(r.truth);
            struct pose2 start = pose2_mul(map_to_robot, (struct pose2){r.truth.x + 0.3, 2.975, 0});
            struct pose2 end = pose2_mul(map_to_robot, (struct pose2){r.truth.x + 0.9, 2.975, 0});
            struct pose2 crossing = pose2_mul(map_to_robot, (struct pose2){r.truth.x + 0.5, 1.975, M_PI * i});
            Percepts *p = nm_harness_set(r.h, "percepts");
            *(Percept *)nm_append(&p->percepts, &Percept_type) = (Percept){.kind = Percept_CROSSING_T,
                                                                           .confidence = 0.9f,
                                                                           .located = true,
                                                                           .position = {crossing.x, crossing.y, 0},
                                                                           .orientation = (float)crossing.theta};
            LineInformationRelative *lines = nm_harness_set(r.h, "line_relative");
            *(LineSegmentRelative *)nm_append(&lines->segments, &LineSegmentRelative_type) =
                (LineSegmentRelative){.start = {start.x, start.y, 0}, .end = {end.x, end.y, 0}, .confidence = 0.9f};
            rig_run(&r, 1.0 / 60, STAND, false);
        }
        if (rig_error(&r) > 0.2) fail_msg("a false T at %d degrees: off by %g", 180 * i, rig_error(&r));
        nm_harness_free(r.h);
    }
}

/* What mates say about the ball turns the robot: two that agree, not one alone. */
static void side_is_turned_by_two_mates_not_by_one(void **state)
{
    (void)state;
    for (uint32_t mates = 1; mates <= 2; mates++) {
        struct rig r;
        rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 5, STAND, true);
        assert_true(rig_error(&r) < 0.1);
        for (int k = 0; k < 40; k++) { /* a ball 1 m before it; the mates see it on the other side of the field */
            rig_odometry(&r);
            r.time += 0.25;
            r.look = 0;
            rig_see(&r);
            Percepts *p = nm_harness_set(r.h, "percepts");
            Percept *ball = nm_append(&p->percepts, &Percept_type);
            ball->kind = Percept_BALL;
            ball->confidence = 0.9f;
            ball->located = true;
            ball->position = (Point){1, 0, 0};
            struct pose2 at = pose2_mul(r.truth, (struct pose2){1, 0, 0});
            rig_mates(&r, mates, (struct pose2){-at.x, -at.y, 0}, 0);
            nm_harness_step(r.h, 0.25);
        }
        struct pose2 pose = rig_pose(&r);
        assert_true(mates == 1 ? pose.y > 2 : pose.y < -2);
        nm_harness_free(r.h);
    }
}

/* A robot that saw nothing for a while has walked less far than its odometry says: the carpet's edge tells. */
static void border_is_seen(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, &position_ukf_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
    rig_match(&r, MatchState_PLAYING, false);
    rig_run(&r, 5, STAND, true);
    rig_run(&r, 6, (struct pose2){0.1, 0, 0}, false);
    r.truth.y += 0.15;
    double before = fabs(rig_pose(&r).y - r.truth.y);
    for (int k = 0; k < 60; k++) {
        struct pose2 field_to_robot = pose2_inv(r.truth);
        FieldBorder *b = nm_harness_set(r.h, "field_border");
        nm_harness_set(r.h, "percepts");
        for (int i = 0; i < 8; i++) {
            struct pose2 p = pose2_mul(field_to_robot, (struct pose2){-4 + 0.5 * i, 4.0, 0});
            *(Point32 *)nm_append(&b->points, &Point32_type) = (Point32){(float)p.x, (float)p.y, 0};
            b->seen.at[b->seen.n++] = true;
        }
        rig_odometry(&r);
        r.time += 0.033;
        nm_harness_step(r.h, 0.033);
    }
    assert_true(before > 0.12);
    assert_true(fabs(rig_pose(&r).y - r.truth.y) < 0.05);
    nm_harness_free(r.h);
}

/* ---- in the flat simulator: noise, misses, ghosts, odometry that errs, mates that talk ---- */

struct field {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_outing *outing;
};

static void open_field(struct field *f, uint64_t seed, bool wrong_side)
{
    static const char *const poses[] = {"pose"};
    struct nm_err err = {0};
    *f = (struct field){0};
    nm_registry_init(&f->registry, &f->arena, __start_nm_modules, __stop_nm_modules);
    assert_int_equal(nm_pitch_read(&f->pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
    const struct nm_outing_options options = {.root = NM_ROOT,
                                              .registry = &f->registry,
                                              .pitch = &f->pitch,
                                              .robot = NM_ROOT "/robots/kid70",
                                              .lineup = NM_ROOT "/lineups/position.yaml",
                                              .fidelity = NM_FIDELITY_FLAT,
                                              .seed = seed,
                                              .mates = 4,
                                              .rivals = 2,
                                              .wrong_side = wrong_side,
                                              .n_poses = 1,
                                              .poses = poses};
    f->outing = nm_outing_new(&options, &err);
    if (!f->outing) fail_msg("%s", err.text);
}

static void close_field(struct field *f)
{
    nm_outing_free(f->outing);
    nm_arena_free(&f->arena);
}

static void play(struct field *f, double seconds)
{
    struct nm_stage *stage = nm_outing_stage(f->outing);
    int64_t end = nm_stage_now(stage) + nm_ns(seconds);
    while (nm_stage_now(stage) < end) assert_int_equal(nm_outing_step(f->outing), 0);
}

static double error_of(const struct field *f, uint32_t robot)
{
    struct nm_outing_pose p;
    nm_outing_pose(f->outing, robot, 0, &p);
    return hypot(p.pose.x - p.truth.x, p.pose.y - p.truth.y);
}

static void knows_its_place_while_walking(void **state)
{
    (void)state;
    struct field f;
    double sum = 0;
    open_field(&f, 7, false);
    play(&f, 10);
    for (int i = 0; i < 40; i++) {
        play(&f, 0.5);
        for (uint32_t r = 0; r < 4; r++) sum += error_of(&f, r) / 160;
    }
    if (sum > 0.15) fail_msg("mean error %g m", sum);
    close_field(&f);
}

static void returns_from_a_kidnapping(void **state)
{
    (void)state;
    struct field f;
    open_field(&f, 8, false);
    play(&f, 12);
    struct nm_outing_pose p;
    nm_outing_pose(f.outing, 0, 0, &p);
    nm_outing_kidnap(f.outing, 0, (struct pose2){p.truth.x > 0 ? -2.2 : 2.2, p.truth.y > 0 ? -1.5 : 1.5, 1});
    play(&f, 0.5);
    assert_true(error_of(&f, 0) > 1);
    play(&f, 25);
    assert_true(error_of(&f, 0) < 0.4);
    close_field(&f);
}

static void turns_round_when_mates_know_better(void **state)
{
    (void)state;
    struct field f;
    open_field(&f, 9, true);
    play(&f, 30);
    assert_true(error_of(&f, 0) < 0.4);
    close_field(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_the_kid_field),
        cmocka_unit_test(start_is_found),
        cmocka_unit_test(returns_from_a_penalty),
        cmocka_unit_test(finds_itself_after_a_fall),
        cmocka_unit_test(kidnapped_robot_finds_a_place_that_fits),
        cmocka_unit_test(lasting_false_percept_carries_nobody_away),
        cmocka_unit_test(side_is_turned_by_two_mates_not_by_one),
        cmocka_unit_test(border_is_seen),
        cmocka_unit_test(knows_its_place_while_walking),
        cmocka_unit_test(returns_from_a_kidnapping),
        cmocka_unit_test(turns_round_when_mates_know_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

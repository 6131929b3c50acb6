/* Robots whose brains play elsewhere: the stand-in has the topics of the real line-up in both directions, goals that
 * come through it move the body, and a brain that falls silent leaves joints that are braked. */
#include "sim_help.h"

#include "sim/stage_parts.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

enum { STATES, GOALS };
static const struct nm_edge_port ends[] = {
    [STATES] = {"servo_states", NM_PORT_IN, &ServoStates_type, 0, 0},
    [GOALS] = {"servo_goals", NM_PORT_OUT, &JointGoals_type, 0, 0},
};

/* The far end of the wire, by hand. */
struct far_end {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_stage *stage;
};

static int connect(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct far_end *far = user;
    (void)robot;
    far->player = player;
    far->edge = nm_edge_new(player, "far end", ends, 2, err);
    return far->edge ? 0 : -1;
}

static void set_up(struct far_end *far, const char *lineup)
{
    struct nm_err err = {0};
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    struct nm_stage_robot robot = {.name = "kid", .folder = NM_ROOT "/robots/kid70", .lineup = lineup};
    memset(far, 0, sizeof *far);
    nm_registry_init(&far->registry, &far->arena, __start_nm_modules, __stop_nm_modules);
    load_pitch(&far->pitch, "kid");
    options.root = NM_ROOT;
    options.registry = &far->registry;
    options.pitch = &far->pitch;
    options.world.seed = 3;
    options.elsewhere = true;
    options.ready = connect;
    options.user = far;
    far->stage = nm_stage_new(&robot, 1, &options, &err);
    if (!far->stage) fail_msg("%s", err.text);
}

static void tear_down(struct far_end *far)
{
    nm_stage_free(far->stage);
    nm_arena_free(&far->arena);
}

/* One step of the world; with an angle, goals for an arm come in before. */
static void step(struct far_end *far, double angle)
{
    nm_edge_begin(far->edge, nm_stage_now(far->stage));
    if (isfinite(angle)) {
        JointGoals *goals = nm_edge_out(far->edge, GOALS);
        nm_text(goals->name.at[0], "left_shoulder_roll");
        goals->position.at[0] = angle;
        goals->name.n = goals->position.n = 1;
        goals->header.stamp = nm_stamp(nm_stage_now(far->stage) + 1);
        nm_edge_put(far->edge, GOALS);
    }
    nm_edge_end(far->edge);
    assert_int_equal(nm_stage_step(far->stage), 0);
}

static double arm(const struct far_end *far)
{
    struct nm_truth truth;
    nm_world_truth(nm_stage_world(far->stage), 0, &truth);
    return truth.q[nm_find_joint(nm_stage_body(far->stage, 0), "left_shoulder_roll")];
}

static double strength(const struct far_end *far)
{
    const struct actor *a = &far->stage->actors[0];
    return a->damping.known ? a->damping.share : 1;
}

static void topics_go_the_way_they_go_on_a_robot(void **state)
{
    static const struct {
        const char *topic;
        bool there, taken;
    } rows[] = {
        {"servo_states", true, false}, {"imu/data_raw", true, false},  {"foot_cells", true, false},
        {"servo_goals", true, true},   {"leds", false, false},         {"camera/image_raw", false, false},
        {"truth/world", false, false}, {"joint_states", false, false},
    };
    struct far_end far;
    (void)state;
    set_up(&far, NM_ROOT "/lineups/walk.yaml");
    const struct nm_lineup *stand_in = nm_player_lineup(far.player);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t topic = nm_lineup_topic(stand_in, rows[i].topic);
        if ((topic != NM_NONE) != rows[i].there) fail_msg("%s: %s", rows[i].topic, rows[i].there ? "missing" : "there");
        if (rows[i].there) assert_int_equal(nm_stage_takes(stand_in, topic), rows[i].taken);
    }
    tear_down(&far);
}

static void goals_from_elsewhere_move_the_body(void **state)
{
    struct far_end far;
    (void)state;
    set_up(&far, NM_ROOT "/lineups/stand.yaml");
    assert_int_equal(nm_stage_goals_made(far.stage, 0), -1);
    for (int i = 0; i < 75; i++) step(&far, 0.6);
    nm_edge_begin(far.edge, nm_stage_now(far.stage));
    const ServoStates *states = nm_edge_in(far.edge, STATES);
    bool found = false;
    for (uint32_t i = 0; i < states->name.n; i++)
        if (!strcmp(states->name.at[i], "left_shoulder_roll")) {
            assert_near(states->position.at[i], 0.6, 0.06);
            found = true;
        }
    nm_edge_end(far.edge);
    assert_true(found);
    assert_int_equal(nm_stage_goals(far.stage, 0), 75);
    assert_int_equal(nm_stage_goals_made(far.stage, 0), nm_stage_now(far.stage) - nm_stage_tick(far.stage) + 1);
    tear_down(&far);
}

/* For a tenth of a second the last goal is kept with all strength, then the joint is braked, not let go. */
static void silence_damps_and_a_word_brings_the_strength_back(void **state)
{
    struct far_end far;
    (void)state;
    set_up(&far, NM_ROOT "/lineups/stand.yaml");
    for (int i = 0; i < 75; i++) step(&far, 0.6);
    double held = arm(&far);
    for (int i = 0; i < 25; i++) step(&far, NAN);
    assert_near(arm(&far), held, 0.02);
    assert_near(strength(&far), 1, 1e-9);
    for (int i = 0; i < 125; i++) step(&far, NAN);
    assert_near(strength(&far), 0.3, 1e-9);
    for (int i = 0; i < 100; i++) step(&far, 0.6);
    assert_near(strength(&far), 1, 1e-9);
    tear_down(&far);
}

static void parameters_are_set_where_the_brain_is(void **state)
{
    struct far_end far;
    struct nm_err err = {0};
    (void)state;
    set_up(&far, NM_ROOT "/lineups/stand.yaml");
    assert_int_equal(nm_stage_set(far.stage, 0, "hold_pose.pose=sit", &err), -1);
    assert_int_equal(nm_stage_check_set(far.stage, 0, "hold_pose.pose=sit", &err), -1);
    assert_non_null(strstr(err.text, "plays in another process"));
    tear_down(&far);
}

/* Whoever never said a word has not fallen silent. */
static void before_the_first_word_the_robot_keeps_its_pose(void **state)
{
    struct far_end far;
    (void)state;
    set_up(&far, NM_ROOT "/lineups/stand.yaml");
    double began = arm(&far);
    for (int i = 0; i < 75; i++) step(&far, NAN);
    assert_near(strength(&far), 1, 0);
    assert_near(arm(&far), began, 0.02);
    tear_down(&far);
}

static void a_line_up_that_would_not_load_there_does_not_load_here(void **state)
{
    struct nm_err err = {0};
    struct far_end far = {0};
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    struct nm_stage_robot robot = {
        .name = "kid", .folder = NM_ROOT "/robots/kid70", .lineup = NM_BUILD "/no_such.yaml"};
    (void)state;
    nm_registry_init(&far.registry, &far.arena, __start_nm_modules, __stop_nm_modules);
    load_pitch(&far.pitch, "kid");
    options.root = NM_ROOT;
    options.registry = &far.registry;
    options.pitch = &far.pitch;
    options.elsewhere = true;
    assert_null(nm_stage_new(&robot, 1, &options, &err));
    assert_non_null(strstr(err.text, "no_such.yaml"));
    nm_arena_free(&far.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_go_the_way_they_go_on_a_robot),
        cmocka_unit_test(goals_from_elsewhere_move_the_body),
        cmocka_unit_test(silence_damps_and_a_word_brings_the_strength_back),
        cmocka_unit_test(parameters_are_set_where_the_brain_is),
        cmocka_unit_test(before_the_first_word_the_robot_keeps_its_pose),
        cmocka_unit_test(a_line_up_that_would_not_load_there_does_not_load_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

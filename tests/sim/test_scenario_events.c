/* Kicks in a scenario: the ball is laid where the robot itself says that it kicks best, the kick has a direction or a
 * place to go to, and how far the ball misses it is measured. */
#include "sim_help.h"

#include "sim/scenario_parts.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static struct nm_result play(const char *text, struct vec3 *ball_start)
{
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_result result;
    struct nm_scenario *s = nm_scenario_parse("test.yaml", text, strlen(text), NM_ROOT, &err);
    if (!s) fail_msg("%s", err.text);
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    struct nm_run *run = nm_run_new(s, &(struct nm_run_options){.seed = 1, .registry = &registry}, &err);
    if (!run) fail_msg("%s", err.text);
    while (nm_run_step(run) > 0) {}
    nm_run_result(run, &result);
    *ball_start = run->ball_start;
    nm_run_free(run);
    nm_scenario_free(s);
    nm_arena_free(&arena);
    return result;
}

/* Each robot has its own: before its own toes, between the ball's radius and a foot's length from them. */
static void the_ball_is_laid_where_the_robot_kicks_best(void **state)
{
    (void)state;
    static const struct {
        const char *robot;
        double least, most; /* m, ahead */
    } rows[] = {{"kid70", 0.18, 0.22}, {"darwin", 0.13, 0.18}};
    for (int i = 0; i < 2; i++) {
        char text[600];
        struct vec3 ball;
        snprintf(text, sizeof text,
                 "field: kid\nduration: 2.5 s\nrobot: %s\nlineup: motion\nrobots: [{name: it, at: [1, 0, 90 deg]}]\n"
                 "events:\n"
                 "  - {at: 2 s, ball: {at: [0, 0.01], of: it, from: kick_place}}\n"
                 "  - {at: 2.1 s, kick: {robot: it, direction: 20 deg}}\n"
                 "measures: [kick_error]\n",
                 rows[i].robot);
        struct nm_result r = play(text, &ball);
        assert_int_equal(r.n_faults, 0);
        if (!(ball.y > rows[i].least && ball.y < rows[i].most)) fail_msg("%s: %g m ahead", rows[i].robot, ball.y);
        assert_true(ball.x < 0.99 && ball.x > 0.9); /* it looks along y: to its left */
        assert_true(isnan(r.values[0][0]));         /* not kicked yet, so nothing is missed yet */
    }
}

static void where_the_ball_goes_is_compared_with_where_it_was_to_go(void **state)
{
    (void)state;
    static const char *const aims[] = {"direction: 20 deg", "to: [-1, 5]"};
    for (int i = 0; i < 2; i++) {
        char text[600];
        struct vec3 ball;
        snprintf(text, sizeof text,
                 "field: kid\nduration: 6.5 s\nrobot: kid70\nlineup: motion\nrobots: [{name: it, at: [1, 0, 90 deg]}]\n"
                 "events:\n"
                 "  - {at: 1.8 s, ball: {at: [0, 0], of: it, from: kick_place}}\n"
                 "  - {at: 2 s, kick: {robot: it, %s}}\n"
                 "measures: [kick_error, ball_direction, ball_distance, fallen]\n",
                 aims[i]);
        struct nm_result r = play(text, &ball);
        assert_int_equal(r.n_faults, 0);
        double asked = i ? atan2(5 - ball.y, -1 - ball.x) : (90 + 20) * M_PI / 180;
        assert_true(r.values[2][0] > 1 && r.values[3][0] == 0);
        assert_near(r.values[0][0], fabs(angle_normal(r.values[1][0] - asked)),
                    0.06); /* it may stand a little turned */
        assert_true(r.values[0][0] < 0.35);
    }
}

/* A kick that is refused leaves nothing to measure, though the ball rolls: it was no kick. */
static void a_refused_kick_has_no_error(void **state)
{
    (void)state;
    struct vec3 ball;
    struct nm_result r =
        play("field: kid\nduration: 5 s\nrobot: kid70\nlineup: motion\nrobots: [{name: it, at: [1, 0, 90 deg]}]\n"
             "ball: {at: [3, 2]}\nevents:\n"
             "  - {at: 2 s, kick: {robot: it, direction: 0}}\n"
             "  - {at: 2.5 s, shoot: {to: [0, 2], speed: 1}}\n"
             "measures: [kick_error, ball_distance]\n",
             &ball);
    assert_true(r.values[1][0] > 0.5);
    assert_true(isnan(r.values[0][0]));
}

/* The robot kicks at the ball that it sees; without one there is nothing to kick at, and the run says so. */
static void a_robot_that_sees_no_ball_cannot_kick_it(void **state)
{
    (void)state;
    struct vec3 ball;
    struct nm_result r =
        play("field: kid\nduration: 2.5 s\nrobot: kid70\nlineup: motion\nrobots: [{name: it, at: [1, 0, 90 deg]}]\n"
             "events: [{at: 2 s, kick: {robot: it, direction: 0, ball: seen}}]\n",
             &ball);
    assert_int_equal(r.n_faults, 1);
    assert_non_null(strstr(r.fault, "sees no ball"));
}

static void a_robot_that_does_not_say_where_is_a_fault_of_the_run(void **state)
{
    (void)state;
    struct vec3 ball;
    struct nm_result r =
        play("field: kid\nduration: 1 s\nrobot: kid70\nlineup: stand\nrobots: [{name: it, at: [1, 0]}]\n"
             "events: [{at: 0.5 s, ball: {at: [0, 0], of: it, from: kick_place}}]\n",
             &ball);
    assert_int_equal(r.n_faults, 1);
    assert_non_null(strstr(r.fault, "has not said where it kicks best"));
}

#define HEAD "field: kid\nduration: 1 s\nrobot: kid70\nlineup: motion\nrobots: [{name: kid, at: [1, 1]}]\n"
static void refuses(const char *happens, const char *sentence)
{
    char text[400];
    struct nm_err err = {0};
    int n = snprintf(text, sizeof text, HEAD "events: [{at: 1 s, %s}]\n", happens);
    assert_null(nm_scenario_parse("test.yaml", text, (size_t)n, NM_ROOT, &err));
    if (!strstr(err.text, sentence)) fail_msg("%s gave: %s", happens, err.text);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    refuses("kick: {robot: kid}", "either `to:` or `direction:`");
    refuses("kick: {robot: kid, to: [1, 1], direction: 0}", "either `to:` or `direction:`");
    refuses("kick: {robot: kid, direction: left}", "number");
    refuses("ball: {at: [0, 0], from: kick_place}", "whose kick_place");
    refuses("ball: {at: [0, 0], of: kid, from: kick_plaice}", "did you mean 'kick_place'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ball_is_laid_where_the_robot_kicks_best),
        cmocka_unit_test(where_the_ball_goes_is_compared_with_where_it_was_to_go),
        cmocka_unit_test(a_refused_kick_has_no_error),
        cmocka_unit_test(a_robot_that_sees_no_ball_cannot_kick_it),
        cmocka_unit_test(a_robot_that_does_not_say_where_is_a_fault_of_the_run),
        cmocka_unit_test(what_is_wrong_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

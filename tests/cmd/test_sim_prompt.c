/* Words at the keyboard steer a running simulation, and a wrong one is answered with the right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/sim_play.h"

struct desk {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct sim_prompt prompt;
    char answer[2000];
};

static void begin(struct desk *d)
{
    struct nm_err err = {0};
    memset(d, 0, sizeof *d);
    nm_registry_init(&d->registry, &d->arena, NULL, NULL);
    assert_int_equal(nm_pitch_read(&d->pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
    struct nm_stage_robot robot = {.name = "kid", .folder = NM_ROOT "/robots/kid70", .start = {-2, 0, 0}};
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    options.root = NM_ROOT;
    options.registry = &d->registry;
    options.pitch = &d->pitch;
    d->stage = nm_stage_new(&robot, 1, &options, &err);
    if (!d->stage) fail_msg("%s", err.text);
    d->prompt.until = INT64_MAX;
}

static void end(struct desk *d)
{
    nm_stage_free(d->stage);
    nm_arena_free(&d->arena);
}

static const char *tell(struct desk *d, const char *line)
{
    memset(d->answer, 0, sizeof d->answer);
    FILE *to = fmemopen(d->answer, sizeof d->answer, "w");
    assert_non_null(to);
    sim_prompt_line(&d->prompt, d->stage, line, to);
    fclose(to);
    return d->answer;
}

static void the_clock_obeys(void **state)
{
    (void)state;
    struct desk d;
    begin(&d);
    tell(&d, "pause");
    assert_true(d.prompt.paused);
    tell(&d, "step 100");
    assert_false(d.prompt.paused);
    assert_int_equal(d.prompt.until, 100000000);
    tell(&d, "step");
    assert_int_equal(d.prompt.until, nm_stage_tick(d.stage));
    tell(&d, "resume");
    assert_true(d.prompt.until == INT64_MAX && !d.prompt.paused);
    tell(&d, "speed 0.5");
    assert_true(d.prompt.speed == 0.5);
    tell(&d, "speed max");
    assert_true(d.prompt.speed == 0);
    tell(&d, "reset 7");
    assert_true(d.prompt.reset && d.prompt.seed == 7);
    tell(&d, "quit");
    assert_true(d.prompt.quit);
    end(&d);
}

static SimCommand_Response order(struct desk *d, SimCommand_Request request)
{
    SimCommand_Response response = {0};
    sim_prompt_command(&d->prompt, d->stage, &request, &response);
    return response;
}

static void viewers_steer_it_too(void **state)
{
    (void)state;
    struct desk d;
    begin(&d);
    assert_true(order(&d, (SimCommand_Request){.command = SimCommand_Request_PAUSE}).paused);
    SimCommand_Request r = {.command = SimCommand_Request_STEP, .duration = 0.25f};
    assert_false(order(&d, r).paused);
    assert_int_equal(d.prompt.until, 250000000);
    r.duration = NAN;
    assert_false(order(&d, r).success);
    assert_false(order(&d, (SimCommand_Request){.command = SimCommand_Request_RESUME}).paused);
    assert_true(d.prompt.until == INT64_MAX);
    r = (SimCommand_Request){.command = SimCommand_Request_SPEED, .speed = 0.5f};
    assert_true(order(&d, r).speed == 0.5f);
    r.speed = -1;
    assert_false(order(&d, r).success);
    assert_true(order(&d, (SimCommand_Request){.command = SimCommand_Request_LOOK}).speed == 0.5f);
    assert_true(order(&d, (SimCommand_Request){.command = SimCommand_Request_RESET, .seed = 7}).success);
    assert_true(d.prompt.reset && d.prompt.seed == 7);
    r = (SimCommand_Request){.command = SimCommand_Request_MOVE, .pose.position = {2, 1, 0}};
    nm_text(r.name, "ball");
    assert_true(order(&d, r).success);
    assert_true(fabs(nm_stage_ball(d.stage, NULL).x - 2) < 1e-9);
    assert_false(order(&d, (SimCommand_Request){.command = 99}).success);
    end(&d);
}

static void things_are_moved_and_looked_at(void **state)
{
    (void)state;
    struct desk d;
    struct nm_whereabouts w;
    begin(&d);
    assert_string_equal(tell(&d, "move kid 1 2 90"), "");
    nm_stage_whereabouts(d.stage, 0, &w);
    assert_true(fabs(w.base_to_field.pos.y - 2) < 1e-9);
    tell(&d, "move ball 3 -1");
    assert_true(fabs(nm_stage_ball(d.stage, NULL).x - 3) < 1e-9);
    tell(&d, "push ball 1 0");
    struct vec3 velocity;
    nm_stage_ball(d.stage, &velocity);
    assert_true(velocity.x > 1);
    assert_string_equal(tell(&d, "break kid servo limp left_knee 2"), "");
    assert_string_equal(tell(&d, "break kid imu lost"), "");
    const char *where = tell(&d, "where");
    assert_non_null(strstr(where, "kid"));
    assert_non_null(strstr(where, "90 deg"));
    assert_non_null(strstr(where, "ball"));
    end(&d);
}

static void wrong_words_are_answered(void **state)
{
    (void)state;
    static const struct {
        const char *line, *answer;
    } rows[] = {
        {"puse", "did you mean 'pause'"},
        {"move kid 1", "move NAME X Y"},
        {"move kid one two", "move NAME X Y"},
        {"move kit 1 2", "there is no body of that name"},
        {"push kid", "push NAME X Y"},
        {"speed -1", "speed X"},
        {"speed", "speed X"},
        {"step 0", "step [MILLISECONDS]"},
        {"reset 3-4", "reset [SEED]"},
        {"set kid", "set ROBOT"},
        {"break kid imu", "break ROBOT FAULT"},
        {"break kid servo limp 3", "no joint of that name"},
        {"break kid servo limp left_knee soon", "a number of seconds"},
        {"set kid a.b=c", "has no line-up"},
        {"help", "pause"},
    };
    struct desk d;
    begin(&d);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(tell(&d, rows[i].line), rows[i].answer)) fail_msg("%s: %s", rows[i].line, d.answer);
    assert_string_equal(tell(&d, ""), "");
    char words[600];
    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    tell(&d, words); /* longer than any line */
    end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_obeys),
        cmocka_unit_test(viewers_steer_it_too),
        cmocka_unit_test(things_are_moved_and_looked_at),
        cmocka_unit_test(wrong_words_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

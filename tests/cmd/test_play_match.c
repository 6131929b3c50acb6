/* How `make play` chooses its eyes: the best that the machine plays fast enough, and a sentence where these are not the
 * best ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/play_match.h"

struct machine {
    double both, classic; /* how fast it plays with each line-up; 0: not at all */
    uint32_t trials;
};

static double trial(void *user, const char *lineup, char *reason, size_t size)
{
    struct machine *m = user;
    m->trials++;
    double fast = !strcmp(lineup, "vision_both") ? m->both : !strcmp(lineup, "vision") ? m->classic : -1;
    assert_true(fast >= 0);
    if (fast == 0) snprintf(reason, size, "%s: no such network", lineup);
    return fast;
}

static void test_the_best_eyes_that_are_fast_enough(void **state)
{
    (void)state;
    static const struct {
        double speed; /* asked for */
        struct machine machine;
        const char *fidelity, *lineup, *sentence;
        uint32_t trials;
    } cases[] = {
        {1, {1.3, 9, 0}, "camera", "vision_both", "", 1},
        {0, {0.2, 9, 0}, "camera", "vision_both", "", 1}, /* as fast as it goes: nobody waits for the clock */
        {1,
         {1.1, 1.3, 0},
         "camera",
         "vision", /* without the reserve, robots that walk would be too slow */
         "robots see with the line-up vision, not with vision_both: with vision_both this machine would play at 1.1 x "
         "real time",
         2},
        {1,
         {0, 1.3, 0},
         "camera",
         "vision",
         "robots see with the line-up vision, not with vision_both: vision_both: no such network",
         2},
        {2,
         {1.3, 1.9, 0},
         "percept",
         NULL,
         "robots get percepts of the simulator, not pictures: with vision this machine would play at 1.9 x real time",
         2},
        {1,
         {0, 0, 0},
         "percept",
         NULL,
         "robots get percepts of the simulator, not pictures: vision: no such network",
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine machine = cases[i].machine;
        struct play_eyes eyes;
        play_choose_eyes(cases[i].speed, trial, &machine, &eyes);
        assert_string_equal(eyes.fidelity, cases[i].fidelity);
        if (cases[i].lineup) assert_string_equal(eyes.lineup, cases[i].lineup);
        assert_string_equal(eyes.sentence, cases[i].sentence);
        assert_int_equal(machine.trials, cases[i].trials);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_best_eyes_that_are_fast_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

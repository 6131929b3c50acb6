/* labels: slow
 * Light that changes and cameras that fail: a fault is reported once, and the ball is found again within a second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "cmd/vision_trouble.h"

static const uint64_t scenes[] = {910001, 910002};

static void the_ball_is_found_again_within_a_second(void **state)
{
    (void)state;
    static struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    snprintf(setup.root, sizeof setup.root, "%s", NM_ROOT);
    const struct nm_body *body = nm_body_load(&setup.arena, NM_ROOT "/robots/kid70", &err);
    struct vision_studio *studio = body ? vision_studio_new(&setup.arena, setup.root, body, &err) : NULL;
    if (!studio) fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        for (int t = 0; t < VISION_TROUBLES; t++) {
            struct trouble_result r;
            if (vision_trouble(&setup, body, studio, scenes[i], (enum vision_trouble)t, &r, &err))
                fail_msg("%s", err.text);
            uint32_t faults = t == TROUBLE_LIGHT_OFF || t >= TROUBLE_UNPLUGGED; /* no light is a fault like any other */
            if (!r.seen) fail_msg("%s: the ball of scene %u is not found before", vision_troubles[t], (unsigned)i);
            if (!(r.back <= 1)) fail_msg("%s, scene %u: lost for %.1f s", vision_troubles[t], (unsigned)i, r.back);
            if (r.reported != faults || r.relieved != faults)
                fail_msg("%s: reported %u times, and %u times that it is over", vision_troubles[t], r.reported,
                         r.relieved);
        }
    setup_end(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_ball_is_found_again_within_a_second)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

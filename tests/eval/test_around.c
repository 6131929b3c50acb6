/* labels: slow
 * What a camera tells beside percepts: in a hall that it has seen from one half, the compass knows from everywhere
 * which way the robot looks, also if the robot believes to be on the wrong side; and a robot that walks two metres
 * knows how far it came by the carpet that it saw. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cmd/around_trial.h"

static struct setup setup;
static const struct nm_body *body;

static uint64_t seeds(uint64_t first, uint32_t *n)
{
    const char *from = getenv("NM_SEED"), *count = getenv("NM_SEEDS");
    *n = count ? (uint32_t)strtoul(count, NULL, 10) : 1;
    return from ? strtoull(from, NULL, 10) : first;
}

static void the_compass_knows_the_side(void **state)
{
    (void)state;
    uint32_t n;
    uint64_t first = seeds(1, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_err err = {0};
        struct compass_trial t = {.seed = first + i, .learn = 60, .ask = 60};
        if (compass_trial(&setup, body, &t, &err)) fail_msg("%s", err.text);
        print_message("hall %u: %u of 60 told, %u right, %.1f degrees, %.2f ms\n", (unsigned)(first + i), t.told,
                      t.right, t.error * 180 / M_PI, 1e3 * t.seconds);
        assert_true(t.told >= 15);
        assert_true(t.right >= 0.9 * t.told);
        assert_true(t.error < 20 * M_PI / 180);
    }
}

static void the_carpet_tells_the_way(void **state)
{
    (void)state;
    uint32_t n;
    uint64_t first = seeds(1, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_err err = {0};
        struct way_trial t = {.seed = first + i, .way = 2};
        if (way_trial(&setup, &t, &err)) fail_msg("%s", err.text);
        print_message("way %u: %.1f cm after 2 m, by the legs %.1f cm\n", (unsigned)(first + i), 100 * t.error,
                      100 * t.legs);
        assert_true(t.error < 0.2);
    }
}

static int begin(void **state)
{
    (void)state;
    struct nm_err err = {0};
    setup_begin(&setup);
    body = nm_body_load(&setup.arena, NM_ROOT "/robots/kid70", &err);
    return body ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    setup_end(&setup);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compass_knows_the_side),
        cmocka_unit_test(the_carpet_tells_the_way),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

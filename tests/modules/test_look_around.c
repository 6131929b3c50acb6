/* The head visits all its poses, and waits where somebody clicks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "core/harness.h"
#include "geometry_msgs/PointStamped.h"
#include "nutmeg_msgs/HeadCommand.h"

extern const struct nm_module look_around_module;

static void all_poses_are_visited(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&look_around_module, "start=1, rest=0.5");
    float seen[64][2];
    uint32_t n = 0;
    for (int i = 0; i < 20; i++) nm_harness_step(h, 0.04);
    assert_null(nm_harness_get(h, "head_command"));
    for (int i = 0; i < 200; i++) {
        nm_harness_step(h, 0.05);
        const HeadCommand *c = nm_harness_get(h, "head_command");
        bool known = !c;
        for (uint32_t k = 0; k < n && c; k++) known |= seen[k][0] == c->pan && seen[k][1] == c->tilt;
        if (!known && n < 64) seen[n][0] = c->pan, seen[n++][1] = c->tilt;
    }
    assert_int_equal(n, 12);
    nm_harness_free(h);
}

static void a_click_makes_it_wait(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&look_around_module, "start=0, rest=0.5, patience=5");
    nm_harness_step(h, 0.1);
    float pan = ((const HeadCommand *)nm_harness_get(h, "head_command"))->pan;
    nm_harness_set(h, "clicked_point");
    for (int i = 0; i < 40; i++) {
        nm_harness_step(h, 0.1);
        assert_true(((const HeadCommand *)nm_harness_get(h, "head_command"))->pan == pan);
    }
    for (int i = 0; i < 15; i++) nm_harness_step(h, 0.1);
    assert_true(((const HeadCommand *)nm_harness_get(h, "head_command"))->pan != pan);
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_poses_are_visited),
        cmocka_unit_test(a_click_makes_it_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pictures for training: the same ones from the same seed, and labels that fit what is drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/studio.h"

enum { W = 160, H = 120, SHOTS = 60 };

static void same_from_the_same_seed(void **state)
{
    (void)state;
    struct nm_shot *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    a->width = b->width = W, a->height = b->height = H;
    a->rgb = malloc(3 * W * H), b->rgb = malloc(3 * W * H);
    for (uint64_t i = 0; i < 3; i++) {
        nm_studio_take(7, i, a);
        nm_studio_take(7, i, b);
        assert_memory_equal(a->rgb, b->rgb, 3 * W * H);
        assert_int_equal(a->n_labels, b->n_labels);
        assert_memory_equal(a->labels, b->labels, a->n_labels * sizeof *a->labels);
        nm_studio_take(8, i, b);
        assert_memory_not_equal(a->rgb, b->rgb, 3 * W * H);
    }
    free(a->rgb), free(b->rgb), free(a), free(b);
}

/* Over many pictures a ball is brighter or darker than its frame, every class comes up, and half of the patches that
 * should show one are not the same as the others. */
static void labels_fit_the_pictures(void **state)
{
    (void)state;
    uint32_t seen[NM_SEEN_KINDS] = {0}, balls = 0, others = 0;
    double spread[2] = {0}; /* how much the middle of a patch differs from its corners: of others, of balls */
    struct nm_shot *s = calloc(1, sizeof *s);
    s->width = W, s->height = H, s->rgb = malloc(3 * W * H);
    for (uint64_t i = 0; i < SHOTS; i++) {
        nm_studio_take(3, i, s);
        for (uint32_t k = 0; k < s->n_labels; k++) {
            const struct nm_label *l = &s->labels[k];
            seen[l->kind]++;
            assert_true(l->y >= -0.5f && l->y < H && l->x > -0.2f * W && l->x < 1.2f * W);
            assert_true(l->shown >= 0 && l->shown <= 1 && l->distance >= 0);
        }
        for (uint32_t k = 0; k < s->n_patches; k++) {
            const uint8_t *p = s->patch[k];
            double middle = 0, rim = 0;
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 8; x++) {
                    middle += p[(y + 12) * 32 + x + 12];
                    rim +=
                        (p[y * 32 + x] + p[y * 32 + 31 - x] + p[(31 - y) * 32 + x] + p[(31 - y) * 32 + 31 - x]) / 4.0;
                }
            spread[s->patch_is_ball[k]] += abs((int)(middle - rim)) / 64.0;
            *(s->patch_is_ball[k] ? &balls : &others) += 1;
        }
    }
    for (int k = 0; k < NM_SEEN_KINDS; k++) assert_true(seen[k] > 0);
    assert_true(balls > 15 && others > 100);
    assert_true(spread[1] / balls > 1.5 * spread[0] / others);
    free(s->rgb), free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_from_the_same_seed),
        cmocka_unit_test(labels_fit_the_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

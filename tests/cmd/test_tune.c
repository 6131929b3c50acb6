/* A search that was interrupted goes on as if it had not been; a file of another search, or a broken one, is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "body/animation.h"
#include "cmd/tune.h"

static const struct nm_param params[] = {
    {.name = "lift", .kind = NM_PARAM_DOUBLE, .min = 0, .max = 1},
    {.name = "legs", .kind = NM_PARAM_DOUBLES, .size = 3 * sizeof(double), .min = -1, .max = 1},
    {.name = "tries", .kind = NM_PARAM_INT32, .min = 0, .max = 9},
};

static void fill(struct tune *t, struct nm_arena *arena)
{
    const double start[4] = {0.5, 0.5, 0.5, 0.5};
    *t = (struct tune){.params = {.n = 4}};
    t->params.at[0] = (struct tune_param){
        .instance = "walk", .param = &params[0], .element = 0, .low = 0.1, .high = 0.3, .value = 0.2, .before = {0}};
    t->params.at[1] = (struct tune_param){.instance = "hold",
                                          .param = &params[1],
                                          .element = 2,
                                          .low = -0.5,
                                          .high = 0.5,
                                          .value = 0,
                                          .before = {.number = {0.1, 0.2, 0}}};
    t->params.at[2] = (struct tune_param){.instance = "hold",
                                          .param = &params[1],
                                          .element = 0,
                                          .low = -0.5,
                                          .high = 0.5,
                                          .value = 0.1,
                                          .before = {.number = {0.1, 0.2, 0}}};
    t->params.at[3] = (struct tune_param){
        .instance = "hcm", .param = &params[2], .element = 0, .low = 1, .high = 5, .value = 3, .before = {.whole = 3}};
    t->cma = nm_cma_new(arena, 4, start, NULL, 0.2, 6, 42);
}

/* A bowl whose lowest point is off the middle. */
static void play(struct tune *t)
{
    double scores[16];
    for (uint32_t k = 0; k < t->cma->population; k++) {
        const double *x = nm_cma_candidate(t->cma, k);
        scores[k] = 0;
        for (uint32_t i = 0; i < 4; i++) scores[k] += pow(x[i] - 0.2 * i, 2);
    }
    nm_cma_tell(t->cma, scores);
    t->history = realloc(t->history, (t->n_history + 1) * sizeof *t->history);
    t->history[t->n_history++] = (struct tune_generation){-scores[0], -scores[1], t->cma->sigma};
}

static void it_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct tune a, b;
    char path[] = "tune_state_XXXXXX";
    close(mkstemp(path));
    fill(&a, &arena);
    fill(&b, &arena);
    for (int i = 0; i < 5; i++) play(&a);
    assert_int_equal(tune_save(&a, path, &err), 0);
    if (tune_load(&b, path, &err)) fail_msg("%s", err.text);
    assert_int_equal(b.n_history, 5);
    for (int i = 0; i < 5; i++) play(&a), play(&b);
    assert_true(a.cma->generation == b.cma->generation);
    assert_true(!memcmp(a.cma->mean, b.cma->mean, 4 * sizeof(double)));
    assert_true(!memcmp(a.cma->candidates, b.cma->candidates, 24 * sizeof(double)));
    free(a.history);
    free(b.history);
    unlink(path);
    nm_arena_free(&arena);
}

static void another_search_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct tune a, b;
    char path[] = "tune_state_XXXXXX", text[8000] = "";
    close(mkstemp(path));
    fill(&a, &arena);
    play(&a);
    assert_int_equal(tune_save(&a, path, NULL), 0);
    fill(&b, &arena);
    b.params.at[0].high = 0.4;
    struct nm_err err = {0};
    assert_int_equal(tune_load(&b, path, &err), -1);
    assert_non_null(strstr(err.text, "walk.lift"));
    /* cut short anywhere, or with a number that is none, it is told and nothing else happens */
    FILE *file = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (size_t cut = 0; cut < n; cut += 97) {
        file = fopen(path, "w");
        fwrite(text, 1, cut, file);
        fclose(file);
        struct nm_err why = {0};
        fill(&b, &arena);
        if (!tune_load(&b, path, &why)) fail_msg("%zu bytes of %zu were taken", cut, n);
        assert_true(why.n > 0);
        free(b.history);
    }
    free(a.history);
    unlink(path);
    nm_arena_free(&arena);
}

static void settings_name_every_parameter_once(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct tune t;
    static char text[TUNE_PARAMS][TUNE_TEXT];
    const double x[4] = {0.5, 2, 0, 0.6};
    fill(&t, &arena);
    assert_int_equal(tune_settings(&t.params, x, text), 3);
    assert_string_equal(text[0], "walk.lift=0.2");
    assert_string_equal(text[1], "hold.legs=[-0.5, 0.2, 0.5]"); /* beyond its range: at its end; the rest as it was */
    assert_string_equal(text[2], "hcm.tries=3");
    char *yaml = NULL;
    size_t size;
    FILE *to = open_memstream(&yaml, &size);
    tune_print(&t.params, x, to);
    fclose(to);
    assert_string_equal(yaml, "walk:\n  lift: 0.2\nhold:\n  legs: [-0.5, 0.2, 0.5]\nhcm:\n  tries: 3\n");
    free(yaml);
    nm_arena_free(&arena);
}

static void a_plot_has_a_line_for_best_and_mean(void **state)
{
    (void)state;
    const struct tune_generation history[3] = {{1, 0.5, 0.2}, {NAN, NAN, 0.2}, {2, 1.5, 0.1}};
    for (uint32_t n = 0; n <= 3; n++) {
        char *svg = NULL;
        size_t size;
        FILE *to = open_memstream(&svg, &size);
        tune_plot(history, n, "a <b> & c", to);
        fclose(to);
        assert_non_null(strstr(svg, "</svg>"));
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "<b>"));
        free(svg);
    }
}

/* Key frames: zero is meant, everything else is searched; a candidate's folder has all of the robot, and its frames. */
static void key_frames_become_a_folder(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct tune_params all = {0};
    const char *robot = NM_ROOT "/robots/kid70";
    double x[TUNE_PARAMS], duration;
    if (tune_add_animation(&all, &arena, robot, "get_up_front", &err)) fail_msg("%s", err.text);
    assert_true(all.n > 20);
    for (uint32_t i = 0; i < all.n; i++) {
        assert_true(all.at[i].value != 0 && all.at[i].low <= all.at[i].value && all.at[i].value <= all.at[i].high);
        x[i] = 1;
    }
    assert_string_equal(all.at[0].param->name, "duration");
    duration = all.at[0].high;
    const char *made = tune_make_folder(&all, x, &arena, robot, &err);
    if (!made) fail_msg("%s", err.text);
    const struct nm_body *body = nm_body_load(&arena, made, &err), *old = nm_body_load(&arena, robot, &err);
    if (!body || !old) fail_msg("%s", err.text);
    const struct nm_animation *found = nm_find_animation(body, "get_up_front"),
                              *before = nm_find_animation(old, "get_up_front");
    assert_non_null(found);
    assert_int_equal(found->n_frames, before->n_frames);
    assert_int_equal(body->n_animations, old->n_animations);
    assert_true(fabs(found->frames[0].at - duration) < 1e-3);
    tune_drop_folder(&arena, made);
    assert_true(access(made, F_OK) != 0 && access(NM_ROOT "/robots/kid70/animations/get_up_front.yaml", F_OK) == 0);
    assert_int_equal(tune_add_animation(&all, &arena, robot, "get_down", &err), -1);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_with_the_same_bits),      cmocka_unit_test(another_search_is_refused),
        cmocka_unit_test(settings_name_every_parameter_once), cmocka_unit_test(a_plot_has_a_line_for_best_and_mean),
        cmocka_unit_test(key_frames_become_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Transforms with a past: against composition by hand, and the refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/tf.h"

static double uniform(double a, double b) { return a + (b - a) * drand48(); }
static struct pose3 any_pose(void)
{
    return (struct pose3){quat_rpy(uniform(-3, 3), uniform(-1.5, 1.5), uniform(-3, 3)),
                          {uniform(-2, 2), uniform(-2, 2), uniform(-2, 2)}};
}
static void assert_same(struct pose3 a, struct pose3 b)
{
    double sign = a.rot.w * b.rot.w + a.rot.x * b.rot.x + a.rot.y * b.rot.y + a.rot.z * b.rot.z < 0 ? -1 : 1;
    const double d[] = {a.pos.x - b.pos.x,        a.pos.y - b.pos.y,        a.pos.z - b.pos.z,
                        a.rot.w - sign * b.rot.w, a.rot.x - sign * b.rot.x, a.rot.y - sign * b.rot.y,
                        a.rot.z - sign * b.rot.z};
    for (int i = 0; i < 7; i++) assert_true(fabs(d[i]) < 1e-12);
}

/* a tree of 40 frames, each below a random earlier one; every pair against the product of the poses up to the root */
static void any_two_frames_of_a_tree(void **state)
{
    (void)state;
    enum { N = 40 };
    struct nm_arena arena = {0};
    struct tf_tree *tree = tf_new(&arena);
    struct pose3 to_root[N] = {POSE_IDENTITY};
    char name[N][16] = {"map"};
    srand48(7);
    for (int i = 1; i < N; i++) {
        int parent = (int)(drand48() * i);
        struct pose3 pose = any_pose();
        snprintf(name[i], sizeof name[i], "frame_%d", i);
        assert_true(tf_put(tree, name[parent], name[i], 1000, pose, i % 3 == 0));
        to_root[i] = pose_mul(to_root[parent], pose);
    }
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) {
            struct pose3 got;
            assert_true(tf_get(tree, name[a], name[b], 0, &got));
            assert_same(got, pose_mul(pose_inv(to_root[b]), to_root[a]));
        }
    nm_arena_free(&arena);
}

static void the_past_is_interpolated_and_ends(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct tf_tree *tree = tf_new(&arena);
    struct pose3 got;
    for (int64_t t = 0; t < 400; t++) {
        struct pose3 pose = {quat_rpy(0, 0, 0.001 * (double)t), {0.01 * (double)t, 0, 0}};
        assert_true(tf_put(tree, "odom", "torso", t * 10 + 10, pose, false));
    }
    assert_true(tf_get(tree, "torso", "odom", 3005, &got));
    assert_same(got, (struct pose3){quat_rpy(0, 0, 0.2995), {2.995, 0, 0}});
    assert_true(tf_get(tree, "torso", "odom", 0, &got));
    assert_same(got, (struct pose3){quat_rpy(0, 0, 0.399), {3.99, 0, 0}});
    assert_false(tf_get(tree, "torso", "odom", 4001, &got));                 /* the future */
    assert_false(tf_get(tree, "torso", "odom", 10, &got));                   /* forgotten  */
    assert_true(tf_get(tree, "torso", "odom", (400 - 256) * 10 + 10, &got)); /* the oldest kept */
    nm_arena_free(&arena);
}

static void what_makes_no_tree_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct tf_tree *tree = tf_new(&arena);
    struct pose3 got, broken = POSE_IDENTITY;
    broken.pos.x = NAN;
    assert_true(tf_put(tree, "a", "b", 1, POSE_IDENTITY, false));
    assert_true(tf_put(tree, "b", "c", 1, POSE_IDENTITY, false));
    assert_false(tf_put(tree, "c", "a", 1, POSE_IDENTITY, false));
    assert_false(tf_put(tree, "a", "a", 1, POSE_IDENTITY, false));
    assert_false(tf_put(tree, "a", "d", 1, broken, false));
    assert_false(tf_put(tree, "a", "", 1, POSE_IDENTITY, false));
    assert_false(tf_put(tree, "a", "b", 1, POSE_IDENTITY, false)); /* not newer */
    assert_false(tf_get(tree, "a", "nobody", 0, &got));
    assert_true(tf_put(tree, "x", "y", 1, POSE_IDENTITY, false));
    assert_false(tf_get(tree, "a", "y", 0, &got));
    char name[16];
    int added = 0;
    for (int i = 0; i < 2 * TF_FRAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        added += tf_put(tree, "a", name, 1, POSE_IDENTITY, false);
    }
    assert_true(added <= TF_FRAMES);
    nm_arena_free(&arena);
}

/* As bytes and back: every pair of frames at every time as before; bytes that make no sense leave an empty tree. */
static void a_tree_is_saved_and_loaded(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct tf_tree *tree = tf_new(&arena), *again = tf_new(&arena);
    static const char *const names[] = {"map", "odom", "base", "head", "camera"};
    uint8_t *bytes = malloc(tf_most());
    srand48(3);
    for (int t = 1; t <= 3 * TF_SAMPLES; t++)
        for (int i = 1; i < 4; i++) tf_put(tree, names[i - 1], names[i], t, any_pose(), false);
    tf_put(tree, "head", "camera", 1, any_pose(), true);
    size_t n = tf_save(tree, bytes, tf_most());
    assert_in_range(n, 1000, tf_most());
    assert_int_equal(tf_save(tree, bytes, n - 1), 0);
    assert_int_equal(tf_save(tree, bytes, n), n);
    assert_int_equal(tf_load(again, bytes, n), 0);
    for (int t = 2 * TF_SAMPLES - 5; t <= 3 * TF_SAMPLES + 1; t++)
        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++) {
                struct pose3 was, is;
                bool known = tf_get(tree, names[a], names[b], t, &was);
                assert_int_equal(tf_get(again, names[a], names[b], t, &is), known);
                if (known) assert_same(was, is);
            }
    struct pose3 pose;
    for (size_t cut = 0; cut < n; cut += 101) {
        assert_int_equal(tf_load(again, bytes, cut), -1);
        assert_false(tf_get(again, "map", "camera", 0, &pose));
    }
    for (int i = 0; i < 2000; i++) {
        uint8_t *damaged = malloc(n);
        for (size_t k = 0; k < n; k++) damaged[k] = bytes[k];
        for (int k = 0; k < 4; k++) damaged[(size_t)lrand48() % (k ? 400 : n)] = (uint8_t)lrand48();
        if (!tf_load(again, damaged, n)) tf_get(again, "map", "camera", 0, &pose);
        free(damaged);
    }
    free(bytes);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_frames_of_a_tree),
        cmocka_unit_test(the_past_is_interpolated_and_ends),
        cmocka_unit_test(what_makes_no_tree_is_refused),
        cmocka_unit_test(a_tree_is_saved_and_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* labels: slow
 * Learning: the same seed gives the same bits with any number of threads, a checkpoint goes on where it was, the file
 * of the policy is the policy, and what is damaged is refused. That it learns is seen in reward that rises. */
#include "learn/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nn/onnx.h"

static struct nm_trainer *begin(const struct rig *rig, uint32_t worlds, uint32_t threads, uint64_t seed)
{
    struct nm_err err = {0};
    struct nm_learn_options options = {.seed = seed, .worlds = worlds, .threads = threads};
    struct nm_trainer *t = nm_trainer_new(rig->body, &rig->pitch, &options, &err);
    if (!t) fail_msg("%s", err.text);
    return t;
}

static void batches(struct nm_trainer *t, int n)
{
    struct nm_err err = {0};
    while (n--)
        if (nm_trainer_batch(t, &err)) fail_msg("%s", err.text);
}

static void same_bits_with_any_threads(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    size_t n[3];
    char *bytes[3];
    for (uint32_t i = 0; i < 3; i++) {
        struct nm_trainer *t = begin(&rig, 8, i == 1 ? 3 : 1, i == 2 ? 6 : 5);
        batches(t, 2);
        bytes[i] = rig_policy(t, &n[i]);
        nm_trainer_free(t);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    assert_memory_not_equal(bytes[0], bytes[2], n[0]); /* another seed is another policy */
    for (int i = 0; i < 3; i++) free(bytes[i]);
    rig_end(&rig);
}

/* What the file says in the mirror is the mirror image of what it says: the network is symmetric. */
static void the_policy_is_symmetric(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    rig_begin(&rig, "kid70");
    struct nm_trainer *t = begin(&rig, 8, 1, 2);
    batches(t, 1);
    struct nm_net *net = nm_trainer_net(t, &err);
    float obs[NM_GAIT_OBS], act[NM_GAIT_ACTS];
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    for (int round = 0; round < 20; round++) {
        double size = 0;
        for (int i = 0; i < NM_GAIT_OBS; i++) obs[i] = nm_net_input(net, 0)[i] = (float)nm_dice_gauss(&dice);
        nm_net_run(net);
        memcpy(act, nm_net_output(net, 0), sizeof act);
        for (int i = 0; i < NM_GAIT_OBS; i++)
            nm_net_input(net, 0)[i] = rig.gait.obs[i].sign * obs[rig.gait.obs[i].from];
        nm_net_run(net);
        for (int i = 0; i < NM_GAIT_ACTS; i++) {
            assert_true(fabsf(nm_net_output(net, 0)[i] - rig.gait.act[i].sign * act[rig.gait.act[i].from]) < 1e-5f);
            size += fabs((double)act[i]);
        }
        assert_true(size > 1e-4);
    }
    assert_string_equal(nm_net_note(net, "robot"), "kid70");
    assert_non_null(strstr(nm_net_note(net, "gait"), "left_knee"));
    nm_net_free(net);
    nm_trainer_free(t);
    rig_end(&rig);
}

static void a_checkpoint_goes_on(void **state)
{
    (void)state;
    struct rig rig, other;
    struct nm_err err = {0};
    char path[] = "/tmp/nutmeg-learn-XXXXXX";
    close(mkstemp(path));
    rig_begin(&rig, "kid70");
    rig_begin(&other, "darwin");
    struct nm_trainer *t = begin(&rig, 8, 1, 3), *again = begin(&rig, 8, 1, 3), *once_more = begin(&rig, 8, 2, 3),
                      *stranger = begin(&other, 8, 1, 3);
    batches(t, 2);
    assert_int_equal(nm_trainer_save(t, path, &err), 0);
    assert_int_equal(nm_trainer_load(again, path, &err), 0);
    size_t n, m;
    uint32_t rows, same;
    void *one = rig_policy(t, &n), *two = rig_policy(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    const struct nm_learned *curve = nm_trainer_curve(t, &rows), *kept = nm_trainer_curve(again, &same);
    assert_int_equal(rows, same);
    assert_memory_equal(curve, kept, rows * sizeof *curve);
    free(two);
    batches(again, 1);
    assert_int_equal(nm_trainer_load(once_more, path, &err), 0); /* whoever goes on from a file goes on alike */
    batches(once_more, 1);
    void *three = rig_policy(once_more, &n);
    two = rig_policy(again, &m);
    assert_int_equal(n, m);
    assert_memory_equal(two, three, n);
    free(three);
    kept = nm_trainer_curve(again, &same);
    assert_int_equal(same, 3);
    assert_true(kept[2].steps == 3 * 8 * 32 && kept[2].seconds > kept[1].seconds);

    /* of another robot, cut, changed, not there */
    assert_int_equal(nm_trainer_load(stranger, path, &err), -1);
    assert_non_null(strstr(err.text, "kid70"));
    FILE *file = fopen(path, "r+b");
    fseek(file, 5000, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, 5000, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    err = (struct nm_err){0};
    assert_int_equal(nm_trainer_load(again, path, &err), -1);
    assert_non_null(strstr(err.text, "damaged"));
    assert_int_equal(truncate(path, 4000), 0);
    assert_int_equal(nm_trainer_load(again, path, &err), -1);
    assert_int_equal(truncate(path, 3), 0);
    err = (struct nm_err){0};
    assert_int_equal(nm_trainer_load(again, path, &err), -1);
    assert_non_null(strstr(err.text, "no checkpoint"));
    unlink(path);
    assert_int_equal(nm_trainer_load(again, path, &err), -1);
    batches(again, 1); /* refused files leave it as it was */
    free(one), free(two);
    nm_trainer_free(t), nm_trainer_free(again), nm_trainer_free(once_more), nm_trainer_free(stranger);
    rig_end(&rig), rig_end(&other);
}

/* Actions that did better than the critic thought become more probable: in every batch, by the same samples. */
static void better_actions_become_more_probable(void **state)
{
    (void)state;
    struct rig rig;
    uint32_t n;
    rig_begin(&rig, "kid70");
    struct nm_trainer *t = begin(&rig, 16, 2, 1);
    batches(t, 4);
    const struct nm_learned *curve = nm_trainer_curve(t, &n);
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(curve[i].gain > 0.01);
        assert_true(curve[i].change > 0 && curve[i].change < 0.5);
        assert_true(isfinite(curve[i].reward) && curve[i].watts > 10 && curve[i].noise > 0.05);
    }
    nm_trainer_free(t);
    rig_end(&rig);
}

/* The test plays what the file of the policy says, on seeds of its own, and counts falls. */
static void the_test_judges_every_way(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    struct nm_learn_score a[NM_LEARN_SCORES], b[NM_LEARN_SCORES];
    rig_begin(&rig, "kid70");
    struct nm_trainer *t = begin(&rig, 8, 2, 1);
    assert_int_equal(nm_trainer_test(t, 50001, 2, 2, a, &err), 0);
    assert_int_equal(nm_trainer_test(t, 50001, 2, 2, b, &err), 0);
    assert_memory_equal(a, b, sizeof a);
    for (int kind = 0; kind < NM_LEARN_SCORES; kind++) {
        assert_int_equal(a[kind].runs, kind == NM_LEARN_PUSHED ? 8 : 2);
        assert_true(a[kind].falls <= a[kind].runs);
        assert_true(kind == NM_LEARN_STAND ? a[kind].asked == 0 : a[kind].asked > 0.1);
    }
    assert_int_equal(a[NM_LEARN_STAND].falls, 0);
    assert_true(a[NM_LEARN_PUSHED].falls > 0); /* who has learned nothing does not stand such a push */
    nm_trainer_free(t);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_with_any_threads), cmocka_unit_test(the_policy_is_symmetric),
        cmocka_unit_test(a_checkpoint_goes_on),       cmocka_unit_test(better_actions_become_more_probable),
        cmocka_unit_test(the_test_judges_every_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* labels: slow
 * Polishing: a few generations make full speed ahead cheaper by its own measure, in worlds that the search did not see;
 * the same seed gives the same bits with any number of threads and after a break; commands other than full speed
 * ahead are answered bit for bit as before; learning on understands the result; what is damaged is refused. */
#include "learn/rig.h"

#include <stdlib.h>
#include <unistd.h>

#include "learn/correction.h"
#include "learn/polish.h"

static const struct nm_polish_options TINY = {.seed = 3, .worlds = 8, .candidates = 6, .threads = 2, .seconds = 4};

/* With the robot's policy as it was before anybody polished it. */
static struct nm_polish *begin(const struct rig *rig, const struct nm_polish_options *options, struct nm_err *err)
{
    const struct nm_learn_options learn = {.seed = 3, .worlds = 8, .threads = 1};
    struct nm_net *own = nm_onnx_load(NM_ROOT "/robots/kid70/walk.onnx", err);
    struct nm_trainer *t = nm_trainer_new(rig->body, &rig->pitch, &learn, err);
    if (!own || !t || nm_trainer_inherit(t, rig->body, own, err)) fail_msg("%s", err->text);
    struct nm_net *net = nm_trainer_net(t, err);
    struct nm_polish *p = net ? nm_polish_new(rig->body, &rig->pitch, net, options, err) : NULL;
    nm_net_free(net), nm_net_free(own);
    nm_trainer_free(t);
    return p;
}

static void generations(struct nm_polish *p, int n)
{
    struct nm_err err = {0};
    while (n--)
        if (nm_polish_generation(p, &err)) fail_msg("%s", err.text);
}

static void *bytes_of(const struct nm_polish *p, bool polished, size_t *n)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_polish_net(p, polished, &err);
    if (!net) fail_msg("%s", err.text);
    void *bytes = nm_onnx_write(net, n);
    nm_net_free(net);
    return bytes;
}

/* How much the answers of both policies differ on average while the old one walks as it is asked. */
static double differ(const struct rig *rig, const struct nm_polish *p, double ahead, double turn)
{
    struct nm_err err = {0};
    struct nm_net *before = nm_polish_net(p, false, &err), *after = nm_polish_net(p, true, &err);
    struct nm_walking w;
    double sum = 0;
    if (!before || !after || nm_walking_new_hard(&w, &rig->gait, &rig->pitch, 5, &err)) fail_msg("%s", err.text);
    nm_walking_reset(&w);
    w.target[0] = ahead, w.target[2] = turn;
    for (int period = 0; period < 200; period++) {
        struct nm_walked walked;
        nm_walking_observe(&w, nm_net_input(before, 0), NULL);
        memcpy(nm_net_input(after, 0), nm_net_input(before, 0), NM_GAIT_OBS * sizeof(float));
        *nm_net_input(before, 1) = *nm_net_input(after, 1) = 0;
        nm_net_run(before), nm_net_run(after);
        for (int k = 0; k < NM_GAIT_ACTS && period >= 100; k++)
            sum += fabs((double)(nm_net_output(after, 0)[k] - nm_net_output(before, 0)[k])) / (100 * NM_GAIT_ACTS);
        nm_walking_step(&w, nm_net_output(before, 0), &walked);
    }
    nm_walking_free(&w);
    nm_net_free(before), nm_net_free(after);
    return sum;
}

/* Who polishes again begins with what was found. Who learns to walk slowly keeps it, also in a checkpoint; the network
 * itself is learned on without it. */
static void learns_on(const struct rig *rig, const struct nm_polish *p)
{
    struct nm_err err = {0};
    struct nm_correction found, kept;
    struct nm_net *net = nm_polish_net(p, true, &err);
    if (!net || nm_correction_read(&found, net, &err)) fail_msg("%s", err.text);
    struct nm_polish *next = nm_polish_new(rig->body, &rig->pitch, net, &TINY, &err);
    struct nm_net *start = next ? nm_polish_net(next, false, &err) : NULL;
    if (!start || nm_correction_read(&kept, start, &err)) fail_msg("%s", err.text);
    assert_memory_equal(&kept, &found, sizeof kept);
    for (int slow = 0; slow < 2; slow++) {
        char path[] = "/tmp/nutmeg-polish-XXXXXX";
        close(mkstemp(path));
        struct nm_learn_options options = {.seed = 3, .worlds = 8, .threads = 1, .slow = slow};
        struct nm_trainer *one = nm_trainer_new(rig->body, &rig->pitch, &options, &err),
                          *two = nm_trainer_new(rig->body, &rig->pitch, &options, &err);
        if (!one || !two || nm_trainer_inherit(one, rig->body, net, &err) || nm_trainer_save(one, path, &err) ||
            nm_trainer_load(two, path, &err))
            fail_msg("%s", err.text);
        struct nm_net *learned = nm_trainer_net(two, &err);
        if (!learned) fail_msg("%s", err.text);
        assert_int_equal(nm_correction_read(&kept, learned, &err), slow ? 0 : 1);
        assert_memory_equal(&kept, &found, sizeof kept);
        nm_net_free(learned);
        nm_trainer_free(one), nm_trainer_free(two);
        unlink(path);
    }
    nm_net_free(net), nm_net_free(start);
    nm_polish_free(next);
}

static void it_becomes_cheaper_and_goes_on_after_a_break(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    struct nm_polish_figures figures[2];
    char path[] = "/tmp/nutmeg-polish-XXXXXX";
    size_t n, m;
    uint32_t rows;
    close(mkstemp(path));
    rig_begin(&rig, "kid70");
    struct nm_polish *p = begin(&rig, &TINY, &err);
    if (!p) fail_msg("%s", err.text);
    assert_true(nm_polish_explained(p) > 0.9);
    generations(p, 2);
    assert_int_equal(nm_polish_save(p, path, &err), 0);
    generations(p, 2);

    assert_int_equal(nm_polish_judge(p, 60001, 16, figures, &err), 0);
    assert_true(figures[0].speed > 1 && figures[0].joules > 30 && figures[0].footfall > 50 && figures[0].falls == 0);
    assert_true(figures[1].cost < figures[0].cost);
    double fast = differ(&rig, p, 1.5, 0), slow = differ(&rig, p, 1, 0), back = differ(&rig, p, -0.85, 0);
    print_message("answers differ by %.4f at full speed ahead\n", fast);
    assert_true(fast > 0.01 && slow == 0 && back == 0 && differ(&rig, p, 0, 4) == 0 && differ(&rig, p, 1.5, 1.5) == 0);
    learns_on(&rig, p);

    struct nm_polish_options alone = TINY;
    alone.threads = 1;
    struct nm_polish *again = begin(&rig, &alone, &err);
    if (!again || nm_polish_load(again, path, &err)) fail_msg("%s", err.text);
    generations(again, 2);
    void *one = bytes_of(p, true, &n), *two = bytes_of(again, true, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    nm_polish_curve(again, &rows);
    assert_int_equal(rows, 4);

    /* changed, cut, not there */
    FILE *file = fopen(path, "r+b");
    fseek(file, 5000, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, 5000, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_int_equal(nm_polish_load(again, path, &err), -1);
    assert_non_null(strstr(err.text, "damaged"));
    assert_int_equal(truncate(path, 3), 0);
    err = (struct nm_err){0};
    assert_int_equal(nm_polish_load(again, path, &err), -1);
    assert_non_null(strstr(err.text, "no checkpoint"));
    unlink(path);
    assert_int_equal(nm_polish_load(again, path, &err), -1);
    free(one), free(two);
    nm_polish_free(p), nm_polish_free(again);
    rig_end(&rig);
}

static void sizes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, "kid70");
    for (int i = 0; i < 3; i++) {
        struct nm_polish_options options = TINY;
        struct nm_err err = {0};
        if (i == 0) options.worlds = 4;
        if (i == 1) options.candidates = 2;
        if (i == 2) options.seconds = 1;
        assert_null(begin(&rig, &options, &err));
        assert_true(err.n > 0);
    }
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_becomes_cheaper_and_goes_on_after_a_break),
        cmocka_unit_test(sizes_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

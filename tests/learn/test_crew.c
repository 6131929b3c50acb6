/* labels: slow threads
 * Several processes learn together, here several threads that do as such processes: all have the same bits, each time;
 * the bodies that are met do not depend on how many share them; who loses another goes back to the last whole batch. */
#include "learn/rig.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "nn/onnx.h"

enum { CREW = 2, WORLDS = 16 };

/* Where they meet: each lays down what it has, and takes all once everybody is there. */
struct hall {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint32_t here, turns;
    bool lost;
    const void *laid[CREW];
};

struct member {
    struct nm_crew crew;
    struct hall *hall;
    uint32_t meetings, dies_at; /* at which of them it leaves for good; 0: never */
    /* the task */
    const struct rig *rig;
    int batches, rc;
    const char *load, *save;
    struct nm_trainer *trainer;
    struct nm_err err;
};

static int meet(struct hall *h)
{
    pthread_mutex_lock(&h->lock);
    uint32_t turn = h->turns;
    if (++h->here == CREW) {
        h->here = 0;
        h->turns++;
        pthread_cond_broadcast(&h->turn);
    }
    while (h->turns == turn && !h->lost) pthread_cond_wait(&h->turn, &h->lock);
    int rc = h->turns == turn ? -1 : 0;
    pthread_mutex_unlock(&h->lock);
    return rc;
}

/* Lays it down, waits for the others, works with what all have laid down, and waits until all have done that. */
static int exchange(struct nm_crew *crew, const void *mine, void (*work)(const struct hall *h, void *to, size_t n),
                    void *to, size_t n)
{
    struct member *m = (struct member *)crew;
    struct hall *h = m->hall;
    if (++m->meetings == m->dies_at) {
        pthread_mutex_lock(&h->lock);
        h->lost = true;
        pthread_cond_broadcast(&h->turn);
        pthread_mutex_unlock(&h->lock);
        return -1;
    }
    h->laid[crew->rank] = mine;
    if (meet(h)) return -1;
    work(h, to, n);
    return meet(h);
}

static void add_floats(const struct hall *h, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)h->laid[0])[i] + ((const float *)h->laid[1])[i];
}

static void add_doubles(const struct hall *h, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((double *)to)[i] = ((const double *)h->laid[0])[i] + ((const double *)h->laid[1])[i];
}

static void copy_first(const struct hall *h, void *to, size_t n) { memcpy(to, h->laid[0], n); }

static int through_copy(struct nm_crew *crew, void *x, size_t n, size_t bytes,
                        void (*work)(const struct hall *h, void *to, size_t n))
{
    void *result = malloc(bytes);
    int rc = exchange(crew, x, work, result, n);
    if (!rc) memcpy(x, result, bytes);
    free(result);
    return rc;
}

static int sum_floats(struct nm_crew *crew, float *x, size_t n)
{
    return through_copy(crew, x, n, n * sizeof *x, add_floats);
}

static int sum(struct nm_crew *crew, double *x, size_t n)
{
    return through_copy(crew, x, n, n * sizeof *x, add_doubles);
}

static int share(struct nm_crew *crew, void *bytes, size_t n) { return through_copy(crew, bytes, n, n, copy_first); }

static void *work(void *user)
{
    struct member *m = user;
    struct nm_learn_options options = {.seed = 5, .worlds = WORLDS, .threads = 2, .crew = &m->crew};
    m->trainer = nm_trainer_new(m->rig->body, &m->rig->pitch, &options, &m->err);
    if (!m->trainer) return NULL;
    if (m->load) m->rc = nm_trainer_load(m->trainer, m->load, &m->err);
    for (int i = 0; i < m->batches && !m->rc; i++) m->rc = nm_trainer_batch(m->trainer, &m->err);
    if (m->save) m->rc |= nm_trainer_save(m->trainer, m->save, &m->err);
    return NULL;
}

static void play(struct member members[CREW], const struct rig *rig)
{
    struct hall hall = {.lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};
    pthread_t threads[CREW];
    for (uint32_t i = 0; i < CREW; i++) {
        members[i].crew = (struct nm_crew){i, CREW, sum_floats, sum, share};
        members[i].hall = &hall;
        members[i].rig = rig;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &members[i]), 0);
    }
    for (uint32_t i = 0; i < CREW; i++) {
        pthread_join(threads[i], NULL);
        if (!members[i].trainer) fail_msg("%s", members[i].err.text);
    }
}

static void assert_same(struct nm_trainer *a, struct nm_trainer *b)
{
    size_t n, m;
    void *one = rig_policy(a, &n), *two = rig_policy(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, two, n);
    free(one);
    free(two);
}

static void part(struct member members[CREW])
{
    for (int i = 0; i < CREW; i++) nm_trainer_free(members[i].trainer);
}

static void all_have_the_same_bits_each_time(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    uint32_t n;
    rig_begin(&rig, "kid70");
    struct member once[CREW] = {{.batches = 1}, {.batches = 1}}, again[CREW] = {{.batches = 1}, {.batches = 1}};
    play(once, &rig);
    play(again, &rig);
    assert_int_equal(once[0].rc | once[1].rc | again[0].rc | again[1].rc, 0);
    assert_same(once[0].trainer, once[1].trainer);
    assert_same(once[0].trainer, again[0].trainer);
    const struct nm_learned *a = nm_trainer_curve(once[0].trainer, &n);
    assert_int_equal(n, 1);

    /* alone, with all the worlds: the first batch meets the same bodies */
    struct nm_learn_options options = {.seed = 5, .worlds = WORLDS, .threads = 1};
    struct nm_trainer *alone = nm_trainer_new(rig.body, &rig.pitch, &options, &err);
    assert_int_equal(nm_trainer_batch(alone, &err), 0);
    const struct nm_learned *b = nm_trainer_curve(alone, &n);
    assert_true(fabs(a->reward - b->reward) < 1e-9 * (1 + fabs(b->reward)));
    assert_true(fabs(a->watts - b->watts) < 1e-9 * b->watts);
    assert_true(a->steps == b->steps && fabs(a->falls - b->falls) < 1e-9);
    nm_trainer_free(alone);
    part(once), part(again);
    rig_end(&rig);
}

/* Wherever in the second batch the other one goes. */
static void who_loses_another_goes_back_to_the_last_whole_batch(void **state)
{
    (void)state;
    struct rig rig;
    uint32_t n;
    char path[] = "/tmp/nutmeg-crew-XXXXXX";
    close(mkstemp(path));
    rig_begin(&rig, "kid70");
    struct member one[CREW] = {{.batches = 1}, {.batches = 1}};
    play(one, &rig);
    uint32_t each = one[0].meetings;
    const uint32_t moments[] = {2, each / 2, each}; /* meetings of the second batch */
    assert_true(each >= 8);
#ifdef __SANITIZE_THREAD__
    enum { MOMENTS = 1 }; /* a batch takes twenty seconds */
#else
    enum { MOMENTS = sizeof moments / sizeof *moments };
#endif
    for (int i = 0; i < MOMENTS; i++) {
        struct member two[CREW] = {{.batches = 2, .save = path}, {.batches = 2, .dies_at = each + moments[i]}};
        play(two, &rig);
        assert_int_equal(two[0].rc, -1);
        assert_non_null(strstr(two[0].err.text, "another process"));
        assert_same(two[0].trainer, one[0].trainer);
        nm_trainer_curve(two[0].trainer, &n);
        assert_int_equal(n, 1);
        part(two);
    }
    /* what it has kept goes on, although the second process finds no file */
    struct member more[CREW] = {{.batches = 1, .load = path}, {.batches = 1, .load = "/nowhere"}};
    play(more, &rig);
    assert_int_equal(more[0].rc | more[1].rc, 0);
    assert_same(more[0].trainer, more[1].trainer);
    nm_trainer_curve(more[1].trainer, &n);
    assert_int_equal(n, 2);
    unlink(path);
    struct member none[CREW] = {{.load = "/nowhere"}, {.load = "/nowhere"}};
    play(none, &rig);
    assert_true(none[0].rc < 0 && none[1].rc < 0);
    part(one), part(more), part(none);
    rig_end(&rig);
}

static bool at_once(void) { return true; }

static void a_batch_can_be_given_up(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    uint32_t n;
    rig_begin(&rig, "kid70");
    struct nm_learn_options options = {.seed = 5, .worlds = 8, .threads = 2};
    struct nm_trainer *plain = nm_trainer_new(rig.body, &rig.pitch, &options, &err);
    options.quit = at_once;
    struct nm_trainer *stopped = nm_trainer_new(rig.body, &rig.pitch, &options, &err);
    assert_int_equal(nm_trainer_batch(stopped, &err), 1);
    nm_trainer_curve(stopped, &n);
    assert_int_equal(n, 0);
    assert_same(plain, stopped);
    nm_trainer_free(plain), nm_trainer_free(stopped);
    rig_end(&rig);
}

static void worlds_are_shared_evenly(void **state)
{
    (void)state;
    struct rig rig;
    struct nm_err err = {0};
    struct nm_crew crew = {0, 3, sum_floats, sum, share};
    rig_begin(&rig, "kid70");
    struct nm_learn_options options = {.seed = 5, .worlds = 25, .threads = 1, .crew = &crew};
    assert_null(nm_trainer_new(rig.body, &rig.pitch, &options, &err));
    assert_non_null(strstr(err.text, "25 worlds cannot be shared by 3 processes"));
    options.worlds = 21; /* seven each */
    assert_null(nm_trainer_new(rig.body, &rig.pitch, &options, &err));
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_the_same_bits_each_time),
        cmocka_unit_test(who_loses_another_goes_back_to_the_last_whole_batch),
        cmocka_unit_test(a_batch_can_be_given_up),
        cmocka_unit_test(worlds_are_shared_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

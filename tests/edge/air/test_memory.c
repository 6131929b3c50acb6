/* The air of the simulator: what arrives, when and how often is a matter of the seed alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/air/memory.h"

enum { MS = 1000000 };
static const uint32_t group = 0xe0000101;

static struct nm_air *air_of(struct nm_air_options options)
{
    struct nm_err err = {0};
    struct nm_air *air = nm_air_new(&options, &err);
    if (!air) fail_msg("%s", err.text);
    return air;
}

static struct nm_radio *radio_at(struct nm_air *air, uint32_t host, uint16_t port)
{
    struct nm_err err = {0};
    struct nm_radio *radio = nm_air_radio(air, (struct nm_air_place){host, port}, &err);
    if (!radio) fail_msg("%s", err.text);
    return radio;
}

static void say(struct nm_radio *radio, uint32_t host, uint16_t port, uint32_t word)
{
    assert_int_equal(nm_radio_send(radio, (struct nm_air_place){host, port}, &word, sizeof word, NULL), 0);
}

static bool hear(struct nm_radio *radio, uint32_t *word, struct nm_air_place *from)
{
    struct nm_air_place dummy;
    return nm_radio_receive(radio, from ? from : &dummy, word, sizeof *word) == sizeof *word;
}

static void test_it_reaches_one_all_or_a_group(void **state)
{
    (void)state;
    struct nm_air *air = air_of((struct nm_air_options){.seed = 1});
    struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7), *c = radio_at(air, 3, 7);
    struct nm_radio *other = radio_at(air, 4, 8);
    struct nm_air_place from;
    uint32_t word;
    say(a, 2, 7, 10);
    assert_true(hear(b, &word, &from));
    assert_int_equal(word, 10);
    assert_int_equal(from.host, 1);
    assert_int_equal(from.port, 7);
    assert_false(hear(c, &word, NULL));
    say(a, NM_AIR_ALL, 7, 11);
    assert_true(hear(b, &word, NULL) && word == 11);
    assert_true(hear(c, &word, NULL) && word == 11);
    assert_false(hear(a, &word, NULL)); /* not itself */
    assert_false(hear(other, &word, NULL));
    assert_int_equal(nm_radio_join(c, group, NULL), 0);
    assert_int_equal(nm_radio_join(c, group, NULL), 0);
    say(a, group, 7, 12);
    assert_false(hear(b, &word, NULL));
    assert_true(hear(c, &word, NULL) && word == 12);
    assert_false(hear(c, &word, NULL));
    nm_air_free(air);
}

static void test_nothing_comes_before_its_time(void **state)
{
    (void)state;
    struct nm_air *air = air_of((struct nm_air_options){.seed = 1, .delay = 5 * MS});
    struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7);
    uint32_t word;
    nm_air_advance(air, 100 * MS);
    say(a, 2, 7, 1);
    nm_air_advance(air, 105 * MS - 1);
    assert_false(hear(b, &word, NULL));
    nm_air_advance(air, 105 * MS);
    assert_true(hear(b, &word, NULL));
    nm_air_free(air);
}

/* What b and c hear of a thousand datagrams, as one number; radios made in the order given. */
static uint64_t heard(uint64_t seed, bool swapped, uint32_t *n)
{
    struct nm_air *air = air_of((struct nm_air_options){
        .seed = seed, .loss = 0.2, .duplicate = 0.1, .reorder = 0.2, .delay = MS, .jitter = 3 * MS, .hold = 20 * MS});
    struct nm_radio *radios[3];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t host = swapped ? 3 - i : i + 1;
        radios[host - 1] = radio_at(air, host, 7);
    }
    *n = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        say(radios[0], NM_AIR_ALL, 7, i);
        nm_air_advance(air, (int64_t)i * 2 * MS);
        for (uint32_t k = 1; k < 3; k++) {
            uint32_t word;
            while (hear(radios[k], &word, NULL)) {
                sum = sum * 6364136223846793005u + (uint64_t)word * 3 + k + (uint64_t)i * 7919;
                ++*n;
            }
        }
    }
    nm_air_free(air);
    return sum;
}

static void test_the_seed_decides_everything(void **state)
{
    (void)state;
    uint32_t n[4];
    uint64_t first = heard(1, false, &n[0]);
    assert_true(first == heard(1, false, &n[1]));
    assert_true(first == heard(1, true, &n[2])); /* nor does the order in which radios were made matter */
    assert_false(first == heard(2, false, &n[3]));
    assert_int_equal(n[0], n[1]);
    assert_int_equal(n[0], n[2]);
}

static void test_shares_are_as_asked(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct nm_air *air = air_of((struct nm_air_options){.seed = 5, .loss = 0.25, .duplicate = 0.1});
    struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7);
    struct nm_air_stats stats;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t word;
        say(a, 2, 7, i);
        while (hear(b, &word, NULL)) assert_int_equal(word, i);
    }
    nm_air_stats(air, &stats);
    /* five standard deviations of a binomial distribution */
    assert_true(fabs((double)stats.doubled - 0.1 * N) < 5 * sqrt(N * 0.1 * 0.9));
    double copies = N + (double)stats.doubled;
    assert_true(fabs((double)stats.lost - 0.25 * copies) < 5 * sqrt(copies * 0.25 * 0.75));
    assert_int_equal(stats.heard + stats.lost, N + stats.doubled);
    assert_int_equal(stats.crowded, 0);
    nm_air_free(air);
}

static void test_without_reordering_the_order_stays_and_with_it_some_overtake(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        struct nm_air *air =
            air_of((struct nm_air_options){.seed = 3, .delay = MS, .reorder = held ? 0.3 : 0, .hold = 10 * MS});
        struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7);
        uint32_t overtaken = 0, last = 0, n = 0;
        for (uint32_t i = 0; i < 500; i++) {
            uint32_t word;
            if (i < 480) say(a, 2, 7, i);
            nm_air_advance(air, (int64_t)i * MS);
            while (hear(b, &word, NULL)) {
                overtaken += n++ && word < last;
                last = word;
            }
        }
        assert_int_equal(n, 480);
        assert_true(held ? overtaken > 50 : overtaken == 0);
        nm_air_free(air);
    }
}

static void test_a_radio_that_nobody_reads_holds_no_more_than_its_room(void **state)
{
    (void)state;
    struct nm_air *air = air_of((struct nm_air_options){.seed = 1});
    struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7);
    struct nm_air_stats stats;
    uint32_t word;
    for (uint32_t i = 0; i < NM_AIR_WAITING + 10; i++) say(a, 2, 7, i);
    nm_air_stats(air, &stats);
    assert_int_equal(stats.crowded, 10);
    nm_radio_close(b);
    b = radio_at(air, 2, 7); /* a new one at the same place begins empty */
    assert_false(hear(b, &word, NULL));
    nm_air_free(air);
}

static void test_what_does_not_fit_is_refused_or_passed_over(void **state)
{
    (void)state;
    static uint8_t large[NM_AIR_DATAGRAM + 1];
    struct nm_err err = {0};
    struct nm_air *air = air_of((struct nm_air_options){.seed = 1});
    struct nm_radio *a = radio_at(air, 1, 7), *b = radio_at(air, 2, 7);
    struct nm_air_place to = {2, 7};
    uint32_t word;
    assert_int_equal(nm_radio_send(a, to, large, sizeof large, &err), -1);
    assert_int_equal(nm_radio_send(a, to, large, NM_AIR_DATAGRAM, &err), 0);
    say(a, 2, 7, 99);
    assert_true(hear(b, &word, NULL) && word == 99);
    assert_int_equal(nm_radio_join(a, 0x0a000001, &err), -1);
    assert_null(nm_air_radio(air, (struct nm_air_place){1, 7}, &err));
    assert_null(nm_air_new(&(struct nm_air_options){.loss = 1.5}, &err));
    assert_null(nm_air_new(&(struct nm_air_options){.delay = -1}, &err));
    assert_null(nm_air_new(&(struct nm_air_options){.reorder = NAN}, &err));
    assert_int_equal(err.n, 6);
    nm_air_free(air);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_reaches_one_all_or_a_group),
        cmocka_unit_test(test_nothing_comes_before_its_time),
        cmocka_unit_test(test_the_seed_decides_everything),
        cmocka_unit_test(test_shares_are_as_asked),
        cmocka_unit_test(test_without_reordering_the_order_stays_and_with_it_some_overtake),
        cmocka_unit_test(test_a_radio_that_nobody_reads_holds_no_more_than_its_room),
        cmocka_unit_test(test_what_does_not_fit_is_refused_or_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

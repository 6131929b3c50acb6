/* Work in processes: all of it is done, whatever the number of processes, and a crash costs one piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/pool.h"

enum { PIECES = 23, CRASHES = 5, EXITS = 6 };

struct board {
    uint64_t squares[PIECES];
    char died[PIECES][120];
    uint32_t n;
    uint32_t stop_after;
};

static void work(void *user, uint32_t index, void *result)
{
    (void)user;
    if (index == CRASHES) kill(getpid(), SIGKILL);
    if (index == EXITS) _exit(3);
    *(uint64_t *)result = (uint64_t)index * index;
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct board *b = user;
    b->n++;
    if (died)
        snprintf(b->died[index], sizeof b->died[index], "%s", died);
    else
        b->squares[index] = *(const uint64_t *)result;
}

static void every_piece_ends_once(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 4; jobs += 3) {
        struct board b = {0};
        struct nm_err err = {0};
        struct pool pool = {
            .n = PIECES, .jobs = jobs, .size = sizeof(uint64_t), .seconds = 10, .work = work, .done = done, .user = &b};
        assert_int_equal(pool_run(&pool, &err), 0);
        assert_int_equal(b.n, PIECES);
        for (uint32_t i = 0; i < PIECES; i++)
            if (i != CRASHES && i != EXITS) assert_int_equal(b.squares[i], i * i);
        assert_non_null(strstr(b.died[CRASHES], "signal 9"));
        assert_non_null(strstr(b.died[EXITS], "code 3"));
    }
}

struct square {
    uint64_t value;
    char why[80];
};

static void work_or_say_why(void *user, uint32_t index, void *result)
{
    work(user, index, &((struct square *)result)->value);
}

static void results_lie_where_they_belong(void **state)
{
    (void)state;
    struct square all[PIECES] = {0};
    struct pool pool = {.n = PIECES,
                        .jobs = 3,
                        .size = sizeof *all,
                        .work = work_or_say_why,
                        .results = all,
                        .why = offsetof(struct square, why),
                        .why_size = sizeof all->why};
    assert_int_equal(pool_run(&pool, NULL), 0);
    for (uint32_t i = 0; i < PIECES; i++) {
        bool whole = i != CRASHES && i != EXITS;
        assert_int_equal(all[i].value, whole ? i * i : 0);
        assert_true(!*all[i].why == whole);
    }
    assert_non_null(strstr(all[EXITS].why, "code 3"));
}

static bool at_once(void) { return true; }

static void nothing_begins_after_an_interruption(void **state)
{
    (void)state;
    struct board b = {0};
    struct pool pool = {
        .n = PIECES, .jobs = 2, .size = sizeof(uint64_t), .work = work, .done = done, .quit = at_once, .user = &b};
    assert_int_equal(pool_run(&pool, NULL), 0);
    assert_int_equal(b.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_ends_once),
        cmocka_unit_test(results_lie_where_they_belong),
        cmocka_unit_test(nothing_begins_after_an_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

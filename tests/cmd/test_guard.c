/* A player that is killed is started again at once; one that ends in order, or dies as soon as it lives, is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/guard.h"

/* How often it was started, whatever became of the processes. */
static _Atomic int *starts;

/* The guard in a process of its own; what it ended with. */
static int guarded(void (*play)(int start))
{
    *starts = 0;
    pid_t guard = fork();
    if (!guard) {
        int code = guard_begin("the test");
        if (code >= 0) _exit(code);
        play(++*starts);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(guard, &status, 0), guard);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void die_twice(int start)
{
    if (start < 3) kill(getpid(), start == 1 ? SIGKILL : SIGUSR1);
    _exit(7);
}

static void die_always(int start)
{
    (void)start;
    kill(getpid(), SIGKILL);
}

static void ask_the_guard_to_end(int start)
{
    (void)start;
    kill(getppid(), SIGTERM);
    for (;;) pause(); /* its SIGTERM comes back to us */
}

static void catch_term(int signal)
{
    (void)signal;
    _exit(3);
}

static void catch_and_ask(int start)
{
    signal(SIGTERM, catch_term);
    ask_the_guard_to_end(start);
}

static void what_is_killed_begins_again_and_its_code_is_handed_on(void **state)
{
    (void)state;
    assert_int_equal(guarded(die_twice), 7);
    assert_int_equal(*starts, 3);
}

static void what_cannot_live_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(guarded(die_always), 1);
    assert_int_equal(*starts, 5);
}

static void the_end_of_the_guard_is_the_end_of_the_player(void **state)
{
    (void)state;
    assert_int_equal(guarded(catch_and_ask), 3);
    assert_int_equal(*starts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_killed_begins_again_and_its_code_is_handed_on),
        cmocka_unit_test(what_cannot_live_is_given_up),
        cmocka_unit_test(the_end_of_the_guard_is_the_end_of_the_player),
    };
    starts = mmap(NULL, sizeof *starts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

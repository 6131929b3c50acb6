/* Memory taken or given back inside a cycle ends the program with a sentence that names the call; outside it, and in
 * other threads meanwhile, nothing changes. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/alloc_guard.h"
#include "core/harness.h"
#include "std_msgs/Float64.h"

static void *volatile kept; /* volatile, so that no compiler leaves a pair of calls out */

static void take(void) { kept = malloc(24); }
static void take_zeroed(void) { kept = calloc(3, 8); }
static void grow(void) { kept = realloc(kept, 4096); }
static void give_back(void) { free(kept); }
static void take_aligned(void) { kept = aligned_alloc(64, 128); }
static void take_posix(void)
{
    void *got = NULL;
    if (posix_memalign(&got, 64, 128) == 0) kept = got;
}
static void copy_text(void) { kept = strdup("inside the C library"); }

/* Runs `call` inside a cycle in a child; its status, and what it said in `said`. */
static int in_a_cycle(void (*call)(void), char *said, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    kept = malloc(16);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        nm_guard_enter();
        call();
        nm_guard_leave();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], said + n, size - 1 - n)) > 0;) n += (size_t)got;
    said[n] = 0;
    close(ends[0]);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(kept);
    return status;
}

static void every_way_to_take_memory_ends_the_program(void **state)
{
    (void)state;
    static const struct {
        void (*call)(void);
        const char *sentence;
    } ways[] = {
        {take, "nutmeg: malloc was called inside a cycle."},
        {take_zeroed, "nutmeg: calloc was called inside a cycle."},
        {grow, "nutmeg: realloc was called inside a cycle."},
        {give_back, "nutmeg: free was called inside a cycle."},
        {take_aligned, "nutmeg: aligned_alloc was called inside a cycle."},
        {take_posix, "nutmeg: posix_memalign was called inside a cycle."},
        {copy_text, "nutmeg: malloc was called inside a cycle."},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char said[8192];
        int status = in_a_cycle(ways[i].call, said, sizeof said);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
        assert_non_null(strstr(said, ways[i].sentence));
        assert_non_null(strstr(said, "core_test_alloc_guard(")); /* the way there */
    }
}

/* ---- a module by itself ---- */

struct hoarder {
    struct nm *nm;
    Float64 *kept;
};
#define SELF struct hoarder
static void hoard(struct hoarder *f)
{
    kept = malloc(8);
    nm_put(f->nm, f->kept);
}
static const struct nm_port hoarder_ports[] = {NM_OUT(kept, Float64, "kept"), {0}};
NM_MODULE_UNLISTED(hoarder, "Takes memory.", NM_PORTS(hoarder_ports), .step = NM_CALL(hoard))
#undef SELF

static void step_the_hoarder(void)
{
    nm_guard_leave(); /* the harness enters by itself */
    nm_harness_step(nm_harness_new(&hoarder_module, NULL), 0.01);
}

static void a_module_s_unit_test_fails_where_its_step_takes_memory(void **state)
{
    (void)state;
    char said[8192];
    int status = in_a_cycle(step_the_hoarder, said, sizeof said);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "nutmeg: malloc was called inside a cycle."));
}

static void nothing(void) {}
static void give_back_nothing(void) { free(NULL); }

static void a_step_without_memory_goes_on(void **state)
{
    (void)state;
    char said[64];
    assert_int_equal(in_a_cycle(nothing, said, sizeof said), 0);
    assert_int_equal(in_a_cycle(give_back_nothing, said, sizeof said), 0);
    assert_string_equal(said, "");
}

static void *take_in_another_thread(void *unused)
{
    (void)unused;
    void *got = malloc(1000);
    free(got);
    return (void *)(intptr_t)(got != NULL);
}

static pthread_barrier_t both;

static void *stay_inside_a_cycle(void *unused)
{
    nm_guard_enter();
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    nm_guard_leave();
    return unused;
}

static void the_flag_belongs_to_one_thread(void **state)
{
    (void)state;
    pthread_t inside;
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&inside, NULL, stay_inside_a_cycle, NULL), 0);
    pthread_barrier_wait(&both);
    void *taken = take_in_another_thread(NULL);
    pthread_barrier_wait(&both);
    pthread_join(inside, NULL);
    pthread_barrier_destroy(&both);
    assert_non_null(taken);
}

static void outside_a_cycle_memory_behaves_as_ever(void **state)
{
    (void)state;
    nm_guard_enter();
    nm_guard_leave();
    unsigned char *zeroed = calloc(100, 10);
    for (int i = 0; i < 1000; i++) assert_int_equal(zeroed[i], 0);
    zeroed = realloc(zeroed, 100000);
    free(zeroed);
    void *aligned = NULL;
    assert_int_equal(posix_memalign(&aligned, 4096, 10), 0);
    assert_int_equal((uintptr_t)aligned % 4096, 0);
    free(aligned);
    assert_int_not_equal(posix_memalign(&aligned, 3, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_take_memory_ends_the_program),
        cmocka_unit_test(a_module_s_unit_test_fails_where_its_step_takes_memory),
        cmocka_unit_test(a_step_without_memory_goes_on),
        cmocka_unit_test(the_flag_belongs_to_one_thread),
        cmocka_unit_test(outside_a_cycle_memory_behaves_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

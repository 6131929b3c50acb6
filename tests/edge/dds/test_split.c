/* labels: threads
 * One line-up split over two processes: the talker runs in a child, the hearer here, each with threads in real time,
 * and neither knows. What the one makes under `remote:` of the other arrives; a service is called across; stamps are
 * told in the wall clock and arrive in our own. When the child is killed the hearer plays on. */
#include "edge/dds/wire.h"

#include <signal.h>
#include <sys/wait.h>

static struct nm_dds *open_dds(struct started *s, int domain)
{
    struct nm_err err = {0};
    struct nm_dds *dds = nm_dds_new(s->player, &(struct nm_dds_options){.domain = domain}, &err);
    if (!dds) fail_msg("%s", err.text);
    return dds;
}

/* Until it is killed, or its parent is gone. */
static void talk_for_ever(int domain)
{
    struct started s;
    struct nm_err err = {0};
    start_with(&s, talking, (struct nm_player_options){.name = "voice"});
    struct nm_dds *dds = open_dds(&s, domain);
    if (nm_player_start(s.player, &err) || nm_dds_start(dds, &err)) _exit(1);
    for (pid_t parent = getppid(); getppid() == parent;) usleep(50000);
    _exit(0);
}

static struct nm_edge *probe;
static struct started s;

static bool look(double *number, int64_t *stamp, bool *replied, bool *line)
{
    const void *const *at;
    nm_edge_begin(probe, nm_player_now(s.player));
    *number = ((const Float64 *)nm_edge_in(probe, 0))->data;
    const Imu *imu = nm_edge_in(probe, 2);
    *stamp = (int64_t)imu->header.stamp.sec * 1000000000 + imu->header.stamp.nanosec;
    uint32_t n = nm_edge_queue(probe, 1, &at, NULL);
    for (uint32_t i = 0; i < n; i++) {
        *replied |= !strcmp(((const String *)at[i])->data, "reply HELLO");
        *line |= !strncmp(((const String *)at[i])->data, "line ", 5);
    }
    nm_edge_end(probe);
    return *number > 0 && *stamp > 0 && *replied && *line;
}

static void a_line_up_is_split_over_two_processes(void **state)
{
    static const struct nm_edge_port ports[] = {
        {"heard", NM_PORT_IN, NULL, 0, 0}, {"echo", NM_PORT_QUEUE, NULL, 0, 0}, {"imu", NM_PORT_IN, NULL, 0, 0}};
    struct nm_err err = {0};
    int domain = private_domain();
    double number = 0;
    int64_t stamp = 0;
    bool replied = false, line = false;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) talk_for_ever(domain);

    start_with(&s, hearing, (struct nm_player_options){.name = "ear"});
    probe = edge(&s, ports, 3);
    struct nm_dds *dds = open_dds(&s, domain);
    assert_int_equal(nm_player_start(s.player, &err), 0);
    assert_int_equal(nm_dds_start(dds, &err), 0);
    wait_until(look(&number, &stamp, &replied, &line), );
    int64_t age = nm_player_now(s.player) - stamp;
    assert_true(age > -10000000000 && age < 60000000000); /* our own clock, not seconds since 1970 */

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct nm_cycle_stats before, after;
    nm_player_cycle_stats(s.player, 0, &before);
    wait_until((nm_player_cycle_stats(s.player, 0, &after), after.runs > before.runs + 10), );

    struct nm_dds_stats stats;
    nm_dds_stats(dds, &stats);
    assert_int_equal(stats.malformed + stats.too_long + stats.other_hash, 0);
    assert_true(stats.taken > 0);
    nm_dds_free(dds);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_line_up_is_split_over_two_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

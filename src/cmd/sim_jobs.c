/* Seeds in processes of their own: a crash costs one seed, and two cores do twice the work. A child sends its outcome
 * through a pipe as the flat struct that it is. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/sim_play.h"

enum { JOBS = 64 };

struct job {
    pid_t pid; /* 0: free */
    int pipe;
    uint64_t seed;
    size_t got;
    struct sim_outcome outcome;
};

struct crew {
    struct setup *setup;
    const struct sim_options *options;
    const struct nm_scenario *scenario;
    struct job *jobs;
    struct sim_outcome *outcomes; /* of every seed */
    bool *ended;
    uint64_t next, told;
    void (*tell)(void *user, const struct sim_outcome *outcome);
    void *user;
};

static void write_all(int to, const void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = write(to, (const char *)bytes + at, n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return;
        at += (size_t)k;
    }
}

/* What cannot begin says why; nobody else writes. */
static void child(const struct crew *c, uint64_t seed, int to)
{
    struct sim_outcome outcome = {0};
    struct nm_err err = {0};
    struct sim_options options = *c->options;
    options.json = true; /* no progress line */
    if (sim_play(c->setup, &options, c->scenario, seed, &outcome, &err)) {
        outcome.done = false;
        snprintf(outcome.died, sizeof outcome.died, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    }
    outcome.result.seed = seed;
    write_all(to, &outcome, sizeof outcome);
    close(to);
    _exit(0);
}

static int begin(struct crew *c, struct job *job, struct nm_err *err)
{
    int ends[2];
    *job = (struct job){.seed = c->next};
    if (pipe(ends)) return nm_fail(err, "no pipe for a process: %s", strerror(errno));
    fflush(stdout);
    fflush(stderr);
    job->pid = fork();
    if (job->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        job->pid = 0;
        return nm_fail(err, "no process for a seed: %s", strerror(errno));
    }
    if (!job->pid) {
        close(ends[0]);
        child(c, c->next, ends[1]);
    }
    close(ends[1]);
    job->pipe = ends[0];
    c->next++;
    return 0;
}

static void end(struct crew *c, struct job *job)
{
    int status = 0;
    close(job->pipe);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) {}
    uint64_t index = job->seed - c->options->first;
    struct sim_outcome *o = &c->outcomes[index];
    if (job->got == sizeof job->outcome) {
        *o = job->outcome;
    } else {
        o->result.seed = job->seed;
        if (WIFSIGNALED(status))
            snprintf(o->died, sizeof o->died, "its process ended by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        else
            snprintf(o->died, sizeof o->died, "its process ended with code %d", WEXITSTATUS(status));
    }
    c->ended[index] = true;
    job->pid = 0;
    while (c->told <= c->options->last - c->options->first && c->ended[c->told])
        c->tell(c->user, &c->outcomes[c->told++]);
}

/* Waits until a child has written or ended. */
static void listen_to(struct crew *c, uint32_t n)
{
    struct pollfd fds[JOBS];
    uint32_t which[JOBS], count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (c->jobs[i].pid) {
            fds[count] = (struct pollfd){.fd = c->jobs[i].pipe, .events = POLLIN};
            which[count++] = i;
        }
    if (poll(fds, count, -1) < 0) return;
    for (uint32_t k = 0; k < count; k++) {
        struct job *job = &c->jobs[which[k]];
        if (!fds[k].revents) continue;
        ssize_t got = read(job->pipe, (char *)&job->outcome + job->got, sizeof job->outcome - job->got);
        if (got > 0) job->got += (size_t)got;
        if (got == 0 || (got < 0 && errno != EINTR)) end(c, job);
    }
}

static uint32_t working(const struct crew *c, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) count += c->jobs[i].pid != 0;
    return count;
}

int sim_play_jobs(struct setup *setup, const struct sim_options *options, const struct nm_scenario *scenario,
                  void (*told)(void *user, const struct sim_outcome *outcome), void *user, struct nm_err *err)
{
    uint32_t n = options->jobs > JOBS ? JOBS : (uint32_t)options->jobs;
    uint64_t seeds = options->last - options->first + 1;
    struct crew c = {
        .setup = setup, .options = options, .scenario = scenario, .next = options->first, .tell = told, .user = user};
    c.jobs = calloc(n, sizeof *c.jobs);
    c.outcomes = calloc(seeds, sizeof *c.outcomes);
    c.ended = calloc(seeds, sizeof *c.ended);
    int bad = c.jobs && c.outcomes && c.ended ? 0 : nm_fail(err, "no memory for %llu seeds", (unsigned long long)seeds);
    while (!bad && (c.next <= options->last || working(&c, n))) {
        for (uint32_t i = 0; i < n && !bad && !sim_quit(); i++)
            if (!c.jobs[i].pid && c.next <= options->last) bad = begin(&c, &c.jobs[i], err);
        if (!working(&c, n)) break;
        listen_to(&c, n);
    }
    while (c.jobs && working(&c, n)) listen_to(&c, n);
    free(c.jobs);
    free(c.outcomes);
    free(c.ended);
    return bad;
}

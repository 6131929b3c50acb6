#include "cmd/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/progress.h"
#include "core/files.h"

enum { JOBS = 64 };

struct job {
    pid_t pid; /* 0: free */
    int pipe;
    uint32_t index;
    size_t got;
    unsigned char *result;
};

struct crew {
    const struct pool *pool;
    uint32_t n, next, ended;
    struct job jobs[JOBS];
    struct progress progress;
    bool dismissed;
};

static void child(const struct crew *c, struct job *job, int to)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody works on for a parent that was killed */
    if (c->pool->seconds > 0) {
        rlim_t most = (rlim_t)c->pool->seconds + 1;
        setrlimit(RLIMIT_CPU, &(struct rlimit){most, most});
    }
    c->pool->work(c->pool->user, job->index, job->result);
    nm_write_all(to, job->result, c->pool->size);
    _exit(0);
}

static int begin(struct crew *c, struct job *job, struct nm_err *err)
{
    int ends[2];
    if (pipe(ends)) return nm_fail(err, "a pipe cannot be made: %s", strerror(errno));
    fflush(NULL);
    job->index = c->next;
    job->got = 0;
    memset(job->result, 0, c->pool->size);
    job->pid = fork();
    if (job->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        job->pid = 0;
        return nm_fail(err, "a process cannot be started: %s", strerror(errno));
    }
    if (!job->pid) {
        close(ends[0]);
        child(c, job, ends[1]);
    }
    close(ends[1]);
    job->pipe = ends[0];
    c->next++;
    return 0;
}

static void end(struct crew *c, struct job *job)
{
    const struct pool *pool = c->pool;
    char died[120] = "";
    int status = 0;
    close(job->pipe);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) {}
    job->pid = 0;
    bool whole = job->got == pool->size;
    if (!whole && WIFSIGNALED(status))
        snprintf(died, sizeof died, "its process was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (!whole)
        snprintf(died, sizeof died, "its process ended with code %d", WEXITSTATUS(status));
    uint8_t *to = pool->results ? (uint8_t *)pool->results + job->index * pool->size : NULL;
    if (to && whole) memcpy(to, job->result, pool->size);
    if (to && !whole && pool->why_size) snprintf((char *)to + pool->why, pool->why_size, "%s", died);
    if (pool->done) pool->done(pool->user, job->index, whole ? job->result : NULL, whole ? NULL : died);
    c->ended++;
    if (pool->what) progress_tell(&c->progress, "%u of %u %s", c->ended, pool->n, pool->what);
}

/* Waits a moment for a child to write or to end. */
static void listen_to(struct crew *c)
{
    enum { MOMENT = 200 }; /* ms */
    struct pollfd fds[JOBS];
    uint32_t which[JOBS], count = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->jobs[i].pid) {
            fds[count] = (struct pollfd){.fd = c->jobs[i].pipe, .events = POLLIN};
            which[count++] = i;
        }
    if (poll(fds, count, MOMENT) < 0) return;
    for (uint32_t k = 0; k < count; k++) {
        struct job *job = &c->jobs[which[k]];
        if (!fds[k].revents) continue;
        ssize_t got = read(job->pipe, job->result + job->got, c->pool->size - job->got);
        if (got > 0) job->got += (size_t)got;
        if (got == 0 || (got < 0 && errno != EINTR)) end(c, job);
    }
}

static bool working(const struct crew *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->jobs[i].pid) return true;
    return false;
}

/* What is being done is not needed any more. */
static void dismiss(struct crew *c)
{
    for (uint32_t i = 0; i < c->n && !c->dismissed; i++)
        if (c->jobs[i].pid) kill(c->jobs[i].pid, SIGTERM);
    c->dismissed = true;
}

int pool_run(const struct pool *pool, struct nm_err *err)
{
    struct crew c = {.pool = pool, .n = pool->jobs < 1 ? 1 : pool->jobs > JOBS ? JOBS : pool->jobs};
    int bad = 0;
    progress_begin(&c.progress, "");
    for (uint32_t i = 0; i < c.n; i++) c.jobs[i].result = nm_malloc(pool->size + 1);
    while (!bad && (c.next < pool->n || working(&c))) {
        bool quit = pool->quit && pool->quit();
        for (uint32_t i = 0; i < c.n && !bad && !quit; i++)
            if (!c.jobs[i].pid && c.next < pool->n) bad = begin(&c, &c.jobs[i], err);
        if (quit) dismiss(&c);
        if (!working(&c)) break;
        listen_to(&c);
    }
    while (working(&c)) listen_to(&c);
    progress_end(&c.progress);
    for (uint32_t i = 0; i < c.n; i++) free(c.jobs[i].result);
    return bad;
}

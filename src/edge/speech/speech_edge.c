#include "edge/speech/speech_edge.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clamp.h"
#include "base/fault.h"
#include "base/memory.h"
#include "core/nm.h"
#include "nutmeg_msgs/Utterance.h"
#include "rcl_interfaces/Log.h"
#include "std_msgs/Bool.h"

extern char **environ;

static const char program[] = "espeak-ng";
enum { LOUDEST = 200 }; /* of espeak-ng's amplitude */

enum port { UTTERANCE, SPEAKING, CONSOLE, PORTS };

struct nm_speech {
    struct nm_edge *edge;
    pid_t child; /* 0: nobody speaks */
    bool told;   /* what was published last */
    struct nm_fault fault;
};

static bool is_installed(void)
{
    char path[4096];
    const char *folders = getenv("PATH");
    for (const char *from = folders ? folders : "/usr/bin"; *from;) {
        size_t n = strcspn(from, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, from, program);
        if (n && !access(path, X_OK)) return true;
        from += n + (from[n] == ':');
    }
    return false;
}

struct nm_speech *nm_speech_new(struct nm_player *player, struct nm_err *err)
{
    static const struct nm_edge_port ports[PORTS] = {
        [UTTERANCE] = {"utterance", NM_PORT_QUEUE, &Utterance_type, 0, 0},
        [SPEAKING] = {"speaking", NM_PORT_OUT | NM_EDGE_OPTIONAL, &Bool_type, 0, 0},
        [CONSOLE] = {"rosout", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Log_type, 4, 0},
    };
    if (!is_installed()) {
        nm_fail(err, "speech: the program %s is not installed (Debian: apt install %s)", program, program);
        return NULL;
    }
    struct nm_edge *edge = nm_edge_new(player, "speech", ports, PORTS, err);
    if (!edge) return NULL;
    struct nm_speech *s = nm_calloc(1, sizeof *s);
    s->edge = edge;
    return s;
}

static void interrupt(struct nm_speech *s)
{
    if (!s->child) return;
    kill(s->child, SIGKILL);
    while (waitpid(s->child, NULL, 0) < 0 && errno == EINTR) {}
    s->child = 0;
}

void nm_speech_free(struct nm_speech *s)
{
    if (!s) return;
    interrupt(s);
    free(s);
}

/* The words go through the standard input, where they can be no flags. A socket in place of a pipe: one that nobody
 * reads any more gives an error and not a signal. */
static int begin(struct nm_speech *s, const Utterance *u)
{
    char loud[16];
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--stdin", (char *)(uintptr_t) "-a", loud,
                         NULL};
    posix_spawn_file_actions_t files;
    int ends[2];
    snprintf(loud, sizeof loud, "%d", (int)(LOUDEST * nm_clamp((double)u->volume, 0, 1)));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return errno;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&s->child, program, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) s->child = 0;
    size_t n = strlen(u->text);
    if (!failed && send(ends[0], u->text, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) failed = errno;
    close(ends[0]);
    close(ends[1]);
    return failed;
}

static void report(struct nm_speech *s, int64_t now, const char *why)
{
    static const int64_t calm = 60000000000; /* ns */
    if (nm_fault_seen(&s->fault, now, calm) == NM_FAULT_BEGINS)
        nm_edge_log(s->edge, CONSOLE, NM_WARN, "speech", "%s does not speak: %s", program, why);
}

static void look_after(struct nm_speech *s, int64_t now)
{
    int status;
    char why[64];
    if (!s->child || waitpid(s->child, &status, WNOHANG) != s->child) return;
    s->child = 0;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return;
    snprintf(why, sizeof why, WIFEXITED(status) ? "it ended with %d" : "it was ended by signal %d",
             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    report(s, now, why);
}

void nm_speech_poll(struct nm_speech *s, int64_t now)
{
    const void *const *at;
    nm_edge_begin(s->edge, now);
    look_after(s, now);
    uint32_t n = nm_edge_queue(s->edge, UTTERANCE, &at, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const Utterance *u = at[i];
        if (u->interrupts) interrupt(s);
        int failed = s->child ? 0 : begin(s, u);
        if (failed) report(s, now, strerror(failed));
    }
    Bool *speaking = nm_edge_out(s->edge, SPEAKING);
    if (speaking && s->told != (s->child != 0)) {
        speaking->data = s->told = s->child != 0;
        nm_edge_put(s->edge, SPEAKING);
    }
    nm_edge_end(s->edge);
}

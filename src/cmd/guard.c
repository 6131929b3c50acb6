#include "cmd/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/options.h"

static const double SHORT_LIFE = 2; /* s */
enum { SHORT_LIVES = 5 };

/* Until the child has ended. A Ctrl-C at the keyboard has reached it by itself. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    int status;
    for (;;) {
        siginfo_t info;
        int signal = sigwaitinfo(signals, &info);
        if (signal == SIGTERM || (signal == SIGINT && info.si_code <= 0)) kill(child, signal);
        if (waitpid(child, &status, WNOHANG) == child) return status;
    }
}

int guard_begin(const char *what)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (int n = 1, brief = 0;; n++) {
        double began = nm_clock_seconds();
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) {
            fprintf(stderr, "%s: the process cannot be started: %s\n", what, strerror(errno));
            return EXIT_FAILED;
        }
        if (!child) {
            sigprocmask(SIG_SETMASK, &before, NULL);
            return -1;
        }
        int status = wait_for(child, &signals);
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        double lived = nm_clock_seconds() - began;
        brief = lived < SHORT_LIFE ? brief + 1 : 0;
        fprintf(stderr, "%s was ended by signal %d (%s) after %.1f s", what, WTERMSIG(status),
                strsignal(WTERMSIG(status)), lived);
        if (brief == SHORT_LIVES) {
            fprintf(stderr, "; it ended early %d times in a row and is not started again\n", SHORT_LIVES);
            return EXIT_FAILED;
        }
        fprintf(stderr, "; it is started again, start %d\n", n + 1);
    }
}

#include "cmd/stopping.h"

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/console.h"
#include "cmd/crash.h"
#include "cmd/options.h"

static volatile sig_atomic_t stop, signalled;
static volatile int64_t first; /* ns, when the first signal came; 0: none yet */

/* What comes this soon after the first is the same wish: `timeout` and shells tell a process and its group. */
static const int64_t again = 300000000; /* ns  */
static const unsigned patience = 2;     /* s, until it is told what the end waits for */

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void on_signal(int number)
{
    int64_t now = nm_clock();
    if (!first) {
        first = now;
        alarm(patience);
    } else if (now - first > again) {
        crash_say_busy();
        say("nutmeg: ended at once by a second signal\n");
        signal(number, SIG_DFL);
        raise(number);
    }
    stop = signalled = 1;
}

static void on_alarm(int number)
{
    (void)number;
    if (crash_say_busy()) say("nutmeg: press Ctrl-C again to end at once\n");
}

void stop_by_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, alarmed = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &alarmed, NULL);
}

void stop_now(void) { stop = 1; }

bool stopping(void) { return stop; }

bool interrupted(void) { return signalled; }

int tell_interrupted(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%sinterrupted: ", ink(stderr, INK_YELLOW));
    vfprintf(stderr, format, args);
    fprintf(stderr, "%s\n", ink(stderr, INK_PLAIN));
    va_end(args);
    return EXIT_INTERRUPTED;
}

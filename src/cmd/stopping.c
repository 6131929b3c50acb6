#include "cmd/stopping.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

void stop_by_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void stop_now(void) { stop = 1; }

bool stopping(void) { return stop; }

#include "cmd/asking.h"

#include <errno.h>
#include <time.h>

#include "cmd/console.h"
#include "cmd/stopping.h"

int asking_begin(struct asking *asking, const char *to)
{
    struct nm_err err = {0};
    *asking = (struct asking){0};
    asking->link = nm_link_open(NULL, to, &err);
    if (asking->link) return EXIT_OK;
    complain(&err);
    const char *names[1];
    asking->code = nm_link_names(NULL, &asking->arena, names, 1) ? EXIT_USAGE : EXIT_FAILED;
    nm_arena_free(&asking->arena);
    return asking->code;
}

const struct nm_yaml *ask(struct asking *asking, const struct nm_request *request)
{
    struct nm_err err = {0};
    const struct nm_yaml *answer = nm_link_ask(asking->link, &asking->arena, request, &err);
    if (answer) return answer;
    complain(&err);
    asking->code = nm_link_refused(asking->link) ? EXIT_USAGE : EXIT_FAILED;
    return NULL;
}

int asking_end(struct asking *asking)
{
    nm_link_close(asking->link);
    nm_arena_free(&asking->arena);
    return asking->code;
}

bool pause_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    stop_by_signals();
    while (!stopping() && nanosleep(&left, &left) && errno == EINTR) continue;
    return !stopping();
}

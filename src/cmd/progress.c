#include "cmd/progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "cmd/console.h"

void progress_tell(struct progress *p, const char *format, ...)
{
    const double first = 1, terminal = 0.2, file = 10; /* s, until something is told again */
    bool there = terminal_width(stderr);
    double now = nm_clock_seconds();
    if (now - p->shown < (!there ? file : p->visible ? terminal : first)) return;
    va_list args;
    va_start(args, format);
    clear_line(stderr);
    vfprintf(stderr, format, args);
    if (!there) fputc('\n', stderr);
    fflush(stderr);
    va_end(args);
    p->shown = now;
    p->visible = there;
}

static void tell_share(void *user, uint64_t done, uint64_t all)
{
    struct progress *p = user;
    if (all) progress_tell(p, "%s %.0f %%", p->what, 100 * (double)done / (double)all);
}

void progress_begin(struct progress *progress, const char *what)
{
    *progress = (struct progress){{tell_share, progress}, .what = what, .shown = nm_clock_seconds()};
}

void progress_end(struct progress *progress)
{
    if (progress->visible) clear_line(stderr);
    progress->visible = false;
}

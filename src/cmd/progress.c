#include "cmd/progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "cmd/console.h"

static void tell(void *user, uint64_t done, uint64_t all)
{
    struct progress *p = user;
    enum { SOON = 1, PER_SECOND = 5 };
    double now = nm_clock_seconds();
    if (!all || now - p->begun < SOON || now - p->shown < 1.0 / PER_SECOND || !terminal_width(stderr)) return;
    p->shown = now;
    p->visible = true;
    clear_line(stderr);
    fprintf(stderr, "%s %.0f %%", p->what, 100 * (double)done / (double)all);
    fflush(stderr);
}

void progress_begin(struct progress *progress, const char *what)
{
    *progress = (struct progress){{tell, progress}, .what = what, .begun = nm_clock_seconds()};
}

void progress_end(struct progress *progress)
{
    if (progress->visible) clear_line(stderr);
}

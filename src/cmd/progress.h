/* How far long work has come, on stderr: on a terminal one line that changes, elsewhere a line every ten seconds. Work
 * that is done soon says nothing. */
#pragma once

#include "codec/mcap_read.h"

struct progress {
    struct nm_mcap_progress as; /* for work on logs: "reading 40 %" */
    const char *what;           /* of that; may be changed on the way */
    double shown;               /* s, when it was told last         */
    bool visible;               /* a line stands there              */
};
void progress_begin(struct progress *progress, const char *what);
void progress_tell(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *progress); /* also before anything else is printed */

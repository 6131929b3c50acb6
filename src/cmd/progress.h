/* A line on a terminal that shows how far a long work is; nothing elsewhere, or where it is done soon. */
#ifndef NM_CMD_PROGRESS_H
#define NM_CMD_PROGRESS_H

#include "codec/mcap_read.h"

struct progress {
    struct nm_mcap_progress as; /* for whoever does the work      */
    const char *what;           /* may be changed on the way      */
    double begun, shown;        /* s                              */
    bool visible;
};
void progress_begin(struct progress *progress, const char *what);
void progress_end(struct progress *progress);

#endif

/* Ctrl-C and SIGTERM end a long command in order: its loop asks now and then. */
#ifndef NM_CMD_STOPPING_H
#define NM_CMD_STOPPING_H

#include <stdbool.h>

void stop_by_signals(void); /* from now on they are only noted */
void stop_now(void);        /* as if one had come              */
bool stopping(void);        /* one has come                     */

#endif

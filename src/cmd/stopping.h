/* Ctrl-C and SIGTERM end a long command in order: its loop asks now and then. Where a module does not return from its
 * step that takes forever, so after two seconds its name is told, and a second Ctrl-C ends the program at once. */
#ifndef NM_CMD_STOPPING_H
#define NM_CMD_STOPPING_H

#include <stdbool.h>

void stop_by_signals(void); /* from now on the first one is only noted */
void stop_now(void);        /* as if one had come                      */
bool stopping(void);        /* one has come                            */

#endif

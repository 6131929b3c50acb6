/* Ctrl-C and SIGTERM end a long command in order: its loop asks now and then. Work that a signal ended is not done: the
 * command says so and ends with EXIT_INTERRUPTED. Where a module does not return from its step that takes forever, so
 * after two seconds its name is told, and a second Ctrl-C ends the program at once. */
#pragma once

#include <stdbool.h>

void stop_by_signals(void); /* from now on the first one is only noted              */
void stop_now(void);        /* somebody asked for the end, as if a signal had come  */
bool stopping(void);        /* it is time to end                                    */
bool interrupted(void);     /* … because of a signal                                */

/* Prints "interrupted: " and a sentence about what is missing. Returns EXIT_INTERRUPTED. */
int tell_interrupted(const char *format, ...) __attribute__((format(printf, 1, 2)));

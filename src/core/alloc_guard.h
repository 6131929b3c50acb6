/* Proves that a running robot takes no memory: between enter and leave, which stand around every run of a cycle, malloc
 * and similar functions end the program with a sentence and a backtrace. They do nothing unless the program is built
 * with NM_GUARD. */
#pragma once

#ifdef NM_GUARD
/* From here on the calling thread is inside a cycle, until it leaves. */
void nm_guard_enter(void);
void nm_guard_leave(void);
#else
static inline void nm_guard_enter(void) {}
static inline void nm_guard_leave(void) {}
#endif

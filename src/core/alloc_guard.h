/* Proves that a running robot takes no memory: between enter and leave, malloc and similar functions end the program
 * with a sentence and a backtrace. A player gets these functions as its `enter` and `leave`. They do nothing unless the
 * program is built with NM_GUARD. */
#pragma once

#ifdef NM_GUARD
/* From here on the calling thread is inside a cycle, until it leaves. `user` is not used. */
void nm_guard_enter(void *user);
void nm_guard_leave(void *user);
#else
static inline void nm_guard_enter(void *user) { (void)user; }
static inline void nm_guard_leave(void *user) { (void)user; }
#endif

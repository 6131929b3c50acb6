/* Proves that a running robot takes no memory: between enter and leave, malloc and its kin end the program with a
 * sentence and the way there. Given to a player as its `enter` and `leave`; nothing at all unless built with NM_GUARD.
 */
#ifndef NM_CORE_ALLOC_GUARD_H
#define NM_CORE_ALLOC_GUARD_H

#ifdef NM_GUARD
/* From here on the calling thread is inside a cycle, until it leaves. `user` is not used. */
void nm_guard_enter(void *user);
void nm_guard_leave(void *user);
#else
static inline void nm_guard_enter(void *user) { (void)user; }
static inline void nm_guard_leave(void *user) { (void)user; }
#endif

#endif

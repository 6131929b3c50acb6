/* malloc and its kin, replaced by ones that look at a flag of the calling thread before they hand the call to the C
 * library. The C library offers its own allocator under second names (__libc_malloc …) for exactly this. Freeing inside
 * a cycle is as wrong as taking: it walks the same lists under the same locks. */
#include "core/alloc_guard.h"

#ifdef NM_GUARD
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/export.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *old);

static _Thread_local bool inside_cycle;

void nm_guard_enter(void) { inside_cycle = true; }
void nm_guard_leave(void) { inside_cycle = false; }

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

__attribute__((noinline, noreturn)) static void complain(const char *call)
{
    inside_cycle = false; /* backtrace itself may take memory */
    say("nutmeg: ");
    say(call);
    say(" was called inside a cycle. A step takes no memory: take it in init, or give the struct room. Called by:\n");
    void *frames[32];
    int n = backtrace(frames, 32);
    /* without this function and the one it stands for */
    if (n > 2) backtrace_symbols_fd(frames + 2, n - 2, STDERR_FILENO);
    abort();
}

static inline void check(const char *call)
{
    if (__builtin_expect(inside_cycle, 0)) complain(call);
}

NM_EXPORT void *malloc(size_t size)
{
    check("malloc");
    return __libc_malloc(size);
}

NM_EXPORT void *calloc(size_t n, size_t size)
{
    check("calloc");
    return __libc_calloc(n, size);
}

NM_EXPORT void *realloc(void *old, size_t size)
{
    check("realloc");
    return __libc_realloc(old, size);
}

NM_EXPORT void free(void *old)
{
    if (!old) return;
    check("free");
    __libc_free(old);
}

NM_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    check("aligned_alloc");
    return __libc_memalign(alignment, size);
}

NM_EXPORT void *memalign(size_t alignment, size_t size)
{
    check("memalign");
    return __libc_memalign(alignment, size);
}

NM_EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
    check("posix_memalign");
    if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
    void *got = __libc_memalign(alignment, size);
    if (!got) return ENOMEM;
    *out = got;
    return 0;
}
#endif

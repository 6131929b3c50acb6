/* Sentences about what went wrong, one a line. A function that can fail takes a `struct nm_err *`, adds a line that
 * names the thing, the place and the remedy, and returns -1 (or NULL). Checks that go on after the first fault simply
 * add more lines; the same line twice in a row is said once. The text has fixed room; what does not fit is counted in
 * the last line. NULL is allowed everywhere: then only the return value tells. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/export.h"

struct nm_err {
    uint32_t n;      /* faults reported, including those without room */
    uint32_t more;   /* those without room                            */
    uint32_t used;   /* bytes of text                                 */
    char text[8192]; /* the lines, each ended by a newline            */
};

/* Adds one line (the newline is ours). Always returns -1, so that `return nm_fail(err, …);` reads well. */
NM_EXPORT int nm_fail(struct nm_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
NM_EXPORT int nm_vfail(struct nm_err *err, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Of the n names the one nearest to `word` (edit distance, at most a third of its length), or NULL. For "did you mean".
 */
NM_EXPORT const char *nm_nearest(const char *word, const char *const *names, uint32_t n);
/* Which of n words it is; -1: none of them. */
int32_t nm_word_of(const char *word, const char *const *words, uint32_t n);
/* Whether `name` holds `pattern`, which may use * and ?. NULL holds everything. */
bool nm_matches(const char *name, const char *pattern);

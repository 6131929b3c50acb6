#include "base/error.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LAST_LINE = 48 }; /* room kept for "… and N more" */

/* Whether the newest line is this one already: eight robots that fail alike say so once. */
static bool said(const struct nm_err *err, const char *line, size_t n)
{
    return err->used >= n && !memcmp(line - n, line, n) && (err->used == n || line[-(ptrdiff_t)n - 1] == '\n');
}

int nm_vfail(struct nm_err *err, const char *format, va_list args)
{
    if (!err) return -1;
    err->n++;
    size_t room = sizeof err->text - LAST_LINE - err->used;
    int len = err->more ? -1 : vsnprintf(err->text + err->used, room, format, args);
    if (len < 0 || (size_t)len + 2 > room) {
        err->more++;
        snprintf(err->text + err->used, LAST_LINE, "… and %u more\n", err->more);
        return -1;
    }
    char *line = err->text + err->used;
    size_t n = (size_t)len + 1;
    line[len] = '\n';
    if (!said(err, line, n)) err->used += (uint32_t)n;
    err->text[err->used] = '\0';
    return -1;
}

int nm_fail(struct nm_err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    nm_vfail(err, format, args);
    va_end(args);
    return -1;
}

/* Levenshtein distance, one row at a time; words longer than a row are never near. */
static uint32_t distance(const char *a, const char *b)
{
    enum { LONGEST = 128 };
    size_t n = strlen(b);
    uint32_t row[LONGEST + 1];
    if (n > LONGEST) return UINT32_MAX;
    for (uint32_t j = 0; j <= n; j++) row[j] = j;
    for (uint32_t i = 0; a[i]; i++) {
        uint32_t diagonal = row[0];
        row[0] = i + 1;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t change = diagonal + (a[i] != b[j]);
            uint32_t insert = row[j] + 1, remove = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < insert ? (change < remove ? change : remove) : (insert < remove ? insert : remove);
        }
    }
    return row[n];
}

const char *nm_nearest(const char *word, const char *const *names, uint32_t n)
{
    const char *best = NULL;
    uint32_t best_distance = (uint32_t)(strlen(word) + 2) / 3 + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = distance(word, names[i]);
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}

int32_t nm_word_of(const char *word, const char *const *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(word, words[i])) return (int32_t)i;
    return -1;
}

bool nm_matches(const char *name, const char *pattern)
{
    if (!pattern || strstr(name, pattern)) return true;
    return !fnmatch(pattern, name, FNM_CASEFOLD);
}

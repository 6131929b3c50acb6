/* The small pieces of the parser: slices of text, words and type names, the primitives, faults with their place. */
#include "codec/msgdef_parts.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t width;
} kinds[] = {
    [NM_BOOL] = {"bool", 1},     [NM_BYTE] = {"byte", 1},       [NM_INT8] = {"int8", 1},
    [NM_UINT8] = {"uint8", 1},   [NM_INT16] = {"int16", 2},     [NM_UINT16] = {"uint16", 2},
    [NM_INT32] = {"int32", 4},   [NM_UINT32] = {"uint32", 4},   [NM_INT64] = {"int64", 8},
    [NM_UINT64] = {"uint64", 8}, [NM_FLOAT32] = {"float32", 4}, [NM_FLOAT64] = {"float64", 8},
    [NM_STRING] = {"string", 0}, [NM_STRUCT] = {NULL, 0},
};

const char *nm_kind_name(enum nm_kind kind) { return kinds[kind].name; }
uint32_t nm_kind_width(enum nm_kind kind) { return kinds[kind].width; }

int nm_spot_fail(const struct nm_spot *spot, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return nm_fail(spot->err, "%s:%u: %s", spot->file, spot->line, what);
}

bool nm_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool nm_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool nm_is_word(char c) { return nm_is_digit(c) || is_lower(c) || is_upper(c) || c == '_'; }

char *nm_slice_text(struct nm_arena *arena, struct nm_slice slice)
{
    char *text = nm_take(arena, slice.n + 1);
    if (slice.n) memcpy(text, slice.at, slice.n);
    return text;
}

bool nm_slice_is(struct nm_slice slice, const char *text)
{
    return strlen(text) == slice.n && !memcmp(slice.at, text, slice.n);
}

struct nm_slice nm_slice_trim(struct nm_slice slice)
{
    while (slice.n && nm_is_blank(slice.at[0])) slice = (struct nm_slice){slice.at + 1, slice.n - 1};
    while (slice.n && nm_is_blank(slice.at[slice.n - 1])) slice.n--;
    return slice;
}

struct nm_slice nm_slice_to(struct nm_slice whole, const char *end)
{
    return (struct nm_slice){whole.at, (size_t)(end - whole.at)};
}

struct nm_slice nm_slice_from(struct nm_slice whole, const char *at)
{
    return (struct nm_slice){at, whole.n - (size_t)(at - whole.at)};
}

void *nm_grow(struct nm_arena *arena, void *array, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room) return array;
    *room = *room ? 2 * *room : 8;
    void *larger = nm_take(arena, size * *room);
    return n ? memcpy(larger, array, size * n) : larger;
}

struct nm_slice nm_next_line(struct nm_slice *rest)
{
    const char *end = memchr(rest->at, '\n', rest->n);
    struct nm_slice line = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
    *rest = nm_slice_from(*rest, rest->at + line.n + (end != NULL));
    return line;
}

/* words */

bool nm_word_ok(enum nm_word kind, struct nm_slice word)
{
    bool lower = kind == NM_WORD_FIELD || kind == NM_WORD_PACKAGE;
    if (!word.n || word.n > NM_DEF_NAME || nm_is_digit(word.at[0])) return false;
    for (size_t i = 0; i < word.n; i++) {
        char c = word.at[i];
        if (!nm_is_word(c)) return false;
        if ((lower && is_upper(c)) || (kind == NM_WORD_CONSTANT && is_lower(c))) return false;
        if (c == '_' && kind != NM_WORD_ANY && kind != NM_WORD_TYPE && (i + 1 == word.n || word.at[i + 1] == '_'))
            return false;
    }
    char first = word.at[0];
    return kind == NM_WORD_ANY ? first != '_' : lower ? is_lower(first) : is_upper(first);
}

const char *nm_def_full_name(struct nm_arena *arena, const char *package, struct nm_slice written)
{
    struct nm_slice part[3] = {{0}}, rest = written;
    uint32_t n = 0;
    while (n < 3) {
        const char *slash = memchr(rest.at, '/', rest.n);
        part[n++] = slash ? nm_slice_to(rest, slash) : rest;
        if (!slash) break;
        rest = nm_slice_from(rest, slash + 1);
        if (n == 3) return NULL;
    }
    if (n == 1 && nm_slice_is(written, "Header")) package = "std_msgs";
    struct nm_slice from = n == 1 ? (struct nm_slice){package, strlen(package)} : part[0];
    struct nm_slice kind = n == 3 ? part[1] : (struct nm_slice){"msg", 3};
    struct nm_slice type = part[n - 1];
    bool known = nm_slice_is(kind, "msg") || nm_slice_is(kind, "srv") || nm_slice_is(kind, "action");
    if (!known || !nm_word_ok(NM_WORD_PACKAGE, from) || !nm_word_ok(NM_WORD_TYPE, type)) return NULL;
    return nm_take_format(arena, "%.*s/%.*s/%.*s", (int)from.n, from.at, (int)kind.n, kind.at, (int)type.n, type.at);
}

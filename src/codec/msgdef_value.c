/* Values of constants and defaults: integers with their range, floats, bools, quoted and bare strings, lists of them.
 */
#include "codec/msgdef_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct range {
    int64_t low;
    uint64_t high;
};

static const struct range ranges[] = {
    [NM_BYTE] = {0, UINT8_MAX},          [NM_INT8] = {INT8_MIN, INT8_MAX},    [NM_UINT8] = {0, UINT8_MAX},
    [NM_INT16] = {INT16_MIN, INT16_MAX}, [NM_UINT16] = {0, UINT16_MAX},       [NM_INT32] = {INT32_MIN, INT32_MAX},
    [NM_UINT32] = {0, UINT32_MAX},       [NM_INT64] = {INT64_MIN, INT64_MAX}, [NM_UINT64] = {0, UINT64_MAX},
};

static int read_bool(struct nm_slice text, struct nm_def_value *value, const struct nm_spot *spot)
{
    static const struct {
        const char *word;
        bool is;
    } words[] = {{"true", true}, {"1", true}, {"false", false}, {"0", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == text.n && !strncasecmp(words[i].word, text.at, text.n)) {
            value->i = words[i].is;
            return 0;
        }
    return nm_spot_fail(spot, "%.*s is no bool; write true or false", (int)text.n, text.at);
}

/* decimal, or with 0x, 0o, 0b before it; a leading zero alone does not mean octal */
static int read_integer(enum nm_kind kind, struct nm_slice text, struct nm_def_value *value, const struct nm_spot *spot)
{
    size_t i = 0;
    bool minus = text.n && text.at[0] == '-';
    if (minus || (text.n && text.at[0] == '+')) i++;
    uint64_t base = 10, sum = 0;
    if (text.n > i + 2 && text.at[i] == '0') {
        char letter = (char)(text.at[i + 1] | 32);
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
        if (base != 10) i += 2;
    }
    bool fits = true, digits = i < text.n;
    for (; i < text.n; i++) {
        char c = (char)(text.at[i] | 32);
        uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
                                                : 16;
        if (digit >= base) digits = false;
        if (sum > (UINT64_MAX - digit) / base) fits = false;
        sum = sum * base + digit;
    }
    if (!digits) return nm_spot_fail(spot, "%.*s is no integer", (int)text.n, text.at);
    const struct range *range = &ranges[kind];
    if (minus ? sum > 0 - (uint64_t)range->low : sum > range->high) fits = false;
    if (!fits) return nm_spot_fail(spot, "%.*s does not fit %s", (int)text.n, text.at, nm_kind_name(kind));
    value->i = (int64_t)(minus ? 0 - sum : sum);
    return 0;
}

static int read_float(enum nm_kind kind, struct nm_slice text, struct nm_def_value *value, const struct nm_spot *spot)
{
    char copy[64], *end = copy;
    if (text.n && text.n < sizeof copy) {
        memcpy(copy, text.at, text.n);
        copy[text.n] = '\0';
        value->f = strtod(copy, &end);
    }
    if (end == copy || *end) return nm_spot_fail(spot, "%.*s is no number", (int)text.n, text.at);
    if (kind == NM_FLOAT32 && isfinite(value->f) && !isfinite((float)value->f))
        return nm_spot_fail(spot, "%.*s does not fit float32", (int)text.n, text.at);
    return 0;
}

static char unescape(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return c;
    }
}

static int read_string(struct nm_arena *arena, struct nm_slice text, struct nm_def_value *value)
{
    bool quoted = text.n >= 2 && (text.at[0] == '"' || text.at[0] == '\'');
    struct nm_slice inner = quoted ? (struct nm_slice){text.at + 1, text.n - 2} : text;
    char *to = nm_take(arena, inner.n + 1);
    value->text = to;
    for (size_t i = 0; i < inner.n; i++) {
        bool escaped = quoted && inner.at[i] == '\\' && i + 1 < inner.n;
        if (escaped) i++;
        *to++ = escaped ? unescape(inner.at[i]) : inner.at[i];
    }
    return 0;
}

int nm_def_value_read(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text, struct nm_def_value *value,
                      const struct nm_spot *spot)
{
    switch (kind) {
    case NM_BOOL: return read_bool(text, value, spot);
    case NM_FLOAT32:
    case NM_FLOAT64: return read_float(kind, text, value, spot);
    case NM_STRING: return read_string(arena, text, value);
    case NM_STRUCT: return nm_spot_fail(spot, "a message as member takes no value; give its own fields defaults");
    default: return read_integer(kind, text, value, spot);
    }
}

/* Length of the quoted text at the start of `text` with both quotes, 0 if it does not end. */
static size_t quoted_length(struct nm_slice text)
{
    for (size_t i = 1; i < text.n; i++) {
        if (text.at[i] == '\\')
            i++;
        else if (text.at[i] == text.at[0])
            return i + 1;
    }
    return 0;
}

static bool is_quote(char c) { return c == '"' || c == '\''; }

int nm_def_value_list(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text, struct nm_def_value **values,
                      uint32_t *n, const struct nm_spot *spot)
{
    if (text.n < 2 || text.at[0] != '[' || text.at[text.n - 1] != ']')
        return nm_spot_fail(spot, "the default of an array is a list: [1, 2, 3]");
    struct nm_slice rest = nm_slice_trim((struct nm_slice){text.at + 1, text.n - 2});
    uint32_t room = 0;
    *n = 0;
    *values = NULL;
    while (rest.n) {
        size_t len = is_quote(rest.at[0]) ? quoted_length(rest) : 0;
        while (len < rest.n && rest.at[len] != ',') len++;
        struct nm_slice item = nm_slice_trim((struct nm_slice){rest.at, len});
        if (is_quote(rest.at[0]) && quoted_length(rest) != item.n)
            return nm_spot_fail(spot, "expected a comma behind %.*s", (int)quoted_length(rest), rest.at);
        *values = nm_grow(arena, *values, *n, &room, sizeof **values);
        if (nm_def_value_read(arena, kind, item, *values + *n, spot)) return -1;
        ++*n;
        bool comma = len < rest.n;
        rest = nm_slice_trim(nm_slice_from(rest, rest.at + len + comma));
        if (comma && !rest.n) return nm_spot_fail(spot, "the list ends in a comma");
    }
    return 0;
}

int nm_def_value_extent(struct nm_slice rest, struct nm_slice *value, const struct nm_spot *spot)
{
    size_t len = 0;
    if (rest.n && is_quote(rest.at[0])) {
        len = quoted_length(rest);
        if (!len) return nm_spot_fail(spot, "the text %.*s has no closing quote", (int)rest.n, rest.at);
    } else if (rest.n && rest.at[0] == '[') {
        while (len < rest.n && rest.at[len] != ']') {
            size_t quoted = is_quote(rest.at[len]) ? quoted_length(nm_slice_from(rest, rest.at + len)) : 1;
            if (!quoted) break;
            len += quoted;
        }
        if (len >= rest.n || rest.at[len] != ']') return nm_spot_fail(spot, "the list has no closing bracket");
        len++;
    } else {
        while (len < rest.n && rest.at[len] != '#') len++;
    }
    struct nm_slice behind = nm_slice_trim(nm_slice_from(rest, rest.at + len));
    if (behind.n && behind.at[0] != '#')
        return nm_spot_fail(spot, "nothing may follow %.*s but a comment", (int)len, rest.at);
    *value = nm_slice_trim((struct nm_slice){rest.at, len});
    return 0;
}

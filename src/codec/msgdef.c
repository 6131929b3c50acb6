/* Texts to definitions: a message, the parts of a service or action, the sections of merged text. From the bottom up:
 * slices of text and words, values, lines, links between definitions, the types that ROS 2 derives, and whole files.
 * The grammar is rosidl's (rosidl_adapter), with two additions of ours: `Header` alone is std_msgs/Header, and a '#'
 * inside quotes is text. */
#include "codec/msgdef.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* where a fault is */
struct nm_spot {
    const char *file;
    uint32_t line;
    struct nm_err *err;
};

/* piece of a text, not terminated */
struct nm_slice {
    const char *at;
    size_t n;
};

enum nm_word { NM_WORD_FIELD, NM_WORD_CONSTANT, NM_WORD_TYPE, NM_WORD_PACKAGE, NM_WORD_ANY };

static int nm_spot_fail(const struct nm_spot *spot, const char *format, ...) __attribute__((format(printf, 2, 3)));
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

static int nm_spot_fail(const struct nm_spot *spot, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return nm_fail(spot->err, "%s:%u: %s", spot->file, spot->line, what);
}

static bool nm_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
static bool nm_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool nm_is_word(char c) { return nm_is_digit(c) || is_lower(c) || is_upper(c) || c == '_'; }

static char *nm_slice_text(struct nm_arena *arena, struct nm_slice slice)
{
    char *text = nm_take(arena, slice.n + 1);
    if (slice.n) memcpy(text, slice.at, slice.n);
    return text;
}

static bool nm_slice_is(struct nm_slice slice, const char *text)
{
    return strlen(text) == slice.n && !memcmp(slice.at, text, slice.n);
}

static struct nm_slice nm_slice_trim(struct nm_slice slice)
{
    while (slice.n && nm_is_blank(slice.at[0])) slice = (struct nm_slice){slice.at + 1, slice.n - 1};
    while (slice.n && nm_is_blank(slice.at[slice.n - 1])) slice.n--;
    return slice;
}

/* from the start of `whole` */
static struct nm_slice nm_slice_to(struct nm_slice whole, const char *end)
{
    return (struct nm_slice){whole.at, (size_t)(end - whole.at)};
}

static struct nm_slice nm_slice_from(struct nm_slice whole, const char *at)
{
    return (struct nm_slice){at, whole.n - (size_t)(at - whole.at)};
}

/* cuts it off `rest`, without its end */
static struct nm_slice nm_next_line(struct nm_slice *rest)
{
    const char *end = memchr(rest->at, '\n', rest->n);
    struct nm_slice line = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
    *rest = nm_slice_from(*rest, rest->at + line.n + (end != NULL));
    return line;
}

/* words */

static bool nm_word_ok(enum nm_word kind, struct nm_slice word)
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

/* Full name of `pkg/Type`, `pkg/msg/Type` or `Type` (in `package`); NULL if it is no legal name. */
static const char *nm_def_full_name(struct nm_arena *arena, const char *package, struct nm_slice written)
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

/* A new definition in the set, named package/kind/stem+suffix; NULL when the set is full. */
static struct nm_def *nm_defs_new(struct nm_defs *set, const char *package, const char *kind, const char *stem,
                                  const char *suffix, const struct nm_spot *spot)
{
    if (set->n >= NM_DEF_TYPES) {
        nm_spot_fail(spot, "more than %d types in one set", NM_DEF_TYPES);
        return NULL;
    }
    struct nm_def *def = nm_take_n(set->arena, struct nm_def, 1);
    *def = (struct nm_def){.name = nm_take_format(set->arena, "%s/%s/%s%s", package, kind, stem, suffix),
                           .package = package,
                           .stem = stem,
                           .file = spot->file,
                           .line = spot->line,
                           .comment = ""};
    set->at = nm_take_more(set->arena, set->at, set->n, &set->room, sizeof *set->at);
    return set->at[set->n++] = def;
}

static struct nm_def_field *nm_def_add_field(struct nm_defs *set, struct nm_def *def, uint32_t *room)
{
    def->fields = nm_take_more(set->arena, def->fields, def->n_fields, room, sizeof *def->fields);
    struct nm_def_field *field = &def->fields[def->n_fields++];
    *field = (struct nm_def_field){.cap = 1, .above = "", .comment = ""};
    return field;
}

/* Values of constants and defaults: integers with their range, floats, bools, quoted and bare strings, lists of them.
 */

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

/* One value, or a list `[a, b]` of them, of a primitive or a string. */
static int nm_def_value_read(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text,
                             struct nm_def_value *value, const struct nm_spot *spot)
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

static int nm_def_value_list(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text,
                             struct nm_def_value **values, uint32_t *n, const struct nm_spot *spot)
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
        *values = nm_take_more(arena, *values, *n, &room, sizeof **values);
        if (nm_def_value_read(arena, kind, item, *values + *n, spot)) return -1;
        ++*n;
        bool comma = len < rest.n;
        rest = nm_slice_trim(nm_slice_from(rest, rest.at + len + comma));
        if (comma && !rest.n) return nm_spot_fail(spot, "the list ends in a comma");
    }
    return 0;
}

/* The part of a line that is the value; what follows must be empty or a comment. */
static int nm_def_value_extent(struct nm_slice rest, struct nm_slice *value, const struct nm_spot *spot)
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

/* Lines to fields and constants: types, annotations, defaults, comments. The grammar is rosidl's (rosidl_adapter), with
 * two additions of ours: `Header` alone is std_msgs/Header, and a '#' inside quotes is text. */

struct reader {
    struct nm_defs *set;
    struct nm_def *def;
    struct nm_spot spot;
    bool foreign;
    uint32_t field_room, constant_room;
    struct nm_slice block; /* comment lines above what comes next */
};

struct line {
    struct nm_slice type, name, value, comment;
};

/* Comment lines as text: without '#', the one blank behind it, and indentation. */
static const char *block_text(struct reader *r)
{
    struct nm_slice rest = r->block;
    r->block = (struct nm_slice){0};
    if (!rest.n) return "";
    char *text = nm_take(r->set->arena, rest.n + 1), *to = text;
    while (rest.n) {
        struct nm_slice line = nm_slice_trim(nm_next_line(&rest));
        while (line.n && line.at[0] == '#') line = nm_slice_from(line, line.at + 1);
        line = nm_slice_trim(line);
        if (to > text) *to++ = '\n';
        if (line.n) memcpy(to, line.at, line.n);
        to += line.n;
    }
    *to = '\0';
    return text;
}

/* types */

static int read_count(struct nm_slice digits, uint32_t *count, const struct nm_spot *spot)
{
    uint64_t sum = 0;
    bool ok = digits.n > 0 && digits.n < 10;
    for (size_t i = 0; ok && i < digits.n; i++) {
        ok = nm_is_digit(digits.at[i]);
        sum = sum * 10 + (uint64_t)(digits.at[i] - '0');
    }
    if (!ok || !sum || sum > NM_DEF_SIZE)
        return nm_spot_fail(spot, "'%.*s' is no size; sizes are 1 to %d", (int)digits.n, digits.at, NM_DEF_SIZE);
    *count = (uint32_t)sum;
    return 0;
}

/* `[]`, `[N]`, `[<=N]` */
static int read_shape(struct nm_slice text, struct nm_def_field *field, const struct nm_spot *spot)
{
    if (text.n < 2 || text.at[text.n - 1] != ']')
        return nm_spot_fail(spot, "'%.*s' behind a type; arrays are [N], [] or [<=N]", (int)text.n, text.at);
    struct nm_slice inner = {text.at + 1, text.n - 2};
    field->shape = NM_SEQ;
    if (!inner.n) return 0;
    if (inner.n > 2 && inner.at[0] == '<' && inner.at[1] == '=')
        return read_count(nm_slice_from(inner, inner.at + 2), &field->bound, spot);
    field->shape = NM_ARRAY;
    return read_count(inner, &field->cap, spot);
}

static int unknown_primitive(struct nm_slice name, const struct nm_spot *spot)
{
    const char *names[NM_STRING + 1];
    char word[NM_DEF_NAME + 1];
    uint32_t n = 0;
    for (int kind = NM_BOOL; kind <= NM_STRING; kind++) names[n++] = nm_kind_name((enum nm_kind)kind);
    names[n++] = "char";
    snprintf(word, sizeof word, "%.*s", (int)name.n, name.at);
    const char *near = nm_nearest(word, names, n);
    return nm_spot_fail(spot, "'%s' is no type%s%s%s; types of messages begin with a capital letter", word,
                        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int read_base(struct reader *r, struct nm_slice name, struct nm_def_field *field)
{
    if (nm_slice_is(name, "wstring"))
        return nm_spot_fail(&r->spot, "wstring is not supported; use string, which is UTF-8");
    if (nm_slice_is(name, "char")) name = (struct nm_slice){"uint8", 5};
    for (int kind = NM_BOOL; kind <= NM_STRING; kind++)
        if (nm_slice_is(name, nm_kind_name((enum nm_kind)kind))) {
            field->kind = (enum nm_kind)kind;
            return 0;
        }
    field->kind = NM_STRUCT;
    field->type = nm_def_full_name(r->set->arena, r->def->package, name);
    if (field->type) return 0;
    if (memchr(name.at, '/', name.n) || !name.n || !nm_word_ok(NM_WORD_ANY, name))
        return nm_spot_fail(&r->spot, "'%.*s' is no type; write package/Type", (int)name.n, name.at);
    return unknown_primitive(name, &r->spot);
}

static int read_type(struct reader *r, struct nm_slice text, struct nm_def_field *field)
{
    size_t base = 0, bound = 0;
    while (base < text.n && text.at[base] != '<' && text.at[base] != '[') base++;
    if (read_base(r, (struct nm_slice){text.at, base}, field)) return -1;
    struct nm_slice rest = nm_slice_from(text, text.at + base);
    if (rest.n && rest.at[0] == '<') {
        if (field->kind != NM_STRING || rest.n < 3 || rest.at[1] != '=')
            return nm_spot_fail(&r->spot, "'%.*s': only string has a bound here: string<=N", (int)text.n, text.at);
        for (bound = 2; bound < rest.n && rest.at[bound] != '[';) bound++;
        if (read_count((struct nm_slice){rest.at + 2, bound - 2}, &field->text_bound, &r->spot)) return -1;
        rest = nm_slice_from(rest, rest.at + bound);
    }
    return rest.n ? read_shape(rest, field, &r->spot) : 0;
}

/* annotations */

struct notes {
    uint32_t cap, len; /* 0 if not given */
    bool blob;
};

/* Takes `cap=N` and `len=N` out of a comment wherever they stand, and `blob` where only these stand before it. Returns
 * the prose that is left, all of it without `notes`; NULL after a fault. */
static const char *read_notes(struct reader *r, struct nm_slice comment, struct notes *notes)
{
    char *prose = nm_take(r->set->arena, comment.n + 1), *to = prose;
    while (comment.n) {
        size_t len = 0;
        while (len < comment.n && !nm_is_blank(comment.at[len])) len++;
        struct nm_slice word = {comment.at, len};
        comment = nm_slice_trim(nm_slice_from(comment, comment.at + len));
        while (word.n > 4 && (word.at[word.n - 1] == ',' || word.at[word.n - 1] == ';')) word.n--;
        bool cap = len >= 4 && !memcmp(word.at, "cap=", 4), room = len >= 4 && !memcmp(word.at, "len=", 4);
        if (notes && (cap || room)) {
            uint32_t *count = cap ? &notes->cap : &notes->len;
            if (read_count(nm_slice_from(word, word.at + 4), count, &r->spot)) return NULL;
        } else if (notes && to == prose && nm_slice_is(word, "blob")) {
            notes->blob = true;
        } else {
            if (to > prose) *to++ = ' ';
            memcpy(to, word.at, len);
            to += len;
        }
    }
    return prose;
}

static int note_fault(struct reader *r, const struct nm_def_field *field, const struct notes *notes)
{
    bool text = field->kind == NM_STRING, sequence = field->shape == NM_SEQ;
    const char *name = field->name;
    if (notes->blob && (!sequence || text || field->kind == NM_STRUCT))
        return nm_spot_fail(&r->spot, "%s: only an unfixed array of primitives can be a blob", name);
    if (notes->blob && notes->cap) return nm_spot_fail(&r->spot, "%s: a blob has no cap, its pool has", name);
    if (notes->blob && field->written) return nm_spot_fail(&r->spot, "%s: a blob has no default", name);
    if (notes->cap && !sequence && !(text && field->shape == NM_ONE))
        return nm_spot_fail(&r->spot, "%s: cap= is for strings and unfixed arrays", name);
    if (notes->len && (!text || field->shape == NM_ONE))
        return nm_spot_fail(&r->spot, "%s: len= is for arrays of strings%s", name, text ? "; a string has cap=" : "");
    uint32_t bound = sequence ? field->bound : field->text_bound;
    if (bound && notes->cap > bound)
        return nm_spot_fail(&r->spot, "%s: cap=%u exceeds its bound %u", name, notes->cap, bound);
    if (field->text_bound && notes->len > field->text_bound)
        return nm_spot_fail(&r->spot, "%s: len=%u exceeds its bound %u", name, notes->len, field->text_bound);
    return 0;
}

static uint32_t longest_default(const struct nm_def_field *field)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < field->n_values; i++) {
        size_t len = strlen(field->values[i].text);
        if (len > longest) longest = len;
    }
    return (uint32_t)longest;
}

static uint32_t room_of(uint32_t note, uint32_t bound, uint32_t usual, uint32_t least)
{
    return note ? note : bound ? bound : usual > least ? usual : least;
}

/* Room in memory: from the annotation, else from the bound, else what base/type.h promises or the default needs. */
static int set_room(struct reader *r, struct nm_def_field *field, const struct notes *notes)
{
    enum { TEXT = 63, ELEMENTS = 16, TEXT_IN_ARRAY = 31 };
    if (note_fault(r, field, notes)) return -1;
    bool one = field->shape == NM_ONE;
    if (field->kind == NM_STRING)
        field->len = room_of(one ? notes->cap : notes->len, field->text_bound, one ? TEXT : TEXT_IN_ARRAY,
                             longest_default(field));
    if (field->shape == NM_SEQ) field->cap = room_of(notes->cap, field->bound, ELEMENTS, field->n_values);
    if (notes->blob) {
        field->shape = NM_BLOB;
        field->cap = 0;
    }
    return 0;
}

/* lines */

static int check_default(struct reader *r, const struct nm_def_field *field)
{
    const char *name = field->name;
    if (field->shape == NM_ARRAY && field->n_values != field->cap)
        return nm_spot_fail(&r->spot, "%s has %u elements but %u defaults", name, field->cap, field->n_values);
    if (field->shape == NM_SEQ && field->n_values > field->cap)
        return nm_spot_fail(&r->spot, "%s has %u defaults but room for %u", name, field->n_values, field->cap);
    for (uint32_t i = 0; field->kind == NM_STRING && i < field->n_values; i++)
        if (strlen(field->values[i].text) > field->len)
            return nm_spot_fail(&r->spot, "%s: the default is longer than the %u bytes that fit", name, field->len);
    return 0;
}

static int read_default(struct reader *r, struct nm_def_field *field, struct nm_slice text)
{
    struct nm_arena *arena = r->set->arena;
    if (field->kind == NM_STRUCT)
        return nm_spot_fail(&r->spot, "'%.*s' behind %s: a message as member takes no default", (int)text.n, text.at,
                            field->name);
    field->written = nm_slice_text(arena, text);
    if (field->shape != NM_ONE)
        return nm_def_value_list(arena, field->kind, text, &field->values, &field->n_values, &r->spot);
    field->n_values = 1;
    field->values = nm_take_n(arena, struct nm_def_value, 1);
    return nm_def_value_read(arena, field->kind, text, field->values, &r->spot);
}

static int read_field(struct reader *r, const struct line *line)
{
    struct nm_def *def = r->def;
    struct nm_slice name = line->name;
    if (def->n_fields >= NM_DEF_FIELDS) return nm_spot_fail(&r->spot, "more than %d fields", NM_DEF_FIELDS);
    if (!nm_word_ok(r->foreign ? NM_WORD_ANY : NM_WORD_FIELD, name))
        return nm_spot_fail(&r->spot, "field name '%.*s': names are lower_case words joined by single underscores",
                            (int)name.n, name.at);
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (nm_slice_is(name, def->fields[i].name))
            return nm_spot_fail(&r->spot, "field %s again; it stands in line %u", def->fields[i].name,
                                def->fields[i].line);

    struct nm_def_field *field = nm_def_add_field(r->set, def, &r->field_room);
    struct notes notes = {0};
    field->name = nm_slice_text(r->set->arena, name);
    field->line = r->spot.line;
    field->above = block_text(r);
    if (read_type(r, line->type, field)) return -1;
    field->comment = read_notes(r, line->comment, r->foreign ? NULL : &notes);
    if (!field->comment) return -1;
    if (line->value.n && read_default(r, field, line->value)) return -1;
    if (set_room(r, field, &notes)) return -1;
    return line->value.n ? check_default(r, field) : 0;
}

static int read_constant(struct reader *r, const struct line *line)
{
    struct nm_def *def = r->def;
    struct nm_slice name = line->name, value = line->value;
    struct nm_def_field as = {0};
    if (def->n_constants >= NM_DEF_FIELDS) return nm_spot_fail(&r->spot, "more than %d constants", NM_DEF_FIELDS);
    if (read_type(r, line->type, &as)) return -1;
    if (as.shape != NM_ONE || as.kind == NM_STRUCT || as.text_bound)
        return nm_spot_fail(&r->spot, "constant %.*s: constants are primitives or string", (int)name.n, name.at);
    if (!nm_word_ok(r->foreign ? NM_WORD_ANY : NM_WORD_CONSTANT, name))
        return nm_spot_fail(&r->spot, "constant name '%.*s': names are UPPER_CASE words joined by single underscores",
                            (int)name.n, name.at);
    if (!value.n && as.kind != NM_STRING)
        return nm_spot_fail(&r->spot, "constant %.*s has no value", (int)name.n, name.at);
    for (uint32_t i = 0; i < def->n_constants; i++)
        if (nm_slice_is(name, def->constants[i].name))
            return nm_spot_fail(&r->spot, "constant %s again; it stands in line %u", def->constants[i].name,
                                def->constants[i].line);

    def->constants =
        nm_take_more(r->set->arena, def->constants, def->n_constants, &r->constant_room, sizeof *def->constants);
    struct nm_def_constant *constant = &def->constants[def->n_constants++];
    *constant = (struct nm_def_constant){.name = nm_slice_text(r->set->arena, name),
                                         .kind = as.kind,
                                         .written = nm_slice_text(r->set->arena, value),
                                         .above = block_text(r),
                                         .comment = read_notes(r, line->comment, NULL),
                                         .line = r->spot.line};
    return nm_def_value_read(r->set->arena, as.kind, value, &constant->value, &r->spot);
}

/* `type name [default] [# comment]` or `type NAME=value [# comment]` */
static int read_line(struct reader *r, struct nm_slice text)
{
    const char *end = text.at + text.n, *at = text.at;
    struct line line;
    while (at < end && !nm_is_blank(*at) && *at != '#') at++;
    line.type = nm_slice_to(text, at);
    struct nm_slice rest = nm_slice_trim(nm_slice_from(text, at));
    for (at = rest.at; at < end && nm_is_word(*at);) at++;
    line.name = nm_slice_to(rest, at);
    rest = nm_slice_trim(nm_slice_from(rest, at));
    if (!line.name.n) return nm_spot_fail(&r->spot, "'%.*s' is no field; a line is `type name`", (int)text.n, text.at);

    bool constant = rest.n && rest.at[0] == '=';
    if (constant) rest = nm_slice_trim(nm_slice_from(rest, rest.at + 1));
    if (!constant && rest.n && rest.at == at && rest.at[0] != '#')
        return nm_spot_fail(&r->spot, "'%.*s' directly behind the name %.*s", (int)rest.n, rest.at, (int)line.name.n,
                            line.name.at);
    if (nm_def_value_extent(rest, &line.value, &r->spot)) return -1;
    line.comment = nm_slice_trim(nm_slice_from(rest, rest.at + line.value.n));
    while (line.comment.n && line.comment.at[0] == '#') line.comment = nm_slice_from(line.comment, line.comment.at + 1);
    line.comment = nm_slice_trim(line.comment);
    return constant ? read_constant(r, &line) : read_field(r, &line);
}

/* ROS 2 knows no empty struct: it puts a member in. */
static void fill_empty(struct reader *r)
{
    r->def->empty = true;
    struct nm_def_field *field = nm_def_add_field(r->set, r->def, &r->field_room);
    field->name = "structure_needs_at_least_one_member";
    field->kind = NM_UINT8;
    field->line = r->def->line;
}

/* Reads the text of one definition; goes on after a fault, so that all are told. */
static int nm_def_read(struct nm_defs *set, struct nm_def *def, struct nm_slice text, bool foreign, struct nm_spot spot)
{
    struct reader r = {.set = set, .def = def, .spot = spot, .foreign = foreign};
    int result = 0;
    bool first = true; /* the first block of comments belongs to the definition */
    for (; text.n; r.spot.line++) {
        const char *begin = text.at;
        struct nm_slice line = nm_slice_trim(nm_next_line(&text));
        bool comment = line.n && line.at[0] == '#';
        if (comment) {
            if (!r.block.n) r.block.at = begin;
            r.block.n = (size_t)(line.at + line.n - r.block.at);
            continue;
        }
        if (first && r.block.n) def->comment = block_text(&r);
        first = first && !line.n && !*def->comment;
        if (!line.n)
            r.block = (struct nm_slice){0};
        else if (line.n > NM_DEF_LINE)
            result = nm_spot_fail(&r.spot, "line of more than %d bytes", NM_DEF_LINE);
        else if (read_line(&r, line))
            result = -1;
    }
    if (first && r.block.n) def->comment = block_text(&r);
    if (!def->n_fields && !result) fill_empty(&r);
    return result;
}

/* Binds the definitions of a set to each other: finds the types that fields name, refuses loops, gives C names. */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct nm_def *const *)a)->name, (*(struct nm_def *const *)b)->name);
}

static int name_is(const void *name, const void *def) { return strcmp(name, (*(struct nm_def *const *)def)->name); }

static struct nm_def *find(const struct nm_defs *set, const char *name)
{
    struct nm_def **found = set->n ? bsearch(name, set->at, set->n, sizeof *set->at, name_is) : NULL;
    return found ? *found : NULL;
}

struct nm_def *nm_defs_find(const struct nm_defs *set, const char *name)
{
    char full[3 * NM_DEF_NAME];
    struct nm_def *def = find(set, name);
    const char *slash = strchr(name, '/');
    size_t package = slash ? (size_t)(slash - name) : 0;
    if (def || !slash || strchr(slash + 1, '/') || strlen(name) + 5 > sizeof full) return def;
    memcpy(full, name, package);
    memcpy(full + package, "/msg", 4);
    strcpy(full + package + 4, slash);
    return find(set, full);
}

/* The name in the set nearest to `word`, but only for the first faults: hostile text has many. */
static const char *nearest(const struct nm_defs *set, const char *word, const struct nm_err *err)
{
    enum { FIRST = 8 };
    if (!err || err->n > FIRST) return NULL;
    const char **names = nm_take_n(set->arena, const char *, set->n);
    for (uint32_t i = 0; i < set->n; i++) names[i] = set->at[i]->name;
    return nm_nearest(word, names, set->n);
}

static int find_types(const struct nm_defs *set, struct nm_def *def, struct nm_err *err)
{
    int result = 0;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def_field *field = &def->fields[i];
        if (!field->type || (field->def = find(set, field->type))) continue;
        struct nm_spot spot = {def->file, field->line, err};
        const char *near = nearest(set, field->type, err);
        result = nm_spot_fail(&spot, "type %s of field %s is unknown%s%s%s", field->type, field->name,
                              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return result;
}

enum { UNSEEN = 0, OPEN = UINT16_MAX };

/* Longest chain of nested definitions from here; a chain that comes back to an open one is a loop. */
static int measure_depth(struct nm_def *def, uint32_t level, struct nm_err *err)
{
    if (def->depth != UNSEEN) return 0;
    struct nm_spot spot = {def->file, def->line, err};
    if (level > NM_DEF_DEPTH) return nm_spot_fail(&spot, "%s: types nested deeper than %d", def->name, NM_DEF_DEPTH);
    uint32_t deepest = 0;
    def->depth = OPEN;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def *inner = def->fields[i].def;
        if (!inner) continue;
        spot.line = def->fields[i].line;
        if (inner->depth == OPEN)
            return nm_spot_fail(&spot, "%s contains itself through field %s", inner->name, def->fields[i].name);
        if (measure_depth(inner, level + 1, err)) return -1;
        if (inner->depth > deepest) deepest = inner->depth;
    }
    if (deepest >= NM_DEF_DEPTH) return nm_spot_fail(&spot, "%s: types nested deeper than %d", def->name, NM_DEF_DEPTH);
    def->depth = deepest + 1;
    return 0;
}

/* One name in C for each type: its own, with its package where another file of the set is called the same. */
static void name_in_c(struct nm_defs *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        struct nm_def *def = set->at[i];
        const char *own = strrchr(def->name, '/') + 1;
        bool shared = false;
        for (uint32_t k = 0; k < set->n && !shared; k++)
            shared = !strcmp(def->stem, set->at[k]->stem) && strcmp(def->package, set->at[k]->package);
        def->c_name = shared ? nm_take_format(set->arena, "%s_%s", def->package, own) : own;
    }
}

int nm_defs_link(struct nm_defs *set, struct nm_err *err)
{
    int result = 0;
    if (set->n) qsort(set->at, set->n, sizeof *set->at, by_name);
    for (uint32_t i = 1; i < set->n; i++) {
        struct nm_spot spot = {set->at[i]->file, set->at[i]->line, err};
        if (!strcmp(set->at[i - 1]->name, set->at[i]->name))
            result = nm_spot_fail(&spot, "%s is defined twice; also at %s:%u", set->at[i]->name, set->at[i - 1]->file,
                                  set->at[i - 1]->line);
    }
    for (uint32_t i = 0; i < set->n; i++)
        if (find_types(set, set->at[i], err)) result = -1;
    for (uint32_t i = 0; i < set->n && !result; i++) result = measure_depth(set->at[i], 1, err);
    if (result || set->broken) return -1;
    name_in_c(set);
    return 0;
}

static void collect(const struct nm_defs *set, const struct nm_def *def, bool *seen)
{
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def *inner = def->fields[i].def;
        if (!inner) continue;
        struct nm_def **at = bsearch(inner->name, set->at, set->n, sizeof *set->at, name_is);
        if (seen[at - set->at]) continue;
        seen[at - set->at] = true;
        collect(set, inner, seen);
    }
}

struct nm_def **nm_def_needs(const struct nm_defs *set, const struct nm_def *def, uint32_t *n)
{
    bool *seen = nm_take_n(set->arena, bool, set->n);
    collect(set, def, seen);
    *n = 0;
    for (uint32_t i = 0; i < set->n; i++) *n += seen[i];
    struct nm_def **needs = nm_take_n(set->arena, struct nm_def *, *n), **to = needs;
    for (uint32_t i = 0; i < set->n; i++)
        if (seen[i]) *to++ = set->at[i];
    return needs;
}

/* The types ROS 2 derives from services and actions (rosidl, "hidden types"): events, the two services and the feedback
 * message of an action, and for each service and action one type that holds its parts, which has a hash of its own. */

/* One member of a derived type. In `type`, a leading '_' is short for the interface's own name. */
struct member {
    const char *name, *type;
    enum nm_kind kind;
    uint32_t bound; /* sequence of at most so many, 0 for one */
};

struct derived {
    const char *suffix;
    struct member members[7];
};

#define SERVICE(prefix)                                                                                                \
    {prefix "_Event",                                                                                                  \
     {{"info", "service_msgs/msg/ServiceEventInfo", NM_STRUCT, 0},                                                     \
      {"request", prefix "_Request", NM_STRUCT, 1},                                                                    \
      {"response", prefix "_Response", NM_STRUCT, 1}}},                                                                \
    {                                                                                                                  \
        prefix,                                                                                                        \
            {{"request_message", prefix "_Request", NM_STRUCT, 0},                                                     \
             {"response_message", prefix "_Response", NM_STRUCT, 0},                                                   \
             {"event_message", prefix "_Event", NM_STRUCT, 0}},                                                        \
    }

#define GOAL_ID                                                                                                        \
    {                                                                                                                  \
        "goal_id", "unique_identifier_msgs/msg/UUID", NM_STRUCT, 0                                                     \
    }

static const struct derived of_service[] = {SERVICE(""), {0}};

static const struct derived of_action[] = {
    {"_SendGoal_Request", {GOAL_ID, {"goal", "_Goal", NM_STRUCT, 0}}},
    {"_SendGoal_Response", {{"accepted", NULL, NM_BOOL, 0}, {"stamp", "builtin_interfaces/msg/Time", NM_STRUCT, 0}}},
    SERVICE("_SendGoal"),
    {"_GetResult_Request", {GOAL_ID}},
    {"_GetResult_Response", {{"status", NULL, NM_INT8, 0}, {"result", "_Result", NM_STRUCT, 0}}},
    SERVICE("_GetResult"),
    {"_FeedbackMessage", {GOAL_ID, {"feedback", "_Feedback", NM_STRUCT, 0}}},
    {"",
     {{"goal", "_Goal", NM_STRUCT, 0},
      {"result", "_Result", NM_STRUCT, 0},
      {"feedback", "_Feedback", NM_STRUCT, 0},
      {"send_goal_service", "_SendGoal", NM_STRUCT, 0},
      {"get_result_service", "_GetResult", NM_STRUCT, 0},
      {"feedback_message", "_FeedbackMessage", NM_STRUCT, 0}}},
    {0},
};

static void add_member(struct nm_defs *set, struct nm_def *def, const struct member *member, uint32_t *room,
                       const char *own)
{
    struct nm_def_field *field = nm_def_add_field(set, def, room);
    field->name = member->name;
    field->kind = member->kind;
    field->line = def->line;
    if (member->bound) {
        field->shape = NM_SEQ;
        field->bound = field->cap = member->bound;
    }
    if (member->type)
        field->type = *member->type == '_' ? nm_take_format(set->arena, "%s%s", own, member->type) : member->type;
}

/* Adds what ROS 2 derives from the parts already in the set. */
static int nm_defs_derive(struct nm_defs *set, const struct nm_def_source *source, const struct nm_spot *spot)
{
    bool service = source->kind == NM_SRV;
    const char *kind = service ? "srv" : "action";
    const char *own = nm_take_format(set->arena, "%s/%s/%s", source->package, kind, source->name);
    for (const struct derived *derived = service ? of_service : of_action; derived->suffix; derived++) {
        struct nm_def *def = nm_defs_new(set, source->package, kind, source->name, derived->suffix, spot);
        uint32_t room = 0;
        if (!def) return -1;
        for (const struct member *m = derived->members; m->name; m++) add_member(set, def, m, &room, own);
    }
    return 0;
}

/* files */

static int check_text(const char *text, size_t size, const struct nm_spot *spot)
{
    if (size > NM_DEF_TEXT) return nm_spot_fail(spot, "%zu bytes; a definition has at most %d", size, NM_DEF_TEXT);
    if (size && memchr(text, '\0', size)) return nm_spot_fail(spot, "a zero byte: this is no text");
    return 0;
}

static const char *const kind_names[] = {[NM_MSG] = "msg", [NM_SRV] = "srv", [NM_ACTION] = "action"};
static const struct {
    uint32_t n;
    const char *suffix[3], *layout;
} parts[] = {
    [NM_MSG] = {1, {""}, "a message has no line '---'"},
    [NM_SRV] = {2, {"_Request", "_Response"}, "a service is a request, a line '---' and a response"},
    [NM_ACTION] = {3,
                   {"_Goal", "_Result", "_Feedback"},
                   "an action is a goal, a result and a feedback with a line '---' between"},
};

static bool is_separator(struct nm_slice line) { return nm_slice_is(nm_slice_trim(line), "---"); }

static int add_file(struct nm_defs *set, const struct nm_def_source *source, struct nm_err *err)
{
    struct nm_spot spot = {nm_take_text(set->arena, source->file), 1, err};
    struct nm_def_source kept = *source;
    struct nm_slice package = {source->package, strlen(source->package)}, name = {source->name, strlen(source->name)};
    if (check_text(source->text, source->size, &spot)) return -1;
    if (!nm_word_ok(NM_WORD_PACKAGE, package))
        return nm_spot_fail(&spot, "package name '%s': names are lower_case words joined by single underscores",
                            source->package);
    if (!nm_word_ok(NM_WORD_TYPE, name) || memchr(name.at, '_', name.n))
        return nm_spot_fail(&spot, "type name '%s': names are CamelCase without underscores", source->name);
    kept.package = nm_slice_text(set->arena, package);
    kept.name = nm_slice_text(set->arena, name);

    struct nm_slice rest = {source->text, source->size};
    uint32_t n = parts[source->kind].n, line = 1;
    int result = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct nm_slice part = {rest.at, 0};
        spot.line = line;
        bool closed = false;
        while (rest.n && !closed) {
            closed = is_separator(nm_next_line(&rest));
            if (!closed) part.n = (size_t)(rest.at - part.at);
            line++;
        }
        if (closed != (i + 1 < n)) {
            spot.line = line > 1 ? line - 1 : 1; /* the line read last */
            return nm_spot_fail(&spot, "%s", parts[source->kind].layout);
        }
        struct nm_def *def =
            nm_defs_new(set, kept.package, kind_names[source->kind], kept.name, parts[source->kind].suffix[i], &spot);
        if (!def) return -1;
        if (nm_def_read(set, def, part, false, spot)) result = -1;
    }
    spot.line = 1;
    if (source->kind != NM_MSG && nm_defs_derive(set, &kept, &spot)) return -1;
    return result;
}

int nm_defs_add(struct nm_defs *set, const struct nm_def_source *source, struct nm_err *err)
{
    if (!add_file(set, source, err)) return 0;
    set->broken = true;
    return -1;
}

/* a line of '=' only */
static bool is_border(struct nm_slice line)
{
    line = nm_slice_trim(line);
    for (size_t i = 0; i < line.n; i++)
        if (line.at[i] != '=') return false;
    return line.n >= 2;
}

/* `MSG: package/Type` */
static const char *section_name(struct nm_defs *set, struct nm_slice line, const struct nm_spot *spot)
{
    line = nm_slice_trim(line);
    const char *name = NULL;
    if (line.n > 4 && !memcmp(line.at, "MSG:", 4)) {
        struct nm_slice written = nm_slice_trim(nm_slice_from(line, line.at + 4));
        if (memchr(written.at, '/', written.n)) name = nm_def_full_name(set->arena, "", written);
    }
    if (!name)
        nm_spot_fail(spot, "expected `MSG: package/Type` behind a line of '=', found '%.*s'", (int)line.n, line.at);
    return name;
}

static struct nm_def *new_named(struct nm_defs *set, const char *name, const struct nm_spot *spot)
{
    const char *slash = strchr(name, '/'), *second = strchr(slash + 1, '/');
    char *package = nm_slice_text(set->arena, (struct nm_slice){name, (size_t)(slash - name)});
    char *kind = nm_slice_text(set->arena, (struct nm_slice){slash + 1, (size_t)(second - slash - 1)});
    return nm_defs_new(set, package, kind, nm_take_text(set->arena, second + 1), "", spot);
}

static int add_merged(struct nm_defs *set, const char *file, const char *name, const char *text, size_t size,
                      struct nm_err *err)
{
    struct nm_spot spot = {nm_take_text(set->arena, file), 1, err};
    if (check_text(text, size, &spot)) return -1;
    struct nm_slice rest = {text, size}, written = {name, strlen(name)};
    name = strchr(name, '/') ? nm_def_full_name(set->arena, "", written) : NULL;
    if (!name) return nm_spot_fail(&spot, "'%.*s' is no type; write package/Type", (int)written.n, written.at);

    uint32_t line = 1;
    int result = 0;
    while (name) {
        struct nm_slice part = {rest.at, 0};
        const char *next = NULL;
        bool closed = false;
        spot.line = line;
        while (rest.n && !closed) {
            closed = is_border(nm_next_line(&rest));
            if (!closed) part.n = (size_t)(rest.at - part.at);
            line++;
        }
        struct nm_def *def = new_named(set, name, &spot);
        if (!def) return -1;
        if (nm_def_read(set, def, part, true, spot)) result = -1;
        if (closed) {
            spot.line = line++;
            if (!(next = section_name(set, nm_next_line(&rest), &spot))) return -1;
        }
        name = next;
    }
    return result;
}

int nm_defs_add_merged(struct nm_defs *set, const char *file, const char *name, const char *text, size_t size,
                       struct nm_err *err)
{
    if (!add_merged(set, file, name, text, size, err)) return 0;
    set->broken = true;
    return -1;
}

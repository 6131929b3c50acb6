/* Steps through CDR bytes by a definition, finds what stands at a path, and prints. */
#include "codec/cdr_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 4 /* encapsulation */ };

static int too_short(struct nm_walk *walk, const struct nm_def_field *field)
{
    return nm_fail(walk->err, "%s: %zu bytes end inside of %s (at byte %zu)", walk->def->name,
                   (size_t)(walk->end - walk->base) + HEAD, field->name, (size_t)(walk->at - walk->base) + HEAD);
}

int nm_walk_begin(struct nm_walk *walk, const struct nm_def *def, const void *cdr, size_t size, struct nm_err *err)
{
    const uint8_t *bytes = cdr;
    if (size < HEAD || bytes[0] || bytes[1] > 1)
        return nm_fail(err, "%s: no plain CDR header (00 00 or 00 01) in %zu bytes", def->name, size);
    *walk = (struct nm_walk){bytes + HEAD, bytes + HEAD, bytes + size, bytes[1] == 0, def, err};
    return 0;
}

/* Moves behind n bytes that begin at a multiple of `align`; NULL if there are not so many. */
static const uint8_t *take(struct nm_walk *walk, size_t align, uint64_t n)
{
    size_t pad = (size_t)(walk->base - walk->at) & (align - 1), left = (size_t)(walk->end - walk->at);
    if (pad > left || n > left - pad) return NULL;
    const uint8_t *at = walk->at + pad;
    walk->at = at + n;
    return at;
}

static int take_u32(struct nm_walk *walk, const struct nm_def_field *field, uint32_t *value)
{
    const uint8_t *at = take(walk, 4, 4);
    if (!at) return too_short(walk, field);
    memcpy(value, at, 4);
    if (walk->swap) *value = __builtin_bswap32(*value);
    return 0;
}

int nm_walk_count(struct nm_walk *walk, const struct nm_def_field *field, uint32_t *n)
{
    *n = field->shape == NM_ONE ? 1 : field->cap;
    if (field->shape == NM_ONE || field->shape == NM_ARRAY) return 0;
    if (take_u32(walk, field, n)) return -1;
    /* every element takes at least a byte, a text four: a count beyond that is nonsense, not memory or time */
    size_t least = field->kind == NM_STRUCT ? 1 : field->kind == NM_STRING ? 4 : nm_kind_width(field->kind);
    return (uint64_t)*n * least > (uint64_t)(walk->end - walk->at) ? too_short(walk, field) : 0;
}

int nm_walk_value(struct nm_walk *walk, const struct nm_def_field *field, uint64_t *bits)
{
    uint32_t width = nm_kind_width(field->kind);
    const uint8_t *at = take(walk, width, width);
    if (!at) return too_short(walk, field);
    *bits = 0;
    for (uint32_t i = 0; i < width; i++) *bits |= (uint64_t)at[walk->swap ? width - 1 - i : i] << 8 * i;
    if (field->kind == NM_BOOL) *bits = *bits != 0;
    return 0;
}

int nm_walk_text(struct nm_walk *walk, const struct nm_def_field *field, const char **text, uint32_t *n)
{
    uint32_t length = 0;
    if (take_u32(walk, field, &length)) return -1;
    const uint8_t *at = take(walk, 1, length);
    if (!at) return too_short(walk, field);
    *text = (const char *)at;
    *n = length ? length - 1 : 0; /* lax peers send an empty text without its NUL */
    if (length && (at[*n] || memchr(at, '\0', *n)))
        return nm_fail(walk->err, "%s: %s has a NUL inside or none at its end", walk->def->name, field->name);
    return 0;
}

static int skip_struct(struct nm_walk *walk, const struct nm_def *def)
{
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (nm_walk_skip_member(walk, &def->fields[i])) return -1;
    return 0;
}

int nm_walk_skip(struct nm_walk *walk, const struct nm_def_field *field, uint32_t n)
{
    uint32_t width = nm_kind_width(field->kind), length;
    const char *text;
    if (!n) return 0;
    if (width) return take(walk, width, (uint64_t)n * width) ? 0 : too_short(walk, field);
    for (uint32_t i = 0; i < n; i++)
        if (field->kind == NM_STRING ? nm_walk_text(walk, field, &text, &length) : skip_struct(walk, field->def))
            return -1;
    return 0;
}

int nm_walk_skip_member(struct nm_walk *walk, const struct nm_def_field *field)
{
    uint32_t n;
    return nm_walk_count(walk, field, &n) ? -1 : nm_walk_skip(walk, field, n);
}

/* ---- paths ---- */

static const struct nm_def_field *field_named(const struct nm_def *def, const char *name, size_t n)
{
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (strlen(def->fields[i].name) == n && !memcmp(def->fields[i].name, name, n)) return &def->fields[i];
    return NULL;
}

static int no_field(const struct nm_def *def, const char *name, size_t n, struct nm_err *err)
{
    const char *names[NM_DEF_FIELDS];
    char word[NM_DEF_NAME];
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), name);
    for (uint32_t i = 0; i < def->n_fields; i++) names[i] = def->fields[i].name;
    const char *near = nm_nearest(word, names, def->n_fields);
    return nm_fail(err, "%s has no member '%s'%s%s%s", def->name, word, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

/* "[3]": -1 without one, -2 if it is no index. */
static int64_t read_index(const char **at)
{
    if (**at != '[') return -1;
    char *end;
    if ((*at)[1] < '0' || (*at)[1] > '9') return -2;
    unsigned long long index = strtoull(*at + 1, &end, 10);
    if (*end != ']' || index > UINT32_MAX) return -2;
    *at = end + 1;
    return (int64_t)index;
}

int nm_walk_path(const struct nm_def *def, const char *path, struct nm_walk_path *to, struct nm_err *err)
{
    const char *at = path;
    *to = (struct nm_walk_path){.def = def};
    for (;;) {
        size_t n = strcspn(at, ".[");
        const struct nm_def_field *field = field_named(def, at, n);
        if (!field) return no_field(def, at, n, err);
        at += n;
        int64_t index = read_index(&at);
        if (index < -1) return nm_fail(err, "'%s': an index is written as name[3]", path);
        if (index >= 0 && field->shape == NM_ONE) return nm_fail(err, "'%s': %s has no elements", path, field->name);
        if (index >= 0 && field->shape == NM_ARRAY && index >= field->cap)
            return nm_fail(err, "'%s': %s has only %u elements", path, field->name, field->cap);
        to->steps[to->n].field = field;
        to->steps[to->n++].index = index;
        if (!*at) return 0;
        if (*at != '.' || field->kind != NM_STRUCT)
            return nm_fail(err, "'%s': nothing can follow %s", path, field->name);
        if (field->shape != NM_ONE && index < 0)
            return nm_fail(err, "'%s': %s is a list; say which one: %s[0]", path, field->name, field->name);
        if (to->n == NM_DEF_DEPTH) return nm_fail(err, "'%s': too deep", path);
        def = field->def;
        at++;
    }
}

/* Walks to a place: 1, 0 if it is not there, -1. The walk then stands before the value, or before the count of a whole
 * member. */
static int walk_to(struct nm_walk *walk, const struct nm_walk_path *path)
{
    const struct nm_def *def = path->def;
    for (uint32_t i = 0; i < path->n; i++) {
        const struct nm_def_field *field = path->steps[i].field;
        int64_t index = path->steps[i].index;
        uint32_t n;
        for (const struct nm_def_field *f = def->fields; f < field; f++)
            if (nm_walk_skip_member(walk, f)) return -1;
        if (index >= 0) {
            if (nm_walk_count(walk, field, &n)) return -1;
            if (index >= n) return 0;
            if (nm_walk_skip(walk, field, (uint32_t)index)) return -1;
        }
        def = field->def;
    }
    return 1;
}

static bool is_one(const struct nm_walk_path *path)
{
    return path->steps[path->n - 1].field->shape == NM_ONE || path->steps[path->n - 1].index >= 0;
}

double nm_walk_double(enum nm_kind kind, uint64_t bits)
{
    double f64;
    float f32;
    uint32_t low = (uint32_t)bits;
    switch (kind) {
    case NM_FLOAT64: memcpy(&f64, &bits, 8); return f64;
    case NM_FLOAT32: memcpy(&f32, &low, 4); return (double)f32;
    case NM_INT8: return (double)(int8_t)bits;
    case NM_INT16: return (double)(int16_t)bits;
    case NM_INT32: return (double)(int32_t)bits;
    case NM_INT64: return (double)(int64_t)bits;
    default: return (double)bits;
    }
}

int nm_walk_number(const struct nm_walk_path *path, const void *cdr, size_t size, double *value, struct nm_err *err)
{
    struct nm_walk walk;
    const struct nm_def_field *field = path->steps[path->n - 1].field;
    uint64_t bits;
    if (!is_one(path) || field->kind >= NM_STRING) return 0;
    int found = nm_walk_begin(&walk, path->def, cdr, size, err) ? -1 : walk_to(&walk, path);
    if (found <= 0) return found;
    if (nm_walk_value(&walk, field, &bits)) return -1;
    *value = nm_walk_double(field->kind, bits);
    return 1;
}

int nm_walk_bytes(const struct nm_walk_path *path, const void *cdr, size_t size, const uint8_t **bytes, size_t *n,
                  struct nm_err *err)
{
    struct nm_walk walk;
    const struct nm_def_field *field = path->steps[path->n - 1].field;
    bool text = field->kind == NM_STRING && is_one(path);
    uint32_t count;
    if (!text && (nm_kind_width(field->kind) != 1 || is_one(path))) return 0;
    int found = nm_walk_begin(&walk, path->def, cdr, size, err) ? -1 : walk_to(&walk, path);
    if (found <= 0) return found;
    if (text ? nm_walk_text(&walk, field, (const char **)bytes, &count) : nm_walk_count(&walk, field, &count))
        return -1;
    if (!text) *bytes = walk.at;
    if (!text && nm_walk_skip(&walk, field, count)) return -1;
    *n = count;
    return 1;
}

int nm_walk_print_at(struct nm_text_out *out, const struct nm_walk_path *path, const void *cdr, size_t size,
                     unsigned style, struct nm_err *err)
{
    struct nm_walk walk;
    int found = nm_walk_begin(&walk, path->def, cdr, size, err) ? -1 : walk_to(&walk, path);
    if (found <= 0) return found;
    return nm_walk_print_member(out, &walk, path->steps[path->n - 1].field, is_one(path), style) ? -1 : 1;
}

/* Messages to text straight from their bytes, in the layout of text.c. */

enum {
    SHOWN = 16,   /* elements of a long sequence in its summary            */
    LONG = 64,    /* elements of a sequence that is shown by its first few */
    ONE_LINE = 4, /* members of a struct that stands in one line           */
};

static void put(struct nm_text_out *out, const char *text) { nm_text_put(out, text, strlen(text)); }

/* One value, printed by text.c as a member of that kind. */
static int put_value(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, unsigned style)
{
    struct nm_field as = {.name = field->name, .kind = field->kind, .shape = NM_ONE, .cap = 1};
    struct nm_place place = {&as, NM_ONE, NULL};
    uint64_t bits;
    uint32_t n;
    const char *text;
    if (field->kind == NM_STRING) {
        if (nm_walk_text(walk, field, &text, &n)) return -1;
        as.elem = n;
        place.at = (void *)(uintptr_t)text;
    } else {
        if (nm_walk_value(walk, field, &bits)) return -1;
        as.elem = nm_kind_width(field->kind);
        place.at = &bits;
    }
    nm_print_place(out, &place, style);
    return 0;
}

static int put_list(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, uint32_t n,
                    uint32_t shown, unsigned style)
{
    const char *comma = (style & NM_TEXT_JSON) || nm_kind_width(field->kind) == 1 ? "," : ", ";
    put(out, "[");
    for (uint32_t i = 0; i < shown; i++) {
        if (i) put(out, comma);
        if (put_value(out, walk, field, style)) return -1;
    }
    put(out, "]");
    return nm_walk_skip(walk, field, n - shown);
}

/* Arrays and sequences of numbers and texts: one line. */
static int put_simple(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, unsigned style)
{
    char head[64];
    uint32_t n;
    if (nm_walk_count(walk, field, &n)) return -1;
    if (n <= LONG || field->shape == NM_ARRAY || field->kind == NM_STRING || (style & NM_TEXT_WHOLE))
        return put_list(out, walk, field, n, n, style);
    snprintf(head, sizeof head, style & NM_TEXT_JSON ? "{\"n\":%u,\"first\":" : "{n: %u, first: ", n);
    put(out, head);
    if (put_list(out, walk, field, n, SHOWN, style)) return -1;
    put(out, "}");
    return 0;
}

static bool stands_in_a_line(const struct nm_def *def)
{
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (def->fields[i].shape != NM_ONE || def->fields[i].kind >= NM_STRING) return false;
    return def->n_fields <= ONE_LINE;
}

static int put_line(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, unsigned style);

/* A member, or one element of it, without a line end. */
static int put_member(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, bool one,
                      unsigned style)
{
    uint32_t n;
    if (field->kind != NM_STRUCT) return one ? put_value(out, walk, field, style) : put_simple(out, walk, field, style);
    if (one) return put_line(out, walk, field->def, style);
    if (nm_walk_count(walk, field, &n)) return -1;
    put(out, "[");
    for (uint32_t i = 0; i < n; i++) {
        if (i) put(out, ",");
        if (put_line(out, walk, field->def, style)) return -1;
    }
    put(out, "]");
    return 0;
}

/* {x: 1.0, y: 2.0}, and in JSON every struct. */
static int put_line(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, unsigned style)
{
    bool json = style & NM_TEXT_JSON;
    put(out, "{");
    for (uint32_t i = 0; i < def->n_fields && !def->empty; i++) {
        const struct nm_def_field *field = &def->fields[i];
        if (i) put(out, json ? "," : ", ");
        if (json) put(out, "\"");
        put(out, field->name);
        put(out, json ? "\":" : ": ");
        if (put_member(out, walk, field, field->shape == NM_ONE, style)) return -1;
    }
    put(out, "}");
    return def->empty ? nm_walk_skip_member(walk, &def->fields[0]) : 0;
}

static void put_indent(struct nm_text_out *out, int indent)
{
    for (int i = 0; i < indent; i++) put(out, " ");
}

static int put_block(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, int indent, bool in_item,
                     unsigned style);

/* "- " and the members beside it, for each struct of a list. */
static int put_items(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, uint32_t n,
                     int indent, unsigned style)
{
    for (uint32_t i = 0; i < n; i++) {
        bool line = stands_in_a_line(field->def);
        put_indent(out, indent);
        put(out, "- ");
        if (line ? put_line(out, walk, field->def, style) : put_block(out, walk, field->def, indent + 2, true, style))
            return -1;
        if (line) put(out, "\n");
    }
    return 0;
}

static int put_field(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, int indent,
                     unsigned style)
{
    uint32_t n;
    put(out, field->name);
    if (field->kind == NM_STRUCT && field->shape != NM_ONE) {
        if (nm_walk_count(walk, field, &n)) return -1;
        put(out, n ? ":\n" : ": []\n");
        return put_items(out, walk, field, n, indent + 2, style);
    }
    if (field->kind == NM_STRUCT && !stands_in_a_line(field->def)) {
        put(out, ":\n");
        return put_block(out, walk, field->def, indent + 2, false, style);
    }
    put(out, ": ");
    if (put_member(out, walk, field, field->shape == NM_ONE, style)) return -1;
    put(out, "\n");
    return 0;
}

/* The members of a struct, one a line. In a list item the first one stands behind the dash. */
static int put_block(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, int indent, bool in_item,
                     unsigned style)
{
    for (uint32_t i = 0; i < def->n_fields; i++) {
        if (i || !in_item) put_indent(out, indent);
        if (put_field(out, walk, &def->fields[i], indent, style)) return -1;
    }
    return 0;
}

int nm_walk_print(struct nm_text_out *out, const struct nm_def *def, const void *cdr, size_t size, unsigned style,
                  struct nm_err *err)
{
    struct nm_walk walk;
    if (nm_walk_begin(&walk, def, cdr, size, err)) return -1;
    put(out, "");
    if (def->empty || (style & NM_TEXT_JSON)) return put_line(out, &walk, def, style);
    return put_block(out, &walk, def, 0, false, style);
}

int nm_walk_print_member(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, bool one,
                         unsigned style)
{
    bool block = field->kind == NM_STRUCT && !(style & NM_TEXT_JSON);
    uint32_t n;
    put(out, "");
    if (block && !one) {
        if (nm_walk_count(walk, field, &n)) return -1;
        if (!n) put(out, "[]");
        return put_items(out, walk, field, n, 0, style);
    }
    if (block && !stands_in_a_line(field->def)) return put_block(out, walk, field->def, 0, false, style);
    return put_member(out, walk, field, one, style);
}

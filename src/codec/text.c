/* Messages to text and back. */
#include "codec/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum {
    SHOWN = 16 /* elements of a blob in its summary */,
    ONE_LINE = 4 /* members of a struct that stands in one line */
};

static bool make_room(struct nm_text_out *out, size_t n)
{
    if (out->size > n && out->used < out->size - n) return true;
    if (!out->grows) return false;
    size_t size = out->size ? out->size * 2 : 256;
    while (size - out->used <= n) size *= 2;
    char *text = realloc(out->text, size);
    if (!text) return false;
    out->text = text;
    out->size = size;
    return true;
}

void nm_text_put(struct nm_text_out *out, const char *text, size_t n)
{
    if (out->cut) return;
    if (!make_room(out, n)) {
        out->cut = true;
        return;
    }
    memcpy(out->text + out->used, text, n);
    out->used += n;
    out->text[out->used] = '\0';
}

static void put_text(struct nm_text_out *out, const char *text) { nm_text_put(out, text, strlen(text)); }

void nm_text_format(struct nm_text_out *out, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_text(out, text);
}

/* Characters that YAML does not allow in a text or takes for line ends; JSON allows their escape as well. */
static bool needs_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
           c == 0xffff;
}

void nm_text_quoted(struct nm_text_out *out, const char *text, size_t size)
{
    const char *at = text, *end = at + strnlen(text, size);
    nm_text_put(out, "\"", 1);
    while (at < end) {
        const char *from = at;
        uint32_t c = nm_utf8_take(&at, end);
        if (c == '"' || c == '\\')
            nm_text_format(out, "\\%c", (int)c);
        else if (c == '\n')
            nm_text_put(out, "\\n", 2);
        else if (c == '\t')
            nm_text_put(out, "\\t", 2);
        else if (needs_escape(c))
            nm_text_format(out, "\\u%04x", c);
        else if (c == NM_NOT_UTF8)
            put_text(out, "\xef\xbf\xbd"); /* U+FFFD */
        else
            nm_text_put(out, from, (size_t)(at - from));
    }
    nm_text_put(out, "\"", 1);
}

void nm_fputs_quoted(const char *text, FILE *to)
{
    struct nm_text_out out = {.grows = true};
    nm_text_quoted(&out, text, strlen(text));
    fputs(out.text, to);
    free(out.text);
}

/* With as few digits as give the same bits again. */
static void put_float(struct nm_text_out *out, double value, bool single, bool json)
{
    char text[40];
    if (isnan(value)) {
        put_text(out, json ? "\"NaN\"" : ".nan");
        return;
    }
    if (isinf(value)) {
        put_text(out, value > 0 ? (json ? "\"Infinity\"" : ".inf") : (json ? "\"-Infinity\"" : "-.inf"));
        return;
    }
    for (int digits = single ? 6 : 15, most = single ? 9 : 17; digits <= most; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    put_text(out, text);
    if (!strpbrk(text, ".e")) nm_text_put(out, ".0", 2);
}

static void put_value(struct nm_text_out *out, const struct nm_field *field, const void *at, bool json)
{
    switch (field->kind) {
    case NM_BOOL: put_text(out, *(const uint8_t *)at ? "true" : "false"); break;
    case NM_BYTE:
    case NM_UINT8: nm_text_format(out, "%u", *(const uint8_t *)at); break;
    case NM_INT8: nm_text_format(out, "%d", *(const int8_t *)at); break;
    case NM_INT16: nm_text_format(out, "%d", *(const int16_t *)at); break;
    case NM_UINT16: nm_text_format(out, "%u", *(const uint16_t *)at); break;
    case NM_INT32: nm_text_format(out, "%d", *(const int32_t *)at); break;
    case NM_UINT32: nm_text_format(out, "%u", *(const uint32_t *)at); break;
    case NM_INT64: nm_text_format(out, "%lld", (long long)*(const int64_t *)at); break;
    case NM_UINT64: nm_text_format(out, "%llu", (unsigned long long)*(const uint64_t *)at); break;
    case NM_FLOAT32: put_float(out, (double)*(const float *)at, true, json); break;
    case NM_FLOAT64: put_float(out, *(const double *)at, false, json); break;
    case NM_STRING: nm_text_quoted(out, at, field->elem); break;
    case NM_STRUCT: break;
    }
}

static void put_list(struct nm_text_out *out, const struct nm_field *field, const uint8_t *at, uint32_t n, bool json)
{
    const char *comma = json || field->elem == 1 ? "," : ", ";
    nm_text_put(out, "[", 1);
    for (uint32_t i = 0; i < n; i++) {
        if (i) put_text(out, comma);
        put_value(out, field, at + (size_t)i * field->elem, json);
    }
    nm_text_put(out, "]", 1);
}

/* Arrays, sequences and blobs of primitives and strings: one line. */
static void put_simple(struct nm_text_out *out, const struct nm_field *field, const uint8_t *member, unsigned style)
{
    bool json = style & NM_TEXT_JSON;
    uint32_t n;
    const uint8_t *at = nm_elements(field, member, &n);
    if (field->shape != NM_BLOB || (style & NM_TEXT_WHOLE)) {
        put_list(out, field, at, n, json);
        return;
    }
    nm_text_format(out, json ? "{\"n\":%u,\"first\":" : "{n: %u, first: ", n);
    put_list(out, field, at, n < SHOWN ? n : SHOWN, json);
    nm_text_put(out, "}", 1);
}

/* std_msgs/Empty and the like: the one member is ROS 2's, not the author's. */
static bool is_empty(const struct nm_type *type)
{
    return type->n_fields == 1 && !strcmp(type->fields[0].name, "structure_needs_at_least_one_member");
}

/* Vector3, Quaternion, Time: a few single numbers. */
static bool stands_in_a_line(const struct nm_type *type)
{
    for (uint32_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].shape != NM_ONE || type->fields[i].kind >= NM_STRING) return false;
    return type->n_fields <= ONE_LINE;
}

static void put_line(struct nm_text_out *out, const struct nm_type *type, const uint8_t *message, unsigned style);

/* A member, or an element of it, without a line end. */
static void put_member(struct nm_text_out *out, const struct nm_field *field, enum nm_shape shape, const uint8_t *at,
                       unsigned style)
{
    if (field->kind != NM_STRUCT) {
        if (shape == NM_ONE)
            put_value(out, field, at, style & NM_TEXT_JSON);
        else
            put_simple(out, field, at, style);
        return;
    }
    if (shape == NM_ONE) {
        put_line(out, field->type, at, style);
        return;
    }
    uint32_t n;
    at = nm_elements(field, at, &n);
    nm_text_put(out, "[", 1);
    for (uint32_t i = 0; i < n; i++, at += field->elem) {
        if (i) nm_text_put(out, ",", 1);
        put_line(out, field->type, at, style);
    }
    nm_text_put(out, "]", 1);
}

/* {x: 1.0, y: 2.0}, and in JSON every struct. */
static void put_line(struct nm_text_out *out, const struct nm_type *type, const uint8_t *message, unsigned style)
{
    bool json = style & NM_TEXT_JSON;
    nm_text_put(out, "{", 1);
    for (uint32_t i = 0; i < type->n_fields && !is_empty(type); i++) {
        const struct nm_field *field = &type->fields[i];
        if (i) put_text(out, json ? "," : ", ");
        put_text(out, json ? "\"" : "");
        put_text(out, field->name);
        put_text(out, json ? "\":" : ": ");
        put_member(out, field, field->shape, message + field->offset, style);
    }
    nm_text_put(out, "}", 1);
}

static void put_indent(struct nm_text_out *out, int indent)
{
    for (int i = 0; i < indent; i++) nm_text_put(out, " ", 1);
}

static void put_block(struct nm_text_out *out, const struct nm_type *type, const uint8_t *message, int indent,
                      bool in_item, unsigned style);

/* "- " and the members beside it, for each struct of a list. */
static void put_items(struct nm_text_out *out, const struct nm_field *field, const uint8_t *at, uint32_t n, int indent,
                      unsigned style)
{
    for (uint32_t i = 0; i < n; i++, at += field->elem) {
        put_indent(out, indent);
        nm_text_put(out, "- ", 2);
        if (stands_in_a_line(field->type)) {
            put_line(out, field->type, at, style);
            nm_text_put(out, "\n", 1);
        } else {
            put_block(out, field->type, at, indent + 2, true, style);
        }
    }
}

/* The members of a struct, one a line. In a list item the first one stands behind the dash. */
static void put_block(struct nm_text_out *out, const struct nm_type *type, const uint8_t *message, int indent,
                      bool in_item, unsigned style)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        const uint8_t *at = message + field->offset;
        uint32_t n;
        if (i || !in_item) put_indent(out, indent);
        put_text(out, field->name);
        if (field->kind == NM_STRUCT && field->shape != NM_ONE) {
            at = nm_elements(field, at, &n);
            put_text(out, n ? ":\n" : ": []\n");
            put_items(out, field, at, n, indent + 2, style);
        } else if (field->kind == NM_STRUCT && !stands_in_a_line(field->type)) {
            nm_text_put(out, ":\n", 2);
            put_block(out, field->type, at, indent + 2, false, style);
        } else {
            nm_text_put(out, ": ", 2);
            put_member(out, field, field->shape, at, style);
            nm_text_put(out, "\n", 1);
        }
    }
}

void nm_print(struct nm_text_out *out, const struct nm_type *type, const void *message, unsigned style)
{
    nm_text_put(out, "", 0);
    if (is_empty(type) || (style & NM_TEXT_JSON))
        put_line(out, type, message, style);
    else
        put_block(out, type, message, 0, false, style);
}

void nm_print_place(struct nm_text_out *out, const struct nm_place *place, unsigned style)
{
    const struct nm_field *field = place->field;
    uint32_t n = 1;
    const uint8_t *at = place->shape == NM_ONE ? place->at : nm_elements(field, place->at, &n);
    bool block = field->kind == NM_STRUCT && !(style & NM_TEXT_JSON) && n;
    nm_text_put(out, "", 0);
    if (block && place->shape != NM_ONE)
        put_items(out, field, at, n, 0, style);
    else if (block && !stands_in_a_line(field->type))
        put_block(out, field->type, at, 0, false, style);
    else
        put_member(out, field, place->shape, place->at, style);
}

/* A YAML tree into a message, member by member. */

struct parser {
    struct nm_blob_pool *pool;
    struct nm_err *err;
    bool failed;
    size_t length; /* of the path so far; what is longer than the room is cut */
    char path[256];
};

/* Appends a member or an index to the path and returns the length to go back to. */
static size_t enter(struct parser *p, const char *name, uint32_t index)
{
    size_t before = p->length, room = sizeof p->path - before;
    int n = name ? snprintf(p->path + before, room, "%s%s", before ? "." : "", name)
                 : snprintf(p->path + before, room, "[%u]", index);
    p->length = before + ((size_t)n < room ? (size_t)n : room - 1);
    return before;
}

static void leave(struct parser *p, size_t before)
{
    p->length = before;
    p->path[before] = '\0';
}

static void __attribute__((format(printf, 3, 4)))
fail(struct parser *p, const struct nm_yaml *node, const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    nm_yaml_fail(node, p->err, "%s%s%s", p->path, p->length ? ": " : "", sentence);
    p->failed = true;
}

static void fail_kind(struct parser *p, const struct nm_yaml *node, const char *wanted)
{
    if (node->kind == NM_YAML_SCALAR)
        fail(p, node, "'%.80s' is not %s", node->text, wanted);
    else
        fail(p, node, "%s, where %s is needed", node->kind == NM_YAML_LIST ? "a list" : "a map", wanted);
}

static void parse_int(struct parser *p, const struct nm_field *field, const struct nm_yaml *node, void *at)
{
    static const struct {
        int64_t least;
        uint64_t most;
        const char *wanted;
    } range[] = {
        [NM_BYTE] = {0, UINT8_MAX, "a byte, 0 to 255"},
        [NM_INT8] = {INT8_MIN, INT8_MAX, "an int8, -128 to 127"},
        [NM_UINT8] = {0, UINT8_MAX, "a uint8, 0 to 255"},
        [NM_INT16] = {INT16_MIN, INT16_MAX, "an int16, -32768 to 32767"},
        [NM_UINT16] = {0, UINT16_MAX, "a uint16, 0 to 65535"},
        [NM_INT32] = {INT32_MIN, INT32_MAX, "an int32, -2^31 to 2^31 - 1"},
        [NM_UINT32] = {0, UINT32_MAX, "a uint32, 0 to 2^32 - 1"},
        [NM_INT64] = {INT64_MIN, INT64_MAX, "an int64, -2^63 to 2^63 - 1"},
        [NM_UINT64] = {0, UINT64_MAX, "a uint64, 0 to 2^64 - 1"},
    };
    enum nm_kind kind = field->kind;
    int64_t value;
    uint64_t large;
    bool fits = !nm_yaml_int(node, &value, NULL) && value >= range[kind].least &&
                (value < 0 || (uint64_t)value <= range[kind].most);
    if (!fits && kind == NM_UINT64 && !nm_yaml_uint(node, &large, NULL)) {
        value = (int64_t)large;
        fits = true;
    }
    if (fits)
        memcpy(at, &value, field->elem); /* the low bytes come first, as cdr.c asserts */
    else
        fail_kind(p, node, range[kind].wanted);
}

static bool parse_float(const struct nm_yaml *node, double *value)
{
    if (!node->quoted) return !nm_yaml_number(node, value, NULL);
    *value = !strcmp(node->text, "Infinity") ? INFINITY : !strcmp(node->text, "-Infinity") ? -INFINITY : NAN;
    return !isnan(*value) || !strcmp(node->text, "NaN");
}

static void parse_string(struct parser *p, const struct nm_field *field, const struct nm_yaml *node, char *at)
{
    size_t length = strlen(node->text), most = field->elem - 1;
    if (field->text_bound && field->text_bound < most) most = field->text_bound;
    if (node->kind != NM_YAML_SCALAR)
        fail_kind(p, node, "a text");
    else if (length > most)
        fail(p, node, "a text of %zu bytes, %zu fit", length, most);
    else
        memcpy(at, node->text, length + 1);
}

static void parse_struct(struct parser *p, const struct nm_type *type, const struct nm_yaml *node, uint8_t *at);

static void parse_one(struct parser *p, const struct nm_field *field, const struct nm_yaml *node, void *at)
{
    double number;
    bool yes;
    switch (field->kind) {
    case NM_STRUCT: parse_struct(p, field->type, node, at); break;
    case NM_STRING: parse_string(p, field, node, at); break;
    case NM_BOOL:
        if (nm_yaml_bool(node, &yes, NULL))
            fail_kind(p, node, "true or false");
        else
            *(bool *)at = yes;
        break;
    case NM_FLOAT64:
        if (!parse_float(node, &number))
            fail_kind(p, node, "a number");
        else
            *(double *)at = number;
        break;
    case NM_FLOAT32:
        if (!parse_float(node, &number))
            fail_kind(p, node, "a number");
        else if (isfinite(number) && isinf((float)number))
            fail_kind(p, node, "a float32, at most 3.4e38");
        else
            *(float *)at = (float)number;
        break;
    default: parse_int(p, field, node, at); break;
    }
}

/* Makes room for n elements and returns it; NULL after a fault. */
static uint8_t *begin_elements(struct parser *p, const struct nm_field *field, const struct nm_yaml *node,
                               uint8_t *member)
{
    uint32_t n = node->n, most = field->bound && field->bound < field->cap ? field->bound : field->cap;
    struct nm_blob *blob = (struct nm_blob *)member;
    switch (field->shape) {
    case NM_BLOB:
        if (!p->pool)
            fail(p, node, "a blob cannot be set here");
        else if ((uint64_t)n * field->elem > p->pool->bytes)
            fail(p, node, "%u elements do not fit into a block", n);
        else if (!nm_pool_take(p->pool, blob))
            fail(p, node, "all %u blocks are in use", p->pool->count);
        blob->n = blob->ref ? n : 0;
        return blob->data;
    case NM_SEQ:
        if (n > most) {
            fail(p, node, "%u elements, %u fit", n, most);
            return NULL;
        }
        for (uint32_t i = 0; field->kind == NM_STRUCT && i < n; i++)
            nm_append_((uint32_t *)member, member + field->first, field->cap, field->type);
        *(uint32_t *)member = n;
        return member + field->first;
    default:
        if (n != field->cap) fail(p, node, "%u elements, %u are needed", n, field->cap);
        return n != field->cap ? NULL : member;
    }
}

static void parse_member(struct parser *p, const struct nm_field *field, const struct nm_yaml *node, uint8_t *at)
{
    if (field->shape == NM_ONE) {
        parse_one(p, field, node, at);
        return;
    }
    if (node->kind != NM_YAML_LIST) {
        fail_kind(p, node, "a list");
        return;
    }
    if (!node->n && field->shape == NM_BLOB) return;
    uint8_t *element = begin_elements(p, field, node, at);
    uint32_t i = 0;
    if (!element) return;
    nm_yaml_each(child, node)
    {
        size_t before = enter(p, NULL, i++);
        parse_one(p, field, child, element);
        element += field->elem;
        leave(p, before);
    }
}

static void parse_struct(struct parser *p, const struct nm_type *type, const struct nm_yaml *node, uint8_t *at)
{
    if (node->kind != NM_YAML_MAP) {
        fail_kind(p, node, "a map of members");
        return;
    }
    nm_yaml_each(child, node)
    {
        size_t length = strlen(child->key);
        const struct nm_field *field = nm_field_find(type, child->key, length);
        if (!field) {
            const char *near = nm_field_nearest(type, child->key, length);
            fail(p, child, "%s has no member '%.80s'%s%s%s", type->name, child->key, near ? ", did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
            continue;
        }
        size_t before = enter(p, field->name, 0);
        parse_member(p, field, child, at + field->offset);
        leave(p, before);
    }
}

int nm_parse(const struct nm_type *type, void *message, const struct nm_yaml *node, struct nm_blob_pool *pool,
             struct nm_err *err)
{
    struct parser p = {.pool = pool, .err = err};
    nm_reset(type, message);
    parse_struct(&p, type, node, message);
    if (p.failed) nm_reset(type, message);
    return p.failed ? -1 : 0;
}

int nm_parse_text(const struct nm_type *type, void *message, const char *file, const char *text, size_t size,
                  struct nm_blob_pool *pool, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *node = nm_yaml_parse(&arena, file, text, size, err);
    int rc = -1;
    if (node)
        rc = nm_parse(type, message, node, pool, err);
    else
        nm_reset(type, message);
    nm_arena_free(&arena);
    return rc;
}

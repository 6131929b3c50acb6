/* A YAML tree into a message, member by member. */
#include "codec/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

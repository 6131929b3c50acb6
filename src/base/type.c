/* Reset, copy, look-up and comparison of messages by their tables. Copies walk the spans (everything but the storage of
 * sequences, at any depth) and then the used part of each sequence, so that a path of three poses costs three poses. */
#include "base/type.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Elements of a sequence that may be touched: a count that a module wrote beyond the capacity ends there. */
static uint32_t used(const struct nm_op *op, const void *seq)
{
    uint32_t n = *(const uint32_t *)seq;
    return n < op->n ? n : op->n;
}

/* Calls `visit` for every blob of a message that holds anything; to look costs less than to write into an empty one.
 * Elements whose blobs are their own members, which is nearly all there is, are looked at in one flat loop. */
static void each_blob(const struct nm_type *type, uint8_t *message, void (*visit)(struct nm_blob *))
{
    for (const struct nm_op *op = type->blob_ops, *end = op + type->n_blob_ops; op < end; op++) {
        uint8_t *at = message + op->offset;
        bool seq = op->code == NM_OP_SEQ;
        if (op->code == NM_OP_BLOB) {
            if (((struct nm_blob *)at)->data) visit((struct nm_blob *)at);
            continue;
        }
        const struct nm_op *inner = op->type->blob_ops;
        uint32_t n = seq ? used(op, at) : op->n, members = op->type->n_blob_ops, own = 0;
        at += seq ? op->first : 0;
        while (own < members && inner[own].code == NM_OP_BLOB) own++;
        for (uint32_t i = 0; i < n && own < members; i++) each_blob(op->type, at + (size_t)i * op->elem, visit);
        for (uint32_t k = 0; k < members && own == members; k++) {
            uint8_t *blob = at + inner[k].offset;
            for (uint32_t i = 0; i < n; i++, blob += op->elem)
                if (((struct nm_blob *)blob)->data) visit((struct nm_blob *)blob);
        }
    }
}

static void clear(const struct nm_type *type, uint8_t *message)
{
    for (uint32_t i = 0; i < type->n_spans; i++) memset(message + type->spans[i].offset, 0, type->spans[i].size);
    for (uint32_t i = 0; i < type->n_defaults; i++) {
        const struct nm_default *d = &type->defaults[i];
        memcpy(message + d->offset, d->bytes, d->size);
    }
}

void nm_reset(const struct nm_type *type, void *message)
{
    if (type->blobs) each_blob(type, message, nm_blob_release);
    clear(type, message);
}

void *nm_message_new(const struct nm_type *type)
{
    void *message = nm_calloc(1, type->size);
    nm_reset(type, message);
    return message;
}

void *nm_append_(uint32_t *n, void *at, size_t cap, const struct nm_type *type)
{
    if (*n >= cap) return NULL;
    uint8_t *element = (uint8_t *)at + (size_t)(*n)++ * type->size;
    clear(type, element); /* beyond the count nobody holds a blob: nothing to release */
    return element;
}

static void copy_used(const struct nm_type *type, uint8_t *to, const uint8_t *from);

/* The used storage of all sequences below a struct, whose spans are copied already. */
static void copy_sequences(const struct nm_type *type, uint8_t *to, const uint8_t *from)
{
    for (const struct nm_op *op = type->ops, *end = op + type->n_ops; op < end; op++) {
        uint8_t *t = to + op->offset;
        const uint8_t *f = from + op->offset;
        bool simple = !op->type || op->type->flat;
        if (op->code == NM_OP_SEQ) {
            uint32_t n = used(op, f);
            t += op->first;
            f += op->first;
            if (simple)
                memcpy(t, f, (size_t)n * op->elem);
            else
                for (uint32_t i = 0; i < n; i++, t += op->elem, f += op->elem) copy_used(op->type, t, f);
        } else if (op->code == NM_OP_STRUCTS && !simple) {
            for (uint32_t i = 0; i < op->n; i++, t += op->elem, f += op->elem) copy_sequences(op->type, t, f);
        }
    }
}

static void copy_used(const struct nm_type *type, uint8_t *to, const uint8_t *from)
{
    for (const struct nm_span *s = type->spans, *end = s + type->n_spans; s < end; s++)
        memcpy(to + s->offset, from + s->offset, s->size);
    copy_sequences(type, to, from);
}

void nm_copy(const struct nm_type *type, void *to, const void *from)
{
    if (to == from) return;
    if (type->flat) {
        memcpy(to, from, type->size);
        return;
    }
    if (type->blobs) {
        each_blob(type, (uint8_t *)(uintptr_t)from, nm_blob_hold);
        each_blob(type, to, nm_blob_release);
    }
    copy_used(type, to, from);
}

/* Copies as much as there is room for; returns the length of all of it. */
static size_t copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from), n = length < size ? length : size - 1;
    memmove(to, from, n);
    to[n] = '\0';
    return length;
}

/* Most texts are names, which need no formatting: they are written hundreds of times in a cycle. */
void nm_text_(char *to, size_t size, const char *format, ...)
{
    size_t wanted;
    va_list args;
    va_start(args, format);
    if (!strcmp(format, "%s")) {
        const char *text = va_arg(args, const char *);
        wanted = copy_text(to, size, text ? text : "(null)");
    } else if (!strchr(format, '%')) {
        wanted = copy_text(to, size, format);
    } else {
        int length = vsnprintf(to, size, format, args);
        if (length < 0) to[0] = '\0';
        wanted = length < 0 ? 0 : (size_t)length;
    }
    va_end(args);
    if (wanted < size) return;

    /* cut: the last character may have lost bytes; its first byte tells how many it needs */
    size_t end = size - 1, lead = end;
    while (lead > 0 && end - lead < 3 && ((unsigned char)to[lead - 1] & 0xc0) == 0x80) lead--;
    if (lead == 0) return;
    unsigned char first = (unsigned char)to[lead - 1];
    size_t needs = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (end - (lead - 1) < needs) to[lead - 1] = '\0';
}

static int name_order(const void *name, const void *entry)
{
    return strcmp(name, (*(const struct nm_type *const *)entry)->name);
}

const struct nm_type *nm_type_find(const struct nm_types *types, const char *name)
{
    const struct nm_type *const *hit = bsearch(name, types->at, types->n, sizeof *types->at, name_order);
    if (hit) return *hit;

    const struct nm_type *only = NULL;
    const char *slash = strchr(name, '/');
    for (uint32_t i = 0; i < types->n; i++) {
        const struct nm_type *type = types->at[i];
        const char *last = strrchr(type->name, '/');
        bool same = !strcmp(name, type->c_name) || (last && !strcmp(name, last + 1));
        if (slash && last) {
            size_t package = (size_t)(slash - name) + 1; /* with its slash */
            same = !strncmp(name, type->name, package) && !strcmp(slash + 1, last + 1);
        }
        if (!same) continue;
        if (only) return NULL; /* two packages have it */
        only = type;
    }
    return only;
}

const struct nm_field *nm_field_find(const struct nm_type *type, const char *name, size_t length)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const char *own = type->fields[i].name;
        if (!strncmp(own, name, length) && !own[length]) return &type->fields[i];
    }
    return NULL;
}

const char *nm_field_nearest(const struct nm_type *type, const char *name, size_t length)
{
    const char *names[256];
    char word[128];
    uint32_t n = type->n_fields < 256 ? type->n_fields : 256;
    for (uint32_t i = 0; i < n; i++) names[i] = type->fields[i].name;
    snprintf(word, sizeof word, "%.*s", (int)(length < 127 ? length : 127), name);
    return nm_nearest(word, names, n);
}

void *nm_elements(const struct nm_field *field, const void *member, uint32_t *n)
{
    uint8_t *at = (uint8_t *)(uintptr_t)member;
    switch (field->shape) {
    case NM_SEQ: *n = *(uint32_t *)at < field->cap ? *(uint32_t *)at : field->cap; return at + field->first;
    case NM_BLOB: *n = ((struct nm_blob *)at)->n; return ((struct nm_blob *)at)->data;
    default: *n = field->cap; return at;
    }
}

static int fail_field(const struct nm_type *type, const char *name, size_t length, struct nm_err *err)
{
    const char *near = nm_field_nearest(type, name, length);
    int shown = (int)(length < 80 ? length : 80);
    return near ? nm_fail(err, "%s has no member '%.*s', did you mean '%s'?", type->name, shown, name, near)
                : nm_fail(err, "%s has no member '%.*s'", type->name, shown, name);
}

/* "[12]" at *text: moves the place to that element. */
static int take_index(const char **text, const char *path, struct nm_place *place, struct nm_err *err)
{
    const char *digits = *text + 1;
    size_t length = strspn(digits, "0123456789");
    if (!length || length > 9 || digits[length] != ']')
        return nm_fail(err, "'%.120s': an index is a whole number in brackets, as in name[0]", path);
    if (place->shape == NM_ONE) return nm_fail(err, "'%.120s': %s has no elements", path, place->field->name);

    uint32_t index = (uint32_t)strtoul(digits, NULL, 10), n;
    uint8_t *first = nm_elements(place->field, place->at, &n);
    if (index >= n) return nm_fail(err, "'%.120s': %s has %u elements", path, place->field->name, n);
    place->at = first + (size_t)index * place->field->elem;
    place->shape = NM_ONE;
    *text = digits + length + 1;
    return 0;
}

int nm_find(const struct nm_type *type, const void *message, const char *path, struct nm_place *place,
            struct nm_err *err)
{
    uint8_t *base = (uint8_t *)(uintptr_t)message;
    for (const char *text = path;; text++) {
        size_t length = strcspn(text, ".[");
        const struct nm_field *field = nm_field_find(type, text, length);
        if (!field) return fail_field(type, text, length, err);
        *place = (struct nm_place){.field = field, .shape = field->shape, .at = base + field->offset};
        text += length;
        if (*text == '[' && take_index(&text, path, place, err)) return -1;
        if (!*text) return 0;
        if (*text != '.') return nm_fail(err, "'%.120s': a dot is missing before '%.40s'", path, text);
        if (place->shape != NM_ONE)
            return nm_fail(err, "'%.120s': %s needs an index, as in %s[0]", path, field->name, field->name);
        if (field->kind != NM_STRUCT) return nm_fail(err, "'%.120s': %s has no members", path, field->name);
        type = field->type;
        base = place->at;
    }
}

int nm_number(const struct nm_place *place, double *value)
{
    if (place->shape != NM_ONE) return -1;
    const void *at = place->at;
    switch (place->field->kind) {
    case NM_BOOL: *value = *(const uint8_t *)at != 0; return 0;
    case NM_BYTE:
    case NM_UINT8: *value = *(const uint8_t *)at; return 0;
    case NM_INT8: *value = *(const int8_t *)at; return 0;
    case NM_INT16: *value = *(const int16_t *)at; return 0;
    case NM_UINT16: *value = *(const uint16_t *)at; return 0;
    case NM_INT32: *value = *(const int32_t *)at; return 0;
    case NM_UINT32: *value = *(const uint32_t *)at; return 0;
    case NM_INT64: *value = (double)*(const int64_t *)at; return 0;
    case NM_UINT64: *value = (double)*(const uint64_t *)at; return 0;
    case NM_FLOAT32: *value = (double)*(const float *)at; return 0;
    case NM_FLOAT64: *value = *(const double *)at; return 0;
    case NM_STRING:
    case NM_STRUCT: break;
    }
    return -1;
}

struct comparison {
    double tolerance;
    nm_differs *differs;
    void *user;
    uint32_t count;
    bool stopped;
    size_t length; /* of the path so far; what is longer than the room is cut */
    char path[512];
};

/* Appends to the path and returns the length to go back to. */
static size_t enter(struct comparison *c, const char *name, uint32_t index)
{
    size_t before = c->length, room = sizeof c->path - before;
    int n = name ? snprintf(c->path + before, room, "%s%s", before ? "." : "", name)
                 : snprintf(c->path + before, room, "[%u]", index);
    c->length = before + ((size_t)n < room ? (size_t)n : room - 1);
    return before;
}

static void leave(struct comparison *c, size_t before)
{
    c->length = before;
    c->path[before] = '\0';
}

static void report(struct comparison *c, const struct nm_field *field, uint8_t *a, uint8_t *b)
{
    struct nm_place in_a = {field, NM_ONE, a}, in_b = {field, NM_ONE, b};
    c->count++;
    if (c->differs && !c->differs(c->user, c->path, a ? &in_a : NULL, b ? &in_b : NULL)) c->stopped = true;
}

static bool same_leaf(const struct comparison *c, const struct nm_field *field, uint8_t *a, uint8_t *b)
{
    if (field->kind == NM_STRING) return !strncmp((char *)a, (char *)b, field->elem);
    if (!memcmp(a, b, field->elem)) return true;
    if (field->kind == NM_BOOL) return !*a == !*b;
    if (field->kind != NM_FLOAT32 && field->kind != NM_FLOAT64) return false;
    double x, y;
    nm_number(&(struct nm_place){field, NM_ONE, a}, &x);
    nm_number(&(struct nm_place){field, NM_ONE, b}, &y);
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= c->tolerance;
}

static void compare_structs(struct comparison *c, const struct nm_type *type, uint8_t *a, uint8_t *b);

static void compare_element(struct comparison *c, const struct nm_field *field, uint8_t *a, uint8_t *b)
{
    if (field->kind == NM_STRUCT)
        compare_structs(c, field->type, a, b);
    else if (!same_leaf(c, field, a, b))
        report(c, field, a, b);
}

static void compare_elements(struct comparison *c, const struct nm_field *field, uint8_t *a, uint8_t *b)
{
    uint32_t na, nb;
    a = nm_elements(field, a, &na);
    b = nm_elements(field, b, &nb);
    bool primitive = field->kind < NM_STRING;
    if (na == nb && primitive && (!na || !memcmp(a, b, (size_t)na * field->elem))) return;
    for (uint32_t i = 0; (i < na || i < nb) && !c->stopped; i++) {
        uint8_t *x = i < na ? a + (size_t)i * field->elem : NULL, *y = i < nb ? b + (size_t)i * field->elem : NULL;
        size_t before = enter(c, NULL, i);
        if (x && y) compare_element(c, field, x, y);
        if (!x || !y) report(c, field, x, y);
        leave(c, before);
    }
}

static void compare_structs(struct comparison *c, const struct nm_type *type, uint8_t *a, uint8_t *b)
{
    for (uint32_t i = 0; i < type->n_fields && !c->stopped; i++) {
        const struct nm_field *field = &type->fields[i];
        size_t before = enter(c, field->name, 0);
        if (field->shape == NM_ONE)
            compare_element(c, field, a + field->offset, b + field->offset);
        else
            compare_elements(c, field, a + field->offset, b + field->offset);
        leave(c, before);
    }
}

uint32_t nm_compare(const struct nm_type *type, const void *a, const void *b, double tolerance, nm_differs *differs,
                    void *user)
{
    struct comparison c = {.tolerance = tolerance, .differs = differs, .user = user};
    compare_structs(&c, type, (uint8_t *)(uintptr_t)a, (uint8_t *)(uintptr_t)b);
    return c.count;
}

/* What the world knows a type by: its hash (REP-2011: SHA-256 of a JSON text with fixed spelling), its merged schema
 * text (as rosbag2 and MCAP carry it) and its DDS name. */
#include "codec/msgdef.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

/* type_id of type_description_interfaces/msg/FieldType */
static const uint32_t type_ids[] = {
    [NM_STRUCT] = 1,   [NM_INT8] = 2,   [NM_UINT8] = 3, [NM_INT16] = 4,   [NM_UINT16] = 5,
    [NM_INT32] = 6,    [NM_UINT32] = 7, [NM_INT64] = 8, [NM_UINT64] = 9,  [NM_FLOAT32] = 10,
    [NM_FLOAT64] = 11, [NM_BOOL] = 15,  [NM_BYTE] = 16, [NM_STRING] = 17,
};
enum { BOUNDED_STRING = 21, ARRAY = 48, BOUNDED_SEQUENCE = 96, SEQUENCE = 144 };

static void add(struct nm_sha256 *sha, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct nm_sha256 *sha, const char *format, ...)
{
    char piece[6 * NM_DEF_NAME]; /* names are limited: a piece holds two full ones */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    nm_sha256_add(sha, piece, (size_t)len);
}

static void add_field(struct nm_sha256 *sha, const struct nm_def_field *field)
{
    uint32_t id = field->text_bound ? BOUNDED_STRING : type_ids[field->kind], capacity = 0;
    if (field->shape == NM_ARRAY) {
        id += ARRAY;
        capacity = field->cap;
    } else if (field->shape != NM_ONE) {
        id += field->bound ? BOUNDED_SEQUENCE : SEQUENCE;
        capacity = field->bound;
    }
    add(sha, "{\"name\": \"%s\", \"type\": {\"type_id\": %u, \"capacity\": %u, \"string_capacity\": %u, ", field->name,
        id, capacity, field->text_bound);
    add(sha, "\"nested_type_name\": \"%s\"}}", field->type ? field->type : "");
}

static void add_description(struct nm_sha256 *sha, const struct nm_def *def)
{
    add(sha, "{\"type_name\": \"%s\", \"fields\": [", def->name);
    for (uint32_t i = 0; i < def->n_fields; i++) {
        if (i) add(sha, ", ");
        add_field(sha, &def->fields[i]);
    }
    add(sha, "]}");
}

const char *nm_def_hash(const struct nm_defs *set, const struct nm_def *def)
{
    struct nm_sha256 sha;
    uint8_t digest[32];
    char hex[65];
    uint32_t n;
    struct nm_def **needs = nm_def_needs(set, def, &n);
    nm_sha256_start(&sha);
    add(&sha, "{\"type_description\": ");
    add_description(&sha, def);
    add(&sha, ", \"referenced_type_descriptions\": [");
    for (uint32_t i = 0; i < n; i++) {
        if (i) add(&sha, ", ");
        add_description(&sha, needs[i]);
    }
    add(&sha, "]}");
    nm_sha256_end(&sha, digest);
    nm_sha256_hex(digest, hex);
    return nm_take_format(set->arena, "RIHS01_%s", hex);
}

/* Text is written twice: once to learn its length (at NULL), once for good. */
struct sink {
    char *at;
    size_t n;
};

static void put(struct sink *sink, const char *text, size_t n)
{
    if (sink->at) memcpy(sink->at + sink->n, text, n);
    sink->n += n;
}

static void put_text(struct sink *sink, const char *text) { put(sink, text, strlen(text)); }

static void put_number(struct sink *sink, const char *before, uint32_t number, const char *behind)
{
    char text[32];
    snprintf(text, sizeof text, "%s%u%s", before, number, behind);
    put_text(sink, text);
}

/* Messages by the short name that all readers know, parts of services and actions by the full one. */
static void put_type_name(struct sink *sink, const char *name)
{
    const char *slash = strchr(name, '/');
    bool message = !strncmp(slash, "/msg/", 5);
    put(sink, name, (size_t)(slash - name));
    put_text(sink, message ? slash + 4 : slash);
}

static void put_field(struct sink *sink, const struct nm_def_field *field)
{
    if (field->kind == NM_STRUCT)
        put_type_name(sink, field->type);
    else
        put_text(sink, nm_kind_name(field->kind));
    if (field->text_bound) put_number(sink, "<=", field->text_bound, "");
    if (field->shape == NM_ARRAY)
        put_number(sink, "[", field->cap, "]");
    else if (field->bound)
        put_number(sink, "[<=", field->bound, "]");
    else if (field->shape != NM_ONE)
        put_text(sink, "[]");
    put_text(sink, " ");
    put_text(sink, field->name);
    if (field->written) put_text(sink, " ");
    if (field->written) put_text(sink, field->written);
    put_text(sink, "\n");
}

static void put_constant(struct sink *sink, const struct nm_def_constant *constant)
{
    put_text(sink, nm_kind_name(constant->kind));
    put_text(sink, " ");
    put_text(sink, constant->name);
    put_text(sink, "=");
    put_text(sink, constant->written);
    put_text(sink, "\n");
}

/* fields and constants in the order of their lines */
static void put_definition(struct sink *sink, const struct nm_def *def)
{
    uint32_t n_fields = def->empty ? 0 : def->n_fields;
    for (uint32_t f = 0, c = 0; f < n_fields || c < def->n_constants;) {
        bool constant = c < def->n_constants && (f >= n_fields || def->constants[c].line < def->fields[f].line);
        if (constant)
            put_constant(sink, &def->constants[c++]);
        else
            put_field(sink, &def->fields[f++]);
    }
}

static void put_schema(struct sink *sink, const struct nm_def *def, struct nm_def **needs, uint32_t n)
{
    static const char border[] =
        "================================================================================\nMSG: ";
    put_definition(sink, def);
    for (uint32_t i = 0; i < n; i++) {
        put_text(sink, border);
        put_type_name(sink, needs[i]->name);
        put_text(sink, "\n");
        put_definition(sink, needs[i]);
    }
    put(sink, "", 1);
}

const char *nm_def_schema(const struct nm_defs *set, const struct nm_def *def)
{
    uint32_t n;
    struct nm_def **needs = nm_def_needs(set, def, &n);
    struct sink sink = {0};
    put_schema(&sink, def, needs, n);
    sink = (struct sink){.at = nm_take(set->arena, sink.n)};
    put_schema(&sink, def, needs, n);
    return sink.at;
}

const char *nm_def_dds_name(const struct nm_defs *set, const struct nm_def *def)
{
    const char *kind = strchr(def->name, '/') + 1, *own = strchr(kind, '/') + 1;
    return nm_take_format(set->arena, "%s::%.*s::dds_::%s_", def->package, (int)(own - kind - 1), kind, own);
}

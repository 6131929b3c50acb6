#include "edge/dds/type_description.h"

#include <stdio.h>

#include "codec/msgdef.h"

/* type_id of type_description_interfaces/msg/FieldType */
enum { NESTED = 1, STRING = 17, BOUNDED_STRING = 21, ARRAY = 48, BOUNDED_SEQUENCE = 96, SEQUENCE = 144 };
static const char *const words[ARRAY] = {
    [2] = "int8",   [3] = "uint8",    [4] = "int16",    [5] = "uint16", [6] = "int32", [7] = "uint32",  [8] = "int64",
    [9] = "uint64", [10] = "float32", [11] = "float64", [15] = "bool",  [16] = "byte", [17] = "string", [21] = "string",
};
enum { FIELDS_MOST = 512, TYPES_MOST = 256 }; /* a longer description is not accepted */

/* ---- giving ---- */

static uint8_t id_of(const struct nm_def_field *field)
{
    uint8_t id = NESTED;
    const char *word = nm_kind_name(field->kind);
    for (uint8_t i = 2; word && i <= STRING; i++)
        if (words[i] && !strcmp(words[i], word)) id = i;
    if (field->text_bound) id = BOUNDED_STRING;
    if (field->shape == NM_ARRAY) return (uint8_t)(id + ARRAY);
    if (field->shape == NM_ONE) return id;
    return (uint8_t)(id + (field->bound ? BOUNDED_SEQUENCE : SEQUENCE));
}

static void pack_definition(struct pack *p, const struct nm_def *def)
{
    pack_text(p, def->name);
    pack_u32(p, def->n_fields);
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *field = &def->fields[i];
        pack_text(p, field->name);
        pack_u8(p, id_of(field));
        pack_u64(p, field->shape == NM_ARRAY ? field->cap : field->bound);
        pack_u64(p, field->text_bound);
        pack_text(p, field->type ? field->type : "");
        pack_text(p, field->written ? field->written : "");
    }
}

/* The text of each definition; the merged text is cut at its separators. */
static void pack_sources(struct pack *p, const char *schema, const struct nm_def *def, struct nm_def **needs,
                         uint32_t n)
{
    static const char border[] = "\nMSG: ";
    pack_u32(p, n + 1);
    for (uint32_t i = 0; i <= n; i++) {
        const char *next = strstr(schema, border), *end = next ? next : schema + strlen(schema);
        while (next && end > schema && end[-1] == '=') end--;
        pack_text(p, i ? needs[i - 1]->name : def->name);
        pack_text(p, "msg");
        pack_u32(p, (uint32_t)(end - schema) + 1);
        pack_raw(p, schema, (size_t)(end - schema));
        pack_u8(p, 0);
        if (next) next = strchr(next + sizeof border - 1, '\n');
        schema = next ? next + 1 : "";
    }
}

static void pack_failure(struct pack *p, const char *why, const char *name)
{
    char reason[256];
    snprintf(reason, sizeof reason, why, name);
    pack_u8(p, false);
    pack_text(p, reason);
    pack_text(p, "");
    for (int i = 0; i < 4; i++) pack_u32(p, 0); /* fields, other types, sources, more */
}

void describe_pack(struct pack *p, const char *name, const struct nm_type *type, const char *hash, bool sources)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    uint32_t n = 0;
    if (!type) {
        pack_failure(p, "this node has no type %.100s", name);
        return;
    }
    if (*hash && strcmp(hash, type->hash)) {
        pack_failure(p, "this node has %.100s with another hash", name);
        return;
    }
    const struct nm_def *def = NULL;
    if (!nm_defs_add_merged(&set, name, type->name, type->schema, strlen(type->schema), NULL) &&
        !nm_defs_link(&set, NULL))
        def = nm_defs_find(&set, type->name);
    if (!def) {
        pack_failure(p, "this node cannot describe %.100s", name);
    } else {
        struct nm_def **needs = nm_def_needs(&set, def, &n);
        pack_u8(p, true);
        pack_text(p, "");
        pack_definition(p, def);
        pack_u32(p, n);
        for (uint32_t i = 0; i < n; i++) pack_definition(p, needs[i]);
        if (sources)
            pack_sources(p, type->schema, def, needs, n);
        else
            pack_u32(p, 0);
        pack_u32(p, 0);
    }
    nm_arena_free(&arena);
}

/* ---- taking ---- */

static void put(struct pack *text, const char *piece) { pack_raw(text, piece, strlen(piece)); }

static void put_number(struct pack *text, const char *format, uint64_t number)
{
    char piece[32];
    snprintf(piece, sizeof piece, format, (unsigned long long)number);
    put(text, piece);
}

static bool is_word(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!(*at == '_' || *at == '/' || (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
              (*at >= 'A' && *at <= 'Z')))
            return false;
    return *name;
}

/* "geometry_msgs/msg/Point" is geometry_msgs/Point in a text; parts of services keep their whole name. */
static void put_type(struct pack *text, const char *name)
{
    const char *message = strstr(name, "/msg/");
    if (message) pack_raw(text, name, (size_t)(message - name));
    put(text, message ? message + 4 : name);
}

static int read_field(struct pack *text, struct unpack *u, struct nm_err *err)
{
    const char *name = unpack_text(u);
    uint32_t id = unpack_u8(u), shape = id / ARRAY * ARRAY, plain = id % ARRAY;
    uint64_t capacity = unpack_u64(u), string_capacity = unpack_u64(u);
    const char *nested = unpack_text(u);
    unpack_text(u); /* a reader does not need the default value */
    if (u->bad || shape > SEQUENCE || !is_word(name) || (plain == NESTED && !is_word(nested)))
        return nm_fail(err, "the description is not valid");
    if (plain != NESTED && !words[plain]) return nm_fail(err, "%.60s has a type (%u) that is not supported", name, id);
    if (!strcmp(name, "structure_needs_at_least_one_member")) return 0; /* the member of an empty type on the wire */
    if (plain == NESTED)
        put_type(text, nested);
    else
        put(text, words[plain]);
    if (plain == BOUNDED_STRING) put_number(text, "<=%llu", string_capacity);
    if (shape == ARRAY) put_number(text, "[%llu]", capacity);
    if (shape == BOUNDED_SEQUENCE) put_number(text, "[<=%llu]", capacity);
    if (shape == SEQUENCE) put(text, "[]");
    put(text, " ");
    put(text, name);
    put(text, "\n");
    return 0;
}

static int read_definition(struct pack *text, struct unpack *u, bool first, struct nm_err *err)
{
    const char *name = unpack_text(u);
    uint32_t n = unpack_count(u, 24);
    if (u->bad || n > FIELDS_MOST || !is_word(name)) return nm_fail(err, "the description is not valid");
    if (!first) {
        for (int i = 0; i < 80; i++) put(text, "=");
        put(text, "\nMSG: ");
        put_type(text, name);
        put(text, "\n");
    }
    for (uint32_t i = 0; i < n; i++)
        if (read_field(text, u, err)) return -1;
    return 0;
}

const char *describe_read(struct nm_arena *arena, struct unpack *u, struct nm_err *err)
{
    bool given = unpack_u8(u);
    const char *reason = unpack_text(u);
    struct pack text = {0};
    if (u->bad || !given) {
        nm_fail(err, "%.200s", u->bad ? "the description is not valid" : reason);
        return NULL;
    }
    int bad = read_definition(&text, u, true, err);
    uint32_t n = bad ? 0 : unpack_count(u, 8);
    if (n > TYPES_MOST) bad = nm_fail(err, "the description names %u types", n);
    for (uint32_t i = 0; i < n && !bad; i++) bad = read_definition(&text, u, false, err);
    pack_u8(&text, 0);
    const char *result = bad || u->bad ? NULL : nm_take_text(arena, (const char *)text.bytes);
    if (!bad && u->bad) nm_fail(err, "the description ends too early");
    free(text.bytes);
    return result;
}

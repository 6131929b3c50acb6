/* nutmeg msg: the message types built in, and everything their tables know: fields with the room they have, defaults,
 * constants, size, hash, schema. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/type.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "codec/text.h"

static const char *const kind_names[] = {
    [NM_BOOL] = "bool",     [NM_BYTE] = "byte",      [NM_INT8] = "int8",       [NM_UINT8] = "uint8",
    [NM_INT16] = "int16",   [NM_UINT16] = "uint16",  [NM_INT32] = "int32",     [NM_UINT32] = "uint32",
    [NM_INT64] = "int64",   [NM_UINT64] = "uint64",  [NM_FLOAT32] = "float32", [NM_FLOAT64] = "float64",
    [NM_STRING] = "string", [NM_STRUCT] = "message",
};

/* ---- list ---- */

static int msg_list(int argc, char **argv)
{
    const struct usage usage = USAGE("nutmeg msg list", "[PATTERN]", NULL,
                                     "Lists the message types whose name contains PATTERN. PATTERN may use * and ?.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    const char *pattern = n ? argv[1] : NULL;
    struct table table;
    table_begin(&table, (const char *const[]){"type", ">bytes", "fields", NULL});
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        const struct nm_type *type = nm_all_types.at[i];
        if (!nm_matches(type->name, pattern)) continue;
        char fields[160] = "";
        size_t used = 0;
        for (uint32_t f = 0; f < type->n_fields && used < sizeof fields; f++)
            used += (size_t)snprintf(fields + used, sizeof fields - used, "%s%s", f ? " " : "", type->fields[f].name);
        table_row(&table, "%s\t%u\t%.100s%s", type->name, type->size, fields, strlen(fields) > 100 ? " …" : "");
    }
    if (!table.n_rows) {
        fprintf(stderr, "no message type has a name that contains '%s'; nutmeg msg list shows all %u\n", pattern,
                nm_all_types.n);
        return EXIT_FAILED;
    }
    table_print(&table, stdout);
    return EXIT_OK;
}

/* ---- show ---- */

/* `sensor_msgs/msg/Imu`, `float64[9]`, `string<=31[<=4]`: as in the .msg file */
static void type_text(const struct nm_field *field, char *to, size_t size)
{
    const char *base = field->kind == NM_STRUCT ? field->type->name : kind_names[field->kind];
    int n = snprintf(to, size, "%s", base);
    if (field->text_bound) n += snprintf(to + n, size - (size_t)n, "<=%u", field->text_bound);
    if (field->shape == NM_ARRAY)
        snprintf(to + n, size - (size_t)n, "[%u]", field->cap);
    else if (field->shape != NM_ONE && field->bound)
        snprintf(to + n, size - (size_t)n, "[<=%u]", field->bound);
    else if (field->shape != NM_ONE)
        snprintf(to + n, size - (size_t)n, "[]");
}

/* How much fits: elements of a sequence, bytes of a text. */
static void room_text(const struct nm_field *field, char *to, size_t size)
{
    int n = 0;
    *to = '\0';
    if (field->shape == NM_SEQ) n = snprintf(to, size, "%u", field->cap);
    if (field->shape == NM_BLOB) n = snprintf(to, size, "pool");
    if (field->kind == NM_STRING) snprintf(to + n, size - (size_t)n, "%s%u B", n ? " x " : "", field->elem - 1);
}

/* The default, where it is not simply zero or empty. */
static void default_text(const struct nm_type *type, const struct nm_field *field, const void *message, char *to,
                         size_t size)
{
    struct nm_place place;
    *to = '\0';
    bool given = false;
    for (uint32_t i = 0; i < type->n_defaults; i++)
        given |= type->defaults[i].offset >= field->offset &&
                 type->defaults[i].offset < field->offset + (field->shape == NM_SEQ ? field->first : 0) +
                                                field->elem * (field->shape == NM_ONE ? 1 : field->cap);
    if (!given || field->kind == NM_STRUCT || nm_find(type, message, field->name, &place, NULL)) return;
    struct nm_text_out out = {.text = to, .size = size};
    nm_print_place(&out, &place, NM_TEXT_JSON);
    to[strcspn(to, "\n")] = '\0';
}

static void show_fields(const struct nm_type *type)
{
    void *message = nm_message_new(type);
    struct table table;
    table_begin(&table, (const char *const[]){"  field", "type", "room", ">offset", "default", "about", NULL});
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        char what[256], room[64], value[128];
        type_text(field, what, sizeof what);
        room_text(field, room, sizeof room);
        default_text(type, field, message, value, sizeof value);
        table_row(&table, "  %s\t%s\t%s\t%u\t%s\t%s", field->name, what, room, field->offset, value, field->about);
    }
    table_print(&table, stdout);
    free(message);
}

static void show_constants(const struct nm_type *type)
{
    if (!type->n_constants) return;
    struct table table;
    table_begin(&table, (const char *const[]){"  constant", "type", "value", "about", NULL});
    for (uint32_t i = 0; i < type->n_constants; i++) {
        const struct nm_constant *c = &type->constants[i];
        if (c->kind == NM_STRING)
            table_row(&table, "  %s\tstring\t\"%s\"\t%s", c->name, c->text, c->about);
        else if (c->kind == NM_FLOAT32 || c->kind == NM_FLOAT64)
            table_row(&table, "  %s\t%s\t%.17g\t%s", c->name, kind_names[c->kind], c->f, c->about);
        else if (c->kind == NM_UINT64)
            table_row(&table, "  %s\t%s\t%llu\t%s", c->name, kind_names[c->kind], (unsigned long long)c->i, c->about);
        else
            table_row(&table, "  %s\t%s\t%lld\t%s", c->name, kind_names[c->kind], (long long)c->i, c->about);
    }
    fputc('\n', stdout);
    table_print(&table, stdout);
}

static void show_all(const struct nm_type *type)
{
    printf("%s%s%s\n", ink(stdout, INK_BOLD), type->name, ink(stdout, INK_PLAIN));
    if (*type->about) printf("%s\n", type->about);
    printf("\n");
    show_fields(type);
    show_constants(type);
    const char *kept = type->flat ? "flat" : type->blobs ? "with payload in shared memory" : "with sequences";
    printf("\n  size    %u bytes, %s\n  C       %s, layout %016llx\n  DDS     %s\n  hash    %s\n\n%s", type->size, kept,
           type->c_name, (unsigned long long)type->layout, type->dds_name, type->hash, type->schema);
}

static int no_type(const char *name)
{
    const char **names = nm_calloc(2 * (size_t)nm_all_types.n, sizeof *names);
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        names[2 * i] = nm_all_types.at[i]->name;
        names[2 * i + 1] = strrchr(nm_all_types.at[i]->name, '/') + 1;
    }
    const char *near = nm_nearest(name, names, 2 * nm_all_types.n);
    fprintf(stderr, "there is no message type '%s', or several of this name%s%s%s\nnutmeg msg list shows all\n", name,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    free(names);
    return EXIT_USAGE;
}

static int msg_show(int argc, char **argv)
{
    bool yaml = false, json = false, schema = false, hash = false;
    const struct flag flags[] = {
        SWITCH("yaml", &yaml, "prints only a message with its defaults, to be filled in"),
        SWITCH("json", &json, "prints JSON"),
        SWITCH("schema", &schema, "prints only the schema: this type and all types that it uses"),
        SWITCH("hash", &hash, "prints only the type hash"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg msg show", "TYPE", flags,
              "Shows a message type: its fields with their capacity, default, meaning, unit and frame, its\n"
              "constants, size, type hash, names in C and in DDS, and schema. TYPE is sensor_msgs/msg/Imu,\n"
              "sensor_msgs/Imu or Imu.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    const struct nm_type *type = nm_type_find(&nm_all_types, argv[1]);
    if (!type) return no_type(argv[1]);
    if (schema) {
        fputs(type->schema, stdout);
    } else if (hash) {
        puts(type->hash);
    } else if (yaml || json) {
        struct nm_text_out out = {.grows = true};
        void *message = nm_message_new(type);
        nm_print(&out, type, message, json ? NM_TEXT_JSON : NM_TEXT_YAML);
        printf("%s%s", out.text, out.used && out.text[out.used - 1] == '\n' ? "" : "\n");
        free(message);
        free(out.text);
    } else {
        show_all(type);
    }
    return EXIT_OK;
}

int cmd_msg(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the message types", msg_list},
        {"show", "shows one of them", msg_show},
        {0},
    };
    return verbs_run("nutmeg msg", "Message types and their fields.", verbs, argc, argv);
}

/* <package>.c: the tables of base/type.h for every type of a package, and assertions that the compiler places members
 * where the tables say. all_types.c: the list of all. */
#include "gen/emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const kinds[] = {
    [NM_BOOL] = "NM_BOOL",     [NM_BYTE] = "NM_BYTE",     [NM_INT8] = "NM_INT8",       [NM_UINT8] = "NM_UINT8",
    [NM_INT16] = "NM_INT16",   [NM_UINT16] = "NM_UINT16", [NM_INT32] = "NM_INT32",     [NM_UINT32] = "NM_UINT32",
    [NM_INT64] = "NM_INT64",   [NM_UINT64] = "NM_UINT64", [NM_FLOAT32] = "NM_FLOAT32", [NM_FLOAT64] = "NM_FLOAT64",
    [NM_STRING] = "NM_STRING", [NM_STRUCT] = "NM_STRUCT",
};
static const char *const shapes[] = {"NM_ONE", "NM_ARRAY", "NM_SEQ", "NM_BLOB"};
static const char *const codes[] = {"NM_OP_COPY",    "NM_OP_BOOL", "NM_OP_STRING",
                                    "NM_OP_STRUCTS", "NM_OP_SEQ",  "NM_OP_BLOB"};

/* bytes as a C string without its NUL; octal, because hex escapes have no end */
static void put_bytes(FILE *out, const uint8_t *at, uint32_t n)
{
    fputc('"', out);
    for (uint32_t i = 0; i < n; i++) fprintf(out, "\\%03o", at[i]);
    fputc('"', out);
}

static void put_string(FILE *out, const char *text)
{
    if (!text) {
        fputs("NULL", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '\n')
            fputs(at[1] ? "\\n\"\n    \"" : "\\n", out);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 32 || *at >= 127 || *at == '?')
            fprintf(out, "\\%03o", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

static void put_type_ref(FILE *out, const struct nm_type *type)
{
    if (type)
        fprintf(out, "&%s_type", type->c_name);
    else
        fputs("NULL", out);
}

static void put_fields(FILE *out, const struct nm_type *type)
{
    fprintf(out, "static const struct nm_field %s_fields[] = {\n", type->c_name);
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *f = &type->fields[i];
        fprintf(out, "    {\"%s\", %s, %s, %u, %u, %u, %u, %u, %u, ", f->name, kinds[f->kind], shapes[f->shape],
                f->offset, f->cap, f->bound, f->elem, f->first, f->text_bound);
        put_type_ref(out, f->type);
        fputs(", ", out);
        put_string(out, f->about);
        fputs("},\n", out);
    }
    fputs("};\n", out);
}

static void put_constants(FILE *out, const struct nm_type *type)
{
    if (!type->n_constants) return;
    fprintf(out, "static const struct nm_constant %s_constants[] = {\n", type->c_name);
    for (uint32_t i = 0; i < type->n_constants; i++) {
        const struct nm_constant *c = &type->constants[i];
        fprintf(out, "    {\"%s\", %s, (int64_t)UINT64_C(%" PRIu64 "), ", c->name, kinds[c->kind], (uint64_t)c->i);
        if (isfinite(c->f))
            fprintf(out, "%.17g, ", c->f);
        else
            fputs(isnan(c->f) ? "__builtin_nan(\"\"), " : c->f < 0 ? "-__builtin_inf(), " : "__builtin_inf(), ", out);
        put_string(out, c->text);
        fputs(", ", out);
        put_string(out, c->about);
        fputs("},\n", out);
    }
    fputs("};\n", out);
}

static void put_ops(FILE *out, const struct nm_type *type, const char *name, const struct nm_op *ops, uint32_t n)
{
    if (!n) return;
    fprintf(out, "static const struct nm_op %s_%s[] = {\n", type->c_name, name);
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_op *op = &ops[i];
        fprintf(out, "    {%s, %s, %u, %u, %u, %u, ", codes[op->code], kinds[op->kind], op->offset, op->elem, op->n,
                op->first);
        put_type_ref(out, op->type);
        fputs("},\n", out);
    }
    fputs("};\n", out);
}

static void put_spans(FILE *out, const struct nm_type *type)
{
    fprintf(out, "static const struct nm_span %s_spans[] = {", type->c_name);
    for (uint32_t i = 0; i < type->n_spans; i++) fprintf(out, "{%u, %u}, ", type->spans[i].offset, type->spans[i].size);
    fputs("};\n", out);
}

static void put_defaults(FILE *out, const struct nm_type *type)
{
    if (!type->n_defaults) return;
    fprintf(out, "static const struct nm_default %s_defaults[] = {\n", type->c_name);
    for (uint32_t i = 0; i < type->n_defaults; i++) {
        fprintf(out, "    {%u, %u, ", type->defaults[i].offset, type->defaults[i].size);
        put_bytes(out, type->defaults[i].bytes, type->defaults[i].size);
        fputs("},\n", out);
    }
    fputs("};\n", out);
}

static void put_assertions(FILE *out, const struct nm_def *def)
{
    char room[NM_DEF_NAME + 2];
    fprintf(out, "_Static_assert(sizeof(%s) == %u", def->c_name, def->type->size);
    for (uint32_t i = 0; i < def->n_fields; i++)
        fprintf(out, " &&\n    offsetof(%s, %s) == %u", def->c_name, nm_member_name(&def->fields[i], room),
                def->type->fields[i].offset);
    fprintf(out, ", \"nmgen places members of %s as the compiler does\");\n", def->c_name);
}

static void put_type(FILE *out, const struct nm_def *def)
{
    const struct nm_type *t = def->type;
    fprintf(out, "\n/* %s */\n", t->name);
    put_assertions(out, def);
    put_fields(out, t);
    put_constants(out, t);
    put_ops(out, t, "ops", t->ops, t->n_ops);
    put_ops(out, t, "blob_ops", t->blob_ops, t->n_blob_ops);
    put_spans(out, t);
    put_defaults(out, t);
    fprintf(out,
            "const struct nm_type %s_type = {\n    .name = \"%s\",\n    .c_name = \"%s\",\n    .dds_name = \"%s\",\n",
            t->c_name, t->name, t->c_name, t->dds_name);
    fprintf(out, "    .hash = \"%s\",\n    .schema =\n    ", t->hash);
    put_string(out, t->schema);
    fprintf(out, ",\n    .layout = UINT64_C(0x%016" PRIx64 "),\n    .size = %u,\n    .stamp = UINT32_C(%u),\n",
            t->layout, t->size, t->stamp);
    fprintf(out, "    .flat = %s,\n    .blobs = %s,\n", t->flat ? "true" : "false", t->blobs ? "true" : "false");
    fprintf(
        out,
        "    .n_fields = %u,\n    .n_constants = %u,\n    .n_ops = %u,\n    .n_spans = %u,\n    .n_defaults = %u,\n",
        t->n_fields, t->n_constants, t->n_ops, t->n_spans, t->n_defaults);
    fprintf(out, "    .fields = %s_fields,\n", t->c_name);
    if (t->n_constants) fprintf(out, "    .constants = %s_constants,\n", t->c_name);
    fprintf(out, "    .ops = %s_ops,\n    .spans = %s_spans,\n", t->c_name, t->c_name);
    if (t->n_blob_ops) fprintf(out, "    .n_blob_ops = %u,\n    .blob_ops = %s_blob_ops,\n", t->n_blob_ops, t->c_name);
    if (t->n_defaults) fprintf(out, "    .defaults = %s_defaults,\n", t->c_name);
    fputs("    .about = ", out);
    put_string(out, t->about);
    fputs(",\n};\n", out);
}

void nm_emit_tables(FILE *out, const struct nm_unit *units, uint32_t n)
{
    fprintf(out, "/* Made by nmgen: tables of the types of %s. The columns are those of base/type.h. */\n",
            units->package);
    for (uint32_t i = 0; i < n; i++) fprintf(out, "#include \"%s/%s.h\"\n", units[i].package, units[i].stem);
    fputs("\n_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, \"defaults are stored little endian\");\n", out);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < units[i].n; k++) put_type(out, units[i].at[k]);
}

void nm_emit_all_types(FILE *out, const struct nm_defs *set)
{
    fputs("/* Made by nmgen: every type, sorted by name. */\n#include \"base/type.h\"\n\n", out);
    for (uint32_t i = 0; i < set->n; i++) fprintf(out, "extern const struct nm_type %s_type;\n", set->at[i]->c_name);
    fputs("\nstatic const struct nm_type *const all[] = {\n", out);
    for (uint32_t i = 0; i < set->n; i++) fprintf(out, "    &%s_type,\n", set->at[i]->c_name);
    fprintf(out, "};\n\nconst struct nm_types nm_all_types = {%u, all};\n", set->n);
}

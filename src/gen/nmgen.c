/* nmgen is the first program of the build. It reads every <package>/<Type>.msg, .srv and .action under a folder and
 * writes their C structs and tables. A file is written only if its text changes, so that little is compiled again. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "codec/msgdef.h"

/* The definitions of one file (a message, or all parts of a service or action), every inner one before its user. */
struct unit {
    const char *package, *stem;
    uint32_t n;
    struct nm_def **at;
};

/* ---- <package>/<Type>.h ----
 * The structs and constants of one interface file, with its comments. */

static const char *const c_types[] = {
    [NM_BOOL] = "bool",     [NM_BYTE] = "uint8_t",    [NM_INT8] = "int8_t",   [NM_UINT8] = "uint8_t",
    [NM_INT16] = "int16_t", [NM_UINT16] = "uint16_t", [NM_INT32] = "int32_t", [NM_UINT32] = "uint32_t",
    [NM_INT64] = "int64_t", [NM_UINT64] = "uint64_t", [NM_FLOAT32] = "float", [NM_FLOAT64] = "double",
    [NM_STRING] = "char",
};

/* keywords, and what the compiler and the headers that everybody includes define as macros */
static const char *const taken[] = {
    "alignas",  "alignof", "asm",    "assert", "auto",     "bool",  "break",    "case",     "char",     "const",
    "continue", "default", "do",     "double", "else",     "enum",  "errno",    "extern",   "false",    "float",
    "for",      "goto",    "if",     "inline", "int",      "linux", "long",     "register", "restrict", "return",
    "short",    "signed",  "sizeof", "static", "stderr",   "stdin", "stdout",   "struct",   "switch",   "true",
    "typedef",  "typeof",  "union",  "unix",   "unsigned", "void",  "volatile", "while",
};

/* The C member of a field: its name, with an underscore behind it where C has taken the word. */
static const char *member_name(const struct nm_def_field *field, char room[NM_DEF_NAME + 2])
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(field->name, taken[i])) {
            snprintf(room, NM_DEF_NAME + 2, "%s_", field->name);
            return room;
        }
    return field->name;
}

/* Comment text, which must not end the comment or open another. */
static void put_comment(FILE *out, const char *text, const char *between)
{
    for (const char *at = text; *at; at++) {
        bool mark = (at[0] == '*' && at[1] == '/') || (at[0] == '/' && at[1] == '*');
        if (*at == '\n')
            fputs(between, out);
        else
            fputc(*at, out);
        if (mark) fputc(' ', out);
    }
}

static void put_above(FILE *out, const char *text)
{
    if (!*text) return;
    fputs("    /* ", out);
    put_comment(out, text, "\n     * ");
    fputs(" */\n", out);
}

static void put_behind(FILE *out, const char *text)
{
    if (*text) {
        fputs(" /* ", out);
        put_comment(out, text, " ");
        fputs(" */", out);
    }
    fputc('\n', out);
}

/* A string of C; `lines`: each line of it stands on a line of its own. */
static void put_text(FILE *out, const char *text, bool lines)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '\n' && lines)
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

static bool fits_enum(const struct nm_def_constant *constant)
{
    return constant->kind < NM_FLOAT32 && constant->kind != NM_UINT64 && constant->value.i > INT_MIN &&
           constant->value.i <= INT_MAX;
}

/* Integers that fit an int become an enum; the rest macros, which may stand in initialisers too. */
static void put_macro(FILE *out, const struct nm_def *def, const struct nm_def_constant *constant)
{
    double f = constant->value.f;
    fprintf(out, "#define %s_%s ", def->c_name, constant->name);
    switch (constant->kind) {
    case NM_STRING: put_text(out, constant->value.text, false); break;
    case NM_FLOAT32:
    case NM_FLOAT64:
        if (isfinite(f))
            fprintf(out, "((%s)%.17g)", c_types[constant->kind], f);
        else
            fputs(isnan(f) ? "__builtin_nanf(\"\")" : f < 0 ? "(-__builtin_inff())" : "__builtin_inff()", out);
        break;
    case NM_UINT64: fprintf(out, "UINT64_C(%" PRIu64 ")", (uint64_t)constant->value.i); break;
    case NM_UINT32: fprintf(out, "UINT32_C(%" PRId64 ")", constant->value.i); break;
    default:
        if (constant->value.i == INT64_MIN)
            fputs("INT64_MIN", out);
        else
            fprintf(out, "((%s)%" PRId64 "LL)", c_types[constant->kind], constant->value.i);
    }
    put_behind(out, constant->comment);
}

static void put_constants(FILE *out, const struct nm_def *def)
{
    bool open = false;
    for (uint32_t i = 0; i < def->n_constants; i++) {
        const struct nm_def_constant *constant = &def->constants[i];
        if (!fits_enum(constant)) continue;
        if (!open) fputs("enum {\n", out);
        open = true;
        put_above(out, constant->above);
        fprintf(out, "    %s_%s = %" PRId64 ",", def->c_name, constant->name, constant->value.i);
        put_behind(out, constant->comment);
    }
    if (open) fputs("};\n", out);
    for (uint32_t i = 0; i < def->n_constants; i++)
        if (!fits_enum(&def->constants[i])) put_macro(out, def, &def->constants[i]);
    if (def->n_constants) fputc('\n', out);
}

static void put_member(FILE *out, const struct nm_def_field *field)
{
    char room[NM_DEF_NAME + 2], text[32] = "";
    const char *name = member_name(field, room);
    const char *type = field->kind == NM_STRUCT ? field->def->c_name : c_types[field->kind];
    if (field->kind == NM_STRING) snprintf(text, sizeof text, "[%u]", field->len + 1);
    put_above(out, field->above);
    switch (field->shape) {
    case NM_ONE: fprintf(out, "    %s %s%s;", type, name, text); break;
    case NM_ARRAY: fprintf(out, "    %s %s[%u]%s;", type, name, field->cap, text); break;
    case NM_BLOB: fprintf(out, "    struct nm_blob %s; /* of %s */", name, type); break;
    case NM_SEQ:
        fprintf(out, "    struct {\n        uint32_t n;\n        %s at[%u]%s;\n    } %s;", type, field->cap, text,
                name);
        break;
    }
    put_behind(out, field->comment);
}

static void put_struct(FILE *out, const struct nm_def *def)
{
    if (*def->comment) {
        fputs("/* ", out);
        put_comment(out, def->comment, "\n * ");
        fputs(" */\n", out);
    }
    put_constants(out, def);
    fprintf(out, "typedef struct %s %s;\nstruct %s {\n", def->c_name, def->c_name, def->c_name);
    for (uint32_t i = 0; i < def->n_fields; i++) put_member(out, &def->fields[i]);
    fprintf(out, "};\nNM_EXPORT extern const struct nm_type %s_type;\n", def->c_name);
    fprintf(out, "#define %s_LAYOUT UINT64_C(0x%016" PRIx64 ")\n\n", def->c_name, def->type->layout);
}

static bool same_file(const struct nm_def *a, const struct unit *b)
{
    return !strcmp(a->package, b->package) && !strcmp(a->stem, b->stem);
}

/* Headers of the types used, each once. */
static void put_includes(FILE *out, const struct unit *unit)
{
    const struct nm_def *done[NM_DEF_FIELDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n; i++)
        for (uint32_t k = 0; k < unit->at[i]->n_fields; k++) {
            const struct nm_def *inner = unit->at[i]->fields[k].def;
            bool again = !inner || same_file(inner, unit);
            for (uint32_t d = 0; d < n && !again; d++) again = done[d] == inner;
            if (again) continue;
            fprintf(out, "#include \"%s/%s.h\"\n", inner->package, inner->stem);
            if (n < NM_DEF_FIELDS) done[n++] = inner;
        }
}

static void emit_header(FILE *out, const struct unit *unit)
{
    fprintf(out, "/* Made by nmgen from %s/%s; change that file instead. */\n", unit->package,
            strrchr(unit->at[0]->file, '/') + 1);
    fputs("#pragma once\n\n#include \"base/type.h\"\n", out);
    put_includes(out, unit);
    fputc('\n', out);
    for (uint32_t i = 0; i < unit->n; i++) put_struct(out, unit->at[i]);
}

/* ---- <package>.c ----
 * The tables of base/type.h for every type of a package, and assertions that the compiler places members where the
 * tables say. all_types.c is the list of all types. */

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
    if (text)
        put_text(out, text, true);
    else
        fputs("NULL", out);
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

static void put_constant_table(FILE *out, const struct nm_type *type)
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
        fprintf(out, " &&\n    offsetof(%s, %s) == %u", def->c_name, member_name(&def->fields[i], room),
                def->type->fields[i].offset);
    fprintf(out, ", \"nmgen places members of %s as the compiler does\");\n", def->c_name);
}

static void put_type(FILE *out, const struct nm_def *def)
{
    const struct nm_type *t = def->type;
    fprintf(out, "\n/* %s */\n", t->name);
    put_assertions(out, def);
    put_fields(out, t);
    put_constant_table(out, t);
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

/* one package */
static void emit_tables(FILE *out, const struct unit *units, uint32_t n)
{
    fprintf(out, "/* Made by nmgen: tables of the types of %s. The columns are those of base/type.h. */\n",
            units->package);
    for (uint32_t i = 0; i < n; i++) fprintf(out, "#include \"%s/%s.h\"\n", units[i].package, units[i].stem);
    fputs("\n_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, \"defaults are stored little endian\");\n", out);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < units[i].n; k++) put_type(out, units[i].at[k]);
}

static void emit_all_types(FILE *out, const struct nm_defs *set)
{
    fputs("/* Made by nmgen: every type, sorted by name. */\n#include \"base/type.h\"\n\n", out);
    for (uint32_t i = 0; i < set->n; i++) fprintf(out, "extern const struct nm_type %s_type;\n", set->at[i]->c_name);
    fputs("\nstatic const struct nm_type *const all[] = {\n", out);
    for (uint32_t i = 0; i < set->n; i++) fprintf(out, "    &%s_type,\n", set->at[i]->c_name);
    fprintf(out, "};\n\nconst struct nm_types nm_all_types = {%u, all};\n", set->n);
}

/* ---- the program ---- */

static const char help[] =
    "nmgen: C structs and tables from ROS interface files\n"
    "\n"
    "usage: nmgen --out OUT MSGDIR\n"
    "\n"
    "Reads MSGDIR/<package>/<Type>.msg, .srv and .action and writes\n"
    "  OUT/<package>/<Type>.h   struct <Type>, its constants, and `extern const struct nm_type <Type>_type`\n"
    "  OUT/<package>.c          the tables of a package\n"
    "  OUT/all_types.c          the list of all types\n"
    "Files whose text would not change are left alone; headers of messages that are gone are removed.\n"
    "All faults are reported at once, as `file:line: what and why`; then nothing is written and the exit code is 1.\n";

struct gen {
    struct nm_arena arena;
    struct nm_defs set;
    struct nm_err err;
    const char *out;
    char text[NM_DEF_TEXT + 1]; /* of the file being read; one byte more than is allowed, so that too much is seen */
};

/* reading */

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int read_whole(struct gen *g, const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    *size = file ? fread(g->text, 1, sizeof g->text, file) : 0;
    bool ok = file && !ferror(file);
    if (!ok) nm_fail(&g->err, "%s: %s", path, strerror(errno));
    if (file) fclose(file);
    return ok ? 0 : -1;
}

static void add_file(struct gen *g, const char *folder, const char *package, const char *name)
{
    static const struct {
        const char *suffix;
        enum nm_interface kind;
    } kinds[] = {{".msg", NM_MSG}, {".srv", NM_SRV}, {".action", NM_ACTION}};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t suffix = strlen(kinds[i].suffix), size;
        if (len <= suffix || strcmp(name + len - suffix, kinds[i].suffix)) continue;
        const char *path = nm_take_format(&g->arena, "%s/%s/%s", folder, package, name);
        if (read_whole(g, path, &size)) return;
        struct nm_def_source source = {.file = path,
                                       .package = package,
                                       .kind = kinds[i].kind,
                                       .text = g->text,
                                       .size = size,
                                       .name = nm_take_format(&g->arena, "%.*s", (int)(len - suffix), name)};
        nm_defs_add(&g->set, &source, &g->err);
    }
}

static void add_package(struct gen *g, const char *folder, const char *package)
{
    struct dirent **entries;
    int n = scandir(nm_take_format(&g->arena, "%s/%s", folder, package), &entries, visible, alphasort);
    for (int i = 0; i < n; i++) {
        add_file(g, folder, package, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

static void add_folder(struct gen *g, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, visible, alphasort);
    if (n < 0) nm_fail(&g->err, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        add_package(g, folder, entries[i]->d_name); /* what is no folder has no entries */
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* units: the definitions by file */

static int by_file(const void *a, const void *b)
{
    const struct nm_def *x = *(struct nm_def *const *)a, *y = *(struct nm_def *const *)b;
    int order = strcmp(x->package, y->package);
    if (!order) order = strcmp(x->stem, y->stem);
    if (!order && x->depth != y->depth) order = x->depth < y->depth ? -1 : 1; /* inner ones first */
    return order ? order : strcmp(x->name, y->name);
}

static bool same_unit(const struct unit *unit, const struct nm_def *def)
{
    return !strcmp(unit->package, def->package) && !strcmp(unit->stem, def->stem);
}

static struct unit *make_units(struct gen *g, uint32_t *n)
{
    struct nm_def **sorted = nm_take_n(&g->arena, struct nm_def *, g->set.n);
    struct unit *units = nm_take_n(&g->arena, struct unit, g->set.n);
    memcpy(sorted, g->set.at, g->set.n * sizeof *sorted);
    qsort(sorted, g->set.n, sizeof *sorted, by_file);
    *n = 0;
    for (uint32_t i = 0; i < g->set.n; i++) {
        struct nm_def *def = sorted[i];
        if (!*n || !same_unit(&units[*n - 1], def))
            units[(*n)++] = (struct unit){.package = def->package, .stem = def->stem, .at = &sorted[i]};
        struct unit *unit = &units[*n - 1];
        unit->n++;
        if (strcmp(unit->at[0]->file, def->file))
            nm_fail(&g->err, "%s:1: %s already gives the header %s/%s.h; call one of them otherwise", def->file,
                    unit->at[0]->file, def->package, def->stem);
    }
    return units;
}

/* writing */

struct text {
    FILE *stream;
    char *at;
    size_t n;
};

static void text_open(struct text *text) { text->stream = nm_memstream(&text->at, &text->n); }

static bool is_same(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char *old = malloc(text->n + 1);
    bool same = old && fread(old, 1, text->n + 1, file) == text->n && !memcmp(old, text->at, text->n);
    free(old);
    fclose(file);
    return same;
}

static void text_close(struct gen *g, struct text *text, const char *path)
{
    fclose(text->stream);
    if (!is_same(path, text)) {
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(text->at, 1, text->n, file) != text->n || fclose(file))
            nm_fail(&g->err, "%s: %s", path, strerror(errno));
    }
    free(text->at);
}

static void make_folder(struct gen *g, const char *path)
{
    if (mkdir(path, 0777) && errno != EEXIST) nm_fail(&g->err, "%s: %s", path, strerror(errno));
}

/* Removes the headers of interface files that are gone, so that code which still includes one does not compile. */
static void remove_old(struct gen *g, const char *folder, const struct unit *units, uint32_t n)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, visible, alphasort);
    for (int i = 0; i < found; i++) {
        char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        bool wanted = !dot || strcmp(dot, ".h");
        for (uint32_t k = 0; k < n && !wanted; k++)
            wanted =
                strlen(units[k].stem) == (size_t)(dot - name) && !strncmp(units[k].stem, name, (size_t)(dot - name));
        if (!wanted) unlink(nm_take_format(&g->arena, "%s/%s", folder, name));
        free(entries[i]);
    }
    if (found >= 0) free(entries);
}

static void write_package(struct gen *g, const struct unit *units, uint32_t n)
{
    struct text text;
    const char *folder = nm_take_format(&g->arena, "%s/%s", g->out, units->package);
    make_folder(g, folder);
    for (uint32_t i = 0; i < n; i++) {
        text_open(&text);
        emit_header(text.stream, &units[i]);
        text_close(g, &text, nm_take_format(&g->arena, "%s/%s.h", folder, units[i].stem));
    }
    remove_old(g, folder, units, n);
    text_open(&text);
    emit_tables(text.stream, units, n);
    text_close(g, &text, nm_take_format(&g->arena, "%s/%s.c", g->out, units->package));
}

static void write_all(struct gen *g, const struct unit *units, uint32_t n)
{
    struct text text;
    make_folder(g, g->out);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(units[end].package, units[i].package);) end++;
        write_package(g, units + i, end - i);
    }
    text_open(&text);
    emit_all_types(text.stream, &g->set);
    text_close(g, &text, nm_take_format(&g->arena, "%s/all_types.c", g->out));
}

static int generate(struct gen *g, const char *folder)
{
    uint32_t n = 0;
    struct unit *units = NULL;
    add_folder(g, folder);
    if (!g->err.n && !g->set.n) nm_fail(&g->err, "%s: no <package>/<Type>.msg here", folder);
    if (!nm_defs_link(&g->set, &g->err) && g->set.n) units = make_units(g, &n);
    for (uint32_t i = 0; i < g->set.n && !g->err.n; i++) nm_def_type(&g->set, g->set.at[i], &g->err);
    if (!g->err.n) write_all(g, units, n);
    if (g->err.n) fprintf(stderr, "%snmgen: %u faults\n", g->err.text, g->err.n);
    return g->err.n ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--help")) return fputs(help, stdout) < 0;
    if (argc != 4 || strcmp(argv[1], "--out")) {
        fputs(help, stderr);
        return 2;
    }
    struct gen *g = calloc(1, sizeof *g);
    if (!g) return 1;
    g->set.arena = &g->arena;
    g->out = argv[2];
    int result = generate(g, argv[3]);
    nm_arena_free(&g->arena);
    free(g);
    return result;
}

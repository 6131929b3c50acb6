/* <package>/<Type>.h: the structs and constants of one interface file, with its comments. */
#include "gen/emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

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

const char *nm_member_name(const struct nm_def_field *field, char room[NM_DEF_NAME + 2])
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

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
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
    case NM_STRING: put_text(out, constant->value.text); break;
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
    const char *name = nm_member_name(field, room);
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

static bool same_file(const struct nm_def *a, const struct nm_unit *b)
{
    return !strcmp(a->package, b->package) && !strcmp(a->stem, b->stem);
}

/* Headers of the types used, each once. */
static void put_includes(FILE *out, const struct nm_unit *unit)
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

void nm_emit_header(FILE *out, const struct nm_unit *unit)
{
    char guard[2 * NM_DEF_NAME + 8];
    snprintf(guard, sizeof guard, "NM_%s_%s_H", unit->package, unit->stem);
    for (char *at = guard; *at; at++) *at = (char)toupper((unsigned char)*at);
    fprintf(out, "/* Made by nmgen from %s/%s; change that file instead. */\n", unit->package,
            strrchr(unit->at[0]->file, '/') + 1);
    fprintf(out, "#ifndef %s\n#define %s\n\n#include \"base/type.h\"\n", guard, guard);
    put_includes(out, unit);
    fputc('\n', out);
    for (uint32_t i = 0; i < unit->n; i++) put_struct(out, unit->at[i]);
    fputs("#endif\n", out);
}

/* Texts to definitions: a message, the parts of a service or action, the sections of merged text. */
#include "codec/msgdef_parts.h"

#include <string.h>

struct nm_def *nm_defs_new(struct nm_defs *set, const char *package, const char *kind, const char *stem,
                           const char *suffix, const struct nm_spot *spot)
{
    if (set->n >= NM_DEF_TYPES) {
        nm_spot_fail(spot, "more than %d types in one set", NM_DEF_TYPES);
        return NULL;
    }
    struct nm_def *def = nm_take_n(set->arena, struct nm_def, 1);
    *def = (struct nm_def){.name = nm_take_format(set->arena, "%s/%s/%s%s", package, kind, stem, suffix),
                           .package = package,
                           .stem = stem,
                           .file = spot->file,
                           .line = spot->line,
                           .comment = ""};
    set->at = nm_grow(set->arena, set->at, set->n, &set->room, sizeof *set->at);
    return set->at[set->n++] = def;
}

struct nm_def_field *nm_def_add_field(struct nm_defs *set, struct nm_def *def, uint32_t *room)
{
    def->fields = nm_grow(set->arena, def->fields, def->n_fields, room, sizeof *def->fields);
    struct nm_def_field *field = &def->fields[def->n_fields++];
    *field = (struct nm_def_field){.cap = 1, .above = "", .comment = ""};
    return field;
}

static int check_text(const char *text, size_t size, const struct nm_spot *spot)
{
    if (size > NM_DEF_TEXT) return nm_spot_fail(spot, "%zu bytes; a definition has at most %d", size, NM_DEF_TEXT);
    if (size && memchr(text, '\0', size)) return nm_spot_fail(spot, "a zero byte: this is no text");
    return 0;
}

static const char *const kind_names[] = {[NM_MSG] = "msg", [NM_SRV] = "srv", [NM_ACTION] = "action"};
static const struct {
    uint32_t n;
    const char *suffix[3], *layout;
} parts[] = {
    [NM_MSG] = {1, {""}, "a message has no line '---'"},
    [NM_SRV] = {2, {"_Request", "_Response"}, "a service is a request, a line '---' and a response"},
    [NM_ACTION] = {3,
                   {"_Goal", "_Result", "_Feedback"},
                   "an action is a goal, a result and a feedback with a line '---' between"},
};

static bool is_separator(struct nm_slice line) { return nm_slice_is(nm_slice_trim(line), "---"); }

static int add_file(struct nm_defs *set, const struct nm_def_source *source, struct nm_err *err)
{
    struct nm_spot spot = {nm_take_text(set->arena, source->file), 1, err};
    struct nm_def_source kept = *source;
    struct nm_slice package = {source->package, strlen(source->package)}, name = {source->name, strlen(source->name)};
    if (check_text(source->text, source->size, &spot)) return -1;
    if (!nm_word_ok(NM_WORD_PACKAGE, package))
        return nm_spot_fail(&spot, "package name '%s': names are lower_case words joined by single underscores",
                            source->package);
    if (!nm_word_ok(NM_WORD_TYPE, name) || memchr(name.at, '_', name.n))
        return nm_spot_fail(&spot, "type name '%s': names are CamelCase without underscores", source->name);
    kept.package = nm_slice_text(set->arena, package);
    kept.name = nm_slice_text(set->arena, name);

    struct nm_slice rest = {source->text, source->size};
    uint32_t n = parts[source->kind].n, line = 1;
    int result = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct nm_slice part = {rest.at, 0};
        spot.line = line;
        bool closed = false;
        while (rest.n && !closed) {
            closed = is_separator(nm_next_line(&rest));
            if (!closed) part.n = (size_t)(rest.at - part.at);
            line++;
        }
        if (closed != (i + 1 < n)) {
            spot.line = line > 1 ? line - 1 : 1; /* the line read last */
            return nm_spot_fail(&spot, "%s", parts[source->kind].layout);
        }
        struct nm_def *def =
            nm_defs_new(set, kept.package, kind_names[source->kind], kept.name, parts[source->kind].suffix[i], &spot);
        if (!def) return -1;
        if (nm_def_read(set, def, part, false, spot)) result = -1;
    }
    spot.line = 1;
    if (source->kind != NM_MSG && nm_defs_derive(set, &kept, &spot)) return -1;
    return result;
}

int nm_defs_add(struct nm_defs *set, const struct nm_def_source *source, struct nm_err *err)
{
    if (!add_file(set, source, err)) return 0;
    set->broken = true;
    return -1;
}

/* a line of '=' only */
static bool is_border(struct nm_slice line)
{
    line = nm_slice_trim(line);
    for (size_t i = 0; i < line.n; i++)
        if (line.at[i] != '=') return false;
    return line.n >= 2;
}

/* `MSG: package/Type` */
static const char *section_name(struct nm_defs *set, struct nm_slice line, const struct nm_spot *spot)
{
    line = nm_slice_trim(line);
    const char *name = NULL;
    if (line.n > 4 && !memcmp(line.at, "MSG:", 4)) {
        struct nm_slice written = nm_slice_trim(nm_slice_from(line, line.at + 4));
        if (memchr(written.at, '/', written.n)) name = nm_def_full_name(set->arena, "", written);
    }
    if (!name)
        nm_spot_fail(spot, "expected `MSG: package/Type` behind a line of '=', found '%.*s'", (int)line.n, line.at);
    return name;
}

static struct nm_def *new_named(struct nm_defs *set, const char *name, const struct nm_spot *spot)
{
    const char *slash = strchr(name, '/'), *second = strchr(slash + 1, '/');
    char *package = nm_slice_text(set->arena, (struct nm_slice){name, (size_t)(slash - name)});
    char *kind = nm_slice_text(set->arena, (struct nm_slice){slash + 1, (size_t)(second - slash - 1)});
    return nm_defs_new(set, package, kind, nm_take_text(set->arena, second + 1), "", spot);
}

static int add_merged(struct nm_defs *set, const char *file, const char *name, const char *text, size_t size,
                      struct nm_err *err)
{
    struct nm_spot spot = {nm_take_text(set->arena, file), 1, err};
    if (check_text(text, size, &spot)) return -1;
    struct nm_slice rest = {text, size}, written = {name, strlen(name)};
    name = strchr(name, '/') ? nm_def_full_name(set->arena, "", written) : NULL;
    if (!name) return nm_spot_fail(&spot, "'%.*s' is no type; write package/Type", (int)written.n, written.at);

    uint32_t line = 1;
    int result = 0;
    while (name) {
        struct nm_slice part = {rest.at, 0};
        const char *next = NULL;
        bool closed = false;
        spot.line = line;
        while (rest.n && !closed) {
            closed = is_border(nm_next_line(&rest));
            if (!closed) part.n = (size_t)(rest.at - part.at);
            line++;
        }
        struct nm_def *def = new_named(set, name, &spot);
        if (!def) return -1;
        if (nm_def_read(set, def, part, true, spot)) result = -1;
        if (closed) {
            spot.line = line++;
            if (!(next = section_name(set, nm_next_line(&rest), &spot))) return -1;
        }
        name = next;
    }
    return result;
}

int nm_defs_add_merged(struct nm_defs *set, const char *file, const char *name, const char *text, size_t size,
                       struct nm_err *err)
{
    if (!add_merged(set, file, name, text, size, err)) return 0;
    set->broken = true;
    return -1;
}

/* Binds the definitions of a set to each other: finds the types that fields name, refuses loops, gives C names. */
#include "codec/msgdef_parts.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct nm_def *const *)a)->name, (*(struct nm_def *const *)b)->name);
}

static int name_is(const void *name, const void *def) { return strcmp(name, (*(struct nm_def *const *)def)->name); }

static struct nm_def *find(const struct nm_defs *set, const char *name)
{
    struct nm_def **found = set->n ? bsearch(name, set->at, set->n, sizeof *set->at, name_is) : NULL;
    return found ? *found : NULL;
}

struct nm_def *nm_defs_find(const struct nm_defs *set, const char *name)
{
    char full[3 * NM_DEF_NAME];
    struct nm_def *def = find(set, name);
    const char *slash = strchr(name, '/');
    size_t package = slash ? (size_t)(slash - name) : 0;
    if (def || !slash || strchr(slash + 1, '/') || strlen(name) + 5 > sizeof full) return def;
    memcpy(full, name, package);
    memcpy(full + package, "/msg", 4);
    strcpy(full + package + 4, slash);
    return find(set, full);
}

/* The name in the set nearest to `word`, but only for the first faults: hostile text has many. */
static const char *nearest(const struct nm_defs *set, const char *word, const struct nm_err *err)
{
    enum { FIRST = 8 };
    if (!err || err->n > FIRST) return NULL;
    const char **names = nm_take_n(set->arena, const char *, set->n);
    for (uint32_t i = 0; i < set->n; i++) names[i] = set->at[i]->name;
    return nm_nearest(word, names, set->n);
}

static int find_types(const struct nm_defs *set, struct nm_def *def, struct nm_err *err)
{
    int result = 0;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def_field *field = &def->fields[i];
        if (!field->type || (field->def = find(set, field->type))) continue;
        struct nm_spot spot = {def->file, field->line, err};
        const char *near = nearest(set, field->type, err);
        result = nm_spot_fail(&spot, "type %s of field %s is unknown%s%s%s", field->type, field->name,
                              near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return result;
}

enum { UNSEEN = 0, OPEN = UINT16_MAX };

/* Longest chain of nested definitions from here; a chain that comes back to an open one is a loop. */
static int measure_depth(struct nm_def *def, uint32_t level, struct nm_err *err)
{
    if (def->depth != UNSEEN) return 0;
    struct nm_spot spot = {def->file, def->line, err};
    if (level > NM_DEF_DEPTH) return nm_spot_fail(&spot, "%s: types nested deeper than %d", def->name, NM_DEF_DEPTH);
    uint32_t deepest = 0;
    def->depth = OPEN;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def *inner = def->fields[i].def;
        if (!inner) continue;
        spot.line = def->fields[i].line;
        if (inner->depth == OPEN)
            return nm_spot_fail(&spot, "%s contains itself through field %s", inner->name, def->fields[i].name);
        if (measure_depth(inner, level + 1, err)) return -1;
        if (inner->depth > deepest) deepest = inner->depth;
    }
    if (deepest >= NM_DEF_DEPTH) return nm_spot_fail(&spot, "%s: types nested deeper than %d", def->name, NM_DEF_DEPTH);
    def->depth = deepest + 1;
    return 0;
}

/* One name in C for each type: its own, with its package where another file of the set is called the same. */
static void name_in_c(struct nm_defs *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        struct nm_def *def = set->at[i];
        const char *own = strrchr(def->name, '/') + 1;
        bool shared = false;
        for (uint32_t k = 0; k < set->n && !shared; k++)
            shared = !strcmp(def->stem, set->at[k]->stem) && strcmp(def->package, set->at[k]->package);
        def->c_name = shared ? nm_take_format(set->arena, "%s_%s", def->package, own) : own;
    }
}

int nm_defs_link(struct nm_defs *set, struct nm_err *err)
{
    int result = 0;
    if (set->n) qsort(set->at, set->n, sizeof *set->at, by_name);
    for (uint32_t i = 1; i < set->n; i++) {
        struct nm_spot spot = {set->at[i]->file, set->at[i]->line, err};
        if (!strcmp(set->at[i - 1]->name, set->at[i]->name))
            result = nm_spot_fail(&spot, "%s is defined twice; also at %s:%u", set->at[i]->name, set->at[i - 1]->file,
                                  set->at[i - 1]->line);
    }
    for (uint32_t i = 0; i < set->n; i++)
        if (find_types(set, set->at[i], err)) result = -1;
    for (uint32_t i = 0; i < set->n && !result; i++) result = measure_depth(set->at[i], 1, err);
    if (result || set->broken) return -1;
    name_in_c(set);
    return 0;
}

static void collect(const struct nm_defs *set, const struct nm_def *def, bool *seen)
{
    for (uint32_t i = 0; i < def->n_fields; i++) {
        struct nm_def *inner = def->fields[i].def;
        if (!inner) continue;
        struct nm_def **at = bsearch(inner->name, set->at, set->n, sizeof *set->at, name_is);
        if (seen[at - set->at]) continue;
        seen[at - set->at] = true;
        collect(set, inner, seen);
    }
}

struct nm_def **nm_def_needs(const struct nm_defs *set, const struct nm_def *def, uint32_t *n)
{
    bool *seen = nm_take_n(set->arena, bool, set->n);
    collect(set, def, seen);
    *n = 0;
    for (uint32_t i = 0; i < set->n; i++) *n += seen[i];
    struct nm_def **needs = nm_take_n(set->arena, struct nm_def *, *n), **to = needs;
    for (uint32_t i = 0; i < set->n; i++)
        if (seen[i]) *to++ = set->at[i];
    return needs;
}

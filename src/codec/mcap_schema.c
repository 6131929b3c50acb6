#include "codec/mcap_schema.h"

#include <string.h>

static bool has(const struct nm_defs *set, const char *name)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (!strcmp(set->at[i]->name, name)) return true;
    return false;
}

/* Viewers know these two types by heart, so some writers leave them out. */
static int add_known(struct nm_defs *set, struct nm_err *err)
{
    static const char *const known[][2] = {{"Time", "int32 sec\nuint32 nanosec\n"},
                                           {"Duration", "int32 sec\nuint32 nanosec\n"}};
    for (int i = 0; i < 2; i++) {
        const char *name = nm_take_format(set->arena, "builtin_interfaces/msg/%s", known[i][0]);
        struct nm_def_source source = {"known type", "builtin_interfaces", known[i][0],
                                       NM_MSG,       known[i][1],          strlen(known[i][1])};
        if (!has(set, name) && nm_defs_add(set, &source, err)) return -1;
    }
    return 0;
}

struct nm_def *nm_mcap_def(struct nm_arena *arena, const struct nm_mcap_schema *schema, struct nm_err *err)
{
    struct nm_defs *set = nm_take_n(arena, struct nm_defs, 1);
    char name[3 * NM_DEF_NAME], encoding[40];
    set->arena = arena;
    nm_mcap_clean(name, sizeof name, schema->name);
    if (!nm_bytes_are(schema->encoding, "ros2msg")) {
        nm_fail(err, "the schema of %s is written as '%s'; we read ros2msg", name,
                nm_mcap_clean(encoding, sizeof encoding, schema->encoding));
        return NULL;
    }
    if (nm_defs_add_merged(set, name, name, (const char *)schema->data.at, schema->data.n, err) ||
        add_known(set, err) || nm_defs_link(set, err))
        return NULL;
    struct nm_def *def = nm_defs_find(set, name);
    if (!def) nm_fail(err, "the schema of %s does not define it", name);
    return def;
}

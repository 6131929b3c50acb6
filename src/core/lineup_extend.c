/* Puts line-ups together as trees of YAML, before anybody asks what modules there are: every later check sees one
 * line-up and still knows in which file each word stands. */
#include "core/lineup_extend.h"

#include <string.h>

#include "core/files.h"
#include "core/registry.h"

enum { DEPTH_MAX = 8 };

struct extending {
    struct nm_arena *arena;
    struct nm_err *err;
    bool foreign;
    int rc;
    uint32_t depth;
    const char *chain[DEPTH_MAX]; /* files that are being read */
};

/* ---- trees ---- */

struct branch { /* a node that grows */
    struct nm_yaml *node, *last;
};

static struct branch branch_like(struct extending *e, const struct nm_yaml *model, enum nm_yaml_kind kind)
{
    struct nm_yaml *node = nm_take_n(e->arena, struct nm_yaml, 1);
    *node = *model;
    node->kind = kind;
    node->text = "";
    node->n = 0;
    node->first = NULL;
    return (struct branch){node, NULL};
}

static struct nm_yaml *branch_add(struct extending *e, struct branch *to, const struct nm_yaml *child, const char *key)
{
    struct nm_yaml *copy = nm_take_n(e->arena, struct nm_yaml, 1);
    *copy = *child;
    copy->key = key;
    copy->next = NULL;
    if (to->last)
        to->last->next = copy;
    else
        to->node->first = copy;
    to->last = copy;
    to->node->n++;
    return copy;
}

/* The keys of both; where both have one, `over` wins, and for maps `levels` deeper both are merged. */
static const struct nm_yaml *merge_maps(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over,
                                        int levels)
{
    if (base->kind != NM_YAML_MAP || over->kind != NM_YAML_MAP) return over;
    struct branch all = branch_like(e, over, NM_YAML_MAP);
    nm_yaml_each(child, base)
    {
        const struct nm_yaml *other = nm_yaml_get(over, child->key);
        if (other && levels) other = merge_maps(e, child, other, levels - 1);
        branch_add(e, &all, other ? other : child, child->key);
    }
    nm_yaml_each(child, over) if (!nm_yaml_get(base, child->key)) branch_add(e, &all, child, child->key);
    return all.node;
}

static const struct nm_yaml *join_lists(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over)
{
    if (!base || !over || base->kind != NM_YAML_LIST || over->kind != NM_YAML_LIST) return over ? over : base;
    struct branch all = branch_like(e, over, NM_YAML_LIST);
    nm_yaml_each(item, base) branch_add(e, &all, item, NULL);
    nm_yaml_each(item, over) branch_add(e, &all, item, NULL);
    return all.node;
}

/* ---- instances ---- */

/* The name of an item under `modules:`, "" if it is malformed, which is reported later. */
static const char *item_name(const struct nm_yaml *item)
{
    const struct nm_yaml *name = nm_yaml_get(item, "name");
    if (!name) name = nm_yaml_get(item, "module");
    return name ? name->text : item->text;
}

static const struct nm_yaml *find_item(const struct nm_yaml *cycle, const char *name)
{
    nm_yaml_each(item, nm_yaml_get(cycle, "modules")) if (*name && !strcmp(item_name(item), name)) return item;
    return NULL;
}

static const struct nm_yaml *find_anywhere(const struct nm_yaml *lineup, const char *name)
{
    nm_yaml_each(cycle, nm_yaml_get(lineup, "cycles"))
    {
        const struct nm_yaml *item = find_item(cycle, name);
        if (item) return item;
    }
    return NULL;
}

static const struct nm_yaml *merge_item(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over)
{
    if (!base || over->kind == NM_YAML_SCALAR) return base ? base : over;
    if (base->kind == NM_YAML_MAP) return merge_maps(e, base, over, 1);
    return over; /* the base is a module's name, which `over` repeats */
}

/* ---- cycles ---- */

static bool is_removed(const struct nm_yaml *over, const char *name)
{
    nm_yaml_each(item, nm_yaml_get(over, "remove")) if (!strcmp(item->text, name)) return true;
    return false;
}

/* The settings of a cycle; a new rhythm replaces the old one whole. */
static struct branch merge_settings(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over)
{
    struct branch cycle = branch_like(e, over ? over : base, NM_YAML_MAP);
    bool rhythm = nm_yaml_get(over, "period") || nm_yaml_get(over, "trigger");
    nm_yaml_each(child, base)
    {
        bool old = !strcmp(child->key, "period") || !strcmp(child->key, "trigger") || !strcmp(child->key, "timeout");
        if (strcmp(child->key, "modules") && !(old && rhythm) && !nm_yaml_get(over, child->key))
            branch_add(e, &cycle, child, child->key);
    }
    nm_yaml_each(child, over) if (strcmp(child->key, "modules")) branch_add(e, &cycle, child, child->key);
    return cycle;
}

static bool is_cycle(const struct nm_yaml *node)
{
    const struct nm_yaml *modules = nm_yaml_get(node, "modules");
    return modules && modules->kind == NM_YAML_LIST;
}

/* A cycle that one of the two line-ups has, or both; `base` and `over` are the whole line-ups. */
static void merge_cycle(struct extending *e, struct branch *cycles, const char *key, const struct nm_yaml *base,
                        const struct nm_yaml *over)
{
    const struct nm_yaml *old = nm_yaml_get(nm_yaml_get(base, "cycles"), key);
    const struct nm_yaml *new = nm_yaml_get(nm_yaml_get(over, "cycles"), key);
    const struct nm_yaml *list = nm_yaml_get(new, "modules");
    bool settings = old && new &&new->kind == NM_YAML_MAP && !list;
    if ((old && !is_cycle(old)) || (new && !settings && !is_cycle(new))) {
        branch_add(e, cycles, new ? new : old, key); /* a fault that is reported later */
        return;
    }
    struct branch cycle = merge_settings(e, old, new);
    struct branch modules = branch_like(e, list ? list : nm_yaml_get(old, "modules"), NM_YAML_LIST);
    nm_yaml_each(item, nm_yaml_get(old, "modules"))
    {
        const char *name = item_name(item);
        const struct nm_yaml *here = find_item(new, name);
        if (is_removed(over, name) || (!here && find_anywhere(over, name))) continue;
        branch_add(e, &modules, here ? merge_item(e, item, here) : item, NULL);
    }
    nm_yaml_each(item, list)
    {
        const char *name = item_name(item);
        bool removed = is_removed(over, name);
        if (removed || !find_item(old, name))
            branch_add(e, &modules, merge_item(e, removed ? NULL : find_anywhere(base, name), item), NULL);
    }
    if (old && !modules.node->n) return;
    branch_add(e, &cycle, modules.node, "modules");
    branch_add(e, cycles, cycle.node, key);
}

static void check_removed(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over)
{
    enum { NAMES = 1024 };
    const struct nm_yaml *list = nm_yaml_get(over, "remove");
    const char *names[NAMES];
    uint32_t n = 0;
    if (list && list->kind != NM_YAML_LIST)
        e->rc = nm_yaml_fail(list, e->err, "remove: a list of instances is needed here");
    nm_yaml_each(cycle, nm_yaml_get(base, "cycles")) nm_yaml_each(item, nm_yaml_get(cycle, "modules"))
    {
        if (n < NAMES) names[n++] = item_name(item);
    }
    nm_yaml_each(item, list) if (!find_anywhere(base, item->text)) e->rc =
        nm_yaml_fail(item, e->err, "remove: the extended line-up has no instance '%.80s'%s", item->text,
                     nm_hint(item->text, names, n).text);
}

static const struct nm_yaml *merge(struct extending *e, const struct nm_yaml *base, const struct nm_yaml *over)
{
    static const char *const lists[] = {"plugins", "remote"};
    const struct nm_yaml *robot = nm_yaml_get(over, "robot"), *before = nm_yaml_get(base, "cycles");
    const struct nm_yaml *after = nm_yaml_get(over, "cycles");
    struct branch all = branch_like(e, over, NM_YAML_MAP);
    check_removed(e, base, over);
    if (!robot) robot = nm_yaml_get(base, "robot");
    if (robot) branch_add(e, &all, robot, "robot");
    for (uint32_t i = 0; i < 2; i++) {
        const struct nm_yaml *joined = join_lists(e, nm_yaml_get(base, lists[i]), nm_yaml_get(over, lists[i]));
        if (joined) branch_add(e, &all, joined, lists[i]);
    }
    if ((after && after->kind != NM_YAML_MAP) || !before || before->kind != NM_YAML_MAP) {
        if (after || before) branch_add(e, &all, after ? after : before, "cycles");
        return all.node;
    }
    struct branch cycles = branch_like(e, after ? after : before, NM_YAML_MAP);
    nm_yaml_each(cycle, before) merge_cycle(e, &cycles, cycle->key, base, over);
    nm_yaml_each(cycle, after) if (!nm_yaml_get(before, cycle->key)) merge_cycle(e, &cycles, cycle->key, base, over);
    branch_add(e, &all, cycles.node, "cycles");
    return all.node;
}

/* ---- files ---- */

static const struct nm_yaml *whole(struct extending *e, const struct nm_yaml *file);

static const struct nm_yaml *read_base(struct extending *e, const struct nm_yaml *item)
{
    const char *folder = nm_folder_of(e->arena, item->file), *name, *path;
    if (nm_yaml_text(item, &name, e->err)) return NULL;
    path = nm_path(e->arena, folder, strchr(name, '/') ? name : nm_take_format(e->arena, "%s.yaml", name));
    for (uint32_t i = 0; i < e->depth; i++)
        if (!strcmp(e->chain[i], path)) {
            nm_yaml_fail(item, e->err, "this line-up would extend itself through '%.80s'", name);
            return NULL;
        }
    if (e->foreign || e->depth == DEPTH_MAX) {
        nm_yaml_fail(item, e->err, "extends: %s",
                     e->foreign ? "a line-up from a log opens no other file" : "too many line-ups extend each other");
        return NULL;
    }
    if (!nm_file_exists(path)) {
        uint32_t n;
        const char *const *names = nm_files_in(e->arena, folder, ".yaml", &n);
        nm_yaml_fail(item, e->err, "there is no line-up '%.80s' to extend (%.200s)%s", name, path,
                     nm_hint(name, names, n).text);
        return NULL;
    }
    const struct nm_yaml *file = nm_yaml_read(e->arena, path, e->err);
    return file ? whole(e, file) : NULL;
}

static const struct nm_yaml *whole(struct extending *e, const struct nm_yaml *file)
{
    static const char *const keys[] = {"robot", "plugins", "cycles", "remote", "extends", "remove"};
    const struct nm_yaml *bases = nm_yaml_get(file, "extends"), *remove = nm_yaml_get(file, "remove"), *all = NULL;
    if (nm_yaml_keys(file, keys, sizeof keys / sizeof keys[0], e->err)) e->rc = -1;
    if (!bases) {
        if (remove) e->rc = nm_yaml_fail(remove, e->err, "remove: works only together with extends:");
        return file;
    }
    e->chain[e->depth++] = file->file;
    uint32_t n = bases->kind == NM_YAML_LIST ? bases->n : 1;
    const struct nm_yaml *item = bases->kind == NM_YAML_LIST ? bases->first : bases;
    for (uint32_t i = 0; i < n; i++, item = item->next) {
        const struct nm_yaml *base = read_base(e, item);
        if (!base) return NULL;
        all = all ? merge(e, all, base) : base;
    }
    e->depth--;
    return all ? merge(e, all, file) : file;
}

const char *nm_lineup_joined(struct nm_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".yaml");
    if (!end || end[5] || !memchr(name, ':', (size_t)(end - name))) return NULL;
    char *names = nm_take_format(arena, "%.*s", (int)(end - name), name);
    for (char *at = names; (at = strchr(at, ':'));) *at = ',';
    return nm_take_format(arena, "extends: [%s]\n", names);
}

const struct nm_yaml *nm_lineup_extended(struct nm_arena *arena, const struct nm_yaml *file, bool foreign, int *rc,
                                         struct nm_err *err)
{
    struct extending e = {.arena = arena, .err = err, .foreign = foreign};
    const struct nm_yaml *all = whole(&e, file);
    *rc = all ? e.rc : -1;
    return all;
}

/* Reads and saves the layers of parameters. Every layer has a stem, which is a path without a suffix: people write
 * STEM.yaml, and `nutmeg param save` writes STEM.saved.yaml. For the default layer STEM/ is a folder. */
#include "core/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/text.h"
#include "core/files.h"

struct reading {
    struct nm_lineup *lineup;
    const struct nm_registry *registry;
    const struct nm_lineup_options *options;
    struct nm_err *err;
    int rc;
};

/* ---- where the files are ---- */

/* The layers that are one chosen file among others: folder, and who chooses. */
static const struct choice {
    enum nm_layer layer;
    const char *word; /* in sentences and on the command line */
    const char *folder;
    bool robot; /* below the robot's folder, config/ otherwise */
    size_t name;
} choices[] = {
    {NM_LAYER_HEAD, "head", "heads", true, offsetof(struct nm_lineup_options, head)},
    {NM_LAYER_BODY, "body", "bodies", true, offsetof(struct nm_lineup_options, body)},
    {NM_LAYER_PLACE, "place", "places", false, offsetof(struct nm_lineup_options, place)},
    {NM_LAYER_EVENT, "event", "events", false, offsetof(struct nm_lineup_options, event)},
};

static const struct choice *choice_of(enum nm_layer layer)
{
    for (uint32_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].layer == layer) return &choices[i];
    return NULL;
}

static const char *chosen_name(const struct choice *choice, const struct nm_lineup_options *options)
{
    return *(const char *const *)((const char *)options + choice->name);
}

/* A name that is one file in its folder: nothing that leads elsewhere. */
static bool file_name_ok(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return *name && !name[strspn(name, letters)];
}

static const char *choice_folder(struct nm_arena *arena, const struct nm_lineup *lineup,
                                 const struct nm_lineup_options *options, const struct choice *choice)
{
    if (choice->robot) return nm_path(arena, lineup->robot_folder, choice->folder);
    return nm_path(arena, nm_path(arena, options->root, "config"), choice->folder);
}

/* The path without suffix; NULL if the layer is not in use. */
static const char *stem_of(struct nm_arena *arena, const struct nm_lineup *lineup,
                           const struct nm_lineup_options *options, enum nm_layer layer)
{
    const struct choice *choice = choice_of(layer);
    if (choice) {
        const char *name = chosen_name(choice, options);
        if (!name || !file_name_ok(name) || (choice->robot && !lineup->robot_folder)) return NULL;
        return nm_path(arena, choice_folder(arena, lineup, options, choice), name);
    }
    if (layer == NM_LAYER_DEFAULT) return nm_path(arena, options->root, "config/default");
    if (layer == NM_LAYER_ROBOT) return lineup->robot_folder ? nm_path(arena, lineup->robot_folder, "params") : NULL;
    if (layer != NM_LAYER_LINEUP) return NULL;
    size_t length = strlen(lineup->file), suffix = strlen(".yaml");
    if (length > suffix && !strcmp(lineup->file + length - suffix, ".yaml")) length -= suffix;
    return nm_take_format(arena, "%.*s", (int)length, lineup->file);
}

const char *nm_layers_saved_file(struct nm_arena *arena, const struct nm_lineup *lineup,
                                 const struct nm_lineup_options *options, enum nm_layer layer, struct nm_err *err)
{
    const struct nm_lineup_options none = {0};
    const char *stem = stem_of(arena, lineup, options ? options : &none, layer);
    if (stem) return nm_take_format(arena, "%s.saved.yaml", stem);
    const struct choice *choice = choice_of(layer);
    if (layer == NM_LAYER_ROBOT || (choice && choice->robot && !lineup->robot_folder))
        nm_fail(err, "layer '%s': the line-up %s has no robot", nm_layer_name(layer), lineup->file);
    else if (choice)
        nm_fail(err, "layer '%s': no %s is chosen; name it with --%s", choice->word, choice->word, choice->word);
    else
        nm_fail(err,
                "layer '%s' has no file to save into; those that have one are default, robot, head, body, place, "
                "event, lineup",
                nm_layer_name(layer));
    return NULL;
}

/* ---- whom an entry addresses ---- */

struct address {
    const struct nm_module *module; /* NULL: nobody */
    uint32_t instance;              /* NM_NONE: all instances of the module */
};

/* A module's name stands for all its instances, except in a line-up's own file. */
static struct address address_of(const struct reading *r, const char *name, bool own)
{
    const struct nm_module *module = own ? NULL : nm_registry_find(r->registry, name);
    if (module) return (struct address){module, NM_NONE};
    uint32_t instance = nm_lineup_instance(r->lineup, name);
    return (struct address){instance == NM_NONE ? NULL : r->lineup->instances[instance].module, instance};
}

/* How many instances took the value. */
static uint32_t give(const struct reading *r, struct address to, int param, const struct nm_value *value)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &r->lineup->instances[i];
        if (to.instance == NM_NONE ? instance->module != to.module : i != to.instance) continue;
        instance->values[param] = *value;
        n++;
    }
    return n;
}

/* Instances, and unless they are all that counts the modules, for "did you mean". */
static struct nm_hint hint_of(const struct reading *r, const char *name, bool own)
{
    enum { NAMES = 2048 };
    const char *names[NAMES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->lineup->n_instances && n < NAMES; i++) names[n++] = r->lineup->instances[i].name;
    for (uint32_t i = 0; i < r->registry->n && n < NAMES && !own; i++) names[n++] = r->registry->at[i]->name;
    return nm_hint(name, names, n);
}

/* ---- one file ---- */

static void read_value(struct reading *r, const struct nm_yaml *node, struct address to, enum nm_layer layer,
                       const char *who)
{
    struct nm_err why = {0};
    struct nm_value value = {.layer = layer};
    int param = nm_param_find(to.module, node->key, &why);
    if (param >= 0 && !nm_value_node(&to.module->params[param], node, &value, &why)) {
        give(r, to, param, &value);
        return;
    }
    const char *name = param < 0 ? "" : who, *colon = param < 0 ? "" : ": ";
    r->rc = nm_yaml_fail(node, r->err, "%s%s%.*s", name, colon, (int)why.used - 1, why.text);
}

static void read_values(struct reading *r, const struct nm_yaml *params, struct address to, enum nm_layer layer,
                        const char *who)
{
    if (params->kind == NM_YAML_SCALAR && !*params->text && !params->quoted) return;
    if (params->kind != NM_YAML_MAP) {
        r->rc = nm_yaml_fail(params, r->err, "%.80s: its parameters must be a map such as {name: value}", who);
        return;
    }
    nm_yaml_each(param, params) read_value(r, param, to, layer, who);
}

/* What is said of a module counts for modules that are like it. Faults are found where that module itself is read. */
static void read_likes(const struct reading *r, const struct nm_yaml *params, const struct nm_module *module,
                       enum nm_layer layer)
{
    if (params->kind != NM_YAML_MAP) return;
    for (uint32_t i = 0; i < r->lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &r->lineup->instances[i];
        if (!instance->module->like || strcmp(instance->module->like, module->name)) continue;
        nm_yaml_each(node, params)
        {
            struct nm_value value = {.layer = layer};
            int param = nm_param_find(instance->module, node->key, NULL);
            if (param < 0 || nm_value_node(&instance->module->params[param], node, &value, NULL)) continue;
            instance->values[param] = value;
        }
    }
}

/* First what is said of modules like another, then of modules, then of instances, so that the more particular wins
 * whatever its place. A line-up's own file knows instances only. */
static void read_file(struct reading *r, const char *path, enum nm_layer layer, bool own)
{
    const struct nm_yaml *file = nm_yaml_read(&r->lineup->arena, path, r->err);
    if (!file || file->kind != NM_YAML_MAP) {
        r->rc = file ? nm_yaml_fail(file, r->err, "modules with their parameters are needed here") : -1;
        return;
    }
    nm_yaml_each(entry, file)
    {
        struct address to = address_of(r, entry->key, own);
        if (to.module && to.instance == NM_NONE) read_likes(r, entry, to.module, layer);
    }
    for (int particular = 0; particular <= 1; particular++) {
        nm_yaml_each(entry, file)
        {
            struct address to = address_of(r, entry->key, own);
            if (to.module && (to.instance != NM_NONE) == particular) read_values(r, entry, to, layer, entry->key);
            if (to.module || particular) continue;
            const char *what = own ? "no instance of this line-up" : "neither a module nor an instance of this line-up";
            r->rc = nm_yaml_fail(entry, r->err, "'%.80s' is %s%s", entry->key, what, hint_of(r, entry->key, own).text);
        }
    }
}

/* ---- the layers ---- */

/* Every .yaml of config/default in the order of names. */
static void read_folder(struct reading *r, const char *folder)
{
    uint32_t n;
    const char *const *names = nm_files_in(&r->lineup->arena, folder, ".yaml", &n);
    for (uint32_t i = 0; i < n; i++)
        read_file(r, nm_take_format(&r->lineup->arena, "%s/%s.yaml", folder, names[i]), NM_LAYER_DEFAULT, false);
}

static void read_choice(struct reading *r, const struct choice *choice)
{
    struct nm_arena *arena = &r->lineup->arena;
    const char *name = chosen_name(choice, r->options);
    if (!name) return;
    if (choice->robot && !r->lineup->robot_folder) {
        /* a robot without a folder has already been reported */
        if (!r->lineup->robot)
            r->rc = nm_fail(r->err, "%s '%.80s': the line-up %s has no robot", choice->word, name, r->lineup->file);
        return;
    }
    const char *folder = choice_folder(arena, r->lineup, r->options, choice);
    const char *path = nm_take_format(arena, "%s/%s.yaml", folder, name);
    if (file_name_ok(name) && nm_file_exists(path)) {
        read_file(r, path, choice->layer, false);
        return;
    }
    const char *names[256];
    uint32_t n = 0, n_all;
    const char *const *all = nm_files_in(arena, folder, ".yaml", &n_all);
    for (uint32_t i = 0; i < n_all && n < 256; i++) /* without saved files */
        if (file_name_ok(all[i])) names[n++] = all[i];
    r->rc = nm_fail(r->err, "%s '%.80s' has no file in %s%s", choice->word, name, folder,
                    n ? nm_hint(name, names, n).text : ", which is empty or missing");
}

static void read_main(struct reading *r, enum nm_layer layer)
{
    const struct choice *choice = choice_of(layer);
    const char *stem = choice ? NULL : stem_of(&r->lineup->arena, r->lineup, r->options, layer);
    if (choice)
        read_choice(r, choice);
    else if (layer == NM_LAYER_DEFAULT)
        read_folder(r, stem);
    else if (stem) {
        const char *path = nm_take_format(&r->lineup->arena, "%s.yaml", stem);
        if (nm_file_exists(path)) read_file(r, path, layer, false);
    }
}

static void read_saved(struct reading *r, enum nm_layer layer)
{
    const char *path = nm_layers_saved_file(&r->lineup->arena, r->lineup, r->options, layer, NULL);
    if (path && nm_file_exists(path)) read_file(r, path, NM_LAYER_SAVED, layer == NM_LAYER_LINEUP);
}

/* "instance.parameter=value" */
static void read_command(struct reading *r, const char *set)
{
    struct nm_arena *arena = &r->lineup->arena;
    const char *dot = strchr(set, '.'), *equal = strchr(set, '=');
    if (!dot || !equal || dot > equal) {
        r->rc = nm_fail(r->err, "--set %.100s: must look like instance.parameter=value", set);
        return;
    }
    const char *name = nm_take_format(arena, "%.*s", (int)(dot - set), set);
    const char *param_name = nm_take_format(arena, "%.*s", (int)(equal - dot - 1), dot + 1);
    struct address to = address_of(r, name, false);
    struct nm_err why = {0};
    struct nm_value value = {.layer = NM_LAYER_COMMAND};
    int param = to.module ? nm_param_find(to.module, param_name, &why) : -1;
    bool ok = param >= 0 && !nm_value_parse(&to.module->params[param], equal + 1, &value, &why);
    if (why.n)
        r->rc = nm_fail(r->err, "--set %.100s: %.*s", set, (int)why.used - 1, why.text);
    else if (!ok || !give(r, to, param, &value))
        r->rc = nm_fail(r->err, "--set %.100s: '%.80s' is no instance of this line-up%s", set, name,
                        hint_of(r, name, true).text);
}

int nm_layers_read(struct nm_lineup *lineup, const struct nm_registry *registry,
                   const struct nm_lineup_options *options, const struct nm_yaml *const *params, struct nm_err *err)
{
    const struct nm_lineup_options none = {0};
    struct reading r = {.lineup = lineup, .registry = registry, .options = options ? options : &none, .err = err};
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        for (uint32_t p = 0; p < lineup->instances[i].n_params; p++)
            nm_value_default(&lineup->instances[i].module->params[p], &lineup->instances[i].values[p]);

    for (enum nm_layer layer = NM_LAYER_DEFAULT; layer <= NM_LAYER_EVENT; layer++) read_main(&r, layer);
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        struct address own = {lineup->instances[i].module, i};
        if (params[i]) read_values(&r, params[i], own, NM_LAYER_LINEUP, lineup->instances[i].name);
    }
    for (enum nm_layer layer = NM_LAYER_DEFAULT; layer <= NM_LAYER_LINEUP; layer++) read_saved(&r, layer);
    for (uint32_t i = 0; i < r.options->n_set; i++) read_command(&r, r.options->set[i]);
    return r.rc;
}

/* ---- saving ----
 * The saved file is read, merged with the new values and written again in sorted order, so that two saves of the same
 * values give the same bytes. Entries that this line-up does not know are kept as they are. */

struct entry {
    const char *name, *param;
    const char *text; /* the value as YAML; NULL: to be left out    */
    uint32_t order;   /* the later of two equal ones counts         */
};

/* Plain where YAML cannot take it for anything else, in double quotes otherwise. */
static void print_scalar(FILE *to, const char *text, bool quoted)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/";
    if (!quoted && !text[strspn(text, plain)])
        fputs(text, to);
    else
        nm_fputs_quoted(text, to);
}

/* What is printed lands in the arena. */
struct printing {
    char *text;
    size_t size;
    FILE *to;
};

static FILE *print_begin(struct printing *p)
{
    *p = (struct printing){0};
    return p->to = open_memstream(&p->text, &p->size);
}

static const char *print_end(struct printing *p, struct nm_arena *arena)
{
    bool ok = p->to && !fclose(p->to);
    const char *text = ok ? nm_take_text(arena, p->text) : NULL;
    free(p->text);
    return text;
}

static const char *node_text(struct nm_arena *arena, const struct nm_yaml *node, struct nm_err *err)
{
    struct printing p;
    bool flat = node->kind != NM_YAML_MAP;
    nm_yaml_each(item, node) flat &= item->kind == NM_YAML_SCALAR;
    if (!flat) {
        nm_yaml_fail(node, err, "%.80s: a saved file holds values and lists of values only", node->key);
        return NULL;
    }
    if (!print_begin(&p)) return NULL;
    if (node->kind == NM_YAML_SCALAR) print_scalar(p.to, node->text, node->quoted);
    if (node->kind == NM_YAML_LIST) fputc('[', p.to);
    nm_yaml_each(item, node)
    {
        print_scalar(p.to, item->text, item->quoted);
        if (item->next) fputs(", ", p.to);
    }
    if (node->kind == NM_YAML_LIST) fputc(']', p.to);
    return print_end(&p, arena);
}

void nm_value_yaml(const struct nm_param *param, const struct nm_value *value, FILE *to)
{
    char text[NM_VALUE_PRINT];
    nm_value_print(param, value, text, sizeof text);
    if (param->kind == NM_PARAM_TEXT)
        print_scalar(to, text, true);
    else
        fputs(text, to);
}

static const char *value_text(struct nm_arena *arena, const struct nm_param *param, const struct nm_value *value)
{
    struct printing p;
    if (!print_begin(&p)) return NULL;
    nm_value_yaml(param, value, p.to);
    return print_end(&p, arena);
}

/* ---- merging ---- */

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (!order) order = strcmp(x->param, y->param);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct merge {
    struct nm_arena arena;
    struct entry *entries; /* with room for all of the file and all new ones */
    uint32_t n;
    struct nm_err *err;
};

static int add_entry(struct merge *m, const char *name, const char *param, const char *text)
{
    m->entries[m->n] = (struct entry){name, param, text, m->n};
    m->n++;
    return 0;
}

static int add_old(struct merge *m, const struct nm_yaml *name)
{
    if (name->kind == NM_YAML_LIST || (name->kind == NM_YAML_SCALAR && *name->text))
        return nm_yaml_fail(name, m->err, "a saved file maps instances to their parameters");
    nm_yaml_each(param, name)
    {
        const char *text = node_text(&m->arena, param, m->err);
        if (!text || add_entry(m, name->key, param->key, text)) return -1;
    }
    return 0;
}

/* Entries of the file so far; -1 if it cannot have been written by us, so that nothing of it gets lost. */
static int read_old(struct merge *m, const char *path, uint32_t n_new)
{
    const struct nm_yaml *file = NULL;
    uint32_t total = n_new;
    if (nm_file_exists(path)) {
        file = nm_yaml_read(&m->arena, path, m->err);
        if (!file) return -1;
        if (file->kind != NM_YAML_MAP)
            return nm_yaml_fail(file, m->err, "a saved file maps instances to their parameters");
    }
    nm_yaml_each(name, file) total += name->n;
    m->entries = nm_take_n(&m->arena, struct entry, total + 1);
    nm_yaml_each(name, file) if (add_old(m, name)) return -1;
    return 0;
}

static int add_new(struct merge *m, const struct nm_lineup *lineup, const struct nm_registry *registry,
                   enum nm_layer layer, const struct nm_saved *saved)
{
    const struct nm_lineup_instance *instance = &lineup->instances[saved->instance];
    const struct nm_param *param = &instance->module->params[saved->param];
    const char *text = NULL;
    if (layer != NM_LAYER_LINEUP && strcmp(instance->name, instance->module->name))
        return nm_fail(m->err,
                       "%s.%s: layer '%s' belongs to all line-ups, which know no '%s'; save it in layer 'lineup'",
                       instance->name, param->name, nm_layer_name(layer), instance->name);
    if (layer != NM_LAYER_LINEUP && saved->value && !nm_registry_linked(registry, instance->module->name))
        return nm_fail(
            m->err,
            "%s.%s: '%s' is a plug-in, and layer '%s' belongs to all line-ups, also to those without it; save "
            "it in layer 'lineup'",
            instance->name, param->name, instance->module->name, nm_layer_name(layer));
    if (saved->value && !(text = value_text(&m->arena, param, saved->value))) return nm_fail(m->err, "out of memory");
    return add_entry(m, instance->name, param->name, text);
}

/* ---- writing ---- */

static const char *print_file(struct nm_arena *arena, const struct entry *entries, uint32_t n)
{
    struct printing p;
    const char *name = "";
    uint32_t kept = 0;
    if (!print_begin(&p)) return NULL;
    fputs("# Written by `nutmeg param save`; `nutmeg param reset` takes values out again.\n", p.to);
    fputs("# What stands here wins over every file that people write.\n", p.to);
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n || strcmp(entries[i].name, entries[i + 1].name) ||
                    strcmp(entries[i].param, entries[i + 1].param);
        if (!last || !entries[i].text) continue;
        if (strcmp(name, entries[i].name)) {
            print_scalar(p.to, name = entries[i].name, false);
            fputs(":\n", p.to);
        }
        fputs("  ", p.to);
        print_scalar(p.to, entries[i].param, false);
        fprintf(p.to, ": %s\n", entries[i].text);
        kept++;
    }
    const char *text = print_end(&p, arena);
    return text && !kept ? "" : text;
}

int nm_layers_save(const struct nm_lineup *lineup, const struct nm_registry *registry,
                   const struct nm_lineup_options *options, enum nm_layer layer, const struct nm_saved *values,
                   uint32_t n, struct nm_err *err)
{
    struct merge m = {.err = err};
    const char *path = nm_layers_saved_file(&m.arena, lineup, options, layer, err);
    int rc = path ? read_old(&m, path, n) : -1;
    for (uint32_t i = 0; i < n && m.entries; i++)
        if (add_new(&m, lineup, registry, layer, &values[i])) rc = -1;
    if (!rc) {
        qsort(m.entries, m.n, sizeof *m.entries, by_name);
        const char *text = print_file(&m.arena, m.entries, m.n);
        rc = text ? nm_file_replace(path, text, strlen(text), err) : nm_fail(err, "%s: out of memory", path);
    }
    nm_arena_free(&m.arena);
    return rc;
}

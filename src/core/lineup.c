/* Reads a line-up: cycles and instances from the file and those that it extends (lineup_extend.c), then parameters
 * (layers.c), then topics and the order of steps (lineup_graph.c). Every part goes on after a fault, so that all faults
 * are reported at once. Also prints a line-up.
 */
#include "core/lineup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/files.h"
#include "core/lineup_extend.h"
#include "core/lineup_graph.h"
#include "core/layers.h"

enum { CYCLES_MAX = 64, INSTANCES_MAX = 1024, PRIORITY_MAX = 99, CORE_MAX = 1023 };
#define TIMEOUT_DEFAULT 100000000 /* ns: a triggered cycle that hears nothing still runs ten times a second */

struct loading {
    struct nm_lineup *lineup;
    struct nm_registry *registry;
    const struct nm_lineup_options *options;
    struct nm_err *err;
    const struct nm_yaml **params, **renames; /* of each instance */
    const struct nm_yaml **triggers;          /* of each cycle    */
    bool incomplete;
    bool told_plugins; /* that a log's plug-ins are not loaded */
    int rc;
};

/* ---- cycles ---- */

static void read_duration(struct loading *l, const struct nm_yaml *cycle, const char *key, int64_t least,
                          int64_t *value)
{
    const struct nm_yaml *node = nm_yaml_get(cycle, key);
    if (!node) return;
    if (nm_yaml_duration(node, value, l->err))
        l->rc = -1;
    else if (*value < least)
        l->rc = nm_yaml_fail(node, l->err, "cycle '%s': its %s must be longer than 0", cycle->key, key);
}

static void read_number(struct loading *l, const struct nm_yaml *cycle, const char *key, int max, int *value)
{
    const struct nm_yaml *node = nm_yaml_get(cycle, key);
    int64_t number;
    if (!node) return;
    if (nm_yaml_int(node, &number, l->err))
        l->rc = -1;
    else if (number < 0 || number > max)
        l->rc = nm_yaml_fail(node, l->err, "cycle '%s': %s %lld is outside 0 … %d", cycle->key, key, (long long)number,
                             max);
    else
        *value = (int)number;
}

/* A cycle runs by the clock or by a topic. */
static void read_rhythm(struct loading *l, const struct nm_yaml *node, struct nm_lineup_cycle *cycle,
                        const struct nm_yaml **trigger)
{
    const struct nm_yaml *period = nm_yaml_get(node, "period"), *timeout = nm_yaml_get(node, "timeout");
    const char *text;
    *trigger = nm_yaml_get(node, "trigger");
    if (!period && !*trigger)
        l->rc = nm_yaml_fail(node, l->err, "cycle '%s' needs a period (8 ms) or a trigger (a topic)", cycle->name);
    if (period && *trigger)
        l->rc =
            nm_yaml_fail(*trigger, l->err, "cycle '%s' has a period and a trigger; it can have only one", cycle->name);
    if (timeout && !*trigger)
        l->rc =
            nm_yaml_fail(timeout, l->err, "cycle '%s': a timeout belongs to a trigger, not to a period", cycle->name);
    if (*trigger && nm_yaml_text(*trigger, &text, l->err)) {
        *trigger = NULL;
        l->rc = -1;
    }
    cycle->timeout = *trigger ? TIMEOUT_DEFAULT : 0;
    read_duration(l, node, "period", 1, &cycle->period);
    if (*trigger) read_duration(l, node, "timeout", 1, &cycle->timeout);
    cycle->deadline = *trigger ? cycle->timeout : cycle->period;
}

static void read_cycle(struct loading *l, const struct nm_yaml *node, uint32_t index)
{
    static const char *const keys[] = {"period", "trigger",  "timeout", "deadline",
                                       "cost",   "priority", "core",    "modules"};
    struct nm_lineup_cycle *cycle = &l->lineup->cycles[index];
    *cycle = (struct nm_lineup_cycle){.name = node->key, .line = (int)node->line, .trigger = NM_NONE, .core = -1};
    const char *fault = nm_name_fault(node->key);
    if (fault) l->rc = nm_yaml_fail(node, l->err, "the name of cycle '%.80s' %s", node->key, fault);
    if (nm_yaml_keys(node, keys, sizeof keys / sizeof keys[0], l->err)) l->rc = -1;
    if (node->kind != NM_YAML_MAP) return;
    read_rhythm(l, node, cycle, &l->triggers[index]);
    read_duration(l, node, "deadline", 1, &cycle->deadline);
    read_duration(l, node, "cost", 0, &cycle->cost);
    read_number(l, node, "priority", PRIORITY_MAX, &cycle->priority);
    read_number(l, node, "core", CORE_MAX, &cycle->core);
}

/* ---- instances ---- */

/* A map under a key of an instance; NULL if it is not there, or no map and told so. */
static const struct nm_yaml *map_of(struct loading *l, const struct nm_yaml *item, const char *key)
{
    const struct nm_yaml *map = nm_yaml_get(item, key);
    if (!map || map->kind == NM_YAML_MAP || (map->kind == NM_YAML_SCALAR && !*map->text)) return map;
    l->rc = nm_yaml_fail(map, l->err, "%s: a map such as {name: value} is needed here", key);
    return NULL;
}

static const struct nm_module *find_module(struct loading *l, const struct nm_yaml *node)
{
    const struct nm_module *module = nm_registry_find(l->registry, node->text);
    if (module) {
        struct nm_err why = {0};
        if (!nm_module_check(module, &why)) return module;
        for (char *line = why.text, *end; (end = strchr(line, '\n')); line = end + 1)
            l->rc = nm_yaml_fail(node, l->err, "%.*s", (int)(end - line), line);
        return NULL;
    }
    enum { NAMES = 1024 };
    const char *names[NAMES];
    uint32_t n = 0;
    while (n < l->registry->n && n < NAMES) {
        names[n] = l->registry->at[n]->name;
        n++;
    }
    l->rc = nm_yaml_fail(node, l->err, "there is no module '%.80s'%s", node->text, nm_hint(node->text, names, n).text);
    const struct nm_lineup *lineup = l->lineup;
    for (uint32_t i = 0; l->options->foreign && i < lineup->n_plugins && !l->told_plugins; i++)
        nm_fail(l->err,
                "it was recorded with the plug-in %.200s; code is loaded only when the command line names it: "
                "--plugin FILE.so",
                lineup->plugins[i]);
    l->told_plugins = true;
    return NULL;
}

static int check_name(struct loading *l, const struct nm_yaml *node, const char *name, const struct nm_module *module)
{
    const char *fault = nm_name_fault(name);
    uint32_t twin = nm_lineup_instance(l->lineup, name);
    const struct nm_module *other = nm_registry_find(l->registry, name);
    if (fault) return nm_yaml_fail(node, l->err, "the name '%.80s' of an instance %s", name, fault);
    if (twin != NM_NONE)
        return nm_yaml_fail(node, l->err, "'%s' stands twice, first in line %d; give one of them another name:", name,
                            l->lineup->instances[twin].line);
    if (other && other != module)
        return nm_yaml_fail(node, l->err, "an instance of module '%s' cannot have the name of module '%s'",
                            module->name, name);
    return 0;
}

/* An item under `modules:`, a name or a map. */
static void read_instance(struct loading *l, const struct nm_yaml *item, uint32_t cycle)
{
    static const char *const keys[] = {"module", "name", "params", "topics"};
    const struct nm_yaml *module_node = item, *name_node = NULL;
    struct nm_lineup *lineup = l->lineup;
    bool ok = true;
    if (item->kind == NM_YAML_MAP) {
        ok = !nm_yaml_keys(item, keys, sizeof keys / sizeof keys[0], l->err);
        module_node = nm_yaml_get(item, "module");
        name_node = nm_yaml_get(item, "name");
        if (!module_node) ok = nm_yaml_fail(item, l->err, "`module:` is missing here");
    }
    const char *text, *name = NULL;
    if (module_node && nm_yaml_text(module_node, &text, l->err)) {
        ok = false;
        module_node = NULL;
    }
    if (name_node && nm_yaml_text(name_node, &name, l->err)) ok = false;
    const struct nm_module *module = module_node ? find_module(l, module_node) : NULL;
    if (!name && module) name = module->name;
    if (module && check_name(l, name_node ? name_node : item, name, module)) module = NULL;
    if (!ok) l->rc = -1;
    if (!module) {
        l->incomplete = true;
        l->rc = -1;
        return;
    }

    uint32_t index = lineup->n_instances++;
    struct nm_lineup_instance *instance = &lineup->instances[index];
    *instance = (struct nm_lineup_instance){
        .name = name, .module = module, .cycle = cycle, .file = item->file, .line = (int)item->line};
    while (module->ports && module->ports[instance->n_ports].name) instance->n_ports++;
    instance->n_params = nm_param_count(module);
    instance->topics = nm_take_n(&lineup->arena, uint32_t, instance->n_ports + 1);
    instance->values = nm_take_n(&lineup->arena, struct nm_value, instance->n_params + 1);
    l->params[index] = map_of(l, item, "params");
    l->renames[index] = map_of(l, item, "topics");
}

static void read_instances(struct loading *l, const struct nm_yaml *cycle, uint32_t index)
{
    const struct nm_yaml *modules = nm_yaml_get(cycle, "modules");
    if (cycle->kind != NM_YAML_MAP) return; /* told already */
    if (!modules || modules->kind != NM_YAML_LIST || !modules->n) {
        l->incomplete = true;
        l->rc = nm_yaml_fail(modules ? modules : cycle, l->err, "cycle '%s' needs a list of modules:", cycle->key);
        return;
    }
    nm_yaml_each(item, modules) read_instance(l, item, index);
}

static void read_cycles(struct loading *l, const struct nm_yaml *file)
{
    struct nm_lineup *lineup = l->lineup;
    const struct nm_yaml *cycles = nm_yaml_get(file, "cycles");
    uint32_t total = 0, index = 0;
    if (!cycles || cycles->kind != NM_YAML_MAP || !cycles->n) {
        l->incomplete = true;
        l->rc = nm_yaml_fail(cycles ? cycles : file, l->err, "a line-up needs cycles: with modules");
        return;
    }
    nm_yaml_each(cycle, cycles) total += nm_yaml_get(cycle, "modules") ? nm_yaml_get(cycle, "modules")->n : 0;
    if (cycles->n > CYCLES_MAX || total > INSTANCES_MAX) {
        l->incomplete = true;
        l->rc = nm_yaml_fail(cycles, l->err, "%u cycles with %u modules are too many (%d and %d are allowed)",
                             cycles->n, total, CYCLES_MAX, INSTANCES_MAX);
        return;
    }
    lineup->n_cycles = cycles->n;
    lineup->cycles = nm_take_n(&lineup->arena, struct nm_lineup_cycle, cycles->n);
    lineup->instances = nm_take_n(&lineup->arena, struct nm_lineup_instance, total + 1);
    l->triggers = nm_take_n(&lineup->arena, const struct nm_yaml *, cycles->n);
    l->params = nm_take_n(&lineup->arena, const struct nm_yaml *, total + 1);
    l->renames = nm_take_n(&lineup->arena, const struct nm_yaml *, total + 1);
    nm_yaml_each(cycle, cycles)
    {
        read_cycle(l, cycle, index);
        read_instances(l, cycle, index++);
    }
}

/* ---- robot and plug-ins ---- */

/* "kid70" of "/home/somebody/nutmeg/robots/kid70", which is in our robots/ too; NULL: it was elsewhere. */
static const char *robot_in_robots(const char *folder)
{
    static const char robots[] = "robots";
    const char *slash = strrchr(folder, '/');
    size_t before = (size_t)(slash - folder), n = sizeof robots - 1;
    bool inside = before >= n && !memcmp(slash - n, robots, n) && (before == n || slash[-(ptrdiff_t)n - 1] == '/');
    return inside && slash[1] ? slash + 1 : NULL;
}

/* A name is a folder in robots/; what has a slash is a path, in the file relative to it. */
static void find_robot(struct loading *l, const struct nm_yaml *file)
{
    struct nm_lineup *lineup = l->lineup;
    struct nm_arena *arena = &lineup->arena;
    const struct nm_yaml *node = nm_yaml_get(file, "robot");
    const char *robots = nm_path(arena, l->options->root, "robots"), *where = "--robot: ";
    if (node && nm_yaml_text(node, &lineup->robot, l->err)) l->rc = -1;
    if (l->options->robot)
        lineup->robot = l->options->robot;
    else if (node)
        where = nm_take_format(arena, "%s:%u: ", node->file, node->line);
    if (!lineup->robot) return;
    if (l->options->foreign && !l->options->robot && strchr(lineup->robot, '/')) {
        const char *name = robot_in_robots(lineup->robot);
        if (!name) {
            l->rc = nm_fail(l->err,
                            "%sthe robot's folder was %.200s when this was recorded; a folder is opened only when the "
                            "command line names it: --robot FOLDER",
                            where, lineup->robot);
            return;
        }
        lineup->robot = name;
    }

    bool path = strchr(lineup->robot, '/') != NULL, named = *lineup->robot && lineup->robot[0] != '.';
    const char *base = !path ? robots : l->options->robot ? "." : nm_folder_of(arena, node->file);
    const char *folder = nm_path(arena, base, lineup->robot);
    if ((path || named) && nm_folder_exists(folder)) lineup->robot_folder = folder;
    if (lineup->robot_folder) return;
    uint32_t n;
    const char *const *names = nm_folders_in(arena, robots, &n);
    l->rc = nm_fail(l->err, "%srobot '%.80s' has no folder %.200s%s", where, lineup->robot, folder,
                    nm_hint(lineup->robot, names, n).text);
}

static void open_plugins(struct loading *l, const struct nm_yaml *file)
{
    const struct nm_yaml *plugins = nm_yaml_get(file, "plugins");
    struct nm_arena *arena = &l->lineup->arena;
    if (!plugins) return;
    if (plugins->kind != NM_YAML_LIST) {
        l->rc = nm_yaml_fail(plugins, l->err, "plugins: a list of files is needed here");
        return;
    }
    l->lineup->plugins = nm_take_n(arena, const char *, plugins->n + 1);
    nm_yaml_each(item, plugins)
    {
        const char *text;
        struct nm_err why = {0};
        if (nm_yaml_text(item, &text, l->err)) {
            l->rc = -1;
            continue;
        }
        const char *path = nm_path(arena, nm_folder_of(arena, item->file), text);
        l->lineup->plugins[l->lineup->n_plugins++] = l->options->foreign ? text : path;
        if (l->options->foreign || nm_registry_plugin(l->registry, path, &why)) continue;
        for (char *line = why.text, *end; (end = strchr(line, '\n')); line = end + 1)
            l->rc = nm_yaml_fail(item, l->err, "%.*s", (int)(end - line), line);
    }
}

/* ---- the whole ---- */

static void read_lineup(struct loading *l, const struct nm_yaml *file)
{
    if (file->kind != NM_YAML_MAP) return;
    open_plugins(l, file);
    find_robot(l, file);
    read_cycles(l, file);
    const struct nm_yaml *remote = nm_yaml_get(file, "remote");
    if (remote && remote->kind != NM_YAML_LIST && (remote->kind == NM_YAML_MAP || *remote->text))
        l->rc = nm_yaml_fail(remote, l->err, "remote: a list of topics is needed here");
    if (nm_layers_read(l->lineup, l->registry, l->options, l->params, l->err)) l->rc = -1;
    struct nm_graph_file graph = {
        .remote = remote, .renames = l->renames, .triggers = l->triggers, .incomplete = l->incomplete};
    if (nm_graph_make(l->lineup, &graph, l->options, l->err)) l->rc = -1;
}

/* Text NULL: the file is read. */
static struct nm_lineup *load(const char *text, size_t size, const char *path, struct nm_registry *registry,
                              const struct nm_lineup_options *options, struct nm_err *err)
{
    const struct nm_lineup_options none = {0};
    struct nm_lineup *lineup = nm_calloc(1, sizeof *lineup);
    lineup->file = nm_take_text(&lineup->arena, path);
    lineup->name = nm_stem_of(&lineup->arena, path);
    lineup->warnings = "";
    struct loading l = {.lineup = lineup, .registry = registry, .options = options ? options : &none, .err = err};
    if (!text && !nm_file_exists(path) && (text = nm_lineup_joined(&lineup->arena, path))) size = strlen(text);
    const struct nm_yaml *file =
        text ? nm_yaml_parse(&lineup->arena, path, text, size, err) : nm_yaml_read(&lineup->arena, path, err);
    if (file) file = nm_lineup_extended(&lineup->arena, file, l.options->foreign, &l.rc, err);
    if (file) read_lineup(&l, file);
    if (file && !l.rc) return lineup;
    nm_lineup_free(lineup);
    return NULL;
}

bool nm_lineup_exists(const char *file)
{
    struct nm_arena arena = {0};
    bool there = nm_file_exists(file) || nm_lineup_joined(&arena, file);
    nm_arena_free(&arena);
    return there;
}

struct nm_lineup *nm_lineup_load(const char *file, struct nm_registry *registry,
                                 const struct nm_lineup_options *options, struct nm_err *err)
{
    return load(NULL, 0, file, registry, options, err);
}

struct nm_lineup *nm_lineup_parse(const char *text, size_t size, const char *file, struct nm_registry *registry,
                                  const struct nm_lineup_options *options, struct nm_err *err)
{
    return load(text, size, file, registry, options, err);
}

void nm_lineup_free(struct nm_lineup *lineup)
{
    if (!lineup) return;
    nm_arena_free(&lineup->arena);
    free(lineup);
}

static int topic_order(const void *name, const void *topic)
{
    return strcmp(name, ((const struct nm_topic *)topic)->name);
}

uint32_t nm_lineup_topic(const struct nm_lineup *lineup, const char *name)
{
    if (name[0] == '/') name++;
    const struct nm_topic *found =
        lineup->n_topics ? bsearch(name, lineup->topics, lineup->n_topics, sizeof *lineup->topics, topic_order) : NULL;
    return found ? (uint32_t)(found - lineup->topics) : NM_NONE;
}

uint32_t nm_lineup_instance(const struct nm_lineup *lineup, const char *name)
{
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        if (!strcmp(lineup->instances[i].name, name)) return i;
    return NM_NONE;
}

/* ---- printing ---- */

/* A service is named without what tells its two topics apart. */
static void print_name(FILE *to, const char *topic, enum nm_port_role role)
{
    const char *tail = role == NM_ROLE_TOPIC ? NULL : strrchr(topic, '/');
    fprintf(to, "%.*s", (int)(tail ? tail - topic : (ptrdiff_t)strlen(topic)), topic);
}

static void print_renames(FILE *to, const struct nm_lineup *lineup, const struct nm_lineup_instance *instance)
{
    const char *before = ", topics: {";
    for (uint32_t p = 0; p < instance->n_ports; p++) {
        const struct nm_port *port = &instance->module->ports[p];
        const struct nm_topic *topic = &lineup->topics[instance->topics[p]];
        bool told = port->role != NM_ROLE_TOPIC && p && instance->module->ports[p - 1].role != NM_ROLE_TOPIC &&
                    strstr(port->topic, "/reply"); /* with its request */
        if (told || !strcmp(port->topic, topic->name)) continue;
        fputs(before, to);
        print_name(to, port->topic, port->role);
        fputs(": ", to);
        print_name(to, topic->name, port->role);
        before = ", ";
    }
    if (!strcmp(before, ", ")) fputs("}", to);
}

/* What the line-up itself says; the other layers have their own files. */
static void print_params(FILE *to, const struct nm_lineup_instance *instance)
{
    const char *before = ", params: {";
    for (uint32_t p = 0; p < instance->n_params; p++) {
        if (instance->values[p].layer != NM_LAYER_LINEUP) continue;
        fprintf(to, "%s%s: ", before, instance->module->params[p].name);
        nm_value_yaml(&instance->module->params[p], &instance->values[p], to);
        before = ", ";
    }
    if (!strcmp(before, ", ")) fputs("}", to);
}

static void print_cycle(FILE *to, const struct nm_lineup *lineup, uint32_t c, const bool *chosen)
{
    const struct nm_lineup_cycle *cycle = &lineup->cycles[c];
    fprintf(to, "  %s:\n", cycle->name);
    if (cycle->trigger == NM_NONE)
        fprintf(to, "    period: %lld ns\n", (long long)cycle->period);
    else
        fprintf(to, "    trigger: %s\n    timeout: %lld ns\n", lineup->topics[cycle->trigger].name,
                (long long)cycle->timeout);
    if (cycle->deadline) fprintf(to, "    deadline: %lld ns\n", (long long)cycle->deadline);
    if (cycle->cost) fprintf(to, "    cost: %lld ns\n", (long long)cycle->cost);
    if (cycle->priority) fprintf(to, "    priority: %d\n", cycle->priority);
    if (cycle->core >= 0) fprintf(to, "    core: %d\n", cycle->core);
    fputs("    modules:\n", to);
    for (uint32_t i = 0; i < cycle->n_order; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[cycle->order[i]];
        if (chosen && !chosen[cycle->order[i]]) continue;
        fprintf(to, "      - {module: %s, name: %s", instance->module->name, instance->name);
        print_renames(to, lineup, instance);
        print_params(to, instance);
        fputs("}\n", to);
    }
}

static bool is_made(const struct nm_topic *topic, const bool *chosen)
{
    for (uint32_t i = 0; i < topic->n_producers; i++)
        if (!chosen || chosen[topic->producers[i].instance]) return true;
    return false;
}

static bool is_read(const struct nm_topic *topic, const bool *chosen)
{
    for (uint32_t i = 0; i < topic->n_consumers; i++)
        if (!chosen || chosen[topic->consumers[i].instance]) return true;
    return false;
}

/* What is read and not made here; a service that is asked but not served. */
static bool is_remote(const struct nm_topic *topic, const bool *chosen)
{
    bool made = is_made(topic, chosen), read = is_read(topic, chosen);
    if (topic->builtin) return false;
    if (topic->role == NM_ROLE_REPLY) return false;
    if (topic->role == NM_ROLE_REQUEST) return made && !read;
    return read && (!made || topic->remote);
}

static bool has_any(const struct nm_lineup_cycle *cycle, const bool *chosen)
{
    for (uint32_t i = 0; i < cycle->n_order; i++)
        if (!chosen || chosen[cycle->order[i]]) return true;
    return false;
}

static void print_plugins(FILE *to, const struct nm_lineup *lineup)
{
    if (lineup->n_plugins) fputs("plugins:\n", to);
    for (uint32_t i = 0; i < lineup->n_plugins; i++) {
        fputs("  - '", to);
        for (const char *c = lineup->plugins[i]; *c; c++) fprintf(to, "%s%c", *c == '\'' ? "'" : "", *c);
        fputs("'\n", to);
    }
}

void nm_lineup_print(const struct nm_lineup *lineup, const bool *chosen, FILE *to)
{
    if (lineup->robot) fprintf(to, "robot: %s\n", strchr(lineup->robot, '/') ? lineup->robot_folder : lineup->robot);
    print_plugins(to, lineup);
    fputs("cycles:\n", to);
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        if (has_any(&lineup->cycles[c], chosen)) print_cycle(to, lineup, c, chosen);
    const char *before = "remote:\n";
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (!is_remote(topic, chosen)) continue;
        fprintf(to, "%s  - ", before);
        print_name(to, topic->name, topic->role);
        fputc('\n', to);
        before = "";
    }
    /* a trigger that nobody reads is remote, too */
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        uint32_t t = lineup->cycles[c].trigger;
        if (t == NM_NONE || !has_any(&lineup->cycles[c], chosen)) continue;
        if (is_made(&lineup->topics[t], chosen) || is_remote(&lineup->topics[t], chosen)) continue;
        fprintf(to, "%s  - %s\n", before, lineup->topics[t].name);
        before = "";
    }
}

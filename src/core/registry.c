/* Modules by name, and what makes a module's table well formed. A plug-in's tables come from a file that somebody else
 * compiled, so everything in them is checked before it is used, the ABI number before anything else. */
#include "core/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/params.h"

enum { PORTS_MAX = 256, PARAMS_MAX = 1024, NAME_MAX_ = 63, TOPIC_MAX = 200 };

/* ---- names ---- */

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *nm_name_fault(const char *name)
{
    if (!name || !*name) return "is empty";
    if (*name >= '0' && *name <= '9') return "begins with a digit";
    for (const char *c = name; *c; c++)
        if (!word_char(*c)) return "may hold only letters, digits and underscores";
    return strlen(name) > NAME_MAX_ ? "is longer than 63 characters" : NULL;
}

const char *nm_topic_fault(const char *topic)
{
    if (!topic || !*topic) return "is empty";
    bool start = true; /* of one of the names between the slashes */
    for (const char *c = topic; *c; c++) {
        if (start && (*c == '/' || (*c >= '0' && *c <= '9')))
            return *c == '/' ? "has an empty name between slashes" : "has a name that begins with a digit";
        if (*c != '/' && !word_char(*c)) return "may hold only letters, digits, underscores and slashes";
        if (c[0] == '_' && c[1] == '_') return "has two underscores in a row";
        start = *c == '/';
    }
    if (start) return "ends with a slash";
    return strlen(topic) > TOPIC_MAX ? "is longer than 200 characters" : NULL;
}

struct nm_hint nm_hint(const char *word, const char *const *names, uint32_t n)
{
    enum { WORD_MAX = 128, LISTED = 8 };
    struct nm_hint hint = {""};
    const char *near = strlen(word) <= WORD_MAX ? nm_nearest(word, names, n) : NULL;
    if (near) {
        snprintf(hint.text, sizeof hint.text, ", did you mean '%.100s'?", near);
        return hint;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < n && n <= LISTED && used < sizeof hint.text; i++) {
        const char *before = i ? ", " : n == 1 ? "; there is only " : "; there are ";
        used += (size_t)snprintf(hint.text + used, sizeof hint.text - used, "%s%.100s", before, names[i]);
    }
    return hint;
}

/* ---- the table of a module ---- */

static const uint32_t member_size[] = {
    [NM_PORT_IN] = sizeof(void *),
    [NM_PORT_LAST] = sizeof(void *),
    [NM_PORT_QUEUE] = sizeof(nm_queue(char)),
    [NM_PORT_LAST_QUEUE] = sizeof(nm_queue(char)),
    [NM_PORT_OUT] = sizeof(void *),
    [NM_PORT_OUT_QUEUE] = sizeof(nm_out_queue(char)),
};

static bool inside(uint32_t offset, uint32_t size, const struct nm_module *module)
{
    return offset >= sizeof(struct nm *) && size <= module->size && offset <= module->size - size;
}

static int check_port(const struct nm_module *module, const struct nm_port *port, struct nm_err *err)
{
    bool queue = port->kind == NM_PORT_QUEUE || port->kind == NM_PORT_LAST_QUEUE || port->kind == NM_PORT_OUT_QUEUE;
    const char *fault = nm_topic_fault(port->topic), *what = NULL;

    if (!port->type || !port->type->name)
        what = "has no message type";
    else if (port->kind < NM_PORT_IN || port->kind > NM_PORT_OUT_QUEUE)
        what = "is of no known kind";
    else if (port->role > NM_ROLE_REPLY)
        what = "has no known role";
    else if (queue && !port->depth)
        what = "is a queue of depth 0";
    else if (port->many && port->kind != NM_PORT_OUT_QUEUE)
        what = "is many, which only an output queue can be";
    else if (port->role != NM_ROLE_TOPIC && !queue)
        what = "belongs to a service, but is no queue";
    else if (port->offset == UINT32_MAX && port->kind != NM_PORT_LAST_QUEUE)
        what = "has no member";
    else if (port->offset != UINT32_MAX && !inside(port->offset, member_size[port->kind], module))
        what = "lies outside the module's struct";
    if (what) return nm_fail(err, "module '%s', port '%s' %s", module->name, port->name, what);
    if (fault)
        return nm_fail(err, "module '%s', port '%s': its topic '%s' %s", module->name, port->name,
                       port->topic ? port->topic : "", fault);

    const char *end = port->role == NM_ROLE_REQUEST ? "/request" : "/reply";
    size_t length = strlen(port->topic), n = strlen(end);
    if (port->role != NM_ROLE_TOPIC && (length <= n || strcmp(port->topic + length - n, end)))
        return nm_fail(err, "module '%s', port '%s': its topic '%s' must end with %s", module->name, port->name,
                       port->topic, end);
    return 0;
}

/* The last row of a table says where it ends; without it the others would be followed by whatever lies behind. */
static int check_ends(const struct nm_module *module, struct nm_err *err)
{
    const char *lacks = NULL, *macro = NULL;
    if (module->ports && (!module->n_ports || module->ports[module->n_ports - 1].name)) {
        lacks = "ports";
        macro = "NM_PORTS";
    } else if (module->params && (!module->n_params || module->params[module->n_params - 1].name)) {
        lacks = "parameters";
        macro = "NM_PARAMS";
    }
    return lacks ? nm_fail(err, "module '%s': the table of its %s must be given by %s and end with the row {0}",
                           module->name, lacks, macro)
                 : 0;
}

static int check_ports(const struct nm_module *module, struct nm_err *err)
{
    int rc = 0;
    uint32_t n = 0;
    for (const struct nm_port *port = module->ports; port && port->name; port++, n++) {
        if (n == PORTS_MAX) return nm_fail(err, "module '%s' has more than %d ports", module->name, PORTS_MAX);
        for (uint32_t i = 0; i < n; i++)
            if (!strcmp(module->ports[i].name, port->name))
                rc = nm_fail(err, "module '%s': port '%s' stands twice in its table", module->name, port->name);
        if (check_port(module, port, err)) rc = -1;
    }
    return rc;
}

static int check_params(const struct nm_module *module, struct nm_err *err)
{
    int rc = 0;
    uint32_t n = 0;
    for (const struct nm_param *param = module->params; param && param->name; param++, n++) {
        if (n == PARAMS_MAX) return nm_fail(err, "module '%s' has more than %d parameters", module->name, PARAMS_MAX);
        for (uint32_t i = 0; i < n; i++)
            if (!strcmp(module->params[i].name, param->name))
                rc = nm_fail(err, "module '%s': parameter '%s' stands twice in its table", module->name, param->name);
        struct nm_err why = {0};
        if (inside(param->offset, param->size, module) ? nm_param_check(param, &why)
                                                       : nm_fail(&why, "lies outside the module's struct"))
            rc = nm_fail(err, "module '%s', parameter '%s' %.*s", module->name, param->name, (int)why.used - 1,
                         why.text);
    }
    return rc;
}

int nm_module_check(const struct nm_module *module, struct nm_err *err)
{
    if (module->abi != NM_ABI) /* then even the name may lie elsewhere */
        return nm_fail(err, "built for version %u of the module interface, this program has version %d: rebuild it",
                       module->abi, NM_ABI);
    const char *fault = nm_name_fault(module->name);
    const char *name = module->name ? module->name : "";
    if (fault) return nm_fail(err, "the name of module '%s' %s", name, fault);
    int rc = 0;
    if (module->size < sizeof(struct nm *))
        return nm_fail(err, "module '%s': its struct has no room for struct nm *", name);
    if (!module->step) rc = nm_fail(err, "module '%s' has no step function", name);
    if (!module->about || !*module->about)
        rc = nm_fail(err, "module '%s' has no sentence that says what it does", name);
    if (check_ends(module, err)) return -1;
    if (check_ports(module, err)) rc = -1;
    if (check_params(module, err)) rc = -1;
    return rc;
}

/* ---- the modules ---- */

static int by_name(const void *a, const void *b)
{
    const struct nm_module *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int name_order(const void *name, const void *module)
{
    return strcmp(name, (*(const struct nm_module *const *)module)->name);
}

void nm_registry_init(struct nm_registry *registry, struct nm_arena *arena, const struct nm_module *const *begin,
                      const struct nm_module *const *end)
{
    *registry = (struct nm_registry){
        .arena = arena, .cap = (uint32_t)(end - begin) + 8, .linked_begin = begin, .linked_end = end};
    registry->at = nm_take_n(arena, const struct nm_module *, registry->cap);
    for (const struct nm_module *const *module = begin; module != end; module++)
        if (*module) registry->at[registry->n++] = *module;
    qsort(registry->at, registry->n, sizeof *registry->at, by_name);
}

const struct nm_module *nm_registry_find(const struct nm_registry *registry, const char *name)
{
    const struct nm_module **found = bsearch(name, registry->at, registry->n, sizeof *registry->at, name_order);
    return found ? *found : NULL;
}

bool nm_registry_linked(const struct nm_registry *registry, const char *name)
{
    for (const struct nm_module *const *module = registry->linked_begin; module != registry->linked_end; module++)
        if (*module && !strcmp((*module)->name, name)) return true;
    return false;
}

static void add(struct nm_registry *registry, const struct nm_module *module)
{
    if (registry->n == registry->cap) {
        const struct nm_module **more = nm_take_n(registry->arena, const struct nm_module *, 2 * registry->cap);
        memcpy(more, registry->at, registry->n * sizeof *more);
        registry->at = more;
        registry->cap *= 2;
    }
    registry->at[registry->n++] = module;
    qsort(registry->at, registry->n, sizeof *registry->at, by_name);
}

/* ---- plug-ins ---- */

/* A plug-in's messages are either ours, found through the program's symbols, or its own copy of the tables; its code
 * was compiled for the layout that its ports name. */
static int check_types(const struct nm_module *module, struct nm_err *err)
{
    int rc = 0;
    for (const struct nm_port *port = module->ports; port && port->name; port++) {
        const struct nm_type *ours = nm_type_find(&nm_all_types, port->type->name);
        if (!ours || strcmp(ours->name, port->type->name))
            rc = nm_fail(err, "module '%s', port '%s': this program does not know the message %s", module->name,
                         port->name, port->type->name);
        else if (ours->layout != port->type->layout || ours->layout != port->layout)
            rc = nm_fail(
                err,
                "module '%s', port '%s': the message %s has another layout than in this program: rebuild the plug-in",
                module->name, port->name, ours->name);
    }
    return rc;
}

static const struct nm_module *check_plugin(void *library, const char *path, struct nm_err *err)
{
    const struct nm_module *const *symbol = dlsym(library, "nm_plugin_module");
    if (!symbol || !*symbol) {
        nm_fail(err, "%s: holds no module: build it with -DNM_PLUGIN and one NM_MODULE", path);
        return NULL;
    }
    struct nm_err why = {0};
    if (!nm_module_check(*symbol, &why) && !check_types(*symbol, &why)) return *symbol;
    for (char *line = why.text, *end; (end = strchr(line, '\n')); line = end + 1)
        nm_fail(err, "%s: %.*s", path, (int)(end - line), line);
    return NULL;
}

const struct nm_module *nm_plugin_open(const char *path, struct nm_err *err)
{
    struct stat status;
    if (stat(path, &status)) {
        nm_fail(err, "%s: the plug-in cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        nm_fail(err, "%s: the plug-in is not a file", path);
        return NULL;
    }
    /* without a slash dlopen would look through the system's folders */
    struct nm_arena scratch = {0};
    void *library = dlopen(strchr(path, '/') ? path : nm_take_format(&scratch, "./%s", path), RTLD_NOW | RTLD_LOCAL);
    nm_arena_free(&scratch);
    if (!library) {
        const char *why = dlerror();
        nm_fail(err, "%s: the plug-in cannot be loaded: %s", path, why ? why : "no reason given");
        return NULL;
    }
    const struct nm_module *module = check_plugin(library, path, err);
    if (!module) dlclose(library);
    return module;
}

const struct nm_module *nm_registry_plugin(struct nm_registry *registry, const char *path, struct nm_err *err)
{
    const struct nm_module *module = nm_plugin_open(path, err);
    if (!module) return NULL;
    const struct nm_module *taken = nm_registry_find(registry, module->name);
    if (!taken) add(registry, module);
    if (!taken || taken == module) return module;
    nm_fail(err, "%s: the name of module '%s' is taken by the one from %s", path, module->name,
            taken->file ? taken->file : "another plug-in");
    return NULL;
}

/* nutmeg module: the modules linked in (and those of plug-ins), as their tables tell it: what they read, write and are
 * tuned by. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"

static const char *const port_kinds[] = {
    [NM_PORT_IN] = "in",       [NM_PORT_LAST] = "last",
    [NM_PORT_QUEUE] = "queue", [NM_PORT_LAST_QUEUE] = "last queue",
    [NM_PORT_OUT] = "out",     [NM_PORT_OUT_QUEUE] = "out queue",
};

static int open_plugins(struct setup *setup, const struct texts *plugins)
{
    struct nm_err err = {0};
    if (!setup_plugins(setup, plugins, &err)) return 0;
    complain(&err);
    return -1;
}

/* ---- list ---- */

static uint32_t count_ports(const struct nm_module *module, bool out)
{
    uint32_t n = 0;
    for (const struct nm_port *p = module->ports; p && p->name; p++) n += out == (p->kind >= NM_PORT_OUT);
    return n;
}

static int module_list(int argc, char **argv)
{
    struct texts plugins = {0};
    const struct flag flags[] = {
        TEXTS("plugin", &plugins, "FILE.so", "also loads this plug-in (.so); may be repeated"),
        {0},
    };
    const struct usage usage = USAGE("nutmeg module list", "[PATTERN]", flags,
                                     "Lists the modules whose name contains PATTERN. PATTERN may use * and ?.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct table table;
    setup_begin(&setup);
    code = open_plugins(&setup, &plugins) ? EXIT_USAGE : EXIT_OK;
    table_begin(&table, (const char *const[]){"module", ">in", ">out", ">params", "about", NULL});
    for (uint32_t i = 0; i < setup.registry.n; i++) {
        const struct nm_module *m = setup.registry.at[i];
        if (!nm_matches(m->name, n ? argv[1] : NULL)) continue;
        table_row(&table, "%s\t%u\t%u\t%u\t%s", m->name, count_ports(m, false), count_ports(m, true), nm_param_count(m),
                  m->about);
    }
    if (!table.n_rows) {
        fprintf(stderr, "no module has such a name; nutmeg module list shows all %u\n", setup.registry.n);
        code = EXIT_FAILED;
    } else {
        table_print(&table, stdout);
    }
    setup_end(&setup);
    return code;
}

/* ---- show ---- */

static void show_ports(const struct nm_module *module)
{
    struct table table;
    table_begin(&table, (const char *const[]){"  port", "kind", "topic", "type", "", NULL});
    for (const struct nm_port *p = module->ports; p && p->name; p++) {
        char more[64] = "";
        if (p->depth) snprintf(more, sizeof more, "room for %u", p->depth);
        size_t used = strlen(more);
        if (p->many) snprintf(more + used, sizeof more - used, "%sone of many makers", used ? ", " : "");
        table_row(&table, "  %s\t%s\t%s\t%s\t%s", p->name, port_kinds[p->kind], p->topic, p->type->name, more);
    }
    if (!table.n_rows) table_row(&table, "  none");
    table_print(&table, stdout);
}

static void range_text(const struct nm_param *param, char *to, size_t size)
{
    if (param->kind == NM_PARAM_BOOL)
        snprintf(to, size, "true or false");
    else if (param->kind == NM_PARAM_TEXT)
        snprintf(to, size, "%s", param->choices ? param->choices : "any text");
    else
        snprintf(to, size, "%g … %g", param->min, param->max);
}

static void show_params(const struct nm_module *module)
{
    struct table table;
    if (!nm_param_count(module)) return;
    table_begin(&table, (const char *const[]){"  parameter", "default", "range", "unit", "about", NULL});
    for (const struct nm_param *p = module->params; p->name; p++) {
        struct nm_value value;
        char text[256], range[256];
        nm_value_default(p, &value);
        nm_value_print(p, &value, text, sizeof text);
        range_text(p, range, sizeof range);
        table_row(&table, "  %s\t%s\t%s\t%s\t%s", p->name, text, range, p->unit && strcmp(p->unit, "1") ? p->unit : "",
                  p->about);
    }
    fputc('\n', stdout);
    table_print(&table, stdout);
}

/* Whole paths only matter to the one who built it: from src/ on is enough. */
static const char *short_file(const char *file)
{
    const char *src = strstr(file, "src/modules/");
    return src ? src : file;
}

static int module_show(int argc, char **argv)
{
    struct texts plugins = {0};
    const struct flag flags[] = {
        TEXTS("plugin", &plugins, "FILE.so", "also loads this plug-in (.so); may be repeated"),
        {0},
    };
    const struct usage usage = USAGE("nutmeg module show", "NAME", flags,
                                     "Shows the topics that a module reads and writes, and its parameters.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    setup_begin(&setup);
    if (open_plugins(&setup, &plugins)) {
        setup_end(&setup);
        return EXIT_USAGE;
    }
    const struct nm_module *module = nm_registry_find(&setup.registry, argv[1]);
    if (module) {
        printf("%s%s%s: %s\n%s\n\n", ink(stdout, INK_BOLD), module->name, ink(stdout, INK_PLAIN), module->about,
               short_file(module->file));
        show_ports(module);
        show_params(module);
    } else {
        const char **names = nm_take_n(&setup.arena, const char *, setup.registry.n + 1);
        for (uint32_t i = 0; i < setup.registry.n; i++) names[i] = setup.registry.at[i]->name;
        fprintf(stderr, "there is no module '%s'%s\nnutmeg module list shows all\n", argv[1],
                nm_hint(argv[1], names, setup.registry.n).text);
    }
    setup_end(&setup);
    return module ? EXIT_OK : EXIT_USAGE;
}

int cmd_module(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the modules", module_list},
        {"show", "shows one of them", module_show},
        {0},
    };
    return verbs_run("nutmeg module", "Modules, with the topics that they read and write, and their parameters.", verbs,
                     argc, argv);
}

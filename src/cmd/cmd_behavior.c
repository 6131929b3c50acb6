/* nutmeg behavior: the options of a module, as its source has them and as they run. */
#include <math.h>
#include <string.h>

#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/option_graph.h"
#include "cmd/setup.h"
#include "core/registry.h"

extern const struct nm_option_note *const __start_nm_options[] __attribute__((weak));
extern const struct nm_option_note *const __stop_nm_options[] __attribute__((weak));

/* ---- show ---- */

typedef void draw(const struct option_graph *graph, FILE *to);

static draw *form_of(const char *file)
{
    const char *dot = strrchr(file, '.');
    if (dot && !strcmp(dot, ".svg")) return option_graph_svg;
    if (dot && (!strcmp(dot, ".dot") || !strcmp(dot, ".gv"))) return option_graph_dot;
    return NULL;
}

struct drawing {
    const struct option_graph *graph;
    draw *draw;
};

static void print_drawing(const void *what, FILE *to)
{
    const struct drawing *drawing = what;
    drawing->draw(drawing->graph, to);
}

/* Reads the options of a module; -1 with a sentence. */
static int read_module(const struct nm_registry *registry, const char *name, struct option_graph *graph,
                       struct nm_err *err)
{
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t i = 0; i < registry->n; i++) {
        const struct nm_module *m = registry->at[i];
        if (!option_graph_read(graph, __start_nm_options, __stop_nm_options, m->file)) continue;
        if (!strcmp(m->name, name)) return 0;
        if (n < 256) names[n++] = m->name;
    }
    return nm_fail(err, "no module '%s' is written with options%s", name, nm_hint(name, names, n).text);
}

static int behavior_show(int argc, char **argv)
{
    const char *file = NULL;
    const struct flag flags[] = {
        TEXT("output", &file, "FILE", "writes a picture (FILE.svg) or text for Graphviz (FILE.dot)", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg behavior show", "[MODULE]", flags,
              "Shows the options of a module that is written with core/option.h (default: soccer): their states,\n"
              "the transitions with their reasons, and which options they play.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    draw *draw = file ? form_of(file) : option_graph_text;
    if (!draw)
        return usage_wrong(&usage, "%s: the name must end in .svg (a picture for browsers) or .dot (text for Graphviz)",
                           file);
    static struct option_graph graph;
    struct nm_err err = {0};
    struct setup setup;
    setup_begin(&setup);
    code = EXIT_OK;
    if (read_module(&setup.registry, n ? argv[1] : "soccer", &graph, &err))
        code = EXIT_USAGE;
    else if (print_file(file, print_drawing, &(struct drawing){&graph, draw}, &err))
        code = EXIT_FAILED;
    else if (file)
        printf("written: %s\n", file);
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}

/* ---- watch ---- */

static const struct nm_yaml *item(const struct nm_yaml *message, const char *key, uint32_t index)
{
    const struct nm_yaml *at = nm_yaml_first(nm_yaml_get(message, key));
    for (; at && index; index--) at = at->next;
    return at;
}

static const char *text_of(const struct nm_yaml *node) { return node ? node->text : ""; }

static double number_of(const struct nm_yaml *node)
{
    double value = NAN;
    if (node) nm_yaml_number(node, &value, NULL);
    return value;
}

static void print_tree(const struct nm_yaml *message)
{
    uint32_t n = 0;
    nm_yaml_each(option, nm_yaml_get(message, "options"))
    {
        int indent = (int)number_of(item(message, "depths", n));
        printf("%*s%s%s%s: %s  %s%.1f s%s%s%s\n", 2 * indent, "", ink(stdout, INK_BOLD), option->text,
               ink(stdout, INK_PLAIN), text_of(item(message, "states", n)), ink(stdout, INK_FAINT),
               number_of(item(message, "durations", n)), *text_of(item(message, "reasons", n)) ? ", " : "",
               text_of(item(message, "reasons", n)), ink(stdout, INK_PLAIN));
        n++;
    }
    bool held = !nm_reply_bool(message, "interruptible");
    if (held) printf("%snobody may interrupt it now%s\n", ink(stdout, INK_YELLOW), ink(stdout, INK_PLAIN));
}

/* The trees as they come: on a terminal in place, elsewhere one below the other. */
static bool follow(struct asking *asking, int64_t count)
{
    struct nm_err err = {0};
    for (int64_t seen = 0; (!count || seen < count) && !err.n && pause_for(0);) {
        struct nm_arena arena = {0};
        const struct nm_yaml *message = nm_link_next(asking->link, &arena, 1000, &err);
        const char *text = message ? nm_reply_text(message, "text") : "";
        const struct nm_yaml *tree = *text ? nm_yaml_parse(&arena, "message", text, strlen(text), NULL) : NULL;
        if (tree) {
            clear_screen(stdout);
            print_tree(tree);
            if (!terminal_width(stdout)) puts("---");
            if (fflush(stdout)) count = seen + 1; /* the reader of our output is gone */
            seen++;
        }
        nm_arena_free(&arena);
    }
    if (err.n) complain(&err);
    return !err.n;
}

static int behavior_watch(int argc, char **argv)
{
    const char *to = NULL, *topic = "behavior_state";
    int64_t count = 0;
    const struct flag flags[] = {
        WHOLE("count", &count, 0, 1e9, "N", "ends after N messages; 0: runs until Ctrl-C", .letter = 'n'),
        TEXT("topic", &topic, "NAME", "of a BehaviorState (default: behavior_state)"),
        TO_FLAG(&to),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg behavior watch", "", flags,
              "Shows the options that run now in a running line-up: the state of each, for how long, and why.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    if (ask(&asking, &(struct nm_request){.op = NM_CONTROL_ECHO, .topic = topic}) && !follow(&asking, count))
        asking.code = EXIT_FAILED;
    return asking_end(&asking);
}

int cmd_behavior(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"show", "shows the options of a module, their states and transitions", behavior_show},
        {"watch", "shows the options that run now", behavior_watch},
        {0},
    };
    return verbs_run("nutmeg behavior", "Behaviour written as options.", verbs, argc, argv);
}

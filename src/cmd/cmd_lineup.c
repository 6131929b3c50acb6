/* nutmeg lineup: which there are, and everything that could be wrong with them, told before anything starts. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "core/files.h"

static void show_cycles(const struct nm_lineup *lineup)
{
    struct table table;
    char text[32], cost[32], deadline[32];
    table_begin(&table, (const char *const[]){"  cycle", "runs", "deadline", "cost", ">priority", "core",
                                              "modules in order", NULL});
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        const struct nm_lineup_cycle *cycle = &lineup->cycles[c];
        char when[160], order[1024] = "", core[16] = "any";
        size_t used = 0;
        if (cycle->trigger == NM_NONE)
            snprintf(when, sizeof when, "every %s", duration_text(text, (double)cycle->period));
        else
            snprintf(when, sizeof when, "with %.100s, or %s later", lineup->topics[cycle->trigger].name,
                     duration_text(text, (double)cycle->timeout));
        for (uint32_t i = 0; i < cycle->n_order && used < sizeof order; i++)
            used += (size_t)snprintf(order + used, sizeof order - used, "%s%s", i ? " " : "",
                                     lineup->instances[cycle->order[i]].name);
        if (cycle->core >= 0) snprintf(core, sizeof core, "%d", cycle->core);
        table_row(&table, "  %s\t%s\t%s\t%s\t%d\t%s\t%s", cycle->name, when,
                  duration_text(deadline, (double)cycle->deadline), duration_text(cost, (double)cycle->cost),
                  cycle->priority, core, order);
    }
    table_print(&table, stdout);
}

static void names_of(const struct nm_lineup *lineup, const struct nm_end *ends, uint32_t n, char *to, size_t size)
{
    size_t used = 0;
    *to = '\0';
    for (uint32_t i = 0; i < n && used < size; i++)
        used +=
            (size_t)snprintf(to + used, size - used, "%s%s", i ? " " : "", lineup->instances[ends[i].instance].name);
}

static void show_topics(const struct nm_lineup *lineup)
{
    struct table table;
    table_begin(&table, (const char *const[]){"  topic", "type", "made by", "read by", NULL});
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        char makers[256], readers[512];
        names_of(lineup, topic->producers, topic->n_producers, makers, sizeof makers);
        names_of(lineup, topic->consumers, topic->n_consumers, readers, sizeof readers);
        const char *outside = topic->remote ? "(outside)" : topic->builtin ? "(runtime)" : "";
        table_row(&table, "  %s\t%s\t%s%s%s\t%s", topic->name, topic->type->name, makers,
                  *makers && *outside ? " " : "", outside, readers);
    }
    fputc('\n', stdout);
    table_print(&table, stdout);
}

static int check_one(struct setup *setup, const char *name, const struct lineup_flags *flags, bool quiet)
{
    struct nm_err err = {0};
    struct nm_lineup *lineup = setup_lineup(setup, name, flags, &err);
    if (!lineup || (lineup->robot_folder && !setup_body(setup, lineup, &err))) {
        complain(&err);
        nm_lineup_free(lineup);
        return -1;
    }
    printf("%s: ok, %u cycles, %u instances, %u topics\n", lineup->file, lineup->n_cycles, lineup->n_instances,
           lineup->n_topics);
    if (lineup->warnings && *lineup->warnings)
        fprintf(stderr, "%s%s%s", ink(stderr, INK_YELLOW), lineup->warnings, ink(stderr, INK_PLAIN));
    if (!quiet) {
        fputc('\n', stdout);
        show_cycles(lineup);
        show_topics(lineup);
    }
    nm_lineup_free(lineup);
    return 0;
}

static int lineup_check(int argc, char **argv)
{
    struct lineup_flags lineup = {0};
    bool quiet = false;
    const struct flag flags[] = {
        SWITCH("quiet", &quiet, "prints only one line for each correct line-up", .letter = 'q'),
        LINEUP_FLAGS(&lineup),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg lineup check", "LINEUP…", flags,
              "Checks line-ups without starting them, and lists every fault. For a correct line-up it shows\n"
              "the cycles, the order of the modules and the topics. LINEUP is a file or a name in lineups/.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    code = EXIT_OK;
    for (int i = 1; i <= n; i++) {
        struct setup setup; /* each with its own plug-ins */
        setup_begin(&setup);
        if (check_one(&setup, argv[i], &lineup, quiet)) code = EXIT_USAGE;
        setup_end(&setup);
    }
    return code;
}

static int lineup_show(int argc, char **argv)
{
    struct lineup_flags lineup = {0};
    const struct flag flags[] = {LINEUP_FLAGS(&lineup), {0}};
    const struct usage usage =
        USAGE("nutmeg lineup show", "LINEUP", flags,
              "Prints a line-up as one YAML file, with all that it has from the line-ups that it extends.\n"
              "LINEUP is a file or a name in lineups/.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    struct nm_lineup *whole = setup_lineup(&setup, argv[1], &lineup, &err);
    if (whole)
        nm_lineup_print(whole, NULL, stdout);
    else
        complain(&err);
    nm_lineup_free(whole);
    setup_end(&setup);
    return whole ? EXIT_OK : EXIT_USAGE;
}

/* ---- list ---- */

/* The first sentence of the remark that a file begins with. */
static void about_text(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[256];
    size_t used = 0;
    *to = '\0';
    while (file && fgets(line, sizeof line, file) && line[0] == '#' && used < size) {
        line[strcspn(line, "\n")] = '\0';
        used += (size_t)snprintf(to + used, size - used, "%s%s", used ? " " : "", line + 1 + strspn(line + 1, " "));
    }
    if (file) fclose(file);
    char *end = strstr(to, ". ");
    if (end) *end = '\0';
}

static int lineup_list(int argc, char **argv)
{
    const struct usage usage =
        USAGE("nutmeg lineup list", "[PATTERN]", NULL,
              "Lists the line-ups in lineups/ whose name contains PATTERN. PATTERN may use * and ?.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct table table;
    uint32_t n_names;
    setup_begin(&setup);
    const char *const *names = setup_names(&setup, "lineups", &n_names);
    const char *home = nm_path(&setup.arena, setup.root, "lineups");
    table_begin(&table, (const char *const[]){"line-up", "robot", ">cycles", ">modules", "about", NULL});
    for (uint32_t i = 0; i < n_names; i++) {
        struct nm_err err = {0};
        char about[400];
        if (!nm_matches(names[i], n ? argv[1] : NULL)) continue;
        const char *path = nm_take_format(&setup.arena, "%s/%s.yaml", home, names[i]);
        struct nm_lineup *lineup = setup_lineup(&setup, path, &(struct lineup_flags){0}, &err);
        about_text(path, about, sizeof about);
        if (lineup)
            table_row(&table, "%s\t%s\t%u\t%u\t%s", names[i], lineup->robot ? lineup->robot : "", lineup->n_cycles,
                      lineup->n_instances, about);
        else
            table_row(&table, "%s\t\t\t\thas faults: nutmeg lineup check %s", names[i], names[i]);
        nm_lineup_free(lineup);
    }
    code = table.n_rows ? EXIT_OK : EXIT_FAILED;
    if (code) fprintf(stderr, "no line-up in %s has a name that contains '%s'\n", home, n ? argv[1] : "");
    table_print(&table, stdout);
    setup_end(&setup);
    return code;
}

int cmd_lineup(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the line-ups", lineup_list},
        {"show", "prints a line-up with all that it extends", lineup_show},
        {"check", "checks line-ups and lists every fault", lineup_check},
        {0},
    };
    return verbs_run("nutmeg lineup", "Line-ups: which modules run, and in which cycles.", verbs, argc, argv);
}

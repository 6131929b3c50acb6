/* nutmeg param: parameters of a running line-up, or of one on disk, with the layer that each value comes from. */
#include <string.h>

#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/ros_params.h"
#include "cmd/setup.h"

/* Where the parameters are read: from a player, or from a line-up's files. */
struct source {
    const char *to, *file;
    struct lineup_flags flags;
    /* while open */
    struct asking asking;
    struct setup setup;
    struct nm_lineup *lineup;
};
#define SOURCE_FLAGS(s)                                                                                                \
    TO_FLAG(&(s)->to),                                                                                                 \
        TEXT("lineup", &(s)->file, "LINEUP", "reads the files of this line-up; it does not have to run"),              \
        LINEUP_FLAGS(&(s)->flags)

static const struct nm_yaml *read_files(struct source *s, const char *instance, const char *param)
{
    struct nm_err err = {0};
    struct nm_json json;
    const struct nm_yaml *answer = NULL;
    setup_begin(&s->setup);
    nm_json_begin(&json, 4 << 20);
    s->lineup = setup_lineup(&s->setup, s->file, &s->flags, &err);
    nm_json_open(&json, NULL, '{');
    if (s->lineup && !nm_params_json(&(struct nm_view){.lineup = s->lineup}, instance, param, &json, &err)) {
        nm_json_close(&json, '}');
        answer = answer_read(&s->asking.arena, &json, &err);
    }
    nm_json_end(&json);
    if (!answer) complain(&err);
    return answer;
}

/* The answer "params"; NULL after a complaint. */
static const struct nm_yaml *source_read(struct source *s, const char *instance, const char *param)
{
    if (s->file) return read_files(s, instance, param);
    if (asking_begin(&s->asking, s->to)) return NULL;
    return ask(&s->asking, &(struct nm_request){.op = NM_CONTROL_PARAMS, .instance = instance, .param = param});
}

static void source_close(struct source *s)
{
    if (s->file) {
        nm_lineup_free(s->lineup);
        setup_end(&s->setup);
        nm_arena_free(&s->asking.arena);
    } else if (s->asking.link) {
        asking_end(&s->asking);
    }
}

/* The exit code after an answer, or none. */
static int source_code(const struct source *s, const struct nm_yaml *answer)
{
    if (answer) return EXIT_OK;
    return s->file ? EXIT_USAGE : s->asking.code ? s->asking.code : EXIT_FAILED;
}

/* Cuts "instance.parameter" in two; the parameter is NULL where only an instance is named. */
static void cut_name(char *name, const char **instance, const char **param)
{
    char *dot = strrchr(name, '.');
    *instance = name;
    *param = dot ? dot + 1 : NULL;
    if (dot) *dot = '\0';
}

/* ---- list, get, diff ---- */

static const char *origin(const struct nm_yaml *param, char *to, size_t size)
{
    const char *file = nm_reply_text(param, "file");
    int64_t line = nm_reply_whole(param, "line");
    if (*file && line)
        snprintf(to, size, "%s:%lld", file, (long long)line);
    else
        snprintf(to, size, "%s", file);
    return to;
}

static const char *range(const struct nm_yaml *param, char *to, size_t size)
{
    const char *kind = nm_reply_text(param, "kind"), *choices = nm_reply_text(param, "choices");
    if (!strcmp(kind, "switch"))
        snprintf(to, size, "true or false");
    else if (!strcmp(kind, "text"))
        snprintf(to, size, "%s", *choices ? choices : "any text");
    else
        snprintf(to, size, "%g … %g", nm_reply_number(param, "min"), nm_reply_number(param, "max"));
    return to;
}

static const char *unit_of(const struct nm_yaml *param)
{
    const char *unit = nm_reply_text(param, "unit");
    return strcmp(unit, "1") ? unit : "";
}

static void row(struct table *table, const struct nm_yaml *param, bool diff, bool all)
{
    char from[512] = "", limits[256] = "";
    if (all) origin(param, from, sizeof from), range(param, limits, sizeof limits);
    table_row(table, "%s.%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", nm_reply_text(param, "instance"),
              nm_reply_text(param, "param"), nm_reply_text(param, "value"), unit_of(param),
              diff || all ? nm_reply_text(param, "default") : "", nm_reply_text(param, "layer"), from, limits,
              all ? nm_reply_text(param, "about") : "");
}

enum choice { EVERYTHING, CHANGED, UNSAVED };

static bool wanted(const struct nm_yaml *param, enum choice choice)
{
    const char *layer = nm_reply_text(param, "layer");
    if (choice == CHANGED) return nm_reply_bool(param, "changed");
    return choice == EVERYTHING || !strcmp(layer, "live") || !strcmp(layer, "command");
}

static int print_params(struct source *source, char *name, enum choice choice, bool all)
{
    const char *instance = NULL, *param = NULL;
    if (name) cut_name(name, &instance, &param);
    const struct nm_yaml *answer = source_read(source, instance, param);
    struct table table;
    table_begin(&table, (const char *const[]){"parameter", "value", "unit", choice || all ? "default" : "", "layer",
                                              all ? "from" : "", all ? "range" : "", all ? "about" : "", NULL});
    nm_yaml_each(p, nm_yaml_get(answer, "params")) if (wanted(p, choice)) row(&table, p, choice != EVERYTHING, all);
    if (answer && !table.n_rows)
        puts(choice ? "nothing differs" : "there are no parameters");
    else if (answer)
        table_print(&table, stdout);
    source_close(source);
    return source_code(source, answer);
}

static int param_list(int argc, char **argv)
{
    struct source source = {0};
    struct ros_node remote = {.ros.domain = -1};
    bool all = false;
    const struct flag flags[] = {
        SWITCH("long", &all, "also shows default, range, description, and the file and line of the value",
               .letter = 'l'),
        SOURCE_FLAGS(&source),
        ROS_NODE_FLAGS(&remote),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg param list", "[INSTANCE[.PARAM]]", flags,
              "Lists parameters with their value and the layer that the value comes from. With --node it lists\n"
              "the parameters of a ROS 2 node whose name contains the given text.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (remote.name) return ros_param_list(&remote, n ? argv[1] : NULL);
    return print_params(&source, n ? argv[1] : NULL, EVERYTHING, all);
}

static int param_diff(int argc, char **argv)
{
    struct source source = {0};
    bool all = false, unsaved = false;
    const struct flag flags[] = {
        SWITCH("unsaved", &unsaved, "lists only values that are in no file: set while running or by --set"),
        SWITCH("long", &all, "also shows range, description, and the file and line of the value", .letter = 'l'),
        SOURCE_FLAGS(&source),
        {0},
    };
    const struct usage usage = USAGE("nutmeg param diff", "[INSTANCE]", flags,
                                     "Lists the parameters that differ from their module's default.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    return print_params(&source, n ? argv[1] : NULL, unsaved ? UNSAVED : CHANGED, all);
}

static int param_get(int argc, char **argv)
{
    struct source source = {0};
    struct ros_node remote = {.ros.domain = -1};
    bool all = false;
    const struct flag flags[] = {
        SWITCH("long", &all, "also shows layer, file, range and description", .letter = 'l'),
        SOURCE_FLAGS(&source),
        ROS_NODE_FLAGS(&remote),
        {0},
    };
    const struct usage usage = USAGE("nutmeg param get", "INSTANCE.PARAM", flags, "Prints the value of a parameter.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    const char *instance, *param;
    if (remote.name) return ros_param_get(&remote, argv[1]);
    if (!strchr(argv[1], '.')) return usage_wrong(&usage, "'%s' is not of the form INSTANCE.PARAM", argv[1]);
    if (all) return print_params(&source, argv[1], EVERYTHING, true);
    cut_name(argv[1], &instance, &param);
    const struct nm_yaml *answer = source_read(&source, instance, param);
    nm_yaml_each(p, nm_yaml_get(answer, "params")) puts(nm_reply_text(p, "value"));
    source_close(&source);
    return source_code(&source, answer);
}

/* ---- set, reset, save ---- */

static int param_set(int argc, char **argv)
{
    const char *to = NULL;
    struct ros_node remote = {.ros.domain = -1};
    const struct flag flags[] = {TO_FLAG(&to), ROS_NODE_FLAGS(&remote), {0}};
    const struct usage usage =
        USAGE("nutmeg param set", "INSTANCE.PARAM=VALUE…", flags,
              "Sets parameters of a running line-up, or with --node those of any ROS 2 node. Several parameters\n"
              "take effect at the same time. If one value is refused, none is set.",
              .most = NM_REQUEST_SETS);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (remote.name) return ros_param_set(&remote, (const char *const *)(argv + 1), (uint32_t)n);
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    const struct nm_request request = {
        .op = NM_CONTROL_SET, .n_set = (uint32_t)n, .set = (const char *const *)(argv + 1)};
    const struct nm_yaml *answer = ask(&asking, &request);
    if (answer) printf("set, generation %lld\n", (long long)nm_reply_whole(answer, "generation"));
    return asking_end(&asking);
}

static int param_reset(int argc, char **argv)
{
    const char *to = NULL, *instance = NULL, *param = NULL, *layer = NULL;
    const struct flag flags[] = {
        TEXT("layer", &layer, "LAYER", "also removes them from the saved file of this layer"),
        TO_FLAG(&to),
        {0},
    };
    const struct usage usage = USAGE("nutmeg param reset", "[INSTANCE[.PARAM]]", flags,
                                     "Undoes what was set while running: the values come from the files again.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (n) cut_name(argv[1], &instance, &param);
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    const struct nm_request request = {.op = NM_CONTROL_RESET, .instance = instance, .param = param, .layer = layer};
    const struct nm_yaml *answer = ask(&asking, &request);
    if (answer) printf("%lld reset\n", (long long)nm_reply_whole(answer, "n"));
    return asking_end(&asking);
}

static int param_save(int argc, char **argv)
{
    const char *to = NULL, *layer = NULL;
    const struct flag flags[] = {
        TEXT("layer", &layer, "LAYER", "the layer: default, robot, head, body, place, event or lineup"),
        TO_FLAG(&to),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg param save", "--layer LAYER", flags,
              "Writes what was set while running into the saved file of a layer. At the next start, this file is\n"
              "read after all other files of the layer.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (!layer) return usage_wrong(&usage, "choose where to save: --layer robot, place, lineup, …");
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    const struct nm_yaml *answer = ask(&asking, &(struct nm_request){.op = NM_CONTROL_SAVE, .layer = layer});
    if (answer && nm_reply_whole(answer, "n"))
        printf("%lld saved in %s\n", (long long)nm_reply_whole(answer, "n"), nm_reply_text(answer, "file"));
    else if (answer)
        puts("nothing to save");
    return asking_end(&asking);
}

int cmd_param(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists parameters with the layer of each value", param_list},
        {"get", "prints one value", param_get},
        {"set", "sets parameters of a running line-up", param_set},
        {"diff", "lists what differs from the defaults, or is not saved", param_diff},
        {"save", "writes what was set into the saved file of a layer", param_save},
        {"reset", "undoes what was set while running", param_reset},
        {0},
    };
    return verbs_run("nutmeg param", "Parameters, their values, and the layer that each value comes from.", verbs, argc,
                     argv);
}

/* nutmeg plot: numbers of messages over time, of a running line-up or of a log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/plot.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "codec/mcap_schema.h"
#include "core/registry.h"
#include "record/bag.h"

enum { SERIES = 16, COLUMNS = 80, ROWS = 9 };
static const double REDRAW = 0.5;  /* s between two pictures on a terminal      */
static const double PATIENCE = 10; /* s for a topic that has not come meanwhile */
static const int LISTEN = 20;      /* ms at one topic                           */

struct order {
    const char *to, *log, *from, *until, *output;
    double seconds;
};

/* What one argument asks for. */
struct wanted {
    char topic[256];
    const char *path; /* behind the first dot */
};

struct plotting {
    struct nm_arena arena;
    uint32_t n;
    struct wanted wanted[SERIES];
    struct plot_series series[SERIES];
};

static int read_arguments(struct plotting *p, char **words, int n, struct nm_err *err)
{
    for (int i = 0; i < n; i++) {
        struct wanted *w = &p->wanted[p->n];
        const char *word = words[i] + (words[i][0] == '/'), *dot = strchr(word, '.');
        if (!dot || dot == word || !dot[1] || (size_t)(dot - word) >= sizeof w->topic)
            return nm_fail(err, "'%s' is not of the form TOPIC.PATH, such as odometry.pose.pose.position.x", words[i]);
        snprintf(w->topic, sizeof w->topic, "%.*s", (int)(dot - word), word);
        w->path = dot + 1;
        p->series[p->n++].name = word;
    }
    return 0;
}

/* The place in messages of a type, if it is one number. */
static int find_place(const struct wanted *w, const struct nm_def *def, struct nm_walk_path *at, struct nm_err *err)
{
    if (nm_walk_path(def, w->path, at, err)) return -1;
    const struct nm_def_field *last = at->steps[at->n - 1].field;
    if (last->shape != NM_ONE && at->steps[at->n - 1].index < 0)
        return nm_fail(err, "%s.%s is a list: name an element, such as %s[0]", w->topic, w->path, w->path);
    if (last->kind == NM_STRUCT || last->kind == NM_STRING)
        return nm_fail(err, "%s.%s is not a number", w->topic, w->path);
    return 0;
}

static int write_picture(const struct plotting *p, const char *path, struct nm_err *err)
{
    if (plot_write(p->series, p->n, NULL, "s", path, err)) return EXIT_FAILED;
    printf("written: %s\n", path);
    return EXIT_OK;
}

static void print_picture(const struct plotting *p)
{
    int width = terminal_width(stdout);
    plot_print(p->series, p->n, (uint32_t)(width > 0 ? width : COLUMNS), ROWS, stdout);
    fflush(stdout);
}

/* ---- a log ---- */

/* A topic of a log is one of our own names behind a slash. */
static const char *topic_of(struct nm_arena *arena, const struct nm_mcap_channel *channel)
{
    const char *name = BAG_CLEAN(channel->topic);
    return nm_take_text(arena, name + (*name == '/'));
}

/* The channels of a series, as places in their messages; NULL where a channel is of another topic. */
static int open_channels(struct plotting *p, struct bag *bag, uint32_t series, struct nm_walk_path ***places,
                         struct nm_err *err)
{
    enum { NAMES = 1024 };
    const char *wanted = p->wanted[series].topic, *names[NAMES];
    uint32_t n_names = 0;
    bool found = false;
    for (uint32_t i = 0; i < bag->n; i++) {
        const struct nm_mcap_contents *c = &bag->parts[i].contents;
        for (uint32_t k = 0; k < c->n_channels; k++) {
            const char *topic = topic_of(&p->arena, &c->channels[k]);
            if (n_names < NAMES) names[n_names++] = topic;
            if (strcmp(topic, wanted)) continue;
            const struct nm_mcap_schema *schema = nm_mcap_schema_of(c, c->channels[k].schema_id);
            const struct nm_def *def = schema ? nm_mcap_def(&p->arena, schema, err) : NULL;
            if (!def) return err->n ? -1 : nm_fail(err, "%s has no schema in the log", wanted);
            places[i][k] = nm_take_n(&p->arena, struct nm_walk_path, 1);
            if (find_place(&p->wanted[series], def, places[i][k], err)) return -1;
            found = true;
        }
    }
    if (found) return 0;
    return nm_fail(err, "the log has no topic '%s'%s", wanted, nm_hint(wanted, names, n_names).text);
}

static int read_log(struct plotting *p, const struct order *o, struct nm_err *err)
{
    struct bag bag;
    struct progress line;
    struct nm_mcap_query_options time;
    struct nm_mcap_message message;
    uint32_t part, channel;
    struct nm_walk_path ***places[SERIES]; /* of each series, part and channel */
    progress_begin(&line, "reading");
    int bad = bag_open(&bag, o->log, &line.as, err);
    if (bad) return EXIT_FAILED;
    for (uint32_t s = 0; s < p->n && !bad; s++) {
        places[s] = nm_take_n(&p->arena, struct nm_walk_path **, bag.n + 1);
        for (uint32_t i = 0; i < bag.n; i++)
            places[s][i] = nm_take_n(&p->arena, struct nm_walk_path *, bag.parts[i].contents.n_channels + 1);
        bad = open_channels(p, &bag, s, places[s], err);
    }
    struct bag_choice choice = {.from = o->from, .to = o->until};
    if (!bad) bad = bag_choose(&bag, &choice, &time, err);
    struct bag_reader *reader = bad ? NULL : bag_reader_new(&bag, &time);
    while (reader && !stopping() && bag_next(reader, &message, &part, &channel)) {
        bag_tell(&bag, message.log_time - bag.first, bag.last - bag.first + 1);
        for (uint32_t s = 0; s < p->n; s++) {
            double value;
            const struct nm_walk_path *at = places[s][part][channel];
            if (!at || nm_walk_number(at, message.data.at, message.data.n, &value, NULL) <= 0) continue;
            plot_add(&p->series[s], (double)(message.log_time - bag.first) * 1e-9, value);
        }
    }
    progress_end(&line);
    if (reader) bag_reader_free(reader);
    complain(&bag.damage);
    bag_close(&bag);
    return bad ? EXIT_USAGE : EXIT_OK;
}

static int plot_log(struct plotting *p, const struct order *o, struct nm_err *err)
{
    int code = read_log(p, o, err);
    if (code) return code;
    if (interrupted()) return tell_interrupted("the log was not read to its end; nothing is plotted");
    for (uint32_t s = 0; s < p->n; s++)
        if (!p->series[s].n)
            return nm_fail(err, "this part of the log has no message of %s", p->wanted[s].topic), EXIT_FAILED;
    if (o->output) return write_picture(p, o->output, err);
    print_picture(p);
    return EXIT_OK;
}

/* ---- a running line-up ---- */

/* A path that was checked against the type, in a message that was printed as YAML. */
static double number_at(const struct nm_yaml *node, const char *path)
{
    char name[256];
    while (node && *path) {
        if (*path == '[') {
            long index = strtol(path + 1, (char **)&path, 10);
            node = nm_yaml_first(node);
            while (node && index--) node = node->next;
            path += strspn(path, "].");
        } else {
            size_t n = strcspn(path, ".[");
            snprintf(name, sizeof name, "%.*s", (int)n, path);
            node = nm_yaml_get(node, name);
            path += n + (path[n] == '.');
        }
    }
    double value = NAN;
    bool yes;
    if (node && !nm_yaml_bool(node, &yes, NULL)) return yes;
    if (node) nm_yaml_number(node, &value, NULL);
    return value;
}

/* Begins to listen to a topic; the exit code. */
static int listen_to(struct plotting *p, uint32_t s, struct asking *asking, const char *to, struct nm_err *err)
{
    const struct wanted *w = &p->wanted[s];
    struct nm_walk_path at;
    if (asking_begin(asking, to)) return asking->code;
    const struct nm_yaml *answer = ask(asking, &(struct nm_request){.op = NM_CONTROL_ECHO, .topic = w->topic});
    if (!answer) return asking->code;
    const struct nm_type *type = nm_type_find(&nm_all_types, nm_reply_text(answer, "type"));
    if (!type) return nm_fail(err, "%s has a type that this program does not know", w->topic), EXIT_FAILED;
    struct nm_mcap_schema schema = {1, nm_bytes_of(type->name), nm_bytes_of("ros2msg"), nm_bytes_of(type->schema)};
    const struct nm_def *def = nm_mcap_def(&p->arena, &schema, err);
    return def && !find_place(w, def, &at, err) ? EXIT_OK : EXIT_USAGE;
}

/* Takes what has come of one topic; -1 when the player is gone. */
static int take(struct plotting *p, uint32_t s, struct asking *asking, int64_t *first, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *message = nm_link_next(asking->link, &arena, LISTEN, err);
    const char *text = message ? nm_reply_text(message, "text") : "";
    const struct nm_yaml *tree = *text ? nm_yaml_parse(&arena, "message", text, strlen(text), NULL) : NULL;
    if (message) {
        int64_t time = nm_reply_whole(message, "time");
        if (*first < 0) *first = time;
        plot_add(&p->series[s], (double)(time - *first) * 1e-9, number_at(tree, p->wanted[s].path));
    }
    nm_arena_free(&arena);
    return err->n ? -1 : 0;
}

static bool all_came(const struct plotting *p)
{
    for (uint32_t s = 0; s < p->n; s++)
        if (!p->series[s].n) return false;
    return true;
}

/* On a terminal the picture moves until Ctrl-C; elsewhere, and for a file, it is made once. */
static int follow(struct plotting *p, const struct order *o, struct asking *asking, struct nm_err *err)
{
    bool moves = !o->output && terminal_width(stdout);
    double began = nm_clock_seconds(), drawn = began, now = began;
    int64_t first = -1;
    while (!stopping() &&
           (moves || now - began < o->seconds || (!all_came(p) && now - began < o->seconds + PATIENCE))) {
        for (uint32_t s = 0; s < p->n; s++)
            if (take(p, s, &asking[s], &first, err)) return EXIT_FAILED;
        now = nm_clock_seconds();
        if (!moves || now - drawn < REDRAW) continue;
        drawn = now;
        for (uint32_t s = 0; s < p->n; s++)
            if (p->series[s].n) plot_forget(&p->series[s], p->series[s].at[p->series[s].n - 1].time - o->seconds);
        clear_screen(stdout);
        print_picture(p);
    }
    if (moves) return EXIT_OK;
    if (interrupted()) return tell_interrupted("nothing is plotted");
    for (uint32_t s = 0; s < p->n; s++)
        if (!p->series[s].n)
            return nm_fail(err, "no message came on %s for %.0f s; nutmeg why %s shows the reason", p->wanted[s].topic,
                           now - began, p->wanted[s].topic),
                   EXIT_FAILED;
    if (o->output) return write_picture(p, o->output, err);
    print_picture(p);
    return EXIT_OK;
}

static int plot_live(struct plotting *p, const struct order *o, struct nm_err *err)
{
    struct asking asking[SERIES] = {0};
    uint32_t n = 0;
    int code = EXIT_OK;
    while (n < p->n && !code) {
        code = listen_to(p, n, &asking[n], o->to, err);
        n++;
    }
    if (!code) code = follow(p, o, asking, err);
    for (uint32_t s = 0; s < n; s++)
        if (asking[s].link) asking_end(&asking[s]);
    return code;
}

int cmd_plot(int argc, char **argv)
{
    struct order o = {.seconds = 10};
    const struct flag flags[] = {
        TEXT("log", &o.log, "LOG", "plots from this log instead of a running line-up"),
        TEXT("from", &o.from, "T", "log: starts at T: seconds from the start, -S from the end, or @UNIXTIME"),
        TEXT("until", &o.until, "T", "log: ends before T"),
        NUMBER("seconds", &o.seconds, 0.1, 1e6, "N", "running line-up: seconds that are shown (default: 10)",
               .letter = 's'),
        TEXT("output", &o.output, "FILE", "writes a picture (.png or .svg) instead of text", .letter = 'o'),
        TO_FLAG(&o.to),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg plot", "TOPIC.PATH…", flags,
              "Plots numbers in messages over time, such as odometry.pose.pose.position.x or\n"
              "joint_states.position[3], from a running line-up or from a log. On a terminal, the plot of a\n"
              "running line-up is updated until Ctrl-C.",
              .most = SERIES);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct plotting p = {0};
    struct nm_err err = {0};
    if (o.output && !strstr(o.output, ".png") && !strstr(o.output, ".svg"))
        return usage_wrong(&usage, "'%s': the name of a picture must end in .svg or .png", o.output);
    if (!o.log && (o.from || o.until)) return usage_wrong(&usage, "--from and --until need --log");
    if (read_arguments(&p, argv + 1, n, &err))
        return usage_wrong(&usage, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    stop_by_signals();
    code = o.log ? plot_log(&p, &o, &err) : plot_live(&p, &o, &err);
    complain(&err);
    for (uint32_t s = 0; s < p.n; s++) plot_free(&p.series[s]);
    nm_arena_free(&p.arena);
    return code;
}

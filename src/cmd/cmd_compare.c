/* nutmeg compare: shows what a changed module, parameter or machine did to the same game. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/plot.h"
#include "cmd/progress.h"
#include "codec/json.h"
#include "record/compare.h"

/* ---- the picture: the members that differ most, one panel each, with their values in both logs over time; of lists
 * the largest difference of their elements ---- */

enum { BINS = 860 /* of the whole time; a pixel each */, PANELS = 10 };

struct compare_series {
    bool there[BINS];
    float a[BINS], b[BINS]; /* newest; of a list only `a`: the largest difference */
};

/* For `seen` of a comparison that is going to be plotted. */
static void compare_seen(void *user, struct nm_diff_place *place, double a, double b)
{
    struct compare_topic *topic = user;
    struct compare_series *series = place->user;
    if (!series) series = place->user = nm_take_n(topic->diff.arena, struct compare_series, 1);
    uint32_t i = (uint32_t)(topic->share * (BINS - 1));
    if (!place->listed) {
        series->a[i] = (float)a;
        series->b[i] = (float)b;
    } else {
        float gap = (float)fabs(a - b);
        if (!series->there[i] || gap > series->a[i]) series->a[i] = series->b[i] = gap;
    }
    series->there[i] = true;
}

struct panel {
    const struct compare_topic *topic;
    const struct nm_diff_place *place;
    double weight;
};

static void measure(struct panel *panel)
{
    const struct compare_series *s = panel->place->user;
    double apart = 0, low = INFINITY, high = -INFINITY;
    for (int i = 0; i < BINS; i++) {
        if (!s->there[i] || !isfinite(s->a[i] + s->b[i])) continue;
        low = fmin(low, fmin(s->a[i], s->b[i]));
        high = fmax(high, fmax(s->a[i], s->b[i]));
        apart = fmax(apart, fabs((double)s->a[i] - (double)s->b[i]));
    }
    panel->weight = high > low ? (panel->place->listed ? panel->place->largest : apart) / (high - low) : 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct panel *x = a, *y = b;
    return x->weight > y->weight ? -1 : x->weight < y->weight;
}

static uint32_t find_panels(const struct compare *c, struct panel **all)
{
    uint32_t n = 0, room = 0;
    *all = NULL;
    for (uint32_t t = 0; t < c->n; t++)
        for (const struct nm_diff_place *place = c->at[t].diff.places; place; place = place->next) {
            if (!place->differ || !place->number || !place->user) continue;
            *all = nm_more(*all, n, &room, sizeof **all);
            (*all)[n] = (struct panel){.topic = &c->at[t], .place = place};
            measure(&(*all)[n++]);
        }
    if (n) qsort(*all, n, sizeof **all, by_weight);
    return n;
}

static void add_panel(const struct compare *c, const struct panel *panel, struct plot_series series[2], char name[256])
{
    const struct compare_series *s = panel->place->user;
    double second = (double)(c->last - c->first) * 1e-9 / BINS;
    snprintf(name, 256, "%.100s %.100s, %s%.4g apart", panel->topic->name, panel->place->path,
             panel->place->listed ? "elements up to " : "up to ", panel->place->largest);
    series[0].name = name;
    series[1].joins = true;
    for (int i = 0; i < BINS; i++) {
        if (!s->there[i] || !isfinite(s->a[i] + s->b[i])) continue;
        plot_add(&series[0], i * second, (double)s->a[i]);
        if (!panel->place->listed) plot_add(&series[1], i * second, (double)s->b[i]);
    }
}

/* FILE.svg or FILE.png. */
static int compare_plot(const struct compare *c, const char *path, struct nm_err *err)
{
    struct panel *panels;
    uint32_t n = find_panels(c, &panels), shown = n < PANELS ? n : PANELS;
    struct plot_series series[2 * PANELS] = {0};
    char names[PANELS][256], title[160];
    for (uint32_t i = 0; i < shown; i++) add_panel(c, &panels[i], &series[2 * i], names[i]);
    snprintf(title, sizeof title, n ? "A blue, B orange: %u of %u members that differ" : "no numbers differ", shown, n);
    int bad = plot_write(series, 2 * shown, title, "s", path, err);
    for (uint32_t i = 0; i < 2 * shown; i++) plot_free(&series[i]);
    free(panels);
    return bad;
}

/* As diff ends: 1 is a difference, so what could not be compared at all is 2. */
enum { EXIT_DIFFERS = 1, JSON_MOST = 64 << 20 };

/* ---- for people ---- */

static double rms(const struct nm_diff_place *place)
{
    uint64_t n = place->differ - place->unlike;
    return n ? sqrt(place->squares / (double)n) : 0;
}

static double seconds(const struct compare *c, uint64_t time) { return (double)(int64_t)(time - c->start) * 1e-9; }

static void print_fields(const struct nm_diff *diff, uint32_t most)
{
    struct table table;
    uint32_t shown = 0, left = 0;
    table_begin(&table, (const char *const[]){"    member", ">values", ">largest", ">rms", NULL});
    for (const struct nm_diff_place *place = diff->places; place; place = place->next) {
        char sizes[80] = "\t";
        if (!place->differ) continue;
        if (shown == most) {
            left++;
            continue;
        }
        if (place->differ > place->unlike) snprintf(sizes, sizeof sizes, "%.6g\t%.6g", place->largest, rms(place));
        table_row(&table, "    %s\t%" PRIu64 "\t%s", place->path, place->differ, sizes);
        shown++;
    }
    table_print(&table, stdout);
    if (left) printf("    and %u more members\n", left);
}

/* A log's own notes begin in the first column; ours stand under their topic. */
static void print_lines(const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        printf("    %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_topic(const struct compare *c, const struct compare_topic *topic, uint32_t most)
{
    static const char names[2] = {'A', 'B'};
    printf("%s%s%s", ink(stdout, INK_BOLD), topic->name, ink(stdout, INK_PLAIN));
    for (int s = 0; s < 2; s++)
        if (!topic->type[s]) {
            printf(": in %c only, %" PRIu64 " messages of %s\n", names[!s], topic->n[!s], topic->type[!s]);
            return;
        }
    printf(": %" PRIu64 " of %" PRIu64 " pairs differ, matched by %s\n", topic->diff.differing, topic->diff.messages,
           match_words[topic->by]);
    for (int s = 0; s < 2; s++)
        if (topic->only[s])
            printf("    %" PRIu64 " of %" PRIu64 " messages are in %c only, the first at %.6f s\n", topic->only[s],
                   topic->n[s], names[s], seconds(c, topic->first_only[s]));
    if (topic->notes) print_lines(topic->notes->text);
    if (topic->broken) printf("    %" PRIu64 " pairs cannot be compared: %s\n", topic->broken, topic->why);
    if (!topic->diff.differing) return;
    printf("    first at %.6f s: %s is %s in A, %s in B\n", seconds(c, topic->first_time), topic->diff.path,
           topic->diff.a, topic->diff.b);
    print_fields(&topic->diff, most);
}

static void compare_print(const struct compare *c, uint32_t most)
{
    uint64_t same = 0, messages = 0, all = 0;
    for (uint32_t t = 0; t < c->n; t++) {
        const struct compare_topic *topic = &c->at[t];
        if (!topic->chosen) continue;
        all++;
        if (!compare_topic_same(topic)) {
            print_topic(c, topic, most);
            continue;
        }
        same++;
        messages += topic->n[LOG_A];
        if (topic->notes && topic->notes->n) {
            printf("%s: the same messages, but the types differ\n", topic->name);
            print_lines(topic->notes->text);
        }
    }
    if (c->damaged) printf("%u chunks could not be read and are not compared\n", c->damaged);
    printf("%s%" PRIu64 " of %" PRIu64 " topics are the same%s, with %" PRIu64 " messages%s\n",
           ink(stdout, compare_same(c) ? INK_GREEN : INK_YELLOW), same, all, ink(stdout, INK_PLAIN), messages,
           c->tolerance > 0 ? " (within the tolerance)" : "");
}

/* ---- JSON ---- */

static void json_fields(struct nm_json *json, const struct nm_diff *diff)
{
    nm_json_open(json, "members", '[');
    for (const struct nm_diff_place *place = diff->places; place; place = place->next) {
        if (!place->differ) continue;
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "path", place->path);
        nm_json_whole(json, "differ", (int64_t)place->differ);
        if (place->differ > place->unlike) {
            nm_json_exact(json, "largest", place->largest);
            nm_json_exact(json, "rms", rms(place));
        }
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

static void json_topic(struct nm_json *json, const struct compare_topic *topic)
{
    static const struct {
        const char *type, *messages, *only;
    } words[2] = {{"type_a", "messages_a", "only_a"}, {"type_b", "messages_b", "only_b"}};
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "topic", topic->name);
    nm_json_bool(json, "same", compare_topic_same(topic));
    for (int s = 0; s < 2; s++) {
        nm_json_text(json, words[s].type, topic->type[s]);
        nm_json_whole(json, words[s].messages, (int64_t)topic->n[s]);
        nm_json_whole(json, words[s].only, (int64_t)topic->only[s]);
    }
    nm_json_text(json, "matched_by", match_words[topic->by]);
    nm_json_whole(json, "pairs", (int64_t)topic->diff.messages);
    nm_json_whole(json, "differ", (int64_t)topic->diff.differing);
    if (topic->broken) nm_json_text(json, "not_compared", topic->why);
    if (topic->diff.differing) {
        nm_json_open(json, "first", '{');
        nm_json_whole(json, "time", (int64_t)topic->first_time);
        nm_json_text(json, "path", topic->diff.path);
        nm_json_text(json, "a", topic->diff.a);
        nm_json_text(json, "b", topic->diff.b);
        nm_json_close(json, '}');
        json_fields(json, &topic->diff);
    }
    nm_json_close(json, '}');
}

static void compare_json(const struct compare *c)
{
    struct nm_json json;
    nm_json_begin(&json, JSON_MOST);
    nm_json_open(&json, NULL, '{');
    nm_json_bool(&json, "same", compare_same(c));
    nm_json_open(&json, "topics", '[');
    for (uint32_t t = 0; t < c->n; t++)
        if (c->at[t].chosen) json_topic(&json, &c->at[t]);
    nm_json_close(&json, ']');
    nm_json_close(&json, '}');
    puts(json.text);
    nm_json_end(&json);
}

/* ---- the command ---- */

static int compare(struct compare *c, const char *const paths[2], const struct bag_choice *choice, struct nm_err *err)
{
    struct progress line;
    bool open[2] = {false, false};
    progress_begin(&line, "reading");
    for (int s = 0; s < 2; s++) open[s] = !bag_open(&c->bags[s], paths[s], &line.as, err);
    line.what = "comparing";
    bool ready =
        open[LOG_A] && open[LOG_B] && !bag_choose(&c->bags[LOG_A], choice, &c->time, err) && !compare_match(c, err);
    if (ready) compare_pairs(c);
    progress_end(&line);
    for (int s = 0; s < 2 && !ready; s++)
        if (open[s]) bag_close(&c->bags[s]);
    return ready ? 0 : -1;
}

int cmd_compare(int argc, char **argv)
{
    struct compare c = {0};
    struct bag_choice time = {0};
    struct texts topics = {0}, leave = {0};
    struct nm_err err = {0};
    const char *plot = NULL, *match = "auto";
    bool json = false;
    int64_t most = 12;
    const struct flag flags[] = {
        NUMBER("tolerance", &c.tolerance, 0, 1e300, "X",
               "treats numbers that differ by at most X as equal (default: 0)"),
        TEXTS("topics", &topics, "A,B", "only these topics: names, parts of names, or patterns with * and ?"),
        TEXTS("leave", &leave, "PATH", "does not compare this member, such as header.stamp; may be repeated"),
        TEXT("from", &time.from, "T", "starts at T: seconds from the start of A, -S from its end, or @UNIXTIME"),
        TEXT("to", &time.to, "T", "ends before T"),
        TEXT("match", &match, "HOW", "how messages are paired: time, sequence, order or auto"),
        WHOLE("members", &most, 0, 1e6, "N", "lists at most N members of a topic (default: 12)"),
        SWITCH("json", &json, "prints one JSON object"),
        TEXT("plot", &plot, "FILE", "draws what differs most over time: FILE.svg or FILE.png"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg compare", "A B", flags,
              "Compares two logs topic by topic, such as a recording and its replay: where they differ first,\n"
              "how often and by how much. If a type has changed, members with the same name are compared.\n"
              "The exit code is 0 if the logs are the same, 1 if they differ, 2 if they cannot be compared.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    for (c.match = MATCH_AUTO; c.match <= MATCH_ORDER && strcmp(match, match_words[c.match]);) c.match++;
    if (c.match > MATCH_ORDER)
        return usage_wrong(&usage, "--match must be auto, time, sequence or order, not '%s'", match);
    size_t ending = plot ? strlen(plot) : 0;
    if (plot && (ending < 5 || (strcmp(plot + ending - 4, ".svg") && strcmp(plot + ending - 4, ".png"))))
        return usage_wrong(&usage, "--plot %s: the name of a picture must end in .svg or .png", plot);
    if (plot) c.seen = compare_seen;
    c.topics = topics.at;
    c.n_topics = topics.n;
    c.leave = leave.at;
    c.n_leave = leave.n;
    code = EXIT_USAGE;
    if (!compare(&c, (const char *const[]){argv[1], argv[2]}, &time, &err)) {
        code = compare_same(&c) ? EXIT_OK : EXIT_DIFFERS;
        if (json)
            compare_json(&c);
        else
            compare_print(&c, (uint32_t)most);
        if (plot && compare_plot(&c, plot, &err)) code = EXIT_USAGE;
        for (int s = 0; s < 2; s++) {
            complain(&c.bags[s].damage);
            bag_close(&c.bags[s]);
        }
    }
    complain(&err);
    compare_end(&c);
    return code;
}

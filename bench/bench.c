/* The frame of the benchmarks: which there are, and how their results are printed. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct nm_bench {
    const struct nm_bench_options *options;
    int missed;
    struct nm_err failed; /* why a group could not be measured */
    char above[96];       /* the last row that stands under no other */
    const char *head;     /* of the column beside the values, until the heads are printed; then NULL */
};

/* A build without a benchmark's file (and the peer that it needs) simply has fewer rows. */
#define BENCH(name) void name(struct nm_bench *bench) __attribute__((weak))
BENCH(bench_core);
BENCH(bench_cdr_cyclone);
BENCH(bench_body);
BENCH(bench_bus);
BENCH(bench_log);
BENCH(bench_record);
BENCH(bench_sim);
BENCH(bench_learn);
BENCH(bench_live);
BENCH(bench_web);
BENCH(bench_wire);
BENCH(bench_motion);
BENCH(bench_approach);
BENCH(bench_keeper);
BENCH(bench_match);
BENCH(bench_faults);
BENCH(bench_position);
BENCH(bench_ball);
BENCH(bench_walk);
BENCH(bench_robots);
BENCH(bench_vision);

static const struct {
    const char *group;
    void (*run)(struct nm_bench *bench);
    bool alone;       /* takes minutes: only when it is named */
    const char *rows; /* words for --only, with commas between; NULL: it has none */
} benches[] = {
    {"world", bench_position, true, "playing,kidnapped,wrong_side,fall,false_percepts,particles"},
    {"world", bench_ball, true, "ball"},
    {"match", bench_match, true,
     "physics,beginners_physics,drop_in_physics,flat,beginners,lossy,drop_in,messages_hl,messages_spl,messages_hsl"},
    {"match", bench_approach, true, "approach"},
    {"motion", bench_motion, true, NULL},
    {"walk", bench_walk, true, NULL},
    {"core", bench_core, false, NULL},
    {"core", bench_cdr_cyclone, false, NULL},
    {"body", bench_body, false, NULL},
    {"bus", bench_bus, false, NULL},
    {"sim", bench_sim, false, NULL},
    {"live", bench_live, false, NULL},
    {"wire", bench_wire, false, NULL},
    {"log", bench_log, false, NULL},
    {"log", bench_record, false, NULL},
    {"learn", bench_learn, false, NULL},
    {"robots", bench_robots, true, NULL},
    {"vision", bench_vision, true, "finds,loops,networks,latency,real,around,calibration,troubles,speed,games"},
    {"faults", bench_faults, true, NULL},
    {"match", bench_keeper, true, "keeper"},
    {"web", bench_web, true, "robot,size,first,frames,log"},
};
enum { BENCHES = sizeof benches / sizeof *benches };

bool nm_bench_quick(const struct nm_bench *bench) { return bench->options->quick; }

/* Names and units are ours: the one thing to escape is a quotation mark or a backslash in them. */
static void json_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', to);
        if ((unsigned char)*text >= ' ') fputc(*text, to);
    }
    fputc('"', to);
}

static void json_number(FILE *to, double value)
{
    if (isfinite(value))
        fprintf(to, "%.6g", value);
    else
        fputs("null", to);
}

static void report_json(FILE *to, const char *name, double value, const char *unit, double ratio, const char *goal,
                        bool ok)
{
    fputs("{\"name\": ", to);
    json_text(to, name);
    fputs(", \"value\": ", to);
    json_number(to, value);
    fputs(", \"unit\": ", to);
    json_text(to, unit);
    fputs(", \"ratio\": ", to);
    json_number(to, ratio);
    fputs(", \"goal\": ", to);
    json_text(to, goal);
    fprintf(to, ", \"ok\": %s}\n", ok ? "true" : "false");
}

/* A row without a goal is neither met nor missed. */
static const char *verdict(const char *goal, bool ok) { return !ok ? "missed" : *goal ? "ok" : "-"; }

/* A row as soon as it is known: the columns have fixed widths. */
static void report_row(FILE *to, const char *name, double value, const char *unit, double ratio, const char *goal,
                       bool ok)
{
    char beside[32] = "";
    if (isfinite(ratio)) snprintf(beside, sizeof beside, "%.3g x", ratio);
    fprintf(to, "%-52s %10.4g %-6s %9s   %-16s %s\n", name, value, unit, beside, goal, verdict(goal, ok));
}

/* Above the first line; a group that cannot be measured prints none. */
static void print_head(struct nm_bench *bench)
{
    if (bench->head && !bench->options->json)
        fprintf(bench->options->to, "%-52s %10s %-6s %9s   %-16s\n", "what", "value", "unit", bench->head, "goal");
    bench->head = NULL;
}

void nm_bench_report(struct nm_bench *bench, const char *name, double value, const char *unit, double ratio,
                     const char *goal, bool ok)
{
    FILE *to = bench->options->to;
    print_head(bench);
    (bench->options->json ? report_json : report_row)(to, name, value, unit, ratio, goal, ok);
    fflush(to);
    bench->missed += !ok;
}

void nm_bench_beside(struct nm_bench *bench, const char *name, double value, const char *unit, const char *known,
                     const char *goal, bool ok)
{
    FILE *to = bench->options->to;
    char number[32] = "-";
    print_head(bench);
    ok &= isfinite(value);
    bench->missed += !ok;
    if (strncmp(name, "  ", 2)) snprintf(bench->above, sizeof bench->above, "%s", name);
    if (isfinite(value)) snprintf(number, sizeof number, "%.4g", value);
    if (!bench->options->json) {
        fprintf(to, "%-52s %10s %-6s %9s   %-16s %s\n", name, number, unit, known, goal,
                ok || isfinite(value) ? verdict(goal, ok) : "not measured");
        fflush(to);
        return;
    }
    /* a row that stands indented under another is named after both */
    char whole[160], *rest;
    bool under = !strncmp(name, "  ", 2);
    snprintf(whole, sizeof whole, "%s%s%s", under ? bench->above : "", under ? ": " : "", under ? name + 2 : name);
    double beside = strtod(known, &rest);
    fputs("{\"name\": ", to);
    json_text(to, whole);
    fputs(", \"value\": ", to);
    json_number(to, value);
    fputs(", \"unit\": ", to);
    json_text(to, unit);
    fputs(", \"ratio\": ", to);
    json_number(to, *known && !*rest && beside != 0 ? value / beside : NAN);
    fputs(", \"known\": ", to);
    json_text(to, known);
    fputs(", \"goal\": ", to);
    json_text(to, goal);
    fprintf(to, ", \"ok\": %s}\n", ok ? "true" : "false");
    fflush(to);
}

const struct nm_bench_options *nm_bench_options(const struct nm_bench *bench) { return bench->options; }

/* ---- --only ---- */

/* Whether a list of words with commas between has this one. */
static bool has_word(const char *list, const char *word, size_t length)
{
    while (list) {
        size_t n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n)) return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

bool nm_bench_wants(const struct nm_bench *bench, const char *row)
{
    return !bench->options->only || has_word(bench->options->only, row, strlen(row));
}

/* Whether --only names a row of this benchmark. */
static bool is_wanted(const struct nm_bench *bench, const char *rows)
{
    for (const char *word = bench->options->only; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
        if (has_word(rows, word, strcspn(word, ","))) return true;
    return !bench->options->only;
}

static int check_only(const struct nm_bench_options *o, struct nm_err *err)
{
    char list[256] = "";
    for (uint32_t i = 0; i < BENCHES; i++) {
        size_t used = strlen(list);
        if (benches[i].run && benches[i].rows && o->group && !strcmp(o->group, benches[i].group))
            snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", benches[i].rows);
    }
    if (!*list) return nm_fail(err, "--only needs a group with rows that can be chosen, such as match");
    for (const char *word = o->only; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
        if (!has_word(list, word, strcspn(word, ",")))
            return nm_fail(err, "--only: there is no row '%.*s'; the rows are %s", (int)strcspn(word, ","), word, list);
    return 0;
}

void nm_bench_say(struct nm_bench *bench, const char *format, ...)
{
    va_list list;
    char text[400];
    print_head(bench);
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (bench->options->json) {
        fputs("{\"note\": ", bench->options->to);
        json_text(bench->options->to, text);
        fputs("}\n", bench->options->to);
    } else {
        fprintf(bench->options->to, "%s\n", text);
    }
}

void nm_bench_fail(struct nm_bench *bench, const struct nm_err *err) { bench->failed = *err; }

static int no_group(const char *group, struct nm_err *err)
{
    const char *names[BENCHES];
    char list[256] = "";
    uint32_t n = 0;
    for (uint32_t i = 0; i < BENCHES; i++) {
        if (!benches[i].run || nm_word_of(benches[i].group, names, n) >= 0) continue;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", benches[i].group);
        names[n++] = benches[i].group;
    }
    if (!n) return nm_fail(err, "this build has no benchmarks");
    const char *near = group ? nm_nearest(group, names, n) : NULL;
    return nm_fail(err, "there is no group of benchmarks '%s'%s%s%s; the groups are: %s", group,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "", list);
}

int nm_bench_run(const struct nm_bench_options *options, struct nm_err *err)
{
    struct nm_bench bench = {.options = options};
    bool any = false;
    if (options->only && check_only(options, err)) return -1;
    for (uint32_t i = 0; i < BENCHES; i++) {
        if (!is_wanted(&bench, benches[i].rows)) continue;
        if (!benches[i].run || (options->group && strcmp(options->group, benches[i].group))) continue;
        if (!options->group && benches[i].alone) continue;
        if (!any) bench.head = benches[i].alone ? "known" : "ratio";
        any = true;
        benches[i].run(&bench);
    }
    if (bench.failed.n) {
        *err = bench.failed;
        return -1;
    }
    return any ? bench.missed : no_group(options->group, err);
}

/* The parts of a search of `nutmeg tune`: which parameters it changes and how its coordinates become values; key frames
 * of an animation as parameters; the generations; the search on disk; and its picture. */
#include "cmd/tune.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "body/animation_carry.h"
#include "cmd/pool.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "core/player.h"

/* ---- which parameters are searched ---- */

static bool listed(const struct nm_param *p) { return p->kind == NM_PARAM_FLOATS || p->kind == NM_PARAM_DOUBLES; }
static bool whole(const struct nm_param *p) { return p->kind == NM_PARAM_INT32 || p->kind == NM_PARAM_INT64; }

static const char *tune_name(const struct tune_param *p, char to[160])
{
    if (p->animation)
        snprintf(to, 160, "%.60s[%u].%.60s", p->instance, p->element, p->param->name);
    else if (listed(p->param))
        snprintf(to, 160, "%.60s.%.60s[%u]", p->instance, p->param->name, p->element);
    else
        snprintf(to, 160, "%.60s.%.60s", p->instance, p->param->name);
    return to;
}

/* Unless a range is given: half of the value to both sides, at least a twentieth of what the module allows. */
static void usual_range(struct tune_param *p)
{
    double wide = fmax(0.5 * fabs(p->value), 0.05 * (p->param->max - p->param->min));
    p->low = fmax(p->value - wide, p->param->min);
    p->high = fmin(p->value + wide, p->param->max);
}

static int add(struct tune_params *all, const struct nm_player *player, const char *instance, const char *name,
               uint32_t element, struct tune_param **added, struct nm_err *err)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    const char *names[256];
    uint32_t i = nm_lineup_instance(lineup, instance), n = 0;
    while (n < lineup->n_instances && n < 256) names[n] = lineup->instances[n].name, n++;
    if (i == NM_NONE)
        return nm_fail(err, "the line-up has no instance '%.60s'%s", instance, nm_hint(instance, names, n).text);
    const struct nm_module *module = lineup->instances[i].module;
    int index = nm_param_find(module, name, err);
    if (index < 0) return -1;
    struct tune_param p = {.instance = lineup->instances[i].name, .param = &module->params[index], .element = element};
    char text[160];
    if (p.param->kind == NM_PARAM_BOOL || p.param->kind == NM_PARAM_TEXT)
        return nm_fail(err, "%s is not a number, so it cannot be searched", tune_name(&p, text));
    if (element >= nm_param_elements(p.param))
        return nm_fail(err, "%s: there are only %u elements, counted from 0", tune_name(&p, text),
                       nm_param_elements(p.param));
    for (uint32_t k = 0; k < all->n; k++)
        if (!strcmp(all->at[k].instance, p.instance) && all->at[k].param == p.param && all->at[k].element == element)
            return nm_fail(err, "%s is named twice", tune_name(&p, text));
    if (all->n == TUNE_PARAMS) return nm_fail(err, "at most %d parameters can be searched", TUNE_PARAMS);
    nm_player_value(player, i, (uint32_t)index, &p.before);
    p.value = whole(p.param) ? (double)p.before.whole : p.before.number[element];
    usual_range(&p);
    all->at[all->n] = p;
    *added = &all->at[all->n++];
    return 0;
}

static int set_range(struct tune_param *p, double low, double high, struct nm_err *err)
{
    char text[160];
    if (!(low < high)) return nm_fail(err, "%s: a range must be LOW..HIGH", tune_name(p, text));
    if (low < p->param->min || high > p->param->max)
        return nm_fail(err, "%s: the module allows %g to %g", tune_name(p, text), p->param->min, p->param->max);
    p->low = low;
    p->high = high;
    return 0;
}

/* Splits "name[2]" in place; false if there is no number in the brackets. */
static bool split_element(char *name, uint32_t *element)
{
    char *open = strchr(name, '['), *end;
    *element = 0;
    if (!open) return true;
    unsigned long value = strtoul(open + 1, &end, 10);
    if (end == open + 1 || strcmp(end, "]") || value > NM_PARAM_LIST_MAX) return false;
    *element = (uint32_t)value;
    *open = '\0';
    return true;
}

int tune_add(struct tune_params *all, const struct nm_player *player, const char *text, struct nm_err *err)
{
    char copy[200], *name, *range, *end;
    uint32_t element;
    struct tune_param *p;
    if (strlen(text) >= sizeof copy || !strchr(text, '.'))
        return nm_fail(err, "'%.100s' must be INSTANCE.PARAMETER or INSTANCE.PARAMETER=LOW..HIGH", text);
    strcpy(copy, text);
    if ((range = strchr(copy, '='))) *range++ = '\0';
    if (!(name = strchr(copy, '.'))) return nm_fail(err, "'%.100s' does not name a parameter", text);
    *name++ = '\0';
    if (!split_element(name, &element)) return nm_fail(err, "'%.100s': the brackets must hold a number", text);
    if (add(all, player, copy, name, element, &p, err)) return -1;
    if (!range) return 0;
    double low = strtod(range, &end);
    if (end == range || strncmp(end, "..", 2)) return nm_fail(err, "'%.100s': a range must be LOW..HIGH", text);
    range = end + 2;
    double high = strtod(range, &end);
    if (end == range || *end) return nm_fail(err, "'%.100s': a range must be LOW..HIGH", text);
    return set_range(p, low, high, err);
}

static int add_row(struct tune_params *all, const struct nm_player *player, const char *instance,
                   const struct nm_yaml *row, struct nm_err *err)
{
    char name[100];
    uint32_t element;
    struct tune_param *p;
    struct nm_err why = {0};
    double ends[2];
    snprintf(name, sizeof name, "%.99s", row->key);
    if (!split_element(name, &element)) return nm_yaml_fail(row, err, "the brackets must hold a number");
    if (add(all, player, instance, name, element, &p, &why))
        return nm_yaml_fail(row, err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
    if (row->kind == NM_YAML_SCALAR && !*row->text) return 0;
    if (row->kind != NM_YAML_LIST || row->n != 2)
        return nm_yaml_fail(row, err, "write a range [LOW, HIGH] here, or nothing");
    if (nm_yaml_number(row->first, &ends[0], err) || nm_yaml_number(row->first->next, &ends[1], err)) return -1;
    if (set_range(p, ends[0], ends[1], &why))
        return nm_yaml_fail(row, err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
    return 0;
}

int tune_add_file(struct tune_params *all, const struct nm_player *player, const char *path, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, path, err);
    int bad = file ? 0 : -1;
    if (file && file->kind != NM_YAML_MAP) bad = nm_yaml_fail(file, err, "write instances with their parameters here");
    nm_yaml_each(instance, bad ? NULL : file)
    {
        if (instance->kind != NM_YAML_MAP)
            bad = nm_yaml_fail(instance, err, "write parameters of %.60s here", instance->key);
        nm_yaml_each(row, instance) bad |= add_row(all, player, instance->key, row, err);
    }
    nm_arena_free(&arena);
    return bad;
}

/* Five digits: what is written to a file is what was played. */
double tune_value(const struct tune_param *p, double x)
{
    char text[32];
    double value = p->low + (p->high - p->low) * fmin(fmax(x, 0), 1);
    snprintf(text, sizeof text, "%.5g", value);
    value = fmin(fmax(strtod(text, NULL), p->param->min), p->param->max);
    return whole(p->param) ? rint(value) : value;
}

/* The whole parameter, with all elements of it that are searched; false where an earlier row has done that. */
static bool merged(const struct tune_params *all, const double *x, uint32_t i, struct nm_value *value)
{
    const struct tune_param *p = &all->at[i];
    if (p->animation) return false;
    *value = p->before;
    for (uint32_t k = 0; k < all->n; k++) {
        const struct tune_param *q = &all->at[k];
        if (q->param != p->param || strcmp(q->instance, p->instance)) continue;
        if (k < i) return false;
        double number = tune_value(q, x[k]);
        value->whole = (int64_t)rint(number);
        value->number[q->element] = number;
    }
    return true;
}

uint32_t tune_settings(const struct tune_params *all, const double *x, char to[TUNE_PARAMS][TUNE_TEXT])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        struct nm_value value;
        char text[NM_VALUE_PRINT];
        if (!merged(all, x, i, &value)) continue;
        nm_value_print(all->at[i].param, &value, text, sizeof text);
        snprintf(to[n++], TUNE_TEXT, "%.40s.%.40s=%s", all->at[i].instance, all->at[i].param->name, text);
    }
    return n;
}

void tune_print(const struct tune_params *all, const double *x, FILE *to)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const char *instance = all->at[i].instance;
        bool first = true;
        for (uint32_t k = 0; k < i; k++) first &= strcmp(all->at[k].instance, instance) != 0;
        if (!first || all->at[i].animation) continue;
        fprintf(to, "%s:\n", instance);
        for (uint32_t k = i; k < all->n; k++) {
            struct nm_value value;
            char text[NM_VALUE_PRINT];
            if (strcmp(all->at[k].instance, instance) || !merged(all, x, k, &value)) continue;
            nm_value_print(all->at[k].param, &value, text, sizeof text);
            fprintf(to, "  %s: %s\n", all->at[k].param->name, text);
        }
    }
}

/* ---- key frames as parameters ----
 *
 * A candidate is a robot's folder of its own, made of links to the real one, in which the
 * animation that is searched has other angles and durations. */

static const double WIDE = 20, SHARE = 0.4, SHORTEST = 0.04; /* degrees; of a duration; s */

static const char *file_of(struct nm_arena *arena, const char *folder, const char *name)
{
    return nm_take_format(arena, "%s/animations/%s.yaml", folder, name);
}

/* ---- what is searched ---- */

static int add_key(struct tune_params *all, struct nm_arena *arena, const char *name, uint32_t frame, const char *key,
                   double value, double low, double high, struct nm_err *err)
{
    if (all->n == TUNE_PARAMS) return nm_fail(err, "at most %d parameters can be searched", TUNE_PARAMS);
    struct nm_param *param = nm_take(arena, sizeof *param);
    *param = (struct nm_param){.name = nm_take_text(arena, key), .kind = NM_PARAM_DOUBLE, .min = low, .max = high};
    all->at[all->n++] = (struct tune_param){.instance = nm_take_text(arena, name),
                                            .param = param,
                                            .animation = true,
                                            .element = frame,
                                            .low = low,
                                            .high = high,
                                            .value = value};
    return 0;
}

/* Where an angle is looked for, degrees: around its value, inside of the joint's limits. `both_knee` is the left knee.
 */
static void range_of(const struct nm_body *body, const char *key, double value, double *low, double *high)
{
    char name[80];
    bool both = !strncmp(key, "both_", 5);
    snprintf(name, sizeof name, "%s%.60s", both ? "left_" : "", both ? key + 5 : key);
    int32_t joint = nm_find_joint(body, name);
    *low = value - WIDE;
    *high = value + WIDE;
    if (joint < 0) return;
    *low = fmin(fmax(*low, ceil(body->joints[joint].lower * 1800 / M_PI) / 10), value);
    *high = fmax(fmin(*high, floor(body->joints[joint].upper * 1800 / M_PI) / 10), value);
}

/* Angles that are zero are meant to be: heads look ahead, legs stay parallel. */
static int add_frame(struct tune_params *all, struct nm_arena *arena, const struct nm_body *body, const char *name,
                     uint32_t i, const struct nm_yaml *frame, struct nm_err *err)
{
    const struct nm_yaml *duration = nm_yaml_get(frame, "duration");
    int64_t ns;
    int bad = 0;
    if (duration && !nm_yaml_duration(duration, &ns, err)) {
        double s = 1e-9 * (double)ns;
        bad |=
            add_key(all, arena, name, i, "duration", s, fmax((1 - SHARE) * s, fmin(s, SHORTEST)), (1 + SHARE) * s, err);
    }
    nm_yaml_each(goal, nm_yaml_get(frame, "goals"))
    {
        double degrees, low, high;
        if (nm_yaml_number(goal, &degrees, err)) return -1;
        range_of(body, goal->key, degrees, &low, &high);
        if (degrees != 0 && low < high) bad |= add_key(all, arena, name, i, goal->key, degrees, low, high, err);
    }
    return bad;
}

int tune_add_animation(struct tune_params *all, struct nm_arena *arena, const char *folder, const char *name,
                       struct nm_err *err)
{
    const struct nm_body *body = nm_body_load(arena, folder, err);
    const struct nm_yaml *file = body ? nm_yaml_read(arena, file_of(arena, folder, name), err) : NULL;
    uint32_t i = 0;
    int bad = file ? 0 : -1;
    if (file && !nm_yaml_get(file, "frames")) bad = nm_yaml_fail(file, err, "the animation has no frames");
    nm_yaml_each(frame, nm_yaml_get(file, "frames")) bad |= add_frame(all, arena, body, name, i++, frame, err);
    return bad;
}

/* ---- a candidate ---- */

static const struct tune_param *find(const struct tune_params *all, const char *name, uint32_t frame, const char *key,
                                     uint32_t *at)
{
    for (*at = 0; *at < all->n; ++*at) {
        const struct tune_param *p = &all->at[*at];
        if (p->animation && p->element == frame && !strcmp(p->instance, name) && !strcmp(p->param->name, key)) return p;
    }
    return NULL;
}

static void write_frame(const struct tune_params *all, const double *x, const char *name, uint32_t i,
                        const struct nm_yaml *frame, FILE *to)
{
    const char *dash = "  - ";
    uint32_t at;
    nm_yaml_each(row, frame)
    {
        const struct tune_param *p = find(all, name, i, row->key, &at);
        if (p)
            fprintf(to, "%s%s: %.0f ms\n", dash, row->key, 1000 * tune_value(p, x[at]));
        else if (row->kind == NM_YAML_SCALAR)
            fprintf(to, "%s%s: %s\n", dash, row->key, row->text);
        else
            fprintf(to, "%s%s: {", dash, row->key);
        const char *comma = "";
        nm_yaml_each(goal, row)
        {
            p = find(all, name, i, goal->key, &at);
            fprintf(to, "%s%s: ", comma, goal->key);
            if (p)
                fprintf(to, "%.1f", tune_value(p, x[at]));
            else
                fprintf(to, "%s", goal->text);
            comma = ", ";
        }
        if (row->kind != NM_YAML_SCALAR) fprintf(to, "}\n");
        dash = "    ";
    }
}

static void write_values(const struct tune_params *all, const double *x, const struct nm_yaml *file, const char *name,
                         FILE *to)
{
    uint32_t i = 0;
    nm_yaml_each(row, file)
    {
        if (row->kind == NM_YAML_SCALAR) fprintf(to, "%s: \"%s\"\n", row->key, row->text);
        if (row->kind == NM_YAML_MAP) {
            const char *comma = "";
            fprintf(to, "%s: {", row->key);
            nm_yaml_each(value, row) fprintf(to, "%s%s: %s", comma, value->key, value->text), comma = ", ";
            fprintf(to, "}\n");
        }
        if (row->kind == NM_YAML_LIST) {
            fprintf(to, "%s:\n", row->key);
            nm_yaml_each(frame, row) write_frame(all, x, name, i++, frame, to);
        }
    }
}

/* Moves that the servos are too slow for get more time: then a search can begin with them. */
static const char *in_time(struct nm_arena *arena, const struct nm_body *body, const char *path, const char *text)
{
    struct nm_animation *a = nm_animation_parse(arena, body, path, text, strlen(text), NULL);
    if (!a || a->mirror_of) return text;
    double before = a->duration;
    struct nm_animation_frame *was = nm_take_n(arena, struct nm_animation_frame, a->n_frames + 1);
    memcpy(was, a->frames, a->n_frames * sizeof *was);
    nm_animation_stretch(body, a, was);
    return a->duration <= before ? text : nm_animation_text(arena, body, a);
}

int tune_write_animation(const struct tune_params *all, const double *x, const char *folder, const char *name, FILE *to,
                         struct nm_err *err)
{
    struct nm_arena arena = {0};
    const char *path = file_of(&arena, folder, name);
    const struct nm_yaml *file = nm_yaml_read(&arena, path, err);
    const struct nm_body *body = file ? nm_body_load(&arena, folder, err) : NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *page = body ? open_memstream(&text, &size) : NULL;
    if (page) {
        write_values(all, x, file, name, page);
        fclose(page);
        fputs(in_time(&arena, body, path, text), to);
        free(text);
    }
    nm_arena_free(&arena);
    return page ? 0 : -1;
}

/* Links to everything in a folder but one name. */
static int link_all(struct nm_arena *arena, const char *from, const char *to, const char *but, struct nm_err *err)
{
    DIR *folder = opendir(from);
    int bad = folder ? 0 : nm_fail(err, "%s: %s", from, strerror(errno));
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, but) &&
            symlink(nm_path(arena, from, e->d_name), nm_path(arena, to, e->d_name)))
            bad = nm_fail(err, "%s/%s: %s", to, e->d_name, strerror(errno));
    if (folder) closedir(folder);
    return bad;
}

const char *tune_make_folder(const struct tune_params *all, const double *x, struct nm_arena *arena, const char *folder,
                             struct nm_err *err)
{
    const char *name = NULL, *temporary = getenv("TMPDIR");
    char real[PATH_MAX];
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].animation) name = all->at[i].instance;
    if (!name) return folder;
    char *made = nm_take_format(arena, "%s/nutmeg-tune-XXXXXX", temporary ? temporary : P_tmpdir);
    if (!realpath(folder, real) || !mkdtemp(made)) {
        nm_fail(err, "%s: %s", made, strerror(errno));
        return NULL;
    }
    const char *animations = nm_path(arena, made, "animations");
    mkdir(animations, 0700);
    if (link_all(arena, real, made, "animations", err) ||
        link_all(arena, nm_path(arena, real, "animations"), animations, nm_take_format(arena, "%s.yaml", name), err))
        return NULL;
    FILE *to = fopen(file_of(arena, made, name), "w");
    int bad = to ? tune_write_animation(all, x, folder, name, to, err) : -1;
    if (to) fclose(to);
    return bad ? NULL : made;
}

void tune_drop_folder(struct nm_arena *arena, const char *made)
{
    const char *parts[] = {nm_path(arena, made, "animations"), made};
    for (int i = 0; i < 2; i++) {
        DIR *folder = opendir(parts[i]);
        for (struct dirent *e; folder && (e = readdir(folder));)
            if (e->d_name[0] != '.') unlink(nm_path(arena, parts[i], e->d_name));
        if (folder) closedir(folder);
        rmdir(parts[i]);
    }
}

/* ---- generations ----
 *
 * Every candidate plays every scenario with the same few seeds. The next generation plays other
 * seeds, so that the search does not learn them by heart. */

/* One round of runs: point x scenario x seed. */
struct round {
    struct tune *tune;
    const double *points;
    const uint64_t *seeds;
    uint32_t n_seeds;
    double *scores;     /* of every run */
    uint64_t simulated; /* ns           */
};

struct outcome {
    bool done;
    double score;
    int64_t time; /* ns, simulated */
    char why[120];
};

static void play(void *user, uint32_t index, void *result)
{
    const struct round *r = user;
    const struct tune *t = r->tune;
    struct outcome *o = result;
    uint32_t seed = index % r->n_seeds, scenario = index / r->n_seeds % t->n_scenarios,
             point = index / r->n_seeds / t->n_scenarios;
    static char text[TUNE_PARAMS][TUNE_TEXT];
    const char *set[TUNE_PARAMS];
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    const double *x = r->points + (size_t)point * t->params.n;
    const char *folder = t->animation ? tune_make_folder(&t->params, x, &arena, t->robot, &err) : t->robot;
    uint32_t n = tune_settings(&t->params, x, text);
    for (uint32_t i = 0; i < n; i++) set[i] = text[i];
    struct nm_run_options options = {.seed = r->seeds[seed],
                                     .robot = folder,
                                     .n_set = n,
                                     .set = set,
                                     .registry = &t->setup->registry,
                                     .bus = &sim_bus};
    struct nm_run *run = err.n ? NULL : nm_run_new(t->scenarios[scenario], &options, &err);
    if (t->animation && folder) tune_drop_folder(&arena, folder); /* it has been read */
    if (!run) {
        snprintf(o->why, sizeof o->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        return;
    }
    while (!stopping() && nm_run_step(run) > 0) {}
    struct nm_result played;
    nm_run_result(run, &played);
    o->done = !stopping();
    o->score = played.score;
    o->time = played.time;
}

static void take(void *user, uint32_t index, const void *result, const char *died)
{
    struct round *r = user;
    const struct outcome *o = result;
    bool good = o && o->done && isfinite(o->score);
    r->scores[index] = good ? o->score : NAN;
    if (o) r->simulated += (uint64_t)o->time;
    if (good || stopping()) return;
    r->tune->n_died++;
    snprintf(r->tune->died, sizeof r->tune->died, "%s", died ? died : o->why);
}

int tune_evaluate(struct tune *t, const double *points, uint32_t n, const uint64_t *seeds, uint32_t n_seeds,
                  double *scores, double *each, struct nm_err *err)
{
    uint32_t runs = n * t->n_scenarios * n_seeds;
    struct round r = {.tune = t, .points = points, .seeds = seeds, .n_seeds = n_seeds};
    r.scores = nm_malloc(sizeof(double) * (runs + 1));
    for (uint32_t i = 0; i < runs; i++) r.scores[i] = NAN;
    struct pool pool = {.n = runs,
                        .jobs = t->jobs,
                        .size = sizeof(struct outcome),
                        .seconds = t->seconds,
                        .work = play,
                        .done = take,
                        .quit = stopping,
                        .user = &r};
    int bad = pool_run(&pool, err);
    for (uint32_t p = 0; p < n; p++) {
        scores[p] = 0;
        for (uint32_t s = 0; s < t->n_scenarios; s++) {
            double sum = 0;
            for (uint32_t k = 0; k < n_seeds; k++) sum += r.scores[(p * t->n_scenarios + s) * n_seeds + k];
            if (each) each[p * t->n_scenarios + s] = sum / n_seeds;
            scores[p] += sum / n_seeds;
        }
    }
    t->simulated += (double)r.simulated * 1e-9;
    free(r.scores);
    return bad;
}

/* Outside of its ranges a candidate is played at their edge and pays for the way. */
static double penalty(const double *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        double over = x[i] < 0 ? -x[i] : x[i] > 1 ? x[i] - 1 : 0;
        sum += over * over;
    }
    return sum;
}

static void note(struct tune *t, const double *scores)
{
    struct tune_generation g = {.best = -INFINITY, .sigma = t->cma->sigma};
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->cma->population; k++) {
        if (isnan(scores[k])) continue;
        g.best = fmax(g.best, scores[k]);
        g.mean += scores[k];
        n++;
    }
    g.mean = n ? g.mean / n : NAN;
    if (!n) g.best = NAN;
    t->history = nm_more(t->history, t->n_history, &t->room, sizeof *t->history);
    t->history[t->n_history++] = g;
}

int tune_generation(struct tune *t, struct nm_err *err)
{
    struct nm_cma *cma = t->cma;
    uint64_t *seeds = nm_malloc(sizeof *seeds * t->trials), count = t->last - t->first + 1;
    double *scores = nm_malloc(sizeof *scores * cma->population), spread = 0;
    for (uint32_t k = 0; k < t->trials; k++)
        seeds[k] = t->first + nm_spread(cma->generation * t->trials + k + nm_spread(t->first)) % count;
    int bad = tune_evaluate(t, cma->candidates, cma->population, seeds, t->trials, scores, NULL, err);
    if (!bad && !stopping()) {
        note(t, scores);
        for (uint32_t k = 0; k < cma->population; k++)
            if (!isnan(scores[k])) spread = fmax(spread, fabs(scores[k] - t->history[t->n_history - 1].mean));
        for (uint32_t k = 0; k < cma->population; k++)
            scores[k] = -scores[k] + 10 * (spread + 1e-9) * penalty(nm_cma_candidate(cma, k), cma->n);
        nm_cma_tell(cma, scores);
    }
    free(seeds);
    free(scores);
    return bad ? -1 : stopping();
}

/* ---- the search on disk: written after every generation, so that a later start can continue it ---- */

/* The arrays of the optimiser, by name. */
struct array {
    const char *name;
    double *at;
    uint32_t n;
};
enum { ARRAYS = 8 };

static void arrays_of(const struct nm_cma *c, struct array to[ARRAYS])
{
    const struct array all[ARRAYS] = {
        {"mean", c->mean, c->n},
        {"best", c->best, c->n},
        {"candidates", c->candidates, c->population * c->n},
        {"covariance", c->covariance, c->n * c->n},
        {"axes", c->axes, c->n * c->n},
        {"lengths", c->lengths, c->n},
        {"path_sigma", c->path_sigma, c->n},
        {"path_c", c->path_c, c->n},
    };
    memcpy(to, all, sizeof all);
}

static void write_numbers(FILE *to, const char *name, const double *at, uint32_t n)
{
    fprintf(to, "%s: [", name);
    for (uint32_t i = 0; i < n; i++) fprintf(to, "%s%.17g", i ? ", " : "", at[i]);
    fprintf(to, "]\n");
}

static void write_state(const struct tune *t, FILE *to)
{
    const struct nm_cma *c = t->cma;
    struct array arrays[ARRAYS];
    char name[160];
    fprintf(to, "# A search of `nutmeg tune`: --resume continues it.\n"
                "params:\n");
    for (uint32_t i = 0; i < t->params.n; i++)
        fprintf(to, "  - {name: \"%s\", range: [%.17g, %.17g]}\n", tune_name(&t->params.at[i], name),
                t->params.at[i].low, t->params.at[i].high);
    fprintf(to, "population: %u\ngeneration: %llu\nrandom: [", c->population, (unsigned long long)c->generation);
    for (int i = 0; i < 4; i++) fprintf(to, "%s%llu", i ? ", " : "", (unsigned long long)c->dice.s[i]);
    fprintf(to, "]\nsigma: %.17g\n", c->sigma);
    fprintf(to, "best_score: %s%.17g\n", isfinite(c->best_score) ? "" : "1e300 # ",
            isfinite(c->best_score) ? c->best_score : 0);
    arrays_of(c, arrays);
    for (int i = 0; i < ARRAYS; i++) write_numbers(to, arrays[i].name, arrays[i].at, arrays[i].n);
    fprintf(to, "history: [");
    for (uint32_t i = 0; i < t->n_history; i++) {
        const struct tune_generation *g = &t->history[i];
        bool known = isfinite(g->best + g->mean);
        fprintf(to, "%s[%.9g, %.9g, %.9g]", i ? ", " : "", known ? g->best : 0, known ? g->mean : 0, g->sigma);
    }
    fprintf(to, "]\n");
}

int tune_save(const struct tune *t, const char *path, struct nm_err *err)
{
    char part[PATH_MAX + 8];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *to = fopen(part, "w");
    if (!to) return nm_fail(err, "%s: %s", part, strerror(errno));
    write_state(t, to);
    bool bad = ferror(to);
    if (fclose(to) || bad || rename(part, path)) return nm_fail(err, "%s cannot be written: %s", path, strerror(errno));
    return 0;
}

/* ---- reading ---- */

static int read_numbers(const struct nm_yaml *node, double *to, uint32_t n, struct nm_err *err)
{
    uint32_t i = 0;
    if (!node || node->kind != NM_YAML_LIST || node->n != n) return -1;
    nm_yaml_each(item, node)
    {
        if (nm_yaml_number(item, &to[i], err)) return -1;
        if (!isfinite(to[i++])) return nm_yaml_fail(item, err, "this is not a number");
    }
    return 0;
}

static int same_params(const struct tune *t, const struct nm_yaml *list, struct nm_err *err)
{
    uint32_t i = 0;
    if (!list || list->kind != NM_YAML_LIST || list->n != t->params.n)
        return nm_fail(err, "the old search had other parameters");
    nm_yaml_each(row, list)
    {
        const struct tune_param *p = &t->params.at[i++];
        const struct nm_yaml *name = nm_yaml_get(row, "name");
        double range[2];
        char text[160];
        if (!name || strcmp(name->text, tune_name(p, text)))
            return nm_yaml_fail(row, err, "the old search did not have %s", text);
        if (read_numbers(nm_yaml_get(row, "range"), range, 2, err))
            return nm_yaml_fail(row, err, "a range is missing here");
        if (range[0] != p->low || range[1] != p->high)
            return nm_yaml_fail(row, err, "the old search had %s from %g to %g", text, range[0], range[1]);
    }
    return 0;
}

static int read_history(struct tune *t, const struct nm_yaml *list, struct nm_err *err)
{
    if (!list || list->kind != NM_YAML_LIST || list->n > TUNE_HISTORY) return nm_fail(err, "the history is missing");
    t->room = list->n + 64;
    t->history = nm_calloc(t->room, sizeof *t->history);
    nm_yaml_each(row, list)
    {
        double g[3];
        if (read_numbers(row, g, 3, err)) return nm_yaml_fail(row, err, "best, mean and sigma are missing here");
        t->history[t->n_history++] = (struct tune_generation){g[0], g[1], g[2]};
    }
    return 0;
}

static int read_state(struct tune *t, const struct nm_yaml *file, struct nm_err *err)
{
    struct nm_cma *c = t->cma;
    struct array arrays[ARRAYS];
    const struct nm_yaml *random = nm_yaml_get(file, "random"), *node;
    uint64_t population = 0;
    if (same_params(t, nm_yaml_get(file, "params"), err)) return -1;
    if (!(node = nm_yaml_get(file, "population")) || nm_yaml_uint(node, &population, err) ||
        population != c->population)
        return nm_fail(err, "the old search had a population of %llu", (unsigned long long)population);
    if (!(node = nm_yaml_get(file, "generation")) || nm_yaml_uint(node, &c->generation, err))
        return nm_fail(err, "the generation is missing");
    uint32_t n_random = 0;
    nm_yaml_each(number, random && random->kind == NM_YAML_LIST && random->n == 4 ? random : NULL) n_random +=
        !nm_yaml_uint(number, &c->dice.s[n_random], err);
    if (n_random != 4) return nm_fail(err, "the random numbers are missing");
    if (!(node = nm_yaml_get(file, "sigma")) || nm_yaml_number(node, &c->sigma, err) ||
        !(c->sigma > 0 && c->sigma < 1e6))
        return nm_fail(err, "the step size is missing");
    if (!(node = nm_yaml_get(file, "best_score")) || nm_yaml_number(node, &c->best_score, err))
        return nm_fail(err, "the best score is missing");
    arrays_of(c, arrays);
    for (int i = 0; i < ARRAYS; i++)
        if (read_numbers(nm_yaml_get(file, arrays[i].name), arrays[i].at, arrays[i].n, err))
            return nm_fail(err, "the numbers `%s` are incomplete", arrays[i].name);
    return read_history(t, nm_yaml_get(file, "history"), err);
}

int tune_load(struct tune *t, const char *path, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, path, err);
    int bad = file ? read_state(t, file, err) : -1;
    if (bad) nm_fail(err, "%s: this search cannot be continued", path);
    nm_arena_free(&arena);
    return bad;
}

/* ---- the picture: best and mean score of every generation ---- */

enum { WIDTH = 720, HEIGHT = 400, LEFT = 60, RIGHT = 20, TOP = 40, BOTTOM = 40, TICKS = 5 };

struct frame {
    double low, high; /* of the scores */
    uint32_t n;
};

static double x_of(const struct frame *f, double generation)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (f->n > 1 ? generation / (f->n - 1) : 0.5);
}

static double y_of(const struct frame *f, double score)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (f->high - score) / (f->high - f->low);
}

static void line(FILE *to, const struct frame *f, const struct tune_generation *history, bool best, const char *colour)
{
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (uint32_t i = 0; i < f->n; i++) {
        double score = best ? history[i].best : history[i].mean;
        if (isfinite(score)) fprintf(to, "%.1f,%.1f ", x_of(f, i), y_of(f, score));
    }
    fprintf(to, "\"/>\n");
}

static void text(FILE *to, double x, double y, const char *anchor, const char *colour, const char *words)
{
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, colour);
    for (; *words; words++) {
        if (*words == '<' || *words == '&')
            fprintf(to, "&#%d;", *words);
        else
            fputc(*words, to);
    }
    fprintf(to, "</text>\n");
}

static void axes(FILE *to, const struct frame *f)
{
    char words[40];
    for (int i = 0; i <= TICKS; i++) {
        double score = f->low + (f->high - f->low) * i / TICKS, y = y_of(f, score);
        fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, WIDTH - RIGHT, y, y);
        snprintf(words, sizeof words, "%.4g", score);
        text(to, LEFT - 6, y + 4, "end", "#444", words);
        double generation = f->n > 1 ? floor((f->n - 1.0) * i / TICKS) : 0;
        snprintf(words, sizeof words, "%.0f", generation + 1);
        text(to, x_of(f, generation), HEIGHT - BOTTOM + 18, "middle", "#444", words);
    }
    text(to, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6, "middle", "#444", "generation");
}

void tune_plot(const struct tune_generation *history, uint32_t n, const char *title, FILE *to)
{
    struct frame f = {INFINITY, -INFINITY, n};
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(history[i].best + history[i].mean)) continue;
        f.low = fmin(f.low, fmin(history[i].best, history[i].mean));
        f.high = fmax(f.high, fmax(history[i].best, history[i].mean));
    }
    if (!(f.low <= f.high)) f.low = 0, f.high = 1;
    double margin = fmax(0.05 * (f.high - f.low), 1e-6);
    f.low -= margin;
    f.high += margin;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    axes(to, &f);
    line(to, &f, history, false, "#e08214");
    line(to, &f, history, true, "#1b7837");
    text(to, LEFT, TOP - 16, "start", "black", title);
    text(to, WIDTH - RIGHT - 60, TOP - 16, "end", "#1b7837", "best");
    text(to, WIDTH - RIGHT, TOP - 16, "end", "#e08214", "mean");
    fprintf(to, "</svg>\n");
}

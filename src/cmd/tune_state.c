/* A search on disk: between two generations everything is written, and a later start goes on from there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tune.h"

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
    t->history = calloc(t->room, sizeof *t->history);
    if (!t->history) abort();
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

/* The line-up that a replay plays: the recorded one with the recorded values, another one, or some instances of either;
 * and whether the log's notes of runs are of use to it. */
#include <stdlib.h>
#include <string.h>

#include "record/replay_inside.h"
#include "edge/log/about.h"

/* The recorded values, as settings: those that the line-up still has. */
static void recorded_values(struct replay *r, const struct nm_lineup *lineup, const char *text,
                            struct nm_lineup_options *options)
{
    uint32_t lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    const char **set = nm_take_n(&r->arena, const char *, lines + options->n_set + 1);
    uint32_t n = 0;
    char *rest = nm_take_text(&r->arena, text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        char name[128], param[128];
        if (sscanf(line, "%127[^.=].%127[^=]=", name, param) != 2) continue;
        uint32_t i = nm_lineup_instance(lineup, name);
        if (i == NM_NONE) continue;
        if (nm_param_find(lineup->instances[i].module, param, NULL) < 0)
            replay_cause(r, "%s.%s is no longer a parameter", name, param);
        else
            set[n++] = line;
    }
    for (uint32_t i = 0; i < options->n_set; i++) set[n++] = options->set[i]; /* the command line wins */
    options->set = set;
    options->n_set = n;
}

/* What comes from the log is data: neither code nor a robot's folder is opened because it says so. */
static struct nm_lineup *load(struct replay *r, const char *text, const char *values, struct nm_err *err)
{
    const char *name = nm_take_format(&r->arena, "%s.yaml", r->options->log);
    struct nm_lineup_options options = r->options->with, plain;
    options.foreign = !r->by_time;
    plain = options;
    plain.n_set = 0; /* they may be of instances that are not played */
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), name, r->options->registry, &plain, err);
    if (!lineup) return NULL;
    recorded_values(r, lineup, values, &options);
    struct nm_lineup *with = nm_lineup_parse(text, strlen(text), name, r->options->registry, &options, err);
    nm_lineup_free(lineup);
    return with;
}

/* Some instances of a line-up. */
static struct nm_lineup *load_some(struct replay *r, const struct nm_lineup *all, const char *values,
                                   struct nm_err *err)
{
    bool *chosen = nm_take_n(&r->arena, bool, all->n_instances + 1);
    for (uint32_t i = 0; i < r->options->n_instances; i++) {
        const char *name = r->options->instances[i];
        uint32_t instance = nm_lineup_instance(all, name);
        if (instance == NM_NONE) {
            const char **names = nm_take_n(&r->arena, const char *, all->n_instances + 1);
            for (uint32_t k = 0; k < all->n_instances; k++) names[k] = all->instances[k].name;
            nm_fail(err, "the %s has no instance '%s'%s", all == r->was ? "log's line-up" : "line-up", name,
                    nm_hint(name, names, all->n_instances).text);
            return NULL;
        }
        chosen[instance] = true;
    }
    char *text;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) abort();
    nm_lineup_print(all, chosen, to);
    fclose(to);
    struct nm_lineup *lineup = load(r, text, values, err);
    free(text);
    return lineup;
}

/* What its instances have for values, as a log has them. */
static const char *values_of(struct replay *r, const struct nm_lineup *lineup)
{
    char *text, value[NM_VALUE_PRINT];
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) abort();
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        for (uint32_t p = 0; p < lineup->instances[i].n_params; p++) {
            const struct nm_param *param = &lineup->instances[i].module->params[p];
            nm_value_print(param, &lineup->instances[i].values[p], value, sizeof value);
            fprintf(to, "%s.%s=%s\n", lineup->instances[i].name, param->name, value);
        }
    fclose(to);
    const char *kept = nm_take_text(&r->arena, text);
    free(text);
    return kept;
}

static int load_recorded(struct replay *r, struct nm_err *err)
{
    const char *text = replay_attachment(r, "lineup.yaml", err);
    const char *values = replay_attachment(r, "parameters.txt", err);
    if (!text || !values) return -1;
    r->was = load(r, text, values, err);
    if (!r->was) return -1;
    if (!r->lineup) r->lineup = r->was;
    if (r->options->n_instances) r->lineup = load_some(r, r->was, values, err);
    if (!r->lineup) return -1;
    char digest[65] = "";
    if (r->lineup->robot_folder) nm_folder_digest(r->lineup->robot_folder, digest);
    if (r->digest && strcmp(digest, r->digest))
        replay_cause(r, "the folder of the robot has changed since the recording");
    return 0;
}

/* The first cycle that the log has no runs of, NULL without one. */
static const char *unknown_cycle(const struct replay *r)
{
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        bool known = false;
        for (uint32_t t = 0; t < r->n_tables; t++) known |= !strcmp(r->tables[t].cycle, r->lineup->cycles[c].name);
        if (!known) return r->lineup->cycles[c].name;
    }
    return NULL;
}

int replay_lineup(struct replay *r, struct nm_err *err)
{
    const struct replay_options *o = r->options;
    r->lineup = o->lineup;
    if (!r->n_tables && !o->lineup)
        return nm_fail(err,
                       "%s: the log does not note what each run read, as logs of nutmeg run --log do; --lineup L plays "
                       "its messages into a line-up by time",
                       o->log);
    const char *unknown = o->lineup && r->n_tables ? unknown_cycle(r) : NULL;
    if (unknown) replay_cause(r, "the log has no runs of cycle %s, so everything is played by time", unknown);
    r->by_time = !r->n_tables || unknown;
    if (!r->by_time && o->lineup && o->n_instances)
        return nm_fail(err, "use either --instance (from the recorded line-up) or --lineup (another one), not both");
    if (!r->by_time && o->n_remaps)
        return nm_fail(err, "--remap works only with logs that are played by time; this log notes what each run read");
    if (!r->by_time) return load_recorded(r, err);
    if (!o->n_instances) return 0;
    r->lineup = load_some(r, o->lineup, values_of(r, o->lineup), err);
    return r->lineup ? 0 : -1;
}

/* What came out of a scenario: a table for people, lines of JSON for programs. */
#include <math.h>

#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "codec/json.h"

static bool of_robot(const struct nm_measure *m)
{
    return m->kind == NM_MEASURE_TIME_TO ? m->until.measure < NM_MEASURES_OF_ROBOTS : m->kind < NM_MEASURES_OF_ROBOTS;
}

/* ---- JSON ---- */

static void put_value(struct nm_json *json, const struct nm_measure *m, double value)
{
    if (nm_measure_rows[m->kind].yes_no)
        nm_json_bool(json, m->label, value != 0);
    else
        nm_json_number(json, m->label, value);
}

static void put_values(struct nm_json *json, const struct nm_scenario *s, const struct nm_result *r)
{
    nm_json_open(json, "robots", '{');
    for (uint32_t i = 0; i < s->n_robots; i++) {
        nm_json_open(json, s->robots[i].name, '{');
        for (uint32_t m = 0; m < s->n_measures; m++)
            if (of_robot(&s->measures[m])) put_value(json, &s->measures[m], r->values[m][i]);
        nm_json_close(json, '}');
    }
    nm_json_close(json, '}');
    nm_json_open(json, "world", '{');
    for (uint32_t m = 0; m < s->n_measures; m++)
        if (!of_robot(&s->measures[m])) put_value(json, &s->measures[m], r->values[m][0]);
    nm_json_close(json, '}');
}

static uint32_t kept_incidents(const struct nm_result *r)
{
    const uint32_t room = sizeof r->incidents / sizeof *r->incidents;
    return r->n_incidents < room ? (uint32_t)r->n_incidents : room;
}

void sim_json(const struct nm_scenario *s, const struct sim_outcome *o, FILE *to)
{
    const struct nm_result *r = &o->result;
    struct nm_json json;
    nm_json_begin(&json, 1 << 20);
    nm_json_open(&json, NULL, '{');
    nm_json_text(&json, "scenario", s->name);
    nm_json_whole(&json, "seed", (int64_t)r->seed);
    nm_json_bool(&json, "done", o->done);
    if (!o->done) nm_json_text(&json, "died", o->died);
    if (o->done) {
        nm_json_number(&json, "time", nm_seconds(r->time));
        nm_json_number(&json, "wall", o->wall);
        nm_json_text(&json, "ended", r->ended);
        nm_json_bool(&json, "passed", r->passed);
        if (!r->passed) nm_json_text(&json, "failed", r->failed);
        put_values(&json, s, r);
        nm_json_open(&json, "incidents", '[');
        for (uint32_t i = 0; i < kept_incidents(r); i++) {
            nm_json_open(&json, NULL, '{');
            nm_json_number(&json, "time", nm_seconds(r->incidents[i].time));
            nm_json_text(&json, "text", r->incidents[i].text);
            nm_json_close(&json, '}');
        }
        nm_json_close(&json, ']');
        nm_json_whole(&json, "n_incidents", (int64_t)r->n_incidents);
        if (r->n_faults) nm_json_text(&json, "fault", r->fault);
    }
    nm_json_close(&json, '}');
    fprintf(to, "%s\n", json.text);
    fflush(to);
    nm_json_end(&json);
}

/* ---- table ---- */

enum { CELL = 64, ROW = 1200 };

static void value_text(const struct nm_measure *m, double value, char to[CELL])
{
    if (isnan(value))
        snprintf(to, CELL, "-");
    else if (nm_measure_rows[m->kind].yes_no)
        snprintf(to, CELL, "%s", value != 0 ? "yes" : "no");
    else
        snprintf(to, CELL, value == floor(value) && fabs(value) < 1e6 ? "%.0f" : "%.3f", value);
}

/* Of several seeds: how often, or the mean of those that have a value. */
static void summary_text(const struct nm_measure *m, const struct sim_outcome *o, uint32_t n, uint32_t measure,
                         uint32_t robot, char to[CELL])
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        double value = o[i].result.values[measure][robot];
        if (!o[i].done || isnan(value)) continue;
        sum += value;
        count++;
    }
    if (nm_measure_rows[m->kind].yes_no)
        snprintf(to, CELL, "%.0f of %u", sum, count);
    else if (count)
        snprintf(to, CELL, "%.3f", sum / count);
    else
        snprintf(to, CELL, "-");
}

static void add_row(struct table *table, const struct nm_scenario *s, const struct sim_outcome *o, uint32_t n,
                    bool summary, uint32_t robot)
{
    char row[ROW], cell[CELL];
    size_t used = 0;
    bool first = robot == 0;
    if (first && summary)
        used += (size_t)snprintf(row, sizeof row, "all");
    else if (first)
        used += (size_t)snprintf(row, sizeof row, "%llu", (unsigned long long)o->result.seed);
    used += (size_t)snprintf(row + used, sizeof row - used, "\t%s", robot < s->n_robots ? s->robots[robot].name : "");
    for (uint32_t m = 0; m < s->n_measures; m++) {
        bool shown = of_robot(&s->measures[m]) ? robot < s->n_robots : first;
        uint32_t column = of_robot(&s->measures[m]) ? robot : 0;
        cell[0] = '\0';
        if (shown && summary)
            summary_text(&s->measures[m], o, n, m, column, cell);
        else if (shown)
            value_text(&s->measures[m], o->result.values[m][column], cell);
        used += (size_t)snprintf(row + used, sizeof row - used, "\t%s", cell);
    }
    const char *ended = !first || summary ? "" : o->result.passed ? o->result.ended : o->result.failed;
    table_row(table, "%s\t%s%s", row, first && !summary && !o->result.passed ? "not as expected: " : "", ended);
}

static void tell_faults(const struct nm_scenario *s, const struct sim_outcome *o, FILE *to)
{
    const struct nm_result *r = &o->result;
    unsigned long long seed = (unsigned long long)r->seed;
    if (!o->done) fprintf(to, "seed %llu: %s\n", seed, o->died);
    for (uint32_t i = 0; i < kept_incidents(r); i++)
        fprintf(to, "seed %llu, %.3f s: %s\n", seed, nm_seconds(r->incidents[i].time), r->incidents[i].text);
    if (r->n_incidents > kept_incidents(r))
        fprintf(to, "seed %llu: %llu more incidents\n", seed, (unsigned long long)(r->n_incidents - kept_incidents(r)));
    if (r->n_faults)
        fprintf(to, "seed %llu: %u events could not happen, the first: %s: %s\n", seed, r->n_faults, s->file, r->fault);
}

void sim_table(const struct nm_scenario *s, const struct sim_outcome *outcomes, uint32_t n, double wall, FILE *to)
{
    const char *heads[TABLE_COLUMNS + 1] = {">seed", "robot"};
    char labels[NM_SCENARIO_MEASURES][CELL];
    uint32_t columns = 2, passed = 0, done = 0, rows = s->n_robots ? s->n_robots : 1;
    double simulated = 0;
    struct table table;
    for (uint32_t m = 0; m < s->n_measures; m++) {
        const char *unit = nm_measure_rows[s->measures[m].kind].unit;
        snprintf(labels[m], CELL, ">%.40s%s%s", s->measures[m].label, *unit ? " " : "", unit);
        heads[columns++] = labels[m];
    }
    heads[columns] = "ended";
    table_begin(&table, heads);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; outcomes[i].done && k < rows; k++) add_row(&table, s, &outcomes[i], 1, false, k);
        passed += outcomes[i].done && outcomes[i].result.passed;
        done += outcomes[i].done;
        simulated += nm_seconds(outcomes[i].result.time);
    }
    for (uint32_t k = 0; done > 1 && k < rows; k++) add_row(&table, s, outcomes, n, true, k);
    table_print(&table, to);
    for (uint32_t i = 0; i < n; i++) tell_faults(s, &outcomes[i], to);
    if (wall > 0) fprintf(to, "%.1f s simulated in %.1f s, %.1f x real time", simulated, wall, simulated / wall);
    if (s->n_expect) fprintf(to, "; as expected in %u of %u", passed, n);
    fputc('\n', to);
}

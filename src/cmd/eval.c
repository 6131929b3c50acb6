#include "cmd/eval.h"

#include <math.h>

/* Student's t for 95 %, two-sided, by degrees of freedom; beyond the table the normal distribution is near enough. */
static double student(uint32_t freedom)
{
    static const double table[] = {INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36,
                                   2.31,     2.26,  2.23, 2.20, 2.18, 2.16, 2.14, 2.13};
    uint32_t n = sizeof table / sizeof *table;
    return freedom < n ? table[freedom] : 1.96 + 2.4 / freedom;
}

struct eval_mean eval_difference(const double *a, const double *b, uint32_t n)
{
    double sum = 0, squares = 0;
    struct eval_mean m = {NAN, INFINITY, 0};
    for (uint32_t i = 0; i < n; i++) {
        double d = a[i] - (b ? b[i] : 0);
        if (!isfinite(d)) continue;
        sum += d;
        squares += d * d;
        m.n++;
    }
    if (!m.n) return m;
    m.mean = sum / m.n;
    if (m.n > 1) m.half = student(m.n - 1) * sqrt(fmax(squares - m.n * m.mean * m.mean, 0) / (m.n - 1) / m.n);
    return m;
}

struct eval_mean eval_mean(const double *values, uint32_t n) { return eval_difference(values, NULL, n); }

/* Whether it has an interval that says something: values without spread do not tell how far chance goes. */
static bool has_interval(struct eval_mean m) { return isfinite(m.half) && m.half > 1e-9 * fmax(fabs(m.mean), 1e-3); }

static void print_cell(struct eval_mean m, bool sign, FILE *to)
{
    char text[48];
    bool interval = m.n && has_interval(m);
    if (!m.n)
        snprintf(text, sizeof text, "-");
    else if (!interval)
        snprintf(text, sizeof text, sign ? "%+.3g" : "%.3g", m.mean);
    else
        snprintf(text, sizeof text, sign ? "%+.3g ± %.2g" : "%.3g ± %.2g", m.mean, m.half);
    /* the sign ± is two bytes and one column */
    fprintf(to, "  %*s", 20 + interval, text);
}

void eval_print(const char *const *lineups, uint32_t n_lineups, const struct eval_measure *measures,
                uint32_t n_measures, uint32_t seeds, FILE *to)
{
    bool bare = false; /* some figure has no interval */
    fprintf(to, "%-22s", "line-up");
    for (uint32_t k = 0; k < n_measures; k++) fprintf(to, "  %20s", measures[k].name);
    fprintf(to, "\n%-22s", "");
    for (uint32_t k = 0; k < n_measures; k++) fprintf(to, "  %20s", measures[k].unit);
    fputc('\n', to);
    for (uint32_t i = 0; i < n_lineups; i++) {
        fprintf(to, "%-22s", lineups[i]);
        for (uint32_t k = 0; k < n_measures; k++) {
            struct eval_mean m = eval_mean(measures[k].values[i], seeds);
            bare |= m.n && !has_interval(m);
            print_cell(m, false, to);
        }
        fputc('\n', to);
    }
    for (uint32_t i = 1; i < n_lineups; i++) {
        fprintf(to, "%.13s - first%*s", lineups[i], 14 - (int)snprintf(NULL, 0, "%.13s", lineups[i]), "");
        for (uint32_t k = 0; k < n_measures; k++) {
            struct eval_mean m = eval_difference(measures[k].values[i], measures[k].values[0], seeds);
            bare |= m.n && !has_interval(m);
            print_cell(m, true, to);
        }
        fputc('\n', to);
    }
    if (seeds == 1)
        fprintf(to, "one seed: no intervals\n");
    else if (bare)
        fprintf(to, "a figure without ± is the same for all seeds, or only one seed has it: no interval\n");
}

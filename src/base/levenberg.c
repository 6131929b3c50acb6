#include "base/levenberg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { N = NM_LEVENBERG_PARAMS };

/* Cholesky's decomposition of a = l l' into the lower half of `a`; -1: `a` is not positive. */
static int decompose(double *a, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (uint32_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return -1;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return 0;
}

static void substitute(const double *l, uint32_t n, double *b)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) b[i] -= l[i * n + k] * b[k];
        b[i] /= l[i * n + i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++) b[i] -= l[k * n + i] * b[k];
        b[i] /= l[i * n + i];
    }
}

int nm_invert(double *a, uint32_t n)
{
    double l[N * N], column[N];
    memcpy(l, a, (size_t)n * n * sizeof *l);
    if (decompose(l, n)) return -1;
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = 0; i < n; i++) column[i] = i == j;
        substitute(l, n, column);
        for (uint32_t i = 0; i < n; i++) a[i * n + j] = column[i];
    }
    return 0;
}

static double squares(const double *r, uint32_t m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m; i++) sum += r[i] * r[i];
    return sum;
}

/* J'J and J'r by central differences. */
static void slope(const struct nm_least_squares *p, double *x, const double *r, double *jacobian, double *scratch,
                  double *jj, double *jr)
{
    const double h = 1e-6;
    uint32_t n = p->n, m = p->m;
    for (uint32_t j = 0; j < n; j++) {
        double *column = jacobian + (size_t)j * m, at = x[j];
        x[j] = at + h;
        p->residuals(p->user, x, column);
        x[j] = at - h;
        p->residuals(p->user, x, scratch);
        x[j] = at;
        for (uint32_t i = 0; i < m; i++) column[i] = (column[i] - scratch[i]) / (2 * h);
    }
    for (uint32_t a = 0; a < n; a++) {
        const double *u = jacobian + (size_t)a * m;
        for (uint32_t b = 0; b <= a; b++) {
            const double *v = jacobian + (size_t)b * m;
            double sum = 0;
            for (uint32_t i = 0; i < m; i++) sum += u[i] * v[i];
            jj[a * n + b] = jj[b * n + a] = sum;
        }
        jr[a] = 0;
        for (uint32_t i = 0; i < m; i++) jr[a] += u[i] * r[i];
    }
}

double nm_levenberg(const struct nm_least_squares *p, double *x, double *information)
{
    uint32_t n = p->n, m = p->m, rounds = p->rounds ? p->rounds : 100;
    double *jacobian = nm_malloc((n + 3) * (size_t)m * sizeof *jacobian), *r = jacobian + (size_t)n * m, *other = r + m,
           *scratch = other + m;
    double jj[N * N], jr[N], damped[N * N], step[N], next[N], damping = -1, growth = 2;
    p->residuals(p->user, x, r);
    double sum = squares(r, m);
    slope(p, x, r, jacobian, scratch, jj, jr);
    for (uint32_t round = 0; round < rounds && isfinite(sum); round++) {
        double most = 0, far = 0, gain = 0;
        for (uint32_t i = 0; i < n; i++) most = fmax(most, jj[i * n + i]);
        if (damping < 0) damping = 1e-3 * most;
        if (!(most > 0)) break;
        damping = fmax(damping, 1e-12 * most);
        memcpy(damped, jj, sizeof *jj * n * n);
        for (uint32_t i = 0; i < n; i++) damped[i * n + i] += damping, step[i] = -jr[i];
        bool solved = !decompose(damped, n);
        if (solved) substitute(damped, n, step);
        for (uint32_t i = 0; i < n; i++) {
            next[i] = x[i] + step[i];
            far = fmax(far, fabs(step[i]));
            gain += step[i] * (damping * step[i] - jr[i]);
        }
        double less = NAN;
        if (solved) p->residuals(p->user, next, other), less = squares(other, m);
        if (solved && less < sum) {
            double share = 2 * (sum - less) / fmax(gain, 1e-300) - 1;
            memcpy(x, next, sizeof *x * n);
            memcpy(r, other, sizeof *r * m);
            sum = less;
            slope(p, x, r, jacobian, scratch, jj, jr);
            damping *= fmax(1.0 / 3, 1 - share * share * share);
            growth = 2;
        } else {
            damping *= growth;
            growth *= 2;
        }
        if (far < 1e-13 || !isfinite(damping)) break;
    }
    if (information) memcpy(information, jj, sizeof *jj * n * n);
    free(jacobian);
    return sum;
}

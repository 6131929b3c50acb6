#include "base/cmaes.h"

#include <math.h>
#include <string.h>

/* Constants of the tutorial, table 1. */
static void set_constants(struct nm_cma *c)
{
    double n = c->n, sum = 0, square = 0;
    for (uint32_t i = 0; i < c->parents; i++) {
        c->weights[i] = log((c->population + 1) / 2.0) - log(i + 1.0);
        sum += c->weights[i];
    }
    for (uint32_t i = 0; i < c->parents; i++) {
        c->weights[i] /= sum;
        square += c->weights[i] * c->weights[i];
    }
    c->mu_eff = 1 / square;
    c->c_sigma = (c->mu_eff + 2) / (n + c->mu_eff + 5);
    c->d_sigma = 1 + 2 * fmax(0, sqrt((c->mu_eff - 1) / (n + 1)) - 1) + c->c_sigma;
    c->c_c = (4 + c->mu_eff / n) / (n + 4 + 2 * c->mu_eff / n);
    c->c_1 = 2 / ((n + 1.3) * (n + 1.3) + c->mu_eff);
    c->c_mu = fmin(1 - c->c_1, 2 * (c->mu_eff - 2 + 1 / c->mu_eff) / ((n + 2) * (n + 2) + c->mu_eff));
    c->chi = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
}

/* candidate = mean + sigma B D z */
static void sample(struct nm_cma *c)
{
    double *z = c->scratch;
    for (uint32_t k = 0; k < c->population; k++) {
        double *x = c->candidates + (size_t)k * c->n;
        for (uint32_t j = 0; j < c->n; j++) z[j] = c->lengths[j] * nm_dice_gauss(&c->dice);
        for (uint32_t i = 0; i < c->n; i++) {
            double sum = 0;
            for (uint32_t j = 0; j < c->n; j++) sum += c->axes[i * c->n + j] * z[j];
            x[i] = c->mean[i] + c->sigma * sum;
        }
    }
}

struct nm_cma *nm_cma_new(struct nm_arena *arena, uint32_t n, const double *start, const double *scale, double sigma,
                          uint32_t population, uint64_t seed)
{
    struct nm_cma *c = nm_take(arena, sizeof *c);
    *c = (struct nm_cma){.n = n, .sigma = sigma, .best_score = INFINITY, .dice = nm_dice_new(seed, 0, 0)};
    c->population = population ? population : 4 + (uint32_t)(3 * log(n));
    c->parents = c->population / 2;
    double **const arrays[] = {&c->mean, &c->best, &c->lengths, &c->path_sigma, &c->path_c};
    for (int i = 0; i < 5; i++) *arrays[i] = nm_take_n(arena, double, n);
    c->weights = nm_take_n(arena, double, c->parents);
    c->candidates = nm_take_n(arena, double, (size_t)c->population *n);
    c->covariance = nm_take_n(arena, double, (size_t)n *n);
    c->axes = nm_take_n(arena, double, (size_t)n *n);
    c->scratch = nm_take_n(arena, double, (size_t)n *n + 4 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        c->mean[i] = c->best[i] = start[i];
        c->lengths[i] = scale ? scale[i] : 1;
        c->axes[i * n + i] = 1;
        c->covariance[i * n + i] = c->lengths[i] * c->lengths[i];
    }
    set_constants(c);
    sample(c);
    return c;
}

/* Eigenvectors of the symmetric covariance by Jacobi rotations: slow for large n, simple and exact for the sizes of a
 * robot's parameters. */
static void decompose(struct nm_cma *c)
{
    uint32_t n = c->n;
    double *a = c->scratch;
    memcpy(a, c->covariance, sizeof(double) * n * n);
    memset(c->axes, 0, sizeof(double) * n * n);
    for (uint32_t i = 0; i < n; i++) c->axes[i * n + i] = 1;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, on = 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) *(i == j ? &on : &off) += a[i * n + j] * a[i * n + j];
        if (off <= 1e-24 * on) break;
        for (uint32_t p = 0; p + 1 < n; p++)
            for (uint32_t q = p + 1; q < n; q++) {
                double apq = a[p * n + q];
                if (apq == 0) continue;
                double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)), cs = 1 / sqrt(t * t + 1),
                       sn = t * cs;
                for (uint32_t k = 0; k < n; k++) {
                    double kp = a[k * n + p], kq = a[k * n + q];
                    a[k * n + p] = cs * kp - sn * kq;
                    a[k * n + q] = sn * kp + cs * kq;
                }
                for (uint32_t k = 0; k < n; k++) {
                    double pk = a[p * n + k], qk = a[q * n + k];
                    a[p * n + k] = cs * pk - sn * qk;
                    a[q * n + k] = sn * pk + cs * qk;
                }
                for (uint32_t k = 0; k < n; k++) {
                    double kp = c->axes[k * n + p], kq = c->axes[k * n + q];
                    c->axes[k * n + p] = cs * kp - sn * kq;
                    c->axes[k * n + q] = sn * kp + cs * kq;
                }
            }
    }
    for (uint32_t i = 0; i < n; i++) c->lengths[i] = sqrt(fmax(a[i * n + i], 1e-300));
}

static double worst_if_nan(double score) { return isnan(score) ? INFINITY : score; }

/* Indices of the candidates from the best to the worst. */
static void rank(const struct nm_cma *c, const double *scores, uint32_t *order)
{
    for (uint32_t k = 0; k < c->population; k++) {
        uint32_t at = k;
        for (; at > 0 && worst_if_nan(scores[order[at - 1]]) > worst_if_nan(scores[k]); at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

/* The step of the mean in the coordinates in which the covariance is 1: C^(-1/2) y. */
static void whiten(const struct nm_cma *c, const double *y, double *z)
{
    uint32_t n = c->n;
    memset(z, 0, sizeof(double) * n);
    for (uint32_t j = 0; j < n; j++) {
        double along = 0;
        for (uint32_t i = 0; i < n; i++) along += c->axes[i * n + j] * y[i];
        for (uint32_t i = 0; i < n; i++) z[i] += c->axes[i * n + j] * along / c->lengths[j];
    }
}

/* The matrix learns the direction of the way and the spread of the parents. */
static void adapt_covariance(struct nm_cma *c, const uint32_t *order, const double *old_mean, bool stalled)
{
    uint32_t n = c->n;
    double keep = 1 - c->c_1 - c->c_mu + (stalled ? c->c_1 * c->c_c * (2 - c->c_c) : 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < c->parents; k++) {
                const double *x = nm_cma_candidate(c, order[k]);
                sum += c->weights[k] * (x[i] - old_mean[i]) * (x[j] - old_mean[j]);
            }
            double *cell = &c->covariance[i * n + j];
            *cell = keep * *cell + c->c_1 * c->path_c[i] * c->path_c[j] + c->c_mu * sum / (c->sigma * c->sigma);
            c->covariance[j * n + i] = *cell;
        }
}

void nm_cma_tell(struct nm_cma *c, const double *scores)
{
    uint32_t n = c->n, order[c->population];
    double *old_mean = c->scratch + (size_t)n * n, *y = old_mean + n, *z = y + n;
    rank(c, scores, order);
    if (worst_if_nan(scores[order[0]]) < c->best_score) {
        c->best_score = scores[order[0]];
        memcpy(c->best, nm_cma_candidate(c, order[0]), sizeof(double) * n);
    }

    memcpy(old_mean, c->mean, sizeof(double) * n);
    for (uint32_t i = 0; i < n; i++) {
        c->mean[i] = 0;
        for (uint32_t k = 0; k < c->parents; k++) c->mean[i] += c->weights[k] * nm_cma_candidate(c, order[k])[i];
        y[i] = (c->mean[i] - old_mean[i]) / c->sigma;
    }
    whiten(c, y, z);
    double length = 0;
    for (uint32_t i = 0; i < n; i++) {
        c->path_sigma[i] = (1 - c->c_sigma) * c->path_sigma[i] + sqrt(c->c_sigma * (2 - c->c_sigma) * c->mu_eff) * z[i];
        length += c->path_sigma[i] * c->path_sigma[i];
    }
    length = sqrt(length);
    c->generation++;
    double fade = 1 - pow(1 - c->c_sigma, 2.0 * (double)c->generation);
    bool stalled = length / sqrt(fade) >= (1.4 + 2 / (n + 1.0)) * c->chi;
    for (uint32_t i = 0; i < n; i++)
        c->path_c[i] = (1 - c->c_c) * c->path_c[i] + (stalled ? 0 : sqrt(c->c_c * (2 - c->c_c) * c->mu_eff) * y[i]);
    adapt_covariance(c, order, old_mean, stalled);
    c->sigma *= exp(fmin(1, c->c_sigma / c->d_sigma * (length / c->chi - 1)));
    decompose(c);
    sample(c);
}

bool nm_cma_done(const struct nm_cma *c)
{
    double most = 0, least = INFINITY;
    for (uint32_t i = 0; i < c->n; i++) {
        most = fmax(most, c->lengths[i]);
        least = fmin(least, c->lengths[i]);
    }
    return c->sigma * most < 1e-12 || most > 1e7 * least;
}

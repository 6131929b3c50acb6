/* CMA-ES: finds the minimum of a function of which nothing is known but its values (Hansen, The CMA Evolution Strategy:
 * A Tutorial, 2016). Ask for candidates, score them anywhere in any order, tell the scores:
 *
 *     struct nm_cma *cma = nm_cma_new(&arena, n, start, sigma, population, seed);
 *     while (!nm_cma_done(cma)) {
 *         for (uint32_t k = 0; k < cma->population; k++) score[k] = f(nm_cma_candidate(cma, k));
 *         nm_cma_tell(cma, score);
 *     }
 *
 * The state is one flat struct and arrays of the arena: it can be written to a file between two generations and read
 * back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/random.h"

struct nm_cma {
    uint32_t n, population, parents;
    struct nm_dice dice;
    uint64_t generation;
    double sigma;                /* step size                                              */
    double *mean;                /* n                                                      */
    double *best;                /* n: the best candidate so far                           */
    double best_score;           /* of it; INFINITY before the first                       */
    double *candidates;          /* population x n                                         */
    double *covariance;          /* n x n                                                  */
    double *axes, *lengths;      /* eigenvectors (columns) and square roots of eigenvalues */
    double *path_sigma, *path_c; /* n                                                      */
    double *weights, mu_eff;     /* parents                                                */
    double c_sigma, d_sigma, c_c, c_1, c_mu, chi;
    double *scratch;
};

/* `scale` gives each coordinate its own unit (NULL: all 1): a step of sigma is sigma * scale[i]. population 0: 4 + 3 ln
 * n. */
struct nm_cma *nm_cma_new(struct nm_arena *arena, uint32_t n, const double *start, const double *scale, double sigma,
                          uint32_t population, uint64_t seed);
static inline const double *nm_cma_candidate(const struct nm_cma *cma, uint32_t k)
{
    return cma->candidates + (size_t)k * cma->n;
}
/* One score for each candidate, smaller is better; NaN counts as the worst. Makes the next generation. */
void nm_cma_tell(struct nm_cma *cma, const double *scores);
/* The steps have become too small to matter (against the start), or the matrix too thin. */
bool nm_cma_done(const struct nm_cma *cma);

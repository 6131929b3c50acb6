/* Least squares of functions that are not linear, by Levenberg and Marquardt's method with numeric derivatives
 * (Nielsen's rule for the damping: Madsen, Nielsen, Tingleff, Methods for Non-Linear Least Squares Problems, 2004). For
 * a dozen parameters and thousands of residuals; parameters should be of the size of one. */
#pragma once

#include <stdint.h>

#include "base/export.h"

enum { NM_LEVENBERG_PARAMS = 32 };

struct nm_least_squares {
    uint32_t n, m; /* parameters, at most NM_LEVENBERG_PARAMS; residuals */
    /* Fills all m residuals. */
    void (*residuals)(void *user, const double *x, double *r);
    void *user;
    uint32_t rounds; /* at most; 0: 100 */
};

/* Improves `x` and returns the sum of squared residuals. `information`, unless NULL, gets the n x n matrix J'J at the
 * end: its inverse times the variance of a residual is the covariance of `x`. NaN where the start is not a number. */
NM_EXPORT double nm_levenberg(const struct nm_least_squares *problem, double *x, double *information);

/* Inverts a symmetric, positive n x n matrix in place; -1: it has no inverse. */
NM_EXPORT int nm_invert(double *a, uint32_t n);

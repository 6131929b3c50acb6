/* The order of numbers. */
#pragma once

#include <stdlib.h>

/* For qsort: doubles, the smallest first. */
static inline int nm_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of n numbers, which are sorted. */
static inline double nm_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, nm_by_size);
    return values[n / 2];
}

/* Orders for qsort. */
#pragma once

/* Doubles, the smallest first. */
static inline int nm_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

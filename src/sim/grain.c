#include "sim/grain.h"

#include <math.h>

#include "base/random.h"

/* The inverse of the normal distribution at (i + 1/2) / NM_GRAINS, shuffled by a fixed permutation: deterministic,
 * exactly normal, and made by the compiler's arithmetic alone. Acklam's rational approximation. */
static double normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                               6.680131188771972e+01, -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    if (p > 0.5) return -normal_quantile(1 - p);
    if (p < 0.02425) {
        double q = sqrt(-2 * log(p));
        return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
               ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    }
    double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

void nm_grain_fill(int8_t *grains, uint32_t more)
{
    struct nm_dice dice = nm_dice_new(0x6e6f697365, 0, 0);
    for (uint32_t i = 0; i < NM_GRAINS; i++) {
        double x = NM_GRAIN_UNIT * normal_quantile((i + 0.5) / NM_GRAINS);
        grains[i] = (int8_t)lrint(fmax(-127, fmin(127, x)));
    }
    for (uint32_t i = NM_GRAINS - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(nm_dice_bits(&dice) % (i + 1));
        int8_t keep = grains[i];
        grains[i] = grains[j];
        grains[j] = keep;
    }
    for (uint32_t i = 0; i < more; i++) grains[NM_GRAINS + i] = grains[i % NM_GRAINS];
}

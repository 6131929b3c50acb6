/* A number kept within bounds. What is not a number stays so: who asks must see it. */
#ifndef NM_BASE_CLAMP_H
#define NM_BASE_CLAMP_H

static inline double nm_clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
/* To either side of zero. */
static inline double nm_within(double x, double most) { return nm_clamp(x, -most, most); }

#endif

/* Keeps a number within bounds. NaN stays NaN, so that the caller sees it. */
#pragma once

static inline double nm_clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
/* Keeps x between -most and most. */
static inline double nm_within(double x, double most) { return nm_clamp(x, -most, most); }

/* A picture of what two logs differ in: the members that differ most, one panel each, with their values in both logs
 * over time; of lists the largest difference of their elements. */
#ifndef NM_CMD_COMPARE_PLOT_H
#define NM_CMD_COMPARE_PLOT_H

#include "record/compare.h"

/* For `seen` of a comparison that is going to be plotted. */
void compare_seen(void *topic, struct nm_diff_place *place, double a, double b);
/* FILE.svg or FILE.png. */
int compare_plot(const struct compare *c, const char *path, struct nm_err *err);

#endif

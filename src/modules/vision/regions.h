/* Regions of interest, for the stages that read them. */
#pragma once

#include "modules/vision/frame.h"
#include "nutmeg_msgs/RegionsOfInterest.h"

/* How sure something was expected at a pixel, 0 to 1. */
static inline float expected_at(const RegionsOfInterest *r, const Image *image, double u, double v)
{
    float most = 0;
    if (nm_stamp_ns(r->header.stamp) != nm_stamp_ns(image->header.stamp)) return 0;
    for (uint32_t i = 0; i < r->regions.n && i < r->confidence.n; i++) {
        const RegionOfInterest *box = &r->regions.at[i];
        double x = u - box->x_offset, y = v - box->y_offset;
        if (x >= 0 && y >= 0 && x < box->width && y < box->height) most = fmaxf(most, r->confidence.at[i]);
    }
    return most;
}

/* How far down the head may look: the farther it looks aside, the less, because the shoulders are there (HULKs team
 * research report 2016, equation 6.3). For `head`, which keeps to it, and `gaze`, which plans with it. */
#pragma once

#include <math.h>

struct shoulders {
    double inner_tilt, outer_tilt; /* rad, lowest look straight ahead, and from yaw_edge on */
    double yaw_edge;               /* rad                                                   */
};

static inline double lowest_tilt(const struct shoulders *s, double pan)
{
    if (fabs(pan) >= s->yaw_edge) return s->outer_tilt;
    return s->outer_tilt + (s->inner_tilt - s->outer_tilt) / 2 * (1 + cos(M_PI * pan / s->yaw_edge));
}

/* Rows of a module's parameters; `member` is its struct shoulders. */
#define SHOULDERS_PARAM_(member, part, value_, low, high, about_)                                                      \
    {                                                                                                                  \
        .name = #part, .kind = NM_PARAM_DOUBLE, .offset = offsetof(SELF, member.part), .size = sizeof(double),         \
        .value = value_, .min = low, .max = high, .unit = "rad", .about = about_                                       \
    }
#define SHOULDERS_PARAMS(member)                                                                                       \
    SHOULDERS_PARAM_(member, inner_tilt, 1.4, -1.6, 1.6,                                                               \
                     "largest tilt downwards when the head looks straight ahead (0.35 on a NAO)"),                     \
        SHOULDERS_PARAM_(member, outer_tilt, 1.0, -1.6, 1.6,                                                           \
                         "largest tilt downwards when the head looks aside by yaw_edge or more (0.2 on a NAO)"),       \
        SHOULDERS_PARAM_(member, yaw_edge, 0.567, 0.01, 3.2,                                                           \
                         "pan at which outer_tilt begins; up to there the limit follows a cosine")

/* A cloud of particles as arrays of numbers, so that the compiler works on several particles at a time, and the score
 * of what is seen (Rhoban 2016, section 4.4): by the angle between the ray to the thing as it is seen and the ray to it
 * as it should be seen, never below a floor that stands for false percepts. */
#pragma once

#include "modules/position/sight.h"

enum { CLOUD = 10048, CLOUD_BLOCK = 64 }; /* whole blocks; 10,000 particles are used at most */
struct cloud {
    uint32_t n;
    _Alignas(64) float x[CLOUD], y[CLOUD]; /* m, field                */
    float theta[CLOUD];                    /* rad                     */
    float c[CLOUD], s[CLOUD];              /* cosine and sine of it   */
    float weight[CLOUD];                   /* their sum is not kept 1 */
};

struct cloud_score {
    float height; /* m, of the camera                                    */
    float angle;  /* rad, an error of this size halves the score or more */
    float floor;  /* share of false percepts                             */
};

/* Cosines and sines after directions were changed. */
void cloud_turned(struct cloud *cloud);
/* Multiplies the weights by the score of a landmark, or of a piece of line by both of its ends. */
void cloud_weigh(struct cloud *cloud, const struct sight_map *map, const struct sighting *seen,
                 const struct cloud_score *score);

/* Random numbers: xoshiro256++ (Blackman, Vigna 2019), seeded through splitmix64 (Steele et al. 2014). A stream is
 * named by a seed and up to two numbers, so that adding a robot or a camera changes no other stream. Modules have a
 * stream of their own behind nm_random and nm_gauss. */
#pragma once

#include <math.h>
#include <stdint.h>

struct nm_dice {
    uint64_t s[4];
};

/* splitmix64: spreads small numbers over all bits */
static inline uint64_t nm_spread(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline struct nm_dice nm_dice_new(uint64_t seed, uint64_t a, uint64_t b)
{
    struct nm_dice d;
    uint64_t x = nm_spread(nm_spread(nm_spread(seed) ^ a) ^ b);
    for (int i = 0; i < 4; i++) d.s[i] = x = nm_spread(x);
    return d;
}

static inline uint64_t nm_dice_bits(struct nm_dice *d)
{
    uint64_t *s = d->s, sum = s[0] + s[3], result = ((sum << 23) | (sum >> 41)) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* uniform in [0, 1) */
static inline double nm_dice_roll(struct nm_dice *d) { return (double)(nm_dice_bits(d) >> 11) * 0x1p-53; }

/* uniform in [-1, 1) */
static inline double nm_dice_both(struct nm_dice *d) { return 2 * nm_dice_roll(d) - 1; }

/* standard normal, by Box and Muller; one number a call, so that the stream's place does not depend on history */
static inline double nm_dice_gauss(struct nm_dice *d)
{
    double u = 1 - nm_dice_roll(d), v = nm_dice_roll(d);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

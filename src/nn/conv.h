/* The inner loops of convolutions and what is like them, for AVX-512, AVX2 and any CPU; chosen when a network is
 * prepared. Sums run in the same order in all variants; the first two fuse product and sum, so they give the same bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some pixels of a row, side by side, of some blocks of output channels. */
struct nm_tile {
    const float *in;                 /* the first pixel that the window of the first output pixel covers   */
    size_t next;                     /* floats to the window of the second row, of tiles that have one     */
    size_t in_row, in_col, in_block; /* floats from one row and column of the window, and block, to the next */
    uint32_t high, wide;             /* of the window                                                      */
    uint32_t blocks, last;           /* input blocks, and channels of the last of them                     */
    uint32_t step;                   /* floats from the input of one output pixel to that of the next      */
    const float *weights;            /* [block][row][column][channel][output channels of the tile]         */
    const float *bias;
    float *out;
    size_t out_block;
    float low, high_end; /* the sum is cut to these */
};

typedef void nm_tile_run(const struct nm_tile *tile);
enum { NM_TILE_WIDTHS = 9, NM_TILE_STEPS = 6 };
extern const uint8_t nm_tile_width[NM_TILE_WIDTHS]; /* pixels of a tile that there are loops for */

struct nm_tiles {
    uint32_t blocks; /* of output channels that a tile computes */
    /* of one row, and of two rows the largest of each four pixels; steps 1, 2, 4, 8, 16, and any; as wide as
     * nm_tile_width, up to the first NULL */
    nm_tile_run *run[2][NM_TILE_STEPS][NM_TILE_WIDTHS + 1];
};

struct nm_conv_kind {
    const char *name;
    uint32_t n; /* of tiles, widest first */
    const struct nm_tiles *tiles[3];
    /* one block, each channel with its own window: weights [row][column][8] */
    void (*each)(const struct nm_tile *tile, uint32_t pixels);
    /* to = max(a, b, c, d) over pairs of pixels of two rows; n: pixels of `to` */
    void (*pool)(float *to, const float *row, const float *next, uint32_t n);
    /* Winograd's way to convolve with 3 x 3 (Lavin and Gray: Fast Algorithms for Convolutional Neural Networks, 2016).
     * A block of n squares of 4 x 4 pixels, two apart, to 16 numbers each, `apart` floats from one to the next; and of
     * 16 products each back to squares of 2 x 2 pixels, with bias and ends of the tile */
    void (*spread)(float *to, size_t apart, const float *from, size_t row, uint32_t n);
    void (*gather)(float *const to[2], const float *from, size_t apart, uint32_t pixels, const struct nm_tile *t);
    /* to = a + (b - a) * by over n floats, a multiple of 8 */
    void (*mix)(float *to, const float *a, const float *b, float by, size_t n);
};
/* 0: the best of this machine, 1: plain, 2: AVX2, 3: AVX-512, as far as there is. */
const struct nm_conv_kind *nm_conv_kind(uint32_t which);

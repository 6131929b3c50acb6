#include "nn/mlp.h"

#include <math.h>
#include <string.h>

size_t nm_mlp_matrix(const struct nm_mlp *mlp, uint32_t layer)
{
    size_t at = 0;
    for (uint32_t l = 0; l < layer; l++) at += (size_t)(mlp->width[l] + 1) * nm_padded(mlp->width[l + 1]);
    return at;
}

size_t nm_mlp_bias(const struct nm_mlp *mlp, uint32_t layer)
{
    return nm_mlp_matrix(mlp, layer) + (size_t)mlp->width[layer] * nm_padded(mlp->width[layer + 1]);
}

void nm_mlp_new(struct nm_mlp *mlp, struct nm_arena *arena, const uint32_t *widths, uint32_t layers)
{
    mlp->layers = layers;
    memcpy(mlp->width, widths, (layers + 1) * sizeof *widths);
    mlp->n = nm_mlp_matrix(mlp, layers);
    mlp->at = nm_take_n(arena, float, mlp->n);
    for (uint32_t l = 1; l < layers; l++)
        mlp->turned[l] = nm_take_n(arena, float, (size_t)widths[l + 1] * nm_padded(widths[l]));
}

void nm_tape_new(struct nm_tape *tape, struct nm_arena *arena, const struct nm_mlp *mlp, uint32_t rows)
{
    tape->most = rows;
    for (uint32_t l = 0; l < mlp->layers; l++) {
        uint32_t wide = nm_padded(mlp->width[l + 1]);
        tape->y[l] = nm_take_n(arena, float, (size_t)rows *wide);
        tape->dy[l] = nm_take_n(arena, float, (size_t)rows *wide);
    }
}

const float *nm_mlp_forward(const struct nm_mlp *mlp, struct nm_tape *tape, const float *x, size_t x_row, uint32_t rows)
{
    tape->rows = rows;
    tape->x = x;
    tape->x_row = x_row;
    for (uint32_t l = 0; l < mlp->layers; l++) {
        uint32_t wide = nm_padded(mlp->width[l + 1]);
        const float *bias = mlp->at + nm_mlp_bias(mlp, l);
        float *y = tape->y[l];
        for (uint32_t r = 0; r < rows; r++) memcpy(y + (size_t)r * wide, bias, wide * sizeof *y);
        nm_dense(&(struct nm_product){.m = rows,
                                      .k = mlp->width[l],
                                      .n = wide,
                                      .a = x,
                                      .a_row = x_row,
                                      .a_col = 1,
                                      .b = mlp->at + nm_mlp_matrix(mlp, l),
                                      .b_row = wide,
                                      .c = y,
                                      .c_row = wide});
        if (l + 1 < mlp->layers) nm_elu(y, (size_t)rows * wide, 1);
        x = y;
        x_row = wide;
    }
    return x;
}

void nm_mlp_turn(const struct nm_mlp *mlp)
{
    for (uint32_t l = 1; l < mlp->layers; l++) {
        uint32_t in = mlp->width[l], out = mlp->width[l + 1], wide = nm_padded(out), to = nm_padded(in);
        const float *w = mlp->at + nm_mlp_matrix(mlp, l);
        for (uint32_t o = 0; o < out; o++)
            for (uint32_t i = 0; i < in; i++) mlp->turned[l][(size_t)o * to + i] = w[(size_t)i * wide + o];
    }
}

/* dx = dy w^T, times the slope of Elu, which its output tells: 1 above zero, y + 1 below. */
static void through(const struct nm_mlp *mlp, struct nm_tape *tape, uint32_t layer)
{
    uint32_t out = mlp->width[layer + 1], wide = nm_padded(out), to = nm_padded(mlp->width[layer]);
    const float *y = tape->y[layer - 1];
    float *dx = tape->dy[layer - 1];
    memset(dx, 0, (size_t)tape->rows * to * sizeof *dx);
    nm_dense(&(struct nm_product){.m = tape->rows,
                                  .k = out,
                                  .n = to,
                                  .a = tape->dy[layer],
                                  .a_row = wide,
                                  .a_col = 1,
                                  .b = mlp->turned[layer],
                                  .b_row = to,
                                  .c = dx,
                                  .c_row = to});
    nm_elu_back(dx, y, (size_t)tape->rows * to);
}

void nm_mlp_backward(const struct nm_mlp *mlp, struct nm_tape *tape, float *gradient)
{
    for (uint32_t l = mlp->layers; l-- > 0;) {
        uint32_t wide = nm_padded(mlp->width[l + 1]);
        const float *dy = tape->dy[l];
        float *bias = gradient + nm_mlp_bias(mlp, l);
        nm_dense(&(struct nm_product){.m = mlp->width[l],
                                      .k = tape->rows,
                                      .n = wide,
                                      .a = l ? tape->y[l - 1] : tape->x,
                                      .a_row = 1,
                                      .a_col = l ? nm_padded(mlp->width[l]) : tape->x_row,
                                      .b = dy,
                                      .b_row = wide,
                                      .c = gradient + nm_mlp_matrix(mlp, l),
                                      .c_row = wide});
        nm_sum_rows(bias, dy, tape->rows, wide);
        if (l) through(mlp, tape, l);
    }
}

void nm_adam_new(struct nm_adam *adam, struct nm_arena *arena, size_t n)
{
    *adam = (struct nm_adam){.n = n, .mean = nm_take_n(arena, float, n), .square = nm_take_n(arena, float, n)};
}

void nm_adam_step(struct nm_adam *adam, float *parameters, const float *gradient, float rate)
{
    const float keep_mean = 0.9f, keep_square = 0.999f, least = 1e-5f;
    double t = (double)++adam->steps;
    float whole_mean = (float)(1 / (1 - pow(keep_mean, t))), whole_square = (float)(1 / (1 - pow(keep_square, t)));
    for (size_t i = 0; i < adam->n; i++) {
        float g = gradient[i];
        adam->mean[i] += (1 - keep_mean) * (g - adam->mean[i]);
        adam->square[i] += (1 - keep_square) * (g * g - adam->square[i]);
        parameters[i] -= rate * whole_mean * adam->mean[i] / (sqrtf(whole_square * adam->square[i]) + least);
    }
}

void nm_mean_of_last(float *mean, const float *now, size_t n, uint64_t count)
{
    const double power = 8, longest = 900;
    float share = (float)((power + 1) / (fmin((double)count, longest) + power));
    for (size_t i = 0; i < n; i++) mean[i] += share * (now[i] - mean[i]);
}

/* A chain of dense layers with Elu between them, and its gradient: what a trainer works on. Nothing of a robot uses it;
 * a trained chain becomes a network of nn/net.h.
 *
 * All numbers of a chain stand in one array, so that gradients and optimisers are arrays of the same length. Widths are
 * padded to NM_LANES; the padding is zero and stays zero. */
#pragma once

#include "base/arena.h"
#include "nn/dense.h"

enum { NM_MLP_LAYERS = 8 };

struct nm_mlp {
    uint32_t layers;
    uint32_t width[NM_MLP_LAYERS + 1]; /* inputs of each layer, and at last the outputs */
    size_t n;                          /* parameters, with padding                      */
    float *at;                         /* of each layer: the matrix, in x padded out, then the bias, padded out */
    float *turned[NM_MLP_LAYERS];      /* transposed matrices, out x padded in; not of the first layer */
};

/* widths: layers + 1 of them. All parameters are zero. */
void nm_mlp_new(struct nm_mlp *mlp, struct nm_arena *arena, const uint32_t *widths, uint32_t layers);
/* Where the matrix of a layer stands in an array of the chain's length; its bias follows. */
size_t nm_mlp_matrix(const struct nm_mlp *mlp, uint32_t layer);
size_t nm_mlp_bias(const struct nm_mlp *mlp, uint32_t layer);

/* What a pass over some rows leaves for the way back. A thread has its own. */
struct nm_tape {
    uint32_t most, rows;      /* room, and rows of the last pass              */
    const float *x;           /* of the last pass                             */
    size_t x_row;             /* floats from one row of it to the next        */
    float *y[NM_MLP_LAYERS];  /* outputs of each layer, padded                */
    float *dy[NM_MLP_LAYERS]; /* gradients there; the caller fills the last   */
};
void nm_tape_new(struct nm_tape *tape, struct nm_arena *arena, const struct nm_mlp *mlp, uint32_t rows);

/* The output of a row is tape->y[layers - 1] + row * nm_padded(width of the output). x must stay until the way back. */
const float *nm_mlp_forward(const struct nm_mlp *mlp, struct nm_tape *tape, const float *x, size_t x_row,
                            uint32_t rows);
/* Prepares the way back with the parameters as they are now. */
void nm_mlp_turn(const struct nm_mlp *mlp);
/* Adds the gradient of the parameters to `gradient`, from tape->dy[layers - 1], whose padding must be zero. */
void nm_mlp_backward(const struct nm_mlp *mlp, struct nm_tape *tape, float *gradient);

/* Adam (Kingma, Ba 2015), with its usual constants. */
struct nm_adam {
    size_t n;
    uint64_t steps;
    float *mean, *square;
};
void nm_adam_new(struct nm_adam *adam, struct nm_arena *arena, size_t n);
void nm_adam_step(struct nm_adam *adam, float *parameters, const float *gradient, float rate);

/* Takes the weights `now` into the mean of the last ones; `count` is how many were taken with them, from 1 on. The mean
 * forgets as fast as it may without knowing how long learning goes on (polynomial decay: Shamir and Zhang, "Stochastic
 * gradient descent for non-smooth optimization", 2013): its weights are a tenth of `count` old, at most 100 steps. */
void nm_mean_of_last(float *mean, const float *now, size_t n, uint64_t count);

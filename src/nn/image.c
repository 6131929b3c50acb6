#include "nn/image.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "nn/conv.h"
#include "nn/dense.h"

enum { MOST_WINDOW = 4096 }; /* of kernels, strides, dilations and pads */

typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

bool nm_image_dims(const struct nm_net_shape *s, uint32_t dims[4])
{
    if (s->rank < 2 || s->rank > 4) return false;
    dims[0] = s->dims[0], dims[1] = s->dims[1];
    dims[2] = s->rank == 4 ? s->dims[2] : 1;
    dims[3] = s->rank > 2 ? s->dims[s->rank - 1] : 1;
    return true;
}

static uint32_t blocks_of(uint32_t channels) { return (channels + NM_BLOCK - 1) / NM_BLOCK; }

/* Pixel (y, x) of a block of an image. */
static float *pixel(const struct nm_blocks *b, uint32_t n, uint32_t block, int64_t y, int64_t x)
{
    return b->at + n * b->image + block * b->plane + y * (int64_t)b->row + x * (int64_t)b->step;
}

/* ---- windows that move over an image ---- */

/* Along height and width. */
struct window {
    uint32_t size[2], stride[2], dilation[2], before[2], after[2], extra[2]; /* extra: output_padding */
    uint32_t in[2], out[2];
};

static const char *extent(const struct nm_net_node *node, const char *name, uint32_t rank, uint32_t least,
                          uint32_t usual, uint32_t from, uint32_t to[2])
{
    const struct nm_net_attribute *a = nm_attribute(node, name);
    uint32_t n = rank - 2;
    to[0] = to[1] = usual;
    if (!a) return NULL;
    if (a->n < from + n) return "a list of its attributes is too short";
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = a->whole[from + i];
        if (v < least || v > MOST_WINDOW) return "its strides, dilations, pads or kernel are impossible";
        to[2 - n + i] = (uint32_t)v;
    }
    return NULL;
}

/* What output_shape or SAME leave over is put before and after. */
static void share(struct window *w, uint32_t d, int64_t total, bool more_after)
{
    total = total < 0 ? 0 : total;
    w->before[d] = (uint32_t)(more_after ? total / 2 : total - total / 2);
    w->after[d] = (uint32_t)(total - w->before[d]);
}

/* Reads and checks everything but the kernel's size, which is there, and computes the output's size. */
static const char *window_of(const struct nm_net_node *node, const struct nm_net_shape *x, bool backwards,
                             bool ceil_mode, struct window *w)
{
    const char *pad = nm_attribute_text(node, "auto_pad", "NOTSET"), *wrong = NULL;
    const struct nm_net_attribute *wanted = nm_attribute(node, "output_shape");
    uint32_t n = x->rank - 2, dims[4];
    bool upper = !strcmp(pad, "SAME_UPPER"), same = upper || !strcmp(pad, "SAME_LOWER"), valid = !strcmp(pad, "VALID");
    if (!same && !valid && strcmp(pad, "NOTSET") && *pad) return "its auto_pad is not known here";
    if ((wrong = extent(node, "strides", x->rank, 1, 1, 0, w->stride)) ||
        (wrong = extent(node, "dilations", x->rank, 1, 1, 0, w->dilation)) ||
        (wrong = extent(node, "pads", x->rank, 0, 0, 0, w->before)) ||
        (wrong = extent(node, "pads", x->rank, 0, 0, n, w->after)) ||
        (wrong = extent(node, "output_padding", x->rank, 0, 0, 0, w->extra)))
        return wrong;
    if (wanted && wanted->n < n) return "its output_shape is too short";
    nm_image_dims(x, dims);
    for (uint32_t d = 0; d < 2; d++) {
        int64_t in = w->in[d] = dims[2 + d], step = w->stride[d], out;
        if (x->rank == 3 && d == 0) w->size[0] = 1;
        if (w->size[d] < 1 || w->size[d] > MOST_WINDOW) return "its kernel is too large";
        int64_t reach = (int64_t)(w->size[d] - 1) * w->dilation[d] + 1;
        if (valid || same) w->before[d] = w->after[d] = 0;
        if (backwards) {
            int64_t full = step * (in - 1) + w->extra[d] + reach;
            if (wanted && d >= 2 - n) {
                out = wanted->whole[wanted->n - n + d - (2 - n)];
                if (out < 1 || out > full) return "its output_shape is impossible";
                share(w, d, full - out, same ? upper : true);
            } else if (same) {
                out = in * step;
                share(w, d, full - out, upper);
            } else {
                out = full - w->before[d] - w->after[d];
            }
        } else if (same) {
            out = (in + step - 1) / step;
            share(w, d, (out - 1) * step + reach - in, upper);
        } else {
            int64_t room = in + w->before[d] + w->after[d] - reach;
            out = room < 0 ? 0 : (room + (ceil_mode ? step - 1 : 0)) / step + 1;
            if (ceil_mode && (out - 1) * step >= in + w->before[d]) out--; /* a window must begin inside */
        }
        if (out < 1) return "its kernel is larger than its input";
        if (out > NM_NET_COMPUTED) return "its output is too large";
        w->out[d] = (uint32_t)out;
    }
    return NULL;
}

static void window_shape(const struct window *w, const struct nm_net_shape *x, uint32_t channels,
                         struct nm_net_shape *out)
{
    *out = *x;
    out->dims[1] = channels;
    if (x->rank == 4) out->dims[2] = w->out[0];
    out->dims[x->rank - 1] = w->out[1];
}

struct pool {
    struct window window;
    bool max, with_border; /* count_include_pad */
};

/* The largest of each square of 2 x 2 pixels: what most networks do. */
static bool quarters(const struct pool *p)
{
    const struct window *w = &p->window;
    for (uint32_t d = 0; d < 2; d++)
        if (w->size[d] != 2 || w->stride[d] != 2 || w->dilation[d] != 1 || w->before[d] || 2 * w->out[d] > w->in[d])
            return false;
    return p->max;
}

/* ---- convolutions ---- */

/* One way through the output: all of it, or of a ConvTranspose each stride-th pixel, whose inputs have the same
 * weights. Input row of output row y and row i of the window: y * stride + from + i * apart. */
struct phase {
    uint32_t size[2], stride[2], apart[2], first[2], by[2], n[2]; /* first, by: of the output */
    int32_t from[2];
};

struct chunk {
    const struct nm_tiles *tiles; /* NULL: each channel has its own window                 */
    nm_tile_run *run;
    uint32_t wide; /* pixels of a tile */
    uint32_t block, in_block, in_blocks, last;
    const float *weights, *bias;
};

struct conv {
    struct window window;
    bool backwards;
    uint32_t groups, in, out; /* channels */
    const float *weights, *bias;
    const struct nm_conv_kind *kind;
    uint32_t n_phases, n_chunks; /* chunks of each phase */
    struct phase *phases;
    struct chunk *chunks;
    float low, high;
    struct nm_curve curve;
    bool has_curve; /* beyond low and high */
    bool pooled;    /* a MaxPool of 2 x 2 follows, so that only its output is kept */
};

/* Winograd's way with 16 products instead of 36 for a square of 2 x 2 pixels: each of the 16 is a phase, a convolution
 * of 1 x 1 over the squares. Worth it where channels are many beside what it costs to and fro. */
static bool by_squares(const struct conv *c)
{
    const struct window *w = &c->window;
    for (uint32_t d = 0; d < 2; d++)
        if (w->size[d] != 3 || w->stride[d] != 1 || w->dilation[d] != 1) return false;
    return !c->backwards && !c->pooled && c->groups == 1 && c->in >= 2 * NM_BLOCK && c->out >= 2 * NM_BLOCK;
}

/* Rows of squares that are done together: enough for wide tiles, few enough for the cache. */
static uint32_t square_rows(const struct conv *c)
{
    enum { TOGETHER = 36 };
    uint32_t high = (c->window.out[0] + 1) / 2, wide = (c->window.out[1] + 1) / 2;
    uint32_t turns = (high * wide + TOGETHER - 1) / TOGETHER;
    turns = turns < high ? turns : high;
    return (high + turns - 1) / turns;
}

const char *nm_image_conv(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0), *w = nm_net_in(net, node, 1), *b = nm_net_in(net, node, 2);
    struct conv *c = nm_take_n(&net->arena, struct conv, 1);
    int64_t groups = nm_attribute_whole(node, "group", 1);
    uint32_t rank = x->shape.rank, given[2];
    c->backwards = node->op == NM_OP_CONV_TRANSPOSE;
    if (rank < 3 || rank > 4) return "its input is no image: it has not three or four dimensions";
    if (!w->constant || w->shape.rank != rank || (b && !b->constant))
        return "its weights are not constant, or have another number of dimensions than its input";
    c->in = x->shape.dims[1];
    if (groups < 1 || groups > c->in || c->in % groups) return "its groups do not divide its channels";
    c->groups = (uint32_t)groups;
    c->out = c->backwards ? w->shape.dims[1] * c->groups : w->shape.dims[0];
    if (c->out % c->groups || (c->backwards ? w->shape.dims[0] != c->in : w->shape.dims[1] * c->groups != c->in))
        return "its weights do not fit the channels of its input";
    if (b && b->n != c->out) return "its bias has another number of elements than its output has channels";
    c->window.size[1] = w->shape.dims[rank - 1], c->window.size[0] = rank == 4 ? w->shape.dims[2] : 1;
    const char *wrong = extent(node, "kernel_shape", rank, 1, 0, 0, given);
    if (!wrong && nm_attribute(node, "kernel_shape") &&
        (given[1] != c->window.size[1] || (rank == 4 && given[0] != c->window.size[0])))
        wrong = "its kernel_shape is not that of its weights";
    if (!wrong) wrong = window_of(node, &x->shape, c->backwards, false, &c->window);
    if (wrong) return wrong;
    c->weights = w->at, c->bias = b ? b->at : NULL;
    window_shape(&c->window, &x->shape, c->out, out);
    uint64_t pixels =
        c->backwards ? (uint64_t)c->window.in[0] * c->window.in[1] : (uint64_t)c->window.out[0] * c->window.out[1];
    net->products += x->shape.dims[0] * pixels * w->n;
    node->work = c;
    return NULL;
}

/* The weight from channel i to channel o at (y, x) of the window; 0 between groups. */
static float weight(const struct conv *c, uint32_t o, uint32_t i, uint32_t y, uint32_t x)
{
    uint32_t ins = c->in / c->groups, outs = c->out / c->groups;
    if (i >= c->in || o >= c->out || i / ins != o / outs) return 0;
    size_t at = c->backwards ? (size_t)i * outs + o % outs : (size_t)o * ins + i % ins;
    return c->weights[(at * c->window.size[0] + y) * c->window.size[1] + x];
}

/* Of GgG', where G has the rows (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2, (0, 0, 1). */
static float square_weight(const struct conv *c, uint32_t o, uint32_t i, uint32_t which)
{
    static const float g[4][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
    float sum = 0;
    for (uint32_t k = 0; k < 9; k++) sum += g[which / 4][k / 3] * g[which % 4][k % 3] * weight(c, o, i, k / 3, k % 3);
    return sum;
}

/* Of the output pixels y = n * by + first: which rows of the window meet them, and where they read. */
static void phase_along(const struct conv *c, uint32_t d, uint32_t r, struct phase *p)
{
    const struct window *w = &c->window;
    if (!c->backwards) {
        p->size[d] = w->size[d], p->stride[d] = w->stride[d], p->apart[d] = w->dilation[d];
        p->first[d] = 0, p->by[d] = 1, p->n[d] = w->out[d], p->from[d] = -(int32_t)w->before[d];
        return;
    }
    int32_t stride = (int32_t)w->stride[d], first = -1, second = -1, last = -1;
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->size[d]; k++) {
        if (((int32_t)(r + w->before[d]) - (int32_t)(k * w->dilation[d])) % stride) continue;
        if (n == 0) first = (int32_t)k;
        if (n == 1) second = (int32_t)k;
        last = (int32_t)k;
        n++;
    }
    p->size[d] = n, p->stride[d] = 1, p->first[d] = r, p->by[d] = w->stride[d];
    p->n[d] = r < w->out[d] ? (w->out[d] - r + w->stride[d] - 1) / w->stride[d] : 0;
    /* the input falls as the row of the window rises, so windows are packed from the last row to the first */
    p->from[d] = n ? ((int32_t)(r + w->before[d]) - last * (int32_t)w->dilation[d]) / stride : 0;
    p->apart[d] = n > 1 ? (uint32_t)((second - first) * (int32_t)w->dilation[d] / stride) : 1;
}

/* Row of the kernel that stands at row i of the window of a phase. */
static uint32_t kernel_row(const struct conv *c, const struct phase *p, uint32_t d, uint32_t i)
{
    if (!c->backwards) return i;
    uint32_t seen = 0;
    for (uint32_t k = c->window.size[d]; k-- > 0;)
        if (((int32_t)(p->first[d] + c->window.before[d]) - (int32_t)(k * c->window.dilation[d])) %
                    (int32_t)c->window.stride[d] ==
                0 &&
            seen++ == i)
            return k;
    return 0;
}

static const char *make_phases(struct nm_net *net, struct conv *c)
{
    const struct window *w = &c->window;
    uint32_t n[2] = {c->backwards ? w->stride[0] : 1, c->backwards ? w->stride[1] : 1};
    if (n[0] * n[1] > 1024) return "its strides are too large";
    c->n_phases = by_squares(c) ? 16 : n[0] * n[1];
    c->phases = nm_take_n(&net->arena, struct phase, c->n_phases);
    for (uint32_t i = 0; i < c->n_phases && by_squares(c); i++)
        c->phases[i] = (struct phase){.size = {1, 1},
                                      .stride = {1, 1},
                                      .apart = {1, 1},
                                      .by = {1, 1},
                                      .n = {1, square_rows(c) * ((w->out[1] + 1) / 2)}};
    if (by_squares(c)) return NULL;
    for (uint32_t i = 0; i < c->n_phases; i++) {
        phase_along(c, 0, i / n[1], &c->phases[i]);
        phase_along(c, 1, i % n[1], &c->phases[i]);
    }
    return NULL;
}

/* The output's blocks in pieces as wide as there are tiles for. Groups of whole blocks stay apart; a group for each
 * channel has loops of its own; other groups become one, with zeros between them. */
static uint32_t cut_chunks(const struct conv *c, bool narrow, struct chunk *to)
{
    bool each = c->groups == c->in && c->groups == c->out && c->groups > 1 && !narrow;
    uint32_t ins = c->in / c->groups, outs = c->out / c->groups, n = 0;
    bool apart = c->groups > 1 && ins % NM_BLOCK == 0 && outs % NM_BLOCK == 0;
    for (uint32_t block = 0, all = blocks_of(c->out); block < all;) {
        uint32_t left = apart ? (block * NM_BLOCK / outs + 1) * outs / NM_BLOCK - block : all - block;
        struct chunk chunk = {.block = block, .in_blocks = blocks_of(c->in), .last = (c->in - 1) % NM_BLOCK + 1};
        if (apart) chunk.in_block = block * NM_BLOCK / outs * ins / NM_BLOCK, chunk.in_blocks = ins / NM_BLOCK;
        if (each) chunk.in_block = block, chunk.in_blocks = 1, chunk.last = NM_BLOCK;
        for (uint32_t i = 0; i < c->kind->n && !each && !chunk.tiles; i++)
            if (c->kind->tiles[i]->blocks <= left) chunk.tiles = c->kind->tiles[i];
        block += each ? 1 : chunk.tiles->blocks;
        if (to) to[n] = chunk;
        n++;
    }
    return n;
}

static void pack_chunk(struct nm_net *net, const struct conv *c, const struct phase *p, struct chunk *chunk,
                       const float *scale, const float *shift)
{
    uint32_t outs = chunk->tiles ? chunk->tiles->blocks * NM_BLOCK : NM_BLOCK, o0 = chunk->block * NM_BLOCK;
    uint32_t channels = chunk->tiles ? (chunk->in_blocks - 1) * NM_BLOCK + chunk->last : 1;
    float *w = nm_take_n(&net->arena, float, (size_t)channels * p->size[0] * p->size[1] * outs + 1),
          *bias = nm_take_n(&net->arena, float, outs);
    chunk->weights = w, chunk->bias = bias;
    for (uint32_t o = 0; o < outs && o0 + o < c->out; o++)
        bias[o] = (c->bias ? c->bias[o0 + o] : 0) * scale[o0 + o] + shift[o0 + o];
    for (uint32_t b = 0; b < chunk->in_blocks; b++)
        for (uint32_t y = 0; y < p->size[0]; y++)
            for (uint32_t x = 0; x < p->size[1]; x++)
                for (uint32_t i = 0; i < (chunk->tiles ? b + 1 == chunk->in_blocks ? chunk->last : NM_BLOCK : 1); i++)
                    for (uint32_t o = 0; o < outs; o++) {
                        uint32_t from = chunk->tiles ? (chunk->in_block + b) * NM_BLOCK + i : o0 + o;
                        float s = o0 + o < c->out ? scale[o0 + o] : 0;
                        *w++ = s * (by_squares(c)
                                        ? square_weight(c, o0 + o, from, (uint32_t)(p - c->phases))
                                        : weight(c, o0 + o, from, kernel_row(c, p, 0, y), kernel_row(c, p, 1, x)));
                    }
}

static uint32_t log_of(uint32_t step) /* 1, 2, 4, 8, 16 to 0 … 4; others to 5 */
{
    for (uint32_t i = 0; i < NM_TILE_STEPS - 1; i++)
        if (step == 1u << i) return i;
    return NM_TILE_STEPS - 1;
}

/* Tiles that do the fewest pixels, each as if it had one more. */
static void choose_tiles(const struct conv *c, const struct phase *p, uint32_t step, struct chunk *chunk)
{
    nm_tile_run *const *run = chunk->tiles->run[c->pooled][log_of(p->stride[1] * step)];
    uint32_t pixels = c->pooled ? p->n[1] / 2 : p->n[1], least = UINT32_MAX;
    for (uint32_t i = 0; run[i]; i++) {
        uint32_t wide = nm_tile_width[i], tiles = (pixels + wide - 1) / wide;
        if (tiles * (wide + 1) >= least || (i && wide > pixels)) continue;
        least = tiles * (wide + 1);
        chunk->run = run[i], chunk->wide = wide;
    }
}

const char *nm_conv_pack(struct nm_net *net, const struct nm_net_node *node, const struct nm_blocks *x,
                         const float *scale, const float *shift, const struct nm_curve *curve)
{
    struct conv *c = node->work;
    const char *wrong = make_phases(net, c);
    if (wrong) return wrong;
    c->kind = nm_conv_kind(net->kind);
    c->low = -INFINITY, c->high = INFINITY;
    if (curve && curve->op == NM_OP_RELU) c->low = 0;
    if (curve && curve->op == NM_OP_CLIP) c->low = curve->a, c->high = curve->b;
    c->has_curve = curve && curve->op != NM_OP_RELU && curve->op != NM_OP_CLIP;
    if (c->has_curve) c->curve = *curve;
    bool narrow = x->step < NM_BLOCK;
    c->n_chunks = cut_chunks(c, narrow, NULL);
    uint64_t weights = (uint64_t)blocks_of(c->in) * NM_BLOCK * blocks_of(c->out) * NM_BLOCK *
                       (by_squares(c) ? 16 : c->window.size[0] * c->window.size[1]);
    if (c->groups > 1 && c->groups == c->in && c->groups == c->out && !narrow) weights /= c->groups;
    if ((net->computed += weights) > NM_NET_COMPUTED || (uint64_t)c->n_chunks * c->n_phases > 1 << 20)
        return "its weights are too large";
    c->chunks = nm_take_n(&net->arena, struct chunk, (size_t)c->n_chunks * c->n_phases);
    for (uint32_t p = 0; p < c->n_phases; p++) {
        cut_chunks(c, narrow, c->chunks + p * c->n_chunks);
        for (uint32_t k = 0; k < c->n_chunks; k++) {
            struct chunk *chunk = &c->chunks[p * c->n_chunks + k];
            pack_chunk(net, c, &c->phases[p], chunk, scale, shift);
            if (chunk->tiles) choose_tiles(c, &c->phases[p], x->step, chunk);
        }
    }
    return NULL;
}

static void more(uint32_t *have, int64_t want)
{
    if (want > *have) *have = (uint32_t)want;
}

void nm_image_border(const struct nm_net_node *node, struct nm_blocks *image)
{
    const struct conv *c = node->work;
    struct phase p;
    for (uint32_t d = 0; d < 2; d++) {
        uint32_t *before = d ? &image->left : &image->top, *after = d ? &image->right : &image->bottom;
        for (uint32_t r = 0; r < (c->backwards ? c->window.stride[d] : 1); r++) {
            phase_along(c, d, r, &p);
            if (!p.n[d] || !p.size[d]) continue;
            more(before, -(int64_t)p.from[d]);
            more(after, (int64_t)(p.n[d] - 1) * p.stride[d] + (int64_t)(p.size[d] - 1) * p.apart[d] + p.from[d] -
                            (c->window.in[d] - 1) + (by_squares(c) && c->window.out[d] % 2));
        }
    }
}

/* A curve over a row of an image, which may be no multiple of NM_LANES long. */
static void curve_row(const struct nm_net *net, const struct nm_curve *curve, float *row, size_t n)
{
    memcpy(net->scratch, row, n * sizeof *row);
    nm_curve(curve, net->scratch, n);
    memcpy(row, net->scratch, n * sizeof *row);
}

/* A row of a chunk. The last tile may do some pixels again. */
static void conv_row(const struct conv *c, const struct chunk *chunk, struct nm_tile *t, uint32_t pixels)
{
    if (!chunk->tiles) {
        c->kind->each(t, pixels);
        return;
    }
    const float *in = t->in;
    float *out = t->out;
    size_t step = c->pooled ? 2 * t->step : t->step;
    for (uint32_t x = 0; x < pixels; x += chunk->wide) {
        uint32_t at = x + chunk->wide > pixels ? pixels - chunk->wide : x;
        t->in = in + at * step, t->out = out + (size_t)at * NM_BLOCK;
        chunk->run(t);
    }
}

bool nm_conv_pool(const struct nm_net_node *node, const struct nm_net_node *next)
{
    struct conv *c = node->work;
    bool each = c->groups > 1 && c->groups == c->in; /* has no tiles */
    if (c->backwards || each || next->op != NM_OP_MAX_POOL || !quarters(next->work)) return false;
    return c->pooled = true;
}

/* Rows of squares from `top` on, of one image. */
static void run_squares(const struct nm_net *net, const struct conv *c, const struct nm_blocks *x,
                        const struct nm_blocks *y, uint32_t n, uint32_t top)
{
    static const float none[4 * NM_BLOCK] = {0}; /* the bias comes last */
    uint32_t rows = square_rows(c), wide = (y->w + 1) / 2, ins = blocks_of(c->in), outs = blocks_of(c->out);
    size_t block = (size_t)rows * wide * NM_BLOCK;
    float *in = net->scratch, *out = in + 16 * ins * block;
    for (uint32_t k = 0; k < ins * rows; k++)
        c->kind->spread(
            in + k * (size_t)wide * NM_BLOCK, ins * block,
            pixel(x, n, k / rows, 2 * (int64_t)(top + k % rows) - c->window.before[0], -(int64_t)c->window.before[1]),
            x->row, wide);
    struct nm_tile t = {.in_block = block,
                        .in_col = NM_BLOCK,
                        .high = 1,
                        .wide = 1,
                        .blocks = ins,
                        .last = (c->in - 1) % NM_BLOCK + 1,
                        .step = NM_BLOCK,
                        .bias = none,
                        .out_block = block,
                        .low = -INFINITY,
                        .high_end = INFINITY};
    for (uint32_t k = 0; k < c->n_phases * c->n_chunks; k++) {
        const struct chunk *chunk = &c->chunks[k];
        t.in = in + k / c->n_chunks * ins * block, t.weights = chunk->weights;
        t.out = out + (k / c->n_chunks * outs + chunk->block) * block;
        conv_row(c, chunk, &t, rows * wide);
    }
    t.low = c->low, t.high_end = c->high;
    for (uint32_t k = 0; k < c->n_chunks; k++)
        for (uint32_t i = 0; i < c->chunks[k].tiles->blocks * rows; i++) {
            uint32_t b = c->chunks[k].block + i / rows, row = 2 * (top + i % rows);
            float *const to[2] = {pixel(y, n, b, row, 0), row + 1 < y->h ? pixel(y, n, b, row + 1, 0) : NULL};
            t.bias = c->chunks[k].bias + i / rows * NM_BLOCK;
            c->kind->gather(to, out + b * block + i % rows * (size_t)wide * NM_BLOCK, outs * block, y->w, &t);
        }
}

static void run_conv(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct conv *c = step->node->work;
    const struct nm_blocks *x = net->values[step->in].blocks, *y = net->values[step->out].blocks;
    uint32_t rows_together = by_squares(c) ? square_rows(c) : 0, high = (y->h + 1) / 2;
    for (uint32_t n = 0; n < x->n; n++)
        for (uint32_t top = 0; rows_together && top < high; top += rows_together) /* the last ones may be done again */
            run_squares(net, c, x, y, n, top + rows_together > high ? high - rows_together : top);
    for (uint32_t n = 0; n < x->n && !rows_together; n++)
        for (uint32_t k = 0; k < c->n_phases * c->n_chunks; k++) {
            const struct phase *p = &c->phases[k / c->n_chunks];
            const struct chunk *chunk = &c->chunks[k];
            uint32_t blocks = chunk->tiles ? chunk->tiles->blocks : 1;
            bool beside = p->by[1] == 1; /* pixels stand side by side */
            uint32_t rows = c->pooled ? 2 : 1;
            struct nm_tile t = {.next = p->stride[0] * x->row,
                                .in_row = p->apart[0] * x->row,
                                .in_col = (size_t)p->apart[1] * x->step,
                                .in_block = x->plane,
                                .high = p->size[0],
                                .wide = p->size[1],
                                .blocks = chunk->in_blocks,
                                .last = chunk->last,
                                .step = p->stride[1] * x->step,
                                .weights = chunk->weights,
                                .bias = chunk->bias,
                                .low = c->low,
                                .high_end = c->high,
                                .out_block = beside ? y->plane : (size_t)p->n[1] * NM_BLOCK};
            for (uint32_t row = 0; row < p->n[0] / rows && p->n[1]; row++) {
                float *to = pixel(y, n, chunk->block, row * p->by[0] + p->first[0], p->first[1]);
                t.in = pixel(x, n, chunk->in_block, (int64_t)row * rows * p->stride[0] + p->from[0], p->from[1]);
                t.out = beside ? to : net->scratch;
                conv_row(c, chunk, &t, p->n[1] / rows);
                for (uint32_t b = 0; b < blocks && !beside; b++)
                    for (uint32_t i = 0; i < p->n[1]; i++)
                        *(eight *)(to + b * y->plane + (size_t)i * p->by[1] * NM_BLOCK) =
                            *(const eight *)(net->scratch + b * t.out_block + (size_t)i * NM_BLOCK);
            }
            for (uint32_t row = 0; row < p->n[0] * blocks && c->has_curve && c->n_phases == 1; row++)
                curve_row(net, &c->curve, pixel(y, n, chunk->block + row / p->n[0], row % p->n[0], 0),
                          (size_t)y->w * NM_BLOCK);
        }
    bool all = c->has_curve && c->n_phases > 1; /* pixels of several phases stand between one another */
    for (uint32_t row = 0; row < y->n * blocks_of(y->c) * y->h && all; row++)
        curve_row(net, &c->curve, pixel(y, row / y->h / blocks_of(y->c), row / y->h % blocks_of(y->c), row % y->h, 0),
                  (size_t)y->w * NM_BLOCK);
}

/* ---- scale and shift of channels ---- */

const char *nm_image_norm(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    uint32_t dims[4];
    if (!nm_image_dims(&x->shape, dims)) return "its input has not two to four dimensions";
    if (nm_attribute_whole(node, "training_mode", 0)) return "it is in training mode";
    if (!nm_attribute_whole(node, "spatial", 1)) return "spatial 0 is not known here";
    for (uint32_t i = 1; i < 5; i++) {
        const struct nm_net_value *v = nm_net_in(net, node, i);
        if (!v->constant || v->n != dims[1]) return "its numbers are not one constant for each channel";
    }
    float *both = nm_take_n(&net->arena, float, 2 * (size_t)blocks_of(dims[1]) * NM_BLOCK);
    node->work = both;
    *out = x->shape;
    nm_image_affine(net, node, both, both + (size_t)blocks_of(dims[1]) * NM_BLOCK);
    return NULL;
}

bool nm_image_affine(struct nm_net *net, const struct nm_net_node *node, float *scale, float *shift)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0), *k = nm_net_in(net, node, 1);
    uint32_t dims[4], one[4];
    if (!x || !nm_image_dims(&x->shape, dims)) return false;
    if (node->op == NM_OP_BATCH_NORM) {
        const float *gain = k->at, *bias = nm_net_in(net, node, 2)->at, *mean = nm_net_in(net, node, 3)->at,
                    *variance = nm_net_in(net, node, 4)->at;
        float epsilon = nm_attribute_float(node, "epsilon", 1e-5f);
        for (uint32_t c = 0; c < dims[1]; c++) {
            scale[c] = gain[c] / sqrtf(variance[c] + epsilon);
            shift[c] = bias[c] - mean[c] * scale[c];
        }
        return true;
    }
    if (node->op < NM_OP_ADD || node->op > NM_OP_DIV || !k) return false;
    if (x->constant && node->op != NM_OP_SUB && node->op != NM_OP_DIV) { /* constant first: turn them round */
        const struct nm_net_value *other = x;
        x = k, k = other;
        if (!nm_image_dims(&x->shape, dims)) return false;
    }
    if (!k->constant || x->constant || x->shape.rank < 3) return false;
    struct nm_net_shape s = k->shape; /* with ones in front: as many dimensions as x */
    if (s.rank > x->shape.rank) return false;
    memmove(s.dims + (x->shape.rank - s.rank), s.dims, s.rank * sizeof *s.dims);
    for (uint32_t d = 0; d < x->shape.rank - s.rank; d++) s.dims[d] = 1;
    s.rank = x->shape.rank;
    if (!nm_image_dims(&s, one) || one[0] != 1 || one[2] != 1 || one[3] != 1 || (one[1] != 1 && one[1] != dims[1]))
        return false;
    for (uint32_t c = 0; c < dims[1]; c++) {
        float v = k->at[one[1] == 1 ? 0 : c];
        scale[c] = node->op == NM_OP_MUL ? v : node->op == NM_OP_DIV ? 1 / v : 1;
        shift[c] = node->op == NM_OP_ADD ? v : node->op == NM_OP_SUB ? -v : 0;
    }
    return true;
}

static void run_affine(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct nm_blocks *x = net->values[step->in].blocks, *y = net->values[step->out].blocks;
    const float *scale = step->node->work, *shift = scale + (size_t)blocks_of(y->c) * NM_BLOCK;
    for (uint32_t row = 0; row < y->n * blocks_of(y->c) * y->h; row++) {
        uint32_t n = row / y->h / blocks_of(y->c), block = row / y->h % blocks_of(y->c);
        const float *from = pixel(x, n, block, row % y->h, 0), *s = scale + (size_t)block * NM_BLOCK,
                    *t = shift + (size_t)block * NM_BLOCK;
        float *to = pixel(y, n, block, row % y->h, 0);
        for (uint32_t i = 0; i < y->w; i++)
            for (uint32_t c = 0; c < NM_BLOCK; c++) to[i * NM_BLOCK + c] = from[i * NM_BLOCK + c] * s[c] + t[c];
    }
}

/* ---- pools ---- */

const char *nm_image_pool(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    struct pool *p = nm_take_n(&net->arena, struct pool, 1);
    uint32_t dims[4];
    bool all = node->op == NM_OP_GLOBAL_MAX_POOL || node->op == NM_OP_GLOBAL_AVERAGE_POOL;
    if (x->shape.rank < 3 || !nm_image_dims(&x->shape, dims)) return "its input is no image";
    if (node->n_out > 1) return "it has more than one output";
    p->max = node->op == NM_OP_MAX_POOL || node->op == NM_OP_GLOBAL_MAX_POOL;
    p->with_border = nm_attribute_whole(node, "count_include_pad", 0);
    struct window *w = &p->window;
    if (all) {
        *w = (struct window){{dims[2], dims[3]}, {1, 1}, {1, 1}, {0}, {0}, {0}, {dims[2], dims[3]}, {1, 1}};
    } else {
        if (!nm_attribute(node, "kernel_shape")) return "it has no kernel_shape";
        const char *wrong = extent(node, "kernel_shape", x->shape.rank, 1, 1, 0, w->size);
        if (!wrong) wrong = window_of(node, &x->shape, false, nm_attribute_whole(node, "ceil_mode", 0), w);
        if (wrong) return wrong;
        for (uint32_t d = 0; d < 2; d++)
            if (w->before[d] >= (w->size[d] - 1) * w->dilation[d] + 1 ||
                w->after[d] >= (w->size[d] - 1) * w->dilation[d] + 1)
                return "its pads are as large as its kernel";
    }
    window_shape(w, &x->shape, dims[1], out);
    node->work = p;
    return NULL;
}

/* The rows (or columns) of the window at `out` that lie inside of the image: from *first, n of them. */
static uint32_t inside(const struct window *w, uint32_t d, uint32_t out, int64_t *first, uint32_t *counted)
{
    int64_t at = (int64_t)out * w->stride[d] - w->before[d], n = w->size[d], step = w->dilation[d];
    int64_t skip = at < 0 ? (-at + step - 1) / step : 0, last = (w->in[d] - 1 - at) / step;
    int64_t border = (w->in[d] + w->after[d] - 1 - at) / step; /* what lies even beyond the border does not count */
    *counted = (uint32_t)(border + 1 < n ? border + 1 : n);
    *first = at + skip * step;
    if (last + 1 < n) n = last + 1;
    return n > skip ? (uint32_t)(n - skip) : 0;
}

static void run_pool(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct pool *p = step->node->work;
    const struct window *w = &p->window;
    const struct nm_blocks *x = net->values[step->in].blocks, *y = net->values[step->out].blocks;
    const struct nm_conv_kind *kind = nm_conv_kind(net->kind);
    bool quarter = quarters(p);
    for (uint32_t plane = 0; plane < y->n * blocks_of(y->c); plane++) {
        uint32_t n = plane / blocks_of(y->c), block = plane % blocks_of(y->c);
        for (uint32_t i = 0; i < y->h; i++) {
            float *to = pixel(y, n, block, i, 0);
            if (quarter) {
                const float *row = pixel(x, n, block, 2 * i, 0);
                kind->pool(to, row, row + x->row, y->w);
                continue;
            }
            int64_t top, left;
            uint32_t counted[2], high = inside(w, 0, i, &top, &counted[0]);
            for (uint32_t j = 0; j < y->w; j++, to += NM_BLOCK) {
                uint32_t wide = inside(w, 1, j, &left, &counted[1]);
                eight sum = (eight){0} + (p->max ? -FLT_MAX : 0);
                for (uint32_t a = 0; a < high; a++) {
                    const float *row = pixel(x, n, block, top + (int64_t)a * w->dilation[0], left);
                    for (uint32_t b = 0; b < wide; b++, row += w->dilation[1] * NM_BLOCK)
                        for (uint32_t c = 0; c < NM_BLOCK; c++)
                            sum[c] = p->max ? (row[c] > sum[c] ? row[c] : sum[c]) : sum[c] + row[c];
                }
                if (!p->max) sum /= (float)(p->with_border ? counted[0] * counted[1] : high * wide);
                *(eight *)to = sum;
            }
        }
    }
}

/* ---- resizing ---- */

struct resize { /* along height and width: output i mixes input a[i] and b[i], the second one by `by` */
    uint32_t *a[2], *b[2];
    float *by[2];
    bool linear;
};

static const char *sizes_of(struct nm_net *net, const struct nm_net_node *node, const struct nm_net_shape *x,
                            float scale[4], uint32_t size[4])
{
    bool old = node->op == NM_OP_UPSAMPLE || net->opset < 11;
    const struct nm_net_attribute *a = nm_attribute(node, "scales");
    const struct nm_net_value *scales = nm_net_in(net, node, old ? 1 : 2),
                              *sizes = old ? NULL : nm_net_in(net, node, 3);
    if (!a && !scales && !sizes) return "it has neither scales nor sizes";
    if ((scales && !scales->constant) || (sizes && !sizes->constant)) return "its scales or sizes are not constant";
    if ((sizes ? sizes->n : a ? a->n : scales->n) != x->rank) return "it has not a scale or size for each dimension";
    for (uint32_t d = 0; d < x->rank; d++) {
        float s = sizes ? sizes->at[d] / (float)x->dims[d] : a ? a->floats[d] : scales->at[d];
        float n = sizes ? sizes->at[d] : floorf((float)x->dims[d] * s);
        if (!(n >= 1 && n <= NM_NET_WHOLE) || !(s > 0)) return "its scales or sizes are impossible";
        scale[d] = s, size[d] = (uint32_t)n;
        if (d < 2 && (size[d] != x->dims[d])) return "it resizes more than height and width";
    }
    return NULL;
}

const char *nm_image_resize(struct nm_net *net, struct nm_net_node *node, struct nm_net_shape *out)
{
    const struct nm_net_value *x = nm_net_in(net, node, 0);
    struct resize *r = nm_take_n(&net->arena, struct resize, 1);
    bool old = node->op == NM_OP_UPSAMPLE || net->opset < 11;
    const char *mode = nm_attribute_text(node, "mode", "nearest"),
               *where = nm_attribute_text(node, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
               *nearest = nm_attribute_text(node, "nearest_mode", old ? "floor" : "round_prefer_floor");
    float scale[4];
    uint32_t size[4], rank = x->shape.rank;
    if (rank < 3 || rank > 4) return "its input is no image";
    r->linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    if (!r->linear && strcmp(mode, "nearest")) return "its mode is not known here";
    if (nm_attribute_whole(node, "antialias", 0)) return "antialias is not known here";
    if (strcmp(nm_attribute_text(node, "keep_aspect_ratio_policy", "stretch"), "stretch"))
        return "its keep_aspect_ratio_policy is not known here";
    const char *wrong = sizes_of(net, node, &x->shape, scale, size);
    if (wrong) return wrong;
    *out = x->shape;
    for (uint32_t i = 2; i < rank; i++) {
        uint32_t n = out->dims[i] = size[i], in = x->shape.dims[i], d = i + 2 - rank;
        uint32_t *a = r->a[d] = nm_take_n(&net->arena, uint32_t, n), *b = r->b[d] = nm_take_n(&net->arena, uint32_t, n);
        float *by = r->by[d] = nm_take_n(&net->arena, float, n);
        for (uint32_t k = 0; k < n; k++) {
            float at, last = (float)in - 1;
            if (!strcmp(where, "half_pixel") || (!strcmp(where, "pytorch_half_pixel") && n > 1))
                at = ((float)k + 0.5f) / scale[i] - 0.5f;
            else if (!strcmp(where, "pytorch_half_pixel"))
                at = 0;
            else if (!strcmp(where, "asymmetric") || !strcmp(where, "tf_half_pixel_for_nn"))
                at = ((float)k + (*where == 't' ? 0.5f : 0)) / scale[i];
            else if (!strcmp(where, "align_corners"))
                at = n > 1 ? (float)k * last / ((float)n - 1) : 0;
            else
                return "its coordinate_transformation_mode is not known here";
            if (r->linear) {
                at = at < 0 ? 0 : at > last ? last : at;
                a[k] = (uint32_t)at, b[k] = a[k] + 1 < in ? a[k] + 1 : a[k], by[k] = at - (float)a[k];
                continue;
            }
            if (!strcmp(nearest, "round_prefer_floor"))
                at = ceilf(at - 0.5f);
            else if (!strcmp(nearest, "round_prefer_ceil"))
                at = floorf(at + 0.5f);
            else if (!strcmp(nearest, "floor"))
                at = floorf(at);
            else if (!strcmp(nearest, "ceil"))
                at = ceilf(at);
            else
                return "its nearest_mode is not known here";
            a[k] = b[k] = at < 0 ? 0 : at > last ? in - 1 : (uint32_t)at;
        }
    }
    if (rank == 3) {
        r->a[0] = nm_take_n(&net->arena, uint32_t, 1), r->b[0] = nm_take_n(&net->arena, uint32_t, 1);
        r->by[0] = nm_take_n(&net->arena, float, 1);
    }
    node->work = r;
    return NULL;
}

static void run_resize(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct resize *r = step->node->work;
    const struct nm_blocks *x = net->values[step->in].blocks, *y = net->values[step->out].blocks;
    const struct nm_conv_kind *kind = nm_conv_kind(net->kind);
    for (uint32_t plane = 0; plane < y->n * blocks_of(y->c); plane++) {
        uint32_t n = plane / blocks_of(y->c), block = plane % blocks_of(y->c);
        for (uint32_t i = 0; i < y->h; i++) {
            const float *above = pixel(x, n, block, r->a[0][i], 0), *row = above;
            float *to = pixel(y, n, block, i, 0);
            if (r->linear && r->b[0][i] != r->a[0][i]) {
                kind->mix(net->scratch, above, pixel(x, n, block, r->b[0][i], 0), r->by[0][i], (size_t)x->w * NM_BLOCK);
                row = net->scratch;
            }
            for (uint32_t j = 0; j < y->w; j++, to += NM_BLOCK) {
                eight a = *(const eight *)(row + (size_t)r->a[1][j] * NM_BLOCK);
                if (r->linear) a += (*(const eight *)(row + (size_t)r->b[1][j] * NM_BLOCK) - a) * r->by[1][j];
                *(eight *)to = a;
            }
        }
    }
}

/* ---- curves and pairs ---- */

static void run_curve(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct nm_blocks *x = net->values[step->in].blocks, *y = net->values[step->out].blocks;
    struct nm_curve curve;
    nm_curve_of(net, step->node, &curve);
    for (uint32_t row = 0; row < y->n * blocks_of(y->c) * y->h; row++) {
        uint32_t n = row / y->h / blocks_of(y->c), block = row / y->h % blocks_of(y->c);
        size_t floats = (size_t)y->w * NM_BLOCK;
        memcpy(net->scratch, pixel(x, n, block, row % y->h, 0), floats * sizeof(float));
        nm_curve(&curve, net->scratch, floats);
        memcpy(pixel(y, n, block, row % y->h, 0), net->scratch, floats * sizeof(float));
    }
}

/* An input of a pair: dimensions of 1 stay where they are. */
static const float *spread_row(const struct nm_blocks *b, uint32_t n, uint32_t block, uint32_t y)
{
    return pixel(b, b->n > 1 ? n : 0, block, b->h > 1 ? y : 0, 0);
}

static void run_pair(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct nm_blocks *y = net->values[step->out].blocks;
    struct nm_blocks *const *in = step->work;
    enum nm_net_op op = step->node->op;
    for (uint32_t row = 0; row < y->n * blocks_of(y->c) * y->h; row++) {
        uint32_t n = row / y->h / blocks_of(y->c), block = row / y->h % blocks_of(y->c), i = row % y->h;
        const float *a = spread_row(in[0], n, block, i), *b = spread_row(in[1], n, block, i);
        size_t p = in[0]->w > 1 ? NM_BLOCK : 0, q = in[1]->w > 1 ? NM_BLOCK : 0;
        float *to = pixel(y, n, block, i, 0);
        for (uint32_t j = 0; j < y->w; j++, a += p, b += q, to += NM_BLOCK) switch (op) {
            case NM_OP_ADD: *(eight *)to = *(const eight *)a + *(const eight *)b; break;
            case NM_OP_SUB: *(eight *)to = *(const eight *)a - *(const eight *)b; break;
            case NM_OP_MUL: *(eight *)to = *(const eight *)a * *(const eight *)b; break;
            default:
                for (uint32_t c = 0; c < NM_BLOCK; c++) to[c] = nm_pair(op, a[c], b[c]);
            }
    }
}

/* ---- entering and leaving ---- */

/* Three planes to pixels of four floats, of which the last is never read. */
static void weave(float *to, const float *from, size_t plane, uint32_t n)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    uint32_t x = 0;
    for (; x + 4 <= n; x += 4, to += 16) {
        four a = *(const four *)(from + x), b = *(const four *)(from + plane + x),
             c = *(const four *)(from + 2 * plane + x);
        four low = __builtin_shufflevector(a, b, 0, 4, 1, 5), high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        *(four *)to = __builtin_shufflevector(low, c, 0, 1, 4, 4);
        *(four *)(to + 4) = __builtin_shufflevector(low, c, 2, 3, 5, 5);
        *(four *)(to + 8) = __builtin_shufflevector(high, c, 0, 1, 6, 6);
        *(four *)(to + 12) = __builtin_shufflevector(high, c, 2, 3, 7, 7);
    }
    for (; x < n; x++, to += 4)
        for (uint32_t k = 0; k < 3; k++) to[k] = from[k * plane + x];
}

void nm_blocks_enter(const struct nm_blocks *to, const float *from)
{
    size_t plane = (size_t)to->h * to->w;
    for (uint32_t n = 0; n < to->n; n++)
        for (uint32_t c = 0; c < to->c; c += to->step)
            for (uint32_t y = 0; y < to->h; y++) {
                const float *row = from + ((size_t)n * to->c + c) * plane + (size_t)y * to->w;
                float *at = pixel(to, n, c / NM_BLOCK, y, 0);
                uint32_t channels = to->c - c < to->step ? to->c - c : to->step;
                bool three = to->step == 4 && channels == 3;
                if (to->step == 1) memcpy(at, row, to->w * sizeof *at);
                if (three) weave(at, row, plane, to->w);
                for (uint32_t x = 0; x < to->w && to->step > 1 && !three; x++, at += to->step)
                    for (uint32_t k = 0; k < channels; k++) at[k] = row[k * plane + x];
            }
}

void nm_image_enter(const struct nm_net *net, const struct nm_net_step *step)
{
    nm_blocks_enter(net->values[step->in].blocks, net->values[step->in].at);
}

void nm_image_leave(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct nm_blocks *from = net->values[step->in].blocks;
    float *to = net->values[step->in].at;
    for (uint32_t n = 0; n < from->n; n++)
        for (uint32_t c = 0; c < from->c; c++)
            for (uint32_t y = 0; y < from->h; y++, to += from->w) {
                const float *at = pixel(from, n, c / NM_BLOCK, y, 0) + c % NM_BLOCK;
                for (uint32_t x = 0; x < from->w; x++) to[x] = at[(size_t)x * from->step];
            }
}

void nm_image_copy(const struct nm_net *net, const struct nm_net_step *step)
{
    const struct nm_blocks *from = net->values[step->in].blocks, *to = step->work;
    for (uint32_t row = 0; row < from->n * blocks_of(from->c) * from->h; row++) {
        uint32_t n = row / from->h / blocks_of(from->c), block = row / from->h % blocks_of(from->c);
        memcpy(pixel(to, n, block, row % from->h, 0), pixel(from, n, block, row % from->h, 0),
               (size_t)from->w * NM_BLOCK * sizeof(float));
    }
}

size_t nm_image_scratch(const struct nm_net *net, const struct nm_net_node *node)
{
    uint32_t in[4] = {0}, out[4] = {0};
    nm_image_dims(&net->values[node->in[0]].shape, in);
    nm_image_dims(&net->values[node->out].shape, out);
    uint32_t wide = in[3] > out[3] ? in[3] : out[3];
    const struct conv *c = node->work;
    if (node->op == NM_OP_CONV && by_squares(c))
        return (size_t)square_rows(c) * ((out[3] + 1) / 2) * 16 * (blocks_of(c->in) + blocks_of(c->out)) * NM_BLOCK;
    return (size_t)wide * NM_BLOCK * (node->op == NM_OP_CONV || node->op == NM_OP_CONV_TRANSPOSE ? 8 : 1) +
           2 * NM_LANES;
}

void nm_image_run(const struct nm_net *net, const struct nm_net_step *step)
{
    switch (step->node->op) {
    case NM_OP_CONV:
    case NM_OP_CONV_TRANSPOSE: run_conv(net, step); break;
    case NM_OP_BATCH_NORM: run_affine(net, step); break;
    case NM_OP_MAX_POOL:
    case NM_OP_AVERAGE_POOL:
    case NM_OP_GLOBAL_MAX_POOL:
    case NM_OP_GLOBAL_AVERAGE_POOL: run_pool(net, step); break;
    case NM_OP_RESIZE:
    case NM_OP_UPSAMPLE: run_resize(net, step); break;
    default: (step->node->op < NM_OP_ELU ? run_pair : run_curve)(net, step);
    }
}

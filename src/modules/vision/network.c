#include "modules/vision/network.h"

#include <unistd.h>

#include "base/wide.h"

struct nm_net *network_load(const struct nm *nm, const char *model, struct nm_net_shape open, uint32_t in, uint32_t out)
{
    char path[1024];
    if (nm_need_body(nm)) return NULL;
    nm_text(path, "%s", model);
    if (!strchr(model, '/')) nm_text(path, "%s/%s", nm->body->path, model);
    if (!strchr(model, '/') && access(path, R_OK)) nm_text(path, "%s/../../models/%s", nm->body->path, model);
    struct nm_net *net = nm_onnx_load_sized(path, &open, nm->err);
    if (!net) return NULL;
    if (net->n_inputs == 1 && net->n_outputs == 1 && nm_net_width_in(net, 0) == in && nm_net_width_out(net, 0) == out)
        return net;
    nm_fail(nm->err, "%s has %u inputs with %u numbers and %u outputs with %u: %s wants 1 with %u and 1 with %u", path,
            net->n_inputs, nm_net_width_in(net, 0), net->n_outputs, nm_net_width_out(net, 0), nm->name, in, out);
    nm_net_free(net);
    return NULL;
}

static inline float shade(float x)
{
    x *= 1 / 255.0f;
    x = x > 0 ? x : 0;
    return x < 1 ? x : 1;
}

NM_WIDE static void add_bytes(const uint8_t *restrict bytes, uint32_t n, uint16_t *restrict sums)
{
    for (uint32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + bytes[i]);
}

/* Sums of brightness and colours of a row to its colours, 0 to 1; `share`: one of the pixels that each covers. */
NM_WIDE static void colour_row(const uint32_t *restrict sum, const uint32_t *restrict us, const uint32_t *restrict vs,
                               const float *restrict share, uint32_t n, float *restrict red, float *restrict green,
                               float *restrict blue)
{
    for (uint32_t x = 0; x < n; x++) {
        float l = (float)(int32_t)sum[x] * share[x], u = (float)(int32_t)us[x] * share[x] - 128,
              v = (float)(int32_t)vs[x] * share[x] - 128;
        red[x] = shade(l + 1.402f * v);
        green[x] = shade(l - 0.344f * u - 0.714f * v);
        blue[x] = shade(l + 1.772f * u);
    }
}

void network_picture(const struct frame *f, uint32_t width, uint32_t height, float *to)
{
    const size_t plane = (size_t)width * height;
    uint16_t sums[2 * FRAME_SIDE], edge[FRAME_SIDE + 1]; /* of the rows that a pixel covers; where its columns begin */
    uint32_t sum[FRAME_SIDE], us[FRAME_SIDE], vs[FRAME_SIDE];
    float share[FRAME_SIDE];
    for (uint32_t x = 0; x <= width; x++) edge[x] = (uint16_t)(x * f->width / width);
    for (uint32_t y = 0; y < height; y++) {
        /* each pixel is the mean of what it covers; an image that is smaller than that is repeated */
        uint32_t y0 = y * f->height / height, y1 = (y + 1) * f->height / height;
        if (y1 <= y0) y1 = y0 + 1;
        memset(sums, 0, sizeof *sums * 2 * f->width);
        for (uint32_t b = y0; b < y1; b++) add_bytes(frame_row(f, b), 2 * f->width, sums);
        for (uint32_t x = 0; x < width; x++) {
            uint32_t x0 = edge[x], x1 = edge[x + 1] > x0 ? edge[x + 1] : x0 + 1;
            sum[x] = us[x] = vs[x] = 0;
            for (uint32_t a = x0; a < x1; a++) {
                const uint16_t *pair = sums + 4 * (a / 2);
                sum[x] += pair[2 * (a & 1)], us[x] += pair[1], vs[x] += pair[3];
            }
            share[x] = 1 / (float)((y1 - y0) * (x1 - x0));
        }
        float *row = to + (size_t)y * width;
        colour_row(sum, us, vs, share, width, row, row + plane, row + 2 * plane);
    }
}

bool network_patch(const struct frame *f, double u, double v, double side, float *to)
{
    enum { N = NETWORK_PATCH };
    double half = side / 2, out = 0.45 * side;
    bool inside = u - half >= -out && v - half >= -out && u + half <= f->width + out && v + half <= f->height + out;
    if (!(side >= 6 && side < 4 * FRAME_SIDE && inside)) return false;
    int32_t each = side < 1.5 * N ? 1 : 2; /* samples a side of each pixel */
    float per = (float)side / (float)(N * each), scale = 1 / (255.0f * (float)(each * each));
    uint32_t left[2 * N], weight[2 * N]; /* of each column: the pixel, and the share of its right neighbour, 0 to 16 */
    for (int32_t i = 0; i < N * each; i++) {
        float x = fminf(fmaxf((float)(u - half) + ((float)i + 0.5f) * per, 0), (float)f->width - 1.01f);
        left[i] = (uint32_t)x;
        weight[i] = (uint32_t)((x - (float)left[i]) * 16);
    }
    memset(to, 0, sizeof *to * N * N);
    for (int32_t k = 0; k < N * each; k++) {
        float y = fminf(fmaxf((float)(v - half) + ((float)k + 0.5f) * per, 0), (float)f->height - 1.01f);
        const uint8_t *above = frame_row(f, (uint32_t)y), *below = above + f->step;
        uint32_t w = (uint32_t)((y - floorf(y)) * 16);
        float *row = to + k / each * N;
        for (int32_t i = 0; i < N * each; i++) {
            uint32_t p = 2 * left[i], a = (16 - weight[i]) * above[p] + weight[i] * above[p + 2],
                     b = (16 - weight[i]) * below[p] + weight[i] * below[p + 2];
            row[i / each] += (float)((16 - w) * a + w * b) * (scale / 256);
        }
    }
    return true;
}

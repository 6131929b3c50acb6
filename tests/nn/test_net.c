/* A network computes what ONNX says, and what it cannot compute is refused with the node and its operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nn/graphs.h"

/* Joined or alone, with any loops: the same numbers. */
static void joined_as_alone(void **state)
{
    (void)state;
    uint32_t compared = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct nm_err err = {0};
        struct nm_net *alone = graph_random(seed, true, 1, &err);
        if (!alone) fail_msg("%s", err.text);
        graph_feed(alone, seed);
        nm_net_run(alone);
        for (uint32_t kind = 0; kind < 4; kind++) {
            struct nm_net *joined = graph_random(seed, false, kind, &err);
            if (!joined) fail_msg("%s", err.text);
            for (int again = 0; again < 2; again++) { /* the second run must not see the first */
                graph_feed(joined, seed + 1 - (uint64_t)again);
                nm_net_run(joined);
            }
            for (uint32_t i = 0; i < joined->n_outputs; i++) {
                const struct nm_net_value *y = &joined->values[joined->outputs[i]],
                                          *x = &alone->values[nm_net_find(alone, y->name)];
                assert_int_equal(x->n, y->n);
                float size = 1;
                for (uint32_t k = 0; k < x->n; k++) size = fmaxf(size, fabsf(x->at[k]));
                for (uint32_t k = 0; k < x->n; k++, compared++)
                    if (!(fabsf(x->at[k] - y->at[k]) <= 2e-4f * size) && !isnan(x->at[k]))
                        fail_msg("seed %llu, loops %u, %s[%u]: %.9g, not %.9g", (unsigned long long)seed, kind, x->name,
                                 k, (double)y->at[k], (double)x->at[k]);
            }
            nm_net_free(joined);
        }
        nm_net_free(alone);
    }
    assert_true(compared > 10000);
}

/* ---- what ONNX says, as plain loops ---- */

struct ends {
    struct nm_net *net;
    uint32_t in;
};

static struct ends begin(struct nm_net_shape shape)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_net_new();
    return (struct ends){net, (uint32_t)nm_net_add_input(net, "x", shape, &err)};
}

static void end(struct ends e, enum nm_net_op op, const uint32_t *in, uint32_t n_in,
                const struct nm_net_attribute *with)
{
    struct nm_err err = {0};
    int32_t y = nm_net_add_node(e.net, "y", op, in, n_in, with, "y", &err);
    if (y < 0 || nm_net_add_output(e.net, (uint32_t)y, &err) || nm_net_prepare(e.net, &err)) fail_msg("%s", err.text);
    graph_feed(e.net, 7);
    nm_net_run(e.net);
}

/* y[o][i + before] of a window: the input, or 0 beyond its edge. */
static double seen(const float *x, int64_t high, int64_t wide, int64_t y, int64_t c)
{
    return y < 0 || y >= high || c < 0 || c >= wide ? 0 : (double)x[y * wide + c];
}

static void convolutions_are_plain_sums(void **state)
{
    (void)state;
    uint64_t dice = 3;
    for (int round = 0; round < 200; round++) {
        bool back = round % 3 == 2;
        bool squares = round % 3 == 1; /* which are done in another way where channels are many */
        uint32_t c = 1 + graph_below(&dice, squares ? 40 : 20), m = 1 + graph_below(&dice, 40),
                 h = 1 + graph_below(&dice, 12), w = 1 + graph_below(&dice, 30),
                 kh = squares ? 3 : 1 + graph_below(&dice, 4), kw = squares ? 3 : 1 + graph_below(&dice, 5);
        int64_t stride[2] = {squares ? 1 : 1 + graph_below(&dice, 3), squares ? 1 : 1 + graph_below(&dice, 4)},
                apart[2] = {squares ? 1 : 1 + graph_below(&dice, 2), squares ? 1 : 1 + graph_below(&dice, 3)},
                pads[4] = {graph_below(&dice, 3), graph_below(&dice, 4), graph_below(&dice, 3), graph_below(&dice, 4)};
        int64_t reach[2] = {(kh - 1) * apart[0] + 1, (kw - 1) * apart[1] + 1};
        int64_t oh = back ? stride[0] * (h - 1) + reach[0] - pads[0] - pads[2]
                          : (h + pads[0] + pads[2] - reach[0]) / stride[0] + 1,
                ow = back ? stride[1] * (w - 1) + reach[1] - pads[1] - pads[3]
                          : (w + pads[1] + pads[3] - reach[1]) / stride[1] + 1;
        if (h + pads[0] + pads[2] < reach[0] || w + pads[1] + pads[3] < reach[1] || oh < 1 || ow < 1) continue;
        struct ends e = begin((struct nm_net_shape){4, {1, c, h, w}});
        struct nm_err err = {0};
        e.net->kind = (uint32_t)round % 4;
        struct nm_net_shape shape = {4, {back ? c : m, back ? m : c, kh, kw}};
        float *weights = malloc(sizeof *weights * c * m * kh * kw);
        for (uint32_t i = 0; i < c * m * kh * kw; i++) weights[i] = (float)graph_both(&dice);
        uint32_t in[2] = {e.in, (uint32_t)nm_net_add_constant(e.net, "w", shape, weights, &err)};
        const struct nm_net_attribute with[] = {{.name = "strides", .kind = 'I', .n = 2, .whole = stride},
                                                {.name = "dilations", .kind = 'I', .n = 2, .whole = apart},
                                                {.name = "pads", .kind = 'I', .n = 4, .whole = pads},
                                                {0}};
        end(e, back ? NM_OP_CONV_TRANSPOSE : NM_OP_CONV, in, 2, with);
        const float *x = nm_net_input(e.net, 0), *y = nm_net_output(e.net, 0);
        assert_int_equal(nm_net_width_out(e.net, 0), m * oh * ow);
        for (int64_t o = 0; o < m; o++)
            for (int64_t i = 0; i < oh; i++)
                for (int64_t j = 0; j < ow; j++) {
                    double sum = 0;
                    for (int64_t k = 0; k < c * kh * kw; k++) {
                        int64_t from = k / (kh * kw), a = k / kw % kh, b = k % kw;
                        int64_t top = back ? i + pads[0] - a * apart[0] : i * stride[0] - pads[0] + a * apart[0],
                                left = back ? j + pads[1] - b * apart[1] : j * stride[1] - pads[1] + b * apart[1];
                        if (back && (top % stride[0] || left % stride[1])) continue;
                        if (back) top /= stride[0], left /= stride[1];
                        double weight = (double)weights[((back ? from * m + o : o * c + from) * kh + a) * kw + b];
                        sum += weight * seen(x + from * h * w, h, w, top, left);
                    }
                    double is = (double)y[(o * oh + i) * ow + j];
                    if (fabs(is - sum) > 1e-3)
                        fail_msg("round %d, (%ld, %ld, %ld): %g, not %g", round, o, i, j, is, sum);
                }
        free(weights);
        nm_net_free(e.net);
    }
}

static void pools_are_plain(void **state)
{
    (void)state;
    uint64_t dice = 5;
    for (int round = 0; round < 100; round++) {
        uint32_t c = 1 + graph_below(&dice, 20), h = 2 + graph_below(&dice, 12), w = 2 + graph_below(&dice, 20);
        int64_t size[2] = {1 + graph_below(&dice, 3), 1 + graph_below(&dice, 3)}, stride[2] = {size[0], size[1]};
        bool max = round % 2, up = round % 4 < 2;
        if (size[0] > h || size[1] > w) continue;
        int64_t oh = (h - size[0] + (up ? stride[0] - 1 : 0)) / stride[0] + 1,
                ow = (w - size[1] + (up ? stride[1] - 1 : 0)) / stride[1] + 1;
        struct ends e = begin((struct nm_net_shape){4, {1, c, h, w}});
        const struct nm_net_attribute with[] = {{.name = "kernel_shape", .kind = 'I', .n = 2, .whole = size},
                                                {.name = "strides", .kind = 'I', .n = 2, .whole = stride},
                                                {.name = "ceil_mode", .kind = 'i', .i = up},
                                                {0}};
        end(e, max ? NM_OP_MAX_POOL : NM_OP_AVERAGE_POOL, &e.in, 1, with);
        assert_int_equal(nm_net_width_out(e.net, 0), c * oh * ow);
        for (int64_t o = 0; o < c * oh * ow; o++) {
            int64_t top = o / ow % oh * stride[0], left = o % ow * stride[1], n = 0;
            const float *x = nm_net_input(e.net, 0) + o / (oh * ow) * h * w;
            double most = -1e9, sum = 0;
            for (int64_t i = top; i < top + size[0] && i < h; i++)
                for (int64_t j = left; j < left + size[1] && j < w; j++, n++)
                    most = fmax(most, (double)x[i * w + j]), sum += (double)x[i * w + j];
            assert_true(fabs((double)nm_net_output(e.net, 0)[o] - (max ? most : sum / (double)n)) < 1e-5);
        }
        nm_net_free(e.net);
    }
}

/* Where a MaxPool of 2 x 2 follows, the convolution keeps only its output. */
static void pools_join_convolutions(void **state)
{
    (void)state;
    uint64_t dice = 11;
    int64_t two[2] = {2, 2};
    const struct nm_net_attribute quarter[] = {{.name = "kernel_shape", .kind = 'I', .n = 2, .whole = two},
                                               {.name = "strides", .kind = 'I', .n = 2, .whole = two},
                                               {0}};
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t c = round % 5 ? 1 + graph_below(&dice, 20) : 1, m = 1 + graph_below(&dice, 40),
                 h = 4 + graph_below(&dice, 12), w = 4 + graph_below(&dice, 40);
        int64_t stride[2] = {1 + graph_below(&dice, 2), round % 3 ? 1 : 1 + graph_below(&dice, 3)},
                pads[4] = {1, 1, 1, 1}, oh = (h - 1) / stride[0] + 1, ow = (w - 1) / stride[1] + 1;
        const struct nm_net_attribute with[] = {{.name = "strides", .kind = 'I', .n = 2, .whole = stride},
                                                {.name = "pads", .kind = 'I', .n = 4, .whole = pads},
                                                {0}};
        float weights[40 * 20 * 9], *all = NULL;
        if (oh < 2 || ow < 2) continue;
        for (uint32_t i = 0; i < c * m * 9; i++) weights[i] = (float)graph_both(&dice);
        for (int joined = 0; joined < 2; joined++) {
            struct ends e = begin((struct nm_net_shape){4, {2, c, h, w}});
            struct nm_err err = {0};
            e.net->kind = round % 4;
            uint32_t in[2] = {
                e.in, (uint32_t)nm_net_add_constant(e.net, "w", (struct nm_net_shape){4, {m, c, 3, 3}}, weights, &err)};
            if (!joined) {
                end(e, NM_OP_CONV, in, 2, with);
                all = malloc(sizeof *all * nm_net_width_out(e.net, 0));
                memcpy(all, nm_net_output(e.net, 0), sizeof *all * nm_net_width_out(e.net, 0));
            } else {
                uint32_t conv = (uint32_t)nm_net_add_node(e.net, "c", NM_OP_CONV, in, 2, with, "c", &err);
                end(e, NM_OP_MAX_POOL, &conv, 1, quarter);
                assert_int_equal(nm_net_width_out(e.net, 0), 2 * m * (oh / 2) * (ow / 2));
                for (int64_t o = 0; o < 2 * m * (oh / 2) * (ow / 2); o++) {
                    const float *at =
                        all + o / (ow / 2 * (oh / 2)) * oh * ow + o / (ow / 2) % (oh / 2) * 2 * ow + o % (ow / 2) * 2;
                    float most = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[ow], at[ow + 1]));
                    if (fabsf(nm_net_output(e.net, 0)[o] - most) > 1e-4f)
                        fail_msg("round %u, %lld: %g, not %g", round, (long long)o, (double)nm_net_output(e.net, 0)[o],
                                 (double)most);
                }
            }
            nm_net_free(e.net);
        }
        free(all);
    }
}

/* A plane is a plane at any size, apart from its edge, and a mirror image stays one. */
static void resizing_keeps_a_plane(void **state)
{
    (void)state;
    const float scales[4] = {1, 1, 2, 3};
    struct nm_err err = {0};
    struct ends e = begin((struct nm_net_shape){4, {1, 3, 7, 9}});
    uint32_t in[3] = {e.in, NM_NET_NONE,
                      (uint32_t)nm_net_add_constant(e.net, "s", (struct nm_net_shape){1, {4}}, scales, &err)};
    end(e, NM_OP_RESIZE, in, 3, (const struct nm_net_attribute[]){{.name = "mode", .kind = 's', .s = "linear"}, {0}});
    for (uint32_t i = 0; i < 3 * 7 * 9; i++)
        nm_net_input(e.net, 0)[i] = (float)(i / 63) + 2 * ((float)(i / 9 % 7) + 0.5f) + 3 * ((float)(i % 9) + 0.5f);
    nm_net_run(e.net);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t y = 1; y < 13; y++)
            for (uint32_t x = 2; x < 25; x++) {
                float is = nm_net_output(e.net, 0)[(c * 14 + y) * 27 + x];
                assert_true(fabsf(is - ((float)c + ((float)y + 0.5f) + ((float)x + 0.5f))) < 1e-4f);
            }
    nm_net_free(e.net);
}

static void refuses(struct nm_net *net, const char *sentence, enum nm_net_op op, uint32_t a, uint32_t b, uint32_t n_in,
                    const struct nm_net_attribute *with)
{
    struct nm_err err = {0};
    const uint32_t in[2] = {a, b};
    uint32_t before = net->n_nodes;
    assert_true(nm_net_add_node(net, "the node", op, in, n_in, with, "new", &err) < 0);
    assert_int_equal(net->n_nodes, before);
    if (!strstr(err.text, sentence) || !strstr(err.text, nm_net_op_name(op)) || !strstr(err.text, "the node"))
        fail_msg("%s", err.text);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_net *net = nm_net_new();
    const float numbers[16] = {0};
    const int64_t sizes[] = {2, -1}, odd[] = {3, -1}, twice[] = {-1, -1}, none[] = {0, 0};
    uint32_t row = (uint32_t)nm_net_add_input(net, "row", (struct nm_net_shape){2, {1, 4}}, &err),
             table = (uint32_t)nm_net_add_input(net, "table", (struct nm_net_shape){2, {2, 4}}, &err),
             small = (uint32_t)nm_net_add_constant(net, "small", (struct nm_net_shape){2, {3, 2}}, numbers, &err),
             three = (uint32_t)nm_net_add_constant(net, "three", (struct nm_net_shape){1, {3}}, numbers, &err),
             shape = (uint32_t)nm_net_add_whole(net, "shape", (struct nm_net_shape){1, {2}}, sizes, &err),
             unfit = (uint32_t)nm_net_add_whole(net, "unfit", (struct nm_net_shape){1, {2}}, odd, &err),
             open = (uint32_t)nm_net_add_whole(net, "open", (struct nm_net_shape){1, {2}}, twice, &err),
             zeros = (uint32_t)nm_net_add_whole(net, "zeros", (struct nm_net_shape){1, {2}}, none, &err);
    const int64_t huge[] = {1 << 20, 1 << 20};
    const struct nm_net_attribute far[] = {{.name = "axis", .kind = 'i', .i = 7}, {0}},
                                  zero[] = {{.name = "allowzero", .kind = 'i', .i = 1}, {0}},
                                  strange[] = {{.name = "strange", .kind = 'i'}, {0}},
                                  wrong_kind[] = {{.name = "axis", .kind = 'f'}, {0}},
                                  strides[] = {{.name = "strides", .kind = 'I', .n = 2, .whole = huge}, {0}},
                                  pair[] = {{.name = "group", .kind = 'i', .i = 2}, {0}};
    uint32_t image = (uint32_t)nm_net_add_input(net, "image", (struct nm_net_shape){4, {1, 3, 4, 4}}, &err),
             kernel =
                 (uint32_t)nm_net_add_constant(net, "kernel", (struct nm_net_shape){4, {1, 3, 1, 1}}, numbers, &err),
             wide = (uint32_t)nm_net_add_constant(net, "wide", (struct nm_net_shape){4, {1, 3, 5, 1}}, numbers, &err);
    assert_int_equal(err.n, 0);
    refuses(net, "another number of rows", NM_OP_GEMM, row, small, 2, NULL);
    refuses(net, "another number of rows", NM_OP_MATMUL, row, small, 2, NULL);
    refuses(net, "no matrix", NM_OP_MATMUL, row, three, 2, NULL);
    refuses(net, "not known here", NM_OP_ELU, row, 0, 1, strange);
    refuses(net, "of another kind", NM_OP_FLATTEN, row, 0, 1, wrong_kind);
    refuses(net, "impossible", NM_OP_CONV, image, kernel, 2, strides);
    refuses(net, "groups", NM_OP_CONV, image, kernel, 2, pair);
    refuses(net, "not constant", NM_OP_CONV, image, image, 2, NULL);
    refuses(net, "no image", NM_OP_CONV, row, kernel, 2, NULL);
    refuses(net, "kernel is larger", NM_OP_CONV, image, wide, 2, NULL);
    refuses(net, "kernel_shape", NM_OP_MAX_POOL, image, 0, 1, NULL);
    refuses(net, "neither scales nor sizes", NM_OP_RESIZE, image, 0, 1, NULL);
    refuses(net, "do not go together", NM_OP_ADD, row, three, 2, NULL);
    refuses(net, "do not go together", NM_OP_MUL, image, table, 2, NULL);
    refuses(net, "integers", NM_OP_ADD, row, shape, 2, NULL);
    refuses(net, "number of inputs", NM_OP_ELU, row, row, 2, NULL);
    refuses(net, "left out", NM_OP_ADD, row, NM_NET_NONE, 2, NULL);
    refuses(net, "no such axis", NM_OP_CONCAT, row, row, 2, far);
    refuses(net, "no such axis", NM_OP_FLATTEN, row, 0, 1, far);
    refuses(net, "more than the axis", NM_OP_CONCAT, row, table, 2, NULL);
    refuses(net, "not a single number", NM_OP_CLIP, row, three, 2, NULL);
    refuses(net, "constant list", NM_OP_RESHAPE, row, three, 2, NULL);
    refuses(net, "does not fit", NM_OP_RESHAPE, row, unfit, 2, NULL);
    refuses(net, "two dimensions open", NM_OP_RESHAPE, row, open, 2, NULL);
    refuses(net, "impossible", NM_OP_RESHAPE, row, zeros, 2, zero);
    assert_int_equal(nm_net_add_input(net, "row", (struct nm_net_shape){1, {2}}, &err), -1); /* the name is taken */
    assert_int_equal(nm_net_add_input(net, "none", (struct nm_net_shape){1, {0}}, &err), -1);
    assert_int_equal(
        nm_net_add_input(net, "much", (struct nm_net_shape){4, {1 << 16, 1 << 16, 1 << 16, 1 << 16}}, &err), -1);
    nm_net_free(net);
}

/* Joined with itself again and again a value grows without end: it is refused long before memory is. */
static void growth_is_bounded(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_net *net = nm_net_new();
    int32_t value = nm_net_add_input(net, "x", (struct nm_net_shape){2, {1, 1000}}, &err);
    char name[20];
    int i = 0;
    for (; i < 64 && value >= 0; i++) {
        const uint32_t in[2] = {(uint32_t)value, (uint32_t)value};
        snprintf(name, sizeof name, "n%d", i);
        value = nm_net_add_node(net, name, NM_OP_CONCAT, in, 2, NULL, name, &err);
    }
    assert_true(i < 24);
    nm_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_as_alone),        cmocka_unit_test(convolutions_are_plain_sums),
        cmocka_unit_test(pools_are_plain),        cmocka_unit_test(pools_join_convolutions),
        cmocka_unit_test(resizing_keeps_a_plane), cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(growth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

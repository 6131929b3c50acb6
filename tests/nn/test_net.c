/* A network computes what ONNX says, and what it cannot compute is refused with the node and its operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nn/graphs.h"

static void runs_like_the_plain_reference(void **state)
{
    (void)state;
    uint32_t seen[NM_OPS] = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct nm_err err = {0};
        struct nm_net *net = graph_random(seed, &err);
        if (!net) fail_msg("%s", err.text);
        uint64_t dice = seed;
        for (int again = 0; again < 2; again++) { /* the second run must not see the first */
            for (uint32_t i = 0; i < net->n_inputs; i++)
                for (uint32_t j = 0; j < nm_net_width_in(net, i); j++)
                    nm_net_input(net, i)[j] = (float)(2 * graph_both(&dice));
            double **all = graph_plain(net);
            nm_net_run(net);
            for (uint32_t k = 0; k < net->n_nodes; k++) {
                const struct nm_net_value *v = &net->values[net->nodes[k].out];
                seen[net->nodes[k].op]++;
                double size = 1; /* of what was summed on the way: products grow from layer to layer */
                for (uint32_t u = 0; u < net->n_values; u++)
                    for (uint32_t i = 0; i < net->values[u].n; i++) size = fmax(size, fabs(all[u][i]));
                for (uint32_t i = 0; i < v->n; i++)
                    if (fabs((double)v->at[i] - all[net->nodes[k].out][i]) > 1e-4 * size)
                        fail_msg("seed %llu, %s: %.9g, not %.9g", (unsigned long long)seed,
                                 nm_net_op_name(net->nodes[k].op), (double)v->at[i], all[net->nodes[k].out][i]);
            }
            graph_free(net, all);
        }
        nm_net_free(net);
    }
    for (int i = 0; i < NM_OPS; i++) assert_true(seen[i] > 0);
}

static void refuses(struct nm_net *net, const char *sentence, enum nm_net_op op, uint32_t a, uint32_t b, uint32_t n_in,
                    const struct nm_net_attributes *with)
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
             four = (uint32_t)nm_net_add_constant(net, "four", (struct nm_net_shape){2, {4, 4}}, numbers, &err),
             shape = (uint32_t)nm_net_add_whole(net, "shape", (struct nm_net_shape){1, {2}}, sizes, &err),
             unfit = (uint32_t)nm_net_add_whole(net, "unfit", (struct nm_net_shape){1, {2}}, odd, &err),
             open = (uint32_t)nm_net_add_whole(net, "open", (struct nm_net_shape){1, {2}}, twice, &err),
             zeros = (uint32_t)nm_net_add_whole(net, "zeros", (struct nm_net_shape){1, {2}}, none, &err);
    struct nm_net_attributes turned = NM_NET_ATTRIBUTES, far = NM_NET_ATTRIBUTES, zero = NM_NET_ATTRIBUTES;
    turned.trans_a = true;
    far.axis = 7;
    zero.allow_zero = true;
    assert_int_equal(err.n, 0);
    refuses(net, "another number of rows", NM_OP_GEMM, row, small, 2, NULL);
    refuses(net, "another number of rows", NM_OP_MATMUL, row, small, 2, NULL);
    refuses(net, "no constant matrix", NM_OP_MATMUL, row, row, 2, NULL);
    refuses(net, "no constant matrix", NM_OP_MATMUL, row, three, 2, NULL);
    refuses(net, "more than one row", NM_OP_MATMUL, table, four, 2, NULL);
    refuses(net, "transA", NM_OP_GEMM, row, four, 2, &turned);
    refuses(net, "do not go together", NM_OP_ADD, row, three, 2, NULL);
    refuses(net, "do not go together", NM_OP_MUL, row, table, 2, NULL);
    refuses(net, "integers", NM_OP_ADD, row, shape, 2, NULL);
    refuses(net, "number of inputs", NM_OP_ELU, row, row, 2, NULL);
    refuses(net, "left out", NM_OP_ADD, row, NM_NET_NONE, 2, NULL);
    refuses(net, "no such axis", NM_OP_CONCAT, row, row, 2, &far);
    refuses(net, "no such axis", NM_OP_FLATTEN, row, 0, 1, &far);
    refuses(net, "more than the axis", NM_OP_CONCAT, row, table, 2, NULL);
    refuses(net, "not a single number", NM_OP_CLIP, row, three, 2, NULL);
    refuses(net, "no constant list", NM_OP_RESHAPE, row, three, 2, NULL);
    refuses(net, "does not fit", NM_OP_RESHAPE, row, unfit, 2, NULL);
    refuses(net, "two dimensions open", NM_OP_RESHAPE, row, open, 2, NULL);
    refuses(net, "impossible", NM_OP_RESHAPE, row, zeros, 2, &zero);
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
    assert_true(i < 20);
    nm_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_like_the_plain_reference),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(growth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

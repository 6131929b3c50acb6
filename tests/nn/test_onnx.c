/* What is written is read back as the same network; damaged, foreign and hostile files end in a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nn/graphs.h"
#include "nn/onnx.h"

static void same_results(struct nm_net *a, struct nm_net *b, uint64_t seed)
{
    assert_int_equal(a->n_inputs, b->n_inputs);
    assert_int_equal(a->n_outputs, b->n_outputs);
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        assert_int_equal(nm_net_width_in(a, i), nm_net_width_in(b, i));
        for (uint32_t j = 0; j < nm_net_width_in(a, i); j++)
            nm_net_input(a, i)[j] = nm_net_input(b, i)[j] = (float)graph_both(&seed);
    }
    nm_net_run(a);
    nm_net_run(b);
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        assert_int_equal(nm_net_width_out(a, i), nm_net_width_out(b, i));
        assert_memory_equal(nm_net_output(a, i), nm_net_output(b, i), nm_net_width_out(a, i) * sizeof(float));
    }
}

static void written_and_read_is_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct nm_err err = {0};
        struct nm_net *net = graph_random(seed, false, 0, &err), *read;
        if (!net) fail_msg("%s", err.text);
        size_t n, m;
        void *bytes = nm_onnx_write(net, &n), *again;
        if (!(read = nm_onnx_read(bytes, n, "made", &err))) fail_msg("%s", err.text);
        assert_string_equal(nm_net_note(read, "about"), "a random network");
        assert_null(nm_net_note(read, "else"));
        same_results(net, read, seed);
        again = nm_onnx_write(read, &m);
        struct nm_net *twice = nm_onnx_read(again, m, "made", &err);
        assert_non_null(twice);
        same_results(read, twice, seed);
        free(bytes), free(again);
        nm_net_free(net), nm_net_free(read), nm_net_free(twice);
    }
}

/* Cut anywhere, with any byte changed: a sentence, or a network that runs. */
static void damage_ends_in_a_sentence(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_net *net = graph_random(4, false, 0, &err);
    size_t n;
    uint8_t *bytes = nm_onnx_write(net, &n);
    for (size_t k = 0; k < n; k += k < 2000 ? 1 : 97) {
        uint8_t *part = malloc(k + 1); /* exact, so that a sanitizer sees the first byte read past the end */
        memcpy(part, bytes, k);
        err = (struct nm_err){0};
        struct nm_net *cut = nm_onnx_read(part, k, "cut", &err);
        if (!cut) assert_true(err.n > 0);
        nm_net_free(cut);
        free(part);
        for (int bit = 0; bit < 8; bit += 3) {
            bytes[k] ^= (uint8_t)(1 << bit);
            err = (struct nm_err){0};
            struct nm_net *other = nm_onnx_read(bytes, n, "changed", &err);
            if (!other) assert_true(err.n > 0);
            if (other && other->products < 10000000) nm_net_run(other);
            nm_net_free(other);
            bytes[k] ^= (uint8_t)(1 << bit);
        }
    }
    free(bytes);
    nm_net_free(net);
}

/* ---- files made by hand, as other tools may write them ---- */

struct made {
    uint8_t at[512];
    size_t n;
};
static void put_bytes(struct made *m, int number, const void *bytes, size_t n)
{
    m->at[m->n++] = (uint8_t)(number << 3 | 2);
    m->at[m->n++] = (uint8_t)n; /* below 128 here */
    memcpy(m->at + m->n, bytes, n);
    m->n += n;
}
static void put_text(struct made *m, int number, const char *text) { put_bytes(m, number, text, strlen(text)); }
static void put_made(struct made *m, int number, const struct made *inner)
{
    put_bytes(m, number, inner->at, inner->n);
}
static void put_number(struct made *m, int number, uint8_t value)
{
    m->at[m->n++] = (uint8_t)(number << 3);
    m->at[m->n++] = value;
}

static struct made info(const char *name, const char *open, uint8_t width)
{
    struct made dim = {0}, last = {0}, shape = {0}, tensor = {0}, type = {0}, out = {0};
    put_text(&dim, 2, open); /* a dimension with a name instead of a size */
    put_number(&last, 1, width);
    put_made(&shape, 1, &dim), put_made(&shape, 1, &last);
    put_number(&tensor, 1, 1), put_made(&tensor, 2, &shape);
    put_made(&type, 1, &tensor);
    put_text(&out, 1, name), put_made(&out, 2, &type);
    return out;
}

/* x, two numbers a row and an open batch; y = op(x, w). The weights stand as a list of floats, packed or one by one. */
static struct made model(const char *op, bool packed, uint8_t opset, const char *attribute)
{
    const float w[4] = {1, 2, 3, 4};
    struct made tensor = {0}, node = {0}, graph = {0}, set = {0}, whole = {0}, in = info("x", "batch", 2),
                out = info("y", "batch", 2);
    put_number(&tensor, 1, 2), put_number(&tensor, 1, 2), put_number(&tensor, 2, 1), put_text(&tensor, 8, "w");
    if (packed) put_bytes(&tensor, 4, w, sizeof w);
    for (int i = 0; !packed && i < 4; i++) {
        tensor.at[tensor.n++] = 4 << 3 | 5;
        memcpy(tensor.at + tensor.n, &w[i], sizeof w[i]);
        tensor.n += sizeof w[i];
    }
    put_text(&node, 1, "x"), put_text(&node, 1, "w"), put_text(&node, 2, "y"), put_text(&node, 4, op);
    if (attribute) {
        struct made a = {0};
        put_text(&a, 1, attribute), put_number(&a, 3, 1);
        /* field 20, the type, needs a tag of two bytes */
        const uint8_t type[] = {((20 << 3) & 0x7f) | 0x80, 20 >> 4, 2};
        memcpy(a.at + a.n, type, sizeof type);
        a.n += sizeof type;
        put_made(&node, 5, &a);
    }
    put_made(&graph, 12, &out), put_made(&graph, 1, &node), put_made(&graph, 11, &in), put_made(&graph, 5, &tensor);
    put_number(&set, 2, opset);
    put_number(&whole, 1, 8);
    whole.at[whole.n++] = 7 << 3 | 2; /* the graph is longer than 127 bytes */
    whole.at[whole.n++] = (uint8_t)((graph.n & 0x7f) | 0x80);
    whole.at[whole.n++] = (uint8_t)(graph.n >> 7);
    memcpy(whole.at + whole.n, graph.at, graph.n);
    whole.n += graph.n;
    put_made(&whole, 8, &set);
    return whole;
}

static void files_of_others_are_read(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        struct nm_err err = {0};
        struct made m = model("MatMul", packed, 17, NULL);
        struct nm_net *net = nm_onnx_read(m.at, m.n, "other", &err);
        if (!net) fail_msg("%s", err.text);
        nm_net_input(net, 0)[0] = 1, nm_net_input(net, 0)[1] = 10;
        nm_net_run(net);
        assert_true(nm_net_output(net, 0)[0] == 31 && nm_net_output(net, 0)[1] == 42);
        nm_net_free(net);
    }
}

static void refused(struct made m, const char *sentence)
{
    struct nm_err err = {0};
    assert_null(nm_onnx_read(m.at, m.n, "other.onnx", &err));
    if (!strstr(err.text, sentence) || !strstr(err.text, "other.onnx")) fail_msg("%s", err.text);
}

static void what_is_not_known_is_named(void **state)
{
    (void)state;
    refused(model("LSTM", true, 17, NULL), "node 'y' has the operator LSTM");
    refused(model("MatMul", true, 99, NULL), "operator set 99");
    refused(model("MatMul", true, 5, NULL), "operator set 5");
    refused(model("Gemm", true, 17, "strange"), "attribute that is not known");
    refused(model("PRelu", true, 17, NULL), "node 'y' (PRelu)");
    struct made text = {"# not a network\n", 16}, none = {0};
    refused(text, "no ONNX file");
    refused(none, "no ONNX file");
}

static void missing_file(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_null(nm_onnx_load("/nowhere/walk.onnx", &err));
    assert_non_null(strstr(err.text, "/nowhere/walk.onnx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read_is_the_same),
        cmocka_unit_test(damage_ends_in_a_sentence),
        cmocka_unit_test(files_of_others_are_read),
        cmocka_unit_test(what_is_not_known_is_named),
        cmocka_unit_test(missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

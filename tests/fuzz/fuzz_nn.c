/* Any bytes as an ONNX file: refused with a sentence, or a network that runs and that is the same once written and
 * read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_onnx_read(data, size, "input", &err);
    if (!net && !err.n) abort();
    if (!net) return 0;
    for (uint32_t i = 0; i < net->n_inputs; i++)
        for (uint32_t j = 0; j < nm_net_width_in(net, i); j++) nm_net_input(net, i)[j] = 0.5f;
    if (net->products < 10000000) nm_net_run(net);
    size_t n;
    void *bytes = nm_onnx_write(net, &n);
    struct nm_net *again = nm_onnx_read(bytes, n, "again", &err);
    /* names of two kinds may meet in one place only after writing; everything else must come back */
    if (again && (again->n_inputs != net->n_inputs || again->n_outputs != net->n_outputs)) abort();
    if (again && again->products < 10000000) nm_net_run(again);
    nm_net_free(again);
    free(bytes);
    nm_net_free(net);
    return 0;
}

/* nutmeg nn: looks at networks in ONNX files, runs them, and measures what they cost. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "nn/onnx.h"

static const char *shape_text(const struct nm_net_value *v, char to[64])
{
    int used = 0;
    *to = 0;
    for (uint32_t i = 0; i < v->shape.rank; i++)
        used += snprintf(to + used, 64 - (size_t)used, "%s%u", i ? " x " : "", v->shape.dims[i]);
    return used ? to : "1";
}

static void print_ends(const struct nm_net *net, const char *word, const uint32_t *values, uint32_t n)
{
    char shape[64];
    for (uint32_t i = 0; i < n; i++)
        printf("%-8s  %s, %s\n", word, net->values[values[i]].name, shape_text(&net->values[values[i]], shape));
}

static int show(int argc, char **argv)
{
    const struct usage usage = {
        "nutmeg nn show", "FILE", "Prints the inputs, nodes, outputs and notes of a network.", NULL, 1, 1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_net *net = nm_onnx_load(argv[1], &err);
    if (!net) return complain(&err), EXIT_USAGE;
    const char *heads[] = {"node", "operator", "shape", "from", NULL};
    struct table table;
    uint64_t weights = 0;
    char shape[64], from[400];
    for (uint32_t i = 0; i < net->n_values; i++) weights += net->values[i].constant ? net->values[i].n : 0;
    print_ends(net, "input", net->inputs, net->n_inputs);
    print_ends(net, "output", net->outputs, net->n_outputs);
    printf("%-8s  %llu\n%-8s  %llu\n\n", "weights", (unsigned long long)weights, "products",
           (unsigned long long)net->products);
    table_begin(&table, heads);
    for (uint32_t k = 0; k < net->n_nodes; k++) {
        const struct nm_net_node *o = &net->nodes[k];
        *from = 0;
        for (uint32_t i = 0; i < o->n_in; i++) {
            size_t used = strlen(from);
            const char *name = o->in[i] == NM_NET_NONE ? "-" : net->values[o->in[i]].name;
            snprintf(from + used, sizeof from - used, "%s%s", i ? ", " : "", name);
        }
        table_row(&table, "%s\t%s\t%s\t%s", o->name, nm_net_op_name(o->op), shape_text(&net->values[o->out], shape),
                  from);
    }
    table_print(&table, stdout);
    for (uint32_t i = 0; i < net->n_notes; i++) printf("\n%s:\n%s\n", net->notes[i].key, net->notes[i].text);
    nm_net_free(net);
    return EXIT_OK;
}

/* Numbers from the standard input, as many as all inputs want. */
static int read_inputs(struct nm_net *net, FILE *from, struct nm_err *err)
{
    for (uint32_t i = 0; i < net->n_inputs; i++)
        for (uint32_t j = 0; j < nm_net_width_in(net, i); j++) {
            char word[64], *end;
            if (fscanf(from, "%63s", word) != 1)
                return nm_fail(err, "the input '%s' wants %u numbers, but there are only %u",
                               net->values[net->inputs[i]].name, nm_net_width_in(net, i), j);
            nm_net_input(net, i)[j] = strtof(word, &end);
            if (*end || end == word) return nm_fail(err, "'%s' is not a number", word);
        }
    return 0;
}

static int run(int argc, char **argv)
{
    bool zero = false;
    const struct flag flags[] = {SWITCH("zero", &zero, "sets all inputs to 0 and reads nothing"), {0}};
    const struct usage usage = {
        "nutmeg nn run",
        "FILE",
        "Runs a network once. Its inputs are numbers on the standard input, separated by blanks\n"
        "or lines. Prints a line with the numbers of each output.",
        flags,
        1,
        1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_net *net = nm_onnx_load(argv[1], &err);
    if (!net || (!zero && read_inputs(net, stdin, &err))) {
        nm_net_free(net);
        return complain(&err), EXIT_USAGE;
    }
    nm_net_run(net);
    for (uint32_t i = 0; i < net->n_outputs; i++)
        for (uint32_t j = 0; j < nm_net_width_out(net, i); j++)
            printf("%.8g%c", (double)nm_net_output(net, i)[j], j + 1 < nm_net_width_out(net, i) ? ' ' : '\n');
    nm_net_free(net);
    return EXIT_OK;
}

static int measure(int argc, char **argv)
{
    double seconds = 1;
    const struct flag flags[] = {
        NUMBER("seconds", &seconds, 0.01, 60, "N", "measures for N seconds (default: 1)", .letter = 's'), {0}};
    const struct usage usage = {
        "nutmeg nn bench",
        "FILE",
        "Measures how long a network takes on one core of this machine: the median and the best\n"
        "of many rounds, each of many runs.",
        flags,
        1,
        1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_net *net = nm_onnx_load(argv[1], &err);
    if (!net) return complain(&err), EXIT_USAGE;
    enum { ROUNDS = 100 };
    double took[ROUNDS];
    uint32_t rounds = 0, runs = 1;
    for (double begun = nm_clock_seconds(); rounds < ROUNDS && (nm_clock_seconds() < begun + seconds || !rounds);) {
        int64_t start = nm_thread_time();
        for (uint32_t i = 0; i < runs; i++) nm_net_run(net);
        double each = (double)(nm_thread_time() - start) / runs;
        if (!rounds && each * runs < seconds * 1e9 / ROUNDS / 2) { /* rounds long enough for the clock */
            runs *= 2;
            continue;
        }
        uint32_t at = rounds++;
        for (; at && took[at - 1] > each; at--) took[at] = took[at - 1];
        took[at] = each;
    }
    char median[32], best[32];
    printf("median %s, best %s, %.1f million products a run, %.1f thousand million a second\n",
           duration_text(median, took[rounds / 2]), duration_text(best, took[0]), (double)net->products * 1e-6,
           (double)net->products / took[0]);
    nm_net_free(net);
    return EXIT_OK;
}

int cmd_nn(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"show", "shows what is in a network", show},
        {"run", "runs a network once on numbers from the standard input", run},
        {"bench", "measures how long a network takes", measure},
        {0},
    };
    return verbs_run("nutmeg nn", "Networks in ONNX files.", verbs, argc, argv);
}

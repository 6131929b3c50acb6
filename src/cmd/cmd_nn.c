/* nutmeg nn: looks at networks in ONNX files, runs them, and measures what they cost. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "core/files.h"
#include "nn/onnx.h"

#define OPEN_FLAG(target)                                                                                              \
    TEXT("open", target, "N,N,...", "sizes of the dimensions that the file leaves open (default: 1)")

/* The network of a file, its open dimensions as in "50" or "1,3,240,320"; NULL after a complaint. */
static struct nm_net *load(const char *path, const char *open)
{
    struct nm_err err = {0};
    struct nm_net_shape sizes = {0};
    for (char *end; open && *open; open = *end == ',' ? end + 1 : end) {
        long n = strtol(open, &end, 10);
        if (end == open || (*end && *end != ',') || n < 1 || n > NM_NET_CONSTANT || sizes.rank == NM_NET_DIMS) {
            nm_fail(&err, "--open wants sizes such as 1,3,240,320, not '%s'", open);
            return complain(&err), NULL;
        }
        sizes.dims[sizes.rank++] = (uint32_t)n;
    }
    struct nm_net *net = nm_onnx_load_sized(path, &sizes, &err);
    if (!net && !sizes.rank && nm_file_exists(path))
        nm_fail(&err, "if the file leaves sizes of its inputs open, --open gives them, such as --open 1,3,240,320");
    if (!net) complain(&err);
    return net;
}

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
    const char *open = NULL;
    const struct flag flags[] = {OPEN_FLAG(&open), {0}};
    const struct usage usage =
        USAGE("nutmeg nn show", "FILE", flags, "Prints the inputs, nodes, outputs and notes of a network.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_net *net = load(argv[1], open);
    if (!net) return EXIT_USAGE;
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

/* The picture as the network's input [1, channels, height, width] (or channels last), 1 or 3 channels of 0 to 1, by the
 * nearest pixels. */
static int read_picture(struct nm_net *net, const char *path, struct nm_err *err)
{
    const struct nm_net_shape *s = &net->values[net->inputs[0]].shape;
    bool last = s->rank == 4 && (s->dims[3] == 1 || s->dims[3] == 3) && s->dims[1] != 1 && s->dims[1] != 3;
    uint32_t channels = s->rank == 4 ? s->dims[last ? 3 : 1] : 0, high = s->dims[last ? 1 : 2],
             wide = s->dims[last ? 2 : 3];
    if ((channels != 1 && channels != 3) || s->dims[0] != 1)
        return nm_fail(err, "the first input is no picture of one or three channels");
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) return nm_fail(err, "%s: %s", path, image.message);
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if (image.width > 8192 || image.height > 8192) {
        png_image_free(&image);
        return nm_fail(err, "%s is larger than 8192 pixels a side", path);
    }
    uint8_t *bytes = nm_malloc(PNG_IMAGE_SIZE(image));
    int bad = !png_image_finish_read(&image, NULL, bytes, 0, NULL);
    float *to = nm_net_input(net, 0);
    for (uint32_t i = 0; i < channels * high * wide && !bad; i++) {
        uint32_t c = i / (high * wide), y = i / wide % high * image.height / high, x = i % wide * image.width / wide;
        float v = (float)bytes[((size_t)y * image.width + x) * channels + c] / 255;
        to[last ? i % (high * wide) * channels + c : i] = v;
    }
    free(bytes);
    return bad ? nm_fail(err, "%s: %s", path, image.message) : 0;
}

/* Where each channel of an output of images is highest. */
static void print_peaks(const struct nm_net_value *v)
{
    const char *heads[] = {"output", "image", "channel", "most", "x", "y", NULL};
    struct table table;
    uint32_t high = v->shape.dims[2], wide = v->shape.dims[3];
    table_begin(&table, heads);
    for (uint32_t i = 0; i < v->n / (high * wide); i++) {
        const float *at = v->at + (size_t)i * high * wide;
        uint32_t most = 0;
        for (uint32_t k = 1; k < high * wide; k++)
            if (at[k] > at[most]) most = k;
        table_row(&table, "%s\t%u\t%u\t%.5g\t%u\t%u", v->name, i / v->shape.dims[1], i % v->shape.dims[1],
                  (double)at[most], most % wide, most / wide);
    }
    table_print(&table, stdout);
}

static int run(int argc, char **argv)
{
    bool zero = false;
    const char *picture = NULL, *open = NULL;
    const struct flag flags[] = {
        SWITCH("zero", &zero, "sets all inputs to 0 and reads nothing"),
        TEXT("image", &picture, "FILE.png", "the first input is this picture, scaled to the size of the input"),
        OPEN_FLAG(&open),
        {0}};
    const struct usage usage =
        USAGE("nutmeg nn run", "FILE", flags,
              "Runs a network once. Its inputs are numbers on the standard input, separated by blanks\n"
              "or lines, or a picture. Prints a line with the numbers of each output, or of images\n"
              "where each channel is highest.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_net *net = load(argv[1], open);
    if (!net) return EXIT_USAGE;
    if (picture ? read_picture(net, picture, &err) : !zero && read_inputs(net, stdin, &err)) {
        nm_net_free(net);
        return complain(&err), EXIT_USAGE;
    }
    nm_net_run(net);
    for (uint32_t i = 0; i < net->n_outputs; i++) {
        const struct nm_net_value *v = &net->values[net->outputs[i]];
        if (v->shape.rank == 4 && v->n > 1000) {
            print_peaks(v);
            continue;
        }
        for (uint32_t j = 0; j < v->n; j++) printf("%.8g%c", (double)v->at[j], j + 1 < v->n ? ' ' : '\n');
    }
    nm_net_free(net);
    return EXIT_OK;
}

static int measure(int argc, char **argv)
{
    double seconds = 1;
    const char *open = NULL;
    const struct flag flags[] = {
        OPEN_FLAG(&open),
        NUMBER("seconds", &seconds, 0.01, 60, "N", "measures for N seconds (default: 1)", .letter = 's'),
        {0}};
    const struct usage usage =
        USAGE("nutmeg nn bench", "FILE", flags,
              "Measures how long a network takes on one core of this machine: the median and the best\n"
              "of many rounds, each of many runs.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_net *net = load(argv[1], open);
    if (!net) return EXIT_USAGE;
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
        {"run", "runs a network once on numbers or a picture", run},
        {"bench", "measures how long a network takes", measure},
        {0},
    };
    return verbs_run("nutmeg nn", "Networks in ONNX files.", verbs, argc, argv);
}

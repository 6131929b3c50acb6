/* A checkpoint of learning with any bytes changed: refused with a sentence, or taken, and then it has numbers that can
 * be learned with. A whole checkpoint has megabytes, so the input says how a good one is changed:
 *
 *     flags u8 (1: with the right checksum), rows u16 (zeros that are added), cut u32 (bytes that remain, 0: all),
 *     and then patches of an offset u32 and eight bytes */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/whole.h"
#include "body/robot.h"
#include "learn/trainer.h"
#include "sim/field.h"

enum { HEAD = 7, PATCH = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzz {
    struct nm_arena arena;
    struct nm_pitch pitch;
    struct nm_trainer *trainer;
    char *good;
    size_t n;
} fuzz;

static void begin(void)
{
    struct nm_err err = {0};
    char path[] = "/tmp/nutmeg-fuzz-XXXXXX";
    struct nm_learn_options options = {.seed = 1, .worlds = 8, .threads = 1};
    const struct nm_body *body = nm_body_load(&fuzz.arena, NM_ROOT "/robots/kid70", &err);
    if (!body || nm_pitch_read(&fuzz.pitch, NM_ROOT "/fields/kid.yaml", &err)) abort();
    fuzz.trainer = nm_trainer_new(body, &fuzz.pitch, &options, &err);
    int file = mkstemp(path);
    if (file < 0 || !fuzz.trainer || nm_trainer_save(fuzz.trainer, path, &err)) abort();
    close(file);
    fuzz.good = nm_read_whole(path, (size_t)1 << 30, &fuzz.n, &err);
    if (!fuzz.good) abort();
    unlink(path);
}

static char *changed(const uint8_t *data, size_t size, size_t *n)
{
    uint32_t sum = 0, cut;
    uint16_t rows;
    memcpy(&rows, data + 1, sizeof rows);
    memcpy(&cut, data + 3, sizeof cut);
    size_t all = fuzz.n + rows, last = all - sizeof sum;
    char *bytes = calloc(all, 1);
    if (!bytes) abort();
    memcpy(bytes, fuzz.good, fuzz.n - sizeof sum);
    for (size_t at = HEAD; at + PATCH <= size; at += PATCH) {
        uint32_t offset;
        memcpy(&offset, data + at, sizeof offset);
        memcpy(bytes + offset % (last - 8), data + at + sizeof offset, 8);
    }
    if (data[0] & 1) sum = nm_crc32(0, bytes, last);
    memcpy(bytes + last, &sum, sizeof sum);
    *n = cut && cut < all ? cut : all;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_err err = {0};
    size_t n;
    uint32_t rows;
    if (size < HEAD) return 0;
    if (!fuzz.trainer) begin();
    char *bytes = changed(data, size, &n);
    char *exact = malloc(n ? n : 1); /* so that a sanitizer sees the first byte read past the end */
    if (!exact) abort();
    memcpy(exact, bytes, n);
    free(bytes);
    int bad = nm_trainer_take(fuzz.trainer, "input", exact, n, &err);
    free(exact);
    if (bad != 0 && !err.n) abort();
    if (bad) return 0;
    const struct nm_learned *curve = nm_trainer_curve(fuzz.trainer, &rows);
    for (uint32_t i = 0; i < rows; i++)
        if (!isfinite(curve[i].reward) || !isfinite(curve[i].limits.push)) abort();
    struct nm_net *net = nm_trainer_net(fuzz.trainer, &err);
    if (!net) abort();
    nm_net_free(net);
    return 0;
}

/* Any bytes as the state of a search: refused with a sentence, or a search that goes on with finite numbers. */
#include <math.h>

#include "cmd/tune.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nm_param param = {.name = "speed"};
    const double start[2] = {0.5, 0.5}, scale[2] = {1, 1};
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct tune *tune = calloc(1, sizeof *tune);
    if (!tune) abort();
    tune->params.n = 2;
    for (uint32_t i = 0; i < 2; i++)
        tune->params.at[i] = (struct tune_param){.instance = i ? "walk" : "kick", .param = &param, .high = 1};
    tune->cma = nm_cma_new(&arena, 2, start, scale, 0.3, 4, 1);
    const char *path = fuzz_put("state.yaml", data, size);
    int bad = tune_load(tune, path, &err);
    if (bad != 0 && !err.n) abort();
    if (!bad) {
        const double scores[4] = {1, 2, 3, 4};
        nm_cma_tell(tune->cma, scores);
        nm_cma_done(tune->cma);
        for (uint32_t k = 0; k < tune->cma->population; k++)
            for (uint32_t i = 0; i < 2; i++)
                if (isinf(tune_value(&tune->params.at[i], nm_cma_candidate(tune->cma, k)[i]))) abort();
        if (tune_save(tune, path, &err)) abort();
    }
    free(tune->history);
    free(tune);
    nm_arena_free(&arena);
    return 0;
}

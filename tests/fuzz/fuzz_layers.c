/* Any bytes as the files that give parameters their values, separated by NUL: config/default, the robot's, the place's
 * and the line-up's saved file. They are refused with sentences, or give values inside their ranges; and a value that
 * is saved into what they hold is there when they are read again. */
#include "core/layers.h"
#include "core/lineup.h"
#include "files.h"
#include "../core/team.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] = "robot: r\ncycles:\n  c: {period: 10 ms, modules: [ball_filter, striker, walk]}\n"
                           "remote: [ball_seen]\n";

static struct nm_lineup *load(struct nm_registry *registry, const struct nm_lineup_options *options, struct nm_err *err)
{
    return nm_lineup_parse(text, sizeof text - 1, fuzz_path("l.yaml"), registry, options, err);
}

static void check(const struct nm_lineup *lineup)
{
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        for (uint32_t p = 0; p < lineup->instances[i].n_params; p++) {
            const struct nm_param *param = &lineup->instances[i].module->params[p];
            char value[NM_VALUE_PRINT];
            struct nm_value again = {0};
            nm_value_print(param, &lineup->instances[i].values[p], value, sizeof value);
            if (nm_value_parse(param, value, &again, NULL)) abort();
            if (!nm_value_equal(param, &lineup->instances[i].values[p], &again)) abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"config", "config/default", "config/places", "robots", "robots/r"};
    static const char *const files[] = {"config/default/a.yaml", "robots/r/params.yaml", "config/places/p.yaml",
                                        "l.saved.yaml"};
    if (!*fuzz.root)
        for (int i = 0; i < 5; i++) fuzz_folder(folders[i]);
    for (int i = 0; i < 4; i++) {
        const uint8_t *part;
        size_t n = fuzz_part(&data, &size, &part);
        fuzz_put(files[i], part, n);
    }
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_lineup_options options = {.root = fuzz_root(), .place = "p"};
    nm_registry_init(&registry, &arena, team, team + TEAM);
    struct nm_lineup *lineup = load(&registry, &options, &err), *again = NULL;
    if (!lineup != (err.n > 0)) abort();
    if (lineup) {
        check(lineup);
        uint32_t at = nm_lineup_instance(lineup, "ball_filter");
        struct nm_value value = lineup->instances[at].values[0];
        if (nm_layers_save(lineup, &registry, &options, NM_LAYER_LINEUP, &(struct nm_saved){at, 0, &value}, 1, &err))
            abort();
        if (!(again = load(&registry, &options, &err))) abort();
        if (!nm_value_equal(&lineup->instances[at].module->params[0], &again->instances[at].values[0], &value)) abort();
    }
    nm_lineup_free(again);
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
    return 0;
}

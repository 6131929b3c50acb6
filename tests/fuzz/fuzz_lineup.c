/* Any bytes as a line-up: refused with a sentence, or a plan that holds together and can be drawn. It may extend the
 * line-up `base`. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lineup_drawing.h"
#include "core/lineup.h"
#include "../core/team.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth) abort();
}

static void check(const struct nm_lineup *lineup)
{
    uint32_t steps = 0;
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        const struct nm_lineup_cycle *cycle = &lineup->cycles[c];
        require(cycle->trigger == NM_NONE ? cycle->period > 0
                                          : cycle->trigger < lineup->n_topics && cycle->timeout > 0);
        require(cycle->deadline > 0 && cycle->cost >= 0);
        steps += cycle->n_order;
        for (uint32_t i = 0; i < cycle->n_order; i++) require(lineup->instances[cycle->order[i]].cycle == c);
    }
    require(steps == lineup->n_instances);
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[i];
        require(nm_lineup_instance(lineup, instance->name) == i);
        for (uint32_t p = 0; p < instance->n_ports; p++) require(instance->topics[p] < lineup->n_topics);
        for (uint32_t p = 0; p < instance->n_params; p++) {
            char text[NM_VALUE_PRINT];
            struct nm_value again = {0};
            nm_value_print(&instance->module->params[p], &instance->values[p], text, sizeof text);
            require(!nm_value_parse(&instance->module->params[p], text, &again, NULL));
            require(nm_value_equal(&instance->module->params[p], &instance->values[p], &again));
        }
    }
    for (uint32_t t = 0; t < lineup->n_topics; t++) require(nm_lineup_topic(lineup, lineup->topics[t].name) == t);
}

static void draw(const struct nm_lineup *lineup, void (*how)(const struct nm_lineup *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return;
    how(lineup, to);
    fclose(to);
    free(text);
}

static const char base[] =
    "cycles:\n"
    "  vision: {trigger: image_raw, timeout: 40 ms, modules: [eye]}\n"
    "  game: {period: 10 ms, modules: [{module: ball_filter, params: {friction: 0.2}}, striker, walk]}\n"
    "remote: [image_raw]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *path;
    if (!path) {
        fuzz_put("base.yaml", base, sizeof base - 1);
        path = fuzz_path("fuzz.yaml");
    }
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_lineup_options options = {.root = "/nonexistent"};
    nm_registry_init(&registry, &arena, team, team + TEAM);
    struct nm_lineup *lineup = nm_lineup_parse((const char *)data, size, path, &registry, &options, &err);
    require((lineup == NULL) == (err.n > 0));
    if (lineup) {
        check(lineup);
        draw(lineup, nm_graph_svg);
        draw(lineup, nm_graph_dot);
    }
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
    return 0;
}

/* Any bytes as the metadata.yaml of a bag: refused with a sentence, or files inside the folder only; and what was
 * understood is understood again after it was written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bag_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const char *a, const char *b)
{
    if (strcmp(a, b)) abort();
}

static void check_again(const struct nm_bag *bag)
{
    struct nm_arena arena = {0};
    struct nm_text_out out = {.grows = true};
    nm_bag_print(&out, bag);
    const struct nm_bag *again = nm_bag_parse(&arena, "again.yaml", out.text, out.used, NULL);
    if (!again || again->n_files != bag->n_files || again->n_topics != bag->n_topics) abort();
    for (uint32_t i = 0; i < bag->n_files; i++) same(bag->files[i].path, again->files[i].path);
    for (uint32_t i = 0; i < bag->n_topics; i++) same(bag->topics[i].name, again->topics[i].name);
    free(out.text);
    nm_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_bag *bag = nm_bag_parse(&arena, "metadata.yaml", (const char *)data, size, &err);
    if (!bag != (err.n > 0)) abort();
    for (uint32_t i = 0; bag && i < bag->n_files; i++) {
        const char *path = bag->files[i].path;
        if (!*path || *path == '/' || !strncmp(path, "../", 3) || strstr(path, "/../") || !strcmp(path, "..")) abort();
    }
    if (bag) check_again(bag);
    nm_arena_free(&arena);
    return 0;
}

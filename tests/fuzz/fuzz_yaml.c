/* Any text as YAML: a sentence, or a tree within its limits whose every scalar can be asked for every kind of value. */
#include <assert.h>
#include <string.h>

#include "codec/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t visit(const struct nm_yaml *node, uint32_t depth)
{
    static const char *const names[] = {"cycles", "period", "modules"};
    uint32_t nodes = 1, children = 0;
    struct nm_err err = {0};
    bool b;
    int64_t i;
    uint64_t u;
    double d;
    const char *text;
    assert(depth <= NM_YAML_DEPTH);
    assert(node->line >= 1 && node->text && node->file);
    nm_yaml_bool(node, &b, &err);
    nm_yaml_int(node, &i, &err);
    nm_yaml_uint(node, &u, &err);
    nm_yaml_number(node, &d, &err);
    nm_yaml_duration(node, &i, &err);
    nm_yaml_text(node, &text, &err);
    nm_yaml_keys(node, names, 3, &err);
    nm_yaml_each(child, node)
    {
        assert((node->kind == NM_YAML_MAP) == (child->key != NULL));
        assert(!child->key || nm_yaml_get(node, child->key) == child || node->n > 100);
        nodes += visit(child, depth + 1);
        children++;
    }
    assert(children == node->n);
    return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_yaml *root = nm_yaml_parse(&arena, "fuzz", (const char *)data, size, &err);
    if (root) {
        assert(err.n == 0);
        assert(visit(root, 0) <= NM_YAML_NODES + 1);
    } else {
        assert(err.n >= 1 && !strncmp(err.text, "fuzz:", 5));
    }
    nm_arena_free(&arena);
    return 0;
}

/* Any bytes as the description of a type, as another node could send it: a sentence, or a definition that our own
 * parser reads, links and describes again. */
#include <assert.h>

#include "codec/msgdef.h"
#include "edge/dds/type_description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    struct nm_err err = {0};
    struct unpack u;
    const char *text = unpack_begin(&u, data, size) ? describe_read(&arena, &u, &err) : NULL;
    if (!text) {
        nm_arena_free(&arena);
        return 0;
    }
    assert(u.at <= size);
    if (!nm_defs_add_merged(&set, "fuzz", "fuzz_msgs/msg/Fuzz", text, strlen(text), NULL) &&
        !nm_defs_link(&set, NULL)) {
        const struct nm_def *def = nm_defs_find(&set, "fuzz_msgs/msg/Fuzz");
        assert(def && nm_def_hash(&set, def));
        struct nm_type type = {.name = def->name, .hash = nm_def_hash(&set, def), .schema = nm_def_schema(&set, def)};
        struct pack p = {0};
        pack_begin(&p);
        describe_pack(&p, type.name, &type, "", true);
        assert(unpack_begin(&u, p.bytes, p.n));
        assert(describe_read(&arena, &u, NULL));
        free(p.bytes);
    }
    nm_arena_free(&arena);
    return 0;
}

/* Any text as .msg, .srv, .action or merged schema (the first byte chooses): no crash, and whatever is understood gives
 * a schema that is understood again as the same type. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/msgdef.h"

static void add_message(struct nm_defs *set, const char *package, const char *name, const char *text)
{
    struct nm_def_source source = {.file = name, .package = package, .name = name, .text = text, .size = strlen(text)};
    if (nm_defs_add(set, &source, NULL)) abort();
}

/* what services and actions are made with */
static void add_standard(struct nm_defs *set)
{
    add_message(set, "service_msgs", "ServiceEventInfo", "uint8 event_type\n");
    add_message(set, "unique_identifier_msgs", "UUID", "uint8[16] uuid\n");
    add_message(set, "builtin_interfaces", "Time", "int32 sec\nuint32 nanosec\n");
    add_message(set, "std_msgs", "Header", "builtin_interfaces/Time stamp\nstring frame_id # cap=31\n");
}

static void check_again(const struct nm_type *type)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    struct nm_err err = {0};
    const struct nm_type *again = NULL;
    if (!nm_defs_add_merged(&set, "again", type->name, type->schema, strlen(type->schema), &err) &&
        !nm_defs_link(&set, &err))
        again = nm_def_type(&set, nm_defs_find(&set, type->name), &err);
    /* annotations are lost in a schema: without them a type may grow too large */
    bool large = strstr(err.text, "grows beyond") || strstr(err.text, "when written out");
    if (again ? strcmp(again->hash, type->hash) || strcmp(again->schema, type->schema) : !large) {
        fprintf(stderr, "%s\n%s%s", type->name, type->schema, err.text);
        abort();
    }
    nm_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 2000, TYPES = 12 }; /* short texts: lines may grow a little when they are written out */
    if (!size || size > MOST) return 0;
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    struct nm_err err = {0};
    uint32_t kind = data[0] % 4u;
    const char *text = (const char *)data + 1;
    int result;
    if (kind == 3) {
        result = nm_defs_add_merged(&set, "fuzz", "t_msgs/msg/T", text, size - 1, &err);
    } else {
        struct nm_def_source source = {"fuzz", "t_msgs", "T", (enum nm_interface)kind, text, size - 1};
        add_standard(&set);
        result = nm_defs_add(&set, &source, &err);
    }
    if (nm_defs_link(&set, &err)) {
        if (!err.n) abort(); /* a refusal without a reason */
    } else {
        if (result) abort();
        for (uint32_t i = 0; i < set.n && i < TYPES; i++) {
            const struct nm_type *type = nm_def_type(&set, set.at[i], &err);
            if (type) check_again(type);
        }
    }
    nm_arena_free(&arena);
    return 0;
}

/* The definition of a topic's type: our own where it is the same, else what the writer's node tells when asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/msgdef.h"
#include "edge/dds/describe.h"
#include "edge/dds/look_inside.h"
#include "type_description_interfaces/GetTypeDescription.h"

enum { ENDS = 256 };

/* Whether a text defines the type with this hash; "" fits every text that makes sense. */
static bool defines(const char *text, const char *type, const char *hash, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    const struct nm_def *def = NULL;
    if (!nm_defs_add_merged(&set, type, type, text, strlen(text), err) && !nm_defs_link(&set, err))
        def = nm_defs_find(&set, type);
    bool fits = def && (!*hash || !strcmp(nm_def_hash(&set, def), hash));
    if (def && !fits) nm_fail(err, "%s: what its node tells about the type does not have the hash %s", type, hash);
    nm_arena_free(&arena);
    return fits;
}

static const char *ask_node(struct nm_look *look, const char *node, const struct nm_look_topic *topic, const char *hash,
                            struct nm_arena *arena, double timeout, struct nm_err *err)
{
    char service[2 * NM_ROS_NAME + 32];
    struct pack request = {0};
    struct unpack u;
    size_t n = 0;
    const char *text = NULL;
    snprintf(service, sizeof service, "%s/get_type_description", node);
    pack_begin(&request);
    pack_text(&request, topic->ros_type);
    pack_text(&request, hash);
    pack_u8(&request, false);
    uint8_t *reply = nm_look_call(look, service, &GetTypeDescription_Request_type, request.bytes, request.n,
                                  &GetTypeDescription_Response_type, &n, timeout, err);
    if (reply && unpack_begin(&u, reply, n)) text = describe_read(arena, &u, err);
    free(reply);
    free(request.bytes);
    return text && defines(text, topic->ros_type, hash, err) ? text : NULL;
}

const char *nm_look_schema(struct nm_look *look, const struct nm_look_topic *topic, struct nm_arena *arena,
                           double timeout, struct nm_err *err)
{
    struct nm_look_offer *offers = calloc(ENDS, sizeof *offers);
    const char *text = NULL;
    struct nm_err why = {0};
    if (!offers) abort();
    uint32_t n = nm_look_offers(look, topic->name, offers, ENDS);
    int64_t until = dds_time() + (int64_t)(timeout * 1e9);
    bool asked = false;
    /* ours, unless a writer says that its is another one */
    bool ours = topic->type != NULL;
    for (uint32_t i = 0; i < n; i++)
        if (offers[i].writes && *offers[i].hash && ours) ours = !strcmp(offers[i].hash, topic->type->hash);
    if (ours) text = topic->type->schema;
    for (uint32_t i = 0; i < n && !text; i++) {
        char node[2 * NM_ROS_NAME];
        bool known = false;
        if (!offers[i].writes || strcmp(offers[i].dds_type, topic->dds_type)) continue;
        while (!(known = nm_look_owner(look, offers[i].gid, node, sizeof node)) && dds_time() < until)
            dds_sleepfor(DDS_MSECS(10));
        double left = (double)(until - dds_time()) * 1e-9;
        if (!known) continue;
        asked = true;
        text = ask_node(look, node, topic, offers[i].hash, arena, left > 0.1 ? left : 0.1, &why);
    }
    free(offers);
    if (text) return text;
    if (asked)
        nm_fail(err, "%s: the type %s is not known here, and its node does not describe it: %.*s", topic->name,
                topic->ros_type, (int)strcspn(why.text, "\n"), why.text);
    else
        nm_fail(err, "%s: the type %s is not known here, and its writer is no ROS 2 node that could describe it",
                topic->name, topic->ros_type);
    return NULL;
}

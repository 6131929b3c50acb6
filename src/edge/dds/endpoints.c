/* Readers and writers of the node, and what the others are told about it. */
#include <stdio.h>

#include "edge/dds/inside.h"

/* A full history is told after this long; an edge has other topics to serve. */
static const dds_duration_t patience = DDS_MSECS(10);

static dds_qos_t *qos_new(const struct nm_ros_qos *ros, const char *user_data)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, ros->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, patience);
    dds_qset_durability(qos, ros->latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    dds_qset_history(qos, ros->depth > 0 ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL,
                     ros->depth > 0 ? ros->depth : 1);
    if (ros->latched) /* else a late reader gets one sample only */
        dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, ros->depth > 0 ? ros->depth : 1,
                                    DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
    if (ros->lifespan) dds_qset_lifespan(qos, ros->lifespan);
    dds_qset_writer_data_lifecycle(qos, false);
    dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
    if (user_data && *user_data) dds_qset_userdata(qos, user_data, strlen(user_data));
    return qos;
}

static void note(struct gids *gids, dds_entity_t entity)
{
    if (gids->n == gids->room) {
        uint32_t room = gids->room * 2 + 32;
        dds_guid_t *more = realloc(gids->at, room * sizeof *more);
        if (!more) abort();
        gids->at = more;
        gids->room = room;
    }
    dds_get_guid(entity, &gids->at[gids->n++]);
}

static dds_entity_t fail(const char *what, const char *name, dds_entity_t code, struct nm_err *err)
{
    nm_fail(err, "dds: no %s for '%s': %s", what, name, dds_strretcode(code));
    return code;
}

dds_entity_t endpoint_writer(struct nm_dds *dds, const char *name, const char *type, const struct nm_ros_qos *ros,
                             const char *user_data, const dds_listener_t *listener, struct nm_err *err)
{
    dds_entity_t topic = nm_raw_topic(dds->participant, name, type);
    if (topic < 0) return fail("topic", name, topic, err);
    dds_qos_t *qos = qos_new(ros, user_data);
    dds_entity_t writer = dds_create_writer(dds->publisher, topic, qos, listener);
    dds_delete_qos(qos);
    if (writer < 0) return fail("writer", name, writer, err);
    note(&dds->writers, writer);
    return writer;
}

dds_entity_t endpoint_reader(struct nm_dds *dds, const char *name, const char *type, size_t most,
                             const struct nm_ros_qos *ros, const char *user_data, const dds_listener_t *listener,
                             struct nm_err *err)
{
    dds_entity_t topic = nm_raw_topic_most(dds->participant, name, type, most);
    if (topic < 0) return fail("topic", name, topic, err);
    dds_qos_t *qos = qos_new(ros, user_data);
    dds_entity_t reader = dds_create_reader(dds->subscriber, topic, qos, listener);
    dds_delete_qos(qos);
    if (reader < 0) return fail("reader", name, reader, err);
    note(&dds->readers, reader);
    return reader;
}

/* Both ends of a service carry the same id, by which rmw_cyclonedds pairs them: the participant's prefix and a count.
 */
void service_id(struct nm_dds *dds, const char *key, char *to, size_t size)
{
    dds_guid_t guid;
    uint32_t count = ++dds->services;
    dds_get_guid(dds->participant, &guid);
    for (int i = 0; i < 4; i++) guid.v[12 + i] = (uint8_t)(count >> (24 - 8 * i));
    size_t used = (size_t)snprintf(to, size, "%s=", key);
    for (int i = 0; i < 16 && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%x", i ? "." : "", guid.v[i]);
    if (used < size) snprintf(to + used, size - used, ";");
}

static void pack_gid(struct pack *p, const struct nm_dds *dds, const dds_guid_t *guid)
{
    uint8_t gid[24] = {0};
    memcpy(gid, guid->v, sizeof guid->v);
    pack_raw(p, gid, dds->options.gid_size);
}

static void pack_gids(struct pack *p, const struct nm_dds *dds, const struct gids *gids)
{
    pack_u32(p, gids->n);
    for (uint32_t i = 0; i < gids->n; i++) pack_gid(p, dds, &gids->at[i]);
}

/* The whole list each time: rmw_dds_common/ParticipantEntitiesInfo, whose Gid has two sizes under one name. */
void node_tell(struct nm_dds *dds, bool here)
{
    struct pack *p = &dds->buffer;
    dds_guid_t guid;
    dds_get_guid(dds->participant, &guid);
    pack_begin(p);
    pack_gid(p, dds, &guid);
    pack_u32(p, here ? 1 : 0);
    if (here) {
        pack_text(p, dds->space);
        pack_text(p, dds->node);
        pack_gids(p, dds, &dds->readers);
        pack_gids(p, dds, &dds->writers);
    }
    out_write(dds, dds->discovery, p->bytes, p->n);
}

/* Nodes, from the graph that every ROS 2 participant tells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/dds/look_inside.h"
#include "edge/dds/pack.h"

int nm_look_graph(struct nm_look *look, struct nm_err *err)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
    look_set_hash(qos, nm_type_find(&nm_all_types, "rmw_dds_common/msg/ParticipantEntitiesInfo")->hash);
    dds_entity_t topic =
        nm_raw_topic(look->participant, "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
    look->graph = dds_create_reader(look->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    return look->graph < 0 ? nm_fail(err, "the graph cannot be read: %s", dds_strretcode(look->graph)) : 0;
}

enum { ENDS_MOST = 4096 }; /* readers, or writers, of a node; one that lists more is not believed */
enum { OWNERS_MOST = 65536 };

struct lookup { /* endpoints by their ids */
    const uint8_t *gids;
    uint32_t n;
    size_t size; /* of an id */
    bool writer;
    nm_look_end *ends;
    void *user;
};

/* "rq/red/shoutRequest" is /red/shout. */
static void tell_end(void *user, const dds_builtintopic_endpoint_t *endpoint)
{
    static const struct {
        const char *prefix, *suffix, *read, *written;
    } rows[] = {{"rt", "", "reads", "publishes"}, {"rq", "Request", "serves", "calls"}, {"rr", "Reply", NULL, NULL}};
    const struct lookup *want = user;
    char name[NM_ROS_NAME];
    uint32_t found = 0;
    while (found < want->n && memcmp(endpoint->key.v, want->gids + found * want->size, sizeof endpoint->key.v)) found++;
    if (found == want->n) return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t all = strlen(endpoint->topic_name), end = strlen(rows[i].suffix);
        const char *kind = want->writer ? rows[i].written : rows[i].read;
        if (!kind || strncmp(endpoint->topic_name, rows[i].prefix, 2) || all < 2 + end) continue;
        snprintf(name, sizeof name, "%.*s", (int)(all - 2 - end), endpoint->topic_name + 2);
        want->ends(want->user, kind, name, endpoint->type_name);
    }
}

struct telling {
    struct nm_look *look;
    nm_look_node *node;
    const char *name;
    nm_look_end *ends;
    void *user;
    bool owners; /* notes whose all ends are */
};

static void note_owner(struct nm_look *look, const uint8_t *gid, const char *node)
{
    for (uint32_t i = 0; i < look->n_owners; i++)
        if (!memcmp(look->owners[i].gid, gid, 16)) return;
    if (look->n_owners == OWNERS_MOST) return;
    if (look->n_owners == look->owners_room) {
        look->owners_room = look->owners_room * 2 + 64;
        look->owners = realloc(look->owners, look->owners_room * sizeof *look->owners);
        if (!look->owners) abort();
    }
    struct look_owner *owner = &look->owners[look->n_owners++];
    memcpy(owner->gid, gid, sizeof owner->gid);
    snprintf(owner->node, sizeof owner->node, "%s", node);
}

/* One participant's nodes; with `t` NULL only whether the bytes make sense with ids of this size. */
static bool read_graph(const struct nm_raw *sample, size_t gid_size, const struct telling *t)
{
    struct unpack u;
    unpack_begin(&u, sample->bytes, sample->size);
    unpack_raw(&u, gid_size);
    uint32_t nodes = unpack_count(&u, 16);
    for (uint32_t i = 0; i < nodes && !u.bad; i++) {
        char full[2 * NM_ROS_NAME];
        const char *space = unpack_text(&u), *node = unpack_text(&u);
        if (u.bad || *space != '/' || !nm_look_plain(space) || !nm_look_plain(node)) return false;
        snprintf(full, sizeof full, "%.255s/%.255s", space[1] ? space : "", node);
        if (t && t->node) t->node(t->user, full);
        bool wanted = t && t->ends && t->name && !strcmp(full, t->name);
        for (int writer = 0; writer < 2; writer++) {
            uint32_t n = unpack_count(&u, gid_size);
            struct lookup want = {.gids = unpack_raw(&u, n * gid_size), .n = n, .size = gid_size, .writer = writer};
            if (u.bad || n > ENDS_MOST) return false;
            for (uint32_t k = 0; t && t->owners && k < n; k++) note_owner(t->look, want.gids + k * gid_size, full);
            if (!wanted || !n) continue;
            want.ends = t->ends;
            want.user = t->user;
            each_endpoint(t->look, writer ? t->look->publications : t->look->subscriptions, tell_end, &want);
        }
    }
    return !u.bad && u.n - u.at < 4; /* all of it, but for padding */
}

static void take_graph(struct nm_look *look, const struct telling *telling)
{
    struct nm_raw samples[NM_RAW_MOST];
    int n;
    while ((n = nm_raw_take(look->graph, samples, NM_RAW_MOST)) > 0) {
        for (int i = 0; i < n; i++) {
            if (!samples[i].sample) continue;
            size_t size = read_graph(&samples[i], 16, NULL) ? 16 : 24; /* up to Humble */
            if (read_graph(&samples[i], size, NULL)) read_graph(&samples[i], size, telling);
        }
        nm_raw_free(samples, n);
    }
}

void nm_look_nodes(struct nm_look *look, nm_look_node *node, const char *name, nm_look_end *ends, void *user)
{
    take_graph(look, &(struct telling){look, node, name, ends, user, false});
}

bool nm_look_owner(struct nm_look *look, const uint8_t gid[16], char *to, size_t size)
{
    if (!look->graph && nm_look_graph(look, NULL)) return false;
    take_graph(look, &(struct telling){.look = look, .owners = true});
    for (uint32_t i = 0; i < look->n_owners; i++) {
        if (memcmp(look->owners[i].gid, gid, 16)) continue;
        snprintf(to, size, "%s", look->owners[i].node);
        return true;
    }
    return false;
}

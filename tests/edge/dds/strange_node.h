/* A node of ROS 2 with a type that this program does not have: a writer, an entry in the graph, and the service that
 * describes the type to whoever asks. It answers in a thread of its own, as another process would. */
#pragma once

#include "edge/dds/wire.h"

#include <pthread.h>
#include <stdatomic.h>

#include "codec/msgdef.h"
#include "edge/dds/type_description.h"

#define ODD     "strange_msgs/msg/Odd"
#define ODD_DDS "strange_msgs::msg::dds_::Odd_"
static const char odd_schema[] = "string word\nfloat64[] numbers\nstrange_msgs/Inner[<=2] inner\n"
                                 "================================================================================\n"
                                 "MSG: strange_msgs/Inner\nuint8 level\nint64 far\n";

struct strange_node {
    struct peer peer;
    dds_entity_t writer, requests, replies, graph;
    char hash[80];
    bool lies; /* describes another type under the hash */
    struct pack sample;
    pthread_t thread;
    _Atomic bool ending;
    _Atomic uint32_t asked;
};

static inline void strange_answer(struct strange_node *node)
{
    static const char other[] = "string word\n";
    struct nm_type type = {.name = ODD, .schema = node->lies ? other : odd_schema, .hash = node->hash};
    struct pack reply = {0};
    struct unpack u;
    unpack_begin(&u, node->peer.samples[0].bytes, node->peer.samples[0].size);
    uint64_t id = unpack_u64(&u), seq = unpack_u64(&u);
    const char *name = unpack_text(&u), *hash = unpack_text(&u);
    pack_begin(&reply);
    pack_u64(&reply, id);
    pack_u64(&reply, seq);
    describe_pack(&reply, name, strcmp(name, ODD) ? NULL : &type, hash, false);
    nm_raw_write(node->replies, reply.bytes, reply.n);
    free(reply.bytes);
    atomic_fetch_add(&node->asked, 1);
}

static inline void *strange_serve(void *user)
{
    struct strange_node *node = user;
    while (!atomic_load(&node->ending)) {
        if (peer_take(&node->peer, node->requests)) strange_answer(node);
        usleep(WAIT_US);
    }
    return NULL;
}

static inline void pack_gid_of(struct pack *p, dds_entity_t entity)
{
    dds_guid_t guid;
    dds_get_guid(entity, &guid);
    pack_raw(p, guid.v, sizeof guid.v);
}

/* As a node tells it: its participant, its name, its readers, its writers. */
static inline void strange_graph(struct strange_node *node)
{
    struct pack p = {0};
    dds_qos_t *qos = peer_qos(true, true, NULL);
    dds_entity_t topic = nm_raw_topic(node->peer.participant, "ros_discovery_info",
                                      "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_");
    node->graph = dds_create_writer(node->peer.participant, topic, qos, NULL);
    dds_delete_qos(qos);
    pack_begin(&p);
    pack_gid_of(&p, node->peer.participant);
    pack_u32(&p, 1);
    pack_text(&p, "/far");
    pack_text(&p, "stranger");
    pack_u32(&p, 0);
    pack_u32(&p, 1);
    pack_gid_of(&p, node->writer);
    nm_raw_write(node->graph, p.bytes, p.n);
    free(p.bytes);
}

/* `describes`: it has the service and stands in the graph. */
static inline void strange_begin(struct strange_node *node, bool describes, bool lies)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    char data[128];
    *node = (struct strange_node){.lies = lies};
    assert_int_equal(nm_defs_add_merged(&set, ODD, ODD, odd_schema, strlen(odd_schema), NULL), 0);
    assert_int_equal(nm_defs_link(&set, NULL), 0);
    snprintf(node->hash, sizeof node->hash, "%s", nm_def_hash(&set, nm_defs_find(&set, ODD)));
    nm_arena_free(&arena);
    peer_join(&node->peer, private_domain());
    snprintf(data, sizeof data, "typehash=%s;", node->hash);
    node->writer = peer_writer(&node->peer, "rt/odd", ODD_DDS, false, data);
    if (!describes) return;
    node->requests = peer_reader(&node->peer, "rq/far/stranger/get_type_descriptionRequest",
                                 "type_description_interfaces::srv::dds_::GetTypeDescription_Request_", false);
    node->replies = peer_writer(&node->peer, "rr/far/stranger/get_type_descriptionReply",
                                "type_description_interfaces::srv::dds_::GetTypeDescription_Response_", true, NULL);
    strange_graph(node);
    assert_int_equal(pthread_create(&node->thread, NULL, strange_serve, node), 0);
}

static inline void strange_end(struct strange_node *node)
{
    atomic_store(&node->ending, true);
    if (node->requests) pthread_join(node->thread, NULL);
    peer_leave(&node->peer, private_domain());
    free(node->sample.bytes);
}

/* A message that is longer than any struct of ours: 100,000 letters and 5,000 numbers. */
static inline void strange_write(struct strange_node *node)
{
    enum { LETTERS = 100000, NUMBERS = 5000 };
    struct pack *p = &node->sample;
    if (!p->n) {
        char *word = calloc(1, LETTERS + 1);
        assert_non_null(word);
        memset(word, 'a', LETTERS);
        memcpy(word, "begins", 6);
        pack_begin(p);
        pack_text(p, word);
        pack_u32(p, NUMBERS);
        for (int i = 0; i < NUMBERS; i++) pack_f64(p, i);
        pack_u32(p, 1);
        pack_u8(p, 7);
        pack_i64(p, -123456789012);
        free(word);
    }
    nm_raw_write(node->writer, p->bytes, p->n);
}

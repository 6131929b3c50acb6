/* What look.c and look_nodes.c share. */
#ifndef NM_EDGE_DDS_LOOK_INSIDE_H
#define NM_EDGE_DDS_LOOK_INSIDE_H

#include "edge/dds/look.h"

struct look_owner {
    uint8_t gid[16];
    char node[2 * NM_ROS_NAME];
};

struct nm_look {
    uint32_t domain;
    dds_entity_t participant, publications, subscriptions;
    dds_entity_t reader, writer;
    dds_entity_t waits;         /* for the reader; 0: nobody waited yet */
    const struct nm_type *type; /* of the writer                     */
    dds_entity_t graph;         /* ros_discovery_info; 0: not opened */
    uint32_t n_owners, owners_room;
    struct look_owner *owners; /* of ends, as far as nm_look_owner was asked */
    int64_t calls;             /* of services, made so far          */
};

/* A name that may be printed: what peers call themselves can hold anything, also what a terminal obeys. */
bool nm_look_plain(const char *name);

/* The type's hash as every endpoint of ROS 2 says it; "" is not said. */
void look_set_hash(dds_qos_t *qos, const char *hash);

/* Every endpoint of others that is alive and has plain names. */
typedef void endpoint_found(void *user, const dds_builtintopic_endpoint_t *endpoint);
void each_endpoint(struct nm_look *look, dds_entity_t reader, endpoint_found *call, void *user);

#endif

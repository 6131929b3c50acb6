/* Where our samples may go. A domain of Cyclone DDS is one for the whole process: the first who opens it says how,
 * those after share it. Without a network it is the interface `lo` without multicast, peers being found at their ports.
 * With one, ROS 2's variables say where others are looked for: ROS_AUTOMATIC_DISCOVERY_RANGE and ROS_STATIC_PEERS. What
 * CYCLONEDDS_URI says comes on top, as with ROS 2. */
#ifndef NM_EDGE_DDS_DOMAIN_H
#define NM_EDGE_DDS_DOMAIN_H

#include <dds/dds.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The domain that ROS_DOMAIN_ID names, 0 without it; -1 with a sentence if that is none. */
int64_t nm_domain_usual(struct nm_err *err);

enum nm_domain_how {
    NM_DOMAIN_NETWORK = 1,  /* beyond this machine                                                    */
    NM_DOMAIN_ANY_SIZE = 2, /* samples of any size; without it none of more than 64 MiB is put together */
};

/* A participant in the domain (0 … 232) with the ROS enclave in its USER_DATA; negative with a sentence. */
dds_entity_t nm_domain_join(uint32_t domain, unsigned how, struct nm_err *err);
/* Deletes the participant with all its readers and writers, and the domain after the last. */
void nm_domain_leave(uint32_t domain, dds_entity_t participant);

/* What Cyclone complains about, such as malformed packets, is kept for those who report it instead of being printed:
 * how often it complained since the start, and its newest sentence. */
uint64_t nm_domain_complaints(char *to, size_t size);

#endif

/* The DDS domain, and where our samples may go. Cyclone has one domain for the whole process: the first user configures
 * it, and later ones share it. Without a network it uses the interface `lo` without multicast and finds peers at their
 * ports. With a network, the variables of ROS 2 say where to look for others: ROS_AUTOMATIC_DISCOVERY_RANGE and
 * ROS_STATIC_PEERS. CYCLONEDDS_URI is added to the configuration, as in ROS 2. */
#pragma once

#include <dds/dds.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The domain in ROS_DOMAIN_ID, or 0 without it; -1 with a sentence if it is not valid. */
int64_t nm_domain_usual(struct nm_err *err);

enum nm_domain_how {
    NM_DOMAIN_NETWORK = 1,  /* also reach other machines                             */
    NM_DOMAIN_ANY_SIZE = 2, /* accept samples of any size; without it at most 64 MiB */
};

/* A participant in the domain (0 … 232) with the ROS enclave in its USER_DATA; negative with a sentence. */
dds_entity_t nm_domain_join(uint32_t domain, unsigned how, struct nm_err *err);
/* Deletes the participant with all its readers and writers, and the domain after the last participant. */
void nm_domain_leave(uint32_t domain, dds_entity_t participant);

/* Complaints of Cyclone, such as malformed packets, are kept instead of being printed. Returns their number since the
 * start and the newest sentence. */
uint64_t nm_domain_complaints(char *to, size_t size);

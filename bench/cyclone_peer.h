/* Cyclone DDS's serialiser for the three messages of cdr_cyclone.c. A file of its own, since Cyclone's inner headers
 * and the generated messages both have a `struct Header`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cyclone_peer;

/* Reads a sample of the type ("Imu", "JointState", "Path") from CDR bytes; NULL in a build without Cyclone DDS, and
 * where Cyclone would write other bytes for it. */
struct cyclone_peer *cyclone_peer_new(const char *type, const uint8_t *bytes, size_t size);
void cyclone_peer_free(struct cyclone_peer *peer);

void cyclone_peer_encode(struct cyclone_peer *peer);
void cyclone_peer_decode(struct cyclone_peer *peer, const uint8_t *bytes, size_t size);

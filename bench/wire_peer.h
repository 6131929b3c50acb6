/* Bare Cyclone DDS with a type of its own compiler, for bench_wire.c: an Imu between two processes as anybody would
 * send it. Absent (NULL functions) in a build without that compiler. */
#pragma once

#include <dds/dds.h>
#include <stdbool.h>
#include <stdint.h>

/* A number of the sample and the time when it was handed over, ns. */
typedef void wire_arrived(double number, double sent, void *user);

bool wire_peer_there(void);
dds_entity_t wire_peer_writer(dds_entity_t participant, const dds_qos_t *qos);
void wire_peer_write(dds_entity_t writer, double number, double sent);
/* Calls back in Cyclone's receiving thread. */
dds_entity_t wire_peer_reader(dds_entity_t participant, const dds_qos_t *qos, wire_arrived *arrived, void *user);

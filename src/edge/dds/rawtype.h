/* A Cyclone DDS topic type whose samples are ready CDR bytes with their 4-byte encapsulation header: the bytes travel
 * as they are written and are passed on as they arrive. So one serialiser, ours, serves every type, and topics of any
 * type can be read. Matching is by topic and type name, as in ROS 2; there is no key. */
#pragma once

#include <dds/dds.h>
#include <stddef.h>
#include <stdint.h>

/* A topic of a participant, with the names on the wire ("rt/imu", "sensor_msgs::msg::dds_::Imu_"). Negative: a DDS
 * return code. */
dds_entity_t nm_raw_topic(dds_entity_t participant, const char *name, const char *type);
/* The same for a reader that uses at most `most` bytes of a sample. The bytes after them are dropped, so that a peer
 * cannot fill our memory. */
dds_entity_t nm_raw_topic_most(dds_entity_t participant, const char *name, const char *type, size_t most);

/* Writes a sample; the bytes are copied. 0, or a negative DDS return code. */
int nm_raw_write(dds_entity_t writer, const void *bytes, size_t size);

/* A sample that was taken. Other readers may share the bytes, so do not change them. */
struct nm_raw {
    const uint8_t *bytes;
    size_t size;                 /* with up to three bytes of padding                         */
    dds_instance_handle_t from;  /* the writer                                                */
    int64_t written;             /* ns since 1970, by the writer's clock                      */
    struct ddsi_serdata *sample; /* holds the bytes; NULL: not a sample but a change of state */
};

/* Takes at most n (16) samples; returns their number, or a negative DDS return code. Release them with nm_raw_free. */
enum { NM_RAW_MOST = 16 };
int nm_raw_take(dds_entity_t reader, struct nm_raw *samples, uint32_t n);
void nm_raw_free(struct nm_raw *samples, int n);

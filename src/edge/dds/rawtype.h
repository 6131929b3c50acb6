/* A Cyclone DDS topic type whose samples are ready CDR bytes, with their 4-byte encapsulation header: what is written
 * is what travels, and what arrives is handed over as it came, unread. So one serialiser, ours, serves every type, and
 * a topic of any type can be listened to. Matching is by topic and type name, as ROS 2 peers do it; there is no key. */
#ifndef NM_EDGE_DDS_RAWTYPE_H
#define NM_EDGE_DDS_RAWTYPE_H

#include <dds/dds.h>
#include <stddef.h>
#include <stdint.h>

/* A topic of a participant: names as they are on the wire ("rt/imu", "sensor_msgs::msg::dds_::Imu_"). Negative: a DDS
 * return code. */
dds_entity_t nm_raw_topic(dds_entity_t participant, const char *name, const char *type);
/* The same for a reader that has no use for more than `most` bytes of a sample: what comes behind them is not kept, so
 * that what a peer may fill our memory with has a limit. */
dds_entity_t nm_raw_topic_most(dds_entity_t participant, const char *name, const char *type, size_t most);

/* Writes a sample; the bytes are copied. 0, or a negative DDS return code. */
int nm_raw_write(dds_entity_t writer, const void *bytes, size_t size);

/* A sample that was taken; the bytes may be shared with other readers, so they are only to be read. */
struct nm_raw {
    const uint8_t *bytes;
    size_t size;                 /* with up to three bytes of padding           */
    dds_instance_handle_t from;  /* the writer                                  */
    int64_t written;             /* ns since 1970, by the writer's clock        */
    struct ddsi_serdata *sample; /* keeps the bytes; NULL: no sample but a mere change of state */
};

/* Takes at most n (16) samples; how many, or a negative DDS return code. All of them are given back with nm_raw_free.
 */
enum { NM_RAW_MOST = 16 };
int nm_raw_take(dds_entity_t reader, struct nm_raw *samples, uint32_t n);
void nm_raw_free(struct nm_raw *samples, int n);

#endif

#include "base/memory.h"
#include "cyclone_peer.h"

#ifdef NM_CYCLONE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>
#include <dds/ddsi/ddsi_cdrstream.h>
#include <dds/ddsi/ddsi_serdata_default.h>

#include "cyclone_types.h"

enum { HEADER = 4, XCDR1 = 1 };

struct cyclone_peer {
    struct ddsi_sertype_default type; /* no participant, no topic: what the serialiser itself looks at */
    void *sample;
    dds_ostream_t out;
};

void cyclone_peer_encode(struct cyclone_peer *peer)
{
    peer->out.m_index = 0;
    if (!dds_stream_write_sample(&peer->out, peer->sample, &peer->type)) abort();
}

void cyclone_peer_decode(struct cyclone_peer *peer, const uint8_t *bytes, size_t size)
{
    dds_istream_t in;
    dds_istream_init(&in, (uint32_t)(size - HEADER), bytes + HEADER, XCDR1);
    dds_stream_read_sample(&in, peer->sample, &peer->type);
}

struct cyclone_peer *cyclone_peer_new(const char *type, const uint8_t *bytes, size_t size)
{
    static const struct {
        const char *name;
        const dds_topic_descriptor_t *descriptor;
    } types[] = {{"Imu", &cyclone_Imu_desc}, {"JointState", &cyclone_JointState_desc}, {"Path", &cyclone_Path_desc}};
    const dds_topic_descriptor_t *d = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcmp(type, types[i].name)) d = types[i].descriptor;
    struct cyclone_peer *peer = d ? calloc(1, sizeof *peer) : NULL;
    if (!peer) return NULL;
    struct ddsi_sertype_default_desc *inner = &peer->type.type;
    inner->size = d->m_size;
    inner->align = d->m_align;
    inner->flagset = d->m_flagset;
    inner->ops.ops = (uint32_t *)(uintptr_t)d->m_ops;
    inner->ops.nops = dds_stream_countops(d->m_ops, d->m_nkeys, d->m_keys);
    peer->type.opt_size_xcdr1 = dds_stream_check_optimize(inner, XCDR1);
    peer->sample = nm_calloc(1, d->m_size);
    dds_ostream_init(&peer->out, (uint32_t)size + 64, XCDR1);

    cyclone_peer_decode(peer, bytes, size);
    cyclone_peer_encode(peer);
    if (peer->out.m_index == size - HEADER && !memcmp(peer->out.m_buffer, bytes + HEADER, size - HEADER)) return peer;
    fprintf(stderr, "bench: %s: Cyclone DDS writes different bytes\n", type);
    cyclone_peer_free(peer);
    return NULL;
}

void cyclone_peer_free(struct cyclone_peer *peer)
{
    if (!peer) return;
    dds_stream_free_sample(peer->sample, peer->type.type.ops.ops);
    free(peer->sample);
    dds_ostream_fini(&peer->out);
    free(peer);
}

#else

struct cyclone_peer *cyclone_peer_new(const char *type, const uint8_t *bytes, size_t size)
{
    (void)type, (void)bytes, (void)size;
    return NULL;
}

void cyclone_peer_free(struct cyclone_peer *peer) { (void)peer; }
void cyclone_peer_encode(struct cyclone_peer *peer) { (void)peer; }
void cyclone_peer_decode(struct cyclone_peer *peer, const uint8_t *bytes, size_t size)
{
    (void)peer, (void)bytes, (void)size;
}

#endif

#include "base/memory.h"
#include "wire_peer.h"

#ifdef NM_CYCLONE
#include <stdlib.h>

#include "cyclone_types.h"

bool wire_peer_there(void) { return true; }

dds_entity_t wire_peer_writer(dds_entity_t participant, const dds_qos_t *qos)
{
    dds_entity_t topic = dds_create_topic(participant, &cyclone_Imu_desc, "rt/bare_imu", NULL, NULL);
    return dds_create_writer(participant, topic, qos, NULL);
}

void wire_peer_write(dds_entity_t writer, double number, double sent)
{
    cyclone_Imu imu = {.header.frame_id = (char[]){"imu_link"}};
    imu.orientation.x = number;
    imu.orientation.y = sent;
    dds_write(writer, &imu);
}

struct listening {
    wire_arrived *arrived;
    void *user;
};

static void data_there(dds_entity_t reader, void *user)
{
    const struct listening *l = user;
    void *samples[16] = {NULL};
    dds_sample_info_t info[16];
    int n;
    while ((n = dds_take(reader, samples, info, 16, 16)) > 0) {
        for (int i = 0; i < n; i++) {
            const cyclone_Imu *imu = samples[i];
            if (info[i].valid_data) l->arrived(imu->orientation.x, imu->orientation.y, l->user);
        }
        dds_return_loan(reader, samples, n);
        if (n < 16) break;
    }
}

dds_entity_t wire_peer_reader(dds_entity_t participant, const dds_qos_t *qos, wire_arrived *arrived, void *user)
{
    struct listening *l = nm_malloc(sizeof *l); /* as long as the process, which ends with the reader */
    *l = (struct listening){arrived, user};
    dds_entity_t topic = dds_create_topic(participant, &cyclone_Imu_desc, "rt/bare_imu", NULL, NULL);
    dds_listener_t *listener = dds_create_listener(l);
    dds_lset_data_available(listener, data_there);
    dds_entity_t reader = dds_create_reader(participant, topic, qos, listener);
    dds_delete_listener(listener);
    return reader;
}
#else
bool wire_peer_there(void) { return false; }
dds_entity_t wire_peer_writer(dds_entity_t participant, const dds_qos_t *qos) { return (void)qos, participant; }
void wire_peer_write(dds_entity_t writer, double number, double sent) { (void)writer, (void)number, (void)sent; }
dds_entity_t wire_peer_reader(dds_entity_t participant, const dds_qos_t *qos, wire_arrived *arrived, void *user)
{
    return (void)qos, (void)arrived, (void)user, participant;
}
#endif

/* Private to edge/dds: the state of the node, shared by its files.
 *
 * The player has two edges for it. `out` reads what leaves and belongs to the edge's thread. `in` makes what enters and
 * belongs to the holder of the lock, mostly a receiving thread of Cyclone. A service has one row in each. */
#pragma once

#include <dds/dds.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/blob.h"
#include "base/fault.h"
#include "codec/cdr.h"
#include "edge/dds/dds.h"
#include "edge/dds/names.h"
#include "edge/dds/pack.h"
#include "edge/dds/rawtype.h"
#include "edge/rules/gate.h"

enum {
    CALLS = 64,   /* of one remote service, not yet answered                       */
    CALLERS = 32, /* of one service of ours, with their participants               */
    WRITERS = 16, /* of one topic, with our verdict on each                        */
    HELD = 64,    /* replies that wait for their reader                            */
    FLOOD = 500,  /* samples of one topic in a tenth of a second; more are dropped */
    IDS = 16,     /* bytes of client id and sequence number                        */
};

enum fault { FAULT_MALFORMED, FAULT_LONG, FAULT_POOL, FAULT_HASH, FAULT_CALLER, FAULT_LOCKED, FAULT_FLOOD, FAULTS };

enum verdict { WRITER_GOOD, WRITER_OTHER_HASH, WRITER_HEARD_TWICE };

struct out { /* what leaves through one writer */
    struct nm_dds *dds;
    uint32_t port;
    const struct nm_topic *topic;
    struct in *other; /* services: the other half                   */
    dds_entity_t writer;
    uint64_t id;  /* our client id: the handle of the writer         */
    char ids[96]; /* services: "serviceid=…;", the same at both ends */
    bool latched; /* written even if nobody listens                  */
    bool times;   /* there are times to shift                        */
    bool console; /* lines to which the robot's name is added        */
    void *copy;   /* of a message, in which these are changed        */
    _Atomic uint32_t readers;
};

struct in { /* what enters through one reader, or two */
    struct nm_dds *dds;
    uint32_t port;
    const struct nm_topic *topic;
    struct out *other;
    struct nm_ros_qos qos;
    dds_entity_t reader;
    dds_entity_t loose; /* the same for best-effort writers, made when one appears; 0: none */
    _Atomic bool wants_loose;
    bool times;
    void *message; /* where a sample of a queue is decoded before it is accepted */
    uint32_t blob; /* bytes; the largest payload that is accepted                */
    struct nm_fault_count told[FAULTS];
    int64_t window; /* ns; since when samples are counted, to notice a flood */
    uint32_t in_window;
    struct {
        dds_instance_handle_t writer;
        dds_entity_t reader;
        enum verdict verdict;
    } writers[WRITERS];
    uint32_t next_writer;
    /* a service of ours: the participants of callers, for their first reply */
    struct {
        uint64_t id; /* 0: free         */
        bool found;  /* its participant */
        dds_guid_t participant;
    } callers[CALLERS];
    uint32_t next_caller;
    /* a remote service: who made the calls */
    struct {
        int64_t seq; /* 0: free */
        uint64_t caller;
        int64_t call;
    } calls[CALLS];
    int64_t last_call;
};

struct held { /* a reply */
    dds_entity_t writer;
    dds_guid_t participant;
    int64_t until;
    size_t n;
    uint8_t *bytes;
};

struct refusal { /* a reply of a receiving thread that the edge's thread sends */
    struct refusal *next;
    dds_entity_t writer;
    bool found; /* its participant */
    dds_guid_t participant;
    size_t n;
    uint8_t bytes[];
};

struct gids {
    uint32_t n, room;
    dds_guid_t *at;
};

struct params;

struct nm_dds {
    struct nm_player *player;
    const struct nm_lineup *lineup;
    struct nm_dds_options options;
    struct nm_arena arena;
    uint32_t domain;
    char space[NM_ROS_NAME], node[NM_ROS_NAME], full[NM_ROS_NAME];
    char logger[NM_ROS_NAME]; /* "red1.robot", our name on /rosout */
    dds_entity_t participant, publisher, subscriber;
    dds_entity_t discovery, clock, description;
    dds_entity_t participants;                /* all participants, with their descriptions of themselves */
    dds_entity_t publications, subscriptions; /* of everybody                                            */
    struct gids readers, writers;             /* of the node, for the graph                              */
    uint32_t services;                        /* ids given                                               */

    struct nm_gate *gate;
    struct nm_edge *out;
    uint32_t n_outs;
    struct out *outs;
    struct pack buffer; /* of the edge's thread */
    uint32_t n_held;
    struct held held[HELD];
    struct params *params;
    int64_t clock_told;

    pthread_mutex_t lock;
    struct nm_edge *in;
    uint32_t n_ins;
    struct in *ins;
    uint32_t log_port;
    struct refusal *refusals;
    struct nm_fault_count complained; /* reports of Cyclone's complaints    */
    uint64_t complaints;              /* heard so far                       */
    uint8_t *framed;                  /* a service's sample without its ids */
    size_t framed_room;

    _Atomic int64_t wall; /* ns, the wall clock at the time 0 of the player; it changes when the clock is set */
    pthread_t thread;
    _Atomic bool threaded;
    _Atomic bool ending;
    _Atomic uint64_t written, not_written, taken, strays, late_replies, faults[FAULTS];
};

/* dds.c: readers and writers with the properties that ROS expects */
dds_entity_t endpoint_writer(struct nm_dds *dds, const char *name, const char *type, const struct nm_ros_qos *qos,
                             const char *user_data, const dds_listener_t *listener, struct nm_err *err);
dds_entity_t endpoint_reader(struct nm_dds *dds, const char *name, const char *type, size_t most,
                             const struct nm_ros_qos *qos, const char *user_data, const dds_listener_t *listener,
                             struct nm_err *err);
void service_id(struct nm_dds *dds, const char *key, char *to, size_t size); /* "serviceid=…;"     */
void node_tell(struct nm_dds *dds, bool here);                               /* ros_discovery_info */

bool endpoint_hash(const dds_builtintopic_endpoint_t *endpoint, char *to, size_t size); /* false: it does not say one */

/* dds_topics.c: what leaves, in the edge's thread */
int outs_open(struct nm_dds *dds, struct nm_err *err);
void outs_send(struct nm_dds *dds);
void out_write(struct nm_dds *dds, dds_entity_t writer, const void *bytes, size_t n);
void reply_write(struct nm_dds *dds, dds_entity_t writer, const dds_guid_t *participant, const void *bytes, size_t n);
void replies_retry(struct nm_dds *dds);
void refusals_send(struct nm_dds *dds);

/* dds_topics.c: what enters, under the lock */
int ins_open(struct nm_dds *dds, struct nm_err *err);
void ins_listen(struct nm_dds *dds);
void ins_take(struct nm_dds *dds);
void ins_loosen(struct nm_dds *dds);
void ins_complain(struct nm_dds *dds);
bool writer_participant(dds_entity_t reader, dds_instance_handle_t writer, dds_guid_t *participant);

/* dds_params.c: the six services, get_type_description and /parameter_events */
int params_open(struct nm_dds *dds, struct nm_err *err);
void params_serve(struct nm_dds *dds);
void params_close(struct nm_dds *dds);

/* The name of a topic or a half of a service on the wire. */
void wire_name(const struct nm_dds *dds, const struct nm_topic *topic, char *to, size_t size);
int64_t wall_now(const struct nm_dds *dds); /* ns since 1970, or virtual */
void edge_wake(struct nm_dds *dds);         /* wakes the edge's thread   */

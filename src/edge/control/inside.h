/* The inside of the control edge, shared by its files. One thread (or the caller of nm_control_poll) owns all of it but
 * the two flags. */
#ifndef NM_EDGE_CONTROL_INSIDE_H
#define NM_EDGE_CONTROL_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

#include "edge/control/control.h"
#include "edge/control/json.h"
#include "edge/control/request.h"
#include "edge/rules/gate.h"

enum {
    CLIENTS = 16,
    REPLY_MOST = 2 << 20,  /* bytes of one answer                               */
    OUT_MOST = 4 << 20,    /* bytes that wait for a client before it is dropped */
    STREAM_MOST = 1 << 18, /* … before messages of a stream are left out        */
};

struct client {
    int fd; /* -1: free */
    char *in;
    size_t n_in;
    char *out;
    size_t out_at, n_out, out_room;
    uint32_t echo;     /* topic that it listens to, NM_NONE                  */
    uint64_t left_out; /* messages of the stream, since the last one written */
    int64_t waits;     /* ns; since when it has taken nothing; 0: it takes   */
    int64_t heard;     /* ns; when it last said something                    */
};

struct nm_control {
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_gate *gate;
    struct nm_edge *mouth; /* what clients say                     */
    uint32_t *say_ports;   /* of it, for each topic; NM_NONE: none */
    int64_t calls;         /* of services, said so far             */
    struct nm_arena arena;
    struct nm_control_options options;
    struct sockaddr_un address;
    int listener, wake;
    bool bound; /* the socket's file is ours to remove */
    struct client clients[CLIENTS];
    bool watch;    /* a client asked for it           */
    bool watching; /* what the player was told last   */

    /* what the answers are made from */
    struct nm_view view;
    const struct nm_module **modules;
    double *topic_rates, *cycle_rates;
    uint32_t n_rates;                      /* cycles, and the edges that were there before this one */
    uint64_t *topic_counts, *cycle_counts; /* at `sampled` */
    int64_t sampled;                       /* ns           */

    pthread_t thread;
    bool threaded;
    _Atomic bool ending, stopped;
};

/* operations.c: answers a request line; whatever it is, one object is written. */
void control_answer(struct nm_control *control, struct client *client, const char *line, size_t size,
                    struct nm_json *reply);

/* changes.c */
int control_set(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                struct nm_err *err);
int control_reset(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                  struct nm_err *err);
int control_save(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                 struct nm_err *err);

/* say.c */
int control_mouth(struct nm_control *control, struct nm_err *err);
int control_say(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                struct nm_err *err);

/* stream.c: the messages of the topics that clients listen to */
int control_edge(struct nm_control *control, struct nm_err *err);
void control_pump(struct nm_control *control);
void control_sample(struct nm_control *control);

/* server.c: queues an answer for a client; one that takes nothing is dropped */
void client_send(struct client *client, const struct nm_json *reply);
void client_drop(struct client *client);
size_t client_waiting(const struct client *client);

#endif

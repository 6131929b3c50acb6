/* The inside of the live server, shared by its files. Its thread (or the caller of nm_live_poll) owns all of it but the
 * atomic members.
 *
 *   live ── channels: one a topic, what is encoded while somebody listens
 *     ├──── services, parameters: tables made at start
 *     └──── clients: subscriptions, a queue of control frames, a queue of messages, one slot for each image topic */
#ifndef NM_EDGE_LIVE_INSIDE_H
#define NM_EDGE_LIVE_INSIDE_H

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>

#include "codec/foxglove.h"
#include "edge/control/json.h"
#include "edge/live/live.h"

enum {
    SUBSCRIPTIONS = 512,      /* of a client                                           */
    PUBLICATIONS = 64,        /* topics that a client publishes                        */
    CALLS = 64,               /* service calls that wait for their answer              */
    CONTROL_FRAMES = 1024,    /* that wait for a client before it is dropped           */
    CONTROL_BYTES = 64 << 20, /* the same                                              */
    DATA_FRAMES = 1024,       /* messages that wait for a client; beyond, the oldest   */
    DATA_BYTES = 8 << 20,     /* ones are dropped                                      */
    MESSAGE_MOST = 16 << 20,  /* bytes of one message; a longer one is not shown       */
    ASSET_MOST = 32 << 20,    /* bytes of a file                                       */
    JSON_MOST = 8 << 20,      /* bytes of one text                                     */
    KEPT = 16,                /* messages of tf_static for those who come later        */
};

/* Bytes that several clients are sent; counted by the one thread that knows them. */
struct payload {
    uint32_t holders;
    size_t n;
    uint8_t bytes[];
};

struct channel {
    const char *name; /* "/imu"                                                            */
    const struct nm_type *type;
    uint32_t port;      /* of the reading edge; NM_NONE: none                              */
    bool latest;        /* a value with a blob: only the newest message counts             */
    bool queue;         /* the port is a queue                                             */
    uint32_t listeners; /* subscriptions                                                   */
    void *last;         /* newest message of a small value, for those who come later; NULL */
    int64_t last_time;  /* ns; -1: none yet                                                */
    uint32_t n_kept;
    struct payload *kept[KEPT]; /* of a topic that is said once */
};

struct service {
    const char *name;                  /* "/tare_feet"             */
    const char *type;                  /* "std_srvs/srv/Trigger"   */
    uint32_t request, reply;           /* topics                      */
    uint32_t request_port, reply_port; /* of the writing and of the reading edge */
};

struct call { /* a service was asked */
    bool open;
    uint32_t client, service, id; /* seat; index; the client's own number */
    uint64_t visit;               /* of the client                        */
    bool json;
    int64_t number; /* ours                          */
    int64_t asked;  /* ns                            */
};

struct parameter {
    uint32_t instance, param;
    char *name; /* "ball_filter.friction" */
    const struct nm_param *row;
    struct nm_value told; /* what clients were told last */
};

struct subscription {
    uint32_t id, channel;
    struct payload *newest; /* of a `latest` channel, not yet sent */
    int64_t time;
};

struct publication {
    uint32_t id, topic;
    bool json;
};

struct client {
    struct lws *wsi; /* NULL: a free seat                                            */
    uint32_t seat;
    uint64_t visit; /* counts all clients, so that late answers find the right one  */
    bool may_write; /* token and origin are good                                    */
    bool graph;     /* listens to the connection graph                              */
    bool leaving;

    char *in; /* a message as far as it came */
    size_t n_in, in_room;
    bool in_binary;

    struct {
        struct payload *payload;
        bool binary;
    } control[CONTROL_FRAMES];
    uint32_t control_first, n_control;
    size_t control_bytes;

    struct {
        struct payload *payload;
        uint32_t subscription;
        int64_t time;
    } data[DATA_FRAMES];
    uint32_t data_first, n_data, since_image;
    size_t data_bytes;
    bool late; /* was told that messages are dropped */

    uint32_t n_subscriptions, next_image;
    struct subscription subscriptions[SUBSCRIPTIONS];
    uint32_t n_publications;
    struct publication publications[PUBLICATIONS];
    bool *watched; /* for each parameter */
};

struct seat { /* what others may read of a client */
    _Atomic uint64_t sent, dropped, passed;
};

struct nm_live {
    struct nm_player *player;
    const struct nm_lineup *lineup;
    struct nm_arena arena;
    struct nm_live_options options;
    char token[65], session[33], url[192], host[80];
    int port;
    struct lws_context *context;
    struct lws_protocols protocols[4];
    lws_sorted_usec_list_t timer;
    struct nm_edge *reading, *writing;
    uint32_t *write_ports; /* for each topic, NM_NONE: clients may not publish it */

    uint32_t n_channels, n_services, n_parameters;
    uint32_t show;    /* the topic; NM_NONE */
    uint32_t match;   /* the channel that tells the state of the game; NM_NONE */
    const char *game; /* why that forbids writing; NULL: it does not */
    bool watching;
    struct channel *channels; /* id 1 is the first */
    struct service *services; /* id 1 is the first */
    struct parameter *parameters;
    const struct nm_module **modules; /* of each instance, as the parameters were listed */

    struct client *clients; /* NM_LIVE_CLIENTS seats */
    uint64_t visits;
    struct call calls[CALLS];
    int64_t last_call;
    int64_t looked, told_time; /* ns */
    uint8_t *scratch;          /* a frame about to be written, behind LWS_PRE */
    size_t scratch_room;

    pthread_t thread;
    bool threaded;
    _Atomic bool ending;
    _Atomic uint32_t n_clients;
    _Atomic int64_t cpu;
    struct seat seats[NM_LIVE_CLIENTS];
};

/* payloads */
struct payload *payload_new(size_t n);
struct payload *payload_of(const void *bytes, size_t n);
struct payload *payload_hold(struct payload *payload);
void payload_release(struct payload *payload);

/* clients.c: what waits for a client */
void client_json(struct client *client, struct nm_json *json);     /* sends it and gives its memory back */
void client_bytes(struct client *client, struct payload *payload); /* takes the payload over             */
void client_status(struct client *client, int level, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void client_message(struct nm_live *live, struct client *client, struct subscription *subscription,
                    struct payload *payload, int64_t time);
int client_write(struct nm_live *live, struct client *client); /* one frame; -1: the connection is broken */
void client_forget(struct nm_live *live, struct client *client, uint32_t subscription);
void client_close(struct nm_live *live, struct client *client);
void client_leave(struct client *client); /* soon */

/* channels.c: what the line-up makes */
int channels_new(struct nm_live *live, struct nm_err *err);
void channels_free(struct nm_live *live);
void channels_pump(struct nm_live *live);
void channels_welcome(struct nm_live *live, struct client *client, struct subscription *subscription);
int64_t live_log_time(const struct nm_live *live, int64_t time);

/* services.c: calls, answers, and what clients publish */
void services_new(struct nm_live *live);
void services_call(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame);
void services_answer(struct nm_live *live, uint32_t service, const void *reply);
void services_expire(struct nm_live *live);
void publish_advertise(struct nm_live *live, struct client *client, const struct nm_fox_item *item);
void publish_unadvertise(struct client *client, uint32_t id);
void publish_message(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame);
bool write_allowed(struct nm_live *live, const struct client *client, struct nm_err *err);

/* parameters.c */
void parameters_new(struct nm_live *live);
void parameters_free(struct nm_live *live);
void parameters_get(struct nm_live *live, struct client *client, const struct nm_fox_request *request);
void parameters_set(struct nm_live *live, struct client *client, const struct nm_fox_request *request);
void parameters_watch(struct nm_live *live, struct client *client, const struct nm_fox_request *request, bool on);
void parameters_tell(struct nm_live *live); /* changes, to those who watch */

/* requests.c */
void request_text(struct nm_live *live, struct client *client, const char *text, size_t size);
void request_frame(struct nm_live *live, struct client *client, const void *bytes, size_t size);

/* words.c: the texts that a client is greeted with, and the graph */
void words_greet(struct nm_live *live, struct client *client);
void words_graph(struct nm_live *live, struct client *client);

/* assets.c */
int asset_below(const char *folder, const char *path, char *to, size_t size, struct nm_err *err);
struct payload *asset_frame(struct nm_live *live, uint32_t request, const char *uri);

/* who.c: who is let in, and who may write */
bool host_is_ours(const struct nm_live *live, const char *host);
bool origin_is_ours(const struct nm_live *live, const char *origin, const char *host);
bool token_is_ours(const struct nm_live *live, const char *token);

/* sockets.c */
int sockets_open(struct nm_live *live, struct nm_err *err);

/* pages.c: HTTP */
int page_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size);
bool page_host(struct nm_live *live, struct lws *wsi);

#endif

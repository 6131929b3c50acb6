/* Private to edge/live: the state of the live server, shared by its files. The server's thread (or the caller of
 * nm_live_poll) owns all of it except the atomic members.
 *
 *   live ── channels: one for each topic; messages are encoded only while somebody listens
 *     ├──── services, parameters: tables made at start
 *     └──── clients: subscriptions, a queue of control frames, a queue of messages, one slot for each image topic */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "codec/foxglove.h"
#include "codec/http.h"
#include "codec/json.h"
#include "codec/websocket.h"
#include "edge/live/live.h"
#include "edge/rules/gate.h"

enum {
    SUBSCRIPTIONS = 512,      /* of a client                                       */
    PUBLICATIONS = 64,        /* topics that a client publishes                    */
    CALLS = 64,               /* service calls that wait for their answer          */
    CONTROL_FRAMES = 1024,    /* that may wait for a client; beyond, it is dropped */
    CONTROL_BYTES = 64 << 20, /* and their bytes                                   */
    DATA_FRAMES = 1024,       /* messages that may wait for a client               */
    DATA_BYTES = 8 << 20,     /* and their bytes; beyond, the oldest are dropped   */
    MESSAGE_MOST = 16 << 20,  /* bytes of one message; a longer one is not shown   */
    SEND_FRAMES = 64,         /* that are handed to the system at once             */
    SEND_BYTES = 256 << 10,   /* and their bytes; the last one may be longer       */
    CALL_BYTES = 8 << 10,     /* of one system call: it holds up the motion cycle  */
    ASSET_MOST = 32 << 20,    /* bytes of a file                                   */
    JSON_MOST = 8 << 20,      /* bytes of one text                                 */
    KEPT = 64,                /* messages kept for later subscribers               */
    GUESTS = 48,              /* connections that are not viewers                  */
    CONNECTIONS = GUESTS + NM_LIVE_CLIENTS,
};

/* Bytes that are sent to several clients; freed by the last holder. Only the server's thread counts holders. */
struct payload {
    uint32_t holders;
    size_t n;
    uint8_t bytes[];
};

struct channel {
    const char *name; /* "/imu"                                                            */
    const struct nm_type *type;
    uint32_t port;        /* of the reading edge; NM_NONE: it has none                       */
    bool latest;          /* a value with a blob: only the newest message counts             */
    bool queue;           /* the port is a queue                                             */
    bool times;           /* its type holds times                                            */
    uint32_t listeners;   /* subscriptions                                                   */
    size_t size;          /* bytes of the newest message, while somebody wants to know       */
    struct channel *jpeg; /* of images: the channel that has them as JPEG; or NULL         */
    void *last;           /* newest message of a small value, for later subscribers; or NULL */
    int64_t last_time;    /* ns; -1: none yet                                                */
    uint32_t n_kept;
    struct {
        struct payload *payload;
        int64_t time; /* ns; negative: has none                                        */
    } kept[KEPT];     /* messages of tf_static and rosout, or the robot's description  */
};

struct service {
    const char *name; /* "/tare_feet"                                         */
    const char *type; /* "std_srvs/srv/Trigger"                               */
    const struct nm_type *request_type, *reply_type;
    const struct nm_desk_service *at_desk; /* this process answers; NULL: a module does        */
    uint32_t request;                      /* topic                                            */
    uint32_t request_port, reply_port;     /* of the writing and of the reading edge; NM_NONE at the desk */
};

struct call { /* a service call that waits for its answer */
    bool open;
    uint32_t client, service, id; /* seat; index; the client's own number */
    uint64_t visit;               /* of the client                        */
    bool json;
    int64_t number; /* ours */
    int64_t asked;  /* ns   */
};

struct parameter {
    uint32_t instance, param;
    char *name; /* "ball_filter.friction" */
    const struct nm_param *row;
    struct nm_value told; /* the value that clients know */
};

struct subscription {
    uint32_t id, channel;
    struct payload *newest; /* of a `latest` channel, not yet sent */
    int64_t time;
};

struct publication {
    uint32_t id, topic; /* topic NM_NONE: the line-up does not have it */
    bool json;
};

struct sending { /* what is being sent on a connection: frames, all with one system call, then a file */
    struct {
        uint8_t head[NM_WS_HEAD + 16];
        size_t n_head;
        struct payload *payload; /* NULL: none */
    } frames[SEND_FRAMES];
    uint32_t first, n;  /* frames that are not sent yet              */
    size_t bytes, done; /* of all frames; of those, what is sent     */
    int file;           /* sent behind the frames; -1: none          */
    size_t file_left;
};

struct connection {
    int fd; /* -1: a free place */
    enum {
        GUEST,    /* its request has not arrived yet */
        ANSWERED, /* an answer is being sent         */
        SEATED,   /* a viewer                        */
        LEAVING,  /* may still read the last bytes   */
    } state;
    struct in6_addr peer;
    int64_t since;       /* ns, in this state                                    */
    int64_t heard, took; /* ns, when bytes last came in and went out             */
    int64_t asked;       /* ns, last ping                                        */
    char *in;            /* of a guest: the part of its request that has arrived */
    size_t n_in;
    struct nm_ws ws;
    struct sending out;
    struct client *client; /* of a viewer */
};

/* When all seats are taken, a newcomer may take the seat of a viewer with a lower rank. */
enum { RANK_REMOTE, RANK_LOCAL, RANK_TOKEN };

struct client {
    struct connection *connection; /* NULL: a free seat                              */
    uint32_t seat;
    int rank;
    uint64_t visit; /* counts all clients, so that late answers find the right one */
    bool may_write; /* token and origin are good                                   */
    bool graph;     /* listens to the connection graph                             */
    bool leaving;

    char *in; /* the part of a message that has arrived */
    size_t n_in, in_room;

    struct {
        struct payload *payload;
        int opcode;
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
    bool late; /* knows that messages are dropped */

    uint32_t n_subscriptions, next_image;
    struct subscription subscriptions[SUBSCRIPTIONS];
    uint32_t n_publications;
    struct publication publications[PUBLICATIONS];
    bool *watched; /* for each parameter */
};

struct seat { /* counters of a client that other threads may read */
    _Atomic uint64_t sent, dropped, passed;
};

struct nm_live {
    struct nm_player *player;
    const struct nm_lineup *lineup;
    struct nm_arena arena;
    struct nm_live_options options;
    char token[65], session[33], url[192], host[80];
    const char *peers; /* NULL: none */
    int port;
    int listener, wake;
    struct connection *connections;
    uint8_t *scratch; /* bytes that have just arrived            */
    void *stamped;    /* a message being sent, with times of day */
    struct nm_edge *reading, *writing;
    uint32_t *write_ports; /* for each topic, NM_NONE: clients may not publish it */

    uint32_t n_channels, n_services, n_parameters;
    uint32_t show; /* the topic; NM_NONE */
    struct nm_gate *gate;
    bool watching;
    struct channel *channels; /* id 1 is the first */
    struct service *services; /* id 1 is the first */
    struct nm_desk desk;      /* those of the options, and our own */
    struct reports *reports;
    struct parameter *parameters;
    const struct nm_module **modules; /* of each instance, as the parameters were listed */

    struct client *clients; /* NM_LIVE_CLIENTS seats */
    uint64_t visits;
    struct call calls[CALLS];
    int64_t last_call;
    int64_t looked, told_time; /* ns */

    pthread_t thread;
    bool threaded;
    _Atomic bool ending;
    _Atomic uint32_t n_clients;
    _Atomic int64_t cpu;
    struct seat seats[NM_LIVE_CLIENTS];
};

/* live_clients.c: what waits to be sent to a client */
struct payload *payload_new(size_t n);
struct payload *payload_of(const void *bytes, size_t n);
struct payload *payload_hold(struct payload *payload);
void payload_release(struct payload *payload);
void client_json(struct client *client, struct nm_json *json);     /* sends the text and frees it */
void client_bytes(struct client *client, struct payload *payload); /* takes the payload over      */
void client_ping(struct client *client);
void client_pong(struct client *client, const void *bytes, size_t n);
void client_status(struct client *client, int level, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void client_message(struct nm_live *live, struct client *client, struct subscription *subscription,
                    struct payload *payload, int64_t time);
bool client_waits(const struct client *client);                 /* something waits to be sent                       */
void client_write(struct nm_live *live, struct client *client); /* gives its connection as much of it as has room */
void client_forget(struct nm_live *live, struct client *client, uint32_t subscription);
void client_close(struct nm_live *live, struct client *client);

/* live_topics.c: what a viewer sees, and its requests */
int channels_new(struct nm_live *live, struct nm_err *err);
void channels_free(struct nm_live *live);
void channels_pump(struct nm_live *live);
int64_t live_log_time(const struct nm_live *live, int64_t time); /* the time of day, for viewers     */
void topics_greet(struct nm_live *live, struct client *client);  /* tells a new client what there is */
void request_text(struct nm_live *live, struct client *client, const char *text, size_t size);
void request_frame(struct nm_live *live, struct client *client, const void *bytes, size_t size);

/* live_reports.c: what the server itself publishes */
void reports_new(struct nm_live *live); /* adds its channels */
void reports_tell(struct nm_live *live);
bool reports_sizes(const struct nm_live *live); /* somebody wants to know how large messages are */
void reports_free(struct nm_live *live);
void channel_send(struct nm_live *live, struct channel *channel, const void *message); /* live_topics.c */

/* live_files.c: logs and views on disk */
void views_serve(struct nm_live *live);
/* The log for a path such as "/logs/match/red1.mcap", opened; -1: there is none. The list of all as JSON, for "/logs".
 */
int log_open(struct nm_live *live, const char *path, size_t *size);
void logs_list(struct nm_live *live, struct nm_json *json);

/* live_writes.c: calls of services, messages of clients, parameters */
void services_new(struct nm_live *live);
void services_call(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame);
void services_answer(struct nm_live *live, uint32_t service, const void *reply);
void services_expire(struct nm_live *live);
void publish_advertise(struct nm_live *live, struct client *client, const struct nm_fox_item *item);
void publish_unadvertise(struct client *client, uint32_t id);
void publish_message(struct nm_live *live, struct client *client, const struct nm_fox_frame *frame);
void parameters_new(struct nm_live *live);
void parameters_free(struct nm_live *live);
void parameters_get(struct nm_live *live, struct client *client, const struct nm_fox_request *request);
void parameters_set(struct nm_live *live, struct client *client, const struct nm_fox_request *request);
void parameters_watch(struct nm_live *live, struct client *client, const struct nm_fox_request *request, bool on);
void parameters_tell(struct nm_live *live); /* sends changes to the clients that watch them */

/* live_access.c: who is let in, who may write, which files are served */
bool host_is_ours(const struct nm_live *live, const char *host);
bool origin_is_ours(const struct nm_live *live, const char *origin, const char *host);
bool token_is_ours(const struct nm_live *live, const char *token);
int rank_of(const struct in6_addr *peer, bool token);
/* A seat for a newcomer: a free one, or one whose viewer has to leave. NULL: there is none. */
struct client *seat_for(struct nm_live *live, const struct in6_addr *peer, int rank, int64_t now);
int file_below(const char *folder, const char *path, char *to, size_t size, struct nm_err *err);
struct payload *asset_frame(struct nm_live *live, uint32_t request, const char *uri);

/* live_page.c: the files of the page, compressed with gzip, inside of the program */
struct page_file {
    const char *name; /* "index.html" */
    const uint8_t *bytes;
    size_t n;
};
bool page_find(const char *name, struct page_file *to); /* false: there is none */

/* live_sockets.c: the connections */
int sockets_open(struct nm_live *live, struct nm_err *err);
void sockets_close(struct nm_live *live);
void sockets_turn(struct nm_live *live, int timeout); /* waits at most `timeout` ms, and serves all that are ready */
bool connection_busy(const struct connection *c);     /* something is being sent                                   */
bool connection_has_room(const struct connection *c); /* for one more frame                                        */
/* Adds a frame to what is sent: the bytes of the head, then the payload, which it takes over. */
void connection_send(struct connection *c, int opcode, const void *head, size_t n_head, struct payload *payload);

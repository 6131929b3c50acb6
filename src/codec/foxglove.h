/* The Foxglove WebSocket protocol, version 1, as a server sees it: requests of clients are JSON texts with a string
 * `op`, or binary frames that begin with an opcode; both are read here, trusting nothing. Of what the server sends the
 * binary heads are written here (the payload follows them unchanged), little endian. The two sub-protocols carry the
 * same messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/yaml.h"

#define NM_FOX_PROTOCOL     "foxglove.websocket.v1"
#define NM_FOX_PROTOCOL_SDK "foxglove.sdk.v1"

enum {
    NM_FOX_TEXT = 64 << 10, /* bytes of a request as text             */
    NM_FOX_FRAME = 2 << 20, /* bytes of a binary frame from a client  */
    NM_FOX_ITEMS = 512,     /* things that one request lists          */
    NM_FOX_NAME = 512,      /* bytes of a topic, name, encoding or id */
    NM_FOX_URI = 2048,      /* bytes of an asset's address            */
};

/* ---- from a client, JSON ---- */

enum nm_fox_op {
    NM_FOX_SUBSCRIBE,
    NM_FOX_UNSUBSCRIBE,
    NM_FOX_ADVERTISE,
    NM_FOX_UNADVERTISE,
    NM_FOX_GET_PARAMETERS,
    NM_FOX_SET_PARAMETERS,
    NM_FOX_WATCH_PARAMETERS,   /* subscribeParameterUpdates   */
    NM_FOX_UNWATCH_PARAMETERS, /* unsubscribeParameterUpdates */
    NM_FOX_WATCH_GRAPH,        /* subscribeConnectionGraph    */
    NM_FOX_UNWATCH_GRAPH,      /* unsubscribeConnectionGraph  */
    NM_FOX_FETCH_ASSET,
    NM_FOX_OPS
};

struct nm_fox_item {              /* texts are NULL where the operation has none                             */
    uint32_t id;                  /* of a subscription, or of a client's channel                             */
    uint32_t channel;             /* subscribe: the server's channel                                         */
    const char *topic, *encoding; /* advertise                                                               */
    const char *schema_name;      /* advertise                                                               */
    const char *name;             /* parameters                                                              */
    const struct nm_yaml *value;  /* setParameters; NULL: none was given                                     */
};

struct nm_fox_request {
    enum nm_fox_op op;
    const char *id;      /* of a request for parameters, to be echoed; NULL: none */
    uint32_t request_id; /* fetchAsset                                            */
    const char *uri;     /* fetchAsset                                            */
    uint32_t n;
    const struct nm_fox_item *items;
};

enum { NM_FOX_UNKNOWN = -2 };
/* 0; -1 with a sentence; NM_FOX_UNKNOWN with a sentence for an operation that is none of ours (newer clients may have
 * some: they are to be ignored). Texts and trees live in the arena. */
int nm_fox_request_read(struct nm_arena *arena, const char *text, size_t size, struct nm_fox_request *request,
                        struct nm_err *err);

/* ---- from a client, binary ---- */

enum nm_fox_frame_op { NM_FOX_CLIENT_MESSAGE = 1, NM_FOX_SERVICE_CALL = 2 };

struct nm_fox_frame {
    enum nm_fox_frame_op op;
    uint32_t id;         /* of the client's channel, or of the service    */
    uint32_t call;       /* the client's number of a service call         */
    char encoding[16];   /* of a service call                             */
    const uint8_t *data; /* inside the frame                              */
    size_t size;
};
/* 0; -1 with a sentence; NM_FOX_UNKNOWN as above. */
int nm_fox_frame_read(const void *bytes, size_t size, struct nm_fox_frame *frame, struct nm_err *err);

/* ---- to a client, binary: heads, written to `to`; the number of bytes, 0 if they do not fit ---- */

enum { NM_FOX_MESSAGE_HEAD = 13, NM_FOX_TIME_FRAME = 9 };
size_t nm_fox_message_head(uint8_t *to, size_t room, uint32_t subscription, uint64_t time);
size_t nm_fox_time_frame(uint8_t *to, size_t room, uint64_t time);
size_t nm_fox_service_head(uint8_t *to, size_t room, uint32_t service, uint32_t call, const char *encoding);
/* error NULL: the asset's bytes follow. */
size_t nm_fox_asset_head(uint8_t *to, size_t room, uint32_t request, const char *error);

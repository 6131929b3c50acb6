#include "codec/foxglove.h"

#include <string.h>

/* ---- JSON ---- */

/* What a request lists, and what each thing in the list is made of. */
enum list_kind { LIST_NONE, LIST_IDS, LIST_NAMES, LIST_SUBSCRIPTIONS, LIST_CHANNELS, LIST_VALUES };

static const struct {
    const char *name;
    const char *list; /* the key, NULL: none */
    enum list_kind kind;
} ops[NM_FOX_OPS] = {
    [NM_FOX_SUBSCRIBE] = {"subscribe", "subscriptions", LIST_SUBSCRIPTIONS},
    [NM_FOX_UNSUBSCRIBE] = {"unsubscribe", "subscriptionIds", LIST_IDS},
    [NM_FOX_ADVERTISE] = {"advertise", "channels", LIST_CHANNELS},
    [NM_FOX_UNADVERTISE] = {"unadvertise", "channelIds", LIST_IDS},
    [NM_FOX_GET_PARAMETERS] = {"getParameters", "parameterNames", LIST_NAMES},
    [NM_FOX_SET_PARAMETERS] = {"setParameters", "parameters", LIST_VALUES},
    [NM_FOX_WATCH_PARAMETERS] = {"subscribeParameterUpdates", "parameterNames", LIST_NAMES},
    [NM_FOX_UNWATCH_PARAMETERS] = {"unsubscribeParameterUpdates", "parameterNames", LIST_NAMES},
    [NM_FOX_WATCH_GRAPH] = {"subscribeConnectionGraph", NULL, LIST_NONE},
    [NM_FOX_UNWATCH_GRAPH] = {"unsubscribeConnectionGraph", NULL, LIST_NONE},
    [NM_FOX_FETCH_ASSET] = {"fetchAsset", NULL, LIST_NONE},
};

static int read_text(const struct nm_yaml *map, const char *key, size_t most, const char **text, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (!node || node->kind != NM_YAML_SCALAR || !node->quoted || strlen(node->text) > most)
        return nm_fail(err, "'%s' must be a text of at most %zu bytes", key, most);
    *text = node->text;
    return 0;
}

static int read_whole(const struct nm_yaml *node, const char *key, uint32_t *whole, struct nm_err *err)
{
    uint64_t value;
    if (!node || node->kind != NM_YAML_SCALAR || nm_yaml_uint(node, &value, NULL) || value > UINT32_MAX)
        return nm_fail(err, "'%s' must be a whole number from 0 to %u", key, UINT32_MAX);
    *whole = (uint32_t)value;
    return 0;
}

static int read_item(enum list_kind kind, const char *list, const struct nm_yaml *node, struct nm_fox_item *item,
                     struct nm_err *err)
{
    if (kind == LIST_IDS) return read_whole(node, list, &item->id, err);
    if (kind == LIST_NAMES) {
        if (node->kind != NM_YAML_SCALAR || !node->quoted || strlen(node->text) > NM_FOX_NAME)
            return nm_fail(err, "'%s' must be a list of texts of at most %d bytes", list, NM_FOX_NAME);
        item->name = node->text;
        return 0;
    }
    if (node->kind != NM_YAML_MAP) return nm_fail(err, "'%s' must be a list of objects", list);
    if (kind == LIST_VALUES) {
        item->value = nm_yaml_get(node, "value");
        return read_text(node, "name", NM_FOX_NAME, &item->name, err);
    }
    if (read_whole(nm_yaml_get(node, "id"), "id", &item->id, err)) return -1;
    if (kind == LIST_SUBSCRIPTIONS) return read_whole(nm_yaml_get(node, "channelId"), "channelId", &item->channel, err);
    return read_text(node, "topic", NM_FOX_NAME, &item->topic, err) ||
                   read_text(node, "encoding", NM_FOX_NAME, &item->encoding, err) ||
                   read_text(node, "schemaName", NM_FOX_NAME, &item->schema_name, err)
               ? -1
               : 0;
}

static int read_list(struct nm_arena *arena, const struct nm_yaml *map, struct nm_fox_request *request,
                     struct nm_err *err)
{
    const char *key = ops[request->op].list;
    const struct nm_yaml *list = nm_yaml_get(map, key);
    if (!list || list->kind != NM_YAML_LIST || list->n > NM_FOX_ITEMS)
        return nm_fail(err, "'%s' must be a list of at most %d", key, NM_FOX_ITEMS);
    struct nm_fox_item *items = nm_take_n(arena, struct nm_fox_item, list->n + 1);
    request->items = items;
    nm_yaml_each(node, list) if (read_item(ops[request->op].kind, key, node, &items[request->n++], err)) return -1;
    return 0;
}

static int read_op(const struct nm_yaml *map, struct nm_fox_request *request, struct nm_err *err)
{
    const char *word;
    if (read_text(map, "op", NM_FOX_NAME, &word, err)) return -1;
    for (uint32_t i = 0; i < NM_FOX_OPS; i++) {
        if (strcmp(word, ops[i].name)) continue;
        request->op = (enum nm_fox_op)i;
        return 0;
    }
    nm_fail(err, "there is no operation '%.64s'", word);
    return NM_FOX_UNKNOWN;
}

int nm_fox_request_read(struct nm_arena *arena, const char *text, size_t size, struct nm_fox_request *request,
                        struct nm_err *err)
{
    *request = (struct nm_fox_request){0};
    if (size > NM_FOX_TEXT) return nm_fail(err, "a request has at most %d bytes", NM_FOX_TEXT);
    size_t skip = 0;
    while (skip < size && strchr(" \t\r\n", text[skip]) && text[skip]) skip++;
    if (skip == size || text[skip] != '{') return nm_fail(err, "a request is a JSON object");
    const struct nm_yaml *map = nm_yaml_parse(arena, "request", text, size, err);
    if (!map) return -1;
    if (map->kind != NM_YAML_MAP) return nm_fail(err, "a request is a JSON object");
    int bad = read_op(map, request, err);
    if (bad) return bad;
    bool parameters = request->op == NM_FOX_GET_PARAMETERS || request->op == NM_FOX_SET_PARAMETERS;
    if (parameters && nm_yaml_get(map, "id") && read_text(map, "id", NM_FOX_NAME, &request->id, err)) return -1;
    if (request->op == NM_FOX_FETCH_ASSET)
        return read_text(map, "uri", NM_FOX_URI, &request->uri, err) ||
                       read_whole(nm_yaml_get(map, "requestId"), "requestId", &request->request_id, err)
                   ? -1
                   : 0;
    return ops[request->op].list ? read_list(arena, map, request, err) : 0;
}

/* ---- binary ---- */

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static int read_call(const uint8_t *at, size_t size, struct nm_fox_frame *frame, struct nm_err *err)
{
    enum { HEAD = 13 };
    if (size < HEAD) return nm_fail(err, "a service call of %zu bytes is cut off", size);
    frame->id = get32(at + 1);
    frame->call = get32(at + 5);
    uint32_t n = get32(at + 9);
    if (n > size - HEAD || n >= sizeof frame->encoding)
        return nm_fail(err, "a service call whose encoding has %u bytes", n);
    memcpy(frame->encoding, at + HEAD, n);
    frame->data = at + HEAD + n;
    frame->size = size - HEAD - n;
    return 0;
}

int nm_fox_frame_read(const void *bytes, size_t size, struct nm_fox_frame *frame, struct nm_err *err)
{
    const uint8_t *at = bytes;
    *frame = (struct nm_fox_frame){0};
    if (!size) return nm_fail(err, "an empty frame");
    if (size > NM_FOX_FRAME) return nm_fail(err, "a frame has at most %d bytes", NM_FOX_FRAME);
    frame->op = (enum nm_fox_frame_op)at[0];
    if (at[0] == NM_FOX_SERVICE_CALL) return read_call(at, size, frame, err);
    if (at[0] != NM_FOX_CLIENT_MESSAGE) {
        nm_fail(err, "there is no frame with the opcode %u", at[0]);
        return NM_FOX_UNKNOWN;
    }
    if (size < 5) return nm_fail(err, "a message of %zu bytes is cut off", size);
    frame->id = get32(at + 1);
    frame->data = at + 5;
    frame->size = size - 5;
    return 0;
}

enum { OP_MESSAGE = 1, OP_TIME = 2, OP_SERVICE = 3, OP_ASSET = 4 };

size_t nm_fox_message_head(uint8_t *to, size_t room, uint32_t subscription, uint64_t time)
{
    if (room < NM_FOX_MESSAGE_HEAD) return 0;
    to[0] = OP_MESSAGE;
    put32(to + 1, subscription);
    put64(to + 5, time);
    return NM_FOX_MESSAGE_HEAD;
}

size_t nm_fox_time_frame(uint8_t *to, size_t room, uint64_t time)
{
    if (room < NM_FOX_TIME_FRAME) return 0;
    to[0] = OP_TIME;
    put64(to + 1, time);
    return NM_FOX_TIME_FRAME;
}

size_t nm_fox_service_head(uint8_t *to, size_t room, uint32_t service, uint32_t call, const char *encoding)
{
    size_t n = strlen(encoding), size = 13 + n;
    if (room < size) return 0;
    to[0] = OP_SERVICE;
    put32(to + 1, service);
    put32(to + 5, call);
    put32(to + 9, (uint32_t)n);
    memcpy(to + 13, encoding, n);
    return size;
}

size_t nm_fox_asset_head(uint8_t *to, size_t room, uint32_t request, const char *error)
{
    size_t n = error ? strlen(error) : 0, size = 10 + n;
    if (room < size) return 0;
    to[0] = OP_ASSET;
    put32(to + 1, request);
    to[5] = error != NULL;
    put32(to + 6, (uint32_t)n);
    if (n) memcpy(to + 10, error, n);
    return size;
}

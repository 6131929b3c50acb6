/* Every topic of the line-up as one channel a maker: messages from the edge's queues into CDR and on to the tapes.
 * Times inside messages count by the player's clock; in the log they count from 1970, as on the wire, so that other
 * tools see them beside the log's own time. Images are stored as the options say. */
#include <stdlib.h>
#include <string.h>

#include "codec/bag_yaml.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "codec/thumbnail.h"
#include "edge/dds/names.h"
#include "edge/dds/stamps.h"
#include "edge/log/collect.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"

/* A queue keeps what comes in a second in which the log gets no time, but no more than so many bytes of it. */
enum { DEPTH_LEAST = 16, DEPTH_USUAL = 128, DEPTH_MOST = 1024, QUEUE_BYTES = 1 << 20, IMAGE_DEPTH = 4 };

uint8_t *log_room(uint8_t **bytes, size_t *room, size_t n)
{
    if (n > *room) {
        *room = n + n / 2;
        *bytes = realloc(*bytes, *room);
        if (!*bytes) abort();
    }
    return *bytes;
}

/* ---- what is read ---- */

static uint32_t rate_of(const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    uint32_t rate = 0;
    for (uint32_t i = 0; i < topic->n_producers; i++) {
        const struct nm_lineup_cycle *cycle = &lineup->cycles[lineup->instances[topic->producers[i].instance].cycle];
        uint32_t hz = cycle->period ? (uint32_t)(1000000000 / cycle->period) + 1 : DEPTH_USUAL;
        if (hz > rate) rate = hz;
    }
    return rate ? rate : DEPTH_USUAL;
}

static uint32_t depth_of(const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    if (topic->type->blobs) return IMAGE_DEPTH;
    uint32_t least = topic->queue && topic->depth > DEPTH_LEAST ? topic->depth : DEPTH_LEAST;
    uint32_t depth = rate_of(lineup, topic);
    if (topic->queue && depth < 4 * least) depth = 4 * least;
    if (depth > DEPTH_MOST) depth = DEPTH_MOST;
    while (depth > least && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
    return depth < least ? least : depth;
}

static bool is_image(const struct nm_type *type) { return type == &Image_type; }

static bool is_wanted(const struct nm_log *log, const struct nm_topic *topic)
{
    bool wanted = false;
    for (int k = 0; k < TAPES; k++)
        wanted |= log->tapes[k] && (!is_image(topic->type) || log->images[k] != NM_LOG_NO_IMAGES);
    return wanted;
}

int channels_edge(struct nm_log *log, struct nm_err *err)
{
    const struct nm_lineup *lineup = log->lineup;
    struct nm_edge_port *ports = nm_take_n(&log->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0;
    log->ports = nm_take_n(&log->arena, uint32_t, lineup->n_topics + 1);
    log->times = nm_take_n(&log->arena, bool, lineup->n_topics + 1);
    log->lost = nm_take_n(&log->arena, _Atomic uint64_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        log->times[t] = nm_has_times(topic->type);
        log->ports[t] = NM_NONE;
        if (!is_wanted(log, topic)) continue;
        log->ports[t] = n;
        ports[n++] =
            (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth_of(lineup, topic)};
    }
    log->edge = nm_edge_new(log->player, "log", ports, n, err);
    return log->edge ? 0 : -1;
}

/* ---- channels ---- */

static size_t add_text(uint8_t *map, size_t used, size_t room, const char *key, const char *value)
{
    return nm_mcap_add_text(map, used, room, nm_bytes_of(key), nm_bytes_of(value));
}

struct nm_bytes channel_metadata(struct nm_log *log, const struct nm_type *type, const char *maker, bool latched,
                                 const char *of)
{
    enum { ROOM = 2048 };
    struct nm_text_out qos = {.grows = true};
    uint8_t *map = log_room(&log->bytes, &log->bytes_room, ROOM);
    nm_bag_qos(&qos, (struct nm_bag_qos){.depth = 10, .transient_local = latched});
    size_t n = add_text(map, 0, ROOM, "offered_qos_profiles", qos.text);
    n = add_text(map, n, ROOM, "topic_type_hash", type->hash);
    if (maker) n = add_text(map, n, ROOM, "maker", maker);
    if (of) n = add_text(map, n, ROOM, "of", of);               /* stored with loss in place of it        */
    if (latched) n = add_text(map, n, ROOM, "latched", "true"); /* every file repeats the last ones of it */
    free(qos.text);
    return (struct nm_bytes){map, n};
}

/* What an image topic becomes on a tape. */
static int add_image(struct nm_log *log, int k, const struct nm_topic *topic, const char *maker, struct nm_err *err)
{
    static const char *const tails[NM_LOG_IMAGES] = {"/compressed", "", "/thumbnail", NULL};
    enum nm_log_images how = log->images[k];
    const struct nm_type *type = how == NM_LOG_JPEG ? &CompressedImage_type : &Image_type;
    if (!tails[how]) return 0;
    const char *of = how == NM_LOG_RAW ? NULL : nm_take_format(&log->arena, "/%s", topic->name);
    return tape_channel(log->tapes[k], nm_take_format(&log->arena, "/%s%s", topic->name, tails[how]), type->name,
                        type->schema, channel_metadata(log, type, maker, false, of), err);
}

static int add_channel(struct nm_log *log, uint32_t t, uint32_t maker, struct nm_err *err)
{
    const struct nm_topic *topic = &log->lineup->topics[t];
    const char *name = nm_record_name(log->record, maker);
    struct log_channel *channel = &log->channels[log->n_channels];
    *channel = (struct log_channel){.topic = t, .maker = maker};
    for (int k = 0; k < TAPES; k++) {
        if (!log->tapes[k]) continue;
        struct nm_ros_qos qos = nm_ros_qos(topic->name, topic->type);
        bool latched = qos.latched && !qos.lifespan; /* rosout is history, and not what holds until now */
        channel->id[k] =
            is_image(topic->type)
                ? add_image(log, k, topic, name, err)
                : tape_channel(log->tapes[k], nm_take_format(&log->arena, "/%s", topic->name), topic->type->name,
                               topic->type->schema, channel_metadata(log, topic->type, name, latched, NULL), err);
        if (channel->id[k] < 0) return -1;
        if (latched) tape_latch(log->tapes[k], channel->id[k], (uint32_t)qos.depth);
    }
    log->channel_of[(size_t)t * log->n_makers + maker] = log->n_channels++;
    return 0;
}

int channels_open(struct nm_log *log, struct nm_err *err)
{
    const struct nm_lineup *lineup = log->lineup;
    uint32_t total = 0, n;
    log->n_makers = nm_record_cycles(log->record);
    log->channel_of = nm_take_n(&log->arena, uint32_t, (size_t)lineup->n_topics * log->n_makers + 1);
    memset(log->channel_of, 0xff, (size_t)lineup->n_topics * log->n_makers * sizeof *log->channel_of);
    for (uint32_t c = 0; c < log->n_makers; c++) nm_record_topics(log->record, c, &n), total += n;
    log->channels = nm_take_n(&log->arena, struct log_channel, total + 1);
    for (uint32_t c = 0; c < log->n_makers; c++) {
        const struct nm_record_topic *topics = nm_record_topics(log->record, c, &n);
        for (uint32_t i = 0; i < n; i++)
            if (topics[i].maker == c && log->ports[topics[i].topic] != NM_NONE &&
                add_channel(log, topics[i].topic, c, err))
                return -1;
    }
    return 0;
}

/* ---- messages ---- */

static void put(struct nm_log *log, struct log_channel *channel, int k, const struct nm_slot *slot, size_t n)
{
    uint64_t time = (uint64_t)(slot->time + log->offset);
    tape_put(log->tapes[k],
             &(struct nm_mcap_message){(uint16_t)channel->id[k], (uint32_t)slot->seq, time, time, {log->bytes, n}});
    channel->seen += n;
}

static int64_t encode(struct nm_log *log, const struct nm_type *type, const void *message)
{
    size_t size = nm_cdr_size(type, message);
    return nm_cdr_encode(type, message, log_room(&log->bytes, &log->bytes_room, size), size);
}

static int64_t encode_jpeg(struct nm_log *log, const Image *image)
{
    size_t room = nm_jpeg_room(image->width, image->height), n;
    int quality = log->options.quality ? log->options.quality : NM_JPEG_QUALITY;
    log_room(&log->picture, &log->picture_room, room);
    if (nm_jpeg_encode_image(image, quality, log->picture, room, &n, NULL)) return -1;
    CompressedImage jpeg = {.header = image->header, .format = "jpeg"};
    jpeg.data = (struct nm_blob){.data = log->picture, .n = (uint32_t)n, .cap = (uint32_t)n};
    return encode(log, &CompressedImage_type, &jpeg);
}

static int64_t encode_thumbnail(struct nm_log *log, const Image *image)
{
    struct nm_pixels small;
    size_t room = nm_thumbnail_room(&NM_PIXELS(image), NULL);
    if (!room) return -1;
    log_room(&log->picture, &log->picture_room, room);
    if (nm_thumbnail(&NM_PIXELS(image), log->picture, room, &small, NULL)) return -1;
    Image out = {.header = image->header, .height = small.height, .width = small.width, .step = small.step};
    nm_text(out.encoding, "%s", small.encoding);
    out.data = (struct nm_blob){.data = log->picture, .n = (uint32_t)small.n, .cap = (uint32_t)small.n};
    return encode(log, &Image_type, &out);
}

static void take_image(struct nm_log *log, struct log_channel *channel, const Image *image)
{
    for (int k = 0; k < TAPES; k++) {
        if (!channel->id[k]) continue;
        int64_t n = log->images[k] == NM_LOG_JPEG         ? encode_jpeg(log, image)
                    : log->images[k] == NM_LOG_THUMBNAILS ? encode_thumbnail(log, image)
                                                          : encode(log, &Image_type, image);
        if (n >= 0)
            put(log, channel, k, nm_slot(image), (size_t)n);
        else
            log->lost[channel->topic]++;
    }
}

static void take(struct nm_log *log, uint32_t topic, void *message)
{
    const struct nm_type *type = log->lineup->topics[topic].type;
    const struct nm_slot *slot = nm_slot(message);
    uint32_t at = slot->maker < log->n_makers ? log->channel_of[(size_t)topic * log->n_makers + slot->maker] : NM_NONE;
    if (at == NM_NONE) return;
    struct log_channel *channel = &log->channels[at];
    /* the queue's copy is ours, and nobody reads it after us */
    if (log->offset && log->times[topic]) nm_shift_times(type, message, log->offset);
    channel->count++;
    atomic_fetch_add_explicit(&log->messages, 1, memory_order_relaxed);
    if (is_image(type)) {
        take_image(log, channel, message);
        return;
    }
    int64_t n = encode(log, type, message);
    for (int k = 0; k < TAPES; k++)
        if (channel->id[k] && n >= 0) put(log, channel, k, slot, (size_t)n);
    if (n < 0) log->lost[topic]++;
}

void channels_take(struct nm_log *log)
{
    nm_edge_begin(log->edge, nm_player_now(log->player));
    for (uint32_t t = 0; t < log->lineup->n_topics; t++) {
        const void *const *at;
        uint32_t lost = 0;
        if (log->ports[t] == NM_NONE) continue;
        uint32_t n = nm_edge_queue(log->edge, log->ports[t], &at, &lost);
        for (uint32_t i = 0; i < n; i++) take(log, t, (void *)(uintptr_t)at[i]);
        log->lost[t] += lost;
    }
    nm_edge_end(log->edge);
}

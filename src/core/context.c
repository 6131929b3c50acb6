/* The functions of nm.h that a module calls while it steps: queues, services, blobs, random numbers, console, shown
 * values, transforms. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/internal.h"
#include "core/stamp.h"
#include "nutmeg_msgs/Show.h"
#include "rcl_interfaces/Log.h"

/* A `last` port of a value made in its own cycle is new when that was in the run before this one. */
bool nm_fresh_last(const struct nm *nm, const void *member)
{
    const struct nm_instance *instance = nm->instance;
    for (uint32_t i = 0; i < instance->n_lasts; i++)
        if (instance->lasts[i]->member == member) return instance->lasts[i]->source->value;
    return false;
}

void *nm_push_(struct nm *nm, struct nm_ring *ring)
{
    (void)nm;
    return ring_push(ring, 0, 0);
}

void *nm_reply_(struct nm *nm, struct nm_ring *ring, uint64_t caller, int64_t call)
{
    (void)nm;
    return ring_push(ring, caller, call);
}

void *nm_call_(struct nm *nm, struct nm_ring *ring)
{
    const struct nm_instance *instance = nm->instance;
    uint64_t client = 0;
    for (uint32_t i = 0; i < instance->n_ports; i++)
        if (instance->ports[i].ring == ring) client = instance->ports[i].client;
    void *request = ring_push(ring, client, 0);
    nm_slot(request)->call = (int64_t)nm_slot(request)->seq;
    return request;
}

bool nm_blob_take(struct nm *nm, const void *out, struct nm_blob *blob, uint32_t bytes)
{
    struct topic_state *topic = &nm->cycle->player->topics[nm_slot(out)->topic];
    if (topic->pool && bytes <= topic->pool->bytes && nm_pool_take(topic->pool, blob)) return true;
    nm_blob_release(blob);
    atomic_fetch_add_explicit(&topic->no_blob, 1, memory_order_relaxed);
    return false;
}

bool nm_tf(struct nm *nm, const char *from, const char *to, int64_t at, struct pose3 *from_to_to)
{
    return nm->cycle->tf && tf_get(nm->cycle->tf, from, to, at, from_to_to);
}

double nm_random(struct nm *nm) { return nm_dice_roll(&nm->dice); }
double nm_gauss(struct nm *nm) { return nm_dice_gauss(&nm->dice); }

void nm_log_(struct nm *nm, int level, const char *file, const char *function, int line, const char *format, ...)
{
    if (!nm->cycle->log) return; /* init: nothing is connected yet; nm->err takes its sentences */
    Log *log = ring_push(nm->cycle->log, 0, 0);
    va_list args;
    va_start(args, format);
    vsnprintf(log->msg, sizeof log->msg, format, args);
    va_end(args);
    log->stamp = nm_stamp(nm->now);
    log->level = (uint8_t)level;
    log->line = (uint32_t)line;
    nm_text(log->name, "%s", nm->name);
    nm_text(log->file, "%s", file);
    nm_text(log->function, "%s", function);
}

static Show *show(struct nm *nm, const char *name)
{
    Show *show = ring_push(nm->cycle->show, 0, 0);
    show->header.stamp = nm_stamp(nm->now);
    nm_text(show->name, "%s/%s", nm->name, name);
    return show;
}

void nm_show_number(struct nm *nm, const char *name, double value)
{
    Show *s = show(nm, name);
    s->kind = Show_NUMBER;
    s->value = value;
}

void nm_show_text_(struct nm *nm, const char *name, const char *format, ...)
{
    Show *s = show(nm, name);
    s->kind = Show_TEXT;
    va_list args;
    va_start(args, format);
    vsnprintf(s->text, sizeof s->text, format, args);
    va_end(args);
}

void nm_show_image_(struct nm *nm, const char *name, const uint8_t *bytes, uint32_t width, uint32_t height,
                    uint32_t step, const char *encoding)
{
    struct topic_state *topic = &nm->cycle->player->topics[nm->cycle->show->topic];
    uint64_t size = (uint64_t)step * height;
    struct nm_blob blob = {0};
    if (!topic->pool || size > topic->pool->bytes || !nm_pool_take(topic->pool, &blob)) {
        atomic_fetch_add_explicit(&topic->no_blob, 1, memory_order_relaxed);
        return;
    }
    memcpy(blob.data, bytes, size);
    blob.n = (uint32_t)size;
    Show *s = show(nm, name);
    s->kind = Show_IMAGE;
    s->image.header.stamp = s->header.stamp;
    s->image.width = width;
    s->image.height = height;
    s->image.step = step;
    nm_text(s->image.encoding, "%s", encoding);
    s->image.data = blob;
}

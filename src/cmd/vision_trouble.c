#include "cmd/vision_trouble.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *const vision_troubles[VISION_TROUBLES] = {
    [TROUBLE_LIGHT_OFF] = "light off and on",
    [TROUBLE_CAST] = "lamps of another colour",
    [TROUBLE_SUN] = "a sun spot crosses the field",
    [TROUBLE_UNPLUGGED] = "camera unplugged",
    [TROUBLE_FROZEN] = "camera frozen",
    [TROUBLE_BLACK] = "camera black",
    [TROUBLE_TORN] = "half of the image torn off",
    [TROUBLE_STUCK] = "exposure stuck",
    [TROUBLE_TWICE] = "every image twice",
    [TROUBLE_CLOCK] = "stamps that jump",
};

enum { RATE = 15, BEGIN = 1 * RATE, END = 3 * RATE, SUN_END = 4 * RATE, LAST = 6 * RATE, BUFFERS = 4 };

/* ---- a device ---- */

struct device {
    bool plugged, queued[BUFFERS], waiting;
    uint32_t index, bytes; /* of the image that waits */
    int64_t stamp;         /* of it */
    uint8_t *memory;       /* of all buffers          */
};

static int refuse(int number)
{
    errno = number;
    return -1;
}

static int device_open(void *user, const char *path)
{
    struct device *d = user;
    (void)path;
    memset(d->queued, 0, sizeof d->queued);
    d->waiting = false;
    return d->plugged ? 3 : refuse(ENOENT);
}

static int device_ioctl(void *user, int fd, unsigned long request, void *argument)
{
    struct device *d = user;
    struct v4l2_buffer *b = argument;
    (void)fd;
    if (!d->plugged) return refuse(ENODEV);
    switch (request) {
    case VIDIOC_QUERYBUF:
        b->length = d->bytes;
        b->m.offset = b->index * d->bytes;
        break;
    case VIDIOC_QBUF: d->queued[b->index % BUFFERS] = true; break;
    case VIDIOC_DQBUF:
        if (!d->waiting) return refuse(EAGAIN);
        d->waiting = false;
        b->index = d->index;
        b->bytesused = d->bytes;
        b->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
        b->timestamp.tv_sec = d->stamp / 1000000000;
        b->timestamp.tv_usec = d->stamp / 1000 % 1000000;
        break;
    default: break; /* format, rate, controls: as asked for */
    }
    return 0;
}

static void *device_map(void *user, int fd, size_t length, off_t offset)
{
    struct device *d = user;
    (void)fd;
    (void)length;
    return d->memory + offset;
}
static void device_unmap(void *user, void *at, size_t length) { (void)user, (void)at, (void)length; }
static void device_close(void *user, int fd) { (void)user, (void)fd; }

static void device_expose(struct device *d, const uint8_t *yuyv, int64_t stamp)
{
    for (uint32_t i = 0; i < BUFFERS && !d->waiting; i++) {
        if (!d->queued[i]) continue;
        d->queued[i] = false;
        d->waiting = true;
        d->index = i;
        d->stamp = stamp;
        memcpy(d->memory + (size_t)i * d->bytes, yuyv, d->bytes);
    }
}

/* ---- a scene ---- */

struct scene {
    struct device device;
    struct vision_studio *studio;
    struct vision_shot shot;
    enum vision_trouble trouble;
    uint8_t *picture;
};

/* What the sensor takes in tick number `tick`. */
static void expose(struct scene *s, uint32_t tick, int64_t now)
{
    struct vision_light light = {1, {1, 1, 1}, NAN};
    bool bad = tick >= BEGIN && tick < END;
    enum vision_trouble t = s->trouble;
    uint64_t noise = tick;
    uint32_t bytes = s->device.bytes;
    if (t == TROUBLE_LIGHT_OFF && bad) light.level = 0.03f;
    if (t == TROUBLE_CAST && tick >= BEGIN) light = (struct vision_light){0.9f, {1.25f, 1, 0.7f}, NAN};
    if (t == TROUBLE_SUN && tick >= BEGIN && tick < SUN_END) light.sun = 1.5 - 3.0 * (tick - BEGIN) / (SUN_END - BEGIN);
    if (t == TROUBLE_STUCK && bad) light.level = 40;
    if (t == TROUBLE_FROZEN && bad) noise = BEGIN;
    if (t == TROUBLE_TWICE && bad) noise = tick & ~1u;
    s->device.plugged = !(t == TROUBLE_UNPLUGGED && bad);
    memcpy(s->picture, vision_studio_expose(s->studio, &light, noise), bytes);
    for (uint32_t i = 0; t == TROUBLE_BLACK && bad && i < bytes; i++) s->picture[i] = (uint8_t)(i & 1 ? 128 : 0);
    if (t == TROUBLE_TORN && bad) memset(s->picture + bytes / 2, 0, bytes - bytes / 2);
    if (t == TROUBLE_CLOCK && bad) now += tick & 1 ? nm_ns(5) : nm_ns(-5);
    if (s->device.plugged) device_expose(&s->device, s->picture, now);
}

static bool finds_ball(const struct vision_truth *truth, const struct vision_found *found)
{
    struct vision_score score = {0};
    vision_score(truth, found, &score);
    return score.found[VISION_BALL] > 0;
}

/* From which tick on a ball that was lost is missed: while the trouble lasts there may be nothing to see. */
static uint32_t missed_from(enum vision_trouble t) { return t == TROUBLE_CAST || t == TROUBLE_SUN ? BEGIN : END; }

int vision_trouble(struct setup *setup, const struct nm_body *body, struct vision_studio *studio, uint64_t number,
                   enum vision_trouble trouble, struct trouble_result *result, struct nm_err *err)
{
    struct scene *s = nm_calloc(1, sizeof *s);
    uint32_t before = 0, lost = 0, longest = 0;
    s->studio = studio;
    s->trouble = trouble;
    vision_studio_shoot(studio, number, &s->shot);
    s->device.bytes = 2 * s->shot.width * s->shot.height;
    s->device.plugged = true;
    s->device.memory = nm_malloc((size_t)s->device.bytes * BUFFERS);
    s->picture = nm_malloc(s->device.bytes);
    const struct nm_video_calls calls = {device_open, device_ioctl, device_map, device_unmap, device_close, &s->device};
    struct vision_rig *rig = vision_rig_new(setup, "vision", body, NULL, 0, &calls, err);
    *result = (struct trouble_result){0};
    result->seen = rig && s->shot.truth.things[0].counts;
    for (uint32_t tick = 0; result->seen && tick < LAST; tick++) {
        struct vision_found found;
        result->seen = tick != BEGIN || before * 4 >= BEGIN * 3; /* else there is nothing to lose */
        expose(s, tick, vision_rig_now(rig));
        vision_rig_look(rig, NULL, 0, 0, &s->shot.camera_to_robot, s->shot.q, &found);
        bool ball = finds_ball(&s->shot.truth, &found);
        before += tick < BEGIN && ball;
        result->reported += found.warned;
        result->relieved += found.relieved;
        if (tick < missed_from(trouble)) continue;
        lost = ball ? 0 : lost + 1;
        if (lost > longest) longest = lost;
    }
    vision_rig_free(rig);
    result->back = lost > RATE ? INFINITY : (double)longest / RATE;
    free(s->device.memory);
    free(s->picture);
    free(s);
    return rig ? 0 : -1;
}

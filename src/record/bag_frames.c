/* Camera frames of a log as pictures, one file each, named by their log time in ns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/bag.h"
#include "codec/jpeg.h"

enum { QUALITY = 95 /* a picture of a raw frame is looked at, not sent */ };

int bag_frames_begin(struct bag_frames *frames, const struct nm_def *def, struct nm_err *err)
{
    bool packed = !strcmp(def->name, "sensor_msgs/msg/CompressedImage");
    frames->raw = !strcmp(def->name, "sensor_msgs/msg/Image");
    if (!packed && !frames->raw) return 0;
    int bad = nm_walk_path(def, "data", &frames->data, err) ||
              nm_walk_path(def, packed ? "format" : "encoding", &frames->format, err);
    if (frames->raw)
        bad = bad || nm_walk_path(def, "width", &frames->width, err) ||
              nm_walk_path(def, "height", &frames->height, err) || nm_walk_path(def, "step", &frames->step, err);
    return bad ? -1 : 1;
}

/* By what the bytes are; what the message says about them comes second. */
static const char *ending(const uint8_t *bytes, size_t n, const uint8_t *format, size_t format_n)
{
    if (n > 3 && !memcmp(bytes, "\xff\xd8\xff", 3)) return "jpg";
    if (n > 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8)) return "png";
    return format_n >= 3 && memmem(format, format_n, "png", 3) ? "png" : "jpg";
}

/* -1: none, or nothing that a side can be. */
static int number(const struct nm_walk_path *path, const struct nm_mcap_message *message, uint32_t *to,
                  struct nm_err *err)
{
    double value;
    if (nm_walk_number(path, message->data.at, message->data.n, &value, err) < 1 || value < 0 || value > UINT32_MAX)
        return -1;
    *to = (uint32_t)value;
    return 0;
}

static int develop(struct bag_frames *frames, const struct nm_mcap_message *message, const uint8_t *bytes, size_t n,
                   const uint8_t *encoding, size_t encoding_n, size_t *jpeg_n, struct nm_err *err)
{
    struct nm_pixels pixels = {.data = bytes, .n = n};
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)(encoding_n < sizeof word ? encoding_n : sizeof word - 1),
             (const char *)encoding);
    pixels.encoding = word;
    if (number(&frames->width, message, &pixels.width, err) || number(&frames->height, message, &pixels.height, err) ||
        number(&frames->step, message, &pixels.step, err) || !nm_pixels_check(&pixels, err))
        return -1;
    size_t room = nm_jpeg_room(pixels.width, pixels.height);
    if (room > frames->room) {
        free(frames->jpeg);
        frames->jpeg = malloc(room);
        if (!frames->jpeg) abort();
        frames->room = room;
    }
    return nm_jpeg_encode(&pixels, QUALITY, frames->jpeg, frames->room, jpeg_n, err);
}

int bag_frame(struct bag_frames *frames, const char *folder, const struct nm_mcap_message *message, struct nm_err *err)
{
    const uint8_t *bytes, *format = NULL;
    size_t n, format_n = 0;
    char path[1024];
    if (nm_walk_bytes(&frames->data, message->data.at, message->data.n, &bytes, &n, err) < 1 ||
        nm_walk_bytes(&frames->format, message->data.at, message->data.n, &format, &format_n, err) < 1)
        return -1;
    if (frames->raw) {
        if (develop(frames, message, bytes, n, format, format_n, &n, err)) return -1;
        bytes = frames->jpeg;
    }
    snprintf(path, sizeof path, "%s/%llu.%s", folder, (unsigned long long)message->log_time,
             ending(bytes, n, format, format_n));
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(bytes, 1, n, file) == n;
    if (file && fclose(file)) ok = false;
    return ok ? 0 : nm_fail(err, "%s: %s", path, strerror(errno));
}

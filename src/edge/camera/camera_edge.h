/* A robot's cameras: a device of the kernel (V4L2) or a folder of images becomes CAMERA/image_raw and
 * CAMERA/camera_info. Images are YUV 4:2:2, stamped with the moment at which the driver says that they were taken. A
 * camera that is unplugged is found again; one that is frozen, black or has a clock that jumps is reported once, and
 * again when it is over.
 *
 * All system calls go through a table, so that tests put a camera behind it that does whatever they want. */
#pragma once

#include <sys/types.h>

#include "body/robot.h"
#include "core/player.h"
#include "sensor_msgs/Image.h"

struct nm_video_calls {
    int (*open)(void *user, const char *path);
    int (*ioctl)(void *user, int fd, unsigned long request, void *argument); /* -1 and errno, as the real one */
    void *(*map)(void *user, int fd, size_t length, off_t offset);           /* NULL: it failed               */
    void (*unmap)(void *user, void *at, size_t length);
    void (*close)(void *user, int fd);
    void *user;
};

struct nm_camera_edge;

/* Camera number `camera` of the body. source: a device such as /dev/video0, which need not be there yet, or a folder
 * of images, which are shown again and again. calls: NULL for those of the system. Between nm_player_new and
 * nm_player_start; NULL with a sentence. */
struct nm_camera_edge *nm_camera_edge_new(struct nm_player *player, const struct nm_body *body, uint32_t camera,
                                          const char *source, const struct nm_video_calls *calls, struct nm_err *err);
/* Starts its thread, which looks for images several times in the time between two of them. */
int nm_camera_edge_start(struct nm_camera_edge *edge, struct nm_err *err);
/* One look: publishes an image if there is one. What the thread calls, and tests. */
void nm_camera_edge_round(struct nm_camera_edge *edge, int64_t now);
void nm_camera_edge_free(struct nm_camera_edge *edge); /* NULL is allowed */

/* An image of YUV 4:2:2 through a port of an edge; NULL if nobody reads it or there is no room for it. */
const Image *nm_camera_put(struct nm_edge *edge, uint32_t port, const char *frame, int64_t stamp, uint32_t width,
                           uint32_t height, const uint8_t *yuyv);

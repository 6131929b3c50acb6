#include "edge/camera/camera_edge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "codec/jpeg.h"
#include "core/files.h"
#include "core/stamp.h"
#include "edge/camera/image_file.h"
#include "nutmeg_msgs/CameraControls.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Image.h"

enum { BUFFERS = 4, PICTURES = 256, SAME = 5, CONTROLS = 4 };
enum port { IMAGE, INFO, ORDERS, ROSOUT, PORTS };
enum complaint { GONE, FROZEN, TWICE, BLACK, WHITE, CLOCK, DAMAGED, COMPLAINTS };
static const int64_t TRY_AGAIN = 1000000000; /* ns                                                        */
static const int64_t CALM = 500000000;       /* ns without a fault until it is over: it may come and go */

static const char *const complaints[COMPLAINTS][2] = {
    [GONE] = {"is gone; it is looked for every second", "is there again"},
    [FROZEN] = {"shows the same image again and again", "shows new images again"},
    [TWICE] = {"sends images twice; the second ones are left out", "sends every image once again"},
    [BLACK] = {"shows nothing but black", "sees again"},
    [WHITE] = {"shows nothing but white", "sees again"},
    [CLOCK] = {"has a clock that jumps; images get the time of their arrival", "has a steady clock again"},
    [DAMAGED] = {"sends damaged images, which are left out", "sends whole images again"},
};

struct nm_camera_edge {
    struct nm_edge *edge;
    const struct nm_body_camera *camera;
    const char *frame;
    char source[256];
    struct nm_video_calls calls;
    int fd; /* -1: gone */
    int64_t next_try, driver_stamp, last_stamp, period;
    bool mjpeg, started, complained[COMPLAINTS];
    int64_t bad_at[COMPLAINTS]; /* ns, when it was seen last */
    struct {
        uint8_t *at;
        size_t length;
    } buffers[BUFFERS];
    uint8_t *rgb, *yuyv; /* of MJPEG */
    uint32_t same;       /* images like the one before */
    uint64_t sum;        /* of the last image          */
    int32_t set[CONTROLS];
    /* a folder */
    uint32_t n_pictures, next_picture;
    struct nm_image *pictures;
    int64_t next_image;
};

/* ---- the system's own calls ---- */

static int real_open(void *user, const char *path)
{
    (void)user;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}
static int real_ioctl(void *user, int fd, unsigned long request, void *argument)
{
    (void)user;
    int result;
    do result = ioctl(fd, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}
static void *real_map(void *user, int fd, size_t length, off_t offset)
{
    (void)user;
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return at == MAP_FAILED ? NULL : at;
}
static void real_unmap(void *user, void *at, size_t length)
{
    (void)user;
    munmap(at, length);
}
static void real_close(void *user, int fd)
{
    (void)user;
    close(fd);
}
static const struct nm_video_calls real_calls = {real_open, real_ioctl, real_map, real_unmap, real_close, NULL};

/* ---- the device ---- */

static int control(struct nm_camera_edge *e, unsigned long request, void *argument)
{
    return e->calls.ioctl(e->calls.user, e->fd, request, argument);
}

static void complain(struct nm_camera_edge *e, enum complaint what, bool bad, int64_t now)
{
    if (bad) e->bad_at[what] = now;
    if (e->complained[what] == bad || (!bad && what != GONE && now - e->bad_at[what] < CALM)) return;
    e->complained[what] = bad;
    nm_edge_log(e->edge, ROSOUT, bad ? NM_WARN : NM_INFO, "camera", "%s %s", e->source, complaints[what][!bad]);
}

static void shut(struct nm_camera_edge *e)
{
    for (uint32_t i = 0; i < BUFFERS; i++) {
        if (e->buffers[i].at) e->calls.unmap(e->calls.user, e->buffers[i].at, e->buffers[i].length);
        e->buffers[i].at = NULL;
    }
    if (e->fd >= 0) e->calls.close(e->calls.user, e->fd);
    e->fd = -1;
}

/* Format, rate, buffers, start. Any step may fail while a camera is being plugged in: then it is tried again. */
static bool begin(struct nm_camera_edge *e)
{
    const struct nm_camera *lens = &e->camera->lens;
    uint32_t fourcc = e->mjpeg ? V4L2_PIX_FMT_MJPEG : V4L2_PIX_FMT_YUYV;
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    format.fmt.pix.width = lens->width;
    format.fmt.pix.height = lens->height;
    format.fmt.pix.pixelformat = fourcc;
    if (control(e, VIDIOC_S_FMT, &format) < 0 || format.fmt.pix.width != lens->width ||
        format.fmt.pix.height != lens->height || format.fmt.pix.pixelformat != fourcc)
        return false;
    struct v4l2_streamparm rate = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    rate.parm.capture.timeperframe = (struct v4l2_fract){1000, (uint32_t)(1000 * e->camera->fps)};
    control(e, VIDIOC_S_PARM, &rate); /* a camera that knows only one rate may refuse */
    struct v4l2_requestbuffers request = {
        .count = BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    if (control(e, VIDIOC_REQBUFS, &request) < 0 || request.count < 2) return false;
    for (uint32_t i = 0; i < request.count && i < BUFFERS; i++) {
        struct v4l2_buffer b = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        if (control(e, VIDIOC_QUERYBUF, &b) < 0) return false;
        e->buffers[i].length = b.length;
        e->buffers[i].at = e->calls.map(e->calls.user, e->fd, b.length, b.m.offset);
        if (!e->buffers[i].at || control(e, VIDIOC_QBUF, &b) < 0) return false;
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    for (int i = 0; i < CONTROLS; i++) e->set[i] = INT32_MIN;
    return control(e, VIDIOC_STREAMON, &type) == 0;
}

static void try_open(struct nm_camera_edge *e, int64_t now)
{
    if (now < e->next_try) return;
    e->next_try = now + TRY_AGAIN;
    e->fd = e->calls.open(e->calls.user, e->source);
    if (e->fd >= 0 && !begin(e)) shut(e);
    complain(e, GONE, e->fd < 0, now);
}

/* A value below zero switches the camera's own control on, if it has one. */
static void obey(struct nm_camera_edge *e, const CameraControls *c)
{
    static const struct {
        uint32_t value, automatic;
        int32_t on, off;
    } ids[CONTROLS] = {
        {V4L2_CID_EXPOSURE_ABSOLUTE, V4L2_CID_EXPOSURE_AUTO, V4L2_EXPOSURE_APERTURE_PRIORITY, V4L2_EXPOSURE_MANUAL},
        {V4L2_CID_GAIN, V4L2_CID_AUTOGAIN, 1, 0},
        {V4L2_CID_WHITE_BALANCE_TEMPERATURE, V4L2_CID_AUTO_WHITE_BALANCE, 1, 0},
        {V4L2_CID_FOCUS_ABSOLUTE, V4L2_CID_FOCUS_AUTO, 1, 0},
    };
    const int32_t wanted[CONTROLS] = {c->exposure, c->gain, c->white_balance, c->focus};
    for (int i = 0; i < CONTROLS; i++) {
        if (e->set[i] == wanted[i]) continue;
        struct v4l2_control one = {ids[i].automatic, wanted[i] < 0 ? ids[i].on : ids[i].off};
        control(e, VIDIOC_S_CTRL, &one);
        one = (struct v4l2_control){ids[i].value, wanted[i]};
        if (wanted[i] >= 0 && control(e, VIDIOC_S_CTRL, &one) < 0)
            nm_edge_log(e->edge, ROSOUT, NM_WARN, "camera", "%s refuses control %d = %d", e->source, i, wanted[i]);
        e->set[i] = wanted[i];
    }
}

/* ---- images ---- */

static void tell_info(struct nm_camera_edge *e, const Header *header)
{
    const struct nm_camera *lens = &e->camera->lens;
    CameraInfo *to = nm_edge_out(e->edge, INFO);
    if (!to) return;
    to->header = *header;
    to->width = lens->width;
    to->height = lens->height;
    nm_text(to->distortion_model, "%s", lens->lens == NM_FISHEYE ? "equidistant" : "plumb_bob");
    to->d.n = lens->lens == NM_FISHEYE ? 4 : 5;
    for (uint32_t i = 0; i < to->d.n; i++) to->d.at[i] = lens->lens == NM_PINHOLE ? 0 : lens->k[i];
    to->k[0] = to->p[0] = lens->fx, to->k[2] = to->p[2] = lens->cx;
    to->k[4] = to->p[5] = lens->fy, to->k[5] = to->p[6] = lens->cy;
    to->k[8] = to->p[10] = to->r[0] = to->r[4] = to->r[8] = 1;
    nm_edge_put(e->edge, INFO);
}

const Image *nm_camera_put(struct nm_edge *edge, uint32_t port, const char *frame, int64_t stamp, uint32_t width,
                           uint32_t height, const uint8_t *yuyv)
{
    Image *image = nm_edge_out(edge, port);
    uint32_t bytes = 2 * width * height;
    if (!image || !nm_edge_blob(edge, port, &image->data, bytes)) return NULL;
    image->header.stamp = nm_stamp(stamp);
    nm_text(image->header.frame_id, "%s", frame);
    image->width = width;
    image->height = height;
    image->step = 2 * width;
    nm_text(image->encoding, "yuv422_yuy2");
    memcpy(image->data.data, yuyv, bytes);
    image->data.n = bytes;
    nm_edge_put(edge, port);
    return image;
}

static void tell(struct nm_camera_edge *e, const uint8_t *yuyv, int64_t stamp)
{
    const struct nm_camera *lens = &e->camera->lens;
    const Image *image = nm_camera_put(e->edge, IMAGE, e->frame, stamp, lens->width, lens->height, yuyv);
    if (image) tell_info(e, &image->header);
}

/* Rows of one colour that is neither black nor white: no sensor shows them, memory that nobody filled does. */
static bool is_torn(const struct nm_camera_edge *e, const uint8_t *yuyv)
{
    uint32_t width = e->camera->lens.width, height = e->camera->lens.height, flat = 0, n = 0;
    for (uint32_t y = 0; y < height; y += 8, n++) {
        const uint8_t *row = yuyv + (size_t)2 * width * y;
        bool grey = row[1] > 120 && row[1] < 136 && row[3] > 120 && row[3] < 136, same = true;
        if (grey && (row[0] < 17 || row[0] > 234)) continue;
        for (uint32_t x = 1; x < width / 2 && same; x++) same = !memcmp(row + (size_t)4 * x, row, 4);
        flat += same;
    }
    return flat * 8 > n;
}

/* Some pixels of the image: two images of a real sensor never have the same noise. False: it is not to be shown. */
static bool judge(struct nm_camera_edge *e, const uint8_t *yuyv, int64_t now)
{
    uint64_t sum = 0, light = 0;
    uint32_t n = 0, bytes = 2 * e->camera->lens.width * e->camera->lens.height, same = e->same;
    for (uint32_t i = 0; i < bytes; i += 254, n++) {
        sum = sum * 31 + yuyv[i];
        light += yuyv[i & ~1u];
    }
    bool black = n && light / n < 4, white = n && light / n > 250;
    e->same = sum == e->sum ? e->same + 1 : 0;
    e->sum = sum;
    complain(e, BLACK, black, now);
    complain(e, WHITE, white, now);
    complain(e, FROZEN, e->same >= SAME && !black && !white, now);
    complain(e, TWICE, !e->same && same && same < SAME && !black && !white, now);
    bool torn = !e->mjpeg && is_torn(e, yuyv);
    complain(e, DAMAGED, torn, now);
    return !torn && (!e->same || black); /* an image that came twice is old */
}

/* The driver's stamp, if it is of the monotonic clock, before now and after its last one; never before the image that
 * was shown last, which may have got the time of its arrival. */
static int64_t stamp_of(struct nm_camera_edge *e, const struct v4l2_buffer *b, int64_t now)
{
    int64_t stamp = (int64_t)b->timestamp.tv_sec * 1000000000 + (int64_t)b->timestamp.tv_usec * 1000;
    bool monotonic = (b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    bool sane = monotonic && stamp <= now && stamp > now - TRY_AGAIN, good = sane && stamp > e->driver_stamp;
    complain(e, CLOCK, monotonic && !good, now);
    if (sane) e->driver_stamp = stamp;
    if (!good) stamp = now;
    return e->last_stamp = stamp > e->last_stamp ? stamp : e->last_stamp + 1;
}

static const uint8_t *decode(struct nm_camera_edge *e, const uint8_t *bytes, uint32_t n)
{
    const struct nm_camera *lens = &e->camera->lens;
    uint32_t raw = 2 * lens->width * lens->height;
    struct nm_pixels pixels;
    struct nm_err err = {0};
    if (!e->mjpeg) return n >= raw ? bytes : NULL; /* half an image is none */
    if (nm_jpeg_decode(bytes, n, e->rgb, (size_t)3 * lens->width * lens->height, &pixels, &err) < 0 ||
        pixels.width != lens->width || pixels.height != lens->height)
        return NULL;
    nm_rgb_to_yuyv(e->rgb, lens->width, lens->height, pixels.step, e->yuyv);
    return e->yuyv;
}

/* The newest of the images that wait; older ones are given back unseen. */
static void take(struct nm_camera_edge *e, int64_t now)
{
    struct v4l2_buffer b, newest = {0};
    bool found = false;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        b = (struct v4l2_buffer){.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
        if (control(e, VIDIOC_DQBUF, &b) < 0) {
            if (errno == EAGAIN) break;
            shut(e);
            complain(e, GONE, true, now);
            e->next_try = now + TRY_AGAIN;
            return;
        }
        if (found) control(e, VIDIOC_QBUF, &newest);
        newest = b;
        found = true;
    }
    if (!found) return;
    bool ours = newest.index < BUFFERS && e->buffers[newest.index].at;
    uint32_t n = ours && newest.bytesused <= e->buffers[newest.index].length ? newest.bytesused : 0;
    bool whole = n && !(newest.flags & V4L2_BUF_FLAG_ERROR);
    const uint8_t *yuyv = whole ? decode(e, e->buffers[newest.index].at, n) : NULL;
    int64_t stamp = stamp_of(e, &newest, now);
    if (!yuyv) complain(e, DAMAGED, true, now);
    if (yuyv && judge(e, yuyv, now)) tell(e, yuyv, stamp);
    control(e, VIDIOC_QBUF, &newest);
}

void nm_camera_edge_round(struct nm_camera_edge *e, int64_t now)
{
    nm_edge_begin(e->edge, now);
    if (e->n_pictures) {
        if (now >= e->next_image) {
            tell(e, e->pictures[e->next_picture++ % e->n_pictures].yuyv, now);
            e->next_image = now + e->period;
        }
    } else {
        const CameraControls *orders = nm_edge_in(e->edge, ORDERS);
        if (e->fd < 0) try_open(e, now);
        if (e->fd >= 0 && orders && nm_slot(orders)->seq) obey(e, orders);
        if (e->fd >= 0) take(e, now);
    }
    nm_edge_end(e->edge);
}

static void beat(void *user, int64_t now) { nm_camera_edge_round(user, now); }

/* ---- opening ---- */

static int read_folder(struct nm_camera_edge *e, struct nm_err *err)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const struct nm_camera *lens = &e->camera->lens;
    struct nm_arena arena = {0};
    int bad = 0;
    e->pictures = nm_calloc(PICTURES, sizeof *e->pictures);
    for (int k = 0; k < 3 && !bad; k++) {
        uint32_t n;
        const char *const *names = nm_files_in(&arena, e->source, endings[k], &n);
        for (uint32_t i = 0; i < n && !bad && e->n_pictures < PICTURES; i++) {
            struct nm_image *to = &e->pictures[e->n_pictures];
            const char *path = nm_take_format(&arena, "%s/%s%s", e->source, names[i], endings[k]);
            bad = nm_image_read(path, to, err);
            if (!bad) e->n_pictures++;
            if (!bad && (to->width != lens->width || to->height != lens->height))
                bad = nm_fail(err, "%s has %u x %u pixels; the robot's camera %s has %u x %u", path, to->width,
                              to->height, e->camera->name, lens->width, lens->height);
        }
    }
    if (!bad && !e->n_pictures) bad = nm_fail(err, "%s has no images (.png, .jpg, .jpeg)", e->source);
    nm_arena_free(&arena);
    return bad;
}

struct nm_camera_edge *nm_camera_edge_new(struct nm_player *player, const struct nm_body *body, uint32_t camera,
                                          const char *source, const struct nm_video_calls *calls, struct nm_err *err)
{
    if (!body || camera >= body->n_cameras) {
        nm_fail(err, "%s: the robot has %u cameras, none for this one", source, body ? body->n_cameras : 0);
        return NULL;
    }
    struct nm_camera_edge *e = nm_calloc(1, sizeof *e);
    e->camera = &body->cameras[camera];
    e->frame = body->frames[e->camera->frame].name;
    e->calls = calls ? *calls : real_calls;
    e->fd = -1;
    e->mjpeg = !strcmp(e->camera->format, "mjpeg");
    e->period = (int64_t)(1e9 / (e->camera->fps > 0 ? e->camera->fps : 30));
    snprintf(e->source, sizeof e->source, "%s", source);
    size_t pixels = (size_t)e->camera->lens.width * e->camera->lens.height;
    char topics[3][96], name[48];
    snprintf(topics[0], sizeof topics[0], "%s/image_raw", e->camera->name);
    snprintf(topics[1], sizeof topics[1], "%s/camera_info", e->camera->name);
    snprintf(topics[2], sizeof topics[2], "%s/controls", e->camera->name);
    snprintf(name, sizeof name, "camera%u", camera);
    const struct nm_edge_port ports[PORTS] = {
        [IMAGE] = {topics[0], NM_PORT_OUT, &Image_type, 0, (uint32_t)(2 * pixels)},
        [INFO] = {topics[1], NM_PORT_OUT | NM_EDGE_OPTIONAL, &CameraInfo_type, 0, 0},
        [ORDERS] = {topics[2], NM_PORT_IN | NM_EDGE_OPTIONAL, &CameraControls_type, 0, 0},
        [ROSOUT] = {"rosout", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Log_type, 16, 0},
    };
    if (e->mjpeg && (!(e->rgb = malloc(3 * pixels)) || !(e->yuyv = malloc(2 * pixels + 4)))) abort();
    if ((!nm_folder_exists(source) || read_folder(e, err) == 0) &&
        (e->edge = nm_edge_new(player, name, ports, PORTS, err)))
        return e;
    nm_camera_edge_free(e);
    return NULL;
}

int nm_camera_edge_start(struct nm_camera_edge *e, struct nm_err *err)
{
    const struct nm_edge_beat plan = {e->period / 8, e->period / 2, 0, beat, e};
    e->started = nm_edge_start(e->edge, &plan, err) == 0;
    return e->started ? 0 : -1;
}

void nm_camera_edge_free(struct nm_camera_edge *e)
{
    if (!e) return;
    if (e->started) nm_edge_stop(e->edge);
    shut(e);
    for (uint32_t i = 0; i < e->n_pictures; i++) nm_image_free(&e->pictures[i]);
    free(e->pictures);
    free(e->rgb);
    free(e->yuyv);
    free(e);
}

/* The camera's edge against a device of the kernel that is a fake: no machine that builds this has a camera. */
#include <errno.h>
#include <linux/videodev2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/jpeg.h"
#include "core/registry.h"
#include "core/stamp.h"
#include "edge/camera/camera_edge.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Image.h"

enum { WIDTH = 64, HEIGHT = 48, BYTES = 2 * WIDTH * HEIGHT, N = 4, ROOM = 4 * BYTES };

/* ---- a device ---- */

static struct fake {
    bool plugged, streaming, error;
    uint32_t fourcc, opened, mapped;
    bool queued[N];
    uint8_t memory[N][ROOM];
    uint32_t waiting, bytes; /* images that wait; bytes of each */
    uint32_t order[64];
    int64_t stamps[64];
    uint32_t exposure_set, exposure_mode, refused;
} fake;

static int fake_open(void *user, const char *path)
{
    (void)user;
    (void)path;
    errno = ENOENT;
    if (!fake.plugged) return -1;
    fake.opened++;
    memset(fake.queued, 0, sizeof fake.queued);
    fake.waiting = 0;
    return 7;
}

static int fail_with(int number)
{
    errno = number;
    return -1;
}

static int fake_ioctl(void *user, int fd, unsigned long request, void *argument)
{
    (void)user;
    assert_int_equal(fd, 7);
    struct v4l2_buffer *b = argument;
    if (!fake.plugged) return fail_with(ENODEV);
    if (request == VIDIOC_S_FMT) {
        fake.fourcc = ((struct v4l2_format *)argument)->fmt.pix.pixelformat;
    } else if (request == VIDIOC_QUERYBUF) {
        b->length = ROOM;
        b->m.offset = b->index * ROOM;
    } else if (request == VIDIOC_QBUF) {
        assert_false(fake.queued[b->index]); /* never given back twice */
        fake.queued[b->index] = true;
    } else if (request == VIDIOC_STREAMON) {
        fake.streaming = true;
    } else if (request == VIDIOC_DQBUF) {
        if (!fake.waiting) return fail_with(EAGAIN);
        b->index = fake.order[0];
        b->bytesused = fake.bytes;
        b->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | (fake.error ? V4L2_BUF_FLAG_ERROR : 0);
        b->timestamp.tv_sec = fake.stamps[0] / 1000000000;
        b->timestamp.tv_usec = fake.stamps[0] / 1000 % 1000000;
        fake.waiting--;
        memmove(fake.order, fake.order + 1, fake.waiting * sizeof *fake.order);
        memmove(fake.stamps, fake.stamps + 1, fake.waiting * sizeof *fake.stamps);
    } else if (request == VIDIOC_S_CTRL) {
        struct v4l2_control *c = argument;
        if (c->id == V4L2_CID_EXPOSURE_ABSOLUTE) fake.exposure_set = (uint32_t)c->value;
        if (c->id == V4L2_CID_EXPOSURE_AUTO) fake.exposure_mode = (uint32_t)c->value;
        if (c->id == V4L2_CID_FOCUS_ABSOLUTE) return fail_with(EINVAL);
    }
    return 0;
}

static void *fake_map(void *user, int fd, size_t length, off_t offset)
{
    (void)user;
    (void)fd;
    assert_int_equal(length, ROOM);
    fake.mapped++;
    return fake.memory[offset / ROOM];
}
static void fake_unmap(void *user, void *at, size_t length)
{
    (void)user;
    (void)at;
    (void)length;
    fake.mapped--;
}
static void fake_close(void *user, int fd)
{
    (void)user;
    (void)fd;
    fake.streaming = false;
}
static const struct nm_video_calls calls = {fake_open, fake_ioctl, fake_map, fake_unmap, fake_close, NULL};

/* An image of one colour is taken, if a buffer is free. */
static void expose(uint8_t light, int64_t stamp)
{
    static uint8_t jpeg[ROOM], yuyv[BYTES];
    for (uint32_t i = 0; i < N; i++) {
        if (!fake.queued[i]) continue;
        fake.queued[i] = false;
        for (uint32_t k = 0; k < BYTES; k++) yuyv[k] = k & 1 ? 128 : k % 34 == 32 ? light + 1 : light;
        size_t n = BYTES;
        struct nm_err err = {0};
        const struct nm_pixels pixels = {WIDTH, HEIGHT, 2 * WIDTH, "yuv422_yuy2", yuyv, BYTES};
        bool mjpeg = fake.fourcc == V4L2_PIX_FMT_MJPEG;
        if (mjpeg) assert_int_equal(nm_jpeg_encode(&pixels, 90, jpeg, sizeof jpeg, &n, &err), 0);
        memcpy(fake.memory[i], mjpeg ? jpeg : yuyv, n);
        fake.bytes = (uint32_t)n;
        fake.order[fake.waiting] = i;
        fake.stamps[fake.waiting++] = stamp;
        return;
    }
}

/* ---- a player that looks ---- */

struct eye {
    struct nm *nm;
    const Image *image;
    const CameraInfo *info;
    uint32_t n;
    uint8_t light;
    int64_t stamp;
};
static struct eye *eye;
static void eye_step(struct eye *f)
{
    eye = f;
    if (!nm_fresh(f->nm, f->image)) return;
    f->n++;
    f->light = f->image->data.data[0];
    f->stamp = nm_stamp_ns(f->image->header.stamp);
    assert_int_equal(f->image->data.n, BYTES);
    assert_true(nm_stamp_ns(f->info->header.stamp) == f->stamp);
    assert_true(f->info->k[0] == 60);
}
#define SELF struct eye
static const struct nm_port eye_ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(info, CameraInfo, "camera/camera_info"),
    {0},
};
NM_MODULE_UNLISTED(eye, "Looks.", NM_PORTS(eye_ports), .step = NM_CALL(eye_step))

struct rig {
    struct nm_arena arena;
    struct nm_registry registry;
    const struct nm_module *modules[2];
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_edge *listener;
    struct nm_camera_edge *camera;
    struct nm_body body;
    struct nm_frame frames[1];
    int64_t now;
    uint32_t said;
    char last[512];
};

extern const struct nm_module camera_controls_module;

static void begin(struct rig *r, const char *format)
{
    static const char text[] = "cycles:\n  look: {period: 10 ms, modules: [eye, camera_controls]}\nremote: "
                               "[camera/image_raw, camera/camera_info]\n";
    static const struct nm_edge_port port = {"rosout", NM_PORT_QUEUE, &Log_type, 32, 0};
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    memset(&fake, 0, sizeof fake);
    fake.plugged = true;
    r->frames[0].name = "eye_frame";
    r->body.frames = r->frames;
    r->body.n_frames = r->body.n_cameras = 1;
    r->body.cameras[0] = (struct nm_body_camera){.name = "camera", .format = format, .fps = 30};
    r->body.cameras[0].lens =
        (struct nm_camera){.width = WIDTH, .height = HEIGHT, .fx = 60, .fy = 60, .cx = 31.5, .cy = 23.5};
    r->modules[0] = &camera_controls_module;
    r->modules[1] = &eye_module;
    nm_registry_init(&r->registry, &r->arena, r->modules, r->modules + 2);
    r->lineup = nm_lineup_parse(text, sizeof text - 1, "test", &r->registry, &(struct nm_lineup_options){0}, &err);
    if (!r->lineup) fail_msg("%s", err.text);
    r->player = nm_player_new(r->lineup, &(struct nm_player_options){0}, &err);
    r->listener = nm_edge_new(r->player, "listener", &port, 1, &err);
    r->camera = nm_camera_edge_new(r->player, &r->body, 0, "/dev/video9", &calls, &err);
    if (!r->camera) fail_msg("%s", err.text);
}

static void round_at(struct rig *r, int64_t ms)
{
    const void *const *lines;
    r->now += ms * 1000000;
    nm_camera_edge_round(r->camera, r->now);
    nm_players_run(&r->player, 1, r->now + 1, 1);
    nm_edge_begin(r->listener, r->now);
    uint32_t lost, n = nm_edge_queue(r->listener, 0, &lines, &lost);
    for (uint32_t i = 0; i < n; i++) {
        const Log *log = lines[i];
        if (strcmp(log->name, "camera")) continue;
        snprintf(r->last, sizeof r->last, "%s", log->msg);
        r->said++;
    }
    nm_edge_end(r->listener);
}

static void end(struct rig *r)
{
    nm_camera_edge_free(r->camera);
    assert_int_equal(fake.mapped, 0);
    nm_player_free(r->player);
    nm_lineup_free(r->lineup);
    nm_arena_free(&r->arena);
}

/* For more than half a second good images come. */
static void go_on(struct rig *r)
{
    static uint8_t light;
    for (int i = 0; i < 20; i++) {
        light = (uint8_t)(light + 1) % 40;
        expose((uint8_t)(100 + light), r->now + 1);
        round_at(r, 33);
    }
    round_at(r, 10);
}

/* ---- tests ---- */

static void images_come_with_the_time_of_their_exposure(void **state)
{
    (void)state;
    static const char *const formats[] = {"yuyv", "mjpeg"};
    for (int k = 0; k < 2; k++) {
        struct rig r;
        begin(&r, formats[k]);
        round_at(&r, 10);
        assert_true(fake.streaming);
        for (uint8_t i = 0; i < 10; i++) {
            int64_t taken = r.now + 3000000;
            expose((uint8_t)(40 + 10 * i), taken);
            round_at(&r, 20);
            round_at(&r, 10);
            assert_int_equal(eye->n, i + 1);
            assert_true(abs(eye->light - (40 + 10 * i)) <= (k ? 3 : 0));
            assert_true(eye->stamp == taken);
        }
        assert_int_equal(r.said, 0);
        end(&r);
    }
}

static void of_several_images_the_newest_is_taken(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "yuyv");
    round_at(&r, 10);
    for (uint8_t i = 0; i < 4; i++) expose((uint8_t)(50 + i), r.now + i);
    round_at(&r, 10);
    round_at(&r, 10);
    assert_int_equal(eye->n, 1);
    assert_int_equal(eye->light, 53);
    for (uint32_t i = 0; i < N; i++) assert_true(fake.queued[i]); /* all of them are back */
    end(&r);
}

static void a_camera_that_was_unplugged_is_found_again(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "yuyv");
    fake.plugged = false;
    for (int i = 0; i < 100; i++) round_at(&r, 50);
    assert_int_equal(r.said, 1); /* said once in five seconds */
    fake.plugged = true;
    for (int i = 0; i < 22; i++) round_at(&r, 50);
    assert_int_equal(r.said, 2);
    expose(90, r.now);
    round_at(&r, 10);
    round_at(&r, 10);
    assert_int_equal(eye->n, 1);
    fake.plugged = false; /* in the middle of its work */
    round_at(&r, 10);
    assert_int_equal(r.said, 3);
    assert_int_equal(fake.mapped, 0);
    fake.plugged = true;
    for (int i = 0; i < 22; i++) round_at(&r, 50);
    expose(95, r.now);
    round_at(&r, 10);
    round_at(&r, 10);
    assert_int_equal(eye->n, 2);
    assert_int_equal(fake.opened, 2);
    end(&r);
}

static void faults_are_reported_once_and_images_go_on(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "yuyv");
    round_at(&r, 10);
    /* frozen: the same image is no new image */
    for (int i = 0; i < 20; i++) {
        expose(80, r.now + 1);
        round_at(&r, 33);
    }
    round_at(&r, 10);
    assert_int_equal(eye->n, 1);
    assert_int_equal(r.said, 1);
    go_on(&r);
    assert_int_equal(eye->n, 21);
    assert_int_equal(r.said, 2);
    /* every image twice: one report, and each is shown once */
    for (uint8_t i = 0; i < 20; i++) {
        expose((uint8_t)(60 + i / 2), r.now + 1);
        round_at(&r, 33);
    }
    assert_int_equal(r.said, 3);
    assert_non_null(strstr(r.last, "twice"));
    go_on(&r);
    assert_int_equal(eye->n, 51);
    assert_int_equal(r.said, 4);
    /* stamps that jump into the future and back */
    for (uint8_t i = 0; i < 10; i++) {
        expose((uint8_t)(60 + i), i & 1 ? r.now + 5000000000 : r.now + 1);
        round_at(&r, 33);
        assert_true(eye->stamp <= r.now);
    }
    assert_int_equal(r.said, 5); /* it comes and goes, and is reported once */
    go_on(&r);
    assert_int_equal(eye->n, 81);
    assert_int_equal(r.said, 6); /* its clock is steady again */
    /* all white */
    for (uint8_t i = 0; i < 10; i++) {
        expose(253, r.now + 1);
        round_at(&r, 33);
    }
    assert_int_equal(r.said, 7);
    assert_non_null(strstr(r.last, "white"));
    go_on(&r);
    assert_int_equal(r.said, 8);
    /* half an image; memory that nobody filled; more bytes than the buffer has */
    uint32_t shown = eye->n;
    expose(83, r.now + 1);
    fake.bytes = BYTES / 2;
    round_at(&r, 33);
    assert_non_null(strstr(r.last, "damaged"));
    expose(84, r.now + 1);
    memset(fake.memory[fake.order[0]] + BYTES / 2, 0, BYTES / 2);
    round_at(&r, 33);
    expose(85, r.now + 1);
    fake.bytes = ROOM + 1;
    round_at(&r, 33);
    round_at(&r, 10);
    assert_int_equal(eye->n, shown);
    assert_int_equal(r.said, 9);
    go_on(&r);
    assert_int_equal(eye->n, shown + 20);
    assert_int_equal(r.said, 10);
    end(&r);
}

static void controls_are_set_while_it_runs(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "yuyv");
    round_at(&r, 10);
    round_at(&r, 10);
    assert_int_equal(fake.exposure_mode, V4L2_EXPOSURE_APERTURE_PRIORITY);
    struct nm_err err = {0};
    uint32_t instance = nm_lineup_instance(r.lineup, "camera_controls");
    struct nm_change change = {.instance = instance, .param = 0};
    assert_int_equal(nm_value_parse(&camera_controls_module.params[0], "120", &change.value, &err), 0);
    assert_true(nm_player_set(r.player, &change, 1, &err) >= 0);
    for (int i = 0; i < 3; i++) round_at(&r, 10);
    assert_int_equal(fake.exposure_set, 120);
    assert_int_equal(fake.exposure_mode, V4L2_EXPOSURE_MANUAL);
    assert_int_equal(r.said, 0);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_with_the_time_of_their_exposure),
        cmocka_unit_test(of_several_images_the_newest_is_taken),
        cmocka_unit_test(a_camera_that_was_unplugged_is_found_again),
        cmocka_unit_test(faults_are_reported_once_and_images_go_on),
        cmocka_unit_test(controls_are_set_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

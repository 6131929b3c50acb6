/* Cameras of the robots. A picture is taken when its time has come, of the world as it stands then, and is with the
 * brain a while later, stamped with the moment of its exposure. Cameras of different robots are not in step, as theirs
 * are not; those whose time comes in the same step are shared out among the workers. */
#include <string.h>

#include "sensor_msgs/Image.h"
#include "sensor_msgs/PointCloud2.h"
#include "sim/stage_parts.h"

/* ---- opening ---- */

static const struct nm_lens_map *lens_of(struct nm_stage *stage, const struct nm_body *body, uint32_t camera,
                                         struct nm_err *err)
{
    for (uint32_t i = 0; i < stage->n_lookouts; i++) {
        const struct lookout *l = &stage->lookouts[i];
        if (stage->actors[l->robot].body == body && l->camera == camera) return l->eye->lens;
    }
    return nm_lens_map_new(&stage->arena, &body->cameras[camera].lens, err);
}

/* A depth camera has a point for every fourth pixel of every fourth row. */
static void open_cloud(struct nm_stage *stage, struct lookout *l)
{
    const struct nm_camera *c = &l->eye->lens->camera;
    uint32_t w = c->width / STAGE_CLOUD_STEP, h = c->height / STAGE_CLOUD_STEP;
    nm_eye_measures(l->eye, &stage->arena);
    l->rays = nm_take_n(&stage->arena, struct vec3, w * h);
    for (uint32_t i = 0; i < w * h; i++)
        nm_camera_unproject(c, (struct pixel){STAGE_CLOUD_STEP * (i % w), STAGE_CLOUD_STEP * (i / w)}, &l->rays[i]);
}

static int open_eye(struct nm_stage *stage, uint32_t robot, uint32_t camera, struct nm_err *err)
{
    const struct actor *a = &stage->actors[robot];
    const struct nm_body_camera *c = &a->body->cameras[camera];
    bool picture = nm_edge_out(a->edge, stage_camera_port(camera, PORT_PICTURE)),
         truth = nm_edge_out(a->edge, stage_camera_port(camera, PORT_PICTURE_TRUTH)),
         cloud = nm_edge_out(a->edge, stage_camera_port(camera, PORT_CLOUD));
    if (!picture && !truth && !cloud) return 0;
    const struct nm_lens_map *lens = lens_of(stage, a->body, camera, err);
    if (!lens) return nm_fail(err, "robot %s: its camera %s cannot be simulated", a->row.name, c->name);
    struct lookout *l = &stage->lookouts[stage->n_lookouts++];
    /* cameras of all robots at the same time, so that the workers share their pictures and the visions that look at
     * them: one picture in a step would leave all workers but one idle */
    struct nm_dice dice = nm_dice_new(stage->options.world.seed, 21 + camera, 0);
    *l = (struct lookout){.robot = robot,
                          .camera = camera,
                          .eye = nm_eye_new(&stage->arena, lens),
                          .format = strcmp(c->format, "rgb8") ? NM_YUYV : NM_RGB8,
                          .period = stage_camera_period(stage, c),
                          .exposed = -1};
    l->next = (int64_t)((double)l->period * nm_dice_roll(&dice));
    if (cloud) open_cloud(stage, l);
    if (!truth) return 0;
    l->truth = nm_take(&stage->arena, sizeof *l->truth);
    l->shown = nm_take(&stage->arena, sizeof *l->shown);
    return 0;
}

int stage_open_eyes(struct nm_stage *stage, struct nm_err *err)
{
    int bad = 0;
    if (stage->options.fidelity != NM_FIDELITY_CAMERA) return 0;
    for (uint32_t i = 0; i < stage->n; i++)
        for (uint32_t c = 0; stage->actors[i].edge && c < stage->actors[i].body->n_cameras; c++)
            bad |= open_eye(stage, i, c, err);
    return bad;
}

void stage_close_eyes(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_lookouts; i++) nm_blob_release(&stage->lookouts[i].picture);
}

/* ---- taking pictures ---- */

struct shift { /* pictures of one step */
    struct nm_stage *stage;
    uint32_t n, due[NM_PLAYERS * NM_CAMERAS];
};

static void take_picture(const struct nm_stage *stage, struct lookout *l)
{
    nm_cast(l->eye, stage->scene, l->to_field);
    if (l->picture.data) {
        uint64_t noise = nm_spread(nm_spread(stage->options.world.seed + 256 * l->robot + l->camera) ^ l->frames);
        nm_develop(l->eye, &stage->options.shutter, noise, l->format, l->picture.data);
    }
    if (l->truth) {
        nm_picture_truth(l->eye, stage->scene, l->shown);
        feed_picture_truth(stage, l, l->truth);
    }
}

static void take_one(void *user, uint32_t i, uint32_t hand)
{
    struct shift *shift = user;
    (void)hand;
    take_picture(shift->stage, &shift->stage->lookouts[shift->due[i]]);
}

static void ready(struct nm_stage *stage, struct lookout *l)
{
    const struct actor *a = &stage->actors[l->robot];
    uint32_t bytes = nm_picture_bytes(&l->eye->lens->camera, l->format);
    uint32_t port = stage_camera_port(l->camera, PORT_PICTURE);
    l->exposed = stage->now;
    l->frames++;
    while (l->next <= stage->now) l->next += l->period;
    l->to_field = nm_camera_mounted(a->body, l->camera, &stage->options.mount, nm_stage_kin(stage, l->robot));
    if (nm_edge_out(a->edge, port) && nm_edge_blob(a->edge, port, &l->picture, bytes)) l->picture.n = bytes;
    if (l->truth) nm_reset(&CameraTruth_type, l->truth);
}

void stage_expose(struct nm_stage *stage)
{
    struct shift shift = {.stage = stage};
    for (uint32_t i = 0; i < stage->n_lookouts; i++)
        if (stage->lookouts[i].next <= stage->now && stage->lookouts[i].exposed < 0) shift.due[shift.n++] = i;
    if (!shift.n) return;
    nm_stage_scene(stage);
    for (uint32_t i = 0; i < shift.n; i++) ready(stage, &stage->lookouts[shift.due[i]]);
    nm_workers_run(stage->workers, shift.n, take_one, &shift);
}

/* ---- handing them over ---- */

static void show_picture(struct actor *a, struct lookout *l, Header header)
{
    uint32_t port = stage_camera_port(l->camera, PORT_PICTURE);
    const struct nm_camera *lens = &l->eye->lens->camera;
    Image *image = nm_edge_out(a->edge, port);
    if (!image || !l->picture.data) return;
    image->header = header;
    image->width = lens->width;
    image->height = lens->height;
    image->step = l->picture.n / lens->height;
    nm_text(image->encoding, "%s", l->format == NM_RGB8 ? "rgb8" : "yuv422_yuy2");
    image->data = l->picture; /* ours no more */
    l->picture = (struct nm_blob){0};
    nm_edge_put(a->edge, port);
}

/* The points that a depth camera in the place of this one would measure, in its optical frame. Distances err like those
 * of a stereo camera, by their square. */
static void show_cloud(struct actor *a, struct lookout *l, Header header)
{
    const double error = 0.003; /* 1/m, 1 sigma */
    uint32_t port = stage_camera_port(l->camera, PORT_CLOUD);
    const struct nm_lens_map *lens = l->eye->lens;
    uint32_t w = lens->camera.width / STAGE_CLOUD_STEP, h = lens->camera.height / STAGE_CLOUD_STEP;
    PointCloud2 *to = l->rays ? nm_edge_out(a->edge, port) : NULL;
    if (!to || !nm_edge_blob(a->edge, port, &to->data, w * h * STAGE_CLOUD_BYTES)) return;
    struct nm_dice dice = nm_dice_new(l->frames, l->robot, l->camera);
    to->header = header;
    to->width = w, to->height = h;
    to->point_step = STAGE_CLOUD_BYTES, to->row_step = w * STAGE_CLOUD_BYTES;
    to->is_dense = true;
    for (uint32_t k = 0; k < 3; k++) {
        PointField *field = nm_append(&to->fields, &PointField_type);
        *field = (PointField){.offset = 4 * k, .datatype = PointField_FLOAT32, .count = 1};
        nm_text(field->name, "%c", "xyz"[k]);
    }
    for (uint32_t i = 0; i < w * h; i++) {
        double range = l->eye->range[i / w * STAGE_CLOUD_STEP * lens->stride + i % w * STAGE_CLOUD_STEP];
        range += error * range * range * nm_dice_gauss(&dice);
        const float p[3] = {(float)(range * l->rays[i].x), (float)(range * l->rays[i].y),
                            (float)(range * l->rays[i].z)};
        memcpy(to->data.data + (size_t)i * STAGE_CLOUD_BYTES, p, sizeof p);
    }
    to->data.n = w * h * STAGE_CLOUD_BYTES;
    nm_edge_put(a->edge, port);
}

static void show(struct actor *a, struct lookout *l)
{
    uint32_t info_port = stage_camera_port(l->camera, PORT_INFO),
             truth_port = stage_camera_port(l->camera, PORT_PICTURE_TRUTH);
    Header header = {.stamp = nm_stamp(l->exposed)};
    nm_text(header.frame_id, "%s", a->body->frames[a->body->cameras[l->camera].frame].name);
    CameraInfo *info = nm_edge_out(a->edge, info_port);
    if (info) {
        nm_feed_camera_info(a->body, l->camera, info);
        info->header = header;
        nm_edge_put(a->edge, info_port);
    }
    if (l->truth) {
        CameraTruth *truth = nm_edge_out(a->edge, truth_port);
        nm_copy(&CameraTruth_type, truth, l->truth);
        truth->header = header;
        nm_edge_put(a->edge, truth_port);
    }
    show_cloud(a, l, header);
    show_picture(a, l, header);
}

void stage_show(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_lookouts; i++) {
        struct lookout *l = &stage->lookouts[i];
        struct actor *a = &stage->actors[l->robot];
        if (l->exposed < 0 || l->exposed + stage->options.camera_delay > stage->now) continue;
        if (!a->faults.stall && !a->faults.blind) show(a, l);
        nm_blob_release(&l->picture);
        l->exposed = -1;
    }
}

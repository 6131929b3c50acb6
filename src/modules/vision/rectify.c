/* The image as a camera without distortion would have taken it, in colour (image_proc's image_rect_color): straight
 * lines of the world are straight in it. The camera keeps its focal length and centre. Nobody of the classic line-up
 * needs it; people who look on and programs of others do. */
#include "modules/vision/frame.h"

enum { NODE = 16 /* px between two places whose origin is worked out */, NODES = FRAME_SIDE / NODE + 2 };

struct rectify {
    struct nm *nm;
    /* in */
    const Image *image;
    /* out */
    Image *straight;
    /* params */
    int32_t every;
    /* state */
    uint32_t taken;
    uint32_t mapped;                                    /* the camera's number and 1; 0: none yet */
    float from_u[NODES * NODES], from_v[NODES * NODES]; /* px of the image; negative: not in it */
};

/* The camera's number and 1; 0: nobody knows the lens. */
static uint32_t camera_of(const struct rectify *f)
{
    const struct nm_body *body = f->nm->body;
    for (uint32_t i = 0; body && i < body->n_cameras; i++) {
        const struct nm_body_camera *c = &body->cameras[i];
        bool ours = !strcmp(body->frames[c->frame].name, f->image->header.frame_id);
        if (ours && c->lens.width == f->image->width && c->lens.height == f->image->height) return i + 1;
    }
    return 0;
}

static void make_map(struct rectify *f, const struct nm_camera *c)
{
    for (uint32_t j = 0; j < c->height / NODE + 2; j++)
        for (uint32_t i = 0; i < c->width / NODE + 2; i++) {
            struct vec3 ray = {(i * NODE - c->cx) / c->fx, (j * NODE - c->cy) / c->fy, 1};
            struct pixel at = {-1e3, -1e3};
            nm_camera_project(c, ray, &at);
            f->from_u[j * NODES + i] = (float)at.u, f->from_v[j * NODES + i] = (float)at.v;
        }
}

static void straighten(const struct rectify *f, const struct frame *from, uint8_t *rgb)
{
    for (uint32_t y = 0; y < from->height; y++) {
        uint32_t j = y / NODE;
        float b = (float)(y % NODE) / NODE;
        for (uint32_t x = 0; x < from->width; x++, rgb += 3) {
            uint32_t i = x / NODE, at = j * NODES + i;
            float a = (float)(x % NODE) / NODE;
            float u = (1 - b) * ((1 - a) * f->from_u[at] + a * f->from_u[at + 1]) +
                      b * ((1 - a) * f->from_u[at + NODES] + a * f->from_u[at + NODES + 1]);
            float v = (1 - b) * ((1 - a) * f->from_v[at] + a * f->from_v[at + 1]) +
                      b * ((1 - a) * f->from_v[at + NODES] + a * f->from_v[at + NODES + 1]);
            if (!(u >= 0 && v >= 0 && u < (float)from->width - 0.5f && v < (float)from->height - 0.5f)) {
                rgb[0] = rgb[1] = rgb[2] = 0;
                continue;
            }
            uint32_t px = (uint32_t)(u + 0.5f), py = (uint32_t)(v + 0.5f);
            px = px < from->width ? px : from->width - 1, py = py < from->height ? py : from->height - 1;
            const uint8_t *pair = frame_pair(from, px, py);
            float light = pair[2 * (px & 1)], cu = (float)pair[1] - 128, cv = (float)pair[3] - 128;
            const float c[3] = {light + 1.402f * cv, light - 0.344f * cu - 0.714f * cv, light + 1.772f * cu};
            for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)fminf(fmaxf(c[k], 0), 255);
        }
    }
}

static void step(struct rectify *f)
{
    struct frame frame;
    CameraPose here = {.header = f->image->header};
    if (!nm_fresh(f->nm, f->image) || !frame_take(f->nm, f->image, &here, &frame)) return;
    uint32_t camera = camera_of(f);
    if (!camera || f->taken++ % (uint32_t)f->every) return;
    if (camera != f->mapped) make_map(f, &f->nm->body->cameras[camera - 1].lens);
    f->mapped = camera;
    Image *to = f->straight;
    uint32_t bytes = 3 * frame.width * frame.height;
    if (!nm_blob_take(f->nm, to, &to->data, bytes)) return;
    straighten(f, &frame, to->data.data);
    to->data.n = bytes;
    to->header = f->image->header;
    to->width = frame.width, to->height = frame.height, to->step = 3 * frame.width;
    nm_text(to->encoding, "rgb8");
    nm_put(f->nm, to);
}

#define SELF struct rectify
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_OUT(straight, Image, "camera/image_rect_color", .blob = 3 * FRAME_SIDE * FRAME_SIDE),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(every, 3, 1, 1000, "1", "only every such image is straightened"),
    {0},
};
NM_MODULE(rectify, "The camera's image without distortion, in colour.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))

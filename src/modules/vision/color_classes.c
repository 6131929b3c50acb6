/* Colour classes of an image at half its size. Carpet is a range of hues with a least saturation around the colour that
 * field_color has found; cheap tests of u and v come first, and only what passes has a hue (B-Human 2013, section 2.1);
 * white is what is not carpet, bright and without hue. Or, as B-Human's similarity, each pixel belongs to the reference
 * that it is most like. */
#include "modules/vision/frame.h"
#include "nutmeg_msgs/BodyInImage.h"

enum { BYTES = FRAME_SIDE / 2 * (FRAME_SIDE / 2) };

struct color_classes {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const FieldColor *color;
    const BodyInImage *body;
    /* out */
    Image *classes;
    /* params */
    float white, dark, grey;
};

/* A convex outline, row by row between its outermost crossings. */
static void fill(uint8_t *classes, uint32_t w, uint32_t h, const Polygon *outline)
{
    uint32_t n = outline->points.n;
    for (uint32_t y = 0; y < h; y++) {
        double low = INFINITY, high = -INFINITY, at = 2.0 * y;
        for (uint32_t i = 0; i < n; i++) {
            const Point32 *a = &outline->points.at[i], *b = &outline->points.at[(i + 1) % n];
            if ((a->y < at) == (b->y < at)) continue;
            double x = a->x + (at - a->y) * (b->x - a->x) / (b->y - a->y);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        if (!(low <= high) || high < 0 || low >= 2 * w) continue;
        uint32_t from = low > 0 ? (uint32_t)(low / 2) : 0, to = high < 2 * w ? (uint32_t)(high / 2) : w;
        memset(classes + (size_t)y * w + from, CLASS_BODY, to - from);
    }
}

static void step(struct color_classes *f)
{
    struct frame frame;
    Image *out = f->classes;
    if (!nm_fresh(f->nm, f->color) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    uint32_t w = frame.width / 2, h = frame.height / 2;
    if (!nm_blob_take(f->nm, out, &out->data, w * h)) return;
    const struct class_limits limits = {.carpet = carpet_of(f->color),
                                        .white = (int32_t)(f->white * f->color->y),
                                        .dark = (int32_t)(f->dark * f->color->y),
                                        .grey = (int32_t)lrintf(8 * f->grey)};
    if (limits.carpet.alike)
        classify_alike(&frame, &limits.carpet, out->data.data);
    else
        classify(&frame, &limits, out->data.data);
    bool same = nm_stamp_ns(f->body->header.stamp) == nm_stamp_ns(f->image->header.stamp);
    for (uint32_t i = 0; same && i < f->body->outlines.n; i++) fill(out->data.data, w, h, &f->body->outlines.at[i]);
    out->header = f->image->header;
    out->width = out->step = w;
    out->height = h;
    out->data.n = w * h;
    nm_text(out->encoding, "mono8");
    nm_show_image(f->nm, "classes", out->data.data, w, h, w, "mono8");
    nm_put(f->nm, out);
}

#define SELF struct color_classes
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(color, FieldColor, "field_color"),
    NM_IN(body, BodyInImage, "body_in_image", .optional = true),
    NM_OUT(classes, Image, "image_classes", .blob = BYTES),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(white, 1.3, 1, 4, "1", "white is brighter than the carpet by this factor"),
    NM_PARAM(dark, 0.6, 0.05, 1, "1", "dark is less bright than this share of the carpet's"),
    NM_PARAM(grey, 0.375, 0.05, 2, "1",
             "distance from grey, as a share of the brightness, from which a pixel has a hue"),
    {0},
};
NM_MODULE(color_classes, "Carpet, white, dark and hues: an image of classes at half size.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))

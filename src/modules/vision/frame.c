#include "modules/vision/frame.h"

#include "base/wide.h"

bool frame_take(const struct nm *nm, const Image *image, const CameraPose *pose, struct frame *frame)
{
    *frame = (struct frame){image->data.data, image->width, image->height, image->step, NULL, POSE_IDENTITY, false};
    bool yuyv = !strcmp(image->encoding, "yuv422_yuy2") || !strcmp(image->encoding, "yuyv");
    if (!image->data.data || !yuyv || image->width < 32 || image->height < 32 || image->width > FRAME_SIDE ||
        image->height > FRAME_SIDE || image->step < 4 * (image->width / 2) || image->step % 4 ||
        (uint64_t)image->step * image->height > image->data.n)
        return false;
    if (nm_stamp_ns(pose->header.stamp) != nm_stamp_ns(image->header.stamp)) return false;
    frame->width &= ~1u; /* whole pairs */
    const struct nm_body *body = nm->body;
    for (uint32_t i = 0; body && i < body->n_cameras; i++) {
        const struct nm_body_camera *c = &body->cameras[i];
        bool ours = !strcmp(body->frames[c->frame].name, image->header.frame_id);
        if (ours && c->lens.width == image->width && c->lens.height == image->height) frame->lens = &c->lens;
    }
    const Pose *p = &pose->pose;
    frame->camera_to_robot = (struct pose3){{p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z},
                                            {p->position.x, p->position.y, p->position.z}};
    frame->level = frame->lens && pose->valid && p->position.z > 0.05;
    return true;
}

uint32_t frame_horizon(const struct frame *f, double u)
{
    double v;
    if (!f->level) return f->height / 4;
    if (nm_camera_horizon(f->lens, f->camera_to_robot, u, &v))
        return v < 0 ? 0 : v >= f->height ? f->height : (uint32_t)v + 1;
    /* the camera looks so far down, or up, that it never sees the horizon */
    struct vec3 ahead = quat_apply(f->camera_to_robot.rot, (struct vec3){0, 0, 1});
    return ahead.z < 0 ? 0 : f->height;
}

double border_at(const FieldBorder *b, double u)
{
    for (uint32_t i = 1; i < b->in_image.n; i++) {
        const Point32 *p = &b->in_image.at[i - 1], *q = p + 1;
        if (u > q->x) continue;
        if (!b->seen.at[i - 1] && !b->seen.at[i]) return 0;
        return p->y + (u - p->x) * (q->y - p->y) / fmaxf(q->x - p->x, 1);
    }
    return 0;
}

struct carpet carpet_of(const FieldColor *color)
{
    double u = color->u - 128, v = color->v - 128, length = fmax(hypot(u, v), 1e-3);
    return (struct carpet){(int32_t)lrint(64 * u / length),
                           (int32_t)lrint(64 * v / length),
                           (int32_t)lrint(64 * tan(color->hue_width)),
                           (int32_t)lrint(256 * color->saturation),
                           (int32_t)lrint(color->y),
                           color->by_similarity,
                           (float)u / (color->y + 8),
                           (float)v / (color->y + 8),
                           (int32_t)lrintf(256 * color->white_u),
                           (int32_t)lrintf(256 * color->white_v)};
}

/* ---- classes ---- */

/* One row. Without branches, so that the compiler makes vectors of it: a class is a sum of masks that exclude each
 * other. */
NM_WIDE static void classify_row(const uint32_t *restrict pairs, uint32_t n, const struct class_limits *restrict l,
                                 uint8_t *restrict to)
{
    const int32_t cu = l->carpet.u, cv = l->carpet.v, tangent = l->carpet.tangent, saturation = l->carpet.saturation;
    const int32_t white_u = l->carpet.white_u, white_v = l->carpet.white_v, white = l->white, dark = l->dark,
                  grey = l->grey;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t w = pairs[i];
        int32_t y = (int32_t)((w & 255) + (w >> 16 & 255)) >> 1;
        int32_t u = (int32_t)(w >> 8 & 255) - 128, v = (int32_t)(w >> 24) - 128;
        int32_t along = cu * u + cv * v, across = cu * v - cv * u;
        across = across < 0 ? -across : across;
        u -= white_u * y >> 8, v -= white_v * y >> 8; /* hues are told from white */
        int32_t au = u < 0 ? -u : u, av = v < 0 ? -v : v;
        int32_t field = (4 * along >= saturation * y) & (along >= 64 * CARPET_FAINT) &
                        (64 * across <= tangent * along + 64 * 64 * CARPET_NOISE);
        int32_t hue = (8 * (au + av) > grey * y) & (au + av > 12) & (field ^ 1);
        /* eighths of a turn: 0 where u > v > 0 */
        int32_t low = v < 0, left = u<0, steep = av> au;
        int32_t eighth = 4 * low + 2 * (low ^ left) + (steep ^ low ^ left);
        int32_t plain = (field | hue) ^ 1;
        int32_t class = field * CLASS_FIELD + hue * (CLASS_HUE + eighth) + (plain & (y > white)) * CLASS_WHITE +
                        (plain & (y < dark)) * CLASS_DARK;
        to[i] = (uint8_t) class;
    }
}

void classify(const struct frame *f, const struct class_limits *limits, uint8_t *classes)
{
    uint32_t w = f->width / 2, h = f->height / 2;
    for (uint32_t j = 0; j < h; j++)
        classify_row((const uint32_t *)(const void *)frame_row(f, 2 * j), w, limits, classes + (size_t)j * w);
}

NM_WIDE static void alike_row(const uint32_t *restrict pairs, uint32_t n, const struct carpet *restrict c,
                              uint8_t *restrict to)
{
    const float cy = (float)c->y, au = c->au, av = c->av;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t w = pairs[i];
        float y = (float)((int32_t)((w & 255) + (w >> 16 & 255)) >> 1);
        struct unlike d =
            unlike(cy, au, av, y, (float)((int32_t)(w >> 8 & 255) - 128), (float)((int32_t)(w >> 24) - 128));
        int32_t field = (d.carpet < d.white) & (d.carpet < d.black) & (d.carpet < UNLIKE_CARPET);
        int32_t pale = (field ^ 1) & (d.white <= d.black) & (d.white < UNLIKE_OTHERS);
        int32_t deep = (field ^ 1) & (d.black < d.white) & (d.black < UNLIKE_OTHERS);
        to[i] = (uint8_t)(field * CLASS_FIELD + pale * CLASS_WHITE + deep * CLASS_DARK);
    }
}

void classify_alike(const struct frame *f, const struct carpet *carpet, uint8_t *classes)
{
    uint32_t w = f->width / 2, h = f->height / 2;
    for (uint32_t j = 0; j < h; j++)
        alike_row((const uint32_t *)(const void *)frame_row(f, 2 * j), w, carpet, classes + (size_t)j * w);
}

void sum_class(const uint8_t *classes, uint32_t w, uint32_t h, uint8_t class, uint16_t *table)
{
    memset(table, 0, (w + 1) * sizeof *table);
    for (uint32_t j = 0; j < h; j++) {
        const uint8_t *row = classes + (size_t)j * w;
        uint16_t *above = table + (size_t)j * (w + 1), *to = above + w + 1, sum = 0;
        to[0] = 0;
        for (uint32_t i = 0; i < w; i++) {
            sum = (uint16_t)(sum + (row[i] == class));
            to[i + 1] = (uint16_t)(above[i + 1] + sum);
        }
    }
}

/* ---- edges ---- */

/* A pixel is the low byte of 16 bits; the loads overlap, and nothing is unpacked. */
NM_WIDE static void sobel_row(const uint16_t *restrict above, const uint16_t *restrict at,
                              const uint16_t *restrict below, uint32_t n, uint8_t *restrict to)
{
    for (uint32_t x = 1; x + 1 < n; x++) {
        int16_t a = above[x - 1] & 255, b = above[x] & 255, c = above[x + 1] & 255, d = at[x - 1] & 255,
                e = at[x + 1] & 255, f = below[x - 1] & 255, g = below[x] & 255, h = below[x + 1] & 255;
        int16_t gx = (int16_t)(c + 2 * e + h - a - 2 * d - f), gy = (int16_t)(f + 2 * g + h - a - 2 * b - c);
        int16_t ax = (int16_t)(gx < 0 ? -gx : gx), ay = (int16_t)(gy < 0 ? -gy : gy);
        int16_t sum = (int16_t)((ax + ay) / 4);
        to[x] = (uint8_t)(sum > 255 ? 255 : sum);
    }
    to[0] = to[n - 1] = 0;
}

uint32_t sobel(const struct frame *f, uint32_t every, uint8_t *edges)
{
    uint32_t rows = 0;
    for (uint32_t y = 0; y < f->height; y += every, rows++) {
        uint8_t *to = edges + (size_t)rows * f->width;
        const uint16_t *at = (const uint16_t *)(const void *)frame_row(f, y);
        if (y == 0 || y + 1 == f->height)
            memset(to, 0, f->width);
        else
            sobel_row(at - f->step / 2, at, at + f->step / 2, f->width, to);
    }
    return rows;
}

NM_WIDE static void sum_pairs(const uint32_t *restrict pairs, uint32_t *restrict bins)
{
    for (int k = 0; k < 256; k++) {
        uint32_t sum = 0;
        for (int m = 0; m < 256; m++) sum += pairs[256 * k + m], bins[m] += pairs[256 * k + m];
        bins[k] += sum;
    }
}

/* Counts pairs of neighbours, which takes half as many additions to memory as counting bytes. Neighbours are alike, so
 * most pairs lie in a small part of the table. */
uint8_t otsu(const uint8_t *bytes, size_t n)
{
    uint32_t pairs[256 * 256] = {0}, bins[256] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t w;
        memcpy(&w, bytes + i, sizeof w);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) pairs[w >> (16 * k) & 65535]++;
    }
    for (; i < n; i++) bins[bytes[i]]++;
    sum_pairs(pairs, bins);
    double sum = 0, low = 0, low_sum = 0, best = -1;
    uint8_t threshold = 0;
    for (int k = 0; k < 256; k++) sum += (double)k * bins[k];
    for (int k = 0; k < 255; k++) {
        low += bins[k];
        low_sum += (double)k * bins[k];
        double high = (double)n - low;
        if (low == 0 || high == 0) continue;
        double apart = low_sum / low - (sum - low_sum) / high, between = low * high * apart * apart;
        if (between > best) best = between, threshold = (uint8_t)k;
    }
    return threshold;
}

NM_WIDE static void part(const uint8_t *restrict bytes, size_t n, uint8_t threshold, uint8_t *restrict to)
{
    for (size_t i = 0; i < n; i++) to[i] = bytes[i] > threshold ? 255 : 0;
}

void binarise(const uint8_t *bytes, size_t n, uint8_t threshold, uint8_t *to) { part(bytes, n, threshold, to); }

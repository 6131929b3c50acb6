/* The colour of the carpet, found anew in every image (HULKs 2017, section 5.3): a cluster of one in the plane of u and
 * v, seeded from the peak of the histogram below the horizon, moved to the mean of its pixels at most three times, and
 * not far from where it was in the image before. The colour of white things, which is that of the lamps, comes from the
 * same pixels. Nobody calibrates colours: light may change at any time. */
#include "base/clamp.h"
#include "modules/vision/frame.h"

struct field_color {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    /* out */
    FieldColor *color;
    /* params */
    char method[16];
    int32_t grid;
    float radius, shift, least, patience, max_hue;
    /* state */
    FieldColor last;
    int64_t trusted; /* ns, when `last` was seen in an image */
};

enum { BINS = 64, SAMPLES = 8192 };

struct samples {
    uint32_t n;
    uint8_t y[SAMPLES], u[SAMPLES], v[SAMPLES];
};

static void take_samples(const struct field_color *f, const struct frame *frame, struct samples *s)
{
    uint32_t grid = (uint32_t)f->grid;
    s->n = 0;
    while ((frame->width / grid) * (frame->height / grid) > SAMPLES) grid++;
    uint32_t left = frame_horizon(frame, 0), right = frame_horizon(frame, frame->width - 1);
    uint32_t top = left < right ? left : right;
    for (uint32_t y = top + grid / 2; y < frame->height; y += grid)
        for (uint32_t x = grid / 2; x < frame->width && s->n < SAMPLES; x += grid) {
            const uint8_t *p = frame_pair(frame, x, y);
            s->y[s->n] = (uint8_t)((p[0] + p[2]) / 2);
            s->u[s->n] = p[1];
            s->v[s->n++] = p[3];
        }
}

/* Carpets are some green: on the side of grey away from red and blue, under any lamp. */
static bool greenish(int32_t u, int32_t v) { return u - 128 + v - 128 < -8 && u < 134 && v < 134; }

/* White is not far from grey under lamps of any colour. */
static bool pale(int32_t u, int32_t v) { return abs(u - 128) < 52 && abs(v - 128) < 52; }

/* A histogram over the plane of u and v, with an empty bin around it. */
typedef uint16_t histogram[BINS + 2][BINS + 2];

static void count(histogram bins, int32_t u, int32_t v) { bins[1 + u / 4][1 + v / 4]++; }

/* The place around which most samples lie, of those where `may` allows it; returns how many. */
static inline uint32_t peak(histogram bins, bool (*may)(int32_t, int32_t), float *u, float *v)
{
    uint32_t best = 0;
    for (int32_t a = 1; a <= BINS; a++)
        for (int32_t b = 1; b <= BINS; b++) {
            uint32_t sum = 0;
            if (!may(4 * a - 2, 4 * b - 2)) continue;
            for (int32_t k = 0; k < 9; k++) sum += bins[a - 1 + k / 3][b - 1 + k % 3];
            if (sum <= best) continue;
            best = sum;
            *u = (float)(4 * a - 2);
            *v = (float)(4 * b - 2);
        }
    return best;
}

static bool seed(const struct samples *s, FieldColor *c)
{
    histogram bins = {0};
    for (uint32_t i = 0; i < s->n; i++) count(bins, s->u[i], s->v[i]);
    return peak(bins, greenish, &c->u, &c->v) > s->n / 20;
}

/* The most frequent colour of what is brighter than the carpet and no carpet: lines, posts, balls and robots are white.
 * Colours are compared as they would be at the brightness 128. */
static void find_white(const struct samples *s, FieldColor *c)
{
    histogram bins = {0};
    struct carpet carpet = carpet_of(c);
    int32_t bright = (int32_t)fmaxf(1.3f * c->y, 16);
    float white_u = 128, white_v = 128;
    for (uint32_t i = 0; i < s->n; i++) {
        int32_t y = s->y[i];
        if (y < bright || is_carpet(&carpet, y, s->u[i], s->v[i])) continue;
        int32_t u = 128 + (s->u[i] - 128) * 128 / y, v = 128 + (s->v[i] - 128) * 128 / y;
        if (pale(u, v)) count(bins, u, v);
    }
    peak(bins, pale, &white_u, &white_v);
    c->white_u = white_u / 128 - 1, c->white_v = white_v / 128 - 1;
}

/* The mean of all samples near (u, v) that are not much brighter than they are on average; false if there are few. */
static bool gather(const struct field_color *f, const struct samples *s, FieldColor *c)
{
    double sum[3] = {0}, far2 = f->radius * f->radius, most = c->y > 0 ? 1.8 * c->y : 256;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double du = s->u[i] - c->u, dv = s->v[i] - c->v;
        if (du * du + dv * dv > far2 || s->y[i] > most) continue;
        sum[0] += s->y[i], sum[1] += s->u[i], sum[2] += s->v[i];
        n++;
    }
    if (n < s->n / 20 || n < 16) return false;
    c->y = (float)(sum[0] / n), c->u = (float)(sum[1] / n), c->v = (float)(sum[2] / n);
    return true;
}

/* How wide the cone must be for these samples, and how many of all lie inside. */
static void measure(const struct field_color *f, const struct samples *s, FieldColor *c)
{
    double u = c->u - 128, v = c->v - 128, length = fmax(hypot(u, v), 1), turn2 = 0, far2 = f->radius * f->radius;
    uint32_t n = 0, inside = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double du = s->u[i] - c->u, dv = s->v[i] - c->v, across = (u * dv - v * du) / length;
        if (du * du + dv * dv > far2) continue;
        turn2 += across * across / (length * length);
        n++;
    }
    c->hue_width = (float)nm_clamp(3 * sqrt(turn2 / (n ? n : 1)), 0.25, f->max_hue);
    c->saturation = (float)(0.45 * length / fmax(c->y, 8));
    struct carpet carpet = carpet_of(c);
    for (uint32_t i = 0; i < s->n; i++) inside += is_carpet(&carpet, s->y[i], s->u[i], s->v[i]);
    c->confidence = s->n ? (float)inside / (float)s->n : 0;
}

static void step(struct field_color *f)
{
    struct frame frame;
    struct samples s;
    if (!(nm_fresh(f->nm, f->image) || nm_fresh(f->nm, f->pose)) || !frame_take(f->nm, f->image, f->pose, &frame))
        return;
    int64_t at = nm_stamp_ns(f->image->header.stamp);
    if (f->last.header.stamp.sec || f->last.header.stamp.nanosec)
        if (at == nm_stamp_ns(f->last.header.stamp)) return; /* this image was looked at before */
    take_samples(f, &frame, &s);

    FieldColor found = {0};
    bool known = f->last.confidence > 0, seen = seed(&s, &found);
    for (int i = 0; seen && i < 3; i++) seen = gather(f, &s, &found);
    if (seen) measure(f, &s, &found);
    /* a jump may be another thing of nearly that colour; if it lasts, it is the light */
    bool far = known && hypot(found.u - f->last.u, found.v - f->last.v) > f->shift;
    bool patient = known && at - f->trusted < nm_ns(f->patience) && at >= f->trusted;
    if (seen && found.confidence >= f->least && !(far && patient)) {
        f->last = found;
        f->trusted = at;
    }
    find_white(&s, &f->last);
    f->last.header = f->image->header;
    f->last.by_similarity = !strcmp(f->method, "similarity");
    *f->color = f->last;
    nm_show(f->nm, "share", f->last.confidence);
    nm_put(f->nm, f->color);
}

#define SELF struct field_color
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_OUT(color, FieldColor, "field_color"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(method, "ranges", "ranges similarity",
                  "how all stages tell carpet: by its ranges of hue and saturation, or by similarity to its colour"),
    NM_PARAM(grid, 8, 2, 64, "px", "distance of the pixels that are looked at"),
    NM_PARAM(radius, 11, 2, 60, "1", "of the cluster in the plane of u and v; larger takes in uneven carpets"),
    NM_PARAM(shift, 14, 1, 100, "1", "farther the colour does not move from one image to the next"),
    NM_PARAM(least, 0.12, 0.01, 1, "1", "share of the pixels below the horizon that must be carpet"),
    NM_PARAM(patience, 0.3, 0, 10, "s", "after this time without the old colour a new one is believed"),
    NM_PARAM(max_hue, 0.6, 0.1, 1.4, "rad", "largest half range of hues"),
    {0},
};
NM_MODULE(field_color, "The colour of the carpet, found anew in every image.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))

/* Which way the robot looks, by what stands around the field. While it is known where the robot is, the colours along
 * the horizon are gathered in a panorama; later images are compared with it. Halls are not infinitely far away: what
 * is seen is taken to stand on a circle around the field, so that the robot may have moved meanwhile. The field looks
 * the same from both ends, so the robot may also be where it does not believe to be: at the mirrored place. */
#include "base/clamp.h"
#include "core/poses.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/VisualCompassRotation.h"
#include "modules/vision/frame.h"

enum { BINS = 180, ROWS = 5, COLORS = 3, LOOKS = 90 };
static const double ROW[ROWS] = {-1, 0.7, 2.4, 8, 14}; /* degrees above the horizon */
static const double BIN = 2 * M_PI / BINS;
static const float UNKNOWN = 0.3f;               /* cost of a place that was never seen                  */
static const double ELSEWHERE = 40 * M_PI / 180; /* rad: headings so far apart are different answers     */

struct tint { /* of a place around the field; independent of lamps */
    float at[COLORS];
    uint32_t n; /* images it is known from */
};

struct visual_compass {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *camera;
    const PoseWithCovarianceStamped *pose;
    /* out */
    VisualCompassRotation *compass;
    /* params */
    double learn, distance, sure, contrast;
    /* state */
    double learnt; /* s */
    int64_t last;  /* ns, of the last image that was learnt from */
    struct tint around[BINS][ROWS];
};

struct look { /* one image's view of the horizon */
    uint32_t n;
    double bearing[LOOKS]; /* rad, in the robot's frame */
    struct tint seen[LOOKS][ROWS];
};

/* Mean colour around a pixel, 2 degrees wide; false outside of the image. */
static bool mean_color(const struct frame *f, struct pixel at, float yuv[3])
{
    int32_t step = (int32_t)(f->lens->fx * BIN / 6);
    uint32_t sum[3] = {0}, n = 0;
    for (int32_t i = -2; i <= 2; i++) {
        struct pixel p = {at.u + i * step, at.v};
        if (!frame_holds(f, p)) return false;
        const uint8_t *pair = frame_pair(f, (uint32_t)p.u, (uint32_t)p.v);
        sum[0] += pair[0] + pair[2], sum[1] += pair[1], sum[2] += pair[3];
        n++;
    }
    yuv[0] = (float)sum[0] / (float)(2 * n), yuv[1] = (float)sum[1] / (float)n, yuv[2] = (float)sum[2] / (float)n;
    return true;
}

static void look_around(const struct frame *f, struct look *l)
{
    float light = 0;
    uint32_t known = 0;
    l->n = 0;
    for (int i = -LOOKS / 2; i < LOOKS / 2; i++) {
        struct vec3 ahead = quat_apply(f->camera_to_robot.rot, (struct vec3){0, 0, 1});
        double bearing = atan2(ahead.y, ahead.x) + i * BIN;
        bool any = false;
        for (int r = 0; r < ROWS; r++) {
            double up = ROW[r] * M_PI / 180;
            struct vec3 ray = {cos(up) * cos(bearing), cos(up) * sin(bearing), sin(up)};
            struct pixel at;
            float yuv[3];
            struct tint *t = &l->seen[l->n][r];
            t->n = nm_camera_project(f->lens, quat_apply(quat_inv(f->camera_to_robot.rot), ray), &at) &&
                   mean_color(f, at, yuv);
            if (!t->n) continue;
            *t = (struct tint){{yuv[0], (yuv[1] - 128) / (yuv[0] + 16), (yuv[2] - 128) / (yuv[0] + 16)}, 1};
            light += yuv[0], known++;
            any = true;
        }
        if (any) l->bearing[l->n++] = bearing;
    }
    for (uint32_t i = 0; i < l->n; i++)
        for (int r = 0; r < ROWS; r++) l->seen[i][r].at[0] *= (float)known / fmaxf(light, 1);
}

/* The bin of the panorama that a ray meets: where it leaves the circle around the field. */
static uint32_t bin_of(const struct visual_compass *f, double x, double y, double heading)
{
    double c = cos(heading), s = sin(heading), along = x * c + y * s, r = fmax(f->distance, hypot(x, y) + 1);
    double t = -along + sqrt(along * along + r * r - x * x - y * y);
    double at = atan2(y + t * s, x + t * c);
    int32_t bin = (int32_t)floor(at / BIN + 0.5);
    return (uint32_t)((bin + BINS) % BINS);
}

static void learn(struct visual_compass *f, const struct look *l, struct pose2 robot)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct tint *to = f->around[bin_of(f, robot.x, robot.y, robot.theta + l->bearing[i])];
        for (int r = 0; r < ROWS; r++) {
            const struct tint *seen = &l->seen[i][r];
            if (!seen->n) continue;
            if (to[r].n < 50) to[r].n++;
            for (int k = 0; k < COLORS; k++) to[r].at[k] += (seen->at[k] - to[r].at[k]) / (float)to[r].n;
        }
    }
}

static float difference(const struct tint *a, const struct tint *b)
{
    if (!b->n) return UNKNOWN;
    float d = 0.5f * fabsf(a->at[0] - b->at[0]) + 2 * fabsf(a->at[1] - b->at[1]) + 2 * fabsf(a->at[2] - b->at[2]);
    return d < 1 ? d : 1;
}

/* Mean cost of the image if the robot stands there and faces that way, for all headings; the lower of before counts. */
static void compare(const struct visual_compass *f, const struct look *l, double x, double y, float costs[BINS])
{
    uint32_t bins[BINS];
    for (uint32_t h = 0; h < BINS; h++) bins[h] = bin_of(f, x, y, h * BIN);
    for (uint32_t h = 0; h < BINS; h++) {
        float sum = 0;
        uint32_t n = 0;
        for (uint32_t i = 0; i < l->n; i++) {
            int32_t way = (int32_t)lrint(l->bearing[i] / BIN) + (int32_t)h;
            const struct tint *there = f->around[bins[(uint32_t)((way % BINS + BINS) % BINS)]];
            for (int r = 0; r < ROWS; r++)
                if (l->seen[i][r].n) sum += difference(&l->seen[i][r], &there[r]), n++;
        }
        costs[h] = fminf(costs[h], sum / (float)(n ? n : 1));
    }
}

static void find(struct visual_compass *f, const struct look *l, struct pose2 robot)
{
    float costs[BINS], second = 1;
    uint32_t best = 0;
    for (uint32_t h = 0; h < BINS; h++) costs[h] = 1;
    compare(f, l, robot.x, robot.y, costs);
    compare(f, l, -robot.x, -robot.y, costs);
    for (uint32_t h = 1; h < BINS; h++)
        if (costs[h] < costs[best]) best = h;
    for (uint32_t h = 0; h < BINS; h++)
        if (fabs(angle_normal((h - (double)best) * BIN)) > ELSEWHERE) second = fminf(second, costs[h]);
    f->compass->orientation = (float)angle_normal(best * BIN);
    f->compass->confidence =
        (float)nm_clamp((second / fmaxf(costs[best], 1e-3f) - 1) / f->contrast * 0.5, 0, 1) * (float)(l->n >= 12);
    nm_show(f->nm, "confidence", (double)f->compass->confidence);
    nm_put(f->nm, f->compass);
}

static void step(struct visual_compass *f)
{
    struct frame frame;
    struct look l;
    if (!nm_fresh(f->nm, f->camera) || !nm_slot(f->pose)->seq || !frame_take(f->nm, f->image, f->camera, &frame) ||
        !frame.level)
        return;
    const PoseWithCovariance *p = &f->pose->pose;
    struct pose2 robot = nm_pose2(&p->pose);
    look_around(&frame, &l);
    if (l.n < 4) return; /* it looks at the ground */
    bool sure = fmax(p->covariance[0], p->covariance[7]) < f->sure * f->sure && p->covariance[35] < 0.05;
    if (f->learnt < f->learn && sure) {
        double since = f->last ? nm_seconds(f->nm->now - f->last) : 0;
        f->learnt += fmin(since, 0.5);
        f->last = f->nm->now;
        learn(f, &l, robot);
    }
    if (f->learnt >= f->learn) find(f, &l, robot);
}

static int init(struct visual_compass *f) { return nm_need_body(f->nm); }

#define SELF struct visual_compass
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(camera, CameraPose, "camera/pose"),
    NM_LAST(pose, PoseWithCovarianceStamped, "pose"),
    NM_OUT(compass, VisualCompassRotation, "visual_compass"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(learn, 30, 0.1, 3600, "s",
             "time of images that the panorama is made from, while the robot knows where it is"),
    NM_PARAM(sure, 0.4, 0.01, 5, "m", "it learns while the position's deviation is below this"),
    NM_PARAM(distance, 8.5, 1, 100, "m", "of walls and boards from the centre of the field"),
    NM_PARAM(contrast, 0.1, 0.01, 10, "1",
             "how much worse other directions must fit for a confidence of one half; as a share"),
    {0},
};
NM_MODULE(visual_compass, "Which way the robot looks, by what stands around the field.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

/* Decides which candidate is the ball by a network that has learned what balls look like (HULKs 2017, section 5.7): a
 * square around each candidate, 1.4 x as wide as the ball it may be, to the probability that it is one. Candidates are
 * the places that ball_candidates found, and the circles that ball_check fitted to their outlines: of those the place
 * is exact, so where both show the same ball the circle is told. */
#include "humanoid_league_msgs/BallsInImage.h"
#include "modules/vision/network.h"
#include "modules/vision/sketch.h"

enum { MOST = 64 }; /* as many as two messages hold */

struct ball_network {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const BallsInImage *candidates, *circles;
    /* out */
    BallInImage *ball;
    /* params */
    char model[128];
    float radius, least, size, exact;
    int32_t batch;
    /* state */
    struct nm_net *net;
    uint32_t n;
    BallInImage looked[MOST];
};

/* Takes what may be a ball in this place. */
static void gather(struct ball_network *f, const struct frame *frame, const BallsInImage *from)
{
    if (nm_stamp_ns(from->header.stamp) != nm_stamp_ns(f->image->header.stamp)) return;
    for (uint32_t i = 0; i < from->candidates.n && f->n < MOST; i++) {
        const BallInImage *b = &from->candidates.at[i];
        double expected = 2 * frame_ball(frame, b->center.x, b->center.y, f->radius);
        if (expected > 0 && fabs(log(b->diameter / expected)) > f->size) continue;
        f->looked[f->n] = *b;
        f->looked[f->n++].confidence = 0;
    }
}

/* Fills in how sure the network is, batch by batch. */
static void judge(struct ball_network *f, const struct frame *frame)
{
    enum { PIXELS = NETWORK_PATCH * NETWORK_PATCH };
    uint32_t of[MOST], n = 0, batch = nm_net_width_out(f->net, 0);
    float *in = nm_net_input(f->net, 0);
    for (uint32_t i = 0; i < f->n; i++) {
        const BallInImage *b = &f->looked[i];
        if (network_patch(frame, b->center.x, b->center.y, 1.4 * b->diameter, in + (size_t)n * PIXELS)) of[n++] = i;
        if (n < batch && i + 1 < f->n) continue;
        if (!n) break;
        nm_net_run(f->net);
        for (uint32_t k = 0; k < n; k++) f->looked[of[k]].confidence = nm_net_output(f->net, 0)[k];
        n = 0;
    }
}

static __attribute__((noinline)) void show(const struct ball_network *f, const struct frame *frame)
{
    struct sketch s;
    sketch_begin(&s, frame);
    for (uint32_t i = 0; i < f->n; i++)
        sketch_circle(&s, f->looked[i].center.x, f->looked[i].center.y, f->looked[i].diameter / 2,
                      f->looked[i].confidence > f->least ? SKETCH_GREEN : SKETCH_RED);
    sketch_show(&s, f->nm, "balls");
}

static void step(struct ball_network *f)
{
    struct frame frame;
    if (!nm_fresh(f->nm, f->candidates) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    f->ball->header = f->image->header;
    f->n = 0;
    gather(f, &frame, f->circles);
    uint32_t circles = f->n;
    gather(f, &frame, f->candidates);
    judge(f, &frame);
    const BallInImage *best = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        const BallInImage *b = &f->looked[i];
        float lead = i < circles ? 0 : f->exact;
        if (b->confidence > f->least && (!best || b->confidence > best->confidence + lead)) best = b;
    }
    if (best) *f->ball = *best;
    if (f->nm->watched) show(f, &frame);
    nm_put(f->nm, f->ball);
}

static int init(struct ball_network *f)
{
    enum { PIXELS = NETWORK_PATCH * NETWORK_PATCH };
    uint32_t batch = (uint32_t)f->batch;
    f->net = network_load(f->nm, f->model, (struct nm_net_shape){1, {batch}}, batch * PIXELS, batch);
    return f->net ? 0 : -1;
}

static void end(struct ball_network *f) { nm_net_free(f->net); }

#define SELF struct ball_network
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(candidates, BallsInImage, "ball_candidates"),
    NM_IN(circles, BallsInImage, "balls_in_image", .optional = true),
    NM_OUT(ball, BallInImage, "ball_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(model, "ball.onnx", NULL, "file of the network, read when it starts"),
    NM_PARAM(batch, 16, 1, MOST, "1", "squares that the network looks at in one run; fixed when it starts"),
    NM_PARAM(radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(least, 0.95, 0, 1, "1", "less sure ones are no balls"),
    NM_PARAM(size, 0.5, 0.01, 5, "1", "a ball may be larger or smaller than it should be by this logarithm"),
    NM_PARAM(exact, 0.1, 0, 1, "1", "a candidate must be surer by this than a circle that was fitted"),
    {0},
};
NM_MODULE(ball_network, "Decides which candidate is the ball by a network.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step), .close = NM_CALL(end))

/* The robot's own arms and legs in the image (HULKs 2017, section 5.2): outlines of its links, projected by kinematics
 * with the joints as they were when the image was taken. */
#include "body/silhouette.h"
#include "modules/vision/frame.h"
#include "nutmeg_msgs/BodyInImage.h"
#include "sensor_msgs/JointState.h"

enum { KEPT = 32, OUTLINES = 24, OUTLINE = 64 };

struct own_body {
    struct nm *nm;
    /* in */
    nm_queue(JointState) joints;
    const CameraPose *pose;
    /* out */
    BodyInImage *body;
    /* params */
    float margin;
    /* state */
    uint32_t n; /* that were ever kept */
    struct {
        int64_t at;
        double q[NM_JOINTS];
    } kept[KEPT];
};

static void keep(struct own_body *f, const JointState *s)
{
    int64_t at = nm_stamp_ns(s->header.stamp);
    if (f->n && f->kept[(f->n - 1) % KEPT].at >= at && f->kept[(f->n - 1) % KEPT].at - at < nm_ns(1)) return;
    double *q = f->kept[f->n % KEPT].q;
    memset(q, 0, sizeof f->kept[0].q);
    nm_take_joints(f->nm->body, s->name.at, s->name.n, s->position.at, s->position.n, q);
    nm_apply_mimics(f->nm->body, q);
    f->kept[f->n++ % KEPT].at = at;
}

/* The joints nearest to a time; at 100 Hz that is near enough. */
static const double *joints_at(const struct own_body *f, int64_t at)
{
    const double *best = NULL;
    int64_t least = nm_ns(0.1);
    for (uint32_t i = f->n > KEPT ? f->n - KEPT : 0; i < f->n; i++) {
        int64_t off = f->kept[i % KEPT].at - at;
        if ((off < 0 ? -off : off) > least) continue;
        least = off < 0 ? -off : off;
        best = f->kept[i % KEPT].q;
    }
    return best;
}

static void step(struct own_body *f)
{
    const struct nm_body *body = f->nm->body;
    for (uint32_t i = 0; i < f->joints.n; i++) keep(f, f->joints.at[i]);
    if (!nm_fresh(f->nm, f->pose)) return;
    const double *q = joints_at(f, nm_stamp_ns(f->pose->header.stamp));
    uint32_t camera = 0;
    for (uint32_t i = 0; i < body->n_cameras; i++)
        if (!strcmp(body->frames[body->cameras[i].frame].name, f->pose->camera)) camera = i;
    f->body->header.stamp = f->pose->header.stamp;
    nm_text(f->body->header.frame_id, "%s", f->pose->camera);
    struct nm_kin kin;
    struct nm_outline outlines[OUTLINES];
    uint32_t n = 0;
    if (q && body->n_cameras) {
        nm_forward(body, POSE_IDENTITY, q, &kin);
        n = nm_silhouette(body, &kin, camera, outlines, OUTLINES);
    }
    for (uint32_t i = 0; i < n; i++) {
        Polygon *to = nm_append(&f->body->outlines, &Polygon_type);
        double u = 0, v = 0;
        uint32_t points = outlines[i].n < OUTLINE ? outlines[i].n : OUTLINE;
        for (uint32_t k = 0; k < points; k++)
            u += outlines[i].points[k].u / points, v += outlines[i].points[k].v / points;
        for (uint32_t k = 0; to && k < points; k++) { /* a little larger: shapes are simpler than the robot */
            double du = outlines[i].points[k].u - u, dv = outlines[i].points[k].v - v, far = fmax(hypot(du, dv), 1);
            to->points.at[to->points.n++] =
                (Point32){(float)(u + du * (1 + f->margin / far)), (float)(v + dv * (1 + f->margin / far)), 0};
        }
    }
    nm_put(f->nm, f->body);
}

static void reset(struct own_body *f) { f->n = 0; }
static int init(struct own_body *f) { return nm_need_body(f->nm); }

#define SELF struct own_body
static const struct nm_port ports[] = {
    NM_QUEUE(joints, JointState, "joint_states", 16),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_OUT(body, BodyInImage, "body_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(margin, 6, 0, 100, "px", "outlines are larger than the robot's shapes by so much"),
    {0},
};
NM_MODULE(own_body, "The parts of the robot's own body that its camera sees.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step), .reset = NM_CALL(reset))

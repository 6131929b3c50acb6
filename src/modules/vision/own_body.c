/* The robot's own arms and legs in the image (HULKs 2017, section 5.2): outlines of its links, projected by kinematics
 * with the joints as they were when the image was taken. */
#include "body/silhouette.h"
#include "modules/vision/frame.h"
#include "nutmeg_msgs/BodyInImage.h"
#include "sensor_msgs/JointState.h"

enum { OUTLINES = 24, OUTLINE = 64 };

struct own_body {
    struct nm *nm;
    /* in */
    const JointState *joints; /* when the image was taken */
    const CameraPose *pose;
    /* out */
    BodyInImage *body;
    /* params */
    float margin;
};

static void step(struct own_body *f)
{
    const struct nm_body *body = f->nm->body;
    const JointState *s = f->joints;
    double q[NM_JOINTS] = {0};
    if (!nm_fresh(f->nm, f->pose)) return;
    uint32_t camera = 0;
    for (uint32_t i = 0; i < body->n_cameras; i++)
        if (!strcmp(body->frames[body->cameras[i].frame].name, f->pose->camera)) camera = i;
    f->body->header.stamp = f->pose->header.stamp;
    nm_text(f->body->header.frame_id, "%s", f->pose->camera);
    struct nm_kin kin;
    struct nm_outline outlines[OUTLINES];
    uint32_t n = 0;
    if (nm_stamp_ns(s->header.stamp) == nm_stamp_ns(f->pose->header.stamp) && body->n_cameras) {
        nm_take_joints(body, s->name.at, s->name.n, s->position.at, s->position.n, q);
        nm_apply_mimics(body, q);
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

static int init(struct own_body *f) { return nm_need_body(f->nm); }

#define SELF struct own_body
static const struct nm_port ports[] = {
    NM_IN(joints, JointState, "camera/joint_states"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_OUT(body, BodyInImage, "body_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(margin, 6, 0, 100, "px", "outlines are larger than the robot's shapes by so much"),
    {0},
};
NM_MODULE(own_body, "The parts of the robot's own body that its camera sees.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))

/* Where a camera was when it took an image, and which way the joints were. An image is looked at long after it was
 * taken, so the module keeps what the body was like lately. It steps in the cycle that looks at the images: nothing
 * waits for the next run of another cycle. */
#include "modules/imu.h"
#include "modules/vision/frame.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/SupportState.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/JointState.h"

enum { KEPT = 128 };
static const int64_t APART =
    4000000; /* ns, least time between two moments but the newest; so they span half a second */

struct moment {
    int64_t time;               /* ns                                        */
    struct pose3 torso;         /* in base_footprint                         */
    struct quat torso_to_world; /* the same with its heading                 */
    double raised;              /* m, the higher one of the soles            */
    double q[NM_JOINTS];
};

struct camera_pose {
    struct nm *nm;
    /* in */
    nm_queue(JointState) joints;
    nm_queue(BodyState) bodies;
    const Imu *imu;
    const SupportState *support;
    const Image *image;     /* named by line-ups that look at images; others need not have any drawn or sent */
    const CameraInfo *info; /* tells them when an image was taken */
    /* out */
    CameraPose *pose;
    JointState *joints_then;
    /* params */
    float ahead, imu_timeout, tilt_noise, time_noise, height_noise, max_turn;
    /* state */
    double q[NM_JOINTS];
    bool jointed; /* joints were ever told */
    uint32_t n;   /* moments that were ever kept */
    struct moment kept[KEPT];
};

/* ---- what the body was like ---- */

static struct pose3 pose_of(const Pose *p)
{
    return (struct pose3){{p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z},
                          {p->position.x, p->position.y, p->position.z}};
}

static void keep(struct camera_pose *f, const BodyState *body)
{
    int64_t time = nm_stamp_ns(body->header.stamp);
    const Quaternion *q = &body->orientation;
    struct moment *newest = &f->kept[(f->n - 1) % KEPT];
    if (f->n && newest->time - time > nm_ns(1)) f->n = 0; /* the clock jumped back */
    if (f->n && newest->time >= time) return;
    if (f->n > 1 && newest->time - f->kept[(f->n - 2) % KEPT].time < APART) f->n--;
    struct moment *to = &f->kept[f->n++ % KEPT];
    *to = (struct moment){time, pose_of(&body->torso), {q->w, q->x, q->y, q->z}, 0, {0}};
    to->raised = fmax(body->left_sole.position.z, body->right_sole.position.z);
    memcpy(to->q, f->q, sizeof to->q);
}

/* Both queues have the times of the motion cycle's runs. */
static void keep_all(struct camera_pose *f)
{
    for (uint32_t i = 0, k = 0; i < f->bodies.n; i++) {
        int64_t time = nm_stamp_ns(f->bodies.at[i]->header.stamp);
        for (; k < f->joints.n && nm_stamp_ns(f->joints.at[k]->header.stamp) <= time; k++) {
            const JointState *s = f->joints.at[k];
            nm_take_joints(f->nm->body, s->name.at, s->name.n, s->position.at, s->position.n, f->q);
            nm_apply_mimics(f->nm->body, f->q);
            f->jointed = true;
        }
        keep(f, f->bodies.at[i]);
    }
}

/* The body at a time: between two moments, or a little ahead of the newest, as it moved before. False where it is not
 * known; then the nearest moment is taken. */
static bool body_at(const struct camera_pose *f, int64_t time, struct moment *to)
{
    uint32_t oldest = f->n > KEPT ? f->n - KEPT : 0, i = f->n - 1;
    while (i > oldest && f->kept[i % KEPT].time > time) i--;
    const struct moment *a = &f->kept[i % KEPT];
    if (i == f->n - 1 && i > oldest) a = &f->kept[--i % KEPT];
    const struct moment *b = i + 1 < f->n ? &f->kept[(i + 1) % KEPT] : a;
    int64_t newest = f->kept[(f->n - 1) % KEPT].time, latest = newest + nm_ns(f->ahead);
    bool known = time >= a->time && time <= latest;
    int64_t at = time < a->time ? a->time : time > latest ? newest : time;
    double k = b == a ? 0 : (double)(at - a->time) / (double)(b->time - a->time);
    to->time = at;
    to->torso.pos = vec3_add(a->torso.pos, vec3_scale(vec3_sub(b->torso.pos, a->torso.pos), k));
    to->torso.rot = quat_slerp(a->torso.rot, b->torso.rot, k);
    to->torso_to_world = quat_slerp(a->torso_to_world, b->torso_to_world, k);
    to->raised = k < 0.5 ? a->raised : b->raised;
    for (uint32_t j = 0; j < f->nm->body->n_joints; j++) to->q[j] = a->q[j] + k * (b->q[j] - a->q[j]);
    return known;
}

/* rad/s, of the torso around that time */
static double turning(const struct camera_pose *f, int64_t time)
{
    const int64_t half = 10000000, newest = f->kept[(f->n - 1) % KEPT].time;
    struct moment a, b;
    int64_t to = time + half < newest ? time + half : newest;
    body_at(f, to - 2 * half, &a);
    body_at(f, to, &b);
    return b.time > a.time ? quat_angle(a.torso_to_world, b.torso_to_world) / nm_seconds(b.time - a.time) : 0;
}

/* ---- telling it ---- */

static void tell_joints(struct camera_pose *f, const Header *header, const double q[])
{
    const struct nm_body *body = f->nm->body;
    JointState *to = f->joints_then;
    to->header.stamp = header->stamp;
    for (uint32_t j = 0; j < body->n_joints && j < sizeof to->name.at / sizeof *to->name.at; j++) {
        nm_text(to->name.at[j], "%s", body->joints[j].name);
        to->position.at[j] = q[j];
        to->name.n = to->position.n = j + 1;
    }
    nm_put(f->nm, to);
}

static void tell(struct camera_pose *f, const Header *header)
{
    const struct nm_body *body = f->nm->body;
    CameraPose *out = f->pose;
    int32_t named = nm_find_frame(body, header->frame_id);
    if (named < 0 && !body->n_cameras) return;
    uint32_t frame = named < 0 ? body->cameras[0].frame : (uint32_t)named;
    out->header.stamp = header->stamp;
    nm_text(out->header.frame_id, "base_footprint");
    nm_text(out->camera, "%s", body->frames[frame].name);
    if (f->n) {
        struct moment then;
        struct nm_kin kin;
        struct quat ignored;
        int64_t time = nm_stamp_ns(header->stamp), newest = f->kept[(f->n - 1) % KEPT].time;
        bool known = body_at(f, time, &then);
        double turn = turning(f, time);
        nm_forward(body, then.torso, then.q, &kin);
        struct pose3 camera = kin.pose[frame];
        out->pose = (Pose){{camera.pos.x, camera.pos.y, camera.pos.z},
                           {camera.rot.x, camera.rot.y, camera.rot.z, camera.rot.w}};
        bool held = !nm_slot(f->support)->seq || f->support->foot != SupportState_NONE;
        out->valid = known && held && turn < f->max_turn;
        /* without the sensor the ground's unevenness is the torso's: three times worse */
        double tilt = f->tilt_noise * (torso_by_imu(f->nm, f->imu, f->imu_timeout, &ignored) ? 1 : 3);
        double late = f->time_noise + (time > newest ? nm_seconds(time - newest) : 0);
        out->tilt_deviation = (float)hypot(tilt, late * turn);
        bool both = f->support->foot == SupportState_BOTH;
        out->height_deviation = (float)hypot(f->height_noise, both ? then.raised / 2 : 0);
        if (f->jointed) tell_joints(f, header, then.q);
    }
    nm_put(f->nm, out);
}

static void step(struct camera_pose *f)
{
    keep_all(f);
    if (nm_fresh(f->nm, f->image))
        tell(f, &f->image->header);
    else if (nm_fresh(f->nm, f->info))
        tell(f, &f->info->header);
}

static int init(struct camera_pose *f) { return nm_need_body(f->nm); }

#define SELF struct camera_pose
static const struct nm_port ports[] = {
    NM_QUEUE(joints, JointState, "joint_states", 64),
    NM_QUEUE(bodies, BodyState, "body_state", 64),
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(support, SupportState, "support_state"),
    NM_IN(image, Image, "image", .optional = true),
    NM_IN(info, CameraInfo, "camera/camera_info", .optional = true),
    NM_OUT(pose, CameraPose, "camera/pose"),
    NM_OUT(joints_then, JointState, "camera/joint_states"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(ahead, 0.025, 0, 0.2, "s", "how far the body may be thought ahead for an image newer than all joints"),
    NM_PARAM(imu_timeout, 0.1, 0.005, 5, "s", "after this time without an orientation the tilt is less certain"),
    NM_PARAM(tilt_noise, 0.012, 0.0001, 0.5, "rad", "standard deviation of roll and pitch while the torso is quiet"),
    NM_PARAM(time_noise, 0.004, 0, 0.1, "s",
             "uncertainty of the time between image and sensors; adds to the tilt when the torso turns"),
    NM_PARAM(height_noise, 0.005, 0.0001, 0.2, "m", "standard deviation of the height over soft ground"),
    NM_PARAM(max_turn, 3, 0.1, 50, "rad/s", "no camera pose is valid while the torso turns faster than this"),
    {0},
};
NM_MODULE(camera_pose, "Where the camera was, and which way the joints were, when an image was taken.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

/* Moves the head. It looks at a point of any frame by inverse kinematics, holds angles, or sweeps along a pattern, as a
 * HeadCommand says; where to look is decided by whoever makes that, in a match `gaze`. Speed and acceleration of the
 * goals are limited, and how far down the head may look depends on how far it looks aside. */
#include <string.h>

#include "base/clamp.h"
#include "body/look.h"
#include "core/nm.h"
#include "modules/shoulders.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/JointState.h"
#include "tf2_msgs/TFMessage.h"

enum { PAN, TILT, AXES, CORNERS = 6 };

struct head {
    struct nm *nm;
    /* in */
    const HeadCommand *command;
    const JointState *joints;
    /* out */
    JointGoals *goals;
    /* params */
    double max_speed, max_acceleration; /* rad/s, rad/s2 */
    struct shoulders shoulders;
    double scan_pan[CORNERS], scan_tilt[CORNERS], near_pan[CORNERS], near_tilt[CORNERS];
    /* state */
    struct nm_neck neck;
    uint32_t joint[AXES];
    double want[AXES], q[AXES], speed[AXES]; /* rad, rad/s: asked for, told, of what is told */
    bool still;                              /* the neck cannot pan and tilt */
    bool known;
    uint32_t corner;
};

static void find_head(struct head *f)
{
    const JointState *in = f->joints;
    uint32_t found = 0;
    for (uint32_t i = 0, guess = 0; i < in->name.n && i < in->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, in->name.at[i], guess);
        if (joint < 0 || !isfinite(in->position.at[i])) continue;
        guess = (uint32_t)joint + 1;
        for (uint32_t a = 0; a < AXES; a++)
            if (f->joint[a] == (uint32_t)joint) f->q[a] = f->want[a] = in->position.at[i], found |= 1u << a;
    }
    f->known = found == (1u << AXES) - 1;
}

/* ---- what is asked for ---- */

static void look_at(struct head *f)
{
    const HeadCommand *c = f->command;
    struct vec3 point = {c->target.x, c->target.y, c->target.z};
    struct pose3 to_base;
    bool elsewhere = c->header.frame_id[0] && strcmp(c->header.frame_id, f->nm->body->frames[0].name);
    if (!isfinite(point.x + point.y + point.z) || f->neck.chain.n != AXES) return;
    if (elsewhere) {
        if (!nm_tf(f->nm, c->header.frame_id, f->nm->body->frames[0].name, NM_TF_NEWEST, &to_base)) return;
        point = pose_apply(to_base, point);
    }
    double q[NM_GROUP] = {f->want[PAN], f->want[TILT]};
    nm_look_at(&f->neck, point, q, NULL);
    f->want[PAN] = q[PAN];
    f->want[TILT] = q[TILT];
}

/* From corner to corner, each left when the head has come near it. */
static void sweep(struct head *f, const double pan[], const double tilt[])
{
    if (fabs(f->q[PAN] - f->want[PAN]) + fabs(f->q[TILT] - f->want[TILT]) < 0.05) f->corner++;
    f->want[PAN] = pan[f->corner % CORNERS];
    f->want[TILT] = tilt[f->corner % CORNERS];
}

static void do_command(struct head *f)
{
    const HeadCommand *c = f->command;
    if (c->mode == HeadCommand_LOOK_AT) look_at(f);
    if (c->mode == HeadCommand_ANGLES && isfinite(c->pan + c->tilt)) {
        f->want[PAN] = c->pan;
        f->want[TILT] = c->tilt;
    }
    if (c->mode != HeadCommand_PATTERN) return;
    if (!strcmp(c->pattern, "near"))
        sweep(f, f->near_pan, f->near_tilt);
    else
        sweep(f, f->scan_pan, f->scan_tilt);
}

/* ---- motion ---- */

/* As fast as it may and still stop there. */
static void approach(struct head *f, uint32_t axis, double goal, double most)
{
    double dt = nm_seconds(f->nm->dt), way = goal - f->q[axis];
    double brake = sqrt(2 * f->max_acceleration * fabs(way)),
           speed = copysign(fmin(fmin(brake, most), fabs(way) / dt), way);
    double change = nm_clamp(speed - f->speed[axis], -f->max_acceleration * dt, f->max_acceleration * dt);
    f->speed[axis] += change;
    f->q[axis] += f->speed[axis] * dt;
}

static void put(struct head *f)
{
    JointGoals *out = f->goals;
    for (uint32_t a = 0; a < AXES; a++) {
        const struct nm_joint *joint = &f->nm->body->joints[f->joint[a]];
        nm_text(out->name.at[a], "%s", joint->name);
        out->position.at[a] = nm_clamp(f->q[a], joint->lower, joint->upper);
    }
    out->name.n = out->position.n = AXES;
    nm_put(f->nm, out);
}

static void step(struct head *f)
{
    if (f->still) return;
    if (!f->known) find_head(f);
    if (!f->known) return;
    if (nm_slot(f->command)->seq) do_command(f);

    double asked = f->command->max_speed, most = asked > 0 ? fmin(asked, f->max_speed) : f->max_speed;
    const struct nm_joint *pan = &f->nm->body->joints[f->joint[PAN]], *tilt = &f->nm->body->joints[f->joint[TILT]];
    approach(f, PAN, nm_clamp(f->want[PAN], pan->lower, pan->upper), most);
    double lowest = fmin(tilt->upper, lowest_tilt(&f->shoulders, f->q[PAN]));
    approach(f, TILT, nm_clamp(f->want[TILT], tilt->lower, lowest), most);
    if (f->q[TILT] > lowest) { /* there is less room when the head turns aside */
        f->q[TILT] = lowest;
        f->speed[TILT] = 0;
    }
    put(f);
}

/* Pan and tilt of the neck; a head with another neck, or none, is held still. */
static bool find_axes(struct head *f)
{
    const struct nm_body *body = f->nm->body;
    const double zero[NM_JOINTS] = {0};
    struct nm_kin kin;
    bool found[AXES] = {false};
    nm_forward(body, POSE_IDENTITY, zero, &kin);
    for (uint32_t i = 0; i < body->head.n; i++) {
        uint32_t joint = body->head.joints[i];
        struct vec3 axis = quat_apply(kin.pose[joint + 1].rot, body->joints[joint].axis);
        for (uint32_t a = 0; a < AXES; a++) {
            if (found[a] || fabs(a == PAN ? axis.z : axis.y) < 0.7) continue;
            found[a] = true;
            f->joint[a] = joint;
        }
    }
    return found[PAN] && found[TILT];
}

static int init(struct head *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_need_body(f->nm)) return -1;
    f->still = !find_axes(f);
    uint32_t camera = body->n_cameras ? body->cameras[0].frame : body->head.end;
    if (f->still || f->joint[PAN] != body->head.joints[0] || nm_neck_init(&f->neck, body, camera, NULL))
        f->neck.chain.n = 0; /* it takes angles only */
    return 0;
}

#define SELF struct head
static const struct nm_port ports[] = {
    NM_IN(command, HeadCommand, "head_command"),
    NM_IN(joints, JointState, "joint_states"),
    NM_OUT(goals, JointGoals, "head_goals"),
    NM_READS_TF,
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(max_speed, 3, 0.1, 20, "rad/s", "largest speed; if it is higher, pictures blur"),
    NM_PARAM(max_acceleration, 20, 0.5, 500, "rad/s2",
             "largest acceleration; if it is higher, the head shakes the body"),
    SHOULDERS_PARAMS(shoulders),
    NM_PARAM_LIST(scan_pan, "0 1 0.5 -0.5 -1 0", -3.2, 3.2, "rad", "pan of the corners of the pattern `scan`"),
    NM_PARAM_LIST(scan_tilt, "0.2 0.2 0.7 0.7 0.2 0.2", -1.6, 1.6, "rad",
                  "tilt of the corners of `scan`; down is positive"),
    NM_PARAM_LIST(near_pan, "0 0.6 0.3 -0.3 -0.6 0", -3.2, 3.2, "rad", "pan of the corners of the pattern `near`"),
    NM_PARAM_LIST(near_tilt, "0.9 0.7 1 1 0.7 0.9", -1.6, 1.6, "rad",
                  "tilt of the corners of `near`; down is positive"),
    {0},
};
NM_MODULE(head, "Looks at points, holds angles and sweeps along patterns.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))

/* Turns joint states into transforms: one for each moving link on tf, and on tf_static everything that is fixed to a
 * link (soles, cells, cameras, imu). Links have the names of the robot's URDF. If these differ from the names of
 * REP-105 and REP-120 for base, soles, toes, imu and camera, both names are published. */
#include "core/nm.h"
#include "modules/sensing/readings.h"
#include "tf2_msgs/TFMessage.h"

enum { ALIASES = 7, BATCH = sizeof((TFMessage *)0)->transforms.at / sizeof(TransformStamped) };

struct robot_state {
    struct nm *nm;
    /* in */
    const JointState *joints;
    /* out */
    nm_out_queue(TFMessage) tf;
    nm_out_queue(TFMessage) tf_static;
    /* params */
    float repeat; /* s */
    /* state */
    double q[NM_JOINTS];
    bool told;     /* the fixed ones */
    int64_t again; /* ns, when the fixed ones are due again */
};

/* A name of the standard for one of the robot's frames. */
struct alias {
    const char *name;
    int32_t frame; /* -1: the robot has no such thing */
};

static void find_aliases(const struct nm_body *body, struct alias to[ALIASES])
{
    bool legs = body->leg[NM_LEFT].n && body->leg[NM_RIGHT].n;
    const struct alias all[ALIASES] = {
        {"base_link", 0},
        {"l_sole", legs ? (int32_t)body->foot[NM_LEFT].sole : -1},
        {"r_sole", legs ? (int32_t)body->foot[NM_RIGHT].sole : -1},
        {"l_toe", legs ? body->foot[NM_LEFT].toe : -1},
        {"r_toe", legs ? body->foot[NM_RIGHT].toe : -1},
        {"imu_frame", body->imu},
        {"camera_optical_frame", body->n_cameras ? (int32_t)body->cameras[0].frame : -1},
    };
    for (int i = 0; i < ALIASES; i++) {
        to[i] = all[i];
        if (nm_find_frame(body, all[i].name) >= 0) to[i].frame = -1; /* it is called so already */
    }
}

static void add(TFMessage *tf, Time stamp, const char *parent, const char *child, struct pose3 pose)
{
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    if (!t) return;
    t->header.stamp = stamp;
    nm_text(t->header.frame_id, "%s", parent);
    nm_text(t->child_frame_id, "%s", child);
    t->transform.translation = to_vector(pose.pos);
    t->transform.rotation = to_quaternion(pose.rot);
}

static void tell_moving(struct robot_state *f)
{
    const struct nm_body *body = f->nm->body;
    struct nm_kin kin;
    TFMessage *tf = nm_push(f->nm, &f->tf);
    nm_forward(body, POSE_IDENTITY, f->q, &kin);
    for (uint32_t i = 0; i < body->n_joints; i++) {
        uint32_t parent = body->joints[i].parent;
        add(tf, f->joints->header.stamp, body->frames[parent].name, body->frames[i + 1].name,
            nm_frame_to_frame(&kin, i + 1, parent));
    }
}

/* The next message with room in it. */
static TFMessage *room(struct robot_state *f, TFMessage *tf)
{
    return tf && tf->transforms.n < BATCH ? tf : nm_push(f->nm, &f->tf_static);
}

static void tell_fixed(struct robot_state *f)
{
    const struct nm_body *body = f->nm->body;
    struct alias aliases[ALIASES];
    Time stamp = nm_stamp(f->nm->now);
    TFMessage *tf = NULL;
    find_aliases(body, aliases);
    /* a base that is called otherwise hangs below base_link, which others know */
    if (aliases[0].frame == 0) {
        tf = room(f, tf);
        add(tf, stamp, "base_link", body->frames[0].name, POSE_IDENTITY);
    }
    for (uint32_t i = body->n_links; i < body->n_frames; i++) {
        if (!strcmp(body->frames[i].name, "base_footprint")) continue; /* where the robot is, body_model tells */
        tf = room(f, tf);
        add(tf, stamp, body->frames[body->frames[i].link].name, body->frames[i].name, body->frames[i].to_link);
    }
    for (int i = 1; i < ALIASES; i++) {
        if (aliases[i].frame < 0) continue;
        tf = room(f, tf);
        add(tf, stamp, body->frames[aliases[i].frame].name, aliases[i].name, POSE_IDENTITY);
    }
    f->told = true;
    f->again = f->nm->now + nm_ns(f->repeat);
}

static void step(struct robot_state *f)
{
    if (!f->told || (f->repeat > 0 && f->nm->now >= f->again)) tell_fixed(f);
    if (!nm_fresh(f->nm, f->joints)) return;
    read_joints(f->nm->body, f->joints, f->q, NULL);
    tell_moving(f);
}

static void changed(struct robot_state *f) { f->again = f->nm->now; }

/* Names must fit into the messages, or two frames could become one. */
static int init(struct robot_state *f)
{
    const struct nm_body *body = f->nm->body;
    const size_t most = sizeof((TransformStamped *)0)->child_frame_id - 1;
    if (nm_need_body(f->nm)) return -1;
    for (uint32_t i = 0; i < body->n_frames; i++)
        if (strlen(body->frames[i].name) > most)
            return nm_fail(f->nm->err, "robot %s: the name of link %s has more than %zu characters: shorten it",
                           body->name, body->frames[i].name, most);
    return 0;
}

#define SELF struct robot_state
static const struct nm_port ports[] = {
    NM_IN(joints, JointState, "joint_states"),
    NM_OUT_QUEUE(tf, TFMessage, "tf", 2, .many = true),
    NM_OUT_QUEUE(tf_static, TFMessage, "tf_static", 8, .many = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(repeat, 0, 0, 60, "s",
             "the fixed transforms are published again this often, for readers that join later; 0: only once"),
    {0},
};
NM_MODULE(robot_state, "Joint states to transforms of all links, under the names of the URDF and of the REPs.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step), .changed = NM_CALL(changed))

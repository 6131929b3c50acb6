/* The load cells under the feet: force and centre of pressure of each foot, share of the weight, and the centre of both
 * feet in the frame of the robot (after Rhoban's feet, champion paper 2016). Cells drift, so their zeros are
 * parameters, and the service tare_feet measures them again while somebody holds the robot in the air. A cell that did
 * not answer is NaN, and then its foot is invalid. */
#include "body/state.h"
#include "core/nm.h"
#include "modules/sensing/readings.h"
#include "nutmeg_msgs/FootPressure.h"
#include "std_srvs/Trigger.h"

struct foot_pressure {
    struct nm *nm;
    /* in */
    const FootPressure *cells;
    const JointState *joints;
    const Imu *imu;
    nm_server(Trigger) tare;
    /* out */
    FootPressure *pressure;
    /* params */
    float left_zero[4], right_zero[4]; /* N */
    float min_force;                   /* N */
    float tare_time;                   /* s */
    float tare_noise;                  /* N */
    /* state */
    struct vec3 place[2][NM_CELLS]; /* of each cell in its sole's frame                */
    float zero[2][NM_CELLS];        /* in use: the parameters' or what tare_feet found */
    float given[2][NM_CELLS];       /* the parameters' when they were taken over       */
    double q[NM_JOINTS];
    struct {
        bool on;
        int64_t until; /* ns */
        uint64_t caller;
        int64_t call;
        uint32_t n[2];                                /* readings                          */
        double sum[2][NM_CELLS], square[2][NM_CELLS]; /* of what is above the zero in use */
    } taring;
};

static const SolePressure *cells_of(const FootPressure *p, int side) { return side == NM_LEFT ? &p->left : &p->right; }

/* No foot carries tons: such a reading is as bad as none. */
static bool answered(const struct foot_pressure *f, int side)
{
    const uint32_t n = f->nm->body->foot[side].n_cells;
    for (uint32_t i = 0; i < n; i++)
        if (!(fabsf(cells_of(f->cells, side)->cells[i]) < 1e4f)) return false;
    return n > 0;
}

/* ---- taring ---- */

static void refuse(struct foot_pressure *f, const Trigger_Request *request, const char *why)
{
    nm_text(nm_reply(f->nm, &f->tare, request)->message, "%s", why);
}

static void begin_tare(struct foot_pressure *f)
{
    for (uint32_t i = 0; i < f->tare.requests.n; i++) {
        const Trigger_Request *request = f->tare.requests.at[i];
        if (f->taring.on) {
            refuse(f, request, "the feet are being tared already");
            continue;
        }
        memset(&f->taring, 0, sizeof f->taring);
        f->taring.on = true;
        f->taring.until = f->nm->now + nm_ns(f->tare_time);
        f->taring.caller = nm_slot(request)->caller;
        f->taring.call = nm_slot(request)->call;
    }
}

static void collect(struct foot_pressure *f)
{
    for (int side = 0; side < 2; side++) {
        if (!answered(f, side)) continue;
        f->taring.n[side]++;
        for (int i = 0; i < NM_CELLS; i++) {
            double x = cells_of(f->cells, side)->cells[i] - f->zero[side][i];
            f->taring.sum[side][i] += x;
            f->taring.square[side][i] += x * x;
        }
    }
}

/* The largest standard deviation among the cells, of the feet that answered often enough; -1 where none did. */
static double noise(const struct foot_pressure *f)
{
    double most = -1;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0, n = f->taring.n[side]; n >= 5 && i < f->nm->body->foot[side].n_cells; i++) {
            double mean = f->taring.sum[side][i] / n, square = f->taring.square[side][i] / n - mean * mean;
            most = fmax(most, sqrt(fmax(square, 0)));
        }
    return most;
}

static void end_tare(struct foot_pressure *f)
{
    if (!f->taring.on || f->nm->now < f->taring.until) return;
    Trigger_Response *reply = nm_reply_to(f->nm, &f->tare, f->taring.caller, f->taring.call);
    double most = noise(f);
    f->taring.on = false;
    if (most < 0) {
        nm_text(reply->message, "no foot answered");
    } else if (most > f->tare_noise) {
        nm_text(reply->message, "the cells moved by %.1f N: hold the robot still, feet in the air", most);
    } else {
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < NM_CELLS && f->taring.n[side] >= 5; i++)
                f->zero[side][i] += (float)(f->taring.sum[side][i] / f->taring.n[side]);
        const float *l = f->zero[NM_LEFT], *r = f->zero[NM_RIGHT];
        reply->success = true;
        nm_text(reply->message, "left_zero %.1f %.1f %.1f %.1f, right_zero %.1f %.1f %.1f %.1f", l[0], l[1], l[2], l[3],
                r[0], r[1], r[2], r[3]);
    }
    nm_log(f->nm, reply->success ? NM_INFO : NM_WARN, "tare: %s", reply->message);
}

/* ---- pressure ---- */

static void weigh(const struct foot_pressure *f, int side, SolePressure *out)
{
    struct vec3 moment = {0};
    out->valid = answered(f, side);
    if (!out->valid) return;
    for (uint32_t i = 0; i < f->nm->body->foot[side].n_cells; i++) {
        out->cells[i] = fmaxf(cells_of(f->cells, side)->cells[i] - f->zero[side][i], 0);
        out->force += out->cells[i];
        moment = vec3_add(moment, vec3_scale(f->place[side][i], out->cells[i]));
    }
    if (out->force >= f->min_force) out->center = (Point){moment.x / out->force, moment.y / out->force, 0};
}

/* The centre of both in base_footprint: between the soles, on the ground, with the torso's heading. */
static Point both(struct foot_pressure *f)
{
    const struct nm_body *body = f->nm->body;
    const FootPressure *p = f->pressure;
    struct pose3 torso = POSE_IDENTITY;
    struct nm_kin kin;
    torso_by_imu(f->nm, f->imu, 0.1, &torso.rot);
    nm_forward(body, torso, f->q, &kin);
    struct pose3 world_to_robot = pose_inv(nm_ground_pose(nm_robot_to_odom(body, &kin)));
    struct vec3 sum = {0};
    for (int side = 0; side < 2; side++) {
        const SolePressure *sole = cells_of(p, side);
        struct vec3 at = {sole->center.x, sole->center.y, 0};
        at = pose_apply(world_to_robot, pose_apply(kin.pose[body->foot[side].sole], at));
        sum = vec3_add(sum, vec3_scale(at, sole->force));
    }
    return (Point){sum.x / (p->left.force + p->right.force), sum.y / (p->left.force + p->right.force), 0};
}

static void step(struct foot_pressure *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f->nm->body, f->joints, f->q, NULL);
    begin_tare(f);
    if (nm_fresh(f->nm, f->cells)) {
        FootPressure *out = f->pressure;
        if (f->taring.on) collect(f);
        weigh(f, NM_LEFT, &out->left);
        weigh(f, NM_RIGHT, &out->right);
        float sum = out->left.force + out->right.force;
        bool weight = sum >= f->min_force && sum > 0;
        out->left_share = weight ? out->left.force / sum : 0.5f;
        if (weight) out->center = both(f);
        nm_text(out->header.frame_id, "base_footprint");
        out->header.stamp = f->cells->header.stamp;
        nm_put(f->nm, out);
    }
    end_tare(f);
}

/* Zeros that somebody sets are used until the next taring. A change of other parameters keeps what a taring found. */
static void changed(struct foot_pressure *f)
{
    const float *const now[2] = {f->left_zero, f->right_zero};
    for (int side = 0; side < 2; side++) {
        if (!memcmp(f->given[side], now[side], sizeof f->given[side])) continue;
        memcpy(f->given[side], now[side], sizeof f->given[side]);
        memcpy(f->zero[side], now[side], sizeof f->zero[side]);
    }
}

static int init(struct foot_pressure *f)
{
    const struct nm_body *body = f->nm->body;
    if (needs_legs(f->nm)) return -1;
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *foot = &body->foot[side];
        struct pose3 link_to_sole = pose_inv(body->frames[foot->sole].to_link);
        for (uint32_t i = 0; i < foot->n_cells; i++) {
            const struct nm_frame *cell = &body->frames[foot->cells[i]];
            if (cell->link != body->frames[foot->sole].link)
                return nm_fail(f->nm->err, "robot %s: cell %s does not belong to the foot of %s", body->name,
                               cell->name, body->frames[foot->sole].name);
            f->place[side][i] = pose_apply(link_to_sole, cell->to_link.pos);
        }
    }
    return 0;
}

#define SELF struct foot_pressure
static const struct nm_port ports[] = {
    NM_IN(cells, FootPressure, "foot_cells"),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(imu, Imu, "imu/data"),
    NM_SERVER(tare, Trigger, "tare_feet", 2),
    NM_OUT(pressure, FootPressure, "foot_pressure"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_LIST(left_zero, "0 0 0 0", -1000, 1000, "N",
                  "readings of the left cells without load; tare_feet measures and reports them"),
    NM_PARAM_LIST(right_zero, "0 0 0 0", -1000, 1000, "N", "readings of the right cells without load"),
    NM_PARAM(min_force, 1, 0.01, 100, "N",
             "a foot with less force has no centre of pressure; set it above the noise of the cells"),
    NM_PARAM(tare_time, 1, 0.1, 20, "s", "how long tare_feet measures"),
    NM_PARAM(tare_noise, 0.5, 0.01, 100, "N",
             "with a larger standard deviation of a cell, tare_feet refuses: the robot is not held still"),
    {0},
};
NM_MODULE(foot_pressure, "Force and centre of pressure under each foot and both, from the load cells.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step), .changed = NM_CALL(changed))

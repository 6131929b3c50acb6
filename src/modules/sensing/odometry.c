/* The odometry of body_model, corrected step by step by a calibrated model (requirement R7; body/step_model.h). During
 * a step its part so far is published as body_model computes it. When the support foot changes, the whole step is
 * corrected and added. `nutmeg calibrate odometry` finds the numbers. */
#include "core/nm.h"
#include "body/step_model.h"
#include "modules/sensing/drift.h"
#include "modules/sensing/readings.h"
#include "nutmeg_msgs/SupportState.h"
#include "tf2_msgs/TFMessage.h"

struct odometry {
    struct nm *nm;
    /* in */
    const Odometry *told;
    const SupportState *support;
    /* out */
    Odometry *odometry;
    nm_out_queue(TFMessage) tf;
    /* params */
    char correct[8];
    double forward[NM_STEP_TERMS], left[NM_STEP_TERMS], turn[NM_STEP_TERMS];
    double near_x[NM_STEP_NEAR], near_y[NM_STEP_NEAR], near_turn[NM_STEP_NEAR]; /* m, m, rad */
    double more_x[NM_STEP_NEAR], more_y[NM_STEP_NEAR], more_turn[NM_STEP_NEAR];
    double width;
    double drift, drift_turn, turn_drift, speed_noise;
    /* state */
    struct drift unsure;
    struct nm_step_model model;
    struct nm_steps steps;
    struct pose2 robot_to_odom; /* at the end of the last step */
};

static void take_params(struct odometry *f)
{
    struct nm_step_model *m = &f->model;
    m->linear = strcmp(f->correct, "none") != 0;
    m->local = !strcmp(f->correct, "local");
    memcpy(m->forward, f->forward, sizeof m->forward);
    memcpy(m->left, f->left, sizeof m->left);
    memcpy(m->turn, f->turn, sizeof m->turn);
    m->width = f->width;
    for (int k = 0; k < NM_STEP_NEAR; k++) {
        m->near[k][0] = f->near_x[k], m->near[k][1] = f->near_y[k], m->near[k][2] = f->near_turn[k];
        m->more[k][0] = f->more_x[k], m->more[k][1] = f->more_y[k], m->more[k][2] = f->more_turn[k];
    }
}

static void tell(struct odometry *f, struct pose2 now)
{
    Odometry *out = f->odometry;
    struct quat rot = quat_rpy(0, 0, now.theta);
    nm_copy(&Odometry_type, out, f->told);
    out->pose.pose.position = (Point){now.x, now.y, 0};
    out->pose.pose.orientation = to_quaternion(rot);
    const struct drift_noise noise = {f->drift, f->drift_turn, f->turn_drift, f->speed_noise};
    drift_move(&f->unsure, now, &noise);
    drift_tell(&f->unsure, &noise, out);
    nm_put(f->nm, out);

    TFMessage *tf = nm_push(f->nm, &f->tf);
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    t->header.stamp = f->told->header.stamp;
    nm_text(t->header.frame_id, "odom");
    nm_text(t->child_frame_id, "base_footprint");
    t->transform.translation = (Vector3){now.x, now.y, 0};
    t->transform.rotation = to_quaternion(rot);
}

static void step(struct odometry *f)
{
    if (!nm_fresh(f->nm, f->told)) return;
    struct pose2 told = nm_pose2(&f->told->pose.pose), part;
    if (!isfinite(told.x + told.y + told.theta)) return;
    if (nm_steps_take(&f->steps, told, f->support->changes, &part)) {
        f->robot_to_odom = pose2_mul(f->robot_to_odom, nm_step_correct(&f->model, part));
        part = (struct pose2){0};
    }
    tell(f, pose2_mul(f->robot_to_odom, part));
}

#define SELF struct odometry
static const struct nm_port ports[] = {
    NM_IN(told, Odometry, "odometry_raw"),
    NM_IN(support, SupportState, "support_state"),
    NM_OUT(odometry, Odometry, "odometry"),
    NM_OUT_QUEUE(tf, TFMessage, "tf", 2, .many = true),
    {0},
};
#define TERMS(member, values, what)                                                                                    \
    NM_PARAM_LIST(member, values, -10, 10, "1",                                                                        \
                  "corrected " what " of a step: factors of the x, y and turn of body_model, and a constant")
#define NEAR(member, what, unit) NM_PARAM_LIST(member, "0 0 0 0 0 0", -10, 10, unit, what)
static const struct nm_param params[] = {
    NM_PARAM_WORD(
        correct, "linear", "none linear local",
        "none: as body_model computes it; linear: with the terms below; local: also with the typical steps below"),
    TERMS(forward, "1 0 0 0", "x"),
    TERMS(left, "0 1 0 0", "y"),
    TERMS(turn, "0 0 1 0", "turn"),
    NEAR(near_x, "typical steps: x of each as body_model computes it", "m"),
    NEAR(near_y, "typical steps: y of each", "m"),
    NEAR(near_turn, "typical steps: turn of each", "rad"),
    NEAR(more_x, "what is added to x near each typical step", "m"),
    NEAR(more_y, "what is added to y near each typical step", "m"),
    NEAR(more_turn, "what is added to the turn near each typical step", "rad"),
    NM_PARAM(width, 0.05, 0.005, 1, "m", "how near to a typical step that is; a radian of turn counts as 0.2 m"),
    DRIFT_PARAMS,
    {0},
};
NM_MODULE(odometry, "Odometry with every step corrected by a calibrated model.", NM_PORTS(ports), NM_PARAMS(params),
          .changed = NM_CALL(take_params), .step = NM_CALL(step))

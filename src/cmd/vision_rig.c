/* A line-up that looks at images: messages in as from a robot that took them, and what it found out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "body/state.h"
#include "cmd/sim_play.h"
#include "cmd/vision_trial.h"
#include "core/files.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/Show.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

enum port { IMAGE, BODY, IMU, JOINTS, BALL, WHERE, PERCEPTS, LINES, BORDER, CANDIDATES, SHOWN, SAID, PORTS };
enum { IMAGE_BYTES = VISION_MOST * VISION_MOST * 2 };
static const int64_t PAUSE = 1000000000 / 15; /* ns between two looks */

struct vision_rig {
    const struct nm_body *body;
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_camera_edge *camera; /* NULL: images are given */
    int64_t now;
};

struct vision_rig *vision_rig_new(struct setup *setup, const char *name, const struct nm_body *body,
                                  const char *const *set, uint32_t n_set, const struct nm_video_calls *camera,
                                  struct nm_err *err)
{
    const struct nm_edge_port ports[PORTS] = {
        [IMAGE] = {"camera/image_raw", camera ? NM_PORT_IN : NM_PORT_OUT, &Image_type, 0, IMAGE_BYTES},
        [BODY] = {"body_state", NM_PORT_OUT_QUEUE, &BodyState_type, 8, 0},
        [IMU] = {"imu/data", NM_PORT_OUT, &Imu_type, 0, 0},
        [JOINTS] = {"joint_states", NM_PORT_OUT_QUEUE, &JointState_type, 8, 0},
        [BALL] = {"ball", NM_PORT_OUT | NM_EDGE_OPTIONAL, &BallModel_type, 0, 0},
        [WHERE] = {"pose", NM_PORT_OUT | NM_EDGE_OPTIONAL, &PoseWithCovarianceStamped_type, 0, 0},
        [PERCEPTS] = {"percepts", NM_PORT_IN, &Percepts_type, 0, 0},
        [LINES] = {"line_relative", NM_PORT_IN | NM_EDGE_OPTIONAL, &LineInformationRelative_type, 0, 0},
        [BORDER] = {"field_border", NM_PORT_IN | NM_EDGE_OPTIONAL, &FieldBorder_type, 0, 0},
        [CANDIDATES] = {"ball_candidates", NM_PORT_IN | NM_EDGE_OPTIONAL, &BallsInImage_type, 0, 0},
        [SHOWN] = {"show", NM_PORT_QUEUE, &Show_type, 64, 0},
        [SAID] = {"rosout", NM_PORT_QUEUE, &Log_type, 64, 0},
    };
    struct lineup_flags flags = {0};
    struct nm_lineup_options options = setup_options(setup, &flags);
    options.set = set;
    options.n_set = n_set;
    struct vision_rig *rig = nm_calloc(1, sizeof *rig);
    rig->body = body;
    rig->now = nm_ns(1);
    const char *file = setup_file(setup, "lineups", "line-up", name, err);
    rig->lineup = file ? nm_lineup_load(file, &setup->registry, &options, err) : NULL;
    const struct nm_player_options player = {.body = body, .seed = 1};
    rig->player = rig->lineup ? nm_player_new(rig->lineup, &player, err) : NULL;
    if (rig->player && camera) rig->camera = nm_camera_edge_new(rig->player, body, 0, "/dev/video0", camera, err);
    if (rig->player && !camera == !rig->camera) rig->edge = nm_edge_new(rig->player, "images", ports, PORTS, err);
    if (rig->edge) return rig;
    vision_rig_free(rig);
    return NULL;
}

void vision_rig_free(struct vision_rig *rig)
{
    if (!rig) return;
    nm_camera_edge_free(rig->camera);
    if (rig->player) nm_player_free(rig->player);
    if (rig->lineup) nm_lineup_free(rig->lineup);
    free(rig);
}

struct nm_player *vision_rig_player(const struct vision_rig *rig) { return rig->player; }

int64_t vision_rig_now(const struct vision_rig *rig) { return rig->now; }

/* What the camera has said. */
static void listen(const struct vision_rig *rig, struct vision_found *found)
{
    const void *const *said;
    uint32_t lost, n = nm_edge_queue(rig->edge, SAID, &said, &lost);
    for (uint32_t i = 0; i < n; i++) {
        const Log *line = said[i];
        if (strcmp(line->name, "camera")) continue;
        found->warned += line->level >= NM_WARN;
        found->relieved += line->level < NM_WARN;
    }
}

/* What the motion cycle told of a body that stood still around the time of the image, with the camera where it is
 * believed. */
static void put_body(struct vision_rig *rig, struct pose3 camera_to_robot, const double *q)
{
    const struct nm_body *body = rig->body;
    const double zeros[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, q ? q : zeros, &kin);
    struct pose3 torso = pose_mul(camera_to_robot, pose_inv(kin.pose[body->cameras[0].frame]));
    Imu *imu = nm_edge_out(rig->edge, IMU);
    imu->orientation = (Quaternion){torso.rot.x, torso.rot.y, torso.rot.z, torso.rot.w};
    nm_edge_put(rig->edge, IMU);
    for (int64_t before = nm_ns(0.03); before >= 0; before -= nm_ns(0.03)) {
        BodyState *state = nm_edge_push(rig->edge, BODY);
        JointState *joints = q ? nm_edge_push(rig->edge, JOINTS) : NULL;
        if (!state) continue;
        state->header.stamp = nm_stamp(rig->now - before);
        state->torso = (Pose){{torso.pos.x, torso.pos.y, torso.pos.z}, imu->orientation};
        state->orientation = imu->orientation;
        if (joints) joints->header.stamp = state->header.stamp;
        for (uint32_t j = 0; joints && j < body->n_joints && j < sizeof joints->name.at / sizeof *joints->name.at;
             j++) {
            nm_text(joints->name.at[j], "%s", body->joints[j].name);
            joints->position.at[j] = q[j];
            joints->name.n = joints->position.n = j + 1;
        }
    }
}

void vision_rig_believe(struct vision_rig *rig, const struct vision_belief *b)
{
    nm_edge_begin(rig->edge, rig->now - nm_ns(0.002));
    BallModel *ball = nm_edge_out(rig->edge, BALL);
    PoseWithCovarianceStamped *where = nm_edge_out(rig->edge, WHERE);
    Header header = {.stamp = nm_stamp(rig->now - nm_ns(0.002))};
    if (ball) {
        ball->header = header;
        ball->valid = true;
        ball->confidence = 1;
        ball->position = (Point){b->x, b->y, 0};
        ball->covariance[0] = ball->covariance[5] = b->deviation * b->deviation;
        nm_edge_put(rig->edge, BALL);
    }
    if (where) {
        struct pose2 p = b->robot_to_field;
        where->header = header;
        where->pose.pose = (Pose){{p.x, p.y, 0}, {0, 0, sin(p.theta / 2), cos(p.theta / 2)}};
        where->pose.covariance[0] = where->pose.covariance[7] = b->place_deviation * b->place_deviation;
        where->pose.covariance[35] = b->turn_deviation * b->turn_deviation;
        nm_edge_put(rig->edge, WHERE);
    }
    nm_edge_end(rig->edge);
}

void vision_rig_look(struct vision_rig *rig, const uint8_t *yuyv, uint32_t width, uint32_t height,
                     const struct pose3 *camera_to_robot, const double *q, struct vision_found *found)
{
    nm_edge_begin(rig->edge, rig->now);
    if (camera_to_robot) put_body(rig, *camera_to_robot, q);
    const char *frame = rig->body->frames[rig->body->cameras[0].frame].name;
    if (!rig->camera) nm_camera_put(rig->edge, IMAGE, frame, rig->now, width, height, yuyv);
    nm_edge_end(rig->edge);
    if (rig->camera) nm_camera_edge_round(rig->camera, rig->now);
    *found = (struct vision_found){0};
    int64_t begin = nm_thread_time();
    nm_players_run(&rig->player, 1, rig->now + nm_ns(0.05), 1);
    found->busy = nm_thread_time() - begin;
    rig->now += PAUSE;
    nm_edge_begin(rig->edge, rig->now - nm_ns(0.01));
    listen(rig, found);
    if (nm_edge_fresh(rig->edge, PERCEPTS)) found->percepts = nm_edge_in(rig->edge, PERCEPTS);
    if (nm_edge_fresh(rig->edge, LINES)) found->lines = nm_edge_in(rig->edge, LINES);
    if (nm_edge_fresh(rig->edge, BORDER)) found->border = nm_edge_in(rig->edge, BORDER);
    if (nm_edge_fresh(rig->edge, CANDIDATES)) found->candidates = nm_edge_in(rig->edge, CANDIDATES);
    uint32_t lost;
    found->n_shown = nm_edge_queue(rig->edge, SHOWN, &found->shown, &lost);
    nm_edge_end(rig->edge);
}

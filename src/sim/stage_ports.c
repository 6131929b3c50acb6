/* The topics between hardware and line-up. */
#include <stdio.h>
#include <string.h>

#include "geometry_msgs/Twist.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/Buttons.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/CameraTruth.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/Leds.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/PointCloud2.h"
#include "sensor_msgs/MagneticField.h"
#include "sim/stage_parts.h"
#include "std_srvs/SetBool.h"

enum {
    FLAT = 1 << NM_FIDELITY_FLAT,
    SEES = 1 << NM_FIDELITY_PERCEPT | FLAT,
    BODY = 1 << NM_FIDELITY_CAMERA | 1 << NM_FIDELITY_PERCEPT,
    EVERY = BODY | FLAT,
};

static const struct {
    const char *topic;
    enum nm_port_kind kind;
    const struct nm_type *type;
    unsigned where; /* fidelities that have it */
    uint32_t depth; /* of queues               */
} table[FIXED_PORTS] = {
    [PORT_SERVOS] = {"servo_states", NM_PORT_OUT, &ServoStates_type, BODY, 0},
    [PORT_IMU] = {"imu/data_raw", NM_PORT_OUT, &Imu_type, BODY, 0},
    [PORT_FEET] = {"foot_cells", NM_PORT_OUT, &FootPressure_type, BODY, 0},
    [PORT_BUTTONS] = {"buttons", NM_PORT_OUT, &Buttons_type, EVERY, 0},
    [PORT_BATTERY] = {"battery", NM_PORT_OUT, &BatteryState_type, EVERY, 0},
    [PORT_GOALS] = {"servo_goals", NM_PORT_IN, &JointGoals_type, BODY, 0},
    [PORT_LEDS] = {"leds", NM_PORT_IN, &Leds_type, EVERY, 0},
    [PORT_POWER] = {"motor_power/request", NM_PORT_QUEUE, &SetBool_Request_type, EVERY, 4},
    [PORT_POWER_REPLY] = {"motor_power/reply", NM_PORT_OUT_QUEUE, &SetBool_Response_type, EVERY, 4},
    [PORT_VELOCITY] = {"cmd_vel", NM_PORT_IN, &Twist_type, FLAT, 0},
    [PORT_WALK] = {"walk_command", NM_PORT_IN, &WalkCommand_type, FLAT, 0},
    [PORT_HEAD] = {"head_command", NM_PORT_IN, &HeadCommand_type, FLAT, 0},
    [PORT_ODOMETRY] = {"odometry", NM_PORT_OUT, &Odometry_type, FLAT, 0},
    [PORT_HCM] = {"hcm_state", NM_PORT_OUT, &HcmState_type, FLAT, 0},
    [PORT_PERCEPTS] = {"percepts", NM_PORT_OUT, &Percepts_type, SEES, 0},
    [PORT_BALL] = {"ball_relative", NM_PORT_OUT, &BallRelative_type, SEES, 0},
    [PORT_GOAL] = {"goal_relative", NM_PORT_OUT, &GoalRelative_type, SEES, 0},
    [PORT_OBSTACLES] = {"obstacles_relative", NM_PORT_OUT, &ObstaclesRelative_type, SEES, 0},
    [PORT_LINES] = {"line_relative", NM_PORT_OUT, &LineInformationRelative_type, SEES, 0},
    [PORT_CAMERA_POSE] = {"camera/pose", NM_PORT_OUT, &CameraPose_type, FLAT, 0},
    [PORT_CAMERA_INFO] = {"camera/camera_info", NM_PORT_OUT, &CameraInfo_type, 1 << NM_FIDELITY_PERCEPT, 0},
    [PORT_COMPASS] = {"imu/mag", NM_PORT_OUT, &MagneticField_type, EVERY, 0},
    [PORT_WORLD_TRUTH] = {"truth/world", NM_PORT_OUT, &WorldTruth_type, EVERY, 0},
    [PORT_BODY_TRUTH] = {"truth/body", NM_PORT_OUT, &BodyTruth_type, EVERY, 0},
    [PORT_LOG] = {"rosout", NM_PORT_QUEUE, &Log_type, EVERY, 32},
};

uint32_t stage_camera_port(uint32_t camera, uint32_t which) { return FIXED_PORTS + CAMERA_PORTS * camera + which; }

int64_t stage_camera_period(const struct nm_stage *stage, const struct nm_body_camera *camera)
{
    if (stage->options.camera_period) return stage->options.camera_period;
    return (int64_t)(1e9 / (camera->fps > 0 ? camera->fps : 30));
}

/* Hardware of its own makes and takes what a bus carries; the stage only counts goals. */
static bool elsewhere(const struct nm_stage *stage, uint32_t port)
{
    return stage->options.hardware && port < PORT_VELOCITY && port != PORT_GOALS;
}

static bool has(const struct nm_stage *stage, uint32_t port)
{
    return table[port].where >> stage->options.fidelity & 1;
}

static bool has_pictures(const struct nm_stage *stage) { return stage->options.fidelity == NM_FIDELITY_CAMERA; }

/* A camera's topics carry its name: camera/image_raw, camera/camera_info, truth/camera, camera/points. */
static const char *camera_topic(struct nm_stage *stage, const struct actor *actor, uint32_t camera, uint32_t which)
{
    static const char *const forms[CAMERA_PORTS] = {"%s/image_raw", "%s/camera_info", "truth/%s", "%s/points"};
    char topic[96];
    snprintf(topic, sizeof topic, forms[which], actor->body->cameras[camera].name);
    return nm_take_text(&stage->arena, topic);
}

uint32_t stage_takes(const struct nm_stage *stage, const char **topics, uint32_t room)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < FIXED_PORTS && n < room; p++)
        if (has(stage, p) && table[p].kind == NM_PORT_IN) topics[n++] = table[p].topic;
    return n;
}

uint32_t stage_remotes(struct nm_stage *stage, const struct actor *actor, const char **topics, uint32_t room)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < FIXED_PORTS && n < room; p++)
        if (has(stage, p) && table[p].kind == NM_PORT_OUT) topics[n++] = table[p].topic;
    if (n < room) topics[n++] = "motor_power";
    for (uint32_t c = 0; has_pictures(stage) && c < actor->body->n_cameras; c++)
        for (uint32_t k = 0; k < CAMERA_PORTS && n < room; k++) topics[n++] = camera_topic(stage, actor, c, k);
    for (uint32_t i = 0; i < actor->row.n_says && n < room; i++) topics[n++] = actor->row.says[i];
    return n;
}

static uint32_t picture_bytes(const struct nm_body_camera *camera)
{
    enum nm_picture_format format = strcmp(camera->format, "rgb8") ? NM_YUYV : NM_RGB8;
    return nm_picture_bytes(&camera->lens, format);
}

static uint32_t cloud_bytes(const struct nm_body_camera *camera)
{
    return camera->lens.width / STAGE_CLOUD_STEP * (camera->lens.height / STAGE_CLOUD_STEP) * STAGE_CLOUD_BYTES;
}

int stage_bind(struct nm_stage *stage, struct actor *actor, struct nm_err *err)
{
    static const struct nm_type *const camera_types[CAMERA_PORTS] = {&Image_type, &CameraInfo_type, &CameraTruth_type,
                                                                     &PointCloud2_type};
    const struct nm_body *body = actor->body;
    struct nm_edge_port ports[ALL_PORTS] = {0};
    if (actor->row.n_says > SAY_PORTS)
        return nm_fail(err, "robot %s: at most %d topics can be said", actor->row.name, SAY_PORTS);
    /* a topic without name stands for none: the port stays silent */
    for (uint32_t p = 0; p < ALL_PORTS; p++)
        ports[p] = (struct nm_edge_port){"", NM_PORT_IN | NM_EDGE_OPTIONAL, NULL, 0, 0};
    for (uint32_t p = 0; p < FIXED_PORTS; p++)
        if (has(stage, p) && !elsewhere(stage, p))
            ports[p] = (struct nm_edge_port){.topic = table[p].topic,
                                             .kind = table[p].kind | NM_EDGE_OPTIONAL,
                                             .type = table[p].type,
                                             .depth = table[p].depth};
    for (uint32_t c = 0; has_pictures(stage) && c < body->n_cameras; c++)
        for (uint32_t k = 0; k < CAMERA_PORTS; k++)
            ports[stage_camera_port(c, k)] =
                (struct nm_edge_port){.topic = camera_topic(stage, actor, c, k),
                                      .kind = NM_PORT_OUT | NM_EDGE_OPTIONAL,
                                      .type = camera_types[k],
                                      .blob = k == PORT_PICTURE ? picture_bytes(&body->cameras[c])
                                              : k == PORT_CLOUD ? cloud_bytes(&body->cameras[c])
                                                                : 0};
    actor->n_ports = FIXED_PORTS + CAMERA_PORTS * NM_CAMERAS;
    for (uint32_t i = 0; i < actor->row.n_says; i++)
        ports[actor->n_ports++] =
            (struct nm_edge_port){.topic = actor->row.says[i], .kind = NM_PORT_OUT | NM_EDGE_OPTIONAL};
    actor->edge = nm_edge_new(actor->brain, "stage", ports, actor->n_ports, err);
    return actor->edge ? 0 : -1;
}

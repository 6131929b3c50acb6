/* A small team of modules that do nothing, for the tests of line-ups: what counts is what they read, make and can be
 * tuned by.
 *
 *     eye ── ball_seen ──> ball_filter ── ball ──> striker ── cmd_vel ──> walk ── odometry ──> (last) ball_filter */
#pragma once

#include "core/nm.h"

#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseStamped.h"
#include "geometry_msgs/Twist.h"
#include "nav_msgs/Odometry.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Int32.h"
#include "std_msgs/String.h"
#include "std_srvs/SetBool.h"
#include "tf2_msgs/TFMessage.h"

struct eye {
    struct nm *nm;
    const Image *image;
    PointStamped *ball_seen;
    Image *small;
};
#undef SELF
#define SELF struct eye
static void eye_step(struct eye *f) { (void)f; }
static const struct nm_port eye_ports[] = {NM_IN(image, Image, "image_raw"),
                                           NM_OUT(ball_seen, PointStamped, "ball_seen"),
                                           NM_OUT(small, Image, "image_small", .blob = 19200),
                                           {0}};
NM_MODULE(eye, "Sees the ball.", NM_PORTS(eye_ports), .step = NM_CALL(eye_step))

struct ball_filter {
    struct nm *nm;
    const PointStamped *seen;
    const Odometry *odometry;
    PoseStamped *ball;
    bool rolling;
    int32_t samples;
    int64_t serial;
    float friction;
    double jump;
    char mode[8];
    char label[32];
    float gains[3];
    double limits[2];
};
#undef SELF
#define SELF struct ball_filter
static void ball_filter_step(struct ball_filter *f) { (void)f; }
static const struct nm_port ball_filter_ports[] = {NM_IN(seen, PointStamped, "ball_seen"),
                                                   NM_LAST(odometry, Odometry, "odometry"),
                                                   NM_OUT(ball, PoseStamped, "ball"),
                                                   {0}};
static const struct nm_param ball_filter_params[] = {
    NM_PARAM_SWITCH(rolling, true, "the ball rolls on when unseen"),
    NM_PARAM(samples, 20, 1, 1000, "1", "hypotheses; fewer are faster"),
    NM_PARAM(serial, 0, -9e18, 9e18, "1", "number of the camera"),
    NM_PARAM(friction, 0.4, 0, 5, "1/s", "share of speed lost a second"),
    NM_PARAM(jump, 0.75, 0, 10, "m", "farther is another ball"),
    NM_PARAM_WORD(mode, "safe", "fast safe", "how outliers are treated"),
    NM_PARAM_WORD(label, "", NULL, "shown beside the ball"),
    NM_PARAM_LIST(gains, "1 0.5 0.1", 0, 2, "1", "of position, speed and turn"),
    NM_PARAM_LIST(limits, "[-3, 3]", -10, 10, "m/s", "slowest and fastest"),
    {0}};
NM_MODULE(ball_filter, "Tracks the ball on the ground.", NM_PORTS(ball_filter_ports), NM_PARAMS(ball_filter_params),
          .step = NM_CALL(ball_filter_step))

struct striker {
    struct nm *nm;
    const PoseStamped *ball;
    Twist *cmd_vel;
    nm_out_queue(String) speech;
    float speed;
};
#undef SELF
#define SELF struct striker
static void striker_step(struct striker *f) { (void)f; }
static const struct nm_port striker_ports[] = {NM_IN(ball, PoseStamped, "ball"),
                                               NM_OUT(cmd_vel, Twist, "cmd_vel"),
                                               NM_OUT_QUEUE(speech, String, "speech", 4, .many = true),
                                               NM_READS_TF,
                                               {0}};
static const struct nm_param striker_params[] = {NM_PARAM(speed, 0.3, 0, 1, "m/s", "towards the ball"), {0}};
NM_MODULE(striker, "Walks to the ball.", NM_PORTS(striker_ports), NM_PARAMS(striker_params),
          .step = NM_CALL(striker_step))

struct walk {
    struct nm *nm;
    const Twist *cmd_vel;
    Odometry *odometry;
    nm_out_queue(TFMessage) tf;
};
#undef SELF
#define SELF struct walk
static void walk_step(struct walk *f) { (void)f; }
static const struct nm_port walk_ports[] = {NM_IN(cmd_vel, Twist, "cmd_vel"),
                                            NM_OUT(odometry, Odometry, "odometry"),
                                            NM_OUT_QUEUE(tf, TFMessage, "tf", 4, .many = true),
                                            {0}};
NM_MODULE(walk, "Puts one foot before the other.", NM_PORTS(walk_ports), .step = NM_CALL(walk_step))

/* reads odometry of the same run, so it must not stand in a loop with walk */
struct dribbler {
    struct nm *nm;
    const Odometry *odometry;
    Twist *cmd_vel;
};
#undef SELF
#define SELF struct dribbler
static void dribbler_step(struct dribbler *f) { (void)f; }
static const struct nm_port dribbler_ports[] = {
    NM_IN(odometry, Odometry, "odometry"), NM_OUT(cmd_vel, Twist, "cmd_vel"), {0}};
NM_MODULE(dribbler, "Keeps the ball at its feet.", NM_PORTS(dribbler_ports), .step = NM_CALL(dribbler_step))

struct speaker {
    struct nm *nm;
    nm_queue(String) speech;
    nm_queue(Log) log;
};
#undef SELF
#define SELF struct speaker
static void speaker_step(struct speaker *f) { (void)f; }
static const struct nm_port speaker_ports[] = {
    NM_QUEUE(speech, String, "speech", 16), NM_QUEUE(log, Log, "rosout", 128), {0}};
NM_MODULE(speaker, "Says it aloud.", NM_PORTS(speaker_ports), .step = NM_CALL(speaker_step))

struct power {
    struct nm *nm;
    nm_server(SetBool) motors;
};
#undef SELF
#define SELF struct power
static void power_step(struct power *f) { (void)f; }
static const struct nm_port power_ports[] = {NM_SERVER(motors, SetBool, "motor_power", 4), {0}};
NM_MODULE(power, "Switches the motors.", NM_PORTS(power_ports), .step = NM_CALL(power_step))

struct button {
    struct nm *nm;
    nm_client(SetBool) motors;
};
#undef SELF
#define SELF struct button
static void button_step(struct button *f) { (void)f; }
static const struct nm_port button_ports[] = {NM_CLIENT(motors, SetBool, "motor_power", 4), {0}};
NM_MODULE(button, "Asks for the motors.", NM_PORTS(button_ports), .step = NM_CALL(button_step))

/* takes the ball for a number, and speech for a value */
struct stranger {
    struct nm *nm;
    const Int32 *ball;
    const String *speech;
};
#undef SELF
#define SELF struct stranger
static void stranger_step(struct stranger *f) { (void)f; }
static const struct nm_port stranger_ports[] = {NM_IN(ball, Int32, "ball"), NM_IN(speech, String, "speech"), {0}};
NM_MODULE(stranger, "Understands nothing.", NM_PORTS(stranger_ports), .step = NM_CALL(stranger_step))

static const struct nm_module *const team[] = {&eye_module,   &ball_filter_module, &striker_module,
                                               &walk_module,  &dribbler_module,    &speaker_module,
                                               &power_module, &button_module,      &stranger_module};
enum { TEAM = sizeof team / sizeof team[0] };

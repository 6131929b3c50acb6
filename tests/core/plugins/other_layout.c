/* A module that was built with other messages: one of another layout, one that nobody else knows. */
#include "core/nm.h"

typedef struct Imu Imu;
typedef struct Secret Secret;
static const struct nm_type Imu_type = {.name = "sensor_msgs/msg/Imu", .layout = 1};
#define Imu_LAYOUT    1
#define Secret_LAYOUT 2
static const struct nm_type Secret_type = {.name = "other_msgs/msg/Secret", .layout = 2};

struct other_layout {
    struct nm *nm;
    const Imu *imu;
    Secret *secret;
};
#define SELF struct other_layout

static void step(struct other_layout *f) { (void)f; }

static const struct nm_port ports[] = {NM_IN(imu, Imu, "imu"), NM_OUT(secret, Secret, "secret"), {0}};
NM_MODULE(other_layout, "Lives in the past.", NM_PORTS(ports), .step = NM_CALL(step))

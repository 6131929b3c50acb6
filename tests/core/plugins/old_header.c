/* A module that finds our table of a message but was compiled with an older header of it. */
#include "core/nm.h"
#include "sensor_msgs/Imu.h"

#undef Imu_LAYOUT
#define Imu_LAYOUT 3

struct old_header {
    struct nm *nm;
    const Imu *imu;
};
#define SELF struct old_header

static void step(struct old_header *f) { (void)f; }

static const struct nm_port ports[] = {NM_IN(imu, Imu, "imu"), {0}};
NM_MODULE(old_header, "Was built last week.", NM_PORTS(ports), .step = NM_CALL(step))

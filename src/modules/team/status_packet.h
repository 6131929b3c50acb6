/* The status packet of a robot: four letters, then a RobotStatus in CDR. It goes to all that listen on the port of the
 * team. */
#pragma once

#include <string.h>

#include "codec/cdr.h"
#include "nutmeg_msgs/RobotStatus.h"

#define NM_STATUS_MAGIC "NMS1"

static inline size_t nm_status_write(const RobotStatus *status, uint8_t *to, size_t room)
{
    memcpy(to, NM_STATUS_MAGIC, 4);
    int64_t n = nm_cdr_encode(&RobotStatus_type, status, to + 4, room - 4);
    return n < 0 ? 0 : (size_t)n + 4;
}

/* False: these bytes are no status packet. */
static inline bool nm_status_read(const uint8_t *bytes, size_t n, RobotStatus *status)
{
    nm_reset(&RobotStatus_type, status);
    return n >= 4 && !memcmp(bytes, NM_STATUS_MAGIC, 4) &&
           !nm_cdr_decode(&RobotStatus_type, status, bytes + 4, n - 4, NULL, NULL);
}

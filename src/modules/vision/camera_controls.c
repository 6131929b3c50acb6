/* Exposure, gain, white balance and focus of a camera as parameters, which change at run time like all others. The
 * camera's edge sets what differs from what it has set before. */
#include "core/nm.h"
#include "nutmeg_msgs/CameraControls.h"

struct camera_controls {
    struct nm *nm;
    CameraControls *controls;
    int32_t exposure, gain, white_balance, focus;
};

static void step(struct camera_controls *f)
{
    f->controls->exposure = f->exposure;
    f->controls->gain = f->gain;
    f->controls->white_balance = f->white_balance;
    f->controls->focus = f->focus;
    nm_put(f->nm, f->controls);
}

#define SELF struct camera_controls
static const struct nm_port ports[] = {
    NM_OUT(controls, CameraControls, "camera/controls"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(exposure, -1, -1, 10000, "1", "time of exposure in 100 us; -1: the camera decides"),
    NM_PARAM(gain, -1, -1, 1023, "1", "amplification in steps of the driver; -1: the camera decides"),
    NM_PARAM(white_balance, -1, -1, 10000, "K", "colour temperature of the lamps; -1: the camera decides"),
    NM_PARAM(focus, -1, -1, 1023, "1", "in steps of the driver; -1: the camera decides"),
    {0},
};
NM_MODULE(camera_controls, "Exposure, gain, white balance and focus of a camera as parameters.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))

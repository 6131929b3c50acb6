/* Inverse kinematics of the head: turns neck joints until the camera's optical axis passes through a point. Closed for
 * two joints whose second axis is square to the optical axis, which every pan-tilt head is; the axes need not meet.
 * Otherwise, and at the limits, numeric: the camera then looks as near to the point as it can. */
#pragma once

#include "base/export.h"
#include "body/chain.h"

struct nm_neck {
    struct nm_chain chain;
    struct vec3 eye, gaze; /* camera and optical axis at zero, in the base */
    bool closed;
};

/* The camera must be carried by the head's last joint. */
NM_EXPORT int nm_neck_init(struct nm_neck *neck, const struct nm_body *body, uint32_t camera_frame, struct nm_err *err);

/* q: the neck's joints in the chain's order. `off` (may be NULL): the angle between the optical axis and the point. */
NM_EXPORT enum nm_reach nm_look_at(const struct nm_neck *neck, struct vec3 point_in_base, double q[], double *off);

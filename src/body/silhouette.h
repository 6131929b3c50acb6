/* The parts of the robot's own body that its camera can see: each shape as a convex polygon of pixels.
 * What lies inside is no ball, no line and no obstacle. */
#pragma once

#include "base/export.h"
#include "body/kinematics.h"

enum { NM_OUTLINE_POINTS = 72 };

struct nm_outline {
    uint32_t link;
    uint32_t n;
    struct pixel points[NM_OUTLINE_POINTS]; /* convex, clipped to the picture, in one turn */
};

/* Outlines of the collision shapes (of the visual ones if there are none) that reach into the camera's picture; shapes
 * of the link that carries the camera and meshes are left out. Returns how many were written, at most `max`. */
NM_EXPORT uint32_t nm_silhouette(const struct nm_body *body, const struct nm_kin *kin, uint32_t camera,
                                 struct nm_outline out[], uint32_t max);

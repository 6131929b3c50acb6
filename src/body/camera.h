/* A camera: pinhole with the lens models of Brown and Conrady (radial and tangential) or of the equidistant fisheye, as
 * OpenCV and ROS write their coefficients. Points are in the optical frame: x right, y down, z forward. Pixel (0, 0) is
 * the centre of the upper left pixel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/export.h"
#include "base/geometry.h"

enum nm_lens { NM_PINHOLE, NM_BROWN_CONRADY, NM_FISHEYE };

struct nm_camera {
    uint32_t width, height;
    double fx, fy, cx, cy; /* pixels                                                               */
    enum nm_lens lens;
    double k[5];  /* Brown-Conrady: k1 k2 p1 p2 k3; fisheye: k1 k2 k3 k4                  */
    double reach; /* by nm_camera_ready: the radius (fisheye: angle) up to which the lens
                     model grows; beyond it no pixel belongs to a direction               */
};

struct pixel {
    double u, v;
};

/* Works out `reach`. Call it after the members above it were set. */
NM_EXPORT void nm_camera_ready(struct nm_camera *camera);

/* Where a point is seen; false where it is not: behind the camera or beyond the lens' reach. The pixel may lie outside
 * the picture. */
NM_EXPORT bool nm_camera_project(const struct nm_camera *camera, struct vec3 point, struct pixel *pixel);

/* The direction (length 1) a pixel looks to; false for a pixel the lens model never reaches. */
NM_EXPORT bool nm_camera_unproject(const struct nm_camera *camera, struct pixel pixel, struct vec3 *direction);

static inline bool nm_camera_sees(const struct nm_camera *camera, struct pixel p)
{
    return p.u >= -0.5 && p.v >= -0.5 && p.u < camera->width - 0.5 && p.v < camera->height - 0.5;
}

/* Where the pixel's ray meets the plane z = height of the world; false if it looks above it. */
NM_EXPORT bool nm_camera_to_ground(const struct nm_camera *camera, struct pose3 camera_to_world, struct pixel pixel,
                                   double height, struct vec3 *point);
NM_EXPORT bool nm_camera_from_world(const struct nm_camera *camera, struct pose3 camera_to_world, struct vec3 point,
                                    struct pixel *pixel);

/* Radius in pixels of a ball of radius `ball` that lies on the ground and whose centre is seen at the pixel: that of
 * the circle with the area of its outline. 0 if no such ball is there. */
NM_EXPORT double nm_camera_ball_radius(const struct nm_camera *camera, struct pose3 camera_to_world, struct pixel pixel,
                                       double ball);

/* The horizon's v in column u (it may lie outside the picture); false if the camera never sees it there. The curve is
 * exact under distortion. */
NM_EXPORT bool nm_camera_horizon(const struct nm_camera *camera, struct pose3 camera_to_world, double u, double *v);

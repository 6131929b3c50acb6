/* What the modules of the world share: where the robot was when an image was taken, where it stands on the field and
 * how sure that is, and what its camera can see. */
#pragma once

#include <string.h>

#include "base/trail.h"
#include "body/robot.h"
#include "core/nm.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/CameraPose.h"

static inline struct pose2 pose2_point(double x, double y) { return (struct pose2){x, y, 0}; }

/* The time at which a message was valid: its stamp, or when it was made if it carries none. */
static inline int64_t valid_at(const void *message, Time stamp)
{
    int64_t at = nm_stamp_ns(stamp);
    return at ? at : nm_slot(message)->time;
}

/* ---- the odometry of the last seconds ---- */

static inline void trail_take(struct nm_trail *t, const Odometry *o)
{
    if (nm_slot(o)->seq) nm_trail_put(t, valid_at(o, o->header.stamp), nm_pose2(&o->pose.pose));
}

/* ---- the robot on the field ---- */

struct place {
    bool known;
    struct pose2 robot_to_map;
    double p[3][3]; /* covariance of x, y, theta; m^2, m rad, rad^2 */
};

/* The pose as of a time: carried on by odometry from its stamp. A pose older than two seconds is none. */
static inline struct place place_at(const struct nm *nm, const PoseWithCovarianceStamped *pose,
                                    const struct nm_trail *t, int64_t at)
{
    static const int rows[3] = {0, 1, 5}; /* x, y, rotation about z */
    struct place place = {0};
    int64_t stamp = valid_at(pose, pose->header.stamp);
    struct pose2 then = nm_pose2(&pose->pose.pose);
    if (!nm_slot(pose)->seq || nm->now - stamp > nm_ns(2) || !isfinite(then.x + then.y + then.theta)) return place;
    struct pose2 moved = pose2_mul(pose2_inv(nm_trail_at(t, stamp)), nm_trail_at(t, at));
    place.known = true;
    place.robot_to_map = pose2_mul(then, moved);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double c = pose->pose.covariance[6 * rows[i] + rows[j]];
            place.p[i][j] = isfinite(c) ? c : 0;
        }
    return place;
}

/* Covariance in the map of a point that has covariance `c` (m^2, row-major) in the robot's frame: the point's own,
 * turned, and what the uncertainty of the pose adds; a turn moves the point the more the farther it is. */
static inline void place_spread(const struct place *place, double x, double y, const double c[4], double out[4])
{
    double co = cos(place->robot_to_map.theta), si = sin(place->robot_to_map.theta);
    double r[2][2] = {{co, -si}, {si, co}}, j[2][3] = {{1, 0, -si * x - co * y}, {0, 1, co * x - si * y}};
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            double sum = 0;
            for (int k = 0; k < 2; k++)
                for (int l = 0; l < 2; l++) sum += r[a][k] * c[2 * k + l] * r[b][l];
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) sum += j[a][k] * place->p[k][l] * j[b][l];
            out[2 * a + b] = sum;
        }
}

/* Squared distance of two points in units of their common covariance. */
static inline double distance_in(double dx, double dy, const double c[4])
{
    double det = c[0] * c[3] - c[1] * c[2];
    if (!(det > 0)) return INFINITY;
    return (c[3] * dx * dx - (c[1] + c[2]) * dx * dy + c[0] * dy * dy) / det;
}

/* ---- what the camera sees ---- */

struct view {
    bool known;
    struct pose3 camera_to_robot;
    const struct nm_camera *lens;
};

/* The camera as it was when it took its newest image; unknown while its pose is not valid or is older than 0.3 s. */
static inline struct view view_now(const struct nm *nm, const CameraPose *camera)
{
    const Pose *p = &camera->pose;
    if (!nm->body || !nm->body->n_cameras || !camera->valid || nm_age(nm, camera) > nm_ns(0.3)) return (struct view){0};
    return (struct view){true,
                         {{p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z},
                          {p->position.x, p->position.y, p->position.z}},
                         &nm->body->cameras[0].lens};
}

/* True if a point (m, robot's frame) is well inside the picture: `margin` pixels from its edges. What hides it is not
 * looked at. */
static inline bool view_sees(const struct view *view, struct vec3 point, double margin)
{
    struct pixel at;
    if (!view->known || !nm_camera_from_world(view->lens, view->camera_to_robot, point, &at)) return false;
    return at.u > margin && at.v > margin && at.u < view->lens->width - margin && at.v < view->lens->height - margin;
}

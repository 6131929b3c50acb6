/* The yardstick of position modules: a filter that is told which landmark and which line each percept is, and that
 * knows the whole outing when it says where the robot was (Rauch, Tung, Striebel 1965). No module can do better by
 * much. */
#pragma once

#include "base/pitch.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "modules/position/ukf.h"
#include "nutmeg_msgs/Percepts.h"

enum { SMOOTHED = 8000 };
struct position_smoother {
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    struct nm_line lines[NM_PITCH_LINES];
    uint32_t n_marks, n_lines;
    struct ukf_noise noise;
    uint32_t n;
    struct smoothed_image {
        struct ukf before, after; /* of its sightings                                     */
        double dx, dy, keep;      /* the motion from the last image: shear and tilt kept  */
        struct pose2 truth;
        double seconds;
    } * images;
    struct ukf now;
    struct pose2 robot_to_odom;
    double seconds;
};

void position_smoother_begin(struct position_smoother *smoother, const struct nm_pitch_size *field, double height);
void position_smoother_see(struct position_smoother *smoother, double seconds, const Percepts *percepts,
                           const LineInformationRelative *lines, struct pose2 robot_to_odom, struct pose2 truth);
/* Goes back over all images: `poses` are those of each image. */
void position_smoother_end(struct position_smoother *smoother, struct pose2 poses[SMOOTHED]);
void position_smoother_free(struct position_smoother *smoother);

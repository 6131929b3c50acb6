/* Percepts without pictures: what a good vision would report, from the truth. Whatever is in the field of view and not
 * hidden is projected into the image, moved there by the errors of a detector, and brought back to the ground through a
 * camera pose that is wrong as real ones are: so distance errors grow with the square of the distance, and all percepts
 * of one image err together. Things are missed more often the farther they are, and for a while rather than for a
 * frame; things are seen that are not there, for a frame or for a while. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "body/camera.h"
#include "base/random.h"
#include "sim/field.h"
#include "sim/scene.h"

enum {
    NM_PERCEPTS = 64, /* in one image                                            */
    NM_GHOSTS = 8,    /* false things that stay for a while, at the same time    */
    NM_PERCEPT_SUBJECTS = 1 + NM_PITCH_POSTS + NM_PITCH_CROSSINGS + NM_PITCH_SPOTS + 1 + NM_PLAYERS + NM_GHOSTS,
};

/* The numbers are those of nutmeg_msgs/Percept. */
enum nm_percept_kind {
    NM_PERCEPT_BALL = 1,
    NM_PERCEPT_POST,
    NM_PERCEPT_L,
    NM_PERCEPT_T,
    NM_PERCEPT_X,
    NM_PERCEPT_MARK,
    NM_PERCEPT_CIRCLE,
    NM_PERCEPT_ROBOT,
    NM_PERCEPT_KINDS,
};

struct nm_percept {
    enum nm_percept_kind kind;
    double confidence;  /* 0 to 1                                               */
    struct pixel at;    /* in the image: where it stands, of a ball its centre  */
    double x, y;        /* m, in the robot's ground frame                       */
    double orientation; /* rad, of crossings                                    */
    double xx, xy, yy;  /* m2, as a vision would state it                       */
    int32_t truth;      /* which post, crossing, spot or robot; -1: none, it is false */
};

/* How often one kind is missed and made up. */
struct nm_percept_habit {
    double missed;   /* share, however near                        */
    double range;    /* m, where half of the rest is missed too    */
    double fade;     /* m, over which that comes                   */
    double ghosts;   /* each second: false ones that stay a while  */
    double flickers; /* each image: false ones of one frame        */
};

struct nm_percept_params {
    struct nm_percept_habit habits[NM_PERCEPT_KINDS];
    struct nm_percept_habit line; /* of pieces of lines; no false ones                 */
    double pixel_noise;           /* pixels, 1 sigma in both directions, of one percept          */
    double tilt_noise;            /* rad, 1 sigma of roll and pitch, of one image                */
    double tilt_drift;            /* rad, 1 sigma of the part that changes slowly ...            */
    double tilt_time;             /* s, ... within this time                                     */
    double miss_time;             /* s, how long a thing that is missed stays so                 */
    double ghost_time;            /* s, how long a false one stays                               */
};
extern const struct nm_percept_params nm_percept_params;

/* A robot as others see it: an upright cylinder. */
struct nm_percept_robot {
    bool present;
    double x, y, radius, height;
};

struct nm_percept_view {
    int64_t time; /* ns, of the image */
    const struct nm_pitch *pitch;
    const struct nm_camera *camera;
    struct pose3 camera_to_field; /* the true one                                              */
    struct pose2 robot_to_field;  /* frame in which percepts are given: between the feet       */
    struct vec3 ball;             /* z: its centre's height                                    */
    uint32_t n, self;             /* robots, and who looks                                     */
    struct nm_percept_robot robots[NM_PLAYERS];
};

struct nm_ghost {
    bool alive;
    enum nm_percept_kind kind;
    double x, y; /* in the field */
    int64_t until;
};

/* What one robot's eyes remember from image to image. */
struct nm_perceiver {
    struct nm_dice dice;
    int64_t last; /* ns, of the last image; -1: none yet */
    double roll_drift, pitch_drift;
    double luck[NM_PERCEPT_SUBJECTS]; /* below the chance to miss: missed */
    struct nm_ghost ghosts[NM_GHOSTS];
    double keep;                  /* share of the luck that lasted since the image before */
    struct pose3 camera_to_robot; /* as the robot believes, in the last image             */
    struct nm_dice line_dice;     /* their own, so that whoever wants no lines sees the same things */
    double line_luck[NM_PITCH_LINES];
};

void nm_perceiver_new(struct nm_perceiver *eyes, uint64_t seed, uint32_t robot);

/* All percepts of one image; returns how many. */
uint32_t nm_perceive(struct nm_perceiver *eyes, const struct nm_percept_params *params,
                     const struct nm_percept_view *view, struct nm_percept percepts[NM_PERCEPTS]);

/* A piece of a line that was found. */
struct nm_segment {
    double confidence;
    struct pixel from, to;
    double x0, y0, x1, y1; /* m, in the robot's ground frame */
    int32_t truth;         /* which line of the pitch        */
};
/* The pieces of lines in the image that nm_perceive looked at last; returns how many. */
uint32_t nm_perceive_lines(struct nm_perceiver *eyes, const struct nm_percept_params *params,
                           const struct nm_percept_view *view, struct nm_segment segments[NM_PITCH_LINES]);

/* The parts, which stand on their own: */

/* True if a point is in the picture and nothing stands before it; what stands nearer to it than its own radius hides
 * nothing of it. */
bool nm_percept_sees(const struct nm_percept_view *view, struct vec3 point, double own_radius);

/* Share of a thing of this size, standing on the ground at (x, y), that the camera sees: 0 outside the picture. */
double nm_percept_visible(const struct nm_percept_view *view, struct vec3 centre, double radius);
/* How likely a thing at this distance is missed. */
double nm_percept_missed(const struct nm_percept_habit *habit, double distance);

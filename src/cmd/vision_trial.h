/* Line-ups of a vision on single images, held against what the images really show: what `nutmeg eval vision` and
 * `nutmeg bench vision` are made of. An image comes from the simulator's ray caster (a random field of robots, seen by
 * a random robot) or from a file with tags. */
#pragma once

#include <stdio.h>

#include "cmd/setup.h"
#include "core/player.h"
#include "edge/camera/camera_edge.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "humanoid_league_msgs/BallsInImage.h"
#include "nutmeg_msgs/FieldBorder.h"
#include "nutmeg_msgs/Percepts.h"
#include "sim/picture.h"
#include "sim/truth.h"

enum { VISION_LEAST = 32, VISION_MOST = 1280 }; /* px a side; other images are not looked at */

/* What is scored. Places are only known of simulated images. */
enum vision_kind {
    VISION_BALL,
    VISION_POST,
    VISION_CROSSING,
    VISION_MARK,
    VISION_CIRCLE,
    VISION_ROBOT,
    VISION_LINE,
    VISION_KINDS
};
extern const char *const vision_kinds[VISION_KINDS];
extern const double vision_ranges[VISION_KINDS]; /* m, up to which a thing must be found */
/* A hit lies within 5 cm + 10 % of the distance. */
double vision_hit_radius(double x, double y);

struct vision_thing {
    enum vision_kind kind;
    uint8_t percept;              /* kind in Percept, to tell L from T                              */
    double x, y;                  /* m, robot's frame                                               */
    double x1, y1;                /* m, other end of a piece of a line                              */
    bool counts;                  /* it must be found: seen well enough and near enough             */
    bool box_known;               /* the following is known; of crossings and marks, of what hits them */
    double left, top, wide, high; /* px */
};

enum { VISION_THINGS = 256, VISION_BORDER = 64 };
struct vision_truth {
    uint32_t n;
    struct vision_thing things[VISION_THINGS];
    bool placed;                 /* things have places, else only boxes                    */
    bool complete[VISION_KINDS]; /* what is found and not here is false                    */
    bool border_known;
    struct nm_camera lens;
    struct pose3 camera_to_field;
    double carpet_x, carpet_y; /* m, half edges */
};

/* Counts of one line-up over images. */
enum { VISION_RINGS = 6 /* m, distances 0 to 1, 1 to 2 … */ };
struct vision_score {
    uint32_t images;
    uint32_t there[VISION_KINDS], found[VISION_KINDS], told[VISION_KINDS], right[VISION_KINDS];
    uint32_t ring_there[VISION_KINDS][VISION_RINGS], ring_found[VISION_KINDS][VISION_RINGS];
    double error[VISION_KINDS]; /* m, sum over those found                              */
    double share[VISION_KINDS]; /* sum of the error of the distance as a share of it    */
    double border;              /* px, sum of the means of images                       */
    uint32_t borders;
    double seconds, slowest; /* of the vision's cycle */
    FILE *list;              /* NULL, or where misses and false detections are listed */
    const char *name;        /* of the image */
};

/* ---- a line-up that looks at images ---- */

struct vision_rig;
/* With a camera (or NULL) its images come through the camera edge. */
struct vision_rig *vision_rig_new(struct setup *setup, const char *lineup, const struct nm_body *body,
                                  const char *const *set, uint32_t n_set, const struct nm_video_calls *camera,
                                  struct nm_err *err);
void vision_rig_free(struct vision_rig *rig);
int64_t vision_rig_now(const struct vision_rig *rig); /* ns, of the next look */
struct nm_player *vision_rig_player(const struct vision_rig *rig);
/* Shows an image (YUV 4:2:2) taken by camera 0 of the body from this place and with these joints; NULL: not known.
 * A rig with a camera shows what that has taken, if it has. */
struct vision_found {
    const Percepts *percepts; /* NULL: nothing came */
    const LineInformationRelative *lines;
    const FieldBorder *border;
    const BallsInImage *candidates;
    uint32_t n_shown;          /* what the stages show, while somebody watches (nm_player_watch) */
    const void *const *shown;  /* of type Show */
    int64_t busy;              /* ns of CPU that the vision took */
    uint32_t warned, relieved; /* lines of the camera: faults, and that they are over */
};
void vision_rig_look(struct vision_rig *rig, const uint8_t *yuyv, uint32_t width, uint32_t height,
                     const struct pose3 *camera_to_robot, const double *q, struct vision_found *found);

/* Tells what the robot believed a moment before the next look: where the ball is, and the robot on the field. */
struct vision_belief {
    double x, y, deviation; /* m, of the ball, robot's frame      */
    struct pose2 robot_to_field;
    double place_deviation, turn_deviation; /* m, rad */
};
void vision_rig_believe(struct vision_rig *rig, const struct vision_belief *belief);

/* ---- scores ---- */

void vision_score(const struct vision_truth *truth, const struct vision_found *found, struct vision_score *score);
/* Draws what was found upon the image: rgb8 into `rgb` of 3 width height bytes. */
void vision_draw(const uint8_t *yuyv, uint32_t width, uint32_t height, const struct nm_camera *lens,
                 const struct pose3 *camera_to_robot, const struct vision_found *found, uint8_t *rgb);

/* ---- simulated images ---- */

struct vision_studio;
struct vision_studio *vision_studio_new(struct nm_arena *arena, const char *root, const struct nm_body *body,
                                        struct nm_err *err);
/* From now on one other robot stands 0.3 to 1 m before the camera, as in a fight for the ball; or as usual again. */
void vision_studio_duel(struct vision_studio *studio, bool on);
struct vision_shot {
    uint32_t width, height;
    const uint8_t *yuyv;
    struct pose3 camera_to_robot; /* as the robot believes: a little wrong */
    const double *q;
    struct pose2 robot_to_field;
    struct vision_truth truth;
};
/* The same number gives the same image. Light and hall differ from number to number. */
void vision_studio_shoot(struct vision_studio *studio, uint64_t number, struct vision_shot *shot);

/* How the light differs from that of an image. */
struct vision_light {
    float level, cast[3];
    double sun; /* m to the left of the robot's view: the middle of a bright spot, 1.5 m ahead; NaN: none */
};
/* The image of the last vision_studio_shoot once more, in other light and with other noise; until the next one. */
const uint8_t *vision_studio_expose(struct vision_studio *studio, const struct vision_light *light, uint64_t noise);

/* Between the files that put a body together: the half-made model with its arrays still writable. */
#pragma once

#include "body/kinematics.h"
#include "body/robot.h"

struct body_build {
    struct nm_arena *arena;
    struct nm_err *err;
    struct nm_body *body;
    struct nm_joint *joints;    /* the body's, writable                             */
    struct nm_frame *frames;    /* the body's, with room for NM_FRAMES              */
    struct nm_inertia *inertia; /* the body's, writable                             */
    struct nm_kin zero;         /* all joints at zero, in the base                  */
    bool fit_inertia;           /* robot.yaml asks for it                           */
    uint32_t shortened;         /* names                                            */
    bool uncalibrated;          /* cameras.saved.yaml is not read                   */
};

/* A name as it fits into messages: one that is too long ends with a number made of all of it. */
const char *build_name(struct body_build *b, const char *name);

/* Adds a frame fixed to a link; the index, or -1 if there is no room. */
int32_t build_frame(struct body_build *b, const char *name, uint32_t link, struct pose3 to_link);

/* robot.yaml: what it says stands; groups.c finds out the rest. */
int build_robot_file(struct body_build *b, const struct nm_yaml *file);
int build_servos_file(struct body_build *b, const char *path);
int build_cameras_file(struct body_build *b, const char *path);
int build_calibration_file(struct body_build *b, const char *path); /* after build_cameras */

/* Quarter turns to the left from x to where the robot faces, found by its feet, knees, cameras and names; `notes`: why,
 * unless it is x. */
int build_facing(struct body_build *b, struct nm_err *notes);
/* How far above the base the hips are if its frame lies lower than the middle of the legs, as base_footprint does on
 * the ground; else 0. */
double build_lift(struct body_build *b);

/* Limbs, feet, hands, imu and cameras that no file named, found by geometry first and by name second. */
void build_groups(struct body_build *b);
void build_cameras(struct body_build *b);

/* Whether a frame of that name is a camera. */
bool build_looks(const char *name);

/* Meshes become boxes and capsules: fitted around their corners, or modest ones where no file was found. `beside`: the
 * folder of the URDF. */
void build_shapes(struct body_build *b, const char *beside);
/* Inertias that cannot belong to their links: a sentence on them, and others in their place if robot.yaml asks. */
void build_inertias(struct body_build *b);

/* The box around the shapes of one link (all links if negative), at zero pose. */
struct extent {
    struct vec3 low, high;
    bool any;
};
struct extent build_extent(const struct body_build *b, int32_t link);
void build_stretch(struct extent *extent, struct vec3 at, struct vec3 reach);

/* The turn from a frame to the nearest one, by whole axes, whose z and x point along two directions that the frame
 * sees under `rot`. */
struct quat build_square(struct quat rot, struct vec3 z, struct vec3 x);

/* A number read from a map into its place, refused outside [low, high], or with a fraction where it must be whole. */
enum { OPTIONAL = 0, NEEDED = 1, WHOLE = 2 };
struct build_member {
    const char *key;
    double *value;
    double low, high;
    int how;
};
int build_members(const struct nm_yaml *map, const struct build_member *members, size_t n, struct nm_err *err);

/* Tables for kinematics and dynamics, one entry a joint. */
struct nm_step *build_steps(struct nm_arena *arena, const struct nm_body *body);

/* Between the files that put a body together: the half-made model with its arrays still writable. */
#ifndef NM_BODY_BUILD_H
#define NM_BODY_BUILD_H

#include "body/robot.h"

struct body_build {
    struct nm_arena *arena;
    struct nm_err *err;
    struct nm_body *body;
    struct nm_joint *joints; /* the body's, writable                */
    struct nm_frame *frames; /* the body's, with room for NM_FRAMES */
};

/* Adds a frame fixed to a link; the index, or -1 if there is no room. */
int32_t build_frame(struct body_build *b, const char *name, uint32_t link, struct pose3 to_link);

/* robot.yaml: what it says stands; groups.c finds out the rest. */
int build_robot_file(struct body_build *b, const char *path);
int build_servos_file(struct body_build *b, const char *path);
int build_cameras_file(struct body_build *b, const char *path);

/* Limbs, feet, hands, imu and cameras that no file named, found by geometry first and by name second. */
void build_groups(struct body_build *b);
void build_cameras(struct body_build *b);

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

#endif

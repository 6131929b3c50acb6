/* Key-frame motions of a robot, read from the YAML files of its folder's animations/ (docs/motion.md has the format). A
 * frame says how long its move takes, how long it is held, and the angles of some joints, in degrees; a joint that a
 * frame does not name passes through it on its way to the next frame that does. Between frames a joint moves linearly,
 * or by a cubic Hermite curve whose slopes are Fritsch and Butland's (1984): it never overshoots a frame, stands still
 * where it turns back or pauses, and otherwise flows through.
 *
 * What is read is constant and shared; playing it is a question of time, without state and without memory. */
#pragma once

#include "base/export.h"
#include "body/kinematics.h"
#include "body/robot.h"

enum { NM_ANIMATION_FRAMES = 64, NM_ANIMATIONS = 64 };

struct nm_animation_frame {
    double at, until;       /* s after the begin: reached, and left       */
    uint64_t joints;        /* a bit each that it names                   */
    double goal[NM_JOINTS]; /* rad                                        */
    double stiffness;       /* 0 to 1, on the way here and while held     */
    bool strike;            /* goals run ahead of the servos on purpose: speeds are not checked */
    uint32_t line;
};

struct nm_animation {
    const char *name, *about, *file;
    const char *mirror_of; /* the animation that this one mirrors, or NULL                      */
    bool cubic;            /* otherwise linear                                                  */
    uint32_t priority;     /* a running animation gives way to one of higher priority           */
    double balance[2];     /* roll, pitch: rad of the ankles for each rad/s the trunk turns     */
    uint64_t joints;       /* all that any frame names                                          */
    double duration;       /* s, of all                                                         */
    uint32_t n_frames;
    struct nm_animation_frame *frames;
};

/* One file's text; NULL after a fault, with sentences `file:line: …`. The name is the file's without folder and ending.
 * A file that mirrors another has no frames until nm_animation_mirror gives it some. */
NM_EXPORT struct nm_animation *nm_animation_parse(struct nm_arena *arena, const struct nm_body *body, const char *file,
                                                  const char *text, size_t size, struct nm_err *err);
NM_EXPORT struct nm_animation *nm_animation_read(struct nm_arena *arena, const struct nm_body *body, const char *path,
                                                 struct nm_err *err);

/* Left becomes right and the reverse, as in a mirror. All but name and about is taken from `from`. */
NM_EXPORT void nm_animation_mirror(struct nm_arena *arena, const struct nm_body *body, const struct nm_animation *from,
                                   struct nm_animation *to);

/* All files of a folder in the order of their names, mirrored ones filled in; -1 after a fault. No folder: none. */
NM_EXPORT int nm_animations_read(struct nm_arena *arena, const struct nm_body *body, const char *folder,
                                 const struct nm_animation **animations, uint32_t *n, struct nm_err *err);

/* One of the body's own, or NULL. */
NM_EXPORT const struct nm_animation *nm_find_animation(const struct nm_body *body, const char *name);

struct nm_animation_pose {
    double q[NM_JOINTS], qd[NM_JOINTS]; /* rad, rad/s: of the animation's joints only */
    double stiffness;
};
/* At t seconds, if the joints were at `from` when it began. */
NM_EXPORT void nm_animation_sample(const struct nm_animation *animation, const double from[], double t,
                                   struct nm_animation_pose *pose);

/* Refuses goals beyond the joints' limits, moves faster than their servos turn, and poses in which parts of the body
 * meet; how the robot gets into the first frame is left to the player. Returns how many faults, each a sentence. */
NM_EXPORT uint32_t nm_animation_check(const struct nm_body *body, const struct nm_animation *animation,
                                      struct nm_err *err);

/* The first two links whose shapes meet deeper than `depth` (m), neighbours and the folder's exceptions left out. */
NM_EXPORT bool nm_self_collision(const struct nm_body *body, const double q[], double depth, uint32_t links[2]);

/* For each joint its mirror image and the sign it takes there: q_mirrored[twin[j]] = sign[j] * q[j]. */
NM_EXPORT void nm_mirror_joints(const struct nm_body *body, uint32_t twin[], double sign[]);

/* The animation as a file, frame by frame. */
NM_EXPORT const char *nm_animation_text(struct nm_arena *arena, const struct nm_body *body,
                                        const struct nm_animation *animation);

/* A camera on the pitch, what it is asked for, and an eye that never errs, for the tests of percepts. */
#pragma once

#include "sim/percept.h"
#include "sim/sim_help.h"

static struct nm_pitch pitch;
static struct nm_camera camera;

static inline int setup(void **state)
{
    (void)state;
    load_pitch(&pitch, "kid");
    camera = (struct nm_camera){.width = 640, .height = 480, .fx = 480, .fy = 480, .cx = 319.5, .cy = 239.5};
    nm_camera_ready(&camera);
    return 0;
}

static inline struct nm_percept_view view_from(double x, double y, double theta, double height, double tilt)
{
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    return (struct nm_percept_view){
        .pitch = &pitch,
        .camera = &camera,
        .camera_to_field = {quat_mul(quat_rpy(0, tilt, theta), optical), {x, y, height}},
        .robot_to_field = {x, y, theta},
        .ball = {100, 100, pitch.ball_radius},
        .n = 1,
    };
}

/* Nothing is missed, nothing made up, nothing errs. */
static inline struct nm_percept_params faultless(void)
{
    struct nm_percept_params p = {.tilt_time = 1, .miss_time = 1, .ghost_time = 1};
    for (int k = 0; k < NM_PERCEPT_KINDS; k++) p.habits[k] = (struct nm_percept_habit){.range = 1000, .fade = 1};
    p.line = (struct nm_percept_habit){.range = 1000, .fade = 1};
    return p;
}

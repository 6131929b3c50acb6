/* Percepts in place of pictures: what each robot's vision would have found, as often and as late as its camera's
 * pictures would have come. */
#include <math.h>

#include "body/state.h"
#include "nutmeg_msgs/CameraPose.h"
#include "sensor_msgs/CameraInfo.h"
#include "sim/feed.h"
#include "sim/stage_parts.h"

static const double LYING_RADIUS = 0.3, LYING_HEIGHT = 0.15; /* m */

void stage_open_sight(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n; i++) {
        struct actor *a = &stage->actors[i];
        struct sight *s = &a->sight;
        s->taken = -1;
        for (uint32_t p = PORT_PERCEPTS; a->edge && a->body->n_cameras && p <= PORT_LINES; p++)
            s->wanted |= nm_edge_out(a->edge, p) != NULL;
        if (!s->wanted) continue;
        s->lines = nm_edge_out(a->edge, PORT_LINES) != NULL;
        struct nm_dice dice = nm_dice_new(stage->options.world.seed, 21, i);
        s->period = stage_camera_period(stage, &a->body->cameras[0]);
        s->next = (int64_t)((double)s->period * nm_dice_roll(&dice));
        s->glimpse = nm_take(&stage->arena, sizeof *s->glimpse);
        nm_perceiver_new(&s->eyes, stage->options.world.seed, i);
    }
}

struct pose2 nm_stage_footprint(const struct nm_stage *stage, uint32_t robot)
{
    const struct nm_body *body = stage->actors[robot].body;
    if (stage->flat) return stage->flat->robots[robot].pose;
    return nm_robot_to_odom(body, &stage->kin[robot]);
}

static void look(struct nm_stage *stage, uint32_t robot)
{
    struct actor *a = &stage->actors[robot];
    const struct nm_body_camera *camera = &a->body->cameras[0];
    struct nm_percept_view view = {.time = stage->now,
                                   .pitch = stage->options.pitch,
                                   .camera = &camera->lens,
                                   .robot_to_field = nm_stage_footprint(stage, robot),
                                   .ball = nm_stage_ball(stage, NULL),
                                   .n = stage->n,
                                   .self = robot};
    view.camera_to_field = stage->flat ? nm_flat_camera(stage->flat, robot) : stage->kin[robot].pose[camera->frame];
    struct nm_glimpse *g = a->sight.glimpse;
    *g = (struct nm_glimpse){.camera = a->body->frames[camera->frame].name, .pitch = stage->options.pitch};
    g->own_team = a->row.team;
    for (uint32_t i = 0; i < stage->n; i++) {
        const struct actor *other = &stage->actors[i];
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        view.robots[i] = (struct nm_percept_robot){true, w.base_to_field.pos.x, w.base_to_field.pos.y,
                                                   w.fallen ? LYING_RADIUS : NM_ROBOT_RADIUS,
                                                   w.fallen ? LYING_HEIGHT : other->body->height};
        g->team[i] = other->row.team;
        if (i == robot) a->sight.upright = !w.fallen;
        g->radius[i] = view.robots[i].radius;
    }
    g->header.stamp = nm_stamp(stage->now);
    nm_text(g->header.frame_id, "base_footprint");
    const struct nm_percept_params *params = stage->options.percepts ? stage->options.percepts : &nm_percept_params;
    g->n = nm_perceive(&a->sight.eyes, params, &view, g->percepts);
    if (a->sight.lines) g->n_segments = nm_perceive_lines(&a->sight.eyes, params, &view, g->segments);
}

void stage_look(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n; i++) {
        struct sight *s = &stage->actors[i].sight;
        if (!s->wanted || s->next > stage->now || s->taken >= 0) continue;
        if (!stage->flat) nm_world_frames(stage->world, i, &stage->kin[i]);
        look(stage, i);
        s->taken = stage->now;
        while (s->next <= stage->now) s->next += s->period;
    }
}

static void tell_camera_pose(const struct actor *a, CameraPose *to)
{
    const struct nm_glimpse *g = a->sight.glimpse;
    struct pose3 camera = a->sight.eyes.camera_to_robot;
    to->header = g->header;
    nm_text(to->camera, "%s", g->camera);
    to->pose =
        (Pose){{camera.pos.x, camera.pos.y, camera.pos.z}, {camera.rot.x, camera.rot.y, camera.rot.z, camera.rot.w}};
    to->valid = a->sight.upright;
    to->tilt_deviation = (float)vec2_norm(nm_percept_params.tilt_noise, nm_percept_params.tilt_drift);
}

static void tell(struct actor *a)
{
    const struct nm_glimpse *g = a->sight.glimpse;
    void *to;
    if ((to = nm_edge_out(a->edge, PORT_CAMERA_POSE))) tell_camera_pose(a, to);
    if ((to = nm_edge_out(a->edge, PORT_CAMERA_INFO))) {
        nm_feed_camera_info(a->body, 0, to);
        ((CameraInfo *)to)->header.stamp = g->header.stamp;
    }
    if ((to = nm_edge_out(a->edge, PORT_PERCEPTS))) nm_feed_percepts(g, to);
    if ((to = nm_edge_out(a->edge, PORT_BALL))) nm_feed_ball(g, to);
    if ((to = nm_edge_out(a->edge, PORT_GOAL))) nm_feed_goal(g, to);
    if ((to = nm_edge_out(a->edge, PORT_OBSTACLES))) nm_feed_obstacles(g, to);
    if ((to = nm_edge_out(a->edge, PORT_LINES))) nm_feed_lines(g, to);
    for (uint32_t p = PORT_PERCEPTS; p <= PORT_CAMERA_INFO; p++)
        if (nm_edge_out(a->edge, p)) nm_edge_put(a->edge, p);
}

void stage_tell(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n; i++) {
        struct actor *a = &stage->actors[i];
        if (!a->sight.wanted || a->sight.taken < 0 || a->sight.taken + stage->options.camera_delay > stage->now)
            continue;
        if (!a->faults.stall && !a->faults.blind) tell(a);
        a->sight.taken = -1;
    }
}

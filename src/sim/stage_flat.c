/* The flat world under a stage: bodies are discs that obey a walking velocity. */
#include <math.h>

#include "geometry_msgs/Twist.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "sim/stage_parts.h"

/* How high trunk and eye are above ground when the robot stands. */
static void heights(struct actor *a, double *eye)
{
    struct nm_kin kin;
    a->stands = nm_standing_height(a->body, QUAT_IDENTITY, a->joints);
    nm_forward(a->body, (struct pose3){QUAT_IDENTITY, {0, 0, a->stands}}, a->joints, &kin);
    *eye = a->body->n_cameras ? kin.pose[a->body->cameras[0].frame].pos.z : 0.9 * a->body->height;
}

void flat_make(struct nm_stage *stage)
{
    struct nm_flat_options options = NM_FLAT_OPTIONS;
    options.seed = stage->options.world.seed;
    options.ball_roll = stage->options.world.ball_roll;
    if (stage->options.world.step) options.step = stage->options.world.step;
    stage->flat = nm_take(&stage->arena, sizeof *stage->flat);
    nm_flat_new(stage->flat, stage->options.pitch, &options);
    stage->tick = options.step;
    for (uint32_t i = 0; i < stage->n; i++) {
        double eye;
        heights(&stage->actors[i], &eye);
        nm_flat_add(stage->flat, stage->actors[i].row.start, stage->actors[i].body->height, eye);
        nm_flat_head(stage->flat, i, 0, 0.3);
    }
}

static struct pose3 base_of(const struct nm_stage *stage, uint32_t robot)
{
    const struct nm_flat_robot *r = &stage->flat->robots[robot];
    const double lies = 0.1; /* m, a trunk on the ground */
    struct quat rot = quat_rpy(0, 0, r->pose.theta);
    if (r->fallen) rot = quat_mul(rot, quat_rpy(0, r->on_front ? M_PI / 2 : -M_PI / 2, 0));
    return (struct pose3){rot, {r->pose.x, r->pose.y, r->fallen ? lies : stage->actors[robot].stands}};
}

void flat_whereabouts(const struct nm_stage *stage, uint32_t robot, struct nm_whereabouts *w)
{
    const struct nm_flat_robot *r = &stage->flat->robots[robot];
    struct quat heading = quat_rpy(0, 0, r->pose.theta);
    *w = (struct nm_whereabouts){base_of(stage, robot),
                                 quat_apply(heading, (struct vec3){r->velocity.x, r->velocity.y, 0}),
                                 {0, 0, r->velocity.turn},
                                 r->fallen,
                                 r->pan,
                                 r->tilt};
}

/* Robots stand in their stance: for people who look, not for eyes of the game. */
void flat_scene(struct nm_stage *stage)
{
    nm_scene_clear(stage->scene);
    nm_scene_ball(stage->scene, (struct pose3){QUAT_IDENTITY, stage->flat->ball});
    for (uint32_t i = 0; i < stage->n; i++) {
        const struct actor *a = &stage->actors[i];
        nm_forward(a->body, base_of(stage, i), a->joints, &stage->kin[i]);
        nm_scene_robot(stage->scene, i, a->body, &stage->kin[i], &a->row.shirt);
    }
}

/* ---- to and from the brain ---- */

static void walk(struct nm_flat *flat, uint32_t robot, const WalkCommand *w)
{
    const Twist *v = &w->velocity;
    if (w->mode == WalkCommand_VELOCITY)
        nm_flat_walk(flat, robot, (struct nm_walk_velocity){v->linear.x, v->linear.y, v->angular.z});
    else if (w->mode == WalkCommand_TARGET) /* as fast as it goes, slower over the last half metre */
        nm_flat_walk(flat, robot, (struct nm_walk_velocity){w->target.x, w->target.y, w->target.theta});
    else
        nm_flat_walk(flat, robot, (struct nm_walk_velocity){0});
    if (w->kick != WalkCommand_KICK_NONE) nm_flat_kick(flat, robot, w->kick_direction, w->kick_strength);
}

static void turn_head(struct nm_flat *flat, uint32_t robot, const HeadCommand *h)
{
    double high = flat->robots[robot].eye_height;
    if (h->mode == HeadCommand_ANGLES) nm_flat_head(flat, robot, h->pan, h->tilt);
    if (h->mode == HeadCommand_LOOK_AT)
        nm_flat_head(flat, robot, atan2(h->target.y, h->target.x),
                     atan2(high - h->target.z, vec2_norm(h->target.x, h->target.y)));
}

void flat_take(struct nm_stage *stage, struct actor *a)
{
    uint32_t robot = (uint32_t)(a - stage->actors);
    bool dead = a->faults.stall || a->faults.bus_lost || !a->power; /* the servos hold what they have */
    if (dead) nm_flat_walk(stage->flat, robot, (struct nm_walk_velocity){0});
    if (!a->edge || dead) return;
    if (nm_edge_fresh(a->edge, PORT_VELOCITY)) {
        const Twist *v = nm_edge_in(a->edge, PORT_VELOCITY);
        nm_flat_walk(stage->flat, robot, (struct nm_walk_velocity){v->linear.x, v->linear.y, v->angular.z});
    }
    if (nm_edge_fresh(a->edge, PORT_WALK)) walk(stage->flat, robot, nm_edge_in(a->edge, PORT_WALK));
    if (nm_edge_fresh(a->edge, PORT_HEAD)) turn_head(stage->flat, robot, nm_edge_in(a->edge, PORT_HEAD));
    a->goals_taken += nm_edge_fresh(a->edge, PORT_VELOCITY) || nm_edge_fresh(a->edge, PORT_WALK);
}

void nm_stage_lead(struct nm_stage *stage, uint32_t robot, struct nm_walk_velocity velocity, double pan, double tilt)
{
    if (!stage->flat) return;
    nm_flat_walk(stage->flat, robot, velocity);
    nm_flat_head(stage->flat, robot, pan, tilt);
}

/* A manager's word, as far as a disc has one: it lies, walks or stands. */
static void give_state(struct actor *a, const struct nm_flat_robot *r)
{
    HcmState *to = nm_edge_out(a->edge, PORT_HCM);
    if (!to) return;
    bool walks = r->wanted.x != 0 || r->wanted.y != 0 || r->wanted.turn != 0;
    to->state = r->fallen ? HcmState_FALLEN : walks ? HcmState_WALKING : HcmState_CONTROLABLE;
    to->fall = !r->fallen ? HcmState_FALL_NONE : r->on_front ? HcmState_FALL_FRONT : HcmState_FALL_BACK;
    to->motors_on = a->power;
    nm_edge_put(a->edge, PORT_HCM);
}

void flat_give(struct nm_stage *stage, uint32_t robot)
{
    struct actor *a = &stage->actors[robot];
    const struct nm_flat_robot *r = &stage->flat->robots[robot];
    Odometry *to = nm_edge_out(a->edge, PORT_ODOMETRY);
    if (!a->faults.stall) give_state(a, r);
    if (!to || a->faults.stall) return;
    struct quat rot = quat_rpy(0, 0, r->odometry.theta);
    nm_text(to->header.frame_id, "odom");
    nm_text(to->child_frame_id, "base_footprint");
    to->pose.pose = (Pose){{r->odometry.x, r->odometry.y, 0}, {rot.x, rot.y, rot.z, rot.w}};
    to->twist.twist = (Twist){{r->velocity.x, r->velocity.y, 0}, {0, 0, r->velocity.turn}};
    nm_edge_put(a->edge, PORT_ODOMETRY);
}

/* The models of the thesis: `local_model` is what this robot believes by its own sight, `global_model` the same updated
 * by what the team says. Ball and obstacles are relative to the robot in both, because a robot that does not know its
 * place still plays (thesis, section 4.3.5). Ball and robots are also frames under `map`, as Sweaty has them: ball,
 * teammate_1, opponent_1, obstacle_1. */
#include "core/nm.h"
#include "humanoid_league_msgs/Model.h"
#include "modules/world/frames.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/TeamBall.h"
#include "tf2_msgs/TFMessage.h"

struct world_model {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    const ObstacleModel *obstacles, *team_obstacles;
    const TeamBall *team_ball;
    const PoseWithCovarianceStamped *pose;
    const Odometry *odometry;
    const MatchState *match;
    /* out */
    Model *local, *global;
    nm_out_queue(TFMessage) tf;
    /* state */
    struct nm_trail trail;
};

/* The thesis knows two colours; red teams are magenta, all others cyan, and our opponents are the other one. */
static uint8_t color_of(const struct world_model *f, uint8_t kind)
{
    const uint8_t red = 1;
    bool magenta = f->match->own_color == red;
    switch (kind) {
    case Obstacle_GOAL_POST: return ObstacleRelative_POLE;
    case Obstacle_HUMAN: return ObstacleRelative_HUMAN;
    case Obstacle_MATE: return magenta ? ObstacleRelative_ROBOT_MAGENTA : ObstacleRelative_ROBOT_CYAN;
    case Obstacle_RIVAL: return magenta ? ObstacleRelative_ROBOT_CYAN : ObstacleRelative_ROBOT_MAGENTA;
    case Obstacle_ROBOT: return ObstacleRelative_ROBOT_UNDEFINED;
    default: return ObstacleRelative_UNDEFINED;
    }
}

static void fill(const struct world_model *f, const BallModel *ball, const ObstacleModel *obstacles,
                 struct pose2 to_robot, Model *to)
{
    Header header = {.stamp = nm_stamp(f->nm->now)};
    nm_text(header.frame_id, "base_footprint");
    to->ball.header = to->obstacles.header = header;
    struct pose2 at = pose2_mul(to_robot, pose2_point(ball->position.x, ball->position.y));
    if (ball->valid) {
        to->ball.ball_relative = (Point){at.x, at.y, 0};
        to->ball.confidence = ball->confidence;
    }
    for (uint32_t i = 0; i < obstacles->obstacles.n; i++) {
        const Obstacle *o = &obstacles->obstacles.at[i];
        ObstacleRelative *out = nm_append(&to->obstacles.obstacles, &ObstacleRelative_type);
        if (!out) break;
        at = pose2_mul(to_robot, pose2_point(o->position.x, o->position.y));
        out->header = header;
        out->color = color_of(f, o->kind);
        out->player_number = o->player_number;
        out->position = (Point){at.x, at.y, 0};
        out->width = 2 * o->radius;
        out->confidence = o->confidence;
    }
    if (nm_slot(f->pose)->seq) to->position = *f->pose;
}

static void add_frame(struct world_model *f, TFMessage *tf, const char *name, int number, Point at)
{
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    if (!t) return;
    t->header.stamp = nm_stamp(f->nm->now);
    nm_text(t->header.frame_id, "map");
    if (number)
        nm_text(t->child_frame_id, "%s_%d", name, number);
    else
        nm_text(t->child_frame_id, "%s", name);
    t->transform.translation = (Vector3){at.x, at.y, 0};
    t->transform.rotation = (Quaternion){0, 0, 0, 1};
}

/* Mates have their own numbers, the others are counted. */
static void tell_frames(struct world_model *f)
{
    int rivals = 0, others = 0;
    TFMessage *tf = nm_push(f->nm, &f->tf);
    if (f->team_ball->ball.valid) add_frame(f, tf, "ball", 0, f->team_ball->ball.position);
    for (uint32_t i = 0; i < f->team_obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->team_obstacles->obstacles.at[i];
        if (o->kind == Obstacle_MATE && o->player_number)
            add_frame(f, tf, "teammate", o->player_number, o->position);
        else if (o->kind == Obstacle_RIVAL)
            add_frame(f, tf, "opponent", ++rivals, o->position);
        else if (o->kind != Obstacle_GOAL_POST)
            add_frame(f, tf, "obstacle", ++others, o->position);
    }
}

static void step(struct world_model *f)
{
    trail_take(&f->trail, f->odometry);
    struct place place = place_at(f->nm, f->pose, &f->trail, f->nm->now);
    const struct pose2 here = {0};
    fill(f, f->ball, f->obstacles, here, f->local);
    if (place.known) /* without its place the team's news are nowhere */
        fill(f, &f->team_ball->ball, f->team_obstacles, pose2_inv(place.robot_to_map), f->global);
    else
        fill(f, f->ball, f->obstacles, here, f->global);
    nm_put(f->nm, f->local);
    nm_put(f->nm, f->global);
    if (place.known && (f->team_ball->ball.valid || f->team_obstacles->obstacles.n)) tell_frames(f);
}

#define SELF struct world_model
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_IN(obstacles, ObstacleModel, "obstacles"),
    NM_IN(team_obstacles, ObstacleModel, "team_obstacles"),
    NM_IN(team_ball, TeamBall, "team_ball"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(match, MatchState, "match_state", .optional = true),
    NM_OUT(local, Model, "local_model"),
    NM_OUT(global, Model, "global_model"),
    NM_OUT_QUEUE(tf, TFMessage, "tf", 2, .many = true),
    {0},
};
NM_MODULE(world_model, "The world as this robot and as its team believe it to be, and its things as frames.",
          NM_PORTS(ports), .step = NM_CALL(step))

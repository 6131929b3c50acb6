/* What this robot tells its team: where it is, what it knows of the ball and of others, what it is about to do and what
 * does not work. It only collects; team_radio decides when and how much of it is said. */
#include <string.h>

#include "core/nm.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "diagnostic_msgs/DiagnosticArray.h"
#include "geometry_msgs/PoseArray.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/Strategy.h"
#include "modules/on_feet.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "nutmeg_msgs/PoseHypotheses.h"
#include "nutmeg_msgs/StrategyPlan.h"
#include "nutmeg_msgs/TeamMessage.h"
#include "nutmeg_msgs/Whistle.h"
#include "sensor_msgs/BatteryState.h"

struct team_report {
    struct nm *nm;
    /* in */
    const MatchState *match;
    const HcmState *hcm;
    const PoseWithCovarianceStamped *pose;
    const PoseHypotheses *hypotheses;
    const BallModel *ball;
    const ObstacleModel *obstacles;
    const CameraPose *camera;
    const StrategyPlan *plan;
    const Strategy *strategy;
    const NavigationGoal *goal;
    const PoseArray *search;
    const BatteryState *battery;
    nm_queue(Whistle) whistles;
    nm_queue(DiagnosticArray) health;
    /* out */
    TeamMessage *message;
    /* params */
    double speed, turn; /* m/s, rad/s */
    double kick;        /* m          */
    double get_up;      /* s          */
    double remember;    /* s          */
    double confidence;  /* of a whistle */
    /* state */
    int64_t whistled; /* ns, last heard; 0: never */
    int64_t failed;   /* ns, last time that something did not work */
    char errors[64];
};

static double ago(const struct team_report *f, int64_t then) { return nm_seconds(f->nm->now - then); }

static bool is_new(const struct team_report *f, const void *in) { return nm_seconds(nm_age(f->nm, in)) < f->remember; }

static bool is_down(const struct team_report *f) { return nm_slot(f->hcm)->seq && off_its_feet(f->hcm); }

/* ---- the robot ---- */

static uint8_t state_of(const struct team_report *f)
{
    uint8_t s = f->hcm->state;
    bool off = nm_slot(f->hcm)->seq && (s == HcmState_STARTUP || s == HcmState_SHUTDOWN || s == HcmState_RECORD ||
                                        s == HcmState_MOTOR_OFF || s == HcmState_HCM_OFF || s == HcmState_CARRIED);
    if (f->match->penalized) return TeamMessage_STATE_PENALIZED;
    if (off) return TeamMessage_STATE_INACTIVE;
    return is_down(f) ? TeamMessage_STATE_FALLEN : TeamMessage_STATE_ACTIVE;
}

static void tell_pose(struct team_report *f, TeamMessage *m)
{
    static const int from[9] = {0, 1, 5, 6, 7, 11, 30, 31, 35}; /* x, y, yaw of a matrix for six numbers */
    struct pose2 at = nm_pose2(&f->pose->pose.pose);
    bool known = is_new(f, f->pose), judged = known && nm_slot(f->hypotheses)->seq && f->hypotheses->hypotheses.n;
    m->pose.pose = (Pose2D){at.x, at.y, at.theta};
    for (int i = 0; i < 9; i++) m->pose.covariance[i] = f->pose->pose.covariance[from[i]];
    m->pose.weight = !known ? 0 : judged ? f->hypotheses->hypotheses.at[0].weight : 1;
}

/* ---- the ball ---- */

/* R C R^T of the upper left 2 x 2 of a larger matrix */
static void turn_covariance(const double *c, uint32_t columns, double theta, double to[4])
{
    const double r[2][2] = {{cos(theta), -sin(theta)}, {sin(theta), cos(theta)}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            to[2 * i + j] = 0;
            for (uint32_t k = 0; k < 2; k++)
                for (uint32_t l = 0; l < 2; l++) to[2 * i + j] += r[i][k] * c[k * columns + l] * r[j][l];
        }
}

static void tell_ball(struct team_report *f, TeamMessage *m)
{
    const BallModel *b = f->ball;
    struct pose2 robot = nm_pose2(&f->pose->pose.pose),
                 at = pose2_mul(robot, (struct pose2){b->position.x, b->position.y, 0});
    double age = ago(f, nm_stamp_ns(b->last_seen)), c = cos(robot.theta), s = sin(robot.theta);
    m->time_to_ball = INFINITY;
    m->ball_known = m->pose.weight > 0 && is_new(f, b) && b->valid && age < f->remember;
    if (!m->ball_known) return;
    m->ball = (Point){at.x, at.y, 0};
    m->ball_velocity = (Vector3){c * b->velocity.x - s * b->velocity.y, s * b->velocity.x + c * b->velocity.y, 0};
    turn_covariance(b->covariance, 4, robot.theta, m->ball_covariance);
    m->ball_age = (float)fmax(age, 0);
    m->ball_confidence = b->confidence;
    double way = vec2_norm(b->position.x, b->position.y), turns = fabs(atan2(b->position.y, b->position.x));
    m->time_to_ball = (float)(way / f->speed + turns / f->turn + (is_down(f) ? f->get_up : 0));
}

/* ---- others ---- */

/* The nearest obstacles that this robot has seen itself, so that nobody hears his own words again. */
static void tell_obstacles(struct team_report *f, TeamMessage *m)
{
    const ObstacleModel *in = f->obstacles;
    struct pose2 robot = nm_pose2(&f->pose->pose.pose);
    uint64_t taken = 0;
    if (!(m->pose.weight > 0) || !is_new(f, in)) return;
    for (uint32_t k = 0; k < sizeof m->obstacles.at / sizeof *m->obstacles.at; k++) {
        uint32_t best = in->obstacles.n;
        double least = INFINITY;
        for (uint32_t i = 0; i < in->obstacles.n; i++) {
            const Obstacle *o = &in->obstacles.at[i];
            double away = vec2_norm(o->position.x, o->position.y);
            bool robots = o->kind != Obstacle_GOAL_POST && o->kind != Obstacle_BALL;
            if (!robots || taken >> i & 1 || !(away < least) || ago(f, nm_stamp_ns(o->last_seen)) > f->remember)
                continue;
            best = i;
            least = away;
        }
        Obstacle *to = best < in->obstacles.n ? nm_append(&m->obstacles, &Obstacle_type) : NULL;
        if (!to) return;
        taken |= (uint64_t)1 << best;
        *to = in->obstacles.at[best];
        struct pose2 at = pose2_mul(robot, (struct pose2){to->position.x, to->position.y, 0});
        double c = cos(robot.theta), s = sin(robot.theta), vx = to->velocity.x, vy = to->velocity.y;
        to->position = (Point){at.x, at.y, 0};
        to->velocity = (Vector3){c * vx - s * vy, s * vx + c * vy, 0};
        turn_covariance(in->obstacles.at[best].covariance, 2, robot.theta, to->covariance);
    }
}

/* ---- plans ---- */

static void tell_plan(struct team_report *f, TeamMessage *m)
{
    const StrategyPlan *plan = f->plan;
    if (nm_slot(f->strategy)->seq) {
        m->role = f->strategy->role;
        m->action = f->strategy->action;
        m->offensive_side = (uint8_t)(TeamMessage_SIDE_LEFT + f->strategy->offensive_side);
    }
    if (m->action <= TeamMessage_ACTION_POSITIONING && !m->ball_known && f->match->may_play)
        m->action = TeamMessage_ACTION_SEARCHING;
    if (!is_new(f, plan)) return;
    m->role = plan->own_role;
    m->ball_claimed = plan->own_role == TeamMessage_ROLE_STRIKER && plan->may_claim_ball && m->ball_known &&
                      m->state == TeamMessage_STATE_ACTIVE;
    m->walk_target = plan->own_position;
    for (uint32_t i = 0; i < plan->players.n && i < plan->roles.n; i++) {
        uint8_t player = plan->players.at[i];
        if (!player || player > sizeof m->proposed_roles.at) continue;
        while (m->proposed_roles.n < player) m->proposed_roles.at[m->proposed_roles.n++] = TeamMessage_ROLE_IDLE;
        m->proposed_roles.at[player - 1] = plan->roles.at[i];
    }
}

static void tell_goal(struct team_report *f, TeamMessage *m)
{
    const NavigationGoal *goal = f->goal;
    if (!is_new(f, goal) || goal->mode == NavigationGoal_STAND || goal->mode == NavigationGoal_VELOCITY) return;
    bool in_map = !strcmp(goal->header.frame_id, "map");
    struct pose2 frame = in_map ? (struct pose2){0} : nm_pose2(&f->pose->pose.pose);
    struct pose2 target = pose2_mul(frame, (struct pose2){goal->target.x, goal->target.y, goal->target.theta});
    struct pose2 kick = pose2_mul(frame, (struct pose2){goal->kick_target.x, goal->kick_target.y, 0});
    m->walk_target = (Pose2D){target.x, target.y, target.theta};
    m->kick_target = (Point){kick.x, kick.y, 0};
}

static void tell_search(struct team_report *f, TeamMessage *m)
{
    if (!is_new(f, f->search)) return;
    for (uint32_t i = 0; i < f->search->poses.n && i < sizeof m->search_points.at / sizeof *m->search_points.at; i++)
        m->search_points.at[m->search_points.n++] = f->search->poses.at[i].position;
}

/* ---- what it hears and what fails ---- */

static void listen(struct team_report *f)
{
    for (uint32_t i = 0; i < f->whistles.n; i++)
        if (f->whistles.at[i]->confidence >= f->confidence) f->whistled = f->nm->now;
    for (uint32_t i = 0; i < f->health.n; i++)
        for (uint32_t k = 0; k < f->health.at[i]->status.n; k++) {
            const DiagnosticStatus *status = &f->health.at[i]->status.at[k];
            if (status->level != DiagnosticStatus_ERROR) continue;
            f->failed = f->nm->now;
            nm_text(f->errors, "%s", status->name);
        }
}

static void step(struct team_report *f)
{
    TeamMessage *m = f->message;
    listen(f);
    m->header.stamp = nm_stamp(f->nm->now);
    nm_text(m->header.frame_id, "map");
    m->team_number = f->match->own_team;
    m->player_number = f->match->player_number;
    m->state = state_of(f);
    tell_pose(f, m);
    tell_ball(f, m);
    tell_obstacles(f, m);
    tell_plan(f, m);
    tell_goal(f, m);
    tell_search(f, m);
    m->max_walk_speed = (float)f->speed;
    m->max_kick_distance = (float)f->kick;
    m->battery = nm_slot(f->battery)->seq && isfinite(f->battery->percentage) ? f->battery->percentage : 1;
    if (nm_slot(f->camera)->seq) {
        struct vec3 axis = quat_apply(nm_quat(&f->camera->pose.orientation), (struct vec3){0, 0, 1});
        m->head_pan = (float)atan2(axis.y, axis.x);
    }
    m->whistle = f->whistled && ago(f, f->whistled) < 2;
    if (f->failed && ago(f, f->failed) < 5) nm_text(m->errors, "%s", f->errors);
    nm_put(f->nm, m);
}

#define SELF struct team_report
static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_LAST(hcm, HcmState, "hcm_state", .optional = true),
    NM_LAST(pose, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_LAST(hypotheses, PoseHypotheses, "pose_hypotheses", .optional = true),
    NM_LAST(ball, BallModel, "ball", .optional = true),
    NM_LAST(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_LAST(camera, CameraPose, "camera/pose", .optional = true),
    NM_LAST(plan, StrategyPlan, "strategy_plan", .optional = true),
    NM_LAST(strategy, Strategy, "strategy", .optional = true),
    NM_LAST(goal, NavigationGoal, "navigation_goal", .optional = true),
    NM_LAST(search, PoseArray, "search_points", .optional = true),
    NM_LAST(battery, BatteryState, "battery_state", .optional = true),
    NM_QUEUE(whistles, Whistle, "whistle", 8, .optional = true),
    NM_QUEUE(health, DiagnosticArray, "diagnostics", 8, .optional = true),
    NM_OUT(message, TeamMessage, "team_message"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(speed, 0.4, 0.05, 5, "m/s", "how fast this robot walks"),
    NM_PARAM(turn, 1.2, 0.1, 10, "rad/s", "how fast it turns"),
    NM_PARAM(kick, 4, 0, 30, "m", "how far it kicks"),
    NM_PARAM(get_up, 6, 0, 60, "s", "how long it needs to get up"),
    NM_PARAM(remember, 3, 0.5, 30, "s", "what was not seen or decided for this time is not told"),
    NM_PARAM(confidence, 0.5, 0, 1, "1", "a whistle counts if it was heard with at least this confidence"),
    {0},
};
NM_MODULE(team_report, "Collects what this robot tells its team.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))

/* What the three position modules have in common: their ports, the odometry's recent past, what the game and the body
 * say about where the robot may be, and how a pose is published. The modules are exchangeable: a line-up names one of
 * position_ukf, position_particles and position_landmarks, and nothing else changes. */
#pragma once

#include "base/pitch.h"
#include "base/trail.h"
#include "core/nm.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/FieldBorder.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/PoseHypotheses.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"
#include "tf2_msgs/TFMessage.h"

struct position_ports {
    const Percepts *percepts;
    const LineInformationRelative *lines;
    const FieldBorder *border;
    const Odometry *odometry;
    const MatchState *match;
    const TeamState *team;
    const TeamBall *team_ball;
    const HcmState *hcm;
    PoseWithCovarianceStamped *pose;
    PoseHypotheses *hypotheses;
    nm_out_queue(TFMessage) tf;
};
#define POSITION_PORTS                                                                                                 \
    NM_IN(io.percepts, Percepts, "percepts"), NM_IN(io.lines, LineInformationRelative, "line_relative"),               \
        NM_IN(io.border, FieldBorder, "field_border", .optional = true), NM_IN(io.odometry, Odometry, "odometry"),     \
        NM_LAST(io.match, MatchState, "match_state", .optional = true),                                                \
        NM_LAST(io.team, TeamState, "team_state", .optional = true),                                                   \
        NM_LAST(io.team_ball, TeamBall, "team_ball", .optional = true),                                                \
        NM_LAST(io.hcm, HcmState, "hcm_state", .optional = true), NM_OUT(io.pose, PoseWithCovarianceStamped, "pose"),  \
        NM_OUT(io.hypotheses, PoseHypotheses, "pose_hypotheses"),                                                      \
        NM_OUT_QUEUE(io.tf, TFMessage, "tf", 2, .many = true)

/* ---- odometry ---- */

/* Takes the newest odometry in. */
void position_past_take(struct nm_trail *past, const struct nm *nm, const Odometry *odometry);

/* ---- what game and body say ---- */

enum position_event {
    POSITION_START = 1,    /* before the game: at the own touchlines                             */
    POSITION_ENTRY = 2,    /* a penalty is over: at the touchline, at the penalty mark's height  */
    POSITION_UP = 4,       /* it fell and stands again                                           */
    POSITION_PLACED = 8,   /* somebody carried it                                                */
    POSITION_KICK_OFF = 16 /* the ball is free after a kick-off: the robot stood in its own half */
};
struct position_story {
    bool begun, penalized, down, carried;
    uint8_t state; /* of the match */
    bool blind;    /* it lies, falls, gets up or is carried: what it sees says nothing about the field */
};
/* Bits of position_event. */
uint32_t position_story_read(struct position_story *story, const struct nm *nm, const struct position_ports *io);

/* Where the rules let a robot stand before the first READY or a shot of a shoot-out, and where it comes back after a
 * penalty; with deviations. */
struct position_spot {
    struct pose2 pose;
    double sigma_x, sigma_y, sigma_theta;
};
enum { POSITION_SPOTS = 12 };
uint32_t position_start_spots(const struct nm_pitch_size *field, const MatchState *match,
                              struct position_spot spots[POSITION_SPOTS]);
uint32_t position_entry_spots(const struct nm_pitch_size *field, struct position_spot spots[POSITION_SPOTS]);

/* m, the camera above the ground: `wanted`, or if that is 0 what the robot's height suggests. */
double position_eye_height(const struct nm *nm, double wanted);

/* ---- the result ---- */

struct position_belief {
    struct pose2 pose; /* at the time of the newest odometry */
    double covariance[3][3];
    double weight;
};
/* Publishes pose, hypotheses (the first is the pose) and the transform from odom to map. */
void position_tell(struct nm *nm, struct position_ports *io, const struct nm_trail *past,
                   const struct position_belief *beliefs, uint32_t n, int64_t last_reset, const char *reason);

static inline struct pose2 position_mirrored(struct pose2 p)
{
    return (struct pose2){-p.x, -p.y, angle_normal(p.theta + M_PI)};
}

/* The path of a kick: where the kicking foot, the trunk and the arms are at any time. It consists of quintic Hermite
 * curves through a few knots. The knots depend on the ball and on the direction of the kick, so the whole path moves
 * with the ball (the simplest form of dynamic movement primitives). At every knot the acceleration is zero, and the
 * speed is zero except at the hit: the toe passes the surface of the ball straight along the direction and has its
 * largest planned speed a little behind it.
 *
 * The frame is the sole of the support foot, x along that foot, z up. `side` is 1 if the kicking foot is the left one,
 * -1 if it is the right one; everything sideways is mirrored by it. */
#pragma once

#include <stdbool.h>

#include "base/geometry.h"

#define KICK_LEG 0.28 /* m */

/* Every number that is tuned. Lengths, times and speeds are those of a body whose legs measure KICK_LEG from hip to
 * ankle; for others they are scaled as pendulums are, so that one set is a first guess for any body.
 * X(name, default, least, most, unit, power of the legs' length with which it is scaled, what it does) */
#define KICK_PATH_PARAMS(X)                                                                                            \
    X(shift, 0.833, 0.2, 3, "s", 0.5, "time until the weight is over the support foot")                                \
    X(rise, 0.151, 0.02, 1, "s", 0.5, "time from there until the foot is lifted")                                      \
    X(back_time, 0.235, 0.05, 1, "s", 0.5, "time from there until the foot is swung back")                             \
    X(strike, 0.195, 0.04, 1, "s", 0.5, "time from there until the foot meets the ball")                               \
    X(through_time, 0.097, 0.04, 1, "s", 0.5,                                                                          \
      "time from there until the foot is at the end of its swing, in front of the robot")                              \
    X(retract, 0.422, 0.1, 2, "s", 0.5, "time from there until the foot is over its place again")                      \
    X(lower, 0.324, 0.05, 2, "s", 0.5, "time from there until the foot is on the ground")                              \
    X(settle, 0.67, 0.2, 3, "s", 0.5, "time from there until the weight is between the feet again")                    \
    X(lift, 0.0422, 0.005, 0.15, "m", 1, "height of the foot before it swings and before it lands")                    \
    X(back, 0.231, 0, 0.3, "m", 1, "how far the foot is swung back from where it meets the ball")                      \
    X(back_height, 0.113, 0.005, 0.2, "m", 1, "height of the foot when it is swung back")                              \
    X(hit_height, 0.0738, 0.002, 0.15, "m", 1, "height of the foot where it meets the ball")                           \
    X(beyond, 0.0688, 0, 0.25, "m", 1,                                                                                 \
      "how far behind the surface of the ball the plan has its largest speed, because servos lag behind")              \
    X(through, 0.17, 0, 0.3, "m", 1, "how far the foot goes on from there")                                            \
    X(through_height, 0.135, 0.005, 0.2, "m", 1, "height of the foot at the end of its swing")                         \
    X(speed, 2.75, 0.1, 8, "m/s", 0.5, "planned speed of the foot at the ball")                                        \
    X(rising, 0.374, -3, 3, "m/s", 0.5, "planned upward speed of the foot at the ball")                                \
    X(toe_back, 0.697, -1, 1.5, "rad", 0, "pitch of the foot, toe downwards, when it is swung back")                   \
    X(toe_hit, -0.0122, -1, 1, "rad", 0, "pitch of the foot, toe downwards, at the ball")                              \
    X(toe_through, -0.234, -1, 1, "rad", 0, "pitch of the foot, toe downwards, at the end of its swing")               \
    X(stretch, 0.905, 0.6, 0.99, "1", 0,                                                                               \
      "distance from hip to ankle of the support leg, as a share of the straight leg")                                 \
    X(lean, 0.113, -0.3, 0.6, "rad", 0, "lean of the trunk forwards while the foot is lifted and while it lands")      \
    X(lean_back, 0.387, -0.5, 0.8, "rad", 0, "lean of the trunk forwards when the foot is swung back")                 \
    X(lean_hit, 0.00119, -0.5, 0.8, "rad", 0, "lean of the trunk forwards at the ball")                                \
    X(lean_through, -0.358, -0.5, 0.8, "rad", 0, "lean of the trunk forwards at the end of the swing")                 \
    X(side_lean, 0.1, -0.5, 0.5, "rad", 0, "lean of the trunk towards the support foot")                               \
    X(turn_back, 0.0533, -0.6, 0.6, "rad", 0, "yaw of the trunk, kicking hip forwards, when the foot is swung back")   \
    X(turn_hit, 0.0731, -0.6, 0.6, "rad", 0, "yaw of the trunk, kicking hip forwards, at the ball")                    \
    X(turn_through, 0.0502, -0.6, 0.6, "rad", 0, "yaw of the trunk, kicking hip forwards, at the end of the swing")    \
    X(turn_along, 0.615, 0, 1.5, "1", 0, "share of the kick's direction by which the trunk turns, too")                \
    X(arm_back, -0.385, -1.5, 1.5, "rad", 0,                                                                           \
      "swing of the arms when the foot is swung back: arm of the support side forwards, the other backwards")          \
    X(arm_through, 0.557, -1.5, 1.5, "rad", 0, "the same at the end of the swing")                                     \
    X(aim, 0.129, -0.3, 0.3, "rad", 0,                                                                                 \
      "angle inwards that is added to the direction, because the robot turns while it kicks")                          \
    X(aim_oblique, 0.0745, -1, 1, "rad", 0,                                                                            \
      "how much less is added for oblique directions: all of it at 22 degrees, nothing at 0 and 45")                   \
    X(aim_beside, 1.9, -5, 5, "rad/m", -1,                                                                             \
      "angle inwards that is added for each metre that the ball lies outwards of its best place")                      \
    X(aim_near, 1.82, -5, 5, "rad/m", -1,                                                                              \
      "angle inwards that is added for each metre that the ball lies nearer than its best place")                      \
    X(best_ahead, 0.0364, -0.1, 0.3, "m", 1, "best place of the ball: this far ahead of the toe")                      \
    X(best_beside, -0.018, -0.1, 0.2, "m", 1,                                                                          \
      "best place of the ball: this far outwards of the middle of the kicking foot")                                   \
    X(ball_radius, 0.07, 0.02, 0.2, "m", 0, "radius of the ball")                                                      \
    X(nearest, 0.09, 0, 0.3, "m", 1,                                                                                   \
      "least sideways distance of the soles; with less, the foot would hit the other leg")                             \
    X(off_toe, 0.0297, 0, 0.2, "m", 1, "to keep that distance, the ball may meet the toe this far beside its middle")  \
    X(widest, 0.25, 0.05, 1, "m", 1, "largest sideways distance of the soles when the foot is swung back")             \
    X(pass_back_time, 0.3, 0.05, 1, "s", 0.5, "the same as `back_time`, for a pass with the inner side of the foot")   \
    X(pass_strike, 0.22, 0.04, 1, "s", 0.5, "the same as `strike`, for a pass")                                        \
    X(pass_through_time, 0.15, 0.04, 1, "s", 0.5, "the same as `through_time`, for a pass")                            \
    X(pass_back, 0.14, 0, 0.3, "m", 1, "the same as `back`, for a pass")                                               \
    X(pass_back_height, 0.08, 0.005, 0.2, "m", 1, "the same as `back_height`, for a pass")                             \
    X(pass_hit_height, 0.042, 0.002, 0.15, "m", 1, "the same as `hit_height`, for a pass")                             \
    X(pass_beyond, 0.03, 0, 0.25, "m", 1, "the same as `beyond`, for a pass")                                          \
    X(pass_through, 0.06, 0, 0.3, "m", 1, "the same as `through`, for a pass")                                         \
    X(pass_through_height, 0.07, 0.005, 0.2, "m", 1, "the same as `through_height`, for a pass")                       \
    X(pass_speed, 1.4, 0.1, 8, "m/s", 0.5, "the same as `speed`, for a pass")                                          \
    X(pass_widest, 0.25, 0.05, 1, "m", 1, "the same as `widest`, for a pass")                                          \
    X(pass_lean, -0.1, -0.5, 0.8, "rad", 0, "lean of the trunk forwards while the foot swings, in a pass")             \
    X(pass_side_lean, 0.0469, -0.5, 0.5, "rad", 0, "the same as `side_lean`, for a pass")                              \
    X(pass_turn_along, 0.3, 0, 1.5, "1", 0,                                                                            \
      "the same as `turn_along`, for a pass: share of the outward turn of the foot")                                   \
    X(pass_aim, 0.22, -0.5, 0.5, "rad", 0, "the same as `aim`, for a pass")                                            \
    X(pass_aim_aside, 0.42, -1, 2, "1", 0,                                                                             \
      "a pass beyond 60 degrees is aimed less far inwards by this share of what is beyond")                            \
    X(pass_aim_beside, 0, -5, 5, "rad/m", -1, "the same as `aim_beside`, for a pass")                                  \
    X(pass_aim_near, 0, -5, 5, "rad/m", -1, "the same as `aim_near`, for a pass")                                      \
    X(pass_clear, 0.12, 0, 0.3, "m", 1,                                                                                \
      "when a pass meets the ball, the sole is at least this far beside the support foot")                             \
    X(pass_ahead, 0.12, 0, 0.3, "m", 1, "or at least this far ahead of it, if the foot is long enough")

/* Numbers of which a pass has its own. */
#define KICK_PASS(X)                                                                                                   \
    X(back_time)                                                                                                       \
    X(strike)                                                                                                          \
    X(through_time)                                                                                                    \
    X(back)                                                                                                            \
    X(back_height)                                                                                                     \
    X(hit_height)                                                                                                      \
    X(beyond)                                                                                                          \
    X(through) X(through_height) X(speed) X(widest) X(side_lean) X(turn_along) X(aim) X(aim_beside) X(aim_near)

struct kick_path_params {
#define X(name, value, least, most, unit, power, about) double name;
    KICK_PATH_PARAMS(X)
#undef X
};

/* what meets the ball: the toe, along the foot; or the inner side, across it, as in a pass */
enum kick_surface { KICK_TOE_FIRST, KICK_PASS_INWARDS, KICK_SURFACES };

enum kick_track {
    KICK_X, /* of the kicking sole */
    KICK_Y,
    KICK_Z,
    KICK_TOE, /* its pitch and yaw   */
    KICK_YAW,
    KICK_HIPS, /* of the trunk: height, roll, pitch, yaw */
    KICK_ROLL,
    KICK_LEAN,
    KICK_TURN,
    KICK_ARMS, /* swing of the arms */
    KICK_TRACKS
};

enum kick_knot {
    KICK_BEGIN,
    KICK_SHIFTED,
    KICK_LIFTED,
    KICK_BACK,
    KICK_HIT,
    KICK_THROUGH,
    KICK_OVER,
    KICK_DOWN,
    KICK_END,
    KICK_KNOTS
};

struct kick_path {
    double t[KICK_KNOTS]; /* s */
    double at[KICK_KNOTS][KICK_TRACKS], speed[KICK_KNOTS][KICK_TRACKS];
    double side, direction, yaw; /* the foot's way and where its toe points when it meets the ball, rad */
    double contact;              /* s, when it meets the ball as planned */
    double ahead;                /* m, of the kicking sole before the standing one then */
    double beside;               /* m, sideways distance of the soles then    */
    double shifted;              /* m beside the middle of the toe, where that meets it               */
    double bent;                 /* m by which the back swing keeps out of the way of the other leg */
};

/* what the way hangs on */
struct kick_start {
    enum kick_surface surface;
    double side;
    double leg, over_leg;    /* m: hip to ankle, straight; what the trunk's origin is higher over the sole than that */
    struct vec3 toe;         /* middle of the kicking foot's front, in its sole's frame */
    double inner;            /* m, from the middle of the sole to its inner edge        */
    struct pose2 foot;       /* the kicking sole                                        */
    double hips, roll, lean; /* of the trunk                                            */
    double turn;
    double ball_x, ball_y, direction; /* m, m, rad */
};

/* Only where it meets the ball: direction, yaw, beside, shifted, bent. */
void kick_path_meet(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *start);
void kick_path_make(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *start);

static inline double kick_path_time(const struct kick_path *path) { return path->t[KICK_KNOTS - 1]; }

/* All tracks at a time; before the begin and after the end they stand still. `speed` may be NULL. */
void kick_path_at(const struct kick_path *path, double t, double at[KICK_TRACKS], double speed[KICK_TRACKS]);

/* Of the kicking sole. */
static inline struct pose3 kick_path_foot(const double at[KICK_TRACKS])
{
    return (struct pose3){quat_rpy(0, at[KICK_TOE], at[KICK_YAW]), {at[KICK_X], at[KICK_Y], at[KICK_Z]}};
}

/* The way of a kick: where the kicking foot, the trunk and the arms are at any time, as quintic Hermite curves through
 * a few knots that hang on the ball and on the direction asked for (dynamic movement primitives in their simplest form:
 * move the ball, and the whole way moves with it). Acceleration is zero at every knot, speed too but for the hit: the
 * toe passes the ball's surface straight along the direction and is planned fastest a little behind it.
 *
 * Frame: the sole of the support foot, x along that foot, z up. `side` is 1 where the kicking foot is to the left of
 * it, -1 where it is to the right; everything sideways is mirrored by it. */
#ifndef NM_MODULES_MOTION_KICK_PATH_H
#define NM_MODULES_MOTION_KICK_PATH_H

#include <stdbool.h>

#include "base/geometry.h"

#define KICK_LEG 0.28 /* m */

/* Every number that is tuned. Lengths, times and speeds are those of a body whose legs measure KICK_LEG from hip to
 * ankle; for others they are scaled as pendulums are, so that one set is a first guess for any body.
 * X(name, default, least, most, unit, power of the legs' length with which it is scaled, what it does) */
#define KICK_PATH_PARAMS(X)                                                                                            \
    X(shift, 0.747, 0.2, 3, "s", 0.5, "until the weight is over the support foot")                                     \
    X(rise, 0.151, 0.02, 1, "s", 0.5, "until the foot is lifted")                                                      \
    X(back_time, 0.235, 0.05, 1, "s", 0.5, "from there until it is swung back")                                        \
    X(strike, 0.195, 0.04, 1, "s", 0.5, "from there until it meets the ball")                                          \
    X(through_time, 0.097, 0.04, 1, "s", 0.5, "from there until it stands before the robot")                           \
    X(retract, 0.422, 0.1, 2, "s", 0.5, "from there until it is over its place again")                                 \
    X(lower, 0.324, 0.05, 2, "s", 0.5, "from there until it is down")                                                  \
    X(settle, 0.67, 0.2, 3, "s", 0.5, "until the weight is between the feet again")                                    \
    X(lift, 0.0422, 0.005, 0.15, "m", 1, "of the foot before it swings, and before it lands")                          \
    X(back, 0.231, 0, 0.3, "m", 1, "how far it is swung back, from where it meets the ball")                           \
    X(back_height, 0.113, 0.005, 0.2, "m", 1, "of the foot there")                                                     \
    X(hit_height, 0.0738, 0.002, 0.15, "m", 1, "of the foot where it meets the ball")                                  \
    X(beyond, 0.0688, 0, 0.25, "m", 1,                                                                                 \
      "how far behind the ball's surface the foot is planned fastest: servos come later")                              \
    X(through, 0.17, 0, 0.3, "m", 1, "how far it goes on from there")                                                  \
    X(through_height, 0.135, 0.005, 0.2, "m", 1, "of the foot there")                                                  \
    X(speed, 2.75, 0.1, 8, "m/s", 0.5, "at the ball, as planned")                                                      \
    X(rising, 0.374, -3, 3, "m/s", 0.5, "upwards at the ball")                                                         \
    X(toe_back, 0.697, -1, 1.5, "rad", 0, "toe downwards when swung back")                                             \
    X(toe_hit, 0.0776, -1, 1, "rad", 0, "toe downwards at the ball")                                                   \
    X(toe_through, -0.234, -1, 1, "rad", 0, "toe downwards behind it")                                                 \
    X(stretch, 0.905, 0.6, 0.99, "1", 0,                                                                               \
      "distance from hip to ankle of the support leg, as share of the straight leg's")                                 \
    X(lean, 0.113, -0.3, 0.6, "rad", 0, "of the trunk forwards while lifting and landing")                             \
    X(lean_back, 0.387, -0.5, 0.8, "rad", 0, "of the trunk forwards when the foot is swung back")                      \
    X(lean_hit, 0.00119, -0.5, 0.8, "rad", 0, "at the ball")                                                           \
    X(lean_through, -0.358, -0.5, 0.8, "rad", 0, "behind it")                                                          \
    X(side_lean, 0.0469, -0.5, 0.5, "rad", 0, "of the trunk towards the support foot")                                 \
    X(turn_back, 0.0457, -0.6, 0.6, "rad", 0, "of the trunk, kicking hip forwards, when the foot is swung back")       \
    X(turn_hit, 0.0587, -0.6, 0.6, "rad", 0, "at the ball")                                                            \
    X(turn_through, 0.0549, -0.6, 0.6, "rad", 0, "behind it")                                                          \
    X(turn_along, 0.638, 0, 1.5, "1", 0, "share of the direction by which the trunk turns too")                        \
    X(arm_back, -0.385, -1.5, 1.5, "rad", 0, "of the support side's arm forwards (the other backwards), swung back")   \
    X(arm_through, 0.557, -1.5, 1.5, "rad", 0, "the same behind the ball")                                             \
    X(aim, 0.095, -0.3, 0.3, "rad", 0, "added to the direction, inwards: what the robot turns while it kicks")         \
    X(aim_oblique, 0.1, -1, 1, "rad", 0, "less, of an oblique direction: most at 22 degrees, none at 0 and 45")        \
    X(aim_beside, 1.39, -5, 5, "rad/m", -1,                                                                            \
      "farther inwards for each metre that the ball lies outside of its best place")                                   \
    X(aim_near, 1.64, -5, 5, "rad/m", -1, "farther inwards for each metre that it lies nearer than that")              \
    X(best_ahead, 0.0364, -0.1, 0.3, "m", 1, "the ball lies best so far before the toe")                               \
    X(best_beside, -0.008, -0.1, 0.2, "m", 1, "and so far outside of the middle of the foot that kicks")               \
    X(ball_radius, 0.07, 0.02, 0.2, "m", 0, "of the ball")                                                             \
    X(nearest, 0.09, 0, 0.3, "m", 1,                                                                                   \
      "least sideways distance of the soles: nearer, the foot would meet the other leg")                               \
    X(off_toe, 0.0238, 0, 0.2, "m", 1,                                                                                 \
      "how far beside the middle of the toe the ball may be met to keep that distance")                                \
    X(widest, 0.25, 0.05, 1, "m", 1, "largest sideways distance of the soles when the foot is swung back")             \
    X(pass_back_time, 0.3, 0.05, 1, "s", 0.5, "back_time of a pass, with the inner side of the foot")                  \
    X(pass_strike, 0.22, 0.04, 1, "s", 0.5, "strike of a pass")                                                        \
    X(pass_through_time, 0.15, 0.04, 1, "s", 0.5, "through_time of a pass")                                            \
    X(pass_back, 0.14, 0, 0.3, "m", 1, "back of a pass")                                                               \
    X(pass_back_height, 0.08, 0.005, 0.2, "m", 1, "back_height of a pass")                                             \
    X(pass_hit_height, 0.042, 0.002, 0.15, "m", 1, "hit_height of a pass")                                             \
    X(pass_beyond, 0.03, 0, 0.25, "m", 1, "beyond of a pass")                                                          \
    X(pass_through, 0.06, 0, 0.3, "m", 1, "through of a pass")                                                         \
    X(pass_through_height, 0.07, 0.005, 0.2, "m", 1, "through_height of a pass")                                       \
    X(pass_speed, 1.4, 0.1, 8, "m/s", 0.5, "speed of a pass")                                                          \
    X(pass_widest, 0.25, 0.05, 1, "m", 1, "widest of a pass")                                                          \
    X(pass_lean, -0.1, -0.5, 0.8, "rad", 0, "lean of the trunk forwards while the foot swings, in a pass")             \
    X(pass_side_lean, 0.0469, -0.5, 0.5, "rad", 0, "side_lean of a pass")                                              \
    X(pass_turn_along, 0.3, 0, 1.5, "1", 0, "turn_along of a pass: share of the foot's turn outwards")                 \
    X(pass_aim, 0.22, -0.5, 0.5, "rad", 0, "aim of a pass")                                                            \
    X(pass_aim_aside, 0.42, -1, 2, "1", 0,                                                                             \
      "share of what is beyond 60 degrees by which a pass is aimed less far inwards")                                  \
    X(pass_aim_beside, 0, -5, 5, "rad/m", -1, "aim_beside of a pass")                                                  \
    X(pass_aim_near, 0, -5, 5, "rad/m", -1, "aim_near of a pass")                                                      \
    X(pass_clear, 0.12, 0, 0.3, "m", 1, "the sole of a pass is so far beside the support foot when it meets the ball") \
    X(pass_ahead, 0.12, 0, 0.3, "m", 1, "or so far before it, as far as the foot is long enough")

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

#endif

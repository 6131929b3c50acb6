/* What to do with the ball: every direction, every way to kick, and what is likely to come of it. The choice with the
 * best expected value wins. A value is the chance that we score next less the chance that they do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/pitch.h"

enum { CHOICE_ROBOTS = 24 };

enum kick_way {
    KICK_WAY_NONE,
    KICK_WAY_DRIBBLE,  /* a touch while walking: near, soon    */
    KICK_WAY_IN_WALK,  /* superposed on a step                 */
    KICK_WAY_STANDING, /* strong and exact, but it takes time  */
    KICK_WAYS
};

struct kick_ability {
    double reach;  /* m the ball rolls at full strength          */
    double spread; /* rad, 1 sigma of the direction              */
    double time;   /* s from standing behind the ball to the touch */
};

struct choice_robot {
    double x, y; /* m */
    bool rival;
};

struct choice_world {
    const struct nm_pitch_size *field;
    struct kick_ability ways[KICK_WAYS]; /* reach 0: this way does not exist */
    struct pose2 me;
    double ball_x, ball_y;
    double speed;     /* m/s of the walk around the ball          */
    double last_time; /* s until a rival is at the ball, inf: none */
    bool direct_goal; /* a goal would count                       */
    uint32_t n;
    struct choice_robot robots[CHOICE_ROBOTS]; /* without this one */
};

struct kick_choice {
    enum kick_way way;
    double x, y;     /* m, where the ball is to go                */
    double strength; /* of this way, 0 to 1                       */
    double value;
    bool shot; /* at the goal  */
    bool pass; /* to a mate    */
};

/* `last`: what was chosen before; another choice must be better by `habit`. */
struct kick_choice choose_kick(const struct choice_world *w, const struct kick_choice *last, double habit);

/* Kicks that ride on a step: which may be had, and what they add to the swinging foot. */
#include "modules/motion/walk_parts.h"
#include "nutmeg_msgs/WalkCommand.h"

static const double SIDE = 0.6, TURN = 0.75; /* of the swing of a kick forwards */
static const double WIDEST = 1.05;           /* rad */
static const double STEP = 0.4,
                    LEAST = 0.25; /* of the speed: what an ordinary step gives the ball; of the swing, to reach it */

/* Of the full swing that gives the ball this share of its speed, as simulated balls say. */
static double swing_of(double strength) { return fmax(pow(fmax((strength - STEP) / (1 - STEP), 0), 1.5), LEAST); }

const char *walk_kick_ask(const struct WalkCommand *c, struct walk_kick *kick)
{
    double strength = c->kick_strength, direction = c->kick_direction, swing = swing_of(strength);
    enum nm_side foot = c->kick_left ? NM_LEFT : NM_RIGHT;
    double outwards = -walk_engine_side(foot);
    if (c->mode == WalkCommand_STAND) return "a kick rides on a step: walk, if only on the spot";
    if (!(strength > 0 && strength <= 1)) return "a kick's strength is above 0 and at most 1";
    if (!(fabs(direction) <= WIDEST)) return "a kick's direction is within 60 degrees of straight ahead";
    if (kick->wanted || kick->active) return "a kick is under way";
    if (c->kick < WalkCommand_KICK_FORWARD || c->kick > WalkCommand_KICK_TURN) return "there is no kick of that number";
    const double ways[][3] = {
        [WalkCommand_KICK_FORWARD] = {swing * cos(direction), swing * sin(direction), 0},
        [WalkCommand_KICK_SIDE] = {0, SIDE * swing * outwards, 0},
        [WalkCommand_KICK_TURN] = {TURN * swing, 0, direction},
    };
    const double *way = ways[c->kick];
    bool inwards = way[1] * outwards < 0; /* towards the other foot there is no room */
    *kick = (struct walk_kick){.wanted = true, .foot = foot, .swing = {way[0], inwards ? 0 : way[1]}, .turn = way[2]};
    return NULL;
}

/* Half a cosine from one place to the next. */
static double between(double phase, double begin, double end)
{
    double t = walk_clip((phase - begin) / fmax(end - begin, 1e-3), 0, 1);
    return 0.5 - 0.5 * cos(M_PI * t);
}

struct pose3 walk_kick_pose(const struct walk_engine *e, const struct walk_params *p, double phase, struct vec3 hip,
                            struct pose3 sole)
{
    const struct walk_kick *k = &e->kick;
    if (!k->active || phase <= p->kick_begin || phase >= p->kick_end) return sole;
    double way = between(phase, p->kick_begin, p->kick_peak) - between(phase, p->kick_peak, p->kick_end);
    double strength = hypot(k->swing[0], k->swing[1]), swing = p->kick_swing * way;
    double inwards = walk_engine_side(k->foot), left = k->swing[1] + p->kick_in * k->swing[0] * inwards;
    double t = walk_clip((phase - p->kick_begin) / fmax(p->kick_peak - p->kick_begin, 1e-3), 0, 1);
    struct vec3 leg = vec3_scale(vec3_sub(sole.pos, hip), 1 - strength * p->kick_bend * sin(M_PI * t));
    struct quat swung = quat_rpy(swing * left, -swing * k->swing[0], 0),
                foot = quat_rpy(0, -strength * p->kick_toe * way, (k->turn + strength * p->kick_yaw * inwards) * way);
    return (struct pose3){quat_mul(sole.rot, foot), vec3_add(hip, quat_apply(swung, leg))};
}

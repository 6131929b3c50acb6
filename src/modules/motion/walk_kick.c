/* Kicks that ride on a step: which may be had, and what they add to the swinging foot. */
#include "modules/motion/walk_parts.h"
#include "nutmeg_msgs/WalkCommand.h"

static const double SIDE = 0.6, TURN = 0.75; /* of the reach of a kick forwards */
static const double WIDEST = 1.05;           /* rad */

const char *walk_kick_ask(const struct WalkCommand *c, const struct walk_params *p, struct walk_kick *kick)
{
    double strength = c->kick_strength, direction = c->kick_direction, reach = p->kick_reach * strength;
    enum nm_side foot = c->kick_left ? NM_LEFT : NM_RIGHT;
    double outwards = -walk_engine_side(foot);
    if (c->mode == WalkCommand_STAND) return "a kick rides on a step: walk, if only on the spot";
    if (!(strength > 0 && strength <= 1)) return "a kick's strength is above 0 and at most 1";
    if (!(fabs(direction) <= WIDEST)) return "a kick's direction is within 60 degrees of straight ahead";
    if (kick->wanted || kick->active) return "a kick is under way";
    if (c->kick < WalkCommand_KICK_FORWARD || c->kick > WalkCommand_KICK_TURN) return "there is no kick of that number";
    const double ways[][3] = {
        [WalkCommand_KICK_FORWARD] = {reach * cos(direction), reach * sin(direction), 0},
        [WalkCommand_KICK_SIDE] = {0, SIDE * reach * outwards, 0},
        [WalkCommand_KICK_TURN] = {TURN * reach, 0, direction},
    };
    const double *way = ways[c->kick];
    bool inwards = way[1] * outwards < 0; /* towards the other foot there is no room */
    *kick = (struct walk_kick){.wanted = true, .foot = foot, .reach = {way[0], inwards ? 0 : way[1]}, .turn = way[2]};
    return NULL;
}

void walk_kick_offset(const struct walk_engine *e, const struct walk_params *p, double phase, double offset[4])
{
    double t = (phase - p->kick_begin) / (p->kick_end - p->kick_begin), out = 0;
    if (e->kick.active && t > 0 && t < 1) out = sin(M_PI * t);
    offset[0] = e->kick.reach[0] * out * out;
    offset[1] = e->kick.reach[1] * out * out;
    offset[2] = p->kick_lift * out;
    offset[3] = e->kick.turn * out * out;
}

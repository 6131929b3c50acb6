/* Practice for what comes after a kick: kicks in passing again and again, at speeds drawn at random and without a
 * ball, and walks on in another direction each time, as robots do that follow the ball. */
#include "core/nm.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

static const double NEARS = 1.5, WALKS_ON = 1.5; /* s, before the kick is asked for; after the kick */
static const double AWAITED = 0.75, TAKES = 1.2; /* s, then the kick did not come; is over          */
static const double ASIDE = 0.1, TURN = 0.4;     /* m/s, rad/s, while it comes nearer               */

enum phase { NEARING, ASKING, KICKING, WALKING_ON };

struct kick_on {
    struct nm *nm;
    /* in */
    const WalkState *walk;
    /* out */
    WalkCommand *command;
    /* params */
    double start, speed, strength;   /* s, m/s, 1                 */
    double ahead, back, aside, turn; /* m/s, m/s, m/s, rad/s: after the kick */
    /* state */
    enum phase phase;
    int64_t since;   /* ns */
    double drive[3]; /* m/s, m/s, rad/s */
    uint32_t kicks;
};

static double draw(struct kick_on *f, double least, double most) { return least + (most - least) * nm_random(f->nm); }

static void go(struct kick_on *f, enum phase phase)
{
    f->phase = phase;
    f->since = f->nm->now;
    bool on = phase == WALKING_ON;
    if (phase != NEARING && !on) return;
    f->drive[0] = on ? draw(f, -f->back, f->ahead) : draw(f, 0, f->speed);
    f->drive[1] = on ? draw(f, -f->aside, f->aside) : draw(f, -ASIDE, ASIDE);
    f->drive[2] = on ? draw(f, -f->turn, f->turn) : draw(f, -TURN, TURN);
}

static void step(struct kick_on *f)
{
    double since = nm_seconds(f->nm->now - f->since);
    if (nm_seconds(f->nm->now) < f->start) return;
    if (!f->since) go(f, NEARING);
    bool kicks = f->walk->state == WalkState_KICKING, asks = false;
    if (f->phase == NEARING && since > NEARS && f->walk->phase > 0.4) {
        go(f, ASKING);
        asks = true;
    } else if (f->phase == ASKING && (kicks || since > AWAITED)) {
        f->kicks += kicks;
        go(f, kicks ? KICKING : NEARING);
    } else if (f->phase == KICKING && (!kicks || since > TAKES)) {
        go(f, WALKING_ON);
    } else if (f->phase == WALKING_ON && since > WALKS_ON) {
        go(f, NEARING);
    }
    f->command->mode = WalkCommand_VELOCITY;
    f->command->velocity.linear.x = f->drive[0];
    f->command->velocity.linear.y = f->drive[1];
    f->command->velocity.angular.z = f->drive[2];
    if (asks) {
        f->command->kick = WalkCommand_KICK_FORWARD;
        f->command->kick_left = f->walk->left_support; /* the foot that lifts next */
        f->command->kick_strength = (float)f->strength;
    }
    nm_put(f->nm, f->command);
    nm_show(f->nm, "kicks", f->kicks);
}

#define SELF struct kick_on
static const struct nm_port ports[] = {
    NM_LAST(walk, WalkState, "walk_state"),
    NM_OUT(command, WalkCommand, "walk_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(start, 2, 0, 1000, "s", "when it begins to walk"),
    NM_PARAM(speed, 0.4, 0, 3, "m/s", "fastest walk to a kick"),
    NM_PARAM(strength, 1, 0.1, 1, "1", "of the kicks"),
    NM_PARAM(ahead, 0.9, 0, 3, "m/s", "fastest walk after a kick"),
    NM_PARAM(back, 0.3, 0, 3, "m/s", "the same backwards"),
    NM_PARAM(aside, 0.3, 0, 3, "m/s", "the same to the sides"),
    NM_PARAM(turn, 2, 0, 10, "rad/s", "the same for turns"),
    {0},
};
NM_MODULE(kick_on, "Kicks in passing again and again, without a ball, and walks on; for practice.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))

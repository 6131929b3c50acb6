/* Walks by cmd_vel or walk_command. The steps are walk_engine's; walk_front brings it the robot's joints, tilt and
 * feet, limits what is asked to what the walk can do, plans the steps to a target, swings the arms, and rises gently
 * into the stand from which it walks. Without a new velocity for a while it stops: whoever wants to walk must keep
 * saying so. */

#include "modules/motion/walk_front.h"

struct walk {
    struct nm *nm;
    /* params */
    WALK_FRONT_MEMBERS
    /* ports and state */
    struct walk_front front;
};

static void take_params(struct walk *f) { walk_front_take(f); }

static int init(struct walk *f)
{
    if (walk_front_init(&f->front, f->nm)) return -1;
    take_params(f);
    walk_front_reset(&f->front);
    return 0;
}

static void step(struct walk *f)
{
    struct walk_front *w = &f->front;
    struct walk_sense s;
    double goals[NM_JOINTS];
    w->nm = f->nm;
    if (!walk_front_begin(w, w->engine.mode == WALK_STEP, &s)) return;
    struct walk_command c = walk_front_command(w, &s);
    walk_front_model(w, &s, &c, goals);
    walk_front_put(w, goals, NULL);
    walk_front_tell(w, walk_front_state(w, c.walk));
    nm_show(f->nm, "error x", w->engine.error[0]);
    nm_show(f->nm, "error y", w->engine.error[1]);
}

#define SELF struct walk
static const struct nm_port ports[] = {WALK_FRONT_PORTS, {0}};
static const struct nm_param params[] = {WALK_FRONT_PARAMS{0}};
NM_MODULE(walk, "Walks by cmd_vel or walk_command: steps timed by the feet, placed where they catch the body.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .changed = NM_CALL(take_params),
          .step = NM_CALL(step))

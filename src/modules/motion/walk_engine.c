#include "modules/motion/walk_engine.h"

#include <string.h>

#include "modules/motion/walk_parts.h"

/* Lengths and speeds are for legs of WALK_LEG and scaled with them. */
static const double FOREMOST = 0.22, REARMOST = -0.18, WIDEST = 0.30; /* m, how far a foot may be put               */
static const double MOST_MOVED = 0.15;      /* m: what a capture step may be off its nominal place, before its share */
static const double CAUGHT = 0.09;          /* m from the nominal place: a capture step                         */
static const double TURNED_ROOM = 0.05;     /* m more between the feet for a foot at a right angle              */
static const double SIDE_STEP = 0.02;       /* m: from here on a step is one to the side                        */
static const double COM_ABOVE_HIPS = 0.012; /* m, of the pendulum                                               */
static const double FASTEST_SWING = 2.5;    /* m/s, of a foot's plan                                            */
static const double FASTEST_COM = 1, MOST_SWAY = 0.05; /* m/s, of the trunk's plan; m, of its way to the side       */
static const double STANDS_UP = 0.15, HIPS_FILTER = 0.096; /* s, into the stand; of the hips' height                 */
static const double SHORTEST = 0.7;            /* of the planned time of a step                                    */
static const double LEAST_SWING = 0.004;       /* m, of the capture point inwards, to tell a time from it           */
static const double SOONER = 0.2, LATER = 0.3; /* s, that the capture point may move a step's end                   */
static const double LANDING = 0.85;            /* phase from which a foot reaches below the ground                 */
static const double LOADED = 0.1, TOUCHES = 0.08; /* of the weight: on both feet; on the one that lands              */
static const double WAITS = 0.04;                 /* s, beyond the longest step                                       */
static const double CALM = 0.05, BESIDE_X = 0.035, BESIDE_Y = 0.03, ALONG = 0.05; /* m, m, m, rad: it may stand      */
static const double APART_X = 0.08, APART_Y = 0.09,
                    APART_TURN = 0.6;               /* m, m, rad: it may stand where another walk ended */
static const double TIPS_X = 0.04, TIPS_Y = 0.015;  /* m, from where it rests; from the middle of a foot inwards  */
static const double QUIET = 0.01, LONGEST_WAIT = 1; /* m, of the capture point when it starts to walk; s             */
static const double PACE_SHARE = 0.3; /* of the last step, in the mean time of steps                      */
/* Who leans farther than this, or goes back faster, does not kick: rad, m/s. */
static const double UPRIGHT = 0.2, GOES_BACK = 0.05;
static const double KICK_LANDS = 0.03; /* m ahead at most: a kick takes the speed that longer steps count on */
enum { MOST_STILL = 10 };              /* steps on the spot before it stands anyhow                        */

int walk_engine_init(struct walk_engine *e, const struct nm_body *body, struct nm_err *err)
{
    *e = (struct walk_engine){.body = body, .weight = body->mass * WALK_GRAVITY};
    return walk_joints_init(e, err);
}

void walk_engine_reset(struct walk_engine *e, const struct walk_params *p)
{
    e->mode = WALK_STAND;
    e->stays = false;
    e->support = NM_LEFT;
    e->steps = 0;
    e->phase = e->time = e->share = e->begin_lift = 0;
    e->duration = e->pace = p->period;
    e->width = fmax(e->upright > 0 ? e->upright : p->width, e->nearest + p->room);
    e->height = e->hips = e->ankle + walk_stretch(e, p) * e->legs;
    e->w = sqrt(WALK_GRAVITY / (e->height + COM_ABOVE_HIPS * e->size));
    memset(e->step, 0, sizeof e->step);
    memset(e->trim, 0, sizeof e->trim);
    e->swing[0] = e->swing[2] = e->swing_yaw = 0;
    e->swing[1] = walk_engine_side(e->support) * e->width;
    e->com[0] = p->pivot_x;
    e->com[1] = e->sway = 0.5 * e->swing[1];
    e->kick.wanted = e->kick.active = e->caught = false;
    e->observing = e->moved = e->changed = false;
    walk_plan_step(e, p);
}

/* ---- the step as it goes ---- */

/* Time left in this step: the plan's, moved towards what the sideways capture point says. */
static double time_left(const struct walk_engine *e, const struct walk_params *p, const double xi[2])
{
    double w = e->w * p->rate, planned = e->duration * (1 - e->phase), left = planned;
    double sign = walk_engine_side(e->support), now = sign * (xi[1] - walk_pivot(e, p, 1));
    double end = sign * e->from_pivot[1] * exp(w * e->duration);
    if (e->steps > 0) {
        double own = now > LEAST_SWING * e->size && end > 0 ? log(end / now) / w : 1;
        left += p->timing * (walk_clip(own, -SOONER, planned + LATER) - planned);
    }
    left = walk_clip(left, SHORTEST * e->duration - e->time, p->longest * e->duration - e->time);
    return left > 0 ? left : 0;
}

/* Where the foot is to land: the nominal place plus a share of how far the capture point will be off by then. */
static void landing(struct walk_engine *e, const struct walk_params *p, const double xi[2], double left)
{
    double *target = e->aim;
    double w = e->w * p->rate, side = walk_clip(fabs(e->step[1]) / (SIDE_STEP * e->size), 0, 1), moved = 0;
    double share[2] = {p->place_x, p->place_y + side * (p->place_side - p->place_y)};
    for (int i = 0; i < 2; i++) {
        double from = walk_pivot(e, p, i), end = from + (xi[i] - from) * exp(w * left);
        double nominal = from + e->from_pivot[i] * exp(w * e->duration);
        e->error[i] = xi[i] - (from + e->from_pivot[i] * exp(w * e->phase * e->duration));
        target[i] = e->land[i];
        if (i == 1) share[i] += e->narrow * (1 - share[i]);
        double more = share[i] * walk_clip(end - nominal, -MOST_MOVED * e->size, MOST_MOVED * e->size);
        if (e->steps > 0) {
            target[i] += more;
            moved = hypot(moved, more);
        }
    }
    if (!e->caught && e->phase > 0.5 && moved > CAUGHT * e->size) {
        e->caught = true;
        e->capture_steps++;
    }
    double sign = walk_engine_side(e->support),
           closest = e->nearest + p->room + TURNED_ROOM * e->size * fabs(sin(e->land_yaw));
    bool kicked = e->kick.active && e->phase > p->kick_peak;
    target[0] = walk_clip(target[0], REARMOST * e->size, (kicked ? KICK_LANDS : FOREMOST) * e->size);
    target[1] = sign * walk_clip(sign * target[1], closest, WIDEST * e->size);
}

/* Moves the swinging foot on towards a target that itself may move: each tick the share of the remaining way that a
 * half cosine has between the two phases. */
static void swing_on(struct walk_engine *e, const struct walk_params *p, double phase, double dt)
{
    double span = p->swing_end - p->swing_begin, most = FASTEST_SWING * sqrt(e->size) * dt;
    double a = walk_clip((e->phase - p->swing_begin) / span, 0, 1),
           b = walk_clip((phase - p->swing_begin) / span, 0, 1);
    double done = 0.5 - 0.5 * cos(M_PI * a), then = 0.5 - 0.5 * cos(M_PI * b);
    double share = a >= 1 ? 0 : 1 - then < 1e-6 ? 1 : (then - done) / (1 - done);
    for (int i = 0; i < 2; i++) e->swing[i] += walk_clip(share * (e->aim[i] - e->swing[i]), -most, most);
    e->swing_yaw += share * (e->land_yaw - e->swing_yaw);
    double lift = p->lift + p->lift_speed * fabs(e->step[0]);
    e->swing[2] =
        e->share * lift * (phase < 1 ? sin(M_PI * phase) : 0) + e->begin_lift * walk_clip(1 - 2 * phase, 0, 1);
    e->swing[2] -= e->share * p->land * walk_clip((phase - LANDING) / (1 - LANDING), 0, 1);
}

/* The planned centre of mass: the pendulum's own way forwards; sideways half way between the feet, or nearer to the
 * pendulum's. */
static void move_com(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen, double rate,
                     double dt)
{
    double w = e->w * p->rate, most = FASTEST_COM * sqrt(e->size) * dt, middle = 0.5 * e->swing[1], planned[2];
    for (int i = 0; i < 2; i++) planned[i] = walk_pivot(e, p, i) + e->from_pivot[i] * exp(w * e->phase * e->duration);
    rate = walk_clip(rate, 0, 2);
    e->com[0] += walk_clip(w * (planned[0] - e->com[0]) * dt * rate, -most, most);
    e->com[0] += dt * p->pull * (seen->com_here[0] - e->com[0]);
    e->sway += walk_clip(w * (planned[1] - e->sway) * dt * rate, -most, most);
    e->com[1] = middle + p->sway * walk_clip(e->sway - middle, -MOST_SWAY * e->size, MOST_SWAY * e->size);
    e->hips += walk_share(dt, HIPS_FILTER) * (e->height - e->hips);
}

static void step_on(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen, double dt)
{
    double xi[2];
    walk_capture_point(e, p, seen, xi);
    double left = time_left(e, p, xi);
    double on = left <= dt ? 1 - e->phase : dt * (1 - e->phase) / left;
    on = walk_clip(on, 0, 2 * dt / e->duration);
    landing(e, p, xi, left);
    swing_on(e, p, e->phase + on, dt);
    e->phase += on;
    e->time += dt;
    move_com(e, p, seen, on * e->duration / dt, dt);
}

/* ---- from one foot to the other ---- */

static bool step_is_over(const struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen)
{
    double swing = seen->load[walk_other(e->support)], stands = seen->load[e->support];
    bool loaded = seen->loaded > LOADED * e->weight;
    bool kicks = e->kick.active; /* what its foot feels is the ball, and its swing lifts the robot */
    double early = kicks ? fmax(p->early, p->kick_end) : p->early;
    if (e->steps > 0 && e->phase > early && loaded && swing > stands) return true;
    if (e->phase < 1 - 1e-9) return false;
    return e->steps < 1 || (!loaded && !kicks) || swing > TOUCHES * e->weight ||
           e->time > p->longest * e->duration + WAITS;
}

/* The other foot becomes the frame of what is measured. */
static void see_change(struct walk_engine *e, const struct walk_seen *seen)
{
    struct pose2 old = seen->sole[e->support], new = seen->sole[walk_other(e->support)];
    double turned = angle_normal(new.theta - old.theta), here[2],
           off[2] = {e->com_seen[0] - seen->com_here[0], e->com_seen[1] - seen->com_here[1]};
    double vx = e->com_speed[0], vy = e->com_speed[1];
    walk_into(new, seen->com.x, seen->com.y, here);
    e->com_speed[0] = cos(turned) * vx + sin(turned) * vy;
    e->com_speed[1] = -sin(turned) * vx + cos(turned) * vy;
    e->com_seen[0] = here[0] + off[0];
    e->com_seen[1] = here[1] + off[1];
    e->stepped = pose2_mul(pose2_inv(old), new);
    e->support = walk_other(e->support);
}

/* The swinging foot becomes the frame of everything. */
static void change_feet(struct walk_engine *e, const struct walk_seen *seen)
{
    double c = cos(e->swing_yaw), s = sin(e->swing_yaw), x = e->com[0] - e->swing[0], y = e->com[1] - e->swing[1],
           sway = e->sway - e->swing[1], lift = e->swing[2];
    e->sway = -s * x + c * sway;
    e->com[0] = c * x + s * y;
    e->com[1] = -s * x + c * y;
    x = -e->swing[0];
    y = -e->swing[1];
    e->swing[0] = c * x + s * y;
    e->swing[1] = -s * x + c * y;
    e->swing[2] = e->begin_lift = -lift;
    e->swing_yaw = -e->swing_yaw;
    e->hips -= lift;
    see_change(e, seen);
}

static void ride_kick(struct walk_engine *e, const struct walk_seen *seen)
{
    bool upright = hypot(seen->roll, seen->pitch) < UPRIGHT, back = e->com_speed[0] < -GOES_BACK * sqrt(e->size);
    e->kick.active = e->kick.wanted && e->kick.foot != e->support && e->share >= 1 && upright && !back;
    if (e->kick.active) e->kick.wanted = false;
}

/* The next step: the command a little nearer to what is asked, and the kick if its foot is the one to swing. A kick
 * that has to wait for its next turn waits on the spot: other steps would walk into the ball. */
static void next_step(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                      const struct walk_command *command)
{
    e->steps++;
    e->changed = true;
    if (!e->kick.active) e->pace += PACE_SHARE * (e->time - e->pace);
    walk_learn(e, p, seen->yaw);
    e->phase = e->time = 0;
    e->caught = false;
    ride_kick(e, seen);
    bool waits = e->kick.wanted && e->kick.foot != e->support;
    walk_follow(e, p, waits ? &(struct walk_command){.walk = true} : command);
    walk_plan_step(e, p);
}

/* Both feet side by side and nothing wanted: the walk may end. It must after some steps that changed nothing, as those
 * of a robot in somebody's hands. */
static bool may_stand(struct walk_engine *e, const struct walk_command *command)
{
    double there = walk_engine_side(e->support) * e->width;
    bool still = !command->walk && e->step[0] == 0 && e->step[1] == 0 && e->step[2] == 0;
    bool calm = fabs(e->error[0]) < CALM * e->size && fabs(e->error[1]) < CALM * e->size;
    bool beside = fabs(e->swing[0]) < BESIDE_X * e->size && fabs(e->swing[1] - there) < BESIDE_Y * e->size &&
                  fabs(e->swing_yaw) < ALONG;
    e->still = still ? e->still + 1 : 0;
    return still && ((calm && beside) || e->still > MOST_STILL);
}

/* A body that sways falls in its first step, which no foothold catches: it waits until the capture point is near its
 * place, but not for long. */
static bool may_start(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen, double dt)
{
    double xi[2];
    walk_capture_point(e, p, seen, xi);
    e->time += dt;
    return e->time > LONGEST_WAIT ||
           (fabs(xi[0] - e->com[0]) < QUIET * e->size && fabs(xi[1] - e->com[1]) < QUIET * e->size);
}

static void stand(struct walk_engine *e, const struct walk_params *p, const struct walk_seen *seen,
                  const struct walk_command *command, double dt)
{
    double there = walk_engine_side(e->support) * e->width, share = walk_share(dt, STANDS_UP);
    double closes = e->stays ? 0 : share;
    e->swing[0] -= closes * e->swing[0];
    e->swing[1] += closes * (there - e->swing[1]);
    e->swing[2] -= share * e->swing[2];
    e->swing_yaw -= closes * e->swing_yaw;
    e->com[0] += share * (p->pivot_x + 0.5 * e->swing[0] - e->com[0]);
    e->com[1] = e->sway = 0.5 * e->swing[1];
    e->hips += share * (e->height - e->hips);
    e->error[0] = e->error[1] = 0;
    if (!command->walk) e->time = 0;
    if (!command->walk || !may_start(e, p, seen, dt)) return;
    e->mode = WALK_STEP;
    e->stays = false;
    e->steps = 0;
    e->share = e->phase = e->time = e->begin_lift = 0;
    e->pace = p->period;
    memset(e->trim, 0, sizeof e->trim);
    walk_follow(e, p, command);
    walk_plan_step(e, p);
}

void walk_engine_step(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                      const struct walk_command *command, double dt, double goals[2][NM_GROUP])
{
    struct walk_seen seen;
    e->changed = false;
    walk_look(e, p, sense, dt, &seen);
    walk_observe(e, p, &seen, dt);
    if (e->mode == WALK_STAND)
        stand(e, p, &seen, command, dt);
    else
        step_on(e, p, &seen, dt);

    walk_pose_legs(e, p, &seen, goals);
    walk_run_ahead(e, p, sense, goals, dt);
    walk_balance(e, p, &seen, goals);

    if (e->mode == WALK_STEP && step_is_over(e, p, &seen)) {
        change_feet(e, &seen);
        next_step(e, p, &seen, command);
        if (may_stand(e, command)) e->mode = WALK_STAND;
    }
}

/* ---- beside another walk ---- */

void walk_engine_watch(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense, double dt)
{
    struct walk_seen seen;
    e->changed = false;
    walk_look(e, p, sense, dt, &seen);
    walk_observe(e, p, &seen, dt);
    e->time += dt;
    e->phase = walk_clip(e->time / e->pace, 0, 1);
    bool loaded = seen.loaded > LOADED * e->weight;
    if (e->phase < p->early || !loaded || seen.load[walk_other(e->support)] < seen.load[e->support]) return;
    see_change(e, &seen);
    e->changed = true;
    e->steps++;
    e->pace += PACE_SHARE * (walk_clip(e->time, 0.5 * p->period, 2 * p->period) - e->pace);
    e->phase = e->time = 0;
}

void walk_engine_take_over(struct walk_engine *e, const struct walk_params *p, const struct walk_sense *sense,
                           const double velocity[3])
{
    struct walk_seen seen;
    struct nm_kin kin;
    walk_look(e, p, sense, 0, &seen);
    nm_forward(e->body, (struct pose3){quat_rpy(seen.roll, seen.pitch, 0), {0, 0, 0}}, sense->q, &kin);
    e->mode = WALK_STEP;
    e->steps = 1; /* so that the load may end it */
    e->still = 0;
    e->share = 1;
    e->pace = p->period;
    e->caught = e->moved = e->stays = false;
    for (int i = 0; i < 3; i++) {
        e->step[i] = e->asked[0][i] = e->asked[1][i] = velocity[i] * e->pace;
        e->trim[i] = 0;
    }
    e->swing[0] = e->apart.x;
    e->swing[1] = e->apart.y;
    e->swing_yaw = e->apart.theta;
    e->swing[2] = e->begin_lift = 0;
    e->hips = e->hip - kin.pose[e->body->foot[e->support].sole].pos.z;
    e->com[0] = seen.com_here[0];
    e->com[1] = e->sway = seen.com_here[1];
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < e->leg[side].chain.n; i++) e->q_last[side][i] = sense->q[e->leg[side].chain.joints[i]];
    e->kick.active = false;
    if (e->phase == 0) ride_kick(e, &seen);
    walk_plan_step(e, p);
    e->time = e->phase * e->duration;
}

double walk_engine_ahead(const struct walk_engine *e)
{
    return e->com_seen[0] + e->com_speed[0] / e->w - 0.5 * e->apart.x;
}

/* m, the capture point from the support foot towards the other one. */
static double inwards_of(const struct walk_engine *e)
{
    return walk_engine_side(e->support) * (e->com_seen[1] + e->com_speed[1] / e->w);
}

bool walk_engine_tips(const struct walk_engine *e, double rest)
{
    double inwards = inwards_of(e), apart = walk_engine_side(e->support) * e->apart.y, edge = TIPS_Y * e->size;
    return fabs(walk_engine_ahead(e) - rest) > TIPS_X * e->size || inwards < edge || inwards > apart - edge;
}

bool walk_engine_rests(const struct walk_engine *e)
{
    const struct pose2 *other = &e->apart;
    double side = walk_engine_side(e->support), inwards = inwards_of(e);
    bool beside = fabs(other->x) < APART_X * e->size && fabs(other->y - side * e->width) < APART_Y * e->size &&
                  fabs(other->theta) < APART_TURN;
    return beside && fabs(walk_engine_ahead(e)) < CALM * e->size && inwards > 0 && inwards < e->width;
}

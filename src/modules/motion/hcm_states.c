/* The states of the hardware control manager (Marc Bestmann's thesis, 2017, section 5.2.1) as the rows of one table:
 * who owns the joints, and what is done on entry, in each cycle, and on exit. `stopped` is ours, for rules under which
 * robots freeze, and so are `carried`, for people's hands, and `kicking`, an animation during which falls are caught.
 * Every way from one state to another gives its reason. */
#include "modules/motion/hcm_parts.h"

static enum hcm_state go(struct hcm *f, enum hcm_state to, const char *why)
{
    nm_text(f->reason, "%s", why);
    return to;
}

static double in_state(const struct hcm *f) { return nm_seconds(f->nm->now - f->since); }

static enum hcm_state lies_or_stands(struct hcm *f, const char *why)
{
    f->commanded = f->nm->now;
    return go(f, hcm_is_upright(f) ? CONTROLABLE : FALLEN, why);
}

static void stand(struct hcm *f) { hcm_ask_for(f, "stand", NULL); }
static void sit(struct hcm *f) { hcm_ask_for(f, "sit", NULL); }

/* One who lies has no use for standing straight or sitting. */
static void stand_if_upright(struct hcm *f)
{
    f->play = PLAY_FAILED;
    if (hcm_is_upright(f)) stand(f);
}

static void sit_if_upright(struct hcm *f)
{
    f->play = PLAY_FAILED;
    if (hcm_is_upright(f)) sit(f);
}

/* ---- on its feet ---- */

static enum hcm_state startup(struct hcm *f)
{
    bool answer = nm_slot(f->imu)->seq && nm_slot(f->joints)->seq;
    if (!answer) f->answers_since = f->nm->now;
    if (!answer || nm_seconds(f->nm->now - f->answers_since) < f->startup) return STATES;
    return lies_or_stands(f, "sensors and joints answer");
}

/* What ends standing and walking alike. */
static enum hcm_state loses_ground(struct hcm *f)
{
    if (hcm_is_lifted(f)) return go(f, CARRIED, "no load under its feet: somebody carries it");
    if (hcm_is_falling(f)) return go(f, FALLING, "the trunk tilts beyond what a step could catch");
    return STATES;
}

/* It waits for a command then, also when the battery was changed. */
static enum hcm_state spare_battery(struct hcm *f, enum hcm_state to)
{
    f->wants_off = true;
    return go(f, to, "the battery is almost empty");
}

static enum hcm_state controlable(struct hcm *f)
{
    enum hcm_state lost = loses_ground(f);
    if (lost != STATES) return lost;
    if (!hcm_is_upright(f) && hcm_is_still(f)) return go(f, FALLEN, "found itself lying");
    if (f->drained) return spare_battery(f, SITTING_DOWN);
    if (f->animator.wants) return go(f, ANIMATION_RUNNING, "an animation asks for the joints");
    if (f->kicker.wants) return go(f, KICKING, "a kick asks for the joints");
    if (f->walk->state != WalkState_STANDING && f->walk->state != WalkState_OFF && nm_slot(f->walk)->seq)
        return go(f, WALKING, "the walk has left its stand");
    if (f->wants_off) return go(f, SITTING_DOWN, "told to switch the motors off");
    if (f->idle > 0 && nm_seconds(f->nm->now - f->commanded) > f->idle) return go(f, SITTING_DOWN, "no command came");
    return STATES;
}

static bool walk_stands(const struct hcm *f)
{
    return f->walk->state == WalkState_STANDING || f->walk->state == WalkState_OFF;
}

static enum hcm_state walking(struct hcm *f)
{
    enum hcm_state lost = loses_ground(f);
    if (lost != STATES) return lost;
    if (f->drained) return spare_battery(f, WALKING_STOPPING);
    if (f->animator.wants) return go(f, WALKING_STOPPING, "an animation asks for the joints");
    if (f->kicker.wants) return go(f, WALKING_STOPPING, "a kick asks for the joints");
    if (f->wants_off) return go(f, WALKING_STOPPING, "told to switch the motors off");
    if (walk_stands(f)) return go(f, CONTROLABLE, "the walk stands");
    f->commanded = f->nm->now;
    return STATES;
}

static enum hcm_state walking_stopping(struct hcm *f)
{
    enum hcm_state lost = loses_ground(f);
    if (lost != STATES) return lost;
    return walk_stands(f) ? go(f, CONTROLABLE, "the walk stands") : STATES;
}

/* Keeper dives are animations and falls: while one plays, nothing is caught. */
static enum hcm_state animation_running(struct hcm *f)
{
    f->commanded = f->nm->now;
    if (f->animator.moves || f->animator.wants || in_state(f) < 0.1) return STATES;
    if (hcm_is_falling(f) && !hcm_is_still(f)) return go(f, FALLING, "fell during an animation");
    return lies_or_stands(f, "the animation is over");
}

static enum hcm_state kicking(struct hcm *f)
{
    f->commanded = f->nm->now;
    if (hcm_is_falling(f)) return go(f, FALLING, "falls while kicking");
    if (f->kicker.moves || in_state(f) < 0.1) return STATES;
    return lies_or_stands(f, "the kick is over");
}

/* ---- down ---- */

static void protect(struct hcm *f)
{
    static const char *const poses[] = {
        [FALL_FRONT] = "fall_front", [FALL_BACK] = "fall_back", [FALL_LEFT] = "fall_left", [FALL_RIGHT] = "fall_right"};
    f->play = PLAY_FAILED;
    if (f->protect && f->fall != FALL_NONE) hcm_ask_for(f, poses[f->fall], NULL);
}

static enum hcm_state falling(struct hcm *f)
{
    if (hcm_is_down(f)) return go(f, FALLEN, "has landed");
    if (hcm_is_still(f) && in_state(f) > f->settle)
        return hcm_is_upright(f) ? go(f, CONTROLABLE, "caught itself") : go(f, FALLEN, "lies still");
    if (in_state(f) > 3) return lies_or_stands(f, "no longer falling");
    return STATES;
}

static void lie_down(struct hcm *f) { f->fall = fall_lies(f->up); }

static bool has_landed(const struct hcm *f) { return hcm_is_down(f) || hcm_is_still(f); }

/* After every few get-ups in vain, each time twice as long: a body that cannot rise is not worn out. */
static double rest_now(const struct hcm *f)
{
    int32_t rounds = f->tried / f->tries;
    return !rounds || f->tried % f->tries ? 0 : f->rest * (1 << (rounds < 5 ? rounds - 1 : 4));
}

static enum hcm_state fallen(struct hcm *f)
{
    if (hcm_is_upright(f) && hcm_is_still(f)) return go(f, CONTROLABLE, "stands upright again");
    f->fall = fall_lies(f->up);
    if (f->drained && has_landed(f)) return spare_battery(f, MOTOR_OFF);
    if (!f->get_up || !has_landed(f)) return STATES;
    if (in_state(f) < rest_now(f)) return STATES;
    if (f->fall == FALL_LEFT || f->fall == FALL_RIGHT) return go(f, TURNING_OVER, "lies on its side");
    return go(f, GETTING_UP, f->fall == FALL_FRONT ? "lies on its front" : "lies on its back");
}

static void turn_over(struct hcm *f)
{
    f->tried++;
    hcm_ask_for(f, f->fall == FALL_LEFT ? "turn_over_left" : "turn_over_right", "get_up_back");
}

/* Whoever has almost turned over gets up at once: the get-up's first move draws the limbs in, and he rolls on
 * meanwhile. One that still rolls when the animation is over may get there yet. */
static enum hcm_state turning_over(struct hcm *f)
{
    if (fabs(f->up.x) > cos(f->turned)) {
        f->fall = fall_lies(f->up);
        return go(f, GETTING_UP, f->fall == FALL_FRONT ? "has turned onto its front" : "has turned onto its back");
    }
    return hcm_play_over(f) && has_landed(f) ? go(f, FALLEN, "still lies on its side") : STATES;
}

static void rise(struct hcm *f)
{
    if (f->previous != TURNING_OVER) f->tried++;
    hcm_ask_for(f, f->fall == FALL_FRONT ? "get_up_front" : "get_up_back", NULL);
}

/* Whoever lies still in the middle of a get-up has been caught by something, or by himself: waiting for the end of the
 * animation would not help. */
static bool is_stuck(const struct hcm *f)
{
    double still = fmin(nm_seconds(f->nm->now - f->still_since), in_state(f));
    return still > f->stuck && fall_tilt(f->up) > 1;
}

static enum hcm_state getting_up(struct hcm *f)
{
    if (is_stuck(f)) return go(f, FALLEN, "is stuck in the get-up");
    if (!hcm_play_over(f)) return STATES;
    if (f->play == PLAY_FAILED) return go(f, FALLEN, "the get-up could not be played");
    if (!hcm_is_upright(f)) return go(f, FALLEN, "the get-up did not succeed");
    f->tried = 0;
    f->commanded = f->nm->now;
    return go(f, CONTROLABLE, "stands again");
}

/* ---- not playing ---- */

/* In hands nothing is a fall and nothing is a reason to get up. Put down lying it stays so until it has not been moved
 * for a while; hands are never so still. */
static enum hcm_state carried(struct hcm *f)
{
    if (hcm_is_upright(f)) return hcm_is_loaded(f) ? go(f, CONTROLABLE, "stands on its feet again") : STATES;
    bool rests = nm_seconds(f->nm->now - f->at_rest_since) > f->put_down;
    return rests ? go(f, FALLEN, "was put down lying") : STATES;
}

static enum hcm_state penalty_animation_in(struct hcm *f)
{
    return hcm_play_over(f) ? go(f, PENALTY, "in the position of penalty") : STATES;
}

static enum hcm_state penalty(struct hcm *f)
{
    return f->match->penalized ? STATES : go(f, PENALTY_ANIMATION_OUT, "the penalty is over");
}

static enum hcm_state penalty_animation_out(struct hcm *f)
{
    return hcm_play_over(f) ? lies_or_stands(f, "out of the position of penalty") : STATES;
}

static enum hcm_state record(struct hcm *f)
{
    return f->wants_record || f->limp ? STATES : lies_or_stands(f, "recording is over");
}

static enum hcm_state sitting_down(struct hcm *f)
{
    if (hcm_is_falling(f) && f->up.z < 0.5) return go(f, FALLING, "fell while sitting down");
    return hcm_play_over(f) ? go(f, MOTOR_OFF, "sits") : STATES;
}

static enum hcm_state motor_off(struct hcm *f)
{
    bool asked = f->wants_walk || f->animator.wants || f->kicker.wants;
    if (f->drained) return STATES;
    if (!asked && (f->wants_off || f->idle > 0)) return STATES;
    return go(f, hcm_is_upright(f) ? STANDING_UP : FALLEN, "a command came");
}

static void wake(struct hcm *f) { f->wants_off = false; }

static enum hcm_state standing_up(struct hcm *f)
{
    if (hcm_is_falling(f)) return go(f, FALLING, "fell while standing up");
    return hcm_play_over(f) ? lies_or_stands(f, "stands") : STATES;
}

static enum hcm_state shutdown_animation(struct hcm *f) { return hcm_play_over(f) ? go(f, SHUTDOWN, "sits") : STATES; }

static enum hcm_state shutdown(struct hcm *f)
{
    return in_state(f) > 0.2 ? go(f, HCM_OFF, "the joints are limp") : STATES;
}

static void freeze(struct hcm *f) { f->down_when_stopped = !hcm_is_upright(f); }

/* One that stands or walks stops and stands; one that lies keeps its joints as they are. */
static enum hcm_state stopped(struct hcm *f)
{
    if (hcm_is_falling(f) && !f->down_when_stopped) return go(f, FALLING, "falls while play is stopped");
    return f->match->stopped ? STATES : lies_or_stands(f, "play goes on");
}

/* ---- the table ---- */

#define OWNERS(legs, arms, head) HcmState_OWNER_##legs, HcmState_OWNER_##arms, HcmState_OWNER_##head
#define ROW(state, message, owners, walks, overridden, entry, evaluate, exit)                                          \
    [state] = {#state, HcmState_##message, owners, walks, overridden, entry, evaluate, exit}
const struct hcm_row hcm_rows[STATES] = {
    /* state, its number in messages, owners of legs, arms and head, walks, overridden, entry, evaluate, exit */
    ROW(STARTUP, STARTUP, OWNERS(NOBODY, NOBODY, NOBODY), false, false, NULL, startup, NULL),
    ROW(CONTROLABLE, CONTROLABLE, OWNERS(WALK, WALK, HEAD), true, true, NULL, controlable, NULL),
    ROW(WALKING, WALKING, OWNERS(WALK, WALK, HEAD), true, true, NULL, walking, NULL),
    ROW(WALKING_STOPPING, WALKING, OWNERS(WALK, WALK, HEAD), false, true, NULL, walking_stopping, NULL),
    ROW(ANIMATION_RUNNING, ANIMATION_RUNNING, OWNERS(ANIMATION, ANIMATION, ANIMATION), false, true, NULL,
        animation_running, NULL),
    ROW(KICKING, ANIMATION_RUNNING, OWNERS(KICK, KICK, HEAD), false, true, NULL, kicking, NULL),
    ROW(FALLING, FALLING, OWNERS(HCM, HCM, HCM), false, false, protect, falling, NULL),
    ROW(FALLEN, FALLEN, OWNERS(HCM, HCM, HCM), false, true, lie_down, fallen, NULL),
    ROW(TURNING_OVER, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, turn_over, turning_over, NULL),
    ROW(GETTING_UP, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, rise, getting_up, NULL),
    ROW(CARRIED, CARRIED, OWNERS(WALK, WALK, HEAD), false, true, NULL, carried, NULL),
    ROW(PENALTY_ANIMATION_IN, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_in, NULL),
    ROW(PENALTY, PENALTY, OWNERS(HCM, HCM, HEAD), false, false, NULL, penalty, NULL),
    ROW(PENALTY_ANIMATION_OUT, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_out, NULL),
    ROW(RECORD, RECORD, OWNERS(RECORD, RECORD, RECORD), false, false, NULL, record, NULL),
    ROW(SITTING_DOWN, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, sit, sitting_down, NULL),
    ROW(MOTOR_OFF, MOTOR_OFF, OWNERS(OFF, OFF, OFF), false, true, NULL, motor_off, wake),
    ROW(STANDING_UP, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, stand, standing_up, NULL),
    ROW(SHUTDOWN_ANIMATION, SHUTDOWN, OWNERS(HCM, HCM, HCM), false, false, sit_if_upright, shutdown_animation, NULL),
    ROW(SHUTDOWN, SHUTDOWN, OWNERS(OFF, OFF, OFF), false, false, NULL, shutdown, NULL),
    ROW(HCM_OFF, HCM_OFF, OWNERS(OFF, OFF, OFF), false, false, NULL, NULL, NULL),
    ROW(STOPPED, STOPPED, OWNERS(WALK, WALK, HEAD), false, false, freeze, stopped, NULL),
};

static void set_state(struct hcm *f, enum hcm_state to)
{
    const struct hcm_row *from = &hcm_rows[f->state], *row = &hcm_rows[to];
    if (from->exit) from->exit(f);
    nm_log(f->nm, NM_INFO, "%s -> %s: %s", from->name, row->name, f->reason);
    f->previous = f->state;
    f->state = to;
    f->since = f->nm->now;
    f->refused[0] = 0;
    if (row->entry) row->entry(f);
}

/* What comes from outside and stands above the state itself. */
static enum hcm_state overridden(struct hcm *f)
{
    bool off = f->state == SHUTDOWN_ANIMATION || f->state == SHUTDOWN || f->state == HCM_OFF;
    if (f->wants_shutdown && !off && f->state != FALLING) return go(f, SHUTDOWN_ANIMATION, "told to shut down");
    if (!hcm_rows[f->state].overridden) return STATES;
    if (f->wants_record || f->limp) return go(f, RECORD, "told to be limp for a recording");
    if (f->match->penalized) return go(f, PENALTY_ANIMATION_IN, "penalized");
    if (f->match->stopped && f->state != MOTOR_OFF) return go(f, STOPPED, "play is stopped");
    return STATES;
}

void hcm_evaluate(struct hcm *f)
{
    const struct hcm_row *row = &hcm_rows[f->state];
    enum hcm_state next = overridden(f);
    if (next == STATES && row->evaluate) next = row->evaluate(f);
    if (next != STATES) set_state(f, next);
}

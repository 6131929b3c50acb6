/* What a servo is told, and when. Phases: lost, found, limp, arming, ramp, on, damped; see enum nm_bus_phase. A servo
 * enters the ramp only after its position was read twice alike and its torque switch was seen on, with the goal where
 * it stands, or where it was told to be if it never lost its torque. */
#include "edge/bus/driver_internal.h"

#include <math.h>
#include <string.h>

#define STALE_POSITION 0.05 /* s, an older reading is no place to switch torque on at   */
#define ARM_PATIENCE   0.1  /* s                                                        */
#define ARM_PAUSE      0.5  /* s, after three tries in vain                             */
#define FEED_LIMIT     0.3  /* rad, of the goal's offset by feed-forward                */
enum { ARM_TRIES = 3, OFF_REPEATS = 3, SPLINE_MODE = 3 };
enum { SHUT_OFF_BITS = 0xFE }; /* all but the supply's */

void servo_lost(struct servo *s) { s->phase = NM_BUS_LOST; }

void servo_found(struct servo *s)
{
    s->phase = NM_BUS_FOUND;
    s->confirmed = s->verified = s->doubt = false;
    s->check = true;
    s->read_at = 0;
    s->share_read = s->goal_read = NAN;
    s->arm_tries = 0;
}

/* Adds a register to this cycle's writes, joined to the one before where they touch. */
static void tell_bytes(struct nm_bus_driver *bus, struct servo *s, int stage, uint16_t address, const uint8_t *bytes,
                       uint16_t size)
{
    struct wire *w = &bus->wires[s->device->wire];
    struct write *last = w->n_writes ? &w->writes[w->n_writes - 1] : NULL;
    bool touches = last && last->device == s->device && last->stage == stage &&
                   last->span.address + last->span.size == address && last->span.size + size <= BUS_WRITE_ROOM;
    if (!touches) {
        if (w->n_writes == BUS_WRITES || size > BUS_WRITE_ROOM) return;
        last = &w->writes[w->n_writes++];
        *last = (struct write){.device = s->device, .stage = (uint8_t)stage, .span = {address, 0}};
    }
    memcpy(last->data + last->span.size, bytes, size);
    last->span.size = (uint16_t)(last->span.size + size);
}

static void tell_count(struct nm_bus_driver *bus, struct servo *s, int stage, const struct nm_dxl_register *r,
                       uint32_t count)
{
    uint8_t bytes[4];
    if (!r) return;
    nm_dxl_put(bytes, count, r->size);
    tell_bytes(bus, s, stage, r->address, bytes, r->size);
}

static double full_share(const struct servo *s, const struct nm_bus_goal *g)
{
    double most = s->row.torque > 0 && s->row.torque < 1 ? s->row.torque : 1;
    return g->torque_limit > 0 && g->torque_limit < most ? g->torque_limit : most;
}

static void tell_gains(struct nm_bus_driver *bus, struct servo *s, const struct nm_bus_goal *g)
{
    uint32_t p = servo_p(s, g);
    if (s->settings_wrong) {
        tell_count(bus, s, 0, s->d, servo_gain(s, s->d, s->row.d));
        tell_count(bus, s, 0, s->i, servo_gain(s, s->i, s->row.i));
    }
    if (s->settings_wrong || p != s->sent_p) tell_count(bus, s, 0, s->p, p);
    s->settings_wrong = false;
    s->sent_p = p;
}

/* Goal, and with it the limits where they changed, in the order of their addresses so that they join. */
static void tell_goal(struct nm_bus_driver *bus, struct servo *s, const struct nm_bus_goal *g)
{
    int limit = (int)count_of(s->torque_limit, s->share * full_share(s, g));
    int speed = (int)count_of(s->speed_limit, g->speed_limit > 0 ? g->speed_limit : 0);
    bool new_limit = limit != s->sent_limit, new_speed = speed != s->sent_speed;
    bool goal_first = s->goal_position->address < s->torque_limit->address;
    uint32_t goal = count_of(s->goal_position, s->goal);
    tell_gains(bus, s, g);
    if (goal_first) tell_count(bus, s, 1, s->goal_position, goal);
    if (new_limit && !goal_first) tell_count(bus, s, 1, s->torque_limit, (uint32_t)limit);
    if (new_speed || (new_limit && goal_first)) tell_count(bus, s, 1, s->speed_limit, (uint32_t)speed);
    if (new_limit && goal_first) tell_count(bus, s, 1, s->torque_limit, (uint32_t)limit);
    if (!goal_first) tell_count(bus, s, 1, s->goal_position, goal);
    s->sent_limit = limit;
    s->sent_speed = speed;
}

static void switch_off(struct nm_bus_driver *bus, struct servo *s)
{
    tell_count(bus, s, 0, s->torque_enable, 0);
    s->phase = NM_BUS_LIMP;
    s->share = 0;
    s->off_cycles = OFF_REPEATS;
    s->verified = false;
}

/* Strength to nothing first, then gains and the goal where the joint stands, then torque. */
static void arm(struct nm_bus_driver *bus, struct servo *s)
{
    s->goal = s->at;
    s->share = 0;
    s->caught_up = false;
    s->phase = NM_BUS_ARMING;
    s->armed_at = bus->now;
    s->verified = false;
    s->check = true;
    s->settings_wrong = false;
    tell_count(bus, s, 0, s->torque_limit, 0);
    tell_count(bus, s, 1, s->d, servo_gain(s, s->d, s->row.d));
    tell_count(bus, s, 1, s->i, servo_gain(s, s->i, s->row.i));
    tell_count(bus, s, 1, s->p, servo_gain(s, s->p, s->row.p));
    tell_count(bus, s, 1, s->acceleration_feed, s->row.acceleration_feed);
    tell_count(bus, s, 1, s->velocity_feed, s->row.velocity_feed);
    tell_count(bus, s, 2, s->goal_position, count_of(s->goal_position, s->goal));
    tell_count(bus, s, 3, s->torque_enable, 1);
    s->sent_limit = 0;
    s->sent_speed = -1;
    s->sent_p = servo_gain(s, s->p, s->row.p);
}

/* What a phase looks at. */
struct situation {
    struct nm_bus_driver *bus;
    struct servo *s;
    const struct nm_bus_goal *goal;
    bool drive, fresh; /* torque is wanted; goals are young enough */
    double dt;
};

static void start_ramp(struct situation *q)
{
    q->s->phase = NM_BUS_RAMP;
    q->s->ramp = q->s->started ? q->bus->set.loss_ramp : q->bus->set.start_ramp;
}

static void step_lost(struct situation *q) { (void)q; }

/* A servo that shut itself off had its rest. 2.0 keeps the error until it is restarted; heat takes its time. */
static bool recovered(struct situation *q)
{
    struct servo *s = q->s;
    if (s->device->model->protocol == 1) return !(s->device->error & NM_DXL_OVERHEATING);
    if (!(s->hardware & SHUT_OFF_BITS)) return true;
    if (!(s->hardware & SHUT_OFF_BITS & ~NM_DXL_OVERLOAD)) s->device->reboot = true;
    s->arm_again = q->bus->now + nanoseconds(q->bus->set.rest);
    return false;
}

static void step_limp(struct situation *q)
{
    struct servo *s = q->s;
    if (s->off_cycles > 0) {
        s->off_cycles--;
        tell_count(q->bus, s, 0, s->torque_enable, 0);
        return;
    }
    if (!q->drive) {
        s->started = false;
        if (s->verified && s->torque_on) switch_off(q->bus, s);
        return;
    }
    if (q->bus->now < s->arm_again || !recovered(q)) return;
    bool position_known = s->read_at && q->bus->now - s->read_at < nanoseconds(STALE_POSITION) && !s->doubt;
    bool known = s->device->identified || s->device->identify_tries >= ARM_TRIES;
    if (q->fresh && position_known && known) arm(q->bus, s);
}

static void step_found(struct situation *q)
{
    struct servo *s = q->s;
    bool goal_known = !s->torque_on || isfinite(s->goal_read);
    s->check = !s->verified || !goal_known;
    if (!s->confirmed || !s->verified || !goal_known) return;
    if (s->torque_on && q->drive) {
        /* it never let go: its goal stays, and its strength */
        s->goal = s->goal_read;
        if (isfinite(s->share_read))
            s->share = s->share_read / full_share(s, q->goal);
        else if (s->sent_limit < 0)
            s->share = 1;
        if (s->share > 1) s->share = 1;
        s->caught_up = false;
        s->sent_limit = s->sent_speed = -1;
        s->started = true;
        start_ramp(q);
        return;
    }
    s->phase = NM_BUS_LIMP;
    if (s->torque_on)
        switch_off(q->bus, s);
    else
        step_limp(q);
}

static void step_arming(struct situation *q)
{
    struct servo *s = q->s;
    if (!q->drive) {
        switch_off(q->bus, s);
        return;
    }
    if (s->verified && s->torque_on) {
        s->goal = s->at;
        s->arm_tries = 0;
        start_ramp(q);
        tell_goal(q->bus, s, q->goal);
        return;
    }
    if (!s->verified && q->bus->now - s->armed_at < nanoseconds(ARM_PATIENCE)) {
        s->check = true;
        return;
    }
    if (++s->arm_tries < ARM_TRIES) {
        arm(q->bus, s);
        return;
    }
    s->arm_tries = 0;
    s->arm_again = q->bus->now + nanoseconds(ARM_PAUSE);
    s->phase = NM_BUS_LIMP;
    fault_seen(q->bus, &s->device->faults[NM_BUS_FAULT_RESET], NM_BUS_FAULT_RESET, s->device,
               "does not switch its torque on");
}

/* Angle by which the goal must lead for the bridge to give the torque and speed asked for. */
static double feed_forward(const struct servo *s, const struct nm_bus_goal *g)
{
    const struct nm_dxl_model *m = s->device->model;
    double kt = (double)m->ampere_torque, p = servo_p(s, g), volts = s->volts > 6 ? s->volts : 12;
    if (!(kt > 0) || !(p > 0) || !isfinite(g->torque) || !isfinite(g->velocity)) return 0;
    double duty = (g->torque * (double)m->resistance / kt + g->velocity * kt) / volts;
    double lead = duty / ((double)m->duty_per_count * p);
    return lead > FEED_LIMIT ? FEED_LIMIT : lead < -FEED_LIMIT ? -FEED_LIMIT : lead;
}

/* The servo's register counts from one end of the turn, ours from the middle: hence half a turn on a0. */
static void put_spline(struct servo *s, const struct nm_bus_spline *spline, uint8_t *block)
{
    const struct nm_dxl_register *position = nm_dxl_register(s->device->model, "spline_position"),
                                 *torque = nm_dxl_register(s->device->model, "spline_torque"),
                                 *duration = nm_dxl_register(s->device->model, "spline_duration");
    block[0] = block[21] = 5;
    for (int k = 0; k < 5; k++) {
        nm_dxl_encode(position, (double)spline->position[k] + (k ? 0 : M_PI), block + 1 + 4 * k);
        nm_dxl_encode(torque, (double)spline->torque[k], block + 22 + 4 * k);
    }
    nm_dxl_encode(duration, (double)spline->duration, block + 42);
}

/* The first spline goes to the place that is followed, a further one to the place that waits behind it. */
static void tell_spline(struct situation *q)
{
    enum { BLOCK = 44, FIRST = 0x4A, NEXT = 0x76 };
    struct servo *s = q->s;
    const struct nm_bus_spline *spline = q->goal->spline;
    if (!s->mode || !spline || spline->number == s->spline || !(spline->duration > 0)) return;
    uint8_t block[BLOCK + 2];
    put_spline(s, spline, block);
    bool running = q->bus->now < s->spline_end;
    block[BLOCK] = SPLINE_MODE;
    block[BLOCK + 1] = 1;
    if (running)
        tell_bytes(q->bus, s, 2, NEXT, block, BLOCK + 2);
    else {
        tell_bytes(q->bus, s, 2, FIRST, block, BLOCK);
        tell_bytes(q->bus, s, 3, s->mode->address, block + BLOCK, 1);
    }
    s->spline = spline->number;
    s->spline_end = (running ? s->spline_end : q->bus->now) + nanoseconds((double)spline->duration);
}

static void end_spline(struct situation *q)
{
    if (!q->s->mode || q->bus->now >= q->s->spline_end) return;
    tell_count(q->bus, q->s, 2, q->s->mode, 0);
    q->s->spline_end = 0;
}

/* Common to the phases with torque; true when the phase was left. */
static bool left_torque(struct situation *q)
{
    struct servo *s = q->s;
    if (!q->drive) {
        end_spline(q);
        switch_off(q->bus, s);
        return true;
    }
    if (s->shut_off || (s->verified && !s->torque_on && s->hardware & SHUT_OFF_BITS)) {
        s->shut_off = false;
        s->arm_again = q->bus->now + nanoseconds(q->bus->set.rest);
        switch_off(q->bus, s);
        return true;
    }
    if (s->verified && !s->torque_on) {
        fault_seen(q->bus, &s->device->faults[NM_BUS_FAULT_RESET], NM_BUS_FAULT_RESET, s->device,
                   "lost its torque; raised again in a ramp");
        servo_found(s);
        return true;
    }
    return false;
}

static void step_ramp(struct situation *q)
{
    struct servo *s = q->s;
    if (left_torque(q)) return;
    if (!q->fresh) s->phase = NM_BUS_DAMPED;
    s->share += q->bus->set.loss_ramp > 0 && s->ramp > 0 ? q->dt / s->ramp : 1;
    if (s->share >= 1) {
        s->share = 1;
        if (q->fresh) s->phase = NM_BUS_ON;
        s->started = true;
    }
    tell_goal(q->bus, s, q->goal);
}

static void step_on(struct situation *q)
{
    struct servo *s = q->s;
    if (left_torque(q)) return;
    if (!q->fresh) {
        s->phase = NM_BUS_DAMPED;
        end_spline(q);
    }
    if (s->caught_up)
        s->goal = s->target + feed_forward(s, q->goal);
    else {
        double step = q->bus->set.catch_up * q->dt + fabs(s->target - s->target_before), left = s->target - s->goal;
        s->caught_up = fabs(left) <= step;
        s->goal += s->caught_up ? left : copysign(step, left);
    }
    if (s->phase == NM_BUS_ON && s->caught_up) tell_spline(q);
    tell_goal(q->bus, s, q->goal);
}

/* A brake: the goal creeps after the joint, so the servo pushes against the speed of it, with little strength. */
static void step_damped(struct situation *q)
{
    struct servo *s = q->s;
    const struct nm_bus_settings *set = &q->bus->set;
    if (left_torque(q)) return;
    if (q->fresh) {
        s->caught_up = false;
        start_ramp(q);
        tell_goal(q->bus, s, q->goal);
        return;
    }
    double fall = set->damp_time > 0 ? (1 - set->damp_share) * q->dt / set->damp_time : 1;
    if (s->share > set->damp_share) s->share = fmax(set->damp_share, s->share - fall);
    s->goal += (s->at - s->goal) * (set->damp_lag > 0 ? 1 - exp(-q->dt / set->damp_lag) : 1);
    tell_goal(q->bus, s, q->goal);
}

void servo_control(struct nm_bus_driver *bus, struct servo *s, const struct nm_bus_goals *goals, double dt)
{
    static void (*const steps[])(struct situation * q) = {
        [NM_BUS_LOST] = step_lost,     [NM_BUS_FOUND] = step_found, [NM_BUS_LIMP] = step_limp,
        [NM_BUS_ARMING] = step_arming, [NM_BUS_RAMP] = step_ramp,   [NM_BUS_ON] = step_on,
        [NM_BUS_DAMPED] = step_damped,
    };
    const struct nm_bus_goal *goal = &goals->servo[s - bus->servos];
    bool fresh = goals->stamp && bus->now - goals->stamp <= nanoseconds(bus->set.goal_age);
    bool held = !goals->stamp && s->phase > NM_BUS_ARMING && bus->now - bus->opened < nanoseconds(bus->set.start_hold);
    struct situation q = {bus, s, goal, bus->power == NM_BUS_DRIVE, fresh || held, dt};
    s->target_before = s->target;
    if (isfinite(goal->position) && goals->stamp) {
        s->target = goal->position;
        if (s->row.min < s->row.max) s->target = fmin(fmax(s->target, s->row.min), s->row.max);
    } else if (s->phase != NM_BUS_ON)
        s->target = s->goal;
    /* who misses an answer gets no goals before its torque switch was seen, but may still listen to "off" */
    bool doubtful = s->device->lost || s->device->silent || (s->phase >= NM_BUS_RAMP && !s->verified);
    if (!doubtful)
        steps[s->phase](&q);
    else if (!q.drive && s->phase >= NM_BUS_ARMING)
        switch_off(bus, s);
    else if (!q.drive && s->off_cycles > 0 && s->off_cycles--)
        tell_count(bus, s, 0, s->torque_enable, 0);
}

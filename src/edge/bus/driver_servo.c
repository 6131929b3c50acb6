/* Servos and boards: which registers matter, which readings are trusted, and what a servo is told, and when.
 *
 * A servo is in one of the phases lost, found, limp, arming, ramp, on and damped (enum nm_bus_phase). It enters the
 * ramp only after two equal readings of its position and a reading that its torque is on. The goal is then its present
 * position, or the goal it still holds if it never lost its torque. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "edge/bus/driver_inside.h"

#define AGREE     0.1  /* rad, two readings that confirm each other */
#define TOP_SPEED 15.0 /* rad/s, no servo of the tables is faster   */

static struct span span_of(const struct nm_dxl_register *const *rows, size_t n)
{
    unsigned first = UINT16_MAX, end = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rows[i]) continue;
        if (rows[i]->address < first) first = rows[i]->address;
        if (rows[i]->address + rows[i]->size > end) end = rows[i]->address + rows[i]->size;
    }
    return end ? (struct span){(uint16_t)first, (uint16_t)(end - first)} : (struct span){0, 0};
}
#define SPAN_OF(...)                                                                                                   \
    span_of((const struct nm_dxl_register *const[]){__VA_ARGS__},                                                      \
            sizeof((const struct nm_dxl_register *const[]){__VA_ARGS__}) / sizeof(void *))

/* The gain to use, in counts: that of the table, or the maker's if the table has none. */
static uint32_t servo_gain(const struct servo *s, const struct nm_dxl_register *r, uint16_t wanted)
{
    return wanted || s->row.p ? wanted : r->initial;
}

void servo_bind(struct servo *s)
{
    const struct {
        const char *name;
        const struct nm_dxl_register **to;
    } rows[] = {
        {"torque_enable", &s->torque_enable},
        {"goal_position", &s->goal_position},
        {"speed_limit", &s->speed_limit},
        {"torque_limit", &s->torque_limit},
        {"present_position", &s->position},
        {"present_velocity", &s->velocity},
        {"present_load", &s->load},
        {"present_current", &s->current},
        {"present_voltage", &s->voltage},
        {"present_temperature", &s->temperature},
        {"p_gain", &s->p},
        {"i_gain", &s->i},
        {"d_gain", &s->d},
        {"hardware_error", &s->hardware_error},
        {"velocity_feed", &s->velocity_feed},
        {"acceleration_feed", &s->acceleration_feed},
        {"mode", &s->mode},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].to = nm_dxl_register(s->device->model, rows[i].name);
    /* firmware 1.0 keeps the current far from the other registers, so the load is read instead */
    if (s->load) s->current = NULL;
    s->fast = SPAN_OF(s->position, s->velocity, s->load, s->current);
    s->slow = SPAN_OF(s->position, s->velocity, s->load, s->current, s->voltage, s->temperature);
    s->goal_span = SPAN_OF(s->goal_position);
    s->setup = SPAN_OF(s->p, s->i, s->d, s->torque_limit);
    /* in 1.0 all of these are within 20 bytes */
    bool small = s->device->model->protocol == 1;
    s->verify = small ? SPAN_OF(s->torque_enable, s->temperature) : SPAN_OF(s->torque_enable, s->hardware_error);
    s->volts = s->celsius = NAN;
    s->share_read = s->goal_read = NAN;
    s->sent_limit = s->sent_speed = -1;
    s->sent_p = servo_gain(s, s->p, s->row.p);
    s->phase = NM_BUS_FOUND;
}

static uint32_t count_of(const struct nm_dxl_register *r, double value)
{
    uint8_t bytes[4];
    nm_dxl_encode(r, value, bytes);
    return nm_dxl_get(bytes, r->size);
}

/* Gain P, scaled down when the goal's stiffness is below 1; at least one count, so that the servo still finds its goal.
 */
static uint32_t servo_p(const struct servo *s, const struct nm_bus_goal *goal)
{
    double full = servo_gain(s, s->p, s->row.p), share = goal->stiffness > 0 ? fmin(goal->stiffness, 1) : 1;
    return (uint32_t)fmax(1, rint(full * share));
}

static double decoded(const struct nm_dxl_register *r, struct span span, const uint8_t *data)
{
    return nm_dxl_decode(r, data + (r->address - span.address));
}

/* A reading that is farther away than any servo can turn is only trusted when the next one agrees, because the checksum
 * of 1.0 accepts one damaged answer in 256. */
static void believe(struct servo *s, double reading, int64_t now)
{
    double dt = (double)(now - s->read_at) * 1e-9, reach = AGREE + TOP_SPEED * dt;
    if (s->phase == NM_BUS_FOUND && !s->confirmed) {
        s->confirmed = s->read_at && fabs(reading - s->at) < AGREE;
    } else if (fabs(reading - s->at) > reach && !(s->doubt && fabs(reading - s->doubtful) < reach)) {
        s->doubt = true;
        s->doubtful = reading;
        return;
    }
    s->doubt = false;
    s->at = reading;
    s->read_at = now;
}

static void read_settings(struct servo *s, struct span span, const uint8_t *data)
{
    if (s->phase < NM_BUS_RAMP || !span_covers(span, s->p) || !span_covers(span, s->torque_limit)) return;
    uint32_t p = nm_dxl_get(data + (s->p->address - span.address), s->p->size);
    uint32_t limit = nm_dxl_get(data + (s->torque_limit->address - span.address), s->torque_limit->size);
    if (p != s->sent_p) s->settings_wrong = true;
    /* firmware 1.0 sets its torque limit to 0 when it shuts off; another value means that a write was lost */
    if (s->sent_limit > 0 && !limit)
        s->shut_off = true;
    else if (s->sent_limit >= 0 && limit != (uint32_t)s->sent_limit)
        s->sent_limit = -1;
}

static void read_effort(struct servo *s, struct span span, const uint8_t *data)
{
    const struct nm_dxl_model *m = s->device->model;
    double volts = s->volts > 6 ? s->volts : 12;
    if (span_covers(span, s->load)) s->effort = decoded(s->load, span, data) * (double)m->stall_torque * volts / 12;
    if (span_covers(span, s->current)) s->effort = decoded(s->current, span, data) * (double)m->ampere_torque;
}

void servo_read(struct nm_bus_driver *bus, struct servo *s, struct span span, const uint8_t *data)
{
    int64_t now = bus->io.now(bus->io.self);
    if (span_covers(span, s->position)) believe(s, decoded(s->position, span, data), now);
    if (span_covers(span, s->velocity)) s->speed = decoded(s->velocity, span, data);
    if (span_covers(span, s->voltage)) s->volts = decoded(s->voltage, span, data);
    if (span_covers(span, s->temperature)) s->celsius = decoded(s->temperature, span, data);
    read_effort(s, span, data);
    if (span_covers(span, s->goal_position)) s->goal_read = decoded(s->goal_position, span, data);
    if (span_covers(span, s->torque_limit)) {
        s->share_read = decoded(s->torque_limit, span, data);
        read_settings(s, span, data);
    }
    if (span_covers(span, s->hardware_error)) s->hardware = data[s->hardware_error->address - span.address];
    if (span_covers(span, s->torque_enable)) {
        s->torque_on = data[s->torque_enable->address - span.address] != 0;
        s->verified = true;
        s->check = false;
    }
}

/* ---- what a servo is told ---- */

#define STALE_POSITION 0.05 /* s, torque is not switched on at an older reading */
#define ARM_PATIENCE   0.1  /* s                                                */
#define ARM_PAUSE      0.5  /* s, after three failed tries                      */
#define FEED_LIMIT     0.3  /* rad, largest offset of the goal by feed-forward  */
enum { ARM_TRIES = 3, OFF_REPEATS = 3, SPLINE_MODE = 3 };
enum { SHUT_OFF_BITS = 0xFE }; /* all except the supply voltage */

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

/* Adds a register to the writes of this cycle, joined to the previous write if they are adjacent. */
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

/* The goal, and the limits that have changed, in the order of their addresses so that they are joined. */
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

/* First the torque limit goes to nothing, then the gains and the goal (the present position) are sent, then torque. */
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

/* What the phases need to know. */
struct situation {
    struct nm_bus_driver *bus;
    struct servo *s;
    const struct nm_bus_goal *goal;
    bool drive, fresh; /* torque is wanted; goals are recent enough */
    double dt;
};

static void start_ramp(struct situation *q)
{
    q->s->phase = NM_BUS_RAMP;
    q->s->ramp = q->s->started ? q->bus->set.loss_ramp : q->bus->set.start_ramp;
}

static void step_lost(struct situation *q) { (void)q; }

/* A servo that shut itself off has rested. 2.0 keeps the error until the servo is restarted; heat takes its time. */
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
        /* it never lost its torque: it keeps its goal and its torque limit */
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

/* The angle by which the goal must lead so that the motor bridge gives the wanted torque and speed. */
static double feed_forward(const struct servo *s, const struct nm_bus_goal *g)
{
    const struct nm_dxl_model *m = s->device->model;
    double kt = (double)m->ampere_torque, p = servo_p(s, g), volts = s->volts > 6 ? s->volts : 12;
    if (!(kt > 0) || !(p > 0) || !isfinite(g->torque) || !isfinite(g->velocity)) return 0;
    double duty = (g->torque * (double)m->resistance / kt + g->velocity * kt) / volts;
    double lead = duty / ((double)m->duty_per_count * p);
    return lead > FEED_LIMIT ? FEED_LIMIT : lead < -FEED_LIMIT ? -FEED_LIMIT : lead;
}

/* The register counts from one end of the turn, our angles from the middle, so a0 gets half a turn more. */
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

/* The first spline goes to the registers that the servo follows now, a further one to those that it follows next. */
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

/* What all phases with torque do; true if the servo left the phase. */
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

/* A brake: the goal follows the joint slowly, so that the servo works against the motion with little torque. */
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
    /* a servo that missed an answer gets no goals until its torque switch was read, but "off" is still sent */
    bool doubtful = s->device->lost || s->device->silent || (s->phase >= NM_BUS_RAMP && !s->verified);
    if (!doubtful)
        steps[s->phase](&q);
    else if (!q.drive && s->phase >= NM_BUS_ARMING)
        switch_off(bus, s);
    else if (!q.drive && s->off_cycles > 0 && s->off_cycles--)
        tell_count(bus, s, 0, s->torque_enable, 0);
}

/* ---- boards: inertial units, foot cells, buttons, lights, the power switch of a controller ---- */

/* The register name_suffix; NULL if the model does not have it. */
static const struct nm_dxl_register *row(const struct board *b, const char *name, const char *suffix)
{
    char full[32];
    snprintf(full, sizeof full, "%s_%s", name, suffix);
    return nm_dxl_register(b->device->model, full);
}

static void include(struct span *span, const struct nm_dxl_register *r)
{
    if (!r) return;
    unsigned first = r->address, end = r->address + r->size;
    if (span->size) {
        if (span->address < first) first = span->address;
        if (span->address + span->size > end) end = span->address + span->size;
    }
    *span = (struct span){(uint16_t)first, (uint16_t)(end - first)};
}

void board_bind(struct board *b)
{
    static const char *const axes[] = {"x", "y", "z"}, *const quaternion[] = {"w", "x", "y", "z"},
                             *const numbers[] = {"0", "1", "2", "3"}, *const lights[] = {"panel", "head", "eye"};
    const struct nm_dxl_model *m = b->device->model;
    for (int i = 0; i < 3; i++) {
        b->gyro[i] = row(b, "gyro", axes[i]);
        b->acc[i] = row(b, "acc", axes[i]);
        b->led[i] = row(b, "led", lights[i]);
        if (!b->led[i]) b->led[i] = row(b, "led", numbers[i]);
        include(&b->block, b->gyro[i]);
        include(&b->block, b->acc[i]);
    }
    for (int i = 0; i < 4; i++) {
        b->orientation[i] = row(b, "quaternion", quaternion[i]);
        b->cell[i] = row(b, "cell", numbers[i]);
        include(&b->block, b->orientation[i]);
        include(&b->block, b->cell[i]);
    }
    b->voltage = nm_dxl_register(m, "voltage");
    b->buttons = nm_dxl_register(m, "buttons");
    b->dxl_power = nm_dxl_register(m, "dxl_power");
    include(&b->block, b->voltage);
    include(&b->block, b->buttons);
    include(&b->block, b->dxl_power);
    for (int i = 0; i < 2; i++) {
        b->more_buttons[i] = row(b, "button", numbers[i + 1]);
        include(&b->block, b->more_buttons[i]);
    }
    if (m->ring) b->block = (struct span){m->registers[1].address, (uint16_t)(m->ring * m->record)};
    b->dxl_power_read = -1;
    b->state.voltage = NAN;
}

/* The newest sample of a ring, by its sequence number, which wraps around. */
static const uint8_t *newest(const struct nm_dxl_model *m, const uint8_t *data)
{
    const uint8_t *best = data;
    for (unsigned i = 1; i < m->ring; i++) {
        const uint8_t *record = data + i * m->record;
        uint32_t ahead = nm_dxl_get(record + m->record - 4u, 4) - nm_dxl_get(best + m->record - 4u, 4);
        if (ahead - 1 < UINT32_MAX / 2) best = record;
    }
    return best;
}

static double value(const struct nm_dxl_register *r, struct span span, const uint8_t *data, double otherwise)
{
    return span_covers(span, r) ? nm_dxl_decode(r, data + (r->address - span.address)) : otherwise;
}

void board_read(struct nm_bus_driver *bus, struct board *b, struct span span, const uint8_t *data)
{
    struct nm_bus_board_state *to = &b->state;
    const struct nm_dxl_model *m = b->device->model;
    if (span.address != b->block.address || span.size != b->block.size) return;
    if (m->ring) {
        data = newest(m, data);
        span.size = m->record;
    }
    double gyro_gain = b->row.gyro_gain != 0 ? b->row.gyro_gain : 1;
    for (int i = 0; i < 3; i++) {
        to->gyro[i] = gyro_gain * value(b->gyro[i], span, data, 0);
        to->acc[i] = value(b->acc[i], span, data, 0);
    }
    for (int i = 0; i < 4; i++) {
        double gain = b->row.cell_gain[i] != 0 ? b->row.cell_gain[i] : 1;
        to->orientation[i] = value(b->orientation[i], span, data, 0);
        to->cell[i] = b->cell[i] ? gain * (value(b->cell[i], span, data, 0) - b->row.cell_zero[i]) : 0;
    }
    to->voltage = value(b->voltage, span, data, NAN);
    to->buttons = (uint32_t)value(b->buttons, span, data, 0);
    for (int i = 0; i < 2; i++)
        if (value(b->more_buttons[i], span, data, 0) > 0) to->buttons |= 2u << i;
    if (b->dxl_power) b->dxl_power_read = value(b->dxl_power, span, data, 0) > 0;
    to->stamp = bus->io.now(bus->io.self);
    to->fresh = true;
}

/* Watches the battery and the servos. If no battery reports its state, this module makes the state from the voltages of
 * the servos. It writes each fault to the console once when it begins and once when it is over, and publishes the
 * health of all parts for viewers. The bus reports servos that do not answer; here they only show in the diagnosis. A
 * cycle of 10 Hz is fast enough. */
#include <stdarg.h>
#include <stdio.h>

#include "body/robot.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "diagnostic_msgs/DiagnosticArray.h"
#include "base/fault.h"
#include "nutmeg_msgs/ServoStates.h"
#include "sensor_msgs/BatteryState.h"

struct servo {
    float voltage, temperature; /* last good ones, NaN before */
    uint8_t error;
    uint8_t level; /* of its diagnosis */
    struct nm_fault hot, hardware;
};

struct supervision {
    struct nm *nm;
    /* in */
    const ServoStates *states;
    const BatteryState *reported; /* by a battery that can */
    /* out */
    BatteryState *battery;
    nm_out_queue(DiagnosticArray) diagnostics;
    /* params */
    float full, empty;         /* of the nominal voltage */
    float smoothing;           /* s     */
    float low, critical;       /* share */
    float hot_margin, cool_by; /* degrees */
    float every;               /* s     */
    /* state */
    struct servo servos[NM_JOINTS]; /* as in the body's table */
    float voltage;                  /* V, smoothed; 0: unknown */
    uint64_t readings;              /* of the voltage … */
    int64_t first;                  /* ns, … since then */
    struct nm_fault is_low, is_critical;
    int64_t told; /* ns, last diagnosis; 0: never */
    bool silent;  /* no states for a while */
};

/* After a second without it a fault is over. */
static const int64_t calm = 1000000000;
/* Older values count as absent. */
static const int64_t absent = 5000000000;

static const struct {
    uint8_t bit;
    const char *word;
} errors[] = {
    {ServoStates_ERROR_VOLTAGE, "input voltage"},   {ServoStates_ERROR_ANGLE, "angle limit"},
    {ServoStates_ERROR_HEAT, "overheating"},        {ServoStates_ERROR_RANGE, "range"},
    {ServoStates_ERROR_CHECKSUM, "checksum"},       {ServoStates_ERROR_OVERLOAD, "overload"},
    {ServoStates_ERROR_INSTRUCTION, "instruction"},
};
enum { SHUT_OFF = ServoStates_ERROR_HEAT | ServoStates_ERROR_OVERLOAD }; /* the servo protects itself */

static const char *error_text(uint8_t error, char *to, size_t size)
{
    size_t used = 0;
    *to = '\0';
    for (size_t i = 0; i < sizeof errors / sizeof *errors && used < size; i++)
        if (error & errors[i].bit)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "", errors[i].word);
    return to;
}

/* ---- servos ---- */

static void read_servos(struct supervision *f)
{
    const struct nm_body *body = f->nm->body;
    const ServoStates *s = f->states;
    for (uint32_t i = 0, guess = 0; i < s->name.n; i++) {
        int32_t joint = nm_find_joint_near(body, s->name.at[i], guess);
        if (joint < 0 || body->joints[joint].servo < 0) continue;
        guess = (uint32_t)joint + 1;
        struct servo *servo = &f->servos[body->joints[joint].servo];
        if (i < s->voltage.n && isfinite(s->voltage.at[i]) && s->voltage.at[i] > 0) servo->voltage = s->voltage.at[i];
        if (i < s->temperature.n && isfinite(s->temperature.at[i])) servo->temperature = s->temperature.at[i];
        servo->error = i < s->error.n ? s->error.at[i] : 0;
    }
}

static void tell_servo(struct supervision *f, uint32_t index)
{
    const struct nm_body *body = f->nm->body;
    struct servo *s = &f->servos[index];
    const char *name = body->joints[body->servos[index].joint].name;
    double limit = body->servo_types[body->servos[index].type].max_temperature - f->hot_margin;
    char text[96];

    bool hot = s->temperature >= limit || (s->hot.on && s->temperature > limit - f->cool_by);
    enum nm_fault_news news = nm_fault_now(&s->hot, hot, f->nm->now, calm);
    if (news == NM_FAULT_BEGINS)
        nm_log(f->nm, NM_WARN, "%s: %.0f degrees, it switches off at %.0f", name, s->temperature,
               limit + f->hot_margin);
    if (news == NM_FAULT_OVER) nm_log(f->nm, NM_INFO, "%s: cooled down to %.0f degrees", name, s->temperature);

    bool off = s->error & SHUT_OFF && !(s->error & ServoStates_ERROR_SILENT);
    news = nm_fault_now(&s->hardware, off, f->nm->now, calm);
    if (news == NM_FAULT_BEGINS)
        nm_log(f->nm, NM_ERROR, "%s: %s, it has switched off", name,
               error_text(s->error & SHUT_OFF, text, sizeof text));
    if (news == NM_FAULT_OVER) nm_log(f->nm, NM_INFO, "%s: fine again", name);

    s->level = f->silent || s->error & ServoStates_ERROR_SILENT ? DiagnosticStatus_STALE
               : s->hardware.on                                 ? DiagnosticStatus_ERROR
               : s->hot.on                                      ? DiagnosticStatus_WARN
                                                                : DiagnosticStatus_OK;
}

/* ---- battery ---- */

/* The mean over the servos: single readings step by 0.1 V. 0 where none has one. */
static float servo_voltage(const struct supervision *f)
{
    float sum = 0;
    int n = 0;
    for (uint32_t i = 0; i < f->nm->body->n_servos; i++)
        if (isfinite(f->servos[i].voltage)) {
            sum += f->servos[i].voltage;
            n++;
        }
    return n ? sum / (float)n : 0;
}

static float charge(const struct supervision *f)
{
    double nominal = f->nm->body->voltage;
    if (!(nominal > 0)) return NAN;
    return (float)fmin(fmax((f->voltage / nominal - f->empty) / (f->full - f->empty), 0), 1);
}

static void tell_battery(struct supervision *f, float share)
{
    const float back = 0.05f; /* this much better before a fault is over */
    bool low = share < f->low || (f->is_low.on && share < f->low + back);
    bool critical = share < f->critical || (f->is_critical.on && share < f->critical + back);
    if (nm_fault_now(&f->is_low, low, f->nm->now, calm) == NM_FAULT_BEGINS)
        nm_log(f->nm, NM_WARN, "battery low: %.1f V, %.0f %%", f->voltage, share * 100);
    if (nm_fault_now(&f->is_critical, critical, f->nm->now, calm) == NM_FAULT_BEGINS)
        nm_log(f->nm, NM_ERROR, "battery almost empty: %.1f V, %.0f %%: change it", f->voltage, share * 100);
}

/* The load makes the voltage dip with every step, so it is smoothed before anybody judges it. */
static void look_at_battery(struct supervision *f)
{
    bool reports = nm_age(f->nm, f->reported) < absent && isfinite(f->reported->voltage) && f->reported->voltage > 0;
    float now = reports ? f->reported->voltage : f->silent ? 0 : servo_voltage(f);
    if (!(now > 0)) return;
    /* the mean of what was read until there is enough for the time constant */
    if (!f->readings++) f->first = f->nm->now;
    float gain = fmaxf(1 / (float)f->readings, 1 - expf(-(float)nm_seconds(f->nm->dt) / f->smoothing));
    f->voltage += gain * (now - f->voltage);
    nm_show(f->nm, "voltage", f->voltage);

    if (reports) nm_copy(&BatteryState_type, f->battery, f->reported);
    f->battery->voltage = f->voltage;
    if (!reports) {
        f->battery->temperature = f->battery->current = f->battery->charge = NAN;
        f->battery->capacity = f->battery->design_capacity = NAN;
        f->battery->power_supply_status = BatteryState_POWER_SUPPLY_STATUS_DISCHARGING;
        f->battery->present = true;
    }
    if (!reports || !isfinite(f->reported->percentage)) f->battery->percentage = charge(f);
    bool settled = f->nm->now - f->first >= calm;
    if (settled && isfinite(f->battery->percentage)) tell_battery(f, f->battery->percentage);
    nm_put(f->nm, f->battery);
}

/* ---- diagnoses ---- */

__attribute__((format(printf, 3, 4))) static void value(DiagnosticStatus *d, const char *key, const char *format, ...)
{
    diagnostic_msgs_KeyValue *v = nm_append(&d->values, &diagnostic_msgs_KeyValue_type);
    va_list args;
    if (!v) return;
    nm_text(v->key, "%s", key);
    va_start(args, format);
    vsnprintf(v->value, sizeof v->value, format, args);
    va_end(args);
}

static void diagnose_servo(const struct supervision *f, uint32_t index, DiagnosticStatus *d)
{
    const struct nm_body *body = f->nm->body;
    const struct nm_servo *row = &body->servos[index];
    const struct servo *s = &f->servos[index];
    static const char *const words[] = {
        [DiagnosticStatus_OK] = "fine",
        [DiagnosticStatus_WARN] = "hot",
        [DiagnosticStatus_ERROR] = "switched off",
        [DiagnosticStatus_STALE] = "does not answer",
    };
    char text[96];
    d->level = s->level;
    nm_text(d->name, "servo %s", body->joints[row->joint].name);
    nm_text(d->message, "%s%s%s", words[s->level], s->error & 0x7f ? ": " : "",
            error_text(s->error, text, sizeof text));
    nm_text(d->hardware_id, "%s %u", body->servo_types[row->type].name, row->id);
    if (isfinite(s->temperature)) value(d, "temperature", "%.0f", s->temperature);
    if (isfinite(s->voltage)) value(d, "voltage", "%.1f", s->voltage);
}

static void diagnose(struct supervision *f)
{
    DiagnosticArray *array = nm_push(f->nm, &f->diagnostics);
    array->header.stamp = nm_stamp(f->nm->now);
    DiagnosticStatus *d = nm_append(&array->status, &DiagnosticStatus_type);
    d->level = f->voltage <= 0     ? DiagnosticStatus_STALE
               : f->is_critical.on ? DiagnosticStatus_ERROR
               : f->is_low.on      ? DiagnosticStatus_WARN
                                   : DiagnosticStatus_OK;
    nm_text(d->name, "battery");
    nm_text(d->message, "%s",
            f->voltage <= 0     ? "nobody has reported a voltage"
            : f->is_critical.on ? "almost empty"
            : f->is_low.on      ? "low"
                                : "fine");
    if (f->voltage > 0) value(d, "voltage", "%.2f", f->voltage);
    for (uint32_t i = 0; i < f->nm->body->n_servos; i++)
        if ((d = nm_append(&array->status, &DiagnosticStatus_type))) diagnose_servo(f, i, d);
    f->told = f->nm->now;
}

static void step(struct supervision *f)
{
    uint8_t before[NM_JOINTS];
    bool changed = !f->told, low = f->is_low.on, critical = f->is_critical.on;
    if (nm_fresh(f->nm, f->states)) read_servos(f);
    f->silent = nm_age(f->nm, f->states) > absent;
    for (uint32_t i = 0; i < f->nm->body->n_servos; i++) {
        before[i] = f->servos[i].level;
        tell_servo(f, i);
        changed |= before[i] != f->servos[i].level;
    }
    look_at_battery(f);
    changed |= low != f->is_low.on || critical != f->is_critical.on;
    if (changed || f->nm->now - f->told >= nm_ns(f->every)) diagnose(f);
}

static int init(struct supervision *f)
{
    if (nm_need_body(f->nm)) return -1;
    for (int i = 0; i < NM_JOINTS; i++) f->servos[i].voltage = f->servos[i].temperature = NAN;
    return 0;
}

#define SELF struct supervision
static const struct nm_port ports[] = {
    NM_IN(states, ServoStates, "servo_states"),
    NM_IN(reported, BatteryState, "battery"),
    NM_OUT(battery, BatteryState, "battery_state"),
    NM_OUT_QUEUE(diagnostics, DiagnosticArray, "diagnostics", 2, .many = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(full, 1.13, 1.001, 2, "1",
             "voltage of a full battery divided by its nominal voltage; 4.2 V for a lithium cell of 3.7 V"),
    NM_PARAM(empty, 0.92, 0.3, 1, "1", "the same of an empty battery; 3.4 V for such a cell under load"),
    NM_PARAM(smoothing, 3, 0.1, 60, "s",
             "time constant with which the voltage is smoothed; longer than a step, whose load makes it dip"),
    NM_PARAM(low, 0.25, 0, 1, "1", "charge below which the battery is called low"),
    NM_PARAM(critical, 0.08, 0, 1, "1", "charge below which the battery must be changed"),
    NM_PARAM(hot_margin, 15, 0, 60, "degrees C",
             "a servo is called hot when it is this near to the temperature at which it switches off"),
    NM_PARAM(cool_by, 4, 0, 30, "degrees C", "a hot servo is fine again when it is this much cooler"),
    NM_PARAM(every, 1, 0.05, 60, "s", "a diagnosis is published this often, and whenever something changes"),
    {0},
};
NM_MODULE(supervision, "Health of battery and servos: one warning for each fault, and a diagnosis of every part.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))

/* Battery and servos looked after: each fault told once when it begins and once when it is over, the diagnosis current.
 */
#include "diagnostic_msgs/DiagnosticArray.h"
#include "modules/body_rig.h"
#include "nutmeg_msgs/ServoStates.h"
#include "sensor_msgs/BatteryState.h"

extern const struct nm_module supervision_module;

static const struct nm_body *body; /* 14.8 V, servos that switch off at 80 degrees */

static ServoStates *give_servos(struct nm_harness *h, float voltage, float temperature)
{
    ServoStates *s = nm_harness_set(h, "servo_states");
    for (uint32_t i = 0; i < body->n_servos; i++) {
        nm_text(s->name.at[i], "%s", body->joints[body->servos[i].joint].name);
        s->voltage.at[i] = voltage;
        s->temperature.at[i] = temperature;
        s->error.at[i] = 0;
    }
    s->name.n = s->voltage.n = s->temperature.n = s->error.n = body->n_servos;
    return s;
}

/* The newest diagnosis of a part; NULL if the last step made none. */
static const DiagnosticStatus *diagnosis(struct nm_harness *h, const char *name)
{
    const void *const *at;
    if (!nm_harness_queue(h, "diagnostics", &at)) return NULL;
    const DiagnosticArray *array = at[0];
    for (uint32_t i = 0; i < array->status.n; i++)
        if (!strcmp(array->status.at[i].name, name)) return &array->status.at[i];
    return NULL;
}

static int servo_named(const char *name) { return body->joints[nm_find_joint(body, name)].servo; }

static void a_hot_servo_is_told_once_and_once_when_it_is_cool(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, "hot_margin=15, cool_by=4", body);
    uint32_t hot = 0, cool = 0;
    for (int i = 0; i < 600; i++) {
        /* 60 to 70 degrees and back, with a reading that is missing now and then */
        float t = (float)(60 + 10 * sin(M_PI * i / 600));
        ServoStates *s = give_servos(h, 15, 40);
        s->temperature.at[servo_named("left_knee")] = i % 7 == 3 ? (float)NAN : t;
        nm_harness_step(h, 0.1);
        hot += lines_with(h, "left_knee: 65 degrees, it switches off at 80");
        cool += lines_with(h, "left_knee: cooled down to 61 degrees");
        const DiagnosticStatus *d = diagnosis(h, "servo left_knee");
        if (i == 0) assert_int_equal(d->level, DiagnosticStatus_OK);
        if (hot && !cool && d) assert_int_equal(d->level, DiagnosticStatus_WARN);
    }
    assert_int_equal(hot, 1);
    assert_int_equal(cool, 1);
    nm_harness_free(h);
}

static void a_servo_that_switched_off_is_an_error(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    uint32_t told = 0;
    for (int i = 0; i < 30; i++) {
        ServoStates *s = give_servos(h, 15, 40);
        s->error.at[servo_named("head_yaw")] = ServoStates_ERROR_OVERLOAD;
        nm_harness_step(h, 0.1);
        told += lines_with(h, "head_yaw: overload, it has switched off");
        if (i == 0) {
            const DiagnosticStatus *d = diagnosis(h, "servo head_yaw");
            assert_int_equal(d->level, DiagnosticStatus_ERROR);
            assert_string_equal(d->message, "switched off: overload");
            assert_string_equal(d->hardware_id, "MX-64 141");
        }
    }
    assert_int_equal(told, 1);
    nm_harness_free(h);
}

static void a_silent_servo_shows_but_is_the_buss_to_tell(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    ServoStates *s = give_servos(h, 15, 40);
    s->error.at[0] = ServoStates_ERROR_SILENT;
    nm_harness_step(h, 0.1);
    char name[64];
    snprintf(name, sizeof name, "servo %s", body->joints[body->servos[0].joint].name);
    assert_int_equal(diagnosis(h, name)->level, DiagnosticStatus_STALE);
    assert_int_equal(lines_with(h, ""), 0);
    nm_harness_free(h);
}

static void the_battery_is_known_by_the_servos(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, "full=1.13, empty=0.92", body);
    give_servos(h, 15.17f, 40)->voltage.at[3] = NAN;
    nm_harness_step(h, 0.1);
    const BatteryState *b = nm_harness_get(h, "battery_state");
    assert_near(b->voltage, 15.17, 1e-4);
    assert_near(b->percentage, (15.17 / 14.8 - 0.92) / (1.13 - 0.92), 1e-4);
    assert_true(b->present && isnan(b->current));
    nm_harness_free(h);
}

static void a_step_that_makes_the_voltage_dip_is_no_low_battery(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    uint32_t low = 0;
    for (int i = 0; i < 300; i++) {
        give_servos(h, i % 10 ? 15 : 12.5f, 40);
        nm_harness_step(h, 0.04);
        low += lines_with(h, "battery");
    }
    assert_int_equal(low, 0);
    nm_harness_free(h);
}

static void an_emptying_battery_is_told_once_low_and_once_almost_empty(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    uint32_t low = 0, empty = 0;
    for (int i = 0; i < 4000; i++) {
        give_servos(h, (float)(16 - 3.0 * i / 4000), 40);
        nm_harness_step(h, 0.1);
        low += lines_with(h, "battery low");
        empty += lines_with(h, "battery almost empty");
        if (empty) assert_true(low == 1);
    }
    assert_int_equal(low, 1);
    assert_int_equal(empty, 1);
    nm_harness_free(h);
}

static void a_battery_that_reports_is_believed(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    uint32_t low = 0;
    for (int i = 0; i < 20; i++) {
        BatteryState *b = nm_harness_set(h, "battery");
        b->voltage = 14.2f;
        b->percentage = 0.1f;
        b->current = -3;
        give_servos(h, 16, 40);
        nm_harness_step(h, 0.1);
        low += lines_with(h, "battery low: 14.2 V, 10 %");
    }
    const BatteryState *out = nm_harness_get(h, "battery_state");
    assert_near(out->voltage, 14.2, 1e-4);
    assert_near(out->percentage, 0.1, 1e-6);
    assert_near(out->current, -3, 1e-6);
    assert_int_equal(low, 1);
    nm_harness_free(h);
}

static void a_diagnosis_comes_every_second_and_at_every_change(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, "every=1", body);
    uint32_t n = 0;
    for (int i = 0; i < 100; i++) {
        ServoStates *s = give_servos(h, 15, 40);
        if (i == 55) s->error.at[2] = ServoStates_ERROR_SILENT;
        nm_harness_step(h, 0.1);
        const DiagnosticStatus *d = diagnosis(h, "battery");
        n += d != NULL;
        if (i == 55) assert_non_null(d);
    }
    assert_in_range(n, 11, 13);
    nm_harness_free(h);
}

static void when_nothing_is_heard_everything_is_stale(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&supervision_module, NULL, body);
    nm_harness_step(h, 0.1);
    assert_int_equal(diagnosis(h, "battery")->level, DiagnosticStatus_STALE);
    assert_int_equal(diagnosis(h, "servo left_knee")->level, DiagnosticStatus_STALE);
    give_servos(h, 15, 40);
    nm_harness_step(h, 0.1);
    assert_int_equal(diagnosis(h, "servo left_knee")->level, DiagnosticStatus_OK);
    nm_harness_step(h, 6);
    assert_int_equal(diagnosis(h, "servo left_knee")->level, DiagnosticStatus_STALE);
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hot_servo_is_told_once_and_once_when_it_is_cool),
        cmocka_unit_test(a_servo_that_switched_off_is_an_error),
        cmocka_unit_test(a_silent_servo_shows_but_is_the_buss_to_tell),
        cmocka_unit_test(the_battery_is_known_by_the_servos),
        cmocka_unit_test(a_step_that_makes_the_voltage_dip_is_no_low_battery),
        cmocka_unit_test(an_emptying_battery_is_told_once_low_and_once_almost_empty),
        cmocka_unit_test(a_battery_that_reports_is_believed),
        cmocka_unit_test(a_diagnosis_comes_every_second_and_at_every_change),
        cmocka_unit_test(when_nothing_is_heard_everything_is_stale),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}

/* Bytes of a joystick and of a keyboard become axes and buttons, in whatever pieces they come. */
#include <linux/joystick.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/teleop/joystick.h"

static struct js_event event(uint8_t type, uint8_t number, int16_t value)
{
    return (struct js_event){.time = 1, .value = value, .type = type, .number = number};
}

static const struct nm_joy *feed(struct nm_joystick *stick, struct js_event e)
{
    uint8_t bytes[sizeof e];
    memcpy(bytes, &e, sizeof e);
    nm_joystick_read(stick, bytes, sizeof e);
    return &stick->joy;
}

#define assert_axis(joy, i, x) assert_true((joy)->axes[i] - (x) < 1e-6f && (x) - (joy)->axes[i] < 1e-6f)

static void a_joystick_tells_what_it_has_and_every_change(void **state)
{
    (void)state;
    struct nm_joystick stick = {0};
    for (uint8_t i = 0; i < 6; i++) feed(&stick, event(JS_EVENT_AXIS | JS_EVENT_INIT, i, 0));
    for (uint8_t i = 0; i < 11; i++) feed(&stick, event(JS_EVENT_BUTTON | JS_EVENT_INIT, i, 0));
    assert_int_equal(stick.joy.n_axes, 6);
    assert_int_equal(stick.joy.n_buttons, 11);
    /* ahead and left count down in the kernel and up here */
    assert_axis(feed(&stick, event(JS_EVENT_AXIS, 1, -32767)), 1, 1.0f);
    assert_axis(feed(&stick, event(JS_EVENT_AXIS, 1, -32768)), 1, 1.0f);
    assert_axis(feed(&stick, event(JS_EVENT_AXIS, 0, 32767)), 0, -1.0f);
    assert_axis(feed(&stick, event(JS_EVENT_AXIS, 0, 0)), 0, 0.0f);
    assert_int_equal(feed(&stick, event(JS_EVENT_BUTTON, 4, 1))->buttons[4], 1);
    assert_int_equal(feed(&stick, event(JS_EVENT_BUTTON, 4, 0))->buttons[4], 0);
}

static void events_may_come_in_any_pieces(void **state)
{
    (void)state;
    struct nm_joystick whole = {0}, pieces = {0};
    uint8_t bytes[32 * 8];
    for (uint8_t i = 0; i < 32; i++) {
        struct js_event e = event(i % 2 ? JS_EVENT_AXIS : JS_EVENT_BUTTON, i, (int16_t)(i * 1000));
        memcpy(bytes + 8 * i, &e, 8);
    }
    nm_joystick_read(&whole, bytes, sizeof bytes);
    for (size_t at = 0, n = 1; at < sizeof bytes; at += n, n = n % 11 + 1)
        nm_joystick_read(&pieces, bytes + at, n < sizeof bytes - at ? n : sizeof bytes - at);
    assert_memory_equal(&whole, &pieces, sizeof whole);
    assert_int_equal(whole.joy.n_axes, 16); /* the others found no room */
}

static const int64_t hold = 600000000, ms = 1000000;

static const struct nm_joy *type(struct nm_keys *keys, const char *text, int64_t now)
{
    nm_keys_read(keys, (const uint8_t *)text, strlen(text), now);
    return &keys->joy;
}

static void a_key_drives_while_it_is_held(void **state)
{
    (void)state;
    struct nm_keys keys;
    nm_keys_begin(&keys, hold);
    const struct nm_joy *joy = type(&keys, "w", 0);
    assert_axis(joy, NM_KEYS_AHEAD, 0.5f);
    assert_int_equal(joy->buttons[NM_KEYS_ENABLE], 1);
    type(&keys, "", 599 * ms);
    assert_axis(joy, NM_KEYS_AHEAD, 0.5f);
    type(&keys, "w", 599 * ms); /* the terminal repeats it */
    type(&keys, "", 1100 * ms);
    assert_axis(joy, NM_KEYS_AHEAD, 0.5f);
    type(&keys, "", 1199 * ms);
    assert_axis(joy, NM_KEYS_AHEAD, 0.0f);
    assert_int_equal(joy->buttons[NM_KEYS_ENABLE], 0);
}

static void keys_of_different_axes_add_up_and_shift_is_full_speed(void **state)
{
    (void)state;
    struct nm_keys keys;
    nm_keys_begin(&keys, hold);
    const struct nm_joy *joy = type(&keys, "Wdq", 0);
    assert_axis(joy, NM_KEYS_AHEAD, 1.0f);
    assert_axis(joy, NM_KEYS_LEFT, -0.5f);
    assert_axis(joy, NM_KEYS_TURN, 0.5f);
    type(&keys, "s", 10 * ms);
    assert_axis(joy, NM_KEYS_AHEAD, -0.5f);
}

static void any_other_key_stops_at_once(void **state)
{
    (void)state;
    static const char *const others[] = {" ", "x", "\n", "\x1b\x1b[x", "\x1bw", "\xff"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct nm_keys keys;
        nm_keys_begin(&keys, hold);
        type(&keys, "WAQ", 0);
        const struct nm_joy *joy = type(&keys, others[i], 10 * ms);
        for (int k = 0; k < NM_KEYS_AXES; k++) assert_axis(joy, k, 0.0f);
        assert_int_equal(joy->buttons[NM_KEYS_ENABLE], 0);
    }
}

static void arrows_are_three_bytes_in_any_pieces(void **state)
{
    (void)state;
    struct nm_keys keys;
    nm_keys_begin(&keys, hold);
    const struct nm_joy *joy = type(&keys, "\x1b[A\x1bOD", 0);
    assert_axis(joy, NM_KEYS_AHEAD, 0.5f);
    assert_axis(joy, NM_KEYS_TURN, 0.5f);
    type(&keys, "\x1b", 10 * ms);
    type(&keys, "[", 20 * ms);
    type(&keys, "C", 30 * ms);
    assert_axis(joy, NM_KEYS_TURN, -0.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joystick_tells_what_it_has_and_every_change),
        cmocka_unit_test(events_may_come_in_any_pieces),
        cmocka_unit_test(a_key_drives_while_it_is_held),
        cmocka_unit_test(keys_of_different_axes_add_up_and_shift_is_full_speed),
        cmocka_unit_test(any_other_key_stops_at_once),
        cmocka_unit_test(arrows_are_three_bytes_in_any_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

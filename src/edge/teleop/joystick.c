#include "edge/teleop/joystick.h"

#include <linux/joystick.h>
#include <string.h>

static void take_axis(struct nm_joy *joy, uint8_t number, int16_t value)
{
    if (number >= NM_JOY_AXES) return;
    if (joy->n_axes <= number) joy->n_axes = number + 1u;
    /* -32768 is as far out as 32767 */
    float way = value < -32767 ? -1 : (float)value / 32767;
    joy->axes[number] = value ? -way : 0;
}

static void take_button(struct nm_joy *joy, uint8_t number, int16_t value)
{
    if (number >= NM_JOY_BUTTONS) return;
    if (joy->n_buttons <= number) joy->n_buttons = number + 1u;
    joy->buttons[number] = value != 0;
}

static void take_event(struct nm_joystick *stick)
{
    struct js_event event;
    _Static_assert(sizeof event == NM_JOY_EVENT, "the kernel's event");
    memcpy(&event, stick->part, sizeof event);
    switch (event.type & ~JS_EVENT_INIT) {
    case JS_EVENT_AXIS: take_axis(&stick->joy, event.number, event.value); break;
    case JS_EVENT_BUTTON: take_button(&stick->joy, event.number, event.value); break;
    }
}

void nm_joystick_read(struct nm_joystick *stick, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        stick->part[stick->n++] = bytes[i];
        if (stick->n < NM_JOY_EVENT) continue;
        take_event(stick);
        stick->n = 0;
    }
}

/* ---- keyboard ---- */

static const struct key {
    char key;
    uint8_t axis;
    float value;
} letters[] =
    {
        {'w', NM_KEYS_AHEAD, 0.5f}, {'s', NM_KEYS_AHEAD, -0.5f}, {'a', NM_KEYS_LEFT, 0.5f}, {'d', NM_KEYS_LEFT, -0.5f},
        {'q', NM_KEYS_TURN, 0.5f},  {'e', NM_KEYS_TURN, -0.5f},  {'W', NM_KEYS_AHEAD, 1},   {'S', NM_KEYS_AHEAD, -1},
        {'A', NM_KEYS_LEFT, 1},     {'D', NM_KEYS_LEFT, -1},     {'Q', NM_KEYS_TURN, 1},    {'E', NM_KEYS_TURN, -1},
},
  arrows[] = {
      /* the last byte of ESC [ A or ESC O A */
      {'A', NM_KEYS_AHEAD, 0.5f},
      {'B', NM_KEYS_AHEAD, -0.5f},
      {'C', NM_KEYS_TURN, -0.5f},
      {'D', NM_KEYS_TURN, 0.5f},
};
enum { LETTERS = sizeof letters / sizeof *letters, ARROWS = sizeof arrows / sizeof *arrows, ESCAPE = 0x1b };

void nm_keys_begin(struct nm_keys *keys, int64_t hold)
{
    *keys = (struct nm_keys){.hold = hold, .joy = {.n_axes = NM_KEYS_AXES, .n_buttons = NM_KEYS_BUTTONS}};
}

static void stop(struct nm_keys *keys)
{
    for (int i = 0; i < NM_KEYS_AXES; i++) keys->joy.axes[i] = 0;
}

static void press(struct nm_keys *keys, const struct key *table, int n, uint8_t byte, int64_t now)
{
    for (int i = 0; i < n; i++)
        if ((uint8_t)table[i].key == byte) {
            keys->joy.axes[table[i].axis] = table[i].value;
            keys->until[table[i].axis] = now + keys->hold;
            return;
        }
    stop(keys);
}

/* An arrow is three bytes: ESC, then [ or O, then its letter. */
static void take_key(struct nm_keys *keys, uint8_t byte, int64_t now)
{
    uint8_t escape = keys->escape;
    keys->escape = 0;
    if (byte == ESCAPE)
        keys->escape = 1;
    else if (escape == 1 && (byte == '[' || byte == 'O'))
        keys->escape = 2;
    else if (escape == 2)
        press(keys, arrows, ARROWS, byte, now);
    else if (escape == 1)
        stop(keys);
    else
        press(keys, letters, LETTERS, byte, now);
}

void nm_keys_read(struct nm_keys *keys, const uint8_t *bytes, size_t n, int64_t now)
{
    for (size_t i = 0; i < n; i++) take_key(keys, bytes[i], now);
    keys->joy.buttons[NM_KEYS_ENABLE] = 0;
    for (int i = 0; i < NM_KEYS_AXES; i++) {
        if (now >= keys->until[i]) keys->joy.axes[i] = 0;
        if (keys->joy.axes[i] < 0 || keys->joy.axes[i] > 0) keys->joy.buttons[NM_KEYS_ENABLE] = 1;
    }
}

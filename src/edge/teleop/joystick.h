/* The state of a joystick's axes and buttons, and the two forms in which it arrives: events of the kernel and keys of a
 * terminal. Both readers are pure functions from bytes to state. The bytes may come in any pieces, and any bytes are
 * safe.
 *
 * The kernel's joystick device (linux/joystick.h) reports every change in 8 bytes: time in ms, value, type, number.
 * When it is opened, it reports the state of everything. There, values fall when a stick is pushed ahead or to the
 * left; here they rise, like x and y of the robot. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NM_JOY_AXES = 16, NM_JOY_BUTTONS = 32, NM_JOY_EVENT = 8 };

struct nm_joy {
    uint32_t n_axes, n_buttons;      /* reported so far */
    float axes[NM_JOY_AXES];         /* -1 to 1         */
    uint8_t buttons[NM_JOY_BUTTONS]; /* 0 or 1          */
};

struct nm_joystick {
    struct nm_joy joy;
    uint32_t n; /* bytes of an event that is not complete */
    uint8_t part[NM_JOY_EVENT];
};

/* Reads bytes of the device. Axes and buttons with higher numbers are ignored. */
void nm_joystick_read(struct nm_joystick *stick, const uint8_t *bytes, size_t n);

/* The keyboard of a terminal as a joystick: w and s (or the arrows up and down) drive ahead and back, a and d to the
 * sides, q and e (or the arrows left and right) turn; with Shift at full speed, otherwise at half speed. A terminal
 * does not report when a key is released, so a key counts until `hold` after its last byte; its repetition keeps it.
 * Any other key stops at once. While a key counts, the button NM_KEYS_ENABLE is down. The axes are the defaults of the
 * module teleop. */
enum {
    NM_KEYS_LEFT = 0,
    NM_KEYS_AHEAD = 1,
    NM_KEYS_TURN = 3,
    NM_KEYS_AXES = 4,
    NM_KEYS_ENABLE = 4,
    NM_KEYS_BUTTONS = 5
};

struct nm_keys {
    struct nm_joy joy;
    int64_t hold;                /* ns                                           */
    int64_t until[NM_KEYS_AXES]; /* ns, when an axis returns to its middle       */
    uint8_t escape;              /* 0, or the number of bytes of an arrow so far */
};

void nm_keys_begin(struct nm_keys *keys, int64_t hold);
/* Reads what was typed. Call it without bytes, too, so that time passes. */
void nm_keys_read(struct nm_keys *keys, const uint8_t *bytes, size_t n, int64_t now);

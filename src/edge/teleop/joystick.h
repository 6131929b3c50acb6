/* What a person's hands say: the state of a joystick's axes and buttons, and the two languages it comes in. Both
 * readers are pure: bytes in, state out; bytes may come in any pieces, and any bytes are fine.
 *
 * The kernel's joystick device (linux/joystick.h) tells every change in 8 bytes: time in ms, value, type, number; at
 * opening it tells the state of everything. A stick pushed ahead or to the left counts down there; here it counts up,
 * as x and y of the robot do. */
#ifndef NM_EDGE_TELEOP_JOYSTICK_H
#define NM_EDGE_TELEOP_JOYSTICK_H

#include <stddef.h>
#include <stdint.h>

enum { NM_JOY_AXES = 16, NM_JOY_BUTTONS = 32, NM_JOY_EVENT = 8 };

struct nm_joy {
    uint32_t n_axes, n_buttons;      /* told so far                 */
    float axes[NM_JOY_AXES];         /* -1 to 1                     */
    uint8_t buttons[NM_JOY_BUTTONS]; /* 0 or 1                     */
};

struct nm_joystick {
    struct nm_joy joy;
    uint32_t n; /* bytes of an event that is not complete */
    uint8_t part[NM_JOY_EVENT];
};

/* Takes in bytes of the device. Axes and buttons beyond the last are left out. */
void nm_joystick_read(struct nm_joystick *stick, const uint8_t *bytes, size_t n);

/* The keyboard as a joystick, for terminals: w s drive ahead and back, a d to the sides, q e (or the arrows left and
 * right) turn; arrows up and down are w and s; with Shift at full speed, else at half. A terminal tells no release: a
 * key counts until `hold` after its last byte (its repetition keeps it), anything else stops at once. While a key
 * counts the button NM_KEYS_ENABLE is down. The axes are those that the module teleop reads unless told otherwise. */
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
    int64_t hold;                /* ns                                     */
    int64_t until[NM_KEYS_AXES]; /* ns, when an axis falls back to its middle */
    uint8_t escape;              /* 0, or how far an arrow's bytes have come  */
};

void nm_keys_begin(struct nm_keys *keys, int64_t hold);
/* Takes in what was typed; also without any bytes, for the time that has passed. */
void nm_keys_read(struct nm_keys *keys, const uint8_t *bytes, size_t n, int64_t now);

#endif

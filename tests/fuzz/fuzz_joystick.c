/* Any bytes from a joystick or a keyboard, cut into any pieces: axes stay within -1 and 1, buttons are 0 or 1, counts
 * within their room, and a keyboard left alone stands still. The first byte chooses where it is cut. */
#include <assert.h>
#include <string.h>

#include "edge/teleop/joystick.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nm_joy *joy)
{
    assert(joy->n_axes <= NM_JOY_AXES && joy->n_buttons <= NM_JOY_BUTTONS);
    for (int i = 0; i < NM_JOY_AXES; i++) assert(joy->axes[i] >= -1 && joy->axes[i] <= 1);
    for (int i = 0; i < NM_JOY_BUTTONS; i++) assert(joy->buttons[i] <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_joystick whole = {0}, cut = {0};
    struct nm_keys keys;
    if (size < 1) return 0;
    size_t piece = data[0] % 13 + 1u;
    data++, size--;

    nm_joystick_read(&whole, data, size);
    nm_keys_begin(&keys, 1000);
    for (size_t at = 0; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        nm_joystick_read(&cut, data + at, n);
        nm_keys_read(&keys, data + at, n, (int64_t)at * 100);
        check(&cut.joy);
        check(&keys.joy);
    }
    assert(!memcmp(&whole, &cut, sizeof whole));
    nm_keys_read(&keys, NULL, 0, (int64_t)size * 100 + 1000);
    for (int i = 0; i < NM_KEYS_AXES; i++) assert(!(keys.joy.axes[i] < 0 || keys.joy.axes[i] > 0));
    assert(!keys.joy.buttons[NM_KEYS_ENABLE]);
    return 0;
}

#include "edge/teleop/teleop_edge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/memory.h"
#include "edge/teleop/joystick.h"
#include "sensor_msgs/Joy.h"

static const int64_t try_again = 1000000000; /* ns between two tries to open a device that is gone                */
static const int64_t key_hold = 600000000;   /* ns; longer than a terminal waits before it repeats a key (500 ms) */

struct nm_teleop {
    struct nm_edge *edge;
    char *device;
    int fd; /* -1: gone                        */
    int64_t next_try;
    bool keyboard;
    struct termios before; /* the terminal as it was          */
    struct nm_joystick stick;
    struct nm_keys keys;
};

/* Keys arrive at once and are not echoed; Ctrl-C works as usual. */
static int open_keyboard(struct nm_teleop *t, struct nm_err *err)
{
    struct termios raw;
    int fd = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || tcgetattr(fd, &t->before)) {
        if (fd >= 0) close(fd);
        return nm_fail(err, "keys: there is no terminal to read keys from: %s", strerror(errno));
    }
    raw = t->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(fd, TCSANOW, &raw);
    t->fd = fd;
    nm_keys_begin(&t->keys, key_hold);
    return 0;
}

static int open_stick(struct nm_teleop *t, struct nm_err *err)
{
    t->fd = open(t->device, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    memset(&t->stick, 0, sizeof t->stick);
    if (t->fd < 0) return nm_fail(err, "%s: %s", t->device, strerror(errno));
    return 0;
}

struct nm_teleop *nm_teleop_new(struct nm_player *player, const char *device, struct nm_err *err)
{
    const struct nm_edge_port port = {"joy", NM_PORT_OUT, &Joy_type, 0, 0};
    struct nm_teleop *t = nm_calloc(1, sizeof *t);
    t->fd = -1;
    t->device = strdup(device);
    t->keyboard = !strcmp(device, "keys");
    int gone = t->keyboard ? open_keyboard(t, err) : open_stick(t, err);
    if (!gone && (t->edge = nm_edge_new(player, "teleop", &port, 1, err))) return t;
    nm_teleop_free(t);
    return NULL;
}

void nm_teleop_free(struct nm_teleop *t)
{
    if (!t) return;
    if (t->fd >= 0 && t->keyboard) tcsetattr(t->fd, TCSANOW, &t->before);
    if (t->fd >= 0) close(t->fd);
    free(t->device);
    free(t);
}

/* Reads everything that waits. False if the device is gone: it was unplugged, or a pipe has ended. */
static bool read_all(struct nm_teleop *t, int64_t now)
{
    uint8_t bytes[512];
    for (;;) {
        ssize_t n = read(t->fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n < 0) return false;
        if (n == 0) return t->keyboard; /* a terminal without new keys returns 0 */
        if (t->keyboard)
            nm_keys_read(&t->keys, bytes, (size_t)n, now);
        else
            nm_joystick_read(&t->stick, bytes, (size_t)n);
    }
}

static void tell(struct nm_teleop *t, const struct nm_joy *joy)
{
    Joy *out = nm_edge_out(t->edge, 0);
    out->axes.n = joy->n_axes;
    out->buttons.n = joy->n_buttons;
    for (uint32_t i = 0; i < joy->n_axes; i++) out->axes.at[i] = joy->axes[i];
    for (uint32_t i = 0; i < joy->n_buttons; i++) out->buttons.at[i] = joy->buttons[i];
    nm_text(out->header.frame_id, "%s", t->keyboard ? "keys" : t->device);
    nm_edge_put(t->edge, 0);
}

void nm_teleop_poll(struct nm_teleop *t, int64_t now)
{
    if (t->fd < 0 && now < t->next_try) return;
    if (t->fd < 0) {
        t->next_try = now + try_again;
        if (open_stick(t, NULL)) return;
    }
    if (!read_all(t, now)) {
        close(t->fd);
        t->fd = -1;
        t->next_try = now + try_again;
        return;
    }
    if (t->keyboard) nm_keys_read(&t->keys, NULL, 0, now);
    nm_edge_begin(t->edge, now);
    tell(t, t->keyboard ? &t->keys.joy : &t->stick.joy);
    nm_edge_end(t->edge);
}

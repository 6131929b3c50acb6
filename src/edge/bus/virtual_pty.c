/* The virtual bus in real time: one thread serves a pseudo terminal a wire. The engine gives every byte the time at
 * which the wire would have carried it; the thread hands it over then, or a little later, never earlier. */
#include "edge/bus/virtual_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

void nm_vbus_lock(struct nm_vbus *bus) { pthread_mutex_lock(&bus->mutex); }

void nm_vbus_unlock(struct nm_vbus *bus) { pthread_mutex_unlock(&bus->mutex); }

static void wake(struct nm_vbus *bus)
{
    uint64_t one = 1;
    if (bus->wake >= 0 && write(bus->wake, &one, sizeof one) < 0) return;
}

static void close_wire(struct vwire *w)
{
    if (w->master >= 0) close(w->master);
    if (w->slave >= 0) close(w->slave);
    w->master = w->slave = -1;
}

/* Our own end of the slave stays open, so that the master does not report a hang-up while nobody uses the port. */
static int open_wire(struct vwire *w, struct nm_err *err)
{
    char name[128];
    struct termios raw;
    memset(&raw, 0, sizeof raw);
    cfmakeraw(&raw);
    if (openpty(&w->master, &w->slave, name, &raw, NULL))
        return nm_fail(err, "virtual bus: no pseudo terminal: %s", strerror(errno));
    fcntl(w->master, F_SETFL, fcntl(w->master, F_GETFL) | O_NONBLOCK);
    fcntl(w->master, F_SETFD, FD_CLOEXEC);
    fcntl(w->slave, F_SETFD, FD_CLOEXEC);
    char fresh[sizeof w->link + 8];
    snprintf(fresh, sizeof fresh, "%s.new", w->link);
    unlink(fresh);
    if (symlink(name, fresh) || rename(fresh, w->link)) {
        close_wire(w);
        return nm_fail(err, "virtual bus: cannot make the link %s: %s", w->link, strerror(errno));
    }
    return 0;
}

/* A file that is no link of ours is left alone. */
static int take_link(struct vwire *w, const char *link, struct nm_err *err)
{
    char target[16];
    if (strlen(link) >= sizeof w->link) return nm_fail(err, "virtual bus: the path %s is too long", link);
    if (access(link, F_OK) == 0 && readlink(link, target, sizeof target) < 0)
        return nm_fail(err, "virtual bus: %s exists and is no link; choose another path", link);
    strcpy(w->link, link);
    return open_wire(w, err);
}

static void serve_wire(struct nm_vbus *bus, struct vwire *w)
{
    uint8_t bytes[1024];
    if (w->master < 0) return;
    ssize_t n = read(w->master, bytes, sizeof bytes);
    if (n > 0) vbus_host_bytes(bus, w, bytes, (size_t)n, vbus_now(bus));
    size_t due = vbus_take(w, bytes, sizeof bytes, vbus_now(bus));
    if (due && write(w->master, bytes, due) < 0) w->parser.garbage++; /* a host that does not read loses bytes */
}

static void *serve(void *self)
{
    struct nm_vbus *bus = self;
    prctl(PR_SET_NAME, "nm-devices");
    prctl(PR_SET_TIMERSLACK, 1000UL);
    struct sched_param how = {.sched_priority = bus->settings.priority};
    if (how.sched_priority > 0) pthread_setschedparam(pthread_self(), SCHED_FIFO, &how); /* not allowed everywhere */
    pthread_mutex_lock(&bus->mutex);
    while (!bus->stop) {
        struct pollfd fds[NM_BUS_WIRES + 1] = {{.fd = bus->wake, .events = POLLIN}};
        int64_t now = vbus_now(bus);
        vbus_run(bus, now);
        for (int i = 0; i < NM_BUS_WIRES; i++) {
            serve_wire(bus, &bus->wires[i]);
            fds[i + 1] = (struct pollfd){.fd = bus->wires[i].master, .events = POLLIN};
        }
        int64_t next = vbus_next(bus), left = next == INT64_MAX ? 1000000000 : next - vbus_now(bus);
        struct timespec timeout = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
        pthread_mutex_unlock(&bus->mutex);
        int ready = ppoll(fds, NM_BUS_WIRES + 1, &timeout, NULL);
        uint64_t count;
        if (ready > 0 && fds[0].revents && read(bus->wake, &count, sizeof count) < 0) errno = 0;
        pthread_mutex_lock(&bus->mutex);
    }
    pthread_mutex_unlock(&bus->mutex);
    return NULL;
}

int nm_vbus_start(struct nm_vbus *bus, const char *const links[NM_BUS_WIRES], struct nm_err *err)
{
    if (bus->threaded) return nm_fail(err, "virtual bus: it runs already");
    bus->threaded = true;
    bus->stop = false;
    int64_t now = vbus_now(bus);
    for (uint32_t i = 0; i < bus->n; i++) bus->devices[i]->stepped = now, bus->devices[i]->up_at = now;
    bus->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failed = bus->wake < 0 ? nm_fail(err, "virtual bus: no eventfd: %s", strerror(errno)) : 0;
    for (int i = 0; i < NM_BUS_WIRES && !failed; i++)
        if (bus->wires[i].used && links[i]) failed = take_link(&bus->wires[i], links[i], err);
    if (!failed && pthread_create(&bus->thread, NULL, serve, bus)) failed = nm_fail(err, "virtual bus: no thread");
    if (!failed) return 0;
    for (int i = 0; i < NM_BUS_WIRES; i++) close_wire(&bus->wires[i]);
    if (bus->wake >= 0) close(bus->wake);
    bus->wake = -1;
    bus->threaded = false;
    return -1;
}

void nm_vbus_stop(struct nm_vbus *bus)
{
    if (!bus->threaded) return;
    pthread_mutex_lock(&bus->mutex);
    bus->stop = true;
    wake(bus);
    pthread_mutex_unlock(&bus->mutex);
    pthread_join(bus->thread, NULL);
    for (int i = 0; i < NM_BUS_WIRES; i++) {
        close_wire(&bus->wires[i]);
        if (bus->wires[i].link[0]) unlink(bus->wires[i].link);
        bus->wires[i].link[0] = '\0';
    }
    close(bus->wake);
    bus->wake = -1;
    bus->now = vbus_now(bus);
    bus->threaded = false;
}

int nm_vbus_plug(struct nm_vbus *bus, int wire, bool in, struct nm_err *err)
{
    struct vwire *w = &bus->wires[wire];
    if (in == w->plugged) return 0;
    w->plugged = in;
    w->out_n = 0;
    nm_dxl_parser_clear(&w->parser);
    if (!bus->threaded || !w->link[0]) return 0;
    int result = 0;
    if (in)
        result = open_wire(w, err);
    else {
        close_wire(w);
        unlink(w->link);
    }
    wake(bus);
    return result;
}

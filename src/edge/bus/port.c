#include "edge/bus/port.h"

#include <asm/termbits.h> /* termios2: arbitrary baud rates; excludes <termios.h> */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/serial.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Adapters collect bytes before they pass them on; the factory setting of FTDI's timer is 16 ms. If the kernel does not
 * let us change it (no such file, no permission), the port is used as it is. */
static void lower_latency(const char *path, int fd)
{
    struct serial_struct serial;
    if (ioctl(fd, TIOCGSERIAL, &serial) == 0) {
        serial.flags |= (int)ASYNC_LOW_LATENCY;
        if (ioctl(fd, TIOCSSERIAL, &serial)) errno = 0;
    }
    char real[PATH_MAX], timer[PATH_MAX + 64];
    if (!realpath(path, real)) return;
    const char *name = strrchr(real, '/') + 1;
    snprintf(timer, sizeof timer, "/sys/bus/usb-serial/devices/%s/latency_timer", name);
    int file = open(timer, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    if (write(file, "1", 1) < 0) errno = 0;
    close(file);
}

int nm_serial_open(const char *path, uint32_t baud, struct nm_err *err)
{
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return nm_fail(err, "%s: cannot open the serial port: %s", path, strerror(errno));
    struct termios2 t;
    if (ioctl(fd, TCGETS2, &t)) {
        close(fd);
        return nm_fail(err, "%s: this is not a serial port", path);
    }
    t.c_iflag = 0;
    t.c_oflag = 0;
    t.c_lflag = 0;
    t.c_cflag = CS8 | CREAD | CLOCAL | BOTHER | (BOTHER << IBSHIFT);
    t.c_ispeed = t.c_ospeed = baud;
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    if (ioctl(fd, TCSETS2, &t)) {
        nm_fail(err, "%s: this port does not support %u baud: %s", path, baud, strerror(errno));
        close(fd);
        return -1;
    }
    lower_latency(path, fd);
    ioctl(fd, TCFLSH, TCIOFLUSH);
    return fd;
}

void nm_serial_init(struct nm_serial_ports *ports, const char *const paths[], const uint32_t baud[], int n)
{
    memset(ports, 0, sizeof *ports);
    ports->n = n < NM_BUS_WIRES ? n : NM_BUS_WIRES;
    for (int i = 0; i < NM_BUS_WIRES; i++) ports->at[i].fd = -1;
    for (int i = 0; i < ports->n; i++) {
        snprintf(ports->at[i].path, sizeof ports->at[i].path, "%s", paths[i]);
        ports->at[i].baud = baud[i];
    }
}

static void close_port(struct nm_serial_port *port)
{
    if (port->fd >= 0) close(port->fd);
    port->fd = -1;
}

void nm_serial_close(struct nm_serial_ports *ports)
{
    for (int i = 0; i < ports->n; i++) close_port(&ports->at[i]);
}

static int64_t ports_now(void *self)
{
    (void)self;
    return nm_clock();
}

static int ports_open(void *self, int wire)
{
    struct nm_serial_port *port = &((struct nm_serial_ports *)self)->at[wire];
    if (port->fd < 0) port->fd = nm_serial_open(port->path, port->baud, NULL);
    return port->fd < 0 ? -1 : 0;
}

/* No bytes now is 0; anything else that fails means the port is gone. */
static int result(struct nm_serial_port *port, ssize_t n, bool end_of_file)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n > 0 || (n == 0 && !end_of_file)) return (int)n;
    close_port(port);
    return -1;
}

static int ports_write(void *self, int wire, const uint8_t *bytes, size_t n)
{
    struct nm_serial_port *port = &((struct nm_serial_ports *)self)->at[wire];
    return port->fd < 0 ? -1 : result(port, write(port->fd, bytes, n), false);
}

static int ports_read(void *self, int wire, uint8_t *bytes, size_t room)
{
    struct nm_serial_port *port = &((struct nm_serial_ports *)self)->at[wire];
    return port->fd < 0 ? -1 : result(port, read(port->fd, bytes, room), true);
}

/* A port that has hung up would end every wait at once, so it is closed here. */
static void ports_wait(void *self, int64_t until)
{
    struct nm_serial_ports *ports = self;
    struct pollfd fds[NM_BUS_WIRES];
    for (int i = 0; i < ports->n; i++) fds[i] = (struct pollfd){.fd = ports->at[i].fd, .events = POLLIN};
    int64_t left = until - ports_now(self);
    if (left < 0) left = 0;
    struct timespec timeout = {left / 1000000000, left % 1000000000};
    if (ppoll(fds, (nfds_t)ports->n, &timeout, NULL) <= 0) return;
    for (int i = 0; i < ports->n; i++)
        if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL) && !(fds[i].revents & POLLIN)) close_port(&ports->at[i]);
}

struct nm_bus_io nm_serial_io(struct nm_serial_ports *ports)
{
    return (struct nm_bus_io){ports, ports_now, ports_open, ports_write, ports_read, ports_wait};
}

#include "edge/air/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

struct udp {
    struct nm_radio radio;
    int fd;
    uint16_t port;
    uint32_t interface;
};

static struct udp *udp_of(const struct nm_radio *radio) { return (struct udp *)(uintptr_t)radio; }

static const char *written(uint32_t host, char to[INET_ADDRSTRLEN])
{
    struct in_addr address = {htonl(host)};
    return inet_ntop(AF_INET, &address, to, INET_ADDRSTRLEN);
}

static int join(struct nm_radio *radio, uint32_t group, struct nm_err *err)
{
    const struct udp *udp = udp_of(radio);
    char text[INET_ADDRSTRLEN];
    struct ip_mreqn request = {.imr_multiaddr = {htonl(group)}, .imr_address = {htonl(udp->interface)}};
    if (!nm_air_is_group(group)) return nm_fail(err, "%s is not a multicast group", written(group, text));
    if (setsockopt(udp->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) && errno != EADDRINUSE)
        return nm_fail(err, "cannot join %s: %s", written(group, text), strerror(errno));
    return 0;
}

static int send_to(struct nm_radio *radio, struct nm_air_place to, const void *bytes, size_t size, struct nm_err *err)
{
    char text[INET_ADDRSTRLEN];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {htonl(to.host)}};
    if (size > NM_AIR_DATAGRAM) return nm_fail(err, "a datagram has at most %d bytes, not %zu", NM_AIR_DATAGRAM, size);
    ssize_t n;
    do
        n = sendto(udp_of(radio)->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                   sizeof address);
    while (n < 0 && errno == EINTR);
    /* a full socket loses the datagram, as a network may */
    if (n == (ssize_t)size || errno == EAGAIN || errno == ENOBUFS || errno == ECONNREFUSED) return 0;
    return nm_fail(err, "cannot send to %s, port %u: %s", written(to.host, text), to.port, strerror(errno));
}

static int64_t receive(struct nm_radio *radio, struct nm_air_place *from, void *bytes, size_t room)
{
    enum { TRIES = 64 }; /* so that a flood of datagrams that are too large cannot keep us here */
    for (int i = 0; i < TRIES; i++) {
        struct sockaddr_in address = {0};
        socklen_t length = sizeof address;
        ssize_t n =
            recvfrom(udp_of(radio)->fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&address, &length);
        if (n < 0 && (errno == EINTR || errno == ECONNREFUSED)) continue;
        if (n < 0) return -1;
        if ((size_t)n > room || n > NM_AIR_DATAGRAM) continue;
        *from = (struct nm_air_place){ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
        return n;
    }
    return -1;
}

static void close_udp(struct nm_radio *radio)
{
    struct udp *udp = udp_of(radio);
    if (udp->fd >= 0) close(udp->fd);
    free(udp);
}

static const struct nm_radio_verbs verbs = {join, send_to, receive, close_udp};

static int open_socket(struct udp *udp, const struct nm_udp_options *options)
{
    const int on = 1;
    struct in_addr interface = {htonl(options->interface)};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(options->port), .sin_addr = {htonl(options->address)}};
    socklen_t length = sizeof address;
    udp->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->fd < 0 || setsockopt(udp->fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on)) return -1;
    if (options->shared && (setsockopt(udp->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
                            setsockopt(udp->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on)))
        return -1;
    if (options->interface && setsockopt(udp->fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface)) return -1;
    if (bind(udp->fd, (struct sockaddr *)&address, sizeof address) ||
        getsockname(udp->fd, (struct sockaddr *)&address, &length))
        return -1;
    udp->port = ntohs(address.sin_port);
    return 0;
}

struct nm_radio *nm_udp_open(const struct nm_udp_options *options, struct nm_err *err)
{
    char text[INET_ADDRSTRLEN];
    struct udp *udp = nm_calloc(1, sizeof *udp);
    udp->radio.verbs = &verbs;
    udp->interface = options->interface;
    if (!open_socket(udp, options)) return &udp->radio;
    int why = errno;
    nm_fail(err, "cannot listen on %s, port %u: %s", written(options->address, text), options->port, strerror(why));
    close_udp(&udp->radio);
    errno = why;
    return NULL;
}

uint16_t nm_udp_port(const struct nm_radio *radio) { return udp_of(radio)->port; }
int nm_udp_fd(const struct nm_radio *radio) { return udp_of(radio)->fd; }

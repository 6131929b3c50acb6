/* The sockets of the control edge: listens, reads lines, writes answers, drops clients that take nothing. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "edge/control/inside.h"
#include "edge/control/place.h"

/* The edge looks at what the cycles made this often; a client that has taken nothing for so long is gone. */
enum { LOOK_EVERY = 20 };                         /* ms */
static const int64_t patience = 5LL * 1000000000; /* ns */

/* ---- clients ---- */

size_t client_waiting(const struct client *client) { return client->n_out - client->out_at; }

void client_drop(struct client *client)
{
    if (client->fd >= 0) close(client->fd);
    free(client->in);
    free(client->out);
    *client = (struct client){.fd = -1, .echo = NM_NONE};
}

static bool client_room(struct client *client, size_t more)
{
    if (client->out) memmove(client->out, client->out + client->out_at, client_waiting(client));
    client->n_out -= client->out_at;
    client->out_at = 0;
    size_t room = client->out_room ? client->out_room : 4096;
    while (room < client->n_out + more) room *= 2;
    if (room == client->out_room) return true;
    char *out = realloc(client->out, room);
    if (!out) return false;
    client->out = out;
    client->out_room = room;
    return true;
}

void client_send(struct client *client, const struct nm_json *reply)
{
    size_t n = reply->n + 2;
    if (client_waiting(client) + n > OUT_MOST || (client->n_out + n > client->out_room && !client_room(client, n))) {
        client_drop(client);
        return;
    }
    memcpy(client->out + client->n_out, reply->text, reply->n);
    memcpy(client->out + client->n_out + reply->n, "\n\n", 2);
    client->n_out += n;
}

static void client_write(struct client *client, int64_t now)
{
    if (!client_waiting(client)) return;
    ssize_t n = send(client->fd, client->out + client->out_at, client_waiting(client), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        client->out_at += (size_t)n;
        client->waits = 0;
        if (client_waiting(client)) return;
        client->out_at = client->n_out = 0;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        client_drop(client);
    } else if (!client->waits) {
        client->waits = now;
    } else if (now - client->waits > patience) {
        client_drop(client);
    }
}

/* Answers every whole line; false if the client was dropped meanwhile. */
static bool client_lines(struct nm_control *control, struct client *client)
{
    char *end;
    while ((end = memchr(client->in, '\n', client->n_in))) {
        size_t n = (size_t)(end - client->in);
        struct nm_json reply;
        nm_json_begin(&reply, REPLY_MOST);
        control_answer(control, client, client->in, n, &reply);
        if (reply.text) client_send(client, &reply);
        nm_json_end(&reply);
        if (client->fd < 0) return false;
        client->n_in -= n + 1;
        memmove(client->in, end + 1, client->n_in);
    }
    return true;
}

static void client_read(struct nm_control *control, struct client *client)
{
    ssize_t n = recv(client->fd, client->in + client->n_in, NM_REQUEST_LINE - client->n_in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        client_drop(client);
        return;
    }
    client->n_in += (size_t)n;
    client->heard = nm_clock();
    /* a line that fills the room is no request of ours */
    if (client_lines(control, client) && client->n_in == NM_REQUEST_LINE) client_drop(client);
}

/* A free place, or that of the client that has been silent for the longest time, if it listens to nothing; NULL: all
 * listen. So programs that hang with an open connection shut nobody out. */
static struct client *place(struct nm_control *control)
{
    struct client *silent = NULL;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &control->clients[i];
        if (client->fd < 0) return client;
        if (client->echo == NM_NONE && (!silent || client->heard < silent->heard)) silent = client;
    }
    if (silent) client_drop(silent);
    return silent;
}

static void welcome(struct nm_control *control)
{
    int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct client *client = place(control);
    if (client) {
        *client = (struct client){.fd = fd, .echo = NM_NONE, .in = malloc(NM_REQUEST_LINE), .heard = nm_clock()};
        if (!client->in) client_drop(client);
        return;
    }
    static const char full[] = "{\"error\": \"too many clients\"}\n\n";
    send(fd, full, sizeof full - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

void nm_control_poll(struct nm_control *control, int timeout)
{
    struct pollfd fds[CLIENTS + 2];
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &control->clients[i];
        short events = (short)(POLLIN | (client_waiting(client) ? POLLOUT : 0));
        fds[i] = (struct pollfd){.fd = client->fd, .events = events};
    }
    fds[CLIENTS] = (struct pollfd){.fd = control->listener, .events = POLLIN};
    fds[CLIENTS + 1] = (struct pollfd){.fd = control->wake, .events = POLLIN};
    poll(fds, CLIENTS + 2, timeout);
    int64_t now = nm_clock();
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (fds[i].fd >= 0 && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)))
            client_read(control, &control->clients[i]);
    if (fds[CLIENTS].revents & POLLIN) welcome(control);
    control_pump(control);
    control_sample(control);
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (control->clients[i].fd >= 0) client_write(&control->clients[i], now);
}

/* ---- life ---- */

/* A file that nobody answers at is left over from a crash. */
static int remove_stale(const struct sockaddr_un *address, struct nm_err *err)
{
    int fd = nm_control_dial(address);
    if (fd >= 0) {
        close(fd);
        return nm_fail(err, "%s: a player of this name runs already; give this one another with --name",
                       address->sun_path);
    }
    if (errno == ENOENT) return 0;
    if (errno != ECONNREFUSED || unlink(address->sun_path))
        return nm_fail(err, "%s: is in the way: %s", address->sun_path, strerror(errno));
    return 0;
}

static int listen_at(struct nm_control *control, struct nm_err *err)
{
    char folder[256];
    const char *name = nm_player_name(control->player);
    const char *in = control->options.folder ? control->options.folder : folder;
    if (!control->options.folder && nm_control_folder(folder, sizeof folder, true, err)) return -1;
    struct nm_err taken = {0};
    if (nm_control_address(in, name, &control->address, err)) return -1;
    if (remove_stale(&control->address, control->options.spare ? &taken : err)) {
        char other[128];
        snprintf(other, sizeof other, "%.100s.%d", name, (int)getpid());
        if (!control->options.spare || nm_control_address(in, other, &control->address, err) ||
            remove_stale(&control->address, err))
            return -1;
    }
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    control->wake = eventfd(0, EFD_CLOEXEC);
    control->bound = control->listener >= 0 && control->wake >= 0 &&
                     !bind(control->listener, (struct sockaddr *)&control->address, sizeof control->address);
    bool ok = control->bound && !chmod(control->address.sun_path, 0600) && !listen(control->listener, CLIENTS);
    return ok ? 0 : nm_fail(err, "%s: cannot listen: %s", control->address.sun_path, strerror(errno));
}

struct nm_control *nm_control_new(struct nm_player *player, const struct nm_control_options *options,
                                  struct nm_err *err)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    struct nm_control *control = calloc(1, sizeof *control);
    if (!control) abort();
    struct nm_arena *arena = &control->arena;
    control->player = player;
    if (options) control->options = *options;
    control->listener = control->wake = -1;
    for (uint32_t i = 0; i < CLIENTS; i++) control->clients[i].fd = -1;
    control->modules = nm_take_n(arena, const struct nm_module *, lineup->n_instances + 1);
    for (uint32_t i = 0; i < lineup->n_instances; i++) control->modules[i] = lineup->instances[i].module;
    control->topic_rates = nm_take_n(arena, double, lineup->n_topics + 1);
    control->topic_counts = nm_take_n(arena, uint64_t, lineup->n_topics + 1);
    control->n_rates = nm_player_cycles(player);
    control->cycle_rates = nm_take_n(arena, double, control->n_rates + 1);
    control->cycle_counts = nm_take_n(arena, uint64_t, control->n_rates + 1);
    control->view = (struct nm_view){.lineup = lineup,
                                     .player = player,
                                     .modules = control->modules,
                                     .topic_rates = control->topic_rates,
                                     .cycle_rates = control->cycle_rates,
                                     .n_cycle_rates = control->n_rates,
                                     .outside = options ? options->outside : NULL,
                                     .outside_user = options ? options->outside_user : NULL};
    for (uint32_t t = 0; t < lineup->n_topics; t++) control->topic_rates[t] = __builtin_nan("");
    for (uint32_t c = 0; c < control->n_rates; c++) control->cycle_rates[c] = __builtin_nan("");
    control->gate = nm_gate_of(player, err);
    if (!control->gate || listen_at(control, err) || control_edge(control, err) || control_mouth(control, err)) {
        nm_control_free(control);
        return NULL;
    }
    return control;
}

static void *serve(void *user)
{
    struct nm_control *control = user;
    prctl(PR_SET_NAME, "nm-control");
    while (!atomic_load(&control->ending)) nm_control_poll(control, LOOK_EVERY);
    return NULL;
}

int nm_control_start(struct nm_control *control, struct nm_err *err)
{
    int r = pthread_create(&control->thread, NULL, serve, control);
    if (r) return nm_fail(err, "the control socket gets no thread: %s", strerror(r));
    control->threaded = true;
    return 0;
}

void nm_control_free(struct nm_control *control)
{
    if (!control) return;
    atomic_store(&control->ending, true);
    if (control->threaded) {
        eventfd_write(control->wake, 1);
        pthread_join(control->thread, NULL);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) client_drop(&control->clients[i]);
    if (control->listener >= 0) close(control->listener);
    if (control->bound) unlink(control->address.sun_path);
    if (control->wake >= 0) close(control->wake);
    nm_gate_free(control->gate);
    nm_arena_free(&control->arena);
    free(control);
}

bool nm_control_stopped(const struct nm_control *control) { return atomic_load(&control->stopped); }
const char *nm_control_path(const struct nm_control *control) { return control->address.sun_path; }

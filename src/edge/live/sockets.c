/* The sockets, by libwebsockets: connections come and go, messages arrive in pieces, and a client is written to when
 * its socket takes bytes again. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge/live/inside.h"

struct session { /* the library's memory for a connection */
    struct client *client;
};

static struct client *free_seat(struct nm_live *live)
{
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++)
        if (!live->clients[i].wsi) return &live->clients[i];
    return NULL;
}

static int welcome(struct nm_live *live, struct session *session, struct lws *wsi)
{
    char host[256] = "", origin[256] = "", token[80] = "";
    struct client *client = free_seat(live);
    session->client = client;
    if (!client) return -1;
    lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST);
    if (lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) < 0) strcpy(origin, "?"); /* too long to be ours */
    const char *arg = lws_get_urlarg_by_name(wsi, "token=", token, sizeof token);
    client->wsi = wsi;
    client->visit = ++live->visits;
    client->may_write = origin_is_ours(live, origin, host) && arg && token_is_ours(live, arg);
    struct seat *seat = &live->seats[client->seat];
    atomic_store(&seat->sent, 0);
    atomic_store(&seat->dropped, 0);
    atomic_store(&seat->passed, 0);
    atomic_fetch_add(&live->n_clients, 1);
    words_greet(live, client);
    return 0;
}

/* Collects the pieces of a message; -1: it is longer than any that we take. */
static int collect(struct client *client, const void *piece, size_t size, size_t most)
{
    if (size > most - client->n_in) return -1;
    if (client->n_in + size > client->in_room) {
        size_t room = client->in_room ? client->in_room : 4096;
        while (room < client->n_in + size) room *= 2;
        char *grown = realloc(client->in, room);
        if (!grown) return -1;
        client->in = grown;
        client->in_room = room;
    }
    memcpy(client->in + client->n_in, piece, size);
    client->n_in += size;
    return 0;
}

static int receive(struct nm_live *live, struct client *client, const void *piece, size_t size)
{
    if (lws_is_first_fragment(client->wsi)) {
        client->n_in = 0;
        client->in_binary = lws_frame_is_binary(client->wsi);
    }
    if (size && collect(client, piece, size, client->in_binary ? NM_FOX_FRAME : NM_FOX_TEXT)) {
        lws_close_reason(client->wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
        return -1;
    }
    if (!lws_is_final_fragment(client->wsi) || lws_remaining_packet_payload(client->wsi)) return 0;
    size_t n = client->n_in;
    client->n_in = 0;
    if (client->leaving) return 0;
    if (client->in_binary)
        request_frame(live, client, client->in, n);
    else
        request_text(live, client, client->in ? client->in : "", n);
    return 0;
}

static int client_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
    struct nm_live *live = lws_context_user(lws_get_context(wsi));
    struct session *session = user;
    struct client *client = session ? session->client : NULL;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return page_host(live, wsi) && free_seat(live) ? 0 : -1;
    case LWS_CALLBACK_ESTABLISHED: return welcome(live, session, wsi);
    case LWS_CALLBACK_RECEIVE: return client ? receive(live, client, in, size) : -1;
    case LWS_CALLBACK_SERVER_WRITEABLE: return client ? client_write(live, client) : -1;
    case LWS_CALLBACK_CLOSED:
        if (client) client_close(live, client);
        session->client = NULL;
        return 0;
    default: return lws_callback_http_dummy(wsi, reason, user, in, size);
    }
}

/* Tries the address before the library does, which would not say why it cannot be had. */
static int try_address(const struct nm_live *live, struct nm_err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)live->options.port)};
    const int on = 1;
    if (inet_pton(AF_INET, live->host, &address.sin_addr) != 1)
        return nm_fail(err, "the live server's address is written as 127.0.0.1, not '%s'", live->host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int bad = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
              bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1);
    int why = errno;
    if (fd >= 0) close(fd);
    if (!bad) return 0;
    return nm_fail(err, "the live server cannot listen on %s, port %d: %s%s", live->host, live->options.port,
                   strerror(why), why == EADDRINUSE ? "; choose another with --live PORT" : "");
}

int sockets_open(struct nm_live *live, struct nm_err *err)
{
    if (try_address(live, err)) return -1;
    /* a client that is silent is asked after 20 s, and dropped after a minute */
    static const lws_retry_bo_t silence = {.secs_since_valid_ping = 20, .secs_since_valid_hangup = 60};
    const struct lws_protocols protocols[] = {
        {"http", page_callback, 0, 0, 0, NULL, 0},
        {NM_FOX_PROTOCOL, client_callback, sizeof(struct session), 4096, 0, NULL, 0},
        {NM_FOX_PROTOCOL_SDK, client_callback, sizeof(struct session), 4096, 0, NULL, 0},
        {NULL, NULL, 0, 0, 0, NULL, 0},
    };
    memcpy(live->protocols, protocols, sizeof protocols);
    bool everywhere = !strcmp(live->host, "0.0.0.0");
    struct lws_context_creation_info info = {
        .port = live->options.port,
        .iface = everywhere ? NULL : live->host,
        .protocols = live->protocols,
        .user = live,
        .gid = -1,
        .uid = -1,
        .max_http_header_pool = 32,
        .fd_limit_per_thread = 96,
        .retry_and_idle_policy = &silence,
        .options = LWS_SERVER_OPTION_HTTP_HEADERS_SECURITY_BEST_PRACTICES_ENFORCE | LWS_SERVER_OPTION_VALIDATE_UTF8 |
                   LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   LWS_SERVER_OPTION_DISABLE_IPV6, /* else the library ignores the address and listens everywhere */
    };
    lws_set_log_level(0, NULL);
    live->context = lws_create_context(&info);
    struct lws_vhost *vhost = live->context ? lws_get_vhost_by_name(live->context, "default") : NULL;
    live->port = vhost ? lws_get_vhost_listen_port(vhost) : 0;
    if (live->port > 0) return 0;
    return nm_fail(err, "the live server cannot listen on %s, port %d", live->host, live->options.port);
}

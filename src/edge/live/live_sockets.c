/* The connections of the live server. One thread and one poll() listen, read, write, and close the connections that do
 * nothing.
 *
 * A newcomer is accepted as soon as it has sent something (TCP_DEFER_ACCEPT), so that silent connections cannot block
 * the door. A connection is first a guest: its HTTP request must arrive within a few seconds, and it gets one answer,
 * which is a file of the page's folder or a refusal. A guest that asks for a WebSocket becomes a viewer if it gets a
 * seat (live_access.c). When all places for guests are taken, the address with the most guests loses its oldest one, so
 * a flood mostly pushes out itself. While too many answers wait for a viewer, nothing more is read from it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "edge/live/live_inside.h"

enum {
    READ = 64 << 10,        /* bytes read from one connection in one turn       */
    ANSWERS_WAIT = 64,      /* control frames; while more wait, nothing is read */
    ANSWER_BYTES = 1 << 20, /* and their bytes                                  */
    ACCEPTS = 16,           /* newcomers in one turn                            */
    PLAIN = -1,             /* in place of an opcode: bytes without a frame     */
    FILE_TURN = 256 << 10,  /* bytes of a file, before others have their turn   */
};
static const int64_t second = 1000000000;
static const int64_t head_within = 5 * second;  /* for a guest to send its request                    */
static const int64_t guest_idle = 10 * second;  /* a guest that reads nothing of its answer is closed */
static const int64_t linger = 2 * second;       /* for the other side to read the last bytes          */
static const int64_t ask_after = 20 * second;   /* a viewer that is silent is sent a ping             */
static const int64_t viewer_idle = 60 * second; /* a viewer that sends or reads nothing is closed     */

/* ---- one connection ---- */

static void out_done(struct connection *c)
{
    for (uint32_t i = c->out.first; i < c->out.n; i++) payload_release(c->out.frames[i].payload);
    if (c->out.file >= 0) close(c->out.file);
    c->out.n = c->out.first = 0;
    c->out.bytes = c->out.done = c->out.file_left = 0;
    c->out.file = -1;
}

static void connection_close(struct nm_live *live, struct connection *c)
{
    if (c->client) client_close(live, c->client);
    out_done(c);
    if (c->fd >= 0) close(c->fd);
    free(c->in);
    *c = (struct connection){.fd = -1, .out.file = -1};
}

bool connection_busy(const struct connection *c) { return c->out.n || c->out.file >= 0; }
bool connection_has_room(const struct connection *c) { return c->out.n < SEND_FRAMES && c->out.bytes < SEND_BYTES; }

/* The next bytes that are not sent yet, as many as one system call takes. Frames that are sent are released. */
static size_t pieces_of(struct sending *out, struct iovec to[2 * SEND_FRAMES])
{
    size_t n = 0, skip = out->done, left = CALL_BYTES;
    for (uint32_t i = out->first; i < out->n && left; i++) {
        struct payload *payload = out->frames[i].payload;
        struct iovec parts[] = {{out->frames[i].head, out->frames[i].n_head},
                                {payload ? payload->bytes : NULL, payload ? payload->n : 0}};
        size_t length = parts[0].iov_len + parts[1].iov_len;
        if (skip >= length) {
            skip -= length;
            out->done -= length;
            out->bytes -= length;
            payload_release(payload);
            out->first = i + 1;
            continue;
        }
        for (int k = 0; k < 2 && left; k++) {
            size_t over = skip < parts[k].iov_len ? skip : parts[k].iov_len, rest = parts[k].iov_len - over;
            skip -= over;
            if (rest > left) rest = left;
            if (rest) to[n++] = (struct iovec){(uint8_t *)parts[k].iov_base + over, rest};
            left -= rest;
        }
    }
    return n;
}

/* Sends what is left; of a file, as much as its turn allows. -1: the connection is broken. */
static int out_flush(struct connection *c)
{
    size_t sent = 0; /* of a file */
    while (connection_busy(c)) {
        struct iovec pieces[2 * SEND_FRAMES];
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = pieces_of(&c->out, pieces)};
        ssize_t n;
        if (message.msg_iovlen) {
            n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) c->out.done += (size_t)n;
        } else if (c->out.file >= 0 && c->out.file_left) {
            n = sendfile(c->fd, c->out.file, NULL, c->out.file_left < READ ? c->out.file_left : READ);
            if (n == 0) return -1; /* the file is shorter than the announced length */
            if (n > 0) c->out.file_left -= (size_t)n;
            if (n > 0) sent += (size_t)n;
        } else {
            out_done(c);
            return 0;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
        c->took = nm_clock();
        if (sent >= FILE_TURN && c->out.file_left) return 0;
    }
    return 0;
}

void connection_send(struct connection *c, int opcode, const void *head, size_t n_head, struct payload *payload)
{
    size_t n = payload ? payload->n : 0, k = c->out.n++;
    c->out.frames[k].n_head = opcode == PLAIN ? 0 : nm_ws_head(c->out.frames[k].head, opcode, n_head + n);
    if (n_head) memcpy(c->out.frames[k].head + c->out.frames[k].n_head, head, n_head);
    c->out.frames[k].n_head += n_head;
    c->out.frames[k].payload = payload;
    c->out.bytes += c->out.frames[k].n_head + n;
}

/* Ends a guest's visit with an answer and, if there is one, a file behind it. */
static void connection_answer(struct connection *c, struct payload *text, int file, size_t size)
{
    out_done(c);
    connection_send(c, PLAIN, NULL, 0, text);
    c->out.file = file;
    c->out.file_left = size;
    c->state = ANSWERED;
    c->took = nm_clock();
}

/* Sends a close frame with the reason, and leaves the other side a moment to read it. */
static void say_goodbye(struct nm_live *live, struct connection *c, int code, const char *why)
{
    uint8_t frame[NM_WS_HEAD + NM_WS_CONTROL];
    size_t n = why ? strlen(why) : 0;
    bool whole = !connection_busy(c); /* between two frames */
    if (c->client) client_close(live, c->client);
    c->client = NULL;
    out_done(c);
    size_t head = nm_ws_head(frame, NM_WS_CLOSE, code ? n + 2 : 0);
    if (code) {
        frame[head] = (uint8_t)(code >> 8);
        frame[head + 1] = (uint8_t)code;
    }
    if (n) memcpy(frame + head + 2, why, n);
    if (whole) (void)!send(c->fd, frame, head + (code ? n + 2 : 0), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(c->fd, SHUT_WR);
    c->state = LEAVING;
    c->since = nm_clock();
}

/* ---- a guest: one request, one answer ---- */

/* A guest becomes a viewer; NULL: there is no seat. */
static struct client *connection_seat(struct nm_live *live, struct connection *c, bool token, bool may_write)
{
    int rank = rank_of(&c->peer, token);
    struct client *client = seat_for(live, &c->peer, rank, nm_clock());
    if (!client) return NULL;
    if (client->connection) say_goodbye(live, client->connection, NM_WS_CLOSE_LATER, "another viewer takes this seat");
    client->connection = c;
    client->visit = ++live->visits;
    client->rank = rank;
    client->may_write = may_write;
    c->client = client;
    c->state = SEATED;
    c->heard = c->took = c->asked = nm_clock();
    struct seat *seat = &live->seats[client->seat];
    atomic_store(&seat->sent, 0);
    atomic_store(&seat->dropped, 0);
    atomic_store(&seat->passed, 0);
    atomic_fetch_add(&live->n_clients, 1);
    return client;
}

/* ---- HTTP: what a guest asks for ---- */

static const struct {
    const char *suffix, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript"},
    {".mjs", "text/javascript"},
    {".css", "text/css"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".txt", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *file)
{
    size_t n = strlen(file);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t k = strlen(types[i].suffix);
        if (n > k && !strcmp(file + n - k, types[i].suffix)) return types[i].type;
    }
    return "application/octet-stream";
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {416, "Range Not Satisfiable"},
                   {426, "Upgrade Required"},
                   {431, "Request Header Fields Too Large"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status) return reasons[i].reason;
    return "Error";
}

/* The head of an answer, followed by its body. A body that is not plain text is compressed. The headers keep our pages
 * from loading anything from other sites, and other sites from framing or reading our pages. */
static struct payload *answer_of(int status, const char *type, size_t size, const void *body)
{
    char head[1024];
    bool plain = !strncmp(type, "text/plain", 10);
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                     "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                     "Cross-Origin-Resource-Policy: same-origin\r\n"
                     "Content-Security-Policy: default-src 'none'; img-src 'self' data: blob:; script-src 'self'; "
                     "font-src 'self'; style-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'; "
                     "base-uri 'none'; form-action 'self'\r\n%s%s%s\r\n",
                     status, reason_of(status), type, size, status == 405 ? "Allow: GET\r\n" : "",
                     status == 426 ? "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n" : "",
                     plain ? "" : "Content-Encoding: gzip\r\n");
    struct payload *payload = payload_new((size_t)n + size);
    memcpy(payload->bytes, head, (size_t)n);
    memcpy(payload->bytes + n, body, size);
    return payload;
}

static void say(struct connection *c, int status, const char *text)
{
    connection_answer(c, answer_of(status, "text/plain; charset=utf-8", strlen(text), text), -1, 0);
}

/* A file of the page. Every browser reads gzip. */
static void page(struct connection *c, const char *path)
{
    struct page_file file;
    static const char *const pages[] = {"/", "/score", "/label", "/calibrate"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (!strcmp(path, pages[i])) path = "/index.html";
    if (!page_find(path + 1, &file)) return say(c, 404, "there is no such page\n");
    connection_answer(c, answer_of(200, type_of(file.name), file.n, file.bytes), -1, 0);
}

/* The list of logs, or a log or a part of it. They are older than this run and may hold pictures of people, so only who
 * has the token reads them. */
static void logs(struct nm_live *live, struct connection *c, const struct nm_http_request *r, bool token)
{
    static const char below[] = "/logs/";
    const char *range = r->field[NM_HTTP_RANGE];
    char head[512], part[96] = "";
    size_t size = 0, first = 0, n;
    struct nm_json json = {0};
    bool list = !strcmp(r->path, "/logs");
    if (!token) return say(c, 403, "logs need ?token=… (the server prints the token when it starts)\n");
    int fd = list ? -1 : log_open(live, r->path + sizeof below - 1, &size);
    if (!list && fd < 0) return say(c, 404, "there is no such log\n");
    if (list) {
        nm_json_begin(&json, JSON_MOST);
        logs_list(live, &json);
        range = NULL;
        size = json.n;
    }
    n = size;
    if (range && (!nm_http_range(range, size, &first, &n) || lseek(fd, (off_t)first, SEEK_SET) < 0)) {
        close(fd);
        return say(c, 416, "this range of bytes is not there\n");
    }
    if (range) snprintf(part, sizeof part, "Content-Range: bytes %zu-%zu/%zu\r\n", first, first + n - 1, size);
    int used = snprintf(head, sizeof head,
                        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sAccept-Ranges: bytes\r\n"
                        "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                        "Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
                        range ? "206 Partial Content" : "200 OK",
                        list ? "application/json" : "application/octet-stream", n, part);
    struct payload *answer = payload_new((size_t)used + json.n);
    memcpy(answer->bytes, head, (size_t)used);
    if (json.n) memcpy(answer->bytes + used, json.text, json.n);
    if (list) nm_json_end(&json);
    connection_answer(c, answer, fd, list ? 0 : n);
}

/* The first protocol of the client's list that this server supports; NULL: none. */
static const char *protocol_of(const char *list)
{
    static const char *const spoken[] = {NM_FOX_PROTOCOL, NM_FOX_PROTOCOL_SDK};
    for (size_t i = 0; i < sizeof spoken / sizeof *spoken; i++)
        if (nm_http_lists(list, spoken[i])) return spoken[i];
    return NULL;
}

static void upgrade(struct nm_live *live, struct connection *c, const struct nm_http_request *r, bool ours, bool token)
{
    char accept[NM_WS_ACCEPT], head[256];
    const char *protocol = protocol_of(r->field[NM_HTTP_WS_PROTOCOL]), *version = r->field[NM_HTTP_WS_VERSION];
    if (!nm_http_lists(r->field[NM_HTTP_CONNECTION], "upgrade")) return say(c, 400, "Connection: Upgrade is missing\n");
    if (!version || strcmp(version, "13")) return say(c, 426, "this server supports version 13 of WebSocket only\n");
    if (!r->field[NM_HTTP_WS_KEY] || !nm_ws_accept(r->field[NM_HTTP_WS_KEY], accept))
        return say(c, 400, "Sec-WebSocket-Key is missing or wrong\n");
    if (!protocol)
        return say(c, 400, "this server supports the protocols foxglove.websocket.v1 and foxglove.sdk.v1 only\n");
    struct client *client = connection_seat(live, c, token, ours && token);
    if (!client) return say(c, 503, "all seats are taken\n");
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
                     accept, protocol);
    connection_send(c, PLAIN, NULL, 0, payload_of(head, (size_t)n));
    topics_greet(live, client);
}

/* Answers the request of a guest: with a WebSocket, a file of the page, or a refusal. NULL is a request that was not
 * understood; `status` says why. */
static void page_answer(struct nm_live *live, struct connection *c, const struct nm_http_request *r, int status)
{
    char token[80];
    if (!r) return say(c, status, "this request is not valid HTTP/1.1\n");
    const char *host = r->field[NM_HTTP_HOST], *origin = r->field[NM_HTTP_ORIGIN];
    if (!host || !host_is_ours(live, host))
        return say(c, 403, "the Host of this request is not a name of this server\n");
    if (strcmp(r->method, "GET")) return say(c, 405, "only GET is supported\n");
    if (r->field[NM_HTTP_LENGTH] && strcmp(r->field[NM_HTTP_LENGTH], "0"))
        return say(c, 400, "a request must not have a body\n");
    if (r->field[NM_HTTP_ENCODING]) return say(c, 400, "a request must not have a body\n");
    bool ours = origin_is_ours(live, origin ? origin : "", host);
    bool known = nm_http_query(r->query, "token", token, sizeof token) && token_is_ours(live, token);
    if (!ours && !known)
        return say(c, 403, "a page of another site needs the token, or --live-origin must name its site\n");
    if (nm_http_lists(r->field[NM_HTTP_UPGRADE], "websocket"))
        upgrade(live, c, r, ours, known);
    else if (!strcmp(r->path, "/logs") || !strncmp(r->path, "/logs/", 6))
        logs(live, c, r, known);
    else
        page(c, r->path);
}

static int viewer_bytes(struct nm_live *live, struct connection *c, uint8_t *bytes, size_t n);

static int guest_read(struct nm_live *live, struct connection *c)
{
    if (!c->in && !(c->in = malloc(NM_HTTP_HEAD))) return -1;
    ssize_t n = recv(c->fd, c->in + c->n_in, NM_HTTP_HEAD - c->n_in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) return -1;
    c->n_in += (size_t)n;
    struct nm_http_request request;
    int64_t used = nm_http_read(c->in, c->n_in, &request);
    if (!used) return 0;
    page_answer(live, c, used < 0 ? NULL : &request, (int)(used < 0 ? -used : 200));
    int bad = 0;
    if (c->state == SEATED) /* frames may follow the request at once */
        bad = viewer_bytes(live, c, (uint8_t *)c->in + used, c->n_in - (size_t)used);
    free(c->in);
    c->in = NULL;
    c->n_in = 0;
    return bad;
}

/* ---- a viewer ---- */

/* Collects the pieces of a message; -1: the message is too long. */
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

/* Returns the code to close the connection with; 0: keep it. */
static int receive(struct nm_live *live, struct client *client, const struct nm_ws_event *piece)
{
    bool binary = piece->opcode == NM_WS_BINARY;
    if (piece->first) client->n_in = 0;
    if (piece->n && collect(client, piece->bytes, piece->n, binary ? NM_FOX_FRAME : NM_FOX_TEXT))
        return NM_WS_CLOSE_SIZE;
    if (!piece->last) return 0;
    const char *message = client->in ? client->in : "";
    size_t n = client->n_in;
    if (binary)
        request_frame(live, client, message, n);
    else if (nm_ws_is_utf8(message, n))
        request_text(live, client, message, n);
    else
        return NM_WS_CLOSE_TEXT;
    client->n_in = 0;
    return 0;
}

/* -1: close the connection at once. */
static int viewer_bytes(struct nm_live *live, struct connection *c, uint8_t *bytes, size_t n)
{
    size_t at = 0;
    do {
        struct nm_ws_event event;
        at += nm_ws_read(&c->ws, bytes + at, n - at, &event);
        int code = 0;
        const char *why = NULL;
        if (event.kind == NM_WS_BROKEN) {
            code = event.code;
            why = event.why;
        } else if (event.kind == NM_WS_PIECE) {
            code = receive(live, c->client, &event);
        } else if (event.kind == NM_WS_WORD && event.opcode == NM_WS_PING) {
            client_pong(c->client, event.bytes, event.n);
        } else if (event.kind == NM_WS_WORD && event.opcode == NM_WS_CLOSE) {
            code = nm_ws_close_code(event.bytes, event.n);
        }
        if (c->client->leaving) return -1;
        if (code) {
            say_goodbye(live, c, code, why);
            return 0;
        }
    } while (at < n);
    return 0;
}

static int viewer_read(struct nm_live *live, struct connection *c)
{
    ssize_t n = recv(c->fd, live->scratch, READ, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) return -1;
    c->heard = nm_clock();
    return viewer_bytes(live, c, live->scratch, (size_t)n);
}

static int viewer_write(struct nm_live *live, struct connection *c)
{
    if (!connection_busy(c)) client_write(live, c->client);
    return out_flush(c);
}

/* ---- all of them ---- */

static struct connection *place_for_guest(struct nm_live *live, const struct in6_addr *peer)
{
    uint32_t guests = 0, most = 0;
    struct connection *empty = NULL, *oldest = NULL;
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &live->connections[i];
        guests += c->fd >= 0 && c->state != SEATED;
        if (c->fd < 0 && !empty) empty = c;
    }
    if (empty && guests < GUESTS) return empty;
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &live->connections[i];
        if (c->fd < 0 || c->state == SEATED) continue;
        uint32_t same = !memcmp(&c->peer, peer, sizeof *peer); /* the newcomer counts too */
        for (uint32_t k = 0; k < CONNECTIONS; k++) {
            const struct connection *other = &live->connections[k];
            same += other->fd >= 0 && other->state != SEATED && !memcmp(&c->peer, &other->peer, sizeof *peer);
        }
        if (oldest && (same < most || (same == most && c->since >= oldest->since))) continue;
        oldest = c;
        most = same;
    }
    connection_close(live, oldest);
    return oldest;
}

static void peer_of(const struct sockaddr_storage *from, struct in6_addr *to)
{
    *to = (struct in6_addr){0};
    if (from->ss_family == AF_INET6) {
        memcpy(to, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof *to);
    } else {
        to->s6_addr[10] = to->s6_addr[11] = 0xff; /* ::ffff:127.0.0.1 */
        memcpy(to->s6_addr + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
    }
}

static short events_of(const struct connection *c)
{
    const struct client *client = c->client;
    if (c->state == GUEST || c->state == LEAVING) return POLLIN;
    if (c->state == ANSWERED) return POLLOUT;
    bool full = client->n_control > ANSWERS_WAIT || client->control_bytes > ANSWER_BYTES;
    return (short)((full ? 0 : POLLIN) | (connection_busy(c) || client_waits(client) ? POLLOUT : 0));
}

static int leaving_read(struct nm_live *live, struct connection *c)
{
    ssize_t n = recv(c->fd, live->scratch, READ, MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -1;
}

static int answered_write(struct connection *c)
{
    if (out_flush(c)) return -1;
    if (connection_busy(c)) return 0;
    shutdown(c->fd, SHUT_WR);
    c->state = LEAVING;
    c->since = nm_clock();
    return 0;
}

static void serve_one(struct nm_live *live, struct connection *c, short ready)
{
    int bad = ready & POLLNVAL ? -1 : 0;
    if (!bad && ready & (POLLIN | POLLHUP | POLLERR)) {
        if (c->state == GUEST)
            bad = guest_read(live, c);
        else if (c->state == SEATED)
            bad = ready & POLLIN ? viewer_read(live, c) : -1;
        else if (c->state == LEAVING)
            bad = leaving_read(live, c);
        else if (ready & POLLERR)
            bad = -1;
    }
    if (!bad && ready & POLLOUT) {
        if (c->state == SEATED)
            bad = viewer_write(live, c);
        else if (c->state == ANSWERED)
            bad = answered_write(c);
    }
    if (bad || (c->client && c->client->leaving)) connection_close(live, c);
}

static void accept_all(struct nm_live *live)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from = {0};
        socklen_t length = sizeof from;
        struct in6_addr peer;
        int fd = accept4(live->listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        /* what a slow viewer cannot take waits here, where it is dropped when it is old, and not in the system */
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){SEND_BYTES}, sizeof(int));
        peer_of(&from, &peer);
        struct connection *c = place_for_guest(live, &peer);
        *c = (struct connection){.fd = fd, .state = GUEST, .peer = peer, .since = nm_clock(), .out.file = -1};
        serve_one(live, c, POLLIN); /* at once, so that later newcomers cannot push out a guest whose request is here */
    }
}

/* Closes the connections whose time is over. */
static void sweep(struct nm_live *live, int64_t now)
{
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &live->connections[i];
        if (c->fd < 0) continue;
        bool over = false;
        switch (c->state) {
        case GUEST: over = now - c->since > head_within; break;
        case ANSWERED: over = now - c->took > guest_idle; break;
        case LEAVING: over = now - c->since > linger; break;
        case SEATED:
            if (!connection_busy(c) && !client_waits(c->client)) c->took = now;
            over = now - c->took > viewer_idle || now - c->heard > viewer_idle || c->client->leaving;
            if (!over && now - c->heard > ask_after && now - c->asked > ask_after) {
                c->asked = now;
                client_ping(c->client);
            }
            break;
        }
        if (over) connection_close(live, c);
    }
}

void sockets_turn(struct nm_live *live, int timeout)
{
    struct pollfd fds[CONNECTIONS + 2];
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        const struct connection *c = &live->connections[i];
        fds[i] = (struct pollfd){.fd = c->fd, .events = c->fd >= 0 ? events_of(c) : 0};
    }
    fds[CONNECTIONS] = (struct pollfd){.fd = live->listener, .events = POLLIN};
    fds[CONNECTIONS + 1] = (struct pollfd){.fd = live->wake, .events = POLLIN};
    int ready = poll(fds, CONNECTIONS + 2, timeout);
    for (uint32_t i = 0; ready > 0 && i < CONNECTIONS; i++)
        if (fds[i].fd >= 0 && fds[i].revents && live->connections[i].fd == fds[i].fd)
            serve_one(live, &live->connections[i], fds[i].revents);
    if (ready > 0 && fds[CONNECTIONS].revents & POLLIN) accept_all(live);
    sweep(live, nm_clock());
}

/* ---- life ---- */

static int listen_at(struct nm_live *live, struct nm_err *err)
{
    char port[16];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST},
                    *at = NULL;
    const int on = 1;
    snprintf(port, sizeof port, "%d", live->options.port);
    if (getaddrinfo(live->host, port, &hints, &at))
        return nm_fail(err, "the live server's address must be a number such as 127.0.0.1 or ::1, not '%s'",
                       live->host);
    const int wait = 5; /* s; a newcomer that has sent nothing by then is accepted anyway */
    int fd = live->listener = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bad = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
               (at->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
               setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wait, sizeof wait) ||
               bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, SOMAXCONN);
    int why = errno;
    freeaddrinfo(at);
    if (!bad) return 0;
    return nm_fail(err, "the live server cannot listen on %s, port %d: %s%s", live->host, live->options.port,
                   strerror(why), why == EADDRINUSE ? "; choose another with --live PORT" : "");
}

int sockets_open(struct nm_live *live, struct nm_err *err)
{
    struct sockaddr_storage at = {0};
    live->listener = live->wake = -1;
    live->connections = nm_calloc(CONNECTIONS, sizeof *live->connections);
    live->scratch = nm_malloc(READ);
    for (uint32_t i = 0; i < CONNECTIONS; i++) live->connections[i] = (struct connection){.fd = -1, .out.file = -1};
    if (listen_at(live, err)) return -1;
    live->wake = eventfd(0, EFD_CLOEXEC);
    if (live->wake < 0 || getsockname(live->listener, (struct sockaddr *)&at, &(socklen_t){sizeof at}))
        return nm_fail(err, "the live server cannot open a socket: %s", strerror(errno));
    live->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                                : ((struct sockaddr_in *)&at)->sin_port);
    return 0;
}

void sockets_close(struct nm_live *live)
{
    if (!live->connections) return;
    for (uint32_t i = 0; i < CONNECTIONS; i++) connection_close(live, &live->connections[i]);
    if (live->listener >= 0) close(live->listener);
    if (live->wake >= 0) close(live->wake);
    free(live->connections);
    free(live->scratch);
}

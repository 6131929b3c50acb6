/* HTTP: what a guest asked for. A WebSocket, if it may look and there is a seat; a file of the page's folder; or, where
 * there is none, a small page that says what is here. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/live/inside.h"

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
                   {426, "Upgrade Required"},
                   {431, "Request Header Fields Too Large"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status) return reasons[i].reason;
    return "Error";
}

/* The head of an answer, with the text behind it. Our pages load nothing from elsewhere, nobody frames them, and no
 * page from elsewhere reads them. */
static struct payload *answer_of(int status, const char *type, size_t size, const char *text)
{
    char head[1024];
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                     "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                     "Cross-Origin-Resource-Policy: same-origin\r\n"
                     "Content-Security-Policy: default-src 'none'; img-src 'self' data:; script-src 'self'; "
                     "font-src 'self'; style-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'; "
                     "base-uri 'none'; form-action 'self'\r\n%s%s\r\n",
                     status, reason_of(status), type, size, status == 405 ? "Allow: GET\r\n" : "",
                     status == 426 ? "Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n" : "");
    size_t more = text ? strlen(text) : 0;
    struct payload *payload = payload_new((size_t)n + more);
    memcpy(payload->bytes, head, (size_t)n);
    if (more) memcpy(payload->bytes + n, text, more);
    return payload;
}

static void say(struct connection *c, int status, const char *text)
{
    connection_answer(c, answer_of(status, "text/plain; charset=utf-8", strlen(text), text), -1, 0);
}

static void index_page(const struct nm_live *live, struct connection *c)
{
    char text[1024];
    snprintf(text, sizeof text,
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Nutmeg</title></head>\n"
             "<body><h1>Nutmeg</h1>\n<p>This is the live server of a line-up. The debugger's page is not built "
             "(web/dist).</p>\n<p>Foxglove and Lichtblick connect to <code>ws://HOST:%d</code> to look on. With "
             "<code>?token=…</code> behind it, as the server printed it at its start, they may also write.</p>\n"
             "</body></html>\n",
             live->port);
    connection_answer(c, answer_of(200, "text/html; charset=utf-8", strlen(text), text), -1, 0);
}

static void page(struct nm_live *live, struct connection *c, const char *path)
{
    char file[PATH_MAX];
    struct stat about;
    const char *web = live->options.web;
    bool index = !strcmp(path, "/");
    int fd = -1;
    if (web && !asset_below(web, index ? "index.html" : path + 1, file, sizeof file, NULL))
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && !fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_size <= ASSET_MOST) {
        size_t size = (size_t)about.st_size;
        connection_answer(c, answer_of(200, type_of(file), size, NULL), fd, size);
        return;
    }
    if (fd >= 0) close(fd);
    if (index)
        index_page(live, c);
    else
        say(c, 404, "there is no such page\n");
}

/* The first protocol of the client's list that we speak; NULL: none. */
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
    if (!version || strcmp(version, "13")) return say(c, 426, "version 13 of WebSocket is spoken here\n");
    if (!r->field[NM_HTTP_WS_KEY] || !nm_ws_accept(r->field[NM_HTTP_WS_KEY], accept))
        return say(c, 400, "Sec-WebSocket-Key is missing or wrong\n");
    if (!protocol) return say(c, 400, "the protocol foxglove.websocket.v1 or foxglove.sdk.v1 is spoken here\n");
    struct client *client = connection_seat(live, c, token, ours && token);
    if (!client) return say(c, 503, "all seats are taken\n");
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
                     accept, protocol);
    c->out.payload = payload_of(head, (size_t)n);
    words_greet(live, client);
}

void page_answer(struct nm_live *live, struct connection *c, const struct nm_http_request *r, int status)
{
    char token[80];
    if (!r) return say(c, status, "this is no request that is understood here\n");
    const char *host = r->field[NM_HTTP_HOST], *origin = r->field[NM_HTTP_ORIGIN];
    if (!host || !host_is_ours(live, host)) return say(c, 403, "this name is not ours\n");
    if (strcmp(r->method, "GET")) return say(c, 405, "GET only\n");
    if (r->field[NM_HTTP_LENGTH] && strcmp(r->field[NM_HTTP_LENGTH], "0")) return say(c, 400, "no bodies\n");
    if (r->field[NM_HTTP_ENCODING]) return say(c, 400, "no bodies\n");
    bool ours = origin_is_ours(live, origin ? origin : "", host);
    bool known = nm_http_query(r->query, "token", token, sizeof token) && token_is_ours(live, token);
    if (!ours && !known) return say(c, 403, "pages from elsewhere need the token, or --live-origin\n");
    if (nm_http_lists(r->field[NM_HTTP_UPGRADE], "websocket"))
        upgrade(live, c, r, ours, known);
    else
        page(live, c, r->path);
}

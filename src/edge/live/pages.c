/* HTTP: the files of the page's folder, or, where there is none, a small page that says what is here. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

bool page_host(struct nm_live *live, struct lws *wsi)
{
    char host[256] = "";
    return lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && host_is_ours(live, host);
}

static int refuse(struct lws *wsi, unsigned code, const char *text)
{
    return lws_return_http_status(wsi, code, text) < 0 || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* The body goes out in the next callback, as the library wants it. */
static size_t index_text(const struct nm_live *live, char *to, size_t size)
{
    int n =
        snprintf(to, size,
                 "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Nutmeg</title></head>\n"
                 "<body><h1>Nutmeg</h1>\n<p>This is the live server of a line-up. The debugger's page is not built "
                 "(web/dist).</p>\n<p>Foxglove and Lichtblick connect to <code>ws://HOST:%d</code>, to look on; with "
                 "<code>?token=…</code> behind it, as the server told at its start, also to write.</p>\n"
                 "</body></html>\n",
                 live->port);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static int begin_index(struct nm_live *live, struct lws *wsi)
{
    uint8_t buffer[LWS_PRE + 2048], *start = buffer + LWS_PRE, *at = start, *end = buffer + sizeof buffer - 1;
    char text[2048];
    size_t n = index_text(live, text, sizeof text);
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, "text/html; charset=utf-8", n, &at, end) ||
        lws_finalize_write_http_header(wsi, start, &at, end))
        return 1;
    lws_callback_on_writable(wsi);
    return 0;
}

static int write_index(struct nm_live *live, struct lws *wsi)
{
    uint8_t buffer[LWS_PRE + 2048];
    size_t n = index_text(live, (char *)buffer + LWS_PRE, 2048);
    if (lws_write(wsi, buffer + LWS_PRE, n, LWS_WRITE_HTTP_FINAL) != (int)n) return 1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int serve(struct nm_live *live, struct lws *wsi, const char *path)
{
    char file[PATH_MAX];
    bool index = !strcmp(path, "/");
    if (!page_host(live, wsi)) return refuse(wsi, HTTP_STATUS_FORBIDDEN, "this name is not ours");
    if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI)) return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "GET only");
    const char *web = live->options.web;
    if (web && !asset_below(web, index ? "index.html" : path + 1, file, sizeof file, NULL)) {
        int n = lws_serve_http_file(wsi, file, type_of(file), NULL, 0);
        return n < 0 || (n > 0 && lws_http_transaction_completed(wsi)) ? -1 : 0;
    }
    return index ? begin_index(live, wsi) : refuse(wsi, HTTP_STATUS_NOT_FOUND, "there is no such page");
}

int page_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
    struct nm_live *live = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return -1; /* a WebSocket without one of our protocols */
    case LWS_CALLBACK_HTTP: return serve(live, wsi, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return write_index(live, wsi);
    case LWS_CALLBACK_HTTP_FILE_COMPLETION: return lws_http_transaction_completed(wsi) ? -1 : 0;
    default: return lws_callback_http_dummy(wsi, reason, user, in, size);
    }
}

/* The head of an HTTP/1.1 request (RFC 9112), read from untrusted bytes: the request line and the few header fields
 * that a small server looks at. Bodies are not supported; the caller refuses a request that announces one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NM_HTTP_HEAD = 8192 }; /* bytes; a longer head is refused */

enum nm_http_field {
    NM_HTTP_HOST,
    NM_HTTP_ORIGIN,
    NM_HTTP_CONNECTION,
    NM_HTTP_UPGRADE,
    NM_HTTP_WS_KEY,      /* Sec-WebSocket-Key      */
    NM_HTTP_WS_VERSION,  /* Sec-WebSocket-Version  */
    NM_HTTP_WS_PROTOCOL, /* Sec-WebSocket-Protocol */
    NM_HTTP_LENGTH,      /* Content-Length         */
    NM_HTTP_ENCODING,    /* Transfer-Encoding      */
    NM_HTTP_RANGE,
    NM_HTTP_FIELDS,
};

struct nm_http_request { /* texts in the caller's bytes, which are changed for it */
    const char *method;
    const char *path;                  /* begins with '/'; percent signs are resolved  */
    const char *query;                 /* as it came, behind the '?'; "" if none       */
    const char *field[NM_HTTP_FIELDS]; /* NULL: not there                              */
};

/* Reads a head from the start of `bytes`. Returns its length; 0 if it is not complete yet; or the negative status to
 * answer with: -400 malformed, -431 too long, -505 another version. A field of the list that comes twice is malformed.
 */
int64_t nm_http_read(char *bytes, size_t n, struct nm_http_request *to);

/* Whether a list with commas holds a word, in letters of either case. NULL is an empty list. */
bool nm_http_lists(const char *list, const char *word);

/* The bytes that a Range field such as "bytes=0-99", "bytes=100-" or "bytes=-5" asks for, of `size`: from `*first` on,
 * `*n` of them. False: it asks for something else, or for nothing that is there. */
bool nm_http_range(const char *range, size_t size, size_t *first, size_t *n);

/* Copies the value of `name` in a query such as "a=1&b=2". False: it is not there, or does not fit. */
bool nm_http_query(const char *query, const char *name, char *to, size_t size);

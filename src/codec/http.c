#include "codec/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[NM_HTTP_FIELDS] = {
    [NM_HTTP_HOST] = "host",
    [NM_HTTP_ORIGIN] = "origin",
    [NM_HTTP_CONNECTION] = "connection",
    [NM_HTTP_UPGRADE] = "upgrade",
    [NM_HTTP_WS_KEY] = "sec-websocket-key",
    [NM_HTTP_WS_VERSION] = "sec-websocket-version",
    [NM_HTTP_WS_PROTOCOL] = "sec-websocket-protocol",
    [NM_HTTP_LENGTH] = "content-length",
    [NM_HTTP_ENCODING] = "transfer-encoding",
    [NM_HTTP_RANGE] = "range",
};

/* RFC 9110, 5.6.2 */
static bool is_token(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    return *text && !text[strspn(text, letters)];
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 127) return false;
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Resolves %xx in place; false for a broken one, or one that hides a control character. */
static bool resolve(char *text)
{
    char *to = text;
    for (; *text; text++) {
        char c = *text;
        if (c == '%') {
            int high = digit_of(text[1]), low = high < 0 ? -1 : digit_of(text[2]);
            if (low < 0) return false;
            c = (char)(high * 16 + low);
            text += 2;
            if ((unsigned char)c < ' ' || c == 127) return false;
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

/* Cuts the text at a character and returns what is behind it; NULL: the character is not there. */
static char *cut(char *text, char at)
{
    char *found = strchr(text, at);
    if (found) *found++ = '\0';
    return found;
}

static int read_request_line(char *line, struct nm_http_request *to)
{
    char *target = cut(line, ' '), *version = target ? cut(target, ' ') : NULL;
    if (!version || !is_token(line)) return -400;
    if (strncmp(version, "HTTP/", 5)) return -400;
    if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0")) return -505;
    if (*target != '/' || strchr(target, '#')) return -400;
    char *query = cut(target, '?');
    if (!resolve(target)) return -400;
    to->method = line;
    to->path = target;
    to->query = query ? query : "";
    return 0;
}

static int read_field(char *line, struct nm_http_request *to)
{
    char *value = cut(line, ':');
    if (!value || !is_token(line)) return -400; /* also a line that begins with a space */
    value += strspn(value, " \t");
    size_t n = strlen(value);
    while (n && (value[n - 1] == ' ' || value[n - 1] == '\t')) value[--n] = '\0';
    for (int f = 0; f < NM_HTTP_FIELDS; f++) {
        if (strcasecmp(line, names[f])) continue;
        if (to->field[f]) return -400;
        to->field[f] = value;
    }
    return 0;
}

int64_t nm_http_read(char *bytes, size_t n, struct nm_http_request *to)
{
    size_t seen = n < NM_HTTP_HEAD ? n : NM_HTTP_HEAD;
    char *end = seen ? memmem(bytes, seen, "\r\n\r\n", 4) : NULL;
    *to = (struct nm_http_request){0};
    if (!end) return seen == NM_HTTP_HEAD ? -431 : 0;
    if (memchr(bytes, '\0', (size_t)(end - bytes))) return -400;
    end[2] = '\0';
    bool first = true;
    for (char *line = bytes, *next; *line; line = next, first = false) {
        char *stop = strstr(line, "\r\n"); /* there: the head ends with one */
        next = stop + 2;
        *stop = '\0';
        if (!is_printable(line)) return -400;
        int bad = first ? read_request_line(line, to) : read_field(line, to);
        if (bad) return bad;
    }
    return first ? -400 : end + 4 - bytes;
}

bool nm_http_lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t k = strcspn(list, ", \t");
        if (k == n && !strncasecmp(list, word, n)) return true;
        list += k;
    }
    return false;
}

bool nm_http_query(const char *query, const char *name, char *to, size_t size)
{
    size_t n = strlen(name);
    while (*query) {
        size_t k = strcspn(query, "&");
        if (k > n && !strncmp(query, name, n) && query[n] == '=') {
            if (k - n - 1 >= size) return false;
            memcpy(to, query + n + 1, k - n - 1);
            to[k - n - 1] = '\0';
            return true;
        }
        query += k;
        query += *query == '&';
    }
    return false;
}

/* -1: there are no digits; a number that does not fit is the largest that does. */
static int64_t read_whole(const char **at)
{
    size_t n = strspn(*at, "0123456789");
    int64_t value = n ? strtoll(*at, NULL, 10) : -1;
    *at += n;
    return value;
}

bool nm_http_range(const char *range, size_t size, size_t *first, size_t *n)
{
    static const char unit[] = "bytes=";
    if (strncasecmp(range, unit, sizeof unit - 1) || !size) return false;
    const char *at = range + sizeof unit - 1;
    int64_t from = read_whole(&at);
    if (*at++ != '-') return false;
    int64_t to = read_whole(&at), last = (int64_t)size - 1;
    if (*at || (from < 0 && to < 1)) return false;
    if (from < 0) { /* the last `to` of them */
        from = to > last ? 0 : last - to + 1;
        to = last;
    }
    if (to < 0 || to > last) to = last;
    if (from > to) return false;
    *first = (size_t)from;
    *n = (size_t)(to - from + 1);
    return true;
}

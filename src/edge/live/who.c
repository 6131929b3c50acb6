/* Who is let in, and who may write. WebSockets are outside the browsers' same-origin rule: any page that somebody opens
 * may connect to us. So the name by which we were called must be ours (a stranger's name that leads to our address is
 * how pages get around that), the page must come from us, and the token is told only to whoever started us. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "edge/live/inside.h"

/* "[::1]:8765" and "localhost:8765" without the port, and without the brackets */
static bool cut_port(const char *host, char *to, size_t size)
{
    size_t n = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
    const char *from = *host == '[' ? host + 1 : host;
    if (*host == '[' && (host[n] != ']' || n == 0)) return false;
    if (*host == '[') n--;
    if (!n || n >= size) return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

static bool is_number(const char *host)
{
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool is_loopback(const char *host)
{
    return !strcasecmp(host, "localhost") || !strcmp(host, "127.0.0.1") || !strcmp(host, "::1");
}

static bool is_this_machine(const char *host)
{
    char name[128] = "", local[160];
    if (gethostname(name, sizeof name - 1) || !*name) return false;
    snprintf(local, sizeof local, "%s.local", name);
    return !strcasecmp(host, name) || !strcasecmp(host, local);
}

bool host_is_ours(const struct nm_live *live, const char *host)
{
    char name[256];
    if (!cut_port(host, name, sizeof name)) return false;
    return is_loopback(name) || is_number(name) || is_this_machine(name) || !strcasecmp(name, live->host);
}

bool origin_is_ours(const struct nm_live *live, const char *origin, const char *host)
{
    char name[256];
    if (!*origin) return true; /* no browser */
    for (uint32_t i = 0; i < live->options.n_origins; i++)
        if (!strcasecmp(origin, live->options.origins[i])) return true;
    const char *at = strstr(origin, "://");
    if (!at) return false;
    at += 3;
    if (strcspn(at, "/") != strlen(at)) return false;
    return !strcasecmp(at, host) || (cut_port(at, name, sizeof name) && is_loopback(name));
}

/* In the same time wherever the first difference is. */
bool token_is_ours(const struct nm_live *live, const char *token)
{
    size_t n = strlen(live->token), given = strlen(token);
    unsigned differs = given != n;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned)(unsigned char)(i < given ? token[i] : 0) ^ (unsigned char)live->token[i];
    return !differs;
}

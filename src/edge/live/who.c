/* Who is let in, who may write, and who gets a seat. WebSockets are outside the browsers' same-origin rule: any page
 * that somebody opens may connect to us. So the name by which we were called must be ours (a stranger's name that leads
 * to our address is how pages get around that), the page must come from us or know the token, and the token is told
 * only to whoever started us. */
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

/* ---- seats ---- */

static bool is_local(const struct in6_addr *peer)
{
    return IN6_IS_ADDR_LOOPBACK(peer) || (IN6_IS_ADDR_V4MAPPED(peer) && peer->s6_addr[12] == 127);
}

int rank_of(const struct in6_addr *peer, bool token)
{
    return token ? RANK_TOKEN : is_local(peer) ? RANK_LOCAL : RANK_REMOTE;
}

/* Viewers without a token that come from an address. */
static uint32_t seats_of(const struct nm_live *live, const struct in6_addr *peer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) {
        const struct client *client = &live->clients[i];
        n += client->connection && client->rank < RANK_TOKEN && IN6_ARE_ADDR_EQUAL(&client->connection->peer, peer);
    }
    return n;
}

/* How willingly a viewer's seat is given to a newcomer; 0: not at all. Whoever takes nothing of what waits goes first,
 * then those of lower rank, then those whose address has more seats than the newcomer's. */
static uint32_t yields(const struct nm_live *live, const struct client *client, const struct in6_addr *peer, int rank,
                       int64_t now)
{
    static const int64_t stalls = 5LL * 1000000000; /* ns */
    if (client->rank > rank) return 0;
    bool stalled =
        now - client->connection->took > stalls && (connection_busy(client->connection) || client_waits(client));
    uint32_t lower = (uint32_t)(rank - client->rank), theirs = seats_of(live, &client->connection->peer);
    bool crowded = rank < RANK_TOKEN && theirs > seats_of(live, peer) + 1;
    return (stalled ? 1000 : 0) + (lower ? 100 * lower + theirs : 0) + (crowded ? theirs : 0);
}

struct client *seat_for(struct nm_live *live, const struct in6_addr *peer, int rank, int64_t now)
{
    struct client *best = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++)
        if (!live->clients[i].connection) return &live->clients[i];
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) {
        uint32_t how = yields(live, &live->clients[i], peer, rank, now);
        if (how <= most) continue;
        most = how;
        best = &live->clients[i];
    }
    return best;
}

/* What the live server allows: which names and pages are let in, who may write, who gets a seat, and which files are
 * served.
 *
 * WebSockets are not covered by the browsers' same-origin rule: any page that somebody opens may connect to this
 * server. So the Host of the request must be a name of this server (otherwise a page could reach us under a foreign
 * name that resolves to our address), and the page must come from this server or know the token. The token is only
 * printed where the server was started. */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge/live/live_inside.h"

/* "[::1]:8765" becomes "::1", "localhost:8765" becomes "localhost". */
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
    if (!*origin) return true; /* not a browser */
    for (uint32_t i = 0; i < live->options.n_origins; i++)
        if (!strcasecmp(origin, live->options.origins[i])) return true;
    const char *at = strstr(origin, "://");
    if (!at) return false;
    at += 3;
    if (strcspn(at, "/") != strlen(at)) return false;
    return !strcasecmp(at, host) || (cut_port(at, name, sizeof name) && is_loopback(name));
}

/* Takes the same time wherever the first difference is, so that the time gives no hint. */
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

/* The number of viewers without the token from an address. */
static uint32_t seats_of(const struct nm_live *live, const struct in6_addr *peer)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) {
        const struct client *client = &live->clients[i];
        n += client->connection && client->rank < RANK_TOKEN && IN6_ARE_ADDR_EQUAL(&client->connection->peer, peer);
    }
    return n;
}

/* How readily a viewer's seat is given to a newcomer; 0: not at all. First go viewers that do not read what waits for
 * them, then viewers of lower rank, then viewers whose address has more seats than the newcomer's. */
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

/* ---- files ---- */

static bool is_plain(const char *path)
{
    if (!*path || *path == '/' || *path == '.') return false;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == '\\') return false;
        if (*at == '/' && (at[1] == '.' || at[1] == '/')) return false;
    }
    return true;
}

/* The real path of a plain file inside a folder. Refuses "..", hidden files, and links that lead out of the folder. */
int file_below(const char *folder, const char *path, char *to, size_t size, struct nm_err *err)
{
    char root[PATH_MAX], joined[PATH_MAX], real[PATH_MAX];
    struct stat about;
    if (!is_plain(path)) return nm_fail(err, "'%.200s' is not a path inside the folder", path);
    if (!realpath(folder, root) || (size_t)snprintf(joined, sizeof joined, "%s/%s", root, path) >= sizeof joined ||
        !realpath(joined, real))
        return nm_fail(err, "'%.200s' does not exist", path);
    size_t n = strlen(root);
    if (strncmp(real, root, n) || real[n] != '/') return nm_fail(err, "'%.200s' leads out of the folder", path);
    if (stat(real, &about) || !S_ISREG(about.st_mode)) return nm_fail(err, "'%.200s' is not a plain file", path);
    if (strlen(real) >= size) return nm_fail(err, "'%.200s': the path is too long", path);
    strcpy(to, real);
    return 0;
}

/* package://kid70/meshes/foot.stl is the file meshes/foot.stl in the folder of the robot kid70. */
static int find_asset(const struct nm_live *live, const char *uri, char *to, size_t size, struct nm_err *err)
{
    static const char scheme[] = "package://";
    const char *folder = live->lineup->robot_folder;
    if (strncmp(uri, scheme, sizeof scheme - 1))
        return nm_fail(err, "'%.200s' does not have the form package://ROBOT/FILE", uri);
    if (!folder) return nm_fail(err, "the line-up %s has no robot", live->lineup->name);
    const char *name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
    const char *at = uri + sizeof scheme - 1;
    size_t n = strlen(name);
    if (strncmp(at, name, n) || at[n] != '/')
        return nm_fail(err, "'%.200s': only files of the robot %s are served", uri, name);
    return file_below(folder, at + n + 1, to, size, err);
}

static struct payload *read_whole(const char *file, uint32_t request, struct nm_err *err)
{
    FILE *in = fopen(file, "rb");
    struct stat about;
    if (!in || fstat(fileno(in), &about) || about.st_size < 0 || about.st_size > ASSET_MOST) {
        nm_fail(err, "the file cannot be read, or has more than %d bytes", ASSET_MOST);
        if (in) fclose(in);
        return NULL;
    }
    struct payload *payload = payload_new(16 + (size_t)about.st_size);
    size_t head = nm_fox_asset_head(payload->bytes, 16, request, NULL);
    payload->n = head + fread(payload->bytes + head, 1, (size_t)about.st_size, in);
    fclose(in);
    return payload;
}

struct payload *asset_frame(struct nm_live *live, uint32_t request, const char *uri)
{
    char file[PATH_MAX], text[512];
    struct nm_err err = {0};
    struct payload *payload = find_asset(live, uri, file, sizeof file, &err) ? NULL : read_whole(file, request, &err);
    if (payload) return payload;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    payload = payload_new(sizeof text + 16);
    payload->n = nm_fox_asset_head(payload->bytes, sizeof text + 16, request, text);
    return payload;
}

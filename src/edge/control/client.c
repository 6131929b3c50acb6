#include "edge/control/client.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/registry.h"
#include "edge/control/place.h"

enum { ANSWER_MOST = 4 << 20, ASK_TIMEOUT = 10000, NAMES = 64 };

struct nm_link {
    int fd;
    char *in;
    size_t n, room;
    char name[108];
    bool refused;
};

/* ---- who runs ---- */

uint32_t nm_link_names(const char *folder, struct nm_arena *arena, const char **names, uint32_t most)
{
    char usual[256];
    uint32_t n = 0;
    if (!folder && nm_control_folder(usual, sizeof usual, false, NULL)) return 0;
    const char *in = folder ? folder : usual;
    DIR *dir = opendir(in);
    if (!dir) return 0;
    for (struct dirent *e; n < most && (e = readdir(dir));) {
        struct sockaddr_un address;
        char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".sock")) continue;
        *dot = '\0';
        if (nm_control_address(in, e->d_name, &address, NULL)) continue;
        int fd = nm_control_dial(&address);
        if (fd < 0) continue;
        close(fd);
        names[n++] = nm_take_text(arena, e->d_name);
    }
    closedir(dir);
    return n;
}

/* The name of the player to connect to; NULL with a sentence. */
static const char *choose(const char *folder, struct nm_arena *arena, const char *wanted, struct nm_err *err)
{
    const char *names[NAMES];
    uint32_t n = nm_link_names(folder, arena, names, NAMES);
    char list[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < n && used < sizeof list; i++) {
        if (wanted && !strcmp(wanted, names[i])) return names[i];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (!n && wanted)
        nm_fail(err, "no player runs here, so there is none with the name %.64s; nutmeg run LINEUP starts one", wanted);
    else if (!n)
        nm_fail(err, "no player runs here; nutmeg run LINEUP starts one");
    else if (wanted)
        nm_fail(err, "no player with the name %.64s runs here%s", wanted, nm_hint(wanted, names, n).text);
    else if (n > 1)
        nm_fail(err, "several players run here; choose one (--to NAME, or nutmeg shell NAME): %s", list);
    return n == 1 && !wanted ? names[0] : NULL;
}

struct nm_link *nm_link_open(const char *folder, const char *name, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct sockaddr_un address;
    char usual[256] = "";
    struct nm_link *link = NULL;
    const char *chosen = choose(folder, &arena, name, err);
    if (!folder && chosen && nm_control_folder(usual, sizeof usual, false, err)) chosen = NULL;
    if (chosen && !nm_control_address(folder ? folder : usual, chosen, &address, err)) {
        int fd = nm_control_dial(&address);
        link = fd < 0 ? NULL : calloc(1, sizeof *link);
        if (link) {
            link->fd = fd;
            snprintf(link->name, sizeof link->name, "%s", chosen);
        } else {
            nm_fail(err, "%s: %s", address.sun_path, strerror(errno));
            if (fd >= 0) close(fd);
        }
    }
    nm_arena_free(&arena);
    return link;
}

void nm_link_close(struct nm_link *link)
{
    if (!link) return;
    close(link->fd);
    free(link->in);
    free(link);
}

/* ---- asking ---- */

static void write_request(struct nm_json *json, const struct nm_request *request)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"topic", request->topic},   {"instance", request->instance}, {"param", request->param},
                 {"plugin", request->plugin}, {"layer", request->layer},       {"message", request->message}};
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "op", nm_control_op_name(request->op));
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text) nm_json_text(json, texts[i].key, texts[i].text);
    if (request->op == NM_CONTROL_WATCH) nm_json_bool(json, "on", request->on);
    if (request->n_set) {
        nm_json_open(json, "set", '[');
        for (uint32_t i = 0; i < request->n_set; i++) nm_json_text(json, NULL, request->set[i]);
        nm_json_close(json, ']');
    }
    nm_json_close(json, '}');
}

static int send_all(struct nm_link *link, const char *text, size_t n, struct nm_err *err)
{
    while (n) {
        ssize_t sent = send(link->fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return nm_fail(err, "%s: the player is gone: %s", link->name, strerror(errno));
        text += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Reads more. 1: something arrived; 0: the time is over or a signal came; -1 with a sentence. */
static int fill(struct nm_link *link, int timeout, struct nm_err *err)
{
    struct pollfd fd = {.fd = link->fd, .events = POLLIN};
    if (poll(&fd, 1, timeout) <= 0) return 0;
    if (link->n == link->room) {
        size_t room = link->room ? 2 * link->room : 65536;
        char *in = link->room < ANSWER_MOST ? realloc(link->in, room) : NULL;
        if (!in) return nm_fail(err, "%s: the answer of the player is too long", link->name);
        link->in = in;
        link->room = room;
    }
    ssize_t n = recv(link->fd, link->in + link->n, link->room - link->n, 0);
    if (n < 0 && errno == EINTR) return 0;
    if (n <= 0) return nm_fail(err, "%s: the player is gone", link->name);
    link->n += (size_t)n;
    return 1;
}

const struct nm_yaml *nm_link_next(struct nm_link *link, struct nm_arena *arena, int timeout, struct nm_err *err)
{
    int64_t until = nm_clock() / 1000000 + timeout;
    for (;;) {
        char *end = link->n ? memmem(link->in, link->n, "\n\n", 2) : NULL;
        if (end) {
            size_t n = (size_t)(end - link->in);
            const struct nm_yaml *reply = nm_yaml_parse(arena, link->name, link->in, n, err);
            link->n -= n + 2;
            memmove(link->in, end + 2, link->n);
            return reply;
        }
        int64_t left = timeout < 0 ? -1 : until - nm_clock() / 1000000;
        if (timeout >= 0 && left < 0) return NULL;
        if (fill(link, (int)left, err) <= 0) return NULL;
    }
}

const struct nm_yaml *nm_link_ask(struct nm_link *link, struct nm_arena *arena, const struct nm_request *request,
                                  struct nm_err *err)
{
    struct nm_json json;
    link->refused = false;
    nm_json_begin(&json, NM_REQUEST_LINE - 1);
    write_request(&json, request);
    int bad = json.over ? nm_fail(err, "the request is longer than %d bytes", NM_REQUEST_LINE) : 0;
    if (!bad) bad = send_all(link, json.text, json.n, err) || send_all(link, "\n", 1, err);
    nm_json_end(&json);
    if (bad) return NULL;
    struct nm_err fault = {0};
    const struct nm_yaml *reply = nm_link_next(link, arena, ASK_TIMEOUT, &fault);
    if (!reply) {
        nm_fail(err, "%s", fault.n ? fault.text : "the player does not answer");
        return NULL;
    }
    const struct nm_yaml *refused = nm_yaml_get(reply, "error");
    if (!refused) return reply;
    link->refused = true;
    /* the sentence of the player already ends with a newline */
    nm_fail(err, "%.*s", (int)(strlen(refused->text) - (strlen(refused->text) > 0)), refused->text);
    return NULL;
}

bool nm_link_refused(const struct nm_link *link) { return link->refused; }

/* ---- members ---- */

int64_t nm_reply_whole(const struct nm_yaml *map, const char *key)
{
    int64_t value = 0;
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (node) nm_yaml_int(node, &value, NULL);
    return value;
}

double nm_reply_number(const struct nm_yaml *map, const char *key)
{
    double value = NAN;
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (node) nm_yaml_number(node, &value, NULL);
    return value;
}

bool nm_reply_bool(const struct nm_yaml *map, const char *key)
{
    bool value = false;
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (node) nm_yaml_bool(node, &value, NULL);
    return value;
}

const char *nm_reply_text(const struct nm_yaml *map, const char *key)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (!node || node->kind != NM_YAML_SCALAR || (!node->quoted && !strcmp(node->text, "null"))) return "";
    return node->text;
}

/* Starts, runs and ends the live server: its address and token, its thread, its clock. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/memory.h"
#include "edge/live/live_inside.h"

/* How often the server looks at new messages, and at parameters and old calls. */
static const int64_t look_every = 10000000;          /* ns, while there are clients      */
static const int64_t look_rarely = 20000000;         /* ns, while there are none         */
static const int64_t look_closely_every = 250000000; /* ns, for parameters and old calls */

static int make_token(struct nm_live *live, struct nm_err *err)
{
    unsigned char random[24];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return nm_fail(err, "the system gives no random numbers, so no token can be made");
    for (int i = 0; i < 16; i++) snprintf(live->token + 2 * i, 3, "%02x", random[i]);
    for (int i = 0; i < 8; i++) snprintf(live->session + 2 * i, 3, "%02x", random[16 + i]);
    const char *token = live->options.token;
    if (!token) return 0;
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)token[i]) && token[i] != '-' && token[i] != '_') n = 0;
    if (n < 8 || n > 64) return nm_fail(err, "a token must have 8 to 64 letters, digits, '-' and '_'");
    strcpy(live->token, token);
    return 0;
}

struct nm_live *nm_live_new(struct nm_player *player, const struct nm_live_options *options, struct nm_err *err)
{
    struct nm_live *live = nm_calloc(1, sizeof *live);
    live->player = player;
    live->lineup = nm_player_lineup(player);
    if (options) live->options = *options;
    snprintf(live->host, sizeof live->host, "%s", live->options.address ? live->options.address : "127.0.0.1");
    live->clients = nm_calloc(NM_LIVE_CLIENTS, sizeof *live->clients);
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) live->clients[i].seat = i;
    live->gate = nm_gate_of(player, err);
    if (!live->gate || make_token(live, err) || channels_new(live, err) || sockets_open(live, err)) {
        nm_live_free(live);
        return NULL;
    }
    if (live->options.desk) live->desk = *live->options.desk;
    views_serve(live);
    services_new(live);
    parameters_new(live);
    const char *form = strchr(live->host, ':') ? "http://[%s]:%d/?token=%s" : "http://%s:%d/?token=%s";
    snprintf(live->url, sizeof live->url, form, live->host, live->port, live->token);
    return live;
}

/* ---- the clock ---- */

static void tell_time(struct nm_live *live)
{
    int64_t now = nm_player_now(live->player);
    uint8_t frame[NM_FOX_TIME_FRAME];
    if (!live->options.virtual_time || now == live->told_time) return;
    live->told_time = now;
    size_t n = nm_fox_time_frame(frame, sizeof frame, (uint64_t)now);
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) {
        struct client *client = &live->clients[i];
        /* a client that is behind gets the time when it has caught up */
        if (client->connection && !client->n_control) client_bytes(client, payload_of(frame, n));
    }
}

/* Modules publish on `show` only while a client listens to that topic. */
static void watch_as_needed(struct nm_live *live)
{
    uint32_t listeners = 0;
    for (uint32_t i = 0; i < live->n_channels; i++)
        if (live->channels[i].port == live->show && live->show != NM_NONE) listeners = live->channels[i].listeners;
    if (listeners && !live->watching) nm_player_watch(live->player, true);
    if (!listeners && live->watching) nm_player_watch(live->player, false);
    live->watching = listeners;
}

static void look(struct nm_live *live)
{
    channels_pump(live);
    tell_time(live);
    int64_t now = nm_clock();
    if (now - live->looked < look_closely_every) return;
    live->looked = now;
    watch_as_needed(live);
    parameters_tell(live);
    services_expire(live);
    reports_tell(live);
}

static void *serve(void *user)
{
    struct nm_live *live = user;
    prctl(PR_SET_NAME, "nm-live");
    int64_t next = 0;
    while (!atomic_load(&live->ending)) {
        int64_t now = nm_clock();
        if (now >= next) {
            look(live);
            atomic_store_explicit(&live->cpu, nm_thread_time(), memory_order_relaxed);
            next = now + (atomic_load(&live->n_clients) ? look_every : look_rarely);
        }
        sockets_turn(live, (int)((next - now + 999999) / 1000000));
    }
    return NULL;
}

int nm_live_start(struct nm_live *live, struct nm_err *err)
{
    int r = pthread_create(&live->thread, NULL, serve, live);
    if (r) return nm_fail(err, "the live server cannot start its thread: %s", strerror(r));
    live->threaded = true;
    return 0;
}

void nm_live_poll(struct nm_live *live)
{
    enum { TURNS = 4 };
    look(live);
    for (int i = 0; i < (atomic_load(&live->n_clients) ? TURNS : 1); i++) sockets_turn(live, 0);
}

void nm_live_free(struct nm_live *live)
{
    if (!live) return;
    atomic_store(&live->ending, true);
    if (live->threaded) {
        eventfd_write(live->wake, 1);
        pthread_join(live->thread, NULL);
    }
    sockets_close(live);
    parameters_free(live);
    reports_free(live);
    channels_free(live);
    free(live->clients);
    nm_gate_free(live->gate);
    nm_arena_free(&live->arena);
    free(live);
}

/* ---- looking in ---- */

const char *nm_live_url(const struct nm_live *live) { return live->url; }
int nm_live_port(const struct nm_live *live) { return live->port; }
const char *nm_live_token(const struct nm_live *live) { return live->token; }
void nm_live_peers(struct nm_live *live, const char *peers) { live->peers = peers; }

void nm_live_stats(const struct nm_live *live, struct nm_live_stats *stats)
{
    *stats = (struct nm_live_stats){.clients = atomic_load(&live->n_clients),
                                    .cpu = atomic_load_explicit(&live->cpu, memory_order_relaxed)};
    for (uint32_t i = 0; i < NM_LIVE_CLIENTS; i++) {
        const struct seat *seat = &live->seats[i];
        stats->client[i].sent = atomic_load_explicit(&seat->sent, memory_order_relaxed);
        stats->client[i].dropped = atomic_load_explicit(&seat->dropped, memory_order_relaxed);
        stats->client[i].passed = atomic_load_explicit(&seat->passed, memory_order_relaxed);
    }
}

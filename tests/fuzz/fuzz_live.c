/* A stranger at the live server who says anything: whatever bytes come, HTTP or WebSocket, known token or not, the
 * server goes on, and nothing of that connection is left. */
#include <sys/socket.h>

#include "core/player.h"
#include "edge/live/live_inside.h"
#include "files.h"
#include "../core/team.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "cycles:\n  c: {period: 10 ms, modules: [ball_filter, striker, walk]}\nremote: [ball_seen]\n";

static struct nm_live *live;

static void begin(void)
{
    static struct nm_arena arena;
    static struct nm_registry registry;
    static char robot[] = "r";
    struct nm_lineup_options options = {.root = "/nonexistent"};
    fuzz_folder("web");
    fuzz_put("web/index.html", "hello", 5);
    if (symlink("/etc/passwd", fuzz_path("web/out"))) abort();
    nm_registry_init(&registry, &arena, team, team + TEAM);
    struct nm_lineup *lineup =
        nm_lineup_parse(text, sizeof text - 1, fuzz_path("fuzz.yaml"), &registry, &options, NULL);
    if (!lineup) abort();
    lineup->robot = robot;
    lineup->robot_folder = fuzz_path("web");
    struct nm_player *player = nm_player_new(lineup, &(struct nm_player_options){.seed = 1}, NULL);
    live = player ? nm_live_new(player, &(struct nm_live_options){.token = "fuzz-token"}, NULL) : NULL;
    if (!live || nm_players_run(&player, 1, 20000000, 1)) abort();
}

/* What the server says is read, so that it never waits for us. */
static void turn(int fd)
{
    char bytes[16384];
    nm_live_poll(live);
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) nm_live_poll(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (!live) begin();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) abort();
    struct connection *c = &live->connections[0];
    if (c->fd >= 0) abort();
    *c = (struct connection){.fd = pair[0], .state = GUEST, .since = INT64_MAX / 2, .out.file = -1};
    c->peer.s6_addr[15] = 1;
    /* in two pieces */
    size_t first = size ? data[0] % size : 0;
    (void)!send(pair[1], data, first, MSG_NOSIGNAL);
    turn(pair[1]);
    (void)!send(pair[1], data + first, size - first, MSG_NOSIGNAL);
    turn(pair[1]);
    close(pair[1]);
    for (int i = 0; i < 8 && c->fd >= 0; i++) nm_live_poll(live);
    if (c->fd >= 0) abort();
    struct nm_live_stats stats;
    nm_live_stats(live, &stats);
    if (stats.clients) abort();
    return 0;
}

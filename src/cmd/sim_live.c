/* Viewers of a simulation: one live server for each robot that somebody plays, one for the referee of a match, and one
 * for the world, which tells on truth/world where everything really is. All have the same token, and each names the
 * others, so that a page that is opened at one of them shows the whole match. Robots have no topic of the world. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/sim_play.h"
#include "codec/json.h"
#include "edge/live/live.h"
#include "nutmeg_msgs/WorldTruth.h"

static const int64_t EVERY = 8000000;        /* ns, real time, between two looks at the viewers */
static const int64_t TRUTH_EVERY = 20000000; /* ns, simulated, between two messages             */

/* The line-up of the world is one module that names its topics. Whoever steps the stage makes the messages. */
struct world {
    struct nm *nm;
    const WorldTruth *truth;
};
#define SELF struct world
static void do_nothing(struct world *self) { (void)self; }
static const struct nm_port world_ports[] = {NM_IN(truth, WorldTruth, "truth/world"), {0}};
static const struct nm_module world_module = {.abi = NM_ABI,
                                              .name = "world",
                                              .about = "the simulated world",
                                              .file = __FILE__,
                                              .size = sizeof(struct world),
                                              NM_PORTS(world_ports),
                                              .step = NM_CALL(do_nothing)};
enum { PORT_TRUTH, WORLD_PORTS };

struct sim_live {
    struct nm_arena arena;
    const char *logs;
    uint32_t n, opened; /* servers now; and in an earlier run, whose ports and token are taken again */
    struct nm_live *servers[NM_PLAYERS + 2];
    int ports[NM_PLAYERS + 2];
    uint32_t teams[NM_PLAYERS + 2];
    const char *names[NM_PLAYERS + 2];
    char token[65];
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *world;
    struct nm_edge *edge;
    struct nm_json peers;
    int64_t looked, told; /* ns, real and simulated */
};

struct sim_live *sim_live_new(const char *logs)
{
    struct sim_live *l = nm_calloc(1, sizeof *l);
    l->logs = logs;
    return l;
}

void sim_live_close(struct sim_live *l)
{
    if (!l) return;
    for (uint32_t i = 0; i < l->n; i++) nm_live_free(l->servers[i]);
    if (l->n) l->opened = l->n;
    l->n = 0;
    nm_player_free(l->world);
    nm_lineup_free(l->lineup);
    nm_json_end(&l->peers);
    l->world = NULL;
    l->lineup = NULL;
}

void sim_live_free(struct sim_live *l)
{
    if (!l) return;
    sim_live_close(l);
    nm_arena_free(&l->arena);
    free(l);
}

/* `port`: "": the usual one or, if that is taken, any. Only the first server's port is asked for. */
int sim_live_add(struct sim_live *l, struct nm_player *player, uint32_t team, const char *port,
                 const struct nm_desk *desk, struct nm_err *err)
{
    int number = *port ? atoi(port) : NM_LIVE_PORT;
    bool again = l->n < l->opened;
    struct nm_live_options options = {.port = again  ? l->ports[l->n]
                                              : l->n ? 0
                                                     : number,
                                      .token = *l->token ? l->token : NULL,
                                      .virtual_time = true,
                                      .desk = desk,
                                      .logs = l->logs};
    struct nm_err busy = {0};
    struct nm_live *live = nm_live_new(player, &options, *port && !again ? err : &busy);
    options.port = 0;
    if (!live && (again || !*port)) live = nm_live_new(player, &options, err);
    if (!live) return -1;
    snprintf(l->token, sizeof l->token, "%s", nm_live_token(live));
    l->ports[l->n] = nm_live_port(live);
    l->names[l->n] = nm_player_name(player);
    l->teams[l->n] = team;
    l->servers[l->n++] = live;
    return 0;
}

static int open_world(struct sim_live *l, struct setup *setup, struct nm_err *err)
{
    static const char text[] = "cycles: {world: {period: 100 ms, modules: [world]}}\nremote: [truth/world]\n";
    static const struct nm_module *const modules[] = {&world_module};
    static const struct nm_edge_port ports[WORLD_PORTS] = {
        [PORT_TRUTH] = {"truth/world", NM_PORT_OUT, &WorldTruth_type, 0, 0}};
    struct nm_lineup_options options = {.root = setup->root};
    nm_registry_init(&l->registry, &l->arena, modules, modules + 1);
    l->lineup = nm_lineup_parse(text, strlen(text), "world", &l->registry, &options, err);
    if (!l->lineup) return -1;
    l->world = nm_player_new(l->lineup, &(struct nm_player_options){.name = "world"}, err);
    if (!l->world || !(l->edge = nm_edge_new(l->world, "simulator", ports, WORLD_PORTS, err))) return -1;
    return 0;
}

int sim_live_open(struct sim_live *l, struct setup *setup, const struct nm_desk *desk, struct nm_err *err)
{
    if (!l->n) return 0;
    if (open_world(l, setup, err) || sim_live_add(l, l->world, NM_NONE, "0", desk, err)) return -1;
    nm_json_begin(&l->peers, 1 << 16);
    nm_json_open(&l->peers, NULL, '[');
    for (uint32_t i = 0; i < l->n; i++) {
        nm_json_open(&l->peers, NULL, '{');
        nm_json_text(&l->peers, "name", l->names[i]);
        nm_json_whole(&l->peers, "port", l->ports[i]);
        if (l->teams[i] != NM_NONE) nm_json_whole(&l->peers, "team", l->teams[i]);
        nm_json_close(&l->peers, '}');
    }
    nm_json_close(&l->peers, ']');
    for (uint32_t i = 0; i < l->n; i++) nm_live_peers(l->servers[i], l->peers.text);
    l->told = -TRUTH_EVERY;
    return 0;
}

const char *sim_live_url(const struct sim_live *l) { return l->n ? nm_live_url(l->servers[0]) : NULL; }

void sim_live_poll(struct sim_live *l, struct nm_stage *stage, float speed)
{
    int64_t now = nm_stage_now(stage), clock = nm_clock();
    if (!l->n) return;
    if (now - l->told >= TRUTH_EVERY) {
        l->told = now;
        nm_players_run(&l->world, 1, now, 1);
        nm_edge_begin(l->edge, now);
        WorldTruth *truth = nm_edge_out(l->edge, PORT_TRUTH);
        nm_stage_truth(stage, truth);
        truth->speed = speed;
        nm_edge_put(l->edge, PORT_TRUTH);
        nm_edge_end(l->edge);
    }
    if (clock - l->looked < EVERY) return;
    l->looked = clock;
    for (uint32_t i = 0; i < l->n; i++) nm_live_poll(l->servers[i]);
}

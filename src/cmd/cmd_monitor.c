/* nutmeg monitor: what a team may see of its robots during a game. It listens to the game controller, to the messages
 * of the team and to the robots' status packets, and sends nothing. */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/playing.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamMonitor.h"
#include "nutmeg_msgs/TeamState.h"

enum { PORT_MATCH, PORT_TEAM, PORT_STATUS, PORTS };
static const int64_t every = 1000000000; /* ns between two tables */

struct monitor {
    struct nm_edge *edge;
    int64_t told; /* ns */
};

/* The name of a constant of HcmState, as the message's definition lists them. */
static const char *const states[] = {"controlable", "falling",  "fallen",  "getting up", "animation",
                                     "startup",     "shutdown", "penalty", "penalty",    "record",
                                     "walking",     "off",      "off",     "stopped",    "carried"};
static const char *const roles[] = {"idle", "other", "striker", "supporter", "defender", "keeper", "bishop"};
static const char *const games[] = {"INITIAL", "READY", "SET", "PLAYING", "FINISHED", "STANDBY"};
#define NAME(list, i) ((i) < sizeof(list) / sizeof *(list) ? (list)[i] : "?")

static const TeamMate *mate_of(const TeamState *team, uint32_t number)
{
    for (uint32_t i = 0; i < team->mates.n; i++)
        if (team->mates.at[i].player_number == number) return &team->mates.at[i];
    return NULL;
}

static const RobotStatus *status_of(const TeamMonitor *monitor, uint32_t number, float *age)
{
    for (uint32_t i = 0; i < monitor->robots.n; i++)
        if (monitor->robots.at[i].player_number == number) {
            *age = monitor->age.at[i];
            return &monitor->robots.at[i];
        }
    return NULL;
}

static void add_row(struct table *table, uint32_t number, const TeamMate *mate, const RobotStatus *status, float age)
{
    char place[32] = "", ball[32] = "", battery[16] = "", heat[48] = "", heard[32] = "";
    const TeamMessage *m = mate ? &mate->message : NULL;
    if (m && m->pose.weight > 0) snprintf(place, sizeof place, "%.1f %.1f", m->pose.pose.x, m->pose.pose.y);
    if (m && m->ball_known) snprintf(ball, sizeof ball, "%.1f %.1f", m->ball.x, m->ball.y);
    if (status && isfinite(status->battery))
        snprintf(battery, sizeof battery, "%.0f %%", 100 * (double)status->battery);
    if (status && isfinite(status->temperature))
        snprintf(heat, sizeof heat, "%.0f C %s", (double)status->temperature, status->hottest);
    if (status) duration_text(heard, 1e9 * (double)age);
    table_row(table, "%u\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s%s%s", number, m ? NAME(roles, m->role) : "",
              status ? NAME(states, status->state) : "", status ? status->skill : "", place, ball, battery, heat, heard,
              status ? status->hardware : "", status && *status->hardware && *status->software ? "; " : "",
              status && *status->software ? status->software
              : m                         ? m->errors
                                          : "");
}

static void show(const MatchState *match, const TeamState *team, const TeamMonitor *monitor)
{
    struct table table;
    clear_screen(stdout);
    printf("team %u  %u:%u  %s  %d:%02d  %s\n", match->own_team, match->own_score, match->rival_score,
           NAME(games, match->state), match->seconds_remaining / 60, match->seconds_remaining % 60,
           match->connected ? "" : "no game controller");
    table_begin(&table, (const char *const[]){"robot", "role", "body", "does", ">place", ">ball", ">battery", "hottest",
                                              ">heard", "errors", NULL});
    for (uint32_t number = 1; number <= 11; number++) {
        float age = 0;
        const TeamMate *mate = mate_of(team, number);
        const RobotStatus *status = status_of(monitor, number, &age);
        if (mate || status) add_row(&table, number, mate, status, age);
    }
    table_print(&table, stdout);
    fflush(stdout);
}

static int ready(struct nm_player *player, void *user, struct nm_err *err)
{
    static const struct nm_edge_port ports[PORTS] = {
        [PORT_MATCH] = {"match_state", NM_PORT_IN, &MatchState_type, 0, 0},
        [PORT_TEAM] = {"team_state", NM_PORT_IN, &TeamState_type, 0, 0},
        [PORT_STATUS] = {"team_monitor", NM_PORT_IN, &TeamMonitor_type, 0, 0}};
    struct monitor *m = user;
    m->edge = nm_edge_new(player, "terminal", ports, PORTS, err);
    return m->edge ? 0 : -1;
}

static void tick(struct nm_player *player, void *user)
{
    struct monitor *m = user;
    int64_t now = nm_clock();
    if (now - m->told < every) return;
    m->told = now;
    nm_edge_begin(m->edge, nm_player_now(player));
    show(nm_edge_in(m->edge, PORT_MATCH), nm_edge_in(m->edge, PORT_TEAM), nm_edge_in(m->edge, PORT_STATUS));
    nm_edge_end(m->edge);
}

int cmd_monitor(int argc, char **argv)
{
    struct monitor monitor = {0};
    struct playing_options options = {
        .lineup = "monitor", .log = LOGGING_NONE, .radio = true, .listen = true, .quiet = true, .hardware = "none"};
    int64_t team = 1;
    char set[2][64], log[96];
    time_t now = time(NULL);
    const struct flag flags[] = {
        WHOLE("team", &team, 1, 255, "N", "number of the team (default: 1)"),
        SWITCH("network", &options.dds.network, "listens on the network, not only on this machine"),
        MAYBE("live", &options.live.port, PORT_MAX, "[PORT]",
              "shows the page at this port (default: 8765; 0: any free port)"),
        TEXT("log", &options.log.path, "FILE", "log of the game (default: out/monitor-DATE.mcap)"),
        NUMBER("seconds", &options.seconds, 0, 1e9, "N", "ends after N seconds; 0: runs until it is stopped"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg monitor", "", flags,
              "Shows what a team may see of its robots during a game: who is where and does what, batteries,\n"
              "heat and errors. It listens to the game controller (port 3838), to the messages of the team\n"
              "(10000 + team) and to the robots' status packets (12000 + team), sends nothing, and keeps a log.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    strftime(log, sizeof log, "out/monitor-%Y%m%d-%H%M%S.mcap", localtime(&now));
    if (!options.log.path) options.log.path = log;
    snprintf(set[0], sizeof set[0], "game_state.team=%d", (int)team);
    snprintf(set[1], sizeof set[1], "team_monitor.team=%d", (int)team);
    for (int i = 0; i < 2; i++) options.flags.set.at[options.flags.set.n++] = set[i];
    options.made = ready;
    options.tick = tick;
    options.user = &monitor;
    struct setup setup;
    setup_begin(&setup);
    code = playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}

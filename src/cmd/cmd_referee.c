/* nutmeg referee: a game controller on the network. Orders come from the terminal, from a script or from viewers;
 * robots are told twice a second. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/referee_desk.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "core/nm.h"
#include "edge/air/controller.h"
#include "edge/air/udp.h"
#include "edge/live/live.h"
#include "referee/orders.h"

enum { RADIOS = 5 };

struct office {
    struct nm_match match;
    struct nm_controller controller;
    struct nm_radio *radios[RADIOS]; /* control, returns, monitors, two teams */
    struct referee_desk *desk;       /* NULL: no viewer can give orders       */
    struct nm_live *live;
    int64_t began; /* ns of the clock                       */
    int script;    /* -1: its end was reached               */
    bool prompt, quit, bad;
    bool lost;     /* what is sent does not leave this machine */
    int64_t waits; /* ns: no order is read before */
    char line[256];
    size_t n;
    enum nm_game_state was; /* that was printed last */
    bool alive[2][NM_GAME_PLAYERS];
};

/* ---- what is said ---- */

static void say(struct office *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct office *o, const char *format, ...)
{
    va_list args;
    clear_line(stdout);
    printf("%7.1f s  ", nm_seconds(o->match.now));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

static void show(struct office *o)
{
    char words[100];
    nm_match_words(&o->match, words, sizeof words);
    say(o, "%s", words);
    o->was = o->match.state;
}

/* What has become of the robot of a penalty. */
static void show_penalty(struct office *o, const struct nm_match_event *e)
{
    static const char *const until[] = {[NM_NO_OFFENCE] = "",
                                        [NM_REMOVED] = "",
                                        [NM_HELD] = "",
                                        [NM_MOVED_OUT] = ", until play begins",
                                        [NM_TEAM_HELD] = ", its whole team until READY",
                                        [NM_CAUTIONED] = ", plays on",
                                        [NM_OUT_FOR_GOOD] = ", does not come back"};
    const struct nm_match_player *player = &o->match.teams[e->team].players[e->player - 1];
    enum nm_offence offence = player->penalised ? player->offence : e->offence; /* two yellow cards are a red one */
    char left[48] = "";
    if (player->left > 0)
        snprintf(left, sizeof left, ", %.0f s%s", nm_seconds(player->left), player->waits ? " from 'seated' on" : "");
    say(o, "team %u, player %u: %s%s%s", o->match.options.team_numbers[e->team], e->player,
        nm_offence_names[offence].name, left, until[nm_offence_rows[o->match.options.league][offence].consequence]);
}

static void show_all(struct office *o)
{
    static const char *const links[] = {"-", "alive", "late", "offline"};
    struct table table;
    show(o);
    table_begin(&table, (const char *const[]){"team", ">player", "robot", "penalty", ">seconds", NULL});
    for (uint32_t t = 0; t < 2; t++)
        for (uint32_t p = 1; p <= o->match.options.roster; p++) {
            const struct nm_match_player *player = &o->match.teams[t].players[p - 1];
            table_row(&table, "%u\t%u\t%s\t%s\t%.0f", o->match.options.team_numbers[t], p,
                      links[nm_controller_link(&o->controller, t, p, o->match.now)],
                      player->penalised ? nm_offence_names[player->offence].name : "", nm_seconds(player->left));
        }
    table_print(&table, stdout);
    for (uint32_t t = 0; t < 2; t++) {
        const struct nm_match_team *team = &o->match.teams[t];
        printf("team %u: %llu messages%s\n", o->match.options.team_numbers[t], (unsigned long long)team->sent,
               team->talked_too_much ? ", more or longer ones than allowed: its goals do not count" : "");
    }
}

static void message(void *user, uint32_t team, uint32_t bytes)
{
    struct office *o = user;
    nm_match_happen(&o->match, &(struct nm_match_event){.kind = NM_MATCH_MESSAGE, .team = team, .bytes = bytes}, NULL);
}

static void told(void *user, uint32_t team, const struct nm_game_return *what)
{
    struct office *o = user;
    bool *alive = &o->alive[team][what->player - 1];
    if (!*alive) say(o, "player %u of team %u is there", what->player, what->team);
    *alive = true;
    if (what->version == 2 && what->word == NM_GAME_SAYS_GOALKEEPER) o->match.teams[team].keeper = what->player;
}

/* ---- orders ---- */

static void obey(struct office *o, const char *line)
{
    struct nm_err err = {0};
    struct nm_match_event event;
    double seconds;
    char first[8] = "";
    while (*line == ' ' || *line == '\t') line++;
    if (!*line || *line == '#') return;
    sscanf(line, "%7s", first);
    bool own = !strcmp(first, "quit") || !strcmp(first, "help") || !strcmp(first, "status");
    if (own && strcmp(line, first)) {
        o->bad = true;
        nm_fail(&err, "'%.60s': %s wants no more words", line, first);
        complain(&err);
    } else if (!strcmp(line, "quit"))
        o->quit = true;
    else if (!strcmp(line, "help"))
        printf("%sstatus, wait SECONDS, help, quit\n", nm_orders_help);
    else if (!strcmp(line, "status"))
        show_all(o);
    else if (sscanf(line, "wait %lf", &seconds) == 1 && seconds >= 0 && seconds < 1e6)
        o->waits = o->match.now + nm_ns(seconds);
    else if (!strcmp(line, "wait") || !strncmp(line, "wait ", 5)) {
        o->bad = true;
        nm_fail(&err, "'%.60s': wait wants seconds, such as wait 5", line);
        complain(&err);
    } else if (nm_order_read(&o->match, line, &event, &err) || nm_match_happen(&o->match, &event, &err)) {
        o->bad = true;
        complain(&err);
    } else {
        show(o);
        if (event.kind == NM_MATCH_PENALTY) show_penalty(o, &event);
    }
    fflush(stdout);
}

static void read_orders(struct office *o)
{
    char *end;
    while (!o->quit && o->match.now >= o->waits) {
        while ((end = memchr(o->line, '\n', o->n)) && o->match.now >= o->waits && !o->quit) {
            char line[sizeof o->line];
            size_t length = (size_t)(end - o->line);
            memcpy(line, o->line, length);
            o->n -= length + 1;
            memmove(o->line, end + 1, o->n);
            while (length && strchr(" \t\r", line[length - 1])) length--; /* files of other systems */
            line[length] = '\0';
            obey(o, line);
        }
        if (o->match.now < o->waits || o->quit || o->script < 0) return;
        if (o->n == sizeof o->line) o->n = 0; /* no order is so long */
        ssize_t n = read(o->script, o->line + o->n, sizeof o->line - o->n);
        if (n < 0) return; /* nothing yet */
        if (n == 0) {
            o->script = -1;
            if (!o->n) return;
            o->line[o->n < sizeof o->line ? o->n++ : o->n - 1] = '\n';
            continue;
        }
        o->n += (size_t)n;
    }
}

/* ---- orders of viewers ---- */

static const struct nm_match *match_of(void *user) { return &((struct office *)user)->match; }

static int happen(void *user, const struct nm_match_event *event, struct nm_err *err)
{
    struct office *o = user;
    if (nm_match_happen(&o->match, event, err)) return -1;
    show(o);
    if (event->kind == NM_MATCH_PENALTY) show_penalty(o, event);
    return 0;
}

static int open_desk(struct office *o, const char *port, const char *address, struct nm_err *err)
{
    o->desk = referee_desk_new(&(struct referee_desk_options){.match = match_of, .happen = happen, .user = o}, err);
    if (!o->desk) return -1;
    struct nm_live_options live = {.port = *port ? atoi(port) : NM_LIVE_PORT, .address = address};
    o->live = nm_live_new(referee_desk_player(o->desk), &live, err);
    if (!o->live) return -1;
    printf("live at %s\n", nm_live_url(o->live));
    fflush(stdout);
    return 0;
}

/* ---- life ---- */

static int open_radios(struct office *o, bool network, struct nm_err *err)
{
    const uint16_t ports[RADIOS] = {0, NM_GAME_RETURN_PORT, NM_GAME_MONITOR_PORT,
                                    (uint16_t)(NM_GAME_TEAM_PORT + o->match.options.team_numbers[0]),
                                    (uint16_t)(NM_GAME_TEAM_PORT + o->match.options.team_numbers[1])};
    for (int i = 0; i < RADIOS; i++) {
        bool shared = i >= 3; /* what mates tell each other goes to all of them */
        uint32_t address = network ? 0 : shared ? NM_AIR_ALL_HERE : NM_AIR_THIS_HOST;
        struct nm_udp_options options = {.address = address, .port = ports[i], .shared = shared};
        o->radios[i] = nm_udp_open(&options, err);
        if (!o->radios[i] && errno == EADDRINUSE)
            nm_fail(err, "another referee or game controller runs on this machine: end it first");
        if (!o->radios[i]) return -1;
    }
    nm_controller_init(&o->controller, &(struct nm_controller_options){.all = network ? NM_AIR_ALL : NM_AIR_ALL_HERE,
                                                                       .control = o->radios[0],
                                                                       .returns = o->radios[1],
                                                                       .monitors = o->radios[2],
                                                                       .teams = {o->radios[3], o->radios[4]},
                                                                       .message = message,
                                                                       .told = told,
                                                                       .user = o});
    return 0;
}

/* A referee whose cable was pulled out goes on with the match, and says so once. */
static void speak(struct office *o, int64_t now)
{
    struct nm_err err = {0};
    bool lost = nm_controller_poll(&o->controller, &o->match, now, &err), tried = o->controller.sent == now;
    if (lost && !o->lost) complain(&err);
    if (tried && !lost && o->lost) say(o, "sending works again");
    if (tried) o->lost = lost;
}

static void run(struct office *o)
{
    struct pollfd fds[RADIOS + 1];
    o->began = nm_clock();
    show(o);
    while (!stopping() && !o->quit) {
        int64_t now = nm_clock() - o->began;
        nm_match_advance(&o->match, now);
        read_orders(o);
        if (o->desk) {
            nm_live_poll(o->live);
            referee_desk_poll(o->desk, nm_clock());
        }
        speak(o, now);
        if (o->match.state != o->was) show(o);
        if (o->script < 0 && !o->prompt && o->match.now >= o->waits) return; /* the script has ended */
        bool reads = o->script >= 0 && o->match.now >= o->waits;
        for (int i = 0; i < RADIOS; i++) fds[i] = (struct pollfd){.fd = nm_udp_fd(o->radios[i]), .events = POLLIN};
        fds[RADIOS] = (struct pollfd){.fd = reads ? o->script : -1, .events = POLLIN};
        poll(fds, RADIOS + 1, 20);
    }
}

int cmd_referee(int argc, char **argv)
{
    const char *league = "hsl", *script = NULL, *port = NULL, *address = NULL;
    int64_t red = 1, blue = 2, players = 0, roster = 0, version = 0;
    struct office o = {0};
    struct nm_match_options m = {.half = 600};
    bool network = false, second = false;
    const struct flag flags[] = {
        TEXT("league", &league, "NAME", "rules and packets: hl, spl or hsl (default: hsl)"),
        WHOLE("version", &version, 12, 20, "N", "version of the packets (default: hl 12, spl 18, hsl 20)"),
        WHOLE("red", &red, 1, 254, "N", "number of the first team, which defends the left side (default: 1)"),
        WHOLE("blue", &blue, 1, 254, "N", "number of the second team (default: 2)"),
        WHOLE("players", &players, 1, 20, "N", "robots of a team on the field (default: the league's)"),
        WHOLE("roster", &roster, 1, 20, "N", "robots of a team with substitutes (default: as many as on the field)"),
        TIME("half", &m.half, 6, 3600, "length of a half: 10m, 90s, 2 (minutes) (default: 10m)"),
        SWITCH("blue-kick-off", &second, "the second team has the first kick-off"),
        SWITCH("knock-out", &m.knock_out, "a draw may be followed by extra time and a shoot-out"),
        SWITCH("no-delay", &m.no_delay, "packets tell whistle and goals at once"),
        TEXT("script", &script, "FILE", "takes orders from this file and ends with it (default: the terminal)"),
        MAYBE("live", &port, PORT_MAX, "[PORT]",
              "takes orders from viewers, too, at this port (default: 8765; 0: any free port)"),
        TEXT("live-address", &address, "ADDRESS",
             "address of this machine that viewers reach; 0.0.0.0: all (default: only from this machine)"),
        SWITCH("network", &network,
               "speaks to all machines of the network and hears them (default: only this machine)"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg referee", "", flags,
              "A game controller: tells robots the state of the match twice a second (UDP port 3838), hears that\n"
              "they are alive (3939), counts team messages (10000 + team) and serves monitors (3636). Orders\n"
              "such as 'ready', 'play', 'goal red' or 'penalty blue 3 pushing' come from the terminal, a pipe\n"
              "or a script, a line each; the order 'help' lists them. 'wait 5' waits five seconds. With --live\n"
              "viewers call the service referee/order and see referee/state.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    struct nm_err err = {0};
    if (n < 0) return code;
    for (m.league = 0; m.league < NM_GAME_LEAGUES && strcmp(league, nm_rules[m.league].name);) m.league++;
    if (m.league == NM_GAME_LEAGUES) return usage_wrong(&usage, "--league wants hl, spl or hsl, not '%s'", league);
    m.version = (uint8_t)version;
    m.team_numbers[0] = (uint8_t)red;
    m.team_numbers[1] = (uint8_t)blue;
    m.team_colours[0] = 1;
    m.players = (uint32_t)players;
    m.roster = (uint32_t)roster;
    m.kick_off = second;
    o.script = script ? open(script, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (o.script < 0 || (script && nm_folder_exists(script)))
        return usage_wrong(&usage, "cannot read the script %s", script);
    if (nm_match_begin(&o.match, &m, &err) || open_radios(&o, network, &err) ||
        (port && open_desk(&o, port, address, &err))) {
        complain(&err);
        return EXIT_USAGE;
    }
    o.prompt = !script && isatty(STDIN_FILENO);
    if (!script) fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    stop_by_signals();
    run(&o);
    code = o.bad && !o.prompt ? EXIT_FAILED : EXIT_OK;
    show_all(&o);
    nm_live_free(o.live);
    referee_desk_free(o.desk);
    for (int i = 0; i < RADIOS; i++) nm_radio_close(o.radios[i]);
    if (script) close(o.script);
    return code;
}

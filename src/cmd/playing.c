#include "cmd/playing.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/console.h"
#include "cmd/crash.h"
#include "cmd/stopping.h"
#include "cmd/asking.h"
#include "cmd/wire_clock.h"
#include "codec/text.h"
#include "core/files.h"
#include "edge/air/radio_edge.h"
#include "edge/bus/hardware.h"
#include "edge/dds/dds.h"
#include "edge/live/live.h"
#include "edge/speech/speech_edge.h"
#include "edge/camera/camera_edge.h"
#include "edge/teleop/teleop_edge.h"
#include "rcl_interfaces/Log.h"
#include "std_msgs/String.h"

static const int64_t look_every = 20000000;        /* ns; at the console's topics                   */
static const int64_t slice = 10000000;             /* ns of virtual time between two looks          */
static const int64_t status_terminal = 1000000000; /* ns; a terminal's line is written again        */
static const int64_t status_file = 5000000000;     /* ns; elsewhere a line is added                 */

static const int64_t world_patience = 2000000000; /* ns without a clock until that is told        */

enum { PORT_LOG, PORT_SCORE, PORT_WATCH };

enum { SOURCES = 32 };
struct source { /* of console lines */
    char name[128];
    int64_t since;     /* ns */
    uint32_t lines;    /* printed since then     */
    uint64_t left_out; /* not printed since then */
};

struct playing {
    const struct playing_options *options;
    struct setup *setup;
    struct nm_lineup_options loaded; /* how the line-up was loaded */
    struct nm_lineup *lineup;
    const struct nm_body *body; /* NULL: the line-up names no robot */
    struct nm_player *player;
    struct nm_control *control;
    struct nm_desk desk;      /* for viewers */
    struct nm_live *live;     /* NULL: none */
    struct nm_dds *dds;       /* NULL: none */
    pthread_mutex_t dds_lock; /* held where another thread asks dds, and when it goes */
    struct nm_teleop *teleop;
    struct nm_camera_edge *cameras[NM_CAMERAS];
    struct nm_radio_edge *radio;  /* NULL: none */
    struct nm_speech *speech;     /* NULL: none */
    struct nm_hardware *hardware; /* NULL: none */
    struct nm_log *log;           /* NULL: none */
    struct nm_edge *console;
    struct source sources[SOURCES];
    uint32_t topics[TEXTS_MAX + PORT_WATCH]; /* of the console's ports */
    String score;                            /* the newest */

    int64_t began, ended; /* ns, of the player's own time   */
    int64_t looked;       /* ns, real time, at the console's topics */
    int domain;           /* of DDS; -1: the usual one             */
    int64_t status;       /* ns, when it was written last         */
    uint64_t *runs;       /* of each cycle at that time           */
    int64_t sampled;
    bool terminal, line; /* a status line stands there           */
};

/* ---- console ---- */

static void wipe_status(struct playing *p)
{
    if (p->line) clear_line(stdout);
    p->line = false;
}

static void print_left_out(struct playing *p, struct source *source)
{
    if (!source->left_out) return;
    wipe_status(p);
    printf("%s%8.3f %s: %llu more lines since %.3f; nutmeg topic echo rosout shows all%s\n", ink(stdout, INK_FAINT),
           nm_seconds(nm_player_now(p->player) - p->began), source->name, (unsigned long long)source->left_out,
           nm_seconds(source->since - p->began), ink(stdout, INK_PLAIN));
    source->left_out = 0;
}

/* Whether a line of a module or an edge is printed. One that says very much is counted instead, so that the lines of
 * the others are still seen. */
static bool print_source(struct playing *p, const char *name, int64_t now)
{
    enum { LINES = 20 };
    static const int64_t in_time = 5LL * 1000000000; /* ns */
    struct source *at = NULL, *oldest = &p->sources[0];
    for (uint32_t i = 0; i < SOURCES && !at; i++) {
        if (!strcmp(p->sources[i].name, name)) at = &p->sources[i];
        if (p->sources[i].since < oldest->since) oldest = &p->sources[i];
    }
    if (!at || now - at->since >= in_time) {
        if (!at) at = oldest;
        print_left_out(p, at);
        *at = (struct source){.since = now};
        snprintf(at->name, sizeof at->name, "%s", name);
    }
    if (at->lines < LINES) return ++at->lines;
    at->left_out++;
    return false;
}

static void print_log(struct playing *p, const Log *log)
{
    if (!print_source(p, log->name, nm_slot(log)->time)) return;
    enum ink colour = log->level >= NM_ERROR ? INK_RED : log->level >= NM_WARN ? INK_YELLOW : INK_FAINT;
    wipe_status(p);
    printf("%s%8.3f %s: %s%s\n", ink(stdout, colour), nm_seconds(nm_slot(log)->time - p->began), log->name, log->msg,
           ink(stdout, INK_PLAIN));
}

static void print_message(struct playing *p, uint32_t topic, const void *message)
{
    struct nm_text_out text = {.grows = true};
    nm_print(&text, p->lineup->topics[topic].type, message, NM_TEXT_YAML);
    wipe_status(p);
    printf("%s--- %s%s\n%s", ink(stdout, INK_FAINT), p->lineup->topics[topic].name, ink(stdout, INK_PLAIN), text.text);
    free(text.text);
}

static void look(struct playing *p)
{
    const void *const *at;
    nm_edge_begin(p->console, nm_player_now(p->player));
    uint32_t n = nm_edge_queue(p->console, PORT_LOG, &at, NULL);
    for (uint32_t i = 0; i < n; i++) print_log(p, at[i]);
    if (p->options->score && nm_edge_fresh(p->console, PORT_SCORE))
        nm_copy(&String_type, &p->score, nm_edge_in(p->console, PORT_SCORE));
    for (uint32_t i = 0; i < p->options->watch.n; i++) {
        uint32_t port = PORT_WATCH + i, topic = p->topics[port];
        n = p->lineup->topics[topic].queue ? nm_edge_queue(p->console, port, &at, NULL) : 0;
        for (uint32_t k = 0; k < n; k++) print_message(p, topic, at[k]);
        if (!p->lineup->topics[topic].queue && nm_edge_fresh(p->console, port))
            print_message(p, topic, nm_edge_in(p->console, port));
    }
    nm_edge_end(p->console);
}

/* "  12.0 s  motion 125.0 Hz  vision 30.0 Hz, 2 missed, 1 skipped" */
static void status_text(struct playing *p, char *to, size_t size)
{
    int64_t now = nm_player_now(p->player);
    double dt = nm_seconds(now - p->sampled);
    int used = snprintf(to, size, "%7.1f s", nm_seconds(now - p->began));
    for (uint32_t c = 0; c < p->lineup->n_cycles && (size_t)used < size; c++) {
        struct nm_cycle_stats stats;
        nm_player_cycle_stats(p->player, c, &stats);
        double rate = dt > 0 ? (double)(stats.runs - p->runs[c]) / dt : 0;
        p->runs[c] = stats.runs;
        used += snprintf(to + used, size - (size_t)used, "  %s %.1f Hz, %llu missed", stats.name, rate,
                         (unsigned long long)stats.misses);
        if (stats.skips && (size_t)used < size)
            used += snprintf(to + used, size - (size_t)used, ", %llu skipped", (unsigned long long)stats.skips);
    }
    p->sampled = now;
}

static void print_status(struct playing *p)
{
    int64_t now = nm_clock();
    char text[1024];
    if (p->options->quiet || now - p->status < (p->terminal ? status_terminal : status_file)) return;
    p->status = now;
    status_text(p, text, sizeof text);
    wipe_status(p);
    if (p->terminal) {
        int width = terminal_width(stdout);
        if (width > 0 && strlen(text) >= (size_t)width) text[width - 1] = '\0';
        fputs(text, stdout);
        p->line = true;
    } else {
        puts(text);
    }
    fflush(stdout);
}

static void print_summary(struct playing *p)
{
    struct nm_arena arena = {0};
    struct nm_json json;
    struct nm_view view = {.lineup = p->lineup, .player = p->player};
    nm_json_begin(&json, 4 << 20);
    nm_json_open(&json, NULL, '{');
    nm_tasks_json(&view, &json);
    nm_json_close(&json, '}');
    const struct nm_yaml *answer = answer_read(&arena, &json, NULL);
    wipe_status(p);
    printf("\nplayed %s for %.1f s\n", nm_player_name(p->player), nm_seconds(p->ended - p->began));
    if (answer) tasks_print(answer, true, stdout);
    if (p->options->score) printf("\nscore: %s\n", *p->score.data ? p->score.data : "it is not recorded");
    nm_json_end(&json);
    nm_arena_free(&arena);
}

/* ---- the two clocks ---- */

static bool over(const struct playing *p)
{
    double seconds = p->options->seconds;
    return stopping() || (p->control && nm_control_stopped(p->control)) ||
           (seconds > 0 && nm_seconds(nm_player_now(p->player) - p->began) >= seconds);
}

static void tick(struct playing *p)
{
    look(p);
    print_status(p);
    if (p->teleop) nm_teleop_poll(p->teleop, nm_player_now(p->player));
    if (p->speech) nm_speech_poll(p->speech, nm_player_now(p->player));
    if (p->radio && p->options->dds.clock) nm_radio_edge_poll(p->radio, nm_player_now(p->player));
    if (p->options->tick) p->options->tick(p->player, p->options->user);
}

static int play_real(struct playing *p, struct nm_err *err)
{
    if (nm_player_start(p->player, err)) return -1;
    p->began = p->sampled = nm_player_now(p->player);
    if (nm_control_start(p->control, err)) return -1;
    if (p->live && nm_live_start(p->live, err)) return -1;
    if (p->dds && nm_dds_start(p->dds, err)) return -1;
    if (p->log && nm_log_start(p->log, err)) return -1;
    if (p->hardware && nm_hardware_start(p->hardware, err)) return -1;
    if (p->radio && nm_radio_edge_start(p->radio, err)) return -1;
    while (!over(p)) {
        nm_sleep_until(nm_clock() + look_every);
        tick(p);
    }
    return 0;
}

static int play_virtual(struct playing *p, struct nm_err *err)
{
    int64_t start = nm_clock(), now = 0;
    int64_t end = p->options->seconds > 0 ? nm_ns(p->options->seconds) : INT64_MAX;
    while (!over(p)) {
        int64_t step = end - now < slice ? end - now : slice;
        if (nm_players_run(&p->player, 1, now + step, 1)) return nm_fail(err, "virtual time does not advance");
        now += step;
        if (p->log) nm_log_poll(p->log);
        if (p->live) nm_live_poll(p->live);
        if (p->dds) nm_dds_poll(p->dds);
        nm_control_poll(p->control, 0);
        tick(p);
        if (p->options->speed > 0) nm_sleep_until(start + (int64_t)((double)now / p->options->speed));
    }
    return 0;
}

/* When the world starts again, this player has to be started again, too. */
static int follow(struct playing *p, struct wire_clock *clock, struct nm_err *err)
{
    int64_t now = p->began;
    while (!over(p)) {
        int64_t told = wire_clock_wait(clock, look_every);
        if (told < p->began)
            return nm_fail(err, "the world has started again at %.1f s, so this player must be started again",
                           nm_seconds(told));
        nm_dds_poll(p->dds);
        if (told > now) {
            now = told;
            if (nm_players_run(&p->player, 1, now, 1)) return nm_fail(err, "virtual time does not advance");
            if (p->log) nm_log_poll(p->log);
            nm_dds_poll(p->dds);
        }
        if (p->live) nm_live_poll(p->live);
        int64_t real = nm_clock();
        if (real < p->looked + look_every) continue;
        p->looked = real;
        nm_control_poll(p->control, 0);
        tick(p);
    }
    return 0;
}

/* In the time of a world in another process. */
static int play_following(struct playing *p, struct nm_err *err)
{
    struct wire_clock *clock = wire_clock_new(p->domain, p->options->dds.network, err);
    if (!clock) return -1;
    int64_t asked = nm_clock(), first = -1;
    bool told = false;
    while (first < 0 && !stopping() && !nm_control_stopped(p->control)) {
        first = wire_clock_wait(clock, look_every);
        nm_control_poll(p->control, 0);
        if (first >= 0 || told || nm_clock() < asked + world_patience) continue;
        printf("no world publishes /clock yet; waiting for one\n");
        fflush(stdout);
        told = true;
    }
    int bad = 0;
    if (first >= 0) {
        p->began = p->sampled = first;
        bad = nm_player_begin(p->player, first) ? nm_fail(err, "virtual time does not start") : follow(p, clock, err);
    }
    wire_clock_free(clock);
    return bad;
}

/* ---- life ---- */

static int open_console(struct playing *p, struct nm_err *err)
{
    struct nm_edge_port ports[TEXTS_MAX + PORT_WATCH] = {
        [PORT_LOG] = {"rosout", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &Log_type, 64, 0},
        [PORT_SCORE] = {"score", NM_PORT_IN | NM_EDGE_OPTIONAL, p->options->score ? &String_type : NULL, 0, 0},
    };
    uint32_t n = PORT_WATCH;
    for (uint32_t i = 0; i < p->options->watch.n; i++) {
        uint32_t topic = nm_find_topic(p->lineup, p->options->watch.at[i], err);
        if (topic == NM_NONE) return -1;
        p->topics[n] = topic;
        ports[n++] = (struct nm_edge_port){.topic = p->lineup->topics[topic].name,
                                           .kind = p->lineup->topics[topic].queue ? NM_PORT_QUEUE : NM_PORT_IN};
    }
    p->console = nm_edge_new(p->player, "console", ports, n, err);
    return p->console ? 0 : -1;
}

/* The servo bus, where the line-up speaks to servos. Without a word from the user it is the robot's own if that is
 * plugged in. */
static int open_hardware(struct playing *p, struct nm_err *err)
{
    static const char *const kinds[] = {"bus", "virtual", "none"};
    const char *kind = p->options->hardware;
    bool asked = kind && strcmp(kind, "none") != 0;
    if (kind && strcmp(kind, "bus") != 0 && strcmp(kind, "virtual") != 0 && strcmp(kind, "none") != 0) {
        const char *near = nm_nearest(kind, kinds, 3);
        return nm_fail(err, "--hardware must be bus, virtual or none, not '%s'%s%s", kind,
                       near ? "; did you mean " : "", near ? near : "");
    }
    if (kind && !asked) return 0;
    if (p->options->dds.clock)
        return asked ? nm_fail(err, "use either --hardware %s (real servos) or --clock (a simulated world), not both",
                               kind)
                     : 0;
    if (p->options->virtual_time)
        return asked ? nm_fail(err, "--hardware %s runs in real time only; leave out --virtual", kind) : 0;
    if (!asked) {
        bool servos = p->body && p->body->n_buses && nm_lineup_topic(p->lineup, "servo_states") != NM_NONE;
        if (!servos) return 0;
        if (access(p->body->buses[0].device, F_OK) != 0) {
            fprintf(stderr,
                    "%s does not exist, so no servos are moved (--hardware virtual simulates servos without a body)\n",
                    p->body->buses[0].device);
            return 0;
        }
    }
    bool virtual = kind && strcmp(kind, "virtual") == 0;
    for (uint32_t i = 0; asked && !virtual && p->body && i < p->body->n_buses; i++)
        if (access(p->body->buses[i].device, R_OK | W_OK) != 0)
            fprintf(stderr, "%s: cannot open the port of bus %s: %s; trying again until it opens\n",
                    p->body->buses[i].device, p->body->buses[i].name, strerror(errno));
    p->hardware = nm_hardware_new(p->player, p->body, virtual ? NM_HARDWARE_VIRTUAL : NM_HARDWARE_PORTS, err);
    return p->hardware ? 0 : -1;
}

/* The token is read from a file, since every user of a machine sees the flags of all its programs. */
static int read_token(const char *path, char *to, size_t size, struct nm_err *err)
{
    struct stat about;
    FILE *from = fopen(path, "re");
    if (!from || fstat(fileno(from), &about)) {
        nm_fail(err, "%s: %s", path, strerror(errno));
        if (from) fclose(from);
        return -1;
    }
    size_t n = fread(to, 1, size - 1, from);
    fclose(from);
    to[n] = '\0';
    to[strcspn(to, "\r\n")] = '\0';
    if (about.st_mode & 077)
        return nm_fail(
            err, "%s: other users may read this token, so it is not used; change the token and chmod 600 the file",
            path);
    return 0;
}

static int open_live(struct playing *p, struct nm_err *err)
{
    char token[256];
    const struct playing_options *o = p->options;
    if (!o->live.port) return 0;
    if (o->live.token_file && read_token(o->live.token_file, token, sizeof token, err)) return -1;
    struct nm_live_options live = {.address = o->live.address,
                                   .port = *o->live.port ? atoi(o->live.port) : NM_LIVE_PORT,
                                   .token = o->live.token_file ? token : NULL,
                                   .locked = o->live.locked,
                                   .virtual_time = o->virtual_time || o->dds.clock,
                                   .desk = &p->desk,
                                   .logs = logging_folder(&p->setup->arena, &o->log),
                                   .n_origins = o->live.origins.n,
                                   .origins = o->live.origins.at};
    p->live = nm_live_new(p->player, &live, err);
    return p->live ? 0 : -1;
}

static int open_dds(struct playing *p, struct nm_err *err)
{
    const struct playing_options *o = p->options;
    bool details = o->dds.domain || o->dds.space || o->dds.topics.n || o->dds.clock;
    if (!o->dds.on && details) return nm_fail(err, "--domain, --namespace, --clock and --share need --dds");
    if (!o->dds.on && o->dds.network && !o->radio) return nm_fail(err, "--network needs --dds or --radio");
    if (!o->dds.on) return 0;
    if (o->dds.clock && o->virtual_time)
        return nm_fail(err, "use either --clock (the time of a world) or --virtual (its own time), not both");
    p->domain = o->dds.domain ? atoi(o->dds.domain) : -1;
    struct nm_dds_options dds = {.domain = p->domain,
                                 .space = o->dds.space,
                                 .network = o->dds.network,
                                 .world = o->dds.clock,
                                 .virtual_time = o->virtual_time,
                                 .follows = o->dds.clock,
                                 .n_topics = o->dds.topics.n,
                                 .topics = o->dds.topics.at,
                                 .gid_size = o->dds.humble ? 24 : 16};
    p->dds = nm_dds_new(p->player, &dds, err);
    return p->dds ? 0 : -1;
}

static int open_radio(struct playing *p, struct nm_err *err)
{
    if (!p->options->radio) return 0;
    if (p->options->virtual_time) return nm_fail(err, "--radio runs in real time only; leave out --virtual");
    p->radio = nm_radio_edge_udp(p->player, p->options->dds.network, p->options->listen, err);
    return p->radio ? 0 : -1;
}

static int open_cameras(struct playing *p, struct nm_err *err)
{
    const struct texts *sources = &p->options->cameras;
    if (sources->n && p->options->virtual_time)
        return nm_fail(err, "--camera runs in real time only; leave out --virtual");
    for (uint32_t i = 0; i < sources->n; i++) {
        if (i >= NM_CAMERAS) return nm_fail(err, "--camera: a robot has at most %d cameras", NM_CAMERAS);
        p->cameras[i] = nm_camera_edge_new(p->player, p->body, i, sources->at[i], NULL, err);
        if (!p->cameras[i] || nm_camera_edge_start(p->cameras[i], err) < 0) return -1;
    }
    return 0;
}

static void tell_strangers(void *user, const char *topic, nm_say *say, void *to)
{
    struct playing *p = user;
    pthread_mutex_lock(&p->dds_lock);
    if (p->dds) nm_dds_strangers(p->dds, topic, say, to);
    pthread_mutex_unlock(&p->dds_lock);
}

static int open_all(struct playing *p, struct nm_err *err)
{
    const struct playing_options *o = p->options;
    p->lineup = setup_lineup(p->setup, o->lineup, &o->flags, err);
    if (!p->lineup) return -1;
    if (p->lineup->warnings && *p->lineup->warnings)
        fprintf(stderr, "%s%s%s", ink(stderr, INK_YELLOW), p->lineup->warnings, ink(stderr, INK_PLAIN));
    if (o->loaded && o->loaded(p->lineup, o->user, err)) return -1;
    if (p->lineup->robot_folder && !(p->body = setup_body(p->setup, p->lineup, err))) return -1;
    p->runs = nm_take_n(&p->setup->arena, uint64_t, p->lineup->n_cycles + 1);
    p->loaded = setup_options(p->setup, &o->flags);
    p->player = nm_player_new(
        p->lineup, &(struct nm_player_options){.name = o->name, .seed = (uint64_t)o->seed, .body = p->body}, err);
    if (!p->player || open_console(p, err)) return -1;
    if (o->made && o->made(p->player, o->user, err)) return -1;
    if (o->joy && !(p->teleop = nm_teleop_new(p->player, o->joy, err))) return -1;
    if (open_hardware(p, err) || open_cameras(p, err) || open_dds(p, err) || open_radio(p, err)) return -1;
    if (o->speech && !(p->speech = nm_speech_new(p->player, err))) return -1;
    p->control = nm_control_new(p->player,
                                &(struct nm_control_options){.registry = &p->setup->registry,
                                                             .lineup = &p->loaded,
                                                             .outside = p->dds ? tell_strangers : NULL,
                                                             .outside_user = p},
                                err);
    if (!p->control) return -1;
    nm_control_desk(p->control, &p->desk);
    if (open_live(p, err)) return -1;
    struct logging_how how = {.virtual_time = o->virtual_time || o->dds.clock, .body = p->hardware};
    return logging_open(&p->log, p->player, &o->log, &how, err);
}

int playing_run(struct setup *setup, const struct playing_options *options)
{
    struct playing p = {
        .options = options, .setup = setup, .terminal = isatty(STDOUT_FILENO), .dds_lock = PTHREAD_MUTEX_INITIALIZER};
    struct nm_err err = {0};
    int code = EXIT_FAILED;
    if (open_all(&p, &err)) {
        if (!p.lineup || (p.lineup->robot_folder && !p.body)) code = EXIT_USAGE;
    } else {
        stop_by_signals();
        crash_watch(p.player);
        if (!options->quiet)
            printf("%s plays; nutmeg tasks, why, param and topic show what it does\n", nm_player_name(p.player));
        if (p.live) printf("live at %s\n", nm_live_url(p.live));
        if (p.dds) printf("the ROS 2 node %s\n", nm_dds_node(p.dds));
        fflush(stdout);
        p.status = nm_clock();
        int bad = options->dds.clock      ? play_following(&p, &err)
                  : options->virtual_time ? play_virtual(&p, &err)
                                          : play_real(&p, &err);
        if (!bad) look(&p);
        for (uint32_t i = 0; i < SOURCES; i++) print_left_out(&p, &p.sources[i]);
        p.ended = nm_player_now(p.player);
        pthread_mutex_lock(&p.dds_lock);
        nm_dds_free(p.dds); /* while there are cycles that what still arrives can go to */
        p.dds = NULL;
        pthread_mutex_unlock(&p.dds_lock);
        nm_player_stop(p.player);
        if (!bad && !options->quiet) print_summary(&p);
        logging_close(p.log, stdout);
        p.log = NULL;
        code = bad ? EXIT_FAILED : EXIT_OK;
    }
    if (err.n) complain(&err);
    nm_live_free(p.live);
    nm_control_free(p.control);
    nm_dds_free(p.dds);
    nm_log_free(p.log);
    nm_hardware_free(p.hardware);
    nm_radio_edge_free(p.radio);
    nm_speech_free(p.speech);
    nm_teleop_free(p.teleop);
    for (uint32_t i = 0; i < NM_CAMERAS; i++) nm_camera_edge_free(p.cameras[i]);
    crash_forget(p.player);
    nm_player_free(p.player);
    nm_lineup_free(p.lineup);
    return code;
}

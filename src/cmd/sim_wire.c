/* Robots as separate processes: the world runs here, each robot's line-up runs in another process, and DDS carries the
 * messages between them in the robot's namespace. The world publishes its time on /clock and all line-ups follow it
 * (`nutmeg run --clock`). The world also waits for a robot that is behind, so a slow machine slows everything down but
 * makes no robot fall. The world does not wait for a robot that is gone: it reports this, and starts the process again
 * if it had started it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "core/stamp.h"
#include "edge/dds/dds.h"
#include "edge/dds/dds_look.h"
#include "rosgraph_msgs/Clock.h"

enum { RESTARTS = 5, ARGUMENTS = 64 };
static const double START_PATIENCE = 120;  /* s until a process must have joined the world          */
static const double PATIENCE = 5;          /* s that the world waits for a robot that is behind     */
static const double RESTART_PAUSE = 1;     /* s                                                     */
static const double END_PATIENCE = 30;     /* s that a process may take to end and close its log    */
static const int64_t MARGIN = 16000000;    /* ns that goals may be older than they usually are      */
static const int64_t USUAL_GAP = 64000000; /* ns between two of them, before their pace is known    */

struct member {
    uint32_t robot;
    struct nm_player *player; /* its stand-in here */
    struct nm_dds *dds;
    uint32_t goals;    /* topic of the stand-in, NM_NONE: it makes none    */
    uint64_t seq;      /* of the goals that the last step took             */
    int64_t made, gap; /* ns: stamp of the newest; smallest time between two */
    double waited;     /* s, real time: since when the world waits for it; 0: it does not */
    bool silent;       /* told as such                                     */
    pid_t pid;         /* 0: none of ours, or not running                  */
    double again;      /* s, real time: when it is started next; 0: not    */
    uint32_t restarts;
};

struct sim_wire {
    const struct sim_options *options;
    const struct nm_scenario *scenario;
    const char *program; /* this one's file */
    uint64_t seed;
    int domain; /* -1: the usual one */
    struct nm_stage *stage;
    struct nm_look *clock;
    int64_t told; /* ns, the newest time */
    uint32_t n;
    struct member members[NM_PLAYERS];
};

static const struct nm_scenario_robot *row_of(const struct sim_wire *w, const struct member *m)
{
    return &w->scenario->robots[m->robot];
}

static void tell(const struct sim_wire *w, const struct member *m, enum ink colour, const char *what)
{
    if (w->options->json) return;
    clear_line(stderr);
    fprintf(stderr, "%s%8.3f %s: %s%s\n", ink(stderr, colour), w->stage ? nm_seconds(nm_stage_now(w->stage)) : 0,
            row_of(w, m)->name, what, ink(stderr, INK_PLAIN));
}

/* ---- making ---- */

struct sim_wire *sim_wire_new(const struct sim_options *options, const struct nm_scenario *scenario, uint64_t seed,
                              struct nm_err *err)
{
    struct sim_wire *w = nm_calloc(1, sizeof *w);
    *w = (struct sim_wire){
        .options = options, .scenario = scenario, .seed = seed, .program = "/proc/self/exe", .told = -1, .domain = -1};
    if (options->domain) w->domain = atoi(options->domain);
    w->clock = nm_look_new(w->domain, options->network, err);
    if (w->clock && nm_look_write_to(w->clock, "clock", &Clock_type, err) == 0) return w;
    sim_wire_free(w);
    return NULL;
}

int sim_wire_add(struct sim_wire *w, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct member *m = &w->members[w->n];
    const struct nm_lineup *lineup = nm_player_lineup(player);
    const char *local[256];
    uint32_t n = 0;
    *m = (struct member){.robot = robot, .player = player, .gap = USUAL_GAP, .made = -1};
    for (uint32_t t = 0; t < lineup->n_topics && n < 256; t++)
        if (lineup->topics[t].remote && lineup->topics[t].role == NM_ROLE_TOPIC && !nm_stage_takes(lineup, t))
            local[n++] = lineup->topics[t].name;
    if (n < 256) local[n++] = "motor_power";
    m->goals = nm_lineup_topic(lineup, "servo_goals");
    struct nm_dds_options options = {
        .domain = w->domain, .space = row_of(w, m)->name, .network = w->options->network, .n_local = n, .local = local};
    m->dds = nm_dds_new(player, &options, err);
    if (!m->dds) return -1;
    w->n++;
    return 0;
}

/* ---- processes ---- */

/* "motion" for lineups/motion.yaml, "kid70" for robots/kid70: what means the same on another machine. */
static const char *plain_name(struct nm_arena *arena, const char *root, const char *folder, const char *path)
{
    const char *home = nm_take_format(arena, "%s/%s/", root, folder);
    size_t n = strlen(home);
    if (strncmp(path, home, n) || strchr(path + n, '/')) return path;
    const char *dot = strrchr(path + n, '.');
    return nm_take_format(arena, "%.*s", (int)(dot ? dot - path - (ptrdiff_t)n : (ptrdiff_t)strlen(path + n)),
                          path + n);
}

/* A process writes its own log, as the flags for all of them say. */
static uint32_t log_words(const struct sim_wire *w, const struct member *m, struct nm_arena *arena, const char **to)
{
    const struct logging_flags *log = &w->options->log, none = LOGGING_NONE;
    uint32_t n = 0;
    if (log->path) to[n++] = "--log", to[n++] = sim_log_path(arena, w->options, row_of(w, m)->name, w->seed);
    if (log->images) to[n++] = "--log-images", to[n++] = log->images;
    if (log->compress) to[n++] = "--log-compress", to[n++] = log->compress;
    if (log->box) to[n++] = "--black-box", to[n++] = log->box;
    const struct {
        const char *flag;
        double value, usual;
    } numbers[] = {{"--log-quality", log->quality, none.quality},
                   {"--log-rotate", log->rotate, none.rotate},
                   {"--log-floor", log->floor, none.floor}};
    for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value < numbers[i].usual || numbers[i].value > numbers[i].usual)
            to[n++] = numbers[i].flag, to[n++] = nm_take_format(arena, "%g", numbers[i].value);
    return n;
}

/* The command that plays a robot, also for people to read. */
static uint32_t command(const struct sim_wire *w, const struct member *m, struct nm_arena *arena, const char **to)
{
    const struct nm_scenario_robot *robot = row_of(w, m);
    const char *lineup = w->options->lineup ? w->options->lineup : robot->lineup, *root = w->scenario->root;
    const char *fixed[] = {"nutmeg",
                           "run",
                           plain_name(arena, root, "lineups", lineup),
                           "--robot",
                           plain_name(arena, root, "robots", robot->folder),
                           "--name",
                           robot->name,
                           "--namespace",
                           robot->name,
                           "--dds",
                           "--clock"};
    uint32_t n = 0;
    for (uint32_t i = 0; i < sizeof fixed / sizeof *fixed; i++) to[n++] = fixed[i];
    if (w->options->domain) to[n++] = "--domain", to[n++] = w->options->domain;
    if (w->options->network) to[n++] = "--network";
    to[n++] = "--seed";
    to[n++] = nm_take_format(arena, "%llu", (unsigned long long)(w->seed * NM_PLAYERS + m->robot));
    n += log_words(w, m, arena, to + n);
    for (uint32_t i = 0; i < robot->n_set && n + 3 < ARGUMENTS; i++) to[n++] = "--set", to[n++] = robot->set[i];
    to[n] = NULL;
    return n;
}

/* What it writes goes to a file beside the pictures; it ends when we do. */
static int start(struct sim_wire *w, struct member *m, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const char *arguments[ARGUMENTS];
    const char *file = nm_take_format(&arena, "%s/%s.txt", w->options->photo_folder, row_of(w, m)->name);
    int log = -1;
    command(w, m, &arena, arguments);
    if (!nm_make_folders(file, err)) {
        log = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | (m->restarts ? O_APPEND : O_TRUNC), 0644);
        if (log < 0) nm_fail(err, "%s: %s", file, strerror(errno));
    }
    pid_t parent = getpid(), pid = log < 0 ? -1 : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(0);
        int none = open("/dev/null", O_RDONLY);
        dup2(none, STDIN_FILENO);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        setpgid(0, 0); /* Ctrl-C is ours: we end the others in order */
        execv(w->program, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    if (log >= 0 && pid < 0)
        nm_fail(err, "the process of %s cannot be started: %s", row_of(w, m)->name, strerror(errno));
    if (log >= 0) close(log);
    nm_arena_free(&arena);
    m->pid = pid > 0 ? pid : 0;
    m->again = 0;
    return pid > 0 ? 0 : -1;
}

static void say_how(const struct sim_wire *w, const struct member *m)
{
    struct nm_arena arena = {0};
    const char *words[ARGUMENTS];
    uint32_t n = command(w, m, &arena, words);
    fprintf(stderr, "waiting for %s:", row_of(w, m)->name);
    for (uint32_t i = 0; i < n; i++) fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
    nm_arena_free(&arena);
}

/* True if it has ended, with how. */
static bool ended(struct member *m, char *how, size_t size)
{
    int status = 0;
    if (!m->pid || waitpid(m->pid, &status, WNOHANG) != m->pid) return false;
    m->pid = 0;
    if (WIFSIGNALED(status))
        snprintf(how, size, "its process was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, size, "its process ended with code %d", WEXITSTATUS(status));
    return true;
}

static void look_after(struct sim_wire *w, struct member *m, double now)
{
    char how[120], what[256];
    struct nm_err err = {0};
    if (ended(m, how, sizeof how)) {
        bool again = m->restarts < RESTARTS;
        snprintf(what, sizeof what, "%s; %s", how,
                 again ? "starting it again" : "it has ended too often and is not started again");
        tell(w, m, INK_RED, what);
        m->silent = true; /* it is not waited for until it is heard again */
        if (again) m->again = now + RESTART_PAUSE;
    }
    if (!(m->again > 0) || now < m->again) return;
    m->restarts++;
    if (start(w, m, &err)) tell(w, m, INK_RED, err.text);
}

/* ---- who is there ---- */

static void pause_for(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL); }

/* A topic that its process does not have yet; NULL: it has all. */
static const char *missing(const struct member *m)
{
    const struct nm_lineup *lineup = nm_player_lineup(m->player);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (topic->remote && topic->role == NM_ROLE_TOPIC && nm_dds_matched(m->dds, topic->name) <= 0)
            return topic->name;
    }
    return NULL;
}

static void tell_time(struct sim_wire *w)
{
    int64_t now = nm_stage_now(w->stage);
    if (now == w->told) return;
    Clock clock = {nm_stamp(now)};
    nm_look_write(w->clock, &clock, NULL);
    w->told = now;
}

static int await(struct sim_wire *w, struct member *m, struct nm_err *err)
{
    char how[120];
    double began = nm_clock_seconds();
    if (!w->options->processes && !w->options->json) say_how(w, m);
    while (missing(m) && !stopping()) {
        if (ended(m, how, sizeof how))
            return nm_fail(err, "robot %s: %s before it had joined the world; its output is in %s/%s.txt",
                           row_of(w, m)->name, how, w->options->photo_folder, row_of(w, m)->name);
        if (w->options->processes && nm_clock_seconds() - began > START_PATIENCE)
            return nm_fail(err, "robot %s did not join the world within %g s: it has no topic %s", row_of(w, m)->name,
                           START_PATIENCE, missing(m));
        for (uint32_t i = 0; i < w->n; i++) nm_dds_poll(w->members[i].dds);
        pause_for(0.01);
    }
    return 0;
}

int sim_wire_open(struct sim_wire *w, struct nm_stage *stage, struct nm_err *err)
{
    int bad = 0;
    w->stage = stage;
    tell_time(w);
    for (uint32_t i = 0; i < w->n && w->options->processes && !bad; i++) bad = start(w, &w->members[i], err);
    for (uint32_t i = 0; i < w->n && !bad; i++) bad = await(w, &w->members[i], err);
    return bad;
}

/* ---- while it plays ---- */

/* What the last step took tells how often goals come. */
static void note_goals(struct sim_wire *w, struct member *m)
{
    int64_t made = nm_stage_goals_made(w->stage, m->robot);
    struct nm_topic_stats stats;
    if (m->goals == NM_NONE) return;
    nm_player_topic_stats(m->player, m->goals, &stats);
    if (made > m->made && m->made >= 0 && made - m->made < m->gap) m->gap = made - m->made;
    bool gone = w->options->processes && !m->pid; /* these are its last words */
    if (made != m->made && m->silent && !gone) {
        if (m->made >= 0) tell(w, m, INK_FAINT, "sends goals again");
        m->silent = false;
    }
    m->made = made;
    m->seq = stats.seq;
}

static bool behind(const struct sim_wire *w, const struct member *m)
{
    struct nm_topic_stats stats;
    if (m->goals == NM_NONE || m->silent) return false;
    nm_player_topic_stats(m->player, m->goals, &stats);
    return stats.seq == m->seq && nm_stage_now(w->stage) - m->made > m->gap + MARGIN;
}

/* True when the world may go on. */
static bool let_go(struct sim_wire *w, struct member *m)
{
    double now = nm_clock_seconds();
    nm_dds_poll(m->dds);
    if (!behind(w, m)) m->waited = 0;
    if (!behind(w, m)) return true;
    if (!(m->waited > 0)) m->waited = now;
    if (!missing(m) && now - m->waited < PATIENCE) return false;
    m->silent = true;
    m->waited = 0;
    if (m->made >= 0) tell(w, m, INK_YELLOW, "sends no goals any more; its joints are damped");
    return true;
}

void sim_wire_turn(struct sim_wire *w)
{
    double began = nm_clock_seconds();
    for (uint32_t i = 0; i < w->n; i++) {
        struct member *m = &w->members[i];
        note_goals(w, m);
        look_after(w, m, began);
        nm_dds_poll(m->dds);
    }
    tell_time(w);
    for (bool all = false; !all && !stopping();) {
        all = true;
        for (uint32_t i = 0; i < w->n; i++) all &= let_go(w, &w->members[i]);
        for (uint32_t i = 0; !all && i < w->n; i++) look_after(w, &w->members[i], nm_clock_seconds());
        if (!all) pause_for(0.0005);
    }
}

/* ---- the end ---- */

static void end_all(struct sim_wire *w)
{
    char how[120];
    double began = nm_clock_seconds();
    uint32_t left = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->members[i].pid) left++, kill(w->members[i].pid, SIGTERM);
    while (left && nm_clock_seconds() - began < END_PATIENCE) {
        for (uint32_t i = 0; i < w->n; i++) left -= ended(&w->members[i], how, sizeof how);
        if (left) pause_for(0.01);
    }
    for (uint32_t i = 0; i < w->n; i++)
        if (w->members[i].pid) {
            kill(w->members[i].pid, SIGKILL);
            waitpid(w->members[i].pid, NULL, 0);
        }
}

void sim_wire_free(struct sim_wire *w)
{
    if (!w) return;
    end_all(w);
    for (uint32_t i = 0; i < w->n; i++) nm_dds_free(w->members[i].dds);
    nm_look_free(w->clock);
    free(w);
}

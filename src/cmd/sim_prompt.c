/* Words at the keyboard that steer a running simulation: the commands of SimCommand.srv, and a few that only look. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sim_play.h"

/* ---- commands, of viewers and of the keyboard ---- */

void sim_prompt_command(struct sim_prompt *p, struct nm_stage *stage, const SimCommand_Request *r,
                        SimCommand_Response *to)
{
    const char *why = NULL;
    int64_t us = 1000; /* a float has no nanoseconds */
    switch (r->command) {
    case SimCommand_Request_PAUSE: p->paused = true; break;
    case SimCommand_Request_STEP:
        if (!(r->duration >= 0 && r->duration < 1e6f)) why = "that is no duration";
        if (!why)
            p->until = nm_stage_now(stage) +
                       (r->duration > 0 ? us * llround((double)r->duration * 1e6) : nm_stage_tick(stage));
        p->paused &= !!why;
        p->repace = true;
        break;
    case SimCommand_Request_RESUME:
        p->paused = false;
        p->until = INT64_MAX;
        p->repace = true;
        break;
    case SimCommand_Request_RESET:
        p->reset = true;
        p->seed = r->seed;
        break;
    case SimCommand_Request_SPEED:
        if (!(r->speed >= 0 && r->speed < 1e6f)) why = "that is no speed";
        if (!why) p->speed = r->speed;
        p->repace = true;
        break;
    case SimCommand_Request_LOOK: break;
    default: nm_stage_command(stage, r, to); why = to->success ? NULL : to->message;
    }
    to->success = !why;
    if (why != to->message) nm_text(to->message, "%s", why ? why : "");
    to->paused = p->paused;
    to->time = nm_seconds(nm_stage_now(stage));
    to->speed = (float)p->speed;
}

/* ---- words to commands ---- */

struct words {
    int n;
    char *at[8];
};

static bool number(const struct words *w, int i, double *to)
{
    char *end;
    if (i >= w->n) return false;
    *to = strtod(w->at[i], &end);
    return !*end && isfinite(*to);
}

static const char *step(const struct words *w, SimCommand_Request *r)
{
    double ms = 0;
    if (w->n > 1 && (!number(w, 1, &ms) || ms <= 0)) return "step [MILLISECONDS]";
    r->duration = (float)(ms / 1000);
    return NULL;
}

static const char *reset(const struct words *w, SimCommand_Request *r)
{
    uint64_t last;
    bool wrong = w->n > 1 && (nm_seeds_parse(w->at[1], &r->seed, &last) || r->seed != last);
    return wrong ? "reset [SEED]" : NULL;
}

static const char *speed(const struct words *w, SimCommand_Request *r)
{
    double value = 0;
    bool most = w->n > 1 && !strcmp(w->at[1], "max");
    if (!most && (!number(w, 1, &value) || value <= 0)) return "use speed X or speed max";
    r->speed = (float)value;
    return NULL;
}

static const char *move(const struct words *w, SimCommand_Request *r)
{
    double x, y, degrees = 0;
    if (w->n < 4 || !number(w, 2, &x) || !number(w, 3, &y) || (w->n > 4 && !number(w, 4, &degrees)))
        return "use move NAME X Y [DEGREES]; NAME is a robot or ball";
    struct quat rot = quat_rpy(0, 0, degrees * M_PI / 180);
    nm_text(r->name, "%s", w->at[1]);
    r->pose = (Pose){{x, y, 0}, {rot.x, rot.y, rot.z, rot.w}};
    return NULL;
}

static const char *push(const struct words *w, SimCommand_Request *r)
{
    double x, y, z = 0;
    if (w->n < 4 || !number(w, 2, &x) || !number(w, 3, &y) || (w->n > 4 && !number(w, 4, &z)))
        return "use push NAME X Y [Z], in newton seconds along the axes of the field";
    nm_text(r->name, "%s", w->at[1]);
    r->impulse = (Vector3){x, y, z};
    return NULL;
}

/* "break kid imu lost", "break kid servo limp left_knee 2" */
static const char *fault(const struct words *w, SimCommand_Request *r)
{
    double seconds = 0;
    if (w->n < 4) return "use break ROBOT FAULT [PART] [SECONDS], such as break kid servo limp left_knee 2";
    int next = 4;
    nm_text(r->name, "%s", w->at[1]);
    nm_text(r->fault, "%s %s", w->at[2], w->at[3]);
    if (next < w->n && !number(w, next, &seconds)) nm_text(r->part, "%s", w->at[next++]);
    if (next < w->n && !number(w, next, &seconds)) return "the last word of break is a number of seconds";
    r->duration = (float)seconds;
    return NULL;
}

/* ---- words that are no commands ---- */

static void set(struct nm_stage *stage, const struct words *w, FILE *to)
{
    struct nm_err err = {0};
    int32_t robot = w->n > 2 ? nm_stage_find(stage, w->at[1]) : -1;
    if (robot < 0)
        fputs("use set ROBOT INSTANCE.PARAMETER=VALUE\n", to);
    else if (nm_stage_set(stage, (uint32_t)robot, w->at[2], &err))
        fputs(err.text, to);
}

static void where(const struct sim_prompt *p, struct nm_stage *stage, FILE *to)
{
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    fprintf(to, "%.3f s%s\n", nm_seconds(nm_stage_now(stage)), p->paused ? ", paused" : "");
    for (uint32_t i = 0; i < nm_stage_robots(stage); i++) {
        struct nm_whereabouts at;
        nm_stage_whereabouts(stage, i, &at);
        fprintf(to, "%-12s %7.3f %7.3f %6.0f deg%s\n", nm_stage_robot(stage, i)->name, at.base_to_field.pos.x,
                at.base_to_field.pos.y, quat_yaw(at.base_to_field.rot) * 180 / M_PI, at.fallen ? ", fallen" : "");
    }
    fprintf(to, "%-12s %7.3f %7.3f %6.2f m/s\n", "ball", ball.x, ball.y, vec3_norm(velocity));
}

/* ---- a line ---- */

enum { SET = 256, WHERE, HELP, QUIT }; /* beyond the numbers of commands */

static const struct {
    const char *word, *about;
    int command;
    const char *(*fill)(const struct words *, SimCommand_Request *); /* returns how it is used if the words are wrong */
} rows[] = {
    {"pause", "stops the clock", SimCommand_Request_PAUSE, NULL},
    {"resume", "lets it run again", SimCommand_Request_RESUME, NULL},
    {"step", "[MS]: runs for MS ms (default: one physical step), then pauses", SimCommand_Request_STEP, step},
    {"reset", "[SEED]: starts again", SimCommand_Request_RESET, reset},
    {"speed", "X|max: speed relative to real time", SimCommand_Request_SPEED, speed},
    {"move", "NAME X Y [DEGREES]: moves a robot or the ball there", SimCommand_Request_MOVE, move},
    {"push", "NAME X Y [Z]: pushes with an impulse, newton seconds", SimCommand_Request_PUSH, push},
    {"break", "ROBOT FAULT [PART] [SECONDS]: breaks a sensor, a servo, the bus or the computer",
     SimCommand_Request_FAULT, fault},
    {"set", "ROBOT INSTANCE.PARAMETER=VALUE", SET, NULL},
    {"where", "shows where robots and ball are", WHERE, NULL},
    {"help", "this list", HELP, NULL},
    {"quit", "ends it", QUIT, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void act(struct sim_prompt *p, struct nm_stage *stage, int row, const struct words *w, FILE *to)
{
    SimCommand_Request request = {.command = (uint8_t)rows[row].command};
    SimCommand_Response response = {0};
    const char *usage = rows[row].fill ? rows[row].fill(w, &request) : NULL;
    switch (rows[row].command) {
    case SET: set(stage, w, to); return;
    case WHERE: where(p, stage, to); return;
    case QUIT: p->quit = true; return;
    case HELP:
        for (int i = 0; i < ROWS; i++) fprintf(to, "  %-8s %s\n", rows[i].word, rows[i].about);
        return;
    default: break;
    }
    if (!usage) sim_prompt_command(p, stage, &request, &response);
    if (!response.success) fprintf(to, "%s\n", usage ? usage : response.message);
    if (request.command == SimCommand_Request_PAUSE) fprintf(to, "paused at %.3f s\n", response.time);
}

void sim_prompt_line(struct sim_prompt *prompt, struct nm_stage *stage, const char *line, FILE *to)
{
    char copy[sizeof prompt->line], *rest = NULL;
    struct words words = {0};
    const char *names[ROWS];
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \t\r\n", &rest); word && words.n < 8; word = strtok_r(NULL, " \t\r\n", &rest))
        words.at[words.n++] = word;
    if (!words.n) return;
    int row = 0;
    for (; row < ROWS && strcmp(rows[row].word, words.at[0]); row++) names[row] = rows[row].word;
    if (row < ROWS)
        act(prompt, stage, row, &words, to);
    else
        fprintf(to, "there is no command '%s'%s\n", words.at[0], nm_hint(words.at[0], names, ROWS).text);
    fflush(to);
}

/* A line too long for any command is dropped. */
static void feed(struct sim_prompt *p, struct nm_stage *stage, char c)
{
    if (c == '\n') {
        p->line[p->n] = '\0';
        p->n = 0;
        sim_prompt_line(p, stage, p->line, stdout);
    } else if (p->n + 1 < sizeof p->line) {
        p->line[p->n++] = c;
    }
}

void sim_prompt_serve(struct sim_prompt *p, struct nm_stage *stage)
{
    struct pollfd from = {.fd = STDIN_FILENO, .events = POLLIN};
    if (p->until != INT64_MAX) return;
    if (p->in_at == p->in_n && p->open && poll(&from, 1, 0) > 0) {
        ssize_t n = read(STDIN_FILENO, p->in, sizeof p->in);
        p->in_at = 0;
        p->in_n = n > 0 ? (size_t)n : 0;
        if (n == 0) p->open = p->paused = false; /* nobody is there any more: the rest runs by itself */
    }
    while (p->in_at < p->in_n && p->until == INT64_MAX && !p->quit && !p->reset) feed(p, stage, p->in[p->in_at++]);
}

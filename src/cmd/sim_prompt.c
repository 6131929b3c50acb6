/* Words at the keyboard that steer a running simulation: the commands of SimCommand.srv, and a few that only look. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sim_play.h"

struct words {
    int n;
    char *at[8];
};

static void say(FILE *to, const char *sentence)
{
    fprintf(to, "%s\n", sentence);
    fflush(to);
}

static bool number(const struct words *w, int i, double *to)
{
    char *end;
    if (i >= w->n) return false;
    *to = strtod(w->at[i], &end);
    return !*end && isfinite(*to);
}

/* ---- the clock ---- */

static const char *pause_it(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    (void)w;
    p->paused = true;
    fprintf(to, "paused at %.3f s\n", nm_seconds(nm_stage_now(stage)));
    return NULL;
}

static const char *resume(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    (void)stage;
    (void)w;
    (void)to;
    p->paused = false;
    p->until = INT64_MAX;
    p->repace = true;
    return NULL;
}

static const char *step(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    double ms = (double)nm_stage_tick(stage) * 1e-6;
    (void)to;
    if (w->n > 1 && (!number(w, 1, &ms) || ms <= 0)) return "step [MILLISECONDS]";
    p->paused = false;
    p->until = nm_stage_now(stage) + nm_ns(ms / 1000);
    p->repace = true;
    return NULL;
}

static const char *reset(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    uint64_t seed = 0, last;
    (void)stage;
    (void)to;
    if (w->n > 1 && (nm_seeds_parse(w->at[1], &seed, &last) || seed != last)) return "reset [SEED]";
    p->reset = true;
    p->seed = seed;
    return NULL;
}

static const char *speed(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    double value = 0;
    (void)stage;
    (void)to;
    bool most = w->n > 1 && !strcmp(w->at[1], "max");
    if (!most && (!number(w, 1, &value) || value <= 0)) return "use speed X or speed max";
    p->speed = most ? 0 : value;
    p->repace = true;
    return NULL;
}

static const char *quit(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    (void)stage;
    (void)w;
    (void)to;
    p->quit = true;
    return NULL;
}

/* ---- the world ---- */

static const char *command(struct nm_stage *stage, const SimCommand_Request *request, FILE *to)
{
    SimCommand_Response response = {0};
    nm_stage_command(stage, request, &response);
    if (!response.success) say(to, response.message);
    return NULL;
}

static const char *move(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    SimCommand_Request request = {.command = SimCommand_Request_MOVE};
    double x, y, degrees = 0;
    (void)p;
    if (w->n < 4 || !number(w, 2, &x) || !number(w, 3, &y) || (w->n > 4 && !number(w, 4, &degrees)))
        return "use move NAME X Y [DEGREES]; NAME is a robot or ball";
    struct quat rot = quat_rpy(0, 0, degrees * M_PI / 180);
    nm_text(request.name, "%s", w->at[1]);
    request.pose = (Pose){{x, y, 0}, {rot.x, rot.y, rot.z, rot.w}};
    return command(stage, &request, to);
}

static const char *push(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    SimCommand_Request request = {.command = SimCommand_Request_PUSH};
    double x, y, z = 0;
    (void)p;
    if (w->n < 4 || !number(w, 2, &x) || !number(w, 3, &y) || (w->n > 4 && !number(w, 4, &z)))
        return "use push NAME X Y [Z], in newton seconds along the axes of the field";
    nm_text(request.name, "%s", w->at[1]);
    request.impulse = (Vector3){x, y, z};
    return command(stage, &request, to);
}

static const char *set(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    struct nm_err err = {0};
    int32_t robot = w->n > 2 ? nm_stage_find(stage, w->at[1]) : -1;
    (void)p;
    if (robot < 0) return "use set ROBOT INSTANCE.PARAMETER=VALUE";
    if (nm_stage_set(stage, (uint32_t)robot, w->at[2], &err)) fprintf(to, "%s", err.text);
    return NULL;
}

static const char *where(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    (void)w;
    fprintf(to, "%.3f s%s\n", nm_seconds(nm_stage_now(stage)), p->paused ? ", paused" : "");
    for (uint32_t i = 0; i < nm_stage_robots(stage); i++) {
        struct nm_whereabouts at;
        nm_stage_whereabouts(stage, i, &at);
        fprintf(to, "%-12s %7.3f %7.3f %6.0f deg%s\n", nm_stage_robot(stage, i)->name, at.base_to_field.pos.x,
                at.base_to_field.pos.y, quat_yaw(at.base_to_field.rot) * 180 / M_PI, at.fallen ? ", fallen" : "");
    }
    fprintf(to, "%-12s %7.3f %7.3f %6.2f m/s\n", "ball", ball.x, ball.y, vec3_norm(velocity));
    return NULL;
}

/* "break kid imu lost", "break kid servo limp left_knee 2" */
static const char *fault(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    SimCommand_Request request = {.command = SimCommand_Request_FAULT};
    double seconds = 0;
    (void)p;
    if (w->n < 4) return "use break ROBOT FAULT [PART] [SECONDS], such as break kid servo limp left_knee 2";
    int next = 4;
    nm_text(request.name, "%s", w->at[1]);
    nm_text(request.fault, "%s %s", w->at[2], w->at[3]);
    if (next < w->n && !number(w, next, &seconds)) nm_text(request.part, "%s", w->at[next++]);
    if (next < w->n && !number(w, next, &seconds)) return "the last word of break is a number of seconds";
    request.duration = (float)seconds;
    return command(stage, &request, to);
}

static const char *help(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to);

static const struct {
    const char *word, *about;
    const char *(*act)(struct sim_prompt *, struct nm_stage *, const struct words *, FILE *);
} rows[] = {
    {"pause", "stops the clock", pause_it},
    {"resume", "lets it run again", resume},
    {"step", "[MS]: runs for MS ms (default: one physical step), then pauses", step},
    {"reset", "[SEED]: starts again", reset},
    {"speed", "X|max: speed relative to real time", speed},
    {"move", "NAME X Y [DEGREES]: moves a robot or the ball there", move},
    {"push", "NAME X Y [Z]: pushes with an impulse, newton seconds", push},
    {"break", "ROBOT FAULT [PART] [SECONDS]: breaks a sensor, a servo, the bus or the computer", fault},
    {"set", "ROBOT INSTANCE.PARAMETER=VALUE", set},
    {"where", "shows where robots and ball are", where},
    {"help", "this list", help},
    {"quit", "ends it", quit},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char *help(struct sim_prompt *p, struct nm_stage *stage, const struct words *w, FILE *to)
{
    (void)p;
    (void)stage;
    (void)w;
    for (int i = 0; i < ROWS; i++) fprintf(to, "  %-8s %s\n", rows[i].word, rows[i].about);
    return NULL;
}

/* ---- the same from viewers ---- */

void sim_prompt_command(struct sim_prompt *p, struct nm_stage *stage, const SimCommand_Request *r,
                        SimCommand_Response *to)
{
    const char *why = NULL;
    switch (r->command) {
    case SimCommand_Request_PAUSE: p->paused = true; break;
    case SimCommand_Request_STEP:
        if (!(r->duration >= 0 && r->duration < 1e6f)) why = "that is no duration";
        if (!why) p->until = nm_stage_now(stage) + (r->duration > 0 ? nm_ns(r->duration) : nm_stage_tick(stage));
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

void sim_prompt_line(struct sim_prompt *prompt, struct nm_stage *stage, const char *line, FILE *to)
{
    char copy[sizeof prompt->line], *rest = NULL;
    struct words words = {0};
    const char *names[ROWS];
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \t\r\n", &rest); word && words.n < 8; word = strtok_r(NULL, " \t\r\n", &rest))
        words.at[words.n++] = word;
    if (!words.n) return;
    for (int i = 0; i < ROWS; i++) {
        names[i] = rows[i].word;
        if (strcmp(rows[i].word, words.at[0])) continue;
        const char *usage = rows[i].act(prompt, stage, &words, to);
        if (usage) say(to, usage);
        fflush(to);
        return;
    }
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

void sim_prompt_serve(struct sim_prompt *p, struct nm_stage *stage, int timeout)
{
    struct pollfd from = {.fd = STDIN_FILENO, .events = POLLIN};
    if (p->until != INT64_MAX) return;
    if (p->in_at == p->in_n && p->open && poll(&from, 1, timeout) > 0) {
        ssize_t n = read(STDIN_FILENO, p->in, sizeof p->in);
        p->in_at = 0;
        p->in_n = n > 0 ? (size_t)n : 0;
        if (n == 0) p->open = p->paused = false; /* nobody is there any more: the rest runs by itself */
    }
    while (p->in_at < p->in_n && p->until == INT64_MAX && !p->quit && !p->reset) feed(p, stage, p->in[p->in_at++]);
}

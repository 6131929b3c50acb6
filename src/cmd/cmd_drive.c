/* nutmeg drive: a person's hands on a robot. Keys or a joystick become walking velocities, kicks and animations, said
 * to a running player over its control socket; where none runs, a simulated robot is started to be driven. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "edge/control/client.h"
#include "edge/teleop/joystick.h"

static const int64_t hold = 600000000;        /* ns that a key counts; longer than a terminal waits to repeat it */
static const int64_t speak_every = 100000000; /* ns between two velocities                                      */
static const int64_t show_every = 200000000;  /* ns                                                             */
static const int start_patience = 20;         /* s until a simulated robot must be there                        */
enum { LOOK_EVERY = 20 };                     /* ms */

struct velocity {
    double ahead, left, turn; /* m/s, m/s, rad/s */
};

struct drive {
    const char *name, *robot, *joy; /* flags; NULL: not given */
    double speed;                   /* m/s ahead at the stick's end */

    struct nm_arena arena;
    struct nm_link *link, *state; /* what is said; what the robot says about itself, or NULL */
    bool has_kick, has_animation;
    double height; /* m, of the robot */
    pid_t sim;     /* 0: it was there before us */
    char scenario[64], told[160];

    int fd;   /* of keys or stick */
    bool raw; /* the terminal was changed */
    struct termios before;
    struct nm_keys keys;
    struct nm_joystick stick;
    uint8_t pressed; /* buttons of the stick that kick, as they were */
    struct velocity now;
    bool moves, over, line;
    char doing[128];
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- to the robot ---- */

static int say(struct drive *d, const char *topic, const char *message, struct nm_err *err)
{
    struct nm_request request = {.op = NM_CONTROL_SAY, .topic = topic, .message = message};
    const struct nm_yaml *answer = nm_link_ask(d->link, &d->arena, &request, err);
    nm_arena_free(&d->arena);
    return answer ? 0 : -1;
}

static int say_velocity(struct drive *d, struct nm_err *err)
{
    char text[160];
    snprintf(text, sizeof text, "{linear: {x: %.4f, y: %.4f}, angular: {z: %.4f}}", d->now.ahead, d->now.left,
             d->now.turn);
    return say(d, "cmd_vel", text, err);
}

/* A goal of an action has a number that nobody else's has. */
static int say_goal(struct drive *d, const char *action, const char *goal, struct nm_err *err)
{
    uint8_t id[16] = {0};
    char topic[96], text[512];
    int n = snprintf(text, sizeof text, "{goal_id: {uuid: [");
    if (getrandom(id, sizeof id, 0) < 0) id[0] = (uint8_t)nm_clock();
    for (int i = 0; i < 16; i++) n += snprintf(text + n, sizeof text - (size_t)n, "%s%u", i ? ", " : "", id[i]);
    snprintf(text + n, sizeof text - (size_t)n, "]}, goal: %s}", goal);
    snprintf(topic, sizeof topic, "%s/_action/send_goal/request", action);
    return say(d, topic, text, err);
}

static int animate(struct drive *d, const char *name, struct nm_err *err)
{
    char goal[64];
    if (!d->has_animation) return 0;
    snprintf(goal, sizeof goal, "{animation: %s}", name);
    return say_goal(d, "play_animation", goal, err);
}

/* The ball is taken to lie before that foot, as far as suits a robot so tall, and goes straight ahead. */
static int kick(struct drive *d, bool left, struct nm_err *err)
{
    char goal[160];
    double ahead = 0.285 * d->height, aside = (left ? 0.07 : -0.07) * d->height;
    if (!d->has_kick) return animate(d, left ? "kick_left" : "kick_right", err);
    snprintf(goal, sizeof goal, "{ball_pos: {x: %.3f, y: %.3f}, target: {x: 6, y: %.3f}}", ahead, aside, aside);
    return say_goal(d, "kick", goal, err);
}

static int kick_left(struct drive *d, struct nm_err *err) { return kick(d, true, err); }
static int kick_right(struct drive *d, struct nm_err *err) { return kick(d, false, err); }
static int stand_up(struct drive *d, struct nm_err *err) { return animate(d, "stand", err); }
static int sit_down(struct drive *d, struct nm_err *err) { return animate(d, "sit", err); }
static int leave(struct drive *d, struct nm_err *err)
{
    (void)err;
    d->over = true;
    return 0;
}

static const struct act {
    char key;
    const char *about;
    int (*act)(struct drive *d, struct nm_err *err);
} acts[] = {
    {'j', "kicks with the left foot", kick_left},
    {'k', "kicks with the right foot", kick_right},
    {'g', "stands up", stand_up},
    {'b', "sits down", sit_down},
    {'x', "ends", leave},
};
enum { ACTS = sizeof acts / sizeof *acts };

/* ---- a robot to drive ---- */

/* A simulated one, in a process of its own that shows everything to viewers. */
static int start_sim(struct drive *d, struct nm_err *err)
{
    const char *robot = d->robot ? d->robot : "kid70";
    snprintf(d->scenario, sizeof d->scenario, "/tmp/nutmeg-drive-XXXXXX.yaml");
    int file = mkstemps(d->scenario, 5), out[2] = {-1, -1};
    FILE *text = file < 0 ? NULL : fdopen(file, "w");
    if (!text || pipe2(out, O_CLOEXEC)) return nm_fail(err, "a simulated robot cannot be started: %s", strerror(errno));
    fprintf(text,
            "about: a robot to drive\nfield: kid\nrobot: %s\nlineup: motion\nduration: 100000 s\n"
            "robots: [{name: %s, at: [-1, 0, 0]}]\nball: {at: [0.5, 0]}\n",
            robot, d->name ? d->name : robot);
    fclose(text);
    pid_t parent = getpid();
    d->sim = fork();
    if (d->sim == 0) {
        int none = open("/dev/null", O_RDONLY);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(0);
        dup2(none, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(out[1], STDERR_FILENO);
        setpgid(0, 0); /* Ctrl-C is ours: the robot is stopped before it goes */
        execl("/proc/self/exe", "nutmeg", "sim", d->scenario, "--interactive", "--live=0", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    if (d->sim < 0) d->sim = 0;
    /* its first words are where viewers find it, or what is wrong */
    FILE *words = fdopen(out[0], "r");
    if (d->sim && words && fgets(d->told, sizeof d->told, words)) d->told[strcspn(d->told, "\n")] = '\0';
    if (words) fclose(words);
    if (!d->sim) return nm_fail(err, "a simulated robot cannot be started: %s", strerror(errno));
    return 0;
}

static int await_sim(struct drive *d, struct nm_err *err)
{
    const char *name = d->name ? d->name : d->robot ? d->robot : "kid70";
    for (int i = 0; i < 20 * start_patience && !interrupted; i++) {
        struct nm_err quiet = {0};
        int status;
        if (waitpid(d->sim, &status, WNOHANG) == d->sim) {
            d->sim = 0;
            return nm_fail(err, "the simulated robot does not start: %s", d->told);
        }
        if ((d->link = nm_link_open(NULL, name, &quiet))) return 0;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return nm_fail(err, "the simulated robot does not answer");
}

static bool has_topic(const struct nm_yaml *topics, const char *name)
{
    nm_yaml_each(item, topics) if (!strcmp(nm_reply_text(item, "name"), name)) return true;
    return false;
}

static int look_at_it(struct drive *d, struct nm_err *err)
{
    struct nm_request request = {.op = NM_CONTROL_TOPICS};
    const struct nm_yaml *answer = nm_link_ask(d->link, &d->arena, &request, err);
    const struct nm_yaml *topics = answer ? nm_yaml_get(answer, "topics") : NULL;
    if (!topics) return -1;
    bool walks = has_topic(topics, "cmd_vel"), tells = has_topic(topics, "hcm_state");
    d->has_kick = has_topic(topics, "kick/_action/send_goal/request");
    d->has_animation = has_topic(topics, "play_animation/_action/send_goal/request");
    nm_arena_free(&d->arena);
    if (!walks) return nm_fail(err, "its line-up does not read cmd_vel, so it cannot be driven");
    if (!tells || !(d->state = nm_link_open(NULL, d->name, NULL))) return 0;
    request = (struct nm_request){.op = NM_CONTROL_ECHO, .topic = "hcm_state"};
    nm_link_ask(d->state, &d->arena, &request, NULL);
    return 0;
}

/* From its folder, if that is here too. */
static double height_of(struct drive *d)
{
    const double usual = 0.7; /* m */
    struct nm_request request = {.op = NM_CONTROL_INFO};
    struct setup setup;
    setup_begin(&setup);
    const struct nm_yaml *info = nm_link_ask(d->link, &setup.arena, &request, NULL);
    const char *robot = d->robot ? d->robot : info ? nm_reply_text(info, "robot") : "";
    const char *folder = nm_path(&setup.arena, nm_path(&setup.arena, setup.root, "robots"), robot);
    const struct nm_body *body =
        *robot ? nm_body_load(&setup.arena, nm_folder_exists(folder) ? folder : robot, NULL) : NULL;
    double height = body ? body->height : usual;
    setup_end(&setup);
    return height;
}

/* A running one, if there is one to be meant; else one of our own. */
static int find_robot(struct drive *d, struct nm_err *err)
{
    const char *names[16];
    uint32_t n = nm_link_names(NULL, &d->arena, names, 16);
    bool named = false;
    for (uint32_t i = 0; d->name && i < n && i < 16; i++) named |= !strcmp(names[i], d->name);
    nm_arena_free(&d->arena);
    bool ours = d->robot || !n;
    if (d->name && !named && !d->robot && n) ours = false; /* the sentence names those that run */
    if (!ours)
        d->link = nm_link_open(NULL, d->name, err);
    else if (named)
        return nm_fail(err, "a player called %s runs already: drive it without --robot, or choose another --name",
                       d->name);
    else if (!cmd_sim)
        return nm_fail(err, "no player runs here, and this program was built without the simulator");
    else if (start_sim(d, err) || await_sim(d, err))
        return -1;
    if (ours && !d->name) d->name = d->robot ? d->robot : "kid70";
    if (!d->link || look_at_it(d, err)) return -1;
    d->height = height_of(d);
    return 0;
}

/* ---- hands ---- */

static int open_hands(struct drive *d, struct nm_err *err)
{
    struct termios raw;
    d->fd = open(d->joy ? d->joy : "/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (d->joy) return d->fd < 0 ? nm_fail(err, "%s: %s", d->joy, strerror(errno)) : 0;
    if (d->fd < 0 || tcgetattr(d->fd, &d->before))
        return nm_fail(err, "there is no terminal to read keys from (--joy takes a joystick): %s", strerror(errno));
    raw = d->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* a robot is not to walk on while its driver is suspended */
    d->raw = !tcsetattr(d->fd, TCSANOW, &raw);
    nm_keys_begin(&d->keys, hold);
    return 0;
}

static void show_help(const struct drive *d)
{
    if (d->joy)
        printf("left stick: walk; right stick: turn; hold button 4 to drive; buttons 0 and 1: kick\n");
    else
        printf("w s or the arrows: ahead, back    a d: aside    q e or the arrows: turn    with Shift: fast\n"
               "space: stop");
    for (int i = 0; i < ACTS && !d->joy; i++)
        if (acts[i].act == leave || d->has_animation || (d->has_kick && i < 2))
            printf("    %c: %s", acts[i].key, acts[i].about);
    printf("\n");
    fflush(stdout);
}

/* As the module teleop has it: slower back and aside, where walks fall sooner. */
static struct velocity velocity_of(const struct drive *d, const struct nm_joy *joy)
{
    bool enabled = joy->n_buttons > NM_KEYS_ENABLE && joy->buttons[NM_KEYS_ENABLE];
    double ahead = (double)joy->axes[NM_KEYS_AHEAD];
    if (!enabled) return (struct velocity){0, 0, 0};
    return (struct velocity){.ahead = ahead * d->speed * (ahead > 0 ? 1 : 0.5),
                             .left = 0.5 * d->speed * (double)joy->axes[NM_KEYS_LEFT],
                             .turn = 2.5 * d->speed * (double)joy->axes[NM_KEYS_TURN]};
}

static int press(struct drive *d, const struct act *act, struct nm_err *err)
{
    snprintf(d->doing, sizeof d->doing, "%s", act->about);
    return act->act(d, err);
}

/* Keys that do something are looked at one by one; all of them also stop, or drive. */
static int read_keys(struct drive *d, const uint8_t *bytes, size_t n, int64_t now, struct nm_err *err)
{
    for (size_t i = 0; i < n; i++) {
        bool free = !d->keys.escape;
        nm_keys_read(&d->keys, bytes + i, 1, now);
        for (int a = 0; free && a < ACTS; a++)
            if (bytes[i] == (uint8_t)acts[a].key && press(d, &acts[a], err)) return -1;
    }
    nm_keys_read(&d->keys, NULL, 0, now);
    d->now = velocity_of(d, &d->keys.joy);
    return 0;
}

static int read_stick(struct drive *d, const uint8_t *bytes, size_t n, struct nm_err *err)
{
    nm_joystick_read(&d->stick, bytes, n);
    uint8_t down = (uint8_t)(d->stick.joy.buttons[0] | d->stick.joy.buttons[1] << 1),
            fresh = down & (uint8_t)~d->pressed;
    d->pressed = down;
    d->now = velocity_of(d, &d->stick.joy);
    if ((fresh & 1 && press(d, &acts[0], err)) || (fresh & 2 && press(d, &acts[1], err))) return -1;
    return 0;
}

static int read_hands(struct drive *d, int64_t now, struct nm_err *err)
{
    uint8_t bytes[256];
    struct pollfd from = {.fd = d->fd, .events = POLLIN};
    poll(&from, 1, LOOK_EVERY);
    ssize_t n = read(d->fd, bytes, sizeof bytes);
    bool gone = (n < 0 && errno != EAGAIN && errno != EINTR) || (from.revents & POLLHUP && n <= 0);
    if (gone) return nm_fail(err, "%s is gone; the robot is stopped", d->joy ? d->joy : "the terminal");
    size_t some = n > 0 ? (size_t)n : 0;
    return d->joy ? read_stick(d, bytes, some, err) : read_keys(d, bytes, some, now, err);
}

/* ---- driving ---- */

static void show(struct drive *d)
{
    const struct nm_yaml *news;
    while (d->state && (news = nm_link_next(d->state, &d->arena, 0, NULL))) {
        const char *at = strstr(nm_reply_text(news, "text"), "\nreason: \"");
        if (at) snprintf(d->told, sizeof d->told, "%.*s", (int)strcspn(at + 10, "\"\n"), at + 10);
        nm_arena_free(&d->arena);
    }
    if (!isatty(STDOUT_FILENO)) return;
    clear_line(stdout);
    printf("ahead %5.2f m/s  left %5.2f m/s  turn %5.2f rad/s  %.60s  %.60s", d->now.ahead, d->now.left, d->now.turn,
           d->told, d->doing);
    fflush(stdout);
    d->line = true;
}

/* While nobody drives nothing is said, so that somebody else may; the last word is a stop. */
static int drive(struct drive *d, struct nm_err *err)
{
    int64_t spoken = 0, shown = 0;
    while (!d->over && !interrupted) {
        int64_t now = nm_clock();
        if (read_hands(d, now, err)) return -1;
        bool moves = fabs(d->now.ahead) + fabs(d->now.left) + fabs(d->now.turn) > 0;
        if ((moves && now - spoken >= speak_every) || (!moves && d->moves)) {
            if (say_velocity(d, err)) return -1;
            spoken = now;
        }
        d->moves = moves;
        if (now - shown < show_every) continue;
        shown = now;
        show(d);
    }
    return 0;
}

static void finish(struct drive *d, struct nm_err *err)
{
    struct nm_err deaf = {0};
    d->now = (struct velocity){0, 0, 0};
    if (d->link && d->moves && say_velocity(d, &deaf))
        nm_fail(err, "the robot has not heard the stop: %.*s", (int)strcspn(deaf.text, "\n"), deaf.text);
    if (d->raw) tcsetattr(d->fd, TCSANOW, &d->before);
    if (d->fd >= 0) close(d->fd);
    if (d->line) printf("\n");
    nm_link_close(d->link);
    nm_link_close(d->state);
    if (d->sim) {
        kill(d->sim, SIGTERM);
        waitpid(d->sim, NULL, 0);
    }
    if (*d->scenario) unlink(d->scenario);
    nm_arena_free(&d->arena);
}

int cmd_drive(int argc, char **argv)
{
    struct drive d = {.fd = -1, .speed = 0.25};
    const struct flag flags[] = {
        TEXT("name", &d.name, "PLAYER", "the running player to drive (default: the only one)"),
        TEXT("robot", &d.robot, "ROBOT", "starts and drives a simulated robot from this folder in robots/"),
        TEXT("joy", &d.joy, "DEVICE", "uses a joystick such as /dev/input/js0 instead of the keyboard"),
        NUMBER("speed", &d.speed, 0.01, 2, "M/S",
               "top speed ahead, with a full stick or with Shift; half of it without Shift"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg drive", "", flags,
              "Drives a running robot by keyboard or joystick, through its control socket. If no robot runs,\n"
              "it starts a simulated one and shows it to viewers while it is driven.");
    struct nm_err err = {0};
    struct sigaction action = {.sa_handler = on_signal};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (d.robot) {
        struct setup setup;
        setup_begin(&setup);
        bool known = setup_robot(&setup, d.robot, &err);
        setup_end(&setup);
        if (!known) return complain(&err), EXIT_USAGE;
    }
    for (int i = 0; i < 4; i++) sigaction((int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT}[i], &action, NULL);
    int bad = find_robot(&d, &err) || open_hands(&d, &err);
    if (!bad) {
        if (*d.told) printf("%s\n", d.told);
        *d.told = '\0';
        show_help(&d);
        bad = drive(&d, &err);
    }
    finish(&d, &err);
    if (err.n) complain(&err);
    return bad || err.n ? EXIT_FAILED : EXIT_OK;
}

#include "cmd/animate_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/asking.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/sim_animate.h"
#include "codec/text.h"
#include "core/files.h"
#include "nutmeg_msgs/HcmState.h"
#include "sensor_msgs/JointState.h"

#define SHORTEST 0.1  /* s of a move      */
#define LONGEST  60e3 /* ms               */
#define STEEPEST 1.5  /* of a cubic curve against a straight line */
#define DEGREE   (M_PI / 180)

static double degrees(double rad) { return round(rad / DEGREE * 10) / 10 + 0.0; } /* and never -0 */

/* ---- frames ---- */

/* Nobody reads a joint more exactly than to a tenth of a degree, and encoders may show a little more than the limit. */
static double tidy(const struct nm_joint *joint, double q)
{
    return degrees(fmin(fmax(q, joint->lower), joint->upper)) * DEGREE;
}

/* As long as the slowest servo needs. */
static double time_needed(const struct recording *r, const struct nm_animation_frame *to)
{
    const struct nm_animation_frame *from = &r->frames[r->n - 1];
    double longest = SHORTEST;
    if (!r->n) return 0.5; /* the player makes the first move as slow as it must be */
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        if (!(from->joints & to->joints & 1ull << j)) continue;
        double speed = r->haste * r->body->joints[j].velocity;
        longest = fmax(longest, STEEPEST * fabs(to->goal[j] - from->goal[j]) / speed);
    }
    return ceil(longest * 100) / 100;
}

static int take(struct recording *r, double seconds, FILE *to, struct nm_err *err)
{
    struct nm_animation_frame frame = {.stiffness = 1};
    double q[NM_JOINTS] = {0};
    if (r->n == NM_ANIMATION_FRAMES)
        return nm_fail(err, "an animation can have at most %d frames", NM_ANIMATION_FRAMES);
    if (r->hand.feel(r->hand.self, q, &frame.joints, err)) return -1;
    if (!frame.joints) return nm_fail(err, "no joint has answered yet");
    for (uint32_t j = 0; j < r->body->n_joints; j++)
        if (frame.joints >> j & 1) frame.goal[j] = tidy(&r->body->joints[j], q[j]);
    double begin = r->n ? r->frames[r->n - 1].until : 0;
    frame.at = frame.until = begin + (seconds > 0 ? seconds : time_needed(r, &frame));
    frame.line = r->n + 1;
    r->frames[r->n++] = frame;
    fprintf(to, "frame %u: %d joints, %.0f ms\n", r->n, __builtin_popcountll(frame.joints), 1000 * (frame.at - begin));
    return 0;
}

/* ---- words ---- */

static bool number(const char *word, double least, double most, double *to)
{
    char *end;
    *to = strtod(word, &end);
    return end != word && !*end && *to >= least && *to <= most;
}

static int pause_last(struct recording *r, const char *rest, FILE *to, struct nm_err *err)
{
    double ms;
    if (!number(rest, 0, LONGEST, &ms)) return nm_fail(err, "pause wants milliseconds from 0 to %.0f", LONGEST);
    if (!r->n) return nm_fail(err, "there is no frame yet");
    struct nm_animation_frame *last = &r->frames[r->n - 1];
    last->until = last->at + ms / 1000;
    fprintf(to, "frame %u is held for %.0f ms\n", r->n, ms);
    return 0;
}

static int undo(struct recording *r, const char *rest, FILE *to, struct nm_err *err)
{
    (void)rest;
    if (!r->n) return nm_fail(err, "there is no frame yet");
    r->n--;
    fprintf(to, "frames: %u\n", r->n);
    return 0;
}

static int list(struct recording *r, const char *rest, FILE *to, struct nm_err *err)
{
    (void)rest;
    if (!r->n) return nm_fail(err, "there is no frame yet");
    for (uint32_t i = 0; i < r->n; i++) {
        const struct nm_animation_frame *f = &r->frames[i];
        fprintf(to, "%2u at %.2f s, held for %.2f s:", i + 1, f->at, f->until - f->at);
        for (uint32_t j = 0; j < r->body->n_joints; j++)
            if (f->joints >> j & 1) fprintf(to, " %s %.1f", r->body->joints[j].name, degrees(f->goal[j]));
        fprintf(to, "\n");
    }
    return 0;
}

static const struct {
    const char *word;
    int (*act)(struct recording *r, const char *rest, FILE *to, struct nm_err *err);
} words[] = {{"pause", pause_last}, {"undo", undo}, {"list", list}};

/* `both_knee` moves the left one as told and the right one as its mirror image. */
static int move(struct recording *r, const char *name, const char *rest, struct nm_err *err)
{
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS], angle;
    char left[64];
    bool both = !strncmp(name, "both_", 5);
    snprintf(left, sizeof left, "%s%.50s", both ? "left_" : "", both ? name + 5 : name);
    int32_t joint = nm_find_joint(r->body, left);
    if (joint < 0)
        return nm_fail(err,
                       "%s is neither a command nor a joint; use Enter, MS, pause MS, undo, list, JOINT DEGREES or end",
                       name);
    if (!number(rest, -360, 360, &angle)) return nm_fail(err, "%s DEGREES", name);
    if (!r->hand.move) return nm_fail(err, "this robot is real: move its joints by hand");
    nm_mirror_joints(r->body, twin, sign);
    angle *= DEGREE;
    if (r->hand.move(r->hand.self, (uint32_t)joint, angle, err)) return -1;
    return both ? r->hand.move(r->hand.self, twin[joint], sign[joint] * angle, err) : 0;
}

bool recording_line(struct recording *r, const char *line, FILE *to)
{
    struct nm_err err = {0};
    char word[64] = "", rest[64] = "";
    double ms;
    int n = sscanf(line, "%63s %63s", word, rest);
    size_t i = 0;
    while (i < sizeof words / sizeof *words && strcmp(word, words[i].word) != 0) i++;
    if (n > 0 && !strcmp(word, "end")) return true;
    if (n < 1)
        take(r, 0, to, &err);
    else if (number(word, 1, LONGEST, &ms))
        take(r, ms / 1000, to, &err);
    else if (i < sizeof words / sizeof *words)
        words[i].act(r, rest, to, &err);
    else
        move(r, word, rest, &err);
    fputs(err.text, to);
    fflush(to);
    return false;
}

struct nm_animation recording_animation(struct recording *r, const char *name, const char *about, const char *file)
{
    struct nm_animation a = {.name = name, .about = about, .file = file, .cubic = true};
    a.frames = r->frames;
    a.n_frames = r->n;
    for (uint32_t i = 0; i < r->n; i++) a.joints |= r->frames[i].joints;
    a.duration = r->n ? r->frames[r->n - 1].until : 0;
    return a;
}

/* Records an animation from a limp robot: one that runs, over its control socket (the manager makes it limp by the
 * parameter hcm.limp), or a simulated one whose joints are moved by words. */

/* ---- a robot that runs ---- */

struct running {
    const char *to; /* the player's name, or NULL: the only one */
    const struct nm_body *body;
};

/* The next message of a topic; -1 with a sentence. */
static int look(const char *to, const char *topic, const struct nm_type *type, void *message, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct nm_link *link = nm_link_open(NULL, to, err);
    const struct nm_yaml *said = NULL;
    int bad = -1;
    if (link && nm_link_ask(link, &arena, &(struct nm_request){.op = NM_CONTROL_ECHO, .topic = topic}, err))
        said = nm_link_next(link, &arena, 2000, err);
    if (said) {
        const char *text = nm_reply_text(said, "text");
        bad = nm_parse_text(type, message, topic, text, strlen(text), NULL, err);
    } else if (link && !err->n) {
        nm_fail(err, "no message came on %s for 2 s; nutmeg why %s shows the reason", topic, topic);
    }
    if (link) nm_link_close(link);
    nm_arena_free(&arena);
    return bad;
}

static int feel(void *self, double q[], uint64_t *known, struct nm_err *err)
{
    const struct running *r = self;
    JointState state = {0};
    if (look(r->to, "joint_states", &JointState_type, &state, err)) return -1;
    for (uint32_t i = 0; i < state.name.n && i < state.position.n; i++) {
        int32_t joint = nm_find_joint(r->body, state.name.at[i]);
        if (joint < 0) continue;
        q[joint] = state.position.at[i];
        *known |= 1ull << joint;
    }
    return 0;
}

static int set_limp(const char *to, bool limp, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const char *const set[] = {limp ? "hcm.limp=true" : "hcm.limp=false"};
    struct nm_link *link = nm_link_open(NULL, to, err);
    bool ok =
        link && nm_link_ask(link, &arena, &(struct nm_request){.op = NM_CONTROL_SET, .n_set = 1, .set = set}, err);
    if (link) nm_link_close(link);
    nm_arena_free(&arena);
    return ok ? 0 : -1;
}

/* The manager makes it limp where its state allows that; -1 with the reason where it does not. */
static int make_limp(const char *to, struct nm_err *err)
{
    HcmState state = {0};
    if (set_limp(to, true, err)) return -1;
    for (int i = 0; i < 20; i++) {
        if (look(to, "hcm_state", &HcmState_type, &state, err)) return -1;
        if (state.state == HcmState_RECORD) return 0;
        if (!pause_for(0.1)) break;
    }
    set_limp(to, false, err);
    return nm_fail(err, "the robot cannot be made limp now (%s): stand it up or end its penalty, then try again",
                   state.reason);
}

/* The folder of the robot that runs; NULL with a sentence. */
static const char *running_robot(struct setup *setup, const char *to, struct nm_err *err)
{
    struct nm_link *link = nm_link_open(NULL, to, err);
    const struct nm_yaml *info =
        link ? nm_link_ask(link, &setup->arena, &(struct nm_request){.op = NM_CONTROL_INFO}, err) : NULL;
    const char *robot = info ? nm_reply_text(info, "robot") : "";
    if (link) nm_link_close(link);
    if (info && !*robot) nm_fail(err, "the running line-up has no robot");
    return *robot ? robot : NULL;
}

/* ---- the file ---- */

/* Written even with faults, for a file can be mended where a recording is lost; but it says so. */
static int write_file(struct setup *setup, struct recording *r, const char *path, const char *about, struct nm_err *err)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *name = nm_take_format(&setup->arena, "%.*s", (int)strcspn(base, "."), base);
    struct nm_animation a = recording_animation(r, name, about, path);
    if (!r->n) return nm_fail(err, "no frame was taken, so no file is written");
    const char *text = nm_animation_text(&setup->arena, r->body, &a);
    if (nm_file_replace(path, text, strlen(text), err)) return -1;
    const struct nm_animation *written = nm_animation_read(&setup->arena, r->body, path, err);
    if (!written) return -1;
    uint32_t faults = nm_animation_check(r->body, written, err);
    printf("%s: %u frames, %.2f s, %u faults\n", path, a.n_frames, a.duration, faults);
    return faults ? -1 : 0;
}

/* Ctrl-C ends it like `end`: the robot must not stay limp. */
static void take_lines(struct recording *r)
{
    char line[256];
    bool over = false;
    printf("Enter takes a frame; MS, pause MS, undo, list, end%s\n", r->hand.move ? ", JOINT DEGREES" : "");
    fflush(stdout);
    while (!over && pause_for(0) && fgets(line, sizeof line, stdin)) over = recording_line(r, line, stdout);
}

/* ---- the command ---- */

struct record_flags {
    const char *robot, *to, *out, *about;
    bool sim, force;
    double haste;
};

static int record(struct setup *setup, const struct record_flags *f, const char *name, struct nm_err *err)
{
    struct running running = {.to = f->to};
    struct recording *r = nm_take(&setup->arena, sizeof *r);
    *r = (struct recording){.haste = f->haste};
    const char *robot = f->sim ? f->robot : running_robot(setup, f->to, err);
    const char *folder = robot ? animate_folder(setup, robot) : NULL;
    r->body = folder ? nm_body_load(&setup->arena, folder, err) : NULL;
    if (!r->body) return -1;
    const char *path = f->out ? f->out : nm_take_format(&setup->arena, "%s/animations/%s.yaml", folder, name);
    if (nm_file_exists(path) && !f->force) return nm_fail(err, "%s exists already; --force replaces it", path);
    running.body = r->body;
    r->hand = (struct hand){.self = &running, .feel = feel};
    if (f->sim && !sim_hand_new) return nm_fail(err, "this program was built without the simulator");
    const char *field = nm_path(&setup->arena, setup->root, "fields/kid.yaml");
    if (f->sim ? sim_hand_new(&setup->arena, r->body, field, &r->hand, err) : make_limp(f->to, err)) return -1;
    take_lines(r);
    if (f->sim)
        sim_hand_free(&r->hand);
    else
        set_limp(f->to, false, err);
    return write_file(setup, r, path, f->about, err);
}

int animate_record(int argc, char **argv)
{
    struct record_flags f = {.robot = "kid70", .about = "recorded by hand", .haste = 0.4};
    const struct flag flags[] = {
        TO_FLAG(&f.to),
        SWITCH("sim", &f.sim, "uses a simulated robot; typed commands move its joints"),
        TEXT("robot", &f.robot, "NAME", "with --sim: a folder in robots/ (default: kid70)", .letter = 'r'),
        TEXT("out", &f.out, "FILE", "the file to write (default: animations/NAME.yaml of the robot)", .letter = 'o'),
        TEXT("about", &f.about, "TEXT", "a description that is written into the file"),
        NUMBER("haste", &f.haste, 0.05, 0.9, "X", "speed of moves without a time, as a share of the servos' top speed"),
        SWITCH("force", &f.force, "replaces a file that exists"),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg animate record", "NAME", flags,
              "Makes a running robot limp and records a frame of an animation each time you press Enter.\n"
              "At the end it writes the file and checks it. Hold the robot: it cannot stand while it is\n"
              "limp. It stands up again when the recording ends.\n"
              "  (Enter)   records a frame              MS    records a frame; the move to it takes MS ms\n"
              "  pause MS  holds the last frame longer  undo  removes the last frame\n"
              "  list      shows all frames             end   writes the file\n"
              "  JOINT DEGREES  moves a joint of a simulated robot; both_… moves a left and right pair");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    int fault = record(&setup, &f, argv[1], &err);
    if (err.n) complain(&err);
    setup_end(&setup);
    return fault ? EXIT_FAILED : EXIT_OK;
}

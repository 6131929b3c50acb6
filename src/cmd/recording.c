#include "cmd/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

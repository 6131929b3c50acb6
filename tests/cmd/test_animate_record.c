/* A recording takes the poses that a hand gives a robot, gives each move the time that the servos need, and makes a
 * file that the checks accept. Words that make no sense are answered with a sentence and change nothing. */
#include "body/robots.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/animate_record.h"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct recording recording;
    double q[NM_JOINTS];
    uint64_t known;
    char *said;
    size_t size;
};

static int feel(void *self, double q[], uint64_t *known, struct nm_err *err)
{
    struct rig *r = self;
    if (!r->body) return nm_fail(err, "the robot is gone");
    memcpy(q, r->q, sizeof r->q);
    *known = r->known;
    return 0;
}

static int move(void *self, uint32_t joint, double angle, struct nm_err *err)
{
    struct rig *r = self;
    if (fabs(angle) > 2) return nm_fail(err, "%s does not turn so far", r->body->joints[joint].name);
    r->q[joint] = angle;
    return 0;
}

static void begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, KID70);
    r->known = (1ull << r->body->n_joints) - 1;
    r->recording = (struct recording){.body = r->body, .hand = {r, feel, move}, .haste = 0.4};
}

static void end(struct rig *r)
{
    free(r->said);
    nm_arena_free(&r->arena);
}

/* What it answered. */
static const char *say(struct rig *r, const char *line)
{
    free(r->said);
    r->said = NULL;
    FILE *to = open_memstream(&r->said, &r->size);
    assert_false(recording_line(&r->recording, line, to));
    fclose(to);
    return r->said;
}

static void frames_become_a_file_that_passes_the_checks(void **state)
{
    (void)state;
    struct rig r;
    struct nm_err err = {0};
    begin(&r);
    say(&r, "both_shoulder_roll 60\n");
    say(&r, "\n");
    say(&r, "left_elbow -100\n");
    assert_non_null(strstr(say(&r, "\n"), "frame 2: 20 joints"));
    say(&r, "pause 250\n");
    say(&r, "left_elbow -10\n");
    assert_non_null(strstr(say(&r, "800\n"), "frame 3: 20 joints, 800 ms"));
    struct nm_animation a = recording_animation(&r.recording, "wave", "waves", "wave.yaml");
    assert_int_equal(nm_animation_check(r.body, &a, &err), 0);
    /* and the same comes back from the file's text */
    const char *text = nm_animation_text(&r.arena, r.body, &a);
    const struct nm_animation *b = nm_animation_parse(&r.arena, r.body, "wave.yaml", text, strlen(text), &err);
    if (!b) fail_msg("%s", err.text);
    assert_int_equal(b->n_frames, 3);
    assert_near(b->duration, a.duration, 1e-9);
    int32_t right = nm_find_joint(r.body, "right_shoulder_roll"), elbow = nm_find_joint(r.body, "left_elbow");
    assert_near(b->frames[0].goal[right], -60 * M_PI / 180, 1e-6);
    assert_near(b->frames[1].goal[elbow], -100 * M_PI / 180, 1e-6);
    assert_near(b->frames[1].until - b->frames[1].at, 0.25, 1e-9);
    end(&r);
}

/* 1.5 times the way over the time is the steepest of a cubic curve. */
static void a_move_gets_the_time_that_its_slowest_servo_needs(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    int32_t elbow = nm_find_joint(r.body, "left_elbow");
    say(&r, "\n");
    for (int i = 1; i <= 8; i++) {
        r.q[elbow] = i % 2 ? -0.2 * i : 0;
        say(&r, "\n");
        const struct nm_animation_frame *f = &r.recording.frames[i];
        double way = fabs(f->goal[elbow] - f[-1].goal[elbow]), time = f->at - f[-1].until;
        assert_true(time >= 1.5 * way / (0.4 * r.body->joints[elbow].velocity) - 1e-9);
        assert_true(time <= 1.5 * way / (0.4 * r.body->joints[elbow].velocity) + 0.011 || time <= 0.1 + 1e-9);
    }
    end(&r);
}

static void what_makes_no_sense_is_told_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *answer;
    } rows[] = {
        {"undo", "there is no frame yet"},
        {"pause 100", "there is no frame yet"},
        {"list", "there is no frame yet"},
        {"pause soon", "pause wants milliseconds from 0 to 60000"},
        {"0", "0 is neither a command nor a joint"},
        {"-5", "neither a command nor a joint"},
        {"nan", "neither a command nor a joint"},
        {"left_wing 3", "left_wing is neither a command nor a joint"},
        {"left_knee", "left_knee DEGREES"},
        {"left_knee far", "left_knee DEGREES"},
        {"left_knee 180", "left_knee does not turn so far"},
    };
    struct rig r;
    begin(&r);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *answer = say(&r, rows[i].line);
        if (!strstr(answer, rows[i].answer)) fail_msg("'%s' was answered: %s", rows[i].line, answer);
        assert_int_equal(r.recording.n, 0);
    }
    r.known = 0;
    assert_non_null(strstr(say(&r, "\n"), "no joint has answered yet"));
    r.recording.hand.move = NULL;
    assert_non_null(strstr(say(&r, "left_knee 10"), "this robot is real: move its joints by hand"));
    end(&r);
}

static void it_ends_when_full_and_forgets_what_is_undone(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    for (int i = 0; i < NM_ANIMATION_FRAMES; i++) say(&r, "100");
    assert_int_equal(r.recording.n, NM_ANIMATION_FRAMES);
    assert_non_null(strstr(say(&r, ""), "at most 64 frames"));
    assert_non_null(strstr(say(&r, "undo"), "frames: 63"));
    assert_near(recording_animation(&r.recording, "a", "", "a.yaml").duration, 6.3, 1e-9);
    assert_true(recording_line(&r.recording, "end\n", stdout));
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_a_file_that_passes_the_checks),
        cmocka_unit_test(a_move_gets_the_time_that_its_slowest_servo_needs),
        cmocka_unit_test(what_makes_no_sense_is_told_and_changes_nothing),
        cmocka_unit_test(it_ends_when_full_and_forgets_what_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

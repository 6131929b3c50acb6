/* nutmeg calibrate odometry, from logs of drives: feet that slip in a known way are found out, what is written brings
 * another drive to its end, and drives that tell nothing are refused with a sentence. */
#include "said.h"
#include "logs.h"

#include "body/step_model.h"
#include "codec/yaml.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/SupportState.h"

enum { DRIVES = 12, STEPS = 14, SAMPLES = 5, STEP_NS = 250000000 };

#define ends(code, line, part) assert_ends(cmd_calibrate, code, "calibrate odometry " line, part)

static double roll(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(*s >> 40) / (1 << 23) - 1;
}

/* The feet slip by a tenth, and the robot veers to the left. */
static struct pose2 really(struct pose2 told)
{
    return (struct pose2){0.9 * told.x, told.y + 0.05 * told.x, 1.05 * told.theta + 0.004};
}

/* The steps of one drive as the joints tell them. Seed by seed another mixture of forwards, aside and turning. */
static void drive(uint64_t seed, struct pose2 steps[STEPS])
{
    double vx = 0.06 * roll(&seed), vy = 0.03 * roll(&seed), turn = 0.1 * roll(&seed);
    for (int k = 0; k < STEPS; k++)
        steps[k] = (struct pose2){0.04 + vx + 0.005 * roll(&seed), vy, turn + 0.01 * roll(&seed)};
}

static struct pose2 end_of(const struct pose2 steps[STEPS], const struct nm_step_model *model)
{
    struct pose2 at = {0};
    for (int k = 0; k < STEPS; k++) at = pose2_mul(at, model ? nm_step_correct(model, steps[k]) : really(steps[k]));
    return at;
}

static void say_pose(struct nm_mcap_writer *w, int channel, struct pose2 at, uint64_t time)
{
    static Odometry told;
    told.pose.pose.position = (Point){at.x, at.y, 0};
    told.pose.pose.orientation = (Quaternion){.z = sin(at.theta / 2), .w = cos(at.theta / 2)};
    say(w, channel, &Odometry_type, &told, 0, time);
}

/* The odometry several times in a step, and the support foot when it changes. */
static void make_log(const char *path, const struct pose2 steps[STEPS])
{
    static SupportState support;
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    int poses = channel_of(w, "/odometry_raw", &Odometry_type),
        feet = channel_of(w, "/support_state", &SupportState_type);
    struct pose2 at = {0.3, -1, 2}; /* wherever it began */
    uint64_t time = log_start;
    nm_mcap_start(w, to_file, file, NULL);
    support.changes = 7;
    say(w, feet, &SupportState_type, &support, 0, time);
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < SAMPLES; i++) {
            double share = (double)i / SAMPLES;
            struct pose2 part = {share * steps[k].x, share * steps[k].y, share * steps[k].theta};
            say_pose(w, poses, pose2_mul(at, part), time += STEP_NS / SAMPLES);
        }
        at = pose2_mul(at, steps[k]);
        support.changes++;
        say(w, feet, &SupportState_type, &support, 0, ++time);
        say_pose(w, poses, at, ++time);
    }
    assert_int_equal(nm_mcap_finish(w, NULL), 0);
    nm_mcap_writer_free(w);
    fclose(file);
}

static void read_terms(const struct nm_yaml *map, const char *key, double terms[NM_STEP_TERMS])
{
    const struct nm_yaml *list = nm_yaml_get(map, key);
    uint32_t i = 0;
    assert_true(list && list->n == NM_STEP_TERMS);
    nm_yaml_each(item, list) assert_int_equal(nm_yaml_number(item, &terms[i++], NULL), 0);
}

/* The model as a robot's params.yaml would have it. */
static struct nm_step_model read_model(const char *path)
{
    struct nm_arena arena = {0};
    struct nm_step_model m = NM_STEP_PLAIN;
    const struct nm_yaml *file = nm_yaml_read(&arena, path, NULL),
                         *odometry = file ? nm_yaml_get(file, "odometry") : NULL;
    assert_non_null(odometry);
    read_terms(odometry, "forward", m.forward);
    read_terms(odometry, "left", m.left);
    read_terms(odometry, "turn", m.turn);
    nm_arena_free(&arena);
    return m;
}

static void drift_shrinks_by_what_logs_of_drives_tell(void **state)
{
    (void)state;
    char texts[DRIVES][80], *words[DRIVES + 6] = {(char[]){"calibrate"}, (char[]){"odometry"}};
    int n = 2;
    struct pose2 steps[STEPS];
    for (int i = 0; i < DRIVES; i++) {
        char path[32];
        drive(11 + (uint64_t)i, steps);
        snprintf(path, sizeof path, "drive%d.mcap", i);
        make_log(path, steps);
        struct pose2 end = end_of(steps, NULL);
        snprintf(texts[i], sizeof texts[i], "%s@%.3f,%.3f,%.1f", path, end.x, end.y, end.theta * 180 / M_PI);
        words[n++] = texts[i];
    }
    words[n++] = (char[]){"--linear"};
    words[n++] = (char[]){"-o"};
    words[n++] = (char[]){"odometry.yaml"};
    assert_int_equal(run_words(cmd_calibrate, n, words), 0);
    assert_said("8 drives fitted; mean error at the end of 4 others");
    double before, after;
    const char *line = strstr(said, "uncorrected");
    assert_true(line && sscanf(line, "uncorrected %lf cm, linear %lf cm", &before, &after) == 2);
    if (!(before > 3 && after < 0.3 * before)) fail_msg("%s", said);

    /* and a drive that nobody logged: where it thinks that it is, against where it is */
    const struct nm_step_model model = read_model("odometry.yaml"), plain = NM_STEP_PLAIN;
    assert_true(fabs(model.forward[0] - 0.9) < 0.05);
    drive(99, steps);
    struct pose2 is = end_of(steps, NULL), thought = end_of(steps, &plain), better = end_of(steps, &model);
    assert_true(hypot(better.x - is.x, better.y - is.y) < 0.5 * hypot(thought.x - is.x, thought.y - is.y));
}

static void what_tells_nothing_is_refused(void **state)
{
    (void)state;
    struct pose2 steps[STEPS];
    drive(5, steps);
    make_log("one.mcap", steps);
    ends(2, "one.mcap@1,0 one.mcap@1,0", "2 drives are not enough");
    ends(2, "one.mcap", "must be LOG@X,Y or LOG@X,Y,DEGREES");
    ends(2, "one.mcap@1", "must be LOG@X,Y or LOG@X,Y,DEGREES");
    ends(2, "one.mcap@1,0,9,9", "must be LOG@X,Y or LOG@X,Y,DEGREES");
    ends(2, "one.mcap@nan,0", "must be LOG@X,Y or LOG@X,Y,DEGREES");
    ends(2, "none.mcap@1,0", "none.mcap");
    FILE *file = fopen("words.mcap", "w");
    fputs("no log", file);
    fclose(file);
    ends(2, "words.mcap@1,0", "words.mcap");
}

static int begin(void **state)
{
    (void)state;
    return enter_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_shrinks_by_what_logs_of_drives_tell),
        cmocka_unit_test(what_tells_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}

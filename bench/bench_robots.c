/* nutmeg bench robots: strangers' URDFs and the two commands that make them walk. Each file of tests/data/robots is
 * written in the manner of one difficulty that URDFs of others have; Wolfgang-OP and NAO V5 are real ones. `nutmeg new
 * robot` makes a folder of each, and nothing is changed in it: it must load with true sentences, stand, and walk at a
 * speed that follows from its legs. `--robot FILE` measures another URDF. With `--learn MINUTES` each learns to walk
 * first, and walks faster and longer with what it has learned. */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "body/leg_ik.h"
#include "cmd/commands.h"
#include "cmd/new_robot.h"
#include "cmd/stopping.h"
#include "trials.h"

enum { FIRST_SEED = 80001, SEEDS = 10, SENTENCES = 6 };
static const double PACE = 0.15, LEARNED_PACE = 0.25; /* of the speed of a fall through the legs */
static const double SHARE = 0.7;                      /* of that speed must be walked              */
static const double STAYS = 0.25;                     /* of its height; who walks off does not stand */

static const struct stranger {
    const char *file;               /* below tests/data                    */
    const char *true_of[SENTENCES]; /* what `robot check` must say of it   */
} strangers[] = {
    {"robots/no_sole.urdf", {"left leg  l_hip_yaw", "nm_left_sole is put 34 mm below the ankle", "imu       imu_link"}},
    {"robots/right_first.urdf",
     {"left leg  LHipYaw", "right leg RHipYaw", "RKnee bends the knee forwards", "-> R_sole", "left arm  LShoulder"}},
    {"robots/endless_knees.urdf",
     {"left_knee_joint bends the knee forwards, the human way, because its limits leave both ways open",
      "right_knee_joint bends the knee forwards"}},
    {"robots/mesh_feet.urdf", {"boxes and capsules stand for 13 meshes", "nm_left_sole is put 55 mm below the ankle"}},
    {"robots/placeholder_inertias.urdf", {"the inertias of 21 links cannot be true", "-> left_sole"}},
    {"robots/waist_below.urdf",
     {"left leg  Left_Hip_Yaw", "1 joint of no limb is held at zero: Waist_Yaw", "imu       imu"}},
    {"robots/waist_above.urdf",
     {"left leg  left_hip_yaw_joint", "head      head_yaw_joint", "left arm  left_shoulder_pitch_joint",
      "2 joints of no limb are held at zero: waist_yaw_joint, waist_roll_joint", "imu       imu_in_pelvis"}},
    {"robots/hip_pitch_first.urdf",
     {"left leg  Left_Hip_Pitch, Left_Hip_Roll, Left_Hip_Yaw", "the first hip axis misses the others by"}},
    {"robots/five_joint_legs.urdf",
     {"with 5 joints it cannot turn its foot freely about z", "left arm  not found",
      "left_knee bends the knee forwards"}},
    {"robots/forward_y.urdf",
     {"it faces y of its URDF", "left leg  left_hip_yaw", "left_knee bends the knee forwards", "left_hip_roll about x,",
      "left_hip_pitch about y,"}},
    {"urdf/wolfgang.urdf", {"left leg  LHipYaw", "LKnee bends the knee forwards", "RKnee bends the knee forwards"}},
    {"urdf/nao_v50.urdf", {"LHipYawPitch is coupled to the other leg", "left leg  LHipYawPitch"}},
};
enum { OWN = 10, ALL = sizeof strangers / sizeof *strangers };

/* Standing and walking, of one robot; and walking as it has learned. */
enum { STANDS, WALKS, LEARNED, TRIALS };

static double pace_of(const struct nm_body *body)
{
    struct nm_leg leg;
    if (nm_leg_init(&leg, body, NM_LEFT, NULL)) return NAN;
    return sqrt(9.81 * (leg.chain.point[leg.pitch[0]].z - leg.chain.home.pos.z));
}

/* The folder that `nutmeg new robot` makes of a URDF; NULL with sentences. */
static const struct nm_body *make_folder(struct setup *setup, const char *urdf, const char *folder, struct nm_err *err)
{
    struct nm_err said = {0}, left = {0};
    struct new_robot robot = {.name = "stranger", .registry = &setup->registry};
    if (new_robot_read(&setup->arena, &robot, urdf, err)) return NULL;
    robot.like = nm_body_load(&setup->arena, setup_robot(setup, "kid70", err), err);
    if (!robot.like) return NULL;
    const struct skeleton_file *files = new_robot_files(&setup->arena, &robot, &said, &left);
    if (skeleton_write(&setup->arena, folder, files, err)) return NULL;
    return nm_body_load(&setup->arena, folder, err);
}

static bool says_the_truth(struct setup *setup, const struct stranger *s, const char *urdf, struct nm_err *err)
{
    const struct nm_body *body = nm_body_load(&setup->arena, urdf, err);
    char *text;
    size_t size;
    FILE *to = nm_memstream(&text, &size);
    bool all = body != NULL;
    if (body) nm_body_describe(body, to);
    fclose(to);
    for (int i = 0; i < SENTENCES && s && s->true_of[i]; i++) {
        if (strstr(text, s->true_of[i])) continue;
        nm_fail(err, "robot check does not say: %s", s->true_of[i]);
        all = false;
    }
    free(text);
    return all;
}

static uint32_t seeds_that(const struct trial *t, int which, double height)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += trial_value(t, i, "falls") == 0 &&
             (which == STANDS ? trial_value(t, i, "distance") < STAYS * height
                              : trial_value(t, i, "speed_x") > SHARE * t->velocity[0]);
    return n;
}

static double mean_speed(const struct trial *t)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        double speed = trial_value(t, i, "speed_x"); /* of those that did not fall before it was measured */
        if (isfinite(speed)) sum += speed, n++;
    }
    return n ? sum / n : 0;
}

/* As `nutmeg learn walk` does it, into the robot's folder; false if it ended with a fault. */
static bool learn_walk(struct setup *setup, const char *folder, double minutes, uint32_t threads)
{
    char *words[] = {"learn",     "walk",
                     "--robot",   nm_take_text(&setup->arena, folder),
                     "--minutes", nm_take_format(&setup->arena, "%g", minutes),
                     "--threads", nm_take_format(&setup->arena, "%u", threads ? threads : 2),
                     "--output",  nm_take_format(&setup->arena, "%s/walk.onnx", folder),
                     NULL};
    return cmd_learn(sizeof words / sizeof *words - 1, words) == 0;
}

struct outcome {
    bool loads, stands, walks, learned;
};

static const char *today(char *text, size_t size)
{
    time_t now = (time_t)(nm_wall() / NM_SECOND);
    struct tm tm;
    strftime(text, size, "%e %B %Y", gmtime_r(&now, &tm));
    return text;
}

static struct outcome play(struct nm_bench *bench, struct setup *setup, struct trial_options *o, const char *urdf,
                           const char *folder, const struct stranger *s)
{
    struct outcome out = {0};
    struct nm_err err = {0};
    char date[40];
    struct trial trials[TRIALS] = {
        {.scenario = "robots/stand", .seeds = SEEDS, .quick = 1, .seconds = 4},
        {.scenario = "robots/walk", .seeds = SEEDS, .quick = 1, .seconds = 10},
        {.scenario = "robots/learned", .seeds = SEEDS, .quick = 1, .seconds = 20},
    };
    double minutes = nm_bench_options(bench)->learn;
    const char *name = strrchr(urdf, '/') ? strrchr(urdf, '/') + 1 : urdf;
    out.loads = says_the_truth(setup, s, urdf, &err);
    const struct nm_body *body = make_folder(setup, urdf, folder, &err);
    if (body) {
        double pace = pace_of(body);
        bool learns = minutes > 0 && learn_walk(setup, folder, minutes, nm_bench_options(bench)->jobs);
        trials[WALKS].velocity[0] = PACE * pace;
        trials[LEARNED].velocity[0] = LEARNED_PACE * pace;
        o->robot = folder;
        trials_play(trials, learns ? TRIALS : LEARNED, o);
        uint32_t stood = seeds_that(&trials[STANDS], STANDS, body->height),
                 walked = seeds_that(&trials[WALKS], WALKS, body->height),
                 went = learns ? seeds_that(&trials[LEARNED], LEARNED, body->height) : 0;
        out.stands = trials[STANDS].n && stood == trials[STANDS].n;
        out.walks = trials[WALKS].n && walked == trials[WALKS].n;
        out.learned = learns && trials[LEARNED].n && 10 * went >= 9 * trials[LEARNED].n;
        nm_bench_say(bench, "%-28s %4.1f kg %.2f m: %s, stood %u of %u, walked %u of %u at %.2f m/s (%.2f asked)", name,
                     body->mass, body->height, out.loads ? "loads" : "loads with a false sentence", stood,
                     trials[STANDS].n, walked, trials[WALKS].n, mean_speed(&trials[WALKS]), PACE * pace);
        if (learns)
            nm_bench_say(bench, "  learned %g min on %u threads: walked %u of %u for 60 s at %.2f m/s (%.2f asked), %s",
                         minutes, nm_bench_options(bench)->jobs, went, trials[LEARNED].n, mean_speed(&trials[LEARNED]),
                         LEARNED_PACE * pace, today(date, sizeof date));
        for (int i = 0; i < (learns ? TRIALS : LEARNED); i++)
            if (*trials[i].why) nm_bench_say(bench, "  %s", trials[i].why);
        trials_free(trials, learns ? TRIALS : LEARNED);
    } else {
        nm_bench_say(bench, "%-28s refused", name);
    }
    if (err.n) nm_bench_say(bench, "  %.*s", (int)strcspn(err.text, "\n"), err.text);
    return out;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

void bench_robots(struct nm_bench *bench)
{
    struct setup setup;
    struct trial_options options;
    struct nm_err err = {0};
    char folder[] = "/tmp/nutmeg-robots-XXXXXX";
    uint32_t loads = 0, stands = 0, walks = 0, learned = 0, real = 0;
    const char *other = nm_bench_options(bench)->robot;
    bool learn = nm_bench_options(bench)->learn > 0;
    setup_begin(&setup);
    if (trial_options(&options, bench, &setup, FIRST_SEED, &err) || !mkdtemp(folder)) {
        nm_bench_fail(bench, &err);
        setup_end(&setup);
        return;
    }
    for (uint32_t i = 0; i < ALL && !stopping(); i++) {
        const char *urdf =
            other ? other : nm_take_format(&setup.arena, "%s/tests/data/%s", setup.root, strangers[i].file);
        const char *to = nm_take_format(&setup.arena, "%s/%u", folder, i);
        struct outcome o = play(bench, &setup, &options, urdf, to, other ? NULL : &strangers[i]);
        if (i < OWN) loads += o.loads, stands += o.stands, walks += o.walks, learned += o.learned;
        if (i >= OWN) real += o.loads && o.stands && o.walks && (o.learned || !learn);
        if (other) break;
    }
    if (!other) {
        nm_bench_report(bench, "URDFs that load with true sentences", loads, "of 10", NAN, ">= 10", loads >= 10);
        nm_bench_report(bench, "made robots that stand in all seeds", stands, "of 10", NAN, ">= 9", stands >= 9);
        nm_bench_report(bench, "made robots that walk at 0.15 sqrt(g leg) for 20 s", walks, "of 10", NAN, ">= 8",
                        walks >= 8);
        if (learn)
            nm_bench_report(bench, "learned robots that walk at 0.25 sqrt(g leg) for 60 s", learned, "of 10", NAN,
                            ">= 9", learned >= 9);
        nm_bench_report(bench, "Wolfgang-OP and NAO V5 that do all of it", real, "of 2", NAN, ">= 2", real >= 2);
    }
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    setup_end(&setup);
}

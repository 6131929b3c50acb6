/* nutmeg learn: trains policies in the simulator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/learn_plot.h"
#include "cmd/learn_polish.h"
#include "cmd/logging.h"
#include "cmd/progress.h"
#include "cmd/setup.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "learn/crew.h"
#include "learn/trainer.h"
#include "nn/onnx.h"

#define DONOR "kid70"

static const double POLISH_SECONDS = 10;                      /* of a walk of a candidate */
static const double SAVE_EVERY = 60, SAVE_EVERY_TOGETHER = 5; /* s: the more processes, the more can be lost */
static const char *const KINDS[NM_LEARN_SCORES] = {"forward", "back", "side", "turn", "stand", "pushed on the spot"};

struct order {
    const char *robot, *output, *from;
    double minutes;
    int64_t seed, worlds, candidates, threads;
    bool resume, slow, polish;
};

struct job {
    struct setup setup;
    struct nm_pitch pitch;
    const struct nm_body *body;
    struct nm_trainer *trainer;
    struct nm_crew *crew; /* NULL: this process learns alone */
    bool parted;          /* the others may still be learning */
    const char *policy;   /* that the robot has */
    const char *output, *state, *plot, *card;
    const char *from; /* robot whose policy it began with; NULL: none */
};

/* Only one of the processes writes files and speaks. */
static bool speaks(const struct job *job) { return !job->crew || !job->crew->rank; }

/* What the robot of the folder `name` has learned is where this one begins. */
static int inherit(struct job *job, const char *name, struct nm_err *err)
{
    const char *folder = setup_robot(&job->setup, name, err);
    const struct nm_body *body = folder ? nm_body_load(&job->setup.arena, folder, err) : NULL;
    if (!body) return -1;
    struct nm_net *policy = nm_onnx_load(nm_path(&job->setup.arena, folder, "walk.onnx"), err);
    int bad = !policy ? -1 : nm_trainer_inherit(job->trainer, body, policy, err);
    nm_net_free(policy);
    return bad;
}

/* The robot, the field, and what the files are called. */
static int open_job(struct job *job, const struct order *o, struct nm_err *err)
{
    struct nm_arena *arena = &job->setup.arena;
    const char *folder = setup_robot(&job->setup, o->robot, err);
    const char *field = nm_path(arena, nm_path(arena, job->setup.root, "fields"), "kid.yaml");
    if (!folder || nm_pitch_read(&job->pitch, field, err)) return -1;
    if (!(job->body = nm_body_load(arena, folder, err))) return -1;
    size_t n = strlen(o->output ? o->output : "");
    job->policy = nm_path(arena, folder, "walk.onnx");
    job->output = o->output ? o->output : nm_take_format(arena, "out/learn/%s/walk.onnx", job->body->name);
    if (o->output && (n < 6 || strcmp(o->output + n - 5, ".onnx")))
        return nm_fail(err, "%s: the file of a policy ends with .onnx", o->output);
    const char *stem = nm_take_format(arena, "%.*s", (int)strlen(job->output) - 5, job->output);
    job->state = nm_take_format(arena, "%s.%s", stem, o->polish ? "polish" : "state");
    job->plot = nm_take_format(arena, "%s.svg", stem);
    job->card = nm_take_format(arena, "%s.txt", stem);
    return speaks(job) ? nm_make_folders(job->output, err) : 0;
}

static int prepare(struct job *job, const struct order *o, struct nm_err *err)
{
    if (open_job(job, o, err)) return -1;
    struct nm_learn_options options = {
        (uint64_t)o->seed, (uint32_t)o->worlds, (uint32_t)o->threads, job->crew, stopping, o->slow};
    job->trainer = nm_trainer_new(job->body, &job->pitch, &options, err);
    if (!job->trainer) return -1;
    struct nm_err reason = {0};
    job->from = o->from ? o->from : o->resume || !strcmp(job->body->name, DONOR) ? NULL : DONOR;
    if (o->slow) job->from = o->resume ? NULL : o->robot; /* its own policy walks where it is not slow */
    if (job->from && !strcmp(job->from, "nothing")) job->from = NULL;
    if (job->from && inherit(job, job->from, o->from || o->slow ? err : &reason)) {
        if (o->from || o->slow) return -1;
        if (speaks(job))
            printf("%s is no start for %s, which learns from nothing: %s", DONOR, job->body->name, reason.text);
        job->from = NULL;
    }
    return o->resume ? nm_trainer_load(job->trainer, job->state, err) : 0;
}

static void tell(struct progress *progress, const struct nm_learned *row, double left)
{
    progress_tell(progress,
                  "%.2f million steps, %.1f min left: reward %.4f, falls %.3f/s, %.2f %.2f %.2f m/s, %.1f rad/s, push "
                  "%.1f N s, %.0f W",
                  row->steps * 1e-6, fmax(left, 0) / 60, row->reward, row->falls, row->limits.most[0] * row->reached[0],
                  row->limits.most[1] * row->reached[1], row->limits.most[2] * row->reached[2],
                  row->limits.most[3] * row->reached[3], row->limits.push, row->watts);
}

/* Whether another batch fits into the time: what the first process says counts for all. 0: the time is over, 1: go on,
 * 2: somebody wants to stop, -1: a process is gone. */
static int ask_all(const struct job *job, bool time)
{
    double votes[2] = {speaks(job) && time, stopping()};
    if (job->crew && job->crew->sum(job->crew, votes, 2)) return stopping() ? 2 : -1;
    return votes[1] > 0 ? 2 : votes[0] > 0;
}

/* Until the time is over or somebody stops it; 1 then. Whatever happens, what was learned is kept. */
static int train(struct job *job, double seconds, struct nm_err *err)
{
    double begun = nm_clock_seconds(), saved = -INFINITY, now = begun, longest = 0;
    struct progress progress;
    int go = 1, bad = 0;
    if (speaks(job)) progress_begin(&progress, "learning");
    while (!bad && (go = ask_all(job, now + longest < begun + seconds)) == 1) {
        uint32_t n;
        bad = nm_trainer_batch(job->trainer, err);
        longest = fmax(longest, nm_clock_seconds() - now);
        now = nm_clock_seconds();
        const struct nm_learned *curve = nm_trainer_curve(job->trainer, &n);
        if (bad || !speaks(job)) continue;
        tell(&progress, &curve[n - 1], begun + seconds - now);
        if (now - saved < (job->crew ? SAVE_EVERY_TOGETHER : SAVE_EVERY)) continue;
        saved = now;
        if (nm_trainer_save(job->trainer, job->state, err)) bad = -1;
    }
    if (speaks(job)) progress_end(&progress);
    job->parted = bad || go < 0;
    if (go < 0) nm_fail(err, "another process of this training has ended or cannot be reached");
    if (speaks(job) && nm_trainer_save(job->trainer, job->state, err)) return -1;
    if (bad >= 0 && go >= 0) return bad || go == 2;
    return nm_fail(err, "--resume continues from %s, the state of the last whole batch", job->state);
}

/* A policy as it is at some time, and how it walks. */
struct attempt {
    char *bytes;
    size_t n;
    struct nm_learn_score scores[NM_LEARN_SCORES];
};

static int try_out(struct job *job, struct attempt *to, struct nm_err *err)
{
    struct nm_net *net = nm_trainer_net(job->trainer, err);
    if (!net) return -1;
    void *bytes = nm_onnx_write(net, &to->n);
    to->bytes = memcpy(nm_take(&job->setup.arena, to->n), bytes, to->n);
    free(bytes);
    nm_net_free(net);
    return nm_trainer_test(job->trainer, LEARN_TEST_SEED, LEARN_TEST_RUNS, LEARN_TEST_SECONDS, to->scores, err);
}

/* Speeds in shares of what was asked first, without the runs that fell. */
static double worth(const struct attempt *a, const struct attempt *first)
{
    double sum = 0;
    for (int kind = 0; kind < NM_LEARN_SCORES; kind++) {
        const struct nm_learn_score *s = &a->scores[kind];
        double speed = kind < NM_WALK_WAYS ? s->speed / first->scores[kind].asked : 1;
        sum += fmax(speed, 0) * (1 - (double)s->falls / s->runs);
    }
    return sum;
}

void learn_print_scores(const struct nm_learn_score *scores, FILE *to)
{
    const char *heads[] = {"asked for", ">asked", ">speed", ">falls", ">power", NULL};
    struct table table;
    table_begin(&table, heads);
    for (int kind = 0; kind < NM_LEARN_SCORES; kind++) {
        const char *unit = kind == NM_LEARN_PUSHED ? "N s" : kind == NM_WALK_TURN ? "rad/s" : "m/s";
        const struct nm_learn_score *s = &scores[kind];
        table_row(&table, "%s\t%.2f %s\t%.3f\t%u of %u\t%.0f W", KINDS[kind], s->asked, unit, s->speed, s->falls,
                  s->runs, s->watts);
    }
    table_print(&table, to);
}

/* The model card: what the policy is, how it was made and how good it is. */
static int write_card(const struct job *job, const struct order *o, const struct nm_learn_score *scores,
                      struct nm_err *err)
{
    char *text = NULL, date[40], together[40] = "";
    size_t size = 0;
    uint32_t n;
    const struct nm_learned *curve = nm_trainer_curve(job->trainer, &n);
    time_t now = (time_t)(nm_wall() / NM_SECOND);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
    if (job->crew) snprintf(together, sizeof together, "mpirun -n %u ", job->crew->size);
    FILE *to = nm_memstream(&text, &size);
    fprintf(to,
            "Walking policy for %s\n\nmade      %s by nutmeg learn walk, revision %s\nrobot     %s, %.3f kg\n"
            "command   %snutmeg learn walk --robot %s%s%s%s --seed %lld --worlds %lld\n"
            "learned   %.2f million steps of %g ms in %.1f minutes; simulation only\n"
            "worlds    true play in half of them (0.23 to 1.26 degrees), delays 4 to 20 ms each way, turf 0 to 30 mm,\n"
            "          slopes up to 0.02 rad that change, friction 0.5 to 1, battery 20 to 100 %% full,\n"
            "          pushes up to %.2f N s, bodies within 1.5 x the spread\n"
            "test      seeds %d to %d of the same kind of worlds, which training did not see; %g s each\n\n",
            job->body->name, date, program_revision(), job->body->name, job->body->mass, together, job->body->name,
            o->slow ? " --slow" : "", o->resume ? " --resume" : " --from ",
            o->resume   ? ""
            : job->from ? job->from
                        : "nothing",
            (long long)o->seed, (long long)o->worlds, curve[n - 1].steps * 1e-6, NM_GAIT_PERIOD * 1e3,
            curve[n - 1].seconds / 60, curve[n - 1].limits.push, LEARN_TEST_SEED, LEARN_TEST_SEED + LEARN_TEST_RUNS - 1,
            LEARN_TEST_SECONDS);
    learn_print_scores(scores, to);
    int bad =
        fclose(to) ? nm_fail(err, "%s cannot be written", job->card) : nm_file_replace(job->card, text, size, err);
    free(text);
    return bad;
}

static int learn(struct job *job, const struct order *o, struct nm_err *err)
{
    struct attempt *first = nm_take_n(&job->setup.arena, struct attempt, 2), *best = first + 1;
    uint32_t n;
    if (prepare(job, o, err)) return -1;
    if (job->from && speaks(job) && try_out(job, first, err)) return -1;
    int stopped = train(job, 60 * o->minutes, err);
    const struct nm_learned *curve = nm_trainer_curve(job->trainer, &n);
    if (stopped < 0) return -1;
    if (!speaks(job)) return stopped ? EXIT_INTERRUPTED : EXIT_OK;
    if (!n) return nm_fail(err, "nothing was learned: there was no time for one batch");
    if (learn_plot(curve, n, job->body->name, job->plot, err)) return -1;
    if (stopped)
        return tell_interrupted("after %.2f million steps; %s is not written. --resume continues from %s",
                                curve[n - 1].steps * 1e-6, job->output, job->state);
    if (try_out(job, best, err)) return -1;
    bool worse = job->from && worth(best, first) < worth(first, first);
    if (worse) best = first;
    if (nm_file_replace(job->output, best->bytes, best->n, err) || write_card(job, o, best->scores, err)) return -1;
    printf("%.2f million steps in %.1f minutes; tested in worlds that training did not see:\n",
           curve[n - 1].steps * 1e-6, curve[n - 1].seconds / 60);
    if (worse) printf("It walks worse than before: the policy is still that of %s. --resume continues.\n", job->from);
    learn_print_scores(best->scores, stdout);
    printf("%s, its card %s, curve %s, checkpoint %s\n", job->output, job->card, job->plot, job->state);
    return EXIT_OK;
}

static int polish(struct job *job, const struct order *o, struct nm_err *err)
{
    if (job->crew) return nm_fail(err, "--polish works on one machine: start it without mpirun");
    if (open_job(job, o, err)) return -1;
    const struct polish_job to = {.body = job->body,
                                  .pitch = &job->pitch,
                                  .policy = job->policy,
                                  .output = job->output,
                                  .state = job->state,
                                  .plot = job->plot,
                                  .card = job->card,
                                  .minutes = o->minutes,
                                  .resume = o->resume,
                                  .options = {.seed = (uint64_t)o->seed,
                                              .worlds = (uint32_t)o->worlds,
                                              .candidates = (uint32_t)o->candidates,
                                              .threads = (uint32_t)o->threads,
                                              .seconds = POLISH_SECONDS,
                                              .quit = stopping}};
    return learn_polish(&to, err);
}

static int walk(int argc, char **argv)
{
    struct order o = {.minutes = 60, .seed = 1};
    const struct flag flags[] = {
        TEXT("robot", &o.robot, "NAME", "folder in robots/", .letter = 'r'),
        NUMBER("minutes", &o.minutes, 0, 1e5, "N", "minutes of learning (default: 60)", .letter = 'm'),
        TEXT("from", &o.from, "NAME",
             "begins with what the robot of this folder has learned, its walk.onnx; nothing: begins with none "
             "(default: " DONOR " for all other robots, as long as their legs are alike)"),
        SWITCH("resume", &o.resume, "continues from the checkpoint of an earlier run, for N more minutes"),
        SWITCH("slow", &o.slow,
               "learns a second network for slow walking and steps on the spot, which is harder to push over; the "
               "robot's own policy walks the rest"),
        SWITCH("polish", &o.polish,
               "the last stage: searches a small change of the robot's own policy that makes full speed ahead softer "
               "and cheaper, without noise, and leaves other walking as it is"),
        WHOLE("seed", &o.seed, 0, 1e15, "N", "seed of bodies, commands and noise (default: 1)"),
        WHOLE("worlds", &o.worlds, 8, 65536, "N",
              "robots that learn at the same time (default: 256); with --polish, in how many worlds each candidate "
              "walks (default: 16)"),
        WHOLE("candidates", &o.candidates, 4, 1024, "N", "with --polish, policies of a generation (default: 24)"),
        WHOLE("threads", &o.threads, 1, 64, "N", "threads (default: one for each core)", .letter = 'j'),
        TEXT("output", &o.output, "FILE.onnx",
             "the policy (default: out/learn/ROBOT/walk.onnx); its card (.txt), learning curve (.svg) and checkpoint "
             "(.state) are written beside it",
             .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg learn walk", "--robot NAME", flags,
              "Teaches the robot of a folder to walk in the simulator, by reinforcement learning on all cores.\n"
              "Writes a policy as an ONNX file. Ctrl-C keeps a checkpoint. With Open MPI several machines learn\n"
              "together: mpirun -n 3 nutmeg learn walk …");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (!o.robot) return usage_wrong(&usage, "--robot is missing");
    if (o.from && o.slow) return usage_wrong(&usage, "--slow begins with the robot's own policy: leave out --from");
    if (o.from && o.resume) return usage_wrong(&usage, "use either --from or --resume, not both");
    if (o.polish && (o.from || o.slow))
        return usage_wrong(&usage, "--polish begins with the robot's own policy: leave out --from and --slow");
    if (o.candidates && !o.polish) return usage_wrong(&usage, "--candidates is for --polish");
    if (o.polish && o.worlds > 1024) return usage_wrong(&usage, "--polish walks in at most 1024 worlds");
    if (!o.worlds) o.worlds = o.polish ? 16 : 256;
    if (!o.candidates) o.candidates = 24;
    struct nm_err err = {0};
    struct job *job = nm_calloc(1, sizeof *job);
    setup_begin(&job->setup);
    stop_by_signals();
    job->crew = nm_crew_mpi(stopping, &err);
    if (!o.threads) o.threads = sysconf(_SC_NPROCESSORS_ONLN) / (job->crew ? nm_crew_on_this_machine(job->crew) : 1);
    o.threads = o.threads < 1 ? 1 : o.threads > 64 ? 64 : o.threads;
    int bad = err.n ? -1 : o.polish ? polish(job, &o, &err) : learn(job, &o, &err); /* exit code, or -1: sentences */
    if (speaks(job)) complain(&err);
    nm_trainer_free(job->trainer);
    nm_crew_leave(job->crew, !job->parted);
    setup_end(&job->setup);
    free(job);
    return bad >= 0 ? bad : err.n ? EXIT_USAGE : EXIT_FAILED;
}

int cmd_learn(int argc, char **argv)
{
    const struct verb verbs[] = {{"walk", "teaches a robot to walk in the simulator", walk}, {0}};
    return verbs_run("nutmeg learn", "Policies that are learned in the simulator.", verbs, argc, argv);
}

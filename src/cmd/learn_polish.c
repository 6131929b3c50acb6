#include "cmd/learn_polish.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/logging.h"
#include "cmd/options.h"
#include "cmd/plot.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "nn/onnx.h"

/* The last word, in worlds that no search has seen. */
enum { JUDGE_SEED = 51001, JUDGE_TIMES = 4 }; /* as many worlds as a candidate has */
static const double SAVE_EVERY = 60;          /* s */

static void tell(struct progress *progress, const struct nm_polished *row, uint32_t n, double left)
{
    const struct nm_polish_figures *b = &row->before, *m = &row->mean;
    progress_tell(
        progress,
        "generation %u, %.1f min left: cost %.3f (%.3f before), %.2f m/s (%.2f), %.1f J/m (%.1f), footfalls "
        "%.0f N (%.0f), hardest %.0f N (%.0f), falls %.2f (%.2f), others %.2f (%.2f), reward %.4f (%.4f), step %.4f",
        n, fmax(left, 0) / 60, m->cost, b->cost, m->speed, b->speed, m->joules, b->joules, m->footfall, b->footfall,
        m->hardest, b->hardest, m->falls, b->falls, m->tumbles, b->tumbles, m->reward, b->reward, row->step);
}

/* Until the time is over or somebody stops it; 1 then. */
static int search(struct nm_polish *p, const struct polish_job *job, struct nm_err *err)
{
    double begun = nm_clock_seconds(), now = begun, saved = begun, longest = 0, until = begun + 60 * job->minutes;
    struct progress progress;
    uint32_t n;
    int bad = 0;
    progress_begin(&progress, "polishing");
    while (!bad && !stopping() && now + longest < until) {
        bad = nm_polish_generation(p, err);
        longest = fmax(longest, nm_clock_seconds() - now);
        now = nm_clock_seconds();
        const struct nm_polished *curve = nm_polish_curve(p, &n);
        if (bad) break;
        tell(&progress, &curve[n - 1], n, until - now);
        if (now - saved < SAVE_EVERY) continue;
        saved = now;
        bad = nm_polish_save(p, job->state, err);
    }
    progress_end(&progress);
    if (nm_polish_save(p, job->state, err)) return -1;
    return bad < 0 ? -1 : bad || stopping();
}

static int plot(const struct nm_polish *p, const struct polish_job *job, struct nm_err *err)
{
    static const char *const names[] = {"cost: before (blue), better half (orange)",
                                        "m/s: before, better half",
                                        "J/m: before, better half",
                                        "mean footfall, N: before, better half",
                                        "hardest footfall, N: before, better half",
                                        "reward of other commands: before, better half"};
    enum { PANELS = sizeof names / sizeof *names };
    struct plot_series series[2 * PANELS] = {0};
    char title[160];
    uint32_t n;
    const struct nm_polished *curve = nm_polish_curve(p, &n);
    for (uint32_t i = 0; i < n; i++)
        for (int after = 0; after < 2; after++) {
            const struct nm_polish_figures *f = after ? &curve[i].mean : &curve[i].before;
            const double values[PANELS] = {f->cost, f->speed, f->joules, f->footfall, f->hardest, f->reward};
            for (int k = 0; k < PANELS; k++) plot_add(&series[2 * k + after], i + 1, values[k]);
        }
    for (int k = 0; k < PANELS; k++) series[2 * k].name = names[k], series[2 * k + 1].joins = true;
    snprintf(title, sizeof title, "%s: %u generations in %.1f minutes", job->body->name, n, curve[n - 1].seconds / 60);
    int bad = plot_write(series, 2 * PANELS, title, "generation", job->plot, err);
    for (int k = 0; k < 2 * PANELS; k++) plot_free(&series[k]);
    return bad;
}

static void print_figures(const struct nm_polish_figures figures[2], FILE *to)
{
    const char *heads[] = {"full speed ahead", ">before", ">after", NULL};
    const struct nm_polish_figures *b = &figures[0], *a = &figures[1];
    struct table table;
    table_begin(&table, heads);
    table_row(&table, "speed\t%.3f m/s\t%.3f m/s", b->speed, a->speed);
    table_row(&table, "energy\t%.1f J/m\t%.1f J/m", b->joules, a->joules);
    table_row(&table, "footfalls, mean\t%.0f N\t%.0f N", b->footfall, a->footfall);
    table_row(&table, "hardest footfall\t%.0f N\t%.0f N", b->hardest, a->hardest);
    table_row(&table, "runs with a fall\t%.0f %%\t%.0f %%", 100 * b->falls, 100 * a->falls);
    table_row(&table, "way in the first 2 s\t%.2f m\t%.2f m", b->started, a->started);
    table_row(&table, "other runs with a fall\t%.0f %%\t%.0f %%", 100 * b->tumbles, 100 * a->tumbles);
    table_row(&table, "reward of other commands\t%.4f\t%.4f", b->reward, a->reward);
    table_row(&table, "cost\t%.3f\t%.3f", b->cost, a->cost);
    table_print(&table, to);
}

struct result {
    bool better;
    struct nm_polish_figures figures[2]; /* before, after */
    struct nm_learn_score scores[NM_LEARN_SCORES];
};

static int write_card(const struct nm_polish *p, const struct polish_job *job, const struct result *r,
                      struct nm_err *err)
{
    const struct nm_polish_options *o = &job->options;
    char *text = NULL, date[40];
    size_t size = 0;
    uint32_t n;
    const struct nm_polished *curve = nm_polish_curve(p, &n);
    time_t now = (time_t)(nm_wall() / NM_SECOND);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
    FILE *to = nm_memstream(&text, &size);
    fprintf(
        to,
        "Walking policy for %s, polished\n\nmade      %s by nutmeg learn walk, revision %s\n"
        "robot     %s, %.3f kg\n"
        "command   nutmeg learn walk --robot %s --polish%s --seed %llu --worlds %u --candidates %u\n"
        "from      %s; its card says how that was learned\n"
        "searched  %u numbers by CMA-ES, %u generations in %.1f minutes; robots walked %.0f s for it; simulation\n"
        "          only. The numbers are a periodic correction at full speed ahead, of which the neurons can\n"
        "          give %.1f %%; where less than 0.7 of that speed, or another direction, is asked for, the policy\n"
        "          answers as before\n"
        "worlds    five of eight in the hard conditions at full speed ahead, or up to a sixth less, on the more\n"
        "          slippery of two grounds; the rest slower, with stops, and with commands and pushes of training\n"
        "judged    in %u worlds from seed %d on, which the search did not see; %g s each\n",
        job->body->name, date, program_revision(), job->body->name, job->body->mass, job->body->name,
        job->resume ? " --resume" : "", (unsigned long long)o->seed, o->worlds, o->candidates, job->policy,
        nm_polish_numbers(p), n, curve[n - 1].seconds / 60, curve[n - 1].walked, 100 * nm_polish_explained(p),
        JUDGE_TIMES * o->worlds, JUDGE_SEED, o->seconds);
    if (!r->better) fprintf(to, "\nIt was no better than before: this is the policy that the search began with.\n");
    fprintf(to, "\n");
    print_figures(r->figures, to);
    fprintf(to, "\nIn worlds of training, seeds %d to %d, %g s each:\n\n", LEARN_TEST_SEED,
            LEARN_TEST_SEED + LEARN_TEST_RUNS - 1, LEARN_TEST_SECONDS);
    learn_print_scores(r->scores, to);
    int bad =
        fclose(to) ? nm_fail(err, "%s cannot be written", job->card) : nm_file_replace(job->card, text, size, err);
    free(text);
    return bad;
}

static int write_policy(const struct nm_polish *p, const struct polish_job *job, bool polished, struct nm_err *err)
{
    struct nm_net *net = nm_polish_net(p, polished, err);
    size_t n = 0;
    char *bytes = net ? nm_onnx_write(net, &n) : NULL;
    int bad = bytes ? nm_file_replace(job->output, bytes, n, err) : -1;
    free(bytes);
    nm_net_free(net);
    return bad;
}

static int polish(struct nm_polish *p, const struct polish_job *job, struct nm_err *err)
{
    struct result r = {0};
    uint32_t n;
    if (job->resume && nm_polish_load(p, job->state, err)) return -1;
    int stopped = search(p, job, err);
    if (stopped < 0) return -1;
    const struct nm_polished *curve = nm_polish_curve(p, &n);
    if (n && plot(p, job, err)) return -1;
    if (stopped)
        return tell_interrupted("after %u generations; %s is not written. --resume continues from %s", n, job->output,
                                job->state);
    if (!n) return nm_fail(err, "nothing was searched: there was no time for one generation");
    int bad = nm_polish_judge(p, JUDGE_SEED, JUDGE_TIMES * job->options.worlds, r.figures, err);
    r.better = !bad && r.figures[1].cost < r.figures[0].cost;
    if (!bad) bad = nm_polish_test(p, r.better, LEARN_TEST_SEED, LEARN_TEST_RUNS, LEARN_TEST_SECONDS, r.scores, err);
    if (bad > 0 || stopping())
        return tell_interrupted("in the last test; %s is not written. --resume continues from %s", job->output,
                                job->state);
    if (bad || write_policy(p, job, r.better, err) || write_card(p, job, &r, err)) return -1;
    printf("%u generations in %.1f minutes; judged in worlds that the search did not see:\n", n,
           curve[n - 1].seconds / 60);
    if (!r.better) printf("It is no better than before: the policy is still the old one. --resume continues.\n");
    print_figures(r.figures, stdout);
    learn_print_scores(r.scores, stdout);
    printf("%s, its card %s, curve %s, checkpoint %s\n", job->output, job->card, job->plot, job->state);
    return EXIT_OK;
}

int learn_polish(const struct polish_job *job, struct nm_err *err)
{
    struct nm_net *net = nm_onnx_load(job->policy, err);
    struct nm_polish *p = net ? nm_polish_new(job->body, job->pitch, net, &job->options, err) : NULL;
    int code = p ? polish(p, job, err) : -1;
    nm_polish_free(p);
    nm_net_free(net);
    return code;
}

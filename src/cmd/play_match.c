/* A match as `make play` shows it: two teams in the simulator, open to viewers, with one line that tells the clock, the
 * score and what goes on. At the end it prints the score and the tables. */
#include "cmd/play_match.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "cmd/console.h"
#include "cmd/film.h"
#include "cmd/match_sheet.h"
#include "cmd/referee_desk.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

static const char folder[] = "out", picture[] = "out/match.png";
enum { WORKERS = 2 };

struct show {
    struct match match;
    struct match_sheet *sheet;
    struct nm_arena arena; /* of the film */
    struct film film;
    struct nm_stage *stage;
    struct referee_desk *desk;
    bool written;        /* the sheet is on disk */
    uint32_t told_falls; /* of the book */
    uint32_t score[2];
    bool undecided; /* also after the last shot of a shoot-out */
};

static const char *const team_names[2] = {"red", "blue"};

/* ---- the tables ---- */

static void add_row(struct table *table, const char *name, const struct nm_book_row *row, double in_play)
{
    char error[32] = "-";
    if (row->poses) snprintf(error, sizeof error, "%.2f", row->error / (double)row->poses);
    table_row(table, "%s\t%.0f %%\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%.1f\t%s", name,
              in_play > 0 ? 100 * row->possession / in_play : 0, row->goals, row->own_goals, row->shots, row->on_goal,
              row->passes, row->kicks, row->kicks_out, row->falls, row->penalties, row->path, error);
}

static void print_table(const struct match *m)
{
    static const char *const heads[] = {"",           ">ball",     ">goals",      ">own goals", ">shots",
                                        ">on goal",   ">passes",   ">kicks",      ">out",       ">falls",
                                        ">penalties", ">walked m", ">position m", NULL};
    const struct nm_scorebook *b = &m->book;
    struct table table;
    table_begin(&table, heads);
    for (uint32_t t = 0; t < 2; t++) {
        struct nm_book_row sum = nm_scorebook_team(b, t);
        add_row(&table, team_names[t], &sum, b->in_play);
        for (uint32_t i = 0; i < b->n; i++)
            if (m->scenario->robots[i].team == t)
                add_row(&table, m->scenario->robots[i].name, &b->robots[i], b->in_play);
    }
    table_print(&table, stdout);
}

/* ---- while it plays ---- */

static void progress(void *user, struct nm_stage *stage, char *to, size_t size)
{
    struct show *s = user;
    char words[100] = "";
    (void)stage;
    if (!s->match.judge) return;
    nm_match_words(nm_judge_match(s->match.judge), words, sizeof words);
    snprintf(to, size, "%s  falls %u:%u", words, nm_scorebook_team(&s->match.book, 0).falls,
             nm_scorebook_team(&s->match.book, 1).falls);
}

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct show *s = user;
    return match_ready(&s->match, robot, player, err);
}

/* Who fell and who had touched it at which speed, doing what: when they met, because a robot that lies or waits for the
 * referee plays another role soon. */
static void tell_falls(struct show *s)
{
    const struct match *m = &s->match;
    for (; s->told_falls < m->book.n_falls; s->told_falls++) {
        const struct nm_book_fall *fall = &m->book.falls[s->told_falls];
        const struct nm_book_bump *bump = &fall->bump;
        clear_line(stderr);
        printf("%6.1f s  %s fell (%s)", nm_seconds(fall->time), m->scenario->robots[fall->robot].name,
               bump->other >= 0 ? m->met[fall->robot][0] : m->doing[fall->robot]);
        if (bump->other >= 0)
            printf(", %.1f s after contact with %s%s (%s): %.2f m apart, towards each other at %.2f and %.2f m/s",
                   nm_seconds(fall->time - bump->began), m->scenario->robots[bump->other].name,
                   bump->lay ? ", which lay" : "", m->met[fall->robot][1], (double)bump->far, (double)bump->mine,
                   (double)bump->theirs);
        printf("\n");
        fflush(stdout);
    }
}

static int look(void *user, struct nm_stage *stage, struct nm_err *err)
{
    struct show *s = user;
    s->stage = stage;
    int over = match_look(&s->match, stage, err);
    if (s->desk) referee_desk_poll(s->desk, nm_stage_now(stage));
    tell_falls(s);
    match_sheet_look(s->sheet, stage);
    film_take(&s->film, stage, sim_view_ball);
    return over;
}

static void print_play(const struct nm_scorebook *book)
{
    printf("ball in play %.0f %% of %.0f s; two opponents at a ball that rests for 5 s: %u times\n",
           book->playing > 0 ? 100 * book->in_play / book->playing : 0, book->playing, book->duels);
    for (uint32_t t = 0; t < 2; t++) {
        struct nm_book_row sum = nm_scorebook_team(book, t);
        printf("%s: nobody on the way to the ball %.1f %% of the time, two strikers %.1f %%; %u dives, %u contacts "
               "with other robots, %u falls without a touch\n",
               team_names[t], 100 * book->teams[t].nobody / fmax(book->teams[t].play, 1e-9),
               100 * book->teams[t].crowd / fmax(book->teams[t].play, 1e-9), sum.dives, sum.contacts, sum.alone);
    }
}

/* While the stage is still there. */
static void closing(void *user)
{
    struct show *s = user;
    struct nm_err err = {0};
    s->written = s->match.judge && !match_sheet_write(s->sheet, &s->match.book, picture, &err);
    if (err.n) complain(&err);
    if (s->match.judge) {
        print_table(&s->match);
        print_play(&s->match.book);
        const struct nm_match *match = nm_judge_match(s->match.judge);
        for (int t = 0; t < 2; t++) s->score[t] = match->teams[t].score;
        s->undecided = match->over && match->phase == NM_GAME_SHOOTOUT && nm_match_winner(match) < 0;
    }
    match_close(&s->match);
    referee_desk_free(s->desk);
    s->desk = NULL;
}

/* Goals and penalties stay on the terminal above the line. */
static void told(void *user, const struct nm_note *note)
{
    struct show *s = user;
    if (note->kind == NM_NOTE_GOAL) {
        char text[160];
        snprintf(text, sizeof text, "%.1f s  %s", nm_seconds(note->time), note->text);
        match_sheet_goal(s->sheet, s->stage, text);
    }
    if (note->kind != NM_NOTE_GOAL && note->kind != NM_NOTE_NO_GOAL && note->kind != NM_NOTE_PENALTY &&
        note->kind != NM_NOTE_SET_PLAY)
        return;
    clear_line(stderr);
    const char *who = note->kind == NM_NOTE_SET_PLAY ? team_names[note->team] : "";
    printf("%6.1f s  %s%s%s\n", (double)note->time * 1e-9, who, *who ? ": " : "", note->text);
    fflush(stdout);
}

/* ---- orders from outside ---- */

static const struct nm_match *match_of(void *user)
{
    struct show *s = user;
    return s->match.judge ? nm_judge_match(s->match.judge) : NULL;
}

static int happen(void *user, const struct nm_match_event *event, struct nm_err *err)
{
    struct show *s = user;
    return nm_judge_order(s->match.judge, event, err);
}

static void truth(void *user, WorldTruth *to)
{
    struct show *s = user;
    if (s->stage) nm_stage_truth(s->stage, to);
}

static struct nm_player *referee(void *user, struct nm_err *err)
{
    struct show *s = user;
    s->desk = referee_desk_new(
        &(struct referee_desk_options){.match = match_of, .happen = happen, .truth = truth, .user = s}, err);
    return s->desk ? referee_desk_player(s->desk) : NULL;
}

/* ---- pictures or percepts ---- */

void play_choose_eyes(double speed, play_trial *trial, void *user, struct play_eyes *to)
{
    static const char *const eyes[] = {MATCH_EYES, "vision"}; /* the better ones, and the cheaper ones */
    const double reserve = 1.2;
    char reason[200] = "";
    *to = (struct play_eyes){.fidelity = nm_fidelity_names[NM_FIDELITY_CAMERA]};
    for (uint32_t i = 0; i < sizeof eyes / sizeof *eyes; i++) {
        double fast = trial(user, eyes[i], reason, sizeof reason);
        to->lineup = eyes[i];
        if (fast > speed * reserve) return;
        if (fast > 0)
            snprintf(reason, sizeof reason, "with %s this machine would play at %.1f x real time", eyes[i], fast);
        snprintf(to->sentence, sizeof to->sentence, "robots see with the line-up vision, not with " MATCH_EYES ": %s",
                 reason);
    }
    to->fidelity = nm_fidelity_names[NM_FIDELITY_PERCEPT];
    snprintf(to->sentence, sizeof to->sentence, "robots get percepts of the simulator, not pictures: %s", reason);
}

struct second { /* of a match that is tried */
    struct setup *setup;
    struct match_options match;
    int64_t began; /* ns, real time, where it begins to be measured */
    double speed;  /* of simulated against real time; 0: not yet known */
};

static bool time_second(void *user, const struct nm_judge *judge, struct nm_stage *stage)
{
    struct second *t = user;
    const int64_t from = nm_ns(0.3), until = nm_ns(1.3), now = nm_stage_now(stage);
    (void)judge;
    if (now >= from && !t->began) t->began = nm_clock();
    if (now >= until) t->speed = nm_seconds(now - from) / nm_seconds(nm_clock() - t->began);
    return t->speed > 0 || stopping();
}

static double try_second(void *user, const char *lineup, char *reason, size_t size)
{
    struct second *t = user;
    struct match_result result = {0};
    t->began = 0;
    t->speed = 0;
    t->match.eyes = lineup;
    if (!stopping()) match_play(t->setup, &t->match, WORKERS, &result);
    if (!(t->speed > 0)) snprintf(reason, size, "%s", result.died);
    return t->speed;
}

static void choose_eyes(struct setup *setup, struct match_options *match, double speed, struct play_eyes *eyes)
{
    struct second second = {setup, *match, 0, 0};
    second.match.fidelity = nm_fidelity_names[NM_FIDELITY_CAMERA];
    second.match.step = time_second;
    second.match.user = &second;
    play_choose_eyes(speed, try_second, &second, eyes);
    match->fidelity = eyes->fidelity;
    match->eyes = eyes->lineup;
}

/* ---- at the end ---- */

static void tell(const struct show *s, const struct sim_outcome *outcome)
{
    printf("%.1f s simulated, %.1f x real time\n", nm_seconds(outcome->result.time),
           nm_seconds(outcome->result.time) / outcome->wall);
    if (s->written) printf("pictures: %s%s%s\n", picture, *s->film.path ? ", " : "", s->film.path);
    printf("\nscore: red %u, blue %u\n", s->score[0], s->score[1]);
    if (s->undecided) printf("the shoot-out is undecided after its last shot: draw lots\n");
}

int play_match(struct setup *setup, const struct playing_options *options, struct match_options *match, double speed)
{
    struct nm_err err = {0};
    struct show show = {0};
    struct sim_outcome outcome;
    struct play_eyes eyes = {0};
    match->seed = options->seed ? (uint64_t)options->seed : 1;
    stop_by_signals();
    if (!match->fidelity) choose_eyes(setup, match, speed, &eyes);
    struct sim_options o = {.scenario = "match",
                            .first = match->seed,
                            .last = match->seed,
                            .seconds = options->seconds,
                            .speed = speed,
                            .workers = WORKERS,
                            .jobs = 1,
                            .log = options->log,
                            .live = options->live.port ? options->live.port : "",
                            .ready = ready,
                            .look = look,
                            .progress = progress,
                            .closing = closing,
                            .referee = referee,
                            .user = &show};
    show.sheet = match_sheet_new(&err);
    if (!show.sheet || film_open(&show.film, &show.arena, folder, "match", &err) ||
        match_begin(&show.match, setup, match, &err)) {
        complain(&err);
        film_close(&show.film);
        match_sheet_free(show.sheet);
        nm_arena_free(&show.arena);
        return EXIT_USAGE;
    }
    show.match.note = told;
    show.match.user = &show;
    if (*eyes.sentence) printf("%s\n", eyes.sentence);
    int code = sim_play(setup, &o, show.match.scenario, match->seed, &outcome, &err) ? EXIT_FAILED : EXIT_OK;
    film_close(&show.film);
    if (code == EXIT_OK) tell(&show, &outcome);
    if (interrupted()) code = tell_interrupted("the match was stopped after %.1f s", nm_seconds(outcome.result.time));
    match_end(&show.match);
    match_sheet_free(show.sheet);
    nm_arena_free(&show.arena);
    if (err.n) complain(&err);
    return code;
}

#include "cmd/match.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BehaviorState.h"
#include "nutmeg_msgs/Whistle.h"

enum { PORT_WHISTLE, PORT_POSE, PORT_BEHAVIOR, PORTS };
static const uint32_t NETWORK = 0x0a000000;                         /* 10.0.0.0; the referee is 10.0.0.1    */
static const uint8_t TEAM_NUMBERS[2] = {1, 2}, COLOURS[2] = {1, 0}; /* red and blue                        */
static const int64_t LOOK = 100000000;                              /* ns between two looks at the poses    */
static const double PICTURES = 1.0 / 15;                            /* s between two pictures of a camera   */
static const double LONGEST = 20;                                   /* times the two halves: then it has hung */

/* ---- words ---- */

static int read_league(const char *word, enum nm_game_league *league, struct nm_err *err)
{
    for (*league = 0; *league < NM_GAME_LEAGUES; (*league)++)
        if (!strcmp(word, nm_rules[*league].name)) return 0;
    return nm_fail(err, "--league wants hl, spl or hsl, not '%s'", word);
}

struct team {
    const char *robot, *lineup; /* folder, file */
};

/* "darwin", "beginner" or "darwin,beginner": what is the name of a robot is one. */
static int read_team(struct setup *setup, const char *text, const char *flag, enum nm_fidelity fidelity,
                     struct team *team, struct nm_err *err)
{
    char words[256], *rest = words;
    const char *lineup = NULL, *own = NULL;
    if (snprintf(words, sizeof words, "%s", text ? text : "") >= (int)sizeof words)
        return nm_fail(err, "%s: this is too long", flag);
    for (char *word; (word = strsep(&rest, ",")) && *word;) {
        struct nm_err none = {0};
        const char *name = nm_take_text(&setup->arena, word);
        const char *robot = strstr(name, ".yaml") ? NULL : setup_robot(setup, name, &none);
        if (robot ? own : lineup)
            return nm_fail(err, "%s: '%s' names two %s; give a robot, a line-up, or one of each", flag, text,
                           robot ? "robots" : "line-ups");
        *(robot ? &own : &lineup) = robot ? robot : name;
    }
    team->robot = own ? own : setup_robot(setup, "kid70", err);
    bool learned = team->robot && !access(nm_path(&setup->arena, team->robot, "walk.onnx"), R_OK);
    const char *form = lineup ? lineup : learned && fidelity != NM_FIDELITY_FLAT ? "match_policy" : "match";
    if (fidelity == NM_FIDELITY_FLAT && !strpbrk(form, "/.")) { /* line-ups of the flat world have no body */
        const char *path = nm_take_format(&setup->arena, "%s/lineups/%s_flat.yaml", setup->root, form);
        if (!access(path, R_OK)) form = path;
    }
    team->lineup = setup_file(setup, "lineups", "line-up", form, err);
    return team->robot && team->lineup
               ? 0
               : nm_fail(err, "%s: '%s' names no robot and no line-up", flag, text ? text : form);
}

/* ---- the scenario ---- */

struct writer {
    char *at;
    size_t room, used;
};

static void add(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->at + w->used, w->room - w->used, format, args);
    va_end(args);
    w->used += n > 0 && (size_t)n < w->room - w->used ? (size_t)n : 0;
}

static bool has_param(const struct nm_module *module, const char *name)
{
    return nm_param_find(module, name, NULL) >= 0;
}

/* There is such a length, and the line-up has another value for it. */
static bool differs(const struct nm_lineup_instance *instance, const char *name, double value)
{
    int i = nm_param_find(instance->module, name, NULL);
    return i >= 0 && fabs(instance->values[i].number[0] - value) > 1e-9;
}

/* Modules that play in a match want to know who they are and how large the field is. */
static void add_settings(struct writer *w, const struct nm_lineup *lineup, uint32_t team, uint32_t number,
                         const struct nm_pitch_size *f)
{
    const struct {
        const char *name;
        double value;
    } lengths[] = {
        {"field_length", f->length},
        {"field_width", f->width},
        {"line_width", f->line_width},
        {"goal_area_length", f->goal_area_length},
        {"goal_area_width", f->goal_area_width},
        {"penalty_area_length", f->penalty_area_length},
        {"penalty_area_width", f->penalty_area_width},
        {"penalty_mark", f->penalty_mark},
        {"circle_radius", f->circle_radius},
        {"goal_width", f->goal_width},
        {"goal_depth", f->goal_depth},
        {"post", f->post},
        {"border", f->border},
    };
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[i];
        if (has_param(instance->module, "team") && has_param(instance->module, "player"))
            add(w, "      - %s.team=%u\n      - %s.player=%u\n", instance->name, TEAM_NUMBERS[team], instance->name,
                number);
        for (size_t k = 0; has_param(instance->module, "field_length") && k < sizeof lengths / sizeof *lengths; k++)
            if (differs(instance, lengths[k].name, lengths[k].value))
                add(w, "      - %s.%s=%.6g\n", instance->name, lengths[k].name, lengths[k].value);
    }
}

/* Somebody reads percepts, and nobody in the line-up makes them. */
static bool is_blind(const struct nm_lineup *lineup)
{
    uint32_t topic = nm_lineup_topic(lineup, "percepts");
    return topic != NM_NONE && lineup->topics[topic].n_consumers && !lineup->topics[topic].n_producers;
}

/* "silent+match": what player 1 is, player 2, and so on; the last word is for all that follow. */
static const char *word_of(struct setup *setup, const char *text, uint32_t number)
{
    while (number-- > 1 && text && strchr(text, '+')) text = strchr(text, '+') + 1;
    return text ? nm_take_format(&setup->arena, "%.*s", (int)strcspn(text, "+"), text) : NULL;
}

static uint32_t words_in(const char *text)
{
    uint32_t n = text != NULL;
    while (text && (text = strchr(text, '+'))) n++, text++;
    return n;
}

static int add_player(struct writer *w, struct setup *setup, uint32_t team, uint32_t number, const char *text,
                      const char *flag, const char *eyes, enum nm_fidelity fidelity, const struct nm_pitch_size *field,
                      struct nm_err *err)
{
    static const char *const names[2] = {"red", "blue"};
    struct team who = {0};
    if (read_team(setup, text, flag, fidelity, &who, err)) return -1;
    struct lineup_flags flags = {.robot = who.robot};
    struct nm_lineup_options options = setup_options(setup, &flags);
    struct nm_lineup *lineup = nm_lineup_load(who.lineup, &setup->registry, &options, err);
    size_t stem = strlen(who.lineup) - strlen(".yaml");
    if (lineup && fidelity == NM_FIDELITY_CAMERA && is_blind(lineup)) { /* it gets the usual eyes */
        who.lineup = nm_take_format(&setup->arena, "%.*s:%s.yaml", (int)stem, who.lineup, eyes ? eyes : MATCH_EYES);
        nm_lineup_free(lineup);
        lineup = nm_lineup_load(who.lineup, &setup->registry, &options, err);
    }
    if (!lineup) return -1;
    struct pose2 at = nm_start_place(field, team ? 1 : -1, number);
    add(w, "  - name: %s%u\n    team: %u\n    number: %u\n    robot: %s\n    lineup: %s\n", names[team], number,
        team + 1, number, who.robot, who.lineup);
    add(w, "    at: [%.4f, %.4f, %.4f]\n    set:\n", at.x, at.y, at.theta);
    add_settings(w, lineup, team, number, field);
    nm_lineup_free(lineup);
    return 0;
}

static int make_scenario(struct match *m, struct setup *setup, enum nm_fidelity fidelity, struct nm_err *err)
{
    static const char *const fields[NM_GAME_LEAGUES] = {"kid", "spl", "kid"}, *const flags[2] = {"--red", "--blue"};
    struct writer w = {.room = 1 << 20};
    struct nm_pitch pitch;
    const char *field = m->options.field ? m->options.field : fields[m->league];
    const char *path = setup_file(setup, "fields", "field", field, err);
    if (!path || nm_pitch_read(&pitch, path, err)) return -1;
    struct nm_pitch_size size = nm_pitch_size(&pitch);
    uint32_t players = (uint32_t)m->options.players;
    w.at = nm_take(&setup->arena, w.room);
    add(&w, "about: a match, %u against %u\nfield: %s\nfidelity: %s\nseeds: %llu\nrandom: 0.5\n", players, players,
        field, m->options.fidelity, (unsigned long long)m->options.seed);
    if (fidelity == NM_FIDELITY_CAMERA) add(&w, "camera_period: %g s\n", PICTURES);
    add(&w, "duration: %.0f s\ncolours: [red, blue]\nball: {at: [0, 0]}\nrobots:\n",
        LONGEST * 2 * m->options.half + 600);
    for (uint32_t t = 0; t < 2; t++) {
        const char *text = m->options.teams[t], *flag = m->options.words[t] ? m->options.words[t] : flags[t];
        uint32_t given = words_in(text);
        if (given > players)
            return nm_fail(err, "%s: '%s' names %u players, but a team has %u", flag, text, given, players);
        for (uint32_t n = 1; n <= players; n++)
            if (add_player(&w, setup, t, n, word_of(setup, text, n), flag, m->options.eyes, fidelity, &size, err))
                return -1;
    }
    m->scenario = nm_scenario_parse("match", w.at, w.used, setup->root, err);
    return m->scenario ? 0 : -1;
}

/* ---- life ---- */

static void message(void *user, uint32_t team, uint32_t bytes)
{
    struct match *m = user;
    nm_judge_message(m->judge, team, bytes);
}

static int open_air(struct match *m, uint32_t team, struct nm_err *err)
{
    struct nm_air_options options = m->options.air[team];
    struct nm_controller_options o = {.all = NM_AIR_ALL, .message = message, .user = m};
    options.seed = nm_spread(m->options.seed) + team;
    m->air[team] = nm_air_new(&options, err);
    if (!m->air[team]) return -1;
    o.returns = o.control = nm_air_radio(m->air[team], (struct nm_air_place){NETWORK + 1, NM_GAME_RETURN_PORT}, err);
    for (int t = 0; t < 2; t++) {
        uint16_t port = (uint16_t)(NM_GAME_TEAM_PORT + TEAM_NUMBERS[t]);
        o.teams[t] = nm_air_radio(m->air[team], (struct nm_air_place){NETWORK + 1, port}, err);
    }
    if (!o.control || !o.teams[0] || !o.teams[1]) return -1;
    nm_controller_init(&m->controllers[team], &o);
    return 0;
}

int match_begin(struct match *m, struct setup *setup, const struct match_options *options, struct nm_err *err)
{
    uint32_t fidelity = 0;
    while (fidelity < NM_FIDELITIES && strcmp(options->fidelity, nm_fidelity_names[fidelity])) fidelity++;
    memset(m, 0, sizeof *m);
    m->options = *options;
    if (read_league(options->league, &m->league, err)) return -1;
    if (fidelity == NM_FIDELITIES)
        return nm_fail(err, "--fidelity wants camera, percept or flat, not '%s'", options->fidelity);
    if (!m->options.players) m->options.players = (int64_t)nm_rules[m->league].players;
    if (2 * m->options.players > NM_PLAYERS)
        return nm_fail(err, "--players: a team has at most %d robots", NM_PLAYERS / 2);
    if (!(m->options.half > 0)) m->options.half = nm_rules[m->league].half;
    if (!make_scenario(m, setup, (enum nm_fidelity)fidelity, err)) return 0;
    match_end(m);
    return -1;
}

void match_close(struct match *m)
{
    for (uint32_t i = 0; i < NM_PLAYERS; i++) {
        nm_radio_edge_free(m->radios[i]);
        m->radios[i] = NULL;
    }
    nm_judge_free(m->judge);
    m->judge = NULL;
    for (int t = 0; t < 2; t++) nm_air_free(m->air[t]);
    m->air[0] = m->air[1] = NULL;
}

void match_end(struct match *m)
{
    match_close(m);
    nm_scenario_free(m->scenario);
    m->scenario = NULL;
}

int match_ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct match *m = user;
    const struct nm_edge_port ports[PORTS] = {
        [PORT_WHISTLE] = {"whistle", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Whistle_type, 0, 0},
        [PORT_POSE] = {"pose", NM_PORT_IN | NM_EDGE_OPTIONAL, &PoseWithCovarianceStamped_type, 0, 0},
        [PORT_BEHAVIOR] = {"behavior_state", NM_PORT_IN | NM_EDGE_OPTIONAL, &BehaviorState_type, 0, 0},
    };
    const struct nm_scenario_robot *row = &m->scenario->robots[robot];
    if (!m->air[0] && (open_air(m, 0, err) || open_air(m, 1, err))) return -1; /* a reset has new air */
    m->players[robot] = player;
    m->edges[robot] = nm_edge_new(player, "referee", ports, PORTS, err);
    m->radios[robot] = nm_radio_edge_air(player, m->air[row->team],
                                         NETWORK + 16 * (uint32_t)TEAM_NUMBERS[row->team] + row->number, err);
    return m->edges[robot] && m->radios[robot] ? 0 : -1;
}

/* ---- every step ---- */

static void whistle(void *user, uint32_t robot, double confidence)
{
    struct match *m = user;
    m->whistled[robot] = confidence;
}

static void note(void *user, const struct nm_note *note)
{
    struct match *m = user;
    nm_scorebook_note(&m->book, note);
    if (m->note) m->note(m->user, note);
}

static int make_judge(struct match *m, struct nm_stage *stage, struct nm_err *err)
{
    struct nm_judge_options o = NM_JUDGE_OPTIONS;
    o.match = (struct nm_match_options){.league = m->league,
                                        .team_numbers = {TEAM_NUMBERS[0], TEAM_NUMBERS[1]},
                                        .team_colours = {COLOURS[0], COLOURS[1]},
                                        .players = (uint32_t)m->options.players,
                                        .kick_off = (uint32_t)(m->options.seed & 1),
                                        .half = m->options.half,
                                        .knock_out = m->options.knock_out};
    o.seed = m->options.seed;
    o.whistle = whistle;
    o.note = note;
    o.user = m;
    m->judge = nm_judge_new(stage, &o, err);
    if (!m->judge) return -1;
    nm_scorebook_new(&m->book, stage, m->judge);
    return 0;
}

static void serve_robot(struct match *m, uint32_t i, int64_t now)
{
    nm_edge_begin(m->edges[i], now);
    const PoseWithCovarianceStamped *pose = nm_edge_in(m->edges[i], PORT_POSE);
    if (pose && nm_edge_fresh(m->edges[i], PORT_POSE)) {
        const struct nm_match *match = nm_judge_match(m->judge);
        const struct nm_scenario_robot *row = &m->scenario->robots[i];
        if (match->state == NM_GAME_PLAYING && !match->teams[row->team].players[row->number - 1].penalised)
            nm_scorebook_pose(&m->book, i, nm_pose2(&pose->pose.pose));
    }
    const BehaviorState *behavior = nm_edge_in(m->edges[i], PORT_BEHAVIOR);
    uint32_t inmost = behavior && behavior->states.n == behavior->options.n ? behavior->options.n - 1 : UINT32_MAX;
    if (inmost < UINT32_MAX && strcmp(behavior->states.at[inmost], "lying")) {
        snprintf(m->doing[i], sizeof m->doing[i], "%.31s: %.29s", behavior->options.at[inmost],
                 behavior->states.at[inmost]);
    }
    Whistle *heard = m->whistled[i] > 0 ? nm_edge_push(m->edges[i], PORT_WHISTLE) : NULL;
    if (heard) {
        heard->heard = nm_stamp(now);
        heard->confidence = (float)m->whistled[i];
        heard->frequency = 3000;
        heard->player_number = (uint8_t)m->scenario->robots[i].number;
    }
    m->whistled[i] = 0;
    nm_edge_end(m->edges[i]);
}

int match_look(void *user, struct nm_stage *stage, struct nm_err *err)
{
    struct match *m = user;
    int64_t now = nm_stage_now(stage);
    if (!m->judge && make_judge(m, stage, err)) return -1;
    for (int t = 0; t < 2; t++) nm_air_advance(m->air[t], now);
    nm_judge_step(m->judge);
    for (int t = 0; t < 2 && !m->silent; t++)
        if (nm_controller_poll(&m->controllers[t], nm_judge_match(m->judge), now, err)) return -1;
    nm_scorebook_step(&m->book);
    for (uint32_t i = 0; i < m->book.n; i++) {
        const struct nm_book_bump *bump = &m->book.bumps[i];
        if (bump->other >= 0 && bump->began == now) {
            memcpy(m->met[i][0], m->doing[i], sizeof m->doing[i]);
            memcpy(m->met[i][1], m->doing[bump->other], sizeof m->doing[i]);
        }
        if (!m->cut[i]) nm_radio_edge_poll(m->radios[i], now);
        if (m->whistled[i] > 0 || now % LOOK == 0) serve_robot(m, i, now);
    }
    return nm_judge_match(m->judge)->over;
}

/* ---- a whole match without a word ---- */

void match_sum_up(const struct match *m, struct match_result *r)
{
    const struct nm_match *match = nm_judge_match(m->judge);
    for (uint32_t i = 0; i < m->book.n; i++)
        for (uint32_t c = 0; c < nm_player_cycles(m->players[i]); c++) {
            struct nm_cycle_stats stats;
            nm_player_cycle_stats(m->players[i], c, &stats);
            r->busy[m->scenario->robots[i].team] += 1e-9 * stats.busy.mean * (double)stats.runs;
            if (strcmp(stats.name, "brain")) continue;
            r->brain += 1e-9 * stats.busy.mean / m->book.n;
            r->brain_p99 = fmax(r->brain_p99, 1e-9 * (double)stats.busy.p99);
        }
    for (uint32_t t = 0; t < 2; t++) {
        r->score[t] = match->teams[t].score;
        r->teams[t] = nm_scorebook_team(&m->book, t);
        r->play[t] = m->book.teams[t];
        r->messages[t] = match->teams[t].sent;
        r->over_budget[t] = match->teams[t].talked_too_much;
    }
    r->playing = m->book.playing;
    r->in_play = m->book.in_play;
    r->duels = m->book.duels;
    r->done = match->over;
    if (!r->done) snprintf(r->died, sizeof r->died, "the match did not end");
}

void match_play(struct setup *setup, const struct match_options *options, uint32_t workers, struct match_result *r)
{
    struct match m;
    struct nm_err err = {0};
    int64_t began = nm_clock_of(CLOCK_PROCESS_CPUTIME_ID);
    memset(r, 0, sizeof *r);
    struct nm_run *run = NULL;
    if (!match_begin(&m, setup, options, &err)) {
        struct nm_run_options o = {
            .seed = options->seed, .workers = workers, .registry = &setup->registry, .ready = match_ready, .user = &m};
        run = nm_run_new(m.scenario, &o, &err);
        int over = run ? 0 : -1;
        while (!over && !stopping() && nm_run_step(run) > 0) {
            if (options->step && m.judge && options->step(options->user, m.judge, nm_run_stage(run))) break;
            over = match_look(&m, nm_run_stage(run), &err);
        }
        if (m.judge) match_sum_up(&m, r);
        if (run) r->simulated = nm_seconds(nm_stage_now(nm_run_stage(run)));
        match_close(&m);
        nm_run_free(run);
        match_end(&m);
    }
    r->cpu = nm_seconds(nm_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began);
    if (!err.n) return;
    r->done = false;
    snprintf(r->died, sizeof r->died, "%.*s", (int)strcspn(err.text, "\n"), err.text);
}

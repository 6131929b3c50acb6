/* What `make play` shows: the scenario `training`, robots of both kinds with the clock, open to viewers while they
 * play; at the end what was measured, pictures, and the score. */
#include <stdlib.h>
#include <string.h>

#include "cmd/console.h"
#include "cmd/play_pictures.h"
#include "cmd/play_training.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "std_msgs/String.h"

static const char folder[] = "out", name[] = "training";

struct session {
    struct play_pictures *pictures;
    uint32_t n;
    struct nm_edge *edges[NM_PLAYERS]; /* of the robots, which keep a score */
    const char *robots[NM_PLAYERS];
    String scores[NM_PLAYERS];
    uint32_t goals;
    bool inside; /* the ball is in the goal */
};

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct session *s = user;
    const struct nm_edge_port port = {"score", NM_PORT_IN | NM_EDGE_OPTIONAL, &String_type, 0, 0};
    s->edges[robot] = nm_edge_new(player, "scorer", &port, 1, err);
    s->robots[robot] = nm_player_name(player);
    if (robot >= s->n) s->n = robot + 1;
    return s->edges[robot] ? 0 : -1;
}

static void hear_scores(struct session *s, int64_t now)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (!s->edges[i]) continue;
        nm_edge_begin(s->edges[i], now);
        const String *score = nm_edge_in(s->edges[i], 0);
        if (score && nm_edge_fresh(s->edges[i], 0)) nm_copy(&String_type, &s->scores[i], score);
        nm_edge_end(s->edges[i]);
    }
}

static int look(void *user, struct nm_stage *stage, struct nm_err *err)
{
    const int64_t every = 100000000; /* ns */
    struct session *s = user;
    bool inside = nm_pitch_scored(nm_stage_pitch(stage), nm_stage_ball(stage, NULL)) > 0;
    (void)err;
    s->goals += inside && !s->inside;
    s->inside = inside;
    play_pictures_take(s->pictures, stage);
    if (nm_stage_now(stage) % every == 0) hear_scores(s, nm_stage_now(stage));
    return 0;
}

/* What is told at the end: the table, where the pictures are, each robot's own score, the goals. */
static int tell(struct session *s, const struct nm_scenario *scenario, const struct sim_outcome *outcome,
                struct nm_err *err)
{
    sim_table(scenario, outcome, 1, outcome->wall, stdout);
    int bad = play_pictures_write(s->pictures, folder, name, err);
    if (!bad) printf("pictures: %s/%s.png", folder, name);
    if (!bad && *play_pictures_video(s->pictures)) printf(", %s", play_pictures_video(s->pictures));
    if (!bad) printf("\n");
    for (uint32_t i = 0; i < s->n; i++)
        if (*s->scores[i].data) printf("%s: %s\n", scenario->robots[i].name, s->scores[i].data);
    printf("\nscore: %u goal%s\n", s->goals, s->goals == 1 ? "" : "s");
    return bad;
}

int play_training(struct setup *setup, const struct playing_options *options)
{
    struct nm_err err = {0};
    struct session session = {0};
    struct sim_outcome outcome;
    struct sim_options o = {.scenario = name,
                            .seconds = options->seconds,
                            .speed = options->virtual_time ? 0 : 1,
                            .workers = 1,
                            .jobs = 1,
                            .live = options->live.port ? options->live.port : "",
                            .photo_folder = folder,
                            .ready = ready,
                            .look = look,
                            .user = &session};
    const char *file = sim_find(setup, "scenarios", "scenario", name, &err);
    struct nm_scenario *scenario = file ? nm_scenario_read(file, setup->root, &err) : NULL;
    int code = EXIT_USAGE;
    o.first = o.last = options->seed ? (uint64_t)options->seed : scenario ? scenario->first_seed : 1;
    double seconds = options->seconds > 0 || !scenario ? options->seconds : scenario->duration;
    if (scenario) session.pictures = play_pictures_new(seconds, &err);
    if (session.pictures) {
        printf("%s\n", scenario->about);
        stop_by_signals();
        play_pictures_film(session.pictures, folder, name);
        code = sim_play(setup, &o, scenario, o.first, &outcome, &err) || tell(&session, scenario, &outcome, &err)
                   ? EXIT_FAILED
                   : EXIT_OK;
        if (interrupted())
            code = tell_interrupted("only %.1f of %.1f s of the session were played", nm_seconds(outcome.result.time),
                                    seconds);
    }
    play_pictures_free(session.pictures);
    nm_scenario_free(scenario);
    if (err.n) complain(&err);
    return code;
}

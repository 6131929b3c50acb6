/* A training session, as `make play` shows it: the scenario `training`, robots of both kinds in real time, open to
 * viewers while they play. At the end it prints what was measured and the score, and writes pictures: a contact sheet,
 * and a video if ffmpeg is installed. The sheet begins with the field from above and the ways of robots and ball; below
 * it is a row for each of some moments, the whole scene on the left and each robot beside it. */
#include "cmd/play_training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/console.h"
#include "cmd/film.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "sim/stage.h"
#include "std_msgs/String.h"

enum {
    TILE_W = 400,
    TILE_H = 225,
    COLUMNS = 3,       /* the scene and two robots */
    EVENLY = 7,        /* rows, one after the other     */
    ROWS = EVENLY + 5, /* and some of what happens      */
    MAP_W = COLUMNS * TILE_W,
    MAP_H = MAP_W * 9 / 16,
    SHEET_H = MAP_H + ROWS * TILE_H,
    WALKERS = 4, /* whose ways are drawn, the ball last */
    STEPS = 4096,
};
static const double TRACE = 0.1; /* s between two points of a way         */

struct place {
    float x, y;
    bool fell; /* here it began to lie */
};

struct way {
    uint32_t n;
    bool lies;
    struct place at[STEPS];
};

struct play_pictures {
    struct nm_arena arena;
    double seconds;
    uint32_t rows, evenly; /* taken so far; of them the regular ones */
    double soon;           /* s, when one is taken of what happened  */
    bool rolls;            /* the ball is fast */
    double next_trace;
    struct nm_eye *tile, *map;
    struct film film;
    struct pose3 above; /* where the map was taken from */
    struct way ways[WALKERS];
    uint8_t *sheet, *frame;
};

/* ---- paper ---- */

static void dot(struct play_pictures *p, double u, double v, int half, const uint8_t colour[3])
{
    for (int y = (int)v - half; y <= (int)v + half; y++)
        for (int x = (int)u - half; x <= (int)u + half; x++)
            if (x >= 0 && y >= 0 && x < MAP_W && y < SHEET_H) memcpy(p->sheet + 3 * (y * MAP_W + x), colour, 3);
}

static void stroke(struct play_pictures *p, struct pixel a, struct pixel b, int half, const uint8_t colour[3])
{
    int n = (int)ceil(fmax(fabs(b.u - a.u), fabs(b.v - a.v))) + 1;
    for (int i = 0; i <= n; i++) dot(p, a.u + (b.u - a.u) * i / n, a.v + (b.v - a.v) * i / n, half, colour);
}

/* Figures of three by five dots, the rows from above, three bits each. */
static void write_text(struct play_pictures *p, int x, int y, const char *text)
{
    static const struct {
        char c;
        uint16_t bits;
    } font[] = {
        {'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
        {'6', 074757}, {'7', 071122}, {'8', 075757}, {'9', 075717}, {'.', 000002}, {'s', 003636},
    };
    static const uint8_t ink[3] = {255, 255, 255}, shade[3] = {0, 0, 0};
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; text[k]; k++)
            for (size_t f = 0; f < sizeof font / sizeof *font; f++)
                for (int i = 0; i < 15 && font[f].c == text[k]; i++)
                    if (font[f].bits >> (14 - i) & 1)
                        dot(p, x + 12 * k + 3 * (i % 3), y + 3 * (i / 3), pass ? 1 : 2, pass ? ink : shade);
}

/* ---- a row of the sheet ---- */

static void add_tile(struct play_pictures *p, struct nm_stage *stage, uint32_t column, struct pose3 from)
{
    uint32_t top = MAP_H + p->rows * TILE_H;
    picture_take(p->tile, stage, from, p->frame);
    for (uint32_t y = 0; y < TILE_H; y++)
        memcpy(p->sheet + 3 * ((top + y) * MAP_W + column * TILE_W), p->frame + 3 * y * TILE_W, 3 * TILE_W);
}

static void add_row(struct play_pictures *p, struct nm_stage *stage)
{
    static const uint8_t frame[3] = {20, 20, 20};
    char text[32];
    int top = (int)(MAP_H + p->rows * TILE_H);
    p->above = sim_view_top(stage);
    picture_take(p->map, stage, p->above, p->sheet); /* the last one stays, whenever it ends */
    add_tile(p, stage, 0, sim_view_stand(stage));
    for (uint32_t r = 0; r < nm_stage_robots(stage) && r + 1 < COLUMNS; r++)
        add_tile(p, stage, r + 1, sim_view_robot(stage, r));
    for (int c = 1; c < COLUMNS; c++)
        stroke(p, (struct pixel){c * TILE_W, top}, (struct pixel){c * TILE_W, top + TILE_H - 1}, 1, frame);
    stroke(p, (struct pixel){0, top}, (struct pixel){MAP_W - 1, top}, 1, frame);
    snprintf(text, sizeof text, "%.1f s", nm_seconds(nm_stage_now(stage)));
    write_text(p, 12, top + 12, text);
    p->rows++;
}

/* ---- ways ---- */

/* A fall is at its best a moment later; so is a shot. */
static void trace(struct play_pictures *p, struct nm_stage *stage)
{
    const double fall = 0.1, shot = 0.1, fast = 0.8; /* s, s, m/s */
    double now = nm_seconds(nm_stage_now(stage));
    struct vec3 velocity, ball = nm_stage_ball(stage, &velocity);
    bool rolls = vec3_norm(velocity) > fast;
    if (rolls && !p->rolls) p->soon = now + shot;
    p->rolls = rolls;
    for (uint32_t r = 0; r < nm_stage_robots(stage) && r + 1 < WALKERS; r++) {
        struct nm_whereabouts w;
        struct way *way = &p->ways[r];
        nm_stage_whereabouts(stage, r, &w);
        if (way->n < STEPS)
            way->at[way->n++] =
                (struct place){(float)w.base_to_field.pos.x, (float)w.base_to_field.pos.y, w.fallen && !way->lies};
        if (w.fallen && !way->lies) p->soon = now + fall;
        way->lies = w.fallen;
    }
    struct way *way = &p->ways[WALKERS - 1];
    if (way->n < STEPS) way->at[way->n++] = (struct place){(float)ball.x, (float)ball.y, false};
}

/* A place that was jumped to, by hand, is not joined. */
static void draw_way(struct play_pictures *p, const struct way *way, int half, const uint8_t colour[3])
{
    static const uint8_t black[3] = {0, 0, 0};
    const double hand = 0.6; /* m in one step of the trace: more than any ball rolls */
    struct pixel last = {0, 0};
    for (uint32_t i = 0; i < way->n; i++) {
        struct pixel at;
        struct vec3 place = {(double)way->at[i].x, (double)way->at[i].y, 0};
        if (!nm_camera_from_world(&p->map->lens->camera, p->above, place, &at)) continue;
        bool jumped =
            i && hypot((double)(way->at[i].x - way->at[i - 1].x), (double)(way->at[i].y - way->at[i - 1].y)) > hand;
        if (i && !jumped) stroke(p, last, at, half, colour);
        last = at;
    }
    for (uint32_t i = 0; i < way->n; i++) {
        struct pixel at;
        struct vec3 place = {(double)way->at[i].x, (double)way->at[i].y, 0};
        if (!way->at[i].fell || !nm_camera_from_world(&p->map->lens->camera, p->above, place, &at)) continue;
        for (int s = -1; s <= 1; s += 2)
            stroke(p, (struct pixel){at.u - 9, at.v - 9 * s}, (struct pixel){at.u + 9, at.v + 9 * s}, 2, black);
    }
}

static void draw_ways(struct play_pictures *p)
{
    static const uint8_t colours[WALKERS][3] = {{230, 60, 50}, {250, 200, 40}, {80, 160, 255}, {255, 255, 255}};
    for (uint32_t i = 0; i < WALKERS; i++) draw_way(p, &p->ways[i], i == WALKERS - 1 ? 0 : 1, colours[i]);
}

/* ---- life ---- */

static void play_pictures_free(struct play_pictures *p)
{
    if (!p) return;
    film_close(&p->film);
    nm_arena_free(&p->arena);
    free(p);
}

/* `seconds`: how long it is going to last. NULL with a sentence. */
static struct play_pictures *play_pictures_new(double seconds, struct nm_err *err)
{
    struct play_pictures *p = nm_calloc(1, sizeof *p);
    p->seconds = seconds;
    p->soon = INFINITY;
    p->film.pipe = -1;
    p->tile = picture_eye(&p->arena, TILE_W, TILE_H, err);
    p->map = picture_eye(&p->arena, MAP_W, MAP_H, err);
    p->sheet = nm_take(&p->arena, 3 * MAP_W * SHEET_H);
    p->frame = nm_take(&p->arena, 3 * TILE_W * TILE_H);
    if (p->tile && p->map) return p;
    play_pictures_free(p);
    return NULL;
}

/* After every step. */
static void play_pictures_take(struct play_pictures *p, struct nm_stage *stage)
{
    double now = nm_seconds(nm_stage_now(stage));
    if (p->evenly < EVENLY && now >= p->seconds * (p->evenly + 0.5) / EVENLY) {
        p->evenly++;
        add_row(p, stage);
    }
    if (now >= p->soon && p->rows < ROWS - (EVENLY - p->evenly)) {
        p->soon = INFINITY;
        add_row(p, stage);
    }
    if (now >= p->next_trace) {
        trace(p, stage);
        p->next_trace += TRACE;
    }
    film_take(&p->film, stage, sim_view_stand);
}

/* Writes FOLDER/NAME.png and ends FOLDER/NAME.mp4, whose path (or "") stays valid. */
static int play_pictures_write(struct play_pictures *p, const char *folder, const char *name, struct nm_err *err)
{
    const char *path = nm_take_format(&p->arena, "%s/%s.png", folder, name);
    film_close(&p->film);
    if (nm_make_folders(path, err)) return -1;
    draw_ways(p);
    return sim_png(path, p->sheet, MAP_W, MAP_H + p->rows * TILE_H, err);
}

/* ---- the session ---- */

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
    if (!bad && *s->pictures->film.path) printf(", %s", s->pictures->film.path);
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
    const char *file = setup_file(setup, "scenarios", "scenario", name, &err);
    struct nm_scenario *scenario = file ? nm_scenario_read(file, setup->root, &err) : NULL;
    int code = EXIT_USAGE;
    o.first = o.last = options->seed ? (uint64_t)options->seed : scenario ? scenario->first_seed : 1;
    double seconds = options->seconds > 0 || !scenario ? options->seconds : scenario->duration;
    if (scenario) session.pictures = play_pictures_new(seconds, &err);
    if (session.pictures) {
        printf("%s\n", scenario->about);
        stop_by_signals();
        code = film_open(&session.pictures->film, &session.pictures->arena, folder, name, &err) ||
                       sim_play(setup, &o, scenario, o.first, &outcome, &err) ||
                       tell(&session, scenario, &outcome, &err)
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

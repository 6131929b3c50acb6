#include "cmd/match_sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/memory.h"
#include "cmd/canvas.h"
#include "cmd/film.h"
#include "cmd/sim_play.h"
#include "core/files.h"

enum {
    TILE_W = 400,
    TILE_H = 225,
    COLUMNS = 3, /* two seconds before, one second before, and the goal */
    MAP_W = COLUMNS * TILE_W,
    MAP_H = MAP_W * 9 / 16,
    GOALS = 12, /* rows; what comes later has none */
    CELLS_X = 44,
    CELLS_Y = 32, /* of a quarter of a metre, for a field of 9 m with its border */
    STEPS = 4096,
};
static const double CELL = 0.25, TRACE = 0.5, PAST = 1; /* m, s between two points of a way, s between two pictures */
static const uint32_t RED = 0xe63c32, BLUE = 0x3c78ff, WHITE = 0xffffff, SHADE = 0x101010;

struct match_sheet {
    struct nm_arena arena;
    struct nm_eye *tile, *map;
    struct pose3 above;
    uint8_t *field;             /* the map's picture, at the end                  */
    uint8_t *past[COLUMNS - 1]; /* the older one first                            */
    uint8_t *goals[GOALS][COLUMNS];
    char texts[GOALS][120];
    uint32_t n_goals, n_robots, n_steps;
    double next_trace, next_past;
    float ways[NM_PLAYERS][STEPS][2];
    uint8_t teams[NM_PLAYERS];
    uint32_t heat[CELLS_X][CELLS_Y], hottest;
};

struct match_sheet *match_sheet_new(struct nm_err *err)
{
    struct match_sheet *s = nm_calloc(1, sizeof *s);
    s->tile = picture_eye(&s->arena, TILE_W, TILE_H, err);
    s->map = picture_eye(&s->arena, MAP_W, MAP_H, err);
    s->field = nm_take(&s->arena, 3 * MAP_W * MAP_H);
    for (int i = 0; i < COLUMNS - 1; i++) s->past[i] = nm_take(&s->arena, 3 * TILE_W * TILE_H);
    if (s->tile && s->map) return s;
    match_sheet_free(s);
    return NULL;
}

void match_sheet_free(struct match_sheet *s)
{
    if (!s) return;
    nm_arena_free(&s->arena);
    free(s);
}

/* ---- while it plays ---- */

static void trace(struct match_sheet *s, struct nm_stage *stage)
{
    struct vec3 ball = nm_stage_ball(stage, NULL);
    int x = (int)floor(ball.x / CELL) + CELLS_X / 2, y = (int)floor(ball.y / CELL) + CELLS_Y / 2;
    if (x >= 0 && y >= 0 && x < CELLS_X && y < CELLS_Y && ++s->heat[x][y] > s->hottest) s->hottest = s->heat[x][y];
    s->n_robots = nm_stage_robots(stage);
    if (s->n_steps == STEPS) return;
    for (uint32_t i = 0; i < s->n_robots; i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        s->teams[i] = (uint8_t)nm_stage_robot(stage, i)->team;
        s->ways[i][s->n_steps][0] = (float)w.base_to_field.pos.x;
        s->ways[i][s->n_steps][1] = (float)w.base_to_field.pos.y;
    }
    s->n_steps++;
}

void match_sheet_look(struct match_sheet *s, struct nm_stage *stage)
{
    double now = (double)nm_stage_now(stage) * 1e-9;
    if (now >= s->next_trace) {
        s->next_trace += TRACE;
        trace(s, stage);
    }
    if (now < s->next_past || s->n_goals == GOALS) return;
    s->next_past += PAST;
    uint8_t *oldest = s->past[0];
    memmove(s->past, s->past + 1, sizeof s->past - sizeof *s->past);
    s->past[COLUMNS - 2] = oldest;
    picture_take(s->tile, stage, sim_view_ball(stage), oldest);
}

void match_sheet_goal(struct match_sheet *s, struct nm_stage *stage, const char *text)
{
    const size_t size = 3 * TILE_W * TILE_H;
    if (s->n_goals == GOALS) return;
    uint8_t **row = s->goals[s->n_goals];
    for (int i = 0; i < COLUMNS; i++) row[i] = nm_take(&s->arena, size);
    for (int i = 0; i < COLUMNS - 1; i++) memcpy(row[i], s->past[i], size);
    picture_take(s->tile, stage, sim_view_ball(stage), row[COLUMNS - 1]);
    snprintf(s->texts[s->n_goals++], sizeof s->texts[0], "%s", text);
}

/* ---- at the end ---- */

static bool project(const struct match_sheet *s, double x, double y, struct pixel *at)
{
    return nm_camera_from_world(&s->map->lens->camera, s->above, (struct vec3){x, y, 0}, at);
}

static void copy(struct canvas *c, uint32_t left, uint32_t top, uint32_t width, uint32_t height, const uint8_t *rgb)
{
    for (uint32_t y = 0; y < height; y++)
        memcpy(c->rgb + 3 * ((top + y) * c->width + left), rgb + 3 * (size_t)y * width, 3 * (size_t)width);
}

/* Yellow to red over the green, by the root of the time: a ball that rests somewhere must not hide the rest. */
static void draw_heat(const struct match_sheet *s, struct canvas *c)
{
    for (int x = 0; x < CELLS_X; x++)
        for (int y = 0; y < CELLS_Y; y++) {
            double share = s->hottest ? sqrt((double)s->heat[x][y] / s->hottest) : 0;
            struct pixel a, b;
            if (!(share > 0) || !project(s, (x - CELLS_X / 2) * CELL, (y - CELLS_Y / 2) * CELL, &a) ||
                !project(s, (x + 1 - CELLS_X / 2) * CELL, (y + 1 - CELLS_Y / 2) * CELL, &b))
                continue;
            const double colour[3] = {255, 220 * (1 - share), 30};
            int left = (int)nm_clamp(fmin(a.u, b.u), 0, MAP_W - 1), right = (int)nm_clamp(fmax(a.u, b.u), 0, MAP_W - 1);
            int top = (int)nm_clamp(fmin(a.v, b.v), 0, MAP_H - 1), low = (int)nm_clamp(fmax(a.v, b.v), 0, MAP_H - 1);
            for (int v = top; v < low; v++)
                for (int u = left; u < right; u++)
                    for (int k = 0; k < 3; k++) {
                        uint8_t *p = &c->rgb[3 * (v * MAP_W + u) + k];
                        double mix = 0.2 + 0.5 * share;
                        *p = (uint8_t)((1 - mix) * *p + mix * colour[k]);
                    }
        }
}

/* A place that was jumped to, by hand, is not joined. */
static void draw_ways(const struct match_sheet *s, struct canvas *c)
{
    const float hand = 0.6f; /* m: farther than a robot walks between two points */
    for (uint32_t i = 0; i < s->n_robots; i++)
        for (uint32_t k = 1; k < s->n_steps; k++) {
            const float *a = s->ways[i][k - 1], *b = s->ways[i][k];
            struct pixel from, to;
            if (hypotf(a[0] - b[0], a[1] - b[1]) < hand && project(s, (double)a[0], (double)a[1], &from) &&
                project(s, (double)b[0], (double)b[1], &to))
                canvas_line(c, from.u, from.v, to.u, to.v, 1.2, s->teams[i] ? BLUE : RED);
        }
}

static void draw_shots(const struct match_sheet *s, const struct nm_scorebook *book, struct canvas *c)
{
    for (uint32_t i = 0; i < book->n_shots; i++) {
        const struct nm_book_shot *shot = &book->shots[i];
        struct pixel a, b;
        if (!project(s, (double)shot->x, (double)shot->y, &a) ||
            !project(s, (double)shot->to_x, (double)shot->to_y, &b))
            continue;
        canvas_line(c, a.u, a.v, b.u, b.v, shot->goal ? 6 : 3, WHITE);
        canvas_line(c, a.u, a.v, b.u, b.v, shot->goal ? 4 : 1.5, shot->team ? BLUE : RED);
        canvas_line(c, a.u - 5, a.v, a.u + 5, a.v, 10, shot->team ? BLUE : RED);
    }
}

int match_sheet_write(struct match_sheet *s, const struct nm_scorebook *book, const char *path, struct nm_err *err)
{
    struct canvas c;
    if (canvas_begin(&c, path, MAP_W, MAP_H + s->n_goals * TILE_H, err)) return -1;
    s->above = sim_view_top(book->stage);
    picture_take(s->map, book->stage, s->above, s->field);
    copy(&c, 0, 0, MAP_W, MAP_H, s->field);
    draw_heat(s, &c);
    draw_ways(s, &c);
    draw_shots(s, book, &c);
    for (uint32_t g = 0; g < s->n_goals; g++) {
        uint32_t top = MAP_H + g * TILE_H;
        for (uint32_t i = 0; i < COLUMNS; i++) copy(&c, i * TILE_W, top, TILE_W, TILE_H, s->goals[g][i]);
        canvas_line(&c, 0, top, MAP_W, top, 2, SHADE);
        canvas_text(&c, 9, top + 21, false, SHADE, s->texts[g]);
        canvas_text(&c, 8, top + 20, false, WHITE, s->texts[g]);
    }
    return canvas_end(&c, err);
}

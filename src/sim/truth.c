#include "sim/truth.h"

#include <math.h>
#include <string.h>

static struct nm_seen *slot(struct nm_picture_truth *t, uint8_t thing)
{
    if (thing == NM_THING_BALL) return &t->ball;
    if (thing < NM_THING_ROBOT) return &t->posts[thing - NM_THING_POST];
    return &t->robots[thing - NM_THING_ROBOT];
}

static void add_pixel(struct nm_seen *s, int32_t x, int32_t y)
{
    if (!s->pixels++) {
        s->x0 = x;
        s->y0 = y;
        s->x1 = x + 1;
        s->y1 = y + 1;
    }
    if (x < s->x0) s->x0 = x;
    if (x >= s->x1) s->x1 = x + 1;
    s->y1 = y + 1;
}

/* Most of a picture is ground and hall, whose numbers are below 4: eight such pixels are passed at once. */
static void find_boxes(const struct nm_eye *eye, struct nm_picture_truth *t)
{
    const struct nm_lens_map *lens = eye->lens;
    _Static_assert(NM_THING_BALL == 4, "the mask below passes things 0 to 3");
    for (uint32_t y = 0; y < lens->camera.height; y++) {
        const uint8_t *row = eye->things + y * lens->stride;
        for (uint32_t x = 0; x < lens->camera.width; x++) {
            uint64_t eight;
            if (x % 8 == 0) {
                memcpy(&eight, row + x, sizeof eight);
                if (!(eight & 0xfcfcfcfcfcfcfcfcu)) {
                    x += 7;
                    continue;
                }
            }
            if (row[x] >= NM_THING_BALL) add_pixel(slot(t, row[x]), (int32_t)x, (int32_t)y);
        }
    }
}

static void set_centre(const struct nm_eye *eye, struct nm_seen *s, struct vec3 point)
{
    s->centre_known = nm_camera_from_world(&eye->lens->camera, eye->to_field, point, &s->centre);
}

/* Where a point of the ground is seen; false if it is hidden or outside. */
static bool ground_seen(const struct nm_eye *eye, double x, double y, struct pixel *at)
{
    const struct nm_camera *camera = &eye->lens->camera;
    if (!nm_camera_from_world(camera, eye->to_field, (struct vec3){x, y, 0}, at) || !nm_camera_sees(camera, *at))
        return false;
    uint8_t thing = eye->things[(uint32_t)lrint(at->v) * eye->lens->stride + (uint32_t)lrint(at->u)];
    return thing == NM_THING_GRASS || thing == NM_THING_LINE;
}

/* Follows a curve in steps and writes down its visible runs, in pieces that are nearly straight in the picture. */
struct tracer {
    const struct nm_eye *eye;
    struct nm_picture_truth *truth;
    uint16_t number;
    bool arc;
    uint32_t steps; /* of the open piece */
    struct pixel from, last;
};

static void close_piece(struct tracer *t)
{
    struct nm_picture_truth *truth = t->truth;
    if (t->steps && truth->n_lines < NM_SEEN_LINES)
        truth->lines[truth->n_lines++] = (struct nm_seen_line){t->from, t->last, t->number, t->arc};
    t->steps = 0;
}

static void trace(struct tracer *t, double x, double y, bool *open, uint32_t most)
{
    struct pixel at;
    if (!ground_seen(t->eye, x, y, &at)) {
        close_piece(t);
        *open = false;
        return;
    }
    if (!*open) t->from = at;
    t->steps += *open;
    t->last = at;
    *open = true;
    if (t->steps == most) {
        close_piece(t);
        t->from = at;
    }
}

static void find_lines(const struct nm_eye *eye, const struct nm_pitch *p, struct nm_picture_truth *truth)
{
    const double step = 0.05;   /* m            */
    const uint32_t pieces = 20; /* steps a piece: a metre */
    for (uint32_t i = 0; i < p->n_lines; i++) {
        const struct nm_line *l = &p->lines[i];
        struct tracer t = {.eye = eye, .truth = truth, .number = (uint16_t)i};
        int n = (int)ceil(vec2_norm(l->x1 - l->x0, l->y1 - l->y0) / step);
        bool open = false;
        for (int k = 0; k <= n; k++) {
            double s = (double)k / n;
            trace(&t, l->x0 + s * (l->x1 - l->x0), l->y0 + s * (l->y1 - l->y0), &open, pieces);
        }
        close_piece(&t);
    }
    for (uint32_t i = 0; i < p->n_arcs; i++) {
        const struct nm_arc *a = &p->arcs[i];
        struct tracer t = {.eye = eye, .truth = truth, .number = (uint16_t)i, .arc = true};
        int n = (int)ceil(a->sweep / 0.05);
        bool open = false;
        for (int k = 0; k <= n; k++) {
            double angle = a->from + a->sweep * k / n;
            trace(&t, a->x + a->radius * cos(angle), a->y + a->radius * sin(angle), &open, 4);
        }
        close_piece(&t);
    }
}

static void add_point(const struct nm_eye *eye, struct nm_picture_truth *t, double x, double y, uint32_t number,
                      bool spot)
{
    struct pixel at;
    if (t->n_points < NM_SEEN_POINTS && ground_seen(eye, x, y, &at))
        t->points[t->n_points++] = (struct nm_seen_point){at, (uint16_t)number, spot};
}

void nm_picture_truth(const struct nm_eye *eye, const struct nm_scene *scene, struct nm_picture_truth *t)
{
    const struct nm_pitch *p = scene->pitch;
    memset(t, 0, sizeof *t);
    find_boxes(eye, t);
    if (scene->has_ball) {
        set_centre(eye, &t->ball, scene->ball.pos);
        if (t->ball.centre_known)
            t->ball_radius = nm_camera_ball_radius(&eye->lens->camera, eye->to_field, t->ball.centre, p->ball_radius);
    }
    for (uint32_t i = 0; i < NM_PLAYERS; i++)
        if (scene->robots >> i & 1) set_centre(eye, &t->robots[i], scene->robot[i].pos);
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++) set_centre(eye, &t->posts[i], p->posts[i]);
    find_lines(eye, p, t);
    for (uint32_t i = 0; i < p->n_crossings; i++) add_point(eye, t, p->crossings[i].x, p->crossings[i].y, i, false);
    for (uint32_t i = 0; i < p->n_spots; i++) add_point(eye, t, p->spots[i].x, p->spots[i].y, i, true);
}

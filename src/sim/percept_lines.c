/* Pieces of field lines, as a vision finds them: of each painted line the longest piece that is in the picture, not
 * hidden and not too far away. Its ends err like everything else in that image: by pixels of their own, and by the
 * camera pose that the robot believes in. */
#include <math.h>

#include "sim/percept.h"

static const double STEP = 0.1;     /* m between two looks along a line        */
static const double SHORTEST = 0.2; /* m, what is shorter is no line           */

struct piece { /* of a line, m from its beginning */
    double from, to;
};

static double length_of(const struct nm_line *line) { return vec2_norm(line->x1 - line->x0, line->y1 - line->y0); }

static struct vec3 along(const struct nm_line *line, double length, double way)
{
    double k = length > 0 ? way / length : 0;
    return (struct vec3){line->x0 + k * (line->x1 - line->x0), line->y0 + k * (line->y1 - line->y0), 0};
}

/* m, the distance at which nm_percept_missed is as large as this luck: farther away a line is not found. NAN if a line
 * is not found however near it is. */
static double reach_of(const struct nm_percept_habit *h, double luck)
{
    return h->range + h->fade * log((1 - h->missed) / (1 - luck) - 1);
}

static struct piece longest(const struct nm_percept_view *v, const struct nm_line *line,
                            const struct nm_percept_habit *habit, double luck)
{
    double length = length_of(line), began = -1, reach = reach_of(habit, luck);
    int n = (int)ceil(length / STEP);
    struct piece best = {0, 0};
    if (!(reach > 0)) return best;
    for (int i = 0; i <= n; i++) {
        double way = length * i / n;
        struct vec3 at = along(line, length, way), eye = v->camera_to_field.pos;
        double dx = at.x - eye.x, dy = at.y - eye.y;
        bool found = dx * dx + dy * dy <= reach * reach && nm_percept_sees(v, at, 0);
        if (!found) began = -1;
        if (found && began < 0) began = way;
        if (found && way - began > best.to - best.from) best = (struct piece){began, way};
    }
    return best;
}

static bool end_of(struct nm_perceiver *eyes, const struct nm_percept_params *params, const struct nm_percept_view *v,
                   struct vec3 exact, struct pixel *at, double *x, double *y)
{
    struct vec3 ground;
    if (!nm_camera_from_world(v->camera, v->camera_to_field, exact, at)) return false;
    at->u += params->pixel_noise * nm_dice_gauss(&eyes->line_dice);
    at->v += params->pixel_noise * nm_dice_gauss(&eyes->line_dice);
    if (!nm_camera_to_ground(v->camera, eyes->camera_to_robot, *at, 0, &ground)) return false;
    *x = ground.x;
    *y = ground.y;
    return true;
}

uint32_t nm_perceive_lines(struct nm_perceiver *eyes, const struct nm_percept_params *params,
                           const struct nm_percept_view *view, struct nm_segment segments[NM_PITCH_LINES])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < view->pitch->n_lines; i++) {
        const struct nm_line *line = &view->pitch->lines[i];
        bool redraw = nm_dice_roll(&eyes->line_dice) >= eyes->keep;
        double fresh = nm_dice_roll(&eyes->line_dice);
        if (redraw) eyes->line_luck[i] = fresh;
        struct piece piece = longest(view, line, &params->line, eyes->line_luck[i]);
        struct nm_segment *s = &segments[n];
        if (piece.to - piece.from < SHORTEST) continue;
        double length = length_of(line);
        *s = (struct nm_segment){.truth = (int32_t)i, .confidence = 0.6 + 0.35 * fmin(piece.to - piece.from, 1)};
        if (end_of(eyes, params, view, along(line, length, piece.from), &s->from, &s->x0, &s->y0) &&
            end_of(eyes, params, view, along(line, length, piece.to), &s->to, &s->x1, &s->y1))
            n++;
    }
    return n;
}

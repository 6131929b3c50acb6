#include "base/pitch.h"

#include <stdbool.h>

#include "base/geometry.h"

static void add_line(struct nm_line *lines, uint32_t *n, double x0, double y0, double x1, double y1)
{
    lines[(*n)++] = (struct nm_line){x0, y0, x1, y1};
}

static void add_crossing(struct nm_crossing *crossings, uint32_t *n, enum nm_crossing_kind kind, double x, double y,
                         double theta)
{
    crossings[(*n)++] = (struct nm_crossing){kind, x, y, angle_normal(theta)};
}

/* The areas before the goals, from the smaller to the larger one; false where the field has none. */
static bool area(const struct nm_pitch_size *p, int i, double *length, double *width)
{
    *length = i ? p->penalty_area_length : p->goal_area_length;
    *width = i ? p->penalty_area_width : p->goal_area_width;
    return *length > 0 && *width > 0;
}

uint32_t nm_pitch_lines(const struct nm_pitch_size *p, struct nm_line lines[NM_PITCH_LINES])
{
    double x = p->length / 2, y = p->width / 2, length, width;
    uint32_t n = 0;
    for (double s = -1; s <= 1; s += 2) {
        add_line(lines, &n, -x, s * y, x, s * y);
        add_line(lines, &n, s * x, -y, s * x, y);
        for (int i = 0; i < 2; i++) {
            if (!area(p, i, &length, &width)) continue;
            double front = s * (x - length), side = width / 2;
            add_line(lines, &n, front, -side, front, side);
            for (double t = -1; t <= 1; t += 2) add_line(lines, &n, s * x, t * side, front, t * side);
        }
    }
    add_line(lines, &n, 0, -y, 0, y);
    return n;
}

/* An area has two corners, and two T on the goal line. */
uint32_t nm_pitch_crossings(const struct nm_pitch_size *p, struct nm_crossing crossings[NM_PITCH_CROSSINGS])
{
    double x = p->length / 2, y = p->width / 2, length, width;
    uint32_t n = 0;
    for (double s = -1; s <= 1; s += 2) {
        for (int i = 0; i < 2; i++) {
            if (!area(p, i, &length, &width)) continue;
            double front = s * (x - length), side = width / 2;
            for (double t = -1; t <= 1; t += 2) {
                add_crossing(crossings, &n, NM_CROSSING_L, front, t * side, atan2(-t, s));
                add_crossing(crossings, &n, NM_CROSSING_T, s * x, t * side, s > 0 ? M_PI : 0);
            }
        }
        add_crossing(crossings, &n, NM_CROSSING_T, 0, s * y, s > 0 ? -M_PI / 2 : M_PI / 2);
        add_crossing(crossings, &n, NM_CROSSING_X, 0, s * p->circle_radius, 0);
        for (double t = -1; t <= 1; t += 2) add_crossing(crossings, &n, NM_CROSSING_L, s * x, t * y, atan2(-t, -s));
    }
    return n;
}

uint32_t nm_pitch_posts(const struct nm_pitch_size *p, struct nm_landmark posts[NM_PITCH_POSTS])
{
    double x = p->length / 2, y = (p->goal_width + p->post) / 2;
    for (int i = 0; i < NM_PITCH_POSTS; i++)
        posts[i] = (struct nm_landmark){NM_LANDMARK_POST, i & 2 ? x : -x, i & 1 ? y : -y, 0};
    return NM_PITCH_POSTS;
}

uint32_t nm_pitch_landmarks(const struct nm_pitch_size *p, struct nm_landmark landmarks[NM_PITCH_LANDMARKS])
{
    struct nm_crossing crossings[NM_PITCH_CROSSINGS];
    double mark = p->length / 2 - p->penalty_mark;
    uint32_t n = nm_pitch_posts(p, landmarks), n_crossings = nm_pitch_crossings(p, crossings);
    for (uint32_t i = 0; i < n_crossings; i++) {
        const struct nm_crossing *c = &crossings[i];
        enum nm_landmark_kind kind = (enum nm_landmark_kind)(NM_LANDMARK_L + (int)c->kind);
        landmarks[n++] = (struct nm_landmark){kind, c->x, c->y, c->theta};
    }
    landmarks[n++] = (struct nm_landmark){NM_LANDMARK_MARK, mark, 0, 0};
    landmarks[n++] = (struct nm_landmark){NM_LANDMARK_MARK, -mark, 0, 0};
    landmarks[n++] = (struct nm_landmark){NM_LANDMARK_CIRCLE, 0, 0, 0};
    return n;
}

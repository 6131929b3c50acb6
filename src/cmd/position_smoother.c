#include "cmd/position_smoother.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void position_smoother_begin(struct position_smoother *s, const struct nm_pitch_size *field, double height)
{
    memset(s, 0, sizeof *s);
    s->n_marks = nm_pitch_landmarks(field, s->marks);
    s->n_lines = nm_pitch_lines(field, s->lines);
    s->noise = (struct ukf_noise){.way = 0.12,
                                  .turn = 0.12,
                                  .way_turn = 0.06,
                                  .turn_way = 0.02,
                                  .time_way = 0.01,
                                  .time_turn = 0.01,
                                  .tilt_drift = 0.010,
                                  .tilt_time = 0.8,
                                  .tilt_image = 0.006,
                                  .pixel = 0.003,
                                  .orientation = 0.06,
                                  .height = height};
    s->images = nm_malloc(sizeof *s->images * SMOOTHED);
}

void position_smoother_free(struct position_smoother *s) { free(s->images); }

/* ---- forward ---- */

static void turned_noise(struct ukf_point p, double theta, const struct ukf_noise *noise, double r[3][3])
{
    double own[2][2], c = cos(theta), s = sin(theta);
    ukf_own_noise(p, noise, own);
    r[0][0] = c * c * own[0][0] - 2 * c * s * own[0][1] + s * s * own[1][1];
    r[1][1] = s * s * own[0][0] + 2 * c * s * own[0][1] + c * c * own[1][1];
    r[0][1] = r[1][0] = c * s * (own[0][0] - own[1][1]) + (c * c - s * s) * own[0][1];
    r[2][2] = noise->orientation * noise->orientation;
}

static void see_mark(struct position_smoother *s, const Percept *p, struct pose2 truth)
{
    static const int members[3] = {0, 1, 2};
    struct pose2 at = pose2_mul(truth, (struct pose2){p->position.x, p->position.y, p->orientation});
    double away = hypot(p->position.x, p->position.y), best = 0.2 + 0.2 * away;
    const struct nm_landmark *mark = NULL;
    for (uint32_t i = 0; i < s->n_marks; i++) {
        double off = hypot(s->marks[i].x - at.x, s->marks[i].y - at.y);
        if ((int)s->marks[i].kind == p->kind && off < best) best = off, mark = &s->marks[i];
    }
    if (!mark || away > 6) return;
    bool directed = p->kind == Percept_CROSSING_L || p->kind == Percept_CROSSING_T;
    struct ukf_point point = {p->position.x, p->position.y};
    struct ukf_view view;
    struct ukf_fit fit;
    double r[3][3] = {{0}};
    turned_noise(point, s->now.x[UKF_THETA], &s->noise, r);
    ukf_see(&s->now, &point, 1, s->noise.height, &view);
    if (!ukf_fit(&view, directed ? 3 : 2, members, (const double(*)[3])r, &fit)) return;
    const double off[3] = {mark->x - view.z[0], mark->y - view.z[1],
                           angle_normal(mark->theta - p->orientation - view.z[2])};
    if (ukf_distance(&fit, off) < 25) ukf_update(&s->now, &view, &fit, off);
}

static void see_line(struct position_smoother *s, const LineSegmentRelative *seen, struct pose2 truth)
{
    struct pose2 a = pose2_mul(truth, (struct pose2){seen->start.x, seen->start.y, 0});
    struct pose2 b = pose2_mul(truth, (struct pose2){seen->end.x, seen->end.y, 0});
    double best = 0.6;
    const struct nm_line *line = NULL;
    for (uint32_t i = 0; i < s->n_lines; i++) {
        const struct nm_line *l = &s->lines[i];
        bool upright = l->x0 == l->x1;
        double off = upright ? fabs(a.x - l->x0) + fabs(b.x - l->x0) : fabs(a.y - l->y0) + fabs(b.y - l->y0);
        double on = upright ? (a.y + b.y) / 2 : (a.x + b.x) / 2;
        double low = upright ? fmin(l->y0, l->y1) : fmin(l->x0, l->x1);
        double high = upright ? fmax(l->y0, l->y1) : fmax(l->x0, l->x1);
        if (off < best && on > low && on < high) best = off, line = l;
    }
    if (!line) return;
    bool upright = line->x0 == line->x1;
    const struct ukf_point ends[2] = {{seen->start.x, seen->start.y}, {seen->end.x, seen->end.y}};
    const int members[2] = {upright ? 0 : 1, upright ? 2 : 3};
    struct ukf_view view;
    struct ukf_fit fit;
    double r[3][3] = {{0}}, one[3][3];
    for (int e = 0; e < 2; e++) {
        turned_noise(ends[e], s->now.x[UKF_THETA], &s->noise, one);
        r[e][e] = one[upright ? 0 : 1][upright ? 0 : 1] + 1e-4;
    }
    ukf_see(&s->now, ends, 2, s->noise.height, &view);
    if (!ukf_fit(&view, 2, members, (const double(*)[3])r, &fit)) return;
    double at = upright ? line->x0 : line->y0;
    const double off[3] = {at - view.z[members[0]], at - view.z[members[1]], 0};
    if (ukf_distance(&fit, off) < 25) ukf_update(&s->now, &view, &fit, off);
}

void position_smoother_see(struct position_smoother *s, double seconds, const Percepts *percepts,
                           const LineInformationRelative *lines, struct pose2 robot_to_odom, struct pose2 truth)
{
    if (s->n >= SMOOTHED) return;
    struct smoothed_image *image = &s->images[s->n];
    struct ukf_image tilt;
    *image = (struct smoothed_image){.truth = truth, .seconds = seconds};
    if (!s->n) {
        ukf_start(&s->now, truth, 0.05, 0.05, 0.05, &s->noise);
    } else {
        struct pose2 step = pose2_mul(pose2_inv(s->robot_to_odom), robot_to_odom);
        double c = cos(s->now.x[UKF_THETA]), sn = sin(s->now.x[UKF_THETA]), dt = seconds - s->seconds;
        image->dx = c * step.x - sn * step.y, image->dy = sn * step.x + c * step.y;
        image->keep = exp(-dt / s->noise.tilt_time);
        ukf_move(&s->now, step, dt, &s->noise);
    }
    s->robot_to_odom = robot_to_odom;
    s->seconds = seconds;
    image->before = s->now;
    ukf_image_begin(&s->now, &tilt, &s->noise);
    for (uint32_t i = 0; i < percepts->percepts.n; i++) {
        const Percept *p = &percepts->percepts.at[i];
        if (p->kind >= Percept_GOAL_POST && p->kind <= Percept_CENTER_CIRCLE) see_mark(s, p, truth);
    }
    for (uint32_t i = 0; i < lines->segments.n; i++) see_line(s, &lines->segments.at[i], truth);
    ukf_image_end(&s->now, &tilt);
    image->after = s->now;
    s->n++;
}

/* ---- backward ---- */

/* Solves a x = b for a symmetric positive a, by Gauss. */
static void solve(double a[UKF_N][UKF_N], double b[UKF_N])
{
    for (int i = 0; i < UKF_N; i++)
        for (int r = i + 1; r < UKF_N; r++) {
            double k = a[r][i] / a[i][i];
            for (int c = i; c < UKF_N; c++) a[r][c] -= k * a[i][c];
            b[r] -= k * b[i];
        }
    for (int i = UKF_N - 1; i >= 0; i--) {
        for (int c = i + 1; c < UKF_N; c++) b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

void position_smoother_end(struct position_smoother *s, struct pose2 poses[SMOOTHED])
{
    double x[UKF_N];
    if (!s->n) return;
    memcpy(x, s->images[s->n - 1].after.x, sizeof x);
    for (uint32_t i = s->n; i-- > 0;) {
        struct smoothed_image *image = &s->images[i];
        if (i + 1 < s->n) {
            /* x = after + P F^T (P of the next, predicted)^-1 (x of the next - predicted) */
            const struct smoothed_image *next = &s->images[i + 1];
            double a[UKF_N][UKF_N], off[UKF_N], back[UKF_N];
            memcpy(a, next->before.p, sizeof a);
            for (int k = 0; k < UKF_N; k++) off[k] = x[k] - next->before.x[k];
            solve(a, off);
            memcpy(back, off, sizeof back); /* F^T off */
            back[UKF_THETA] += -next->dy * off[UKF_X] + next->dx * off[UKF_Y];
            back[UKF_ROLL] *= next->keep;
            back[UKF_PITCH] *= next->keep;
            for (int k = 0; k < UKF_N; k++) {
                x[k] = image->after.x[k];
                for (int j = 0; j < UKF_N; j++) x[k] += image->after.p[k][j] * back[j];
            }
        }
        poses[i] = (struct pose2){x[UKF_X], x[UKF_Y], angle_normal(x[UKF_THETA])};
    }
}

/* Kalman filter of a point that moves on a plane: state x, y, vx, vy. Its velocity fades: dv/dt = -friction v, so that
 * a step has a closed form. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct kf4 {
    double x[4];    /* m, m, m/s, m/s */
    double p[4][4]; /* covariance     */
};

/* `r` is the covariance of a sighting: m^2, row-major. */
static inline void kf4_start(struct kf4 *f, double x, double y, const double r[4], double speed_sigma)
{
    *f = (struct kf4){.x = {x, y, 0, 0}, .p = {{r[0], r[1]}, {r[2], r[3]}}};
    f->p[2][2] = f->p[3][3] = speed_sigma * speed_sigma;
}

/* Moves on for dt: v' = v e^(-k dt), x' = x + v (1 - e^(-k dt)) / k. `q` is the variance of the unknown acceleration,
 * (m/s^2)^2 s. */
static inline void kf4_predict(struct kf4 *f, double dt, double friction, double q)
{
    double e = exp(-friction * dt), d = friction > 1e-9 ? (1 - e) / friction : dt;
    for (int a = 0; a < 2; a++) {
        f->x[a] += d * f->x[a + 2];
        f->x[a + 2] *= e;
    }
    /* P = F P F^T + Q, F = [I dI; 0 eI] */
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) f->p[i][j] += d * f->p[i + 2][j];
    for (int i = 2; i < 4; i++)
        for (int j = 0; j < 4; j++) f->p[i][j] *= e;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 2; j++) f->p[i][j] += d * f->p[i][j + 2];
        for (int j = 2; j < 4; j++) f->p[i][j] *= e;
    }
    for (int a = 0; a < 2; a++) {
        f->p[a][a] += q * dt * dt * dt / 3;
        f->p[a][a + 2] += q * dt * dt / 2;
        f->p[a + 2][a] += q * dt * dt / 2;
        f->p[a + 2][a + 2] += q * dt;
    }
}

/* Squared distance of a sighting in units of its own and the state's uncertainty. */
static inline double kf4_distance(const struct kf4 *f, double x, double y, const double r[4])
{
    double dx = x - f->x[0], dy = y - f->x[1];
    double a = f->p[0][0] + r[0], b = f->p[0][1] + r[1], c = f->p[1][1] + r[3], det = a * c - b * b;
    return (c * dx * dx - 2 * b * dx * dy + a * dy * dy) / det;
}

static inline void kf4_update(struct kf4 *f, double x, double y, const double r[4])
{
    double a = f->p[0][0] + r[0], b = f->p[0][1] + r[1], c = f->p[1][1] + r[3], det = a * c - b * b;
    double innovation[2] = {x - f->x[0], y - f->x[1]}, gain[4][2], p[4][4];
    for (int i = 0; i < 4; i++) {
        gain[i][0] = (f->p[i][0] * c - f->p[i][1] * b) / det;
        gain[i][1] = (f->p[i][1] * a - f->p[i][0] * b) / det;
        f->x[i] += gain[i][0] * innovation[0] + gain[i][1] * innovation[1];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) p[i][j] = f->p[i][j] - gain[i][0] * f->p[0][j] - gain[i][1] * f->p[1][j];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) f->p[i][j] = 0.5 * (p[i][j] + p[j][i]);
}

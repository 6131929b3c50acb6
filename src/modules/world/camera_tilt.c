#include "modules/world/camera_tilt.h"

#include <math.h>
#include <string.h>

enum { SLOW = 0, IMAGE = 2, MARKS = 4 };

static const double GATE = 9;    /* squared deviations                                             */
static const double APART = 1;   /* m, a landmark farther from a percept is another one            */
static const double FORGET = 10; /* s without a sighting                                           */
static const double EYE = 0.5;   /* m, about the height of a camera                                */

void tilt_start(struct camera_tilt *t)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < MARKS; i++) t->p[i][i] = 1;
}

static void forget_row(struct camera_tilt *t, int i, double variance)
{
    for (int k = 0; k < TILT_STATE; k++) t->p[i][k] = t->p[k][i] = 0;
    t->p[i][i] = variance;
}

/* The landmark after the last takes the place of one that is gone. */
static void drop(struct camera_tilt *t, uint32_t gone)
{
    uint32_t last = --t->n;
    int to = MARKS + 2 * (int)gone, from = MARKS + 2 * (int)last;
    t->landmarks[gone] = t->landmarks[last];
    for (int a = 0; a < 2 && gone != last; a++) {
        t->x[to + a] = t->x[from + a];
        for (int k = 0; k < TILT_STATE; k++) t->p[to + a][k] = t->p[from + a][k];
    }
    for (int a = 0; a < 2 && gone != last; a++)
        for (int k = 0; k < TILT_STATE; k++) t->p[k][to + a] = t->p[k][from + a];
    for (int a = 0; a < 2; a++) forget_row(t, from + a, 0);
}

/* Odometry errs by a step and a turn of these variances: seen from the robot all landmarks move together. */
static void stray(struct camera_tilt *t, struct pose2 robot, double step, double turn)
{
    for (uint32_t j = 0; j < t->n; j++)
        for (uint32_t k = 0; k < t->n; k++) {
            int a = MARKS + 2 * (int)j, b = MARKS + 2 * (int)k;
            const double by_a[2] = {robot.y - t->x[a + 1], t->x[a] - robot.x};
            const double by_b[2] = {robot.y - t->x[b + 1], t->x[b] - robot.x};
            for (int u = 0; u < 2; u++)
                for (int v = 0; v < 2; v++) t->p[a + u][b + v] += (u == v ? step : 0) + turn * by_a[u] * by_b[v];
        }
}

static void predict(struct camera_tilt *t, const struct tilt_params *params, double dt, struct pose2 robot)
{
    double keep = exp(-dt / params->time), share = params->odometry * params->odometry;
    struct pose2 moved = pose2_mul(pose2_inv(t->robot_to_odom), robot);
    int n = MARKS + 2 * (int)t->n;
    for (int i = SLOW; i < SLOW + 2; i++) {
        t->x[i] *= keep;
        for (int k = 0; k < n; k++) {
            t->p[i][k] *= keep;
            t->p[k][i] *= keep;
        }
        t->p[i][i] += 1 - keep * keep;
    }
    for (int i = IMAGE; i < IMAGE + 2; i++) {
        t->x[i] = 0;
        forget_row(t, i, 1);
    }
    stray(t, robot, share * vec2_norm(moved.x, moved.y), share * fabs(moved.theta));
    for (uint32_t j = t->n; j-- > 0;) {
        t->landmarks[j].unseen += dt;
        if (t->landmarks[j].unseen > FORGET) drop(t, j);
    }
    t->robot_to_odom = robot;
}

/* A percept in the odometry's frame: z = landmark + h . (slow, image) + noise r. */
struct sight {
    double z[2], h[2][4], r[2][2];
};

static struct sight sight_of(const struct camera_tilt *t, const struct tilt_params *params,
                             const struct tilt_percept *p, const double *believed)
{
    struct pose2 robot = t->robot_to_odom, at = pose2_mul(robot, (struct pose2){p->x, p->y, 0});
    double dx = (believed ? believed[0] : at.x) - robot.x, dy = (believed ? believed[1] : at.y) - robot.y;
    double away = fmax(vec2_norm(dx, dy), 1e-6), u[2] = {dx / away, dy / away};
    double c = cos(robot.theta), s = sin(robot.theta), ux = c * u[0] + s * u[1], uy = c * u[1] - s * u[0];
    double farther = (away * away + EYE * EYE) / (p->x * p->x + p->y * p->y + EYE * EYE);
    double along = p->along * farther * farther, across = p->across * farther, sigma = sqrt(along);
    double own = along * fmax(1 - params->slow - params->image, 0.01);
    struct sight m = {.z = {at.x, at.y}};
    for (int i = 0; i < 2; i++) {
        m.h[i][0] = sigma * sqrt(params->slow) * u[i] * ux;
        m.h[i][1] = sigma * sqrt(params->slow) * u[i] * uy;
        m.h[i][2] = sigma * sqrt(params->image) * u[i] * ux;
        m.h[i][3] = sigma * sqrt(params->image) * u[i] * uy;
        for (int j = 0; j < 2; j++) m.r[i][j] = own * u[i] * u[j] + across * ((i == j) - u[i] * u[j]);
    }
    return m;
}

/* Innovation, P H^T and the inverse of S for a landmark; returns the squared distance. */
static double innovate(const struct camera_tilt *t, const struct sight *m, uint32_t landmark, double pht[TILT_STATE][2],
                       double nu[2], double inverse[2][2])
{
    int at = MARKS + 2 * (int)landmark, n = MARKS + 2 * (int)t->n;
    double s[2][2];
    for (int k = 0; k < n; k++)
        for (int a = 0; a < 2; a++) {
            pht[k][a] = t->p[k][at + a];
            for (int b = 0; b < 4; b++) pht[k][a] += t->p[k][b] * m->h[a][b];
        }
    for (int a = 0; a < 2; a++) {
        nu[a] = m->z[a] - t->x[at + a];
        for (int b = 0; b < 4; b++) nu[a] -= m->h[a][b] * t->x[b];
        for (int b = 0; b < 2; b++) {
            s[a][b] = pht[at + a][b] + m->r[a][b];
            for (int k = 0; k < 4; k++) s[a][b] += m->h[a][k] * pht[k][b];
        }
    }
    double det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    inverse[0][0] = s[1][1] / det;
    inverse[0][1] = -s[0][1] / det;
    inverse[1][0] = -s[1][0] / det;
    inverse[1][1] = s[0][0] / det;
    return nu[0] * nu[0] * inverse[0][0] + nu[0] * nu[1] * (inverse[0][1] + inverse[1][0]) +
           nu[1] * nu[1] * inverse[1][1];
}

static void update(struct camera_tilt *t, const double pht[TILT_STATE][2], const double nu[2],
                   const double inverse[2][2])
{
    int n = MARKS + 2 * (int)t->n;
    double gain[TILT_STATE][2];
    for (int k = 0; k < n; k++) {
        for (int a = 0; a < 2; a++) gain[k][a] = pht[k][0] * inverse[0][a] + pht[k][1] * inverse[1][a];
        t->x[k] += gain[k][0] * nu[0] + gain[k][1] * nu[1];
    }
    for (int i = 0; i < n; i++)
        for (int k = i; k < n; k++)
            t->p[i][k] = t->p[k][i] = t->p[i][k] - gain[i][0] * pht[k][0] - gain[i][1] * pht[k][1];
}

/* z = m + h e + r, so m = z - h e - r: certain but for the tilt, with which it hangs together. */
static void add(struct camera_tilt *t, const struct sight *m, uint8_t kind)
{
    if (t->n == TILT_LANDMARKS) {
        uint32_t oldest = 0;
        for (uint32_t j = 1; j < t->n; j++)
            if (t->landmarks[j].unseen > t->landmarks[oldest].unseen) oldest = j;
        drop(t, oldest);
    }
    uint32_t j = t->n++;
    int at = MARKS + 2 * (int)j, n = MARKS + 2 * (int)t->n;
    t->landmarks[j].kind = kind;
    t->landmarks[j].unseen = 0;
    for (int a = 0; a < 2; a++) {
        t->x[at + a] = m->z[a];
        for (int b = 0; b < 4; b++) t->x[at + a] -= m->h[a][b] * t->x[b];
        t->landmarks[j].first[a] = t->x[at + a];
        for (int k = 0; k < n - 2; k++) {
            double with = 0;
            for (int b = 0; b < 4; b++) with -= m->h[a][b] * t->p[b][k];
            t->p[at + a][k] = t->p[k][at + a] = with;
        }
    }
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            double own = m->r[a][b];
            for (int k = 0; k < 4; k++) own -= m->h[a][k] * t->p[k][at + b];
            t->p[at + a][at + b] = own;
        }
}

void tilt_image(struct camera_tilt *t, const struct tilt_params *params, double dt, struct pose2 robot_to_odom,
                const struct tilt_percept *percepts, uint32_t n)
{
    bool news[TILT_PERCEPTS] = {0}, taken[TILT_LANDMARKS] = {0};
    predict(t, params, dt, robot_to_odom);
    for (uint32_t i = 0; i < n && i < TILT_PERCEPTS; i++) {
        const struct tilt_percept *p = &percepts[i];
        double pht[TILT_STATE][2], nu[2], inverse[2][2];
        uint32_t near = 0, which = 0;
        struct sight any = sight_of(t, params, p, NULL);
        for (uint32_t j = 0; j < t->n; j++) {
            const double *at = &t->x[MARKS + 2 * j];
            if (t->landmarks[j].kind != p->kind || vec2_norm(at[0] - any.z[0], at[1] - any.z[1]) > APART) continue;
            near++;
            which = j;
        }
        news[i] = !near;
        if (near != 1 || taken[which]) continue; /* of two that may be meant none is used */
        struct sight m = sight_of(t, params, p, t->landmarks[which].first);
        if (innovate(t, &m, which, pht, nu, inverse) > GATE) continue;
        update(t, pht, nu, inverse);
        taken[which] = true;
        t->landmarks[which].unseen = 0;
    }
    for (uint32_t i = 0; i < n && i < TILT_PERCEPTS; i++) {
        struct sight m = sight_of(t, params, &percepts[i], NULL);
        if (news[i]) add(t, &m, percepts[i].kind);
    }
}

struct tilt_error tilt_along(const struct camera_tilt *t, const struct tilt_params *params, double ux, double uy)
{
    const double slow = sqrt(params->slow), image = sqrt(params->image);
    const double h[4] = {slow * ux, slow * uy, image * ux, image * uy};
    struct tilt_error e = {0};
    for (int a = 0; a < 4; a++) {
        e.error += h[a] * t->x[a];
        for (int b = 0; b < 4; b++) {
            e.variance += h[a] * h[b] * t->p[a][b];
            if (a < IMAGE && b < IMAGE) e.slow += h[a] * h[b] * t->p[a][b];
        }
    }
    e.variance = fmax(e.variance, 0);
    e.slow = fmin(fmax(e.slow, 0), e.variance);
    return e;
}

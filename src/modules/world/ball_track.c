#include "modules/world/ball_track.h"

#include <math.h>
#include <string.h>

static const double CRAWL = 0.02;       /* m/s, slower balls have no direction                              */
static const double SLOW = 0.4;         /* m/s, slower balls may come to rest before the next image         */
static const double FAINT = -12;        /* logarithm of a weight that is dropped                            */
static const double UNPROVEN = -2;      /* the same once the ball has not been seen ...                     */
static const double UNSEEN = 0.3;       /* s, ... for this time                                             */
static const double LIKELY_RESTS = 0.2; /* a ball that rolls with a smaller chance is said to rest */
static const double EYE = 0.5;          /* m, about the height of a camera                                  */
static const double BRANCH = 0.06;      /* s between two considered kicks                                   */
static const double SAME = 0.02;        /* m, hypotheses of one kind nearer than this are one ...           */
static const double SAME_SPEED = 0.05;  /* m/s, ... if their speeds are as near                             */
static const double HORIZON = 10;       /* s, for how long a rolling ball is chased                         */
static const double MOST_BRAKE = 4;     /* m/s^2                                                            */
static const double BOUNCE = 0.1;       /* m, how far a ball that meets a robot stops from it, 1 sigma      */
static const double STAYS = -1.7;       /* logarithm of the odds that a ball at walking feet is not kicked  */
static const double NOT_AGAIN = 1.5;    /* s between two kicks of walking feet                              */

/* ---- rolling ---- */

double ball_rest_time(double speed, double brake, double friction)
{
    if (!(speed > 0)) return 0;
    if (!(brake > 1e-9)) return INFINITY;
    return friction > 1e-6 ? log1p(friction * speed / brake) / friction : speed / brake;
}

/* dv/dt = -brake - friction v: v(t) = (v + b/k) e^(-kt) - b/k, and its integral; for k -> 0 constant braking. */
double ball_way(double speed, double brake, double friction, double t, double *after)
{
    double rest = ball_rest_time(speed, brake, friction), k = friction, v, way;
    bool stops = t >= rest;
    if (stops) t = rest;
    if (k > 1e-6) {
        double e = -expm1(-k * t) / k; /* (1 - e^(-kt)) / k */
        v = speed - (brake + k * speed) * e;
        way = isfinite(t) ? speed * e - brake * (t - e) / k : speed / k;
    } else {
        v = speed - brake * t;
        way = isfinite(t) ? speed * t - brake * t * t / 2 : INFINITY;
    }
    if (after) *after = stops || v < 0 ? 0 : v;
    return way;
}

/* s too late for the ball of a time t, where it is then; not positive: the robot is there in time. */
static double too_late(const double x[2], const double v[2], double brake, double friction, const double robot[2],
                       const struct ball_chase *chase, double t, double at[2])
{
    double speed = sqrt(v[0] * v[0] + v[1] * v[1]),
           k = speed > 0 ? ball_way(speed, brake, friction, t, NULL) / speed : 0;
    at[0] = x[0] + k * v[0];
    at[1] = x[1] + k * v[1];
    double dx = at[0] - robot[0], dy = at[1] - robot[1], far = sqrt(dx * dx + dy * dy) - chase->reach;
    return far > 0 ? chase->delay + far / chase->speed - t : -t;
}

/* Ball and robot approach each other no faster than with both their speeds, so that being late by so much allows a step
 * of a known length without missing the meeting. */
double ball_intercept(const double x[2], const double v[2], double brake, double friction, const double robot[2],
                      const struct ball_chase *chase, double at[2])
{
    const double least = 0.005;
    double speed = vec2_norm(v[0], v[1]), rest = ball_rest_time(speed, brake, friction), last = fmin(rest, HORIZON);
    double closing = 1 + speed / chase->speed, late, t = 0;
    while ((late = too_late(x, v, brake, friction, robot, chase, t, at)) > 0 && t < last)
        t = fmin(t + fmax(late / closing, least), last);
    if (late <= 0) return t;
    return rest <= HORIZON ? t + late : INFINITY;
}

/* ---- one hypothesis ---- */

static void clear_row(struct ball_hypothesis *h, int i)
{
    for (int j = 0; j < BALL_STATE; j++) h->p[i][j] = h->p[j][i] = 0;
}

static struct ball_hypothesis at_rest(const struct ball_hypothesis *from)
{
    struct ball_hypothesis h = *from;
    h.rolls = false;
    h.age = 0;
    h.x[BALL_VX] = h.x[BALL_VY] = 0;
    clear_row(&h, BALL_VX);
    clear_row(&h, BALL_VY);
    return h;
}

static struct ball_hypothesis kicked(const struct ball_hypothesis *from, double vx, double vy, double deviation)
{
    struct ball_hypothesis h = at_rest(from);
    h.rolls = true;
    h.x[BALL_VX] = vx;
    h.x[BALL_VY] = vy;
    h.p[BALL_VX][BALL_VX] = h.p[BALL_VY][BALL_VY] = deviation * deviation;
    return h;
}

/* P = F P F^T, where F differs from the identity in the rows of place and velocity only: place' = place + D v + g b,
 * v' = E v + h b. */
static void spread(struct ball_hypothesis *s, const double d[2][2], const double e[2][2], const double g[2],
                   const double h[2])
{
    double(*p)[BALL_STATE] = s->p;
    for (int j = 0; j < BALL_STATE; j++) { /* rows */
        double vx = p[BALL_VX][j], vy = p[BALL_VY][j], b = p[BALL_BRAKE][j];
        p[BALL_X][j] += d[0][0] * vx + d[0][1] * vy + g[0] * b;
        p[BALL_Y][j] += d[1][0] * vx + d[1][1] * vy + g[1] * b;
        p[BALL_VX][j] = e[0][0] * vx + e[0][1] * vy + h[0] * b;
        p[BALL_VY][j] = e[1][0] * vx + e[1][1] * vy + h[1] * b;
    }
    for (int i = 0; i < BALL_STATE; i++) { /* columns */
        double vx = p[i][BALL_VX], vy = p[i][BALL_VY], b = p[i][BALL_BRAKE];
        p[i][BALL_X] += d[0][0] * vx + d[0][1] * vy + g[0] * b;
        p[i][BALL_Y] += d[1][0] * vx + d[1][1] * vy + g[1] * b;
        p[i][BALL_VX] = e[0][0] * vx + e[0][1] * vy + h[0] * b;
        p[i][BALL_VY] = e[1][0] * vx + e[1][1] * vy + h[1] * b;
    }
}

static void roll(struct ball_hypothesis *h, const struct ball_params *params, double dt)
{
    double *x = h->x, k = params->friction, speed = vec2_norm(x[BALL_VX], x[BALL_VY]), after = speed;
    if (speed < CRAWL) { /* the direction of its braking is not known: it rolls on */
        const double d[2][2] = {{dt, 0}, {0, dt}}, e[2][2] = {{1, 0}, {0, 1}}, none[2] = {0};
        x[BALL_X] += dt * x[BALL_VX];
        x[BALL_Y] += dt * x[BALL_VY];
        spread(h, d, e, none, none);
    } else {
        double way = ball_way(speed, x[BALL_BRAKE], k, dt, &after), decay = k > 1e-6 ? -expm1(-k * dt) / k : dt;
        double u[2] = {x[BALL_VX] / speed, x[BALL_VY] / speed}, d[2][2], e[2][2], g[2], hh[2];
        bool stops = !(after > 0);
        /* derivatives along the way and across it */
        double d_along = stops ? speed / (x[BALL_BRAKE] + k * speed) : decay, e_along = stops ? 0 : 1 - k * decay;
        double d_across = way / speed, e_across = after / speed;
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                double along = u[i] * u[j], across = (i == j) - along;
                d[i][j] = d_along * along + d_across * across;
                e[i][j] = e_along * along + e_across * across;
            }
            g[i] = stops ? 0 : -u[i] * (k > 1e-6 ? (dt - decay) / k : dt * dt / 2);
            hh[i] = stops ? 0 : -u[i] * decay;
        }
        x[BALL_X] += way * u[0];
        x[BALL_Y] += way * u[1];
        x[BALL_VX] = after * u[0];
        x[BALL_VY] = after * u[1];
        spread(h, d, e, g, hh);
    }
    double q = params->acceleration * params->acceleration;
    for (int a = 0; a < 2; a++) {
        int p = BALL_X + a, v = BALL_VX + a;
        h->p[p][p] += q * dt * dt * dt / 3;
        h->p[p][v] += q * dt * dt / 2;
        h->p[v][p] += q * dt * dt / 2;
        h->p[v][v] += q * dt;
    }
}

static void predict(struct ball_hypothesis *h, const struct ball_params *params, double dt)
{
    double keep = exp(-dt / params->tilt_time);
    if (h->rolls) roll(h, params, dt);
    h->age += dt;
    for (int i = BALL_TX; i <= BALL_TY; i++) {
        h->x[i] *= keep;
        for (int j = 0; j < BALL_STATE; j++) {
            h->p[i][j] *= keep;
            h->p[j][i] *= keep;
        }
        h->p[i][i] += 1 - keep * keep;
    }
}

/* A sighting in the odometry's frame, with its derivatives by the tilt and its covariance. */
struct measured {
    double z[2], tilt[2][2], r[2][2];
};

/* Directions and deviations are those of the place where the ball is believed to be, not of the sighting, which would
 * prefer sightings that err towards the robot because near ones state less uncertainty. */
static struct measured measure(const struct ball_sighting *seen, const double believed[2])
{
    struct pose2 at = pose2_mul(seen->robot_to_odom, (struct pose2){seen->x, seen->y, 0});
    double dx = believed[0] - seen->robot_to_odom.x, dy = believed[1] - seen->robot_to_odom.y, away = vec2_norm(dx, dy);
    double u[2] = {away > 1e-6 ? dx / away : 1, away > 1e-6 ? dy / away : 0};
    double c = cos(seen->robot_to_odom.theta), s = sin(seen->robot_to_odom.theta);
    double ux = c * u[0] + s * u[1], uy = c * u[1] - s * u[0]; /* the same in the robot's frame */
    double farther = (away * away + EYE * EYE) / (seen->x * seen->x + seen->y * seen->y + EYE * EYE);
    double along = seen->along * farther * farther, across = seen->across * farther;
    double slow = sqrt(seen->slow * along), fast = (1 - seen->slow) * along;
    struct measured m = {.z = {at.x, at.y}};
    for (int i = 0; i < 2; i++) {
        m.tilt[i][0] = slow * u[i] * ux;
        m.tilt[i][1] = slow * u[i] * uy;
        for (int j = 0; j < 2; j++) m.r[i][j] = fast * u[i] * u[j] + across * ((i == j) - u[i] * u[j]);
    }
    return m;
}

/* P H^T (with H = [I 0 tilt 0]), innovation, and the inverse of S = H P H^T + R with its determinant. */
static double innovate(const struct ball_hypothesis *h, const struct measured *m, double pht[BALL_STATE][2],
                       double nu[2], double s[2][2])
{
    for (int i = 0; i < BALL_STATE; i++)
        for (int a = 0; a < 2; a++)
            pht[i][a] = h->p[i][a] + h->p[i][BALL_TX] * m->tilt[a][0] + h->p[i][BALL_TY] * m->tilt[a][1];
    for (int a = 0; a < 2; a++) {
        nu[a] = m->z[a] - h->x[a] - m->tilt[a][0] * h->x[BALL_TX] - m->tilt[a][1] * h->x[BALL_TY];
        for (int b = 0; b < 2; b++)
            s[a][b] = pht[a][b] + m->tilt[a][0] * pht[BALL_TX][b] + m->tilt[a][1] * pht[BALL_TY][b] + m->r[a][b];
    }
    double det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    double inverse[2][2] = {{s[1][1] / det, -s[0][1] / det}, {-s[1][0] / det, s[0][0] / det}};
    memcpy(s, inverse, sizeof inverse);
    return det;
}

/* Logarithm of the density of an innovation. */
static double density(const double nu[2], const double s[2][2], double det)
{
    double d = nu[0] * nu[0] * s[0][0] + nu[0] * nu[1] * (s[0][1] + s[1][0]) + nu[1] * nu[1] * s[1][1];
    return -0.5 * (d + log(det)) - log(2 * M_PI);
}

/* A sighting that something else than this ball explains better leaves the hypothesis as it is, but weakens it. */
static void update(struct ball_hypothesis *h, const struct ball_sighting *seen)
{
    struct measured about = measure(seen, &h->x[BALL_X]), *m = &about;
    double pht[BALL_STATE][2], nu[2], s[2][2], gain[BALL_STATE][2];
    double det = innovate(h, m, pht, nu, s), likely = density(nu, s, det);
    h->weight += fmax(likely, BALL_CLUTTER);
    if (likely < BALL_CLUTTER) return;
    for (int i = 0; i < BALL_STATE; i++) {
        for (int a = 0; a < 2; a++) gain[i][a] = pht[i][0] * s[0][a] + pht[i][1] * s[1][a];
        h->x[i] += gain[i][0] * nu[0] + gain[i][1] * nu[1];
    }
    h->x[BALL_BRAKE] = fmin(fmax(h->x[BALL_BRAKE], 0), MOST_BRAKE);
    for (int i = 0; i < BALL_STATE; i++)
        for (int j = i; j < BALL_STATE; j++)
            h->p[i][j] = h->p[j][i] = h->p[i][j] - gain[i][0] * pht[j][0] - gain[i][1] * pht[j][1];
}

/* ---- all of them ---- */

/* Best first, weights relative to it, without the faint ones and those that say the same as a better one. */
static void sort(struct ball_track *t)
{
    for (uint32_t i = 1; i < t->n; i++)
        for (uint32_t j = i; j && t->at[j].weight > t->at[j - 1].weight; j--) {
            struct ball_hypothesis swap = t->at[j];
            t->at[j] = t->at[j - 1];
            t->at[j - 1] = swap;
        }
    double best = t->at[0].weight;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        struct ball_hypothesis *h = &t->at[i];
        bool known = h->weight - best < FAINT;
        h->weight -= best;
        for (uint32_t j = 0; j < n && !known; j++) {
            const struct ball_hypothesis *o = &t->at[j];
            known = o->rolls == h->rolls &&
                    vec2_norm(o->x[BALL_X] - h->x[BALL_X], o->x[BALL_Y] - h->x[BALL_Y]) < SAME &&
                    vec2_norm(o->x[BALL_VX] - h->x[BALL_VX], o->x[BALL_VY] - h->x[BALL_VY]) < SAME_SPEED &&
                    (h->p[BALL_VX][BALL_VX] < 4 * o->p[BALL_VX][BALL_VX] || !h->rolls);
        }
        if (!known) t->at[n++] = *h;
    }
    t->n = n;
}

/* The worst makes room. */
static void add(struct ball_track *t, const struct ball_hypothesis *h)
{
    if (t->n == BALL_HYPOTHESES) t->n--;
    t->at[t->n++] = *h;
}

void ball_start(struct ball_track *t, const struct ball_params *params, const struct ball_sighting *seen, double brake,
                double brake_variance)
{
    struct pose2 at = pose2_mul(seen->robot_to_odom, (struct pose2){seen->x, seen->y, 0});
    struct measured m = measure(seen, (const double[2]){at.x, at.y});
    struct ball_hypothesis h = {.x = {m.z[0], m.z[1], [BALL_BRAKE] = brake}};
    for (int i = 0; i < 2; i++) {
        h.p[BALL_TX + i][BALL_TX + i] = 1;
        for (int j = 0; j < 2; j++) {
            /* a tilt that makes the sighting too far puts the ball nearer */
            h.p[i][j] = m.r[i][j] + m.tilt[i][0] * m.tilt[j][0] + m.tilt[i][1] * m.tilt[j][1];
            h.p[i][BALL_TX + j] = h.p[BALL_TX + j][i] = -m.tilt[i][j];
        }
    }
    h.p[BALL_BRAKE][BALL_BRAKE] = brake_variance;
    *t = (struct ball_track){.n = 2, .pushed = NOT_AGAIN};
    t->at[0] = h;
    t->at[1] = kicked(&h, 0, 0, params->kick_speed);
}

void ball_predict(struct ball_track *t, const struct ball_params *params, double dt)
{
    t->since += dt;
    t->unseen += dt;
    t->pushed += dt;
    /* who could have kicked it while nobody looked is not kept: it would be anywhere */
    while (t->unseen > UNSEEN && t->n > 1 && t->at[t->n - 1].weight < UNPROVEN) t->n--;
    for (uint32_t i = 0; i < t->n; i++) predict(&t->at[i], params, dt);
}

void ball_blur(struct ball_track *t, double variance)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (int a = BALL_X; a <= BALL_Y; a++) t->at[i].p[a][a] += variance;
}

void ball_branch(struct ball_track *t, const struct ball_params *params, const struct ball_kick *kick)
{
    if (t->since < BRANCH) return;
    struct ball_hypothesis best = t->at[0], h;
    double rate = kick ? kick->rate : params->kick_rate;
    h = kick ? kicked(&best, kick->vx, kick->vy, kick->deviation) : kicked(&best, 0, 0, params->kick_speed);
    h.weight = best.weight + log(fmin(rate * t->since, 0.5));
    add(t, &h);
    if (best.rolls && vec2_norm(best.x[BALL_VX], best.x[BALL_VY]) < SLOW) {
        h = at_rest(&best);
        h.weight = best.weight + log(0.1);
        add(t, &h);
    }
    t->since = 0;
}

/* At the edge of what it met. */
static bool meet(struct ball_hypothesis *h, const double at[2], double radius)
{
    double dx = h->x[BALL_X] - at[0], dy = h->x[BALL_Y] - at[1], apart = vec2_norm(dx, dy);
    if (apart >= radius || apart < 1e-6) return false;
    if (h->rolls && dx * h->x[BALL_VX] + dy * h->x[BALL_VY] < 0) {
        *h = at_rest(h);
        for (int a = BALL_X; a <= BALL_Y; a++) h->p[a][a] += BOUNCE * BOUNCE;
    }
    h->x[BALL_X] = at[0] + dx * radius / apart;
    h->x[BALL_Y] = at[1] + dy * radius / apart;
    return true;
}

void ball_meet(struct ball_track *t, const double at[2], double radius, const struct ball_kick *kick)
{
    bool met = false;
    for (uint32_t i = 0; i < t->n; i++) met |= meet(&t->at[i], at, radius) && !i;
    if (!met || !kick || t->pushed < NOT_AGAIN) return;
    struct ball_hypothesis h = kicked(&t->at[0], kick->vx, kick->vy, kick->deviation);
    h.weight = t->at[0].weight - STAYS;
    add(t, &h);
    sort(t);
    t->pushed = 0;
}

double ball_miss(struct ball_track *t, const double loss[BALL_HYPOTHESES])
{
    double before = 0, after = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        before += exp(t->at[i].weight);
        t->at[i].weight -= loss[i];
        after += exp(t->at[i].weight);
    }
    sort(t);
    return after / before;
}

double ball_fits(const struct ball_track *t, const struct ball_sighting *seen)
{
    double pht[BALL_STATE][2], nu[2], s[2][2], best = -INFINITY;
    for (uint32_t i = 0; i < t->n; i++) {
        struct measured m = measure(seen, &t->at[i].x[BALL_X]);
        double det = innovate(&t->at[i], &m, pht, nu, s);
        best = fmax(best, t->at[i].weight + density(nu, s, det));
    }
    return best;
}

void ball_update(struct ball_track *t, const struct ball_sighting *seen)
{
    for (uint32_t i = 0; i < t->n; i++) update(&t->at[i], seen);
    t->unseen = 0;
    sort(t);
}

struct ball_hypothesis ball_belief(const struct ball_track *t)
{
    double share[BALL_HYPOTHESES], sum = 0, rolling = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        share[i] = exp(t->at[i].weight);
        sum += share[i];
        if (t->at[i].rolls) rolling += share[i];
    }
    if (t->n == 1 || (!t->at[0].rolls && rolling < LIKELY_RESTS * sum)) return t->at[0];
    struct ball_hypothesis all = {.rolls = true};
    for (uint32_t i = 0; i < t->n; i++)
        for (int k = 0; k < BALL_STATE; k++) all.x[k] += share[i] / sum * t->at[i].x[k];
    for (uint32_t i = 0; i < t->n; i++)
        for (int k = 0; k < BALL_STATE; k++)
            for (int l = 0; l < BALL_STATE; l++) {
                double apart = (t->at[i].x[k] - all.x[k]) * (t->at[i].x[l] - all.x[l]);
                all.p[k][l] += share[i] / sum * (t->at[i].p[k][l] + apart);
            }
    return all;
}

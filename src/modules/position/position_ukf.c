/* Where the robot is: particles that each carry an unscented Kalman filter, with sensor resetting (B-Human 2013,
 * section 3). The filters estimate, associate what is seen with the map by their own uncertainty, and say how well it
 * fits; the particles keep rival hypotheses, get new ones from what was seen lately, and drop those that explain it
 * worse. Particles that came together are one particle with a greater weight instead of copies. The side of the field
 * is part of each particle: the logarithm of the odds that its pose is not the mirrored one. */
#include <math.h>
#include <string.h>

#include "base/clamp.h"
#include "core/stamp.h"
#include "modules/position/side.h"
#include "modules/position/sight.h"
#include "modules/position/ukf.h"

enum {
    PARTICLES = 24,
    TRIES = 12, /* guesses for an image, of a robot that sees little of what it expects */
};

struct particle {
    struct ukf filter;
    double score; /* sum of log likelihood ratios, fading */
    double fit;   /* share of what it sees that it explains, 0 to 1, lately */
    struct side_belief side;
};

struct position_ukf {
    struct nm *nm;
    struct position_ports io;
    /* params */
    struct nm_pitch_size field;
    double way_noise, turn_noise, way_turn_noise, turn_way_noise, stand_noise, stand_turn_noise;
    double tilt_drift, tilt_time, tilt_image, pixel_noise, orientation_noise, camera_height, line_noise;
    double range, min_confidence;
    double gate, ambiguity, false_share, trust, memory;
    double patience, proof, prune;
    double side_most, mate_most;
    double fall_noise, fall_turn_noise;
    /* state */
    struct sight_map map;
    struct ukf_noise noise;
    struct nm_trail past;
    struct position_story story;
    struct sight_memory seen;
    struct side_seen others;
    struct side_claims claims;
    struct particle particles[PARTICLES];
    uint32_t n;
    struct pose2 moved_to; /* robot in odom, where the particles are */
    int64_t moved_at;
    bool moving; /* the two are known */
    int64_t last_reset;
    char reason[32];
    struct sighting now[SIGHTINGS], recalled[MEMORY]; /* scratch */
};

/* ---- particles ---- */

static bool is_near(struct pose2 a, struct pose2 b)
{
    return vec2_norm(a.x - b.x, a.y - b.y) < 0.4 && fabs(angle_normal(a.theta - b.theta)) < 0.4;
}

static struct particle *best_of(struct position_ukf *f)
{
    struct particle *best = f->particles;
    for (uint32_t i = 1; i < f->n; i++)
        if (f->particles[i].score > best->score) best = &f->particles[i];
    return best;
}

/* A new particle, in place of the worst one if there is no room. */
static struct particle *add_particle(struct position_ukf *f, struct position_spot spot, double score, double side)
{
    struct particle *p = &f->particles[f->n];
    if (f->n < PARTICLES) {
        f->n++;
    } else {
        p = f->particles;
        for (uint32_t i = 1; i < f->n; i++)
            if (f->particles[i].score < p->score) p = &f->particles[i];
    }
    *p = (struct particle){.score = score, .fit = 0.5, .side = {.history = side}};
    ukf_start(&p->filter, spot.pose, spot.sigma_x, spot.sigma_y, spot.sigma_theta, &f->noise);
    return p;
}

static void reset_to(struct position_ukf *f, const struct position_spot *spots, uint32_t n, double side,
                     const char *reason)
{
    f->n = 0;
    for (uint32_t i = 0; i < n; i++) add_particle(f, spots[i], 0, side);
    f->last_reset = f->nm->now;
    nm_text(f->reason, "%s", reason);
}

/* Drops what explains much less than the best, and of two that came together the lesser one. */
static void tidy(struct position_ukf *f)
{
    double best = best_of(f)->score;
    for (uint32_t i = 0; i < f->n; i++) {
        struct particle *p = &f->particles[i];
        struct pose2 at = ukf_pose(&p->filter);
        bool drop = p->score < best - f->prune && f->n > 1;
        for (uint32_t k = 0; k < f->n && !drop; k++) {
            struct particle *q = &f->particles[k];
            if (k == i || q->score < p->score || (q->score <= p->score && k > i)) continue;
            struct pose2 other = ukf_pose(&q->filter);
            drop = is_near(at, other) || is_near(position_mirrored(at), other);
        }
        if (drop) f->particles[i--] = f->particles[--f->n];
    }
}

/* ---- what is seen ---- */

struct match {
    double d2, second; /* squared distances in deviations of the best and the next candidate */
    double density;    /* of the best, against the density of a false percept                */
    double off[3];
    struct ukf_fit fit;
};

static void offer(struct match *m, const struct ukf_fit *fit, const double off[3])
{
    double d2 = ukf_distance(fit, off);
    if (d2 < m->d2) {
        m->second = m->d2;
        m->d2 = d2;
        m->fit = *fit;
        memcpy(m->off, off, sizeof m->off);
    } else {
        m->second = fmin(m->second, d2);
    }
}

/* Holds a landmark against all of its kind. A percept's own noise is turned into the field by the robot's direction. */
static void match_point(const struct position_ukf *f, const struct sighting *s, const struct ukf_view *v, double theta,
                        struct match *m)
{
    static const int members[3] = {0, 1, 2};
    double own[2][2], c = cos(theta), sn = sin(theta), r[3][3] = {{0}};
    struct ukf_fit fit;
    ukf_own_noise((struct ukf_point){s->x, s->y}, &f->noise, own);
    double k = s->doubt;
    r[0][0] = k * (c * c * own[0][0] - 2 * c * sn * own[0][1] + sn * sn * own[1][1]);
    r[1][1] = k * (sn * sn * own[0][0] + 2 * c * sn * own[0][1] + c * c * own[1][1]);
    r[0][1] = r[1][0] = k * (c * sn * (own[0][0] - own[1][1]) + (c * c - sn * sn) * own[0][1]);
    r[2][2] = f->noise.orientation * f->noise.orientation;
    if (!ukf_fit(v, s->directed ? 3 : 2, members, (const double(*)[3])r, &fit)) return;
    for (uint32_t i = f->map.first[s->kind]; i < f->map.first[s->kind + 1]; i++) {
        const struct nm_landmark *mark = &f->map.marks[i];
        double off[3] = {mark->x - v->z[0], mark->y - v->z[1], 0};
        if (s->directed) off[2] = remainder(mark->theta - s->orientation - v->z[2], s->turn);
        offer(m, &fit, off);
    }
    /* a false percept lies anywhere on 12 m2, in any direction */
    double volume = s->directed ? pow(2 * M_PI, 1.5) * sqrt(fit.volume) / s->turn : 2 * M_PI * sqrt(fit.volume);
    m->density = 12 * exp(-fmin(m->d2, 100) / 2) / volume;
}

/* Holds a piece of line against all lines that are long enough: both of its ends should lie on the line. */
static void match_line(const struct position_ukf *f, const struct sighting *s, const struct ukf_view *v, double theta,
                       struct match *m)
{
    const double reach = 0.3; /* m, a piece may seem to go on beyond its line */
    double c = cos(theta), sn = sin(theta), own[2][2][2];
    uint32_t n;
    const struct nm_line *lines = sight_lines(&f->map, s->kind, &n);
    ukf_own_noise((struct ukf_point){s->x, s->y}, &f->noise, own[0]);
    ukf_own_noise((struct ukf_point){s->x1, s->y1}, &f->noise, own[1]);
    for (int upright = 0; upright < 2; upright++) {
        /* members of the view that are across these lines; their own noise is that along the normal */
        const int members[2] = {upright ? 0 : 1, upright ? 2 : 3};
        double nx = upright ? c : sn, ny = upright ? -sn : c, r[3][3] = {{0}};
        struct ukf_fit fit;
        for (int e = 0; e < 2; e++)
            r[e][e] = s->doubt * (nx * nx * own[e][0][0] + 2 * nx * ny * own[e][0][1] + ny * ny * own[e][1][1]) +
                      f->line_noise * f->line_noise;
        if (!ukf_fit(v, 2, members, (const double(*)[3])r, &fit)) continue;
        double low = fmin(v->z[upright ? 1 : 0], v->z[upright ? 3 : 2]);
        double high = fmax(v->z[upright ? 1 : 0], v->z[upright ? 3 : 2]);
        for (uint32_t i = 0; i < n; i++) {
            const struct nm_line *l = &lines[i];
            if ((l->x0 == l->x1) != (upright == 1)) continue;
            double from = upright ? fmin(l->y0, l->y1) : fmin(l->x0, l->x1);
            double to = upright ? fmax(l->y0, l->y1) : fmax(l->x0, l->x1), at = upright ? l->x0 : l->y0;
            if (low < from - reach || high > to + reach) continue;
            const double off[3] = {at - v->z[members[0]], at - v->z[members[1]], 0};
            offer(m, &fit, off);
        }
    }
    if (m->d2 < 1e8) m->density = 4 * exp(-fmin(m->d2, 100) / 2) / (2 * M_PI * sqrt(m->fit.volume));
}

/* One sighting, one particle: update by the one thing that it can be; returns the log likelihood ratio. */
static double take_in(struct position_ukf *f, struct particle *p, const struct sighting *s, double *explained)
{
    const struct ukf_point ends[2] = {{s->x, s->y}, {s->x1, s->y1}};
    struct ukf_view view;
    struct match m = {.d2 = 1e9, .second = 1e9};
    double theta = p->filter.x[UKF_THETA], gate2 = f->gate * f->gate;
    ukf_see(&p->filter, ends, s->kind >= SIGHT_LINE ? 2 : 1, f->noise.height, &view);
    if (s->kind >= SIGHT_LINE)
        match_line(f, s, &view, theta, &m);
    else
        match_point(f, s, &view, theta, &m);
    if (m.d2 < gate2) *explained += 1;
    if (m.d2 < gate2 && m.second > m.d2 + f->ambiguity) ukf_update(&p->filter, &view, &m.fit, m.off);
    return log((1 - f->false_share) * m.density + f->false_share);
}

static void see(struct position_ukf *f, const struct sighting *sightings, uint32_t n, double dt)
{
    double keep = exp(-dt / f->memory), slow = 1 - exp(-dt / 1.0);
    for (uint32_t i = 0; i < f->n; i++) {
        struct particle *p = &f->particles[i];
        struct ukf_image image;
        double sum = 0, explained = 0;
        ukf_image_begin(&p->filter, &image, &f->noise);
        for (uint32_t k = 0; k < n; k++) sum += take_in(f, p, &sightings[k], &explained);
        ukf_image_end(&p->filter, &image);
        p->score = keep * p->score + f->trust * sum;
        if (n) p->fit += slow * (explained / n - p->fit);
    }
}

/* Sensor resetting: poses that what was seen lately suggests, tried by all of it. A robot is seldom carried away, and a
 * false percept may last for a second, so a pose that explains only one thing more is not proven. */
static void search(struct position_ukf *f, int tries)
{
    uint32_t n = sight_recall(&f->seen, f->moved_to, f->moved_at, f->patience, f->recalled);
    const struct position_spot rough = {.sigma_x = 0.25, .sigma_y = 0.25, .sigma_theta = 0.15};
    struct particle *best = best_of(f);
    struct pose2 guesses[TRIES];
    int n_guesses = 0;
    if (n < 6) return;
    for (int i = 0; i < tries; i++) n_guesses += sight_guess(&f->map, f->recalled, n, f->nm, &guesses[n_guesses]);
    if (!n_guesses) return;
    double things = sight_share_votes(f->recalled, n), highest = 0;
    struct position_spot found = rough;
    for (int i = 0; i < n_guesses; i++) {
        double score = sight_score(&f->map, f->recalled, n, guesses[i], f->false_share);
        if (score > highest) highest = score, found.pose = guesses[i];
    }
    if (!(highest > 0)) return;
    double known = sight_score(&f->map, f->recalled, n, ukf_pose(&best->filter), f->false_share);
    if (!(things * (highest - known) > f->proof)) return;
    for (uint32_t i = 0; i < f->n; i++) {
        struct pose2 at = ukf_pose(&f->particles[i].filter);
        if (is_near(at, found.pose) || is_near(position_mirrored(at), found.pose)) return;
    }
    /* of the two that look the same the one nearer to where it believed to be; a robot that is still about there keeps
     * what it knew about its side */
    const struct particle was = *best;
    struct pose2 at = ukf_pose(&was.filter), other = position_mirrored(found.pose);
    double here = vec2_norm(found.pose.x - at.x, found.pose.y - at.y),
           there = vec2_norm(other.x - at.x, other.y - at.y);
    if (there < here) found.pose = other;
    struct particle *p = add_particle(f, found, was.score - 1, 0.5);
    if (fmin(here, there) < 1) p->side = was.side;
}

/* ---- what happens ---- */

static void widen(struct particle *p, double way, double turn)
{
    p->filter.p[UKF_X][UKF_X] += way * way;
    p->filter.p[UKF_Y][UKF_Y] += way * way;
    p->filter.p[UKF_THETA][UKF_THETA] += turn * turn;
}

/* A robot that fell lies about where it stood, but may look anywhere. */
static void stand_up(struct position_ukf *f)
{
    struct particle best = *best_of(f);
    struct pose2 at = ukf_pose(&best.filter);
    for (int i = -2; i <= 3; i++) {
        if (!i) continue;
        struct position_spot spot = {
            {at.x, at.y, angle_normal(at.theta + i * M_PI / 3)}, f->fall_noise, f->fall_noise, 0.4};
        add_particle(f, spot, best.score - 1.5 * fabs((double)i), 0)->side = best.side;
    }
    for (uint32_t i = 0; i < f->n; i++) widen(&f->particles[i], f->fall_noise, f->fall_turn_noise);
    f->last_reset = f->nm->now;
    nm_text(f->reason, "fall");
}

static void happen(struct position_ukf *f, uint32_t events)
{
    struct position_spot spots[POSITION_SPOTS];
    if (events & POSITION_START)
        reset_to(f, spots, position_start_spots(&f->field, f->io.match, spots), f->side_most, "start");
    if (events & POSITION_ENTRY) {
        struct particle was = *best_of(f);
        reset_to(f, spots, position_entry_spots(&f->field, spots), f->side_most, "penalty");
        was.score = -1; /* some penalties are served in place */
        f->particles[f->n++] = was;
    }
    if (events & POSITION_UP) stand_up(f);
    if (events & POSITION_PLACED) {
        for (uint32_t i = 0; i < f->n; i++) {
            struct particle *p = &f->particles[i];
            widen(p, 0.5, 0.5);
            p->score *= 0.2;
            p->side.history = nm_within(p->side.history, 1);
        }
        f->last_reset = f->nm->now;
        nm_text(f->reason, "carried");
    }
    if (events & POSITION_KICK_OFF)
        for (uint32_t i = 0; i < f->n; i++) {
            double x = f->particles[i].filter.x[UKF_X];
            double odds = x < -0.3 ? 2 : x > 0.6 ? -2 : 0;
            struct side_belief *side = &f->particles[i].side;
            side->history = nm_within(side->history + odds, f->side_most);
        }
    if (events & (POSITION_START | POSITION_ENTRY | POSITION_PLACED | POSITION_UP)) f->seen.n = 0;
}

/* ---- step ---- */

static double move(struct position_ukf *f, int64_t to)
{
    struct pose2 robot = nm_trail_at(&f->past, to);
    double dt = f->moving ? nm_within(nm_seconds(to - f->moved_at), 1) : 0;
    if (f->moving) {
        struct pose2 step = pose2_mul(pose2_inv(f->moved_to), robot);
        if (vec2_norm(step.x, step.y) > 1) step = (struct pose2){0}; /* odometry started again */
        for (uint32_t i = 0; i < f->n; i++) ukf_move(&f->particles[i].filter, step, fabs(dt), &f->noise);
    }
    f->moving = true;
    f->moved_to = robot;
    f->moved_at = to;
    return fmax(dt, 0);
}

static void look(struct position_ukf *f)
{
    int64_t at = nm_stamp_ns(f->io.percepts->header.stamp);
    if (at <= 0 || at > f->nm->now || nm_seconds(f->nm->now - at) > 1) at = f->nm->now;
    double dt = move(f, at);
    if (f->story.blind) return;
    const struct sight_limits limits = {f->range, f->min_confidence,
                                        f->tilt_drift * f->tilt_drift + f->tilt_image * f->tilt_image,
                                        f->pixel_noise * f->pixel_noise, f->noise.height};
    uint32_t n = sight_gather(f->nm, &f->io, &limits, f->now);
    side_see(&f->others, f->io.percepts, f->moved_to, at);
    see(f, f->now, n, dt);
    sight_remember(&f->seen, f->now, n, f->moved_to, at);
    tidy(f);
    search(f, best_of(f)->fit < 0.6 ? TRIES : 1);
}

static void listen(struct position_ukf *f)
{
    side_listen(&f->others, f->nm, &f->io, f->moved_to, &f->claims);
    const struct side_limits limits = {f->side_most, f->mate_most};
    for (uint32_t i = 0; i < f->n; i++) {
        struct particle *p = &f->particles[i];
        if (side_weigh(&p->side, &f->claims, ukf_pose(&p->filter), nm_seconds(f->nm->dt), &limits))
            ukf_mirror(&p->filter);
    }
}

/* Best first. The covariance of the pose covers the rivals that are not unlikely. */
static void tell(struct position_ukf *f)
{
    struct position_belief beliefs[16];
    struct pose2 step = pose2_mul(pose2_inv(f->moved_to), nm_trail_newest(&f->past));
    struct particle *best = best_of(f);
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) sum += exp(f->particles[i].score - best->score);
    for (uint32_t k = 0; k < f->n && n < 15; k++) { /* the best, then the others */
        const struct particle *p = k ? &f->particles[k - 1 < (uint32_t)(best - f->particles) ? k - 1 : k] : best;
        double weight = exp(p->score - best->score) / sum, mirrored = 1 / (1 + exp(side_odds(&p->side)));
        if (k && weight < 0.01) continue;
        struct position_belief *b = &beliefs[n++];
        b->pose = pose2_mul(ukf_pose(&p->filter), step);
        b->weight = weight * (1 - mirrored);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) b->covariance[i][j] = p->filter.p[i][j];
        if (mirrored * weight < 0.01 || n >= 15) continue;
        beliefs[n] = *b;
        beliefs[n].pose = position_mirrored(b->pose);
        beliefs[n++].weight = weight * mirrored;
    }
    position_tell(f->nm, &f->io, &f->past, beliefs, n, f->last_reset, f->reason);
    nm_show(f->nm, "particles", f->n);
    nm_show(f->nm, "fit", best->fit);
    nm_show(f->nm, "side", side_odds(&best->side));
}

static void step(struct position_ukf *f)
{
    position_past_take(&f->past, f->nm, f->io.odometry);
    happen(f, position_story_read(&f->story, f->nm, &f->io));
    if (nm_fresh(f->nm, f->io.percepts))
        look(f);
    else if (!f->moving || f->nm->now - f->moved_at > 100000000)
        move(f, f->nm->now);
    listen(f);
    tell(f);
}

static void changed(struct position_ukf *f)
{
    sight_map(&f->map, &f->field);
    f->noise = (struct ukf_noise){.way = f->way_noise,
                                  .way_turn = f->way_turn_noise,
                                  .turn = f->turn_noise,
                                  .turn_way = f->turn_way_noise,
                                  .time_way = f->stand_noise,
                                  .time_turn = f->stand_turn_noise,
                                  .tilt_drift = f->tilt_drift,
                                  .tilt_time = f->tilt_time,
                                  .tilt_image = f->tilt_image,
                                  .pixel = f->pixel_noise,
                                  .orientation = f->orientation_noise,
                                  .height = position_eye_height(f->nm, f->camera_height)};
}

#define SELF struct position_ukf
static const struct nm_port ports[] = {POSITION_PORTS, {0}};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM(way_noise, 0.12, 0, 1, "m", "odometry: deviation after 1 m"),
    NM_PARAM(turn_noise, 0.12, 0, 1, "rad", "odometry: deviation of the direction after a turn of 1 rad"),
    NM_PARAM(way_turn_noise, 0.06, 0, 1, "rad", "odometry: deviation of the direction after 1 m"),
    NM_PARAM(turn_way_noise, 0.02, 0, 1, "m", "odometry: deviation of the place after a turn of 1 rad"),
    NM_PARAM(stand_noise, 0.01, 0, 1, "m", "deviation of the place after 1 s, also of a robot that stands"),
    NM_PARAM(stand_turn_noise, 0.01, 0, 1, "rad", "deviation of the direction after 1 s"),
    NM_PARAM(tilt_drift, 0.010, 0, 0.2, "rad", "camera: deviation of the part of its tilt that changes slowly"),
    NM_PARAM(tilt_time, 0.8, 0.01, 100, "s", "camera: the time in which this part changes"),
    NM_PARAM(tilt_image, 0.006, 0, 0.2, "rad", "camera: deviation of the tilt of a single image"),
    NM_PARAM(pixel_noise, 0.005, 0.0001, 0.1, "rad", "deviation of the direction in which a percept is seen"),
    NM_PARAM(orientation_noise, 0.06, 0.001, 1, "rad", "deviation of a crossing's orientation"),
    NM_PARAM(camera_height, 0, 0, 2, "m", "of the camera above the ground; 0: 0.8 of the robot's height"),
    NM_PARAM(line_noise, 0.02, 0, 0.2, "m", "deviation of a line's end across the line, besides the camera's"),
    NM_PARAM(range, 6, 0.5, 30, "m", "percepts farther away are left out"),
    NM_PARAM(min_confidence, 0.2, 0, 1, "1", "percepts less sure than this are left out"),
    NM_PARAM(gate, 3.5, 1, 10, "1", "a percept farther from the map than this many deviations is false"),
    NM_PARAM(ambiguity, 3, 0, 50, "1",
             "squared deviations by which the next candidate must be farther away than the best one"),
    NM_PARAM(false_share, 0.1, 0.001, 0.9, "1", "share of percepts that are false"),
    NM_PARAM(trust, 0.15, 0.001, 1, "1",
             "share of a percept's weight that counts, because the errors of neighbouring images are alike"),
    NM_PARAM(memory, 2, 0.1, 60, "s", "time in which the scores of hypotheses fade"),
    NM_PARAM(patience, 3, 0.2, 20, "s", "sightings of this time suggest and judge new hypotheses"),
    NM_PARAM(proof, 5, 0, 100, "1",
             "a new hypothesis must explain them better by this (log): one thing that it alone explains is worth 4"),
    NM_PARAM(prune, 12, 1, 100, "1", "a hypothesis that is so much less likely than the best (log) is dropped"),
    NM_PARAM(side_most, 7, 0, 50, "1", "how sure game and history can make the side (log odds)"),
    NM_PARAM(mate_most, 5, 0, 50, "1",
             "how sure one mate can make the side (log odds); less than side_most, more than half of it"),
    NM_PARAM(fall_noise, 0.2, 0, 2, "m", "deviation of the place after a fall"),
    NM_PARAM(fall_turn_noise, 0.3, 0, 3, "rad", "deviation of the direction after a fall, besides larger turns"),
    {0},
};
NM_MODULE(position_ukf, "Where the robot is on the field: particles that each carry an unscented Kalman filter.",
          NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step), .changed = NM_CALL(changed))

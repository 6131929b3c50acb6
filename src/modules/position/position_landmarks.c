/* Where the robot is: what it sees is carried into the map by the pose of the last image, taken for the nearest thing
 * of its kind there, and the pose follows from these pairs of points in closed form (Sweaty 2018, section 3). The
 * direction comes from the odometry and is corrected whenever both posts of a goal are seen. One hypothesis and no
 * probabilities: the smallest of the three modules, and the one to read first. */
#include <math.h>

#include "base/clamp.h"
#include "core/stamp.h"
#include "modules/position/side.h"
#include "modules/position/sight.h"

struct position_landmarks {
    struct nm *nm;
    struct position_ports io;
    /* params */
    struct nm_pitch_size field;
    double range, min_confidence, near, near_far;
    double gain, turn_gain, post_gain, post_error;
    double camera_height, lost, patience;
    double way_noise, turn_noise, seen_noise, seen_turn_noise;
    double side_most, mate_most;
    /* state */
    struct sight_map map;
    double height;
    struct nm_trail past;
    struct position_story story;
    struct sight_memory seen;
    struct side_seen others;
    struct side_claims claims;
    struct pose2 pose, moved_to; /* field; odom */
    int64_t moved_at, known_at;  /* ns; when what was seen last fitted */
    bool moving;
    bool in_own_half;               /* the rules say so, and no more is known */
    double variance, turn_variance; /* m2, rad2 */
    struct side_belief side;
    int64_t last_reset;
    char reason[32];
    struct sighting now[SIGHTINGS], recalled[MEMORY]; /* scratch */
};

/* ---- pairs of points ---- */

struct pairs {
    uint32_t n;
    struct pair {
        double x, y, mark_x, mark_y, weight; /* m, robot's frame; m, field */
    } all[SIGHTINGS];
};

/* The nearest landmark of the kind, if it is near enough. */
static void add_pair(const struct position_landmarks *f, const struct sighting *s, struct pairs *pairs)
{
    struct pose2 at = pose2_mul(f->pose, (struct pose2){s->x, s->y, s->orientation});
    double away = vec2_norm(s->x, s->y), best = f->near + f->near_far * away;
    const struct nm_landmark *found = NULL;
    for (uint32_t i = f->map.first[s->kind]; i < f->map.first[s->kind + 1]; i++) {
        const struct nm_landmark *m = &f->map.marks[i];
        double off = vec2_norm(m->x - at.x, m->y - at.y);
        if (s->directed && fabs(remainder(m->theta - at.theta, s->turn)) > 0.5) continue;
        if (off < best) best = off, found = m;
    }
    /* an error of the camera's tilt moves a point by the square of its distance */
    double sigma = (away * away + f->height * f->height) / f->height;
    if (found && pairs->n < SIGHTINGS)
        pairs->all[pairs->n++] = (struct pair){s->x, s->y, found->x, found->y, 1 / (sigma * sigma)};
}

/* The pose that carries the seen points to their landmarks with the least weighted squares. `spread` is the weighted
 * mean squared distance of the points from their middle: the direction is worth as much. */
static struct pose2 from_pairs(const struct pairs *p, double theta, double *spread)
{
    double sum = 0, x = 0, y = 0, mx = 0, my = 0, cross = 0, dot = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct pair *a = &p->all[i];
        sum += a->weight;
        x += a->weight * a->x, y += a->weight * a->y, mx += a->weight * a->mark_x, my += a->weight * a->mark_y;
    }
    x /= sum, y /= sum, mx /= sum, my /= sum;
    *spread = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct pair *a = &p->all[i];
        double ax = a->x - x, ay = a->y - y, bx = a->mark_x - mx, by = a->mark_y - my;
        dot += a->weight * (ax * bx + ay * by);
        cross += a->weight * (ax * by - ay * bx);
        *spread += a->weight * (ax * ax + ay * ay) / sum;
    }
    if (*spread > 0.04) theta = atan2(cross, dot);
    double c = cos(theta), s = sin(theta);
    return (struct pose2){mx - (c * x - s * y), my - (s * x + c * y), theta};
}

/* Both posts of a goal give the direction by themselves. */
static void turn_by_posts(struct position_landmarks *f, const struct sighting *sightings, uint32_t n)
{
    double width = f->field.goal_width + f->field.post;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++) {
            const struct sighting *a = &sightings[i], *b = &sightings[k];
            if (a->kind != NM_LANDMARK_POST || b->kind != NM_LANDMARK_POST) continue;
            if (fabs(vec2_norm(a->x - b->x, a->y - b->y) - width) > f->post_error) continue;
            /* the line between them is the goal line: either way round, whichever is nearer */
            double off = remainder(M_PI / 2 - atan2(b->y - a->y, b->x - a->x) - f->pose.theta, M_PI);
            if (fabs(off) > 0.6) continue;
            f->pose.theta = angle_normal(f->pose.theta + f->post_gain * off);
            f->turn_variance = fmax(f->turn_variance * (1 - f->post_gain), f->seen_turn_noise * f->seen_turn_noise);
        }
}

static void take_in(struct position_landmarks *f, const struct sighting *sightings, uint32_t n)
{
    struct pairs pairs = {0};
    uint32_t points = 0;
    turn_by_posts(f, sightings, n);
    for (uint32_t i = 0; i < n; i++) {
        if (sightings[i].kind >= SIGHT_LINE) continue;
        points++;
        add_pair(f, &sightings[i], &pairs);
    }
    if (!pairs.n || 2 * pairs.n < points) return;
    double spread;
    struct pose2 fit = from_pairs(&pairs, f->pose.theta, &spread);
    double turn = angle_normal(fit.theta - f->pose.theta), turn_gain = f->turn_gain * fmin(spread, 1);
    f->pose.x += f->gain * (fit.x - f->pose.x);
    f->pose.y += f->gain * (fit.y - f->pose.y);
    f->pose.theta = angle_normal(f->pose.theta + turn_gain * turn);
    f->variance = fmax(f->variance * (1 - f->gain), f->seen_noise * f->seen_noise);
    f->turn_variance = fmax(f->turn_variance * (1 - turn_gain), f->seen_turn_noise * f->seen_turn_noise);
    f->known_at = f->moved_at;
}

/* ---- where to begin ---- */

static void begin_at(struct position_landmarks *f, struct pose2 pose, double sigma)
{
    f->pose = pose;
    f->variance = sigma * sigma;
    f->turn_variance = 0.2 * 0.2;
    f->known_at = f->moved_at;
}

/* Nothing has fitted for a while: the best of some guesses. */
static void search(struct position_landmarks *f)
{
    uint32_t n = sight_recall(&f->seen, f->moved_to, f->moved_at, f->patience, f->recalled);
    struct pose2 best = f->pose, pose;
    double highest = sight_score(&f->map, f->recalled, n, f->pose, 0.1) + 0.3;
    bool found = false;
    for (int i = 0; i < 12 && n >= 6; i++) {
        if (!sight_guess(&f->map, f->recalled, n, f->nm, &pose)) continue;
        double score = sight_score(&f->map, f->recalled, n, pose, 0.1);
        if (score > highest && score > 0) highest = score, best = pose, found = true;
    }
    if (!found) return;
    struct pose2 other = position_mirrored(best);
    double here = vec2_norm(best.x - f->pose.x, best.y - f->pose.y),
           there = vec2_norm(other.x - f->pose.x, other.y - f->pose.y);
    bool turned = f->in_own_half ? best.x > 0 : there < here;
    if (fmin(here, there) > 1 && !f->in_own_half) f->side = (struct side_belief){.history = 0.5};
    f->in_own_half = false;
    begin_at(f, turned ? other : best, 0.3);
    f->last_reset = f->nm->now;
    nm_text(f->reason, "lost");
}

static void happen(struct position_landmarks *f, uint32_t events)
{
    struct position_spot spots[POSITION_SPOTS];
    uint32_t n = events & POSITION_START   ? position_start_spots(&f->field, f->io.match, spots)
                 : events & POSITION_ENTRY ? position_entry_spots(&f->field, spots)
                                           : 0;
    if (n) { /* any of them; a search tells which */
        begin_at(f, spots[n / 4].pose, 2);
        f->known_at = 0;
        f->in_own_half = true;
        f->side = (struct side_belief){.history = f->side_most};
        nm_text(f->reason, events & POSITION_START ? "start" : "penalty");
    }
    if (events & (POSITION_UP | POSITION_PLACED)) {
        f->variance += 0.09, f->turn_variance += 1;
        f->known_at = 0;
        if (events & POSITION_PLACED) f->side.history = nm_within(f->side.history, 1);
        nm_text(f->reason, events & POSITION_UP ? "fall" : "carried");
    }
    if (events & POSITION_KICK_OFF)
        f->side.history = nm_within(f->side.history + (f->pose.x < -0.3 ? 2 : f->pose.x > 0.6 ? -2 : 0), f->side_most);
    if (!(events & ~(uint32_t)POSITION_KICK_OFF)) return;
    f->seen.n = 0;
    f->last_reset = f->nm->now;
}

/* ---- step ---- */

static void move(struct position_landmarks *f, int64_t to)
{
    struct pose2 robot = nm_trail_at(&f->past, to), step = pose2_mul(pose2_inv(f->moved_to), robot);
    if (f->moving && vec2_norm(step.x, step.y) < 1) {
        double way = vec2_norm(step.x, step.y), turn = fabs(step.theta);
        f->pose = pose2_mul(f->pose, step);
        f->variance += f->way_noise * f->way_noise * way + way * way * f->turn_variance;
        f->turn_variance += f->turn_noise * f->turn_noise * (turn + 0.2 * way);
    }
    f->moving = true;
    f->moved_to = robot;
    f->moved_at = to;
}

static void look(struct position_landmarks *f)
{
    int64_t at = nm_stamp_ns(f->io.percepts->header.stamp);
    if (at <= 0 || at > f->nm->now || nm_seconds(f->nm->now - at) > 1) at = f->nm->now;
    move(f, at);
    if (f->story.blind) return;
    const struct sight_limits limits = {f->range, f->min_confidence, 1e-4, 1e-5, f->height};
    uint32_t n = sight_gather(f->nm, &f->io, &limits, f->now);
    side_see(&f->others, f->io.percepts, f->moved_to, at);
    sight_remember(&f->seen, f->now, n, f->moved_to, at);
    take_in(f, f->now, n);
    uint32_t recalled = sight_recall(&f->seen, f->moved_to, f->moved_at, f->patience, f->recalled);
    bool fits = recalled < 6 || sight_score(&f->map, f->recalled, recalled, f->pose, 0.1) > 0;
    if (!fits || nm_seconds(at - f->known_at) > f->lost) search(f);
}

static void listen(struct position_landmarks *f)
{
    const struct side_limits limits = {f->side_most, f->mate_most};
    side_listen(&f->others, f->nm, &f->io, f->moved_to, &f->claims);
    if (side_weigh(&f->side, &f->claims, f->pose, nm_seconds(f->nm->dt), &limits)) f->pose = position_mirrored(f->pose);
}

static void step(struct position_landmarks *f)
{
    position_past_take(&f->past, f->nm, f->io.odometry);
    happen(f, position_story_read(&f->story, f->nm, &f->io));
    if (nm_fresh(f->nm, f->io.percepts))
        look(f);
    else if (!f->moving || f->nm->now - f->moved_at > 100000000)
        move(f, f->nm->now);
    listen(f);
    struct pose2 now = nm_trail_newest(&f->past);
    const struct position_belief best = {pose2_mul(f->pose, pose2_mul(pose2_inv(f->moved_to), now)),
                                         {{f->variance, 0, 0}, {0, f->variance, 0}, {0, 0, f->turn_variance}},
                                         1};
    position_tell(f->nm, &f->io, &f->past, &best, 1, f->last_reset, f->reason);
}

static void changed(struct position_landmarks *f)
{
    sight_map(&f->map, &f->field);
    f->height = position_eye_height(f->nm, f->camera_height);
}

#define SELF struct position_landmarks
static const struct nm_port ports[] = {POSITION_PORTS, {0}};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM(range, 5, 0.5, 30, "m", "percepts farther away are left out"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "percepts less sure than this are left out"),
    NM_PARAM(near, 0.25, 0.01, 5, "m", "a percept belongs to a landmark that is nearer than this in the map ..."),
    NM_PARAM(near_far, 0.12, 0, 1, "1", "... and this share of its distance from the robot"),
    NM_PARAM(gain, 0.08, 0, 1, "1", "share of the place from landmarks that an image takes over"),
    NM_PARAM(turn_gain, 0.04, 0, 1, "1", "the same of the direction, if the landmarks are far apart"),
    NM_PARAM(post_gain, 0.1, 0, 1, "1", "the same of the direction from both posts of a goal"),
    NM_PARAM(post_error, 0.4, 0, 2, "m", "two posts are a goal if their distance is wrong by less"),
    NM_PARAM(camera_height, 0, 0, 2, "m", "of the camera above the ground; 0: 0.8 of the robot's height"),
    NM_PARAM(lost, 3, 0.1, 60, "s", "without a landmark that fits for so long the robot searches its place"),
    NM_PARAM(patience, 3, 0.2, 20, "s", "sightings of this time suggest where"),
    NM_PARAM(way_noise, 0.12, 0, 1, "m", "odometry: deviation after 1 m"),
    NM_PARAM(turn_noise, 0.12, 0, 1, "rad", "odometry: deviation of the direction after a turn of 1 rad"),
    NM_PARAM(seen_noise, 0.06, 0, 1, "m", "least deviation of the place"),
    NM_PARAM(seen_turn_noise, 0.04, 0, 1, "rad", "least deviation of the direction"),
    NM_PARAM(side_most, 7, 0, 50, "1", "how sure game and history can make the side (log odds)"),
    NM_PARAM(mate_most, 5, 0, 50, "1", "how sure one mate can make the side (log odds)"),
    {0},
};
NM_MODULE(position_landmarks, "Where the robot is on the field: from pairs of seen points and landmarks.",
          NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step), .changed = NM_CALL(changed))

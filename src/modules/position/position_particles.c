/* Where the robot is: a plain particle filter, with the score of Rhoban (2016, section 4.4; cloud.h) and the gates of
 * the HULKs (2017, section 4.2): lines are taken from less far while the robot walks, and nothing is taken while its
 * trunk turns fast, when the camera's pose is wrong. Game events reset it to the places that the rules give. Simpler
 * and less exact than position_ukf; a rival to compare with. */
#include <math.h>
#include <string.h>

#include "base/clamp.h"
#include "core/stamp.h"
#include "humanoid_league_msgs/VisualCompassRotation.h"
#include "modules/position/cloud.h"
#include "modules/position/side.h"
#include "modules/position/sight.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/MagneticField.h"

struct position_particles {
    struct nm *nm;
    struct position_ports io;
    const Imu *imu;
    const MagneticField *magnet;
    const VisualCompassRotation *visual;
    /* params */
    struct nm_pitch_size field;
    int32_t particles;
    double way_noise, turn_noise, explore, explore_turn, pause;
    double range_stands, range_walks, walks, turn_rate, min_confidence;
    double angle, floor, camera_height;
    double lost, new_share, patience;
    bool compass;
    double north;
    double side_most, mate_most;
    double least_sigma, least_turn;
    /* state */
    struct sight_map map;
    struct cloud_score score;
    struct nm_trail past;
    struct position_story story;
    struct sight_memory seen;
    struct side_seen others;
    struct side_claims claims;
    struct cloud cloud;
    struct side_belief side;     /* of the whole cloud                       */
    double fit;                  /* mean score of percepts, lately           */
    struct position_belief best; /* where the cloud is densest; at moved_to  */
    struct pose2 moved_to;
    int64_t moved_at, weighed_at;
    bool moving;
    int64_t last_reset;
    char reason[32];
    struct sighting now[SIGHTINGS], recalled[MEMORY]; /* scratch */
    float old[3][CLOUD];
};

/* ---- the cloud ---- */

static void put(struct position_particles *f, uint32_t i, struct position_spot spot)
{
    f->cloud.x[i] = (float)(spot.pose.x + spot.sigma_x * nm_gauss(f->nm));
    f->cloud.y[i] = (float)(spot.pose.y + spot.sigma_y * nm_gauss(f->nm));
    f->cloud.theta[i] = (float)(spot.pose.theta + spot.sigma_theta * nm_gauss(f->nm));
    f->cloud.weight[i] = 1;
}

static void reset_to(struct position_particles *f, const struct position_spot *spots, uint32_t n, const char *reason)
{
    f->cloud.n = (uint32_t)f->particles;
    for (uint32_t i = 0; i < f->cloud.n; i++) put(f, i, spots[i % n]);
    cloud_turned(&f->cloud);
    f->side = (struct side_belief){.history = f->side_most};
    f->fit = 0.5;
    f->last_reset = f->nm->now;
    nm_text(f->reason, "%s", reason);
}

static void mirror(struct position_particles *f)
{
    for (uint32_t i = 0; i < f->cloud.n; i++) {
        f->cloud.x[i] = -f->cloud.x[i], f->cloud.y[i] = -f->cloud.y[i];
        f->cloud.theta[i] += (float)M_PI;
    }
    cloud_turned(&f->cloud);
    f->best.pose = position_mirrored(f->best.pose);
}

/* The controlled part of the mutation by odometry, and exploration. */
static void move_cloud(struct position_particles *f, struct pose2 step, double dt)
{
    double way = vec2_norm(step.x, step.y), turn = fabs(step.theta);
    double sigma = f->way_noise * sqrt(way) + f->explore * sqrt(dt);
    double sigma_turn = f->turn_noise * sqrt(turn) + 0.3 * f->turn_noise * sqrt(way) + f->explore_turn * sqrt(dt);
    struct cloud *p = &f->cloud;
    for (uint32_t i = 0; i < p->n; i++) {
        double x = step.x + sigma * nm_gauss(f->nm), y = step.y + sigma * nm_gauss(f->nm);
        p->x[i] += (float)(p->c[i] * x - p->s[i] * y);
        p->y[i] += (float)(p->s[i] * x + p->c[i] * y);
        p->theta[i] += (float)(step.theta + sigma_turn * nm_gauss(f->nm));
    }
    cloud_turned(p);
    f->best.pose = pose2_mul(f->best.pose, step);
}

/* Systematic resampling (Kitagawa 1996): one random number, evenly spaced picks. `fresh` of them are left for new
 * particles. */
static void resample(struct position_particles *f, uint32_t fresh)
{
    struct cloud *p = &f->cloud;
    double sum = 0, picked = p->weight[0];
    uint32_t n = p->n - fresh, k = 0;
    for (uint32_t i = 0; i < p->n; i++) sum += p->weight[i];
    double step = sum / n, at = step * nm_random(f->nm);
    memcpy(f->old[0], p->x, sizeof(float) * p->n);
    memcpy(f->old[1], p->y, sizeof(float) * p->n);
    memcpy(f->old[2], p->theta, sizeof(float) * p->n);
    for (uint32_t i = 0; i < n; i++, at += step) {
        while (picked < at && k + 1 < p->n) picked += p->weight[++k];
        p->x[i] = f->old[0][k], p->y[i] = f->old[1][k], p->theta[i] = f->old[2][k];
    }
    for (uint32_t i = 0; i < p->n; i++) p->weight[i] = 1;
}

/* New particles where what was seen lately suggests it, on the side where the robot believed to be. */
static void add_new(struct position_particles *f, uint32_t fresh)
{
    uint32_t n = sight_recall(&f->seen, f->moved_to, f->moved_at, f->patience, f->recalled);
    struct position_spot spot = {.sigma_x = 0.15, .sigma_y = 0.15, .sigma_theta = 0.1};
    for (uint32_t i = f->cloud.n - fresh; i < f->cloud.n; i++) {
        double best = -INFINITY;
        for (int tries = 0; tries < 4; tries++) {
            struct pose2 pose;
            if (!sight_guess(&f->map, f->recalled, n, f->nm, &pose)) continue;
            double score = sight_score(&f->map, f->recalled, n, pose, f->floor);
            if (score > best) best = score, spot.pose = pose;
        }
        if (best == -INFINITY) spot.pose = f->best.pose;
        struct pose2 other = position_mirrored(spot.pose), was = f->best.pose;
        if (vec2_norm(other.x - was.x, other.y - was.y) < vec2_norm(spot.pose.x - was.x, spot.pose.y - was.y))
            spot.pose = other;
        put(f, i, spot);
    }
}

/* Where the cloud is densest: from the particle with the greatest weight the weighted mean of its neighbours, twice. */
static void find_best(struct position_particles *f)
{
    const struct cloud *p = &f->cloud;
    uint32_t top = 0;
    for (uint32_t i = 1; i < p->n; i++)
        if (p->weight[i] > p->weight[top]) top = i;
    struct pose2 at = {p->x[top], p->y[top], p->theta[top]};
    /* a place that is as good as any other: the old one stays */
    double inside = 0, sum = 0, cov[3][3] = {{0}};
    for (int round = 0; round < 3; round++) {
        double x = 0, y = 0, turn = 0;
        inside = sum = 0;
        memset(cov, 0, sizeof cov);
        for (uint32_t i = 0; i < p->n; i++) {
            double off[3] = {p->x[i] - at.x, p->y[i] - at.y, angle_normal(p->theta[i] - at.theta)}, w = p->weight[i];
            sum += w;
            if (off[0] * off[0] + off[1] * off[1] > 0.25 || fabs(off[2]) > 0.5) continue;
            inside += w;
            x += w * off[0], y += w * off[1], turn += w * off[2];
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) cov[a][b] += w * off[a] * off[b];
        }
        at.x += x / inside, at.y += y / inside, at.theta = angle_normal(at.theta + turn / inside);
    }
    f->best.pose = at;
    f->best.weight = inside / sum;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) f->best.covariance[a][b] = cov[a][b] / inside;
    f->best.covariance[0][0] += f->least_sigma * f->least_sigma;
    f->best.covariance[1][1] += f->least_sigma * f->least_sigma;
    f->best.covariance[2][2] += f->least_turn * f->least_turn;
}

/* ---- what is seen ---- */

/* The compass only tells the half in which the robot looks: it is too noisy for more. */
static void weigh_compass(struct position_particles *f)
{
    double heading;
    if (nm_fresh(f->nm, f->visual) && f->visual->confidence > 0.5f)
        heading = f->visual->orientation;
    else if (nm_fresh(f->nm, f->magnet))
        heading = angle_normal(f->north - atan2(f->magnet->magnetic_field.y, f->magnet->magnetic_field.x));
    else
        return;
    const float c = (float)cos(heading), s = (float)sin(heading);
    for (uint32_t i = 0; i < f->cloud.n; i++)
        f->cloud.weight[i] *= f->cloud.c[i] * c + f->cloud.s[i] * s > 0 ? 1 : 0.5f;
    /* and of the cloud as a whole, which does not hold its own mirror image */
    f->side.history = nm_within(f->side.history + (cos(f->best.pose.theta - heading) > 0 ? 0.1 : -0.1), f->side_most);
}

static bool camera_is_wrong(const struct position_particles *f)
{
    const Vector3 *w = &f->imu->angular_velocity;
    return nm_age(f->nm, f->imu) < 100000000 && w->x * w->x + w->y * w->y > f->turn_rate * f->turn_rate;
}

static void weigh(struct position_particles *f, const struct sighting *sightings, uint32_t n)
{
    enum { MOST = 16 }; /* weights are products: more of them would vanish */
    struct cloud *p = &f->cloud;
    double before = 0, sum = 0, square = 0;
    uint32_t used = n < MOST ? n : MOST;
    if (!used) return;
    for (uint32_t i = 0; i < p->n; i++) before += p->weight[i];
    for (uint32_t k = 0; k < used; k++) cloud_weigh(p, &f->map, &sightings[k * n / used], &f->score);
    for (uint32_t i = 0; i < p->n; i++) sum += p->weight[i], square += (double)p->weight[i] * p->weight[i];
    find_best(f);
    double mean = pow(fmax(sum / before, 1e-30), 1.0 / used);
    f->fit += 0.1 * (mean - f->fit);
    uint32_t fresh = f->fit < f->lost ? (uint32_t)(f->new_share * p->n) : 0;
    if (sum * sum > 0.5 * p->n * square && !fresh) return;
    resample(f, fresh);
    add_new(f, fresh);
    cloud_turned(p);
}

/* ---- what happens ---- */

static void happen(struct position_particles *f, uint32_t events)
{
    struct position_spot spots[POSITION_SPOTS];
    struct cloud *p = &f->cloud;
    if (events & POSITION_START) reset_to(f, spots, position_start_spots(&f->field, f->io.match, spots), "start");
    if (events & POSITION_ENTRY) reset_to(f, spots, position_entry_spots(&f->field, spots), "penalty");
    if (events & (POSITION_UP | POSITION_PLACED)) { /* noise for all of them, and any direction */
        for (uint32_t i = 0; i < p->n; i++) {
            p->x[i] += (float)(0.4 * (2 * nm_random(f->nm) - 1));
            p->y[i] += (float)(0.4 * (2 * nm_random(f->nm) - 1));
            if (i % 2) p->theta[i] = (float)(2 * M_PI * nm_random(f->nm));
        }
        cloud_turned(p);
        if (events & POSITION_PLACED) f->side.history = nm_within(f->side.history, 1);
        f->last_reset = f->nm->now;
        nm_text(f->reason, events & POSITION_UP ? "fall" : "carried");
    }
    if (events & POSITION_KICK_OFF)
        f->side.history = nm_within(f->side.history + (f->best.pose.x < -0.3  ? 2
                                                       : f->best.pose.x > 0.6 ? -2
                                                                              : 0),
                                    f->side_most);
    if (events & ~(uint32_t)POSITION_KICK_OFF) f->seen.n = 0;
}

/* ---- step ---- */

static void move(struct position_particles *f, int64_t to)
{
    struct pose2 robot = nm_trail_at(&f->past, to);
    if (f->moving) {
        struct pose2 step = pose2_mul(pose2_inv(f->moved_to), robot);
        if (vec2_norm(step.x, step.y) > 1) step = (struct pose2){0}; /* odometry started again */
        move_cloud(f, step, nm_clamp(nm_seconds(to - f->moved_at), 0, 1));
    }
    f->moving = true;
    f->moved_to = robot;
    f->moved_at = to;
}

static void look(struct position_particles *f)
{
    int64_t at = nm_stamp_ns(f->io.percepts->header.stamp);
    if (at <= 0 || at > f->nm->now || nm_seconds(f->nm->now - at) > 1) at = f->nm->now;
    if (f->story.blind || camera_is_wrong(f)) return;
    const Twist *v = &f->io.odometry->twist.twist;
    bool walks = vec2_norm(v->linear.x, v->linear.y) > f->walks || fabs(v->angular.z) > 3 * f->walks;
    struct pose2 robot = nm_trail_at(&f->past, at);
    const struct sight_limits limits = {walks ? f->range_walks : f->range_stands, f->min_confidence, 1e-4, 1e-5,
                                        f->score.height};
    uint32_t n = sight_gather(f->nm, &f->io, &limits, f->now);
    side_see(&f->others, f->io.percepts, robot, at);
    sight_remember(&f->seen, f->now, n, robot, at);
    if (nm_seconds(at - f->weighed_at) < f->pause) return;
    f->weighed_at = at;
    move(f, at);
    weigh(f, f->now, n);
}

static void listen(struct position_particles *f)
{
    const struct side_limits limits = {f->side_most, f->mate_most};
    side_listen(&f->others, f->nm, &f->io, f->moved_to, &f->claims);
    if (side_weigh(&f->side, &f->claims, f->best.pose, nm_seconds(f->nm->dt), &limits)) mirror(f);
}

static void tell(struct position_particles *f)
{
    struct pose2 now = nm_trail_newest(&f->past);
    struct position_belief best = f->best;
    best.pose = pose2_mul(best.pose, pose2_mul(pose2_inv(f->moved_to), now));
    for (uint32_t i = 0; i < 128 && f->nm->watched; i++) {
        uint32_t k = (uint32_t)((uint64_t)i * f->cloud.n / 128);
        Pose2D *p = nm_append(&f->io.hypotheses->particles, &Pose2D_type);
        if (p) *p = (Pose2D){f->cloud.x[k], f->cloud.y[k], f->cloud.theta[k]};
    }
    position_tell(f->nm, &f->io, &f->past, &best, 1, f->last_reset, f->reason);
    nm_show(f->nm, "fit", f->fit);
}

static void step(struct position_particles *f)
{
    position_past_take(&f->past, f->nm, f->io.odometry);
    happen(f, position_story_read(&f->story, f->nm, &f->io));
    if (!f->moving) {
        move(f, f->nm->now);
        find_best(f);
    }
    if (nm_fresh(f->nm, f->io.percepts)) look(f);
    if (f->compass) weigh_compass(f);
    if (nm_seconds(f->nm->now - f->moved_at) > 0.3) move(f, f->nm->now);
    listen(f);
    tell(f);
}

static void changed(struct position_particles *f)
{
    sight_map(&f->map, &f->field);
    f->score =
        (struct cloud_score){(float)position_eye_height(f->nm, f->camera_height), (float)f->angle, (float)f->floor};
    if (f->cloud.n > (uint32_t)f->particles) f->cloud.n = (uint32_t)f->particles;
}

#define SELF struct position_particles
static const struct nm_port ports[] = {
    POSITION_PORTS,
    NM_IN(imu, Imu, "imu/data", .optional = true),
    NM_IN(magnet, MagneticField, "imu/mag", .optional = true),
    NM_IN(visual, VisualCompassRotation, "visual_compass", .optional = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM(particles, 500, 10, 10000, "1", "how many; time grows with them"),
    NM_PARAM(way_noise, 0.1, 0, 1, "m", "odometry: deviation after 1 m"),
    NM_PARAM(turn_noise, 0.12, 0, 1, "rad", "odometry: deviation of the direction after a turn of 1 rad"),
    NM_PARAM(explore, 0.04, 0, 1, "m", "exploration: deviation of a particle's place after 1 s"),
    NM_PARAM(explore_turn, 0.04, 0, 1, "rad", "exploration: deviation of its direction after 1 s"),
    NM_PARAM(pause, 0.09, 0, 2, "s",
             "time between two images that are weighed, because the errors of neighbours are alike"),
    NM_PARAM(range_stands, 4, 0.5, 30, "m", "percepts farther away are left out"),
    NM_PARAM(range_walks, 3, 0.5, 30, "m", "the same while the robot walks"),
    NM_PARAM(walks, 0.05, 0, 1, "m/s", "a robot that is faster walks"),
    NM_PARAM(turn_rate, 1.5, 0.1, 20, "rad/s", "images are left out while the trunk tilts faster"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "percepts less sure than this are left out"),
    NM_PARAM(angle, 0.035, 0.001, 1, "rad", "angle between seen and expected ray that quarters a percept's score"),
    NM_PARAM(floor, 0.1, 0.001, 0.9, "1", "least score of a percept: the share of false ones"),
    NM_PARAM(camera_height, 0, 0, 2, "m", "of the camera above the ground; 0: 0.8 of the robot's height"),
    NM_PARAM(lost, 0.3, 0, 1, "1", "below this mean score new particles are added"),
    NM_PARAM(new_share, 0.05, 0, 1, "1", "share of particles that are new then"),
    NM_PARAM(patience, 3, 0.2, 20, "s", "sightings of this time suggest them"),
    NM_PARAM_SWITCH(compass, false, "uses a magnetic or visual compass to tell the sides of the field"),
    NM_PARAM(north, 0, -3.15, 3.15, "rad", "direction of magnetic north in the field"),
    NM_PARAM(side_most, 7, 0, 50, "1", "how sure game and history can make the side (log odds)"),
    NM_PARAM(mate_most, 5, 0, 50, "1", "how sure one mate can make the side (log odds)"),
    NM_PARAM(least_sigma, 0.03, 0, 1, "m", "deviation of the place that is never thought to be undershot"),
    NM_PARAM(least_turn, 0.02, 0, 1, "rad", "the same of the direction"),
    {0},
};
NM_MODULE(position_particles, "Where the robot is on the field: a particle filter that scores percepts by angle.",
          NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step), .changed = NM_CALL(changed))

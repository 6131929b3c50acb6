#include "sim/percept.h"

#include <math.h>
#include <string.h>

/* Ranges and rates of a vision that works: measured figures of teams differ by a factor of two in either direction. */
const struct nm_percept_params nm_percept_params = {
    .habits =
        {
            [NM_PERCEPT_BALL] = {0.03, 5.0, 0.8, 0.02, 0.004},
            [NM_PERCEPT_POST] = {0.05, 6.0, 1.2, 0.01, 0.002},
            [NM_PERCEPT_L] = {0.15, 3.0, 0.5, 0.02, 0.004},
            [NM_PERCEPT_T] = {0.15, 3.0, 0.5, 0.02, 0.004},
            [NM_PERCEPT_X] = {0.15, 3.0, 0.5, 0.01, 0.002},
            [NM_PERCEPT_MARK] = {0.15, 2.5, 0.4, 0.02, 0.003},
            [NM_PERCEPT_CIRCLE] = {0.20, 3.0, 0.5, 0.00, 0.001},
            [NM_PERCEPT_ROBOT] = {0.08, 4.5, 0.8, 0.02, 0.003},
        },
    .line = {0.10, 3.5, 0.6, 0, 0},
    .pixel_noise = 1.0,
    .tilt_noise = 0.006,
    .tilt_drift = 0.010,
    .tilt_time = 0.8,
    .miss_time = 0.25,
    .ghost_time = 1.5,
};

void nm_perceiver_new(struct nm_perceiver *eyes, uint64_t seed, uint32_t robot)
{
    memset(eyes, 0, sizeof *eyes);
    eyes->dice = nm_dice_new(seed, 0x65796573, robot);
    eyes->line_dice = nm_dice_new(seed, 0x6c696e65, robot);
    eyes->last = -1;
}

double nm_percept_missed(const struct nm_percept_habit *h, double distance)
{
    return 1 - (1 - h->missed) / (1 + exp((distance - h->range) / h->fade));
}

/* ---- what is in view ---- */

/* True if the segment from the camera to a point runs through an upright cylinder on the ground. */
static bool hides(struct vec3 from, struct vec3 to, double x, double y, double radius, double height)
{
    double dx = to.x - from.x, dy = to.y - from.y, ox = from.x - x, oy = from.y - y;
    double a = dx * dx + dy * dy, b = ox * dx + oy * dy, c = ox * ox + oy * oy - radius * radius;
    double root = b * b - a * c;
    if (!(root > 0) || a < 1e-12) return false;
    double enter = fmax((-b - sqrt(root)) / a, 0), leave = fmin((-b + sqrt(root)) / a, 1);
    if (enter >= leave) return false;
    double z_enter = from.z + enter * (to.z - from.z), z_leave = from.z + leave * (to.z - from.z);
    return fmin(z_enter, z_leave) < height;
}

static bool hidden(const struct nm_percept_view *v, struct vec3 point, double own_radius)
{
    struct vec3 eye = v->camera_to_field.pos;
    /* nobody hides himself, nor what stands inside him */
    for (uint32_t i = 0; i < v->n; i++) {
        const struct nm_percept_robot *r = &v->robots[i];
        if (r->present && i != v->self && hides(eye, point, r->x, r->y, r->radius, r->height) &&
            !(vec2_norm(point.x - r->x, point.y - r->y) < r->radius + own_radius))
            return true;
    }
    for (int i = 0; i < NM_PITCH_POSTS; i++) {
        struct vec3 post = v->pitch->posts[i];
        double half = v->pitch->post / 2;
        if (hides(eye, point, post.x, post.y, half, v->pitch->goal_height) &&
            !(vec2_norm(point.x - post.x, point.y - post.y) < half + own_radius))
            return true;
    }
    return false;
}

bool nm_percept_sees(const struct nm_percept_view *v, struct vec3 point, double own_radius)
{
    struct pixel at;
    return nm_camera_from_world(v->camera, v->camera_to_field, point, &at) && nm_camera_sees(v->camera, at) &&
           !hidden(v, point, own_radius);
}

/* Five points: the middle, both sides, top and bottom as the camera sees them. */
double nm_percept_visible(const struct nm_percept_view *v, struct vec3 c, double radius)
{
    struct vec3 eye = v->camera_to_field.pos;
    double dx = c.x - eye.x, dy = c.y - eye.y, away = vec2_norm(dx, dy);
    double sx = away > 1e-9 ? -dy / away : 0, sy = away > 1e-9 ? dx / away : 1, k = 0.8 * radius;
    const struct vec3 points[5] = {c,
                                   {c.x + k * sx, c.y + k * sy, c.z},
                                   {c.x - k * sx, c.y - k * sy, c.z},
                                   {c.x, c.y, c.z + k},
                                   {c.x, c.y, fmax(c.z - k, 0)}};
    int n = 0;
    for (int i = 0; i < 5; i++) n += nm_percept_sees(v, points[i], radius);
    return n / 5.0;
}

/* ---- how it errs ---- */

/* One image's view through a camera pose that is a little wrong. */
struct glance {
    struct nm_perceiver *eyes;
    const struct nm_percept_params *params;
    const struct nm_percept_view *view;
    struct pose3 camera_to_robot; /* as the robot believes */
    double keep;                  /* share of the luck that lasts since the last image */
    double height;                /* m, of the camera */
    uint32_t n;
    struct nm_percept *out;
};

/* The slow part of the camera's tilt is a first-order process with the stated deviation and time. */
static void drift(struct nm_perceiver *eyes, const struct nm_percept_params *p, double dt)
{
    double keep = p->tilt_time > 0 ? exp(-dt / p->tilt_time) : 0, fresh = p->tilt_drift * sqrt(1 - keep * keep);
    eyes->roll_drift = keep * eyes->roll_drift + fresh * nm_dice_gauss(&eyes->dice);
    eyes->pitch_drift = keep * eyes->pitch_drift + fresh * nm_dice_gauss(&eyes->dice);
}

static struct pose3 believed_camera(struct nm_perceiver *eyes, const struct nm_percept_params *p,
                                    const struct nm_percept_view *v)
{
    struct pose3 robot = {quat_rpy(0, 0, v->robot_to_field.theta), {v->robot_to_field.x, v->robot_to_field.y, 0}};
    struct pose3 camera = pose_mul(pose_inv(robot), v->camera_to_field);
    double roll = eyes->roll_drift + p->tilt_noise * nm_dice_gauss(&eyes->dice);
    double pitch = eyes->pitch_drift + p->tilt_noise * nm_dice_gauss(&eyes->dice);
    camera.rot = quat_mul(quat_rpy(roll, pitch, 0), camera.rot);
    return camera;
}

/* A pixel's place on the plane z = `up`, and the covariance a vision would state: along the ray the tilt error grows by
 * (d^2 + h^2) / h, across it by d. */
static bool place(const struct glance *g, struct pixel at, double up, struct nm_percept *p)
{
    struct vec3 ground;
    if (!nm_camera_to_ground(g->view->camera, g->camera_to_robot, at, up, &ground)) return false;
    p->x = ground.x;
    p->y = ground.y;
    double dx = ground.x - g->camera_to_robot.pos.x, dy = ground.y - g->camera_to_robot.pos.y, d = vec2_norm(dx, dy);
    double h = fmax(g->height - up, 0.02), pixel = g->params->pixel_noise / g->view->camera->fx;
    double tilt2 =
        g->params->tilt_noise * g->params->tilt_noise + g->params->tilt_drift * g->params->tilt_drift + pixel * pixel;
    double along = (d * d + h * h) / h, a2 = along * along * tilt2, b2 = (d * d + h * h) * (tilt2 + 1e-4);
    double c = d > 1e-9 ? dx / d : 1, s = d > 1e-9 ? dy / d : 0;
    p->xx = c * c * a2 + s * s * b2;
    p->xy = c * s * (a2 - b2);
    p->yy = s * s * a2 + c * c * b2;
    return true;
}

static void report(struct glance *g, enum nm_percept_kind kind, struct pixel exact, double up, double orientation,
                   double confidence, int32_t truth)
{
    struct nm_percept p = {.kind = kind, .truth = truth};
    double sigma = g->params->pixel_noise;
    p.at.u = exact.u + sigma * nm_dice_gauss(&g->eyes->dice);
    p.at.v = exact.v + sigma * nm_dice_gauss(&g->eyes->dice);
    p.orientation = angle_normal(orientation + 0.05 * nm_dice_gauss(&g->eyes->dice));
    p.confidence = fmin(fmax(confidence + 0.05 * nm_dice_gauss(&g->eyes->dice), 0.05), 1);
    if (g->n < NM_PERCEPTS && place(g, p.at, up, &p)) g->out[g->n++] = p;
}

/* A thing keeps its luck for a while, so misses come in runs; redrawing it with the right chance leaves the share of
 * misses exactly what the habit says. */
static bool missed(struct glance *g, uint32_t subject, double chance)
{
    double *luck = &g->eyes->luck[subject];
    bool redraw = nm_dice_roll(&g->eyes->dice) >= g->keep;
    double fresh = nm_dice_roll(&g->eyes->dice);
    if (redraw) *luck = fresh;
    return *luck < chance;
}

/* Looks for one thing. `foot` is the point whose pixel is reported; vision takes it to be on the ground, a ball's
 * centre its radius above. */
static void look_for(struct glance *g, uint32_t subject, enum nm_percept_kind kind, struct vec3 foot,
                     struct vec3 middle, double radius, double orientation, int32_t truth)
{
    const struct nm_percept_view *v = g->view;
    double away = vec2_norm(foot.x - v->camera_to_field.pos.x, foot.y - v->camera_to_field.pos.y);
    double chance = nm_percept_missed(&g->params->habits[kind], away);
    if (missed(g, subject, chance)) return;
    double visible = nm_percept_visible(v, middle, radius);
    struct pixel at;
    if (visible < 0.5 || !nm_camera_from_world(v->camera, v->camera_to_field, foot, &at)) return;
    double own = truth < 0 ? 0.55 : 0.95 - 0.4 * chance, up = kind == NM_PERCEPT_BALL ? v->pitch->ball_radius : 0;
    report(g, kind, at, up, orientation, own * (0.5 + 0.5 * visible), truth);
}

static void look_for_field(struct glance *g, uint32_t subject)
{
    static const enum nm_percept_kind kinds[] = {
        [NM_CROSSING_L] = NM_PERCEPT_L, [NM_CROSSING_T] = NM_PERCEPT_T, [NM_CROSSING_X] = NM_PERCEPT_X};
    const struct nm_pitch *p = g->view->pitch;
    double turn = g->view->robot_to_field.theta;
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++, subject++) {
        struct vec3 foot = p->posts[i], middle = {foot.x, foot.y, 0.1};
        look_for(g, subject, NM_PERCEPT_POST, foot, middle, p->post / 2, 0, (int32_t)i);
    }
    for (uint32_t i = 0; i < p->n_crossings; i++, subject++) {
        struct vec3 at = {p->crossings[i].x, p->crossings[i].y, 0};
        look_for(g, subject, kinds[p->crossings[i].kind], at, at, 0.05, p->crossings[i].theta - turn, (int32_t)i);
    }
    for (uint32_t i = 0; i < 2; i++, subject++) { /* the two penalty marks; the centre's comes with its circle */
        struct vec3 at = {p->spots[i].x, p->spots[i].y, 0};
        look_for(g, subject, NM_PERCEPT_MARK, at, at, 0.05, -turn, (int32_t)i);
    }
    look_for(g, subject, NM_PERCEPT_CIRCLE, (struct vec3){0, 0, 0}, (struct vec3){0, 0, 0}, 0.05, -turn, 0);
}

static void look_for_robots(struct glance *g, uint32_t subject)
{
    const struct nm_percept_view *v = g->view;
    for (uint32_t i = 0; i < v->n; i++) {
        const struct nm_percept_robot *r = &v->robots[i];
        if (i == v->self || !r->present) continue;
        struct vec3 foot = {r->x, r->y, 0}, middle = {r->x, r->y, r->height / 2};
        look_for(g, subject + i, NM_PERCEPT_ROBOT, foot, middle, r->radius, 0, (int32_t)i);
    }
}

/* ---- what is not there ---- */

/* Somewhere on the carpet in the picture; false if the camera looks elsewhere. */
static bool random_ground(struct glance *g, struct vec3 *point)
{
    const struct nm_percept_view *v = g->view;
    struct pixel at = {nm_dice_roll(&g->eyes->dice) * v->camera->width,
                       nm_dice_roll(&g->eyes->dice) * v->camera->height};
    return nm_camera_to_ground(v->camera, v->camera_to_field, at, 0, point) &&
           fabs(point->x) < nm_pitch_half_x(v->pitch) && fabs(point->y) < nm_pitch_half_y(v->pitch);
}

/* How often something with this rate happens in an interval: Knuth's product of uniform numbers. */
static uint32_t poisson(struct nm_dice *dice, double mean)
{
    double limit = exp(-mean), product = nm_dice_roll(dice);
    uint32_t n = 0;
    while (product > limit && n < 16) {
        product *= nm_dice_roll(dice);
        n++;
    }
    return n;
}

static void haunt(struct glance *g, enum nm_percept_kind kind, int64_t now)
{
    struct nm_ghost *ghost = g->eyes->ghosts;
    struct vec3 at;
    while (ghost < g->eyes->ghosts + NM_GHOSTS && ghost->alive) ghost++;
    if (ghost == g->eyes->ghosts + NM_GHOSTS || !random_ground(g, &at)) return;
    double life = -g->params->ghost_time * log(1 - nm_dice_roll(&g->eyes->dice));
    *ghost = (struct nm_ghost){true, kind, at.x, at.y, now + (int64_t)(life * 1e9)};
}

static void look_at_nothing(struct glance *g, uint32_t subject, double dt)
{
    const struct nm_percept_view *v = g->view;
    for (int kind = NM_PERCEPT_BALL; kind < NM_PERCEPT_KINDS; kind++) {
        const struct nm_percept_habit *habit = &g->params->habits[kind];
        double up = kind == NM_PERCEPT_BALL ? v->pitch->ball_radius : 0;
        for (uint32_t n = poisson(&g->eyes->dice, habit->ghosts * dt); n; n--)
            haunt(g, (enum nm_percept_kind)kind, v->time);
        for (uint32_t n = poisson(&g->eyes->dice, habit->flickers); n; n--) {
            struct vec3 at;
            struct pixel pixel;
            if (!random_ground(g, &at)) continue;
            at.z = up;
            double turn = 2 * M_PI * nm_dice_roll(&g->eyes->dice);
            if (nm_camera_from_world(v->camera, v->camera_to_field, at, &pixel))
                report(g, (enum nm_percept_kind)kind, pixel, up, turn, 0.45, -1);
        }
    }
    for (uint32_t i = 0; i < NM_GHOSTS; i++) {
        struct nm_ghost *ghost = &g->eyes->ghosts[i];
        if (ghost->alive && v->time >= ghost->until) ghost->alive = false;
        if (!ghost->alive) continue;
        struct vec3 at = {ghost->x, ghost->y, ghost->kind == NM_PERCEPT_BALL ? v->pitch->ball_radius : 0};
        look_for(g, subject + i, ghost->kind, at, at, 0.05, -v->robot_to_field.theta, -1);
    }
}

uint32_t nm_perceive(struct nm_perceiver *eyes, const struct nm_percept_params *params,
                     const struct nm_percept_view *view, struct nm_percept percepts[NM_PERCEPTS])
{
    enum {
        BALL,
        FIELD,
        ROBOTS = FIELD + NM_PITCH_POSTS + NM_PITCH_CROSSINGS + NM_PITCH_SPOTS + 1,
        GHOSTS = ROBOTS + NM_PLAYERS
    };
    _Static_assert(GHOSTS + NM_GHOSTS == NM_PERCEPT_SUBJECTS, "every subject has its luck");
    bool first = eyes->last < 0;
    double dt = first ? 0 : fmax((double)(view->time - eyes->last) * 1e-9, 0);
    struct glance g = {.eyes = eyes, .params = params, .view = view, .out = percepts};
    drift(eyes, params, first ? INFINITY : dt);
    g.keep = first || !(params->miss_time > 0) ? 0 : exp(-dt / params->miss_time);
    g.height = view->camera_to_field.pos.z;
    g.camera_to_robot = believed_camera(eyes, params, view);
    eyes->last = view->time;
    eyes->keep = g.keep;
    eyes->camera_to_robot = g.camera_to_robot;

    struct vec3 ball = view->ball;
    look_for(&g, BALL, NM_PERCEPT_BALL, ball, ball, view->pitch->ball_radius, 0, 0);
    look_for_field(&g, FIELD);
    look_for_robots(&g, ROBOTS);
    look_at_nothing(&g, GHOSTS, dt);
    return g.n;
}

#include "body/camera_fit.h"

#include <stdlib.h>
#include <string.h>

#include "base/levenberg.h"
#include "base/order.h"
#include "body/kinematics.h"
#include "body/state.h"

/* ---- how a camera is mounted ---- */

struct seat { /* a camera on its body with joints that stay */
    struct pose3 camera_to_world;
    struct vec3 pivot;          /* of the neck                                             */
    struct quat from_trunk;     /* turns the trunk's axes at zero into those below the neck */
    struct quat camera_at_zero; /* to the base                                             */
    bool on_neck;
};

static bool carried_by(const struct nm_body *body, uint32_t link, uint32_t joint)
{
    while (link > 0 && link != joint + 1) link = body->joints[link - 1].parent;
    return link > 0;
}

static struct seat seat_of(const struct nm_body *body, uint32_t camera, const struct nm_kin *kin)
{
    const double zeros[NM_JOINTS] = {0};
    struct nm_kin zero;
    uint32_t frame = body->cameras[camera].frame;
    nm_forward(body, POSE_IDENTITY, zeros, &zero);
    struct seat s = {.camera_to_world = kin->pose[frame],
                     .from_trunk = QUAT_IDENTITY,
                     .camera_at_zero = zero.pose[frame].rot,
                     .on_neck = body->head.n && carried_by(body, body->frames[frame].link, body->head.joints[0])};
    if (!s.on_neck) return s;
    uint32_t first = body->head.joints[0], below = body->joints[first].parent;
    s.pivot = kin->pose[first + 1].pos;
    s.from_trunk = quat_mul(kin->pose[below].rot, quat_inv(zero.pose[below].rot));
    return s;
}

static struct quat rpy(const double a[3]) { return quat_rpy(a[0], a[1], a[2]); }

static struct pose3 mounted(const struct seat *s, const struct nm_mount *m)
{
    struct pose3 at = s->camera_to_world;
    if (s->on_neck) {
        struct quat neck = quat_seen_from(s->from_trunk, rpy(m->neck));
        at.rot = quat_mul(neck, at.rot);
        at.pos = vec3_add(s->pivot, quat_apply(neck, vec3_sub(at.pos, s->pivot)));
    }
    at.rot = quat_mul(at.rot, quat_seen_from(quat_inv(s->camera_at_zero), rpy(m->turn)));
    return at;
}

struct pose3 nm_camera_mounted(const struct nm_body *body, uint32_t camera, const struct nm_mount *mount,
                               const struct nm_kin *kin)
{
    struct seat s = seat_of(body, camera, kin);
    return mounted(&s, mount);
}

/* ---- what is searched ---- */

enum { NECK, TURN = NECK + 3, STAND = TURN + 3, LENS = STAND + 3, ALL = LENS + 6 };

static const double LOOSE = 0.1;                  /* rad: necks are not bent by much more */
static const double FIRM = 0.02;                  /* rad: cameras are not turned in their heads by much more */
static const double LENS_ERROR = 0.1;             /* of focal lengths, coefficients, and the centre / 100 px */
static const double MOST_TILT = 0.5 * M_PI / 180; /* rad, 1 sigma of a result that is good for something   */
static const double MOST_FOCUS = 0.03;            /* the same of the focal length                           */
static const double NEAR = 4;                     /* px: sights that far off do not agree                   */
static const double LEAST_FITTING = 0.6;

struct nearest { /* place of the field's markings, and the direction of a line there */
    bool any;
    struct vec3 at;
    double along_x, along_y;
};

struct search {
    struct nm_camera_fit *fit;
    uint32_t n_lines;
    struct nm_line lines[NM_PITCH_LINES];
    uint32_t n_landmarks;
    struct nm_landmark landmarks[NM_PITCH_LANDMARKS];
    struct seat *seats;      /* of each view        */
    struct pose3 *cameras;   /* of each view: to the field, scratch */
    struct nearest *nearest; /* of each sight       */
    double *weights;         /* of each sight: square root */
    double *off;             /* px, scratch         */
    uint32_t every;          /* only every such sight counts */
    uint32_t n, which[ALL];  /* what is searched    */
    double at[ALL];          /* all of them         */
    struct pose2 stand;      /* first guess         */
    struct nm_camera lens;
};

static void unpack(const struct search *s, const double at[ALL], struct nm_mount *mount, struct nm_camera *lens,
                   struct pose2 *stand)
{
    memcpy(mount->neck, at + NECK, sizeof mount->neck);
    memcpy(mount->turn, at + TURN, sizeof mount->turn);
    *stand = (struct pose2){s->stand.x + at[STAND], s->stand.y + at[STAND + 1], s->stand.theta + at[STAND + 2]};
    *lens = s->lens;
    if (!s->fit->with_lens) return;
    const double *l = at + LENS;
    lens->fx *= exp(l[0]), lens->fy *= exp(l[1]);
    lens->cx += 100 * l[2], lens->cy += 100 * l[3];
    if (lens->lens == NM_PINHOLE) return;
    lens->k[0] += l[4], lens->k[1] += l[5];
    nm_camera_ready(lens);
}

static double doubt(const struct search *s, uint32_t i)
{
    if (i < STAND) return i < TURN ? LOOSE : FIRM;
    return i < STAND + 2 ? s->fit->stand_error[0] : i < LENS ? s->fit->stand_error[1] : LENS_ERROR;
}

static void place_cameras(const struct search *s, const double at[ALL], struct nm_camera *lens)
{
    struct nm_mount mount;
    struct pose2 stand;
    unpack(s, at, &mount, lens, &stand);
    struct pose3 robot = nm_ground_pose(stand);
    for (uint32_t i = 0; i < s->fit->n_views; i++) s->cameras[i] = pose_mul(robot, mounted(&s->seats[i], &mount));
}

/* px, in two directions; of a line across it and 0. */
static void miss(const struct search *s, const struct nm_camera *lens, uint32_t i, double *du, double *dv)
{
    const double far = 100;
    const struct nm_camera_sight *g = &s->fit->sights[i];
    const struct nearest *near = &s->nearest[i];
    struct pose3 camera = s->cameras[g->view];
    struct pixel p, q;
    *du = far, *dv = 0;
    if (!near->any || !nm_camera_from_world(lens, camera, near->at, &p)) return;
    *du = g->at.u - p.u, *dv = g->at.v - p.v;
    if (g->kind != NM_SIGHT_LINE) return;
    struct vec3 beside = {near->at.x + 0.02 * near->along_x, near->at.y + 0.02 * near->along_y, 0};
    if (!nm_camera_from_world(lens, camera, beside, &q) || !(hypot(q.u - p.u, q.v - p.v) > 1e-9)) return;
    double x = q.u - p.u, y = q.v - p.v;
    *du = (*du * y - *dv * x) / hypot(x, y);
    *dv = 0;
}

static void residuals(void *user, const double *x, double *r)
{
    struct search *s = user;
    struct nm_camera lens;
    double at[ALL];
    uint32_t rows = 0;
    memcpy(at, s->at, sizeof at);
    for (uint32_t i = 0; i < s->n; i++) at[s->which[i]] = x[i], r[rows++] = x[i] / doubt(s, s->which[i]);
    place_cameras(s, at, &lens);
    for (uint32_t i = 0; i < s->fit->n_sights; i += s->every, rows += 2) {
        miss(s, &lens, i, &r[rows], &r[rows + 1]);
        r[rows] *= s->weights[i], r[rows + 1] *= s->weights[i];
    }
}

/* ---- markings ---- */

static void take_nearer(struct nearest *near, double *best, double x, double y, struct vec3 at, double ax, double ay)
{
    double off = hypot(at.x - x, at.y - y);
    if (near->any && off >= *best) return;
    *near = (struct nearest){true, at, ax, ay};
    *best = off;
}

static struct nearest nearest_line(const struct search *s, double x, double y)
{
    struct nearest near = {0};
    double best = INFINITY, r = s->fit->field.circle_radius, away = hypot(x, y);
    for (uint32_t i = 0; i < s->n_lines; i++) {
        const struct nm_line *l = &s->lines[i];
        double dx = l->x1 - l->x0, dy = l->y1 - l->y0, length = hypot(dx, dy);
        if (!(length > 0)) continue;
        double t = ((x - l->x0) * dx + (y - l->y0) * dy) / (length * length);
        t = fmin(fmax(t, 0), 1);
        take_nearer(&near, &best, x, y, (struct vec3){l->x0 + t * dx, l->y0 + t * dy, 0}, dx / length, dy / length);
    }
    if (r > 0 && away > 0)
        take_nearer(&near, &best, x, y, (struct vec3){x / away * r, y / away * r, 0}, -y / away, x / away);
    return near;
}

static struct nearest nearest_landmark(const struct search *s, double x, double y)
{
    struct nearest near = {0};
    double best = INFINITY;
    for (uint32_t i = 0; i < s->n_landmarks; i++)
        take_nearer(&near, &best, x, y, (struct vec3){s->landmarks[i].x, s->landmarks[i].y, 0}, 0, 0);
    return near;
}

static void find_markings(struct search *s)
{
    struct nm_camera lens;
    place_cameras(s, s->at, &lens);
    for (uint32_t i = 0; i < s->fit->n_sights; i += s->every) {
        const struct nm_camera_sight *g = &s->fit->sights[i];
        struct vec3 at;
        s->nearest[i] = (struct nearest){.any = g->kind == NM_SIGHT_PLACE, .at = g->place};
        if (g->kind == NM_SIGHT_PLACE || !nm_camera_to_ground(&lens, s->cameras[g->view], g->at, 0, &at)) continue;
        s->nearest[i] = g->kind == NM_SIGHT_LINE ? nearest_line(s, at.x, at.y) : nearest_landmark(s, at.x, at.y);
    }
}

/* ---- the search ---- */

/* px: how far the sights are off, sorted; how many there are. */
static uint32_t measure(struct search *s)
{
    struct nm_camera lens;
    uint32_t n = 0;
    find_markings(s);
    place_cameras(s, s->at, &lens);
    for (uint32_t i = 0; i < s->fit->n_sights; i += s->every) {
        double du, dv;
        miss(s, &lens, i, &du, &dv);
        s->off[n++] = hypot(du, dv);
    }
    qsort(s->off, n, sizeof *s->off, nm_by_size);
    return n;
}

/* Weights of Geman and McClure: what is farther off than `width` loses its say. */
static void weigh(struct search *s, double width)
{
    struct nm_camera lens;
    place_cameras(s, s->at, &lens);
    for (uint32_t i = 0; i < s->fit->n_sights; i += s->every) {
        double du, dv;
        miss(s, &lens, i, &du, &dv);
        s->weights[i] = 1 / (1 + (du * du + dv * dv) / (width * width));
    }
}

/* Rounds of weighing and fitting, from wide to narrow. */
static void descend(struct search *s, uint32_t rounds, uint32_t steps, double *information)
{
    double x[ALL], width = 60;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t n = measure(s);
        width = fmax(width / 2, fmax(0.5, 4.5 * s->off[n / 2])); /* 3 sigma, from the median */
        weigh(s, width);
        struct nm_least_squares problem = {s->n, s->n + 2 * n, residuals, s, steps};
        for (uint32_t i = 0; i < s->n; i++) x[i] = s->at[s->which[i]];
        nm_levenberg(&problem, x, information);
        for (uint32_t i = 0; i < s->n; i++) s->at[s->which[i]] = x[i];
    }
}

/* Sum of squares in which nothing counts as farther off than 8 px: of two results the lower is the better one. */
static double penalty(struct search *s)
{
    uint32_t n = measure(s);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += fmin(s->off[i] * s->off[i], 64);
    return sum / n;
}

static void choose(struct search *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) s->which[s->n++] = i;
}

/* Lines look alike, so the search begins at several tilts with some of the sights and goes on with the best. */
static void begin(struct search *s)
{
    const double stride = 3 * M_PI / 180;
    struct nm_camera_fit *fit = s->fit;
    double best[ALL], least = INFINITY, first[ALL];
    uint32_t tilt = fit->neck_known || !s->seats[0].on_neck ? TURN : NECK;
    memcpy(first, s->at, sizeof first);
    s->every = fit->n_sights / 300 + 1;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++) {
            memcpy(s->at, first, sizeof first);
            s->at[tilt] += a * stride;
            s->at[tilt + 1] += b * stride;
            descend(s, 6, 3, NULL);
            double cost = penalty(s);
            if (cost >= least) continue;
            least = cost;
            memcpy(best, s->at, sizeof best);
        }
    memcpy(s->at, best, sizeof best);
    s->every = 1;
}

/* ---- how sure it is ---- */

/* rad: largest deviation of roll and pitch among the views, from the covariance of what was searched. */
static double tilt_deviation(const struct search *s, const double *covariance)
{
    const double h = 1e-5;
    double most = 0;
    for (uint32_t v = 0; v < s->fit->n_views; v++) {
        double slope[2][ALL] = {{0}};
        for (uint32_t i = 0; i < s->n; i++) {
            struct quat sides[2];
            if (s->which[i] >= STAND) continue;
            for (int k = 0; k < 2; k++) {
                double at[ALL];
                struct nm_mount m;
                memcpy(at, s->at, sizeof at);
                at[s->which[i]] += k ? h : -h;
                memcpy(m.neck, at + NECK, sizeof m.neck);
                memcpy(m.turn, at + TURN, sizeof m.turn);
                sides[k] = mounted(&s->seats[v], &m).rot;
            }
            struct vec3 turn = quat_log(quat_mul(sides[1], quat_inv(sides[0])));
            slope[0][i] = turn.x / (2 * h), slope[1][i] = turn.y / (2 * h);
        }
        for (int k = 0; k < 2; k++) {
            double sum = 0;
            for (uint32_t i = 0; i < s->n; i++)
                for (uint32_t j = 0; j < s->n; j++) sum += slope[k][i] * covariance[i * s->n + j] * slope[k][j];
            most = fmax(most, sqrt(sum));
        }
    }
    return most;
}

static int check_result(struct search *s, double *information, struct nm_err *err)
{
    struct nm_camera_fit *fit = s->fit;
    uint32_t n = measure(s), near = 0;
    fit->after = s->off[n / 2];
    while (near < n && s->off[near] < NEAR) near++;
    fit->fitting = (double)near / n;
    if (fit->fitting < LEAST_FITTING)
        return nm_fail(
            err,
            "only %.0f %% of what was seen fits the field (half of it is off by more than %.1f pixels): does "
            "the robot stand still where you said, and is it the right field?",
            100 * fit->fitting, fit->after);
    if (nm_invert(information, s->n)) return nm_fail(err, "what was seen does not tell the pose of the camera");
    double variance = fmax(1, 2.2 * fit->after * fit->after); /* px2, from the median */
    for (uint32_t i = 0; i < s->n * s->n; i++) information[i] *= variance;
    fit->tilt_deviation = tilt_deviation(s, information);
    if (!(fit->tilt_deviation < MOST_TILT))
        return nm_fail(err,
                       "what was seen does not tell how the camera is tilted (1 sigma is %.1f degrees): look at more "
                       "places, farther apart, from several poses of the head",
                       fit->tilt_deviation * 180 / M_PI);
    for (uint32_t i = 0; i < s->n; i++)
        if ((s->which[i] == LENS || s->which[i] == LENS + 1) && !(sqrt(information[i * s->n + i]) < MOST_FOCUS))
            return nm_fail(err,
                           "what was seen does not tell the focal length (1 sigma is %.0f %%): fill the whole image "
                           "with places whose distances are known",
                           100 * sqrt(information[i * s->n + i]));
    return 0;
}

static int check_input(const struct nm_camera_fit *fit, struct nm_err *err)
{
    uint32_t lines = 0, least_points = fit->with_lens ? 12 : 6, least_lines = 60;
    if (fit->n_views > NM_FIT_VIEWS || fit->n_sights > NM_FIT_SIGHTS) return nm_fail(err, "too many sights");
    for (uint32_t i = 0; i < fit->n_sights; i++) {
        const struct nm_camera_sight *g = &fit->sights[i];
        if (g->view >= fit->n_views || !isfinite(g->at.u + g->at.v + g->place.x + g->place.y + g->place.z))
            return nm_fail(err, "sight %u is not a number, or of no image", i + 1);
        lines += g->kind == NM_SIGHT_LINE;
    }
    uint32_t points = fit->n_sights - lines;
    if (points < least_points && lines < least_lines)
        return nm_fail(err,
                       "%u known points and %u points of lines are not enough: %u known points or %u points of "
                       "lines are needed",
                       points, lines, least_points, least_lines);
    return 0;
}

static int run(struct search *s, struct nm_err *err)
{
    struct nm_camera_fit *fit = s->fit;
    double information[ALL * ALL];
    choose(s, STAND, LENS);
    descend(s, 8, 10, NULL);
    uint32_t n = measure(s);
    fit->before = s->off[n / 2];
    struct nm_mount mount;
    struct nm_camera lens;
    unpack(s, s->at, &mount, &lens, &fit->first_stand);
    memset(s->at + STAND, 0, 3 * sizeof *s->at);

    s->n = 0;
    /* a twisted neck looks like a robot that faces another way */
    bool heading_known = fit->stand_error[1] < LOOSE / 2;
    if (!fit->neck_known && s->seats[0].on_neck) choose(s, NECK, heading_known ? TURN : TURN - 1);
    choose(s, TURN, LENS);
    begin(s);
    if (fit->with_lens) choose(s, LENS, ALL);
    descend(s, 12, 20, information);
    if (check_result(s, information, err)) return -1;
    unpack(s, s->at, &fit->mount, &fit->lens, &fit->stand);
    return 0;
}

int nm_camera_fit(struct nm_camera_fit *fit, struct nm_err *err)
{
    if (check_input(fit, err)) return -1;
    struct nm_arena arena = {0};
    struct search s = {.fit = fit, .every = 1, .stand = fit->stand, .lens = fit->lens};
    s.n_lines = nm_pitch_lines(&fit->field, s.lines);
    s.n_landmarks = nm_pitch_landmarks(&fit->field, s.landmarks);
    s.seats = nm_take_n(&arena, struct seat, fit->n_views);
    s.cameras = nm_take_n(&arena, struct pose3, fit->n_views);
    s.nearest = nm_take_n(&arena, struct nearest, fit->n_sights);
    s.weights = nm_take_n(&arena, double, fit->n_sights);
    s.off = nm_take_n(&arena, double, fit->n_sights);
    for (uint32_t i = 0; i < fit->n_views; i++) {
        struct nm_kin kin;
        nm_forward(fit->body, fit->views[i].torso_to_robot, fit->views[i].q, &kin);
        s.seats[i] = seat_of(fit->body, fit->camera, &kin);
    }
    memcpy(s.at + NECK, fit->mount.neck, sizeof fit->mount.neck);
    memcpy(s.at + TURN, fit->mount.turn, sizeof fit->mount.turn);
    int bad = run(&s, err);
    nm_arena_free(&arena);
    return bad;
}

bool nm_camera_fit_pixel(const struct nm_camera_fit *fit, const struct nm_mount *mount, const struct nm_camera *lens,
                         struct pose2 stand, uint32_t view, struct vec3 place, struct pixel *at)
{
    const struct nm_camera_view *v = &fit->views[view];
    struct nm_kin kin;
    nm_forward(fit->body, pose_mul(nm_ground_pose(stand), v->torso_to_robot), v->q, &kin);
    return nm_camera_from_world(lens, nm_camera_mounted(fit->body, fit->camera, mount, &kin), place, at);
}

#include "cmd/vision_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/clock.h"
#include "base/memory.h"
#include "body/state.h"
#include "core/files.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/Show.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"
#include "body/stance.h"

const char *const vision_kinds[VISION_KINDS] = {"ball", "post", "crossing", "mark", "circle", "robot", "line"};

/* m, up to which a thing must be found */
static const double RANGES[VISION_KINDS] = {4, 5, 3, 3, 3, 5, 3};

/* ---- a line-up that looks at images ---- */

enum port { IMAGE, BODY, IMU, JOINTS, BALL, WHERE, PERCEPTS, LINES, BORDER, CANDIDATES, SHOWN, SAID, PORTS };
enum { IMAGE_BYTES = VISION_MOST * VISION_MOST * 2 };
static const int64_t PAUSE = 1000000000 / 15; /* ns between two looks */

struct vision_rig {
    const struct nm_body *body;
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_camera_edge *camera; /* NULL: images are given */
    int64_t now;
};

struct vision_rig *vision_rig_new(struct setup *setup, const char *name, const struct nm_body *body,
                                  const char *const *set, uint32_t n_set, const struct nm_video_calls *camera,
                                  struct nm_err *err)
{
    const struct nm_edge_port ports[PORTS] = {
        [IMAGE] = {"camera/image_raw", camera ? NM_PORT_IN : NM_PORT_OUT, &Image_type, 0, IMAGE_BYTES},
        [BODY] = {"body_state", NM_PORT_OUT_QUEUE, &BodyState_type, 8, 0},
        [IMU] = {"imu/data", NM_PORT_OUT, &Imu_type, 0, 0},
        [JOINTS] = {"joint_states", NM_PORT_OUT_QUEUE, &JointState_type, 8, 0},
        [BALL] = {"ball", NM_PORT_OUT | NM_EDGE_OPTIONAL, &BallModel_type, 0, 0},
        [WHERE] = {"pose", NM_PORT_OUT | NM_EDGE_OPTIONAL, &PoseWithCovarianceStamped_type, 0, 0},
        [PERCEPTS] = {"percepts", NM_PORT_IN, &Percepts_type, 0, 0},
        [LINES] = {"line_relative", NM_PORT_IN | NM_EDGE_OPTIONAL, &LineInformationRelative_type, 0, 0},
        [BORDER] = {"field_border", NM_PORT_IN | NM_EDGE_OPTIONAL, &FieldBorder_type, 0, 0},
        [CANDIDATES] = {"ball_candidates", NM_PORT_IN | NM_EDGE_OPTIONAL, &BallsInImage_type, 0, 0},
        [SHOWN] = {"show", NM_PORT_QUEUE, &Show_type, 64, 0},
        [SAID] = {"rosout", NM_PORT_QUEUE, &Log_type, 64, 0},
    };
    struct lineup_flags flags = {0};
    struct nm_lineup_options options = setup_options(setup, &flags);
    options.set = set;
    options.n_set = n_set;
    struct vision_rig *rig = nm_calloc(1, sizeof *rig);
    rig->body = body;
    rig->now = nm_ns(1);
    const char *file =
        nm_file_exists(name) ? name : nm_take_format(&setup->arena, "%s/lineups/%s.yaml", setup->root, name);
    rig->lineup = nm_lineup_load(file, &setup->registry, &options, err);
    const struct nm_player_options player = {.body = body, .seed = 1};
    rig->player = rig->lineup ? nm_player_new(rig->lineup, &player, err) : NULL;
    if (rig->player && camera) rig->camera = nm_camera_edge_new(rig->player, body, 0, "/dev/video0", camera, err);
    if (rig->player && !camera == !rig->camera) rig->edge = nm_edge_new(rig->player, "images", ports, PORTS, err);
    if (rig->edge) return rig;
    vision_rig_free(rig);
    return NULL;
}

void vision_rig_free(struct vision_rig *rig)
{
    if (!rig) return;
    nm_camera_edge_free(rig->camera);
    if (rig->player) nm_player_free(rig->player);
    if (rig->lineup) nm_lineup_free(rig->lineup);
    free(rig);
}

struct nm_player *vision_rig_player(const struct vision_rig *rig) { return rig->player; }

int64_t vision_rig_now(const struct vision_rig *rig) { return rig->now; }

static void put_image(struct vision_rig *rig, const uint8_t *yuyv, uint32_t width, uint32_t height)
{
    Image *image = nm_edge_out(rig->edge, IMAGE);
    uint32_t bytes = 2 * width * height;
    if (bytes > IMAGE_BYTES || !nm_edge_blob(rig->edge, IMAGE, &image->data, bytes)) return;
    image->header.stamp = nm_stamp(rig->now);
    nm_text(image->header.frame_id, "%s", rig->body->frames[rig->body->cameras[0].frame].name);
    image->width = width;
    image->height = height;
    image->step = 2 * width;
    nm_text(image->encoding, "yuv422_yuy2");
    memcpy(image->data.data, yuyv, bytes);
    image->data.n = bytes;
    nm_edge_put(rig->edge, IMAGE);
}

/* What the camera has said. */
static void listen(const struct vision_rig *rig, struct vision_found *found)
{
    const void *const *said;
    uint32_t lost, n = nm_edge_queue(rig->edge, SAID, &said, &lost);
    for (uint32_t i = 0; i < n; i++) {
        const Log *line = said[i];
        if (strcmp(line->name, "camera")) continue;
        found->warned += line->level >= NM_WARN;
        found->relieved += line->level < NM_WARN;
    }
}

/* What the motion cycle told of a body that stood still around the time of the image, with the camera where it is
 * believed. */
static void put_body(struct vision_rig *rig, struct pose3 camera_to_robot, const double *q)
{
    const struct nm_body *body = rig->body;
    const double zeros[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, q ? q : zeros, &kin);
    struct pose3 torso = pose_mul(camera_to_robot, pose_inv(kin.pose[body->cameras[0].frame]));
    Imu *imu = nm_edge_out(rig->edge, IMU);
    imu->orientation = (Quaternion){torso.rot.x, torso.rot.y, torso.rot.z, torso.rot.w};
    nm_edge_put(rig->edge, IMU);
    for (int64_t before = nm_ns(0.03); before >= 0; before -= nm_ns(0.03)) {
        BodyState *state = nm_edge_push(rig->edge, BODY);
        JointState *joints = q ? nm_edge_push(rig->edge, JOINTS) : NULL;
        if (!state) continue;
        state->header.stamp = nm_stamp(rig->now - before);
        state->torso = (Pose){{torso.pos.x, torso.pos.y, torso.pos.z}, imu->orientation};
        state->orientation = imu->orientation;
        if (joints) joints->header.stamp = state->header.stamp;
        for (uint32_t j = 0; joints && j < body->n_joints && j < sizeof joints->name.at / sizeof *joints->name.at;
             j++) {
            nm_text(joints->name.at[j], "%s", body->joints[j].name);
            joints->position.at[j] = q[j];
            joints->name.n = joints->position.n = j + 1;
        }
    }
}

void vision_rig_believe(struct vision_rig *rig, const struct vision_belief *b)
{
    nm_edge_begin(rig->edge, rig->now - nm_ns(0.002));
    BallModel *ball = nm_edge_out(rig->edge, BALL);
    PoseWithCovarianceStamped *where = nm_edge_out(rig->edge, WHERE);
    Header header = {.stamp = nm_stamp(rig->now - nm_ns(0.002))};
    if (ball) {
        ball->header = header;
        ball->valid = true;
        ball->confidence = 1;
        ball->position = (Point){b->x, b->y, 0};
        ball->covariance[0] = ball->covariance[5] = b->deviation * b->deviation;
        nm_edge_put(rig->edge, BALL);
    }
    if (where) {
        struct pose2 p = b->robot_to_field;
        where->header = header;
        where->pose.pose = (Pose){{p.x, p.y, 0}, {0, 0, sin(p.theta / 2), cos(p.theta / 2)}};
        where->pose.covariance[0] = where->pose.covariance[7] = b->place_deviation * b->place_deviation;
        where->pose.covariance[35] = b->turn_deviation * b->turn_deviation;
        nm_edge_put(rig->edge, WHERE);
    }
    nm_edge_end(rig->edge);
}

void vision_rig_look(struct vision_rig *rig, const uint8_t *yuyv, uint32_t width, uint32_t height,
                     const struct pose3 *camera_to_robot, const double *q, struct vision_found *found)
{
    nm_edge_begin(rig->edge, rig->now);
    if (camera_to_robot) put_body(rig, *camera_to_robot, q);
    if (!rig->camera) put_image(rig, yuyv, width, height);
    nm_edge_end(rig->edge);
    if (rig->camera) nm_camera_edge_round(rig->camera, rig->now);
    *found = (struct vision_found){0};
    int64_t begin = nm_thread_time();
    nm_players_run(&rig->player, 1, rig->now + nm_ns(0.05), 1);
    found->busy = nm_thread_time() - begin;
    rig->now += PAUSE;
    nm_edge_begin(rig->edge, rig->now - nm_ns(0.01));
    listen(rig, found);
    if (nm_edge_fresh(rig->edge, PERCEPTS)) found->percepts = nm_edge_in(rig->edge, PERCEPTS);
    if (nm_edge_fresh(rig->edge, LINES)) found->lines = nm_edge_in(rig->edge, LINES);
    if (nm_edge_fresh(rig->edge, BORDER)) found->border = nm_edge_in(rig->edge, BORDER);
    if (nm_edge_fresh(rig->edge, CANDIDATES)) found->candidates = nm_edge_in(rig->edge, CANDIDATES);
    uint32_t lost;
    found->n_shown = nm_edge_queue(rig->edge, SHOWN, &found->shown, &lost);
    nm_edge_end(rig->edge);
}

/* ---- scores ---- */

static int32_t kind_of(uint8_t percept)
{
    static const int8_t kinds[] = {[Percept_BALL] = VISION_BALL + 1,
                                   [Percept_GOAL_POST] = VISION_POST + 1,
                                   [Percept_CROSSING_L] = VISION_CROSSING + 1,
                                   [Percept_CROSSING_T] = VISION_CROSSING + 1,
                                   [Percept_CROSSING_X] = VISION_CROSSING + 1,
                                   [Percept_PENALTY_MARK] = VISION_MARK + 1,
                                   [Percept_CENTER_CIRCLE] = VISION_CIRCLE + 1,
                                   [Percept_ROBOT] = VISION_ROBOT + 1,
                                   [Percept_MATE] = VISION_ROBOT + 1,
                                   [Percept_RIVAL] = VISION_ROBOT + 1};
    return percept < sizeof kinds ? kinds[percept] - 1 : -1;
}

/* A hit lies within 5 cm + 10 % of the distance. */
static double hit_radius(double x, double y) { return 0.05 + 0.1 * hypot(x, y); }

static bool placed_hit(const struct vision_thing *t, const Percept *p)
{
    bool same = t->kind != VISION_CROSSING || t->percept == p->kind;
    return same && p->located && hypot(t->x - p->position.x, t->y - p->position.y) <= hit_radius(t->x, t->y);
}

/* Boxes must overlap; what has none must have its middle in the other box, or its foot just below. */
static bool boxed_hit(const struct vision_thing *t, const Percept *p)
{
    if (t->kind == VISION_CROSSING && t->percept != p->kind) return false;
    if (!p->box.width)
        return fabs((double)p->center.x - t->left - t->wide / 2) < t->wide / 2 + 4 &&
               fabs((double)p->center.y - t->top - t->high / 2) < t->high / 2 + 4;
    double left = fmax(t->left, p->box.x_offset), right = fmin(t->left + t->wide, p->box.x_offset + p->box.width);
    double top = fmax(t->top, p->box.y_offset), bottom = fmin(t->top + t->high, p->box.y_offset + p->box.height);
    double both = fmax(right - left, 0) * fmax(bottom - top, 0);
    return both > 0.3 * (t->wide * t->high + (double)p->box.width * p->box.height - both);
}

static void score_things(const struct vision_truth *truth, const Percepts *percepts, struct vision_score *s)
{
    bool taken[64] = {false};
    for (uint32_t i = 0; i < truth->n; i++) {
        const struct vision_thing *t = &truth->things[i];
        if (t->kind == VISION_LINE) continue;
        int32_t best = -1;
        for (uint32_t k = 0; percepts && k < percepts->percepts.n; k++) {
            const Percept *p = &percepts->percepts.at[k];
            if (taken[k] || kind_of(p->kind) != (int32_t)t->kind) continue;
            if (truth->placed ? !placed_hit(t, p) : !boxed_hit(t, p)) continue;
            if (best < 0 || p->confidence > percepts->percepts.at[best].confidence) best = (int32_t)k;
        }
        double away = hypot(t->x, t->y);
        uint32_t ring = away < VISION_RINGS ? (uint32_t)away : VISION_RINGS - 1;
        if (t->counts) s->there[t->kind]++, s->ring_there[t->kind][ring]++;
        if (best < 0) {
            if (t->counts && s->list)
                fprintf(s->list, "%s: missed %s at %.2f %.2f m\n", s->name, vision_kinds[t->kind], t->x, t->y);
            continue;
        }
        const Percept *p = &percepts->percepts.at[best];
        taken[best] = true;
        if (!t->counts) continue;
        s->found[t->kind]++;
        s->ring_found[t->kind][ring]++;
        if (!truth->placed) continue;
        s->error[t->kind] += hypot(t->x - p->position.x, t->y - p->position.y);
        s->share[t->kind] += fabs(hypot(p->position.x, p->position.y) - away) / fmax(away, 0.1);
    }
    for (uint32_t k = 0; percepts && k < percepts->percepts.n; k++) {
        const Percept *p = &percepts->percepts.at[k];
        int32_t kind = kind_of(p->kind);
        if (kind < 0 || !truth->complete[kind]) continue;
        if (truth->placed && !(p->located && hypot(p->position.x, p->position.y) <= RANGES[kind])) continue;
        s->told[kind]++;
        s->right[kind] += taken[k];
        if (!taken[k] && s->list)
            fprintf(s->list, "%s: false %s at %.2f %.2f m, pixel %.0f %.0f, confidence %.2f\n", s->name,
                    vision_kinds[kind], p->position.x, p->position.y, (double)p->center.x, (double)p->center.y,
                    (double)p->confidence);
    }
}

static double off_line(double x, double y, double x0, double y0, double x1, double y1)
{
    double dx = x1 - x0, dy = y1 - y0, l2 = fmax(dx * dx + dy * dy, 1e-12);
    double t = fmin(fmax(((x - x0) * dx + (y - y0) * dy) / l2, 0), 1);
    return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

/* Lines are scored by their length, every 10 cm. */
static void score_lines(const struct vision_truth *truth, const LineInformationRelative *lines, struct vision_score *s)
{
    for (uint32_t i = 0; i < truth->n; i++) {
        const struct vision_thing *t = &truth->things[i];
        if (t->kind != VISION_LINE || !t->counts) continue;
        uint32_t n = (uint32_t)ceil(hypot(t->x1 - t->x, t->y1 - t->y) / 0.1);
        for (uint32_t k = 0; k < n; k++) {
            double x = t->x + (t->x1 - t->x) * (k + 0.5) / n, y = t->y + (t->y1 - t->y) * (k + 0.5) / n;
            double away = hypot(x, y), best = INFINITY;
            if (away > RANGES[VISION_LINE]) continue;
            for (uint32_t m = 0; lines && m < lines->segments.n; m++) {
                const LineSegmentRelative *g = &lines->segments.at[m];
                best = fmin(best, off_line(x, y, g->start.x, g->start.y, g->end.x, g->end.y));
            }
            s->there[VISION_LINE]++;
            s->ring_there[VISION_LINE][(uint32_t)away]++;
            if (best > hit_radius(x, y)) continue;
            s->found[VISION_LINE]++;
            s->ring_found[VISION_LINE][(uint32_t)away]++;
            s->error[VISION_LINE] += best;
        }
    }
    for (uint32_t m = 0; lines && m < lines->segments.n; m++) {
        const LineSegmentRelative *g = &lines->segments.at[m];
        uint32_t n = (uint32_t)ceil(hypot(g->end.x - g->start.x, g->end.y - g->start.y) / 0.1);
        for (uint32_t k = 0; k < n; k++) {
            double x = g->start.x + (g->end.x - g->start.x) * (k + 0.5) / n,
                   y = g->start.y + (g->end.y - g->start.y) * (k + 0.5) / n, best = INFINITY;
            if (hypot(x, y) > RANGES[VISION_LINE]) continue;
            for (uint32_t i = 0; i < truth->n; i++) {
                const struct vision_thing *t = &truth->things[i];
                if (t->kind == VISION_LINE) best = fmin(best, off_line(x, y, t->x, t->y, t->x1, t->y1));
            }
            s->told[VISION_LINE]++;
            s->right[VISION_LINE] += best <= hit_radius(x, y);
        }
    }
}

static bool on_carpet(const struct vision_truth *t, double u, double v)
{
    struct vec3 at;
    return nm_camera_to_ground(&t->lens, t->camera_to_field, (struct pixel){u, v}, 0, &at) &&
           fabs(at.x) < t->carpet_x && fabs(at.y) < t->carpet_y;
}

/* Mean distance of the border in its columns, where the real one is in the image. */
static void score_border(const struct vision_truth *truth, const FieldBorder *border, struct vision_score *s)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < border->in_image.n; i++) {
        const Point32 *p = &border->in_image.at[i];
        uint32_t v = truth->lens.height - 1;
        if (!border->seen.at[i] || !on_carpet(truth, p->x, v)) continue;
        while (v > 0 && on_carpet(truth, p->x, v - 1)) v--;
        if (!v) continue;
        sum += fabs((double)p->y - v);
        n++;
    }
    if (n < 4) return;
    s->border += sum / n;
    s->borders++;
}

void vision_score(const struct vision_truth *truth, const struct vision_found *found, struct vision_score *s)
{
    s->images++;
    s->seconds += 1e-9 * (double)found->busy;
    s->slowest = fmax(s->slowest, 1e-9 * (double)found->busy);
    score_things(truth, found->percepts, s);
    if (truth->placed) score_lines(truth, found->lines, s);
    if (truth->border_known && found->border) score_border(truth, found->border, s);
}

/* ---- simulated images ---- */

enum { OTHERS = 6 };

struct vision_studio {
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct nm_scene *scene;
    struct nm_lens_map *lens;
    struct nm_eye *eye;
    struct nm_picture_truth *shown;
    double q[NM_JOINTS];
    uint8_t *yuyv;
    bool duel;                 /* vision_studio_duel  */
    struct nm_shutter shutter; /* of the last image */
    uint32_t *light;           /* of it, while another light falls on the field */
};

struct vision_studio *vision_studio_new(struct nm_arena *arena, const char *root, const struct nm_body *body,
                                        struct nm_err *err)
{
    struct vision_studio *s = nm_take(arena, sizeof *s);
    if (nm_pitch_read(&s->pitch, nm_take_format(arena, "%s/fields/kid.yaml", root), err) < 0) return NULL;
    if (!body->n_cameras) {
        nm_fail(err, "robot %s has no camera", body->name);
        return NULL;
    }
    s->body = body;
    s->lens = nm_lens_map_new(arena, &body->cameras[0].lens, err);
    if (!s->lens) return NULL;
    s->scene = nm_take(arena, sizeof *s->scene);
    s->eye = nm_eye_new(arena, s->lens);
    s->shown = nm_take(arena, sizeof *s->shown);
    s->yuyv = nm_take(arena, nm_picture_bytes(&s->lens->camera, NM_YUYV));
    s->light = nm_take_n(arena, uint32_t, s->lens->stride * s->lens->tiles_y * NM_TILE);
    return s;
}

void vision_studio_duel(struct vision_studio *s, bool on) { s->duel = on; }

/* Stands there, a little tilted as in a step, its lower sole on the ground. */
static void stand(const struct nm_body *body, struct pose2 at, struct nm_dice *dice, double q[], struct nm_kin *kin)
{
    struct pose3 base = {quat_rpy(0.03 * nm_dice_gauss(dice), 0.03 * nm_dice_gauss(dice), at.theta), {at.x, at.y, 0}};
    nm_forward(body, base, q, kin);
    base.pos.z = -fmin(kin->pose[body->foot[0].sole].pos.z, kin->pose[body->foot[1].sole].pos.z);
    nm_forward(body, base, q, kin);
}

static void pose_robot(const struct nm_body *body, struct nm_dice *dice, double q[])
{
    nm_stance(body, 0.04 + 0.08 * nm_dice_roll(dice), q);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->arm[side].n; i++) q[body->arm[side].joints[i]] += 0.3 * nm_dice_both(dice);
}

static void place_scene(struct vision_studio *s, struct nm_dice *dice, uint64_t number, struct nm_kin *own)
{
    static const char *const shirts[2][3] = {{"red", "orange", "purple"}, {"blue", "blue", "blue"}};
    const struct nm_body *body = s->body;
    double x = s->pitch.length / 2, y = s->pitch.width / 2;
    struct pose2 me = {x * nm_dice_both(dice), y * nm_dice_both(dice), M_PI * nm_dice_both(dice)};
    if (nm_dice_roll(dice) < 0.7) me.theta = atan2(-me.y, -me.x) + 1.2 * nm_dice_both(dice); /* mostly to the field */
    nm_scene_new(s->scene, &s->pitch, (uint32_t)nm_spread(number + 77));
    pose_robot(body, dice, s->q);
    double pan = 0.7 * nm_dice_both(dice), tilt = -0.05 + 0.85 * nm_dice_roll(dice);
    if (body->head.n > 0) s->q[body->head.joints[0]] = pan;
    if (body->head.n > 1) s->q[body->head.joints[1]] = tilt;
    stand(body, me, dice, s->q, own);
    nm_scene_robot(s->scene, 0, body, own, &(struct nm_shirt){{0.8f, 0.1f, 0.1f}, 1});
    /* the ball: mostly where the robot looks */
    double away = 0.25 + 4.3 * nm_dice_roll(dice), bearing = me.theta + pan + 0.5 * nm_dice_both(dice);
    struct vec3 ball = {me.x + away * cos(bearing), me.y + away * sin(bearing), s->pitch.ball_radius};
    if (nm_dice_roll(dice) < 0.2) ball = (struct vec3){x * nm_dice_both(dice), y * nm_dice_both(dice), ball.z};
    ball.x = nm_clamp(ball.x, -x - 0.3, x + 0.3), ball.y = nm_clamp(ball.y, -y - 0.3, y + 0.3);
    struct quat turn = quat_rpy(3 * nm_dice_both(dice), 3 * nm_dice_both(dice), 3 * nm_dice_both(dice));
    nm_scene_ball(s->scene, (struct pose3){turn, ball});
    uint32_t others = s->duel ? 1 : (uint32_t)(nm_dice_roll(dice) * (OTHERS + 1));
    for (uint32_t i = 1; i <= others; i++) {
        double q[NM_JOINTS];
        struct nm_kin kin;
        struct nm_shirt shirt = {.number = 1 + i % 5};
        struct pose2 at = {x * nm_dice_both(dice), y * nm_dice_both(dice), M_PI * nm_dice_both(dice)};
        if (i == 1) { /* one before the robot, one beside the ball */
            double d = (s->duel ? 0.3 : 0.8) + (s->duel ? 0.7 : 3.5) * nm_dice_roll(dice),
                   b = me.theta + pan + 0.4 * nm_dice_both(dice);
            at.x = me.x + d * cos(b), at.y = me.y + d * sin(b);
        }
        if (i == 2) at.x = ball.x + 0.5 * nm_dice_both(dice), at.y = ball.y + 0.5 * nm_dice_both(dice);
        at.x = nm_clamp(at.x, -x - 0.5, x + 0.5), at.y = nm_clamp(at.y, -y - 0.5, y + 0.5);
        pose_robot(body, dice, q);
        nm_shirt_colour(shirts[i & 1][(uint32_t)(3 * nm_dice_roll(dice))], shirt.colour);
        bool close =
            hypot(at.x - me.x, at.y - me.y) < (s->duel ? 0.28 : 0.5) || hypot(at.x - ball.x, at.y - ball.y) < 0.25;
        if (close) continue;
        stand(body, at, dice, q, &kin);
        nm_scene_robot(s->scene, i, body, &kin, &shirt);
    }
}

static struct vision_thing *add_thing(struct vision_truth *t, enum vision_kind kind, struct vec3 at)
{
    if (t->n == VISION_THINGS) return &t->things[VISION_THINGS - 1];
    t->things[t->n] = (struct vision_thing){.kind = kind, .x = at.x, .y = at.y};
    return &t->things[t->n++];
}

static void box_seen(struct vision_thing *t, const struct nm_seen *s)
{
    if (!s->pixels) return;
    t->left = s->x0, t->top = s->y0, t->wide = s->x1 - s->x0, t->high = s->y1 - s->y0;
    t->box_known = true;
}

/* The box of what would be a hit. */
static void box_hits(const struct nm_camera *c, struct pose3 camera_to_robot, struct vision_thing *t)
{
    double r = hit_radius(t->x, t->y), low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < 16; i++) {
        struct pixel p;
        struct vec3 rim = {t->x + r * cos(i * M_PI / 8), t->y + r * sin(i * M_PI / 8), 0};
        if (!nm_camera_from_world(c, camera_to_robot, rim, &p)) return;
        low[0] = fmin(low[0], p.u), high[0] = fmax(high[0], p.u);
        low[1] = fmin(low[1], p.v), high[1] = fmax(high[1], p.v);
    }
    t->left = low[0], t->top = low[1], t->wide = high[0] - low[0], t->high = high[1] - low[1];
    t->box_known = high[0] > 0 && high[1] > 0 && low[0] < c->width && low[1] < c->height;
}

static bool inside(const struct nm_camera *c, struct pixel p, double margin)
{
    return p.u >= margin && p.v >= margin && p.u < c->width - margin && p.v < c->height - margin;
}

static void tell_truth(struct vision_studio *s, struct pose3 field_to_robot, struct vision_truth *t)
{
    static const uint8_t crossings[] = {[NM_CROSSING_L] = Percept_CROSSING_L,
                                        [NM_CROSSING_T] = Percept_CROSSING_T,
                                        [NM_CROSSING_X] = Percept_CROSSING_X};
    const struct nm_camera *c = &s->lens->camera;
    const struct nm_pitch *pitch = &s->pitch;
    const struct nm_picture_truth *shown = s->shown;
    struct pose3 camera_to_robot = pose_mul(field_to_robot, s->eye->to_field);
    *t = (struct vision_truth){.placed = true,
                               .border_known = true,
                               .lens = *c,
                               .camera_to_field = s->eye->to_field,
                               .carpet_x = s->scene->carpet_x,
                               .carpet_y = s->scene->carpet_y};
    for (int k = 0; k < VISION_KINDS; k++) t->complete[k] = true;
    /* what is seen well comes first, so that it gets the percepts */
    struct vision_thing *thing = add_thing(t, VISION_BALL, pose_apply(field_to_robot, s->scene->ball.pos));
    double whole = M_PI * shown->ball_radius * shown->ball_radius;
    thing->counts = whole > 0 && shown->ball.pixels > 0.5 * whole;
    box_seen(thing, &shown->ball);
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++) {
        thing = add_thing(t, VISION_POST, pose_apply(field_to_robot, pitch->posts[i]));
        struct pixel foot = shown->posts[i].centre;
        box_seen(thing, &shown->posts[i]);
        bool in = shown->posts[i].centre_known && inside(c, foot, 10);
        /* the foot itself is not hidden */
        uint32_t row = in ? (uint32_t)foot.v - 3 : 0, column = in ? (uint32_t)foot.u : 0;
        thing->counts = in && s->eye->things[row * s->lens->stride + column] == NM_THING_POST + i;
    }
    for (uint32_t i = 0; i < shown->n_points; i++) {
        const struct nm_seen_point *p = &shown->points[i];
        const struct nm_spot *spot = &pitch->spots[p->number % NM_PITCH_SPOTS];
        const struct nm_crossing *cross = &pitch->crossings[p->number % NM_PITCH_CROSSINGS];
        bool centre = p->spot && spot->x == 0 && spot->y == 0;
        struct vec3 at = p->spot ? (struct vec3){spot->x, spot->y, 0} : (struct vec3){cross->x, cross->y, 0};
        enum vision_kind kind = centre ? VISION_CIRCLE : p->spot ? VISION_MARK : VISION_CROSSING;
        thing = add_thing(t, kind, pose_apply(field_to_robot, at));
        thing->percept = p->spot ? 0 : crossings[cross->kind];
        thing->counts = true;
        for (int k = 0; k < 4; k++) { /* what is around it is in the image: without that nobody can tell what it is */
            struct vec3 beside = {at.x + (k == 0   ? 0.25
                                          : k == 1 ? -0.25
                                                   : 0),
                                  at.y + (k == 2   ? 0.25
                                          : k == 3 ? -0.25
                                                   : 0),
                                  0};
            struct pixel pixel;
            thing->counts &= nm_camera_from_world(c, s->eye->to_field, beside, &pixel) && inside(c, pixel, 4);
        }
    }
    for (uint32_t i = 1; i <= OTHERS; i++) {
        const struct nm_seen *r = &shown->robots[i];
        if (!(s->scene->robots >> i & 1)) continue;
        thing = add_thing(t, VISION_ROBOT, pose_apply(field_to_robot, s->scene->robot[i].pos));
        box_seen(thing, r);
        double away = hypot(thing->x, thing->y), high = s->body->height * c->fy / fmax(away, 0.3);
        thing->counts = r->pixels > 0.1 * high * high && r->y1 < (int32_t)c->height - 6 && r->y1 - r->y0 > 0.5 * high &&
                        r->x0 > 3 && r->x1 < (int32_t)c->width - 3;
    }
    /* what is there and not seen well is no false detection */
    for (uint32_t i = 0; i < pitch->n_crossings; i++) {
        thing = add_thing(t, VISION_CROSSING,
                          pose_apply(field_to_robot, (struct vec3){pitch->crossings[i].x, pitch->crossings[i].y, 0}));
        thing->percept = crossings[pitch->crossings[i].kind];
    }
    for (uint32_t i = 0; i < pitch->n_spots; i++) {
        bool centre = pitch->spots[i].x == 0 && pitch->spots[i].y == 0;
        add_thing(t, centre ? VISION_CIRCLE : VISION_MARK,
                  pose_apply(field_to_robot, (struct vec3){pitch->spots[i].x, pitch->spots[i].y, 0}));
    }
    for (uint32_t i = 0; i < t->n; i++) {
        enum vision_kind kind = t->things[i].kind;
        t->things[i].counts &= hypot(t->things[i].x, t->things[i].y) <= RANGES[kind];
        if (kind == VISION_CROSSING || kind == VISION_MARK) box_hits(c, camera_to_robot, &t->things[i]);
    }
    for (uint32_t i = 0; i < shown->n_lines; i++) {
        struct vec3 a, b;
        if (shown->lines[i].arc || !nm_camera_to_ground(c, s->eye->to_field, shown->lines[i].from, 0, &a) ||
            !nm_camera_to_ground(c, s->eye->to_field, shown->lines[i].to, 0, &b))
            continue;
        a = pose_apply(field_to_robot, a);
        b = pose_apply(field_to_robot, b);
        thing = add_thing(t, VISION_LINE, a);
        thing->x1 = b.x;
        thing->y1 = b.y;
        thing->counts = true;
    }
    for (uint32_t i = 0; i < pitch->n_lines; i++) { /* hidden pieces are no false lines */
        const struct nm_line *l = &pitch->lines[i];
        struct vec3 b = pose_apply(field_to_robot, (struct vec3){l->x1, l->y1, 0});
        thing = add_thing(t, VISION_LINE, pose_apply(field_to_robot, (struct vec3){l->x0, l->y0, 0}));
        thing->x1 = b.x;
        thing->y1 = b.y;
    }
}

void vision_studio_shoot(struct vision_studio *s, uint64_t number, struct vision_shot *shot)
{
    struct nm_dice dice = nm_dice_new(number, 0x766973, 0);
    struct nm_kin kin;
    place_scene(s, &dice, number, &kin);
    struct pose3 robot_to_field = nm_ground_pose(nm_robot_to_odom(s->body, &kin));
    struct pose3 camera = kin.pose[s->body->cameras[0].frame];
    nm_cast(s->eye, s->scene, camera);
    struct nm_shutter shutter = NM_SHUTTER_USUAL;
    shutter.exposure = (float)(0.6 + 0.7 * nm_dice_roll(&dice));
    for (int k = 0; k < 3; k++) shutter.white[k] = (float)(1 + 0.15 * nm_dice_both(&dice));
    s->shutter = shutter;
    nm_develop(s->eye, &shutter, number, NM_YUYV, s->yuyv);
    nm_picture_truth(s->eye, s->scene, s->shown);
    tell_truth(s, pose_inv(robot_to_field), &shot->truth);
    struct pose3 believed = pose_mul(pose_inv(robot_to_field), camera);
    believed.rot = quat_mul(quat_rpy(0.006 * nm_dice_gauss(&dice), 0.006 * nm_dice_gauss(&dice), 0), believed.rot);
    shot->camera_to_robot = believed;
    shot->robot_to_field = nm_robot_to_odom(s->body, &kin);
    shot->width = s->lens->camera.width;
    shot->height = s->lens->camera.height;
    shot->yuyv = s->yuyv;
    shot->q = s->q;
}

/* Where the camera sees the ground within a spot of 1.2 m, everything is two and a half times as bright. */
static void let_sun_in(struct vision_studio *s, double left)
{
    enum { BLOCK = 4 };
    const struct nm_camera *c = &s->lens->camera;
    struct vec3 ahead = quat_apply(s->eye->to_field.rot, (struct vec3){0, 0, 1}), eye = s->eye->to_field.pos, at;
    double turn = atan2(ahead.y, ahead.x), x = eye.x + 1.5 * cos(turn) - left * sin(turn),
           y = eye.y + 1.5 * sin(turn) + left * cos(turn);
    for (uint32_t v = 0; v < c->height; v += BLOCK)
        for (uint32_t u = 0; u < c->width; u += BLOCK) {
            if (!nm_camera_to_ground(c, s->eye->to_field, (struct pixel){u, v}, 0, &at)) continue;
            if (hypot(at.x - x, at.y - y) > 0.6) continue;
            for (uint32_t k = 0; k < BLOCK * BLOCK; k++) {
                uint32_t *l = &s->eye->light[(v + k / BLOCK) * s->lens->stride + u + k % BLOCK], sum = 0;
                for (int shift = 0; shift < 30; shift += 10) {
                    uint32_t bright = (*l >> shift & 1023) * 5 / 2;
                    sum |= (bright < 1023 ? bright : 1023) << shift;
                }
                *l = sum;
            }
        }
}

const uint8_t *vision_studio_expose(struct vision_studio *s, const struct vision_light *light, uint64_t noise)
{
    size_t bytes = sizeof *s->light * s->lens->stride * s->lens->tiles_y * NM_TILE;
    struct nm_shutter shutter = s->shutter;
    shutter.exposure *= light->level;
    for (int k = 0; k < 3; k++) shutter.white[k] *= light->cast[k];
    memcpy(s->light, s->eye->light, bytes);
    if (!isnan(light->sun)) let_sun_in(s, light->sun);
    nm_develop(s->eye, &shutter, nm_spread(noise), NM_YUYV, s->yuyv);
    memcpy(s->eye->light, s->light, bytes);
    return s->yuyv;
}

/* ---- pictures ---- */

static void dot(uint8_t *rgb, uint32_t w, uint32_t h, double u, double v, uint32_t colour)
{
    if (!(u >= 0 && v >= 0 && u < w && v < h)) return;
    uint8_t *p = rgb + 3 * ((size_t)v * w + (size_t)u);
    p[0] = (uint8_t)(colour >> 16), p[1] = (uint8_t)(colour >> 8), p[2] = (uint8_t)colour;
}

static void stroke(uint8_t *rgb, uint32_t w, uint32_t h, double u0, double v0, double u1, double v1, uint32_t colour)
{
    double n = fmin(fmax(fmax(fabs(u1 - u0), fabs(v1 - v0)), 1), 8192);
    for (double i = 0; i <= n; i++)
        for (int k = 0; k < 2; k++) dot(rgb, w, h, u0 + (u1 - u0) * i / n + k, v0 + (v1 - v0) * i / n, colour);
}

static void ring(uint8_t *rgb, uint32_t w, uint32_t h, double u, double v, double r, uint32_t colour)
{
    for (int i = 0; i < 64; i++)
        stroke(rgb, w, h, u + r * cos(i * M_PI / 32), v + r * sin(i * M_PI / 32), u + r * cos((i + 1) * M_PI / 32),
               v + r * sin((i + 1) * M_PI / 32), colour);
}

void vision_draw(const uint8_t *yuyv, uint32_t width, uint32_t height, const struct nm_camera *lens,
                 const struct pose3 *camera_to_robot, const struct vision_found *found, uint8_t *rgb)
{
    static const uint32_t colours[VISION_KINDS] = {0xff3030, 0xffff00, 0x40a0ff, 0xff40ff,
                                                   0x40ffff, 0xff9000, 0xffff80};
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const uint8_t *p = yuyv + 4 * (i / 2);
        double y = p[2 * (i & 1)], u = p[1] - 128.0, v = p[3] - 128.0;
        const double c[3] = {y + 1.402 * v, y - 0.344 * u - 0.714 * v, y + 1.772 * u};
        for (int k = 0; k < 3; k++) rgb[3 * i + (size_t)k] = (uint8_t)fmin(fmax(c[k], 0), 255);
    }
    for (uint32_t i = 1; found->border && i < found->border->in_image.n; i++) {
        const Point32 *a = &found->border->in_image.at[i - 1], *b = a + 1;
        if (found->border->seen.at[i - 1] && found->border->seen.at[i])
            stroke(rgb, width, height, a->x, a->y, b->x, b->y, 0xffffff);
    }
    for (uint32_t i = 0; found->lines && camera_to_robot && i < found->lines->segments.n; i++) {
        const LineSegmentRelative *g = &found->lines->segments.at[i];
        struct pixel a, b;
        if (nm_camera_from_world(lens, *camera_to_robot, (struct vec3){g->start.x, g->start.y, 0}, &a) &&
            nm_camera_from_world(lens, *camera_to_robot, (struct vec3){g->end.x, g->end.y, 0}, &b))
            stroke(rgb, width, height, a.u, a.v, b.u, b.v, 0x4040ff);
    }
    for (uint32_t i = 0; found->candidates && i < found->candidates->candidates.n; i++) {
        const BallInImage *b = &found->candidates->candidates.at[i];
        ring(rgb, width, height, b->center.x, b->center.y, b->diameter / 2, 0x804040);
    }
    for (uint32_t i = 0; found->percepts && i < found->percepts->percepts.n; i++) {
        const Percept *p = &found->percepts->percepts.at[i];
        int32_t kind = kind_of(p->kind);
        uint32_t colour = kind < 0 ? 0x808080 : colours[kind];
        double u = p->center.x, v = p->center.y, x0 = p->box.x_offset, y0 = p->box.y_offset, x1 = x0 + p->box.width,
               y1 = y0 + p->box.height;
        if (kind == VISION_BALL)
            ring(rgb, width, height, u, v, fmax(p->box.width / 2.0, 4), colour);
        else
            ring(rgb, width, height, u, v, kind == VISION_CROSSING ? 5 + 4 * (p->kind - Percept_CROSSING_L) : 6,
                 colour);
        if (kind == VISION_BALL || !p->box.width) continue;
        stroke(rgb, width, height, x0, y0, x1, y0, colour);
        stroke(rgb, width, height, x0, y1, x1, y1, colour);
        stroke(rgb, width, height, x0, y0, x0, y1, colour);
        stroke(rgb, width, height, x1, y0, x1, y1, colour);
    }
}

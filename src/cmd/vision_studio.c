/* Simulated images: a random field of robots, seen by a random robot, and the truth of what is to be seen. */
#include <math.h>
#include <string.h>

#include "base/clamp.h"
#include "body/stance.h"
#include "body/state.h"
#include "cmd/vision_trial.h"

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
    double r = vision_hit_radius(t->x, t->y), low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
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
        t->things[i].counts &= hypot(t->things[i].x, t->things[i].y) <= vision_ranges[kind];
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

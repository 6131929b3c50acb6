#include "learn/studio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/memory.h"
#include "base/random.h"
#include "codec/jpeg.h"
#include "sim/raycast.h"

enum { ROBOTS = 8, OTHERS = 10 };

/* What stands on the carpet, for shadows and labels. */
struct standing {
    double x, y, radius, height;
    uint8_t thing; /* of robots; obstacles: 0 */
};

struct set { /* a picture in the making */
    struct nm_dice dice;
    struct nm_arena arena;
    struct nm_pitch pitch;
    struct nm_scene scene;
    struct nm_camera camera;
    struct pose3 eye_pose; /* camera to field */
    const struct nm_eye *eye;
    uint32_t width, height;
    bool has_ball;
    struct pose3 ball;
    uint32_t n_standing;
    struct standing standing[ROBOTS + OTHERS];
    struct vec3 fakes[OTHERS]; /* things that look like balls */
    uint32_t n_fakes;
    float *light; /* width x height x 3 */
    float shear;  /* pixels to the right for each row below the middle: the rolling shutter */
};

static double roll(struct set *s, double low, double high) { return low + (high - low) * nm_dice_roll(&s->dice); }
static bool chance(struct set *s, double share) { return nm_dice_roll(&s->dice) < share; }
static uint32_t below(struct set *s, uint32_t n) { return (uint32_t)(nm_dice_roll(&s->dice) * n); }
static float clampf(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/* ---- the field ---- */

/* Not every draw is a possible field: false where the areas do not fit. */
static bool draw_pitch(struct set *s)
{
    char text[1200];
    struct nm_err err = {0};
    double length = roll(s, 6, 14), width = length * roll(s, 0.6, 0.7), area = roll(s, 0.6, 1.2);
    double spot = chance(s, 0.5) ? roll(s, 0.08, 0.14) : roll(s, 0.2, 0.3);
    bool penalty = chance(s, 0.6);
    const char *const spots[] = {"cross", "dot", "dash"};
    snprintf(text, sizeof text,
             "title: drawn\nplayers: 4\nmeasured_to: line centres\nlength: %.3f\nwidth: %.3f\nline_width: %.3f\n"
             "goal_area_depth: %.3f\ngoal_area_width: %.3f\npenalty_area_depth: %.3f\npenalty_area_width: %.3f\n"
             "penalty_mark: %.3f\ncircle_diameter: %.3f\ncorner_radius: 0\nborder: %.3f\nturf: 0.008\n"
             "penalty_spot: {kind: %s, size: %.3f}\ncentre_spot: {kind: %s, size: %.3f}\n"
             "goal: {width: %.3f, height: %.3f, depth: 0.5, post: %.3f, post_shape: %s, net: [%.2f, %.2f, %.2f]}\n"
             "ball: {radius: %.4f, mass: 0.1}\n",
             length, width, roll(s, 0.04, 0.07), area, roll(s, 2.2, 2.8), penalty ? area + roll(s, 0.5, 1) : 0.0,
             penalty ? roll(s, 3.2, 3.6) : 0.0, roll(s, 1.2, 1.9), roll(s, 1.2, 2), roll(s, 0.4, 1.5),
             spots[below(s, 2)], spot, spots[below(s, 3)], spot, roll(s, 1.5, 2.1), roll(s, 0.8, 1.3),
             roll(s, 0.08, 0.12), chance(s, 0.7) ? "round" : "square", roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1),
             roll(s, 0.045, 0.075));
    return !nm_pitch_parse(&s->pitch, "drawn", text, strlen(text), &err);
}

/* ---- what stands on it ---- */

static void paint(float colour[3], double r, double g, double b)
{
    colour[0] = (float)r, colour[1] = (float)g, colour[2] = (float)b;
}

static struct nm_solid solid(enum nm_solid_kind kind, uint8_t thing, struct pose3 pose, double x, double y, double z,
                             const float colour[3])
{
    struct nm_solid d = {.kind = kind, .thing = thing, .half = {(float)x, (float)y, (float)z}};
    struct mat3 m = quat_to_mat3(pose.rot);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) d.rot[i][j] = (float)m.m[i][j];
    d.pos[0] = (float)pose.pos.x, d.pos[1] = (float)pose.pos.y, d.pos[2] = (float)pose.pos.z;
    memcpy(d.colour, colour, sizeof d.colour);
    return d;
}

enum { LIMBS = 64 };

struct limbs {
    struct nm_solid at[LIMBS];
    uint32_t n;
    uint8_t thing;
};

/* A limb of two parts from a joint downwards, bent by lot; the end is where hand or foot begins. */
static struct pose3 limb(struct set *s, struct limbs *l, struct pose3 joint, double length, double thick, double bend,
                         const float upper[3], const float lower[3])
{
    enum nm_solid_kind kind = chance(s, 0.6) ? NM_SOLID_CAPSULE : NM_SOLID_BOX;
    for (int part = 0; part < 2; part++) {
        struct quat turn = quat_rpy(roll(s, -0.15, 0.15), part ? bend : -bend / 2 + roll(s, -0.2, 0.2), 0);
        joint.rot = quat_mul(joint.rot, turn);
        struct pose3 middle = pose_mul(joint, (struct pose3){QUAT_IDENTITY, {0, 0, -length / 4}});
        l->at[l->n++] = solid(kind, l->thing, middle, thick, thick * roll(s, 0.8, 1.2), length / 4 * roll(s, 0.8, 1),
                              part ? lower : upper);
        joint = pose_mul(joint, (struct pose3){QUAT_IDENTITY, {0, 0, -length / 2}});
    }
    return joint;
}

/* Covers, motors and gaps of another shade on limbs, hands and feet. Those of round parts are flush with them, as the
 * spots of a ball are: something round and white with dark spots is no ball yet. */
static void add_spots(struct set *s, struct limbs *l, double thick, double shade)
{
    float colour[3];
    paint(colour, shade, shade * roll(s, 0.85, 1), shade * roll(s, 0.85, 1));
    double share = roll(s, 0.3, 1);
    for (uint32_t i = 2, n = l->n; i < n; i++) { /* not trunk and head */
        struct nm_solid on = l->at[i];
        bool flush = on.kind == NM_SOLID_SPHERE || on.kind == NM_SOLID_CAPSULE;
        for (int k = 0; k < (flush ? 3 : 1) && l->n < LIMBS && chance(s, share); k++) {
            double wide = (double)on.half[0], r = flush ? wide * roll(s, 0.4, 0.95) : thick * roll(s, 0.4, 1.1);
            double away = flush ? wide * roll(s, 1.02, 1.12) - r : 0.85 * wide;
            struct pose3 at = {.rot = quat_rpy(roll(s, -3, 3), roll(s, -1.5, 1.5), roll(s, -3, 3))};
            struct vec3 out = quat_apply(at.rot, (struct vec3){away, 0, 0});
            if (on.kind == NM_SOLID_CAPSULE) { /* around its axis */
                double turn = roll(s, -M_PI, M_PI);
                out = (struct vec3){away * cos(turn), away * sin(turn), 0};
            }
            if (on.kind != NM_SOLID_SPHERE) out.z += roll(s, -0.7, 0.7) * (double)on.half[2];
            double of[3];
            for (int c = 0; c < 3; c++)
                of[c] = (double)(on.pos[c] + on.rot[c][0] * (float)out.x + on.rot[c][1] * (float)out.y +
                                 on.rot[c][2] * (float)out.z);
            at.pos = (struct vec3){of[0], of[1], of[2]};
            l->at[l->n++] = flush || chance(s, 0.6) ? solid(NM_SOLID_SPHERE, l->thing, at, r, r, r, colour)
                                                    : solid(NM_SOLID_BOX, l->thing, at, r * 0.5, r * 0.8, r, colour);
        }
    }
}

/* A flat foot, or a round one as of a shoe: a heel and toes in one piece, with a sole. */
static void add_foot(struct set *s, struct limbs *l, struct pose3 foot, double thick, bool round, const float colour[3],
                     const float sole[3])
{
    if (!round) {
        l->at[l->n++] = solid(NM_SOLID_BOX, l->thing, foot, thick * 2.2, thick * 1.3, thick * 0.5, colour);
        return;
    }
    double r = thick * roll(s, 0.9, 1.5), half = thick * roll(s, 0.7, 1.4);
    foot.pos.z += r - thick * 0.5;
    struct pose3 lying = pose_mul(foot, (struct pose3){quat_rpy(0, M_PI / 2, 0), {0, 0, 0}});
    l->at[l->n++] = solid(NM_SOLID_CAPSULE, l->thing, lying, r, r, half, colour);
    struct pose3 under = pose_mul(foot, (struct pose3){QUAT_IDENTITY, {0, 0, -0.8 * r}});
    l->at[l->n++] = solid(NM_SOLID_BOX, l->thing, under, half + 0.8 * r, r * 0.85, r * 0.2, sole);
}

/* A humanoid of any size and colour, standing, walking or lying. */
static void add_robot(struct set *s, uint32_t index, double x, double y)
{
    struct limbs l = {.thing = (uint8_t)(NM_THING_ROBOT + index)};
    double high = chance(s, 0.7) ? roll(s, 0.45, 0.9) : roll(s, 0.9, 1.5), leg = high * roll(s, 0.42, 0.52),
           trunk = high * roll(s, 0.26, 0.34), wide = high * roll(s, 0.12, 0.2), thick = high * roll(s, 0.035, 0.07),
           head = high * roll(s, 0.06, 0.11);
    bool lies = chance(s, 0.12), round = chance(s, 0.5), shoes = chance(s, 0.6);
    float skin[3], shirt[3], joints[3];
    double grey = chance(s, 0.65) ? roll(s, 0.6, 0.95) : roll(s, 0.05, 0.5);
    paint(skin, grey * roll(s, 0.95, 1), grey * roll(s, 0.95, 1), grey * roll(s, 0.9, 1));
    double metal = roll(s, 0.1, 0.9);
    paint(joints, metal * roll(s, 0.9, 1), metal * roll(s, 0.9, 1), metal * roll(s, 0.9, 1));
    if (chance(s, 0.15)) paint(joints, roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1));
    paint(shirt, roll(s, 0.02, 0.95), roll(s, 0.02, 0.95), roll(s, 0.02, 0.95));
    if (chance(s, 0.3)) memcpy(shirt, skin, sizeof shirt);
    struct pose3 base = {quat_rpy(0, 0, roll(s, -M_PI, M_PI)), {x, y, leg}};
    if (lies) {
        base.rot = quat_mul(base.rot, quat_rpy(0, chance(s, 0.5) ? M_PI / 2 : -M_PI / 2, roll(s, -1, 1)));
        base.pos.z = wide * 0.7;
    }
    struct pose3 middle = pose_mul(base, (struct pose3){QUAT_IDENTITY, {0, 0, trunk / 2}});
    l.at[l.n++] = round ? solid(NM_SOLID_CAPSULE, l.thing, middle, wide * 0.75, wide * 0.75, trunk * 0.28, shirt)
                        : solid(NM_SOLID_BOX, l.thing, middle, wide * 0.6, wide, trunk / 2, shirt);
    if (chance(s, 0.5)) l.at[0].coat = NM_COAT_NUMBER, l.at[0].number = (uint8_t)(1 + below(s, 20));
    if (round) l.at[0].coat = NM_COAT_PLAIN;
    struct pose3 neck =
        pose_mul(base, (struct pose3){quat_rpy(0, roll(s, -0.3, 0.6), roll(s, -0.8, 0.8)), {0, 0, trunk + 1.1 * head}});
    l.at[l.n++] = chance(s, 0.6) ? solid(NM_SOLID_SPHERE, l.thing, neck, head, head, head, skin)
                                 : solid(NM_SOLID_BOX, l.thing, neck, head * 0.8, head, head * 0.8, skin);
    for (int side = -1; side <= 1; side += 2) {
        float eye[3];
        paint(eye, roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1));
        struct pose3 at = pose_mul(neck, (struct pose3){QUAT_IDENTITY, {head * 0.85, side * head * 0.4, head * 0.1}});
        l.at[l.n++] = solid(NM_SOLID_SPHERE, l.thing, at, head * 0.25, head * 0.25, head * 0.25, eye);
        struct pose3 hip = pose_mul(base, (struct pose3){QUAT_IDENTITY, {0, side * wide * 0.55, 0}});
        struct pose3 ankle = limb(s, &l, hip, leg * 0.92, thick, roll(s, 0, 0.8), skin, chance(s, 0.5) ? skin : joints);
        if (!lies) ankle.rot = base.rot;
        struct pose3 foot = pose_mul(ankle, (struct pose3){QUAT_IDENTITY, {thick * 0.8, 0, 0}});
        if (!lies) foot.pos.z = thick * 0.5;
        add_foot(s, &l, foot, thick, shoes, chance(s, 0.6) ? skin : joints, joints);
        struct pose3 shoulder = pose_mul(base, (struct pose3){quat_rpy(side * roll(s, 0, 0.6), roll(s, -1.2, 0.6), 0),
                                                              {0, side * (wide + thick), trunk * 0.9}});
        l.at[l.n++] = solid(NM_SOLID_SPHERE, l.thing, shoulder, thick * 1.4, thick * 1.4, thick * 1.4, joints);
        struct pose3 hand =
            limb(s, &l, shoulder, trunk * 1.3, thick * 0.8, -roll(s, 0, 1.4), chance(s, 0.4) ? shirt : skin, skin);
        l.at[l.n++] = solid(NM_SOLID_SPHERE, l.thing, hand, thick, thick, thick, skin);
    }
    if (chance(s, 0.7)) add_spots(s, &l, thick, grey > 0.5 ? roll(s, 0, 0.35) : roll(s, 0.5, 1));
    nm_scene_solids(&s->scene, l.at, l.n, 0.4 * high);
    s->standing[s->n_standing++] = (struct standing){x, y, wide, lies ? 2 * wide : leg + trunk + 2 * head, l.thing};
}

/* Legs of a person, a box, a pole or a chair: not a robot. */
static void add_obstacle(struct set *s, double x, double y)
{
    struct limbs l = {.thing = NM_THING_HALL};
    float a[3], b[3], sole[3];
    double dark = roll(s, 0.05, 0.9), high = roll(s, 0.2, 1.7), pale = roll(s, 0, 1);
    bool shoes = chance(s, 0.7);
    paint(sole, pale, pale, pale);
    paint(a, dark * roll(s, 0.2, 1), dark * roll(s, 0.2, 1), dark * roll(s, 0.2, 1));
    paint(b, roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1));
    struct pose3 base = {quat_rpy(0, 0, roll(s, -M_PI, M_PI)), {x, y, 0}};
    uint32_t kind = below(s, 3);
    if (kind == 0) { /* a person */
        for (int side = -1; side <= 1; side += 2) {
            struct pose3 at = pose_mul(base, (struct pose3){QUAT_IDENTITY, {roll(s, -0.1, 0.1), side * 0.1, 0.45}});
            l.at[l.n++] = solid(NM_SOLID_CAPSULE, l.thing, at, 0.07, 0.07, 0.38, a);
            at.pos.z = 0.025;
            add_foot(s, &l, at, 0.05, shoes, b, sole);
        }
        struct pose3 up = pose_mul(base, (struct pose3){QUAT_IDENTITY, {0, 0, 1.15}});
        l.at[l.n++] = solid(NM_SOLID_BOX, l.thing, up, 0.12, 0.2, 0.3, b);
        high = 1.5;
    } else {
        struct pose3 at = pose_mul(base, (struct pose3){QUAT_IDENTITY, {0, 0, high / 2}});
        double half = kind == 1 ? roll(s, 0.02, 0.08) : roll(s, 0.1, 0.3);
        l.at[l.n++] = solid(chance(s, 0.5) ? NM_SOLID_BOX : NM_SOLID_CYLINDER, l.thing, at, half, half, high / 2, a);
    }
    nm_scene_solids(&s->scene, l.at, l.n, 0.2);
    s->standing[s->n_standing++] = (struct standing){x, y, 0.15, high, 0};
}

/* Heads, shoes, cups, caps, balls of other games: round or white, and no ball. */
static void add_fake(struct set *s, double x, double y)
{
    struct limbs l = {.thing = NM_THING_HALL};
    float a[3];
    double r = roll(s, 0.02, 0.12), white = roll(s, 0.4, 1);
    if (chance(s, 0.5))
        paint(a, white, white * roll(s, 0.8, 1), white * roll(s, 0.7, 1));
    else
        paint(a, roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1));
    uint32_t kind = below(s, 4);
    struct pose3 at = {quat_rpy(roll(s, -1, 1), roll(s, -1, 1), roll(s, -3, 3)), {x, y, r}};
    if (kind == 0) { /* half a sphere is a cap; a whole one in one colour is no ball of this game */
        at.pos.z = chance(s, 0.5) ? 0 : r * 0.3;
        l.at[l.n++] = solid(NM_SOLID_SPHERE, l.thing, at, r, r, r, a);
    } else {
        double y_half = r * roll(s, 0.3, 1.2), z_half = r * roll(s, 0.2, 1.5);
        const enum nm_solid_kind kinds[] = {NM_SOLID_BOX, NM_SOLID_CYLINDER, NM_SOLID_CAPSULE, NM_SOLID_BOX};
        at.pos.z = z_half;
        l.at[l.n++] = solid(kinds[kind], l.thing, at, kind == 2 ? r * 0.5 : r, y_half, z_half, a);
    }
    nm_scene_solids(&s->scene, l.at, l.n, r * 1.3);
    s->fakes[s->n_fakes++] = at.pos;
}

/* What the robot sees of itself: arms, knees and toes at the lower edge. */
static void add_own_body(struct set *s)
{
    struct limbs l = {.thing = NM_THING_HALL};
    float a[3];
    double grey = roll(s, 0.05, 0.95), yaw = quat_yaw(s->eye_pose.rot) + M_PI / 2;
    paint(a, grey, grey * roll(s, 0.8, 1), grey * roll(s, 0.7, 1));
    struct pose3 base = {quat_rpy(0, 0, yaw), {s->eye_pose.pos.x, s->eye_pose.pos.y, 0}};
    for (int side = -1; side <= 1; side += 2) {
        struct pose3 toe =
            pose_mul(base, (struct pose3){QUAT_IDENTITY, {roll(s, 0.02, 0.12), side * roll(s, 0.04, 0.1), 0.02}});
        l.at[l.n++] = solid(NM_SOLID_BOX, l.thing, toe, 0.1, 0.05, 0.03, a);
        struct pose3 arm = pose_mul(base, (struct pose3){quat_rpy(0, roll(s, 0.5, 1.6), side * roll(s, -0.5, 0.5)),
                                                         {roll(s, 0.02, 0.15), side * roll(s, 0.1, 0.2),
                                                          s->eye_pose.pos.z * roll(s, 0.4, 0.7)}});
        if (chance(s, 0.6)) l.at[l.n++] = solid(NM_SOLID_CAPSULE, l.thing, arm, 0.025, 0.025, 0.07, a);
    }
    nm_scene_solids(&s->scene, l.at, l.n, 0.25);
}

/* ---- the camera ---- */

static void draw_camera(struct set *s)
{
    double view = roll(s, 0.75, 1.75), f = s->width / 2.0 / tan(view / 2); /* rad, across */
    s->camera = (struct nm_camera){.width = s->width,
                                   .height = s->height,
                                   .fx = f,
                                   .fy = f * roll(s, 0.98, 1.02),
                                   .cx = s->width * roll(s, 0.46, 0.54),
                                   .cy = s->height * roll(s, 0.46, 0.54)};
    if (chance(s, 0.7)) {
        s->camera.lens = NM_BROWN_CONRADY;
        s->camera.k[0] = view > 1.2 ? roll(s, -0.16, 0.02) : roll(s, -0.3, 0.08);
        s->camera.k[1] = -s->camera.k[0] * roll(s, 0, 0.25);
    }
    nm_camera_ready(&s->camera);
}

/* Camera to field: optical axes, looking along yaw, `down` below the horizon. */
static struct pose3 look(double x, double y, double z, double yaw, double down, double tilt)
{
    const struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2); /* z ahead, x right, y down */
    struct quat head = quat_mul(quat_rpy(0, 0, yaw), quat_mul(quat_rpy(0, down, 0), quat_rpy(tilt, 0, 0)));
    return (struct pose3){quat_mul(head, optical), {x, y, z}};
}

/* Where the camera stands and looks; most look at a ball, near or far, anywhere in the picture. */
static void draw_view(struct set *s)
{
    double hx = s->pitch.length / 2 + 0.3, hy = s->pitch.width / 2 + 0.3;
    double x = roll(s, -hx, hx), y = roll(s, -hy, hy), z = chance(s, 0.8) ? roll(s, 0.33, 0.75) : roll(s, 0.75, 1.4);
    double yaw = roll(s, -M_PI, M_PI), away = 0.25 * pow(24, nm_dice_roll(&s->dice)), down = roll(s, -0.05, 0.9);
    if (fabs(x) > hx - 1 || fabs(y) > hy - 1) yaw = atan2(roll(s, -hy, hy) - y, roll(s, -hx, hx) - x);
    double r = s->pitch.ball_radius, bx = x + away * cos(yaw), by = y + away * sin(yaw);
    s->has_ball = chance(s, 0.85);
    if (chance(s, 0.8)) { /* turned so that the ball is somewhere in the picture */
        yaw += roll(s, -0.45, 0.45) * s->width / s->camera.fx;
        down = atan2(z - r, away) + roll(s, -0.5, 0.4) * s->height / s->camera.fy;
        down = clampf((float)down, -0.35f, 1.3f);
    }
    s->eye_pose = look(x, y, z, yaw, down, nm_dice_gauss(&s->dice) * 0.06);
    if (!s->has_ball) return;
    double up = chance(s, 0.06) ? roll(s, 0, 0.5) : 0;
    s->ball = (struct pose3){quat_rpy(roll(s, -3, 3), roll(s, -1.5, 1.5), roll(s, -3, 3)), {bx, by, r + up}};
    nm_scene_ball(&s->scene, s->ball);
}

static bool too_near(const struct set *s, double x, double y)
{
    return hypot(x - s->eye_pose.pos.x, y - s->eye_pose.pos.y) < 0.35 ||
           (s->has_ball && hypot(x - s->ball.pos.x, y - s->ball.pos.y) < 0.12);
}

/* A place ahead of the camera, sometimes beside the ball. */
static bool draw_place(struct set *s, double *x, double *y)
{
    double yaw = quat_yaw(s->eye_pose.rot) + M_PI / 2, away = roll(s, 0.4, 6), side = roll(s, -0.7, 0.7);
    *x = s->eye_pose.pos.x + away * cos(yaw + side), *y = s->eye_pose.pos.y + away * sin(yaw + side);
    if (s->has_ball && chance(s, 0.35)) {
        double turn = roll(s, -M_PI, M_PI), near = roll(s, 0.12, 0.5);
        *x = s->ball.pos.x + near * cos(turn), *y = s->ball.pos.y + near * sin(turn);
    }
    return !too_near(s, *x, *y);
}

static void dress(struct set *s)
{
    double x, y;
    uint32_t robots = below(s, ROBOTS), obstacles = chance(s, 0.35) ? 1 + below(s, 3) : 0,
             fakes = chance(s, 0.5) ? 1 + below(s, 4) : 0;
    for (uint32_t i = 0; i < robots; i++)
        if (draw_place(s, &x, &y)) add_robot(s, i, x, y);
    for (uint32_t i = 0; i < obstacles; i++)
        if (draw_place(s, &x, &y)) add_obstacle(s, x, y);
    for (uint32_t i = 0; i < fakes; i++)
        if (draw_place(s, &x, &y)) add_fake(s, x, y);
    if (chance(s, 0.5)) add_own_body(s);
}

/* ---- light and colour: what the ray caster drew is painted over ---- */

/* A smooth random field of about -1 to 1: cells of size 1, four corners mixed. */
static float noise(uint64_t seed, float x, float y)
{
    float fx = floorf(x), fy = floorf(y), u = x - fx, v = y - fy, corner[4];
    for (int i = 0; i < 4; i++) {
        uint64_t cx = (uint64_t)((int64_t)fx + (i & 1)), cy = (uint64_t)((int64_t)fy + (i >> 1));
        uint64_t h = nm_spread(seed + cx * 0x9e3779b97f4a7c15u + cy * 0xc2b2ae3d27d4eb4fu);
        corner[i] = (float)(h >> 40) * 0x1p-23f - 1;
    }
    u = u * u * (3 - 2 * u), v = v * v * (3 - 2 * v);
    return (corner[0] * (1 - u) + corner[1] * u) * (1 - v) + (corner[2] * (1 - u) + corner[3] * u) * v;
}

/* How a hall looks and is lit. */
struct mood {
    uint64_t seed;
    float carpet[3], line[3], hall[3], hall_base, post[3];
    float texture, patches, wear, blotches;
    float ambient, direct, lamp; /* light from everywhere, from one side, and how much it varies over the field */
    struct vec3 sun;             /* towards the light                                                          */
    bool stripes;                /* light only through windows                                                 */
    float stripe_turn, stripe_wide, stripe_share;
    /* the ball */
    uint32_t design;
    float ball[2][3], spot, ball_turn[3], gloss;
};

static void draw_mood(struct set *s, struct mood *m)
{
    m->seed = nm_dice_bits(&s->dice);
    double green = roll(s, 0.18, 0.6);
    paint(m->carpet, green * roll(s, 0.1, 0.65), green, green * roll(s, 0.15, 0.75));
    double white = roll(s, 0.6, 1);
    paint(m->line, white, white * roll(s, 0.95, 1), white * roll(s, 0.85, 1));
    paint(m->hall, roll(s, 0.7, 1.3), roll(s, 0.7, 1.3), roll(s, 0.7, 1.3));
    double dim = chance(s, 0.4) ? roll(s, 0.1, 0.5) : roll(s, 0.5, 1.3);
    for (int k = 0; k < 3; k++) m->hall[k] *= (float)dim;
    paint(m->post, roll(s, 0.75, 1.1), roll(s, 0.75, 1.1), roll(s, 0.75, 1.1));
    m->hall_base = (float)roll(s, -0.1, 0.2);
    m->texture = (float)roll(s, 0, 0.35), m->patches = (float)roll(s, 0, 0.25), m->blotches = (float)roll(s, 0, 0.8);
    m->wear = chance(s, 0.5) ? (float)roll(s, 0, 0.7) : 0;
    m->ambient = (float)roll(s, 0.35, 1), m->direct = chance(s, 0.6) ? (float)roll(s, 0.1, 1) : 0;
    m->lamp = (float)roll(s, 0, 0.35);
    double up = roll(s, 0.25, 1.4), turn = roll(s, -M_PI, M_PI);
    m->sun = (struct vec3){cos(up) * cos(turn), cos(up) * sin(turn), sin(up)};
    m->stripes = m->direct > 0 && chance(s, 0.4);
    if (m->stripes) m->direct *= (float)roll(s, 1, 3);
    m->stripe_turn = (float)roll(s, 0, M_PI), m->stripe_wide = (float)roll(s, 0.4, 3);
    m->stripe_share = (float)roll(s, 0.15, 0.8);
    m->design = chance(s, 0.55) ? 0 : 1 + below(s, 5);
    double bright = roll(s, 0.7, 1.05), dark = roll(s, 0.02, 0.25);
    paint(m->ball[0], bright, bright * roll(s, 0.93, 1), bright * roll(s, 0.85, 1));
    paint(m->ball[1], dark, dark * roll(s, 0.7, 1.3), dark * roll(s, 0.7, 1.6));
    if (m->design && chance(s, 0.6)) paint(m->ball[1], roll(s, 0, 1), roll(s, 0, 1), roll(s, 0, 1));
    if (m->design && chance(s, 0.12)) paint(m->ball[0], 0.95, roll(s, 0.3, 0.8), roll(s, 0, 0.3));
    m->spot = (float)roll(s, 0.90, 0.955), m->gloss = chance(s, 0.5) ? (float)roll(s, 0, 0.6) : 0;
}

/* The light of the one side at a point of the ground, 0 in shadow. */
static float sunlight(const struct set *s, const struct mood *m, float x, float y, float z)
{
    if (m->direct == 0) return 0;
    if (m->stripes) {
        float across = (x * cosf(m->stripe_turn) + y * sinf(m->stripe_turn)) / m->stripe_wide,
              along = (y * cosf(m->stripe_turn) - x * sinf(m->stripe_turn)) / (3 * m->stripe_wide);
        float a = across - floorf(across), b = along - floorf(along);
        if (a > m->stripe_share || b > 0.8f) return 0;
    }
    struct vec3 p = {x, y, z};
    if (s->has_ball && z < 0.01f) {
        struct vec3 d = vec3_sub(s->ball.pos, p);
        double along = vec3_dot(d, m->sun), off = vec3_dot(d, d) - along * along, r = s->pitch.ball_radius;
        if (along > 0 && off < r * r) return 0;
    }
    for (uint32_t i = 0; i < s->n_standing; i++) { /* upright cylinders */
        const struct standing *o = &s->standing[i];
        double dx = o->x - (double)x, dy = o->y - (double)y, flat = hypot(m->sun.x, m->sun.y) + 1e-9;
        double along = (dx * m->sun.x + dy * m->sun.y) / flat, off = fabs(dx * m->sun.y - dy * m->sun.x) / flat;
        if (off < o->radius && along > 0 && (double)z + along * m->sun.z / flat < o->height && along > o->radius)
            return 0;
    }
    return m->direct;
}

/* Which of the ball's two colours is at a point of its surface, and how much of the second. */
static float ball_ink(const struct mood *m, struct vec3 n)
{
    static const double corner[6][3] = {{0, 0.525731, 0.850651},  {0, -0.525731, 0.850651}, {0.525731, 0.850651, 0},
                                        {-0.525731, 0.850651, 0}, {0.850651, 0, 0.525731},  {0.850651, 0, -0.525731}};
    double most = 0;
    switch (m->design) {
    case 0:
    case 1:
        for (int j = 0; j < 6; j++)
            most = fmax(most, fabs(n.x * corner[j][0] + n.y * corner[j][1] + n.z * corner[j][2]));
        if (m->design == 0) return most > (double)m->spot;
        return most > 0.87 && most < 0.93; /* rings */
    case 2: return fmod(fabs(atan2(n.y, n.x)) * 3 / M_PI + 0.5 * n.z, 1) < 0.4;
    case 3: return noise(m->seed, (float)n.x * 3, (float)(n.y * 3 + n.z * 2)) > 0.25f;
    case 4: return fabs(n.z) < 0.25 || fabs(n.x) < 0.08;
    default: return noise(m->seed, (float)atan2(n.y, n.x) * 2, (float)n.z * 4) > 0.5f;
    }
}

static void paint_ball(const struct set *s, const struct mood *m, struct vec3 origin, struct vec3 ray, float *to)
{
    struct vec3 o = vec3_sub(origin, s->ball.pos);
    double r = s->pitch.ball_radius, a = vec3_dot(ray, ray), b = vec3_dot(o, ray), c = vec3_dot(o, o) - r * r;
    double root = b * b - a * c, t = (-b - sqrt(root > 0 ? root : 0)) / a;
    struct vec3 n = vec3_scale(vec3_add(o, vec3_scale(ray, t)), 1 / r), in = quat_apply(quat_inv(s->ball.rot), n);
    float ink = ball_ink(m, in);
    float facing = clampf((float)vec3_dot(n, m->sun), 0, 1), sky = 0.55f + 0.45f * (float)n.z;
    float sun = sunlight(s, m, (float)s->ball.pos.x, (float)s->ball.pos.y, 0.05f) * facing;
    struct vec3 half = vec3_sub(m->sun, vec3_scale(ray, 1 / vec3_norm(ray)));
    float shine = m->gloss * powf(clampf((float)(vec3_dot(n, half) / (vec3_norm(half) + 1e-9)), 0, 1), 40);
    for (int k = 0; k < 3; k++) {
        float colour = m->ball[0][k] + ink * (m->ball[1][k] - m->ball[0][k]);
        float bounce = 0.35f * m->carpet[k] * clampf(-(float)n.z, 0, 1) * m->ambient;
        to[k] = colour * (m->ambient * (0.35f + 0.65f * sky) + sun + bounce) + shine;
    }
}

static void paint_ground(const struct set *s, const struct mood *m, float x, float y, float far, float *to)
{
    /* of what was drawn: the share of paint, and the shade (see the colours of sim/ray_ground.c) */
    float q = to[0] / fmaxf(to[1], 1e-3f), cover = clampf((0.43f * q - 0.15f) / (0.78f - 0.5f * q), 0, 1);
    float shade = to[1] / (0.43f + 0.5f * cover), fine = 1 / (1 + far);
    float k = 1 + m->texture * fine * noise(m->seed, x * 45, y * 30) +
              m->texture * 0.5f * fine * noise(m->seed + 1, x * 120, y * 90) +
              m->patches * noise(m->seed + 2, x * 0.8f, y * 0.8f) +
              0.5f * m->patches * noise(m->seed + 3, x * 4, y * 4);
    float light =
        m->ambient * (1 + m->lamp * noise(m->seed + 4, x * 0.3f, y * 0.3f)) + sunlight(s, m, x, y, 0) * (float)m->sun.z;
    float worn = 0;
    if (m->wear > 0 && cover > 0)
        worn = m->wear *
               (0.5f + 0.9f * noise(m->seed + 5, x * 2.5f, y * 2.5f) + 0.6f * noise(m->seed + 6, x * 25, y * 25));
    cover *= 1 - clampf(worn, 0, 0.9f);
    for (int c = 0; c < 3; c++)
        to[c] = shade * light *
                ((1 - cover) * m->carpet[c] * clampf(k, 0.2f, 2) +
                 cover * m->line[c] * (0.7f + 0.3f * clampf(k, 0.5f, 1.4f)));
}

/* The direction of a pixel, from the eye's grid. */
static struct vec3 ray_at(const struct nm_eye *eye, uint32_t x, uint32_t y)
{
    uint32_t nx = x / NM_NODE, ny = y / NM_NODE, across = eye->lens->nodes_x;
    double u = (x % NM_NODE) / (double)NM_NODE, v = (y % NM_NODE) / (double)NM_NODE, d[3];
    for (int k = 0; k < 3; k++) {
        const float *n = eye->node[k] + ny * across + nx;
        d[k] = (n[0] * (1 - u) + n[1] * u) * (1 - v) + (n[across] * (1 - u) + n[across + 1] * u) * v;
    }
    return (struct vec3){d[0], d[1], d[2]};
}

static void paint_all(struct set *s, const struct mood *m)
{
    const struct nm_eye *eye = s->eye;
    struct vec3 from = s->eye_pose.pos;
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            uint32_t packed = eye->light[y * eye->lens->stride + x];
            uint8_t thing = eye->things[y * eye->lens->stride + x];
            float *to = s->light + 3 * ((size_t)y * s->width + x);
            for (int k = 0; k < 3; k++) to[k] = (float)(packed >> (10 * k) & 1023) / NM_FULL_LIGHT;
            struct vec3 d = ray_at(eye, x, y);
            if (thing == NM_THING_GRASS || thing == NM_THING_LINE) {
                double t = -from.z / fmin(d.z, -1e-3);
                paint_ground(s, m, (float)(from.x + t * d.x), (float)(from.y + t * d.y), (float)t * 0.3f, to);
            } else if (thing == NM_THING_BALL) {
                paint_ball(s, m, from, d, to);
            } else if (thing == NM_THING_HALL) {
                float blot = 1 + m->blotches * noise(m->seed + 7, (float)(d.x * 9), (float)(d.y * 9 + d.z * 13)) +
                             0.5f * m->blotches * noise(m->seed + 8, (float)(d.x * 40), (float)(d.y * 40 + d.z * 50));
                for (int k = 0; k < 3; k++)
                    to[k] = fmaxf(to[k] * m->hall[k] * blot + m->hall_base, 0) * (0.5f + 0.5f * m->ambient);
            } else {
                float light = m->ambient * 1.1f + 0.4f * m->direct;
                for (int k = 0; k < 3; k++)
                    to[k] *= light * (thing >= NM_THING_POST && thing < NM_THING_ROBOT ? m->post[k] : 1);
            }
        }
}

/* ---- the camera's faults ---- */

/* Each pixel becomes the mean of n along a line, or along both axes. */
static void smear(struct set *s, float dx, float dy, uint32_t n)
{
    size_t all = (size_t)s->width * s->height * 3;
    float *from = malloc(all * sizeof *from);
    memcpy(from, s->light, all * sizeof *from);
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++)
            for (int k = 0; k < 3; k++) {
                float sum = 0;
                for (uint32_t i = 0; i < n; i++) {
                    float along = n > 1 ? (float)i / (float)(n - 1) - 0.5f : 0;
                    float px = clampf((float)x + along * dx, 0, (float)s->width - 1),
                          py = clampf((float)y + along * dy, 0, (float)s->height - 1);
                    sum += from[3 * ((size_t)(py + 0.5f) * s->width + (size_t)(px + 0.5f)) + (size_t)k];
                }
                s->light[3 * ((size_t)y * s->width + x) + (size_t)k] = sum / (float)n;
            }
    free(from);
}

/* Rows are read one after the other while the head turns. */
static void shear(struct set *s)
{
    float *row = malloc(3 * s->width * sizeof *row);
    for (uint32_t y = 0; y < s->height; y++) {
        float by = s->shear * ((float)y - (float)s->height / 2), *at = s->light + 3 * (size_t)y * s->width;
        memcpy(row, at, 3 * s->width * sizeof *row);
        for (uint32_t x = 0; x < s->width; x++) {
            float p = clampf((float)x - by, 0, (float)s->width - 1.001f);
            uint32_t i = (uint32_t)p;
            for (uint32_t k = 0; k < 3; k++)
                at[3 * x + k] = row[3 * i + k] + (p - (float)i) * (row[3 * i + 3 + k] - row[3 * i + k]);
        }
    }
    free(row);
}

static void expose(struct set *s, uint8_t *rgb)
{
    size_t n = (size_t)s->width * s->height;
    double sum = 0;
    for (size_t i = 0; i < 3 * n; i++) sum += (double)fminf(s->light[i], 2);
    float aim = (float)(chance(s, 0.75) ? roll(s, 0.3, 0.5) : roll(s, 0.12, 0.75));
    float gain = aim / (float)fmax(sum / (3 * (double)n), 0.02), white[3], gamma = (float)roll(s, 0.75, 1.25);
    float colour = (float)roll(s, 0.45, 1.4), haze = (float)(chance(s, 0.3) ? roll(s, 0, 0.12) : 0);
    float vignette = (float)(chance(s, 0.5) ? roll(s, 0, 0.5) : 0),
          sigma = (float)(chance(s, 0.7) ? roll(s, 0, 0.05) : 0);
    double warm = nm_dice_gauss(&s->dice) * 0.12, tint = nm_dice_gauss(&s->dice) * 0.07;
    white[0] = (float)exp(warm), white[1] = (float)exp(tint), white[2] = (float)exp(-warm);
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            const float *from = s->light + 3 * ((size_t)y * s->width + x);
            float u = 2 * (float)x / (float)s->width - 1, v = 2 * (float)y / (float)s->height - 1, c[3];
            float edge = 1 - vignette * 0.5f * (u * u + v * v);
            for (int k = 0; k < 3; k++) c[k] = from[k] * gain * white[k] * edge;
            float grey = 0.299f * c[0] + 0.587f * c[1] + 0.114f * c[2];
            uint64_t bits = nm_dice_bits(&s->dice); /* sums of four uniform numbers are nearly normal */
            float grain = ((float)(bits & 255) + (float)(bits >> 8 & 255) + (float)(bits >> 16 & 255) +
                           (float)(bits >> 24 & 255)) /
                              148 -
                          3.45f;
            for (int k = 0; k < 3; k++) {
                float own = ((float)(bits >> (32 + 8 * k) & 255) - 127.5f) / 74;
                float p = haze + (1 - haze) * (grey + colour * (c[k] - grey));
                p = powf(clampf(p, 0, 1), gamma) + sigma * (0.7f * grain + 0.5f * own) * (0.4f + p);
                rgb[3 * ((size_t)y * s->width + x) + (size_t)k] = (uint8_t)(clampf(p, 0, 1) * 255 + 0.5f);
            }
        }
}

static void squeeze(struct set *s, uint8_t *rgb)
{
    size_t room = nm_jpeg_room(s->width, s->height), n = 0, all = (size_t)s->width * s->height * 3;
    uint8_t *bytes = malloc(room);
    struct nm_pixels pixels = {s->width, s->height, s->width * 3, "rgb8", rgb, all};
    struct nm_err err = {0};
    if (!nm_jpeg_encode(&pixels, (int)roll(s, 25, 95), bytes, room, &n, &err))
        nm_jpeg_decode(bytes, n, rgb, all, &pixels, &err);
    free(bytes);
}

static void photograph(struct set *s, uint8_t *rgb)
{
    if (chance(s, 0.6)) {
        float wide = (float)roll(s, 0.5, 2.5);
        smear(s, wide, 0, 3), smear(s, 0, wide, 3);
    }
    if (chance(s, 0.3)) {
        double turn = roll(s, -M_PI, M_PI), far = roll(s, 1, 14) * s->width / 320;
        smear(s, (float)(far * cos(turn)), (float)(far * sin(turn)), 2 + (uint32_t)far);
    }
    if (s->shear != 0) shear(s);
    expose(s, rgb);
    if (chance(s, 0.6)) squeeze(s, rgb);
}

/* ---- labels ---- */

static bool see(const struct set *s, struct vec3 point, struct pixel *at)
{
    if (!nm_camera_from_world(&s->camera, s->eye_pose, point, at) || !nm_camera_sees(&s->camera, *at)) return false;
    return true;
}

/* True if one of the things of `low` to `high` shows within two pixels. */
static bool shows(const struct set *s, struct pixel at, uint8_t low, uint8_t high)
{
    for (int y = (int)at.v - 2; y <= (int)at.v + 2; y++)
        for (int x = (int)at.u - 2; x <= (int)at.u + 2; x++) {
            if (x < 0 || y < 0 || x >= (int)s->width || y >= (int)s->height) continue;
            uint8_t thing = s->eye->things[(uint32_t)y * s->eye->lens->stride + (uint32_t)x];
            if (thing >= low && thing <= high) return true;
        }
    return false;
}

static void add_label(const struct set *s, struct nm_shot *shot, enum nm_seen kind, double x, double y, double left,
                      double top, double wide, double high, double distance, double shown)
{
    if (shot->n_labels == NM_STUDIO_LABELS) return;
    double shift = (double)s->shear * (y - s->height / 2.0);
    shot->labels[shot->n_labels++] =
        (struct nm_label){kind,        (float)(x + shift), (float)y,        (float)(left + shift), (float)top,
                          (float)wide, (float)high,        (float)distance, (float)shown};
}

/* A point of the ground that counts as long as it is large enough to be recognised. */
static void label_point(struct set *s, struct nm_shot *shot, enum nm_seen kind, double x, double y, double size,
                        uint8_t low, uint8_t high)
{
    struct pixel at;
    double away = hypot(x - s->eye_pose.pos.x, y - s->eye_pose.pos.y), px = s->camera.fx * size / fmax(away, 0.1);
    if (!see(s, (struct vec3){x, y, 0}, &at)) return;
    bool shown =
        shows(s, at, low, high) && px >= 5 && at.u > 3 && at.v > 3 && at.u < s->width - 3 && at.v < s->height - 3;
    add_label(s, shot, kind, at.u, at.v, at.u - px / 2, at.v - px / 2, px, px, away, shown ? 1 : 0.1);
}

struct extent {
    uint32_t n;
    int low_x, low_y, high_x, high_y;
};

static void measure(const struct set *s, struct extent of[NM_THINGS])
{
    for (int i = 0; i < NM_THINGS; i++) of[i] = (struct extent){0, 1 << 20, 1 << 20, -1, -1};
    for (int y = 0; y < (int)s->height; y++)
        for (int x = 0; x < (int)s->width; x++) {
            struct extent *e = &of[s->eye->things[(uint32_t)y * s->eye->lens->stride + (uint32_t)x]];
            e->n++;
            e->low_x = x < e->low_x ? x : e->low_x, e->high_x = x > e->high_x ? x : e->high_x;
            e->low_y = y < e->low_y ? y : e->low_y, e->high_y = y > e->high_y ? y : e->high_y;
        }
}

static void label_ball(struct set *s, struct nm_shot *shot, const struct extent *e)
{
    struct pixel at;
    if (!s->has_ball || !e->n || !nm_camera_from_world(&s->camera, s->eye_pose, s->ball.pos, &at)) return;
    struct vec3 d = vec3_sub(s->ball.pos, s->eye_pose.pos);
    double far = vec3_norm(d), r = s->camera.fx * s->pitch.ball_radius / fmax(far, 0.1), area = M_PI * r * r;
    /* towards the rim of the picture things look larger */
    struct vec3 ahead = quat_apply(s->eye_pose.rot, (struct vec3){0, 0, 1});
    double cosine = fmax(vec3_dot(ahead, d) / far, 0.3);
    r /= cosine, area /= cosine * cosine * cosine;
    if (!nm_camera_sees(&s->camera, at) && e->n < 0.5 * area) return;
    double shown = r < 2.5 ? 0.1 : fmin(e->n / area, 1);
    double x = clampf((float)at.u, 0, (float)s->width - 1), y = clampf((float)at.v, 0, (float)s->height - 1);
    add_label(s, shot, NM_SEEN_BALL, x, y, at.u - r, at.v - r, 2 * r, 2 * r, hypot(d.x, d.y), shown);
}

static void label_all(struct set *s, struct nm_shot *shot)
{
    static const enum nm_seen crossing[] = {
        [NM_CROSSING_L] = NM_SEEN_L, [NM_CROSSING_T] = NM_SEEN_T, [NM_CROSSING_X] = NM_SEEN_X};
    struct extent of[NM_THINGS];
    const struct nm_pitch *p = &s->pitch;
    measure(s, of);
    shot->n_labels = 0;
    label_ball(s, shot, &of[NM_THING_BALL]);
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++)
        label_point(s, shot, NM_SEEN_POST, p->posts[i].x, p->posts[i].y, 2 * p->post, (uint8_t)(NM_THING_POST + i),
                    (uint8_t)(NM_THING_POST + i));
    for (uint32_t i = 0; i < p->n_crossings; i++)
        label_point(s, shot, crossing[p->crossings[i].kind], p->crossings[i].x, p->crossings[i].y, 0.2, NM_THING_LINE,
                    NM_THING_LINE);
    for (uint32_t i = 0; i < 2; i++)
        label_point(s, shot, NM_SEEN_MARK, p->spots[i].x, p->spots[i].y, p->spots[i].size, NM_THING_LINE,
                    NM_THING_LINE);
    for (uint32_t i = 0; i < s->n_standing; i++) {
        const struct standing *o = &s->standing[i];
        double away = hypot(o->x - s->eye_pose.pos.x, o->y - s->eye_pose.pos.y);
        const struct extent *e = &of[o->thing];
        if (!o->thing) {
            struct pixel at;
            if (see(s, (struct vec3){o->x, o->y, 0}, &at))
                add_label(s, shot, NM_SEEN_OBSTACLE, at.u, at.v, at.u - 5, at.v - 10, 10, 10, away,
                          shows(s, at, NM_THING_HALL, NM_THING_HALL) ? 1 : 0.1);
            continue;
        }
        if (!e->n) continue;
        double tall = s->camera.fy * o->height / fmax(away, 0.1), wide = e->high_x - e->low_x + 1,
               high = e->high_y - e->low_y + 1;
        bool whole = e->n > 0.05 * tall * tall && tall > 14;
        add_label(s, shot, NM_SEEN_ROBOT, (e->low_x + e->high_x) / 2.0, e->high_y, e->low_x, e->low_y, wide, high, away,
                  whole ? 1 : 0.2);
    }
}

/* ---- patches ---- */

/* A square of the picture in 32 x 32 grey pixels, each the mean of what it covers. False: too much lies outside. */
static bool cut(const struct nm_shot *shot, double x, double y, double side, uint8_t *to)
{
    if (side < 6 || x - side / 2 < -0.25 * side || y - side / 2 < -0.25 * side ||
        x + side / 2 > shot->width + 0.25 * side || y + side / 2 > shot->height + 0.25 * side)
        return false;
    enum { N = NM_STUDIO_PATCH };
    int each = (int)fmax(1, fmin(4, side / N + 0.5));
    for (int v = 0; v < N; v++)
        for (int u = 0; u < N; u++) {
            float sum = 0;
            for (int i = 0; i < each * each; i++) {
                double px = x + side * ((u + (i % each + 0.5) / each) / N - 0.5),
                       py = y + side * ((v + (i / each + 0.5) / each) / N - 0.5);
                float cx = clampf((float)px, 0, (float)shot->width - 1.01f),
                      cy = clampf((float)py, 0, (float)shot->height - 1.01f);
                uint32_t ix = (uint32_t)cx, iy = (uint32_t)cy;
                float wx = cx - (float)ix, wy = cy - (float)iy;
                for (uint32_t k = 0; k < 4; k++) {
                    const uint8_t *p = shot->rgb + 3 * ((size_t)(iy + (k >> 1)) * shot->width + ix + (k & 1));
                    float weight = (k & 1 ? wx : 1 - wx) * (k >> 1 ? wy : 1 - wy);
                    sum += weight * (0.299f * (float)p[0] + 0.587f * (float)p[1] + 0.114f * (float)p[2]);
                }
            }
            to[v * N + u] = (uint8_t)(sum / (float)(each * each) + 0.5f);
        }
    return true;
}

/* How much brightness differs in a square: detectors look at what stands out. */
static float contrast(const struct nm_shot *shot, double x, double y, double side)
{
    float low = 255, high = 0;
    for (int i = 0; i < 25; i++) {
        float u = clampf((float)(x + side * (i % 5 / 4.0 - 0.5)), 0, (float)shot->width - 1),
              v = clampf((float)(y + side * (i / 5 / 4.0 - 0.5)), 0, (float)shot->height - 1);
        float g = shot->rgb[3 * ((size_t)v * shot->width + (size_t)u) + 1];
        low = g < low ? g : low, high = g > high ? g : high;
    }
    return high - low;
}

static void keep_patch(struct nm_shot *shot, double x, double y, double side, bool ball)
{
    if (shot->n_patches < NM_STUDIO_PATCHES && cut(shot, x, y, side, shot->patch[shot->n_patches]))
        shot->patch_is_ball[shot->n_patches++] = ball;
}

/* A patch is 1.4 x as wide as the ball, give or take: the ball and its edge. What is not one is cut where a detector
 * would look: at things of the right size on the ground, and beside the ball. */
static void cut_patches(struct set *s, struct nm_shot *shot)
{
    const struct nm_label *ball = NULL;
    shot->n_patches = 0;
    for (uint32_t i = 0; i < shot->n_labels; i++)
        if (shot->labels[i].kind == NM_SEEN_BALL) ball = &shot->labels[i];
    bool whole = ball && ball->shown > 0.6f;
    for (int i = 0; i < 2 && whole; i++) {
        double d = (double)ball->wide, x = (double)ball->left + d / 2, y = (double)ball->top + d / 2;
        keep_patch(shot, x + roll(s, -0.12, 0.12) * d, y + roll(s, -0.12, 0.12) * d, d * roll(s, 1.15, 1.7), true);
    }
    for (int i = 0; i < 36 && shot->n_patches < NM_STUDIO_PATCHES; i++) {
        double x = roll(s, 0, s->width), y = roll(s, 0, s->height), side;
        uint32_t what = below(s, 6);
        if (what < 2 && shot->n_labels) {
            const struct nm_label *l = &shot->labels[below(s, shot->n_labels)];
            x = (double)l->x + roll(s, -0.5, 0.5) * (double)l->wide,
            y = (double)l->y + roll(s, -0.5, 0.2) * (double)l->high;
        }
        if (what == 2 && s->n_fakes) {
            struct pixel at;
            if (!see(s, s->fakes[below(s, s->n_fakes)], &at)) continue;
            x = at.u, y = at.v;
        }
        side = 2.8 * nm_camera_ball_radius(&s->camera, s->eye_pose, (struct pixel){x, y}, s->pitch.ball_radius);
        side = side < 8 ? roll(s, 8, 40) : side * roll(s, 0.7, 1.5);
        for (int k = 0; k < 6 && what > 3; k++) { /* of a few places the one that stands out most */
            double a = roll(s, 0, s->width), b = roll(s, 0, s->height);
            if (contrast(shot, a, b, side) > contrast(shot, x, y, side)) x = a, y = b;
        }
        if (what == 3 && ball) { /* only a part of the ball, or one much too small in its patch */
            double d = (double)ball->wide, turn = roll(s, -M_PI, M_PI);
            side = d * roll(s, 0.8, 2.5);
            x = (double)ball->x + roll(s, 0.6, 1) * fmax(d, side) * cos(turn),
            y = (double)ball->y + roll(s, 0.6, 1) * fmax(d, side) * sin(turn);
        }
        if (ball) { /* what shows the ball fairly well is neither */
            double d = (double)ball->wide, off = hypot(x - (double)ball->left - d / 2, y - (double)ball->top - d / 2);
            if (off < 0.5 * d && side > 0.6 * d && side < 3 * d) continue;
        }
        keep_patch(shot, x, y, side, false);
    }
}

void nm_studio_take(uint64_t seed, uint64_t number, struct nm_shot *shot)
{
    struct set *s = nm_calloc(1, sizeof *s);
    struct mood mood;
    struct nm_err err = {0};
    s->dice = nm_dice_new(seed, number, 0x7374);
    s->width = shot->width, s->height = shot->height;
    while (!draw_pitch(s)) continue;
    nm_scene_new(&s->scene, &s->pitch, (uint32_t)nm_dice_bits(&s->dice));
    draw_camera(s);
    draw_view(s);
    dress(s);
    struct nm_lens_map *lens = nm_lens_map_new(&s->arena, &s->camera, &err);
    if (!lens) abort();
    struct nm_eye *eye = nm_eye_new(&s->arena, lens);
    nm_cast(eye, &s->scene, s->eye_pose);
    s->eye = eye;
    s->shear = chance(s, 0.2) ? (float)roll(s, -0.12, 0.12) : 0;
    s->light = nm_take_n(&s->arena, float, (size_t)s->width * s->height * 3);
    draw_mood(s, &mood);
    paint_all(s, &mood);
    photograph(s, shot->rgb);
    label_all(s, shot);
    cut_patches(s, shot);
    nm_arena_free(&s->arena);
    free(s);
}

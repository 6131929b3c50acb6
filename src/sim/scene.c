#include "sim/scene.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

static void set_pose(struct nm_solid *s, struct pose3 p)
{
    struct mat3 m = quat_to_mat3(p.rot);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) s->rot[i][j] = (float)m.m[i][j];
    s->pos[0] = (float)p.pos.x;
    s->pos[1] = (float)p.pos.y;
    s->pos[2] = (float)p.pos.z;
}

static struct nm_solid *add(struct nm_scene *scene, enum nm_solid_kind kind, uint8_t thing, struct pose3 pose, double x,
                            double y, double z, const float colour[3])
{
    struct nm_solid *s = &scene->solids[scene->n_solids];
    if (scene->n_solids < NM_SCENE_SOLIDS) scene->n_solids++;
    *s = (struct nm_solid){.kind = kind, .thing = thing, .half = {(float)x, (float)y, (float)z}};
    set_pose(s, pose);
    memcpy(s->colour, colour, sizeof s->colour);
    return s;
}

static struct pose3 at(double x, double y, double z) { return (struct pose3){QUAT_IDENTITY, {x, y, z}}; }

float nm_solid_reach(const struct nm_solid *s)
{
    float z = s->half[2] + (s->kind == NM_SOLID_CAPSULE ? s->half[0] : 0);
    return s->kind == NM_SOLID_SPHERE ? s->half[0] : sqrtf(s->half[0] * s->half[0] + s->half[1] * s->half[1] + z * z);
}

/* Everything added since `first` becomes a group with its bounding sphere, about the middle of the solids' own. */
static void close_group(struct nm_scene *scene, uint32_t first)
{
    if (scene->n_solids == first || scene->n_groups >= NM_SCENE_GROUPS) {
        scene->n_solids = first;
        return;
    }
    struct nm_solid_group *g = &scene->groups[scene->n_groups++];
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    *g = (struct nm_solid_group){.first = first, .n = scene->n_solids - first};
    for (uint32_t i = first; i < scene->n_solids; i++)
        for (int k = 0; k < 3; k++) {
            float reach = nm_solid_reach(&scene->solids[i]), c = scene->solids[i].pos[k];
            low[k] = fminf(low[k], c - reach);
            high[k] = fmaxf(high[k], c + reach);
        }
    for (int k = 0; k < 3; k++) g->pos[k] = (low[k] + high[k]) / 2;
    for (uint32_t i = first; i < scene->n_solids; i++) {
        const struct nm_solid *s = &scene->solids[i];
        float dx = s->pos[0] - g->pos[0], dy = s->pos[1] - g->pos[1], dz = s->pos[2] - g->pos[2];
        g->reach = fmaxf(g->reach, sqrtf(dx * dx + dy * dy + dz * dz) + nm_solid_reach(s));
    }
}

static void set_box(struct nm_boxes *boxes, uint32_t i, float x, float y, float half_x, float half_y)
{
    boxes->low_x[i] = x - half_x;
    boxes->high_x[i] = x + half_x;
    boxes->low_y[i] = y - half_y;
    boxes->high_y[i] = y + half_y;
}

static void add_shadow(struct nm_scene *scene, double x, double y, double radius, double strength)
{
    if (scene->n_shadows >= NM_SCENE_SHADOWS) return;
    uint32_t i = scene->n_shadows++;
    scene->shadows[i] = (struct nm_shadow){(float)x, (float)y, (float)radius, (float)strength};
    set_box(&scene->shadow_boxes, i, (float)x, (float)y, (float)radius, (float)radius);
}

/* The posts and the bar are white, the net hangs straight down behind. One group a goal would have a bounding sphere of
 * the whole goal, so post, bar and net are groups of their own. */
static void add_goal(struct nm_scene *scene, int side)
{
    static const float white[3] = {0.93f, 0.93f, 0.92f};
    const struct nm_pitch *p = scene->pitch;
    double x = side * p->length / 2, back = x + side * p->goal_depth, high = p->goal_height, half = p->post / 2;
    uint8_t post = (uint8_t)(NM_THING_POST + (side > 0 ? 2 : 0));
    enum nm_solid_kind kind = p->round_posts ? NM_SOLID_CYLINDER : NM_SOLID_BOX;
    struct quat lying = quat_rpy(M_PI / 2, 0, 0);

    for (uint8_t i = 0; i < 2; i++) {
        uint32_t first = scene->n_solids;
        add(scene, kind, (uint8_t)(post + i), at(x, p->posts[i].y, high / 2), half, half, high / 2, white);
        close_group(scene, first);
    }
    uint32_t first = scene->n_solids;
    add(scene, kind, NM_THING_HALL, (struct pose3){lying, {x, 0, high + half}}, half, half, p->goal_width / 2 + p->post,
        white);
    for (double s = -1; s <= 1; s += 2)
        add(scene, NM_SOLID_BOX, NM_THING_HALL, at((x + back) / 2, s * (p->goal_width + p->post) / 2, 0.02),
            p->goal_depth / 2, 0.02, 0.02, white);
    add(scene, NM_SOLID_BOX, NM_THING_HALL, at(back, 0, 0.02), 0.02, p->goal_width / 2 + p->post, 0.02, white);
    add(scene, NM_SOLID_BOX, NM_THING_HALL, at(back, 0, high / 2), 0.003, p->goal_width / 2 + half, high / 2, p->net)
        ->coat = NM_COAT_NET;
    for (double s = -1; s <= 1; s += 2)
        add(scene, NM_SOLID_BOX, NM_THING_HALL, at((x + back) / 2, s * (p->goal_width + p->post) / 2, high / 2),
            p->goal_depth / 2, 0.003, high / 2, p->net)
            ->coat = NM_COAT_NET;
    close_group(scene, first);
}

/* Spectators, helpers and a table or two, between carpet and wall. Human enough for a camera that must not take them
 * for goal posts or robots. */
static void add_person(struct nm_scene *scene, struct nm_dice *dice, double x, double y)
{
    uint32_t first = scene->n_solids;
    double tall = 1.6 + 0.3 * nm_dice_roll(dice), turn = 2 * M_PI * nm_dice_roll(dice);
    float trousers[3], shirt[3], skin[3] = {0.82f, 0.62f, 0.50f}, hair[3] = {0.15f, 0.11f, 0.08f};
    for (int k = 0; k < 3; k++) {
        trousers[k] = (float)(0.1 + 0.25 * nm_dice_roll(dice));
        shirt[k] = (float)(0.1 + 0.75 * nm_dice_roll(dice));
    }
    struct pose3 base = {quat_rpy(0, 0, turn), {x, y, 0}};
#define PART(kind, px, py, pz, hx, hy, hz, colour)                                                                     \
    add(scene, kind, NM_THING_HALL, pose_mul(base, at((px)*tall, (py)*tall, (pz)*tall)), (hx)*tall, (hy)*tall,         \
        (hz)*tall, colour)
    for (int s = -1; s <= 1; s += 2) {
        PART(NM_SOLID_CAPSULE, 0, s * 0.055, 0.26, 0.045, 0.045, 0.21, trousers);
        PART(NM_SOLID_CAPSULE, 0.01, s * 0.135, 0.64, 0.027, 0.027, 0.15, shirt);
    }
    PART(NM_SOLID_BOX, 0, 0, 0.66, 0.06, 0.105, 0.16, shirt);
    PART(NM_SOLID_SPHERE, 0, 0, 0.915, 0.065, 0.065, 0.065, skin);
    PART(NM_SOLID_SPHERE, -0.012, 0, 0.932, 0.064, 0.064, 0.064, hair);
#undef PART
    close_group(scene, first);
}

static void add_people(struct nm_scene *scene)
{
    struct nm_dice dice = nm_dice_new(scene->hall.seed, 0x686c, 0);
    double x = scene->carpet_x, y = scene->carpet_y;
    for (int i = 0; i < 18; i++) {
        double along = nm_dice_both(&dice), away = 0.35 + 1.8 * nm_dice_roll(&dice);
        if (i % 3 == 2) /* behind the goals */
            add_person(scene, &dice, (i & 1 ? 1 : -1) * (x + away), along * y);
        else
            add_person(scene, &dice, along * (x + 0.5), (i & 1 ? 1 : -1) * (y + away));
    }
}

/* A ramp as steps of a hand's breadth: each is a box up to its height. */
static void add_ramp(struct nm_scene *scene, const struct nm_patch *g)
{
    enum { STEPS = 12 };
    static const float green[3] = {0.20f, 0.46f, 0.20f};
    uint32_t first = scene->n_solids;
    for (int i = 0; i < STEPS && (g->rise_x != 0 || g->rise_y != 0); i++) {
        double a = (double)i / STEPS, b = (i + 1.0) / STEPS, dx = g->x1 - g->x0, dy = g->y1 - g->y0;
        double x0 = g->rise_x != 0 ? g->x0 + a * dx : g->x0, x1 = g->rise_x != 0 ? g->x0 + b * dx : g->x1;
        double y0 = g->rise_x != 0 ? g->y0 : g->y0 + a * dy, y1 = g->rise_x != 0 ? g->y1 : g->y0 + b * dy;
        double high = nm_pitch_height(scene->pitch, (x0 + x1) / 2, (y0 + y1) / 2);
        add(scene, NM_SOLID_BOX, NM_THING_GRASS, at((x0 + x1) / 2, (y0 + y1) / 2, high / 2), (x1 - x0) / 2,
            (y1 - y0) / 2, high / 2, green);
    }
    close_group(scene, first);
}

static void add_strip(struct nm_scene *scene, double x, double y, double half_x, double half_y)
{
    if (scene->n_paints < NM_SCENE_PAINTS)
        scene->paints[scene->n_paints++] =
            (struct nm_paint){NM_PAINT_STRIP, (float)x, (float)y, (float)half_x, (float)half_y, 0, 0, 0, 0};
}

static void add_paints(struct nm_scene *scene)
{
    const struct nm_pitch *p = scene->pitch;
    double half = p->line_width / 2;
    for (uint32_t i = 0; i < p->n_lines; i++) {
        const struct nm_line *l = &p->lines[i];
        add_strip(scene, (l->x0 + l->x1) / 2, (l->y0 + l->y1) / 2, fabs(l->x1 - l->x0) / 2 + half,
                  fabs(l->y1 - l->y0) / 2 + half);
    }
    for (uint32_t i = 0; i < p->n_spots; i++) {
        const struct nm_spot *s = &p->spots[i];
        if (s->kind != NM_SPOT_DOT) add_strip(scene, s->x, s->y, s->size / 2, half);
        if (s->kind == NM_SPOT_CROSS) add_strip(scene, s->x, s->y, half, s->size / 2);
        if (s->kind == NM_SPOT_DOT && scene->n_paints < NM_SCENE_PAINTS)
            scene->paints[scene->n_paints++] = (struct nm_paint){
                .kind = NM_PAINT_DOT, .x = (float)s->x, .y = (float)s->y, .radius = (float)(s->size / 2)};
    }
    for (uint32_t i = 0; i < p->n_arcs && scene->n_paints < NM_SCENE_PAINTS; i++) {
        const struct nm_arc *a = &p->arcs[i];
        bool whole = a->sweep > 6;
        double reach = a->radius + half, middle = a->from + a->sweep / 2, box = whole ? reach : reach / 2;
        double sx = cos(middle) > 0 ? 1 : -1, sy = sin(middle) > 0 ? 1 : -1;
        scene->paints[scene->n_paints++] = (struct nm_paint){NM_PAINT_RING,
                                                             (float)a->x,
                                                             (float)a->y,
                                                             (float)box,
                                                             (float)box,
                                                             (float)(whole ? a->x : a->x + sx * box),
                                                             (float)(whole ? a->y : a->y + sy * box),
                                                             (float)a->radius,
                                                             (float)half};
    }
}

static void hall_walls(struct nm_scene *scene)
{
    scene->hall.half_x = scene->carpet_x + 3.5f;
    scene->hall.half_y = scene->carpet_y + 3.0f;
}

/* A minute of walking has no room on a carpet: before a robot that leaves it the walls give way. */
static void hall_around(struct nm_scene *scene, struct vec3 robot)
{
    const float room = 3; /* m */
    scene->hall.half_x = fmaxf(scene->hall.half_x, fabsf((float)robot.x) + room);
    scene->hall.half_y = fmaxf(scene->hall.half_y, fabsf((float)robot.y) + room);
}

void nm_scene_new(struct nm_scene *scene, const struct nm_pitch *pitch, uint32_t hall_seed)
{
    memset(scene, 0, sizeof *scene);
    scene->pitch = pitch;
    scene->carpet_x = (float)nm_pitch_half_x(pitch);
    scene->carpet_y = (float)nm_pitch_half_y(pitch);
    scene->hall = (struct nm_hall){.height = 5.5f, .seed = hall_seed};
    hall_walls(scene);
    add_paints(scene);
    for (uint32_t i = 0; i < scene->n_paints; i++) {
        const struct nm_paint *p = &scene->paints[i];
        bool ring = p->kind == NM_PAINT_RING, dot = p->kind == NM_PAINT_DOT;
        set_box(&scene->paint_boxes, i, ring ? p->cut_x : p->x, ring ? p->cut_y : p->y, dot ? p->radius : p->half_x,
                dot ? p->radius : p->half_y);
    }
    add_goal(scene, -1);
    add_goal(scene, 1);
    for (uint32_t i = 0; i < pitch->n_patches; i++) add_ramp(scene, &pitch->patches[i]);
    add_people(scene);
    scene->n_still = scene->n_solids;
    scene->n_still_groups = scene->n_groups;
}

void nm_scene_clear(struct nm_scene *scene)
{
    scene->n_solids = scene->n_still;
    scene->n_groups = scene->n_still_groups;
    scene->n_shadows = 0;
    hall_walls(scene);
    scene->has_ball = false;
    scene->robots = 0;
}

void nm_scene_ball(struct nm_scene *scene, struct pose3 ball_to_field)
{
    static const float white[3] = {0.95f, 0.95f, 0.95f};
    double r = scene->pitch->ball_radius;
    uint32_t first = scene->n_solids;
    add(scene, NM_SOLID_SPHERE, NM_THING_BALL, ball_to_field, r, r, r, white)->coat = NM_COAT_BALL;
    close_group(scene, first);
    double height = fmax(ball_to_field.pos.z - r, 0);
    add_shadow(scene, ball_to_field.pos.x, ball_to_field.pos.y, 1.5 * r + height, 0.6 / (1 + 6 * height));
    scene->has_ball = true;
    scene->ball = ball_to_field;
}

void nm_scene_solids(struct nm_scene *scene, const struct nm_solid *solids, uint32_t n, double shadow)
{
    uint32_t first = scene->n_solids;
    for (uint32_t i = 0; i < n && scene->n_solids < NM_SCENE_SOLIDS; i++) scene->solids[scene->n_solids++] = solids[i];
    close_group(scene, first);
    if (shadow > 0 && n) add_shadow(scene, (double)solids[0].pos[0], (double)solids[0].pos[1], shadow, 0.5);
}

void nm_scene_keep(struct nm_scene *scene, const struct nm_solid *solids, uint32_t n)
{
    nm_scene_clear(scene);
    for (uint32_t i = 0; i < n; i++) nm_scene_solids(scene, &solids[i], 1, 0);
    scene->n_still = scene->n_solids;
    scene->n_still_groups = scene->n_groups;
}

void nm_scene_pendulum(struct nm_scene *scene, struct vec3 pivot, struct vec3 bob, double radius)
{
    static const float hemp[3] = {0.72f, 0.60f, 0.38f}, steel[3] = {0.30f, 0.31f, 0.34f};
    const double thick = 0.006; /* m, of the rope: a robot's camera must see it */
    struct vec3 up = vec3_sub(pivot, bob), middle = vec3_scale(vec3_add(pivot, bob), 0.5);
    struct quat rot = quat_rpy(0, atan2(vec2_norm(up.x, up.y), up.z), atan2(up.y, up.x));
    uint32_t first = scene->n_solids;
    add(scene, NM_SOLID_CAPSULE, NM_THING_HALL, (struct pose3){rot, middle}, thick, thick, vec3_norm(up) / 2, hemp);
    add(scene, NM_SOLID_SPHERE, NM_THING_HALL, (struct pose3){rot, bob}, radius, radius, radius, steel);
    close_group(scene, first);
    double height = fmax(bob.z - radius, 0);
    add_shadow(scene, bob.x, bob.y, 1.5 * radius + height / 2, 0.5 / (1 + 3 * height));
}

bool nm_shirt_colour(const char *name, float colour[3])
{
    /* the team colours of the GameController */
    static const struct {
        const char *name;
        float colour[3];
    } table[] = {
        {"blue", {0.10f, 0.22f, 0.80f}},   {"red", {0.80f, 0.10f, 0.10f}},    {"yellow", {0.90f, 0.80f, 0.08f}},
        {"black", {0.08f, 0.08f, 0.09f}},  {"white", {0.93f, 0.93f, 0.93f}},  {"green", {0.05f, 0.70f, 0.25f}},
        {"orange", {0.95f, 0.50f, 0.05f}}, {"purple", {0.50f, 0.15f, 0.60f}}, {"brown", {0.45f, 0.28f, 0.12f}},
        {"gray", {0.50f, 0.50f, 0.50f}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(name, table[i].name)) {
            memcpy(colour, table[i].colour, 3 * sizeof *colour);
            return true;
        }
    return false;
}

static void add_shape(struct nm_scene *scene, uint8_t thing, const struct nm_link_shape *shape,
                      struct pose3 link_to_field, const float colour[3])
{
    static const enum nm_solid_kind kinds[] = {
        [NM_BOX] = NM_SOLID_BOX, [NM_SPHERE] = NM_SOLID_SPHERE, [NM_CYLINDER] = NM_SOLID_CYLINDER};
    struct vec3 s = shape->size;
    struct pose3 pose = pose_mul(link_to_field, shape->to_link);
    if (shape->kind == NM_BOX)
        add(scene, kinds[shape->kind], thing, pose, s.x / 2, s.y / 2, s.z / 2, colour);
    else
        add(scene, kinds[shape->kind], thing, pose, s.x, s.x, shape->kind == NM_CYLINDER ? s.z / 2 : s.x, colour);
}

/* True for links the shirt covers: the trunk and the upper arms. */
static bool wears_shirt(const struct nm_body *body, uint32_t link)
{
    if (link == 0) return true;
    for (int side = 0; side < 2; side++)
        if (body->arm[side].n >= 2 && link == body->arm[side].joints[1] + 1) return true;
    return false;
}

/* The number is on the trunk's boxes that are outermost in front and behind, and tall enough to be read. */
static bool carries_number(const struct nm_link_shape *shapes, uint32_t n, const struct nm_link_shape *s)
{
    double front = -INFINITY, back = INFINITY;
    if (s->link != 0 || s->kind != NM_BOX || s->size.z < 0.05) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (shapes[i].link != 0 || shapes[i].kind != NM_BOX || shapes[i].size.z < 0.05) continue;
        front = fmax(front, shapes[i].to_link.pos.x + shapes[i].size.x / 2);
        back = fmin(back, shapes[i].to_link.pos.x - shapes[i].size.x / 2);
    }
    return s->to_link.pos.x + s->size.x / 2 > front - 2e-3 || s->to_link.pos.x - s->size.x / 2 < back + 2e-3;
}

void nm_scene_robot(struct nm_scene *scene, uint32_t index, const struct nm_body *body, const struct nm_kin *kin,
                    const struct nm_shirt *shirt)
{
    if (index >= NM_PLAYERS) return;
    hall_around(scene, kin->pose[0].pos);
    bool solid = body->n_visuals > 0; /* what is drawn as meshes is shown by what was fitted around them */
    for (uint32_t i = 0; i < body->n_visuals; i++) solid &= body->visuals[i].kind != NM_MESH;
    const struct nm_link_shape *shapes = solid ? body->visuals : body->collisions;
    uint32_t n = solid ? body->n_visuals : body->n_collisions, first = scene->n_solids;
    uint8_t thing = (uint8_t)(NM_THING_ROBOT + index);

    for (uint32_t i = 0; i < n; i++) {
        const struct nm_link_shape *s = &shapes[i];
        const float *colour = wears_shirt(body, s->link) ? shirt->colour : s->rgba;
        add_shape(scene, thing, s, kin->pose[s->link], colour);
        if (shirt->number && carries_number(shapes, n, s)) {
            scene->solids[scene->n_solids - 1].coat = NM_COAT_NUMBER;
            scene->solids[scene->n_solids - 1].number = (uint8_t)(shirt->number % 100);
        }
    }
    close_group(scene, first);

    struct vec3 trunk = kin->pose[0].pos;
    add_shadow(scene, trunk.x, trunk.y, 0.35 * body->height + 0.08, 0.35);
    for (int side = 0; side < 2; side++)
        if (body->leg[side].n) {
            struct vec3 sole = kin->pose[body->foot[side].sole].pos;
            add_shadow(scene, sole.x, sole.y, 0.1 + 0.06 * body->height, 0.45 / (1 + 12 * fmax(sole.z, 0)));
        }
    scene->robots |= 1u << index;
    scene->robot[index] = kin->pose[0];
}

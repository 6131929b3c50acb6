/* The truth as messages: where everything is, and what a picture really shows. */
#include <math.h>

#include "nutmeg_msgs/BodyTruth.h"
#include "nutmeg_msgs/CameraTruth.h"
#include "nutmeg_msgs/Percept.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "sim/stage_parts.h"

static Point point_of(struct vec3 v) { return (Point){v.x, v.y, v.z}; }
static Vector3 vector_of(struct vec3 v) { return (Vector3){v.x, v.y, v.z}; }
static Pose pose_of(struct pose3 p) { return (Pose){point_of(p.pos), {p.rot.x, p.rot.y, p.rot.z, p.rot.w}}; }

/* ---- the world ---- */

static void fill_body(const struct nm_stage *stage, uint32_t robot, BodyTruth *to)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, robot, &w);
    nm_text(to->name, "%s", stage->actors[robot].row.name);
    to->pose = pose_of(w.base_to_field);
    to->twist = (Twist){vector_of(w.velocity), vector_of(w.angular_velocity)};
    to->fallen = w.fallen;
}

/* This one is in the field as the robot's own team sees it: what a perfect localisation would say. */
void feed_body_truth(const struct nm_stage *stage, uint32_t robot, BodyTruth *to)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, robot, &w);
    fill_body(stage, robot, to);
    if (!stage->actors[robot].row.team) return;
    const struct pose3 half_turn = {{0, 0, 0, 1}, {0, 0, 0}};
    to->pose = pose_of(pose_mul(half_turn, w.base_to_field));
    to->twist = (Twist){vector_of(quat_apply(half_turn.rot, w.velocity)),
                        vector_of(quat_apply(half_turn.rot, w.angular_velocity))};
}

void nm_stage_truth(const struct nm_stage *stage, WorldTruth *to)
{
    nm_text(to->header.frame_id, "field");
    to->time = nm_seconds(stage->now);
    for (uint32_t i = 0; i < stage->n; i++) {
        BodyTruth *body = nm_append(&to->bodies, &BodyTruth_type);
        if (body) fill_body(stage, i, body);
    }
    BodyTruth *ball = nm_append(&to->bodies, &BodyTruth_type);
    struct vec3 velocity, position = nm_stage_ball(stage, &velocity);
    if (!ball) return;
    nm_text(ball->name, "ball");
    ball->pose = pose_of((struct pose3){QUAT_IDENTITY, position});
    ball->twist.linear = vector_of(velocity);
}

/* ---- a picture ---- */

static uint8_t thing_at(const struct nm_eye *eye, struct pixel at)
{
    if (!nm_camera_sees(&eye->lens->camera, at)) return NM_THING_NONE;
    return eye->things[(uint32_t)lrint(at.v) * eye->lens->stride + (uint32_t)lrint(at.u)];
}

/* How much of a thing shows: the share of points inside its solids in whose direction the picture has it. */
static float visible_part(const struct nm_stage *stage, const struct nm_eye *eye, uint8_t thing)
{
    uint32_t points = 0, seen = 0;
    for (uint32_t i = 0; i < stage->scene->n_solids; i++) {
        const struct nm_solid *s = &stage->scene->solids[i];
        if (s->thing != thing) continue;
        for (int k = -2; k <= 2; k++) { /* along its axis */
            double z = 0.4 * k * s->half[2];
            struct vec3 p = {s->pos[0] + s->rot[0][2] * z, s->pos[1] + s->rot[1][2] * z, s->pos[2] + s->rot[2][2] * z};
            struct pixel at;
            points++;
            seen += nm_camera_from_world(&eye->lens->camera, eye->to_field, p, &at) && thing_at(eye, at) == thing;
        }
    }
    return points ? (float)seen / (float)points : 0;
}

static TruthObject *add_object(CameraTruth *to, const struct lookout *l, uint8_t kind, const struct nm_seen *seen,
                               struct vec3 place)
{
    TruthObject *o = seen->pixels ? nm_append(&to->objects, &TruthObject_type) : NULL;
    if (!o) return NULL;
    o->kind = kind;
    o->box.x_offset = (uint32_t)seen->x0;
    o->box.y_offset = (uint32_t)seen->y0;
    o->box.width = (uint32_t)(seen->x1 - seen->x0);
    o->box.height = (uint32_t)(seen->y1 - seen->y0);
    o->center =
        (Point32){seen->centre_known ? (float)seen->centre.u : NAN, seen->centre_known ? (float)seen->centre.v : NAN,
                  (float)vec3_norm(vec3_sub(place, l->to_field.pos))};
    o->pose = (Pose2D){place.x, place.y, 0};
    return o;
}

static void add_robots(const struct nm_stage *stage, const struct lookout *l, CameraTruth *to)
{
    for (uint32_t i = 0; i < stage->n; i++) {
        const struct nm_stage_robot *row = &stage->actors[i].row;
        struct pose3 base = stage->scene->robot[i];
        if (i == l->robot) continue; /* its own hands and feet */
        uint8_t kind = row->team == stage->actors[l->robot].row.team ? Percept_MATE : Percept_RIVAL;
        TruthObject *o = add_object(to, l, kind, &l->shown->robots[i], base.pos);
        if (!o) continue;
        o->player_number = (uint8_t)row->shirt.number;
        o->pose.theta = quat_yaw(base.rot);
        o->visible = visible_part(stage, l->eye, (uint8_t)(NM_THING_ROBOT + i));
    }
}

static void add_points(const struct nm_stage *stage, const struct lookout *l, CameraTruth *to)
{
    static const uint8_t crossings[] = {[NM_CROSSING_L] = Percept_CROSSING_L,
                                        [NM_CROSSING_T] = Percept_CROSSING_T,
                                        [NM_CROSSING_X] = Percept_CROSSING_X};
    const struct nm_pitch *p = stage->options.pitch;
    for (uint32_t i = 0; i < l->shown->n_points; i++) {
        const struct nm_seen_point *point = &l->shown->points[i];
        const struct nm_spot *spot = &p->spots[point->number % NM_PITCH_SPOTS];
        const struct nm_crossing *cross = &p->crossings[point->number % NM_PITCH_CROSSINGS];
        bool centre = point->spot && spot->x == 0 && spot->y == 0;
        TruthObject *o = nm_append(&to->objects, &TruthObject_type);
        if (!o) return;
        o->kind = centre ? Percept_CENTER_CIRCLE : point->spot ? Percept_PENALTY_MARK : crossings[cross->kind];
        o->pose = point->spot ? (Pose2D){spot->x, spot->y, 0} : (Pose2D){cross->x, cross->y, cross->theta};
        struct vec3 place = {o->pose.x, o->pose.y, 0};
        o->center =
            (Point32){(float)point->at.u, (float)point->at.v, (float)vec3_norm(vec3_sub(place, l->to_field.pos))};
        o->visible = 1;
    }
}

/* How wide the paint is in the picture, halfway along a piece. */
static float width_of(const struct nm_stage *stage, const struct lookout *l, const struct nm_seen_line *line)
{
    const struct nm_pitch *p = stage->options.pitch;
    const struct nm_camera *camera = &l->eye->lens->camera;
    struct pixel middle = {(line->from.u + line->to.u) / 2, (line->from.v + line->to.v) / 2}, a, b;
    struct vec3 at;
    if (!nm_camera_to_ground(camera, l->to_field, middle, 0, &at)) return 0;
    struct vec3 across = {0, 1, 0};
    if (line->arc) {
        const struct nm_arc *arc = &p->arcs[line->number];
        double length = vec2_norm(at.x - arc->x, at.y - arc->y);
        if (length > 0) across = (struct vec3){(at.x - arc->x) / length, (at.y - arc->y) / length, 0};
    } else if (fabs(p->lines[line->number].y1 - p->lines[line->number].y0) > 0) {
        across = (struct vec3){1, 0, 0};
    }
    across = vec3_scale(across, p->line_width / 2);
    if (!nm_camera_from_world(camera, l->to_field, vec3_add(at, across), &a) ||
        !nm_camera_from_world(camera, l->to_field, vec3_sub(at, across), &b))
        return 0;
    return (float)vec2_norm(a.u - b.u, a.v - b.v);
}

void feed_picture_truth(const struct nm_stage *stage, const struct lookout *l, CameraTruth *to)
{
    const struct nm_pitch *pitch = stage->options.pitch;
    const struct nm_picture_truth *shown = l->shown;
    to->camera = pose_of(l->to_field);
    TruthObject *ball = add_object(to, l, Percept_BALL, &shown->ball, stage->scene->ball.pos);
    if (ball) {
        double whole = M_PI * shown->ball_radius * shown->ball_radius;
        ball->diameter = (float)(2 * shown->ball_radius);
        ball->visible = whole > 0 ? (float)fmin(shown->ball.pixels / whole, 1) : 0;
    }
    add_robots(stage, l, to);
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++) {
        TruthObject *post = add_object(to, l, Percept_GOAL_POST, &shown->posts[i], pitch->posts[i]);
        if (post) post->visible = visible_part(stage, l->eye, (uint8_t)(NM_THING_POST + i));
    }
    add_points(stage, l, to);
    for (uint32_t i = 0; i < shown->n_lines; i++) {
        TruthLine *line = nm_append(&to->lines, &TruthLine_type);
        if (!line) return;
        line->start = (Point32){(float)shown->lines[i].from.u, (float)shown->lines[i].from.v, 0};
        line->end = (Point32){(float)shown->lines[i].to.u, (float)shown->lines[i].to.v, 0};
        line->width = width_of(stage, l, &shown->lines[i]);
    }
}

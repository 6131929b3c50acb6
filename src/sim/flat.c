#include "base/clamp.h"
#include "sim/flat.h"

#include <math.h>
#include <string.h>

static const double ROBOT_BOUNCE = 0.3, POST_BOUNCE = 0.6; /* of the ball's speed, what comes back */

void nm_flat_new(struct nm_flat *flat, const struct nm_pitch *pitch, const struct nm_flat_options *options)
{
    double soft = fmin(pitch->turf / 0.03, 1), roll = options->ball_roll > 0 ? options->ball_roll : 4.2 - 1.6 * soft;
    memset(flat, 0, sizeof *flat);
    flat->options = *options;
    flat->pitch = pitch;
    flat->dice = nm_dice_new(options->seed, 0x666c6174, 0);
    flat->ball = (struct vec3){0, 0, pitch->ball_radius};
    flat->ball_brake = 2.0 * 2.0 / (2 * roll);
    flat->last_touch = -1;
}

int32_t nm_flat_add(struct nm_flat *flat, struct pose2 pose, double height, double eye_height)
{
    if (flat->n >= NM_PLAYERS) return -1;
    struct nm_flat_robot *r = &flat->robots[flat->n];
    struct nm_dice dice = nm_dice_new(flat->options.seed, 0x666c6174, flat->n + 1);
    *r = (struct nm_flat_robot){.pose = pose, .present = true, .height = height, .eye_height = eye_height};
    r->stride = 1 + flat->options.walk_spread * nm_dice_both(&dice);
    return (int32_t)flat->n++;
}

static double towards(double from, double to, double most) { return from + nm_within(to - from, most); }
static double number(double x) { return isfinite(x) ? x : 0; }

void nm_flat_walk(struct nm_flat *flat, uint32_t robot, struct nm_walk_velocity v)
{
    const struct nm_walk_velocity *most = &flat->options.most;
    flat->robots[robot].wanted = (struct nm_walk_velocity){
        nm_within(number(v.x), most->x), nm_within(number(v.y), most->y), nm_within(number(v.turn), most->turn)};
}

void nm_flat_head(struct nm_flat *flat, uint32_t robot, double pan, double tilt)
{
    flat->robots[robot].wanted_pan = nm_within(number(pan), 2.1);
    flat->robots[robot].wanted_tilt = nm_within(number(tilt), 1.5);
}

bool nm_flat_kick(struct nm_flat *flat, uint32_t robot, double angle, double strength)
{
    struct nm_flat_robot *r = &flat->robots[robot];
    if (r->fallen || r->kicking || !r->present || !isfinite(angle + strength)) return false;
    r->kicking = true;
    r->kick_angle = angle;
    r->kick_strength = fmin(fmax(strength, 0), 1);
    r->touch_at = flat->now + (int64_t)(flat->options.kick_time * 1e9);
    return true;
}

void nm_flat_place(struct nm_flat *flat, uint32_t robot, struct pose2 pose)
{
    struct nm_flat_robot *r = &flat->robots[robot];
    if (!isfinite(pose.x + pose.y + pose.theta)) return;
    r->pose = pose;
    r->velocity = (struct nm_walk_velocity){0};
    r->fallen = r->kicking = false;
    r->present = true;
}

void nm_flat_put_ball(struct nm_flat *flat, struct vec3 p, struct vec3 v)
{
    if (!isfinite(p.x + p.y + v.x + v.y)) return;
    flat->ball = (struct vec3){p.x, p.y, flat->pitch->ball_radius};
    flat->ball_velocity = (struct vec3){v.x, v.y, 0};
    flat->last_touch = -1;
}

static void fall(struct nm_flat *flat, struct nm_flat_robot *r)
{
    if (r->fallen) return;
    r->fallen = true;
    r->on_front = nm_dice_roll(&flat->dice) < 0.5;
    r->kicking = false;
    r->falls++;
    r->velocity = (struct nm_walk_velocity){0};
    r->up_at = flat->now + (int64_t)(flat->options.lie_time * (0.8 + 0.4 * nm_dice_roll(&flat->dice)) * 1e9);
}

void nm_flat_push(struct nm_flat *flat, uint32_t robot, double x, double y)
{
    struct nm_flat_robot *r = &flat->robots[robot];
    double c = cos(r->pose.theta), s = sin(r->pose.theta);
    if (!isfinite(x + y)) return;
    r->velocity.x += c * x + s * y;
    r->velocity.y += -s * x + c * y;
    if (vec2_norm(x, y) > 3 * flat->options.fall_speed) fall(flat, r);
}

/* ---- robots ---- */

/* Walked distances err at random: independent errors add up to a sigma that grows with the root of the way. */
static double slip(struct nm_flat *flat, double way, double share)
{
    return share * sqrt(fabs(way)) * nm_dice_gauss(&flat->dice);
}

static void walk(struct nm_flat *flat, struct nm_flat_robot *r, double dt)
{
    const struct nm_flat_options *o = &flat->options;
    struct nm_walk_velocity goal = r->kicking ? (struct nm_walk_velocity){0} : r->wanted;
    r->velocity.x = towards(r->velocity.x, goal.x, o->gain.x * dt);
    r->velocity.y = towards(r->velocity.y, goal.y, o->gain.y * dt);
    r->velocity.turn = towards(r->velocity.turn, goal.turn, o->gain.turn * dt);
    double x = r->velocity.x * dt, y = r->velocity.y * dt, turn = r->velocity.turn * dt;
    r->odometry = pose2_mul(r->odometry,
                            (struct pose2){x + slip(flat, x, o->odometry_noise), y + slip(flat, y, o->odometry_noise),
                                           turn + slip(flat, turn, o->odometry_noise)});
    struct pose2 made = {x * r->stride + slip(flat, x, o->walk_noise), y * r->stride + slip(flat, y, o->walk_noise),
                         turn * r->stride + slip(flat, turn, o->walk_noise)};
    r->pose = pose2_mul(r->pose, made);
    r->pan = towards(r->pan, r->wanted_pan, o->head_speed * dt);
    r->tilt = towards(r->tilt, r->wanted_tilt, o->head_speed * dt);
}

static double radius_of(const struct nm_flat *flat, const struct nm_flat_robot *r)
{
    return flat->options.radius * (r->fallen ? 1.6 : 1);
}

static struct vec3 velocity_of(const struct nm_flat_robot *r)
{
    double c = cos(r->pose.theta), s = sin(r->pose.theta);
    return (struct vec3){c * r->velocity.x - s * r->velocity.y, s * r->velocity.x + c * r->velocity.y, 0};
}

/* Two discs that overlap share the way apart; a hard bump may fell either. */
static void part(struct nm_flat *flat, struct nm_flat_robot *a, struct nm_flat_robot *b)
{
    double dx = b->pose.x - a->pose.x, dy = b->pose.y - a->pose.y, apart = vec2_norm(dx, dy);
    double deep = radius_of(flat, a) + radius_of(flat, b) - apart;
    if (!(deep > 0)) return;
    uint32_t first = (uint32_t)(a - flat->robots), second = (uint32_t)(b - flat->robots);
    flat->touches.robots[first] |= 1u << second;
    flat->touches.robots[second] |= 1u << first;
    double nx = apart > 1e-9 ? dx / apart : 1, ny = apart > 1e-9 ? dy / apart : 0;
    double share = a->fallen == b->fallen ? 0.5 : a->fallen ? 0 : 1; /* who lies stays */
    struct vec3 va = velocity_of(a), vb = velocity_of(b);
    double closing = (va.x - vb.x) * nx + (va.y - vb.y) * ny;
    a->pose.x -= share * deep * nx;
    a->pose.y -= share * deep * ny;
    b->pose.x += (1 - share) * deep * nx;
    b->pose.y += (1 - share) * deep * ny;
    if (closing < flat->options.fall_speed) return;
    for (int i = 0; i < 2; i++) /* a chance a bump, not a step: the bump ends when they have stopped */
        if (nm_dice_roll(&flat->dice) < flat->options.fall_chance) fall(flat, i ? b : a);
    a->velocity = b->velocity = (struct nm_walk_velocity){0};
}

static void keep_off(struct nm_flat_robot *r, double radius, struct vec3 post, double half)
{
    double dx = r->pose.x - post.x, dy = r->pose.y - post.y, apart = vec2_norm(dx, dy), deep = radius + half - apart;
    if (!(deep > 0) || apart < 1e-9) return;
    r->pose.x += deep * dx / apart;
    r->pose.y += deep * dy / apart;
}

static void touch(struct nm_flat *flat, uint32_t index)
{
    struct nm_flat_robot *r = &flat->robots[index];
    const struct nm_flat_options *o = &flat->options;
    struct pose2 at = pose2_mul(pose2_inv(r->pose), (struct pose2){flat->ball.x, flat->ball.y, 0});
    r->kicking = false;
    if (!(at.x > 0 && at.x < o->kick_reach_x + flat->pitch->ball_radius && fabs(at.y) < o->kick_reach_y)) return;
    double speed = o->kick_speed * r->kick_strength * (1 + o->kick_speed_spread * nm_dice_gauss(&flat->dice));
    double angle = r->pose.theta + r->kick_angle + o->kick_angle_spread * nm_dice_gauss(&flat->dice);
    speed = fmax(speed, 0);
    flat->ball_velocity = (struct vec3){speed * cos(angle), speed * sin(angle), 0};
    flat->last_touch = (int32_t)index;
    flat->touches.ball |= 1u << index;
    r->kicks++;
}

static void move_robots(struct nm_flat *flat, double dt)
{
    for (uint32_t i = 0; i < flat->n; i++) {
        struct nm_flat_robot *r = &flat->robots[i];
        if (!r->present) continue;
        if (r->fallen && flat->now >= r->up_at) r->fallen = false;
        if (!r->fallen) walk(flat, r, dt);
        if (r->kicking && flat->now >= r->touch_at) touch(flat, i);
    }
    for (uint32_t i = 0; i < flat->n; i++) {
        if (!flat->robots[i].present) continue;
        for (uint32_t j = i + 1; j < flat->n; j++)
            if (flat->robots[j].present) part(flat, &flat->robots[i], &flat->robots[j]);
        for (int p = 0; p < NM_PITCH_POSTS; p++)
            keep_off(&flat->robots[i], radius_of(flat, &flat->robots[i]), flat->pitch->posts[p], flat->pitch->post / 2);
    }
}

/* ---- ball ---- */

/* Off a disc that moves: the ball never ends inside it, and takes part of its speed along. */
static bool bounce(struct nm_flat *flat, double x, double y, double radius, struct vec3 v, double back)
{
    double dx = flat->ball.x - x, dy = flat->ball.y - y, apart = vec2_norm(dx, dy);
    double deep = radius + flat->pitch->ball_radius - apart;
    if (!(deep > 0)) return false;
    double nx = apart > 1e-9 ? dx / apart : 1, ny = apart > 1e-9 ? dy / apart : 0;
    flat->ball.x += deep * nx;
    flat->ball.y += deep * ny;
    double in = (flat->ball_velocity.x - v.x) * nx + (flat->ball_velocity.y - v.y) * ny;
    if (in < 0) {
        flat->ball_velocity.x -= (1 + back) * in * nx;
        flat->ball_velocity.y -= (1 + back) * in * ny;
    }
    return true;
}

/* Nets stop the ball: the back, and the sides from either direction. */
static void catch_in_net(struct nm_flat *flat, struct vec3 before)
{
    const struct nm_pitch *p = flat->pitch;
    double r = p->ball_radius, line = p->length / 2, depth = p->goal_depth, half = p->goal_width / 2 + p->post / 2;
    double side = flat->ball.x > 0 ? 1 : -1, x = side * flat->ball.x;
    if (x < line) return;
    if (fabs(before.y) < half && x > line + depth - r && side * before.x <= line + depth) {
        flat->ball.x = side * (line + depth - r);
        flat->ball_velocity = (struct vec3){0, 0, 0};
    }
    if (x < line + depth && x > line + r) {
        bool inside = fabs(before.y) < half;
        double wall = inside ? half - r : half + r, y = fabs(flat->ball.y);
        if (inside ? y > wall : y < wall) {
            flat->ball.y = copysign(wall, flat->ball.y);
            flat->ball_velocity.y = 0;
            flat->ball_velocity.x *= 0.5;
        }
    }
}

static void roll(struct nm_flat *flat, double dt)
{
    double speed = vec2_norm(flat->ball_velocity.x, flat->ball_velocity.y), slower = speed - flat->ball_brake * dt;
    struct vec3 before = flat->ball;
    if (speed > 0) {
        /* the way under constant braking, also when it ends within this step */
        double t = slower > 0 ? dt : speed / flat->ball_brake, way = speed * t - flat->ball_brake * t * t / 2;
        double k = slower > 0 ? slower / speed : 0;
        flat->ball.x += way * flat->ball_velocity.x / speed;
        flat->ball.y += way * flat->ball_velocity.y / speed;
        flat->ball_velocity.x *= k;
        flat->ball_velocity.y *= k;
    }
    catch_in_net(flat, before);
    for (int i = 0; i < NM_PITCH_POSTS; i++)
        bounce(flat, flat->pitch->posts[i].x, flat->pitch->posts[i].y, flat->pitch->post / 2, (struct vec3){0},
               POST_BOUNCE);
    for (uint32_t i = 0; i < flat->n; i++) {
        const struct nm_flat_robot *r = &flat->robots[i];
        if (!r->present) continue;
        if (bounce(flat, r->pose.x, r->pose.y, radius_of(flat, r) * 0.75, velocity_of(r), ROBOT_BOUNCE)) {
            flat->last_touch = (int32_t)i;
            flat->touches.ball |= 1u << i;
        }
    }
}

/* A fast ball moves in parts no longer than half its radius, so that it passes through nothing. */
static void move_ball(struct nm_flat *flat, double dt)
{
    double way = vec2_norm(flat->ball_velocity.x, flat->ball_velocity.y) * dt;
    int parts = 1 + (int)fmin(way / (0.5 * flat->pitch->ball_radius), 64);
    for (int i = 0; i < parts; i++) roll(flat, dt / parts);
}

void nm_flat_step(struct nm_flat *flat, uint32_t steps)
{
    double dt = (double)flat->options.step * 1e-9;
    while (steps--) {
        flat->now += flat->options.step;
        memset(&flat->touches, 0, sizeof flat->touches);
        move_robots(flat, dt);
        move_ball(flat, dt);
    }
}

struct pose3 nm_flat_camera(const struct nm_flat *flat, uint32_t robot)
{
    const struct nm_flat_robot *r = &flat->robots[robot];
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    struct quat gaze = quat_rpy(0, r->tilt, r->pose.theta + r->pan);
    double height = r->fallen ? 0.1 : r->eye_height;
    return (struct pose3){quat_mul(gaze, optical), {r->pose.x, r->pose.y, height}};
}

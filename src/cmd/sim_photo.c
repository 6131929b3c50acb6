/* Pictures of a stage: from above, from beside the robots, through a robot's own camera, and as a film strip. */
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/sim_play.h"
#include "core/files.h"

enum { WIDTH = 960, HEIGHT = 540, VIEWS = 16 };
enum { FRAMES = 12, FRAME_WIDTH = 160, FRAME_HEIGHT = 264 }; /* of a film strip */

struct view {
    char name[40];
    int32_t robot; /* whose camera; -1: none */
    struct nm_eye *eye;
    uint8_t *strip; /* the last pictures side by side, the newest at the right; NULL: each has its own file */
    uint32_t frames;
};

struct sim_photos {
    struct nm_arena arena;
    struct nm_stage *stage;
    const char *folder, *scenario;
    uint64_t seed;
    int64_t every, next; /* ns */
    uint32_t n;
    struct view views[VIEWS];
    uint8_t *bytes;
};

static struct pose3 look(struct vec3 from, struct vec3 at)
{
    struct vec3 d = vec3_sub(at, from);
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    return (struct pose3){quat_mul(quat_rpy(0, atan2(-d.z, hypot(d.x, d.y)), atan2(d.y, d.x)), optical), from};
}

struct pose3 sim_view_top(const struct nm_stage *stage)
{
    const struct nm_pitch *pitch = nm_stage_pitch(stage);
    double up = fmax(2.06 * nm_pitch_half_x(pitch), 2.06 * nm_pitch_half_y(pitch) * WIDTH / HEIGHT);
    return look((struct vec3){0, -1e-6, up}, (struct vec3){0, 0, 0});
}

struct pose3 sim_view_robot(const struct nm_stage *stage, uint32_t robot)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, robot, &w);
    double tall = fmax(nm_stage_body(stage, robot)->height, 0.3);
    struct vec3 at = {w.base_to_field.pos.x, w.base_to_field.pos.y, 0.45 * tall};
    return look((struct vec3){at.x + 1.4 * tall, at.y - 1.9 * tall, at.z + 0.9 * tall}, at);
}

struct pose3 sim_view_ball(const struct nm_stage *stage)
{
    struct vec3 ball = nm_stage_ball(stage, NULL);
    double half = nm_stage_pitch(stage)->width / 2;
    struct vec3 seat = {0.8 * ball.x, -half - 0.8, 1.8};
    return look(seat, (struct vec3){ball.x, ball.y, 0.3});
}

struct pose3 sim_view_stand(const struct nm_stage *stage)
{
    struct vec3 low = {INFINITY, INFINITY, 0}, high = {-INFINITY, -INFINITY, 0};
    for (uint32_t i = 0; i < nm_stage_robots(stage); i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        struct vec3 at = w.base_to_field.pos;
        low = (struct vec3){fmin(low.x, at.x), fmin(low.y, at.y), 0};
        high = (struct vec3){fmax(high.x, at.x), fmax(high.y, at.y), 0};
    }
    if (!nm_stage_robots(stage)) low = high = nm_stage_ball(stage, NULL);
    struct vec3 middle = {(low.x + high.x) / 2, (low.y + high.y) / 2, 0.3};
    double away = 1.8 + hypot(high.x - low.x, high.y - low.y);
    return look((struct vec3){middle.x + 0.35 * away, middle.y - 0.85 * away, 0.25 + 0.45 * away}, middle);
}

/* The first robot from its right, so that it walks to the right. */
static struct pose3 view_side(const struct nm_stage *stage)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    double tall = fmax(nm_stage_body(stage, 0)->height, 0.3), yaw = quat_yaw(w.base_to_field.rot);
    struct vec3 at = {w.base_to_field.pos.x, w.base_to_field.pos.y, 0.5 * tall};
    return look((struct vec3){at.x + 4 * tall * sin(yaw), at.y - 4 * tall * cos(yaw), at.z + 0.4 * tall}, at);
}

static int no_view(const struct nm_stage *stage, const char *name, struct nm_err *err)
{
    const char *names[NM_PLAYERS + 3] = {"top", "stand", "strip"};
    uint32_t n = 3;
    for (uint32_t i = 0; i < nm_stage_robots(stage); i++) names[n++] = nm_stage_robot(stage, i)->name;
    return nm_fail(err, "no pictures can be taken from '%s'%s", name, nm_hint(name, names, n).text);
}

static int add_view(struct sim_photos *p, const char *name, struct nm_err *err)
{
    struct view *v = &p->views[p->n];
    struct nm_camera camera = {
        .width = WIDTH, .height = HEIGHT, .fx = WIDTH, .fy = WIDTH, .cx = (WIDTH - 1) / 2.0, .cy = (HEIGHT - 1) / 2.0};
    if (p->n == VIEWS) return nm_fail(err, "there can be at most %d views", VIEWS);
    *v = (struct view){.robot = -1};
    snprintf(v->name, sizeof v->name, "%s", name);
    bool strip = !strcmp(name, "strip");
    if (strip && !nm_stage_robots(p->stage)) return nm_fail(err, "a film strip needs a robot");
    if (strip) { /* 1.2 times as high as the robot */
        double focal = 4 * FRAME_HEIGHT / 1.2;
        camera = (struct nm_camera){.width = FRAME_WIDTH,
                                    .height = FRAME_HEIGHT,
                                    .fx = focal,
                                    .fy = focal,
                                    .cx = (FRAME_WIDTH - 1) / 2.0,
                                    .cy = (FRAME_HEIGHT - 1) / 2.0};
        v->strip = nm_take(&p->arena, (size_t)3 * FRAMES * FRAME_WIDTH * FRAME_HEIGHT);
    } else if (strcmp(name, "top") && strcmp(name, "stand")) {
        v->robot = nm_stage_find(p->stage, name);
        if (v->robot < 0) return no_view(p->stage, name, err);
        const struct nm_body *body = nm_stage_body(p->stage, (uint32_t)v->robot);
        if (!body->n_cameras) return nm_fail(err, "robot %s has no camera", name);
        camera = body->cameras[0].lens;
    }
    nm_camera_ready(&camera);
    const struct nm_lens_map *lens = nm_lens_map_new(&p->arena, &camera, err);
    if (!lens) return -1;
    v->eye = nm_eye_new(&p->arena, lens);
    p->n++;
    return 0;
}

static int add_views(struct sim_photos *p, const char *from, struct nm_err *err)
{
    if (!from) {
        bool eyes = nm_stage_robots(p->stage) && nm_stage_body(p->stage, 0)->n_cameras;
        return add_view(p, "top", err) | add_view(p, "stand", err) |
               (eyes ? add_view(p, nm_stage_robot(p->stage, 0)->name, err) : 0);
    }
    char *copy = nm_take_text(&p->arena, from), *rest = NULL;
    int bad = 0;
    for (char *word = strtok_r(copy, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
        bad |= add_view(p, word, err);
    return bad;
}

struct sim_photos *sim_photos_new(const struct sim_options *options, struct nm_stage *stage, const char *scenario,
                                  uint64_t seed, struct nm_err *err)
{
    struct sim_photos *p = nm_calloc(1, sizeof *p);
    *p = (struct sim_photos){.stage = stage,
                             .folder = options->photo_folder,
                             .scenario = scenario,
                             .seed = seed,
                             .every = nm_ns(options->photo_every)};
    uint32_t most = 0;
    int bad = add_views(p, options->photo_from, err);
    bad = bad || nm_make_folders(nm_take_format(&p->arena, "%s/", p->folder), err);
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t bytes = nm_picture_bytes(&p->views[i].eye->lens->camera, NM_RGB8);
        if (bytes > most) most = bytes;
    }
    p->bytes = nm_take(&p->arena, most + 1);
    if (!bad) return p;
    sim_photos_free(p);
    return NULL;
}

void sim_photos_free(struct sim_photos *photos)
{
    if (!photos) return;
    nm_arena_free(&photos->arena);
    free(photos);
}

int sim_png(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height, struct nm_err *err)
{
    png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGB};
    image.flags = PNG_IMAGE_FLAG_FAST; /* a few bytes more, a second less */
    if (png_image_write_to_file(&image, path, 0, rgb, 0, NULL)) return 0;
    return nm_fail(err, "%s cannot be written: %s", path, image.message);
}

/* The new picture becomes the last one of the strip; those before it move on. */
static int add_frame(struct sim_photos *p, struct view *v, struct nm_err *err)
{
    const size_t frame = (size_t)3 * FRAME_WIDTH, row = FRAMES * frame;
    char path[512];
    uint32_t at = v->frames < FRAMES ? v->frames : FRAMES - 1;
    for (uint32_t y = 0; y < FRAME_HEIGHT; y++) {
        uint8_t *line = v->strip + y * row;
        if (v->frames >= FRAMES) memmove(line, line + frame, row - frame);
        memcpy(line + at * frame, p->bytes + y * frame, frame);
    }
    v->frames++;
    snprintf(path, sizeof path, "%.300s/%.60s_%llu_strip.png", p->folder, p->scenario, (unsigned long long)p->seed);
    return sim_png(path, v->strip, FRAMES * FRAME_WIDTH, FRAME_HEIGHT, err);
}

static int take(struct sim_photos *p, struct view *v, struct nm_err *err)
{
    const struct nm_shutter shutter = NM_SHUTTER_PLAIN;
    const struct nm_scene *scene = nm_stage_scene(p->stage);
    struct pose3 pose = v->strip                  ? view_side(p->stage)
                        : !strcmp(v->name, "top") ? sim_view_top(p->stage)
                                                  : sim_view_stand(p->stage);
    if (v->robot >= 0) {
        const struct nm_body *body = nm_stage_body(p->stage, (uint32_t)v->robot);
        pose = nm_stage_kin(p->stage, (uint32_t)v->robot)->pose[body->cameras[0].frame];
    }
    char path[512];
    snprintf(path, sizeof path, "%.300s/%.60s_%llu_%s_%07.2f.png", p->folder, p->scenario, (unsigned long long)p->seed,
             v->name, nm_seconds(nm_stage_now(p->stage)));
    nm_cast(v->eye, scene, pose);
    nm_develop(v->eye, &shutter, p->seed, NM_RGB8, p->bytes);
    if (v->strip) return add_frame(p, v, err);
    return sim_png(path, p->bytes, v->eye->lens->camera.width, v->eye->lens->camera.height, err);
}

int sim_photos_take(struct sim_photos *p, struct nm_err *err)
{
    int bad = 0;
    if (nm_stage_now(p->stage) < p->next) return 0;
    p->next += p->every;
    for (uint32_t i = 0; i < p->n && !bad; i++) bad = take(p, &p->views[i], err);
    return bad;
}

/* nutmeg snapshot: a picture of a scene as the simulator's cameras see it, so that one can look. */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "sim/picture.h"
#include "body/stance.h"
#include "sim/truth.h"

struct placed {
    const struct nm_body *body;
    char colour[16];
    struct nm_shirt shirt;
    struct pose2 at;
    struct nm_kin kin;
};

struct snapshot {
    struct setup setup;
    struct nm_pitch pitch;
    struct nm_scene scene;
    uint32_t n;
    struct placed robots[NM_PLAYERS];
};

/* NAME:COLOUR:NUMBER:X,Y,THETA */
static int read_robot(struct snapshot *s, const char *text, struct nm_err *err)
{
    struct placed *r = &s->robots[s->n];
    char name[128];
    unsigned number;
    int used = 0;
    if (s->n >= NM_PLAYERS) return nm_fail(err, "a scene has at most %d robots", NM_PLAYERS);
    if (sscanf(text, "%127[^:]:%15[^:]:%u:%lf,%lf,%lf%n", name, r->colour, &number, &r->at.x, &r->at.y, &r->at.theta,
               &used) != 6 ||
        text[used])
        return nm_fail(err, "'%s' must have the form NAME:COLOUR:NUMBER:X,Y,THETA, such as kid70:red:1:-1,0,0", text);
    if (!nm_shirt_colour(r->colour, r->shirt.colour)) return nm_fail(err, "there is no team colour '%s'", r->colour);
    if (!isfinite(r->at.x + r->at.y + r->at.theta))
        return nm_fail(err, "'%s' needs a position and a direction: X,Y,THETA", text);
    r->shirt.number = number;
    const char *folder = nm_path(&s->setup.arena, nm_path(&s->setup.arena, s->setup.root, "robots"), name);
    r->body = nm_body_load(&s->setup.arena, nm_folder_exists(folder) ? folder : name, err);
    if (!r->body) return -1;
    s->n++;
    return 0;
}

static int read_robots(struct snapshot *s, const char *list, struct nm_err *err)
{
    char *copy = nm_take_text(&s->setup.arena, list), *rest = NULL;
    for (char *word = strtok_r(copy, " ;\t\n", &rest); word; word = strtok_r(NULL, " ;\t\n", &rest))
        if (read_robot(s, word, err) < 0) return -1;
    return 0;
}

static void stand(struct placed *r, double pan, double tilt)
{
    double q[NM_JOINTS];
    struct nm_kin home;
    const struct nm_body *b = r->body;
    nm_stance(b, 0.04, q);
    for (int side = 0; side < 2; side++)
        if (b->arm[side].n >= 3) q[b->arm[side].joints[b->arm[side].n - 1]] = -0.5;
    if (b->head.n >= 2) {
        q[b->head.joints[0]] = pan;
        q[b->head.joints[1]] = tilt;
    }
    nm_forward(b, POSE_IDENTITY, q, &home);
    double height = b->leg[0].n ? -home.pose[b->foot[0].sole].pos.z : b->height / 2;
    nm_forward(b, (struct pose3){quat_rpy(0, 0, r->at.theta), {r->at.x, r->at.y, height}}, q, &r->kin);
}

static struct pose3 look(struct vec3 from, struct vec3 at)
{
    struct vec3 d = vec3_sub(at, from);
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    struct quat aim = quat_rpy(0, atan2(-d.z, hypot(d.x, d.y)), atan2(d.y, d.x));
    return (struct pose3){quat_mul(aim, optical), from};
}

static struct nm_camera plain_camera(uint32_t width, uint32_t height, double focal)
{
    struct nm_camera c = {
        .width = width, .height = height, .fx = focal, .fy = focal, .cx = (width - 1) / 2.0, .cy = (height - 1) / 2.0};
    nm_camera_ready(&c);
    return c;
}

/* From above the whole carpet fits; the stand is behind a touchline, above the heads of those before it. */
static int choose_view(struct snapshot *s, const char *from, uint32_t width, uint32_t height, struct nm_camera *camera,
                       struct pose3 *pose, struct nm_err *err)
{
    double x = nm_pitch_half_x(&s->pitch), y = nm_pitch_half_y(&s->pitch);
    if (!strcmp(from, "top")) {
        double focal = width, up = fmax(2 * x * 1.03, 2 * y * 1.03 * width / height) * focal / width;
        *camera = plain_camera(width, height, focal);
        *pose = look((struct vec3){0, -1e-6, up}, (struct vec3){0, 0, 0});
        return 0;
    }
    if (!strcmp(from, "stand")) {
        *camera = plain_camera(width, height, width * 0.62);
        *pose = look((struct vec3){-0.15 * x, -y - 2.5, 3.9}, (struct vec3){0, -0.1 * y, 0});
        return 0;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        char name[48];
        struct placed *r = &s->robots[i];
        snprintf(name, sizeof name, "%s%u", r->colour, r->shirt.number);
        if (strcmp(from, name)) continue;
        if (!r->body->n_cameras) return nm_fail(err, "%s has no camera", r->body->name);
        *camera = r->body->cameras[0].lens;
        *pose = r->kin.pose[r->body->cameras[0].frame];
        return 0;
    }
    return nm_fail(err, "there is no view '%s': use top, stand, or a robot's colour and number, such as red1", from);
}

static void draw_box(uint8_t *rgb, const struct nm_camera *c, const struct nm_seen *seen, const uint8_t colour[3])
{
    if (!seen->pixels) return;
    for (int32_t y = seen->y0; y < seen->y1; y++)
        for (int32_t x = seen->x0; x < seen->x1; x++)
            if (y == seen->y0 || y == seen->y1 - 1 || x == seen->x0 || x == seen->x1 - 1)
                memcpy(rgb + 3 * ((uint32_t)y * c->width + (uint32_t)x), colour, 3);
}

static void draw_line(uint8_t *rgb, const struct nm_camera *c, struct pixel a, struct pixel b, const uint8_t colour[3])
{
    int n = (int)ceil(fmax(fabs(b.u - a.u), fabs(b.v - a.v))) + 1;
    for (int i = 0; i <= n; i++) {
        struct pixel p = {a.u + (b.u - a.u) * i / n, a.v + (b.v - a.v) * i / n};
        if (nm_camera_sees(c, p)) memcpy(rgb + 3 * ((uint32_t)lrint(p.v) * c->width + (uint32_t)lrint(p.u)), colour, 3);
    }
}

/* What the ground truth says, drawn over the picture. */
static void draw_truth(uint8_t *rgb, const struct nm_eye *eye, const struct nm_scene *scene)
{
    static const uint8_t ball[3] = {255, 128, 0}, robot[3] = {255, 0, 255}, post[3] = {255, 255, 0},
                         line[3] = {255, 0, 0}, point[3] = {0, 255, 255};
    const struct nm_camera *c = &eye->lens->camera;
    struct nm_picture_truth truth;
    nm_picture_truth(eye, scene, &truth);
    for (uint32_t i = 0; i < truth.n_lines; i++) draw_line(rgb, c, truth.lines[i].from, truth.lines[i].to, line);
    for (uint32_t i = 0; i < truth.n_points; i++) {
        struct pixel p = truth.points[i].at;
        draw_line(rgb, c, (struct pixel){p.u - 4, p.v}, (struct pixel){p.u + 4, p.v}, point);
        draw_line(rgb, c, (struct pixel){p.u, p.v - 4}, (struct pixel){p.u, p.v + 4}, point);
    }
    draw_box(rgb, c, &truth.ball, ball);
    for (uint32_t i = 0; i < NM_PLAYERS; i++) draw_box(rgb, c, &truth.robots[i], robot);
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++) draw_box(rgb, c, &truth.posts[i], post);
}

static int write_png(const char *path, const uint8_t *rgb, const struct nm_camera *c, struct nm_err *err)
{
    if (nm_make_folders(path, err)) return -1;
    png_image image = {.version = PNG_IMAGE_VERSION, .width = c->width, .height = c->height, .format = PNG_FORMAT_RGB};
    if (!png_image_write_to_file(&image, path, 0, rgb, 0, NULL))
        return nm_fail(err, "%s cannot be written: %s", path, image.message);
    return 0;
}

static int shoot(struct snapshot *s, const struct nm_camera *camera, struct pose3 pose, const char *path, bool plain,
                 bool truth, int64_t seed, struct nm_err *err)
{
    const struct nm_lens_map *lens = nm_lens_map_new(&s->setup.arena, camera, err);
    if (!lens) return -1;
    struct nm_eye *eye = nm_eye_new(&s->setup.arena, lens);
    struct nm_shutter shutter = plain ? NM_SHUTTER_PLAIN : NM_SHUTTER_USUAL;
    uint8_t *rgb = nm_take(&s->setup.arena, nm_picture_bytes(camera, NM_RGB8));
    nm_cast(eye, &s->scene, pose);
    nm_develop(eye, &shutter, (uint64_t)seed, NM_RGB8, rgb);
    if (truth) draw_truth(rgb, eye, &s->scene);
    return write_png(path, rgb, camera, err);
}

struct wishes {
    const char *field, *robots, *ball, *from, *head, *size, *output;
    bool plain, truth;
    int64_t seed;
};

static int make(struct snapshot *s, const struct wishes *w, struct nm_err *err)
{
    struct nm_arena *arena = &s->setup.arena;
    double ball_x = 0, ball_y = 0, pan = 0, tilt = 0.2;
    unsigned width = 0, height = 0;
    struct nm_camera camera;
    struct pose3 pose;
    const char *file =
        nm_path(arena, nm_path(arena, s->setup.root, "fields"), nm_take_format(arena, "%s.yaml", w->field));
    if (!nm_file_exists(file)) file = w->field;
    if (!nm_file_exists(file)) {
        uint32_t n;
        const char *const *names = setup_names(&s->setup, "fields", &n);
        return nm_fail(err, "there is no field '%s', neither in fields/ nor as a file%s", w->field,
                       nm_hint(w->field, names, n).text);
    }
    if (nm_pitch_read(&s->pitch, file, err) < 0) return -1;
    if (sscanf(w->ball, "%lf,%lf", &ball_x, &ball_y) != 2 || !isfinite(ball_x + ball_y))
        return nm_fail(err, "--ball wants X,Y, not '%s'", w->ball);
    if (sscanf(w->head, "%lf,%lf", &pan, &tilt) != 2 || !isfinite(pan + tilt))
        return nm_fail(err, "--head wants PAN,TILT, not '%s'", w->head);
    if (sscanf(w->size, "%ux%u", &width, &height) != 2 || width < 16 || height < 16 || width > NM_PICTURE_SIDE ||
        height > NM_PICTURE_SIDE)
        return nm_fail(err, "--size wants WIDTHxHEIGHT, each from 16 to %d, not '%s'", NM_PICTURE_SIDE, w->size);
    if (read_robots(s, w->robots, err) < 0) return -1;

    nm_scene_new(&s->scene, &s->pitch, (uint32_t)w->seed);
    nm_scene_ball(&s->scene, (struct pose3){quat_rpy(0.4, 0.3, 0.2), {ball_x, ball_y, s->pitch.ball_radius}});
    for (uint32_t i = 0; i < s->n; i++) {
        stand(&s->robots[i], pan, tilt);
        nm_scene_robot(&s->scene, i, s->robots[i].body, &s->robots[i].kin, &s->robots[i].shirt);
    }
    if (choose_view(s, w->from, width, height, &camera, &pose, err) < 0) return -1;
    return shoot(s, &camera, pose, w->output, w->plain, w->truth, w->seed, err);
}

int cmd_snapshot(int argc, char **argv)
{
    struct wishes w = {.field = "kid",
                       .robots = "kid70:red:1:-0.6,0,0 kid70:red:2:-2,1.2,-0.2 kid70:red:3:-2.2,-1.3,0.2 "
                                 "kid70:red:4:-4.2,0,0 kid70:blue:1:0.9,0.2,3.1 kid70:blue:2:1.8,-1.4,2.6 "
                                 "kid70:blue:3:2.1,1.3,3.3 kid70:blue:4:4.2,0.2,3.14",
                       .ball = "0,0",
                       .from = "stand",
                       .head = "0,0.2",
                       .size = "1280x720",
                       .output = "snapshot.png",
                       .seed = 1};
    const struct flag flags[] = {
        TEXT("field", &w.field, "NAME", "kid, spl, hsl-small, hsl-middle, or a file", .letter = 'f'),
        TEXT("robots", &w.robots, "LIST", "NAME:COLOUR:NUMBER:X,Y,THETA … (default: four against four)", .letter = 'r'),
        TEXT("ball", &w.ball, "X,Y", "where the ball lies", .letter = 'b'),
        TEXT("from", &w.from, "PLACE", "top, stand, or a robot's camera, such as red1"),
        TEXT("head", &w.head, "PAN,TILT", "angles of the robots' heads, rad"),
        TEXT("size", &w.size, "WxH", "size of pictures from top and stand, in pixels", .letter = 's'),
        TEXT("output", &w.output, "FILE", "the PNG", .letter = 'o'),
        WHOLE("seed", &w.seed, 0, 1e9, "N", "seed of the hall and the noise"),
        SWITCH("plain", &w.plain, "leaves out noise and blur"),
        SWITCH("truth", &w.truth, "draws the ground truth over the picture"),
        {0}};
    const struct usage usage =
        USAGE("nutmeg snapshot", "", flags, "Renders a PNG of a scene with the simulator's cameras.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (!nm_ends_with(w.output, ".png"))
        return usage_wrong(&usage, "%s: the name of the picture must end in .png", w.output);
    struct nm_err err = {0};
    struct snapshot *s = nm_calloc(1, sizeof *s);
    setup_begin(&s->setup);
    int result = make(s, &w, &err);
    complain(&err);
    if (!result) printf("written: %s\n", w.output);
    setup_end(&s->setup);
    free(s);
    return result < 0 ? EXIT_USAGE : EXIT_OK;
}

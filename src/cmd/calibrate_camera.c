/* nutmeg calibrate camera: how the camera of this very robot sits on its neck, and its lens, from markers, from clicks
 * on the field, or from the lines of the field. */
#include "cmd/calibrate_camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/calibrate.h"
#include "cmd/canvas.h"
#include "cmd/console.h"
#include "cmd/pictures.h"
#include "cmd/stopping.h"
#include "core/files.h"

/* ---- markers ---- */

static int read_numbers(const struct nm_yaml *list, double *to, uint32_t n, struct nm_err *err)
{
    uint32_t i = 0;
    if (list->n != n) return nm_yaml_fail(list, err, "%u numbers are expected here", n);
    nm_yaml_each(value, list) if (nm_yaml_number(value, &to[i++], err)) return -1;
    return 0;
}

static int read_board(struct setup *setup, const char *path, struct tag_board *board, struct nm_err *err)
{
    static const char *const keys[] = {"size", "tags"};
    const struct nm_yaml *file = nm_yaml_read(&setup->arena, path, err), *node;
    if (!file || nm_yaml_keys(file, keys, 2, err)) return -1;
    if (!(node = nm_yaml_get(file, "size")) || nm_yaml_number(node, &board->size, err) ||
        !(board->size > 0.01 && board->size < 2))
        return nm_yaml_fail(file, err, "size must be the edge of the black square, 0.01 to 2 m");
    nm_yaml_each(tag, nm_yaml_get(file, "tags"))
    {
        double p[6];
        char *end;
        unsigned long id = strtoul(tag->key ? tag->key : "", &end, 10);
        if (!tag->key || end == tag->key || *end || id > 586)
            return nm_yaml_fail(tag, err, "tags must map numbers of the family tag36h11 (0 to 586) to places");
        if (board->n == TAG_PLACES) return nm_yaml_fail(tag, err, "there are more than %d tags", TAG_PLACES);
        if (read_numbers(tag, p, 6, err)) return -1;
        board->tags[board->n++] = (struct tag_place){
            (uint32_t)id, {quat_rpy(p[3] * M_PI / 180, p[4] * M_PI / 180, p[5] * M_PI / 180), {p[0], p[1], p[2]}}};
    }
    return board->n ? 0 : nm_yaml_fail(file, err, "no tags are given");
}

/* ---- pictures ---- */

enum { BEFORE = 0xff3020, AFTER = 0xffe000, BOX = 0x00e0ff, SEEN = 0xff40ff };

struct drawing {
    struct canvas canvas;
    const struct nm_camera_fit *fit;
    const struct nm_mount *mount;
    const struct nm_camera *lens;
    struct pose2 stand;
    uint32_t view;
    double x, y; /* px, of the view's upper left corner */
};

static void draw_line(struct drawing *d, double x0, double y0, double x1, double y1, uint32_t colour)
{
    enum { PIECES = 40 };
    struct pixel last, at;
    bool known = false;
    for (int i = 0; i <= PIECES; i++, last = at) {
        struct vec3 place = {x0 + (x1 - x0) * i / PIECES, y0 + (y1 - y0) * i / PIECES, 0};
        bool seen = nm_camera_fit_pixel(d->fit, d->mount, d->lens, d->stand, d->view, place, &at) &&
                    nm_camera_sees(d->lens, at);
        if (seen && known) canvas_line(&d->canvas, d->x + last.u, d->y + last.v, d->x + at.u, d->y + at.v, 1.5, colour);
        known = seen;
    }
}

static void draw_field(struct drawing *d, bool box, uint32_t colour)
{
    const struct nm_pitch_size *f = &d->fit->field;
    struct nm_line lines[NM_PITCH_LINES];
    uint32_t n = nm_pitch_lines(f, lines);
    double front = f->length / 2 - f->penalty_area_length, side = f->penalty_area_width / 2;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_line *l = &lines[i];
        bool ours = f->penalty_area_length > 0 && fabs(l->x0) >= front - 0.01 && fabs(l->x1) >= front - 0.01 &&
                    (fabs(fabs(l->y0) - side) < 0.01 || fabs(fabs(l->y1) - side) < 0.01);
        if (ours == box) draw_line(d, l->x0, l->y0, l->x1, l->y1, colour);
    }
    for (int i = 0; i < 36 && !box; i++) {
        double a = i * M_PI / 18, b = a + M_PI / 18, r = f->circle_radius;
        draw_line(d, r * cos(a), r * sin(a), r * cos(b), r * sin(b), colour);
    }
}

static void draw_view(struct drawing *d, const struct look *l, const struct nm_body *present)
{
    const struct grey *g = &l->pictures[d->view];
    for (uint32_t y = 0; g->bytes && y < g->height && y < l->fit.lens.height; y++)
        for (uint32_t x = 0; x < g->width && x < l->fit.lens.width; x++)
            memset(d->canvas.rgb + 3 * ((size_t)(d->y + y) * d->canvas.width + (size_t)(d->x + x)),
                   g->bytes[(size_t)y * g->width + x], 3);
    d->mount = &present->cameras[l->fit.camera].mount;
    d->lens = &present->cameras[l->fit.camera].lens;
    d->stand = l->fit.first_stand;
    draw_field(d, false, BEFORE);
    draw_field(d, true, BEFORE);
    d->mount = &l->fit.mount;
    d->lens = &l->fit.lens;
    d->stand = l->fit.stand;
    draw_field(d, false, AFTER);
    draw_field(d, true, BOX);
    for (uint32_t i = 0; i < l->fit.n_sights; i++) {
        const struct nm_camera_sight *s = &l->fit.sights[i];
        if (s->view != d->view) continue;
        double x = d->x + s->at.u, y = d->y + s->at.v, r = s->kind == NM_SIGHT_LINE ? 1 : 5;
        canvas_line(&d->canvas, x - r, y, x + r, y, 1, SEEN);
        canvas_line(&d->canvas, x, y - r, x, y + r, 1, SEEN);
    }
}

/* Four views, evenly spread over those with pictures (all of them if there are none). */
static int draw(const struct look *l, const struct nm_body *present, const char *path, struct nm_err *err)
{
    uint32_t shown[NM_FIT_VIEWS], n = 0, w = l->fit.lens.width, h = l->fit.lens.height;
    for (uint32_t i = 0; i < l->fit.n_views; i++)
        if (l->pictures[i].bytes) shown[n++] = i;
    for (uint32_t i = 0; !n && i < l->fit.n_views; i++) shown[i] = i;
    if (!n) n = l->fit.n_views;
    struct drawing d = {.fit = &l->fit};
    if (canvas_begin(&d.canvas, path, 2 * w, 2 * h, err)) return -1;
    for (uint32_t k = 0; k < 4 && k < n; k++) {
        d.view = shown[(2 * k + 1) * n / 8 < n ? (2 * k + 1) * n / 8 : n - 1];
        d.x = k % 2 * w, d.y = k / 2 * h;
        draw_view(&d, l, present);
    }
    return canvas_end(&d.canvas, err);
}

/* ---- the result ---- */

static void print_angles(FILE *to, const char *name, const double a[3])
{
    fprintf(to, "  %s: [%.3f, %.3f, %.3f]\n", name, a[0] * 180 / M_PI, a[1] * 180 / M_PI, a[2] * 180 / M_PI);
}

/* All cameras' results: the new one, and those of the other cameras as they are. */
static void print_result(FILE *to, const struct look *l, const struct nm_body *present)
{
    fprintf(to, "# What nutmeg calibrate camera has found: roll, pitch and yaw in degrees of the neck below the first "
                "joint of\n"
                "# the head, and of the camera in the head, beyond what the URDF says.\n");
    for (uint32_t i = 0; i < present->n_cameras; i++) {
        const struct nm_body_camera *plain = &l->fit.body->cameras[i], *now = &present->cameras[i];
        const struct nm_mount *m = i == l->fit.camera ? &l->fit.mount : &now->mount;
        const struct nm_camera *lens = i == l->fit.camera ? &l->fit.lens : &now->lens;
        fprintf(to, "%s:\n", now->name);
        if (i == 0) print_angles(to, "neck", m->neck);
        print_angles(to, "turn", m->turn);
        if (!memcmp(lens, &plain->lens, sizeof *lens)) continue;
        fprintf(to, "  fx: %.3f\n  fy: %.3f\n  cx: %.3f\n  cy: %.3f\n", lens->fx, lens->fy, lens->cx, lens->cy);
        if (lens->lens == NM_PINHOLE) continue;
        fprintf(to, "  distortion: [");
        uint32_t n = lens->lens == NM_FISHEYE ? 4 : 5;
        for (uint32_t k = 0; k < n; k++) fprintf(to, "%s%.6g", k ? ", " : "", lens->k[k]);
        fprintf(to, "]\n");
    }
}

static int write_result(const struct look *l, const struct nm_body *present, const char *path, struct nm_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = nm_memstream(&text, &size);
    print_result(to, l, present);
    fclose(to);
    int bad = nm_file_replace(path, text, size, err);
    free(text);
    if (!bad) printf("written: %s; a robot that runs uses it from its next start on\n", path);
    return bad;
}

struct camera_order {
    struct lineup_flags flags;
    bool sim, accept, lens, network;
    const char *page; /* port of a page that asks; NULL: the terminal asks */
    const char *by, *camera, *tags, *at, *near, *live, *output, *picture;
    struct texts points;
    int64_t seed;
    double bend;
};

/* ---- the page that asks ---- */

struct review {
    const struct look *look;
    const struct nm_body *present;
    const char *picture;
    _Atomic int decided; /* a command of Pictures; 0: not yet */
};

static void review(void *user, const Pictures_Request *q, Pictures_Response *r)
{
    struct review *v = user;
    struct nm_err err = {0};
    uint32_t width, height;
    if (q->command == Pictures_Request_LOOK) {
        FILE *to = fmemopen(r->text, sizeof r->text, "w");
        if (!to) abort();
        fprintf(to, "off by %.1f pixels before and by %.1f after (median); %.0f %% agree\n\n", v->look->fit.before,
                v->look->fit.after, 100 * v->look->fit.fitting);
        print_result(to, v->look, v->present);
        fclose(to);
        pictures_put(r, v->picture, &width, &height, &err);
    } else if (q->command == Pictures_Request_ACCEPT || q->command == Pictures_Request_REJECT) {
        v->decided = q->command;
        snprintf(r->message, sizeof r->message, q->command == Pictures_Request_ACCEPT ? "accepted" : "rejected");
    } else {
        nm_fail(&err, "here a calibration is accepted or rejected");
    }
    r->success = !err.n;
    if (err.n) snprintf(r->message, sizeof r->message, "%.*s", (int)strcspn(err.text, "\n"), err.text);
}

static bool decided(void *user) { return ((struct review *)user)->decided != 0; }

/* 1: accepted, 0: rejected, -1 with a sentence */
static int ask_page(struct setup *setup, const struct camera_order *o, const struct look *l,
                    const struct nm_body *present, struct nm_err *err)
{
    struct review v = {l, present, o->picture, 0};
    struct pictures p = {.page = "calibrate", .port = o->page, .answer = review, .over = decided, .user = &v};
    if (pictures_serve(setup, &p, err)) return -1;
    printf("%s\n", v.decided == Pictures_Request_ACCEPT ? "accepted" : "rejected");
    return v.decided == Pictures_Request_ACCEPT;
}

static bool accepted(const char *path)
{
    char line[16];
    if (!isatty(STDIN_FILENO)) {
        printf("not written: --accept writes %s\n", path);
        return false;
    }
    printf("Look at the picture. Write %s? [y/N] ", path);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && (*line == 'y' || *line == 'Y');
}

/* ---- the command ---- */

/* The field as the robot's line-up `calibrate` has it in its parameters. */
static int field_of(const struct nm_lineup *lineup, struct nm_pitch_size *field, struct nm_err *err)
{
#define SELF struct nm_pitch_room
    struct nm_pitch_room {
        struct nm_pitch_size field;
    } room;
    static const struct nm_param rows[] = {NM_PITCH_PARAMS(field)};
    uint32_t at = nm_lineup_instance(lineup, "field_lines");
    if (at == NM_NONE) return nm_fail(err, "the line-up calibrate has no instance called field_lines");
    const struct nm_lineup_instance *instance = &lineup->instances[at];
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int k = nm_param_find(instance->module, rows[i].name, err);
        if (k < 0) return -1;
        nm_value_store(&rows[i], &instance->values[k], &room);
    }
    *field = room.field;
    return 0;
#undef SELF
}

static int read_stand(const char *text, struct pose2 *to, struct nm_err *err)
{
    double degrees;
    int used = 0;
    if (sscanf(text, "%lf,%lf,%lf%n", &to->x, &to->y, &degrees, &used) != 3 || text[used] ||
        !isfinite(to->x + to->y + degrees))
        return nm_fail(err, "'%s' must be X,Y,DEGREES: where the robot stands on the field", text);
    to->theta = degrees * M_PI / 180;
    return 0;
}

static int read_places(const struct texts *from, struct look *l, struct nm_err *err)
{
    for (uint32_t i = 0; i < from->n && i < LOOK_PLACES; i++) {
        struct vec3 p = {0};
        int used = 0;
        if (sscanf(from->at[i], "%lf,%lf%n,%lf%n", &p.x, &p.y, &used, &p.z, &used) < 2 || from->at[i][used] ||
            !isfinite(p.x + p.y + p.z))
            return nm_fail(err, "'%s' must be X,Y or X,Y,Z in metres", from->at[i]);
        l->places[l->n_places++] = p;
    }
    return 0;
}

static int tell(const struct look *l, const struct camera_order *o, struct look_sim *sim)
{
    static const char *const kinds[] = {"points of lines", "corners of tags", "clicks"};
    const struct nm_camera_fit *f = &l->fit;
    const double degree = 180 / M_PI;
    printf("%u images from %u poses of the head, %u %s; the robot stands at %.2f %.2f m, %.1f degrees\n", f->n_views,
           l->rests, f->n_sights, kinds[l->by], f->stand.x, f->stand.y, angle_normal(f->stand.theta) * degree);
    printf("off by %.1f pixels before and by %.1f after (median); %.0f %% agree\n", f->before, f->after,
           100 * f->fitting);
    printf("neck: roll %.2f, pitch %.2f, yaw %.2f degrees; camera: %.2f, %.2f, %.2f; 1 sigma of the tilt %.2f\n",
           f->mount.neck[0] * degree, f->mount.neck[1] * degree, f->mount.neck[2] * degree, f->mount.turn[0] * degree,
           f->mount.turn[1] * degree, f->mount.turn[2] * degree, f->tilt_deviation * degree);
    if (f->with_lens)
        printf("lens: fx %.1f, fy %.1f, cx %.1f, cy %.1f, k1 %.4f, k2 %.4f\n", f->lens.fx, f->lens.fy, f->lens.cx,
               f->lens.cy, f->lens.k[0], f->lens.k[1]);
    if (!o->sim) return 0;
    look_judge(l, sim);
    printf("simulated neck bent by %.1f degrees: the camera's pose was off by %.2f degrees, %.2f are left, without "
           "heading %.2f (%.0f s)\n",
           o->bend, sim->before * degree, sim->left * degree, sim->tilt_left * degree, sim->seconds);
    return 0;
}

static int look_around(struct setup *setup, const struct camera_order *o, const char *log, struct look *l,
                       struct look_sim *sim, struct nm_err *err)
{
    if (o->sim) {
        if (!look_simulate) return nm_fail(err, "this program was built without the simulator");
        sim->seed = (uint64_t)o->seed;
        sim->bend = o->bend * M_PI / 180;
        return look_simulate(setup, l, sim, err);
    }
    if (log) return look_log(l, log, err);
    return look_live(l, *o->live ? strtod(o->live, NULL) : 20, o->network, err);
}

static int calibrate(struct setup *setup, const struct camera_order *o, const char *log, struct look *l,
                     struct look_sim *sim, struct tag_board *board, struct nm_err *err)
{
    static const char *const ways[] = {"lines", "tags", "points"};
    struct nm_lineup *lineup = setup_lineup(setup, "calibrate", &o->flags, err);
    if (!lineup) return -1;
    const struct nm_body *present = setup_body(setup, lineup, err);
    const struct nm_body *body = present ? nm_body_uncalibrated(&setup->arena, present->path, err) : NULL;
    int bad = !body || field_of(lineup, &l->fit.field, err) ? -1 : 0;
    nm_lineup_free(lineup);
    if (bad) return -1;
    uint32_t camera = 0;
    while (o->camera && camera < body->n_cameras && strcmp(body->cameras[camera].name, o->camera)) camera++;
    if (camera >= body->n_cameras)
        return nm_fail(err, "robot %s has no camera%s%s", body->name, o->camera ? " called " : "",
                       o->camera ? o->camera : "");
    for (int i = 0; i < 3; i++)
        if (!strcmp(o->by, ways[i])) l->by = (enum look_by)i;
    look_begin(l, body, present, camera);
    l->fit.with_lens = o->lens;
    l->board = board;
    if (o->at || o->near) {
        if (read_stand(o->at ? o->at : o->near, &l->fit.stand, err)) return -1;
        l->fit.stand_error[0] = o->at ? 0.01 : 0.5;
        l->fit.stand_error[1] = o->at ? 0.01 : 1;
    }
    if (l->by == LOOK_BY_TAGS && !look_tags) return nm_fail(err, "this program was built without libapriltag");
    if (o->tags && read_board(setup, o->tags, board, err)) return -1;
    if (canvas_check(o->picture, err) || read_places(&o->points, l, err) || look_around(setup, o, log, l, sim, err))
        return -1;
    if (stopping()) return 0;
    if (nm_camera_fit(&l->fit, err)) return -1;
    tell(l, o, sim);
    if (draw(l, present, o->picture, err)) return -1;
    printf("picture: %s (lines of the field before: red, after: yellow, the penalty box: blue)\n", o->picture);
    const char *to = o->output ? o->output : nm_take_format(&setup->arena, "%s/cameras.saved.yaml", body->path);
    int answer = o->page ? ask_page(setup, o, l, present, err) : 0;
    if (answer < 0) return -1;
    if (o->page && !answer) return 0;
    if (o->sim && !o->output) {
        print_result(stdout, l, present);
        return 0;
    }
    return o->accept || answer || accepted(to) ? write_result(l, present, to, err) : 0;
}

int cmd_calibrate_camera(int argc, char **argv)
{
    struct camera_order o = {.by = "lines", .picture = "out/calibrate/camera.png", .seed = 1, .bend = 5};
    const struct flag flags[] = {
        TEXT("by", &o.by, "HOW", "what was seen: lines of the field (default), tags, or points that somebody clicked"),
        TEXT("near", &o.near, "X,Y,DEGREES", "where the robot stands on the field, roughly"),
        TEXT("at", &o.at, "X,Y,DEGREES",
             "where it stands, to a centimetre and half a degree: finds the neck's yaw too"),
        TEXTS("point", &o.points, "X,Y[,Z]",
              "--by points: clicks are at these places in this order, over and over (default: any landmarks)"),
        TEXT("tags", &o.tags, "FILE", "--by tags: their size and where they hang (YAML)"),
        SWITCH("lens", &o.lens, "finds the lens too: focal lengths, centre, two coefficients"),
        TEXT("camera", &o.camera, "NAME", "which camera (default: the first)"),
        MAYBE("live", &o.live, 3600, "[SECONDS]", "records a running robot that publishes by DDS (default: 20 s)"),
        SWITCH("network", &o.network, "--live: uses the network, not only this machine"),
        SWITCH("sim", &o.sim, "a robot in the simulator, whose neck is bent"),
        WHOLE("seed", &o.seed, 1, INT32_MAX, "N", "--sim: where it stands and which way its neck is bent"),
        NUMBER("bend", &o.bend, 0, 20, "DEGREES", "--sim: how far the neck is bent (default: 5)"),
        MAYBE("page", &o.page, PORT_MAX, "[PORT]", "shows the result in a page, on which you accept or reject it"),
        SWITCH("accept", &o.accept, "writes the result without asking"),
        TEXT("output", &o.output, "FILE", "writes to this file instead of the robot's cameras.saved.yaml",
             .letter = 'o'),
        TEXT("picture", &o.picture, "FILE", "lines of the field upon images (default: out/calibrate/camera.png)"),
        LINEUP_FLAGS(&o.flags),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg calibrate camera", "[LOG]", flags,
              "Finds how the camera of a robot sits on its neck, from what it sees while it stands and\n"
              "looks around (nutmeg run calibrate --log LOG). The result is shown upon images and\n"
              "written into the robot's folder if you accept it.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (n + o.sim + (o.live != NULL) != 1) return usage_wrong(&usage, "name one log, or use --live, or --sim");
    if (strcmp(o.by, "lines") && strcmp(o.by, "tags") && strcmp(o.by, "points"))
        return usage_wrong(&usage, "--by wants lines, tags or points, not '%s'", o.by);
    if (!o.sim && !o.at == !o.near) return usage_wrong(&usage, "say where the robot stands: --near or --at");
    if (!o.sim && !strcmp(o.by, "tags") != !!o.tags)
        return usage_wrong(&usage, "--by tags and --tags FILE belong together");
    if (o.points.n && strcmp(o.by, "points")) return usage_wrong(&usage, "--point belongs to --by points");
    struct setup setup;
    struct nm_err err = {0};
    struct tag_board board = {0};
    struct look *look = nm_calloc(1, sizeof *look);
    struct look_sim *sim = nm_calloc(1, sizeof *sim);
    setup_begin(&setup);
    stop_by_signals();
    code = calibrate(&setup, &o, n ? argv[1] : NULL, look, sim, &board, &err);
    if (interrupted())
        code = tell_interrupted("nothing is written");
    else if (code < 0)
        code = EXIT_FAILED;
    if (err.n) complain(&err);
    look_end(look);
    free(look);
    free(sim);
    setup_end(&setup);
    return code;
}

/* The cameras of a body: cameras.yaml, or frames called camera with a guessed lens. Every camera gets an optical frame
 * (REP-103: z forward, x right, y down), made from its body frame where the URDF has none. What `nutmeg calibrate` has
 * found out about this very robot, in cameras.saved.yaml, counts over all that. */
#include <ctype.h>
#include <string.h>

#include "body/build.h"
#include "body/kinematics.h"

static bool ends_optical(const char *name) { return strcasestr(name, "optical") != NULL; }

bool build_looks(const char *name)
{
    static const char *const words[] = {"camera", "kamera", "camara", "realsense", "d435", "rgbd", "xtion"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i])) return true;
    const char *cam = strcasestr(name, "cam"); /* cam_link, head_cam, cam0 */
    return cam && (cam == name || cam[-1] == '_') && (!cam[3] || cam[3] == '_' || isdigit((unsigned char)cam[3]));
}

static size_t stem_of(const char *name)
{
    size_t n = strlen(name);
    if (n > 6 && !strcmp(name + n - 6, "_frame")) n -= 6;
    if (n > 8 && !strncasecmp(name + n - 8, "_optical", 8)) n -= 8;
    return n;
}

/* The axis of a frame, of either sign, that comes closest to a direction; none along `but`. */
static struct vec3 nearest_axis(struct quat rot, struct vec3 direction, struct vec3 but)
{
    struct vec3 local = quat_apply(quat_inv(rot), direction);
    const double along[3] = {local.x, local.y, local.z}, taken[3] = {but.x, but.y, but.z};
    int best = -1;
    for (int i = 0; i < 3; i++)
        if (taken[i] == 0 && (best < 0 || fabs(along[i]) > fabs(along[best]))) best = i;
    double sign = along[best] < 0 ? -1 : 1;
    return (struct vec3){best == 0 ? sign : 0, best == 1 ? sign : 0, best == 2 ? sign : 0};
}

struct quat build_square(struct quat rot, struct vec3 z, struct vec3 x)
{
    struct vec3 ahead = nearest_axis(rot, z, (struct vec3){0, 0, 0}), side = nearest_axis(rot, x, ahead);
    struct vec3 over = ahead.z != 0 ? (struct vec3){1, 0, 0} : vec3_cross((struct vec3){0, 0, 1}, ahead);
    struct quat aim = quat_axis(over, acos(ahead.z));
    struct vec3 here = quat_apply(aim, (struct vec3){1, 0, 0});
    double roll = atan2(vec3_dot(ahead, vec3_cross(here, side)), vec3_dot(here, side));
    return quat_mul(quat_axis(ahead, roll), aim);
}

/* Makers differ in which axis of a camera's frame looks forward and which is up; at zero the robot looks ahead with the
 * sky above. Whole axes only, so that a camera that is mounted askew stays so. */
static struct quat optical_turn(struct quat rot)
{
    return build_square(rot, (struct vec3){1, 0, 0}, (struct vec3){0, -1, 0});
}

/* What the optical frame is called that is made from a camera's own. */
static const char *optical_name(struct body_build *b, const char *name)
{
    return build_name(b, nm_take_format(b->arena, "%.*s_optical_frame", (int)stem_of(name), name));
}

/* A frame that looks along its z forward at zero pose, or the one made from it that does. */
static int32_t optical_frame(struct body_build *b, uint32_t frame)
{
    struct nm_body *body = b->body;
    const char *name = body->frames[frame].name;
    if (ends_optical(name)) return (int32_t)frame;

    /* camera_frame belongs to camera_optical_frame, camera too */
    size_t stem = stem_of(name);
    for (uint32_t i = 0; i < body->n_frames; i++) {
        const char *other = body->frames[i].name;
        if (body->frames[i].link == body->frames[frame].link && !strncmp(other, name, stem) &&
            !strncasecmp(other + stem, "_optical", 8))
            return (int32_t)i;
    }

    struct nm_kin *zero = nm_take_n(b->arena, struct nm_kin, 1);
    double q[NM_JOINTS] = {0};
    nm_forward(body, POSE_IDENTITY, q, zero);
    if (quat_apply(zero->pose[frame].rot, (struct vec3){0, 0, 1}).x > 0.7) return (int32_t)frame;

    struct pose3 turn = {optical_turn(zero->pose[frame].rot), {0, 0, 0}};
    return build_frame(b, optical_name(b, name), body->frames[frame].link, pose_mul(body->frames[frame].to_link, turn));
}

static void guess_camera(struct body_build *b, uint32_t frame)
{
    struct nm_body *body = b->body;
    int32_t optical = optical_frame(b, frame);
    for (uint32_t i = 0; i < body->n_cameras; i++)
        if (body->cameras[i].frame == (uint32_t)optical) return;
    if (optical < 0 || body->n_cameras == NM_CAMERAS) return;

    double f = 320 / tan(M_PI / 6); /* 60 degrees across 640 pixels */
    const char *name = body->frames[frame].name;
    struct nm_body_camera *c = &body->cameras[body->n_cameras++];
    *c = (struct nm_body_camera){.format = "yuyv", .frame = (uint32_t)optical, .fps = 30, .guessed = true};
    c->name = nm_take_format(b->arena, "%.*s", (int)stem_of(name), name);
    c->lens = (struct nm_camera){.width = 640, .height = 480, .fx = f, .fy = f, .cx = 319.5, .cy = 239.5};
    nm_camera_ready(&c->lens);
    nm_fail(body->notes, "camera %s: no cameras.yaml, a lens of 640 x 480 pixels and 60 degrees is assumed", c->name);
}

void build_cameras(struct body_build *b)
{
    struct nm_body *body = b->body;
    uint32_t n = body->n_frames;
    bool written = body->n_cameras > 0;
    for (uint32_t i = 0; i < n && !written; i++)
        if (build_looks(body->frames[i].name)) guess_camera(b, i);

    /* the head looks with the first camera it carries */
    struct nm_group *head = &body->head;
    for (uint32_t i = body->n_cameras; i-- > 0 && head->n;)
        if (body->frames[body->cameras[i].frame].link == head->joints[head->n - 1] + 1)
            head->end = body->cameras[i].frame;
}

static int read_distortion(const struct nm_yaml *list, struct nm_camera *lens, struct nm_err *err)
{
    uint32_t at = 0, most = lens->lens == NM_FISHEYE ? 4 : lens->lens == NM_BROWN_CONRADY ? 5 : 0;
    if (list && list->kind != NM_YAML_LIST) return nm_yaml_fail(list, err, "distortion must be a list of numbers");
    nm_yaml_each(value, list)
    {
        if (at == most) return nm_yaml_fail(value, err, "this lens has %u distortion coefficients at most", most);
        if (nm_yaml_number(value, &lens->k[at], err)) return -1;
        if (!(fabs(lens->k[at++]) < 1e3)) return nm_yaml_fail(value, err, "distortion: this coefficient is no lens");
    }
    return 0;
}

static int read_lens(const struct nm_yaml *map, struct nm_camera *lens, struct nm_err *err)
{
    static const char *const lenses[] = {"pinhole", "brown_conrady", "fisheye"};
    const struct nm_yaml *node = nm_yaml_get(map, "lens");
    const char *name = "pinhole";
    if (node && nm_yaml_text(node, &name, err)) return -1;
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, lenses[i])) {
            lens->lens = (enum nm_lens)i;
            return read_distortion(nm_yaml_get(map, "distortion"), lens, err);
        }
    return nm_yaml_fail(node, err, "lens: %s is none of pinhole, brown_conrady, fisheye", name);
}

/* An optical frame that the URDF lacks is made from the camera's own: camera_optical_frame from camera or camera_frame.
 */
static int32_t named_frame(struct body_build *b, const char *name)
{
    int32_t at = nm_find_frame(b->body, name);
    for (uint32_t i = 0; at < 0 && i < b->body->n_frames; i++)
        if (!strcmp(optical_name(b, b->frames[i].name), name)) at = (int32_t)i;
    return at;
}

static int read_camera(struct body_build *b, const struct nm_yaml *map)
{
    static const char *const keys[] = {"frame", "width", "height",     "fx",  "fy",    "cx",
                                       "cy",    "lens",  "distortion", "fps", "format"};
    struct nm_body *body = b->body;
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof *keys, b->err)) return -1;
    if (body->n_cameras == NM_CAMERAS) return nm_yaml_fail(map, b->err, "more than %d cameras", NM_CAMERAS);
    struct nm_body_camera c = {.name = map->key, .format = "yuyv"};
    const char *frame = map->key;
    double width = 0, height = 0;
    const struct build_member members[] = {
        {"width", &width, 1, 8192, NEEDED | WHOLE}, {"height", &height, 1, 8192, NEEDED | WHOLE},
        {"fx", &c.lens.fx, 1, 1e5, NEEDED},         {"fy", &c.lens.fy, 1, 1e5, NEEDED},
        {"cx", &c.lens.cx, -1e5, 1e5, NEEDED},      {"cy", &c.lens.cy, -1e5, 1e5, NEEDED},
        {"fps", &c.fps, 0.1, 1000, NEEDED}};
    if (build_members(map, members, sizeof members / sizeof *members, b->err)) return -1;
    const struct nm_yaml *node;
    if ((node = nm_yaml_get(map, "frame")) && nm_yaml_text(node, &frame, b->err)) return -1;
    if ((node = nm_yaml_get(map, "format")) && nm_yaml_text(node, &c.format, b->err)) return -1;
    if (read_lens(map, &c.lens, b->err)) return -1;
    c.lens.width = (uint32_t)width, c.lens.height = (uint32_t)height;
    nm_camera_ready(&c.lens);

    int32_t at = named_frame(b, frame);
    if (at < 0) return nm_yaml_fail(map, b->err, "camera %s: the URDF has no link called %s", map->key, frame);
    at = optical_frame(b, (uint32_t)at);
    if (at < 0) return nm_yaml_fail(map, b->err, "camera %s: no room for its optical frame", map->key);
    c.frame = (uint32_t)at;
    body->cameras[body->n_cameras++] = c;
    return 0;
}

int build_cameras_file(struct body_build *b, const char *path)
{
    const struct nm_yaml *file = nm_yaml_read(b->arena, path, b->err);
    if (!file) return -1;
    if (file->kind != NM_YAML_MAP) return nm_yaml_fail(file, b->err, "a map of cameras is expected here");
    int fault = 0;
    nm_yaml_each(camera, file) fault |= read_camera(b, camera);
    return fault;
}

/* ---- what was calibrated ---- */

static int read_turn(const struct nm_yaml *map, const char *key, double turn[3], struct nm_err *err)
{
    const struct nm_yaml *list = nm_yaml_get(map, key);
    uint32_t n = 0;
    if (!list) return 0;
    nm_yaml_each(value, list)
    {
        double degrees;
        if (n == 3 || nm_yaml_number(value, &degrees, err)) break;
        if (!(fabs(degrees) <= 45)) return nm_yaml_fail(value, err, "%s: no more than 45 degrees are possible", key);
        turn[n++] = degrees * M_PI / 180;
    }
    return n == 3 && list->n == 3
               ? 0
               : nm_yaml_fail(list, err, "%s must be three angles in degrees: roll, pitch, yaw", key);
}

static int correct_camera(struct body_build *b, const struct nm_yaml *map, struct nm_mount mounts[])
{
    static const char *const keys[] = {"neck", "turn", "fx", "fy", "cx", "cy", "distortion"};
    struct nm_body *body = b->body;
    uint32_t i = 0;
    while (i < body->n_cameras && strcmp(body->cameras[i].name, map->key)) i++;
    if (i == body->n_cameras) return nm_yaml_fail(map, b->err, "the robot has no camera called %s", map->key);
    struct nm_camera *lens = &body->cameras[i].lens;
    const struct build_member members[] = {{"fx", &lens->fx, 1, 1e5, OPTIONAL},
                                           {"fy", &lens->fy, 1, 1e5, OPTIONAL},
                                           {"cx", &lens->cx, -1e5, 1e5, OPTIONAL},
                                           {"cy", &lens->cy, -1e5, 1e5, OPTIONAL}};
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof *keys, b->err) ||
        build_members(map, members, sizeof members / sizeof *members, b->err) ||
        read_distortion(nm_yaml_get(map, "distortion"), lens, b->err) ||
        read_turn(map, "neck", mounts[i].neck, b->err) || read_turn(map, "turn", mounts[i].turn, b->err))
        return -1;
    nm_camera_ready(lens);
    return 0;
}

/* Turns frames and the neck's first joint; the sum of all cameras' necks counts, and only one camera should have one.
 */
static void turn_mounts(struct body_build *b, const struct nm_mount mounts[])
{
    struct nm_body *body = b->body;
    const double q[NM_JOINTS] = {0};
    struct nm_kin zero;
    nm_forward(body, POSE_IDENTITY, q, &zero);
    for (uint32_t i = 0; i < body->n_cameras; i++) {
        const struct nm_mount *m = &mounts[i];
        struct nm_frame *frame = &b->frames[body->cameras[i].frame];
        body->cameras[i].mount = *m;
        frame->to_link.rot =
            quat_mul(frame->to_link.rot, quat_seen_from(quat_inv(zero.pose[body->cameras[i].frame].rot),
                                                        quat_rpy(m->turn[0], m->turn[1], m->turn[2])));
        if (!body->head.n) continue;
        struct nm_joint *joint = &b->joints[body->head.joints[0]];
        joint->to_parent.rot = quat_mul(
            quat_seen_from(quat_inv(zero.pose[joint->parent].rot), quat_rpy(m->neck[0], m->neck[1], m->neck[2])),
            joint->to_parent.rot);
    }
    body->steps = build_steps(b->arena, body);
    nm_forward(body, POSE_IDENTITY, q, &b->zero);
}

int build_calibration_file(struct body_build *b, const char *path)
{
    struct nm_mount mounts[NM_CAMERAS] = {0};
    const struct nm_yaml *file = nm_yaml_read(b->arena, path, b->err);
    if (!file) return -1;
    if (file->kind != NM_YAML_MAP) return nm_yaml_fail(file, b->err, "a map of cameras is expected here");
    int fault = 0;
    nm_yaml_each(camera, file) fault |= correct_camera(b, camera, mounts);
    if (!fault) turn_mounts(b, mounts);
    return fault;
}

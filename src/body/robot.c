#include "body/robot.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "body/animation.h"
#include "body/build.h"

/* the URDF links while they are sorted into ours */
struct sorting {
    const struct nm_urdf *urdf;
    struct body_build *b;
    struct nm_inertia *inertia;
    uint32_t link_of[NM_URDF_LINKS];     /* our link             */
    struct pose3 to_link[NM_URDF_LINKS]; /* its pose in that one */
    uint32_t frame_of[NM_URDF_LINKS];
    int32_t joint_of[NM_URDF_LINKS]; /* URDF joint to ours, -1 if fixed */
    uint32_t source[NM_LINKS];       /* our link to the URDF link it is named after */
};

/* Adds a rigid part to a whole: masses, centres, and the tensors moved to the common centre (Steiner). */
static void add_inertia(struct nm_inertia *whole, const struct nm_inertia *part, struct pose3 to_link)
{
    if (part->mass <= 0) return;
    struct mat3 r = quat_to_mat3(to_link.rot);
    struct mat3 t = {{{part->xx, part->xy, part->xz}, {part->xy, part->yy, part->yz}, {part->xz, part->yz, part->zz}}};
    t = mat3_mul(mat3_mul(r, t), mat3_transpose(r));

    struct vec3 com = pose_apply(to_link, part->com), d = vec3_sub(com, whole->com);
    double mass = whole->mass + part->mass, k = whole->mass * part->mass / mass;
    whole->com = vec3_add(whole->com, vec3_scale(d, part->mass / mass));
    whole->mass = mass;
    whole->xx += t.m[0][0] + k * (d.y * d.y + d.z * d.z);
    whole->yy += t.m[1][1] + k * (d.x * d.x + d.z * d.z);
    whole->zz += t.m[2][2] + k * (d.x * d.x + d.y * d.y);
    whole->xy += t.m[0][1] - k * d.x * d.y;
    whole->xz += t.m[0][2] - k * d.x * d.z;
    whole->yz += t.m[1][2] - k * d.y * d.z;
}

const char *build_name(struct body_build *b, const char *name)
{
    enum { MOST = NM_JOINT_NAME - 1, KEPT = MOST - 5 };
    uint32_t sum = 2166136261u;
    if (strlen(name) <= MOST) return name;
    for (const char *at = name; *at; at++) sum = (sum ^ (uint8_t)*at) * 16777619u; /* FNV-1a */
    const char *made = nm_take_format(b->arena, "%.*s_%04x", KEPT, name, (sum ^ sum >> 16) & 0xffff);
    if (!b->shortened++)
        nm_fail(b->body->notes, "names of more than %d characters are shortened, the first: %s is called %s", MOST,
                name, made);
    return made;
}

static int add_joint(struct sorting *s, uint32_t at)
{
    const struct nm_urdf_joint *from = &s->urdf->joints[at];
    struct nm_body *body = s->b->body;
    if (body->n_joints == NM_JOINTS)
        return nm_fail(s->b->err, "%s:%u: joint %s is one more than the %d moving joints there is room for",
                       s->urdf->file, from->line, from->name, NM_JOINTS);
    struct nm_joint *j = &s->b->joints[body->n_joints];
    *j = (struct nm_joint){
        .name = build_name(s->b, from->name), .type = from->type, .axis = from->axis, .lower = from->lower};
    j->upper = from->upper, j->velocity = from->velocity, j->effort = from->effort;
    j->damping = from->damping, j->friction = from->friction;
    j->parent = s->link_of[from->parent];
    j->to_parent = pose_mul(s->to_link[from->parent], from->to_parent);
    j->mimic = j->servo = -1;
    if (from->type == NM_CONTINUOUS)
        j->lower = -INFINITY, j->upper = INFINITY;
    else if (!from->limited)
        j->lower = -M_PI, j->upper = M_PI;
    s->joint_of[at] = (int32_t)body->n_joints++;
    s->source[body->n_links] = from->child;
    s->link_of[from->child] = body->n_links++;
    s->to_link[from->child] = POSE_IDENTITY;
    return 0;
}

/* Depth first, children in the order of the file. The depth is bounded by the reader's limit on links. */
static int sort_link(struct sorting *s, uint32_t at)
{
    add_inertia(&s->inertia[s->link_of[at]], &s->urdf->links[at].inertia, s->to_link[at]);
    for (uint32_t i = 0; i < s->urdf->n_joints; i++) {
        const struct nm_urdf_joint *j = &s->urdf->joints[i];
        if (j->parent != at) continue;
        if (j->type == NM_FIXED) {
            s->link_of[j->child] = s->link_of[at];
            s->to_link[j->child] = pose_mul(s->to_link[at], j->to_parent);
        } else if (add_joint(s, i)) {
            return -1;
        }
        if (sort_link(s, j->child)) return -1;
    }
    return 0;
}

/* The link that gives the base its frame: base_link if it is fixed to the root, else the root. */
static uint32_t pick_base(const struct nm_urdf *u, struct pose3 *base_to_root)
{
    *base_to_root = POSE_IDENTITY;
    for (uint32_t i = 0; i < u->n_links; i++) {
        if (strcmp(u->links[i].name, "base_link")) continue;
        struct pose3 pose = POSE_IDENTITY;
        for (uint32_t at = i; at != u->root; at = u->joints[u->links[at].joint].parent) {
            if (u->joints[u->links[at].joint].type != NM_FIXED) return u->root;
            pose = pose_mul(u->joints[u->links[at].joint].to_parent, pose);
        }
        *base_to_root = pose;
        return i;
    }
    return u->root;
}

int32_t build_frame(struct body_build *b, const char *name, uint32_t link, struct pose3 to_link)
{
    if (b->body->n_frames == NM_FRAMES) return -1;
    b->frames[b->body->n_frames] = (struct nm_frame){build_name(b, name), link, to_link};
    return (int32_t)b->body->n_frames++;
}

/* `moved`: the base's frame is none of the URDF's. */
static int make_frames(struct sorting *s, bool moved)
{
    struct nm_body *body = s->b->body;
    if (moved) build_frame(s->b, "base_link", 0, POSE_IDENTITY);
    for (uint32_t i = moved; i < body->n_links; i++)
        s->frame_of[s->source[i]] = (uint32_t)build_frame(s->b, s->urdf->links[s->source[i]].name, i, POSE_IDENTITY);
    for (uint32_t i = 0; i < s->urdf->n_links; i++) {
        if (s->source[s->link_of[i]] == i && !(moved && s->link_of[i] == 0)) continue;
        const char *name = s->urdf->links[i].name;
        if (moved && !strcmp(name, "base_link")) name = "base_link_of_urdf";
        int32_t frame = build_frame(s->b, name, s->link_of[i], s->to_link[i]);
        if (frame < 0)
            return nm_fail(s->b->err, "%s:%u: link %s is one more than the %d there is room for", s->urdf->file,
                           s->urdf->links[i].line, s->urdf->links[i].name, NM_FRAMES);
        s->frame_of[i] = (uint32_t)frame;
    }
    return 0;
}

static const struct nm_link_shape *make_shapes(struct sorting *s, const struct nm_link_shape *from, uint32_t n)
{
    struct nm_link_shape *to = nm_take_n(s->b->arena, struct nm_link_shape, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
        to[i].frame = s->frame_of[from[i].link];
        to[i].link = s->link_of[from[i].link];
        to[i].to_link = pose_mul(s->to_link[from[i].link], from[i].to_link);
    }
    return to;
}

static void note_massless(struct nm_body *body, const char *file)
{
    for (uint32_t i = 1; i < body->n_links; i++)
        if (!(body->inertia[i].mass > 0))
            nm_fail(body->notes, "%s: link %s moves but has no mass", file, body->frames[i].name);
}

static int sort_body(struct body_build *b, const struct nm_urdf *urdf, uint32_t facing, double lift)
{
    struct sorting *s = nm_take_n(b->arena, struct sorting, 1);
    struct nm_body *body = b->body = nm_take_n(b->arena, struct nm_body, 1);
    s->urdf = urdf;
    s->b = b;
    b->shortened = 0;
    s->inertia = nm_take_n(b->arena, struct nm_inertia, NM_LINKS);
    b->joints = nm_take_n(b->arena, struct nm_joint, NM_JOINTS);
    b->frames = nm_take_n(b->arena, struct nm_frame, NM_FRAMES);
    *body = (struct nm_body){.name = urdf->name, .about = "", .path = urdf->file, .offers = NM_OFFERS_JOINT_GOALS};
    b->inertia = s->inertia;
    body->facing = facing;
    body->urdf = urdf->text;
    body->joints = b->joints, body->frames = b->frames, body->inertia = s->inertia, body->notes = urdf->notes;
    body->imu = body->foot[0].toe = body->foot[1].toe = -1;

    struct pose3 base_to_root;
    uint32_t base = pick_base(urdf, &base_to_root);
    struct pose3 ours = {quat_axis((struct vec3){0, 0, 1}, facing * M_PI / 2), {0, 0, lift}};
    base_to_root = pose_mul(base_to_root, ours);
    s->source[0] = base;
    body->n_links = 1;
    s->to_link[urdf->root] = pose_inv(base_to_root);
    if (sort_link(s, urdf->root) || make_frames(s, facing || lift > 0)) return -1;
    b->frames[0].to_link = POSE_IDENTITY;

    for (uint32_t i = 0; i < urdf->n_joints; i++) {
        const struct nm_urdf_joint *j = &urdf->joints[i];
        if (j->type == NM_FIXED || j->mimic < 0) continue;
        struct nm_joint *ours = &b->joints[s->joint_of[i]];
        ours->mimic = s->joint_of[j->mimic], ours->multiplier = j->multiplier, ours->offset = j->offset;
    }
    for (uint32_t i = 0; i < body->n_links; i++) body->mass += s->inertia[i].mass;
    body->n_visuals = urdf->n_visuals, body->visuals = make_shapes(s, urdf->visuals, urdf->n_visuals);
    body->n_collisions = urdf->n_collisions, body->collisions = make_shapes(s, urdf->collisions, urdf->n_collisions);
    body->steps = build_steps(b->arena, body);
    double q[NM_JOINTS] = {0};
    nm_forward(body, POSE_IDENTITY, q, &b->zero);
    return 0;
}

/* The URDF with a base_link at the hips, so that whoever draws the robot from it has the base's frame, too; as it is if
 * it has one already. */
static const char *lift_text(struct nm_arena *arena, const struct nm_urdf *urdf, double lift)
{
    const char *end = NULL;
    for (const char *at = urdf->text; at && (at = strstr(at, "</robot>")); at++) end = at;
    for (uint32_t i = 0; i < urdf->n_links; i++)
        if (!strcmp(urdf->links[i].name, "base_link")) end = NULL;
    const char *root = urdf->links[urdf->root].name;
    if (!end || strpbrk(root, "<>&\"")) return urdf->text;
    return nm_take_format(
        arena,
        "%.*s<link name=\"base_link\"/>\n<joint name=\"base_link_at_hips\" type=\"fixed\">\n"
        "<parent link=\"%s\"/>\n<child link=\"base_link\"/>\n<origin xyz=\"0 0 %.9g\"/>\n</joint>\n%s",
        (int)(end - urdf->text), urdf->text, root, lift, end);
}

/* The body with x forward and its base at the hips: it is sorted twice if the URDF has another axis there or the base
 * on the ground. `forward`: quarter turns that robot.yaml names, -1: to be found out. */
static int make_body(struct body_build *b, const struct nm_urdf *urdf, int forward)
{
    const char *beside = dirname(nm_take_text(b->arena, urdf->file));
    struct nm_err why = {0}, before = *urdf->notes;
    if (sort_body(b, urdf, 0, 0)) return -1;
    build_shapes(b, beside);
    if (forward < 0) forward = build_facing(b, &why);
    double lift = build_lift(b);
    if (forward || lift > 0) {
        *urdf->notes = before;
        if (sort_body(b, urdf, (uint32_t)forward, lift)) return -1;
        build_shapes(b, beside);
    }
    if (lift > 0) {
        b->body->urdf = lift_text(b->arena, urdf, lift);
        nm_fail(b->body->notes, "the base of the URDF lies %.3g m below the hips: its frame is lifted to them", lift);
    }
    if (why.n) nm_fail(b->body->notes, "%.*s", (int)(why.used - 1), why.text);
    note_massless(b->body, urdf->file);
    return 0;
}

const struct nm_body *nm_body_from_urdf(struct nm_arena *arena, const struct nm_urdf *urdf, struct nm_err *err)
{
    struct body_build b = {.arena = arena, .err = err};
    if (make_body(&b, urdf, -1)) return NULL;
    build_groups(&b);
    build_inertias(&b);
    build_cameras(&b);
    return b.body;
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static int read_forward(const struct nm_yaml *file, int *quarter, struct nm_err *err)
{
    static const char *const axes[] = {"x", "y", "-x", "-y"};
    const struct nm_yaml *node = nm_yaml_get(file, "forward");
    const char *name;
    if (!node) return 0;
    if (nm_yaml_text(node, &name, err)) return -1;
    for (*quarter = 0; *quarter < 4; ++*quarter)
        if (!strcmp(name, axes[*quarter])) return 0;
    return nm_yaml_fail(node, err, "forward: %s is none of x, y, -x, -y", name);
}

static int load_folder(struct body_build *b, const char *folder)
{
    static const struct {
        const char *name;
        int (*read)(struct body_build *, const char *path);
    } files[] = {{"servos.yaml", build_servos_file}, {"cameras.yaml", build_cameras_file}};

    const char *urdf_path = nm_take_format(b->arena, "%s/robot.urdf", folder);
    const struct nm_urdf *urdf = nm_urdf_read(b->arena, urdf_path, b->err);
    const char *path = nm_take_format(b->arena, "%s/robot.yaml", folder);
    const struct nm_yaml *file = urdf && exists(path) ? nm_yaml_read(b->arena, path, b->err) : NULL;
    int forward = -1, fault = 0;
    if (!urdf || (!file && exists(path)) || (file && read_forward(file, &forward, b->err))) return -1;
    if (make_body(b, urdf, forward)) return -1;
    b->body->path = nm_take_text(b->arena, folder);
    if (file) fault = build_robot_file(b, file);
    if (!fault) build_groups(b);
    if (!fault) build_inertias(b);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        path = nm_take_format(b->arena, "%s/%s", folder, files[i].name);
        if (exists(path)) fault |= files[i].read(b, path);
    }
    path = nm_take_format(b->arena, "%s/params.yaml", folder);
    if (exists(path)) {
        b->body->params = nm_yaml_read(b->arena, path, b->err);
        if (!b->body->params)
            fault = -1;
        else if (b->body->params->kind != NM_YAML_MAP)
            fault = nm_yaml_fail(b->body->params, b->err, "a map of module instances is expected here");
    }
    if (!fault) build_cameras(b);
    path = nm_take_format(b->arena, "%s/cameras.saved.yaml", folder);
    if (!fault && !b->uncalibrated && exists(path)) fault = build_calibration_file(b, path);
    path = nm_take_format(b->arena, "%s/animations", folder);
    if (!fault)
        fault = nm_animations_read(b->arena, b->body, path, &b->body->animations, &b->body->n_animations, b->err);
    return fault;
}

static const struct nm_body *load(struct nm_arena *arena, const char *path, bool uncalibrated, struct nm_err *err)
{
    struct stat info;
    if (stat(path, &info)) return nm_fail(err, "%s: there is no such robot folder or URDF file", path), NULL;
    if (S_ISDIR(info.st_mode)) {
        struct body_build b = {.arena = arena, .err = err, .uncalibrated = uncalibrated};
        return load_folder(&b, path) ? NULL : b.body;
    }
    const struct nm_urdf *urdf = nm_urdf_read(arena, path, err);
    return urdf ? nm_body_from_urdf(arena, urdf, err) : NULL;
}

const struct nm_body *nm_body_load(struct nm_arena *arena, const char *path, struct nm_err *err)
{
    return load(arena, path, false, err);
}

const struct nm_body *nm_body_uncalibrated(struct nm_arena *arena, const char *path, struct nm_err *err)
{
    return load(arena, path, true, err);
}

const uint8_t *nm_robot_description(struct nm_arena *arena, const char *folder, size_t *n)
{
    enum { HEAD = 8, MOST = 4 << 20 }; /* CDR's own four bytes, and the length with its NUL */
    struct stat info;
    FILE *file = fopen(nm_take_format(arena, "%s/robot.urdf", folder), "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    if (!fstat(fileno(file), &info) && S_ISREG(info.st_mode) && info.st_size < MOST) {
        uint32_t length = (uint32_t)info.st_size + 1;
        bytes = nm_take(arena, HEAD + length); /* zeros */
        bytes[1] = 1;                          /* little endian */
        for (int i = 0; i < 4; i++) bytes[4 + i] = (uint8_t)(length >> 8 * i);
        *n = HEAD + length;
        if (fread(bytes + HEAD, 1, length - 1, file) != length - 1) bytes = NULL;
    }
    fclose(file);
    return bytes;
}

int32_t nm_find_joint(const struct nm_body *body, const char *name)
{
    for (uint32_t i = 0; i < body->n_joints; i++)
        if (!strcmp(body->joints[i].name, name)) return (int32_t)i;
    return -1;
}

int32_t nm_find_joint_near(const struct nm_body *body, const char *name, uint32_t guess)
{
    if (guess < body->n_joints && !strcmp(body->joints[guess].name, name)) return (int32_t)guess;
    return nm_find_joint(body, name);
}

uint64_t nm_take_joints(const struct nm_body *body, const char (*names)[NM_JOINT_NAME], uint32_t n_names,
                        const double *positions, uint32_t n_positions, double q[])
{
    uint64_t taken = 0;
    for (uint32_t i = 0, guess = 0; i < n_names && i < n_positions; i++) {
        int32_t joint = nm_find_joint_near(body, names[i], guess);
        if (joint < 0 || !isfinite(positions[i])) continue;
        guess = (uint32_t)joint + 1;
        q[joint] = positions[i];
        taken |= 1ull << joint;
    }
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_joint *j = &body->joints[i];
        if (j->mimic < 0 || !(taken >> j->mimic & 1)) continue;
        q[i] = j->multiplier * q[j->mimic] + j->offset;
        taken |= 1ull << i;
    }
    return taken;
}

int32_t nm_find_frame(const struct nm_body *body, const char *name)
{
    for (uint32_t i = 0; i < body->n_frames; i++)
        if (!strcmp(body->frames[i].name, name)) return (int32_t)i;
    return -1;
}

void nm_apply_mimics(const struct nm_body *body, double q[])
{
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_joint *j = &body->joints[i];
        if (j->mimic >= 0) q[i] = j->multiplier * q[j->mimic] + j->offset;
    }
}

#include "cmd/new_robot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "body/animation_carry.h"
#include "body/kinematics.h"
#include "body/stance.h"
#include "cmd/motors.h"

static const char *const limb_names[] = {"left_leg", "right_leg", "left_arm", "right_arm", "head"};
enum { LIMBS = 5, EXCLUDES = 256 };

static void limbs_of(const struct nm_body *body, const struct nm_group *limbs[LIMBS])
{
    const struct nm_group *all[LIMBS] = {&body->leg[0], &body->leg[1], &body->arm[0], &body->arm[1], &body->head};
    memcpy(limbs, all, sizeof all);
}

/* A text that is written into memory of the arena. */
struct page {
    char *text;
    size_t size;
    FILE *file;
};

static FILE *page_begin(struct page *page)
{
    page->file = nm_memstream(&page->text, &page->size);
    return page->file;
}

static const char *page_end(struct page *page, struct nm_arena *arena)
{
    fclose(page->file);
    const char *text = nm_take_format(arena, "%s", page->text);
    free(page->text);
    return text;
}

/* ---- robot.yaml ---- */

static void put_list(FILE *out, const struct nm_body *body, const struct nm_group *limb)
{
    fputc('[', out);
    for (uint32_t i = 0; i < limb->n; i++) fprintf(out, "%s%s", i ? ", " : "", body->joints[limb->joints[i]].name);
    fputc(']', out);
}

/* m, and roll, pitch, yaw if it is turned */
static void put_pose(FILE *out, struct pose3 p)
{
    struct mat3 m = quat_to_mat3(p.rot);
    double level = hypot(m.m[2][1], m.m[2][2]); /* 0: x points up or down, and only roll - yaw matters */
    double roll = level > 1e-6 ? atan2(m.m[2][1], m.m[2][2]) : atan2(-m.m[1][2], m.m[1][1]);
    fprintf(out, "[%.5g, %.5g, %.5g", p.pos.x, p.pos.y, p.pos.z);
    if (quat_angle(p.rot, QUAT_IDENTITY) > 1e-6)
        fprintf(out, ", %.6g, %.6g, %.6g", roll, atan2(-m.m[2][0], level),
                level > 1e-6 ? atan2(m.m[1][0], m.m[0][0]) : 0);
    fputc(']', out);
}

static void put_foot(FILE *out, const struct nm_body *body, int side)
{
    const struct nm_foot *foot = &body->foot[side];
    if (!body->leg[side].n) return;
    const struct nm_frame *sole = &body->frames[foot->sole];
    fprintf(out, "  %s: {sole: ", side ? "right" : "left");
    if (strncmp(sole->name, "nm_", 3))
        fputs(sole->name, out);
    else
        put_pose(out, sole->to_link);
    if (foot->toe >= 0) fprintf(out, ", toe: %s", body->frames[foot->toe].name);
    for (uint32_t i = 0; i < foot->n_cells; i++)
        fprintf(out, "%s%s", i ? ", " : ", cells: [", body->frames[foot->cells[i]].name);
    fputs(foot->n_cells ? "]}\n" : "}\n", out);
}

/* What stands for meshes, so that the folder needs none. */
static void put_shapes(FILE *out, const struct nm_body *body)
{
    bool any = false;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (!s->mesh && !s->guessed) continue;
        if (!any) fputs("\n# These stand for meshes: m, and rad if a shape is turned.\nshapes:\n", out);
        any = true;
        fprintf(out, "  - {link: %s, at: ", body->frames[s->link].name);
        put_pose(out, s->to_link);
        if (s->kind == NM_BOX)
            fprintf(out, ", box: [%.4g, %.4g, %.4g]}\n", s->size.x, s->size.y, s->size.z);
        else if (s->kind == NM_SPHERE)
            fprintf(out, ", sphere: [%.4g]}\n", s->size.x);
        else
            fprintf(out, ", %s: [%.4g, %.4g]}\n", s->round ? "capsule" : "cylinder", s->size.x, s->size.z);
    }
}

static void put_excludes(FILE *out, const struct nm_body *body)
{
    if (body->n_excludes)
        fputs("\n# These pairs have a bracket between them, or overlap in standing; neighbours are left out anyway.\n"
              "exclude:\n",
              out);
    for (uint32_t i = 0; i < body->n_excludes; i++)
        fprintf(out, "  - [%s, %s]\n", body->frames[body->excludes[i][0]].name,
                body->frames[body->excludes[i][1]].name);
}

static const char *robot_yaml(struct nm_arena *arena, const struct new_robot *r)
{
    struct page page;
    const struct nm_group *limbs[LIMBS];
    static const char *const forward[] = {"x", "y", "-x", "-y"};
    const struct nm_body *body = r->body;
    FILE *out = page_begin(&page);
    limbs_of(body, limbs);
    fprintf(out,
            "# %s, as found in its URDF: correct what is wrong, delete what may be found again.\n"
            "name: %s\n"
            "about: %u joints, %.1f kg\n"
            "height: %.3f                  # m, standing straight\n"
            "offers: [joint_goals]          # what the body takes: joint_goals, walk_velocity, or both\n"
            "forward: %s                     # axis of the URDF's base\n",
            r->name, r->name, body->n_joints, body->mass, body->height, forward[body->facing & 3]);
    if (body->odd_inertias)
        fprintf(out,
                "inertia: fitted                # %u links had one that cannot be theirs; `written` takes it all the "
                "same\n",
                body->odd_inertias);
    fputs("\ngroups:                        # from the base outwards\n", out);
    for (int i = 0; i < LIMBS; i++) {
        if (!limbs[i]->n) continue;
        fprintf(out, "  %s: ", limb_names[i]);
        put_list(out, body, limbs[i]);
        fputc('\n', out);
    }
    if (body->imu >= 0) fprintf(out, "imu: %s\n", body->frames[body->imu].name);
    if (body->leg[0].n)
        fputs("feet:                          # cells: front left, front right, back left, back right\n", out);
    for (int side = 0; side < 2; side++) put_foot(out, body, side);
    put_shapes(out, body);
    put_excludes(out, body);
    return page_end(&page, arena);
}

/* ---- servos.yaml ---- */

static void put_type(FILE *out, const struct nm_servo_type *t)
{
    fprintf(out,
            "  %s:\n    kt: %g\n    resistance: %g\n    armature: %g\n    friction: %g\n    damping: %g\n"
            "    max_torque: %g\n    no_load_speed: %g\n    duty_gain: %g\n    max_duty: %g\n    encoder_steps: %u\n"
            "    backlash: %g\n    max_temperature: %g\n    heat_capacity: %g\n    thermal_resistance: %g\n"
            "    min_voltage: %g\n    max_voltage: %g\n",
            t->name, t->kt, t->resistance, t->armature, t->friction, t->damping, t->max_torque, t->no_load_speed,
            t->duty_gain, t->max_duty, t->encoder_steps, t->backlash, t->max_temperature, t->heat_capacity,
            t->thermal_resistance, t->min_voltage, t->max_voltage);
}

static const char *servos_yaml(struct nm_arena *arena, const struct new_robot *r, const struct motors *m)
{
    struct page page;
    const struct nm_body *body = r->body;
    FILE *out = page_begin(&page);
    fprintf(out,
            "# Motors of %s, guessed from the effort and velocity limits of the URDF; ids count from 1.\n"
            "# Write down the real ones; `nutmeg bus scan` tells who answers.\n"
            "voltage: %g\n"
            "battery: {cells: %g, capacity: %g, resistance: %g, electronics: %g}\n\n"
            "buses:\n  main: {device: /dev/ttyUSB0, baud: 1000000, protocol: %u}\n\n"
            "# torque = kt / resistance * (duty * voltage - kt * speed), with duty = duty_gain * p * error, at most "
            "max_duty;\n"
            "# friction (Coulomb) and damping (viscous) act against it. Nm, A, ohm, V, rad, s.\ntypes:\n",
            r->name, m->voltage, m->battery.cells, m->battery.capacity, m->battery.resistance, m->battery.electronics,
            m->protocol);
    for (uint32_t i = 0; i < m->n_types; i++) put_type(out, &m->types[i]);
    fputs("\n# joint = direction * servo + offset (rad); p, i, d in the firmware's units\njoints:\n", out);
    uint32_t id = 0;
    for (uint32_t j = 0; j < body->n_joints; j++) {
        if (body->joints[j].mimic >= 0) continue; /* another one's servo moves it, too */
        fprintf(out, "  %s: {type: %s, id: %u, bus: main, direction: 1, offset: 0, p: %u, i: 0, d: 0}\n",
                body->joints[j].name, m->types[m->type_of[j]].name, ++id, m->p[j]);
    }
    return page_end(&page, arena);
}

/* ---- cameras.yaml ---- */

/* The one on the head that looks farthest up. */
static uint32_t main_camera(const struct nm_body *body)
{
    uint32_t best = 0;
    double most = -INFINITY, zero[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(body, POSE_IDENTITY, zero, &kin);
    for (uint32_t i = 0; i < body->n_cameras; i++) {
        uint32_t frame = body->cameras[i].frame;
        bool head = body->head.n && body->frames[frame].link == body->head.joints[body->head.n - 1] + 1;
        double value = quat_apply(kin.pose[frame].rot, (struct vec3){0, 0, 1}).z + (head ? 10 : 0);
        if (value > most) most = value, best = i;
    }
    return best;
}

static const char *cameras_yaml(struct nm_arena *arena, const struct new_robot *r)
{
    static const char *const lenses[] = {"pinhole", "brown_conrady", "fisheye"};
    static const uint32_t coefficients[] = {0, 5, 4};
    struct page page;
    FILE *out = page_begin(&page);
    const struct nm_body_camera *like = &r->like->cameras[0];
    uint32_t main = main_camera(r->body), n = r->like->n_cameras ? r->body->n_cameras : 0;
    fprintf(
        out,
        "# The lens is that of %s: write down yours, in pixels. The first camera is the one that line-ups look with;\n"
        "# the topics of each carry its name: camera/image_raw.\n",
        r->like->name);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = k == 0 ? main : k <= main ? k - 1 : k;
        const struct nm_body_camera *c = &r->body->cameras[i];
        const struct nm_camera *lens = &like->lens;
        fprintf(out,
                "%s:\n  frame: %s\n  width: %u\n  height: %u\n  fx: %g\n  fy: %g\n  cx: %g\n  cy: %g\n"
                "  lens: %s            # pinhole, brown_conrady (k1 k2 p1 p2 k3) or fisheye (k1 k2 k3 k4)\n"
                "  distortion: [",
                k ? c->name : "camera", r->body->frames[c->frame].name, lens->width, lens->height, lens->fx, lens->fy,
                lens->cx, lens->cy, lenses[lens->lens]);
        for (uint32_t j = 0; j < coefficients[lens->lens]; j++) fprintf(out, "%s%g", j ? ", " : "", lens->k[j]);
        fprintf(out, "]\n  fps: %g\n  format: %s\n", like->fps, like->format);
    }
    return page_end(&page, arena);
}

/* ---- params.yaml ---- */

/* Parameters that are angles of a limb's joints, of the left one where there are two. */
static const struct pose {
    const char *module, *param;
    bool leg;
    double bend; /* of legs: the pose is found by balance */
} poses[] = {
    {"walk", "arms", false, 0},
    {"arms", "aside", false, 0},
    {"arms", "back", false, 0},
    {"arms", "front", false, 0},
    {"arms", "up", false, 0},
    {"hold_pose", "stand_legs", true, 0.06},
    {"hold_pose", "arms", false, 0},
    {"hold_pose", "sit_legs", true, 0.38},
    {"hold_pose", "straight_legs", true, 0},
};

static const struct nm_param *param_of(const struct nm_module *module, const char *name)
{
    for (const struct nm_param *p = module ? module->params : NULL; p && p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

/* What the other robot has there: its own, or what all have. -1 where it is no list of numbers. */
static int values_of(const struct nm_param *param, const struct nm_yaml *own, double *to, uint32_t most)
{
    uint32_t n = 0;
    if (own && own->kind == NM_YAML_LIST) {
        nm_yaml_each(item, own)
        {
            if (n == most || nm_yaml_number(item, &to[n++], NULL)) return -1;
        }
        return (int)n;
    }
    for (const char *at = param->text ? param->text : ""; *at && n < most; n++) {
        char *end;
        to[n] = strtod(at, &end);
        if (end == at) return -1;
        at = end + strspn(end, " ");
    }
    return (int)n;
}

static bool bends(const double q[], const struct nm_group *limb)
{
    for (uint32_t i = 0; i < limb->n; i++)
        if (fabs(q[limb->joints[i]]) > 1e-3) return true;
    return false;
}

/* Angles of the left limb, of another robot; as this one has them. Nothing is written if they are the same. */
static bool carry_values(const struct new_robot *r, const struct nm_carry *carry, const struct pose *pose,
                         double *values, int n)
{
    const struct nm_group *limb = pose->leg ? &r->like->leg[NM_LEFT] : &r->like->arm[NM_LEFT];
    const struct nm_group *own = pose->leg ? &r->body->leg[NM_LEFT] : &r->body->arm[NM_LEFT];
    double angles[NM_JOINTS] = {0}, q[NM_JOINTS] = {0};
    bool other = false;
    if (pose->bend > 0 || (pose->leg && carry->leg_by_pose[NM_LEFT])) {
        double bend = pose->bend; /* as deep as it can */
        do {
            nm_stance(r->body, bend, q);
            bend *= 0.8;
        } while (bend > 0.02 && !bends(q, own));
    } else if (!pose->leg && carry->arm_by_pose[NM_LEFT]) {
        for (uint32_t i = 0; i < limb->n && (int)i < n; i++) angles[limb->joints[i]] = values[i];
        if (!own->n || !nm_carry_arm(r->like, angles, r->body, NM_LEFT, (uint32_t)n, q)) return false;
    } else {
        for (uint32_t i = 0; i < limb->n && (int)i < n; i++) {
            uint32_t j = limb->joints[i], k = (uint32_t)carry->to[j];
            q[k] = carry->sign[j] * values[i] + carry->offset[j];
        }
    }
    for (uint32_t i = 0; (int)i < n; i++) {
        double value = 0;
        if (i < own->n) {
            const struct nm_joint *to = &r->body->joints[own->joints[i]];
            value = fmin(fmax(q[own->joints[i]], to->lower), to->upper);
            if (fabs(value) < 1e-6) value = 0;
        }
        other |= fabs(value - values[i]) > 1e-9;
        values[i] = value;
    }
    return other;
}

static const char *params_yaml(struct nm_arena *arena, const struct new_robot *r, const struct nm_carry *carry)
{
    struct page page;
    FILE *out = page_begin(&page);
    fputs("# Parameters of module instances for this robot, over config/default and under places and events:\n"
          "#     instance: {parameter: value}\n"
          "# Lengths and times of the walk are scaled to the legs; what `nutmeg tune` finds belongs here.\n",
          out);
    const char *last = "";
    for (size_t i = 0; i < sizeof poses / sizeof *poses; i++) {
        enum { MOST = 16 };
        double values[MOST];
        const struct nm_param *param = param_of(nm_registry_find(r->registry, poses[i].module), poses[i].param);
        const struct nm_yaml *own = r->like->params ? nm_yaml_get(r->like->params, poses[i].module) : NULL;
        int n = param ? values_of(param, own ? nm_yaml_get(own, poses[i].param) : NULL, values, MOST) : -1;
        if (n < 1 || !carry_values(r, carry, &poses[i], values, n)) continue;
        if (strcmp(last, poses[i].module)) fprintf(out, "%s:\n", last = poses[i].module);
        fprintf(out, "  %s: [", poses[i].param);
        for (int k = 0; k < n; k++) fprintf(out, "%s%.4g", k ? ", " : "", values[k]);
        fputs("]\n", out);
    }
    return page_end(&page, arena);
}

/* ---- the body that the folder will make ---- */

/* The link that bears another one beyond the brackets of a hip, a shoulder or an ankle, whose joints lie close
 * together: how far those two turn against each other is what the limits say, and the shapes there are not meant to be
 * exact. */
static uint32_t beyond_brackets(const struct nm_body *body, uint32_t link, uint32_t brackets)
{
    double way = 0;
    for (; brackets && link; brackets--) {
        uint32_t between = body->joints[link - 1].parent;
        way += vec3_norm(body->joints[link - 1].to_parent.pos);
        if (!between || way > 0.12 * body->height) return 0;
        link = between;
    }
    return link ? body->joints[link - 1].parent + 1 : 0;
}

/* Parts that overlap while the robot stands straight do so only in the shapes of the URDF. */
static void find_excludes(struct nm_arena *arena, struct nm_body *body)
{
    static const double deep = 0.002; /* m */
    uint32_t(*pairs)[2] = nm_take(arena, EXCLUDES * sizeof *pairs), links[2];
    double zero[NM_JOINTS] = {0};
    body->excludes = (const uint32_t(*)[2])pairs;
    body->n_excludes = 0;
    for (uint32_t l = 1; l < body->n_links; l++)
        for (uint32_t brackets = 1; brackets <= 2 && body->n_excludes < EXCLUDES; brackets++) {
            uint32_t bearer = beyond_brackets(body, l, brackets); /* counts from 1 */
            if (!bearer) continue;
            pairs[body->n_excludes][0] = bearer - 1;
            pairs[body->n_excludes++][1] = l;
        }
    for (; body->n_excludes < EXCLUDES; body->n_excludes++) {
        if (!nm_self_collision(body, zero, deep, links)) break;
        memcpy(pairs[body->n_excludes], links, sizeof links);
    }
}

static const struct nm_body *with_motors(struct nm_arena *arena, const struct nm_body *urdf, const struct motors *m)
{
    struct nm_body *body = nm_take_n(arena, struct nm_body, 1);
    struct nm_joint *joints = nm_take_n(arena, struct nm_joint, urdf->n_joints);
    *body = *urdf;
    memcpy(joints, urdf->joints, urdf->n_joints * sizeof *joints);
    for (uint32_t j = 0; j < urdf->n_joints; j++)
        if (joints[j].mimic < 0) joints[j].velocity = m->types[m->type_of[j]].no_load_speed;
    body->joints = joints;
    find_excludes(arena, body);
    return body;
}

/* ---- all of it ---- */

int new_robot_read(struct nm_arena *arena, struct new_robot *robot, const char *path, struct nm_err *err)
{
    robot->body = nm_body_load(arena, path, err);
    if (!robot->body || nm_body_impossible(robot->body, err)) return -1;
    robot->urdf = robot->body->urdf;
    return robot->urdf && strlen(robot->urdf) ? 0 : nm_fail(err, "%s: the file is not text", path);
}

static const char *motion(struct nm_arena *arena, const struct new_robot *r, const struct nm_animation *from,
                          const struct nm_carry *carry, struct nm_err *left)
{
    struct nm_err why = {0};
    const struct nm_animation *a = nm_animation_carry(arena, from, carry, r->body);
    if (!a) nm_fail(&why, "%s: its poses are out of the new robot's reach", from->name);
    if (!a || nm_animation_check(r->body, a, &why)) {
        nm_fail(left, "%.*s", (int)strcspn(why.text, "\n"), why.text);
        return NULL;
    }
    return nm_take_format(arena, "# Taken over from %s.\n%s", r->like->name, nm_animation_text(arena, r->body, a));
}

const struct skeleton_file *new_robot_files(struct nm_arena *arena, const struct new_robot *robot, struct nm_err *said,
                                            struct nm_err *left)
{
    struct new_robot r = *robot;
    struct skeleton_file *files = nm_take_n(arena, struct skeleton_file, 6 + r.like->n_animations);
    struct nm_carry carry;
    uint32_t n = 0;
    struct motors *motors = nm_take_n(arena, struct motors, 1);
    motors_choose(arena, robot->body, robot->like, motors, said);
    r.body = with_motors(arena, robot->body, motors);
    files[n++] = (struct skeleton_file){"robot.urdf", r.urdf};
    files[n++] = (struct skeleton_file){"robot.yaml", robot_yaml(arena, &r)};
    files[n++] = (struct skeleton_file){"servos.yaml", servos_yaml(arena, &r, motors)};
    if (r.body->n_cameras) files[n++] = (struct skeleton_file){"cameras.yaml", cameras_yaml(arena, &r)};
    nm_carry_find(r.like, r.body, &carry);
    files[n++] = (struct skeleton_file){"params.yaml", params_yaml(arena, &r, &carry)};
    for (uint32_t i = 0; i < r.like->n_animations; i++) {
        const struct nm_animation *from = &r.like->animations[i];
        const char *text = motion(arena, &r, from, &carry, left);
        if (text) files[n++] = (struct skeleton_file){nm_take_format(arena, "animations/%s.yaml", from->name), text};
    }
    return files;
}

/* What `nutmeg robot check` prints: a body in words, and what it lacks to play. */
#include <stdio.h>
#include <string.h>

#include "body/dynamics.h"
#include "body/leg_ik.h"
#include "body/look.h"
#include "body/robot.h"
#include "body/stance.h"

static double degrees(double rad) { return rad * 180 / M_PI; }

static const char *axis_name(struct vec3 a)
{
    static const char *const names[] = {"x", "y", "z", "-x", "-y", "-z"};
    const double v[3] = {a.x, a.y, a.z};
    for (int i = 0; i < 3; i++)
        if (fabs(v[i]) > 0.9999) return names[v[i] > 0 ? i : i + 3];
    return "oblique";
}

static void say_joint(FILE *to, const struct nm_body *body, uint32_t joint, struct vec3 axis_in_base)
{
    const struct nm_joint *j = &body->joints[joint];
    fprintf(to, "  %s about %s", j->name, axis_name(axis_in_base));
    if (j->type == NM_PRISMATIC)
        fprintf(to, ", slides %.3f .. %.3f m", j->lower, j->upper);
    else if (isfinite(j->lower))
        fprintf(to, ", %.0f .. %.0f deg", degrees(j->lower), degrees(j->upper));
    else
        fputs(", endless", to);
    if (isfinite(j->effort)) fprintf(to, ", %.1f Nm", j->effort);
    if (isfinite(j->velocity)) fprintf(to, ", %.1f rad/s", j->velocity);
    if (j->servo >= 0)
        fprintf(to, ", %s id %u", body->servo_types[body->servos[j->servo].type].name, body->servos[j->servo].id);
    if (j->mimic >= 0) fprintf(to, ", follows %s", body->joints[j->mimic].name);
}

/* Links are sorted depth first, so that printing them in order with their depth is the tree. */
static void say_tree(FILE *to, const struct nm_body *body)
{
    uint32_t depth[NM_LINKS] = {0};
    double q[NM_JOINTS] = {0};
    struct nm_kin zero;
    nm_forward(body, POSE_IDENTITY, q, &zero);
    fputs("links (mass; the joint that carries each, its axis at zero as the base sees it)\n", to);
    for (uint32_t i = 0; i < body->n_links; i++) {
        if (i) depth[i] = depth[body->joints[i - 1].parent] + 1;
        int indent = (int)(2 * (depth[i] < 20 ? depth[i] : 20));
        fprintf(to, "  %*s%-*s %6.3f kg", indent, "", 40 - indent > 1 ? 40 - indent : 1, body->frames[i].name,
                body->inertia[i].mass);
        if (i) say_joint(to, body, i - 1, quat_apply(zero.pose[i].rot, body->joints[i - 1].axis));
        fputs("\n", to);
    }
}

static void say_group(FILE *to, const struct nm_body *body, const char *name, const struct nm_group *g)
{
    fprintf(to, "  %-10s", name);
    if (!g->n) fputs("not found", to);
    for (uint32_t i = 0; i < g->n; i++) fprintf(to, "%s%s", i ? ", " : "", body->joints[g->joints[i]].name);
    if (g->n) fprintf(to, " -> %s", body->frames[g->end].name);
    fputs("\n", to);
}

static void say_inverse(FILE *to, const struct nm_body *body)
{
    static const char *const sides[] = {"left", "right"};
    for (int side = 0; side < 2; side++) {
        struct nm_leg leg;
        if (!body->leg[side].n || nm_leg_init(&leg, body, (enum nm_side)side, NULL)) continue;
        if (leg.method == NM_LEG_CLOSED)
            fprintf(to, "  %s leg: hip and ankle axes meet, its inverse kinematics is closed\n", sides[side]);
        else if (leg.method == NM_LEG_SCANNED)
            fprintf(to,
                    "  %s leg: the first hip axis misses the others by %.1f mm, its inverse kinematics searches one "
                    "joint\n",
                    sides[side], leg.miss * 1000);
        else
            fprintf(to, "  %s leg: %u joints whose axes do not meet, its inverse kinematics is numeric\n", sides[side],
                    leg.chain.n);
        fprintf(to, "  %s leg: %s bends the knee %s, %s\n", sides[side],
                body->joints[leg.chain.joints[leg.pitch[1]]].name,
                leg.backwards ? "backwards" : "forwards, the human way",
                leg.by_limits ? "as its limits say" : "because its limits leave both ways open");
        if (leg.chain.released)
            fprintf(to, "  %s leg: with %u joints it cannot turn its foot freely about%s%s%s\n", sides[side],
                    leg.chain.n, leg.chain.released & 1 ? " x" : "", leg.chain.released & 2 ? " y" : "",
                    leg.chain.released & 4 ? " z" : "");
        if (leg.coupled >= 0)
            fprintf(to, "  %s leg: %s is coupled to the other leg\n", sides[side],
                    body->joints[leg.chain.joints[leg.coupled]].name);
    }
}

static void say_sensors(FILE *to, const struct nm_body *body)
{
    static const char *const lenses[] = {"pinhole", "brown_conrady", "fisheye"};
    fputs("sensors\n", to);
    for (uint32_t i = 0; i < body->n_cameras; i++) {
        const struct nm_body_camera *c = &body->cameras[i];
        fprintf(to, "  camera    %s in %s: %u x %u, %.0f degrees across, %s, %g Hz, %s\n", c->name,
                body->frames[c->frame].name, c->lens.width, c->lens.height,
                degrees(2 * atan(c->lens.width / 2.0 / c->lens.fx)), lenses[c->lens.lens], c->fps, c->format);
    }
    if (body->imu >= 0) fprintf(to, "  imu       %s\n", body->frames[body->imu].name);
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *f = &body->foot[side];
        for (uint32_t i = 0; i < f->n_cells; i++)
            fprintf(to, "%s%s%s", i ? ", " : "  cells     ", body->frames[f->cells[i]].name,
                    i + 1 == f->n_cells ? "\n" : "");
    }
}

static void say_lines(FILE *to, const char *title, const struct nm_err *lines)
{
    if (!lines->n) return;
    fprintf(to, "%s\n", title);
    for (const char *at = lines->text; *at;) {
        size_t length = strcspn(at, "\n");
        fprintf(to, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

void nm_body_describe(const struct nm_body *body, FILE *to)
{
    struct nm_err missing = {0};
    fprintf(to, "%s (%s)%s%s\n", body->name, body->path, *body->about ? ": " : "", body->about);
    fprintf(to, "  %.3f kg, %.3f m, %u joints, %u frames, %u visual and %u collision shapes, offers%s%s\n", body->mass,
            body->height, body->n_joints, body->n_frames, body->n_visuals, body->n_collisions,
            body->offers & NM_OFFERS_JOINT_GOALS ? " joint_goals" : "",
            body->offers & NM_OFFERS_WALK_VELOCITY ? " walk_velocity" : "");
    say_tree(to, body);
    fputs("limbs\n", to);
    say_group(to, body, "left leg", &body->leg[NM_LEFT]);
    say_group(to, body, "right leg", &body->leg[NM_RIGHT]);
    say_group(to, body, "left arm", &body->arm[NM_LEFT]);
    say_group(to, body, "right arm", &body->arm[NM_RIGHT]);
    say_group(to, body, "head", &body->head);
    say_inverse(to, body);
    say_sensors(to, body);
    say_lines(to, "notes", body->notes);
    if (nm_body_refused(body, &missing)) say_lines(to, "it cannot walk", &missing);
    if (nm_body_missing(body, &missing))
        say_lines(to, "missing to play", &missing);
    else
        fputs("nothing is missing to play\n", to);
}

static void missing_joints(const struct nm_body *body, struct nm_err *out)
{
    uint32_t without = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < body->n_joints; i++)
        if (body->joints[i].servo < 0 && body->joints[i].mimic < 0) {
            first = first ? first : body->joints[i].name;
            without++;
        }
    if (!body->n_servos)
        nm_fail(out, "no servo drives the joints: write servos.yaml beside the URDF, in a folder of its own");
    else if (without)
        nm_fail(out, "%u joint%s no servo in servos.yaml, the first is %s", without, without > 1 ? "s have" : " has",
                first);
}

static bool has_shapes(const struct nm_body *body, uint32_t link)
{
    for (uint32_t i = 0; i < body->n_collisions; i++)
        if (body->collisions[i].link == link) return true;
    return false;
}

/* A walk stands on one leg with bent knees; and like a pendulum on its head the body tips over unless its ankles are
 * stiffer than its weight. */
static void refuse_weak(const struct nm_body *body, const struct nm_leg *leg, struct nm_err *out)
{
    static const double BENT = 0.1, STIFFER = 1.2; /* of the leg; times */
    double q[NM_JOINTS], zero[NM_JOINTS] = {0};
    struct nm_kin kin;
    struct nm_effort effort;
    nm_stance(body, BENT, q);
    nm_forward(body, POSE_IDENTITY, q, &kin);
    struct vec3 com = nm_com(body, &kin), sole = kin.pose[body->foot[NM_LEFT].sole].pos;
    double weight = body->mass * 9.81, tips = weight * (com.z - sole.z);
    struct vec3 force = {0, 0, weight}, lever = {com.x - sole.x, 0, 0};
    struct nm_motion motion = {
        .base_to_world = POSE_IDENTITY, .gravity = {0, 0, -9.81}, .q = q, .qd = zero, .qdd = zero};
    struct nm_push push = {body->foot[NM_LEFT].sole, force, vec3_cross(lever, force)};
    nm_inverse_dynamics(body, &motion, &push, 1, &effort);
    nm_drive_followers(body, &effort);
    for (int i = 0; i < 3; i++) {
        uint32_t joint = leg->chain.joints[leg->pitch[i]];
        struct nm_motor motor = nm_motor_of(body, joint);
        if (motor.stall > 0 && fabs(effort.torque[joint]) > motor.stall)
            nm_fail(out, "%s needs %.1f Nm to hold %.1f kg on one leg with a bent knee, and its motor has %.1f Nm",
                    body->joints[joint].name, fabs(effort.torque[joint]), body->mass, motor.stall);
        if (i == 2 && motor.stall > 0 && 2 * motor.gain < STIFFER * tips)
            nm_fail(out,
                    "%s and its twin hold the body with %.0f Nm for each radian of tilt, but %.1f kg at %.2f m tip it "
                    "with %.0f Nm: raise p in servos.yaml or take stronger motors",
                    body->joints[joint].name, 2 * motor.gain, body->mass, com.z - sole.z, tips);
    }
}

uint32_t nm_body_impossible(const struct nm_body *body, struct nm_err *out)
{
    uint32_t before = out->n;
    if (!(body->mass > 0.1))
        nm_fail(out, "all links together weigh %g kg: give each <inertial> with mass and inertia", body->mass);
    if (!(body->height > 0.05 && body->height < 5))
        nm_fail(out, "it would be %.3g m tall: a URDF's lengths are metres; scale its origins and shapes",
                body->height);
    return out->n - before;
}

uint32_t nm_body_refused(const struct nm_body *body, struct nm_err *out)
{
    *out = (struct nm_err){0};
    if (!(body->offers & NM_OFFERS_JOINT_GOALS)) return 0;
    nm_body_impossible(body, out);
    if (!body->leg[NM_LEFT].n || !body->leg[NM_RIGHT].n) {
        nm_fail(out, "no legs: a mirrored pair of limbs with at least four joints that ends below the base was not "
                     "found; name them under groups in robot.yaml");
        return out->n;
    }
    for (int side = 0; side < 2; side++) {
        const struct nm_group *leg = &body->leg[side];
        struct nm_leg inverse;
        uint32_t foot = leg->joints[leg->n - 1] + 1;
        double q[NM_GROUP];
        if (nm_leg_init(&inverse, body, (enum nm_side)side, out)) continue;
        struct pose3 sole = {QUAT_IDENTITY, inverse.chain.home.pos};
        sole.pos.z += 0.05 * (inverse.chain.point[inverse.pitch[0]].z - sole.pos.z);
        nm_leg_crouch(&inverse, q);
        if (nm_leg_ik(&inverse, sole, q, NULL) != NM_REACHED)
            nm_fail(out, "the %s leg cannot bend its knee with a flat foot: look at the limits of its joints",
                    side == NM_LEFT ? "left" : "right");
        else if (side == NM_LEFT)
            refuse_weak(body, &inverse, out);
        if (!has_shapes(body, foot))
            nm_fail(out, "%s has no collision shape: in the simulator it would sink into the ground; give it a box",
                    body->frames[foot].name);
    }
    return out->n;
}

uint32_t nm_body_missing(const struct nm_body *body, struct nm_err *out)
{
    nm_body_refused(body, out);
    if (body->offers & NM_OFFERS_JOINT_GOALS) {
        missing_joints(body, out);
        if (body->imu <= 0)
            nm_fail(out, "no imu on the base, only an assumed one: add a fixed link called imu_frame where the real "
                         "one sits, or name its link under imu in robot.yaml");
    }
    if (!body->head.n) nm_fail(out, "no head: a limb of one to four joints above the base that carries a camera");
    if (!body->n_cameras)
        nm_fail(out, "no camera: add a fixed link called camera to the head, and cameras.yaml with its lens");
    else if (body->cameras[0].guessed)
        nm_fail(out, "the lens is only guessed: write cameras.yaml with size, focal length and distortion");
    return out->n;
}

/* lineups/body.yaml on simulated robots that rise, sit down and are pushed: what the line-up believes of torso, weight
 * and camera is what the world knows. The sensors are those of the simulator: delayed, with noise, backlash and bias.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "body/state.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/SupportState.h"
#include "sensor_msgs/Image.h"
#include "sim/stage.h"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

/* Cameras that nobody reads are not simulated. */
struct viewer {
    struct nm *nm;
    const Image *image;
};
#define SELF struct viewer
static void look(struct viewer *f) { (void)f; }
static const struct nm_port viewer_ports[] = {NM_IN(image, Image, "camera/image_raw"), {0}};
NM_MODULE(viewer, "Looks at pictures.", NM_PORTS(viewer_ports), .step = NM_CALL(look))

enum { BODY, PRESSURE, SUPPORT, ODOMETRY, CAMERA, PORTS };
static const struct nm_edge_port ports[PORTS] = {
    [BODY] = {"body_state", NM_PORT_IN, &BodyState_type, 0, 0},
    [PRESSURE] = {"foot_pressure", NM_PORT_IN, &FootPressure_type, 0, 0},
    [SUPPORT] = {"support_state", NM_PORT_IN, &SupportState_type, 0, 0},
    [ODOMETRY] = {"odometry", NM_PORT_IN, &Odometry_type, 0, 0},
    [CAMERA] = {"camera/pose", NM_PORT_IN, &CameraPose_type, 0, 0},
};

struct theatre {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_pitch pitch;
    struct nm_stage *stage;
    struct nm_edge *watcher;
    char lineup[64];
};

/* body.yaml, with somebody who moves the joints and somebody who looks. */
static void write_lineup(struct theatre *t)
{
    char text[8192];
    FILE *from = fopen(NM_ROOT "/lineups/body.yaml", "r");
    assert_non_null(from);
    text[fread(text, 1, sizeof text - 1, from)] = '\0';
    fclose(from);
    strcpy(t->lineup, "/tmp/nutmeg_body_XXXXXX.yaml");
    FILE *to = fdopen(mkstemps(t->lineup, 5), "w");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strstr(line, "- joint_goals")) continue;
        fprintf(to, "%s\n", line);
        if (strstr(line, "- features")) fprintf(to, "      - hold_pose\n      - viewer\n");
    }
    fclose(to);
}

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct theatre *t = user;
    (void)robot;
    t->watcher = nm_edge_new(player, "watcher", ports, PORTS, err);
    return t->watcher ? 0 : -1;
}

static void open_theatre(struct theatre *t, const char *robot)
{
    struct nm_err err = {0};
    memset(t, 0, sizeof *t);
    write_lineup(t);
    nm_registry_init(&t->registry, &t->arena, __start_nm_modules, __stop_nm_modules);
    if (nm_pitch_read(&t->pitch, NM_ROOT "/fields/kid.yaml", &err) < 0) fail_msg("%s", err.text);
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    options.root = NM_ROOT;
    options.registry = &t->registry;
    options.pitch = &t->pitch;
    options.fidelity = NM_FIDELITY_CAMERA;
    options.world.seed = 5;
    options.ready = ready;
    options.user = t;
    struct nm_stage_robot row = {.name = "one", .folder = robot, .lineup = t->lineup, .start = {-1, 0.5, 0.4}};
    t->stage = nm_stage_new(&row, 1, &options, &err);
    if (!t->stage) fail_msg("%s", err.text);
}

static void close_theatre(struct theatre *t)
{
    nm_stage_free(t->stage);
    nm_arena_free(&t->arena);
    unlink(t->lineup);
}

static void run(struct theatre *t, double seconds)
{
    int64_t end = nm_stage_now(t->stage) + nm_ns(seconds);
    while (nm_stage_now(t->stage) < end) assert_int_equal(nm_stage_step(t->stage), 0);
    nm_edge_begin(t->watcher, nm_stage_now(t->stage));
}

static double tilt_between(struct quat a, Quaternion b)
{
    struct vec3 up = {0, 0, 1}, v = quat_apply(quat_inv(a), up),
                w = quat_apply(quat_inv((struct quat){b.w, b.x, b.y, b.z}), up);
    return acos(fmin(vec3_dot(v, w), 1));
}

#define assert_within(what, value, truth, most)                                                                        \
    do {                                                                                                               \
        double v_ = (value), t_ = (truth);                                                                             \
        if (!(fabs(v_ - t_) <= (most))) fail_msg("%s is %g, in truth %g", (what), v_, t_);                             \
    } while (0)

/* What the line-up says against what is so, the robot being at rest. */
static void compare(struct theatre *t)
{
    const struct nm_body *body = nm_stage_body(t->stage, 0);
    const BodyState *b = nm_edge_in(t->watcher, BODY);
    const FootPressure *p = nm_edge_in(t->watcher, PRESSURE);
    const SupportState *s = nm_edge_in(t->watcher, SUPPORT);
    const CameraPose *c = nm_edge_in(t->watcher, CAMERA);
    struct nm_whereabouts where;
    nm_stage_whereabouts(t->stage, 0, &where);
    nm_stage_scene(t->stage);
    const struct nm_kin *kin = nm_stage_kin(t->stage, 0);
    struct pose3 to_robot = pose_inv(nm_ground_pose(nm_robot_to_odom(body, kin)));

    assert_true(quat_apply(where.base_to_field.rot, (struct vec3){0, 0, 1}).z > 0.9); /* a low trunk may sit */
    assert_within("tilt", tilt_between(where.base_to_field.rot, b->orientation), 0, 0.02);
    assert_within("height", b->torso.position.z, where.base_to_field.pos.z, 0.006);
    struct vec3 com = pose_apply(to_robot, nm_com(body, kin));
    assert_within("centre of mass ahead", b->center_of_mass.x, com.x, 0.01);
    assert_within("centre of mass to the left", b->center_of_mass.y, com.y, 0.01);
    /* at rest the centre of pressure is under the centre of mass */
    assert_within("weight", p->left.force + p->right.force, body->mass * 9.81, 0.1 * body->mass * 9.81);
    assert_within("centre of pressure ahead", p->center.x, com.x, 0.012);
    assert_within("centre of pressure to the left", p->center.y, com.y, 0.012);
    assert_int_equal(s->foot, SupportState_BOTH);
    assert_true(s->measured && c->valid);
    struct pose3 camera = pose_mul(to_robot, kin->pose[body->cameras[0].frame]);
    assert_within("camera's height", c->pose.position.z, camera.pos.z, 0.01);
    assert_within("camera's angle",
                  quat_angle(camera.rot, (struct quat){c->pose.orientation.w, c->pose.orientation.x,
                                                       c->pose.orientation.y, c->pose.orientation.z}),
                  0, 0.03);
}

static void a_standing_and_sitting_robot_knows_its_body(void **state)
{
    (void)state;
    static const char *const robots[] = {NM_ROOT "/robots/kid70", NM_ROOT "/robots/darwin"};
    for (int i = 0; i < 2; i++) {
        struct theatre t;
        struct nm_err err = {0};
        open_theatre(&t, robots[i]);
        run(&t, 4);
        compare(&t);
        if (nm_stage_set(t.stage, 0, "hold_pose.pose=sit", &err)) fail_msg("%s", err.text);
        run(&t, 4);
        compare(&t);
        /* standing is no walking */
        const Odometry *o = nm_edge_in(t.watcher, ODOMETRY);
        assert_within("way", hypot(o->pose.pose.position.x, o->pose.pose.position.y), 0, 0.03);
        close_theatre(&t);
    }
}

static void a_falling_robot_has_no_support(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t, NM_ROOT "/robots/kid70");
    run(&t, 3);
    nm_stage_push(t.stage, 0, (struct vec3){9, 0, 0}, (struct vec3){0, 0, 0.2}, 100000000);
    run(&t, 3);
    const SupportState *s = nm_edge_in(t.watcher, SUPPORT);
    const BodyState *b = nm_edge_in(t.watcher, BODY);
    struct nm_whereabouts where;
    nm_stage_whereabouts(t.stage, 0, &where);
    assert_true(where.fallen);
    assert_int_equal(s->foot, SupportState_NONE);
    assert_within("tilt", tilt_between(where.base_to_field.rot, b->orientation), 0, 0.1);
    close_theatre(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standing_and_sitting_robot_knows_its_body),
        cmocka_unit_test(a_falling_robot_has_no_support),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

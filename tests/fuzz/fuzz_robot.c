/* Any bytes as the files beside a robot's URDF: robot.yaml, servos.yaml, cameras.yaml, params.yaml and
 * cameras.saved.yaml, separated by NUL. The folder is refused with a sentence, or gives a body that holds together. */
#include "body/robot.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A small robot: a head with a camera, and two legs of one joint. */
#define MASS(m)                                                                                                        \
    "<inertial><mass value=\"" m "\"/><inertia ixx=\"0.01\" ixy=\"0\" ixz=\"0\" iyy=\"0.01\" iyz=\"0\" izz=\"0.01\"/>" \
    "</inertial>"
#define JOINT(name, parent, child, at, axis)                                                                           \
    "<joint name=\"" name "\" type=\"revolute\"><parent link=\"" parent "\"/><child link=\"" child "\"/>"              \
    "<origin xyz=\"" at "\"/><axis xyz=\"" axis "\"/><limit lower=\"-2\" upper=\"2\" effort=\"5\" velocity=\"5\"/>"    \
    "</joint>"
static const char urdf[] = "<robot name=\"tiny\"><link name=\"torso\">" MASS("2") "</link><link name=\"neck\">" MASS(
    "0.1") "</link>"
           "<link name=\"head\">" MASS("0.3") "</link><link name=\"camera\"/><link name=\"left_leg\">" MASS(
               "0.5") "</link>"
                      "<link name=\"right_leg\">" MASS("0.5") "</link><link name=\"left_foot\">" MASS(
                          "0.2") "</link>"
                                 "<link name=\"right_foot\">" MASS("0.2") "</link><link name=\"imu_frame\"/>" JOINT(
                                     "head_yaw", "torso", "neck", "0 0 0.2", "0 0 1") JOINT("head_pitch", "neck",
                                                                                            "head", "0 0 0.05", "0 1 0")
                                     JOINT("left_hip", "torso", "left_leg", "0 0.05 0", "0 1 0")
                                         JOINT("right_hip", "torso", "right_leg", "0 -0.05 0", "0 1 0")
                                             JOINT("left_ankle", "left_leg", "left_foot", "0 0 -0.3", "0 1 0") JOINT(
                                                 "right_ankle", "right_leg", "right_foot", "0 0 -0.3",
                                                 "0 1 0") "<joint name=\"camera_joint\" type=\"fixed\"><parent "
                                                          "link=\"head\"/><child link=\"camera\"/></joint>"
                                                          "<joint name=\"imu_joint\" type=\"fixed\"><parent "
                                                          "link=\"torso\"/><child link=\"imu_frame\"/></joint></robot>";

static void check(const struct nm_body *body)
{
    for (uint32_t i = 0; i < body->n_joints; i++)
        if (body->joints[i].servo >= 0 && (uint32_t)body->joints[i].servo >= body->n_servos) abort();
    for (uint32_t i = 0; i < body->n_servos; i++) {
        if ((uint32_t)body->servos[i].joint >= body->n_joints) abort();
        if ((uint32_t)body->servos[i].type >= body->n_servo_types) abort();
        if ((uint32_t)body->servos[i].bus >= body->n_buses) abort();
    }
    for (uint32_t i = 0; i < body->n_cameras; i++)
        if ((uint32_t)body->cameras[i].frame >= body->n_frames) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"robot.yaml", "servos.yaml", "cameras.yaml", "params.yaml",
                                        "cameras.saved.yaml"};
    static const char *root;
    if (!root) {
        root = fuzz_root();
        fuzz_put("robot.urdf", urdf, sizeof urdf - 1);
    }
    for (int i = 0; i < 5; i++) {
        const uint8_t *part;
        size_t n = fuzz_part(&data, &size, &part);
        if (n)
            fuzz_put(names[i], part, n);
        else
            unlink(fuzz_path(names[i]));
    }
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_body *body = nm_body_load(&arena, root, &err);
    if (!body != (err.n > 0)) abort();
    if (body) check(body);
    nm_arena_free(&arena);
    return 0;
}

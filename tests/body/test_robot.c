/* A robot is a folder: ours load complete and agree with their tables; any URDF loads and its limbs are found; a fault
 * in a folder is a sentence with file and line. */
#include "body/robot.h"

#include <sys/stat.h>

#include "base/memory.h"
#include "body/kinematics.h"
#include "body/robots.h"

static const char *const joint_names[20] = {
    "head_yaw",         "head_pitch",           "left_shoulder_pitch", "left_shoulder_roll",
    "left_elbow",       "right_shoulder_pitch", "right_shoulder_roll", "right_elbow",
    "left_hip_yaw",     "left_hip_roll",        "left_hip_pitch",      "left_knee",
    "left_ankle_pitch", "left_ankle_roll",      "right_hip_yaw",       "right_hip_roll",
    "right_hip_pitch",  "right_knee",           "right_ankle_pitch",   "right_ankle_roll"};

static void our_folders_have_everything_to_play(void **state)
{
    (void)state;
    static const char *const frames[] = {
        "base_link", "camera", "camera_optical_frame", "imu_frame", "l_sole", "r_sole", "l_toe", "r_toe",
        "l_hand",    "r_hand"};
    for (int r = 0; r < 2; r++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, all_robots[r]);
        struct nm_err missing;
        if (nm_body_missing(body, &missing)) fail_msg("%s", missing.text);
        if (body->notes->n) fail_msg("%s", body->notes->text);
        assert_int_equal(body->n_joints, 20);
        for (int i = 0; i < 20; i++) assert_string_equal(body->joints[i].name, joint_names[i]);
        for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) frame(body, frames[i]);
        assert_int_equal(body->offers, NM_OFFERS_JOINT_GOALS);
        assert_int_equal(body->n_servos, 20);
        assert_int_equal(body->n_cameras, 1);
        assert_int_equal(body->cameras[0].frame, frame(body, "camera_optical_frame"));
        assert_int_equal(body->head.end, frame(body, "camera_optical_frame"));
        assert_int_equal(body->imu, frame(body, "imu_frame"));
        for (int side = 0; side < 2; side++) {
            assert_int_equal(body->leg[side].n, 6);
            assert_int_equal(body->arm[side].n, 3);
            assert_int_equal(body->foot[side].n_cells, 4);
            assert_int_equal(body->leg[side].end, frame(body, side ? "r_sole" : "l_sole"));
            assert_int_equal(body->arm[side].end, frame(body, side ? "r_hand" : "l_hand"));
        }
        assert_int_equal(body->head.n, 2);
        assert_true(body->n_excludes > 0 && body->n_collisions > 0 && body->n_visuals > 0);
        assert_non_null(body->params);
        nm_arena_free(&arena);
    }
}

/* Mirroring keeps pitch and negates roll and yaw: masses, limits and places are mirror images. Darwin's torso is not.
 */
static void left_is_the_mirror_of_right(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++) {
        struct nm_arena arena = {0};
        const struct nm_body *body = load(&arena, all_robots[r]);
        uint64_t seed = 3;
        struct nm_kin kin;
        double q[NM_JOINTS] = {0};
        for (uint32_t i = 0; i < body->n_joints; i++) {
            char other[64];
            if (strncmp(body->joints[i].name, "left", 4)) continue;
            snprintf(other, sizeof other, "right%s", body->joints[i].name + 4);
            int32_t k = nm_find_joint(body, other);
            assert_true(k >= 0);
            const struct nm_joint *a = &body->joints[i], *b = &body->joints[k];
            int pitch = a->axis.y > 0.5;
            assert_near(a->lower, pitch ? b->lower : -b->upper, 1e-5);
            assert_near(a->upper, pitch ? b->upper : -b->lower, 1e-5);
            assert_near(a->effort, b->effort, 0);
            const struct nm_inertia *m = &body->inertia[i + 1], *n = &body->inertia[k + 1];
            assert_near(m->mass, n->mass, 0);
            assert_vec_near(m->com, n->com.x, -n->com.y, n->com.z, 0);
            assert_vec_near(((struct vec3){m->xy, m->xz, m->yz}), -n->xy, n->xz, -n->yz, 0);
            q[i] = dice(&seed, a->lower, a->upper);
            q[k] = pitch ? q[i] : -q[i];
        }
        nm_forward(body, POSE_IDENTITY, q, &kin);
        static const char *const pairs[][2] = {{"l_sole", "r_sole"}, {"l_toe", "r_toe"}, {"l_hand", "r_hand"}};
        for (int i = 0; i < 3; i++) {
            struct vec3 a = kin.pose[frame(body, pairs[i][0])].pos, b = kin.pose[frame(body, pairs[i][1])].pos;
            assert_vec_near(a, b.x, -b.y, b.z, 1e-12);
        }
        nm_arena_free(&arena);
    }
}

static void folders_agree_with_their_tables(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *kid = load(&arena, KID70), *darwin = load(&arena, DARWIN);
    struct nm_kin kin;
    double q[NM_JOINTS] = {0};

    assert_near(kid->mass, 5.470, 5e-4);
    assert_near(kid->voltage, 14.8, 0);
    nm_forward(kid, POSE_IDENTITY, q, &kin);
    assert_vec_near(kin.pose[frame(kid, "camera")].pos, 0.0508, 0, 0.3384, 1e-12);
    assert_vec_near(kin.pose[frame(kid, "l_hand")].pos, 0.0393, 0.1088, -0.0906, 1e-12);
    assert_vec_near(quat_apply(kin.pose[frame(kid, "camera_optical_frame")].rot, (struct vec3){0, 0, 1}), 1, 0, 0,
                    1e-9);
    assert_vec_near(quat_apply(kin.pose[frame(kid, "camera_optical_frame")].rot, (struct vec3){1, 0, 0}), 0, -1, 0,
                    1e-9);
    const struct nm_servo *knee = &kid->servos[kid->joints[nm_find_joint(kid, "left_knee")].servo];
    assert_int_equal(knee->id, 163);
    assert_string_equal(kid->servo_types[knee->type].name, "MX-106");
    assert_near(kid->joints[knee->joint].armature, 0.02661, 0);
    assert_string_equal(kid->buses[knee->bus].name, "left_leg");

    assert_near(darwin->mass, 2.925, 1e-3);
    nm_forward(darwin, POSE_IDENTITY, q, &kin);
    assert_vec_near(kin.pose[frame(darwin, "l_sole")].pos, 0, 0.037, -0.2195, 1e-12);
    assert_near(kin.pose[frame(darwin, "head")].pos.z - kin.pose[frame(darwin, "left_shoulder")].pos.z, 0.0505, 1e-12);
    const struct nm_servo *tilt = &darwin->servos[darwin->joints[nm_find_joint(darwin, "head_pitch")].servo];
    assert_int_equal(tilt->id, 20); /* head_pitch = 40 degrees - servo */
    assert_near(tilt->direction, -1, 0);
    assert_near(tilt->offset, radians(40), 1e-4);

    /* the soles are where the collision shapes end */
    for (int r = 0; r < 2; r++) {
        const struct nm_body *body = r ? darwin : kid;
        double lowest = 0;
        nm_forward(body, POSE_IDENTITY, q, &kin);
        for (uint32_t i = 0; i < body->n_collisions; i++) {
            const struct nm_link_shape *s = &body->collisions[i];
            if (s->kind == NM_BOX)
                lowest = fmin(lowest, pose_apply(kin.pose[s->link], s->to_link.pos).z - s->size.z / 2);
        }
        assert_near(kin.pose[frame(body, "l_sole")].pos.z, lowest, 1e-9);
    }
    nm_arena_free(&arena);
}

static void the_limbs_of_foreign_robots_are_found(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err missing;
    const struct nm_body *body = load(&arena, WOLFGANG);
    assert_near(body->mass, 6.117, 1e-3);
    assert_string_equal(body->joints[body->leg[NM_LEFT].joints[0]].name, "LHipYaw");
    assert_string_equal(body->joints[body->leg[NM_RIGHT].joints[5]].name, "RAnkleRoll");
    assert_string_equal(body->joints[body->arm[NM_LEFT].joints[2]].name, "LElbow");
    assert_string_equal(body->frames[body->leg[NM_LEFT].end].name, "l_sole");
    assert_string_equal(body->frames[body->foot[NM_RIGHT].cells[0]].name, "r_cleat_l_front");
    assert_int_equal(body->head.n, 2);
    assert_int_equal(body->n_cameras, 1);
    assert_true(body->cameras[0].guessed);
    assert_int_equal(nm_body_missing(body, &missing), 2);
    assert_non_null(strstr(missing.text, "servos.yaml"));
    assert_non_null(strstr(missing.text, "cameras.yaml"));
    body = load(&arena, NAO);
    assert_string_equal(body->joints[body->leg[NM_RIGHT].joints[0]].name, "RHipYawPitch");
    assert_int_equal(body->leg[NM_LEFT].n, 6);
    assert_int_equal(body->arm[NM_LEFT].n, 6); /* with the hand, without the fingers that follow it */
    assert_int_equal(body->n_cameras, 2);
    assert_int_equal(body->joints[nm_find_joint(body, "RHipYawPitch")].mimic, nm_find_joint(body, "LHipYawPitch"));
    double q[NM_JOINTS] = {0};
    q[nm_find_joint(body, "LHipYawPitch")] = -0.3;
    nm_apply_mimics(body, q);
    assert_near(q[nm_find_joint(body, "RHipYawPitch")], -0.3, 0);
    nm_arena_free(&arena);
}

static void a_bare_urdf_gets_soles_and_an_optical_frame(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    static const char urdf[] = KID70 "/robot.urdf";
    const struct nm_body *folder = load(&arena, KID70), *bare = load(&arena, urdf);
    assert_int_equal(bare->n_servos, 0);
    assert_true(bare->cameras[0].guessed);
    assert_memory_equal(&bare->leg[0].joints, &folder->leg[0].joints, sizeof bare->leg[0].joints);
    assert_memory_equal(&bare->foot[0].cells, &folder->foot[0].cells, sizeof bare->foot[0].cells);
    assert_near(bare->height, 0.706, 0.002);

    /* a pair of legs and nothing else: the soles are put under the feet, and what is missing is said */
    char text[8192] = "<robot name='walker'><link name='base_link'/>";
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 4; i++) {
            char part[1024], parent[32] = "base_link";
            if (i) snprintf(parent, sizeof parent, "%c%d", side ? 'r' : 'l', i - 1);
            snprintf(
                part, sizeof part,
                "<link name='%c%d'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
                "<collision><origin xyz='0.02 0 -0.05'/><geometry><box size='0.1 0.06 0.02'/></geometry></collision>"
                "</link><joint name='%c_%d' type='revolute'><parent link='%s'/><child link='%c%d'/>"
                "<origin xyz='0 %s -0.1'/><axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/>"
                "</joint>",
                side ? 'r' : 'l', i, side ? 'r' : 'l', i, parent, side ? 'r' : 'l', i,
                i      ? "0"
                : side ? "-0.1"
                       : "0.1");
            strcat(text, part);
        }
    strcat(text, "</robot>");
    const struct nm_body *body = load_text(&arena, text);
    assert_int_equal(body->leg[NM_LEFT].n, 4);
    assert_vec_near(body->frames[body->foot[NM_LEFT].sole].to_link.pos, 0, 0, -0.06, 1e-12); /* under the ankle */
    struct nm_err missing;
    assert_int_equal(nm_body_missing(body, &missing), 4);
    assert_non_null(strstr(missing.text, "no head"));
    assert_non_null(strstr(missing.text, "no camera"));
    assert_non_null(strstr(missing.text, "no imu"));
    nm_arena_free(&arena);
}

/* However a maker turned the camera's frame, at zero it looks ahead with the sky above; cameras.yaml may call the frame
 * that is made by its name. */
static void an_optical_frame_is_made_from_any_axes(void **state)
{
    (void)state;
    for (int turn = 0; turn < 64; turn++) {
        char text[1024];
        struct nm_arena arena = {0};
        snprintf(text, sizeof text,
                 "<robot name='r'><link name='base_link'/><link name='camera'/><joint name='j' type='fixed'>"
                 "<parent link='base_link'/><child link='camera'/><origin xyz='0 0 1' rpy='%.9f %.9f %.9f'/></joint>"
                 "</robot>",
                 turn % 4 * M_PI / 2, turn / 4 % 4 * M_PI / 2, turn / 16 * M_PI / 2 + 0.1);
        const struct nm_body *body = load_text(&arena, text);
        assert_int_equal(body->n_cameras, 1);
        struct quat rot = body->frames[body->cameras[0].frame].to_link.rot;
        struct vec3 ahead = quat_apply(rot, (struct vec3){0, 0, 1}), down = quat_apply(rot, (struct vec3){0, 1, 0});
        assert_true(ahead.x > 0.99);
        if (strcmp(body->frames[body->cameras[0].frame].name, "camera")) assert_true(down.z < -0.99);
        nm_arena_free(&arena);
    }
}

/* Only servos report, and a coupled joint has none of its own. */
static void coupled_joints_go_with_the_one_they_follow(void **state)
{
    (void)state;
    static const char text[] =
        "<robot name='r'><link name='base_link'/><link name='a'/><link name='b'/>"
        "<joint name='lead' type='continuous'><parent link='base_link'/><child link='a'/></joint>"
        "<joint name='follow' type='continuous'><parent link='base_link'/><child link='b'/>"
        "<mimic joint='lead' multiplier='-2' offset='0.5'/></joint></robot>";
    struct nm_arena arena = {0};
    const struct nm_body *body = load_text(&arena, text);
    double q[NM_JOINTS] = {0};
    int32_t lead = nm_find_joint(body, "lead"), follow = nm_find_joint(body, "follow");
    assert_int_equal(nm_take_joints(body, (const char[][NM_JOINT_NAME]){"lead"}, 1, (const double[]){0.25}, 1, q), 3);
    assert_near(q[lead], 0.25, 0);
    assert_near(q[follow], 0, 1e-15);
    assert_int_equal(nm_take_joints(body, (const char[][NM_JOINT_NAME]){"follow"}, 1, (const double[]){7}, 1, q),
                     1 << follow);
    nm_arena_free(&arena);
}

static void the_check_tells_all_in_text(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    const struct nm_body *body = load(&arena, KID70);
    char *text;
    size_t size;
    FILE *to = nm_memstream(&text, &size);
    nm_body_describe(body, to);
    fclose(to);
    static const char *const said[] = {
        "5.470 kg, 0.706 m, 20 joints",
        "left_knee about y, 0 .. 130 deg, 10.9 Nm, 5.8 rad/s, MX-106 id 163",
        "head      head_yaw, head_pitch -> camera_optical_frame",
        "left leg: hip and ankle axes meet, its inverse kinematics is closed",
        "nothing is missing to play",
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (!strstr(text, said[i])) fail_msg("%s\nis not in\n%s", said[i], text);
    free(text);
    nm_arena_free(&arena);
}

/* A copy of darwin's folder in which one file is replaced. */
static void write_file(const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void faults_in_a_folder_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *sentence;
    } faults[] = {
        {"robot.yaml", "nmae: x\n", "robot.yaml:1: "},
        {"robot.yaml", "name: x\noffers: [dancing]\n", "robot.yaml:2: dancing is none of joint_goals, walk_velocity"},
        {"robot.yaml", "height: 12\n", "robot.yaml:1: height: 12 is not between 0.05 and 5"},
        {"robot.yaml", "groups: {left_leg: [left_hip_yaw, left_knee]}\n",
         "left_knee is not carried by the joint before it"},
        {"robot.yaml", "groups: {left_leg: [left_hip_yow]}\n", "did you mean left_hip_yaw?"},
        {"robot.yaml", "exclude:\n  - [head]\n", "robot.yaml:2: exclude: pairs of links are expected"},
        {"robot.yaml", "imu: nowhere\n", "there is no link or frame called nowhere"},
        {"servos.yaml", "voltage: 12\nbuses: {a: {device: x, baud: 1, protocol: 1}}\n",
         "servos.yaml:2: baud: 1 is not between 9600 and 4.5e+06"},
        {"servos.yaml", "voltage: 12\ntypes: {}\njoints:\n  tail: {type: MX-28, id: 1, bus: a}\n",
         "servos.yaml:4: the URDF has no moving joint called tail"},
        {"servos.yaml", "buses: {}\n", "voltage is missing"},
        {"servos.yaml", "voltage: 12\nbuses: {a: {device: x, baud: 1000000.5, protocol: 1}}\n",
         "baud: 1e+06 is not a whole number"},
        {"cameras.yaml",
         "eye: {frame: camera, width: 640, height: 480, fx: 500, fy: 500, cx: 320, cy: 240, fps: 30, "
         "lens: mirror}\n",
         "lens: mirror is none of pinhole, brown_conrady, fisheye"},
        {"cameras.yaml", "eye: {frame: tail, width: 640, height: 480, fx: 500, fy: 500, cx: 320, cy: 240, fps: 30}\n",
         "camera eye: the URDF has no link called tail"},
        {"cameras.yaml", "eye: {frame: camera, width: 640}\n", "eye: height is missing"},
        {"cameras.yaml",
         "eye: {frame: camera, width: 640, height: 480, fx: 500, fy: 500, cx: 320, cy: 240, fps: 30, lens: fisheye, "
         "distortion: [0, .nan]}\n",
         "distortion: this coefficient is no lens"},
        {"cameras.saved.yaml", "nose: {turn: [1, 2, 3]}\n", "the robot has no camera called nose"},
        {"cameras.saved.yaml", "camera: {neck: [1, 2]}\n", "neck must be three angles in degrees"},
        {"cameras.saved.yaml", "camera: {turn: [90, 0, 0]}\n", "turn: no more than 45 degrees are possible"},
        {"params.yaml", "[1, 2]\n", "a map of module instances is expected here"},
        {"robot.urdf", "<robot name='r'>\n<link/>\n</robot>", "robot.urdf:2: attribute name is missing or empty"},
    };
    static const char *const files[] = {"robot.urdf", "robot.yaml", "servos.yaml", "cameras.yaml", "params.yaml"};
    char folder[256], command[1024];
    snprintf(folder, sizeof folder, "%s/broken_robot_%d", NM_BUILD, (int)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            snprintf(command, sizeof command, "cp %s/%s %s/%s", DARWIN, files[k], folder, files[k]);
            assert_int_equal(system(command), 0);
        }
        snprintf(command, sizeof command, "%s/cameras.saved.yaml", folder);
        unlink(command);
        write_file(folder, faults[i].file, faults[i].text);
        if (nm_body_load(&arena, folder, &err)) fail_msg("accepted: %s", faults[i].text);
        if (!strstr(err.text, faults[i].sentence)) fail_msg("\n%sis not\n%s", err.text, faults[i].sentence);
        nm_arena_free(&arena);
    }
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        snprintf(command, sizeof command, "%s/%s", folder, files[k]);
        unlink(command);
    }
    rmdir(folder);

    struct nm_arena arena = {0};
    struct nm_err err = {0};
    assert_null(nm_body_load(&arena, "/nonexistent", &err));
    assert_non_null(strstr(err.text, "/nonexistent: there is no such robot folder or URDF file"));
    nm_arena_free(&arena);
}

/* One servo cannot have another's number on its bus. */
static void two_servos_with_one_id_are_refused(void **state)
{
    (void)state;
    char folder[256], path[512], text[8192];
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    snprintf(folder, sizeof folder, "%s/twins_%d", NM_BUILD, (int)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "cp %s/*.* %s/", DARWIN, folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/servos.yaml", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    char *at = strstr(text, "id: 20,");
    assert_non_null(at);
    memcpy(at, "id: 19,", 7);
    write_file(folder, "servos.yaml", text);
    assert_null(nm_body_load(&arena, folder, &err));
    assert_non_null(strstr(err.text, "head_pitch: id 19 on bus main is head_yaw's already"));
    nm_arena_free(&arena);
    snprintf(path, sizeof path, "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

static void too_many_joints_are_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char *text = calloc(1, 1 << 16), *at = text;
    at += sprintf(at, "<robot name='snake'><link name='l0'/>");
    for (int i = 1; i <= 70; i++)
        at += sprintf(
            at, "<link name='l%d'/><joint name='j%d' type='continuous'><parent link='l%d'/><child link='l%d'/></joint>",
            i, i, i - 1, i);
    sprintf(at, "</robot>");
    const struct nm_urdf *urdf = nm_urdf_parse(&arena, "snake.urdf", text, strlen(text), &err);
    assert_non_null(urdf);
    assert_null(nm_body_from_urdf(&arena, urdf, &err));
    assert_non_null(strstr(err.text, "one more than the 64 moving joints there is room for"));
    free(text);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_folders_have_everything_to_play),
        cmocka_unit_test(left_is_the_mirror_of_right),
        cmocka_unit_test(folders_agree_with_their_tables),
        cmocka_unit_test(the_limbs_of_foreign_robots_are_found),
        cmocka_unit_test(a_bare_urdf_gets_soles_and_an_optical_frame),
        cmocka_unit_test(an_optical_frame_is_made_from_any_axes),
        cmocka_unit_test(coupled_joints_go_with_the_one_they_follow),
        cmocka_unit_test(the_check_tells_all_in_text),
        cmocka_unit_test(faults_in_a_folder_name_file_and_line),
        cmocka_unit_test(two_servos_with_one_id_are_refused),
        cmocka_unit_test(too_many_joints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

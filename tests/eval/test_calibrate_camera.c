/* nutmeg calibrate camera, from a log of a robot that looks around with a bent neck: the bend is found from clicks and
 * from points of lines and written; what tells nothing is refused with a sentence. */
#include "cmd/said.h"
#include "cmd/logs.h"

#include <unistd.h>

#include "body/stance.h"
#include "cmd/calibrate_camera.h"
#include "core/stamp.h"

#define ends(code, line, part) assert_ends(cmd_calibrate, code, "calibrate camera " line, part)

static const struct nm_mount BENT = {.neck = {0.05, -0.07, 0}};

static void make_log(const char *path, bool clicks)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_body *kid = nm_body_uncalibrated(&arena, NM_ROOT "/robots/kid70", &err);
    assert_non_null(kid);
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    int joints = channel_of(w, "/joint_states", &JointState_type), body = channel_of(w, "/body_state", &BodyState_type),
        lines = channel_of(w, "/line_points_in_image", &PointCloud2_type),
        click = channel_of(w, "/clicked_point", &PointStamped_type);
    static JointState q;
    static BodyState state;
    nm_mcap_start(w, to_file, file, NULL);
    for (uint32_t j = 0; j < kid->n_joints; j++) nm_text(q.name.at[j], "%s", kid->joints[j].name);
    q.name.n = q.position.n = kid->n_joints;
    state.torso = (Pose){{0, 0, 0.4}, {0, 0.02, 0, sqrt(1 - 0.02 * 0.02)}};
    struct nm_camera_view view = {{quat_normal((struct quat){sqrt(1 - 0.02 * 0.02), 0, 0.02, 0}), {0, 0, 0.4}}, {0}};
    struct nm_camera_fit where = {.body = kid, .views = &view};
    const struct nm_pitch_size field = {8.95, 5.95, 0.05, 0.95, 2.95, 1.95, 4.95, 1.475, 0.725, 2.6, 0.6, 0.1, 1};
    for (uint64_t t = 0; t < 140; t++) { /* every 0.1 s; the head moves once a second */
        uint64_t time = log_start + t * 100000000u;
        uint32_t pose = (uint32_t)t / 10;
        nm_stance(kid, 0.06, view.q);
        view.q[kid->head.joints[0]] = -0.8 + 0.4 * (pose % 5);
        view.q[kid->head.joints[1]] = 0.2 + 0.2 * (pose / 5);
        memcpy(q.position.at, view.q, kid->n_joints * sizeof *view.q);
        q.header.stamp = state.header.stamp = nm_stamp((int64_t)time);
        say(w, joints, &JointState_type, &q, 0, time);
        say(w, body, &BodyState_type, &state, 0, time);
        float at[1000][2];
        uint32_t n = 0;
        struct nm_landmark marks[NM_PITCH_LANDMARKS];
        struct nm_line all[NM_PITCH_LINES];
        uint32_t n_all = clicks ? nm_pitch_landmarks(&field, marks) : 60 * nm_pitch_lines(&field, all);
        for (uint32_t i = 0; i < n_all && n < 1000; i++) {
            const struct nm_line *l = &all[i / 60];
            double share = i % 60 / 59.0;
            struct vec3 p = clicks ? (struct vec3){marks[i].x, marks[i].y, 0}
                                   : (struct vec3){l->x0 + share * (l->x1 - l->x0), l->y0 + share * (l->y1 - l->y0), 0};
            struct pixel px;
            if (hypot(p.x - 2, p.y - 0.2) > 4.5 ||
                !nm_camera_fit_pixel(&where, &BENT, &kid->cameras[0].lens, (struct pose2){2, 0.2, 0.1}, 0, p, &px) ||
                !nm_camera_sees(&kid->cameras[0].lens, px))
                continue;
            at[n][0] = (float)px.u, at[n++][1] = (float)px.v;
        }
        PointCloud2 cloud = {.header.stamp = q.header.stamp, .height = 1, .width = n, .point_step = 8};
        cloud.fields.n = 2;
        cloud.data = (struct nm_blob){.data = (uint8_t *)at, .n = 8 * n, .cap = sizeof at};
        if (!clicks) say(w, lines, &PointCloud2_type, &cloud, 0, time + 1000);
        for (uint32_t i = 0; clicks && t % 10 == 8 && i < n; i++) {
            PointStamped point = {.point = {(double)at[i][0], (double)at[i][1], 0}};
            say(w, click, &PointStamped_type, &point, 0, time + 1000 + i);
        }
    }
    assert_int_equal(nm_mcap_finish(w, NULL), 0);
    nm_mcap_writer_free(w);
    fclose(file);
    nm_arena_free(&arena);
}

/* The neck that was written, degrees. */
static void assert_written(const char *path)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, path, NULL),
                         *neck = nm_yaml_get(nm_yaml_get(file, "camera"), "neck");
    double a[3] = {0};
    int i = 0;
    assert_non_null(neck);
    nm_yaml_each(value, neck) assert_int_equal(nm_yaml_number(value, &a[i++], NULL), 0);
    for (i = 0; i < 3; i++)
        if (!(fabs(a[i] - BENT.neck[i] * 180 / M_PI) < 0.15)) fail_msg("neck[%d] is %g", i, a[i]);
    nm_arena_free(&arena);
}

static void a_bent_neck_is_found_and_written(void **state)
{
    (void)state;
    make_log("clicks.mcap", true);
    make_log("lines.mcap", false);
    ends(0, "clicks.mcap --by points --near 2.1,0.1,3 -o clicks.yaml --accept --picture clicks.png",
         "written: clicks.yaml");
    assert_written("clicks.yaml");
    assert_int_equal(access("clicks.png", R_OK), 0);
    ends(0, "lines.mcap --near 2.1,0.1,3 -o lines.yaml --accept --picture lines.png", "written: lines.yaml");
    assert_written("lines.yaml");
    /* without a word of agreement nothing is written */
    ends(0, "lines.mcap --near 2.1,0.1,3 -o never.yaml --picture lines.png", "not written");
    assert_int_equal(access("never.yaml", F_OK), -1);
}

static void what_tells_nothing_is_refused(void **state)
{
    (void)state;
    make_log("lines.mcap", false);
    ends(1, "lines.mcap --by points --near 2,0,0", "0 known points and 0 points of lines are not enough");
    ends(1, "lines.mcap --near -2,2,90", "fits the field");
    ends(2, "lines.mcap", "say where the robot stands");
    ends(2, "lines.mcap --sim", "name one log, or use --live, or --sim");
    ends(2, "lines.mcap --near 2,0,0 --by stars", "--by wants lines, tags or points");
    ends(1, "lines.mcap --near 2,0", "must be X,Y,DEGREES");
    ends(1, "lines.mcap --near 2,0,0 --camera nose", "no camera called nose");
    ends(1, "nothing.mcap --near 2,0,0", "nothing.mcap");
}

static int begin(void **state)
{
    (void)state;
    return enter_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bent_neck_is_found_and_written),
        cmocka_unit_test(what_tells_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}

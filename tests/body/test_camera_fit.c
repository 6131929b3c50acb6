/* A bent neck is found from what the camera sees: exactly where nothing is wrong with the sights, nearly where a fifth
 * of them is, and sights that cannot tell it are refused. */
#include "body/camera_fit.h"

#include "base/random.h"
#include "body/kinematics.h"
#include "body/robots.h"
#include "body/stance.h"
#include "body/state.h"

static const struct nm_pitch_size FIELD = {.length = 8.95,
                                           .width = 5.95,
                                           .line_width = 0.05,
                                           .goal_area_length = 0.95,
                                           .goal_area_width = 2.95,
                                           .penalty_area_length = 1.95,
                                           .penalty_area_width = 4.95,
                                           .penalty_mark = 1.475,
                                           .circle_radius = 0.725,
                                           .goal_width = 2.6,
                                           .goal_depth = 0.6,
                                           .post = 0.1,
                                           .border = 1};

struct robot {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_mount mount;
    struct nm_camera lens;
    struct pose2 stand;
    struct nm_camera_view views[NM_FIT_VIEWS];
    struct nm_camera_sight sights[NM_FIT_SIGHTS];
    struct nm_camera_fit fit;
};

/* A robot that has looked around: 4 pans and 3 tilts, its trunk a little tilted. */
static void look_around(struct robot *r, const char *folder, struct nm_mount mount)
{
    *r = (struct robot){.mount = mount, .stand = {2.2, 0.3, 0.1}};
    r->body = load(&r->arena, folder);
    r->lens = r->body->cameras[0].lens;
    r->fit = (struct nm_camera_fit){.body = r->body,
                                    .views = r->views,
                                    .sights = r->sights,
                                    .field = FIELD,
                                    .stand_error = {0.5, 1},
                                    .lens = r->lens,
                                    .stand = {2.1, 0.35, 0.05}};
    for (int pan = 0; pan < 4; pan++)
        for (int tilt = 0; tilt < 3; tilt++) {
            struct nm_camera_view *v = &r->views[r->fit.n_views++];
            nm_stance(r->body, 0.06, v->q);
            v->q[r->body->head.joints[0]] = -0.8 + 0.5 * pan;
            v->q[r->body->head.joints[1]] = 0.15 + 0.25 * tilt;
            v->torso_to_robot = (struct pose3){quat_rpy(0.01, 0.05, 0), {0, 0, 0.4}};
        }
}

static bool project(const struct robot *r, uint32_t view, struct vec3 place, struct pixel *at)
{
    return nm_camera_fit_pixel(&r->fit, &r->mount, &r->lens, r->stand, view, place, at) &&
           nm_camera_sees(&r->lens, *at);
}

static void add(struct robot *r, uint32_t view, struct pixel at, enum nm_sight_kind kind, struct vec3 place)
{
    assert_true(r->fit.n_sights < NM_FIT_SIGHTS);
    r->sights[r->fit.n_sights++] = (struct nm_camera_sight){view, at, kind, place};
}

/* Points of a grid on the ground, of the field's lines, or its landmarks, wherever they are seen. */
static void see(struct robot *r, enum nm_sight_kind kind, double noise, double wrong, uint64_t seed)
{
    struct nm_dice d = nm_dice_new(seed, 1, 2);
    struct nm_line all[NM_PITCH_LINES];
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    uint32_t n = nm_pitch_lines(&FIELD, all), n_marks = nm_pitch_landmarks(&FIELD, marks);
    const uint32_t counts[] = {[NM_SIGHT_PLACE] = 64, [NM_SIGHT_LINE] = 40 * n, [NM_SIGHT_LANDMARK] = n_marks};
    for (uint32_t v = 0; v < r->fit.n_views; v++)
        for (uint32_t i = 0; i < counts[kind]; i++) {
            const struct nm_line *l = &all[i % n];
            const struct nm_landmark *m = &marks[i % n_marks];
            double t = nm_dice_roll(&d);
            struct vec3 place =
                kind == NM_SIGHT_LINE       ? (struct vec3){l->x0 + t * (l->x1 - l->x0), l->y0 + t * (l->y1 - l->y0), 0}
                : kind == NM_SIGHT_LANDMARK ? (struct vec3){m->x, m->y, 0}
                                            : (struct vec3){2.5 + 0.3 * (i % 8), -1.2 + 0.3 * (i / 8), 0};
            struct pixel at;
            if (!project(r, v, place, &at) || hypot(place.x - r->stand.x, place.y - r->stand.y) > 4) continue;
            at.u += noise * nm_dice_gauss(&d), at.v += noise * nm_dice_gauss(&d);
            if (nm_dice_roll(&d) < wrong)
                at = (struct pixel){nm_dice_roll(&d) * r->lens.width, nm_dice_roll(&d) * r->lens.height};
            add(r, v, at, kind, place);
        }
}

/* rad: the largest error of a camera's orientation among the views, without its heading if that is not known */
static double left(const struct robot *r, bool heading)
{
    double most = 0;
    for (uint32_t v = 0; v < r->fit.n_views; v++) {
        struct nm_kin kin;
        nm_forward(r->body, r->views[v].torso_to_robot, r->views[v].q, &kin);
        struct quat truth = nm_camera_mounted(r->body, 0, &r->mount, &kin).rot;
        struct quat found = nm_camera_mounted(r->body, 0, &r->fit.mount, &kin).rot;
        struct vec3 off = quat_log(quat_mul(found, quat_inv(truth)));
        most = fmax(most, heading ? vec3_norm(off) : hypot(off.x, off.y));
    }
    return most;
}

static void fit(struct robot *r)
{
    struct nm_err err = {0};
    if (nm_camera_fit(&r->fit, &err)) fail_msg("%s", err.text);
}

static const struct nm_mount BENT = {.neck = {0.04, -0.08, 0}, .turn = {-0.02, 0.03, 0.015}};

static void test_points_without_noise_give_the_mount_exactly(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN};
    static struct robot r;
    for (int i = 0; i < 2; i++) {
        look_around(&r, robots[i], BENT);
        see(&r, NM_SIGHT_PLACE, 0, 0, 1);
        fit(&r);
        assert_near(left(&r, false), 0, radians(0.003));
        assert_near(r.fit.stand.x, r.stand.x, 1e-3);
        assert_near(r.fit.stand.y, r.stand.y, 1e-3);
        assert_true(r.fit.before > 5 && r.fit.after < 0.1);
        nm_arena_free(&r.arena);
    }
}

static void test_known_stand_gives_the_heading_too(void **state)
{
    (void)state;
    static struct robot r;
    struct nm_mount twisted = BENT;
    twisted.neck[2] = 0.05;
    look_around(&r, KID70, twisted);
    r.fit.stand = r.stand;
    r.fit.stand_error[0] = r.fit.stand_error[1] = 1e-4;
    see(&r, NM_SIGHT_PLACE, 0, 0, 1);
    fit(&r);
    assert_near(left(&r, true), 0, radians(0.05));
    nm_arena_free(&r.arena);
}

static void test_a_fifth_of_wrong_points_changes_little(void **state)
{
    (void)state;
    static struct robot r;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        look_around(&r, KID70, BENT);
        see(&r, NM_SIGHT_PLACE, 0.5, 0.2, seed);
        fit(&r);
        assert_near(left(&r, false), 0, radians(0.1));
        assert_true(r.fit.fitting > 0.7 && r.fit.fitting < 0.9);
        nm_arena_free(&r.arena);
    }
}

static void test_lines_give_the_tilt(void **state)
{
    (void)state;
    static struct robot r;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct nm_dice d = nm_dice_new(seed, 3, 4);
        double toward = 2 * M_PI * nm_dice_roll(&d);
        look_around(&r, KID70, (struct nm_mount){.neck = {radians(5) * cos(toward), radians(5) * sin(toward), 0}});
        see(&r, NM_SIGHT_LINE, 0.5, 0.2, seed);
        fit(&r);
        assert_near(left(&r, false), 0, radians(0.15));
        nm_arena_free(&r.arena);
    }
}

static void test_clicks_on_landmarks_need_no_names(void **state)
{
    (void)state;
    static struct robot r;
    look_around(&r, KID70, BENT);
    see(&r, NM_SIGHT_LANDMARK, 1, 0.1, 7);
    fit(&r);
    assert_near(left(&r, false), 0, radians(0.2));
    nm_arena_free(&r.arena);
}

static void test_the_lens_is_found(void **state)
{
    (void)state;
    static struct robot r;
    look_around(&r, KID70, BENT);
    r.lens.fx *= 1.05, r.lens.fy *= 1.04, r.lens.cx += 12, r.lens.k[0] -= 0.05;
    nm_camera_ready(&r.lens);
    r.fit.with_lens = true;
    see(&r, NM_SIGHT_PLACE, 0, 0, 1);
    fit(&r);
    assert_near(r.fit.lens.fx, r.lens.fx, 0.5);
    assert_near(r.fit.lens.fy, r.lens.fy, 0.5);
    assert_near(r.fit.lens.cx, r.lens.cx, 1);
    assert_near(left(&r, false), 0, radians(0.1));
    nm_arena_free(&r.arena);
}

static void refused(struct robot *r, const char *why)
{
    struct nm_err err = {0};
    if (!nm_camera_fit(&r->fit, &err)) fail_msg("taken: %s", why);
    if (!strstr(err.text, why)) fail_msg("'%s' does not say '%s'", err.text, why);
}

static void test_what_cannot_tell_it_is_refused(void **state)
{
    (void)state;
    static struct robot r;
    look_around(&r, KID70, BENT);
    refused(&r, "not enough");
    for (int i = 0; i < 20; i++)
        add(&r, 3, (struct pixel){300, 250}, NM_SIGHT_PLACE, (struct vec3){3, 0, 0}); /* one point */
    refused(&r, "does not tell");
    see(&r, NM_SIGHT_PLACE, 0, 1, 1); /* nothing is right */
    refused(&r, "fits the field");
    r.fit.n_sights = 0;
    see(&r, NM_SIGHT_PLACE, 0, 0, 1);
    r.sights[7].at.u = NAN;
    refused(&r, "not a number");
    nm_arena_free(&r.arena);
}

/* What the loader makes of cameras.saved.yaml is the mount that was found. */
static void test_a_calibrated_robot_is_the_bent_one(void **state)
{
    (void)state;
    char folder[256], command[1024];
    struct nm_arena arena = {0};
    snprintf(folder, sizeof folder, "%s/calibrated_%d", NM_BUILD, (int)getpid());
    snprintf(command, sizeof command, "mkdir %s && cp %s/*.* %s/", folder, DARWIN, folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/cameras.saved.yaml", folder);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fprintf(file, "camera:\n  neck: [2, -5, 1]\n  turn: [1, 0.5, -3]\n  fx: 700\n");
    fclose(file);
    const struct nm_body *bent = load(&arena, folder);
    struct nm_err err = {0};
    const struct nm_body *plain = nm_body_uncalibrated(&arena, folder, &err);
    assert_non_null(plain);
    assert_near(bent->cameras[0].lens.fx, 700, 0);
    const struct nm_mount *m = &bent->cameras[0].mount;
    assert_near(m->neck[1], radians(-5), 1e-12);
    uint64_t seed = 3;
    for (int i = 0; i < 20; i++) {
        double q[NM_JOINTS] = {0};
        struct nm_kin with, without;
        dice_joints(&seed, bent, q);
        struct pose3 base = {dice_turn(&seed), dice_vec(&seed, 1)};
        nm_forward(bent, base, q, &with);
        nm_forward(plain, base, q, &without);
        struct pose3 expected = nm_camera_mounted(plain, 0, m, &without);
        assert_near(pose_distance(with.pose[bent->cameras[0].frame], expected), 0, 1e-9);
        assert_true(pose_distance(with.pose[bent->cameras[0].frame], without.pose[plain->cameras[0].frame]) > 0.02);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_without_noise_give_the_mount_exactly),
        cmocka_unit_test(test_known_stand_gives_the_heading_too),
        cmocka_unit_test(test_a_fifth_of_wrong_points_changes_little),
        cmocka_unit_test(test_lines_give_the_tilt),
        cmocka_unit_test(test_clicks_on_landmarks_need_no_names),
        cmocka_unit_test(test_the_lens_is_found),
        cmocka_unit_test(test_what_cannot_tell_it_is_refused),
        cmocka_unit_test(test_a_calibrated_robot_is_the_bent_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The fields of the four rule sets have the measures of their rule books, and a broken file is refused with a sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sim/field.h"

static void load(struct nm_pitch *p, const char *name)
{
    char path[512];
    struct nm_err err = {0};
    snprintf(path, sizeof path, "%s/fields/%s.yaml", NM_ROOT, name);
    if (nm_pitch_read(p, path, &err) < 0) fail_msg("%s", err.text);
}

static void near(double a, double b) { assert_true(fabs(a - b) < 1e-9); }

static void measures_are_middles_of_lines(void **state)
{
    (void)state;
    struct nm_pitch p;
    load(&p, "hsl-small"); /* the rule's own drawing in line-centre terms: 8.95 x 5.95, circle 1.45, mark 1.475 */
    near(p.length, 8.95);
    near(p.width, 5.95);
    near(2 * p.circle_radius, 1.45);
    near(p.penalty_mark, 1.475);
    load(&p, "spl"); /* measured to line centres already */
    near(p.length, 9);
    near(p.penalty_area_depth, 1.65);
    near(p.circle_radius, 0.75);
    near(nm_pitch_half_x(&p), 4.5 + 0.025 + 0.7);
    load(&p, "kid");
    near(2 * nm_pitch_half_x(&p), 11); /* carpet */
    near(2 * nm_pitch_half_y(&p), 8);
    near(p.posts[3].y - p.posts[2].y, 2.6 + 0.1);
    load(&p, "hsl-middle");
    near(2 * nm_pitch_half_x(&p), 16);
    assert_int_equal(p.n_arcs, 5);
}

static void outer_edges_are_where_the_rule_says(void **state)
{
    (void)state;
    struct nm_pitch p;
    load(&p, "kid");
    /* touchline: paint from 2.95 to 3.00 */
    assert_true(nm_pitch_painted(&p, 1.23, 2.999));
    assert_false(nm_pitch_painted(&p, 1.23, 3.001));
    assert_false(nm_pitch_painted(&p, 1.23, 2.949));
    /* the corner is filled */
    assert_true(nm_pitch_painted(&p, 4.499, -2.999));
    /* penalty area's front: outer edge 2 m before the goal line's outer edge */
    assert_true(nm_pitch_painted(&p, 2.501, 1));
    assert_false(nm_pitch_painted(&p, 2.499, 1));
    /* its side: outer edge 2.5 m from the middle */
    assert_true(nm_pitch_painted(&p, 3, 2.499));
    assert_false(nm_pitch_painted(&p, 3, 2.501));
    /* circle, halfway line, penalty mark with its cross */
    assert_true(nm_pitch_painted(&p, 0.749 * cos(1), 0.749 * sin(1)));
    assert_false(nm_pitch_painted(&p, 0.751 * cos(1), 0.751 * sin(1)));
    assert_true(nm_pitch_painted(&p, 0.02, 2));
    assert_true(nm_pitch_painted(&p, 3 + 0.12, 0));
    assert_true(nm_pitch_painted(&p, -3, -0.12));
    assert_false(nm_pitch_painted(&p, -3.05, -0.05));
}

static void field_is_symmetric(void **state)
{
    (void)state;
    const char *names[] = {"kid", "spl", "hsl-small", "hsl-middle"};
    for (int i = 0; i < 4; i++) {
        struct nm_pitch p;
        load(&p, names[i]);
        assert_string_equal(p.name, names[i]);
        for (double x = 0; x < nm_pitch_half_x(&p); x += 0.0371)
            for (double y = 0; y < nm_pitch_half_y(&p); y += 0.0293) {
                bool paint = nm_pitch_painted(&p, x, y);
                assert_int_equal(paint, nm_pitch_painted(&p, -x, y));
                assert_int_equal(paint, nm_pitch_painted(&p, x, -y));
            }
    }
}

/* A T has paint along its bar on both sides and along its stem, an L along both arms. */
static void crossings_lie_where_lines_meet(void **state)
{
    (void)state;
    struct nm_pitch p;
    load(&p, "kid");
    assert_int_equal(p.n_crossings, 4 + 8 + 8 + 2 + 2);
    for (uint32_t i = 0; i < p.n_crossings; i++) {
        struct nm_crossing c = p.crossings[i];
        double t = c.theta, d = 0.06;
        assert_true(nm_pitch_painted(&p, c.x, c.y));
        if (c.kind == NM_CROSSING_T) {
            assert_true(nm_pitch_painted(&p, c.x + d * cos(t), c.y + d * sin(t)));
            assert_true(nm_pitch_painted(&p, c.x - d * sin(t), c.y + d * cos(t)));
            assert_true(nm_pitch_painted(&p, c.x + d * sin(t), c.y - d * cos(t)));
            assert_false(nm_pitch_painted(&p, c.x - d * cos(t), c.y - d * sin(t)));
        } else if (c.kind == NM_CROSSING_L) {
            assert_true(nm_pitch_painted(&p, c.x + d * cos(t + M_PI / 4), c.y + d * sin(t + M_PI / 4)));
            assert_true(nm_pitch_painted(&p, c.x + d * cos(t - M_PI / 4), c.y + d * sin(t - M_PI / 4)));
            assert_false(nm_pitch_painted(&p, c.x - d * cos(t), c.y - d * sin(t)));
        }
    }
}

/* Bit 0 to 3: there is paint a little to the right (+x), up (+y), left, down. */
static int arms(const struct nm_pitch *p, double x, double y)
{
    int found = 0;
    for (int i = 0; i < 4; i++)
        if (nm_pitch_painted(p, x + 0.06 * cos(i * M_PI / 2), y + 0.06 * sin(i * M_PI / 2))) found |= 1 << i;
    return found;
}

/* Kind and direction of a meeting of lines, from its paint alone. */
static struct nm_landmark meeting(const struct nm_pitch *p, double x, double y)
{
    static const int ells[] = {3, 6, 12, 9}, tees[] = {11, 7, 14, 13}; /* turned by 0, 90, 180, 270 degrees */
    int found = arms(p, x, y);
    for (int i = 0; i < 4; i++) {
        if (found == ells[i]) return (struct nm_landmark){NM_LANDMARK_L, x, y, M_PI / 4 + i * M_PI / 2};
        if (found == tees[i]) return (struct nm_landmark){NM_LANDMARK_T, x, y, i * M_PI / 2};
    }
    return (struct nm_landmark){found == 15 ? NM_LANDMARK_X : NM_LANDMARK_KINDS, x, y, 0};
}

/* All meetings of two lines, and of the halfway line with the circle, are landmarks, and nothing else is a crossing. */
static void landmarks_are_all_meetings_of_lines(void **state)
{
    (void)state;
    const char *names[] = {"kid", "spl", "hsl-small", "hsl-middle"};
    for (int i = 0; i < 4; i++) {
        struct nm_pitch p;
        load(&p, names[i]);
        struct nm_pitch_size size = nm_pitch_size(&p);
        struct nm_landmark marks[NM_PITCH_LANDMARKS];
        uint32_t n = nm_pitch_landmarks(&size, marks), crossings = 0, met = 2;
        for (uint32_t k = 0; k < n; k++) {
            if (marks[k].kind < NM_LANDMARK_L || marks[k].kind > NM_LANDMARK_X) continue;
            struct nm_landmark seen = meeting(&p, marks[k].x, marks[k].y);
            assert_int_equal(seen.kind, marks[k].kind);
            near(angle_normal(seen.theta - marks[k].theta), 0);
            crossings++;
        }
        for (uint32_t a = 0; a < p.n_lines; a++) /* one parallel to y, one to x */
            for (uint32_t b = 0; b < p.n_lines; b++) {
                const struct nm_line *v = &p.lines[a], *h = &p.lines[b];
                double x = v->x0, y = h->y0;
                if (v->x0 != v->x1 || h->y0 != h->y1) continue;
                met += y >= fmin(v->y0, v->y1) && y <= fmax(v->y0, v->y1) && x >= fmin(h->x0, h->x1) &&
                       x <= fmax(h->x0, h->x1);
            }
        assert_int_equal(crossings, met);
        assert_int_equal(n, NM_PITCH_POSTS + crossings + 3);
        for (uint32_t k = n - 3; k < n; k++) assert_true(nm_pitch_painted(&p, marks[k].x, marks[k].y));
    }
}

static void goal_counts_when_the_whole_ball_is_over(void **state)
{
    (void)state;
    struct nm_pitch p;
    load(&p, "kid");
    double line = 4.5;
    assert_int_equal(nm_pitch_scored(&p, (struct vec3){line + 0.071, 0.5, 0.07}), 1);
    assert_int_equal(nm_pitch_scored(&p, (struct vec3){line + 0.069, 0.5, 0.07}), 0);
    assert_int_equal(nm_pitch_scored(&p, (struct vec3){-line - 0.071, 0.5, 0.07}), -1);
    assert_int_equal(nm_pitch_scored(&p, (struct vec3){line + 0.1, 1.35, 0.07}), 0);
    assert_int_equal(nm_pitch_scored(&p, (struct vec3){line + 0.1, 0, 1.3}), 0);
}

static void faults_are_sentences(void **state)
{
    (void)state;
    struct nm_pitch p;
    const char *texts[] = {
        "",
        "title: x\n",
        "title: x\nplayers: 4\ngoal: {}\nball: {}\nlenght: 9\n",
        "title: x\nplayers: 4\ngoal: 3\nball: 4\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct nm_err err = {0};
        assert_int_equal(nm_pitch_parse(&p, "x.yaml", texts[i], strlen(texts[i]), &err), -1);
        assert_non_null(strstr(err.text, "x.yaml"));
    }
}

/* Ground that changes within a field, and ramps upon it. */
static void ground_is_made_of_patches(void **state)
{
    (void)state;
    static const struct {
        const char *ground, *fault;
    } rows[] = {
        {"[{from: [-4, -1], to: [-1, 1], turf: 0.01, friction: 0.8}, {from: [1, -1], to: [3, 1], rise_x: 0.1},\n"
         "  {from: [1, 2], to: [3, 3], rise_y: -0.2}]",
         NULL},
        {"[{from: [1, -1], to: [-3, 1]}]", "from its lower corner to its higher one"},
        {"[{from: [1, -1], to: [3, 1], rise_x: 0.1, rise_y: 0.1}]", "not along both"},
        {"[{from: [1, -1], to: [3, 1], turf: 1}]", "between 0 and 0.06"},
        {"[{from: 3, to: [3, 1]}]", "must be a corner"},
        {"[{from: [1, -1], to: [3, 1], grass: 1}]", "grass"},
    };
    char kid[4000], text[6000];
    FILE *file = fopen(NM_ROOT "/fields/kid.yaml", "r");
    assert_non_null(file);
    kid[fread(kid, 1, sizeof kid - 1, file)] = 0;
    fclose(file);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nm_pitch p;
        struct nm_err err = {0};
        int n = snprintf(text, sizeof text, "%s\nground: %s\n", kid, rows[i].ground);
        int bad = nm_pitch_parse(&p, "kid.yaml", text, (size_t)n, &err);
        if (rows[i].fault) {
            assert_true(bad < 0);
            if (!strstr(err.text, rows[i].fault)) fail_msg("%s", err.text);
            continue;
        }
        assert_int_equal(bad, 0);
        assert_int_equal(p.n_patches, 3);
        near(p.patches[0].turf, 0.01);
        near(p.patches[1].turf, p.turf);
        near(nm_pitch_height(&p, -2, 0), 0);
        near(nm_pitch_height(&p, 0, 0), 0);
        near(nm_pitch_height(&p, 2, 0.5), 0.05);
        near(nm_pitch_height(&p, 2, 2.25), 0.15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_are_middles_of_lines),
        cmocka_unit_test(outer_edges_are_where_the_rule_says),
        cmocka_unit_test(field_is_symmetric),
        cmocka_unit_test(crossings_lie_where_lines_meet),
        cmocka_unit_test(landmarks_are_all_meetings_of_lines),
        cmocka_unit_test(goal_counts_when_the_whole_ball_is_over),
        cmocka_unit_test(faults_are_sentences),
        cmocka_unit_test(ground_is_made_of_patches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The URDF reader: what a file says arrives; every fault is a sentence with file and line; nothing hostile gets
 * through. */
#include "body/urdf.h"

#include "body/robots.h"

static struct nm_urdf *parse(struct nm_arena *arena, const char *text, struct nm_err *err)
{
    return nm_urdf_parse(arena, "test.urdf", text, strlen(text), err);
}

static void a_file_arrives_as_written(void **state)
{
    (void)state;
    static const char text[] =
        "<?xml version='1.0'?>\n"
        "<robot name='two'>\n"
        "  <material name='red'><color rgba='1 0 0 0.5'/></material>\n"
        "  <link name='a'>\n"
        "    <inertial><origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/><mass value='2.5'/>\n"
        "      <inertia ixx='1' iyy='2' izz='3' ixy='0.1' ixz='0.2' iyz='0.3'/></inertial>\n"
        "    <visual><origin xyz='0 0 1'/><geometry><box size='1 2 3'/></geometry>"
        "<material name='red'/></visual>\n"
        "    <visual><geometry><mesh filename='package://x/y.stl' scale='2 2 2'/></geometry></visual>\n"
        "    <collision><geometry><cylinder radius='0.5' length='4'/></geometry></collision>\n"
        "    <collision><geometry><sphere radius='0.25'/></geometry></collision>\n"
        "  </link>\n"
        "  <link name='b'/><link name='c'/>\n"
        "  <joint name='ab' type='revolute'><parent link='a'/><child link='b'/>\n"
        "    <origin xyz='0 0 0.5' rpy='0.1 0.2 0.3'/><axis xyz='0 3 4'/>\n"
        "    <limit lower='-1' upper='2' effort='3' velocity='4'/><dynamics damping='5' friction='6'/></joint>\n"
        "  <joint name='bc' type='continuous'><parent link='b'/><child link='c'/>\n"
        "    <mimic joint='ab' multiplier='-2' offset='0.5'/></joint>\n"
        "  <gazebo><link name='ignored'/></gazebo><transmission name='t'/>\n"
        "</robot>\n";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_urdf *u = parse(&arena, text, &err);
    if (!u) fail_msg("%s", err.text);
    assert_string_equal(u->name, "two");
    assert_int_equal(u->n_links, 3);
    assert_int_equal(u->n_joints, 2);
    assert_int_equal(u->root, 0);
    assert_int_equal(u->links[0].line, 4);

    static const char zeros[] =
        "<robot name='z'><link name='a'/><link name='b'/><joint name='ab' type='revolute'><parent link='a'/>"
        "<child link='b'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='0' velocity='0'/></joint></robot>";
    const struct nm_urdf *z = parse(&arena, zeros, &err); /* as CAD programs write what they do not know */
    if (!z) fail_msg("%s", err.text);
    assert_true(isinf(z->joints[0].effort) && isinf(z->joints[0].velocity));

    const struct nm_inertia *n = &u->links[0].inertia; /* turned by 90 degrees about z: x becomes y, y becomes -x */
    assert_near(n->mass, 2.5, 0);
    assert_vec_near(n->com, 1, 2, 3, 0);
    assert_vec_near(((struct vec3){n->xx, n->yy, n->zz}), 2, 1, 3, 1e-12);
    assert_vec_near(((struct vec3){n->xy, n->xz, n->yz}), -0.1, -0.3, 0.2, 1e-12);

    assert_int_equal(u->n_visuals, 2);
    assert_int_equal(u->visuals[0].kind, NM_BOX);
    assert_vec_near(u->visuals[0].size, 1, 2, 3, 0);
    assert_vec_near(u->visuals[0].to_link.pos, 0, 0, 1, 0);
    assert_near(u->visuals[0].rgba[0], 1, 0);
    assert_near(u->visuals[0].rgba[3], 0.5, 0);
    assert_int_equal(u->visuals[1].kind, NM_MESH);
    assert_string_equal(u->visuals[1].mesh, "package://x/y.stl");
    assert_int_equal(u->n_collisions, 2);
    assert_vec_near(u->collisions[0].size, 0.5, 0, 4, 0);
    assert_int_equal(u->collisions[1].kind, NM_SPHERE);

    const struct nm_urdf_joint *j = &u->joints[0];
    assert_int_equal(j->type, NM_REVOLUTE);
    assert_vec_near(j->axis, 0, 0.6, 0.8, 1e-15);
    assert_near(j->lower, -1, 0);
    assert_near(j->velocity, 4, 0);
    assert_near(j->friction, 6, 0);
    struct quat rpy = quat_rpy(0.1, 0.2, 0.3);
    assert_near(quat_angle(j->to_parent.rot, rpy), 0, 1e-12);
    assert_int_equal(u->joints[1].mimic, 0);
    assert_near(u->joints[1].multiplier, -2, 0);
    nm_arena_free(&arena);
}

#define LINKS "<robot name='r'><link name='a'/><link name='b'/>"
#define JOINT(inside)                                                                                                  \
    LINKS "<joint name='j' type='revolute'><parent link='a'/><child link='b'/>" inside "</joint></robot>"

static void every_fault_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } faults[] = {
        {"", "test.urdf:1: no element found"},
        {"<robot name='r'>\n<link name='a'>\n</robot>", "test.urdf:3: mismatched tag"},
        {"<sdf/>", "test.urdf:1: the file begins with <sdf>, a URDF begins with <robot>"},
        {"<robot name='r'/>", "test.urdf: the robot has no link"},
        {"<robot name='r'><link/></robot>", "attribute name is missing or empty"},
        {"<robot name='r'><link name='a'/>\n<link name='a'/></robot>", "test.urdf:2: a second link is named a"},
        {"<robot xmlns:xacro='x'>\n<xacro:include filename='y'/></robot>", "test.urdf:2: this is a xacro file"},
        {"<!DOCTYPE robot [<!ENTITY a 'b'>]>\n<robot name='&a;'/>", "test.urdf:1: a document type is not allowed here"},
        {"<robot name='r'><link name='a'/>\n<link name='b'/></robot>",
         "test.urdf:2: link b is a second root besides a (line 1): a joint must carry it"},
        {JOINT("<axis xyz='0 0 0'/>"), "joint j: the axis has no direction"},
        {JOINT("<axis xyz='1 0'/>"), "xyz=\"1 0\" is not three numbers"},
        {JOINT("<axis xyz='1 0 0 0'/>"), "is not three numbers"},
        {JOINT("<origin xyz='1 0 nan'/>"), "is not three numbers"},
        {JOINT("<origin xyz='1 0 1e999'/>"), "is not three numbers"},
        {JOINT("<origin xyz='1 0 0x10'/>"), "is not three numbers"},
        {JOINT("<origin rpy='a b c'/>"), "rpy=\"a b c\" is not three numbers"},
        {JOINT("<limit lower='2' upper='1'/>"), "joint j: the lower limit 2 is above the upper 1"},
        {JOINT("<limit lower='0' upper='1' effort='-1'/>"), "velocity and effort limits are not negative"},
        {JOINT("<limit lower='inf'/>"), "lower=\"inf\" is not a number"},
        {JOINT("<mimic joint='k'/>"), "joint j mimics the joint k, which does not exist"},
        {JOINT("<mimic joint='j'/>"), "joint j mimics itself"},
        {LINKS "<joint name='j' type='hinge'><parent link='a'/><child link='b'/></joint></robot>",
         "joint j: type \"hinge\" is none of revolute"},
        {LINKS "<joint name='j' type='fixed'><parent link='a'/></joint></robot>", "joint j has no <child link=…>"},
        {LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint></robot>",
         "joint j joins a link to itself"},
        {"<robot name='r'><link name='base_link'/><link name='b'/>\n<joint name='j' type='fixed'>"
         "<parent link='base_lnk'/><child link='b'/></joint></robot>",
         "test.urdf:2: joint j names the link base_lnk, which does not exist; did you mean base_link?"},
        {LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>\n"
               "<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint></robot>",
         "test.urdf:2: joint k carries the link b, which joint j (line 1) carries already"},
        {LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"
               "<joint name='j' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
         "a second joint is named j"},
        {LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>"
               "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
         "link a hangs in a loop of joints without a root"},
        {"<robot name='r'><link name='a'><inertial><mass value='-1'/></inertial></link></robot>",
         "link a: the mass is negative"},
        {"<robot name='r'><link name='a'><inertial><mass/></inertial></link></robot>", "attribute value is missing"},
        {"<robot name='r'><link name='a'><visual><geometry/></visual></link></robot>",
         "link a: a visual without box, sphere, cylinder or mesh"},
        {"<robot name='r'><link name='a'><collision><geometry><box size='1 -1 "
         "1'/></geometry></collision></link></robot>",
         "a size is negative"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        if (parse(&arena, faults[i].text, &err)) fail_msg("accepted: %s", faults[i].text);
        if (!strstr(err.text, faults[i].sentence)) fail_msg("\n%sis not\n%s", err.text, faults[i].sentence);
        nm_arena_free(&arena);
    }
}

static char *repeat(const char *before, const char *what, int n, const char *after)
{
    size_t size = strlen(before) + strlen(what) * (size_t)n + strlen(after) + 1;
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    at = stpcpy(at, before);
    for (int i = 0; i < n; i++) at = stpcpy(at, what);
    stpcpy(at, after);
    return text;
}

static void limits_hold(void **state)
{
    (void)state;
    struct {
        char *text;
        const char *sentence;
    } cases[] = {
        {repeat("<robot name='r'>", "<a>", 100, ""), "elements nested deeper than 32"},
        {repeat("<robot name='r'><link name='", "x", 200, "'/></robot>"), "name is longer than 128 characters"},
        {repeat("<robot name='r'>", "<link name='x'/>", 600, "</robot>"), "more than 512 links"},
        {repeat("<robot name='r'><link name='a'>", "<visual><geometry><sphere radius='1'/></geometry></visual>", 9000,
                "</link></robot>"),
         "more than 8192 shapes"},
        {repeat("<robot name='r'><!-- ", "0123456789abcdef", 1 << 19, " --></robot>"), "larger than 8388608 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        assert_null(parse(&arena, cases[i].text, &err));
        if (!strstr(err.text, cases[i].sentence)) fail_msg("\n%sis not\n%s", err.text, cases[i].sentence);
        nm_arena_free(&arena);
        free(cases[i].text);
    }
}

static void joints_that_float_become_fixed_and_are_noted(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_urdf *u = parse(&arena,
                                    LINKS "\n<joint name='j' type='floating'><parent link='a'/><child link='b'/>"
                                          "</joint></robot>",
                                    &err);
    assert_non_null(u);
    assert_int_equal(u->joints[0].type, NM_FIXED);
    assert_non_null(strstr(u->notes->text, "test.urdf:2: joint j is floating: taken as fixed"));
    nm_arena_free(&arena);
}

static void rows_of_mimics_follow_the_first(void **state)
{
    (void)state;
    static const char text[] =
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/><link name='d'/>"
        "<joint name='x' type='continuous'><parent link='a'/><child link='b'/></joint>"
        "<joint name='z' type='continuous'><parent link='c'/><child link='d'/><mimic joint='y' multiplier='3' "
        "offset='1'/></joint>"
        "<joint name='y' type='continuous'><parent link='b'/><child link='c'/><mimic joint='x' multiplier='2' "
        "offset='0.5'/></joint></robot>";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_urdf *u = parse(&arena, text, &err);
    assert_non_null(u);
    assert_int_equal(u->joints[1].mimic, 0);
    assert_near(u->joints[1].multiplier, 6, 0);
    assert_near(u->joints[1].offset, 2.5, 0);
    nm_arena_free(&arena);
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    assert_null(nm_urdf_read(&arena, "/nonexistent/robot.urdf", &err));
    assert_non_null(strstr(err.text, "/nonexistent/robot.urdf: No such file"));
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_arrives_as_written),
        cmocka_unit_test(every_fault_is_a_sentence),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(joints_that_float_become_fixed_and_are_noted),
        cmocka_unit_test(rows_of_mimics_follow_the_first),
        cmocka_unit_test(a_missing_file_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

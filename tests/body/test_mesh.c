/* The corners of a mesh are those of its file, whatever its format, and a broken file is refused with a sentence. */
#include "body/mesh.h"
#include "robots.h"

static const char stl_text[] = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n vertex 0 2e0 3\n"
                               "endloop\nendfacet\nendsolid a\n";
static const char obj[] = "# three\nmtllib none\nv 0 0 0\nv 1 0 0 0.5 0.5 0.5\nv 0 2 3\nvn 0 0 1\nf 1 2 3\n";
static const char dae[] =
    "<?xml version='1.0'?><COLLADA><asset><unit meter='0.1'/><up_axis>Z_UP</up_axis></asset><library_geometries>"
    "<geometry id='g'><mesh><source id='n'><float_array count='3'>9 9 9</float_array></source><source id='p'>"
    "<float_array count='9'>0 0 0 10 0 0\n0 20 30</float_array></source><vertices id='v'><input semantic='POSITION' "
    "source='#p'/></vertices></mesh></geometry></library_geometries><library_visual_scenes><visual_scene><node>"
    "<translate>0 0 0</translate><node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url='#g'/>"
    "</node></node></visual_scene></library_visual_scenes></COLLADA>";

static void binary_stl(char *to)
{
    static const float corners[] = {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 3};
    uint32_t n = 1;
    memset(to, ' ', 80);
    memcpy(to + 80, &n, 4);
    memcpy(to + 84, corners, sizeof corners);
    memset(to + 132, 0, 2);
}

static void assert_three(const char *bytes, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_mesh mesh;
    if (nm_mesh_parse(&arena, "a mesh", bytes, size, &mesh, &err)) fail_msg("%s", err.text);
    assert_int_equal(mesh.n, 3);
    assert_vec_near(mesh.points[0], 0, 0, 0, 1e-12);
    assert_vec_near(mesh.points[1], 1, 0, 0, 1e-12);
    assert_vec_near(mesh.points[2], 0, 2, 3, 1e-12);
    nm_arena_free(&arena);
}

static void all_formats_give_the_same_corners(void **state)
{
    (void)state;
    char stl[134];
    binary_stl(stl);
    assert_three(stl, sizeof stl);
    assert_three(stl_text, sizeof stl_text - 1);
    assert_three(obj, sizeof obj - 1);
    assert_three(dae, sizeof dae - 1);
}

static void what_is_no_mesh_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "solid\nvertex 1 2\n",    "v 1 2 nan\nv 0 0 0\nv 0 0 0\n",
        "<COLLADA>", "<!DOCTYPE a><COLLADA/>", "<COLLADA><asset><unit meter='-1'/></asset></COLLADA>",
        "just words"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        struct nm_mesh mesh;
        assert_int_equal(nm_mesh_parse(&arena, "bad.stl", bad[i], strlen(bad[i]), &mesh, &err), -1);
        assert_non_null(strstr(err.text, "bad.stl"));
        nm_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats_give_the_same_corners),
        cmocka_unit_test(what_is_no_mesh_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* xacro becomes URDF: what is not understood is refused with its line and a reason. */
#include <sys/stat.h>
#include <unistd.h>

#include "body/xacro.h"
#include "robots.h"

static char *expand(struct nm_arena *arena, const char *text, struct nm_err *err)
{
    return nm_xacro_expand(arena, "a.xacro", text, strlen(text), true, err);
}

static void assert_becomes(const char *inside, const char *has)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char *text = nm_take_format(&arena, "<robot name='r'>%s</robot>", inside);
    char *made = expand(&arena, text, &err);
    if (!made) fail_msg("%s", err.text);
    if (!strstr(made, has)) fail_msg("no %s in %s", has, made);
    assert_null(strstr(made, "xacro"));
    nm_arena_free(&arena);
}

static void expressions_are_computed(void **state)
{
    (void)state;
#define P(name, value) "<xacro:property name='" name "' value='" value "'/>"
    assert_becomes(P("a", "2") "<link x='${a * (3 + 4) / 2}'/>", "x=\"7\"");
    assert_becomes(P("b", "${a + 1}") P("a", "2") "<link x='${b}'/>", "x=\"3\""); /* found when it is used */
    assert_becomes("<link x='${-2**2} ${7 % 4} ${7 // 2} ${1e-3}'/>", "x=\"-4 3 3 0.001\"");
    assert_becomes("<link x='${cos(pi)} ${radians(180) - pi} ${max(1, 2)} ${sqrt(9)}'/>", "x=\"-1 0 2 3\"");
    assert_becomes(P("s", "left") "<link x='${s}_foot ${1 if s == \"left\" else -1}'/>", "x=\"left_foot 1\"");
    assert_becomes("<link x='${1 &lt; 2 and not (3 == 4)}'/>", "x=\"1\"");
    assert_becomes("<link x='$${a}'/>", "x=\"${a}\"");
    assert_becomes("<xacro:arg name='n' default='4'/><link x='$(arg n)'/>", "x=\"4\"");
    assert_becomes(P("a", "1") P("a", "${a + 1}") "<link x='${a}'/>", "x=\"2\"");
}

static void lists_and_dictionaries_are_read(void **state)
{
    (void)state;
    assert_becomes(P("a", "${[1, 2*3, [7, \"x y\"]]}") "<link x='${a[1]} ${a[-1][0]} ${len(a)} ${a[2][1]}'/>",
                   "x=\"6 7 3 x y\"");
    assert_becomes(P("d", "${dict(low=-1, high=a[0])}") P("a", "${[4]}") "<link x='${d[\"low\"]} ${d.high}'/>",
                   "x=\"-1 4\"");
    assert_becomes("<link x='${{\"a\": {\"b\": 3}}[\"a\"].b}'/>", "x=\"3\"");
    assert_becomes("<link x='${2 in [1, 2]} ${\"oo\" not in \"foot\"} ${\"k\" in dict(k=1)}'/>", "x=\"1 0 1\"");
    assert_becomes("<link x='${float(\"2\") + int(3.7)} ${str(4) + \"_\"} ${round(2.6)}'/>", "x=\"5 4_ 3\"");
    /* handed to a macro, as a whole */
    assert_becomes(
        P("cfg",
          "${dict(knee=dict(upper=2.2))}") "<xacro:macro name='m' params='c'><link x='${c[\"upper\"]}'/></xacro:macro>"
                                           "<xacro:m c='${cfg[\"knee\"]}'/>",
        "x=\"2.2\"");
    assert_becomes("<xacro:macro name='leg_left' params='n'><link n='${n}'/></xacro:macro>" P(
                       "side", "left") "<xacro:call macro='leg_${side}' n='$(optenv NOTHING_SUCH 5)'/>",
                   "n=\"5\"");
}

static void macros_have_parameters_and_blocks(void **state)
{
    (void)state;
    static const char macro[] = "<xacro:macro name='m' params=\"side size:=${2 * 3} word:='a b' *origin **more\">"
                                "<link name='${side}' size='${size}' w='${word}'><xacro:insert_block name='origin'/>"
                                "<xacro:insert_block name='more'/></link></xacro:macro>";
    char text[1000];
    snprintf(text, sizeof text, "%s<xacro:m side='l'><origin xyz='1'/><all><one/><two/></all></xacro:m>", macro);
    assert_becomes(text, "<link name=\"l\" size=\"6\" w=\"a b\">\n<origin xyz=\"1\"/>\n<one/>\n<two/>\n</link>");
    /* one calls another, and a parameter may have the name of what is given for it */
    assert_becomes("<xacro:macro name='a' params='n'><link n='${n}'/></xacro:macro>"
                   "<xacro:macro name='b' params='n'><xacro:a n='${n}${n}'/></xacro:macro><xacro:b n='x'/>",
                   "n=\"xx\"");
}

static void conditions_choose(void **state)
{
    (void)state;
    static const char text[] = "<xacro:property name='legs' value='true'/><xacro:if value='${legs}'><yes/></xacro:if>"
                               "<xacro:unless value='${legs}'><no/></xacro:unless>"
                               "<xacro:if value='${1 > 2}'><never/></xacro:if>";
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char *made = expand(&arena, nm_take_format(&arena, "<robot>%s</robot>", text), &err);
    assert_non_null(made);
    assert_non_null(strstr(made, "<yes/>"));
    assert_null(strstr(made, "<no/>"));
    assert_null(strstr(made, "<never/>"));
    nm_arena_free(&arena);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A package is a folder above the file; the whole becomes a body. */
static void files_are_included_from_packages(void **state)
{
    (void)state;
    char root[] = "/tmp/xacro-XXXXXX", path[100], other[100], here[4096];
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/my_robot", root), mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/my_robot/parts.xacro", root);
    put(path, "<robot><xacro:macro name='part' params='name'><link name='${name}'/></xacro:macro></robot>");
    snprintf(path, sizeof path, "%s/my_robot/robot.xacro", root);
    put(path, "<robot name='r' xmlns:xacro='x'><xacro:include filename='$(find my_robot)/parts.xacro'/>"
              "<xacro:property name='c' value=\"${xacro.load_yaml('$(find my_robot)/names.yaml')}\"/>"
              "<xacro:part name='${c.links[0]}'/></robot>");
    snprintf(other, sizeof other, "%s/my_robot/names.yaml", root);
    put(other, "links: [base_link, 'other']\n");
    /* also where the file is named from the folder it lies in */
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(root), 0);
    assert_non_null(nm_body_load(&arena, "my_robot/robot.xacro", &err));
    assert_int_equal(chdir(here), 0);
    const struct nm_body *body = nm_body_load(&arena, path, &err);
    if (!body) fail_msg("%s", err.text);
    assert_string_equal(body->frames[0].name, "base_link");
    assert_non_null(strstr(body->urdf, "<link name=\"base_link\"/>"));
    snprintf(path, sizeof path, "rm -rf %s", root);
    assert_int_equal(system(path), 0);
    nm_arena_free(&arena);
}

static void what_is_not_understood_has_a_line_and_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"<link x='${nothing}'/>", "a.xacro:2: the property nothing is not known"},
        {"<link x='${xacro.load_yaml(\"none.yaml\")}'/>", "none.yaml"},
        {"<link x='${a[0]}'/>", "a.xacro:2:"},
        {"<link x='${[1, 2][2]}'/>", "a.xacro:2: the list has no such element"},
        {"<link x='${dict(a=1)[\"b\"]}'/>", "a.xacro:2: the dictionary has no key b"},
        {"<link x='${[1, 2]}'/>", "a.xacro:2: a list or a dictionary cannot be written as a text"},
        {"<link x='${2[0]}'/>", "a.xacro:2: what is before '[' or '.' is neither"},
        {"<link x='${[1, 2'/>", "a.xacro:2: '}' is missing"},
        {"<link x='${1 not 2}'/>", "a.xacro:2: 'in' is missing after 'not'"},
        {"<link x='${dict(a=1).items()}'/>", "a.xacro:2: the function .items() is not known here"},
        {"<xacro:call macro='m'/>", "a.xacro:2: there is no macro called m"},
        {"<xacro:include filename='a' ns='b'/>", "a.xacro:2: an include with a name space"},
        {"<link x='$(env HOME)'/>", "a.xacro:2: $(env HOME) is not understood"},
        {"<link x='$(find nowhere_at_all)'/>", "a.xacro:2: $(find nowhere_at_all): there is no such folder"},
        {"<xacro:leg/>", "a.xacro:2: there is no macro called leg"},
        {"<xacro:macro name='m' params='a'/><xacro:m/>", "a.xacro:2: xacro:m lacks the parameter a"},
        {"<xacro:macro name='m' params=''><xacro:m/></xacro:macro><xacro:m/>", "nested deeper"},
        {"<xacro:property name='a' value='${b}'/><xacro:property name='b' value='${a}'/><link x='${a}'/>",
         "does a property name itself?"},
        {"<link x='${1 +}'/>", "a.xacro:2:"},
        {"<xacro:include filename='nothing.xacro'/>", "a.xacro:2: nothing.xacro cannot be included"},
        {"<!DOCTYPE a>", "a.xacro:2:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        assert_null(expand(&arena, nm_take_format(&arena, "<robot>\n%s</robot>", bad[i].text), &err));
        if (!strstr(err.text, bad[i].why)) fail_msg("%s is not in %s", bad[i].why, err.text);
        nm_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_computed),
        cmocka_unit_test(lists_and_dictionaries_are_read),
        cmocka_unit_test(macros_have_parameters_and_blocks),
        cmocka_unit_test(conditions_choose),
        cmocka_unit_test(files_are_included_from_packages),
        cmocka_unit_test(what_is_not_understood_has_a_line_and_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

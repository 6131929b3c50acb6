/* A line-up as text for Graphviz and as SVG: everything is in it, and it is well formed whatever a module's prose says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/lineup_drawing.h"
#include "core/registered.h"

static char *draw(const char *text, void (*how)(const struct nm_lineup *, FILE *))
{
    struct nm_err err = {0};
    struct nm_lineup_options options = {.root = "/nonexistent"};
    struct nm_lineup *lineup =
        text ? nm_lineup_parse(text, strlen(text), "x.yaml", &registry, &options, &err)
             : nm_lineup_load(NM_ROOT "/tests/core/lineups/match.yaml", &registry, &options, &err);
    if (!lineup) fail_msg("%s", err.text);
    char *picture = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&picture, &size);
    how(lineup, to);
    assert_int_equal(fclose(to), 0);
    nm_lineup_free(lineup);
    return picture;
}

static uint32_t count(const char *text, const char *word)
{
    uint32_t n = 0;
    for (; (text = strstr(text, word)); text++) n++;
    return n;
}

/* Every tag is closed in the right order, every attribute has its quotes, every & begins an entity. */
static void well_formed(const char *xml)
{
    char open[32][32];
    int depth = 0;
    for (const char *c = xml; *c; c++) {
        if (*c == '&')
            assert_true(!strncmp(c, "&amp;", 5) || !strncmp(c, "&lt;", 4) || !strncmp(c, "&gt;", 4) ||
                        !strncmp(c, "&quot;", 6) || !strncmp(c, "&#92;", 5));
        if (*c != '<') continue;
        const char *end = strchr(c, '>');
        assert_non_null(end);
        char name[32] = "";
        sscanf(c + 1, "%31[/a-z]", name);
        uint32_t quotes = 0;
        for (const char *q = c; q < end; q++) {
            quotes += *q == '"';
            assert_true(q == c || *q != '<');
        }
        assert_int_equal(quotes % 2, 0);
        if (name[0] == '/') {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name + 1);
        } else if (end[-1] != '/') {
            assert_true(depth < 32);
            strcpy(open[depth++], name);
        }
        c = end;
    }
    assert_int_equal(depth, 0);
}

static void the_svg_shows_cycles_instances_and_topics(void **state)
{
    (void)state;
    static const char *const words[] = {">vision<",
                                        ">motion<",
                                        ">talk<",
                                        ">rival<",
                                        ">ball_filter<",
                                        "on image_raw, or after 50 ms",
                                        "125 Hz, every 8 ms",
                                        ">odometry<",
                                        ">rival/ball<",
                                        ">motor_power()<",
                                        "sensor_msgs/msg/Image",
                                        "geometry_msgs/msg/PoseStamped",
                                        "Tracks the ball on the ground."};
    char *svg = draw(NULL, nm_graph_svg);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(svg, words[i])) fail_msg("%s is missing", words[i]);
    well_formed(svg);
    /* image_raw, ball_seen to two, ball, cmd_vel, odometry to two, speech, motor_power: one line to each reader */
    assert_int_equal(count(svg, "class=\"tip\""), 9);
    assert_int_equal(count(svg, "class=\"last\""), 2);
    assert_int_equal(count(svg, "class=\"box\""), 8);
    assert_int_equal(count(svg, "class=\"outside\""), 1);
    free(svg);
}

static void the_dot_shows_the_same(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "digraph \"match\" {\n",
        "    \"rival\" [label=\"4  rival\", tooltip=\"Tracks the ball on the ground.\"];\n",
        "  \"/image_raw\" -> \"eye\" [tooltip=\"sensor_msgs/msg/Image\"];\n",
        "  \"eye\" -> \"ball_filter\" [label=\"ball_seen\", tooltip=\"geometry_msgs/msg/PointStamped\"];\n",
        "  \"walk\" -> \"rival\" [label=\"odometry\", tooltip=\"nav_msgs/msg/Odometry\", style=dashed, ",
        "  \"button\" -> \"power\" [label=\"motor_power/request\", tooltip=\"std_srvs/srv/SetBool_Request\"];\n",
    };
    char *dot = draw(NULL, nm_graph_dot);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(dot, lines[i])) fail_msg("missing: %s", lines[i]);
    assert_int_equal(count(dot, " -> "), 9);
    assert_int_equal(count(dot, "subgraph cluster_"), 3);
    assert_int_equal(count(dot, "{"), count(dot, "}"));
    free(dot);
}

static void prose_cannot_break_a_picture(void **state)
{
    (void)state;
    struct nm_module odd = power_module;
    odd.about = "Says \"<b>on & off</b>\"\nand \\ more.";
    const struct nm_module *one[] = {&odd};
    nm_registry_init(&registry, &arena, one, one + 1);
    char *svg = draw("cycles: {c: {period: 1500 us, modules: [power]}}", nm_graph_svg);
    well_formed(svg);
    assert_non_null(strstr(svg, "Says &quot;&lt;b&gt;on &amp; off&lt;/b&gt;&quot; and &#92; more."));
    assert_non_null(strstr(svg, "every 1.5 ms"));
    free(svg);
    char *dot = draw("cycles: {c: {period: 1 s, modules: [power]}}", nm_graph_dot);
    assert_int_equal(count(dot, "\"") % 2, 0);
    assert_null(strstr(dot, "\\"));
    free(dot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_svg_shows_cycles_instances_and_topics),
        cmocka_unit_test(the_dot_shows_the_same),
        cmocka_unit_test(prose_cannot_break_a_picture),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

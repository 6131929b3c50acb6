/* The graph of options as the source has them: states in their order, transitions with reasons, who plays whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/option_graph.h"

struct cat {
    struct nm *nm;
    struct nm_options options;
    bool mouse;
};
#define SELF struct cat

static OPTION(pounce)
{
    STATE(crouch)
    if (f->mouse) go(jump, "a mouse & \"cheese\"");
    STATE(jump) done();
}

static OPTION(live)
{
    if (!f->mouse) go(sleep, "no mouse");
    STATE(sleep) {}
    STATE(hunt)
    {
        if (finished()) go(sleep, "it is over");
        play(pounce);
    }
}

static void step(struct cat *f)
{
    BehaviorState state = {0};
    nm_options_begin(&f->options, f->nm);
    play(live);
    nm_options_end(&f->options, f->nm, &state);
}

extern const struct nm_option_note *const __start_nm_options[];
extern const struct nm_option_note *const __stop_nm_options[];

static struct option_graph graph;

static void read_own(void) { assert_true(option_graph_read(&graph, __start_nm_options, __stop_nm_options, __FILE__)); }

static void the_graph_is_what_the_source_says(void **state)
{
    (void)state;
    struct cat cat = {.nm = &(struct nm){0}};
    step(&cat); /* it also runs */
    assert_string_equal(cat.options.slots[0].state, "sleep");
    read_own();
    assert_int_equal(graph.n, 2);
    const struct graph_option *top = &graph.options[0], *below = &graph.options[1];
    assert_string_equal(top->name, "live");
    assert_int_equal(top->depth, 0);
    assert_int_equal(top->n, 3);
    assert_string_equal(top->states[0].name, "");
    assert_string_equal(top->states[0].words[0]->reason, "no mouse");
    assert_string_equal(top->states[2].name, "hunt");
    assert_int_equal(top->states[2].n, 2);
    assert_int_equal(top->states[2].words[0]->word, NM_WORD_GO);
    assert_string_equal(top->states[2].words[1]->what, "pounce");
    assert_string_equal(below->name, "pounce");
    assert_int_equal(below->depth, 1);
    assert_string_equal(below->states[1].words[0]->what, "jump");
}

static char *drawn(void (*draw)(const struct option_graph *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    draw(&graph, to);
    fclose(to);
    return text;
}

static void every_form_names_states_and_reasons(void **state)
{
    (void)state;
    read_own();
    char *text = drawn(option_graph_text), *dot = drawn(option_graph_dot), *svg = drawn(option_graph_svg);
    assert_non_null(strstr(text, "-> jump           a mouse & \"cheese\""));
    assert_non_null(strstr(text, "plays pounce"));
    assert_non_null(strstr(dot, "\"pounce.crouch\" -> \"pounce.jump\""));
    assert_non_null(strstr(dot, "lhead=\"cluster_pounce\""));
    assert_non_null(strstr(svg, "a mouse &amp; &quot;cheese&quot;"));
    assert_null(strstr(svg, "& "));
    free(text);
    free(dot);
    free(svg);
}

static void a_file_without_options_has_no_graph(void **state)
{
    (void)state;
    assert_false(option_graph_read(&graph, __start_nm_options, __stop_nm_options, "other.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_graph_is_what_the_source_says),
        cmocka_unit_test(every_form_names_states_and_reasons),
        cmocka_unit_test(a_file_without_options_has_no_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
